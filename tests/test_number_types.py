"""Extended precision and C's long long are dtypes of the engine: NumPy's results, their types of C included, without
NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp

MODES: dict[str, dict[str, Any]] = {"graph": {"mode": "graph"}, "auto": {"mode": "auto", "small": 0}}
TYPES = "qQgGlL"  # equal dtypes beside each other: what is remembered of one must not be given for the other
CALLS: dict[str, Callable[..., Any]] = {
    "add": lambda m, x: x + x,
    "numbers": lambda m, x: (2 * x - 1) ** 2 / 3,
    "one type of the two": lambda m, x: x + x.astype("l"),
    "the other order": lambda m, x: x.astype("l") + x,
    "there and back": lambda m, x: (x.astype("l") * 2).astype(x.dtype),
    "copy": lambda m, x: x.copy("F"),
    "asarray": lambda m, x: m.asarray(x, "l" if x.dtype.char != "l" else "q"),
    "parts": lambda m, x: x[1:] * x[:-1],
    "rows": lambda m, x: x[[2, 0]],
    "mask": lambda m, x: x[x.real > 3],
    "flatten": lambda m, x: x.flatten("F"),
    "written": lambda m, x: written(x + 0),
    "in place": lambda m, x: in_place(x + 0),
    "where": lambda m, x: m.where(x.real > 3, x, 0),
    "concatenate": lambda m, x: m.concatenate([x, x.astype("l")]),
    "joined": lambda m, x: m.array([x[0], x[1]]),
    "zeros_like": lambda m, x: m.zeros_like(x) + x,
    "full": lambda m, x: m.full((3, 2), x[0, 1]),
    "sum": lambda m, x: x.sum(0),
    "all of it": lambda m, x: x.sum(),
    "a sum of another type": lambda m, x: m.add.reduce(x, dtype="g" if x.dtype.kind in "fc" else "q"),
    "prod": lambda m, x: m.prod(x, 1),
    "cumsum": lambda m, x: x.cumsum(1),
    "mean": lambda m, x: x.mean(0),
    "std": lambda m, x: x.std(1),
    "max": lambda m, x: x.max(0),
    "argmin": lambda m, x: m.argmin(-x, 1),
    "sine": lambda m, x: m.sin(x) * m.exp(-(x / 7)),
    "parts of numbers": lambda m, x: abs(x.real + 1j * x) + x.imag,
    "product": lambda m, x: x @ x.T,
    "dot": lambda m, x: m.dot(x[0], x[1]),
    "outer": lambda m, x: m.outer(x[0], x[1]),
    "einsum": lambda m, x: m.einsum("ij,kj->ik", x, x),
    "sort": lambda m, x: m.sort(-x, axis=0),
    "median": lambda m, x: m.median(x, 0),
    "percentile": lambda m, x: m.percentile(x.real, [20, 55], axis=1),
    "unique": lambda m, x: m.unique(x // 3 if x.dtype.kind != "c" else x),
    "searchsorted": lambda m, x: m.searchsorted(x[0].real, x[1].real),
    "fft": lambda m, x: m.fft.fft(x),
    "diff": lambda m, x: m.diff(x, axis=0),
    "pad": lambda m, x: m.pad(x, 2, mode="mean"),
    "take": lambda m, x: m.take(x, [1, 2], 1),
    "clip": lambda m, x: m.clip(x.real, 2, 5),
    "tril": lambda m, x: m.tril(x),
    "nansum": lambda m, x: m.nansum(x, 0),
    "nanmean": lambda m, x: m.nanmean(x * 1.5, 1),
    "correlate": lambda m, x: m.correlate(x[0], x[1][:2], "same"),
    "histogram": lambda m, x: m.histogram(x.real, 4)[0],
    "linspace": lambda m, x: m.linspace(x[0, 0], x[0, 3], 5),
}


def written(x: Any) -> Any:
    x[:, 1] = 7
    x[0] = x[1] * 2
    return x


def in_place(x: Any) -> Any:
    x *= 2
    x[1:] += x[:-1]
    return x


def data(char: str) -> numpy.ndarray:
    x = numpy.arange(12).reshape(3, 4).astype(char)
    if char in "gG":
        x = x * (1 + 3 * numpy.finfo("g").eps)  # which float64 has not
    return x if char != "G" else x + 1j * x[::-1] * (1 + numpy.finfo("g").eps)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CALLS)
def test_types_of_numbers(name: str, mode: str) -> None:
    for char in TYPES:
        if char == "G" and name == "asarray":
            continue
        wanted = numpy.asarray(CALLS[name](numpy, data(char)))
        with lazynp.config(**MODES[mode], strict=True):
            found = CALLS[name](lazynp, lazynp.array(data(char)))
            assert found.dtype.char == wanted.dtype.char
            found = numpy.asarray(found)
        assert (found.dtype.char, found.shape) == (wanted.dtype.char, wanted.shape)
        assert numpy.array_equal(found, wanted), (char, found - wanted)


@pytest.mark.parametrize("shape", [(300_000,), (700, 500), (100, 4, 700), (250_000, 2)])
def test_large_arrays_of_extended_precision(shape: tuple[int, ...]) -> None:
    """The blocks are NumPy's loops, and sums have NumPy's order."""
    host = numpy.random.default_rng(0).standard_normal(shape).astype("g") * (1 + 3 * numpy.finfo("g").eps)
    with lazynp.config(strict=True):
        x = lazynp.array(host) * 1
        for f in (
            lambda m, x: x * 2.5 + x / 3 - x**2,
            lambda m, x: m.sin(x) * m.sqrt(abs(x)),
            lambda m, x: (x * x).sum(),
            lambda m, x: (x * x).sum(0),
            lambda m, x: x.std(-1),
            lambda m, x: x.max(0),
            lambda m, x: x[1:] - x[:-1],
            lambda m, x: m.where(x > 0, x, -1).astype("f8"),
            lambda m, x: x[x > 0],
            lambda m, x: x[::-1] + x.astype("f4"),
        ):
            wanted = numpy.asarray(f(numpy, host))
            found = numpy.asarray(f(lazynp, x))
            assert found.dtype == wanted.dtype
            assert numpy.array_equal(found, wanted)


@pytest.mark.parametrize("mode", MODES)
def test_extended_precision_under_transformations(mode: str) -> None:
    host = numpy.linspace(0.1, 2, 40).astype("g")

    def f(x: Any) -> Any:
        return (lazynp.sin(x) * x**2 + x[::-1]).sum()

    with lazynp.config(**MODES[mode]):
        x = lazynp.array(host)
        slope = lazynp.grad(f)(x)
        assert slope.dtype == numpy.longdouble
        wanted = numpy.cos(host) * host**2 + 2 * host * numpy.sin(host) + 1
        assert abs(numpy.asarray(slope) - wanted).max() < 10 * numpy.finfo("g").eps
        made = lazynp.jit(f)
        for _ in range(3):
            assert abs(made(x) - (numpy.sin(host) * host**2 + host[::-1]).sum()) < 40 * numpy.finfo("g").eps
        rows = lazynp.vmap(lambda x: lazynp.cumsum(lazynp.exp(x)))(lazynp.stack([x, x + 1]))
        assert numpy.array_equal(numpy.asarray(rows), numpy.exp(numpy.stack([host, host + 1])).cumsum(1))


def test_long_long_under_transformations() -> None:
    x = lazynp.array([1, 2, 3], "q")
    for _ in range(3):
        assert lazynp.jit(lambda v: v * 2 + v[0])(x).tolist() == [3, 5, 7]
    assert lazynp.jit(lambda v: v * 2 + v[0])(x.astype("l")).tolist() == [3, 5, 7]
    assert lazynp.vmap(lambda v: v + x)(lazynp.stack([x, x])).tolist() == [[2, 4, 6]] * 2
