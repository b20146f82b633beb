"""Slices whose place is known only with the values: `dynamic_slice` and `dynamic_update_slice`.

The start is moved so that the slice stays inside, as in JAX.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import BACKWARD, LIBRARY, Op
from .creation import iota
from .elementwise import add, convert, maximum, minimum
from .indexing import gather, own_row, scatter
from .promotion import Shape
from .shape import Axes, aligned, batch_size, broadcast_to, expand_dims, instantiate, reshape, to_front, zeros_of

INT64 = np.dtype(np.int64)


def region(shape: Shape, starts: Sequence[Any], sizes: Shape) -> tuple[slice, ...]:
    """NumPy's index of the slice, from the starts' values."""
    index = []
    for n, start, size in zip(shape, starts, sizes):
        low = min(max(int(start), 0), n - size)
        index.append(slice(low, low + size))
    return tuple(index)


def slice_abstract(x: Aval, *starts: Aval, sizes: Shape) -> Aval:
    return Aval(sizes, x.dtype, x.weak)


def slice_lower(xp: Any, x: Any, *starts: Any, sizes: Shape) -> Any:
    return x[(*region(x.shape, starts, sizes), ...)]


def slice_jvp(tangents: Sequence[Node | None], out: Node, x: Node, *starts: Node, sizes: Shape) -> Node | None:
    return None if tangents[0] is None else dynamic_slice(tangents[0], *starts, sizes=sizes)


def slice_transpose(ct: Node, x: Aval, *starts: Node, sizes: Shape) -> tuple[Node | None, ...]:
    return (dynamic_update_slice(zeros_of(x), ct, *starts), *[None] * len(starts))


def places(starts: Sequence[Node], axes: Axes, shape: Shape, sizes: Shape) -> list[Node]:
    """Index arrays of the slices of a whole batch: its axis first, then the slice's."""
    out = []
    for d, (start, a) in enumerate(zip(starts, axes)):
        low = minimum(maximum(convert(start, INT64), 0), shape[d] - sizes[d])
        along = reshape(iota(sizes[d]), shape=(sizes[d], *[1] * (len(sizes) - d - 1)))
        low = low if a is None else reshape(low, shape=(low.shape[0], *[1] * len(sizes)))
        out.append(add(low, along))
    return out


def slice_batch(inputs: Sequence[Node], axes: Axes, *, sizes: Shape) -> tuple[Node, int]:
    x, *starts = inputs
    if all(a is None for a in axes[1:]):
        x = to_front(x, axes[0])
        zero = Node.of_scalar(np.int32(0))
        return dynamic_slice(x, zero, *starts, sizes=(x.shape[0], *sizes)), 0
    mapped = axes[0] is not None
    x = to_front(x, axes[0]) if mapped else x
    index = places(starts, axes[1:], x.shape[mapped:], sizes)
    rows = [own_row(batch_size(inputs, axes), index)] if mapped else []
    return gather(x, *rows, *index, axes=tuple(range(x.ndim)), at=0, bounds="clip"), 0


dynamic_slice = Op(
    "dynamic_slice",
    LIBRARY,
    slice_abstract,
    slice_lower,
    moving=("sizes",),
    jvp=slice_jvp,
    transpose=slice_transpose,
    batch=slice_batch,
    linear=True,
    weakness=BACKWARD,
)
"""x, and a start for each axis."""


def update_lower(xp: Any, x: Any, value: Any, *starts: Any) -> Any:
    out: Any = np.array(x)
    out[(*region(out.shape, starts, np.shape(value)), ...)] = value
    return out


def update_jvp(tangents: Sequence[Node | None], out: Node, x: Node, value: Node, *starts: Node) -> Node:
    return dynamic_update_slice(instantiate(tangents[0], x), instantiate(tangents[1], value), *starts)


def update_transpose(ct: Node, x: Any, value: Any, *starts: Node) -> tuple[Node | None, ...]:
    along_x = dynamic_update_slice(ct, zeros_of(Aval(value.shape, ct.dtype)), *starts) if type(x) is Aval else None
    along_value = dynamic_slice(ct, *starts, sizes=value.shape) if type(value) is Aval else None
    return (along_x, along_value, *[None] * len(starts))


def update_batch(inputs: Sequence[Node], axes: Axes) -> tuple[Node, int]:
    x, value, *starts = inputs
    n = batch_size(inputs, axes)
    sizes = value.shape if axes[1] is None else (*value.shape[: axes[1]], *value.shape[axes[1] + 1 :])
    x = broadcast_to(x, shape=(n, *x.shape)) if axes[0] is None else to_front(x, axes[0])
    value = expand_dims(value, 0) if axes[1] is None else to_front(value, axes[1])
    if all(a is None for a in axes[2:]):
        value = broadcast_to(value, shape=(n, *sizes))
        return dynamic_update_slice(x, value, Node.of_scalar(np.int32(0)), *starts), 0
    index = places(starts, axes[2:], x.shape[1:], sizes)
    rows = own_row(n, index)
    value = aligned(value, len(sizes), 1)
    out = scatter(x, value, rows, *index, axes=tuple(range(x.ndim)), at=0, bounds="clip", mode="set")
    return out, 0


dynamic_update_slice = Op(
    "dynamic_update_slice",
    LIBRARY,
    lambda x, value, *starts: Aval(x.shape, x.dtype),
    update_lower,
    jvp=update_jvp,
    transpose=update_transpose,
    batch=update_batch,
    linear=True,
    weakness=BACKWARD,
)
"""x with the slice at a start for each axis replaced by a value of the slice's shape and x's dtype."""
