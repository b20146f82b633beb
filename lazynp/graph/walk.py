"""Walks over graphs. All are iterative: a graph may be hundreds of thousands of nodes deep."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from .node import Node


def toposort(outputs: Iterable[Node], stop: Collection[Node] = (), least: int = 0, of: Any = None) -> list[Node]:
    """What the outputs depend on, inputs before users, the outputs with it.

    `stop`: nodes that are listed, but not looked behind (a set or dict where it is long). `least`: nodes with a lower
    `trace` are left out, with all behind them. `of`: which inputs of a node count; None: all.
    """
    order: list[Node] = []
    done: set[Node] = set()
    entered: set[Node] = set()
    stack = [n for n in reversed(list(outputs)) if n.trace >= least]
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        if node in entered or not node.inputs or node in stop:
            stack.pop()
            done.add(node)
            order.append(node)
            continue
        entered.add(node)
        for n in reversed(node.inputs if of is None else of(node)):
            if n not in done and n.trace >= least:
                stack.append(n)
    return order


def dependents(outputs: Sequence[Node], sources: Sequence[Node], of: Any = None) -> list[Node]:
    """What lies between: the nodes that depend on a source and on which an output depends, inputs first, no sources."""
    if not sources:
        return []
    found = set(sources)
    between = []
    for node in toposort(outputs, found.copy(), min(n.trace for n in sources), of):
        if node not in found and any(i in found for i in (node.inputs if of is None else of(node))):
            found.add(node)
            between.append(node)
    return between


def leaves(outputs: Iterable[Node]) -> list[Node]:
    """The constants and placeholders that the outputs depend on, in the order in which they are first met."""
    return [n for n in toposort(outputs) if n.op is None]


def users(nodes: Iterable[Node]) -> dict[Node, int]:
    """How often each node is an input of these."""
    count: dict[Node, int] = {}
    for node in nodes:
        for n in node.inputs:
            count[n] = count.get(n, 0) + 1
    return count
