"""`jax.lax.linalg`: factorizations of stacks of matrices. What a value makes impossible is NaN, as in JAX."""

from __future__ import annotations

from typing import Any

from ...graph.node import Node
from ...graph.op import results
from ...ops import elementwise as e
from ...ops import factorizations, linalg, or_nan
from ...ops.shape import add_reduce, reshape, swap_last
from ..array import apply, as_node

RANKS = "{} requires ndims >= 2, got {}"


def matrix(name: str, x: Any, square: bool = False) -> Node:
    """The node of a stack of (square) matrices. Raises TypeError for other shapes."""
    node = as_node(x)
    if node.ndim < 2:
        raise TypeError(RANKS.format(name, node.ndim))
    if square and node.shape[-1] != node.shape[-2]:
        raise TypeError(f"{name} requires square matrices, got shape {node.shape}")
    return node


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    """The lower factor of positive matrices; of the lower triangle, or of the mean with the conjugate transpose."""
    node = matrix("cholesky", x, square=True)

    def factor(a: Node) -> Node:
        if symmetrize_input:
            a = e.divide(e.add(a, linalg.adjoint(a)), 2)
        return factorizations.cholesky_or_nan(a, upper=False)

    return apply(factor, node)


def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """x with a x = b, or x a = b (`left_side` False), of which a one triangle is read; b may be one vector.

    Args:
        transpose_a, conjugate_a: whether a's transpose, or its conjugate, stands in a's place.

    Raises: TypeError for shapes that do not fit.
    """
    left = matrix("triangular_solve", a, square=True)
    right = as_node(b)
    vector = right.ndim == left.ndim - 1
    side = -2 if left_side else -1
    if right.ndim < 1 or right.shape[-1 if vector else side] != left.shape[-1]:
        raise TypeError(f"incompatible shapes for triangular_solve: {left.shape} and {right.shape}")
    if left.dtype != right.dtype:
        raise TypeError(f"triangular_solve requires arguments of one dtype, got {left.dtype} and {right.dtype}")

    def solve(a: Node, b: Node) -> Node:
        low = lower
        if conjugate_a and a.dtype.kind == "c":
            a = e.conjugate(a)
        if vector:
            b = linalg.column(b)
        # x a = b is aᵀ xᵀ = bᵀ
        if transpose_a != (not left_side and not vector):
            a, low = swap_last(a), not low
        if not left_side and not vector:
            return swap_last(factorizations.triangular_or_nan(a, swap_last(b), lower=low, unit=unit_diagonal))
        out = factorizations.triangular_or_nan(a, b, lower=low, unit=unit_diagonal)
        return reshape(out, shape=out.shape[:-1]) if vector else out

    return apply(solve, left, right)


def lu(x: Any) -> tuple[Any, Any, Any]:
    """L and U in one matrix; for each row the row that it was swapped with; the permutation of the rows."""
    return apply(lambda a: tuple(results(factorizations.lu(a))), matrix("lu", x))


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Any:
    """The permutation of rows that a sequence of swaps makes."""
    return apply(lambda p: factorizations.permutation_of(p, n=int(permutation_size)), as_node(pivots))


def qr(x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: Any = None) -> tuple[Any, ...]:
    """Q and R. Raises NotImplementedError for column pivoting."""
    if pivoting:
        raise NotImplementedError("qr with column pivoting")
    mode = "complete" if full_matrices else "reduced"
    return apply(lambda a: tuple(results(linalg.qr(a, mode=mode))), matrix("qr", x))


def svd(x: Any, *, full_matrices: bool = True, compute_uv: bool = True, **_: Any) -> Any:
    """U, the singular values, and V's conjugate transpose; or the singular values alone."""
    node = matrix("svd", x)
    if not compute_uv:
        return apply(or_nan.svdvals, node)
    return apply(lambda a: tuple(results(or_nan.svd(a, full_matrices=full_matrices))), node)


def eigh(
    x: Any, *, lower: bool = True, symmetrize_input: bool = True, sort_eigenvalues: bool = True, **_: Any
) -> tuple[Any, Any]:
    """Eigenvectors, and eigenvalues, rising (in this order)."""
    node = matrix("eigh", x, square=True)

    def decompose(a: Node) -> tuple[Node, Node]:
        if symmetrize_input:
            a = e.divide(e.add(a, linalg.adjoint(a)), 2)
        w, v = results(or_nan.eigh(a, UPLO="L" if lower else "U"))
        return v, w

    return apply(decompose, node)


def eig(x: Any, *, compute_left_eigenvectors: bool = True, compute_right_eigenvectors: bool = True, **_: Any) -> list:
    """Eigenvalues, and left and right eigenvectors as far as they are asked for."""
    node = matrix("eig", x, square=True)
    out = [apply(or_nan.eigvals, node)]
    if compute_left_eigenvectors:
        # The right ones of the adjoint, in the order of the eigenvalues: columns of the inverse's adjoint, normalized.
        def left(a: Node) -> Node:
            _, v = results(or_nan.eig(a))
            u = linalg.adjoint(linalg.inv(v))
            size = e.sqrt(add_reduce(e.square(e.absolute(u)), axes=(u.ndim - 2,), keepdims=True, dtype=None))
            return e.divide(u, size)

        out.append(apply(left, node))
    if compute_right_eigenvectors:
        out.append(apply(lambda a: results(or_nan.eig(a))[1], node))
    return out
