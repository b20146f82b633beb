"""Cotangents of what devices of a `shard_map` have: sums over all of them, shared out in several ways.

A `shard_map` is a batched function, of whose results one place is taken where all are the same. Derivatives of that are
exact, as long as all rules of the body are; but what a user wrote (`custom_vjp`) is told of, and tells, the cotangent
that one device has, which in JAX is the whole one on each (`check_vma`), or an equal share of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.node import Node
from ..graph.op import VIEW, Op
from ..ops.creation import iota
from ..ops.elementwise import divide, equal, where
from ..ops.shape import add_reduce, broadcast_to, reshape, to_front
from .dtypes import INT32


def regroup(ct: Node, how: str, axis: int) -> Node:
    """A cotangent with an axis of places: `total`: their sum at each place, `mean`: an equal share of it, `first`: what
    the first one has, there alone."""
    n = ct.shape[axis]
    if how == "first":
        place = reshape(iota(n, INT32), shape=tuple([n if d == axis else 1 for d in range(ct.ndim)]))
        return where(equal(place, np.int32(0)), ct, np.zeros((), ct.dtype)[()])
    total = add_reduce(ct, axes=(axis,), keepdims=True, dtype=ct.dtype)
    share = divide(total, np.asarray(n).astype(ct.dtype)[()]) if how == "mean" else total
    return broadcast_to(share, shape=ct.shape)


def batch(inputs: Sequence[Node], axes: Sequence[int | None], *, how: str, axis: int) -> tuple[Node, int]:
    return regrouped(to_front(inputs[0], axes[0] or 0), how=how, axis=axis + 1), 0


regrouped = Op(
    "regrouped",
    VIEW,
    lambda x, *, how, axis: x,
    lambda xp, x, *, how, axis: x,
    static=("how", "axis"),
    jvp=lambda tangents, out, x, *, how, axis: regrouped(tangents[0], how=how, axis=axis),
    transpose=lambda ct, x, *, how, axis: (regroup(ct, how, axis),),
    batch=batch,
    linear=True,
    tag=True,
    doc="The same value, whose cotangent is regrouped along an axis of places.",
)


def shared(x: Node, axes: Sequence[int]) -> Node:
    """A value of all places, the same everywhere along these axes, for who takes one: its cotangent is shared out
    evenly."""
    for axis in axes:
        x = regrouped(x, how="mean", axis=axis)
    return x


def entering(x: Node, axis: int | None, size: int) -> tuple[Node, int]:
    """What a user's rule is given that is the same at all places: the cotangent that it gives back is the whole one at
    each of them, and counts once."""
    whole: Any = broadcast_to(x, shape=(size, *x.shape)) if axis is None else to_front(x, axis)
    return regrouped(whole, how="first", axis=0), 0


def leaving(x: Node, axis: int | None, size: int) -> tuple[Node, int | None]:
    """What a user's rule has made that is the same at all places: it is given the whole cotangent at each of them."""
    return (x, None) if axis is None else (regrouped(to_front(x, axis), how="total", axis=0), 0)
