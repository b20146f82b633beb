"""Running segments on many processes: stages of local work, with messages between them.

A segment is arranged once for each structure and sizes: which way every operation goes (`layout.py`), where a value has
to lie otherwise than it was made (there a stage ends), and which rows every rank needs of what a stage reads. What a
process runs of a stage is an ordinary plan of an ordinary segment, with its own rows.
"""

from __future__ import annotations

import gc
import math
import weakref
import zlib
from typing import Any

import numpy as np

from ..away import on_host
from ..bounded import Bounded
from ..config import config
from ..errors import user_line
from ..graph.node import BORROWED, Node
from ..runtime import chain
from ..runtime.device import DeviceBuffer, current, elsewhere, is_small, kept
from ..runtime.faults import failures
from ..runtime.segment import Segment, plan_of
from ..runtime.steps import SCALARS, Environment, Failure
from .buffer import Moves, Spread, are_apart, at, joined_rows, spreading
from .group import DivergedError
from .joining import ACROSS
from .layout import Interval, Operation, Shape, Way, default_axis, own, way_of
from .localize import Localizer, Part
from .memory import Memory, main_memory

COLLECTED_EVERY = 500  # segments: see `collect`
ARRANGED = 512
arranged: Bounded[Any, list[Any]] = Bounded(ARRANGED)


class Stage:
    """Nodes of a segment that run without a message between them.

    Attributes:
        nodes: their places in the segment. slots: the segment's slots that are read, each with the axis along which it
            is to be split (None: all of it). out: the nodes that others read, or that are wanted.
        axes, kinds: of the outputs, along which they are split, and of their ways; joins: of those that are partial
            results, the ufunc that joins them.
        needs: for each rank the rows of each leaf, then each output. local: what this rank runs.
        last: the slots that no later stage reads. mark: a number for all this.
    """

    __slots__ = (
        "nodes",
        "slots",
        "out",
        "axes",
        "joins",
        "kinds",
        "needs",
        "made",
        "rows",
        "local",
        "last",
        "mark",
        "final",
    )
    nodes: list[int]
    slots: list[tuple[int, int | None]]
    out: list[int]
    axes: list[int | None]
    joins: list[str | None]
    kinds: list[str]
    needs: list[list[Interval]]
    made: list[list[Interval]]
    rows: list[Interval]
    local: Segment
    last: set[int]
    mark: int
    final: set[int]


class Arranger:
    """Finds the stages of a segment."""

    def __init__(self, seg: Segment, leaf_axes: list[int | None], size: int, rank: int) -> None:
        self.seg, self.size, self.rank = seg, size, rank
        self.nl = len(seg.buffers)
        several = [type(b) is tuple for b in seg.buffers]
        self.shapes: list[Shape] = [() if s else b.shape for s, b in zip(several, seg.buffers)] + list(seg.shapes)
        self.axes: list[int | None] = [*leaf_axes, *[None] * len(seg.ops)]
        self.ways: list[Way] = []
        self.stage_of: list[int] = []
        self.partial: set[int] = set()

    def slots(self, i: int) -> list[int | None]:
        return [None if r >= SCALARS else ~r if r < 0 else self.nl + r for r in self.seg.refs[i]]

    def stages(self) -> list[Stage]:
        seg, nl = self.seg, self.nl
        for i, op in enumerate(seg.ops):
            slots = self.slots(i)
            shapes = [() if s is None else self.shapes[s] for s in slots]
            axes = [None if s is None else self.axes[s] for s in slots]
            several = i in seg.outs or any(s is not None and self.is_several(s) for s in slots)
            way = (
                Way("full", None, (None,) * len(slots))
                if several
                else way_of(Operation(op, seg.static[i], seg.moving[i], seg.shapes[i], shapes, axes, self.size))
            )
            at = 0
            for s, want, axis in zip(slots, way.wants, axes):
                if s is not None and s >= nl:
                    moved = axis is not None and axis != want or s in self.partial
                    at = max(at, self.stage_of[s - nl] + moved)
            self.ways.append(way)
            self.stage_of.append(at)
            self.axes[nl + i] = way.axis
            if way.join is not None:
                self.partial.add(nl + i)
        return [self.stage(k) for k in range(max(self.stage_of) + 1)]

    def is_several(self, s: int) -> bool:
        return type(self.seg.buffers[s]) is tuple if s < self.nl else s - self.nl in self.seg.outs

    def stage(self, k: int) -> Stage:
        seg, nl = self.seg, self.nl
        st = Stage()
        st.nodes = [i for i, at in enumerate(self.stage_of) if at == k]
        later = {s for i, at in enumerate(self.stage_of) if at > k for s in self.slots(i) if s is not None}
        st.final = {nl + o for o in seg.out}
        st.out = [i for i in st.nodes if nl + i in st.final or nl + i in later]
        inside = {nl + i: n for n, i in enumerate(st.nodes)}
        wanted: dict[int, set[int | None]] = {}
        for i in st.nodes:
            for s, want in zip(self.slots(i), self.ways[i].wants):
                if s is not None and s not in inside:
                    wanted.setdefault(s, set()).add(want)
        st.slots = [(s, self.read_as(s, wants)) for s, wants in wanted.items()]
        st.last = {s for s in wanted if s not in later and s not in st.final}
        part = self.part(st, inside)
        needs = [part.needs(q) for q in range(self.size)]
        n = len(st.slots)
        st.needs = [[need[j] or (0, 0) for need in needs] for j in range(n)]
        st.axes = [self.axes[nl + i] for i in st.out]
        st.joins = [self.ways[i].join for i in st.out]
        st.kinds = [self.ways[i].kind for i in st.out]
        st.made = [[need[n + inside[nl + i]] or (0, 0) for need in needs] for i in st.out]
        maker = Localizer(part, needs[self.rank], self.rank)
        st.local = maker.segment()
        st.rows = [maker.ref[n + inside[nl + i]][1] for i in st.out]
        st.mark = zlib.crc32(repr((self.described(st), st.slots, st.out, [self.ways[i] for i in st.nodes])).encode())
        return st

    def read_as(self, s: int, wants: set[int | None]) -> int | None:
        """How a stage is given a value that is wanted in some ways: split, or all of it. Of what all have, and is
        large, it is given rows, too."""
        split = self.axes[s] is not None or math.prod(self.shapes[s]) >= config.spread_size
        return next(iter(wants)) if split and len(wants) == 1 else None

    def part(self, st: Stage, inside: dict[int, int]) -> Part:
        """The stage as a segment of its own, of whole values."""
        seg, nl = self.seg, self.nl
        place_of = {s: ~j for j, (s, _) in enumerate(st.slots)}
        place_of.update(inside)
        sub = object.__new__(Segment)
        for name in ("ops", "static", "dtypes", "weak", "moving", "shapes", "sites"):
            setattr(sub, name, [getattr(seg, name)[i] for i in st.nodes])
        sub.refs = [
            tuple([r if s is None else place_of[s] for r, s in zip(seg.refs[i], self.slots(i))]) for i in st.nodes
        ]
        sub.outs = {inside[nl + i]: seg.outs[i] for i in st.nodes if i in seg.outs}
        sub.scalars, sub.out = seg.scalars, tuple([inside[nl + i] for i in st.out])
        sub.buffers = [Kind(self.dtype(s)) for s, _ in st.slots]
        axes = [axis for _, axis in st.slots] + [self.axes[nl + i] for i in st.nodes]
        shapes = [self.shapes[s] for s, _ in st.slots] + [seg.shapes[i] for i in st.nodes]
        return Part(sub, [self.ways[i] for i in st.nodes], axes, shapes, self.size)

    def dtype(self, s: int) -> Any:
        if s >= self.nl:
            return self.seg.dtypes[s - self.nl]
        buffer = self.seg.buffers[s]
        return None if type(buffer) is tuple else buffer.dtype

    def described(self, st: Stage) -> Any:
        """What is the same in all processes of what runs here."""
        seg = self.seg
        return [
            (str(seg.ops[i]), stable(seg.static[i]), stable(seg.moving[i]), seg.refs[i], seg.shapes[i])
            for i in st.nodes
        ]


class Kind:
    """In place of a leaf's buffer, where only its dtype counts."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype


def stable(x: Any) -> Any:
    """What can be compared between processes."""
    if isinstance(x, tuple):
        return tuple([stable(v) for v in x])
    if x is None or isinstance(x, (int, float, str, np.dtype)):
        return str(x)
    return type(x).__name__


def run(nodes: list[Node], outputs: list[Node]) -> None:
    """Run nodes, and give the outputs their buffers. The caller holds neither but through these lists."""
    state = spreading()
    size, rank = state.group.size, state.group.rank
    seg = Segment(nodes, outputs)
    nodes.clear()
    outputs = seg.outputs
    for node in outputs:
        if not node.trace:
            node.inputs = ()
    if outputs:
        del node
    refs = [weakref.ref(n) for n in seg.leaves]
    seg.leaves = []
    dead = [ref() is None and not b for ref, b in zip(refs, seg.borrowed)]
    axes = [b.axis if type(b) is Spread else None for b in seg.buffers]
    lies = tuple([b.shape if type(b) is not tuple else len(b) for b in seg.buffers])
    dtypes = tuple([None if type(b) is tuple else b.dtype for b in seg.buffers])
    key = (seg.key, lies, dtypes, tuple(axes), tuple(seg.shapes), tuple(seg.moving))
    stages = arranged.get(key) or arranged.recall(key)
    if stages is None:
        stages = arranged.keep(key, Arranger(seg, axes, size, rank).stages())
    state.counts["segments"] += 1
    values: dict[int, Any] = dict(enumerate(seg.buffers))
    seg.buffers = []
    try:
        for stage in stages:
            state.history = zlib.crc32(repr((stage.mark, state.history, stable(tuple(seg.scalars)))).encode())
            run_stage(stage, seg, values, dead, refs)
    except BaseException as error:
        for node in outputs:
            if node.buffer is None and node.error is None:
                node.error = error
        failures.seen = True
        raise
    nl = len(seg.borrowed)
    for node, o in zip(outputs, seg.out):
        value = values[nl + o]
        if type(value) is Failure:
            node.error = value.error
            failures.seen = True
        else:
            node.buffer = value
    if state.counts["segments"] % COLLECTED_EVERY == 0:
        collect()


def collect() -> None:
    """Python's collections happen here, at the same places in all processes: what is garbage decides what is stored."""
    gc.collect()


def run_stage(
    stage: Stage, seg: Segment, values: dict[int, Any], dead: list[bool], refs: list[weakref.ref[Node]]
) -> None:
    state = spreading()
    rank, nl = state.group.rank, len(seg.borrowed)
    device = current()
    if device is not None and is_small([seg.shapes[i] for i in stage.nodes], [values[s] for s, _ in stage.slots]):
        device = None
    if config.spread_check:
        compare(stage, seg, values)
    moves = Moves(state)
    read: list[Any] = []
    for (s, axis), needs in zip(stage.slots, stage.needs):
        value = values[s]
        if device is not None and type(value) is np.ndarray and s < nl and not dead[s]:
            value = values[s] = held(refs[s](), value, axis, needs, state.memory_of(value))
        if type(value) is Spread:
            value.lie_in(state.memory_of(value))
            value = as_read(value, axis, needs, moves)
        read.append(value)
    moves.run("an exchange of rows")
    local = stage.local
    buffers: list[Any] = []
    kills: list[bool] = []
    for (s, axis), needs, value in zip(stage.slots, stage.needs, read):
        mine = s in stage.last and (s >= nl or dead[s])
        if type(value) is Spread:
            memory = value.memory
            here = axis is not None or value.first == 0 and value.array.shape == value.shape
            rows = needs[rank] if axis is not None else (0, value.shape[value.axis])
            buffers.append(
                memory.value(value.rows(rows) if here else memory.unread(value.shape, value.dtype), value.dtype)
            )
            mine = mine and axis is not None
        elif axis is not None:
            memory = main_memory if type(value) is np.ndarray else state.memory_of(value)
            buffers.append(memory.value(memory.rows(value, at(axis, *needs[rank])), value.dtype))
            mine = False  # what is made in its place would keep all of it
        else:
            buffers.append(value)
        kills.append(mine)
        if s in stage.last:
            values.pop(s, None)
    del read, moves
    value = None
    results = compute(local, seg, buffers, tuple(kills), device)
    publish(stage, seg, values, results)


def held(node: Node | None, array: np.ndarray, axis: int | None, needs: list[Interval], memory: Memory) -> Any:
    """An array that will be read again as something that keeps on the device what is read of it: all, or rows. As it
    is, where others may write to it."""
    if node is None or node.index == BORROWED or memory.device is None:
        return array
    if axis is None:
        return kept(node, array, memory.device)
    group, n = spreading().group, array.shape[axis]
    have = [joined_rows(own(n, q, group.size), need) for q, need in enumerate(needs)]
    first, last = have[group.rank]
    value = Spread(array.shape, array.dtype, memory.bring(array[at(axis, first, last)]), axis, first, have, memory)
    value.full, node.buffer = array, value
    return value


def as_read(value: Spread, axis: int | None, needs: list[Interval], moves: Moves) -> Any:
    """A value as a stage reads it, once the moves have been made."""
    if axis == value.axis:
        if any([are_apart(need, have) for need, have in zip(needs, value.have)]):
            return moves.apart(value, needs)
        moves.extend(value, needs)
    elif axis is not None:
        return moves.turn(value, axis, needs)
    elif value.full is not None:
        return value.full
    elif any([need[0] < need[1] for need in needs]):
        n = value.shape[value.axis]
        moves.state.gathers(value.size, value.nbytes)
        value = Spread(value.shape, value.dtype, value.array, value.axis, value.first, value.have, value.memory)
        moves.extend(value, [(0, n) if need[0] < need[1] else (0, 0) for need in needs])
    return value


def compare(stage: Stage, seg: Segment, values: dict[int, Any]) -> None:
    """Raises DivergedError where processes have other values of what all of them have."""
    group, nl = spreading().group, len(seg.borrowed)
    whole = [(s, values[s]) for s, _ in stage.slots if s < nl and type(values[s]) not in (Spread, tuple)]
    mine = [(s, on_host(value)) for s, value in whole]
    sums = np.array([zlib.crc32(v.tobytes()) for _, v in mine], np.int64)
    least = group.all_reduce(np.append(sums, -sums), np.minimum, "a comparison", spreading().history, user_line)
    for k, (_, value) in enumerate(mine):
        if least[k] != -least[len(mine) + k]:
            group.fail(
                DivergedError(
                    f"the processes have different values of a {value.dtype} array of shape {value.shape} "
                    f"at {user_line()}"
                )
            )


def compute(local: Segment, seg: Segment, buffers: list[Any], dead: tuple[bool, ...], device: Any) -> list[Any]:
    """Run the local segment on a device, or on the host; the values of its outputs, which share no memory."""
    if device is None:
        buffers[:] = [on_host(b) for b in buffers]
    local.buffers, local.scalars = buffers, seg.scalars
    try:
        plan = plan_of(local, dead)
        shared = plan.shared
        if device is not None:
            plan = elsewhere(plan, local.dtypes, device)
        env = Environment(local, buffers, plan.n_nodes, chain.current() if plan.chained else None)
        buffers.clear()
        local.buffers = []
        plan.run(env)
    finally:
        local.buffers, local.scalars = [], []
    out = []
    for o in local.out:
        value = env.values[plan.n_leaves + o]
        if type(value) is np.ndarray and not value.flags.c_contiguous:
            value = np.ascontiguousarray(value)
        if o in shared:
            value = value.copy() if type(value) is np.ndarray or type(value) is DeviceBuffer else value
        out.append(value)
    return out


def publish(stage: Stage, seg: Segment, values: dict[int, Any], results: list[Any]) -> None:
    """What others see of a stage's results: rows of them, sums over all processes, or all of a small value."""
    state, nl = spreading(), len(seg.borrowed)
    size, rank = state.group.size, state.group.rank
    parts: dict[tuple[str, Any], list[tuple[int, np.ndarray]]] = {}
    columns = stage.out, stage.axes, stage.kinds, stage.joins, stage.made, stage.rows
    for i, axis, kind, join, made, rows, value in zip(*columns, results):
        s, shape = nl + i, seg.shapes[i]
        if type(value) is Failure or type(value) is tuple:
            values[s] = value
            continue
        dtype = value.dtype
        if join is not None and axis is None:
            parts.setdefault((join, dtype), []).append((s, on_host(value)))
            continue
        split = axis if axis is not None or s not in stage.final else default_axis(shape, size)
        if split is None:
            values[s] = value
            continue
        memory = state.memory_of(value)
        if axis is None:
            have = [own(shape[split], q, size) for q in range(size)]
            first = have[rank][0]
            mine = memory.copy(memory.rows(value, at(split, *have[rank])))
        else:
            mine, first, have = memory.rows(value), rows[0], made
        if join is not None:
            mine = ACROSS[kind](mine, dtype, axis, join, state, memory)
        values[s] = Spread(shape, dtype, mine, split, first, have, memory)
    for (join, _), found in parts.items():
        flat = np.concatenate([v.reshape(-1) for _, v in found])
        state.counts["reductions"] += 1
        with np.errstate(all="ignore"):
            flat = state.group.all_reduce(flat, getattr(np, join), "a reduction", state.history, user_line)
        start = 0
        for s, v in found:
            values[s] = flat[start : start + v.size].reshape(v.shape).copy()
            start += v.size
