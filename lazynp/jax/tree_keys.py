"""Keys of the paths to the leaves of trees, and paths as text."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from typing import Any

KeyPath = tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """A place in a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclasses.dataclass(frozen=True)
class DictKey:
    """A key of a dict."""

    key: Hashable

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """An attribute of a named tuple or of a registered class."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclasses.dataclass(frozen=True)
class FlattenedIndexKey:
    """A child of a registered class that has no keys."""

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


KeyEntry = SequenceKey | DictKey | GetAttrKey | FlattenedIndexKey


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """A path as text: `['a'][0].x`, or with `simple` its plain names joined by the separator."""
    if not simple:
        return separator.join([str(k) for k in keys])
    plain = [getattr(k, "idx", getattr(k, "name", getattr(k, "key", k))) for k in keys]
    return separator.join([str(k) for k in plain])
