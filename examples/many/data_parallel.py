"""A network that learns, on as many processes as there are, each with rows of the data: text in JAX's style.

    torchrun --standalone --nproc-per-node 2 examples/many/data_parallel.py    one run
    python examples/many/data_parallel.py --scaling 1 2 --plot scaling.svg     runs with so many processes, and the plot

The gradient is a sum over rows, which lie in all processes: it is added up across them, by nothing but the types of the
arrays.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np
from scaling import measured, plot

import lazynp.jax as jax
import lazynp.jax.numpy as jnp
from lazynp.jax.sharding import Mesh, NamedSharding, PartitionSpec

INPUTS, HIDDEN = 16, 64


def rows(start: int, stop: int) -> np.ndarray:
    """Rows of the inputs, the same whoever makes them."""
    at = np.arange(start, stop)[:, None] * np.sqrt(2.0 + np.arange(INPUTS))
    return np.sin(at).astype("float32")


def loss(parameters, x, y):
    first, second = parameters
    return jnp.mean((jnp.tanh(x @ first) @ second - y) ** 2)


@jax.jit
def step(parameters, x, y):
    value, slopes = jax.value_and_grad(loss)(parameters, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, slopes), value


def learn(n: int, steps: int) -> tuple[float, float]:
    """The loss in the end, and milliseconds a step."""
    mesh = Mesh(np.array(jax.devices()), ("rows",))
    split, everywhere = NamedSharding(mesh, PartitionSpec("rows")), NamedSharding(mesh, PartitionSpec())
    x = jax.make_array_from_callback((n, INPUTS), split, lambda index: rows(*index[0].indices(n)[:2]))
    y = jnp.sum(x**2, axis=1, keepdims=True) - INPUTS / 2
    keys = jax.random.split(jax.random.key(0))
    parameters = (
        jax.device_put(0.3 * jax.random.normal(keys[0], (INPUTS, HIDDEN)), everywhere),
        jax.device_put(0.3 * jax.random.normal(keys[1], (HIDDEN, 1)), everywhere),
    )
    parameters, value = step(parameters, x, y)
    start = time.perf_counter()
    for _ in range(steps):
        parameters, value = step(parameters, x, y)
    return float(value), 1e3 * (time.perf_counter() - start) / steps


def command(p: int, n: int, steps: int) -> list[str]:
    """What runs this file in p processes."""
    launched = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(p), __file__]
    return [*launched, "--rows", str(n), "--steps", str(steps)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--scaling", type=int, nargs="+", metavar="P")
    parser.add_argument("--plot", type=Path, default=Path("scaling.svg"))
    options = parser.parse_args()
    if options.scaling:
        commands = {p: command(p, options.rows, options.steps) for p in options.scaling}
        options.plot.write_text(plot(measured(commands)))
        print(f"drawn: {options.plot}")
        return
    if "RANK" in os.environ:  # torchrun has started it
        jax.distributed.initialize()
    value, took = learn(options.rows, options.steps)
    if jax.process_index() == 0:
        print(f"loss {value:.6f}, {took:.2f} ms a step")


if __name__ == "__main__":
    main()
