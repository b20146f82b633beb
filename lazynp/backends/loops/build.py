"""From C++ to a function: g++ in a process of its own, the result in the artifact cache, loaded with ctypes."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...config import config
from .. import artifacts
from ..artifacts import Artifacts
from .libraries import vectorized

FLAGS = (
    "-O3",
    "-std=c++17",  # its headers take a third less time than those of C++20
    "-fPIC",
    "-shared",
    "-ffp-contract=off",
    "-fwrapv",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fopenmp-simd",
    "-fvisibility=hidden",
    "-w",
    "-pipe",
)
LIBRARIES = ("-lm",)
VECTORS = ("-Wl,--as-needed", "-lmvec")
TIMEOUT = 300.0  # seconds that g++ may take
Run = Callable[..., int]


@functools.lru_cache(4)
def cache_at(folder: str, limit: int) -> Artifacts:
    return Artifacts(folder or None, limit)


def cache() -> Artifacts:
    return cache_at(config.cache_dir, config.cache_bytes)


def linked() -> tuple[str, ...]:
    return (*VECTORS, *LIBRARIES) if vectorized() else LIBRARIES


def key_of(text: str) -> str:
    """The name of the artifact: a digest of the source and of all that the build depends on."""
    compiler = artifacts.compiler_path_cached()
    parts = (text, FLAGS, artifacts.march(), linked(), artifacts._cpu(), artifacts._compiler_identity(compiler))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


Call = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64)


class Loaded(NamedTuple):
    """The function `run` of a shared object: called `free` it lets go of the interpreter; `held`, for those that call
    Python back, it does not, which would cost more than such a call."""

    free: Run
    held: Run


def load(path: str) -> Loaded:
    loaded = Loaded(ctypes.CDLL(path).run, ctypes.PyDLL(path).run)
    for run in loaded:
        run.restype = ctypes.c_int64  # type: ignore[attr-defined]
        run.argtypes = [ctypes.c_void_p, *[ctypes.c_int64] * 3, ctypes.c_void_p]  # type: ignore[attr-defined]
    return loaded


def found(text: str) -> Loaded | bool | None:
    """The functions, if it was built before; False if it is known not to build; None."""
    entry = cache().get(key_of(text))
    if entry is None:
        return None
    return False if entry.path is None else load(entry.path)


def built(text: str) -> Loaded | None:
    """The functions, built now; None where that is not possible."""
    compiler, key = artifacts.compiler_path_cached(), key_of(text)
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory(prefix="lazynp-loop-") as folder:
        source, target = os.path.join(folder, "loop.cpp"), os.path.join(folder, "loop.so")
        with open(source, "w") as file:
            file.write(text)
        command = [compiler, *FLAGS, artifacts.march(), source, "-o", target, *linked()]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                check=False,
                start_new_session=True,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        if done.returncode:
            cache().put(key, None, {"reason": done.stderr[-600:]})
            return None
        entry = cache().put(key, target, {})
        return load(entry.path if entry is not None and entry.path else target)


class Builder:
    """Builds in a thread, one after the other. `done` is called with each function, or None."""

    def __init__(self) -> None:
        self.lock = threading.Condition()
        self.waiting: list[tuple[str, Callable[[Any], None]]] = []
        self.busy = 0
        self.pid = 0

    def submit(self, text: str, done: Callable[[Any], None]) -> None:
        with self.lock:
            self.waiting.append((text, done))
            self.busy += 1
            start = self.pid != os.getpid() or self.busy == 1
            self.pid = os.getpid()
        if start:
            threading.Thread(target=self.work, daemon=True, name="lazynp-loops").start()

    def work(self) -> None:
        while True:
            with self.lock:
                if not self.waiting:
                    return
                text, done = self.waiting.pop(0)
            run = None
            try:
                run = built(text)
            finally:
                done(run)
                with self.lock:
                    self.busy -= 1
                    self.lock.notify_all()

    def wait(self, timeout: float | None = None) -> bool:
        """Until all is built; whether it is."""
        with self.lock:
            return self.lock.wait_for(lambda: self.busy == 0, timeout)


builder = Builder()


def address(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0]


def objects(xs: list[np.ndarray]) -> Any:
    """An array of the addresses of array objects, which must outlive it."""
    return (ctypes.c_void_p * len(xs))(*[id(x) for x in xs])
