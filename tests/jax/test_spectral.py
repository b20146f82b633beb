"""Spectra of `jax.scipy.signal` against JAX."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import numpy as np
import pytest
from agreement import disagreement, outcome

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
RNG = np.random.default_rng(0)
X, Y = (RNG.standard_normal((3, n)).astype(np.float32) for n in (100, 90))
C = (X + 1j * X[::-1]).astype(np.complex64)
Z = (RNG.standard_normal((2, 17, 9)) + 1j * RNG.standard_normal((2, 17, 9))).astype(np.complex64)
OPTIONS: tuple[dict[str, Any], ...] = (
    {"nperseg": 32, "noverlap": 8},
    {"nperseg": 31, "nfft": 40, "detrend": "linear", "fs": 10.0},
    {"nperseg": 2, "axis": 0},
    {"nperseg": 32, "window": ("tukey", 0.5), "return_onesided": False},
    {"nperseg": 32, "window": np.ones(32, np.float32)},
    {"nperseg": 32, "detrend": lambda x: x - x.mean()},
    {"nperseg": 0},
    {"nperseg": 8, "noverlap": 8},
    {"nperseg": 8, "nfft": 4},
)
BACK: tuple[dict[str, Any], ...] = (
    {},
    {"noverlap": 24, "fs": 5.0},
    {"input_onesided": False, "boundary": False},
    {"nperseg": 20, "nfft": 32},
    {"time_axis": 0, "freq_axis": 1},
    {"time_axis": 1, "freq_axis": 1},
    {"window": np.ones(3, np.float32)},
    {"nperseg": 20, "nfft": 12},
)


def same(run: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = (outcome(lambda lib=lib: run(lib.scipy.signal)) for lib in (jax, lazynp.jax))
    assert disagreement("signal", theirs, ours, factor=300) is None


@pytest.mark.parametrize("options", OPTIONS, ids=map(str, range(len(OPTIONS))))
def test_spectra(options: dict[str, Any]) -> None:
    same(lambda signal: signal.stft(X, **options))
    same(lambda signal: signal.csd(X, Y, average="median", **options))
    same(lambda signal: signal.welch(X, **options))


@pytest.mark.parametrize("boundary", ("even", "odd", "constant", None, "none such"))
def test_boundaries(boundary: str | None) -> None:
    same(lambda signal: signal.stft(X, nperseg=32, boundary=boundary, padded=boundary != "odd"))


def test_complex() -> None:
    same(lambda signal: signal.stft(C, nperseg=16))
    same(lambda signal: signal.csd(C, Y, nperseg=16, scaling="spectrum"))


@pytest.mark.parametrize("options", BACK, ids=map(str, range(len(BACK))))
def test_istft(options: dict[str, Any]) -> None:
    same(lambda signal: signal.istft(Z, **options))


def test_gradient() -> None:
    def gradient(lib: Any) -> Any:
        return lib.grad(lambda x: abs(lib.scipy.signal.stft(x, nperseg=16)[2]).sum())(X[0])

    assert disagreement("signal", outcome(lambda: gradient(jax)), outcome(lambda: gradient(lazynp.jax)), 300) is None
