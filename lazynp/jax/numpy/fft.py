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


def norm_of(norm: Any) -> str:
    if norm not in NORMS:
        raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')
    return NORMS[norm]


def given(name: str, a: Any) -> Node:
    """The argument as it came. Raises TypeError for what is no array."""
    check_arraylike(f"jnp.fft.{name}", a)
    return as_node(a)


def prepared(name: str, x: Node, real_only: bool = False) -> Node:
    """The argument as floats of at least single precision; complex unless `real_only`."""
    if real_only and x.dtype.kind == "c":
        raise ValueError(f"only real valued inputs supported for {name}")
    dtype = inexact(x.dtype)
    if KIND_OF[dtype] == "f" and dtype.itemsize < 4:
        if real_only:
            raise ValueError(f"RFFT input must be float32 or float64, got {dtype}")
        dtype = FLOAT32
    return convert(x, dtype)


def lengths(s: Any) -> tuple[int, ...]:
    """The lengths asked for. Raises TypeError for what are no integers, ValueError for less than 1."""
    out = tuple(map(operator.index, s))
    if any([n < 1 for n in out]):
        raise ValueError("Shape should be positive.")
    return out


def check_axis(name: str, axis: Any) -> None:
    """Raise ValueError for several axes where there is to be one."""
    if isinstance(axis, (list, tuple)):
        raise ValueError(
            f"jax.numpy.fft.{name} does not support multiple axes. Please use jax.numpy.fft.{name}n. Got axis = "
            f"{axis!r}."
        )


def nothing(x: Node, shape: tuple[int, ...], real: bool) -> Any:
    """What a transform makes of an array without elements."""
    dtype = complex_of(x.dtype)
    return zeros(shape, np.zeros((), dtype).real.dtype if real else dtype)


def one_axis(name: str, op: Any, real_only: bool = False, half: bool = False) -> Callable[..., Any]:
    """A transform along one axis. `half`: the input holds half of a symmetric spectrum."""

    def call(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
        check_axis(name, axis)
        if axis is None:
            return many_axes(name, name)(a, None if n is None else (n,), None, norm)
        x = given(name, a)
        wanted = None if n is None else lengths((n,))[0]
        at = axis_of(axis, x.ndim)
        own = x.shape[at]
        count = wanted if wanted is not None else 2 * (own - 1) if half else own
        x = prepared(name, x, real_only)
        how = norm_of(norm)
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
    x = given("hfft", a)
    check_axis("hfft", axis)
    at = axis_of(axis, x.ndim)
    count = (x.shape[at] - 1) * 2 if n is None else lengths((n,))[0]
    x = prepared("hfft", x)
    how = FLIP[norm_of(norm)]
    if n is None and x.shape[at] < 2:
        return nothing(x, (*x.shape[:at], 0, *x.shape[at + 1 :]), True)
    return apply(lambda x: f.irfft(e.conjugate(convert(x, complex_of(x.dtype))), axis=at, norm=how, n=count), x)


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of hfft."""
    check_axis("ihfft", axis)
    x = asarray(a).node
    at = axis_of(axis, x.ndim)
    count = x.shape[at] if n is None else lengths((n,))[0]
    x = prepared("ihfft", x, real_only=True)
    how = FLIP[norm_of(norm)]
    return apply(lambda x: e.conjugate(f.rfft(x, axis=at, norm=how, n=count)), x)


def axes_and_sizes(name: str, x: Node, s: Any, axes: Any, half: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes to transform and the lengths along them."""
    s = None if s is None else lengths(s)
    if s is not None and axes is not None and len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    if axes is not None and len(set(axes)) != len(axes):
        raise ValueError(f"jax.numpy.fft.{name} does not support repeated axes. Got axes {axes}.")
    said = axes is not None
    if axes is None:
        count = x.ndim if s is None else len(s)
        axes = tuple(range(x.ndim - count, x.ndim))
    at = tuple([axis_of(a, x.ndim) for a in axes])
    if len(set(at)) != len(at) and said:
        raise TypeError(f"transpose permutation isn't a permutation of operand dimensions, got axes {at}.")
    if s is not None and len(s) > x.ndim:
        raise ValueError(
            f"FFT input shape {x.shape} must have at least as many input dimensions as fft_lengths {tuple(s)}."
        )
    sizes = [x.shape[a] for a in at] if s is None else list(s)
    if half and s is None and sizes:
        sizes[-1] = 2 * (sizes[-1] - 1)
    return at, tuple(sizes)


def many_axes(name: str, kind: str, default: Sequence[int] | None = None) -> Callable[..., Any]:
    """A transform along several axes. kind: "fft", "ifft", "rfft", "irfft"."""

    def call(a: Any, s: Any = None, axes: Any = default, norm: str | None = None) -> Any:
        if default is not None and len(axes) != 2:
            raise ValueError(f"jax.numpy.fft.{name} only supports 2 axes. Got axes = {axes!r}.")
        x = given(name, a)
        at, sizes = axes_and_sizes(name, x, s, axes, kind == "irfft")
        x = prepared(name, x, kind == "rfft")
        how = norm_of(norm)
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
