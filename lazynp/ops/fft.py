"""Discrete Fourier transforms along one axis; numpy.fft's others are made of these."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import LIBRARY, Op, Rule
from .elementwise import conjugate, multiply, real
from .family import axis_batch, linear_jvp
from .joining import concatenate, pad, span
from .shape import broadcast_to, reshape

FLIPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


@functools.lru_cache(256)
def fft_dtype(name: str, dtype: np.dtype[Any], odd: int) -> np.dtype[Any]:
    """NumPy's result dtype. Raises its TypeError (rfft of complex numbers)."""
    return getattr(np.fft, name)(np.zeros(2 + odd, dtype)).dtype


def fft_op(name: str, length: Rule, transpose: Rule) -> Op:
    """`length(n)` is how many elements the result has; the input is cut or padded with zeros for n of the result's."""

    def abstract(x: Aval, *, axis: int, norm: str, n: int) -> Aval:
        if n < 1:
            raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
        return Aval((*x.shape[:axis], length(n), *x.shape[axis + 1 :]), fft_dtype(name, x.dtype, n % 2))

    def lower(xp: Any, x: Any, *, axis: int, norm: str, n: int) -> Any:
        x = np.asarray(x)
        shape = (*x.shape[:axis], length(n), *x.shape[axis + 1 :])
        function, dtype = getattr(xp.fft, name), fft_dtype(name, x.dtype, n % 2)
        return xp.along(lambda lines, out: function(lines, n, axis, norm, out=out), x, axis, shape, dtype)

    op = Op(name, LIBRARY, abstract, lower, static=("axis", "norm"), moving=("n",), transpose=transpose)
    op.jvp = linear_jvp(op)
    op.batch = axis_batch(op)
    return op


def resized(x: Node, axis: int, n: int) -> Node:
    """Cut off, or padded with zeros behind."""
    m = x.shape[axis]
    if m == n:
        return x
    if m > n:
        return span(x, axis, 0, n)
    return pad(x, [(0, n - m if i == axis else 0) for i in range(x.ndim)])


def fft_transpose(ct: Node, x: Aval, *, axis: int, norm: str, n: int) -> tuple[Node]:
    """The matrix is symmetric."""
    return (resized(fft(ct, axis=axis, norm=norm, n=n), axis, x.shape[axis]),)


def ifft_transpose(ct: Node, x: Aval, *, axis: int, norm: str, n: int) -> tuple[Node]:
    return (resized(ifft(ct, axis=axis, norm=norm, n=n), axis, x.shape[axis]),)


def rfft_transpose(ct: Node, x: Aval, *, axis: int, norm: str, n: int) -> tuple[Node]:
    full = fft(resized(ct, axis, n), axis=axis, norm=norm, n=n)
    return (resized(real(full), axis, x.shape[axis]),)


def irfft_transpose(ct: Node, x: Aval, *, axis: int, norm: str, n: int) -> tuple[Node]:
    """Every frequency but the first, and the last where n is even, stands for two."""
    out = rfft(ct, axis=axis, norm=FLIPPED[norm], n=n)
    once, half = (1, n // 2 - 1 + n % 2, 1 - n % 2), [1] * out.ndim
    parts = [broadcast_to(complex_free(w, out), shape=(k,)) for w, k in zip((1.0, 2.0, 1.0), once) if k > 0]
    half[axis] = sum(p.shape[0] for p in parts)
    weights = reshape(concatenate(*parts, axis=0), shape=tuple(half))
    return (resized(conjugate(multiply(out, weights)), axis, x.shape[axis]),)


def complex_free(value: float, like: Node) -> Node:
    """A real scalar of the precision of a complex array."""
    return Node.of_scalar(np.dtype(like.dtype.char.lower()).type(value))


fft = fft_op("fft", lambda n: n, fft_transpose)
ifft = fft_op("ifft", lambda n: n, ifft_transpose)
rfft = fft_op("rfft", lambda n: n // 2 + 1, rfft_transpose)
irfft = fft_op("irfft", lambda n: n, irfft_transpose)

# Compositions: what numpy.fft writes over the four.


def fftn(x: Node, sizes: Sequence[int], axes: Sequence[int], norm: str, inverse: bool = False) -> Node:
    """numpy.fft.fftn and ifftn: the last axis first, as NumPy does."""
    op = ifft if inverse else fft
    for axis, n in reversed(list(zip(axes, sizes))):
        x = op(x, axis=axis, norm=norm, n=n)
    return x
