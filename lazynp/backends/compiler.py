"""The main process's side of the compiler: look compiled kernels up, have them compiled in the background, call them.

Nothing here imports torch. `CompilerClient` talks to one compiler process (`backends.torch.worker`) through pipes; what
it compiles lies in the artifact cache (`backends.artifacts`) as a plain shared object, which `ctypes` loads in about a
millisecond. Whatever goes wrong on the way, a kernel is "not compiled" and stays with the interpreter: no error reaches
the user.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import importlib.util
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from lazynp.backends import artifacts
from lazynp.backends.artifacts import Artifacts
from lazynp.backends.compiled import Compiled, threads
from lazynp.backends.gcc import TIRED
from lazynp.backends.kernel import Geometry, KernelSpec
from lazynp.backends.support import CORES, compilable
from lazynp.bounded import Bounded
from lazynp.config import config
from lazynp.notices import notify
from lazynp.threads import Helper

RESTARTS = 3  # times that a compiler process that died is replaced, with no kernel compiled in between
REST = 30.0  # seconds without another one after that; four times as long each time
AGAIN = (2.0, 15.0)  # seconds until a kernel that failed for no reason of its own is tried again; then no more
LOOK = 0.5  # seconds between looks at the compiler by one who waits for it
SILENCE = 900.0  # seconds after which a compiler that does not answer is taken for dead: g++ may take 300
ENDING = 2.0  # seconds that a process which has closed its answers may take to end
FLUSH = 0.5  # seconds at exit to hand the compiler what it has not read yet
KEYS_KEPT = 2048  # names of kernels and the ways in which their operands lie
ATTEMPTS = 2  # times that a kernel is sent, where the process dies of it
# Run by the compiler process. The package's own __init__ is not: it has nothing to offer there, and costs time.
BOOT = (
    "import sys, types; p = types.ModuleType('lazynp'); p.__path__ = [sys.argv[1]]; sys.modules['lazynp'] = p; "
    "from lazynp.backends.torch.worker import main; main(*sys.argv[2:])"
)

Done = Callable[["Compiled | None"], None]


class Event(NamedTuple):
    """What became of one kernel. `outcome`: compiled, found, not compilable, failed, died, no compiler."""

    key: str
    seconds: float
    outcome: str
    reason: str


class _Job:
    __slots__ = ("spec", "geometry", "key", "callbacks", "attempts")

    def __init__(self, spec: KernelSpec, geometry: Geometry, key: str) -> None:
        self.spec, self.geometry, self.key = spec, geometry, key
        self.callbacks: list[Done] = []
        self.attempts = 0


class Failure(NamedTuple):
    """Why a kernel was not compiled, though it may be another time."""

    attempts: int
    again: float  # when it may be tried again, by time.monotonic
    reason: str


class CompilerClient:
    """Compiled kernels, by spec and geometry. Safe to use from any thread, and in a forked child."""

    threads = threads

    def __init__(self, folder: str | None = None, limit: int | None = None) -> None:
        self._folder, self._limit = folder, limit
        self.events: deque[Event] = deque(maxlen=10_000)
        self._cache: Artifacts | None = None
        self._ready: dict[str, Compiled | None] = {}  # None: known not to be compilable
        self._reasons: dict[str, str] = {}  # why not
        self._failures: dict[str, Failure] = {}
        self._keys: Bounded[tuple[KernelSpec, Geometry], str] = Bounded(KEYS_KEPT)
        self._restarts = RESTARTS
        self._rests, self._rested = 0, 0.0  # how often the compiler was given a rest, and the end of the last
        self._told: set[str] = set()
        self._broken = ""  # why nothing is compiled in this process
        self._room: Any = None
        self.at_exit: Callable[[], None] | None = None  # the last chance to submit
        self._reset()
        _clients.add(self)

    def _reset(self) -> None:
        """As if no compiler process had been started: at the beginning, and in a forked child."""
        self._lock = threading.Condition(threading.RLock())
        self._jobs: dict[int, _Job] = {}
        self._process: subprocess.Popen | None = None
        self._outbox: Any = queue.SimpleQueue()  # messages to the process
        self._ending = False
        self._heard = 0.0  # when the process last answered
        self.writer: threading.Thread | None = None
        self._receiver: threading.Thread | None = None
        self._number = 0

    # Looking up

    def key(self, spec: KernelSpec, geometry: Geometry) -> str:
        what = (spec, geometry)
        return (
            self._keys.get(what) or self._keys.recall(what) or self._keys.keep(what, artifacts.key_of(spec, geometry))
        )

    def lookup(self, spec: KernelSpec, geometry: Geometry) -> Compiled | None:
        """The compiled kernel if there is one, in this process or on disk. None: not compilable, or not compiled."""
        key = self.key(spec, geometry)
        try:
            return self._ready[key]
        except KeyError:
            pass
        refused = compilable(spec)
        if refused is not None:
            self._reasons[key], self._ready[key] = refused, None
            return None
        entry = self._artifacts().get(key)
        return self._load(spec, key, entry.path, entry.meta) if entry is not None else None

    def status(self, spec: KernelSpec, geometry: Geometry) -> str:
        """`ready`, `rejected` (not compilable), `pending`, `failed` (may be tried again) or `unknown`. Does not look on
        disk."""
        key = self.key(spec, geometry)
        if key in self._ready:
            return "rejected" if self._ready[key] is None else "ready"
        with self._lock:
            if any(job.key == key for job in self._jobs.values()):
                return "pending"
        return "failed" if key in self._failures else "unknown"

    def reason(self, spec: KernelSpec, geometry: Geometry) -> str:
        """Why the kernel is not compiled; empty where nothing is known."""
        key = self.key(spec, geometry)
        failure = self._failures.get(key)
        return self._reasons.get(key) or (failure.reason if failure is not None else self._broken)

    def again(self, spec: KernelSpec, geometry: Geometry) -> float | None:
        """When a kernel that was not compiled may be submitted again, by time.monotonic; None: it will not be."""
        key = self.key(spec, geometry)
        failure = self._failures.get(key)
        return None if key in self._ready or self._broken or failure is None else failure.again

    def _artifacts(self) -> Artifacts:
        cache = self._cache
        if cache is None:
            with self._lock:
                cache = self._cache = self._cache or artifacts.shared(self._folder, self._limit)
        return cache

    def _load(self, spec: KernelSpec, key: str, path: str | None, meta: dict[str, Any]) -> Compiled | None:
        """What the artifact holds. None: nothing (`_ready` says so), or it cannot be loaded now (`_failures` does)."""
        compiled = None
        if path is not None:
            try:
                compiled = Compiled(spec, key, path, meta)
            except (OSError, AttributeError, MemoryError) as error:  # removed in between, or no memory
                self._failed(key, f"{type(error).__name__}: {error}")
                if self._cache is not None and not isinstance(error, MemoryError):
                    self._cache.remove(key)
                return None
        else:
            self._reasons[key] = str(meta.get("reason", ""))
        self._failures.pop(key, None)
        self._ready[key] = compiled
        return compiled

    def trust(self, spec: KernelSpec, geometry: Geometry) -> None:
        """Tell later processes that the machine code was compared with the interpreter, and was not slower: until then
        their `meta` says "untried"."""
        self._artifacts().amend(self.key(spec, geometry), untried=False)

    def doubt(self, spec: KernelSpec, geometry: Geometry) -> None:
        """Tell later processes that the interpreter was faster: their `meta` says "doubted"."""
        self._artifacts().amend(self.key(spec, geometry), doubted=True)

    def _failed(self, key: str, reason: str, outcome: str = "failed", seconds: float = 0.0) -> None:
        """It failed for a reason that is not the kernel's: there will be another attempt, if it is not the last."""
        before = self._failures.get(key)
        attempts = 1 if before is None else before.attempts + 1
        self.events.append(Event(key, seconds, outcome, reason))
        if attempts > len(AGAIN):
            self._failures.pop(key, None)
            self._reasons[key], self._ready[key] = f"{reason} (tried {attempts} times)", None
        else:
            self._failures[key] = Failure(attempts, time.monotonic() + AGAIN[attempts - 1], reason)

    # Compiling

    @property
    def pending(self) -> int:
        return len(self._jobs)

    def submit(self, spec: KernelSpec, geometry: Geometry, on_done: Done | None = None) -> None:
        """Have it compiled; returns at once. `on_done(compiled or None)` is called once: here if the answer is known,
        else from a thread of the client's. It must not raise and should be short."""
        found = self.lookup(spec, geometry)
        key = self.key(spec, geometry)
        if found is not None or key in self._ready or not self._can_compile(key):
            if on_done is not None:
                on_done(found)
            return
        with self._lock:
            job = next((job for job in self._jobs.values() if job.key == key), None)
            if job is not None:
                if on_done is not None:
                    job.callbacks.append(on_done)
                return
            self._number += 1
            number, job = self._number, _Job(spec, geometry, key)
            if on_done is not None:
                job.callbacks.append(on_done)
            try:
                self._jobs[number] = job
                self._make_room()
                self._send(number, job)
            except BaseException:  # that of a signal's handler: nobody would ever answer
                self._jobs.pop(number, None)
                raise

    def missing(self) -> str:
        """Why nothing is compiled in this process, as far as is known before it is tried; empty where all is there."""
        if self._broken:
            return self._broken
        if artifacts.compiler_path() is None:
            return "no C++ compiler was found (g++; $CXX names another)"
        return "" if _has_torch() else "torch is not installed (pip install 'lazynp[torch]')"

    def _can_compile(self, key: str) -> bool:
        if not self._broken and (missing := self.missing()):
            self._give_up(missing)
        if self._broken:
            return False
        failure, now = self._failures.get(key), time.monotonic()
        if self._rested > now:
            reason = failure.reason if failure is not None else "the compiler process failed, and is given a rest"
            self._failures[key] = Failure(0 if failure is None else failure.attempts, self._rested, reason)
            return False
        return failure is None or failure.again <= now

    def _give_up(self, reason: str) -> None:
        self._broken = self._broken or reason
        self._tell(f"lazynp compiles nothing in this process: {reason}")

    def _rest(self, reason: str) -> None:
        """The compiler process fails again and again, which is not the kernels' fault: wait before the next one."""
        self._rested = time.monotonic() + REST * 4.0 ** min(self._rests, 4)
        self._rests += 1
        self._restarts = RESTARTS
        self._tell(f"lazynp compiles nothing for some time: {reason}")

    def _tell(self, message: str) -> None:
        kind = message.partition(":")[0]
        if kind not in self._told:
            self._told.add(kind)
            notify(message)

    def _send(self, number: int, job: _Job) -> None:
        job.attempts += 1
        try:
            message = (number, job.key, job.spec, job.geometry, self._artifacts().scratch_path())
            if self._process is None:
                self._start()
            self._outbox.put(pickle.dumps(message))
        except (OSError, RuntimeError, MemoryError) as error:  # no process, no thread, no disk
            self._rest(f"the compiler process cannot be started ({error})")
            self._finish(number, _failure("failed", f"{type(error).__name__}: {error}"))

    def _start(self) -> None:
        cache = self._artifacts()
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        folder = cache.named if cache.usable else artifacts.NOWHERE
        command = [sys.executable, "-P", "-c", BOOT, package, folder, str(cache.limit), str(config.compile_nice)]
        environment = os.environ | {
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
        }
        log = os.environ.get("LAZYNP_COMPILER_LOG")
        with open(log or os.devnull, "ab") as errors:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                env=environment,
            )
        self._heard = time.monotonic()
        if self._ending:  # too late for threads; what fits into the pipe is all that there is to say
            self._process, self._outbox = process, _Pipe(process)
            assert process.stdout is not None
            process.stdout.close()  # nobody reads the answers
            return
        outbox: queue.SimpleQueue = queue.SimpleQueue()
        writer = Helper(_write, process, outbox, name="lazynp-compiler-out")
        receiver = Helper(_receive, weakref.ref(self), process, name="lazynp-compiler-in")
        try:
            writer.start()
            self._process, self._outbox = process, outbox
            self.writer, self._receiver = writer, receiver
            receiver.start()
        except BaseException:
            self._process = None
            outbox.put(None)
            _kill(process)
            assert process.stdout is not None
            if not receiver.is_alive():
                process.stdout.close()
            raise

    def _finish(self, number: int, result: dict[str, Any]) -> None:
        """What became of a job: note it, tell who has asked, and let the job go last, so that `wait` is exact."""
        with self._lock:
            job = self._jobs.get(number)
            if job is None:
                return
            compiled = None
            try:
                compiled = self._take(job, result)
            except Exception as error:
                self._failed(job.key, f"{type(error).__name__}: {error}")
        while True:
            with self._lock:
                callbacks, job.callbacks = job.callbacks, []
                if not callbacks:
                    self._jobs.pop(number, None)
                    self._make_room()
                    self._lock.notify_all()
                    return
            for callback in callbacks:
                with contextlib.suppress(Exception):
                    callback(compiled)

    def _take(self, job: _Job, result: dict[str, Any]) -> Compiled | None:
        reason = str(result["meta"].get("reason", ""))
        if result["outcome"] in ("failed", "died"):
            self._failed(job.key, reason, result["outcome"], result["seconds"])
            return None
        if result["outcome"] == "no compiler":
            self._give_up("no C++ compiler was found")
        self.events.append(Event(job.key, result["seconds"], result["outcome"], reason))
        if self._broken:
            return None
        self._restarts, self._rests = RESTARTS, 0
        compiled = self._load(job.spec, job.key, result["path"], result["meta"])
        if result["path"] is not None and not result["path"].startswith(self._artifacts().folder + os.sep):
            with contextlib.suppress(OSError):  # the cache could not take it: it was handed over
                os.unlink(result["path"])
        return compiled

    def _make_room(self) -> None:
        """While kernels are being compiled, leave a core to the compiler: BLAS with a thread on each core waits for the
        slowest of them, and turns so in between that a nice process gets more time than it should."""
        with contextlib.suppress(Exception):  # a courtesy
            self._change_room()

    def _change_room(self) -> None:
        if self._jobs and self._room is None and CORES > 1:
            found = importlib.import_module("threadpoolctl").ThreadpoolController().select(user_api="blas")
            crowded = [b for b in found.lib_controllers if b.num_threads >= CORES]
            self._room = [(b, b.num_threads) for b in crowded]
            for b in crowded:
                b.set_num_threads(CORES - 1)
        elif not self._jobs and self._room is not None:
            for b, threads in self._room:
                if b.num_threads == CORES - 1:  # nobody has changed it meanwhile
                    b.set_num_threads(threads)
            self._room = None

    def _died(self, process: subprocess.Popen) -> None:
        """The process has closed its answers: restart it for what is pending."""
        with self._lock:
            if process is not self._process:
                return
            self._process = None
            self._outbox.put(None)
            code = _kill(process)
            jobs = list(self._jobs.items())
            reason = f"the compiler process died of it (exit status {code})"
            if jobs:
                self._restarts -= 1
                if self._restarts < 0:
                    self._rest(f"the compiler process keeps dying (exit status {code})")
            for number, job in jobs:
                if code == TIRED:  # it said what it failed at, and leaves the others to its successor
                    job.attempts -= 1
                if self._broken or self._rested > time.monotonic() or job.attempts >= ATTEMPTS:
                    self._finish(number, _failure("died", reason))
                else:
                    self._send(number, job)

    def wait(self, timeout: float | None = None) -> bool:
        """Until all that was submitted is done (True), or `timeout` seconds have passed (False)."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            with self._lock:
                if not self._jobs:
                    return True
                left = LOOK if end is None else min(LOOK, end - time.monotonic())
                if left <= 0:
                    return False
                self._lock.wait(left)
            self._look_after()

    def _look_after(self) -> None:
        """Whatever becomes of threads and processes, somebody answers what is pending, and `wait` ends."""
        with self._lock:
            process, receiver = self._process, self._receiver
            if not self._jobs:
                return
            if process is None:
                for number in list(self._jobs):
                    self._finish(number, _failure("died", "the compiler process is gone"))
            elif receiver is None or not receiver.is_alive():
                self._died(process)
            elif time.monotonic() - self._heard > SILENCE:
                self._heard = time.monotonic()
                _end(process)  # the receiver sees the end of the answers

    def shutdown(self) -> None:
        """Let the compiler process go; it finishes its queue, for a minute at most. A later `submit` starts another."""
        with self._lock:
            process, self._process = self._process, None
            jobs = list(self._jobs.values())
            self._jobs.clear()
            self._make_room()
            self._lock.notify_all()
            if process is not None:
                self._outbox.put(pickle.dumps(None))
                self._outbox.put(None)
                process.returncode = 0  # nobody waits for it: not a matter for a warning
        if self._cache is not None:
            self._cache.scratch.close()
        if not self._ending:
            for job in jobs:
                for callback in job.callbacks:
                    with contextlib.suppress(Exception):
                        callback(None)

    def _forked(self) -> None:
        """In a child: the parent's pipes are not ours. Its copies are closed, so that the end of the parent is seen."""
        process = self._process
        if process is not None:
            process.returncode = 0
            _abandoned.append(process)  # never closed: threads that do not exist here may hold its locks
            with open(os.devnull, "r+b") as nothing:
                for stream in (process.stdin, process.stdout):
                    assert stream is not None
                    with contextlib.suppress(OSError, ValueError):
                        os.dup2(nothing.fileno(), stream.fileno(), inheritable=False)
        self._reset()


def _failure(outcome: str, reason: str) -> dict[str, Any]:
    """An answer in the place of the compiler process."""
    return {"outcome": outcome, "path": None, "meta": {"reason": reason}, "seconds": 0.0}


def _has_torch() -> bool:
    try:
        return importlib.util.find_spec("torch") is not None
    except (ImportError, ValueError):
        return False


class _Pipe:
    """Messages to a process that was started at the end of this one."""

    def __init__(self, process: subprocess.Popen) -> None:
        self.stream = process.stdin

    def put(self, message: bytes | None) -> None:
        assert self.stream is not None
        with contextlib.suppress(OSError, ValueError):
            if message is None:
                self.stream.close()
            else:
                self.stream.write(message)
                self.stream.flush()


def _end(process: subprocess.Popen) -> None:
    """Kill the compiler process and the compilers that it runs: they are one group. Only before it has been waited
    for: afterwards its number may be another's."""
    if process.returncode is None:
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()


def _kill(process: subprocess.Popen) -> int:
    """The exit status of a process that has ended or is about to; its children end too."""
    end = time.monotonic() + ENDING
    while hasattr(os, "waitid") and time.monotonic() < end:
        with contextlib.suppress(OSError):
            if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                break
        time.sleep(0.01)
    _end(process)
    code = process.wait()
    with contextlib.suppress(OSError, ValueError):
        if process.stdin is not None:
            process.stdin.close()
    return code


def _write(process: subprocess.Popen, outbox: queue.SimpleQueue) -> None:
    """Requests to the process, in a thread: a pipe that is full must not hold the user up. However it ends, it closes
    the pipe, so that the process ends too, and with it its answers."""
    assert process.stdin is not None
    try:
        while (message := outbox.get()) is not None:
            process.stdin.write(message)
            process.stdin.flush()
    except Exception:
        pass
    finally:
        with contextlib.suppress(OSError, ValueError):
            process.stdin.close()


def _receive(client: weakref.ref[CompilerClient], process: subprocess.Popen) -> None:
    """Answers from the process, until it closes its end or says what nobody understands."""
    assert process.stdout is not None
    try:
        while True:
            number, result = pickle.load(process.stdout)
            owner = client()
            if owner is not None:
                owner._heard = time.monotonic()
                owner._finish(number, result)
            del owner
    except Exception:
        pass
    finally:
        owner = client()
        if owner is not None:
            owner._died(process)
        with contextlib.suppress(OSError, ValueError):
            process.stdout.close()


_abandoned: list[subprocess.Popen] = []
_clients: weakref.WeakSet[CompilerClient] = weakref.WeakSet()


def _after_fork() -> None:
    for client in list(_clients):
        client._forked()


def _at_exit() -> None:
    for client in list(_clients):
        client._ending = True
        with contextlib.suppress(Exception):
            if client.at_exit is not None:
                client.at_exit()
        writer = client.writer
        with contextlib.suppress(Exception):
            client.shutdown()
        if writer is not None:
            writer.join(FLUSH)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
