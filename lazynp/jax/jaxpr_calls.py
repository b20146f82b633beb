"""Calls in jaxprs: a node that says that its results are a function's, as an equation with the graph of that function.

The graph is what lies between the node's arguments and its results, so that a call that has been mapped is shown with
the graph of all examples.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..api.ahead import inline
from ..api.custom import Forward, Recompute, Reverse
from ..api.trace import under_way
from ..graph.function import Function, replay
from ..graph.node import Node
from ..ops.control import own_copy
from ..ops.shape import zeros_of
from ..ops.tags import Batched, Nodes, Tangents, called, custom
from .api_util import DebugInfo
from .array import as_node, wrap
from .jaxpr_places import axis_of
from .jaxpr_types import ClosedJaxpr, Jaxpr
from .linear_util import WrappedFun, wrap_init

Fun = Callable[..., Any]
Params = Callable[[ClosedJaxpr], dict[str, Any]]
CALLS = (called, custom)
ALONE: set[str] = set()
"""Names of calls that are shown without the graph of what they call: see `shown_primitives`."""


class Checkpointed(Recompute):
    """The rule of a call whose values are computed once more for its derivative.

    Attributes:
        policy, prevent_cse: as the user gave them. differentiated: whether that has happened: the call is not shown
            then, since it is the derivative that computes once more.
        n_kept: how many of the last results are values that are kept for the derivative.
        effectful: a graph, if it has effects, and its inputs in the call, of which the last may be no arguments.
    """

    differentiated = False
    n_kept = 0
    effectful: tuple[Function, Sequence[Node]] | None = None

    def __init__(self, name: str, policy: Fun | None, prevent_cse: bool | Sequence[bool]) -> None:
        super().__init__(name)
        self.policy, self.prevent_cse = policy, prevent_cse

    def jvp(self, outs: Nodes, kept: Nodes, inputs: Nodes, tangents: Tangents) -> Tangents:
        self.prepare(inputs, tangents)
        return super().jvp(outs, kept, inputs, tangents)

    def silent(self) -> Function:
        return super().silent() if self.effectful is None else own_copy(self.function)

    def prepare(self, inputs: Nodes, tangents: Tangents) -> None:
        """Note that a derivative is taken. One in reverse, whose tangents are no user's values, computes the call once
        more, with its effects; in bodies of loops, whose graphs are rewritten without a trace, these come once."""
        self.differentiated = True
        if self.effectful is None or not under_way(inputs):
            return
        if not under_way([t for t in tangents if t is not None]):
            function, given = self.effectful
            count = len(inputs) - self.closed
            if self.function.effects:  # whose rules may have been run since
                inline(self.function, inputs)
            else:
                inline(function, [*inputs[:count], *given[count:]])


class Inner:
    """What a node calls.

    Attributes:
        name: of the primitive. operands: what the call reads. function: of these; its outputs are the call's results.
        params: from the function's jaxpr to the equation's parameters.
    """

    __slots__ = ("name", "operands", "function", "params")

    def __init__(self, name: str, operands: Sequence[Node], function: Function, params: Params) -> None:
        self.name, self.operands, self.function, self.params = name, list(operands), function, params


def plain_rule(rule: Any) -> Any:
    """A rule without the axes that it was mapped over."""
    while isinstance(rule, Batched):
        rule = rule.rule
    return rule


def is_call(n: Node) -> bool:
    """Whether a node is shown as a call."""
    if n.op is called:
        return n.static[0].function is not None or n.static[0].name != "shard_map"
    if n.op is not custom:
        return False
    rule = plain_rule(n.static[0])
    return isinstance(rule, (Forward, Reverse)) or isinstance(rule, Checkpointed) and not rule.differentiated


def inner_of(n: Node) -> Inner:
    """What a node calls that is shown as a call."""
    if n.op is called:
        call, count = n.static
        operands, function = list(n.inputs[count:]), call.function
        if function is None:
            operands, function = between(n.inputs[:count], operands)
        params = PARAMS.get(call.name, params_of_alone if call.name in ALONE else params_of_call)
        return Inner(call.name, operands, function, functools.partial(params, call.params))
    rule, hidden, count = n.static
    user = plain_rule(rule)
    if isinstance(user, Checkpointed):
        operands, function = between(n.inputs[: count - user.n_kept], n.inputs[hidden:], all_captured=True)
        return Inner("remat2", operands, function, functools.partial(params_of_checkpoint, user))
    operands, function = between(n.inputs[:count], n.inputs[hidden:])
    captured = len(operands) - len(n.inputs) + hidden
    name = "custom_vjp_call" if user.reverse else "custom_jvp_call"
    return Inner(name, operands, function, functools.partial(params_of_rule, rule, captured))


def between(outs: Sequence[Node], args: Sequence[Node], all_captured: bool = False) -> tuple[list[Node], Function]:
    """The function that has made results from arguments, and what it reads: what is traced of what it captures (or
    `all_captured`), then the arguments; without indices along axes, which an equation of the function gives."""
    captured = [n for n in Function(args, outs).captured() if n.trace or all_captured]
    operands = [n for n in (*captured, *args) if n not in axis_of]
    return operands, Function(operands, outs)


# --- Parameters -------------------------------------------------------------------------------------------------------


def params_of_call(params: dict[str, Any], jaxpr: ClosedJaxpr) -> dict[str, Any]:
    return {"jaxpr": jaxpr, **params}


def params_of_shard_map(params: dict[str, Any], jaxpr: ClosedJaxpr) -> dict[str, Any]:
    return {"jaxpr": jaxpr.jaxpr, **params}


def params_of_alone(params: dict[str, Any], jaxpr: ClosedJaxpr) -> dict[str, Any]:
    return params


PARAMS = {"shard_map": params_of_shard_map}


def params_of_checkpoint(rule: Checkpointed, jaxpr: ClosedJaxpr) -> dict[str, Any]:
    return {"jaxpr": jaxpr.jaxpr, "prevent_cse": rule.prevent_cse, "differentiated": False, "policy": rule.policy}


def params_of_rule(rule: Any, num_consts: int, jaxpr: ClosedJaxpr) -> dict[str, Any]:
    """Of a function with a derivative of its own; `rule` may have been mapped."""
    user, whole = plain_rule(rule), jaxpr.jaxpr
    info = DebugInfo("jit", user.name, None, None)
    graph = Jaxpr(whole.constvars, whole.invars, whole.outvars, whole.eqns, debug_info=info, source=whole.source)
    call = ClosedJaxpr(graph, jaxpr.consts)
    params = {"call_jaxpr": call, "num_consts": num_consts, "symbolic_zeros": getattr(user, "symbolic_zeros", False)}
    rules = RuleOfLeaves(unkept(rule), call, num_consts)
    if not user.reverse:
        return {**params, "jvp_jaxpr_fun": wrapped(rules.jvp, user.rule)}
    thunk, back = wrapped(rules.fwd, user.owner.rules[0]), wrapped(rules.bwd, user.bwd)
    return {**params, "fwd_jaxpr_thunk": thunk, "bwd": back, "out_trees": lambda: (user.out_structure, None)}


def wrapped(rule: Fun, given: Any) -> WrappedFun:
    """A rule of leaves, with the name of the one that the user gave."""
    while isinstance(given, functools.partial) or hasattr(given, "__wrapped__"):
        given = getattr(given, "__wrapped__", None) or given.func
    named = functools.partial(rule)
    named.__name__ = getattr(given, "__name__", type(given).__name__)  # type: ignore[attr-defined]
    return wrap_init(named)


def unkept(rule: Any) -> Any:
    """A rule as of a call that has kept nothing for its derivative."""
    new = copy.copy(rule)
    if isinstance(rule, Batched):
        new.rule, new.axes, new.kept = unkept(rule.rule), rule.axes[rule.kept :], 0
    elif rule.reverse:
        new.residuals = None
    return new


class RuleOfLeaves:
    """A rule as functions of leaves, as interpreters of jaxprs get them.

    Attributes:
        call: the graph that has the rule. n: how many of its first arguments the rule has none of.
    """

    def __init__(self, rule: Any, call: ClosedJaxpr, n: int) -> None:
        self.rule, self.call, self.n = rule, call, n

    def outs(self, inputs: Sequence[Node]) -> list[Node]:
        """The results of the graph, which shows a function."""
        source = self.call.jaxpr.source
        assert source is not None
        function, constants = source
        consts = [as_node(x) for x in self.call.consts]
        return replay(function.outputs, [*constants, *function.inputs], [*consts, *inputs])

    def jvp(self, *args: Any) -> list[Any]:
        """From arguments and their tangents to results and theirs."""
        nodes, count = [as_node(x) for x in args], len(args) // 2
        outs = self.outs(nodes[:count])
        found = self.rule.jvp(outs, [], nodes[self.n : count], nodes[count + self.n :])
        return [*map(wrap, outs), *[wrap(zeros_of(n) if t is None else t) for n, t in zip(outs, found)]]

    def fwd(self, *args: Any) -> list[Any]:
        """The arguments, which are what is kept, and the results."""
        return [*args, *map(wrap, self.outs([as_node(x) for x in args]))]

    def bwd(self, *args: Any) -> list[Any]:
        """From arguments and cotangents of the results to cotangents of the arguments."""
        nodes, count = [as_node(x) for x in args], len(self.call.in_avals)
        inputs = nodes[:count]
        found = self.rule.vjp(self.outs(inputs), [], inputs[self.n :], nodes[count:], [True] * (count - self.n))
        cts = [*[None] * self.n, *found]
        return [wrap(zeros_of(n) if c is None else c) for n, c in zip(inputs, cts)]
