"""The report as one HTML page that needs nothing else: no network, no other file."""

from __future__ import annotations

import html as escaping
import json
import pathlib
from collections import Counter
from typing import Any

from . import api
from .causes import KINDS

HERE = pathlib.Path(__file__).parent
TEXT = {
    "native": "an operation of the engine, or Python of our own over such",
    "composed": "NumPy's Python code over native functions, and nothing else",
    "host": "NumPy itself, on values; or Python code that may come to that",
    "shared": "NumPy's very object: dtypes, scalar types, errors, constants",
    "missing": "not there",
}


INTRODUCTION = (
    "The tests are those inside the installed NumPy. Their own imports of numpy give lazynp; nothing else is changed."
    " What passes under NumPy on this machine counts; a test that passes without having used lazynp does not."
)


def text(x: Any) -> str:
    return escaping.escape(str(x))


def rate(passed: int, counted: int) -> str:
    return f"{100 * passed / counted:.2f} %" if counted else "–"


def bar(parts: list[tuple[float, str]]) -> str:
    """Parts of a whole (shares and colours)."""
    shown = "".join([f"<i style='width:{100 * share:.2f}%;background:{colour}'></i>" for share, colour in parts])
    return f"<div class=bar>{shown}</div>"


def html(data: dict[str, Any], says: dict[str, str]) -> str:
    """The page."""
    failures = {m: d["failures"] for m, d in data["modes"].items()}
    embedded = json.dumps(failures).replace("</", "<\\/")
    sections = [
        ("packages", "By package", packages(data)),
        ("causes", "Why tests fail", causes(data)),
        ("failures", "Every failing test", finder(data)),
        ("api", "NumPy's API by name", names(data)),
        ("time", "Over time", over_time(data)),
        ("apart", "What does not count", apart(data)),
    ]
    links = "".join(f"<a href='#{i}'>{t}</a>" for i, t, _ in sections)
    body = "".join(f"<h2 id={i}>{t}</h2>{content}" for i, t, content in sections)
    made = " · ".join(
        text(x)
        for x in (f"NumPy {data['numpy']}", f"Python {data['python']}", data["machine"], data["lazynp"], data["made"])
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width,initial-scale=1'>"
        f"<title>NumPy's own tests on lazynp</title><style>{(HERE / 'page.css').read_text()}</style><main>"
        f"<h1>NumPy's own tests on lazynp</h1><div class=soft>{made}</div><nav class=soft>{links}</nav>"
        f"{cards(data, says)}<p>{INTRODUCTION}</p>{body}</main>"
        f"<script type='application/json' id=data>{embedded}</script>"
        f"<script>{(HERE / 'page.js').read_text()}</script></html>\n"
    )


def cards(data: dict[str, Any], says: dict[str, str]) -> str:
    out = []
    for mode, d in data["modes"].items():
        good = d["passed"] / max(d["counted"], 1)
        out.append(
            f"<div class=card><span class=soft>{mode}</span><b>{rate(d['passed'], d['counted'])}</b>"
            f"{bar([(good, 'var(--good)'), (1 - good, 'var(--bad)')])}{d['passed']:,} of {d['counted']:,} tests"
            f"<br><span class=soft>{text(says[mode])}</span></div>"
        )
    done, of = data["api"]["own"], data["api"]["names"]
    share = done / max(of, 1)
    out.append(
        f"<div class=card><span class=soft>API by name</span><b>{rate(done, of)}</b>"
        f"{bar([(share, 'var(--good)'), (1 - share, 'var(--host)')])}{done:,} of {of:,} functions, methods and ufuncs"
        "<br><span class=soft>native or composed; every name is there</span></div>"
    )
    return f"<div class=cards>{''.join(out)}</div>"


def packages(data: dict[str, Any]) -> str:
    """A table of packages, each with its modules below it."""
    modes = data["modes"]
    grouped: dict[str, list[str]] = {}
    for module in sorted({m for d in modes.values() for m in d["modules"]}):
        grouped.setdefault("numpy" if module.startswith("tests/") else module.split("/", 1)[0], []).append(module)
    head = "".join(f"<th class=n>{m}</th>" for m in modes)
    out = []
    for package, members in grouped.items():
        cells = "".join(cell([d["modules"].get(m) for m in members]) for d in modes.values())
        rows = "".join(
            f"<tr><td><code>{text(m)}</code></td>{''.join(cell([d['modules'].get(m)]) for d in modes.values())}</tr>"
            for m in members
        )
        out.append(
            f"<details><summary><b>{text(package)}</b><span class=soft>{len(members)} modules</span>"
            f"<span class=minis>{headline(modes, members)}</span></summary><div class=scroll><table>"
            f"<tr><th>module</th>{head}</tr>{rows}<tr><th>all</th>{cells}</tr></table></div></details>"
        )
    return "".join(out)


def totals(found: list[dict[str, Any] | None]) -> tuple[int, int]:
    passed = sum(c["passed"] for c in found if c)
    return passed, passed + sum(c["failed"] for c in found if c)


def headline(modes: dict[str, Any], members: list[str]) -> str:
    """A rate and a bar for each mode."""
    out = []
    for mode, d in modes.items():
        passed, counted = totals([d["modules"].get(m) for m in members])
        good = passed / max(counted, 1)
        shown = bar([(good, "var(--good)"), (1 - good, "var(--bad)")]) if counted else ""
        out.append(f"<span class=mini><span class=soft>{mode}</span> {rate(passed, counted)}{shown}</span>")
    return "".join(out)


def cell(found: list[dict[str, Any] | None]) -> str:
    passed, counted = totals(found)
    if not counted:
        return "<td class='n soft'>–</td>"
    good = passed / counted
    return f"<td class=n>{passed} / {counted}{bar([(good, 'var(--good)'), (1 - good, 'var(--bad)')])}</td>"


def causes(data: dict[str, Any]) -> str:
    """Each cause, with its tests: those of auto where it has any."""
    modes = data["modes"]
    listed = [*data["causes"], {"id": None, "kind": "", "title": "No cause yet", "why": ""}]
    blocks = []
    for c in listed:
        mine = {m: [f for f in d["failures"] if f["cause"] == c["id"]] for m, d in modes.items()}
        if not any(mine.values()):
            continue
        shown = next(fs for fs in mine.values() if fs)
        numbers = " · ".join(f"{m} {len(fs)}" for m, fs in mine.items())
        items = "".join(f"<li>{text(f['test'])}<br><span>{text(f['text'])}</span></li>" for f in shown[:200])
        more = f"<p class=soft>{len(shown) - 200} more: see the search below.</p>" if len(shown) > 200 else ""
        blocks.append(
            (
                [-len(fs) for fs in mine.values()],
                f"<details><summary><b>{text(c['title'])}</b>{kind(c['kind'])}"
                f"<span class='n soft'>{numbers}</span></summary><div><p>{text(c['why'])}</p>"
                f"<ul class=tests>{items}</ul>{more}</div></details>",
            )
        )
    return "".join(block for _, block in sorted(blocks, key=lambda b: b[0])) or "<p>No test fails.</p>"


def kind(name: str) -> str:
    return f"<span class=kind>{text(KINDS[name])}</span>" if name else ""


def finder(data: dict[str, Any]) -> str:
    options = "".join(f"<option>{m}</option>" for m in data["modes"])
    return (
        f"<p><select id=mode>{options}</select> <input id=find placeholder='words of a name, an error, a cause'>"
        " <span class=soft id=hits></span></p><ul class=tests id=found></ul>"
    )


def colour(way: str) -> str:
    return f"var(--{way.replace('-', '')})"


def names(data: dict[str, Any]) -> str:
    key = "".join(
        f"<span><i style='background:{colour(w)}'></i>{w}: <span class=soft>{TEXT[w]}</span></span>" for w in api.WAYS
    )
    out = [f"<div class=key>{key}</div>"]
    for space, table in [*data["api"]["table"].items(), ("ufuncs of numpy", data["api"]["ufuncs"])]:
        counts: Counter[str] = Counter(table.values())
        parts = bar([(counts[w] / max(len(table), 1), colour(w)) for w in api.WAYS])
        shown = "".join(f"<span style='--c:{colour(w)}' title='{w}'>{text(n)}</span>" for n, w in sorted(table.items()))
        numbers = " · ".join(f"{counts[w]} {w}" for w in api.WAYS if counts[w])
        out.append(
            f"<details><summary><b>{text(space)}</b><span class='n soft'>{numbers}</span>{parts}</summary><div>"
            f"<div class=names>{shown}</div></div></details>"
        )
    return "".join(out)


def over_time(data: dict[str, Any]) -> str:
    modes = list(data["modes"])
    rows = "".join(
        f"<tr><td><code>{text(e['lazynp'])}</code></td><td>{text(e['made'])}</td><td>{text(e['numpy'])}</td>"
        + "".join(
            f"<td class=n>{rate(e['modes'][m]['passed'], e['modes'][m]['counted'])}</td>" if m in e["modes"] else "<td>"
            for m in modes
        )
        + "</tr>"
        for e in data["history"]
    )
    head = "".join(f"<th class=n>{m}</th>" for m in modes)
    table = f"<table><tr><th>revision</th><th>date</th><th>NumPy</th>{head}</tr>{rows}</table>"
    return f"{chart(data['history'], modes)}<div class=scroll>{table}</div>"


def chart(history: list[dict[str, Any]], modes: list[str]) -> str:
    """The rates as lines, one a mode; nothing where there is one point."""
    points = {
        m: [
            (i, 100 * e["modes"][m]["passed"] / e["modes"][m]["counted"])
            for i, e in enumerate(history)
            if m in e["modes"]
        ]
        for m in modes
    }
    values = [v for line in points.values() for _, v in line]
    if len(history) < 2 or not values:
        return ""
    low = min(values) - 0.5
    lines = []
    for n, (mode, line) in enumerate(points.items()):
        at = [(40 + 800 * i / (len(history) - 1), 170 - 150 * (v - low) / (100 - low)) for i, v in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
        label = f"<text x='{at[-1][0] + 8:.1f}' y='{at[-1][1] + 4:.1f}'>{mode}</text>" if at else ""
        lines.append(f"<g class=line{n}><polyline points='{path}'/>{label}</g>")
    axis = f"<text x=0 y=24>100 %</text><text x=0 y=174>{low:.0f} %</text>"
    return f"<svg class=chart viewBox='0 0 920 185' role=img aria-label='rates over time'>{axis}{''.join(lines)}</svg>"


def apart(data: dict[str, Any]) -> str:
    base = data["baseline"]
    untouched = ", ".join(f"{d['untouched']:,} in {m}" for m, d in data["modes"].items())
    failing = "".join(f"<li>{text(t)}<br><span>{text(why[:200])}</span></li>" for t, why in base["failed"].items())
    left = "".join(
        f"<tr><td><code>{text(n)}</code></td><td>{text(why)}</td></tr>" for n, why in data["left_out"].items()
    )
    return (
        f"<p>{base['skipped']:,} tests are skipped, or expected to fail, under NumPy itself on this machine;"
        f" {len(base['failed'])} fail there. Passed without using lazynp: {untouched}.</p>"
        f"<ul class=tests>{failing}</ul>"
        f"<div class=scroll><table><tr><th>left out</th><th>why</th></tr>{left}</table></div>"
    )
