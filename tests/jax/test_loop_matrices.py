"""Small matrices in loops: in the interpreter, in machine code, and in JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest
from patience import PATIENCE

import lazynp.jax
from lazynp import config
from lazynp.runtime import loops

jax.config.update("jax_platforms", "cpu")
RNG = np.random.default_rng(3)
A = RNG.normal(size=(4, 3, 3)).astype(np.float32)
S = (A @ np.swapaxes(A, -1, -2) + 0.5 * np.eye(3)).astype(np.float32)
S[2] -= 9 * np.eye(3, dtype=np.float32)  # has no factor
B = RNG.normal(size=(4, 3, 2)).astype(np.float32)
WIDE = RNG.normal(size=(3, 41, 60)).astype(np.float32)
LARGER = (WIDE @ np.swapaxes(WIDE, -1, -2) / 60 + 0.2 * np.eye(41)).astype(np.float32)
SINGULAR = np.array([[[1, 2], [2, 4]], [[0, 0], [0, 0]], [[0, 0], [1, 2]], [[1, 2], [3, 5]]], np.float32)
Body = Callable[[Any, Any, Any], Any]


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    with config(compile_after=0.0, compile=True, deterministic=False):
        yield


def triangular(j: Any, a: Any, b: Any, **how: Any) -> Any:
    return j.lax.linalg.triangular_solve(a, b, left_side=True, **how)


BODIES: dict[str, tuple[Body, np.ndarray, np.ndarray]] = {
    "cholesky": (lambda j, a, b: j.numpy.linalg.cholesky(a), S, B),
    "upper": (lambda j, a, b: j.numpy.linalg.cholesky(a, upper=True, symmetrize_input=False), S, B),
    "of one row": (lambda j, a, b: j.numpy.linalg.cholesky(a[:1, :1]), S, B),
    "solve": (lambda j, a, b: j.numpy.linalg.solve(a, b), A, B),
    "a vector": (lambda j, a, b: j.numpy.linalg.solve(a, b[:, 0]), A, B),
    "inverse": (lambda j, a, b: j.numpy.linalg.inv(a), A, B),
    "lower": (lambda j, a, b: triangular(j, a, b, lower=True), A, B),
    "unit": (lambda j, a, b: triangular(j, a, b, lower=False, unit_diagonal=True), A, B),
    "transposed": (lambda j, a, b: triangular(j, a, b, lower=True, transpose_a=True), A, B),
    "one for all": (lambda j, a, b: j.vmap(lambda x: j.numpy.linalg.solve(a, x))(j.numpy.stack([b, 2 * b])), A, B),
    "singular": (lambda j, a, b: j.numpy.linalg.solve(a, b), SINGULAR, B[:, :2]),
    "zeros": (lambda j, a, b: triangular(j, a, b, lower=True), SINGULAR, B[:, :2]),
    "cholesky of many rows": (lambda j, a, b: j.numpy.linalg.cholesky(a), LARGER, LARGER),
    "many rows": (lambda j, a, b: j.numpy.linalg.solve(a, b), LARGER, LARGER[:, :, :3]),
    "many rows, triangular": (lambda j, a, b: triangular(j, a, b, lower=True), LARGER, LARGER[:, :, :1]),
    "slope": (lambda j, a, b: j.grad(lambda a: (j.numpy.linalg.solve(a, b) ** 2).sum())(a), A, B),
}


@pytest.mark.parametrize("name", BODIES)
def test_three_ways(name: str) -> None:
    body, a, b = BODIES[name]

    def run(j: Any) -> np.ndarray:
        return np.asarray(j.lax.scan(lambda c, x: (c, body(j, *x)), 0, (a, b))[1])

    before = {id(m) for of in loops.machines.values() for m in of.values()}
    interpreted = run(lazynp.jax)
    assert loops.wait(PATIENCE)
    made = [m for of in loops.machines.values() for m in of.values() if id(m) not in before]
    assert made and all(m.run is not None and m.source is not None and not m.source.sites for m in made)
    for found in (interpreted, run(lazynp.jax)):
        np.testing.assert_allclose(found, run(jax), rtol=2e-4, atol=2e-4)
