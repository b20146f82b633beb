"""Samples that are a transform of random words: JAX's algorithms, with its roundings (`xla`). Those without parameters
stand in `SAMPLERS`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ...keyed import native
from . import threefry, xla
from .threefry import UINTS, Transform

Array = Any
DType = np.dtype[Any]
F32 = np.dtype(np.float32)


def wide(dtype: DType) -> DType:
    """The dtype to compute in: float32 for shorter ones."""
    return dtype if dtype.itemsize >= 4 else F32


def word_width(dtype: DType) -> int:
    """Bits of the random word that a float is made of: 8 where it has a mantissa of less than 8."""
    return 8 if ml_dtypes.finfo(dtype).nmant < 8 else dtype.itemsize * 8


def unit(words: Array, dtype: DType) -> Array:
    """Floats in [0, 1): the words' high bits as mantissa."""
    bits, word = UINTS[dtype.itemsize * 8], words.dtype.itemsize * 8
    one = np.ones((), dtype).view(bits)[()]
    floats = words.astype(bits) >> bits.type(word - ml_dtypes.finfo(dtype).nmant)
    floats |= one
    return floats.view(dtype) - dtype.type(1)


def fused(a: Array, b: Array, c: Array) -> Array:
    """a * b + c, rounded once; in 16 bits, after the product too."""
    return xla.fma(a, b, c) if a.dtype.itemsize >= 4 else a * b + c


def between(u: Array, low: Array, high: Array) -> Array:
    """From [0, 1) to [low, high)."""
    low, high = np.asarray(low).astype(u.dtype), np.asarray(high).astype(u.dtype)
    return np.maximum(low, fused(u, high - low, low))


def random_between(u: Array, low: Array, high: Array) -> Array:
    """The same for arrays that broadcast."""
    with np.errstate(all="ignore"):
        return between(u, low, high)


def rounding(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A function of `xla` for all dtypes: those of 16 bits are computed in float32 and rounded."""
    return lambda x: function(x.astype(wide(x.dtype))).astype(x.dtype)


log, log1p, tan, erf_inv = rounding(xla.log), rounding(xla.log1p), rounding(xla.tan), rounding(xla.erf_inv)


def random_function(name: str, x: Array) -> Array:
    """A function of `xla`, by its name."""
    with np.errstate(all="ignore"):
        return rounding(getattr(xla, name))(x.reshape(-1)).reshape(x.shape)


def random_power(x: Array, y: Array) -> Array:
    with np.errstate(all="ignore"):
        return xla.power(x.astype(wide(x.dtype)), y.astype(wide(y.dtype))).astype(x.dtype)


def constant(x: Array, value: float) -> Any:
    """A scalar of x's dtype."""
    return np.asarray(value).astype(x.dtype)[()]


def positive(u: Array) -> Array:
    """The smallest normal number instead of 0."""
    return np.maximum(u, ml_dtypes.finfo(u.dtype).tiny)


def normal_root(u: Array) -> Array:
    """A normal number over the square root of 2."""
    return erf_inv(between(u, np.nextafter(constant(u, -1), constant(u, 0)), 1))


def normal(u: Array) -> Array:
    return normal_root(u) * constant(u, math.sqrt(2))


def gumbel_high(u: Array) -> Array:
    """From two uniform numbers, the second below the resolution of the first."""
    high, low = u
    finer = fused(low, constant(u, 2.0 ** -ml_dtypes.finfo(u.dtype).nmant), high) + ml_dtypes.finfo(u.dtype).tiny
    x = np.where(high >= constant(u, 0.5), high, finer)
    return -log(-log1p(-x))


def gumbel_highest(words: Array) -> Array:
    """From 64 bits as a fixed-point number, with all the precision that float32 has near 0 and 1."""
    high, low = words
    small = high < np.uint32(1 << 31)
    number = high.astype(np.uint64) << np.uint64(32) | low
    x = truncated(np.where(small, number, np.negative(number)))
    return np.where(small, -log(-log1p(-x)), -log(-log(x)))


def truncated(number: Array) -> Array:
    """number / 2**64 as float32, rounded towards zero."""
    _, exponent = np.frexp(number.astype(np.float64))
    shift = np.maximum(exponent - 24, 0).astype(np.uint64)
    return np.ldexp((number >> shift << shift).astype(np.float64), -64).astype(F32)


def laplace(u: Array) -> Array:
    x = between(u, constant(u, -1.0 + float(ml_dtypes.finfo(u.dtype).epsneg)), 1)
    return np.sign(x) * log1p(-np.abs(x))


def logistic(u: Array) -> Array:
    x = positive(u)
    return log(x) - log1p(-x)


def cauchy(u: Array) -> Array:
    x = between(u, ml_dtypes.finfo(u.dtype).eps, 1)
    return tan(constant(u, math.pi) * (x - constant(u, 0.5)))


def log_uniform(u: Array) -> Array:
    """log(u), of 1 instead of 0."""
    return log(np.where(u == 0, constant(u, 1), u))


class Sampler(NamedTuple):
    """Attributes:
    words: random words per sample.
    of: from numbers in [0, 1) (with `raw`, from words) to samples.
    """

    of: Transform
    words: int = 1
    raw: bool = False


SAMPLERS = {
    "uniform": Sampler(lambda u: u),
    "normal": Sampler(normal),
    "normal_root": Sampler(normal_root),
    "exponential": Sampler(lambda u: -log1p(-u)),
    "gumbel": Sampler(lambda u: -log(-log(positive(u)))),
    "gumbel_high": Sampler(gumbel_high, 2),
    "gumbel_highest": Sampler(gumbel_highest, 2, True),
    "laplace": Sampler(laplace),
    "logistic": Sampler(logistic),
    "cauchy": Sampler(cauchy),
    "log_uniform": Sampler(log_uniform),
    "rayleigh": Sampler(lambda u: np.sqrt(log(u) * constant(u, -2))),
}


def in_c(name: str, dtype: DType) -> Transform:
    """The transform by the C module, in float32 and float64."""
    if name in ("normal_root", "exponential", "gumbel"):
        return lambda words: xla.in_c(name, words[0])
    if name == "normal":
        root = constant(np.empty((), dtype), math.sqrt(2))
        return lambda words: np.multiply(x := xla.in_c("normal_root", words[0]), root, out=x)
    of = SAMPLERS[name].of
    return lambda words: of(xla.in_c("unit", words[0]))


@functools.cache
def transform(name: str, dtype: DType) -> Transform:
    """From words, along axis 0 those of one sample, to samples."""
    sampler = SAMPLERS[name]
    if sampler.raw:
        return sampler.of
    if native is not None and dtype.itemsize >= 4 and sampler.words == 1:
        return in_c(name, dtype)
    if sampler.words == 1:
        return lambda words: sampler.of(unit(words[0], dtype))
    return lambda words: sampler.of(unit(words, dtype))


def random_sample(keys: Array, sampler: str, dtype: DType, shape: tuple[int, ...], partitionable: bool) -> Array:
    """Samples of that shape for each key: shape (*keys.shape[:-1], *shape)."""
    to = transform(sampler, dtype)
    return threefry.generate(keys, shape, word_width(dtype), SAMPLERS[sampler].words, partitionable, to)


def random_bits(keys: Array, width: int, shape: tuple[int, ...], partitionable: bool) -> Array:
    """Words of 8, 16, 32 or 64 bits."""
    return threefry.generate(keys, shape, width, 1, partitionable, lambda words: words[0])


@functools.cache
def rounds_of_sorting(size: int) -> int:
    """So many that two of these elements hardly have equal words in all of them."""
    return int(np.ceil(3 * np.log(max(1, size)) / np.log(np.iinfo(np.uint32).max)))


def random_order(keys: Array, n: int, dtype: DType, partitionable: bool) -> Array:
    """The integers below n, for each key sorted by random words, equal words in the order of before; several times. A
    word and a place are sorted as one integer of 64 bits, which is much faster than a stable sort of the words."""
    order: Array = None
    places, low = np.arange(n, dtype=np.uint64), np.uint64(0xFFFFFFFF)
    if n > int(low):
        raise NotImplementedError("a permutation of more than 2**32 - 1 elements")
    for _ in range(rounds_of_sorting(n)):
        two = threefry.key_split(keys, (2,), partitionable)
        keys = two[..., 0, :]
        packed = random_bits(two[..., 1, :], 32, (n,), partitionable).astype(np.uint64)
        packed <<= np.uint64(32)
        packed |= places
        packed.sort(axis=-1)
        packed &= low
        if order is None:
            order = packed.astype(dtype)
        else:
            order = np.take_along_axis(order, packed.astype(np.intp), axis=-1)
    return np.broadcast_to(np.arange(n, dtype=dtype), (*keys.shape[:-1], n)) if order is None else order


def random_integers(
    keys: Array, low: Array, high: Array, dtype: DType, shape: tuple[int, ...], partitionable: bool
) -> Array:
    """Integers in [low, high) of 32 or 64 bits: twice as many random bits as the result has, modulo the span.

    low and high are integers of any width, and are clipped to the dtype's range; a high above it stands for all of it.
    """
    info, unsigned = np.iinfo(dtype), UINTS[dtype.itemsize * 8]
    above = high > min(int(info.max), int(np.iinfo(high.dtype).max))
    low, high = clip_to(low, dtype), clip_to(high, dtype)
    one = unsigned.type(1)
    span = (high - low).view(unsigned)
    span = np.where(high <= low, one, np.where(above, span + one, span))
    two = threefry.key_split(keys, (2,), partitionable)
    upper, lower = (random_bits(two[..., i, :], dtype.itemsize * 8, shape, partitionable) for i in range(2))
    factor = remainder(np.full_like(span, 1 << dtype.itemsize * 4), span)
    factor = remainder(factor * factor, span)
    offset = remainder(remainder(upper, span) * factor + remainder(lower, span), span)
    return low + offset.view(dtype)


def clip_to(x: Array, dtype: DType) -> Array:
    info, own = np.iinfo(dtype), np.iinfo(x.dtype)
    return np.clip(x, max(int(info.min), int(own.min)), min(int(info.max), int(own.max))).astype(dtype)


def remainder(x: Array, y: Array) -> Array:
    """x % y; x where y is 0, as XLA has it."""
    if np.ndim(y) and not np.any(y == 0):
        return x % y
    zero = y == 0
    return np.where(zero, x, x % np.where(zero, y.dtype.type(1), y))
