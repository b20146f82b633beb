"""Names of JAX's that will not stay: each is given with a warning, and stands in no list of names."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any


def deprecated(module: str, names: Mapping[str, tuple[Any, str]]) -> Callable[[str], Any]:
    """A module's `__getattr__`, which gives these names with a DeprecationWarning: for each its value, and what to use
    instead."""
    shown = module.replace("lazynp.jax", "jax", 1)

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {shown!r} has no attribute {name!r}")
        value, advice = names[name]
        text = f"{shown}.{name} is deprecated."
        warnings.warn(f"{text} {advice}" if advice else text, DeprecationWarning, stacklevel=2)
        return value

    return find
