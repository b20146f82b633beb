"""`jax.interpreters.partial_eval`: functions traced with some arguments known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...api.trace import Trace, placeholder
from ...graph.aval import Aval
from ...graph.function import Function
from ...graph.node import ABSTRACT, Node
from ...graph.walk import dependents
from ...runtime.beginning import Beginning
from ..array import Array, as_node, wrap
from ..aval import ShapedArray
from ..core import Tracer
from ..jaxpr import dce_jaxpr
from ..jaxpr_types import ClosedJaxpr, Jaxpr
from ..jaxpr_writer import closed, to_be_shown

__all__ = [
    "DynamicJaxprTracer",
    "JaxprTracer",
    "PartialVal",
    "dce_jaxpr",
    "trace_to_jaxpr_dynamic",
    "trace_to_jaxpr_nounits",
]


class TracedMeta(type):
    """Arrays without a value."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tracer) and as_node(instance).trace == ABSTRACT


class DynamicJaxprTracer(metaclass=TracedMeta):
    """What traced values without a value are instances of."""


JaxprTracer = DynamicJaxprTracer


class PartialVal(tuple[Any, Any]):
    """An abstract value and no value, or no abstract value and a value."""

    @classmethod
    def unknown(cls, aval: Any) -> PartialVal:
        """Of that type."""
        return cls((aval, None))

    @classmethod
    def known(cls, const: Any) -> PartialVal:
        """That value."""
        return cls((None, const))

    def is_known(self) -> bool:
        """Whether there is a value."""
        return self[0] is None

    def get_known(self) -> Any:
        """The value; None where there is none."""
        return self[1] if self.is_known() else None

    def get_aval(self) -> Any:
        """The abstract value."""
        return ShapedArray(*as_node(self[1]).aval) if self.is_known() else self[0]


def traced(fun: Callable[..., Any], avals: Sequence[Any], given: Callable[[list[Node]], Sequence[Any]]) -> Any:
    """The placeholders, what a function of arrays returns for them, and since when its nodes were recorded."""
    since = Beginning()
    with to_be_shown(), Trace(fun, "jit") as trace:
        inputs = [
            placeholder(Aval(tuple(a.shape), a.dtype, getattr(a, "weak_type", False)), trace, i)
            for i, a in enumerate(avals)
        ]
        outs = list(fun(*given(inputs)))
        effects = trace.effects
    return inputs, outs, effects, since


def trace_to_jaxpr_nounits(
    fun: Any, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[PartialVal], list[Any]]:
    """The graph of what depends on the unknown arguments, the results, known or not, and the graph's constants.

    `fun` is a `linear_util.WrappedFun`. With `instantiate` all results count as unknown.
    """
    unknown = [p for p in pvals if not p.is_known()]

    def arguments(inputs: list[Node]) -> list[Any]:
        new = iter(inputs)
        return [p.get_known() if p.is_known() else wrap(next(new)) for p in pvals]

    inputs, outs, effects, since = traced(fun.call_wrapped, [p[0] for p in unknown], arguments)
    nodes = [as_node(x) for x in outs]
    moving = {*dependents(nodes, inputs), *inputs}
    every = [instantiate] * len(nodes) if isinstance(instantiate, bool) else list(instantiate)
    live = [n in moving or bool(all_) for n, all_ in zip(nodes, every)]
    found = closed(Function(inputs, [n for n, a in zip(nodes, live) if a], effects), since)
    results = [
        PartialVal.unknown(ShapedArray(*n.aval)) if a else PartialVal.known(x) for x, n, a in zip(outs, nodes, live)
    ]
    return found.jaxpr, results, found.consts


def trace_to_jaxpr_dynamic(fun: Any, in_avals: Sequence[Any], **_: Any) -> tuple[Jaxpr, list[ShapedArray], list[Array]]:
    """The graph of a `linear_util.WrappedFun` for arguments of these types, the results' types, and the constants."""
    inputs, outs, effects, since = traced(fun.call_wrapped, in_avals, lambda new: [wrap(n) for n in new])
    found: ClosedJaxpr = closed(Function(inputs, [as_node(x) for x in outs], effects), since)
    return found.jaxpr, found.out_avals, found.consts
