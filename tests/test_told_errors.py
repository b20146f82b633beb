"""Floating-point errors of what the engine computes, told as they happen, where `numpy.errstate` or kept warnings ask
for that: NumPy's words, at the user's line, and nothing of it left to NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp

MODES: dict[str, dict[str, Any]] = {"graph": {"mode": "graph"}, "auto": {"mode": "auto", "small": 0}}
CALLS: dict[str, Callable[..., Any]] = {
    "overflow": lambda np, x: x * 1e10,
    "by zero": lambda np, x: x / np.zeros(4),
    "invalid": lambda np, x: np.sqrt(-x),
    "whole numbers": lambda np, x: np.arange(4) // np.zeros(4, int),
    "two results": lambda np, x: np.divmod(np.arange(4), np.zeros(4, int)),
    "in place": lambda np, x: x.__imul__(1e10),
    "out": lambda np, x: np.multiply(x, 1e10, out=np.empty(4)),
    "sum": lambda np, x: np.add.reduce(x * 1e8),
    "scan": lambda np, x: np.multiply.accumulate(x),
    "product": lambda np, x: np.matmul(x, x),
    "dot": lambda np, x: np.dot(np.tile(x, (4, 1)), x),
    "dot of many axes": lambda np, x: np.dot(np.tile(x, (2, 3, 1)), np.tile(x, (2, 1)).T),
    "transform": lambda np, x: np.fft.fft(x * 1e7),
    "inverse transform": lambda np, x: np.fft.irfft(x * 1e8, norm="forward"),
    "rounding": lambda np, x: np.round(x, 10),
    "mean": lambda np, x: (x * 1e8).mean(),
    "variance": lambda np, x: x.var(),
    "deviation where": lambda np, x: np.std(x, where=np.arange(4) > 1),
    "at": lambda np, x: np.log.at(-x, [1, 2]),
    "at places met twice": lambda np, x: np.multiply.at(x, [1, 1, 2], 1e10),
    "parts": lambda np, x: np.add.reduceat(x * 1e8, [0, 2]),
    "inner": lambda np, x: np.inner(x, x),
    "cast": lambda np, x: x.astype("f4"),
    "cast to whole numbers": lambda np, x: x.astype("i4"),
    "copyto": lambda np, x: np.copyto(np.zeros(4, "f4"), x, casting="same_kind"),
    "copyto where": lambda np, x: np.copyto(np.zeros(4, "i2"), x, casting="unsafe", where=np.arange(4) > 2),
    "assignment": lambda np, x: np.zeros(4, "f4").__setitem__(slice(None), x),
    "assignment to places": lambda np, x: np.zeros(9, "i8").__setitem__([1, 2, 3, 5], x),
    "flat": lambda np, x: np.zeros(4, "i8").flat.__setitem__(slice(None), x),
    "fill": lambda np, x: np.zeros(4, "f2").fill(numpy.float64(1e6)),
    "joined": lambda np, x: np.concatenate([x, x], dtype="f4", casting="same_kind"),
    "what is not written": lambda np, x: np.copyto(np.zeros(4, "f4"), x, casting="same_kind", where=np.zeros(4, bool)),
    "nothing": lambda np, x: x + 1,
}


def told(np: Any, name: str) -> Any:
    x = np.full(4, 1e300)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        CALLS[name](np, x)
    return [(str(w.message), w.filename) for w in said]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CALLS)
def test_filters_make_errors(name: str, mode: str, filters_count: None) -> None:
    found = []
    for np in (numpy, lazynp):
        with lazynp.config(**MODES[mode]), warnings.catch_warnings():
            warnings.simplefilter("error")
            x = np.full(4, 1e300)
            try:
                CALLS[name](np, x)
                found.append("")
            except RuntimeWarning as warned:
                found.append(str(warned))
    assert found[0] == found[1]
    if found[1] and not name.startswith("at places"):  # which NumPy goes on with
        assert x.tolist() == [1e300] * 4  # NumPy has written where it raises; ours has not begun


@pytest.mark.parametrize("action", ["error", "ignore", "default"])
@pytest.mark.parametrize("first", [(), (UserWarning,), (RuntimeWarning,), (Warning,)])
def test_the_first_filter_counts(action: str, first: tuple[Any, ...], filters_count: None) -> None:
    found = []
    for np in (numpy, lazynp):
        x = np.zeros(200_000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            warnings.simplefilter("error", *first)
            if action != "error":
                warnings.simplefilter(action, RuntimeWarning)
            for _ in range(2):
                try:
                    np.log(x)
                    found.append((np, "nothing"))
                except RuntimeWarning as error:
                    found.append((np, str(error)))
                warnings.simplefilter("ignore")
    assert [text for _, text in found[:2]] == [text for _, text in found[2:]]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CALLS)
def test_errors_are_told(name: str, mode: str) -> None:
    wanted = told(numpy, name)
    with lazynp.config(**MODES[mode], strict=True):
        assert told(lazynp, name) == wanted
        x, theirs = lazynp.full(4, 1e300), numpy.full(4, 1e300)
        with numpy.errstate(all="raise"):
            if wanted:
                for m, given in ((numpy, theirs), (lazynp, x)):
                    with pytest.raises(FloatingPointError, match=wanted[0][0]):
                        CALLS[name](m, given)
            else:
                CALLS[name](lazynp, x), CALLS[name](numpy, theirs)
        if not name.startswith("at places"):  # which NumPy goes on with, and ours has not begun to write
            assert x.tolist() == theirs.tolist()


@pytest.mark.parametrize("mode", MODES)
def test_what_was_recorded_before_tells_nothing(mode: str) -> None:
    with lazynp.config(**MODES[mode]):
        x = lazynp.full(4, 1e300)
        before, left = x * x, x - 1
        with numpy.errstate(all="raise"):
            after = x + 1
            z = lazynp.array([4.0, 0.0, 2.0, 0.0])
            z[z > 0] = 1 / z[z > 0]  # of what is selected alone
        assert numpy.isinf(before).all() and (left == after).all() and z.tolist() == [0.25, 0, 0.5, 0]
