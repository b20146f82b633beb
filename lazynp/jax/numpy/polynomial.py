"""Polynomials as vectors of coefficients, the highest power first."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..array import Array, cast_node, check_arraylike, typed
from ..at import update
from ..at_once import apply
from ..dtypes import complex_of, promotion, x64_enabled
from .creation import arange, asarray, astype, ones, weak_as, zeros, zeros_like
from .joining import concatenate
from .linalg import eigvals, inv, lstsq
from .matrices import vander
from .products import dot, outer
from .reductions import argmax
from .select import value_of, where
from .shape import atleast_1d, broadcast_shapes, roll
from .signal import convolve
from .statistics import floating


def vectors(name: str, *args: Any) -> list[Array]:
    check_arraylike(name, *args)
    return [asarray(a) for a in args]


def polyadd(a1: Any, a2: Any) -> Any:
    """The sum."""
    a, b = vectors("polyadd", a1, a2)
    if a.ndim == b.ndim == 1 and a.shape == b.shape:
        return a + b
    dtype, weak = promotion(x64_enabled(), typed(a), typed(b))
    a, b = sorted((a, b), key=lambda x: -x.shape[0])
    long, short = (apply(lambda x: cast_node(x, dtype, weak), x.node) for x in (a, b))
    return update(long, slice(-short.shape[0], None), short, "add")


def polysub(a1: Any, a2: Any) -> Any:
    """The difference."""
    a, b = vectors("polysub", a1, a2)
    dtype, weak = promotion(x64_enabled(), typed(a), typed(b))
    return polyadd(a, -apply(lambda x: cast_node(x, dtype, weak), b.node))


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """The product."""
    a, b = vectors("polymul", a1, a2)
    if not a.ndim or not b.ndim:
        raise TypeError("polymul takes vectors of coefficients, not scalars")
    if trim_leading_zeros:
        a, b = (trim_zeros(x, "f") for x in (a, b))
    a = a if a.size else zeros(1, a.dtype)
    b = b if b.size else zeros(1, b.dtype)
    return convolve(a, b, "full")


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> Any:
    """Quotient and remainder."""
    a, b = floating(*vectors("polydiv", u, v))
    if not a.ndim or not b.ndim:
        raise TypeError("len() of unsized object")
    m, n = a.shape[0] - 1, b.shape[0] - 1
    quotient: Any = zeros(max(m - n + 1, 1), a.dtype)
    rest: Any = a
    for k in range(m - n + 1):
        d = rest[k] / b[0]
        quotient = update(quotient, k, d, "set")
        rest = update(rest, slice(k, k + n + 1), -d * b, "add")
    if trim_leading_zeros:
        rest = trim_tolerance(rest)
    return quotient, rest


def trim_tolerance(x: Array) -> Any:
    """Without leading coefficients that are 0 but for rounding."""
    values = value_of(x, "polydiv with trim_leading_zeros needs values.")
    eps = np.sqrt(np.finfo(values.dtype).eps)
    first = next((i for i, c in enumerate(values) if abs(c) > eps), len(values))
    return x[first:]


def polyval(p: Any, x: Any, *, unroll: int = 16) -> Any:
    """The value at x, by Horner's rule."""
    check_arraylike("polyval", p, x)
    dtype, _ = promotion(x64_enabled(), typed(p), typed(x))
    p, x = astype(p, dtype), astype(x, dtype)
    out = zeros_like(x, shape=broadcast_shapes(p.shape[1:], x.shape))
    for k in range(p.shape[0]):
        out = out * x + p[k]
    return out


def polyder(p: Any, m: int = 1) -> Any:
    """The m-th derivative."""
    check_arraylike("polyder", p)
    order = operator.index(m)
    (x,) = floating(p)
    if order < 0:
        raise ValueError("Order of derivative must be positive")
    if order == 0:
        return weak_as(p, x)
    if x.ndim == 0:
        raise TypeError("len() of unsized object")
    n = x.shape[0]
    factor = np.ones(max(n - order, 0))
    for i in range(order):
        factor = factor * (np.arange(n - order)[::-1] + order - i)
    return x[: max(n - order, 0)] * asarray(factor).astype(x.dtype)


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The m-th antiderivative, with constants k (0)."""
    order = operator.index(m)
    k = 0 if k is None else k
    check_arraylike("polyint", p, k)
    x, constants = floating(p, k)
    if order < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    if order and not x.ndim:
        raise TypeError("len() of unsized object")
    constants = atleast_1d(constants)
    if constants.shape == (1,):
        constants = constants * ones(max(order, 1), constants.dtype)
    if order == 0:
        return weak_as(p, x)
    if constants.shape != (order,):
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or m.")
    for i in range(order):
        n = x.shape[0]
        powers = asarray(np.arange(n, 0, -1)).astype(x.dtype)
        x = concatenate([x / powers, constants[i : i + 1]])
    return x


def poly(seq_of_zeros: Any) -> Any:
    """The polynomial with those zeros, or the characteristic one of a matrix."""
    check_arraylike("poly", seq_of_zeros)
    (x,) = floating(seq_of_zeros)
    x = atleast_1d(x)
    if x.ndim == 2:
        if x.shape[0] != x.shape[1]:
            raise ValueError("input must be 1d or non-empty square 2d array.")
        x = eigvals(x)
    elif x.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if x.size == 0:
        return asarray(1.0).astype(x.dtype)
    out = ones(1, x.dtype)
    for k in range(x.shape[0]):
        out = concatenate([out, zeros(1, x.dtype)]) - concatenate([zeros(1, x.dtype), out * x[k]])
    return out


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """Without zeros at the ends."""
    check_arraylike("trim_zeros", filt)
    x = asarray(filt)
    if x.ndim == 0:
        return x
    values = value_of(x, "jnp.trim_zeros has a result whose shape depends on values.")
    places = np.nonzero(values)
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    key = [slice(None)] * x.ndim
    for i in axes:
        at = places[i]
        n = x.shape[i]
        first = int(at.min(initial=n)) if "f" in trim.lower() else 0
        last = int(at.max(initial=-1)) + 1 if "b" in trim.lower() else n
        key[i] = slice(first, max(last, first)) if len(at) else slice(0, 0)
    return x[tuple(key)]


def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """The zeros, complex: eigenvalues of the companion matrix. Under a trace with `strip_zeros=False`: NaN then stands
    at the end for each leading coefficient that is zero."""
    check_arraylike("roots", p)
    (x,) = floating(p)
    if x.size < 2:
        return zeros(0, complex)
    if x.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    if strip_zeros:
        values = value_of(x, "The jnp.roots() function strips zeros, which needs values: pass strip_zeros=False.")
        nonzero = np.nonzero(values)[0]
        return companion_roots(x[int(nonzero[0]) if len(nonzero) else x.size :])
    some: Any = x != 0
    lead = where(some.any(), argmax(some), x.size)
    values = companion_roots(roll(where(some.any(), x, 1), -lead))
    values = values[(values == 0).argsort()]
    return where(arange(values.size) < values.size - lead, values, complex(np.nan, np.nan))


def companion_roots(x: Array) -> Any:
    """The zeros of a polynomial whose first coefficient is not 0."""
    n = x.size - 1
    if n < 1:
        return zeros(0, complex_of(x.dtype))
    return eigvals(update(asarray(np.eye(n, k=-1)).astype(x.dtype), 0, -x[1:] / x[0], "set"))


def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """The polynomial of degree `deg` that comes closest to points, by least squares."""
    check_arraylike("polyfit", x, y, *([] if w is None else [w]))
    order = int(deg) + 1
    xs, ys = floating(x, y)
    if order <= 0:
        raise ValueError("expected deg >= 0")
    if xs.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if xs.size == 0:
        raise TypeError("expected non-empty vector for x")
    if ys.ndim not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if xs.shape[0] != ys.shape[0]:
        raise TypeError("expected x and y to have same length")
    if rcond is None:
        rcond = xs.shape[0] * float(np.finfo(xs.dtype).eps)
    left: Any = vander(xs, order)
    right: Any = ys
    if w is not None:
        (weights,) = floating(w)
        if weights.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if weights.shape[0] != ys.shape[0]:
            raise TypeError("expected w and y to have the same length")
        left = left * weights[:, None]
        right = right * (weights[:, None] if right.ndim == 2 else weights)
    scale = (left * left).sum(axis=0) ** 0.5
    c, residuals, rank, s = lstsq(left / scale, right, rcond)
    c = (c.T / scale).T
    if full:
        return c, residuals, rank, s, asarray(rcond)
    if not cov:
        return c
    base = inv(dot(left.T, left)) / outer(ones(order), ones(order))
    if cov == "unscaled":
        factor: Any = 1
    else:
        if xs.shape[0] <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        factor = residuals / (xs.shape[0] - order)
        factor = factor[0] if factor.size == 1 else factor
    return c, base * factor if ys.ndim == 1 else base[:, :, None] * factor
