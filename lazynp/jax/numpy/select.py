"""Choosing elements: where, nonzero, take, put, select, piecewise and their like.

What depends on values takes `size=`, so that the result's shape is known under a trace; without it a traced argument
is a ConcretizationTypeError.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api.vmap import vmap
from ...errors import concretization_error
from ...graph.node import ABSTRACT
from ...ops import elementwise as e
from ...ops.indexing import put_along_axis as put_along_axis_node
from ...ops.promotion import broadcast as common_shape
from ...ops.sorting import searchsorted
from ..array import Array, as_dtype, as_node, cast_node, check_arraylike, door, typed, wrap_value
from ..at import update
from ..at_once import apply
from ..dtypes import KIND_OF, int_dtype, is_extended, promotion, x64_enabled
from ..explicit_indexing import check_looked_up
from ..indexing import mode_of, take_index
from ..splits import RefusedError
from ..spreading import check_whole, everywhere, keeping, state
from . import at_once
from .axes import axis_of, check_sizes, no_out, shape_of, static_int
from .creation import arange, asarray, astype, full, weak_as, zeros
from .elementwise import truth
from .joining import concatenate, stack
from .shape import broadcast_arrays, broadcast_to, moveaxis, ravel, reshape


def is_traced(*xs: Any) -> bool:
    """Whether an argument has no value."""
    return any([isinstance(x, Array) and x._host is None and x.node.trace == ABSTRACT for x in xs])


def value_of(x: Any, context: str) -> Any:
    """The value as a NumPy array. Raises ConcretizationTypeError for a traced array."""
    if isinstance(x, Array):
        if is_traced(x):
            raise concretization_error(x.node, context)
        return x._value()
    return np.asarray(x)


def size_needed(name: str) -> str:
    """What an error says of a result whose shape depends on values."""
    return f"The size argument of jnp.{name} must be statically specified to use jnp.{name} within JAX transformations."


def where(condition: Any, x: Any = None, y: Any = None, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Elementwise x where the condition holds, else y; without them the indices of what holds (see `nonzero`)."""
    if x is None and y is None:
        check_arraylike("where", condition)
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        check_arraylike("where", condition, x, y)
    if size is not None or fill_value is not None:
        raise ValueError("size and fill_value arguments cannot be used in three-term where function.")
    found = at_once.where(condition, x, y) if type(condition) is Array else None
    return where_impl(condition, x, y) if found is None else found


def where_impl(condition: Any, x: Any, y: Any) -> Any:
    """Elementwise x where the condition holds, else y. Raises ValueError where shapes do not broadcast."""
    check_arraylike("where", condition, x, y)
    dtype, weak = promotion(x64_enabled(), typed(x), typed(y))
    c, a, b = as_node(condition), as_dtype(x, dtype), as_dtype(y, dtype)
    try:
        return apply(lambda c, a, b: cast_node(e.where(truth(c), a, b), dtype, weak), c, a, b)
    except RefusedError:
        raise
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: shapes={[c.shape, a.shape, b.shape]}") from None


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Any, ...]:
    """The indices of what is not 0, an array for each axis. With `size`, so many, and `fill_value` (0) for the rest.

    Raises: ConcretizationTypeError for a traced array without `size`; ValueError for a scalar.
    """
    check_arraylike("nonzero", a)
    x = asarray(a)
    if is_extended(x.dtype):
        raise TypeError(f"not_equal does not accept dtypes {x.dtype}, {int_dtype()}.")
    if size is not None:
        check_sizes("broadcast_in_dim", (static_int(size),))
    if x.ndim == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use jnp.atleast_1d(scalar).nonzero() instead.")
    if state.on:
        check_whole(astype(x, bool).node, "The input should be fully replicated when axis is not specified to cumsum.")
    fills = fill_value if isinstance(fill_value, tuple) else (0 if fill_value is None else fill_value,) * x.ndim
    if x.size == 0 and size is not None:
        return (zeros(static_int(size), int_dtype()),) * x.ndim
    if len(fills) != x.ndim:
        raise ValueError(f"fill_value must be a scalar or have length {x.ndim}; got {fill_value}")
    dtype = int_dtype()
    if not is_traced(x):
        found = np.nonzero(x._value())
        count = len(found[0]) if size is None else static_int(size)
        if size is None:
            return everywhere(x.node, [wrap_value(np.ascontiguousarray(i.astype(dtype))) for i in found])
        if not is_traced(*fills):
            return everywhere(x.node, [wrap_value(sized(i, count, f).astype(dtype)) for i, f in zip(found, fills)])
    if size is None:
        raise concretization_error(x.node, size_needed("nonzero"))
    return traced_nonzero(x, static_int(size), fills)


def sized(x: np.ndarray, size: int, fill: Any) -> np.ndarray:
    """Cut off, or filled up, to a length."""
    out = np.full(size, value_of(fill, ""))
    out[: min(size, len(x))] = x[:size]
    return out


def traced_nonzero(x: Array, size: int, fills: Sequence[Any]) -> tuple[Any, ...]:
    """The k-th one stands where the running count first reaches k + 1."""
    mask = ravel(x != 0)
    dtype = int_dtype()
    if size == 0 or mask.size == 0:
        return tuple([full((size,), f, dtype) for f in fills])
    running = mask.astype(dtype).cumsum()
    flat = first_places(running, arange(1, size + 1, dtype=dtype))
    inside = arange(size) < running[-1]
    out = []
    step = math.prod(x.shape)
    for n, fill in zip(x.shape, fills):
        step //= max(n, 1)
        out.append(where(inside, (flat // step) % n, fill).astype(dtype))
    return tuple(out)


def first_places(a: Array, v: Array) -> Array:
    """Where each of v first stands in sorted a."""
    places = apply(lambda a, v: searchsorted(a, v, side="left", stack=0), a.node, v.node)
    return places.astype(int_dtype())


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The flat indices of what is not 0."""
    check_arraylike("flatnonzero", a)
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The indices of what is not 0, one a row."""
    check_arraylike("argwhere", a)
    x = asarray(a)
    rows = nonzero(x if x.ndim else ravel(x), size=size, fill_value=fill_value)
    out = stack(rows, axis=1)
    return out if x.ndim else out[:, :0]


def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: Any = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Any:
    """The elements at indices along an axis. Out of bounds: NaN or the least or largest integer, unless a mode says
    "clip" or "wrap". Raises IndexError for an empty axis, TypeError for indices that are no integers."""
    if mode is None and out is None and fill_value is None:
        found = at_once.take(a, indices, axis)
        if found is not None:
            return found
    no_out("take", out)
    check_arraylike("take", a, indices)
    x = asarray(a)
    if axis is None:
        x, axis = ravel(x), 0
    at = axis_of(axis, x.ndim)
    index = asarray(indices)
    if KIND_OF[index.dtype] == "b":
        index = astype(index, np.int32)
    if KIND_OF[index.dtype] not in "iu":
        raise ValueError("indices must have an integer type")
    n = x.shape[at]
    if mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.take is not supported.")
    if mode not in (None, "fill", "clip", "wrap"):
        raise ValueError(f"Invalid mode '{mode}' for np.take")
    if n == 0 and index.size:
        raise IndexError("Cannot do a non-empty jnp.take() from an empty axis.")
    if n == 0:
        return zeros((*x.shape[:at], *index.shape, *x.shape[at + 1 :]), x.dtype)
    if is_extended(x.dtype):
        return x[(*(slice(None),) * at, index)]
    if mode == "wrap":
        index = index % n
    key = (*(slice(None),) * at, index)
    return take_index(x, key, "clip" if mode in ("clip", "wrap") else "fill", fill_value, mode != "clip")


def take_along_axis(
    arr: Any,
    indices: Any,
    axis: int | None = -1,
    mode: Any = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Any:
    """For each position along the other axes, the elements at its own indices. Out of bounds as in `take`; zeros where
    the axis is empty."""
    check_arraylike("take_along_axis", arr, indices)
    x, index = asarray(arr), asarray(indices)
    if KIND_OF[index.dtype] not in "iu":
        raise TypeError(f"take_along_axis indices must be of integer type, got {index.dtype}")
    if axis is None:
        if index.ndim != 1:
            raise ValueError(f"take_along_axis indices must be 1D if axis=None, got shape {index.shape}")
        x, axis = ravel(x), 0
    if x.ndim != index.ndim:
        raise ValueError(f"indices and arr must have the same number of dimensions; {index.ndim} vs. {x.ndim}")
    at = axis_of(axis, x.ndim)
    common = common_shape(*[tuple([1 if i == at else n for i, n in enumerate(s)]) for s in (x.shape, index.shape)])
    wide = tuple([x.shape[at] if i == at else n for i, n in enumerate(common)])
    narrow = tuple([index.shape[at] if i == at else n for i, n in enumerate(common)])
    if x.shape[at] == 0:
        return broadcast_to(zeros((), x.dtype), narrow)
    mode_of(mode, "fill")
    x, index = broadcast_to(x, wide), broadcast_to(index, narrow)
    grid = tuple([index if i == at else reshape(arange(n), row(i, x.ndim, n)) for i, n in enumerate(narrow)])
    outside = "fill" if mode is None and not is_extended(x.dtype) else mode
    how = (outside, fill_value, wrap_negative_indices is not False)
    check_looked_up(x.node, (at,), narrow)
    return keeping(x.node, "take_along_axis", lambda: take_index(x, grid, *how))


def row(axis: int, ndim: int, n: int) -> tuple[int, ...]:
    return tuple([n if i == axis else 1 for i in range(ndim)])


def not_inplace(name: str, inplace: bool) -> None:
    if inplace:
        raise ValueError(
            f"jax.numpy.{name} cannot modify arrays in-place, because JAX arrays are immutable. Pass inplace=False to "
            "instead return an updated array."
        )


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Any:
    """A copy of a with values at flat indices. Raises ValueError unless `inplace=False`."""
    not_inplace("put", inplace)
    check_arraylike("put", a, ind, v)
    x, index, values = asarray(a), ravel(ind), ravel(v)
    if mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.put is not supported.")
    if mode not in (None, "clip", "wrap"):
        raise ValueError(f"mode should be one of 'wrap' or 'clip'; got mode={mode!r}")
    if not x.size or not index.size or not values.size:
        return x
    times = -(-index.size // values.size)
    values = concatenate([values] * times)[: index.size] if times > 1 else values[: index.size]
    if mode is None:
        index = where(index < 0, index + x.size, index)
    index = index % x.size if mode == "wrap" else index.clip(0, x.size - 1)
    return reshape(update(ravel(x), index, values, "set"), x.shape)


def put_along_axis(
    arr: Any, indices: Any, values: Any, axis: int | None, inplace: bool = True, *, mode: str | None = None
) -> Any:
    """A copy of arr with values at each position's own indices. Raises ValueError unless `inplace=False`."""
    not_inplace("put_along_axis", inplace)
    check_arraylike("put_along_axis", arr, indices, values)
    x, index = asarray(arr), asarray(indices)
    shape = x.shape
    if axis is None:
        x, axis = ravel(x), 0
    if x.ndim != index.ndim:
        raise ValueError(f"put_along_axis arguments must have the same number of dimensions; {index.ndim}, {x.ndim}")
    at = axis_of(axis, x.ndim)
    dtype = x.dtype
    common = tuple([index.shape[i] if i == at else max(x.shape[i], index.shape[i]) for i in range(x.ndim)])
    value = broadcast_to(astype(values, dtype), common)
    index = broadcast_to(index, common)
    bounds = "clip" if mode == "clip" else "drop"
    out = apply(lambda x, i, v: put_along_axis_node(x, i, v, at, "set", bounds), x.node, index.node, value.node)
    return weak_as(x, reshape(out, shape))


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Any:
    """A copy of arr with values, repeated, where the mask holds. Raises ValueError unless `inplace=False`."""
    not_inplace("place", inplace)
    check_arraylike("place", arr, mask, vals)
    x, m, v = asarray(arr), ravel(mask) != 0, ravel(vals)
    if m.size != x.size:
        raise ValueError("place: arr and mask must be the same size")
    if v.size == 0:
        raise ValueError("Cannot place values from an empty array")
    if x.size == 0:
        return x
    order = (m.astype(int_dtype()).cumsum() - 1) % v.size
    return reshape(where(m, astype(v, x.dtype)[order], ravel(x)), x.shape)


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Of the choices, the one that each element of a names. Raises ValueError for mode "raise" out of bounds, and
    ConcretizationTypeError for it under a trace."""
    no_out("choose", out)
    given = list(choices) if not isinstance(choices, Array) else [choices[i] for i in range(choices.shape[0])]
    check_arraylike("choose", a, *given)
    index = asarray(a)
    if KIND_OF[index.dtype] not in "iu":
        raise ValueError("`a` array must be integer typed")
    n = len(given)
    if mode == "raise":
        values = value_of(index, "The default mode of jnp.choose raises, so it needs values: use 'clip' or 'wrap'.")
        if ((values < 0) | (values >= n)).any():
            raise ValueError("invalid entry in choice array")
    elif mode == "wrap":
        index = index % n
    elif mode == "clip":
        index = index.clip(0, n - 1)
    else:
        raise ValueError(f"mode={mode!r} not understood. Must be 'raise', 'wrap', or 'clip'")
    if not given:
        raise IndexError("index is out of bounds for axis 0 with size 0")
    index, *parts = broadcast_arrays(index, *given)
    choices = apply(lambda x: e.convert(x, x.dtype), as_node(stack(parts)))
    return take_index(choices, (index, *grid_of(index.shape)))


def grid_of(shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Index arrays that walk along an array of that shape."""
    return tuple([reshape(arange(n), row(i, len(shape), n)) for i, n in enumerate(shape)])


def compress(
    condition: Any, a: Any, axis: int | None = None, *, size: int | None = None, fill_value: Any = 0, out: Any = None
) -> Any:
    """The elements along an axis for which the condition holds."""
    no_out("compress", out)
    check_arraylike("compress", condition, a)
    mask, x = asarray(condition), asarray(a)
    if mask.ndim != 1:
        raise ValueError("condition must be a 1D array")
    if axis is None:
        x, axis = ravel(x), 0
    x = moveaxis(x, axis, 0)
    n = x.shape[0]
    if mask.size > n and not is_traced(mask) and mask._value()[n:].any():
        raise ValueError("condition contains entries that are out of bounds")
    mask, x = mask[:n], x[: mask.size]
    if size is None:
        picked = value_of(mask, size_needed("compress")).astype(bool)
        return moveaxis(x[picked], 0, axis)
    if not 0 <= size <= x.shape[0]:
        raise ValueError(
            "size must be positive and not greater than the size of the array axis; "
            f"got {size=} for a.shape[axis]={x.shape[0]}"
        )
    places = nonzero(mask, size=size, fill_value=x.shape[0])[0]
    return moveaxis(take_index(x, places, "fill", fill_value), 0, axis)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Any:
    """The elements for which the condition holds, as one axis."""
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """Of the choices, that of the first condition that holds. Raises ValueError for lists of unequal length."""
    if len(condlist) != len(choicelist):
        raise ValueError(f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})")
    if not condlist:
        raise ValueError("condlist must be non-empty")
    check_arraylike("select", *condlist, *choicelist, default)
    common, weak = promotion(x64_enabled(), *[typed(x) for x in (*choicelist, default)])
    out = astype(default, common)
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        out = where(condition, astype(choice, common), out)
    out = broadcast_to(out, np.broadcast_shapes(*[np.shape(x) for x in (*condlist, *choicelist, default)]))
    return apply(lambda x: cast_node(x, common, weak), out.node) if weak else out


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """For each condition a function or a number; one more for what none holds of."""
    check_arraylike("piecewise", x)
    given = asarray(x)
    if (
        isinstance(condlist, (Array, np.ndarray))
        and condlist.ndim == given.ndim
        and condlist.ndim
        or not isinstance(condlist, (list, tuple, Array, np.ndarray))
    ):
        condlist = [condlist]
    conditions = [asarray(c) != 0 for c in condlist]
    functions: list[Any] = list(funclist)
    if len(functions) == len(conditions):
        functions.append(0)
    elif len(functions) != len(conditions) + 1:
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or {len(conditions) + 1} functions are "
            f"expected; got {len(functions)}"
        )
    out = astype(value_at(functions[-1], given, args, kw), given.dtype)
    for condition, f in zip(conditions, functions):
        out = where(condition, astype(value_at(f, given, args, kw), given.dtype), out)
    return out if out.ndim > given.ndim else broadcast_to(out, given.shape)


def value_at(f: Any, x: Array, args: Any, kw: Any) -> Any:
    return f(x, *args, **kw) if callable(f) else asarray(f)


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """Flat indices as one array for each axis; out of bounds they are clamped."""
    check_arraylike("unravel_index", indices)
    sizes = shape_of(shape)
    index = asarray(indices)
    total = math.prod(sizes)
    index = where(index < 0, index + total, index).clip(0, max(total - 1, 0))
    out = []
    for n in reversed(sizes):
        out.append(index % n if n else index * 0)
        index = index // max(n, 1)
    return tuple(reversed(out))


def ravel_multi_index(
    multi_index: Sequence[Any], dims: Sequence[int], mode: str = "raise", order: str = "C", *, dtype: Any = None
) -> Any:
    """One flat index from an array for each axis. Raises ValueError for mode "raise" out of bounds."""
    if len(multi_index) != len(dims):
        raise ValueError(f"len(multi_index)={len(multi_index)} != len(dims)={len(dims)}")
    sizes = [operator.index(n) for n in dims]
    check_arraylike("ravel_multi_index", *multi_index)
    parts = [asarray(i) for i in multi_index]
    if any([KIND_OF[p.dtype] not in "iu" for p in parts]):
        wrong = next(p.dtype for p in parts if KIND_OF[p.dtype] not in "iu")
        raise ValueError(f"dtype={wrong!r} is not an integer type.")
    if mode == "raise":
        for p, n in zip(parts, sizes):
            values = value_of(p, "The default mode of jnp.ravel_multi_index raises: use 'clip' or 'wrap'.")
            if ((values < 0) | (values >= n)).any():
                raise ValueError("invalid entry in coordinates array")
    elif mode == "clip":
        parts = [p.clip(0, n - 1) for p, n in zip(parts, sizes)]
    elif mode == "wrap":
        parts = [p % n for p, n in zip(parts, sizes)]
    elif mode != "ignore":
        raise ValueError(f"invalid mode={mode!r}. Expected 'raise', 'wrap', 'clip', or 'ignore'.")
    if order not in ("C", "F"):
        raise ValueError(f"invalid order={order!r}. Expected 'C' or 'F'")
    strides = np.cumprod([1, *(sizes[:0:-1] if order == "C" else sizes[:-1])])
    steps = strides[::-1] if order == "C" else strides
    out = asarray(0, int_dtype() if dtype is None else dtype)
    for p, step in zip(parts, steps):
        out = out + p.astype(out.dtype) * asarray(int(step), out.dtype)
    return out


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """arr with values put in before indices along an axis."""
    check_arraylike("insert", arr, 0 if isinstance(obj, slice) else obj, values)
    x, v = asarray(arr), asarray(values)
    if axis is None:
        x, axis = ravel(x), 0
    at = axis_of(axis, x.ndim)
    n = x.shape[at]
    traced = not isinstance(obj, slice) and is_traced(obj) and asarray(obj).dtype != np.bool_
    if isinstance(obj, slice):
        places = np.arange(n)[obj]
    else:
        places = asarray(obj) if traced else value_of(obj, "jnp.insert needs to know where.")
    if places.ndim > 1:
        raise ValueError(f"jnp.insert(): obj must be a slice, a one-dimensional array, or a scalar; got {obj}")
    single = places.ndim == 0
    if not traced and places.dtype.kind == "b":
        places = np.nonzero(places)[0]
    places = where(places < 0, places + n, places) if traced else np.where(places < 0, places + n, places)
    places = places.ravel().clip(0, n)
    v = v.reshape((1,) * (x.ndim - v.ndim) + v.shape) if v.ndim < x.ndim else v
    if single and values is not None and np.ndim(values) > 0:
        v = moveaxis(v, 0, at)
    count = v.shape[at] if len(places) == 1 else len(places)
    region = tuple([count if i == at else m for i, m in enumerate(x.shape)])
    v = broadcast_to(astype(v, x.dtype), region)
    places = broadcast_to(places, (count,)) if traced else np.repeat(places, count) if len(places) == 1 else places
    out = take(concatenate([x, v], axis=at), sources(places, n), axis=at, mode="clip")
    return apply(lambda y: cast_node(y, x.dtype, x.weak_type), out.node) if x.weak_type else out


def sources(places: Any, n: int) -> Any:
    """Where each element of n old ones and new ones put in before `places` comes from, if the new follow the old."""
    total = n + len(places)
    if isinstance(places, np.ndarray):
        order = np.argsort(places, kind="stable")
        targets = places[order] + np.arange(len(places))
        source = np.cumsum(~np.isin(np.arange(total), targets)) - 1
        source[targets] = n + order
        return source
    number = arange(len(places))
    before = (places[None, :] < places[:, None]) | (
        (places[None, :] == places[:, None]) & (number[None, :] < number[:, None])
    )
    targets = places + before.sum(axis=1)
    old = (arange(total)[:, None] != targets[None, :]).all(axis=1)
    return update(old.astype(targets.dtype).cumsum() - 1, targets, n + number, "set")


def delete(arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False) -> Any:
    """arr without the elements at indices along an axis. A traced index works where it is one number, or where
    `assume_unique_indices` says how many remain."""
    check_arraylike("delete", arr, 0 if isinstance(obj, slice) else obj)
    x = asarray(arr)
    if axis is None:
        x, axis = ravel(x), 0
    at = axis_of(axis, x.ndim)
    n = x.shape[at]
    if not isinstance(obj, slice) and is_traced(obj):
        return delete_traced(x, asarray(obj), at, n, assume_unique_indices)
    keep = np.ones(n, bool)
    if isinstance(obj, slice):
        keep[obj] = False
    else:
        places = value_of(obj, "")
        if places.dtype.kind == "b":
            if places.shape != (n,):
                raise ValueError(
                    "np.delete(arr, obj): for boolean indices, obj must be one-dimensional with length matching "
                    "specified axis."
                )
            keep[places] = False
        elif places.dtype.kind not in "iu":
            raise ValueError(f"np.delete(arr, obj): got obj.dtype={places.dtype}; must be integer or bool.")
        else:
            if places.ndim == 0:
                places = axis_of(int(places), n)
            keep[places] = False
    return take(x, np.nonzero(keep)[0], axis=at, mode="clip")


def delete_traced(x: Array, index: Array, axis: int, n: int, unique: bool) -> Any:
    if index.size == 1:
        i = reshape(index, ())
        i = where(i < 0, i + n, i).clip(0, n - 1)
        source = arange(n - 1)
        return take(x, source + (source >= i), axis=axis, mode="clip")
    if not unique:
        raise concretization_error(index.node, "jnp.delete of several traced indices needs assume_unique_indices.")
    flat = ravel(index)
    flat = where(flat < 0, flat + n, flat)
    hit = update(zeros(n, np.bool_), flat, True, "set")
    source = nonzero(~hit, size=n - flat.size)[0]
    return take(x, source, axis=axis, mode="clip")


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """func1d of each vector along an axis, mapped over the others."""
    check_arraylike("apply_along_axis", arr)
    at = axis_of(axis, np.ndim(arr))

    def func(v: Any) -> Any:
        return func1d(v, *args, **kwargs)

    for i in range(1, np.ndim(arr) - at):
        func = vmap(func, i, -1, door=door)
    for _ in range(at):
        func = vmap(func, door=door)
    return func(arr)


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """func over one axis after another; each keeps its place. Raises ValueError where func drops more."""
    check_arraylike("apply_over_axes", a)
    x = asarray(a)
    for axis in axes:
        out = func(x, axis)
        if out.ndim == x.ndim - 1:
            out = reshape(out, (*out.shape[: axis_of(axis, x.ndim)], 1, *out.shape[axis_of(axis, x.ndim) :]))
        elif out.ndim != x.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        x = out
    return x
