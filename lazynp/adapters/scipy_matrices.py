"""SciPy's function of a matrix, whose C code takes what the user's function gave as NumPy's own type only."""

from __future__ import annotations

from typing import Any

from .patches import Patches


def adapt(linalg: Any, patches: Patches) -> None:
    patches.wrap(linalg, "funm", called=True)
