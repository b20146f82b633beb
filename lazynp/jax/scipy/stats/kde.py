"""Kernel density estimates with Gaussian kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as jnp
from ... import random
from ...arguments import arraylike, matrices
from ...tree_util import register_pytree_node
from ..linalg import cho_factor, cho_solve, cholesky
from ..special import logsumexp, ndtr


class gaussian_kde:
    """A density estimated from samples.

    Attributes:
        dataset: the samples, (d, n).
        weights: of the samples, (n,), with sum 1.
        neff: the effective number of samples.
        covariance, inv_cov: of the kernel, (d, d).
    """

    __slots__ = ("neff", "dataset", "weights", "covariance", "inv_cov")
    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        """
        Args:
            dataset: (d, n), or (n,).
            bw_method: the factor of the kernel's width: "scott" (None), "silverman", a number, or a function of this.
            weights: (n,); equal by default.

        Raises: ValueError for shapes or a method that do not fit, NotImplementedError for complex numbers.
        """
        dataset = jnp.atleast_2d(arraylike("gaussian_kde", dataset))
        if dataset.dtype.kind == "c":
            raise NotImplementedError("gaussian_kde does not support complex data")
        if not dataset.size > 1:
            raise ValueError("`dataset` input should have multiple elements.")
        d, n = dataset.shape
        if weights is None:
            (dataset,) = matrices(dataset)
            weights = jnp.full(n, 1.0 / n, dtype=dataset.dtype)
        else:
            dataset, weights = matrices(dataset, arraylike("gaussian_kde", weights))
            weights = jnp.atleast_1d(weights)
            weights = weights / jnp.sum(weights)
            if weights.ndim != 1:
                raise ValueError("`weights` input should be one-dimensional.")
            if len(weights) != n:
                raise ValueError("`weights` input should be of length n")
        self.dataset, self.weights = dataset, weights
        self.neff = 1 / jnp.sum(weights**2)
        if bw_method is None or (isinstance(bw_method, str) and bw_method == "scott"):
            factor = jnp.power(self.neff, -1.0 / (d + 4))
        elif isinstance(bw_method, str) and bw_method == "silverman":
            factor = jnp.power(self.neff * (d + 2) / 4.0, -1.0 / (d + 4))
        elif callable(bw_method):
            factor = bw_method(self)
        elif not isinstance(bw_method, str) and jnp.ndim(bw_method) == 0:
            factor = bw_method
        else:
            raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar, or a callable.")
        covariance = jnp.atleast_2d(jnp.cov(dataset, rowvar=True, bias=False, aweights=weights))
        self.covariance = covariance * factor**2
        self.inv_cov = jnp.linalg.inv(covariance) / factor**2

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join([f'{name}={getattr(self, name)!r}' for name in self.__slots__])})"

    @property
    def d(self) -> int:
        """The number of dimensions."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of samples."""
        return self.dataset.shape[1]

    def _exponents(self, points: Any) -> Any:
        """The logarithm of each sample's kernel at each point, (n, points). Raises ValueError for bad shapes."""
        points = arraylike("evaluate", points)
        if points.dtype.kind == "c":
            raise NotImplementedError("gaussian_kde does not support complex coordinates")
        points = jnp.atleast_2d(points)
        d, m = points.shape
        if d != self.d:
            if d != 1 or m != self.d:
                raise ValueError(f"points have dimension {d}, dataset has dimension {self.d}")
            points = jnp.reshape(points, (self.d, 1))
        points, dataset, precision = matrices(points, self.dataset, self.inv_cov)
        white = cholesky(precision, lower=True)
        at, samples = points.T @ white, dataset.T @ white
        size = jnp.sum(jnp.log(jnp.diag(white))) - 0.5 * self.d * float(np.log(2 * np.pi))
        return size - 0.5 * jnp.sum(jnp.square(samples[:, None, :] - at[None, :, :]), axis=-1)

    def evaluate(self, points: Any) -> Any:
        """The density at points (d, m)."""
        return jnp.sum(self.weights[:, None] * jnp.exp(self._exponents(points)), axis=0)

    def __call__(self, points: Any) -> Any:
        return self.evaluate(points)

    def pdf(self, x: Any) -> Any:
        """The density at points (d, m)."""
        return self.evaluate(x)

    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density at points (d, m)."""
        return logsumexp(jnp.log(self.weights)[:, None] + self._exponents(x), axis=0)

    def _convolved(self, covariance: Any, mean: Any) -> Any:
        """The integral of this density times a normal one."""
        factor = cho_factor(self.covariance + covariance)
        size = jnp.sqrt(2 * np.pi) ** self.d * jnp.prod(jnp.diag(factor[0]))
        away = self.dataset - mean[:, None]
        power = 0.5 * jnp.sum(away * cho_solve(factor, away), axis=0)
        return jnp.sum(jnp.exp(-power) * self.weights) / size

    def integrate_gaussian(self, mean: Any, cov: Any) -> Any:
        """The integral of the density times a normal one. Raises ValueError for shapes that do not fit."""
        mean, cov = jnp.atleast_1d(jnp.squeeze(mean)), jnp.atleast_2d(cov)
        if mean.shape != (self.d,):
            raise ValueError(f"mean does not have dimension {self.d}")
        if cov.shape != (self.d, self.d):
            raise ValueError(f"covariance does not have dimension {self.d}")
        return self._convolved(cov, mean)

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """The integral between two scalars. Raises ValueError in more than one dimension."""
        if self.d != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        if jnp.ndim(low) != 0 or jnp.ndim(high) != 0:
            raise ValueError("the limits of integration in integrate_box_1d must be scalars")
        sigma = jnp.squeeze(jnp.sqrt(self.covariance))
        ends = [jnp.squeeze((end - self.dataset) / sigma) for end in (low, high)]
        return jnp.sum(self.weights * (ndtr(ends[1]) - ndtr(ends[0])))

    def integrate_kde(self, other: gaussian_kde) -> Any:
        """The integral of the product of two estimates. Raises ValueError where their dimensions differ."""
        if other.d != self.d:
            raise ValueError("KDEs are not the same dimensionality")
        few, many = (self, other) if self.n < other.n else (other, self)
        parts = [many._convolved(few.covariance, few.dataset[:, i]) for i in range(few.n)]
        return jnp.sum(jnp.stack(parts) * few.weights)

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Any:
        """Not there in more than one dimension: NotImplementedError, as in JAX."""
        raise NotImplementedError("only 1D box integrations are supported; use `integrate_box_1d`")

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Not there: NotImplementedError, as in JAX."""
        raise NotImplementedError("dynamically changing the bandwidth method is not supported")

    def resample(self, key: Any, shape: tuple[int, ...] = ()) -> Any:
        """Samples of the density, (d, *shape)."""
        which_key, noise_key = random.split(key)
        which = random.choice(which_key, self.n, shape=shape, p=self.weights)
        zero = jnp.zeros(self.d, self.covariance.dtype)
        noise = random.multivariate_normal(noise_key, zero, self.covariance, shape=shape, dtype=self.dataset.dtype)
        return self.dataset[:, which] + noise.T


def unflatten(_: Any, children: Any) -> gaussian_kde:
    out = gaussian_kde.__new__(gaussian_kde)
    for name, child in zip(gaussian_kde.__slots__, children):
        setattr(out, name, child)
    return out


register_pytree_node(gaussian_kde, lambda k: ([getattr(k, name) for name in gaussian_kde.__slots__], None), unflatten)
