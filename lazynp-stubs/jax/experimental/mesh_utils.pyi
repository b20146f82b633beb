# Written by `python -m compat stubs`.
from collections.abc import Sequence
from typing import Any
import numpy as np

def create_device_mesh(mesh_shape: Sequence[int], devices: Sequence[Any] | None = None, **_: Any) -> np.ndarray: ...
