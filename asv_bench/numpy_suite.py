"""NumPy's own benchmarks on NumPy and on lazynp, in turns: a table of ratios.

    python asv_bench/numpy_suite.py                               all benchmarks: about half an hour on a quiet machine
    python asv_bench/numpy_suite.py --quick                       fewer parameters and rounds
    python asv_bench/numpy_suite.py --only bench_core,Take        those with one of these in their name
    python asv_bench/numpy_suite.py --source numpy-2.4.6.tar.gz   from a distribution that is there, or its folder

The benchmarks are in NumPy's source distribution, of which nothing is kept in this repository: it is downloaded with
pip, in the version that is installed, into a cache folder ($XDG_CACHE_HOME/lazynp-bench). They run unchanged but for
two things: their `import numpy` gives lazynp (`python -m lazynp`), and every result is computed, since they throw
results away (see `numpy_suite_child.py`).

NumPy and lazynp have a process each, which take turns. Of a benchmark's parameters at most `--parameters` combinations
are run, from the first to the last at equal distances. Before the turns lazynp runs each for `--ahead` seconds and
waits for its background compiles, half a minute at most. A ratio is NumPy's best round divided by lazynp's: above one
is faster than NumPy. What other processes do to a round only makes it longer. On a machine that is busy all the time
no round is left alone, and `--clock processors` takes the time of all processors, in which what two cores do in half of
the time counts twice.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy
import processes

HERE = Path(__file__).resolve().parent
WORST = 30  # are printed
SECONDS = 0.005  # of NumPy in a round
FEWEST = 3  # rounds, but of what takes longer than all of them may
ANSWER = 120.0  # seconds at most


class NoSourceError(Exception):
    """NumPy's source distribution is not to be had; the text says why."""


def cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lazynp-bench"


def download(version: str, folder: Path) -> Path:
    """NumPy's source distribution, by pip. Raises NoSourceError with pip's last words where there is none."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--no-deps", "--no-binary"]
    command += [":all:", "--no-build-isolation", "--dest", str(folder), f"numpy=={version}"]
    env = {**os.environ, "PYTHONPATH": str(HERE / "metadata_only")}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    archives = sorted(folder.glob("*.tar.gz"))
    if done.returncode or not archives:
        raise NoSourceError(f"pip cannot download the source distribution of NumPy {version}:\n{done.stderr.strip()}")
    return archives[0]


def unpack(archive: Path, folder: Path) -> Path:
    """The folder of benchmarks of a distribution, unpacked: of the archive nothing else is wanted."""
    with tarfile.open(archive) as tar:
        wanted = [m for m in tar.getmembers() if "benchmarks" in Path(m.name).parts[1:2]]
        if not wanted:
            raise NoSourceError(f"{archive} has no folder named benchmarks")
        tar.extractall(folder, members=wanted, filter="data")
        return folder / Path(wanted[0].name).parts[0] / "benchmarks" / "benchmarks"


def benchmarks(source: str | None, version: str, scratch: Path) -> Path:
    """The folder of the benchmarks' modules: what was given (an archive is unpacked into the scratch folder), what is
    in the cache, or what is downloaded into it."""
    if source is not None:
        path = Path(source).resolve()
        if path.is_dir():
            folder = path / "benchmarks" / "benchmarks"
            if not folder.is_dir():
                raise NoSourceError(f"{path} has no folder benchmarks/benchmarks")
            return folder
        return unpack(path, scratch)
    folder = cache() / f"numpy-{version}"
    if not folder.exists():
        print(f"downloading the source distribution of NumPy {version}; its benchmarks go to {folder}", flush=True)
        cache().mkdir(parents=True, exist_ok=True)
        # Beside its place, where it is moved at once: who is interrupted leaves nothing that looks whole.
        with tempfile.TemporaryDirectory(dir=cache()) as beside:
            made = unpack(download(version, Path(beside)), Path(beside))
            made.parents[1].rename(folder)
    return folder / "benchmarks" / "benchmarks"


class Side:
    """The suite on one library; where its process dies, another one goes on with the next benchmark."""

    def __init__(self, library: str, folder: Path, scratch: Path) -> None:
        swap = ["-m", "lazynp", "--quiet"] if library == "lazynp" else []
        self.command = [sys.executable, *swap, str(HERE / "numpy_suite_child.py"), str(folder)]
        self.library, self.scratch = library, scratch / library
        self.scratch.mkdir()
        self.process: processes.Process | None = None

    def ask(self, do: str, **named: Any) -> Any:
        if self.process is None:
            self.process = processes.Process(self.library, self.command, self.scratch, ANSWER)
        try:
            answer = self.process.ask(do, **named)
        except processes.ProcessFailed:
            self.end()
            raise
        if isinstance(answer, dict) and "error" in answer:
            raise processes.ProcessFailed(answer["error"])
        return answer

    def end(self) -> None:
        if self.process is not None:
            self.process.end()
            self.process = None


def same(expected: list, got: list) -> bool:
    """Whether the digests of results agree: shapes, dtypes, and sums of magnitudes to a millionth."""
    if len(expected) != len(got):
        return False
    for want, have in zip(expected, got, strict=True):
        if want is None or have is None:
            continue
        if want[:2] != have[:2] or not math.isclose(want[2], have[2], rel_tol=1e-6, abs_tol=1e-12):
            return False
    return True


def measure(sides: dict[str, Side], item: list, rounds: int, ahead: float, budget: float, clock: str) -> dict[str, Any]:
    """A row: seconds of a call in each round, or why there are none. The budget, in seconds, is of both sides."""
    row: dict[str, Any] = {"group": item[0], "name": ".".join(item[1:3]) + (f"({item[4]})" if item[4] else "")}
    begun = {}
    for library, side in sides.items():
        try:
            begun[library] = side.ask("begin", item=item, seconds=ahead if library == "lazynp" else min(ahead, 0.02))
        except processes.ProcessFailed as error:
            begun[library] = {"error": str(error)}
    why = {library: answer.get("skipped") or answer.get("error") for library, answer in begun.items()}
    if why["numpy"]:
        return row | {"skipped": why["numpy"]}
    if why["lazynp"]:
        return row | {"failed": why["lazynp"]}
    row["same"] = same(begun["numpy"]["results"], begun["lazynp"]["results"])
    row["hot"] = begun["lazynp"]["hot"]
    once = {library: answer["once"] for library, answer in begun.items()}
    number = max(1, math.ceil(SECONDS / once["numpy"]))
    least = 1 if sum(once.values()) > budget else FEWEST
    rounds = min(rounds, max(least, int(budget / (number * sum(once.values())))))
    row["seconds"] = {library: [] for library in sides}
    turns = list(sides)
    try:
        for _ in range(rounds):
            for library in turns:
                row["seconds"][library].append(sides[library].ask("time", number=number, clock=clock) / number)
            turns.reverse()
        for side in sides.values():
            side.ask("end")
    except processes.ProcessFailed as error:
        return row | {"failed": str(error)}
    return row | {"ratio": min(row["seconds"]["numpy"]) / min(row["seconds"]["lazynp"])}


def line(row: dict) -> str:
    numpys = processes.duration(min(row["seconds"]["numpy"]))
    return f"{row['ratio']:8.2f}{numpys:>10s}  {row['group']}.{row['name']}"


def summary(rows: list[dict]) -> str:
    """A line for each group and one for all, the worst, and what failed or gave other results."""
    groups: dict[str, list[float]] = defaultdict(list)
    timed = [row for row in rows if "ratio" in row]
    for row in timed:
        groups[row["group"]].append(row["ratio"])
    lines = [f"{'group':24s}{'timed':>8s}{'mean':>8s}{'< 0.8':>8s}{'< 0.5':>8s}{'least':>8s}"]
    for name, ratios in [*sorted(groups.items()), ("all", [row["ratio"] for row in timed])]:
        below = "".join(f"{sum(r < bound for r in ratios):>8d}" for bound in (0.8, 0.5))
        lines.append(f"{name:24s}{len(ratios):>8d}{processes.mean(ratios):>8s}{below}{min(ratios, default=0.0):>8.2f}")
    lines += ["", f"the {WORST} slowest: NumPy's time over lazynp's, NumPy's time, name"]
    lines += [line(row) for row in sorted(timed, key=lambda row: row["ratio"])[:WORST]]
    if cold := sum(not row["hot"] for row in timed):
        lines += ["", f"{cold} were timed while kernels were still being compiled"]
    others = [f"{row['group']}.{row['name']}" for row in timed if not row["same"]]
    if others:
        lines += ["", "other results than NumPy's (random draws and uninitialized memory are among them):", *others]
    failed = [f"{row['group']}.{row['name']}: {row['failed']}" for row in rows if "failed" in row]
    if failed:
        lines += ["", "failed under lazynp:", *failed]
    return "\n".join(lines)


def run(folder: Path, scratch: Path, options: argparse.Namespace) -> list[dict]:
    parameters, rounds = (2, 3) if options.quick else (options.parameters, options.rounds)
    rows = []
    sides = {library: Side(library, folder, scratch) for library in ("numpy", "lazynp")}
    try:
        items = sides["numpy"].ask("list", most=parameters)
        wanted = options.only.split(",")
        items = [item for item in items if any(text in ".".join(item[:3]) for text in wanted)]
        print(f"{len(items)} benchmarks with parameters", flush=True)
        for k, item in enumerate(items):
            rows.append(measure(sides, item, rounds, options.ahead, options.budget, options.clock))
            if options.verbose and "ratio" in rows[-1]:
                print(line(rows[-1]), flush=True)
            elif k % 100 == 99:
                print(f"{k + 1} ...", flush=True)
    finally:
        for side in sides.values():
            side.end()
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="parts of names, separated by commas")
    parser.add_argument("--parameters", type=int, default=4, help="combinations of each benchmark, at most")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--ahead", type=float, default=0.1, help="seconds that lazynp runs each before")
    parser.add_argument("--budget", type=float, default=2.0, help="seconds of each for all rounds; one is the least")
    parser.add_argument(
        "--clock",
        choices=["wall", "processors"],
        default="wall",
        help="whose time counts: the program's, or all cores'",
    )
    parser.add_argument("--quick", action="store_true", help="two combinations and three rounds")
    parser.add_argument("--source", metavar="PATH", help="NumPy's source distribution: an archive or a folder")
    parser.add_argument("--verbose", action="store_true", help="a line for each benchmark")
    parser.add_argument("--json", metavar="PATH", help="write all figures there")
    options = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lazynp-suite-", ignore_cleanup_errors=True) as scratch:
        try:
            folder = benchmarks(options.source, numpy.__version__, Path(scratch))
        except NoSourceError as error:
            print(f"{error}\nWith `--source` the distribution, or a checkout of NumPy, can be given.", file=sys.stderr)
            return 1
        print(processes.load())
        rows = run(folder, Path(scratch), options)
    print(summary(rows))
    print(f"{(time.monotonic() - begin) / 60:.0f} minutes; {processes.load()}")
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))
    return int(any("failed" in row for row in rows))


if __name__ == "__main__":
    sys.exit(main())
