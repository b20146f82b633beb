"""What a profile says, as text, as HTML and as a trace for Perfetto and Chrome. Loaded with the first profile."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from .tracing import CATEGORIES, COMPILE, DEMAND, PERIOD, Line, Trace, kernel_name, state_of, text_at

LINES, KERNELS, DEMANDS, HOSTS = 12, 16, 8, 8  # that are shown
Table = tuple[str, tuple[str, ...], Sequence[tuple[str, ...]]]  # heading, names of columns, rows


def seconds_text(seconds: float) -> str:
    """`1.23 s`, `12.3 ms`, `45.6 µs`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.2g} µs"


def place(line: Line) -> str:
    """`file.py:12`, with the folder left out where it is the one of the program."""
    path = os.path.relpath(line[0]) if line[0].startswith(os.getcwd() + os.sep) else line[0]
    return f"{path}:{line[1]}"


def tables(trace: Trace, figures: dict[str, Any]) -> list[Table]:
    """All that is shown, in the same order everywhere."""
    wall = trace.wall or 1e-12
    out: list[Table] = []
    spent = sorted([(s, c) for c, s in trace.seconds.items() if s > 0.0005 * wall], reverse=True)
    rows: list[tuple[str, ...]] = [(f"{s / wall:.1%}", seconds_text(s), c) for s, c in spent]
    out.append((f"where {seconds_text(trace.wall)} went", ("share", "time", "what"), rows))
    looked = sum(sum(by.values()) for by in trace.lines.values()) or 1.0
    found = sorted([(sum(by.values()), line, by) for line, by in trace.lines.items()], key=lambda t: -t[0])
    rows = [
        (f"{s / looked:.1%}", place(line), max(by, key=by.__getitem__), text_at(line).strip()[:60])
        for s, line, by in found[:LINES]
        if s >= 0.005 * looked
    ]
    if not rows:
        rows = [("", "", "", f"the block was over before it was looked at, which is every {seconds_text(PERIOD)}")]
    out.append(("by line", ("share", "line", "mostly", ""), rows))
    names = ("time", "calls", "tier", "state", "MB", "needed", "GB/s", "operations")
    out.append(("kernels", names, kernel_rows(trace)))
    asked = sorted([(s, int(n), line) for line, (n, s) in trace.demands.items()], reverse=True)
    rows = [(seconds_text(s), f"{n:,}", place(line), text_at(line).strip()[:60]) for s, n, line in asked[:DEMANDS]]
    out.append(("values that were asked for", ("time", "times", "line", ""), rows))
    calls = sorted(figures["host_calls"].items(), key=lambda t: -t[1])
    rows = [(f"{n:,}", name, site) for (name, site), n in calls[:HOSTS]]
    out.append(("calls that NumPy did on the host", ("calls", "function", "line"), rows))
    return [table for table in out if table[2]]


def kernel_rows(trace: Trace) -> Sequence[tuple[str, ...]]:
    """The kernels that cost most, with what has become of them."""
    rows = []
    for (kernel, tier), use in sorted(trace.kernels.items(), key=lambda t: -t[1].seconds)[:KERNELS]:
        state, why = state_of(kernel)
        name = kernel_name(kernel) + f"  {list(use.shape)}"
        rows.append(
            (
                seconds_text(use.seconds),
                f"{use.calls:,}",
                tier.removeprefix("kernels, "),
                state + (f": {why}" if why else ""),
                f"{use.bytes / 1e6:,.0f}",
                f"{use.needed / 1e6:,.0f}",
                f"{use.needed / use.seconds / 1e9:.1f}" if use.seconds else "",
                name,
            )
        )
    return rows


def as_text(trace: Trace, figures: dict[str, Any]) -> str:
    """The tables, in columns."""
    parts = []
    for heading, names, rows in tables(trace, figures):
        widths = [max(len(row[i]) for row in [names, *rows]) for i in range(len(names))]
        lines = ["  ".join([cell.ljust(w) for cell, w in zip(row, widths)]).rstrip() for row in [names, *rows]]
        parts.append("\n  ".join([heading, *lines]))
    return "\n".join(parts)


def as_html(trace: Trace, figures: dict[str, Any], counts: str) -> str:
    """A bar of the categories, the tables, and the counts to unfold."""
    wall = trace.wall or 1e-12
    bar = "".join(
        [
            f'<div title="{escape(c)} {s / wall:.1%}" style="width:{100 * s / wall:.2f}%;background:{colour}"></div>'
            for (c, s), colour in zip(trace.seconds.items(), COLOURS)
            if s > 0
        ]
    )
    parts = [f'<div style="display:flex;height:18px;max-width:60em;border-radius:4px;overflow:hidden">{bar}</div>']
    dot = '<span style="display:inline-block;width:.7em;height:.7em;border-radius:2px;background:{}"></span> '
    colour_of = dict(zip(CATEGORIES, COLOURS))
    for heading, names, rows in tables(trace, figures):
        head = "".join([f'<th style="text-align:left;padding-right:1em">{escape(name)}</th>' for name in names])
        body = "".join(
            [
                "<tr>"
                + "".join(
                    [
                        f'<td style="text-align:left;white-space:nowrap;padding-right:1em">'
                        f"{dot.format(colour_of[cell]) if cell in colour_of else ''}{escape(cell)}</td>"
                        for cell in row
                    ]
                )
                + "</tr>"
                for row in rows
            ]
        )
        parts.append(f"<h4>{escape(heading)}</h4><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    parts.append(f"<details><summary>counts</summary><pre>{escape(counts)}</pre></details>")
    return f'<div style="overflow-x:auto">{"".join(parts)}</div>'


COLOURS = (
    "#e6a23c #67a35b #3d7cc9 #c9504b #8fbc8f #9a78c9 #7f9bb3 #d9a5c7 #b8a1d9 #d98880 #c9c9c9".split()  # noqa: SIM905
)  # of `CATEGORIES`, in their order


def slices(trace: Trace) -> Iterable[dict[str, Any]]:
    """The user's lines as slices: looks in a row at one line are one."""
    before, begin = None, trace.start
    seen = trace.start
    for now, line in [*trace.sampled, (trace.start + trace.wall, None)]:
        if line != before:
            if before is not None:
                yield slice_of(place(before), "line", begin, seen - begin, trace, 1, {"text": text_at(before).strip()})
            before, begin = line, seen
        seen = now


def slice_of(
    name: str, category: str, start: float, seconds: float, trace: Trace, lane: int, args: dict[str, Any]
) -> dict[str, Any]:
    """A complete event of the trace format, in microseconds since the block began."""
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "ts": round(1e6 * (start - trace.start), 3),
        "dur": round(1e6 * max(seconds, 0.0), 3),
        "pid": os.getpid(),
        "tid": lane,
        "args": args,
    }


LANES = {1: "lines of the program", 2: "values asked for", 3: "lazynp", 4: "compilers"}


def as_json(counters: dict[str, Any]) -> str:
    """The counters of a process."""
    return json.dumps(counters)


def as_trace(trace: Trace, figures: dict[str, Any]) -> str:
    """JSON of the trace event format, which Perfetto and `chrome://tracing` read."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "thread_name", "pid": os.getpid(), "tid": lane, "args": {"name": name}}
        for lane, name in LANES.items()
    ]
    events += slices(trace)
    for e in trace.events:
        lane = 2 if e.category == DEMAND else 4 if e.category == COMPILE else 3
        name = text_at(e.line).strip() or e.name if e.line is not None else e.name
        events.append(slice_of(name, e.category, e.start, e.seconds, trace, lane, {}))
    other = {k: v for k, v in figures.items() if isinstance(v, (int, float))}
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms", "otherData": other})
