"""Libraries' own tests with their import of NumPy swapped: `python -m compat suites`, and docs/library-suites.md.

A library that is written in Python over NumPy, and has its tests in its wheel, is downloaded into a cache folder
($XDG_CACHE_HOME/lazynp-suites) and unpacked there without what says that an installer put it there: so it counts as the
program's own code, whose `import numpy` is swapped. Its tests run in two processes, by `python -m pytest` and by
`python -m lazynp -m pytest`, and each test that passes in the first has to pass in the second.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .outcomes import ROOT, outcomes

PAGE = ROOT / "docs" / "library-suites.md"
RESULTS = Path(__file__).parent / "suites.json"
SECONDS = 3600


class Suite(NamedTuple):
    """A library.

    Attributes:
        about: what it is for.
        tests: files and folders with its tests, in its wheel.
        args: pytest's arguments.
        why: of tests that differ, by their names, what they ask for.
    """

    about: str
    tests: tuple[str, ...]
    args: tuple[str, ...] = ()
    why: Mapping[str, str] = {}


SUITES = {
    "ase": Suite(
        "atoms and molecules",
        tuple([f"ase/test/{part}" for part in ("atoms", "bandstructure", "build_", "cell", "constraints", "geometry")])
        + tuple([f"ase/test/{part}" for part in ("md", "neighbor", "optimize")]),
    ),
    "colour-science": Suite(
        "colours, as they are measured and seen",
        tuple([f"colour/{part}" for part in ("adaptation", "algebra", "appearance", "models", "temperature")])
        + tuple([f"colour/{part}" for part in ("colorimetry", "utilities", "volume")]),
    ),
    "control": Suite(
        "feedback systems",
        ("control/tests",),
        ("--ignore=control/tests/docstrings_test.py",),  # numpydoc reads them
    ),
    "emcee": Suite("Markov chains by ensembles", ("emcee/tests/unit",)),
    "nibabel": Suite(
        "images of brains",
        tuple([f"nibabel/{part}" for part in ("tests", "freesurfer", "streamlines", "gifti", "nicom")]),
        why={
            "tests.test_parse_gifti_fast::test_parse_with_memmap_fallback": "it puts a mock for `memmap` into the "
            "module that is called `numpy`, which the library does not read"
        },
    ),
    "numpy-financial": Suite("interest and returns", ("numpy_financial",)),
    "pint": Suite("units", ("pint/testsuite",), ("--ignore=pint/testsuite/benchmarks",)),
    "quantities": Suite("units, as a subclass of arrays", ("quantities",)),
    "scikit-fuzzy": Suite("fuzzy logic", ("skfuzzy",)),
    "scikit-rf": Suite("microwave networks", ("skrf",)),
    "tensorly": Suite("decompositions of tensors", ("tensorly",), ("--ignore=tensorly/contrib/sparse",)),
    "transforms3d": Suite("rotations", ("transforms3d",)),
}


def cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lazynp-suites"


def unpacked(name: str) -> tuple[Path, str]:
    """Where a library's newest version lies, and which that is; downloaded where it has not been yet."""
    place = cache() / name
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = place.with_suffix(f".{os.getpid()}")
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*pip, "-d", str(beside), name], check=True)
        (wheel,) = beside.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            inside = [n for n in archive.namelist() if ".dist-info/" not in n and ".data/" not in n]
            archive.extractall(beside, inside)
        (beside / "version").write_text(wheel.name.split("-")[1])
        wheel.unlink()
        try:
            beside.rename(place)
        except OSError:  # another process was faster
            shutil.rmtree(beside)
    return place, (place / "version").read_text()


def compare(name: str) -> dict[str, Any]:
    """How many of a library's tests pass with NumPy, which of them do not with lazynp, and seconds of both."""
    place, version = unpacked(name)
    suite = SUITES[name]
    args = ["-o", "addopts=", "--continue-on-collection-errors", *suite.args, *suite.tests]
    found, seconds = [], []
    for before in ((), ("-m", "lazynp")):
        began = time.perf_counter()
        found.append(outcomes(args, SECONDS, before, str(place), [str(place)], MPLBACKEND="Agg"))
        seconds.append(round(time.perf_counter() - began, 1))
    theirs, ours = found
    passed = [test for test, how in theirs.items() if how == "passed"]
    differ = {test: ours.get(test, "was not run") for test in passed if ours.get(test) != "passed"}
    return {"version": version, "passed": len(passed), "differ": differ, "numpy": seconds[0], "lazynp": seconds[1]}


def main(chosen: list[str] | None) -> int:
    """Run all suites, or those whose names are given, keep their figures beside the others' and write the page; 1
    where a test differs."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    failed = False
    for name in SUITES:
        if chosen and name not in chosen:
            continue
        try:
            found = results[name] = compare(name)
        except (RuntimeError, subprocess.SubprocessError) as error:
            print(name, error, file=sys.stderr)
            failed = True
            continue
        failed = failed or bool(found["differ"])
        print(name, found["version"], found["passed"], "pass with NumPy;", len(found["differ"]), "differ", flush=True)
        for test, how in found["differ"].items():
            print("   ", test, how)
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
        PAGE.write_text(page(results))
    return int(failed)


def page(results: dict[str, Any]) -> str:
    """The table for the documentation."""
    rows = [(name, SUITES[name].about, results[name]) for name in SUITES if name in results]
    passed, differ = sum(r["passed"] for *_, r in rows), sum(len(r["differ"]) for *_, r in rows)
    versions = f"Python {sys.version.split()[0]}, NumPy {np.__version__}"
    lines = [
        "# Libraries' own tests",
        "",
        "`make suites` writes this page. Each library is Python over NumPy, and lies in a folder as a program's own",
        "code: its tests run by `python -m pytest` and by `python -m lazynp -m pytest`, where its `import numpy` gives",
        "lazynp. Counted are tests that pass with NumPy. Seconds are those of one run, with whatever else the machine",
        "did; most are Python's, and arrays are small.",
        "",
        f"{passed - differ:,} of {passed:,} tests pass on lazynp. {versions}.",
        "",
        "| library | | pass with NumPy | and on lazynp | seconds with NumPy | on lazynp |",
        "|---|---|---|---|---|---|",
    ]
    for name, about, r in rows:
        both = r["passed"] - len(r["differ"])
        lines.append(
            f"| {name} {r['version']} | {about} | {r['passed']:,} | {both:,} | {r['numpy']:.0f} | {r['lazynp']:.0f} |"
        )
    failures = [
        f"- {name} `{test}`: {SUITES[name].why.get(test, how)}"
        for name, _, r in rows
        for test, how in r["differ"].items()
    ]
    return "\n".join([*lines, *(["", "What differs:", "", *failures] if failures else [])]) + "\n"
