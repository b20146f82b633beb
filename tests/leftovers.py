"""What a run of the tests takes and leaves: memory of each test process, processes and temporary files at its end.

A run fails in which a test process grew beyond PEAK bytes, or that leaves a process or a temporary file behind.
All of it is read from Linux's /proc; where there is none, nothing is said.
"""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lazynp
from lazynp.backends import compiler

PEAK = 2_000_000_000  # bytes of memory that a test process may have at a time
FULL = 900_000_000  # bytes, at which JAX's compiled functions are dropped
GROWN = 200_000_000  # bytes more than were left by the last time, before they are dropped again
RUN = "LAZYNP_TEST_RUN"  # the run to which a process belongs, in its environment
PATIENCE = 90.0  # seconds for what ends by itself: a compiler process finishes its queue, for a minute at most
# Torch's own cache, that of NumPy's property tests, and Python's helper, which ends when this process does.
OTHERS = ("torchinductor_", ".hypothesis", "multiprocessing.resource_tracker")
PROC = Path("/proc")


def memory(field: str, pid: int | str = "self") -> int:
    """Bytes: `VmRSS`, what a process has, or `VmHWM`, the most that it ever had. `ru_maxrss` is no substitute for the
    latter, since it begins with what the parent had. 0 where it cannot be told."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as lines:
        for line in lines:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return 0


def let_go() -> None:
    """Drop what JAX, the oracle, has compiled, some hundred kilobytes for each function and shape, for ever; and what
    lazynp keeps for arrays to come."""
    jax = sys.modules.get("jax")
    if jax is not None:
        jax.clear_caches()
    gc.collect()
    lazynp.free_memory()


def processes(run: str) -> Iterator[tuple[int, str]]:
    """Those of a run, apart from this one: number and command line."""
    mark = f"{RUN}={run}".encode()
    for folder in PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (folder / "environ").read_bytes().split(b"\0") and int(folder.name) != os.getpid():
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
                if not any(other in command for other in OTHERS):
                    yield int(folder.name), command


class Leftovers:
    """The plugin. One process begins a run, and looks after it at its end: the one that pytest-xdist's others obey."""

    def __init__(self, config: pytest.Config) -> None:
        self.worker: dict[str, Any] | None = getattr(config, "workeroutput", None)
        self.peaks: dict[str, tuple[int, str]] = {}  # by process: bytes, and the test in which it had them
        self.peak = (0, "")
        self.left: list[str] = []
        self.outside = tempfile.gettempdir()
        self.kept = 0  # bytes, after JAX's functions were dropped last
        if self.worker is None:  # this process begins the run
            self.run = f"{os.getpid()}-{os.urandom(4).hex()}"
            self.folder = tempfile.mkdtemp(prefix="lazynp-tests-")
            os.environ[RUN] = self.run
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", self.outside)  # what failing tests made is there afterwards
            os.environ["TMPDIR"] = tempfile.tempdir = self.folder

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        if (most := memory("VmHWM")) > self.peak[0]:
            self.peak = most, item.nodeid
        if memory("VmRSS") > max(FULL, self.kept + GROWN):
            let_go()
            self.kept = memory("VmRSS")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.peaks[node.gateway.id] = getattr(node, "workeroutput", {}).get("peak", (0, ""))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.worker is not None:
            self.worker["peak"] = self.peak
            return
        self.peaks["this process"] = max(self.peak, (memory("VmHWM"), ""))
        for client in list(compiler._clients):
            client.shutdown()
        self.look(time.monotonic() + PATIENCE)
        if session.exitstatus == 0 and (self.left or max(self.peaks.values())[0] > PEAK):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def look(self, end: float) -> None:
        """What is left of the run, when it has had its time."""
        while (found := list(processes(self.run))) and time.monotonic() < end:
            time.sleep(0.1)
        left = [f"process {pid}: {command[:200]}" for pid, command in found]
        left += [f"temporary file: {path.name}" for path in sorted(Path(self.folder).iterdir())]
        self.left = [what for what in left if not any(other in what for other in OTHERS)]
        shutil.rmtree(self.folder, ignore_errors=True)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for name, (peak, test) in sorted(self.peaks.items()):
            wrong = f"; it may take {PEAK / 1e9:.1f} GB" if peak > PEAK else ""
            where = f", in {test}" if test else ""
            terminalreporter.write_line(f"peak memory of {name}: {peak / 1e6:.0f} MB{where}{wrong}", red=bool(wrong))
        for line in self.left:
            terminalreporter.write_line(f"the tests left behind: {line}", red=True)
