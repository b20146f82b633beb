"""Reverse mode: cotangents back along a graph; and the transpose of a linear graph, which `linearize` makes of any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph.aval import Aval
from ..graph.node import ABSTRACT, Node, leaf
from ..graph.op import MAP
from ..graph.walk import dependents
from ..ops.elementwise import of_dtype
from ..ops.promotion import is_inexact
from ..ops.rewrites import rewrites
from ..ops.shape import sum_to
from ..ops.tags import summed
from .jvp import differentiable, jvp, node_jvp

Cotangent = Any  # a node; None for zero; for an op of several results a tuple of these


def linearize(outputs: Sequence[Node], inputs: Sequence[Node]) -> tuple[list[Node | None], list[Node | None]]:
    """Placeholders for the inputs' tangents (None for whole numbers), and the outputs' tangents, linear in them."""
    tangents = [leaf(n.shape, n.dtype, weak=n.weak, trace=ABSTRACT) if is_inexact(n.dtype) else None for n in inputs]
    return tangents, jvp(outputs, inputs, tangents)


def vjp(outputs: Sequence[Node], inputs: Sequence[Node], cotangents: Sequence[Node | None]) -> list[Node | None]:
    """The inputs' cotangents (None: zero) for cotangents of the outputs."""
    sources = [n for n in inputs if is_inexact(n.dtype)]
    order = differentiable(outputs, sources)
    found = backwards(order, sources, outputs, cotangents, node_vjp)
    return [found.get(n) if is_inexact(n.dtype) else None for n in inputs]


def backwards(
    order: Sequence[Node],
    sources: Sequence[Node],
    outputs: Sequence[Node],
    cotangents: Sequence[Node | None],
    rule: Any,
) -> dict[Node, Cotangent]:
    """The sources' cotangents, from those of the outputs: `rule(node, ct, active)` gives those of a node's inputs, of
    which the active ones count."""
    active = set(order).union(sources)
    found: dict[Node, Cotangent] = {}
    for n, c in zip(outputs, cotangents):
        if n in active and c is not None:
            found[n] = accumulate(found.get(n), fit(c, n.aval))
    for node in reversed(order):
        ct = found.pop(node, None)
        for n, c in zip(node.inputs, rule(node, ct, active)) if ct is not None else ():
            if c is not None and n in active:
                found[n] = accumulate(found.get(n), rewrites.lie(c, n))
    return found


def node_vjp(node: Node, ct: Cotangent, active: set[Node]) -> Sequence[Cotangent]:
    """The cotangents of one node's inputs, of those that are active.

    An elementwise derivative on real numbers is a diagonal matrix, its own transpose, so that the forward rule serves.
    What is linear needs its transpose only. Anything else is linearized, and the linear graph transposed.
    """
    op = node.op
    assert op is not None
    params, inputs = op.params_of(node), node.inputs
    if op.partials is not None and op.kind == MAP and node.dtype.kind != "c":
        rules = [rule if n in active else None for rule, n in zip(op.partials, inputs)]
        if all([rule is None or n.dtype.kind != "c" for rule, n in zip(rules, inputs)]):
            found = [None if rule is None else rule(ct, node, *inputs, **params) for rule in rules]
            return [None if c is None else fit(c, n.aval) for c, n in zip(found, inputs)]
    if op.vjp is not None and node.static[0].reverse:
        return op.vjp(ct, node, [n in active for n in inputs], *inputs, **params)
    if op.linear:
        return node_transpose(node, ct, active)
    tangents = [leaf(n.shape, n.dtype, weak=n.weak, trace=ABSTRACT) if n in active else None for n in inputs]
    along = node_jvp(node, tangents)
    if along is None:
        return [None] * len(inputs)
    pairs = [(t, c) for t, c in (zip(along, ct) if node.dtype is None else [(along, ct)]) if t is not None]
    pairs = [(t, c) for t, c in pairs if c is not None]
    cts = iter(transpose([t for t, _ in pairs], [t for t in tangents if t is not None], [c for _, c in pairs]))
    return [None if t is None else next(cts) for t in tangents]


def transpose(outputs: Sequence[Node], inputs: Sequence[Node], cotangents: Sequence[Node | None]) -> list[Node | None]:
    """Cotangents of the inputs of a linear graph. None is zero.

    Raises: TypeError where the graph is not linear in the inputs.
    """
    found = backwards(dependents(outputs, inputs), inputs, outputs, cotangents, node_transpose)
    return [found.get(n) for n in inputs]


def node_transpose(node: Node, ct: Cotangent, linear: set[Node]) -> list[Cotangent]:
    """The cotangents of one node's inputs."""
    op = node.op
    assert op is not None
    args = [n.aval if n in linear else n for n in node.inputs]
    cts = op.rule("transpose")(ct, *args, **op.params_of(node))
    return [None if c is None or n not in linear else fit(c, n.aval) for n, c in zip(node.inputs, cts)]


def fit(ct: Cotangent, aval: Any) -> Cotangent:
    """A cotangent with the dtype and shape of what it belongs to, broadcasts summed: rules need not see to that."""
    if isinstance(ct, tuple):
        return ct
    return sum_to(of_dtype(ct, aval.dtype), aval.shape) if isinstance(aval, Aval) else ct


def accumulate(a: Cotangent, b: Cotangent) -> Cotangent:
    """The sum of two cotangents; of an op of several results, part by part."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, tuple):
        return tuple([accumulate(x, y) for x, y in zip(a, b)])
    return summed(a, b)
