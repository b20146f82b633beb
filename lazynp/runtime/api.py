"""What users see of the runtime: `profile`, `compile_wait`, `free_memory`, and the report at exit."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, TextIO

from ..tracebacks import boundary
from .device import devices
from .kernels import compile_wait
from .pool import give_back
from .profile import difference
from .profile import profile as counters
from .recorder import recorder

__all__ = ["compile_wait", "free_memory", "profile", "report", "summary"]


START = counters.snapshot()


def free_memory() -> int:
    """Give back to the system the memory that is kept for arrays to come: buffers of dead arrays (at most
    `config.pool_bytes`), pages that the C library holds, and a device's cache.

    Arrays keep their values, and nothing that is pending is run. Buffers whose size no array has had for a second
    go back by themselves.

    Returns:
        Bytes of the buffers in main memory that were let go.
    """
    devices.free_memory()
    return give_back()


class profile:
    """What runs in a `with` block, and where its time goes.

        with lazynp.profile() as p:
            work()
        print(p)               # a summary
        p.operations           # and its figures: see `lazynp.runtime.profile.Profile`
        p.save("trace.json")   # for Perfetto, or chrome://tracing

    What is pending when the block begins or ends is run there, so that the figures are the block's own. Outside a block
    they are those of the process so far, without times: `print(lazynp.profile())`.

    Args:
        lines: whether time is followed by line, by kernel and by what asked for values. It costs some percent. Of
            profiles in one another, the outermost does.

    Attributes:
        seconds: of wall time in the block, by category; they add up to `wall`.
        wall: seconds.
        lines: (file, line) -> seconds of wall time, the most expensive first.
        demands: (file, line) -> (times, seconds): where the program needed values, and what it waited for them.
    """

    def __init__(self, *, lines: bool = True) -> None:
        self._figures: dict[str, Any] | None = None
        self._before: dict[str, Any] = START
        self._lines, self._trace = lines, None

    def __enter__(self) -> profile:
        recorder.flush()
        self._before = counters.snapshot()
        if self._lines:
            trace: Any = importlib.import_module("lazynp.tracing").Trace()
            self._trace = trace if trace.begin() else None
        return self

    def __exit__(self, *error: object) -> None:
        try:
            recorder.flush()
        finally:
            if self._trace is not None:
                self._trace.end()
            self._figures = difference(counters.snapshot(), self._before)

    def figures(self) -> dict[str, Any]:
        """The counts: of the block, or so far while it runs."""
        return self._figures if self._figures is not None else difference(counters.snapshot(), self._before)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self.figures()[name]
        except KeyError:
            raise AttributeError(f"a profile has no {name!r}; it has: {', '.join(self.figures())}") from None

    @property
    def _times(self) -> Any:
        if self._trace is None or self._figures is None:
            raise RuntimeError("times are those of a block that has ended, and of the outermost: see `profile`")
        return self._trace

    @property
    def wall(self) -> float:
        return float(self._times.wall)

    @property
    def seconds(self) -> dict[str, float]:
        return {k: s for k, s in self._times.seconds.items() if s > 0}

    @property
    def lines(self) -> dict[tuple[str, int], float]:
        found = {line: sum(by.values()) for line, by in self._times.lines.items()}
        return dict(sorted(found.items(), key=lambda t: -t[1]))

    @property
    def demands(self) -> dict[tuple[str, int], tuple[int, float]]:
        found = {line: (int(n), float(s)) for line, (n, s) in self._times.demands.items()}
        return dict(sorted(found.items(), key=lambda t: -t[1][1]))

    def __str__(self) -> str:
        counts = describe(self.figures())
        if self._trace is None or self._figures is None:
            return counts
        return f"{rendering().as_text(self._trace, self._figures)}\ncounts\n{counts}"

    def __repr__(self) -> str:
        return str(self)

    @property
    def html(self) -> str:
        """The summary as HTML, which notebooks show."""
        return str(rendering().as_html(self._times, self._figures, describe(self.figures())))

    def _repr_html_(self) -> str:
        return self.html if self._trace is not None and self._figures is not None else f"<pre>{self}</pre>"

    def advice(self, name: str = "the block") -> Any:
        """What kept the block from being faster, as `lazynp.advise` says it of a function."""
        advice = importlib.import_module("lazynp.advice")
        return advice.Advice(name, advice.items_of(self), self.wall, None, self)

    @boundary
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what ran when as a trace: open it with https://ui.perfetto.dev or chrome://tracing.

        Raises: RuntimeError before the block has ended, OSError.
        """
        text = self.trace_text()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def trace_text(self) -> str:
        """What `save` writes: JSON of the trace event format. Raises RuntimeError before the block has ended."""
        return str(rendering().as_trace(self._times, self._figures))


def rendering() -> Any:
    """What makes texts of a profile: above this layer, and loaded when one is asked for."""
    return importlib.import_module("lazynp.profile_report")


def describe(f: dict[str, Any]) -> str:
    """Figures as text."""
    lines = [
        f"{f['operations']:>10,} operations in {f['segments']:,} segments"
        f" ({f['plans']:,} plans, {f['kernels']:,} kernels made)",
        f"{f['compiled']:>10,} kernel calls compiled, {f['compiled_seconds']:.3f} s",
        f"{f['interpreted']:>10,} kernel calls interpreted, {f['interpreted_seconds']:.3f} s",
        f"{f['library']:>10,} library calls, {f['library_seconds']:.3f} s",
        f"{f['bytes'] / 1e6:>10,.0f} MB moved by kernels over {f['elements']:,} elements",
        f"{f['cache_hits']:>10,} kernels loaded from the artifact cache, {len(f['compiles']):,} compile events",
    ]
    lines += [
        f"           compile {c.get('kernel', '?')[:12]}: {c.get('outcome')} in {c.get('seconds', 0):.2f} s"
        f"{', ' + c['reason'] if c.get('reason') else ''}{': ' + c['failure'][:300] if c.get('failure') else ''}"
        for c in f["compiles"][:20]
    ]
    lines += [f"{n:>10,} kernels that are never compiled: {why}" for why, n in f["refused"].items()]
    if f["device_segments"]:
        lines += describe_device(f)
    calls = sorted(f["host_calls"].items(), key=lambda t: -t[1])
    lines.append(f"{sum(f['host_calls'].values()):>10,} host calls{':' if calls else ''}")
    lines += [f"{n:>14,}  {where[0]} at {where[1]}" for where, n in calls[:20]]
    if f["draws"]:
        draws = ", ".join([f"{name} {n:,}" for name, n in sorted(f["draws"].items())])
        lines.append(f"{sum(f['draws'].values()):>10,} draws of random numbers: {draws}")
    return "\n".join(lines)


def describe_device(f: dict[str, Any]) -> list[str]:
    """What ran on a device, as text."""
    calls = sorted(f["device_host"].items(), key=lambda t: -t[1])
    n = sum(f["device_host"].values())
    where = ", ".join([f"{count:,} on {name}" for name, count in f["device_segments"].items()])
    return [
        f"{sum(f['device_segments'].values()):>10,} segments on a device: {where}",
        f"{f['device_kernels']:>10,} kernel calls there, {f['device_compiled']:,} of them compiled",
        f"{f['device_library']:>10,} library calls there",
        f"{f['uploads']:>10,} values copied to a device, {f['downloads']:,} copied back",
        f"{n:>10,} library calls on the host for device arrays{':' if n else ''}",
        *[f"{n:>14,}  {name}" for name, n in calls[:20]],
    ]


def summary() -> dict[str, Any]:
    """All counters of the process as data that JSON can hold."""
    f = counters.snapshot()
    calls = sorted(f.pop("host_calls").items(), key=lambda t: -t[1])
    return {
        **{k: v for k, v in f.items() if k not in ("interpreted", "compiled", "kernels")},
        "kernels": {"made": f["kernels"], "interpreted": f["interpreted"], "compiled": f["compiled"]},
        "host_calls": sum(n for _, n in calls),
        "host_call_sites": [{"function": k[0], "site": k[1], "calls": n} for k, n in calls],
    }


def report(file: TextIO | None = None, json_path: str | None = None) -> None:
    """Print what ran where since the process started, or write it as JSON."""
    recorder.flush()
    if json_path:
        text = rendering().as_json(summary())
        with open(json_path, "w") as out:
            out.write(text)
        return
    print("lazynp:", file=file or sys.stderr)
    print(describe(counters.snapshot()), file=file or sys.stderr)
