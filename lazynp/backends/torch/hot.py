"""Kernels of a device that have run often enough to be compiled: one pass by Inductor for many by `eager`.

They are compiled in a thread of their own, and run as they are meanwhile. Inductor is called below `torch.compile`,
whose look at the arguments costs more than a small kernel: what a kernel is compiled for, its operands' sizes, strides
and alignment, is its key here. A kernel that comes with ever other sizes is compiled for all of them at last.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from lazynp.backends.kernel import KernelSpec
from lazynp.backends.support import KIND
from lazynp.backends.torch import eager
from lazynp.backends.torch.library import bits
from lazynp.config import config
from lazynp.notices import notify
from lazynp.threads import Jobs
from lazynp.tracebacks import of_a_handler

COST = 0.02  # seconds that a call counts for: `config.compile_after` of them make a kernel worth compiling
MOST_SIZES = 4  # for so many geometries a kernel is compiled; then for any
LAST = 60.0  # seconds for which the end of the process waits, at most, for a compiler's step that cannot break off
ALIGNED = 16  # bytes: what Inductor's code relies on where it finds it


jobs = Jobs("lazynp-device-compiler")
atexit.register(jobs.end, LAST)


def submit(job: Callable[[], object]) -> None:
    """Have something compiled. It stays as it is where there is no thread for that."""
    jobs.submit(job, lambda error: None)


class Kernel:
    """What is known of a kernel on a device.

    Attributes:
        calls: how often it was run. able: whether it can be compiled.
        compiled: geometry -> the function of a list of tensors; None while it is being compiled, or cannot be.
        general: the same of code for any sizes, by which results have no region and the ranks of the tensors.
    """

    def __init__(self, spec: KernelSpec) -> None:
        self.calls = 0
        self.able = not any(KIND[d] == "c" for d in (*spec.inputs, *[i.dtype for i in spec.body]))
        self.compiled: dict[Any, Any] = {}
        self.general: dict[Any, Any] = {}


class Hot:
    """The compiled kernels of a device.

    Attributes:
        enabled: whether anything is compiled; not any more, once it failed.
        told: called with what is to be said of each compilation.
    """

    told: Callable[[dict[str, Any]], None] = staticmethod(lambda event: None)

    def __init__(self, name: str, enabled: bool) -> None:
        self.name, self.enabled = name, enabled
        self.kernels: dict[KernelSpec, Kernel] = {}
        self.wait = jobs.wait

    def wanted(self, spec: KernelSpec) -> Kernel | None:
        """The kernel, if it is worth compiling, now that it is called once more."""
        if not self.enabled or not config.compile:
            return None
        kernel = self.kernels.get(spec)
        if kernel is None:
            kernel = self.kernels[spec] = Kernel(spec)
        kernel.calls += 1
        return kernel if kernel.able and kernel.calls * COST >= config.compile_after else None

    def run(
        self,
        kernel: Kernel,
        spec: KernelSpec,
        operands: Sequence[Tensor],
        constants: Sequence[Tensor],
        regions: Sequence[Tensor | None],
    ) -> list[Tensor | None] | None:
        """The results that have no region to go to, and None for the others; None if there is no code for it yet."""
        into = [bits(r) for r in regions if r is not None]
        tensors = [*operands, *constants, *into]
        free = tuple([r is None for r in regions])
        geometry = (free, *[(x.shape, x.stride(), x.data_ptr() % ALIGNED) for x in tensors])
        try:
            code = kernel.compiled[geometry]
        except KeyError:
            code = self.order(kernel, spec, tensors, len(operands), free, geometry)
        if code is None:
            return None
        try:
            results = iter(code(tensors))
        except torch.OutOfMemoryError:
            return None
        except Exception as error:
            if of_a_handler(error):
                raise
            self.give_up(error)
            return None
        return [next(results) if r is None else None for r in regions]

    def order(
        self,
        kernel: Kernel,
        spec: KernelSpec,
        tensors: Sequence[Tensor],
        n_operands: int,
        free: tuple[bool, ...],
        geometry: Any,
    ) -> Any:
        """Have it compiled. What serves meanwhile: code for any sizes, where there is some, else None."""
        if len(kernel.compiled) >= MOST_SIZES:
            key = (free, *[x.ndim for x in tensors])
            if key not in kernel.general:
                kernel.general[key] = None
                body = pure(spec, n_operands, free, tensors[0].device)
                like = compiler().without_values(tensors)
                submit(lambda: self.compile(kernel, kernel.general, key, body, like, True))
            return kernel.general[key]
        kernel.compiled[geometry] = None
        body = pure(spec, n_operands, free, tensors[0].device)
        like = compiler().without_values(tensors)
        submit(lambda: self.compile(kernel, kernel.compiled, geometry, body, like, False))
        return None

    def compile(
        self, kernel: Kernel, table: dict[Any, Any], key: Any, body: Any, like: list[Tensor], general: bool
    ) -> None:
        """In that thread: code for arguments like these goes into the table."""
        began, failure = time.perf_counter(), ""
        try:
            code = self.code(body, like, general)
            with contextlib.suppress(torch.OutOfMemoryError):  # whose call it is next, will have room or will not
                code(list(map(blank_like, like)))  # kernels are built and tuned by the first call
            table[key] = code
        except Exception as error:
            self.give_up(error)
            failure = str(error)
        self.note("a kernel", began, f"{kernel.calls} calls", failure, general)

    def code(self, body: Any, like: list[Tensor], general: bool) -> Any:
        """Code for a function of tensors like these, or of any sizes."""
        make = compiler().for_any if general else compiler().for_these
        return make(body, like)

    def note(self, what: str, began: float, reason: str, failure: str, general: bool = False) -> None:
        """Say what was compiled."""
        self.told(
            {
                "kernel": f"{what} on {self.name}",
                "seconds": round(time.perf_counter() - began, 3),
                "reason": reason,
                "symbolic": general,
                "outcome": "not compiled" if failure else "compiled",
                "failure": failure,
            }
        )

    def piece(self, make: Callable[[], Any], done: Callable[[Any], None]) -> None:
        """Have something else made in that thread. That there is no making it, is no fault of the compiler's."""

        def job() -> None:
            began, failure = time.perf_counter(), ""
            try:
                done(make())
            except Exception as error:
                failure = f"{type(error).__name__}: {error}"
            self.note("a graph", began, "as one piece", failure)

        submit(job)

    def give_up(self, error: Exception) -> None:
        """Compile nothing any more, and say so once."""
        if not self.enabled:
            return
        self.enabled = False
        self.kernels.clear()
        reason = str(error).strip().split("\n")[0]
        notify(f"kernels are not compiled on {self.name}: {type(error).__name__}: {reason}", UserWarning)


@functools.cache
def compiler() -> Any:
    """The module that calls Inductor. It is loaded by who first wants something compiled, and not by the thread: what
    torch warns of there concerns nobody, and filters of warnings are the process's, not a thread's."""
    with warnings.catch_warnings(action="ignore"):
        return importlib.import_module("lazynp.backends.torch.inductor")


def pure(
    spec: KernelSpec, n_operands: int, free: tuple[bool, ...], device: torch.device
) -> Callable[..., list[Tensor]]:
    """The kernel as a function of tensors: operands, constants, and the regions to which results go that are not
    free."""
    n_given = n_operands + len(spec.scalars)

    def run(*tensors: Tensor) -> list[Tensor]:
        found = eager.evaluate(spec, tensors[:n_operands], tensors[n_operands:n_given], device)
        places = iter(tensors[n_given:])
        for x, is_free in zip(found, free):
            if not is_free:
                next(places).copy_(bits(x))
        return [x for x, is_free in zip(found, free) if is_free]

    return run


def blank_like(x: Tensor) -> Tensor:
    """A tensor of that geometry, with that alignment, which nobody else has; x has no values."""
    skipped = int(x.storage_offset()) % (ALIGNED // x.element_size())
    size = 1 + sum([(n - 1) * s for n, s in zip(x.shape, x.stride())]) if x.numel() else 0
    memory = torch.zeros(size + skipped, dtype=x.dtype, device=x.device)
    return memory.as_strided(x.shape, x.stride(), skipped)
