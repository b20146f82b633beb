"""The oracle: a graph's value by each op's lowering with NumPy, node by node. The reference of the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...away import on_host
from ...graph.aval import Aval
from ...graph.node import Node
from ...graph.op import MAP
from ...graph.walk import toposort
from .namespace import xp


def evaluate(outputs: Sequence[Node], values: Mapping[Node, Any] | None = None) -> list[Any]:
    """The outputs' values. `values` are those of leaves, or of any nodes that are not to be computed.

    Raises: ValueError for a leaf without a value; what NumPy raises.
    """
    memo: dict[Node, Any] = dict(values or {})
    for node in toposort(outputs, stop=memo):
        if node in memo:
            continue
        if node.value is not None:
            memo[node] = node.value
        elif node.buffer is not None:
            memo[node] = on_host(node.buffer)
        elif node.op is None:
            raise ValueError(f"a leaf without a value: {node}")
        else:
            memo[node] = apply(node, [memo[i] for i in node.inputs])
    return [memo[n] for n in outputs]


def apply(node: Node, args: list[Any]) -> Any:
    """One node's value from those of its inputs."""
    op = node.op
    assert op is not None
    if op.kind == MAP and any(n.weak and n.value is None for n in node.inputs):
        args = strong(node.inputs, args)
    out = op.lower(xp, *args, **op.params_of(node))
    if op.n_out != 1:
        return tuple([shaped(x, a) for x, a in zip(out, node.outs)])
    return shaped(out, node.aval)


def strong(inputs: Sequence[Node], args: list[Any]) -> list[Any]:
    """Weak arrays yield to what they are combined with: a scalar as Python's, an array cast to the common dtype."""
    firm = [n.dtype for n in inputs if not n.weak]
    out = []
    for n, x in zip(inputs, args):
        if n.weak and n.value is None:
            scalar = np.asarray(x).reshape(-1)[:1].sum().item()
            x = np.asarray(x).item() if n.shape == () else np.asarray(x).astype(np.result_type(*firm, scalar))
        out.append(x)
    return out


def shaped(value: Any, aval: Aval) -> Any:
    """NumPy's scalars as arrays; and what it gives must be what the abstract rule said."""
    out = np.asarray(value)
    if out.dtype != aval.dtype and aval.weak:
        out = out.astype(aval.dtype)
    assert out.shape == aval.shape and out.dtype == aval.dtype, (out.shape, out.dtype, aval)
    return out
