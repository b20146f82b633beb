"""The compiler process: kernels come in through stdin, shared objects go out into the artifact cache.

One per main process, started by `backends.compiler` on the first kernel that is worth compiling. It runs at low
priority in a session of its own, so that Ctrl-C does not reach it. When the main process ends it says so (`END`), and
this one finishes what it has been given, for a minute at most: the next process profits. When stdin closes without that
word the main process was killed, and this one finishes only what it has begun. Messages are pickles, one after the
other.

Temporary files, Inductor's too, lie in a scratch folder (`backends.folders`), which goes with the process.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import gc
import importlib
import os
import pickle
import queue
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

from lazynp.backends import folders
from lazynp.backends.artifacts import Artifacts
from lazynp.backends.gcc import TIRED, BuildError
from lazynp.backends.kernel import Geometry, KernelSpec
from lazynp.backends.torch import build

GRACE = 60.0  # seconds to finish the queue after the end of the main process
KILLED = 10.0  # seconds to finish what was begun when the main process was killed
AHEAD = 2  # kernels that are lowered and not built
BUSY = 0.05  # seconds between looks at a kernel that another process is compiling
LOOK = 1.0  # seconds between looks at the threads, while there is nothing to do
# Exceptions by which torch and the modules above it say that they have no code for a kernel. Others (no memory, no
# threads, a module that cannot be loaded) say nothing about the kernel.
REFUSALS = (
    "Unexpected",
    "NotImplementedError",
    "LoweringException",
    "InductorError",
    "MissingOperatorWithDecomp",
    "MissingOperatorWithoutDecomp",
    "UnsupportedFakeTensorException",
    "UnsupportedOperatorException",
    "DynamicOutputShapeException",
    "DataDependentOutputException",
    "GuardOnDataDependentSymNode",
    "CppCompileError",
)
SHORTAGE = ("allocate", "out of memory", "new thread", "No space left", "open files", "temporarily")  # in other errors


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

    def __init__(self, cache: Artifacts, answer: Callable[[Job, dict[str, Any]], None]) -> None:
        self.cache = cache
        self.answer = answer
        self.tools = build.toolchain()
        self.header = build.Header(self.tools, self.cache) if self.tools is not None else None
        self.builder = concurrent.futures.ThreadPoolExecutor(1)
        self.pending = threading.Semaphore(AHEAD)
        self.tired = False  # see TIRED

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
                self._compile(job, start, held)
        gc.collect()
        return True

    def _compile(self, job: Job, start: float, held: contextlib.ExitStack) -> None:
        try:
            text, meta = self._translate(job)
        except Exception as error:  # whatever Inductor does not like: the kernel stays interpreted
            lasting = is_refusal(error)
            self.tired = self.tired or not lasting
            return self._failed(job, start, error, lasting)
        self.pending.acquire()
        moved = held.pop_all()
        try:
            self.builder.submit(self._build, job, start, text, meta, moved).add_done_callback(self._built)
        except RuntimeError:  # no more threads
            self._build(job, start, text, meta, moved)

    def _translate(self, job: Job) -> tuple[str, dict[str, Any]]:
        # It loads torch, for seconds; g++ has begun with the header.
        translate = importlib.import_module("lazynp.backends.torch.translate")
        assert self.tools is not None
        return translate.translate(job.spec, job.geometry, self.tools.capability)

    def _build(
        self, job: Job, start: float, text: str, meta: dict[str, Any], held: contextlib.AbstractContextManager
    ) -> None:
        assert self.tools is not None and self.header is not None
        with held:
            try:
                translated = time.perf_counter()
                target = os.path.join(self.cache.scratch_path(), job.key + ".so")
                build.build(self.tools, self.header, text, target)
                seconds = {"trace_seconds": translated - start, "build_seconds": time.perf_counter() - translated}
                path, meta = self._keep(job, target, meta | seconds)
                self._answer(job, start, "compiled", path, meta)
            except Exception as error:
                self._failed(job, start, error, isinstance(error, BuildError) and error.lasting)
            finally:
                self.pending.release()

    def _built(self, build: concurrent.futures.Future[None]) -> None:
        """Where there was no memory even to say what had failed: the end of this process is the answer then."""
        self.tired = self.tired or build.exception() is not None

    def _keep(self, job: Job, target: str, meta: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        entry = self.cache.put(job.key, target, meta | {"untried": True})
        if entry is not None and entry.path is not None:
            return entry.path, entry.meta
        path = os.path.join(job.private, job.key + ".so")
        os.replace(target, path)
        return path, meta

    def _failed(self, job: Job, start: float, error: Exception, lasting: bool) -> None:
        meta = {"reason": f"{type(error).__name__}: {str(error)[:600]}"}
        if lasting:
            self.cache.put(job.key, None, meta)
        self._answer(job, start, "not compilable" if lasting else "failed", None, meta)

    def _answer(self, job: Job, start: float, outcome: str, path: str | None, meta: dict[str, Any]) -> None:
        seconds = time.perf_counter() - start
        self.answer(job, {"outcome": outcome, "path": path, "meta": meta, "seconds": seconds})

    def finish(self) -> None:
        """Wait for what has been begun."""
        self.builder.shutdown()
        if self.header is not None and self.header.thread is not None:
            self.header.thread.join()


def is_refusal(error: BaseException) -> bool:
    """Whether Inductor has no code for a kernel, and would say so again. An error that was caused by a shortage is no
    refusal, whatever it was turned into."""
    refused, seen = False, error
    for _ in range(16):
        if isinstance(seen, (MemoryError, OSError, ImportError, RecursionError, SystemError)):
            return False
        refused = refused or type(seen).__name__ in REFUSALS
        if any(word in str(seen)[:400] for word in SHORTAGE):
            return False
        following = seen.__cause__ or seen.__context__
        if following is None:
            break
        seen = following
    return refused


class Requests:
    """Jobs from stdin, read in a thread, which also sees to it that the process ends.

    Attributes:
        jobs: the jobs; None at their end.
        closed: whether there will be no more. abandoned: whether the main process was killed.
    """

    def __init__(self, stream: BinaryIO, leave: Callable[[], None]) -> None:
        self.stream, self.leave = stream, leave
        self.jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self.closed, self.abandoned = False, True
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        try:
            while (message := pickle.load(self.stream)) is not None:
                self.jobs.put(Job(*message))
            self.abandoned = False
        except BaseException:  # the end of the main process, or of our memory
            pass
        self.closed = True
        self.jobs.put(None)
        time.sleep(KILLED if self.abandoned else GRACE)
        self.leave()

    def next(self, timeout: float) -> Job | None:
        """Raises queue.Empty."""
        try:
            return self.jobs.get(timeout=timeout)
        except queue.Empty:
            if self.thread.is_alive():
                raise
            return None  # which the thread could not say any more


def serve(requests: Requests, answers: BinaryIO, cache: Artifacts) -> int:
    """Compile until the requests end; the exit status."""
    sending = threading.Lock()

    def answer(job: Job, result: dict[str, Any]) -> None:
        with sending, contextlib.suppress(OSError):  # the main process may be gone; the cache has the result
            pickle.dump((job.number, result), answers)
            answers.flush()

    worker = Worker(cache, answer)
    waiting: list[Job] = []
    ended = False
    while (waiting or not ended) and not worker.tired and not (requests.closed and requests.abandoned):
        job = None
        try:
            if ended:
                time.sleep(BUSY)
            else:
                job = requests.next(BUSY if waiting else LOOK)
                ended = job is None
        except queue.Empty:
            pass
        todo = [*waiting, job] if job is not None else waiting
        waiting = [j for j in todo if worker.tired or not worker.run(j)]
    worker.finish()
    return TIRED if worker.tired else 0


def give_way(niceness: int) -> None:
    """Let the main process have the cores. On Linux a session of its own is a group of its own to the scheduler, within
    which alone `nice` counts: the group is made nice too (see `sched(7)`, autogroup)."""
    if not niceness or not hasattr(os, "nice"):
        return
    os.nice(niceness)
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as group:
        group.write(str(niceness))


def settle(cache: Artifacts) -> None:
    """Have torch and the compilers leave their temporary files in the scratch folder."""
    scratch = cache.scratch_path()
    tempfile.tempdir = os.environ["TMPDIR"] = scratch
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(scratch, "inductor")
    os.environ["TRITON_CACHE_DIR"] = os.path.join(scratch, "triton")


def leave(cache: Artifacts, status: int = 0) -> None:
    """End now: compilers that still run, and the scratch folder, go too."""
    with contextlib.suppress(OSError):
        folders.end_users(cache.scratch.path())
    cache.scratch.close()
    os._exit(status)


def main(folder: str, limit: str, niceness: str) -> None:
    give_way(int(niceness))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a library prints must not end up among the answers
    cache, status = Artifacts(folder, int(limit)), 1
    signal.signal(signal.SIGTERM, lambda number, frame: leave(cache, 1))
    try:
        settle(cache)
        status = serve(Requests(sys.stdin.buffer, lambda: leave(cache)), answers, cache)
    except BaseException:  # no memory, no thread, no disk: whoever waits for answers sees the end of them
        traceback.print_exc()
    finally:
        leave(cache, status)
