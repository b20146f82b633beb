"""SciPy: sparse arrays and matrices. Their operators and methods ask `isinstance(x, numpy.ndarray)`, and take what is
none for something foreign: `m == x` would be False."""

from __future__ import annotations

from typing import Any

from .patches import Patches


def adapt(sparse: Any, patches: Patches) -> None:
    patches.functions(sparse)
    for value in list(vars(sparse).values()):
        if isinstance(value, type) and issubclass(value, (sparse.sparray, sparse.spmatrix)):
            patches.methods(value)
