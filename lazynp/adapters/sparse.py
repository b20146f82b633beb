"""sparse (PyData): functions and methods, and NumPy's ufuncs of its arrays, to which its operators lead."""

from __future__ import annotations

from typing import Any

from . import public_names
from .patches import Patches


def adapt(sparse: Any, patches: Patches) -> None:
    public_names.adapt(sparse, patches)
    patches.wrap(sparse.SparseArray, "__array_ufunc__")
