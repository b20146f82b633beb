"""PyTables: what makes nodes, and the nodes' own reading and writing."""

from __future__ import annotations

from typing import Any

from .patches import Patches


def adapt(tables: Any, patches: Patches) -> None:
    for cls in (
        tables.File,
        tables.Array,
        tables.CArray,
        tables.EArray,
        tables.VLArray,
        tables.Table,
        tables.Column,
        tables.attributeset.AttributeSet,
    ):
        patches.methods(cls)
    patches.wrap(tables.attributeset.AttributeSet, "__setattr__", "__setitem__")
