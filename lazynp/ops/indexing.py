"""Advanced indexing: gather (reading) and scatter (writing) with integer arrays, and what is made of them.

`split_index` cuts a full NumPy index into a basic key, which makes a view, and integer arrays on some of its axes.
The shape of the broadcast index arrays stands at axis `at` of what is read or written.

`bounds`: "raise" (NumPy's IndexError), "clip", "wrap"; an index out of bounds reads zero under gather's "zero", and
writes nothing under scatter's "drop". Under gather's "assumed" it reads as under "clip", and its cotangent is lost.
Negative indices count from the end, but under "clip" and "assumed", where they are 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import BACKWARD, LIBRARY, Op
from .creation import iota
from .elementwise import add, convert, divide, equal, less, multiply, where
from .promotion import Shape, broadcast
from .shape import (
    Axes,
    Key,
    aligned,
    batch_size,
    broadcast_to,
    expand_dims,
    instantiate,
    linear_jvp,
    move_axis,
    reshape,
    sum_to,
    to_front,
    zeros_of,
)

Index = tuple[Any, ...]


def split_index(shape: Shape, index: Index) -> tuple[Key, Shape, int, Index]:
    """The key, the axes of the view that are indexed by arrays, where their shape stands in the result, and the arrays.

    `index` holds ints, slices, None, Ellipsis and arrays of integers (anything with a shape; masks are such by now).
    An int beside arrays is an index array of shape ().
    """
    dots = [i for i, k in enumerate(index) if k is Ellipsis]
    taken = sum(k is not None and k is not Ellipsis for k in index)
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if taken > len(shape):
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but {taken} were indexed")
    rest = (slice(None),) * (len(shape) - taken)
    full = (*index[: dots[0]], *rest, *index[dots[0] + 1 :]) if dots else (*index, *rest)
    key: list[Any] = []
    axes: list[int] = []
    arrays: list[Any] = []
    source = 0
    for k in full:
        if k is None:
            key.append(None)
            continue
        n = shape[source]
        source += 1
        if isinstance(k, slice):
            span = range(*k.indices(n))
            key.append((span.start, len(span), span.step))
            continue
        axes.append(len(key))
        arrays.append(k)
        key.append((0, n, 1))
    return tuple(key), tuple(axes), result_axis(index, axes), tuple(arrays)


def result_axis(index: Index, axes: Sequence[int]) -> int:
    """Where NumPy puts the index arrays' shape: in the place of the arrays if they stand together, else in front."""
    places = [i for i, k in enumerate(index) if k is not None and k is not Ellipsis and not isinstance(k, slice)]
    together = not places or places[-1] - places[0] == len(places) - 1
    return axes[0] if together and axes else 0


def indexed_shape(shape: Shape, indices: Sequence[Aval], axes: Shape, at: int) -> Shape:
    kept = [n for i, n in enumerate(shape) if i not in axes]
    try:
        common = broadcast(*[i.shape for i in indices])
    except ValueError:
        text = " ".join(f"({','.join(map(str, i.shape))}{',' if i.ndim == 1 else ''})" for i in indices)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {text} "
        ) from None
    for i in indices:
        if i.dtype.kind not in "iu":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return (*kept[:at], *common, *kept[at:])


def gather_abstract(x: Aval, *indices: Aval, axes: Shape, at: int, bounds: str) -> Aval:
    return Aval(indexed_shape(x.shape, indices, axes, at), x.dtype, x.weak)


def gather_lower(xp: Any, x: Any, *indices: Any, axes: Shape, at: int, bounds: str) -> Any:
    return xp.gather(x, indices, axes, at, "clip" if bounds == "assumed" else bounds)


def gather_transpose(ct: Node, x: Aval, *indices: Node, axes: Shape, at: int, bounds: str) -> tuple[Node | None, ...]:
    if bounds == "assumed":
        indices = tuple([where(less(i, 0), x.shape[a], i) if i.dtype.kind == "i" else i for i, a in zip(indices, axes)])
    bounds = "drop" if bounds in ("zero", "assumed") else bounds
    spread = scatter(zeros_of(x), ct, *indices, axes=axes, at=at, bounds=bounds, mode="add")
    return (spread, *(None,) * len(indices))


def gather_batch(inputs: Sequence[Node], mapped: Axes, *, axes: Shape, at: int, bounds: str) -> tuple[Node, int]:
    x, *indices = inputs
    if all(a is None for a in mapped[1:]):
        x = to_front(x, mapped[0])
        return gather(x, *indices, axes=tuple([a + 1 for a in axes]), at=at + 1, bounds=bounds), 0
    indices = batched_indices(indices, mapped[1:])
    if mapped[0] is None:
        return gather(x, *indices, axes=axes, at=at, bounds=bounds), at
    first, axes = own_row(batch_size(inputs, mapped), indices), (0, *[a + 1 for a in axes])
    return gather(to_front(x, mapped[0]), first, *indices, axes=axes, at=at, bounds=bounds), at


def batched_indices(indices: Sequence[Node], mapped: Axes) -> list[Node]:
    rank = max(i.ndim - (a is not None) for i, a in zip(indices, mapped))
    return [i if a is None else aligned(to_front(i, a), rank, 1) for i, a in zip(indices, mapped)]


def own_row(n: int, indices: Sequence[Node]) -> Node:
    """Each batch member's number, broadcasting against the batched index arrays."""
    rank = max(i.ndim for i in indices)
    return reshape(iota(n), shape=(n, *(1,) * (rank - 1)))


gather = Op(
    "gather",
    LIBRARY,
    gather_abstract,
    gather_lower,
    static=("axes", "at", "bounds"),
    transpose=gather_transpose,
    batch=gather_batch,
    weakness=BACKWARD,
)
gather.jvp = linear_jvp(gather)


def scatter_abstract(base: Aval, value: Aval, *indices: Aval, axes: Shape, at: int, bounds: str, mode: str) -> Aval:
    """`value` has base's dtype, and broadcasts to the region. Of repeated indices the last wins under mode "set"."""
    shape = indexed_shape(base.shape, indices, axes, at)
    tail = shape[max(len(shape) - value.ndim, 0) :]
    if value.ndim > len(shape) or any(n not in (1, m) for n, m in zip(value.shape, tail)):
        text = ",".join(map(str, value.shape)) + ("," if value.ndim == 1 else "")
        into = ",".join(map(str, shape)) + ("," if len(shape) == 1 else "")
        raise ValueError(
            f"shape mismatch: value array of shape ({text}) could not be broadcast to indexing result of shape ({into})"
        )
    return Aval(base.shape, base.dtype)


def scatter_lower(xp: Any, base: Any, value: Any, *indices: Any, axes: Shape, at: int, bounds: str, mode: str) -> Any:
    return xp.scatter(base, value, indices, axes, at, bounds, mode)


def scatter_jvp(
    tangents: Sequence[Node | None], out: Node, base: Node, value: Node, *indices: Node, mode: str, **where_: Any
) -> Node:
    tb, tv = instantiate(tangents[0], base), instantiate(tangents[1], value)
    if mode in ("set", "add"):
        return scatter(tb, tv, *indices, mode=mode, **where_)
    if mode == "multiply":
        return scatter_product_jvp(tb, tv, out, base, value, *indices, **where_)
    return scatter_extremum_jvp(tb, tv, out, base, value, *indices, **where_)


def scatter_product_jvp(tb: Node, tv: Node, out: Node, base: Node, value: Node, *indices: Node, **where_: Any) -> Node:
    """Exact for repeated indices but where one of the factors is zero."""
    one = broadcast_to(np.ones((), base.dtype)[()], shape=base.shape)
    factors = scatter(one, value, *indices, mode="multiply", **where_)
    zero = equal(value, 0)
    safe = where(zero, Node.of_scalar(np.ones((), value.dtype)[()]), value)
    others = where(zero, gather_for(base, *indices, **where_), divide(gather_for(out, *indices, **where_), safe))
    return scatter(multiply(tb, factors), convert(multiply(tv, others), base.dtype), *indices, mode="add", **where_)


def scatter_extremum_jvp(tb: Node, tv: Node, out: Node, base: Node, value: Node, *indices: Node, **where_: Any) -> Node:
    """The mean of the tangents of all that reach the extremum."""
    from_base = convert(equal(base, out), base.dtype)
    from_value = convert(equal(value, gather_for(out, *indices, **where_)), base.dtype)
    count = scatter(from_base, from_value, *indices, mode="add", **where_)
    return divide(scatter(multiply(tb, from_base), multiply(tv, from_value), *indices, mode="add", **where_), count)


def gather_for(x: Node, *indices: Node, axes: Shape, at: int, bounds: str) -> Node:
    """What a scatter with these parameters would write over."""
    return gather(x, *indices, axes=axes, at=at, bounds="zero" if bounds == "drop" else bounds)


def scatter_transpose(
    ct: Node, base: Any, value: Any, *indices: Node, axes: Shape, at: int, bounds: str, mode: str
) -> tuple[Node | None, ...]:
    """Linear under modes "set" and "add" only."""
    where_: dict[str, Any] = {"axes": axes, "at": at, "bounds": bounds}
    zero = Node.of_scalar(np.zeros((), ct.dtype)[()])
    ct_base = ct_value = None
    if type(base) is Aval:
        ct_base = scatter(ct, zero, *indices, mode="set", **where_) if mode == "set" else ct
    if type(value) is Aval:
        ct_value = gather_for(ct, *indices, **where_)
        if mode == "set" and broadcast(*[i.shape for i in indices]) != ():
            ct_value = where(last_written(ct_value.shape, ct.shape, *indices, **where_), ct_value, zero)
        ct_value = sum_to(ct_value, value.shape)
    return (ct_base, ct_value, *(None,) * len(indices))


def last_written(region: Shape, shape: Shape, *indices: Node, **where_: Any) -> Node:
    """Which elements of the region were not written over by a later one."""
    number = reshape(add(iota(math.prod(region)), 1), shape=region)
    none = broadcast_to(np.int64(0), shape=shape)
    last = scatter(none, number, *indices, mode="set", **where_)
    return equal(gather_for(last, *indices, **where_), number)


def scatter_batch(
    inputs: Sequence[Node], mapped: Axes, *, axes: Shape, at: int, bounds: str, mode: str
) -> tuple[Node, int]:
    base, value, *indices = inputs
    n = batch_size(inputs, mapped)
    rank = base.ndim - (mapped[0] is not None) - len(axes)
    base = to_front(base, mapped[0]) if mapped[0] is not None else broadcast_to(base, shape=(n, *base.shape))
    rank += max(i.ndim - (a is not None) for i, a in zip(indices, mapped[2:]))
    if mapped[1] is not None:
        value = aligned(to_front(value, mapped[1]), rank, 1)
    up = tuple([a + 1 for a in axes])
    if all(a is None for a in mapped[2:]):
        return scatter(base, value, *indices, axes=up, at=at + 1, bounds=bounds, mode=mode), 0
    indices = batched_indices(indices, mapped[2:])
    value = move_axis(value, 0, at) if mapped[1] is not None else expand_dims(aligned(value, rank, 0), at)
    row = own_row(n, indices)
    return scatter(base, value, row, *indices, axes=(0, *up), at=at, bounds=bounds, mode=mode), 0


scatter = Op(
    "scatter",
    LIBRARY,
    scatter_abstract,
    scatter_lower,
    static=("axes", "at", "bounds", "mode"),
    jvp=scatter_jvp,
    transpose=scatter_transpose,
    batch=scatter_batch,
)
"""base with `value` written ("set"), or added, multiplied, min, max, at the places that gather would read."""

# Compositions.


def take(x: Node, indices: Node, axis: int, bounds: str = "raise") -> Node:
    """numpy.take."""
    return gather(x, indices, axes=(axis,), at=axis, bounds=bounds)


def grid_indices(shape: Shape, indices: Node, axis: int) -> list[Node]:
    """Index arrays that walk along with `indices` on the other axes."""
    out = []
    for i, n in enumerate(shape):
        row = [1] * len(shape)
        row[i] = n
        out.append(indices if i == axis else reshape(iota(n), shape=tuple(row)))
    return out


def take_along_axis(x: Node, indices: Node, axis: int, bounds: str = "raise") -> Node:
    """numpy.take_along_axis."""
    shape = tuple([n if m == 1 else m for n, m in zip(x.shape, indices.shape)])
    return gather(x, *grid_indices(shape, indices, axis), axes=tuple(range(x.ndim)), at=0, bounds=bounds)


def put_along_axis(x: Node, indices: Node, values: Node, axis: int, mode: str = "set", bounds: str = "raise") -> Node:
    """numpy.put_along_axis, as a new array."""
    shape = tuple([n if m == 1 else m for n, m in zip(x.shape, indices.shape)])
    return scatter(
        x, values, *grid_indices(shape, indices, axis), axes=tuple(range(x.ndim)), at=0, bounds=bounds, mode=mode
    )


def put(x: Node, indices: Node, values: Node, bounds: str = "raise") -> Node:
    """numpy.put, as a new array; as many values as indices, which count through x in C order."""
    flat = reshape(x, shape=(x.aval.size,))
    return reshape(scatter(flat, values, indices, axes=(0,), at=0, bounds=bounds, mode="set"), shape=x.shape)
