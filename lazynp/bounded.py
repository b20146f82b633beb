"""Caches that keep what was used lately. Imports nothing of lazynp."""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Bounded(dict[K, V], Generic[K, V]):
    """A dict of at most 2 × `size` entries, in two generations: what nobody asked for during `size` additions goes.

    A hit in the younger generation is a dict's own `get`. Where that finds nothing, `recall` looks at the older one and
    takes what it finds over; `keep` adds an entry. So the values must not be None. When the younger generation is full
    it becomes the older one, and the older one is let go of.
    """

    __slots__ = ("size", "older")

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.older: dict[K, V] = {}

    def recall(self, key: K) -> V | None:
        """The value of a key that `get` did not find; None where the older generation has none either."""
        value = self.older.pop(key, None)
        return None if value is None else self.keep(key, value)

    def keep(self, key: K, value: V) -> V:
        """Add an entry; its value."""
        if len(self) >= self.size:
            self.older = dict(self)
            super().clear()
        self[key] = value
        return value

    def everything(self) -> list[V]:
        """The values of both generations."""
        return [*self.values(), *self.older.values()]

    def clear(self) -> None:
        super().clear()
        self.older = {}
