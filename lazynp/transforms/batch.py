"""Batching: a graph for one example, rewritten for a whole axis of them."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.node import Node
from ..graph.op import untagged
from ..graph.walk import dependents
from ..ops.tags import visible


def batch(
    outputs: Sequence[Node], inputs: Sequence[Node], batched: Sequence[Node], axes: Sequence[int | None]
) -> list[tuple[Node, int | None]]:
    """Each output for the whole batch, and its mapped axis (None where it does not depend on the batch).

    `inputs` are the leaves that the graph was recorded from, of one example's shape; `batched` are the nodes that take
    their places, with the mapped axis `axes[i]`. An input with the axis None is replaced, not batched.
    """
    found: dict[Node, tuple[Node, int | None]] = {n: (b, a) for n, b, a in zip(inputs, batched, axes)}
    for node in dependents(outputs, inputs, visible):
        op = node.op
        assert op is not None
        pairs = [found.get(i, (i, None)) for i in node.inputs]
        if op.blind and all([a is None for _, a in pairs[node.static[op.hidden] :]]):  # there is nothing for a rule
            pairs[: node.static[op.hidden]] = batch(node.inputs[: node.static[op.hidden]], inputs, batched, axes)
        new, at = [p[0] for p in pairs], [p[1] for p in pairs]
        if all(a is None for a in at):
            out, axis = op(*new, **op.params_of(node)), None
        else:
            out, axis = op.rule("batch")(new, at, **op.params_of(node))
        out.site = out.site and node.site
        if op.batched is not None:
            op.batched(node, out)
        found[node] = untagged(out), axis
    return [found.get(n, (n, None)) for n in outputs]
