"""Which loops over larger arrays are replayed: those that go faster so.

Arrays of up to `config.small` elements are computed at once, and a loop of such operations is replayed (`replay`).
Larger ones are recorded, which fuses what is not written anywhere, but costs some 20 µs an operation; a loop that
writes into parts of arrays is often better replayed up to some hundred thousand elements. Nobody knows from the text
which: it depends on what the memory and the processor give. So it is tried: where the same plan has run for a while,
the limit is raised, until replay has seen the loop and asked for its program; the loop goes on as before while that is
compiled; then both paces are compared. Where replay finds nothing the operations may still go faster at once, one by
one, where a value is asked for after each few of them. The limit stays up for some seconds, and longer each time: then
the loop is recorded for a moment, since another one may have begun.

Where value after value is asked for as soon as a few light operations have been recorded, there is nothing to fuse, and
recording takes as long as the operations. So the limit is raised for a moment after some of these: for longer where the
next ones are such, too.
"""

from __future__ import annotations

import math
import time
from typing import Any

from ..config import config
from ..graph.op import SET
from ..speed import native
from ..threads import at_fork, start
from .profile import profile

RANGE = 3  # times `config.limit`: how many elements the largest array may have
REPEATS, SECONDS = 24, 0.4  # of a plan, in a row, before it is tried
APART = 0.25  # seconds after which a plan is not in a row with itself
COLD = 4.0  # seconds after which a loop whose kernels are still interpreted is tried nevertheless
MISSES = 2  # of a plan, before it is left alone
STEP, WATCH = 0.01, 0.2  # seconds: between two looks at a trial, and at a loop that is replayed
TO_NOTE, TO_COMPILE, TO_MATCH, MEASURED = 0.5, 30.0, 0.4, 0.1  # seconds that each part of a trial may take
REST, LONGEST = 2.0, 32.0  # seconds that a loop goes on before it is recorded for a moment: at first, and at last
DEMANDS, MOST = 8, 1 << 20  # values asked for in a row with nothing to fuse, and elements, that are better done at once
BRIEF, LONG = 0.05, 0.8  # seconds for which they are: at first, and at last
BETTER, WORSE = 0.9, 1.2  # of the pace before: what wins, and what has won already goes on


class Pace:
    """How fast a plan's loop goes, on arrays of about one size: a plan may stand for many.

    Attributes:
        repeats: of the plan, in a row. at: when it ran last.
        began, calls, interpreted: when the row began, and what had been called and how many kernels had been
            interpreted in the process by then.
        cold: the seconds in which most of its kernels were.
        wins: whether its loop goes better at once or replayed; None: not tried yet.
        missed: how often the limit was raised for it, and nothing came of that.
        rest: the seconds for which it is raised the next time.
    """

    __slots__ = ("repeats", "at", "began", "calls", "interpreted", "cold", "wins", "missed", "rest")

    def __init__(self) -> None:
        self.missed, self.rest = 0, REST
        self.at = self.cold = 0.0
        self.wins: bool | None = None
        self.begin(0.0)

    def begin(self, now: float) -> None:
        """Measure anew."""
        self.repeats, self.began, self.calls, self.interpreted = 0, now, calls_begun(), profile.interpreted


class Trials:
    """Attributes:
    busy: whether a trial is on, or a loop is watched. raised: the limit that was set, 0 for none.
    demands: how many values in a row had nothing to fuse. brief: the seconds for which such operations are done at
    once the next time. lowered: when that ended last, by time.perf_counter.
    """

    def __init__(self) -> None:
        self.raised = self.demands = 0
        self.busy = False
        self.brief, self.lowered = BRIEF, 0.0

    def ran(self, plan: Any, segment: Any) -> None:
        """A segment has run, or is about to."""
        self.demands = 0
        now = time.perf_counter()
        elements = largest(segment)
        pace = plan.paces.get(elements.bit_length())
        if pace is None:
            pace = plan.paces[elements.bit_length()] = Pace()
        if now - pace.at < APART:
            pace.repeats += 1
            if pace.repeats >= REPEATS and pace.wins is not False and not self.busy:
                self.consider(pace, segment, elements, now)
        else:
            pace.begin(now)
        pace.at = now

    def ran_alone(self, elements: int) -> None:
        """A value was asked for that took a few light operations on arrays of so many elements."""
        self.demands = self.demands + 1 if elements <= MOST else 0
        if self.demands < DEMANDS or self.busy or self.raised:
            return
        if config.mode == "auto" and config.compile and not config.deterministic and config.limit > 0:
            self.demands, self.busy = 0, True
            now = time.perf_counter()
            self.brief = min(2 * self.brief, LONG) if now - self.lowered < BRIEF else BRIEF
            if start(self.at_once, name="lazynp-pace") is None:
                self.busy = False

    def consider(self, pace: Pace, segment: Any, elements: int, now: float) -> None:
        seconds = now - pace.began
        if pace.wins is None and seconds < SECONDS * 4**pace.missed:
            return
        if config.mode != "auto" or config.deterministic or not config.compile or config.limit <= 0 or self.raised:
            return
        if not config.limit < elements <= RANGE * config.limit:
            return
        writes = any([op is not None and op.kind == SET for op in segment.ops])
        interpreted = profile.interpreted - pace.interpreted
        if pace.wins is None and not writes and interpreted * 8 > pace.repeats and pace.cold < COLD:
            pace.cold += seconds  # its kernels are to be compiled first
            pace.begin(now)
            return
        self.busy = True
        recorded = seconds / max(calls_begun() - pace.calls, 1)
        if start(self.trial, pace, recorded, name="lazynp-pace") is None:
            self.busy = False

    # --- in a thread of its own ---------------------------------------------------------------------------------------

    def trial(self, pace: Pace, recorded: float) -> None:
        """`recorded`: the seconds between two calls of the program, as it goes now."""
        try:
            known = pace.wins
            ready = known or self.found()
            matched = native.replay_pace()[0]
            self.lift()
            if ready:
                until(lambda: native.replay_pace()[0] != matched, TO_MATCH)
            best = fastest()
            if best < math.inf:
                pace.wins = best < recorded * (WORSE if known else BETTER)
            else:  # the loop has ended, say, or another process had the processor: perhaps next time
                pace.missed += 1
                pace.wins = known if pace.missed <= MISSES else False
            if pace.wins and self.raised:
                self.watch(pace.rest)
                pace.rest = min(2 * pace.rest, LONGEST)
        finally:
            self.lower()
            pace.begin(time.perf_counter())
            self.busy = False

    def at_once(self) -> None:
        """Have arrays of up to MOST elements be small for a moment."""
        try:
            self.lift(max(MOST, config.limit))
            time.sleep(self.brief)
        finally:
            self.lower()
            self.lowered, self.busy = time.perf_counter(), False

    def found(self) -> bool:
        """Whether replay has a program for what runs now."""
        matched, asked, _, ready = native.replay_pace()[:4]
        self.lift()
        if not until(lambda: native.replay_pace()[:2] != (matched, asked), TO_NOTE):
            return False
        if native.replay_pace()[0] != matched:  # it has one already
            return True
        self.lower()
        return until(lambda: not native.replay_pace()[2], TO_COMPILE) and native.replay_pace()[3] > ready

    def watch(self, seconds: float) -> None:
        """As long as the program calls something, but not for ever: another loop may have begun that is better
        recorded, or kernels are faster by now."""
        before, end = -1, time.perf_counter() + seconds
        while self.raised == config.limit and time.perf_counter() < end and before != calls_begun():
            before = calls_begun()
            time.sleep(WATCH)

    def lift(self, limit: int = 0) -> None:
        """Raise the limit: to that, or RANGE times."""
        if not self.raised and not config.deterministic:  # which may have been set since the trial began
            self.raised = limit or RANGE * config.limit
            config.lift(self.raised)

    def lower(self) -> None:
        if self.raised:
            self.raised = 0
            config.lift(None)

    def forget(self) -> None:
        """In a forked child, where no thread watches."""
        self.lower()
        self.busy = False


def calls_begun() -> int:
    """The operators, indices, functions and methods that the program has called, whatever was done then."""
    calls: int = native.replay_pace()[4] if native is not None else 0
    return calls


def fastest() -> float:
    """The seconds between two calls of the program now, at best; infinite if there are none."""
    best = math.inf
    for _ in range(3):
        before, began = calls_begun(), time.perf_counter()
        time.sleep(MEASURED)
        done = calls_begun() - before
        if done:
            best = min(best, (time.perf_counter() - began) / done)
    return best


def until(condition: Any, seconds: float) -> bool:
    end = time.perf_counter() + seconds
    while not condition():
        if time.perf_counter() > end:
            return False
        time.sleep(STEP)
    return True


def largest(segment: Any) -> int:
    """How many elements its largest array has."""
    shapes = [*segment.shapes, *[b.shape for b in segment.buffers if hasattr(b, "shape")]]
    return max([math.prod(shape) for shape in shapes if type(shape) is tuple], default=0)


trials = Trials()
at_fork(1, child=trials.forget)
