"""Functions of the JAX door on 1,000,000 float32 under jit, beside jax.jit: what each operation costs by itself.

    python asv_bench/benchmarks/jax_million.py --only "top_k;grad" --rounds 9

Each text is timed with JAX and with lazynp in turns, until its results are there; printed are the milliseconds of the
best rounds and JAX's over lazynp's: of the best rounds, and the median of the ratios of single rounds."""

from __future__ import annotations

import argparse
import importlib
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lazynp

Call = Callable[[], Any]
N, SIDE = 1_000_000, 1000

# The names of arrays: x, y of both signs, p positive, u in [0, 1), m and its likes with 1,000 rows, i whole numbers,
# k places in [0, N), v and w rows of three.
CALLS = [s for s in Path(__file__).with_suffix(".txt").read_text().splitlines() if s and not s.startswith("#")]
_values: dict[str, np.ndarray] = {}


def values() -> dict[str, np.ndarray]:
    if not _values:
        r = np.random.default_rng(0)
        x, y = (r.standard_normal(N).astype("f4") for _ in "xy")
        i, k = (r.integers(0, N, N).astype("i4") for _ in "ik")
        rows = {"m": x.reshape(SIDE, SIDE), "v": x[:999_999].reshape(-1, 3), "w": y[:999_999].reshape(-1, 3)}
        _values.update(rows, x=x, y=y, p=np.abs(x) + 0.1, u=r.random(N).astype("f4"), i=i, k=k)
    return _values


def call_of(text: str, library: str) -> Call:
    """The jitted function of the arrays that are in the text, which returns when its result is there."""
    jax = importlib.import_module("lazynp.jax" if library == "lazynp" else "jax")
    words = "".join([c if c.isalnum() or c == "_" else " " for c in text]).split()
    used = [name for name in values() if name in words]
    run = jax.jit(eval(f"lambda {', '.join(used)}: {text}", {"jax": jax, "jnp": jax.numpy}))
    held = [jax.numpy.asarray(values()[name]) for name in used]
    return lambda: run(*held).block_until_ready()


class JaxMillion:
    params = (CALLS, ["jax", "lazynp"])
    param_names = ("call", "library")
    timeout = 120

    def setup(self, call: str, library: str) -> None:
        self.call = call_of(call, library)
        for _ in range(4):
            self.call()
            lazynp.compile_wait()

    def time_call(self, call: str, library: str) -> None:
        self.call()


def seconds(call: Call, calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def measure(text: str, rounds: int) -> tuple[float, float, float]:
    """The best seconds of both, and the median ratio of their rounds."""
    both = [call_of(text, library) for library in ("jax", "lazynp")]
    for call in both:
        for _ in range(4):
            call()
            lazynp.compile_wait()
    calls = max(1, math.ceil(0.004 / min(seconds(both[0], 1) for _ in range(3))))
    times: list[list[float]] = [[], []]
    for round_ in range(rounds):
        for side in (0, 1) if round_ % 2 else (1, 0):
            times[side].append(seconds(both[side], calls))
    return min(times[0]), min(times[1]), statistics.median([a / b for a, b in zip(*times, strict=True)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="parts of texts, with semicolons between them")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--under", type=float, default=math.inf, help="print only what is slower than this")
    options = parser.parse_args()
    parts = [part for part in options.only.split(";") if part]
    found = []
    print("      JAX    lazynp    best  median")
    for text in CALLS:
        if parts and not any([part in text for part in parts]):
            continue
        jax, ours, ratio = measure(text, options.rounds)
        found.append(jax / ours)
        if found[-1] < options.under:
            print(f"{jax * 1e3:9.3f} {ours * 1e3:9.3f} {jax / ours:7.2f} {ratio:7.2f}  {text}", flush=True)
    if found:
        fast = statistics.geometric_mean(found)
        print(f"{len(found)} calls, geometric mean {fast:.2f}, {sum([r < 0.8 for r in found])} under 0.8")


if __name__ == "__main__":
    main()
