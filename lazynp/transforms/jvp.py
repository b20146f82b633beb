"""Forward mode: tangents along a graph that exists. The result is graph again, so that transformations compose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph.aval import Aval
from ..graph.errors import MissingRuleError
from ..graph.node import Node
from ..graph.op import MAP
from ..ops.elementwise import of_dtype
from ..ops.promotion import is_inexact
from ..ops.shape import broadcast_to
from ..ops.tags import NO_FORWARD, custom, hidden_inputs, summed, used

Tangent = Any  # a node; None for zero; for an op of several results a tuple of these


def jvp(
    outputs: Sequence[Node], inputs: Sequence[Node], tangents: Sequence[Node | None], forward: bool = False
) -> list[Node | None]:
    """The outputs' tangents (None: zero) for tangents of the inputs, the leaves that the graph was recorded from.

    Raises: TypeError for a custom rule that works in reverse only, if `forward`: nothing will be transposed.
    """
    found: dict[Node, Tangent] = {n: t for n, t in zip(inputs, tangents) if t is not None}
    for node in differentiable(outputs, list(found)):
        if forward and node.op is custom and node.static[0].reverse and node not in used:
            raise TypeError(NO_FORWARD)
        along = node_jvp(node, [found.get(i) for i in node.inputs])
        if along is not None:
            found[node] = along
    return [found.get(n) for n in outputs]


def differentiable(outputs: Sequence[Node], sources: Sequence[Node]) -> list[Node]:
    """The nodes whose derivatives along the sources may be other than zero, and on which an output depends, inputs
    first, no sources. A path through whole numbers, steps, or inputs that are hidden from derivatives, is none."""
    if not sources:
        return []
    found = set(sources)
    least = min([n.trace for n in sources])
    order: list[Node] = []
    entered = found.copy()
    done = found.copy()
    stack = [n for n in outputs if n.trace >= least]
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        inputs = node.inputs[hidden_inputs(node) :] if node.op is not None and node.op.hidden >= 0 else node.inputs
        flat = node.op is not None and node.op.partials is not None and not any(node.op.partials)
        passed = not flat and (node.dtype is None or node.dtype.kind in "fc" or is_inexact(node.dtype))
        if node not in entered:
            entered.add(node)
            if passed:
                stack.extend([n for n in inputs if n.trace >= least and n not in entered])
                continue
        stack.pop()
        done.add(node)
        if passed and not found.isdisjoint(inputs):
            found.add(node)
            order.append(node)
    return order


def node_jvp(node: Node, tangents: Sequence[Tangent]) -> Tangent:
    """The tangent of one node's result."""
    op = node.op
    assert op is not None
    if all([t is None for t in tangents]):
        return None
    params = op.params_of(node)
    if op.jvp is not None:
        along = op.jvp(tangents, node, *node.inputs, **params)
        if node.dtype is None:
            return None if along is None else tuple([fit(t, a) for t, a in zip(along, node.outs)])
        return fit(along, node.aval)
    if op.partials is None:
        if op.hidden >= 0:
            return None
        raise MissingRuleError(op.name, "jvp")
    total = None
    for rule, t in zip(op.partials, tangents):
        if rule is None or t is None:
            continue
        part = fit(rule(t, node, *node.inputs, **params), node.aval if op.kind == MAP else None)
        if part is not None:
            total = part if total is None else summed(total, part)
    return total


def fit(t: Node | None, aval: Aval | None) -> Node | None:
    """A tangent with the dtype and shape of what it belongs to; rules need not see to that. None for whole numbers."""
    if t is None or aval is None:
        return t
    if not is_inexact(aval.dtype):
        return None
    t = of_dtype(t, aval.dtype)
    return t if t.shape == aval.shape else broadcast_to(t, shape=aval.shape)
