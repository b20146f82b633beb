"""How the values of a segment lie over the processes: each along one of its axes, or whole in every process.

A rule for each kind of op says along which axis its result can be split, and along which its operands have to be for
that. What has no rule is computed by every process, of whole operands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..config import config
from ..graph.op import MAP, REDUCE, SET
from ..ops.shape import key_shape

Shape = tuple[int, ...]
Interval = tuple[int, int]
ALONG = frozenset({"sort", "argsort", "partition", "argpartition", "fft", "ifft", "rfft", "irfft", "argmin", "argmax"})


def own(n: int, q: int, size: int) -> Interval:
    """Which of n rows rank q has."""
    return n * q // size, n * (q + 1) // size


def default_axis(shape: Shape, size: int) -> int | None:
    """The axis along which a value is split that nothing is known of; None for a small one."""
    if not shape or math.prod(shape) < config.spread_size:
        return None
    if shape[0] >= 8 * size:
        return 0
    longest = max(range(len(shape)), key=lambda a: (shape[a], -a))
    return longest if shape[longest] >= size else None


class Way(NamedTuple):
    """How an operation runs.

    Attributes:
        kind: which of the functions of `localize.py` makes the local operation.
        axis: along which the result is split; None: every process has all of it.
        wants: of each operand the axis along which it is to be split; None: all of it.
        join: name of the ufunc that joins what the processes have made of their parts of the operands.
    """

    kind: str
    axis: int | None
    wants: tuple[int | None, ...]
    join: str | None = None


def whole_way(n: int) -> Way:
    return Way("full", None, (None,) * n)


class Operation(NamedTuple):
    """One operation of a segment, and how its operands lie."""

    op: Any
    static: tuple[Any, ...]
    moving: tuple[Any, ...]
    shape: Shape
    shapes: Sequence[Shape]
    axes: Sequence[int | None]
    size: int  # processes

    def given(self, j: int) -> int | None:
        """The axis along which operand j is split, or would be."""
        return self.axes[j] if self.axes[j] is not None else default_axis(self.shapes[j], self.size)


def way_of(o: Operation) -> Way:
    """How to run an operation."""
    rule = RULES.get(o.op.name) or RULES.get(o.op.kind)
    if rule is None and o.op.name.endswith(".accumulate") or o.op.name in ALONG:
        rule = along_way
    way = rule(o) if rule is not None else None
    return whole_way(len(o.shapes)) if way is None else way


def map_way(o: Operation) -> Way | None:
    d, best, axis = len(o.shape), -1, None
    for shape, a in zip(o.shapes, o.axes):
        if a is not None and math.prod(shape) > best and shape[a] == o.shape[a + d - len(shape)]:
            best, axis = math.prod(shape), a + d - len(shape)
    if axis is None:
        axis = default_axis(o.shape, o.size)
    if axis is None:
        return None
    wants = tuple([aligned_axis(axis - d + len(shape), shape, o.shape[axis]) for shape in o.shapes])
    return Way("map", axis, wants)


def aligned_axis(a: int, shape: Shape, n: int) -> int | None:
    """The axis a of an operand, where it runs along one of n rows."""
    return a if a >= 0 and shape[a] == n and n != 1 else None


def in_axes(key: Any) -> list[int]:
    """The places in a key of the operand's axes."""
    return [p for p, k in enumerate(key) if k is not None]


def out_axis(key: Any, place: int) -> int:
    """The axis of the result that the entry at a place of a key makes."""
    return sum([type(k) is not int for k in key[:place]])


def slice_way(o: Operation) -> Way | None:
    a, key = o.axes[0], o.moving[0]
    if a is None or len(in_axes(key)) <= a:
        return None
    place = in_axes(key)[a]
    k = key[place]
    if type(k) is int or k[1] < o.size:
        return Way("slice", None, (a,))
    return Way("slice", out_axis(key, place), (a,))


def transpose_way(o: Operation) -> Way | None:
    a = o.axes[0]
    return None if a is None else Way("transpose", o.static[0].index(a), (a,))


def reshape_way(o: Operation) -> Way | None:
    a, shape, out = o.axes[0], o.shapes[0], o.shape
    if a is None or 0 in shape:
        return None
    before = math.prod(shape[:a])
    for b, n in enumerate(out):
        if n == shape[a] and math.prod(out[:b]) == before:
            return Way("reshape", b, (a,))
    if before == 1:
        b = next((b for b, n in enumerate(out) if n > 1), 0)
        if out[b] >= o.size:
            return Way("reshape", b, (a,))
    return None


def reduce_way(o: Operation) -> Way | None:
    a = o.given(0)
    axes, keepdims = o.static[0], o.static[1]
    if a is None:
        return None
    if a not in axes:
        return Way("reduce", a if keepdims else a - sum([b < a for b in axes]), (a,))
    name = o.op.name.removesuffix(".reduce")
    return Way("reduce", None, (a,), name) if o.op.associative else None


def set_way(o: Operation) -> Way | None:
    a, key = o.given(0), o.moving[0]
    if a is None or None in key or len(key) != len(o.shapes[0]):
        return None
    k, value = key[a], o.shapes[1]
    if type(k) is int:
        return Way("set", a, (a, None))
    if k[2] < 0:
        return None
    shape = key_shape(key)
    return Way("set", a, (a, aligned_axis(out_axis(key, a) - len(shape) + len(value), value, k[1])))


def matmul_way(o: Operation) -> Way | None:
    """Rows of the left operand, columns of the right one, or parts of a sum over what both have split."""
    (x, y), (a, b) = o.shapes, o.axes
    if len(x) > 2 or len(y) > 2:
        return stacked_way(o)
    if a is None and b is None and not any([default_axis(s, o.size) is not None for s in (x, y, o.shape)]):
        return None
    inner_x, inner_y = len(x) - 1, max(len(y) - 2, 0)
    all_x, all_y = 0 if a is None else math.prod(x), 0 if b is None else math.prod(y)
    cost = {}  # of each way the elements that come to each process
    if len(x) == 2 and x[0] >= o.size:
        cost[Way("matmul", 0, (0, None))] = all_y + (all_x // o.size if a == 1 else 0)
    if len(y) == 2 and y[1] >= o.size:
        cost[Way("matmul", len(o.shape) - 1, (None, 1))] = all_x + (all_y // o.size if b == 0 else 0)
    if x[inner_x] >= o.size:
        moved = (all_x // o.size if a not in (None, inner_x) else 0) + (
            all_y // o.size if b not in (None, inner_y) else 0
        )
        cost[Way("matmul", None, (inner_x, inner_y), "add")] = moved + 2 * math.prod(o.shape)
    return min(cost, key=lambda way: cost[way]) if cost else None


def stacked_way(o: Operation) -> Way | None:
    """Products of stacks of matrices, split along an axis of the stack."""
    (x, y), d = o.shapes, len(o.shape)
    if len(x) != len(y) or d != len(x):
        return None
    for shape, a in zip(o.shapes, o.axes):
        if a is not None and a < d - 2 and shape[a] == o.shape[a]:
            return Way("matmul", a, tuple([a if s[a] == o.shape[a] else None for s in (x, y)]))
    return None


def along_way(o: Operation) -> Way | None:
    """What goes along one axis, and can be split along any other."""
    if len(o.shapes) != 1:
        return None
    shape, at = o.shapes[0], o.static[0]
    if type(at) is not int:
        return None
    a = o.given(0)
    at %= max(len(shape), 1)
    if a is None:
        return None
    if a == at:
        others = [b for b, n in enumerate(shape) if b != at and n >= o.size]
        if not others:
            return across_way(o, a)
        a = max(others, key=lambda b: (shape[b], -b))
    kept = len(o.shape) == len(shape)
    return Way("along", a if kept else a - (at < a), (a,))


def across_way(o: Operation, a: int) -> Way | None:
    """What goes along the axis that is split: each process does its part, and `joining.py` what lies between them."""
    name, _, what = o.op.name.partition(".")
    if what == "accumulate" and o.op.associative:
        return Way("scan", a, (a,), name)
    return Way("sort", a, (a,), "sort") if name == "sort" and len(o.shape) == 1 else None


def concatenate_way(o: Operation) -> Way | None:
    at = o.static[0]
    split = [(math.prod(s), a) for s, a in zip(o.shapes, o.axes) if a is not None]
    if not split or type(at) is not int:
        return None
    at %= len(o.shape)
    a = max(split)[1]
    if a == at:
        others = [b for b, n in enumerate(o.shape) if b != at and n >= o.size]
        if not others:
            return None
        a = max(others, key=lambda b: (o.shape[b], -b))
    return Way("concatenate", a, (a,) * len(o.shapes))


def gather_way(o: Operation) -> Way | None:
    """`x[indices]`: along an axis of x that has no index, or, of an x that all have, along the first of the indices."""
    axes, place = o.static[0], o.static[1]
    shape, a, indices = o.shapes[0], o.axes[0], o.shapes[1:]
    if a is None:
        n = o.shape[place] if place < len(o.shape) else 0
        split = default_axis(o.shape, o.size) is not None or any([b is not None for b in o.axes[1:]])
        if not split or n < o.size or any([s[:1] != (n,) or len(s) != len(indices[0]) for s in indices]):
            return None
        return Way("gather", place, (None, *(0,) * len(indices)))
    if a in axes:
        return None
    kept = [b for b in range(len(shape)) if b not in axes].index(a)
    axis = kept if kept < place else kept + max([len(s) for s in indices])
    return Way("gather", axis, (a, *(None,) * len(indices))) if o.shape[axis] == shape[a] else None


RULES: dict[str, Any] = {
    MAP: map_way,
    REDUCE: reduce_way,
    SET: set_way,
    "slice": slice_way,
    "transpose": transpose_way,
    "reshape": reshape_way,
    "broadcast_to": map_way,
    "alias": map_way,
    "stop_gradient": map_way,
    "matmul": matmul_way,
    "matvec": lambda o: matmul_way(o) if len(o.shapes[0]) == 2 and len(o.shapes[1]) == 1 else None,
    "vecmat": lambda o: matmul_way(o) if len(o.shapes[0]) == 1 and len(o.shapes[1]) == 2 else None,
    "vecdot": lambda o: matmul_way(o) if len(o.shapes[0]) == 1 and len(o.shapes[1]) == 1 else None,
    "concatenate": concatenate_way,
    "gather": gather_way,
}
