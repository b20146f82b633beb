"""How long things take: `synchronize`, `block_until_ready`, `benchmark`. Loaded when one of them is first asked for.

A call of lazynp may return before its work is done, so a clock around it reads too little. What is measured here has
been computed when the clock stops.
"""

from __future__ import annotations

import functools
import importlib
import statistics
import sys
import time
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy

from .api.jit import Jit
from .config import config
from .graph.node import ABSTRACT
from .numpy.array import ndarray
from .runtime.device import devices
from .runtime.kernels import compile_wait
from .runtime.profile import profile
from .runtime.recorder import recorder
from .speed import native
from .tracebacks import boundary

ROUND = 0.005  # seconds that one round takes at least: a clock's own time is nothing beside it
ROUNDS = 7  # at least
WARM_UPS = 20  # at most, of a function for which something new is compiled each time
PATIENCE = 120.0  # seconds that compilers may take in all
WARM = 0.2  # seconds at least of calls before anything is measured: loops have to show that they are some


def synchronize() -> None:
    """Return when all that this program has asked for is computed.

    Everything that is pending, behind either door, is run, and a GPU is waited for. What is being compiled is not:
    `compile_wait` does that.
    """
    if native is not None:
        native.replay_settle()
    recorder.flush()
    if devices.used and "torch" in sys.modules and sys.modules["torch"].cuda.is_available():
        sys.modules["torch"].cuda.synchronize()


def block_until_ready(x: Any) -> Any:
    """The method of that name of the NumPy door's arrays: `x`, once its value is computed. A traced array is returned
    as it is."""
    node = x._s_.node
    if node is not None and node.trace == ABSTRACT:
        return x
    if devices.used:  # where it is: not copied to the host
        synchronize()
    else:
        x._host_()
    return x


class Timing:
    """What `benchmark` has measured.

    Attributes:
        seconds: of one call, in each round.
        numpy_seconds: the same of NumPy; empty where there is nothing to compare with, and `why` says why.
        calls: how many a round has; warm_ups: how many calls came before.
        compiled: kernel calls in compiled code, of one call of the function; interpreted: those that were not.
        compiling: whether compilers were not done when the measurement began: another one may be faster.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.seconds: list[float] = []
        self.numpy_seconds: list[float] = []
        self.calls = self.warm_ups = self.compiled = self.interpreted = 0
        self.compiling = False
        self.why = ""

    @property
    def median(self) -> float:
        """Seconds of one call: half of the rounds took less."""
        return statistics.median(self.seconds)

    @property
    def ratio(self) -> float | None:
        """NumPy's median over lazynp's: over 1 is faster than NumPy. None where NumPy was not measured."""
        return statistics.median(self.numpy_seconds) / self.median if self.numpy_seconds else None

    def __repr__(self) -> str:
        beside = "" if self.ratio is None else f", {self.ratio:.2f} × NumPy"
        return f"<Timing of {self.name}: {duration(self.median)}{beside}>"

    def __str__(self) -> str:
        rounds = f"median of {len(self.seconds)} rounds of {self.calls:,} call{'s' if self.calls > 1 else ''}"
        lines = [f"{self.name}: {rounds}, after {self.warm_ups:,} to warm up", f"  lazynp  {spread(self.seconds)}"]
        if self.numpy_seconds:
            pairs = sorted(theirs / ours for ours, theirs in zip(self.seconds, self.numpy_seconds))
            lines.append(f"  NumPy   {spread(self.numpy_seconds)}")
            lines.append(f"  ratio   {self.ratio:.2f} × NumPy's speed (rounds: {pairs[0]:.2f} to {pairs[-1]:.2f})")
        else:
            lines.append(f"  NumPy   not measured: {self.why}")
        if self.compiled or self.interpreted:
            lines.append(f"  kernels {self.compiled} compiled, {self.interpreted} interpreted, in a call")
        if self.compiling:
            lines.append("  compilers were not done: measure again")
        return "\n".join(lines)


def duration(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def spread(seconds: list[float]) -> str:
    """The median, and between what the middle half and all of the rounds lie."""
    low, _, high = statistics.quantiles(seconds, n=4)
    shown = [duration(s) for s in (statistics.median(seconds), low, high, min(seconds), max(seconds))]
    return "{:>9}   half of the rounds: {} to {}, all: {} to {}".format(*shown)


@boundary
def benchmark(
    f: Callable[..., Any],
    *args: Any,
    seconds: float = 1.0,
    beside: Callable[..., Any] | bool = True,
    show: bool = True,
    **kwargs: Any,
) -> Timing:
    """Measure how long `f(*args, **kwargs)` takes, its results computed, and print it beside NumPy.

    First it is called until nothing new is compiled, and compilers are waited for. Then rounds of calls are timed,
    with lazynp and with NumPy in turns, so that what else the machine does meets both.

    Args:
        f: a function. It is called many times, with the same arguments, into which it may write.
        seconds: how long to measure, of each.
        beside: what to compare with. True: f on NumPy, that is, with NumPy's modules, functions and arrays where its
            code has lazynp's; a function: that one, with NumPy's arrays for arguments; False: nothing.
        show: whether to print it.

    Returns:
        The `Timing`. Raises what f raises.
    """
    timing = Timing(getattr(f, "__name__", type(f).__name__))
    ours = functools.partial(f, *args, **kwargs)
    theirs: Callable[[], Any] | None = None
    if beside is False:
        timing.why = "not asked for"
    else:
        try:
            of_numpy = Translation()
            function = of_numpy(f) if beside is True else beside
            theirs = functools.partial(function, *map(of_numpy, args), **{k: of_numpy(v) for k, v in kwargs.items()})
            theirs()
        except Exception as error:  # lazynp's own functions, say, which NumPy does not have
            theirs = None
            timing.why = str(error) if type(error) is LookupError else f"{type(error).__name__}: {error}"
    with config(compile_after=0.0, compile_nice=0):  # the program waits for the compiler: it need not be polite
        warm_up(ours, timing)
        timing.calls = calls_in(ours, synchronize)
        theirs_calls = calls_in(theirs, nothing) if theirs is not None else 0
        idle = idle_time()
        end = time.perf_counter() + seconds * (1 if theirs is None else 2)
        while len(timing.seconds) < ROUNDS or time.perf_counter() < end:
            timing.seconds.append(clock(ours, timing.calls, synchronize, idle))
            if theirs is not None:
                timing.numpy_seconds.append(clock(theirs, theirs_calls, nothing))
    if show:
        print(timing)
    return timing


def nothing() -> None:
    """What NumPy has to wait for."""


def clock(f: Callable[[], Any], calls: int, wait: Callable[[], None], idle: float = 0.0) -> float:
    """Seconds of one call, of so many; `idle`: of which this is the time of a wait that has nothing to wait for."""
    start = time.perf_counter()
    for _ in range(calls):
        result = f()
        wait()
    took = time.perf_counter() - start
    del result
    return max(took / calls - idle, took / calls / 10)


def idle_time() -> float:
    """Seconds of a `synchronize` with nothing pending, which are as many as those of adding two small arrays."""
    times = [clock(nothing, 1000, synchronize) - clock(nothing, 1000, nothing) for _ in range(ROUNDS)]
    return max(0.0, min(times))


def calls_in(f: Callable[[], Any], wait: Callable[[], None]) -> int:
    """How many calls make a round."""
    calls = 1
    while (took := clock(f, calls, wait) * calls) < ROUND:
        calls = max(2 * calls, min(10 * calls, round(calls * ROUND / max(took, 1e-9))))
    return calls


def warm_up(f: Callable[[], Any], timing: Timing) -> None:
    """Call it until nothing new is compiled."""
    start, quiet, patience = time.perf_counter(), 0, PATIENCE
    while quiet < 2 and timing.warm_ups < WARM_UPS or time.perf_counter() - start < WARM:
        before = counts()
        clock(f, 1, synchronize)
        timing.warm_ups += 1
        waited = time.perf_counter()
        timing.compiling = not compile_wait(max(0.0, patience))
        patience -= time.perf_counter() - waited
        after = counts()
        quiet = quiet + 1 if after["made"] == before["made"] else 0
        timing.compiled = after["compiled"] - before["compiled"]
        timing.interpreted = after["interpreted"] - before["interpreted"]


def counts() -> dict[str, int]:
    figures = profile.snapshot()
    made = figures["kernels"] + figures["plans"] + len(figures["compiles"])
    return {"made": made, "compiled": figures["compiled"], "interpreted": figures["interpreted"]}


class Translation:
    """NumPy's object for each of lazynp's: modules, functions, arrays; and users' functions whose code names such."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[Any, Any]] = {}  # by id, and the object, which so keeps it

    def __call__(self, x: Any) -> Any:
        if id(x) in self.known:
            return self.known[id(x)][1]
        new = self.translated(x)
        self.known[id(x)] = x, new
        return new

    def translated(self, x: Any) -> Any:
        if type(x) is ndarray:
            return numpy.array(x)
        if type(x) in (list, tuple):
            return x if all(self(y) is y for y in x) else type(x)(map(self, x))
        if type(x) is dict:
            return x if all(self(y) is y for y in x.values()) else {key: self(value) for key, value in x.items()}
        if isinstance(x, types.ModuleType):
            return counterpart(x) if is_ours(x.__name__) else x
        if isinstance(x, Jit):
            return self(x.__wrapped__)  # type: ignore[attr-defined]
        if isinstance(x, types.FunctionType) and not is_ours(x.__globals__.get("__name__", "")):
            return self.function(x)
        if is_ours(str(getattr(x, "__module__", ""))) or is_ours(getattr(x, "__globals__", {}).get("__name__", "")):
            return counterpart(x)
        if is_ours(type(x).__module__):
            raise LookupError(f"NumPy has nothing like a {type(x).__name__}")
        if isinstance(x, functools.partial):
            return functools.partial(self(x.func), *map(self, x.args), **{k: self(v) for k, v in x.keywords.items()})
        return x

    def function(self, f: types.FunctionType) -> Any:
        """A user's function over NumPy: its code, with other globals where it, or what it calls, names lazynp."""
        names = set(named(f.__code__)) & f.__globals__.keys()
        scope = dict(f.__globals__)
        new = types.FunctionType(f.__code__, scope, f.__name__, f.__defaults__, f.__closure__)
        self.known[id(f)] = f, new  # before what it calls, which may be itself
        scope.update({name: self(f.__globals__[name]) for name in names})
        if f.__closure__:
            cells = tuple([types.CellType(self(cell.cell_contents)) for cell in f.__closure__])
            closed = types.FunctionType(f.__code__, scope, f.__name__, f.__defaults__, cells)
            self.known[id(f)] = f, closed
            new = closed
        new.__defaults__ = None if f.__defaults__ is None else tuple(map(self, f.__defaults__))
        new.__kwdefaults__ = self(f.__kwdefaults__)
        return new


def named(code: types.CodeType) -> Iterable[str]:
    """The names in a function's code and in the functions within it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from named(constant)


def is_ours(module: str) -> bool:
    return module == "lazynp" or module.startswith("lazynp.")


def counterpart(x: Any) -> Any:
    """NumPy's object for one of lazynp's namespaces. Raises LookupError where NumPy has none."""
    name = getattr(x, "__name__", "")
    if isinstance(x, types.ModuleType):
        try:
            return importlib.import_module("numpy" + name[len("lazynp") :])
        except ImportError:
            raise LookupError(f"NumPy has nothing like {name}") from None
    for module in ("", ".linalg", ".fft", ".random", ".ma", ".strings", ".testing"):
        if getattr(sys.modules.get(f"lazynp{module}"), name, None) is x:
            return getattr(importlib.import_module(f"numpy{module}"), name)
    raise LookupError(f"NumPy has nothing like {name or x!r}")
