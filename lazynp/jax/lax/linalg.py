"""`jax.lax.linalg`: factorizations of stacks of matrices. What a value makes impossible is NaN, as in JAX."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...graph.node import Node
from ...graph.op import results
from ...ops import elementwise as e
from ...ops import factorizations, lapack, linalg, or_nan
from ...ops import transcendental as t
from ...ops.contraction import matmul
from ...ops.creation import tril
from ...ops.indexing import take_along_axis
from ...ops.shape import add_reduce, broadcast_to, reshape, swap_last
from ..array import as_node, wrap
from ..at_once import apply_like
from ..dtypes import float_dtype
from .call import argument, check_kinds
from .lapack import (
    EighImplementation,
    EigImplementation,
    SvdAlgorithm,
    cholesky_update,
    hessenberg,
    householder_product,
    ormqr,
    schur,
    symmetric_product,
    tridiagonal,
)
from .tridiagonal import tridiagonal_solve

__all__ = [
    "EigImplementation",
    "EighImplementation",
    "SvdAlgorithm",
    "cholesky",
    "cholesky_update",
    "eig",
    "eigh",
    "hessenberg",
    "householder_product",
    "lu",
    "lu_pivots_to_permutation",
    "ormqr",
    "qdwh",
    "qr",
    "schur",
    "svd",
    "symmetric_product",
    "triangular_solve",
    "tridiagonal",
    "tridiagonal_solve",
]


def matrix(name: str, x: Any, square: str = "") -> Node:
    """The node of a stack of matrices; `square`: what square ones are called.

    Raises: TypeError for another rank or dtype, ValueError for others than square ones, NotImplementedError for half
    precision, which LAPACK does not know.
    """
    node = argument(name, x)
    check_kinds(name, [node], ["fc"], position=True)
    if node.ndim < 2:
        raise TypeError(f"Input 0 to {name} must have rank at least 2, but got shape={node.shape}")
    if square and node.shape[-1] != node.shape[-2]:
        raise ValueError(f"{square} must be a square matrix. Got shape {node.shape}.")
    if node.dtype.itemsize < 4:
        raise NotImplementedError(f"Unsupported dtype {node.dtype}.")
    return node


def symmetric(name: str, x: Any, symmetrize: bool) -> Node:
    """The node of a stack of square matrices; TypeError for others where they are added to their transposes."""
    shape = as_node(x).shape
    if symmetrize and len(shape) > 1 and shape[-1] != shape[-2]:
        turned = (*shape[:-2], shape[-1], shape[-2])
        raise TypeError(f"add got incompatible shapes for broadcasting: {shape}, {turned}.")
    if symmetrize and as_node(x).dtype.kind in "iu":  # a sum that is halved
        x = wrap(e.convert(as_node(x), float_dtype()))
    return matrix(name, x, f"The input to {name}")


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    """The lower factor of positive matrices; of the lower triangle, or of the mean with the conjugate transpose."""
    node = symmetric("cholesky", x, symmetrize_input)

    def factor(a: Node) -> Node:
        if symmetrize_input:
            a = e.divide(e.add(a, linalg.adjoint(a)), 2)
        return tril(factorizations.cholesky_or_nan(a, upper=False))  # the zeros stay where the rest is NaN

    return apply_like(factor, node)


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

    Raises: ValueError for shapes that do not fit, TypeError for two dtypes.
    """
    left = matrix("triangular_solve", a, "The first input to triangular_solve")
    right = as_node(b)
    vector = right.ndim == left.ndim - 1
    side = -2 if left_side else -1
    if right.ndim < 1 or right.shape[-1 if vector else side] != left.shape[-1]:
        raise ValueError(f"Incompatible shapes for arguments to triangular_solve: {left.shape} and {right.shape}.")
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

    return apply_like(solve, left, right)


def lu(x: Any) -> list[Any]:
    """L and U in one matrix; for each row the row that it was swapped with; the permutation of the rows."""
    return list(apply_like(lambda a: tuple(results(factorizations.lu(a))), matrix("lu", x)))


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Any:
    """The permutation of rows that a sequence of swaps makes.

    Raises: TypeError for pivots that are not int32; ValueError for more of them than there are rows.
    """
    node, n = as_node(pivots), int(permutation_size)
    if node.dtype != np.int32:
        raise TypeError(
            f"lu_pivots_to_permutation does not accept dtype {node.dtype.name} at position 0. Accepted dtypes at "
            "position 0 are subtypes of int32."
        )
    if node.ndim and node.shape[-1] > n:
        raise ValueError(
            f"Output permutation size {n} has to exceed the trailing dimension of the pivots. Got pivots size "
            f"{node.shape[-1]}"
        )
    return apply_like(lambda p: factorizations.permutation_of(p, n=n), node)


def qr(x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None) -> tuple[Any, ...]:
    """Q and R; with `pivoting` those of the columns in another order, and that order, so that R's diagonal falls."""
    node = matrix("qr", x)
    mode = "complete" if full_matrices else "reduced"

    def ordered(a: Node) -> tuple[Node, ...]:
        places = lapack.column_pivots(a)
        columns = broadcast_to(reshape(places, shape=(*places.shape[:-1], 1, places.shape[-1])), shape=a.shape)
        return (*results(linalg.qr(take_along_axis(a, columns, a.ndim - 1), mode=mode)), places)

    return apply_like(ordered if pivoting else lambda a: tuple(results(linalg.qr(a, mode=mode))), node)


def whole_only(subset_by_index: tuple[int, int] | None, message: str, n: int) -> None:
    """Raise NotImplementedError for a selection, JAX's on this kind of machine, unless it is of all."""
    if subset_by_index is not None and tuple(subset_by_index) != (0, n):
        raise NotImplementedError(message)


def svd(
    x: Any,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """U, the singular values, and V's conjugate transpose; or the singular values alone. Computed by LAPACK whatever
    the algorithm. Raises NotImplementedError for a selection, and for an algorithm that JAX does not run on CPUs."""
    node = matrix("svd", x)
    if full_matrices and subset_by_index is not None:
        raise ValueError("full_matrices and subset_by_index cannot both be set")
    whole_only(subset_by_index, "subset_by_index not implemented for CPU and GPU", min(node.shape[-2:]))
    if algorithm not in (None, SvdAlgorithm.DEFAULT, SvdAlgorithm.QR, SvdAlgorithm.DIVIDE_AND_CONQUER):
        raise NotImplementedError("The SVD Jacobi and Polar algorithms are not implemented on CPU.")
    if not compute_uv:
        return apply_like(or_nan.svdvals, node)
    return apply_like(lambda a: tuple(results(or_nan.svd(a, full_matrices=full_matrices))), node)


def eigh(
    x: Any,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Any, Any]:
    """Eigenvectors, and eigenvalues, rising (in this order). Computed by LAPACK whatever the implementation.

    Raises: NotImplementedError for a selection, and for JAX's implementations that are of other machines.
    """
    node = symmetric("eigh", x, symmetrize_input)
    whole_only(subset_by_index, "subset_by_index not supported on CPU and GPU", node.shape[-1])
    if implementation not in (None, EighImplementation.QR):
        raise NotImplementedError(f"Only the QR algorithm is supported for CPU, got {implementation}")

    def decompose(a: Node) -> tuple[Node, Node]:
        if symmetrize_input:
            a = e.divide(e.add(a, linalg.adjoint(a)), 2)
        op = or_nan.eigh if symmetrize_input else or_nan.eigh_of_triangle
        w, v = results(op(a, UPLO="L" if lower else "U"))
        return v, w

    return apply_like(decompose, node)


def eig(
    x: Any,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list:
    """Eigenvalues, and left and right eigenvectors as far as they are asked for. Computed by LAPACK in any case.

    Args:
        enable_eigvec_derivs: whether they have derivatives together with eigenvectors, which are right for eigenvectors
            whose norm and phase do not matter.
    """
    if use_magma is not None:
        warnings.warn(
            "use_magma is deprecated, please use implementation=EigImplementation.MAGMA instead.",
            DeprecationWarning,
            stacklevel=2,
        )
    if implementation not in (None, EigImplementation.LAPACK):
        raise NotImplementedError(f"{implementation} is not an implementation for CPU")
    node = matrix("eig", x, "The input to eig")
    alone = not (compute_left_eigenvectors or compute_right_eigenvectors)
    op = or_nan.eig if enable_eigvec_derivs else or_nan.eig_without_slopes
    out = [apply_like(or_nan.eigvals if alone else lambda a: results(op(a))[0], node)]
    if compute_left_eigenvectors:
        # The right ones of the adjoint, in the order of the eigenvalues: columns of the inverse's adjoint, normalized.
        def left(a: Node) -> Node:
            _, v = results(op(a))
            u = linalg.adjoint(linalg.inv(v))
            size = t.sqrt(add_reduce(e.square(e.absolute(u)), axes=(u.ndim - 2,), keepdims=True, dtype=None))
            return e.divide(u, size)

        out.append(apply_like(left, node))
    if compute_right_eigenvectors:
        out.append(apply_like(lambda a: results(op(a))[1], node))
    return out


def qdwh(
    x: Any,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """The polar decomposition u h of a matrix: u, h, how many iterations it took (none: it is made of the singular
    values), and that it converged.

    Raises: ValueError for a matrix that is wider than high, NotImplementedError for padded ones.
    """
    node = matrix("qdwh", x)
    if dynamic_shape is not None:
        raise NotImplementedError("qdwh of padded matrices: pass the part that counts")
    if node.shape[-2] < node.shape[-1]:
        raise ValueError(f"The input matrix of shape M x N must have M >= N, got {node.shape}.")

    def polar(a: Node) -> tuple[Node, Node]:
        u, s, vh = results(or_nan.svd(a, full_matrices=False))
        v = linalg.adjoint(vh)
        return matmul(u, vh), matmul(e.multiply(v, linalg.row(e.convert(s, v.dtype))), vh)

    u, h = apply_like(polar, node, weak=False)
    return u, h, wrap(as_node(0)), wrap(as_node(True))
