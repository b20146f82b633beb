"""`jax.core`: what programs ask of the machinery: whether a value is traced, and to run a jaxpr."""

from __future__ import annotations

from typing import Any

import numpy as np

from .array import Array
from .aval import ShapedArray
from .bind import Primitive
from .jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, eval_jaxpr, jaxpr_as_fun
from .names import ensure_compile_time_eval, typeof

__all__ = [
    "AbstractValue",
    "Atom",
    "ClosedJaxpr",
    "DropVar",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "Primitive",
    "ShapedArray",
    "Trace",
    "Tracer",
    "Value",
    "Var",
    "ensure_compile_time_eval",
    "eval_jaxpr",
    "jaxpr_as_fun",
    "max_dim",
    "min_dim",
]
AbstractValue = ShapedArray
pytype_aval_mappings: dict[Any, Any] = {np.ndarray: typeof, Array: typeof}
"""For types of values what gives their abstract value. Read by nobody here: `__jax_array__` says it."""
Atom = Var | Literal
Value = Any


def max_dim(d1: int, d2: int) -> int:
    """The larger of two sizes."""
    return max(d1, d2)


def min_dim(d1: int, d2: int) -> int:
    """The smaller of two sizes."""
    return min(d1, d2)


class TracerMeta(type):
    """An array is a tracer while the function that it stands in is being transformed."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Array) and instance._graph is not None and instance._graph.trace != 0


class Trace:
    """What interprets operations in JAX. Operations are recorded in one graph here and ask no trace, so that a subclass
    is never asked: interpret the jaxpr of `make_jaxpr` instead."""


class Tracer(metaclass=TracerMeta):
    """What traced values are instances of: arrays all of them, so this class has no instances of its own."""
