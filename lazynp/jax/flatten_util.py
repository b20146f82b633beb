"""`jax.flatten_util`: a tree of arrays as one vector."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from ..tracebacks import bound_all as _bound_all
from ..tree import flatten, unflatten
from . import numpy as jnp
from .array import Array

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Any) -> tuple[Array, Callable[[Any], Any]]:
    """All leaves in one vector of their common dtype; and the function that makes the tree of such a vector.

    That function raises ValueError for a vector of another length, TypeError for another dtype.
    """
    leaves, structure = flatten(pytree)
    arrays = [jnp.asarray(x) for x in leaves]
    if not arrays:
        return jnp.zeros(0), lambda flat: unflatten(structure, [])
    dtype = jnp.result_type(*arrays)
    shapes, dtypes = [x.shape for x in arrays], [x.dtype for x in arrays]
    alike = all([d == dtype for d in dtypes])
    flat = jnp.concatenate([jnp.ravel(x) if alike else jnp.ravel(x).astype(dtype) for x in arrays])
    ends = [0]
    for shape in shapes:
        ends.append(ends[-1] + math.prod(shape))

    def unravel(vector: Any) -> Any:
        given, shape = jnp.result_type(vector), jnp.shape(vector)
        if not alike and given != dtype:
            raise TypeError(f"unravel function given array of dtype {given}, but expected dtype {dtype}")
        if shape != (ends[-1],):
            raise ValueError(f"unravel function given array of shape {shape}, but expected shape {(ends[-1],)}")
        parts = [vector[a:b] for a, b in pairwise(ends)]
        shaped = [p.reshape(s) for p, s in zip(parts, shapes)]
        return unflatten(structure, shaped if alike else [p.astype(d) for p, d in zip(shaped, dtypes)])

    return flat, unravel


_bound_all(globals())
