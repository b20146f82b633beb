"""Nested lists and tuples of arrays and numbers, as one array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...graph.node import Node
from ...ops.joining import concatenate
from ...ops.shape import expand_dims, reshape
from ..array import Array, as_node
from ..at_once import apply
from ..casts import astype_node


def flat_leaves(x: Any) -> list[Any]:
    """The elements of nested lists and tuples, in order; their nesting must be regular."""
    out, stack = [], [x]
    while stack:
        item = stack.pop()
        if isinstance(item, (list, tuple)):
            stack.extend(reversed(item))
        else:
            out.append(item)
    return out


def host_tree(x: Any) -> Any:
    """Nested lists with NumPy arrays in place of arrays."""
    if isinstance(x, (list, tuple)):
        return [host_tree(item) for item in x]
    return x._value() if isinstance(x, Array) else np.asarray(x)


def joined(x: Any, dtype: np.dtype[Any]) -> Array:
    """Nested lists of pending or traced arrays."""
    nodes: list[Node] = []
    shape: list[int] = []
    level = x
    while isinstance(level, (list, tuple)):
        shape.append(len(level))
        level = level[0]
    for item in flat_leaves(x):
        node = item.node if isinstance(item, Array) else as_node(item)
        nodes.append(node)
    inner = nodes[0].shape
    if any([n.shape != inner for n in nodes]) or math.prod(shape) != len(nodes):
        nested = [isinstance(item, (list, tuple)) for item in x]
        if any(nested) and not all(nested):  # arrays beside lists
            return joined([joined(item, dtype) if n else item for item, n in zip(x, nested)], dtype)
        raise ragged(x)

    def impl(*nodes: Node) -> Node:
        rows = [expand_dims(astype_node(n, dtype), 0) for n in nodes]
        out = concatenate(*rows, axis=0) if len(rows) > 1 else rows[0]
        return reshape(out, shape=(*shape, *inner))

    return apply(impl, *nodes)


def ragged(x: Any) -> TypeError:
    """What JAX raises where it cannot join arrays along a new axis: the first level at which shapes differ."""
    for item in x:
        if isinstance(item, (list, tuple)) and len({np.shape(i) for i in item if isinstance(i, Array)}) > 1:
            return ragged(item)
    shapes = [(1, *shape_of_nested(item)) for item in x]
    listed = ", ".join(map(str, shapes))
    if len({len(s) for s in shapes}) > 1:
        return TypeError(f"Cannot concatenate arrays with different numbers of dimensions: got {listed}.")
    return TypeError(
        "Cannot concatenate arrays with shapes that differ in dimensions other than the one being concatenated: "
        f"concatenating along dimension 0 for shapes {listed}."
    )


def shape_of_nested(x: Any) -> tuple[int, ...]:
    """Of nested lists, by their first elements."""
    return (len(x), *(shape_of_nested(x[0]) if len(x) else ())) if isinstance(x, (list, tuple)) else np.shape(x)
