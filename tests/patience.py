"""How tests wait on a machine that may be busy: long for what has to come, and again for what is measured."""

from __future__ import annotations

from collections.abc import Callable

PATIENCE = (
    3000  # seconds, for what takes a few on an idle machine: whoever waits so long waits for something that hangs
)


def least(measure: Callable[[], float], limit: float, times: int = 30) -> float:
    """The least of several measurements, of seconds, bytes or faults: what else the machine does only adds to them.

    As soon as one is within the limit no more are made, so that only a busy machine takes them all.
    """
    found = measure()
    while found > limit and times > 1:
        found, times = min(found, measure()), times - 1
    return found
