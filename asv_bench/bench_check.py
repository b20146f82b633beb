"""Whether lazynp is as fast beside NumPy as it was: `make bench-check`, some minutes.

    python asv_bench/bench_check.py            compare with asv_bench/baseline.json; exit 1 where something is slower
    python asv_bench/bench_check.py --write    write that file

Each point is a ratio: NumPy's time over lazynp's, the median over rounds in which both have their turn, so that it
depends little on the machine and on what else it does. The baseline has the worst of three measurements. What is slower
than it allows is measured again, and its best ratio counts: a busy moment makes a ratio worse for a while, a regression
for ever.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import interleaved
import numpy
from plain import PROGRAMS

import lazynp

BASELINE = Path(__file__).resolve().parent / "baseline.json"
OPERATIONS = ("add", "chain", "sum", "write_slice", "read_element")
OPERATION_SIZES = (10, 10_000, 1_000_000)
# Programs by the size at which they run: replayed loops over small arrays, and kernels over large ones.
CHOSEN = {
    1_000: ("heat_rod", "plate", "springs", "thomas"),
    1_000_000: ("heat_rod", "plate", "red_black", "julia", "smoothing", "heston", "xorshift"),
}
SLOWER = 0.7  # of the baseline's ratio: less is a regression
TRIES, ROUNDS, WARM_UPS = 3, 5, 4
SECONDS = 0.15  # that one turn of a program takes at least


def points() -> dict[str, Callable[[], float]]:
    """The points by name: each a function that measures its ratio."""
    found: dict[str, Callable[[], float]] = {}
    for operation in OPERATIONS:
        for size in OPERATION_SIZES:
            found[f"{operation} {size}"] = lambda o=operation, s=size: of_operation(o, s)
    for size, names in CHOSEN.items():
        for name in names:
            found[f"{name} {size}"] = lambda n=name, s=size: of_program(n, s)
    return found


def of_operation(operation: str, size: int) -> float:
    """The ratio of a single operation."""
    seconds = interleaved.measure(operation, size, ["numpy", "lazynp"], 9)
    return statistics.median(a / b for a, b in zip(seconds["numpy"], seconds["lazynp"]))


def of_program(name: str, size: int) -> float:
    """The ratio of a program in plain NumPy text, once it is compiled."""
    program = PROGRAMS[name]
    steps, arrays = program.steps_at(size), program.inputs(size)

    def turn(np: object) -> float:
        own = [a.copy() if isinstance(a, numpy.ndarray) else a for a in arrays]
        if np is lazynp:
            own = [lazynp.array(a) if isinstance(a, numpy.ndarray) else a for a in own]
        lazynp.synchronize()
        begun = time.perf_counter()
        result = program.compute(np, steps, *own)
        lazynp.synchronize()
        took = time.perf_counter() - begun
        del result
        return took

    with lazynp.config(compile_after=0.0):
        for _ in range(WARM_UPS):
            turn(lazynp)
            lazynp.compile_wait(120)
        repeats = max(1, math.ceil(SECONDS / max(turn(numpy), 1e-6)))
        rounds = []
        for _ in range(ROUNDS):
            ours = sum(turn(lazynp) for _ in range(repeats))
            rounds.append(sum(turn(numpy) for _ in range(repeats)) / ours)
    return statistics.median(rounds)


def check(baseline: dict[str, float], measured: dict[str, Callable[[], float]]) -> list[str]:
    """Print a line for each point; those that are slower than the baseline allows."""
    slower = []
    for name, measure in measured.items():
        ratio = measure()
        wanted = baseline.get(name)
        tries = 1
        while wanted is not None and ratio < SLOWER * wanted and tries < TRIES:
            ratio, tries = max(ratio, measure()), tries + 1
        state = "new" if wanted is None else "slower" if ratio < SLOWER * wanted else "ok"
        if state == "slower":
            slower.append(name)
        before = "" if wanted is None else f"{wanted:8.2f}"
        print(f"{name:34s}{ratio:8.2f}{before:>10s}  {state}", flush=True)
    return slower


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the baseline")
    parser.add_argument("--only", default="", help="points whose names begin so")
    options = parser.parse_args()
    lazynp.config.compile_nice = 0  # what is measured waits for the compiler
    chosen = {name: measure for name, measure in points().items() if name.startswith(options.only)}
    known: dict[str, float] = json.loads(BASELINE.read_text())["ratios"] if BASELINE.exists() else {}
    print(f"{'':34s}{'now':>8s}{'baseline':>10s}")
    if options.write:
        for name, measure in chosen.items():
            known[name] = round(min(measure() for _ in range(TRIES)), 3)
            print(f"{name:34s}{known[name]:8.2f}", flush=True)
        about = f"NumPy's time over lazynp's; NumPy {numpy.__version__}"
        BASELINE.write_text(json.dumps({"about": about, "ratios": known}, indent=1) + "\n")
        return
    begun = time.perf_counter()
    slower = check(known, chosen)
    seconds = time.perf_counter() - begun
    print(f"{len(chosen)} points in {seconds:.0f} s, {len(slower)} slower than {SLOWER} of the baseline")
    raise SystemExit(1 if slower else 0)


if __name__ == "__main__":
    main()
