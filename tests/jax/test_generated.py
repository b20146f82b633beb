"""Generated calls of `jax.numpy`, `lax`, `nn`, `scipy` and `random` agree with JAX: values, dtypes, weak types, shapes,
and classes of errors.

LAZYNP_CASES says how many; a long run takes 50,000. Each case runs at once or in the graph (`config.mode`), and some
under `jit`. `KNOWN` lists what differs on purpose; an entry that no longer differs fails the last test.
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import numpy._core._multiarray_umath as numpy_core
import pytest
from agreement import disagreement, factor_of, outcome
from cases import INDICES, Case
from table import NAMES, case

import lazynp.jax
from lazynp.config import config

jax.config.update("jax_platforms", "cpu")
COUNT = int(os.environ.get("LAZYNP_CASES", "1500"))
CHUNK = 25
Predicate = Callable[[Case], bool]

KNOWN: dict[str, tuple[Predicate, str]] = {
    "lax.reshape to another size": (
        lambda c: c.path == "lax.reshape" and c.arguments[1].value == (4,),
        "a TypeError; op by op JAX's check is left out, and its compiler raises a ValueError about its own code",
    ),
    "at.update out of the bounds that are promised": (
        lambda c: c.path == "at.update" and c.parameters["mode"] == "promise_in_bounds" and out_of_bounds(c),
        "a broken promise: what happens is undefined",
    ),
    "numpy.vander of bools": (
        lambda c: c.path == "numpy.vander" and kinds(c) == {"b"},
        "JAX refuses bools; NumPy's answer",
    ),
    "numpy.kron of bools": (
        lambda c: c.path == "numpy.kron" and kinds(c) == {"b"},
        "JAX refuses bools; NumPy's answer",
    ),
    "numpy.linalg.norm by singular values, of halves": (
        lambda c: (
            c.path == "numpy.linalg.norm"
            and c.parameters.get("ord") == 2
            and np.ndim(c.arguments[0].value) == 2
            and np.asarray(c.arguments[0].value).dtype.itemsize == 2
        ),
        "JAX refuses half precision; computed in single",
    ),
    "sums of complex products with infinities": (
        lambda c: (
            c.path in ("numpy.vdot", "numpy.vecdot", "einsum")
            and "c" in kinds(c)
            and any([np.isinf(np.asarray(a.value, np.complex128)).any() for a in c.arguments])
        ),
        "BLAS multiplies an infinity by parts that are zero: NaN where XLA keeps the infinity",
    ),
    "complex powers of zero": (
        lambda c: (
            c.path in ("numpy.power", "numpy.float_power")
            and kinds(c) == {"b", "c"}
            and not np.asarray(c.arguments[0].value).all()
        ),
        "JAX gives NaN; NumPy's 0",
    ),
    "scaled numpy.fft of infinities": (
        lambda c: (
            c.path.startswith("numpy.fft.")
            and c.parameters.get("norm") in ("ortho", "forward")
            and any([np.isinf(a.value).any() for a in c.arguments])
        ),
        "JAX scales by a complex number, whose imaginary 0 makes NaN beside an infinity",
    ),
    "sums of products of bools with what is not finite": (
        lambda c: (
            c.path in ("numpy.vdot", "numpy.vecdot", "einsum")
            and "b" in kinds(c)
            and any([not np.isfinite(np.asarray(a.value, np.complex128)).all() for a in c.arguments])
        ),
        "XLA takes the product with a bool for a choice; 0 times infinity is NaN",
    ),
}
"""Name: (which cases, why)."""


def kinds(c: Case) -> set[str]:
    """The kinds of the arguments' dtypes: "b", "u", "i", "f" (ml_dtypes' are "V"), "c"."""
    return {np.asarray(a.value).dtype.kind for a in c.arguments}


def out_of_bounds(c: Case) -> bool:
    try:
        c.arguments[0].value[INDICES[c.parameters["index"]]]
    except IndexError:
        return True
    return False


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
    """Whether the call can be traced: whether its result is made of arrays, and its shape does not depend on values;
    nor its dtype, as that of a power does, for a known whole number."""
    if c.path == "numpy.power" and np.ndim(c.arguments[1].value) == 0:
        return False
    return not c.path.startswith(NOT_JITTED) and not c.path.startswith(("random", "key"))


def jitted(c: Case, arrays: list[int]) -> Any:
    made = [a.made(lazynp.jax) for a in c.arguments]

    def f(*traced: Any) -> Any:
        for i, x in zip(arrays, traced):
            made[i] = x
        return c.function(lazynp.jax)(*made, **c.parameters)

    return lazynp.jax.jit(f)(*[made[i] for i in arrays])


def factor(c: Case) -> float | None:
    """Of the tolerance, where it hangs on the values. The variance in `standardize` is mean(x²) - mean(x)²: both
    libraries are off by a few units in the last place of mean(x²)."""
    if c.path != "nn.standardize":
        return None
    x, axis = np.asarray(c.arguments[0].value, np.float64), c.parameters.get("axis", -1)
    lost = np.mean(x**2, axis) / (np.var(x, axis) + 1e-5)
    return factor_of(c.path) + float(lost.max()) / 8


def check(number: int) -> str | None:
    """What differs in a case, in words."""
    c = case(number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = outcome(lambda: c.run(jax))
        got = ours(c, number)
    found = disagreement(c.path, wanted, got, factor(c))
    return None if found is None else f"{number}: {c}: {found}"


@pytest.mark.parametrize("start", range(0, COUNT, CHUNK))
def test_cases_agree(start: int) -> None:
    numbers = range(start, min(start + CHUNK, COUNT))
    wrong = [w for n in numbers if known(case(n)) is None and (w := check(n)) is not None]
    assert not wrong, "\n".join(wrong)


OF_THE_PROCESSOR = {"sums of complex products with infinities"}


def has_avx2() -> bool:
    """Of what NumPy may use here, and so BLAS: see tests/cpus.py."""
    return bool(numpy_core.__cpu_features__.get("AVX2")) and os.environ.get("OPENBLAS_CORETYPE") != "Nehalem"


@pytest.mark.parametrize("name", KNOWN)
def test_known_differences_still_differ(name: str) -> None:
    matches, _ = KNOWN[name]
    if name in OF_THE_PROCESSOR and not has_avx2():
        pytest.skip("BLAS's kernels for other processors multiply as XLA does")
    numbers = itertools.islice((n for n in range(240 * len(NAMES)) if matches(case(n))), 40)
    assert any(check(n) is not None for n in numbers), f"{name} agrees now: take it off the list"
