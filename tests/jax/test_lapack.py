"""Factorizations of `jax.lax.linalg` and `jax.scipy.linalg` that NumPy has not: values, dtypes and errors as JAX's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from agreement import disagreement, outcome

import lazynp.jax
from lazynp.ops import lapack

jax.config.update("jax_platforms", "cpu")
RNG = np.random.default_rng(0)
A = RNG.standard_normal((2, 4, 4)).astype(np.float32)
S = A + A.transpose(0, 2, 1)
C = (A + 1j * RNG.standard_normal(A.shape)).astype(np.complex64)
H = C + C.conj().transpose(0, 2, 1)
W = RNG.standard_normal((5, 3)).astype(np.float32)
INTS = np.array([[5, 6], [7, 8]])
CASES: dict[str, Callable[[Any, Any, Any], Any]] = {
    # of (library, its lax.linalg, its scipy.linalg)
    "schur": lambda j, n, s: n.schur(A),
    "schur of complex": lambda j, n, s: n.schur(C),
    "schur without vectors": lambda j, n, s: n.schur(A, compute_schur_vectors=False),
    "schur of a vector": lambda j, n, s: n.schur(W[0]),
    "schur of no square": lambda j, n, s: n.schur(W),
    "schur of integers": lambda j, n, s: n.schur(np.ones((2, 2), int)),
    "schur, mapped": lambda j, n, s: j.vmap(n.schur)(A),
    "schur has no derivative": lambda j, n, s: j.grad(lambda a: n.schur(a)[0].sum())(A[0]),
    "eigh of a triangle, along": lambda j, n, s: j.jvp(
        lambda a: j.numpy.linalg.eigh(a, symmetrize_input=False)[0], (S[0],), (A[1],)
    ),
    "eigh of a triangle, twice": lambda j, n, s: j.hessian(
        lambda a: (j.numpy.linalg.eigh(a, symmetrize_input=False)[0] ** 2)[0]
    )(S[0]),
    "eigh of a triangle of complex": lambda j, n, s: j.jvp(
        lambda a: n.eigh(a, symmetrize_input=False)[1], (H[0],), (C[1],)
    ),
    "eig has no derivative": lambda j, n, s: j.grad(lambda a: abs(j.numpy.linalg.eig(a)[0]).sum())(A[0]),
    "eigenvalues alone have": lambda j, n, s: j.grad(
        lambda a: abs(n.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]).sum()
    )(A[0]),
    "eig has one if asked": lambda j, n, s: j.grad(
        lambda a: abs(n.eig(a, compute_left_eigenvectors=False, enable_eigvec_derivs=True)[1]).sum()
    )(A[0]),
    "hessenberg": lambda j, n, s: n.hessenberg(A),
    "hessenberg of complex": lambda j, n, s: n.hessenberg(C[0]),
    "tridiagonal": lambda j, n, s: n.tridiagonal(S),
    "tridiagonal, upper": lambda j, n, s: n.tridiagonal(S, lower=False),
    "tridiagonal of complex": lambda j, n, s: n.tridiagonal(H),
    "householder_product": lambda j, n, s: n.householder_product(*n.hessenberg(A)),
    "householder_product of complex": lambda j, n, s: n.householder_product(*n.hessenberg(C)),
    "householder_product, few": lambda j, n, s: n.householder_product(W, W[:2, 0]),
    "householder_product, wide": lambda j, n, s: n.householder_product(W.T, W[:2, 0]),
    "ormqr": lambda j, n, s: n.ormqr(*n.hessenberg(A), S),
    "ormqr, adjoint": lambda j, n, s: n.ormqr(*n.hessenberg(C), C, transpose=True),
    "ormqr, right": lambda j, n, s: n.ormqr(*n.hessenberg(C), C, left=False),
    "ormqr, right, adjoint": lambda j, n, s: n.ormqr(*n.hessenberg(C), C, left=False, transpose=True),
    "cholesky_update": lambda j, n, s: np.triu(n.cholesky_update(np.triu(A[0]), A[1][0])),
    "symmetric_product": lambda j, n, s: n.symmetric_product(A, S, alpha=2.0, beta=0.5),
    "symmetric_product, mirrored": lambda j, n, s: n.symmetric_product(A[..., :2], S, symmetrize_output=True),
    "symmetric_product, wrong": lambda j, n, s: n.symmetric_product(W, W),
    "qr with pivots": lambda j, n, s: n.qr(A, pivoting=True),
    "qr with pivots, reduced": lambda j, n, s: n.qr(W, pivoting=True, full_matrices=False),
    "qr with pivots of complex": lambda j, n, s: s.qr(C, pivoting=True),
    "qr with pivots, R": lambda j, n, s: s.qr(W.T, pivoting=True, mode="r"),
    "qr with pivots, derivative": lambda j, n, s: j.jvp(lambda a: n.qr(a, pivoting=True)[1], (A[0],), (S[0],)),
    "tridiagonal_solve": lambda j, n, s: n.tridiagonal_solve(W[:, 0], W[:, 1] + 4, W[:, 2], W),
    "tridiagonal_solve of a stack": lambda j, n, s: n.tridiagonal_solve(A[0], A[1] + 4, A[0], A[0][..., None]),
    "tridiagonal_solve of a vector": lambda j, n, s: n.tridiagonal_solve(W[:, 0], W[:, 1], W[:, 2], W[:, 0]),
    "tridiagonal_solve, gradient": lambda j, n, s: j.grad(
        lambda d: n.tridiagonal_solve(d, W[:, 1] + 4, W[:, 2], W).sum()
    )(W[:, 0]),
    "qdwh": lambda j, n, s: n.qdwh(W)[:2],
    "svd, algorithm of accelerators": lambda j, n, s: n.svd(A, algorithm=n.SvdAlgorithm.POLAR),
    "lu of a vector": lambda j, n, s: s.lu(W[0]),
    "pivots, too many": lambda j, n, s: n.lu_pivots_to_permutation(np.array([1, 1], np.int32), 1),
    "pivots that are no int32": lambda j, n, s: n.lu_pivots_to_permutation(np.array([1.0, 1.0], np.float32), 2),
    "svd, algorithm": lambda j, n, s: n.svd(A, algorithm=n.SvdAlgorithm.QR, compute_uv=False),
    "svd, selection": lambda j, n, s: n.svd(A, subset_by_index=(1, 2), full_matrices=False, compute_uv=False),
    "eigh, selection": lambda j, n, s: n.eigh(S, subset_by_index=(0, 2)),
    "scipy schur": lambda j, n, s: s.schur(A[0], "complex"),
    "scipy schur, wrong": lambda j, n, s: s.schur(A[0], "neither"),
    "rsf2csf": lambda j, n, s: s.rsf2csf(*s.schur(A)),
    "sqrtm": lambda j, n, s: s.sqrtm(A[0]),
    "sqrtm of integers": lambda j, n, s: s.sqrtm(np.array([[2, 1], [0, 4]])),
    "sqrtm, jitted": lambda j, n, s: j.jit(s.sqrtm)(A[0]),
    "sqrtm of a stack": lambda j, n, s: s.sqrtm(A),
    "funm": lambda j, n, s: s.funm(A[0], j.numpy.exp),
    "funm with its error": lambda j, n, s: s.funm(A[0], j.numpy.exp, disp=False)[1] < 1e-5,
    "funm of a stack": lambda j, n, s: s.funm(A, j.numpy.exp),
    "sylvester": lambda j, n, s: s.solve_sylvester(A, A[1], S),
    "sylvester, eigen": lambda j, n, s: s.solve_sylvester(A, A[1], S, method="eigen"),
    "sylvester of complex": lambda j, n, s: s.solve_sylvester(C[0], A[1], S[0]),
    "sylvester of integers": lambda j, n, s: s.solve_sylvester(INTS, INTS - 4, INTS + 1),
    "sylvester without solution": lambda j, n, s: s.solve_sylvester(np.eye(2), -np.eye(2), np.ones((2, 2))),
    "sylvester, wrong": lambda j, n, s: s.solve_sylvester(A, A, W),
}


@pytest.mark.parametrize("name", CASES)
def test_lapack(name: str) -> None:
    def run(lib: Any) -> Any:
        return CASES[name](lib, lib.lax.linalg, lib.scipy.linalg)

    theirs, ours = (outcome(lambda lib=lib: run(lib)) for lib in (jax, lazynp.jax))
    assert disagreement(name, theirs, ours, factor=1000) is None


def test_without_scipy_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.linalg.lapack", None)
    lapack.lapack.cache_clear()
    try:
        with pytest.raises(ImportError, match="pip install scipy"):
            lazynp.jax.scipy.linalg.schur(A[0])[0].tolist()
    finally:
        lapack.lapack.cache_clear()
