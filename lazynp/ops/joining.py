"""Joining and rearranging: concatenate, stack, flip, roll, pad, repeat, tile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import BACKWARD, LIBRARY, Op
from .elementwise import add, convert, scalar
from .family import axis_batch, linear_jvp
from .promotion import Shape, numpy_error
from .shape import Axes, broadcast_to, expand_dims, instantiate, reshape, set_, slice_, to_front, whole


def numpy_concatenate(*xs: Any, axis: int) -> Any:
    return np.concatenate(xs, axis=axis)


def concatenate_abstract(*avals: Aval, axis: int) -> Aval:
    first, total = avals[0].shape, 0
    for a in avals:
        if len(a.shape) != len(first) or a.shape[:axis] != first[:axis] or a.shape[axis + 1 :] != first[axis + 1 :]:
            raise numpy_error(numpy_concatenate, *avals, axis=axis)
        total += a.shape[axis]
    return Aval((*first[:axis], total, *first[axis + 1 :]), np.result_type(*[a.dtype for a in avals]))


def concatenate_jvp(tangents: Sequence[Node | None], out: Node, *xs: Node, axis: int) -> Node:
    return concatenate(*[instantiate(t, x) for t, x in zip(tangents, xs)], axis=axis)


def concatenate_transpose(ct: Node, *xs: Any, axis: int) -> tuple[Node | None, ...]:
    cts: list[Node | None] = []
    start = 0
    for x in xs:
        n = x.shape[axis]
        cts.append(span(ct, axis, start, n) if type(x) is Aval else None)
        start += n
    return tuple(cts)


concatenate = Op(
    "concatenate",
    LIBRARY,
    concatenate_abstract,
    lambda xp, *xs, axis: xp.concatenate(xs, axis=axis),
    static=("axis",),
    jvp=concatenate_jvp,
    transpose=concatenate_transpose,
    linear=True,
)
concatenate.batch = axis_batch(concatenate)


def roll_abstract(x: Aval, *, axes: Shape, shifts: tuple[int, ...]) -> Aval:
    return Aval(x.shape, x.dtype, x.weak)


def roll_batch(inputs: Sequence[Node], mapped: Axes, *, axes: Shape, shifts: tuple[int, ...]) -> tuple[Node, int]:
    x = to_front(inputs[0], mapped[0])
    return roll(x, axes=tuple([a + 1 for a in axes]), shifts=shifts), 0


roll = Op(
    "roll",
    LIBRARY,
    roll_abstract,
    lambda xp, x, *, axes, shifts: xp.roll(x, shifts, axes),
    static=("axes",),
    moving=("shifts",),
    batch=roll_batch,
    transpose=lambda ct, x, *, axes, shifts: (roll(ct, axes=axes, shifts=tuple([-s for s in shifts])),),
    weakness=BACKWARD,
)
roll.jvp = linear_jvp(roll)


def wrap_around_batch(inputs: Sequence[Node], mapped: Axes, *, widths: Shape) -> tuple[Node, int]:
    return wrap_around(to_front(inputs[0], mapped[0]), widths=(0, *widths)), 0


def wrap_around_transpose(ct: Node, x: Any, *, widths: Shape) -> tuple[Node]:
    """What stands at the ends of each axis is added where it was copied from."""
    for axis, (n, w) in enumerate(zip(x.shape, widths)):
        if w:
            low, inside, high = span(ct, axis, 0, w), span(ct, axis, w, n), span(ct, axis, w + n, w)
            rest = [(0, 0)] * len(x.shape)
            for part, before in ((low, n - w), (high, 0)):
                rest[axis] = (before, n - w - before)
                inside = add(inside, pad(part, rest))
            ct = inside
    return (ct,)


wrap_around = Op(
    "wrap_around",
    LIBRARY,
    lambda x, *, widths: Aval(tuple([n + 2 * w for n, w in zip(x.shape, widths)]), x.dtype, x.weak),
    lambda xp, x, *, widths: xp.wrapped(x, widths),
    moving=("widths",),
    batch=wrap_around_batch,
    transpose=wrap_around_transpose,
    linear=True,
    doc="A periodic array with so many more elements at both ends of each axis, no more than the axis has.",
)
wrap_around.jvp = linear_jvp(wrap_around)

# Compositions of views and writes.


def span(x: Node, axis: int, start: int, count: int, step: int = 1) -> Node:
    """A range of one axis."""
    key = list(whole(x.shape))
    key[axis] = (start, count, step)
    return slice_(x, key=tuple(key))


def stack(*xs: Node, axis: int) -> Node:
    """Joined along a new axis."""
    return concatenate(*[expand_dims(x, axis) for x in xs], axis=axis)


def flip(x: Node, axes: Shape) -> Node:
    return slice_(x, key=tuple([(n - 1, n, -1) if i in axes else (0, n, 1) for i, n in enumerate(x.shape)]))


def pad(x: Node, widths: Sequence[tuple[int, int]], value: Any = 0) -> Node:
    """`(before, after)` elements of `value` on each axis; negative widths cut off."""
    key = tuple([(max(-low, 0), n + min(low, 0) + min(high, 0), 1) for n, (low, high) in zip(x.shape, widths)])
    if any(w < 0 for pair in widths for w in pair):
        x = slice_(x, key=key)
    low = [max(pair[0], 0) for pair in widths]
    shape = tuple([n + a + max(pair[1], 0) for n, a, pair in zip(x.shape, low, widths)])
    fill = value if isinstance(value, Node) else scalar(value, x)
    base = broadcast_to(convert(fill, x.dtype), shape=shape)
    return set_(base, x, key=tuple([(a, n, 1) for a, n in zip(low, x.shape)]))


def repeat(x: Node, count: int, axis: int) -> Node:
    """Each element `count` times in a row."""
    shape = (*x.shape[: axis + 1], count, *x.shape[axis + 1 :])
    wide = broadcast_to(expand_dims(x, axis + 1), shape=shape)
    return reshape(wide, shape=(*x.shape[:axis], x.shape[axis] * count, *x.shape[axis + 1 :]))


def tile(x: Node, counts: Shape) -> Node:
    """The whole, `counts[i]` times along axis i; as many counts as axes."""
    spread = reshape(x, shape=tuple([m for n in x.shape for m in (1, n)]))
    wide = broadcast_to(spread, shape=tuple([m for n, c in zip(x.shape, counts) for m in (c, n)]))
    return reshape(wide, shape=tuple([n * c for n, c in zip(x.shape, counts)]))
