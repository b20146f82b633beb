"""Searches in tables and histograms, by loops of our own: NumPy's places and counts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import lazynp
from lazynp.backends.numpy import searches

LENGTHS = (1, 2, 3, 21, 64, 1000, 70000)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "f2"])
@pytest.mark.parametrize("length", LENGTHS)
def test_places(length: int, dtype: str) -> None:
    rng = np.random.default_rng(length)
    table = np.sort((60 * rng.standard_normal(length)).astype(dtype))
    keys = (70 * rng.standard_normal((5, 20001))).astype(dtype)
    keys[:, ::7] = table[rng.integers(0, length, keys[:, ::7].shape)]
    if dtype[0] == "f":
        keys[:, :4] = np.nan, np.inf, -np.inf, -0.0
    for side in ("left", "right"):
        for x in (keys, keys[:, ::2], keys[0, :300], keys[0, :3]):
            np.testing.assert_array_equal(
                searches.searchsorted(table, x, side), np.searchsorted(table, x, side), strict=True
            )
    wild = rng.permutation(table)
    np.testing.assert_array_equal(searches.searchsorted(wild, keys, "left"), np.searchsorted(wild, keys, "left"))
    if dtype[0] == "f":
        table[-1:] = np.nan
        np.testing.assert_array_equal(searches.searchsorted(table, keys, "left"), np.searchsorted(table, keys, "left"))


GIVEN: list[dict[str, Any]] = [
    {},
    {"bins": 1},
    {"bins": 37, "density": True},
    {"bins": 10, "range": (-5, 5)},
    {"range": (-5.5, 30.25)},
    {"range": (2, 2)},
    {"range": (-1e308, 1e308)},
    {"bins": 50, "range": (1e15, 1e15 + 8)},
    {"bins": np.array([-10, -3, 0, 0, 2.5, 20])},
    {"bins": np.array([-3, 0, 5])},
    {"bins": np.array([2, 2, 2])},
    {"bins": np.array([0, 1, np.inf]), "density": True},
    {"bins": "auto"},
    {"bins": np.linspace(-10, 10, 300), "density": True},
    {"bins": 7, "weights": "ones"},
    {"bins": 0},
    {"bins": np.array([3, 1])},
    {"bins": np.array([1.0])},
    {"range": (3, 1)},
    {"range": (0, np.nan)},
]


def shown(xp: Any, x: Any, given: dict[str, Any]) -> Any:
    """Values, dtypes and warnings, or the error."""
    given = {**given, **({"weights": xp.ones(x.shape)} if "weights" in given else {})}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = [np.asarray(v) for v in xp.histogram(x, **given)]
        except (ValueError, TypeError) as error:
            return type(error), str(error)
    return [(v.dtype, v.shape, v.tobytes()) for v in found], [(w.category, str(w.message)) for w in told]


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "u1", "?"])
@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_histograms(given: dict[str, Any], dtype: str) -> None:
    rng = np.random.default_rng(5)
    for shape in ((1000,), (300, 1000)):
        x = rng.integers(0, 2 if dtype == "?" else 120, shape).astype(dtype)
        x = (20 * rng.standard_normal(shape)).astype(dtype) if dtype[0] in "fi" else x
        y = lazynp.array(x)
        assert shown(lazynp, y, given) == shown(np, x, given)
        if dtype != "?":
            assert shown(lazynp, y + y, given) == shown(np, x + x, given)
    if dtype == "f8":
        x[0, 5] = np.nan
        assert shown(lazynp, lazynp.array(x), given) == shown(np, x, given)


def test_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "blocks", None)  # as without the C module
    x, edges = np.random.default_rng(0).random(5000), np.linspace(0.1, 0.9, 9)
    np.testing.assert_array_equal(searches.tally(edges, x, True), np.histogram(x, edges)[0], strict=True)
    with lazynp.config(mode="graph", strict=True):
        counts, _ = lazynp.histogram(lazynp.array(x), 8, (0.1, 0.9))
        np.testing.assert_array_equal(counts, np.histogram(x, 8, (0.1, 0.9))[0])
