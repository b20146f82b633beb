"""The part of a segment that one process runs: which rows of each value it needs, and the same operations on those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph.op import registry
from ..ops.shape import broadcast_to, reshape, slice_
from ..runtime.segment import Segment
from ..runtime.steps import SCALARS
from .layout import Interval, Shape, Way, in_axes, own

alias = registry["alias"]


def hull(a: Interval | None, b: Interval) -> Interval | None:
    """The rows from the first to the last of either."""
    if b[1] <= b[0]:
        return a
    return b if a is None else (min(a[0], b[0]), max(a[1], b[1]))


def replaced(shape: Shape, axis: int | None, n: int) -> Shape:
    return shape if axis is None else (*shape[:axis], n, *shape[axis + 1 :])


class Part:
    """A stage of a segment, on every process and on one.

    Slots: leaf k of the stage is k, its node n is n_leaves + n.

    Attributes:
        seg: the stage, with the shapes of whole values.
        ways: of each node. axes: of each slot; None: all of it in every process.
    """

    def __init__(self, seg: Segment, ways: list[Way], axes: list[int | None], shapes: list[Shape], size: int) -> None:
        self.seg, self.ways, self.axes, self.size = seg, ways, axes, size
        self.shapes = shapes
        self.n_leaves = len(shapes) - len(seg.ops)
        self.slots = [[None if r >= SCALARS else ~r if r < 0 else self.n_leaves + r for r in refs] for refs in seg.refs]

    def length(self, slot: int) -> int:
        """Rows of a value along the axis along which it is split."""
        axis = self.axes[slot]
        return 1 if axis is None else self.shapes[slot][axis]

    def needs(self, q: int) -> list[Interval | None]:
        """The rows of each slot that rank q needs, for its own rows of the outputs. Backwards."""
        seg, nl = self.seg, self.n_leaves
        need: list[Interval | None] = [None] * len(self.shapes)
        for o in seg.out:
            need[nl + o] = (0, 1) if self.axes[nl + o] is None else own(self.length(nl + o), q, self.size)
        for i in range(len(seg.ops) - 1, -1, -1):
            mine = need[nl + i]
            if mine is None:
                continue
            for j, s in enumerate(self.slots[i]):
                if s is not None:
                    want = self.reads(i, j, s, mine, q)
                    need[s] = hull(need[s], (0, 1) if self.axes[s] is None and want[0] < want[1] else want)
        return need

    def reads(self, i: int, j: int, s: int, mine: Interval, q: int) -> Interval:
        """The rows of its operand j that node i reads for rows `mine` of its result; along the axis it wants."""
        way = self.ways[i]
        axis = way.wants[j]
        n = 1 if axis is None else self.shapes[s][axis]
        L, H = mine
        if way.kind == "slice":
            assert axis is not None
            k = self.slice_entry(i, axis)
            if type(k) is int:
                return k, k + 1
            start, count, step = k
            if way.axis is None:
                L, H = 0, count
            if H <= L:
                return 0, 1  # something to make nothing of
            first, last = start + L * step, start + (H - 1) * step
            return min(first, last), max(first, last) + 1
        if way.kind == "set":
            if j == 0:
                return mine
            first, last = self.written(i, mine)
            return (0, 0) if last <= first else (first, last) if axis is not None else (0, 1)
        if axis is None:
            return 0, 1
        if way.join is not None:
            return own(n, q, self.size)
        if way.kind == "reshape":
            inner, outer = self.row_sizes(i)
            return (0, 0) if H <= L else (L * outer // inner, -(-H * outer // inner))
        return mine

    def slice_entry(self, i: int, axis: int) -> Any:
        key = self.seg.moving[i][0]
        return key[in_axes(key)[axis]]

    def written(self, i: int, rows: Interval) -> Interval:
        """Which rows of what node i writes lie in these rows of its base."""
        axis = self.ways[i].axis
        assert axis is not None
        k = self.seg.moving[i][0][axis]
        start, count, step = (k, 1, 1) if type(k) is int else k
        first = max(0, -(-(rows[0] - start) // step))
        return first, min(count, -(-(rows[1] - start) // step))

    def row_sizes(self, i: int) -> tuple[int, int]:
        """Elements of a row of a reshaped value, before and after."""
        way, before, after = self.ways[i], self.shapes[self.slots[i][0] or 0], self.seg.shapes[i]
        source, axis = way.wants[0], way.axis
        assert source is not None and axis is not None
        if before[source] == after[axis]:
            return 1, 1
        return product(before[source + 1 :]), product(after[axis + 1 :])


def product(shape: Sequence[int]) -> int:
    n = 1
    for k in shape:
        n *= k
    return n


class Localizer:
    """Makes the local segment of a part on one rank."""

    def __init__(self, part: Part, need: list[Interval | None], q: int) -> None:
        self.part, self.need, self.q = part, need, q
        self.ops: list[Any] = []
        self.columns: dict[str, list[Any]] = {
            k: [] for k in ("static", "dtypes", "weak", "refs", "moving", "shapes", "sites")
        }
        self.outs: dict[int, Any] = {}
        self.ref: dict[int, tuple[int, Interval]] = {}  # slot -> local reference, and the rows that it has

    def segment(self) -> Segment:
        part, seg = self.part, self.part.seg
        nl = part.n_leaves
        for s in range(nl):
            self.ref[s] = (~s, self.need[s] or (0, 0))
        for i in range(len(seg.ops)):
            mine = self.need[nl + i]
            if mine is not None:
                self.node(i, mine)
        local = object.__new__(Segment)
        local.ops = self.ops
        for name, column in self.columns.items():
            setattr(local, name, column)
        local.out = self.outputs()
        local.outs, local.leaves, local.refs_to, local.end, local.env, local.plan = self.outs, [], [], -1, None, None
        local.outputs, local.scalars, local.buffers, local.exponents = [], seg.scalars, [], {}
        local.borrowed = (False,) * nl
        c = self.columns
        structure = tuple(zip(self.ops, c["static"], [str(d) for d in c["dtypes"]], c["weak"]))
        local.key = ("spread", structure, tuple(c["refs"]), local.out)  # type: ignore[assignment]
        return local

    def outputs(self) -> tuple[int, ...]:
        """The nodes that are handed out. One that is a leaf on this rank, or another output, is copied: each is to
        have memory of its own."""
        part, out = self.part, []
        for o in self.part.seg.out:
            s = part.n_leaves + o
            ref, rows = self.ref[s]
            if ref < 0 or ref in out:
                axis = part.axes[s]
                n = 1 if axis is None else rows[1] - rows[0]
                ref = self.emit(alias, (), (ref,), (), replaced(part.shapes[s], axis, n), o)
                self.ref[s] = (ref, rows)
            out.append(ref)
        return tuple(out)

    def emit(self, op: Any, static: Any, refs: Sequence[int], moving: Any, shape: Shape, like: int) -> int:
        """A local node, which has dtype and line of node `like` of the part."""
        seg = self.part.seg
        values = (static, seg.dtypes[like], seg.weak[like], tuple(refs), moving, shape, seg.sites[like])
        for column, value in zip(self.columns.values(), values):
            column.append(value)
        self.ops.append(op)
        return len(self.ops) - 1

    def dtype(self, s: int) -> Any:
        part = self.part
        return part.seg.buffers[s].dtype if s < part.n_leaves else part.seg.dtypes[s - part.n_leaves]

    def cut(self, ref: int, s: int, shape: Shape, axis: int, start: int, n: int) -> int:
        """n rows of a local value, a view."""
        key = tuple([(start, n, 1) if a == axis else (0, k, 1) for a, k in enumerate(shape)])
        at = self.emit(slice_, (), (ref,), (key,), replaced(shape, axis, n), 0)
        self.columns["dtypes"][at], self.columns["weak"][at], self.columns["sites"][at] = self.dtype(s), False, None
        return at

    def read(self, s: int, want: int | None, rows: Interval) -> int:
        """A local value with these rows of slot s along axis `want`; all that there is for None."""
        ref, have = self.ref[s]
        axis, shape = self.part.axes[s], self.part.shapes[s]
        if want is None:
            assert axis is None
            return ref
        if axis is None:
            have = (0, shape[want])
        if have == rows:
            return ref
        return self.cut(ref, s, replaced(shape, want, have[1] - have[0]), want, rows[0] - have[0], rows[1] - rows[0])

    def node(self, i: int, mine: Interval) -> None:
        part, seg = self.part, self.part.seg
        way, slot, out = part.ways[i], part.n_leaves + i, seg.shapes[i]
        if way.kind == "set":
            self.write(i, mine)
            return
        L, H = mine
        shape = replaced(out, way.axis, H - L)
        moving = seg.moving[i]
        if way.kind == "slice":
            ref, moving, shape = self.sliced(i, mine, shape)
            args = [ref]
        else:
            args = [
                seg.refs[i][j] if s is None else self.read(s, way.wants[j], part.reads(i, j, s, mine, self.q))
                for j, s in enumerate(part.slots[i])
            ]
        if way.kind == "reshape":
            args, moving = self.flat(i, args, mine, shape), (shape,)
        elif seg.ops[i] is broadcast_to:
            moving = (shape,)
        at = self.emit(seg.ops[i], seg.static[i], args, moving, shape, i)
        if i in seg.outs:
            self.outs[at] = seg.outs[i]
        self.ref[slot] = (at, mine)

    def flat(self, i: int, args: list[int], mine: Interval, shape: Shape) -> list[int]:
        """What a reshape reads, where its rows are not those of the operand: a part of them, in one row."""
        part = self.part
        inner, outer = part.row_sizes(i)
        s = part.slots[i][0]
        first, last = part.reads(i, 0, s or 0, mine, self.q)
        if s is None or (first * inner, last * inner) == (mine[0] * outer, mine[1] * outer):
            return args
        n = (last - first) * inner
        whole = self.emit(reshape, (), args, ((n,),), (n,), i)
        return [self.cut(whole, s, (n,), 0, mine[0] * outer - first * inner, product(shape))]

    def sliced(self, i: int, mine: Interval, shape: Shape) -> tuple[int, Any, Shape]:
        """Reference, key and shape of a slice."""
        part, way = self.part, self.part.ways[i]
        s, axis = part.slots[i][0], way.wants[0]
        key = part.seg.moving[i][0]
        assert s is not None and axis is not None
        place = in_axes(key)[axis]
        k, (ref, have) = key[place], self.ref[s]
        start = 0 if part.axes[s] is None else have[0]
        if type(k) is int:
            new: Any = k - start
        elif way.axis is None:
            new = (k[0] - start, k[1], k[2]) if k[1] else (0, 0, 1)
        else:
            new = (k[0] + mine[0] * k[2] - start, mine[1] - mine[0], k[2])
        return ref, ((*key[:place], new, *key[place + 1 :]),), shape

    def write(self, i: int, mine: Interval) -> None:
        """A write into the rows of the base that are here; nothing, where none of them is. Of rows beyond `mine` the
        result has what the base had: nobody reads them, and the memory need not be another."""
        part, seg, way = self.part, self.part.seg, self.part.ways[i]
        base, value = part.slots[i]
        axis = way.axis
        assert base is not None and axis is not None
        ref, have = self.ref[base]
        if part.axes[base] is None:
            ref, have = self.read(base, axis, mine), mine
        first, last = part.written(i, mine)
        if last > first:
            key = seg.moving[i][0]
            k = key[axis]
            new: Any = k - have[0] if type(k) is int else (k[0] + first * k[2] - have[0], last - first, k[2])
            source = seg.refs[i][1] if value is None else self.read(value, way.wants[1], (first, last))
            moving = ((*key[:axis], new, *key[axis + 1 :]),)
            shape = replaced(seg.shapes[i], axis, have[1] - have[0])
            ref = self.emit(seg.ops[i], seg.static[i], (ref, source), moving, shape, i)
        self.ref[part.n_leaves + i] = (ref, have)
