"""Fourier transforms and linear algebra of small arrays, without what NumPy's wrappers ask first.

`numpy.linalg.solve` takes 4 µs for a matrix of 4 x 4, of which LAPACK has 0.5: the rest looks for a common type, for
subclasses and for options, in Python. The functions here call the same loop in the same way for what programs have,
plain arrays of float64 and complex128 without options. For all else, and for all that fails or is to be warned of, they
return NotImplemented, and NumPy's function is called (`_whole.h`). So results, errors and warnings are NumPy's.

NumPy's state of errors is set, and set back to what it was, inside of `try`: a signal's handler may raise after each
call.

Without one of the names of NumPy's that are used here, which are private, nothing is quick.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy

Function = Callable[..., Any]
DOUBLE, COMPLEX = numpy.dtype("f8"), numpy.dtype("c16")
quick: dict[Function, Function] = {}
"""For a function of NumPy's the one that is asked first."""

try:
    from numpy._core import umath
    from numpy.fft import _pocketfft_umath as transforms  # type: ignore[attr-defined]
    from numpy.linalg import _umath_linalg as lapack
    from numpy.linalg._linalg import EighResult, SlogdetResult, SVDResult

    state, state_of = umath._extobj_contextvar, umath._make_extobj
    FAILS = state_of(all="ignore", invalid="raise")  # what NumPy has its own errors for
    WARNS = state_of(all="raise")  # for what it may be told to warn of
    LOOPS = {
        **{name: getattr(lapack, name) for name in ("solve", "solve1", "inv", "det", "slogdet", "eigh_lo", "svd_f")},
        **{name: getattr(lapack, name) for name in ("svd_s", "eigvalsh_lo", "cholesky_lo")},
        **{name: getattr(transforms, name) for name in ("fft", "ifft", "rfft_n_even", "rfft_n_odd", "irfft")},
    }
except (ImportError, AttributeError, TypeError):
    LOOPS = {}


def stands_for(host: Function) -> Callable[[Callable[[], Function]], Any]:
    """What makes the quick function of NumPy's, whose names and texts it has."""

    def decorator(make: Callable[[], Function]) -> None:
        if LOOPS:
            plain = getattr(host, "_implementation", host)
            quick[plain] = functools.update_wrapper(make(), plain)

    return decorator


def trying(given: Any, compute: Function) -> Function:
    """`compute` with that state of errors; NotImplemented where it does not take the arguments, or fails."""

    def call(*args: Any, **kwargs: Any) -> Any:
        before = state.get()
        try:
            state.set(given)
            return compute(*args, **kwargs)
        except (ArithmeticError, TypeError, ValueError):
            return NotImplemented
        finally:
            state.set(before)

    return call


# Linear algebra.


def are_square(a: Any) -> bool:
    """Whether it is a square matrix, or a stack of some, of the common types."""
    if type(a) is not numpy.ndarray or a.dtype is not DOUBLE and a.dtype is not COMPLEX:
        return False
    shape = a.shape
    return len(shape) > 1 and shape[-1] == shape[-2] != 0


def of_square(name: str, state_given: Any, result: Function | None = None) -> Callable[[], Function]:
    """A function of one square matrix, or of a stack of some, without options."""

    def make() -> Function:
        loop = LOOPS[name]

        def call(a: Any) -> Any:
            if not are_square(a):
                return NotImplemented
            value = loop(a)
            return value if result is None else result(*value)

        return trying(state_given, call)

    return make


if LOOPS:
    stands_for(numpy.linalg.inv)(of_square("inv", FAILS))
    stands_for(numpy.linalg.cholesky)(of_square("cholesky_lo", FAILS))
    stands_for(numpy.linalg.eigvalsh)(of_square("eigvalsh_lo", FAILS))
    stands_for(numpy.linalg.det)(of_square("det", WARNS))
    stands_for(numpy.linalg.slogdet)(of_square("slogdet", WARNS, SlogdetResult))
    stands_for(numpy.linalg.eigh)(of_square("eigh_lo", FAILS, EighResult))


@stands_for(numpy.linalg.solve)
def solve() -> Function:
    several, one = LOOPS["solve"], LOOPS["solve1"]

    def call(a: Any, b: Any) -> Any:
        if not are_square(a) or type(b) is not numpy.ndarray or a.dtype is not b.dtype:
            return NotImplemented
        if not b.ndim or b.shape[-1 if b.ndim == 1 else -2] != a.shape[-1] or not b.size:
            return NotImplemented
        return one(a, b) if b.ndim == 1 else several(a, b)

    return trying(FAILS, call)


@stands_for(numpy.linalg.svd)
def svd() -> Function:
    full, thin = LOOPS["svd_f"], LOOPS["svd_s"]

    def call(a: Any, full_matrices: Any = True) -> Any:
        if type(a) is not numpy.ndarray or a.dtype is not DOUBLE or a.ndim != 2 or not a.size:
            return NotImplemented
        return SVDResult(*(full if full_matrices else thin)(a))

    return trying(FAILS, call)


# Fourier transforms.


def is_plain(a: Any) -> bool:
    """Whether it is an array in C's order, with numbers of the common types and something to transform."""
    return (
        type(a) is numpy.ndarray
        and (a.dtype is COMPLEX or a.dtype is DOUBLE)
        and a.ndim > 0
        and a.size > 0
        and a.flags.c_contiguous
    )


@functools.lru_cache(256)
def share(n: int) -> Any:
    """What NumPy multiplies by, going back."""
    return numpy.reciprocal(n, dtype=float)


def along(loop: Function, a: Any, factor: Any, axis: int, out: Any) -> Any:
    """The transform along an axis."""
    if axis == -1 or axis == a.ndim - 1:
        return loop(a, factor, out=out)
    return loop(a, factor, axes=[(axis,), (), (axis,)], out=out)


def is_axis(axis: Any, a: Any) -> bool:
    return type(axis) is int and -a.ndim <= axis < a.ndim


def one_axis(name: str, back: bool) -> Callable[[], Function]:
    def make() -> Function:
        loop = LOOPS[name]

        def call(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
            if n is not None or norm is not None or out is not None or not is_plain(a) or not is_axis(axis, a):
                return NotImplemented
            return along(loop, a, share(a.shape[axis] if back else 1), axis, numpy.empty(a.shape, COMPLEX))

        return call

    return make


def several_axes(name: str, back: bool, given: Any) -> Callable[[], Function]:
    """Along the last axis first, as NumPy does."""

    def make() -> Function:
        loop = LOOPS[name]

        def call(a: Any, s: Any = None, axes: Any = given, norm: Any = None, out: Any = None) -> Any:
            if s is not None or norm is not None or out is not None or not is_plain(a):
                return NotImplemented
            if axes is not None and (type(axes) is not tuple or not axes or not all([is_axis(k, a) for k in axes])):
                return NotImplemented
            for k in reversed(range(a.ndim) if axes is None else axes):
                a = along(loop, a, share(a.shape[k] if back else 1), k, numpy.empty(a.shape, COMPLEX))
            return a

        return call

    return make


@stands_for(numpy.fft.rfft)
def rfft() -> Function:
    even, odd = LOOPS["rfft_n_even"], LOOPS["rfft_n_odd"]

    def call(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
        if n is not None or norm is not None or out is not None or not is_plain(a) or a.dtype is COMPLEX:
            return NotImplemented
        if axis != -1 and not (type(axis) is int and axis == a.ndim - 1):
            return NotImplemented
        length = a.shape[-1]
        return (odd if length % 2 else even)(a, share(1), out=numpy.empty((*a.shape[:-1], length // 2 + 1), COMPLEX))

    return call


@stands_for(numpy.fft.irfft)
def irfft() -> Function:
    loop = LOOPS["irfft"]

    def call(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
        if norm is not None or out is not None or not is_plain(a) or a.dtype is DOUBLE or axis != -1:
            return NotImplemented
        length = 2 * (a.shape[-1] - 1) if n is None else n
        if type(length) is not int or length < 1:
            return NotImplemented
        return loop(a, share(length), out=numpy.empty((*a.shape[:-1], length)))

    return call


if LOOPS:
    stands_for(numpy.fft.fft)(one_axis("fft", False))
    stands_for(numpy.fft.ifft)(one_axis("ifft", True))
    stands_for(numpy.fft.fft2)(several_axes("fft", False, (-2, -1)))
    stands_for(numpy.fft.ifft2)(several_axes("ifft", True, (-2, -1)))
    stands_for(numpy.fft.fftn)(several_axes("fft", False, None))
    stands_for(numpy.fft.ifftn)(several_axes("ifft", True, None))
