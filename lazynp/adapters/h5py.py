"""h5py: what reads and writes arrays."""

from __future__ import annotations

from typing import Any

from .patches import Patches


def adapt(h5py: Any, patches: Patches) -> None:
    patches.methods(h5py.Dataset)
    patches.methods(h5py.Group)
    patches.methods(h5py.File)
    patches.methods(h5py.AttributeManager)
