"""Arrays made of several, and taken apart: `concatenate`, `stack`, `block`, `split` and their like."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...config import config
from ...graph.node import Node
from ...ops import joining as j
from ...ops import shape as s
from ...ops.elementwise import convert
from ..array import Array, as_node, cast_node, check_arraylike, own_form, typed, wrap_value
from ..at_once import apply
from ..dtypes import promotion, requested, x64_enabled
from ..splits import settled
from ..spreading import check_unsplit, keeps_split, state
from . import at_once
from .axes import axis_of, static_int
from .creation import asarray
from .shape import at_least, expand_dims, ndim, ravel, reshape, shape, small, transpose


def items_of(name: str, arrays: Any) -> list[Any]:
    """The arrays of a sequence; of an array, its rows. Raises JAX's errors."""
    if isinstance(arrays, (Array, np.ndarray)):
        return [arrays[i] for i in range(arrays.shape[0])] if arrays.ndim else []
    out = list(arrays)
    check_arraylike(name, *out)
    return [own_form(a) for a in out]


def joined(name: str, arrays: Sequence[Any], dtype: Any, impl: Callable[..., Node]) -> Any:
    """`impl(*nodes)` of arrays of their common dtype."""
    common, weak = promotion(x64_enabled(), *[typed(a) for a in arrays])
    to = common if dtype is None else requested(dtype, name)
    weak = weak and dtype is None
    nodes = [as_node(a) for a in arrays]
    return apply(lambda *xs: cast_node(impl(*[convert(x, to) for x in xs]), to, weak), *nodes)


def listed(shapes: list[tuple[int, ...]]) -> str:
    """Shapes as errors show them."""
    return ", ".join(map(str, shapes))


def concatenate(arrays: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """Joined along an axis. Raises TypeError, ValueError where shapes do not fit."""
    items = items_of("concatenate", arrays)
    if not items:
        raise ValueError("Need at least one array to concatenate.")
    if axis is None:
        return concatenate([ravel(a) for a in items], 0, dtype)
    if ndim(items[0]) == 0:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    at = axis_of(axis, ndim(items[0]))
    shapes = [shape(a) for a in items]
    if len({len(x) for x in shapes}) > 1:
        raise TypeError(f"Cannot concatenate arrays with different numbers of dimensions: got {listed(shapes)}.")
    if len({(*x[:at], *x[at + 1 :]) for x in shapes}) > 1:
        raise TypeError(
            "Cannot concatenate arrays with shapes that differ in dimensions other than the one being concatenated: "
            f"concatenating along dimension {at} for shapes {listed(shapes)}."
        )
    hosts = [small(a) for a in items]
    direct = dtype is None and all([h is not None for h in hosts]) and len({h.dtype for h in hosts}) == 1
    if direct and sum([h.size for h in hosts]) <= config.limit and not items[0]._weak:
        return wrap_value(np.ascontiguousarray(np.concatenate(hosts, at)))
    return joined("concatenate", items, dtype, lambda *xs: j.concatenate(*xs, axis=at) if len(xs) > 1 else xs[0])


def concat(arrays: Any, /, *, axis: Any = 0) -> Any:
    """Joined along an axis: `concatenate` of the array API."""
    return concatenate(arrays, axis)


def stack(arrays: Any, axis: int = 0, out: Any = None, dtype: Any = None) -> Any:
    """Joined along a new axis. Raises ValueError where shapes differ."""
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.stack is not supported.")
    found = at_once.stack(arrays, axis) if dtype is None else None
    if found is not None:
        return found
    if isinstance(arrays, (Array, np.ndarray)) and axis == 0:
        return concatenate([expand_dims(a, 0) for a in items_of("stack", arrays)], 0, dtype)
    items = items_of("stack", arrays)
    if not items:
        raise ValueError("Need at least one array to stack.")
    axis = operator.index(axis)
    shapes = [shape(a) for a in items]
    if len(set(shapes)) > 1:
        if len({len(x) for x in shapes}) > 1:
            raise ValueError(f"Cannot stack arrays with different numbers of dimensions: got {listed(shapes)}.")
        raise ValueError(f"All input arrays must have the same shape. Got {listed(shapes)}.")
    at = axis_of(axis, len(shapes[0]) + 1)
    wide = (*shapes[0][:at], 1, *shapes[0][at:])
    return joined("stack", items, dtype, lambda *xs: stacked(xs, wide, at))


def stacked(xs: Sequence[Node], wide: tuple[int, ...], axis: int) -> Node:
    rows = [s.reshape(x, shape=wide) for x in xs]
    return j.concatenate(*rows, axis=axis) if len(rows) > 1 else rows[0]


def vstack(tup: Any, dtype: Any = None) -> Any:
    """Rows on top of one another."""
    items = [at_least(a, 2) for a in items_of("vstack", tup)]
    return concatenate(items, 0, dtype)


def hstack(tup: Any, dtype: Any = None) -> Any:
    """Side by side."""
    items = [at_least(a, 1) for a in items_of("hstack", tup)]
    return concatenate(items, 0 if ndim(items[0]) == 1 else 1, dtype)


def dstack(tup: Any, dtype: Any = None) -> Any:
    """Behind one another."""
    return concatenate([at_least(a, 3) for a in items_of("dstack", tup)], 2, dtype)


def column_stack(tup: Any) -> Any:
    """Vectors as the columns of a matrix."""
    items = [transpose(at_least(a, 2)) if ndim(a) < 2 else a for a in items_of("column_stack", tup)]
    return concatenate(items, 1)


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """Values joined to the end."""
    check_arraylike("append", arr, values)
    if axis is None:
        return concatenate([ravel(arr), ravel(values)], 0)
    return concatenate([arr, values], axis)


def block(arrays: Any) -> Any:
    """An array of nested lists of blocks. Raises ValueError for ragged or empty lists."""
    depth = depth_of(arrays)
    out = blocked(arrays, depth, 1)
    return out


def depth_of(x: Any) -> int:
    if isinstance(x, tuple):
        raise ValueError(
            "jax.numpy.block given a tuple. Only lists can be used to arrange blocks, and np.block does not allow "
            "implicit conversion from tuple to ndarray."
        )
    if not isinstance(x, list):
        return 0
    if not x:
        raise ValueError("jax.numpy.block does not allow empty list arguments")
    depths = {depth_of(item) for item in x}
    if len(depths) > 1:
        raise ValueError("Mismatched list depths in jax.numpy.block")
    return 1 + depths.pop()


def blocked(x: Any, depth: int, level: int) -> Any:
    if depth == 0:
        return asarray(x)
    parts = [blocked(item, depth - 1, level + 1) for item in x]
    nd = max([depth, *[p.ndim for p in parts]])
    parts = [reshape(p, (*(1,) * (nd - p.ndim), *p.shape)) for p in parts]
    return concatenate(parts, axis=-depth)


# Taking apart.


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Parts along an axis, as even as can be; or from each of a rising sequence of indices to the next. Raises
    ValueError for indices that fall, or are out of bounds."""
    return parts_of("array_split", ary, indices_or_sections, axis, even=False)


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """The same. Raises ValueError where the parts are not even."""
    return parts_of("split", ary, indices_or_sections, axis, even=True)


def parts_of(name: str, ary: Any, given: Any, axis: int, even: bool) -> list[Any]:
    check_arraylike(name, ary)
    x = as_node(ary)
    at = axis_of(axis, x.ndim)
    n = x.shape[at]
    if isinstance(given, (tuple, list)) or np.ndim(given) > 0:
        bounds = [0, *[static_int(i) for i in given], n]
        spans = [(a, b - a) for a, b in pairwise(bounds)]
        if any([m < 0 for _, m in spans]):
            raise ValueError(f"Sizes passed to split must be nonnegative, got {[m for _, m in spans]}")
    else:
        whole = int(given) if isinstance(given, float) else given
        count = static_int(whole, f"It stands for the number of sections of {name}.")
        if count == 0:
            raise ZeroDivisionError("integer division or modulo by zero")
        if count < 0:
            raise ValueError("number sections must be larger than 0.")
        if even and not (n % count == 0):  # of a symbolic size, it has to be known
            raise ValueError(f"array split does not result in an equal division: rest is {n % count}")
        sizes = [n // count + (i < n % count) for i in range(count)]
        spans = [(sum(sizes[:i]), m) for i, m in enumerate(sizes)]
    with settled():
        out: list[Any] = apply(lambda x: [j.span(x, at, start, count) for start, count in spans], x)
    for part in out if state.on else ():
        keeps_split(x, part.node, "split")
    return out


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Side by side."""
    check_arraylike("hsplit", ary)
    return split(ary, indices_or_sections, 0 if ndim(ary) == 1 else 1)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """On top of one another."""
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Behind one another."""
    return split(ary, indices_or_sections, 2)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The parts along an axis, without it."""
    check_arraylike("unstack", x)
    node = as_node(x)
    if node.ndim == 0:
        raise ValueError("Unstack requires arrays with rank > 0, however a scalar array was passed.")
    at = axis_of(axis, node.ndim)
    check_unsplit(node, at, f"unstack operand cannot be sharded on the unstacking axis {at}.")
    key = s.whole(node.shape)
    return apply(
        lambda x: tuple([s.slice_(x, key=(*key[:at], i, *key[at + 1 :])) for i in range(node.shape[at])]), node
    )


# Rearranging.
