"""Kernels and their tiers: interpreted at first, compiled when they have cost more than compiling is worth."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from typing import Any

from ..backends.numpy.blocked import Program
from ..config import config
from ..graph.kernel import KernelSpec
from .pool import pool
from .profile import profile

CORES = os.cpu_count() or 1
kernels: dict[KernelSpec, Kernel] = {}
lock = threading.Lock()


class Kernel:
    """One spec: its interpreter program, what it has cost, and its compiled forms."""

    __slots__ = ("spec", "program", "seconds", "calls", "forms", "tier")

    def __init__(self, spec: KernelSpec) -> None:
        self.spec, self.program = spec, Program(spec)
        self.seconds, self.calls = 0.0, 0
        self.forms: Any = None
        self.tier = 0

    def run(self, ins: Sequence[Any], scalars: Sequence[Any], outs: Sequence[Any], shape: tuple[int, ...]) -> None:
        start = time.perf_counter()
        self.program.run(ins, scalars, outs, shape, config.threads or CORES, pool.empty)
        self.seconds += time.perf_counter() - start
        self.calls += 1
        profile.interpreted += 1


def kernel_of(spec: KernelSpec) -> Kernel:
    """The kernel of a spec: one in the process."""
    kernel = kernels.get(spec)
    if kernel is None:
        with lock:
            kernel = kernels.setdefault(spec, Kernel(spec))
    return kernel
