"""`jax_numpy_dtype_promotion="strict"` and `jax_numpy_rank_promotion="raise"`: what they refuse, and what not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from agreement import disagreement, outcome

import lazynp.jax

jax.config.update("jax_platforms", "cpu")

CASES: dict[str, Callable[[Any, Any], Any]] = {
    "weak by weak": lambda jax, np: 0.0 * np.array(3),
    "weak in place of weak": lambda jax, np: np.array(2) + np.array(3.0),
    "weak by int": lambda jax, np: 2 * np.arange(3),
    "float by int": lambda jax, np: np.arange(3) * np.arange(3.0),
    "ranks": lambda jax, np: np.ones(3) + np.ones((2, 3)),
    "scalars have no rank": lambda jax, np: np.ones((2, 3)) + np.float32(2),
    "where": lambda jax, np: np.where(np.ones(3, bool), np.ones(3), np.ones((2, 3))),
    "method": lambda jax, np: np.arange(3).dot(np.ones(3)),
    "polyfit": lambda jax, np: np.polyfit(np.arange(5.0), np.arange(5.0), 1).shape,
    "packbits": lambda jax, np: np.packbits(np.ones((3, 9), bool)),
    "cov": lambda jax, np: np.cov(np.eye(3)),
    "median": lambda jax, np: np.median(np.eye(3), 0),
    "average": lambda jax, np: np.average(np.eye(3), weights=np.ones(3), axis=1),
    "average of int": lambda jax, np: np.average(np.ones(3), weights=np.ones(3, int)),
    "piecewise": lambda jax, np: np.piecewise(np.arange(5.0), [np.arange(5) > 2], [lambda x: x, 3.0]),
    "a user's function": lambda jax, np: np.piecewise(np.arange(5.0), [np.arange(5) > 2], [lambda x: x * np.arange(5)]),
    "histogram2d": lambda jax, np: np.histogram2d(np.arange(5.0), np.arange(5.0), weights=np.ones(5)),
    "under jit": lambda jax, np: jax.jit(lambda x: x + np.ones(3))(np.ones((2, 3))),
    "special": lambda jax, np: jax.scipy.special.xlogy(np.ones(3), np.ones((2, 3))),
}


@pytest.mark.parametrize("name", CASES)
def test_flags(name: str) -> None:
    def run(lib: Any) -> Any:
        with lib.numpy_dtype_promotion("strict"), lib.numpy_rank_promotion("raise"):
            return CASES[name](lib, lib.numpy)

    theirs, ours = (outcome(lambda lib=lib: run(lib)) for lib in (jax, lazynp.jax))
    assert disagreement(name, theirs, ours) is None


RANKS: list[tuple[str | None, tuple[int, ...], tuple[int, ...]]] = [
    (None, (3,), ()),
    (None, (2, 3), (3,)),
    (None, (2, 1), (1, 3)),
    ("(n),(n)->(n)", (2, 3), (3,)),
    ("(n),(n)->(n)", (2, 2, 3), (2, 3)),
]


@pytest.mark.parametrize("case", RANKS, ids=str)
@pytest.mark.parametrize("mode", ["raise", "warn"])
def test_ranks_of_vectorized_functions(case: tuple[Any, ...], mode: str) -> None:
    signature, *shapes = case
    found = []
    for j in (jax, lazynp.jax):
        f = j.numpy.vectorize(lambda x, y: x + y, signature=signature)
        with warnings.catch_warnings(record=True) as seen, j.numpy_rank_promotion(mode):
            warnings.simplefilter("always")
            try:
                result: Any = f(*[np.ones(s, np.float32) for s in shapes]).shape
            except ValueError as error:
                result = str(error).partition(" Set ")[0]
        found.append((result, [str(w.message).partition(" Set ")[0] for w in seen]))
    assert found[0] == found[1]
