"""Random programs in NumPy's names agree with JAX: value and gradient, at once, under `jit` and `vmap`, and forwards.

LAZYNP_DOOR_TEXTS says how many; a long run takes 2,000.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import door_texts
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lazynp

jax.config.update("jax_platforms", "cpu")
COUNT = int(os.environ.get("LAZYNP_DOOR_TEXTS", os.environ.get("LAZYNP_CASES", "20")))
CHUNK = 5
TOLERANCE = 1e-7  # of float64, after inverses and quotients


def differs(got: Any, wanted: Any) -> bool:
    got, wanted = np.asarray(got), np.asarray(wanted)
    size = np.abs(wanted).max(initial=0) + 1
    return got.shape != wanted.shape or not np.allclose(
        got, wanted, rtol=TOLERANCE, atol=TOLERANCE * size, equal_nan=True
    )


def by_jax(program: door_texts.Program, batches: tuple[np.ndarray, ...]) -> tuple[Any, Any]:
    """Value and gradients at the program's arrays, and at each example of the batches."""
    f = program.function(jnp, jax=True)
    both = jax.value_and_grad(lambda xs: f(*xs))
    with jax.enable_x64(True):
        return jax.jit(lambda xs, many: (both(xs), jax.vmap(both)(many)))(program.arrays, batches)


def by_lazynp(
    program: door_texts.Program, batches: tuple[np.ndarray, ...], along: Sequence[np.ndarray]
) -> dict[str, Callable[[], Sequence[Any]]]:
    """The ways to evaluate a program: each gives the value, and the gradients or the derivative along a direction."""
    f, places = program.function(lazynp), tuple(range(len(program.arrays)))
    both = lazynp.value_and_grad(f, argnums=places)

    def arrays(given: Sequence[np.ndarray]) -> list[Any]:
        return [lazynp.array(x) for x in given]

    def flat(value: Any, gradients: Any) -> Sequence[Any]:
        return [value, *gradients]

    ways: dict[str, Callable[[], Sequence[Any]]] = {
        "grad": lambda: flat(*both(*arrays(program.arrays))),
        "jvp": lambda: lazynp.jvp(f, tuple(arrays(program.arrays)), tuple(arrays(along))),
    }
    if not program.values:
        ways["jit"] = lambda: flat(*lazynp.jit(both)(*arrays(program.arrays)))
        ways["vmap"] = lambda: flat(*lazynp.vmap(both)(*arrays(batches)))
    return ways


def check(number: int) -> list[str]:
    """What is wrong with a program."""
    program = door_texts.program(number)
    along = [np.random.default_rng(number).standard_normal(x.shape) for x in program.arrays]
    batches = tuple([np.stack([x, x * 0.93, x * 1.08 + 0.003]) for x in program.arrays])
    (value, gradients), (values, many) = by_jax(program, batches)
    slope = sum([(np.asarray(g) * v).sum() for g, v in zip(gradients, along)])
    wanted = {"vmap": [values, *many], "jvp": [value, slope]}
    wrong = []
    if differs(program.function(np)(*[x.copy() for x in program.arrays]), value):
        wrong.append("the texts")
    with lazynp.config(mode=("auto", "graph")[number % 2]):
        for name, way in by_lazynp(program, batches, along).items():
            try:
                got = way()
            except Exception as error:
                wrong.append(f"{name}: {type(error).__name__}: {str(error)[:300]}")
                continue
            for g, w in zip(got, wanted.get(name, [value, *gradients]), strict=True):
                if differs(g, w):
                    wrong.append(f"{name}: {np.asarray(g)}, not {np.asarray(w)}")
                    break
    return [f"{number}: {w}" for w in wrong] + ([program.numpy] if wrong else [])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("start", range(0, COUNT, CHUNK))
def test_programs_agree(start: int) -> None:
    wrong = [w for n in range(start, min(start + CHUNK, COUNT)) for w in check(n)]
    assert not wrong, "\n".join(wrong)


def test_every_template_comes_to_something() -> None:
    """NumPy's text of each runs for some draw: none stands there in vain."""
    used = set()
    for number in range(800):
        used |= set(door_texts.program(number).templates)
    assert not [t.numpy for t in door_texts.TEMPLATES if t not in used]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", [105, 249], ids=["det of a singular matrix", "eigh of rank one"])
def test_programs_that_the_long_run_found(number: int) -> None:
    assert not check(number)
