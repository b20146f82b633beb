"""What the runs say: for each mode and module, which tests pass, fail, or never touched lazynp."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from . import runner, scope


@dataclass
class Verdict:
    """The tests of one module in one mode, by name; only those that pass under NumPy count.

    Attributes:
        passed: and used lazynp.
        failed: did not pass; the row that was written about it, empty where the test was not there.
        untouched: passed without using lazynp at all: reported apart, in no rate.
        recorded: operations that the tests recorded in the engine.
        numeric: of those that passed or failed, the names of tests of numeric dtypes alone: see `scope.NUMERIC`.
        seconds: what the module took.
    """

    passed: list[str] = field(default_factory=list)
    failed: dict[str, dict[str, Any]] = field(default_factory=dict)
    untouched: list[str] = field(default_factory=list)
    recorded: int = 0
    numeric: set[str] = field(default_factory=set)
    seconds: float = 0.0

    @property
    def counted(self) -> int:
        return len(self.passed) + len(self.failed)


@dataclass
class Baseline:
    """A module under NumPy itself."""

    passed: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: int = 0


@functools.cache
def baseline(module: str) -> Baseline:
    out = Baseline()
    for row in tests("numpy", module).values():
        if row["outcome"] == "passed":
            out.passed.add(row["test"])
        elif row["outcome"] in ("skipped", "xfailed", "xpassed"):
            out.skipped += 1
        else:
            out.failed[row["test"]] = row.get("text", row["outcome"])
    return out


def tests(mode: str, module: str) -> dict[str, dict[str, Any]]:
    """The last row of each test."""
    return {row["test"]: row for row in runner.rows(mode, module) if "test" in row}


@functools.cache
def verdict(mode: str, module: str) -> Verdict | None:
    """None where the module has not been run in this mode."""
    written = runner.rows(mode, module)
    if not any("finished" in row for row in written):
        return None
    out = Verdict(seconds=sum(row.get("seconds", 0.0) for row in written))
    found = {row["test"]: row for row in written if "test" in row}
    for name in sorted(baseline(module).passed):
        row = found.get(name)
        if row is None or row["outcome"] != "passed":
            out.failed[name] = row or {"outcome": "missing", "text": problem(written)}
        elif row["arrays"] or row["calls"] or row["recorded"]:
            out.passed.append(name)
        else:
            out.untouched.append(name)
        out.recorded += row["recorded"] if row else 0
        if row is not None and row.get("numeric"):
            out.numeric.add(name)
    return out


def problem(written: list[dict[str, Any]]) -> str:
    """Why a test is not there."""
    return next((row["collect_error"] for row in written if "collect_error" in row), "not collected")


def verdicts(mode: str, modules: Iterable[str] | None = None) -> dict[str, Verdict]:
    """Of all modules that have been run."""
    found = {m: verdict(mode, m) for m in (scope.modules() if modules is None else modules)}
    return {m: v for m, v in found.items() if v is not None}


def wider(name: str) -> list[str]:
    """Lines that stand for a test and for others: its module, its classes, the test with all its parameters."""
    stem, _, parameters = name.partition("[")
    owners = stem.split("::")[:-1]
    lines = ["*", *["::".join([*owners[: i + 1], "*"]) for i in range(len(owners))]]
    return [*lines, f"{stem}[*]"] if parameters else lines


def grouped(failed: dict[str, set[str]], counted: dict[str, set[str]]) -> list[str]:
    """`module::test` of each failing test, in order; one line for a module, a class or a test all of which fails.

    Args:
        failed: module -> names.
        counted: module -> all names that count.
    """
    lines = set()
    for module, names in failed.items():
        every = Counter(line for name in counted[module] for line in wider(name))
        mine = Counter(line for name in names for line in wider(name))
        whole = {line for line, n in mine.items() if n > 1 and n == every[line]}
        lines |= {f"{module}::{next((w for w in wider(name) if w in whole), name)}" for name in names}
    return sorted(lines)


def spread(lines: Iterable[str], counted: dict[str, set[str]]) -> set[str]:
    """The single tests that such lines stand for, of those that count."""
    out = set()
    for line in lines:
        module, _, name = line.partition("::")
        mine = counted.get(module, set())
        if name.endswith(("*", "[*]")):
            stem = name.removesuffix("]").removesuffix("*")
            out |= {f"{module}::{n}" for n in mine if n.startswith(stem)}
        elif name in mine:
            out.add(line)
    return out
