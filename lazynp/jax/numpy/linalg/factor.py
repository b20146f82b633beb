"""Factorizations: cholesky, qr, eig, svd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ....graph.node import Node
from ....graph.op import results
from ....ops import elementwise as e
from ....ops import factorizations, lapack, linalg, or_nan
from ....ops.creation import tril
from ....ops.elementwise import convert
from ....ops.indexing import take_along_axis
from ....ops.shape import broadcast_to
from ....ops.sorting import argsort
from ...array import check_arraylike
from ...at_once import apply_like
from ...dtypes import FLOAT32
from ..call import INEXACT, promoted


class EigResult(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    Q: Any
    R: Any


class SVDResult(NamedTuple):
    U: Any
    S: Any
    Vh: Any


ARGUMENTS_OF = {"det": "_det()", "slogdet": "slogdet()"}  # as JAX's errors call them
FACTORED = {"eig": "eig", "eigvals": "eig", "eigh": "eigh", "cholesky": "cholesky", "qr": "qr", "svd": "svd"}
"""What factors the argument of a function, as its errors say it."""


def matrices(name: str, *args: Any, square: bool = False) -> list[Node]:
    """The arguments as stacks of matrices in a floating dtype. Raises TypeError, ValueError."""
    check_arraylike(f"jnp.linalg.{name}", *args)
    nodes = promoted(INEXACT, *args)
    shape = nodes[0].shape
    factored = FACTORED.get(name)
    if factored is not None and len(shape) < 2:
        raise TypeError(f"Input 0 to {factored} must have rank at least 2, but got shape={shape}")
    if square and (len(shape) < 2 or shape[-1] != shape[-2]):
        if factored is not None:
            raise ValueError(f"The input to {factored} must be a square matrix. Got shape {shape}.")
        raise ValueError(f"Argument to {ARGUMENTS_OF.get(name, name)} must have shape [..., n, n], got {shape}.")
    if name == "lstsq" and len(shape) < 2:
        raise TypeError(f"{len(shape)}-dimensional array given. Array must be two-dimensional")
    if len(shape) < 2:
        raise ValueError(f"{name} requires ndims >= 2, got {len(shape)}")
    return nodes


def check_symmetric(node: Node, symmetrize: bool) -> None:
    """Raises JAX's TypeError for matrices that are no squares and are to be added to their transposes."""
    shape = node.shape
    if symmetrize and shape[-1] != shape[-2]:
        turned = (*shape[:-2], shape[-1], shape[-2])
        raise TypeError(f"add got incompatible shapes for broadcasting: {shape}, {turned}.")


def single(impl: Callable[..., Any]) -> Callable[..., Any]:
    """LAPACK knows no half precision: the same in single, rounded after that."""

    def call(*nodes: Node, **params: Any) -> Any:
        dtype = nodes[0].dtype
        if dtype.itemsize >= 4:
            return impl(*nodes, **params)
        out = impl(*[convert(n, FLOAT32) for n in nodes], **params)
        if isinstance(out, tuple):
            return tuple([convert(x, dtype) if x.dtype == FLOAT32 else x for x in out])
        return convert(out, dtype) if out.dtype == FLOAT32 else out

    return call


def symmetrized(a: Node) -> Node:
    return e.multiply(e.add(a, linalg.adjoint(a)), a.dtype.type(0.5))


def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """The triangular factor of positive matrices, NaN for others."""
    (node,) = matrices("cholesky", a, square=not symmetrize_input)
    check_symmetric(node, symmetrize_input)

    def impl(a: Node) -> Node:
        if symmetrize_input:
            a = symmetrized(a)
        elif upper:
            a = linalg.adjoint(a)
        low = tril(factorizations.cholesky_or_nan(a, upper=False))  # the zeros stay where the rest is NaN
        return linalg.adjoint(low) if upper else low

    return apply_like(single(impl), node)


def qr(a: Any, mode: str = "reduced") -> Any:
    """Orthogonal and upper triangular factors; with mode "r" the second alone. Mode "raw" gives what LAPACK leaves,
    transposed: the second factor with the reflectors that make the first, and their scales."""
    (node,) = matrices("qr", a)
    if mode == "raw":
        return QRResult(*apply_like(single(lambda a: results(lapack.reflectors(a))), node))
    if mode not in ("reduced", "r", "full", "complete"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    shape = "complete" if mode == "complete" else "reduced"
    q, r = apply_like(single(lambda a: results(linalg.qr(a, mode=shape))), node)
    return r if mode == "r" else QRResult(q, r)


def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> Any:
    """Eigenvalues in ascending order, and eigenvectors, of Hermitian matrices."""
    (node,) = matrices("eigh", a, square=not symmetrize_input)
    check_symmetric(node, symmetrize_input)
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {UPLO}")

    def impl(a: Node) -> tuple[Node, ...]:
        if symmetrize_input:
            a = symmetrized(a)
        op = or_nan.eigh if symmetrize_input else or_nan.eigh_of_triangle
        return results(op(a, UPLO=UPLO or "L"))

    return EighResult(*apply_like(single(impl), node))


def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Any:
    """Eigenvalues of Hermitian matrices, in ascending order."""
    return eigh(a, UPLO, symmetrize_input).eigenvalues


def eig(a: Any) -> Any:
    """Eigenvalues and eigenvectors, complex. They have no derivatives: see `lax.linalg.eig`, and `eigvals`."""
    (node,) = matrices("eig", a, square=True)
    return EigResult(*apply_like(lambda a: results(or_nan.eig_without_slopes(convert(a, widest(a)))), node))


def eigvals(a: Any) -> Any:
    """Eigenvalues, complex."""
    (node,) = matrices("eigvals", a, square=True)
    return apply_like(lambda a: or_nan.eigvals(convert(a, widest(a))), node)


def widest(a: Node) -> Any:
    return a.dtype if a.dtype.itemsize >= 4 else FLOAT32


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """Left singular vectors, singular values in descending order, right singular vectors."""
    (node,) = matrices("svd", a, square=hermitian)
    if subset_by_index is not None:
        if full_matrices:
            raise ValueError("full_matrices and subset_by_index cannot both be set")
        if hermitian:
            raise NotImplementedError("subset_by_index takes no hermitian=True")
    if not compute_uv:
        values = apply_like(single(lambda a: or_nan.svdvals(symmetrized(a) if hermitian else a)), node)
        return values if subset_by_index is None else values[..., slice(*subset_by_index)]
    if hermitian:
        return SVDResult(*apply_like(single(hermitian_svd), node))
    out = apply_like(single(lambda a: results(or_nan.svd(a, full_matrices=full_matrices))), node)
    if subset_by_index is not None:
        span = slice(*subset_by_index)
        out = (out[0][..., span], out[1][..., span], out[2][..., span, :])
    return SVDResult(*out)


def hermitian_svd(a: Node) -> tuple[Node, Node, Node]:
    """From the eigenvalues, by falling size; their signs go to the right vectors."""
    w, v = results(or_nan.eigh(symmetrized(a), UPLO="L"))
    size = e.absolute(w)
    order = argsort(e.negative(size), axis=size.ndim - 1, kind="stable")
    w, size = (take_along_axis(x, order, x.ndim - 1) for x in (w, size))
    v = take_along_axis(v, broadcast_to(linalg.row(order), shape=v.shape), v.ndim - 1)
    signs = linalg.row(convert(e.sign(w), v.dtype))
    return v, size, linalg.adjoint(e.multiply(v, signs))


def svdvals(x: Any, /) -> Any:
    """Singular values in descending order."""
    return svd(x, compute_uv=False, full_matrices=False)
