"""Derivatives of calls in graphs that are shown: a call that also gives what its backward pass keeps, and one for that.

JAX differentiates a jitted function by itself: in its jaxprs a `jit` equation gives the results and the residuals, and
another the cotangents. Nothing but what graphs show comes of this; they compute what they would compute without it.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from ..api.ahead import inline
from ..api.trace import stack
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node, leaf
from ..graph.op import VIEW
from ..graph.walk import dependents, toposort
from ..ops.control import own_copy
from ..ops.rewrites import rewrites
from ..ops.tags import Tangents, alias, as_call
from ..transforms.transpose import vjp
from .specs import UNSPECIFIED
from .spreading import known, note, note_all
from .spreading import state as spreading

wider: weakref.WeakKeyDictionary[Node, list[Node]] = weakref.WeakKeyDictionary()
"""For a call the results of one that gives more, and stands for it in jaxprs."""


def pulled_back(node: Node, cts: Tangents, live: Sequence[bool]) -> list[Node | None]:
    """The cotangents of the inputs of a `called` node: its function is differentiated, and what comes of that is shown
    as a call."""
    call, n = node.static
    if not stack.shown or call.function is None:
        return [*cts, *[None] * (len(node.inputs) - n)]
    operands, function = node.inputs[n:], another(call.function)
    given = [None if c is None else standing_for(c) for c in cts]
    sources = [x for x, moves in zip(function.inputs, live[n:]) if moves]
    before = set(toposort([*function.inputs, *function.outputs]))
    with rewrites.collecting() as trace:
        found = iter(vjp(function.outputs, sources, given))
    made = [next(found) if moves else None for moves in live[n:]]
    outs, own = [x for x in made if x is not None], [x for x in given if x is not None]
    note_all([*function.outputs, *outs])
    kept = residuals([*outs, *trace.effects], own, before)
    values = dict(zip(function.inputs, operands))
    more = [x for x in kept if x not in values]
    if more:
        values.update(zip(more, keeping(node, function, more)))
    body = Function([*kept, *own], outs, trace.effects, trace.first if trace.effects else None)
    reads = [*[values[x] for x in kept], *[c for c in cts if c is not None]]
    results = inline(body, reads)
    if outs and not trace.effects:
        results = as_call(body, reads, results, call.name, of_sizes(call.params, len(reads), len(outs)), pulled_back)
    given_back = iter(results)
    return [*[None] * n, *[None if x is None else next(given_back) for x in made]]


def another(function: Function) -> Function:
    """A graph of its own that computes the same: it is marked by what is done with it."""
    own = own_copy(function)
    inputs = [standing_for(x) for x in function.inputs]
    return Function(inputs, own(*inputs))


def standing_for(x: Node) -> Node:
    """A placeholder that lies as a node does."""
    one = leaf(x.shape, x.dtype, weak=x.weak, trace=ABSTRACT)
    if spreading.on:
        note(x)
        known[one] = known.get(x)
    return one


def residuals(outs: Sequence[Node], cts: Sequence[Node], before: set[Node]) -> list[Node]:
    """What a backward pass reads of the forward one: it computes itself what depends on cotangents, and what is
    computed once more."""
    again = [x for x in toposort(outs) if x.op is alias and x not in before]
    inside = {*cts, *again, *dependents(outs, [*cts, *again])}
    order = toposort(outs)
    for x in reversed(order):
        if x not in inside and x not in before and x.op is not None and x.op.kind == VIEW and x.trace == ABSTRACT:
            inside.add(x)
    reads = [*outs, *[x for node in order if node in inside for x in node.inputs]]
    return list(dict.fromkeys([x for x in reads if x not in inside and x.trace == ABSTRACT and x.dtype is not None]))


def keeping(node: Node, function: Function, more: Sequence[Node]) -> list[Node]:
    """Further results of a call. One that gives them all stands for it from now on."""
    call, n = node.static
    operands = node.inputs[n:]
    values = Function(function.inputs, more)(*operands)
    whole = Function(function.inputs, [*function.outputs, *more])
    params = of_sizes(call.params, len(operands), n + len(more))
    results = as_call(whole, operands, [*node.inputs[:n], *values], call.name, params, pulled_back)
    wider[node] = results[:n]
    return results[n:]


def of_sizes(params: dict[str, Any], n_in: int, n_out: int) -> dict[str, Any]:
    """Parameters of a call, for so many arguments and results, of which nothing is said."""
    sizes = {"in_shardings": n_in, "in_layouts": n_in, "donated_invars": n_in, "out_shardings": n_out}
    sizes["out_layouts"] = n_out
    found = dict(params)
    for key, size in sizes.items():
        if key in found:
            found[key] = UNSAID[key] * size
    return found


UNSAID: dict[str, tuple[Any, ...]] = {
    "in_shardings": (UNSPECIFIED,),
    "out_shardings": (UNSPECIFIED,),
    "in_layouts": (None,),
    "out_layouts": (None,),
    "donated_invars": (False,),
}
