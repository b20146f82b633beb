"""`jax.experimental.sparse`: arrays of which only some elements are kept, with their indices (`BCOO`)."""

from .bcoo import (
    BCOO,
    JAXSparse,
    bcoo_dot_general,
    bcoo_fromdense,
    bcoo_multiply_dense,
    bcoo_reduce_sum,
    bcoo_sort_indices,
    bcoo_sum_duplicates,
    bcoo_todense,
    bcoo_transpose,
    empty,
    eye,
    todense,
)

__all__ = [
    "BCOO",
    "JAXSparse",
    "bcoo_dot_general",
    "bcoo_fromdense",
    "bcoo_multiply_dense",
    "bcoo_reduce_sum",
    "bcoo_sort_indices",
    "bcoo_sum_duplicates",
    "bcoo_todense",
    "bcoo_transpose",
    "empty",
    "eye",
    "todense",
]
