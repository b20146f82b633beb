"""The gamma distribution and those that are made of it."""

from __future__ import annotations

from typing import Any

from ...graph.node import Node
from ...ops import random as ops
from ...ops.elementwise import absolute, add, divide, maximum, multiply, subtract
from ...ops.random import power
from ...ops.reductions import maximum_reduce
from ...ops.shape import broadcast_to
from ...ops.tags import stop_gradient
from ...ops.transcendental import sqrt
from ..array import Array
from .arguments import (
    Shape,
    broadcast_shape,
    canonical_shape,
    check_safe,
    check_shape,
    parameter,
    sampled_dtype,
    shape_of,
)
from .continuous import sample, scalar, sign_node, total
from .draws import random_gamma
from .keys import draw, partitionable, parts


def gamma_node(key: Node, a: Node, *, shape: Shape, log_space: bool = False) -> Node:
    if a.shape != shape:
        a = broadcast_to(a, shape=shape)
    return random_gamma(key, a, log_space=log_space, partitionable=partitionable())


def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Gamma numbers with parameter a and scale 1. The derivative along `a` is the implicit one.

    Raises: ValueError for a dtype that is not floating or an `a` that does not broadcast to `shape`.
    """
    return either_gamma(key, a, shape, dtype, False)


def loggamma(key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Logarithms of gamma numbers, which keep their precision where these underflow, for small a.

    Raises: ValueError for a dtype that is not floating or an `a` that does not broadcast to `shape`.
    """
    return either_gamma(key, a, shape, dtype, True)


def either_gamma(key: Any, a: Any, shape: Any, dtype: Any, log_space: bool) -> Array:
    found = sampled_dtype("gamma", dtype, float, "f")
    size = broadcast_shape("gamma", shape, a)
    node = parameter(a, found)
    return draw("gamma", gamma_node, key, node, shape=size, log_space=log_space)


def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Beta numbers, of density proportional to x^(a - 1) (1 - x)^(b - 1).

    Raises: ValueError for a dtype that is not floating, or that a parameter does not fit into.
    """
    found = sampled_dtype("beta", dtype, float, "f")
    check_safe("beta", found, a, b)
    size = broadcast_shape("beta", shape, a, b)
    return draw("beta", beta_node, key, parameter(a, found), parameter(b, found), shape=size)


def beta_node(key: Node, a: Node, b: Node, *, shape: Shape) -> Node:
    logs = [gamma_node(k, x, shape=shape, log_space=True) for k, x in zip(parts(key, 2), (a, b))]
    top = maximum(*logs)
    first, second = (ops.exp(subtract(x, top)) for x in logs)
    return divide(first, add(first, second))


def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Vectors of positive numbers with sum 1 along the last axis, whose concentrations are alpha's last axis. `shape`
    is that of the others.

    Raises: ValueError for a dtype that is not floating, an alpha without axes, or one that does not broadcast.
    """
    found, own = sampled_dtype("dirichlet", dtype, float, "f"), shape_of(alpha)
    if not own:
        raise ValueError(f"dirichlet requires alpha.ndim >= 1, got alpha.ndim == {len(own)}")
    size = own[:-1] if shape is None else canonical_shape(shape)
    check_shape("dirichlet", size, own[:-1])
    whole = (*size, own[-1])
    return draw("dirichlet", dirichlet_node, key, parameter(alpha, found), shape=whole)


def dirichlet_node(key: Node, alpha: Node, *, shape: Shape) -> Node:
    """The softmax of loggamma numbers."""
    x, axes = gamma_node(key, alpha, shape=shape, log_space=True), (len(shape) - 1,)
    top = maximum_reduce(stop_gradient(x), axes=axes, keepdims=True, dtype=None)
    parts_of = ops.exp(subtract(x, top))
    return divide(parts_of, total(parts_of))


def chisquare(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Chi-square numbers with df degrees of freedom.

    Raises: ValueError for a dtype that is not floating, or that `df` does not fit into.
    """
    found = sampled_dtype("chisquare", dtype, float, "f")
    size = broadcast_shape("chisquare", shape, df)
    check_safe("chisquare", found, df)
    return draw("chisquare", chisquare_node, key, parameter(df, found), shape=size)


def chisquare_node(key: Node, df: Node, *, shape: Shape) -> Node:
    two = scalar(2, df)
    return multiply(ops.exp(gamma_node(key, divide(df, two), shape=shape, log_space=True)), two)


def f(key: Any, dfnum: Any, dfden: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """F numbers with dfnum and dfden degrees of freedom.

    Raises: ValueError for a dtype that is not floating, or that a parameter does not fit into.
    """
    found = sampled_dtype("f", dtype, float, "f")
    size = broadcast_shape("f", shape, dfnum, dfden)
    check_safe("f", found, dfnum, dfden)
    return draw("f", f_node, key, parameter(dfnum, found), parameter(dfden, found), shape=size)


def f_node(key: Node, above: Node, below: Node, *, shape: Shape) -> Node:
    second, first = parts(key, 2)
    top = divide(chisquare_node(first, above, shape=shape), above)
    return divide(top, divide(chisquare_node(second, below, shape=shape), below))


def t(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Student's t with df degrees of freedom.

    Raises: ValueError for a dtype that is not floating, or that `df` does not fit into.
    """
    found = sampled_dtype("t", dtype, float, "f")
    size = broadcast_shape("t", shape, df)
    check_safe("t", found, df)
    return draw("t", t_node, key, parameter(df, found), shape=size)


def t_node(key: Node, df: Node, *, shape: Shape) -> Node:
    first, second = parts(key, 2)
    half = divide(df, scalar(2, df))
    g = gamma_node(second, half, shape=shape)
    return multiply(sample(first, "normal", df.dtype, shape), sqrt(divide(half, g)))


def generalized_normal(key: Any, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Numbers of density proportional to exp(-|x|^p).

    Raises: ValueError for a dtype that is not floating.
    """
    size = canonical_shape(shape)
    found = sampled_dtype("gamma", dtype, float, "f")
    inverse = parameter(1 / p, found)
    return draw("generalized_normal", generalized_node, key, inverse, shape=size)


def generalized_node(key: Node, inverse: Node, *, shape: Shape) -> Node:
    first, second = parts(key, 2)
    sign = sign_node(second, dtype=inverse.dtype, shape=shape)
    return multiply(sign, power(gamma_node(first, inverse, shape=shape), inverse))


def ball(key: Any, d: int, p: Any = 2, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Points in the unit ball of the p-norm in d dimensions, the last axis.

    Barthe, Guedon, Mendelson, Naor: A probabilistic approach to the geometry of the l_p^n-ball (2005).
    """
    size = canonical_shape(shape)
    found = sampled_dtype("gamma", dtype, float, "f")
    (length,) = canonical_shape((d,))
    power_of = parameter(p, found)
    nodes = (power_of, parameter(1 / p, found))
    return draw("ball", ball_node, key, *nodes, shape=size, d=length)


def ball_node(key: Node, p: Node, inverse: Node, *, shape: Shape, d: int) -> Node:
    first, second = parts(key, 2)
    g = generalized_node(first, inverse, shape=(*shape, d))
    size = add(total(power(absolute(g), p)), sample(second, "exponential", g.dtype, (*shape, 1)))
    return divide(g, power(size, inverse))
