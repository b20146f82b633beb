"""NumPy's polynomials of coefficients that have no value, under `jit` and `vmap`: none is taken to be zero, so that
lengths are known. Loaded with the transformations; see `traced_math.PYTHON`.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy

from .array import Handle
from .traced import Rule, concrete


def names() -> Any:
    return sys.modules["lazynp"]


def known(*arrays: Any) -> bool:
    return all([concrete(x) for x in arrays if isinstance(x, Handle)])


def has_value(x: Any) -> bool:
    """Whether the values of an argument, which may be a list, can be looked at."""
    return all(map(has_value, x)) if type(x) in (list, tuple) else known(x)


def new_poly1d(self: Any, c_or_r: Any, r: Any = False, variable: Any = None) -> Any:
    """`poly1d`, whose leading zeros are kept."""
    if has_value(c_or_r):
        return NotImplemented
    np = names()
    coefficients = np.atleast_1d(np.poly(c_or_r) if r else c_or_r)
    if coefficients.ndim > 1:
        raise ValueError("Polynomial must be 1d only.")
    self._coeffs, self._variable = coefficients, "x" if variable is None else variable
    return None


def polydiv(u: Any, v: Any) -> Any:
    """The remainder has as many coefficients as v, less one."""
    np = names()
    whole = isinstance(u, np.poly1d) or isinstance(v, np.poly1d)
    u, v = [x.coeffs if isinstance(x, np.poly1d) else x for x in (u, v)]
    if has_value(u) and has_value(v):
        return NotImplemented
    u, v = np.atleast_1d(u) + 0.0, np.atleast_1d(v) + 0.0
    places = len(u) - len(v) + 1
    rest = (u[:1] * v[:1]).dtype.type(0) + u
    found = []
    for _ in range(places):
        found.append(rest[0] / v[0])
        rest = np.concatenate((rest[1 : len(v)] - found[-1] * v[1:], rest[len(v) :]))
    quotient = np.stack(found) if found else np.zeros(1, rest.dtype)
    rest = rest if rest.size else np.zeros(1, rest.dtype)
    return (np.poly1d(quotient), np.poly1d(rest)) if whole else (quotient, rest)


def roots(p: Any) -> Any:
    """The eigenvalues of the companion matrix, as complex numbers; NaN where the leading coefficient is zero."""
    np = names()
    p = np.atleast_1d(p)
    if known(p):
        return NotImplemented
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    p = p if p.dtype.kind in "fc" else p.astype(float)
    if len(p) < 2:
        return np.zeros(0, numpy.result_type(p.dtype, numpy.complex64))
    below = np.eye(len(p) - 2, len(p) - 1, dtype=p.dtype)
    return np.linalg.eigvals(np.concatenate(((-p[1:] / p[0])[None], below)))


def poly(seq_of_zeros: Any) -> Any:
    """Of a matrix, or of complex roots: NumPy's text asks whether they are conjugates; here the result is complex."""
    np = names()
    zeros = np.atleast_1d(seq_of_zeros)
    square = zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] and zeros.size
    if known(zeros) or not square and (zeros.ndim != 1 or zeros.dtype.kind != "c" or not zeros.size):
        return NotImplemented
    out = np.ones(1, numpy.result_type(zeros.dtype, numpy.complex64))
    for zero in np.linalg.eigvals(zeros) if square else zeros:
        out = np.convolve(out, np.stack((np.ones((), out.dtype), -zero)))
    return out.real if zeros.dtype.kind != "c" else out


def trimseq(seq: Any) -> Any:
    return NotImplemented if has_value(seq) else seq


RULES: tuple[tuple[str, str, Rule], ...] = (
    ("lazynp.lib._polynomial_impl", "poly1d.__init__", new_poly1d),
    ("lazynp.lib._polynomial_impl", "roots", roots),
    ("lazynp.lib._polynomial_impl", "poly", poly),
    ("lazynp.polynomial.polyutils", "trimseq", trimseq),
)
