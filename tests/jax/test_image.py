"""`jax.image` against JAX: methods, sizes, dtypes, derivatives, errors."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from agreement import disagreement, outcome

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
X = np.random.default_rng(0).standard_normal((5, 7, 3)).astype(np.float32)
METHODS = ("nearest", "linear", "lanczos3", "lanczos5", "bicubic", "bicubic-pytorch", "area", "none such")


def same(run: Any) -> None:
    theirs, ours = (outcome(lambda lib=lib: run(lib)) for lib in (jax, lazynp.jax))
    assert disagreement("image", theirs, ours, factor=300) is None


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("antialias", (True, False))
def test_resize(method: str, antialias: bool) -> None:
    for shape in ((10, 4, 3), (5, 7)):
        same(lambda lib, shape=shape: lib.image.resize(X, shape, method, antialias=antialias))
    if not antialias:
        same(lambda lib: lib.image.resize(X[:1], (3, 7, 3), method, antialias=antialias))
    if method in ("linear", "bicubic-pytorch"):
        same(lambda lib: lib.grad(lambda x: (lib.image.resize(x, (8, 4, 3), method, antialias) ** 2).sum())(X))


@pytest.mark.parametrize("method", METHODS)
def test_scale_and_translate(method: str) -> None:
    moved = np.array([0.3, -1.2], np.float32)

    def run(lib: Any, scale: Any) -> Any:
        return lib.image.scale_and_translate(X, (9, 4, 3), (0, 1), scale, lib.numpy.asarray(moved), method)

    scale = np.array([1.7, 0.6], np.float32)
    same(lambda lib: run(lib, lib.numpy.asarray(scale)))
    if method == "area":
        same(lambda lib: lib.grad(lambda s: (run(lib, s) ** 2).sum())(lib.numpy.asarray(scale)))


@pytest.mark.parametrize("dtype", ("uint8", "bool", "complex64"))
def test_dtypes(dtype: str) -> None:
    for method in ("nearest", "linear"):
        same(lambda lib, method=method: lib.image.resize((X * 9).astype(dtype), (3, 9, 3), method))
