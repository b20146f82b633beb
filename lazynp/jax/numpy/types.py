"""The scalar types: `jnp.float32` stands for a dtype, and called it makes an array of no axes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ..dtypes import ALL, DType
from .creation import asarray


class ScalarType(type):
    """The class of `jnp.float32` and its like. They compare equal to NumPy's types of the same dtype."""

    dtype: DType

    def __new__(cls, name: str, dtype: DType) -> ScalarType:
        return super().__new__(
            cls, name, (object,), {"dtype": dtype, "__numpy_dtype__": dtype, "__module__": "jax.numpy"}
        )

    def __init__(cls, name: str, dtype: DType) -> None:
        super().__init__(name, (object,), {})
        cls.__doc__ = f"A JAX scalar of type {name}: `{name}(x)` is an array."

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __eq__(cls, other: Any) -> bool:
        return cls is other or cls.dtype.type == other or isinstance(other, ScalarType) and cls.dtype == other.dtype

    def __ne__(cls, other: Any) -> bool:
        return not cls == other

    def __call__(cls, x: Any) -> Any:
        """An array of that dtype."""
        return asarray(x, dtype=cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.dtype.type)

    def __repr__(cls) -> str:
        return f"<class 'jax.numpy.{cls.__name__}'>"


NAMES = {
    "bool_": "bool",
    **{n: n for n in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")},
    **{n: n for n in ("float16", "float32", "float64", "complex64", "complex128")},
}
SMALL = tuple(
    [
        n
        for n in sorted(vars(ml_dtypes))
        if n.startswith(("float", "int", "uint", "bfloat")) and np.dtype(getattr(ml_dtypes, n)) in ALL
    ]
)
scalar_types: dict[str, Any] = {n: ScalarType(n, np.dtype(d)) for n, d in NAMES.items()}
scalar_types.update({n: ScalarType(n, np.dtype(getattr(ml_dtypes, n))) for n in SMALL})
scalar_types.update(
    {
        "int_": scalar_types["int64"],
        "uint": scalar_types["uint64"],
        "float_": scalar_types["float64"],
        "complex_": scalar_types["complex128"],
        "single": scalar_types["float32"],
        "double": scalar_types["float64"],
        "csingle": scalar_types["complex64"],
        "cdouble": scalar_types["complex128"],
        "bool": scalar_types["bool_"],
    }
)
