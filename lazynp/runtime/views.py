"""Views of a storage: a chain of index, transpose and reshape steps over its C-contiguous value.

Chains are kept short: an index of an index is one index, an index of a transposed array is a transposed index. The same
chain serves as graph nodes for reading, as functional writes, and on NumPy buffers.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..graph.node import Node
from ..graph.op import make
from ..ops.shape import Key, as_index, key_shape, reshape, set_, slice_, transpose

INDEX, TRANSPOSE, RESHAPE = "i", "t", "r"
PART = "p"  # a step that is not looked at yet, whose parameter is NumPy's view: see `part_of_view`
Step = tuple[str, Any]


class View:
    """A chain of steps from a base shape to a shape. Interned by `derive`; compare with `is`."""

    __slots__ = ("base", "steps", "shape", "__weakref__")

    def __init__(self, base: tuple[int, ...], steps: tuple[Step, ...], shape: tuple[int, ...]) -> None:
        self.base, self.steps, self.shape = base, steps, shape

    def of_buffer(self, buffer: Any) -> Any:
        """The view of a NumPy array."""
        for kind, param in self.steps:
            if kind == INDEX:
                buffer = buffer[(*as_index(param), ...)]
            elif kind == TRANSPOSE:
                buffer = buffer.transpose(param)
            else:
                buffer = buffer.reshape(param, copy=False)
        return buffer

    def read(self, node: Node) -> Node:
        """A node of the view of node's value."""
        for kind, param in self.steps:
            node = forward(kind, param, node)
        return node

    def write(self, node: Node, value: Node) -> Node:
        """A node of node's value with the view replaced. `value` broadcasts to the view and has its dtype."""
        steps = self.steps
        prefixes = [node]
        for kind, param in steps[:-1]:
            prefixes.append(forward(kind, param, prefixes[-1]))
        for (kind, param), prefix in zip(reversed(steps), reversed(prefixes)):
            if kind == INDEX:
                value = set_(prefix, value, key=param)
            else:
                if value.shape != prefix_shape(kind, param, prefix.shape):
                    whole = forward(kind, param, prefix)
                    value = set_(whole, value, key=tuple([(0, n, 1) for n in whole.shape]))
                value = back(kind, param, prefix.shape, value)
        return value


def prefix_shape(kind: str, param: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([shape[a] for a in param]) if kind == TRANSPOSE else param


def forward(kind: str, param: Any, node: Node) -> Node:
    if kind == INDEX:
        return make(slice_, (node,), (), (param,))
    if kind == TRANSPOSE:
        return make(transpose, (node,), (param,))
    return make(reshape, (node,), (), (param,))


def back(kind: str, param: Any, shape: tuple[int, ...], node: Node) -> Node:
    if kind == TRANSPOSE:
        return transpose(node, axes=tuple(np.argsort(param).tolist()))
    return reshape(node, shape=shape)


@functools.lru_cache(8192)
def derive(view: View | None, base: tuple[int, ...], kind: str, param: Any) -> View | None:
    """The view after one more step; None is the whole base."""
    if view is None:
        shape = key_shape(param) if kind == INDEX else tuple([base[a] for a in param]) if kind == TRANSPOSE else param
        return normal(base, ((kind, param),), shape)
    steps, shape = view.steps, view.shape
    if kind == INDEX:
        steps = with_index(steps, shape, param)
        return normal(base, steps, key_shape(param))
    if kind == TRANSPOSE:
        after = tuple([shape[a] for a in param])
        if steps[-1][0] == TRANSPOSE:
            joined = tuple([steps[-1][1][a] for a in param])
            return normal(base, (*steps[:-1], (TRANSPOSE, joined)), after)
        return normal(base, (*steps, (TRANSPOSE, param)), after)
    if steps[-1][0] == RESHAPE:
        steps = steps[:-1]
    return normal(base, (*steps, (RESHAPE, param)), param)


def normal(base: tuple[int, ...], steps: tuple[Step, ...], shape: tuple[int, ...]) -> View | None:
    kind, param = steps[-1]
    if (kind == TRANSPOSE and param == tuple(range(len(param)))) or (
        kind == INDEX and is_whole(param, len(steps) == 1 and base)
    ):
        steps = steps[:-1]
    elif kind == RESHAPE and len(steps) == 1 and param == base:
        steps = ()
    return interned(base, steps, shape) if steps else None


def is_whole(key: Key, shape: Any) -> bool:
    return shape is not False and len(key) == len(shape) and all(k == (0, n, 1) for k, n in zip(key, shape))


@functools.lru_cache(16384)
def interned(base: tuple[int, ...], steps: tuple[Step, ...], shape: tuple[int, ...]) -> View:
    return View(base, steps, shape)


def with_index(steps: tuple[Step, ...], shape: tuple[int, ...], key: Key) -> tuple[Step, ...]:
    kind, param = steps[-1]
    if kind == INDEX:
        joined = compose(param, key)
        if joined is not None:
            return (*steps[:-1], (INDEX, joined))
    elif kind == TRANSPOSE and None not in key:
        before: list[Any] = [None] * len(param)
        for a, k in zip(param, key):
            before[a] = k
        kept = [a for a, k in zip(param, key) if type(k) is tuple]
        order = sorted(kept)
        axes = tuple([order.index(a) for a in kept])
        inner = with_index(steps[:-1], (), tuple(before)) if len(steps) > 1 else ((INDEX, tuple(before)),)
        return inner if axes == tuple(range(len(axes))) else (*inner, (TRANSPOSE, axes))
    return (*steps, (INDEX, key))


def compose(first: Key, second: Key) -> Key | None:
    """One key for second after first; None if there is none."""
    out: list[Any] = []
    rest = iter(second)
    for a in first:
        if type(a) is int:
            out.append(a)
            continue
        b = next(rest)
        while b is None:
            out.append(None)
            b = next(rest)
        if a is None:
            if type(b) is int:
                continue
            if b[1] != 1:
                return None
            out.append(None)
        elif type(b) is int:
            out.append(a[0] + b * a[2])
        else:
            out.append((a[0] + b[0] * a[2], b[1], a[2] * b[2]))
    out.extend(rest)
    return tuple(out)


@functools.lru_cache(4096, typed=True)  # equal dtypes may be two
def layout(base: tuple[int, ...], view: View | None, dtype: Any) -> Any:
    """A NumPy array with the strides that the view of a C-contiguous base has. Its memory must not be touched."""
    strides, step = [], 0 if 0 in base else dtype.itemsize  # without elements NumPy's new arrays have strides of 0
    for n in reversed(base):
        strides.append(step)
        step *= n
    whole = as_strided(np.empty(1, dtype), base, tuple(reversed(strides)))
    return whole if view is None else view.of_buffer(whole)


def can_reshape(base: tuple[int, ...], view: View | None, dtype: Any, shape: tuple[int, ...]) -> bool:
    """Whether NumPy would give a view."""
    if view is None:
        return True
    try:
        layout(base, view, dtype).reshape(shape, copy=False)
    except ValueError:
        return False
    return True


def axes_in_memory(array: np.ndarray) -> tuple[int, ...]:
    """The axes from the slowest to the fastest; C's order where strides do not say it."""
    return slowest_first(array.shape, array.strides)


@functools.lru_cache(4096)
def slowest_first(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(shape)), key=lambda axis: -abs(strides[axis]) if shape[axis] != 1 else -np.inf))


def view_to(part: np.ndarray, whole: np.ndarray) -> View | None:
    """The view of a C-contiguous array that another array is, which shows its memory and is not that array itself;
    None if it is none."""
    shape, base, strides = part.shape, whole.shape, part.strides
    if part.dtype != whole.dtype or not part.size:
        return None
    if part.size == whole.size and part.flags.c_contiguous:
        return derive(None, base, RESHAPE, shape) or derive(None, base, TRANSPOSE, tuple(range(len(shape))))
    offset = 0 if part.size == whole.size and min(strides, default=0) >= 0 else address(part) - address(whole)
    if len(shape) == 1 and len(base) == 2 and shape[0] == base[0] and strides == whole.strides[:1]:
        return derive(None, base, INDEX, ((0, base[0], 1), offset // part.itemsize))  # a column: `nonzero` gives them
    return found_view(shape, strides, offset, base, part.dtype)


@functools.lru_cache(4096)
def found_view(
    shape: tuple[int, ...], strides: tuple[int, ...], offset: int, base: tuple[int, ...], dtype: Any
) -> View | None:
    """The view with this shape, these strides and this first byte."""
    whole = layout(base, None, dtype)
    order = sorted([a for a, n in enumerate(shape) if n > 1], key=lambda axis: -abs(strides[axis]))
    key = found_key([(shape[a], strides[a]) for a in order], offset, whole)
    if key is None and math.prod(shape) != math.prod(base):
        return None
    first: Step = (RESHAPE, tuple([shape[a] for a in order])) if key is None else (INDEX, key)
    view = None
    try:
        for kind, param in (first, (TRANSPOSE, inverse_of(order)), (RESHAPE, shape)):
            view = derive(view, base, kind, param)
        found = whole if view is None else view.of_buffer(whole)
    except (ValueError, IndexError):
        return None
    same = all([s == t for s, t, n in zip(found.strides, strides, shape) if n > 1])
    return view if same and address(found) - address(whole) == offset else None


def inverse_of(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


def found_key(axes: list[tuple[int, int]], offset: int, whole: np.ndarray) -> Key | None:
    """The index of `whole` that has these lengths and strides, of axes that are longer than 1, the slowest first. Its
    own axes are in that order too, with positive strides."""
    key: list[Any] = []
    for n, stride in zip(whole.shape, whole.strides):
        place, offset = divmod(offset, stride) if n != 1 else (0, offset)
        if not 0 <= place < n:
            return None
        key.append(place)
    if offset:
        return None
    axis = 0
    for n, stride in axes:
        while axis < whole.ndim and (whole.shape[axis] == 1 or whole.strides[axis] > abs(stride)):
            axis += 1
        if axis == whole.ndim or stride == 0 or stride % whole.strides[axis]:
            return None
        start, step = key[axis], stride // whole.strides[axis]
        if not 0 <= start + (n - 1) * step < whole.shape[axis]:
            return None
        key[axis] = (start, n, step)
        axis += 1
    return tuple(key)


def part_of_view(view: View | None, base: tuple[int, ...], whole: np.ndarray, part: np.ndarray) -> View | None:
    """The view that `part` is, NumPy's view of `whole`, which is `view` of the base; where `_whole.h: is_index_of` says
    that there is one."""
    order = axes_in_memory(whole)
    axes = sorted([a for a, n in enumerate(part.shape) if n > 1], key=lambda axis: -abs(part.strides[axis]))
    lengths = [(part.shape[a], part.strides[a]) for a in axes]
    key = found_key(lengths, address(part) - address(whole), whole.transpose(order))
    steps = ((TRANSPOSE, order), (INDEX, key), (TRANSPOSE, inverse_of(axes)), (RESHAPE, part.shape))
    for kind, param in steps:
        view = derive(view, base, kind, param)
    return view


def address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])
