"""Mutable references in jaxprs: equations `new_ref`, `get`, `swap`, `addupdate` and `freeze`.

In a graph a reference is the values that it has had, one after the other. Where a graph is traced to be shown, what
reads a value or makes the next one of it stands behind a call of that name, and its jaxpr has one variable in the
place of all these values: an equation that writes gives what was there before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..api.trace import stack
from ..graph.function import Function
from ..ops.tags import as_call
from .array import Array, as_node, wrap
from .aval import AbstractRef
from .effects import AccumEffect, ReadEffect, RefEffect, WriteEffect
from .jaxpr_calls import ALONE
from .jaxpr_types import JaxprEqn, Var
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


def with_references(eqns: Sequence[JaxprEqn], refs: Sequence[Var], last: Sequence[Any] = ()) -> list[JaxprEqn]:
    """The equations, in which variables stand for references and no longer for their values: the arguments `refs`, and
    what `new_ref` makes. `last`: what the arguments hold at the end."""
    if not refs and not any([e.primitive.name == "new_ref" for e in eqns]):
        return list(eqns)
    for v in refs:
        v.aval = AbstractRef(v.aval)
    of: dict[Any, Var] = {v: v for v in refs}
    out: list[JaxprEqn] = []

    def add(name: str, operands: list[Any], results: list[Var], params: dict[str, Any]) -> None:
        effects = frozenset([EFFECTS[name](operands[0])])
        out.append(JaxprEqn(primitive_of(name), operands, results, params, effects))

    def plain(v: Any) -> Any:
        if not isinstance(v, Var) or v not in of:
            return v
        value = Var(of[v].aval.inner_aval)
        add("get", [of[v]], [value], {"tree": Indexer(..., ()), "n": 0})
        return value

    for e in in_turn(eqns):
        name = e.primitive.name
        if name == "new_ref":
            made = e.outvars[0]
            made.aval, of[made] = AbstractRef(made.aval), made
            out.append(e)
        elif name in EFFECTS and e.invars[0] in of:
            ref, results = of[e.invars[0]], list(e.outvars)
            if name in WRITES:
                of[results.pop(0)] = ref
            add(name, [ref, *map(plain, e.invars[1:])], results, e.params)
        elif any([isinstance(v, Var) and v in of for v in e.invars]):
            out.append(e.replace(invars=[plain(v) for v in e.invars]))
        else:
            out.append(e)
    for ref, v in zip(refs, last):
        if of.get(v) is not ref:
            add("swap", [ref, plain(v)], [Var(ref.aval.inner_aval)], {"tree": Indexer(..., ()), "n": 0})
    return out
