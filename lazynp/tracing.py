"""Where the time of a block goes, for `lazynp.profile`: which step of the runtime, for which of the user's lines.

What takes time is timed by wrappers that stand in the place of the runtime's functions while a profile runs, and at no
other time. A helper looks every millisecond at which line of the user's the profiled thread is. What no wrapper has
timed is parted by these looks: into the user's own Python, recording, and work that NumPy does for us.
"""

from __future__ import annotations

import collections
import math
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any, NamedTuple

import numpy
from numpy.lib.array_utils import byte_bounds

from .api.jit import Entry, Jit
from .backends.support import compilable
from .config import config
from .numpy import host, quick, quick_common
from .owners import LIBRARY as LIBRARY_CODE
from .owners import OWN, elsewhere, whose
from .runtime import alone, chain, execute, kernels, one_step, recorder, segment, steps
from .runtime.profile import profile
from .speed import native
from .swap import HIDDEN
from .threads import start
from .tracebacks import FOLDER, HELPERS, is_quiet, user_site

PERIOD = 0.001  # seconds between two looks
MOST_EVENTS = 100_000  # that are kept for `save`; figures count all
MOST_FRAMES = 200
STARTERS = tuple([FOLDER + name for name in ("__main__.py", "swap.py", "notebook.py")])  # they run programs and imports
INTERPRETED, COMPILED, LIBRARY = "kernels, interpreted", "kernels, compiled", "library calls"
COPIES, SMALL, PLANNING, RUNNING = "writes and copies", "small jitted graphs", "planning", "running segments"
TRACING = "tracing jitted functions"
PROGRAM, RECORDING, HOST = "the program", "recording", "NumPy on the host"
HOST_FILES = (host.__file__, quick.__file__, quick_common.__file__)
CATEGORIES = (INTERPRETED, COMPILED, LIBRARY, COPIES, SMALL, PLANNING, RUNNING, TRACING, RECORDING, HOST, PROGRAM)
KERNELS, DEMAND, COMPILE = "kernels", "demand", "compiler"  # in the trace; no categories: what they contain is one

Line = tuple[str, int]
Place = tuple[CodeType, int | None, int, object]  # of a frame: code, line, how far in the code, module


class Event(NamedTuple):
    """Something that took time. Seconds are those of `time.perf_counter`; thread 0 is the compiler's."""

    category: str
    name: str
    start: float
    seconds: float
    thread: int
    line: Line | None


class KernelUse(NamedTuple):
    """Calls of a kernel in one tier.

    Attributes:
        bytes: of all operands and results, each as often as the kernel goes through it.
        needed: of the memory that they are in, once read and once written: less where operands overlap, as those of a
            stencil, or are broadcast.
    """

    calls: int
    seconds: float
    bytes: int
    needed: int
    shape: tuple[int, ...]


class Wrapped(NamedTuple):
    """A function of the runtime, by where it stands; `counted`: its calls are how often the category is entered."""

    owner: Any
    attribute: str
    category: str
    name: Callable[..., str] | None
    counted: bool = True


def once(arrays: Iterable[numpy.ndarray]) -> int:
    """Bytes of the memory that the arrays are in, with what several of them share counted once."""
    spans = []
    for x in arrays:
        own = x.itemsize * math.prod([n for n, stride in zip(x.shape, x.strides) if stride])
        spans.append((*byte_bounds(x), own))
    total, start, end, held = 0, 0, 0, 0
    for low, high, own in sorted(spans):
        if low < end:
            end, held = max(end, high), held + own
        else:
            total, start, end, held = total + min(end - start, held), low, high, own
    return total + min(end - start, held)


def op_name(step: Any, *_: Any) -> str:
    return str(step.op.name)


TIMED = (
    Wrapped(steps.Library, "run", LIBRARY, op_name),
    Wrapped(alone, "of_library", LIBRARY, lambda op, *_: str(op.name)),
    Wrapped(alone, "called", INTERPRETED, lambda node, _: str(node.op.name)),
    Wrapped(steps.Write, "run", COPIES, lambda *_: "write into a region"),
    Wrapped(steps.ViewStep, "run", COPIES, op_name),
    Wrapped(steps, "copy_rest", COPIES, lambda *_: "copy of what is not written"),
    Wrapped(chain.Chain, "settle", COMPILED, lambda *_: "chain"),
    Wrapped(segment, "plan_of", PLANNING, None),
    Wrapped(recorder, "run_segment", RUNNING, None),
    Wrapped(execute.Planned, "__call__", RUNNING, None),
    Wrapped(execute.Direct, "__call__", SMALL, None),
    Wrapped(one_step.OneStep, "compiled", COMPILED, lambda *_: "a small jitted program"),
    Wrapped(Jit, "_trace", TRACING, lambda f, *_: getattr(f, "__name__", "a function")),
    Wrapped(Entry, "program", TRACING, lambda *_: "a program of what was traced", counted=False),
    Wrapped(Jit, "_remember", TRACING, lambda f, *_: f"the signature of {getattr(f, '__name__', 'a function')}", False),
)


class Trace:
    """What happened while it was on, in the thread that began it.

    Attributes:
        seconds: by category, each without what it contains of others; times: how often it was entered.
        lines: seconds by line of the user's, and in it by category.
        demands: (line, what asked) -> [times, seconds].
        kernels: (kernel, tier) -> `KernelUse`.
        looks: how often the helper looked; looked: seconds that its looks account for.
        events: the first 100,000, for the trace.
        wall: seconds.
    """

    on: Trace | None = None  # the one that runs: one at a time

    def __init__(self) -> None:
        self.seconds: dict[str, float] = dict.fromkeys(CATEGORIES, 0.0)
        self.lines: dict[Line, dict[str, float]] = {}
        self.demands: dict[Line, list[float]] = {}
        self.kernels: dict[tuple[Any, str], KernelUse] = {}
        self._needed: dict[tuple[Any, tuple[int, ...]], int] = {}  # kernel and shape -> bytes of its first call
        self.times: collections.Counter[str] = collections.Counter()
        self.events: list[Event] = []
        self.sampled: list[tuple[float, Line | None]] = []
        self.looks, self.looked, self.wall = 0, 0.0, 0.0
        self.parted: dict[str, float] = {}
        self._open: list[tuple[str, float]] = []  # what runs in the thread: category, and seconds of what it contains
        self._inside: list[float] = []
        self._demanding = 0
        self._thread = threading.get_ident()
        self._undo: list[tuple[Any, str, Any]] = []
        self._ended = threading.Event()

    # --- on and off ---------------------------------------------------------------------------------------------------

    def begin(self) -> bool:
        """Start; False where another trace runs."""
        if Trace.on is not None:
            return False
        Trace.on = self
        for owner, attribute, category, name, counted in TIMED:
            self.replace(owner, attribute, self.timed(getattr(owner, attribute), category, name, counted))
        self.replace(kernels.Kernel, "run", self.kernel_run(kernels.Kernel.run))
        self.replace(kernels.Form, "note", self.compile_noted(kernels.Form.note))
        self.replace(recorder.Recorder, "demand", self.demanded(recorder.Recorder.demand))
        # A thread that computes in Python lets others in only when one has waited for a switch interval without being
        # woken, and NumPy and our kernels wake it at each call, only to have the lock again before it runs: with an
        # interval longer than such a call nothing was seen of 50 steps of a small jitted program (11 ms).
        one_step.allow(False)  # without a call that is timed
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(PERIOD / 200)
        self.start = self._seen = time.perf_counter()
        elsewhere()  # asked by two threads at once, Python's `sysconfig` fails
        start(self.look, name="lazynp profile")
        return True

    def replace(self, owner: Any, attribute: str, wrapper: Any) -> None:
        self._undo.append((owner, attribute, vars(owner)[attribute]))
        setattr(owner, attribute, wrapper)

    def end(self) -> None:
        """Stop, and put back what was replaced."""
        self._ended.set()
        self.wall = time.perf_counter() - self.start
        for owner, attribute, before in self._undo:
            setattr(owner, attribute, before)
        self._undo.clear()
        sys.setswitchinterval(self._interval)
        one_step.allow(True)
        Trace.on = None
        rest = max(0.0, self.wall - sum(self.seconds.values()))
        looked = sum(self.parted.values())
        for category in (PROGRAM, RECORDING, HOST):
            share = self.parted.get(category, 0.0) / looked if looked else float(category == PROGRAM)
            self.seconds[category] += rest * share

    # --- timing -------------------------------------------------------------------------------------------------------

    def timed(self, function: Any, category: str, name: Any, counted: bool) -> Any:
        """The function, timed."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != self._thread:
                return function(*args, **kwargs)
            began = self.enter(category)
            try:
                return function(*args, **kwargs)
            finally:
                self.leave(category, name(*args) if name is not None else category, began, counted)

        return call

    def enter(self, category: str) -> float:
        self._open.append((category, 0.0))
        self._inside.append(0.0)
        return time.perf_counter()

    def leave(self, category: str, name: str, began: float, counted: bool = True) -> float:
        """Count what ended, without what it contained; seconds in all."""
        seconds = time.perf_counter() - began
        self._open.pop()
        own = seconds - self._inside.pop()
        if self._inside:
            self._inside[-1] += seconds
        self.seconds[category] += own
        self.times[category] += counted
        self.keep(Event(category, name, began, seconds, self._thread, None))
        return own

    def keep(self, event: Event) -> None:
        if len(self.events) < MOST_EVENTS:
            self.events.append(event)

    def kernel_run(self, run: Any) -> Any:
        """`Kernel.run`, timed by kernel and tier."""

        def call(kernel: Any, ins: Any, scalars: Any, outs: Any, shape: Any, *rest: Any) -> None:
            if threading.get_ident() != self._thread:
                return run(kernel, ins, scalars, outs, shape, *rest)
            before, moved = profile.interpreted, profile.bytes
            began = self.enter(KERNELS)
            try:
                run(kernel, ins, scalars, outs, shape, *rest)
            finally:
                tier = COMPILED if profile.interpreted == before else INTERPRETED
                own = self.leave(tier, kernel_name(kernel), began)
                form = (kernel, tuple(shape))
                if form not in self._needed:
                    self._needed[form] = once(ins) + once(outs)
                use = self.kernels.get((kernel, tier), KernelUse(0, 0.0, 0, 0, form[1]))
                moved, needed = use.bytes + profile.bytes - moved, use.needed + self._needed[form]
                self.kernels[kernel, tier] = KernelUse(use.calls + 1, use.seconds + own, moved, needed, form[1])

        return call

    def compile_noted(self, note: Any) -> Any:
        """`Form.note`: a compiler has done its work."""

        def call(form: Any, seconds: float, reason: str, outcome: str) -> None:
            self.keep(Event(COMPILE, outcome, time.perf_counter() - seconds, seconds, 0, None))
            note(form, seconds, reason, outcome)

        return call

    def demanded(self, demand: Any) -> Any:
        """`Recorder.demand`: somebody needs a value now."""

        def call(stream: Any, node: Any, passing: Any = None) -> None:
            if threading.get_ident() != self._thread or node.buffer is not None or self._demanding:
                return demand(stream, node, passing)
            line, began = user_site(), time.perf_counter()
            self._demanding += 1
            try:
                demand(stream, node, passing)
            finally:
                self._demanding -= 1
                seconds = time.perf_counter() - began
                found = self.demands.setdefault(line, [0, 0.0])
                found[0] += 1
                found[1] += seconds
                self.keep(Event(DEMAND, f"{line[0]}:{line[1]}", began, seconds, self._thread, line))

        return call

    # --- looking ------------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Until the end: note where the thread is."""
        while not self._ended.wait(PERIOD):
            now = time.perf_counter()
            passed, self._seen = now - self._seen, now
            frames = frames_of(self._thread)
            try:
                opened = self._open[-1][0]
            except IndexError:
                opened = None
            if self._ended.is_set():  # the thread may be elsewhere by now
                return
            line, category = where(frames)
            if opened is None:
                self.parted[category] = self.parted.get(category, 0.0) + passed
            if line is not None:
                found = self.lines.setdefault(line, {})
                found[opened or category] = found.get(opened or category, 0.0) + passed
            self.looks, self.looked = self.looks + 1, self.looked + passed
            if len(self.sampled) < MOST_EVENTS:
                self.sampled.append((now, line))


def frames_of(thread: int) -> list[Place]:
    """Where a thread is, innermost first. Without the C module the thread may go on meanwhile."""
    if native is not None:
        found: list[Place] = native.frames_of(thread, MOST_FRAMES)
        return found
    frames: list[Place] = []
    frame = sys._current_frames().get(thread)
    while frame is not None and len(frames) < MOST_FRAMES:
        frames.append((frame.f_code, frame.f_lineno, frame.f_lasti, frame.f_globals.get("__name__")))
        frame = frame.f_back
    return frames


def where(frames: list[Place]) -> tuple[Line | None, str]:
    """The innermost line of the program's own, else of a library's; and whose work is done there."""
    category, library = PROGRAM, None
    ours, called = (
        False,
        False,
    )  # whether a frame of ours was met, and before it one of a library that it may have called
    for code, line, at, module in frames:
        file = code.co_filename
        if file in STARTERS:
            continue
        if is_quiet(file, module):
            if file.startswith("<") or (library is not None and not called):
                continue  # a library at work for the program, through us: pytest, or what an adapter wraps
            ours, library = True, None
            if file in HOST_FILES or not file.startswith(FOLDER):
                category = HOST
            elif category != HOST:
                category = RECORDING
        elif not file.startswith(HIDDEN):
            owner = owner_of(file, module)
            if owner == OWN:
                return (file, line_in(code, line, at)), category
            if owner == LIBRARY_CODE and library is None and not ours and not file.startswith("<"):
                library, called = (file, line_in(code, line, at)), str(module).partition(".")[0] in HELPERS
    return library, category


def owner_of(file: str, module: object) -> str:
    """Whose code it is; what was made from text, such as the methods of a dataclass, is of its module."""
    made_for = sys.modules.get(str(module)) if file.startswith("<") and module != "__main__" else None
    return whose(getattr(made_for, "__file__", None) or file)


def line_in(code: CodeType, line: int | None, at: int) -> int:
    """Where a frame is. A jump back to the head of a loop has no line: it is that of what stands before it."""
    if line is not None:
        return line
    before = [line for start, _, line in code.co_lines() if line is not None and start <= at]
    return before[-1] if before else code.co_firstlineno


def kernel_name(kernel: Any) -> str:
    """The operations of a kernel, each once: `sin, multiply, add`."""
    ops = list(dict.fromkeys([i.op if i.op != "reduce" else f"{i.params[0]}.reduce" for i in kernel.spec.body]))
    return ", ".join(ops[:6]) + (f" and {len(ops) - 6} more" if len(ops) > 6 else "")


def state_of(kernel: Any) -> tuple[str, str]:
    """What has become of a kernel: interpreted, queued or compiling, compiled, refused; and why."""
    if not kernel.compilable:
        return "refused", str(compilable(kernel.spec))
    forms = list({id(f): f for f in [*kernel.forms.values(), *[v[0] for v in kernel.exact.values()]]}.values())
    if any(f.compiled is not None for f in forms):
        return "compiled", ""
    asked = [f for f in forms if f.asked]
    for f in asked:
        status = kernels.client().status(f.spec, f.geometry)
        if status == "pending":
            return "queued or compiling", ""
        if status in ("rejected", "failed"):
            return status, kernels.client().reason(f.spec, f.geometry)
    if not config.compile:
        return "interpreted", "compiling is switched off"
    if missing := kernels.client().missing():
        return "interpreted", f"nothing is compiled in this process: {missing}"
    spent = max([f.seconds for f in forms], default=0.0)
    after = config.compile_after
    if spent >= after and asked:  # and nobody knows of it any more: the compiler has been stopped
        return "queued or compiling", "the program ended first"
    return "interpreted", f"has cost {spent:.3g} s of the {after:g} s after which it is compiled"


def text_at(line: Line) -> str:
    """The text of a line, if it can be had."""
    return traceback.FrameSummary(line[0], line[1], "").line or ""
