"""`python -m lazynp doctor`: what lazynp finds on this machine, what makes it slower, and how to mend that.
`python -m lazynp cache`: the folder of compiled kernels."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy
import threadpoolctl

import lazynp

from .backends import artifacts, gcc
from .backends.compiled import threads
from .backends.support import CORES
from .config import SETTINGS, config, memory
from .numpy.supported import NEWEST, OLDEST, VERSION
from .timing import benchmark

C_MODULES = {
    "_speed": "operations on small arrays",
    "_calls": "calls of jitted functions",
    "_blocks": "kernels that are not compiled yet",
    "_keyed": "random numbers of keys",
    "_adapters": "functions of libraries that take our arrays",
    "_apart": "compilers that never hold the program's files",
}
PACKAGES = ("scipy", "ml_dtypes", "opt_einsum", "optree", "threadpoolctl")
TRIAL = '#include <cmath>\nextern "C" double f(double x) { return std::sin(x); }\n'
SMALL, LARGE = 10, 1_000_000  # elements of the arrays that are measured
SLOW = 1.5  # times NumPy's time, from which an operation is called slow
NAME_WIDTH = 20


class Advice(NamedTuple):
    """Something that makes lazynp slower than it could be, and what to do about it."""

    what: str
    remedy: str


class Report:
    """What was found: lines under titles, and advice."""

    def __init__(self) -> None:
        self.sections: list[tuple[str, list[tuple[str, str]]]] = []
        self.advice: list[Advice] = []

    def section(self, title: str) -> None:
        self.sections.append((title, []))

    def say(self, name: str, text: object) -> None:
        self.sections[-1][1].append((name, str(text)))

    def advise(self, what: str, remedy: str) -> None:
        self.advice.append(Advice(what, remedy))

    def __str__(self) -> str:
        lines = []
        for title, entries in self.sections:
            lines += [title, *[f"  {name:<{NAME_WIDTH}}{text}" for name, text in entries], ""]
        lines.append(
            "What is slow, and how to mend it" if self.advice else "Nothing was found that makes lazynp slower."
        )
        for number, (what, remedy) in enumerate(self.advice, 1):
            lines += [f"  {number}. {what}", f"     {remedy}"]
        return "\n".join(lines)


def examine() -> Report:
    """Look at everything."""
    report = Report()
    for part in (versions, processor, compiler, c_modules, cache, in_use, speed):
        part(report)
    return report


def version_of(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def versions(report: Report) -> None:
    report.section("Versions")
    report.say("lazynp", f"{lazynp.lazynp_version}, in {os.path.dirname(lazynp.__file__)}")
    report.say("Python", f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}")
    report.say("NumPy", numpy.__version__)
    for package in PACKAGES:
        report.say(package, version_of(package) or "not installed")
    report.say("torch", version_of("torch") or "not installed")
    report.say("system", platform.platform())
    if not version_of("scipy"):
        report.advise(
            "without scipy some functions of jax.scipy.linalg (schur, hessenberg, qr with pivots) raise ImportError",
            "pip install 'lazynp[torch]', or scipy alone",
        )
    if not OLDEST <= VERSION <= NEWEST:
        tested = " to ".join(f"{major}.{minor}" for major, minor in (OLDEST, NEWEST))
        report.advise(f"NumPy {numpy.__version__} is not one that lazynp is tested with", f"install one from {tested}")


def processor(report: Report) -> None:
    report.section("Processor")
    report.say("model", processor_name())
    report.say("cores", f"{CORES} of {os.cpu_count()} may be used")
    report.say("memory", size(memory()))
    allowed = quota()
    if allowed is not None:
        report.say("share", f"{allowed:g} cores, of this container")
        if allowed < threads():
            report.advise(
                f"{threads()} threads share {allowed:g} cores, since the container has no more",
                f"set LAZYNP_THREADS={max(1, int(allowed))}",
            )
    if busy() > CORES:
        report.advise(
            f"other programs are busy: {busy():.1f} of them want one of {CORES} cores",
            "compilers wait behind them: set LAZYNP_COMPILE_NICE=0",
        )


def processor_name() -> str:
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def busy() -> float:
    """How many programs, in the last minute, wanted to run."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def quota(path: str = "/sys/fs/cgroup/cpu.max") -> float | None:
    """How many cores the container may keep busy; None where there is no bound."""
    try:
        allowed, period = pathlib.Path(path).read_text().split()
        return int(allowed) / int(period)
    except (OSError, ValueError):
        return None


def compiler(report: Report) -> None:
    report.section("Compiling")
    path = artifacts.compiler_path()
    if path is None:
        report.say("C++ compiler", "none was found ($CXX, g++, c++)")
        report.advise(
            "without a C++ compiler nothing is compiled: kernels are interpreted, with NumPy's loops",
            "install g++ (Debian: apt install g++; conda: gxx), or name a compiler with CXX",
        )
    else:
        report.say("C++ compiler", f"{path}: {first_line(path)}")
        failed = trial(path)
        report.say("a trial", failed or "compiles")
        if failed:
            report.advise("the C++ compiler does not work, so nothing is compiled", "mend it, or name another with CXX")
    if not version_of("torch"):
        report.say("torch", "not installed")
        report.advise(
            "without torch nothing is compiled: kernels are interpreted, with NumPy's loops",
            "pip install 'lazynp[torch]' (first torch's build for the CPU, which is the smaller one)",
        )
    for name, slower in (("compile", False), ("replay", False), ("deterministic", True)):
        if getattr(config, name) is slower:
            report.say(name, slower)
            variable = SETTINGS[name].env
            report.advise(f"config.{name} is {slower}", f"unset {variable}, or set config.{name} to {not slower}")


def first_line(path: str) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=60)
        return done.stdout.partition("\n")[0]
    except (OSError, subprocess.SubprocessError) as error:
        return f"cannot be run ({error})"


def trial(path: str) -> str:
    """Why a small C++ program cannot be built; empty where it can."""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "trial.cpp")
        with open(source, "w") as file:
            file.write(TRIAL)
        target = os.path.join(folder, "trial.so")
        try:
            gcc.run([path, "-O2", "-shared", "-fPIC", artifacts.march(), source, "-o", target], folder)
        except gcc.BuildError as error:
            return f"fails: {str(error).strip()}"
    return ""


def c_modules(report: Report) -> None:
    report.section("C modules (optional: the same is done in Python without)")
    missing = []
    for name, what in C_MODULES.items():
        why = why_not(name)
        report.say(name, why or f"built: {what}")
        missing += [name] if why else []
    if missing and os.environ.get("LAZYNP_SPEED") == "0":
        report.advise("the C modules are switched off", "unset LAZYNP_SPEED")
    elif missing and (other := installed_elsewhere()):
        here = pathlib.Path(lazynp.__file__).parents[1]
        report.advise(
            f"this is lazynp's source in {here}, without its C modules, so small arrays take several times as long as "
            f"in NumPy; the lazynp that was installed is in {other}",
            "start Python in another folder, or in the checkout: pip install -e .",
        )
    elif missing:
        report.advise(
            f"{', '.join(missing)}: not built, so small arrays take several times as long as in NumPy",
            "with a C compiler and Python's headers: pip install --force-reinstall --no-deps --no-binary lazynp lazynp"
            " (in a checkout: pip install -e .)",
        )


def installed_elsewhere() -> str:
    """The folder of another lazynp that pip has installed, which the one of the current folder hides; else empty."""
    here = pathlib.Path(lazynp.__file__).resolve().parents[1]
    for found in importlib.metadata.distributions(name="lazynp"):
        folder = pathlib.Path(str(found.locate_file(""))).resolve()
        if folder != here and (folder / "lazynp" / "__init__.py").is_file():
            return str(folder)
    return ""


def why_not(name: str) -> str:
    """Why a C module is not used; empty where it is."""
    if os.environ.get("LAZYNP_SPEED", "1") == "0":
        return "switched off by LAZYNP_SPEED=0"
    if importlib.util.find_spec(f"lazynp.{name}") is None:
        others = sorted(p.name for p in pathlib.Path(lazynp.__file__).parent.glob(f"{name}.*.so"))
        return f"not built for this Python, but: {', '.join(others)}" if others else "not built"
    try:
        importlib.import_module(f"lazynp.{name}")
    except ImportError as error:
        return f"cannot be loaded: {error}"
    return ""


class Cache(NamedTuple):
    """What lies in the folder of compiled kernels."""

    folder: str  # empty: this user has no home folder
    kernels: int
    refused: int  # kernels that are known not to be compilable
    bytes: int
    last: float  # when one was used last; 0 where none is there
    problem: str  # why it is not used; empty where it is


def cache_folder() -> str:
    """Where compiled kernels are kept; empty where they are not."""
    named = config.cache_dir or artifacts.default_folder()
    return os.path.join(os.path.abspath(named), artifacts.NAME) if named else ""


def cache_info() -> Cache:
    """Count what is there. Makes nothing."""
    folder = cache_folder()
    if not folder:
        return Cache("", 0, 0, 0, 0.0, "this user has no home folder: set LAZYNP_CACHE_DIR")
    found: dict[str, set[str]] = {}
    total, last, problem = 0, 0.0, ""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                match = artifacts.ENTRY.fullmatch(entry.name)
                if match is not None:
                    found.setdefault(match[1], set()).add(match[2])
                    status = entry.stat(follow_symlinks=False)
                    total, last = total + status.st_size, max(last, status.st_mtime)
        if not os.access(folder, os.W_OK):
            problem = "the folder cannot be written to: what is compiled is kept for its process only"
    except FileNotFoundError:
        pass  # it is made with the first kernel
    except OSError as error:
        problem = f"the folder cannot be read: {error.strerror}"
    kernels = sum("so" in kinds for kinds in found.values())
    return Cache(folder, kernels, len(found) - kernels, total, last, problem)


def cache_lines() -> Iterator[tuple[str, str]]:
    """What `cache info` prints: names and texts."""
    info = cache_info()
    yield "folder", info.folder or "none"
    yield "kernels", f"{info.kernels:,} compiled, {info.refused:,} known not to be compilable"
    yield "size", f"{size(info.bytes)} of {size(config.cache_bytes)}"
    if info.last:
        yield "last used", time.strftime("%Y-%m-%d %H:%M", time.localtime(info.last))
    if info.problem:
        yield "problem", info.problem


def cache(report: Report) -> None:
    report.section("Compiled kernels on disk")
    for name, text in cache_lines():
        report.say(name, text)
    info, bound = cache_info(), config.cache_bytes
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        usable = artifacts.Artifacts().usable  # makes the folder, and says why it cannot be used
    problem = info.problem or "" if usable else str(said[-1].message) if said else "the folder cannot be used"
    if problem:
        report.advise(problem, "name a folder of your own with LAZYNP_CACHE_DIR")
    elif info.bytes > 0.9 * bound:
        report.advise(
            f"the cache is nearly full ({size(info.bytes)} of {size(bound)}): kernels are removed and compiled again",
            "set LAZYNP_CACHE_BYTES to more",
        )


def clear_cache() -> Cache:
    """Remove all kernels; what was there."""
    before = cache_info()
    if before.folder and os.path.isdir(before.folder):
        artifacts.Artifacts(limit=0).shrink()
    return before


def in_use(report: Report) -> None:
    report.section("Threads and settings")
    report.say("threads", f"{threads()} of kernels")
    for library in threadpoolctl.threadpool_info():
        name = library.get("internal_api", "?")
        report.say(library["user_api"], f"{name} {library.get('version') or ''}, {library['num_threads']} threads")
    if threads() == 1 < CORES:
        report.advise(f"kernels use one of {CORES} cores", "unset LAZYNP_THREADS")
    now = {name: getattr(config, name) for name in SETTINGS}
    changed = {name: value for name, value in now.items() if value != SETTINGS[name].default}
    for name, value in changed.items():
        report.say(name, f"{value!r} ({SETTINGS[name].env})")
    if not changed:
        report.say("settings", "all as they are by default")
    if config.mode != "auto":
        report.advise(f"config.mode is {config.mode!r}, which is for tests", "unset LAZYNP_MODE")


def add(x: Any, y: Any) -> Any:
    return x + y


def formula(x: Any, y: Any) -> Any:
    return (x * y + x) * 0.5 - y


def speed(report: Report) -> None:
    """Two operations beside NumPy. Nothing is compiled for it."""
    report.section("Speed, beside NumPy on this machine")
    trials: dict[str, tuple[Callable[..., Any], int]] = {
        f"{SMALL} elements": (add, SMALL),
        f"{LARGE:,} elements": (formula, LARGE),
    }
    with config(compile=False):
        for name, (f, n) in trials.items():
            x = lazynp.linspace(0.0, 1.0, n)
            ratio = benchmark(f, x, x + 1.0, seconds=0.1, beside=f, show=False).ratio
            assert ratio is not None
            what = "x + y" if f is add else "(x * y + x) * 0.5 - y, interpreted"
            report.say(name, f"{what}: {ratio:.2f} × NumPy's speed")
            if ratio < 1 / SLOW and busy() <= CORES:  # on a busy machine it says nothing
                report.advise(
                    f"{what} on {name} takes {1 / ratio:.1f} times as long as in NumPy", "see the other points"
                )


def size(count: float) -> str:
    """Bytes, for people."""
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def doctor(args: list[str]) -> int:
    """`python -m lazynp doctor`; the exit status: 1 where there is advice."""
    if args:
        print("usage: python -m lazynp doctor", file=sys.stderr)
        return 2
    report = examine()
    print(report)
    return 1 if report.advice else 0


def manage_cache(args: list[str]) -> int:
    """`python -m lazynp cache info|clear|path`; the exit status."""
    command = args[0] if len(args) == 1 else "" if args else "info"
    if command == "info":
        print("\n".join(f"{name:<{NAME_WIDTH}}{text}" for name, text in cache_lines()))
    elif command == "path":
        print(cache_folder())
    elif command == "clear":
        before = clear_cache()
        left = cache_info()
        gone, freed = before.kernels - left.kernels, before.bytes - left.bytes
        print(f"removed {gone:,} kernels, {size(freed)}, from {before.folder}")
        return 1 if left.kernels else 0
    else:
        print("usage: python -m lazynp cache [info|clear|path]", file=sys.stderr)
        return 2
    return 0
