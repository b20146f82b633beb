"""What programs of `tests/fault_programs.py` play in: folders of compiled kernels, and compilers that hand out what was
compiled before."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

from fault_points import quiet_fork

import lazynp
from lazynp.backends import artifacts, compiler, gcc
from lazynp.backends.torch import worker
from lazynp.runtime.kernels import client, kernels
from lazynp.runtime.segment import exact_plans, plans

Problem = tuple[str, str] | None
USERS = {"poetry.lock": b"a user's", "extension.so": b"a user's, too"}
PATIENCE = 10.0  # seconds until a compiler that hands things out has done so


class Scene:
    """Nothing but the program."""

    def prepare(self) -> None:
        """Once, in the process that runs are forked from."""

    @contextlib.contextmanager
    def __call__(self, names: dict[str, Any]) -> Iterator[Scene]:
        """While a program runs and its variables are looked at. `names`: the program's."""
        yield self

    def look(self, names: dict[str, Any]) -> Problem:
        """What is wrong after a fault, and in which way."""
        return None

    def close(self) -> None:
        """Once, afterwards."""


class Folder(Scene):
    """An empty folder of compiled kernels, in one of the user's, for each run."""

    def __init__(self) -> None:
        self.root = tempfile.mkdtemp()
        self.store = artifacts.shared()

    @contextlib.contextmanager
    def __call__(self, names: dict[str, Any]) -> Iterator[Scene]:
        self.named = tempfile.mkdtemp(dir=self.root)
        for name, text in USERS.items():
            with open(os.path.join(self.named, name), "wb") as file:
                file.write(text)
        try:
            yield self
        finally:
            shutil.rmtree(self.named, ignore_errors=True)

    def look(self, names: dict[str, Any]) -> Problem:
        for name, text in USERS.items():
            with open(os.path.join(self.named, name), "rb") as file:
                if file.read() != text:
                    return "files", name
        folder = os.path.join(self.named, artifacts.NAME)
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            match = artifacts.ENTRY.fullmatch(name)
            if match is not None and match[2] == "json":
                problem = self.entry(match[1], artifacts.Artifacts(self.named))
                if problem is not None:
                    return problem
        return None

    def close(self) -> None:
        shutil.rmtree(self.root)

    def entry(self, key: str, cache: artifacts.Artifacts) -> Problem:
        """What is wrong with an entry."""
        entry = cache.get(key)
        if entry is None:
            return "damaged", key
        if entry.path is None and "reason" in entry.meta:
            return "refused", str(entry.meta["reason"])
        return None


KEYS = [f"{k:064x}" for k in range(8)]


class Files(Folder):
    """The cache alone. `built(k)` makes a file, `keys` are those of entries."""

    @contextlib.contextmanager
    def __call__(self, names: dict[str, Any]) -> Iterator[Scene]:
        with super().__call__(names) as scene:
            names.update(artifacts=artifacts, folder=self.named, keys=KEYS, built=self.built)
            yield scene

    def built(self, k: int) -> str:
        handle, path = tempfile.mkstemp(dir=self.named)
        with os.fdopen(handle, "wb") as file:
            file.write(self.content(k))
        return path

    @staticmethod
    def content(k: int) -> bytes:
        return bytes([k]) * 20_000

    def entry(self, key: str, cache: artifacts.Artifacts) -> Problem:
        entry, k = cache.get(key), KEYS.index(key)
        if entry is None:
            return "damaged", key
        if entry.meta["n"] != k or (entry.path is None) != (k == 1):
            return "wrong", json.dumps(entry.meta)
        if entry.path is not None:
            with open(entry.path, "rb") as file:
                if file.read() != self.content(k):
                    return "wrong", entry.path
        return None

    def look(self, names: dict[str, Any]) -> Problem:
        problem = super().look(names)
        cache = names.get("cache")
        if problem is not None or cache is None:
            return problem
        if cache.usable and cache.writable:
            entry = cache.put(KEYS[7], self.built(7), {"n": 7})
            if entry is None or cache.get(KEYS[7]) is None:
                return "unreadable", "what was put there afterwards"
        with cache.lock(KEYS[6]) as mine:
            if not mine:
                return "left", "a lock"
        return super().look(names)


class Compiling(Folder):
    """A compiler's client whose process is a fork of this one, and hands out what was compiled before."""

    def prepare(self) -> None:
        compile_now()

    @contextlib.contextmanager
    def __call__(self, names: dict[str, Any]) -> Iterator[Scene]:
        with super().__call__(names) as scene, lazynp.config(cache_dir=self.named):
            for cache in (exact_plans, plans, kernels):
                cache.clear()
            client.cache_clear()
            compiler.subprocess = HandsOut(self.store)  # type: ignore[assignment]
            compiler.AGAIN, compiler.REST = (0.0,) * 8, 0.0  # type: ignore[assignment]
            yield scene

    def look(self, names: dict[str, Any]) -> Problem:
        for _ in range(3):
            if not lazynp.compile_wait(PATIENCE):
                return "hang", "compile_wait"
            again = {"np": lazynp}
            exec(KERNEL, again)
        for kernel in kernels.everything():
            for form in kernel.forms.values():
                if kernel.compilable and form.compiled is None and form.asked:
                    return "never compiled", client().reason(form.spec, form.geometry)
        client().shutdown()
        return super().look(names)


KERNEL = """
a = np.arange(200000.0)
b = np.sin(a) * 2 + 3
c = float(b[3])
"""


def compile_now() -> None:
    """Have the kernel in the store."""
    for cache in (exact_plans, plans, kernels):
        cache.clear()
    for _ in range(2):
        exec(KERNEL, {"np": lazynp})
        assert lazynp.compile_wait(120)


class HandsOut:
    """In the place of the module `subprocess`."""

    PIPE = -1

    def __init__(self, store: artifacts.Artifacts) -> None:
        self.store = store

    def Popen(self, command: list[str], **_: Any) -> Forked:
        return Forked(self.store, command)


class Forked:
    """A compiler process."""

    def __init__(self, store: artifacts.Artifacts, command: list[str]) -> None:
        (requests, to), (given, answers) = os.pipe(), os.pipe()
        with quiet_fork() as self.pid:
            pass
        if self.pid == 0:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            try:
                os.setsid()
                os.close(to)
                os.close(given)
                serve(store, artifacts.Artifacts(command[5], int(command[6])), requests, answers)
            finally:
                os._exit(0)
        os.close(requests)
        os.close(answers)
        self.stdin, self.stdout = os.fdopen(to, "wb"), os.fdopen(given, "rb")
        self.returncode: int | None = None

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def kill(self) -> None:
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)


def serve(store: artifacts.Artifacts, cache: artifacts.Artifacts, requests: int, answers: int) -> None:
    with os.fdopen(requests, "rb") as given, os.fdopen(answers, "wb") as out:
        while (message := pickle.load(given)) is not None:
            number, key = message[:2]
            found = store.get(key)
            assert found is not None
            copy = os.path.join(cache.scratch_path(), key)
            shutil.copyfile(found.path, copy)
            entry = cache.put(key, copy, found.meta)
            path = copy if entry is None else entry.path
            pickle.dump((number, {"outcome": "compiled", "path": path, "meta": found.meta, "seconds": 0.0}), out)
            out.flush()
    cache.scratch.close()


class Worker(Folder):
    """The compiler process, in this one, without Inductor and g++: it is given what they made before."""

    def prepare(self) -> None:
        compile_now()
        kernel = next(k for k in kernels.everything() if k.forms)
        form = next(iter(kernel.forms.values()))
        self.key = client().key(form.spec, form.geometry)
        self.job = (1, self.key, form.spec, form.geometry, self.root)
        self.path = form.compiled.library._name
        self.meta = form.compiled.meta

    def run(self, command: list[str], scratch: str, group: bool = False) -> None:
        """In the place of g++."""
        shutil.copyfile(self.path, command[command.index("-o") + 1])

    @contextlib.contextmanager
    def __call__(self, names: dict[str, Any]) -> Iterator[Scene]:
        with super().__call__(names) as scene:
            worker.GRACE = worker.KILLED = 0.0
            worker.Worker._translate = lambda *_: ("text", self.meta)  # type: ignore[method-assign]
            gcc.run = self.run
            names.update(worker=worker, artifacts=artifacts, folder=self.named, answers=io.BytesIO())
            names["requests"] = io.BytesIO(pickle.dumps(self.job) + pickle.dumps(None))
            names["leave"] = lambda: None
            yield scene

    def look(self, names: dict[str, Any]) -> Problem:
        problem = super().look(names)
        if problem is not None:
            return problem
        answers, requests = io.BytesIO(), io.BytesIO(pickle.dumps(self.job) + pickle.dumps(None))
        cache = artifacts.Artifacts(self.named)
        worker.serve(worker.Requests(requests, lambda: None), answers, cache)
        outcome = pickle.loads(answers.getvalue())[1]["outcome"]
        if outcome not in ("found", "compiled"):
            return "never compiled", outcome
        return super().look(names)


SCENES: dict[str, type[Scene]] = {"": Scene, "files": Files, "compiling": Compiling, "worker": Worker}
