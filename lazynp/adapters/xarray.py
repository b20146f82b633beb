"""xarray: what its methods are given, as indexers or values. Its objects keep arrays of ours as their data, which stay
lazy there."""

from __future__ import annotations

from typing import Any

from .patches import OPERATORS, Patches


def adapt(xarray: Any, patches: Patches) -> None:
    for cls in (xarray.Dataset, xarray.DataArray):
        patches.methods(cls, ("__init__", *OPERATORS))
