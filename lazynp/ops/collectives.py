"""Collectives: operations along an axis that a `vmap` has given a name.

Each takes, after its operand, the *index* along the named axis, a scalar that `vmap` makes a placeholder for. In a
batch over that axis the index is batched too, and the collective becomes an ordinary operation on the axis; in a batch
over another one it is not, and the collective stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import LIBRARY, Op, Rule
from .elementwise import multiply, refused
from .joining import concatenate, span
from .reductions import reductions
from .shape import Axes, add_reduce, broadcast_to, move_axis, reshape, to_front, zeros_of

Out = tuple[Node, int | None]


def unresolved(xp: Any, *inputs: Any, **params: Any) -> Any:
    raise NameError("a collective was reached outside of the vmap that names its axis")


def collective(name: str, abstract: Rule, resolved: Rule, along: Rule, transpose: Rule | None, *static: str) -> Op:
    """An op of (operand, index).

    `resolved(x, axis, size, **params)` does it along the mapped axis of x (None: x is the same everywhere);
    `along(params)` are the params for an operand with one more axis in front.
    """

    def batch(inputs: Sequence[Node], axes: Axes, **params: Any) -> Out:
        (x, index), (axis, named) = inputs, axes
        if named is None:
            return op(to_front(x, axis), index, **along(params)), 0
        return resolved(x, axis, index.shape[named], **params)

    def jvp(tangents: Sequence[Node | None], out: Node, x: Node, index: Node, **params: Any) -> Node | None:
        return None if tangents[0] is None else op(tangents[0], index, **params)

    linear = transpose is not None
    rules: dict[str, Any] = {"transpose": transpose, "jvp": jvp, "linear": True} if linear else {"jvp": refused(name)}
    op = Op(name, LIBRARY, abstract, unresolved, static=static, batch=batch, **rules)
    return op


def same_shape(x: Aval, index: Aval, **_: Any) -> Aval:
    return Aval(x.shape, x.dtype, x.weak)


def unchanged(params: Any) -> Any:
    return params


def one_more(*names: str) -> Rule:
    return lambda params: {**params, **{k: params[k] + 1 for k in names}}


def total(x: Node, axis: int | None, size: int) -> Out:
    if axis is None:
        return multiply(x, np.asarray(size).astype(x.dtype)[()]), None
    return add_reduce(x, axes=(axis,), keepdims=False, dtype=x.dtype), None


def extremum(name: str) -> Rule:
    def resolved(x: Node, axis: int | None, size: int) -> Out:
        return (x if axis is None else reductions[name](x, axes=(axis,), keepdims=False, dtype=None)), None

    return resolved


psum = collective("psum", same_shape, total, unchanged, lambda ct, x, index: (psum(ct, index), None))
pmax = collective("pmax", same_shape, extremum("maximum"), unchanged, None)
pmin = collective("pmin", same_shape, extremum("minimum"), unchanged, None)


def filled(x: Node, axis: int | None, size: int) -> Node:
    """x with the mapped axis in front, also where it has none."""
    return broadcast_to(x, shape=(size, *x.shape)) if axis is None else to_front(x, axis)


def gathered_shape(x: Aval, index: Aval, *, axis: int, tiled: bool, size: int) -> Aval:
    if tiled:
        return Aval((*x.shape[:axis], x.shape[axis] * size, *x.shape[axis + 1 :]), x.dtype, x.weak)
    return Aval((*x.shape[:axis], size, *x.shape[axis:]), x.dtype, x.weak)


def gathered(x: Node, mapped: int | None, n: int, *, axis: int, tiled: bool, size: int) -> Out:
    out = move_axis(filled(x, mapped, n), 0, axis)
    return (merge(out, axis) if tiled else out), None


def merge(x: Node, axis: int) -> Node:
    """Two neighbouring axes as one."""
    return reshape(x, shape=(*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2 :]))


def split(x: Node, axis: int, size: int) -> Node:
    """One axis as two, the first of length `size`."""
    return reshape(x, shape=(*x.shape[:axis], size, x.shape[axis] // size, *x.shape[axis + 1 :]))


all_gather = collective(
    "all_gather",
    gathered_shape,
    gathered,
    one_more("axis"),
    lambda ct, x, index, **params: (psum_scatter(ct, index, **params), None),
    "axis",
    "tiled",
    "size",
)


def scattered_shape(x: Aval, index: Aval, *, axis: int, tiled: bool, size: int) -> Aval:
    n = x.shape[axis]
    if not tiled and n != size:
        raise ValueError(f"reduce_scatter operand scatter dimension size {n} must match shard count {size}")
    if n % size:
        raise ValueError(
            f"tiled reduce_scatter operand scatter dimension size {n} must be divisible by shard_count {size}"
        )
    return Aval((*x.shape[:axis], *((n // size,) if tiled else ()), *x.shape[axis + 1 :]), x.dtype, x.weak)


def scattered(x: Node, mapped: int | None, n: int, *, axis: int, tiled: bool, size: int) -> Out:
    out, _ = total(x, mapped, n)
    return (split(out, axis, size) if tiled else out), axis


psum_scatter = collective(
    "psum_scatter",
    scattered_shape,
    scattered,
    one_more("axis"),
    lambda ct, x, index, **params: (all_gather(ct, index, **params), None),
    "axis",
    "tiled",
    "size",
)


def permuted(x: Node, mapped: int | None, n: int, *, perm: tuple[tuple[int, int], ...]) -> Out:
    """Where nothing is sent to, zero."""
    x = filled(x, mapped, n)
    source = {to: at for at, to in perm}
    zero = zeros_of(Aval((1, *x.shape[1:]), x.dtype))
    return concatenate(*[span(x, 0, source[i], 1) if i in source else zero for i in range(n)], axis=0), 0


ppermute = collective(
    "ppermute",
    same_shape,
    permuted,
    unchanged,
    lambda ct, x, index, *, perm: (ppermute(ct, index, perm=tuple([(b, a) for a, b in perm])), None),
    "perm",
)


def exchanged_shape(x: Aval, index: Aval, *, split_axis: int, concat_axis: int, tiled: bool, size: int) -> Aval:
    shape = list(x.shape)
    n = shape[split_axis]
    if not tiled and n != size:
        raise ValueError(
            "all_to_all requires the size of the mapped axis axis_name to equal x.shape[split_axis], but they are "
            f"{size} and {n} respectively."
        )
    if tiled:
        shape[split_axis] //= size
        shape[concat_axis] *= size
    else:
        shape.insert(concat_axis, shape.pop(split_axis))
    return Aval(tuple(shape), x.dtype)


def exchanged(x: Node, mapped: int | None, n: int, *, split_axis: int, concat_axis: int, tiled: bool, size: int) -> Out:
    x = filled(x, mapped, n)
    if not tiled:
        out = move_axis(x, split_axis + 1, 0)  # (split, mapped, the rest)
        return move_axis(out, 1, concat_axis + 1), 0
    out = move_axis(split(x, split_axis + 1, size), split_axis + 1, 0)
    out = move_axis(out, 1, concat_axis + 1)
    return merge(out, concat_axis + 1), 0


def exchanged_back(
    ct: Node, x: Aval, index: Node, *, split_axis: int, concat_axis: int, tiled: bool, size: int
) -> tuple[Node, None]:
    return all_to_all(ct, index, split_axis=concat_axis, concat_axis=split_axis, tiled=tiled, size=size), None


all_to_all = collective(
    "all_to_all",
    exchanged_shape,
    exchanged,
    one_more("split_axis", "concat_axis"),
    exchanged_back,
    "split_axis",
    "concat_axis",
    "tiled",
    "size",
)
__all__ = ["all_gather", "all_to_all", "pmax", "pmin", "ppermute", "psum", "psum_scatter"]
