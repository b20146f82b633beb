"""What a traced function reads of what was there before it: the constants of its jaxpr, the operands of a branch."""

from __future__ import annotations

import itertools

from ..graph.function import Function
from ..graph.node import ABSTRACT, CONCRETE, Node
from ..graph.op import current
from .execute import boundary
from .recorder import recorder

numbers = itertools.count(-16, -1)  # what was recorded has numbers from 0 on, and few below have a meaning


class Beginning:
    """When a function began to be traced: what its run recorded, and what it made of values that are not there, is its
    own, though it may not depend on its arguments.

    Attributes:
        recorded, made: the first numbers of such nodes (see `Node.index`).
    """

    def __init__(self) -> None:
        self.recorded, self.made = recorder.count, next(numbers)
        current.trace = self.made

    def own(self, n: Node) -> bool:
        """Whether a node that derivatives know is one of the function's."""
        if n.trace == CONCRETE or n.op is None or not n.inputs:
            return False
        return n.index <= self.made if n.trace == ABSTRACT else n.index >= self.recorded

    def inside(self, n: Node) -> bool:
        """Whether the function has to compute a node: one of its own, or one that nobody has computed yet."""
        if n.trace == CONCRETE:
            pending = n.op is not None and n.buffer is None and n.error is None
            return pending and bool(n.inputs) and not 0 <= n.index < self.recorded
        return self.own(n)

    def constants(self, function: Function) -> list[Node]:
        """What a function reads of what was there before it."""
        found: dict[Node, None] = {}
        stack = boundary(function, self.recorded)
        done = set(stack)
        while stack:
            node = stack.pop(0)
            if self.own(node):
                new = [n for n in boundary(Function((), node.inputs), self.recorded) if n not in done]
                done.update(new)
                stack[:0] = new
            else:
                found[node] = None
        return list(found)
