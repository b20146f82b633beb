"""Library calls of NumPy's that work on one line, or one matrix, after the other: in parts, on all cores.

Each part is the call that NumPy would have made, on some of the lines. What a line gives depends on that line alone, so
the results are NumPy's bit for bit, however they are divided. NumPy lets go of the GIL in all of these.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...config import config
from ...speed import reduce_array
from ..support import CORES
from .crew import Task

FEWEST = 1 << 16  # elements below which another thread is not worth waking
PARTS = 8  # for each thread, so that one which comes late does less
MANY = 64  # lines along an axis: enough to be divided
TAKEN = 1 << 19  # elements to be found below which it is not, either
LARGEST = 1 << 14  # elements of a matrix: of larger ones BLAS and LAPACK use all cores themselves


class Memory:
    """Where results get theirs: `(shape, dtype)` to an array; the runtime puts its pool here."""

    empty: Callable[[tuple[int, ...], Any], np.ndarray] = staticmethod(np.empty)  # type: ignore[assignment]


memory = Memory()


def in_parts(do: Callable[[tuple[slice, ...]], Any], n: int, axis: int) -> None:
    """Call `do` with parts of an axis of n elements, on all cores."""
    threads = config.threads or CORES
    count = max(1, min(n, threads * PARTS if threads > 1 else 1))
    edges = [n * k // count for k in range(count + 1)]
    parts = deque([(*(slice(None),) * axis, slice(a, b)) for a, b in itertools.pairwise(edges)])

    def work() -> int:
        done = 0
        with np.errstate(all="ignore"):  # which each thread has for itself
            while True:
                try:
                    part = parts.popleft()
                except IndexError:
                    return done
                try:
                    do(part)
                except BaseException:
                    parts.clear()
                    raise
                done += 1

    Task(work, min(threads, count), count).run()


def along(call: Callable[[Any, Any], None], x: Any, axis: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """What `call(x, out)` makes of lines along an axis, each by itself: an array of this shape, which differs from x's
    on that axis only, and dtype."""
    x, out = np.asarray(x), memory.empty(shape, dtype)
    if x.size < FEWEST or x.ndim < 2:
        call(x, out)
        return out
    others = [a for a in range(x.ndim) if a != axis % x.ndim]
    other = max(others, key=lambda a: min(x.shape[a], MANY))  # the first of those that have many
    in_parts(lambda part: call(x[part], out[part]), x.shape[other], other)
    return out


def reduced(ufunc: np.ufunc, x: Any, axes: tuple[int, ...], keepdims: bool, dtype: Any = None) -> Any:
    """`ufunc.reduce`, with its bits and warnings: for rows together, where NumPy calls its inner loop for each of them,
    and on all cores where there are many."""
    x = np.asarray(x)
    result = NotImplemented
    if dtype is None or dtype == x.dtype:
        if x.size >= FEWEST and x.ndim > 1 and x.shape[0] >= MANY and axes and 0 not in axes and x.flags.c_contiguous:
            result = rows_reduced(ufunc, x, axes, keepdims)
        elif x.size:
            result = reduce_array(ufunc, x, axes, keepdims)
    if result is not NotImplemented:
        return result
    axis = axes[0] if len(axes) == 1 else axes  # a number where it knows no order for several
    return ufunc.reduce(x, axis=axis, dtype=dtype, keepdims=keepdims)


def rows_reduced(ufunc: np.ufunc, x: np.ndarray, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Of an array whose first axis stays; NotImplemented where NumPy has to do it, or to warn."""
    first = reduce_array(ufunc, x[:1], axes, keepdims)
    if first is NotImplemented:
        return first
    out, left = memory.empty((x.shape[0], *first.shape[1:]), first.dtype), []

    def do(part: tuple[slice, ...]) -> None:
        made = reduce_array(ufunc, x[part], axes, keepdims)
        if made is NotImplemented:
            left.append(part)
        else:
            out[part] = made

    in_parts(do, x.shape[0], 0)
    return NotImplemented if left else out


def each(call: Callable[[Any], Any], x: Any, dtype: Any) -> Any:
    """`call(x)`, which does the same with each element of an array, into an array of its shape and this dtype."""
    if type(x) is not np.ndarray or x.size < FEWEST or not x.flags.c_contiguous:
        return call(x)
    flat, out = x.reshape(-1), memory.empty((x.size,), dtype)

    def do(part: tuple[slice, ...]) -> None:
        out[part] = call(flat[part])

    in_parts(do, x.size, 0)
    return out.reshape(x.shape)


def stacked(call: Callable[..., Any], *arrays: Any) -> Any:
    """`call(*arrays)`, which does the same with each matrix, or pair of matrices, of stacks of equal shape."""
    stack = arrays[0].shape[:-2]
    alike = all([type(x) is np.ndarray and x.ndim > 2 and x.shape[:-2] == stack for x in arrays])
    if not alike or arrays[0].size < FEWEST or any([math.prod(x.shape[-2:]) > LARGEST for x in arrays]):
        return call(*arrays)
    results = Results(stack[0])
    in_parts(lambda part: results.put(part, call(*[x[part] for x in arrays])), stack[0], 0)
    return tuple(results.arrays) if results.several else results.arrays[0]


def taken(table: np.ndarray, indices: Sequence[np.ndarray], at: int) -> np.ndarray:
    """table[indices], where arrays index the axes from `at` on: as NumPy finds it, in less time where it is large.

    Several arrays are made one that indexes their axes as one. NumPy writes straight into a result only where it is
    told what to do with indices out of bounds; so these are looked for first, part by part. Raises IndexError.
    """
    lengths = table.shape[at : at + len(indices)]
    lines = table.reshape(*table.shape[:at], math.prod(lengths), *table.shape[at + len(lengths) :])
    common = np.broadcast_shapes(*[k.shape for k in indices])
    spread = [np.broadcast_to(k, common) for k in indices]
    out = memory.empty((*table.shape[:at], *common, *table.shape[at + len(lengths) :]), table.dtype)

    def places(part: tuple[slice, ...]) -> np.ndarray:
        found: Any = None
        for k, n in zip(spread, lengths):
            k = inside(k[part], n)
            found = k if found is None else found * n + k
        return found

    if out.size < TAKEN:
        lines.take(places(()), at, out, "wrap")
    elif at == 0:
        in_parts(lambda part: lines.take(places(part), 0, out[part], "wrap"), common[0], 0)
    else:
        whole = places(())
        in_parts(lambda part: lines[part].take(whole, at, out[part], "wrap"), table.shape[0], 0)
    return out


def inside(k: np.ndarray, n: int) -> np.ndarray:
    """Places along an axis of length n, counted from its beginning. Raises IndexError."""
    unsigned = k.view(f"u{k.itemsize}") if k.dtype.kind == "i" else k  # as which what is negative is large
    if unsigned.max() >= n:
        if k.min() < -n or k.max() >= n:
            raise IndexError
        k = k.astype(np.intp, copy=False)
        return np.where(k < 0, k + n, k)
    return k.astype(np.intp, copy=False)


def wrapped(x: np.ndarray, widths: tuple[int, ...]) -> np.ndarray:
    """A periodic array with `widths` more elements at both ends of each axis."""
    x = np.asarray(x)
    out = memory.empty(tuple([n + 2 * w for n, w in zip(x.shape, widths)]), x.dtype)
    inside = tuple([slice(w, w + n) for n, w in zip(x.shape, widths)])
    middle = out[inside]
    if x.size < FEWEST:
        middle[...] = x
    else:
        in_parts(lambda part: np.copyto(middle[part], x[part]), x.shape[0], 0)
    for axis, (n, w) in enumerate(zip(x.shape, widths)):
        lines = out[(*(slice(None),) * (axis + 1), *inside[axis + 1 :])]  # the ends of earlier axes are there
        before = (slice(None),) * axis
        lines[(*before, slice(0, w))] = lines[(*before, slice(n, n + w))]
        lines[(*before, slice(n + w, None))] = lines[(*before, slice(w, 2 * w))]
    return out


def counted(x: np.ndarray, n: int) -> np.ndarray:
    """How often each of n numbers stands in a row of numbers, none of which is another."""
    if x.size < max(FEWEST, MANY * n):
        return np.bincount(x, None, n)
    out, lock = np.zeros(n, np.intp), threading.Lock()

    def do(part: tuple[slice, ...]) -> None:
        found = np.bincount(x[part], None, n)
        with lock:
            np.add(out, found, out)

    in_parts(do, x.size, 0)
    return out


class Results:
    """Arrays with n rows that are made when the first part is there, which says what they are like."""

    def __init__(self, n: int) -> None:
        self.n, self.lock, self.several = n, threading.Lock(), False
        self.arrays: list[np.ndarray] = []

    def put(self, part: tuple[slice, ...], given: Any) -> None:
        values = given if type(given) is tuple else (given,)
        with self.lock:
            if not self.arrays:
                self.several = type(given) is tuple
                self.arrays = [memory.empty((self.n, *v.shape[1:]), v.dtype) for v in values]
        for out, value in zip(self.arrays, values):
            out[part] = value
