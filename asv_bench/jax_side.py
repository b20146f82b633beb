"""lazynp's JAX door beside JAX: ratios of time, measured in turns in one process.

    python asv_bench/jax_side.py                  all of it
    python asv_bench/jax_side.py --only jit,ops   parts: jit, ops, speedup, step, first

Each figure is a median over rounds; in a round each side makes one batch of calls, in rotating order. A ratio is the
median over the rounds of lazynp's time divided by JAX's: below one, lazynp is faster. `first` starts processes: the
time from starting the interpreter to the results of each example program, with an empty artifact cache.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "jax"))

import beside
import digits
import jax

import lazynp
import lazynp.jax

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "jax"
SIDES = {"lazynp": lazynp.jax, "JAX": jax}
BATCH_SECONDS = 0.004
PROGRAMS = ("digits", "adam", "gaussian_process", "ode", "newton", "hmc", "ray_marching")
Call = Callable[[], Any]


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


def measure(sides: dict[str, Call], rounds: int) -> dict[str, list[float]]:
    """Seconds a call, for each side a figure for each round. Background compiles are waited for first."""
    for run in sides.values():
        for _ in range(200):
            run()
    lazynp.compile_wait()
    calls = {name: calls_per_batch(run) for name, run in sides.items()}
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    names = list(sides)
    for _ in range(rounds):
        for name in names:
            seconds[name].append(batch_seconds(sides[name], calls[name]))
        names.append(names.pop(0))
    return seconds


def line(what: str, seconds: dict[str, list[float]], goal: str, over: str = "JAX", under: str = "lazynp") -> None:
    ratio = statistics.median([a / b for a, b in zip(seconds[under], seconds[over])])
    medians = "".join(f"{name} {1e6 * statistics.median(s):9.2f} us  " for name, s in seconds.items())
    print(f"{what:34s}{medians}ratio {ratio:6.3f}   goal {goal}", flush=True)


def jit_overhead(rounds: int) -> None:
    """A jitted function that does next to nothing: what a call itself costs."""

    def call(side: Any) -> Call:
        f = side.jit(lambda x: x + 1)
        x = side.numpy.zeros(3)
        return lambda: f(x).block_until_ready()

    line("jit call of x + 1, 3 elements", measure({n: call(s) for n, s in SIDES.items()}, rounds), "<= 1")

    def tree(side: Any) -> Call:
        f = side.jit(lambda p, x: side.tree.map(lambda w: w * x, p))
        p = {"a": side.numpy.ones(4), "b": [side.numpy.ones((2, 2)), side.numpy.ones(())]}
        return lambda: f(p, 2.0)["a"].block_until_ready()

    line("jit call on a pytree", measure({n: tree(s) for n, s in SIDES.items()}, rounds), "<= 1")


OPERATIONS: dict[str, Callable[[Any, Any], Call]] = {
    "x + y": lambda jnp, x: lambda: x + x,
    "x * 2.0": lambda jnp, x: lambda: x * 2.0,
    "sin(x)": lambda jnp, x: lambda: jnp.sin(x),
    "maximum(x, 0)": lambda jnp, x: lambda: jnp.maximum(x, 0),
    "x.sum()": lambda jnp, x: lambda: x.sum(),
    "where(x > 0, x, 0)": lambda jnp, x: lambda: jnp.where(x > 0, x, 0),
    "x[1]": lambda jnp, x: lambda: x[1],
    "x[2:5]": lambda jnp, x: lambda: x[2:5],
    "x.reshape(2, 5)": lambda jnp, x: lambda: x.reshape(2, 5),
    "dot(x, x)": lambda jnp, x: lambda: jnp.dot(x, x),
    "x.at[0].set(1)": lambda jnp, x: lambda: x.at[0].set(1),
}


def operations(rounds: int) -> None:
    """Operations on 10 elements, without jit."""
    ratios = []
    for name, make in OPERATIONS.items():
        sides = {}
        for side, module in SIDES.items():
            x = module.numpy.arange(10.0)
            run = make(module.numpy, x)
            sides[side] = lambda run=run: run().block_until_ready()
        seconds = measure(sides, rounds)
        ratios.append(statistics.median([a / b for a, b in zip(seconds["lazynp"], seconds["JAX"])]))
        line(name, seconds, "<= 0.333")
    print(f"{'median of the operations':34s}ratio {statistics.median(ratios):6.3f}   goal <= 0.333")


def speedup(rounds: int) -> None:
    """minimum(x * y, 0) + y on 1,024 integers: jitted over un-jitted, on both sides."""
    rng = np.random.default_rng(0)
    values = [rng.integers(-100, 100, 1024).astype(np.int32) for _ in "xy"]
    for name, side in SIDES.items():
        x, y = (side.numpy.asarray(v) for v in values)

        def f(x: Any, y: Any, side: Any = side) -> Any:
            return side.numpy.minimum(x * y, 0) + y

        jitted = side.jit(f)
        sides: dict[str, Call] = {
            "jitted": lambda x=x, y=y, g=jitted: g(x, y).block_until_ready(),
            "un-jitted": lambda x=x, y=y, g=f: g(x, y).block_until_ready(),
        }
        goal = "<= 0.5" if name == "lazynp" else "-"
        line(f"minimum(x*y, 0)+y, {name}", measure(sides, rounds), goal, over="un-jitted", under="jitted")


def training_step(rounds: int) -> None:
    """A step of the 784-512-512-10 network on a batch of 128, the loss read as a Python float."""
    images, labels, _, _ = digits.data()
    x, y = images[: digits.BATCH], np.eye(10, dtype=np.float32)[labels[: digits.BATCH]]
    ways = beside.trainers()
    steps = {"lazynp": ways["lazynp.jax"], "JAX": ways["JAX"]}
    seconds = measure({name: lambda way=way: way.step(x, y) for name, way in steps.items()}, rounds)
    line("training step, batch 128", seconds, "<= 1.1")


def first_result(name: str, under_jax: bool, folder: str) -> float:
    """Seconds from starting an interpreter to the program's results, with an empty cache."""
    text = (EXAMPLES / f"{name}.py").read_text()
    if under_jax:
        for line_, back in beside.LINES:
            text = text.replace(line_, back)
    script = Path(folder) / f"{name}_{'jax' if under_jax else 'lazynp'}.py"
    script.write_text(text + "\n")
    path = os.pathsep.join([str(ROOT), str(EXAMPLES), folder, os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as cache:
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", f"import {script.stem} as p; p.run()"],
            env={**os.environ, "PYTHONPATH": path, "LAZYNP_CACHE_DIR": cache},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return time.perf_counter() - start


def first_results(rounds: int) -> None:
    """Of every example program, in fresh processes."""
    with tempfile.TemporaryDirectory() as folder:
        for name in PROGRAMS:
            seconds: dict[str, list[float]] = {"lazynp": [], "JAX": []}
            for k in range(max(rounds // 5, 1)):
                for side in ("lazynp", "JAX") if k % 2 else ("JAX", "lazynp"):
                    seconds[side].append(first_result(name, side == "JAX", folder))
            ratio = statistics.median([a / b for a, b in zip(seconds["lazynp"], seconds["JAX"])])
            medians = "".join(f"{side} {statistics.median(s):7.2f} s  " for side, s in seconds.items())
            print(f"{'first result of ' + name:34s}{medians}ratio {ratio:6.3f}   goal < 1", flush=True)


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
    for part in options.only.split(","):
        PARTS[part](options.rounds)


if __name__ == "__main__":
    main()
