"""Random compositions of NumPy-door text under grad, jit and vmap agree with JAX. LAZYNP_TEXTS says how many."""

from __future__ import annotations

import os

import jax
import numpy as np
import pytest
import texts

import lazynp

jax.config.update("jax_platforms", "cpu")
COUNT = int(os.environ.get("LAZYNP_TEXTS", "10"))
CHUNK = 10
TOLERANCE = 1e-7


def near(got: object, wanted: object) -> bool:
    a, b = np.asarray(got), np.asarray(wanted)
    size = 1 + np.abs(b[np.isfinite(b)]).max(initial=0)
    return a.shape == b.shape and np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE * size, equal_nan=True)


def check(number: int) -> str | None:
    """What is wrong with a composition, in words; None if nothing is."""
    shape, steps = texts.composition(number)
    x = texts.data(shape, number)
    many = np.stack([x, 0.9 * x, x[::-1]])
    with jax.enable_x64(True):
        f = jax.value_and_grad(texts.function(jax.numpy, steps))
        wanted = [*f(x), np.stack([f(row)[1] for row in many])]
    g = texts.function(lazynp, steps)
    calls = {
        "value": lambda: g(lazynp.array(x)),
        "grad": lambda: lazynp.grad(g)(lazynp.array(x)),
        "vmap of grad": lambda: lazynp.vmap(lazynp.grad(g))(lazynp.array(many)),
    }
    if number % 2:
        calls["grad"] = lambda: lazynp.jit(lazynp.grad(g))(lazynp.array(x))
    mode = {"mode": "graph"} if number % 3 else {"mode": "auto"}
    for (how, call), value in zip(calls.items(), wanted, strict=True):
        try:
            with lazynp.config(**mode):
                got = np.asarray(call())
        except Exception as error:
            return f"{number}: {how}, {mode}, {shape} {steps}: {type(error).__name__}: {str(error)[:200]}"
        if not near(got, value):
            return f"{number}: {how}, {mode}, {shape} {steps}: {got}, not {np.asarray(value)}"[:1500]
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("start", range(0, COUNT, CHUNK))
def test_texts_agree(start: int) -> None:
    wrong = [w for n in range(start, min(start + CHUNK, COUNT)) if (w := check(n)) is not None]
    assert not wrong, "\n".join(wrong)
