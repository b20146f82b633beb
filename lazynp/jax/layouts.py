"""In which order an array's axes lie in memory: the last one fastest, always."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Layout:
    """The axes, the slowest first. Raises NotImplementedError for another order than that of C, and for tiles."""

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0

    def __post_init__(self) -> None:
        if self.tiling or tuple(self.major_to_minor) != tuple(range(len(self.major_to_minor))):
            raise NotImplementedError("Arrays lie in C's order here: a layout of another order is XLA's")


@dataclasses.dataclass(frozen=True)
class Format:
    """A layout and a sharding; None where nothing is said of it."""

    layout: Layout | None = None
    sharding: Any = None


def format_of(ndim: int, sharding: Any) -> Format:
    """That of an array of so many axes."""
    return Format(Layout(tuple(range(ndim)), ()), sharding)
