"""Generated calls of `jax.numpy`, `lax`, `nn`, `scipy` and `random` agree with JAX: values, dtypes, weak types, shapes,
and classes of errors.

LAZYNP_CASES says how many; a long run takes 50,000. Each case runs at once or in the graph (`config.mode`), and some
under `jit`. `KNOWN` lists what differs on purpose; an entry that no longer differs fails the last test.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import jax
import pytest
from agreement import disagreement, outcome
from cases import Case
from table import NAMES, case

import lazynp.jax
from lazynp.config import config

jax.config.update("jax_platforms", "cpu")
COUNT = int(os.environ.get("LAZYNP_CASES", "1500"))
CHUNK = 100
Predicate = Callable[[Case], bool]

KNOWN: dict[str, tuple[Predicate, str]] = {
    "lax.reshape to another size": (
        lambda c: c.path == "lax.reshape" and c.arguments[1].value == (4,),
        "a TypeError; op by op JAX's check is left out, and its compiler raises a ValueError about its own code",
    ),
}
"""Name: (which cases, why)."""


def known(c: Case) -> str | None:
    return next((name for name, (matches, _) in KNOWN.items() if matches(c)), None)


def ours(c: Case, number: int) -> Any:
    """The outcome under lazynp: at once, in the graph, or jitted."""
    how = number % 3
    arrays = [i for i, a in enumerate(c.arguments) if a.kind in ("array", "weak")]
    if how == 2 and arrays and jittable(c):
        return outcome(lambda: jitted(c, arrays))
    mode = "graph" if how == 1 else "auto"
    with config(mode=mode):
        return outcome(lambda: c.run(lazynp.jax))


NOT_JITTED = ("numpy.shape", "numpy.ndim", "numpy.size", "at.", "getitem", "numpy.array_equal", "numpy.repeat")


def jittable(c: Case) -> bool:
    """Whether the call can be traced: whether its result is made of arrays, and its shape does not depend on values."""
    return not c.path.startswith(NOT_JITTED) and not c.path.startswith(("random", "key"))


def jitted(c: Case, arrays: list[int]) -> Any:
    made = [a.made(lazynp.jax) for a in c.arguments]

    def f(*traced: Any) -> Any:
        for i, x in zip(arrays, traced):
            made[i] = x
        return c.function(lazynp.jax)(*made, **c.parameters)

    return lazynp.jax.jit(f)(*[made[i] for i in arrays])


def check(number: int) -> str | None:
    """What differs in a case, in words."""
    c = case(number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = outcome(lambda: c.run(jax))
        got = ours(c, number)
    found = disagreement(c.path, wanted, got)
    return None if found is None else f"{number}: {c}: {found}"


@pytest.mark.parametrize("start", range(0, COUNT, CHUNK))
def test_cases_agree(start: int) -> None:
    numbers = range(start, min(start + CHUNK, COUNT))
    wrong = [w for n in numbers if known(case(n)) is None and (w := check(n)) is not None]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", KNOWN)
def test_known_differences_still_differ(name: str) -> None:
    matches, _ = KNOWN[name]
    numbers = [n for n in range(40 * len(NAMES)) if matches(case(n))][:40]
    assert any(check(n) is not None for n in numbers), f"{name} agrees now: take it off the list"
