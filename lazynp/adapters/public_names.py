"""Modules whose public functions, and whose public classes' methods, need NumPy's own arrays."""

from __future__ import annotations

from typing import Any

from .patches import Patches


def adapt(module: Any, patches: Patches) -> None:
    patches.functions(module)
    library = module.__name__.split(".")[0]
    for name, value in list(vars(module).items()):
        if not name.startswith("_") and isinstance(value, type) and value.__module__.split(".")[0] == library:
            patches.methods(value)
