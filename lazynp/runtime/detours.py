"""While there is a reason for it, no operation takes a shortcut past the graph: small arrays are recorded, too."""

from __future__ import annotations

import threading
from typing import Any

from ..config import config

reasons: set[tuple[Any, int]] = set()
"""What asks for it, and for which thread."""


class Before:
    """The mode of evaluation to go back to."""

    mode: str | None = None


def detour(reason: Any, asked: bool) -> None:
    """Record all operations for this reason from now on, or (not `asked`) no longer for it."""
    key = reason, threading.get_ident()
    if asked:
        reasons.add(key)
    else:
        reasons.discard(key)
    if reasons and Before.mode is None:
        Before.mode, config.mode = config.mode, "graph"
    elif not reasons and Before.mode is not None:
        config.mode, Before.mode = Before.mode, None
