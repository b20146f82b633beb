"""Discrete distributions: bits, integers, truth values, counts, categories."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...graph.node import Node
from ...ops.elementwise import (
    add,
    clip,
    convert,
    divide,
    equal,
    floor,
    less,
    maximum,
    minimum,
    multiply,
    negative,
    subtract,
    where,
)
from ...ops.joining import concatenate, flip
from ...ops.random import log1p
from ...ops.reductions import argmax
from ...ops.scans import add_accumulate
from ...ops.shape import broadcast_to, expand_dims, move_axis, reshape, slice_, transpose, whole, zeros_of
from ...ops.sorting import argsort
from ..array import Array, as_node, check_arraylike, typed
from ..casts import astype_node
from ..dtypes import (
    EXTENSIONS,
    FLOAT32,
    KIND_OF,
    DType,
    finfo,
    float_dtype,
    iinfo,
    inexact,
    int_dtype,
    promotion,
    requested,
    x64_enabled,
)
from . import draws
from .arguments import Shape, broadcast_shape, canonical_shape, check_shape, parameter, sampled_dtype, shape_of
from .continuous import gumbel_mode, gumbel_node, sample, scalar, sign_node
from .keys import draw, key_node, partitionable, parts

INT32 = np.dtype(np.int32)


def bits(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Random bits as unsigned integers (uint32, or uint64 where 64 bits are enabled).

    Raises: ValueError for another kind of dtype.
    """
    found = requested(np.dtype(np.uint64) if dtype is None and x64_enabled() else "uint32" if dtype is None else dtype)
    if KIND_OF.get(found) != "u":
        raise ValueError(f"dtype argument to `bits` must be an unsigned int dtype, got {found}")
    return draw("bits", bits_node, key, dtype=found, shape=canonical_shape(shape))


def bits_node(key: Node, *, dtype: DType, shape: Shape) -> Node:
    return draws.random_bits(key, width=8 * dtype.itemsize, partitionable=partitionable(), shape=shape)


def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Integers in [minval, maxval), which are clipped to what the dtype holds; minval where that is empty.

    As in JAX they are a remainder of twice as many random bits as the dtype has (at least 64), so that a span that is
    no power of two has a slight bias.

    Raises: TypeError for a dtype that is not integer, ValueError for bounds that do not broadcast to `shape`.
    """
    found, size = requested(int if dtype is None else dtype), canonical_shape(shape)
    if KIND_OF.get(found) is None or KIND_OF[found] not in "iu":
        raise TypeError(f"randint only accepts integer dtypes, got {found}")
    check_arraylike("randint", minval, maxval)
    check_shape("randint", size, shape_of(minval), shape_of(maxval))
    low, high = (whole_number(x) for x in (minval, maxval))
    return draw("randint", randint_node, key, low, high, dtype=found, shape=size)


def whole_number(x: Any) -> Node:
    """A bound as a node of an integer dtype."""
    node = as_node(x)
    return convert(node, node.dtype if KIND_OF[node.dtype] in "iu" else int_dtype())


def randint_node(key: Node, low: Node, high: Node, *, dtype: DType, shape: Shape) -> Node:
    """Shorter integers than 32 bits are drawn as such, and cast."""
    wide = dtype if dtype.itemsize >= 4 else INT32
    if wide is not dtype:
        least, most = int(iinfo(dtype).min), int(iinfo(dtype).max)
        low = clipped(convert(low, INT32), least, most)
        high = clipped(convert(high, INT32), least, most + 1)
    out = draws.random_integers(key, low, high, dtype=wide, partitionable=partitionable(), shape=shape)
    return convert(out, dtype)


def clipped(x: Node, low: int, high: int) -> Node:
    return clip(x, scalar(low, x), scalar(high, x))


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low", *, out_sharding: Any = None) -> Array:
    """True with probability p. `mode="high"` draws twice as many bits, for small p.

    Raises: TypeError for a `p` that is not floating, ValueError for another mode or a `p` that does not broadcast.
    """
    size = None if shape is None else canonical_shape(shape)
    if mode not in ("high", "low"):
        raise ValueError(f"got mode={mode!r}, expected 'high' or 'low'")
    key_node("bernoulli", key)
    dtype, weak = typed(p)
    if KIND_OF.get(dtype) != "f":
        raise TypeError(f"bernoulli probability `p` must have a floating dtype, got {dtype}.")
    dtype = float_dtype() if weak else dtype
    size = broadcast_shape("bernoulli", size, p)
    return draw("bernoulli", bernoulli_node, key, parameter(p, dtype), shape=size, mode=mode)


def bernoulli_node(key: Node, p: Node, *, shape: Shape, mode: str) -> Node:
    if mode == "low":
        return less(sample(key, "uniform", p.dtype, shape), p)
    both = sample(key, "uniform", p.dtype, (2, *shape))
    first, second = (slice_(both, key=(i, *whole(shape))) for i in range(2))
    step = scalar(2.0 ** -finfo(p.dtype).nmant, p)
    return less(multiply(second, step), subtract(p, first))


def rademacher(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """-1 or 1, each with probability 1/2."""
    found = requested(int if dtype is None else dtype)
    return draw("rademacher", signs, key, dtype=found, shape=canonical_shape(shape))


def signs(key: Node, *, dtype: DType, shape: Shape) -> Node:
    """-1 or 1 in any dtype: as truth values both are true."""
    return convert(sign_node(key, dtype=INT32 if dtype.kind == "b" else dtype, shape=shape), dtype)


def geometric(key: Any, p: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """How many trials of success probability p it takes to the first success.

    Raises: ValueError for a dtype that is not integer or a `p` that does not broadcast to `shape`.
    """
    found = sampled_dtype("geometric", dtype, int, "iu")
    size = broadcast_shape("geometric", shape, p)
    check_arraylike("geometric", p)
    own = inexact_dtype(p)
    return draw("geometric", geometric_node, key, parameter(p, own), dtype=found, shape=size)


def inexact_dtype(*parameters: Any) -> DType:
    """The floating dtype that parameters promote to."""
    dtype, weak = promotion(x64_enabled(), *[typed(p) for p in parameters])
    if KIND_OF[dtype] not in "fc":
        return inexact(dtype) if not weak else float_dtype()
    return float_dtype() if weak else dtype


def geometric_node(key: Node, p: Node, *, dtype: DType, shape: Shape) -> Node:
    log_u = sample(key, "log_uniform", p.dtype, shape)
    trials = floor(divide(log_u, broadcast_to(log1p(negative(p)), shape=shape)))
    return astype_node(add(trials, scalar(1, trials)), dtype)


def poisson(key: Any, lam: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Poisson numbers of that mean.

    Raises: ValueError for a `lam` that does not broadcast to `shape`, or a dtype that is not one of integers.
    """
    found = requested(int if dtype is None else dtype)
    iinfo(found)
    size = shape_of(lam) if shape is None else canonical_shape(shape)
    broadcast_parameter(size, lam)
    rate = parameter(lam, np.dtype(np.float32))
    return draw("poisson", poisson_node, key, rate, dtype=found, shape=size)


def broadcast_parameter(shape: Shape, x: Any) -> None:
    if np.broadcast_shapes(shape, shape_of(x)) != shape:
        raise ValueError(f"Incompatible shapes for broadcasting: {shape_of(x)} and requested shape {shape}")


def poisson_node(key: Node, rate: Node, *, dtype: DType, shape: Shape) -> Node:
    return draws.random_poisson(key, rate, dtype=dtype, partitionable=partitionable(), shape=shape)


def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Array:
    """How many of n trials of success probability p succeed, as floats; NaN for a negative n or a p outside [0, 1].

    Raises: ValueError for a dtype that is not floating or parameters that do not broadcast to `shape`.
    """
    check_arraylike("binomial", n, p)
    found = sampled_dtype("binomial", dtype, float, "f")
    size = broadcast_shape("binomial", shape, n, p)
    own = inexact_dtype(p)
    nodes = [parameter(x, own) for x in (n, p)]
    return draw("binomial", binomial_node, key, *nodes, dtype=found, shape=size)


def binomial_node(key: Node, count: Node, p: Node, *, dtype: DType, shape: Shape) -> Node:
    wide = FLOAT32 if dtype in EXTENSIONS else dtype  # NumPy counts in no bfloat16
    out = draws.random_binomial(key, count, p, dtype=wide, partitionable=partitionable(), shape=shape)
    return convert(out, dtype)


def categorical(
    key: Any,
    logits: Any,
    axis: int = -1,
    shape: Any = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Indices along `axis`, drawn with probabilities softmax(logits). The result has the shape of the other axes, or
    `shape`, which ends in it; without replacement the samples along its first axes differ.

    Raises: ValueError for a shape that does not fit, or more samples without replacement than there are categories.
    """
    check_arraylike("categorical", logits)
    node = as_node(logits)
    batch = tuple(np.delete(node.shape, axis).tolist())
    size = batch if shape is None else canonical_shape(shape)
    check_shape("categorical", size, batch)
    axis %= node.ndim
    count = math.prod(size[: len(size) - len(batch)])
    if not replace and count > node.shape[axis]:
        raise ValueError(
            f"Number of samples without replacement ({count}) cannot exceed number of categories ({node.shape[axis]})."
        )
    dtype = sampled_dtype("gumbel", node.dtype, float, "f")
    params = {"axis": axis, "shape": size, "mode": gumbel_mode(mode)}
    f = with_replacement if replace else without_replacement
    return draw("categorical", f, key, convert(node, dtype), **params)


def with_replacement(key: Node, logits: Node, *, axis: int, shape: Shape, mode: str) -> Node:
    """The Gumbel-max trick."""
    extra = len(shape) - (logits.ndim - 1)
    around = list(shape)
    around.insert(extra + axis, logits.shape[axis])
    noise = gumbel_node(key, dtype=logits.dtype, shape=tuple(around), mode=mode)
    return convert(argmax(add(noise, logits), axis=extra + axis, keepdims=False), int_dtype())


def without_replacement(key: Node, logits: Node, *, axis: int, shape: Shape, mode: str) -> Node:
    """The Gumbel-top-k trick (Kool, van Hoof, Welling: Stochastic beams and where to find them, 2019)."""
    rank = logits.ndim - 1
    scores = add(logits, gumbel_node(key, dtype=logits.dtype, shape=logits.shape, mode=mode))
    order = largest(move_axis(scores, axis, rank), math.prod(shape[: len(shape) - rank]))
    return reshape(transpose(order, axes=(rank, *range(rank))), shape=shape)


def largest(x: Node, k: int) -> Node:
    """Where the k largest elements of the last axis are, in falling order, equal ones in order of their places."""
    order = argsort(negative(x), axis=x.ndim - 1, kind="stable")
    first = slice_(order, key=(*whole(x.shape[:-1]), (0, k, 1)))
    return convert(first, INT32)


def multinomial(key: Any, n: Any, p: Any, *, shape: Any = None, dtype: Any = None, unroll: int | bool = 1) -> Array:
    """How often each outcome comes up in n trials with probabilities p along the last axis, as floats.

    Raises: ValueError for parameters that do not broadcast to `shape`.
    """
    check_arraylike("multinomial", n, p)
    own = inexact_dtype(n, p)
    size = shape_of(p) if shape is None else canonical_shape(shape)
    check_shape("multinomial", size, shape_of(p))
    count = broadcast_to(parameter(n, own), shape=size[:-1])
    chances = broadcast_to(parameter(p, own), shape=size)
    found = float_dtype() if dtype is None else requested(dtype)
    return draw("multinomial", multinomial_node, key, count, chances, dtype=found)


def multinomial_node(key: Node, count: Node, p: Node, *, dtype: DType) -> Node:
    """Category by category a binomial of what is left, with that category's share of the rest."""
    last = p.ndim - 1
    rest = flip(add_accumulate(flip(p, (last,)), axis=last, dtype=None), (last,))
    share = divide(p, where(equal(rest, zeros_of(rest)), scalar(1, p), rest))
    ratios = minimum(maximum(share, scalar(0, p)), scalar(1, p))  # NumPy has no clip of bfloat16
    counts = []
    for i, k in enumerate(parts(key, p.shape[last])):
        ratio = slice_(ratios, key=(*whole(count.shape), i))
        found = binomial_node(k, count, ratio, dtype=count.dtype, shape=count.shape)
        count = subtract(count, found)
        counts.append(expand_dims(found, last))
    return convert(concatenate(*counts, axis=last), dtype)
