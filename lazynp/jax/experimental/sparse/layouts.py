"""Shapes and layouts of `BCOO`: what `lax` does to the axes of a dense array, and which axes are batches."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...jaxpr import ShapeDtypeStruct, eval_shape
from ...names import vmap
from .elements import BCOO, bcoo_sum_duplicates, bcoo_transpose, columns, sizes_of, stored, with_nse
from .util import Shape, SparseEfficiencyError, SparseEfficiencyWarning, nfold_vmap

__all__ = [
    "bcoo_broadcast_in_dim",
    "bcoo_concatenate",
    "bcoo_dynamic_slice",
    "bcoo_gather",
    "bcoo_reduce_sum",
    "bcoo_reshape",
    "bcoo_rev",
    "bcoo_slice",
    "bcoo_squeeze",
    "bcoo_update_layout",
]


def dense_type(mat: Any) -> ShapeDtypeStruct:
    """Shape and dtype of the dense array."""
    return ShapeDtypeStruct(mat.shape, mat.dtype)


def split(mat: BCOO, xs: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """What is given for each axis: for batch, sparse and dense axes."""
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    return list(xs[:b]), list(xs[b:s]), list(xs[s:])


def over_dense(mask: Any, mat: BCOO) -> Any:
    """A value for each element, to broadcast along its dense axes."""
    return mask.reshape(*mask.shape, *(1,) * mat.n_dense)


def nothing(data: Any) -> Any:
    return jnp.zeros((), data.dtype)


# --- Layout -----------------------------------------------------------------------------------------------------------


def bcoo_update_layout(
    mat: BCOO, *, n_batch: int | None = None, n_dense: int | None = None, on_inefficient: str | None = "error"
) -> BCOO:
    """With other numbers of batch and dense axes.

    Args:
        on_inefficient: "error", "warn" or None, where far more elements would be kept.
    Raises: SparseEfficiencyError; ValueError for numbers that do not fit.
    """
    batch = mat.n_batch if n_batch is None else operator.index(n_batch)
    dense = mat.n_dense if n_dense is None else operator.index(n_dense)
    if (batch, dense) == (mat.n_batch, mat.n_dense):
        return mat
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(f"{on_inefficient=}; expected one of ['error', 'warn', None].")
    if batch < 0 or dense < 0:
        name, n = ("n_batch", batch) if batch < 0 else ("n_dense", dense)
        raise ValueError(f"{name} must be non-negative; got {n}")
    if batch + dense > mat.ndim:
        raise ValueError(f"sum of n_batch={batch} and n_dense={dense} cannot be larger than mat.ndim={mat.ndim}.")
    if dense > mat.n_dense and any([d > 1 for d in mat.shape[mat.ndim - dense : mat.ndim - mat.n_dense]]):
        inefficient(f"increasing n_dense from {mat.n_dense} to {dense}", mat, on_inefficient)
    if batch > mat.n_batch and any([d > 1 for d in mat.shape[mat.n_batch : batch]]):
        inefficient(f"increasing n_batch from {mat.n_batch} to {batch}", mat, on_inefficient)
    if dense < mat.n_dense:
        mat = dense_to_sparse(mat, mat.n_dense - dense)
    if batch < mat.n_batch:
        mat = batch_to_sparse(mat, mat.n_batch - batch)
    if dense > mat.n_dense:
        mat = sparse_to_dense(mat, dense - mat.n_dense)
    if batch > mat.n_batch:
        mat = sparse_to_batch(mat, batch - mat.n_batch)
    return BCOO((mat.data, mat.indices), shape=mat.shape)


def inefficient(what: str, mat: BCOO, reaction: str | None) -> None:
    text = f"For matrix of shape {mat.shape}, {what} results in inefficient storage."
    argument = "set the on_inefficient argument of bcoo_update_layout to"
    if reaction == "error":
        raise SparseEfficiencyError(f"{text} To disable this error, {argument} 'warn' or None.")
    if reaction == "warn":
        warnings.warn(f"{text} To disable this warning, {argument} None.", SparseEfficiencyWarning, stacklevel=3)


def dense_to_sparse(mat: BCOO, n: int) -> BCOO:
    """The first n dense axes as sparse ones."""
    b, more = mat.n_batch, mat.data.shape[mat.n_batch + 1 : mat.n_batch + 1 + n]
    count = math.prod(more)
    data = mat.data.reshape(*mat.data.shape[:b], mat.nse * count, *mat.data.shape[b + 1 + n :])
    places = jnp.stack([g.ravel() for g in jnp.indices(more, dtype=mat.indices.dtype)], -1)  # (count, n)
    shape = (*mat.indices.shape[:-1], count)
    old = jnp.broadcast_to(mat.indices[..., None, :], (*shape, mat.n_sparse))
    new = jnp.broadcast_to(places, (*shape, n))
    indices = jnp.concatenate([old, new], -1).reshape(*mat.indices.shape[:-2], mat.nse * count, mat.n_sparse + n)
    return BCOO((data, indices), shape=mat.shape)


def batch_to_sparse(mat: BCOO, n: int) -> BCOO:
    """The last n batch axes as sparse ones."""
    kept, more = mat.n_batch - n, mat.shape[mat.n_batch - n : mat.n_batch]
    count, b = math.prod(more) * mat.nse, mat.n_batch
    data = jnp.broadcast_to(mat.data, (*mat.data.shape[:kept], *more, *mat.data.shape[b:]))
    indices = jnp.broadcast_to(mat.indices, (*mat.indices.shape[:kept], *more, *mat.indices.shape[b:]))
    data = data.reshape(*data.shape[:kept], count, *data.shape[b + 1 :])
    grids = jnp.indices((*more, mat.nse), dtype=indices.dtype)[:-1]
    indices = indices.reshape(*indices.shape[:kept], count, mat.n_sparse)
    new = jnp.stack([g.ravel() for g in grids], -1)
    new = jnp.broadcast_to(new, (*indices.shape[:-1], n))
    return BCOO((data, jnp.concatenate([new, indices], -1)), shape=mat.shape)


def sparse_to_dense(mat: BCOO, n: int) -> BCOO:
    """The last n sparse axes as dense ones."""
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    lengths = mat.shape[s - n : s]

    def one(d: Any, i: Any) -> Any:
        at = tuple([i[:, j] for j in range(mat.n_sparse - n, mat.n_sparse)])
        zeros = jnp.zeros((mat.nse, *lengths, *d.shape[1:]), d.dtype)
        return zeros.at[(jnp.arange(mat.nse), *at)].set(d, mode="drop")

    data = nfold_vmap(one, b)(mat.data, mat.indices)
    return BCOO((data, mat.indices[..., : mat.n_sparse - n]), shape=mat.shape)


def sparse_to_batch(mat: BCOO, n: int) -> BCOO:
    """The first n sparse axes as batches."""
    b = mat.n_batch
    lengths = mat.shape[b : b + n]

    def one(d: Any, i: Any) -> Any:
        at = (*[i[:, j] for j in range(n)], jnp.arange(mat.nse))
        zeros = jnp.zeros((*lengths, mat.nse, *d.shape[1:]), d.dtype)
        return zeros.at[at].set(d, mode="drop"), jnp.broadcast_to(i[:, n:], (*lengths, mat.nse, mat.n_sparse - n))

    data, indices = nfold_vmap(one, b)(mat.data, mat.indices)
    return BCOO((data, indices), shape=mat.shape)


# --- Shapes -----------------------------------------------------------------------------------------------------------


def bcoo_broadcast_in_dim(
    mat: BCOO, *, shape: Shape, broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCOO:
    """`lax.broadcast_in_dim`: new axes are batches or dense, or sparse ones of length 1."""
    if mat.ndim != len(broadcast_dimensions):
        raise ValueError(f"spinfo.shape={mat.shape} and {broadcast_dimensions=} must have the same length")
    batch, sparse, dense = split(mat, broadcast_dimensions)
    if max(batch, default=0) > min(sparse, default=len(shape)):
        raise ValueError("Cannot mix batch and sparse dimensions during broadcast_in_dim")
    if max(sparse, default=0) > min(dense, default=len(shape)):
        raise ValueError("Cannot mix sparse and dense dimensions during broadcast_in_dim")
    b = min([*sparse, *dense], default=len(shape))
    n_dense = len(shape) - min(dense) if dense else 0
    s = len(shape) - n_dense
    if math.prod(mat.shape[mat.n_batch : mat.n_batch + mat.n_sparse]) != math.prod(shape[b:s]):
        raise NotImplementedError("Adding sparse dimensions with lengths != 1")
    data, indices = mat.data, mat.indices
    if (b, n_dense) != (mat.n_batch, mat.n_dense):
        to = [*batch, b, *[d + 1 - (s - b) for d in dense]]
        data = lax.broadcast_in_dim(data, (*shape[:b], mat.nse, *shape[s:]), to)
        indices = lax.broadcast_in_dim(indices, (*shape[:b], mat.nse, mat.n_sparse), [*batch, b, b + 1])
    if s - b != mat.n_sparse:
        places = [sparse.index(i) if i in sparse else None for i in range(b, s)]
        parts = [jnp.zeros_like(indices[..., :1]) if p is None else indices[..., p : p + 1] for p in places]
        indices = jnp.concatenate(parts, -1) if parts else indices[..., :0]
    return BCOO((data, indices), shape=shape)


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """`lax.concatenate`, along a batch axis or a sparse one."""
    dimension = operator.index(dimension)
    if not all([isinstance(x, BCOO) for x in operands]):
        raise ValueError(f"bcoo_concatenate: expected operands to be a sequence of BCOO arrays. Got {operands}")
    shape = eval_shape(lambda xs: lax.concatenate(xs, dimension), [dense_type(x) for x in operands]).shape
    if len({x.n_dense for x in operands}) > 1:
        raise ValueError("bcoo_concatenate requires inputs to have matching nse dimensions.")
    batches = {x.n_batch for x in operands}
    if batches == {0, 1}:
        for n in (0, 1):
            if all([x.shape[0] == 1 for x in operands if x.n_batch == n]):
                operands = [bcoo_update_layout(x, n_batch=1 - n) for x in operands]
                break
        batches = {x.n_batch for x in operands}
    if len(batches) != 1:
        raise ValueError("bcoo_concatenate requires inputs to have matching batch dimensions.")
    b, s = operands[0].n_batch, operands[0].n_batch + operands[0].n_sparse

    def kept(shape: Shape) -> Shape:
        return (*shape[: min(dimension, b)], *shape[min(dimension + 1, b) : b])

    if len({kept(x.indices.shape) for x in operands}) > 1 or len({kept(x.data.shape) for x in operands}) > 1:
        raise NotImplementedError("concatenation of arrays with broadcasted batch indices")
    if dimension < b:
        nse = max([x.nse for x in operands])
        operands = [with_nse(x, nse) for x in operands]
        indices = jnp.concatenate([x.indices for x in operands], dimension)
        return BCOO((jnp.concatenate([x.data for x in operands], dimension), indices), shape=shape)
    if dimension >= s:
        raise NotImplementedError("Concatenation along dense dimensions.")
    moved, offset = [], 0
    for x in operands:
        moved.append(x.indices.at[..., dimension - b].add(offset))
        offset += x.shape[dimension]
    return BCOO((jnp.concatenate([x.data for x in operands], b), jnp.concatenate(moved, b)), shape=shape)


def bcoo_reshape(
    mat: BCOO, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None, sharding: Any = None
) -> BCOO:
    """`lax.reshape`, where batch, sparse and dense axes do not mix."""
    b, batch = mat.n_batch, tuple(mat.shape[: mat.n_batch])
    if mat.indices.shape[:b] != batch or mat.data.shape[:b] != batch:
        raise NotImplementedError("reshape of arrays with broadcasted batch dimensions.")
    if dimensions is not None:
        mat = bcoo_transpose(mat, permutation=tuple(dimensions))
    _, sparse, _ = split(mat, mat.shape)
    n_batch, n_sparse = math.prod(mat.shape[:b]), math.prod(sparse)
    products = np.cumprod(np.array(new_sizes, np.int64))
    if n_batch != 1 and n_batch not in products:
        raise ValueError(
            "bcoo_reshape: new shape cannot mix batch and sparse dimensions; "
            f"got shape={mat.shape} new_shape={new_sizes} with n_batch={b}"
        )
    if n_sparse != 1 and n_batch * n_sparse not in products:
        raise ValueError(
            "bcoo_reshape: new shape cannot mix sparse and dense dimensions; "
            f"got shape={mat.shape} new_shape={new_sizes} with n_dense={mat.n_dense}"
        )
    i = int(products.searchsorted(n_batch, side="right"))
    j = int(products.searchsorted(n_batch * n_sparse, side="right"))
    new_batch, new_sparse, new_dense = tuple(new_sizes[:i]), tuple(new_sizes[i:j]), tuple(new_sizes[j:])
    data = mat.data.reshape(*new_batch, mat.nse, *new_dense)
    indices = mat.indices.reshape(*new_batch, mat.nse, mat.n_sparse)
    if not new_sparse:
        indices = indices[..., :0]
    elif sparse:
        inside = stored(mat).reshape(*new_batch, mat.nse, 1)
        flat = jnp.ravel_multi_index([indices[..., k] for k in range(mat.n_sparse)], sparse, mode="clip")
        places = jnp.stack(jnp.unravel_index(flat, new_sparse), -1).astype(indices.dtype)
        indices = jnp.where(inside, places, jnp.array(new_sparse, indices.dtype))
    else:
        indices = jnp.zeros((*new_batch, mat.nse, len(new_sparse)), indices.dtype)
    return BCOO((data, indices), shape=tuple(new_sizes))


def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """`lax.rev`."""
    eval_shape(lambda x: lax.rev(x, dimensions), dense_type(operand))
    b, s = operand.n_batch, operand.n_batch + operand.n_sparse
    batch = [d for d in dimensions if d < b]
    sparse = [d - b for d in dimensions if b <= d < s]
    dense = [d + 1 - operand.n_sparse for d in dimensions if d >= s]
    data, indices = lax.rev(operand.data, [*batch, *dense]), lax.rev(operand.indices, batch)
    if sparse:
        sizes = sizes_of(indices, operand.shape)
        turned = np.isin(np.arange(operand.n_sparse), sparse)
        indices = jnp.where(turned & (indices < sizes), sizes - 1 - indices, indices)
        indices = jnp.where(jnp.any(indices >= sizes, -1, keepdims=True), sizes, indices)
    return BCOO((data, indices), shape=operand.shape)


def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """`lax.squeeze`."""
    gone = tuple(
        [operator.index(d) % arr.ndim if -arr.ndim <= d < arr.ndim else axis_error(d, arr) for d in dimensions]
    )
    if any([arr.shape[d] != 1 for d in gone]):
        raise ValueError(
            "cannot select an axis to squeeze out which has size not equal to one, "
            f"got shape={arr.shape} and dimensions={gone}"
        )
    b, s = arr.n_batch, arr.n_batch + arr.n_sparse
    batch = [d for d in gone if d < b]
    data = lax.squeeze(arr.data, [*batch, *[d - arr.n_sparse + 1 for d in gone if d >= s]])
    indices = lax.squeeze(columns(arr.indices, [i for i in range(arr.n_sparse) if i + b not in gone]), batch)
    found = arr._info._asdict() | {"shape": [n for i, n in enumerate(arr.shape) if i not in gone]}
    return BCOO((data, indices), **found)


def axis_error(axis: int, arr: BCOO) -> int:
    raise ValueError(f"axis {axis} is out of bounds for array of dimension {arr.ndim}")


def bcoo_slice(
    mat: BCOO, *, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> BCOO:
    """`lax.slice`."""
    if not isinstance(mat, BCOO):
        raise TypeError(f"bcoo_slice: input should be BCOO array, got {type(mat)=}")
    starts, ends = list(map(operator.index, start_indices)), list(map(operator.index, limit_indices))
    steps = [1] * mat.ndim if strides is None else list(map(operator.index, strides))
    if not len(starts) == len(ends) == len(steps) == mat.ndim:
        raise ValueError(f"bcoo_slice: indices must have size mat.ndim={mat.ndim}")
    if any([s <= 0 for s in steps]):
        raise ValueError(f"strides must be a sequence of positive integers; got {steps}")
    if not all([0 <= a <= e <= n for a, e, n in zip(starts, ends, mat.shape)]):
        raise ValueError(
            f"bcoo_slice: invalid indices. Got start_indices={starts}, limit_indices={ends} and shape={mat.shape}"
        )
    b = mat.n_batch
    batch, sparse, dense = split(mat, list(zip(starts, ends, steps)))

    def cut(x: Any, tail: Sequence[Any]) -> Any:
        front = [slice(*p) if x.shape[i] == mat.shape[i] else slice(None) for i, p in enumerate(batch)]
        return x[(*front, *tail)]

    data = cut(mat.data, [slice(None), *[slice(*p) for p in dense]])
    indices = cut(mat.indices, [slice(None), slice(None)])
    shape = tuple([(e - a + s - 1) // s for a, e, s in zip(starts, ends, steps)])
    if not mat.n_sparse:
        return BCOO((data, indices), shape=shape)
    low, high, step = (jnp.array(x, indices.dtype) for x in zip(*sparse))
    inside = jnp.all((indices >= low) & (indices < high) & ((indices - low) % step == 0), -1, keepdims=True)
    lengths = jnp.array(shape[b : b + mat.n_sparse], indices.dtype)
    indices = jnp.where(inside, (indices - low) // step, lengths)
    return limited(jnp.where(over_dense(inside[..., 0], mat), data, nothing(data)), indices, shape)


def limited(data: Any, indices: Any, shape: Shape) -> BCOO:
    """An array with no more elements than it has places."""
    out = BCOO((data, indices), shape=shape)
    most = math.prod(split(out, shape)[1])
    if out.nse > most:
        found = bcoo_sum_duplicates(out, most)
        return BCOO((found.data, found.indices), shape=shape)
    return out


def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> BCOO:
    """`lax.dynamic_slice`."""
    if not isinstance(mat, BCOO):
        raise TypeError(f"bcoo_slice: input should be BCOO array, got {type(mat)=}")
    shape = tuple(map(operator.index, slice_sizes))
    starts = [jnp.asarray(i) for i in start_indices]
    eval_shape(lambda x: lax.dynamic_slice(x, starts, shape), dense_type(mat))
    if not all([0 <= n <= axis for n, axis in zip(shape, mat.shape)]):
        raise TypeError(
            "slice_sizes must be less than or equal to operand shape, "
            f"got slice_sizes {shape} for operand shape {mat.shape}"
        )
    batch, sparse, dense = split(mat, starts)
    b = mat.n_batch

    def cut(x: Any, tail: Sequence[Any], sizes: Sequence[int]) -> Any:
        own = [x.shape[i] == mat.shape[i] for i in range(b)]
        front = [s if o else jnp.zeros_like(s) for s, o in zip(batch, own)]
        lengths = [n if o else 1 for n, o in zip(shape, own)]
        zero = jnp.zeros_like(starts[0]) if starts else 0
        return lax.dynamic_slice(x, [*front, *[zero if t is None else t for t in tail]], [*lengths, *sizes])

    data = cut(mat.data, [None, *dense], [mat.nse, *shape[b + mat.n_sparse :]])
    indices = cut(mat.indices, [None, None], [mat.nse, mat.n_sparse])
    if not mat.n_sparse:
        return BCOO((data, indices), shape=shape)
    sizes, lengths = sizes_of(indices, mat.shape), jnp.array(shape[b : b + mat.n_sparse], indices.dtype)
    low = jnp.stack([s.astype(indices.dtype) for s in sparse])
    low = jnp.clip(jnp.where(low < 0, low + sizes, low), 0, sizes - lengths)
    inside = jnp.all((indices >= low) & (indices < low + lengths), -1, keepdims=True)
    indices = jnp.where(inside, indices - low, lengths)
    return limited(jnp.where(over_dense(inside[..., 0], mat), data, nothing(data)), indices, shape)


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """The sum along axes."""
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    gone = sorted(set(axes))
    assert all([0 <= a < mat.ndim for a in gone]), axes
    data = mat.data.sum(tuple([a - mat.n_sparse + 1 for a in gone if a >= s]))
    if mat.n_sparse:  # what stands for no place of an axis that goes away must not count
        inside = stored(mat)
        data = jnp.where(inside.reshape(*inside.shape, *(1,) * (data.ndim - inside.ndim)), data, nothing(data))
    indices = columns(mat.indices, [i for i in range(mat.n_sparse) if i + b not in gone])
    batch = [a for a in gone if a < b]
    for a in batch:
        if data.shape[a] == 1 and indices.shape[a] == 1:
            data = data * jnp.asarray(mat.shape[a], data.dtype)
        elif data.shape[a] == 1:
            data = jnp.broadcast_to(data, (*data.shape[:a], indices.shape[a], *data.shape[a + 1 :]))
        elif indices.shape[a] == 1:
            data = data.sum(a, keepdims=True)
    rest = [i for i in range(b) if i not in batch]
    count = math.prod([data.shape[i] for i in batch]) * mat.nse

    def merged(x: Any) -> Any:
        order = (*rest, *batch, *range(b, x.ndim))
        return x.transpose(order).reshape(*[x.shape[i] for i in rest], count, *x.shape[b + 1 :])

    shape = [n for i, n in enumerate(mat.shape) if i not in gone]
    return BCOO((merged(data), merged(indices)), shape=shape)


def bcoo_gather(
    operand: BCOO,
    start_indices: Any,
    dimension_numbers: Any,
    slice_sizes: Shape,
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> BCOO:
    """`lax.gather`, of indices that are promised to be in bounds."""
    promise = lax.GatherScatterMode.PROMISE_IN_BOUNDS
    if mode is not None and lax.GatherScatterMode.from_any(mode) != promise:
        raise NotImplementedError(f"bcoo_gather: {mode=} not yet supported.")
    starts = jnp.asarray(start_indices)
    out = eval_shape(lambda x: lax.gather(x, starts, dimension_numbers, slice_sizes, mode=promise), dense_type(operand))
    sizes = list(operand.shape)
    given: list[Any] = [jnp.zeros((), starts.dtype)] * operand.ndim
    mapped: list[int | None] = [None] * operand.ndim
    for i, j in enumerate(dimension_numbers.start_index_map):
        given[j], sizes[j], mapped[j] = starts[..., i].ravel(), slice_sizes[j], 0
    collapsed, offsets = dimension_numbers.collapsed_slice_dims, dimension_numbers.offset_dims

    def one(at: list[Any]) -> BCOO:
        return bcoo_squeeze(bcoo_dynamic_slice(operand, at, sizes), dimensions=collapsed)

    found = vmap(one, in_axes=(mapped,))(given)
    found = bcoo_reshape(found, new_sizes=(*starts.shape[:-1], *found.shape[1:]))
    batch = [d for d in range(len(out.shape)) if d not in offsets]
    order = list(np.argsort([*batch, *offsets]))
    if order != sorted(order):
        if sorted(order[: len(batch)]) != list(range(len(batch))):
            found = bcoo_update_layout(found, n_batch=0)
        found = bcoo_transpose(found, permutation=order)
    return found
