"""Differentiations that are under way: while one is, what depends on its leaves stays a graph when it is computed.

A leaf of a function under differentiation has a value, so that Python's `if` and `while` work. What depends on it is
KEPT (see `graph.node`); when the last differentiation ends, nodes are made ordinary again, and let go of their inputs.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..graph.node import BORROWED, KEPT, Node, leaf
from ..graph.op import make, pick, untagged
from ..ops.tags import alias, seen
from .recorder import recorder


class Depth(threading.local):
    """How many differentiations are under way in this thread, and since which node; `concrete`: the leaves whose values
    may be asked for, those that were there when a user's rule began; `made`: the arrays that the function which is run
    has made, of a door whose arrays end with it (see `leaks`); `tape`: of the innermost one, while its function is run
    and no other trace is under way in it."""

    n = since = 0
    tape: Tape | None = None
    made: list[weakref.ref[Any]] | None = None
    concrete: frozenset[Node] = frozenset()


depth = Depth()
live: set[Node] = set()
"""The leaves of differentiations that are under way, in all threads."""


@contextlib.contextmanager
def concrete() -> Iterator[None]:
    """For what a user's rule for derivatives runs: its arguments are values, since nothing looks behind the rule."""
    before = depth.concrete, depth.made
    depth.concrete, depth.made = frozenset(live), None
    try:
        yield
    finally:
        depth.concrete, depth.made = before


class Tape:
    """`with Tape() as tape:` while a function is differentiated: its leaves, whose dependents stay a graph when
    computed. Afterwards these are ordinary values again, and what only transformations need is cut out of them."""

    def __init__(self) -> None:
        self.leaves: list[Node] = []
        self.results: list[Node] = []
        self.made: list[weakref.ref[Any]] = []
        self.found: dict[Node, bool] = {}

    def __enter__(self) -> Tape:
        self.before, depth.made = depth.made, self.made
        self.outer, depth.tape = depth.tape, self
        if depth.n == 0:
            depth.since = recorder.count
        depth.n += 1
        return self

    def fresh(self, node: Node) -> Node:
        """A leaf with this node's value, which derivatives can tell from it."""
        if node.value is not None:
            new = leaf((), node.dtype, np.asarray(node.value, node.dtype), weak=node.weak, trace=KEPT)
            new.index = BORROWED
        elif node.trace == 0 and node.buffer is not None:
            new = Node(alias, (node,), (), (), node.shape, node.dtype, node.weak, node.number, node.sort)
            new.buffer, new.index, new.trace = node.buffer, BORROWED, KEPT
        else:
            new = make(alias, (node,))
            new.trace = max(node.trace, KEPT)
        self.leaves.append(new)
        live.add(new)
        return new

    def over(self) -> None:
        """The function has been run. What follows, its derivative, is not differentiated along the leaves."""
        depth.tape, self.found = self.outer, {}

    def reaches(self, node: Node) -> bool:
        """Whether a value that the function has made is differentiated along the leaves."""
        found = self.found
        if not found:
            found.update(dict.fromkeys(self.leaves, True))
        stack = [node]
        while stack:
            n = stack[-1]
            if n in found or n.trace == 0:
                stack.pop()
                continue
            inputs = seen(n)
            new = [i for i in inputs if i not in found and i.trace]
            if new:
                stack.extend(new)
                continue
            stack.pop()
            found[n] = any([found.get(i, False) for i in inputs])
        return found.get(node, False)

    def __exit__(self, *error: object) -> None:
        self.over()
        depth.n -= 1
        depth.made = self.before
        for x in self.leaves:
            live.discard(x)
            x.trace = x.inputs[0].trace if x.inputs else 0
        if depth.n == 0:
            settle(self.results, depth.since)


def settle(results: Sequence[Node], since: int) -> None:
    """Make what no differentiation needs any more ordinary: the pending nodes from number `since` on, and the results
    with what they depend on."""
    with recorder.lock:
        pending = recorder.nodes
        if pending and since > pending[0].index:
            pending = pending[since - pending[0].index :]  # none, where since is the next one's number
        kept: set[Node] = set()  # another differentiation needs these
        for root in (*pending, *results):
            stack = [root]
            while stack:
                node = stack[-1]
                if node.trace != KEPT or node in live or node in kept:
                    stack.pop()
                    continue
                below = [i for i in node.inputs if i.trace == KEPT and i not in live and i not in kept]
                if below:
                    stack.extend(below)
                    continue
                stack.pop()
                node.trace = max([i.trace for i in node.inputs], default=0)
                if node.trace:
                    kept.add(node)
                elif node.buffer is not None and node.op is not alias:  # which shares the buffer of its input
                    node.inputs = ()
                else:
                    cut(node)


def outlived(node: Node) -> bool:
    """Whether a node belonged to a differentiation, and none is under way: then it is an ordinary one from now on."""
    if node.trace != KEPT or live:
        return False
    settle([node], recorder.count)
    return node.trace == 0


def cut(node: Node) -> None:
    """Read what tags stand for, past them."""
    if any([i.op is not None and (i.op.tag or i.op is pick) for i in node.inputs]):
        node.inputs = tuple([untagged(i) for i in node.inputs])


def differentiating(nodes: Sequence[Node]) -> list[tuple[Tape, list[bool]]]:
    """The differentiations along which these values are differentiated, the innermost first, each with which they are;
    those only that are under way in the innermost trace."""
    found, tape = [], depth.tape
    while tape is not None:
        moved = [tape.reaches(n) for n in nodes]
        if any(moved):
            found.append((tape, moved))
        tape = tape.outer
    return found


@contextlib.contextmanager
def beneath(tape: Tape) -> Iterator[None]:
    """For a rule that is run in the place of a function: its arguments are not differentiated along the leaves."""
    before, depth.tape = depth.tape, tape.outer
    try:
        yield
    finally:
        depth.tape = before


class Holder:
    """Says to the recorder that a node's value is wanted, as an array of it would."""

    __slots__ = ("node", "__weakref__")

    def __init__(self, node: Node) -> None:
        self.node = node
        ref = weakref.ref(self)
        node.holder = ref if node.holder is None else (node.holder, ref)
