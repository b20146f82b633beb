"""Running loops and branches. A body is made ready once; after that an iteration does nothing but compute.

Small bodies begin as lists of NumPy calls (`numpy_calls`). A loop that has cost `BUILD_AFTER` seconds is written as
C++ and built in the background (`backends.loops`); it goes over to the machine code at the next iteration, even in the
middle of a run. Bodies on large arrays are plans like any other graph's, whose kernels are compiled by themselves.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backends.gcc import BuildError
from ..backends.loops import build
from ..backends.loops.program import Loop, Site, Unsupported
from ..backends.loops.source import Source, generate
from ..config import config
from ..graph.function import Function
from ..graph.walk import toposort
from ..ops import control
from .kernels import waits
from .loop_program import scan_program, while_program
from .numpy_calls import ERRORS, SILENT, Calls
from .profile import profile

LARGE = 1 << 16  # bytes of one value from which a plan's kernels are worth their overhead
KEPT = 1 << 22  # bytes up to which a workspace is kept for the next run
AGAIN = (5.0, 60.0)  # seconds after which a loop whose build failed for no reason of its own is tried again
LOOK = 32  # iterations between looks at the clock
SOURCE_AFTER = 0.004  # seconds that a loop has cost when its source is written, and looked up in the cache
BUILD_AFTER = 0.03  # and when it is built: g++ alone, without torch, takes half a second
STEPS = 64  # of machine code in its first call; later as many as take about EARLY to LATE seconds
EARLY, LATE = 0.01, 0.1
Runner = Callable[[list[Any]], list[Any]]
ready: weakref.WeakKeyDictionary[Function, Runner] = weakref.WeakKeyDictionary()
machines: weakref.WeakKeyDictionary[Function, dict[Any, Machine]] = weakref.WeakKeyDictionary()


def runner(f: Function) -> Runner:
    """From the list of the inputs' arrays to that of the outputs'."""
    found = ready.get(f)
    if found is None:
        sizes = [a.nbytes for n in toposort([*f.outputs, *f.effects]) for a in (n.outs or (n.aval,))]
        found = ready[f] = planned(f) if max(sizes, default=0) >= LARGE else Calls(f)
    return found


def planned(f: Function) -> Runner:
    """By a plan, which reads arrays only."""
    return lambda inputs: f.evaluate([np.asarray(x, order="C") for x in inputs])


class Machine:
    """One loop: what its interpreter has cost, and its machine code when there is some.

    Attributes:
        program: makes the plain data of which the source is made. told: is called with the function once there is one,
            and with None where there is none.
        run: the compiled function. steps: how many are made in one call of it.
        spaces: workspaces that wait for the next run, each with what Python computes in it.
        asked: whether the source was written; it may not be possible.
    """

    def __init__(self, program: Callable[[], Loop], told: Callable[[Any], None] = lambda run: None) -> None:
        self.program, self.told = program, told
        self.seconds = 0.0
        self.run: Any = None
        self.steps = STEPS
        self.spaces: list[Any] = []
        self.asked = self.submitted = False
        self.attempts, self.after = 0, 0.0
        self.source: Source | None = None

    def charge(self, seconds: float) -> None:
        """Note what the interpreter cost; see about machine code when it has been enough."""
        self.seconds += seconds
        if self.run is not None or self.submitted or not config.compile or config.deterministic:
            return
        if self.seconds >= min(SOURCE_AFTER, config.compile_after) and not self.asked:
            self.write()
        if self.source is not None and self.seconds >= min(BUILD_AFTER, config.compile_after):
            if time.monotonic() < self.after:
                return
            self.submitted = True
            began, reason = time.perf_counter(), f"{self.seconds:.2f} s in the interpreter"
            build.builder.submit(self.source.text, lambda run, failure: self.built(run, failure, began, reason))

    def write(self) -> None:
        """The source, and what the cache has for it."""
        self.asked = True
        try:
            self.source = generate(self.program())
        except Unsupported:
            self.submitted = True
            self.loaded(None)
            return
        found = build.found(self.source.text)
        if found is not None:
            self.submitted = True
            self.loaded(found or None)
            profile.cache_hits += bool(found)

    def room(self) -> tuple[Any, Sites | None]:
        """A workspace, and what Python computes in it."""
        assert self.source is not None
        space = np.empty(self.source.workspace + 64, np.uint8)
        return space, Sites(self.source.sites, space) if self.source.sites else None

    def loaded(self, found: Any) -> None:
        self.told(found)
        self.run = found

    def built(self, run: Any, failure: BuildError | None, began: float, reason: str) -> None:
        self.loaded(run)
        again = failure is not None and not failure.lasting and self.attempts < len(AGAIN)
        if again:
            self.after = time.monotonic() + AGAIN[self.attempts]
            self.attempts += 1
            self.submitted = False
        profile.compiles.append(
            {
                "kernel": "loop",
                "seconds": round(time.perf_counter() - began, 3),
                "reason": reason,
                "symbolic": False,
                "outcome": "compiled" if run is not None else "failed" if again else "not compiled",
                "failure": "" if failure is None else str(failure),
            }
        )

    def __call__(
        self, given: list[Any], carry: list[Any], ys: list[Any], begin: int, end: int, length: int
    ) -> tuple[int, list[Any]]:
        """Run the machine code; how far it came, and the carry."""
        assert self.source is not None
        start = time.perf_counter()
        carry = [np.array(c, order="C") for c in carry]
        try:
            room = self.spaces.pop()
        except IndexError:
            room = self.room()
        space, python = room
        arrays = [*[np.asarray(x, order="C") for x in given], *self.source.arrays, *carry, *ys, space]
        objects, site = build.objects(arrays), None if python is None else id(python)
        n = begin
        while n < end:  # some steps at a time, and signal handlers between
            began, stop = time.perf_counter(), min(end, n + self.steps)
            n = self.run(objects, n, stop, length, site)
            if n < stop:  # the condition does not hold any more
                break
            seconds = time.perf_counter() - began
            if seconds > LATE:
                self.steps = max(1, self.steps // 4)
            elif seconds < EARLY:
                self.steps = min(self.steps * 4, 1 << 40)
        if space.size <= KEPT and not self.spaces:
            self.spaces.append(room)
        profile.compiled += 1
        profile.compiled_seconds += time.perf_counter() - start
        return n, carry


class Sites:
    """What Python computes in the middle of machine code: views of the workspace, and what to do with them. It is
    called with the number of a step; what that raises ends the machine code."""

    def __init__(self, sites: Sequence[Site], space: Any) -> None:
        start = -build.address(space) % 64

        def view(at: int, shape: tuple[int, ...], dtype: str) -> Any:
            return np.ndarray(shape, dtype, space.data, start + at)

        self.steps = [(s.call(), [view(*a) for a in s.args], [view(*o) for o in s.outs]) for s in sites]

    def __call__(self, k: int) -> None:
        call, args, outs = self.steps[k]
        token = ERRORS.set(SILENT)
        try:
            made = call(*args)
        finally:
            ERRORS.reset(token)
        for out, x in zip(outs, made if type(made) in (tuple, list) else (made,)):
            out[...] = x


def machine_of(f: Function, key: Any, program: Callable[[], Loop]) -> Machine:
    of = machines.get(f)
    if of is None:
        of = machines.setdefault(f, {})
    found = of.get(key)
    return of.setdefault(key, Machine(program)) if found is None else found


def wait(timeout: float | None = None) -> bool:
    """Block until the loops that are being built are done; whether all are."""
    return build.builder.wait(timeout)


def as_arrays(f: Function, args: Sequence[Any], first: int = 0) -> list[Any]:
    """Arguments in the dtypes of a body's inputs from `first` on: scalars come as Python's or NumPy's."""
    return [
        x if type(x) is np.ndarray else np.asarray(x).astype(n.dtype, copy=False)
        for x, n in zip(args, f.inputs[first:])
    ]


class Loops:
    """The engine of `ops.control`."""

    def scan(
        self, args: Sequence[Any], *, body: Function, n_consts: int, n_carry: int, reverse: bool, length: int
    ) -> tuple[Any, ...]:
        consts = as_arrays(body, args[:n_consts])
        carry = as_arrays(body, args[n_consts : n_consts + n_carry], n_consts)
        xs = [np.asarray(x) for x in args[n_consts + n_carry :]]
        ys = [np.empty((length, *n.shape), n.dtype) for n in body.outputs[n_carry:]]
        key = (n_consts, n_carry, reverse)
        machine = machine_of(body, key, lambda: scan_program(body, n_consts, n_carry, reverse))
        t = 0
        if machine.run is None and length:
            run, began = runner(body), time.perf_counter()
            for t in range(1, length + 1):
                i = length - t if reverse else t - 1
                out = run([*consts, *carry, *[x[i, ...] for x in xs]])
                carry = out[:n_carry]
                for y, value in zip(ys, out[n_carry:]):
                    y[i] = value
                if t % LOOK == 0:
                    now = time.perf_counter()
                    machine.charge(now - began)
                    began = now
                    if machine.run is not None:
                        break
            machine.charge(time.perf_counter() - began)
        if t < length:
            _, carry = machine([*consts, *xs], carry, ys, t, length, length)
        return (*[np.asarray(c) for c in carry], *ys)

    def while_(
        self, args: Sequence[Any], *, cond: Function, body: Function, n_cond: int, n_body: int
    ) -> tuple[Any, ...]:
        reads = as_arrays(cond, args[:n_cond])
        consts = as_arrays(body, args[n_cond : n_cond + n_body])
        state = as_arrays(body, args[n_cond + n_body :], n_body)
        machine = machine_of(body, (cond, n_cond, n_body), lambda: while_program(cond, body, n_cond, n_body))
        if machine.run is None:
            test, step, began, t = runner(cond), runner(body), time.perf_counter(), 0
            while test([*reads, *state])[0]:
                state = step([*consts, *state])
                t += 1
                if t % LOOK == 0:
                    now = time.perf_counter()
                    machine.charge(now - began)
                    began = now
                    if machine.run is not None:
                        break
            machine.charge(time.perf_counter() - began)
        if machine.run is not None:
            _, state = machine([*reads, *consts], state, [], 0, 1 << 62, 0)
        return tuple([np.asarray(x) for x in state])

    def cond(self, args: Sequence[Any], *, branches: tuple[Function, ...]) -> tuple[Any, ...]:
        f = branches[int(args[0])]
        return tuple([np.asarray(x) for x in runner(f)(as_arrays(f, args[1:]))])


waits.append(wait)
control.engine = Loops()
