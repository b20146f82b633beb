"""The transformations of graphs, for rules that need them: they stand in a higher layer, and put themselves here."""

from __future__ import annotations

from collections.abc import Callable

from ..graph.node import Node


class Rewrites:
    """The transformations of graphs, as `transforms` has them."""

    differentiable: Callable[..., list[Node]]
    jvp: Callable[..., list[Node | None]]
    transpose: Callable[..., list[Node | None]]
    batch: Callable[..., list[tuple[Node, int | None]]]
    simplify: Callable[..., list[Node]]


rewrites = Rewrites()
