"""Logarithms and what is made of them: logit, entropies, Box-Cox, the dilogarithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax, nn
from ... import numpy as jnp
from ...arguments import inexact, real_inexact
from ...derivatives import custom_jvp
from .coefficients import SPENCE

Axis = int | tuple[int, ...] | None

logsumexp = nn.logsumexp


def softmax(x: Any, /, *, axis: Axis = None) -> Any:
    """exp(x) / sum(exp(x)); over all axes by default."""
    return nn.softmax(x, axis=axis)


def log_softmax(x: Any, /, *, axis: Axis = None) -> Any:
    """log(softmax(x)); over all axes by default."""
    return nn.log_softmax(x, axis=axis)


def logit(x: Any) -> Any:
    """log(x / (1 - x))."""
    return logit_of(*inexact("logit", x))


@custom_jvp
def logit_of(x: Any) -> Any:
    return jnp.log(x / (1 - x))


logit_of.defjvps(lambda g, out, x: g / (x * (1 - x)))


def expit(x: Any) -> Any:
    """1 / (1 + e^-x)."""
    return lax.logistic(*inexact("expit", x))


def xlogy(x: Any, y: Any) -> Any:
    """x log(y), and 0 where x is 0."""
    return xlogy_of(*inexact("xlogy", x, y))


@custom_jvp
def xlogy_of(x: Any, y: Any) -> Any:
    return jnp.where((x != 0.0) | jnp.isnan(y), x * jnp.log(y), jnp.zeros_like(x))


xlogy_of.defjvps(lambda g, out, x, y: g * jnp.log(y), lambda g, out, x, y: g * x / y)


def xlog1py(x: Any, y: Any) -> Any:
    """x log(1 + y), and 0 where x is 0."""
    return xlog1py_of(*inexact("xlog1py", x, y))


@custom_jvp
def xlog1py_of(x: Any, y: Any) -> Any:
    return jnp.where((x != 0.0) | jnp.isnan(y), x * jnp.log1p(y), jnp.zeros_like(x))


xlog1py_of.defjvps(lambda g, out, x, y: g * jnp.log1p(y), lambda g, out, x, y: g * x / (1 + y))


@custom_jvp
def xlogx(x: Any) -> Any:
    return jnp.where((x != 0.0) | jnp.isnan(x), x * jnp.log(x), jnp.zeros_like(x))


xlogx.defjvps(lambda g, out, x: g * (jnp.log(x) + 1))


def entr(x: Any) -> Any:
    """-x log(x); 0 at 0, -inf below. Raises ValueError for complex numbers."""
    (x,) = real_inexact("entr", x)
    return jnp.where(x < 0, -np.inf, -xlogx(x))


def rel_entr(p: Any, q: Any) -> Any:
    """p log(p / q); 0 where p is 0, inf where q is not positive. Raises ValueError for complex numbers."""
    p, q = real_inexact("rel_entr", p, q)
    inside = (p > 0) & (q > 0)
    safe_p, safe_q = jnp.where(inside, p, 1), jnp.where(inside, q, 1)
    zero = jnp.zeros((), p.dtype) if p.ndim else 0.0  # beside an array nothing is weak
    outside = jnp.where((p == 0) & (q >= 0), zero, np.inf)
    return jnp.where(inside, xlogx(safe_p) - xlogy_of(safe_p, safe_q), outside)


def kl_div(p: Any, q: Any) -> Any:
    """rel_entr(p, q) - p + q. Raises ValueError for complex numbers."""
    p, q = real_inexact("kl_div", p, q)
    return rel_entr(p, q) - p + q


def box_cox(log: Any, lmbda: Any) -> Any:
    zero = lmbda == 0
    safe = jnp.where(zero, jnp.ones_like(lmbda), lmbda)
    return jnp.where(zero, log, jnp.expm1(safe * log) / safe)


def boxcox(x: Any, lmbda: Any) -> Any:
    """(x^lambda - 1) / lambda, and log(x) where lambda is 0."""
    x, lmbda = inexact("boxcox", x, lmbda)
    return box_cox(jnp.log(x), lmbda)


def boxcox1p(x: Any, lmbda: Any) -> Any:
    """((1 + x)^lambda - 1) / lambda, and log(1 + x) where lambda is 0."""
    x, lmbda = inexact("boxcox1p", x, lmbda)
    return box_cox(jnp.log1p(x), lmbda)


def spence(x: Any) -> Any:
    """The dilogarithm: the integral of log(t) / (1 - t) from 1 to x; NaN below 0.

    Raises: TypeError for other than float32 and float64.
    """
    x = jnp.asarray(x)
    if x.dtype not in (np.float32, np.float64):
        raise TypeError(f"x.dtype={x.dtype} is not supported, see docstring for supported types.")
    inside = ~(x <= 0) & (x != 1)  # and NaN, which formulas carry into derivatives
    safe = jnp.where(inside, x, 0.75)
    inverted = safe > 2.0
    y = jnp.where(inverted, 1.0 / safe, safe)
    large, small = y > 1.5, y < 0.5
    w = jnp.where(large, 1.0 / y - 1.0, jnp.where(small, -y, y - 1.0))
    out = -w * SPENCE(w)
    out = jnp.where(small, np.pi**2 / 6.0 - jnp.log(y) * jnp.log(jnp.where(small, 1.0 - y, 1.0)) - out, out)
    out = jnp.where(inverted | large, -0.5 * jnp.log(y) ** 2 - out, out)
    out = jnp.where(x == 0, np.pi**2 / 6, jnp.where(x == 1, 0.0, out))
    return jnp.where(x < 0, np.nan, out).astype(x.dtype)  # never weak, as JAX's
