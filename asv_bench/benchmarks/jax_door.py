"""The JAX door beside JAX: what a jitted call costs, small operations without jit, a training step, first results."""

import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from . import libraries

PROGRAMS = ("digits", "adam", "gaussian_process", "ode", "newton", "hmc", "ray_marching")
FOLDER = libraries.EXAMPLES / "jax"
SIDES = ("lazynp", "jax")
Call = Callable[[], Any]
Maker = Callable[[Any], Call]
LINES = (
    ("import lazynp.jax as jax\n", "import jax\n"),
    ("import lazynp.jax.numpy as jnp\n", "import jax.numpy as jnp\n"),
)

if str(FOLDER) not in sys.path:
    sys.path.insert(0, str(FOLDER))


def namespace(side: str) -> ModuleType:
    """The module that stands for `jax`. Raises NotImplementedError, which asv shows as n/a, where there is none."""
    try:
        return importlib.import_module("lazynp.jax" if side == "lazynp" else "jax")
    except ImportError as error:
        raise NotImplementedError(f"{side} is not installed") from error


def small_call(j: Any) -> Call:
    f, x = j.jit(lambda x: x + 1), j.numpy.zeros(3)
    return lambda: f(x).block_until_ready()


def numpy_call(j: Any) -> Call:
    """The same of the NumPy door's arrays, beside `jax.jit`."""
    np_ = importlib.import_module("lazynp") if j.__name__ == "lazynp.jax" else None
    if np_ is None:
        return small_call(j)
    f, x = np_.jit(lambda x: x + 1), np_.zeros(3)
    return lambda: f(x).block_until_ready()


def tree_call(j: Any) -> Call:
    f = j.jit(lambda p, x: j.tree.map(lambda w: w * x, p))
    p = {"a": j.numpy.ones(4), "b": [j.numpy.ones((2, 2)), j.numpy.ones(())]}
    return lambda: f(p, 2.0)["a"].block_until_ready()


def integers(j: Any, jitted: bool) -> Call:
    """minimum(x * y, 0) + y on 1,024 integers."""
    rng = np.random.default_rng(0)
    x, y = (j.numpy.asarray(rng.integers(-100, 100, 1024).astype(np.int32)) for _ in "xy")

    def f(x: Any, y: Any) -> Any:
        return j.numpy.minimum(x * y, 0) + y

    g = j.jit(f) if jitted else f
    return lambda: g(x, y).block_until_ready()


CALLS: dict[str, Maker] = {
    "jit of x + 1": small_call,
    "jit of x + 1, the NumPy door's": numpy_call,
    "jit on a pytree": tree_call,
    "minimum(x*y, 0)+y": lambda j: integers(j, False),
    "jit of minimum(x*y, 0)+y": lambda j: integers(j, True),
}
ONE: dict[str, Callable[[Any, Any], Any]] = {
    "x + y": lambda jnp, x: x + x,
    "x * 2.0": lambda jnp, x: x * 2.0,
    "sin(x)": lambda jnp, x: jnp.sin(x),
    "maximum(x, 0)": lambda jnp, x: jnp.maximum(x, 0),
    "x.sum()": lambda jnp, x: x.sum(),
    "where(x > 0, x, 0)": lambda jnp, x: jnp.where(x > 0, x, 0),
    "x[1]": lambda jnp, x: x[1],
    "x[2:5]": lambda jnp, x: x[2:5],
    "x.reshape(2, 5)": lambda jnp, x: x.reshape(2, 5),
    "dot(x, x)": lambda jnp, x: jnp.dot(x, x),
    "x.at[0].set(1)": lambda jnp, x: x.at[0].set(1),
    "median(x)": lambda jnp, x: jnp.median(x),
    "i0(x)": lambda jnp, x: jnp.i0(x),
    "interp(x, x, x)": lambda jnp, x: jnp.interp(x, x, x),
    "nanstd(x)": lambda jnp, x: jnp.nanstd(x),
    "unwrap(x)": lambda jnp, x: jnp.unwrap(x),
}


def operation(name: str, j: Any) -> Call:
    """One operation on 10 elements, or a function made of several, without jit."""
    jnp, f = j.numpy, ONE[name]
    x = jnp.arange(10.0)
    return lambda: f(jnp, x).block_until_ready()


def training_step(j: Any) -> Call:
    """A step of the 784-512-512-10 network of digits.py on a batch of 128, the loss read as a Python float."""
    digits = importlib.import_module("digits")
    program: Any = ModuleType("digits_here")
    exec(compile(source(Path(digits.__file__), j.__name__ == "jax"), digits.__file__, "exec"), vars(program))
    images, labels, _, _ = program.data()
    x, y = images[: program.BATCH], np.eye(10, dtype=np.float32)[labels[: program.BATCH]]
    params = program.init_network_params(program.SIZES, j.random.key(0))

    def step() -> float:
        nonlocal params
        params, value = program.update(params, x, y)
        return float(value)

    return step


def source(file: Path, under_jax: bool) -> str:
    """An example's text, with its import lines changed back for JAX."""
    text = file.read_text()
    for line, back in LINES if under_jax else ():
        text = text.replace(line, back)
    return text


def first_result(program: str, side: str) -> None:
    """Start an interpreter and run an example program to its results, with an empty cache of compiled code."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / f"{program}_there.py"
        script.write_text(source(FOLDER / f"{program}.py", side == "jax"))
        path = os.pathsep.join([str(libraries.ROOT), str(FOLDER), folder, os.environ.get("PYTHONPATH", "")])
        subprocess.run(
            [sys.executable, "-c", f"import {script.stem} as p; p.run()"],
            env={**os.environ, "PYTHONPATH": path, "LAZYNP_CACHE_DIR": f"{folder}/cache"},
            check=True,
            stdout=subprocess.DEVNULL,
        )


class Warm:
    """A call that has been made often before: nothing is left to compile."""

    def start(self, side: str, make: Maker) -> None:
        self.run = make(namespace(side))
        for _ in range(100):
            self.run()
        libraries.waiter(side)()
        self.run()


class Calls(Warm):
    params = (SIDES, tuple(CALLS))
    param_names = ("library", "call")

    def setup(self, side: str, name: str) -> None:
        self.start(side, CALLS[name])

    def time_call(self, side: str, name: str) -> None:
        self.run()


class Operations(Warm):
    params = (SIDES, tuple(ONE))
    param_names = ("library", "operation")

    def setup(self, side: str, name: str) -> None:
        self.start(side, lambda j: operation(name, j))

    def time_operation(self, side: str, name: str) -> None:
        self.run()


class Training(Warm):
    params = SIDES
    param_names = ("library",)
    timeout = 300.0

    def setup(self, side: str) -> None:
        self.start(side, training_step)

    def time_step(self, side: str) -> None:
        self.run()


class FirstResults:
    params = (SIDES, PROGRAMS)
    param_names = ("library", "program")
    number, repeat, warmup_time, processes = 1, 3, 0.0, 1
    timeout = 300.0

    def setup(self, side: str, program: str) -> None:
        namespace(side)

    def time_first_result(self, side: str, program: str) -> None:
        first_result(program, side)
