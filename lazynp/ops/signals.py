"""What NumPy's C code does along one line: interp, correlate, bincount, reduceat, and bits packed into bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import LIBRARY, Op
from .contraction import matmul
from .creation import iota
from .elementwise import add, clip, convert, divide, equal, less, multiply, subtract, where
from .family import axis_batch
from .indexing import gather, take, take_along_axis
from .joining import flip, pad, span
from .promotion import reduced_dtype
from .shape import (
    Axes,
    batch_size,
    broadcast_to,
    expand_dims,
    instantiate,
    reshape,
    slice_,
    to_front,
    zeros_of,
)
from .sorting import searchsorted

Tangents = Sequence[Node | None]
FLOAT = np.dtype(float)

# --- Interpolation ----------------------------------------------------------------------------------------------------


def interp_lower(xp: Any, x: Any, grid: Any, values: Any) -> Any:
    return xp.each(lambda wanted: xp.interp(wanted, grid, values), x, values.dtype)


def neighbours(x: Node, grid: Node, *rows: Node) -> list[tuple[Node, Node]]:
    """Of each of the rows the elements at the points below and above x."""
    n = grid.shape[0]
    above = clip(searchsorted(grid, x, side="right", stack=0), 1, max(n - 1, 1))
    below = clip(subtract(above, 1), 0, n - 1)
    return [(take(r, below, 0), take(r, above, 0, "clip")) for r in rows]


def ends(x: Node) -> tuple[Node, Node]:
    """The first and the last element of a row."""
    return reshape(span(x, 0, 0, 1), shape=()), reshape(span(x, 0, x.shape[0] - 1, 1), shape=())


def interp_jvp(tangents: Tangents, out: Node, x: Node, grid: Node, values: Node) -> Node:
    """Between two points both ends of the line move, outside of all the first or the last value."""
    tx, tg, tv = [instantiate(t, v) for t, v in zip(tangents, (x, grid, values))]
    (x0, x1), (y0, y1), (dx0, dx1), (dy0, dy1) = neighbours(x, grid, grid, values, tg, tv)
    width = subtract(x1, x0)
    flat = equal(width, 0.0)
    width = where(flat, 1.0, width)
    part = divide(subtract(x, x0), width)
    moved = subtract(subtract(tx, dx0), multiply(part, subtract(dx1, dx0)))
    width, part, moved = [convert(v, values.dtype) for v in (width, part, moved)]
    slope = where(flat, 0.0, divide(subtract(y1, y0), width))
    inside = add(add(dy0, multiply(part, subtract(dy1, dy0))), multiply(slope, moved))
    (low, high), (first, last) = ends(grid), ends(tv)
    return where(less(x, low), first, where(less(high, x), last, inside))


def interp_batch(inputs: Sequence[Node], axes: Axes) -> tuple[Node, int]:
    """Where the points are the same for all, more places; else one line after the other, in one search."""
    if axes[1] is None and axes[2] is None:
        return interp(to_front(inputs[0], axes[0]), *inputs[1:]), 0
    n = batch_size(inputs, axes)
    x, grid, values = [
        to_front(v, a) if a is not None else broadcast_to(v, shape=(n, *v.shape)) for v, a in zip(inputs, axes)
    ]
    shape, count = x.shape, grid.shape[1]
    x = reshape(x, shape=(n, x.aval.size // max(n, 1)))
    above = clip(searchsorted(grid, x, side="right", stack=1), 1, max(count - 1, 1))
    places = clip(subtract(above, 1), 0, count - 1), clip(above, 0, count - 1)
    (x0, x1), (y0, y1) = [[take_along_axis(v, i, 1) for i in places] for v in (grid, values)]
    width = subtract(x1, x0)
    slope = divide(subtract(y1, y0), convert(where(equal(width, 0.0), 1.0, width), values.dtype))
    out = add(multiply(slope, convert(subtract(x, x0), values.dtype)), y0)
    (low, high), (first, last) = [(span(v, 1, 0, 1), span(v, 1, count - 1, 1)) for v in (grid, values)]
    out = where(less(x, low), first, where(less(high, x), last, out))
    return reshape(out, shape=shape), 0


interp = Op(
    "interp",
    LIBRARY,
    lambda x, grid, values: Aval(x.shape, values.dtype),
    interp_lower,
    jvp=interp_jvp,
    batch=interp_batch,
    doc="numpy.interp of float64, or of complex128 values, constant outside of the points.",
)

# --- Correlation ------------------------------------------------------------------------------------------------------

LENGTHS = {
    "valid": lambda n, m: (0, n - m + 1),
    "same": lambda n, m: (m // 2, n),
    "full": lambda n, m: (m - 1, n + m - 1),
}


def correlate_abstract(a: Aval, v: Aval, *, mode: str) -> Aval:
    """a is not shorter than v, and both are of one dtype."""
    return Aval((LENGTHS[mode](a.shape[0], v.shape[0])[1],), a.dtype)


def correlate_jvp(tangents: Tangents, out: Node, a: Node, v: Node, *, mode: str) -> Node | None:
    ta, tv = tangents
    left = None if ta is None else correlate(ta, v, mode=mode)
    right = None if tv is None else correlate(a, tv, mode=mode)
    return left if right is None else right if left is None else add(left, right)


def correlate_transpose(ct: Node, a: Any, v: Any, *, mode: str) -> tuple[Node | None, Node | None]:
    """The cotangents of all places where the two overlap, those that `mode` leaves out being zero, go back by the
    same sums."""
    n, m = a.shape[0], v.shape[0]
    left, count = LENGTHS[mode](n, m)
    before = m - 1 - left
    every = pad(ct, [(before, n + m - 1 - count - before)])
    if type(a) is Aval:
        return correlate(every, flip(v, (0,)), mode="valid"), None
    return None, flip(correlate(every, a, mode="valid"), (0,))


def correlate_batch(inputs: Sequence[Node], axes: Axes, *, mode: str) -> tuple[Node, int]:
    """A product with the windows."""
    count = batch_size(inputs, axes)
    a, v = [to_front(x, i) if i is not None else broadcast_to(x, shape=(count, *x.shape)) for x, i in zip(inputs, axes)]
    n, m = a.shape[1], v.shape[1]
    left, length = LENGTHS[mode](n, m)
    places = subtract(add(expand_dims(iota(length), 1), iota(m)), left)
    places = where(less(places, 0), n, places)
    windows = gather(a, places, axes=(1,), at=1, bounds="zero")
    return reshape(matmul(windows, expand_dims(v, 2)), shape=(count, length)), 0


correlate = Op(
    "correlate",
    LIBRARY,
    correlate_abstract,
    lambda xp, a, v, *, mode: xp.plain_correlate(a, v, mode),
    static=("mode",),
    jvp=correlate_jvp,
    transpose=correlate_transpose,
    batch=correlate_batch,
    doc="Sums of products at each place of v along a, without a conjugate.",
)

# --- Counting ---------------------------------------------------------------------------------------------------------


def bincount_abstract(x: Aval, weights: Aval, *, n: int) -> Aval:
    return Aval((n,), FLOAT)


def bincount_batch(inputs: Sequence[Node], axes: Axes, *, n: int) -> tuple[Node, int]:
    """Each example has its own n places among those of all."""
    count = batch_size(inputs, axes)
    x, weights = [
        to_front(v, i) if i is not None else broadcast_to(v, shape=(count, *v.shape)) for v, i in zip(inputs, axes)
    ]
    own = add(x, multiply(expand_dims(iota(count), 1), n))
    flat = [reshape(v, shape=(v.aval.size,)) for v in (own, weights)]
    return reshape(bincount(*flat, n=count * n), shape=(count, n)), 0


bincount = Op(
    "bincount",
    LIBRARY,
    bincount_abstract,
    lambda xp, x, weights, *, n: xp.bincount(x, weights, n),
    moving=("n",),
    jvp=lambda tangents, out, x, weights, *, n: None if tangents[1] is None else bincount(x, tangents[1], n=n),
    transpose=lambda ct, x, weights, *, n: (None, gather(ct, x, axes=(0,), at=0, bounds="raise")),
    batch=bincount_batch,
    doc="For each of n numbers the sum of the weights, of float64, of the places where x is that; none is larger.",
)


def counts_batch(inputs: Sequence[Node], axes: Axes, *, n: int) -> tuple[Node, int]:
    x = convert(to_front(inputs[0], axes[0]), np.dtype(np.intp))
    own = add(x, multiply(expand_dims(iota(x.shape[0]), 1), n))
    return reshape(counts(reshape(own, shape=(x.aval.size,)), n=x.shape[0] * n), shape=(x.shape[0], n)), 0


counts = Op(
    "counts",
    LIBRARY,
    lambda x, *, n: Aval((n,), np.dtype(np.intp)),
    lambda xp, x, *, n: xp.bincount(x, None, n),
    moving=("n",),
    batch=counts_batch,
    doc="bincount without weights.",
)


def tally_batch(inputs: Sequence[Node], axes: Axes, *, even: bool) -> tuple[Node, int]:
    """Each example has its own counts among those of all, for what lies before and behind its bins too."""
    count, stack = batch_size(inputs, axes), int(axes[0] is not None)
    edges = inputs[0] if axes[0] is None else to_front(inputs[0], axes[0])
    x = broadcast_to(inputs[1], shape=(count, *inputs[1].shape)) if axes[1] is None else to_front(inputs[1], axes[1])
    x, n = reshape(x, shape=(count, x.aval.size // max(count, 1))), edges.shape[-1] - 1
    places = searchsorted(edges, x, side="right", stack=stack)
    last = slice_(edges, key=(*[(0, count, 1)] * stack, (n, 1, 1)))
    own = add(where(equal(x, last), n, places), multiply(expand_dims(iota(count), 1), n + 2))
    found = reshape(counts(reshape(own, shape=(x.aval.size,)), n=count * (n + 2)), shape=(count, n + 2))
    return slice_(found, key=((0, count, 1), (1, n, 1))), 0


tally = Op(
    "tally",
    LIBRARY,
    lambda edges, x, *, even: Aval((edges.shape[0] - 1,), np.dtype(np.intp)),
    lambda xp, edges, x, *, even: xp.tally(edges, x, even),
    static=("even",),
    batch=tally_batch,
    doc="numpy.histogram of x, whose edges ascend in the same dtype; `even`: they are equally far apart.",
)

# --- Reductions of parts ----------------------------------------------------------------------------------------------


def part_of_each(n: int, starts: Node) -> Node:
    """Of each of n places the part that it is in; -1 before the first."""
    return subtract(searchsorted(starts, iota(n), side="right", stack=0), 1)


def reduceat_abstract(x: Aval, starts: Aval, *, name: str, axis: int) -> Aval:
    """`starts` ascend, without repetitions."""
    shape = (*x.shape[:axis], starts.shape[0], *x.shape[axis + 1 :])
    return Aval(shape, reduced_dtype(getattr(np, name), "reduce", x.dtype, None))


def reduceat_jvp(tangents: Tangents, out: Node, x: Node, starts: Node, *, name: str, axis: int) -> Node | None:
    """Of a sum the sum, of an extremum the mean of those that reach it, of a product the sum of quotients."""
    t = tangents[0]
    if t is None:
        return None
    if name == "add":
        return reduceat(t, starts, name=name, axis=axis)
    along = clip(part_of_each(x.shape[axis], starts), 0, starts.shape[0] - 1)
    spread = take(out, along, axis)
    if name == "multiply":
        return reduceat(multiply(t, divide(spread, x)), starts, name="add", axis=axis)
    reached = convert(equal(x, spread), x.dtype)
    totals = [reduceat(v, starts, name="add", axis=axis) for v in (multiply(t, reached), reached)]
    return divide(*totals)


def reduceat_transpose(ct: Node, x: Aval, starts: Node, *, name: str, axis: int) -> tuple[Node, None]:
    part = part_of_each(x.shape[axis], starts)
    spread = take(ct, clip(part, 0, starts.shape[0] - 1), axis)
    row = [1] * x.ndim
    row[axis] = x.shape[axis]
    return where(less(reshape(part, shape=tuple(row)), 0), zeros_of(spread), spread), None


def reduceat_batch(inputs: Sequence[Node], axes: Axes, *, name: str, axis: int) -> tuple[Node, int]:
    if axes[1] is not None:
        raise NotImplementedError(f"vmap over the indices of {name}.reduceat")
    return reduceat(to_front(inputs[0], axes[0]), inputs[1], name=name, axis=axis + 1), 0


reduceat = Op(
    "reduceat",
    LIBRARY,
    reduceat_abstract,
    lambda xp, x, starts, *, name, axis: getattr(xp, name).reduceat(x, starts, axis),
    static=("name", "axis"),
    jvp=reduceat_jvp,
    transpose=reduceat_transpose,
    batch=reduceat_batch,
    doc="A ufunc over the parts of an axis that begin at `starts`.",
)

# --- Bits -------------------------------------------------------------------------------------------------------------

BYTE = np.dtype(np.uint8)


def packed(n: int) -> int:
    return (n + 7) // 8


packbits = Op(
    "packbits",
    LIBRARY,
    lambda x, *, axis, order: Aval((*x.shape[:axis], packed(x.shape[axis]), *x.shape[axis + 1 :]), BYTE),
    lambda xp, x, *, axis, order: xp.packbits(x, axis, order),
    static=("axis", "order"),
)
packbits.batch = axis_batch(packbits)
unpackbits = Op(
    "unpackbits",
    LIBRARY,
    lambda x, *, axis, order, n: Aval((*x.shape[:axis], n, *x.shape[axis + 1 :]), BYTE),
    lambda xp, x, *, axis, order, n: xp.unpackbits(x, axis, n, order),
    static=("axis", "order"),
    moving=("n",),
)
unpackbits.batch = axis_batch(unpackbits)
