"""What all sparse formats share: what is known of an array's indices, maps over batches, warnings."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import lax
from ... import numpy as jnp
from ...array import Array
from ...jaxpr import ShapeDtypeStruct, eval_shape
from ...names import vmap

__all__ = ["CuSparseEfficiencyWarning", "SparseEfficiencyError", "SparseEfficiencyWarning", "SparseInfo"]
Shape = Sequence[int]


class SparseEfficiencyError(ValueError):
    """A layout would keep far more elements than the array has."""


class SparseEfficiencyWarning(UserWarning):
    """A layout keeps far more elements than the array has."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """An operation that cuSPARSE does not have: never given here."""


class SparseInfo(NamedTuple):
    """What is known of a sparse array besides its buffers."""

    shape: tuple[int, ...]
    indices_sorted: bool = False
    unique_indices: bool = False


def broadcasting_vmap(fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """`vmap` over leading axes, where an axis of length 1 serves all. `in_axes`: 0 or None, of each argument."""

    @functools.wraps(fun)
    def batched(*args: Any) -> Any:
        axes = list(in_axes) if isinstance(in_axes, Sequence) else [in_axes] * len(args)
        sizes = [x.shape[0] for x, axis in zip(args, axes) if axis is not None]
        size, given = max(sizes), list(args)
        if size > 1:
            if any([n not in (1, size) for n in sizes]):
                raise ValueError("broadcasting_vmap: mismatched input shapes")
            for i, (x, axis) in enumerate(zip(args, axes)):
                if axis is not None and x.shape[0] == 1:
                    given[i], axes[i] = x[0], None
        return vmap(fun, in_axes=tuple(axes), out_axes=out_axes)(*given)

    return batched


def nfold_vmap(fun: Callable[..., Any], N: int, *, broadcasted: bool = True, in_axes: Any = 0) -> Callable[..., Any]:
    """The function, mapped over N leading axes; `broadcasted`: where axes of length 1 serve all."""
    for _ in range(N):
        fun = broadcasting_vmap(fun, in_axes) if broadcasted else vmap(fun, in_axes=in_axes)
    return fun


def csr_to_coo(indices: Any, indptr: Any) -> tuple[Any, Any]:
    """Rows and columns of the elements, for columns and where each row begins."""
    return jnp.cumsum(jnp.zeros_like(indices).at[indptr].add(1)) - 1, indices


def row_pointers(rows: Any, n_rows: int, dtype: Any) -> Any:
    """Where each row begins, for the rows of elements in order."""
    counts = jnp.bincount(rows, length=n_rows).astype(dtype)
    return jnp.zeros(n_rows + 1, dtype).at[1:].set(jnp.cumsum(counts))


def count_stored(mat: Array, n_batch: int = 0, n_dense: int = 0) -> Array:
    """How many elements of an array are not zero: the most that a batch has."""
    mask: Any = mat != 0
    if n_dense:
        mask = mask.any(tuple(range(mat.ndim - n_dense, mat.ndim)))
    most: Array = mask.sum(tuple(range(n_batch, mask.ndim))).max(initial=0)
    return most


def product_type(lhs: Any, rhs: Any, dimension_numbers: Any, preferred_element_type: Any = None) -> ShapeDtypeStruct:
    """Shape and dtype of `lax.dot_general`. Raises what that raises for shapes that do not fit."""
    found: ShapeDtypeStruct = eval_shape(
        lambda a, b: lax.dot_general(a, b, dimension_numbers, preferred_element_type=preferred_element_type),
        ShapeDtypeStruct(lhs.shape, lhs.dtype),
        ShapeDtypeStruct(rhs.shape, rhs.dtype),
    )
    return found


def remaining(axes: Any, *taken: Sequence[int]) -> list[int]:
    """The axes that are in none of the lists."""
    return [a for a in axes if not any(a in t for t in taken)]


def checked_numbers(dimension_numbers: Any) -> Any:
    """Dimension numbers of a product as tuples."""
    return tuple([tuple([tuple(side) for side in pair]) for pair in dimension_numbers])
