"""A part of the fuzzing (`make fuzz` has it in full), what it found, and that it would find something."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import numpy
import pytest

import lazynp as np
from compat import campaign, fuzz
from lazynp.config import config

CALLS = int(os.environ.get("LAZYNP_CALLS", "6000"))
SEED = 7  # not that of the full run


@pytest.mark.parametrize("mode", ["graph", "auto"])
def test_calls_agree_with_numpy(mode: str) -> None:
    wrong, counts = [], Counter[str]()
    for number, call, why in fuzz.made(SEED, 0, CALLS, mode):
        counts[call.name] += 1
        if why:
            wrong.append(fuzz.line(SEED, number, mode, call, why))
    assert not wrong, "\n".join(wrong[:10])
    assert counts.total() == CALLS
    assert {"**", "a[key]", "a[key] = b", "a[mask]", "chain", "matmul", "+"} <= counts.keys()


def test_every_native_ufunc_is_called() -> None:
    with numpy.errstate(all="ignore"):
        names = {fuzz.call_of(SEED, n).name.split("(")[0] for n in range(6000)}
    assert set(fuzz.UFUNCS) <= names
    assert len(fuzz.UFUNCS) > 80


def call(make: Any, *operands: Any, rule: str = "exact") -> fuzz.Call:
    return fuzz.Call("call", make, operands, rule)


def twice(one: Any, other: Any) -> Any:
    """NumPy does the one, lazynp the other."""
    return lambda np, a: (one if np is numpy else other)(a)


A = fuzz.Operand(numpy.array([1.0, 0.0, -3.0]))


@pytest.mark.parametrize(
    ("one", "other", "rule"),
    [
        (lambda a: a + 1, lambda a: a + 2, "exact"),
        (lambda a: a * 0, lambda a: abs(a) * 0, "exact"),
        (lambda a: a, lambda a: a.astype("f"), "exact"),
        (lambda a: a, lambda a: a[None], "exact"),
        (lambda a: a.sum(), lambda a: np.array(-2.0), "sum"),
        (lambda a: numpy.sqrt(a[:1]), lambda a: np.sqrt(a[:1]) * (1 + 2e-15), "ulps"),
        (lambda a: a.sum(), lambda a: a.sum() + 1e-9, "sum"),
        (lambda a: a[5], lambda a: a.reshape(7), "exact"),
        (lambda a: a[5], lambda a: a[0], "exact"),
        (lambda a: a.fill(2), lambda a: a.fill(3), "exact"),
        (lambda a: a > 0, lambda a: a >= 0, "exact"),
    ],
    ids=["value", "zero", "dtype", "shape", "scalar", "ulps", "sum", "error type", "no error", "operand", "bool"],
)
def test_a_difference_is_found(one: Any, other: Any, rule: str) -> None:
    made = call(twice(one, other), A, rule=rule)
    assert fuzz.differ(fuzz.outcome(numpy, made), fuzz.outcome(np, made), made)
    same = call(twice(one, one), A, rule=rule) if rule != "ulps" else call(lambda np, a: np.sqrt(a[:1]), A, rule=rule)
    assert not fuzz.differ(fuzz.outcome(numpy, same), fuzz.outcome(np, same), same)


def test_a_call_is_made_again_from_its_number() -> None:
    for n in (0, 17, 4711):
        with numpy.errstate(all="ignore"):
            one, other = fuzz.call_of(3, n), fuzz.call_of(3, n)
        assert (one.name, repr(one.operands)) == (other.name, repr(other.operands))


def test_campaign(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "CHUNK", 60)
    assert campaign.run(100, SEED, ["graph"], jobs=1) == 0
    assert "100 calls of" in capfd.readouterr().out


# --- found by fuzzing ---


@pytest.mark.parametrize("mode", ["graph", "auto"])
def test_round_without_axes_is_a_scalar(mode: str) -> None:
    with config(mode=mode):
        for places in (-1, 0, 2):
            assert type(np.array(1.5, "f").round(places)) is numpy.float32


@pytest.mark.parametrize("mode", ["graph", "auto"])
def test_bounds_of_clip_beyond_the_dtype(mode: str) -> None:
    with config(mode=mode):
        a = np.array([3, 4, 200], "u1")
        assert a.clip(-1, 5).tolist() == [3, 4, 5]
        assert a.clip(4, 300).tolist() == [4, 4, 200]
        assert a.clip(-1).dtype == "u1"


@pytest.mark.parametrize("mode", ["graph", "auto"])
def test_write_of_one_complex_number_into_a_region_without_axes(mode: str) -> None:
    with config(mode=mode), pytest.warns(numpy.exceptions.ComplexWarning):
        a = np.array([3.0])
        a[0, ...] = np.array([7 + 1j])
        assert a.tolist() == [7]


@pytest.mark.parametrize("mode", ["graph", "auto"])
def test_an_int_that_the_loop_does_not_have_comes_before_its_casts(mode: str) -> None:
    for name, dtype, number, to in (
        ("add", "b", -1, "B"),
        ("ldexp", "f", 2**64, "f"),
        ("logical_and", "e", 2**64, "?"),
    ):
        for np_ in (numpy, np):
            with config(mode=mode), pytest.raises(OverflowError):
                getattr(np_, name)(np_.array(numpy.ones(3, dtype)), number, dtype=to)


def test_known_errors_of_numpy_pass_and_others_do_not() -> None:
    row, out = fuzz.Operand(numpy.arange(17) % 3 - 1), fuzz.Operand(numpy.zeros(17, bool), (fuzz.ENDS,))
    made = fuzz.Call("signbit(out=)", lambda np, a, out: np.signbit(a, out=out), (row, out), "exact")
    mended = made._replace(mended=fuzz.in_one_row("signbit", False))
    with config(mode="graph"):
        right = fuzz.outcome(numpy, mended._replace(make=mended.mended))
        assert not fuzz.differ(right, fuzz.outcome(np, made), made)
    assert fuzz.in_one_row("sign", False) is None


def test_places_that_wrap_around_in_a_view_without_elements_are_not_asked_for() -> None:
    """NumPy goes on for ever: `--seed 2611 --first 96597`."""
    with numpy.errstate(all="ignore"):
        fuzz.outcome(numpy, fuzz.call_of(2611, 96597))
