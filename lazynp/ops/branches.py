"""`cond` and its rules. Its inputs are the number of the branch, within range, and what the branches read; its
parameters are the branches, as functions of graphs. What its rules share with those of loops is in `control.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node, leaf
from ..graph.op import LIBRARY, VIEW, Op, pick
from ..graph.walk import toposort
from . import control
from .callback import callback
from .closure import unrecorded
from .control import (
    Nodes,
    Tangents,
    batched,
    batched_inputs,
    chosen,
    full_axes,
    opened,
    own_copy,
    performed,
    picked,
    placeholder,
    recorded,
    rewritten,
    spread,
    tangents_of,
    together,
)
from .elementwise import add, cast, conjugate, divide, equal, multiply, negative, real, subtract, weak_cast, where
from .promotion import is_inexact
from .rewrites import rewrites
from .shape import Axes, add_reduce, aligned, batch_size, broadcast_to, instantiate, to_front, zeros_of
from .tags import custom, stopped

LINEAR = frozenset({add, add_reduce, cast, conjugate, negative, pick, real, subtract, weak_cast})
"""Linear in all their operands together, besides those that say so themselves."""


def cond_abstract(index: Aval, *avals: Aval, branches: tuple[Function, ...]) -> tuple[Aval, ...]:
    return branches[0].out_avals


def cond_jvp(
    tangents: Tangents, out: Node, index: Node, *inputs: Node, branches: tuple[Function, ...]
) -> list[Node | None]:
    moved = [t is not None for t in tangents[1:]]
    with unrecorded():
        branches = tuple([own_copy(f) for f in branches])
        found = [tangents_of(f, moved) for f in branches]
        live = [any([along[i] is not None for _, along in found]) for i in range(len(out.outs))]
        new, extra = opened(
            [
                Function(
                    [*f.inputs, *chosen(given, given)],
                    [instantiate(t, o) for t, o in chosen(zip(along, f.outputs), live)],
                )
                for f, (given, along) in zip(branches, found)
            ]
        )
    if not any(live):
        return [None] * len(live)
    args = [*recorded(extra), *inputs, *chosen(tangents[1:], moved)]
    return picked(cond(index, *args, branches=tuple(new)), 0, live)


def cond_transpose(
    cts: Sequence[Node | None], index: Any, *inputs: Any, branches: tuple[Function, ...]
) -> list[Node | None]:
    """What is not linear is computed once more, from the branches' inputs."""
    if type(index) is Aval:
        raise TypeError("cannot transpose: the number of a branch has no derivative")
    linear = [type(x) is Aval for x in inputs]
    live = [c is not None for c in cts]
    parts = []
    with unrecorded():
        for f in branches:
            given = [leaf(n.shape, n.dtype, trace=ABSTRACT) for n in chosen(f.outputs, live)]
            with rewrites.collecting() as trace:
                found = rewrites.transpose(chosen(f.outputs, live), chosen(f.inputs, linear), given)
            parts.append((given, found, trace))
        read = [any([c is not None for c in of_one]) for of_one in zip(*[found for _, found, _ in parts])]
        sources = chosen(chosen(branches[0].inputs, linear), read)
        bodies = []
        for f, (given, found, trace) in zip(branches, parts):
            known = [n for n, w in zip(f.inputs, linear) if not w]
            outs = [instantiate(c, n) for c, n in zip(chosen(found, read), sources)]
            bodies.append(Function([*known, *given], outs, trace.effects, trace.first))
        new, extra = opened(bodies)
    args = [*recorded(extra), *[x for x, w in zip(inputs, linear) if not w], *chosen(cts, live)]
    by_source = iter(picked(performed(cond(index, *args, branches=tuple(new))), 0, read))
    return [None, *[next(by_source) if w else None for w in linear]]


def cond_batch(inputs: Nodes, axes: Axes, *, branches: tuple[Function, ...]) -> tuple[Node, tuple[int | None, ...]]:
    """Where the number differs along the batch, all branches are computed, and each takes its own."""
    n = batch_size(inputs, axes)
    mapped = [a is not None for a in axes]
    args = [x if a is None else to_front(x, a) for x, a in zip(inputs, axes)]
    alone = not mapped[0]
    risky = [[False] * len(inputs) if alone else at_risk(f, mapped[1:]) for f in branches]
    own = [[m or r and bool(x.trace) for m, r, x in zip(mapped[1:], rs, args[1:])] for rs in risky]
    with unrecorded():
        news = [batched_inputs(f, ms, n) for f, ms in zip(branches, own)]
        found = [batched(f, new, ms) for f, new, ms in zip(branches, news, own)]
        live = [not alone or any([pairs[i][1] is not None for pairs, _ in found]) for i in range(len(found[0][0]))]
        new = tuple(
            [
                rewritten(ins, [spread(x, a, n, w) for (x, a), w in zip(pairs, live)], effects)
                for ins, (pairs, effects) in zip(news, found)
            ]
        )
    if alone:
        return cond(*args, branches=new), tuple([0 if w else None for w in live])
    effects = [e for f in new for e in f.effects]
    if any([e.op is callback and not e.static[0].differentiable for e in effects]):
        raise NotImplementedError("IO effect not supported in vmap-of-cond.")
    if not effects:
        return together(*selected(new, args, risky)[0]), (0,) * len(live)
    with unrecorded():
        inputs = [placeholder(x) for x in args]
        everything = rewritten(inputs, *selected(new, inputs, risky))
    return cond(Node.of_scalar(np.int32(0)), *args, branches=(everything,)), (0,) * len(live)


def selected(
    branches: Sequence[Function], args: Nodes, risky: Sequence[Sequence[bool]]
) -> tuple[list[Node], list[Node]]:
    """What each example takes of all branches' results, and the effects of all, for arguments of which the first is the
    number that each example has. `risky`: see `at_risk`, for each branch."""
    hits = [equal(args[0], k) for k in range(len(branches))]
    computed = [f.with_effects(*guarded(f, args[1:], hit, r)) for f, hit, r in zip(branches, hits, risky)]
    out = computed[-1][0]
    for k in reversed(range(len(branches) - 1)):
        out = [where(aligned(hits[k], a.ndim - 1, 1), a, b) for a, b in zip(computed[k][0], out)]
    return out, [e for _, effects in computed for e in effects]


def guarded(f: Function, args: Nodes, hit: Node, risky: Sequence[bool]) -> list[Node]:
    """The arguments of a branch that is computed for all examples, along which derivatives are taken for those alone
    that have it: for the others they may be infinite, and infinite times zero is no zero."""
    out = list(args)
    for i, (x, new) in enumerate(zip(args, f.inputs)):
        if risky[i] and x.trace:
            x = x if x.ndim == new.ndim else broadcast_to(x, shape=new.shape)
            out[i] = taken(x, aligned(hit, x.ndim - 1, 1))
    return out


def where_taken(g: Node, hit: Node) -> Node:
    return where(hit, g, zeros_of(Aval((), g.dtype)))


taken = Op(
    "taken",
    LIBRARY,
    lambda x, hit: x,
    lambda xp, x, hit: x,
    partials=[lambda g, out, x, hit: where_taken(g, hit), None],
    transpose=lambda ct, x, hit: (where_taken(ct, hit), None),
    batch=lambda inputs, axes: (taken(*full_axes(inputs, axes, (True, True))), 0),
    tag=True,
    doc="The first operand, along which derivatives are zero where the second, of the same rank, is false.",
)


def at_risk(f: Function, mapped: Sequence[bool]) -> list[bool]:
    """For each input of a branch whether derivatives along it may be infinite where a batch does not take the branch:
    whether an operation that is not linear depends on it. Not so inputs that all examples share and that a call reads
    as a whole, such as the matrix of a product: each example would need its own."""
    curved, whole = readers(f)
    return [bool(curved >> i & 1 and (m or not whole >> i & 1)) for i, m in enumerate(mapped)]


def readers(f: Function) -> tuple[int, int]:
    """Sets of a function's inputs, as bits: those along which an operation is differentiated that is not linear, and
    those that calls read, also in the bodies of loops."""
    reach = {n: 1 << i for i, n in enumerate(f.inputs) if is_inexact(n.dtype)}
    curved = whole = 0
    for n in toposort(f.outputs, stop=set(f.inputs)):
        op = n.op
        if n in reach or op is None or op is stopped:
            continue
        behind = 0
        for x in n.inputs:
            behind |= reach.get(x, 0)
        if not behind or n.dtype is not None and not is_inexact(n.dtype):
            continue
        reach[n] = behind
        scaled = (op is multiply or op is divide) and n.inputs[1].value is not None
        if op is custom or not (op.tag or op.kind == VIEW or op.linear or op in LINEAR or scaled):
            curved |= behind
        if op in FLOW:
            for body, first in bodies(n):
                _, read = readers(body)
                for i, x in enumerate(n.inputs[first : first + len(body.inputs)]):
                    whole |= reach.get(x, 0) if read >> i & 1 else 0
        elif op.kind == LIBRARY and not (op.tag or op.linear or op in LINEAR):
            whole |= behind
    return curved, whole


def bodies(node: Node) -> list[tuple[Function, int]]:
    """What a loop or a choice computes, each with the place of its first input among the node's."""
    if node.op is cond:
        return [(f, 1) for f in node.static[0]]
    if node.op is control.while_:
        return [(node.static[1], node.static[2])]
    return [(node.static[0], 0)]


cond = Op(
    "cond",
    LIBRARY,
    cond_abstract,
    lambda xp, *args, **params: control.engine.cond(args, **params),
    static=("branches",),
    jvp=cond_jvp,
    transpose=cond_transpose,
    batch=cond_batch,
    n_out=0,
)
"""The results of one branch; only that one is computed."""

FLOW = frozenset({cond, control.scan, control.while_})
