"""`jax.numpy`'s functions under transformations: `jit` gives what no `jit` gives, `vmap` what a loop gives; derivatives
are JAX's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from agreement import close

import lazynp.jax
import lazynp.jax.numpy as jnp
from lazynp.config import config

jax.config.update("jax_platforms", "cpu")
X = np.linspace(0.3, 2.7, 12, dtype=np.float32).reshape(3, 4)
SQUARE = (X[:, :3] @ X[:, :3].T + 3 * np.eye(3)).astype(np.float32)
MASK = X > 1.2
Function = Callable[[Any, Any], Any]

SMOOTH: dict[str, Function] = {
    "sin": lambda m, x: m.sin(x),
    "tanh": lambda m, x: m.tanh(x),
    "log2": lambda m, x: m.log2(x),
    "exp2": lambda m, x: m.exp2(x),
    "cbrt": lambda m, x: m.cbrt(x),
    "sinc": lambda m, x: m.sinc(x),
    "i0": lambda m, x: m.i0(x),
    "square": lambda m, x: m.square(x) + x**3 + x**-1 + x**0.5,
    "power": lambda m, x: m.power(x, x),
    "power at 0": lambda m, x: (x * 0) ** 2 + (x * 0) ** 1,
    "hypot": lambda m, x: m.hypot(x, 2.0),
    "arctan2": lambda m, x: m.arctan2(x, 1 + x),
    "logaddexp": lambda m, x: m.logaddexp(x, 1.0) + m.logaddexp2(x, 2.0),
    "divide": lambda m, x: x / (1 + x),
    "mod": lambda m, x: m.mod(x, 0.7) + m.fmod(x, 0.7),
    "maximum": lambda m, x: m.maximum(x, 1.25) + m.minimum(x, 0.5) + m.fmax(x, 2),
    "clip": lambda m, x: m.clip(x, 0.5, 2.0),
    "where": lambda m, x: m.where(MASK, x * 2, 0.0),
    "abs": lambda m, x: m.abs(x - 1.1),
    "nan_to_num": lambda m, x: m.nan_to_num(x),
    "sum": lambda m, x: x.sum(axis=0, keepdims=True),
    "sum where": lambda m, x: m.sum(x, where=MASK, axis=1, initial=2.0),
    "mean": lambda m, x: m.mean(x, axis=(0, 1)) + m.mean(x, axis=0, where=MASK),
    "var": lambda m, x: m.var(x, axis=1, ddof=1) + m.std(x, axis=1),
    "prod": lambda m, x: m.prod(x, axis=1),
    "max": lambda m, x: m.max(x, axis=1) + m.min(x),
    "max where": lambda m, x: m.max(x, axis=1, where=MASK, initial=0.0),
    "ptp": lambda m, x: m.ptp(x, axis=0),
    "cumsum": lambda m, x: m.cumsum(x, axis=1) + m.cumprod(x, axis=0),
    "median": lambda m, x: m.median(x, axis=0),
    "quantile": lambda m, x: m.quantile(x, 0.3, axis=1),
    "nanmean": lambda m, x: m.nanmean(x, axis=0) + m.nansum(x),
    "average": lambda m, x: m.average(x, axis=1, weights=m.arange(1.0, 5.0)),
    "sort": lambda m, x: m.sort(-x, axis=0),
    "take": lambda m, x: m.take(x, m.array([2, 0, 0]), axis=1),
    "take_along_axis": lambda m, x: m.take_along_axis(x, m.array([[0], [2], [3]]), axis=1),
    "concatenate": lambda m, x: m.concatenate([x, x * 2], axis=1),
    "stack": lambda m, x: m.stack([x, -x], axis=1),
    "pad": lambda m, x: m.pad(x, ((1, 0), (0, 2)), mode="reflect"),
    "roll": lambda m, x: m.roll(x, (1, 2), axis=(0, 1)),
    "tile": lambda m, x: m.tile(x, (2, 1)) + m.repeat(x, 2, axis=0),
    "flip": lambda m, x: m.flip(x, 1) + m.rot90(x, 2),
    "transpose": lambda m, x: x.T @ x,
    "tensordot": lambda m, x: m.tensordot(x, x, axes=((0, 1), (0, 1))),
    "einsum": lambda m, x: m.einsum("ij,kj->ik", x, x),
    "outer": lambda m, x: m.outer(x[0], x[1]) + m.kron(x[0], x[2])[:4],
    "convolve": lambda m, x: m.convolve(x[0], x[1], mode="same"),
    "interp": lambda m, x: m.interp(x, m.arange(4.0), x[0]),
    "polyval": lambda m, x: m.polyval(x[:, 0], x),
    "diff": lambda m, x: m.diff(x, n=2, axis=1) + m.gradient(x, axis=1)[:, :2],
    "trace": lambda m, x: m.trace(x) + m.diagonal(x).sum() + m.tril(x).sum(),
    "cov": lambda m, x: m.cov(x),
    "cross": lambda m, x: m.cross(x[:, :3], x[:, 1:]),
    "norm": lambda m, x: m.linalg.norm(x, axis=1) + m.linalg.norm(x),
    "select": lambda m, x: m.select([MASK, ~MASK], [x, x * x], 0),
    "piecewise": lambda m, x: m.piecewise(x, [MASK], [lambda v: v * 2, lambda v: v**2]),
    "index": lambda m, x: x[1:, ::2] * x[m.array([0, 2]), 1:3],
    "at": lambda m, x: x.at[0].set(1.0).at[:, 1].multiply(x[:, 0]).at[m.array([1, 1])].add(x[0]),
    "fft": lambda m, x: m.abs(m.fft.fft(x, axis=1)) + m.fft.irfft(m.fft.rfft(x, axis=1), axis=1),
    "complex": lambda m, x: (x + 1j * x[::-1]).real * m.angle(x + 1j),
    "round": lambda m, x: m.round(x, 1) + m.floor(x),
    "unwrap": lambda m, x: m.unwrap(x * 3),
    "trapezoid": lambda m, x: m.trapezoid(x, dx=0.5, axis=1),
    "apply_along_axis": lambda m, x: m.apply_along_axis(lambda v: v * v.sum(), 0, x),
    "vectorize": lambda m, x: m.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")(x, x),
}
MATRICES: dict[str, Function] = {
    "inv": lambda m, x: m.linalg.inv(x),
    "det": lambda m, x: m.linalg.det(x) + m.linalg.slogdet(x)[1],
    "solve": lambda m, x: m.linalg.solve(x, m.arange(3.0)),
    "cholesky": lambda m, x: m.linalg.cholesky(x),
    "eigh": lambda m, x: m.linalg.eigh(x)[0],
    "svd": lambda m, x: m.linalg.svd(x, compute_uv=False),
    "qr": lambda m, x: m.abs(m.linalg.qr(x)[1]),
    "pinv": lambda m, x: m.linalg.pinv(x),
    "lstsq": lambda m, x: m.linalg.lstsq(x, m.arange(3.0))[0],
    "matrix_power": lambda m, x: m.linalg.matrix_power(x, 3),
    "multi_dot": lambda m, x: m.linalg.multi_dot([x, x, x]),
}
WHOLE: dict[str, Function] = {
    "argmax": lambda m, x: m.argmax(x, axis=1),
    "argsort": lambda m, x: m.argsort(-x, axis=0),
    "searchsorted": lambda m, x: m.searchsorted(m.arange(3.0), x),
    "digitize": lambda m, x: m.digitize(x, m.arange(3.0)),
    "nonzero": lambda m, x: m.nonzero(x > 1.2, size=4, fill_value=-1)[0],
    "unique": lambda m, x: m.unique(m.round(x), size=3),
    "isin": lambda m, x: m.isin(m.round(x), m.array([1.0, 2.0])),
    "bincount": lambda m, x: m.bincount(x.astype(int).ravel(), length=4),
    "histogram": lambda m, x: m.histogram(x, bins=4)[0],
    "astype": lambda m, x: (x * 100).astype(m.int8),
    "view": lambda m, x: x.view(m.int32),
    "isclose": lambda m, x: m.isclose(x, x + 1e-7),
    "lexsort": lambda m, x: m.lexsort((x[0], x[1])),
    "bits": lambda m, x: m.packbits(x > 1) ^ m.bitwise_count(x.astype(m.uint8))[0, 0],
    "cumulative": lambda m, x: m.cumulative_sum(x.astype(int), axis=0, include_initial=True),
    "compress": lambda m, x: m.compress(m.array([True, False, True]), x, axis=0, size=3),
}
ALL = {**SMOOTH, **MATRICES, **WHOLE}


def input_of(name: str) -> np.ndarray:
    return SQUARE if name in MATRICES else X


def agree(found: Any, wanted: Any, factor: float = 40) -> None:
    a, b = np.asarray(wanted), np.asarray(found)
    assert a.dtype == b.dtype and a.shape == b.shape
    assert close(a, b, factor), f"{b}, not {a}"


@pytest.mark.parametrize("name", ALL)
def test_jit_and_modes(name: str) -> None:
    f, x = ALL[name], jnp.asarray(input_of(name))
    wanted = f(jnp, x)
    with config(mode="graph"):
        agree(f(jnp, x), wanted)
    jitted = lazynp.jax.jit(lambda x: f(jnp, x))(x)
    agree(jitted, wanted)
    assert jitted.weak_type == wanted.weak_type


@pytest.mark.parametrize("name", ALL)
def test_vmap_is_a_loop(name: str) -> None:
    f, x = ALL[name], input_of(name)
    rows = np.stack([x, x * 1.5, x + 0.25]).astype(np.float32)
    found = lazynp.jax.vmap(lambda x: f(jnp, x))(jnp.asarray(rows))
    agree(found, np.stack([np.asarray(f(jnp, jnp.asarray(r))) for r in rows]))
    found = lazynp.jax.vmap(lambda x: f(jnp, x), in_axes=1, out_axes=-1)(jnp.asarray(np.moveaxis(rows, 0, 1)))
    agree(found, np.stack([np.asarray(f(jnp, jnp.asarray(r))) for r in rows], axis=-1))


def derivatives(lib: Any, f: Function, x: Any) -> tuple[Any, Any]:
    """The gradient of a weighted sum, and the derivative along a direction."""
    m = lib.numpy

    def total(x: Any) -> Any:
        out = f(m, x)
        return m.sum(out * m.cos(m.arange(out.size, dtype=m.float32)).reshape(out.shape))

    direction = m.sin(m.arange(x.size, dtype=m.float32)).reshape(x.shape)
    given = m.asarray(x)
    return lib.grad(total)(given), lib.jvp(total, (given,), (direction,))[1]


@pytest.mark.parametrize("name", {**SMOOTH, **MATRICES})
def test_derivatives_are_jaxs(name: str) -> None:
    f, x = ALL[name], input_of(name)
    wanted = jax.jit(lambda x: derivatives(jax, f, x))(x)
    for a, b in zip(wanted, derivatives(lazynp.jax, f, x)):
        agree(b, a, 200)
