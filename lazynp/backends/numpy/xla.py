"""Elementary and special functions with the roundings of XLA's CPU backend, for the keyed samplers.

A sampler that accepts and rejects, or that goes through a logarithm, gives JAX's numbers only where its functions round
as JAX's do. In float32 these are bit-equal to what XLA computes: the same rational approximations (Cephes, Giles,
Lanczos), with a fused multiply-add wherever LLVM contracts one, which is done here in float64 and rounded once. In
float64 it is Cephes again, and the fused multiply-add is made of exact products and sums. Subnormal numbers count as
zero, as they do there.

The same keys give the same bits on every processor and with every C library: there is nothing here but + - * / and
sqrt, which IEEE 754 rounds, and integers. Neither NumPy's transcendental functions nor those of the C library, whose
last bits depend on the instructions that the processor has. JAX takes the machine's own for four functions: log in
float64, tan and pow come from the C library, and rsqrt from the processor's estimate. There no bits can be followed
everywhere; here these four are rounded once from a sum of two float64, all but never wrongly.

All take and return arrays of float32 or float64, and never write into their arguments. The most frequent ones exist in
C too (`lazynp/_keyed.c`), with the same bits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...coefficients import (
    ERF_32_BOTTOM,
    ERF_32_LIMIT,
    ERF_32_TOP,
    ERF_BOTTOM,
    ERF_INV_32,
    ERF_INV_64,
    ERF_TOP,
    ERFC_NEAR_BOTTOM,
    ERFC_NEAR_TOP,
    LANCZOS_BASE,
    LANCZOS_TERMS,
)
from ...keyed import native

Array = Any
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
SQRT_HALF = 0.707106781186547524
LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4
LOG2E = 1.44269504088896341
# Cephes, logf: log(1 + m) - m + m^2/2 over m^3, and expf.
LOG = (
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
EXP_TOP = (1.26177193074810590878e-4, 3.02994407707441961300e-2, 9.99999999999999999910e-1)
EXP_BOTTOM = (
    3.00198505138664455042e-6,
    2.52448340349684104192e-3,
    2.27265548208155028766e-1,
    2.00000000000000000009e0,
)
EXP_LOW, EXP_HIGH = -87.8, 88.8
# Cephes, log1p: (log(1 + x) - x + x^2/2) / x^3 as a quotient.
LOG1P_TOP = (
    4.5270000862445199635215e-5,
    4.9854102823193375972212e-1,
    6.5787325942061044846969e0,
    2.9911919328553073277375e1,
    6.0949667980987787057556e1,
    5.7112963590585538103336e1,
    2.0039553499201281259648e1,
)
LOG1P_BOTTOM = (
    1.0,
    1.5062909083469192043167e1,
    8.3047565967967209469434e1,
    2.2176239823732856465394e2,
    3.0909872225312059774938e2,
    2.1642788614495947685003e2,
    6.0118660497603843919306e1,
)
LOG1P_SMALL = 0.41421356237309504880
# Taylor's series, highest power first: of 2 atanh(s) / s^5 in s^2 (behind 2 + 2/3 s^2), of (exp(r) - 1 - r) / r^2, of
# (sin(r) - r) / r^3 and of (cos(r) - 1 + r^2 / 2) / r^4 in r^2. And numbers as sums of two: what goes before loses no
# bit when it is multiplied by a small integer.
ATANH = tuple([2 / (2 * k + 1) for k in range(14, 1, -1)])
EXP_SERIES = tuple([1 / math.factorial(k) for k in range(16, 1, -1)])
SIN = tuple([(-1) ** k / math.factorial(2 * k + 1) for k in range(9, 0, -1)])
COS = tuple([(-1) ** k / math.factorial(2 * k) for k in range(9, 1, -1)])
THIRDS, THIRDS_LOW = 2 / 3, float.fromhex("0x1.5555555555555p-55")
LN2, LN2_REST = float.fromhex("0x1.62e42fefa3800p-1"), float.fromhex("0x1.ef35793c76730p-45")
HALF_PI, HALF_PI_REST = float.fromhex("0x1.921fb54442d18p+0"), float.fromhex("0x1.1a62633145c07p-54")
TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")
LOG_7_5, LOG_SQRT_2_PI = 2.0149030205422647, 0.9189385332046728


def fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c, rounded once, for arrays and scalars of one dtype. In float32: the product of two is exact in float64.
    In float64: from exact products and sums (Dekker, Numer. Math. 18, 1971)."""
    if np.result_type(a, b, c) == F32:
        wide = np.multiply(a, b, dtype=F64)
        return narrowed(np.add(wide, c), wide, c)
    product = a * b
    (a1, a0), (b1, b0) = halves(a), halves(b)
    low = a0 * b0 - (((product - a1 * b1) - a0 * b1) - a1 * b0)
    total = product + c
    part = total - product
    exact = total + ((product - (total - part)) + (c - part) + low)
    return np.where(np.isfinite(exact) & (exact != 0), exact, total)


def narrowed(total: Array, a: Array, b: Array) -> Array:
    """a + b in float32, rounded once, from the sum `total` in float64. That is rounded too, which matters where it lies
    in the middle between two numbers of float32: there the side on which a + b is decides."""
    middle = np.flatnonzero(np.asarray(total).view(np.int64) & 0x1FFFFFFF == 0x10000000)
    if middle.size:
        total, a, b = (np.array(x, F64) for x in np.broadcast_arrays(total, a, b))
        t, x, y = (v.reshape(-1)[middle] for v in (total, a, b))
        part = t - x
        lost = (x - (t - part)) + (y - part)
        total.reshape(-1)[middle] = np.where(lost == 0, t, np.nextafter(t, np.where(lost > 0, np.inf, -np.inf)))
    return total.astype(F32)


def halves(x: Array) -> tuple[Array, Array]:
    """A float64 as the sum of two that have 26 bits each."""
    t = x * 134217729.0
    high = t - (t - x)
    return high, x - high


def horner(x: Array, coefficients: Sequence[float]) -> Array:
    """The polynomial, highest power first, by fused multiply-adds."""
    cs = [x.dtype.type(c) for c in coefficients]
    if x.dtype != F32:
        p = np.full_like(x, cs[0])
        for c in cs[1:]:
            p = fma(p, x, c)
        return p
    wide = x.astype(F64)
    p = cs[0]
    for c in cs[1:]:
        product = wide * p
        p = narrowed(product + c.item(), product, c.item())
    return p


LOOPS = ("log", "log1p", "exp", "erf_inv", "tan", "unit", "normal_root", "exponential", "gumbel", "rsqrt", "erf")
"""What the C module has, by its numbers: functions of floats, and from words to samples of as many bits."""


def in_c(name: str, x: Array) -> Array:
    """The C module's function of an array."""
    x = np.ascontiguousarray(x)
    out = np.empty(x.shape, F32 if x.itemsize == 4 else F64)
    native.apply(LOOPS.index(name), x.itemsize, x, out)
    return out


def or_in_c(python: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A function that the C module has too: that one, if it was built."""
    return python if native is None else functools.wraps(python)(functools.partial(in_c, python.__name__))


@or_in_c
def log(x: Array) -> Array:
    if x.dtype != F32:
        return log_64(x)
    m, e = np.frexp(np.maximum(x, np.finfo(F32).tiny))
    low = m < np.float32(SQRT_HALF)
    np.add(m, m, out=m, where=low)
    m -= np.float32(1)
    exponent = np.subtract(e, low, dtype=F32, casting="unsafe")
    square = m * m
    cube = square * m
    y = fma(horner(m, LOG[:3]), cube, horner(m, LOG[3:6]))
    y = fma(y, cube, horner(m, LOG[6:]))
    y = fma(y, cube, exponent * np.float32(LN2_LOW))
    y += fma(square, np.float32(-0.5), m)
    y += exponent * np.float32(LN2_HIGH)
    y[np.isposinf(x)] = np.inf
    y[x < np.finfo(F32).tiny] = -np.inf
    y[~(x >= 0)] = np.nan
    return y


def log_64(x: Array) -> Array:
    high, low = log_two(np.where((x > 0) & (x < np.inf), x, 1.0))
    y = np.where(x == 0, -np.inf, np.where(x == np.inf, np.inf, high + low))
    return np.where(x >= 0, y, np.nan)


def log_two(x: Array) -> tuple[Array, Array]:
    """The logarithm of positive, finite float64 as a sum of two, to about 2**-65 of it: with s = (m - 1) / (m + 1), the
    logarithm of m is 2 (s + s^3 / 3 + s^5 / 5 + ...)."""
    m, e = np.frexp(x)
    below = m < SQRT_HALF
    m, n = np.where(below, m + m, m), np.where(below, e - 1.0, e)
    f, d = m - 1.0, m + 1.0
    s = f / d
    s_low = fma(-s, m - (d - 1.0), fma(-s, d, f)) / d
    z = s * s
    z_low = fma(s, s, -z) + 2.0 * s * s_low
    rest = z * polynomial(z, ATANH)
    p = THIRDS + rest
    p_low = (THIRDS - p) + rest + THIRDS_LOW
    t = s * z
    t_low = fma(s, z, -t) + (s * z_low + s_low * z)
    u = t * p
    u_low = fma(t, p, -u) + (t * p_low + t_low * p)
    v = 2.0 * s + u
    v_low = (2.0 * s - v) + u + (2.0 * s_low + u_low)
    whole = n * LN2
    high = whole + v
    return high, (whole - high) + v + (v_low + n * LN2_REST)


def polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    """Highest power first, rounded after each product and sum."""
    p = x * coefficients[0] + coefficients[1]
    for c in coefficients[2:]:
        p = p * x + c
    return p


@or_in_c
def log1p(x: Array) -> Array:
    dtype = x.dtype.type
    square = x * x
    y = horner(x, LOG1P_TOP)
    y /= horner(x, LOG1P_BOTTOM)
    y *= x * square
    y = x + fma(square, dtype(-0.5), y)
    large = np.abs(x) >= dtype(LOG1P_SMALL)
    if large.any():
        y[large] = log(x[large] + dtype(1))
    return y


@or_in_c
def exp(x: Array) -> Array:
    if x.dtype != F32:
        return exp_64(x)
    inside = np.clip(x, np.float32(EXP_LOW), np.float32(EXP_HIGH))
    n = np.floor(fma(inside, np.float32(LOG2E), np.float32(0.5)))
    rest = fma(n, np.float32(-LN2_HIGH), inside)
    rest = fma(n, np.float32(-LN2_LOW), rest)
    y = fma(horner(rest, EXP), rest * rest, rest) + np.float32(1)
    y = np.ldexp(y, n.astype(np.int32))
    y[x > np.float32(EXP_HIGH)] = np.inf
    y[x < np.float32(EXP_LOW)] = 0
    return y


def exp_64(x: Array) -> Array:
    """Cephes, exp: 1 + 2 r P(r^2) / (Q(r^2) - r P(r^2))."""
    inside = np.where(x == x, np.clip(x, -746.0, 710.0), 0.0)
    n = np.floor(fma(inside, LOG2E, 0.5))
    rest = fma(n, -1.42860682030941723212e-6, fma(n, -0.693145751953125, inside))
    square = rest * rest
    top = rest * horner(square, EXP_TOP)
    y = np.ldexp(fma(top / (horner(square, EXP_BOTTOM) - top), 2.0, 1.0), n.astype(np.int32))
    return np.where(x == x, y, np.nan)


@or_in_c
def rsqrt(x: Array) -> Array:
    """1 / sqrt(x), in float32 rounded once. XLA improves the processor's estimate, and so depends on its maker."""
    return 1 / np.sqrt(x) if x.dtype != F32 else (1 / np.sqrt(x.astype(F64))).astype(F32)


def power(x: Array, y: Array) -> Array:
    """x to the y, for x >= 0; in float32 the rounded float64 value."""
    x, y = (np.asarray(a, order="C") for a in np.broadcast_arrays(x, y))
    if native is None:
        return power_64(x.astype(F64), y.astype(F64)).astype(x.dtype)
    out = np.empty_like(x)
    native.power(x.itemsize, x, y, out)
    return out


def power_64(x: Array, y: Array) -> Array:
    """exp(y log(x)), the exponent as a sum of two."""
    inside = (x > 0) & (x < np.inf)
    high, low = log_two(np.where(inside, x, 1.0))
    high = np.where(inside, high, np.where(x == 0, -np.inf, np.where(x == np.inf, np.inf, np.nan)))
    t = y * high
    small = np.abs(t) < 750.0
    own, y_own, high = (np.where(small, a, 0.0) for a in (t, y, high))
    own_low = fma(y_own, high, -own) + y_own * np.where(small, low, 0.0)
    n = np.floor(own * LOG2E + 0.5)
    near, rest = fma(n, -LN2, own), own_low - n * LN2_REST
    r = near + rest
    r_low = (near - r) + rest
    w = 1.0 + r
    w_low = (1.0 - w) + r + (r_low * w + r * r * polynomial(r, EXP_SERIES))
    found = np.ldexp(w + w_low, n.astype(np.int32))
    found = np.where(small, found, np.where(t > 0, np.inf, np.where(t < 0, 0.0, np.nan)))
    return np.where((y == 0) | (x == 1), 1.0, found)


@or_in_c
def tan(x: Array) -> Array:
    """In float32 the rounded float64 value; precise for numbers up to about 1e5."""
    return tan_64(x.astype(F64)).astype(x.dtype)


def tan_64(x: Array) -> Array:
    n, (s, s_low), (c, c_low) = sin_cos(x)
    turned = n - 2.0 * np.floor(n * 0.5) != 0
    a, a_low = np.where(turned, -c, s), np.where(turned, -c_low, s_low)
    b, b_low = np.where(turned, s, c), np.where(turned, s_low, c_low)
    q = a / b
    return np.where(x == 0, x, q + (fma(-q, b, a) + (a_low - q * b_low)) / b)


def sin_cos(x: Array) -> tuple[Array, tuple[Array, Array], tuple[Array, Array]]:
    """x as n pi / 2 + r with |r| at most pi / 4: n, and the sine and cosine of r as sums of two float64."""
    n = np.floor(x * TWO_OVER_PI + 0.5)
    whole = n * HALF_PI
    near, below = x - whole, fma(n, HALF_PI, -whole) + n * HALF_PI_REST
    r = near - below
    r_low = (near - r) - below
    z = r * r
    rest = r_low + r * z * polynomial(z, SIN)
    s = r + rest
    half = z * 0.5
    most = 1.0 - half
    more = (1.0 - most) - half - (0.5 * fma(r, r, -z) + r * r_low) + z * z * polynomial(z, COS)
    c = most + more
    return n, (s, (r - s) + rest), (c, (most - c) + more)


def exp_complex(x: Array) -> Array:
    """exp of complex numbers of moderate size."""
    length, angle = exp(np.ascontiguousarray(x.real)), np.asarray(x.imag, F64)
    n, (s, s_low), (c, c_low) = sin_cos(angle)
    quarter = n - 4.0 * np.floor(n * 0.25)
    sine, cosine = s + s_low, c + c_low
    odd = (quarter == 1) | (quarter == 3)
    first, second = np.where(odd, sine, cosine), np.where(odd, cosine, sine)
    first = np.where((quarter == 1) | (quarter == 2), -first, first)
    second = np.where(quarter >= 2, -second, second)
    out = np.empty_like(x)
    out.real, out.imag = length * first.astype(length.dtype), length * second.astype(length.dtype)
    return out


@or_in_c
def erf_inv(x: Array) -> Array:
    w = -log1p(-x * x)
    y = erf_inv_32(x, w) if x.dtype == F32 else erf_inv_64(x, w)
    edge = np.abs(x) == 1
    if edge.any():
        y[edge] = x[edge] * x.dtype.type(np.inf)
    return y


def erf_inv_32(x: Array, w: Array) -> Array:
    """Both polynomials on the whole block: the far one is needed for one element in 300."""
    far = np.flatnonzero(w >= np.float32(5))
    y = horner(w - np.float32(2.5), ERF_INV_32[0])
    if far.size:
        y[far] = horner(np.sqrt(w[far]) - np.float32(3), ERF_INV_32[1])
    y *= x
    return y


def erf_inv_64(x: Array, w: Array) -> Array:
    y = horner(w - 3.125, ERF_INV_64[0])
    for low, high, shift, coefficients in ((6.25, 16.0, 3.25, ERF_INV_64[1]), (16.0, math.inf, 5.0, ERF_INV_64[2])):
        part = np.flatnonzero((w >= low) & (w < high))
        if part.size:
            y[part] = horner(np.sqrt(w[part]) - shift, coefficients)
    y *= x
    return y


@or_in_c
def erf(x: Array) -> Array:
    """In float64, where the quotient of float32 is not precise enough, Cephes's: another one up to 1, then one for
    1 - erf."""
    if x.dtype == F32:
        x = np.clip(x, np.float32(-ERF_32_LIMIT), np.float32(ERF_32_LIMIT))
        square = x * x
        return x * horner(square, ERF_32_TOP) / horner(square, ERF_32_BOTTOM)
    size = np.minimum(np.abs(x), 6.0)
    square = size * size
    near = size * horner(square, ERF_TOP) / horner(square, ERF_BOTTOM)
    far = 1.0 - exp(-square) * horner(size, ERFC_NEAR_TOP) / horner(size, ERFC_NEAR_BOTTOM)
    return np.copysign(np.where(size <= 1.0, near, far), x)


def lgamma(x: Array) -> Array:
    """log gamma(x) for x >= 1/2."""
    kind = x.dtype.type
    z = x - kind(1)
    series = np.full_like(x, kind(LANCZOS_BASE))
    for i, c in enumerate(LANCZOS_TERMS):
        series += kind(c) / (z + kind(i + 1))
    t = kind(7.5) + z
    log_t = kind(LOG_7_5) + log1p(z * kind(1 / 7.5))
    y = fma(z + kind(0.5) - t / log_t, log_t, kind(LOG_SQRT_2_PI)) + log(series)
    y[np.isinf(x)] = np.inf
    return y
