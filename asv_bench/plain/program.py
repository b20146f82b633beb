"""What a program of the suite is, and the helpers that make its inputs."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable
from typing import Any

import numpy

SIZES = (1_000, 30_000, 1_000_000)  # elements of a program's main array, about
TINY = 100  # the size of the tests
Inputs = Callable[[numpy.random.Generator, int], tuple]
PROGRAMS: dict[str, Program] = {}


@dataclasses.dataclass(frozen=True)
class Program:
    """A NumPy text `compute(np, steps, *arrays)`, which returns an array or a tuple of arrays.

    `steps` holds how many rounds of its loop are run at each of `SIZES`; `tolerance` bounds the largest difference from
    NumPy's result, over the largest magnitude in that result (whole numbers and truth values have to be equal).
    """

    name: str
    kind: str
    compute: Callable[..., Any]
    make: Inputs
    steps: tuple[int, int, int]
    tolerance: float

    def inputs(self, size: int) -> tuple:
        """Fresh NumPy arrays (and numbers), the same ones each time, whose main array has about `size` elements."""
        return self.make(numpy.random.default_rng(zlib.crc32(self.name.encode())), size)

    def steps_at(self, size: int) -> int:
        """The rounds of the nearest size that is not smaller; a few for tests."""
        return min(self.steps[0], 4) if size <= TINY else next(k for k, s in zip(self.steps, SIZES) if size <= s)


def program(kind: str, inputs: Inputs, steps: tuple[int, int, int] = (1, 1, 1), tolerance: float = 1e-10) -> Callable:
    """Register the function below as a program. `steps` is for programs whose work is not given by their size."""

    def register(compute: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[compute.__name__] = Program(compute.__name__, kind, compute, inputs, steps, tolerance)
        return compute

    return register


def side(size: int, dimensions: int = 2) -> int:
    """The length of a square or a cube of about so many elements."""
    return max(4, round(size ** (1 / dimensions)))


def vectors(count: int, dtype: str = "float64") -> Inputs:
    """So many vectors of random numbers between 0 and 1."""
    return lambda rng, size: tuple(rng.random(size).astype(dtype) for _ in range(count))


def squares(count: int, dtype: str = "float64") -> Inputs:
    """So many square matrices of random numbers between 0 and 1."""
    return lambda rng, size: tuple(rng.random((side(size),) * 2).astype(dtype) for _ in range(count))


def cubes(count: int, dtype: str = "float64") -> Inputs:
    """The same in three dimensions."""
    return lambda rng, size: tuple(rng.random((side(size, 3),) * 3).astype(dtype) for _ in range(count))


def as_arrays(result: Any) -> list[numpy.ndarray]:
    """What a program returned, as NumPy's arrays: this asks for the values."""
    return [numpy.asarray(value) for value in (result if isinstance(result, tuple) else (result,))]


def apart(expected: list[numpy.ndarray], got: list[numpy.ndarray]) -> float:
    """The largest difference, over the largest magnitude in its array; infinite where shape, dtype or kind differ."""
    worst = 0.0 if len(expected) == len(got) else numpy.inf
    for want, have in zip(expected, got):
        if (want.shape, want.dtype) != (have.shape, have.dtype):
            return numpy.inf
        if numpy.array_equal(want, have):
            continue
        largest = numpy.abs(want).max() if want.dtype.kind in "fc" else 0.0
        if not 0.0 < largest < numpy.inf or not numpy.isfinite(have).all():
            return numpy.inf
        worst = max(worst, float(numpy.abs(have - want).max() / largest))
    return worst
