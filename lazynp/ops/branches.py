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
from ..graph.op import LIBRARY, Op
from . import control
from .callback import callback
from .closure import unrecorded
from .control import (
    Nodes,
    Tangents,
    batched,
    batched_inputs,
    chosen,
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
from .elementwise import equal, where
from .rewrites import rewrites
from .shape import Axes, aligned, batch_size, instantiate, to_front


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
    bodies = []
    with unrecorded():
        for f in branches:
            given = [leaf(n.shape, n.dtype, trace=ABSTRACT) for n in chosen(f.outputs, live)]
            sources = chosen(f.inputs, linear)
            with rewrites.collecting() as trace:
                found = rewrites.transpose(chosen(f.outputs, live), sources, given)
            known = [n for n, w in zip(f.inputs, linear) if not w]
            outs = [instantiate(c, n) for c, n in zip(found, sources)]
            bodies.append(Function([*known, *given], outs, trace.effects, trace.first))
        new, extra = opened(bodies)
    args = [*recorded(extra), *[x for x, w in zip(inputs, linear) if not w], *chosen(cts, live)]
    return [None, *picked(performed(cond(index, *args, branches=tuple(new))), 0, linear)]


def cond_batch(inputs: Nodes, axes: Axes, *, branches: tuple[Function, ...]) -> tuple[Node, tuple[int | None, ...]]:
    """Where the number differs along the batch, all branches are computed, and each takes its own."""
    n = batch_size(inputs, axes)
    mapped = [a is not None for a in axes]
    args = [x if a is None else to_front(x, a) for x, a in zip(inputs, axes)]
    alone = not mapped[0]
    with unrecorded():
        news = [batched_inputs(f, mapped[1:], n) for f in branches]
        found = [batched(f, new, mapped[1:]) for f, new in zip(branches, news)]
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
        return together(*selected(new, args)[0]), (0,) * len(live)
    with unrecorded():
        inputs = [placeholder(x) for x in args]
        everything = rewritten(inputs, *selected(new, inputs))
    return cond(Node.of_scalar(np.int32(0)), *args, branches=(everything,)), (0,) * len(live)


def selected(branches: Sequence[Function], args: Nodes) -> tuple[list[Node], list[Node]]:
    """What each example takes of all branches' results, and the effects of all, for arguments of which the first is the
    number that each example has."""
    computed = [f.with_effects(*args[1:]) for f in branches]
    out = computed[-1][0]
    for k in reversed(range(len(branches) - 1)):
        hit = equal(args[0], k)
        out = [where(aligned(hit, a.ndim - 1, 1), a, b) for a, b in zip(computed[k][0], out)]
    return out, [e for _, effects in computed for e in effects]


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
