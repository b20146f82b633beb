"""Smaller graphs for the same values: common subexpressions, chains of views, factors of one, idle casts.

These are what rules of derivatives leave behind. Nothing here may change a bit of a result: x + 0 stays, since it makes
-0 into 0, and so does a complex x * 1, which makes NaN of infinities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..graph.node import Node
from ..graph.op import Op, pick
from ..graph.walk import toposort
from ..ops.elementwise import cast, conjugate, divide, multiply, negative, positive
from ..ops.shape import broadcast_to, reshape, slice_, transpose, whole

Shorter = Callable[..., Node | None]


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
            if known not in inputs and not kept.isdisjoint(inputs):
                known = rebuilt(node, inputs)  # what is shorter may read what is behind a kept node
            same[key] = known
        found[node] = known
    return [found[n] for n in outputs]


def shorter(node: Node, inputs: tuple[Node, ...]) -> Node:
    """The node on these inputs, or what is equal to it and less."""
    op = node.op
    assert op is not None
    params = op.params_of(node)
    rule = RULES.get(op)
    if rule is not None:
        found = rule(node, *inputs, **params)
        if found is not None and (found.shape, found.dtype, found.weak) == (node.shape, node.dtype, node.weak):
            return found
    return rebuilt(node, inputs)


def rebuilt(node: Node, inputs: tuple[Node, ...]) -> Node:
    """The node on these inputs."""
    op = node.op
    assert op is not None
    return node if inputs == node.inputs else op(*inputs, **op.params_of(node))


def is_one(x: Node) -> bool:
    """Whether it is known to be one everywhere: a scalar, seen through broadcasts, reshapes and casts."""
    while x.op is broadcast_to or x.op is reshape or x.op is cast:
        if not x.inputs:
            return False
        x = x.inputs[0]
    return x.value is not None and bool(x.value == 1)


def product(node: Node, x: Node, y: Node) -> Node | None:
    if node.dtype.kind == "c":
        return None
    return x if is_one(y) else y if is_one(x) else None


def quotient(node: Node, x: Node, y: Node) -> Node | None:
    return x if node.dtype.kind != "c" and is_one(y) else None


def twice(op: Op) -> Shorter:
    """An operation that undoes itself."""
    return lambda node, x: x.inputs[0] if x.op is op and x.inputs else None


def transposed(node: Node, x: Node, *, axes: tuple[int, ...]) -> Node | None:
    if axes == tuple(range(len(axes))):
        return x
    if x.op is transpose and x.inputs:
        inner = x.static[0]
        joined = tuple([inner[a] for a in axes])
        source = x.inputs[0]
        return source if joined == tuple(range(len(joined))) else transpose(source, axes=joined)
    return None


def reshaped(node: Node, x: Node, *, shape: tuple[int, ...]) -> Node | None:
    if x.shape == shape:
        return x
    if x.op is reshape and x.inputs:
        source = x.inputs[0]
        return source if source.shape == shape else reshape(source, shape=shape)
    return None


def broadcasted(node: Node, x: Node, *, shape: tuple[int, ...]) -> Node | None:
    if x.shape == shape:
        return x
    return broadcast_to(x.inputs[0], shape=shape) if x.op is broadcast_to and x.inputs else None


def sliced(node: Node, x: Node, *, key: tuple[Any, ...]) -> Node | None:
    return x if key == whole(x.shape) else None


RULES: dict[Op, Shorter] = {
    multiply: product,
    divide: quotient,
    negative: twice(negative),
    conjugate: twice(conjugate),
    positive: lambda node, x: x,
    cast: lambda node, x, *, dtype: x,
    transpose: transposed,
    reshape: reshaped,
    broadcast_to: broadcasted,
    slice_: sliced,
}
"""What may be left out; a result of another shape, dtype or weakness than the node's is not taken."""
