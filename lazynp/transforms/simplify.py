"""Smaller graphs for the same values: common subexpressions, chains of views, factors of one, idle casts.

These are what rules of derivatives leave behind. What an op can be replaced by is a field of it, `Op.shorter`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph.node import Node
from ..graph.op import pick
from ..graph.walk import toposort


def simplify(outputs: Sequence[Node], keep: Sequence[Node] = (), tags: bool = False) -> list[Node]:
    """The outputs, rebuilt where something could be left out. `keep` are nodes not to look behind. Tags are left out
    too, unless `tags`: they count where the graph is still to be differentiated."""
    found: dict[Node, Node] = {}
    same: dict[Any, Node] = {}
    kept = set(keep)
    for node in toposort(outputs, stop=kept):
        if node.op is None or node in kept or not node.inputs or node.known:
            found[node] = node
            continue
        source = node.inputs[0]
        if node.op.tag and node.dtype is not None and not tags:
            found[node] = found[source]
            continue
        if node.op is pick and source.op is not None and source.op.tag and source.inputs and not tags:
            found[node] = found[source.inputs[node.static[0]]]
            continue
        inputs = tuple([found[i] for i in node.inputs])
        key = (node.op, node.static, node.moving, *inputs)
        known = same.get(key)
        if known is None:
            known = shorter(node, inputs)
            on_these = known in inputs or known.inputs and set(known.inputs).issubset(inputs)
            if not on_these and not kept.isdisjoint(inputs):
                known = rebuilt(node, inputs)  # what is shorter may read what is behind a kept node
            same[key] = known
        found[node] = known
    return [found[n] for n in outputs]


def shorter(node: Node, inputs: tuple[Node, ...]) -> Node:
    """The node on these inputs, or what is equal to it and less."""
    op = node.op
    assert op is not None
    if op.shorter is not None:
        found = op.shorter(node, *inputs, **op.params_of(node))
        if found is not None and (found.shape, found.dtype, found.weak) == (node.shape, node.dtype, node.weak):
            return found
    return rebuilt(node, inputs)


def rebuilt(node: Node, inputs: tuple[Node, ...]) -> Node:
    """The node on these inputs."""
    op = node.op
    assert op is not None
    return node if inputs == node.inputs else op(*inputs, **op.params_of(node))
