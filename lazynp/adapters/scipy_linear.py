"""SciPy's solvers of sparse systems, and its factors (`splu(a).solve(b)`), which take NumPy's own type for a dense
matrix."""

from __future__ import annotations

from typing import Any

from .patches import Patches, native


def adapt(linalg: Any, patches: Patches) -> None:
    patches.functions(linalg)
    if native is not None:
        patches.wrap(linalg.SuperLU, "solve")
