"""From a graph to its jaxpr, with JAX's names for the primitives.

The graph is ours: what nobody needs is not in it, and operands broadcast without an equation of their own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from ..api.trace import stack as traces
from ..away import on_host
from ..config import config
from ..graph.aval import Aval
from ..graph.function import Function
from ..graph.node import Node
from ..graph.op import MAP, pick
from ..graph.walk import toposort
from ..ops.callback import callback
from ..ops.control import together
from ..ops.elementwise import cast, weak_cast
from ..ops.promotion import is_inexact
from ..ops.shape import reshape, transpose
from ..ops.tags import called, sums
from ..runtime.beginning import Beginning
from ..runtime.execute import boundary
from ..speed import calls
from .array import wrap
from .aval import ShapedArray, shaped, varying_type
from .bind import bound
from .call_cotangents import wider
from .dtypes import canonical
from .effects import DebugEffect, Effect, IOEffect, RefEffect
from .jaxpr_bodies import with_literals
from .jaxpr_calls import CALLS, Inner, inner_of, is_call
from .jaxpr_places import Place, axis_of, bodies_of, enter_bodies, of_results, said, varying
from .jaxpr_types import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from .primitives import operands_of, primitive_of, steps_of
from .reference_equations import with_references
from .spreading import known, note_all
from .spreading import state as spreading

NO_EFFECTS: frozenset[Effect] = frozenset()
DEBUG, IO = DebugEffect(), IOEffect()
PYTHON_NUMBERS = (int, float, complex)
EVERY = 1 << 62  # what was recorded before this number is a function's own: all of it


@contextlib.contextmanager
def to_be_shown() -> Iterator[None]:
    """In the block, graphs are traced to be shown: with the calls of jitted functions in them."""
    before, traces.shown = traces.shown, True
    limit = config.limit
    config.lift(-1)  # small arrays that the function makes are equations too
    sums.noting += 1
    if calls is not None:
        calls.show(1)
    try:
        yield
    finally:
        traces.shown = before
        config.lift(limit)
        sums.noting -= 1
        if calls is not None:
            calls.show(-1)


def type_of(n: Node) -> Aval | ShapedArray:
    """The type of a node, with how it lies and along which axes it varies, where that is known."""
    if n in varying:
        return varying_type(n.aval, known.get(n), varying[n])
    return shaped(n.aval, known.get(n)) if spreading.on else n.aval


class Inside:
    """What the graphs inside of one share: the calls that nodes are, and the jaxprs of functions."""

    def __init__(self) -> None:
        self.calls: dict[Node, Inner] = {}
        self.graphs: dict[Function, ClosedJaxpr] = {}

    def call(self, n: Node) -> Inner:
        """The arguments and the graph of a call."""
        found = self.calls.get(n)
        if found is None:
            found = self.calls[n] = inner_of(n)
        return found

    def reads(self, n: Node) -> list[Node]:
        """What an equation for the node reads."""
        return self.call(n).operands if n.op in CALLS else operands_of(n)

    def places(self, n: Node) -> dict[Node, Place]:
        """Of what an equation for the node reads, the indices along axes that its bodies have for collectives."""
        if n.op is called:
            found = self.call(n)
            shared = n.static[0].function is not None and found.name != "shard_map"
            return enter_bodies([(found.function, found.operands)]) if shared else {}
        return enter_bodies(bodies_of(n))

    def depends(self, n: Node) -> list[Node]:
        """What has to be there for the node's equation."""
        places = self.places(n)
        return [x for x in self.reads(n) if x not in places]

    def closed(self, function: Function) -> ClosedJaxpr:
        """The graph of a function."""
        found = None if varying else self.graphs.get(function)  # one graph may vary along several axes
        if found is None:
            found = self.graphs[function] = closed(function, EVERY, self)
        return found


class Writer:
    """Makes the equations of a graph, node by node."""

    def __init__(self, known: dict[Node, Any], inside: Inside) -> None:
        self.known, self.parts, self.inside = known, dict[Node, list[Any]](), inside
        self.picked: dict[tuple[Node, int], Node] = {}  # the nodes for single results of those that have several
        self.eqns: list[JaxprEqn] = []

    def atom(self, n: Node) -> Any:
        """The variable or the constant for a node."""
        n = behind(n, self.known, True)
        if n in self.known:
            return self.known[n]
        if n.op is pick:
            return self.parts[n.inputs[0]][n.static[0]]
        return Literal(n.value, Aval((), canonical(n.dtype), n.weak))

    def write(self, n: Node) -> None:
        """The equations for a node."""
        places = self.inside.places(n)
        operands = [places.get(i) or self.atom(i) for i in self.inside.reads(n)]
        if n.op in CALLS:
            self.call(n, operands)
            return
        steps = steps_of(n)
        weakened = (
            n.op is weak_cast and n.inputs[0].dtype == n.dtype
        )  # of JAX's operations the result is weak by itself
        unmoved = n.op is transpose and n.static[0] == tuple(range(n.ndim))
        if weakened or unmoved or n.op is reshape and n.inputs[0].shape == n.shape:
            self.known[n] = operands[0]
            return
        if n.op in (cast, weak_cast) and isinstance(operands[0], Literal):
            self.known[n] = Literal(operands[0].val, n.aval)
            return
        if n.op is not None and n.op.kind == MAP:
            operands = typed_alike(operands)
        for step in steps[:-1]:
            assert step.aval is not None
            var = Var(varying_type(step.aval, None, varying[n]) if n in varying else step.aval)
            self.eqns.append(JaxprEqn(primitive_of(step.name), operands, [var], step.params))
            operands = [var]
        last = steps[-1]
        given = last.params
        if last.name in ("scan", "while", "cond") and any([isinstance(v, (Literal, Place)) for v in operands]):
            given, operands = with_literals(last.name, given, operands, stands_inside, self.closed_over)
        params = {k: self.inner(v) for k, v in given.items()}
        ordered = n.op is callback and n.static[0].ordered
        avals = (type_of(n),) if n.dtype is not None else n.outs[: len(n.static[0].outs)] if ordered else n.outs
        if n.op is bound and n.static[0].acts:
            avals = avals[:-1]
        if n in of_results:
            results = [Var(varying_type(a, None, axes)) for a, axes in zip(n.outs, of_results[n])]
        else:
            picks = [self.picked.get((n, i)) for i in range(len(avals))]
            results = [Var(a if x is None else type_of(x)) for a, x in zip(avals, picks)]
        if n.dtype is None:
            self.parts[n] = [*results, *[None] * (len(n.outs) - len(results))]
        else:
            self.known[n] = results[0]
        primitive = n.static[0].primitive if n.op is bound else primitive_of(last.name)
        effects = effects_of(n.static[0]) if n.op is callback else NO_EFFECTS
        self.eqns.append(JaxprEqn(primitive, operands, results, params, effects))

    def call(self, n: Node, operands: list[Any]) -> None:
        """The equation of a call."""
        found = self.inside.call(n)
        outputs = n.inputs[: len(n.outs)] if found.name == "shard_map" else found.function.outputs
        results = [Var(type_of(x)) for x in outputs]
        self.parts[n] = [*results, *[None] * (len(n.outs) - len(results))]
        places = {i: v for i, v in enumerate(operands) if isinstance(v, Place)}
        operands = [v for v in operands if not isinstance(v, Place)]
        params = found.params(self.closed_over(found.function, places))
        inner = [g.effects for g in params.values() if isinstance(g, (ClosedJaxpr, Jaxpr))]
        self.eqns.append(JaxprEqn(primitive_of(found.name), operands, results, params, NO_EFFECTS.union(*inner)))

    def closed_over(self, function: Function, literals: dict[int, Any]) -> ClosedJaxpr:
        """The graph of a body, with literals for some of its arguments."""
        if not literals:
            return self.inside.closed(function)
        jaxpr, constants = jaxpr_of(function, EVERY, literals, self.inside)
        return ClosedJaxpr(jaxpr, [wrap(n) for n in constants])

    def inner(self, value: Any) -> Any:
        """A parameter, with functions in jaxpr form."""
        if isinstance(value, Function):
            return self.inside.closed(value)
        if isinstance(value, tuple) and value and all([isinstance(v, Function) for v in value]):
            return tuple([self.inside.closed(v) for v in value])
        return value


def effects_of(call: Any) -> frozenset[Effect]:
    """What a callback does besides its results."""
    if call.name == "pure_callback":
        return NO_EFFECTS
    return frozenset([DEBUG if call.differentiable else IO])


def typed_alike(operands: list[Any]) -> list[Any]:
    """Python scalars among an elementwise operation's operands in the dtype of the arrays beside them."""
    found = [v.aval.plain.dtype for v in operands if isinstance(v, Var)]
    dtype = next((d for d in found if d.kind != "b"), None)
    return [
        Literal(v.val, Aval((), dtype, v.aval.weak_type))
        if dtype is not None and isinstance(v, Literal) and type(v.val) in PYTHON_NUMBERS
        else v
        for v in operands
    ]


def stands_inside(atom: Any) -> bool:
    """Whether a body has it itself: a Python scalar, or an index whose axis is named."""
    return isinstance(atom, Place) or isinstance(atom, Literal) and bool(atom.aval.weak_type)


def behind(n: Node, stop: Collection[Node], calls: bool = False) -> Node:
    """The node that a tag stands for, where no transformation is to see it any more; at most as far as `stop`.
    `calls`: not behind what stands for a call."""
    while n.op is not None and n.inputs and n not in stop:
        source = n.inputs[0]
        if n.op.tag and n.dtype is not None and n not in said:
            n = source
        elif n.op is pick and is_tag(source, calls) and source.inputs:
            n = source.inputs[n.static[0]]
        elif n.op is pick and calls and source in wider:
            n = wider[source][n.static[0]]
        else:
            break
    return n


def is_tag(n: Node, calls: bool) -> bool:
    """Whether a jaxpr does without it."""
    if n.op is together:
        return True
    return n not in said and n.op is not None and bool(n.op.tag) and n.op is not bound and not (calls and is_call(n))


def in_order(results: Sequence[Node], stop: Collection[Node], inside: Inside | None = None) -> list[Node]:
    """What the results depend on, as a jaxpr has it: operands before what reads them, without what stands behind a
    primitive's result, nor, where calls are shown, a call's."""
    calls = inside is not None
    order: list[Node] = []
    done: set[Node] = set()
    entered: set[Node] = set()
    stack = list(reversed(results))
    while stack:
        node = behind(stack[-1], stop, calls)
        if node in done or node in entered or node.op is None or node in stop:
            stack.pop()
            if node not in done:
                done.add(node)
                order.append(node)
            continue
        entered.add(node)
        plain = node.op is pick or is_tag(node, calls)
        reads = node.inputs if plain or inside is None else inside.depends(node)
        stack.extend([n for n in reversed(reads) if behind(n, stop, calls) not in done])
    return order


def literal(n: Node) -> Any:
    """The value of a constant that stands where it is used: one number, cast or not, and none that a derivative is
    taken along. None of another node."""
    if n.shape or n.trace or n.dtype is None or n.dtype.type is np.void:
        return None
    if n.buffer is None and n.value is None and (n.op is cast or n.op is weak_cast):
        found = literal(n.inputs[0])
        return None if found is None else np.asarray(found).astype(n.dtype)
    return None if n.buffer is None else on_host(n.buffer)


def is_literal(n: Node) -> bool:
    return literal(n) is not None


def with_places(function: Function) -> Function:
    """The function, with the places along named axes that it reads among its inputs: they are no constants."""
    places = [n for n in toposort([*function.outputs, *function.effects]) if n in axis_of] if axis_of else []
    if not places:
        return function
    return Function([*function.inputs, *places], function.outputs, function.effects, function.token)


def jaxpr_of(
    function: Function,
    since: int | Beginning,
    literals: dict[int, Any] | None = None,
    inside: Inside | None = None,
    refs: int = 0,
) -> tuple[Jaxpr, list[Node]]:
    """The graph of a function, and its constants, also those that only the rules of users' derivatives read. Arguments
    for which there are literals are none; the first `refs` are references, and what they hold at the end, the last
    results, are no results."""
    if isinstance(since, Beginning):
        found = [n for n in since.constants(function) if n not in axis_of]
    else:
        found = boundary(with_places(function), since)
    stop, inside = {*found, *function.inputs}, inside or Inside()
    order = in_order([*function.outputs, *function.effects], stop, inside)
    reached = set(order)
    constants = [n for n in found if not is_literal(n) and (n in reached or n.trace and is_inexact(n.dtype))]
    writer = Writer({n: Literal(literal(n), n.aval) for n in found if is_literal(n)}, inside)
    if spreading.on:
        note_all(order)  # derivatives are nodes of which nobody has asked how they lie
        writer.picked = {(n.inputs[0], n.static[0]): n for n in order if n.op is pick}
    gone = {function.inputs[i]: v for i, v in (literals or {}).items()}
    writer.known.update({n: v for n, v in gone.items() if not isinstance(v, Place)})
    for n in (*constants, *function.inputs):
        writer.known.setdefault(n, Var(type_of(n)))
    for n in order:
        if n in axis_of and n not in writer.known:
            writer.known[n] = Var(varying_type(n.aval, None, (axis_of[n],)) if varying else n.aval)
            params = {"axis_name": axis_of[n]}
            writer.eqns.append(JaxprEqn(primitive_of("axis_index"), [], [writer.known[n]], params))
        elif n not in stop and n.op is not None and n.op is not pick and not is_tag(n, True):
            writer.write(n)
    left = [n for n in function.inputs if n not in gone]
    variables = [writer.known[n] for n in constants]
    arguments = [writer.known[n] if n not in left[:i] else Var(type_of(n)) for i, n in enumerate(left)]
    outputs = [writer.atom(n) for n in function.outputs]
    source = None if gone else (function, constants)
    first = len(outputs) - refs
    eqns = with_references(writer.eqns, arguments[:refs], outputs[:first], outputs[first:])
    done = NO_EFFECTS.union(*[e.effects for e in eqns])
    effects = frozenset([e for e in done if not isinstance(e, RefEffect) or e.ref in arguments])
    return Jaxpr(variables, arguments, outputs[:first], eqns, effects, source=source), constants


def closed(function: Function, since: int | Beginning, inside: Inside | None = None) -> ClosedJaxpr:
    """The graph with its constants' values."""
    jaxpr, constants = jaxpr_of(function, since, inside=inside)
    return ClosedJaxpr(jaxpr, [wrap(n) for n in constants])
