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
from typing import Any

import numpy as np

from ..backends.kernel import KernelSpec
from ..backends.numpy.blocked import Program
from ..backends.support import CORES, ITEMSIZE, compilable
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
SHORT = 4  # operations of a kernel with a division that NumPy does faster: the rest is worth compiling beyond
RETRY = 2.0  # seconds until a kernel that could not be handed to the compiler is again
KERNELS_KEPT = 2048
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


class Form:
    """A kernel for one way in which its operands lie in memory; shared by all sizes where symbolic.

    Attributes:
        compiled: the machine code, once there is some.
        seconds: what the interpreter has cost here.
        asked: whether the compiler was asked.
        after: when it may be asked again after a failure, by time.monotonic.
        refused: whether there will never be any.
    """

    __slots__ = ("compiled", "seconds", "asked", "after", "refused", "spec", "geometry")

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


def of_little_gain(spec: KernelSpec) -> str | None:
    """Why a kernel stays with the interpreter though it could be compiled: NumPy divides whole numbers by one number
    with multiplications, at the speed of memory, which code for any divisor does not reach."""
    numbers = range(len(spec.inputs), len(spec.inputs) + len(spec.scalars))
    divides = any(
        [i.op == "floor_divide" and i.dtype.lstrip("u")[:3] == "int" and i.args[1] in numbers for i in spec.body]
    )
    return "NumPy is faster: floor_divide by one number" if divides and len(spec.body) <= SHORT else None


class Kernel:
    """One spec: its interpreter program and its compiled forms, by how the operands lie."""

    # `hasten`: the user asked for a compiled function (`jit`); it is compiled without having cost anything.
    __slots__ = ("spec", "interpreted", "forms", "exact", "compilable", "weight", "hasten")

    def __init__(self, spec: KernelSpec) -> None:
        self.spec = spec
        self.interpreted: Program | None = None
        refused = compilable(spec) or of_little_gain(spec)
        self.compilable, self.hasten = refused is None, False
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
        if form is not None and not spared:
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
        if self.compilable and n and config.compile and not config.deterministic:
            key = (shape, *[x.strides for x in ins], *[x.shape for x in ins], *[x.strides for x in outs])
            found = self.exact.get(key) or self.exact.recall(key)
            if found is None:
                found = self.find(key, ins, outs, shape)
            form, how = found
            if form.compiled is not None:
                args = [
                    x if x.shape == s else x.reshape(s) if t is None else x[t].reshape(s)
                    for x, t, s in zip((*ins, *outs), how.trims, how.shapes)
                ]
                if chain is not None and chain.pointer is None:
                    chain.open(form.compiled, client().threads)
                pointer = None
                if chain is not None:
                    pointer = chain.pointer
                    chain.kept.append(args)
                done = None if call is None else call.done
                if form.compiled(args[: len(ins)], scalars, args[len(ins) :], pointer, done):
                    profile.compiled += 1
                    profile.compiled_seconds += time.perf_counter() - start
                    return DONE, None, ins
        return form, chain, ins

    def find(self, key: Any, ins: Sequence[Any], outs: Sequence[Any], shape: tuple[int, ...]) -> tuple[Form, Collapsed]:
        """The form for operands that lie like these."""
        how = collapse(self.spec, ins, outs, shape)
        if is_degenerate(how.spec):
            how = how._replace(spec=self.spec)
            form = Form.__new__(Form)
            form.spec, form.geometry, form.seconds, form.compiled = self.spec, how.geometry, 0.0, None
            form.asked, form.refused, form.after = True, True, 0.0
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
