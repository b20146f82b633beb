"""`jax.scipy.fft`: discrete cosine transforms of type 2."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import lax
from .. import numpy as jnp
from ..arguments import arraylike, inexact

NORMS = (None, "backward", "ortho")


def checked(name: str, x: Any, kind: int, norm: str | None) -> Any:
    """The array. Raises NotImplementedError for other types than 2, ValueError for another norm."""
    x = arraylike(name, x)
    if kind != 2:
        raise NotImplementedError("Only DCT type 2 is implemented.")
    if norm not in NORMS:
        raise ValueError(f"jax.scipy.fft.{name}: norm={norm!r} is not implemented")
    return x


def place(axis: int, ndim: int) -> int:
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis % ndim


def resized(x: Any, n: int | None) -> Any:
    """The last axis with n elements: cut, or filled up with zeros."""
    if n is None or n == x.shape[-1]:
        return x
    if n < x.shape[-1]:
        return x[..., :n]
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, n - x.shape[-1])])


def quarter_turns(n: int, dtype: Any) -> np.ndarray:
    """exp(-i pi k / 2n)."""
    return np.exp(-0.5j * np.pi * np.arange(n) / n).astype(dtype)


def ortho_scale(n: int, dtype: Any) -> np.ndarray:
    """What an orthonormal transform's result is divided by."""
    return np.sqrt(np.r_[4.0, np.full(max(n - 1, 0), 2.0)][:n] * n).astype(dtype)


def forward(x: Any, norm: str | None) -> Any:
    """Along the last axis, by one Fourier transform of the reordered values (Makhoul 1980)."""
    n = x.shape[-1]
    (x,) = inexact("dct", x)
    mixed = jnp.concatenate([x[..., ::2], jnp.flip(x[..., 1::2], axis=-1)], axis=-1)
    spectrum = jnp.fft.fft(mixed, axis=-1)
    out = 2 * (spectrum * quarter_turns(n, spectrum.dtype)).real
    return out / ortho_scale(n, out.dtype) if norm == "ortho" else out


def backward(x: Any, norm: str | None) -> Any:
    """The inverse of `forward`."""
    n = x.shape[-1]
    (x,) = inexact("idct", x)
    scale = ortho_scale(n, x.dtype)
    x = x / scale if norm == "ortho" else x / (scale * scale)
    turns = quarter_turns(n, np.result_type(x.dtype, np.complex64))
    mixed = jnp.fft.ifft(x * (2 * n / turns).astype(turns.dtype), axis=-1).real
    half = (n + 1) // 2
    order = np.empty(n, int)
    order[::2], order[1::2] = np.arange(half), np.arange(half, n)[::-1]
    return mixed[..., order]


def along(transform: Callable[..., Any], x: Any, n: int | None, axis: int, norm: str | None) -> Any:
    if x.dtype.kind == "c":
        return lax.complex(along(transform, x.real, n, axis, norm), along(transform, x.imag, n, axis, norm))
    axis = place(axis, x.ndim)
    return jnp.moveaxis(transform(resized(jnp.moveaxis(x, axis, -1), n), norm), -1, axis)


def along_all(
    transform: Callable[..., Any], x: Any, s: Sequence[int] | int | None, axes: Sequence[int] | None, norm: str | None
) -> Any:
    sizes: Any = None if s is None else list(s) if isinstance(s, Sequence) else [operator.index(s)]
    if sizes is not None and len(sizes) > x.ndim:
        raise ValueError(f"s must have at most x.ndim ({x.ndim}) elements, got {len(sizes)}")
    if axes is None:
        axes = range(0 if sizes is None else x.ndim - len(sizes), x.ndim)
    for i, axis in enumerate([place(a, x.ndim) for a in axes]):
        x = along(transform, x, None if sizes is None else sizes[i], axis, norm)
    return x


def dct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The discrete cosine transform along an axis.

    Args:
        n: the length to which the axis is cut or filled up.
        norm: None or "backward": without a factor; "ortho": orthonormal.

    Raises: NotImplementedError for other types than 2, ValueError for another norm.
    """
    return along(forward, checked("dct", x, type, norm), n, axis, norm)


def idct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `dct`."""
    return along(backward, checked("idct", x, type, norm), n, axis, norm)


def dctn(x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The discrete cosine transform along several axes, all by default; s: their lengths."""
    return along_all(forward, checked("dctn", x, type, norm), s, axes, norm)


def idctn(x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The inverse of `dctn`."""
    return along_all(backward, checked("idctn", x, type, norm), s, axes, norm)
