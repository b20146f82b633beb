"""Kernels and their tiers: interpreted at first, compiled when they have cost more than compiling is worth.

A kernel is compiled for its first sizes as they are; operands that lie in memory in the same way but have other sizes
share one more form, with symbolic sizes.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import threading
import time
from collections.abc import Callable, Sequence
from math import inf, prod
from typing import Any

import numpy as np

from ..backends.kernel import KernelSpec
from ..backends.numpy.blocked import Program
from ..backends.support import CORES, ITEMSIZE, code_of, compilable
from ..bounded import Bounded
from ..config import config
from ..threads import at_fork
from .chain import Chain
from .geometry import Collapsed, collapse, is_degenerate
from .pool import pool
from .profile import profile

FORMS_KEPT = 512
REPEATED = 16  # times that an operand is read: a column of a matrix is better copied than read with gaps each time
DONE = object()
LARGE = 1 << 18  # elements of a kernel that is worth a place in a chain
HASTE = 1e-6  # of `compile_after`, for a kernel of a jitted function
LONG = 0.5  # seconds of CPU time of a process whose next run is worth preparing
WARM, AT_EXIT = 0.01, 16  # seconds that a kernel has cost, and kernels, to compile after the end
RETRY = 2.0  # seconds until a kernel that could not be handed to the compiler is again
KERNELS_KEPT = 2048
ALONE, BESIDE = 3, 6  # calls of new machine code that are timed: after the interpreter's, and in turns with it
FIRST = 2  # calls of the interpreter before those of machine code that was made when nobody compared it
SHORTEST, MANY = 2e-4, 1 << 15  # seconds in the interpreter, and elements, of a call that is compared
VECTOR = 16  # elements of the longest one, of float32
MARGIN = 1.25  # machine code may take so much longer: in a chain it is faster than alone
REST = 0.5  # seconds for which machine code that was slower is not used, the first time
INTERPRETED, COMPILED, TIMED = "interpreted", "compiled", "timed"
kernels: Bounded[KernelSpec, Kernel] = Bounded(KERNELS_KEPT)
waits: list[Callable[[float | None], bool]] = []  # for what else is compiled: `compile_wait` calls them
lock = threading.RLock()  # of new kernels


@functools.cache
def client() -> Any:
    """The compiler's client: loaded when the first kernel is worth a look at the artifact cache."""
    made = importlib.import_module("lazynp.backends.compiler").CompilerClient()
    made.at_exit = submit_warm
    return made


def free_cores() -> int:
    """Cores for the interpreter: all, but one while kernels are being compiled."""
    return CORES - 1 if CORES > 1 and client.cache_info().currsize and client().pending else CORES


class Race:
    """Which tier a kernel is faster in, once there is machine code: that, or the interpreter, as where NumPy's loops
    know more of the processor than the compiler does.

    The first calls of the machine code are timed beside what the interpreter took before, for as many elements. Only if
    that was less do both take turns, so that what else the machine is doing slows both down. Where the machine code
    loses, the interpreter is used for a while, and then both take turns again, after longer and longer times: a
    machine that was busy is no reason for good. Times are the least of several, and short ones, of which calling is a
    part, say nothing. What was compiled when a process ended was compared by none: the interpreter comes first then.

    Attributes: n: elements of the calls that are compared. interpreted, compiled: the least seconds of one, in each
    tier. calls: how many of the machine code are still to come; turns: whether those of the interpreter lie between
    them; waits: whether the next is one of those. rest: seconds for which machine code that lost is not used; until:
    when that ends, by time.monotonic; None where it has not lost. first: how many calls are the interpreter's before
    any of the machine code.
    """

    __slots__ = ("n", "interpreted", "compiled", "calls", "turns", "waits", "rest", "until", "first")

    def __init__(self, doubted: bool, untried: bool = False) -> None:
        """`doubted`: it lost in another process; `untried`: it was compared in none."""
        self.first = FIRST if untried else 0
        self.n, self.interpreted, self.compiled = 0, inf, inf
        self.calls, self.turns, self.waits = ALONE, False, False
        self.rest, self.until = REST, 0.0 if doubted else None

    def next(self, n: int) -> str:
        """How a call with n elements is to be made: INTERPRETED, COMPILED or TIMED, which is compiled, too."""
        if self.until is not None:
            if n < MANY or time.monotonic() < self.until:
                return INTERPRETED
            self.begin(n)
        if self.first and n >= MANY:
            self.first -= 1
            return INTERPRETED
        if n != self.n or not self.turns and self.interpreted < SHORTEST:
            return COMPILED
        return INTERPRETED if self.waits else TIMED

    def begin(self, n: int) -> None:
        """Have both take turns with calls of n elements."""
        self.n, self.interpreted, self.compiled, self.calls = n, inf, inf, BESIDE
        self.turns, self.waits, self.until = True, True, None

    def saw_interpreter(self, n: int, seconds: float) -> None:
        """Note what the interpreter took for n elements; the larger calls count."""
        if n > self.n and not self.turns:
            self.n, self.interpreted = n, seconds
        elif n == self.n:
            self.interpreted, self.waits = min(self.interpreted, seconds), False

    def saw_code(self, seconds: float) -> bool | None:
        """Note what the machine code took; whether it has won, once that is known."""
        self.compiled, self.calls, self.waits = min(self.compiled, seconds), self.calls - 1, self.turns
        if self.compiled <= MARGIN * self.interpreted and not (self.turns and self.calls):
            return True
        if not self.calls and not self.turns:
            self.begin(self.n)
        elif not self.calls:
            self.until = time.monotonic() + self.rest
            self.rest *= 4
            return False
        return None


class Form:
    """A kernel for one way in which its operands lie in memory; shared by all sizes where symbolic.

    Attributes:
        compiled: the machine code, once there is some.
        seconds: what the interpreter has cost here.
        asked: whether the compiler was asked.
        after: when it may be asked again after a failure, by time.monotonic.
        refused: whether there will never be any.
        race: with the interpreter; None when it has been decided.
    """

    __slots__ = ("compiled", "seconds", "asked", "after", "refused", "race", "spec", "geometry")

    def __init__(self, spec: KernelSpec, geometry: Any) -> None:
        self.spec, self.geometry = spec, geometry
        self.seconds, self.asked, self.after, self.refused = 0.0, False, 0.0, False
        self.compiled: Any = None
        with contextlib.suppress(Exception):  # what cannot be read is not there
            self.compiled = client().lookup(spec, geometry)
            if self.compiled is not None:
                profile.cache_hits += 1
                self.asked = True
            elif client().status(spec, geometry) == "rejected":
                self.asked = self.refused = True
                self.note(0.0, "found in the artifact cache", "not compiled")
        meta = {} if self.compiled is None else self.compiled.meta
        doubted, untried = "doubted" in meta, meta.get("untried", False)
        self.race: Race | None = Race(doubted, untried) if doubted or untried or self.compiled is None else None

    def interpreted(self, seconds: float, shape: tuple[int, ...]) -> None:
        """Note what a call in the interpreter took, to compare the machine code with it."""
        race = self.race
        if race is not None:
            race.saw_interpreter(prod(shape), seconds)

    def charge(self, seconds: float, hasten: bool) -> None:
        """Note what a call in the interpreter cost; ask for machine code when it has been enough, or (hasten) at
        once."""
        self.seconds += seconds
        enough = not self.asked and self.seconds >= config.compile_after * (HASTE if hasten else 1.0)
        if enough and time.monotonic() >= self.after:
            began = time.perf_counter()
            reason = "part of a jitted function" if hasten else f"{self.seconds:.2f} s in the interpreter"
            try:
                self.asked = True
                client().submit(self.spec, self.geometry, lambda compiled: self.done(compiled, began, reason))
            except BaseException as error:  # no thread, a module that cannot be loaded, Ctrl-C: nobody would answer
                self.asked, self.after = False, time.monotonic() + RETRY
                if not isinstance(error, Exception):
                    raise

    def done(self, compiled: Any, began: float, reason: str) -> None:
        self.compiled = compiled
        again = None if compiled is not None else client().again(self.spec, self.geometry)
        if again is not None:
            self.after, self.asked = again, False
        self.refused = compiled is None and again is None
        outcome = "compiled" if compiled is not None else "failed" if again is not None else "not compiled"
        self.note(time.perf_counter() - began, reason, outcome)

    def judge(self, race: Race, seconds: float) -> None:
        """Note what a call of the machine code took, which rests where the interpreter is faster."""
        won = race.saw_code(seconds)
        if won:
            self.race = None
            client().trust(self.spec, self.geometry)
        elif won is False:
            client().doubt(self.spec, self.geometry)
            self.note(0.0, f"{race.compiled:.2g} s, where the interpreter takes {race.interpreted:.2g}", "rests")

    def note(self, seconds: float, reason: str, outcome: str) -> None:
        """Tell the profile: `reason` is why it was compiled."""
        profile.compiles.append(
            {
                "kernel": client().key(self.spec, self.geometry),
                "seconds": round(seconds, 3),
                "reason": reason,
                "symbolic": self.geometry.symbolic,
                "outcome": outcome,
                "failure": "" if self.compiled is not None else client().reason(self.spec, self.geometry),
            }
        )


class Kernel:
    """One spec: its interpreter program and its compiled forms, by how the operands lie."""

    # `hasten`: the user asked for a compiled function (`jit`); it is compiled without having cost anything.
    # `least`: elements of a call that machine code is worth being made for.
    __slots__ = ("spec", "interpreted", "forms", "exact", "compilable", "weight", "hasten", "least")

    def __init__(self, spec: KernelSpec) -> None:
        self.spec = spec
        self.interpreted: Program | None = None
        refused = compilable(spec)
        self.compilable, self.hasten = refused is None, False
        first = spec.body[0]
        power = len(spec.body) == 1 and code_of(first.op).libm == "pow" and first.dtype in ("float32", "float64")
        self.least = VECTOR if power else 1  # C's function of one number is more accurate than that of a vector
        if refused is not None:
            profile.refused[refused] += 1
        self.forms: dict[
            Any, Form
        ] = {}  # by classes of strides: the symbolic one; by (classes, geometry): the first one
        self.exact: Bounded[Any, tuple[Form, Collapsed]] = Bounded(FORMS_KEPT)
        dtypes = [*spec.inputs, *spec.scalars, *[i.dtype for i in spec.body]]
        self.weight = sum(ITEMSIZE.get(d, 8) for d in spec.inputs) + sum(
            ITEMSIZE.get(dtypes[o], 8) for o in spec.outputs
        )
        profile.kernels += 1

    @property
    def program(self) -> Program:
        """The interpreter's."""
        if self.interpreted is None:
            self.interpreted = Program(self.spec)
        return self.interpreted

    def run(
        self,
        ins: Sequence[Any],
        scalars: Sequence[Any],
        outs: Sequence[Any],
        shape: tuple[int, ...],
        chain: Chain | None = None,
        spared: bool = False,
        call: Call | None = None,
    ) -> None:
        """Compute outs, or let the call wait in a chain. Inputs broadcast to shape. `spared`: it is not to be compiled
        for what this costs. `call` gets to know what has been done."""
        form, chain, ins = self.compiled(ins, scalars, outs, shape, chain, call)
        if form is DONE:
            return
        if chain is not None:
            chain.settle()
        start = time.perf_counter()
        self.program.run(ins, scalars, outs, shape, config.threads or free_cores(), pool.empty, call)
        seconds = time.perf_counter() - start
        profile.interpreted += 1
        profile.interpreted_seconds += seconds
        if form is not None:
            form.interpreted(seconds, shape)
            if not spared:
                form.charge(seconds, self.hasten)

    def compiled(
        self,
        ins: Sequence[Any],
        scalars: Sequence[Any],
        outs: Sequence[Any],
        shape: tuple[int, ...],
        chain: Chain | None,
        call: Call | None,
    ) -> Any:
        """The same by machine code, where there is some: (DONE, ...); else (the form that there may be some of or None,
        the chain that has to be settled or None, the inputs)."""
        start = time.perf_counter()
        n = 1
        for d in shape:
            n *= d
        if chain is not None and n < LARGE:
            chain.settle()
            chain = None
        profile.elements += n
        profile.bytes += n * self.weight
        if chain is None or not chain.kept:  # whose calls may be to write what would be copied
            ins = [x if x.flags.c_contiguous or x.size * REPEATED > n else np.ascontiguousarray(x) for x in ins]
        form = None
        if self.compilable and n >= self.least and config.compile and not config.deterministic:
            key = (shape, *[x.strides for x in ins], *[x.shape for x in ins], *[x.strides for x in outs])
            found = self.exact.get(key) or self.exact.recall(key)
            if found is None:
                found = self.find(key, ins, outs, shape)
            form, how = found
            code, race = form.compiled, form.race
            tier = COMPILED if race is None or code is None else race.next(n)
            if tier is TIMED and chain is not None:  # in which it would be done later
                chain.settle()
                chain = None
            if code is not None and tier is not INTERPRETED:
                args = [
                    x if x.shape == s else x.reshape(s) if t is None else x[t].reshape(s)
                    for x, t, s in zip((*ins, *outs), how.trims, how.shapes)
                ]
                if chain is not None and chain.pointer is None:
                    chain.open(code, client().threads)
                pointer = None
                if chain is not None:
                    pointer = chain.pointer
                    chain.kept.append(args)
                done = None if call is None else call.done
                if code(args[: len(ins)], scalars, args[len(ins) :], pointer, done):
                    seconds = time.perf_counter() - start
                    profile.compiled += 1
                    profile.compiled_seconds += seconds
                    if race is not None and tier is TIMED:
                        form.judge(race, seconds)
                    return DONE, None, ins
        return form, chain, ins

    def find(self, key: Any, ins: Sequence[Any], outs: Sequence[Any], shape: tuple[int, ...]) -> tuple[Form, Collapsed]:
        """The form for operands that lie like these."""
        how = collapse(self.spec, ins, outs, shape)
        if is_degenerate(how.spec):
            how = how._replace(spec=self.spec)
            form = Form.__new__(Form)
            form.spec, form.geometry, form.seconds, form.compiled = self.spec, how.geometry, 0.0, None
            form.asked, form.refused, form.after, form.race = True, True, 0.0, None
        else:
            first = self.forms.get(how.classes)
            if first is None or first.geometry == how.geometry:
                form = first or self.forms.setdefault(how.classes, Form(how.spec, how.geometry))
            else:
                name = (how.classes, how.spec)
                form = self.forms.get(name) or self.forms.setdefault(
                    name, Form(how.spec, how.geometry._replace(symbolic=True))
                )
        return self.exact.keep(key, (form, how))


class Call:
    """A call of a kernel whose results overwrite operands: what has been done is known, whenever an exception comes.

    Attributes:
        done: holds a 0 once compiled code has done it, or a chain has taken it.
        work: of the interpreter, once it has begun.
    """

    __slots__ = ("kernel", "given", "done", "work")

    def __init__(
        self,
        kernel: Kernel,
        ins: list[Any],
        scalars: list[Any],
        outs: list[Any],
        shape: Any,
        chain: Chain | None,
        spared: bool,
    ) -> None:
        self.kernel, self.given = kernel, (ins, scalars, outs, shape, chain, spared)
        self.done: list[int] = []
        self.work: Any = None

    def run(self) -> None:
        self.kernel.run(*self.given, self)

    def finish(self) -> None:
        """Do what has not been done."""
        if self.work is not None:
            self.work.resume()
        elif 0 not in self.done:
            self.run()


def kernel_of(spec: KernelSpec) -> Kernel:
    """The kernel of a spec: one in the process, unless it was forgotten."""
    kernel = kernels.get(spec)
    if kernel is None:
        with lock:
            kernel = kernels.get(spec) or kernels.recall(spec) or kernels.keep(spec, Kernel(spec))
    return kernel


def in_child() -> None:
    """After a fork: the lock may be somebody's who is not here."""
    global lock
    lock = threading.RLock()


at_fork(30, child=in_child)


def submit_warm() -> None:
    """At the end of the process: have compiled what has cost a little, so that the next run of the program is hot."""
    if not config.compile_at_exit or time.process_time() < LONG:
        return
    forms = {id(f): f for k in kernels.everything() for f in list(k.forms.values())}
    warm = sorted([f for f in forms.values() if not f.asked and f.seconds >= WARM], key=lambda f: -f.seconds)
    for form in warm[:AT_EXIT]:
        form.asked = True
        client().submit(form.spec, form.geometry)


def compile_wait(timeout: float | None = None) -> bool:
    """Block until all that is being compiled is done, or `timeout` seconds have passed; whether all is done."""
    end = None if timeout is None else time.monotonic() + timeout
    todo = [client().wait, *waits] if client.cache_info().currsize else waits
    return all([wait(None if end is None else max(0.0, end - time.monotonic())) for wait in todo])
