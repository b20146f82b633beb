"""Reductions: sums, products, extrema, moments, and the cumulative ones. In JAX's dtypes: sums of small integers are
32-bit, means of integers are float32; half precision is summed in single."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...config import config
from ...graph.node import ABSTRACT, Node
from ...ops import elementwise as e
from ...ops import reductions as r
from ...ops import transcendental as t
from ...ops.elementwise import convert, is_complex, where
from ...ops.joining import concatenate
from ...ops.promotion import real_dtype
from ...ops.scans import scans
from ...ops.shape import add_reduce, broadcast_to, reshape
from ...tracebacks import leave
from ..array import ERRORS, NDARRAY, SILENT, Array, as_node, check_arraylike, new
from ..at_once import apply
from ..casts import astype_node
from ..dtypes import FLOAT32, INT32, KIND_OF, default, inexact, int_dtype, requested, shown, x64_enabled
from ..parallel import pmax, pmin, psum
from ..spreading import check_whole, state
from ..symbolic import is_symbolic_dim
from . import at_once
from .axes import axes_of, axis_of, check_broadcast, no_out
from .by_name import length_of, names_in, over_names
from .call import named
from .elementwise import scalar, truth
from .shape import broadcast_shapes

BOOL = np.dtype(bool)
LONG = "lLqQ"


def sum_dtype(dtype: np.dtype[Any], promote: bool = True) -> np.dtype[Any]:
    """The dtype of a sum: the default integer for bool and narrower ones."""
    kind = KIND_OF[dtype]
    if kind == "b":
        return int_dtype()
    if kind in "iu" and promote and dtype.itemsize < default(x64_enabled(), kind).itemsize:
        return default(x64_enabled(), kind)
    return dtype


def wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which something of this one is summed: float32 for half precision."""
    return FLOAT32 if KIND_OF[dtype] == "f" and dtype.itemsize < 4 else dtype


def mask_of(name: str, given: Any, shape: tuple[int, ...] | None = None) -> Node | None:
    """A mask as booleans. Raises ValueError for another dtype, and where it does not broadcast with that shape."""
    if given is None:
        return None
    check_arraylike(name, given)
    node = as_node(given)
    if node.dtype.kind != "b":
        raise ValueError(f"jnp.{name}: where must be None or a boolean array; got where.dtype={node.dtype!r}.")
    if shape is not None:
        broadcast_shapes(node.shape, shape, ())
    return node


def scalar_initial(initial: Any) -> Node | None:
    if initial is None:
        return None
    check_arraylike("initial", initial)
    node = as_node(initial)
    if node.ndim:
        raise ValueError(f"initial value must be a scalar. Got array of shape {node.shape}")
    return node


def reducer(ufunc: np.ufunc, chars: str, widens: bool = False) -> Callable[[Any, Any, Any], Any]:
    """The reduction of a small value, or None where it is not one, or where a sum is of 64 bits (`widens`)."""
    direct = frozenset(chars)
    reduce: Any = ufunc.reduce  # its stub does not know that all of its arguments may be positional

    def run(a: Any, axis: Any, keepdims: bool) -> Any:
        if type(a) is not Array:
            return None
        h = a._host
        if (
            h is None
            or h.dtype.char not in direct
            or widens
            and h.dtype.char in "iI"
            and x64_enabled()
            or h.size > config.limit
            or axis is not None
            and (type(axis) is not int or not h.ndim)
        ):
            return None
        token = ERRORS.set(SILENT)
        try:
            value = reduce(h, axis, h.dtype, None, keepdims)
        except ValueError:
            return None
        finally:
            ERRORS.reset(token)
        out = new(Array)
        out._host = value if type(value) is NDARRAY else np.array(value)
        out._weak, out._graph = False, None
        return out

    return run


def additive(name: str, ufunc: str) -> Callable[..., Any]:
    """sum and prod."""
    fast = reducer(getattr(np, ufunc), "fdFDilILqQ", widens=True)

    def call(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
        promote_integers: bool = True,
    ) -> Any:
        try:
            if dtype is None and initial is None and where is None and out is None:
                found = fast(a, axis, keepdims)
                if found is not None:
                    return found
            no_out(name, out, axis)
            check_arraylike(name, a)
            if names_in(axis):
                mask_of(name, where, np.shape(a))
                total = over_names(
                    name,
                    axis,
                    lambda rest: call(a, rest, dtype, None, keepdims, None, where, promote_integers),
                    psum if ufunc == "add" else None,
                )
                return total if initial is None else total + initial
            x = as_node(a)
            axes = axes_of(axis, x.ndim)
            result = sum_dtype(x.dtype, promote_integers) if dtype is None else requested(dtype, name)
            if dtype is None and KIND_OF[x.dtype] == "b" and not promote_integers:
                result = INT32
            start, mask = scalar_initial(initial), mask_of(name, where, x.shape)

            def impl(x: Node, *rest: Node) -> Node:
                given = iter(rest)
                first = next(given) if start is not None else None
                kept = next(given) if mask is not None else None
                x = astype_node(x, wide(result))
                total = r.reduce(
                    ufunc, x, axes, keepdims, x.dtype, None if first is None else convert(first, x.dtype), kept
                )
                return convert(total, result)

            return apply(impl, x, *[n for n in (start, mask) if n is not None])
        except BaseException as error:
            leave(error)
            raise

    return named(call, name)


def extremum(name: str, ufunc: str) -> Callable[..., Any]:
    """max and min."""
    fast = reducer(getattr(np, ufunc), "?bhilqBHILQfdFDe")

    def call(
        a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
    ) -> Any:
        try:
            if initial is None and where is None and out is None:
                found = fast(a, axis, keepdims)
                if found is not None:
                    return found
            no_out(name, out, axis)
            check_arraylike(name, a)
            if initial is None and where is not None:
                if isinstance(axis, float):
                    axes_of(axis, 0)  # which raises
                raise ValueError(
                    f"reduction operation {name} does not have an identity, so to use a where mask one has to specify "
                    "'initial'"
                )
            if names_in(axis):
                combine = pmax if ufunc == "maximum" else pmin
                return over_names(name, axis, lambda rest: call(a, rest, None, keepdims, initial, where), combine)
            x = as_node(a)
            axes = axes_of(axis, x.ndim)
            if (
                initial is None
                and any([x.shape[i] == 0 for i in axes])
                and 0 not in [n for i, n in enumerate(x.shape) if i not in axes]
            ):
                raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
            start, mask = scalar_initial(initial), mask_of(name, where, x.shape)

            def impl(x: Node, *rest: Node) -> Node:
                given = iter(rest)
                first = convert(next(given), x.dtype) if start is not None else None
                kept = next(given) if mask is not None else None
                dtype = x.dtype
                x = convert(x, wide(dtype))
                first = None if first is None else convert(first, x.dtype)
                return convert(r.reduce(ufunc, x, axes, keepdims, None, first, kept), dtype)

            return apply(impl, x, *[n for n in (start, mask) if n is not None])
        except BaseException as error:
            leave(error)
            raise

    return named(call, name)


def logical(name: str, ufunc: str) -> Callable[..., Any]:
    """all and any."""
    fast = reducer(getattr(np, ufunc), "?")

    def call(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = None) -> Any:
        try:
            if where is None and out is None:
                found = fast(a, axis, keepdims)
                if found is not None:
                    return found
            no_out(name, out, axis)
            check_arraylike(name, a)
            if names_in(axis):
                mask_of(name, where, np.shape(a))
                return over_names(name, axis, lambda rest: None, None)
            x = as_node(a)
            axes, mask = axes_of(axis, x.ndim), mask_of(name, where, x.shape)

            def impl(x: Node, kept: Node | None = None) -> Node:
                return r.reduce(ufunc, truth(x), axes, keepdims, None, None, kept)

            return apply(impl, x, *[n for n in (mask,) if n is not None])
        except BaseException as error:
            leave(error)
            raise

    return named(call, name)


sum, prod = additive("sum", "add"), additive("prod", "multiply")
max, min = extremum("max", "maximum"), extremum("min", "minimum")
amax, amin = extremum("amax", "maximum"), extremum("amin", "minimum")
all, any_ = logical("all", "logical_and"), logical("any", "logical_or")


def counted(x: Node, axes: tuple[int, ...], mask: Node | None, keepdims: bool, dtype: np.dtype[Any]) -> Node:
    """How many elements go into a mean."""
    if mask is None:
        count: Any = math.prod([x.shape[a] for a in axes])
        return convert(count.node, dtype) if is_symbolic_dim(count) else Node.of_scalar(dtype.type(count))
    full = broadcast_to(convert(mask, dtype), shape=x.shape)
    return add_reduce(full, axes=axes, keepdims=keepdims, dtype=dtype)


def mean_node(x: Node, axes: tuple[int, ...], keepdims: bool, mask: Node | None) -> Node:
    """Of floats or complex numbers, in x's dtype."""
    total = r.reduce("add", x, axes, keepdims, x.dtype, None, mask)
    count = convert(counted(x, axes, mask, keepdims, real_dtype(x.dtype)), x.dtype)
    return by_number(total, count) if mask is None else e.divide(total, count)


def by_number(total: Node, count: Node) -> Node:
    """A sum divided by a known number, as JAX's compiled code does it: see `formulas.divide`."""
    if total.trace == ABSTRACT or total.dtype.kind != "f":
        return e.divide(total, count)
    return e.multiply(total, e.divide(Node.of_scalar(total.dtype.type(1)), count))


def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """The mean; of integers in floating point."""
    if dtype is None and out is None and where is None:
        found = at_once.mean(a, axis, keepdims)
        if found is not None:
            return found
    check_arraylike("mean", a)
    no_out("mean", out, axis)
    x, mask = as_node(a), mask_of("mean", where)
    if mask is not None:
        check_broadcast(mask, x.shape)
    result = inexact(x.dtype) if dtype is None else requested(dtype, "mean")
    axes = () if names_in(axis) else axes_of(axis, x.ndim)
    if KIND_OF[result] == "b":
        raise TypeError(
            "div does not accept dtype bool at position 0. Accepted dtypes at position 0 are subtypes of integer, "
            "floating, complexfloating."
        )
    if names_in(axis):
        count = length_of(axis, x.shape) if where is None else sum(broadcast_mask(where, x), axis, dtype=result)
        return sum(a, axis, result, None, keepdims, where=where) / count

    def impl(x: Node, kept: Node | None = None) -> Node:
        x = convert(x, wide(inexact(result)))
        return convert(mean_node(x, axes, keepdims, kept), result)

    return apply(impl, x, *[n for n in (mask,) if n is not None])


def var_node(x: Node, axes: tuple[int, ...], keepdims: bool, mask: Node | None, ddof: Any, center: Node | None) -> Node:
    """Of floats or complex numbers, in the real dtype."""
    dtype = real_dtype(x.dtype)
    center = mean_node(x, axes, True, mask) if center is None else convert(center, x.dtype)
    d = e.subtract(x, center)
    squares = e.add(e.square(e.real(d)), e.square(e.imag(d))) if is_complex(d) else e.square(d)
    total = r.reduce("add", squares, axes, keepdims, dtype, None, mask)
    count = e.subtract(counted(x, axes, mask, keepdims, dtype), Node.of_scalar(dtype.type(ddof)))
    nan = Node.of_scalar(dtype.type(np.nan))
    good = e.greater(count, Node.of_scalar(dtype.type(0)))
    if mask is None:
        return e.divide(total, where(good, count, nan))
    return where(good, e.divide(total, where(good, count, nan)), nan)


def moment(name: str, finish: Callable[[Node], Node]) -> Callable[..., Any]:
    """var and std."""

    def call(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: bool = False,
        *,
        where: Any = None,
        mean: Any = None,
        correction: Any = None,
    ) -> Any:
        try:
            if dtype is None and out is None and where is None and mean is None and correction is None:
                found = at_once.variance(a, axis, ddof, keepdims, name == "std")
                if found is not None:
                    return found
            check_arraylike(name, a)
            no_out(name, out, axis)
            if correction is not None:
                if ddof != 0:
                    raise ValueError("ddof and correction can't be provided simultaneously.")
                ddof = correction
            x, mask = as_node(a), mask_of(name, where)
            if dtype is not None and is_complex(x) and KIND_OF[requested(dtype, name)] != "c":
                raise ValueError(
                    "jax.numpy.var does not yet support real dtype parameters when computing the variance of an array "
                    "of complex values: what numpy.var does then is unclear."
                )
            if dtype is not None and KIND_OF[requested(dtype, name)] not in "fc":
                raise ValueError(f"dtype argument to jnp.{name} must be inexact; got {requested(dtype, name)}")
            if mask is not None:
                check_broadcast(mask, x.shape)
            if names_in(axis):
                return along_names(a, axis, dtype, ddof, keepdims, where, mean, finish)
            axes = axes_of(axis, x.ndim)
            center = None if mean is None else as_node(mean)
            result = real_dtype(inexact(x.dtype)) if dtype is None else requested(dtype, name)
            compute = wide(inexact(x.dtype)) if dtype is None else wide(result)
            if is_complex(x) and compute.kind != "c":
                compute = inexact(x.dtype)

            def impl(x: Node, *rest: Node) -> Node:
                given = iter(rest)
                kept = next(given) if mask is not None else None
                middle = next(given) if center is not None else None
                return convert(finish(var_node(convert(x, compute), axes, keepdims, kept, ddof, middle)), result)

            return apply(impl, x, *[n for n in (mask, center) if n is not None])
        except BaseException as error:
            leave(error)
            raise

    return named(call, name)


def along_names(
    a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: bool, where: Any, center: Any, finish: Callable[[Node], Node]
) -> Any:
    """var and std where some axes have names."""
    center = mean(a, axis, dtype, keepdims=True, where=where) if center is None else center
    squares = apply(lambda x, c: e.square(e.absolute(e.subtract(x, convert(c, x.dtype)))), as_node(a), as_node(center))
    full = squares.shape
    count = length_of(axis, full) if where is None else sum(broadcast_mask(where, squares.node), axis, dtype=int)
    return apply(finish, (sum(squares, axis, dtype, None, keepdims, where=where) / (count - ddof)).node)


def broadcast_mask(where: Any, x: Node) -> Any:
    return apply(lambda m: broadcast_to(truth(m), shape=x.shape), as_node(where))


var, std = moment("var", lambda x: x), moment("std", t.sqrt)


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The largest less the least."""
    check_arraylike("ptp", a)
    no_out("ptp", out, axis)
    return max(a, axis=axis, keepdims=keepdims) - min(a, axis=axis, keepdims=keepdims)


def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """How many elements are not 0."""
    check_arraylike("count_nonzero", a)
    x = as_node(a)
    dtype = int_dtype()
    if names_in(axis):
        return sum(apply(truth, x), axis, dtype, keepdims=keepdims)
    axes = axes_of(axis, x.ndim)
    return apply(lambda x: add_reduce(convert(truth(x), dtype), axes=axes, keepdims=keepdims, dtype=dtype), x)


def arg_extremum(name: str, skip_nan: bool = False) -> Callable[..., Any]:
    """argmax and argmin, nanargmax and nanargmin."""
    base = name.removeprefix("nan")
    op, filler = getattr(r, base), -np.inf if base == "argmax" else np.inf

    def call(a: Any, axis: Any = None, out: Any = None, keepdims: bool | None = None) -> Any:
        try:
            if out is None and not keepdims and not skip_nan:
                found = at_once.arg_extremum(name, a, axis)
                if found is not None:
                    return found
            if skip_nan:
                no_out(name, out)
            check_arraylike(name, a)
            no_out(name, out)
            x = as_node(a)
            if x.dtype.names:
                raise ValueError(f"Unsupported dtype for {base.removeprefix('arg')}: {shown(x.dtype)}")
            if is_complex(x):
                raise TypeError(f"{name} does not accept dtype {x.dtype}")
            at = None if axis is None else axis_of(axis, x.ndim)
            if (x.aval.size if at is None else x.shape[at]) == 0:
                raise ValueError(f"attempt to get {name} of an empty sequence")
            dtype, nd, keep = int_dtype(), x.ndim, bool(keepdims)

            def impl(x: Node) -> Node:
                x = convert(x, wide(x.dtype)) if x.dtype.kind != "b" else x
                missing = e.isnan(x) if skip_nan and x.dtype.kind == "f" else None
                if missing is not None:
                    x = where(missing, scalar(filler, x), x)
                flat = x if at is not None else reshape(x, shape=(x.aval.size,))
                out = convert(op(flat, axis=at or 0, keepdims=keep and at is not None), dtype)
                if missing is not None:
                    axes = tuple(range(nd)) if at is None else (at,)
                    lost = r.logical_and_reduce(missing, axes=axes, keepdims=keep and at is not None, dtype=None)
                    out = where(lost, Node.of_scalar(dtype.type(-1)), out)
                return reshape(out, shape=(1,) * nd) if keep and at is None else out

            return apply(impl, x)
        except BaseException as error:
            leave(error)
            raise

    return named(call, name)


argmax, argmin = arg_extremum("argmax"), arg_extremum("argmin")
nanargmax, nanargmin = arg_extremum("nanargmax", True), arg_extremum("nanargmin", True)

# Cumulative.


def cumulative(name: str, ufunc: str, fill: float | None = None, promote: bool = False) -> Callable[..., Any]:
    """cumsum and cumprod; `fill` stands for NaN."""
    host = getattr(np, ufunc)

    def call(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        try:
            if dtype is None and out is None and fill is None:
                found = at_once.cumulated(host, a, axis)
                if found is not None:
                    return found
            no_out(name, out)
            check_arraylike(name, a)
            x = as_node(a)
            at = None if axis is None or x.ndim == 0 and x.weak and axis in (0, -1) else axis_of(axis, x.ndim)
            result = sum_dtype(x.dtype, promote) if dtype is None else requested(dtype, name)
            if at is None and state.on:
                check_whole(x, f"The input should be fully replicated when axis is not specified to {name}.")

            def impl(x: Node) -> Node:
                if fill is not None and KIND_OF[x.dtype] in "fc":
                    x = convert(x, wide(x.dtype))
                    x = where(e.isnan(x), scalar(fill, x), x)
                x = astype_node(x, wide(result))
                if at is None:
                    x = reshape(x, shape=(x.aval.size,))
                out = scans[ufunc](x, axis=at or 0, dtype=x.dtype)
                if result.kind == "b":
                    out = truth(out)
                return convert(out, result)

            return apply(impl, x)
        except BaseException as error:
            leave(error)
            raise

    return named(call, name)


cumsum, cumprod = cumulative("cumsum", "add"), cumulative("cumprod", "multiply")
nancumsum, nancumprod = cumulative("nancumsum", "add", 0.0), cumulative("nancumprod", "multiply", 1.0)


def cumulative_array_api(name: str, ufunc: str, unit: int) -> Callable[..., Any]:
    """cumulative_sum and cumulative_prod of the array API."""
    run = cumulative(name, ufunc, promote=name == "cumulative_sum")

    def call(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        try:
            check_arraylike(name, x)
            node = as_node(x)
            if node.ndim == 0:
                what = "sum" if ufunc == "add" else "product"
                raise ValueError(
                    f"The input must be non-scalar to take a cumulative {what}, however a scalar value or scalar array "
                    "was given."
                )
            if axis is None:
                if node.ndim > 1:
                    raise ValueError(
                        f"The input array has rank {node.ndim}, however axis was not set to an explicit value. "
                        "The axis argument is only optional for one-dimensional arrays."
                    )
                axis = 0
            at = axis_of(axis, node.ndim)
            out = run(x, axis=at, dtype=dtype)
            if not include_initial:
                return out

            def with_initial(y: Node) -> Node:
                shape = tuple([1 if i == at else n for i, n in enumerate(y.shape)])
                return concatenate(broadcast_to(scalar(unit, y), shape=shape), y, axis=at)

            return apply(with_initial, out.node)
        except BaseException as error:
            leave(error)
            raise

    return named(call, name)


cumulative_sum = cumulative_array_api("cumulative_sum", "add", 0)
cumulative_prod = cumulative_array_api("cumulative_prod", "multiply", 1)
