"""The compiler process: kernels come in through stdin, shared objects go out into the artifact cache.

One per main process, started by `backends.compiler` on the first kernel that is worth compiling. It runs at low
priority in a session of its own, so that Ctrl-C does not reach it. When stdin closes it finishes what it has been
given, for a minute at most: the next process profits. Messages are pickles, one after the other.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import gc
import importlib
import os
import pickle
import queue
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

from lazynp.backends.artifacts import Artifacts
from lazynp.backends.kernel import Geometry, KernelSpec
from lazynp.backends.torch import build

GRACE = 60.0  # seconds to finish the queue after stdin has closed
AHEAD = 2  # kernels that are lowered and not built
BUSY = 0.05  # seconds between looks at a kernel that another process is compiling


class Job(NamedTuple):
    number: int
    key: str
    spec: KernelSpec
    geometry: Geometry
    private: str  # folder for the result where the cache cannot take it


class Worker:
    """Takes kernels one after the other. While g++ builds one, in a thread, Inductor lowers the next: both have Python
    wait for them most of the time, and on two cores a queue of kernels is done in the time that its builds take.
    """

    def __init__(self, folder: str, limit: int, scratch: str, answer: Callable[[Job, dict[str, Any]], None]) -> None:
        self.cache = Artifacts(folder, limit)
        self.scratch = scratch
        self.answer = answer
        self.tools = build.toolchain()
        self.header = build.precompile(self.tools, self.cache, scratch) if self.tools is not None else None
        self.builder = concurrent.futures.ThreadPoolExecutor(1)
        self.pending = threading.Semaphore(AHEAD)

    def run(self, job: Job) -> bool:
        """False while another process is compiling the same kernel. The answer may come later."""
        start = time.perf_counter()
        with contextlib.ExitStack() as held:
            if not held.enter_context(self.cache.lock(job.key)):
                return False
            entry = self.cache.get(job.key)
            if entry is not None:
                self._answer(job, start, "found", entry.path, entry.meta)
            elif self.tools is None:
                self._answer(job, start, "no compiler", None, {"reason": "no C++ compiler"})
            else:
                try:
                    text, meta = self._translate(job)
                except Exception as error:  # whatever Inductor does not like: the kernel stays interpreted
                    self._failed(job, start, error)
                else:
                    self.pending.acquire()
                    self.builder.submit(self._build, job, start, text, meta, held.pop_all())
        gc.collect()
        return True

    def _translate(self, job: Job) -> tuple[str, dict[str, Any]]:
        # It loads torch, for seconds; g++ has begun with the header.
        translate = importlib.import_module("lazynp.backends.torch.translate")
        assert self.tools is not None
        return translate.translate(job.spec, job.geometry, self.tools.capability)

    def _build(
        self, job: Job, start: float, text: str, meta: dict[str, Any], held: contextlib.AbstractContextManager
    ) -> None:
        assert self.tools is not None and self.header is not None
        target = os.path.join(self.scratch, job.key + ".so")
        with held:
            try:
                translated = time.perf_counter()
                build.build(self.tools, self.header, text, target)
                seconds = {"trace_seconds": translated - start, "build_seconds": time.perf_counter() - translated}
                path, meta = self._keep(job, target, meta | seconds)
                self._answer(job, start, "compiled", path, meta)
            except Exception as error:
                self._failed(job, start, error)
            finally:
                self.pending.release()

    def _keep(self, job: Job, target: str, meta: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        entry = self.cache.put(job.key, target, meta)
        if entry is not None and entry.path is not None:
            os.unlink(target)
            return entry.path, entry.meta
        os.makedirs(job.private, mode=0o700, exist_ok=True)
        path = os.path.join(job.private, job.key + ".so")
        os.replace(target, path)
        return path, meta

    def _failed(self, job: Job, start: float, error: Exception) -> None:
        outcome, meta = "failed", {"reason": _reason(error)}
        if not isinstance(error, (MemoryError, OSError)):
            outcome = "not compilable"
            self.cache.put(job.key, None, meta)
        self._answer(job, start, outcome, None, meta)

    def _answer(self, job: Job, start: float, outcome: str, path: str | None, meta: dict[str, Any]) -> None:
        seconds = time.perf_counter() - start
        self.answer(job, {"outcome": outcome, "path": path, "meta": meta, "seconds": seconds})

    def finish(self) -> None:
        """Wait for what has been begun: a g++ that nobody waits for would leave half a header behind."""
        self.builder.shutdown()
        if self.header is not None and self.header.thread is not None:
            self.header.thread.join()


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:600]}"


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
    sending = threading.Lock()

    def answer(job: Job, result: dict[str, Any]) -> None:
        with sending, contextlib.suppress(OSError):  # the main process may be gone; the cache has the result
            pickle.dump((job.number, result), answers)
            answers.flush()

    threading.Thread(target=_read, args=(requests, jobs), daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="lazynp-worker-") as scratch:
        worker = Worker(folder, limit, scratch, answer)
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
            waiting = [j for j in todo if not worker.run(j)]
        worker.finish()


def give_way(niceness: int) -> None:
    """Let the main process have the cores. On Linux a session of its own is a group of its own to the scheduler, within
    which alone `nice` counts: the group is made nice too (see `sched(7)`, autogroup)."""
    if not niceness:
        return
    os.nice(niceness)
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as group:
        group.write(str(niceness))


def main(folder: str, limit: str, niceness: str) -> None:
    give_way(int(niceness))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a library prints must not end up among the answers
    serve(sys.stdin.buffer, answers, folder, int(limit))
    os._exit(0)
