"""How keys, and what is drawn from them, are written in StableHLO: threefry2x32 (Salmon et al., 2011) as JAX has it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ...backends.numpy.samplers import rounds_of_sorting
from ...backends.numpy.threefry import PARITY, ROTATIONS
from ..config import config
from ..jaxpr_types import JaxprEqn
from .builder import Builder, Rules, Value, form
from .places import ordered

RULES = Rules()
U32 = np.dtype(np.uint32)


def threefry(b: Builder, k0: Value, k1: Value, x0: Value, x1: Value) -> tuple[Value, Value]:
    """The hash of counters under keys, all of one shape."""
    keys = (k0, k1, b.binary("xor", b.binary("xor", k0, k1), b.full(PARITY, k0)))
    x0, x1 = b.binary("add", x0, k0), b.binary("add", x1, k1)
    for i in range(5):
        for turn in ROTATIONS[i & 1]:
            x0 = b.binary("add", x0, x1)
            high = b.binary("shift_left", x1, b.full(turn, x1))
            x1 = b.binary("xor", b.binary("or", high, b.binary("shift_right_logical", x1, b.full(32 - turn, x1))), x0)
        x0 = b.binary("add", x0, keys[(i + 1) % 3])
        x1 = b.binary("add", b.binary("add", x1, keys[(i + 2) % 3]), b.full(i + 1, x1))
    return x0, x1


def words_of(b: Builder, keys: Value, shape: Sequence[int]) -> tuple[Value, Value]:
    """Both words of each key, in every place of what is drawn from it."""
    stack = keys.shape[:-1]
    found = []
    for i in range(2):
        word = b.reshape(b.part(keys, keys.ndim - 1, i, i + 1), stack)
        found.append(b.broadcast(word, (*stack, *shape), range(len(stack))))
    return found[0], found[1]


def hashes(b: Builder, keys: Value, shape: Sequence[int], of: int = 1) -> tuple[Value, Value]:
    """The hash of each place's number, counted anew under each key."""
    stack, size = keys.shape[:-1], math.prod(shape) * of
    if size >= 1 << 32:
        raise NotImplementedError("more than 2**32 draws from one key")
    k0, k1 = words_of(b, keys, shape)
    number = b.reshape(b.iota(0, (math.prod(shape),), U32), shape)
    number = b.broadcast(number, k0.shape, range(len(stack), len(stack) + len(shape)))
    return threefry(b, k0, k1, b.full(0, number), number)


def only_partitionable(eqn: JaxprEqn) -> None:
    if not eqn.params.get("partitionable", config.jax_threefry_partitionable):
        raise NotImplementedError("draws of the form that is not partitionable")


def bits(b: Builder, keys: Value, shape: Sequence[int], width: int) -> Value:
    high, low = hashes(b, keys, shape)
    if width == 64:
        high, low = b.convert(high, np.uint64), b.convert(low, np.uint64)
        return b.binary("or", b.binary("shift_left", high, b.full(32, high)), low)
    return b.convert(b.binary("xor", high, low), f"u{width // 8}")


def join(b: Builder, high: Value, low: Value) -> Value:
    """Keys of their words."""
    return b.concatenate([b.reshape(x, (*x.shape, 1)) for x in (high, low)], high.ndim)


@RULES("random_wrap", "random_unwrap", "key_data", "key_wrap", "random_clone")
def held(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    return x


@RULES("random_seed")
def seeded(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    if x.dtype.itemsize == 8:
        whole = b.convert(x, np.uint64)
        return join(b, b.convert(b.binary("shift_right_logical", whole, b.full(32, whole)), U32), b.convert(whole, U32))
    low = b.convert(x, U32)
    return join(b, b.full(0, low), low)


@RULES("random_split")
def split(b: Builder, eqn: JaxprEqn, keys: Value) -> Value:
    only_partitionable(eqn)
    return join(b, *hashes(b, keys, eqn.params["shape"]))


@RULES("random_fold_in")
def folded(b: Builder, eqn: JaxprEqn, keys: Value, data: Value) -> Value:
    shape, _ = form(eqn.outvars[0].aval)
    data = b.broadcast(b.convert(data, U32), shape[:-1])
    k0, k1 = words_of(b, b.broadcast(keys, shape), ())
    return join(b, *threefry(b, k0, k1, b.full(0, data), data))


@RULES("random_bits")
def drawn(b: Builder, eqn: JaxprEqn, keys: Value) -> Value:
    only_partitionable(eqn)
    p = eqn.params
    return bits(b, keys, p["shape"], int(p["bit_width"] if "bit_width" in p else p["width"]))


def unit(b: Builder, words: Value, dtype: np.dtype[Any]) -> Value:
    """Floats in [0, 1): the high bits of words as mantissa."""
    whole = np.dtype(f"u{dtype.itemsize}")
    words = b.convert(words, whole) if words.dtype.itemsize <= whole.itemsize else words
    shift = words.dtype.itemsize * 8 - ml_dtypes.finfo(dtype).nmant
    if words.dtype != whole or shift < 0:
        raise NotImplementedError("draws of so short a dtype")
    one = int(np.ones((), dtype).view(whole)[()])
    mantissa = b.binary("or", b.binary("shift_right_logical", words, b.full(shift, words)), b.full(one, words))
    x = b.short(f"stablehlo.bitcast_convert {mantissa.name}", [mantissa], mantissa.shape, dtype)
    return b.binary("subtract", x, b.full(1, x))


def between(b: Builder, x: Value, low: Value, high: Value) -> Value:
    x = b.binary("add", b.binary("multiply", x, b.binary("subtract", high, low)), low)
    return b.binary("maximum", low, x)


def neg_log(b: Builder, x: Value) -> Value:
    return b.unary("negate", b.unary("log", x))


@RULES("random_sample")
def sampled(b: Builder, eqn: JaxprEqn, keys: Value) -> Value:
    only_partitionable(eqn)
    _, dtype = form(eqn.outvars[0].aval)
    name = eqn.params["sampler"]
    if dtype.itemsize < 4 or name not in ("uniform", "normal", "normal_root", "exponential", "gumbel"):
        raise NotImplementedError("draws of such a distribution")
    u = unit(b, bits(b, keys, eqn.params["shape"], 8 * dtype.itemsize), dtype)
    if name == "uniform":
        return u
    if name == "exponential":
        return b.unary("negate", b.unary("log_plus_one", b.unary("negate", u)))
    if name == "gumbel":
        return neg_log(b, neg_log(b, b.binary("maximum", u, b.full(ml_dtypes.finfo(dtype).tiny, u))))
    low = np.nextafter(dtype.type(-1), dtype.type(0))
    root = b.unary("chlo.erf_inv", between(b, u, b.full(low, u), b.full(1, u)))
    return root if name == "normal_root" else b.binary("multiply", root, b.full(math.sqrt(2.0), root))


@RULES("random_between")
def placed_between(b: Builder, eqn: JaxprEqn, x: Value, low: Value, high: Value) -> Value:
    shape, dtype = form(eqn.outvars[0].aval)
    x, low, high = [b.broadcast(b.convert(v, dtype), shape) for v in (x, low, high)]
    return between(b, x, low, high)


@RULES("random_integers")
def integers(b: Builder, eqn: JaxprEqn, keys: Value, low: Value, high: Value) -> Value:
    """Twice as many random bits as the result has, modulo the span."""
    only_partitionable(eqn)
    shape, dtype = form(eqn.outvars[0].aval)
    if any([not np.can_cast(x.dtype, dtype) for x in (low, high)]) or dtype.itemsize < 4:
        raise NotImplementedError("bounds that are wider than the result")
    low, high = [b.broadcast(b.convert(x, dtype), shape) for x in (low, high)]
    whole, width = np.dtype(f"u{dtype.itemsize}"), dtype.itemsize * 8
    span = b.convert(b.binary("subtract", high, low), whole)
    span = b.select(b.compare("LE", high, low), b.full(1, span), span)
    two = join(b, *hashes(b, keys, (2,)))
    upper, lower = [bits(b, row(b, two, i), eqn.params["shape"], width) for i in range(2)]
    factor = b.binary("remainder", b.full(1 << width // 2, span), span)
    factor = b.binary("remainder", b.binary("multiply", factor, factor), span)
    offset = b.binary("multiply", b.binary("remainder", upper, span), factor)
    offset = b.binary("add", offset, b.binary("remainder", lower, span))
    return b.binary("add", low, b.convert(b.binary("remainder", offset, span), dtype))


def row(b: Builder, keys: Value, i: int) -> Value:
    """One of the keys that lie along the last axis but one."""
    x = b.part(keys, keys.ndim - 2, i, i + 1)
    return b.reshape(x, (*x.shape[:-2], 2))


@RULES("random_order")
def order(b: Builder, eqn: JaxprEqn, keys: Value) -> Value:
    """Sorted by random words, several times."""
    only_partitionable(eqn)
    shape, dtype = form(eqn.outvars[0].aval)
    axis, n = len(shape) - 1, int(eqn.params["n"])
    found = b.iota(axis, shape, dtype)
    for _ in range(rounds_of_sorting(n)):
        two = join(b, *hashes(b, keys, (2,)))
        keys = row(b, two, 0)
        found = ordered(b, [bits(b, row(b, two, 1), (n,), 32), found], axis)[1]
    return found
