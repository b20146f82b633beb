"""`jax.dlpack`: arrays from other libraries. Ours go there by `__dlpack__`, as read-only memory that is shared."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import KIND_OF
from .numpy import from_dlpack

__all__ = ["from_dlpack", "is_supported_dtype"]


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of that dtype can be exchanged."""
    return np.dtype(dtype) in KIND_OF
