"""Random compositions of NumPy-door text: steps from array to array, whose names JAX has too."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

SHAPES: tuple[tuple[int, ...], ...] = ((6,), (7,), (4, 4), (3, 5), (2, 3, 3))
ANY = """
np.sin({x})
np.tanh({x}) * 0.7
{x} * 0.5 + {x} ** 2 * 0.1
np.exp(-{x} ** 2)
np.where({x} > 0.1, {x}, 0.2 * {x})
np.clip({x}, -1.0, 1.0)
np.cumsum({x}, axis=-1) * 0.3
np.cumprod({x} * 0.5, axis=0)
np.add.accumulate({x}, axis=0) * 0.5
np.flip({x}, -1)
np.roll({x}, 1)
np.roll({x}, -1, axis=0)
np.sort({x}, axis=-1)
np.sort({x}, axis=0)
np.diff({x}, axis=-1)
np.pad({x}, 1)
np.pad({x}, 1, mode='edge')
np.pad({x}, 1, mode='reflect')
np.pad({x}, 1, mode='wrap')
np.pad({x}, 1, mode='mean')
np.concatenate([{x}, np.cos({x})], axis=0)
np.concatenate([{x}, {x} * 2], axis=None)
{x} - np.mean({x}, axis=-1, keepdims=True)
{x} / (0.5 + np.std({x}, axis=0, keepdims=True))
np.var({x}, axis=0, keepdims=True) + {x}
np.mean({x}, axis=0, where={x} > -9.0, keepdims=True) * {x}
np.sum({x}, axis=0, where={x} > 0, keepdims=True) + {x}
np.max({x}, axis=-1, initial=0.3, keepdims=True) * {x}
np.array([{x}, 2.0 * {x}]).sum(0)
np.array([np.sum({x}), 0.5, np.max({x})])
np.take({x}, np.array([0, -1, 0]), axis=0)
{x}[np.array([1, 0, 1])]
{x}[..., np.array([0, -1])]
{x}[::-1]
np.repeat({x}, 2, axis=0)
np.repeat({x}, np.array([1, 2] + [1] * ({x}.shape[0] - 2)), axis=0)
np.compress(np.array([True, False] + [True] * ({x}.shape[0] - 2)), {x}, axis=0)
np.choose(np.arange({x}.shape[-1]) % 2, [{x}, np.cos({x})])
np.choose(np.arange({x}.shape[-1]), [{x}, np.cos({x})], mode='wrap')
np.select([{x} > 1, {x} > 0], [{x}, 2 * {x}], default=-{x})
np.ravel({x}, order='F')
{x}.T.flatten()
np.reshape({x}, -1)
np.nan_to_num({x})
np.nansum(np.where({x} > 0.5, np.nan, {x}), axis=-1, keepdims=True) * {x}
np.fft.irfft(np.fft.rfft({x}) * 0.5)
np.fft.ifft(np.fft.fft({x}, axis=0) * (1 + 0.5j), axis=0).real
np.abs(np.fft.rfft({x}, norm='ortho')) ** 2 * 0.3
np.fft.fftn({x}).imag * 0.2
np.einsum('...i,...i->...', {x}, {x})[..., None] * 0.1 + {x}
np.interp({x}, np.array([-1.0, -0.2, 0.5, 1.3]), np.array([0.1, 0.4, -0.3, 0.8]))
np.trapezoid({x}, axis=-1)[..., None] * {x}
np.append({x}, 0.5)
np.insert({x}, 1, 0.3, axis=0)
np.delete({x}, 0, axis=0)
np.linalg.norm({x}, axis=-1, keepdims=True) + {x}
np.tensordot({x}, {x}, axes=([0], [0])).reshape(-1)[:9]
np.broadcast_to({x}, (2, *{x}.shape)).sum(0)
np.logaddexp({x}, 0.3)
np.hypot({x}, 1.0)
np.arctan2({x}, 2.0)
np.unwrap({x} * 3) / 3
np.tile({x}, 2)
np.packbits(np.asarray({x} > 0).reshape(-1))[:1].astype(float) * 0.001 + {x}
""".strip().splitlines()
ROWS = """
np.gradient({x})
np.convolve({x}, np.array([0.5, -0.2, 0.3]))
np.convolve({x}, {x}[:3], mode='same')
np.convolve({x}, {x}[1:3], mode='valid')
np.correlate({x}, np.array([0.5, 0.1]), mode='full')
np.correlate({x}, {x}, mode='same') * 0.4
np.bincount(np.array([0, 2, 1, 2]), {x}[:4])
np.add.reduceat({x}, np.array([0, 2, 3]))
np.add.reduceat({x}, np.array([1, 3]))
np.outer({x}[:4], {x}[:4])
np.vander({x} * 0.5, 3)
np.polyval({x}[:3], {x})
np.diag({x})
np.kron({x}[:2], {x}[:3])
np.interp(np.linspace(-0.5, 5.5, 9), np.arange(6.0), {x}[:6])
np.interp(0.3 * {x}, np.sort({x}), {x} ** 2)
{x}[np.lexsort(({x},))]
np.cov({x}) * {x}
np.meshgrid({x}[:3], {x}[:4])[0] * np.meshgrid({x}[:3], {x}[:4])[1]
np.append({x}[2:], np.dot({x}, {x}) * 0.2)
np.average({x}) * {x}
""".strip().splitlines()
MATRICES = """
{x}.T
{x} @ {x}.T * 0.2
np.linalg.solve({x} @ {x}.T + 3 * np.eye({x}.shape[0]), {x})
np.linalg.inv({x} @ {x}.T + 2 * np.eye({x}.shape[0]))
np.linalg.cholesky({x} @ {x}.T + np.eye({x}.shape[0]))
np.linalg.eigvalsh({x} @ {x}.T + np.diag(np.arange({x}.shape[0]) * 1.0))
np.linalg.svd({x} + np.eye(*{x}.shape) * 2, compute_uv=False)
np.linalg.slogdet({x} @ {x}.T + np.eye({x}.shape[0]))[1] * {x}
np.linalg.matrix_power({x} @ {x}.T * 0.3, 3)
np.linalg.pinv({x} + 2 * np.eye(*{x}.shape))
np.trace({x} @ {x}.T) * {x}
np.tril({x})
np.triu({x}, 1) + {x}
np.ravel({x}, order='F')
np.reshape({x}, ({x}.shape[1], {x}.shape[0]), order='F')
np.diagonal({x}) * 2
np.einsum('ij,kj->ik', {x}, np.cos({x}))
np.einsum('ij->j', {x})
np.cross({x}[:, :3], {x}[::-1, :3])
np.sum({x}, axis=0)
np.mean({x}, axis=1)
np.add.reduceat({x}, np.array([0, 1]), axis=1)
np.rot90({x})
np.corrcoef({x} + 0.1 * np.arange({x}.shape[1]) ** 2)
np.cov({x})
np.take_along_axis({x}, np.argsort({x}, axis=1), axis=1)
np.block([[{x}, 2 * {x}]])
np.fft.fft2({x}).real * 0.3
np.apply_along_axis(lambda r: r * r.sum(), 1, {x})
np.vstack([{x}, {x}[:1]])
np.hstack([{x}, {x}])
""".strip().splitlines()
MOST = 64  # elements


def composition(number: int) -> tuple[tuple[int, ...], list[str]]:
    """A shape, and steps that apply one after the other to an array of it."""
    draw = random.Random(number)
    shape = draw.choice(SHAPES)
    x, steps = data(shape, number), []
    while len(steps) < 1 + number % 4:
        step = draw.choice([*ANY, *(ROWS if x.ndim == 1 else MATRICES if x.ndim == 2 else [])])
        try:
            with np.errstate(all="raise"):
                made = np.asarray(eval(step.format(x="x"), {"np": np, "x": x}))
        except (ValueError, IndexError, np.linalg.LinAlgError, FloatingPointError, TypeError):
            continue
        if made.ndim and made.shape[0] >= 2 and made.size <= MOST and np.abs(made).max() < 50:
            steps.append(step)
            x = made
    return shape, steps


def data(shape: tuple[int, ...], number: int) -> np.ndarray:
    return np.random.default_rng(number).uniform(-1.2, 1.2, shape)


def function(np_: Any, steps: list[str]) -> Any:
    """The steps, and a sum with weights, over a library."""

    def f(x: Any) -> Any:
        for step in steps:
            x = eval(step.format(x="x"), {"np": np_, "x": x})
        w = np.random.default_rng(1).uniform(0.5, 1.5, x.shape)
        return (x * w).sum()

    return f
