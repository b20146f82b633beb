"""Functions that loops, branches, checkpoints and `eval_shape` trace: once for each kind of arguments."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazynp.jax as jax
import lazynp.jax.numpy as jnp
from lazynp import once
from lazynp.jax import lax
from lazynp.jax.devices import state

X = jnp.arange(3, dtype=jnp.float32)


@pytest.fixture(autouse=True)
def on_one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """As before this process has used a mesh: what is traced on several devices is traced at each call."""
    monkeypatch.setattr(state, "meshes", False)
    monkeypatch.setattr(state, "on", False)


class Counted:
    """A function that counts how often its Python runs."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f, self.n = f, 0

    def __call__(self, *args: Any) -> Any:
        self.n += 1
        return self.f(*args)

    def runs(self, *calls: Callable[[Any], Any]) -> list[int]:
        """How often it runs in each of these calls."""
        found = []
        for call in calls:
            before = self.n
            call(self)
            found.append(self.n - before)
        return found


def test_it_is_traced_once_for_each_kind_of_arguments() -> None:
    loop = Counted(lambda c, x: (c + x, x))
    assert loop.runs(lambda f: lax.scan(f, 0.0, X), lambda f: lax.scan(f, 1.0, jnp.ones(4))) == [1, 0]
    assert loop.runs(lambda f: lax.scan(f, np.float32(0), X), lambda f: jax.jit(lambda x: lax.scan(f, 0.0, x))(X)) == [
        1,
        0,
    ]
    assert loop.runs(lambda f: jax.vmap(lambda x: lax.scan(f, 0.0, x))(jnp.ones((2, 3)))) == [0]
    calls: list[Callable[[Any], Any]] = [
        lambda f: lax.fori_loop(0, 3, lambda i, c: f(c), 1.0),
        lambda f: lax.while_loop(lambda x: x < 4, f, 1.0),
        lambda f: lax.cond(True, f, f, 1.0),
        lambda f: jax.checkpoint(f)(1.0),
        lambda f: jax.eval_shape(f, 1.0),
        lambda f: jax.make_jaxpr(f)(1.0),
        lambda f: jax.make_jaxpr(jax.jit(f), return_shape=True)(1.0),
    ]
    for call, again in zip(calls, (1, 0, 0, 0, 0, 0, 0)):
        assert Counted(lambda x: x + 1).runs(call, call) == [1, again]
    step = Counted(lambda i, c: c + i)
    assert step.runs(lambda f: lax.fori_loop(0, 3, f, 1.0), lambda f: lax.fori_loop(1, 5, f, 2.0)) == [1, 0]
    assert Counted(lambda a, b: a * b).runs(*[lambda f: lax.reduce(X, np.float32(1), f, (0,))] * 2) == [1, 0]


def test_a_jaxpr_is_the_same_one_each_time() -> None:
    f = Counted(lambda x: jnp.where(x > 0, x, 2.0))
    first = jax.make_jaxpr(f)(X)
    assert jax.make_jaxpr(f)(X) is first and jax.make_jaxpr(f)(1.0) is not first
    with jax.checking_leaks():
        assert f.runs(*[lambda f: jax.make_jaxpr(f)(X)] * 2) == [1, 1]
    assert str(jax.make_jaxpr(lambda x: jax.jit(f)(x))(X)).count("_where") and str(jax.make_jaxpr(f)(X)) == str(first)


def test_settings_and_names_of_axes_are_part_of_the_kind() -> None:
    def wide(f: Any) -> Any:
        with jax.enable_x64(True):
            return jax.eval_shape(f, 1.0)

    def cleared(f: Any) -> Any:
        jax.clear_caches()
        return jax.eval_shape(f, 1.0)

    shape = Counted(lambda x: x * 2)
    assert shape.runs(lambda f: jax.eval_shape(f, 1.0), wide, wide, cleared, cleared) == [1, 1, 0, 1, 1]
    size = jax.jit(lambda x: x * lax.axis_size("i"))
    for n in (3, 4):
        assert (jax.vmap(size, axis_name="i")(jnp.ones(n)) == n).all()
        assert (jax.vmap(lambda x: x + size(jnp.float32(1)), axis_name="i")(jnp.ones(n)) == n + 1).all()


def test_named_axes_of_one_size_are_one_kind() -> None:
    f = Counted(lambda x: lax.psum(x, "i") * lax.axis_index("i"))
    total = jax.jit(lambda x: f(x))
    for shift in (0.0, 1.0):
        found = jax.vmap(total, axis_name="i")(X + shift)
        assert found.tolist() == [0, 3 + 3 * shift, 6 + 6 * shift]
    assert f.n == 1
    assert jax.grad(lambda x: jax.vmap(total, axis_name="i")(x).sum())(X).tolist() == [3, 3, 3] and f.n == 1
    assert jax.vmap(lambda x: total(x) + total(2 * x), axis_name="i")(X).tolist() == [0, 9, 18] and f.n == 1
    assert jax.vmap(total, axis_name="i")(jnp.ones(4)).tolist() == [0, 4, 8, 12] and f.n == 2


def test_a_mesh_that_is_not_asked_for_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "meshes", True)
    monkeypatch.setattr(state, "on", True)
    one = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    row = Counted(lambda c, x: (c + x, x))
    assert row.runs(*[lambda f: lax.scan(f, 0.0, X)] * 2) == [1, 0]
    calls: list[Callable[[Any], Any]] = [
        lambda f: lax.while_loop(lambda x: x < 4, f, 1.0),
        lambda f: lax.cond(True, f, f, 1.0),
    ]
    assert [Counted(lambda x: x + 1).runs(call, call) for call in calls] == [[1, 0], [1, 0]]
    step = Counted(lambda i, c: c + 1)
    assert step.runs(*[lambda f: lax.fori_loop(0, 3, f, 1.0)] * 2) == [1, 0]
    f = Counted(lambda x: x * 2)
    jitted, mapped = jax.jit(f), Counted(lambda x: x * 2)
    assert f.runs(
        *[lambda _: jitted(X), lambda _: jax.eval_shape(jitted, X), lambda _: jitted(jax.device_put(X, one))]
    ) == [
        1,
        0,
        0,
    ]
    assert mapped.runs(*[lambda f: jax.pmap(f, axis_name="i")(jnp.ones((1, 3)))] * 2) == [1, 0]


@pytest.mark.parametrize("call", [lambda f: lax.cond(True, f, f, 1.0), lambda f: jax.checkpoint(f)(1.0)])
def test_traced_values_that_it_captures_are_those_of_the_trace_that_is_under_way(call: Any) -> None:
    cell: list[Any] = [None]
    f = Counted(lambda x: x * cell[0])

    def outer(y: Any) -> Any:
        cell[0] = y
        return call(f)

    assert [float(jax.grad(outer)(v)) for v in (2.0, 3.0)] == [1, 1]
    assert [float(jax.jit(lambda y: outer(y))(v)) for v in (2.0, 3.0)] == [2, 3]
    assert jax.jit(lambda y: jax.grad(outer)(y) + jax.grad(outer)(2 * y))(3.0) == 2
    assert f.n == 6
    grads = jax.jit(jax.grad(lambda y: sum([call(f) for cell[0] in [y] for _ in range(3)])))(2.0)
    assert grads == 3 and f.n == 7
    assert [float(outer(v)) for v in (4.0, 5.0)] == [4, 4]  # as under jit, where it captures values
    assert f.n == 8


def test_branches_that_call_back_and_bodies_that_touch_references_are_right_each_time() -> None:
    seen: list[float] = []
    ref = jax.new_ref(jnp.zeros(2))

    def body(c: Any, x: Any) -> Any:
        jax.debug.callback(seen.append, 1.0)
        ref[0] += x
        return c, None

    def taken(x: Any) -> Any:
        return lax.scan(body, x, X)[0]

    for run in (True, False, True):
        lax.cond(run, taken, lambda x: x, 0.0)
        lax.scan(body, 0.0, X)
    jax.effects_barrier()
    assert len(seen) == 15 and ref[0] == 15


def test_functions_are_not_kept_alive() -> None:
    def gone(call: Callable[[Any], Any]) -> bool:
        def f(x: Any) -> Any:
            return x + 1

        call(f)
        ref = weakref.ref(f)
        del f
        gc.collect()
        return ref() is None

    assert gone(lambda f: lax.cond(True, f, f, 1.0))
    assert gone(lambda f: jax.grad(jax.checkpoint(f))(1.0))
    assert gone(lambda f: jax.eval_shape(f, 1.0))
    assert gone(lambda f: lax.fori_loop(0, 3, lambda i, c: f(c), 1.0))


@pytest.mark.parametrize("read", [lambda a: a, jnp.asarray, jnp.array, jnp.sin])
def test_arrays_of_numpy_are_read_as_they_are_at_a_call(read: Callable[[Any], Any]) -> None:
    a = np.ones(2, np.float32)
    inner = Counted(lambda x: x + read(a))
    outer = Counted(lambda c, _: (lax.cond(True, inner, inner, c), None))
    calls = [lambda f: lax.cond(True, f, f, X[:2]), lambda f: lax.scan(outer, X[:2], None, length=1)]
    assert inner.runs(*calls, *calls) == [1, 0, 0, 0]
    a[0] = 5
    assert outer.runs(lambda f: lax.scan(f, X[:2], None, length=1), calls[1]) == [1, 0] and inner.n == 2
    assert lax.scan(outer, X[:2], None, length=1)[0][0] == read(a)[0]
    assert jax.checkpoint(inner)(X[:2])[0] == read(a)[0]


@pytest.mark.parametrize("n", [3, 200_000])
def test_arrays_that_are_written_to_between_calls(n: int) -> None:
    """Large ones are not compared at each call: then the function is traced anew."""
    held, traced = np.ones(n, np.float32), []

    def body(carry: Any, x: Any) -> Any:
        traced.append(1)
        return carry + (jnp.asarray(held) * x).max(), None

    for k in range(1, 4):
        held[:] = k
        out, _ = lax.scan(body, 0.0, np.arange(3, dtype=np.float32))
        assert float(out) == 3 * k and len(traced) == k
    again, _ = lax.scan(body, 0.0, np.arange(3, dtype=np.float32))
    assert float(again) == 9 and len(traced) == (3 if held.nbytes < once.COMPARED else 4)
