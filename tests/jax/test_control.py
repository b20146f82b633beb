"""Control flow against JAX: values, types, derivatives to order 2, batches, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax as real_jax
import numpy as np
import pytest

import lazynp.jax as jax

real_jax.config.update("jax_platforms", "cpu")
Program = Callable[..., Any]


def f32(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.3, 1.2, shape).astype(np.float32)


# Programs of one or more float arrays, written with lax's operators only.


def scan_sum(j: Any, x: Any) -> Any:
    return j.lax.scan(lambda c, v: (j.lax.add(c, j.lax.sin(v)), j.lax.mul(c, v)), 0.0, x)


def scan_consts(j: Any, x: Any, w: Any) -> Any:
    """A captured matrix, a vector carry, several ys."""

    def body(c: Any, v: Any) -> Any:
        new = j.lax.tanh(j.lax.add(j.lax.dot(w, c), v))
        return new, (j.lax.mul(new, c), j.lax.exp(v))

    return j.lax.scan(body, j.lax.full((3,), 0.5), x)


def scan_reverse(j: Any, x: Any) -> Any:
    return j.lax.scan(lambda c, v: (j.lax.mul(c, j.lax.cos(v)), c), 1.0, x, reverse=True)


def scan_no_xs(j: Any, x: Any) -> Any:
    return j.lax.scan(lambda c, _: (j.lax.sin(j.lax.mul(c, c)), c), x, None, length=4)


def scan_tree(j: Any, x: Any) -> Any:
    def body(c: Any, v: Any) -> Any:
        a = j.lax.mul(c["a"], j.lax.add(v[0], v[1]))
        return {"a": a, "n": j.lax.add(c["n"], 1)}, {"y": a, "none": None}

    return j.lax.scan(body, {"a": 1.0, "n": 0}, (x, j.lax.mul(x, 2.0)))


def scan_in_scan(j: Any, x: Any) -> Any:
    def inner(c: Any, v: Any) -> Any:
        return j.lax.add(c, j.lax.mul(v, c)), v

    def outer(c: Any, v: Any) -> Any:
        out, ys = j.lax.scan(inner, j.lax.mul(c, v), x)
        return j.lax.sin(out), j.lax.reduce_sum(ys, (0,))

    return j.lax.scan(outer, 0.5, x)


def carry_unchanged(j: Any, x: Any) -> Any:
    """Parts of the carry that no derivative goes through, or that stay what they are."""

    def body(c: Any, v: Any) -> Any:
        a, b, n = c
        return (j.lax.mul(a, b), b, j.lax.add(n, 1)), j.lax.mul(a, a)

    return j.lax.scan(body, (x, j.lax.cos(x), 0), None, length=3)


def fori_static(j: Any, x: Any) -> Any:
    return j.lax.fori_loop(0, 5, lambda i, v: j.lax.sin(j.lax.mul(v, x)), x)


def fori_index(j: Any, x: Any) -> Any:
    return j.lax.fori_loop(2, 6, lambda i, v: j.lax.mul(v, j.lax.convert_element_type(i, np.float32)), x)


def newton(j: Any, x: Any) -> Any:
    """Square roots, until they are good: forward mode only."""

    def body(y: Any) -> Any:
        return j.lax.mul(0.5 if y.ndim == 0 else j.lax.full_like(y, 0.5), j.lax.add(y, j.lax.div(x, y)))

    def test(y: Any) -> Any:
        off = j.lax.abs(j.lax.sub(j.lax.mul(y, y), x))
        return j.lax.gt(off, 1e-3)

    return j.lax.while_loop(test, body, j.lax.add(x, 1.0))


def branches(j: Any, x: Any) -> Any:
    return j.lax.cond(j.lax.lt(x, 0.7), lambda v: j.lax.sin(v), lambda v: j.lax.mul(v, v), x)


def branch_consts(j: Any, x: Any, y: Any) -> Any:
    return j.lax.cond(j.lax.lt(x, y), lambda v: (j.lax.mul(v, y), 1.0), lambda v: (j.lax.exp(y), 2.0), x)


def switched(j: Any, x: Any) -> Any:
    k = j.lax.convert_element_type(j.lax.mul(x, 3.0), np.int32)
    return j.lax.switch(k, [j.lax.sin, j.lax.cos, lambda v: j.lax.mul(v, v), lambda v: v], x)


def cond_in_scan(j: Any, x: Any) -> Any:
    def body(c: Any, v: Any) -> Any:
        c = j.lax.cond(j.lax.gt(v, 0.7), lambda a: j.lax.mul(a, v), lambda a: j.lax.add(a, v), c)
        return c, c

    return j.lax.scan(body, 1.0, x)


def associative(j: Any, x: Any) -> Any:
    return j.lax.associative_scan(lambda a, b: j.lax.add(j.lax.mul(a, b), a), x)


def associative_reverse(j: Any, x: Any) -> Any:
    return j.lax.associative_scan(lambda a, b: j.lax.mul(a, b), x, reverse=True, axis=1)


def mapped(j: Any, x: Any) -> Any:
    return j.lax.map(lambda v: j.lax.sin(j.lax.mul(v, v)), x)


def mapped_batches(j: Any, x: Any) -> Any:
    return j.lax.map(lambda v: (j.lax.sin(v), j.lax.mul(v, 2.0)), x, batch_size=2)


PROGRAMS: dict[str, tuple[Program, tuple[np.ndarray, ...], int]] = {
    "scan_sum": (scan_sum, (f32(5),), 2),
    "scan_consts": (scan_consts, (f32(4, 3), f32(3, 3, seed=1)), 2),
    "scan_reverse": (scan_reverse, (f32(5),), 2),
    "scan_no_xs": (scan_no_xs, (f32(3),), 2),
    "scan_tree": (scan_tree, (f32(4),), 2),
    "scan_in_scan": (scan_in_scan, (f32(3),), 2),
    "scan_empty": (scan_sum, (f32(0),), 1),
    "carry_unchanged": (carry_unchanged, (f32(2),), 2),
    "fori_static": (fori_static, (f32(3),), 2),
    "fori_index": (fori_index, (f32(3),), 2),
    "newton": (newton, (f32(),), -1),
    "cond": (branches, (f32(),), 2),
    "cond_consts": (branch_consts, (f32(), f32(seed=3)), 2),
    "switch": (switched, (f32(),), 2),
    "cond_in_scan": (cond_in_scan, (f32(5),), 2),
    "associative": (associative, (f32(7),), 2),
    "associative_reverse": (associative_reverse, (f32(2, 6),), 2),
    "map": (mapped, (f32(4, 2),), 2),
    "map_batches": (mapped_batches, (f32(5),), 2),
}
"""With arguments, and the order to which derivatives are compared (-1: forward only)."""


def leaves(tree: Any) -> list[Any]:
    return real_jax.tree.leaves(tree, is_leaf=lambda x: isinstance(x, jax.Array))


def same(ours: Any, theirs: Any, tolerance: float = 2e-6, types: bool = True) -> None:
    assert real_jax.tree.structure(theirs) == real_jax.tree.structure(
        real_jax.tree.map(np.asarray, ours, is_leaf=lambda x: isinstance(x, jax.Array))
    )
    for a, b in zip(leaves(ours), leaves(theirs), strict=True):
        assert np.shape(a) == np.shape(b)
        assert not types or a.dtype == b.dtype
        if types:
            assert a.weak_type == b.weak_type
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


def total(j: Any, program: Program) -> Program:
    """The sum of squares of the float results: a scalar."""

    def f(*args: Any) -> Any:
        out = 0.0
        for x in leaves(program(j, *args)):
            if x.dtype == np.float32:
                flat = j.lax.reshape(x, (x.size,))
                out = j.lax.add(out, j.lax.dot(flat, flat))
        return out

    return f


def pair(f: Callable[[Any], Any], tolerance: float = 2e-6, types: bool = True) -> None:
    same(f(jax), f(real_jax), tolerance, types)


names = pytest.mark.parametrize("name", PROGRAMS)


@names
def test_values(name: str) -> None:
    f, args, _ = PROGRAMS[name]
    pair(lambda j: f(j, *args))


@names
def test_jit(name: str) -> None:
    f, args, _ = PROGRAMS[name]
    pair(lambda j: j.jit(lambda *a: f(j, *a))(*args))


@names
def test_gradient(name: str) -> None:
    f, args, order = PROGRAMS[name]
    if order > 0:
        pair(lambda j: j.grad(total(j, f), argnums=tuple(range(len(args))))(*args), 2e-5, False)
        pair(lambda j: j.jit(j.grad(total(j, f)))(*args), 2e-5, False)


@names
def test_forward(name: str) -> None:
    f, args, _ = PROGRAMS[name]
    steps = [f32(*a.shape, seed=9 + i) for i, a in enumerate(args)]
    pair(lambda j: j.jvp(lambda *a: total(j, f)(*a), args, tuple(steps)), 2e-5, False)


@names
def test_second_order(name: str) -> None:
    f, args, order = PROGRAMS[name]
    if order < 2:
        return

    def slope(j: Any) -> Program:
        return j.grad(total(j, f))

    def summed(j: Any) -> Program:
        return total(j, lambda j, *a: slope(j)(*a))

    steps = [f32(*a.shape, seed=9 + i) for i, a in enumerate(args)]
    pair(lambda j: j.grad(summed(j))(*args), 3e-4, False)
    pair(lambda j: j.jvp(slope(j), args, tuple(steps)), 2e-4, False)
    pair(lambda j: j.grad(lambda *a: j.jvp(total(j, f), a, tuple(steps))[1])(*args), 2e-4, False)


@names
def test_batched(name: str) -> None:
    f, args, order = PROGRAMS[name]
    many = [np.stack([a, a * np.float32(0.7), a * np.float32(1.2)]) for a in args]
    pair(lambda j: j.vmap(lambda *a: f(j, *a))(*many), 2e-5, False)
    if len(args) > 1:
        axes = (0, *[None] * (len(args) - 1))
        pair(lambda j: j.vmap(lambda *a: f(j, *a), axes)(many[0], *args[1:]), 2e-5, False)
        pair(lambda j: j.vmap(lambda *a: f(j, *a), axes[::-1])(args[0], *many[1:]), 2e-5, False)
    if order > 0:
        pair(lambda j: j.vmap(j.grad(total(j, f)))(*many), 5e-5, False)
        pair(
            lambda j: j.grad(lambda *a: total(j, lambda j, *b: j.vmap(lambda *c: f(j, *c))(*b))(*a))(*many), 5e-5, False
        )


@names
def test_without_jit(name: str) -> None:
    f, args, _ = PROGRAMS[name]
    if args[0].shape == (0,):
        return
    with jax.disable_jit(), real_jax.disable_jit():
        pair(lambda j: f(j, *args), types=False)
