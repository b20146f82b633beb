"""One operation at four sizes, and views, writes and scalar access.

Nothing is jitted by hand: each library gets the expression as a user types it at a prompt.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy

from . import libraries

SIZES = (10, 1_000, 100_000, 10_000_000)  # elements
# Up to here lazynp's `auto` mode computes at once, as NumPy does: the bare expression is what a user waits for.
AT_ONCE = 1_000


@dataclasses.dataclass(frozen=True)
class Operation:
    """`run(xp, a, b)`, and what a JAX user writes instead where NumPy's user writes in place."""

    run: Callable
    jax: Callable | None = None
    writes: bool = False

    def of(self, library: str) -> Callable:
        return self.jax if library == "jax" and self.jax else self.run


def write_slice(xp, a, b):
    a[1:-1] = b[1:-1]
    return a


def add_in_place(xp, a, b):
    a += b
    return a


def scale_in_place(xp, a, b):
    a *= 1.0
    return a


def write_strided(xp, a, b):
    a[::2] = 1.0
    return a


def write_element(xp, a, b):
    a[3] = 1.0
    return a


OPERATIONS = {
    "add": Operation(lambda xp, a, b: a + b),
    "relu": Operation(lambda xp, a, b: xp.maximum(a, 1.0)),
    "compare": Operation(lambda xp, a, b: a > 1.0),
    "add_row": Operation(lambda xp, a, b: a.reshape(-1, 10) + b[:10]),
    "sum_columns": Operation(lambda xp, a, b: a.reshape(-1, 10).sum(axis=0)),
    "sin": Operation(lambda xp, a, b: xp.sin(a)),
    "sum": Operation(lambda xp, a, b: a.sum()),
    "chain": Operation(lambda xp, a, b: xp.sqrt(a * a + b * b) * 0.5 - a / (b + 2.0)),
    "view": Operation(lambda xp, a, b: a[1:-1]),
    "transpose": Operation(lambda xp, a, b: a.reshape(2, -1).T),
    "write_slice": Operation(write_slice, lambda xp, a, b: a.at[1:-1].set(b[1:-1]), writes=True),
    "write_strided": Operation(write_strided, lambda xp, a, b: a.at[::2].set(1.0), writes=True),
    "add_in_place": Operation(add_in_place, writes=True),
    "scale_in_place": Operation(scale_in_place, lambda xp, a, b: a * 1.0, writes=True),
    "read_element": Operation(lambda xp, a, b: a[3]),
    "write_element": Operation(write_element, lambda xp, a, b: a.at[3].set(1.0), writes=True),
}


def thunk(operation: str, library: str, size: int) -> Callable[[], object]:
    """A function without arguments that does the operation once, and has its value."""
    xp, op = libraries.namespace(library), OPERATIONS[operation]
    values = numpy.random.default_rng(0).uniform(0.5, 1.5, (2, size))
    a, b = xp.array(values[0]), xp.array(values[1])
    run = op.of(library)
    if library != "jax" and (size <= AT_ONCE or operation in ("view", "transpose", "read_element")):
        return lambda: run(xp, a, b)
    demand = libraries.element_demander(library) if op.writes else libraries.demander(library)
    return lambda: demand(run(xp, a, b))


class Micro:
    params = (tuple(OPERATIONS), libraries.LIBRARIES, SIZES)
    param_names = ("operation", "library", "elements")

    def setup(self, operation: str, library: str, size: int) -> None:
        self.run = thunk(operation, library, size)
        # Compiled or not is for `latency`: here the operation is as hot as it gets.
        wait = libraries.waiter(library)
        for _ in range(max(3, min(200, math.isqrt(10**8 // size)))):
            self.run()
        wait()

    def time_operation(self, operation: str, library: str, size: int) -> None:
        self.run()
