"""Products of complex numbers have NumPy's last place, in whichever of NumPy's loops it has them computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp
from lazynp.config import config

Array = Any
PLACES: dict[str, Callable[[Array], Array]] = {
    "one": lambda x: x[:1],
    "one of two axes": lambda x: x[:1].reshape(1, 1),
    "none": lambda x: x[:1].reshape(()),
    "row": lambda x: x[:9],
    "steps": lambda x: x[:18:2],
    "backwards": lambda x: x[8::-1],
    "rows": lambda x: x[:12].reshape(4, 3),
    "rows backwards": lambda x: x[:12].reshape(4, 3)[:, ::-1],
}


def in_place(np: Any, a: Array, b: Array, out: Array) -> Array:
    a *= b
    return a


def powered(np: Any, a: Array, b: Array, out: Array) -> Array:
    a **= 2
    return a


def squared(np: Any, a: Array, b: Array, out: Array) -> Array:
    return np.square(a, out=a)


def at(np: Any, a: Array, b: Array, out: Array) -> Array:
    a = a.reshape(-1)
    np.multiply.at(a, [0, -1, 0], b.reshape(-1)[:1])
    return a


def masked(np: Any, a: Array, b: Array, out: Array) -> Array:
    return np.multiply(a, b, out=a, where=np.array([True]))


WAYS: dict[str, Callable[..., Array]] = {
    "new": lambda np, a, b, out: np.multiply(a, b),
    "square": lambda np, a, b, out: np.square(a),
    "power": lambda np, a, b, out: a**2,
    "outer": lambda np, a, b, out: np.multiply.outer(a, b),
    "out": lambda np, a, b, out: np.multiply(a, b, out=out),
    "square, out": lambda np, a, b, out: np.square(a, out=out),
    "square, out with steps": lambda np, a, b, out: np.square(a, out=np.zeros((*a.shape, 2), a.dtype)[..., 0]),
    "in place": in_place,
    "square in place": squared,
    "power in place": powered,
    "at": at,
}


@pytest.mark.parametrize("mode", ["graph", "auto"])
@pytest.mark.parametrize("dtype", ["F", "D"])
@pytest.mark.parametrize("way", WAYS)
def test_products_have_the_last_place_of_numpy(way: str, dtype: str, mode: str) -> None:
    r = numpy.random.default_rng(14)
    wrong = []
    with config(mode=mode):
        for x, first in PLACES.items():
            for y, second in PLACES.items():
                for _ in range(12):
                    a, b = ((r.standard_normal(40) + 1j * r.standard_normal(40)).astype(dtype) for _ in "ab")
                    made = [result(np, way, first(np.array(a)), second(np.array(b))) for np in (numpy, lazynp)]
                    if not numpy.array_equal(*made):
                        wrong.append((x, y))
    assert not wrong, dict.fromkeys(wrong)


def result(np: Any, way: str, a: Array, b: Array) -> numpy.ndarray:
    """What a product gives; nothing where NumPy refuses it."""
    try:
        return numpy.asarray(WAYS[way](np, a, b, np.zeros(numpy.broadcast_shapes(a.shape, b.shape), a.dtype)))
    except ValueError:
        return numpy.zeros(0)


@pytest.mark.parametrize("mode", ["graph", "auto"])
def test_a_mask_has_a_single_number_taken_by_itself(mode: str) -> None:
    r = numpy.random.default_rng(15)
    with config(mode=mode):
        for _ in range(30):
            a, b = (r.standard_normal(1) + 1j * r.standard_normal(1) for _ in "ab")
            made = [numpy.asarray(masked(np, np.array(a), np.array(b), None)) for np in (numpy, lazynp)]
            assert numpy.array_equal(*made)


@pytest.mark.parametrize("mode", ["graph", "auto"])
def test_the_size_of_a_single_number_that_lies_backwards(mode: str) -> None:
    """Found by fuzzing: `--seed 2612 --first 116655`."""
    with config(mode=mode):
        a = numpy.array([8.765044185565785e-05 + 0.0014417446218430996j], "F")
        assert numpy.asarray(lazynp.absolute(lazynp.array(a)[::-1])) == numpy.absolute(a[::-1])


@pytest.mark.parametrize("mode", ["graph", "auto"])
def test_products_in_place_of_no_numbers(mode: str) -> None:
    """Found by fuzzing: `--seed 2711 --first 107286`."""
    with config(mode=mode):
        a = lazynp.zeros(0, "D")
        a *= 1 + 2j
        assert lazynp.square(a, out=a).shape == (0,)
