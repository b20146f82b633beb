"""`jax.experimental`: what programs still import from there."""

from ..callback import io_callback
from . import checkify, mesh_utils, shard_map

__all__ = ["checkify", "io_callback", "mesh_utils", "shard_map"]
