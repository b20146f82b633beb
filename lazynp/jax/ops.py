"""`jax.ops`: reductions over the segments of an array; and the indexed updates of JAX's first years, deprecated."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..errors import concretization_error
from ..graph.node import ABSTRACT
from .array import Array, check_arraylike
from .at import update
from .dtypes import KIND_OF, DType, iinfo
from .numpy import arange, asarray, full, reductions
from .numpy.axes import static_int

__all__ = [
    "index_add",
    "index_max",
    "index_min",
    "index_mul",
    "index_update",
    "segment_max",
    "segment_min",
    "segment_prod",
    "segment_sum",
]


def identity(how: str, dtype: DType) -> Any:
    """What a segment without elements has."""
    if how in ("add", "multiply"):
        return int(how == "multiply")
    kind, low = KIND_OF[dtype], how == "max"
    if kind == "b":
        return not low
    if kind in "iu":
        return int(iinfo(dtype).min if low else iinfo(dtype).max)
    return -float("inf") if low else float("inf")


def segments(segment_ids: Array, num_segments: Any) -> int:
    """How many there are. Raises ConcretizationTypeError where that is not known, ValueError for less than 0."""
    if num_segments is None:
        if segment_ids.node.trace == ABSTRACT:
            most = reductions.max(segment_ids).node
            raise concretization_error(most, "Without num_segments it says how many segments there are.")
        num_segments = int(segment_ids._value().max()) + 1
    count = static_int(num_segments, "It stands for num_segments.")
    if count < 0:
        raise ValueError("num_segments must be non-negative.")
    return count


def segment_function(name: str, how: str, reducer: Callable[..., Any], does: str) -> Callable[..., Array]:
    """`segment_sum` and its like."""

    def call(
        data: Any,
        segment_ids: Any,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: Any = None,
        out_sharding: Any = None,
    ) -> Array:
        check_arraylike(name, data, segment_ids)
        x, ids = asarray(data), asarray(segment_ids)
        count = segments(ids, num_segments)
        choice = "fill_or_drop" if mode is None else mode
        start = identity(how, x.dtype)
        if bucket_size is None:
            out = full((count, *x.shape[1:]), start, dtype=x.dtype)
            return update(out, ids, x, how, choice, wrap=False)
        out = full((-(-ids.size // bucket_size), count, *x.shape[1:]), start, dtype=x.dtype)
        where = (arange(ids.shape[0]) // bucket_size, ids[None, :])
        parts: Array = reducer(update(out, where, x, how, choice, wrap=False), axis=0)
        return parts.astype(x.dtype)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"""The {does} of the elements of each segment: shape (num_segments, *data.shape[1:]), data's dtype.

        Args:
            data: array; segment_ids: integers, the segment of each row of it, in any order.
            num_segments: how many; max(segment_ids) + 1 by default. Must be given under `jit`.
            indices_are_sorted, unique_indices: promises, of no use here.
            bucket_size: reduce so many elements at a time first.
            mode: what to do with a segment out of range; it is dropped by default.

        Raises: TypeError for no array; ValueError for num_segments < 0.
        """
    return call


segment_sum = segment_function("segment_sum", "add", reductions.sum, "sum")
segment_prod = segment_function("segment_prod", "multiply", reductions.prod, "product")
segment_max = segment_function("segment_max", "max", reductions.max, "maximum")
segment_min = segment_function("segment_min", "min", reductions.min, "minimum")


def index_function(name: str, how: str) -> Callable[..., Array]:
    """`index_update` and its like, which JAX had before `x.at`."""

    def call(
        x: Any, idx: Any, y: Any, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None
    ) -> Array:
        text = f"jax.ops.{name} is deprecated; use x.at[idx].{how}(y)."
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return update(asarray(x), idx, y, how, mode)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`x.at[idx].{how}(y)`, under a name of the past."
    return call


index_update = index_function("index_update", "set")
index_add = index_function("index_add", "add")
index_mul = index_function("index_mul", "multiply")
index_min = index_function("index_min", "min")
index_max = index_function("index_max", "max")
