"""`python -m lazynp doctor` and `… cache`."""

import os
import pathlib
import subprocess
import sys
import tomllib

import pytest

import lazynp
from lazynp import doctor
from lazynp.backends import artifacts

ROOT = pathlib.Path(__file__).parents[1]


def run(folder: pathlib.Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lazynp", *args]
    given = {**os.environ, "PYTHONPATH": str(ROOT), "LAZYNP_CACHE_DIR": str(folder / "cache"), **env}
    return subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, check=False)


def told(monkeypatch, part, **changes) -> doctor.Report:
    """What one part of the examination finds where functions of the module give something else."""
    for name, value in changes.items():
        monkeypatch.setattr(doctor, name, value)
    report = doctor.Report()
    part(report)
    return report


def test_the_report_of_this_machine(tmp_path) -> None:
    done = run(tmp_path, "doctor")
    assert not done.stderr
    titles = [line for line in done.stdout.splitlines() if line[:1].strip()]
    assert len(titles) == 8
    for text in (lazynp.lazynp_version, lazynp.__version__, sys.executable, str(tmp_path / "cache"), "elements"):
        assert text in done.stdout
    advice = "What is slow, and how to mend it" in titles
    assert done.returncode == int(advice)
    assert ("Nothing was found that makes lazynp slower." in titles) != advice


def test_what_is_missing_is_said_with_its_remedy(tmp_path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    nothing = str(tmp_path / "nothing")
    done = run(tmp_path, "doctor", PATH=nothing, CXX=nothing, LAZYNP_SPEED="0", LAZYNP_COMPILE="0", LAZYNP_MODE="graph")
    assert done.returncode == 1 and not done.stderr
    advice = done.stdout.partition("What is slow")[2]
    for what, remedy in (
        ("without a C++ compiler", "install g++"),
        ("config.compile is False", "unset LAZYNP_COMPILE"),
        ("the C modules are switched off", "unset LAZYNP_SPEED"),
        ("folder", "LAZYNP_CACHE_DIR"),
        ("config.mode is 'graph'", "unset LAZYNP_MODE"),
    ):
        assert what in advice and remedy in advice


@pytest.mark.parametrize("package", ["torch", "scipy"])
def test_a_package_that_is_not_installed(monkeypatch, package) -> None:
    version_of = lambda name: "" if name == package else "1.0"
    report = told(monkeypatch, doctor.versions, version_of=version_of)
    assert (package, "not installed") in report.sections[0][1]
    assert any("without scipy" in what for what, _ in report.advice) == (package == "scipy")
    report = told(monkeypatch, doctor.compiler, version_of=version_of)
    assert any("without torch" in what for what, _ in report.advice) == (package == "torch")


def test_a_compiler_that_does_not_work(monkeypatch, tmp_path) -> None:
    broken = tmp_path / "g++"
    broken.write_text("#!/bin/sh\necho no licence >&2\nexit 1\n")
    broken.chmod(0o700)
    monkeypatch.setattr(artifacts, "compiler_path", lambda: str(broken))
    report = told(monkeypatch, doctor.compiler)
    assert ("a trial", "fails: exit status 1: no licence") in report.sections[0][1]
    assert any("does not work" in what for what, _ in report.advice)


def test_a_container_with_fewer_cores(monkeypatch, tmp_path) -> None:
    file = tmp_path / "cpu.max"
    for text, cores in (("150000 100000\n", 1.5), ("max 100000\n", None), ("", None)):
        file.write_text(text)
        assert doctor.quota(str(file)) == cores
    assert doctor.quota(str(tmp_path / "none")) is None
    report = told(monkeypatch, doctor.processor, quota=lambda: 1.5, threads=lambda: 8, busy=lambda: 0.0)
    assert report.advice == [("8 threads share 1.5 cores, since the container has no more", "set LAZYNP_THREADS=1")]


def test_a_checkout_that_hides_what_was_installed(monkeypatch, tmp_path) -> None:
    """As after `pip install .`, where Python finds the source in the current folder first."""
    assert doctor.installed_elsewhere() == ""
    (tmp_path / "lazynp").mkdir()
    (tmp_path / "lazynp" / "__init__.py").touch()
    (tmp_path / "lazynp-0.1.0.dist-info").mkdir()
    (tmp_path / "lazynp-0.1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: lazynp\nVersion: 0.1.0\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    report = told(monkeypatch, doctor.c_modules, why_not=lambda name: "not built")
    [(what, remedy)] = report.advice
    assert str(tmp_path) in what and "in another folder" in remedy and "pip install -e ." in remedy


def test_c_modules_that_are_not_there(monkeypatch) -> None:
    monkeypatch.delenv("LAZYNP_SPEED", raising=False)
    assert doctor.why_not("_nothing") == "not built"
    report = told(monkeypatch, doctor.c_modules, why_not=lambda name: "not built" if name == "_blocks" else "")
    ((what, remedy),) = report.advice
    assert what.startswith("_blocks: not built") and "pip install" in remedy


def test_the_cache(tmp_path) -> None:
    assert run(tmp_path, "cache", "path").stdout == f"{tmp_path / 'cache' / artifacts.NAME}\n"
    assert "0 compiled, 0 known" in run(tmp_path, "cache").stdout
    assert not (tmp_path / "cache").exists()
    store = artifacts.Artifacts(str(tmp_path / "cache"))
    built = tmp_path / "built.so"
    built.write_bytes(b"x" * 5000)
    assert store.put("a" * 64, str(built), {}) and store.put("b" * 64, None, {})
    info = run(tmp_path, "cache", "info").stdout
    assert "1 compiled, 1 known not to be compilable" in info and "KB of 1.07 GB" in info and "last used" in info
    other = pathlib.Path(store.folder) / "mine.txt"
    other.write_text("not an entry")
    done = run(tmp_path, "cache", "clear")
    assert done.returncode == 0 and done.stdout.startswith("removed 1 kernels, ")
    assert "0 compiled, 0 known" in run(tmp_path, "cache", "info").stdout
    assert other.exists()


@pytest.mark.parametrize("args", [("cache", "burn"), ("cache", "info", "clear"), ("doctor", "who")])
def test_wrong_arguments(tmp_path, args) -> None:
    done = run(tmp_path, *args)
    assert done.returncode == 2 and done.stderr.startswith("usage: python -m lazynp ")


def test_the_version_stands_in_one_place(tmp_path) -> None:
    assert run(tmp_path, "--version").stdout.startswith(f"lazynp {lazynp.lazynp_version} (NumPy {lazynp.__version__}, ")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"] and project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "lazynp.lazynp_version"}
