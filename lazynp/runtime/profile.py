"""What was done: operations, segments, the tier of each kernel call, compile events and why, host calls with their call
sites."""

from __future__ import annotations

import collections
import time
from typing import Any

from ..speed import calls

COUNTERS = (
    "operations",
    "segments",
    "plans",
    "kernels",
    "interpreted",
    "compiled",
    "library",
    "elements",
    "bytes",
    "cache_hits",
    "device_kernels",
    "device_compiled",
    "device_library",
    "uploads",
    "downloads",
)
TALLIES = ("refused", "host_calls", "points", "draws", "device_host", "device_segments")
SECONDS = ("interpreted_seconds", "compiled_seconds", "library_seconds")


class Profile:
    """Counters since the process started.

    Attributes:
        operations: recorded operations that ran; segments, plans, kernels: how many ran, were made, were made.
        interpreted, compiled: kernel calls in either tier; library: calls of BLAS, sort and the like.
        elements, bytes: of the iteration spaces of kernel calls, and of their operands and results.
        cache_hits: compiled kernels that came from disk.
        device_kernels, device_library: calls on a device; device_compiled: of the kernels, those that were compiled.
        uploads, downloads: values copied to a device and back.
        interpreted_seconds, compiled_seconds, library_seconds: time in each.
        compiles: one dict a compile event (kernel, seconds, outcome, reason: why it was compiled, failure: why it could
            not be). Outcomes: compiled; failed (it will be tried again); not compiled; rests (the interpreter is
            faster for the time being).
        refused: why a kernel is never compiled -> kernels that were made of that kind.
        host_calls: (function, "file:line") -> calls that NumPy answered instead of the engine.
        points: function (`nonzero`, `unique`) -> calls: how long its result is depends on values, so that the graph is
            computed there.
        draws: method of a generator -> calls. Draws are always NumPy's bits: no host calls, and allowed in strict mode.
            Small ones in mode auto are not counted.
        device_segments: device -> segments that ran there.
        device_host: name of what a device cannot do -> calls for which values came to the host and went back.
    """

    __slots__ = (*COUNTERS, *SECONDS, *TALLIES, "compiles", "started")
    operations: int
    segments: int
    plans: int
    kernels: int
    interpreted: int
    compiled: int
    library: int
    elements: int
    bytes: int
    cache_hits: int
    device_kernels: int
    device_compiled: int
    device_library: int
    uploads: int
    downloads: int
    interpreted_seconds: float
    compiled_seconds: float
    library_seconds: float

    def __init__(self) -> None:
        for name in (*COUNTERS, *SECONDS):
            setattr(self, name, 0)
        self.compiles: list[dict[str, Any]] = []
        self.refused: collections.Counter[str] = collections.Counter()
        self.host_calls: collections.Counter[Any] = collections.Counter()
        self.points: collections.Counter[str] = collections.Counter()
        self.draws: collections.Counter[str] = collections.Counter()
        self.device_host: collections.Counter[str] = collections.Counter()
        self.device_segments: collections.Counter[str] = collections.Counter()
        self.started = time.time()

    def snapshot(self) -> dict[str, Any]:
        """All counters now, as plain data."""
        out: dict[str, Any] = {name: getattr(self, name) for name in (*COUNTERS, *SECONDS)}
        if calls is not None:  # which calls some compiled code itself
            made, seconds = calls.steps()
            out["compiled"] += made
            out["compiled_seconds"] += seconds
        out["compiles"] = list(self.compiles)
        out.update({name: dict(getattr(self, name)) for name in TALLIES})
        return out


def difference(after: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """What happened between two snapshots."""
    out: dict[str, Any] = {name: after[name] - before[name] for name in (*COUNTERS, *SECONDS)}
    out["compiles"] = after["compiles"][len(before["compiles"]) :]
    for name in TALLIES:
        calls = {k: n - before[name].get(k, 0) for k, n in after[name].items()}
        out[name] = {k: n for k, n in calls.items() if n}
    return out


profile = Profile()
