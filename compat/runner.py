"""Runs test modules in worker processes, several at a time, each with limits; what they write are the results.

`results/<mode>/<module>.jsonl` has a line for each test. A worker that dies or hangs is started again for the tests
that are left.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

from . import scope

HERE = pathlib.Path(__file__).parent
RESULTS = pathlib.Path(os.environ.get("LAZYNP_COMPAT_RESULTS", HERE / "results"))
# Nothing is compiled in graph and strict: when a kernel is ready, and so which tier a test sees, is a matter of time.
MODES = {
    "numpy": {},
    "auto": {"LAZYNP_MODE": "auto"},
    "graph": {"LAZYNP_MODE": "graph", "LAZYNP_COMPILE": "0"},
    "strict": {"LAZYNP_MODE": "graph", "LAZYNP_COMPILE": "0"},  # the worker makes the tests themselves strict
}
MODULE_SECONDS = 1200
RESTARTS = 30  # of one module's worker


def path_of(mode: str, module: str) -> pathlib.Path:
    return RESULTS / mode / (module.removesuffix(".py").replace("/tests/", "/").replace("/", ".") + ".jsonl")


def rows(mode: str, module: str) -> list[dict[str, Any]]:
    """What was written about a module; empty where it has not been run."""
    path = path_of(mode, module)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def finished(mode: str, module: str) -> bool:
    return any("finished" in row for row in rows(mode, module))


def seconds(module: str) -> float:
    """How long the module took under NumPy: for the order of starting, and for nothing else."""
    return max([row["finished"] for row in rows("numpy", module) if "finished" in row], default=10.0)


@dataclass
class Job:
    """A module in a mode, and its worker."""

    mode: str
    module: str
    process: subprocess.Popen[bytes] | None = None
    begun: float = 0.0
    starts: int = 0
    log: pathlib.Path = field(default_factory=pathlib.Path)

    def start(self, scratch: pathlib.Path) -> None:
        path = path_of(self.mode, self.module)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not self.starts:
            path.write_text("")
        folder = scratch / f"{self.mode}-{path.stem}"
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "log"
        env = {
            **os.environ,
            **MODES[self.mode],
            "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(HERE.parent)])),
            "PYTHONHASHSEED": "0",
            "NPY_AVAILABLE_MEM": "3 GB",
            "LAZYNP_CACHE_DIR": str(scratch / "cache"),
            "LAZYNP_COMPILE_AT_EXIT": "0",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "LC_ALL": "C.UTF-8",
        }
        env.pop("LAZYNP_SMALL", None)
        command = [sys.executable, "-m", "compat.worker", self.mode, self.module, str(path)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self.begun, self.starts = time.monotonic(), self.starts + 1

    def done(self, scratch: pathlib.Path) -> bool:
        """Whether the module is finished; a worker that died is started again."""
        assert self.process is not None
        late = time.monotonic() - self.begun > MODULE_SECONDS
        if self.process.poll() is None and not late:
            return False
        if late:
            kill(self.process)
        if finished(self.mode, self.module):
            return True
        self.blame("timed out" if late else f"crashed ({self.process.returncode})")
        if self.starts > RESTARTS:
            self.write(finished=0.0, status=-1)
            return True
        self.start(scratch)
        return False

    def blame(self, outcome: str) -> None:
        """Give the test that was running its outcome; a worker that has run none is not tried again."""
        mine = rows(self.mode, self.module)
        ended = {row["test"] for row in mine if "test" in row}
        running = [row["start"] for row in mine if "start" in row and row["start"] not in ended]
        if running:
            self.write(test=running[-1], outcome="crashed", text=outcome, seconds=0.0, arrays=1, calls=0, recorded=0)
        else:
            tail = self.log.read_text(errors="replace")[-2000:]
            self.write(collect_error=f"{outcome}\n{tail}", finished=0.0, status=-1)
            self.starts = RESTARTS + 1

    def write(self, **row: Any) -> None:
        with path_of(self.mode, self.module).open("a") as file:
            file.write(json.dumps(row) + "\n")


def kill(process: subprocess.Popen[bytes]) -> None:
    """The worker, with what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, 9)
    process.wait()


def run(mode: str, modules: list[str], jobs: int, again: bool = True) -> None:
    """Run the modules in a mode, and before that under NumPy those of which no baseline is there."""
    todo = [Job("numpy", m) for m in modules if not finished("numpy", m)]
    todo += [Job(mode, m) for m in modules if mode != "numpy" and (again or not finished(mode, m))]
    todo.sort(key=lambda job: seconds(job.module), reverse=jobs > 1)  # several at a time: the longest first
    total, running, begun = len(todo), list[Job](), time.monotonic()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="lazynp-compat-"))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the workers are ended too
    try:
        while todo or running:
            while todo and len(running) < jobs:
                job = todo.pop(0)
                job.start(scratch)
                running.append(job)
            time.sleep(0.1)
            for job in [j for j in running if j.done(scratch)]:
                running.remove(job)
                show(job, total - len(todo) - len(running), total, time.monotonic() - begun)
    finally:
        for job in running:
            if job.process is not None:
                kill(job.process)
        shutil.rmtree(scratch, ignore_errors=True)


def show(job: Job, number: int, total: int, elapsed: float) -> None:
    tests = [row for row in rows(job.mode, job.module) if "test" in row]
    passed = sum(row["outcome"] == "passed" for row in tests)
    bad = sum(row["outcome"] in ("failed", "error", "crashed") for row in tests)
    print(
        f"{elapsed:6.0f} s  {number:3d}/{total}  {job.mode:6s} {job.module:48s} {passed:6d} passed {bad:5d} failed",
        flush=True,
    )


__all__ = ["MODES", "RESULTS", "path_of", "rows", "run", "scope"]
