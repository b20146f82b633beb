"""`jax.experimental`: what programs still import from there."""

from ..callback import io_callback
from ..config import enable_x64
from . import mesh_utils, shard_map

__all__ = ["enable_x64", "io_callback", "mesh_utils", "shard_map"]
