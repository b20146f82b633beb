"""Pieces of arrays: slices, padding, joining and splitting."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph.node import Node
from ...ops import joining
from ...ops import shape as s
from ...ops.elementwise import convert
from ...ops.promotion import Shape
from ..array import Array, cast_node, wrap
from ..at_once import apply, apply_like
from ..splits import settled
from ..spreading import keeps_split, state
from .call import argument, arguments, axis_of, check_same_dtypes, public, shapes_of, spread, with_axes
from .shapes import expand_dims


def check_slice(shape: Shape, start: Shape, limit: Shape, steps: Shape) -> None:
    """Raises JAX's TypeError for bounds that do not fit."""
    for bad, text in (
        (
            len(shape) != len(start),
            "start_indices must have length equal to the number of dimensions of the operand, got indices "
            f"{start} for operand shape {shape}.",
        ),
        (
            len(start) != len(limit),
            "limit_indices must have the same length as start_indices, got start_indices "
            f"{start} and limit_indices {limit}.",
        ),
        (
            any(b > n for b, n in zip(limit, shape)),
            "limit_indices must be less than or equal to operand shape, got limit_indices "
            f"{limit} for operand shape {shape}.",
        ),
        (
            any(a < 0 for a in start),
            f"start_indices must be greater than or equal to zero, got start_indices of {start}.",
        ),
        (
            any(a > b for a, b in zip(start, limit)),
            "limit_indices must be greater than or equal to start_indices, got start_indices "
            f"{start} and limit_indices {limit}.",
        ),
        (
            len(steps) != len(shape),
            "strides must have length equal to the number of dimensions of the operand, got strides "
            f"{steps} for operand shape {shape}.",
        ),
        (any(c <= 0 for c in steps), f"strides must be positive, got {steps}"),
    ):
        if bad:
            raise TypeError(f"slice {text}")


@public
def slice(operand: Any, start_indices: Any, limit_indices: Any, strides: Any = None) -> Array:
    """From start to limit in steps of the strides, along each axis.

    Raises: TypeError for bounds that leave the operand.
    """
    node = argument("slice", operand)
    start, limit = (tuple([operator.index(i) for i in v]) for v in (start_indices, limit_indices))
    steps = (1,) * node.ndim if strides is None else tuple([operator.index(i) for i in strides])
    check_slice(node.shape, start, limit, steps)
    key = tuple([(a, -(-(b - a) // c), c) for a, b, c in zip(start, limit, steps)])
    return apply(lambda x: s.slice_(x, key=key) if key else x, node)


def index_of_axis(axis: Any, x: Node) -> int:
    """An axis counted from the front. Raises IndexError for one that is not there."""
    at = operator.index(axis)
    if not -x.ndim <= at < x.ndim:
        raise IndexError("tuple index out of range")
    return at % x.ndim


@public
def slice_in_dim(operand: Any, start_index: Any, limit_index: Any, stride: int = 1, axis: int = 0) -> Array:
    """A range of one axis; indices as in Python's slices."""
    node = with_axes("slice_in_dim", operand)
    axis = index_of_axis(axis, node)
    n = node.shape[axis]
    start = 0 if start_index is None else operator.index(start_index)
    limit = n if limit_index is None else operator.index(limit_index)
    start, limit = (i + n if i < 0 else i for i in (start, limit))
    starts, limits, steps = [0] * node.ndim, list(node.shape), [1] * node.ndim
    starts[axis], limits[axis], steps[axis] = start, limit, operator.index(stride)
    return slice(operand, starts, limits, steps)


@public
def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """One element of an axis. Raises IndexError beyond its end."""
    node = with_axes("index_in_dim", operand)
    axis = index_of_axis(axis, node)
    i, n = operator.index(index), node.shape[axis]
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for axis {axis} with size {n}")
    at = i % n
    key: list[Any] = list(s.whole(node.shape))
    key[axis] = (at, 1, 1) if keepdims else at
    return apply(lambda x: s.slice_(x, key=tuple(key)), node)


@public
def pad(operand: Any, padding_value: Any, padding_config: Any) -> Array:
    """`(low, high, interior)` for each axis: elements of the value before, after and between; negative ones cut off.

    Raises: TypeError for dtypes that differ, ValueError for a configuration that does not fit.
    """
    x, value = arguments("pad", operand, padding_value)
    config = tuple([tuple([operator.index(p) for p in triple]) for triple in padding_config])
    if value.ndim:
        raise ValueError(f"padding_value must be a scalar; got np.shape(padding_value)={value.shape}")
    if len(config) != x.ndim or any(len(t) != 3 for t in config):
        raise ValueError(
            f"length of padding_config must equal the number of axes of operand, got padding_config {config} "
            f"for operand shape {x.shape}"
        )
    if any(t[2] < 0 for t in config):
        raise ValueError(f"interior padding in padding_config must be nonnegative, got padding_config {config}")
    sizes = tuple([low + high + n + max(n - 1, 0) * mid for n, (low, high, mid) in zip(x.shape, config)])
    if any(n < 0 for n in sizes):
        raise ValueError(
            f"Dimension size after padding is not at least 0, got result shape {sizes}, for padding_config {config} "
            f"and operand shape {x.shape}"
        )
    if x.dtype != value.dtype:
        raise TypeError(f"pad operand and padding_value must be same dtype: got {x.dtype.name} and {value.dtype.name}.")
    out = apply_like(lambda x, v: padded(x, v, config), x, value)
    if state.on:
        keeps_split(x, out.node, "padding")
    return out


def padded(x: Node, value: Node, config: Sequence[tuple[int, ...]]) -> Node:
    """lax.pad on nodes."""
    value = convert(value, x.dtype)
    if any(mid for _, _, mid in config):
        wide = tuple([max(n + max(n - 1, 0) * mid, 0) for n, (_, _, mid) in zip(x.shape, config)])
        key = tuple([(0, n, 1 + mid) for n, (_, _, mid) in zip(x.shape, config)])
        x = s.set_(spread(value, wide), x, key=key) if all(wide) else spread(value, wide)
    widths = [(low, high) for low, high, _ in config]
    return joining.pad(x, widths, value) if any(w != (0, 0) for w in widths) else convert(x, x.dtype)


# Joining and choosing.


@public
def concatenate(operands: Any, dimension: int) -> Array:
    """Joined along an axis. Raises TypeError for dtypes or shapes that differ, ValueError for none."""
    if len(operands) == 0:
        raise ValueError("concatenate requires a non-empty sequences of arrays")
    nodes = arguments("concatenate", *operands)
    if len(nodes) == 1:
        return wrap(nodes[0])
    check_same_dtypes("concatenate", nodes, "concatenate")
    if len({n.ndim for n in nodes}) > 1:
        raise TypeError(f"Cannot concatenate arrays with different numbers of dimensions: got {shapes_of(nodes)}.")
    axis = operator.index(dimension)
    if not 0 <= axis < nodes[0].ndim:
        raise TypeError(f"concatenate dimension out of bounds: dimension {axis} for shapes {shapes_of(nodes)}.")
    rest = {(*n.shape[:axis], *n.shape[axis + 1 :]) for n in nodes}
    if len(rest) > 1:
        raise TypeError(
            "Cannot concatenate arrays with shapes that differ in dimensions other than the one being concatenated: "
            f"concatenating along dimension {axis} for shapes {shapes_of(nodes)}."
        )
    weak = all([n.weak for n in nodes])
    return apply(lambda *xs: cast_node(joining.concatenate(*xs, axis=axis), nodes[0].dtype, weak), *nodes)


@public
def stack(operands: Any, axis: int = 0) -> Array:
    """Joined along a new axis."""
    if len(operands) == 0:
        raise ValueError("stack requires a non-empty sequences of arrays")
    nodes = arguments("stack", *operands)
    at = axis_of(axis, nodes[0].ndim + 1)
    return concatenate([expand_dims(x, (at,)) for x in operands], at)


@public
def unstack(x: Any, axis: int = 0) -> tuple[Array, ...]:
    """The elements of an axis, one by one."""
    node = argument("unstack", x)
    at = axis_of(axis, node.ndim)
    return tuple([index_in_dim(x, i, at, False) for i in range(node.shape[at])])


@public
def split(operand: Any, sizes: Any, axis: int = 0) -> list[Array]:
    """Cut along an axis into parts of these sizes. Raises ValueError where they do not add up."""
    node, parts = argument("split", operand), tuple([operator.index(n) for n in sizes])
    if any([n < 0 for n in parts]):
        raise ValueError(f"Sizes passed to split must be nonnegative, got {list(parts)}")
    at = axis_of(axis, node.ndim)
    if sum(parts) != node.shape[at]:
        raise ValueError(
            f"Sum of sizes {sum(parts)} must be equal to dimension {at} of the operand shape {list(node.shape)}"
        )
    ends = np.cumsum(parts).tolist()
    with settled():
        out = [slice_in_dim(operand, b - n, b, 1, at) for n, b in zip(parts, ends)]
    for part in out if state.on else ():
        keeps_split(node, part.node, "split")
    return out


__all__ = [
    "concatenate",
    "index_in_dim",
    "pad",
    "slice",
    "slice_in_dim",
    "split",
    "stack",
    "unstack",
]
