"""Linear algebra that no value makes fail: NaN stands where NumPy raises LinAlgError, as in JAX. And LU, which NumPy
has not. Shapes, derivatives and batching are those of `linalg`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import FORWARD, LIBRARY, Op, results
from .contraction import matmul
from .creation import eye, tril, triu
from .elementwise import add, negative, subtract
from .family import front_batch, map_batch
from .indexing import take_along_axis
from .joining import pad
from .linalg import (
    Tangents,
    adjoint,
    cholesky,
    cholesky_along,
    result_dtypes,
    solve_abstract,
    triangle,
)
from .shape import broadcast_to, expand_dims, slice_, sum_to, swap_last, whole

RAW: Any = vars(np.linalg)["_umath_linalg"]  # NumPy's own loops, which leave NaN where they fail
BLOCK = 32  # columns that LU takes one by one, and rows that a triangular solve does at once


def cholesky_values(a: np.ndarray, upper: bool) -> np.ndarray:
    """The factors, NaN where a matrix is not positive."""
    with np.errstate(all="ignore"):
        return (RAW.cholesky_up if upper else RAW.cholesky_lo)(a)


def solve_values(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """numpy.linalg.solve; of a singular matrix what its LU factors give, with infinities and NaN, as in JAX."""
    with np.errstate(all="ignore"):
        out = RAW.solve(a, b)
    if b.size and np.isnan(out[..., 0, 0]).any() and np.isfinite(a).all():
        for i in np.ndindex(*out.shape[:-2]):
            if np.isnan(out[i]).all():
                own, right = (np.broadcast_to(x, (*out.shape[:-2], *x.shape[-2:]))[i] for x in (a, b))
                factors, _, rows = lu_values(own)
                out[i] = substituted(factors, substituted(factors, right[rows], True, True), False, False)
    return out


def triangular_values(a: np.ndarray, b: np.ndarray, lower: bool, unit: bool) -> np.ndarray:
    """x with a x = b, of which one triangle of a is read. By halves, the smallest with the general solver."""
    n = a.shape[-1]
    if n <= BLOCK:
        if not np.isfinite(b).all() or not unit and not np.diagonal(a, 0, -2, -1).all():
            return substituted(a, b, lower, unit)
        t = np.tril(a) if lower else np.triu(a)
        if unit:
            t[..., np.arange(n), np.arange(n)] = 1
        return solve_values(t, b)
    k = n // 2
    first, last = (slice(None, k), slice(k, None)) if lower else (slice(k, None), slice(None, k))
    x = triangular_values(a[..., first, first], b[..., first, :], lower, unit)
    y = triangular_values(a[..., last, last], b[..., last, :] - a[..., last, first] @ x, lower, unit)
    return np.concatenate((x, y) if lower else (y, x), axis=-2)


def substituted(a: np.ndarray, b: np.ndarray, lower: bool, unit: bool) -> np.ndarray:
    """The same, row by row: a NaN in b, or a zero on the diagonal, does not reach the unknowns that do not depend on
    it."""
    n = a.shape[-1]
    x = np.empty(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + b.shape[-2:], np.result_type(a, b))
    with np.errstate(all="ignore"):
        for i in range(n) if lower else range(n - 1, -1, -1):
            known = slice(None, i) if lower else slice(i + 1, None)
            row = b[..., i, :] - (a[..., i, known, None] * x[..., known, :]).sum(-2)
            x[..., i, :] = row if unit else row / a[..., i, i, None]
    return x


def lu_matrix(a: np.ndarray) -> list[int]:
    """LU with partial pivoting of one matrix, in place: the rows that were swapped. By halves (Toledo 1997)."""
    m, n = a.shape
    if min(m, n) > BLOCK:
        k = min(m, n) // 2
        pivots = lu_matrix(a[:, :k])
        swap(a[:, k:], pivots)
        a[:k, k:] = triangular_values(a[:k, :k], a[:k, k:], True, True)
        a[k:, k:] -= a[k:, :k] @ a[:k, k:]
        rest = [p + k for p in lu_matrix(a[k:, k:])]
        swap(a[:, :k], rest, k)
        return pivots + rest
    pivots = []
    for j in range(min(m, n)):
        column = a[j:, j]
        sizes = abs(column.real) + abs(column.imag) if a.dtype.kind == "c" else abs(column)
        p = j + int(sizes.argmax())
        pivots.append(p)
        if p != j:
            a[[j, p]] = a[[p, j]]
        if a[j, j] != 0:
            a[j + 1 :, j] /= a[j, j]
            a[j + 1 :, j + 1 :] -= a[j + 1 :, j, None] * a[j, j + 1 :]
    return pivots


def swap(a: np.ndarray, pivots: list[int], start: int = 0) -> None:
    for j, p in enumerate(pivots, start):
        if p != j:
            a[[j, p]] = a[[p, j]]


def lu_values(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    out = np.array(a, order="C")
    m, n = a.shape[-2:]
    pivots = np.zeros((*a.shape[:-2], min(m, n)), np.int32)
    with np.errstate(all="ignore"):
        for i in np.ndindex(*a.shape[:-2]):
            pivots[i] = lu_matrix(out[i])
    return out, pivots, permutation_values(pivots, m)


def permutation_values(pivots: np.ndarray, n: int) -> np.ndarray:
    """The permutation of n rows that swapping row i with row pivots[i], one after the other, makes."""
    out = np.broadcast_to(np.arange(n, dtype=np.int32), (*pivots.shape[:-1], n)).copy()
    for i in np.ndindex(*pivots.shape[:-1]):
        for j, p in enumerate(pivots[i]):
            out[i][[j, p]] = out[i][[p, j]]
    return out


def cholesky_jvp(tangents: Tangents, out: Node, a: Node, *, upper: bool) -> Node | None:
    """As JAX's: from the whole tangent, which is taken for a symmetric one."""
    t = tangents[0]
    return None if t is None else cholesky_along(adjoint(t) if upper else t, out, upper)


cholesky_or_nan = Op(
    "cholesky_or_nan",
    LIBRARY,
    cholesky.abstract,
    lambda xp, a, *, upper: cholesky_values(a, upper),
    static=("upper",),
    jvp=cholesky_jvp,
    weakness=FORWARD,
)
cholesky_or_nan.batch = front_batch(cholesky_or_nan)


def solve_jvp(tangents: Tangents, out: Node, a: Node, b: Node) -> Node | None:
    ta, tb = tangents
    if ta is None:
        return None if tb is None else solve_or_nan(a, tb)
    right = negative(matmul(ta, out))
    return solve_or_nan(a, right if tb is None else add(tb, right))


solve_or_nan = Op(
    "solve_or_nan",
    LIBRARY,
    solve_abstract,
    lambda xp, a, b: solve_values(a, b),
    jvp=solve_jvp,
    transpose=lambda ct, a, b: (None, sum_to(solve_or_nan(swap_last(a), ct), b.shape)),
)
solve_or_nan.batch = map_batch(solve_or_nan)


def triangular_jvp(tangents: Tangents, out: Node, a: Node, b: Node, *, lower: bool, unit: bool) -> Node | None:
    ta, tb = tangents
    if ta is None:
        return None if tb is None else triangular_or_nan(a, tb, lower=lower, unit=unit)
    right = negative(matmul(triangle(ta, lower, unit), out))
    return triangular_or_nan(a, right if tb is None else add(tb, right), lower=lower, unit=unit)


triangular_or_nan = Op(
    "triangular_or_nan",
    LIBRARY,
    lambda a, b, *, lower, unit: solve_abstract(a, b),
    lambda xp, a, b, *, lower, unit: triangular_values(a, b, lower, unit),
    static=("lower", "unit"),
    jvp=triangular_jvp,
    transpose=lambda ct, a, b, *, lower, unit: (
        None,
        sum_to(triangular_or_nan(swap_last(a), ct, lower=not lower, unit=unit), b.shape),
    ),
)
triangular_or_nan.batch = map_batch(triangular_or_nan)


def lu_abstract(a: Aval) -> tuple[Aval, Aval, Aval]:
    if a.ndim < 2:
        raise ValueError(f"LU decomposition takes matrices, got {a}")
    (dtype,) = result_dtypes(np.linalg.inv, a.dtype)
    (m, n), stack, whole_ = a.shape[-2:], a.shape[:-2], np.dtype(np.int32)
    return Aval(a.shape, dtype), Aval((*stack, min(m, n)), whole_), Aval((*stack, m), whole_)


def lu_jvp(tangents: Tangents, out: Node, a: Node) -> Any:
    """With P a = L U: L's derivative is L tril(X, -1), U's triu(X) U, where X = inv(L) P da inv(U).

    A matrix that is not square is filled up with a diagonal of ones.
    """
    t = tangents[0]
    if t is None:
        return None
    packed, _, permutation = results(out)
    m, n = a.shape[-2:]
    k = min(m, n)
    stack = whole(a.shape[:-2])
    low = square(tril(slice_(packed, key=(*stack, (0, m, 1), (0, k, 1))), -1), m)
    low = add(low, eye(m, dtype=low.dtype))
    up = square(triu(slice_(packed, key=(*stack, (0, k, 1), (0, n, 1)))), n)
    up = add(up, subtract(eye(n, dtype=up.dtype), square(eye(k, dtype=up.dtype), n)))
    rows = broadcast_to(expand_dims(permutation, permutation.ndim), shape=t.shape)
    x = triangular_or_nan(low, take_along_axis(t, rows, t.ndim - 2), lower=True, unit=True)
    x = swap_last(triangular_or_nan(swap_last(up), swap_last(x), lower=True, unit=False))
    along_low, along_up = matmul(low, square(tril(x, -1), m)), matmul(square(triu(x), n), up)
    part = (*stack, (0, m, 1), (0, n, 1))
    return add(slice_(widened(along_low, m, n), key=part), slice_(widened(along_up, m, n), key=part)), None, None


def square(x: Node, n: int) -> Node:
    """A matrix, cut or filled up with zeros to n rows and columns."""
    return slice_(widened(x, n, n), key=(*whole(x.shape[:-2]), (0, n, 1), (0, n, 1)))


def widened(x: Node, m: int, n: int) -> Node:
    """A matrix, filled up with zeros to at least m rows and n columns."""
    more = (max(m - x.shape[-2], 0), max(n - x.shape[-1], 0))
    return pad(x, [(0, 0)] * (x.ndim - 2) + [(0, more[0]), (0, more[1])]) if any(more) else x


lu = Op("lu", LIBRARY, lu_abstract, lambda xp, a: lu_values(a), n_out=3, jvp=lu_jvp)
"""L and U in one matrix; for each row the row that it was swapped with; the permutation of the rows."""
lu.batch = front_batch(lu)
permutation_of = Op(
    "permutation_of",
    LIBRARY,
    lambda pivots, *, n: Aval((*pivots.shape[:-1], n), np.dtype(np.int32)),
    lambda xp, pivots, *, n: permutation_values(pivots, n),
    static=("n",),
)
permutation_of.batch = front_batch(permutation_of)
