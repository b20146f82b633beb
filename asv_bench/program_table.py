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
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy
import plain
import processes

HERE = Path(__file__).resolve().parent
LIBRARIES = ("numpy", "lazynp", "jax")
SLOW = 0.9  # of NumPy's speed
REST = 0.2  # seconds before a turn: OpenBLAS's threads look for work for some 30 ms, on cores that the next one wants


class Child(processes.Process):
    """A program on a library, in a process of its own."""

    def __init__(self, name: str, library: str, folder: Path) -> None:
        self.program, self.folder = plain.PROGRAMS[name], folder / f"{name}-{library}"
        self.folder.mkdir()
        super().__init__(library, [sys.executable, str(HERE / "program_child.py"), name, library], self.folder)

    def results(self, size: int) -> list[numpy.ndarray]:
        path = self.folder / "results.npz"
        self.ask("save", size=size, path=str(path))
        with numpy.load(path) as archive:
            values = list(archive.values())
        path.unlink()
        return values


def described(distance: float) -> str:
    return "=" if distance == 0 else f"{distance:.0e}"


def measure(children: dict[str, Child], size: int, seconds: float, rounds: int, ahead: float) -> dict[str, Any]:
    """A row of the table: seconds of one run in each round, and how far results are from NumPy's."""
    program = children["numpy"].program
    expected, distances = children["numpy"].results(size), {}
    for library, child in children.items():
        if library != "numpy":
            first = plain.apart(expected, child.results(size))
            child.ask("warm", size=size, seconds=ahead)
            distances[library] = max(first, plain.apart(expected, child.results(size)))
    row = {"program": program.name, "kind": program.kind, "size": size, "steps": program.steps_at(size)}
    row["apart"] = distances
    row["differ"] = [library for library, distance in distances.items() if distance > program.tolerance]
    turns = [library for library in children if library not in row["differ"]]
    once = min(children["numpy"].ask("time", size=size, repeats=1) for _ in range(2))
    repeats = min(max(1, math.ceil(seconds / once)), 1000)
    row["seconds"] = {library: [] for library in turns}
    for _ in range(rounds):
        for library in turns:
            time.sleep(REST)
            row["seconds"][library].append(children[library].ask("time", size=size, repeats=repeats) / repeats)
        turns.append(turns.pop(0))
    ours = row["seconds"]
    row["ratios"] = {
        library: statistics.median(a / b for a, b in zip(ours["numpy"], ours[library], strict=True))
        for library in ours
        if library != "numpy"
    }
    return row


def printed(row: dict, libraries: list[str], whole: set[str]) -> str:
    once = processes.duration(statistics.median(row["seconds"]["numpy"]))
    cells = f"{row['program']:20s}{row['kind']:33s}{row['size']:>10,d}{once:>10s}"
    for library in libraries[1:]:
        ratio = row["ratios"].get(library)
        mark = "*" if library == "jax" and row["program"] in whole else " "
        cells += f"{f'{ratio:.2f}' if ratio else '-':>9s}{mark}"
    said = [f"{library} {described(distance)}" for library, distance in row["apart"].items()]
    return f"{cells}  {', '.join(said)}{'  DIFFERS: ' + ', '.join(row['differ']) if row['differ'] else ''}"


def verdict(rows: list[dict], whole: set[str]) -> str:
    """For each size: the geometric means, how many are slow, and lazynp beside JAX where both were timed."""
    lines = []
    for size in sorted({row["size"] for row in rows}):
        mine = [row for row in rows if row["size"] == size]
        ratios = {row["program"]: row["ratios"]["lazynp"] for row in mine if "lazynp" in row["ratios"]}
        slow = sorted((r, name) for name, r in ratios.items() if r < SLOW)
        lines.append(
            f"{size:>9,d} elements, {len(ratios)} programs: lazynp {processes.mean(list(ratios.values()))} of NumPy's"
            f" speed (geometric mean), {len(slow)} under {SLOW}"
        )
        if slow:
            lines.append(f"{'':11s}{', '.join(f'{name} {r:.2f}' for r, name in slow)}")
        both = [row for row in mine if {"lazynp", "jax"} <= set(row["ratios"])]
        for what, part in (
            ("beside JAX by hand", both),
            ("without those whose JAX text is another algorithm (*)", [r for r in both if r["program"] not in whole]),
        ):
            if part:
                means = {
                    library: processes.mean([row["ratios"][library] for row in part]) for library in ("lazynp", "jax")
                }
                lines.append(f"{'':11s}{what}, {len(part)} programs: lazynp {means['lazynp']}, JAX {means['jax']}")
    return "\n".join(lines)


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
            except processes.ProcessFailed as error:
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
    seconds, rounds, ahead = (0.05, 3, 1.5) if options.quick else (options.seconds, options.rounds, 1.5)
    begin = time.monotonic()
    print(processes.load())
    rows, failed = table(names, [int(s) for s in options.sizes.split(",")], libraries, seconds, rounds, ahead)
    print(f"{(time.monotonic() - begin) / 60:.0f} minutes; {processes.load()}")
    if options.json:
        Path(options.json).write_text(json.dumps({"rows": rows, "failed": failed}, indent=1))
    return int(bool(failed) or any(row["differ"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
