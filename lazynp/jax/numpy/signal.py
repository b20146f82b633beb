"""Convolution, padding, windows."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph.node import Node
from ...ops import elementwise as e
from ...ops.contraction import matmul
from ...ops.convolution import conv
from ...ops.elementwise import convert
from ...ops.indexing import take
from ...ops.joining import flip as flip_node
from ...ops.joining import pad as pad_node
from ...ops.joining import span
from ...ops.shape import reshape as reshape_node
from ..array import Array, as_node, cast_node, check_arraylike
from ..at_once import apply
from ..dtypes import requested
from ..explicit_indexing import explicit_split
from ..precision import check_precision, check_preferred
from ..splits import unclear
from ..spreading import keeps_split, state
from .axes import check_sizes, static_int
from .call import INEXACT, NUMERIC, named, promoted
from .creation import arange, asarray, astype, linspace, ones, weak_as
from .elementwise import scalar, table
from .joining import concatenate
from .reductions import max as max_
from .reductions import mean as mean_
from .reductions import min as min_
from .reductions import wide
from .rounding import round_
from .select import apply_along_axis
from .select import take as take_array
from .shape import broadcast_to, flip
from .statistics import median

cos, sqrt = table["cos"], table["sqrt"]
UNFOLDED = 1 << 22  # elements of patches up to which a convolution unfolds its input


def correlated(x: Node, kernel: Node, low: int, high: int) -> Node:
    """out[i] = Σ padded[i + j] kernel[j], with zeros before and behind x; x is at least as long as the kernel."""
    n, m = x.shape[0], kernel.shape[0]
    if n * m <= UNFOLDED:
        options = {"strides": (1,), "lhs_dilation": (1,), "rhs_dilation": (1,), "groups": 1, "batch_groups": 1}
        image, weights = reshape_node(x, shape=(1, 1, n)), reshape_node(kernel, shape=(1, 1, m))
        out = conv(image, weights, padding=((low, high),), **options)
        return reshape_node(out, shape=(out.shape[2],))
    # m results at a time: each block of 2 m - 1 elements times the kernel's band matrix
    size = n + low + high - m + 1
    blocks = -(-size // m)
    x = pad_node(x, [(low, (blocks + 1) * m - 1 - n - low)])
    places = np.arange(blocks)[:, None] * m + np.arange(2 * m - 1)[None, :]
    band = np.arange(2 * m - 1)[:, None] - np.arange(m)[None, :]
    inside = (band >= 0) & (band < m)
    rows = take(x, as_node(places), 0, "clip")
    weights = take(kernel, as_node(np.where(inside, band, 0)), 0, "clip")
    weights = e.where(as_node(inside), weights, scalar(0, kernel))
    out = matmul(rows, weights)
    return span(reshape_node(out, shape=(blocks * m,)), 0, 0, size)


def sliding(name: str, a: Any, v: Any, mode: str, preferred: Any) -> Any:
    """The sums of products of two vectors at every shift."""
    check_arraylike(name, a, v)
    if np.ndim(a) != 1 or np.ndim(v) != 1:
        raise ValueError(f"{name}() only support 1-dimensional inputs.")
    x, y = promoted(INEXACT if preferred is None else NUMERIC, a, v)
    if 0 in (*x.shape, *y.shape):
        raise ValueError(f"{name}: inputs cannot be empty, got shapes {x.shape} and {y.shape}.")
    if mode not in ("full", "same", "valid"):
        raise ValueError("mode must be one of ['full', 'same', 'valid']")
    if state.on and any([*explicit_split(x), *explicit_split(y)]):
        unclear("Please specify the output sharding via `out_sharding` parameter of `conv_general_dilated`")
    dtype = x.dtype if preferred is None else requested(preferred, name)
    check_preferred(x.dtype, None if preferred is None else dtype)
    weak = x.weak and preferred is None
    swapped = x.shape[0] < y.shape[0]
    m = min(x.shape[0], y.shape[0])
    low, high = {"full": (m - 1, m - 1), "same": (m // 2, m - m // 2 - 1), "valid": (0, 0)}[mode]

    def impl(x: Node, y: Node) -> Node:
        x, y = convert(x, wide(x.dtype)), convert(y, wide(y.dtype))
        if name == "correlate" and y.dtype.kind == "c":
            y = e.conjugate(y)
        long, short = (y, x) if swapped else (x, y)
        out = correlated(long, flip_node(short, (0,)) if name == "convolve" else short, low, high)
        return cast_node(flip_node(out, (0,)) if name == "correlate" and swapped else out, dtype, weak)

    return apply(impl, x, y)


def convolve(a: Any, v: Any, mode: str = "full", *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The convolution of two vectors."""
    check_precision(precision)
    return sliding("convolve", a, v, mode, preferred_element_type)


def correlate(a: Any, v: Any, mode: str = "valid", *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The cross-correlation of two vectors, the second conjugated."""
    check_precision(precision)
    return sliding("correlate", a, v, mode, preferred_element_type)


# Padding.

WRAPPING = ("edge", "reflect", "symmetric", "wrap")
STATISTICS: dict[str, Callable[..., Any]] = {"maximum": max_, "minimum": min_, "mean": mean_, "median": median}
OPTIONS = {
    "constant": {"constant_values"},
    "linear_ramp": {"end_values"},
    "maximum": {"stat_length"},
    "mean": {"stat_length"},
    "median": {"stat_length"},
    "minimum": {"stat_length"},
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
}


def per_side(x: Any, ndim: int, what: str) -> list[tuple[Any, Any]]:
    """A value, a pair, or a pair for each axis, as a pair for each axis."""
    if isinstance(x, Array) and x.ndim == 0:
        return [(x, x)] * ndim
    given = np.asarray(x, dtype=object) if not isinstance(x, Array) else np.asarray(x)
    if given.ndim > 2 or given.size and given.ndim == 2 and given.shape[-1] not in (1, 2):
        raise ValueError(f"jnp.pad: {what} with shape {given.shape} unsupported")
    try:
        wide_ = np.broadcast_to(given.reshape(-1, 1) if given.ndim == 2 and given.shape[-1] == 1 else given, (ndim, 2))
    except ValueError:
        raise ValueError(
            f"jnp.pad: {what} with nd={ndim} has unsupported shape {given.shape}. Valid shapes are ({ndim}, 2), "
            "(1, 2), (2,), (1,), or ()."
        ) from None
    return [tuple(row) for row in wide_]


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """An array with elements added at the ends of its axes. Raises ValueError, NotImplementedError for a bad mode."""
    check_arraylike("pad", array)
    x = asarray(array)
    try:
        sides = [(operator.index(a), operator.index(b)) for a, b in per_side(pad_width, x.ndim, "pad_width")]
    except TypeError:
        raise TypeError("`pad_width` must be of integral type.") from None
    if not callable(mode) and mode not in (*WRAPPING, *STATISTICS, "constant", "linear_ramp", "empty"):
        raise NotImplementedError(f"Unimplemented padding mode '{mode}' for np.pad.")
    allowed = kwargs.keys() if callable(mode) else OPTIONS.get(mode, set())
    if kwargs.keys() - allowed:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {kwargs.keys() - allowed}")
    if any([n < 0 for pair in sides for n in pair]):
        raise ValueError("index can't contain negative values")
    if callable(mode):
        return pad_by(x, sides, mode, kwargs)
    if mode in ("constant", "empty"):
        return weak_as(x, pad_constant(x, sides, per_side(kwargs.get("constant_values", 0), x.ndim, "constant_values")))
    if mode == "linear_ramp":
        return weak_as(x, pad_ramp(x, sides, per_side(kwargs.get("end_values", 0), x.ndim, "end_values")))
    if mode in STATISTICS:
        return weak_as(x, pad_statistic(x, sides, mode, kwargs.get("stat_length")))
    odd = kwargs.get("reflect_type", "even") == "odd"
    for axis, pair in enumerate(sides):
        if pair == (0, 0):
            continue
        if x.shape[axis] == 0:
            raise ValueError(f"Cannot apply '{mode}' padding to empty axis")
        x = pad_odd(x, axis, pair, mode) if odd else take_array(x, source(x.shape[axis], pair, mode), axis, mode="clip")
    return x


def source(n: int, pair: tuple[int, int], mode: str) -> np.ndarray:
    """Which element each place of a padded axis holds."""
    numpy_pad: Any = np.pad
    return numpy_pad(np.arange(n), pair, mode=mode)


def pad_odd(x: Array, axis: int, pair: tuple[int, int], mode: str) -> Array:
    """Reflected through the edge values: each further period is a step up or down."""
    n = x.shape[axis]
    shape = [1] * x.ndim
    if n == 1:
        return take_array(x, source(1, pair, "edge"), axis, mode="clip")
    period = 2 * (n - 1) if mode == "reflect" else 2 * n
    at = np.arange(-pair[0], n + pair[1])
    even = take_array(x, source(n, pair, mode), axis, mode="clip")
    shape[axis] = len(at)
    turn = np.mod(at, period)
    back = turn >= n
    cycles = np.floor_divide(at, period)
    first, last = (take_array(x, np.array([i]), axis, mode="clip") for i in (0, n - 1))
    signs, steps = asarray(np.where(back, -1, 1).reshape(shape)), asarray(cycles.reshape(shape))
    climb = 2 * (last - first)
    return (
        steps.astype(x.dtype) * climb
        + signs.astype(x.dtype) * even
        + asarray(back.reshape(shape)).astype(x.dtype) * 2 * last
    )


def pad_constant(x: Array, sides: list[tuple[int, int]], values: list[tuple[Any, Any]]) -> Array:
    flat = [v for pair in values for v in pair]
    if not any([isinstance(v, Array) for v in flat]) and len(set(flat)) == 1:
        value = astype(asarray(flat[0]), x.dtype)
        out = apply(lambda x, v: pad_node(x, sides, v), x.node, value.node)
        if state.on:
            keeps_split(x.node, out.node, "padding")
        return out
    for axis, (pair, (low, high)) in enumerate(zip(sides, values)):
        parts = [edge_of(x, axis, pair[0], low), x, edge_of(x, axis, pair[1], high)]
        x = concatenate(parts, axis)
    return x


def edge_of(x: Array, axis: int, count: int, value: Any) -> Any:
    shape = tuple([count if i == axis else n for i, n in enumerate(x.shape)])
    return broadcast_to(astype(asarray(value), x.dtype), shape)


def pad_ramp(x: Array, sides: list[tuple[int, int]], values: list[tuple[Any, Any]]) -> Array:
    for axis, ((low, high), (first, last)) in enumerate(zip(sides, values)):
        key = [slice(None)] * x.ndim
        parts = [x]
        for count, end, at, front in ((low, first, 0, True), (high, last, -1, False)):
            key[axis] = slice(at, None) if at else slice(0, 1)
            edge = x[tuple(key)].squeeze(axis)
            ramp = linspace(astype(asarray(end), x.dtype), edge, count, endpoint=False, dtype=x.dtype, axis=axis)
            parts = [ramp, *parts] if front else [*parts, flip(ramp, axis)]
        x = concatenate(parts, axis)
    return x


def pad_statistic(x: Array, sides: list[tuple[int, int]], mode: str, stat_length: Any) -> Array:
    lengths = per_side(stat_length, x.ndim, "stat_length")
    for axis, (pair, length) in enumerate(zip(sides, lengths)):
        n = x.shape[axis]
        if n == 0:
            raise ValueError(f"Cannot apply '{mode}' padding to empty axis")
        if any([m == 0 for m in length]):
            raise ValueError(f"stat_length of 0 yields no value for padding mode '{mode}'")
        key = [slice(None)] * x.ndim
        parts = []
        for front, count, m in ((True, pair[0], length[0]), (False, pair[1], length[1])):
            m = n if m is None else min(int(m), n)
            key[axis] = slice(0, m) if front else slice(n - m, n)
            value = STATISTICS[mode](x[tuple(key)], axis=axis, keepdims=True)
            if x.dtype.kind in "iu" and value.dtype != x.dtype:
                value = round_(value)
            shape = tuple([count if i == axis else k for i, k in enumerate(x.shape)])
            parts.append(broadcast_to(astype(value, x.dtype), shape))
        x = concatenate([parts[0], x, parts[1]], axis)
    return x


def pad_by(x: Array, sides: list[tuple[int, int]], f: Callable[..., Any], kwargs: Any) -> Array:
    """By a function of (vector, widths, axis, options) that gives the vector anew."""
    x = pad_constant(x, sides, [(0, 0)] * x.ndim)
    for axis in range(x.ndim):
        x = apply_along_axis(f, axis, x, sides[axis], axis, kwargs)
    return x


# Windows.


def window(name: str, formula: Callable[..., Any]) -> Callable[..., Any]:
    def call(M: int) -> Any:
        m = int(M) if isinstance(M, (float, str)) else static_int(M)  # JAX asks only whether it is known
        if m <= 1:
            check_sizes("broadcast_in_dim", (m,))
            return ones(m)
        return formula(astype(arange(m), float), m)

    return named(call, name)


hamming = window("hamming", lambda n, m: 0.54 - 0.46 * cos(2 * np.pi * n / (m - 1)))
hanning = window("hanning", lambda n, m: 0.5 * (1 - cos(2 * np.pi * n / (m - 1))))
bartlett = window("bartlett", lambda n, m: 1 - abs(2 * n + 1 - m) / (m - 1))
blackman = window(
    "blackman",
    lambda n, m: 0.42 - 0.5 * cos(2 * np.pi * n / (m - 1)) + 0.08 * cos(4 * np.pi * n / (m - 1)),
)


def kaiser(M: int, beta: Any) -> Any:
    """The Kaiser window."""
    m = int(M)
    if m <= 1:
        check_sizes("broadcast_in_dim", (m,))
        return ones(m)
    n = astype(arange(m), float)
    alpha = 0.5 * (m - 1)
    return table["i0"](beta * sqrt(1 - ((n - alpha) / alpha) ** 2)) / table["i0"](beta)
