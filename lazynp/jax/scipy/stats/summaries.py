"""Of samples: the mode, ranks, the standard error of the mean."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from ... import numpy as jnp
from ...arguments import arraylike, inexact

POLICIES = ("propagate", "omit", "raise")
METHODS = ("average", "min", "max", "dense", "ordinal")


class ModeResult(NamedTuple):
    """The most frequent value, and how often it is there."""

    mode: Any
    count: Any


def check_policy(name: str, policy: str) -> None:
    if policy not in POLICIES:
        raise ValueError(f"Illegal nan_policy value {policy!r}; expected one of {{'propagate', 'omit', 'raise'}}")
    if policy == "omit":
        raise NotImplementedError(f"Logic for `nan_policy` of {policy} is not implemented")
    if policy == "raise":
        raise NotImplementedError(
            f"`{name}` cannot know whether `x` contains nans. Please check if nans exist in `x` outside of it."
        )


def mode(a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False) -> ModeResult:
    """The most frequent value along an axis, the least of several, and its count.

    Raises: ValueError for a bad policy, NotImplementedError for "omit" and "raise".
    """
    x = jnp.atleast_1d(arraylike("mode", a))
    check_policy("mode", nan_policy)
    rank = x.ndim
    if axis is None:
        x, place = jnp.ravel(x), 0
    else:
        if not -rank <= axis < rank:
            raise ValueError(f"axis {axis} is out of bounds for array of dimension {rank}")
        place = axis % rank
    x = jnp.moveaxis(x, place, -1)
    if x.shape[-1] == 0:
        value, count = jnp.full(x.shape[:-1], np.nan, float), jnp.zeros(x.shape[:-1])
    else:
        x = jnp.sort(x, axis=-1)
        same = x[..., :, None] == x[..., None, :]
        if x.dtype.kind == "f":
            same = same | (jnp.isnan(x)[..., :, None] & jnp.isnan(x)[..., None, :])
        often = jnp.sum(same, axis=-1)
        first = jnp.argmax(often, axis=-1, keepdims=True)
        value = jnp.take_along_axis(x, first, axis=-1)[..., 0]
        count = jnp.max(often, axis=-1)
    if keepdims:
        shape = (1,) * rank if axis is None else None
        value, count = (jnp.reshape(v, shape) if shape else jnp.expand_dims(v, place) for v in (value, count))
    return ModeResult(value, count)


def rankdata(a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> Any:
    """Ranks from 1, as floats; NaN all over where there is one.

    Args:
        method: what equal values get: the "average", the "min" or the "max" of their ranks, ranks without gaps
            ("dense"), or ranks in the order in which they stand ("ordinal").
        axis: along which to rank; None: all values at once.

    Raises: ValueError for a bad method or policy, TypeError for several axes, NotImplementedError for the policies
    "omit" and "raise".
    """
    x = arraylike("rankdata", a)
    check_policy("rankdata", nan_policy)
    if method not in METHODS:
        raise ValueError(f"unknown method '{method}'")
    x = jnp.moveaxis(jnp.ravel(x) if axis is None else x, 0 if axis is None else operator.index(axis), -1)
    kind = jnp.result_type(float)
    ahead = x[..., None, :] < x[..., :, None]
    same = x[..., None, :] == x[..., :, None]
    n = x.shape[-1]
    earlier = np.tri(n, n, -1, dtype=bool)
    below = jnp.sum(ahead, axis=-1)
    if method == "ordinal":
        out = below + jnp.sum(same & earlier, axis=-1) + 1
    elif method == "dense":
        first = ~jnp.any(same & earlier, axis=-1)
        out = jnp.sum(ahead & first[..., None, :], axis=-1) + 1
    else:
        equal = jnp.sum(same, axis=-1)
        low, high = below + 1, below + equal
        out = low if method == "min" else high if method == "max" else 0.5 * (low + high)
    out = out.astype(kind)
    if x.dtype.kind == "f":
        out = jnp.where(jnp.any(jnp.isnan(x), axis=-1, keepdims=True), np.nan, out)
    return out if axis is None else jnp.moveaxis(out, -1, axis)


def sem(a: Any, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    """The standard error of the mean along an axis; with the policy "omit" without NaNs.

    Raises: ValueError for another policy.
    """
    (x,) = inexact("sem", a)
    if nan_policy == "propagate":
        size = x.size if axis is None else x.shape[axis]
        return jnp.std(x, axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(size).astype(x.dtype)
    if nan_policy == "omit":
        count = jnp.sum(~jnp.isnan(x), axis, keepdims=keepdims)
        return jnp.nanstd(x, axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(count).astype(x.dtype)
    raise ValueError(f"{nan_policy} is not supported")
