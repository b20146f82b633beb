"""The NumPy door as the transformations see it; loaded with them, not with `import lazynp`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from .. import errors
from ..doors import Door, doors, register
from ..graph import errors as graph_errors
from ..graph.node import Node, leaf
from ..runtime.tape import outlived
from . import array, attributes, masked, record, traced, traced_math, traced_questions, traced_shapes
from .array import is_native, ndarray, of_scalar
from .layout import array_of

SCALARS: tuple[Any, ...] = (bool, int, float, complex)


def as_node(x: Any) -> Node:
    """The node of an array, a NumPy array or a scalar.

    Raises: TypeError for what is none of these, or of a dtype that the engine does not compute with.
    """
    kind = type(x)
    node = record.as_node(x)
    if node is not None:
        return node
    door = doors.get(kind)
    if door is not None and kind is not ndarray:
        return door.as_node(x)
    for t in SCALARS:
        if isinstance(x, t):  # of a subclass
            return Node.of_scalar(t(x))
    dtype = getattr(x, "dtype", None)
    if isinstance(dtype, numpy.dtype) and not is_native(dtype):
        raise TypeError(f"arrays of dtype {dtype} cannot be traced")
    raise TypeError(f"a value of type {kind.__name__} is not an array: {x!r}")


def canonical(dtype: numpy.dtype[Any]) -> numpy.dtype[Any]:
    """The dtype itself."""
    return dtype


def wrap(node: Node) -> Any:
    """The array for a node; where it has no axes, one that behaves as NumPy's scalars do."""
    if node.value is not None:
        value = numpy.asarray(node.value, node.dtype)
        node = leaf((), node.dtype, value, weak=node.weak)
    return array_of(node) if node.shape else of_scalar(node)


DOOR = register(Door("numpy", ndarray, as_node, wrap, canonical))
__all__ = ["DOOR", "traced", "traced_math", "traced_shapes"]


def no_value(node: Node) -> Exception:
    """The error for a traced array whose value is asked for."""
    return errors.concretization_error(node)


def raising(error: Callable[[Node], Exception]) -> Callable[[Node], Any]:
    def refuse(node: Node) -> Any:
        raise error(node)

    return refuse


graph_errors.no_value = no_value
array.outlived = outlived
masked.no_mask = lambda node: errors.boolean_index_error(node)
attributes.WITHOUT_VALUE.update(
    __bool__=traced_questions.truth,
    __index__=raising(errors.integer_error),
    __array__=raising(errors.array_error),
)
