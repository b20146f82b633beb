"""`jax.numpy.fft`: discrete Fourier transforms."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...graph.node import Node
from ...ops import elementwise as e
from ...ops import fft as f
from ...ops.elementwise import convert
from ..array import Array, as_node, check_arraylike, wrap_value
from ..at_once import apply
from ..dtypes import FLOAT32, KIND_OF, complex_of, float_dtype, inexact, requested
from .axes import axis_of
from .call import named
from .creation import asarray, zeros
from .shape import roll, shape

NORMS = {None: "backward", "backward": "backward", "ortho": "ortho", "forward": "forward"}
FLIP = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def norm_of(name: str, norm: Any) -> str:
    if norm not in NORMS:
        raise ValueError(f'jax.numpy.fft.{name} only supports norm="backward","ortho" or "forward", got norm={norm}')
    return NORMS[norm]


def prepared(name: str, a: Any, real_only: bool = False) -> Node:
    """The argument as floats of at least single precision; complex unless `real_only`."""
    check_arraylike(f"jnp.fft.{name}", a)
    x = as_node(a)
    if real_only and x.dtype.kind == "c":
        raise ValueError(f"only real valued inputs supported for {name}")
    dtype = inexact(x.dtype)
    if KIND_OF[dtype] == "f" and dtype.itemsize < 4:
        if real_only:
            raise ValueError(f"RFFT input must be float32 or float64, got {dtype}")
        dtype = FLOAT32
    return convert(x, dtype)


def length(name: str, n: Any, default: int) -> int:
    if n is None:
        return default
    count = operator.index(n)
    if count < 1:
        raise ValueError(f"Invalid number of data points ({count}) specified in jnp.fft.{name}.")
    return count


def nothing(x: Node, shape: tuple[int, ...], real: bool) -> Any:
    """What a transform makes of an array without elements."""
    dtype = complex_of(x.dtype)
    return zeros(shape, np.zeros((), dtype).real.dtype if real else dtype)


def one_axis(name: str, op: Any, real_only: bool = False, half: bool = False) -> Callable[..., Any]:
    """A transform along one axis. `half`: the input holds half of a symmetric spectrum."""

    def call(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
        x = prepared(name, a, real_only)
        if isinstance(axis, (list, tuple)):
            raise ValueError(
                f"jax.numpy.fft.{name} does not support multiple axes. Please use jax.numpy.fft.{name}n. Got axis = "
                f"{axis!r}."
            )
        if x.ndim == 0:
            raise ValueError(f"jax.numpy.fft.{name} requires an array of at least one dimension")
        at = axis_of(axis, x.ndim)
        own = x.shape[at]
        count = length(name, n, 2 * (own - 1) if half else own)
        how = norm_of(name, norm)
        if n is None and not (own and count):
            return nothing(x, (*x.shape[:at], 0, *x.shape[at + 1 :]), half)

        def impl(x: Node) -> Node:
            if not real_only:
                x = convert(x, complex_of(x.dtype))
            return op(x, axis=at, norm=how, n=count)

        return apply(impl, x)

    return named(call, name)


fft, ifft = one_axis("fft", f.fft), one_axis("ifft", f.ifft)
rfft, irfft = one_axis("rfft", f.rfft, real_only=True), one_axis("irfft", f.irfft, half=True)


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The transform of a Hermitian-symmetric signal, which is real."""
    x = prepared("hfft", a)
    at = axis_of(axis, x.ndim)
    count = length("hfft", n, (x.shape[at] - 1) * 2)
    how = FLIP[norm_of("hfft", norm)]
    if n is None and x.shape[at] < 2:
        return nothing(x, (*x.shape[:at], 0, *x.shape[at + 1 :]), True)
    return apply(lambda x: f.irfft(e.conjugate(convert(x, complex_of(x.dtype))), axis=at, norm=how, n=count), x)


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of hfft."""
    a = asarray(a)
    at = axis_of(axis, a.ndim)
    x = prepared("ihfft", a, real_only=True)
    count = length("ihfft", n, x.shape[at])
    how = FLIP[norm_of("ihfft", norm)]
    return apply(lambda x: e.conjugate(f.rfft(x, axis=at, norm=how, n=count)), x)


def axes_and_sizes(name: str, x: Node, s: Any, axes: Any, half: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes to transform and the lengths along them."""
    if axes is not None and len(set(axes)) != len(axes):
        raise ValueError(f"jax.numpy.fft.{name} does not support repeated axes. Got axes {axes}.")
    said = axes is not None
    if axes is None:
        count = x.ndim if s is None else len(s)
        axes = tuple(range(x.ndim - count, x.ndim))
    at = tuple([axis_of(a, x.ndim) for a in axes])
    if len(set(at)) != len(at) and said:
        raise TypeError(f"transpose permutation isn't a permutation of operand dimensions, got axes {at}.")
    if s is not None and len(s) != len(at):
        raise ValueError("Shape and axes have different lengths.")
    if s is not None and any([operator.index(n) < 0 for n in s]):
        raise ValueError("Shape should be non-negative.")
    if s is not None and len(s) > x.ndim:
        raise ValueError(
            f"FFT input shape {x.shape} must have at least as many input dimensions as fft_lengths {tuple(s)}."
        )
    sizes = [x.shape[a] for a in at] if s is None else [operator.index(n) for n in s]
    if half and s is None and sizes:
        sizes[-1] = 2 * (sizes[-1] - 1)
    return at, tuple(sizes)


def many_axes(name: str, kind: str, default: Sequence[int] | None = None) -> Callable[..., Any]:
    """A transform along several axes. kind: "fft", "ifft", "rfft", "irfft"."""

    def call(a: Any, s: Any = None, axes: Any = default, norm: str | None = None) -> Any:
        x = prepared(name, a, kind == "rfft")
        if default is not None and (axes is None or len(axes) != 2):
            raise ValueError(f"jax.numpy.fft.{name} only supports 2 axes. Got axes = {axes!r}.")
        at, sizes = axes_and_sizes(name, x, s, axes, kind == "irfft")
        how = norm_of(name, norm)
        if s is None and not all(x.shape[a] for a in at):
            return nothing(x, x.shape, kind == "irfft")
        if kind == "irfft" and s is None and at and x.shape[at[-1]] == 1:
            return nothing(x, tuple([0 if i == at[-1] else m for i, m in enumerate(x.shape)]), True)
        return apply(lambda x: transformed(x, kind, at, sizes, how), x)

    return named(call, name)


def transformed(x: Node, kind: str, axes: Sequence[int], sizes: Sequence[int], norm: str) -> Node:
    if not axes:
        return x if kind == "rfft" else convert(x, complex_of(x.dtype))
    if kind == "rfft":
        x = f.rfft(x, axis=axes[-1], norm=norm, n=sizes[-1])
        return f.fftn(x, sizes[:-1], axes[:-1], norm)
    x = convert(x, complex_of(x.dtype))
    if kind == "irfft":
        x = f.fftn(x, sizes[:-1], axes[:-1], norm, inverse=True)
        return f.irfft(x, axis=axes[-1], norm=norm, n=sizes[-1])
    return f.fftn(x, sizes, axes, norm, inverse=kind == "ifft")


fftn, ifftn = many_axes("fftn", "fft"), many_axes("ifftn", "ifft")
rfftn, irfftn = many_axes("rfftn", "rfft"), many_axes("irfftn", "irfft")
fft2, ifft2 = many_axes("fft2", "fft", (-2, -1)), many_axes("ifft2", "ifft", (-2, -1))
rfft2, irfft2 = many_axes("rfft2", "rfft", (-2, -1)), many_axes("irfft2", "irfft", (-2, -1))


def frequencies(name: str) -> Callable[..., Any]:
    host = getattr(np.fft, name)

    def call(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
        if isinstance(n, (list, tuple)):
            raise ValueError(f"The n argument of jax.numpy.fft.{name} only takes an int. Got n = {list(n)}.")
        if isinstance(d, (list, tuple)):
            raise ValueError(f"The d argument of jax.numpy.fft.{name} only takes a single value. Got d = {list(d)}.")
        to = float_dtype() if dtype is None else requested(dtype, name)
        count = int(n) if type(n) is float and n == int(n) else operator.index(n)
        if count <= 0:  # one frequency of no points has no value
            return wrap_value(np.full(max(count // 2 + 1, 0) if name == "rfftfreq" else 0, np.nan, to))
        if isinstance(d, Array):
            return wrap_value((host(count, 1.0 / count) / 1).astype(to)) / (d * count)
        return wrap_value(host(count, d).astype(to))

    return named(call, name)


fftfreq, rfftfreq = frequencies("fftfreq"), frequencies("rfftfreq")


def shifted(name: str, sign: int) -> Callable[..., Any]:
    def call(x: Any, axes: Any = None) -> Any:
        check_arraylike(name, x)
        full = shape(x)
        given = range(len(full)) if axes is None else axes if isinstance(axes, (list, tuple)) else (axes,)
        at = tuple([axis_of(a, len(full)) for a in given])
        steps = [full[a] // 2 if sign > 0 else -(full[a] // 2) for a in at]
        return roll(x, steps, at)

    return named(call, name)


fftshift, ifftshift = shifted("fftshift", 1), shifted("ifftshift", -1)
