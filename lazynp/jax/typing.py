"""`jax.typing`: names for annotations."""

from typing import Any

import numpy as np

from .array import Array

__all__ = ["ArrayLike", "DTypeLike"]
ArrayLike = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex
DTypeLike = Any
