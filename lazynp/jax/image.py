"""`jax.image`: images in other sizes, moved and scaled: for each axis a product with a matrix of weights."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import lax
from . import numpy as jnp
from .array import check_arraylike
from .numpy.axes import axis_of, shape_of

NEGLIGIBLE = 1000.0 * float(np.finfo(np.float32).eps)


class ResizeMethod(enum.Enum):
    """How the pixels between pixels are found."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of a name such as "bilinear". Raises ValueError for another."""
        found = NAMES.get(s)
        if found is None:
            raise ValueError(f'Unknown resize method "{s}"')
        return found


NAMES = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    **dict.fromkeys(("cubic-pytorch", "bicubic-pytorch"), ResizeMethod.CUBIC_PYTORCH),
    "area": ResizeMethod.AREA,
}


def triangle(x: Any) -> Any:
    return jnp.maximum(0, 1 - x)


def lanczos(radius: float) -> Callable[[Any], Any]:
    def weigh(x: Any) -> Any:
        far = jnp.where(x > 1e-3, x, 1)
        out = radius * jnp.sin(np.pi * far) * jnp.sin(np.pi * far / radius) / (np.pi**2 * far**2)
        return jnp.where(x > radius, 0, jnp.where(x > 1e-3, out, 1))

    return weigh


def cubic(a: float) -> Callable[[Any], Any]:
    """Keys' kernel with that slope at 1."""

    def weigh(x: Any) -> Any:
        inner = ((a + 2) * x - (a + 3)) * x * x + 1
        outer = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return jnp.where(x >= 2, 0, jnp.where(x >= 1, outer, inner))

    return weigh


KERNELS: dict[ResizeMethod, Callable[[Any], Any]] = {
    ResizeMethod.LINEAR: triangle,
    ResizeMethod.LANCZOS3: lanczos(3.0),
    ResizeMethod.LANCZOS5: lanczos(5.0),
    ResizeMethod.CUBIC: cubic(-0.5),
    ResizeMethod.CUBIC_PYTORCH: cubic(-0.75),
}


def overlaps(places: Any, m: int, width: Any, dtype: Any) -> Any:
    """How much of each pixel lies under each new one, whose left edges these are."""
    first = jnp.arange(m, dtype=dtype)[:, None]
    return jnp.maximum(0, jnp.minimum(places + width, first + 1) - jnp.maximum(places, first))


def weights(m: int, n: int, scale: Any, translation: Any, method: ResizeMethod, antialias: bool, repeat: bool) -> Any:
    """The matrix (m, n) that resamples an axis of m pixels to one of n. `repeat`: pixels outside are as the edge's."""
    dtype = jnp.result_type(scale, translation)
    step = 1.0 / scale
    places = (jnp.arange(n, dtype=dtype) + 0.5) * step - translation * step - 0.5
    beyond = 2 if repeat else 0
    if method == ResizeMethod.AREA:
        out = overlaps(jnp.arange(n, dtype=dtype) * step - translation * step, m, step, dtype)
    else:
        own = jnp.arange(-beyond, m + beyond, dtype=dtype)
        wide = jnp.maximum(step, 1.0) if antialias else 1.0
        out = KERNELS[method](jnp.abs(places - own[:, None]) / wide)
    if repeat:
        own_pixel = np.clip(np.arange(-beyond, m + beyond), 0, m - 1)
        out = (own_pixel == np.arange(m)[:, None]).astype(dtype) @ out
    total = out.sum(0, keepdims=True)
    out = jnp.where(jnp.abs(total) > NEGLIGIBLE, out / jnp.where(total != 0, total, 1), 0)
    return out if repeat else jnp.where((places >= -0.5) & (places <= m - 0.5), out, 0)


def resampled(
    x: Any,
    shape: Sequence[int],
    dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: Any,
    antialias: bool,
    how: Any,
) -> Any:
    """Along these axes."""
    repeat = method == ResizeMethod.CUBIC_PYTORCH and not antialias
    operands: list[Any] = []
    out = list(range(x.ndim))
    for i, d in enumerate(dims):
        matrix = weights(x.shape[d], shape[d], scale[i], translation[i], method, antialias, repeat).astype(x.dtype)
        operands += [matrix, [d, x.ndim + i]]
        out[d] = x.ndim + i
    return jnp.einsum(x, list(range(x.ndim)), *operands, out, precision=how) if operands else x


def method_of(method: str | ResizeMethod, antialias: bool) -> ResizeMethod:
    found = ResizeMethod.from_string(method) if isinstance(method, str) else method
    return ResizeMethod.CUBIC if found == ResizeMethod.CUBIC_PYTORCH and antialias else found


def floating(image: Any) -> Any:
    """The image in a floating dtype."""
    x = jnp.asarray(image)
    return x if x.dtype.kind in "fcV" else x.astype(float)


def scale_and_translate(
    image: Any,
    shape: Any,
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Any:
    """An image of that shape, of which pixel p along an axis shows what was at (p - translation) / scale.

    Args:
        spatial_dims: the axes; scale and translation have an element for each of them.
        antialias: whether what becomes smaller is smoothed.

    Raises: ValueError for a shape that does not fit, an axis that x does not have, or the method NEAREST; TypeError for
    a scale or translation that is a scalar, AssertionError, as JAX does, for one of another length.
    """
    check_arraylike("scale_and_translate", image)
    sizes = shape_of(shape)
    if len(sizes) != np.ndim(image):
        raise ValueError(
            f"shape must have length equal to the number of dimensions of x;  {sizes} vs {np.shape(image)}"
        )
    found = method_of(method, False)
    if found == ResizeMethod.NEAREST:
        raise ValueError("Nearest neighbor resampling is not currently supported for scale_and_translate.")
    found = method_of(found, antialias)
    dtype = jnp.result_type(scale, translation)
    s, t = (jnp.asarray(v, None if dtype.kind == "f" else float) for v in (scale, translation))
    x = floating(image)
    dims = [axis_of(d, x.ndim) for d in spatial_dims]
    if len(dims) != len(s) or len(dims) != len(t):
        raise AssertionError(f"scale and translation must have an element for each of {len(dims)} spatial dimensions")
    return resampled(x, sizes, dims, s, t, found, antialias, precision)


def resize(
    image: Any,
    shape: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Any:
    """The image in another size; axes whose length stays are left alone. The dtype is floating, but for NEAREST, which
    keeps it.

    Raises: ValueError for a shape of another length, or an unknown method.
    """
    x, sizes = jnp.asarray(image), shape_of(shape)
    if len(sizes) != x.ndim:
        raise ValueError(f"shape must have length equal to the number of dimensions of x;  {sizes} vs {x.shape}")
    found = method_of(method, antialias)
    dims = [i for i, (m, n) in enumerate(zip(x.shape, sizes)) if m != n]
    if found == ResizeMethod.NEAREST:
        for d in dims:
            m, n = x.shape[d], sizes[d]
            nearest = np.floor((np.arange(n, dtype=np.float32) + np.float32(0.5)) * np.float32(m) / np.float32(n))
            x = jnp.take(x, nearest.astype(np.int32), axis=d)
        return x
    scale = [sizes[d] / x.shape[d] if sizes[d] else 1.0 for d in dims]
    return resampled(floating(x), sizes, dims, scale, [0.0] * len(dims), found, antialias, precision)
