"""`jax.scipy.ndimage`: interpolation at given coordinates."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import lax
from .. import numpy as jnp


def mirrored(index: Any, size: int) -> Any:
    s = size - 1
    return jnp.abs((index + s) % (2 * s) - s)


MODES: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda index, size: index,
    "nearest": lambda index, size: jnp.clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size,
    "mirror": mirrored,
    "reflect": lambda index, size: jnp.floor_divide(mirrored(2 * index + 1, 2 * size + 1) - 1, 2),
}
"""Where an index beyond the ends is looked up."""


def rounded(x: Any) -> Any:
    return x if x.dtype.kind in "iu" else lax.round(x)


def neighbours(x: Any, order: int) -> list[tuple[Any, Any]]:
    """The indices around coordinates, and their weights."""
    if order == 0:
        return [(rounded(x).astype(np.int32), jnp.ones((), x.dtype))]
    low = jnp.floor(x)
    part = x - low
    index = low.astype(np.int32)
    return [(index, 1 - part), (index + 1, part)]


def map_coordinates(
    input: Any,
    coordinates: Sequence[Any],
    order: int,
    mode: str = "constant",
    cval: Any = 0.0,
) -> Any:
    """The array's values at coordinates, one array of them for each axis.

    Args:
        order: 0: the nearest value; 1: linear interpolation.
        mode: what is beyond the ends: "constant" (`cval`), "nearest", "wrap", "mirror" or "reflect".

    Returns: an array of the coordinates' shape and the input's dtype.

    Raises: ValueError for a wrong number of coordinates, NotImplementedError for another order or mode.
    """
    x = jnp.asarray(input)
    points = [jnp.asarray(c) for c in coordinates]
    fill = jnp.asarray(cval, x.dtype)
    if len(points) != x.ndim:
        raise ValueError(f"coordinates must be a sequence of length input.ndim, but {len(points)} != {x.ndim}")
    if mode not in MODES:
        raise NotImplementedError(
            f"jax.scipy.ndimage.map_coordinates does not yet support mode {mode}. Currently supported modes are "
            f"{set(MODES)}."
        )
    if order not in (0, 1):
        raise NotImplementedError("jax.scipy.ndimage.map_coordinates currently requires order<=1")
    per_axis = [
        [(MODES[mode](i, size), (i >= 0) & (i < size), w) for i, w in neighbours(p, order)]
        for p, size in zip(points, x.shape)
    ]
    total: Any = None
    for corner in itertools.product(*per_axis):
        weight: Any = None
        inside: Any = None
        for _, valid, w in corner:
            weight = w if weight is None else weight * w
            inside = valid if inside is None else inside & valid
        value = x[tuple([i for i, _, _ in corner])]
        if mode == "constant":
            value = jnp.where(inside, value, fill)
        total = weight * value if total is None else total + weight * value
    return (rounded(total) if x.dtype.kind in "iu" else total).astype(x.dtype)
