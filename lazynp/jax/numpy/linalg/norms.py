"""Norms, condition numbers, ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array import Array, check_arraylike
from ...dtypes import FLOAT32, KIND_OF
from .. import at_once
from ..axes import axes_of, axis_of
from ..creation import asarray
from ..elementwise import table
from ..reductions import max as max_
from ..reductions import min as min_
from ..reductions import sum as sum_
from ..select import where
from ..shape import expand_dims, moveaxis
from ..statistics import floating
from .factor import svd
from .solve import inv

absolute, sqrt = table["absolute"], table["sqrt"]


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors, or of matrices. Raises ValueError for an order that is none."""
    found = at_once.norm(x) if ord is None and axis is None and not keepdims else None
    if found is not None:
        return found
    check_arraylike("jnp.linalg.norm", x)
    (a,) = floating(x)
    if axis is None:
        if ord is None:
            return root_of_squares(a, None, keepdims)
        axes = axis = tuple(range(a.ndim))
    else:
        given = axis if isinstance(axis, (tuple, list)) else (axis,)
        axes = tuple([axis_of(i, a.ndim) for i in given])
    if len(axes) == 1:
        return vector(a, 2 if ord is None else ord, axes[0], keepdims)
    if len(axes) == 2:
        return of_matrix(a, "fro" if ord is None else ord, axes, keepdims)
    raise ValueError(
        f"Improper number of axes for norm: axis={axis}. Pass one axis to compute a vector-norm, or two "
        "axes to compute a matrix-norm."
    )


def root_of_squares(a: Array, axis: Any, keepdims: bool) -> Any:
    squares = a.real**2 + a.imag**2 if KIND_OF[a.dtype] == "c" else a * a
    return sqrt(sum_(squares, axis=axis, keepdims=keepdims))


def largest(sizes: Any, axis: Any, keepdims: bool = False) -> Any:
    """The largest of numbers that are not negative; 0 where there is none."""
    return max_(sizes, axis=axis, keepdims=keepdims, initial=0)


def vector(a: Array, ord: Any, axis: Any, keepdims: bool) -> Any:
    if isinstance(ord, str):
        raise ValueError(
            f"Invalid order '{ord}' for vector norm." + (" Use 'jax.numpy.inf' instead." if ord == "inf" else "")
        )
    if not isinstance(ord, Array):
        if ord == np.inf:
            return largest(absolute(a), axis, keepdims)
        if ord == -np.inf:
            return min_(absolute(a), axis=axis, keepdims=keepdims)
        if ord == 0:
            return sum_(a != 0, axis=axis, keepdims=keepdims, dtype=absolute(a).dtype)
        if ord == 1:
            return sum_(absolute(a), axis=axis, keepdims=keepdims)
        if ord == 2:
            return root_of_squares(a, axis, keepdims)
    total = sum_(absolute(a) ** ord, axis=axis, keepdims=keepdims)
    return total ** (1.0 / ord)


def of_matrix(a: Array, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    i, k = axes
    if i == k:
        raise ValueError("Duplicate axes given.")
    if ord == "fro":
        return root_of_squares(a, axes, keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        inner, outer = (i, k) if abs(ord) == 1 else (k, i)
        sums = sum_(absolute(a), axis=inner, keepdims=True)
        out = largest(sums, outer, True) if ord > 0 else min_(sums, axis=outer, keepdims=True)
    elif ord in (2, -2, "nuc"):
        s = svd(moveaxis(a, axes, (-2, -1)), compute_uv=False)
        out = sum_(s, axis=-1) if ord == "nuc" else largest(s, -1) if ord == 2 else min_(s, axis=-1)
        return expand_dims(out, axes) if keepdims else out
    else:
        raise ValueError(f"Invalid order '{ord}' for matrix norm.")
    return out if keepdims else out.squeeze(axes)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of the matrices of the last two axes."""
    check_arraylike("jnp.linalg.matrix_norm", x)
    return norm(x, ord=ord, keepdims=keepdims, axis=(-2, -1))


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of the elements along axes, taken as one vector."""
    check_arraylike("jnp.linalg.vector_norm", x)
    ord = 2 if ord is None else ord
    a = asarray(x) if ord in (1, np.inf, -np.inf) else floating(x)[0]
    return vector(a, ord, axes_of(axis, a.ndim), keepdims)


def cond(x: Any, p: Any = None) -> Any:
    """The condition numbers in a norm (2)."""
    check_arraylike("cond", x)
    (a,) = floating(x)
    if a.ndim < 2:
        raise ValueError(f"jnp.linalg.cond: input array must be at least 2D; got arr.shape={a.shape}")
    if 0 in a.shape[-2:]:
        raise ValueError(f"jnp.linalg.cond: input array must not be empty; got arr.shape={a.shape}")
    if p in (None, 2):
        s = svd(a, compute_uv=False)
        return s[..., 0] / s[..., -1]
    if p == -2:
        s = svd(a, compute_uv=False)
        out = s[..., -1] / s[..., 0]
    else:
        if a.shape[-1] != a.shape[-2]:
            raise ValueError(f"jnp.linalg.cond: for {p=}, array must be square; got arr.shape={a.shape}")
        out = norm(a, ord=p, axis=(-2, -1)) * norm(inv(a), ord=p, axis=(-2, -1))
    lost = table["isnan"](a).any(axis=(-2, -1))
    return where((out != out) & ~lost, np.inf, out)


def matrix_rank(M: Any, rtol: Any = None, *, hermitian: bool = False, tol: Any = None) -> Any:
    """How many singular values (of a Hermitian matrix: sizes of eigenvalues) are above a limit.

    Args:
        rtol: the limit, of each matrix or of all; as in JAX it is taken as it is. By default it is the largest singular
            value times the longer side times the dtype's epsilon.
        tol: another name of it.

    Raises: ValueError where both are given.
    """
    check_arraylike("jnp.linalg.matrix_rank", M)
    if rtol is not None and tol is not None:
        raise ValueError("matrix_rank: only one of tol or rtol may be specified.")
    (a,) = floating(M)
    if a.ndim < 2:
        return table["not_equal"](a, 0).any().astype(np.int32)
    s = svd(a, full_matrices=False, compute_uv=False, hermitian=hermitian)
    limit = tol if rtol is None else rtol
    if limit is None:
        eps = np.finfo(s.dtype if s.dtype.kind == "f" else FLOAT32).eps
        limit = max_(s, axis=-1) * (max(a.shape[-2:]) * eps)
    return sum_(s > expand_dims(limit, np.ndim(limit)), axis=-1)
