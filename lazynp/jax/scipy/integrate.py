"""`jax.scipy.integrate`: the trapezoidal rule."""

from __future__ import annotations

from typing import Any

from .. import numpy as jnp


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of samples along an axis: jax.numpy.trapezoid."""
    return jnp.trapezoid(y, x, dx, axis)
