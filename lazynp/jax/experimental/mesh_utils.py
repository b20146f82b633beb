"""`jax.experimental.mesh_utils`: devices in an array, for `Mesh`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...tracebacks import bound_all as _bound_all
from ..devices import everything

__all__ = ["create_device_mesh", "create_hybrid_device_mesh"]


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """The devices (by default all) in an array of that shape, in their order. The other parameters are about how TPUs
    are wired, and change nothing for CPUs.

    Raises: ValueError where there are not as many.
    """
    there = list(everything()) if devices is None else list(devices)
    if math.prod(mesh_shape) != len(there):
        raise ValueError(f"Number of devices {len(there)} must equal the product of mesh_shape {tuple(mesh_shape)}")
    out = np.empty(len(there), dtype=object)
    out[:] = there
    return out.reshape(tuple(mesh_shape))


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """Devices of several granules, which a slower network joins, in an array: along each axis the granules of
    `dcn_mesh_shape`, and in each of them the devices of `mesh_shape`. Granules are processes, with
    `process_is_granule`: CPUs are in no slices.

    Raises: ValueError without that, and where there are not as many granules, or devices in one.
    """
    there = list(everything()) if devices is None else list(devices)
    name = "process_index" if process_is_granule else "slice_index"
    if not hasattr(there[0], name):
        raise ValueError(f"Device {there[0]} does not have attribute {name}. See `process_is_granule` option.")
    granules: dict[int, list[Any]] = {}
    for d in there:
        granules.setdefault(getattr(d, name), []).append(d)
    keys = sorted(granules) if should_sort_granules_by_key else list(granules)
    if math.prod(dcn_mesh_shape) != len(keys):
        raise ValueError(
            f"Number of slices {len(keys)} must equal the product of dcn_mesh_shape {tuple(dcn_mesh_shape)}"
        )
    options = {"allow_split_physical_axes": allow_split_physical_axes}
    meshes = [create_device_mesh(mesh_shape, granules[k], **options) for k in keys]
    outer, inner = (1,) * (len(mesh_shape) - len(dcn_mesh_shape)) + tuple(dcn_mesh_shape), tuple(mesh_shape)
    inner = (1,) * (len(outer) - len(inner)) + inner
    out = np.empty((*outer, *inner), dtype=object)
    for place, mesh in zip(np.ndindex(*outer), meshes):
        out[place] = mesh.reshape(inner)
    n = len(outer)
    alternating = [axis for d in range(n) for axis in (d, d + n)]
    return out.transpose(alternating).reshape([a * b for a, b in zip(outer, inner)])


_bound_all(globals())
