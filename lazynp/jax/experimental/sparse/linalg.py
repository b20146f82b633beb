"""Solving sparse linear systems, and the largest eigenvalues of matrices that are functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import numpy as jnp
from ...lax import while_loop
from ...numpy import linalg
from .csr import CSR

__all__ = ["lobpcg_standard", "spsolve"]


def spsolve(data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-6, reorder: int = 1) -> Any:
    """The solution x of `A @ x = b`, for a matrix A by its elements in the order of its rows. It is made dense.

    Args:
        tol, reorder: of the solver that JAX calls on GPUs; the CPU's has no use for them either.
    """
    n = b.shape[0]
    return linalg.solve(CSR((data, indices, indptr), shape=(n, n)).todense(), b)


def lobpcg_standard(A: Any, X: Any, m: int = 100, tol: Any = None) -> tuple[Any, Any, Any]:
    """The k largest eigenvalues of a positive semidefinite matrix, by the method LOBPCG (Knyazev 2001): the space is
    spanned by the eigenvectors found so far, their residuals, and the last steps.

    Args:
        A: an array of shape (n, n), or a function that multiplies one of shape (n, k) by it. X: a first guess of the
            eigenvectors, of shape (n, k), where 5 k < n. m: steps at most. tol: the residuals, relative to n times A
            and the eigenvalue, at which it is done; by default the dtype's eps.

    Returns: the eigenvalues, the largest first; the eigenvectors, as columns; and how many steps were made.

    Raises: ValueError for shapes that do not fit.
    """
    n, k = X.shape
    if k == 0:
        raise ValueError(f"must have search dim > 0, got {k}")
    if k * 5 >= n:
        raise ValueError(f"expected search dim * 5 < matrix dim (got {k * 5}, {n})")
    times: Callable[[Any], Any] = A if callable(A) else lambda x: A @ x
    one = times(X[:, :1])
    if one.shape != (n, 1):
        raise ValueError(f"A must be ({n}, {n}) matrix A, got output {one.shape}")
    limit = jnp.finfo(X.dtype).eps if tol is None else tol

    def largest(basis: Any) -> tuple[Any, Any, Any]:
        """The largest eigenvalues in the space of a basis, orthonormal eigenvectors, and A times these."""
        basis = linalg.qr(basis)[0]
        image = times(basis)
        values, vectors = linalg.eigh(basis.T @ image)
        chosen = vectors[:, : -k - 1 : -1]
        return values[: -k - 1 : -1], basis @ chosen, image @ chosen

    def missing(values: Any, vectors: Any, image: Any) -> tuple[Any, Any]:
        """The residuals, and for how many eigenvalues they are too large."""
        residual = image - vectors * values
        size = 10 * n * (linalg.norm(image, axis=0) + values)
        return residual, (linalg.norm(residual, axis=0) > limit * size).sum()

    def step(state: Any) -> Any:
        i, values, vectors, image, last, _ = state
        residual, _ = missing(values, vectors, image)
        values, found, image = largest(jnp.concatenate([vectors, unit(residual), unit(last)], axis=1))
        last = found - vectors @ (vectors.T @ found)
        return i + 1, values, found, image, last, missing(values, found, image)[1]

    first = largest(X)
    state = 0, *first, jnp.zeros_like(X), missing(*first)[1]
    done, values, vectors, *_ = while_loop(lambda state: (state[0] < m) & (state[-1] > 0), step, state)
    return values, vectors, done


def unit(x: Any) -> Any:
    """The columns with length 1; zeros stay zeros."""
    length = linalg.norm(x, axis=0)
    return x / jnp.where(length == 0, 1, length)
