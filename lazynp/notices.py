"""What lazynp tells its user beside results. A notice never raises in the user's expression, whatever the filters."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def notify(message: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn of something that changes no result. Where a filter makes the warning an error, stderr gets the text."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    try:
        warnings.warn(message, category, stacklevel=level)
    except Exception:  # the filter's, or that of a user's `showwarning`
        with contextlib.suppress(Exception):
            print(f"lazynp: {message}", file=sys.stderr)
