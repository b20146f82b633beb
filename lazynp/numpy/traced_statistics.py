"""NumPy's text that asks whether some value is NaN or zero, without asking: for arrays that have no value, under
`jit` and `vmap`. Loaded with the transformations; see `traced_math.PYTHON`.
"""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy
from numpy.lib.array_utils import normalize_axis_tuple

from .array import Handle, ndarray
from .recorded import value_of
from .traced import Rule, concrete
from .traced_polynomials import known

theirs: Any = numpy.lib._function_base_impl


def names() -> Any:
    return sys.modules["lazynp"]


def quantile(
    arr: Any,
    quantiles: Any,
    axis: int = -1,
    method: str = "linear",
    out: Any = None,
    weights: Any = None,
    weak_q: bool = False,
) -> Any:
    """NumPy's own places in the whole, which is sorted."""
    module, props = sys.modules["lazynp.lib._function_base_impl"], theirs._QuantileMethods.get(method)
    if known(arr, quantiles, weights) or props is None or not isinstance(arr, (ndarray, numpy.ndarray)):
        return NotImplemented
    np = names()
    if weights is not None:
        return given_to(out, weighted_quantile(arr, quantiles, axis, weights))
    x, n = np.sort(np.moveaxis(arr, axis, 0), axis=0), arr.shape[axis]
    fixed = known(quantiles)
    if fixed:
        virtual = numpy.asanyarray(props["get_virtual_index"](n, value_of(quantiles)))
    else:
        virtual = np.asanyarray(module._QuantileMethods[method]["get_virtual_index"](n, quantiles))
    at_points = method == "linear" and virtual.dtype.kind in "iu"
    if props["fix_gamma"] is None or at_points:
        result = np.take(x, virtual, axis=0)
    else:
        if fixed:
            before, after = theirs._get_indexes(numpy.empty(0, arr.dtype), virtual, n)
            gamma = theirs._get_gamma(virtual, before, props)
        else:
            below = np.floor(virtual)
            before, after = [np.clip(i, 0, n - 1).astype(np.intp) for i in (below, below + 1)]
            gamma = module._get_gamma(virtual, before, module._QuantileMethods[method])
        gamma = float(gamma) if weak_q and fixed else gamma.reshape(virtual.shape + (1,) * (x.ndim - 1))
        result = module._lerp(np.take(x, before, axis=0), np.take(x, after, axis=0), gamma)
    return given_to(out, with_nan(x, result))


def with_nan(x: Any, result: Any) -> Any:
    """NaN, which is sorted to the end, makes a quantile NaN."""
    return names().where(names().isnan(x[-1]), numpy.nan, result) if x.dtype.kind == "f" else result


def given_to(out: Any, result: Any) -> Any:
    if out is None:
        return result
    out[...] = result
    return out


def weighted_quantile(arr: Any, quantiles: Any, axis: int, weights: Any) -> Any:
    """The first number whose weight, with those of all smaller ones, is the wanted part of all."""
    np = names()
    arr, weights, points = np.moveaxis(arr, axis, 0), np.asanyarray(weights), np.asanyarray(quantiles)
    order = np.argsort(arr, axis=0)
    x = np.take_along_axis(arr, order, axis=0)
    if weights.ndim > 1 or weights.shape == arr.shape:
        weights = np.take_along_axis(np.moveaxis(weights, axis, 0) if weights.ndim > 1 else weights, order, axis=0)
    else:
        weights = np.take(weights.reshape(-1), order, axis=0)
    parts = weights.cumsum(axis=0, dtype=np.float64)
    parts = (parts / parts[-1]).astype(points.dtype if points.dtype.kind == "f" else np.float64)
    parts = np.where(parts == 0, -1, parts)  # what weighs nothing is not the first
    wanted = points.reshape(points.shape + (1,) * arr.ndim)
    places = np.minimum((parts < wanted).sum(axis=points.ndim), arr.shape[0] - 1)
    rows = places.reshape((-1, *arr.shape[1:]))
    return with_nan(x, np.take_along_axis(x, rows, axis=0).reshape(places.shape))


def valid_quantile(q: Any) -> Any:
    """Whether quantiles are between 0 and 1: those that are not known are taken to be."""
    return NotImplemented if concrete(q) else True


def median_nancheck(data: Any, result: Any, axis: int) -> Any:
    if concrete(data):
        return NotImplemented
    np = names()
    if data.dtype.kind not in "fc" or not data.size:
        return result
    bad = np.isnan(np.take(data, -1, axis=axis))
    if not result.shape:
        return np.where(bad, np.nan, result)
    np.copyto(result, np.nan, where=bad)
    return result


def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: Any = True,
    retstep: Any = False,
    dtype: Any = None,
    axis: Any = 0,
    **kwargs: Any,
) -> Any:
    if type(axis) is not int or kwargs or known(start, stop) or not known(num):
        return NotImplemented
    np, num = names(), operator.index(num)
    if num < 0:
        return NotImplemented
    first, last = np.asanyarray(start) * 1.0, np.asanyarray(stop) * 1.0
    computed = np.result_type(first, last, float(num))
    target = computed if dtype is None else numpy.dtype(dtype)
    whole, count = last - first, num - 1 if endpoint else num
    y = np.arange(num, dtype=computed).reshape((num,) + (1,) * whole.ndim)
    y = (y * (whole / count) if count > 0 else y * whole) + first
    if endpoint and num > 1:
        y[-1] = last + 0.0 * first
    y = np.moveaxis(np.floor(y) if target.kind in "iu" else y, 0, axis).astype(target)
    return (y, whole / count if count > 0 else numpy.nan) if retstep else y


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: Any = False, *, keepdims: Any = numpy._NoValue
) -> Any:
    """Weights that add up to zero give NaN, or an infinity: they are an error only where they are known."""
    module = sys.modules["lazynp.lib._function_base_impl"]
    if weights is None or not isinstance(weights, Handle) or concrete(weights):
        return NotImplemented
    np = names()
    a = np.asanyarray(a)
    axis = axis if axis is None else normalize_axis_tuple(axis, a.ndim, argname="axis")
    kept = {} if keepdims is numpy._NoValue else {"keepdims": keepdims}
    w = module._weights_are_valid(weights=weights, a=a, axis=axis)
    dtype = numpy.result_type(a.dtype, w.dtype, *(("f8",) if a.dtype.kind in "biu" else ()))
    total = w.sum(axis=axis, dtype=dtype, **kept)
    found = np.multiply(a, w, dtype=dtype).sum(axis, **kept) / total
    return (found, total if total.shape == found.shape else total + 0 * found) if returned else found


def cov(
    m: Any,
    y: Any = None,
    rowvar: Any = True,
    bias: Any = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """With weights that are not known: NumPy's text asks whether they are whole numbers, and not negative."""
    if known(fweights, aweights):
        return NotImplemented
    np = names()
    parts = [np.asarray(x) for x in (m, y) if x is not None]
    dtype = numpy.result_type(*[x.dtype for x in parts], numpy.float64) if dtype is None else dtype
    rows = [x.astype(dtype).reshape((1, -1)) if x.ndim < 2 else x.astype(dtype) for x in parts]
    x = np.concatenate([r.T if not rowvar and p.ndim > 1 and r.shape[0] != 1 else r for r, p in zip(rows, parts)])
    given = [np.asarray(w).astype(float) for w in (fweights, aweights) if w is not None]
    if any(w.shape != x.shape[1:] for w in given):
        return NotImplemented
    w, ddof = given[0] if len(given) == 1 else given[0] * given[1], int(not bias) if ddof is None else ddof
    middle, total = np.average(x, axis=1, weights=w), w.sum()
    x = x - middle[:, None]
    free = total - ddof if aweights is None else total - ddof * (w * given[-1]).sum() / total
    return (np.dot(x, (x * w).T.conj()) * np.true_divide(1, free)).squeeze()


def i0(x: Any) -> Any:
    """Both of NumPy's series everywhere, each inside of its bounds, where NumPy takes the elements apart by a mask."""
    module, np = sys.modules["lazynp.lib._function_base_impl"], names()
    if x.dtype.kind == "c":
        return NotImplemented
    x = np.abs(x if x.dtype.kind == "f" else x.astype(float))
    small = x <= 8.0
    near, far = module._i0_1(np.where(small, x, 8.0)), module._i0_2(np.where(small, 8.0, x))
    return np.where(small, near, far).astype(x.dtype)


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Each function of all elements, of which those are taken that its condition chooses, where NumPy gives it those
    alone."""
    np = names()
    x = np.asanyarray(x)
    one = isinstance(condlist, bool) or isinstance(condlist, Handle) and condlist.ndim == x.ndim
    single = not isinstance(condlist, Handle) and not isinstance(condlist[0], (list, Handle, numpy.ndarray)) and x.ndim
    if one or single:
        return np.piecewise(x, [condlist], funclist, *args, **kw)
    conditions = [np.asarray(c).astype(bool) for c in condlist]
    if known(*conditions) or len(funclist) - len(conditions) not in (0, 1):
        return NotImplemented
    if len(funclist) > len(conditions):
        conditions.append(~np.any(np.stack(conditions), axis=0))
    out = np.zeros_like(x)
    for c, f in zip(conditions, funclist):
        value = f(x, *args, **kw) if callable(f) else f
        out = np.where(c, np.asarray(value).astype(x.dtype), out)
    return out


def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: Any = False, w: Any = None, cov: Any = False) -> Any:
    found = fit(names().vander, x, y, deg, rcond, full, w, 1, cov)
    return (found[0], *found[1]) if full and type(found) is tuple else found


def fit(
    vandermonde: Rule,
    x: Any,
    y: Any,
    deg: Any,
    rcond: Any = None,
    full: Any = False,
    w: Any = None,
    more: int = 0,
    cov: Any = False,
) -> Any:
    """`polyutils._fit`, of all degrees up to a number, without its question for the rank, which only values answer;
    `more`: how many columns there are beyond the number that `vandermonde` is given."""
    np = names()
    if type(deg) is not int or deg < 0 or known(x, y, w):
        return NotImplemented
    x, y = np.asarray(x) + 0.0, np.asarray(y) + 0.0
    if x.ndim != 1 or not x.size or y.ndim not in (1, 2) or len(x) != len(y):
        return NotImplemented
    columns = vandermonde(x, deg + more)
    if w is not None:
        w = np.asarray(w) + 0.0
        if w.shape != x.shape:
            return NotImplemented
        columns, y = columns * w[:, None], y * (w[:, None] if y.ndim == 2 else w)
    scale = np.sqrt((np.abs(columns) ** 2).sum(axis=0))
    scale = np.where(scale == 0, 1.0, scale)
    rcond = len(x) * numpy.finfo(x.dtype).eps if rcond is None else rcond
    found, residuals, rank, sizes = np.linalg.lstsq(columns / scale, y, rcond)
    found = (found.T / scale).T
    if full:
        return found, [residuals, rank, sizes, rcond]
    if not cov:
        return found
    spread = np.linalg.inv(columns.T @ columns)
    if cov != "unscaled":
        free = len(x) - deg - 1
        if free <= 0:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        residuals = residuals / free
        return found, spread * residuals if y.ndim == 1 else spread[:, :, None] * residuals
    return found, spread if y.ndim == 1 else spread[:, :, None]


RULES: tuple[tuple[str, str, Rule], ...] = (
    ("lazynp.lib._function_base_impl", "piecewise", piecewise),
    ("lazynp.lib._polynomial_impl", "polyfit", polyfit),
    ("lazynp.polynomial.polyutils", "_fit", fit),
    ("lazynp.lib._function_base_impl", "_quantile", quantile),
    ("lazynp.lib._function_base_impl", "_quantile_is_valid", valid_quantile),
    ("lazynp.lib._utils_impl", "_median_nancheck", median_nancheck),
    ("lazynp._core.function_base", "linspace", linspace),
    ("lazynp.lib._function_base_impl", "cov", cov),
    ("lazynp.lib._function_base_impl", "i0", i0),
)
if hasattr(theirs, "_weights_are_valid"):
    RULES += (("lazynp.lib._function_base_impl", "average", average),)
