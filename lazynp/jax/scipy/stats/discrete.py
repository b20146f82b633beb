"""Discrete distributions of one variable, in standard form, and the multinomial one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as jnp
from ...arguments import arraylike, inexact
from ..special import betaln, entr, gammaincc, gammaln, xlog1py, xlogy
from .distribution import Distribution, discrete, settled


def bernoulli_cdf(k: Any, p: Any) -> Any:
    out = jnp.where(k < 0, 0.0, jnp.where(k < 1, 1 - p, jnp.ones_like(p)))
    return jnp.where(jnp.isnan(k) | jnp.isnan(p) | (p < 0) | (p > 1), np.nan, out)


def bernoulli_ppf(q: Any, p: Any) -> Any:
    bad = jnp.isnan(q) | jnp.isnan(p) | (p < 0) | (p > 1) | (q < 0) | (q > 1)
    return jnp.where(bad, np.nan, jnp.where(q <= 1 - p, jnp.zeros_like(q), jnp.ones_like(q)))


bernoulli = discrete(
    "bernoulli",
    "The Bernoulli distribution.",
    "p",
    logpmf=lambda k, p: jnp.where((k < 0) | (k > 1), -np.inf, xlogy(k, p) + xlog1py(1 - k, -p)),
)
vars(bernoulli).update(
    vars(discrete("bernoulli", "", "p", loc=False, cdf=bernoulli_cdf, ppf=bernoulli_ppf))
    | {"__doc__": bernoulli.__doc__}
)


def binom_logpmf(k: Any, n: Any, p: Any) -> Any:
    ways = gammaln(n + 1) - (gammaln(k + 1) + gammaln(n - k + 1))
    linear = xlogy(k, p) + xlog1py(n - k, -p)
    out = jnp.where(((k == 0) & (n == 0)) | (linear == 0), 0.0, ways + linear)
    return jnp.where((k >= 0) & (k < n + 1), out, -np.inf)


binom = discrete("binom", "The binomial distribution.", "n p", logpmf=binom_logpmf)
nbinom = discrete(
    "nbinom",
    "The negative binomial distribution.",
    "n p",
    logpmf=lambda k, n, p: jnp.where(
        k < 0, -np.inf, gammaln(k + n) - gammaln(n) - gammaln(k + 1) + xlogy(n, p) + xlogy(k, 1 - p)
    ),
)
geom = discrete(
    "geom",
    "The geometric distribution.",
    "p",
    logpmf=lambda k, p: jnp.where(k <= 0, -np.inf, xlog1py(k - 1, -p) + jnp.log(p)),
)
poisson = discrete(
    "poisson",
    "The Poisson distribution.",
    "mu",
    logpmf=lambda k, mu: jnp.where((k < 0) | (jnp.round(k) != k), -np.inf, xlogy(k, mu) - gammaln(k + 1) - mu),
    cdf=lambda k, mu: jnp.where(k < 0, 0.0, gammaincc(jnp.floor(1 + jnp.maximum(k, 0)), mu)),
)


def poisson_entropy(mu: Any, loc: Any = 0) -> Any:
    """The entropy: a sum over the probable values up to a mean of 100, an asymptotic series beyond."""
    mu, loc = inexact("poisson.entropy", mu, loc)
    flat = jnp.ravel(mu)

    def summed(most: int, bound: Any) -> Any:
        k = jnp.arange(most, dtype=flat.dtype)[:, None]
        probable = jnp.where(k < jnp.ceil(bound), poisson.pmf(k, flat), 0.0)
        return jnp.sum(entr(probable), axis=0)

    small = summed(35, flat + 20)
    medium = summed(250, flat + 10 * jnp.sqrt(flat) + 20)
    large = 0.5 * jnp.log(2 * np.pi * np.e * flat) - 1.0 / (12 * flat)
    out = jnp.where(flat < 10, small, jnp.where(flat < 100, medium, large))
    out = jnp.reshape(jnp.where(flat == 0, 0.0, out), mu.shape)
    return jnp.broadcast_to(out, jnp.broadcast_shapes(mu.shape, loc.shape))


vars(poisson)["entropy"] = poisson_entropy


def betabinom_logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability."""
    k, n, a, b, loc = inexact("betabinom.logpmf", k, n, a, b, loc)
    y = jnp.floor(k) - loc
    out = -(jnp.log1p(n) + betaln(n - y + 1, y + 1)) + betaln(y + a, n - y + b) - betaln(a, b)
    out = jnp.where((y == 0) & (n == 0), 0.0, out)
    out = jnp.where((y < -loc) | (y > n) | (y + a <= 0), -np.inf, out)
    return settled("betabinom", "logpmf", k, jnp.where((n < 0) | (a <= 0) | (b <= 0), np.nan, out))


def betabinom_pmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The probability."""
    return jnp.exp(betabinom_logpmf(k, n, a, b, loc))


betabinom = Distribution(
    "betabinom", "The beta-binomial distribution.", {"logpmf": betabinom_logpmf, "pmf": betabinom_pmf}
)


def multinomial_logpmf(x: Any, n: Any, p: Any) -> Any:
    """The logarithm of the probability of counts x, along the last axis. Raises ValueError for other than integers."""
    (p,) = inexact("multinomial.logpmf", p)
    x, n = arraylike("multinomial.logpmf", x, n)
    if x.dtype.kind not in "iu":
        raise ValueError(f"x and n must be of integer type; got x.dtype={x.dtype}, n.dtype={n.dtype}")
    x, n = x.astype(p.dtype), n.astype(p.dtype)
    out = gammaln(n + 1) + jnp.sum(xlogy(x, p) - gammaln(x + 1), axis=-1)
    return jnp.where(jnp.sum(x) == n, out, -np.inf)


def multinomial_pmf(x: Any, n: Any, p: Any) -> Any:
    """The probability of counts x."""
    return jnp.exp(multinomial_logpmf(x, n, p))


multinomial = Distribution(
    "multinomial", "The multinomial distribution.", {"logpmf": multinomial_logpmf, "pmf": multinomial_pmf}
)
