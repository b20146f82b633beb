"""The example programs: seconds of the loop, hot, at the default size and at a tenth of it; and without a compiler.

NumPy and lazynp run the same text. JAX runs `jax_programs.py`, whose loops are rewritten, where there is one.
"""

import builtins
import functools
import importlib
from collections.abc import Callable
from types import ModuleType

from . import libraries

PROGRAMS = (
    "heat", "jacobi", "burgers", "cavity_flow", "driven_wave", "black_scholes", "monte_carlo", "mandelbrot",
    "game_of_life", "image_filters", "nbody", "kmeans", "logistic_regression", "mlp", "cholesky",
)  # fmt: skip


def load(name: str, library: str) -> ModuleType:
    """An example's module whose `import numpy` gave it this library instead."""
    stand_in = libraries.namespace(library)

    def import_(module: str, *arguments: object, **named: object) -> ModuleType:
        return stand_in if module == "numpy" else builtins.__import__(module, *arguments, **named)

    path = libraries.EXAMPLES / f"{name}.py"
    program = ModuleType(f"{library}_{name}")
    program.__dict__["__builtins__"] = {**vars(builtins), "__import__": import_}
    exec(compile(path.read_text(), str(path), "exec"), program.__dict__)
    return program


@functools.cache
def prepare(name: str, library: str, scale: str) -> tuple[Callable[[], tuple], Callable[[tuple], None]]:
    """Functions that make the inputs, and that run the loop until its results are there. The loop is hot."""
    plain = load(name, "numpy")
    size, steps = plain.SIZES[scale], plain.STEPS[scale]
    demand = libraries.demander(library)
    if library == "jax":
        xp, compute = libraries.namespace("jax"), importlib.import_module("jax_programs").COMPUTE.get(name)
        if compute is None:
            raise NotImplementedError(f"{name} has no JAX version")

        def inputs() -> tuple:
            return tuple(xp.array(array) for array in plain.inputs(size))
    else:
        program = load(name, library)
        compute = program.compute

        def inputs() -> tuple:
            arrays = program.inputs(size)
            for array in arrays:
                array[(0,) * array.ndim].item()
            return arrays

    def run(arrays: tuple) -> None:
        for value in compute(steps, *arrays).values():
            demand(value)

    wait = libraries.waiter(library)
    for _ in range(2):
        run(inputs())
        wait()
    return inputs, run


class Programs:
    params = (PROGRAMS, libraries.LIBRARIES, ("default", "tenth"))
    param_names = ("program", "library", "scale")
    number = 1  # the loops write into their inputs: new ones for each sample
    repeat = (3, 7, 5.0)
    warmup_time = 0.0
    processes = 1
    timeout = 300.0

    def setup(self, name: str, library: str, scale: str) -> None:
        inputs, self.run = prepare(name, library, scale)
        self.arrays = inputs()

    def time_loop(self, name: str, library: str, scale: str) -> None:
        self.run(self.arrays)


class Interpreted(Programs):
    """The same with lazynp's compiler switched off: what runs until compiled code takes over."""

    params = (PROGRAMS, ("numpy", "lazynp"), ("default", "tenth"))

    def setup(self, name: str, library: str, scale: str) -> None:
        if library == "lazynp":
            libraries.namespace(library).config.compile = False
        super().setup(name, library, scale)

    def teardown(self, name: str, library: str, scale: str) -> None:
        if library == "lazynp":
            libraries.namespace(library).config.compile = True
