"""Mutable references in jaxprs: equations `new_ref`, `get`, `swap`, `addupdate` and `freeze`.

In a graph a reference is the values that it has had, one after the other. Where a graph is traced to be shown, what
reads a value or makes the next one of it stands behind a call of that name, and its jaxpr has one variable in the
place of all these values: an equation that writes gives what was there before.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ..api.trace import stack
from ..graph.function import Function
from ..ops.tags import as_call
from .array import Array, as_node, wrap
from .aval import AbstractRef
from .effects import AccumEffect, ReadEffect, RefEffect, WriteEffect
from .jaxpr_calls import ALONE
from .jaxpr_types import ClosedJaxpr, Jaxpr, JaxprEqn, Var
from .primitives import primitive_of

WRITES = ("swap", "addupdate")
PARTS = ("get", *WRITES)
ALONE.update(["new_ref", "freeze", *PARTS])
EFFECTS: dict[str, type[RefEffect]] = {
    "get": ReadEffect, "freeze": ReadEffect, "swap": WriteEffect, "addupdate": AccumEffect
}  # fmt: skip


class Indexer:
    """Which part of a reference an equation is about: its text, with `{}` for each array among the indices."""

    def __init__(self, idx: Any, shape: tuple[int, ...]) -> None:
        given = list(idx if type(idx) is tuple else (idx,))
        given = [] if idx is None or idx is ... else given
        self.arrays = [k for k in given if isinstance(k, (Array, np.ndarray))]
        if not given:
            self.text = "..."
            return
        i = next((i for i, k in enumerate(given) if k is ...), len(given))
        given[i : i + 1] = [slice(None)] * (len(shape) - len(given) + (i < len(given)))
        self.text = ",".join([part_text(k, n) for k, n in zip(given, shape)])

    def __repr__(self) -> str:
        return self.text


def part_text(k: Any, n: int) -> str:
    """The text of an index along an axis of that length."""
    if isinstance(k, slice):
        if any([isinstance(x, Array) for x in (k.start, k.stop, k.step)]):
            return ":"
        start, stop, step = k.indices(n)
        stop = start + len(range(start, stop, step))
        return f"{start or ''}:{stop if stop != n else ''}"
    return "{}" if isinstance(k, (Array, np.ndarray)) else str(k)


def told(name: str, idx: Any, whole: Array, outs: Sequence[Array], *values: Array, **params: Any) -> list[Array]:
    """What an operation on a reference has given, as results of an equation of that name, where a graph is traced to be
    shown. `whole`: what the reference held; `idx`: which part; `values`: what was written."""
    if not stack.shown or not stack.active:
        return list(outs)
    if name in PARTS:
        at = Indexer(idx, whole.shape)
        values, params = (*[wrap(as_node(x)) for x in at.arrays], *values), {"tree": at, "n": len(at.arrays)}
    inputs, results = [as_node(x) for x in (whole, *values)], [as_node(x) for x in outs]
    return [wrap(n) for n in as_call(Function(inputs, results), inputs, results, name, params)]


# --- The jaxpr --------------------------------------------------------------------------------------------------------


def in_turn(eqns: Sequence[JaxprEqn]) -> list[JaxprEqn]:
    """The equations, with what reads a value of a reference before what writes the next one."""
    makers = {v: e for e in eqns for v in e.outvars}
    readers: dict[Any, list[JaxprEqn]] = {}
    for e in eqns:
        for v in e.invars:
            if isinstance(v, Var):
                readers.setdefault(v, []).append(e)
    order: dict[int, JaxprEqn] = {}
    entered: set[int] = set()
    waiting = list(reversed(eqns))
    while waiting:
        e = waiting[-1]
        if id(e) in entered:
            waiting.pop()
            order.setdefault(id(e), e)
            continue
        entered.add(id(e))
        first = [makers[v] for v in e.invars if isinstance(v, Var) and v in makers]
        if e.primitive.name in WRITES:
            first += readers.get(e.invars[0], [])
        waiting.extend([x for x in reversed(first) if id(x) not in entered])
    return list(order.values())


def with_references(
    eqns: Sequence[JaxprEqn], refs: Sequence[Var], outs: Sequence[Any], last: Sequence[Any]
) -> list[JaxprEqn]:
    """The equations, in which variables stand for references and no longer for their values: the arguments `refs`, and
    what `new_ref` makes. `last`: what the arguments hold at the end, apart from the results `outs`."""
    if not refs and not any([e.primitive.name == "new_ref" for e in eqns]):
        return list(eqns)
    for v in refs:
        v.aval = AbstractRef(v.aval)
    found = References({v: v for v in refs}, {})
    found.write(eqns)
    for ref, v in zip(refs, last):
        found.end(ref, v)
    return needed(found.eqns, outs)


def read_in(eqns: Sequence[JaxprEqn], outs: Sequence[Any]) -> set[Var]:
    """The variables that are read."""
    return {v for e in eqns for v in e.invars if isinstance(v, Var)}.union([v for v in outs if isinstance(v, Var)])


def needed(eqns: Sequence[JaxprEqn], outs: Sequence[Any]) -> list[JaxprEqn]:
    """The equations without those that nothing reads any more: what an index is made of stands in no equation."""
    read, kept = read_in([], outs), []
    for e in reversed(eqns):
        if e.effects or e.primitive.name in ALONE or not read.isdisjoint(e.outvars):
            read.update(read_in([e], []))
            kept.append(e)
    return kept[::-1]


def trimmed(graphs: Sequence[ClosedJaxpr], places: range) -> tuple[list[ClosedJaxpr], set[int]]:
    """Bodies without arguments at these places that none of them reads, and the places of these."""
    reads = [read_in(g.eqns, g.outvars) for g in graphs]
    gone = {i for i in places if not any([g.invars[i] in read for g, read in zip(graphs, reads)])}
    if not gone:
        return list(graphs), gone
    return [all_named(g.map_jaxpr(lambda j: j.replace(invars=without(j.invars, gone)))) for g in graphs], gone


def all_named(graph: ClosedJaxpr) -> ClosedJaxpr:
    """A body that gets references: in these JAX shows all results, read or not."""
    for v in [v for e in graph.eqns for v in e.outvars]:
        v.unused = False
    return graph


def without(xs: Sequence[Any], places: Collection[int]) -> list[Any]:
    """A list without what stands at some places."""
    return [x for i, x in enumerate(xs) if i not in places]


class References:
    """Equations in which variables stand for references.

    Attributes:
        of: for each variable of a value that a reference has had, the variable of the reference.
        eqns: what has been written. bodies: what has been made of bodies, by their graphs and the places of references
            among their arguments, so that equal ones stay one.
    """

    def __init__(self, of: dict[Any, Var], bodies: dict[Any, Any]) -> None:
        self.of, self.bodies = of, bodies
        self.eqns: list[JaxprEqn] = []

    def add(self, name: str, operands: list[Any], results: list[Var], params: dict[str, Any]) -> None:
        """An equation about a reference, the first operand."""
        effects = frozenset([EFFECTS[name](operands[0])])
        self.eqns.append(JaxprEqn(primitive_of(name), operands, results, params, effects))

    def plain(self, v: Any) -> Any:
        """The value, read from the reference, where a variable stands for what one holds."""
        if not isinstance(v, Var) or v not in self.of:
            return v
        value = Var(self.of[v].aval.inner_aval)
        self.add("get", [self.of[v]], [value], {"tree": Indexer(..., ()), "n": 0})
        return value

    def end(self, ref: Var, v: Any) -> None:
        """The reference holds the value of this variable."""
        if not isinstance(v, Var) or self.of.get(v) is not ref:
            self.add("swap", [ref, self.plain(v)], [Var(ref.aval.inner_aval)], {"tree": Indexer(..., ()), "n": 0})

    def write(self, eqns: Sequence[JaxprEqn]) -> None:
        """These equations."""
        for e in in_turn(eqns):
            self.equation(e)

    def equation(self, e: JaxprEqn) -> None:
        name, of = e.primitive.name, self.of
        held = [i for i, v in enumerate(e.invars) if isinstance(v, Var) and v in of]
        if name == "new_ref":
            made = e.outvars[0]
            made.aval, of[made] = AbstractRef(made.aval), made
            self.eqns.append(e)
        elif name in EFFECTS and 0 in held:
            ref, results = of[e.invars[0]], list(e.outvars)
            if name in WRITES:
                of[results.pop(0)] = ref
            if name == "swap" and e.params["tree"].text == "..." and of.get(e.invars[1]) is ref:
                return  # what a body has written already
            self.add(name, [ref, *map(self.plain, e.invars[1:])], results, e.params)
        elif not held:
            self.eqns.append(e)
        elif name == "convert_element_type" and e.invars[0].aval.dtype == e.outvars[0].aval.dtype:
            of[e.outvars[0]] = of[e.invars[0]]
        elif name in HANDS_ON and (new := HANDS_ON[name](self, e, held)) is not None:
            self.eqns.append(new)
        else:
            self.eqns.append(e.replace(invars=[self.plain(v) for v in e.invars]))

    def body(
        self, graph: ClosedJaxpr, held: Sequence[int], returned: Sequence[int | None]
    ) -> tuple[ClosedJaxpr, list[Var]]:
        """A body whose arguments at the places `held` are references, which come first then, and these.

        Args:
            returned: for each result the place in `held` of the reference that holds it afterwards, and that it is no
                result of then; None for others.
        """
        key = graph, tuple(held), tuple(returned)
        if key not in self.bodies:
            whole = graph.jaxpr
            refs = [Var(whole.invars[i].aval) for i in held]
            for v in refs:
                v.aval = AbstractRef(v.aval)
            inside = References({whole.invars[i]: v for i, v in zip(held, refs)}, self.bodies)
            inside.write(whole.eqns)
            for k, v in zip(returned, whole.outvars):
                if k is not None:
                    inside.end(refs[k], v)
            outs = [inside.plain(v) for k, v in zip(returned, whole.outvars) if k is None]
            eqns, rest = needed(inside.eqns, outs), without(whole.invars, held)
            effects = frozenset().union(*[e.effects for e in eqns])
            new = Jaxpr(whole.constvars, [*refs, *rest], outs, eqns, effects, whole.debug_info)
            self.bodies[key] = all_named(ClosedJaxpr(new, graph.consts)), refs
        found: tuple[ClosedJaxpr, list[Var]] = self.bodies[key]
        return found

    def given(self, e: JaxprEqn, held: Sequence[int], returned: Sequence[int | None]) -> list[Var]:
        """The references that an equation gets, which hold some of its results afterwards."""
        refs = [self.of[e.invars[i]] for i in held]
        self.of.update({v: refs[k] for v, k in zip(e.outvars, returned) if k is not None})
        return refs

    def handed(
        self, e: JaxprEqn, held: Sequence[int], bodies: Sequence[tuple[ClosedJaxpr, list[Var]]]
    ) -> frozenset[Any]:
        """The effects of an equation with these bodies: on the references that it is given."""
        found = set(e.effects)
        for graph, refs in bodies:
            outer = {v: self.of[e.invars[i]] for i, v in zip(held, refs)}
            for effect in graph.jaxpr.effects:
                if not isinstance(effect, RefEffect):
                    found.add(effect)
                elif effect.ref in outer:
                    found.add(type(effect)(outer[effect.ref]))
        return frozenset(found)

    def last(self, graph: ClosedJaxpr, held: Sequence[int]) -> list[int | None]:
        """For each result of a body the place in `held` of the reference that holds it; None for others."""
        inside = References({graph.jaxpr.invars[i]: Var(graph.jaxpr.invars[i].aval) for i in held}, {})
        numbers = {v: k for k, v in enumerate(inside.of.values())}
        for v in numbers:
            v.aval = AbstractRef(v.aval)
        inside.write(graph.jaxpr.eqns)
        return [
            numbers.get(inside.of[v]) if isinstance(v, Var) and v in inside.of else None for v in graph.jaxpr.outvars
        ]


def scan_with_references(found: References, e: JaxprEqn, held: list[int]) -> JaxprEqn | None:
    """What is carried or captured; rows of references are read."""
    n, m = e.params["num_consts"], e.params["num_carry"]
    if held[-1] >= n + m:
        return None
    places = {i - n: k for k, i in enumerate(held) if i >= n}
    returned = [places.get(j) for j in range(len(e.outvars))]
    body = found.body(e.params["jaxpr"], held, returned)
    refs = found.given(e, held, returned)
    consts = n + len(places)
    (graph,), gone = trimmed([body[0]], range(len(held), consts))
    params = {**e.params, "jaxpr": graph, "num_consts": consts - len(gone), "num_carry": m - len(places)}
    return e.replace(
        invars=without([*refs, *without(e.invars, held)], gone),
        outvars=[v for v, k in zip(e.outvars, returned) if k is None],
        params=params,
        effects=found.handed(e, held, [body]),
    )


def while_with_references(found: References, e: JaxprEqn, held: list[int]) -> JaxprEqn | None:
    """What is carried; the condition gets the references that it reads."""
    n, m = e.params["cond_nconsts"], e.params["body_nconsts"]
    if held[0] < n + m:
        return None
    places = {i - n - m: k for k, i in enumerate(held)}
    returned = [places.get(j) for j in range(len(e.outvars))]
    test = found.body(e.params["cond_jaxpr"], [i - m for i in held], [None])
    step = found.body(e.params["body_jaxpr"], [i - n for i in held], returned)
    refs = found.given(e, held, returned)
    (cond,), of_test = trimmed([test[0]], range(len(held) + n))
    (body,), of_step = trimmed([step[0]], range(len(held), len(held) + m))
    rest = without(e.invars, [*range(n + m), *held])
    invars = [*without([*refs, *e.invars[:n]], of_test), *without([*refs, *e.invars[n : n + m]], of_step), *rest]
    params = {
        "cond_jaxpr": cond, "cond_nconsts": len(held) + n - len(of_test),
        "body_jaxpr": body, "body_nconsts": len(held) + m - len(of_step),
    }  # fmt: skip
    outvars = [v for v, k in zip(e.outvars, returned) if k is None]
    return e.replace(invars=invars, outvars=outvars, params=params, effects=found.handed(e, held, [test, step]))


def cond_with_references(found: References, e: JaxprEqn, held: list[int]) -> JaxprEqn | None:
    if held[0] == 0:
        return None
    return calls_with_references(found, e, held, "branches", 1)


def jit_with_references(found: References, e: JaxprEqn, held: list[int]) -> JaxprEqn | None:
    return calls_with_references(found, e, held, "jaxpr", 0)


def calls_with_references(found: References, e: JaxprEqn, held: list[int], name: str, first: int) -> JaxprEqn | None:
    """Of bodies whose results are those of the equation: a result that all have a reference hold is none."""
    graphs = e.params[name] if first else (e.params[name],)
    inner = [i - first for i in held]
    ends = [found.last(g, inner) for g in graphs]
    returned = [ks[0] if len(set(ks)) == 1 else None for ks in zip(*ends)]
    bodies = [found.body(g, inner, returned) for g in graphs]
    refs = found.given(e, held, returned)
    new, gone = trimmed([g for g, _ in bodies], range(len(held) if first else 0, len(bodies[0][0].invars) * first))
    return e.replace(
        invars=[*e.invars[:first], *without([*refs, *without(e.invars, [*range(first), *held])], gone)],
        outvars=[v for v, k in zip(e.outvars, returned) if k is None],
        params={**e.params, name: tuple(new) if first else new[0]},
        effects=found.handed(e, held, bodies),
    )


HANDS_ON = {
    "scan": scan_with_references,
    "while": while_with_references,
    "cond": cond_with_references,
    "jit": jit_with_references,
}
"""How an equation with bodies hands references on to them; None where it reads them instead."""
