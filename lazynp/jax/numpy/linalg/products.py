"""Products under `linalg`'s names, with the array API's arguments."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from typing import Any

import opt_einsum

from ...array import check_arraylike
from ...precision import check_precision
from .. import matrices, products
from ..axes import static_int
from ..creation import asarray, eye
from ..shape import broadcast_to, ndim, shape
from .solve import inv

vecdot = products.vecdot


def matmul(x1: Any, x2: Any, /, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The product of stacks of matrices, or of vectors."""
    return products.matmul(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


def tensordot(
    x1: Any,
    x2: Any,
    /,
    *,
    axes: Any = 2,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The sum of products over pairs of axes, or over the last `axes` of the first and the first of the second."""
    how = {"precision": precision, "preferred_element_type": preferred_element_type}
    return products.tensordot(x1, x2, axes, **how, out_sharding=out_sharding)


def outer(x1: Any, x2: Any, /) -> Any:
    """All products of elements of two vectors."""
    check_arraylike("jnp.linalg.outer", x1, x2)
    if ndim(x1) != 1 or ndim(x2) != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are x1.ndim={ndim(x1)} x2.ndim={ndim(x2)}")
    return products.outer(x1, x2)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross product of vectors of 3 elements."""
    check_arraylike("jnp.linalg.cross", x1, x2)
    if shape(x1)[axis] != 3 or shape(x2)[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they have "
            f"x1.shape[axis]={shape(x1)[axis]} and x2.shape[axis]={shape(x2)[axis]}"
        )
    return products.cross(x1, x2, axis=axis)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of the last two axes."""
    return matrices.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sums of the diagonals of the last two axes."""
    return matrices.trace(x, offset, -2, -1, dtype)


def matrix_power(a: Any, n: int) -> Any:
    """A whole power of square matrices, by squaring. Raises TypeError for another exponent."""
    check_arraylike("jnp.linalg.matrix_power", a)
    x = asarray(a)
    if x.ndim < 2:
        raise TypeError(f"{x.ndim}-dimensional array given. Array must be at least two-dimensional")
    if x.shape[-1] != x.shape[-2]:
        raise TypeError("Last 2 dimensions of the array must be square")
    try:
        n = static_int(n)
    except TypeError as error:
        raise TypeError(f"exponent must be an integer, got {n}") from error
    if n == 0:
        return broadcast_to(eye(x.shape[-2], dtype=x.dtype), x.shape)
    if n < 0:
        x, n = inv(x), -n
    factors = []
    while n:
        if n & 1:
            factors.append(x)
        n >>= 1
        x = x @ x if n else x
    return reduce(matmul, factors)


def multi_dot(arrays: Any, *, precision: Any = None) -> Any:
    """The product of several matrices in the order that costs least."""
    given = list(arrays)
    check_precision(precision)
    check_arraylike("jnp.linalg.multi_dot", *given)
    xs = [asarray(a) for a in given]
    if len(xs) < 2:
        raise ValueError(f"multi_dot requires at least two arrays; got len(arrays)={len(xs)}")
    if xs[0].ndim not in (1, 2) or xs[-1].ndim not in (1, 2) or any([x.ndim != 2 for x in xs[1:-1]]):
        raise ValueError(
            "multi_dot: input arrays must all be two-dimensional, except for the first and last array which may be 1 "
            f"or 2 dimensional. Got array shapes {[x.shape for x in xs]}"
        )
    if any([a.shape[-1] != b.shape[0] for a, b in pairwise(xs)]):
        raise ValueError(
            "multi_dot: last dimension of each array must match first dimension of following array. Got array shapes "
            f"{[x.shape for x in xs]}"
        )
    letters = [opt_einsum.get_symbol(i) for i in range(len(xs) + 1)]
    parts = [letters[i] + letters[i + 1] for i in range(len(xs))]
    parts[0] = parts[0][-xs[0].ndim :]
    parts[-1] = parts[-1][: xs[-1].ndim]
    end = (letters[0] if xs[0].ndim == 2 else "") + (letters[-1] if xs[-1].ndim == 2 else "")
    return products.einsum(f"{','.join(parts)}->{end}", *xs, optimize="optimal")
