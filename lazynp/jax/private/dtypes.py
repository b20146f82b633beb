"""`jax.dtypes`, and the class that other extended dtypes are made from."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import (
    DType,
    TypePromotionError,
    canonicalize_dtype,
    extended,
    finfo,
    float0,
    iinfo,
    issubdtype,
    prng_key,
    result_type,
    scalar_type_of,
)

__all__ = [
    "DType",
    "ExtendedDType",
    "TypePromotionError",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "prng_key",
    "result_type",
    "scalar_type_of",
    "supports_inf",
]


class ExtendedDType:
    """A dtype of a library's own. Arrays of it cannot be made here."""

    type: type
    itemsize = 0


def supports_inf(dtype: Any) -> bool:
    """Whether a floating dtype has an infinity."""
    known = np.dtype(dtype)
    return bool(np.isinf(np.array(np.inf).astype(known).astype(np.float64)))
