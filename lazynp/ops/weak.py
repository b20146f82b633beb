"""Which derivatives are weak: as in JAX, where a rule that uses numbers of a definite dtype gives a definite one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..graph.node import Node
from ..graph.op import BACKWARD, DEFINITE, FORWARD, LOOP, MIXED, VIEW
from .elementwise import cast, weak_cast
from .promotion import is_inexact
from .rewrites import rewrites
from .shape import set_, slice_, zeros_of
from .transcendental import c_power

NO, AS_GIVEN, YES = 0, 1, 2
"""Whether a derivative is weak: AS_GIVEN where it is if those that it comes from are."""


def instantiated(found: Any, like: Node, weak: bool | None = None, whole: bool = False) -> Any:
    """A derivative of this node's type: zeros where there is none; None (float0) for whole numbers, unless `whole`.
    `weak`: whether its dtype yields; None: as it comes, and that of zeros as the node's."""
    if not whole and not is_inexact(like.dtype):
        return None
    if found is None:
        found, weak = zeros_of(like), like.weak
    if weak is None or found.weak == weak:
        return found
    return (weak_cast if weak else cast)(found, dtype=found.dtype)


def all_instantiated(found: Sequence[Any], outs: Sequence[Node], weak: Sequence[int | None], given: bool) -> list[Any]:
    """`instantiated`, of each; `given`: whether the derivatives that were given are weak."""
    least = AS_GIVEN if given else YES
    return [instantiated(t, n, None if w is None else w >= least) for t, n, w in zip(found, outs, weak)]


def weak_tangents(outs: Sequence[Node], leaves: Sequence[Node]) -> list[int | None]:
    """For each result whether its tangent is weak; None where the result is not. Before the graph is computed, which
    lets go of it."""
    if not any([n.weak for n in outs]):
        return [None] * len(outs)
    order = rewrites.differentiable(outs, [n for n in leaves if is_inexact(n.dtype)])
    yielding = yields(order, leaves)
    found = dict.fromkeys(leaves, AS_GIVEN)
    for n in order:
        how = weakness(n)
        if n not in yielding or how in (DEFINITE, FORWARD):
            found[n] = NO
        else:
            found[n] = YES if how == LOOP else min([found[i] for i in n.inputs if i in found], default=YES)
    return [found.get(n, YES) if n.weak else None for n in outs]


def weak_cotangents(outs: Sequence[Node], leaves: Sequence[Node]) -> list[int | None]:
    """For each leaf whether its cotangent is weak; None where the leaf is not. Before the graph is computed."""
    if not any([n.weak for n in leaves]):
        return [None] * len(leaves)
    order = rewrites.differentiable(outs, [n for n in leaves if is_inexact(n.dtype)])
    yielding, active = yields(order, leaves), {*order, *leaves}
    written = {n.inputs[0] for n in order if n.op is set_}
    found = dict.fromkeys(outs, AS_GIVEN)
    for n in reversed(order):
        if n in found:
            for i in [i for i in n.inputs if i in active]:
                found[i] = min(passes(n, i, found[n], yielding, active, written), found.get(i, YES))
    return [found.get(n, YES) if n.weak else None for n in leaves]


def weakness(n: Node) -> str:
    """What the operation of a node says of it."""
    assert n.op is not None
    how = n.op.weakness
    return how if isinstance(how, str) else how(n)


def yields(order: Sequence[Node], leaves: Sequence[Node]) -> set[Node]:
    """The nodes that are weak, and those that are made weak by all who use them, or are on the way to a product that
    takes weak operands."""
    used: dict[Node, list[Node]] = {}
    for n in order:
        for i in n.inputs:
            used.setdefault(i, []).append(n)
    found = {n for n in (*order, *leaves) if n.weak}
    products = {n for n in order if weakness(n) == MIXED}
    mixed = products.copy()
    for n in reversed(order):
        users = used.get(n, ())
        if users and found.issuperset(users):
            found.add(n)
        elif users and (n.op is cast or n.op is not None and n.op.kind == VIEW) and mixed.issuperset(users):
            mixed.add(n)
    return found | (mixed - products)


def passes(n: Node, i: Node, weak: int, yielding: set[Node], active: set[Node], written: set[Node]) -> int:
    """Whether the cotangent of an input is weak, where that of the node is so. A part of what is `written` into is read
    for that, and no operation of JAX's."""
    how, kept = weakness(n), YES if i in yielding else NO
    if n.op is set_ and n.inputs[0] not in active:
        return NO
    if n.op is slice_ and i not in written and prod(n.shape) < prod(i.shape):
        return NO
    if how == MIXED:
        return weak if n in yielding else NO
    if n.op in (cast, weak_cast) and i.dtype != n.dtype or n not in yielding or how in (LOOP, FORWARD):
        return kept
    if n.op is c_power and n.inputs[1] in active:
        return kept
    return NO if how in (DEFINITE, BACKWARD) else weak
