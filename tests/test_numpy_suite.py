"""The parts of `make bench-numpy`, on a small suite that is made here: nothing is downloaded."""

from __future__ import annotations

import ast
import importlib
import io
import json
import sys
import tarfile
from pathlib import Path

import numpy
import pytest

import lazynp

BENCH = Path(__file__).resolve().parent.parent / "asv_bench"
sys.path.insert(0, str(BENCH))

suite = importlib.import_module("numpy_suite")
child = importlib.import_module("numpy_suite_child")
processes = importlib.import_module("processes")

COMMON = """
class Benchmark:
    pass
"""
CORE = '''
import numpy as np
from asv_runner.benchmarks.mark import SkipNotImplemented

from .common import Benchmark


class Core(Benchmark):
    params = [[10, 1000], ["float32", "float64"]]

    def setup(self, n, dtype):
        self.a = np.ones(n, dtype)

    def time_add(self, n, dtype):
        """Its results are thrown away."""
        self.a + 1

    def time_left_out(self, n, dtype):
        pass


class Rare(Benchmark):
    def setup(self):
        raise SkipNotImplemented("not here")

    def time_nothing(self):
        pass


class Module(Benchmark):
    def time_name(self):
        np.empty(len(np.__name__))

    def time_only_numpy(self):
        if np.__name__ != "numpy":
            raise ValueError("not with another one")


class _Hidden(Benchmark):
    def time_nothing(self):
        pass
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder like that of NumPy's source distribution."""
    modules = tmp_path / "numpy-9.9" / "benchmarks" / "benchmarks"
    modules.mkdir(parents=True)
    (modules / "__init__.py").write_text("raise RuntimeError('not wanted')")
    (modules / "common.py").write_text(COMMON)
    (modules / "bench_core.py").write_text(CORE)
    (modules / "bench_import.py").write_text("raise RuntimeError('left out')")
    return modules


def changed(body: str) -> str:
    """The text of a method with its results computed."""
    tree = ast.parse(f"def time_it(self):\n    {body}")
    module = ast.parse(ast.unparse(tree))
    (function,) = module.body
    visited = [child.Computing().visit(statement) for statement in function.body]
    statements = [s for part in visited for s in (part if isinstance(part, list) else [part])]
    return "; ".join(ast.unparse(ast.fix_missing_locations(s)) for s in statements)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("self.a + 1", "computed(self.a + 1)"),
        ("np.add(self.a, b)", "computed(np.add(self.a, b), np, self.a, b)"),
        ("self.a.sort()", "computed(self.a.sort(), self.a)"),
        ("np.clip(a[1:], 0, 1, out=self.b)", "computed(np.clip(a[1:], 0, 1, out=self.b), np, self.b)"),
        ("self.a[i] = 1", "self.a[i] = 1; computed(self.a)"),
        ("self.a -= 1", "self.a -= 1; computed(self.a)"),
        ("a, b = f()", "a, b = f(); computed(a); computed(b)"),
        ("return a @ b", "computed(a @ b); return"),
        ("for i in r:\n        a * i", "for i in r:\n    computed(a * i)"),
        ("def f(x):\n        return x", "def f(x):\n    return x"),
        ("'text'", "'text'"),
        ("pass", "pass"),
    ],
)
def test_results_are_handed_over(before: str, after: str) -> None:
    assert changed(before) == after


def test_what_is_handed_over_is_computed() -> None:
    with lazynp.config(mode="graph"):
        a, b, c = lazynp.ones(10) + 1, lazynp.ones(10) + 2, lazynp.ones(10) + 3
        d = lazynp.zeros(10)
        d[2:] = a[2:]
        assert all("nothing" not in lazynp.explain(x) for x in (a, b, c, d))
        child.ours(a)
        child.ours([b, 1])
        child.ours(None, lazynp, c, d)
    for x in (a, b, c, d):
        assert x._s_.buf is not None


def test_the_benchmarks_are_found(folder: Path) -> None:
    names = [k for k in sys.modules if k.startswith(("asv_runner", child.PACKAGE))]
    before = {name: sys.modules[name] for name in names}
    try:
        found = child.Suite(folder).list(most=2)
    finally:
        for name in [k for k in sys.modules if k.startswith(("asv_runner", child.PACKAGE))]:
            del sys.modules[name]
        sys.modules.update(before)
    assert found == [
        ["bench_core", "Core", "time_add", 0, "10, 'float32'"],
        ["bench_core", "Core", "time_add", 3, "1000, 'float64'"],
        ["bench_core", "Core", "time_left_out", 0, "10, 'float32'"],
        ["bench_core", "Core", "time_left_out", 3, "1000, 'float64'"],
        ["bench_core", "Rare", "time_nothing", 0, ""],
        ["bench_core", "Module", "time_name", 0, ""],
        ["bench_core", "Module", "time_only_numpy", 0, ""],
    ]


def test_the_whole_of_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "figures.json"
    source = str(folder.parents[1])
    arguments = ["--source", source, "--rounds", "2", "--ahead", "0", "--parameters", "1", "--json", str(path)]
    monkeypatch.setattr(sys, "argv", ["numpy_suite.py", *arguments])
    monkeypatch.setenv("LAZYNP_CACHE_DIR", str(tmp_path / "cache"))
    assert suite.main() == 1  # one benchmark fails under lazynp
    rows = {row["name"]: row for row in json.loads(path.read_text())}
    add = rows["Core.time_add(10, 'float32')"]
    assert add["same"] and add["ratio"] > 0
    assert len(add["seconds"]["numpy"]) == len(add["seconds"]["lazynp"]) == 2
    assert rows["Rare.time_nothing"]["skipped"]
    assert not rows["Module.time_name"]["same"]  # the import is swapped on one side only
    assert rows["Module.time_only_numpy"]["failed"] == "ValueError: not with another one"
    printed = capsys.readouterr().out
    assert "bench_core.Module.time_only_numpy: ValueError: not with another one" in printed


def row(name: str, ratio: float, group: str = "bench_core") -> dict:
    return {"group": group, "name": name, "ratio": ratio, "same": True, "hot": True, "seconds": {"numpy": [1e-6]}}


def test_the_summary() -> None:
    rows = [row("a", 0.25), row("b", 1.0), row("c", 4.0), row("d", 0.75, "bench_io"), row("e", 0.75, "bench_io")]
    rows += [{"group": "bench_io", "name": "f", "skipped": "no"}, {"group": "bench_io", "name": "g", "failed": "Oops"}]
    lines = suite.summary(rows).splitlines()
    assert lines[1].split() == ["bench_core", "3", "1.00", "1", "1", "0.25"]
    assert lines[2].split() == ["bench_io", "2", "0.75", "2", "0", "0.75"]
    assert lines[3].split()[:2] == ["all", "5"] and lines[3].split()[3:] == ["3", "1", "0.25"]
    assert [line.split()[-1] for line in lines[6:8]] == ["bench_core.a", "bench_io.d"]
    assert lines[-1] == "bench_io.g: Oops"


@pytest.mark.parametrize(
    ("want", "have", "same"),
    [
        (numpy.ones(3), numpy.ones(3) + 1e-9, True),
        (numpy.ones(3), numpy.ones(3) + 1e-3, False),
        (numpy.ones(3), numpy.ones((3, 1)), False),
        (numpy.ones(3), numpy.ones(3, "f4"), False),
        (numpy.array([1.0, numpy.nan]), numpy.array([1.0, numpy.nan]), True),
        (numpy.array([1 + 2j]), numpy.array([1 + 2j]), True),
        (numpy.array(["a"]), numpy.array(["b"]), True),  # only numbers are compared
        ("text", "other", True),
    ],
)
def test_digests_tell_other_results(want: object, have: object, same: bool) -> None:
    assert suite.same([child.digest(want)], [child.digest(have)]) is same
    assert not suite.same([child.digest(want)], [])


def distribution(folder: Path) -> Path:
    """A source distribution of a NumPy that is to be built with meson, in a folder where pip finds it."""
    path = folder / "numpy-9.9.tar.gz"
    files = {
        "pyproject.toml": '[build-system]\nbuild-backend = "mesonpy"\nrequires = ["meson-python"]\n',
        "PKG-INFO": "Metadata-Version: 2.1\nName: numpy\nVersion: 9.9\n",
        "benchmarks/benchmarks/bench_core.py": CORE,
        "numpy/__init__.py": "",
    }
    with tarfile.open(path, "w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(f"numpy-9.9/{name}")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return path


def test_pip_downloads_and_builds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distribution(tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for _ in range(2):  # the second time it is there
        modules = suite.benchmarks(None, "9.9", tmp_path)
        assert modules == tmp_path / "cache" / "lazynp-bench" / "numpy-9.9" / "benchmarks" / "benchmarks"
        assert [path.name for path in modules.iterdir()] == ["bench_core.py"]
        monkeypatch.setenv("PIP_FIND_LINKS", "nowhere")
    assert [path.name for path in modules.parents[2].iterdir()] == ["numpy-9.9"]
    assert not (modules.parents[1] / "numpy").exists()


def test_what_cannot_be_downloaded_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["numpy_suite.py"])
    assert suite.main() == 1
    said = capsys.readouterr().err
    assert f"pip cannot download the source distribution of NumPy {numpy.__version__}" in said
    assert "--source" in said
    with pytest.raises(suite.NoSourceError, match="has no folder"):
        suite.benchmarks(str(tmp_path), "9.9", tmp_path)


def test_an_archive_will_do(tmp_path: Path) -> None:
    modules = suite.benchmarks(str(distribution(tmp_path)), "9.9", tmp_path / "new")
    assert (modules / "bench_core.py").read_text() == CORE


def test_a_process_that_hangs_or_ends_is_told_of(tmp_path: Path) -> None:
    hangs = processes.Process("it", [sys.executable, "-c", "import time; time.sleep(100)"], tmp_path, limit=0.2)
    with pytest.raises(processes.ProcessFailed, match="no answer in"):
        hangs.ask("anything")
    hangs.end()
    ends = processes.Process("it", [sys.executable, "-c", "raise SystemExit('so')"], tmp_path)
    with pytest.raises(processes.ProcessFailed, match="it: so"):
        ends.ask("anything")
    ends.end()
