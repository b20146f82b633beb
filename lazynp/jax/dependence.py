"""Which arrays depend on the arguments of a derivative that is under way.

There are no tracers here that an array could be one of. Libraries that sort a function's results into those that have
a tangent and those that have none (equinox's `filter_jvp`) ask `find_top_trace` about the arguments, and look whether
results are a `JVPTracer` of the same trace. Both are answered from the graph.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from typing import Any

from ..graph.node import Node
from ..ops.promotion import is_inexact
from ..runtime.tape import depth, live
from ..transforms.jvp import differentiable


def differentiated(node: Node) -> bool:
    """Whether a derivative that is under way goes through a node: its value as a Python number would be taken for a
    constant."""
    if not depth.n or not node.trace or not is_inexact(node.dtype):
        return False
    sources = [n for n in tuple(live) if n not in depth.concrete and n.trace]
    return node in sources or bool(differentiable([node], sources))


class Dependence:
    """What `find_top_trace` returns: it stands for the nodes of the arguments that it was asked about."""

    def __init__(self, sources: Iterable[Node]) -> None:
        self.sources = [n for n in sources if n.trace]

    @property
    def main(self) -> Dependence:
        """What is compared: arrays that depend on the same arguments have the same."""
        return self

    def reaches(self, node: Node) -> bool:
        """Whether a node may have a derivative along the arguments."""
        return is_inexact(node.dtype) and (node in self.sources or bool(differentiable([node], self.sources)))


class Inquiries(threading.local):
    """What this thread has asked about, and still holds, in the order of asking."""

    def __init__(self) -> None:
        self.about: list[weakref.ref[Dependence]] = []


asked = Inquiries()


def ask(nodes: Iterable[Node]) -> Dependence:
    """The trace of arguments with these nodes."""
    made = Dependence(nodes)
    asked.about = [r for r in asked.about if r() is not None]
    asked.about.append(weakref.ref(made))
    return made


def innermost(node: Node) -> Dependence | None:
    """The last that was asked about, and is still held, of those that a node depends on."""
    if not node.trace:
        return None
    held: list[Any] = [r() for r in reversed(asked.about)]
    return next((d for d in held if d is not None and d.reaches(node)), None)
