"""Libraries that stand on JAX, on `lazynp.jax`: `compat/jax.md`.

python -m compat.jaxlibs                    programs of each library, and the libraries' own tests
python -m compat.jaxlibs --programs haiku   programs of some libraries only; `--suites` likewise; "none" for none

A program runs in two processes, under real JAX and with `import jax` giving `lazynp.jax`; leaves of what it returns
have to agree in shape and dtype, and in value to a bound. A suite runs on `lazynp.jax`; tests that fail run once more
under JAX, and count where they pass there. What was not run again keeps its figures, in compat/jaxlibs/results.json.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import pickle
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from compat.outcomes import outcomes, python

HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "results.json", HERE.parent / "jax.md"
LIBRARIES = {
    "optax": "optax",
    "chex": "chex",
    "jaxopt": "jaxopt",
    "flax_linen": "flax",
    "flax_nnx": "flax",
    "equinox": "equinox",
    "haiku": "dm-haiku",
    "blackjax": "blackjax",
    "numpyro": "numpyro",
    "distrax": "distrax",
    "diffrax": "diffrax",
}
"""The programs, and the distribution that each is of."""
SUITES = {
    # It runs the functions that the process wants to run at its end, optree's among them, which forgets all trees.
    "chex": ("test_uninspected_checks", ("pmap_test", "fake_set_n_cpu_devices_test")),
    "optax": ("", ()),
}
"""Libraries whose packages have their tests: tests that run alone, files that are left out (several devices)."""
SECONDS, RTOL, ATOL = 600, 2e-3, 1e-4


# --- Programs ---------------------------------------------------------------------------------------------------------


def differ(a: np.ndarray, b: np.ndarray) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return True
    if a.dtype.kind not in "biufc":
        return bool((a != b).any())
    return not np.allclose(a, b, rtol=RTOL, atol=ATOL, equal_nan=True)


def programs_of(library: str) -> list[dict[str, Any]]:
    """For each program how it went, and its seconds on either side."""
    found: dict[str, dict[str, Any]] = {}
    for door in ("jax", "ours"):
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "results"
            done = python(["-P", str(HERE / "run_programs.py"), door, library, str(target)], SECONDS)
            if not target.exists():
                raise RuntimeError(f"{library} under {door}: {done.stderr[-2000:]}")
            found[door] = {name: rest for name, *rest in pickle.loads(target.read_bytes())}
    out = []
    for name, (theirs, error, seconds) in found["jax"].items():
        if theirs is None:
            out.append({"name": name, "how": f"JAX: {last_line(error)}"})
            continue
        ours, error, own_seconds = found["ours"].get(name, (None, next(iter(found["ours"].values()))[1], 0.0))
        if ours is None:
            how = last_line(error)
        elif len(ours) != len(theirs) or any(map(differ, ours, theirs)):
            how = "other values"
        else:
            how = "agrees"
        out.append({"name": name, "how": how, "ours": round(own_seconds, 2), "jax": round(seconds, 2)})
    return out


def last_line(error: str) -> str:
    return (error.strip().splitlines() or [""])[-1][:160]


# --- Suites -----------------------------------------------------------------------------------------------------------


def only(failed: dict[str, str]) -> list[str]:
    """What makes pytest run these tests and few others: by the names of the methods."""
    names = {name.split("::")[-1].split("__")[0].rstrip("0123456789") for name in failed}
    return [] if len(names) > 20 else [f"-k {' or '.join(sorted(n.split('(')[0].rstrip('_') for n in names))}"]


def suite_of(library: str, minutes: float) -> dict[str, Any]:
    """How many of a library's tests pass, of those that pass under JAX; and the failures. What these minutes do not
    suffice for is listed as `late`."""
    until = time.monotonic() + 60 * minutes
    spec = importlib.util.find_spec(library)
    assert spec is not None and spec.origin is not None
    alone, left_out = SUITES[library]
    found = [p for p in Path(spec.origin).parent.rglob("*_test.py") if p.stem not in left_out]
    files = [str(p) for p in sorted(found, key=lambda p: (p.stat().st_size, p))]  # the short ones first
    passed, failed, late = 0, {}, []
    for file in files:
        for chosen in ([f"-k not {alone}"], [f"-k {alone}"]) if alone else ([],):
            left = min(until - time.monotonic(), SECONDS)
            try:
                if left <= 0:
                    raise subprocess.TimeoutExpired(file, SECONDS)
                ours = outcomes(["-p", "compat.jaxlibs.plugin", file, *chosen], left)
            except subprocess.TimeoutExpired:
                late.append(Path(file).stem)
                continue
            passed += list(ours.values()).count("passed")
            bad = {k: v for k, v in ours.items() if v not in ("passed", "skipped")}
            theirs = outcomes([file, *chosen, *only(bad)], SECONDS) if bad else {}
            failed.update({k: v for k, v in bad.items() if theirs.get(k) == "passed"})
    return {"passed": passed, "failed": failed, "files": len(files), "late": late}


# --- The page ---------------------------------------------------------------------------------------------------------


def page(results: dict[str, Any]) -> str:
    versions = [f"{k} {importlib.metadata.version(k)}" for k in dict.fromkeys(["jax", *LIBRARIES.values()])]
    rows = [(k, p) for k, found in results["programs"].items() for p in found]
    agree = [p for _, p in rows if p["how"] == "agrees"]
    lines = [
        "# Libraries that stand on JAX",
        "",
        "`make compat-jax` writes this page: `import jax` gives `lazynp.jax` (`install()`), in the libraries too.",
        "",
        f"Python {platform.python_version()}, {', '.join(versions)}.",
        "",
        "## Programs",
        "",
        "Each runs in two processes, under JAX and here. They stand in `compat/jaxlibs/programs`. Seconds are those of",
        "the first and only run, tracing and compiling included.",
        "",
        f"{len(agree)} of {len(rows)} agree with JAX in shapes, dtypes and values.",
        "",
        "| library | program | | seconds | JAX's |",
        "|---|---|---|---|---|",
        *[f"| {k} | {p['name']} | {p['how']} | {p.get('ours', '')} | {p.get('jax', '')} |" for k, p in rows],
        "",
        "## The libraries' own tests",
        "",
        "Counted are tests that pass under JAX in the same environment; those of several devices are left out.",
        "",
        "| library | pass | fail | |",
        "|---|---|---|---|",
    ]
    for k, s in results["suites"].items():
        whole = s["passed"] + len(s["failed"])
        note = f"; not finished in the time given: {', '.join(s['late'])}" if s["late"] else ""
        lines.append(f"| {k} | {s['passed']} | {len(s['failed'])} | {s['passed'] / max(whole, 1):.1%}{note} |")
    lines += ["", "What fails:", ""]
    lines += [f"- {k} `{name}`: {why}" for k, s in results["suites"].items() for name, why in s["failed"].items()]
    return "\n".join(lines) + "\n"


def read() -> dict[str, Any]:
    """What was found so far."""
    if not RESULTS.exists():
        return {"programs": {}, "suites": {}}
    found: dict[str, Any] = json.loads(RESULTS.read_text())
    return found


def keep(kind: str, library: str, found: Any) -> dict[str, Any]:
    """Write one library's figures beside the others', and the page of all; all of them."""
    results = read()
    results[kind][library] = found
    for part, order in (("programs", LIBRARIES), ("suites", SUITES)):
        results[part] = {k: results[part][k] for k in order if k in results[part]}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(page(results))
    return results


def main() -> int:
    """What the command line says; 1 where a program does not agree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="*", default=list(LIBRARIES), metavar="LIBRARY")
    parser.add_argument("--suites", nargs="*", default=list(SUITES), metavar="LIBRARY")
    parser.add_argument("--minutes", type=float, default=90, help="for each suite")
    args = parser.parse_args()
    results = read()
    for library in [k for k in LIBRARIES if k in args.programs]:
        found = programs_of(library)
        results = keep("programs", library, found)
        print(library, *[f"{p['name']}: {p['how']}" for p in found], sep="\n  ", flush=True)
    for library in [k for k in SUITES if k in args.suites]:
        suite = suite_of(library, args.minutes)
        results = keep("suites", library, suite)
        print(library, "passed", suite["passed"], "failed", len(suite["failed"]), flush=True)
    return int(any(p["how"] != "agrees" for found in results["programs"].values() for p in found))


if __name__ == "__main__":
    sys.exit(main())
