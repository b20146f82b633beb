"""Reverse mode: linearize (forward mode with placeholders for tangents), then transpose the linear graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph.aval import Aval
from ..graph.node import ABSTRACT, Node, leaf
from ..graph.walk import dependents
from ..ops.elementwise import add, convert
from ..ops.promotion import is_inexact
from ..ops.shape import sum_to
from .jvp import jvp

Cotangent = Any  # a node; None for zero; for an op of several results a tuple of these


def linearize(outputs: Sequence[Node], inputs: Sequence[Node]) -> tuple[list[Node | None], list[Node | None]]:
    """Placeholders for the inputs' tangents (None for whole numbers), and the outputs' tangents, linear in them."""
    tangents = [leaf(n.shape, n.dtype, trace=ABSTRACT) if is_inexact(n.dtype) else None for n in inputs]
    return tangents, jvp(outputs, inputs, tangents)


def vjp(outputs: Sequence[Node], inputs: Sequence[Node], cotangents: Sequence[Node | None]) -> list[Node | None]:
    """The inputs' cotangents (None: zero) for cotangents of the outputs."""
    tangents, along = linearize(outputs, inputs)
    pairs = [(t, c) for t, c in zip(along, cotangents) if t is not None and c is not None]
    sources = [t for t in tangents if t is not None]
    cts = iter(transpose([t for t, _ in pairs], sources, [c for _, c in pairs]))
    return [None if t is None else next(cts) for t in tangents]


def transpose(outputs: Sequence[Node], inputs: Sequence[Node], cotangents: Sequence[Node | None]) -> list[Node | None]:
    """Cotangents of the inputs of a linear graph. None is zero.

    Raises: TypeError where the graph is not linear in the inputs.
    """
    order = dependents(outputs, inputs)
    linear = set(order).union(inputs)
    found: dict[Node, Cotangent] = {}
    for n, c in zip(outputs, cotangents):
        if n in linear and c is not None:
            found[n] = accumulate(found.get(n), fit(c, n.aval))
    for node in reversed(order):
        ct = found.pop(node, None)
        if ct is None:
            continue
        for n, c in zip(node.inputs, node_transpose(node, ct, linear)):
            if c is not None and n in linear:
                found[n] = accumulate(found.get(n), c)
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
    return sum_to(convert(ct, aval.dtype), aval.shape) if isinstance(aval, Aval) else ct


def accumulate(a: Cotangent, b: Cotangent) -> Cotangent:
    """The sum of two cotangents; of an op of several results, part by part."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, tuple):
        return tuple([accumulate(x, y) for x, y in zip(a, b)])
    return add(a, b)
