"""Order: sort, argsort, arglargest, partition, argpartition, searchsorted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import BACKWARD, LIBRARY, Op
from .family import axis_batch
from .indexing import take_along_axis
from .promotion import numpy_error
from .shape import Axes, all_front, to_front

INTP = np.dtype(np.intp)


def sort_jvp(tangents: Sequence[Node | None], out: Node, x: Node, *, axis: int, kind: str | None) -> Node | None:
    """Equal elements in the order in which they stood."""
    t = tangents[0]
    return None if t is None else take_along_axis(t, argsort(x, axis=axis, kind="stable"), axis)


sort = Op(
    "sort",
    LIBRARY,
    lambda x, *, axis, kind: Aval(x.shape, x.dtype),
    lambda xp, x, *, axis, kind: xp.sorted_lines(x, axis, kind),
    static=("axis", "kind"),
    jvp=sort_jvp,
    weakness=BACKWARD,
)
sort.batch = axis_batch(sort)
argsort = Op(
    "argsort",
    LIBRARY,
    lambda x, *, axis, kind: Aval(x.shape, INTP),
    lambda xp, x, *, axis, kind: xp.order_of_lines(x, axis, kind),
    static=("axis", "kind"),
)
argsort.batch = axis_batch(argsort)


arglargest = Op(
    "arglargest",
    LIBRARY,
    lambda x, *, axis, k: Aval((*x.shape[:axis], k, *x.shape[axis + 1 :]), INTP),
    lambda xp, x, *, axis, k: xp.largest_of_lines(x, axis, k),
    static=("axis", "k"),
    doc="Where the k largest elements along an axis stand, the largest first, of equals the first ones first.",
)
arglargest.batch = axis_batch(arglargest)


def check_kth(x: Aval, axis: int, kth: tuple[int, ...]) -> None:
    n = x.shape[axis]
    if any(not -n <= k < n for k in kth):
        raise numpy_error(np.partition, Aval((n,), x.dtype), kth=kth)


def partition_abstract(x: Aval, *, axis: int, kth: tuple[int, ...]) -> Aval:
    check_kth(x, axis, kth)
    return Aval(x.shape, x.dtype)


def argpartition_abstract(x: Aval, *, axis: int, kth: tuple[int, ...]) -> Aval:
    check_kth(x, axis, kth)
    return Aval(x.shape, INTP)


def partition_jvp(
    tangents: Sequence[Node | None], out: Node, x: Node, *, axis: int, kth: tuple[int, ...]
) -> Node | None:
    t = tangents[0]
    return None if t is None else take_along_axis(t, argpartition(x, axis=axis, kth=kth), axis)


partition = Op(
    "partition",
    LIBRARY,
    partition_abstract,
    lambda xp, x, *, axis, kth: xp.partitioned_lines(x, kth, axis),
    static=("axis",),
    moving=("kth",),
    jvp=partition_jvp,
)
partition.batch = axis_batch(partition)
argpartition = Op(
    "argpartition",
    LIBRARY,
    argpartition_abstract,
    lambda xp, x, *, axis, kth: xp.partition_of_lines(x, kth, axis),
    static=("axis",),
    moving=("kth",),
)
argpartition.batch = axis_batch(argpartition)


def searchsorted_abstract(a: Aval, v: Aval, *, side: str, stack: int) -> Aval:
    """`stack` leading axes of both are a stack of searches."""
    if a.ndim != 1 + stack:
        raise numpy_error(np.searchsorted, a, v)
    return Aval(v.shape, INTP)


def searchsorted_batch(inputs: Sequence[Node], axes: Axes, *, side: str, stack: int) -> tuple[Node, int]:
    if axes[0] is None and stack == 0:
        return searchsorted(inputs[0], to_front(inputs[1], axes[1]), side=side, stack=0), 0
    a, v = all_front(inputs, axes)
    return searchsorted(a, v, side=side, stack=stack + 1), 0


searchsorted = Op(
    "searchsorted",
    LIBRARY,
    searchsorted_abstract,
    lambda xp, a, v, *, side, stack: xp.searchsorted_stack(a, v, side, stack),
    static=("side", "stack"),
    batch=searchsorted_batch,
)


def lexsort(keys: Sequence[Node], axis: int) -> Node:
    """numpy.lexsort: the last key is the first to count."""
    order = argsort(keys[0], axis=axis, kind="stable")
    for key in keys[1:]:
        order = take_along_axis(order, argsort(take_along_axis(key, order, axis), axis=axis, kind="stable"), axis)
    return order
