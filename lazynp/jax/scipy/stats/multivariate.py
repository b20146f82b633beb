"""Distributions of vectors: the multivariate normal, Dirichlet's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as jnp
from ...arguments import matrices
from ..linalg import solve_triangular
from ..special import gammaln, xlogy
from .distribution import Distribution

LOG_2PI = float(np.log(2 * np.pi))


def normal_logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Any:
    """The logarithm of the density of vectors along the last axis.

    Args:
        cov: a matrix, or a stack of them, or the variance of each component.

    Raises: ValueError for shapes that do not fit; NotImplementedError where allow_singular is given.
    """
    if allow_singular is not None:
        raise NotImplementedError("allow_singular argument of multivariate_normal.logpdf")
    x, mean, cov = matrices(x, mean, cov)
    if not mean.shape:
        return -0.5 * jnp.square(x - mean) / cov - 0.5 * (LOG_2PI + jnp.log(cov))
    n = mean.shape[-1]
    if cov.shape and (cov.ndim < 2 or cov.shape[-2:] != (n, n)):
        raise ValueError("multivariate_normal.logpdf got incompatible shapes")
    y = x - mean
    if not cov.shape:
        return -0.5 * jnp.sum(y * y, axis=-1) / cov - n / 2 * (LOG_2PI + jnp.log(cov))
    low = jnp.linalg.cholesky(cov)
    stack = jnp.broadcast_shapes(low.shape[:-2], y.shape[:-1])
    low, y = jnp.broadcast_to(low, (*stack, n, n)), jnp.broadcast_to(y, (*stack, n))
    z = solve_triangular(low, y[..., None], lower=True)[..., 0]
    logs = jnp.log(jnp.diagonal(low, axis1=-2, axis2=-1))
    return -0.5 * jnp.sum(z * z, axis=-1) - n / 2 * LOG_2PI - jnp.sum(logs, axis=-1)


def normal_pdf(x: Any, mean: Any, cov: Any) -> Any:
    """The density."""
    return jnp.exp(normal_logpdf(x, mean, cov))


multivariate_normal = Distribution(
    "multivariate_normal", "The multivariate normal distribution.", {"logpdf": normal_logpdf, "pdf": normal_pdf}
)


def dirichlet_logpdf(x: Any, alpha: Any) -> Any:
    """The logarithm of the density of points along the first axis, whose last component may be left out.

    Raises: ValueError for shapes that do not fit.
    """
    x, alpha = matrices(x, alpha)
    if alpha.ndim != 1:
        raise ValueError(f"`alpha` must be one-dimensional; got alpha.shape={alpha.shape}")
    n = alpha.shape[0]
    if x.shape[0] not in (n, n - 1):
        raise ValueError(
            "`x` must have either the same number of entries as `alpha` or one entry fewer; "
            f"got x.shape={x.shape}, alpha.shape={alpha.shape}"
        )
    if x.shape[0] != n:
        x = jnp.concatenate([x, 1 - jnp.sum(x, 0, keepdims=True)], axis=0)
    size = jnp.sum(gammaln(alpha)) - gammaln(jnp.sum(alpha))
    powers = jnp.reshape(alpha, (n,) + (1,) * (x.ndim - 1)) - 1
    out = jnp.sum(xlogy(powers, x), axis=0) - size
    simplex = jnp.all(x > 0, axis=0) & (jnp.abs(jnp.sum(x, axis=0) - 1) < 1e-6)
    return jnp.where(simplex, out, -np.inf)


def dirichlet_pdf(x: Any, alpha: Any) -> Any:
    """The density."""
    return jnp.exp(dirichlet_logpdf(x, alpha))


dirichlet = Distribution("dirichlet", "Dirichlet's distribution.", {"logpdf": dirichlet_logpdf, "pdf": dirichlet_pdf})
