"""The NumPy door as the transformations see it; loaded with them, not with `import lazynp`."""

from __future__ import annotations

from typing import Any

import numpy

from ..api.handles import Door, doors, register
from ..graph.node import Node
from . import record
from .array import is_native, ndarray
from .methods import array_of

SCALARS = (bool, int, float, complex)


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
    if isinstance(x, SCALARS):
        return Node.of_scalar(next(t(x) for t in SCALARS if isinstance(x, t)))
    dtype = getattr(x, "dtype", None)
    if isinstance(dtype, numpy.dtype) and not is_native(dtype):
        raise TypeError(f"arrays of dtype {dtype} cannot be traced")
    raise TypeError(f"a value of type {kind.__name__} is not an array: {x!r}")


def canonical(dtype: numpy.dtype[Any]) -> numpy.dtype[Any]:
    """The dtype itself."""
    return dtype


DOOR = register(Door("numpy", ndarray, as_node, array_of, canonical))
