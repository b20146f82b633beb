"""Warnings of NumPy that are of the line that called us.

NumPy names the innermost line of Python in a warning, which is ours where Python code of ours calls it. So for such a
call it is asked to log what it would warn of, and the warning is given here, for the first line that is not ours."""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy

from .. import notices

STATE: Any = numpy._core.umath._extobj_contextvar  # what `numpy.errstate` sets, without its cost
PREFIX = "Warning: "


def level_of_other() -> int:
    """The `stacklevel`, seen from the caller of this function, of the innermost line that is not ours."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(notices.OURS):
        frame = frame.f_back
        level += 1
    return level


SHOW: Any = getattr(warnings, "_showwarnmsg_impl", None)
SHOW_OF_USERS: Any = getattr(warnings, "_showwarning_orig", warnings.showwarning)
SHOWN = frozenset({"always", "all", "default", "module", "once"})
FILTERS: Any = getattr(warnings, "_get_filters", lambda: warnings.filters)  # of the context, from Python 3.14 on


def make_errors(filters: list[Any]) -> bool:
    """Whether a warning of floating-point arithmetic may become an error: `simplefilter("error")`, `-W error`."""
    for action, text, kind, module, _ in filters:
        if issubclass(RuntimeWarning, kind):
            if action == "error":
                return True
            if text is None is module:
                break
    return False


filtered: list[Any] = [None, 0, False, False]
"""The first of the filters that were looked at, their number, whether it asks for all warnings, whether they make
errors."""


def are_told() -> bool:
    """Whether the program does something with warnings as they happen: a filter makes errors of them, or they go to a
    list or a function of the program's (`catch_warnings(record=True)`, `warnings.showwarning`), all of them: a filter
    that shows them, "always" say, stands before all others."""
    filters = FILTERS()
    if not filters:
        return False
    if filters[0] is not filtered[0] or len(filters) != filtered[1]:
        action, text, kind, module, _ = filters[0]
        every = action in SHOWN and text is None is module and issubclass(RuntimeWarning, kind)
        filtered[:] = filters[0], len(filters), every, make_errors(filters)
    return filtered[3] or filtered[2] and is_shown_elsewhere()


def is_shown_elsewhere() -> bool:
    """Whether warnings go to another place than Python's: `catch_warnings` exchanges the one, programs the other."""
    return getattr(warnings, "_showwarnmsg_impl", None) is not SHOW or warnings.showwarning is not SHOW_OF_USERS


class Log:
    """What NumPy logs to."""

    @staticmethod
    def write(text: str) -> None:
        """Warn of one kind of error. Raises where a filter says so, and NumPy hands that on."""
        warnings.warn(text.removeprefix(PREFIX).rstrip("\n"), RuntimeWarning, stacklevel=level_of_other())


LOG = Log()
KINDS = {"divide by zero": "divide", "overflow": "over", "underflow": "under", "invalid value": "invalid"}


class Shared(Log):
    """What NumPy tells of some kinds of errors, and what it would warn of: `given` is the program's own, `modes` are
    those of `numpy.geterr`."""

    def __init__(self, given: Any, modes: Any) -> None:
        self.given = given
        self.logged = [text for text, kind in KINDS.items() if modes[kind] == "log"]

    def __call__(self, kind: str, flag: int) -> None:
        self.given(kind, flag)

    def write(self, text: str) -> None:  # type: ignore[override]
        """To the program's log, or a warning."""
        if text.removeprefix(PREFIX).startswith(tuple(self.logged)):
            self.given.write(text)
        else:
            Log.write(text)


last: list[tuple[Any, Any]] = [(None, None)]
"""A state of `numpy.errstate`, and the one that logs where it warns: None if it warns of nothing."""


def logging_state(state: Any) -> Any:
    """See `last`. The state is the current one."""
    known, logs = last[0]
    if state is known:
        return logs
    modes = numpy.geterr()
    logs = None
    if "warn" in modes.values():
        told: dict[str, Any] = {kind: "log" for kind, mode in modes.items() if mode == "warn"}
        shared = {"call", "log"} & set(modes.values())
        with numpy.errstate(call=Shared(numpy.geterrcall(), modes) if shared else LOG, **told):
            logs = STATE.get()
    last[0] = state, logs
    return logs


def at_line(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`function(*args, **kwargs)`, NumPy's, with its warnings of floating-point errors at the line of our caller."""
    logs = logging_state(STATE.get())
    if logs is None:
        return function(*args, **kwargs)
    token = STATE.set(logs)
    try:
        return function(*args, **kwargs)
    finally:
        STATE.reset(token)


CALL = (lambda function, args, kwargs: function(*args, **kwargs)).__code__
MOST_LINES = 1024
lines: dict[tuple[types.CodeType, int | None], types.FunctionType] = {}
"""`CALL` as if it stood in a line that is not ours, with the namespace of that line."""


def as_line(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`function(*args, **kwargs)`, NumPy's, called as if by the first line that is not ours: all its warnings are of
    that line, also those that it cannot be asked to log. It costs a microsecond more than `at_line`."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(notices.OURS):
        frame = frame.f_back
    code, line = frame.f_code, frame.f_lineno
    call = lines.get((code, line))
    if call is None or call.__globals__ is not frame.f_globals:
        if len(lines) >= MOST_LINES:
            lines.clear()
        there = CALL.replace(co_filename=code.co_filename, co_firstlineno=line or 1)
        call = lines[code, line] = types.FunctionType(there, frame.f_globals)
    del frame, code  # an error holds this frame, and nothing here may hold the error
    try:
        return call(function, args, kwargs)
    except BaseException as error:
        trace = error.__traceback__
        if trace is not None and trace.tb_next is not None:  # ours, and then that line once more
            error.__traceback__ = trace.tb_next.tb_next
        del trace
        raise


class Warnings:
    """What re-hosted code gets for `warnings`. By `stacklevel` it says how many frames lie between it and the user's
    line where NumPy calls it from C: those of lazynp, which lie there too, are not counted."""

    def __getattr__(self, name: str) -> Any:
        return getattr(warnings, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(warnings, name, value)

    @staticmethod
    def warn(message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **kwargs: Any) -> None:
        """See `warnings.warn`."""
        level = 1 + notices.level_without_ours(stacklevel)
        warnings.warn(message, category, stacklevel=level, source=source, **kwargs)


WARNINGS = Warnings()

_methods: Any = {**vars(numpy._core._methods), "warnings": WARNINGS}  # type: ignore[attr-defined]
METHODS: dict[str, Callable[..., Any]] = {}
"""What the methods `mean`, `var` and `std` of NumPy's arrays call, with warnings at the line of our caller."""
for _name in ("mean", "var", "std"):
    _function = _methods[f"_{_name}"]
    _methods[f"_{_name}"] = METHODS[_name] = types.FunctionType(
        _function.__code__, _methods, _function.__name__, _function.__defaults__
    )
    METHODS[_name].__kwdefaults__ = _function.__kwdefaults__
