"""The transformations of graphs, for rules that need them: they stand in higher layers, and put themselves here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..graph.node import Node


class Rewrites:
    """The transformations of graphs, as `transforms` has them, and what is done with their effects."""

    differentiable: Callable[..., list[Node]]
    jvp: Callable[..., list[Node | None]]
    transpose: Callable[..., list[Node | None]]
    batch: Callable[..., list[tuple[Node, int | None]]]
    simplify: Callable[..., list[Node]]
    collecting: Callable[[], Any]  # for effects of rules, from the layer that traces functions; it has `effects`
    effects: Callable[[Sequence[Node]], None]
    after: Callable[[], Node]
    perform: Callable[..., None]
    lie: Callable[[Any, Node], Any]  # a cotangent, where the value that it belongs to lies


rewrites = Rewrites()
rewrites.lie = lambda ct, x: ct  # until there are several devices
