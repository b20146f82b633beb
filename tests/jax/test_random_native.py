"""The C module of the samplers gives the same bits as NumPy does; without it all still works."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from lazynp.backends.numpy import threefry, xla
from lazynp.backends.numpy.samplers import SAMPLERS, unit
from lazynp.keyed import native

built = pytest.mark.skipif(native is None, reason="the C module was not built")
FLOATS = {"float32": np.uint32, "float64": np.uint64}


def arguments(name: str, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    low, high = {"log": (-0.1, 30), "log1p": (-0.999, 30), "exp": (-90, 90), "erf_inv": (-1, 1)}[name]
    return np.concatenate([rng.uniform(low, high, 4000), [0.0, low, high]]).astype(dtype)


@built
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["log", "log1p", "exp", "erf_inv"])
def test_functions(name: str, dtype: str) -> None:
    x = arguments(name, dtype)
    with np.errstate(all="ignore"):
        python = getattr(xla, name).__wrapped__(x)
    np.testing.assert_array_equal(xla.in_c(name, x), python)


@built
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["normal_root", "exponential", "gumbel"])
def test_samplers(name: str, dtype: str) -> None:
    words = np.random.default_rng(1).integers(0, 2 ** (8 * np.dtype(dtype).itemsize), 4000, FLOATS[dtype])
    words[:2] = 0, np.iinfo(words.dtype).max
    with np.errstate(all="ignore"):
        python = SAMPLERS[name].of(unit(words, np.dtype(dtype)))
    np.testing.assert_array_equal(xla.in_c(name, words), python)


@built
def test_rsqrt_is_near() -> None:
    x = np.random.default_rng(2).uniform(0.5, 100, 4000).astype(np.float32)
    np.testing.assert_allclose(xla.in_c("rsqrt", x), 1 / np.sqrt(x.astype(np.float64)), rtol=2e-7)


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_words_are_threefry(width: int) -> None:
    """Against the hash in Python's integers, one counter at a time."""
    keys = np.array([[0, 42], [7, 2**32 - 1]], np.uint32)
    found = threefry.generate(keys, (20,), width, 1, True, lambda words: words[0])
    for (k0, k1), row in zip(keys.tolist(), found):
        for i, word in enumerate(row.tolist()):
            a, b = threefry.hash_one(k0, k1, 0, i)
            assert word == ((a << 32 | b) if width == 64 else (a ^ b) & (1 << width) - 1)


PROGRAM = """
import lazynp.jax as jax, numpy as np
from lazynp.keyed import native
assert native is None
key = jax.random.key(42)
print(jax.random.normal(key), jax.random.permutation(key, 5), jax.random.key_data(jax.random.fold_in(key, 7)))
print(np.asarray(jax.random.gumbel(key, (50,))).sum().item(), jax.random.bits(key, (20,)).sum())
"""


def test_without_the_module() -> None:
    """The same numbers."""

    def output(speed: str) -> str:
        program = PROGRAM if speed == "0" else PROGRAM.replace("assert native is None", "")
        env = {**os.environ, "LAZYNP_SPEED": speed}
        return subprocess.run(
            [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
        ).stdout

    assert output("0") == output("1")
    assert output("0").startswith("-0.028304616 ")
