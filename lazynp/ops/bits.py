"""Bits: reinterpretation, counting, rounding to fewer bits, the high half of a product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import MAP, VIEW, Op
from .elementwise import (
    add,
    bitwise_and,
    bitwise_count,
    bitwise_or,
    bitwise_xor,
    convert,
    less,
    multiply,
    right_shift,
    subtract,
    where,
)
from .family import map_batch
from .promotion import Shape, is_inexact
from .shape import Axes, to_front

BELOW_A_BYTE = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2, "int1": 1, "uint1": 1}
"""Bits of dtypes of which NumPy keeps one element a byte."""


def width(dtype: np.dtype[Any]) -> int:
    """Bits of an element."""
    return BELOW_A_BYTE.get(dtype.name, 8 * dtype.itemsize)


def bitcast_shape(shape: Shape, source: np.dtype[Any], target: np.dtype[Any]) -> Shape:
    """An axis of the parts of an element comes last, or goes."""
    a, b = width(source), width(target)
    if a == b:
        return shape
    if a > b:
        return (*shape, a // b)
    if not shape or shape[-1] * a != b:
        raise TypeError(
            f"bitcast_convert_type from {source} to {target} needs a last axis of length {b // a}, not shape {shape}"
        )
    return shape[:-1]


def bitcast_abstract(x: Aval, *, dtype: np.dtype[Any]) -> Aval:
    return Aval(bitcast_shape(x.shape, x.dtype, dtype), dtype)


def bitcast_lower(xp: Any, x: Any, *, dtype: np.dtype[Any]) -> Any:
    x = np.asarray(x)
    shape = bitcast_shape(x.shape, x.dtype, dtype)
    if x.dtype.name in BELOW_A_BYTE or dtype.name in BELOW_A_BYTE:
        return unpacked(packed(x), dtype).reshape(shape)
    if x.dtype.itemsize == dtype.itemsize:
        return x.view(dtype)
    return np.asarray(x, order="C").reshape(-1).view(dtype).reshape(shape)


def packed(x: np.ndarray) -> np.ndarray:
    """The bits of all elements, the lowest first."""
    raw = np.asarray(x, order="C").reshape(-1).view(np.uint8)
    bits = np.unpackbits(raw, bitorder="little")
    return bits.reshape(-1, 8)[:, : width(x.dtype)].reshape(-1) if x.dtype.name in BELOW_A_BYTE else bits


def unpacked(bits: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Elements of those bits."""
    if dtype.name not in BELOW_A_BYTE:
        return np.packbits(bits, bitorder="little").view(dtype)
    n = width(dtype)
    out = np.zeros((len(bits) // n, 8), np.uint8)
    out[:, :n] = bits.reshape(-1, n)
    if dtype.name.startswith("int"):
        out[:, n:] = out[:, n - 1 : n]
    return np.packbits(out, axis=1, bitorder="little").reshape(-1).view(dtype)


def bitcast_batch(inputs: Sequence[Node], axes: Axes, *, dtype: np.dtype[Any]) -> tuple[Node, int]:
    return bitcast(to_front(inputs[0], axes[0]), dtype=dtype), 0


bitcast = Op("bitcast", VIEW, bitcast_abstract, bitcast_lower, static=("dtype",), batch=bitcast_batch)
bitcast.partials = (None,)
"""The same bytes as another dtype."""


def reduce_precision_lower(xp: Any, x: Any, *, exponent: int, mantissa: int) -> Any:
    return rounded(np.asarray(x), exponent, mantissa)


def rounded(x: Any, exponent: int, mantissa: int) -> Any:
    """x with that many bits of exponent and mantissa, to nearest, ties to even; beyond the largest infinity, below the
    smallest normal number zero."""
    info = np.finfo(x.dtype)
    bits = np.dtype(f"u{x.dtype.itemsize}").type
    out = x
    if mantissa < info.nmant:
        drop = info.nmant - mantissa
        raw = x.view(bits)
        odd = (raw >> bits(drop)) & bits(1)
        raw = raw + ((bits(1) << bits(drop - 1)) - bits(1)) + odd
        kept = raw & ~((bits(1) << bits(drop)) - bits(1))
        out = np.where(np.isfinite(x), kept.view(x.dtype), x)
    if exponent < info.iexp:
        bias = (1 << (exponent - 1)) - 1
        with np.errstate(all="ignore"):
            least = np.ldexp(x.dtype.type(1), 1 - bias)
            bound = np.ldexp(x.dtype.type(1), bias + 1)
        out = np.where(np.abs(out) >= bound, np.copysign(x.dtype.type(np.inf), out), out)
        out = np.where(np.abs(out) < least, np.copysign(x.dtype.type(0), out), out)
    return out


reduce_precision = Op(
    "reduce_precision",
    MAP,
    lambda x, *, exponent, mantissa: x,
    reduce_precision_lower,
    static=("exponent", "mantissa"),
    partials=(lambda g, out, x, *, exponent, mantissa: reduce_precision(g, exponent=exponent, mantissa=mantissa),),
    transpose=lambda ct, x, *, exponent, mantissa: (reduce_precision(ct, exponent=exponent, mantissa=mantissa),),
)
reduce_precision.batch = map_batch(reduce_precision)

# Compositions.


def unsigned(x: Node) -> Node:
    """The bits of an integer as an unsigned one."""
    found = convert(x, np.dtype(f"u{x.dtype.itemsize}"))
    bits = width(x.dtype)
    return found if bits >= 8 else bitwise_and(found, like((1 << bits) - 1, found))


def like(value: int, x: Node) -> Node:
    return Node.of_scalar(x.dtype.type(value))


def population_count(x: Node) -> Node:
    """The number of ones in the two's complement, of bytes where an element is less than one, as in JAX."""
    return convert(bitwise_count(convert(x, np.dtype(f"u{x.dtype.itemsize}"))), x.dtype)


def count_leading_zeros(x: Node) -> Node:
    """Of all bits of an integer."""
    smeared, distance = unsigned(x), 1
    while distance < width(x.dtype):
        smeared = bitwise_or(smeared, right_shift(smeared, like(distance, smeared)))
        distance *= 2
    ones = like((1 << width(x.dtype)) - 1, smeared)
    return convert(bitwise_count(bitwise_xor(smeared, ones)), x.dtype)


def shift_right_logical(x: Node, n: Node) -> Node:
    """Zeros come in from the left."""
    return convert(right_shift(unsigned(x), unsigned(n)), x.dtype)


def in_total_order(x: Node) -> Node:
    """Floats as integers that lie in their order, -0 below 0 and NaN above infinity; others as they are."""
    if not is_inexact(x.dtype):
        return x
    width = 8 * x.dtype.itemsize
    bits = bitcast(x, dtype=np.dtype(f"i{x.dtype.itemsize}"))
    turned = bitwise_xor(bits, like((1 << (width - 1)) - 1, bits))
    return where(less(bits, like(0, bits)), turned, bits)


def multiply_high(x: Node, y: Node) -> Node:
    """The upper half of the bits of an integer product."""
    width = 8 * x.dtype.itemsize
    if width < 64:
        wide = np.dtype("u8" if x.dtype.kind == "u" else "i8")
        product = multiply(convert(x, wide), convert(y, wide))
        return convert(right_shift(product, like(width, product)), x.dtype)
    a, b = unsigned(x), unsigned(y)
    mask, half = like(0xFFFFFFFF, a), like(32, a)
    (a0, a1), (b0, b1) = ((bitwise_and(v, mask), right_shift(v, half)) for v in (a, b))
    middle = add(multiply(a1, b0), right_shift(multiply(a0, b0), half))
    other = add(multiply(a0, b1), bitwise_and(middle, mask))
    high = add(add(multiply(a1, b1), right_shift(middle, half)), right_shift(other, half))
    if x.dtype.kind == "u":
        return high
    zero = like(0, x)
    high = convert(high, x.dtype)
    for p, q in ((x, y), (y, x)):
        high = subtract(high, where(left_of_zero(p), q, zero))
    return high


def left_of_zero(x: Node) -> Node:
    """Whether a signed integer is negative, by its sign bit."""
    top = right_shift(unsigned(x), like(8 * x.dtype.itemsize - 1, unsigned(x)))
    return convert(top, np.dtype(bool))
