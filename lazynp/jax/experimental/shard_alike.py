"""`jax.experimental.shard_alike`: arrays that lie alike."""

from __future__ import annotations

from typing import Any

from ...tree import flatten, unflatten
from .. import lax
from .. import numpy as jnp
from ..tree_util import PyTreeDef

__all__ = ["shard_alike"]


def shard_alike(x: Any, y: Any) -> tuple[Any, Any]:
    """Both trees, each of whose arrays lies as the other tree's array in its place does, where only that is split.

    Raises: ValueError for trees of other structures, and for arrays of other shapes.
    """
    (xs, tree), (ys, other) = flatten(x), flatten(y)
    if tree != other:
        raise ValueError(f"Trees should be equal. Got x_tree: {PyTreeDef(tree)}, y_tree: {PyTreeDef(other)}")
    for a, b in zip(xs, ys):
        if jnp.shape(a) != jnp.shape(b):
            raise ValueError(
                f"The leaves shapes of `x` and `y` should match. Got `x` leaf shape: {jnp.shape(a)} and `y` leaf "
                f"shape: {jnp.shape(b)}. File an issue at https://github.com/jax-ml/jax/issues if you want this "
                "feature."
            )
    firsts = [alike(jnp.asarray(a), jnp.asarray(b)) for a, b in zip(xs, ys)]
    seconds = [alike(jnp.asarray(b), jnp.asarray(a)) for a, b in zip(xs, ys)]
    return unflatten(tree, firsts), unflatten(tree, seconds)


def alike(a: Any, b: Any) -> Any:
    """An array's values, which lie as an elementwise operation of it and of another one lies."""
    return lax.select(jnp.bool_(True), a, b if a.dtype == b.dtype else lax.full_like(b, 0, a.dtype))
