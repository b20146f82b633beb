"""The gamma function and its kin: logarithms, beta, incomplete ones, zeta, polygamma."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...arguments import inexact, real_inexact
from ...derivatives import custom_jvp, jvp
from .coefficients import BERNOULLI, LANCZOS

LANCZOS_G = 7.0


def gammaln(x: Any) -> Any:
    """log |gamma(x)|, of real numbers."""
    return lax.lgamma(*inexact("gammaln", x))


def gammasgn(x: Any) -> Any:
    """The sign of gamma(x); NaN at negative integers, and the sign of zero at zero.

    Raises: ValueError for complex numbers.
    """
    (x,) = real_inexact("gammasgn", x)
    whole = jnp.floor(x)
    negative = x < 0
    minus = (negative & (whole % 2 != 0)) | ((x == 0) & jnp.signbit(x))
    undefined = (negative & (x == whole)) | jnp.isnan(x)
    one = jnp.ones((), x.dtype)
    return jnp.where(undefined, np.nan, jnp.where(minus, -one, one))


def poles(z: Any) -> Any:
    """Where a complex number is no argument of the gamma function: integers up to 0, and NaN."""
    return ((z.imag == 0) & (z.real == jnp.floor(z.real)) & (z.real <= 0)) | jnp.isnan(z)


def complex_loggamma(z: Any) -> Any:
    """Lanczos's approximation, reflected to the right half plane."""
    left = z.real < 0.5
    zz = jnp.where(left, 1.0 - z, z) - 1.0
    series: Any = LANCZOS[0]
    for k, c in enumerate(LANCZOS[1:], 1):
        series = series + c / (zz + k)
    t = zz + (LANCZOS_G + 0.5)
    out = 0.5 * math.log(2.0 * math.pi) + (zz + 0.5) * jnp.log(t) - t + jnp.log(series)
    safe = jnp.where(left, z, jnp.full_like(z, 0.5))
    return jnp.where(left, math.log(math.pi) - jnp.log(jnp.sin(np.pi * safe)) - out, out)


def loggamma(x: Any) -> Any:
    """The logarithm of the gamma function: the principal branch of complex numbers, NaN for negative real ones."""
    (x,) = inexact("loggamma", x)
    if x.dtype.kind != "c":
        return jnp.where(x > 0, lax.lgamma(x), np.nan)
    undefined = poles(x)
    safe = jnp.where(undefined, jnp.ones_like(x), x)
    steps = jnp.maximum(0, jnp.ceil(0.5 - safe.real).astype(int))

    def shifted(state: Any) -> Any:
        k, total = state
        inside = k < steps
        return k + 1, total + jnp.where(inside, jnp.log(jnp.where(inside, safe + k, 1)), 0)

    _, total = lax.while_loop(lambda state: jnp.any(state[0] < steps), shifted, (0, jnp.zeros_like(safe)))
    out = complex_loggamma(safe + steps) - total
    return jnp.where(undefined, jnp.asarray(complex(np.nan, np.nan), x.dtype), out)


def gamma(x: Any) -> Any:
    """The gamma function."""
    (x,) = inexact("gamma", x)
    if x.dtype.kind != "c":
        return gammasgn(x) * jnp.exp(lax.lgamma(x))
    undefined = poles(x)
    out = jnp.exp(complex_loggamma(jnp.where(undefined, jnp.ones_like(x), x)))
    return jnp.where(undefined, jnp.asarray(complex(np.nan, np.nan), x.dtype), out)


def correction(a: Any, b: Any) -> Any:
    """log(gamma(b)) - log(gamma(a + b)) for b >= 8 (Didonato and Morris, ACM TOMS 18, 1992)."""
    c = (0.0833333333333333, -0.00277777777760991, 7.9365066682539e-4, -5.9520293135187e-4, 8.37308034031215e-4)
    c5 = -0.00165322962780713
    x = (a / b) / (1 + a / b)
    x2 = x * x
    sums = [1.0 + (x + x2)]
    for _ in range(4):
        sums.append(1.0 + (x + x2 * sums[-1]))
    t = (1.0 / b) ** 2
    w = c5 * sums[4]
    for k in (4, 3, 2, 1):
        w = w * t + c[k] * sums[k - 1]
    w = (w * t + c[0]) * (x / b)
    u = (b + (a - 0.5)) * jnp.log1p(a / b)
    v = a * (jnp.log(b) - 1.0)
    return jnp.where(u <= v, w - v - u, w - u - v)


def betaln(a: Any, b: Any) -> Any:
    """log |beta(a, b)|."""
    a, b = inexact("betaln", a, b)
    a, b = jnp.minimum(a, b), jnp.maximum(a, b)
    near = lax.lgamma(a) + (lax.lgamma(b) - lax.lgamma(a + b))
    return jnp.where(b < 8, near, lax.lgamma(a) + correction(a, b))


def beta(a: Any, b: Any) -> Any:
    """gamma(a) gamma(b) / gamma(a + b). Raises ValueError for complex numbers."""
    a, b = real_inexact("beta", a, b)
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * jnp.exp(betaln(a, b))


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function. Raises ValueError for complex numbers."""
    return lax.betainc(*real_inexact("betainc", a, b, x))


def gammainc(a: Any, x: Any) -> Any:
    """The regularized lower incomplete gamma function."""
    return lax.igamma(*inexact("gammainc", a, x))


def gammaincc(a: Any, x: Any) -> Any:
    """The regularized upper incomplete gamma function."""
    return lax.igammac(*inexact("gammaincc", a, x))


def digamma(x: Any) -> Any:
    """The derivative of log gamma(x)."""
    return lax.digamma(*inexact("digamma", x))


def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of digamma. Raises ValueError where n is no integer, or x complex."""
    kind = jnp.result_type(n)
    if kind.kind not in "iu":
        raise ValueError(f"Argument `n` to polygamma must be of integer type. Got dtype {kind}.")
    return lax.polygamma(*real_inexact("polygamma", n, x))


def factorial(n: Any, exact: bool = False) -> Any:
    """gamma(n + 1), and 0 below 0. Raises NotImplementedError for exact=True."""
    if exact:
        raise NotImplementedError("factorial with exact=True")
    (n,) = inexact("factorial", n)
    return jnp.where(n < 0, 0, jnp.exp(lax.lgamma(n + 1)))


def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:
    """How many ways there are to choose k of N things; with repetition if asked."""
    N, k = inexact("comb", N, k)
    if repetition:
        return jnp.where((k == 0) & (N >= 0), 1.0, comb(N + k - 1, k))
    possible = (k <= N) & (N >= 0) & (k >= 0)
    n, k = jnp.where(possible, N, 0.0), jnp.where(possible, k, 0.0)
    ways = jnp.exp(lax.lgamma(n + 1) - lax.lgamma(k + 1) - lax.lgamma(n + 1 - k))
    return jnp.where(possible, ways, 0.0)


def multigammaln(a: Any, d: Any) -> Any:
    """The logarithm of the multivariate gamma function of dimension d, an integer."""
    d = int(d)
    (a,) = inexact("multigammaln", a)
    halves = jnp.asarray(np.arange(d) / 2, a.dtype)
    total = jnp.sum(lax.lgamma(jnp.expand_dims(a, -1) - halves), axis=-1)
    return total + 0.25 * d * (d - 1) * float(np.log(np.pi))


def poch(z: Any, m: Any) -> Any:
    """gamma(z + m) / gamma(z). Raises ValueError for complex numbers."""
    return poch_of(*real_inexact("poch", z, m))


@custom_jvp
def poch_of(z: Any, m: Any) -> Any:
    return jnp.where(m == 0.0, jnp.ones((), z.dtype), gamma(z + m) / gamma(z))


poch_of.defjvps(
    lambda g, out, z, m: (digamma(z + m) - digamma(z)) * out * g,
    lambda g, out, z, m: digamma(z + m) * out * g,
)


def zeta(x: Any, q: Any = None) -> Any:
    """Hurwitz's zeta function: the sum of (q + k)^-x over k >= 0. Raises NotImplementedError without q."""
    if q is None:
        raise NotImplementedError(
            "Riemann zeta function not implemented; pass q != None to compute the Hurwitz Zeta function."
        )
    return zeta_of(*inexact("zeta", x, q))


def zeta_series(s: Any, a: Any) -> Any:
    """By Euler and Maclaurin (Johansson, arXiv:1309.2877): what is differentiated in place of `zeta`."""
    n = 8 if s.dtype == np.float32 else 16
    total: Any = 0.0
    for k in range(n):
        total = total + (a + k) ** (-s)
    end = a + n
    rest = end ** (1 - s) / (s - 1)
    terms: Any = 0.5
    product = s / end
    for m in range(n):
        terms = terms + jnp.clip(product, max=float(jnp.finfo(s.dtype).max)) / BERNOULLI[m]
        product = product * ((s + (2 * m + 1)) / end) * ((s + (2 * m + 2)) / end)
    return total + rest + end ** (-s) * terms


@custom_jvp
def zeta_of(x: Any, q: Any) -> Any:
    return lax.zeta(x, q)


zeta_of.defjvp(lambda primals, tangents: jvp(zeta_series, primals, tangents))


def bernoulli(n: int) -> Any:
    """The Bernoulli numbers from the 0th to the n-th. Raises ValueError for a negative n."""
    n = operator.index(n)
    if n < 0:
        raise ValueError("n must be a non-negative integer.")
    first = [1.0, -0.5, 1 / 6]
    if n < 3:
        return jnp.array(first[: n + 1])
    m = np.arange(4, n + 1, 2)
    factors = np.cumprod(-(m - 1.0) * m / 4 / np.pi**2) / np.pi**2
    sums = 1 + np.sum(np.arange(2, 50.0)[:, None] ** -m[None, :], axis=0)
    out = np.zeros(n + 1)
    out[:3], out[4::2] = first, factors * sums
    return jnp.array(out, jnp.result_type(float))
