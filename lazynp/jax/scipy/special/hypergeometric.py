"""Hypergeometric functions, Bessel functions, spherical harmonics."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ....ops.hypergeometric import hyp2f1 as hyp2f1_op
from ... import lax
from ... import numpy as jnp
from ...arguments import inexact, real_inexact
from ...array import as_node
from ...at_once import apply
from ...derivatives import custom_jvp
from .gamma import digamma, gamma

MOST = 250  # terms of a series


def series(term: Any, factor: Callable[[Any], Any], weight: Callable[[Any], Any] | None = None) -> Any:
    """The sum of terms, the first given, each `factor(k)` times the one before, k from 1, until they do not count.

    With `weight`, of the terms times `weight(k)`.
    """
    eps = float(jnp.finfo(term.dtype).eps)

    def body(state: Any) -> Any:
        total, k, term, live = state
        total = jnp.where(live, total + (term if weight is None else term * weight(k)), total)
        term = term * factor(k)
        return total, k + 1, term, live & (jnp.abs(term) > eps * jnp.abs(total))

    start = jnp.zeros_like(term) if weight is not None else jnp.ones_like(term)
    state = (start, jnp.ones((), term.dtype), term, jnp.ones(term.shape, bool))
    return lax.while_loop(lambda s: jnp.any(s[3]) & (s[1] < MOST), body, state)[0]


@custom_jvp
def hyp1f1_of(a: Any, b: Any, x: Any) -> Any:
    near = jnp.abs(x) < 100
    z = jnp.where(near, x, 1.0)
    inner = series(a / b * z, lambda k: (a + k) / (b + k) * z / (k + 1))
    y = jnp.where(near, 200.0, x)
    outer = series((b - a) * (1 - a) / y, lambda k: (b - a + k) * (1 - a + k) / (k + 1) / y)
    out = jnp.where(near, inner, gamma(b) / gamma(a) * jnp.exp(x) * y ** (a - b) * outer)
    out = jnp.where((b == 0) & (a != 0), np.inf, jnp.where((a == b) & (a != 0), jnp.exp(x), out))
    return jnp.where(a == 0, jnp.ones_like(out), out)


hyp1f1_of.defjvps(
    lambda g, out, a, b, x: g * series(
        a / b * x, lambda k: (a + k) / (b + k) * x / (k + 1), lambda k: digamma(a + k) - digamma(a)
    ),
    lambda g, out, a, b, x: g * series(
        a / b * x, lambda k: (a + k) / (b + k) * x / (k + 1), lambda k: digamma(b) - digamma(b + k)
    ),
    lambda g, out, a, b, x: g * a / b * hyp1f1_of(a + 1, b + 1, x),
)  # fmt: skip


def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Kummer's confluent hypergeometric function. Raises ValueError for complex numbers."""
    return hyp1f1_of(*jnp.broadcast_arrays(*real_inexact("hyp1f1", a, b, x)))


@custom_jvp
def hyp2f1_of(a: Any, b: Any, c: Any, x: Any) -> Any:
    return apply(hyp2f1_op, *[as_node(v) for v in (a, b, c, x)])


def along_parameter(weight: Callable[[Any, Any, Any, Any], Any]) -> Callable[..., Any]:
    """The derivative of 2F1 along a parameter: its series, with the terms weighted."""
    return lambda g, out, a, b, c, x: (
        g * series(a * b / c * x, lambda k: (a + k) * (b + k) / (c + k) / (k + 1) * x, lambda k: weight(a, b, c, k))
    )


hyp2f1_of.defjvps(
    along_parameter(lambda a, b, c, k: digamma(a + k) - digamma(a)),
    along_parameter(lambda a, b, c, k: digamma(b + k) - digamma(b)),
    along_parameter(lambda a, b, c, k: digamma(c) - digamma(c + k)),
    lambda g, out, a, b, c, x: g * a * b / c * hyp2f1_of(a + 1, b + 1, c + 1, x),
)


def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Gauss's hypergeometric function 2F1(a, b; c; x). Derivatives along a, b and c are for |x| < 1.

    Raises: ValueError for complex numbers.
    """
    out = hyp2f1_of(*jnp.broadcast_arrays(*real_inexact("hyp2f1", a, b, c, x)))
    return lax.convert_element_type(out, out.dtype)


# Bessel functions.


def i0e(x: Any) -> Any:
    """The modified Bessel function of order 0, times exp(-|x|)."""
    return lax.bessel_i0e(*inexact("i0e", x))


def i0(x: Any) -> Any:
    """The modified Bessel function of order 0."""
    (x,) = inexact("i0", x)
    return jnp.exp(jnp.abs(x)) * lax.bessel_i0e(x)


def i1e(x: Any) -> Any:
    """The modified Bessel function of order 1, times exp(-|x|)."""
    return lax.bessel_i1e(*inexact("i1e", x))


def i1(x: Any) -> Any:
    """The modified Bessel function of order 1."""
    (x,) = inexact("i1", x)
    return jnp.exp(jnp.abs(x)) * lax.bessel_i1e(x)


def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Any:
    """Bessel functions of the first kind of the orders 0 to v, along a new first axis.

    Args:
        n_iter: where the backward recurrence (Miller's) starts.

    Raises: ValueError for complex numbers.
    """
    (z,) = inexact("bessel_jn", z)
    if z.dtype.kind == "c":
        raise ValueError("complex input not supported.")
    z = z.astype(z.dtype)  # never weak, as JAX's
    v, n_iter = operator.index(v), operator.index(n_iter)
    f0, f1, norm = jnp.zeros_like(z), jnp.full_like(z, 1e-16), jnp.zeros_like(z)
    orders: list[Any] = []
    for k in range(n_iter, -1, -1):
        f = 2.0 * (k + 1.0) * f1 / z - f0
        norm = norm + 2.0 * f if k % 2 == 0 else norm
        f0, f1 = f1, f
        orders.append(f)
    return jnp.stack(orders[::-1])[: v + 1] / (norm - f1)


# Spherical harmonics.


def legendre(degrees: int, x: Any) -> list[list[Any]]:
    """The associated Legendre functions [m][l - m] of x, normalized for spherical harmonics (Condon-Shortley phase)."""
    sine = jnp.sqrt(1.0 - x * x)
    diagonal = jnp.full_like(x, 0.5 / math.sqrt(np.pi))
    table = []
    for m in range(degrees + 1):
        if m:
            diagonal = diagonal * sine * -math.sqrt(1.0 + 0.5 / m)
        row = [diagonal, math.sqrt(2.0 * m + 3.0) * x * diagonal]
        for l in range(m + 2, degrees + 1):
            a = math.sqrt((4.0 * l * l - 1.0) / (l * l - m * m))
            b = math.sqrt((2.0 * l + 1.0) * ((l - 1.0) ** 2 - m * m) / ((2.0 * l - 3.0) * (l * l - m * m)))
            row.append(a * x * row[-1] - b * row[-2])
        table.append(row[: degrees + 1 - m])
    return table


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, diff_n: Any = None, n_max: int | None = None) -> Any:
    """Spherical harmonics.

    Args:
        n, m: degrees and orders, |m| <= n, arrays of integers of one length.
        theta, phi: polar and azimuthal angles, of that length.
        n_max: the largest degree; has to be given where n is traced.

    Returns: complex numbers, of that length.

    Raises: NotImplementedError where diff_n is given.
    """
    if diff_n is not None:
        raise NotImplementedError("The 'diff_n' argument to jax.scipy.special.sph_harm_y is not supported.")
    theta = jnp.atleast_1d(jnp.asarray(theta))
    degrees = operator.index(np.max(n) if n_max is None else n_max)
    n, m = jnp.asarray(n), jnp.asarray(m)
    order = jnp.abs(m)
    values = jnp.zeros_like(theta)
    for k, row in enumerate(legendre(degrees, jnp.cos(theta))):
        for i, value in enumerate(row):
            values = jnp.where((order == k) & (n == k + i), value, values)
    angle = order * phi
    out = lax.complex(values * jnp.cos(angle), values * jnp.sin(angle))
    return jnp.where(m < 0, (-1.0) ** order * jnp.conjugate(out), out)


def lpmn_values(m: int, n: int, z: Any, is_normalized: bool) -> Any:
    """The associated Legendre functions of the first kind, with the Condon-Shortley phase.

    Args:
        m, n: the largest order and degree: the same.
        z: a vector of floats. is_normalized: as for spherical harmonics.

    Returns: floats, of shape (n + 1, n + 1, len(z)): for each order the degrees, zeros where they are less.

    Raises: TypeError for another dtype, ValueError for other than a vector, NotImplementedError for m != n.
    """
    z = jnp.asarray(z)
    if z.dtype not in (np.float32, np.float64):
        raise TypeError(f"z.dtype={z.dtype} is not supported, see docstring for supported types.")
    if z.ndim != 1:
        raise ValueError("z must be a 1D array.")
    if operator.index(m) != operator.index(n):
        raise NotImplementedError("Computations for m!=n are not yet supported.")
    rows = []
    for order, row in enumerate(legendre(operator.index(n), z)):
        scales = [
            1.0 if is_normalized else math.sqrt(4 * np.pi / (2 * l + 1) * math.perm(l + order, 2 * order))
            for l in range(order, n + 1)
        ]
        rows.append(jnp.stack([jnp.zeros_like(z)] * order + [value * s for value, s in zip(row, scales)]))
    return jnp.stack(rows)


def lpmn(m: int, n: int, z: Any) -> tuple[Any, Any]:
    """The associated Legendre functions and their derivatives: arguments and errors as of `lpmn_values`."""
    values = lpmn_values(m, n, z, False)
    order, degree = jnp.arange(n + 1.0)[:, None, None], jnp.arange(n + 1.0)[None, :, None]
    less = jnp.concatenate([jnp.zeros_like(values[:, :1]), values[:, :-1]], axis=1)
    z = jnp.asarray(z)
    slopes = (degree * z * values - (degree + order) * less) / (z * z - 1.0)
    return values, slopes.astype(values.dtype)
