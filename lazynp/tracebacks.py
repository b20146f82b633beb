"""Tracebacks end at the user's line: an error that leaves this package leaves the package's frames behind.

Whoever calls a function of NumPy's that is written in C sees his own line, and then the error. So it is here. An
exception gets an entry for each frame that it passes, so entries of ours can go once it has passed our outermost one.
`leave` takes them away. It stands where errors leave: where C calls Python functions of ours, in the outermost frames
of what is called through a function of ours anyway, and in `boundary`. Nothing of it runs without an error.

Plain functions that users call are `bounded`: an object of C stands around each, and around those that it returns.
Without the C module they keep their entries, as a wrapper in Python would cost every call. `install` has these taken
away where tracebacks are printed, by Python, by threads and by IPython: it changes hooks of the whole process, so it is
for `python -m lazynp` and `%load_ext lazynp`, whose process it is.

`config.full_tracebacks` keeps everything.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import threading
from collections.abc import Callable
from types import FrameType, FunctionType, TracebackType
from typing import Any, TypeGuard, TypeVar

import numpy

from .config import config
from .speed import calls

F = TypeVar("F", bound=Callable[..., Any])
PACKAGE = __name__.partition(".")[0]
FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
QUIET = (FOLDER, os.path.dirname(numpy.__file__) + os.sep)  # whose lines are not the user's
SHOWN = tuple([f"{PACKAGE}.{part}" for part in ("api.", "doors", "jax.")])
OURS = (PACKAGE, "numpy")
# What our functions call in turn. Their frames are hidden below ours; called by the user, they are the user's.
HELPERS = sys.stdlib_module_names | {"ml_dtypes", "opt_einsum", "optree", "scipy", "threadpoolctl", "torch"}


def package_of(frame: FrameType) -> str:
    """The top-level package whose code a frame runs; ours for text of NumPy's that is executed as part of us."""
    if frame.f_code.co_filename.startswith(FOLDER):
        return PACKAGE
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def is_quiet(file: str, module: object) -> bool:
    """Whether code is this package's or NumPy's, whose text the NumPy door runs, and not the user's.

    Methods that `dataclasses` and `collections` make have no file: they are of the module that they run in, or of one
    that is named after their class, and then no line of theirs is anyone's.
    """
    if not file.startswith("<"):
        return file.startswith(QUIET)
    name = str(module)
    return file.startswith("<frozen") or name.partition(".")[0] in OURS or name.startswith("namedtuple_")


def user_site() -> tuple[str, int]:
    """File and line of the innermost frame outside this package and NumPy's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and is_quiet(frame.f_code.co_filename, frame.f_globals.get("__name__")):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def name_line(error: BaseException, site: tuple[str, int] | None) -> None:
    """Have an error name the line that recorded what failed, where that is not the line at which it is raised."""
    if site is not None and site != user_site():
        note = f"recorded at {site[0]}:{site[1]}"
        if note not in getattr(error, "__notes__", ()):  # of one that a callback raises again and again
            error.add_note(note)


def trimmed(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without our entries, and without those of what our functions call; None where nothing is left."""
    kept: list[TracebackType] = []
    inside, hidden = False, 0
    at = trace
    while at is not None:
        package = package_of(at.tb_frame)
        inside = package in OURS or (inside and package in HELPERS)
        if inside:
            hidden += 1
        else:
            kept.append(at)
        at = at.tb_next
    if not hidden:
        return trace
    out: TracebackType | None = None
    for at in reversed(kept):
        out = TracebackType(out, at.tb_frame, at.tb_lasti, at.tb_lineno)
    return out


def inner(trace: TracebackType | None) -> TracebackType | None:
    """The part of a kept error's traceback that comes again each time that it is raised: not who asked before."""
    while trace is not None and package_of(trace.tb_frame) != PACKAGE:
        trace = trace.tb_next
    return trace


def leave(error: BaseException) -> None:
    """Take our entries out of an error's traceback, and drop the errors that it came of, if they were raised and caught
    inside of this package: as `raise ... from None` does."""
    if config.full_tracebacks:
        return
    error.__traceback__ = trimmed(error.__traceback__)
    at: BaseException = error
    seen = {id(error)}
    while at.__context__ is not None and id(at.__context__) not in seen:
        before = at.__context__
        seen.add(id(before))
        rest = trimmed(before.__traceback__)
        if rest is None and before.__traceback__ is not None:
            at.__context__ = before.__context__
            if at.__cause__ is before:  # which is said on purpose, and stays without our frames
                before.__traceback__ = None
        else:
            before.__traceback__ = rest
            at = before


def boundary(function: F) -> F:
    """The function, with its errors leaving this package."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            leave(error)
            raise  # which adds no entry: this frame's was added, and taken away, when the error came here

    return call  # type: ignore[return-value]


bounds: dict[Callable[..., Any], Any] = {}
"""What users call, for each public function that has been given to `bounded`."""
places: dict[Callable[..., Any], tuple[str, str]] = {}
"""The public module that has it, and its name there."""


def found(module: str, name: str) -> Any:
    """What a public module has of that name."""
    return getattr(importlib.import_module(module), name)


def reduced(function: Callable[..., Any]) -> tuple[Any, tuple[Any, ...]]:
    """What `pickle` and `copy` keep of a bounded function: where it is."""
    return (found, places[function]) if function in places else (bounded, (function,))


def bounded(
    function: F,
    known: Callable[..., Any] | None = None,
    cold: type | None = None,
    shown: Callable[..., Any] | None = None,
) -> F:
    """A public function as users call it: its errors leave this package. What calls it is C, and costs a tenth of what
    `boundary` does; without the C module it is the function itself, which keeps its frames.

    Args:
        known: what is called first, the first time that the function is given. Where it gives an object of the class
            `cold`, the function is called, and the object's `took` with the seconds that it took.
        shown: what is called instead while graphs are traced to be shown.
    """
    if calls is None:
        return function
    if function not in bounds:
        bounds[function] = calls.Boundary(function, known, cold, shown)
    return bounds[function]


def is_own(value: Any) -> TypeGuard[FunctionType]:
    """Whether it is a plain function of ours that users may call: of a door, or of what doors show."""
    return isinstance(value, FunctionType) and str(value.__globals__.get("__name__")).startswith(SHOWN)


def bound_all(names: dict[str, Any], but: tuple[str, ...] = ()) -> None:
    """Have the errors of a public module's functions leave this package, and those of its classes' methods. It is to be
    called at its end, with its globals. `but`: the modules whose methods stay as they are."""
    for name, value in list(names.items()):
        if name.startswith("_"):
            continue
        if is_own(value):
            names[name] = bounded(value)
            places.setdefault(value, (names["__name__"], name))
            continue
        for cls in (*(value.__mro__ if isinstance(value, type) else ()), *type(value).__mro__):
            bound_methods(cls, but)


def bound_methods(cls: type, but: tuple[str, ...] = ()) -> None:
    """The same of a class's own public methods, those of some modules aside."""
    for name, value in list(vars(cls).items()):
        public = not name.startswith("_") or name.startswith("__")
        if public and is_own(value) and value.__globals__["__name__"] not in but:
            setattr(cls, name, bounded(value))


def show(error: BaseException | None) -> None:
    """Before an error is printed that nobody has caught. One that is ours alone keeps its entries."""
    if error is not None and (config.full_tracebacks or trimmed(error.__traceback__) is not None):
        leave(error)


class Installed:
    """Whether the hooks stand."""

    on = False


def install() -> None:
    """Have uncaught errors printed without our frames: of scripts and the prompt, of threads, of IPython's cells."""
    in_ipython(getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)())
    if Installed.on:
        return
    Installed.on = True
    printed, printed_of_thread = sys.excepthook, threading.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        show(error)
        printed(kind, error, trace if error is None else error.__traceback__)

    def thread_excepthook(args: Any) -> None:
        show(args.exc_value)
        trace = args.exc_traceback if args.exc_value is None else args.exc_value.__traceback__
        printed_of_thread(threading.ExceptHookArgs((args.exc_type, args.exc_value, trace, args.thread)))

    sys.excepthook, threading.excepthook = excepthook, thread_excepthook


def in_ipython(shell: Any) -> None:
    """The same for the cells of a running IPython, if there is one."""
    shown = getattr(shell, "showtraceback", None)
    if shown is None or hasattr(shown, "__wrapped__"):
        return

    @functools.wraps(shown)
    def showtraceback(*args: Any, **kwargs: Any) -> Any:
        show(sys.exc_info()[1])
        return shown(*args, **kwargs)

    shell.showtraceback = showtraceback


COMPUTING = frozenset({"lazynp", "numpy", "ml_dtypes", "torch"})


def of_a_handler(error: BaseException) -> bool:
    """Whether an error was raised in the midst of a computation by code that does not compute: a signal's handler."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    name = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))
    return name.partition(".")[0] not in COMPUTING
