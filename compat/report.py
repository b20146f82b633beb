"""The report: what the runs say, as JSON, Markdown and one HTML page, in `report/`; and totals over time."""

from __future__ import annotations

import datetime
import json
import pathlib
import platform
import re
import subprocess
from collections import Counter
from typing import Any

import numpy

from . import api, causes, page, results, runner, scope

HERE = pathlib.Path(__file__).parent
REPORT, HISTORY = HERE / "report", HERE / "history.json"
HOST_CALL = re.compile(r"HostFallbackError: (.+?) is done by NumPy")
MODES = ("auto", "graph", "strict")
SAYS = {
    "auto": "as users run it: small arrays are computed at once",
    "graph": "the small-array shortcut is off, so that the engine is what is tested",
    "strict": "as graph, and falling back to NumPy raises: the accelerated rate",
}


def package_of(module: str) -> str:
    return module.split("/", 1)[0] if not module.startswith("tests/") else "numpy"


def of_mode(mode: str) -> dict[str, Any]:
    """All that is known of one mode."""
    found = results.verdicts(mode)
    modules: dict[str, dict[str, float]] = {}
    failures: list[dict[str, Any]] = []
    causeless = 0
    for module, v in found.items():
        counts = {"passed": len(v.passed), "failed": len(v.failed), "untouched": len(v.untouched)}
        numeric = {
            "numeric_passed": len(v.numeric.intersection(v.passed)),
            "numeric_failed": len(v.numeric & v.failed.keys()),
        }
        modules[module] = {"recorded": v.recorded, "seconds": round(v.seconds, 1), **counts, **numeric}
        for name, row in v.failed.items():
            test = f"{module}::{name}"
            cause = causes.cause_of(mode, test, row)
            causeless += cause is None
            failures.append(
                {
                    "test": test,
                    "cause": cause.id if cause else None,
                    "outcome": row["outcome"],
                    "text": row.get("text", "").split("\n")[0][:200],
                    "host": host_call(row),
                }
            )
    total: Counter[str] = Counter()
    for of_module in modules.values():
        total.update({k: int(n) for k, n in of_module.items() if k != "seconds"})
    return {
        "passed": total["passed"],
        "counted": total["passed"] + total["failed"],
        "numeric_passed": total["numeric_passed"],
        "numeric_counted": total["numeric_passed"] + total["numeric_failed"],
        "untouched": total["untouched"],
        "recorded": total["recorded"],
        "without_cause": causeless,
        "modules": modules,
        "failures": failures,
    }


def host_call(row: dict[str, Any]) -> str | None:
    """The function of NumPy's that a test failed for in mode strict; None where it failed for something else."""
    found = HOST_CALL.search(row.get("text", ""))
    return found[1] if found else None


def collect() -> dict[str, Any]:
    """The whole report as data."""
    modules = scope.modules()
    bases = {m: results.baseline(m) for m in modules}
    tables = api.table()
    native, names = api.share(tables)
    return {
        "made": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "lazynp": revision(),
        "numpy": numpy.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "modes": {mode: of_mode(mode) for mode in MODES if results.verdicts(mode)},
        "baseline": {
            "passed": sum(len(b.passed) for b in bases.values()),
            "skipped": sum(b.skipped for b in bases.values()),
            "failed": {f"{m}::{name}": text for m, b in bases.items() for name, text in b.failed.items()},
        },
        "left_out": scope.LEFT_OUT,
        "causes": [{"id": c.id, "kind": c.kind, "title": c.title, "why": c.why} for c in causes.causes()],
        "api": {"table": tables, "own": native, "names": names, "ufuncs": api.ufuncs(tables)},
        "history": history(),
    }


def revision() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def history() -> list[dict[str, Any]]:
    return json.loads(HISTORY.read_text()) if HISTORY.exists() else []


def remember(data: dict[str, Any]) -> None:
    """Add the totals to the history: one entry for a revision, the last of it, if every module has been run."""
    complete = {m for m, d in data["modes"].items() if len(d["modules"]) == len(scope.modules())}
    if not complete:
        return
    entry = {k: data[k] for k in ("made", "lazynp", "numpy", "python")}
    entry["modes"] = {m: {k: data["modes"][m][k] for k in ("passed", "counted")} for m in MODES if m in complete}
    kept = [e for e in history() if e["lazynp"] != entry["lazynp"]]
    HISTORY.write_text(json.dumps([*kept, entry], indent=1) + "\n")
    data["history"] = [*kept, entry]


def rate(passed: int, counted: int) -> str:
    return f"{100 * passed / counted:.2f} %" if counted else "–"


def write(folder: pathlib.Path = REPORT) -> None:
    """Write the report's three files, and, of a run of all modules, add to the history."""
    data = collect()
    remember(data)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")
    (folder / "report.md").write_text(markdown(data))
    (folder / "index.html").write_text(page.html(data, SAYS))
    for mode, d in data["modes"].items():
        numeric = rate(d["numeric_passed"], d["numeric_counted"])
        both = f"{rate(d['passed'], d['counted'])}, numeric dtypes {numeric}"
        print(f"{mode:7s} {d['passed']:6d} of {d['counted']:6d}  {both}")
    print(f"written: {folder}/index.html, report.md, report.json")


def markdown(data: dict[str, Any]) -> str:
    """The report for reading in a terminal or on a forge."""
    modes = data["modes"]
    out = [
        "# NumPy's own tests on lazynp",
        "",
        f"NumPy {data['numpy']}, Python {data['python']}, {data['machine']}; lazynp {data['lazynp']}, {data['made']}.",
        "",
        "| mode | passed | of | rate | numeric dtypes | |",
        "|---|---:|---:|---:|---:|---|",
        *[
            f"| {m} | {d['passed']} | {d['counted']} | **{rate(d['passed'], d['counted'])}** |"
            f" {rate(d['numeric_passed'], d['numeric_counted'])} of {d['numeric_counted']} | {SAYS[m]} |"
            for m, d in modes.items()
        ],
        "",
        scope.NUMERIC,
        "",
        f"Under NumPy itself {data['baseline']['passed']} tests pass: those count. {data['baseline']['skipped']} are"
        f" skipped or expected to fail there, {len(data['baseline']['failed'])} fail there. Tests that pass without"
        " using lazynp at all count nowhere: " + ", ".join(f"{d['untouched']} in {m}" for m, d in modes.items()) + ".",
        "",
        "## By package",
        "",
        *package_table(modes),
        "",
        "## What strict mode fails for",
        "",
        "The function that NumPy did, in each test that failed: a test ends with the first.",
        "",
        *strict_table(modes),
        "",
        "## Causes of failure",
        "",
        *cause_table(data),
        "",
        "## API by name",
        "",
        f"{data['api']['own']} of {data['api']['names']} functions, methods and ufuncs"
        f" ({rate(data['api']['own'], data['api']['names'])}) are native or composed: "
        + "; ".join(f"{way}: {page.TEXT[way]}" for way in api.WAYS)
        + ".",
        "",
        *api_table(data),
        "",
        "## By module",
        "",
        *module_table(modes),
        "",
        "## Failing under NumPy itself",
        "",
        *([f"- `{t}`" for t in data["baseline"]["failed"]] or ["None."]),
        "",
        "## Left out",
        "",
        *[f"- `{name}`: {why}" for name, why in data["left_out"].items()],
        "",
        "## Over time",
        "",
        "| revision | date | NumPy | " + " | ".join(MODES) + " |",
        "|---|---|---|" + "---:|" * len(MODES),
        *[f"| {e['lazynp']} | {e['made']} | {e['numpy']} | {' | '.join(rates(e))} |" for e in data["history"]],
        "",
    ]
    return "\n".join(out)


def rates(entry: dict[str, Any]) -> list[str]:
    """The rate of each mode in an entry of the history."""
    found = [entry["modes"].get(m) for m in MODES]
    return [rate(d["passed"], d["counted"]) if d else "" for d in found]


def package_table(modes: dict[str, Any]) -> list[str]:
    packages = sorted({package_of(m) for d in modes.values() for m in d["modules"]})
    rows = ["| package | " + " | ".join(modes) + " |", "|---|" + "---:|" * len(modes)]
    for package in packages:
        cells = []
        for d in modes.values():
            mine = [c for m, c in d["modules"].items() if package_of(m) == package]
            passed, failed = sum(c["passed"] for c in mine), sum(c["failed"] for c in mine)
            cells.append(f"{passed} / {passed + failed} ({rate(passed, passed + failed)})")
        rows.append(f"| {package} | " + " | ".join(cells) + " |")
    return rows


def strict_table(modes: dict[str, Any], most: int = 80) -> list[str]:
    """Functions by how many tests of mode strict fail for them, and in which packages."""
    found: dict[str, Counter[str]] = {}
    for f in modes.get("strict", {"failures": []})["failures"]:
        found.setdefault(f["host"] or "(something else)", Counter())[package_of(f["test"].partition("::")[0])] += 1
    rows = ["| function | tests | by package |", "|---|---:|---|"]
    for name, counts in sorted(found.items(), key=lambda item: -item[1].total())[:most]:
        rows.append(f"| {name} | {counts.total()} | {', '.join(f'{p} {n}' for p, n in counts.most_common())} |")
    return rows


def module_table(modes: dict[str, Any]) -> list[str]:
    rows = ["| module | " + " | ".join(modes) + " |", "|---|" + "---:|" * len(modes)]
    for module in scope.modules():
        found = [d["modules"].get(module) for d in modes.values()]
        cells = [f"{c['passed']} / {c['passed'] + c['failed']}" if c else "" for c in found]
        rows.append(f"| {module} | " + " | ".join(cells) + " |")
    return rows


def cause_table(data: dict[str, Any]) -> list[str]:
    counts = {m: Counter(f["cause"] for f in d["failures"]) for m, d in data["modes"].items()}
    rows = ["| cause | kind | " + " | ".join(counts) + " |", "|---|---|" + "---:|" * len(counts)]
    listed = [*data["causes"], {"id": None, "kind": "", "title": "**no cause yet**", "why": ""}]
    for c in sorted(listed, key=lambda c: -sum(n[c["id"]] for n in counts.values())):
        if any(n[c["id"]] for n in counts.values()):
            text = f"**{c['title']}** {c['why']}".replace("|", "\\|").replace("\n", " ").strip()
            rows.append(f"| {text} | {c['kind']} | " + " | ".join(str(n[c["id"]]) for n in counts.values()) + " |")
    return rows


def api_table(data: dict[str, Any]) -> list[str]:
    rows = ["| namespace | names | " + " | ".join(api.WAYS) + " |", "|---|---:|" + "---:|" * len(api.WAYS)]
    for name, names in [*data["api"]["table"].items(), ("ufuncs of numpy", data["api"]["ufuncs"])]:
        counts = api.counted(names)
        rows.append(f"| {name} | {len(names)} | " + " | ".join(str(counts[w]) for w in api.WAYS) + " |")
    return rows


def check(modes: list[str], modules: list[str]) -> int:
    """Compare the last runs with the lists of expected failures; how many differences there are.

    The lists are about one NumPy. With another, whose tests are others, each failure has to have a reviewed cause.
    """
    wrong = 0
    for mode in modes:
        listed = causes.version(mode) == numpy.__version__
        found = results.verdicts(mode, modules)
        missing = [m for m in modules if m not in found]
        for module in missing:
            print(f"{mode}: {module}: has not been run")
        wrong += len(missing)
        counted = {m: {*v.passed, *v.failed, *v.untouched} for m, v in found.items()}
        failing = {f"{m}::{t}" for m, v in found.items() for t in v.failed}
        wanted = results.spread([e for e in causes.expected(mode) if e.partition("::")[0] in found], counted)
        flaky = {t for t in failing ^ wanted if unsteady(mode, t)}
        known = failing & wanted if listed else failing
        for title, tests in (
            ("fails, and is not expected to", failing - wanted - flaky if listed else set()),
            ("passes, and is expected to fail: take it off the list", wanted - failing - flaky if listed else set()),
            ("fails, and has no cause in causes.toml", {t for t in known if not has_cause(mode, t, found)}),
        ):
            for test in sorted(tests):
                print(f"{mode}: {test}: {title}")
            wrong += len(tests)
        expected = f"{len(wanted)} expected" if listed else "each with a cause"
        print(f"{mode}: {len(found)} modules, {len(failing)} failures, {expected}")
    return wrong


def has_cause(mode: str, test: str, found: dict[str, results.Verdict]) -> bool:
    module, _, name = test.partition("::")
    return causes.cause_of(mode, test, found[module].failed[name]) is not None


def unsteady(mode: str, test: str) -> bool:
    """Whether a test fails only sometimes, and the list of causes says so."""
    return any(c.unsteady and c.matches(mode, test, "") for c in causes.causes())


def accept(modes: list[str]) -> None:
    """Make the failures of the last runs the expected ones; modules that were not run keep theirs."""
    for mode in modes:
        found = results.verdicts(mode)
        counted = {m: {*v.passed, *v.failed, *v.untouched} for m, v in found.items()}
        lines = results.grouped({m: set(v.failed) for m, v in found.items()}, counted)
        kept = [e for e in causes.expected(mode) if e.partition("::")[0] not in found]
        causes.write_expected(mode, sorted([*lines, *kept]))


__all__ = ["MODES", "accept", "check", "collect", "runner", "write"]
