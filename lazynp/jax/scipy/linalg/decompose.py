"""Orthogonal factorizations and eigenvalues, on stacks of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as jnp
from ...arguments import matrices
from ...lax import linalg as lapack
from .solve import adjoint


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """U, the singular values, and V's conjugate transpose; or the singular values alone."""
    (a,) = matrices(a)
    out = jnp.linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(out) if compute_uv else out


def eigh(
    a: Any,
    b: Any = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: Any = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """Eigenvalues, rising, and eigenvectors of a Hermitian matrix, of which one triangle is read.

    Raises: NotImplementedError for the generalized problem, or a selection of eigenvalues.
    """
    if b is not None:
        raise NotImplementedError("Only the b=None case of eigh is implemented")
    if type != 1:
        raise NotImplementedError("Only the type=1 case of eigh is implemented.")
    if eigvals is not None:
        raise NotImplementedError("Only the eigvals=None case of eigh is implemented.")
    (a,) = matrices(a)
    triangle = "L" if lower else "U"
    if eigvals_only:
        return jnp.linalg.eigh(a, UPLO=triangle)[0]
    return tuple(jnp.linalg.eigh(a, UPLO=triangle))


def eigh_tridiagonal(
    d: Any,
    e: Any,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: Any = None,
) -> Any:
    """Eigenvalues, rising, and eigenvectors of a Hermitian tridiagonal matrix.

    Args:
        d, e: the diagonal, and the one beside it.
        select: "a": all; "i": those whose places are within `select_range`, ends included.
        tol, key: not needed: the dense matrix is decomposed.

    Raises: TypeError for dtypes that differ or are no floats; ValueError or NotImplementedError for a bad selection.
    """
    d, e = jnp.asarray(d), jnp.asarray(e)
    if d.dtype != e.dtype:
        raise TypeError(f"diagonal and off-diagonal values must have same dtype, got {d.dtype} and {e.dtype}")
    if d.dtype not in (np.float32, np.float64, np.complex64, np.complex128):
        raise TypeError(
            "Only float32 and float64 inputs are supported as inputs to jax.scipy.linalg.eigh_tridiagonal, "
            f"got {d.dtype} and {e.dtype}"
        )
    if select == "i":
        if select_range is None:
            raise ValueError("for select='i', select_range must be specified.")
        if select_range[0] > select_range[1]:
            raise ValueError("Got empty index range in select_range.")
    elif select == "v":
        raise NotImplementedError("eigh_tridiagonal(..., select='v') is not implemented")
    elif select != "a":
        raise ValueError("'select must have a value in {'a', 'i', 'v'}.")
    matrix = jnp.diag(d) + jnp.diag(e, 1) + jnp.diag(jnp.conjugate(e), -1)
    w, v = jnp.linalg.eigh(matrix)
    if select == "i" and select_range is not None:
        first, last = int(select_range[0]), int(select_range[1]) + 1
        w, v = w[first:last], v[:, first:last]
    return w if eigvals_only else (w, v)


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """Q and R, for mode "full" or "economic"; R alone, in a tuple, for mode "r"; with `pivoting`, the permutation too.

    Raises: ValueError for another mode.
    """
    if mode not in ("full", "r", "economic"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    (a,) = matrices(a)
    q, r, *p = lapack.qr(a, pivoting=pivoting, full_matrices=mode != "economic")
    return (r, *p) if mode == "r" else (q, r, *p)


def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> Any:
    """c Q (mode "right") or Q c (mode "left") for a's Q, and R; with `pivoting`, the permutation too.

    Args:
        conjugate: whether Q is conjugated.

    Raises: ValueError for another mode, or shapes that do not fit.
    """
    a, c = matrices(a, c)
    if mode not in ("right", "left"):
        raise ValueError(f"mode must be 'right' or 'left', got {mode!r}")
    vector = c.ndim == 1
    if vector:
        c = c[:, None] if mode == "left" else c[None, :]
    m, k = a.shape[-2], min(a.shape[-2:])
    if mode == "left" and c.shape[-2] != k:
        raise ValueError(
            f"Array shapes are not compatible for Q @ c operation: a has shape {a.shape} so Q has {k} columns, "
            f"but c has {c.shape[-2]} rows (expected {k})."
        )
    if mode == "right" and c.shape[-1] != m:
        raise ValueError(
            f"Array shapes are not compatible for c @ Q operation: a has shape {a.shape} so Q has {m} rows, "
            f"but c has {c.shape[-1]} columns (expected {m})."
        )
    q, r, *p = lapack.qr(a, pivoting=pivoting, full_matrices=False)
    q = jnp.conjugate(q) if conjugate else q
    out = q @ c if mode == "left" else c @ q
    return (jnp.ravel(out) if vector else out, r, *p)


def polar(
    a: Any, side: str = "right", *, method: str = "qdwh", eps: float | None = None, max_iterations: int | None = None
) -> tuple[Any, Any]:
    """U with orthonormal columns or rows and a Hermitian P: a = U P, or a = P U for side "left".

    Computed from the singular values, whatever the `method`.

    Raises: ValueError for another side, or fewer axes than two; NotImplementedError for "qdwh" of wide matrices on the
        right, and of others on the left.
    """
    (a,) = matrices(a)
    if a.ndim < 2:
        raise ValueError("The input `a` must be at least a 2-D array.")
    if side not in ("right", "left"):
        raise ValueError("The argument `side` must be either 'right' or 'left'.")
    if method not in ("qdwh", "svd"):
        raise ValueError(f"Unknown polar decomposition method {method}.")
    if method == "qdwh" and (a.shape[-2] < a.shape[-1]) != (side == "left"):
        raise NotImplementedError(
            "method='qdwh' only supports mxn matrices where m < n where side='right' and m >= n side='left', got "
            f"{a.shape} with {side=}"
        )
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    basis = adjoint(vh) if side == "right" else u
    return (u @ vh).astype(u.dtype), ((basis * s[..., None, :]) @ adjoint(basis)).astype(u.dtype)


def hessenberg(a: Any, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """H with zeros below the first subdiagonal, and, if asked, Q: a = Q H Q^H. By Householder reflections."""
    (a,) = matrices(a)
    if a.ndim < 2:
        raise TypeError(f"Input 0 to hessenberg must have rank at least 2, but got shape={a.shape}")
    n = a.shape[-1]
    h = a
    q = jnp.broadcast_to(jnp.eye(n, dtype=a.dtype), a.shape)
    for k in range(n - 1):  # the last one turns a complex subdiagonal real
        x = h[..., k + 1 :, k]
        size = jnp.sqrt(jnp.sum(jnp.abs(x) ** 2, axis=-1))
        first = x[..., 0]
        real = jnp.where(first.real < 0, -1.0, 1.0).astype(size.dtype)
        flat = jnp.sum(jnp.abs(x[..., 1:]) ** 2, axis=-1) == 0
        flat = flat & (first.imag == 0) if a.dtype.kind == "c" else flat
        beta = -real * size
        safe = jnp.where(flat, 1.0, first - beta)
        v = jnp.concatenate([jnp.ones_like(x[..., :1]), x[..., 1:] / safe[..., None]], axis=-1)
        tau = jnp.where(flat, 0.0, (beta - first) / jnp.where(flat, 1.0, beta))
        row, column = jnp.conjugate(v)[..., None, :], v[..., :, None]
        below = h[..., k + 1 :, :]
        h = h.at[..., k + 1 :, :].add(-jnp.conjugate(tau)[..., None, None] * column * (row @ below))
        beside = h[..., :, k + 1 :]
        h = h.at[..., :, k + 1 :].add(-tau[..., None, None] * (beside @ column) * row)
        beside = q[..., :, k + 1 :]
        q = q.at[..., :, k + 1 :].add(-tau[..., None, None] * (beside @ column) * row)
    h = jnp.triu(h, -1)
    return (h, q) if calc_q else h
