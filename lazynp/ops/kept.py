"""What `checkpoint` says of values: a name for one, and which one was kept of a computation that is done once more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph.aval import Aval
from ..graph.function import Function
from ..graph.node import Node
from ..graph.op import LIBRARY, VIEW, Op
from .control import batched, batched_inputs
from .rewrites import rewrites
from .shape import Axes, batch_size, to_front
from .tags import spread

named = Op(
    "name",
    VIEW,
    lambda x, *, name: x,
    lambda xp, x, *, name: x,
    static=("name",),
    jvp=lambda tangents, out, x, *, name: tangents[0],
    transpose=lambda ct, x, *, name: (ct,),
    batch=lambda inputs, axes, *, name: (named(*inputs, name=name), axes[0]),
    linear=True,
    tag=True,
    doc="The same value, under a name that policies of `checkpoint` ask for.",
)


def remembered_batch(inputs: Sequence[Node], axes: Axes, *, hidden: int) -> tuple[Node, int]:
    return remembered(*spread(inputs, axes, batch_size(inputs, axes)), hidden=hidden), 0


remembered = Op(
    "remembered",
    LIBRARY,
    lambda value, source, *, hidden: value,
    lambda xp, value, source, *, hidden: value,
    static=("hidden",),
    jvp=lambda tangents, out, value, source, *, hidden: tangents[1],
    batch=remembered_batch,
    hidden=0,
    tag=True,
    doc="The first of two equal values, which was kept, with the derivative of the second, which is done again.",
)


def redone_transpose(cts: Sequence[Node | None], *inputs: Any, effects: Function, n: int) -> list[Node | None]:
    given = inputs[n:]
    if not any([type(x) is Aval for x in given]):
        rewrites.perform(effects, given)
    return [*cts, *[None] * len(given)]


def redone_batch(
    inputs: Sequence[Node], axes: Axes, *, effects: Function, n: int
) -> tuple[Node, tuple[int | None, ...]]:
    size, mapped = batch_size(inputs, axes), [a is not None for a in axes[n:]]
    new = batched_inputs(effects, mapped, size)
    whole = Function(new, (), batched(effects, new, mapped)[1], effects.token)
    args = [x if a is None else to_front(x, a) for x, a in zip(inputs[n:], axes[n:])]
    return redone(*inputs[:n], *args, effects=whole, n=n), tuple(axes[:n])


redone = Op(
    "redone",
    LIBRARY,
    lambda *avals, effects, n: avals[:n],
    lambda xp, *inputs, effects, n: inputs[:n],
    static=("effects", "n"),
    jvp=lambda tangents, out, *inputs, effects, n: tangents[:n],
    transpose=redone_transpose,
    batch=redone_batch,
    tag=True,
    n_out=0,
    doc="The first n inputs, tangents. Their transpose computes something once more, with these effects of the others.",
)
