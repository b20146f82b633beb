"""netCDF4: writing, and reading by an index."""

from __future__ import annotations

from typing import Any

from .patches import Patches


def adapt(netcdf4: Any, patches: Patches) -> None:
    patches.wrap(netcdf4.Variable, "__setitem__", "__getitem__", "setncattr", "setncatts")
    patches.wrap(netcdf4.Dataset, "setncattr", "setncatts")
    patches.functions(netcdf4)
