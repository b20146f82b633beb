"""One test module in this process: `python -m compat.worker MODE MODULE OUT`; started by `runner`, one line a test.

The tests are those inside the installed NumPy, from their own files. The module's `__builtins__` has an `__import__`
that says lazynp for numpy, so that `import numpy as np`, `from numpy.linalg import …` and relative imports give
lazynp; nothing else is changed. In mode `numpy` nothing is swapped: the baseline.
"""

from __future__ import annotations

import builtins
import contextlib
import faulthandler
import importlib
import importlib.util
import inspect
import json
import os
import pathlib
import resource
import signal
import sys
import threading
import time
import types
from collections.abc import Callable
from typing import Any

import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook

from . import scope

MEMORY = int(os.environ.get("LAZYNP_COMPAT_BYTES", 16 << 30))  # of address space
TEST_SECONDS = float(
    os.environ.get("LAZYNP_COMPAT_SECONDS", "120")
)  # of this process's own time; five times by the clock
WORDS = 400  # characters kept of an error's text
VALUES_ONLY = (  # what compares values and runs no code that is under test
    "assert_equal", "assert_array_equal", "assert_almost_equal", "assert_array_almost_equal", "assert_approx_equal",
    "assert_array_less", "assert_array_almost_equal_nulp", "assert_array_max_ulp", "assert_allclose",
    "assert_array_compare", "assert_string_equal", "assert_",
)  # fmt: skip


class Counts:
    """What a test did with lazynp: arrays made, calls, operations recorded."""

    def __init__(self) -> None:
        self.arrays = self.calls = 0
        self.recorder: Any = None
        self.native: Any = None  # the C module

    def now(self) -> tuple[int, int, int]:
        in_c = self.native.count() if self.native is not None else 0
        return self.arrays, self.calls + in_c, self.recorder.count if self.recorder is not None else 0


counts = Counts()


def counted(kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        setattr(counts, kind, getattr(counts, kind) + 1)
        return function(*args, **kwargs)

    return call


def made(kind: type) -> Any:
    """In the place of `object.__new__`."""
    counts.arrays += 1
    return object.__new__(kind)


def watch() -> None:
    """Count at the places through which every use of lazynp goes: new handles, calls, values asked for."""
    importlib.import_module("lazynp.random")
    for name, module in list(sys.modules.items()):
        if name.startswith("lazynp.numpy."):
            if getattr(module, "new_handle", None) is object.__new__:
                module.new_handle = made  # type: ignore[attr-defined]
            for called in ("to_host", "wrap_result"):
                if hasattr(module, called):
                    setattr(module, called, counted("calls", getattr(module, called)))
    dispatch, ufunc, array = [sys.modules[f"lazynp.numpy.{n}"] for n in ("dispatch", "ufunc", "array")]
    counterparts = sys.modules["lazynp.numpy.counterparts"]
    for owner, name in (
        (dispatch.Dispatcher, "_call"),
        (dispatch.Function, "_call"),
        (ufunc.ufunc, "_call"),
        (counterparts.Builtin, "_call"),
        (array.ndarray, "_host_"),
    ):
        setattr(owner, name, counted("calls", getattr(owner, name)))
    counts.recorder = sys.modules["lazynp.runtime.recorder"].recorder
    counts.native = sys.modules["lazynp.speed"].native


def strict() -> Any:
    """While a test runs: falling back to NumPy is an error. Not while tests are collected and set up."""
    return importlib.import_module("lazynp.config").config(strict=True)


def lenient() -> None:
    """In strict mode the comparisons of `numpy.testing` may use NumPy: the code under test may not."""
    config = importlib.import_module("lazynp.config").config
    utils = importlib.import_module("lazynp.testing._private.utils")

    def free(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            before, config.strict = config.strict, False
            try:
                return function(*args, **kwargs)
            finally:
                config.strict = before

        return call

    for name in VALUES_ONLY:
        ours = free(getattr(utils, name))
        for module in (utils, sys.modules["lazynp.testing"], sys.modules["lazynp.testing._private"]):
            if hasattr(module, name):
                setattr(module, name, ours)


def swap_imports() -> None:
    """Test modules of NumPy that are imported from now on get lazynp for numpy."""
    swap = importlib.import_module("lazynp.swap")
    swap.install()
    plain_import = builtins.__import__
    importlib.import_module("lazynp._core._multiarray_tests")  # as NumPy's conftest does of its own

    def swapped(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        if level and globals is not None:
            name, level = importlib.util.resolve_name("." * level + name, globals["__package__"]), 0
        if name.partition(".")[0] != "numpy" or type(fromlist) is list:  # a list comes from C code (pickle)
            return plain_import(name, globals, locals, fromlist, level)
        module = plain_import(swap.renamed(name), globals, locals, fromlist)
        return module if fromlist else sys.modules["lazynp"]

    own = {**vars(builtins), "__import__": swapped}
    plain = AssertionRewritingHook.exec_module

    def exec_module(self: Any, module: types.ModuleType) -> None:
        spec = module.__spec__
        path = pathlib.Path(spec.origin) if spec is not None and spec.origin else None
        if path is not None and scope.ROOT in path.parents and path.name.startswith("test_"):
            module.__dict__["__builtins__"] = own
        plain(self, module)

    AssertionRewritingHook.exec_module = exec_module  # type: ignore[method-assign]


class TooLong(Exception):
    """A test took longer than it may."""


class Recorder:
    """The pytest plugin: a line when a test starts, and one when it ends."""

    def __init__(
        self,
        out: pathlib.Path,
        done: set[str],
        seconds: float,
        around: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext,
    ) -> None:
        """`around` makes what surrounds the code of each test."""
        self.out, self.done, self.seconds, self.around = out.open("a", buffering=1), done, seconds, around
        self.before = (0, 0, 0)
        self.row: dict[str, Any] = {}

    def write(self, **row: Any) -> None:
        self.out.write(json.dumps(row) + "\n")

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        ids = [named(i.nodeid) for i in items]
        items[:] = [i for i, name in zip(items, ids) if name not in self.done]
        self.write(collected=len(ids))

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.write(collect_error=text_of(report))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        self.write(start=named(item.nodeid))
        self.row = {"test": named(item.nodeid), "outcome": "passed", "seconds": 0.0, "numeric": is_numeric(item)}
        self.before = counts.now()
        set_timers(self.seconds)
        try:
            return (yield)
        finally:
            set_timers(0)
            arrays, calls, recorded = (a - b for a, b in zip(counts.now(), self.before))
            self.write(**self.row, arrays=arrays, calls=calls, recorded=recorded)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Any:
        with self.around():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        report = yield
        row = self.row
        row["seconds"] = round(row["seconds"] + report.duration, 4)
        if hasattr(report, "wasxfail"):
            row["outcome"] = "xfailed" if report.skipped else "xpassed"
        elif report.failed:
            row.update(outcome="failed" if report.when == "call" else "error", text=text_of(report), at=place(call))
            error = call.excinfo.value if call.excinfo is not None else None
            # NumPy has errors with classes of dtypes there
            stopped_by = error.dtypes if type(error).__name__ == "HostFallbackError" else ()
            row["numeric"] &= all(dtype.kind in scope.NUMERIC_KINDS for dtype in stopped_by)
        elif report.skipped:
            row["outcome"] = "skipped"
        return report


def is_numeric(item: Any) -> bool:
    """Whether a test is of numeric dtypes alone: see `scope.NUMERIC`."""
    try:
        source = inspect.getsource(item.function)
    except (AttributeError, OSError, TypeError):
        source = ""
    return scope.is_numeric(source, named(item.nodeid))


def named(nodeid: str) -> str:
    """A test's name within its module, as it is under NumPy: some have the name of a module among their parameters."""
    return (nodeid.split("::", 1)[1] if "::" in nodeid else nodeid).replace("lazynp", "numpy")


def text_of(report: Any) -> str:
    crash = getattr(getattr(report, "longrepr", None), "reprcrash", None)
    return str(crash.message if crash is not None else report.longrepr)[:WORDS]


def place(call: Any) -> str:
    """The innermost frames of an error, ours before the tests'."""
    frames = [(e.path, e.lineno + 1) for e in call.excinfo.traceback] if call.excinfo is not None else []
    shown = [f"{pathlib.Path(p).parent.name}/{pathlib.Path(p).name}:{n}" for p, n in frames]
    return " < ".join(reversed(shown[-4:]))


def set_timers(seconds: float) -> None:
    """Raise TooLong after so many seconds, and again and again in case somebody catches it; 0: never mind."""
    signal.setitimer(signal.ITIMER_PROF, seconds, seconds and 5)
    signal.setitimer(signal.ITIMER_REAL, 5 * seconds, seconds and 5)


def late(*_: Any) -> None:
    raise TooLong(f"more than {TEST_SECONDS:g} s")


def main(mode: str, module: str, out: str) -> int:
    """Run one module; the exit status is pytest's."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    faulthandler.enable()
    threading.stack_size(16 << 20)  # 500 threads take half of MEMORY
    target = pathlib.Path(out)
    done = {row["test"] for row in map(json.loads, target.read_text().splitlines()) if "test" in row}
    if mode != "numpy":
        importlib.import_module("lazynp")
        swap_imports()
        watch()
        if mode == "strict":
            lenient()
    signal.signal(signal.SIGALRM, late)
    signal.signal(signal.SIGPROF, late)
    # The native traceback: pytest's own parses the whole test module for each failure, and strict mode has thousands.
    options = ["-q", "-q", "--no-header", "--tb=native", "-p", "no:cacheprovider", "-p", "no:xdist", "-c", "/dev/null"]
    for ignored in ("the matrix subclass is not", "Importing from numpy.matlib is"):  # as `numpy.test()` does
        options.append(f"-Wignore:{ignored}")
    begun = time.perf_counter()
    plugin = Recorder(target, done, TEST_SECONDS, strict if mode == "strict" else contextlib.nullcontext)
    status = pytest.main([*options, f"--rootdir={scope.ROOT}", str(scope.ROOT / module)], plugins=[plugin])
    if status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
        plugin.write(finished=round(time.perf_counter() - begun, 2), status=int(status))
    return int(status)


if __name__ == "__main__":
    sys.stdout.flush()
    code = main(*sys.argv[1:4])
    sys.stdout.flush()
    sys.exit(code)
