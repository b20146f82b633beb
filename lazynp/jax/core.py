"""`jax.core`: what programs ask of the machinery: whether a value is traced, and to run a jaxpr."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from ..graph.node import ABSTRACT
from .array import Array
from .aval import ShapedArray
from .deprecations import deprecated
from .extend import core as extended
from .jaxpr import eval_jaxpr
from .jaxpr_types import Literal, Var
from .names import ensure_compile_time_eval, typeof
from .primitives import primitive_of
from .symbolic import max_dim, min_dim

__all__ = [
    "AbstractValue",
    "Atom",
    "ParamDict",
    "ShapedArray",
    "Trace",
    "Tracer",
    "Value",
    "ensure_compile_time_eval",
    "eval_context",
    "eval_jaxpr",
    "max_dim",
    "min_dim",
]
AbstractValue = ShapedArray
Atom = Var | Literal
Value = Any
ParamDict = dict[str, Any]


def eval_context() -> AbstractContextManager[None]:
    """In the block, what depends on no traced value is computed at once."""
    return ensure_compile_time_eval()


class TracerMeta(type):
    """An array is a tracer while the function that it stands in is being transformed."""

    def __instancecheck__(cls, instance: object) -> bool:
        if not isinstance(instance, Array):
            return False
        return instance._is_left_behind() if instance._graph is None else instance._graph.trace != 0


class Trace:
    """What interprets operations in JAX. Operations are recorded in one graph here and ask no trace, so that a subclass
    is never asked: interpret the jaxpr of `make_jaxpr` instead."""


class Tracer(metaclass=TracerMeta):
    """What traced values are instances of: arrays all of them, so this class has no instances of its own."""


MOVED = [
    *("DebugInfo", "DropVar", "Effect", "Effects", "InconclusiveDimensionOperation", "JaxprTypeError", "check_jaxpr"),
    *("concrete_or_error", "find_top_trace", "gensym", "get_opaque_trace_state", "jaxprs_in_params", "new_jaxpr_eqn"),
    *("no_effects", "primal_dtype_to_tangent_dtype", "valid_jaxtype"),
]
LAST = [
    *("nonempty_axis_env_DO_NOT_USE", "unsafe_am_i_under_a_jit_DO_NOT_USE", "unsafe_am_i_under_a_vmap_DO_NOT_USE"),
    "unsafe_get_axis_names_DO_NOT_USE",
]
"""What is to be found in `jax.extend.core`, and what will be nowhere."""


def concrete(x: Any) -> bool:
    """Whether the value of an array is known: it is not traced by `jit`, nor one of many under `vmap`."""
    return not isinstance(x, Array) or x._graph is None or x._graph.trace < ABSTRACT


def constant_dim(d: Any) -> bool:
    """Whether a size is a number: all of ours are."""
    return isinstance(d, (int, np.integer))


def constant_shape(s: Any) -> bool:
    """Whether all sizes are numbers."""
    return all(constant_dim(d) for d in s)


__getattr__ = deprecated(
    __name__,
    {
        **{name: (getattr(extended, name), f"Use jax.extend.core.{name}.") for name in MOVED},
        **{name: (getattr(extended, name), "") for name in LAST},
        "OutputType": (tuple[ShapedArray, ...], ""),
        "call": (primitive_of("call").bind, ""),
        "is_concrete": (concrete, ""),
        "is_constant_dim": (constant_dim, ""),
        "is_constant_shape": (constant_shape, ""),
        "literalable_types": ({bool, int, float, complex, *extended.array_types}, ""),
        "no_axis_name": (object(), ""),
        "pytype_aval_mappings": ({np.ndarray: typeof, Array: typeof}, ""),
    },
)
