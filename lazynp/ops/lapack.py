"""Factorizations that NumPy has not: SciPy's LAPACK, which is loaded when one of them is computed.

They have no derivative, as in JAX, except those that are made of products. What fails is NaN.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.op import LIBRARY, Op
from .family import front_batch
from .promotion import REAL_OF

Results = tuple[np.ndarray, ...]
INT32 = np.dtype(np.int32)


@functools.cache
def lapack() -> Any:
    """The module of SciPy with LAPACK's functions. Raises ImportError where SciPy is not installed."""
    try:
        return importlib.import_module("scipy.linalg.lapack")
    except ModuleNotFoundError as error:
        raise ImportError(
            "this function of LAPACK's is SciPy's here, which is not installed: pip install scipy"
        ) from error


def routine(name: str, *arrays: np.ndarray) -> Callable[..., Any]:
    """LAPACK's function for these dtypes: `sgees`, `zgees`."""
    return lapack().get_lapack_funcs((name,), arrays)[0]


def of_stack(one: Callable[..., Results], outs: Sequence[Aval], *stacks: np.ndarray) -> Any:
    """The results of a function of one matrix for each of a stack of them; NaN where it fails."""
    results = tuple([np.empty(a.shape, a.dtype) for a in outs])
    lead = stacks[0].shape[:-2]
    for i in np.ndindex(*lead):
        try:
            values = one(*[np.asarray(s[i]) for s in stacks])
        except np.linalg.LinAlgError:
            values = tuple([np.full(a.shape[len(lead) :], np.nan) for a in outs])
        for out, value in zip(results, values):
            out[i] = value
    return results if len(results) > 1 else results[0]


def check(info: int) -> None:
    """Raise LinAlgError where LAPACK says that it did not converge."""
    if info:
        raise np.linalg.LinAlgError


def schur_one(a: np.ndarray) -> Results:
    out = routine("gees", a)(lambda *eigenvalue: False, a)
    check(out[-1])
    return out[0], out[-3]


def hessenberg_one(a: np.ndarray) -> Results:
    n = a.shape[-1]
    if n < 2:
        return a, np.zeros(0, a.dtype)
    packed, taus, info = routine("gehrd", a)(a, lwork=max(1, 32 * n))
    check(info)
    return packed, taus


def reflectors_one(a: np.ndarray) -> Results:
    """What LAPACK leaves of a QR decomposition, transposed: the triangle with the reflectors, and their scales."""
    packed, taus = np.linalg.qr(a, mode="raw")
    return packed, taus


def tridiagonal_one(a: np.ndarray, lower: bool) -> Results:
    n = a.shape[-1]
    if n < 2:
        return a, a.diagonal().real, np.zeros(0), np.zeros(0)
    name = "hetrd" if a.dtype.kind == "c" else "sytrd"
    packed, d, e, taus, info = routine(name, a)(a, lower=int(lower), lwork=32 * n)
    check(info)
    return packed, d, e, taus


def pivots_one(a: np.ndarray) -> Results:
    if not a.size:
        return (np.arange(a.shape[1]),)
    return (routine("geqp3", a)(a)[1] - 1,)


def reflected(a: np.ndarray, taus: np.ndarray, c: np.ndarray, left: bool, transpose: bool) -> np.ndarray:
    """c, multiplied by the product of reflectors that LAPACK leaves below a matrix's diagonal."""
    c = c.copy()
    order = range(len(taus))
    for i in order if left == transpose else reversed(order):
        v = np.concatenate((np.zeros(i, a.dtype), np.ones(1, a.dtype), a[i + 1 :, i]))
        tau = taus[i].conj() if transpose else taus[i]
        if left:
            c -= tau * np.outer(v, v.conj() @ c)
        else:
            c -= tau * np.outer(c @ v, v.conj())
    return c


def product_one(a: np.ndarray, taus: np.ndarray) -> Results:
    return (reflected(a, taus[:, 0], np.eye(*a.shape, dtype=a.dtype), True, False),)


def parlett_one(f: np.ndarray, t: np.ndarray) -> Results:
    """A function of an upper triangular matrix, of which f's diagonal holds the values (Golub and Van Loan, 11.1.1),
    and the least difference of two eigenvalues, 1 at most."""
    f, n, least = f.copy(), f.shape[0], 1.0
    with np.errstate(all="ignore"):
        for p in range(1, n):
            for i in range(n - p):
                j = i + p
                s = t[i, j] * (f[j, j] - f[i, i])
                s += t[i, i + 1 : j] @ f[i + 1 : j, j] - f[i, i + 1 : j] @ t[i + 1 : j, j]
                gap = t[j, j] - t[i, i]
                f[i, j] = s / gap if gap != 0 else s
                least = min(least, abs(gap))
    return f, np.asarray([[least]])


def root_one(t: np.ndarray) -> Results:
    """The square root of an upper triangular matrix (Björck and Hammarling, 1983)."""
    n = t.shape[0]
    diagonal = np.sqrt(t.diagonal())
    out = np.diag(diagonal)
    with np.errstate(all="ignore"):
        for j in range(n):
            for i in range(j - 1, -1, -1):
                rest = t[i, j] - out[i, i + 1 : j] @ out[i + 1 : j, j]
                out[i, j] = 0 if rest == 0 else rest / (diagonal[i] + diagonal[j])
    return (out,)


def sylvester_one(r: np.ndarray, s: np.ndarray, f: np.ndarray) -> Results:
    """y with r y + y s = f, for upper triangular r and s."""
    y, scale, _ = routine("trsyl", r, s, f)(r, s, f)
    return (y / scale,)


def complex_schur_one(t: np.ndarray, z: np.ndarray) -> Results:
    """The complex Schur form of a real one: each pair of eigenvalues is split by a rotation."""
    t, z, n = t.copy(), z.copy(), t.shape[0]
    for m in range(n - 1, 0, -1):
        if abs(t[m, m - 1]) > np.finfo(t.dtype).eps * (abs(t[m - 1, m - 1]) + abs(t[m, m])):
            mu = np.linalg.eigvals(t[m - 1 : m + 1, m - 1 : m + 1]) - t[m, m]
            size = np.hypot(abs(mu[0]), abs(t[m, m - 1]))
            c, s = mu[0] / size, t[m, m - 1] / size
            g = np.array([[c.conj(), s], [-s, c]], t.dtype)
            t[m - 1 : m + 1, m - 1 :] = g @ t[m - 1 : m + 1, m - 1 :]
            t[: m + 1, m - 1 : m + 1] = t[: m + 1, m - 1 : m + 1] @ g.conj().T
            z[:, m - 1 : m + 1] = z[:, m - 1 : m + 1] @ g.conj().T
        t[m, m - 1] = 0
    return t, z


def updated_one(r: np.ndarray, w: np.ndarray) -> Results:
    """The upper factor of r^T r + w w^T: a rotation for each row."""
    r, w = r.copy(), w[:, 0].copy()
    for k in range(len(w)):
        size = np.hypot(r[k, k], w[k])
        c, s = (r[k, k] / size, w[k] / size) if size else (1.0, 0.0)
        r[k, k:], w[k:] = c * r[k, k:] + s * w[k:], c * w[k:] - s * r[k, k:]
    return (np.triu(r),)


Shapes = Callable[..., Sequence[Aval]]


def lapack_op(name: str, outs: Shapes, one: Callable[..., Results], static: Sequence[str] = (), arity: int = 1) -> Op:
    """An op on stacks of matrices. `outs(*avals, **params)`: the types of its results; `one`: for single matrices."""

    def abstract(*avals: Aval, **params: Any) -> Any:
        found = tuple(outs(*avals, **params))
        return found if len(found) > 1 else found[0]

    def lower(xp: Any, *stacks: Any, **params: Any) -> Any:
        avals = outs(*[Aval(s.shape, s.dtype) for s in stacks], **params)
        return of_stack(functools.partial(one, **params), avals, *stacks)

    n_out = len(outs(*[Aval((2, 2), np.dtype(np.float32))] * arity, **dict.fromkeys(static, True)))
    op = Op(name, LIBRARY, abstract, lower, static=static, n_out=n_out)
    op.batch = front_batch(op)
    return op


def vector(a: Aval, n: int, dtype: Any = None) -> Aval:
    return Aval((*a.shape[:-2], n), dtype or a.dtype)


def less(a: Aval) -> int:
    return max(a.shape[-1] - 1, 0)


def real(a: Aval) -> Any:
    return REAL_OF.get(a.dtype, a.dtype)


schur = lapack_op("schur", lambda a: (a, a), schur_one)
hessenberg = lapack_op("hessenberg", lambda a: (a, vector(a, less(a))), hessenberg_one)
reflectors = lapack_op(
    "reflectors",
    lambda a: (Aval((*a.shape[:-2], *a.shape[:-3:-1]), a.dtype), vector(a, min(a.shape[-2:]))),
    reflectors_one,
)
tridiagonal = lapack_op(
    "tridiagonal",
    lambda a, lower: (a, vector(a, a.shape[-1], real(a)), vector(a, less(a), real(a)), vector(a, less(a))),
    tridiagonal_one,
    static=("lower",),
)
column_pivots = lapack_op("column_pivots", lambda a: (vector(a, a.shape[-1], INT32),), pivots_one)
"""The order of the columns in which QR with pivoting takes them."""
householder_product = lapack_op("householder_product", lambda a, taus: (a,), product_one, arity=2)
ormqr = lapack_op(
    "ormqr",
    lambda a, taus, c, left, transpose: (c,),
    lambda a, taus, c, left, transpose: (reflected(a, taus[:, 0], c, left, transpose),),
    static=("left", "transpose"),
    arity=3,
)
parlett = lapack_op("parlett", lambda f, t: (f, Aval((*f.shape[:-2], 1, 1), real(f))), parlett_one, arity=2)
triangular_root = lapack_op("triangular_root", lambda t: (t,), root_one)
triangular_sylvester = lapack_op("triangular_sylvester", lambda r, s, f: (f,), sylvester_one, arity=3)
complex_schur = lapack_op("complex_schur", lambda t, z: (t, z), complex_schur_one, arity=2)
cholesky_update = lapack_op("cholesky_update", lambda r, w: (r,), updated_one, arity=2)
