"""`BCOO`: elements and their indices, behind batch axes, before dense ones.

The shape is split into `n_batch` axes, which data and indices both have, `n_sparse` axes, along which only some places
are kept, and `n_dense` axes, whole in the data:
data has the shape (*batch, nse, *dense), indices (*batch, nse, n_sparse). An index that is its axis' length stands for
no place. Equal indices add up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...api_util import shaped_abstractify
from ...array import Array
from ...derivatives import stop_gradient
from ...names import vmap
from ...tree_util import register_pytree_node_class

Shape = Sequence[int]


class JAXSparse:
    """A sparse array: shape, dtype, and what is computed with it."""

    __array_priority__ = 100

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the dense array."""
        raise NotImplementedError

    def todense(self) -> Array:
        """The dense array."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """How many axes it has."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements it has, those that are not kept too."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]


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
        self.data, self.indices = args
        self.whole = tuple(shape)
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices

    def tree_flatten(self) -> Any:
        return (self.data, self.indices), (self.whole, self.indices_sorted, self.unique_indices)

    @classmethod
    def tree_unflatten(cls, aux: Any, children: Any) -> BCOO:
        new: BCOO = object.__new__(cls)
        new.data, new.indices = children
        new.whole, new.indices_sorted, new.unique_indices = aux
        return new

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the dense array: in a mapped function without the mapped axis, behind it with it."""
        ndim, whole = self.n_sparse + self.data.ndim - 1, self.whole
        if ndim > len(whole):
            return (*self.data.shape[: ndim - len(whole)], *whole)
        return whole[len(whole) - ndim :]

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

    @property
    def T(self) -> BCOO:
        """The axes in reverse order."""
        return self.transpose()

    def __repr__(self) -> str:
        parts = [f"nse={self.nse}"]
        parts += [f"{k}={v}" for k, v in (("n_batch", self.n_batch), ("n_dense", self.n_dense)) if v]
        return f"BCOO({self.dtype.name}{list(self.shape)}, {', '.join(parts)})"

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
            raise NotImplementedError("BCOO.from_scipy_sparse with nonzero n_dense/n_batch.")
        mat = mat.tocoo()
        indices = jnp.column_stack((mat.row, mat.col)).astype(index_dtype or np.int32)
        return cls((jnp.asarray(mat.data), indices), shape=mat.shape)

    def todense(self) -> Array:
        """The dense array."""
        return bcoo_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """The axes in another order."""
        order = tuple(range(self.ndim))[::-1] if axes is None else tuple(axes)
        return bcoo_transpose(self, permutation=order)

    def sum(self, axis: Any = None, dtype: Any = None) -> Any:
        """The sum along axes: of all an array of no axes, else sparse."""
        axes = tuple(range(self.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
        out = bcoo_reduce_sum(self, axes=[a % self.ndim for a in axes])
        out = out if dtype is None else out.astype(dtype)
        return out.todense() if not out.shape else out

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """Equal indices as one, sorted. See `bcoo_sum_duplicates`."""
        return bcoo_sum_duplicates(self, nse)

    def sort_indices(self) -> BCOO:
        """With the indices in order."""
        return bcoo_sort_indices(self)

    def astype(self, dtype: Any) -> BCOO:
        """With elements of another dtype."""
        return self.like(self.data.astype(dtype))

    def block_until_ready(self) -> BCOO:
        """The array, with its values computed."""
        self.data.block_until_ready()
        self.indices.block_until_ready()
        return self

    def like(self, data: Any) -> BCOO:
        """With other elements at the same places."""
        return BCOO(
            (data, self.indices),
            shape=self.shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )

    def __neg__(self) -> BCOO:
        return self.like(-self.data)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, BCOO):
            return bcoo_fromdense(self.todense() * other.todense(), nse=min(self.nse, other.nse))
        if np.ndim(other) == 0:
            return self.like(self.data * other)
        return self.like(bcoo_multiply_dense(self, jnp.asarray(other)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> BCOO:
        if np.ndim(other):
            raise NotImplementedError("BCOO divided by an array")
        return self.like(self.data / other)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, BCOO):
            if np.ndim(other) == 0:
                raise NotImplementedError("BCOO plus a number: the result is dense; write x.todense() + y")
            return self.todense() + other
        if (self.n_batch, self.n_dense) != (other.n_batch, other.n_dense) or self.shape != other.shape:
            raise NotImplementedError("Addition of sparse matrices of other layouts")
        dtype = jnp.result_type(self.data, other.data)
        data = jnp.concatenate([self.data.astype(dtype), other.data.astype(dtype)], self.n_batch)
        return BCOO((data, jnp.concatenate([self.indices, other.indices], self.n_batch)), shape=self.shape)

    def __radd__(self, other: Any) -> Any:
        return self + other

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __matmul__(self, other: Any) -> Any:
        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return matmul(other, self)


# --- From dense and back ----------------------------------------------------------------------------------------------


def bcoo_fromdense(
    mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32
) -> BCOO:
    """The elements of a dense array that are not zero.

    Args:
        nse: how many places to keep; needed where the array is traced. What is left of them stands for no place.
    """
    mat = jnp.asarray(mat)
    n_sparse = mat.ndim - n_batch - n_dense
    if n_sparse < 0 or n_batch < 0 or n_dense < 0:
        raise ValueError(f"n_batch={n_batch} and n_dense={n_dense} do not fit an array of {mat.ndim} axes")
    mask = mat != 0
    if n_dense:
        mask = jnp.any(mask, tuple(range(mat.ndim - n_dense, mat.ndim)))
    if nse is None:
        counts = mask.sum(tuple(range(n_batch, mask.ndim)))
        nse = int(np.max(np.asarray(counts), initial=0))
    rows = stop_gradient(mask)
    sizes = mat.shape[n_batch : n_batch + n_sparse]

    def places(m: Any) -> Any:
        found = jnp.nonzero(m, size=nse, fill_value=sizes) if m.ndim else [jnp.zeros(nse, index_dtype)]
        return jnp.stack(found, -1).astype(index_dtype) if m.ndim else jnp.zeros((nse, 0), index_dtype)

    for _ in range(n_batch):
        places = vmap(places)
    out = BCOO((jnp.zeros(0), places(rows)), shape=mat.shape, indices_sorted=True, unique_indices=True)
    return out.like(read(out, mat))


def read(places: BCOO, dense: Any) -> Any:
    """The elements of a dense array at these places, zero where there is none."""
    n_sparse = places.n_sparse

    def one(indices: Any, x: Any) -> Any:
        return x.at[tuple([indices[:, i] for i in range(n_sparse)])].get(mode="fill", fill_value=0)

    if not n_sparse:

        def one(indices: Any, x: Any) -> Any:
            return jnp.broadcast_to(x, (indices.shape[0], *x.shape))

    for _ in range(places.n_batch):
        one = vmap(one)
    return one(places.indices, dense)


def bcoo_todense(mat: BCOO) -> Array:
    """The dense array."""
    shape, n_sparse = mat.shape[mat.n_batch :], mat.n_sparse

    def one(data: Any, indices: Any) -> Any:
        zeros = jnp.zeros(shape, data.dtype)
        if not n_sparse:
            return zeros + data.sum(0)
        return zeros.at[tuple([indices[:, i] for i in range(n_sparse)])].add(data, mode="drop")

    for _ in range(mat.n_batch):
        one = vmap(one)
    # An array of a batch of one serves all of it.
    data = jnp.broadcast_to(mat.data, (*mat.shape[: mat.n_batch], *mat.data.shape[mat.n_batch :]))
    indices = jnp.broadcast_to(mat.indices, (*mat.shape[: mat.n_batch], *mat.indices.shape[mat.n_batch :]))
    out: Array = one(data, indices)
    return out


def todense(arr: Any) -> Array:
    """The dense form of an array, sparse or not."""
    return arr.todense() if isinstance(arr, JAXSparse) else jnp.asarray(arr)


def empty(
    shape: Shape,
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    n_dense: int = 0,
    n_batch: int = 0,
    nse: int = 0,
) -> BCOO:
    """All zeros. Raises ValueError for another format than "bcoo"."""
    if sparse_format != "bcoo":
        raise ValueError(f"sparse_format={sparse_format!r} is not built; there is 'bcoo'")
    shape = tuple(shape)
    batch, n_sparse = shape[:n_batch], len(shape) - n_batch - n_dense
    data = jnp.zeros((*batch, nse, *shape[n_batch + n_sparse :]), dtype)
    places = jnp.full((*batch, nse, n_sparse), jnp.array(shape[n_batch : n_batch + n_sparse], index_dtype))
    return BCOO((data, places), shape=shape, indices_sorted=True, unique_indices=True)


def eye(
    N: int, M: int | None = None, k: int = 0, dtype: Any = None, index_dtype: Any = "int32", sparse_format: str = "bcoo"
) -> BCOO:
    """Ones on a diagonal. Raises ValueError for another format than "bcoo"."""
    if sparse_format != "bcoo":
        raise ValueError(f"sparse_format={sparse_format!r} is not built; there is 'bcoo'")
    M = N if M is None else M
    count = max(min(N + min(k, 0), M - max(k, 0)), 0)
    rows = jnp.arange(count, dtype=index_dtype)
    indices = jnp.stack([rows - min(k, 0), rows + max(k, 0)], -1)
    return BCOO((jnp.ones(count, dtype), indices), shape=(N, M), indices_sorted=True, unique_indices=True)


# --- Operations -------------------------------------------------------------------------------------------------------


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """The axes in another order. Raises NotImplementedError where batch, sparse and dense axes would mix."""
    order, b, s = tuple(permutation), mat.n_batch, mat.n_batch + mat.n_sparse
    parts = [order[:b], order[b:s], order[s:]]
    for part, (low, high) in zip(parts, ((0, b), (b, s), (s, mat.ndim))):
        if sorted(part) != list(range(low, high)):
            raise NotImplementedError("transposition with permutation across batch, sparse and dense axes")
    data = jnp.transpose(mat.data, (*parts[0], b, *[d - s + b + 1 for d in parts[2]]))
    indices = jnp.transpose(mat.indices, (*parts[0], b, b + 1))[..., jnp.array([d - b for d in parts[1]], np.int32)]
    return BCOO((data, indices), shape=[mat.shape[i] for i in order], unique_indices=mat.unique_indices)


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """The sum along axes."""
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    dense = [a - s + b + 1 for a in axes if a >= s]
    data = mat.data.sum(tuple(dense)) if dense else mat.data
    kept = [i for i in range(mat.n_sparse) if i + b not in axes]
    # An element that stands for no place of an axis that goes away must not count.
    sizes = jnp.array(mat.shape[b:s], mat.indices.dtype)
    inside = jnp.all(mat.indices < sizes, -1)
    data = jnp.where(inside.reshape(*inside.shape, *(1,) * (data.ndim - inside.ndim)), data, 0)
    indices = mat.indices[..., jnp.array(kept, np.int32)] if kept else mat.indices[..., :0]
    shape = [n for i, n in enumerate(mat.shape) if i not in axes]
    batch = [a for a in axes if a < b]
    if batch:  # the batches follow each other along the places
        rest = [i for i in range(b) if i not in batch]
        count = math.prod([mat.shape[i] for i in batch])
        order = (*rest, *batch)
        data = data.transpose(*order, *range(b, data.ndim))
        data = data.reshape(*[mat.shape[i] for i in rest], count * mat.nse, *data.shape[b + 1 :])
        indices = indices.transpose(*order, b, b + 1)
        indices = indices.reshape(*[mat.shape[i] for i in rest], count * mat.nse, len(kept))
    return BCOO((data, indices), shape=shape)


def bcoo_multiply_dense(sp_mat: BCOO, v: Any) -> Any:
    """The elements of a sparse array times those of a dense one that broadcasts to its shape."""
    return sp_mat.data * read(sp_mat, jnp.broadcast_to(v, sp_mat.shape)).astype(sp_mat.dtype)


def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """With the indices in order, of each batch."""

    def one(data: Any, indices: Any) -> Any:
        order = jnp.lexsort(indices.T[::-1]) if indices.shape[1] else jnp.arange(indices.shape[0])
        return data[order], indices[order]

    for _ in range(mat.n_batch):
        one = vmap(one)
    return BCOO(one(mat.data, mat.indices), shape=mat.shape, indices_sorted=True, unique_indices=mat.unique_indices)


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """Each place once, in order, with the sum of its elements.

    Args:
        nse: how many places to keep; needed where the array is traced.
    """
    sizes = jnp.array(mat.shape[mat.n_batch : mat.n_batch + mat.n_sparse], mat.indices.dtype)

    def order(indices: Any) -> Any:
        outside = jnp.any(indices >= sizes, -1, keepdims=True)
        indices = jnp.where(outside, sizes, indices)
        rank = jnp.lexsort(indices.T[::-1]) if indices.shape[1] else jnp.arange(indices.shape[0])
        ordered = indices[rank]
        first = (
            jnp.concatenate([jnp.ones(1, bool), jnp.any(ordered[1:] != ordered[:-1], -1)]) if len(rank) else rank > 0
        )
        first = first & jnp.all(ordered < sizes, -1)
        return rank, ordered, first

    for _ in range(mat.n_batch):
        order = vmap(order)
    rank, ordered, first = order(mat.indices)
    count = nse if nse is not None else int(np.max(np.asarray(first.sum(-1)), initial=0))

    def one(data: Any, rank: Any, ordered: Any, first: Any) -> Any:
        number = jnp.cumsum(first) - 1
        number = jnp.where(jnp.all(ordered < sizes, -1), number, count)
        values = jnp.zeros((count, *data.shape[1:]), data.dtype).at[number].add(data[rank], mode="drop")
        places = jnp.broadcast_to(sizes, (count, ordered.shape[1])).at[number].set(ordered, mode="drop")
        return values, places

    for _ in range(mat.n_batch):
        one = vmap(one)
    found = one(mat.data, rank, ordered, first)
    return BCOO(found, shape=mat.shape, indices_sorted=True, unique_indices=True)


def bcoo_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """`lax.dot_general` where an operand is sparse. The result is dense; of two sparse ones sparse."""
    sparse = isinstance(lhs, BCOO) and isinstance(rhs, BCOO)
    (left, right), batch = dimension_numbers
    plain = not batch[0] and not sparse
    if plain and isinstance(lhs, BCOO) and not lhs.n_batch and not lhs.n_dense:
        out = contracted(lhs, tuple(left), jnp.asarray(rhs), tuple(right))
    elif plain and isinstance(rhs, BCOO) and not rhs.n_batch and not rhs.n_dense:
        out = contracted(rhs, tuple(right), jnp.asarray(lhs), tuple(left))
        n = rhs.ndim - len(right)
        out = jnp.moveaxis(out, tuple(range(n)), tuple(range(out.ndim - n, out.ndim)))
    else:
        out = lax.dot_general(todense(lhs), todense(rhs), dimension_numbers, precision)
    out = out if preferred_element_type is None else out.astype(preferred_element_type)
    return bcoo_fromdense(out, nse=min(lhs.nse * rhs.nse, out.size)) if sparse else out


def contracted(mat: BCOO, axes: tuple[int, ...], dense: Any, others: tuple[int, ...]) -> Any:
    """A sparse array times a dense one, summed along axes of both; first the sparse one's other axes, then the dense
    one's: each element that is kept takes its row of the dense array, and adds it to its place."""
    free = [i for i in range(mat.ndim) if i not in axes]
    dtype = jnp.result_type(mat.data, dense)
    rows = jnp.moveaxis(dense, others, tuple(range(len(others))))
    at = tuple([mat.indices[:, a] for a in axes])
    taken = rows.at[at].get(mode="fill", fill_value=0) if axes else jnp.broadcast_to(rows, (mat.nse, *rows.shape))
    part = taken * mat.data.reshape(-1, *(1,) * (taken.ndim - 1)).astype(dtype)
    if not free:
        inside = jnp.all(mat.indices < jnp.array(mat.shape), -1)
        return jnp.where(inside.reshape(-1, *(1,) * (part.ndim - 1)), part, 0).sum(0)
    out = jnp.zeros((*[mat.shape[i] for i in free], *part.shape[1:]), dtype)
    return out.at[tuple([mat.indices[:, i] for i in free])].add(part, mode="drop")


def matmul(lhs: Any, rhs: Any) -> Any:
    """The matrix product of a sparse array with another. Raises TypeError for shapes that do not fit."""
    a, b = (x if isinstance(x, BCOO) else jnp.asarray(x) for x in (lhs, rhs))
    if not a.ndim or not b.ndim:
        raise TypeError(f"matmul of arrays without axes: {shaped_abstractify(a)} and {shaped_abstractify(b)}")
    if a.ndim > 2 or b.ndim > 2:
        return jnp.matmul(todense(a), todense(b))
    where_ = max(b.ndim - 2, 0)
    if a.shape[-1] != b.shape[where_]:
        raise TypeError(f"matmul: contracting dimensions differ: {a.shape} and {b.shape}")
    return bcoo_dot_general(a, b, dimension_numbers=(((a.ndim - 1,), (where_,)), ((), ())))
