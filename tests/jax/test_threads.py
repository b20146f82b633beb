"""Arrays, keys and jitted functions used from many threads at once."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE

import lazynp.jax as jax
import lazynp.jax.numpy as jnp
from lazynp.jax import spreading
from lazynp.jax.sharding import Mesh, NamedSharding, PartitionSpec
from lazynp.runtime.recorder import recorder

THREADS = 8


@pytest.fixture(autouse=True)
def _switching_often() -> Iterator[None]:
    """Threads take turns far more often than they do by themselves, so that races show."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(run: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    """`run(i)` in threads that start at the same moment; raises what any of them raised."""
    gate = threading.Barrier(count)

    def one(i: int) -> Any:
        gate.wait(PATIENCE)
        return run(i)

    with ThreadPoolExecutor(count) as pool:
        return [f.result(60) for f in [pool.submit(one, i) for i in range(count)]]


def test_first_called_from_many_threads_a_function_is_traced_once() -> None:
    for _ in range(5):
        traced = []

        @jax.jit
        def f(x: Any, traced: list[Any] = traced) -> Any:
            traced.append(threading.get_ident())
            time.sleep(0.01)
            return jnp.sin(x) * 2

        x = jnp.arange(5.0)
        results = together(lambda i, f=f, x=x: np.asarray(f(x)))
        assert len(traced) == 1
        assert all([np.array_equal(r, np.sin(np.arange(5, dtype="f4")) * 2) for r in results])


def test_each_signature_is_traced_once_and_nobody_waits_for_another() -> None:
    traced = []

    @jax.jit
    def f(x: Any) -> Any:
        traced.append(x.shape)
        time.sleep(0.02)
        return x + 1

    inputs = [jnp.zeros(1 + i % 4) for i in range(THREADS)]
    results = together(lambda i: np.asarray(f(inputs[i])))
    assert sorted(traced) == [(1,), (2,), (3,), (4,)]
    assert [r.shape for r in results] == [x.shape for x in inputs]


def test_a_function_that_fails_to_trace_fails_in_every_thread() -> None:
    @jax.jit
    def f(x: Any) -> Any:
        raise ArithmeticError("no")

    def run(i: int) -> str:
        with pytest.raises(ArithmeticError):
            f(jnp.ones(2))
        return "raised"

    assert together(run) == ["raised"] * THREADS


def test_jitted_functions_that_call_each_other_do_not_lock_each_other_out() -> None:
    @jax.jit
    def even(n: Any, x: Any) -> Any:
        return x * 2 if x.shape[0] == 1 else odd(n, x[1:])

    @jax.jit
    def odd(n: Any, x: Any) -> Any:
        return x * 3 if x.shape[0] == 1 else even(n, x[1:])

    results = together(lambda i: float((even if i % 2 else odd)(0, jnp.ones(6))[0]))
    assert results == [3.0 if i % 2 else 2.0 for i in range(THREADS)]


@pytest.mark.parametrize("size", [10, 200_000], ids=["small", "large"])
def test_one_array_used_by_many(size: int) -> None:
    """A pending value that all ask for is computed once, and everybody sees it."""
    for _ in range(3):
        x = jnp.arange(float(size))
        y = jnp.sqrt(x * 3 + 1)
        results = together(lambda i, y=y: np.asarray(y + i))
        first = np.sqrt(np.arange(size, dtype="f4") * 3 + 1)
        assert all([np.allclose(r, first + i, rtol=1e-6) for i, r in enumerate(results)])


def test_arrays_of_their_own() -> None:
    """Each thread records its own operations, large and small, for a while."""

    def run(i: int) -> float:
        x = jnp.full((300, 400), float(i), jnp.float32)
        for _ in range(20):
            x = jnp.where(x > 0.5, x - 0.5, x + 1.0)
            x = x.at[0, :3].set(jnp.arange(3.0))
        return float(x.sum())

    found = together(run)
    assert found == [run(i) for i in range(THREADS)]


def test_keys() -> None:
    """Splitting and sampling is a matter of the key alone, whichever thread does it."""
    root = jax.random.key(7)

    def run(i: int) -> np.ndarray:
        own = jax.random.fold_in(root, i % 3)
        out = []
        for _ in range(10):
            own, sub = jax.random.split(own)
            out.append(jax.random.normal(sub, (20,)))
        return np.asarray(jnp.stack(out))

    found = together(run)
    for i in range(THREADS):
        assert np.array_equal(found[i], found[i % 3])
    assert not np.array_equal(found[0], found[1])


def test_a_trace_is_its_thread_s_own() -> None:
    """While one thread traces, others compute: their values are concrete, and their flags their own."""
    inside, done = threading.Event(), threading.Event()

    @jax.jit
    def f(x: Any) -> Any:
        inside.set()
        assert done.wait(PATIENCE)
        return x * 2

    def other() -> tuple[float, str, bool]:
        inside.wait(PATIENCE)
        try:
            with jax.enable_x64(True):
                wide = (jnp.ones(3) + 1).dtype.name
            return float(jnp.ones(3).sum()), wide, bool(jnp.ones(()) > 0)
        finally:
            done.set()

    with ThreadPoolExecutor(2) as pool:
        traced, computed = pool.submit(lambda: f(jnp.ones(3))), pool.submit(other)
        assert computed.result(60) == (3.0, "float64", True)
        out = traced.result(60)
    assert out.dtype == np.float32 and out.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("transformation", ["grad", "vmap", "jvp", "scan", "jit of grad"])
def test_transformations_side_by_side(transformation: str) -> None:
    def f(x: Any, k: Any) -> Any:
        return jnp.sum(jnp.sin(x) * k) ** 2

    ways: dict[str, Callable[[Any, Any], Any]] = {
        "grad": jax.grad(f),
        "vmap": lambda x, k: jax.vmap(f, (0, None))(x, k),
        "jvp": lambda x, k: jax.jvp(lambda v: f(v, k), (x,), (x,))[1],
        "scan": lambda x, k: jax.lax.scan(lambda c, a: (c * k + a, c), 0.0, x)[1],
        "jit of grad": jax.jit(jax.grad(f)),
    }
    way, x = ways[transformation], jnp.arange(6.0)
    found = together(lambda i: [np.asarray(way(x, float(i))) for _ in range(5)])
    for i, values in enumerate(found):
        wanted = np.asarray(way(x, float(i)))  # by a kernel that sums in another order, if one was compiled
        assert all([np.allclose(v, wanted, rtol=1e-5, atol=1e-5) for v in values])
    assert np.array_equal(x, np.arange(6.0))


WAYS: list[Callable[[Any, Any], Any]] = [
    jax.jit(lambda x, y: (x * y + 1, x - y)),
    jax.jit(lambda x, y: (x, y * 2, x.reshape(2, -1))),
    jax.jit(lambda x, y: (lambda z: (z, z, z * 2))(x + y)),
    lambda x, y: (jnp.sin(x) * y, x + 0),
    lambda x, y: jax.grad(lambda a: (a * y).sum() + jnp.cos(a).sum())(x),
    lambda x, y: jax.value_and_grad(lambda a: (a * a * y).sum())(x),
    lambda x, y: jax.vmap(lambda a, b: a * b + 1)(x, y),
    lambda x, y: jax.jvp(lambda a: jnp.tanh(a) * y, (x,), (y,)),
    lambda x, y: jax.vjp(lambda a: a * y, x)[1](y),
    lambda x, y: (x.at[1:3].set(0.5), y.at[0].add(2)),
    lambda x, y: jax.lax.scan(lambda c, a: (c + a, c * a), 0.0, x[:10]),
    lambda x, y: jax.lax.cond(x[0] > y[0], lambda a, b: (a, b), lambda a, b: (b, a), x, y),
    lambda x, y: (x if float(x[0]) > 0 else y, x * 2 if bool((y > 0).any()) else x),
    lambda x, y: (x.reshape(-1, 2).T, x[::-1], jnp.sort(x), jnp.concatenate([x, y])),
]


def random_values(seed: int, arrays: list[Any]) -> list[np.ndarray]:
    """What a random program on these arrays gives."""
    choose, known, out = random.Random(seed), list(arrays), []
    for _ in range(choose.randint(3, 9)):
        found = jax.tree.leaves(choose.choice(WAYS)(choose.choice(known), choose.choice(known)))
        known += [a / (1 + jnp.abs(a)) for a in found if a.shape == arrays[0].shape]
        if len(known) > len(arrays) + 2:
            known.pop(choose.randrange(len(arrays), len(known)))  # it dies, while others are read
        out += found
    return [np.asarray(a) for a in out]


@pytest.mark.parametrize("size", [6, 1000, 250_000])
def test_random_programs_on_arrays_of_all(size: int) -> None:
    """Each thread's values are those of its program alone, and what all read is as it was."""
    for seed in range(4):
        draw = np.random.default_rng(seed)
        hosts = [draw.standard_normal(size).astype("f4") for _ in range(3)]
        arrays = [jnp.asarray(h) * 1 for h in hosts]
        found = together(lambda i, arrays=arrays, seed=seed: random_values(seed * THREADS + i, arrays))
        assert all([np.array_equal(h, a) for h, a in zip(hosts, arrays)])
        for i, values in enumerate(found):
            wanted = random_values(seed * THREADS + i, [jnp.asarray(h) for h in hosts])
            assert all([np.allclose(v, w, rtol=1e-4, atol=1e-4, equal_nan=True) for v, w in zip(values, wanted)])


def test_an_array_has_one_node() -> None:
    """Of two on the same buffer one would die, and its buffer be overwritten while the other is read."""
    for _ in range(100):
        x = jnp.arange(6.0)
        nodes = together(lambda i, x=x: x.node)
        assert all([n is nodes[0] for n in nodes])


def test_compiled_calls_from_many_threads_share_nothing() -> None:
    """The plan of a jitted function is one object: its values are the call's own."""

    @jax.jit
    def f(x: Any, s: Any) -> Any:
        y = x * s + 1
        return y @ y.T, y.sum()

    xs = [jnp.full((400, 30), float(i)) for i in range(THREADS)]
    found = together(lambda i: [[np.asarray(v) for v in f(xs[i], float(k))] for k in range(20)])
    for i, rows in enumerate(found):
        for k, (product, total) in enumerate(rows):
            assert np.all(product == 30 * (i * k + 1.0) ** 2) and total == 12_000 * (i * k + 1.0)


def test_effects_of_threads_stay_in_order_within_each() -> None:
    seen: dict[int, list[int]] = {i: [] for i in range(THREADS)}

    @jax.jit
    def f(i: Any, k: Any) -> Any:
        jax.debug.callback(lambda i, k: seen[int(i)].append(int(k)), i, k)
        return i + k

    together(lambda i: [f(i, k).block_until_ready() for k in range(20)])
    assert all([values == list(range(20)) for values in seen.values()])


def test_where_a_result_lies_is_found_before_another_thread_computes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Computed, it no longer knows what it was made of."""
    lies = NamedSharding(Mesh(np.array(jax.devices()[:1]), ("i",)), PartitionSpec("i"))
    x = jax.device_put(jnp.arange(6.0), lies)
    derive, busy = spreading.derive, threading.Event()

    def meanwhile(node: Any) -> Any:
        if threading.current_thread() is threading.main_thread() and node.op.name == "multiply":
            other = threading.Thread(target=lambda: (busy.set(), recorder.demand(node)))
            others.append(other)
            other.start()
            busy.wait(PATIENCE)
            other.join(0.2)
        return derive(node)

    others: list[threading.Thread] = []
    monkeypatch.setattr(spreading, "derive", meanwhile)
    y = x * 3
    assert len(others) == 1
    others[0].join(PATIENCE)
    assert y.sharding == lies
    np.testing.assert_array_equal(np.asarray(y), np.arange(6) * 3)
