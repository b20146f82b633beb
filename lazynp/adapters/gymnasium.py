"""Gymnasium: the bounds and elements of spaces."""

from __future__ import annotations

from typing import Any

from .patches import Patches


def adapt(spaces: Any, patches: Patches) -> None:
    for value in list(vars(spaces).values()):
        if isinstance(value, type) and issubclass(value, spaces.Space):
            patches.methods(value)
