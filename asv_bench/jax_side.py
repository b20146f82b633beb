"""lazynp's JAX door beside JAX: ratios of time, measured in turns in one process.

    python asv_bench/jax_side.py                  all of it
    python asv_bench/jax_side.py --only jit,ops   parts: jit, ops, speedup, step, first

Prints a table. Each figure is a median over rounds; in a round each side makes one batch of calls, in rotating order. A
ratio is the median over the rounds of lazynp's time divided by JAX's (in `speedup`, of the jitted function's divided by
that without jit): below one, lazynp is faster. `first` starts processes: the time from starting the interpreter to the
results of each example program, with an empty artifact cache.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import jax
from benchmarks import jax_door
from benchmarks.jax_door import CALLS, ONE, PROGRAMS, Call, Maker

import lazynp
import lazynp.jax

SIDES = {"lazynp": lazynp.jax, "JAX": jax}
BATCH_SECONDS = 0.004
Seconds = dict[str, list[float]]


def batch_seconds(run: Call, calls: int) -> float:
    """Seconds a call."""
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls


def calls_per_batch(run: Call) -> int:
    calls = 1
    while calls * batch_seconds(run, calls) < BATCH_SECONDS:
        calls *= 2
    return calls


def measure(sides: dict[str, Call], rounds: int) -> Seconds:
    """Seconds a call, for each side a figure for each round. Background compiles are waited for first."""
    for run in sides.values():
        for _ in range(200):
            run()
    lazynp.compile_wait()
    calls = {name: calls_per_batch(run) for name, run in sides.items()}
    seconds: Seconds = {name: [] for name in sides}
    names = list(sides)
    for _ in range(rounds):
        for name in names:
            seconds[name].append(batch_seconds(sides[name], calls[name]))
        names.append(names.pop(0))
    return seconds


def duration(seconds: float) -> str:
    unit, scale = next(((u, s) for u, s in (("s", 1), ("ms", 1e3)) if seconds * s >= 1), ("us", 1e6))
    return f"{seconds * scale:.2f} {unit}"


def ratio_of(seconds: Seconds) -> float:
    """The first side's time over the second's."""
    first, second = seconds.values()
    return statistics.median([a / b for a, b in zip(first, second, strict=True)])


def row(what: str, seconds: Seconds, goal: float | None) -> None:
    medians = "".join(f"{duration(statistics.median(s)):>12s}" for s in seconds.values())
    ratio = ratio_of(seconds)
    verdict = "" if goal is None else f"{goal:>8g}  {'holds' if ratio <= goal else 'FAILS'}"
    print(f"{what:36s}{medians}{ratio:>9.3f}{verdict}", flush=True)


def beside(make: Maker, rounds: int) -> Seconds:
    return measure({name: make(side) for name, side in SIDES.items()}, rounds)


def jit_overhead(rounds: int) -> None:
    """Jitted functions that do next to nothing: what a call itself costs."""
    for name in ("jit of x + 1", "jit on a pytree"):
        row(name, beside(CALLS[name], rounds), 1)


def operations(rounds: int) -> None:
    """Operations on 10 elements, without jit."""
    ratios = []
    for name in ONE:

        def make(j: Any, name: str = name) -> Call:
            return jax_door.operation(name, j)

        seconds = beside(make, rounds)
        ratios.append(ratio_of(seconds))
        row(name, seconds, 0.333)
    print(f"{'median of the operations':60s}{statistics.median(ratios):>9.3f}   0.333", flush=True)


def speedup(rounds: int) -> None:
    """minimum(x * y, 0) + y on 1,024 integers: jitted over un-jitted, on both sides."""
    name = "minimum(x*y, 0)+y"
    for side, module in SIDES.items():
        ways = {"jitted": CALLS[f"jit of {name}"](module), "un-jitted": CALLS[name](module)}
        row(f"{name}, jit or not, {side}", measure(ways, rounds), 0.5 if side == "lazynp" else None)


def training_step(rounds: int) -> None:
    """A step of the 784-512-512-10 network on a batch of 128."""
    row("training step, batch 128", beside(jax_door.training_step, rounds), 1.1)


def first_results(rounds: int) -> None:
    """Of every example program, in fresh processes."""
    for name in PROGRAMS:
        seconds: Seconds = {"lazynp": [], "JAX": []}
        for k in range(max(rounds // 5, 1)):
            for side in ("lazynp", "JAX") if k % 2 else ("JAX", "lazynp"):
                start = time.perf_counter()
                jax_door.first_result(name, side.lower())
                seconds[side].append(time.perf_counter() - start)
        row(f"first result of {name}", seconds, 1)


PARTS = {
    "jit": jit_overhead,
    "ops": operations,
    "speedup": speedup,
    "step": training_step,
    "first": first_results,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    jax.config.update("jax_platforms", "cpu")
    print(f"{'':36s}{'lazynp':>12s}{'JAX':>12s}{'ratio':>9s}{'goal':>8s}")
    for part in options.only.split(","):
        PARTS[part](options.rounds)


if __name__ == "__main__":
    main()
