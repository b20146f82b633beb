"""Programs of Fourier transforms, linear algebra and elementwise work, with about 1,000,000 elements in their arrays.

    python asv_bench/benchmarks/spectral.py

Each is timed with NumPy and with lazynp in turns, as in `million.py`."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy

import lazynp

sys.path.insert(0, str(Path(__file__).resolve().parent))

import million

SIDE = 1000


def vorticity(np: Any, a: Any) -> Any:
    """Spectral flow: a step of the vorticity equation, dealiased."""
    k = np.fft.fftfreq(SIDE, 1 / SIDE)
    kx, ky = k[:, None], k[None, :]
    k2 = kx**2 + ky**2
    k2[0, 0] = 1.0
    w = np.fft.fft2(a.field)
    keep = (np.abs(kx) < SIDE / 3) & (np.abs(ky) < SIDE / 3)
    for _ in range(2):
        psi = w / k2
        u, v = np.fft.ifft2(1j * ky * psi).real, np.fft.ifft2(-1j * kx * psi).real
        wx, wy = np.fft.ifft2(1j * kx * w).real, np.fft.ifft2(1j * ky * w).real
        w = (w + 1e-3 * np.fft.fft2(-(u * wx + v * wy)) * keep) / (1 + 1e-6 * k2)
    return np.fft.ifft2(w).real


def deconvolution(np: Any, a: Any) -> Any:
    """Wiener's, and some steps of Richardson and Lucy's."""
    blur = np.fft.rfft2(a.kernel)
    image = np.fft.irfft2(np.fft.rfft2(a.field) * blur, s=(SIDE, SIDE))
    wiener = np.fft.irfft2(np.fft.rfft2(image) * np.conj(blur) / (np.abs(blur) ** 2 + 1e-3), s=(SIDE, SIDE))
    guess = np.full_like(image, 0.5)
    for _ in range(2):
        model = np.fft.irfft2(np.fft.rfft2(guess) * blur, s=(SIDE, SIDE))
        ratio = image / np.maximum(model, 1e-6)
        guess = guess * np.fft.irfft2(np.fft.rfft2(ratio) * np.conj(blur), s=(SIDE, SIDE))
    return wiener + guess


def power_spectrum(np: Any, a: Any) -> Any:
    """Welch's: overlapping windows of a long signal."""
    window = np.hanning(1024)
    pieces = np.lib.stride_tricks.sliding_window_view(a.signal, 1024)[::512]
    pieces = (pieces - pieces.mean(axis=1, keepdims=True)) * window
    power = np.abs(np.fft.rfft(pieces, axis=1)) ** 2
    return 10 * np.log10(power.mean(axis=0) / (window**2).sum())


def spectrogram(np: Any, a: Any) -> Any:
    pieces = a.signal[: 1950 * 512].reshape(-1, 512) * np.hamming(512)
    s = np.fft.rfft(pieces, axis=1)
    level = 20 * np.log10(np.abs(s) + 1e-9)
    return np.clip(level - level.max(), -80, 0)


def kalman(np: Any, a: Any) -> Any:
    """Many filters of four states at once."""
    x, p = np.zeros((20000, 4, 1)), np.zeros((20000, 4, 4)) + np.eye(4)
    step = np.eye(4) + 0.1 * np.eye(4, k=2)
    noise, seen = 0.01 * np.eye(4), np.eye(2, 4)
    for t in range(3):
        x, p = step @ x, step @ p @ step.T + noise
        gain = p @ seen.T @ np.linalg.inv(seen @ p @ seen.T + 0.1 * np.eye(2))
        x = x + gain @ (a.seen[t][..., None] - seen @ x)
        p = (np.eye(4) - gain @ seen) @ p
    return x


def principal_components(np: Any, a: Any) -> Any:
    x = a.samples - a.samples.mean(axis=0)
    x = x / x.std(axis=0)
    values, vectors = np.linalg.eigh(x.T @ x / len(x))
    scores = x @ vectors[:, ::-1][:, :5]
    return (scores / np.sqrt(values[::-1][:5])).max(axis=0)


def clustering(np: Any, a: Any) -> Any:
    """Spectral: a graph of near points, and subspace iterations for its first vectors."""
    x = a.points
    d2 = ((x[:, None, :] - x[None, :, :]) ** 2).sum(axis=-1)
    scale = np.median(d2, axis=1)
    w = np.exp(-d2 / np.sqrt(scale[:, None] * scale[None, :]))
    root = 1 / np.sqrt(w.sum(axis=1))
    w = w * root[:, None] * root[None, :]
    q = np.linalg.qr(x[:, :1] ** np.arange(4))[0]
    for _ in range(4):
        q = np.linalg.qr(w @ q)[0]
    return np.abs(q).argmax(axis=1)


def gaussian_process(np: Any, a: Any) -> Any:
    x, y = a.points[:, 0], a.points[:, 1]
    d = np.abs(x[:, None] - x[None, :])
    k = (1 + np.sqrt(5) * d + 5 * d**2 / 3) * np.exp(-np.sqrt(5) * d) + 0.1 * np.eye(SIDE)
    low = np.linalg.cholesky(k)
    alpha = np.linalg.solve(low, y)
    return 0.5 * alpha @ alpha + np.log(np.diagonal(low)).sum()


def many_fits(np: Any, a: Any) -> Any:
    """Weighted least squares for each of many pixels."""
    design = np.stack([np.ones(20), np.linspace(0, 1, 20), np.linspace(0, 1, 20) ** 2], axis=1)
    weights = 1 / (0.1 + a.pixels)
    left = (weights[:, None, :] * design.T) @ design
    right = (weights * np.log1p(a.pixels)) @ design
    found = np.linalg.solve(left, right[..., None])[..., 0]
    return np.exp(found @ design.T).mean(axis=0)


def robust_rows(np: Any, a: Any) -> Any:
    """Outliers by medians of rows, then ranks."""
    middle = np.median(a.field, axis=1, keepdims=True)
    spread = np.median(np.abs(a.field - middle), axis=1, keepdims=True)
    clean = np.where(np.abs(a.field - middle) > 2 * spread, middle, a.field)
    ranks = np.argsort(np.argsort(clean, axis=1), axis=1)
    return np.corrcoef(ranks[:50])


def walks(np: Any, a: Any) -> Any:
    """How many walks of five steps there are between places, and which are reached in as many: whole numbers, masks."""
    ways, reached = a.linked.astype(np.int64), a.linked
    for _ in range(4):
        ways, reached = ways @ a.linked.astype(np.int64), reached @ a.linked
    return ways.sum(axis=0) * reached.sum(axis=1)


PROGRAMS = (
    vorticity,
    deconvolution,
    power_spectrum,
    spectrogram,
    kalman,
    principal_components,
    clustering,
    gaussian_process,
    many_fits,
    robust_rows,
    walks,
)


def arrays(np: Any) -> SimpleNamespace:
    r = numpy.random.default_rng(0)
    distance = numpy.minimum(numpy.arange(SIDE), SIDE - numpy.arange(SIDE))
    kernel = numpy.exp(-(distance[:, None] ** 2 + distance[None, :] ** 2) / 18.0)
    held = {
        "field": r.random((SIDE, SIDE)) + 0.1,
        "kernel": kernel / kernel.sum(),
        "signal": r.standard_normal(SIDE * SIDE),
        "seen": r.standard_normal((3, 20000, 2)),
        "samples": r.standard_normal((SIDE * 20, 50)),
        "points": r.random((SIDE, 3)),
        "linked": r.random((400, 400)) < 0.02,
        "pixels": r.random((SIDE * 50, 20)),
    }
    return SimpleNamespace(**{name: np.array(value) for name, value in held.items()})


class Spectral:
    params = ([f.__name__ for f in PROGRAMS], ["numpy", "lazynp"])
    param_names = ("program", "library")
    timeout = 120

    def setup(self, program, library):
        self.np = numpy if library == "numpy" else lazynp
        self.arrays, self.run = arrays(self.np), {f.__name__: f for f in PROGRAMS}[program]
        for _ in range(4):
            self.time_program(program, library)
            lazynp.compile_wait()

    def time_program(self, program, library):
        million.wait_for(self.run(self.np, self.arrays))


if __name__ == "__main__":
    held = [arrays(numpy), arrays(lazynp)]
    million.table({f.__name__: f for f in PROGRAMS}, held, rounds=9, budget=3.0)
