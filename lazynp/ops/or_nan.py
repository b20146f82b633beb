"""Singular values and eigenvalues that no value makes fail: NaN for the matrices of a stack for which NumPy raises
LinAlgError, as in JAX. Shapes, derivatives and batching are those of `ops.linalg`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph.op import BACKWARD, LIBRARY, THROUGH, Op
from . import linalg
from .elementwise import add, divide
from .family import front_batch


def several(out: Any) -> tuple[np.ndarray, ...]:
    return out if isinstance(out, tuple) else (out,)


def one_by_one(run: Callable[[Any], Any], a: np.ndarray) -> Any:
    """`run` on each matrix of the stack, NaN where it raises."""
    stack = a.shape[:-2]
    model = run(np.zeros(a.shape[-2:], a.dtype))
    found = [
        np.full((*stack, *x.shape), complex(np.nan, np.nan) if x.dtype.kind == "c" else np.nan, x.dtype)
        for x in several(model)
    ]
    for i in np.ndindex(*stack):
        try:
            for whole, part in zip(found, several(run(a[i]))):
                whole[i] = part
        except np.linalg.LinAlgError:
            pass
    return tuple(found) if isinstance(model, tuple) else found[0]


def or_nan(op: Op, jvp: Any, name: str | None = None, weakness: str = THROUGH) -> Op:
    """The op with NaN where it would raise."""

    def lower(xp: Any, a: Any, **params: Any) -> Any:
        try:
            return op.lower(xp, a, **params)
        except np.linalg.LinAlgError:
            return one_by_one(lambda one: op.lower(xp, one, **params), a)

    out = Op(
        name or f"{op.name}_or_nan",
        LIBRARY,
        op.abstract,
        lower,
        static=op.static,
        moving=op.moving,
        n_out=op.n_out,
        jvp=jvp,
        weakness=weakness,
    )
    out.batch = front_batch(out)
    return out


def eigh_jvp(tangents: Any, out: Any, a: Any, *, UPLO: str) -> Any:
    """As JAX's: from the whole tangent, which is taken for a Hermitian one."""
    return None if tangents[0] is None else linalg.eigh_along(tangents[0], out)


def triangle_jvp(tangents: Any, out: Any, a: Any, *, UPLO: str) -> Any:
    """As JAX's: at the mean of the matrix and its adjoint, which is only seen by the second derivative."""
    if tangents[0] is None:
        return None
    return linalg.eigh_along(tangents[0], eigh(divide(add(a, linalg.adjoint(a)), 2), UPLO=UPLO))


def refused(tangents: Any, out: Any, a: Any) -> Any:
    if tangents[0] is not None:
        raise NotImplementedError(
            "Derivatives of non-symmetric eigenvectors are only valid under assumptions on the input that JAX cannot "
            "check (see the enable_eigvec_derivs argument to jax.lax.linalg.eig). Pass enable_eigvec_derivs=True to "
            "jax.lax.linalg.eig to opt in."
        )


svd = or_nan(linalg.svd, linalg.svd.jvp, weakness=BACKWARD)
eigh = or_nan(linalg.eigh, eigh_jvp, weakness=BACKWARD)
eigh_of_triangle = or_nan(linalg.eigh, triangle_jvp, "eigh_of_triangle", BACKWARD)
"""The same, of a matrix that need not be Hermitian, of which one triangle is read."""
eig = or_nan(linalg.eig, linalg.eig.jvp)
eig_without_slopes = or_nan(linalg.eig, refused, "eig_without_slopes")
"""The same, without derivatives."""
pinv = or_nan(linalg.pinv_op, linalg.pinv_op.jvp)


def svdvals_jvp(tangents: Any, out: Any, a: Any) -> Any:
    found = linalg.svd_jvp(tangents, svd(a, full_matrices=False), a, full_matrices=False)
    return None if found is None else found[1]


def eigvals_jvp(tangents: Any, out: Any, a: Any) -> Any:
    return None if tangents[0] is None else linalg.eig_jvp(tangents, eig(a), a)[0]


svdvals = or_nan(linalg.svdvals, svdvals_jvp, weakness=BACKWARD)
eigvals = or_nan(linalg.eigvals, eigvals_jvp)
