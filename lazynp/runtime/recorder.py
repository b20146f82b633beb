"""The stream of recorded operations: where it is cut into segments, and when they run.

Each node gets a local signature: op, static parameters, rank and dtype, and how far back its inputs were recorded;
never a value, a size or a bound. When the last p signatures repeat the p before them, p is the period of a loop, and
from then on one period is run at a time, when the next one has been recorded: by then the loop has rebound its names,
and what is still held is really needed. Without a loop in sight the stream is cut at a place that its content decides,
so that a program which comes by again is cut at the same place.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..away import on_host
from ..bounded import Bounded
from ..config import config
from ..flags import elsewhere
from ..graph.errors import NotConcreteError
from ..graph.node import BORROWED, Node
from ..graph.op import LIBRARY, MAP, SET, VIEW, current
from ..ops.shape import key_shape
from ..threads import at_fork
from ..tracebacks import inner
from . import alone, kernels, replay
from .device import allowed, devices
from .faults import failures, of_a_step
from .pace import trials
from .postponed import POSTPONED, postponed
from .processes import processes
from .profile import profile
from .segment import Segment, remains, run_segment
from .storage import Storage, held, lock

LEAF = -2
CODES_KEPT = 1 << 14
EVIDENCE = 32  # operations that must repeat: a sum of shifted slices repeats itself too, and is no loop
UNROLLED = 96  # operations of short periods that run together
MOST_ASIDE = 64
FEW = 32  # small operations in a row that are recorded before what they wait for is computed
CHAINED = 4  # periods whose kernels run in one chain: what one writes is in the cache when the next reads it


class Recorder:
    """One stream; a lock makes it safe from many threads.

    Attributes:
        unfinished: segments that are running, and those that an exception has left. Whoever comes next makes of the
            latter what is pending, again.
        passing: see `demand`.
        aside: weak references to nodes that were taken from the stream, since computing one of its nodes failed at that
            moment (short memory), or since they need not be stored (`postponed.py`): they are computed when they are
            asked for, or at a flush, if they can be.
        before: called with the nodes that are about to be computed, which then no longer know what they are made of.
    """

    def __init__(self) -> None:
        self.lock = lock
        self.nodes: list[Node] = []
        self.unfinished: list[Segment] = []
        self.aside: list[weakref.ref[Node]] = []
        self.before: Callable[[list[Node]], None] | None = None
        self.most_aside = MOST_ASIDE  # where those that nobody holds any more are looked for
        self.count = 0  # nodes recorded so far
        self.first = 0  # index of the first pending one
        self.due = 0  # so many pending nodes run at the next settling: a loop was left
        self.few = 0  # small operations recorded since the last large one
        self.passing: Node | None = None
        self.codes: Bounded[Any, int] = Bounded(CODES_KEPT)
        self.codes_made = 0
        self.search()

    def search(self) -> None:
        """Look for a loop from here on."""
        self.last_seen: dict[int, int] = {}
        self.candidate = self.matched = self.phase = 0
        self.period: tuple[int, ...] = ()
        self.times = 1  # periods run at a time
        self.ran = False  # whether a period of this loop has run

    def __call__(self, node: Node) -> None:
        """Record a node."""
        with self.lock:
            index = node.index = self.count
            self.count = index + 1
            signature = node.signature = self.signature(node, self.first)
            i = len(self.nodes)
            self.nodes.append(node)
            period = self.period
            if period:
                if signature == period[self.phase % len(period)]:
                    self.phase += 1
                elif self.ran:
                    self.due = i
                    self.search()
                else:  # it only looked like a loop
                    self.period, self.candidate, self.matched = (), 0, 0
                    self.look_back(i, signature)
            else:
                self.look_back(i, signature)

    def signature(self, node: Node, first: int) -> int:
        """The number of a node's local signature, in a stream that begins with index `first`."""
        index = node.index
        what = (
            node.op,
            node.static,
            node.sort,
            *[
                index - a.index if a.index >= first else (LEAF if a.value is None else type(a.value))
                for a in node.inputs
            ],
        )
        code = self.codes.get(what)
        return self.new_code(what) if code is None else code

    def new_code(self, what: Any) -> int:
        """A number for a local signature; equal numbers mean equal signatures."""
        code = self.codes.recall(what)
        if code is None:
            self.codes_made += 1
            code = self.codes.keep(what, self.codes_made)
        return code

    def look_back(self, i: int, signature: int) -> None:
        candidate = self.candidate
        if candidate and i >= candidate and self.nodes[i - candidate].signature == signature:
            self.matched += 1
            if self.matched >= candidate and self.matched >= EVIDENCE:
                self.close(i, candidate)
        else:
            seen = self.last_seen.get(signature)
            self.candidate = i - seen if seen is not None else 0
            self.matched = 1 if self.candidate else 0
        self.last_seen[signature] = i

    def close(self, i: int, candidate: int) -> None:
        """A loop is seen. One that looks further back than its period (two arrays that take turns) has a multiple of
        it, so that what it reads is still pending, as it was when the signatures were made."""
        nodes = self.nodes[i + 1 - candidate :]
        furthest = max(
            [node.index - a.index for node in nodes for a in node.inputs if a.index >= self.first], default=0
        )
        period = candidate * max(1, -(-furthest // candidate))
        if self.matched >= period:
            last = i - self.boundary(self.nodes[i + 1 - period :])
            first = last + 1 - period
            if first < 0:
                return
            self.period, self.phase = tuple([n.signature for n in self.nodes[first : last + 1]]), i - last
            self.ran = False
            self.times = self.unrolled(nodes)

    @staticmethod
    def boundary(nodes: list[Node]) -> int:
        """How many operations ago the period that just closed is best cut: after its last write, or else after the
        value that is read furthest on. In the middle of an expression its temporaries would have to be stored."""
        for back, node in enumerate(reversed(nodes)):
            if node.op.kind == SET:  # type: ignore[union-attr]
                return back
        spans: dict[int, int] = {}
        for node in nodes:
            for a in node.inputs:
                if a.op is not None and a.index >= 0:
                    spans[a.index] = max(spans.get(a.index, 0), node.index - a.index)
        end, size = nodes[-1].index, len(nodes)
        carried = max(spans, key=spans.__getitem__, default=end)
        return (end - carried) % size if spans else 0

    @staticmethod
    def unrolled(nodes: list[Node]) -> int:
        """How many periods of a loop to run at a time: several of one that is elementwise throughout, since they fuse
        into one pass over the data, or that writes into large arrays, since its kernels can run in one chain, which a
        library call would end."""
        shape = nodes[-1].shape
        calls = any(node.op.kind == LIBRARY for node in nodes)  # type: ignore[union-attr]
        if not calls and (
            processes.run is not None  # whose rows at the edges come once for all of them
            or config.chain
            and config.compile
            and any(is_large_write(node) for node in nodes)
        ):
            return max(1, min(CHAINED, UNROLLED // len(nodes)))
        if any(node.op.kind != MAP or node.shape != shape for node in nodes):  # type: ignore[union-attr]
            return 1
        return max(1, UNROLLED // len(nodes))

    def settle(self) -> None:
        """After each operation, once its result is held: run what is due. Nobody asks for a value, so nobody is told of
        one that cannot be computed now."""
        with self.lock:
            if self.unfinished:
                self.recover()
            if self.due:
                self.run(self.due)
            if self.nodes and self.is_row_by_row(self.nodes[-1]):
                self.run_all()
                return
            period = len(self.period)
            if period:
                if self.phase >= period * self.times:
                    self.phase -= period * self.times
                    self.ran = True
                    self.run(len(self.nodes) - period)
            elif not self.nodes:  # a copy, which no pending node reads
                Storage.captured = 0
            elif len(self.nodes) >= config.pending_nodes or Storage.captured >= config.pending_bytes:
                self.run(self.cut())
                self.search()

    def is_row_by_row(self, node: Node) -> bool:
        """Whether the program has gone over to small pieces of a large array that is pending, a row at a time.

        Recording one costs more than computing it, which can be done at once where the array is there; but a few writes
        of small pieces, the edges of a grid say, must not keep large operations from being fused.
        """
        limit = config.limit
        if limit < 0 or node.trace:
            return False
        work = work_of(node)
        if work > limit:
            self.few = 0
        elif work >= 0:
            self.few += 1
        return self.few >= FEW

    def cut(self) -> int:
        """Where to cut a long stream: at the smallest signature of its second half."""
        half = len(self.nodes) // 2
        later = [n.signature for n in self.nodes[half:]]
        return half + later.index(min(later)) + 1

    def flush(self) -> None:
        """Run everything that is pending."""
        with self.lock:
            if self.unfinished:
                self.recover()
            last = self.nodes[-1] if self.nodes else None
            if last is not None and self.is_alone(last) and (views(self.nodes) or all_wanted(self.nodes) == [last]):
                self.compute_alone(last)
            elif self.nodes:
                self.run_all()
            if self.aside:
                self.try_aside()
                own_leaves(alive(self.aside))  # whoever has things flushed may write into the memory that these read

    def run_all(self, wanted: Node | None = None) -> None:
        """Run the whole stream."""
        self.few = 0
        self.run(len(self.nodes), wanted)
        self.search()

    def set_aside(self) -> None:
        """After an error of the moment: one value that needs too much memory must not stand before all others. What the
        stream still has is computed one by one, and what cannot be is taken out of the stream."""
        if self.unfinished:
            self.recover()
        self.aside = [*self.aside, *[weakref.ref(node) for node in self.nodes]]
        self.leave_stream()
        self.try_aside()

    def try_aside(self) -> None:
        """Compute what can be computed of what was set aside."""
        for ref in self.aside:
            node = ref()
            if node is not None and is_wanted(node):
                try:
                    self.run_nodes(unrecorded(node), 0, node)
                except Exception as error:
                    if not of_a_step(error):
                        raise
                    self.recover()
                    self.leave_stream()
        node = None
        self.aside = [weakref.ref(n) for n in dict.fromkeys(alive(self.aside)) if is_wanted(n)]

    def leave_stream(self) -> None:
        """Let the stream begin anew. Its nodes have all that is needed to compute them."""
        self.search()
        self.nodes, self.first, self.due = [], self.count, 0
        Storage.captured = 0

    def before_fork(self) -> None:
        """Have nobody else be inside while the process forks, and run what is pending, which a child need not do again.
        A thread that is inside itself, since a signal's handler forks, stays as it is."""
        inside = self.lock._is_owned()  # type: ignore[attr-defined]
        self.lock.acquire()
        if not inside:
            self.flush()

    def demand(self, node: Node, passing: Node | None = None) -> None:
        """Compute a node. Raises what computing it raised.

        Args:
            node: whose value is asked for.
            passing: one that only a temporary of the expression that asks holds: it is not stored. Should somebody ask
                for it later it is computed then.
        """
        with self.lock:
            if node.buffer is None and node.error is None:
                if self.unfinished:
                    self.recover()
                self.passing = passing
                try:
                    if self.is_alone(node):
                        self.compute_alone(node)
                    elif node.index >= self.first and self.nodes:
                        self.run_all(node)
                finally:
                    self.passing = None
                if node.buffer is None and node.error is None:
                    self.run_nodes(unrecorded(node), 0, node)
            if node.error is not None:
                raise node.error.with_traceback(inner(node.error.__traceback__))
            if node.buffer is None:
                raise NotConcreteError(f"{node} depends on a placeholder, which has no value")

    def is_alone(self, node: Node) -> bool:
        """Whether little is pending, and the last of it is an operation whose value is asked for, or all are views."""
        nodes = self.nodes
        plain = processes.run is None and not devices.used and not self.due and not self.period
        if not plain or not 0 < len(nodes) <= alone.MANY:
            return False
        return nodes[-1] is node and len(nodes) <= alone.FEW or node in nodes and views(nodes)

    def compute_alone(self, node: Node) -> None:
        """Compute the node that `is_alone`, and what else is pending, at once where that is best."""
        elements = max([math.prod(a.shape) for a in (node, *node.inputs)])
        try:
            values = alone.values_of(self.nodes, node, self.passing)
        except Exception:  # which comes again, and is dealt with there
            values = None
        if values is None:
            self.run_all(node)
            return
        if self.before is not None:
            self.before(self.nodes)
        if replay.watching and (len(self.nodes) > 1 or node.op.kind != LIBRARY):  # type: ignore[union-attr]
            trials.ran_alone(elements)
        self.few = 0
        self.take(len(self.nodes))  # first: what an exception leaves without its value still has its inputs
        self.search()
        for made, value in values.items():
            made.buffer, made.inputs = value, ()

    def compute_aloud(self, node: Node, call: Callable[..., Any]) -> None:
        """Compute a node that has just been recorded, by itself and at once, as `call(function, *operands)` does, which
        tells of floating-point errors. What it reads is computed before, and tells of none."""
        with self.lock:
            if processes.run is not None or node.op is None or node.buffer is not None:
                return
            if self.nodes and self.nodes[-1] is node:
                self.run(len(self.nodes) - 1)
                if self.nodes and self.nodes[-1] is node:
                    self.take(len(self.nodes))
                    self.search()
            for a in node.inputs:
                if a.value is None and a.buffer is None:
                    self.demand(a)
            args = [on_host(a.buffer) if a.value is None else a.value for a in node.inputs]
        value = alone.spoken(node, args, call)
        with self.lock:
            if value is None:
                self.demand(node)
                return
            if self.before is not None:
                self.before([node])
            node.buffer, node.inputs = value, ()

    def run(self, n: int, wanted: Node | None = None) -> None:
        """Run the first n pending operations. What cannot be computed at this moment is set aside; after another
        exception they are pending still, or computed."""
        try:
            self.run_first(n, wanted)
        except Exception as error:
            if not of_a_step(error):
                raise
            self.set_aside()

    def run_first(self, n: int, wanted: Node | None) -> None:
        if n <= 0:
            return
        todo = self.nodes[:n]
        n = len(todo)
        if self.before is not None:
            self.before(todo)
        self.last_seen = {}
        self.candidate = self.matched = 0
        if self.missing(todo):
            todo = unrecorded(*todo)
        self.run_nodes(todo, n, wanted)

    def missing(self, todo: list[Node]) -> bool:
        """Whether a node reads one that was dropped from the stream earlier, because nobody seemed to need it."""
        first = todo[0].index
        for node in todo:
            for a in node.inputs:
                if a.index < first and a.buffer is None and a.value is None:
                    return True
        return False

    def run_nodes(self, todo: list[Node], n: int, wanted: Node | None) -> None:
        """Run these; n of them stand at the head of the stream, from which they are taken."""
        if failures.seen:
            todo[:] = spared(todo)
        outputs = [node for node in live(todo, self.nodes[n:], wanted) if node is not self.passing or node.trace]
        if not outputs:
            self.take(n)
            return
        if wanted is not None and n == len(self.nodes) and n and processes.run is None:
            self.postpone(postponed(todo, outputs, wanted), outputs)
        profile.segments += 1
        profile.operations += len(todo)
        if processes.run is not None:
            self.take(n)
            processes.run(todo, outputs)
            return
        segment = Segment(todo, outputs)
        if n:
            segment.end = self.nodes[n - 1].index + 1
        with segment.running:  # the lock is free again whatever happens
            self.unfinished.append(segment)  # from here on the segment has all that there is
            todo.clear()
            self.take(n)
            run_segment(segment)
            self.unfinished.remove(segment)

    def postpone(self, left: list[Node], outputs: list[Node]) -> None:
        """Take nodes out of a segment's outputs: they keep their inputs, and are computed when somebody asks for them,
        or has all that is pending computed."""
        if left:
            for node in left:
                node.index = POSTPONED
            outputs[:] = [node for node in outputs if node.index != POSTPONED or node not in left]
            self.aside += [weakref.ref(node) for node in left]
            if len(self.aside) > self.most_aside:
                self.aside = [weakref.ref(node) for node in alive(self.aside) if is_wanted(node)]
                self.most_aside = max(MOST_ASIDE, 2 * len(self.aside))

    def take(self, n: int) -> None:
        """Take the first n nodes from the stream."""
        if n:
            self.due = Storage.captured = 0
            self.first = self.nodes[n - 1].index + 1
            del self.nodes[:n]

    def recover(self) -> None:
        """Put what the segments that exceptions have left did not compute back to the head of the stream.

        An exception may leave this as well, at any place: nothing of it shows before the last line but one.
        """
        for segment in [s for s in reversed(self.unfinished) if not s.running.locked()]:
            later = [n for n in self.nodes if n.index >= segment.end]
            nodes = [*remains(segment), *later]
            first = self.count
            self.count += len(nodes)
            for index, node in enumerate(nodes, first):
                node.index = index
            for node in nodes:
                node.signature = self.signature(node, first)
            left = [s for s in self.unfinished if s is not segment]
            self.search()
            self.nodes, self.first, self.unfinished, self.due = nodes, first, left, 0
            segment.forget()


def is_wanted(node: Node) -> bool:
    """Whether somebody holds a value that is not there yet."""
    return node.buffer is None and node.error is None and (held(node) or bool(node.trace))


def all_wanted(nodes: list[Node]) -> list[Node]:
    return [node for node in nodes if is_wanted(node)]


def views(nodes: list[Node]) -> bool:
    return all([node.op.kind == VIEW for node in nodes])  # type: ignore[union-attr]


def alive(refs: list[weakref.ref[Node]]) -> list[Node]:
    return [node for ref in refs if (node := ref()) is not None]


def own_leaves(nodes: list[Node]) -> None:
    """Copy the memory of others that pending nodes read."""
    done: set[int] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if id(node) not in done:
            done.add(id(node))
            if node.op is None and node.index == BORROWED:
                once = node.buffer[tuple([slice(0, 1 if step == 0 else None) for step in node.buffer.strides])]
                node.buffer = np.broadcast_to(once.copy(), node.shape)
            stack.extend(node.inputs)


def work_of(node: Node) -> int:
    """The elements that an operation reads or makes; -1 where it gives a view of a value that is there."""
    while node.op is not None and node.op.kind == VIEW and node.inputs:
        node = node.inputs[0]
    if node.op is None:
        return -1
    if node.op.kind == SET:
        return math.prod(key_shape(node.moving[0]))
    if node.op.kind == MAP:
        return math.prod(node.shape)
    return max([math.prod(node.shape), *[math.prod(a.shape) for a in node.inputs]])


def is_large_write(node: Node) -> bool:
    return node.op is not None and node.op.kind == SET and math.prod(node.shape) >= kernels.LARGE


def spared(todo: list[Node]) -> list[Node]:
    """The nodes that can be computed; what reads one that failed has failed with it."""
    out = []
    for node in todo:
        error = next((a.error for a in node.inputs if a.error is not None), None)
        if error is not None:
            node.error, node.inputs = error, ()
        elif node.error is None:
            out.append(node)
    return out


def live(todo: list[Node], later: Any, wanted: Node | None) -> list[Node]:
    """The nodes whose values somebody needs after the segment, in order."""
    used = {id(a) for node in later for a in node.inputs}
    return [n for n in todo if n is wanted or id(n) in used or held(n) or n.trace and n.op.kind != VIEW]  # type: ignore[union-attr]


def unrecorded(*wanted: Node) -> list[Node]:
    """All that must be computed for these nodes, inputs first. Iterative."""
    order: list[Node] = []
    done: set[int] = set()
    stack = [(n, False) for n in reversed(wanted)]
    abstract: set[int] = set()  # placeholders without a value, and what depends on one: it cannot be computed
    while stack:
        node, ready = stack.pop()
        if ready:
            if node.op is None or any(id(a) in abstract for a in node.inputs):
                abstract.add(id(node))
            else:
                order.append(node)
            continue
        if id(node) in done or node.buffer is not None or node.value is not None or node.error is not None:
            continue
        done.add(id(node))
        stack.append((node, True))
        stack.extend([(a, False) for a in reversed(node.inputs)])
    return order


recorder = Recorder()
at_fork(10, recorder.before_fork, lock=recorder.lock)
current.__class__.sink = recorder


def before_device(name: str) -> None:
    """Before `config.device` changes: what is pending runs where it was recorded."""
    allowed(name)
    if name != config.device:
        recorder.flush()


def device_changed(name: str, value: Any) -> None:
    """Calls of compiled functions run on a device from now on, or on the host, to which values come that are on one."""
    if name == "device":
        elsewhere(value != "cpu")


config.guard("device", before_device)
config.watch(device_changed)
