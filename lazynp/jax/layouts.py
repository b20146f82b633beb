"""In which order an array's axes lie in memory: the last one fastest, always."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from .sharding import Sharding


class Auto:
    """In the place of a layout: one that the compiler chooses."""

    def __repr__(self) -> str:
        return "AUTO"


@dataclasses.dataclass(frozen=True)
class Layout:
    """The axes, the slowest first; `Layout.AUTO`: as the compiler chooses, which is C's order.

    Raises: NotImplementedError for another order than that of C, and for tiles.
    """

    AUTO: ClassVar[Auto] = Auto()
    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0

    def __post_init__(self) -> None:
        if self.tiling or tuple(self.major_to_minor) != tuple(range(len(self.major_to_minor))):
            raise NotImplementedError("Arrays lie in C's order here: a layout of another order is XLA's")


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


def format_of(ndim: int, sharding: Any) -> Format:
    """That of an array of so many axes; of a sharding that is not known, only that."""
    return Format(Layout(tuple(range(ndim)), ()) if sharding is not None else None, sharding)


def place_of(where: Any) -> Any:
    """The sharding of a format; anything else as it is."""
    return where.sharding if isinstance(where, Format) else where
