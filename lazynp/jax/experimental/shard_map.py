"""`jax.experimental.shard_map`: where `jax.shard_map` was before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..mapping import shard_map as current

__all__ = ["shard_map"]


def shard_map(
    f: Callable[..., Any], mesh: Any, in_specs: Any, out_specs: Any, check_rep: bool = True
) -> Callable[..., Any]:
    """`jax.shard_map` with its former parameters."""
    return current(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_rep)
