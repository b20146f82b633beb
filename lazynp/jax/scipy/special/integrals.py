"""Integrals without a closed form: exponential, sine and cosine, Fresnel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...arguments import inexact, real_inexact
from ...derivatives import custom_jvp
from .coefficients import (
    EXPI,
    FRESNEL_C,
    FRESNEL_F,
    FRESNEL_G,
    FRESNEL_S,
    SICI_COS,
    SICI_F4,
    SICI_F8,
    SICI_G4,
    SICI_G8,
    SICI_SIN,
)

EULER = float(np.euler_gamma)


def expi_positive(x: Any) -> Any:
    """Ei for x > 0."""
    near = jnp.where(x <= 2, x, 1.0)
    out = near * EXPI[0](near) + EULER + jnp.log(near)
    w = 1 / jnp.where(x > 2, x, 3.0)
    ratio = EXPI[6](w)
    for k in range(5, 0, -1):
        ratio = jnp.where(x <= 2.0 ** (k + 1), EXPI[k](w), ratio)
    return jnp.where(x <= 2, out, jnp.exp(x) * w * (w * ratio + 1))


@custom_jvp
def expi_of(x: Any) -> Any:
    positive = x > 0
    below = -expn_of(1.0, jnp.where(x < 0, -x, 1.0))
    out = jnp.where(positive, expi_positive(jnp.where(positive, x, 1.0)), below)
    return jnp.where(x == 0, -np.inf, jnp.where(jnp.isnan(x), x, out))


expi_of.defjvps(lambda g, out, x: jnp.exp(x) / x * g)


def expi(x: Any) -> Any:
    """The exponential integral: the principal value of the integral of e^t / t up to x.

    Raises: ValueError for complex numbers.
    """
    return expi_of(*real_inexact("expi", x))


def expn_series(n: Any, x: Any) -> Any:
    """E_n for 0 < x <= 1, by its power series."""
    eps = float(jnp.finfo(x.dtype).eps)
    psi = -EULER - jnp.log(x)
    most = jnp.max(n) if n.size else 1.0
    _, psi = lax.while_loop(
        lambda s: s[0] < most, lambda s: (s[0] + 1, s[1] + jnp.where(s[0] < n, 1 / s[0], 0)), (jnp.ones_like(most), psi)
    )
    one = jnp.ones_like(x)

    def body(state: Any) -> Any:
        k, y, p, total, change = state
        k, p = k + 1, p + 1
        y = y * -x / k
        live = change > eps
        new = total + jnp.where(live & (p != 0), y / jnp.where(p == 0, 1, p), 0)
        return k, y, p, new, jnp.where(live, jnp.where(new != 0, jnp.abs(y / new), 1), change)

    start = jnp.where(n == 1, 0, one / (1 - jnp.where(n == 1, 2, n)))
    state = (jnp.zeros((), x.dtype), one, 1 - n, start, jnp.full_like(x, np.inf))
    *_, total, _ = lax.while_loop(lambda s: jnp.any(s[4] > eps), body, state)
    return (-x) ** (n - 1) * psi / jnp.exp(lax.lgamma(n)) - total


def expn_fraction(n: Any, x: Any) -> Any:
    """E_n for x > 1, by its continued fraction (Lentz)."""
    eps = float(jnp.finfo(x.dtype).eps)
    b = x + n
    d = 1 / b

    def body(state: Any) -> Any:
        i, b, c, d, out, change = state
        a = -i * (n - 1 + i)
        b = b + 2
        d = 1 / (a * d + b)
        c = b + a / c
        live = change > eps
        return i + 1, b, c, d, jnp.where(live, out * (c * d), out), jnp.where(live, jnp.abs(c * d - 1), change)

    big = jnp.full_like(x, float(jnp.finfo(x.dtype).max) ** 0.5)
    state = (jnp.ones((), x.dtype), b, big, d, d, jnp.full_like(x, np.inf))
    out = lax.while_loop(lambda s: jnp.any(s[5] > eps) & (s[0] < 1000), body, state)[4]
    return out * jnp.exp(-x)


def expn_large(n: Any, x: Any) -> Any:
    """E_n for n >= 5000."""
    s = x + n
    y = 1 / (s * s)
    out = y * n * (6 * x * x - 8 * n * x + n * n)
    out = y * (out + n * (n - 2 * x))
    return (y * (out + n) + 1) * jnp.exp(-x) / s


def expn_of(n: Any, x: Any) -> Any:
    """E_n(x), of arrays of floats; its derivative along x is -E_(n - 1)."""
    return expn_pair(n + jnp.zeros_like(x), x + jnp.zeros_like(n))


@custom_jvp
def expn_pair(n: Any, x: Any) -> Any:
    inside = (x > 0) & (n >= 1) & (n < 5000)
    near = inside & (x <= 1)
    series = expn_series(jnp.where(near, n, 1.0), jnp.where(near, x, 0.5))
    far = inside & (x > 1)
    fraction = expn_fraction(jnp.where(far, n, 1.0), jnp.where(far, x, 2.0))
    out = jnp.where(near, series, jnp.where(n >= 5000, expn_large(n, x), fraction))
    out = jnp.where((n == 0) & (x >= 0), jnp.exp(-x) / x, out)
    out = jnp.where((x == 0) & (n >= 2), 1 / jnp.where(n == 1, 2.0, n - 1), out)
    out = jnp.where((x == 0) & (n < 2), np.inf, out)
    return jnp.where((n < 0) | (x < 0) | jnp.isnan(x), np.nan, out)


expn_pair.defjvps(None, lambda g, out, n, x: -g * expn_pair(n - 1, x))


def expn(n: Any, x: Any) -> Any:
    """The exponential integral E_n(x), n a whole number. Raises ValueError for complex numbers."""
    return expn_of(*real_inexact("expn", n, x))


def exp1(x: Any) -> Any:
    """The exponential integral E_1(x). Raises ValueError for complex numbers."""
    (x,) = real_inexact("exp1", x)
    return expn_of(jnp.ones((), x.dtype), x)


@custom_jvp
def sici_of(x: Any) -> Any:
    size = jnp.abs(x)
    near, bounded = size <= 4, size <= 1e9
    x1, x2 = jnp.where(near & (size > 0), size, 1.0), jnp.where(near | ~bounded, 5.0, size)
    t = x1 * x1
    sin_near, cos_near = x1 * SICI_SIN(t), EULER + jnp.log(x1) + t * SICI_COS(t)
    z, middle = 1 / (x2 * x2), x2 < 8
    f = jnp.where(middle, SICI_F4(z), SICI_F8(z)) / x2
    g = jnp.where(middle, SICI_G4(z), SICI_G8(z)) * z
    s, c = jnp.sin(x2), jnp.cos(x2)
    x3 = jnp.where(bounded | jnp.isinf(size), 1e10, size)
    sin_far = jnp.where(bounded, np.pi / 2 - f * c - g * s, np.pi / 2 - jnp.cos(x3) / x3)
    cos_far = jnp.where(bounded, f * s - g * c, jnp.sin(x3) / x3)
    sin_far, cos_far = (jnp.where(jnp.isinf(size), v, w) for v, w in ((np.pi / 2, sin_far), (0.0, cos_far)))
    si = jnp.where(size == 0, 0.0, jnp.where(near, sin_near, sin_far))
    ci = jnp.where(size == 0, -np.inf, jnp.where(near, cos_near, cos_far))
    undefined = jnp.isnan(x)
    si = jnp.where(undefined, np.nan, jnp.sign(x) * si)
    return si, jnp.where(undefined | jnp.isneginf(x), np.nan, ci)


@sici_of.defjvp
def sici_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (g,) = primals, tangents
    return sici_of(x), (jnp.sinc(x / np.pi) * g, jnp.cos(x) / x * g)


def sici(x: Any) -> tuple[Any, Any]:
    """The sine and the cosine integral. Raises ValueError for complex numbers."""
    (x,) = inexact("sici", x)
    if x.dtype.kind == "c":
        raise ValueError(f"Argument `x` to sici must be real-valued. Got dtype {x.dtype}.")
    return sici_of(x.astype(x.dtype))


def half_turn(x: Any) -> tuple[Any, Any]:
    """sin(pi x^2 / 2) and cos(pi x^2 / 2), without loss for large x."""
    s = jnp.fmod(jnp.abs(x), 2.0)
    r = jnp.fmod(s * (jnp.abs(x) - s / 2), 2.0)
    sine = jnp.where(
        r < 0.5, jnp.sin(np.pi * r), jnp.where(r > 1.5, jnp.sin(np.pi * (r - 2.0)), -jnp.sin(np.pi * (r - 1.0)))
    )
    cosine = jnp.where(r < 1.0, -jnp.sin(np.pi * (r - 0.5)), jnp.sin(np.pi * (r - 1.5)))
    return sine, jnp.where(r == 0.5, 0.0, cosine)


@custom_jvp
def fresnel_of(x: Any) -> Any:
    size = jnp.abs(x)
    finite = jnp.isfinite(size)
    square = size * size
    small, large = square < 2.5625, size > 36974.0
    near = jnp.where(small, size, 1.0)
    t = near**4
    s_near, c_near = near**3 * FRESNEL_S(t), near * FRESNEL_C(t)
    far = jnp.where(small | ~finite, 2.0, size)
    sine, cosine = half_turn(far)
    u = 1 / (np.pi * far * far)
    f = jnp.where(large, 1.0, 1 - u * u * FRESNEL_F(u * u))
    g = jnp.where(large, 0.0, u * FRESNEL_G(u * u))
    s_far = 0.5 - (f * cosine + g * sine) / (np.pi * far)
    c_far = 0.5 + (f * sine - g * cosine) / (np.pi * far)
    parts = ((s_near, s_far), (c_near, c_far))
    s, c = (jnp.where(small, v, jnp.where(finite, w, jnp.where(jnp.isnan(size), np.nan, 0.5))) for v, w in parts)
    sign = jnp.where(x < 0, -1.0, 1.0).astype(x.dtype)
    return sign * s, sign * c


@fresnel_of.defjvp
def fresnel_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (g,) = primals, tangents
    sine, cosine = half_turn(x)
    return fresnel_of(x), (sine * g, cosine * g)


def fresnel(x: Any) -> tuple[Any, Any]:
    """Fresnel's integrals S and C. Raises NotImplementedError for complex numbers."""
    (x,) = inexact("fresnel", x)
    if x.dtype.kind == "c":
        raise NotImplementedError("Support for complex-valued inputs is not implemented yet.")
    if x.dtype.itemsize < 2:
        raise NotImplementedError(f"Support for {x.dtype} dtype is not implemented yet.")
    if x.dtype in (np.float32, np.float64):
        return fresnel_of(x)
    s, c = fresnel_of(x.astype(np.float32))
    return s.astype(x.dtype), c.astype(x.dtype)
