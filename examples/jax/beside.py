"""The network of digits.py, trained four ways side by side: accuracy, and time of a training step.

    python examples/jax/beside.py --epochs 3

Through lazynp's JAX door; by its twin behind lazynp's NumPy door, where backpropagation is written by hand and weights
are updated in place; by the same twin under NumPy; and under JAX, where that is installed, by the text of digits.py
with its two import lines changed back. All start from the same weights, see the same batches, and take turns step by
step, so that a busy moment of the machine hits all of them.
"""

import argparse
import importlib.util
import statistics
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import digits
import numpy

import lazynp

LINES = (
    ("import lazynp.jax as jax\n", "import jax\n"),
    ("import lazynp.jax.numpy as jnp\n", "import jax.numpy as jnp\n"),
)
WARM_UP = 5  # steps that are not timed


def under_jax() -> types.ModuleType:
    """digits.py with its import lines changed back."""
    text = Path(digits.__file__).read_text()
    for line, back in LINES:
        text = text.replace(line, back)
    module = types.ModuleType("digits_under_jax")
    exec(compile(text, digits.__file__, "exec"), vars(module))
    return module


class Functional:
    """digits.py's own functions: a jitted update of a pytree."""

    def __init__(self, program: types.ModuleType, weights: list) -> None:
        self.program = program
        self.params = [(program.jnp.asarray(w), program.jnp.asarray(b)) for w, b in weights]

    def step(self, x: numpy.ndarray, y: numpy.ndarray) -> float:
        self.params, value = self.program.update(self.params, x, y)
        return float(value)

    def accuracy(self, x: numpy.ndarray, labels: numpy.ndarray) -> float:
        return float(self.program.accuracy(self.params, x, labels))


class InPlace:
    """The twin: NumPy's text, gradients by hand, weights updated in place. `np` is numpy or lazynp."""

    def __init__(self, np: Any, weights: list) -> None:
        self.np = np
        self.params = [(np.array(w), np.array(b)) for w, b in weights]

    def forward(self, x: Any) -> list:
        """The activations of each layer; of the last the logarithms of the probabilities."""
        np, layers = self.np, [x]
        for w, b in self.params[:-1]:
            layers.append(np.maximum(layers[-1] @ w.T + b, 0))
        w, b = self.params[-1]
        logits = layers[-1] @ w.T + b
        top = logits.max(axis=1, keepdims=True)
        layers.append(logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True)))
        return layers

    def step(self, x: numpy.ndarray, y: numpy.ndarray) -> float:
        np = self.np
        layers = self.forward(np.asarray(x))
        value = -(layers[-1] * y).sum(axis=1).mean()
        error = (np.exp(layers[-1]) - y) / len(x)
        for (w, b), below in zip(self.params[::-1], layers[-2::-1]):
            gradient = error.T @ below
            slope = error.sum(axis=0)
            error = (error @ w) * (below > 0)
            w -= digits.STEP_SIZE * gradient
            b -= digits.STEP_SIZE * slope
        return float(value)

    def accuracy(self, x: numpy.ndarray, labels: numpy.ndarray) -> float:
        return float((self.forward(self.np.asarray(x))[-1].argmax(axis=1) == labels).mean())


def trainers() -> dict[str, Any]:
    """Each way of training, by name, all with the weights that digits.py starts from."""
    params = digits.init_network_params(digits.SIZES, digits.jax.random.key(0))
    weights = [(numpy.asarray(w), numpy.asarray(b)) for w, b in params]
    found: dict[str, Any] = {
        "lazynp.jax": Functional(digits, weights),
        "lazynp, NumPy door": InPlace(lazynp, weights),
        "NumPy": InPlace(numpy, weights),
    }
    if importlib.util.find_spec("jax") is not None:
        found["JAX"] = Functional(under_jax(), weights)
    return found


def timed(f: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    out = f(*arguments)
    return time.perf_counter() - start, out


def run(epochs: int = 3) -> dict[str, dict[str, float]]:
    """Train all: for each the milliseconds of the first and of a median step, the last loss, and both accuracies."""
    images, labels, test_images, test_labels = digits.data()
    targets = numpy.eye(10, dtype=numpy.float32)[labels]
    ways = trainers()
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    losses: dict[str, float] = {}
    rng = numpy.random.default_rng(1)
    names = list(ways)
    for _ in range(epochs):
        order = rng.permutation(len(images))
        for start in range(0, len(images) - digits.BATCH + 1, digits.BATCH):
            batch = order[start : start + digits.BATCH]
            x, y = images[batch], targets[batch]
            for name in names:
                spent, losses[name] = timed(ways[name].step, x, y)
                seconds[name].append(spent)
            names.append(names.pop(0))
    return {
        name: {
            "first": 1e3 * seconds[name][0],
            "step": 1e3 * statistics.median(seconds[name][WARM_UP:]),
            "loss": losses[name],
            "train": way.accuracy(images, labels),
            "test": way.accuracy(test_images, test_labels),
        }
        for name, way in ways.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    found = run(options.epochs)
    print(
        f"784-512-512-10 network, batches of {digits.BATCH}, {options.epochs} epochs on real digits (8 x 8, enlarged)"
    )
    print(f"{'':20s}{'first step':>12s}{'a step':>12s}{'last loss':>12s}{'seen':>10s}{'unseen':>10s}")
    for name, row in found.items():
        times = f"{row['first']:9.1f} ms{row['step']:9.2f} ms"
        print(f"{name:20s}{times}{row['loss']:12.4f}{100 * row['train']:8.2f} %{100 * row['test']:8.2f} %")


if __name__ == "__main__":
    main()
