"""Faults at every line, as SQLite's tests inject them: `python -m tests.faults --help`.

A program is run, and at each line of lazynp that it executes the process forks: in the child that line raises, be it
short memory, Ctrl-C, what a signal handler raises, a failing disk or a stack that is too deep, and the parent goes on
to the next line. The child catches the error as an interactive user would, and reads its arrays: each must be what the
program has without a fault before the statement that failed, or after it, and the engine must go on to compute what it
should. What hangs is killed and counted.

Programs in which threads or files play a part are run anew for each fault, in a fork of a process that has imported
everything. They have their points in the threads of lazynp, too, where there are no signals.

A point is a line together with the calls through which it was reached; such a point is taken `--times` times at most in
a program, as a loop that records one operation after the other comes to it hundreds of times. Lines at which `with` is
left are passed over: the interpreter calls a lock's `__exit__` there, and no signal handler or error can come between,
but only a tracing function. So are lines that do nothing (`try:`), which no `with` around them protects.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import gc
import os
import re
import signal
import sys
from collections.abc import Iterator
from typing import Any

import numpy
from fault_points import FAULTS, Outcome, Point, Trace, in_child, outcomes
from fault_programs import PROGRAMS, Program
from fault_scenes import SCENES, Scene

import lazynp
import lazynp.jax
import lazynp.jax.numpy as jnp
from lazynp.runtime.kernels import kernels
from lazynp.runtime.recorder import recorder
from lazynp.runtime.segment import exact_plans, plans

ARRAYS = (numpy.ndarray, lazynp.ndarray, jnp.ndarray, numpy.generic)
FINE = frozenset({"raised", "swallowed", "not reached"})
SECONDS = 300  # until a compiler has done its work
TIMES = 1  # that a point is taken in a program


def state_of(names: dict[str, Any]) -> dict[str, Any]:
    """The values of a program's variables, as NumPy's."""
    return {k: numpy.array(v) for k, v in names.items() if k.islower() and isinstance(v, ARRAYS)}


def namespace() -> dict[str, Any]:
    return {"np": lazynp, "jnp": jnp, "jax": lazynp.jax}


def same(a: Any, b: Any) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and bool(numpy.allclose(a, b, rtol=1e-11, atol=0, equal_nan=True))


class Run:
    """One run of a program, and what it should leave."""

    def __init__(self, p: Program, scene: Scene) -> None:
        self.p, self.scene = p, scene
        self.wanted: list[dict[str, Any]] = []

    def states(self) -> list[dict[str, Any]]:
        """What the program leaves after each statement, without faults."""
        names, out = namespace(), [{}]
        with self.scene(names):
            for statement in self.p.statements:
                exec(statement, names)
                out.append(state_of(names))
        return out

    def __call__(self, trace: Trace) -> Outcome:
        """Run it. Where a fault was raised: what came of it."""
        names, raised, done = namespace(), None, 0
        with self.scene(names) as scene:
            try:
                with trace:
                    for statement in self.p.statements:
                        exec(statement, names)
                        done += 1
            except BaseException as error:
                raised = error.with_traceback(None)  # and what its frames hold
                raised.__context__ = None
            if trace.raised is None:
                if raised is not None:
                    raise raised
                return Outcome("not reached", "")
            place, fault = trace.raised
            if raised is not None and not isinstance(raised, fault):
                return Outcome("another error", f"{place}: {type(raised).__name__}: {raised}")
            allowed = self.wanted[done : done + 2] if raised is not None else self.wanted[-1:]
            problem = look(names, allowed) or go_on() or scene.look(names)
        if problem is None:
            dropped = "dropped" if issubclass(fault, KeyboardInterrupt) and not trace.around_fork else "swallowed"
            return Outcome("raised" if raised is not None else dropped, place)
        return Outcome(problem[0], f"{place}: {problem[1]}")


def look(names: dict[str, Any], allowed: list[dict[str, Any]]) -> tuple[str, str] | None:
    """What is wrong with the arrays: each is to be as before the statement, or as after it, and to be computed with."""
    for name in [k for k, v in names.items() if k.islower() and isinstance(v, ARRAYS)]:
        try:
            value = numpy.array(names[name])
            more = numpy.array(names[name] + names[name])
        except BaseException as error:
            return "unreadable", f"{name}: {type(error).__name__}: {error}"
        if not any(name in state and same(value, state[name]) for state in allowed):
            return "wrong", name
        if not same(more, value + value):
            return "wrong", f"{name} + {name}"
    return None


def go_on() -> tuple[str, str] | None:
    """What is wrong with the engine: it is to find a loop, to write in place, and to have nothing left."""
    try:
        u, v = numpy.arange(60.0), lazynp.arange(60.0)
        for i in range(12):
            u[1:-1] = 0.5 * (u[2:] + u[:-2])
            v[1:-1] = 0.5 * (v[2:] + v[:-2])
            if i % 5 == 4:
                u[3], v[3] = i, i
        if not numpy.array_equal(numpy.asarray(v), u):
            return "wrong", "a loop afterwards"
        recorder.flush()
    except BaseException as error:
        return "unreadable", f"a loop afterwards: {type(error).__name__}: {error}"
    if recorder.lock._is_owned():  # type: ignore[attr-defined]
        return "left", "the recorder's lock is held"
    if recorder.unfinished:
        return "left", "a segment that is not finished"
    return None


def prepare(p: Program, run: Run) -> None:
    """Find out what a program should leave, and warm up what it needs."""
    if p.scene:
        run.scene.prepare()
        run.wanted = in_child(run.states)
        return
    run.wanted = run.states()
    if p.tier != "interpreted":
        if not lazynp.compile_wait(SECONDS):  # machine code that came later would round otherwise
            raise TimeoutError("what the program needs was not compiled in time")
        run.wanted = run.states()
    if p.tier != "compiled":
        exact_plans.clear()  # so that the lines that make them are executed, too
        plans.clear()
        kernels.clear()


def spread(found: list[Point], points: int, shift: int) -> dict[Point, list[type[BaseException]]]:
    """Which faults at which points: all at each, or (points > 0) one at so many of them."""
    if not points:
        return {at: list(FAULTS) for at in found}
    chosen = sorted({(k * len(found)) // min(points, len(found)) for k in range(min(points, len(found)))})
    return {found[at]: [FAULTS[(k + shift) % len(FAULTS)]] for k, at in enumerate(chosen)}


def campaign(
    p: Program, points: int, shift: int = 0, times: int = TIMES, part: tuple[int, int] = (1, 1)
) -> Iterator[Outcome]:
    """The outcomes of about so many faults, spread over all points of the program (0: each fault at each point).
    `part`: only the k-th of n parts of them."""
    anew = p.anew or bool(p.scene)
    settings: dict[str, Any] = {} if anew else {"threads": 1}  # helpers do not come along where a process forks
    run = Run(p, SCENES[p.scene]())
    with (
        contextlib.closing(run.scene),
        lazynp.config(mode=p.mode, compile=p.tier != "interpreted", compile_after=0.0, compile_nice=0, **settings),
    ):
        prepare(p, run)

        def count() -> list[Point]:
            counted = Trace(times=times)
            run(counted)
            return counted.points

        found = in_child(count)
        if isinstance(found, Outcome):
            yield found
            return
        chosen = spread([at for at in found if at.main or anew][part[0] - 1 :: part[1]], points, shift)
        if not anew:
            yield from outcomes(run, Trace(chosen=chosen, times=times))
            return
        for point, faults in chosen.items():
            for fault in faults:
                if point.main or issubclass(fault, (MemoryError, OSError)):
                    yield in_child(functools.partial(run, Trace(point, fault))).of(fault, point)


def seconds(began: os.times_result) -> str:
    now = os.times()
    return f"{now.elapsed - began.elapsed:.0f} s ({sum(now[:4]) - sum(began[:4]):.0f} s of a core)"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=200, help="of each program; 0: all, with every fault")
    parser.add_argument("--programs", default="", help="those whose names match")
    parser.add_argument("--times", type=int, default=TIMES, help="that a point is taken in a program")
    parser.add_argument("--part", default="1/1", help="k/n: the k-th of n parts, for n processes at once")
    args = parser.parse_args()
    k, n = map(int, args.part.split("/"))
    total: collections.Counter[str] = collections.Counter()
    ran = 0
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell has a program in its background ignore
    gc.freeze()  # forks share what is there
    for number, (name, p) in enumerate(PROGRAMS.items()):
        if not re.search(args.programs, name):
            continue
        began, ran = os.times(), ran + 1
        counts: collections.Counter[str] = collections.Counter()
        for outcome in campaign(p, args.points, number, args.times, (k, n)):
            counts[outcome.kind] += 1
            if outcome.kind not in FINE:
                print(f"  {name}: {outcome.kind}: {outcome.fault} at {outcome.where}", flush=True)
        total += counts
        print(f"{name}: {counts.total():,} faults, {dict(counts)} in {seconds(began)}", flush=True)
    print(f"{total.total():,} faults in {ran} programs: {dict(total)}")
    return 1 if set(total) - FINE else 0


if __name__ == "__main__":
    sys.exit(main())
