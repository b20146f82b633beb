"""What loops in machine code have for products, powers, Fourier transforms, convolutions and views, in both tiers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from test_loops import at_once, both_tiers, leaves, rows  # noqa: F401  the fixture of that name

import lazynp.jax as jax
import lazynp.jax.numpy as jnp
from lazynp.backends.loops.shapes import reshaped
from lazynp.jax import lax

RNG = np.random.default_rng(0)


def normal(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return RNG.normal(size=shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_tiles(dtype: str) -> None:
    """Rows and columns that are no multiples of a tile's, operands that are turned, stacks that are one matrix."""
    sizes = ((1, 3, 4), (1, 12, 5), (2, 1, 4), (5, 3, 5), (6, 8, 8), (7, 9, 17), (13, 16, 33), (12, 2, 7))
    parts = [
        (RNG.integers(-9, 9, (2, m, k)).astype(dtype), RNG.integers(-9, 9, (k, n)).astype(dtype)) for m, k, n in sizes
    ]

    def f(step: Any) -> Any:
        out = []
        for a, b in parts:
            a, b = jnp.asarray(a) + step.astype(dtype), jnp.asarray(b) * step.astype(dtype)
            turned = jnp.transpose(jnp.transpose(b) + step.astype(dtype)), jnp.swapaxes(jnp.swapaxes(a, 1, 2) * 2, 1, 2)
            out += [a @ b, a @ turned[0], turned[1] @ b, jnp.swapaxes(a, 0, 1) @ b, b.T @ a[0].T]
        return out

    with jax.enable_x64(True):
        both_tiers(rows(f, np.arange(3, dtype=np.int32)))
        found = leaves(rows(f, np.arange(3, dtype=np.int32))()[1])
    for k, (a, b) in enumerate(parts):
        np.testing.assert_array_equal(found[5 * k][2], (a + 2) @ (b * 2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponentials_of_small_numbers(dtype: Any) -> None:
    """Below what the vector functions take, down to zero."""
    info = np.finfo(dtype)
    low = float(np.log(info.smallest_subnormal)) - 3
    x = np.concatenate([np.linspace(low, 1, 4000), [np.nan, np.inf, -np.inf, -1e9, 0.0, -0.0]]).astype(dtype)
    with jax.enable_x64(True):
        both_tiers(rows(lambda x: (jnp.exp(x), jnp.logaddexp(x, -x)), x.reshape(2, -1)))
        got = leaves(rows(jnp.exp, x.reshape(2, -1))()[1])[0].ravel()
    with np.errstate(over="ignore", under="ignore"):
        want = np.exp(x)
    normal_ = np.isfinite(want) & (want >= info.tiny)
    np.testing.assert_allclose(got[normal_], want[normal_], rtol=4 * info.eps)
    rest = ~normal_
    np.testing.assert_allclose(got[rest], want[rest], atol=2 * info.smallest_subnormal, rtol=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_that_are_known(dtype: Any) -> None:
    odd = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.5, -2.5, 1e-12, 3e9]
    x = np.array(odd + list(RNG.uniform(0.1, 9, 21)), dtype).reshape(2, 16)
    powers = (-3, -2.0, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3.0, 4, 0.25, 2.5)

    def f(x: Any) -> Any:
        return [x**p for p in powers]

    with jax.enable_x64(True):
        both_tiers(rows(f, x))
        got = leaves(rows(f, x)()[1])
    with np.errstate(all="ignore"):
        for p, y in zip(powers, got, strict=True):
            want = np.power(x, np.full_like(x, p))  # of one number NumPy would take the root
            np.testing.assert_allclose(y, want, rtol=6 * np.finfo(dtype).eps, err_msg=str(p))


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
def test_fourier_transforms(dtype: str) -> None:
    x = normal(2, 3, 8) if dtype == "float32" else (normal(2, 3, 8) + 1j * normal(2, 3, 8)).astype(dtype)

    def f(x: Any) -> Any:
        out = []
        for n, axis, norm in ((8, 1, "backward"), (5, 1, "ortho"), (11, 0, "forward"), (1, 1, None), (2, 0, None)):
            out += [jnp.fft.fft(x, n, axis, norm), jnp.fft.ifft(x, n, axis, norm), jnp.fft.irfft(x, n, axis, norm)]
            out.append(jnp.fft.rfft(x.real, n, axis, norm))
        return [*out, jnp.fft.fft2(x), jnp.fft.fft(x.T).T]

    with jax.enable_x64(True):
        both_tiers(rows(f, x))
        got = leaves(rows(f, x)()[1])
    np.testing.assert_allclose(got[1][1], np.fft.ifft(x[1]), rtol=1e-4, atol=1e-6)


def test_convolutions() -> None:
    x, k = normal(2, 4, 4, 7, 6), normal(6, 2, 3, 2)
    cases: list[dict[str, Any]] = [
        {"window_strides": (1, 1), "padding": "SAME", "feature_group_count": 2},
        {"window_strides": (2, 1), "padding": ((1, 2), (0, 3)), "feature_group_count": 2},
        {"window_strides": (1, 2), "padding": ((-1, 0), (2, -1)), "feature_group_count": 2, "rhs_dilation": (2, 1)},
        {"window_strides": (1, 1), "padding": ((-2, 1), (1, 1)), "feature_group_count": 2, "lhs_dilation": (2, 3)},
        {"window_strides": (1, 1), "padding": "VALID", "batch_group_count": 2},
    ]

    def f(x: Any) -> Any:
        out = [lax.conv_general_dilated(x, k, **c) for c in cases[:4]]
        wide = jnp.concatenate([k, k], 1)
        out.append(lax.conv_general_dilated(x, wide, **cases[4]))
        return [*out, lax.conv_general_dilated(x[:, :, 0], k[:, :, 0], (1,), "SAME", feature_group_count=2)]

    both_tiers(rows(f, x), 1e-5)


def test_rolls() -> None:
    x = normal(2, 3, 5, 4)

    def f(x: Any) -> Any:
        return [jnp.roll(x, *a) for a in ((1,), (-2, 0), (7, 1), ((1, -3), (0, 2)), (0, 1), ((2, 2), (1, 1)))]

    both_tiers(rows(f, x))
    np.testing.assert_array_equal(leaves(rows(f, x)()[1])[3][1], np.roll(x[1], (1, -3), (0, 2)))


def test_views_in_other_shapes() -> None:
    """Exactly where NumPy makes a view, and with its strides."""
    shapes = [s for n in range(4) for s in itertools.product((1, 2, 3, 4, 6), repeat=n) if np.prod(s, dtype=int) <= 24]
    seen = 0
    for shape in shapes:
        base = np.arange(600)[: int(np.prod([2 * n for n in shape], dtype=int))].reshape([2 * n for n in shape])
        part = base[tuple([slice(0, n) for n in shape])]
        for x in (part, part.T, np.ascontiguousarray(part), np.broadcast_to(part, (3, *shape))):
            for new in shapes:
                if np.prod(new, dtype=int) != x.size:
                    continue
                found = reshaped(x.shape, tuple([t // 8 for t in x.strides]), new)
                same = x.reshape(new)
                if found is None:
                    assert not np.shares_memory(same, base) or not x.size
                else:
                    seen += 1
                    again = np.lib.stride_tricks.as_strided(x, new, [t * 8 for t in found])
                    np.testing.assert_array_equal(again, same)
    assert seen > 1000


def test_reshaped_parts_are_written_nowhere_else() -> None:
    x = normal(3, 6, 8)

    def f(c: Any, x: Any) -> Any:
        part = x[:, 2:6].reshape(6, 2, 2).transpose(1, 0, 2)
        new = c.at[1].set(part.sum())
        return new.reshape(2, 2).at[0, 0].add(1.0).reshape(4), (part, new, c.reshape(2, 2).T.reshape(4))

    both_tiers(lambda: lax.scan(f, np.zeros(4, np.float32), x))


def test_extremes_side_by_side() -> None:
    x = normal(3, 5, 37)
    x[1, 2, 30] = np.nan
    x[2, 1, 3] = np.inf
    both_tiers(rows(lambda x: (x.max(1), x.min(1), x.max(0), jnp.abs(x).min()), x))
