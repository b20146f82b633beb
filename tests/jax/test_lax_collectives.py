"""Collectives along the axis that a vmap names, against JAX: values, derivatives, nested axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax as real_jax
import numpy as np
import pytest

import lazynp.jax as jax

real_jax.config.update("jax_platforms", "cpu")
X = np.random.default_rng(0).uniform(-1, 1, (4, 8, 3)).astype(np.float32)
CASES: dict[str, Callable[[Any, Any], Any]] = {
    "psum": lambda j, x: j.lax.psum(x, "i"),
    "psum tree": lambda j, x: j.lax.psum({"a": x, "b": (j.lax.sin(x), 1)}, "i"),
    "psum of a number": lambda j, x: j.lax.mul(x, j.lax.full_like(x, j.lax.psum(1, "i"))),
    "pmean": lambda j, x: j.lax.sub(x, j.lax.pmean(x, "i")),
    "pmax": lambda j, x: j.lax.stop_gradient(j.lax.pmax(j.lax.stop_gradient(x), "i")),
    "pmin": lambda j, x: j.lax.stop_gradient(j.lax.pmin(j.lax.stop_gradient(x), "i")),
    "all_gather": lambda j, x: j.lax.all_gather(x, "i"),
    "all_gather axis": lambda j, x: j.lax.all_gather(x, "i", axis=1),
    "all_gather tiled": lambda j, x: j.lax.all_gather(x, "i", axis=1, tiled=True),
    "ppermute": lambda j, x: j.lax.ppermute(x, "i", [(0, 2), (2, 1), (3, 0), (1, 3)]),
    "pshuffle": lambda j, x: j.lax.pshuffle(x, "i", [2, 0, 3, 1]),
    "all_to_all": lambda j, x: j.lax.all_to_all(j.lax.slice(x, (0, 0), (4, 3)), "i", 0, 1),
    "all_to_all tiled": lambda j, x: j.lax.all_to_all(x, "i", 0, 1, tiled=True),
    "psum_scatter": lambda j, x: j.lax.psum_scatter(j.lax.slice(x, (0, 0), (4, 3)), "i"),
    "psum_scatter tiled": lambda j, x: j.lax.psum_scatter(x, "i", scatter_dimension=0, tiled=True),
    "axis_index": lambda j, x: j.lax.mul(x, j.lax.full_like(x, j.lax.convert_element_type(j.lax.axis_index("i"), "f"))),
    "axis_size": lambda j, x: j.lax.mul(x, float(j.lax.axis_size("i"))),
    "in a loop": lambda j, x: j.lax.fori_loop(0, 3, lambda i, c: j.lax.add(j.lax.pmean(c, "i"), j.lax.sin(c)), x),
    "in a branch": lambda j, x: j.lax.cond(True, lambda c: j.lax.psum(c, "i"), lambda c: c, x),
}
names = pytest.mark.parametrize("name", CASES)


def same(ours: Any, theirs: Any, tolerance: float = 2e-6) -> None:
    ours, theirs = jax.tree.leaves(ours), real_jax.tree.leaves(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


def mapped(j: Any, name: str, **how: Any) -> Callable[..., Any]:
    return j.vmap(lambda x: CASES[name](j, x), axis_name="i", **how)  # type: ignore[no-any-return]


@names
def test_values(name: str) -> None:
    same(mapped(jax, name)(X), mapped(real_jax, name)(X))
    same(jax.jit(mapped(jax, name))(X), mapped(real_jax, name)(X))
    turned = np.moveaxis(X, 0, 1).copy()
    same(mapped(jax, name, in_axes=1)(turned), mapped(real_jax, name, in_axes=1)(turned))


@names
def test_derivatives(name: str) -> None:
    def loss(j: Any) -> Callable[..., Any]:
        def f(x: Any) -> Any:
            parts = [v for v in j.tree.leaves(mapped(j, name)(x)) if v.dtype == np.float32]
            return sum(j.numpy.sum(j.lax.mul(p, j.lax.sin(p))) for p in parts)

        return f

    same(jax.grad(loss(jax))(X), real_jax.grad(loss(real_jax))(X), 2e-5)
    same(jax.jvp(loss(jax), (X,), (X[::-1].copy(),)), real_jax.jvp(loss(real_jax), (X,), (X[::-1].copy(),)), 5e-5)


@names
def test_inside_another_axis(name: str) -> None:
    """The other axis outside, and inside."""
    many = np.stack([X, X * np.float32(0.5)])
    same(jax.vmap(mapped(jax, name))(many), real_jax.vmap(mapped(real_jax, name))(many))

    def inner(j: Any) -> Callable[..., Any]:
        return j.vmap(j.vmap(lambda x: CASES[name](j, x)), axis_name="i")  # type: ignore[no-any-return]

    rows = np.moveaxis(many, 0, 1).copy()
    same(inner(jax)(rows), inner(real_jax)(rows))


def test_where_jax_fails() -> None:
    """What nothing is sent to is zero, as the documentation says (under vmap JAX wants a full permutation); a broadcast
    from one element (under vmap JAX raises)."""
    got = jax.vmap(lambda x: jax.lax.ppermute(x, "i", [(0, 2), (2, 1)]), axis_name="i")(X)
    np.testing.assert_array_equal(np.asarray(got), np.stack([0 * X[0], X[2], X[0], 0 * X[0]]))
    got = jax.vmap(lambda x: jax.lax.pbroadcast(x, "i", 2), axis_name="i")(X)
    np.testing.assert_array_equal(np.asarray(got), np.stack([X[2]] * 4))


def test_two_names() -> None:
    def f(j: Any) -> Callable[..., Any]:
        def g(x: Any) -> Any:
            part = j.lax.axis_index("i") * 10 + j.lax.axis_index("k")
            return j.lax.psum(x, ("i", "k")), j.lax.psum(x, "k"), part, j.lax.pmean(x, ("k", "i"))

        return j.vmap(j.vmap(g, axis_name="k"), axis_name="i")  # type: ignore[no-any-return]

    same(f(jax)(X), f(real_jax)(X))


def test_errors() -> None:
    for f in (lambda j: j.lax.psum(1.0, "nowhere"), lambda j: j.vmap(lambda x: j.lax.pmax(x, "other"))(X)):
        with pytest.raises(NameError):
            f(real_jax)
        with pytest.raises(NameError, match="unbound axis name"):
            f(jax)


@pytest.mark.parametrize("name", ["psum", "pmean", "all_gather", "psum_scatter"])
def test_groups_are_no_vmaps(name: str) -> None:
    for j in (real_jax, jax):
        with pytest.raises(NotImplementedError, match="axis_index_groups not supported in vmap"):
            j.vmap(lambda x, j=j: getattr(j.lax, name)(x, "i", axis_index_groups=[[0, 1], [2, 3]]), axis_name="i")(
                np.ones((4, 2), np.float32)
            )
