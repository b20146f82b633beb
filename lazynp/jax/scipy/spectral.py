"""The spectral part of `jax.scipy.signal`: Fourier transforms of windowed segments, densities, and the way back."""

from __future__ import annotations

import importlib
import operator
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import numpy as jnp
from ..arguments import common
from ..array import Array, check_arraylike
from ..dtypes import complex_of, real_part
from ..numpy.axes import axis_of
from .trends import detrend


class Segments(NamedTuple):
    """How a signal is cut: the length of a segment, how much of it the next one repeats, its transform's length."""

    length: int
    overlap: int
    transform: int

    @property
    def step(self) -> int:
        return self.length - self.overlap


def window_of(window: Any, length: int, dtype: Any) -> Array:
    """The window of that length: by SciPy's name for it (a name, or a tuple of a name and parameters), or an array.

    Raises: ValueError for an array of another length or rank.
    """
    if isinstance(window, (str, tuple)):
        values = importlib.import_module("scipy.signal").get_window(window, length)
        return jnp.asarray(values.astype(dtype))
    out = jnp.asarray(window)
    if out.ndim != 1:
        raise ValueError("window must be 1-D")
    if length and out.shape[0] != length:
        raise ValueError(f"window must have length of {length}")
    return out


def segments_of(nperseg: Any, noverlap: Any, nfft: Any, window: Any, n: int) -> Segments:
    """The numbers that a user gave, with defaults for a signal of length n. Raises ValueError where they do not fit."""
    if nperseg is not None and operator.index(nperseg) < 1:
        raise ValueError("nperseg must be a positive integer")
    if isinstance(window, (str, tuple)):
        length = 256 if nperseg is None else operator.index(nperseg)
        if length > n:
            warnings.warn(f"nperseg={length} is greater than input_length={n}, using nperseg={n}", stacklevel=4)
            length = n
    else:
        size = np.shape(window)
        if len(size) != 1:
            raise ValueError("window must be 1-D")
        if n < size[0]:
            raise ValueError("window is longer than input signal")
        if nperseg is not None and nperseg != size[0]:
            raise ValueError("value specified for nperseg is different from length of window")
        length = size[0]
    overlap = length // 2 if noverlap is None else operator.index(noverlap)
    transform = length if nfft is None else operator.index(nfft)
    return Segments(length, overlap, transform)


def extended_oddly(x: Array, n: int) -> Array:
    """With n more elements at both ends of the last axis, mirrored at the end points."""
    if n < 1:
        return x
    if n > x.shape[-1] - 1:
        raise ValueError(
            f"The extension length n ({n}) is too big. It must not exceed x.shape[axis]-1, which is {x.shape[-1] - 1}."
        )
    left = 2 * x[..., :1] - x[..., n:0:-1]
    right = 2 * x[..., -1:] - x[..., -2 : -(n + 2) : -1]
    return jnp.concatenate((left, x, right), axis=-1)


def padded_by(mode: str) -> Callable[[Array, int], Array]:
    return lambda x, n: jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(n, n)], mode)


BOUNDARIES: dict[str | None, Callable[[Array, int], Array]] = {
    "even": padded_by("reflect"),
    "odd": extended_oddly,
    "constant": padded_by("edge"),
    "zeros": padded_by("constant"),
    None: lambda x, n: x,
}


def filled(x: Array, n: int) -> Array:
    """With zeros at the end of the last axis, up to length n."""
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, n - x.shape[-1])]) if n > x.shape[-1] else x


def transforms(x: Array, window: Array, trend: Callable[[Any], Any], cut: Segments, onesided: bool) -> Array:
    """The transforms of the segments of the last axis: (..., segment, frequency)."""
    starts = np.arange(0, x.shape[-1] - cut.length + 1, cut.step)
    parts = x[..., starts[:, None] + np.arange(cut.length)]
    parts = window * trend(parts)
    return jnp.fft.rfft(parts.real, cut.transform) if onesided else jnp.fft.fft(parts, cut.transform)


def trend_of(kind: Any) -> Callable[[Any], Any]:
    """The function that takes a trend away, for what a user gave. Raises ValueError for what is none."""
    if isinstance(kind, str):
        return lambda x: detrend(x, type=kind)
    if callable(kind):
        return kind
    if kind:
        raise ValueError(f"Unsupported detrend type: {kind}")
    return lambda x: x


def scale_of(scaling: str, window: Array, fs: Any) -> Any:
    if scaling == "density":
        return 1.0 / (fs * (window * window).sum())
    if scaling == "spectrum":
        return 1.0 / window.sum() ** 2
    raise ValueError(f"Unknown scaling: {scaling}")


def outer_shape(x: Array, y: Array, axis: int) -> tuple[int, ...]:
    """The common shape of all axes but one. Raises ValueError."""
    if x.ndim != y.ndim:
        raise ValueError(f"two-arguments must have the same rank ({x.ndim} vs {y.ndim}).")
    try:
        return np.broadcast_shapes(*[(*z.shape[:axis], *z.shape[axis + 1 :]) for z in (x, y)])
    except ValueError:
        raise ValueError("x and y cannot be broadcast together.") from None


def spectra(
    x: Any,
    y: Any,
    fs: Any,
    window: Any,
    nperseg: Any,
    noverlap: Any,
    nfft: Any,
    trend: Any,
    onesided: bool,
    scaling: str,
    axis: int,
    *,
    density: bool,
    boundary: str | None = None,
    padded: bool = False,
) -> tuple[Any, Any, Any]:
    """Frequencies, times, and the segments' transforms; or, for a `density`, their products with the conjugate ones.

    Raises: ValueError for numbers, shapes or names that do not fit.
    """
    if boundary not in BOUNDARIES:
        raise ValueError(f"Unknown boundary option '{boundary}', must be one of: {list(BOUNDARIES)}")
    arrays = common("spectral_helper", *([x] if y is None else [x, y]))
    axis = axis_of(axis, arrays[0].ndim)
    dtype = complex_of(arrays[0].dtype)
    real = real_part(dtype)
    stack = outer_shape(arrays[0], arrays[-1], axis)
    cut = segments_of(nperseg, noverlap, nfft, window, arrays[0].shape[axis])
    if not all([z.size for z in arrays]):
        n = min([z.shape[axis] for z in arrays])
        shape = arrays[0].shape if y is None else (*stack[:axis], n, *stack[axis:])
        return jnp.zeros(shape, real), jnp.zeros(shape, real), jnp.zeros(shape, dtype)
    win = window_of(window, cut.length, arrays[0].dtype)
    if cut.transform < cut.length:
        raise ValueError("nfft must be greater than or equal to nperseg.")
    if cut.overlap >= cut.length:
        raise ValueError("noverlap must be less than nperseg.")
    longest = max([z.shape[axis] for z in arrays])
    arrays = [BOUNDARIES[boundary](filled(jnp.moveaxis(z, axis, -1), longest), cut.length // 2) for z in arrays]
    n = arrays[0].shape[-1]
    if padded:
        n += (-(n - cut.length) % cut.step) % cut.length
        arrays = [filled(z, n) for z in arrays]
    if onesided and arrays[0].dtype.kind == "c":
        warnings.warn("Input data is complex, switching to return_onesided=False", stacklevel=3)
        onesided = False
    scale = scale_of(scaling, win, fs)
    found = [transforms(z, win, trend_of(trend), cut, onesided) for z in arrays]
    if density:
        out = jnp.conjugate(found[0]) * found[-1] * scale
        if onesided:
            out = out.at[..., 1 : None if cut.transform % 2 else -1].multiply(2)
    else:
        out = found[0] * jnp.sqrt(scale)
    frequencies = jnp.fft.rfftfreq if onesided else jnp.fft.fftfreq
    time = jnp.arange(cut.length / 2, n - cut.length / 2 + 1, cut.step, dtype=real) / fs
    if boundary is not None:
        time = time - (cut.length / 2) / fs
    out = out.astype(dtype)
    out = out.real if density and y is None else out
    return frequencies(cut.transform, 1 / fs, dtype=real), time, jnp.moveaxis(jnp.swapaxes(out, -1, -2), -2, axis)


def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Any, Any, Any]:
    """Frequencies, times, and the transforms of windowed segments, frequencies along `axis` and times along a new last
    axis. Raises ValueError for what does not fit."""
    return spectra(
        x,
        None,
        fs,
        window,
        nperseg,
        noverlap,
        nfft,
        detrend,
        return_onesided,
        "spectrum",
        axis,
        density=False,
        boundary=boundary,
        padded=padded,
    )


def median_bias(n: int) -> float:
    """What the median of n periodograms is of their mean."""
    pairs = np.arange(2, n, 2)
    return float(1 + np.sum(1.0 / (pairs + 1) - 1.0 / pairs))


def csd(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """Frequencies, and the cross spectral density of x and y by Welch's method.

    Raises: ValueError for what does not fit.
    """
    how = (fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis)
    frequencies, _, out = spectra(x, y, *how, density=True)
    if y is not None:
        out = out + 0j
    if out.ndim < 2 or not out.size:
        return frequencies, out
    n = out.shape[-1]
    if n == 1:
        return frequencies, out[..., 0]
    if average == "mean":
        return frequencies, out.mean(axis=-1)
    if average != "median":
        raise ValueError(f'average must be "median" or "mean", got {average}')
    middle = jnp.median(out.real, axis=-1)
    if out.dtype.kind == "c":
        middle = middle + 1j * jnp.median(out.imag, axis=-1)
    return frequencies, middle / median_bias(n)


def welch(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """Frequencies, and the power spectral density by Welch's method. Raises ValueError for what does not fit."""
    how = (fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)
    frequencies, out = csd(x, None, *how)
    return frequencies, out.real


def added(parts: Array, step: int) -> Array:
    """The sum of segments (..., segment, element) that begin a step apart."""
    count, length = parts.shape[-2:]
    places = np.arange(count)[:, None] * step + np.arange(length)
    out = jnp.zeros((*parts.shape[:-2], step * (count - 1) + length), parts.dtype)
    return out.at[..., places].add(parts)


def istft(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Any, Any]:
    """Times, and the signal of which these are the transforms of windowed segments.

    Raises: ValueError for numbers, shapes or axes that do not fit.
    """
    check_arraylike("istft", Zxx)
    z = jnp.asarray(Zxx)
    if z.ndim < 2:
        raise ValueError("Input stft must be at least 2d!")
    along, over = axis_of(time_axis, z.ndim), axis_of(freq_axis, z.ndim)
    if along == over:
        raise ValueError("Must specify differing time and frequency axes!")
    z = jnp.moveaxis(z.astype(complex_of(z.dtype)), (along, over), (-2, -1))
    n = 2 * (z.shape[-1] - 1) if input_onesided else z.shape[-1]
    length = operator.index(nperseg or n)
    if length < 1:
        raise ValueError("nperseg must be a positive integer")
    transform = n + (input_onesided and length == n + 1) if nfft is None else operator.index(nfft)
    if transform < length:
        raise ValueError(f"FFT length ({transform}) must be longer than nperseg ({length}).")
    overlap = operator.index(noverlap or length // 2)
    if overlap >= length:
        raise ValueError("noverlap must be less than nperseg.")
    parts = (jnp.fft.irfft if input_onesided else jnp.fft.ifft)(z, nfft)[..., :length]
    win = window_of(window, length, parts.dtype)
    x = added(parts * win.sum() * win, length - overlap)
    norm = added(jnp.broadcast_to(win * win, (z.shape[-2], length)), length - overlap)
    if boundary:
        x, norm = (v[..., length // 2 : -(length // 2)] for v in (x, norm))
    x = x / jnp.where(norm > 1e-10, norm, 1.0)
    x = jnp.moveaxis(x, -1, along - (over < along)) if x.ndim > 1 else x
    return jnp.arange(x.shape[0], dtype=real_part(x.dtype)) / fs, x
