"""`jax.scipy.interpolate`: interpolation on a rectilinear grid."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import numpy as jnp
from ..arguments import arraylike, inexact
from ..tree_util import register_pytree_node

METHODS = ("linear", "nearest")


def check_method(method: str) -> None:
    if method not in METHODS:
        raise ValueError(f"method {method!r} is not defined")


class RegularGridInterpolator:
    """Values between those on a grid."""

    def __init__(
        self,
        points: Sequence[Any],
        values: Any,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Any = np.nan,
    ) -> None:
        """
        Args:
            points: the grid's coordinates along each of the first axes of the values, rising.
            values: on the grid; further axes are interpolated alike.
            method: "linear" or "nearest".
            bounds_error: must be False.
            fill_value: what is outside the grid; None: extrapolated.

        Raises: ValueError for a method, a fill value or points that do not fit, NotImplementedError for bounds_error.
        """
        check_method(method)
        if bounds_error:
            raise NotImplementedError("`bounds_error` takes no effect under JIT")
        values = arraylike("RegularGridInterpolator", values)
        if len(points) > values.ndim:
            raise ValueError(f"there are {len(points)} point arrays, but values has {values.ndim} dimensions")
        (values,) = inexact("RegularGridInterpolator", values)
        if fill_value is not None:
            fill_value = arraylike("RegularGridInterpolator", fill_value)
            if not np.can_cast(fill_value.dtype, values.dtype, casting="same_kind"):
                raise ValueError("fill_value must be either 'None' or of a type compatible with values")
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value
        self.grid = tuple([arraylike("RegularGridInterpolator", p) for p in points])
        self.values = values

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """The values at points: (..., dimensions), or a tuple of arrays of coordinates.

        Raises: ValueError for another method, or points of another dimension.
        """
        method = self.method if method is None else method
        check_method(method)
        n = len(self.grid)
        points = as_points(xi, n)
        if points.shape[-1] != n:
            raise ValueError(
                f"the requested sample points xi have dimension {points.shape[-1]}, but this RegularGridInterpolator "
                f"has dimension {n}"
            )
        flat = jnp.reshape(points, (-1, n))
        cells = [self._cell(flat[:, k], grid) for k, grid in enumerate(self.grid)]
        out = self._linear(cells) if method == "linear" else self._nearest(cells)
        if self.fill_value is not None:
            outside: Any = jnp.zeros(flat.shape[:1], bool)
            for k, grid in enumerate(self.grid):
                outside = outside | (flat[:, k] < grid[0]) | (flat[:, k] > grid[-1])
            out = jnp.where(jnp.reshape(outside, out.shape[:1] + (1,) * (out.ndim - 1)), self.fill_value, out)
        return jnp.reshape(out, points.shape[:-1] + self.values.shape[n:])

    @staticmethod
    def _cell(x: Any, grid: Any) -> tuple[Any, Any]:
        """The grid point below, and how far on the way to the next x is, from 0 to 1."""
        low = jnp.clip(jnp.searchsorted(grid, x) - 1, 0, grid.size - 2)
        return low, (x - grid[low]) / (grid[low + 1] - grid[low])

    def _linear(self, cells: list[tuple[Any, Any]]) -> Any:
        total: Any = 0.0
        trailing = (slice(None),) + (None,) * (self.values.ndim - len(cells))
        for corner in itertools.product((0, 1), repeat=len(cells)):
            weight: Any = 1.0
            for side, (_, part) in zip(corner, cells):
                weight = weight * (part if side else 1 - part)
            index = tuple([low + side for side, (low, _) in zip(corner, cells)])
            total = total + self.values[index] * weight[trailing]
        return total

    def _nearest(self, cells: list[tuple[Any, Any]]) -> Any:
        return self.values[tuple([jnp.where(part <= 0.5, low, low + 1) for low, part in cells])]


def as_points(xi: Any, n: int) -> Any:
    """Points, their coordinates along the last axis."""
    if isinstance(xi, tuple) and len(xi) == 1:
        xi = xi[0]
    if isinstance(xi, tuple):
        return jnp.stack(jnp.broadcast_arrays(*[jnp.asarray(x, float) for x in xi]), axis=-1)
    points = arraylike("_ndim_coords_from_arrays", xi)
    return jnp.reshape(points, (-1, n)) if points.ndim == 1 else points


def unflatten(fixed: Any, children: Any) -> RegularGridInterpolator:
    out = object.__new__(RegularGridInterpolator)
    out.method, out.bounds_error = fixed
    out.grid, out.values, out.fill_value = children
    return out


register_pytree_node(
    RegularGridInterpolator,
    lambda self: ((self.grid, self.values, self.fill_value), (self.method, self.bounds_error)),
    unflatten,
)
