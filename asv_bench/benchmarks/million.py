"""Calls of NumPy's public functions on 1,000,000 elements: what a text costs that has no loop and nothing to fuse.

    python asv_bench/benchmarks/million.py --only "median;put" --rounds 9
    python asv_bench/benchmarks/million.py --size 40000          the same texts on fewer elements

Each text is timed with NumPy and with lazynp in turns, with all results computed; printed is NumPy's time over
lazynp's: of the best round of each by the clock, the median of the ratios of single rounds, and the best of the time of
all processors, which other programs disturb the least."""

from __future__ import annotations

import argparse
import math
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy

import lazynp

Function = Callable[[Any, SimpleNamespace], Any]
SIDE = 1000
N = SIDE * SIDE

# The names of arrays: x, y in [0, 1), s of both signs, n with NaN, m and l with 1,000 rows, f single precision, i and j
# whole numbers, k indices in [0, N), p a permutation, b and c truth values, z complex, u bytes, h 16-bit, o sorted.

CALLS = [s for s in Path(__file__).with_suffix(".txt").read_text().splitlines() if not s.startswith("#")]


def values(side: int = SIDE) -> dict[str, Any]:
    """NumPy's arrays, by the names that the texts have for them, with side * side elements."""
    n_all = side * side
    r = numpy.random.default_rng(0)
    x, y, s = r.random(n_all), r.random(n_all) + 1e-3, r.standard_normal(n_all)
    n = x.copy()
    n[::97] = numpy.nan
    square = r.random((n_all // 100, 10, 10))
    positive = square @ square.transpose(0, 2, 1) + 10 * numpy.eye(10)
    return {
        "x": x,
        "y": y,
        "s": s,
        "n": n,
        "nm": n.reshape(side, side),
        "m": r.random((side, side)),
        "m32": r.random((side, side), dtype=numpy.float32),
        "im": r.integers(0, 100, (side, side)),
        "l": r.random(side),
        "l2": r.random((side, side)),
        "t": r.random((round(n_all ** (1 / 3)),) * 3),
        "f": r.random(n_all, dtype=numpy.float32),
        "i": r.integers(1, 100_000, n_all),
        "j": r.integers(1, 100_000, n_all),
        "i1000": r.integers(0, side, n_all),
        "cnt": numpy.zeros(side, int),
        "k": r.integers(0, n_all, n_all),
        "p": r.permutation(n_all),
        "q": numpy.arange(0, n_all, 100),
        "kr": r.integers(0, side, side),
        "kc": r.integers(0, side, side),
        "kr2": r.integers(0, side, n_all),
        "kc2": r.integers(0, side, n_all),
        "am": r.permuted(numpy.tile(numpy.arange(side), (side, 1)), axis=1),
        "ch": r.integers(0, 3, n_all),
        "reps": r.integers(0, 3, n_all),
        "b": (mask := r.random(n_all) > 0.5),
        "xb": x[mask],
        "c": r.random(n_all) > 0.5,
        "z": r.random(n_all) + 1j * r.random(n_all),
        "zm": r.random((side, side)) + 1j * r.random((side, side)),
        "u": r.integers(0, 255, n_all).astype(numpy.uint8),
        "h": r.integers(-30000, 30000, n_all).astype(numpy.int16),
        "o": numpy.sort(x),
        "w": numpy.zeros(n_all),
        "v": numpy.zeros((side, side)),
        "edges": numpy.linspace(0, 1, 101),
        "g": numpy.linspace(0, 1, side),
        "gv": r.random(side),
        "sm": square,
        "sv": r.random((n_all // 100, 10)),
        "spd": positive,
        "sq": r.random((3 * side // 10,) * 2) + 300 * numpy.eye(3 * side // 10),
        "tall": r.random((n_all // 20, 20)),
        "l5": r.random(n_all // 20),
        "v3": r.random((n_all // 3, 3)),
        "v3b": r.random((n_all // 3, 3)),
    }


def function(text: str) -> Function:
    names = [*values_once(), "g1", "raw"]
    words = "".join(c if c.isalnum() or c == "_" else " " for c in text).split()
    used = [name for name in names if name in words]
    given = ", ".join([f"a.{name}" for name in used])
    return eval(f"lambda np, a: (lambda {', '.join(used)}: {text})({given})")


_values: dict[str, Any] = {}


def values_once(side: int = SIDE) -> dict[str, Any]:
    if not _values:
        _values.update(values(side))
    return _values


def scaled(text: str, side: int) -> str:
    """The text with the sizes that it names for side * side elements."""
    n = side * side
    sizes = {"1000000": n, "10000": n // 100, "1500": side * 3 // 2, "1000": side, "300": 3 * side // 10}
    return re.sub(r"\b\d+\b", lambda found: str(sizes.get(found[0], found[0])), text)


def arrays(np: Any) -> SimpleNamespace:
    """Each library has arrays of its own, which the texts may write to."""
    held = {name: np.array(value) for name, value in values_once().items()}
    return SimpleNamespace(**held, g1=np.random.default_rng(1), raw=bytes(8 * len(values_once()["x"])))


class Million:
    make, compiled = staticmethod(arrays), staticmethod(function)
    params = (CALLS, ["numpy", "lazynp"])
    param_names = ("call", "library")
    timeout = 120

    def setup(self, call, library):
        self.np = numpy if library == "numpy" else lazynp
        self.arrays, self.function = self.make(self.np), self.compiled(call)
        for _ in range(4):
            self.time_call(call, library)
            lazynp.compile_wait()

    def time_call(self, call, library):
        wait_for(self.function(self.np, self.arrays))


def wait_for(result: Any) -> None:
    """Until all is computed: what was written in place, too, and what a mask selects, which has to be asked for."""
    lazynp.synchronize()
    if type(result) is lazynp.ndarray:
        result.block_until_ready()
    elif type(result) in (tuple, list):
        for x in result:
            wait_for(x)


def seconds(call: Callable[[], Any], calls: int) -> tuple[float, float]:
    """Of a call, by the clock and of processors, helper threads included."""
    start, used = time.perf_counter(), time.process_time()
    for _ in range(calls):
        result = call()  # held until the next one is there, as by a name that is bound again
        wait_for(result)
    elapsed = time.perf_counter() - start, time.process_time() - used
    del result
    return elapsed[0] / calls, elapsed[1] / calls


class Measured:
    """Seconds of NumPy and of lazynp, the best rounds, and NumPy's over lazynp's by the clock and of processors."""

    def __init__(self, times: list[list[tuple[float, float]]]) -> None:
        best = [[min(column) for column in zip(*side, strict=True)] for side in times]
        self.seconds = [best[0][0], best[1][0]]
        self.clock, self.processors = best[0][0] / best[1][0], best[0][1] / best[1][1]
        self.median = statistics.median([a[0] / b[0] for a, b in zip(*times, strict=True)])


def measure(run: Function, held: list[SimpleNamespace], rounds: int, budget: float) -> Measured:
    both = [lambda: run(numpy, held[0]), lambda: run(lazynp, held[1])]
    start = time.perf_counter()
    for _ in range(4):
        seconds(both[1], 1)
        lazynp.compile_wait()
    while time.perf_counter() - start < 0.15:
        seconds(both[1], 1)
    lazynp.compile_wait()
    once = min(seconds(both[0], 1)[0] for _ in range(3))
    calls = max(1, math.ceil(0.004 / once))
    rounds = max(3, min(rounds, round(budget / (2 * calls * once))))
    times: list[list[tuple[float, float]]] = [[], []]
    for round_ in range(rounds):
        for side in (0, 1) if round_ % 2 else (1, 0):
            times[side].append(seconds(both[side], calls))
    return Measured(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="parts of texts, with semicolons between them")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--budget", type=float, default=0.6, help="seconds of rounds for each text")
    parser.add_argument("--under", type=float, default=math.inf, help="print only what is slower than this")
    parser.add_argument("--size", type=int, default=N, help="elements: the square of a multiple of 10")
    options = parser.parse_args()
    side = math.isqrt(options.size)
    if side * side != options.size or side % 10:
        parser.error("the size has to be the square of a multiple of 10")
    values_once(side)
    parts = [part for part in options.only.split(";") if part]
    texts = {text: function(scaled(text, side)) for text in CALLS if not parts or any(part in text for part in parts)}
    table(texts, [arrays(numpy), arrays(lazynp)], options.rounds, options.budget, options.under)


def table(
    functions: dict[str, Function],
    held: list[SimpleNamespace],
    rounds: int,
    budget: float,
    under: float = math.inf,
) -> None:
    """Time and print each, of NumPy's arrays and of lazynp's."""
    found = []
    print(" clock median   CPU     NumPy    lazynp")
    for name, run in functions.items():
        m = measure(run, held, rounds, budget)
        found.append(m)
        if min(m.clock, m.median, m.processors) < under:
            mine, ours = (f"{1e3 * t:9.3f}" for t in m.seconds)
            print(f"{m.clock:6.2f} {m.median:6.2f} {m.processors:6.2f} {mine} {ours} ms  {name}", flush=True)
    means = [statistics.geometric_mean([getattr(m, key) for m in found]) for key in ("clock", "median", "processors")]
    print(f"{len(found)} texts, geometric means " + ", ".join(f"{mean:.2f}" for mean in means))


if __name__ == "__main__":
    main()
