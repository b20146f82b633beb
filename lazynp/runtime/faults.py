"""Errors that values are to blame for, and all others.

A singular matrix fails each time: its error belongs to the result. Short memory, Ctrl-C, what a signal handler raises,
a stack that is too deep: these belong to the moment, and the result can be computed later.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

OF_VALUES = (ValueError, TypeError, ArithmeticError, LookupError, AssertionError, NotImplementedError)
OF_THE_MOMENT = (MemoryError, RecursionError, OSError, Warning)
OURS = frozenset({"lazynp", "numpy", "ml_dtypes", "torch"})


class Failures:
    """Whether any value has failed in this process: nobody needs to look for one before."""

    seen = False


failures = Failures()


def of_values(error: Exception, step: Any) -> bool:
    """Whether an error that a step raised would be raised again."""
    if isinstance(error, OF_THE_MOMENT):
        return False
    op = getattr(step, "op", None)
    if op is not None and op.name == "callback":  # the user's function may raise what it likes
        return True
    return isinstance(error, OF_VALUES) and raised_by(error.__traceback__) in OURS


def of_a_step(error: Exception) -> bool:
    """Whether an error of the moment was raised by a computation, short memory say, and not by a signal's handler: what
    does not need that computation can go on."""
    return isinstance(error, OF_THE_MOMENT) and raised_by(error.__traceback__) in OURS


def raised_by(trace: TracebackType | None) -> str:
    """The package whose code raised it: another than those that compute is that of a signal handler."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
