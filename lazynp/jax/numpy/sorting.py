"""Order: sort, argsort, partition, searchsorted, unique and the operations on sets."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...errors import concretization_error
from ...graph.node import Node
from ...ops import joining as j
from ...ops import sorting as s
from ...ops.elementwise import convert, subtract
from ...ops.tags import stop_gradient
from ..array import Array, as_node, cast_node, check_arraylike, typed
from ..at import update
from ..at_once import apply
from ..dtypes import FLOAT32, INT32, KIND_OF, complex_of, int_dtype, requested
from ..extrema import check_ordered
from ..indexing import take_index
from . import at_once
from .axes import axis_of, check_sizes, static_int
from .call import COMMON, named, promoted
from .creation import arange, asarray, astype, full, ones_like, zeros
from .joining import concatenate
from .select import is_traced, nonzero, size_needed, take, where
from .shape import moveaxis, ravel, reshape


def sortable(x: Node) -> Node:
    """The small types of ml_dtypes are sorted as float32. Raises TypeError for random keys, which have no order."""
    check_ordered(x)
    return convert(x, FLOAT32) if x.dtype.kind == "V" and KIND_OF[x.dtype] == "f" else x


def check_options(name: str, kind: Any, order: Any) -> None:
    if kind is not None:
        raise TypeError(
            f"'kind' argument to {name} is not supported. Use stable=True or stable=False to specify sort stability."
        )
    if order is not None:
        raise TypeError(f"'order' argument to {name} is not supported.")


def sort(
    a: Any, axis: int | None = -1, *, kind: Any = None, order: Any = None, stable: bool = True, descending: bool = False
) -> Any:
    """Sorted along an axis; NaN stands last (first, if descending)."""
    if kind is None and order is None and not descending:
        found = at_once.sort(a, axis)
        if found is not None:
            return found
    check_arraylike("sort", a)
    check_options("sort", kind, order)
    x = as_node(ravel(a) if axis is None else a)
    at = axis_of(-1 if axis is None else axis, x.ndim)

    def impl(x: Node) -> Node:
        out = cast_node(s.sort(sortable(x), axis=at, kind="stable" if stable else None), x.dtype, x.weak)
        return j.flip(out, (at,)) if descending else out

    return apply(impl, x)


def argsort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: Any = None,
    order: Any = None,
    stable: bool = True,
    descending: bool = False,
    dtype: Any = None,
) -> Any:
    """The indices that sort along an axis."""
    if kind is None and order is None and not descending and dtype is None:
        found = at_once.argsort(a, axis)
        if found is not None:
            return found
    check_arraylike("argsort", a)
    check_options("argsort", kind, order)
    x = as_node(ravel(a) if axis is None else a)
    at = axis_of(-1 if axis is None else axis, x.ndim)
    to = int_dtype() if dtype is None else requested(dtype, "argsort")

    def impl(x: Node) -> Node:
        if not descending:
            return convert(s.argsort(sortable(x), axis=at, kind="stable"), to)
        back = convert(s.argsort(sortable(j.flip(x, (at,))), axis=at, kind="stable"), to)
        last = Node.of_scalar(to.type(x.shape[at] - 1))
        return subtract(last, j.flip(back, (at,)))

    return apply(impl, x)


def sort_complex(a: Any) -> Any:
    """Sorted by real part, then imaginary part, as complex numbers."""
    check_arraylike("sort_complex", a)
    x = asarray(a)
    return sort(astype(x, complex_of(x.dtype)), axis=-1)


def partition_like(name: str, argument: bool) -> Callable[..., Any]:
    """The least elements in order, then the others, the largest first; or the places of the least in order, then the
    others as they come."""

    def call(a: Any, kth: int, axis: int = -1) -> Any:
        check_arraylike(name, a)
        x = as_node(a)
        if x.dtype.kind == "c":
            raise NotImplementedError(f"jnp.{name} for complex dtype is not implemented.")
        at = axis_of(axis, x.ndim)
        k = axis_of(static_int(kth, "It stands for `kth`."), x.shape[at])
        if x.dtype.kind == "b":
            raise TypeError(
                "neg does not accept dtype bool. Accepted dtypes are subtypes of integer, floating, complexfloating."
            )

        def impl(x: Node) -> Node:
            keys = sortable(x)
            order = s.argsort(keys, axis=at, kind="stable") if argument else s.sort(keys, axis=at, kind=None)
            low, high = j.span(order, at, 0, k + 1), j.span(order, at, k + 1, x.shape[at] - k - 1)
            if argument:
                return convert(j.concatenate(low, s.sort(high, axis=at, kind=None), axis=at), INT32)
            return cast_node(j.concatenate(low, j.flip(high, (at,)), axis=at), x.dtype, x.weak)

        return apply(impl, x)

    return named(call, name)


partition, argpartition = partition_like("partition", False), partition_like("argpartition", True)


def lexsort(keys: Any, axis: int = -1) -> Any:
    """The indices that sort by several keys, the last of which counts first."""
    given = [asarray(k) for k in keys]
    if not given:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if len({k.shape for k in given}) > 1:
        raise ValueError("all keys need to be the same shape")
    if given[0].ndim == 0:
        return asarray(0, int_dtype())
    at = axis_of(axis, given[0].ndim)
    return apply(
        lambda *nodes: convert(s.lexsort([sortable(n) for n in nodes], at), int_dtype()), *[k.node for k in given]
    )


def check_search(method: Any) -> None:
    """Raise ValueError for what names no way of searching. All of them give the same."""
    if method not in ("compare_all", "scan", "scan_unrolled", "sort"):
        raise ValueError(
            f"invalid argument method={method!r}, expected one of ['compare_all', 'scan', 'scan_unrolled', 'sort']"
        )


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan") -> Any:
    """Where v would have to be put into sorted a. Raises ValueError for a that is no vector, or another side."""
    check_arraylike("searchsorted", a, v)
    if np.ndim(a) != 1:
        raise ValueError("a should be 1-dimensional")
    if side not in ("left", "right"):
        raise ValueError(f"invalid argument side={side!r}, expected 'left' or 'right'")
    check_search(method)
    x, y = promoted(COMMON, a if sorter is None else asarray(a)[sorter], v)
    return apply(lambda x, y: convert(s.searchsorted(sortable(x), sortable(y), side=side, stack=0), INT32), x, y)


def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Any:
    """The number of the bin that each element lies in; bins may fall as well as rise."""
    check_arraylike("digitize", x, bins)
    edges = asarray(bins)
    if edges.ndim != 1:
        raise ValueError(f"digitize: bins must be a 1-dimensional array; got bins={bins}")
    if edges.shape[0] == 0:
        return zeros(np.shape(x), int_dtype())
    check_search("scan" if method is None else method)
    side = "right" if not right else "left"
    rising = searchsorted(edges, x, side=side)
    falling = edges.shape[0] - searchsorted(edges[::-1], x, side=side)
    return where(edges[-1] >= edges[0], rising, falling)


# Sets.


class _UniqueAllResult(NamedTuple):
    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class _UniqueCountsResult(NamedTuple):
    values: Any
    counts: Any


class _UniqueInverseResult(NamedTuple):
    values: Any
    inverse_indices: Any


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    sorted: bool = True,
) -> Any:
    """The different elements, in order; on request where each first stands, which of them each element is, and how
    often each stands. With `size`, so many, the rest `fill_value` (the least).

    Raises: ConcretizationTypeError for a traced array without `size`.
    """
    check_arraylike("unique", ar)
    x = asarray(ar)
    if size is None and is_traced(x):
        raise concretization_error(x.node, size_needed("unique"))
    if size is None:
        x = apply(stop_gradient, x.node)
    if axis is None:
        rows, shape = ravel(x), x.shape
    else:
        at = axis_of(axis, x.ndim)
        rows = moveaxis(x, at, 0)
        shape = (rows.shape[0],)
        rest = rows.shape[1:]
        rows = reshape(rows, (rows.shape[0], math.prod(rest)))
    if size is not None:
        check_sizes("broadcast_in_dim", (size,))
    if fill_value is not None:
        fill_value = asarray(fill_value)
    parts = unique_rows(rows, equal_nan, size, fill_value)
    values, index, inverse, counts = parts
    if axis is not None:
        values = moveaxis(reshape(values, (values.shape[0], *rest)), 0, at)
    extra = [
        v
        for v, wanted in (
            (index, return_index),
            (reshape(inverse, shape), return_inverse),
            (counts, return_counts),
        )
        if wanted
    ]
    return (values, *extra) if extra else values


def unique_rows(rows: Array, equal_nan: bool, size: int | None, fill_value: Any) -> tuple[Any, Any, Any, Any]:
    """Of a vector, or of the rows of a matrix: values, first places, inverse, counts."""
    n, dtype = rows.shape[0], int_dtype()
    if n == 0 or rows.size == 0 and rows.ndim == 1:
        if size:
            if fill_value is None:
                raise ValueError("jnp.unique: for zero-sized input with nonzero size argument, fill_value is required")
            empty = full((size, *rows.shape[1:]), fill_value, rows.dtype)
            return empty, zeros(0, dtype), zeros(n, dtype), zeros(0, dtype)
        return rows, zeros(0, dtype), zeros(n, dtype), zeros(0, dtype)
    if rows.size == 0:
        size = None  # rows without elements are all one, however many are asked for
    order = (
        argsort(rows) if rows.ndim == 1 else lexsort([rows[:, k] for k in reversed(range(rows.shape[1]))] or [zeros(n)])
    )
    ordered = rows[order]
    differs = ordered[1:] != ordered[:-1]
    if equal_nan and KIND_OF[rows.dtype] in "fc":
        differs = differs & ((ordered[1:] == ordered[1:]) | (ordered[:-1] == ordered[:-1]))
    if rows.ndim == 2:
        differs = differs.any(axis=1)
    first = concatenate([ones_like(differs, shape=(1,)), differs])
    group = first.astype(dtype).cumsum() - 1
    inverse = update(zeros(n, dtype), order, group, "set")
    # With one more than is asked for, the last one kept has an end as well.
    bounds = nonzero(first, size=None if size is None else size + 1, fill_value=n)[0]
    starts = bounds if size is None else bounds[:-1]
    found = first.sum()
    count = starts.shape[0]
    ends = concatenate([starts[1:], full((1,), n, dtype)]) if size is None else bounds[1:]
    counts = where(arange(count) < found, ends - starts, 0).astype(dtype)
    places = where(starts < n, starts, starts[:1])
    index = order[places].astype(dtype)
    values = ordered[places]
    if fill_value is not None and size is not None:
        inside = (arange(count) < found).reshape((count,) + (1,) * (values.ndim - 1))
        values = where(inside, values, asarray(fill_value, rows.dtype))
    return values, index, inverse, counts


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The different elements with first places, inverse and counts."""
    check_arraylike("unique_all", x)
    found = unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    return _UniqueAllResult(*found)


def unique_counts(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The different elements, and how often each stands."""
    check_arraylike("unique_counts", x)
    return _UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_inverse(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The different elements, and which of them each element is."""
    check_arraylike("unique_inverse", x)
    return _UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The different elements."""
    check_arraylike("unique_values", x)
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


def pair(name: str, ar1: Any, ar2: Any) -> tuple[Array, Array]:
    """Two arrays as vectors of their common dtype."""
    check_arraylike(name, ar1, ar2)
    a, b = promoted(COMMON, ar1, ar2)
    flat = apply(lambda a, b: (convert(a, a.dtype), convert(b, b.dtype)), a, b)
    return ravel(flat[0]), ravel(flat[1])


def weak_as(ar1: Any, ar2: Any, x: Array) -> Array:
    """x, weak where both of these are."""
    weak = typed(ar1)[1] and typed(ar2)[1]
    return apply(lambda n: cast_node(n, n.dtype, True), x.node) if weak else x


def static_size(name: str, size: int | None, *arrays: Array) -> None:
    if size is None and is_traced(*arrays):
        traced = next(a for a in arrays if is_traced(a))
        raise concretization_error(traced.node, size_needed(name))


ISIN_METHODS = ("compare_all", "binary_search", "sort", "auto")


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, method: str = "auto"
) -> Any:
    """Whether each element is one of the others."""
    check_arraylike("isin", element, test_elements)
    if method not in ISIN_METHODS:
        raise ValueError(
            f"method={method!r} is not implemented; options are {', '.join(map(repr, ISIN_METHODS[:-1]))}, and 'auto'"
        )
    shape = np.shape(element)
    a, b = pair("isin", element, test_elements)
    if b.size == 0 or a.size == 0:
        return full(shape, invert, np.bool_)
    if b.size <= 32 and method in ("auto", "compare_all"):
        out = (a[:, None] == b[None, :]).any(axis=-1)
    else:
        ordered = sort(b)
        out = take(ordered, searchsorted(ordered, a), mode="clip") == a
    out = reshape(out, shape)
    return ~out if invert else out


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """What is in one or the other, in order."""
    check_arraylike("union1d", ar1, ar2)
    a, b = ravel(ar1), ravel(ar2)
    static_size("union1d", size, a, b)
    both = concatenate([a, b])
    out = unique(both, size=size, fill_value=fill_value)
    weak = both.weak_type and both.dtype.kind != "c"
    return apply(lambda x: cast_node(x, x.dtype, weak), out.node) if both.weak_type else out


def setdiff1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Any:
    """What is in the first and not in the second."""
    check_arraylike("setdiff1d", ar1, ar2)
    dtype = typed(ar1)[0]
    a, b = ravel(astype(ar1, dtype) if dtype.kind == "c" else ar1), ravel(ar2)
    static_size("setdiff1d", size, a, b)
    if a.size == 0:
        return full((size or 0,), 0 if fill_value is None else fill_value, a.dtype)
    if not assume_unique:
        a = unique(a, size=a.size if size is not None else None)
    mask = isin(a, b, invert=True)
    if size is None:
        return a[mask]
    if not assume_unique:  # repetitions at the end are the filling of `unique`
        mask = mask & concatenate([ones_like(mask[:1]), a[1:] != a[:-1]]) & (arange(a.size) <= first_repeat(a))
    places = nonzero(mask, size=size, fill_value=a.size)[0]
    other = asarray(0 if fill_value is None else fill_value).astype(a.dtype)
    found, (own, weak) = where(places < a.size, take_index(a, places, "clip"), other), typed(a)
    return apply(lambda x: cast_node(x, own, weak), found.node)


def first_repeat(a: Array) -> Any:
    """The last place up to which a vector rises."""
    rising = concatenate([ones_like(a[:1], np.bool_), a[1:] > a[:-1]])
    return where(rising.all(), a.size, rising.argmin() - 1)


def setxor1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Any:
    """What is in one and not in the other, in order; with `assume_unique` what stands once in both together."""
    a, b = pair("setxor1d", ar1, ar2)
    static_size("setxor1d", size, a, b)
    if size is not None and not assume_unique:
        left = ~isin(a, b) if b.size else ones_like(a, np.bool_)
        right = ~isin(b, a) if a.size else ones_like(b, np.bool_)
        return weak_as(ar1, ar2, masked_unique(concatenate([a, b]), concatenate([left, right]), size, fill_value))
    if not assume_unique:
        a, b = unique(a), unique(b)
    both = sort(concatenate([a, b]))
    ends, differs = ones_like(both[:1], np.bool_), both[1:] != both[:-1]
    alone = concatenate([ends, differs]) & concatenate([differs, ends])
    return weak_as(ar1, ar2, both[alone] if size is None else sized(both, alone, size, fill_value)[0])


def masked_unique(x: Array, kept: Array, size: int, fill_value: Any) -> Any:
    """The different elements under a mask, in order, filled up to a size."""
    order = lexsort([x, ~kept])
    ordered, inside = x[order], kept[order]
    new = inside & concatenate([ones_like(inside[:1]), ordered[1:] != ordered[:-1]])
    return sized(ordered, new, size, fill_value)[0]


def sized(ordered: Array, mask: Array, size: int | None, fill_value: Any) -> tuple[Array, Array, Array]:
    """What stands under a mask, where, and which of these there are: filled up to a size with the first of it, or with
    0 where there is nothing."""
    places = nonzero(mask, size=size, fill_value=ordered.size)[0]
    found = places < ordered.size
    values = take(ordered, places, mode="clip") if ordered.size else zeros(places.shape, ordered.dtype)
    if size is not None:
        first = where(found.any(), values[:1], 0).astype(ordered.dtype)
        values = where(found, values, first if fill_value is None else fill_value)
    return values, places, found


def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """What is in both, in order; on request where it stands in each. With `assume_unique` what stands twice in both
    together."""
    a, b = pair("intersect1d", ar1, ar2)
    static_size("intersect1d", size, a, b)
    if assume_unique:
        both = concatenate([a, b])
        back = argsort(both)
        ordered = both[back]
        values, places, found = sized(ordered[:-1], ordered[1:] == ordered[:-1], size, fill_value)
        order, in_b = back, take(back, places + 1, mode="clip") - a.size if back.size else places
    else:
        kept = isin(a, b)
        order = lexsort([arange(a.size), a, ~kept])
        ordered, inside = a[order], kept[order]
        new = inside & concatenate([ones_like(inside[:1]), ordered[1:] != ordered[:-1]])
        values, places, found = sized(ordered, new, size, fill_value)
        back = argsort(b)
        in_b = take(back, searchsorted(b[back], values), mode="clip") if b.size else places
    if size is None:
        values = weak_as(ar1, ar2, values)
    if not return_indices:
        return values
    in_a = take(order, places, mode="clip") if order.size else places
    dtype = int_dtype()
    return values, where(found, in_a, a.size).astype(dtype), where(found, in_b, b.size).astype(dtype)
