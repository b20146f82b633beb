"""Small jitted programs as one C function: the same results, errors and settings as before it was there."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE

import lazynp
import lazynp.jax as jax
import lazynp.jax.numpy as jnp
from lazynp import config
from lazynp.jax import lax
from lazynp.runtime import loops
from lazynp.runtime.one_step import OneStep
from lazynp.speed import calls

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (5, 8)).astype(np.float32)
W = RNG.uniform(-1, 1, (8, 3)).astype(np.float32)


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    with config(compile_after=0.0, compile=True, deterministic=False):
        yield


def programs(f: Any) -> list[OneStep]:
    return [p.run for e in f._entries.values() for p, _ in e.programs.values() if type(p.run) is OneStep]


def compiled(f: Callable[..., Any], *args: Any, tolerance: float = 2e-6, **how: Any) -> Any:
    """The jitted function, with machine code for these arguments, which gives what it gave without."""
    g = jax.jit(f, **how)
    first = jax.tree.leaves(g(*args))
    g(*args)
    assert loops.wait(PATIENCE)
    assert [p.machine.run for p in programs(g)] != [None]
    for a, b in zip(jax.tree.leaves(g(*args)), first, strict=True):
        assert (a.shape, a.dtype, a.weak_type) == (b.shape, b.dtype, b.weak_type)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)
    return g


def step(w: Any, x: Any) -> Any:
    value, slope = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)
    return w - 0.1 * slope, value


def test_a_step_goes_over_to_one_call() -> None:
    f = compiled(step, jnp.asarray(W), jnp.asarray(X))
    (program,) = programs(f)
    before = lazynp.runtime.profile.profile.snapshot()
    for _ in range(5):
        f(jnp.asarray(W), jnp.asarray(X))
    after = lazynp.runtime.profile.profile.snapshot()
    assert after["compiled"] - before["compiled"] == 5
    assert after["interpreted"] == before["interpreted"]
    assert program.native == (calls is not None)


def test_settings_are_those_of_the_call() -> None:
    """The interpreter's bits where it is asked for, from the next call on."""
    w, x = jnp.asarray(W), jnp.asarray(X)
    f = compiled(step, w, x)
    count = lambda: lazynp.runtime.profile.profile.snapshot()["compiled"]
    for setting in ({"compile": False}, {"deterministic": True}):
        with config(**setting):
            before = count()
            first = f(w, x)
            assert count() == before
        with config(compile=False):
            for a, b in zip(first, jax.jit(step)(w, x), strict=True):
                np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    before = count()
    f(w, x)
    assert count() == before + 1


def test_results_twice_and_arguments_as_results() -> None:
    def f(x: Any, y: Any) -> Any:
        z = jnp.sin(x) @ y
        return {"z": z, "again": [z, x], "sum": z.sum(), "y": y}

    g = compiled(f, jnp.asarray(X), jnp.asarray(W))
    x = jnp.asarray(X)
    out = g(x, jnp.asarray(W))
    assert out["again"][1] is x or np.shares_memory(np.asarray(out["again"][1]), np.asarray(x))
    np.testing.assert_array_equal(np.asarray(out["z"]), np.asarray(out["again"][0]))


def test_captured_arrays_and_numbers() -> None:
    """What is captured is read where it lies; numbers, NumPy's arrays and keys are arguments as always."""
    w, scale = jnp.asarray(W), np.float32(3)
    compiled(lambda x, k: jnp.cos(x) @ w * scale + k, X, 2.5)
    compiled(lambda x, k: jnp.cos(x) @ w + k, X.astype(np.float64), 2)
    compiled(lambda x, k: (x.T @ x + k, k), jnp.asarray(X), True)
    for key in (jax.random.key(3), jax.random.PRNGKey(3)):
        compiled(lambda k, x: (jax.random.normal(k, (4,)), jax.random.bits(jax.random.split(k, 2)[0]), x.sum()), key, X)
    split = jax.jit(lambda k, n: jax.random.split(jax.random.fold_in(k, n)))
    want = split(jax.random.key(3), 5)
    for _ in range(3):
        assert (split(jax.random.key(3), 5) == want).all()
        assert loops.wait(PATIENCE)
    assert programs(split)[0].machine.run is not None


def test_other_layouts() -> None:
    """An argument whose elements do not lie in C's order."""
    f = compiled(lambda x: jnp.exp(x) @ W, jnp.asarray(X))
    for x in (np.asfortranarray(X), jnp.asarray(X.T.copy()).T, np.repeat(X, 2, 0)[::2]):
        np.testing.assert_allclose(np.asarray(f(x)), np.exp(X) @ W, rtol=1e-5, atol=1e-5)


def test_donated_and_static_arguments() -> None:
    def f(n: int, w: Any, x: Any) -> Any:
        return w - 0.1 * n * (x.T @ jnp.tanh(x @ w))

    g = jax.jit(f, static_argnums=0, donate_argnums=1)
    x = jnp.asarray(X)
    want = np.asarray(f(2, jnp.asarray(W), x))
    for _ in range(4):
        w = jnp.asarray(W)
        got = g(2, w, x)
        assert loops.wait(PATIENCE)
        assert w.is_deleted()
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5)
    assert programs(g)[0].machine.run is not None
    np.testing.assert_array_equal(np.asarray(x), X)


def test_errors_and_nan() -> None:
    f = compiled(lambda x: jnp.log(x) @ W, jnp.abs(jnp.asarray(X)))
    jax.config.update("jax_debug_nans", True)
    try:
        f(jnp.abs(jnp.asarray(X)))
        with pytest.raises(FloatingPointError, match="nan"):
            f(jnp.asarray(X))
    finally:
        jax.config.update("jax_debug_nans", False)
    seen: list[Any] = []

    def call(x: Any) -> Any:
        seen.append(x)
        if len(seen) == 4:
            raise RuntimeError("no more")
        return np.asarray(x) * 2

    shape = jax.ShapeDtypeStruct((5, 8), np.float32)
    g = jax.jit(lambda x: jax.pure_callback(call, shape, jnp.sin(x)) @ W)
    wanted = np.sin(X) * 2 @ W
    for _ in range(3):
        np.testing.assert_allclose(np.asarray(g(X)), wanted, rtol=1e-5)
        assert loops.wait(PATIENCE)
    with pytest.raises(Exception, match="no more"):
        g(X)
    np.testing.assert_allclose(np.asarray(g(X * 2)), np.sin(X * 2) * 2 @ W, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(seen[0]), np.sin(X), rtol=1e-5)  # nobody has written over it


def test_effects_stay() -> None:
    said: list[float] = []

    def f(x: Any) -> Any:
        jax.debug.callback(lambda s: said.append(float(s)), x.sum())
        return jnp.sin(x) @ W

    g = jax.jit(f)
    for k in range(4):
        g(X)
        assert loops.wait(PATIENCE)
        assert len(said) == k + 1
    assert not programs(g)


def test_loops_and_branches_inside() -> None:
    def f(x: Any) -> Any:
        c, ys = lax.scan(lambda c, v: (jnp.tanh(c + v), c.sum()), jnp.zeros(8), x)
        return lax.cond(c.sum() > 0, lambda: (c, ys), lambda: (-c, ys * 2)), lax.fori_loop(0, 5, lambda i, s: s + i, 0)

    compiled(f, jnp.asarray(X))
    compiled(f, jnp.asarray(-X))


def test_both_doors() -> None:
    f = lazynp.jit(lambda a, b: (lazynp.sin(a) @ b, a.sum(axis=0)))
    a, b = lazynp.array(X), lazynp.array(W)
    for _ in range(4):
        out = f(a, b)
        assert loops.wait(PATIENCE)
        np.testing.assert_allclose(np.asarray(out[0]), np.sin(X) @ W, rtol=1e-5)
        np.testing.assert_allclose(np.asarray(out[1]), X.sum(0), rtol=1e-5)
    assert programs(f)[0].machine.run is not None


def test_threads_and_a_fork() -> None:
    f = compiled(lambda x: jnp.exp(x @ W @ W.T), jnp.asarray(X))
    many = [RNG.uniform(-1, 1, (5, 8)).astype(np.float32) for _ in range(4)]
    wrong: list[Any] = []

    def work(x: np.ndarray) -> None:
        want = np.exp(x @ W @ W.T)
        for _ in range(200):
            if not np.allclose(np.asarray(f(jnp.asarray(x))), want, rtol=1e-4):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(x,)) for x in many]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    child = os.fork()
    if child == 0:
        work(many[0])
        os._exit(len(wrong))
    assert os.waitpid(child, 0)[1] == 0


def test_it_goes_with_its_function() -> None:
    f = compiled(lambda x: jnp.exp(x @ W @ W.T), jnp.asarray(X))
    ref = weakref.ref(programs(f)[0])
    f.clear_cache()
    del f
    gc.collect()
    assert ref() is None


def test_what_is_large_has_kernels() -> None:
    f = jax.jit(lambda x: jnp.sin(x) + x.sum())
    f(jnp.zeros(1 << 15))
    assert not programs(f)


def test_a_first_run_asks_for_nothing() -> None:
    """Programs that run once are not worth a compiler."""
    f = jax.jit(lambda x: jnp.exp(x @ W @ W.T))
    f(X)
    assert not programs(f)[0].machine.asked


def test_without_a_compiler_kernels_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: Any) -> None:
        raise loops.Unsupported("for the test")

    f = jax.jit(lambda x: jnp.exp(jnp.sin(x) @ jnp.ones((8, 600))).sum())
    monkeypatch.setattr(OneStep, "loop", refused)
    for _ in range(3):
        f(X)
    (program,) = programs(f)
    assert program.machine.run is None
    kernels = [s.kernel for s in program.first.plan.steps if hasattr(s, "kernel")]
    assert kernels
    assert all(k.hasten for k in kernels)
