"""`jax.scipy.signal`: convolutions and correlations; spectra; detrending."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import lax
from .. import numpy as jnp
from ..arguments import arraylike, common
from ..numpy.axes import axis_of
from .spectral import csd, istft, stft, welch
from .trends import detrend

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "stft",
    "welch",
]
MODES = ("full", "same", "valid")


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """The convolution along some axes (all by default), by Fourier transforms.

    Raises: ValueError for ranks, shapes, axes or a mode that do not fit.
    """
    a, b = common("fftconvolve", in1, in2)
    if a.ndim != b.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    if mode not in MODES:
        raise ValueError("mode must be one of ['same', 'full', 'valid']")
    chosen = range(a.ndim) if axes is None else axes if isinstance(axes, Sequence) else (axes,)
    over = sorted({axis_of(i, a.ndim) for i in chosen})
    if any(a.shape[i] != b.shape[i] for i in range(a.ndim) if i not in over):
        raise ValueError(
            f"mapped axes must have same shape; got in1.shape={a.shape!r} in2.shape={b.shape!r} axes={axes!r}"
        )
    if mode == "valid":
        larger = [a.shape[i] >= b.shape[i] for i in over], [a.shape[i] <= b.shape[i] for i in over]
        if not all(larger[0]) and not all(larger[1]):
            raise ValueError("For 'valid' mode, One input must be at least as large as the other in every dimension.")
        if all(larger[1]):
            a, b = b, a
    full = [a.shape[i] + b.shape[i] - 1 for i in over]
    if all(a.shape[i] == 1 or b.shape[i] == 1 for i in over):
        out = a * b
    elif a.dtype.kind == "c":
        out = jnp.fft.ifftn(jnp.fft.fftn(a, full, over) * jnp.fft.fftn(b, full, over), full, over)
    else:
        out = jnp.fft.irfftn(jnp.fft.rfftn(a, full, over) * jnp.fft.rfftn(b, full, over), full, over)
    key = [slice(None)] * a.ndim
    for i, n in zip(over, full):
        size = {"full": n, "same": a.shape[i], "valid": a.shape[i] - b.shape[i] + 1}[mode]
        start = (n - size) // 2
        key[i] = slice(start, start + size)
    return out[tuple(key)]


def direct(in1: Any, in2: Any, mode: str, precision: Any) -> Any:
    """The convolution as a sum."""
    a, b = arraylike("convolve", in1, in2)
    if mode not in MODES:
        raise ValueError("mode must be one of ['full', 'same', 'valid']")
    if a.ndim != b.ndim:
        raise ValueError("in1 and in2 must have the same number of dimensions")
    if a.size == 0 or b.size == 0:
        raise ValueError(f"zero-size arrays not supported in convolutions, got shapes {a.shape} and {b.shape}.")
    a, b = common("convolve", a, b)
    larger = all(m >= n for m, n in zip(a.shape, b.shape))
    if not larger and not all(m <= n for m, n in zip(a.shape, b.shape)):
        raise ValueError("One input must be smaller than the other in every dimension.")
    second = b.shape
    if all(m <= n for m, n in zip(a.shape, b.shape)):
        a, b = b, a
    if mode == "valid":
        padding = [(0, 0)] * b.ndim
    elif mode == "same":
        padding = [(s - 1 - (o - 1) // 2, s - o + (o - 1) // 2) for s, o in zip(b.shape, second)]
    else:
        padding = [(s - 1, s - 1) for s in b.shape]
    out = lax.conv_general_dilated(a[None, None], jnp.flip(b)[None, None], (1,) * b.ndim, padding, precision=precision)
    return out[0, 0]


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Any:
    """The convolution of arrays of one rank.

    Args:
        mode: "full", "same" or "valid".
        method: "direct" (which "auto" is) or "fft".

    Raises: ValueError for shapes, a mode or a method that do not fit.
    """
    if method == "fft":
        return fftconvolve(in1, in2, mode=mode)
    if method in ("direct", "auto"):
        return direct(in1, in2, mode, precision)
    raise ValueError(f"Got method={method!r}; expected 'auto', 'fft', or 'direct'.")


def check_two(name: str, in1: Any, in2: Any, boundary: str, fillvalue: Any) -> None:
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(f"{name}() only supports boundary='fill', fillvalue=0")
    if jnp.ndim(in1) != 2 or jnp.ndim(in2) != 2:
        raise ValueError(f"{name}() only supports 2-dimensional inputs.")


def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0, precision: Any = None
) -> Any:
    """The convolution of matrices.

    Raises: ValueError for other ranks, NotImplementedError for another boundary than zeros.
    """
    check_two("convolve2d", in1, in2, boundary, fillvalue)
    return direct(in1, in2, mode, precision)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Any:
    """The correlation: `convolve` with the second array reversed and conjugated."""
    return convolve(in1, jnp.flip(jnp.conjugate(in2)), mode, method, precision)


def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0, precision: Any = None
) -> Any:
    """The correlation of matrices.

    Raises: ValueError for other ranks, NotImplementedError for another boundary than zeros.
    """
    check_two("correlate2d", in1, in2, boundary, fillvalue)
    smaller = all(m <= n for m, n in zip(in1.shape, in2.shape))
    if smaller and (mode == "full" or (mode == "valid" and in1.shape != in2.shape)):
        out = direct(jnp.flip(in2), jnp.conjugate(in1), mode, precision)
        return jnp.conjugate(out) if mode == "full" else out
    return jnp.flip(direct(jnp.flip(in1), jnp.conjugate(in2), mode, precision))
