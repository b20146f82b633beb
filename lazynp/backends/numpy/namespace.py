"""The array namespace for NumPy: its own functions, and those of the ops' lowerings that it does not have."""

from __future__ import annotations

import contextlib
import math
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy._core import multiarray

from ...ops.promotion import complex_dtype
from ...speed import at_places, get_places, scan_array, set_places
from .parts import FEWEST, along, counted, each, reduced, stacked, taken, wrapped
from .products import matmul
from .searches import searchsorted, tally

Array = Any
INTP = np.dtype(np.intp)
AT = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}


def astype(x: Array, dtype: np.dtype[Any]) -> Array:
    """Cast; of a complex number the real part, without a warning."""
    x = np.asarray(x)
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = x.real
    return x.astype(dtype)


def make_complex(re: Array, im: Array) -> Array:
    """From both parts: no arithmetic, so that infinities and signed zeros stay what they are."""
    kinds = [x for x in (re, im) if isinstance(x, (np.ndarray, np.generic))]
    dtype = np.result_type(*[x.dtype for x in kinds] or [np.float64])
    out = np.empty(np.broadcast_shapes(np.shape(re), np.shape(im)), complex_dtype(dtype))
    out.real, out.imag = re, im
    return out


def as_complex(x: Array) -> Array:
    return x if x.dtype.kind == "c" else make_complex(x, 0.0)


def c_power(x: Array, y: Array) -> Array:
    """x to the power y, as C's pow has it: NumPy takes the square root where the exponent is one half for all."""
    y = np.asarray(y)
    one = y.size and not any(y.strides) or y.size == 1
    if not one or y.flat[0] != 0.5 or np.result_type(x, y).kind != "f":
        return np.power(x, y)
    with np.errstate(invalid="ignore"):
        root = np.sqrt(x, dtype=np.result_type(x, y))
    root, endless = np.broadcast_arrays(root, np.equal(x, -np.inf))
    return np.where(endless, root.dtype.type(np.inf), root + root.dtype.type(0))


def reduce(name: str, x: Array, axes: tuple[int, ...], keepdims: bool, dtype: Any) -> Array:
    """`ufunc.reduce` over some axes."""
    return reduced(getattr(np, name), x, axes, keepdims, dtype)


def accumulate(name: str, x: Array, axis: int, dtype: Any) -> Array:
    """`ufunc.accumulate` along an axis."""
    ufunc = getattr(np, name)
    made = scan_array(ufunc, x, axis) if dtype is None else NotImplemented
    return ufunc.accumulate(x, axis=axis, dtype=dtype) if made is NotImplemented else made


def place(
    shape: tuple[int, ...], indices: Sequence[Array], axes: tuple[int, ...], at: int, bounds: str
) -> tuple[Any, int, int, Any]:
    """NumPy's index, where its grammar puts the index dimensions, how many there are, and which places are inside."""
    inside: Any = None
    index: list[Any] = [slice(None)] * len(shape)
    for k, a in zip(indices, axes):
        n = shape[a]
        if bounds == "clip":
            k = np.clip(k, 0, n - 1)
        elif bounds == "wrap":
            k = np.mod(k, n)
        elif bounds != "raise":
            ok = (np.asarray(k) >= -n) & (np.asarray(k) < n)
            inside = ok if inside is None else inside & ok
            k = np.where(ok, k, 0)
        index[a] = k
    together = axes[-1] - axes[0] == len(axes) - 1
    return tuple(index[: axes[-1] + 1]), axes[0] if together else 0, np.broadcast(*indices).ndim, inside


def inside_all(shape: tuple[int, ...], indices: Sequence[Array], axes: tuple[int, ...]) -> bool:
    """Whether every index is one of its axis: then no place has to be looked at by itself."""
    pairs = [(np.asarray(k), shape[a]) for k, a in zip(indices, axes)]
    return all([k.size > 0 and -n <= k.min() and k.max() < n for k, n in pairs])


def moved(x: Array, source: int, to: int, count: int) -> Array:
    if source == to or count == 0:
        return x
    return np.moveaxis(x, range(source, source + count), range(to, to + count))


MANY_PLACES = 1 << 18  # elements found by one array: NumPy is through with fewer before another thread begins


def in_one(x: Array, indices: Sequence[Array], axes: tuple[int, ...]) -> bool:
    """Whether arrays index neighbouring axes of an array without gaps, and find enough to be found in parts."""
    if type(x) is not np.ndarray or not x.flags.c_contiguous or not all([type(k) is np.ndarray for k in indices]):
        return False
    common = np.broadcast_shapes(*[k.shape for k in indices])
    kept = [n for i, n in enumerate(x.shape) if i not in axes]
    neighbours = axes == tuple(range(axes[0], axes[0] + len(axes)))
    least = MANY_PLACES if len(indices) == 1 else FEWEST
    return neighbours and len(common) > 0 and x.size > 0 and math.prod((*kept, *common)) >= least


def gather(x: Array, indices: Sequence[Array], axes: tuple[int, ...], at: int, bounds: Any) -> Array:
    """x[indices] on these axes, the index dimensions at `at`."""
    if bounds == "zero" and inside_all(x.shape, indices, axes):
        bounds = "raise"
    if bounds == "raise" and at == axes[0] and in_one(x, indices, axes):
        with contextlib.suppress(IndexError):  # which NumPy raises below, in its words
            return taken(x, indices, at)
    if len(axes) == 1 and at == axes[0] and bounds != "zero" and x.shape[at]:
        return np.take(x, indices[0], axis=at, mode=bounds)
    if bounds == "zero" and any(x.shape[a] == 0 for a in axes):
        common = np.broadcast_shapes(*[np.shape(i) for i in indices])
        kept = [n for i, n in enumerate(x.shape) if i not in axes]
        return np.zeros((*kept[:at], *common, *kept[at:]), x.dtype)
    index, natural, count, inside = place(x.shape, indices, axes, at, bounds)
    out = moved(get_places(x, index), natural, at, count)
    if inside is not None:
        mask = np.reshape(inside, np.shape(inside) + (1,) * (out.ndim - at - np.ndim(inside)))
        out = np.where(mask, out, np.zeros((), x.dtype))
    return out


def scatter(
    base: Array, value: Array, indices: Sequence[Array], axes: tuple[int, ...], at: int, bounds: str, mode: str
) -> Array:
    """base with `value` combined into the places that gather would read."""
    return scatter_into(np.array(base), value, indices, axes, at, bounds, mode)


def scatter_into(
    out: Array, value: Array, indices: Sequence[Array], axes: tuple[int, ...], at: int, bounds: str, mode: str
) -> Array:
    """The same in place; an index out of bounds under "raise" leaves `out` as it was."""
    common = np.broadcast_shapes(*[np.shape(i) for i in indices])
    kept = [n for i, n in enumerate(out.shape) if i not in axes]
    value = np.broadcast_to(value, (*kept[:at], *common, *kept[at:]))
    if bounds == "drop" and inside_all(out.shape, indices, axes):
        bounds = "raise"
    if bounds == "drop":
        value = np.moveaxis(value, range(at, at + len(common)), range(len(common)))
        if any(out.shape[a] == 0 for a in axes):
            return out
        _, _, _, inside = place(out.shape, indices, axes, at, bounds)
        inside = np.broadcast_to(inside, common)
        indices, value, at = [np.broadcast_to(i, common)[inside] for i in indices], value[inside], 0
    index, natural, count, _ = place(out.shape, indices, axes, at, bounds)
    value = moved(value, at, natural, count)
    if mode == "set":
        set_places(out, index, value)
    else:
        at_places(AT[mode], out, index, value)
    return out


def sorted_lines(x: Array, axis: int, kind: Any) -> Array:
    """numpy.sort."""

    def call(lines: Array, out: Array) -> None:
        out[...] = lines
        out.sort(axis=axis, kind=kind)

    return along(call, x, axis, np.shape(x), x.dtype)


def partitioned_lines(x: Array, kth: Any, axis: int) -> Array:
    """numpy.partition."""

    def call(lines: Array, out: Array) -> None:
        out[...] = lines
        out.partition(kth, axis=axis)

    return along(call, x, axis, np.shape(x), x.dtype)


def order_of_lines(x: Array, axis: int, kind: Any) -> Array:
    """numpy.argsort."""

    def call(lines: Array, out: Array) -> None:
        out[...] = np.argsort(lines, axis=axis, kind=kind)

    return along(call, x, axis, np.shape(x), INTP)


FEW = 8  # a partition is worth it if no more than one of so many is wanted
ALONE = 1 << 14  # elements of a line with which others share no call


def first_ones(lines: Array, k: int) -> Array:
    """`largest_of_lines` along the last axis, by sorting."""
    return lines.shape[-1] - 1 - np.argsort(lines[..., ::-1], axis=-1, kind="stable")[..., ::-1][..., :k]


def largest_of_lines(x: Array, axis: int, k: int) -> Array:
    """Where the k largest elements of each line stand, the largest first, of equals the first ones first."""

    def call(lines: Array, out: Array) -> None:
        lines, out = (np.atleast_2d(np.moveaxis(a, axis, -1)) for a in (lines, out))
        n = lines.shape[-1]
        if n < LONG_LINE or FEW * k > n or k == 0:
            out[...] = first_ones(lines, k)
            return
        found = ~(lines < np.partition(lines, n - k)[..., n - k, None])
        equal = np.count_nonzero(found, axis=-1) == k  # in others there are more that equal the last one
        together = equal if n < ALONE else np.zeros_like(equal)
        for i in zip(*np.nonzero(~together)):
            where = np.flatnonzero(found[i])
            out[i] = where[first_ones(lines[i][where], k)]
        if together.any():
            places = np.nonzero(found[together])[-1].reshape(-1, k)
            order = first_ones(np.take_along_axis(lines[together], places, -1), k)
            out[together] = np.take_along_axis(places, order, -1)

    shape = np.shape(x)
    return along(call, x, axis, (*shape[:axis], k, *shape[axis + 1 :]), INTP)


def partition_of_lines(x: Array, kth: Any, axis: int) -> Array:
    """numpy.argpartition."""

    def call(lines: Array, out: Array) -> None:
        out[...] = np.argpartition(lines, kth, axis=axis)

    return along(call, x, axis, np.shape(x), INTP)


LONG_LINE = 128  # elements


def extreme_of_lines(function: Callable[..., Any]) -> Callable[..., Any]:
    """numpy.argmax, numpy.argmin. What NumPy does in vectors, on long lines without gaps, memory bounds on one core."""

    def found(x: Array, axis: int, keepdims: bool) -> Any:
        x = np.asarray(x)
        if x.ndim < 2 or x.strides[axis] == x.itemsize and x.shape[axis] >= LONG_LINE:
            return function(x, axis=axis, keepdims=keepdims)
        at = axis % x.ndim
        kept = (*x.shape[:at], 1, *x.shape[at + 1 :])
        out = along(lambda lines, out: function(lines, axis=at, out=out, keepdims=True), x, at, kept, INTP)
        return out if keepdims else out.reshape(kept[:at] + kept[at + 1 :])

    return found


def bincount(x: Array, weights: Any, n: int) -> Array:
    """numpy.bincount of n numbers."""
    return counted(x, n) if weights is None else np.bincount(x, weights, n)


def searchsorted_stack(a: Array, v: Array, side: Any, stack: int) -> Array:
    """numpy.searchsorted for each member of the leading `stack` axes of both."""
    if stack == 0:
        return searchsorted(a, v, side)
    out = np.empty(v.shape, np.intp)
    for i in np.ndindex(*v.shape[:stack]):
        out[i] = np.searchsorted(a[i], v[i], side=side)
    return out


def plain_correlate(a: Array, v: Array, mode: str) -> Array:
    """numpy.correlate without a conjugate: what numpy.convolve calls."""
    return vars(multiarray)["correlate"](a, v, mode)


def lstsq_stack(a: Array, b: Array, stack: int, rcond: float | None) -> tuple[Array, Array, Array]:
    """x, rank and singular values of numpy.linalg.lstsq, for each member of the leading `stack` axes of both."""
    found = [np.linalg.lstsq(a[i], b[i], rcond) for i in np.ndindex(*a.shape[:stack])]
    lead = a.shape[:stack]
    x, rank, sizes = (np.reshape([f[k] for f in found], lead + np.shape(found[0][k])) for k in (0, 2, 3))
    return x, rank, sizes


def triangular_solve(a: Array, b: Array, lower: bool, unit: bool) -> Array:
    """NumPy has no triangular solver: the general one, on the triangle."""
    t = np.tril(a) if lower else np.triu(a)
    if unit:
        i = np.arange(a.shape[-1])
        t[..., i, i] = 1
    return np.linalg.solve(t, b)


def arange_n(start: Any, step: Any, n: int, dtype: np.dtype[Any]) -> Array:
    """start + i * delta, where delta is the difference of the first two in that dtype, as numpy.arange fills."""
    first, second = np.array(start).astype(dtype), np.array(start + step).astype(dtype)
    with np.errstate(over="ignore"):
        out = np.arange(n).astype(dtype) * (second - first) + first
    out[1:2] = second
    return out.astype(dtype, copy=False)


OWN = (
    c_power,
    lstsq_stack,
    matmul,
    scatter_into,
    accumulate,
    along,
    arange_n,
    as_complex,
    astype,
    bincount,
    each,
    gather,
    make_complex,
    largest_of_lines,
    order_of_lines,
    partition_of_lines,
    partitioned_lines,
    reduce,
    scatter,
    plain_correlate,
    searchsorted_stack,
    sorted_lines,
    stacked,
    tally,
    triangular_solve,
    wrapped,
)
xp = types.SimpleNamespace(**{k: v for k, v in vars(np).items() if not k.startswith("_")})
vars(xp).update({f.__name__: extreme_of_lines(f) for f in (np.argmax, np.argmin)})
vars(xp).update({"linalg": np.linalg, "fft": np.fft, **{f.__name__: f for f in OWN}})
