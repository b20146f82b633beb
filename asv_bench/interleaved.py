"""Ratios of single operations between libraries, measured in turns in one process.

    python asv_bench/interleaved.py --operations add,read_element --sizes 10,1000

Each round gives each library one batch of calls, in rotating order, so that a busy moment of the machine or a change
of its clock hits all of them. A ratio is the median over the rounds of time divided by NumPy's time in that round:
above one is slower than NumPy.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from benchmarks import libraries, micro

BATCH_SECONDS = 0.005


def batch_seconds(run: Callable[[], object], calls: int) -> float:
    """Seconds a call."""
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls


def calls_per_batch(run: Callable[[], object]) -> int:
    calls = 1
    while calls * batch_seconds(run, calls) < BATCH_SECONDS:
        calls *= 2
    return calls


def measure(operation: str, size: int, names: list[str], rounds: int) -> dict[str, list[float]]:
    """Seconds a call, for each library a figure for each round."""
    thunks = {name: micro.thunk(operation, name, size) for name in names}
    calls = {name: calls_per_batch(run) for name, run in thunks.items()}
    for name, run in thunks.items():
        batch_seconds(run, calls[name])
        libraries.waiter(name)()
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for k in range(rounds):
        for i in range(len(names)):
            name = names[(i + k) % len(names)]
            seconds[name].append(batch_seconds(thunks[name], calls[name]))
    return seconds


def duration(seconds: float) -> str:
    for unit, scale in (("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def available(names: list[str]) -> list[str]:
    found = []
    for name in names:
        try:
            libraries.namespace(name)
            found.append(name)
        except NotImplementedError as error:
            print(f"left out: {error}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", default=",".join(micro.OPERATIONS))
    parser.add_argument("--sizes", default=",".join(str(size) for size in micro.SIZES), help="elements")
    parser.add_argument("--libraries", default=",".join(libraries.LIBRARIES), help="the first one is the measure")
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    names = available(options.libraries.split(","))
    print(f"{'operation':15s}{'elements':>11s}" + "".join(f"{name:>12s}" for name in names), end="")
    print("".join(f"{f'{name}/{names[0]}':>16s}" for name in names[1:]))
    for operation in options.operations.split(","):
        for size in map(int, options.sizes.split(",")):
            seconds = measure(operation, size, names, options.rounds)
            cells = "".join(f"{duration(statistics.median(seconds[name])):>12s}" for name in names)
            for name in names[1:]:
                ratio = statistics.median(b / a for a, b in zip(seconds[names[0]], seconds[name], strict=True))
                cells += f"{ratio:>16.2f}"
            print(f"{operation:15s}{size:11,d}{cells}", flush=True)


if __name__ == "__main__":
    main()
