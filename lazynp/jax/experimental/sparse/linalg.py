"""Solving sparse linear systems."""

from __future__ import annotations

from typing import Any

from ... import numpy as jnp
from .csr import CSR

__all__ = ["spsolve"]


def spsolve(data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-6, reorder: int = 1) -> Any:
    """The solution x of `A @ x = b`, for a matrix A by its elements in the order of its rows. It is made dense.

    Args:
        tol, reorder: of the solver that JAX calls on GPUs; the CPU's has no use for them either.
    """
    n = b.shape[0]
    return jnp.linalg.solve(CSR((data, indices, indptr), shape=(n, n)).todense(), b)
