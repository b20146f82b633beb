"""The error function and its kin: the normal distribution, Faddeeva, Dawson, Owen's T."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...arguments import inexact, real_inexact
from ...derivatives import custom_jvp
from .coefficients import (
    DAWSON_FAR,
    DAWSON_MIDDLE,
    DAWSON_NEAR,
    ERFCX,
    NDTRI_FAR_TAIL,
    NDTRI_MIDDLE,
    NDTRI_TAIL,
    OWENS_T_POINTS,
    OWENS_T_WEIGHTS,
    WOFZ,
    polynomial,
)

TWO_OVER_ROOT_PI = float(2 / np.sqrt(np.pi))
HALF_LOG_2PI = float(0.5 * np.log(2 * np.pi))


def erf(x: Any) -> Any:
    """The error function."""
    return lax.erf(*inexact("erf", x))


def erfc(x: Any) -> Any:
    """1 - erf(x), without loss where that is small."""
    return lax.erfc(*inexact("erfc", x))


def erfinv(x: Any) -> Any:
    """The inverse of the error function."""
    return lax.erf_inv(*inexact("erfinv", x))


# The Faddeeva function, erfcx.


def wofz_upper(z: Any) -> Any:
    """In the upper half plane, by Weideman's expansion."""
    length = 4.756828460010884
    iz = 1j * z
    below = length - iz
    return 2 * polynomial(WOFZ, (length + iz) / below) / (below * below) + (1 / math.sqrt(math.pi)) / below


@custom_jvp
def wofz_of(z: Any) -> Any:
    upper = z.imag >= 0
    out = wofz_upper(jnp.where(upper, z, -z))
    return jnp.where(upper, out, 2 * jnp.exp(-(z * z)) - out)


wofz_of.defjvps(lambda g, out, z: g * (TWO_OVER_ROOT_PI * 1j - 2 * z * out))


def wofz(z: Any) -> Any:
    """Faddeeva's function, exp(-z^2) erfc(-i z), of complex numbers."""
    (z,) = inexact("wofz", z)
    return wofz_of(z if z.dtype.kind == "c" else z + 0j)


@custom_jvp
def erfcx_of(x: Any) -> Any:
    info = np.finfo(x.dtype)
    far = x > float(np.sqrt(np.log(info.max)))
    near = jnp.where(far, 1.0, x)
    series = polynomial(ERFCX[-(9 if info.bits == 64 else 5) :], 1 / jnp.square(x))
    return jnp.where(far, series / (x * float(np.sqrt(np.pi))), jnp.exp(jnp.square(near)) * lax.erfc(near))


erfcx_of.defjvps(lambda g, out, x: g * (2 * x * out - TWO_OVER_ROOT_PI))


def wide(f: Any, x: Any) -> Any:
    """f of x in float32 at least, in x's dtype."""
    x = x.astype(x.dtype)  # no longer weak
    return f(x) if x.dtype in (np.float32, np.float64) else f(x.astype(np.float32)).astype(x.dtype)


def erfcx(x: Any) -> Any:
    """exp(x^2) erfc(x), without overflow."""
    (x,) = inexact("erfcx", x)
    return wofz_of(1j * x) if x.dtype.kind == "c" else wide(erfcx_of, x)


@custom_jvp
def dawsn_of(x: Any) -> Any:
    size = jnp.abs(x)
    near, middle = size < 3.25, size < 6.25
    x1 = jnp.where(near, size, 1.0)
    x2 = jnp.where(middle & ~near, size, 4.0)
    x3 = jnp.where(middle, 7.0, size)
    t2, t3 = 1 / (x2 * x2), 1 / (x3 * x3)
    far = 0.5 / x3 * (1 + t3 * DAWSON_FAR(t3))
    out = jnp.where(middle, 0.5 / x2 * (1 + t2 * DAWSON_MIDDLE(t2)), far)
    return jnp.sign(x) * jnp.where(near, x1 * DAWSON_NEAR(x1 * x1), out)


dawsn_of.defjvps(lambda g, out, x: g * (1 - 2 * x * out))


def dawsn(x: Any) -> Any:
    """Dawson's integral, exp(-x^2) times the integral of exp(t^2) from 0 to x. Raises ValueError for complex x."""
    return wide(dawsn_of, *real_inexact("dawsn", x))


# The normal distribution.


def floats(x: Any, advice: str = ", see docstring for supported types") -> Any:
    """The array, of 32 or 64 bits; TypeError for another dtype, with that advice."""
    x = jnp.asarray(x)
    if x.dtype not in (np.float32, np.float64):
        raise TypeError(f"x.dtype={x.dtype} is not supported{advice}.")
    return x.astype(x.dtype)  # no longer weak


def ndtr(x: Any) -> Any:
    """The distribution function of the standard normal. Raises TypeError for other than float32 and float64."""
    x = floats(x)
    root = float(0.5 * np.sqrt(2.0))
    w = x * root
    z = jnp.abs(w)
    tail = lax.erfc(z)
    return 0.5 * jnp.where(z < root, 1 + lax.erf(w), jnp.where(w > 0, 2 - tail, tail))


def ndtri(p: Any) -> Any:
    """The inverse of `ndtr`; NaN outside 0 to 1. Raises TypeError for other than float32 and float64."""
    p = floats(p)
    upper = p > float(-np.expm1(-2.0))
    q = jnp.where(upper, 1 - p, p)
    q = jnp.where(q == 0, 0.5, q)
    w = q - 0.5
    ww = w * w
    middle = -float(np.sqrt(2.0 * np.pi)) * (w + w * ww * NDTRI_MIDDLE(ww))
    z = jnp.sqrt(-2 * jnp.log(q))
    first, r = z - jnp.log(z) / z, 1 / z
    tail = first - jnp.where(z >= 8.0, NDTRI_FAR_TAIL(r) / z, NDTRI_TAIL(r) / z)
    out = jnp.where(q > float(np.exp(-2.0)), middle, tail)
    out = jnp.where(p > float(1 - np.exp(-2.0)), out, -out)
    return jnp.where(p == 0, -np.inf, jnp.where(p == 1, np.inf, out))


def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """log(ndtr(x)), without loss in the lower tail.

    Args:
        series_order: terms of the asymptotic series that is used there.

    Raises: TypeError for other than float32 and float64; TypeError or ValueError for a bad order.
    """
    if not isinstance(series_order, int):
        raise TypeError("series_order must be a Python integer.")
    if not 0 <= series_order <= 30:
        raise ValueError("series_order must be non-negative." if series_order < 0 else "series_order must be <= 30.")
    x = floats(x, "")
    lower, upper = (-20.0, 8.0) if x.dtype == np.float64 else (-10.0, 5.0)

    @custom_jvp
    def of(x: Any) -> Any:
        high, low = x > upper, x > lower
        inner = ndtr(jnp.where(high, -x, jnp.maximum(x, lower)))
        far = jnp.minimum(x, lower)
        square = jnp.square(far)
        series: Any = 1.0
        term: Any = 1.0
        for n in range(1, series_order + 1):
            term = term * -(2 * n - 1) / square
            series = series + term
        tail = -0.5 * square - jnp.log(-far) - HALF_LOG_2PI + jnp.log(series)
        return jnp.where(high, -inner, jnp.where(low, jnp.log(inner), tail))

    of.defjvps(lambda g, out, x: g * jnp.exp(-0.5 * jnp.square(x) - HALF_LOG_2PI - out))
    return of(x)


# Owen's T.


@custom_jvp
def owens_t_of(h: Any, a: Any) -> Any:
    h, size = jnp.abs(h), jnp.abs(a)
    root2 = float(np.sqrt(2))
    inside = size <= 1
    b, k = jnp.where(inside, size, 1 / size), jnp.where(inside, h, size * h)
    total: Any = 0.0
    for point, weight in zip(OWENS_T_POINTS, OWENS_T_WEIGHTS):
        r = jnp.square(b) * point
        total = total + weight * jnp.exp(-0.5 * jnp.square(k) * (1 + r)) / (1 + r)
    out = jnp.where(k == 0, jnp.arctan(b) / (2 * np.pi), b * total)
    out = jnp.where(b == 1, 0.125 * lax.erfc(-k / root2) * lax.erfc(k / root2), out)
    near = 0.25 - 0.25 * lax.erf(h / root2) * lax.erf(size * h / root2) - out
    p, q = lax.erfc(h / root2), lax.erfc(size * h / root2)
    out = jnp.where(inside, out, jnp.where(size * h <= 0.67, near, 0.25 * (p + q - p * q) - out))
    out = jnp.sign(a) * out.astype(out.dtype)  # never weak, as JAX's
    return jnp.where(jnp.isnan(a) | jnp.isnan(h), np.nan, out)


owens_t_of.defjvps(
    lambda g, out, h, a: (
        -g * jnp.exp(-0.5 * jnp.square(h)) * lax.erf(a * h / float(np.sqrt(2))) / float(2 * np.sqrt(2 * np.pi))
    ),
    lambda g, out, h, a: g * jnp.exp(-0.5 * (jnp.square(a) + 1) * jnp.square(h)) / (2 * np.pi * (jnp.square(a) + 1)),
)


def owens_t(h: Any, a: Any) -> Any:
    """Owen's T function: P(X > h, 0 < Y < a X) of independent standard normal X and Y."""
    return owens_t_of(*inexact("owens_t", h, a))
