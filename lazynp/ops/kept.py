"""What `checkpoint` says of values: a name for one, and which one was kept of a computation that is done once more."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.node import Node
from ..graph.op import LIBRARY, VIEW, Op
from .shape import Axes, batch_size
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
