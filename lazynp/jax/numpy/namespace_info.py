"""What the Python array API (https://data-apis.org/array-api) lets programs ask of `jax.numpy`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..devices import devices
from ..dtypes import complex_dtype, float_dtype, int_dtype, x64_enabled

__array_api_version__ = "2024.12"

KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]
WIDE = frozenset({"int64", "uint64", "float64", "complex128"})


class ArrayNamespaceInfo:
    """Capabilities, devices and dtypes. The dtypes are the same on all devices."""

    def capabilities(self) -> dict[str, Any]:
        """Which optional behaviour there is: of what holds inside of transformations, too."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> None:
        """None: arrays are where they are wanted, unless a program says where."""
        return None

    def devices(self) -> list[Any]:
        """What a `device` argument may be."""
        return [None, *devices()]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of what is made of Python's numbers."""
        whole = int_dtype()
        found = {"real floating": float_dtype(), "complex floating": complex_dtype(), "integral": whole}
        return {**found, "indexing": whole}

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, np.dtype[Any]]:
        """The array API's dtypes of one kind, of several, or all, by name. Raises KeyError for an unknown kind."""
        kinds = ("numeric", "bool") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        names = [name for k in kinds for name in KINDS[k]]
        return {name: np.dtype(name) for name in names if name not in WIDE or x64_enabled()}


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """What this namespace can do, as the array API has it: capabilities, devices and dtypes."""
    return ArrayNamespaceInfo()
