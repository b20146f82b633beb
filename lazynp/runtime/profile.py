"""What was done: counters, compile events, host calls."""

from __future__ import annotations

import collections
from typing import Any


class Profile:
    """Counters since the process started; `snapshot` and a difference make a period's."""

    def __init__(self) -> None:
        self.operations = self.segments = self.plans = 0
        self.interpreted = self.compiled = self.library = 0
        self.elements = self.bytes = 0
        self.seconds: collections.Counter[str] = collections.Counter()
        self.host_calls: collections.Counter[str] = collections.Counter()
        self.compiles: list[dict[str, Any]] = []


profile = Profile()
