"""The tests with every Python and NumPy that this machine can have: `make matrix`.

Each Python that pyproject.toml names and that is found here, on the path or in pyenv's folder, is tried with the oldest
NumPy that pyproject.toml allows and with the newest that pip picks there: a virtual environment each, in `.matrix`,
made and used by the Makefile's own `test`. A table at the end says what came of it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SUMMARY = re.compile(r"=* ?((?:\d+ [a-z]+,? ?)+) in ([\d.]+)s")
PEAK = re.compile(r"^peak memory of [^:]*: (\d+) MB", re.MULTILINE)


def pythons() -> list[str]:
    """The versions that pyproject.toml names: 3.11 and so on."""
    found = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", c) for c in PROJECT["classifiers"]]
    return [m[1] for m in found if m]


def oldest() -> str:
    """The requirement of the oldest NumPy: `numpy==2.2.*` where `numpy>=2.2` is declared."""
    declared = next(d for d in PROJECT["dependencies"] if d.startswith("numpy>="))
    return f"numpy=={declared.removeprefix('numpy>=')}.*"


def interpreter(version: str) -> str | None:
    """A Python of that version on this machine, None where there is none."""
    candidates = [shutil.which(f"python{version}")]
    candidates += sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    code = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2], sys.executable)"
    for path in filter(None, candidates):
        done = subprocess.run([path, "-c", code], capture_output=True, text=True)  # what pyenv has on the path may fail
        found, _, executable = done.stdout.strip().partition(" ")
        if found == version:
            return executable
    return None


@dataclass
class Cell:
    """One Python with one NumPy, and what came of the tests there."""

    python: str
    path: str
    numpy: str
    age: str
    status: int = 1
    seconds: float = 0.0
    peak: int = 0
    versions: str = ""
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        return f".matrix/py{self.python}-numpy-{self.age}"

    def run(self, arguments: list[str]) -> None:
        """`make test` there, shown as it runs. What the summary lines say is added up."""
        command = ["make", "test", f"VENV={self.folder}", f"PYTHON={self.path}", f"NUMPY={self.numpy}", *arguments]
        environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
        begun = time.monotonic()
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            self.read(line)
        self.status, self.seconds = process.wait(), time.monotonic() - begun
        self.versions = installed(ROOT / self.folder)

    def read(self, line: str) -> None:
        """Take note of a line of pytest's."""
        summary, peak = SUMMARY.search(line), PEAK.match(line)
        if summary:
            for number, what in re.findall(r"(\d+) ([a-z]+)", summary[1]):
                what = what.removesuffix("s") if what == "errors" else what
                self.counts[what] = self.counts.get(what, 0) + int(number)
        if peak:
            self.peak = max(self.peak, int(peak[1]))

    def row(self) -> str:
        n = self.counts.get
        verdict = "passed" if self.status == 0 else "FAILED"
        bad = n("failed", 0) + n("error", 0)
        return (
            f"{self.python:<7}{self.age:<8}{self.versions:<44}{n('passed', 0):>7}{n('skipped', 0):>9}{bad:>8}"
            f"{self.seconds:>9.0f}{self.peak:>9}  {verdict}"
        )


def installed(venv: Path) -> str:
    """The versions of what matters most, as they are in an environment."""
    code = (
        "import importlib.metadata as m\n"
        "def version(name):\n"
        "    try: return m.version(name)\n"
        "    except m.PackageNotFoundError: return 'none'\n"
        "print(*[f'{n} {version(n)}' for n in ('numpy', 'torch', 'jax')], sep=', ')"
    )
    done = subprocess.run([venv / "bin" / "python", "-c", code], capture_output=True, text=True)
    return done.stdout.strip() or "not installed"


def main() -> int:
    """Run all cells one after the other; the number of those that failed."""
    parser = argparse.ArgumentParser(prog="python tests/matrix.py", description=__doc__)
    parser.add_argument(
        "--python", action="append", metavar="VERSION", help="only that Python; may be given several times"
    )
    parser.add_argument("--numpy", choices=["oldest", "newest"], help="only that NumPy")
    parser.add_argument("--list", action="store_true", help="say what would be run")
    parser.add_argument("make", nargs="*", metavar="NAME=VALUE", help="variables for make: ARGS='-k views', JOBS=1")
    args = parser.parse_args()
    cells, missing = [], []
    for version in args.python or pythons():
        path = interpreter(version)
        if path is None:
            missing.append(version)
            continue
        for age, requirement in (("oldest", oldest()), ("newest", "numpy")):
            if args.numpy in (None, age):
                cells.append(Cell(version, path, requirement, age))
    for version in missing:
        print(f"Python {version} is not on this machine")
    if args.list:
        print(*[f"{c.folder}: {c.path} with {c.numpy}" for c in cells], sep="\n")
        return 0
    for cell in cells:
        print(f"\n== Python {cell.python} with {cell.numpy}, in {cell.folder}", flush=True)
        cell.run(args.make)
    columns = f"{'passed':>7}{'skipped':>9}{'failed':>8}{'seconds':>9}{'peak MB':>9}"
    print(f"\n{'Python':<7}{'NumPy':<8}{'versions':<44}{columns}")
    print(*[c.row() for c in cells], sep="\n")
    failed = [c for c in cells if c.status or not c.counts.get("passed")]
    return 1 if failed or not cells else 0


if __name__ == "__main__":
    sys.exit(main())
