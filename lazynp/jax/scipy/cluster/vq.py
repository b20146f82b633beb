"""`jax.scipy.cluster.vq`: the nearest of some codes."""

from __future__ import annotations

from typing import Any

from ... import numpy as jnp
from ...arguments import common


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """For each observation the nearest code's place, and its distance.

    Args:
        obs, code_book: rows; or numbers, both.

    Raises: ValueError for ranks that differ, or are neither 1 nor 2.
    """
    points, codes = common("scipy.cluster.vq.vq", obs, code_book)
    if points.ndim != codes.ndim:
        raise ValueError("Observation and code_book should have the same rank")
    if points.ndim == 1:
        points, codes = points[..., None], codes[..., None]
    if points.ndim != 2:
        raise ValueError("ndim different than 1 or 2 are not supported")
    distances = jnp.linalg.norm(points[:, None, :] - codes[None, :, :], axis=-1)
    nearest = jnp.argmin(distances, axis=-1)
    return nearest, jnp.take_along_axis(distances, nearest[:, None], axis=-1)[:, 0]
