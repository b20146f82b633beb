"""Which loops over larger arrays are replayed: those that go faster so.

Arrays of up to `config.small` elements are computed at once, and a loop of such operations is replayed (`replay`).
Larger ones are recorded, which fuses what is not written anywhere, but costs some 20 µs an operation; a loop that
writes into parts of arrays is often better replayed up to some hundred thousand elements. Nobody knows from the text
which: it depends on what the memory and the processor give. So it is tried: where the same plan has run for a while,
the limit is raised, until replay has seen the loop and asked for its program; the loop goes on as before while that is
compiled; then both paces are compared. The limit stays up while periods are matched, and no longer: other operations
on such arrays are to be recorded.
"""

from __future__ import annotations

import math
import time
from typing import Any

from ..config import config
from ..graph.op import SET
from ..speed import native
from ..threads import at_fork, start

RANGE = 6  # times `config.limit`: how many elements the largest array may have
REPEATS, SECONDS = 24, 0.4  # of a plan, in a row, before it is tried
APART = 0.25  # seconds after which a plan is not in a row with itself
MISSES = 2  # of a plan, before it is left alone
STEP, WATCH = 0.01, 0.2  # seconds: between two looks at a trial, and at a loop that is replayed
TO_NOTE, TO_COMPILE, TO_MATCH, MEASURED = 0.5, 30.0, 0.4, 0.1  # seconds that each part of a trial may take
BETTER = 0.9  # of the pace before


class Pace:
    """How fast a plan's operations go, on arrays of about one size: a plan may stand for many.

    Attributes:
        repeats, operations, seconds: of the plan, and of all that ran between two runs of it.
        wins: whether its loop goes better replayed; None: not tried yet.
        missed: how often the limit was raised for it, and nothing came of that.
    """

    __slots__ = ("repeats", "operations", "seconds", "at", "count", "wins", "missed")

    def __init__(self) -> None:
        self.repeats = self.operations = self.count = self.missed = 0
        self.seconds = self.at = 0.0
        self.wins: bool | None = None


class Trials:
    """Attributes:
    operations: recorded ones that have run. busy: whether a trial is on, or a loop is watched. raised: the limit that
    was set, 0 for none.
    """

    def __init__(self) -> None:
        self.operations = self.raised = 0
        self.busy = False

    def ran(self, plan: Any, segment: Any) -> None:
        """A segment has run, or is about to."""
        now = time.perf_counter()
        self.operations += len(segment.ops)
        elements = largest(segment)
        pace = plan.paces.get(elements.bit_length())
        if pace is None:
            pace = plan.paces[elements.bit_length()] = Pace()
        elif now - pace.at < APART:
            pace.repeats += 1
            pace.seconds += now - pace.at
            pace.operations += self.operations - pace.count
            if pace.repeats >= REPEATS and pace.wins is not False and not self.busy:
                self.consider(pace, segment, elements)
        else:
            pace.repeats = pace.operations = 0
            pace.seconds = 0.0
        pace.at, pace.count = now, self.operations

    def consider(self, pace: Pace, segment: Any, elements: int) -> None:
        if pace.wins is None and pace.seconds < SECONDS * 4**pace.missed:
            return
        if config.mode != "auto" or config.deterministic or not config.compile or config.limit <= 0 or self.raised:
            return
        if not config.limit < elements <= RANGE * config.limit:
            return
        if pace.wins is None and not any([op is not None and op.kind == SET for op in segment.ops]):
            pace.wins = False
            return
        self.busy = True
        if start(self.trial, pace, name="lazynp-pace") is None:
            self.busy = False

    # --- in a thread of its own ---------------------------------------------------------------------------------------

    def trial(self, pace: Pace) -> None:
        try:
            known = pace.wins
            if (known or self.found()) and self.matched(TO_MATCH):
                pace.wins = known or self.compared(pace)
            else:  # the loop has ended, say, or another process had the processor: perhaps next time
                pace.missed += 1
                pace.wins = known if pace.missed <= MISSES else False
            if pace.wins and self.raised:
                self.watch()
        finally:
            self.lower()
            pace.repeats = pace.operations = 0
            pace.seconds = 0.0
            self.busy = False

    def found(self) -> bool:
        """Whether replay has a program for what runs now."""
        matched, asked, _, ready = native.replay_pace()
        self.lift()
        if not until(lambda: native.replay_pace()[:2] != (matched, asked), TO_NOTE):
            return False
        if native.replay_pace()[0] != matched:  # it has one already
            return True
        self.lower()
        return until(lambda: not native.replay_pace()[2], TO_COMPILE) and native.replay_pace()[3] > ready

    def compared(self, pace: Pace) -> bool:
        """Whether what is replayed now goes faster than it went before."""
        recorded, best = pace.seconds / pace.operations, math.inf
        for _ in range(3):
            before, began = native.replay_pace()[0], time.perf_counter()
            time.sleep(MEASURED)
            done = native.replay_pace()[0] - before
            if done:
                best = min(best, (time.perf_counter() - began) / done)
        return best < BETTER * recorded

    def matched(self, seconds: float) -> bool:
        """Raise the limit; whether anything is replayed then."""
        before = native.replay_pace()[0]
        self.lift()
        return until(lambda: native.replay_pace()[0] != before, seconds)

    def watch(self) -> None:
        """Until nothing is matched any more."""
        before, now = -1, 0
        while now != before and self.raised == config.limit:
            time.sleep(WATCH)
            before, now = now, native.replay_pace()[0]

    def lift(self) -> None:
        if not self.raised and not config.deterministic:  # which may have been set since the trial began
            self.raised = RANGE * config.limit
            config.lift(self.raised)

    def lower(self) -> None:
        if self.raised:
            self.raised = 0
            config.lift(None)

    def forget(self) -> None:
        """In a forked child, where no thread watches."""
        self.lower()
        self.busy = False


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
