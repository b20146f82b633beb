"""Continuous distributions that are transforms of uniform and normal numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph.node import Node
from ...ops.elementwise import (
    add,
    convert,
    divide,
    less,
    less_equal,
    make_complex,
    maximum,
    minimum,
    multiply,
    nextafter,
    scalar,
    square,
    subtract,
    where,
)
from ...ops.random import between, erf, erf_inv, exp, exp_complex, power
from ...ops.shape import add_reduce, broadcast_to, reshape, slice_, whole
from ...ops.tags import stop_gradient
from ...ops.transcendental import sqrt
from ..array import Array
from ..config import flags
from ..dtypes import DType, float_dtype, real_part
from ..numpy.call import NUMERIC, elementwise
from .arguments import (
    Shape,
    broadcast_shape,
    canonical_shape,
    check_safe,
    check_shape,
    common_shape,
    parameter,
    sampled_dtype,
    shape_of,
)
from .draws import random_sample
from .keys import draw, partitionable, parts


def sample(key: Node, sampler: str, dtype: DType, shape: Shape) -> Node:
    """Samples of a distribution without parameters, on nodes."""
    return random_sample(key, sampler=sampler, dtype=dtype, partitionable=partitionable(), shape=shape)


def total(x: Node) -> Node:
    """The sum along the last axis, which stays with length 1. It is made of additions, so that its order, and with it
    each bit, is the same in every tier; a reduction's is not. Types of two bytes are added as float32."""
    if x.dtype.itemsize == 2:
        return convert(total(convert(x, np.dtype(np.float32))), x.dtype)
    *rows, n = x.shape

    def part(start: int, count: int) -> Node:
        return slice_(x, key=(*whole(tuple(rows)), (start, count, 1)))

    if n < 2:
        return add_reduce(x, axes=(len(rows),), keepdims=True, dtype=x.dtype)
    if n % 2:
        return add(total(part(0, n - 1)), part(n - 1, 1))
    return total(add(part(0, n // 2), part(n // 2, n // 2)))


def simple(name: str, what: str) -> Callable[..., Array]:
    """A sampler without parameters."""

    def sampler(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
        found = sampled_dtype(name, dtype, float, "f")
        out: Array = draw(name, sample, key, sampler=name, dtype=found, shape=canonical_shape(shape))
        return out

    sampler.__name__ = sampler.__qualname__ = name
    sampler.__doc__ = f"""Samples of {what}, of the given shape and dtype (floating; float32, or float64 where 64 bits
    are enabled).

    Raises: TypeError for what is no key, ValueError for an array of keys or another kind of dtype.
    """
    return sampler


exponential = simple("exponential", "the exponential distribution with rate 1")
cauchy = simple("cauchy", "the Cauchy distribution, 1 / (pi (1 + x^2))")
laplace = simple("laplace", "the Laplace distribution, exp(-|x|) / 2")
logistic = simple("logistic", "the logistic distribution")


def uniform(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    minval: Any = 0.0,
    maxval: Any = 1.0,
    *,
    out_sharding: Any = None,
) -> Array:
    """Uniform numbers in [minval, maxval): floats of as many random bits as the dtype has in its mantissa.

    Raises: TypeError for what is no key or bounds that do not broadcast, ValueError for a dtype that is not floating.
    """
    found, size = sampled_dtype("uniform", dtype, float, "f"), canonical_shape(shape)
    if type(minval) in (int, float) and type(maxval) in (int, float) and minval == 0 and maxval == 1:
        return draw("uniform", sample, key, sampler="uniform", dtype=found, shape=size)
    check_bounds(size, minval, maxval)
    low, high = parameter(minval, found), parameter(maxval, found)
    return draw("uniform", uniform_between, key, low, high, dtype=found, shape=size)


def check_bounds(shape: Shape, *bounds: Any) -> None:
    try:
        check_shape("uniform", shape, *[shape_of(b) for b in bounds])
    except ValueError as error:
        raise TypeError(str(error)) from None


def uniform_between(key: Node, low: Node, high: Node, *, dtype: DType, shape: Shape) -> Node:
    return between(sample(key, "uniform", dtype, shape), low, high)


def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Standard normal numbers; complex ones have independent parts of variance 1/2.

    Raises: TypeError for what is no key, ValueError for a dtype that is not floating or complex.
    """
    found = sampled_dtype("normal", dtype, float, "fc")
    return draw("normal", normal_node, key, dtype=found, shape=canonical_shape(shape))


def normal_node(key: Node, *, dtype: DType, shape: Shape) -> Node:
    if dtype.kind != "c":
        return sample(key, "normal", dtype, shape)
    both = [sample(k, "normal", real_part(dtype), shape) for k in parts(key, 2)]
    one, dtype = real_part(dtype).type(1), real_part(dtype)
    half = Node.of_scalar(one / dtype.type(math.sqrt(2)))  # by which JAX's compiled code multiplies
    return make_complex(*[multiply(x, half) for x in both])


def gumbel(key: Any, shape: Any = (), dtype: Any = None, mode: str | None = None, *, out_sharding: Any = None) -> Array:
    """Gumbel numbers, of density exp(-(x + exp(-x))). `mode` says how much of the tails is reached: "low" up to about
    16, "high" up to 32, in float32, "highest" with all the precision that there is.

    Raises: ValueError for another mode or a dtype that is not floating.
    """
    found, size = sampled_dtype("gumbel", dtype, float, "f"), canonical_shape(shape)
    return draw("gumbel", gumbel_node, key, dtype=found, shape=size, mode=gumbel_mode(mode))


def gumbel_mode(mode: str | None) -> str:
    if mode is None:
        mode = "high" if flags.high_dynamic_range_gumbel else "low"
    if mode not in ("highest", "high", "low"):
        raise ValueError(f"Must provide valid mode for gumbel got: {mode}")
    return mode


def gumbel_node(key: Node, *, dtype: DType, shape: Shape, mode: str) -> Node:
    if mode == "highest" and dtype != np.float32:
        mode = "high"
    return sample(key, "gumbel" if mode == "low" else f"gumbel_{mode}", dtype, shape)


def truncated_normal(
    key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Array:
    """Standard normal numbers, given that they are in the open interval (lower, upper).

    Raises: ValueError for a dtype that is not floating or bounds that do not broadcast to `shape`.
    """
    size = None if shape is None else canonical_shape(shape)
    found = sampled_dtype("truncated_normal", dtype, float, "f")
    size = broadcast_shape("truncated_normal", size, lower, upper)
    low, high = parameter(lower, found), parameter(upper, found)
    return draw("truncated_normal", truncated_node, key, low, high, shape=size)


def truncated_node(key: Node, lower: Node, upper: Node, *, shape: Shape) -> Node:
    root = scalar(math.sqrt(2), lower)
    inverse = divide(scalar(1, lower), root)  # XLA multiplies by the inverse of a constant
    low, high = (erf(multiply(x, inverse)) for x in (lower, upper))
    x = multiply(root, erf_inv(between(sample(key, "uniform", lower.dtype, shape), low, high)))
    inside = [nextafter(stop_gradient(b), scalar(s * math.inf, b)) for b, s in ((lower, 1), (upper, -1))]
    return minimum(maximum(x, inside[0]), inside[1])  # NumPy has no clip of bfloat16


def pareto(key: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Pareto numbers, of density b / x^(b + 1) for x >= 1.

    Raises: ValueError for a dtype that is not floating, or that `b` does not fit into.
    """
    found = sampled_dtype("pareto", dtype, float, "f")
    size = broadcast_shape("pareto", shape, b)
    check_safe("pareto", found, b)
    return draw("pareto", pareto_node, key, parameter(b, found), shape=size)


def pareto_node(key: Node, b: Node, *, shape: Shape) -> Node:
    return exp(divide(sample(key, "exponential", b.dtype, shape), b))


def rayleigh(key: Any, scale: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Rayleigh numbers: lengths of vectors of two normal numbers of that standard deviation.

    Raises: ValueError for a dtype that is not floating, or that `scale` does not fit into.
    """
    found = sampled_dtype("rayleigh", dtype, float, "f")
    size = broadcast_shape("rayleigh", shape, scale)
    check_safe("rayleigh", found, scale)
    return draw("rayleigh", rayleigh_node, key, parameter(scale, found), shape=size)


def rayleigh_node(key: Node, scale: Node, *, shape: Shape) -> Node:
    return multiply(broadcast_to(scale, shape=shape), sample(key, "rayleigh", scale.dtype, shape))


def wald(key: Any, mean: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Wald (inverse normal) numbers of that mean and scale 1.

    Raises: ValueError for a dtype that is not floating, or that `mean` does not fit into.
    """
    found = sampled_dtype("wald", dtype, float, "f")
    size = broadcast_shape("wald", shape, mean)
    check_safe("wald", found, mean)
    return draw("wald", wald_node, key, parameter(mean, found), shape=size)


def wald_node(key: Node, mean: Node, *, shape: Shape) -> Node:
    first, second = parts(key, 2)
    mean = broadcast_to(mean, shape=shape)
    y = square(sample(first, "normal", mean.dtype, shape))
    two, four = scalar(2, mean), scalar(4, mean)
    spread = square(mean)
    root = sqrt(add(multiply(multiply(four, mean), y), multiply(spread, square(y))))
    x = subtract(add(mean, divide(multiply(spread, y), two)), multiply(divide(mean, two), root))
    z = sample(second, "uniform", mean.dtype, shape)
    return where(less_equal(z, divide(mean, add(mean, x))), x, divide(spread, x))


def triangular(
    key: Any, left: Any, mode: Any, right: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Array:
    """Numbers in [left, right] whose density rises to `mode` and falls from there in straight lines.

    Raises: ValueError for a dtype that is not floating, or that a parameter does not fit into.
    """
    found = sampled_dtype("triangular", dtype, float, "f")
    size = broadcast_shape("triangular", shape, left, mode, right)
    check_safe("triangular", found, left, mode, right)
    nodes = [parameter(p, found) for p in (left, mode, right)]
    return draw("triangular", triangular_node, key, *nodes, shape=size)


def triangular_node(key: Node, left: Node, mode: Node, right: Node, *, shape: Shape) -> Node:
    left, mode, right = (broadcast_to(x, shape=shape) for x in (left, mode, right))
    u = sample(key, "uniform", left.dtype, shape)
    width, rise = subtract(right, left), subtract(mode, left)
    below = add(left, sqrt(multiply(multiply(u, width), rise)))
    rest = multiply(multiply(subtract(scalar(1, u), u), width), subtract(right, mode))
    return where(less(u, divide(rise, width)), below, subtract(right, sqrt(rest)))


def lognormal(key: Any, sigma: Any = 1.0, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """exp of normal numbers of standard deviation sigma.

    Raises: ValueError for a dtype that is not floating or complex, or that `sigma` does not fit into.
    """
    found = sampled_dtype("lognormal", dtype, float, "fc")
    size = broadcast_shape("lognormal", shape, sigma)
    check_safe("lognormal", found, sigma)
    return draw("lognormal", lognormal_node, key, parameter(sigma, found), shape=size)


def lognormal_node(key: Node, sigma: Node, *, shape: Shape) -> Node:
    if sigma.dtype.kind == "c":
        return exp_complex(multiply(normal_node(key, dtype=sigma.dtype, shape=shape), sigma))
    x = sample(key, "normal_root", sigma.dtype, shape)  # multiplied in the order in which XLA does
    return exp(multiply(x, multiply(sigma, scalar(math.sqrt(2), sigma))))


raised = elementwise("weibull_min", power, NUMERIC, "f")


def weibull_min(key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None) -> Array:
    """Weibull numbers: scale times exponential numbers to the power 1 / concentration.

    Raises: ValueError for a dtype that is not floating.
    """
    found = sampled_dtype("weibull_min", dtype, float, "f")
    e = draw("weibull_min", sample, key, sampler="exponential", dtype=found, shape=canonical_shape(shape))
    return raised(e, 1.0 / concentration) * scale


def maxwell(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Maxwell numbers: lengths of vectors of three normal numbers.

    Raises: ValueError for a dtype that is not floating.
    """
    found = sampled_dtype("maxwell", dtype, float, "f")
    return draw("maxwell", maxwell_node, key, dtype=found, shape=canonical_shape(shape))


def maxwell_node(key: Node, *, dtype: DType, shape: Shape) -> Node:
    return reshape(sqrt(total(square(sample(key, "normal", dtype, (*shape, 3))))), shape=shape)


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Array:
    """Maxwell numbers with a random sign, times scale, plus loc. The result has the shape (*shape, *parameters'), where
    an empty shape counts as the parameters'.

    Raises: ValueError for a dtype that is not floating.
    """
    found = sampled_dtype("double_sided_maxwell", dtype, float, "f")
    together = common_shape(shape_of(loc), shape_of(scale))
    size = (*(canonical_shape(shape) or together), *together)
    x: Array = draw("double_sided_maxwell", signed_maxwell, key, dtype=found, shape=size)
    return x * scale + loc


def signed_maxwell(key: Node, *, dtype: DType, shape: Shape) -> Node:
    first, second = parts(key, 2)
    return multiply(sign_node(second, dtype=dtype, shape=shape), maxwell_node(first, dtype=dtype, shape=shape))


def sign_node(key: Node, *, dtype: DType, shape: Shape) -> Node:
    """-1 or 1."""
    u = sample(key, "uniform", float_dtype(), shape)
    one = Node.of_scalar(np.ones((), dtype)[()])
    return where(less(u, scalar(0.5, u)), one, Node.of_scalar((-np.ones((), dtype)).astype(dtype)[()]))
