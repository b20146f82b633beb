"""Contractions: matmul and NumPy's other generalized products; dot, inner, outer, tensordot are made of matmul."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import LIBRARY, MIXED, Op, Rule
from .elementwise import add, conjugate, multiply
from .family import bilinear
from .promotion import Shape, broadcast, loop_dtypes, numpy_error, resolution_key
from .shape import Axes, aligned, expand_dims, reshape, sum_to, swap_last, to_front, transpose


def product_abstract(name: str, core: Rule) -> Rule:
    """The abstract value of a gufunc; `core(a, b)` gives the core result shape and how many core axes a and b have."""
    ufunc = getattr(np, name)

    def abstract(a: Aval, b: Aval) -> Aval:
        dtype = loop_dtypes(ufunc, (resolution_key(a), resolution_key(b)))[2]
        found = core(a.shape, b.shape)
        if found is None:
            raise numpy_error(ufunc, a, b)
        shape, i, j = found
        try:
            return Aval((*broadcast(a.shape[: a.ndim - i], b.shape[: b.ndim - j]), *shape), dtype)
        except ValueError:
            raise numpy_error(ufunc, a, b) from None

    return abstract


def matmul_core(a: Shape, b: Shape) -> tuple[Shape, int, int] | None:
    if not a or not b or a[-1] != b[-2 if len(b) > 1 else 0]:
        return None
    return (*a[-2:-1], *(b[-1:] if len(b) > 1 else ())), min(len(a), 2), min(len(b), 2)


def vecdot_core(a: Shape, b: Shape) -> tuple[Shape, int, int] | None:
    return ((), 1, 1) if a and b and a[-1] == b[-1] else None


def matvec_core(a: Shape, b: Shape) -> tuple[Shape, int, int] | None:
    return (a[-2:-1], 2, 1) if len(a) > 1 and b and a[-1] == b[-1] else None


def vecmat_core(a: Shape, b: Shape) -> tuple[Shape, int, int] | None:
    return (b[-1:], 1, 2) if a and len(b) > 1 and a[-1] == b[-2] else None


def bilinear_jvp(tangents: Sequence[Node | None], out: Node, a: Node, b: Node) -> Node | None:
    op = out.op
    assert op is not None
    parts = [
        op(tangents[0], b) if tangents[0] is not None else None,
        op(a, tangents[1]) if tangents[1] is not None else None,
    ]
    found = [p for p in parts if p is not None]
    return None if not found else found[0] if len(found) == 1 else add(*found)


def as_matrices(ct: Node, a: Any, b: Any) -> Node:
    """The cotangent of a matmul with the axes back that a vector operand left out."""
    new = ([ct.ndim + (a.ndim == 1)] if b.ndim == 1 else []) + ([ct.ndim - (b.ndim > 1)] if a.ndim == 1 else [])
    return expand_dims(ct, *new) if new else ct


def matmul_transpose(ct: Node, a: Any, b: Any) -> tuple[Node | None, Node | None]:
    ct = as_matrices(ct, a, b)
    if type(a) is Aval:
        other = expand_dims(b, 1) if b.ndim == 1 else b
        out = matmul(ct, swap_last(other))
        return reshape_sum(out, a.shape if a.ndim > 1 else (1, *a.shape), a.shape), None
    other = expand_dims(a, 0) if a.ndim == 1 else a
    out = matmul(swap_last(other), ct)
    return None, reshape_sum(out, b.shape if b.ndim > 1 else (*b.shape, 1), b.shape)


def reshape_sum(x: Node, matrix: Shape, shape: Shape) -> Node:
    x = sum_to(x, matrix)
    return x if x.shape == shape else reshape(x, shape=shape)


def matmul_batch(inputs: Sequence[Node], axes: Axes) -> tuple[Node, int]:
    """Vectors become matrices of one row or column, so that the batch axis can stand in front.

    Beside one matrix or vector for all examples, theirs are the rows of one matrix: one product instead of one each.
    """
    (a, b), (i, j) = inputs, axes
    vector_a, vector_b = a.ndim - (i is not None) == 1, b.ndim - (j is not None) == 1
    a, b = a if i is None else to_front(a, i), b if j is None else to_front(b, j)
    if i is None and a.ndim <= 2 and vector_b:
        return matmul(b, a if vector_a else swap_last(a)), 0
    if j is None and b.ndim <= 2:
        rows = a if vector_a else reshape(a, shape=(math.prod(a.shape[:-1]), a.shape[-1]))
        out = matmul(rows, b)
        shape = (*a.shape[:-1], *out.shape[1:])
        return (out if out.shape == shape else reshape(out, shape=shape)), 0
    a = expand_dims(a, a.ndim - 1) if vector_a else a
    b = expand_dims(b, b.ndim) if vector_b else b
    rank = max(a.ndim - (i is not None), b.ndim - (j is not None))
    a, b = a if i is None else aligned(a, rank, 1), b if j is None else aligned(b, rank, 1)
    out = matmul(a, b)
    shape = (*out.shape[:-2], *(() if vector_a else out.shape[-2:-1]), *(() if vector_b else out.shape[-1:]))
    return (out if out.shape == shape else reshape(out, shape=shape)), 0


matmul = Op(
    "matmul",
    LIBRARY,
    product_abstract("matmul", matmul_core),
    lambda xp, a, b: xp.matmul(a, b),
    jvp=bilinear_jvp,
    transpose=bilinear(matmul_transpose),
    batch=matmul_batch,
    weakness=MIXED,
)
matmul.call = lambda xp: xp.matmul


def gufunc_batch(core: Rule) -> Rule:
    """Batch axes in front, the ranks of the stacks made equal behind them."""

    def batch(inputs: Sequence[Node], axes: Axes) -> tuple[Node, int]:
        (a, b), (i, j) = inputs, axes
        _, m, n = core(*[x.shape if k is None else x.shape[:k] + x.shape[k + 1 :] for x, k in ((a, i), (b, j))])
        rank = max(a.ndim - (i is not None) - m, b.ndim - (j is not None) - n)
        moved = [x if k is None else aligned(to_front(x, k), rank + c, 1) for x, k, c in ((a, i, m), (b, j, n))]
        return by_core[core](*moved), 0

    return batch


def vecdot_transpose(ct: Node, a: Any, b: Any) -> tuple[Node | None, Node | None]:
    """The first operand is conjugated."""
    ct = expand_dims(ct, ct.ndim)
    return (conjugate(multiply(ct, b)), None) if type(a) is Aval else (None, multiply(ct, conjugate(a)))


def matvec_transpose(ct: Node, a: Any, v: Any) -> tuple[Node | None, Node | None]:
    if type(a) is Aval:
        return multiply(expand_dims(ct, ct.ndim), expand_dims(v, v.ndim - 1)), None
    return None, matvec(swap_last(a), ct)


def vecmat_transpose(ct: Node, v: Any, a: Any) -> tuple[Node | None, Node | None]:
    """The vector is conjugated."""
    if type(v) is Aval:
        return conjugate(matvec(a, ct)), None
    return None, multiply(expand_dims(conjugate(v), v.ndim), expand_dims(ct, ct.ndim - 1))


def gufunc(name: str, core: Rule, transposed: Rule) -> Op:
    return product_op(name, product_abstract(name, core), lambda xp, a, b: getattr(xp, name)(a, b), core, transposed)


def product_op(name: str, abstract: Rule, lower: Rule, core: Rule, transposed: Rule) -> Op:
    return Op(
        name,
        LIBRARY,
        abstract,
        lower,
        jvp=bilinear_jvp,
        transpose=bilinear(transposed),
        batch=gufunc_batch(core),
        weakness=MIXED,
    )


vecdot = gufunc("vecdot", vecdot_core, vecdot_transpose)
matvec = gufunc("matvec", matvec_core, matvec_transpose)
vecmat = gufunc("vecmat", vecmat_core, vecmat_transpose)
# Of real vectors, by the loops of `numpy.einsum`. BLAS adds the last elements one by one to the whole sum.
inner1d = product_op(
    "inner1d",
    product_abstract("vecdot", vecdot_core),
    lambda xp, a, b: xp.einsum("...i,...i->...", a, b),
    vecdot_core,
    vecdot_transpose,
)
by_core: dict[Rule, Op] = {vecdot_core: vecdot, matvec_core: matvec, vecmat_core: vecmat}

# Compositions.


def dot_general(a: Node, b: Node, contract: tuple[Shape, Shape], stack: tuple[Shape, Shape] = ((), ())) -> Node:
    """Sum over the paired axes `contract`, side by side along the paired axes `stack`.

    Result axes: stack, then what is left of a, then what is left of b (jax.lax.dot_general's order).
    """
    free_a = [i for i in range(a.ndim) if i not in contract[0] and i not in stack[0]]
    free_b = [i for i in range(b.ndim) if i not in contract[1] and i not in stack[1]]
    common = [a.shape[i] for i in stack[0]]
    m, n = [a.shape[i] for i in free_a], [b.shape[i] for i in free_b]
    k = math.prod(a.shape[i] for i in contract[0])
    left = arranged(a, (*stack[0], *free_a, *contract[0]), (*common, math.prod(m), k))
    right = arranged(b, (*stack[1], *contract[1], *free_b), (*common, k, math.prod(n)))
    out = matmul(left, right)
    shape = (*common, *m, *n)
    return out if out.shape == shape else reshape(out, shape=shape)


def arranged(x: Node, order: Shape, shape: Shape) -> Node:
    if order != tuple(range(x.ndim)):
        x = transpose(x, axes=order)
    return x if x.shape == shape else reshape(x, shape=shape)


def tensordot(a: Node, b: Node, axes_a: Shape, axes_b: Shape) -> Node:
    """numpy.tensordot over normalized axes. Raises ValueError, NumPy's, where the lengths differ."""
    if len(axes_a) != len(axes_b) or any(a.shape[i] != b.shape[j] for i, j in zip(axes_a, axes_b)):
        raise ValueError("shape-mismatch for sum")
    return dot_general(a, b, (axes_a, axes_b))


def dot(a: Node, b: Node) -> Node:
    """numpy.dot."""
    if a.ndim == 0 or b.ndim == 0:
        return multiply(a, b)
    if a.ndim <= 2 and b.ndim <= 2:
        if a.shape[-1] != b.shape[0]:
            raise numpy_error(np.dot, a.aval, b.aval)
        return matmul(a, b)
    last = max(b.ndim - 2, 0)
    if a.shape[-1] != b.shape[last]:
        raise numpy_error(np.dot, a.aval, b.aval)
    return dot_general(a, b, ((a.ndim - 1,), (last,)))


def inner(a: Node, b: Node) -> Node:
    """numpy.inner."""
    if a.ndim == 0 or b.ndim == 0:
        return multiply(a, b)
    if a.shape[-1] != b.shape[-1]:
        raise numpy_error(np.inner, a.aval, b.aval)
    return dot_general(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


def outer(a: Node, b: Node) -> Node:
    """numpy.outer."""
    return multiply(reshape(a, shape=(a.aval.size, 1)), reshape(b, shape=(1, b.aval.size)))


def vdot(a: Node, b: Node) -> Node:
    """numpy.vdot."""
    a, b = (reshape(x, shape=(x.aval.size,)) for x in (a, b))
    return vecdot(a, b) if a.dtype.kind == "c" else matmul(a, b)
