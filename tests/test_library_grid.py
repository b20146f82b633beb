"""Functions of libraries that ask for NumPy's own type, or have arguments of it, on our arrays: as on NumPy's."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp

IMAGE = numpy.random.default_rng(0).random((16, 16))


def module(name: str) -> Any:
    return pytest.importorskip(name, reason="it comes with lazynp[libraries]")


def labelled(m: Any) -> Any:
    into = m.zeros((16, 16), m.int32)
    count = module("scipy.ndimage").label(m.asarray(IMAGE) > 0.5, output=into)
    return count, into


def graph(m: Any, values: Any) -> Any:
    return sorted(module("networkx").Graph(m.array(values)).edges(data=True))


def symbol(m: Any, use: Callable[[Any, Any], Any]) -> Any:
    return use(module("sympy").Symbol("a"), m.array([1, 2]))


USES: dict[str, Callable[[Any], Any]] = {
    "label into": labelled,
    "remove_small_objects": lambda m: module("skimage.morphology").remove_small_objects(m.asarray(IMAGE) > 0.5, 3),
    "watershed": lambda m: module("skimage.segmentation").watershed(m.asarray(IMAGE), labelled(m)[1]),
    "hough_line": lambda m: module("skimage.transform").hough_line(m.asarray(IMAGE) > 0.5)[0],
    "hough_circle": lambda m: module("skimage.transform").hough_circle(m.asarray(IMAGE) > 0.5, m.array([2, 3])),
    "view_as_windows": lambda m: module("skimage.util").view_as_windows(m.asarray(IMAGE), (4, 4)),
    "marching_cubes": lambda m: module("skimage.measure").marching_cubes(m.asarray(IMAGE).reshape(4, 8, 8), 0.5)[0],
    "a graph": lambda m: graph(m, [[0, 1], [1, 0]]),
    "a graph of three": lambda m: graph(m, [[0, 1.5, 2], [1.5, 0, 3], [2, 3, 0]]),
    "symbol * x": lambda m: symbol(m, lambda a, x: a * x),
    "symbol + x": lambda m: symbol(m, lambda a, x: a + x),
    "x - symbol": lambda m: symbol(m, lambda a, x: x - a),
    "VAR": lambda m: (
        module("statsmodels.tsa.api").VAR(m.stack([m.sin(m.arange(20.0)), m.cos(m.arange(20.0) * 2)], 1)).fit(1).params
    ),
}


@pytest.mark.parametrize("name", USES)
def test_uses_of_libraries(name: str) -> None:
    def shown(m: Any) -> Any:
        value = USES[name](m)
        return [
            repr(v.tolist()) if hasattr(v, "tolist") else repr(v) for v in (value if type(value) is tuple else [value])
        ]

    assert importlib.import_module("lazynp") is lazynp
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert shown(lazynp) == shown(numpy)
