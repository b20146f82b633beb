"""`COO`: a matrix's elements with their rows and columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...array import Array
from ...tree_util import register_pytree_node_class
from .base import JAXSparse
from .elements import diagonal, diagonal_size, whole_number
from .util import Shape, count_stored

__all__ = ["COO", "coo_fromdense", "coo_matmat", "coo_matvec", "coo_todense"]


class COOInfo(NamedTuple):
    """What is known of a matrix besides its buffers."""

    shape: Shape
    rows_sorted: bool = False
    cols_sorted: bool = False


@register_pytree_node_class
class COO(JAXSparse):
    """Elements with their rows and columns. Attributes: data, row, col: of the shape (nse,)."""

    def __init__(
        self, args: tuple[Any, Any, Any], *, shape: Shape, rows_sorted: bool = False, cols_sorted: bool = False
    ) -> None:
        self.data, self.row, self.col = map(jnp.asarray, args)
        self._rows_sorted, self._cols_sorted = rows_sorted, cols_sorted
        super().__init__(args, shape=shape)

    @property
    def _info(self) -> COOInfo:
        return COOInfo(self.shape, self._rows_sorted, self._cols_sorted)

    @property
    def _bufs(self) -> tuple[Any, Any, Any]:
        return self.data, self.row, self.col

    def tree_flatten(self) -> Any:
        return self._bufs, tuple(self._info)

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> COO:
        new: COO = object.__new__(cls)
        new.data, new.row, new.col = children
        new.whole, new._rows_sorted, new._cols_sorted = aux_data
        return new

    @property
    def dtype(self) -> Any:
        """Of the elements."""
        return self.data.dtype

    @property
    def nse(self) -> int:
        """How many elements are kept."""
        return int(self.data.size)

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
        """The sparse form of a matrix. See `coo_fromdense`."""
        return coo_fromdense(mat, nse=nse, index_dtype=index_dtype)

    @classmethod
    def _empty(cls, shape: Shape, *, dtype: Any = None, index_dtype: Any = "int32") -> COO:
        """All zeros."""
        if len(shape) != 2:
            raise ValueError(f"COO must have ndim=2; got {shape=}")
        none = jnp.empty(0, index_dtype)
        return cls((jnp.empty(0, dtype), none, none), shape=shape, rows_sorted=True, cols_sorted=True)

    @classmethod
    def _eye(cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32") -> COO:
        """Ones on a diagonal."""
        count = diagonal_size(N, M, k)
        if not count:
            return cls._empty((N, M), dtype=dtype, index_dtype=index_dtype)
        parts = jnp.ones(count, dtype), *diagonal(count, k, index_dtype)
        return cls(parts, shape=(N, M), rows_sorted=True, cols_sorted=True)

    def _sort_indices(self) -> COO:
        """With the rows in order, and in each the columns."""
        if self._rows_sorted:
            return self
        row, col, data = lax.sort((self.row, self.col, self.data), num_keys=2)
        return COO((data, row, col), shape=self.shape, rows_sorted=True)

    def todense(self) -> Array:
        """The dense matrix."""
        return coo_todense(self)

    def transpose(self, axes: Any = None) -> COO:
        """Rows as columns. Raises NotImplementedError for `axes`."""
        if axes is not None:
            raise NotImplementedError("axes argument to transpose()")
        return COO(
            (self.data, self.col, self.row),
            shape=self.shape[::-1],
            rows_sorted=self._cols_sorted,
            cols_sorted=self._rows_sorted,
        )

    def __matmul__(self, other: Any) -> Any:
        return product(self.data, self.row, self.col, other, self.shape)


def added(values: Any, row: Any, n: int) -> Any:
    """For each row the sum of its values: (n, ...)."""
    return jnp.zeros((n, *values.shape[1:]), values.dtype).at[row].add(values)


def multiplied(data: Any, row: Any, col: Any, other: Any, n: int) -> Any:
    """A matrix of n rows times a vector or a matrix."""
    return added(data.reshape(-1, *(1,) * (other.ndim - 1)) * other[col], row, n)


def product(data: Any, row: Any, col: Any, other: Any, shape: Shape) -> Any:
    """`matrix @ other`. Raises NotImplementedError for another sparse array, and for one of more than two axes."""
    if isinstance(other, JAXSparse):
        raise NotImplementedError("matmul between two sparse objects.")
    dense = jnp.asarray(other)
    if dense.ndim not in (1, 2):
        raise NotImplementedError(f"matmul with object of shape {dense.shape}")
    check_length(dense, shape[1])
    return multiplied(data, row, col, dense, shape[0])


def check_length(dense: Any, n: int) -> None:
    assert dense.shape[0] == n, f"{dense.shape} does not fit {n} columns"


def coo_todense(mat: COO) -> Array:
    """The dense matrix."""
    out: Array = jnp.zeros(mat.shape, mat.dtype).at[mat.row, mat.col].add(mat.data)
    return out


def places(mat: Any, nse: int | None) -> tuple[Any, Any, Any, Any]:
    """The elements of a matrix that are not zero, their rows and columns, and which of them are elements."""
    assert mat.ndim == 2, mat.shape
    count = whole_number(count_stored(mat) if nse is None else nse)
    row, col = jnp.nonzero(mat, size=count)
    real = jnp.arange(count) < (mat != 0).sum()
    return jnp.where(real, mat[row, col], jnp.zeros((), mat.dtype)), row, col, real


def coo_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
    """The elements of a matrix that are not zero. `nse`: how many to keep; needed where the matrix is traced."""
    mat = jnp.asarray(mat)
    data, row, col, _ = places(mat, nse)
    return COO((data, row.astype(index_dtype), col.astype(index_dtype)), shape=mat.shape, rows_sorted=True)


def coo_matvec(mat: COO, v: Any, transpose: bool = False) -> Any:
    """The matrix, or its transpose, times a vector."""
    return coo_matmat(mat, v, transpose=transpose)


def coo_matmat(mat: COO, B: Any, *, transpose: bool = False) -> Any:
    """The matrix, or its transpose, times a matrix."""
    row, col = (mat.col, mat.row) if transpose else (mat.row, mat.col)
    return multiplied(mat.data, row, col, jnp.asarray(B), mat.shape[1 if transpose else 0])
