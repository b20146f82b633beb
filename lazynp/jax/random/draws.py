"""Samples for keys of any generator, on nodes: those of `ops.random` for threefry, which computes them in C; for
another one they are made of its random bits, as JAX makes them."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...backends.numpy import counters as lowerings  # noqa: F401  (of ops.generators)
from ...backends.numpy.samplers import SAMPLERS, rounds_of_sorting, word_width
from ...graph.node import Node
from ...ops import random as threefry
from ...ops.elementwise import convert
from ...ops.generators import words_to_sample
from ...ops.indexing import take
from ...ops.shape import broadcast_to, expand_dims, move_axis, reshape, slice_
from ...ops.sorting import argsort
from .. import numpy as jnp
from ..array import as_node, wrap
from ..derivatives import custom_jvp
from ..lax.control import map as one_by_one
from ..lax.control import while_loop
from ..lax.elementwise import rem, rsqrt
from .arguments import Shape
from .binomials import binomial_samples
from .implementations import FRY, impl_of, random_split, words_of

DType = np.dtype[Any]


def random_bits(key: Node, *, width: int, partitionable: bool, shape: Shape) -> Node:
    if key.dtype == FRY:
        return threefry.random_bits(key, width=width, partitionable=partitionable, shape=shape)
    return as_node(impl_of[key.dtype].random_bits(wrap(words_of(key)), width, shape))


def random_sample(key: Node, *, sampler: str, dtype: DType, partitionable: bool, shape: Shape) -> Node:
    if key.dtype == FRY:
        return threefry.random_sample(key, sampler=sampler, dtype=dtype, partitionable=partitionable, shape=shape)
    each, width = SAMPLERS[sampler].words, word_width(dtype)
    found = random_bits(key, width=width, partitionable=partitionable, shape=shape if each == 1 else (each, *shape))
    together = expand_dims(found, found.ndim) if each == 1 else move_axis(found, 0, found.ndim - 1)
    return words_to_sample(together, sampler=sampler, dtype=dtype)


def random_order(key: Node, *, dtype: DType, partitionable: bool, n: int) -> Node:
    if key.dtype == FRY:
        return threefry.random_order(key, dtype=dtype, partitionable=partitionable, n=n)
    order = as_node(jnp.arange(n, dtype=dtype))
    for _ in range(rounds_of_sorting(n)):
        two = random_split(key, partitionable=partitionable, shape=(2,))
        key, own = (slice_(two, key=(i,)) for i in range(2))
        words = random_bits(own, width=32, partitionable=partitionable, shape=(n,))
        order = take(order, argsort(words, axis=0, kind="stable"), 0)
    return order


def random_integers(key: Node, low: Node, high: Node, *, dtype: DType, partitionable: bool, shape: Shape) -> Node:
    if key.dtype == FRY:
        return threefry.random_integers(key, low, high, dtype=dtype, partitionable=partitionable, shape=shape)
    width, info = 8 * dtype.itemsize, np.iinfo(dtype)
    unsigned = np.dtype(f"uint{width}")
    above = wrap(high) > min(int(info.max), int(np.iinfo(high.dtype).max))
    least, most = (clipped(x, dtype) for x in (low, high))
    one = jnp.ones((), unsigned)
    span = (most - least).astype(unsigned)
    span = jnp.broadcast_to(jnp.where(most <= least, one, jnp.where(above, span + one, span)), shape)
    two = random_split(key, partitionable=partitionable, shape=(2,))
    upper, lower = [
        wrap(random_bits(slice_(two, key=(i,)), width=width, partitionable=partitionable, shape=shape))
        for i in range(2)
    ]
    factor: Any = rem(jnp.full_like(span, 1 << width // 2), span)
    factor = rem(factor * factor, span)
    first: Any = rem(upper, span)
    offset: Any = rem(first * factor + rem(lower, span), span)
    return as_node(least + offset.astype(dtype))


def clipped(x: Node, dtype: DType) -> Any:
    """A bound in the range of a dtype."""
    info, own = np.iinfo(dtype), np.iinfo(x.dtype)
    bounds = max(int(info.min), int(own.min)), min(int(info.max), int(own.max))
    return wrap(convert(as_node(jnp.clip(wrap(x), *[x.dtype.type(b) for b in bounds])), dtype))


def only_threefry(name: str, key: Node) -> None:
    """Raise NotImplementedError for a key of another generator."""
    if key.dtype != FRY:
        raise NotImplementedError(f"`{name}` is only implemented for the threefry2x32 RNG, not {impl_of[key.dtype]}")


def random_poisson(key: Node, rate: Node, **params: Any) -> Node:
    only_threefry("poisson", key)
    return threefry.random_poisson(key, rate, **params)


def split_into(key: Any, n: int, *, partitionable: bool) -> list[Any]:
    """So many keys of one."""
    new = random_split(as_node(key), partitionable=partitionable, shape=(n,))
    return [wrap(slice_(new, key=(i,))) for i in range(n)]


def random_binomial(key: Node, count: Node, p: Node, **params: Any) -> Node:
    if key.dtype == FRY:
        return threefry.random_binomial(key, count, p, **params)
    shape, partitionable = params["shape"], params["partitionable"]
    split = functools.partial(split_into, partitionable=partitionable)

    def uniform(key: Any) -> Any:
        return wrap(
            random_sample(as_node(key), sampler="uniform", dtype=p.dtype, partitionable=partitionable, shape=shape)
        )

    count, p = (broadcast_to(x, shape=shape) for x in (count, p))
    return convert(as_node(binomial_samples(wrap(key), wrap(count), wrap(p), split, uniform)), params["dtype"])


def random_gamma(key: Node, a: Node, *, log_space: bool, partitionable: bool) -> Node:
    if key.dtype == FRY:
        return threefry.random_gamma(key, a, log_space=log_space, partitionable=partitionable)
    count = math.prod(a.shape)
    keys = random_split(key, partitionable=partitionable, shape=(count,))
    pairs = wrap(keys), wrap(reshape(a, shape=(count,)))
    found = one_by_one(lambda pair: gamma_sample(*pair, log_space, partitionable), pairs)
    return reshape(as_node(found), shape=a.shape)


@functools.partial(custom_jvp, nondiff_argnums=(2, 3))
def gamma_sample(key: Any, a: Any, log_space: bool, partitionable: bool) -> Any:
    """One sample, or its logarithm: Marsaglia and Tsang, A simple method for generating gamma variables (2000)."""

    split = functools.partial(split_into, partitionable=partitionable)

    def draw(key: Any, sampler: str) -> Any:
        params = {"sampler": sampler, "dtype": a.dtype, "partitionable": partitionable, "shape": ()}
        return wrap(random_sample(as_node(key), **params))

    one, third = jnp.ones((), a.dtype), a.dtype.type(1 / 3)
    large = a >= one
    d = jnp.where(large, a, a + one) - third
    slope = third * rsqrt(d)

    def refused(state: Any) -> Any:
        _, square, cube, u = state
        squeezed = u >= one - a.dtype.type(0.0331) * (square * square)
        return squeezed & (jnp.log(u) >= square * a.dtype.type(0.5) + d * (one - cube + jnp.log(cube)))

    def again(state: Any) -> Any:
        key, inner, last = split(state[0], 3)

        def step(state: Any) -> Any:
            inner, own = split(state[0], 2)
            x = draw(own, "normal")
            return inner, x, one + x * slope

        _, x, v = while_loop(lambda state: state[2] <= 0, step, (inner, 0 * one, -one))
        return key, x * x, v * v * v, draw(last, "uniform")

    key, own = split(key, 2)
    _, _, cube, _ = while_loop(refused, again, (key, 0 * one, one, one + one))
    if log_space:
        low = -draw(own, "exponential")
        return jnp.log(d) + jnp.log(cube) + jnp.where(large | (low == 0), 0 * one, low / a)
    return d * cube * jnp.where(large, one, (one - draw(own, "uniform")) ** (one / a))


@gamma_sample.defjvp
def gamma_along(log_space: bool, partitionable: bool, primals: Any, tangents: Any) -> Any:
    """The implicit derivative, as `ops.random` has it."""
    key, a = primals
    out = gamma_sample(key, a, log_space, partitionable)
    node = threefry.gamma_slope(
        as_node(tangents[1]), as_node(out), as_node(key), as_node(a), log_space=log_space, partitionable=True
    )
    return out, wrap(node)
