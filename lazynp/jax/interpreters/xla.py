"""`jax.interpreters.xla`: to run one primitive."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import Array
from ..bind import Primitive

__all__ = ["apply_primitive", "canonicalize_dtype_handlers"]
canonicalize_dtype_handlers: dict[Any, Any] = {np.ndarray: np.asarray, Array: lambda x: x}
"""For types of values a function to an array in JAX's dtypes. Read by nobody here: `__jax_array__` says it."""


def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any:
    """The primitive, computed by its lowering. Raises NotImplementedError where it has none."""
    if prim.lowering is None:
        return prim._no_impl()
    return prim.lowering(*args, **params)
