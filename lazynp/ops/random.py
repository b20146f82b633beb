"""Keyed randomness: keys, and samples that are functions of them, with JAX's numbers (`backends.numpy.threefry`).

A key is one element of a dtype of its own, a record of its words (`KEY_DTYPES`), so that indexing, joining, batching
and loops treat arrays of keys as any others. `partitionable` says which of JAX's two forms of threefry is meant.
Samples for an array of keys have the keys' axes first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import LIBRARY, Op, Rule
from .elementwise import add, divide, equal, multiply, negative, ones_like, scalar, subtract, where
from .family import front_batch, map_batch
from .promotion import Shape, broadcast
from .shape import Axes, aligned, batch_size, broadcast_to, to_front, zeros_of
from .special import random_gamma_grad
from .transcendental import power_base, power_exponent

DType = np.dtype[Any]
U32 = np.dtype(np.uint32)
KEY_DTYPES: dict[str, DType] = {"fry": np.dtype([("fry", "<u4", (2,))])}
"""The dtype of an implementation's keys, by JAX's short name for it."""


def words_of(key: Any) -> Any:
    """The words of keys, as one more axis."""
    return key[key.dtype.names[0]]


def front(op: Op) -> Rule:
    """Batching of an op whose first input are keys: their mapped axis becomes the first, and so that of the result."""

    def batch(inputs: Sequence[Node], axes: Axes, **params: Any) -> tuple[Node, int]:
        return op(to_front(inputs[0], axes[0]), **params), 0

    return batch


def key_of(x: Any, dtype: DType) -> Any:
    """Keys from their words."""
    return np.ascontiguousarray(x).view(dtype)[..., 0]


key_wrap = Op(
    "key_wrap",
    LIBRARY,
    lambda x, *, dtype: Aval(x.shape[:-1], dtype),
    lambda xp, x, *, dtype: key_of(x, dtype),
    static=("dtype",),
    doc="Keys from their words (uint32), which are the last axis.",
)
key_wrap.batch = front(key_wrap)
key_data = Op(
    "key_data",
    LIBRARY,
    lambda key: Aval((*key.shape, key.dtype.itemsize // 4), U32),
    lambda xp, key: words_of(key).copy(),
    doc="The words of keys, as a last axis.",
)
key_data.batch = front(key_data)
random_seed = Op(
    "random_seed",
    LIBRARY,
    lambda seed, *, dtype: Aval(seed.shape, dtype),
    lambda xp, seed, *, dtype: key_of(xp.key_seed(seed), dtype),
    static=("dtype",),
    doc="The key of each integer.",
)
random_seed.batch = front(random_seed)
random_clone = Op(
    "random_clone", LIBRARY, lambda key: key, lambda xp, key: key.copy(), doc="The same key, to be used once more."
)
random_clone.batch = front(random_clone)
random_split = Op(
    "random_split",
    LIBRARY,
    lambda key, *, partitionable, shape: Aval((*key.shape, *shape), key.dtype),
    lambda xp, key, *, partitionable, shape: key_of(xp.key_split(words_of(key), shape, partitionable), key.dtype),
    static=("partitionable",),
    moving=("shape",),
    doc="New keys of that shape from each key.",
)
random_split.batch = front(random_split)
random_fold_in = Op(
    "random_fold_in",
    LIBRARY,
    lambda key, data: Aval(broadcast(key.shape, data.shape), key.dtype),
    lambda xp, key, data: key_of(xp.key_fold_in(words_of(key), data), key.dtype),
    doc="The key that a key and a number (uint32) make; both broadcast.",
)
random_fold_in.batch = map_batch(random_fold_in)
random_bits = Op(
    "random_bits",
    LIBRARY,
    lambda key, *, width, partitionable, shape: Aval((*key.shape, *shape), np.dtype(f"uint{width}")),
    lambda xp, key, *, width, partitionable, shape: xp.random_bits(words_of(key), width, shape, partitionable),
    static=("width", "partitionable"),
    moving=("shape",),
    doc="Unsigned integers of that many bits.",
)
random_bits.batch = front(random_bits)
random_order = Op(
    "random_order",
    LIBRARY,
    lambda key, *, dtype, partitionable, n: Aval((*key.shape, n), dtype),
    lambda xp, key, *, dtype, partitionable, n: xp.random_order(words_of(key), n, dtype, partitionable),
    static=("dtype", "partitionable"),
    moving=("n",),
    doc="The integers below n in random order.",
)
random_order.batch = front(random_order)
random_sample = Op(
    "random_sample",
    LIBRARY,
    lambda key, *, sampler, dtype, partitionable, shape: Aval((*key.shape, *shape), dtype),
    lambda xp, key, *, sampler, dtype, partitionable, shape: xp.random_sample(
        words_of(key), sampler, dtype, shape, partitionable
    ),
    static=("sampler", "dtype", "partitionable"),
    moving=("shape",),
    doc="Samples of a distribution without parameters: `sampler` is a name in `backends.numpy.samplers.SAMPLERS`.",
)
random_sample.batch = front(random_sample)


def with_parameters(op: Op) -> Rule:
    """Batching of (keys, parameters...), where parameters broadcast to the shape of the keys and then `shape`."""

    def batch(inputs: Sequence[Node], axes: Axes, *, shape: Shape, **params: Any) -> tuple[Node, int]:
        n, key = batch_size(inputs, axes), inputs[0]
        rank = key.ndim - (axes[0] is not None) + len(shape)
        new = [broadcast_to(key, shape=(n, *key.shape)) if axes[0] is None else to_front(key, axes[0])]
        for x, a in zip(inputs[1:], axes[1:]):
            new.append(x if a is None else aligned(to_front(x, a), rank, 1))
        return op(*new, shape=shape, **params), 0

    return batch


def integers_abstract(key: Aval, low: Aval, high: Aval, *, dtype: DType, partitionable: bool, shape: Shape) -> Aval:
    return Aval((*key.shape, *shape), dtype)


random_integers = Op(
    "random_integers",
    LIBRARY,
    integers_abstract,
    lambda xp, key, low, high, *, dtype, partitionable, shape: xp.random_integers(
        words_of(key), low, high, dtype, shape, partitionable
    ),
    static=("dtype", "partitionable"),
    moving=("shape",),
    doc="Integers of 32 or 64 bits in [low, high).",
)
random_integers.batch = with_parameters(random_integers)
random_poisson = Op(
    "random_poisson",
    LIBRARY,
    lambda key, rate, *, dtype, partitionable, shape: Aval((*key.shape, *shape), dtype),
    lambda xp, key, rate, *, dtype, partitionable, shape: xp.random_poisson(
        words_of(key), rate, dtype, shape, partitionable
    ),
    static=("dtype", "partitionable"),
    moving=("shape",),
    doc="Poisson samples; the rates are float32.",
)
random_poisson.batch = with_parameters(random_poisson)
random_binomial = Op(
    "random_binomial",
    LIBRARY,
    lambda key, count, p, *, dtype, partitionable, shape: Aval((*key.shape, *shape), dtype),
    lambda xp, key, count, p, *, dtype, partitionable, shape: xp.random_binomial(
        words_of(key), count, p, dtype, shape, partitionable
    ),
    static=("dtype", "partitionable"),
    moving=("shape",),
    partials=(None, None, None),
    doc="Binomial samples as floats: piecewise constant in both parameters.",
)
random_binomial.batch = with_parameters(random_binomial)


def gamma_slope(g: Node, out: Node, key: Node, a: Node, *, log_space: bool, partitionable: bool) -> Node:
    """The implicit derivative along a, -(dP/da) / (dP/dx) of the distribution P(a, x) at the sample. A sample whose
    logarithm is known may be too small for a float: then the smallest one."""
    if not log_space:
        return multiply(g, random_gamma_grad(a, out))
    least = Node.of_scalar(np.asarray(np.finfo(np.float32).tiny, a.dtype)[()])
    if a.dtype.itemsize == 8:
        least = Node.of_scalar(np.finfo(a.dtype).tiny)
    sample = exp(out)
    sample = where(equal(sample, zeros_of(Aval((), a.dtype))), least, sample)
    return multiply(g, divide(random_gamma_grad(a, sample), sample))


random_gamma = Op(
    "random_gamma",
    LIBRARY,
    lambda key, a, *, log_space, partitionable: Aval(a.shape, a.dtype),
    lambda xp, key, a, *, log_space, partitionable: xp.random_gamma(words_of(key), a, log_space, partitionable),
    static=("log_space", "partitionable"),
    partials=(None, gamma_slope),
    doc="Gamma samples, or their logarithms, for parameters a whose first axes are those of the keys.",
)
random_gamma.batch = front_batch(random_gamma)


def rounded(name: str, partial: Rule) -> Op:
    """An elementwise function with the roundings that JAX's samplers have."""
    op = Op(
        f"random_{name}",
        LIBRARY,
        lambda x: Aval(x.shape, x.dtype),
        lambda xp, x: xp.random_function(name, x),
        partials=(partial,),
    )
    op.batch = map_batch(op)
    return op


exp = rounded("exp", lambda g, out, x: multiply(g, out))
erf = rounded(
    "erf",
    lambda g, out, x: multiply(g, multiply(exp(negative(multiply(x, x))), scalar(2 / math.sqrt(math.pi), x))),
)
erf_inv = rounded(
    "erf_inv",
    lambda g, out, x: multiply(g, multiply(exp(multiply(out, out)), scalar(math.sqrt(math.pi) / 2, x))),
)
log = rounded("log", lambda g, out, x: divide(g, x))
log1p = rounded("log1p", lambda g, out, x: divide(g, add(ones_like(x), x)))
exp_complex = rounded("exp_complex", lambda g, out, x: multiply(g, out))
power = Op(
    "random_power",
    LIBRARY,
    lambda x, y: Aval(broadcast(x.shape, y.shape), x.dtype),
    lambda xp, x, y: xp.random_power(x, y),
    partials=(power_base, power_exponent),
    doc="x to the y, both of one dtype, x at least 0: with the same bits on every processor, as all that is here.",
)
power.batch = map_batch(power)
between = Op(
    "random_between",
    LIBRARY,
    lambda u, low, high: Aval(broadcast(u.shape, low.shape, high.shape), u.dtype),
    lambda xp, u, low, high: xp.random_between(u, low, high),
    partials=(
        None,
        lambda g, out, u, low, high: multiply(g, subtract(ones_like(u), u)),
        lambda g, out, u, low, high: multiply(g, u),
    ),
    doc="low + u * (high - low), rounded once and at least low; all of one dtype, u in [0, 1).",
)
between.batch = map_batch(between)
