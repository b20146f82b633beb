"""Averages, quantiles, histograms, covariances, differences, interpolation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import concretization_error
from ..array import Array, cast_node, check_arraylike, typed
from ..at import update
from ..at_once import apply
from ..dtypes import FLOAT32, KIND_OF, inexact, int_dtype, promotion, requested, x64_enabled
from . import at_once
from .axes import axes_of, axis_of, static_int
from .by_name import names_in
from .call import named
from .creation import asarray, astype, full, linspace, ones, ones_like, zeros
from .elementwise import table
from .joining import concatenate
from .products import dot
from .reductions import max as max_
from .reductions import mean
from .reductions import min as min_
from .reductions import sum as sum_
from .select import is_traced, take_along_axis, where
from .shape import broadcast_to, moveaxis, ravel, reshape, shape, squeeze, transpose
from .sorting import searchsorted, sort

absolute, floor, ceil, isnan, sqrt, clip = (table[n] for n in ("absolute", "floor", "ceil", "isnan", "sqrt", "clip"))


def floating(*xs: Any) -> list[Array]:
    """The arrays in their common dtype, at least floating."""
    dtype, _ = promotion(x64_enabled(), *[typed(x) for x in xs])
    return [astype(x, inexact(dtype)) for x in xs]


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False) -> Any:
    """The weighted mean. Raises TypeError, ValueError for weights that do not fit."""
    if names_in(axis):
        raise TypeError("'str' object cannot be interpreted as an integer")
    if weights is None:
        check_arraylike("average", a)
        out = mean(a, axis=axis, keepdims=keepdims)
        if not returned:
            return out
        n = math.prod([shape(a)[i] for i in axes_of(axis, len(shape(a)))])
        return out, full(out.shape, n, out.dtype)
    check_arraylike("average", a, weights)
    x, w = floating(a, weights)
    if x.shape != w.shape:
        if axis is None:
            raise ValueError("Axis must be specified when shapes of a and weights differ.")
        axes = [axis_of(i, x.ndim) for i in (axis if isinstance(axis, (tuple, list)) else (axis,))]
        if w.shape != tuple([x.shape[i] for i in axes]):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        w = reshape(transpose(w, np.argsort(axes)), tuple([x.shape[i] if i in axes else 1 for i in range(x.ndim)]))
        w = broadcast_to(w, x.shape)
    total = sum_(w, axis=axis, keepdims=keepdims)
    out = sum_(x * w, axis=axis, keepdims=keepdims) / total
    return (out, broadcast_to(total, out.shape)) if returned else out


# Quantiles.

METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")


def quantile_of(
    name: str, a: Any, q: Any, axis: Any, method: str, keepdims: bool, skip_nan: bool, weights: Any = None
) -> Any:
    """Along axes: sorted, then picked or interpolated at q (n - 1)."""
    if method not in METHODS:
        *names, last = map(repr, METHODS)
        raise ValueError(f"method can only be {', '.join(names)} or {last}; got {method!r}")
    if weights is not None and method != "inverted_cdf":
        raise NotImplementedError(f"{method} doesn't support weights; only 'inverted_cdf' supports weights.")
    (x,), q = floating(a), asarray(q)
    if KIND_OF[x.dtype] == "c":
        raise ValueError("quantile does not support complex input, as the operation is poorly defined.")
    axes = axes_of(axis, x.ndim)
    if q.ndim > 1:
        raise ValueError(f"q must be have rank <= 1, got shape {q.shape}")
    kept = tuple([1 if i in axes else n for i, n in enumerate(x.shape)]) or (1,)  # a scalar counts as one axis
    rest = [i for i in range(x.ndim) if i not in axes]
    x = transpose(x, (*rest, *axes))
    lead = x.shape[: len(rest)]
    rows = reshape(x, (*lead, math.prod(x.shape[len(rest) :])))
    if KIND_OF[q.dtype] != "f":
        raise TypeError(f"{name} does not accept q of dtype {q.dtype}. Accepted dtypes are subtypes of floating.")
    if rows.shape[-1] == 0 and 0 not in (q.shape if not skip_nan else (*q.shape, *lead)):
        one = skip_nan and not lead and q.ndim == 0 and not keepdims
        raise (IndexError if one else TypeError)("index is out of bounds for axis 0 with size 0")
    dtype = rows.dtype
    compute = FLOAT32 if dtype.itemsize < 4 else dtype
    rows, q = astype(rows, compute), astype(q, compute)
    if weights is not None:
        out = weighted_quantile(rows, weights, q, axes, rest, shape(a), skip_nan)
    else:
        out = quantile_rows(rows, q, method, skip_nan)
    out = moveaxis(out, -1, 0) if q.ndim else out[..., 0]
    if keepdims:
        out = reshape(out, (*q.shape, *kept))
    return astype(out, dtype)


def quantile_rows(rows: Array, q: Array, method: str, skip_nan: bool) -> Array:
    """Of the last axis; the results along a new last axis."""
    n = rows.shape[-1]
    flat = reshape(q, (-1,))
    lost = isnan(rows)
    ordered = sort(rows, axis=-1)
    if skip_nan:
        count = sum_(~lost, axis=-1, keepdims=True).astype(rows.dtype)
        at = flat * (count - 1)
        nothing = count == 0
    else:
        at = broadcast_to(flat * (n - 1), (*rows.shape[:-1], flat.shape[0]))
        count = full((*rows.shape[:-1], 1), n, rows.dtype)
        nothing = lost.any(axis=-1, keepdims=True)
    if method == "inverted_cdf":
        at = clip(ceil(flat * count) - 1, 0, count - 1)
    top = clip(count - 1, 0, None)
    low, high = clip(floor(at), 0, top), clip(ceil(at), 0, top)
    weight = at - floor(at)
    below, above = (take_along_axis(ordered, i.astype(np.int32), axis=-1, mode="clip") for i in (low, high))
    if method == "linear":
        out = below * (1 - weight) + above * weight
    elif method == "midpoint":
        out = (below + above) * 0.5
    elif method == "nearest":
        nearest = clip(ceil(at - 0.5), 0, top)  # the lower one of two that are as near
        out = take_along_axis(ordered, nearest.astype(np.int32), axis=-1, mode="clip")
    else:
        out = above if method == "higher" else below
    return where(nothing, np.nan, out)


def weighted_quantile(
    rows: Array,
    weights: Any,
    q: Array,
    axes: tuple[int, ...],
    rest: list[int],
    full_shape: tuple[int, ...],
    skip_nan: bool,
) -> Array:
    """Where the running sum of weights first reaches q times their sum. With `skip_nan` NaN has no weight."""
    check_arraylike("quantile", weights)
    w = astype(weights, rows.dtype)
    if w.shape != full_shape:
        if w.shape != tuple([full_shape[i] for i in axes]):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        w = reshape(w, tuple([full_shape[i] if i in axes else 1 for i in range(len(full_shape))]))
        w = broadcast_to(w, full_shape)
    w = reshape(transpose(w, (*rest, *axes)), rows.shape)
    lost = isnan(rows)
    w = where(lost, 0, w) if skip_nan else w
    order = rows.argsort(axis=-1)
    running = take_along_axis(w, order, axis=-1).cumsum(axis=-1)
    goal = reshape(q, (-1,)) * running[..., -1:]
    place = (running[..., None, :] < goal[..., :, None]).sum(axis=-1)
    out = take_along_axis(take_along_axis(rows, order, axis=-1), place, axis=-1, mode="clip")
    return where((lost.all if skip_nan else lost.any)(axis=-1, keepdims=True), np.nan, out)


def quantile_function(name: str, scale: float, skip_nan: bool) -> Callable[..., Any]:
    def call(
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: Any = None,
        out_sharding: Any = None,
    ) -> Any:
        check_arraylike(name, a, q)
        if out is not None or overwrite_input:
            raise ValueError(f"jax.numpy.{name} does not support overwrite_input=True or out != None")
        fraction = q if scale == 1 else floating(q)[0] / scale
        return quantile_of(name, a, fraction, axis, method, keepdims, skip_nan, weights)

    return named(call, name)


quantile, nanquantile = quantile_function("quantile", 1, False), quantile_function("nanquantile", 1, True)
percentile, nanpercentile = quantile_function("percentile", 100, False), quantile_function("nanpercentile", 100, True)


def median_function(name: str, skip_nan: bool) -> Callable[..., Any]:
    def call(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
        check_arraylike(name, a)
        if out is not None or overwrite_input:
            raise ValueError(f"jax.numpy.{name} does not support overwrite_input=True or out != None")
        return quantile_of(name, a, 0.5, axis, "midpoint", keepdims, skip_nan)

    return named(call, name)


median, nanmedian = median_function("median", False), median_function("nanmedian", True)

# Covariances.


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Any:
    """The covariances of rows (columns unless `rowvar`)."""
    check_arraylike("cov", m, *([] if y is None else [y]))
    if dtype is not None and KIND_OF[requested(dtype, "cov")] not in "fc":
        raise ValueError(f"cov: dtype must be a subclass of float or complex; got {dtype=}")
    parts = floating(m) if y is None else floating(m, y)
    x = parts[0]
    if any([p.ndim > 2 for p in parts]):
        raise ValueError("m has more than 2 dimensions")
    x = as_rows(x, rowvar or all([p.ndim == 1 for p in parts]))
    if y is not None:
        x = concatenate([x, as_rows(parts[1], rowvar or parts[1].ndim < 2 or parts[1].shape[0] == 1)], 0)
    if not x.shape[0]:
        return zeros((0, 0))
    if not x.shape[1]:
        return full((x.shape[0],) * 2 if x.shape[0] > 1 else (), np.nan, x.dtype)
    if ddof is None:
        ddof = 0 if bias else 1
    weights = covariance_weights(fweights, aweights, x.shape[1])
    if dtype is not None:
        x, weights = astype(x, dtype), weights if weights is None else astype(weights, dtype)
    if weights is None:
        center, total, norm = mean(x, axis=1), x.shape[1], x.shape[1] - ddof
    else:
        w = weights
        total = sum_(w)
        center = sum_(x * w, axis=1) / total
        norm = total - ddof if aweights is None else total - ddof * sum_(w * asarray(aweights)) / total
    x = x - center[:, None]
    right = x if weights is None else x * weights
    return squeeze(dot(x, transpose(right).conj()) / norm)


def as_rows(x: Array, rowvar: bool) -> Array:
    x = reshape(x, (1, -1)) if x.ndim < 2 else x
    return x if rowvar else transpose(x)


def covariance_weights(fweights: Any, aweights: Any, n: int) -> Any:
    out = None
    for name, w in (("fweights", fweights), ("aweights", aweights)):
        if w is None:
            continue
        check_arraylike("cov", w)
        if np.ndim(w) > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if shape(w)[0] != n:
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if name == "fweights" and KIND_OF[typed(w)[0]] not in "iu":
            raise TypeError("fweights must be integer.")
        out = asarray(w) if out is None else out * asarray(w)
    return out


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """The correlation coefficients of rows."""
    check_arraylike("corrcoef", x)
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    size = sqrt(c.diagonal().real)
    c = c / size[:, None] / size[None, :]
    if KIND_OF[c.dtype] == "c":
        return clip(c.real, -1, 1) + 1j * clip(c.imag, -1, 1)
    return clip(c, -1, 1)


# Counting.


def bincount(
    x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None, out_sharding: Any = None
) -> Any:
    """How often each non-negative integer stands in x, or the sum of its weights.

    Raises: ConcretizationTypeError for a traced x without `length`; ValueError for what is no vector of integers.
    """
    check_arraylike("bincount", x)
    v = asarray(x)
    if v.dtype.kind == "b":
        v = v.astype(int_dtype())
    if KIND_OF[v.dtype] not in "iu":
        raise TypeError(f"x argument to bincount must have an integer type; got {v.dtype}")
    if v.ndim != 1:
        raise ValueError("only 1-dimensional input supported.")
    least = static_int(minlength)
    if length is None:
        if is_traced(v):
            raise concretization_error(v.node, "It is argument 'x' of jnp.bincount: pass a static `length` argument.")
        length = max(least, max(int(v._value().max()), 0) + 1 if v.size else 0)
    else:
        length = static_int(length)
    w = ones(v.shape, int_dtype()) if weights is None else asarray(weights)
    if v.shape != w.shape:
        raise ValueError("shape of weights must match shape of x.")
    return update(zeros(length, w.dtype), v.clip(0), w, "add")


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of the bins of a histogram."""
    if isinstance(bins, str):
        raise NotImplementedError("string values for `bins` not implemented.")
    check_arraylike("histogram_bin_edges", a, bins)
    x = ravel(a)
    dtype = inexact(x.dtype)
    if np.ndim(bins) == 1:
        return astype(bins, dtype)
    count = static_int(bins, "It stands for the number of bins.")
    if range is None:
        low, high = min_(x), max_(x)
    else:
        bounds = asarray(range, dtype=dtype)
        if bounds.shape != (2,):
            raise ValueError(f"`range` must be either None or a sequence of scalars, got {bounds}")
        low, high = bounds
    low, high = astype(low, dtype), astype(high, dtype)
    same = low == high
    low, high = where(same, low - 0.5, low), where(same, high + 0.5, high)
    return linspace(low, high, count + 1, dtype=dtype)


def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None) -> Any:
    """How many elements, or how much weight, each bin holds; and the bins' edges."""
    check_arraylike("histogram", a, bins, *([] if weights is None else [weights]))
    if weights is not None and shape(weights) != shape(a):
        raise ValueError("weights should have the same shape as a.")
    x, w = floating(ravel(a), ravel(a if weights is None else weights))
    edges = histogram_bin_edges(x, bins, range, w)
    if weights is None:
        w = ones_like(x)
    places = searchsorted(edges, x, side="right")
    places = where(x == edges[-1], edges.shape[0] - 1, places)
    counts = update(zeros(edges.shape[0], w.dtype), places, w, "add")[1:]
    if density:
        width = edges[1:] - edges[:-1]
        counts = counts / width / sum_(counts)
    return counts, edges


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None
) -> Any:
    """The histogram of pairs, and the edges along both axes."""
    check_arraylike("histogram2d", x, y)
    try:
        n = len(bins)
    except TypeError:
        n = 1
    if n not in (1, 2):
        edges = asarray(bins)
        bins = [edges, edges]
    counts, edges = histogramdd(asarray([asarray(x), asarray(y)]).T, bins, range, weights, density)
    return counts, edges[0], edges[1]


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None
) -> Any:
    """The histogram of points, one a row, and the edges along each axis."""
    check_arraylike("histogramdd", sample, *([] if weights is None else [weights]))
    if np.ndim(sample) != 2:
        raise ValueError(f"histogramdd takes a point in each row, got a sample of shape {np.shape(sample)}")
    (x,) = floating(sample)
    n, rank = x.shape
    if weights is not None and shape(weights) != (n,):
        raise ValueError("should have one weight for each sample.")
    per_axis = list(bins) if isinstance(bins, (list, tuple)) else [bins] * rank
    if len(per_axis) != rank:
        raise ValueError("should be a bin for each dimension.")
    spans = [None] * rank if range is None else list(range)
    if len(spans) != rank:
        raise ValueError(
            f"For sample.shape={(n, rank)}, range must be a sequence of {rank} pairs or Nones; got {range=}"
        )
    edges = [histogram_bin_edges(x[:, i], per_axis[i], spans[i], weights) for i in builtin_range(rank)]
    flat: Any = zeros(n, int_dtype())
    inside: Any = ones(n, np.bool_)
    for i, e in enumerate(edges):
        place = searchsorted(e, x[:, i], side="right")
        place = where(x[:, i] == e[-1], e.shape[0] - 1, place) - 1
        inside = inside & (place >= 0) & (place < e.shape[0] - 1)
        flat = flat * (e.shape[0] - 1) + place
    sizes = [e.shape[0] - 1 for e in edges]
    total = math.prod(sizes)
    w = ones(n, int_dtype()) if weights is None else asarray(weights)
    counts = reshape(update(zeros(total, w.dtype), where(inside, flat, total), w, "add"), tuple(sizes))
    if density:
        counts = counts / sum_(counts)
        for i, e in enumerate(edges):
            width = e[1:] - e[:-1]
            counts = counts / reshape(width, tuple([-1 if k == i else 1 for k in builtin_range(rank)]))
    return counts, edges


builtin_range = range

# Along an axis.


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The n-th differences along an axis."""
    found = at_once.diff(a, axis) if n == 1 and prepend is None and append is None else None
    if found is not None:
        return found
    check_arraylike("diff", a)
    x = asarray(a)
    times = static_int(n)
    if times < 0:
        raise ValueError(f"order must be non-negative but got {times}")
    if times == 0:
        return x
    if x.ndim == 0:
        raise ValueError(f"diff requires input that is at least one dimensional; got {a}")
    at = axis_of(axis, x.ndim)
    edge = tuple([1 if i == at else m for i, m in enumerate(x.shape)])
    parts = [x]
    for extra, front in ((prepend, True), (append, False)):
        if extra is not None:
            check_arraylike("diff", extra)
            piece = broadcast_to(extra, edge) if np.ndim(extra) == 0 else asarray(extra)
            parts = [piece, *parts] if front else [*parts, piece]
    x = concatenate(parts, at) if len(parts) > 1 else x
    late, early = (
        tuple([s if i == at else slice(None) for i in builtin_range(x.ndim)]) for s in (slice(1, None), slice(None, -1))
    )
    for _ in builtin_range(times):
        x = x[late] != x[early] if x.dtype.kind == "b" else x[late] - x[early]
    return x


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of the elements as one axis, with others before and behind."""
    check_arraylike("ediff1d", ary)
    x = ravel(ary)
    out = x[1:] - x[:-1]
    if to_begin is not None:
        check_arraylike("ediff1d", to_begin)
        out = concatenate([astype(ravel(to_begin), out.dtype), out])
    if to_end is not None:
        check_arraylike("ediff1d", to_end)
        out = concatenate([out, astype(ravel(to_end), out.dtype)])
    return out


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral by the trapezoidal rule."""
    check_arraylike("trapezoid", y, *([] if x is None else [x]))
    if x is None:
        (values,) = floating(y)
        steps = asarray(dx)
        if steps.ndim:
            steps = moveaxis(reshape(steps, (*(1,) * (values.ndim - steps.ndim), *steps.shape)), axis, -1)
    else:
        values, points = floating(y, x)
        steps = diff(points) if points.ndim == 1 else moveaxis(diff(points, axis=axis), axis, -1)
    values = moveaxis(values, axis, -1)
    if steps.ndim == 0 or steps.shape[-1] == 1:
        step = steps if steps.ndim == 0 else steps[..., 0]
        return step * (sum_(values, axis=-1) - 0.5 * (values[..., 0] + values[..., -1]))
    return 0.5 * sum_(steps * (values[..., 1:] + values[..., :-1]), axis=-1)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int | None = None) -> Any:
    """Central differences inside, one-sided ones at the ends; an array for each axis."""
    check_arraylike("gradient", f)
    (x,) = floating(f)
    if edge_order is not None:
        raise NotImplementedError("The 'edge_order' argument to jnp.gradient is not supported.")
    if axis is None and x.ndim == 0:
        return []
    axes = (
        list(builtin_range(x.ndim))
        if axis is None
        else [axis_of(i, x.ndim) for i in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    )
    if any([x.shape[i] < 2 for i in axes]):
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least 2 elements are required."
        )
    if len(varargs) == 0:
        steps: list[Any] = [1.0] * len(axes)
    elif len(varargs) == 1 and np.ndim(varargs[0]) == 0:
        steps = [varargs[0]] * len(axes)
    elif len(varargs) == len(axes):
        steps = list(varargs)
    else:
        raise TypeError(f"Invalid number of spacing arguments {len(varargs)} for axis={axis}")
    out = [slopes(x, i, h) for i, h in zip(axes, steps)]
    above = {"b": "iufc", "i": "fc", "u": "fc"}.get(KIND_OF[typed(f)[0]], "")
    if typed(f)[1] or any([typed(h)[1] and KIND_OF[typed(h)[0]] in above for h in varargs]):
        out = [apply(lambda y: cast_node(y, y.dtype, True), y.node) for y in out]
    return out[0] if len(out) == 1 else out


def slopes(x: Array, axis: int, h: Any) -> Any:
    v = moveaxis(x, axis, -1)
    if np.ndim(h) == 0:
        ends = [(v[..., 1:2] - v[..., 0:1]) / h, (v[..., -1:] - v[..., -2:-1]) / h]
        inner = (v[..., 2:] - v[..., :-2]) * 0.5 / h
    else:
        if np.ndim(h) != 1 or len(h) != v.shape[-1]:
            raise ValueError(
                "Spacing arrays must have the same length as the dimension along which the gradient is taken."
            )
        d = diff(astype(h, v.dtype))
        a, b = d[:-1], d[1:]
        inner = (
            (-b / (a * (a + b))) * v[..., :-2] + ((b - a) / (a * b)) * v[..., 1:-1] + (a / (b * (a + b))) * v[..., 2:]
        )
        ends = [(v[..., 1:2] - v[..., 0:1]) / d[0], (v[..., -1:] - v[..., -2:-1]) / d[-1]]
    return moveaxis(concatenate([ends[0], inner, ends[1]], -1), -1, axis)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Linear interpolation between points; outside the first or last value, `left` and `right`, or "extrapolate"."""
    check_arraylike("interp", x, xp, fp)
    if shape(xp) != shape(fp) or np.ndim(xp) != 1:
        raise ValueError("xp and fp must be one-dimensional arrays of equal size")
    for name, v in (("left", left), ("right", right)):
        if isinstance(v, str) and v != "extrapolate":
            raise ValueError(f"the only valid string value of `{name}` is 'extrapolate', but got: {v!r}")
    xs, points = floating(x, xp)
    if KIND_OF[xs.dtype] == "c":
        raise ValueError("jnp.interp: complex x values not supported.")
    (values,) = floating(fp)
    if period is not None:
        if np.ndim(period) != 0:
            raise ValueError(f"period must be a scalar; got {period}")
        cycle = absolute(asarray(period))
        xs, points = xs % cycle, points % cycle
        order = points.argsort()
        points, values = points[order], values[order]
        points = concatenate([points[-1:] - cycle, points, points[:1] + cycle])
        values = concatenate([values[-1:], values, values[:1]])
    i = clip(searchsorted(points, xs, side="right"), 1, points.shape[0] - 1)
    d, dx = xs - points[i - 1], points[i] - points[i - 1]
    flat = absolute(dx) <= np.finfo(points.dtype).eps ** 2 if points.dtype.kind == "f" else dx == 0
    slope = where(flat, 0, d / where(flat, 1, dx))
    out = where(flat, values[i - 1], values[i - 1] + slope * (values[i] - values[i - 1]))
    if period is None:
        if left is None or not isinstance(left, str):
            out = where(xs < points[0], values[0] if left is None else left, out)
        if right is None or not isinstance(right, str):
            out = where(xs > points[-1], values[-1] if right is None else right, out)
    return out


def unwrap(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * np.pi) -> Any:
    """Angles without jumps of more than half a period."""
    check_arraylike("unwrap", p)
    x = asarray(p)
    if KIND_OF[x.dtype] == "c":
        raise ValueError("jnp.unwrap does not support complex inputs.")
    dtype, weak = promotion(x64_enabled(), typed(x), typed(period))
    if x.shape[axis] == 0:
        return apply(lambda n: cast_node(n, dtype, weak), x.node)
    x, cycle, whole = astype(x, dtype), astype(period, dtype), KIND_OF[dtype] in "iu"
    limit = cycle / 2 if discont is None else asarray(discont)
    half = cycle // 2 if whole else cycle / 2
    jump = diff(x, axis=axis)
    wrapped = (jump + half) % cycle - half
    wrapped = where((wrapped == -half) & (jump > 0), half, wrapped)
    fix = where(absolute(jump) < limit, 0, wrapped - jump)
    at = axis_of(axis, x.ndim)
    key = tuple([slice(0, 1) if i == at else slice(None) for i in builtin_range(x.ndim)])
    rest = tuple([slice(1, None) if i == at else slice(None) for i in builtin_range(x.ndim)])
    return concatenate([x[key], x[rest] + fix.cumsum(axis=at)], at)
