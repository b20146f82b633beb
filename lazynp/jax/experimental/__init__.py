"""`jax.experimental`: what programs still import from there."""

from ..callback import io_callback
from ..config import enable_x64
from ..private.state.types import Ref as MutableArray
from . import checkify, mesh_utils, shard_map

__all__ = ["MutableArray", "checkify", "enable_x64", "io_callback", "mesh_utils", "shard_map"]
