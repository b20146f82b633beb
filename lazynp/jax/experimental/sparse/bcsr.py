"""`BCSR`: elements in the order of their rows, with their columns and where each row begins; behind batch axes, before
dense ones.

data has the shape (*batch, nse, *dense), indices (*batch, nse), indptr (*batch, rows + 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...array import Array
from ...tree_util import register_pytree_node_class
from .base import JAXSparse
from .elements import BCOO, bcoo_eliminate_zeros, bcoo_fromdense, bcoo_sort_indices, bcoo_sum_duplicates, fits, read
from .layouts import bcoo_broadcast_in_dim, bcoo_concatenate
from .products import bcoo_dot_general
from .util import Shape, SparseInfo, csr_to_coo, nfold_vmap, row_pointers

__all__ = [
    "BCSR",
    "bcsr_broadcast_in_dim",
    "bcsr_concatenate",
    "bcsr_dot_general",
    "bcsr_eliminate_zeros",
    "bcsr_extract",
    "bcsr_fromdense",
    "bcsr_sum_duplicates",
    "bcsr_todense",
]


@register_pytree_node_class
class BCSR(JAXSparse):
    """Elements with their columns, and where rows begin.

    Attributes:
        data, indices, indptr: see the module.
        whole: the shape that it was made with.
        indices_sorted, unique_indices: what is known of the indices.
    """

    n_sparse = 2

    def __init__(
        self, args: tuple[Any, Any, Any], *, shape: Shape, indices_sorted: bool = False, unique_indices: bool = False
    ) -> None:
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        self.whole = tuple(shape)
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        check(self.data, self.indices, self.indptr, self.whole)

    def tree_flatten(self) -> Any:
        return (self.data, self.indices, self.indptr), (self.whole, self.indices_sorted, self.unique_indices)

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> BCSR:
        new: BCSR = object.__new__(cls)
        new.data, new.indices, new.indptr = children
        new.whole, new.indices_sorted, new.unique_indices = aux_data
        return new

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the dense array: in a mapped function without the mapped axes, behind it with them."""
        behind, n = len(self.whole) - 2 - self.n_dense, self.n_batch
        if behind == n:
            return self.whole
        return (*np.broadcast_shapes(*[x.shape[:n] for x in self._bufs]), *self.whole[behind:])

    @property
    def _bufs(self) -> tuple[Any, Any, Any]:
        return self.data, self.indices, self.indptr

    @property
    def _info(self) -> SparseInfo:
        return SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    @property
    def dtype(self) -> Any:
        """Of the elements."""
        return self.data.dtype

    @property
    def nse(self) -> int:
        """How many elements are kept (of each batch)."""
        return int(self.indices.shape[-1])

    @property
    def n_batch(self) -> int:
        """How many axes are batches."""
        return int(self.indices.ndim) - 1

    @property
    def n_dense(self) -> int:
        """How many axes are whole."""
        return int(self.data.ndim - self.indices.ndim)

    @classmethod
    def _empty(
        cls,
        shape: Shape,
        *,
        dtype: Any = None,
        index_dtype: Any = "int32",
        n_dense: int = 0,
        n_batch: int = 0,
        nse: int = 0,
    ) -> BCSR:
        """All zeros."""
        if min(n_dense, n_batch, nse) < 0:
            raise ValueError(f"Invalid inputs: {shape=}, {n_dense=}, {n_batch=}, {nse=}")
        if len(shape) - n_dense - n_batch != 2:
            raise ValueError("BCSR sparse.empty: must have 2 sparse dimensions.")
        batch, (rows, columns), dense = shape[:n_batch], shape[n_batch : n_batch + 2], shape[n_batch + 2 :]
        data = jnp.zeros((*batch, nse, *dense), dtype)
        indices = jnp.full((*batch, nse), columns, index_dtype)
        return cls((data, indices, jnp.zeros((*batch, rows + 1), index_dtype)), shape=shape)

    @classmethod
    def fromdense(
        cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, n_dense: int = 0, n_batch: int = 0
    ) -> BCSR:
        """The sparse form of a dense array. See `bcsr_fromdense`."""
        return bcsr_fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """The same array, of the other format. Raises NotImplementedError for other than two sparse axes."""
        if arr.n_sparse != 2:
            raise NotImplementedError(f"BSCR.from_bcoo requires n_sparse=2; got n_sparse={arr.n_sparse}")
        if not arr.indices_sorted:
            arr = bcoo_sort_indices(arr)
        rows = arr.shape[arr.n_batch]
        dtype = arr.indices.dtype

        def begins(i: Any) -> Any:
            return row_pointers(i, rows, dtype)

        indptr = nfold_vmap(begins, arr.n_batch, broadcasted=False)(arr.indices[..., 0])
        return cls((arr.data, arr.indices[..., 1], indptr), shape=arr.shape)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCSR:
        """From one of SciPy's. Raises NotImplementedError for batch and dense axes."""
        if n_dense or n_batch:
            raise NotImplementedError("BCSR from_scipy_sparse with nonzero n_dense/n_batch.")
        if mat.ndim != 2:
            raise ValueError(f"BCSR from_scipy_sparse requires 2D array; {mat.ndim}D is given.")
        mat = mat.tocsr()
        dtype = index_dtype or np.int32
        parts = jnp.asarray(mat.data), jnp.asarray(mat.indices).astype(dtype), jnp.asarray(mat.indptr).astype(dtype)
        return cls(parts, shape=mat.shape)

    def to_bcoo(self) -> BCOO:
        """The same array, of the other format."""
        return BCOO((self.data, coordinates(self.indices, self.indptr)), **self._info._asdict())

    def todense(self) -> Array:
        """The dense array."""
        return bcsr_todense(self)

    def transpose(self, axes: Any = None) -> Any:
        """Raises NotImplementedError."""
        raise NotImplementedError("Transpose is not implemented.")

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """Each place once, in order, with the sum of its elements; `remove_zeros`: without those that are zero."""
        return bcsr_eliminate_zeros(self, nse) if remove_zeros else bcsr_sum_duplicates(self, nse)

    def like(self, data: Any) -> BCSR:
        """With other elements at the same places."""
        return BCSR((data, self.indices, self.indptr), **self._info._asdict())


def check(data: Any, indices: Any, indptr: Any, shape: Sequence[int]) -> None:
    """Raise ValueError where the shapes do not fit."""
    nse, b = indices.shape[-1], indices.ndim - 1
    n_dense = len(shape) - b - 2
    if n_dense < 0:
        raise AssertionError(f"indices of {b + 2} axes for the shape {tuple(shape)}")
    for name, x in (("indices", indices), ("indptr", indptr), ("data", data)):
        if not fits(x.shape[:b], shape[:b]):
            raise ValueError(f"{name} batch dimensions not compatible for {name}.shape={x.shape}, {shape=}")
    if tuple(indptr.shape[b:]) != (shape[b] + 1,):
        raise ValueError("indptr shape must match the matrix shape plus 1.")
    if tuple(data.shape[b:]) != (nse, *shape[b + 2 :]):
        raise ValueError(f"Invalid {data.shape=} for {nse=}, n_batch={b}, {n_dense=}")


def coordinates(indices: Any, indptr: Any) -> Any:
    """Rows and columns of the elements, as `BCOO` has them: (*batch, nse, 2)."""
    return jnp.stack(nfold_vmap(csr_to_coo, indices.ndim - 1)(indices, indptr), -1)


def bcsr_fromdense(
    mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32
) -> BCSR:
    """The elements of a dense array that are not zero.

    Args:
        nse: how many places to keep; needed where the array is traced.
    Raises: ValueError for other than two sparse axes.
    """
    mat = jnp.asarray(mat)
    if mat.ndim - n_dense - n_batch != 2:
        raise ValueError("bcsr_fromdense: must have 2 sparse dimensions.")
    return BCSR.from_bcoo(bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch))


def bcsr_todense(mat: BCSR) -> Array:
    """The dense array."""
    return mat.to_bcoo().todense()


def bcsr_extract(indices: Any, indptr: Any, mat: Any) -> Any:
    """The elements of a dense array at these places."""
    return read(coordinates(jnp.asarray(indices), jnp.asarray(indptr)), jnp.asarray(mat))


def bcsr_eliminate_zeros(mat: BCSR, nse: int | None = None) -> BCSR:
    """Each place once, in order, without those whose elements are all zero."""
    return BCSR.from_bcoo(bcoo_eliminate_zeros(mat.to_bcoo(), nse))


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """Each place once, in order, with the sum of its elements."""
    return BCSR.from_bcoo(bcoo_sum_duplicates(mat.to_bcoo(), nse))


def bcsr_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """`lax.dot_general`, whose left operand may be sparse."""
    if isinstance(rhs, JAXSparse) or isinstance(lhs, JAXSparse) and not isinstance(lhs, BCSR):
        raise NotImplementedError("bcsr_dot_general currently implemented for BCSR lhs and ndarray rhs.")
    if not isinstance(lhs, BCSR):
        return lax.dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)
    return bcoo_dot_general(
        lhs.to_bcoo(), rhs, dimension_numbers=dimension_numbers, preferred_element_type=preferred_element_type
    )


def bcsr_broadcast_in_dim(
    mat: BCSR, *, shape: Shape, broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCSR:
    """`lax.broadcast_in_dim`."""
    return BCSR.from_bcoo(bcoo_broadcast_in_dim(mat.to_bcoo(), shape=shape, broadcast_dimensions=broadcast_dimensions))


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """`lax.concatenate`."""
    return BCSR.from_bcoo(bcoo_concatenate([x.to_bcoo() for x in operands], dimension=dimension))
