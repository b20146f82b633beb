"""Axes, shapes and other arguments that are no arrays, as JAX checks them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...errors import concretization_error, shape_error
from ...graph.node import ABSTRACT, Node
from ..array import Array
from ..aval import ShapedArray
from ..dtypes import shown
from ..symbolic import _DimExpr


def no_out(name: str, out: Any, axis: Any = None) -> None:
    """Arrays are immutable: there is nothing to write into. Raises NotImplementedError; TypeError for what is no axis
    at all."""
    if out is not None:
        if isinstance(axis, float):
            raise TypeError("'float' object is not iterable")
        raise NotImplementedError(f"The 'out' argument to jnp.{name} is not supported.")


def static_int(x: Any, what: str = "") -> Any:
    """A Python int, or a size with variables. Raises ConcretizationTypeError for a traced value, TypeError for what is
    no integer."""
    if isinstance(x, _DimExpr):
        return x
    node = x._graph if isinstance(x, Array) else None
    if node is not None and node.trace == ABSTRACT:
        raise concretization_error(node, what)
    return operator.index(x)


def axis_of(axis: Any, ndim: int, what: str = "axis") -> int:
    """A non-negative axis. Raises AxisError, a ValueError and an IndexError (JAX raises now one, now the other)."""
    n = static_int(axis, f"It stands for an {what}.")
    if not -ndim <= n < ndim:
        raise np.exceptions.AxisError(f"{what} {n} is out of bounds for array of dimension {ndim}")
    return n + ndim if n < 0 else n


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Sorted non-negative axes: all for None. Raises ValueError for one out of bounds or repeated."""
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, (tuple, list)):
        axes = [axis_of(a, ndim) for a in axis]
        if len(set(axes)) != len(axes):
            raise ValueError(f"duplicate value in 'axis': {tuple(axis)}")
        return tuple(sorted(axes))
    if isinstance(axis, float):
        raise TypeError(f"'float' object cannot be interpreted as an axis: {axis}")
    return (axis_of(axis, ndim),)


def shape_of(shape: Any, what: str = "shape") -> tuple[int, ...]:
    """A shape from an int or a sequence of ints. Raises TypeError for what is none or traced."""
    if isinstance(shape, (int, np.integer, _DimExpr)) or isinstance(shape, Array) and shape.ndim == 0:
        if isinstance(shape, Array) and shape.node.trace == ABSTRACT:
            raise shape_error(shape.node, (shape,))
        return (static_int(shape, f"It stands in a {what}."),)
    try:
        entries = list(shape)
    except TypeError:
        raise TypeError(f"{what} must be an int or a sequence of ints, got {shape!r}") from None
    out = []
    for n in entries:
        try:
            out.append(static_int(n, f"It stands in a {what}."))
        except TypeError as error:
            if isinstance(n, Array):
                raise (shape_error(n.node, tuple(entries)) if n.node.trace == ABSTRACT else error) from None
            raise TypeError(
                f"Shapes must be 1D sequences of concrete values of integer type, got {tuple(entries)}."
            ) from error
    return tuple(out)


def check_sizes(name: str, shape: tuple[int, ...]) -> None:
    """Raise the TypeError that JAX's operation of that name gives for a negative length."""
    if any([n < 0 for n in shape]):
        raise TypeError(f"{name} shape must have every element be nonnegative, got {shape}.")


def check_broadcast(x: Node, wanted: tuple[int, ...]) -> None:
    """Raise JAX's ValueError where an array does not broadcast to a shape."""
    old = x.shape
    if len(old) > len(wanted):
        raise ValueError(f"Cannot broadcast to shape with fewer dimensions: arr_shape={old} shape={wanted}")
    check_sizes("broadcast_in_dim", wanted)
    if any([n not in (1, m) for n, m in zip(reversed(old), reversed(wanted))]):
        types = ShapedArray(old, shown(x.dtype), x.weak), ShapedArray(wanted, shown(x.dtype))
        raise ValueError("Incompatible types for broadcasting: input type={} and requested type={}".format(*types))
