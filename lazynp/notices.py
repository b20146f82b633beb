"""What lazynp tells its user beside results. A notice never raises in the user's expression, whatever the filters."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from types import FrameType

import numpy

OWN_NAME = __name__.partition(".")[0]
HERE, NUMPYS = os.path.dirname(__file__), os.path.dirname(numpy.__file__)
OURS = HERE + os.sep
INTERNAL = (HERE, NUMPYS, "<frozen")
IMPORTS = "<frozen importlib._bootstrap"


def outside() -> int:
    """The `stacklevel` at which a warning of the caller's is one of the user's line."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(INTERNAL):
        frame = frame.f_back
        level += not frame.f_code.co_filename.startswith(IMPORTS)  # which `warnings` does not count
    return level


def level_without_ours(stacklevel: int) -> int:
    """The `stacklevel`, seen from the caller of this function's caller, that skips the frames of lazynp."""
    level, frame, left = 1, sys._getframe(2), stacklevel
    while left > 1 and frame.f_back is not None:
        frame = frame.f_back
        counted = not frame.f_code.co_filename.startswith(IMPORTS)  # which `warnings` does not count
        level += counted
        left -= counted and not frame.f_code.co_filename.startswith(OURS)
    return level + left - 1  # beyond the first frame `warnings` names `sys`, as it does for NumPy


def at_end() -> bool:
    """Whether nobody's code is running but ours: the program has ended."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(INTERNAL):
        frame = frame.f_back
    return frame is None


def notify(message: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn of something that changes no result. Where a filter makes the warning an error, stderr gets the text."""
    try:
        if at_end():  # and no line to point to
            warnings.warn_explicit(message, category, OWN_NAME, 0)
        else:
            warnings.warn(message, category, stacklevel=outside())
    except Exception:  # the filter's, or that of a user's `showwarning`
        with contextlib.suppress(Exception):
            print(f"lazynp: {message}", file=sys.stderr)
