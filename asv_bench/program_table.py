"""The programs of `plain` on NumPy, lazynp and (where there is a text by hand) JAX: one table of ratios.

    python asv_bench/program_table.py                          all programs at three sizes: most of an hour
    python asv_bench/program_table.py --quick                  short rounds: some ten minutes
    python asv_bench/program_table.py --programs heat_rod,plate --sizes 1000,30000
    python asv_bench/program_table.py --kinds stencil,nest     programs whose kind has one of these in it

Each program has a process for each library. At each size its results are compared with NumPy's, after the first run
and once hot; a program that differs is not timed. Hot means: it has run for a while, and `lazynp.compile_wait()` has
nothing to wait for. Then the libraries take turns. A turn is as many whole runs as take NumPy about `--seconds`, each
from inputs made before, outside of what is timed, to the values of all results. A ratio is the median over the rounds
of NumPy's time divided by the library's in that round: above one is faster than NumPy.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy
import plain

HERE = Path(__file__).resolve().parent
LIBRARIES = ("numpy", "lazynp", "jax")
SLOW = 0.9  # of NumPy's speed
LIMIT = 400.0  # seconds for one answer of a process


class ProgramFailed(Exception):
    """The process of a program ended before it was told to, or took too long."""


class Child:
    """A program on a library, in a process of its own."""

    def __init__(self, name: str, library: str, folder: Path) -> None:
        self.name, self.library, self.folder = name, library, folder
        self.errors = folder / f"{name}-{library}.stderr"
        path = os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH", "")]))
        with open(self.errors, "w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, str(HERE / "program_child.py"), name, library],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                # A compiler that goes on after the process has ended would be in the next program's way.
                env={"JAX_PLATFORMS": "cpu", **os.environ, "PYTHONPATH": path, "LAZYNP_COMPILE_AT_EXIT": "0"},
            )

    def ask(self, do: str, size: int, **named: Any) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        watch = threading.Timer(LIMIT, self.process.kill)
        watch.start()
        try:
            self.process.stdin.write(json.dumps({"do": do, "size": size, **named}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watch.cancel()
        if not line:
            self.process.wait()
            said = self.errors.read_text().strip().splitlines()
            raise ProgramFailed(f"{self.library}: {said[-1] if said else f'exit code {self.process.returncode}'}")
        return json.loads(line)

    def results(self, size: int) -> list[numpy.ndarray]:
        path = self.folder / f"{self.name}-{self.library}.npz"
        self.ask("save", size, path=str(path))
        with numpy.load(path) as archive:
            values = list(archive.values())
        path.unlink()
        return values

    def end(self) -> None:
        """At once: nothing of it is wanted any more."""
        self.process.kill()
        self.process.communicate()


def described(distance: float) -> str:
    return "=" if distance == 0 else f"{distance:.0e}"


def measure(children: dict[str, Child], size: int, seconds: float, rounds: int, ahead: float) -> dict[str, Any]:
    """A row of the table: seconds of one run in each round, and how far results are from NumPy's."""
    program = plain.PROGRAMS[children["numpy"].name]
    expected, distances = children["numpy"].results(size), {}
    for library, child in children.items():
        if library != "numpy":
            first = plain.apart(expected, child.results(size))
            child.ask("warm", size, seconds=ahead)
            distances[library] = max(first, plain.apart(expected, child.results(size)))
    row = {"program": program.name, "kind": program.kind, "size": size, "steps": program.steps_at(size)}
    row["apart"] = distances
    row["differ"] = [library for library, distance in distances.items() if distance > program.tolerance]
    turns = [library for library in children if library not in row["differ"]]
    once = min(children["numpy"].ask("time", size, repeats=1) for _ in range(2))
    repeats = min(max(1, math.ceil(seconds / once)), 1000)
    row["seconds"] = {library: [] for library in turns}
    for _ in range(rounds):
        for library in turns:
            row["seconds"][library].append(children[library].ask("time", size, repeats=repeats) / repeats)
        turns.append(turns.pop(0))
    ours = row["seconds"]
    row["ratios"] = {
        library: statistics.median(a / b for a, b in zip(ours["numpy"], ours[library], strict=True))
        for library in ours
        if library != "numpy"
    }
    return row


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def printed(row: dict, libraries: list[str], whole: set[str]) -> str:
    once = duration(statistics.median(row["seconds"]["numpy"]))
    cells = f"{row['program']:20s}{row['kind']:33s}{row['size']:>10,d}{once:>10s}"
    for library in libraries[1:]:
        ratio = row["ratios"].get(library)
        mark = "*" if library == "jax" and row["program"] in whole else " "
        cells += f"{f'{ratio:.2f}' if ratio else '-':>9s}{mark}"
    said = [f"{library} {described(distance)}" for library, distance in row["apart"].items()]
    return f"{cells}  {', '.join(said)}{'  DIFFERS: ' + ', '.join(row['differ']) if row['differ'] else ''}"


def mean(ratios: list[float]) -> str:
    return f"{statistics.geometric_mean(ratios):.2f}" if ratios else "-"


def verdict(rows: list[dict], whole: set[str]) -> str:
    """For each size: the geometric means, how many are slow, and lazynp beside JAX where both were timed."""
    lines = []
    for size in sorted({row["size"] for row in rows}):
        mine = [row for row in rows if row["size"] == size]
        ratios = {row["program"]: row["ratios"]["lazynp"] for row in mine if "lazynp" in row["ratios"]}
        slow = sorted((r, name) for name, r in ratios.items() if r < SLOW)
        lines.append(
            f"{size:>9,d} elements, {len(ratios)} programs: lazynp {mean(list(ratios.values()))} of NumPy's speed"
            f" (geometric mean), {len(slow)} under {SLOW}"
        )
        if slow:
            lines.append(f"{'':11s}{', '.join(f'{name} {r:.2f}' for r, name in slow)}")
        both = [row for row in mine if {"lazynp", "jax"} <= set(row["ratios"])]
        for what, part in (
            ("beside JAX by hand", both),
            ("without those whose JAX text is another algorithm (*)", [r for r in both if r["program"] not in whole]),
        ):
            if part:
                means = {library: mean([row["ratios"][library] for row in part]) for library in ("lazynp", "jax")}
                lines.append(f"{'':11s}{what}, {len(part)} programs: lazynp {means['lazynp']}, JAX {means['jax']}")
    return "\n".join(lines)


def load() -> str:
    return "the machine's load " + " ".join(f"{x:.1f}" for x in os.getloadavg()) + f", {os.cpu_count()} cores"


def by_hand(libraries: list[str]) -> tuple[set[str], set[str]]:
    """The names of programs that have a JAX text, and of those whose text is another algorithm."""
    if "jax" not in libraries:
        return set(), set()
    try:
        from plain.by_hand import BY_HAND, WHOLE  # JAX is loaded where it is wanted only
    except ImportError as error:
        print(f"left out: {error}")
        return set(), set()
    return set(BY_HAND), WHOLE


def table(
    names: list[str], sizes: list[int], libraries: list[str], seconds: float, rounds: int, ahead: float
) -> tuple[list[dict], list[str]]:
    """Print the table line by line; its rows, and what failed."""
    texts, whole = by_hand(libraries)
    rows, failed = [], []
    print(
        f"{'program':20s}{'kind':33s}{'elements':>10s}{'NumPy':>10s}" + "".join(f"{x:>9s} " for x in libraries[1:]),
        flush=True,
    )
    with tempfile.TemporaryDirectory(prefix="lazynp-programs-", ignore_cleanup_errors=True) as folder:
        for name in names:
            wanted = [library for library in libraries if library != "jax" or name in texts]
            children = {library: Child(name, library, Path(folder)) for library in wanted}
            try:
                for size in sizes:
                    rows.append(measure(children, size, seconds, rounds, ahead))
                    print(printed(rows[-1], libraries, whole), flush=True)
            except ProgramFailed as error:
                failed.append(name)
                print(f"{name:20s}FAILED {error}", flush=True)
            finally:
                for child in children.values():
                    child.end()
    if rows:
        print(verdict(rows, whole))
    return rows, failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default=",".join(plain.PROGRAMS), help="names, separated by commas")
    parser.add_argument("--kinds", default="", help="parts of kinds, separated by commas")
    parser.add_argument("--sizes", default=",".join(map(str, plain.SIZES)), help="elements of the main array")
    parser.add_argument("--libraries", default=",".join(LIBRARIES), help="NumPy is the measure, and always there")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="of NumPy in each round; a run is the least")
    parser.add_argument("--quick", action="store_true", help="three rounds of 0.05 seconds")
    parser.add_argument("--json", metavar="PATH", help="write all figures there")
    options = parser.parse_args()
    names = options.programs.split(",")
    if unknown := sorted(set(names) - set(plain.PROGRAMS)):
        parser.error(f"no such program: {', '.join(unknown)}; there are {', '.join(plain.PROGRAMS)}")
    kinds = options.kinds.split(",")
    names = [name for name in names if any(kind in plain.PROGRAMS[name].kind for kind in kinds)]
    libraries = ["numpy", *(library for library in options.libraries.split(",") if library != "numpy")]
    seconds, rounds, ahead = (0.05, 3, 0.4) if options.quick else (options.seconds, options.rounds, 1.5)
    begin = time.monotonic()
    print(load())
    rows, failed = table(names, [int(s) for s in options.sizes.split(",")], libraries, seconds, rounds, ahead)
    print(f"{(time.monotonic() - begin) / 60:.0f} minutes; {load()}")
    if options.json:
        Path(options.json).write_text(json.dumps({"rows": rows, "failed": failed}, indent=1))
    return int(bool(failed) or any(row["differ"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
