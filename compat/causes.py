"""Why tests fail: `causes.toml`, reviewed by people; and the lists of expected failures, one a mode.

A cause names tests by pattern (`module::Class::test*`, where `*` is any text) and, if it needs to, by a regular
expression for the error's text. The first cause that matches a failing test is its cause.
"""

from __future__ import annotations

import functools
import pathlib
import re
import tomllib
from dataclasses import dataclass
from typing import Any

import numpy

HERE = pathlib.Path(__file__).parent
KINDS = {
    "deliberate": "Deliberate difference",
    "not yet": "Not yet",
    "bug": "Bug",
}


@dataclass(frozen=True)
class Cause:
    """One entry of the list."""

    id: str
    kind: str
    title: str
    why: str
    tests: tuple[str, ...] = ()
    text: str = ""
    modes: tuple[str, ...] = ("auto", "graph", "strict")
    unsteady: bool = False  # fails only sometimes

    def matches(self, mode: str, test: str, text: str) -> bool:
        return (
            mode in self.modes
            and (not self.tests or any(p.fullmatch(test) for p in patterns(self.tests)))
            and (not self.text or re.search(self.text, text) is not None)
        )


@functools.cache
def patterns(globs: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple([re.compile(".*".join(map(re.escape, g.split("*"))), re.DOTALL) for g in globs])


@functools.cache
def causes() -> tuple[Cause, ...]:
    """The list. Raises ValueError for an entry that is not in order."""
    found = []
    for entry in tomllib.loads((HERE / "causes.toml").read_text())["cause"]:
        more = {k: tuple(entry[k]) for k in ("tests", "modes") if k in entry}
        cause = Cause(**{**entry, **more})
        if cause.kind not in KINDS or not (cause.tests or cause.text):
            raise ValueError(f"causes.toml: {cause.id}: a kind of {', '.join(KINDS)}, and tests or text are needed")
        found.append(cause)
    return tuple(found)


def cause_of(mode: str, test: str, row: dict[str, Any]) -> Cause | None:
    """The cause of a failing test, `module::name`."""
    text = str(row.get("text", ""))
    return next((c for c in causes() if c.matches(mode, test, text)), None)


def expected(mode: str) -> list[str]:
    """The lines of the list of expected failures; comments and empty lines apart."""
    path = HERE / "expected" / f"{mode}.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return [line for line in lines if line and not line.startswith("#")]


def version(mode: str) -> str:
    """The NumPy whose tests a mode's list is about."""
    path = HERE / "expected" / f"{mode}.txt"
    return path.read_text().split("NumPy ", 1)[1].split(":", 1)[0] if path.exists() else ""


def write_expected(mode: str, lines: list[str]) -> None:
    path = HERE / "expected" / f"{mode}.txt"
    path.parent.mkdir(exist_ok=True)
    head = (
        f"# NumPy {numpy.__version__}: its tests that fail in mode {mode}. `python -m compat check` wants just these."
    )
    path.write_text(head + "\n" + "".join(f"{line}\n" for line in lines))
