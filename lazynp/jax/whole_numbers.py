"""Whole numbers, whose divisions JAX defines by every divisor."""

from __future__ import annotations

from ..graph.node import Node


def is_int(x: Node) -> bool:
    return bool(x.dtype.kind in "iu")


def is_known_divisor(y: Node) -> bool:
    """Whether it is a number that the program names, and none for which the processor's division is not JAX's."""
    return y.value is not None and y.value not in (0, -1)
