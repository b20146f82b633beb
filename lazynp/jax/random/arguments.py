"""What samplers check of their arguments: shapes, dtypes, parameters that broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from ...errors import shape_error
from ...graph.node import ABSTRACT, Node
from ...ops.promotion import broadcast
from ..array import Array, as_dtype, typed
from ..dtypes import KIND_OF, DType, TypePromotionError, promotion, requested, x64_enabled
from ..symbolic import is_symbolic_dim

Shape = tuple[int, ...]
WORDS = {"f": "float", "fc": "float or complex", "i": "int"}


def canonical_shape(shape: Any) -> Shape:
    """A shape as a tuple of Python's ints; an int is a length. Raises JAX's TypeError for what is none, and where a
    length is negative."""
    if isinstance(shape, int):
        shape = (shape,)
    try:
        out = tuple([n if is_symbolic_dim(n) else index(n) for n in shape])
    except TypeError as error:
        for n in shape if isinstance(shape, Sequence) else (shape,):
            if isinstance(n, Array) and n.node.trace == ABSTRACT:
                raise shape_error(n.node, shape) from None
        raise TypeError(f"Shapes must be 1D sequences of concrete values of integer type, got {shape}.") from error
    if any(n < 0 for n in out):
        raise TypeError(f"Only non-negative indices are allowed when broadcasting static shapes, but got shape {out}.")
    return out


def sampled_dtype(name: str, dtype: Any, default: type, kinds: str, error: type[Exception] = ValueError) -> DType:
    """The dtype of a sampler's result. Raises `error` where it is not of these kinds ("f", "c", "i", "u")."""
    found = requested(default if dtype is None else dtype, name)
    if KIND_OF.get(found) is None or KIND_OF[found] not in kinds:
        article = "an" if kinds[0] in "iu" else "a"
        word = "int" if kinds[0] in "iu" else WORDS[kinds]
        raise error(f"dtype argument to `{name}` must be {article} {word} dtype, got {found}")
    return found


def shape_of(x: Any) -> Shape:
    """The shape of a parameter: an array, or a scalar or sequence as NumPy has it."""
    return x.shape if isinstance(x, (Array, Node)) else np.shape(x)


def check_shape(name: str, shape: Shape, *parameters: Shape) -> None:
    """Raise JAX's ValueError where parameters do not broadcast to `shape`."""
    if not parameters:
        return
    found = common_shape(shape, *parameters)
    if found != shape:
        raise ValueError(
            f"{name} parameter shapes must be broadcast-compatible with shape argument, and the result of broadcasting "
            f"the shapes must equal the shape argument, but got result {found} for shape argument {shape}."
        )


def common_shape(*shapes: Shape) -> Shape:
    """Raises JAX's ValueError where there is none."""
    try:
        return broadcast((), *shapes)
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: shapes={list(shapes)}") from None


def broadcast_shape(name: str, shape: Any, *parameters: Any) -> Shape:
    """The shape of the result: that of the parameters together, or the given one, to which they must broadcast."""
    shapes = [shape_of(p) for p in parameters]
    if shape is None:
        return common_shape(*shapes) if shapes else ()
    out = canonical_shape(shape)
    check_shape(name, out, *shapes)
    return out


def check_safe(name: str, dtype: DType, *parameters: Any) -> None:
    """Raise JAX's TypePromotionError where a parameter would lose precision in `dtype`."""
    for p in parameters:
        own, weak = typed(p)
        try:
            safe = promotion(x64_enabled(), (own, weak), (dtype, False))[0] == dtype
        except TypePromotionError:
            safe = False
        if not safe:
            raise TypePromotionError(f"In arguments to {name}, cannot safely cast argument of type {own} to {dtype}")


def parameter(x: Any, dtype: DType) -> Node:
    """A parameter as a node of that dtype."""
    return as_dtype(x, dtype)
