"""Modules of libraries with functions some of whose arguments have to be of NumPy's own type."""

from __future__ import annotations

from typing import Any

from .patches import Patches


def adapt(module: Any, patches: Patches) -> None:
    patches.functions(module)
