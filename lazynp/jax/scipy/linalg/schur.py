"""The Schur form, and what is made of it: functions and square roots of matrices, Sylvester's equation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....graph.op import results
from ....ops import lapack
from ... import numpy as jnp
from ...arguments import matrices
from ...at_once import apply
from ...dtypes import complex_of
from ...lax import linalg
from .solve import adjoint


def schur(a: Any, output: str = "real") -> tuple[Any, Any]:
    """T and Z: a = Z T Z^H. T is upper triangular, for "real" of real matrices with blocks of two on its diagonal.

    Raises: ValueError for another output, or matrices that are not square.
    """
    if output not in ("real", "complex"):
        raise ValueError(f"Expected 'output' to be either 'real' or 'complex', got {output=}.")
    (x,) = matrices(a)
    t, z = linalg.schur(x.astype(complex_of(x.dtype)) if output == "complex" else x)
    return t, z


def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """The complex Schur form for a real one. Raises ValueError for matrices that are not square, or do not fit."""
    arrays = [jnp.asarray(T), jnp.asarray(Z)]
    for name, x in zip("ZT", reversed(arrays)):
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError(f"Input '{name}' must be square.")
    if arrays[0].shape[-1] != arrays[1].shape[-1]:
        raise ValueError(f"Input array shapes must match: Z: {arrays[1].shape} vs. T: {arrays[0].shape}")
    dtype = complex_of(jnp.result_type(*arrays))
    t, z = jnp.broadcast_arrays(*arrays)
    return apply(lambda t, z: tuple(results(lapack.complex_schur(t, z))), t.astype(dtype).node, z.astype(dtype).node)


def sqrtm(A: Any, blocksize: int = 1) -> Any:
    """The principal square root of a square matrix, complex. Raises NotImplementedError for a larger `blocksize`."""
    if blocksize > 1:
        raise NotImplementedError("Blocked version is not implemented yet.")
    (a,) = matrices(A)
    if a.ndim > 2:
        raise ValueError(f"sqrtm takes one matrix, got shape {a.shape}")
    t, z = schur(a, output="complex")
    return z @ apply(lapack.triangular_root, t.node) @ adjoint(z)


def funm(A: Any, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """A function of a square matrix, from the function's values at the eigenvalues (Parlett's recurrence), complex.

    Args:
        func: of a vector.
        disp: if False, an estimate of the error is returned too.

    Raises: ValueError for what is no square matrix.
    """
    a = jnp.asarray(A)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError("expected square array_like input")
    t, z = rsf2csf(*schur(a))
    values = jnp.diag(func(jnp.diag(t))).astype(t.dtype)
    f, least = apply(lambda f, t: tuple(results(lapack.parlett(f, t))), values.node, t.node)
    out = z @ f @ adjoint(z)
    if disp:
        return out
    tol = np.finfo(out.dtype).eps
    gap = jnp.where(least[0, 0] == 0, tol, least[0, 0])
    error = jnp.clip(tol / gap * jnp.linalg.norm(jnp.triu(t, 1), 1), tol, 1)
    return out, jnp.where(jnp.any(jnp.isinf(out)), np.inf, error)


def solve_sylvester(A: Any, B: Any, C: Any, *, method: str = "schur", tol: float = 1e-8) -> Any:
    """X with A X + X B = C; NaN where eigenvalues of A and -B are closer than `tol`.

    Args:
        A, B, C: (..., m, m), (..., n, n) and (..., m, n).
        method: "schur", or "eigen", which is faster and less accurate.

    Raises: ValueError for shapes that do not fit, or another method.
    """
    a, b, c = matrices(A, B, C)
    m, n = c.shape[-2:]
    if a.shape[-2:] != (m, m) or b.shape[-2:] != (n, n):
        raise ValueError(f"Incompatible shapes for Sylvester equation:\nA: {a.shape}\nB: {b.shape}\nC: {c.shape}")
    if method not in ("schur", "eigen"):
        raise ValueError(f'Unrecognized method {method}. The two valid methods are either "schur" or "eigen".')
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], c.shape[:-2])
    a, b, c = (jnp.broadcast_to(x, (*stack, *x.shape[-2:])) for x in (a, b, c))
    if method == "schur":
        (r, u), (s, v) = schur(a, "complex"), schur(b, "complex")
        f = adjoint(u) @ c.astype(r.dtype) @ v
        y = apply(lapack.triangular_sylvester, r.node, s.node, f.node)
        x = u @ y @ adjoint(v)
        left, right = jnp.diagonal(r, 0, -2, -1), jnp.diagonal(s, 0, -2, -1)
    else:
        (left, u), (right, v) = jnp.linalg.eig(a), jnp.linalg.eig(b)
        f = jnp.linalg.solve(u, c.astype(left.dtype) @ v)
        x = u @ (f / (left[..., :, None] + right[..., None, :])) @ jnp.linalg.inv(v)
    near = jnp.any(jnp.abs(left[..., :, None] + right[..., None, :]) < tol, axis=(-2, -1), keepdims=True)
    return jnp.where(near, np.nan, x if c.dtype.kind == "c" else x.real)
