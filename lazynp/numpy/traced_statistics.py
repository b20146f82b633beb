"""NumPy's text that asks whether some value is NaN or zero, without asking: for arrays that have no value, under
`jit` and `vmap`. Loaded with the transformations; see `traced_math.PYTHON`.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy
from numpy.lib.array_utils import normalize_axis_tuple

from .array import Handle, ndarray
from .recorded import value_of
from .traced import Rule, concrete

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
    """The places are NumPy's own, worked out from the quantiles alone; the whole is sorted."""
    props = theirs._QuantileMethods.get(method)
    if concrete(arr) or not concrete(quantiles) or weights is not None or props is None or type(arr) is not ndarray:
        return NotImplemented
    np = names()
    x, n = np.sort(np.moveaxis(arr, axis, 0), axis=0), arr.shape[axis]
    virtual = numpy.asanyarray(props["get_virtual_index"](n, value_of(quantiles)))
    at_points = method == "linear" and virtual.dtype.kind in "iu"
    if props["fix_gamma"] is None or at_points:
        result = np.take(x, virtual, axis=0)
    else:
        before, after = theirs._get_indexes(numpy.empty(0, arr.dtype), virtual, n)
        gamma = theirs._get_gamma(virtual, before, props)
        gamma = float(gamma) if weak_q else gamma.reshape(virtual.shape + (1,) * (x.ndim - 1))
        lerp = sys.modules["lazynp.lib._function_base_impl"]._lerp
        result = lerp(np.take(x, before, axis=0), np.take(x, after, axis=0), gamma)
    if arr.dtype.kind == "f":
        result = np.where(np.isnan(x[-1]), np.nan, result)
    if out is None:
        return result
    out[...] = result
    return out


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
    plainly = type(num) is int and num >= 0 and not retstep and type(axis) is int and not kwargs
    if not plainly or all([concrete(x) for x in (start, stop) if isinstance(x, Handle)]):
        return NotImplemented
    np = names()
    first, last = np.asanyarray(start) * 1.0, np.asanyarray(stop) * 1.0
    computed = np.result_type(first, last, float(num))
    target = computed if dtype is None else numpy.dtype(dtype)
    if target.kind not in "fc":
        return NotImplemented
    whole, count = last - first, num - 1 if endpoint else num
    y = np.arange(num, dtype=computed).reshape((num,) + (1,) * whole.ndim)
    y = (y * (whole / count) if count > 0 else y * whole) + first
    if endpoint and num > 1:
        y[-1] = last + 0.0 * first
    return np.moveaxis(y, 0, axis).astype(target)


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


def i0(x: Any) -> Any:
    """Both of NumPy's series everywhere, each inside of its bounds, where NumPy takes the elements apart by a mask."""
    module, np = sys.modules["lazynp.lib._function_base_impl"], names()
    if concrete(x) or x.dtype.kind == "c":
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


def known(*arrays: Any) -> bool:
    return all([concrete(x) for x in arrays if isinstance(x, Handle)])


def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: Any = False, w: Any = None, cov: Any = False) -> Any:
    return NotImplemented if cov else fit(names().vander, x, y, deg, rcond, full, w, 1)


def fit(
    vandermonde: Rule, x: Any, y: Any, deg: Any, rcond: Any = None, full: Any = False, w: Any = None, more: int = 0
) -> Any:
    """`polyutils._fit`, of all degrees up to a number, without its question for the rank, which only values answer;
    `more`: how many columns there are beyond the number that `vandermonde` is given."""
    np = names()
    if full or type(deg) is not int or deg < 0 or known(x, y, w):
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
    return (np.linalg.lstsq(columns / scale, y, rcond)[0].T / scale).T


RULES: tuple[tuple[str, str, Rule], ...] = (
    ("lazynp.lib._function_base_impl", "piecewise", piecewise),
    ("lazynp.lib._polynomial_impl", "polyfit", polyfit),
    ("lazynp.polynomial.polyutils", "_fit", fit),
    ("lazynp.lib._function_base_impl", "_quantile", quantile),
    ("lazynp.lib._utils_impl", "_median_nancheck", median_nancheck),
    ("lazynp._core.function_base", "linspace", linspace),
    ("lazynp.lib._function_base_impl", "i0", i0),
)
if hasattr(theirs, "_weights_are_valid"):
    RULES += (("lazynp.lib._function_base_impl", "average", average),)
