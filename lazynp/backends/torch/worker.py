"""The compiler process: kernels come in through stdin, shared objects go out into the artifact cache.

One per main process, started by `backends.compiler` on the first kernel that is worth compiling. It runs at low
priority in a session of its own, so that Ctrl-C does not reach it. When stdin closes it finishes what it has been
given, for a minute at most: the next process profits. Messages are pickles, one after the other.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import queue
import sys
import tempfile
import threading
import time
from typing import Any, BinaryIO, NamedTuple

from lazynp.backends.artifacts import Artifacts
from lazynp.backends.kernel import Geometry, KernelSpec
from lazynp.backends.support import compilable
from lazynp.backends.torch import build, complex, planar, source, trace, wrapper

GRACE = 60.0  # seconds to finish the queue after stdin has closed
NICE = 15  # of the compiler process, to the scheduler
BUSY = 0.05  # seconds between looks at a kernel that another process is compiling


class Job(NamedTuple):
    number: int
    key: str
    spec: KernelSpec
    geometry: Geometry
    private: str  # folder for the result where the cache cannot take it


def translate(spec: KernelSpec, geometry: Geometry) -> tuple[str, dict[str, Any]]:
    """The C++ source and what the main process has to know. Raises where there is none."""
    reason = compilable(spec)
    if reason is not None:
        raise wrapper.Unexpected(reason)
    traced = trace.trace(spec, geometry, planar.block(spec, geometry))
    program = wrapper.parse(traced.code, frozenset(traced.symbols))
    text, alias_safe = source.generate(spec, geometry, traced, program)
    return text, {"alias_safe": alias_safe, "guards": [str(g) for g in traced.guards]}


class Worker:
    def __init__(self, folder: str, limit: int, scratch: str) -> None:
        self.cache = Artifacts(folder, limit)
        self.scratch = scratch
        self.tools = build.toolchain()
        trace.install()
        complex.FMA["wanted"] = " fma " in _cpu_flags()
        self.header = build.precompiled(self.tools, self.cache, scratch) if self.tools is not None else ""

    def run(self, job: Job) -> dict[str, Any] | None:
        """The answer, or None while another process is compiling the same kernel."""
        start = time.perf_counter()
        with self.cache.lock(job.key) as mine:
            if not mine:
                return None
            entry = self.cache.get(job.key)
            if entry is not None:
                seconds = time.perf_counter() - start
                return {"outcome": "found", "path": entry.path, "meta": entry.meta, "seconds": seconds}
            return self._compile(job, start)

    def _compile(self, job: Job, start: float) -> dict[str, Any]:
        target = os.path.join(self.scratch, job.key + ".so")
        try:
            if self.tools is None:
                return {"outcome": "no compiler", "path": None, "meta": {"reason": "no C++ compiler"}, "seconds": 0.0}
            text, meta = translate(job.spec, job.geometry)
            traced = time.perf_counter()
            build.build(self.tools, self.header, text, target)
            meta |= {"trace_seconds": traced - start, "build_seconds": time.perf_counter() - traced}
        except Exception as error:  # whatever Inductor does not like: the kernel stays interpreted
            if isinstance(error, (MemoryError, OSError)):
                return {
                    "outcome": "failed",
                    "path": None,
                    "meta": {"reason": _reason(error)},
                    "seconds": time.perf_counter() - start,
                }
            meta = {"reason": _reason(error)}
            self.cache.put(job.key, None, meta)
            return {"outcome": "not compilable", "path": None, "meta": meta, "seconds": time.perf_counter() - start}
        seconds = time.perf_counter() - start
        entry = self.cache.put(job.key, target, meta | {"seconds": seconds})
        if entry is None:
            os.makedirs(job.private, mode=0o700, exist_ok=True)
            path = os.path.join(job.private, job.key + ".so")
            os.replace(target, path)
            return {"outcome": "compiled", "path": path, "meta": meta, "seconds": seconds}
        os.unlink(target)
        return {"outcome": "compiled", "path": entry.path, "meta": entry.meta, "seconds": seconds}


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:600]}"


def _cpu_flags() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next((line + " " for line in file if line.startswith("flags")), "").replace("\n", " ")
    except OSError:
        return ""


def _read(stream: BinaryIO, jobs: queue.SimpleQueue) -> None:
    """Jobs from stdin; None at its end."""
    try:
        while True:
            jobs.put(Job(*pickle.load(stream)))
    except (EOFError, OSError, pickle.UnpicklingError):
        jobs.put(None)
    time.sleep(GRACE)
    os._exit(0)


def serve(requests: BinaryIO, answers: BinaryIO, folder: str, limit: int) -> None:
    jobs: queue.SimpleQueue = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests, jobs), daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="lazynp-worker-") as scratch:
        worker = Worker(folder, limit, scratch)
        waiting: list[Job] = []
        closed = False
        while not closed or waiting:
            job = None
            if not closed:
                try:
                    job = jobs.get(timeout=BUSY) if waiting else jobs.get()
                    closed = job is None
                except queue.Empty:
                    pass
            elif waiting:
                time.sleep(BUSY)
            todo = [*waiting, job] if job is not None else waiting
            waiting = [j for j in todo if not _answer(worker, j, answers)]


def _answer(worker: Worker, job: Job, answers: BinaryIO) -> bool:
    result = worker.run(job)
    if result is None:
        return False
    try:
        pickle.dump((job.number, result), answers)
        answers.flush()
    except OSError:
        pass  # the main process is gone; the cache has the result
    gc.collect()
    return True


def give_way() -> None:
    """Let the main process have the cores. On Linux a session of its own is a group of its own to the scheduler, within
    which alone `nice` counts: the group is made nice too (see `sched(7)`, autogroup)."""
    os.nice(NICE)
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as group:
        group.write(str(NICE))


def main(folder: str, limit: str) -> None:
    give_way()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a library prints must not end up among the answers
    serve(sys.stdin.buffer, answers, folder, int(limit))
    os._exit(0)
