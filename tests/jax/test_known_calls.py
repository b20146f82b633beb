"""Calls with keywords, static values and donated arrays that the C module knows: the same as by the long way."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest

import lazynp
import lazynp.jax
import lazynp.jax.numpy as jnp
from lazynp.api.jit import Jit
from lazynp.jax.stages import PjitFunction
from lazynp.speed import calls

BOTH = [lazynp.jax, jax]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What went the long way."""
    seen: list[Any] = []

    def counted(cls: type, old: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if type(self) is cls:
                seen.append((args, kwargs))
            return old(self, *args, **kwargs)

        return call

    for cls in (PjitFunction, Jit):
        monkeypatch.setattr(cls, "_slow", counted(cls, vars(cls)["_slow"]))
    yield seen


def tree(j: Any, k: float = 1.0) -> Any:
    return {"w": j.numpy.ones((4, 4)) * k, "b": [j.numpy.arange(4.0), j.numpy.ones(3) * k]}


def step(t: Any, x: Any, n: Any = 2, mode: str = "a") -> Any:
    down = 0.5 if mode == "a" else 0.25
    return {"w": t["w"] * down + x * n, "b": [b * down + n for b in t["b"]]}


def same(a: Any, b: Any) -> None:
    (ours, one), (theirs, other) = lazynp.jax.tree.flatten(a), jax.tree.flatten(b)
    assert str(one) == str(other)
    for x, y in zip(ours, theirs, strict=True):
        assert (x.shape, x.dtype, x.weak_type) == (y.shape, y.dtype, y.weak_type)
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-6)


HOW: dict[str, tuple[dict[str, Any], Callable[[Any, Any, Any], Any]]] = {
    "a keyword": ({}, lambda f, t, x: f(t, x=x)),
    "keywords": ({}, lambda f, t, x: f(x=x, t=t)),
    "a number by name": ({}, lambda f, t, x: f(t, x, n=3)),
    "static by place": ({"static_argnums": 2}, lambda f, t, x: f(t, x, 3)),
    "static from the end": ({"static_argnums": -1}, lambda f, t, x: f(t, x, 3, "b")),
    "static by name": ({"static_argnames": ("mode", "n")}, lambda f, t, x: f(t, x, mode="b", n=4)),
    "static by both": ({"static_argnums": (2, 3)}, lambda f, t, x: f(t, x, 2.5, mode="b")),
    "static, in another order": ({"static_argnames": "mode"}, lambda f, t, x: f(mode="b", x=x, n=2, t=t)),
    "donated": ({"donate_argnums": 0}, lambda f, t, x: f(t, x)),
    "donated by name": ({"donate_argnames": "t"}, lambda f, t, x: f(x=x, t=t)),
    "donated and static": ({"donate_argnums": 0, "static_argnums": (2, 3)}, lambda f, t, x: f(t, x, 3, "b")),
}


@pytest.mark.parametrize("name", HOW)
def test_calls_of_every_kind_are_known(name: str, slow: list[Any]) -> None:
    how, call = HOW[name]
    f, g = [j.jit(step, **how) for j in BOTH]
    t, u = [tree(j) for j in BOTH]
    x, y = [j.numpy.arange(4.0) for j in BOTH]
    for _ in range(5):
        before, there = t, u
        t, u = call(f, t, x), call(g, u, y)
        same(t, u)
        gone = [[a.is_deleted() for a in j.tree.leaves(b)] for j, b in zip(BOTH, (before, there))]
        assert gone[0] == gone[1] == ["donate" in "".join(how)] * 3
    assert not x.is_deleted()
    assert len(slow) == (1 if calls is not None else 5)


class Named:
    """A static value that is compared by its name."""

    def __init__(self, name: str, then: Callable[[], Any] = lambda: None) -> None:
        self.name, self.then = name, then

    def __eq__(self, other: Any) -> bool:
        self.then()
        return type(other) is Named and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


def test_static_values_are_told_apart() -> None:
    """By type, hash and equality, as keys are."""
    f, g = [j.jit(lambda x, n: x + (n if not isinstance(n, Named) else len(n.name)), static_argnums=1) for j in BOTH]
    values = [1, True, 1.0, 2, False, 0, Named("a"), Named("ab"), Named("ab"), np.float32(2), 1, True, 1.0, Named("a")]
    for _ in range(2):
        for v in values:
            same(f(jnp.arange(3), v), g(jax.numpy.arange(3), v))
    traced: list[Any] = []
    h = lazynp.jax.jit(lambda x, n: traced.append(n) or x + 1, static_argnames="n")
    for name in ("a", "b", "a", "b", "a"):
        h(jnp.arange(3), n=Named(name))
    assert len(traced) == 2


def test_what_does_not_hash_is_refused_later_too() -> None:
    def errors(j: Any) -> list[str]:
        f, out = j.jit(lambda x, n: x * len(n), static_argnums=1), []
        for n in ((1, 2), (1, 2), (1, [2]), [1, 2], (1, 2)):
            try:
                out.append(str(np.asarray(f(j.numpy.arange(3), n))))
            except Exception as error:
                out.append(type(error).__name__)
        return out

    assert errors(lazynp.jax) == errors(jax)


def test_code_of_a_static_value() -> None:
    """It may change the arguments, forget what was compiled, or raise."""
    f = lazynp.jax.jit(lambda xs, n: xs[0] + len(n.name), static_argnums=1)
    for _ in range(2):
        f([jnp.arange(3)], Named("a"))
    xs: list[Any] = [jnp.arange(3) * 7]

    def change() -> None:
        xs[0] = np.arange(3) + 1
        f.clear_cache()
        gc.collect()

    np.testing.assert_array_equal(np.asarray(f(xs, Named("a", change))), np.asarray(xs[0]) + 1)
    f([jnp.arange(3)], Named("a"))

    def fail() -> None:
        raise ZeroDivisionError

    for _ in range(2):
        f([jnp.arange(3)], Named("b", fail))
        with pytest.raises(ZeroDivisionError):
            f([jnp.arange(3)], Named("b", fail))
        f = lazynp.jax.jit(lambda xs, n: xs[0] + 2, static_argnums=1)


def test_other_keywords_are_other_calls() -> None:
    def f(x: Any, **more: Any) -> Any:
        return {"x": x, **{k: v + 1 for k, v in more.items()}}

    ours, theirs = [j.jit(f) for j in BOTH]
    for _ in range(3):
        for names in ((), ("a",), ("b",), ("b", "a"), ("a", "b", "c")):
            for j in BOTH:
                more = [{k: i * j.numpy.ones(2) for i, k in enumerate(names)} for j in BOTH]
            same(ours(jnp.ones(3), **more[0]), theirs(jax.numpy.ones(3), **more[1]))
    with pytest.raises(TypeError):
        ours(x=jnp.ones(3), **{"1": None, "x2": object()})


def test_a_compiled_stage_has_no_static_arguments() -> None:
    f = lazynp.jax.jit(lambda n, x: x * n, static_argnums=0)
    x = jnp.arange(3.0)
    run = f.lower(3, x).compile()
    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(run(x)), [0, 3, 6])
        np.testing.assert_array_equal(np.asarray(f(3, x)), [0, 3, 6])
        np.testing.assert_array_equal(np.asarray(f(2, x)), [0, 2, 4])
    with pytest.raises(ValueError, match="Non-hashable"):
        f(x)


def test_a_known_call_says_what_is_wrong_with_donated_arrays() -> None:
    def errors(j: Any) -> list[Any]:
        f, out = j.jit(lambda a, b: (a[0] + 1, a[1] * 2 + b.sum()), donate_argnums=0), []
        new = lambda: [j.numpy.ones(3), j.numpy.arange(4.0)]
        gone, both = new(), j.numpy.ones(3)
        f(gone, j.numpy.ones(3))
        f(new(), j.numpy.ones(3))
        x = new()
        for a, b in ((gone, both), ([both, x[1]], both), (x, both), (x, both)):
            try:
                out.append(len(f(a, b)))
            except Exception as error:
                out.append(isinstance(error, (RuntimeError, ValueError)))
            out.append([v.is_deleted() for v in (*a, b)])
        return out

    assert errors(lazynp.jax) == errors(jax)


def test_a_donated_array_is_gone_however_it_was_used() -> None:
    """Views keep what they show; nodes of it, and results of operations on it, too."""
    f = lazynp.jax.jit(lambda x: x * 2, donate_argnums=0)
    f(jnp.ones(3))
    for _ in range(2):
        x = jnp.arange(3.0)
        view, pending = np.asarray(x), jnp.sin(x) + x
        node = x.node
        y = f(x)
        assert x.is_deleted()
        assert str(x.aval) == "float32[3]"
        assert x.sharding == y.sharding
        np.testing.assert_array_equal(view, [0, 1, 2])
        np.testing.assert_array_equal(node.buffer, [0, 1, 2])
        np.testing.assert_allclose(np.asarray(pending), np.sin(view) + view, rtol=1e-6)
        z = f(y)
        np.testing.assert_array_equal(np.asarray(z), [0, 4, 8])
        assert y.is_deleted()
        assert repr(y.sharding) == repr(z.sharding)


def test_memory_of_a_donated_array_is_given_back() -> None:
    f = lazynp.jax.jit(lambda x: x * 2, donate_argnums=0)
    f(jnp.ones(3))
    x = jnp.ones(3)
    ref = weakref.ref(x._value())
    f(x)
    assert x.is_deleted()
    assert ref() is None


def test_a_function_that_fails_takes_what_was_donated() -> None:
    def call(x: Any) -> Any:
        if x[0] == 3:
            raise RuntimeError("three")
        return np.asarray(x)

    f = lazynp.jax.jit(
        lambda x: lazynp.jax.pure_callback(call, lazynp.jax.ShapeDtypeStruct((2,), np.float32), x) + 1,
        donate_argnums=0,
    )
    for k in (1, 2):
        f(jnp.full(2, float(k)))
    x = jnp.full(2, 3.0)
    with pytest.raises(Exception, match="three"):
        np.asarray(f(x))
    assert x.is_deleted()


def test_what_cannot_be_used_is_said_once() -> None:
    """Per signature, and all calls leave it as it is."""

    def said(j: Any) -> list[Any]:
        f, out = j.jit(lambda a, b: a.sum() + b.sum(), donate_argnums=0), []
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for n in (3, 3, 4, 3, 4, 4):
                x = j.numpy.ones(n)
                f(x, j.numpy.ones(2))
                out.append((len(found), x.is_deleted()))
        return [*out, *[str(w.message).split(".")[0] for w in found]]

    assert said(lazynp.jax) == said(jax)


def test_the_other_door(slow: list[Any]) -> None:
    f = lazynp.jit(lambda a, b, n: (a * n + b, a - b), static_argnames="n")
    for k in range(4):
        out = f(lazynp.arange(3.0), b=lazynp.ones(3), n=2 + k % 2)
        np.testing.assert_array_equal(np.asarray(out[0]), np.arange(3.0) * (2 + k % 2) + 1)
    assert len(slow) == (2 if calls is not None else 4)
