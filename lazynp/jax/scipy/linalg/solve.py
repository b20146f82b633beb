"""Systems of linear equations and the factorizations that solve them, on stacks of matrices."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...arguments import matrices
from ...lax import custom_linear_solve, stop_gradient
from ...lax import linalg as lapack


def adjoint(a: Any) -> Any:
    return jnp.conjugate(jnp.swapaxes(a, -1, -2))


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The upper (or lower) factor of a Hermitian positive matrix, of which one triangle is read.

    NaN where the matrix is not positive. `overwrite_a` and `check_finite` do nothing, here and below.
    """
    (a,) = matrices(a)
    if a.ndim < 2 and not lower:
        jnp.matrix_transpose(a)  # JAX's error
    return jnp.linalg.cholesky(a, upper=not lower, symmetrize_input=False)


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """What `cho_solve` takes: the Cholesky factor, and whether it is the lower one."""
    return cholesky(a, lower=lower), lower


def as_columns(a: Any, b: Any, name: str) -> tuple[Any, bool]:
    """The right-hand sides as columns, and whether they were vectors."""
    if b.ndim == 1:
        return b[..., None], True
    if a.ndim == b.ndim + 1 and a.shape[-1] == b.shape[-1]:
        warnings.warn(
            f"jax.scipy.linalg.{name}: batched 1D solves with b.ndim > 1 are deprecated, and in the future will be "
            f"treated as a batched 2D solve. Use {name}(..., b[..., None]).squeeze(-1) to avoid this warning.",
            FutureWarning,
            stacklevel=3,
        )
        return b[..., None], True
    return b, False


def triangular(
    a: Any, b: Any, lower: bool, transposed: bool = False, conjugated: bool = False, unit: bool = False
) -> Any:
    """x with a x = b, for stacks that broadcast."""
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != a.shape[-2] or a.shape[-1] != b.shape[-2]:
        raise ValueError(f"incompatible shapes for a triangular solve: {a.shape} and {b.shape}")
    stack = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (jnp.broadcast_to(x, (*stack, *x.shape[-2:])) for x in (a, b))
    return lapack.triangular_solve(
        a, b, left_side=True, lower=lower, transpose_a=transposed, conjugate_a=conjugated, unit_diagonal=unit
    )


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """x with a x = b, for a's `cho_factor`."""
    c, lower = c_and_lower
    c, b = matrices(c, b)
    b, vector = as_columns(c, b, "cho_solve")
    half = triangular(c, b, lower, transposed=not lower, conjugated=not lower)
    out = triangular(c, half, lower, transposed=lower, conjugated=lower)
    return out[..., 0] if vector else out


PLAIN, TRANSPOSE, ADJOINT = (False, False), (True, False), (True, True)
TRANSPOSED = {0: PLAIN, "N": PLAIN, 1: TRANSPOSE, "T": TRANSPOSE, 2: ADJOINT, "C": ADJOINT}


def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Any:
    """x with a x = b, of which a one triangle is read.

    Args:
        trans: 0 or "N"; 1 or "T" for a's transpose in a's place; 2 or "C" for its conjugate transpose.
        unit_diagonal: whether the diagonal is taken for ones.

    Raises: ValueError for another `trans`, or shapes that do not fit.
    """
    if trans not in TRANSPOSED:
        raise ValueError(f"Invalid 'trans' value {trans}")
    a, b = matrices(a, b)
    b, vector = as_columns(a, b, "solve_triangular")
    out = triangular(a, b, lower, *TRANSPOSED[trans], unit_diagonal)
    return out[..., 0] if vector else out


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Any:
    """x with a x = b.

    Args:
        assume_a: "gen", "sym", "her" or "pos": Cholesky factors are used for this one, of one triangle, LU for all
            others. lower: which triangle.

    Raises: ValueError for another `assume_a`.
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError(f"Expected assume_a to be one of ['gen', 'sym', 'her', 'pos']; got {assume_a!r}")
    if assume_a != "pos":
        return jnp.linalg.solve(a, b)
    a, b = matrices(a, b)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2] or not b.ndim:
        return jnp.linalg.solve(a, b)  # which says what does not fit
    factors = cho_factor(stop_gradient(a), lower=lower)
    vector = a.ndim == b.ndim + 1
    columns = jnp.broadcast_to(b[..., None] if vector else b, (*a.shape[:-1], 1 if vector else b.shape[-1]))
    out = custom_linear_solve(lambda x: a @ x, columns, lambda _, x: cho_solve(factors, x), symmetric=True)
    return out[..., 0] if vector else out


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The inverse."""
    return jnp.linalg.inv(a)


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinant."""
    return jnp.linalg.det(a)


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """L (below the diagonal, its ones left out) and U in one matrix; and for each row the row it was swapped with."""
    lu, pivots, _ = lapack.lu(*matrices(a))
    return lu, pivots


def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """x with a x = b, for a's `lu_factor`; `trans` as in `solve_triangular`."""
    lu, pivots = lu_and_piv
    lu, b = matrices(lu, b)
    if b.ndim and b.shape[-1 if b.ndim == 1 else -2] != lu.shape[-1]:
        raise ValueError(
            f"inconsistent size for core dimension 'n': {b.shape[-1 if b.ndim == 1 else -2]} vs {lu.shape[-1]}"
        )
    swaps = jnp.asarray(pivots)
    if swaps.dtype != np.int32:
        raise TypeError(
            f"lu_pivots_to_permutation does not accept dtype {swaps.dtype} at position 0. Accepted dtypes at position "
            "0 are subtypes of int32."
        )
    permutation = lapack.lu_pivots_to_permutation(swaps, lu.shape[-1])
    b, vector = as_columns(lu, b, "lu_solve")
    stack = jnp.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    b = jnp.broadcast_to(b, (*stack, *b.shape[-2:]))
    rows = jnp.broadcast_to(permutation, (*stack, permutation.shape[-1]))[..., None]
    if trans == 0:
        half = triangular(lu, jnp.take_along_axis(b, rows, axis=-2), True, unit=True)
        out = triangular(lu, half, False)
    elif trans in (1, 2):
        half = triangular(lu, b, False, True, trans == 2)
        out = triangular(lu, half, True, True, trans == 2, unit=True)
        out = jnp.take_along_axis(out, jnp.argsort(rows, axis=-2), axis=-2)
    else:
        raise ValueError(f"'trans' value must be 0, 1, or 2, got {trans}")
    return out[..., 0] if vector else out


def lu(a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """P, L and U with a = P L U; or P L, and U. Raises TypeError for what is no matrix."""
    (a,) = matrices(a)
    if a.ndim < 2:
        raise TypeError(f"Input 0 to lu must have rank at least 2, but got shape={a.shape}")
    m, n = a.shape
    packed, _, permutation = lapack.lu(a)
    k = min(m, n)
    low = jnp.tril(packed, -1)[:, :k] + jnp.eye(m, k, dtype=a.dtype)
    up = jnp.triu(packed)[:k, :]
    rows = jnp.arange(m, dtype=permutation.dtype)[:, None]
    p = (permutation[None, :] == rows).astype(a.real.dtype)
    return (p.astype(a.dtype) @ low, up) if permute_l else (p, low, up)
