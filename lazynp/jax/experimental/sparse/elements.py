"""`BCOO`: elements and their indices, behind batch axes, before dense ones.

The shape is split into `n_batch` axes, which data and indices both have, `n_sparse` axes, along which only some places
are kept, and `n_dense` axes, whole in the data:
data has the shape (*batch, nse, *dense), indices (*batch, nse, n_sparse). An index that is its axis' length stands for
no place. Equal indices add up. A batch axis of length 1 in one of the two serves all batches.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...array import Array
from ...derivatives import stop_gradient
from ...dtypes import issubdtype
from ...extend.core import concrete_or_error
from ...tree_util import register_pytree_node_class
from .base import JAXSparse
from .util import Shape, SparseInfo, count_stored, nfold_vmap


class Layout(NamedTuple):
    """How many axes of each kind there are, and how many elements."""

    n_batch: int
    n_sparse: int
    n_dense: int
    nse: int


def fits(given: Sequence[int], wanted: Sequence[int]) -> bool:
    """Whether batch axes are those of the array, or of length 1."""
    return len(given) == len(wanted) and all([g in (1, w) for g, w in zip(given, wanted)])


def checked_indices(indices: Any, shape: Sequence[int]) -> Layout:
    """The layout of an array. Raises ValueError where indices and shape do not fit."""
    if not issubdtype(indices.dtype, np.integer):
        raise AssertionError(f"indices are integers, not of {indices.dtype}")
    nse, n_sparse = indices.shape[-2:]
    n_batch = indices.ndim - 2
    n_dense = len(shape) - n_batch - n_sparse
    if n_dense < 0:
        raise AssertionError(f"indices of {n_batch + n_sparse} axes for the shape {tuple(shape)}")
    if not fits(indices.shape[:n_batch], shape[:n_batch]):
        raise ValueError(f"indices batch dimensions not compatible for {indices.shape=}, {shape=}")
    return Layout(n_batch, n_sparse, n_dense, nse)


def checked(data: Any, indices: Any, shape: Sequence[int]) -> Layout:
    """The layout of an array. Raises ValueError where the shapes do not fit."""
    layout = checked_indices(indices, shape)
    n_batch, n_sparse, n_dense, nse = layout
    if not fits(data.shape[:n_batch], shape[:n_batch]):
        raise ValueError(f"data batch dimensions not compatible for {data.shape=}, {shape=}")
    if tuple(data.shape[n_batch:]) != (nse, *shape[n_batch + n_sparse :]):
        raise ValueError(f"Invalid {data.shape=} for {nse=}, {n_batch=}, {n_dense=}")
    return layout


@register_pytree_node_class
class BCOO(JAXSparse):
    """Elements with their indices.

    Attributes:
        data, indices: see the module.
        whole: the shape that it was made with.
        indices_sorted, unique_indices: what is known of the indices.
    """

    def __init__(
        self, args: tuple[Any, Any], *, shape: Shape, indices_sorted: bool = False, unique_indices: bool = False
    ) -> None:
        self.data, self.indices = map(jnp.asarray, args)
        self.whole = tuple(map(operator.index, shape))
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        checked(self.data, self.indices, self.whole)

    def tree_flatten(self) -> Any:
        return (self.data, self.indices), (self.whole, self.indices_sorted, self.unique_indices)

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> BCOO:
        new: BCOO = object.__new__(cls)
        new.data, new.indices = children
        new.whole, new.indices_sorted, new.unique_indices = aux_data
        return new

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the dense array: in a mapped function without the mapped axes, behind it with them."""
        behind = len(self.whole) - self.n_sparse - self.n_dense
        if behind == self.n_batch:
            return self.whole
        n = self.n_batch
        return (*np.broadcast_shapes(self.data.shape[:n], self.indices.shape[:n]), *self.whole[behind:])

    @property
    def _info(self) -> SparseInfo:
        return SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    @property
    def _bufs(self) -> tuple[Any, Any]:
        return self.data, self.indices

    @property
    def dtype(self) -> Any:
        """Of the elements."""
        return self.data.dtype

    @property
    def nse(self) -> int:
        """How many elements are kept (of each batch)."""
        return int(self.indices.shape[-2])

    @property
    def n_batch(self) -> int:
        """How many axes are batches."""
        return int(self.indices.ndim) - 2

    @property
    def n_sparse(self) -> int:
        """Along how many axes only some places are kept."""
        return int(self.indices.shape[-1])

    @property
    def n_dense(self) -> int:
        """How many axes are whole."""
        return int(self.data.ndim) - 1 - self.n_batch

    @classmethod
    def fromdense(
        cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, n_dense: int = 0, n_batch: int = 0
    ) -> BCOO:
        """The sparse form of a dense array. See `bcoo_fromdense`."""
        return bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCOO:
        """From one of SciPy's. Raises NotImplementedError for batch and dense axes."""
        if n_dense or n_batch:
            raise NotImplementedError("BCOO.fromscipy with nonzero n_dense/n_batch")
        mat = mat.tocoo()
        indices = jnp.column_stack((mat.row, mat.col)).astype(index_dtype or np.int32)
        return cls((jnp.asarray(mat.data), indices), shape=mat.shape)

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
    ) -> BCOO:
        """All zeros."""
        n_sparse = len(shape) - n_dense - n_batch
        if min(n_sparse, n_dense, n_batch, nse) < 0:
            raise ValueError(f"Invalid inputs: {shape=}, {n_dense=}, {n_batch=}, {nse=}")
        batch, rest = shape[:n_batch], shape[n_batch:]
        data = jnp.zeros((*batch, nse, *rest[n_sparse:]), dtype)
        indices = jnp.full((*batch, nse, n_sparse), jnp.array(rest[:n_sparse], index_dtype), index_dtype)
        return cls((data, indices), shape=shape, indices_sorted=True, unique_indices=True)

    @classmethod
    def _eye(
        cls,
        N: int,
        M: int,
        k: int,
        *,
        dtype: Any = None,
        index_dtype: Any = "int32",
        n_batch: int = 0,
        n_dense: int = 0,
    ) -> BCOO:
        """Ones on a diagonal."""
        if min(2 - n_batch - n_dense, n_dense, n_batch) < 0:
            raise ValueError(f"Invalid inputs: shape={(N, M)}, {n_dense=}, {n_batch=}")
        count = diagonal_size(N, M, k)
        if not count:
            return cls._empty((N, M), dtype=dtype, index_dtype=index_dtype, n_batch=n_batch, n_dense=n_dense)
        if n_dense or n_batch > 1:
            dense = jnp.eye(N, M, k, dtype=dtype)
            return cls.fromdense(dense, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)
        if n_batch:
            columns = jnp.arange(N, dtype=index_dtype) + jnp.asarray(k, index_dtype)
            inside = (columns >= 0) & (columns < M)
            data = jnp.where(inside, jnp.ones(N, dtype), 0)[:, None]
            indices = jnp.where(inside, columns, jnp.asarray(M, index_dtype))[:, None, None]
        else:
            rows, columns = diagonal(count, k, index_dtype)
            data, indices = jnp.ones(count, dtype), jnp.stack([rows, columns], -1)
        return cls((data, indices), shape=(N, M), indices_sorted=True, unique_indices=True)

    def like(self, data: Any) -> BCOO:
        """With other elements at the same places."""
        return BCOO((data, self.indices), **self._info._asdict())

    def todense(self) -> Array:
        """The dense array."""
        return bcoo_todense(self)

    def transpose(self, axes: Any = None) -> BCOO:
        """The axes in another order."""
        order = [*range(self.ndim)][::-1] if axes is None else list(axes)
        out = bcoo_transpose(self, permutation=order)
        sparse = order[self.n_batch : self.n_batch + self.n_sparse]
        out.indices_sorted = self.indices_sorted and sparse == sorted(sparse)
        return out

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """Each place once, in order, with the sum of its elements; `remove_zeros`: without those that are zero."""
        return bcoo_eliminate_zeros(self, nse) if remove_zeros else bcoo_sum_duplicates(self, nse)

    def sort_indices(self) -> BCOO:
        """With the indices in order."""
        return bcoo_sort_indices(self)


def diagonal_size(N: int, M: int, k: int) -> int:
    """How many elements a diagonal has."""
    return max(min(N, M - k) if k > 0 else min(N + k, M), 0)


def diagonal(count: int, k: int, dtype: Any) -> tuple[Any, Any]:
    """Rows and columns of a diagonal's elements."""
    steps = jnp.arange(count, dtype=dtype)
    return steps - jnp.asarray(min(k, 0), dtype), steps + jnp.asarray(max(k, 0), dtype)


# --- From dense and back ----------------------------------------------------------------------------------------------


def bcoo_fromdense(
    mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32
) -> BCOO:
    """The elements of a dense array that are not zero.

    Args:
        nse: how many places to keep; needed where the array is traced. What is left of them stands for no place.
    """
    mat = jnp.asarray(mat)
    if min(n_batch, n_dense, mat.ndim - n_batch - n_dense) < 0:
        raise ValueError(f"n_batch={n_batch} and n_dense={n_dense} do not fit an array of {mat.ndim} axes")
    kept = whole_number(count_stored(mat, n_batch, n_dense) if nse is None else nse)
    mask = stop_gradient(mat != 0)
    if n_dense:
        mask = mask.any(tuple(range(mat.ndim - n_dense, mat.ndim)))
    sizes = mat.shape[n_batch : mat.ndim - n_dense]

    def places(m: Any) -> Any:
        if not m.ndim:
            return jnp.zeros((kept, 0), index_dtype)
        return jnp.stack(jnp.nonzero(m, size=kept, fill_value=sizes), -1).astype(index_dtype)

    indices = nfold_vmap(places, n_batch, broadcasted=False)(mask)
    counts = mask.sum(tuple(range(n_batch, mask.ndim)))[..., None]
    stored = (jnp.arange(kept) < counts).reshape(*mat.shape[:n_batch], kept, *(1,) * n_dense)
    data = jnp.where(stored, read(indices, mat), jnp.zeros((), mat.dtype))
    return BCOO((data, indices), shape=mat.shape, indices_sorted=True, unique_indices=True)


def whole_number(nse: Any) -> int:
    """How many elements to keep. Raises ConcretizationTypeError for a traced number."""
    found: int = concrete_or_error(operator.index, nse, "It is how many elements a sparse array keeps (nse).")
    return found


def read(indices: Any, dense: Any) -> Any:
    """The elements of a dense array at these places, zero where there is none."""
    n_sparse = indices.shape[-1]

    def one(indices: Any, x: Any) -> Any:
        if not n_sparse:
            return jnp.broadcast_to(x, (indices.shape[0], *x.shape))
        return x.at[tuple([indices[:, i] for i in range(n_sparse)])].get(mode="fill", fill_value=0)

    return nfold_vmap(one, indices.ndim - 2)(indices, dense)


def bcoo_todense(mat: BCOO) -> Array:
    """The dense array."""
    shape, n_sparse, batch = mat.shape[mat.n_batch :], mat.n_sparse, mat.shape[: mat.n_batch]

    def one(data: Any, indices: Any) -> Any:
        if not n_sparse:
            return data.sum(0, dtype=data.dtype)
        zeros = jnp.zeros(shape, data.dtype)
        return zeros.at[tuple([indices[:, i] for i in range(n_sparse)])].add(data, mode="drop")

    data = jnp.broadcast_to(mat.data, (*batch, *mat.data.shape[mat.n_batch :]))
    out: Array = nfold_vmap(one, mat.n_batch)(data, mat.indices)
    return out


def bcoo_extract(sparr: BCOO, arr: Any, *, assume_unique: bool | None = None) -> BCOO:
    """The elements of a dense array at the places of a sparse one.

    Args:
        assume_unique: that no place occurs twice; else the first one has the element. By default what is known.
    Raises: TypeError where the first is not BCOO, ValueError for another shape.
    """
    if not isinstance(sparr, BCOO):
        raise TypeError(f"First argument to bcoo_extract should be a BCOO array. Got {type(sparr)=}")
    dense = jnp.asarray(arr)
    if dense.shape != sparr.shape:
        raise ValueError(f"shape mismatch: {sparr.shape=} {dense.shape=}")
    data = read(sparr.indices, dense)
    if not (sparr.unique_indices if assume_unique is None else assume_unique):
        found = unique(sparr.indices, sparr.shape)

        def firsts(data: Any, first: Any) -> Any:
            return jnp.where(first.reshape(-1, *(1,) * (data.ndim - 1)), data, jnp.zeros((), data.dtype))

        data = nfold_vmap(firsts, sparr.n_batch)(data, found.first)
    return sparr.like(data)


# --- Order ------------------------------------------------------------------------------------------------------------


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """The axes in another order. Raises NotImplementedError where batch, sparse and dense axes would mix."""
    if not isinstance(permutation, (tuple, list, np.ndarray)):
        raise TypeError(f"transpose permutation must be a tuple/list/ndarray, got {type(permutation)}.")
    order, b, s = tuple(map(int, permutation)), mat.n_batch, mat.n_batch + mat.n_sparse
    if sorted(order) != list(range(mat.ndim)):
        raise TypeError(
            "transpose permutation isn't a permutation of operand dimensions, "
            f"got permutation {permutation} for shape {mat.shape}."
        )
    parts = [order[:b], order[b:s], order[s:]]
    if sorted(parts[0]) != list(range(b)):
        raise NotImplementedError(
            "transpose permutation cannot permute batch axes with non-batch axes; "
            f"got permutation {permutation}, with n_batch={b}."
        )
    if sorted(parts[2]) != list(range(s, mat.ndim)):
        raise NotImplementedError(
            "transpose permutation cannot permute dense axes with non-dense axes; "
            f"got permutation {permutation}, with n_dense={mat.n_dense}."
        )
    data = jnp.transpose(mat.data, (*parts[0], b, *[d - s + b + 1 for d in parts[2]]))
    indices = jnp.transpose(columns(mat.indices, [d - b for d in parts[1]]), (*parts[0], b, b + 1))
    return BCOO((data, indices), shape=[mat.shape[i] for i in order], unique_indices=mat.unique_indices)


def columns(indices: Any, wanted: Sequence[int]) -> Any:
    """The indices along some of the sparse axes."""
    return indices[..., np.array(wanted, np.int32)] if wanted else indices[..., :0]


def sizes_of(indices: Any, shape: Sequence[int]) -> Any:
    """The lengths of the sparse axes, in the dtype of the indices: those of no place."""
    n_batch = indices.ndim - 2
    return jnp.array(shape[n_batch : n_batch + indices.shape[-1]], indices.dtype)


def in_order(indices: Any) -> Any:
    """The order in which the places of a batch come, the first axis before the others."""
    return jnp.lexsort(indices.T[::-1]) if indices.shape[1] else jnp.arange(indices.shape[0])


def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """With the indices in order, of each batch."""

    def ranked(indices: Any) -> Any:
        rank = in_order(indices)
        return indices[rank], rank

    indices, rank = nfold_vmap(ranked, mat.n_batch, broadcasted=False)(mat.indices)
    data = nfold_vmap(lambda d, r: d[r], mat.n_batch)(mat.data, rank)
    return BCOO((data, indices), shape=mat.shape, indices_sorted=True, unique_indices=mat.unique_indices)


class Unique(NamedTuple):
    """The places of each batch, each once.

    Attributes:
        indices: in order, those of no place at the end. number: for each element which of them is its place.
        count: how many stand for a place. first: whether an element is the first of its place.
    """

    indices: Any
    number: Any
    count: Any
    first: Any


def unique(indices: Any, shape: Sequence[int]) -> Unique:
    """The places of each batch, each once."""
    sizes, nse = sizes_of(indices, shape), indices.shape[-2]

    def one(indices: Any) -> Any:
        if not indices.shape[1]:
            return indices[:1], jnp.zeros(nse, int), jnp.asarray(min(nse, 1)), jnp.arange(nse) == 0
        indices = jnp.where(jnp.any(indices >= sizes, -1, keepdims=True), sizes, indices)
        rank = in_order(indices)
        ordered = indices[rank]
        new = jnp.any(ordered[1:] != ordered[:-1], -1)
        new = jnp.concatenate([jnp.ones(min(nse, 1), bool), new])
        number = jnp.cumsum(new) - 1
        places = jnp.broadcast_to(sizes, indices.shape).at[number].set(ordered)
        count = (new & jnp.all(ordered < sizes, -1)).sum()
        return places, jnp.zeros_like(number).at[rank].set(number), count, jnp.zeros(nse, bool).at[rank].set(new)

    return Unique(*nfold_vmap(one, indices.ndim - 2, broadcasted=False)(indices))


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """Each place once, in order, with the sum of its elements.

    Args:
        nse: how many places to keep; needed where the array is traced.
    """
    found = unique(mat.indices, mat.shape)
    if nse is None:
        try:
            nse = 1 if not mat.n_sparse else int(np.max(np.asarray(found.count), initial=0))
        except TypeError as error:
            raise ValueError(
                "bcoo_sum_duplicates: nse must be specified when using the function within jit, vmap, and other "
                "transformations requiring abstract evaluation."
            ) from error
    kept = operator.index(nse)

    def summed(data: Any, number: Any) -> Any:
        return jnp.zeros((kept, *data.shape[1:]), data.dtype).at[number].add(data, mode="drop")

    data = nfold_vmap(summed, mat.n_batch)(mat.data, found.number)
    buffers = data, resized(found.indices, kept, mat.shape)
    return BCOO(buffers, shape=mat.shape, indices_sorted=True, unique_indices=True)


def resized(indices: Any, nse: int, shape: Sequence[int]) -> Any:
    """So many places: the first ones, or with some that stand for no place behind them."""
    more = nse - indices.shape[-2]
    if more <= 0:
        return indices[..., :nse, :]
    fill = jnp.broadcast_to(sizes_of(indices, shape), (*indices.shape[:-2], more, indices.shape[-1]))
    return jnp.concatenate([indices, fill], -2)


def with_nse(mat: BCOO, nse: int) -> BCOO:
    """With so many elements: the first ones, or with zeros at no place behind them."""
    if mat.nse == nse:
        return mat
    data, b = mat.data, mat.n_batch
    if nse < mat.nse:
        data = lax.slice_in_dim(data, 0, nse, axis=b)
    else:
        widths = [(0, nse - mat.nse if i == b else 0) for i in range(data.ndim)]
        data = jnp.pad(data, widths)
    found = mat._info._asdict()
    return BCOO((data, resized(mat.indices, nse, mat.shape)), **found)


def bcoo_eliminate_zeros(mat: BCOO, nse: int | None = None) -> BCOO:
    """Each place once, in order, without those whose elements are all zero."""
    b = mat.n_batch
    zero = (mat.data == 0).all(tuple(range(b + 1, mat.data.ndim)))
    shared = tuple([i for i, n in enumerate(mat.indices.shape[:b]) if n == 1])
    zero = zero.all(shared, keepdims=True) if shared else zero
    sizes = sizes_of(mat.indices, mat.shape)
    batch = np.broadcast_shapes(zero.shape[:b], mat.indices.shape[:b])
    indices = jnp.where(zero[..., None], sizes, mat.indices)
    indices = jnp.broadcast_to(indices, (*batch, *indices.shape[b:]))
    return bcoo_sum_duplicates(BCOO((mat.data, indices), shape=mat.shape), nse)


def stored(mat: BCOO) -> Any:
    """For each element whether it stands for a place."""
    return jnp.all(mat.indices < sizes_of(mat.indices, mat.shape), -1)


__all__ = [
    "BCOO",
    "bcoo_eliminate_zeros",
    "bcoo_extract",
    "bcoo_fromdense",
    "bcoo_sort_indices",
    "bcoo_sum_duplicates",
    "bcoo_todense",
    "bcoo_transpose",
]
