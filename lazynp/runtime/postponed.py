"""Values that need not be stored on the way to one that is asked for, since it costs less to compute them again.

`d = u - old; if abs(d).max() < bound: break`: the name `d` is held while the maximum is asked for, so its value may be
wanted, but most often the name is bound anew before anybody reads it. Stored, it would go through memory twice;
computed again, should somebody ask, it takes a pass over what it is made of, once: the second time it is stored.
"""

from __future__ import annotations

import math
from typing import Any

from ..graph.node import Node
from ..graph.op import MAP, VIEW
from .storage import held

POSTPONED = -4  # the index of a node that was left out once
AGAIN = 0.6  # nanoseconds an element that computing it again may take: a store and a read take about two
LARGE = 1 << 20  # bytes: what is less stays in a core's cache


def postponed(todo: list[Node], outputs: list[Node], wanted: Node) -> list[Node]:
    """Those of a segment's outputs that `wanted`, or another output, is computed from, and that are cheap to compute
    again from arrays which somebody holds anyhow."""
    candidates = {
        id(o)
        for o in outputs
        if o is not wanted
        and o.op is not None
        and o.op.kind == MAP
        and not o.trace
        and o.index != POSTPONED
        and math.prod(o.shape) * o.dtype.itemsize >= LARGE
    }
    if not candidates:
        return []
    needed = {id(o) for o in outputs} - candidates
    stored = set(needed)
    for node in reversed(todo):
        if id(node) in needed:
            needed.update([id(a) for a in node.inputs])
    found, costs = [], dict.fromkeys(stored, 0.0)
    for node in todo:
        if id(node) not in stored:
            cost = cost_of(node, costs)
            if id(node) in candidates:
                if id(node) in needed and cost <= AGAIN:
                    found.append(node)
                else:
                    cost = 0.0  # it is stored
            costs[id(node)] = cost
    return found


def cost_of(node: Node, costs: dict[int, float]) -> float:
    """Nanoseconds an element of computing a node from what is there."""
    op: Any = node.op
    if op.kind == VIEW:
        return costs_of(node, costs)
    if op.kind == MAP and op.code is not None:
        return float(op.code.cost) + costs_of(node, costs)
    return math.inf


def costs_of(node: Node, costs: dict[int, float]) -> float:
    total = 0.0
    for a in node.inputs:
        known = costs.get(id(a))
        total += (
            (0.0 if a.value is not None or a.buffer is not None and held(a) else math.inf) if known is None else known
        )
    return total
