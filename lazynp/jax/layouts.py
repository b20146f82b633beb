"""In which order an array's axes lie in memory. The last one is fastest, always: another order is a label of an array
that was placed so, which no value depends on."""

from __future__ import annotations

import dataclasses
import weakref
from typing import Any, ClassVar

from ..graph.node import Node
from .sharding import Sharding

orders: weakref.WeakKeyDictionary[Node, tuple[int, ...]] = weakref.WeakKeyDictionary()
"""The order that was asked for, of arrays that lie in another one than C's."""


class Auto:
    """In the place of a layout: one that the compiler chooses."""

    def __repr__(self) -> str:
        return "AUTO"


@dataclasses.dataclass(frozen=True)
class Layout:
    """The axes, the slowest first; `Layout.AUTO`: as the compiler chooses, which is C's order."""

    AUTO: ClassVar[Auto] = Auto()
    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "major_to_minor", tuple(self.major_to_minor))


@dataclasses.dataclass(frozen=True)
class Format:
    """A layout and a sharding; None where nothing is said of it.

    Raises: TypeError for what is neither, ValueError for a layout without a sharding.
    """

    layout: Layout | Auto | None = None
    sharding: Any = None

    def __post_init__(self) -> None:
        if not (self.layout is None or isinstance(self.layout, (Layout, Auto))):
            raise TypeError(
                "Invalid value received for the layout argument. Expected values are `None`, `Layout.AUTO` or an "
                f"instance of `Layout`. Got {self.layout} of type {type(self.layout)}"
            )
        if not (self.sharding is None or isinstance(self.sharding, Sharding)):
            raise TypeError(
                "Invalid value received for the sharding argument. Expected values are `None` or an instance of "
                f"`jax.Sharding`. Got {self.sharding} of type {type(self.sharding)}"
            )
        if isinstance(self.layout, Layout) and self.sharding is None:
            raise ValueError(
                f"Sharding has to be concrete when layout is of type {type(self.layout)}. Please pass a "
                "`jax.sharding.NamedSharding` or `jax.sharding.SingleDeviceSharding` to the sharding argument. Got "
                "sharding None"
            )


def in_c(ndim: int) -> tuple[int, ...]:
    """The order of C, of so many axes."""
    return tuple(range(ndim))


def format_of(ndim: int, sharding: Any, order: tuple[int, ...] | None = None) -> Format:
    """That of an array of so many axes, by default in C's order; of a sharding that is not known, only that."""
    return Format(Layout(in_c(ndim) if order is None else order, ()) if sharding is not None else None, sharding)


def order_of(where: Any, shape: tuple[int, ...], what: str) -> tuple[int, ...] | None:
    """The order of axes that a format, or a layout, says for an array of that shape; None where it says nothing.

    Raises: ValueError for another number of axes, NotImplementedError for tiles.
    """
    layout = where.layout if isinstance(where, Format) else where
    if not isinstance(layout, Layout):
        return None
    if len(layout.major_to_minor) != len(shape):
        raise ValueError(
            f"One of {what} is incompatible with its layout annotation {layout}: Length of major_to_minor and the rank "
            f"of the value should match. Got major_to_minor={layout.major_to_minor} and shape={shape}"
        )
    if layout.tiling or layout.sub_byte_element_size_in_bits:
        raise NotImplementedError(f"Tiles are those of other machines: {layout}")
    return layout.major_to_minor


def place_of(where: Any) -> Any:
    """The sharding of a format; anything else as it is."""
    return where.sharding if isinstance(where, Format) else where
