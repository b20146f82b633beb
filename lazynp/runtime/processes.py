"""Where many processes have a part: in segments, and where the NumPy door would ask for a whole array. `lazynp.spread`
puts itself here once they have joined.

Until then a segment pays for one look at `processes.run`, and such a place for one at `processes.door`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Door(Protocol):
    """Which less than the whole array does for."""

    def element(self, x: Any, key: Any) -> Any:
        """`x[key]` as a scalar, where the key is a place in an array of the door that is spread; else None."""

    def rows(self, x: Any, key: Any) -> Any:
        """The node of `x[key]`, where that takes rows of an array that is spread, by a mask or indices; else None."""

    def any_large(self, args: Any) -> bool:
        """Whether one of some arrays is spread, or would be."""


class Processes:
    """Attributes:
    run: `(nodes, outputs)` runs a stretch of the stream and gives the outputs their buffers; None in a process that
        is alone.
    door: what moves less than the whole of an array that is spread (`spread/door.py`); None in a process that is alone.
    """

    run: Callable[[list[Any], list[Any]], None] | None = None
    door: Door | None = None


processes = Processes()
