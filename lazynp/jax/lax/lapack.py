"""The part of `jax.lax.linalg` that is LAPACK's: Schur, Hessenberg and tridiagonal forms, products of reflectors."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from ...graph.node import Node
from ...graph.op import Op, results
from ...ops import elementwise as e
from ...ops import lapack
from ...ops.contraction import matmul
from ...ops.creation import tril
from ...ops.elementwise import scalar
from ...ops.shape import expand_dims, swap_last
from ..at_once import apply_like
from .call import argument, check_same_dtypes


class EigImplementation(enum.Enum):
    """Who computes eigenvalues of general matrices on which machine. Here it is LAPACK in any case."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(enum.Enum):
    """How eigenvalues of Hermitian matrices are computed. Here it is LAPACK's divide and conquer in any case."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(enum.Enum):
    """How singular values are computed. Here it is LAPACK's divide and conquer in any case."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def operand(name: str, x: Any, i: int = 0, rank: int = 2) -> Node:
    """The node of a stack of matrices, or of vectors (`rank` 1). Raises TypeError for other ranks and dtypes."""
    node = argument(name, x, i)
    check_inexact(name, node, i)
    if node.ndim < rank:
        raise TypeError(f"Input {i} to {name} must have rank at least {rank}, but got shape={node.shape}")
    return node


def check_inexact(name: str, node: Node, i: int) -> None:
    if node.dtype.kind not in "fc":
        kinds = "floating, complexfloating"
        raise TypeError(
            f"{name} does not accept dtype {node.dtype.name} at position {i}. Accepted dtypes at position {i} are "
            f"subtypes of {kinds}."
        )


def square(name: str, x: Any, message: str) -> Node:
    """The same, of square matrices. Raises ValueError for others."""
    node = operand(name, x)
    if node.shape[-1] != node.shape[-2]:
        raise ValueError(message.format(node.shape))
    return node


def all_of(op: Op, *nodes: Node, **params: Any) -> list[Any]:
    """The results of an op of several results."""
    return list(apply_like(lambda *xs: tuple(results(op(*xs, **params))), *nodes))


def schur(
    x: Any,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> list[Any]:
    """The Schur form of square matrices, and if asked the unitary matrices that lead to it.

    Raises: TypeError and ValueError for other shapes and dtypes, NotImplementedError for sorted eigenvalues.
    """
    node = square("schur", x, "The input to schur must be a square matrix. Got shape {}.")
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError("The function to sort the eigenvalues is not implemented yet.")
    out = all_of(lapack.schur, node)
    return out if compute_schur_vectors else out[:1]


def hessenberg(a: Any) -> list[Any]:
    """The Hessenberg form of square matrices, with the reflectors that lead to it below, and their scales."""
    message = "Argument to Hessenberg reduction must have shape [..., n, n], got shape {}"
    return all_of(lapack.hessenberg, square("hessenberg", a, message))


def tridiagonal(a: Any, *, lower: bool = True) -> list[Any]:
    """Of Hermitian matrices, of which one triangle is read: LAPACK's packed form, the diagonal, the one beside it, and
    the scales of the reflectors."""
    node = square("tridiagonal", a, "The input to tridiagonal must be a square matrix. Got shape {}.")
    return all_of(lapack.tridiagonal, node, lower=bool(lower))


def householder_product(a: Any, taus: Any) -> Any:
    """The first columns of the product of reflectors, as `hessenberg` and QR leave them.

    Raises: TypeError, ValueError for what does not fit.
    """
    matrix, scales = operand("householder_product", a), operand("householder_product", taus, 1, rank=1)
    check_same_dtypes("householder_product", [matrix, scales])
    m, n = matrix.shape[-2:]
    if m < n:
        raise ValueError(
            f"The first argument to householder_product must have at least as many rows as columns, got shape "
            f"{matrix.shape}"
        )
    if scales.shape[-1] > min(m, n):
        raise ValueError(
            f"The second argument to householder_product must have at most {min(m, n)} entries, got {scales.shape}"
        )
    return apply_like(lambda a, t: lapack.householder_product(a, expand_dims(t, t.ndim)), matrix, scales)


def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Any:
    """Q c, or c Q (`left` False), or with Q's conjugate transpose; Q is the product of reflectors that QR leaves."""
    nodes = [operand("ormqr", a), operand("ormqr", taus, 1, rank=1), operand("ormqr", c, 2)]
    check_same_dtypes("ormqr", nodes)

    def impl(a: Node, t: Node, c: Node) -> Node:
        return lapack.ormqr(a, expand_dims(t, t.ndim), c, left=bool(left), transpose=bool(transpose))

    return apply_like(impl, *nodes)


def cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """The upper Cholesky factor of r^T r + w w^T. Raises TypeError, ValueError for what does not fit."""
    r = square("cholesky_update", r_matrix, "Rank-1 update to Cholesky decomposition takes a square matrix, got {}.")
    w = operand("cholesky_update", w_vector, 1, rank=1)
    check_same_dtypes("cholesky_update", [r, w])
    if r.shape[-1] != w.shape[-1]:
        raise ValueError(
            "Rank-1 update to Cholesky decomposition takes a square matrix and a vector of the same size as input. "
            f"Got shapes {r.shape} and {w.shape} instead"
        )
    return apply_like(lambda r, w: lapack.cholesky_update(r, expand_dims(w, w.ndim)), r, w)


def symmetric_product(
    a_matrix: Any, c_matrix: Any, *, alpha: float = 1.0, beta: float = 0.0, symmetrize_output: bool = False
) -> Any:
    """alpha a a^T + beta c. Raises TypeError, ValueError for what does not fit."""
    nodes = [operand("symmetric_product", a_matrix), operand("symmetric_product", c_matrix, 1)]
    check_same_dtypes("symmetric_product", nodes)
    n = nodes[0].shape[-2]
    if nodes[1].shape[-2:] != (n, n):
        raise ValueError(
            "symmetric_update expects a rectangular matrix of shape (m, n) and a square matrix of shape (n, n). Got "
            f"shapes {nodes[0].shape} and {nodes[1].shape}."
        )

    def impl(a: Node, c: Node) -> Node:
        product = e.multiply(scalar(alpha, a), matmul(a, swap_last(a)))
        out = e.add(product, e.multiply(scalar(beta, a), c)) if beta else product
        return e.add(tril(out), swap_last(tril(out, -1))) if symmetrize_output else out

    return apply_like(impl, *nodes)
