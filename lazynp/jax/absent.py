"""Names of JAX's that are not there: asked for, they say why, and what there is instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def absent(module: str, reasons: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__`, which raises AttributeError. `reasons`: what is said of which names, separated by
    blanks."""
    shown = module.replace("lazynp.jax", "jax", 1)
    known = {name: reason for names, reason in reasons.items() for name in names.split()}

    def find(name: str) -> Any:
        reason = f": {known[name]}" if name in known else ""
        raise AttributeError(f"module {shown!r} has no attribute {name!r}{reason}")

    return find
