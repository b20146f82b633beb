"""A notebook, a script and a test run under a profile, and again after following its advice.

`python examples/profiled/run.py` runs all six in processes of their own, and prints for each the time by a clock
outside of lazynp, what the profile's categories add up to, and the advice whose remedy the second program has.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={HERE}")
PROGRAMS = {
    "notebook": ("notebook.ipynb", "notebook_followed.ipynb"),
    "script": ("script.py", "script_followed.py"),
    "test run": ("test_systems.py", "test_systems_followed.py"),
}
CELLS = """
import json, sys, time
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="NoColor")
for cell in json.load(open(sys.argv[1]))["cells"]:
    if cell["cell_type"] == "code":
        begun = time.perf_counter()
        shell.run_cell("".join(cell["source"])).raise_error()
        print(f"cell of {time.perf_counter() - begun:.6f} s")
"""


class Run(NamedTuple):
    """What came of one program.

    Attributes:
        wall: of the profile; total: what its categories add up to, of times that were printed with three digits.
        advice: the entries, as printed: seconds and line, what, remedy.
        printed: the program's own output.
    """

    wall: float
    total: float
    advice: list[tuple[str, str, str]]
    printed: str


def child(path: Path, report: bool, **env: str) -> tuple[float, str, str]:
    """Run a program; seconds of the process, and what it printed, to the terminal and to the standard error."""
    options = ["--report"] if report else ["--quiet"]
    command = {
        ".ipynb": ["-c", CELLS, str(path)],
        ".py": ["-m", "lazynp", *options, *(PYTEST if path.stem.startswith("test_") else ()), str(path)],
    }[path.suffix]
    roots = os.pathsep.join(filter(None, [str(HERE.parent.parent), os.environ.get("PYTHONPATH", "")]))
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command],
        cwd=path.parent,
        env={**os.environ, "PYTHONPATH": roots, "PYTHONDONTWRITEBYTECODE": "1", **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return time.perf_counter() - begun, done.stdout, done.stderr


def plain(path: Path, folder: Path) -> Path:
    """A notebook whose cells are not profiled; any other program as it is."""
    if path.suffix != ".ipynb":
        return path
    book: dict[str, Any] = json.loads(path.read_text())
    for cell in book["cells"]:
        cell["source"] = [line for line in cell["source"] if not line.startswith("%%lazynp")]
    (folder / path.name).write_text(json.dumps(book))
    return folder / path.name


def took(path: Path, folder: Path, **env: str) -> float:
    """Seconds without a profile, by a clock outside of lazynp: of a notebook's last cell, or of the process."""
    seconds, printed, _ = child(plain(path, folder), report=False, **env)
    cells = re.findall(r"^cell of ([\d.]+) s$", printed, re.MULTILINE)
    return float(cells[-1]) if cells else seconds


def seconds_in(text: str) -> float:
    number, unit = text.split()
    return float(number) * UNITS[unit]


def profiled(path: Path, **env: str) -> Run:
    """Run a program with a profile."""
    _, printed, errors = child(path, report=True, **env)
    text = printed + errors
    wall = re.search(r"^where ([\d.e+-]+ \S+) went$", text, re.MULTILINE)
    assert wall, text
    table = text[wall.end() :].partition("\nby line")[0]
    total = sum([seconds_in(s) for s in re.findall(r"^  [\d.]+%\s+([\d.e+-]+ (?:s|ms|µs))\s", table, re.MULTILINE)])
    advice = re.findall(r"^\d+\. (.*)\n   (.*)\n   -> (.*)$", text, re.MULTILINE)
    own = [line for line in printed.partition("\nwhere ")[0].splitlines() if not line.startswith("cell of")]
    return Run(seconds_in(wall[1]), total, advice, "\n".join(own))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="of each program, in turns; the best one counts")
    rounds = parser.parse_args().rounds
    print("| program | categories add up to | before | followed | ratio | the advice |\n|---|---|---|---|---|---|")
    for name, pair in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            env = {"LAZYNP_CACHE_DIR": os.path.join(folder, "cache")}
            slow, fast = [profiled(HERE / path, **env) for path in pair]
            times = [[took(HERE / path, Path(folder), **env) for path in pair] for _ in range(rounds)]
        before, after = (min(column) for column in zip(*times, strict=True))
        shares = " and ".join([f"{run.total / run.wall:.1%}" for run in (slow, fast)])
        figures = f"{shares} | {before:.2f} s | {after:.2f} s | {before / after:.1f}"
        line, what, _ = slow.advice[0]
        print(f"| {name} | {figures} | {line}: {what} |")


if __name__ == "__main__":
    main()
