"""SymPy: `symbol * x`, which it leaves to an array that it takes for NumPy's; else it asks x for a number."""

from __future__ import annotations

from typing import Any

from ..numpy.array import ndarray
from .patches import Patches


def adapt(sympify: Any, patches: Patches) -> None:
    is_numpys = sympify._is_numpy_instance

    def is_array(a: Any) -> bool:
        return a.ndim > 0 if isinstance(type(a), type(ndarray)) else is_numpys(a)

    patches.put(sympify, "_is_numpy_instance", is_array)
