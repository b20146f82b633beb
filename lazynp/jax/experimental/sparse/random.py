"""`random_bcoo`: random sparse arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import numpy as jnp
from ... import random
from ...dtypes import canonicalize_dtype
from ...names import vmap
from .elements import BCOO

__all__ = ["random_bcoo"]


def random_bcoo(
    key: Any,
    shape: Sequence[int],
    *,
    dtype: Any = jnp.float_,
    indices_dtype: Any = None,
    nse: float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Any] = random.uniform,
    **kwds: Any,
) -> BCOO:
    """A random sparse array.

    Args:
        nse: how many elements; below 1, which part of the sparse axes' places.
        generator: `generator(key, shape=, dtype=, **kwds)` gives the elements.
    Raises: ValueError for axes or a number of elements that do not fit.
    """
    sizes = tuple(map(operator.index, shape))
    b, d = operator.index(n_batch), operator.index(n_dense)
    if b < 0 or d < 0 or b + d > len(sizes):
        raise ValueError(f"Invalid n_batch={b}, n_dense={d} for shape={sizes}")
    batch, sparse, dense = sizes[:b], sizes[b : len(sizes) - d], sizes[len(sizes) - d :]
    count = math.prod(sparse)
    if not 0 <= nse < count:
        raise ValueError(f"got {nse=}, expected to be between 0 and {count}")
    kept = math.ceil(nse * count) if 0 < nse < 1 else operator.index(int(nse))
    index_dtype = canonicalize_dtype(np.int64 if indices_dtype is None else indices_dtype)
    if count > jnp.iinfo(index_dtype).max:
        raise ValueError(f"{indices_dtype=} does not have enough range to generate sparse indices of size {count}.")

    def places(key: Any) -> Any:
        if not sparse:
            return jnp.zeros((kept, 0), index_dtype)
        flat = random.choice(key, count, shape=(kept,), replace=not unique_indices).astype(index_dtype)
        return jnp.stack(jnp.unravel_index(flat, sparse), -1)

    keys = random.split(key, math.prod(batch) + 1)
    data = generator(keys[0], shape=(*batch, kept, *dense), dtype=dtype, **kwds)
    indices = vmap(places)(keys[1:]).reshape(*batch, kept, len(sparse))
    out = BCOO((data, indices), shape=sizes)
    return out.sort_indices() if sorted_indices else out
