"""SciPy's optimizers: what they are given, and what the functions that they call give them. Some of their C code takes
a gradient or a Jacobian as `numpy.ndarray` only."""

from __future__ import annotations

from typing import Any

from .patches import Patches

MATHEMATICS = ("rosen", "rosen_der", "rosen_hess", "rosen_hess_prod")  # work with arrays of any kind, and give such


def adapt(optimize: Any, patches: Patches) -> None:
    patches.functions(optimize, skip=MATHEMATICS, called=True)
    patches.wrap(optimize.NonlinearConstraint, "__init__", called=True)
    patches.wrap(optimize.LinearConstraint, "__init__")
    patches.wrap(optimize.Bounds, "__init__")
