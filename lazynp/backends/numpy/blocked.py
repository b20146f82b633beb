"""The interpreter of kernels: NumPy's ufuncs on blocks that stay in cache, on all cores.

Where `lazynp._blocks` was built, the blocks are done there, without the GIL: two threads that need it between any two
instructions wait for each other more than they work.

Each instruction is the ufunc that NumPy would have called, on operands of the same dtypes, so the result is bit-equal.
Values that are not results live in a few block-sized scratch buffers. A reduction over rows that are not split is done
in the block; any other is done by NumPy on the whole operand, which is then computed in full first. A kernel with
reductions goes through its axes in the order that its operands have in memory: so its values lie as NumPy's would, and
are added in NumPy's order.
"""

from __future__ import annotations

import functools
import itertools
import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...graph.op import registry
from ..kernel import Instr, KernelSpec
from ..order import memory_order
from . import native
from .crew import Task
from .namespace import xp

BLOCK_BYTES = 1 << 19  # of the widest value
CACHE_BYTES = 1 << 20  # of all that is alive in a block of the C module's
MIN_BLOCK = 512  # elements of one
WHOLE = 64  # elements: NumPy's loops may take another zero (`fmax`) in what is left of a vector register at the end
AT_A_TIME = 16  # blocks of the C module in one call
MOST = 8  # of so many times the elements asked for may a block be, to be of whole registers
PARALLEL = 1 << 20  # elements times instructions below which one thread is faster: waking another costs some 100 us
Run = Callable[..., Any]
local = threading.local()


def named(name: str) -> np.dtype[Any]:
    """The dtype of that name; bfloat16 is registered by ml_dtypes."""
    return np.dtype(name)


def ufunc_of(op: str) -> Any:
    """The ufunc of one result that an instruction is; None where it is none."""
    ufunc = registry[op].ufunc if op in registry else None
    return ufunc if ufunc is not None and ufunc.nout == 1 else None


def runner(instr: Instr) -> Run:
    """`(*args, out)`: the instruction, into out."""
    ufunc = ufunc_of(instr.op)
    if ufunc is np.maximum or ufunc is np.minimum:  # out must be named
        return lambda x, y, out: ufunc(x, y, out=out)
    code = registry[instr.op].code if ufunc is not None else None
    if code is not None and code.gaps:
        return carefully(ufunc)
    if ufunc is not None:
        return ufunc
    if instr.op == "cast":
        return convert
    if instr.op == "where":
        return select
    op = registry[instr.op]
    params = dict(zip(op.static, instr.params))

    def general(*args: Any) -> None:
        np.copyto(args[-1], op.lower(xp, *args[:-1], **params), casting="unsafe")

    return general


def carefully(ufunc: Any) -> Run:
    """`(x, out)`: a ufunc whose loops are wrong for some gaps (`ops/code.py: gaps`), by way of memory without any."""

    def call(x: Any, out: np.ndarray) -> None:
        if out.flags.c_contiguous or np.ndim(x) == 0:
            ufunc(x, out)
        else:
            out[...] = ufunc(x)

    return call


def convert(x: Any, out: np.ndarray) -> None:
    """A cast; of a complex number the real part, without a warning, which was given when the cast was asked for."""
    if x.dtype.kind == "c" and out.dtype.kind not in "cb":
        x = x.real
    np.copyto(out, x, casting="unsafe")


def select(condition: Any, a: Any, b: Any, out: np.ndarray) -> None:
    """out may be the memory of an operand."""
    if overlaps(a, out):
        np.copyto(out, b, where=np.logical_not(condition))
        return
    if overlaps(condition, out):
        condition = condition.copy()
    if not overlaps(b, out):
        np.copyto(out, b)
    np.copyto(out, a, where=condition)


def overlaps(x: Any, out: np.ndarray) -> bool:
    return type(x) is np.ndarray and np.may_share_memory(x, out)


class Work:
    """One run of a program. An exception may leave `run` anywhere, and `resume` goes on, also where results overwrite
    operands: blocks in C are done once each, and other blocks write into memory of their own, copied at the end.

    Attributes:
        task: the blocks; `resumes` says whether it goes on where it was left, or (`again` makes it) begins anew.
        late: reductions of what the blocks made: (instruction, operand, result). copies: (to, value).
    """

    __slots__ = ("task", "resumes", "again", "late", "copies", "computed")

    def __init__(self, task: Task, resumes: bool, again: Callable[[], Task], late: Any, copies: Any) -> None:
        self.task, self.resumes, self.again, self.late, self.copies = task, resumes, again, late, copies
        self.computed = False

    def run(self) -> None:
        if not self.computed:
            self.task.run()
            self.computed = True
        for instr, source, out in self.late:
            reduce_into(instr, source, out)
        for to, value in self.copies:
            np.copyto(to, value)

    def resume(self) -> None:
        """Go on with a run that an exception has left."""
        if not self.computed:
            self.task.wait()
            if not self.resumes:
                self.task = self.again()
        self.run()


class Program:
    """A spec, ready to run: instructions with the places of their operands, scratch buffers shared by lifetime."""

    def __init__(self, spec: KernelSpec) -> None:
        self.spec = spec
        self.n_in, self.n_scalars = len(spec.inputs), len(spec.scalars)
        self.first = self.n_in + self.n_scalars
        self.dtypes = [named(i.dtype) for i in spec.body]
        self.reductions = {self.first + k: i for k, i in enumerate(spec.body) if i.op == "reduce"}
        self.runners = [None if i.op == "reduce" else runner(i) for i in spec.body]
        self.others: dict[tuple[int, ...], Program] = {}  # over axes in other orders
        self.kept = frozenset(spec.outputs) | frozenset(self.reductions)
        self.scratch, self.n_scratch = self.assign([(self.first + k, i.args) for k, i in enumerate(spec.body)])
        self.widest = max([d.itemsize for d in self.dtypes], default=1)
        self.elements = BLOCK_BYTES // self.widest
        live = self.n_scratch + len(spec.inputs) + len(spec.outputs)
        self.native_elements = max(MIN_BLOCK, CACHE_BYTES // (self.widest * live) // WHOLE * WHOLE)
        # One call of a ufunc has no values between: small blocks would only stop the processor's prefetching.
        self.one_pass = len(spec.body) == 1 and ufunc_of(spec.body[0].op) is not None
        self.instructions = [
            (run, len(i.args), (*i.args, 0, 0)[:3], i.args, self.first + k)
            for k, (i, run) in enumerate(zip(spec.body, self.runners))
        ]

    @functools.cached_property
    def plan(self) -> Any:
        """The same in C, where it can be done there."""
        return native.plan_of(self.spec, self.assign, ufunc_of)

    def assign(self, steps: Sequence[tuple[int, tuple[int, ...]]]) -> tuple[dict[int, int], int]:
        """A scratch buffer for each value that is no result, of the steps that make them: (value, operands); how many
        there are."""
        last = {a: k for k, (_, args) in enumerate(steps) for a in args}
        scratch: dict[int, int] = {}
        free: list[int] = []
        count = 0
        for k, (v, args) in enumerate(steps):
            if v not in self.kept:
                if not free:
                    free.append(count)
                    count += 1
                scratch[v] = free.pop()
            for a in set(args):
                if last[a] == k and a in scratch:
                    free.append(scratch[a])
        return scratch, count

    def run(
        self,
        ins: Sequence[Any],
        scalars: Sequence[Any],
        outs: Sequence[Any],
        shape: tuple[int, ...],
        threads: int,
        empty: Run = np.empty,
        call: Any = None,
    ) -> None:
        """Compute `outs`. Inputs broadcast to `shape`; a reduction's output has its own shape. A `call` (where results
        overwrite operands) is given the work, before it begins, as its `work`."""
        if 0 in shape:
            self.empty(outs)
            return
        program, order = self, self.order(ins, len(shape)) if self.reductions else None
        if order is not None:
            ins, outs = self.turned(ins, outs, order)
            program, shape = self.over(order), tuple([shape[a] for a in order])
        work = program.work(ins, scalars, outs, shape, threads, empty, call is not None)
        if call is not None:
            call.work = work
        work.run()

    def work(
        self,
        ins: Sequence[Any],
        scalars: Sequence[Any],
        outs: Sequence[Any],
        shape: tuple[int, ...],
        threads: int,
        empty: Run,
        inside: bool,
    ) -> Work:
        """What there is to do; nothing is written yet. `inside`: results may overwrite operands."""
        targets = dict(zip(self.spec.outputs, outs))
        by_block = self.block_axis_kept(shape)
        late = []
        if self.reductions and not by_block:
            for v, instr in self.reductions.items():
                source = instr.args[0]
                if source >= self.first and source not in targets:
                    targets[source] = empty(shape, self.dtypes[source - self.first])
                late.append((v, instr))
        stored = {v: t for v, t in targets.items() if v not in self.reductions or by_block}
        task, copies = None, []
        if not (self.reductions and by_block):
            task = self.natively(ins, scalars, stored, shape, threads)
        native = task is not None
        if inside and not native:
            for v, t in stored.items():
                if any([overlaps(x, t) for x in ins]):
                    stored[v] = targets[v] = empty(t.shape, t.dtype)
                    copies.append((t, stored[v]))

        def again() -> Task:
            return self.blocks(ins, scalars, stored, shape, threads)

        sources = [
            (i, targets[i.args[0]] if i.args[0] in targets else np.broadcast_to(ins[i.args[0]], shape), targets[v])
            for v, i in late
        ]
        return Work(task or again(), native, again, sources, copies)

    def order(self, ins: Sequence[Any], ndim: int) -> tuple[int, ...] | None:
        """The order of the operands' axes in memory, where that is not C's."""
        if ndim < 2 or all([x.flags.c_contiguous for x in ins]):
            return None
        strides = []
        for x in ins:
            own = [0 if n == 1 else abs(s) for n, s in zip(x.shape, x.strides)]
            strides.append((*(0,) * (ndim - len(own)), *own))
        return memory_order(ndim, strides)

    def over(self, order: tuple[int, ...]) -> Program:
        """The same over axes in this order."""
        if order not in self.others:
            body = [
                i._replace(params=(i.params[0], tuple(sorted([order.index(a) for a in i.params[1]]))))
                if i.op == "reduce"
                else i
                for i in self.spec.body
            ]
            self.others[order] = Program(self.spec._replace(body=tuple(body)))
        return self.others[order]

    def turned(self, ins: Sequence[Any], outs: Sequence[Any], order: tuple[int, ...]) -> tuple[list[Any], list[Any]]:
        """Operands with their axes in this order."""
        ndim = len(order)
        results = []
        for v, out in zip(self.spec.outputs, outs):
            gone = self.reductions[v].params[1] if v in self.reductions and out.ndim < ndim else ()
            left = sorted([a for a in order if a not in gone])
            results.append(out.transpose([left.index(a) for a in order if a not in gone]))
        return [aligned(x, ndim).transpose(order) for x in ins], results

    def empty(self, outs: Sequence[Any]) -> None:
        for v, out in zip(self.spec.outputs, outs):
            if v in self.reductions and out.size:
                out[...] = getattr(np, self.reductions[v].params[0]).identity

    def block_axis_kept(self, shape: tuple[int, ...]) -> bool:
        """Whether every reduction can be done inside blocks: none is over axis 0, and rows are not split."""
        return all(0 not in i.params[1] for i in self.reductions.values()) and math.prod(shape[1:]) <= 4 * self.elements

    def natively(
        self, ins: Sequence[Any], scalars: Sequence[Any], stored: dict[int, Any], shape: tuple[int, ...], threads: int
    ) -> Task | None:
        """Computing what is stored without the GIL; None where that cannot be done."""
        if self.plan is None:
            return None
        n = math.prod(shape)
        threads = threads if n * len(self.spec.body) > PARALLEL else 1
        elements = -(-n // threads // WHOLE) * WHOLE if self.one_pass else self.native_elements
        job = self.plan.job(tuple(ins), scalars, stored, shape, elements)
        if job is None:
            return None

        def work() -> int:
            room, done, now = scratch(job.need), 0, AT_A_TIME
            while now == AT_A_TIME:  # between two calls Ctrl-C is seen
                now = job.work(room, AT_A_TIME)
                done += now
            return done

        return Task(work, min(threads, job.blocks), job.blocks)

    def blocks(
        self, ins: Sequence[Any], scalars: Sequence[Any], stored: dict[int, Any], shape: tuple[int, ...], threads: int
    ) -> Task:
        """Computing what is stored by NumPy's calls."""
        ndim = len(shape)
        operands = [aligned(x, ndim) for x in ins]
        if ndim != 1 and not self.reductions and all(same_dense(x, shape) for x in (*operands, *stored.values())):
            shape, ndim = (math.prod(shape),), 1
            operands = [x.reshape(shape) for x in operands]
            stored = {v: t.reshape(shape) for v, t in stored.items()}
        n = math.prod(shape)
        threads = threads if n > self.elements and n * len(self.spec.body) > PARALLEL else 1
        elements = max(self.elements, -(-n // threads // WHOLE) * WHOLE) if self.one_pass else self.elements
        by_row = self.plan is not None and not self.reductions.keys().isdisjoint(stored)
        if by_row:
            elements = min(elements, -(-n // threads))
        tasks = deque(tiles(shape, bool(self.reductions), elements))  # of which threads take one without a lock
        count = len(tasks)
        stopped: list[bool] = []

        def work() -> int:
            done = 0
            try:
                values = [*operands, *scalars, *[None] * len(self.spec.body)]
                extent: Any = None
                with np.errstate(all="ignore"):
                    while not stopped:
                        try:
                            tile = tasks.popleft()
                        except IndexError:
                            break
                        now = tuple([t.stop - t.start for t in tile if type(t) is slice])
                        if now != extent:
                            extent = now
                            self.place_scratch(values, extent, stored)
                        self.place(operands, values, stored, tile)
                        if not by_row or not self.native_block(values, stored, tile, extent):
                            self.block(values, stored, tile)
                        done += 1
            except BaseException:
                stopped.append(True)
                raise
            return done

        return Task(work, threads, count)

    def place_scratch(self, values: list[Any], extent: tuple[int, ...], stored: dict[int, Any]) -> None:
        """Give each value that is not stored its scratch buffer, in the shape of a block."""
        n = math.prod(extent)
        buffers = self.buffers(n)
        for v, b in self.scratch.items():
            if v not in stored:
                values[v] = buffers[b].view(self.dtypes[v - self.first])[:n].reshape(extent)

    def place(self, operands: list[Any], values: list[Any], stored: dict[int, Any], tile: tuple[Any, ...]) -> None:
        """Give inputs and results the parts of them that a block is."""
        head = tile[0] if tile else None
        if type(head) is slice:
            for k, x in enumerate(operands):
                if x.shape[0] != 1:
                    values[k] = x[head]
        else:
            for k, x in enumerate(operands):
                values[k] = x[
                    (
                        *[
                            0 if type(t) is int and n == 1 else slice(None) if n == 1 else t
                            for t, n in zip(tile, x.shape)
                        ],
                        ...,
                    )
                ]
        for v, target in stored.items():
            if v not in self.reductions:
                values[v] = target[head] if type(head) is slice else target[(*tile, ...)]

    def native_block(
        self, values: list[Any], stored: dict[int, Any], tile: tuple[Any, ...], extent: tuple[int, ...]
    ) -> bool:
        """Compute a block in C, and then its reductions by NumPy; whether that could be done."""
        results = {v: values[v] for v in stored if v not in self.reductions}
        n = math.prod(extent)
        sources = {i.args[0] for i in self.reductions.values() if i.args[0] >= self.first} - stored.keys()
        memory = iter(pieces([n * self.dtypes[v - self.first].itemsize for v in sources]))
        for v in sources:
            results[v] = next(memory).view(self.dtypes[v - self.first]).reshape(extent)
        ins, scalars = values[: self.n_in], values[self.n_in : self.first]
        job = self.plan.job(tuple(ins), scalars, results, extent, self.native_elements)
        if job is None:
            return False
        job.work(scratch(job.need))
        computed = [*values[: self.first], *[results.get(self.first + k) for k in range(len(self.spec.body))]]
        for v in self.reductions:
            self.reduce_block(v, computed, stored[v], tile)
        return True

    def block(self, values: list[Any], stored: dict[int, Any], tile: tuple[Any, ...]) -> None:
        """Compute a block, whose parts have been placed."""
        for run, arity, (a, b, c), args, v in self.instructions:
            if run is None:
                if v in stored:
                    self.reduce_block(v, values, stored[v], tile)
            elif arity == 2:
                run(values[a], values[b], values[v])
            elif arity == 1:
                run(values[a], values[v])
            elif arity == 3:
                run(values[a], values[b], values[c], values[v])
            else:
                run(*[values[i] for i in args], values[v])

    def reduce_block(self, v: int, values: list[Any], out: np.ndarray, tile: tuple[Any, ...]) -> None:
        instr = self.reductions[v]
        axes = instr.params[1]
        kept = out.ndim == len(tile)
        part = tuple([slice(None) if a in axes else t for a, t in enumerate(tile) if kept or a not in axes])
        reduce_into(instr, values[instr.args[0]], out[(*part, ...)])

    def buffers(self, n: int) -> list[np.ndarray]:
        """Scratch of this thread, large enough for n elements."""
        kept = getattr(local, "scratch", None)
        if kept is None:
            kept = local.scratch = []
        need = -(-max(n, self.elements) * self.widest // 16) * 16
        while len(kept) < self.n_scratch:
            kept.append(np.empty(need, np.uint8))
        for i in range(self.n_scratch):
            if kept[i].size < need or kept[i].size % self.widest:
                kept[i] = np.empty(need, np.uint8)
        return [b[: b.size - b.size % 16] for b in kept[: self.n_scratch]]


def scratch(need: int) -> np.ndarray:
    """So many bytes of this thread's."""
    kept = getattr(local, "bytes", None)
    if kept is None or kept.size < need:
        kept = local.bytes = np.empty(need, np.uint8)
    return kept


def pieces(sizes: Sequence[int]) -> list[np.ndarray]:
    """Memory of this thread's, in pieces of so many bytes, each aligned for any dtype; not that of `scratch`."""
    starts = list(itertools.accumulate([-(-n // WHOLE) * WHOLE for n in sizes], initial=0))
    kept = getattr(local, "pieces", None)
    if kept is None or kept.size < starts[-1]:
        kept = local.pieces = np.empty(starts[-1], np.uint8)
    return [kept[start : start + n] for start, n in zip(starts, sizes)]


SHORT = 7  # the longest last axis over which NumPy adds one element after the other
SEQUENTIAL = frozenset("?bBhHiIlLqQfd")  # and the dtypes of which it does


def reduce_into(instr: Instr, x: np.ndarray, out: np.ndarray) -> None:
    name, axes = instr.params
    ufunc, n = getattr(np, name), x.shape[-1] if x.ndim else 0
    if axes == (x.ndim - 1,) and 1 < n <= SHORT and x.dtype == out.dtype and x.dtype.char in SEQUENTIAL:
        # NumPy would start a loop for each row of a few elements: this is the same in the same order, 10 times faster.
        target = out[..., 0] if out.ndim == x.ndim else out
        ufunc(x[..., 0], x[..., 1], out=target)
        for k in range(2, n):
            ufunc(target, x[..., k], out=target)
        if name == "add" and x.dtype.kind == "f":
            target += 0  # a sum of negative zeros is zero
        return
    keep = out.ndim == x.ndim and out.ndim != x.ndim - len(axes)
    ufunc.reduce(x, axis=axes, dtype=out.dtype if name in ("add", "multiply") else None, out=out, keepdims=keep)


def aligned(x: Any, ndim: int) -> np.ndarray:
    """An operand with as many axes as the space."""
    return x if x.ndim == ndim else x.reshape((1,) * (ndim - x.ndim) + x.shape)


def same_dense(x: np.ndarray, shape: tuple[int, ...]) -> bool:
    return x.shape == shape and x.flags.c_contiguous


def tiles(shape: tuple[int, ...], rows_only: bool, elements: int) -> Any:
    """Blocks as indices: ints on outer axes, a slice on one, whole slices on the inner ones."""
    axis, inner = len(shape) - 1, 1
    while axis > 0 and inner * shape[axis] <= elements:
        inner *= shape[axis]
        axis -= 1
    if rows_only:
        axis, inner = 0, math.prod(shape[1:])
    if not shape:
        yield ()
        return
    step = max(1, elements // max(inner, 1))
    rows = WHOLE // math.gcd(inner, WHOLE)
    if axis == 0 and rows * inner <= MOST * elements:
        step = max(rows, step // rows * rows)
    rest = tuple([slice(0, n) for n in shape[axis + 1 :]])
    for outer in itertools.product(*[range(n) for n in shape[:axis]]):
        for start in range(0, shape[axis], step):
            yield (*outer, slice(start, min(start + step, shape[axis])), *rest)
