"""Singular values and eigenvalues that no value makes fail: NaN for the matrices of a stack for which NumPy raises
LinAlgError, as in JAX. Shapes, derivatives and batching are those of `ops.linalg`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph.op import LIBRARY, Op
from . import linalg
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


def or_nan(op: Op, jvp: Any) -> Op:
    """The op with NaN where it would raise."""

    def lower(xp: Any, a: Any, **params: Any) -> Any:
        try:
            return op.lower(xp, a, **params)
        except np.linalg.LinAlgError:
            return one_by_one(lambda one: op.lower(xp, one, **params), a)

    out = Op(
        f"{op.name}_or_nan",
        LIBRARY,
        op.abstract,
        lower,
        static=op.static,
        moving=op.moving,
        n_out=op.n_out,
        jvp=jvp,
    )
    out.batch = front_batch(out)
    return out


svd = or_nan(linalg.svd, linalg.svd.jvp)
eigh = or_nan(linalg.eigh, linalg.eigh.jvp)
eig = or_nan(linalg.eig, linalg.eig.jvp)
pinv = or_nan(linalg.pinv_op, linalg.pinv_op.jvp)


def svdvals_jvp(tangents: Any, out: Any, a: Any) -> Any:
    found = linalg.svd_jvp(tangents, svd(a, full_matrices=False), a, full_matrices=False)
    return None if found is None else found[1]


def eigvals_jvp(tangents: Any, out: Any, a: Any) -> Any:
    return None if tangents[0] is None else linalg.eig_jvp(tangents, eig(a), a)[0]


svdvals = or_nan(linalg.svdvals, svdvals_jvp)
eigvals = or_nan(linalg.eigvals, eigvals_jvp)
