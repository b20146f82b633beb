"""Matrices with a name: Toeplitz, Hankel, Hilbert, Pascal, and others; of stacks where they are made of arrays."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...arguments import arraylike, inexact
from ..special import comb

KINDS = ("symmetric", "lower", "upper")


def block_diag(*arrs: Any) -> Any:
    """The blocks along the diagonal of a matrix of zeros; a vector is a row.

    Raises: ValueError for three axes or more.
    """
    blocks = [jnp.asarray(a) for a in arrs] if arrs else [jnp.zeros((1, 0))]
    dtype = jnp.result_type(*blocks)
    for i, block in enumerate(blocks):
        if block.ndim > 2:
            raise ValueError(
                f"Arguments to jax.scipy.linalg.block_diag must have at most 2 dimensions, got {block} at argument {i}."
            )
    matrices = [jnp.atleast_2d(b).astype(dtype) for b in blocks]
    width, column, rows = sum(m.shape[1] for m in matrices), 0, []
    for m in matrices:
        rows.append(jnp.pad(m, ((0, 0), (column, width - column - m.shape[1]))))
        column += m.shape[1]
    return jnp.concatenate(rows, axis=0)


def constant_along(values: Any, index: np.ndarray) -> Any:
    """values[..., index]: matrices of which all entries are among a few values."""
    return values[..., index].astype(values.dtype)


def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix with first column c and first row r (by default c's conjugate), constant along diagonals."""
    if r is None:
        c = arraylike("toeplitz", c)
        r = jnp.conjugate(c)
    else:
        c, r = arraylike("toeplitz", c, r)
    c, r = jnp.atleast_1d(c), jnp.atleast_1d(r)
    stack = jnp.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    c, r = (jnp.broadcast_to(x, (*stack, x.shape[-1])) for x in (c, r))
    m, n = c.shape[-1], r.shape[-1]
    if not m or not n:
        return jnp.zeros((*stack, m, n), dtype=jnp.promote_types(c.dtype, r.dtype))
    values = jnp.concatenate([jnp.flip(c, axis=-1), r[..., 1:]], axis=-1)
    return constant_along(values, np.arange(m)[::-1, None] + np.arange(n))


def hankel(c: Any, r: Any = None) -> Any:
    """The matrix with first column c and last row r (by default zeros), constant along the other diagonals.

    Raises: ValueError for scalars.
    """
    c, r = (arraylike("hankel", c), None) if r is None else arraylike("hankel", c, r)
    r = jnp.zeros_like(c) if r is None else r
    for name, x in (("c", c), ("r", r)):
        if x.ndim == 0:
            raise ValueError(f"hankel: {name} must be at least 1-dimensional, got a scalar.")
    stack = jnp.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    c, r = (jnp.broadcast_to(x, (*stack, x.shape[-1])) for x in (c, r))
    m, n = c.shape[-1], r.shape[-1]
    if not m or not n:
        return jnp.zeros((*stack, m, n), dtype=jnp.result_type(c, r))
    return constant_along(jnp.concatenate([c, r[..., 1:]], axis=-1), np.arange(m)[:, None] + np.arange(n))


def circulant(c: Any) -> Any:
    """The matrix whose columns are c, each rotated by one more."""
    c = jnp.atleast_1d(arraylike("circulant", c))
    n = c.shape[-1]
    return constant_along(c, (np.arange(n)[:, None] - np.arange(n)) % max(n, 1))


def leslie(f: Any, s: Any) -> Any:
    """The matrix with first row f and s below the diagonal. Raises ValueError for lengths that do not fit."""
    f, s = arraylike("leslie", f, s)
    f, s = jnp.atleast_1d(f), jnp.atleast_1d(s)
    n = f.shape[-1]
    if n < 2:
        raise ValueError(f"The length of f along the last axis must be at least 2; got shape {f.shape}.")
    if s.shape[-1] != n - 1:
        raise ValueError(
            "Incorrect lengths for f and s. The length of s along the last axis must be one less than the length of f; "
            f"got f shape {f.shape} and s shape {s.shape}."
        )
    dtype = jnp.result_type(f, s)
    stack = jnp.broadcast_shapes(f.shape[:-1], s.shape[:-1])
    f, s = (jnp.broadcast_to(x, (*stack, x.shape[-1])).astype(dtype) for x in (f, s))
    below = jnp.eye(n - 1, n, dtype=dtype) * s[..., :, None]
    return jnp.concatenate([f[..., None, :], below], axis=-2)


def companion(a: Any) -> Any:
    """The matrix with the polynomial's roots as eigenvalues. Raises ValueError for fewer than two coefficients."""
    (a,) = inexact("companion", a)
    a = jnp.atleast_1d(a)
    n = a.shape[-1] - 1
    if n < 1:
        raise ValueError(f"The length of `a` along the last axis must be at least 2; got shape {a.shape}.")
    first = -a[..., 1:] / a[..., :1]
    below = jnp.broadcast_to(jnp.eye(n - 1, n, dtype=first.dtype), (*first.shape[:-1], n - 1, n))
    return jnp.concatenate([first[..., None, :], below], axis=-2)


def fiedler(a: Any) -> Any:
    """The matrix of |a_i - a_j|."""
    a = jnp.atleast_1d(arraylike("fiedler", a))
    return jnp.abs(a[..., None] - a[..., None, :])


def fiedler_companion(a: Any) -> Any:
    """A pentadiagonal matrix with the polynomial's roots as eigenvalues. Raises ValueError without coefficients."""
    (a,) = inexact("fiedler_companion", a)
    a = jnp.atleast_1d(a)
    n = a.shape[-1] - 1
    if n < 0:
        raise ValueError(
            "fiedler_companion requires the last axis of 'a' to have nonzero length, but got an array of shape "
            f"{a.shape}."
        )
    # Places in (0, 1, a_0 = 1, a_1, ..., a_n): which entry of the matrix is which coefficient, negated.
    places, ones = np.zeros((n, n), int), np.zeros((n, n), bool)
    if n:
        places[0, 0] = 1
    for i in range(0, n, 2):
        for j, k in ((i + 1, i + 2), (i - 1, i + 1)):
            if 0 <= j < n and not (i == 0 and j < 0):
                places[i, j] = k
        if i + 2 < n:
            ones[i, i + 2] = True
    if n > 1:
        ones[1, 0] = True
    for i in range(3, n, 2):
        ones[i, i - 2] = True
    scaled = -(a / a[..., :1]) if n else a
    out = jnp.where(places > 0, scaled[..., places], jnp.zeros((), a.dtype)) if n else a[..., :0, None][..., :, :0]
    return jnp.where(ones, jnp.ones((), a.dtype), out)


def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """The matrix that convolves vectors of length n with a.

    Raises: ValueError for a bad n or mode, a scalar, or an empty vector.
    """
    n = operator.index(n)
    if n <= 0:
        raise ValueError(f"n must be a positive integer; got {n}.")
    a = arraylike("convolution_matrix", a)
    if a.ndim == 0:
        raise ValueError("convolution_matrix: a must be at least 1-dimensional, got a scalar.")
    m = a.shape[-1]
    if m < 1:
        raise ValueError(f"len(a) must be at least 1; got shape {a.shape}.")
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"mode must be one of 'full', 'valid', 'same'; got {mode!r}.")
    widths = [(0, 0)] * (a.ndim - 1) + [(0, n - 1)]
    column, row = jnp.pad(a, widths), jnp.pad(jnp.flip(a, axis=-1), widths)
    length = m + n - 1
    trim = 0 if mode == "full" else min(n, m) - 1
    start = trim // 2 if mode == "same" else trim
    end = trim - start if mode == "same" else trim
    return toeplitz(column[..., start : length - end], row[..., length - n - start : length - start])


def hilbert(n: int) -> Any:
    """1 / (i + j + 1)."""
    i = jnp.arange(n, dtype=float)
    return 1 / (i[:, None] + i[None, :] + 1)


def invhilbert(n: int) -> Any:
    """The inverse of `hilbert`."""
    a = jnp.arange(n, dtype=float)
    i, j = a[:, None], a[None, :]
    s = i + j
    return (-1.0) ** s * (s + 1.0) * comb(n + i, n - j - 1) * comb(n + j, n - i - 1) * comb(s, i) ** 2


def binomial(n: Any, k: Any) -> Any:
    return jnp.exp(lax.lgamma(n + 1.0) - lax.lgamma(n - k + 1.0) - lax.lgamma(k + 1.0))


def pascal(n: int, kind: str | None = None) -> Any:
    """Binomial coefficients: "symmetric" (the default), "lower" or "upper". Raises ValueError for another kind."""
    if kind is not None and kind not in KINDS:
        raise ValueError(f"Expected kind to be on of: {list(KINDS)}; got {kind}")
    a = jnp.arange(n, dtype=np.float32)
    low = binomial(a[:, None], a[None, :])
    return low if kind == "lower" else low.T if kind == "upper" else jnp.dot(low, low.T)


def invpascal(n: int, kind: str | None = None) -> Any:
    """The inverse of `pascal`. Raises ValueError for another kind."""
    if kind is not None and kind not in KINDS:
        raise ValueError(f"Expected kind to be one of: {list(KINDS)}; got {kind}")
    a = jnp.arange(n, dtype=float)
    i, j = a[:, None], a[None, :]
    low = (-1.0) ** (i - j) * binomial(i, j)
    return low if kind == "lower" else low.T if kind == "upper" else jnp.dot(low.T, low)


def helmert(n: int, full: bool = False) -> Any:
    """Helmert's orthogonal matrix without its first row, or with it. Raises ValueError for n < 1."""
    if n < 1:
        raise ValueError(f"n must be a positive integer; got {n}.")
    i, j = np.arange(n - 1)[:, None], np.arange(n)[None, :]
    k = (i + 1).astype(float)
    size = np.sqrt(k * (k + 1))
    h = np.where(j <= i, 1 / size, np.where(j == i + 1, -k / size, 0.0))
    if full:
        h = np.concatenate([np.full((1, n), 1 / np.sqrt(n)), h])
    return jnp.asarray(h, jnp.result_type(float))


def hadamard(n: int, dtype: Any = int) -> Any:
    """Sylvester's matrix of 1 and -1. Raises ValueError where n is no power of 2."""
    if n < 1 or not math.log2(n).is_integer():
        raise ValueError(f"n must be a positive power of 2; got {n}.")
    h = np.ones((1, 1), int)
    for _ in range(int(math.log2(n))):
        h = np.block([[h, h], [h, -h]])
    return jnp.asarray(h, dtype=dtype)


def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Any:
    """The matrix of the discrete Fourier transform, divided by nothing, by "sqrtn", or by "n".

    Raises: ValueError for another scale, or a dtype that is not complex.
    """
    if scale is not None and scale not in ("sqrtn", "n"):
        raise ValueError(f"scale must be None, 'sqrtn', or 'n'; got {scale!r}.")
    kind = jnp.result_type(complex) if dtype is None else np.dtype(dtype)
    if kind.kind != "c":
        raise ValueError(f"dtype must be a complex floating-point type; got {kind}.")
    k = np.arange(n)
    out = np.exp(-2j * np.pi * ((k[:, None] * k) % max(n, 1)) / max(n, 1))
    return jnp.asarray(out / {None: 1, "sqrtn": np.sqrt(n), "n": n}[scale], kind)
