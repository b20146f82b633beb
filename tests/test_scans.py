"""Cumulative sums, products and extremes, in loops of our own: NumPy's bits, layouts, errors and warnings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import lazynp
from lazynp.speed import native, scan_array

CALLS = (
    "np.cumsum(a)",
    "np.cumprod(a, axis=-1)",
    "np.cumsum(a, 1)",
    "a.cumsum()",
    "a.cumprod(axis=0)",
    "a.cumsum(-1)",
    "a.cumsum(7)",
    "np.cumsum(a, dtype=float)",
    "np.add.accumulate(a)",
    "np.multiply.accumulate(a, axis=0)",
    "np.maximum.accumulate(a)",
    "np.minimum.accumulate(a, -1)",
    "np.maximum.accumulate(a, axis=1)",
    "np.maximum.accumulate(a, axis=None)",
    "np.logical_or.accumulate(a)",
    "np.subtract.accumulate(a)",
)
SHAPES = (1,), (7,), (1000,), (0,), (0, 3), (5, 6), (1, 5), (5, 1), (3, 4, 5), (40, 33)
PARTS = "a", "a[::2]", "a[::-1]", "a.T", "a[..., ::-1]", "a[1:]"


def outcome(np: Any, text: str, a: Any) -> Any:
    """The result's type, layout and bits, or the error, and what was warned of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            out = numpy.asarray(eval(text, {"np": np, "a": a}))
            result: Any = out.dtype, out.shape, out.strides if out.size else (), out.tobytes()
        except Exception as e:
            result = type(e), str(e)
    return result, [str(x.message) for x in told]


@pytest.mark.parametrize("code", "?bBhHiIlLqQefdF")
def test_scans_are_numpys(code: str) -> None:
    rng = numpy.random.default_rng(0)
    for shape in SHAPES:
        whole = (rng.random(shape) < 0.5) if code == "?" else (rng.standard_normal(shape) * 3).astype(code)
        for part in PARTS:
            x, y = (eval(part, {"a": np.array(whole)}) for np in (numpy, lazynp))
            for text in CALLS:
                if code != "F" or "imum" not in text and "prod" not in text and "multiply" not in text:
                    assert outcome(numpy, text, x) == outcome(lazynp, text, y), (shape, part, text)


SPECIAL = (
    [0.0, -0.0, 0.0, 1.0],
    [-0.0, 0.0, -0.0],
    [numpy.nan, 1.0, 2.0],
    [1.0, numpy.nan, -numpy.nan],
    [1e308, 1e308, 1.0],
    [1e-300, 1e-300, 1.0],
    [numpy.inf, -numpy.inf],
)


@pytest.mark.parametrize("values", SPECIAL)
def test_scans_of_special_values(values: list[float]) -> None:
    for text in ("np.cumsum(a)", "np.cumprod(a)", "np.maximum.accumulate(a)", "np.minimum.accumulate(a)"):
        for repeats in (1, 300):
            x, y = (np.array(values * repeats) for np in (numpy, lazynp))
            assert outcome(numpy, text, x) == outcome(lazynp, text, y), text


@pytest.mark.parametrize("under", ["ignore", "warn", "raise"])
def test_what_becomes_too_small_is_told_where_that_is_asked_for(under: Any) -> None:
    """By default nobody is told of it, and the scan need not be done again by NumPy."""
    for values in ([0.5] * 2000, [0.25, 1e-300, 1e-300] * 40):
        for text in ("np.cumprod(a)", "a.cumprod()", "np.multiply.accumulate(a)", "np.cumprod(a.astype('f'))"):
            x, y = (np.array(values) for np in (numpy, lazynp))
            with numpy.errstate(under=under):
                assert outcome(numpy, text, x) == outcome(lazynp, text, y), text
    if native is not None and under == "ignore":
        assert scan_array(numpy.multiply, numpy.full(2000, 0.5), 0)[-1] == 0


@pytest.mark.parametrize("n", range(1, 14))
def test_sums_of_few_whole_numbers(n: int) -> None:
    whole = numpy.arange(5, 5 + n) * (2**62 + 3)
    for part in (whole, whole[::-1], whole.astype("i4"), whole % 2 == 0):
        assert numpy.array_equal(lazynp.array(part).cumsum(), part.cumsum()), n


def test_scans_of_large_arrays() -> None:
    whole = numpy.random.default_rng(0).standard_normal((700, 300))
    for text in ("np.cumsum(a)", "np.cumsum(a, axis=0)", "np.maximum.accumulate(a, axis=1)", "np.cumsum(a > 0)"):
        with lazynp.config(deterministic=True):
            assert outcome(numpy, text, whole) == outcome(lazynp, text, lazynp.array(whole)), text


@pytest.mark.skipif(native is None, reason="the loops are in the C module: without it NumPy does all scans")
def test_what_there_is_a_loop_for() -> None:
    a = numpy.arange(12.0).reshape(3, 4)
    assert numpy.array_equal(scan_array(numpy.add, a, 0), numpy.cumsum(a, 0))
    assert scan_array(numpy.logical_or, a, 0) is NotImplemented
    assert scan_array(numpy.add, a.astype(complex), 0) is NotImplemented
