"""Spectra and fits: modules of NumPy, imported in several ways."""

import numpy as np
import numpy.fft as fft
from numpy import linalg
from numpy.polynomial import Polynomial


def spectrum(signal: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
    window = np.hanning(signal.size)
    return fft.rfftfreq(signal.size, 1 / rate), np.abs(fft.rfft(signal * window)) ** 2


def fit(x: np.ndarray, y: np.ndarray, degree: int) -> Polynomial:
    return Polynomial.fit(x, y, degree)


time = np.linspace(0, 1, 1000)
frequencies, power = spectrum(np.sin(2 * np.pi * 50 * time), 1000.0)
frequencies, power, phase = spectrum(time, 1000.0)  # one too many
line = fit(time, power[:1000])  # an argument missing
solution, residuals, rank, singular = linalg.lstsq(np.ones((3, 2)), np.ones(3), rcond=None)
fft.fast(time)  # no such name
linalg.solve(np.eye(2))  # an argument missing
np.linspace(0, 1, "many")
