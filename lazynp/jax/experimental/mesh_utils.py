"""`jax.experimental.mesh_utils`: devices in an array, for `Mesh`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..sharding import make_mesh

__all__ = ["create_device_mesh"]


def create_device_mesh(mesh_shape: Sequence[int], devices: Sequence[Any] | None = None, **_: Any) -> np.ndarray:
    """The devices in an array of that shape. Raises ValueError where there are not as many."""
    names = [str(i) for i in range(len(mesh_shape))]
    return make_mesh(mesh_shape, names, devices=devices).devices
