"""Products: dot, dot_general, ragged ones."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...graph.node import Node
from ...ops import contraction
from ...ops import elementwise as e
from ...ops import shape as s
from ...ops.creation import iota
from ...ops.elementwise import convert, where
from ...ops.promotion import Shape
from ...ops.shape import add_reduce
from ..array import Array, wrap
from ..at_once import apply
from ..dtypes import EXTENSIONS, FLOAT32, KIND_OF, result_type
from ..precision import NARROWER, DotAlgorithmPreset, Precision, check_precision
from .call import arguments, dtype_of, public
from .windows import padtype_to_pads

for _names in (Precision, DotAlgorithmPreset):
    public(_names)


# dot.


def rank_of(dtype: np.dtype[Any]) -> tuple[int, int, bool, bool]:
    """Of two operands of a product, which are not promoted, the higher one has the result's dtype."""
    kind = KIND_OF[dtype]
    return "bifc".find("i" if kind == "u" else kind), dtype.itemsize, kind == "i", dtype in EXTENSIONS


def in_common(a: Node, b: Node, preferred: Any) -> tuple[Node, Node, np.dtype[Any]]:
    """Both operands in the dtype in which a product is computed, and the dtype of the result.

    Raises: TypeError for a preference that is narrower than whole or complex numbers.
    """
    own = max(a.dtype, b.dtype, key=rank_of)
    out = own if preferred is None else dtype_of(preferred)
    if KIND_OF[own] != "f" and out.itemsize * (2 if KIND_OF[own] == "c" else 1) < own.itemsize:
        raise TypeError(NARROWER.format(out.name, own.name))
    wide = result_type(wrap(a), wrap(b), out) if rank_of(own) > rank_of(out) else out
    compute = FLOAT32 if wide in EXTENSIONS and KIND_OF[wide] == "f" or wide == np.float16 else wide
    return convert(a, compute), convert(b, compute), out


@public
def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Sums over pairs of axes, side by side along others: `((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))`.

    The result's axes: batch, then what is left of lhs, then what is left of rhs.

    Raises: TypeError or ValueError where axes do not pair up.
    """
    a, b = arguments("dot_general", lhs, rhs)
    check_precision(precision)
    contract, stack = [pair_of(pair) for pair in dimension_numbers]
    check_dot(a, b, contract, stack)

    def run(a: Node, b: Node) -> Node:
        x, y, out = in_common(a, b, preferred_element_type)
        made = convert(contraction.dot_general(x, y, contract, stack), out)
        return e.weak_cast(made, dtype=out) if a.weak and b.weak else made

    return apply(run, a, b)


def pair_of(axes: Any) -> tuple[Shape, Shape]:
    left, right = axes
    return tuple([operator.index(i) for i in left]), tuple([operator.index(i) for i in right])


def check_dot(a: Node, b: Node, contract: Any, stack: Any) -> None:
    """Raises JAX's TypeError for axes that are not there, or do not pair up."""
    for i, (side, x) in enumerate((("lhs", a), ("rhs", b))):
        if not all(0 <= k < x.ndim for k in (*contract[i], *stack[i])):
            raise TypeError(
                f"dot_general requires {side} dimension numbers to be nonnegative and less than the number of axes of "
                f"the {side} value, got {side}_batch of {stack[i]} and {side}_contracting of {contract[i]} for {side} "
                f"of rank {x.ndim}"
            )
    for what, pair in (("batch", stack), ("contracting", contract)):
        if what == "batch" and len(pair[0]) != len(pair[1]):
            raise TypeError(
                f"dot_general requires equal numbers of lhs_{what} and rhs_{what} dimensions, got lhs_{what} {pair[0]} "
                f"and rhs_{what} {pair[1]}."
            )
        for side, axes in zip(("lhs", "rhs"), pair):
            if len(set(axes)) != len(axes):
                raise TypeError(
                    f"dot_general requires {side} {what} dimensions to be distinct, got {side}_{what} {axes}."
                )
    for i, side in enumerate(("lhs", "rhs")):
        if set(contract[i]) & set(stack[i]):
            raise TypeError(
                f"dot_general requires {side} batch dimensions to be disjoint from contracting dimensions, got "
                f"{side}_batch {stack[i]} and {side}_contracting {contract[i]}."
            )
    for what, pair in (("lhs batch dimensions and rhs batch", stack), ("contracting", contract)):
        sizes = [tuple([x.shape[k] for k in axes]) for axes, x in zip(pair, (a, b))]
        if sizes[0] != sizes[1]:
            raise TypeError(
                f"dot_general requires {what} dimensions to have the same shape, got {sizes[0]} and {sizes[1]}."
            )


@public
def dot(
    lhs: Any,
    rhs: Any,
    *args: Any,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Array:
    """The product of vectors and matrices; with dimension numbers, dot_general.

    Raises: ValueError for shapes that need dimension numbers.
    """
    a, b = arguments("dot", lhs, rhs)
    if args:
        precision, preferred_element_type = (*args, None)[:2]
    if dimension_numbers is None:
        if not (1 <= a.ndim <= 2 and 1 <= b.ndim <= 2 and a.shape[-1] == b.shape[0]):
            raise ValueError(
                "jax.lax.dot: dimension_numbers must be specified when not performing simple un-batched matrix-matrix, "
                f"matrix-vector, or vector-vector products; got lhs_shape={a.shape} rhs_shape={b.shape}"
            )
        dimension_numbers = (((a.ndim - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


@public
def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Array:
    """Products of stacks of matrices of equal rank."""
    a, b = arguments("batch_matmul", lhs, rhs)
    if min(a.ndim, b.ndim) < 2:
        raise ValueError(f"Arguments to batch_matmul must be at least 2D, got {a.ndim}, {b.ndim}")
    if a.ndim != b.ndim:
        raise ValueError(f"Arguments to batch_matmul must have same ndim, got {a.ndim}, {b.ndim}")
    lead = tuple(range(a.ndim - 2))
    return dot_general(lhs, rhs, (((a.ndim - 1,), (a.ndim - 2,)), (lead, lead)), precision)


@public
def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Rows of lhs (m, k), in consecutive groups of these sizes, times each group's matrix of rhs (g, k, n).

    Raises: TypeError for other shapes, and for sizes that are no whole numbers.
    """
    check_precision(precision)
    a, b, sizes = arguments("ragged_dot", lhs, rhs, group_sizes)
    if a.ndim != 2 or b.ndim != 3 or sizes.ndim != 1:
        raise TypeError(f"ragged_dot takes operands of shapes (m, k), (g, k, n) and (g,), got {a.shape}, {b.shape}")
    if sizes.dtype.kind not in "iu":
        raise TypeError("ragged_dot_general requires that group_sizes.dtype is subtype of np.integer.")
    if a.shape[1] != b.shape[1]:
        raise TypeError(
            f"dot_general requires contracting dimensions to have the same shape, got {a.shape[1:]} and {b.shape[1:2]}."
        )
    if b.shape[0] != sizes.shape[0]:
        raise TypeError(f"expected rhs group dimension size to be {sizes.shape[0]}, got {b.shape[0]}.")

    def run(a: Node, b: Node, sizes: Node) -> Node:
        x, y, out = in_common(a, b, preferred_element_type)
        rows, groups = iota(a.shape[0]), b.shape[0]
        ends = add_accumulate_int(sizes)
        starts = e.subtract(ends, convert(sizes, ends.dtype))
        row = s.reshape(rows, shape=(1, a.shape[0], 1))
        first, last = (s.reshape(v, shape=(groups, 1, 1)) for v in (starts, ends))
        mine = e.logical_and(e.greater_equal(row, first), e.less(row, last))
        parts = contraction.matmul(where(mine, s.expand_dims(x, 0), filled_zero(x)), y)
        return convert(add_reduce(parts, axes=(0,), keepdims=False, dtype=None), out)

    return apply(run, a, b, sizes)


def filled_zero(x: Node) -> Node:
    return Node.of_scalar(np.zeros((), x.dtype)[()])


def add_accumulate_int(x: Node) -> Node:
    from_ = convert(x, np.dtype(np.int64))
    n = x.shape[0]
    low = e.less_equal(s.reshape(iota(n), shape=(1, n)), s.reshape(iota(n), shape=(n, 1)))
    return add_reduce(where(low, s.expand_dims(from_, 0), np.int64(0)), axes=(1,), keepdims=False, dtype=None)


PrecisionLike = Any
DotDimensionNumbers = Any
__all__ = [
    "DotAlgorithmPreset",
    "DotDimensionNumbers",
    "Precision",
    "PrecisionLike",
    "batch_matmul",
    "dot",
    "dot_general",
    "padtype_to_pads",
    "ragged_dot",
]
