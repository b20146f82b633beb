"""What calls gave, or which errors they raised, to be compared between NumPy's arrays and lazynp's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def outcomes(calls: Mapping[str, Callable[[], Any]], shown: Callable[[Any], Any]) -> list[tuple[str, Any]]:
    """By name: `shown` of the result, or the error's class and text, in which lazynp is NumPy."""
    found: list[tuple[str, Any]] = []
    for name, call in calls.items():
        try:
            found.append((name, shown(call())))
        except Exception as error:
            found.append((name, (type(error).__name__, str(error).replace("lazynp", "numpy"))))
    return found
