"""From C++ to a function: g++ in a process of its own, the result in the artifact cache, loaded with ctypes."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import hashlib
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...threads import Jobs
from .. import artifacts, folders, gcc
from ..artifacts import Artifacts
from ..gcc import BuildError
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
Run = Callable[..., int]


Done = Callable[[Any, "BuildError | None"], None]


def cache() -> Artifacts:
    return artifacts.shared()


def linked() -> tuple[str, ...]:
    return (*VECTORS, *LIBRARIES) if vectorized() else LIBRARIES


def key_of(text: str, flags: tuple[str, ...] = FLAGS) -> str:
    """The name of the artifact: a digest of the source and of all that the build depends on."""
    compiler = artifacts.compiler_path_cached()
    parts = (text, flags, artifacts.march(), linked(), artifacts._cpu(), artifacts._compiler_identity(compiler))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


Loaded = Callable[..., int]


def load(path: str) -> Loaded:
    """The function `run` of a shared object, which lets go of the interpreter itself; what it raises is raised."""
    run = ctypes.PyDLL(path).run
    run.restype = ctypes.c_int64
    run.argtypes = [ctypes.c_void_p, *[ctypes.c_int64] * 3, ctypes.c_void_p]
    return run


class Kind(NamedTuple):
    """How a text is compiled, and what makes functions of the shared object at a path."""

    flags: tuple[str, ...]
    load: Callable[[str], Any]


LOOP = Kind(FLAGS, load)


def found(text: str, kind: Kind | None = None) -> Any:
    """The functions, if it was built before; False if it is known not to build; None."""
    flags, loader = kind or LOOP
    entry = cache().get(key_of(text, flags))
    if entry is None:
        return None
    try:
        return False if entry.path is None else loader(entry.path)
    except (OSError, AttributeError):  # removed in between
        return None


def built(text: str, kind: Kind | None = None) -> Any:
    """The functions, built now. Raises `BuildError`, and OSError."""
    flags, loader = kind or LOOP
    compiler, key, store = artifacts.compiler_path_cached(), key_of(text, flags), cache()
    if compiler is None:
        raise BuildError("no C++ compiler was found")
    scratch = store.scratch_path()
    target = os.path.join(scratch, f"loop-{os.urandom(8).hex()}.so")
    source = target + ".cpp"
    with store.lock(key):
        try:
            with open(source, "w") as file:
                file.write(text)
            gcc.run([compiler, *flags, artifacts.march(), source, "-o", target, *linked()], scratch, group=True)
            entry = store.put(key, target, {})
            return loader(entry.path if entry is not None and entry.path else target)
        except BuildError as error:
            if error.lasting:
                store.put(key, None, {"reason": str(error)[-600:]})
            raise
        finally:
            for path in (source, target):
                with contextlib.suppress(OSError):
                    os.unlink(path)


class Builder:
    """Builds in a thread, one after the other. `done` is called with the functions, or with why there are none."""

    def __init__(self) -> None:
        self.jobs = Jobs("lazynp-loops")
        self.wait = self.jobs.wait
        atexit.register(self.stop)

    def submit(self, text: str | Callable[[], Any], done: Done) -> None:
        """`text`: the C++ of a loop; or what makes functions, by `built`."""
        self.jobs.submit(functools.partial(self.build, text, done), lambda error: done(None, BuildError(str(error))))

    def build(self, text: str | Callable[[], Any], done: Done) -> None:
        run, failure = None, BuildError("the thread that builds was ended")
        try:
            run = text() if callable(text) else built(text)
        except BuildError as error:
            failure = error
        except Exception as error:
            failure = BuildError(f"{type(error).__name__}: {error}")
        finally:
            done(run, None if run is not None else failure)

    def stop(self) -> None:
        """At the end of the process: what is being built is of no use to anybody."""
        store = cache() if self.jobs.busy else None
        if store is not None:
            with contextlib.suppress(OSError):
                folders.end_users(store.scratch.path())


builder = Builder()


def address(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0]


def objects(xs: list[np.ndarray]) -> Any:
    """An array of the addresses of array objects, which must outlive it."""
    return (ctypes.c_void_p * len(xs))(*[id(x) for x in xs])
