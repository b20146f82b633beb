"""`CSR` and `CSC`: a matrix's elements in the order of its rows, or of its columns, and where each of them begins."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as jnp
from ...array import Array
from ...tree_util import register_pytree_node_class
from .base import JAXSparse
from .coo import COO, coo_todense, multiplied, places, product
from .elements import diagonal, diagonal_size
from .util import Shape, csr_to_coo, row_pointers

__all__ = ["CSC", "CSR", "csr_fromdense", "csr_matmat", "csr_matvec", "csr_todense"]


class Compressed(JAXSparse):
    """Elements, their columns and where rows begin, or the other way round. Attributes: data, indices, indptr."""

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Shape) -> None:
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        super().__init__(args, shape=shape)

    def tree_flatten(self) -> Any:
        return self._bufs, self.shape

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> Any:
        new = object.__new__(cls)
        new.data, new.indices, new.indptr = children
        new.whole = aux_data
        return new

    @property
    def _bufs(self) -> tuple[Any, Any, Any]:
        return self.data, self.indices, self.indptr

    @property
    def dtype(self) -> Any:
        """Of the elements."""
        return self.data.dtype

    @property
    def nse(self) -> int:
        """How many elements are kept."""
        return int(self.data.size)


@register_pytree_node_class
class CSR(Compressed):
    """Elements in the order of the rows."""

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
        """The sparse form of a matrix. See `csr_fromdense`."""
        return csr_fromdense(mat, nse=nse, index_dtype=index_dtype)

    @classmethod
    def _empty(cls, shape: Shape, *, dtype: Any = None, index_dtype: Any = "int32") -> CSR:
        """All zeros."""
        if len(shape) != 2:
            raise ValueError(f"CSR must have ndim=2; got {shape=}")
        indptr = jnp.zeros(shape[0] + 1, index_dtype)
        return cls((jnp.empty(0, dtype), jnp.empty(0, index_dtype), indptr), shape=shape)

    @classmethod
    def _eye(cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32") -> CSR:
        """Ones on a diagonal."""
        count = diagonal_size(N, M, k)
        if not count:
            return cls._empty((N, M), dtype=dtype, index_dtype=index_dtype)
        rows, columns = diagonal(count, k, index_dtype)
        return cls((jnp.ones(count, dtype), columns, row_pointers(rows, N, index_dtype)), shape=(N, M))

    def todense(self) -> Array:
        """The dense matrix."""
        return csr_todense(self)

    def transpose(self, axes: Any = None) -> CSC:
        """Rows as columns."""
        assert axes is None
        return CSC(self._bufs, shape=self.shape[::-1])

    def __matmul__(self, other: Any) -> Any:
        row, col = csr_to_coo(self.indices, self.indptr)
        return product(self.data, row, col, other, self.shape)


@register_pytree_node_class
class CSC(Compressed):
    """Elements in the order of the columns."""

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSC:
        """The sparse form of a matrix."""
        return csr_fromdense(jnp.asarray(mat).T, nse=nse, index_dtype=index_dtype).T

    @classmethod
    def _empty(cls, shape: Shape, *, dtype: Any = None, index_dtype: Any = "int32") -> CSC:
        """All zeros."""
        if len(shape) != 2:
            raise ValueError(f"CSC must have ndim=2; got {shape=}")
        return CSR._empty(shape[::-1], dtype=dtype, index_dtype=index_dtype).T

    @classmethod
    def _eye(cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32") -> CSC:
        """Ones on a diagonal."""
        return CSR._eye(M, N, -k, dtype=dtype, index_dtype=index_dtype).T

    def todense(self) -> Array:
        """The dense matrix."""
        return csr_todense(self.T).T

    def transpose(self, axes: Any = None) -> CSR:
        """Rows as columns."""
        assert axes is None
        return CSR(self._bufs, shape=self.shape[::-1])

    def __matmul__(self, other: Any) -> Any:
        col, row = csr_to_coo(self.indices, self.indptr)
        return product(self.data, row, col, other, self.shape)


def csr_todense(mat: CSR) -> Array:
    """The dense matrix."""
    return coo_todense(COO((mat.data, *csr_to_coo(mat.indices, mat.indptr)), shape=mat.shape))


def csr_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
    """The elements of a matrix that are not zero. `nse`: how many to keep; needed where the matrix is traced."""
    mat = jnp.asarray(mat)
    data, row, col, real = places(mat, nse)
    n = mat.shape[0]
    indptr = row_pointers(jnp.where(real, row, n), n, index_dtype)
    return CSR((data, col.astype(index_dtype), indptr), shape=mat.shape)


def csr_matvec(mat: CSR, v: Any, transpose: bool = False) -> Any:
    """The matrix, or its transpose, times a vector."""
    return csr_matmat(mat, v, transpose=transpose)


def csr_matmat(mat: CSR, B: Any, *, transpose: bool = False) -> Any:
    """The matrix, or its transpose, times a matrix."""
    row, col = csr_to_coo(mat.indices, mat.indptr)
    row, col = (col, row) if transpose else (row, col)
    return multiplied(mat.data, row, col, jnp.asarray(B), mat.shape[1 if transpose else 0])
