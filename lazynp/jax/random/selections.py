"""Permutations, choices, and random matrices: what works on arrays as a whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from ...backends.numpy.samplers import rounds_of_sorting
from ...graph.node import Node
from ...ops.elementwise import add, convert, multiply, subtract
from ...ops.indexing import take, take_along_axis
from ...ops.random import log
from ...ops.scans import add_accumulate
from ...ops.shape import reshape, slice_
from ...ops.sorting import argsort, searchsorted
from .. import numpy as jnp
from ..array import Array, as_node, check_arraylike
from ..dtypes import KIND_OF, int_dtype
from .arguments import Shape, canonical_shape, check_shape, parameter, sampled_dtype
from .continuous import gumbel_mode, gumbel_node, normal_node, sample, scalar
from .discrete import bits_node, inexact_dtype, largest, randint_node
from .draws import random_order
from .keys import draw, partitionable, parts

UINT32 = np.dtype(np.uint32)


def canonical_axis(axis: Any, ndim: int) -> int:
    axis = index(axis)
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis % ndim


def whole_count(x: Any, where: str) -> int:
    """A number of elements, which must be known. Raises JAX's error for a traced one."""
    return int(x)


def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Any = None) -> Array:
    """x in random order along an axis, or the integers below x. `independent`: each line along the axis for itself.

    Raises: TypeError for a scalar that is no integer.
    """
    check_arraylike("permutation", x)
    ndim = np.ndim(x)
    axis = canonical_axis(axis, ndim or 1)
    if ndim:
        params = {"axis": axis, "together": not independent and ndim > 1}
        return draw("permutation", permuted, key, as_node(x), **params)
    node = as_node(x)
    if KIND_OF[node.dtype] not in "iu":
        raise TypeError("x must be an integer or at least 1-dimensional")
    n = max(whole_count(x, "permutation"), 0)
    return draw("permutation", order_below, key, n=n)


def order_below(key: Node, *, n: int) -> Node:
    return random_order(key, dtype=int_dtype(), partitionable=partitionable(), n=n)


def permuted(key: Node, x: Node, *, axis: int, together: bool) -> Node:
    if not together and x.ndim > 1:
        return shuffled(key, x, axis=axis)
    return take(x, order_below(key, n=x.shape[axis]), axis)


def shuffled(key: Node, x: Node, *, axis: int) -> Node:
    """Sorted by random words, in so many rounds that two elements hardly have equal words in all of them."""
    for _ in range(rounds_of_sorting(math.prod(x.shape))):
        key, own = parts(key, 2)
        words = bits_node(own, dtype=UINT32, shape=x.shape)
        x = take_along_axis(x, argsort(words, axis=axis, kind="stable"), axis)
    return x


def choice(
    key: Any,
    a: Any,
    shape: Any = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    mode: str | None = None,
) -> Array:
    """Elements of `a` along an axis, or integers below a, drawn with equal probabilities or with probabilities p.

    Raises: TypeError for a shape that is no sequence; ValueError for more elements without replacement than there are,
    an empty `a`, or a `p` of another length.
    """
    if not isinstance(shape, Sequence):
        raise TypeError(f"shape argument of jax.random.choice must be a sequence, got {shape}")
    check_arraylike("choice", a)
    node, size = as_node(a), canonical_shape(shape)
    among, draws = node.ndim > 0, math.prod(size)
    axis = canonical_axis(axis, node.ndim) if among else 0
    n = node.shape[axis] if among else whole_count(a, "choice")
    if draws == 0:
        return jnp.zeros(size, node.dtype)
    if n <= 0:
        raise ValueError("a must be greater than 0 unless no samples are taken")
    if not replace and draws > n:
        raise ValueError(f"Cannot take a larger sample (size {draws}) than population (size {n}) when 'replace=False'")
    params = {"n": n, "shape": size, "axis": axis, "replace": replace, "among": among}
    if p is None:
        return draw("choice", chosen_evenly, key, *[node] * among, **params)
    check_arraylike("choice", p)
    chances = parameter(p, inexact_dtype(p))
    if chances.shape != (n,):
        raise ValueError(
            "p must be None or a 1D vector with the same size as a.shape[axis]. p has shape "
            f"{chances.shape} and a.shape[axis] is {n}."
        )
    params["mode"] = gumbel_mode(mode)
    return draw("choice", chosen_by, key, chances, *[node] * among, **params)


def picked(places: Node, a: tuple[Node, ...], axis: int, shape: Shape) -> Node:
    """The elements at these places (of any shape with as many elements), or the places themselves."""
    places = reshape(places, shape=shape)
    return take(a[0], places, axis) if a else places


def chosen_evenly(key: Node, *a: Node, n: int, shape: Shape, axis: int, replace: bool, among: bool) -> Node:
    if replace:
        low, high = (convert(as_node(v), int_dtype()) for v in (0, n))
        return picked(randint_node(key, low, high, dtype=int_dtype(), shape=shape), a, axis, shape)
    count = math.prod(shape)
    return picked(slice_(order_below(key, n=n), key=((0, count, 1),)), a, axis, shape)


def chosen_by(
    key: Node, p: Node, *a: Node, n: int, shape: Shape, axis: int, replace: bool, among: bool, mode: str
) -> Node:
    if replace:
        total = add_accumulate(p, axis=0, dtype=p.dtype)
        u = sample(key, "uniform", p.dtype, shape)
        goal = multiply(slice_(total, key=(n - 1,)), subtract(scalar(1, u), u))
        places = searchsorted(total, goal, side="left", stack=0)
    else:
        places = largest(add(gumbel_node(key, dtype=p.dtype, shape=(n,), mode=mode), log(p)), math.prod(shape))
    return picked(convert(places, int_dtype()), a, axis, shape)


def multivariate_normal(
    key: Any,
    mean: Any,
    cov: Any,
    shape: Any = None,
    dtype: Any = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Array:
    """Normal vectors (the last axis) of that mean and covariance, a positive definite matrix; `method` "svd" or "eigh"
    takes semidefinite ones too. `shape` is that of the other axes.

    Raises: ValueError for another method, a dtype that is not floating, or shapes that do not fit.
    """
    own = inexact_dtype(mean, cov)
    mean, cov = (jnp.asarray(x, own) for x in (mean, cov))
    if method not in ("svd", "eigh", "cholesky"):
        raise ValueError("method must be one of {'svd', 'eigh', 'cholesky'}")
    found = sampled_dtype("multivariate_normal", own if dtype is None else dtype, float, "f")
    if mean.ndim < 1:
        raise ValueError(f"multivariate_normal requires mean.ndim >= 1, got mean.ndim == {mean.ndim}")
    if cov.ndim < 2:
        raise ValueError(f"multivariate_normal requires cov.ndim >= 2, got cov.ndim == {cov.ndim}")
    n = mean.shape[-1]
    if cov.shape[-2:] != (n, n):
        raise ValueError(
            f"multivariate_normal requires cov.shape == (..., n, n) for n={n}, but got cov.shape == {cov.shape}."
        )
    if shape is None:
        size = np.broadcast_shapes(mean.shape[:-1], cov.shape[:-2])
    else:
        size = canonical_shape(shape)
        check_shape("normal", size, mean.shape[:-1], cov.shape[:-2])
    x = draw("multivariate_normal", normal_node, key, dtype=found, shape=(*size, n))
    return mean + jnp.matmul(factor(cov, method), x[..., None])[..., 0]


def factor(cov: Array, method: str) -> Any:
    """A matrix whose product with its transpose is the covariance."""
    if method == "cholesky":
        return jnp.linalg.cholesky(cov)
    if method == "eigh":
        values, vectors = jnp.linalg.eigh(cov)
    else:
        vectors, values, _ = jnp.linalg.svd(cov)
    return vectors * jnp.sqrt(values[..., None, :])


def orthogonal(
    key: Any, n: int, shape: Any = (), dtype: Any = None, m: int | None = None, *, out_sharding: Any = None
) -> Array:
    """Matrices of shape (*shape, n, m), evenly distributed among those with orthonormal rows (if n <= m) or columns;
    unitary ones for a complex dtype.

    F. Mezzadri, How to generate random matrices from the classical compact groups (Notices AMS 54, 2007).
    """
    size = canonical_shape(shape)
    found = sampled_dtype("normal", dtype, float, "fc")
    (rows, columns) = canonical_shape((n, n if m is None else m))
    z = draw("orthogonal", normal_node, key, dtype=found, shape=(*size, max(rows, columns), min(rows, columns)))
    q, r = jnp.linalg.qr(z)
    x = q * jnp.expand_dims(jnp.sign(jnp.diagonal(r, axis1=-2, axis2=-1)), -2)
    return jnp.swapaxes(x, -1, -2) if rows < columns else x
