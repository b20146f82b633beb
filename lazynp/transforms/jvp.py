"""Forward mode: tangents along a graph that exists. The result is graph again, so that transformations compose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph.aval import Aval
from ..graph.errors import MissingRuleError
from ..graph.node import Node
from ..graph.op import MAP
from ..graph.walk import dependents
from ..ops.elementwise import add, convert
from ..ops.promotion import is_inexact
from ..ops.shape import broadcast_to

Tangent = Any  # a node; None for zero; for an op of several results a tuple of these


def jvp(outputs: Sequence[Node], inputs: Sequence[Node], tangents: Sequence[Node | None]) -> list[Node | None]:
    """The outputs' tangents (None: zero) for tangents of the inputs, the leaves that the graph was recorded from."""
    found: dict[Node, Tangent] = {n: t for n, t in zip(inputs, tangents) if t is not None}
    for node in dependents(outputs, list(found)):
        along = node_jvp(node, [found.get(i) for i in node.inputs])
        if along is not None:
            found[node] = along
    return [found.get(n) for n in outputs]


def node_jvp(node: Node, tangents: Sequence[Tangent]) -> Tangent:
    """The tangent of one node's result."""
    op = node.op
    assert op is not None
    if all(t is None for t in tangents) or (op.n_out == 1 and not is_inexact(node.dtype)):
        return None
    params = op.params_of(node)
    if op.jvp is not None:
        along = op.jvp(tangents, node, *node.inputs, **params)
        if op.n_out != 1:
            return None if along is None else tuple([fit(t, a) for t, a in zip(along, node.outs)])
        return fit(along, node.aval)
    if op.partials is None:
        raise MissingRuleError(op.name, "jvp")
    total = None
    for rule, t in zip(op.partials, tangents):
        if rule is None or t is None:
            continue
        part = fit(rule(t, node, *node.inputs, **params), node.aval if op.kind == MAP else None)
        if part is not None:
            total = part if total is None else add(total, part)
    return total


def fit(t: Node | None, aval: Aval | None) -> Node | None:
    """A tangent with the dtype and shape of what it belongs to; rules need not see to that. None for whole numbers."""
    if t is None or aval is None:
        return t
    if not is_inexact(aval.dtype):
        return None
    t = convert(t, aval.dtype)
    return t if t.shape == aval.shape else broadcast_to(t, shape=aval.shape)
