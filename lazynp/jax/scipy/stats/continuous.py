"""Continuous distributions of one variable, in standard form: a line or a few for each function."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...nn import logsumexp
from ..special import (
    betainc,
    betaln,
    expit,
    gammainc,
    gammaincc,
    gammaln,
    log_ndtr,
    logit,
    ndtr,
    ndtri,
    xlog1py,
    xlogy,
)
from .distribution import continuous, plain

LOG_2PI = float(np.log(2 * np.pi))


def inside(ok: Any, out: Any, outside: Any = -np.inf) -> Any:
    """`out` where the argument is in the support."""
    return jnp.where(ok, out, outside)


def positive(z: Any) -> Any:
    """z, and zero below it."""
    return jnp.where(z < 0, 0, z)


def quantile(q: Any, out: Any) -> Any:
    """`out` where q is a probability, else NaN."""
    return jnp.where((q >= 0) & (q <= 1), out, np.nan)


norm = continuous(
    "norm",
    "The normal distribution.",
    even=True,
    logpdf=lambda z: (LOG_2PI + z * z) / -2,
    cdf=ndtr,
    logcdf=log_ndtr,
    sf=lambda z: ndtr(-z),
    logsf=lambda z: log_ndtr(-z),
    ppf=lambda q: jnp.asarray(ndtri(q), float),
    isf=lambda q: jnp.asarray(ndtri(1 - q), float),
)
uniform = continuous(
    "uniform",
    "The uniform distribution from loc to loc + scale.",
    logpdf=lambda z: inside((z >= 0) & (z <= 1) | jnp.isnan(z), jnp.zeros_like(z)),
    cdf=lambda z: jnp.clip(z, 0, 1).astype(z.dtype),
    ppf=lambda q: quantile(q, q),
)
expon = continuous(
    "expon",
    "The exponential distribution.",
    logpdf=lambda z: inside(~(z < 0), -z),
    cdf=lambda z: inside(~(z < 0), -jnp.expm1(-z), 0.0),
    logcdf=lambda z: inside(~(z < 0), jnp.log1p(-jnp.exp(-positive(z)))),
    logsf=lambda z: inside(~(z < 0), -z, 0.0),
    ppf=lambda q: quantile(q, -jnp.log1p(-q)),
    also="sf",
)
laplace = continuous(
    "laplace",
    "The Laplace distribution.",
    logpdf=lambda z: -(jnp.abs(z) + float(np.log(2))),
    cdf=lambda z: jnp.where(z <= 0, 0.5 * jnp.exp(z), 1 - 0.5 * jnp.exp(-z)),
)
logistic = continuous(
    "logistic",
    "The logistic distribution.",
    inverse="x",
    logpdf=lambda z: -2 * jnp.logaddexp(z / 2, -z / 2),
    cdf=expit,
    sf=lambda z: expit(-z),
    ppf=logit,
    isf=lambda q: -logit(q),
)
cauchy = continuous(
    "cauchy",
    "The Cauchy distribution.",
    logpdf=lambda z: -(float(np.log(np.pi)) + jnp.log1p(z * z)),
    cdf=lambda z: 0.5 + jnp.arctan(z) / np.pi,
    sf=lambda z: 0.5 - jnp.arctan(z) / np.pi,
    ppf=lambda q: jnp.tan(np.pi * q - np.pi / 2),
    isf=lambda q: jnp.tan(np.pi / 2 - np.pi * q),
    also="logcdf logsf",
)
positive_scale: dict[str, Any] = {"valid": lambda scale: scale > 0}
gumbel_l = continuous(
    "gumbel_l",
    "The Gumbel distribution of minima.",
    inverse="p",
    **positive_scale,
    logpdf=lambda z: z - jnp.exp(z),
    logcdf=lambda z: jnp.log(-jnp.expm1(-jnp.exp(z))),
    logsf=lambda z: -jnp.exp(z),
    ppf=lambda q: jnp.where((q > 0) & (q < 1), jnp.log(-jnp.log1p(-q)), np.nan),
    also="cdf sf",
)
gumbel_r = continuous(
    "gumbel_r",
    "The Gumbel distribution of maxima.",
    inverse="p",
    **positive_scale,
    logpdf=lambda z: -(z + jnp.exp(-z)),
    logcdf=lambda z: -jnp.exp(-z),
    sf=lambda z: -jnp.expm1(-jnp.exp(-z)),
    logsf=lambda z: jnp.log(-jnp.expm1(-jnp.exp(-z))),
    ppf=lambda q: jnp.where((q > 0) & (q < 1), -jnp.log(-jnp.log(q)), np.nan),
    also="cdf",
)
gamma = continuous(
    "gamma",
    "The gamma distribution.",
    "a",
    logpdf=lambda z, a: inside(z >= 0, xlogy(a - 1, jnp.where(z >= 0, z, 1)) - jnp.where(z >= 0, z, 1) - gammaln(a)),
    cdf=lambda z, a: gammainc(a, positive(z)),
    sf=lambda z, a: jnp.where(z < 0, 1, gammaincc(a, positive(z))),
    also="logcdf logsf",
)
chi2 = continuous(
    "chi2",
    "The chi-squared distribution.",
    "df",
    logpdf=lambda z, df: inside(
        ~(z < 0), (df / 2 - 1) * jnp.log(z) - z / 2 - gammaln(df / 2) - df * float(np.log(2) / 2)
    ),
    cdf=lambda z, df: gammainc(df / 2, positive(z) / 2),
    sf=lambda z, df: gammaincc(df / 2, positive(z) / 2),
    also="logcdf logsf",
)
beta = continuous(
    "beta",
    "The beta distribution.",
    "a b",
    valid=lambda scale, a, b: (scale > 0) & (a > 0) & (b > 0),
    logpdf=lambda z, a, b: inside(~((z < 0) | (z > 1)), xlogy(a - 1, z) + xlog1py(b - 1, -z) - betaln(a, b)),
    cdf=lambda z, a, b: betainc(a, b, jnp.clip(z, 0, 1)),
    sf=lambda z, a, b: betainc(b, a, 1 - jnp.clip(z, 0, 1)),
    also="logcdf logsf",
)
t = continuous(
    "t",
    "Student's t distribution.",
    "df",
    even=True,
    logpdf=lambda z, df: (
        gammaln(df / 2 + 0.5) - gammaln(df / 2) - jnp.log(np.pi * df) / 2 - (df / 2 + 0.5) * jnp.log1p(z * z / df)
    ),
)
pareto = continuous(
    "pareto",
    "The Pareto distribution.",
    "b",
    logpdf=lambda z, b: inside(~(z < 1), jnp.log(b) - (b + 1) * jnp.log(z)),
    cdf=lambda z, b: inside(~(z < 1), 1 - z ** (-b), 0.0),
    logcdf=lambda z, b: inside(~(z < 1), jnp.log1p(-(z ** (-b)))),
    logsf=lambda z, b: inside(~(z < 1), -b * jnp.log(z), 0.0),
    ppf=lambda q, b: quantile(q, (1 - q) ** (-1 / b)),
    also="sf",
)


def log_difference(x: Any, y: Any) -> Any:
    """log(exp(x) - exp(y))."""
    return logsumexp(jnp.stack([x, y]), b=jnp.stack([jnp.ones_like(x), -jnp.ones_like(y)]), axis=0)


def log_gauss_mass(a: Any, b: Any) -> Any:
    """The logarithm of the standard normal's probability between a and b, without loss in the tails."""
    a, b = jnp.broadcast_arrays(a, b)
    left, right = b <= 0, a > 0
    low, high = jnp.where(right, -b, a), jnp.where(right, -a, b)
    tail = log_difference(log_ndtr(high), log_ndtr(low))
    return jnp.where(left | right, tail, jnp.log1p(-ndtr(a) - ndtr(-b)))


def truncnorm_logcdf(z: Any, a: Any, b: Any) -> Any:
    z, a, b = jnp.broadcast_arrays(z, a, b)
    mass = log_gauss_mass(a, b)
    below, above = log_gauss_mass(a, z) - mass, log_gauss_mass(z, b) - mass
    near_one = jnp.log1p(-jnp.exp(above))
    out = jnp.where(z <= a, -np.inf, jnp.where(below > -0.1, near_one, below))
    return jnp.where(a >= b, np.nan, jnp.where(z >= b, 0.0, out))


def truncnorm_logpdf(z: Any, a: Any, b: Any) -> Any:
    out = (LOG_2PI + z * z) / -2 - log_gauss_mass(a, b)
    return jnp.where(a >= b, np.nan, jnp.where((z < a) | (z > b), -np.inf, out))


truncnorm = continuous(
    "truncnorm",
    "The normal distribution, truncated to a and b standard deviations from loc.",
    "a b",
    logpdf=truncnorm_logpdf,
    logcdf=truncnorm_logcdf,
    logsf=lambda z, a, b: truncnorm_logcdf(-z, -b, -a),
    also="cdf sf",
)
gennorm = plain(
    "gennorm",
    "The generalized normal distribution.",
    "beta",
    logpdf=lambda x, beta: jnp.log(0.5 * beta) - gammaln(1 / beta) - jnp.abs(x) ** beta,
    cdf=lambda x, beta: 0.5 * (1 + jnp.sign(x) * gammainc(1 / beta, jnp.abs(x) ** beta)),
)
vonmises = plain(
    "vonmises",
    "The von Mises distribution.",
    "kappa",
    logpdf=lambda x, kappa: jnp.where(
        kappa > 0, kappa * (jnp.cos(x) - 1) - jnp.log(2 * np.pi * lax.bessel_i0e(kappa)), np.nan
    ),
)


def wrapcauchy_logpdf(x: Any, c: Any) -> Any:
    out = jnp.log(1 - c * c) - LOG_2PI - jnp.log(1 + c * c - 2 * c * jnp.cos(x))
    return jnp.where((c > 0) & (c < 1), inside((x >= 0) & (x <= 2 * np.pi), out), np.nan)


wrapcauchy = plain("wrapcauchy", "The wrapped Cauchy distribution.", "c", logpdf=wrapcauchy_logpdf)
