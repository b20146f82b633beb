"""The main process's side of the compiler: look compiled kernels up, have them compiled in the background, call them.

Nothing here imports torch. `CompilerClient` talks to one compiler process (`backends.torch.worker`) through pipes; what
it compiles lies in the artifact cache (`backends.artifacts`) as a plain shared object, which `ctypes` loads in about a
millisecond. Whatever goes wrong on the way, a kernel is "not compiled" and stays with the interpreter: no error reaches
the user.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import importlib.util
import os
import pickle
import queue
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from itertools import starmap
from typing import Any, NamedTuple

import numpy as np
import threadpoolctl

from lazynp.backends import artifacts
from lazynp.backends.artifacts import Artifacts
from lazynp.backends.kernel import Geometry, KernelSpec
from lazynp.backends.support import CORES, compilable
from lazynp.config import config

RESTARTS = 3  # times that a compiler process that died is replaced
FLUSH = 0.5  # seconds at exit to hand the compiler what it has not read yet
ATTEMPTS = 2  # times that a kernel is sent, where the process dies of it
SLOT = {
    "bool": "?15x",
    "int8": "b15x",
    "int16": "h14x",
    "int32": "i12x",
    "int64": "q8x",
    "uint8": "B15x",
    "uint16": "H14x",
    "uint32": "I12x",
    "uint64": "Q8x",
    "float32": "f12x",
    "float64": "d8x",
    "complex64": "ff8x",
    "complex128": "dd",
}
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


class _Threads:
    """How many threads compiled code may use. GNU's OpenMP does not survive a fork: a child uses one."""

    def __init__(self) -> None:
        self.forked = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._in_child)

    def _in_child(self) -> None:
        self.forked = True

    def __call__(self) -> int:
        return 1 if self.forked else config.threads or _cores()


@functools.cache
def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


threads = _Threads()


class Compiled:
    """A kernel as machine code.

    `compiled(in_arrays, scalars, out_arrays) -> bool` takes NumPy arrays of the iteration space's rank, in the order of
    the spec. An axis may have length 1 in place of a stride of 0. Shapes and strides are checked in C against the
    geometry; False means that this code does not fit them (or a guard failed, or an output shares memory with an input
    where the code cannot do that, or memory is short): nothing was written, use the interpreter. `scalars`: Python or
    NumPy numbers, or the bytes of `pack(scalars)`.

    `compiled.call(pointers, dims, scalars, threads) -> int` is the same without arrays and without a check of a static
    geometry: `pointers` a ctypes array of `c_void_p` (inputs, then outputs; each to the element at index 0), `dims` a
    ctypes array of `c_int64` (the shape, then the strides of each operand in elements; None will do where the geometry
    is not symbolic), `scalars` bytes, `threads` at most so many. 0 is success.

    `done`: a list that gets a 0 when the call has been made. C code puts it there, and no signal handler runs between
    the call and that: so who is interrupted knows whether the operands are still what they were.

    Both release the GIL. An output may be the same memory as an input of the same strides.
    """

    __slots__ = ("key", "meta", "call", "pack", "library", "_arrays")

    def __init__(self, spec: KernelSpec, key: str, path: str, meta: dict[str, Any]) -> None:
        self.key, self.meta = key, meta
        self.library = library = ctypes.CDLL(path)
        count = len(spec.inputs) + len(spec.outputs)
        self.call = library.lazynp_run
        self.call.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64)
        self._arrays = library.lazynp_arrays
        self._arrays.argtypes = (*[ctypes.py_object] * count, ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p)
        self.pack = packer(spec.scalars)

    def __call__(
        self,
        in_arrays: Sequence[np.ndarray],
        scalars: Sequence[Any] | bytes,
        out_arrays: Sequence[np.ndarray],
        chain: int | None = None,
        done: list[int] | None = None,
    ) -> bool:
        packed = scalars if type(scalars) is bytes else self.pack(scalars)
        if done is None:
            return self._arrays(*in_arrays, *out_arrays, packed, threads(), chain) == 0
        done.extend(starmap(self._arrays, ((*in_arrays, *out_arrays, packed, threads(), chain),)))
        return done[-1] == 0


def packer(dtypes: Sequence[str]) -> Callable[[Sequence[Any]], bytes]:
    """The function that lays scalars of these dtypes out, 16 bytes each."""
    if not dtypes:
        return lambda values: b""
    pack = struct.Struct("=" + "".join([SLOT[d] for d in dtypes])).pack
    if not any(d.startswith("complex") for d in dtypes):
        return lambda values: pack(*values)
    is_complex = [d.startswith("complex") for d in dtypes]

    def packed(values: Sequence[Any]) -> bytes:
        flat: list[Any] = []
        for value, pair in zip(values, is_complex, strict=True):
            flat.extend((value.real, value.imag) if pair else (value,))
        return pack(*flat)

    return packed


class _Job:
    __slots__ = ("spec", "geometry", "key", "callbacks", "attempts")

    def __init__(self, spec: KernelSpec, geometry: Geometry, key: str) -> None:
        self.spec, self.geometry, self.key = spec, geometry, key
        self.callbacks: list[Done] = []
        self.attempts = 0


class CompilerClient:
    """Compiled kernels, by spec and geometry. Safe to use from any thread, and in a forked child."""

    threads = threads

    def __init__(self, folder: str | None = None, limit: int | None = None) -> None:
        self._folder, self._limit = folder, limit
        self.events: deque[Event] = deque(maxlen=10_000)
        self._cache: Artifacts | None = None
        self._ready: dict[str, Compiled | None] = {}  # None: known not to be compilable
        self._keys: dict[tuple[KernelSpec, Geometry], str] = {}
        self._private: str | None = None
        self._restarts = RESTARTS
        self._broken = False
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
        self.writer: threading.Thread | None = None
        self._number = 0

    # Looking up

    def key(self, spec: KernelSpec, geometry: Geometry) -> str:
        key = self._keys.get((spec, geometry))
        if key is None:
            if len(self._keys) > 10_000:
                self._keys.clear()
            key = self._keys[spec, geometry] = artifacts.key_of(spec, geometry)
        return key

    def lookup(self, spec: KernelSpec, geometry: Geometry) -> Compiled | None:
        """The compiled kernel if there is one, in this process or on disk. None: not compilable, or not compiled."""
        key = self.key(spec, geometry)
        try:
            return self._ready[key]
        except KeyError:
            pass
        if compilable(spec) is not None:
            self._ready[key] = None
            return None
        entry = self._artifacts().get(key)
        return self._load(spec, key, entry.path, entry.meta) if entry is not None else None

    def status(self, spec: KernelSpec, geometry: Geometry) -> str:
        """`ready`, `rejected` (not compilable), `pending` or `unknown`. Does not look on disk."""
        key = self.key(spec, geometry)
        if key in self._ready:
            return "rejected" if self._ready[key] is None else "ready"
        with self._lock:
            return "pending" if any(job.key == key for job in self._jobs.values()) else "unknown"

    def _artifacts(self) -> Artifacts:
        cache = self._cache
        if cache is None:
            with self._lock:
                cache = self._cache = self._cache or Artifacts(self._folder, self._limit)
        return cache

    def _load(self, spec: KernelSpec, key: str, path: str | None, meta: dict[str, Any]) -> Compiled | None:
        compiled = None
        if path is not None:
            try:
                compiled = Compiled(spec, key, path, meta)
            except (OSError, AttributeError) as error:  # built for another C library, or removed in between
                self.events.append(Event(key, 0.0, "failed", str(error)))
                if self._cache is not None and self._cache.usable:
                    self._cache.remove(key)
        self._ready[key] = compiled
        return compiled

    # Compiling

    @property
    def pending(self) -> int:
        return len(self._jobs)

    def submit(self, spec: KernelSpec, geometry: Geometry, on_done: Done | None = None) -> None:
        """Have it compiled; returns at once. `on_done(compiled or None)` is called once: here if the answer is known,
        else from a thread of the client's. It must not raise and should be short."""
        found = self.lookup(spec, geometry)
        key = self.key(spec, geometry)
        if found is not None or key in self._ready or not self._can_compile():
            if on_done is not None:
                on_done(found)
            return
        with self._lock:
            for job in self._jobs.values():
                if job.key == key:
                    break
            else:
                self._number += 1
                job = self._jobs[self._number] = _Job(spec, geometry, key)
                self._make_room()
                self._send(self._number, job)
            if on_done is not None:
                job.callbacks.append(on_done)

    def _can_compile(self) -> bool:
        if not self._broken:
            missing = (
                "no C++ compiler was found (g++; $CXX names another)"
                if artifacts.compiler_path() is None
                else "torch is not installed"
                if not _has_torch()
                else None
            )
            if missing is not None:
                self._give_up(missing)
        return not self._broken

    def _give_up(self, reason: str) -> None:
        if not self._broken:
            self._broken = True
            warnings.warn(f"lazynp compiles nothing in this process: {reason}", RuntimeWarning, stacklevel=4)

    def _send(self, number: int, job: _Job) -> None:
        job.attempts += 1
        if self._process is None:
            try:
                self._start()
            except OSError as error:
                self._give_up(f"the compiler process cannot be started ({error})")
                return self._finish(number, _failure("failed", str(error)))
        message = (number, job.key, job.spec, job.geometry, self._private_folder())
        self._outbox.put(pickle.dumps(message))

    def _private_folder(self) -> str:
        """Where the compiler process leaves an object that the cache cannot take. Made by it, when needed."""
        if self._private is None:
            self._private = os.path.join(tempfile.gettempdir(), f"lazynp-{os.getpid()}-{os.urandom(8).hex()}")
        return self._private

    def _start(self) -> None:
        cache = self._artifacts()
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        folder = cache.folder if cache.usable else artifacts.NOWHERE
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
        if self._ending:  # too late for threads; what fits into the pipe is all that there is to say
            self._process, self._outbox = process, _Pipe(process)
            return
        outbox: queue.SimpleQueue = queue.SimpleQueue()
        self._process, self._outbox = process, outbox
        self.writer = threading.Thread(target=_write, args=(process, outbox), daemon=True)
        self.writer.start()
        threading.Thread(target=_receive, args=(weakref.ref(self), process), daemon=True).start()

    def _finish(self, number: int, result: dict[str, Any]) -> None:
        with self._lock:
            job = self._jobs.get(number)
            if job is None:
                return
            reason = result["meta"].get("reason", "")
            self.events.append(Event(job.key, result["seconds"], result["outcome"], reason))
            compiled = self._load(job.spec, job.key, result["path"], result["meta"])
            if result["path"] is not None and result["path"].startswith(self._private_folder()):
                with contextlib.suppress(OSError):
                    os.unlink(result["path"])
            if result["outcome"] == "no compiler":
                self._give_up("no C++ compiler was found")
        for callback in job.callbacks:
            callback(compiled)
        with self._lock:
            del self._jobs[number]
            self._make_room()
            self._lock.notify_all()

    def _make_room(self) -> None:
        """While kernels are being compiled, leave a core to the compiler: BLAS with a thread on each core waits for the
        slowest of them, and turns so in between that a nice process gets more time than it should."""
        if self._jobs and self._room is None and CORES > 1:
            found = threadpoolctl.ThreadpoolController().select(user_api="blas")
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
            code = process.wait()
            jobs = list(self._jobs.items())
            if jobs:
                self._restarts -= 1
            for number, job in jobs:
                if self._restarts < 0:
                    self._give_up(f"the compiler process keeps dying (exit status {code})")
                if self._broken or job.attempts >= ATTEMPTS:
                    reason = f"the compiler process died of it (exit status {code})"
                    self._finish(number, _failure("died", reason))
                else:
                    self._send(number, job)

    def wait(self, timeout: float | None = None) -> bool:
        """Until all that was submitted is done (True), or `timeout` seconds have passed (False)."""
        end = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            while self._jobs:
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._lock.wait(left)
        return True

    def shutdown(self) -> None:
        """Let the compiler process go; it finishes its queue, for a minute at most. A later `submit` starts another."""
        with self._lock:
            process, self._process = self._process, None
            self._jobs.clear()
            self._make_room()
            self._lock.notify_all()
            if process is not None:
                self._outbox.put(None)
                process.returncode = 0  # nobody waits for it: not a matter for a warning
            private, self._private = self._private, None
        if private is not None and os.path.isdir(private):
            shutil.rmtree(private, ignore_errors=True)

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
        self._private = None
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


def _write(process: subprocess.Popen, outbox: queue.SimpleQueue) -> None:
    """Requests to the process, in a thread: a pipe that is full must not hold the user up."""
    assert process.stdin is not None
    with contextlib.suppress(OSError, ValueError):
        while (message := outbox.get()) is not None:
            process.stdin.write(message)
            process.stdin.flush()
    with contextlib.suppress(OSError, ValueError):
        process.stdin.close()


def _receive(client: weakref.ref[CompilerClient], process: subprocess.Popen) -> None:
    """Answers from the process, until it closes its end."""
    assert process.stdout is not None
    with contextlib.suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
        while True:
            number, result = pickle.load(process.stdout)
            owner = client()
            if owner is not None:
                owner._finish(number, result)
            del owner
    owner = client()
    if owner is not None:
        owner._died(process)
    process.stdout.close()


_abandoned: list[subprocess.Popen] = []
_clients: weakref.WeakSet[CompilerClient] = weakref.WeakSet()


def _after_fork() -> None:
    for client in list(_clients):
        client._forked()


def _at_exit() -> None:
    for client in list(_clients):
        client._ending = True
        if client.at_exit is not None:
            client.at_exit()
        writer = client.writer
        client.shutdown()
        if writer is not None:
            writer.join(FLUSH)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
