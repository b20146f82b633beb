"""Calls of jitted functions by the C module: what it runs is what Python runs, and what it does not know goes there."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazynp.jax as jax
import lazynp.jax.numpy as jnp
from lazynp import speed
from lazynp.runtime import jit_calls

pytestmark = pytest.mark.skipif(speed.calls is None, reason="the C module was not built here")
VALUES = np.array([-2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0, np.inf, -np.inf, np.nan], np.float32)
NUMBERS = np.array([-7, -1, 0, 1, 2, 5, 100, -100, 2**31 - 1, -(2**31)], np.int32)
UNARY = [
    "abs",
    "sin",
    "cos",
    "tan",
    "exp",
    "log",
    "sqrt",
    "tanh",
    "floor",
    "ceil",
    "rint",
    "sign",
    "square",
    "negative",
    "arctan",
    "sinh",
    "cosh",
    "expm1",
    "log1p",
    "cbrt",
    "isnan",
    "isfinite",
    "signbit",
    "reciprocal",
    "logical_not",
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "arctan2",
    "hypot",
    "power",
    "remainder",
    "floor_divide",
    "equal",
    "less",
    "greater_equal",
    "copysign",
    "logaddexp",
    "logical_and",
    "nextafter",
]
INTEGERS = [
    "add",
    "subtract",
    "multiply",
    "maximum",
    "minimum",
    "bitwise_and",
    "bitwise_xor",
    "left_shift",
    "floor_divide",
    "equal",
    "less",
]


def same(a: Any, b: Any) -> None:
    assert type(a) is type(b) and a.dtype == b.dtype and a.weak_type == b.weak_type
    assert np.array_equal(np.asarray(a), np.asarray(b), equal_nan=a.dtype.kind in "fc")


def checked(f: Callable[..., Any], *args: Any) -> Any:
    """f jitted: its first call goes the long way, the next ones through the C module; both give the same."""
    jitted = jax.jit(f)
    first = jitted(*args)
    assert len(jitted._signatures) == 1
    for _ in range(2):
        again = jitted(*args)
        assert jax.tree.structure(first) == jax.tree.structure(again)
        for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(again)):
            same(a, b)
    return again


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array(name: str) -> None:
    f = getattr(jnp, name)
    checked(lambda x: (f(x), f(x[0])), jnp.asarray(VALUES).reshape(2, 5))


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arrays(name: str) -> None:
    f, x = getattr(jnp, name), jnp.asarray(VALUES)
    y = x[::-1] * 2
    checked(lambda x, y: (f(x, y), f(x, 2.0), f(3, x)), x, y)
    checked(lambda x, y, z: (f(x, y), f(y, x), f(x, z)), x, 1.5, jnp.float32(2))


@pytest.mark.parametrize("name", INTEGERS)
def test_functions_of_integers(name: str) -> None:
    f, x = getattr(jnp, name), jnp.asarray(NUMBERS)
    checked(lambda x, y, z: (f(x, y), f(x, z), f(x, 2)), x, jnp.abs(x[::-1] % 7) + 1, 3)


MIXED: dict[str, Callable[..., Any]] = {
    "chain": lambda x, i: jnp.minimum(x * i, 0) + x,
    "where": lambda x, i: jnp.where(x > 0, x, i * 0.5),
    "where of numbers": lambda x, i: jnp.where(i > 0, 1.0, 0.0),
    "casts": lambda x, i: (i.astype(jnp.float32) * x, (i > 1).astype(jnp.int32) + i),
    "clip": lambda x, i: jnp.clip(x, -1, 1),
    "sigmoid": lambda x, i: jax.nn.sigmoid(x) * jax.nn.relu(x),
    "results that share": lambda x, i: (y := x + 1, y * 2, y),
    "many": lambda x, i: [x + k for k in range(12)],
    "reused memory": lambda x, i: ((x + 1) * 2 - x) * (x - 3) / (x * x + 1) + (x + 1),
    "spread": lambda x, i: x * jnp.ones(10) + jnp.zeros(10),
    "dict": lambda x, i: {"b": x * 2, "a": {"d": i + 1, "c": x - 1}},
    "none": lambda x, i: (x + 1, None, [i + 1]),
    "constants": lambda x, i: x * np.arange(10, dtype=np.float32) + jnp.float32(3),
    "sums": lambda x, i: (i.sum(), i.reshape(2, 5).max(axis=1)),
    "views": lambda x, i: x[1:4] * 2 + i[2],
    "product": lambda x, i: x[:4].reshape(2, 2) @ x[4:8].reshape(2, 2),
    "input as it is": lambda x, i: (x + 1).reshape(5, 2) * 2,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MIXED)
def test_programs(name: str) -> None:
    checked(MIXED[name], jnp.asarray(VALUES[:7].repeat(2)[:10]), jnp.asarray(NUMBERS))


def test_results_and_arguments_are_apart() -> None:
    """Results are fresh arrays, also where the same memory served for something else between."""
    f = jax.jit(lambda x: (x + 1) * 2 - x)
    x = jnp.arange(10.0)
    outs = [f(x) for _ in range(5)]
    assert len({o.unsafe_buffer_pointer() for o in outs}) == 5
    assert all([o.tolist() == (np.arange(10) + 2).tolist() for o in outs]) and x.tolist() == list(range(10))


def test_large_arrays_run_the_plan() -> None:
    x = jnp.arange(300_000.0)
    checked(lambda x, s: (x * s + 1).reshape(300, 1000).sum(axis=0), x, 2.0)


def test_what_is_not_known_goes_the_long_way() -> None:
    traced = []

    @jax.jit
    def f(x: Any, y: Any = 1.0) -> Any:
        traced.append(1)
        return x * 2 + y

    x = jnp.arange(3.0)
    for _ in range(3):
        for args in (
            (x,), (x, 2.0), (x, 2), (x, x), (x.astype(int), 1), (np.arange(3, dtype=np.float32), 1.0),
            (np.arange(3), 1.0), (np.arange(6, dtype=np.float32)[::2], 1.0), (jnp.arange(4.0),), (True, 1),
        ):  # fmt: skip
            wanted = np.asarray(args[0]) * 2 + np.asarray(args[1] if len(args) > 1 else 1.0)
            assert np.allclose(f(*args), wanted)
        assert f(x, y=3.0).tolist() == [3.0, 5.0, 7.0]
    assert len(traced) <= 10
    assert float(jax.grad(lambda v: f(v, v))(3.0)) == 3.0
    assert jax.vmap(f)(x).tolist() == [1.0, 3.0, 5.0]
    assert jax.jit(lambda v: f(v) + f(v))(x).tolist() == [2.0, 6.0, 10.0]
    with pytest.raises(OverflowError):
        f(2**40)
    with pytest.raises(TypeError):
        f("text")
    gone = jnp.arange(3.0)
    gone.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        f(gone)
    assert len(f._signatures) <= jit_calls.MOST


def test_trees_are_compared() -> None:
    f = jax.jit(lambda t: jax.tree.map(lambda x: x + 1, t))
    x = jnp.arange(3.0)
    trees: list[Any] = [
        {"a": x, "b": [x, 1.0]}, {"a": x, "b": (x, 1.0)}, {"b": [x, 1.0], "a": x}, {"a": x}, {"a": x, "c": [x, 1.0]},
        [x, None], [x], (x,), {"a": {}, "b": ()}, {2: x, 1: x * 2},
    ]  # fmt: skip
    for _ in range(3):
        for t in trees:
            out = f(t)
            assert jax.tree.structure(out) == jax.tree.structure(t)
            assert all([np.array_equal(a, b + 1) for a, b in zip(jax.tree.leaves(out), jax.tree.leaves(t))])
            if isinstance(t, dict):
                assert list(out) == list(t) or sorted(out, key=str) == sorted(t, key=str)


def test_settings_are_compared() -> None:
    f, x = jax.jit(lambda x: x / 3), jnp.float32(1)
    assert f(1.0).dtype == f(1.0).dtype == np.float32
    with jax.enable_x64(True):
        assert f(1.0).dtype == f(1.0).dtype == np.float64
    with jax.disable_jit():
        assert float(f(x)) == float(f(x))
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        f(jnp.float32(np.nan))
    assert np.isnan(f(jnp.float32(np.nan)))
    f.clear_cache()
    assert not f._signatures and f._cache_size() == 0 and float(f(3.0)) == 1.0


def test_methods_and_partials() -> None:
    class Line:
        @jax.jit
        def at(x: Any, k: Any) -> Any:
            return x + k

        @staticmethod
        @jax.jit
        def twice(x: Any) -> Any:
            return x * 2

    assert [float(Line.twice(2.0)) for _ in range(3)] == [4.0] * 3
    assert [float(Line.at(2.0, 1.0)) for _ in range(3)] == [3.0] * 3


def test_nothing_is_kept() -> None:
    def f(x: Any) -> Any:
        return x + 1

    jitted = jax.jit(f)
    x = jnp.arange(3.0)
    out = [jitted(x) for _ in range(3)]
    gone = weakref.ref(jitted), weakref.ref(x), weakref.ref(out[0])
    counts = [sys.getrefcount(s) for s in jitted._signatures]
    for _ in range(1000):
        jitted(x)
    assert [sys.getrefcount(s) for s in jitted._signatures] == counts
    del jitted, x, out, f
    gc.collect()
    assert [r() for r in gone[1:]] == [None, None]


def test_without_the_c_module() -> None:
    code = (
        "import lazynp.jax as jax, lazynp.speed as speed; f = jax.jit(lambda x, t: (x + 1, t['a'] * 2)); "
        "print(speed.calls, [f(1.0, {'a': 2})[1].item() for _ in range(3)])"
    )
    environment = {**os.environ, "LAZYNP_SPEED": "0"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "None [4, 4, 4]"
