"""Families of ops: what all elementwise operations, reductions and axis-wise library calls have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import DEFINITE, LIBRARY, MAP, REDUCE, THROUGH, Op, Rule, registry
from .code import Code
from .promotion import broadcast, loop_dtypes, operand_keys, reduced_dtype, resolution_key
from .shape import (
    Axes,
    all_front,
    linear_jvp,
    move_front,
    reduce_abstract,
    reduce_batch,
    reduce_lower,
)

__all__ = [
    "axis_batch",
    "bilinear",
    "broadcast",
    "front_batch",
    "linear_jvp",
    "loop_dtypes",
    "map_batch",
    "multi_ufunc_op",
    "of_array",
    "reduce_op",
    "resolution_key",
    "scan_op",
    "ufunc_abstract",
    "ufunc_op",
]


def ufunc_abstract(ufunc: np.ufunc, out: int = 0) -> Rule:
    def abstract(*avals: Aval, **_: Any) -> Aval:
        dtype = loop_dtypes(ufunc, operand_keys(avals))[ufunc.nin + out]
        return Aval(broadcast(*[a.shape for a in avals]), dtype, all([a.weak for a in avals]) and dtype.kind != "b")

    return abstract


def map_batch(op: Op) -> Rule:
    """Elementwise: bring the mapped axis to the front of each input that has one, with room for broadcasting."""

    def batch(inputs: Sequence[Node], axes: Axes, **params: Any) -> tuple[Node, int]:
        return op(*move_front(inputs, axes), **params), 0

    return batch


def ufunc_op(name: str, *partials: Rule | None, **fields: Any) -> Op:
    """The op of a ufunc of one result. Partials and transpose need not undo broadcasts or casts: the walks do.

    `fields` are others of `Op`.
    """

    ufunc = getattr(np, name)

    def lower(xp: Any, *args: Any) -> Any:
        return getattr(xp, name)(*args)

    op = Op(name, MAP, ufunc_abstract(ufunc), lower, partials=partials or None, ufunc=ufunc, **fields)
    op.batch = map_batch(op)
    return op


def multi_ufunc_op(name: str, *partials: Rule | None, **fields: Any) -> Op:
    """The op of one result of a ufunc that has several; `i` says which."""
    ufunc = getattr(np, name)
    rules = [ufunc_abstract(ufunc, i) for i in range(ufunc.nout)]

    def abstract(*avals: Aval, i: int) -> Aval:
        return rules[i](*avals)

    def lower(xp: Any, *args: Any, i: int) -> Any:
        return getattr(xp, name)(*args)[i]

    op = Op(name, MAP, abstract, lower, static=("i",), partials=partials, ufunc=ufunc, **fields)
    op.batch = map_batch(op)
    return op


def of_array(node: Node) -> str:
    """The weakness of derivatives by rules with a number, of which JAX makes an array where the operand has axes."""
    return DEFINITE if node.shape else THROUGH


def reduce_op(name: str, code: Code | None = None, **fields: Any) -> Op:
    """`ufunc.reduce` over sorted non-negative `axes`; dtype None is NumPy's default."""
    op = Op(
        f"{name}.reduce",
        REDUCE,
        reduce_abstract(name),
        reduce_lower(name),
        static=("axes", "keepdims", "dtype"),
        ufunc=getattr(np, name),
        associative=registry[name].associative,
        code=code,
        **fields,
    )
    op.batch = reduce_batch(op)
    return op


def bilinear(transpose: Rule) -> Rule:
    """The transpose of an op that is linear in either of two inputs, but not in both."""

    def rule(ct: Node, a: Any, b: Any, **params: Any) -> tuple[Node | None, Node | None]:
        if type(a) is Aval and type(b) is Aval:
            raise TypeError("cannot transpose: a product of two inputs that are both linear")
        return transpose(ct, a, b, **params)

    return rule


def axis_batch(op: Op) -> Rule:
    """An op on one axis, the static parameter `axis`: all inputs get the mapped axis first, and the axis moves up."""

    def batch(inputs: Sequence[Node], axes: Axes, *, axis: int, **params: Any) -> tuple[Node, int]:
        return op(*all_front(inputs, axes), axis=axis + 1, **params), 0

    return batch


def front_batch(op: Op) -> Rule:
    """An op that works on the last axes of a stack: the mapped axis becomes the outermost of the stack."""

    def batch(inputs: Sequence[Node], axes: Axes, **params: Any) -> tuple[Node, int]:
        return op(*all_front(inputs, axes), **params), 0

    return batch


def scan_op(name: str, **fields: Any) -> Op:
    """`ufunc.accumulate` along `axis`."""
    ufunc = getattr(np, name)

    def abstract(x: Aval, *, axis: int, dtype: np.dtype[Any] | None) -> Aval:
        return Aval(x.shape, reduced_dtype(ufunc, "accumulate", x.dtype, dtype))

    def lower(xp: Any, x: Any, *, axis: int, dtype: Any) -> Any:
        return xp.accumulate(name, x, axis, dtype)

    op = Op(
        f"{name}.accumulate",
        LIBRARY,
        abstract,
        lower,
        static=("axis", "dtype"),
        ufunc=ufunc,
        associative=registry[name].associative,
        **fields,
    )
    op.batch = axis_batch(op)
    return op
