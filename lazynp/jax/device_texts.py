"""What the text of a compiled function says of devices: how values lie, and what devices exchange for an operation,
by XLA's names. The virtual devices of one process have their values in one memory, and copy nothing for it."""

from __future__ import annotations

from typing import Any

from ..graph.node import Node
from ..graph.op import REDUCE
from .devices import several
from .sharding import NamedSharding
from .splits import split_of
from .spreading import constrain, sharding_at


def said_of(node: Node) -> str:
    """A comment for the line of a node, where it lies on several devices."""
    lies = sharding_at(node) if several() and node.dtype is not None else None
    if not isinstance(lies, NamedSharding) or node.value is not None:
        return ""
    what, axes = exchange(node, lies)
    return f"  # {lies.spec}{f', {what} along {axes}' if what else ''}"


def exchange(node: Node, lies: NamedSharding) -> tuple[str, tuple[Any, ...]]:
    """What devices exchange for a node, and along which axes of the mesh; nothing where each has what it needs."""
    before, op = [], node.op
    for x in node.inputs:
        found = sharding_at(x) if x.value is None and x.dtype is not None else None
        if isinstance(found, NamedSharding) and found.mesh == lies.mesh:
            before.append(split_of(found, x.ndim))
    after = split_of(lies, node.ndim)
    there = {a for split in before for axes in split for a in axes}
    here = {a for axes in after for a in axes}
    gone = tuple([a for a in lies.mesh.axis_names if a in there - here])
    if gone:
        adds = op is not None and (op.kind == REDUCE or op.name == "matmul")
        return ("all-reduce" if adds else "all-gather"), gone
    moved = before[:1] and len(before[0]) == len(after) and op is constrain
    to = tuple([a for a in lies.mesh.axis_names if a in here]) if moved and there and before[0] != after else ()
    return ("all-to-all" if to else ""), to
