"""Random compositions of transformations, to depth 4, agree with JAX.

LAZYNP_CASES says how many; a long run takes 2,000.
"""

from __future__ import annotations

import os

import compositions
import jax
import numpy as np
import pytest

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
COUNT = int(os.environ.get("LAZYNP_COMPOSITIONS", os.environ.get("LAZYNP_CASES", "100")))
CHUNK = 10
TOLERANCE = 1e-9  # of float64; four derivatives amplify rounding


def check(number: int) -> str | None:
    """What is wrong with a composition, in words; None if nothing is."""
    base, chain = compositions.composition(number)
    with jax.enable_x64(True):
        wanted = np.asarray(jax.jit(compositions.build(jax, base, chain))(compositions.POINT))
    try:
        with lazynp.jax.enable_x64(True):
            f = compositions.build(lazynp.jax, base, chain)
            point = lazynp.jax.numpy.asarray(compositions.POINT)
            got = np.asarray((lazynp.jax.jit(f) if number % 2 else f)(point))
    except Exception as error:
        return f"{number}: {base} {chain}: {type(error).__name__}: {str(error)[:300]}"
    size = np.abs(wanted).max() + 1
    if got.shape == wanted.shape and np.allclose(got, wanted, rtol=TOLERANCE, atol=TOLERANCE * size, equal_nan=True):
        return None
    return f"{number}: {base} {chain}: {got}, not {wanted}"


@pytest.mark.parametrize("start", range(0, COUNT, CHUNK))
def test_compositions_agree(start: int) -> None:
    wrong = [w for n in range(start, min(start + CHUNK, COUNT)) if (w := check(n)) is not None]
    assert not wrong, "\n".join(wrong)


def test_a_branch_that_reads_a_constant_and_what_depends_on_it() -> None:
    """Found by the long run: the constant was made anew inside the branch, and with it what was captured beside it."""
    assert check(1591) is None
