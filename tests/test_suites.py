"""`python -m compat suites` finds the tests of a library that pass with NumPy and not with the import swapped."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat import suites
from compat.outcomes import outcomes

TESTS = """
import numpy
from small import two

def test_of_values():
    assert (two() * numpy.ones(3)).sum() == 6

def test_of_the_library():
    assert numpy.__file__.replace(chr(92), "/").endswith("/numpy/__init__.py") and numpy.__spec__.name == "numpy"

def test_that_fails():
    assert two() is None
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    place = tmp_path / "small"
    (place / "small" / "tests").mkdir(parents=True)
    (place / "small" / "__init__.py").write_text("import numpy\n\ndef two():\n    return numpy.asarray(2.0)\n")
    (place / "small" / "tests" / "test_small.py").write_text(TESTS)
    (place / "version").write_text("1.0")
    monkeypatch.setattr(suites, "cache", lambda: tmp_path)
    monkeypatch.setitem(suites.SUITES, "small", suites.Suite("tests", ("small/tests",)))
    return "small"


def test_what_differs_is_found(library: str) -> None:
    found = suites.compare(library)
    assert (found["version"], found["passed"]) == ("1.0", 2)
    (name,) = found["differ"]
    assert name.endswith("test_of_the_library")
    page = suites.page({library: found})
    assert "1 of 2 tests pass on lazynp" in page and "| small 1.0 | tests | 2 | 1 |" in page and name in page


def test_a_run_without_results_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="unrecognized arguments"):
        outcomes(["--no-such-option"], 60, folder=str(tmp_path))
