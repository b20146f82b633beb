"""SciPy's solvers of sparse systems, which take NumPy's own type for a dense matrix."""

from __future__ import annotations

from typing import Any

from .patches import Patches


def adapt(linalg: Any, patches: Patches) -> None:
    patches.functions(linalg)
