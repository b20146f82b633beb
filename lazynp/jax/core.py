"""`jax.core`: what programs ask of the machinery: whether a value is traced, and to run a jaxpr."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph.function import Function
from .array import Array, as_node, wrap
from .aval import ShapedArray
from .jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Primitive, Var
from .names import ensure_compile_time_eval

__all__ = [
    "AbstractValue",
    "Atom",
    "ClosedJaxpr",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "Primitive",
    "ShapedArray",
    "Tracer",
    "Value",
    "Var",
    "ensure_compile_time_eval",
    "eval_jaxpr",
]
AbstractValue = ShapedArray
Atom = Var | Literal
Value = Any


class TracerMeta(type):
    """An array is a tracer while the function that it stands in is being transformed."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Array) and instance._graph is not None and instance._graph.trace != 0


class Tracer(metaclass=TracerMeta):
    """What traced values are instances of: arrays all of them, so this class has no instances of its own."""


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any, propagate_source_info: bool = True) -> list[Any]:
    """The results of a graph for values of its constants and arguments.

    Raises: TypeError where their number is wrong.
    """
    function, constants = jaxpr.source
    if len(consts) != len(constants) or len(args) != len(function.inputs):
        raise TypeError(
            f"eval_jaxpr takes {len(constants)} constants and {len(function.inputs)} arguments, got {len(consts)} and "
            f"{len(args)}"
        )
    whole = Function((*constants, *function.inputs), function.outputs, function.effects, function.token)
    return [wrap(n) for n in whole(*[as_node(x) for x in (*consts, *args)])]
