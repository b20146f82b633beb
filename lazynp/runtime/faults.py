"""Errors that values are to blame for, and all others.

A singular matrix fails each time: its error belongs to the result. Short memory, Ctrl-C, what a signal handler raises,
a stack that is too deep: these belong to the moment, and the result can be computed later.
"""

from __future__ import annotations

from typing import Any

from ..tracebacks import of_a_handler

OF_VALUES = (ValueError, TypeError, ArithmeticError, LookupError, AssertionError, NotImplementedError)
OF_THE_MOMENT = (MemoryError, RecursionError, OSError, Warning)


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
    return isinstance(error, OF_VALUES) and not of_a_handler(error)


def of_a_step(error: Exception) -> bool:
    """Whether an error of the moment was raised by a computation, short memory say, and not by a signal's handler: what
    does not need that computation can go on."""
    return isinstance(error, OF_THE_MOMENT) and not of_a_handler(error)
