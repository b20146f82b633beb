"""The gallery: each program measured beside the library that it was written for, or its figure drawn.

    python examples/run_gallery.py                          measure all, and write docs/gallery.json and its table
    python examples/run_gallery.py --programs spots,star    some of them; the others keep their figures
    python examples/run_gallery.py --figures FOLDER         draw: FOLDER/spots.png and so on, where missing or old

NumPy programs are measured beside NumPy, JAX programs beside JAX, and the one that asks for a gradient beside a text
in `gallery/by_hand` that has it written out. Both run in processes of their own, lazynp with an empty cache. `first`
is the first run in the process, with compilers at work; `hot` is the best of the rounds after `compile_wait()`, which
are taken in turns, beside the best of the other library. What is timed is the part of a program that computes, inputs
included, until all that the figure shows has its value.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
CHILD = HERE / "gallery_child.py"
PAGE, MEASURED = HERE.parent / "docs" / "gallery.md", HERE.parent / "docs" / "gallery.json"
BEGIN, END = "<!-- measured -->\n", "<!-- end -->"
ROUNDS, WARM_UPS = 5, 5


@dataclasses.dataclass(frozen=True)
class Program:
    """`beside` is the library that the text is measured beside, and `apart` how far results may be from that one's."""

    name: str
    beside: str = "NumPy"
    apart: float = 1e-9

    @property
    def path(self) -> Path:
        return HERE / "gallery" / f"{self.name}.py"

    @property
    def as_lazynp(self) -> list[str]:
        return ["-m", "lazynp", "--jax"] if self.beside == "JAX" else ["-m", "lazynp"]

    @property
    def other_path(self) -> Path:
        return HERE / "gallery" / "by_hand" / f"{self.name}.py" if self.beside == "NumPy, by hand" else self.path


PROGRAMS = (
    Program("spots"), Program("slits"), Program("newton"), Program("spirals"), Program("butterflies"),
    Program("terrain"), Program("star"), Program("denoise", "NumPy, by hand", 1e-6), Program("cloth", "JAX", 1e-2),
    Program("picture", "JAX", 1e-1),
)  # fmt: skip


class Child:
    """A program in a process of its own (see gallery_child.py), the seconds of its first run, and what that gave."""

    def __init__(self, command: list[str], path: Path, folder: Path, *more: str) -> None:
        folder.mkdir()
        folders = os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH", "")]))
        defaults = {"JAX_PLATFORMS": "cpu", "LAZYNP_COMPILE_NICE": "0", "LAZYNP_CACHE_DIR": str(folder / "cache")}
        # Each run of a text makes its jitted functions anew: JAX's compiled code is kept on disk, as lazynp's is.
        defaults |= {
            "JAX_COMPILATION_CACHE_DIR": str(folder / "cache"),
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
        defaults["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        self.process = subprocess.Popen(
            [sys.executable, *command, str(CHILD), str(path), "--results", str(folder / "results.npz"), *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**defaults, **os.environ, "PYTHONPATH": folders, "LAZYNP_COMPILE_AT_EXIT": "0"},
        )
        self.first = self.event()["seconds"]
        with np.load(folder / "results.npz") as archive:
            self.results = dict(archive)

    def event(self) -> dict:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args} ended")
        return json.loads(line)

    def ask(self, command: str) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.event()["seconds"]


def distance(expected: dict, got: dict) -> float:
    """The largest difference of an element, over the largest element of its array; inf where shapes differ."""
    if not got or any(name not in expected or expected[name].shape != value.shape for name, value in got.items()):
        return np.inf
    worst = 0.0
    for name, value in got.items():
        right = expected[name].astype(complex)
        if right.size:
            worst = max(worst, float(np.abs(right - value).max() / (np.abs(right).max() or 1.0)))
    return worst


@contextlib.contextmanager
def running(child: Child) -> Iterator[Child]:
    """The process, which ends with the block."""
    try:
        yield child
    finally:
        child.process.communicate()


def measure(program: Program, rounds: int = ROUNDS) -> dict:
    """Seconds and ratios of one program. Raises where the results are not those of the other library."""
    with (
        tempfile.TemporaryDirectory(prefix="lazynp-gallery-", ignore_cleanup_errors=True) as folder,
        running(Child([], program.other_path, Path(folder, "other"))) as other,
        running(Child(program.as_lazynp, program.path, Path(folder, "ours"))) as ours,
    ):
        apart = distance(other.results, ours.results)
        if not apart <= program.apart:
            raise SystemExit(f"{program.name}: results are {apart:.1e} apart, beside {program.beside}")
        other.ask("round")
        for _ in range(WARM_UPS):
            ours.ask("round")
            if ours.ask("wait") < 0.01:
                break
        times = [(other.ask("round"), ours.ask("round")) for _ in range(rounds)]
    best = min(seconds for seconds, _ in times)  # what else the machine does only makes a round longer
    return {
        "beside": program.beside,
        "seconds": best,
        "first": other.first / ours.first,
        "hot": best / min(seconds for _, seconds in times),
        "apart": apart,
    }


def table(measured: dict) -> str:
    lines = ["| program | beside | it takes | first run | hot | results |", "|---|---|---|---|---|---|"]
    for program in PROGRAMS:
        if row := measured["programs"].get(program.name):
            result = "the same bits" if row["apart"] == 0 else f"{row['apart']:.0e} apart"
            cells = [program.name, row["beside"], f"{row['seconds']:.2f} s", f"{row['first']:.2f}", f"{row['hot']:.2f}"]
            lines.append("| " + " | ".join([*cells, result]) + " |")
    lines += ["", f"Measured with {measured['machine']}."]
    return "\n".join(lines) + "\n"


def written(page: str, measured: dict) -> str:
    """The page with the table in its place."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin and end, "the page has no place for the table"
    return before + begin + table(measured) + end + after


def draw(folder: Path, names: list[str]) -> None:
    """Write the figures that are missing or older than their program."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH", "")]))
    for program in PROGRAMS:
        target = folder / f"{program.name}.png"
        if program.name in names and not (target.exists() and target.stat().st_mtime > program.path.stat().st_mtime):
            command = [sys.executable, *program.as_lazynp, str(CHILD), str(program.path), "--figure", str(target)]
            quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
            subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": paths}, **quiet)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default=",".join(program.name for program in PROGRAMS))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--figures", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    names = options.programs.split(",")
    if options.figures:
        draw(options.figures, names)
        return
    measured = json.loads(MEASURED.read_text()) if MEASURED.exists() else {"programs": {}}
    load = f"at a load of {os.getloadavg()[0]:.0f} by other programs"
    measured["machine"] = f"{os.cpu_count()} cores, {load}, Python {platform.python_version()}, NumPy {np.__version__}"
    for program in PROGRAMS:
        if program.name in names:
            row = measured["programs"][program.name] = measure(program, options.rounds)
            print(
                f"{program.name:12s} beside {row['beside']:15s} first {row['first']:.2f} hot {row['hot']:.2f} "
                f"({row['seconds']:.2f} s, {row['apart']:.0e} apart; load {os.getloadavg()[0]:.1f})",
                flush=True,
            )
            MEASURED.write_text(json.dumps(measured, indent=1) + "\n")
    PAGE.write_text(written(PAGE.read_text(), measured))


if __name__ == "__main__":
    main()
