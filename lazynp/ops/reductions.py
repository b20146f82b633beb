"""Reductions: `ufunc.reduce` of every binary ufunc, mean, variance, argmin and argmax.

`axes` is a sorted tuple of non-negative ints; dtype None is NumPy's default for the ufunc.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import DEFINITE, LIBRARY, Op, Rule
from .code import REAL, Code
from .elementwise import (
    add,
    convert,
    divide,
    equal,
    imag,
    multiply,
    real,
    scalar,
    square,
    subtract,
    where,
)
from .family import axis_batch, reduce_op
from .joining import concatenate, flip, span
from .promotion import Shape, numpy_error, reduced_dtype
from .scans import multiply_accumulate
from .shape import add_reduce, broadcast_to, expand_reduced, reduced_shape, reshape, transpose, zeros_of
from .transcendental import exp, exp2, finite_difference, hypot_share, sqrt
from .ufuncs import ufuncs


def extremum_jvp(
    tangents: Sequence[Node | None], out: Node, x: Node, *, axes: Shape, keepdims: bool, dtype: Any
) -> Node | None:
    """The tangents of the extreme elements; where there are several, their mean."""
    t = tangents[0]
    if t is None:
        return None
    hit = equal(x, expand_reduced(out, x.shape, axes, keepdims))
    count = add_reduce(convert(hit, t.dtype), axes=axes, keepdims=keepdims, dtype=None)
    chosen = where(hit, t, zeros_of(Aval((), t.dtype)))
    return divide(add_reduce(chosen, axes=axes, keepdims=keepdims, dtype=None), count)


def product_jvp(
    tangents: Sequence[Node | None], out: Node, x: Node, *, axes: Shape, keepdims: bool, dtype: Any
) -> Node | None:
    """Each element's tangent times the product of the elements before and after it: right where some are zero."""
    t = tangents[0]
    if t is None:
        return None
    x, t = last_flat(x, axes), last_flat(t, axes)
    end = x.ndim - 1
    others = multiply(products_before(x, end), flip(products_before(flip(x, (end,)), end), (end,)))
    along = add_reduce(multiply(t, others), axes=(end,), keepdims=False, dtype=None)
    return along if along.shape == out.shape else reshape(along, shape=out.shape)


def last_flat(x: Node, axes: Shape) -> Node:
    """These axes as one, the last."""
    kept = [a for a in range(x.ndim) if a not in axes]
    return reshape(
        transpose(x, axes=(*kept, *axes)), shape=(*[x.shape[a] for a in kept], math.prod(x.shape[a] for a in axes))
    )


def products_before(x: Node, axis: int) -> Node:
    n = x.shape[axis]
    if n == 0:
        return x
    one = broadcast_to(np.ones((), x.dtype)[()], shape=reduced_shape(x.shape, (axis,), True))
    return concatenate(one, span(multiply_accumulate(x, axis=axis, dtype=None), axis, 0, n - 1), axis=axis)


def weighted_jvp(weight: Rule) -> Rule:
    """The sum of the tangents, each scaled by `weight(g, out, x)`."""

    def jvp(
        tangents: Sequence[Node | None], out: Node, x: Node, *, axes: Shape, keepdims: bool, dtype: Any
    ) -> Node | None:
        if tangents[0] is None:
            return None
        along = weight(tangents[0], expand_reduced(out, x.shape, axes, keepdims), x)
        return add_reduce(along, axes=axes, keepdims=keepdims, dtype=None)

    return jvp


EXTREMUM: dict[str, Any] = {"jvp": extremum_jvp, "weakness": DEFINITE}
DERIVATIVES: dict[str, dict[str, Any]] = {
    "multiply": {"jvp": product_jvp, "weakness": DEFINITE},
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin"), EXTREMUM),
    "logaddexp": {"jvp": weighted_jvp(lambda g, out, x: multiply(g, exp(finite_difference(x, out))))},
    "logaddexp2": {"jvp": weighted_jvp(lambda g, out, x: multiply(g, exp2(finite_difference(x, out))))},
    "hypot": {"jvp": weighted_jvp(hypot_share)},
}
COMPILED = ("multiply", "maximum", "minimum", "logical_and", "logical_or")  # at the end of a kernel
reductions: dict[str, Op] = {"add": add_reduce}
for _name in ufuncs:
    if getattr(np, _name).nin == 2 and _name not in reductions:
        _code = Code(REAL) if _name in COMPILED else Code() if _name.startswith("bitwise") else None
        reductions[_name] = reduce_op(_name, _code, **DERIVATIVES.get(_name, {}))
multiply_reduce, maximum_reduce, minimum_reduce = (reductions[n] for n in ("multiply", "maximum", "minimum"))
logical_and_reduce, logical_or_reduce = reductions["logical_and"], reductions["logical_or"]


def reduce(
    name: str,
    x: Node,
    axes: Shape | None = None,
    keepdims: bool = False,
    dtype: Any = None,
    initial: Any = None,
    where_: Node | None = None,
) -> Node:
    """`ufunc.reduce` with NumPy's `initial` and `where`; axes None is all of them.

    Raises: ValueError, NumPy's, where `where_` is given and neither `initial` nor an identity of the ufunc says what an
    empty selection gives.
    """
    op, ufunc = reductions[name], getattr(np, name)
    axes = tuple(range(x.ndim)) if axes is None else axes
    if where_ is not None:
        fill = initial if ufunc.identity is None else ufunc.identity
        if fill is None:
            raise numpy_error(ufunc.reduce, x.aval, axis=axes, where=np.zeros((), bool))
        x = (
            convert(x, np.dtype(dtype) if dtype is not None else reduced_dtype(ufunc, "reduce", x.dtype, None))
            if name in ("add", "multiply")
            else x
        )
        identity = fill if isinstance(fill, Node) else scalar(fill, x)
        x = where(where_, x, convert(identity, x.dtype))
    if initial is not None and any(x.shape[a] == 0 for a in axes) and ufunc.identity is None:
        shape = reduced_shape(x.shape, axes, keepdims)
        start = initial if isinstance(initial, Node) else scalar(initial, x)
        return broadcast_to(convert(start, x.dtype), shape=shape)
    out = op(x, axes=axes, keepdims=keepdims, dtype=dtype)
    return out if initial is None else convert(ufuncs[name](initial, out), out.dtype)


def reduced_count(x: Node, axes: Shape) -> np.intp:
    return np.intp(math.prod(x.shape[a] for a in axes))


def divided(total: Node, count: Any) -> Node:
    """NumPy divides in the common dtype of the sum and a 64-bit integer, and casts the quotient back."""
    return convert(divide(total, Node.of_scalar(count)), total.dtype)


def mean(x: Node, axes: Shape, keepdims: bool = False, dtype: np.dtype[Any] | None = None) -> Node:
    """numpy.mean, by NumPy's own algorithm (`numpy._core._methods._mean`)."""
    half = dtype is None and x.dtype == np.float16
    if dtype is None:
        dtype = np.dtype(np.float64) if x.dtype.kind in "iub" else np.dtype(np.float32) if half else None
    out = divided(add_reduce(x, axes=axes, keepdims=keepdims, dtype=dtype), reduced_count(x, axes))
    return convert(out, x.dtype) if half else out


def var(
    x: Node,
    axes: Shape,
    keepdims: bool = False,
    dtype: np.dtype[Any] | None = None,
    ddof: float = 0,
    mean: Node | None = None,
) -> Node:
    """numpy.var, by NumPy's own algorithm (`numpy._core._methods._var`); `mean` keeps the reduced axes."""
    if dtype is None and x.dtype.kind in "iub":
        dtype = np.dtype(np.float64)
    count = reduced_count(x, axes)
    if mean is None:
        mean = divided(add_reduce(x, axes=axes, keepdims=True, dtype=dtype), count)
    d = subtract(x, mean)
    squares = square(d) if d.dtype.kind != "c" else add(square(real(d)), square(imag(d)))
    total = add_reduce(squares, axes=axes, keepdims=keepdims, dtype=dtype)
    return divided(total, np.maximum(count - ddof, 0))


def std(
    x: Node,
    axes: Shape,
    keepdims: bool = False,
    dtype: np.dtype[Any] | None = None,
    ddof: float = 0,
    mean: Node | None = None,
) -> Node:
    """numpy.std."""
    out = var(x, axes, keepdims, dtype, ddof, mean)
    return convert(sqrt(out), out.dtype)


def arg_op(name: str) -> Op:
    function = getattr(np, name)

    def abstract(x: Aval, *, axis: int, keepdims: bool) -> Aval:
        if x.shape[axis] == 0 and 0 not in x.shape[:axis] + x.shape[axis + 1 :]:
            raise numpy_error(function, x, axis=axis)
        return Aval(reduced_shape(x.shape, (axis,), keepdims), np.dtype(np.intp))

    def lower(xp: Any, x: Any, *, axis: int, keepdims: bool) -> Any:
        return getattr(xp, name)(x, axis=axis, keepdims=keepdims)

    op = Op(name, LIBRARY, abstract, lower, static=("axis", "keepdims"))
    op.batch = axis_batch(op)
    return op


argmin, argmax = arg_op("argmin"), arg_op("argmax")
