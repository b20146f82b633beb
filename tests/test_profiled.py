"""A notebook, a script and a test run under a profile: what it adds up to, what it advises, and what that brings."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from patience import least

import lazynp
from lazynp import owners

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))
run: Any = importlib.import_module("profiled.run")
FIRST = {"notebook": "traced anew 80 times", "script": "Python's own work", "test run": "NumPy on small arrays"}


@pytest.mark.parametrize("name", run.PROGRAMS)
def test_the_profile_of_a_whole_program(name: str, tmp_path: Path) -> None:
    pytest.importorskip("IPython", reason="IPython comes with lazynp[test]")
    env = {"LAZYNP_COMPILE": "0", "LAZYNP_CACHE_DIR": str(tmp_path)}
    slow, fast = (run.profiled(run.HERE / path, **env) for path in run.PROGRAMS[name])
    for found in (slow, fast):
        assert 0.95 * found.wall <= found.total <= 1.03 * found.wall  # of times with three digits
    line, what, _ = slow.advice[0]
    assert FIRST[name] in what and not any("site-packages" in entry[0] for entry in slow.advice)
    assert name != "test run" or "np.linalg.solve" in line
    figures = [re.sub(r" in [\d.]+s", "", found.printed) for found in (slow, fast)]
    assert figures[0] == figures[1]


@pytest.mark.alone
@pytest.mark.parametrize("name", run.PROGRAMS)
def test_the_advice_followed_makes_a_program_faster(name: str, tmp_path: Path) -> None:
    pytest.importorskip("IPython", reason="IPython comes with lazynp[test]")
    env = {"LAZYNP_CACHE_DIR": str(tmp_path)}
    times: list[list[float]] = []

    def share() -> float:
        """Of the time before, which following the advice leaves: of the least times so far."""
        times.append([run.took(run.HERE / path, tmp_path, **env) for path in run.PROGRAMS[name]])
        before, after = (min(column) for column in zip(*times, strict=True))
        return after / before

    share()  # compiles
    assert least(share, 1 / 1.5, 6) <= 1 / 1.5


def test_the_folders_of_libraries_are_known_before_a_thread_asks() -> None:
    """Python's `sysconfig`, asked by two threads at once, fails now and then."""
    owners.elsewhere.cache_clear()
    with lazynp.profile():
        assert owners.elsewhere.cache_info().currsize == 1
