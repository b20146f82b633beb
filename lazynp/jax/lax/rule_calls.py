"""Calls of functions as primitives: of jitted ones, and of those that have derivatives of their own."""

from __future__ import annotations

from typing import Any

from ...api.trace import stack
from ...doors import FLOAT0
from ...graph.function import Function
from ...ops.shape import zeros_of
from ...ops.tags import as_call
from ..ad_checkpoint import checkpoint
from ..array import as_node, wrap
from ..custom_derivatives import custom_jvp, custom_vjp
from ..jaxpr import function_of, jaxpr_as_fun
from ..jaxpr_types import ClosedJaxpr
from ..linear_util import wrap_init


def inlined(*args: Any, **params: Any) -> Any:
    """A call: its body."""
    body = params["jaxpr"] if "jaxpr" in params else params["call_jaxpr"]
    function: Function = function_of(body)
    return [wrap(n) for n in function(*[as_node(x) for x in args])]


def jitted(*args: Any, jaxpr: Any, **params: Any) -> Any:
    """A call of a jitted function: its body, and where the graph is to be shown, what was called."""
    function, nodes = function_of(jaxpr), [as_node(x) for x in args]
    outs = function(*nodes)
    if stack.shown and outs and not function.effects:
        outs = as_call(function, nodes, outs, "jit", params)
    return [wrap(n) for n in outs]


def checkpointed(
    *args: Any, jaxpr: Any, prevent_cse: Any = True, policy: Any = None, differentiated: bool = False
) -> Any:
    """A call whose derivative computes its values once more; a derivative that has done so: its body."""
    if differentiated:
        return inlined(*args, jaxpr=jaxpr)
    f = jaxpr_as_fun(jaxpr if isinstance(jaxpr, ClosedJaxpr) else ClosedJaxpr(jaxpr, []))
    return checkpoint(f, prevent_cse=prevent_cse, policy=policy)(*args)


def bind_params(name: str, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an equation as `bind` takes them: functions in place of graphs, where there are rules."""
    if name not in ("custom_jvp_call", "custom_vjp_call") or "call_jaxpr" not in params:
        return dict(params)
    rest = {k: v for k, v in params.items() if k in ("symbolic_zeros", "out_trees")}
    rules = [params[k] for k in ("jvp_jaxpr_fun", "fwd_jaxpr_thunk", "bwd") if k in params]
    return {**rest, "subfuns": (wrap_init(jaxpr_as_fun(params["call_jaxpr"])), *rules)}


def bind_forward(*args: Any, subfuns: Any, symbolic_zeros: bool = False) -> list[Any]:
    """`custom_jvp_call`: a graph, and a rule from leaves and tangents to results and tangents."""
    graph, jvp = subfuns
    f = custom_jvp(lambda *xs: graph.call_wrapped(*xs))

    def rule(primals: Any, tangents: Any) -> Any:
        along = [t if t.dtype != FLOAT0 else wrap(zeros_of(as_node(p))) for p, t in zip(primals, tangents)]
        found = jvp.call_wrapped(*primals, *along)
        half = len(found) // 2
        return found[:half], found[half:]

    f.defjvp(rule)
    out: list[Any] = f(*args)
    return out


def bind_reverse(*args: Any, subfuns: Any, symbolic_zeros: bool = False, out_trees: Any = None) -> list[Any]:
    """`custom_vjp_call`: a graph, a rule from leaves to what is kept and results, and one from these and cotangents."""
    graph, fwd, bwd = subfuns
    f = custom_vjp(lambda *xs: graph.call_wrapped(*xs))

    def forward(*xs: Any) -> Any:
        found, n_out = fwd.call_wrapped(*xs), len(graph.call_wrapped(*xs))
        kept = len(found) - n_out
        return found[kept:], found[:kept]

    f.defvjp(forward, lambda kept, cts: tuple(bwd.call_wrapped(*kept, *cts)))
    out: list[Any] = f(*args)
    return out
