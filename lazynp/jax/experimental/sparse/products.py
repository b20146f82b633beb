"""Products of `BCOO`: with dense arrays, with each other, and at some places only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from .elements import BCOO, bcoo_sum_duplicates, checked, columns, read, sizes_of
from .layouts import bcoo_update_layout
from .util import checked_numbers, nfold_vmap, product_type, remaining

__all__ = [
    "bcoo_conv_general_dilated",
    "bcoo_dot_general",
    "bcoo_dot_general_sampled",
    "bcoo_multiply_dense",
    "bcoo_multiply_sparse",
]


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
    numbers = checked_numbers(dimension_numbers)
    if not isinstance(lhs, BCOO) and not isinstance(rhs, BCOO):
        return lax.dot_general(lhs, rhs, numbers, precision, preferred_element_type)
    if isinstance(lhs, BCOO) and isinstance(rhs, BCOO):
        return sparse_product(lhs, rhs, numbers, preferred_element_type)
    if isinstance(lhs, BCOO):
        return dense_product(lhs, jnp.asarray(rhs), numbers, preferred_element_type)
    (left, right), (left_batch, right_batch) = numbers
    swapped = (right, left), (right_batch, left_batch)
    out = dense_product(rhs, jnp.asarray(lhs), swapped, preferred_element_type)
    b, free = len(left_batch), rhs.ndim - len(right)
    return lax.transpose(out, (*range(b), *range(free, out.ndim), *range(b, free)))


def dense_product(mat: BCOO, dense: Any, numbers: Any, preferred: Any) -> Any:
    """A sparse array times a dense one: each element takes its row of the dense array, and adds it to its place."""
    out = product_type(mat, dense, numbers, preferred)
    (left, right), (left_batch, right_batch) = numbers
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    if left_batch and max(left_batch) >= b:
        raise NotImplementedError(
            "bcoo_dot_general batch dimensions must be among the batch dimensions in the sparse representation.\n"
            f"got lhs_batch={left_batch}, n_batch={b}"
        )
    if any([d >= s for d in left]):
        raise NotImplementedError("bcoo_dot_general: contracting over dense dimensions.")
    over_batch = [(x, y) for x, y in zip(left, right) if x < b]
    over_sparse = [(x - b, y) for x, y in zip(left, right) if x >= b]
    # Batches that are summed over come last, and are summed at the end.
    order = [*left_batch, *remaining(range(b), left_batch, left), *[x for x, _ in over_batch]]
    data = mat.data.transpose(*order, *range(b, mat.data.ndim))
    indices = mat.indices.transpose(*order, b, b + 1)
    free = remaining(range(dense.ndim), right_batch, right)
    rows = dense.transpose(*right_batch, *[y for _, y in over_batch], *[y for _, y in over_sparse], *free)
    summed = [x for x, _ in over_sparse]
    kept = [i for i in range(mat.n_sparse) if i not in summed]
    lengths = [mat.shape[b + i] for i in kept]
    dtype = out.dtype

    def one(data: Any, indices: Any, rows: Any) -> Any:
        """Of one batch. data: (nse, *dense); rows: (*summed, *free)."""
        at = tuple([indices[:, i] for i in summed])
        taken = rows.at[at].get(mode="fill", fill_value=0) if at else jnp.broadcast_to(rows, (mat.nse, *rows.shape))
        n_dense = data.ndim - 1
        part = data.astype(dtype).reshape(*data.shape, *(1,) * (taken.ndim - 1)) * taken.astype(dtype).reshape(
            taken.shape[0], *(1,) * n_dense, *taken.shape[1:]
        )
        if not kept:
            return part.sum(0, dtype=dtype)
        zeros = jnp.zeros((*lengths, *part.shape[1:]), dtype)
        return zeros.at[tuple([indices[:, i] for i in kept])].add(part, mode="drop")

    n_shared, n_summed = len(left_batch), len(over_batch)
    alone = b - n_shared - n_summed
    rows = rows.reshape(*rows.shape[:n_shared], *(1,) * alone, *rows.shape[n_shared:])
    shape = [mat.shape[i] for i in order]
    # An axis of length 1 serves all batches: it must not make a sum shorter.
    data = jnp.broadcast_to(data, (*shape, *data.shape[b:]))
    result = nfold_vmap(one, b)(data, indices, rows)
    return result.sum(tuple(range(b - n_summed, b)), dtype=dtype) if n_summed else result


def sparse_product(lhs: BCOO, rhs: BCOO, numbers: Any, preferred: Any) -> BCOO:
    """The product of two sparse arrays: of each pair of elements whose summed indices are equal."""
    out = product_type(lhs, rhs, numbers, preferred)
    (left, right), (left_batch, right_batch) = numbers
    if lhs.n_dense or rhs.n_dense:
        raise NotImplementedError("bcoo_spdot_general with dense dimensions.")
    if max(left_batch, default=-1) >= lhs.n_batch or max(right_batch, default=-1) >= rhs.n_batch:
        raise NotImplementedError(
            "bcoo_spdot_general: batch_dims must correspond to batch dimensions of the sparse representation."
        )
    if min(left, default=lhs.n_batch) < lhs.n_batch or min(right, default=rhs.n_batch) < rhs.n_batch:
        raise NotImplementedError("bcoo_spdot_general only supports contraction of sparse indices.")
    if rhs.n_batch > len(right_batch) and lhs.n_sparse > len(left):
        raise ValueError("bcoo_spdot_general: cannot have unused batch dims on rhs with unused sparse dims on lhs.")
    nse = (lhs.nse if lhs.n_sparse > len(left) else 1) * (rhs.nse if rhs.n_sparse > len(right) else 1)
    n_shared = len(left_batch)
    n_out = lhs.n_batch + rhs.n_batch - n_shared
    nse = min(nse, math.prod(out.shape[n_out:]))

    def front(mat: BCOO, shared: Sequence[int]) -> tuple[Any, Any]:
        order = [*shared, *remaining(range(mat.n_batch), shared)]
        b = mat.n_batch
        return mat.data.transpose(*order, b), mat.indices.transpose(*order, b, b + 1)

    pair = [(lhs, [d - lhs.n_batch for d in left]), (rhs, [d - rhs.n_batch for d in right])]

    def one(x: Any, i: Any, y: Any, j: Any) -> Any:
        own, free, valid = [], [], []
        for (mat, summed), indices in zip(pair, (i, j)):
            own.append(columns(indices, summed))
            free.append(columns(indices, remaining(range(mat.n_sparse), summed)))
            sizes = columns(jnp.array(mat.shape[mat.n_batch :], indices.dtype)[None], summed)
            valid.append(jnp.all(own[-1] < sizes, -1))
        same = (own[0][:, None] == own[1][None]).all(-1) & valid[0][:, None] & valid[1][None]
        data = jnp.where(same, x.astype(out.dtype)[:, None] * y.astype(out.dtype)[None], jnp.zeros((), out.dtype))
        dtype = jnp.result_type(i, j)
        n, m = lhs.nse, rhs.nse
        places = [
            jnp.broadcast_to(free[0][:, None].astype(dtype), (n, m, free[0].shape[-1])),
            jnp.broadcast_to(free[1][None].astype(dtype), (n, m, free[1].shape[-1])),
        ]
        indices = jnp.concatenate(places, -1)
        indices = indices.reshape(n * m, indices.shape[-1])
        found = bcoo_sum_duplicates(BCOO((data.ravel(), indices), shape=out.shape[n_out:]), nse)
        return found.data, found.indices

    one = nfold_vmap(one, rhs.n_batch - n_shared, in_axes=(None, None, 0, 0))
    one = nfold_vmap(one, lhs.n_batch - n_shared, in_axes=(0, 0, None, None))
    one = nfold_vmap(one, n_shared)
    return BCOO(one(*front(lhs, left_batch), *front(rhs, right_batch)), shape=out.shape)


def bcoo_dot_general_sampled(A: Any, B: Any, indices: Any, *, dimension_numbers: Any) -> Any:
    """The elements of `lax.dot_general` of two dense arrays at some places.

    Args:
        indices: (*batch, nse, n_sparse), as a `BCOO` array has them.
    """
    a, b, at = (jnp.asarray(x) for x in (A, B, indices))
    numbers = checked_numbers(dimension_numbers)
    (left, right), batches = numbers
    if at.ndim == 2 and at.shape[1] == a.ndim + b.ndim - 2 * len(left) and not batches[0]:
        # Only the rows and columns that are asked for are multiplied.
        n = a.ndim - len(left)
        rows = rows_at(a, remaining(range(a.ndim), left), left, at[:, :n])
        others = rows_at(b, remaining(range(b.ndim), right), right, at[:, n:])
        return (rows * others).sum(tuple(range(1, rows.ndim)))
    return read(at, lax.dot_general(a, b, numbers))


def rows_at(x: Any, free: Sequence[int], summed: Sequence[int], at: Any) -> Any:
    """For each place along the free axes the part along the summed ones: (nse, *summed)."""
    moved = x.transpose(*free, *summed)
    return moved.at[tuple([at[:, i] for i in range(len(free))])].get(mode="fill", fill_value=0) if free else moved[None]


# --- Element by element -----------------------------------------------------------------------------------------------


def bcoo_multiply_dense(sp_mat: BCOO, v: Any) -> Any:
    """The elements of a sparse array times those of a dense one that broadcasts to its shape."""
    v, shape = jnp.asarray(v), sp_mat.shape
    if not v.ndim:
        return sp_mat.data * v
    if jnp.broadcast_shapes(v.shape, shape) != shape:
        raise NotImplementedError(
            "multiplication between sparse and dense is only implemented for cases where the output shape matches the "
            f"sparse matrix shape. Got {shape=}, {v.shape=}"
        )
    v = v.reshape(*(1,) * (len(shape) - v.ndim), *v.shape)
    b, n_sparse = sp_mat.n_batch, sp_mat.n_sparse

    def one(data: Any, indices: Any, v: Any) -> Any:
        if not n_sparse:
            return data * v
        at = [indices[:, i] if v.shape[i] != 1 else jnp.zeros_like(indices[:, i]) for i in range(n_sparse)]
        return data * v.at[tuple(at)].get(mode="fill", fill_value=0)

    return nfold_vmap(one, b)(sp_mat.data, sp_mat.indices, v)


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """The product element by element: of each pair of elements at the same place."""
    if lhs.ndim != rhs.ndim:
        raise TypeError(
            f"bcoo_multiply_sparse: arrays must have same number of dimensions, got {lhs.shape}, {rhs.shape}"
        )
    if lhs.n_dense != rhs.n_dense:
        raise NotImplementedError(
            f"bcoo_multiply_sparse: arrays with differing numbers of dense dimensions: {lhs}, {rhs}"
        )
    b = min(lhs.n_batch, rhs.n_batch)
    shapes = lhs.shape[b:], rhs.shape[b:]

    def one(x: Any, i: Any, y: Any, j: Any) -> Any:
        parts = [BCOO(buffers, shape=shape) for buffers, shape in zip(((x, i), (y, j)), shapes)]
        (x, i), (y, j) = (bcoo_update_layout(p, n_batch=0)._bufs for p in parts)
        n, m, n_sparse = i.shape[0], j.shape[0], i.shape[1]
        both = [k for k in range(n_sparse) if shapes[0][k] != 1 and shapes[1][k] != 1]
        same = jnp.all(columns(i, both)[:, None] == columns(j, both)[None], -1)
        at, to = jnp.nonzero(same, size=n * m, fill_value=(n, m))
        data = x.at[at].get(mode="fill", fill_value=0) * y.at[to].get(mode="fill", fill_value=0)
        highest = [max(shape, default=0) for shape in shapes]
        places = jnp.maximum(
            i.at[at].get(mode="fill", fill_value=highest[0]), j.at[to].get(mode="fill", fill_value=highest[1])
        )
        return data, places

    found = nfold_vmap(one, b)(lhs.data, lhs.indices, rhs.data, rhs.indices)
    return BCOO(found, shape=np.broadcast_shapes(lhs.shape, rhs.shape))


# --- Convolution ------------------------------------------------------------------------------------------------------


def bcoo_conv_general_dilated(
    lhs: Any,
    rhs: Any,
    *,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> BCOO:
    """`lax.conv_general_dilated` along one axis, of one example with one feature, without dilation and strides.

    `precision` has nothing to choose: products of two elements are not added. Raises: NotImplementedError for all else
    than its default, where JAX takes no notice of some.
    """
    n = lhs.ndim - 2
    for name, given in (("lhs_dilation", lhs_dilation), ("rhs_dilation", rhs_dilation)):
        if given is not None and tuple(given) != (1,) * n:
            raise NotImplementedError(f"bcoo convolution with {name}.")
    if tuple(window_strides) != (1,) * n:
        raise NotImplementedError("bcoo convolution with non-unit window_strides.")
    if batch_group_count != 1 or feature_group_count != 1:
        raise NotImplementedError("bcoo convolution with non-unit group counts.")
    if out_sharding is not None:
        raise NotImplementedError("bcoo convolution with out_sharding.")
    numbers = lax.conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    if any([tuple(spec) != tuple(range(n + 2)) for spec in (numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec)]):
        raise NotImplementedError("bcoo convolution with dimension_numbers.")
    if preferred_element_type is not None and np.dtype(preferred_element_type) != jnp.result_type(lhs.dtype, rhs.dtype):
        raise NotImplementedError("bcoo convolution with preferred_element_type.")
    if n != 1 or tuple(lhs.shape[:2]) != (1, 1) or tuple(rhs.shape[:2]) != (1, 1):
        raise NotImplementedError("bcoo convolution with leading dimensions other than (1, 1)")
    if isinstance(padding, str):
        padding = lax.padtype_to_pads(lhs.shape[2:], rhs.shape[2:], window_strides, padding)
    (before, after) = [int(p) for p in padding[0]]
    dtype = (lhs if isinstance(lhs, BCOO) else rhs).indices.dtype
    (x, i), (y, j) = (as_sequence(m, dtype) for m in (lhs, rhs))
    at = (i[:, None] + (before - j)[None]).ravel()
    data = jnp.where(at < 0, jnp.zeros((), x.dtype), (x[:, None] * y[None]).ravel())
    length = max(0, lhs.shape[2] + before + after - rhs.shape[2] + 1)
    return BCOO((data[None, None], jnp.where(at < 0, 0, at)[None, None, :, None]), shape=(1, 1, length))


def as_sequence(mat: Any, dtype: Any) -> tuple[Any, Any]:
    """The elements of an array of the shape (1, 1, n), and their places along its last axis."""
    if not isinstance(mat, BCOO):
        data = jnp.asarray(mat)[0, 0]
        return data, jnp.arange(len(data), dtype=dtype)
    mat = bcoo_update_layout(mat, n_batch=2, n_dense=0)
    checked(mat.data, mat.indices, mat.shape)
    places = mat.indices[0, 0, :, 0]
    inside = places < sizes_of(mat.indices, mat.shape)[0]
    return jnp.where(inside, mat.data[0, 0], jnp.zeros((), mat.dtype)), places
