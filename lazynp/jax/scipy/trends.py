"""`jax.scipy.signal.detrend`."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .. import numpy as jnp
from ..arguments import matrices


def detrend(data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: None = None) -> Any:
    """The data less their mean ("constant"), or less straight lines fitted between the breakpoints ("linear").

    Raises: ValueError for another type, or breakpoints outside; NotImplementedError where overwrite_data is given.
    """
    if overwrite_data is not None:
        raise NotImplementedError("overwrite_data argument not implemented.")
    if type not in ("constant", "linear"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    (x,) = matrices(data)
    if type == "constant":
        return x - jnp.mean(x, axis, keepdims=True)
    n = x.shape[axis]
    ends = np.sort(np.unique(np.r_[0, bp, n]))
    if ends[0] < 0 or ends[-1] > n:
        raise ValueError("Breakpoints must be non-negative and less than length of data along given axis.")
    x = jnp.moveaxis(x, axis, -1)
    parts = []
    for start, end in itertools.pairwise(ends.tolist()):
        part = x[..., start:end]
        time = np.arange(end - start) - (end - start - 1) / 2
        mean = jnp.mean(part, axis=-1, keepdims=True)
        slope = (part @ time.astype(x.dtype))[..., None] / max(float(time @ time), 1e-30)
        parts.append(part - mean - slope * time.astype(x.dtype))
    return jnp.moveaxis(jnp.concatenate(parts, axis=-1), -1, axis)
