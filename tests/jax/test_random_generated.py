"""Generated calls of `jax.random` agree with JAX's, bit for bit: samplers by shapes, dtypes, parameters that broadcast,
forms of threefry; at once, jitted, and mapped over keys.

LAZYNP_CASES says how many; the default takes some seconds. LAZYNP_RANDOM_CASES: so many of these only.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import jax as oracle
import ml_dtypes
import numpy as np
import pytest
from random_forms import Form, ulps_apart

import lazynp.jax as jax

oracle.config.update("jax_platforms", "cpu")
COUNT = int(os.environ.get("LAZYNP_RANDOM_CASES", os.environ.get("LAZYNP_CASES", "40")))
CHUNK = 10
SHAPES = ((), (1,), (7,), (2, 3), (3, 1), (0,), (2, 2, 5), (130,), 4)
FLOATS = ("float32", "float32", None, "float16", "bfloat16", "float64")
INTS = ("int32", None, "int8", "int16", "uint8", "uint16", "uint32", "int64", "uint64")
Maker = Callable[[random.Random, Any], tuple[tuple[Any, ...], dict[str, Any]]]


class Sampler(NamedTuple):
    """How to call it. Attributes:
    make: from (random, shape) the arguments behind the key.
    dtypes: that it may be asked for; empty: it has no such argument.
    ulps: how far the last place may be off in its own dtype; None: see `SLACK`.
    """

    make: Maker
    dtypes: tuple[str | None, ...] = FLOATS
    ulps: int | None = 0


SLACK = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-13, "complex64": 1e-5, "complex128": 1e-13}
"""Relative error where a sampler cancels digits, or factors matrices."""


def floats(rng: random.Random, shape: Any, low: float, high: float) -> Any:
    """A parameter that broadcasts to the shape: a Python number, or an array with some axes of length 1."""
    if rng.random() < 0.3:
        return round(rng.uniform(low, high), 3)
    full = (shape,) if isinstance(shape, int) else shape
    own = tuple([1 if rng.random() < 0.3 else n for n in full])[rng.randint(0, len(full)) :]
    return np.random.default_rng(rng.getrandbits(32)).uniform(low, high, own).astype(np.float32)


def plain(rng: random.Random, shape: Any) -> Any:
    return (shape,), {}


def with_parameters(*bounds: tuple[float, float], keyword: bool = True) -> Maker:
    """Parameters between these bounds, then the shape."""

    def make(rng: random.Random, shape: Any) -> Any:
        values = [floats(rng, shape, *b) for b in bounds]
        return (*values, shape), {}

    return make


def between(rng: random.Random, shape: Any) -> Any:
    low = floats(rng, shape, -3, 0)
    return (shape,), {"minval": low, "maxval": floats(rng, shape, 1, 50)}


def whole(rng: random.Random, shape: Any) -> Any:
    low = rng.choice([0, -5, 3, -200, 100, np.arange(-3, 0)[:, None] if shape == (2, 3, 1) else 1])
    return (shape, low, rng.choice([7, 128, 255, 256, 1000, 70000, 2**31 - 1])), {}


def logits(rng: random.Random, shape: Any) -> Any:
    n = rng.choice([1, 3, 8])
    x = np.random.default_rng(rng.getrandbits(32)).normal(size=(2, n)).astype(np.float32)
    kwargs: dict[str, Any] = {"axis": rng.choice([-1, 1, 0])}
    around = n if kwargs["axis"] == 0 else 2
    if rng.random() < 0.5:
        kwargs["shape"] = (rng.randint(1, 3), around)
        kwargs["replace"] = rng.random() < 0.6
    if rng.random() < 0.3:
        kwargs["mode"] = rng.choice(["low", "high"])
    return (x,), kwargs


def permuted(rng: random.Random, shape: Any) -> Any:
    if rng.random() < 0.4:
        return (rng.choice([0, 1, 5, 300]),), {}
    x = np.arange(12, dtype=rng.choice(["float32", "int32", "uint8"])).reshape(3, 4)
    return (x,), {"axis": rng.choice([0, 1, -1]), "independent": rng.random() < 0.5}


def chosen(rng: random.Random, shape: Any) -> Any:
    size = (shape,) if isinstance(shape, int) else shape
    axis = rng.choice([0, 1])
    a = rng.choice([5, np.arange(10, dtype=np.int32).reshape(2, 5) if axis else np.arange(6.0, dtype=np.float32)])
    axis = axis if np.ndim(a) > 1 else 0
    n = a if isinstance(a, int) else a.shape[axis]
    replace = rng.random() < 0.6
    if not replace:
        size = rng.choice([(), (1,), (2, 2), (3,)])
    kwargs: dict[str, Any] = {"replace": replace, "axis": axis}
    if rng.random() < 0.5:
        p = np.random.default_rng(rng.getrandbits(32)).uniform(0.1, 1, n).astype(np.float32)
        kwargs["p"] = p / p.sum()
    return (a, size), kwargs


def trials(rng: random.Random, shape: Any) -> Any:
    n = rng.choice([5, 40, 1000, np.float32(17)])
    return (n, floats(rng, shape, 0, 1), shape), {}


def outcomes(rng: random.Random, shape: Any) -> Any:
    p = np.random.default_rng(rng.getrandbits(32)).uniform(0.1, 1, (2, rng.choice([1, 3, 5]))).astype(np.float32)
    return (rng.choice([3.0, 50.0, np.array([4, 900], np.float32)]), p / p.sum(-1, keepdims=True)), {}


def concentrations(rng: random.Random, shape: Any) -> Any:
    alpha = np.random.default_rng(rng.getrandbits(32)).uniform(0.2, 5, rng.choice([1, 3])).astype(np.float32)
    return (alpha, shape), {}


def vectors(rng: random.Random, shape: Any) -> Any:
    a = np.random.default_rng(rng.getrandbits(32)).normal(size=(3, 3)).astype(np.float32)
    return (a[0], a @ a.T + 3 * np.eye(3, dtype=np.float32), shape), {}


POSITIVE = (0.2, 20.0)
SAMPLERS: dict[str, Sampler] = {
    "bits": Sampler(plain, ("uint8", "uint16", "uint32", "uint64", None)),
    "uniform": Sampler(between),
    "normal": Sampler(plain, (*FLOATS, "complex64"), ulps=1),
    "exponential": Sampler(plain, ulps=1),
    "gumbel": Sampler(lambda rng, s: ((s,), {"mode": rng.choice(["low", "high", None, "highest"])}), ulps=1),
    "laplace": Sampler(plain, ulps=1),
    "logistic": Sampler(plain, ulps=1),
    "cauchy": Sampler(plain, ulps=1),
    "maxwell": Sampler(plain, ulps=2),
    "randint": Sampler(whole, INTS),
    "rademacher": Sampler(plain, (*INTS, *FLOATS)),
    "bernoulli": Sampler(lambda rng, s: ((floats(rng, s, 0, 1), s, rng.choice(["low", "high"])), {}), ()),
    "truncated_normal": Sampler(with_parameters((-3, -0.5), (0, 3)), ulps=2),
    "pareto": Sampler(with_parameters(POSITIVE), ("float32", None, "float64"), ulps=2),
    "rayleigh": Sampler(with_parameters(POSITIVE), ("float32", None, "float64"), ulps=2),
    "wald": Sampler(with_parameters(POSITIVE), ("float32", None), ulps=None),
    "triangular": Sampler(with_parameters((-3, 0), (0, 1), (1, 4)), ("float32", None), ulps=2),
    "lognormal": Sampler(with_parameters((0.1, 2)), ulps=2),
    "weibull_min": Sampler(with_parameters(POSITIVE, (0.5, 5)), ("float32", None), ulps=2),
    "double_sided_maxwell": Sampler(with_parameters((-3, 3), POSITIVE), ("float32", None), ulps=None),
    "gamma": Sampler(with_parameters(POSITIVE), ulps=None),
    "loggamma": Sampler(with_parameters(POSITIVE), ulps=None),
    "beta": Sampler(with_parameters(POSITIVE, POSITIVE), ("float32", None, "float64"), ulps=None),
    "chisquare": Sampler(with_parameters(POSITIVE), ("float32", None, "float64"), ulps=None),
    "f": Sampler(with_parameters(POSITIVE, POSITIVE), ("float32", None), ulps=None),
    "t": Sampler(with_parameters(POSITIVE), ("float32", None), ulps=None),
    "dirichlet": Sampler(concentrations, ulps=None),
    "generalized_normal": Sampler(lambda rng, s: ((rng.uniform(0.5, 4), s), {}), ("float32", None), ulps=None),
    "ball": Sampler(lambda rng, s: ((rng.randint(1, 4), rng.choice([1, 2, 3.5]), s), {}), ("float32", None), ulps=None),
    "geometric": Sampler(with_parameters((0.05, 0.95)), ("int32", None, "int16", "uint32", "int64")),
    "poisson": Sampler(with_parameters((0.1, 60)), ("int32", None, "int16", "uint32", "int64")),
    "binomial": Sampler(trials, ("float32", None, "float64")),
    "multinomial": Sampler(outcomes, ("float32", None)),
    "categorical": Sampler(logits, ()),
    "permutation": Sampler(permuted, ()),
    "choice": Sampler(chosen, ()),
    "multivariate_normal": Sampler(vectors, ("float32", None), ulps=None),
    "orthogonal": Sampler(lambda rng, s: ((rng.randint(1, 4), s), {}), ("float32", None, "complex64"), ulps=None),
    "split": Sampler(lambda rng, s: ((s,), {}), ()),
    "fold_in": Sampler(lambda rng, s: ((rng.choice([0, 7, 2**32 - 1, np.int32(-3), np.uint8(9)]),), {}), ()),
}


class Case(NamedTuple):
    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    seed: int
    x64: bool
    partitionable: bool
    how: str

    def run(self, module: Any, how: str) -> Any:
        """The array, of keys their words."""

        def draw(key: Any) -> Any:
            out = getattr(module.random, self.name)(key, *self.args, **self.kwargs)
            return module.random.key_data(out) if self.name in ("split", "fold_in") else out

        key = module.random.key(self.seed)
        if how == "vmap":
            return module.vmap(draw)(module.random.split(key, 3))
        if how == "raw":
            key = module.random.PRNGKey(self.seed)
        return (module.jit(draw) if how == "jit" else draw)(key)


def case(number: int) -> Case:
    rng = random.Random(number)
    name = [*SAMPLERS][number % len(SAMPLERS)]
    sampler = SAMPLERS[name]
    args, kwargs = sampler.make(rng, rng.choice(SHAPES))
    x64 = rng.random() < 0.3
    if sampler.dtypes:
        kwargs["dtype"] = rng.choice(sampler.dtypes)
        x64 = x64 or kwargs["dtype"] in ("float64", "int64", "uint64", "complex128")
        if kwargs["dtype"] == "bfloat16":
            kwargs["dtype"] = ml_dtypes.bfloat16
    how = rng.choice(["at once", "at once", "jit", "vmap", "raw"])
    return Case(name, args, kwargs, rng.getrandbits(31), x64, rng.random() < 0.75, how)


def difference(number: int) -> str | None:
    """What differs, in words."""
    c = case(number)
    text = f"{number}: {c}"
    with jax.enable_x64(c.x64), oracle.enable_x64(c.x64), Form(c.partitionable):
        try:
            theirs = c.run(oracle, "vmap" if c.how == "vmap" else "at once")
        except Exception as error:
            known = next(e for e in type(error).__mro__ if e.__module__ == "builtins")
            try:
                c.run(jax, c.how)
            except Exception as mine:
                return None if isinstance(mine, known) else f"{text}: {mine!r} instead of {error!r}"
            return f"{text}: does not raise {error!r}"
        mine = c.run(jax, c.how)
    if mine.shape != theirs.shape or mine.dtype != theirs.dtype or mine.weak_type != theirs.weak_type:
        return f"{text}: {mine.aval} instead of {theirs.aval}"
    a, b = np.asarray(mine), np.asarray(theirs)
    ulps = SAMPLERS[c.name].ulps
    if a.dtype.kind in "iub":
        return None if np.array_equal(a, b) else f"{text}: {a} instead of {b}"
    if a.dtype.kind == "c":
        a, b = a.view(a.real.dtype), b.view(b.real.dtype)
    if ulps is not None:
        return None if ulps_apart(a, b).max(initial=0) <= ulps else f"{text}: {a} instead of {b}"
    rtol = SLACK[a.dtype.name]
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    good = np.allclose(wide_a, wide_b, rtol=rtol, atol=rtol, equal_nan=True)
    return None if good else f"{text}: {a} instead of {b}"


@pytest.mark.parametrize("start", range(0, COUNT, CHUNK))
def test_samplers_agree(start: int) -> None:
    wrong = [w for n in range(start, min(start + CHUNK, COUNT)) if (w := difference(n)) is not None]
    assert not wrong, "\n".join(wrong)
