"""NumPy's own tests: the harness on tests made for it, and a part of NumPy's that takes seconds."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import numpy
import pytest

import compat
from compat import __main__ as entry
from compat import api, causes, names, page, report, results, runner, scope

MADE = """
import os
import signal

import pytest
import numpy as np
from numpy.testing import assert_equal
from numpy.linalg import norm

OURS = np.__name__ == "lazynp"


def test_passes():
    assert_equal(norm(np.arange(3.0) * 2), 20**0.5)


def test_untouched():
    assert 1 + 1 == 2


def test_fails():
    assert type(np.ones(2)).__module__ == "numpy"


def test_fails_under_numpy():
    assert type(np.ones(2)).__module__ == "lazynp"


@pytest.mark.skip
def test_skipped():
    pass


@pytest.mark.xfail
def test_expected():
    assert np.ones(2).sum() == 3


def test_crashes():
    np.ones(2)
    if OURS:
        os.kill(os.getpid(), signal.SIGSEGV)


def test_hangs():
    np.ones(2)
    while OURS:
        pass


def test_takes_memory():
    np.ones(2)
    if OURS:
        bytearray(8 << 30)


@pytest.mark.parametrize("n", range(3))
def test_cases(n):
    assert bool(np.ones(n).sum() == n) != OURS


@pytest.mark.parametrize("module", [np.random.__name__])
def test_name_of_a_module(module):
    assert np.ones(1) == 1


class TestClass:
    def test_one(self):
        assert np.ones(1).dtype == float

    def test_objects(self):
        assert np.array([1, None, "x"]).repeat(1).tolist() == [1, None, "x"]
"""
MODULE = "lib/tests/test_made.py"


def program(folder: pathlib.Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`python -m compat`, with results in that folder."""
    return subprocess.run(
        [sys.executable, "-m", "compat", *arguments],
        env={**os.environ, "LAZYNP_COMPAT_RESULTS": str(folder), **environment},
        cwd=pathlib.Path(compat.__file__).parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The results of the tests above in modes auto and strict."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "lib" / "tests").mkdir(parents=True)
    (folder / MODULE).write_text(MADE)
    done = program(
        folder / "results", "run", "--mode", "auto", "--mode", "strict",
        LAZYNP_COMPAT_ROOT=str(folder), LAZYNP_COMPAT_SECONDS="1.5", LAZYNP_COMPAT_BYTES=str(6 << 30),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "lib/tests/test_made.py" in done.stdout
    return folder / "results"


@pytest.fixture
def verdict(made: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(runner, "RESULTS", made)
    results.baseline.cache_clear()
    results.verdict.cache_clear()
    yield lambda mode: results.verdict(mode, MODULE)
    results.baseline.cache_clear()
    results.verdict.cache_clear()


def test_what_fails_under_numpy_does_not_count(verdict: Any) -> None:
    base = results.baseline(MODULE)
    assert list(base.failed) == ["test_fails_under_numpy"]
    assert base.skipped == 2
    assert verdict("auto").counted + len(verdict("auto").untouched) == len(base.passed) == 12


def test_verdicts(verdict: Any) -> None:
    found = verdict("auto")
    assert set(found.passed) == {
        "test_passes", "test_name_of_a_module[numpy.random]", "TestClass::test_one", "TestClass::test_objects"
    }  # fmt: skip
    assert found.untouched == ["test_untouched"]
    assert set(found.failed) == {
        "test_fails", "test_crashes", "test_hangs", "test_takes_memory", *[f"test_cases[{n}]" for n in range(3)]
    }  # fmt: skip
    assert found.failed["test_crashes"]["outcome"] == "crashed"
    assert "TooLong" in found.failed["test_hangs"]["text"]
    assert "MemoryError" in found.failed["test_takes_memory"]["text"]


def test_strict_mode_forbids_numpy_in_tests(verdict: Any) -> None:
    strict, auto = verdict("strict"), verdict("auto")
    assert set(strict.failed) - set(auto.failed) == {"TestClass::test_objects"}
    assert "HostFallbackError" in strict.failed["TestClass::test_objects"]["text"]
    assert strict.recorded > auto.recorded == 0


def test_only_what_is_missing_is_run_again(made: pathlib.Path) -> None:
    done = program(made, "run", "--mode", "auto", "--missing", LAZYNP_COMPAT_ROOT=str(made.parent))
    assert (done.returncode, done.stdout) == (0, "")


def test_check_wants_just_the_expected_failures(
    verdict: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = causes.Cause("all", "bug", "", "", tests=("*",))
    monkeypatch.setattr(causes, "causes", lambda: (known,))
    monkeypatch.setattr(causes, "version", lambda mode: numpy.__version__)  # the lists are about this one
    lines = [
        f"{MODULE}::{t}" for t in ("test_cases[*]", "test_crashes", "test_fails", "test_hangs", "test_takes_memory")
    ]
    failing = {MODULE: set(verdict("auto").failed)}
    counted = {MODULE: {*verdict("auto").passed, *verdict("auto").failed}}
    assert results.grouped(failing, counted) == lines
    for wanted, wrong in ((lines, 0), (lines[1:], 3), ([*lines, f"{MODULE}::test_passes"], 1)):
        monkeypatch.setattr(causes, "expected", lambda mode, wanted=wanted: wanted)
        assert report.check(["auto"], [MODULE]) == wrong
    assert "take it off the list" in capsys.readouterr().out
    monkeypatch.setattr(causes, "expected", lambda mode: lines)
    monkeypatch.setattr(causes, "causes", lambda: ())
    assert report.check(["auto"], [MODULE]) == 7
    assert report.check(["graph"], [MODULE]) == 1
    assert "has not been run" in capsys.readouterr().out


def test_lines_stand_for_all_of_a_class_or_module() -> None:
    counted = {"m": {"a[1]", "a[2]", "C::x", "C::y[1::2]", "C::y[[b]]", "D::z"}, "n": {"q", "r"}}
    failed = {"m": {"a[1]", "C::x", "C::y[1::2]", "C::y[[b]]", "D::z"}, "n": {"q", "r"}}
    lines = results.grouped(failed, counted)
    assert lines == ["m::C::*", "m::D::z", "m::a[1]", "n::*"]
    assert results.spread(lines, counted) == {f"{m}::{t}" for m, tests in failed.items() for t in tests}
    assert results.spread(["m::gone", "o::*"], counted) == set()


def test_scope() -> None:
    modules = scope.modules()
    assert len(modules) > 100
    assert set(scope.SHORT) < set(scope.QUICK) < set(modules)
    assert not {m.split("/")[0] for m in modules} & {"f2py", "distutils", "typing", "_pyinstaller"}
    every = {p.relative_to(scope.ROOT).as_posix() for p in scope.ROOT.rglob("tests/test_*.py")}
    out = every - set(modules)
    assert all(any(m == name or m.startswith(f"{name}/") for name in scope.LEFT_OUT) for m in out), out
    assert all(scope.LEFT_OUT.values())


def test_causes_are_in_order() -> None:
    found = causes.causes()
    assert len({c.id for c in found}) == len(found)
    assert all(c.title and c.why for c in found)
    cause = causes.Cause("x", "bug", "", "", tests=("m::C::test*",), text="no .* here", modes=("auto",))
    assert cause.matches("auto", "m::C::test_a[1]", "no luck here")
    assert not cause.matches("graph", "m::C::test_a[1]", "no luck here")
    assert not cause.matches("auto", "m::D::test_a[1]", "no luck here")


def test_names(capsys: pytest.CaptureFixture[str]) -> None:
    tables = api.table()
    done, count = api.share(tables)
    assert done / count >= 0.65
    assert not [n for table in tables.values() for n, way in table.items() if way == "missing"]
    assert len(api.ufuncs(tables)) >= 100
    names.names()
    last = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("all "))
    total, there = [int(n) for n in last.split()[1:3]]
    assert total == there > 1000


def test_page(verdict: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope, "modules", lambda: [MODULE])
    data = json.loads(json.dumps(report.collect()))
    assert (data["modes"]["auto"]["passed"], data["modes"]["auto"]["counted"]) == (4, 11)
    assert "test_fails_under_numpy" in str(data["baseline"]["failed"])
    written = page.html(data, report.SAYS)
    for text in ("36.36 %", "test_hangs", "test_fails_under_numpy", "composed", "_pyinstaller"):
        assert text in written
    assert "http" not in written.replace("http-equiv", "")
    for text in ("| auto | 4 | 11 |", "numpy.linalg", "_pyinstaller", "| ndarray.repeat | 1 | lib 1 |", scope.NUMERIC):
        assert text in report.markdown(data)
    assert data["modes"]["strict"]["numeric_passed"] == data["modes"]["strict"]["passed"]
    for source, numeric in (
        ("np.array([1.0]).sum()", True), ("np.array(x, dtype=object)", False), ("a.astype('S3')", False),
        ("x = np.dtype('<M8[s]')", False), ("np.zeros(2, dtype=[('a', int)])", False), ("dtype='d'", True),
    ):  # fmt: skip
        assert scope.is_numeric(source, "test[f-d]") == numeric, source
    for name in ("datetime64", "m8[Y]-0", "f-M8[s]", "O", "0-U10"):
        assert not scope.is_numeric("", f"test[{name}]"), name


def test_a_quick_run_has_a_report_of_its_own(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "REPORT", tmp_path / "report")
    monkeypatch.setattr(report, "HISTORY", tmp_path / "history.json")
    monkeypatch.setattr(runner, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(sys, "argv", ["compat", "report", "--quick"])
    results.baseline.cache_clear()
    results.verdict.cache_clear()
    assert entry.main() == 0
    assert {p.name for p in (tmp_path / "report").iterdir()} == {"quick"}
    assert {p.name for p in (tmp_path / "report" / "quick").iterdir()} == {"report.json", "report.md", "index.html"}
    assert not (tmp_path / "history.json").exists()


@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_numpy_own_tests(mode: str, tmp_path: pathlib.Path) -> None:
    """A part that takes seconds fails just where it is expected to, or, with another NumPy, with a known cause."""
    done = program(tmp_path, "run", "--mode", mode, "--jobs", "1", "--modules", *scope.SHORT)
    assert done.returncode == 0, done.stdout + done.stderr
    done = program(tmp_path, "check", "--mode", mode, "--modules", *scope.SHORT)
    assert done.returncode == 0, done.stdout
