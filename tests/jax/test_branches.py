"""Branches of `cond` and `switch`: only the one that is taken is computed, or counts for derivatives, whatever it
captures and in whatever batch it is. JAX is the oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax as real_jax
import numpy as np
import pytest

import lazynp.jax as jax

ARGUMENTS = np.array([0.0, -1.0, 1.0, 4.0], np.float32)


def closing_over(j: Any, c: Any, x: Any) -> Any:
    return j.lax.cond(x > 2, lambda: j.numpy.sqrt(c), lambda: j.numpy.zeros_like(c))


def with_operand(j: Any, c: Any, x: Any) -> Any:
    return j.lax.cond(x > 2, lambda y: y * j.numpy.log(c), lambda y: y * c, x)


def nested(j: Any, c: Any, x: Any) -> Any:
    def inner() -> Any:
        return j.lax.cond(c > 0, lambda: j.numpy.sqrt(c) * x, lambda: j.numpy.exp(c))

    return j.lax.cond(x >= -1, inner, lambda: 1 / c)


def choosing(j: Any, c: Any, x: Any) -> Any:
    return j.lax.switch(x.astype(int), [lambda: j.numpy.log(c) + x, lambda: c**0.5, lambda: c * x])


def in_a_loop(j: Any, c: Any, x: Any) -> Any:
    def body(y: Any, k: Any) -> Any:
        y = j.lax.cond(y > 0, lambda: j.numpy.sqrt(y) + c, lambda: y * k + j.numpy.sin(c))
        return y, y

    return j.lax.scan(body, x, j.numpy.arange(3.0))[0]


def looping_inside(j: Any, c: Any, x: Any) -> Any:
    def loop() -> Any:
        return j.lax.fori_loop(0, 2, lambda i, y: y * j.numpy.log(c), x)

    return j.lax.cond(x > 2, loop, lambda: x + c)


def by_a_rule(j: Any, c: Any, x: Any) -> Any:
    root = j.custom_jvp(lambda y: j.numpy.sqrt(y))
    root.defjvp(lambda p, t: (root(*p), t[0] / (2 * root(*p))))
    return j.lax.cond(x > 0, lambda: root(x) + root(c), lambda: x * c)


def norms(j: Any, c: Any, x: Any) -> Any:
    return j.lax.cond(x > 2, lambda v: j.numpy.linalg.norm(v * c), lambda v: v.sum() * c, j.numpy.full(3, x))


def batches_inside(j: Any, c: Any, x: Any) -> Any:
    def many() -> Any:
        return j.vmap(lambda v: j.lax.cond(v > 0, lambda: c * v, lambda: c / v))(x * j.numpy.arange(-1.0, 2.0)).sum()

    return j.lax.cond(x > 2, lambda: x * c, lambda: j.lax.cond(x < 0, lambda: x - c, many))


PROGRAMS = (batches_inside, closing_over, with_operand, nested, choosing, in_a_loop, looping_inside, by_a_rule, norms)
each = pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)


def agree(f: Callable[[Any], Any]) -> None:
    ours, theirs = [real_jax.tree.leaves(f(j)) for j in (jax, real_jax)]
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), 2e-5, 1e-6)


@each
@pytest.mark.parametrize("jitted", [False, True])
def test_a_branch_that_is_not_taken_gives_no_derivative(program: Any, jitted: bool) -> None:
    for c in (0.0, 2.0):
        for x in ARGUMENTS:
            agree(
                lambda j, c=c, x=x: (j.jit if jitted else lambda f: f)(  # type: ignore[misc]
                    j.grad(lambda c, x: program(j, c, x), (0, 1))
                )(np.float32(c), x)
            )


@each
@pytest.mark.parametrize("c", [0.0, 2.0])
def test_nor_for_examples_of_a_batch(program: Any, c: float) -> None:
    def total(j: Any) -> Callable[..., Any]:
        return lambda c, x: j.vmap(lambda x: program(j, c, x))(x).sum()

    agree(lambda j: total(j)(j.numpy.float32(c), ARGUMENTS))
    agree(lambda j: j.grad(total(j), (0, 1))(np.float32(c), ARGUMENTS))
    agree(lambda j: j.jit(j.grad(total(j), (0, 1)))(np.float32(c), ARGUMENTS))
    agree(lambda j: j.jvp(total(j), (np.float32(c), ARGUMENTS), (np.float32(1), np.ones_like(ARGUMENTS))))


def test_derivatives_of_higher_order_in_a_batch() -> None:
    def root(j: Any) -> Callable[[Any], Any]:
        return lambda x: j.vmap(lambda x: j.lax.cond(x > 0, j.numpy.sqrt, lambda x: x**2, x))(x).sum()

    agree(lambda j: j.hessian(root(j))(ARGUMENTS))
    agree(lambda j: j.jacfwd(j.jacfwd(root(j)))(ARGUMENTS))
    agree(lambda j: j.linear_transpose(lambda t: j.jvp(root(j), (ARGUMENTS,), (t,))[1], ARGUMENTS)(np.float32(1)))


def test_a_matrix_that_all_examples_share_is_not_made_one_each() -> None:
    """As large a batch of as large matrices would take 40 GB."""

    def layer(w: Any, x: Any) -> Any:
        return jax.lax.cond(x[0] > 0, lambda: jax.numpy.tanh(x @ w), lambda: x)

    w, x = jax.numpy.eye(1000), jax.numpy.ones((10_000, 1000)) * 0.5
    found = jax.grad(lambda w: jax.vmap(layer, (None, 0))(w, x).sum())(w)
    np.testing.assert_allclose(found[0, :2], [5000 / np.cosh(0.5) ** 2] * 2, 1e-3)


@pytest.mark.parametrize("jitted", [False, True])
def test_what_depends_on_captures_alone_is_computed_in_the_branch(jitted: bool) -> None:
    """A style that programs use: no operands at all."""
    calls: list[float] = []

    def told(x: Any) -> Any:
        calls.append(float(x))
        return np.float32(x)

    def f(p: Any, c: Any) -> Any:
        what = jax.ShapeDtypeStruct((), np.float32)
        return jax.lax.cond(p, lambda: jax.numpy.sin(jax.pure_callback(told, what, c * 2)), lambda: c)

    run = jax.jit(f) if jitted else f
    assert run(False, np.float32(1)) == 1
    assert calls == []
    np.testing.assert_allclose(run(True, np.float32(1)), np.sin(2), 1e-6)
    assert calls == [2.0]


def test_jaxprs_have_it_in_the_branch() -> None:
    def text(j: Any) -> str:
        return str(j.make_jaxpr(lambda c, x: j.lax.cond(x > 2, lambda: j.numpy.sqrt(c), lambda: 0.0))(1.0, 1.0))

    assert text(jax) == text(real_jax)
    assert "sqrt" in text(jax).split("branches")[1]


@pytest.mark.parametrize("jitted", [False, True])
def test_nor_do_the_steps_of_a_loop_that_has_none(jitted: bool) -> None:
    def by_scan(j: Any, c: Any) -> Any:
        return j.lax.scan(lambda x, _: (x * j.numpy.sqrt(c), j.numpy.log(c)), c, None, length=0)[0]

    def by_number(j: Any, c: Any) -> Any:
        return j.lax.fori_loop(0, 0, lambda i, x: 1 / c, c)

    for f in (by_scan, by_number):
        agree(lambda j, f=f: (j.jit if jitted else lambda g: g)(j.grad(lambda c: f(j, c)))(np.float32(0)))  # type: ignore[misc]


def unread_by_branches(j: Any, u: Any, x: Any) -> Any:
    return j.lax.cond(x > 0, lambda u, v: v, lambda u, v: v * 2, u, x)


def unread_rows(j: Any, u: Any, x: Any) -> Any:
    return j.lax.map(lambda row: row[1] * 2, (u * j.numpy.ones(2), x * j.numpy.ones(2))).sum()


def unread_carry(j: Any, u: Any, x: Any) -> Any:
    return j.lax.fori_loop(0, 2, lambda i, c: (c[0] * x, c[0]), (x, u))[0]


@pytest.mark.parametrize("f", [unread_by_branches, unread_rows, unread_carry], ids=lambda f: f.__name__)
@pytest.mark.parametrize("jitted", [False, True])
def test_what_nobody_reads_has_no_cotangent(f: Any, jitted: bool) -> None:
    """Zeros would meet the infinite derivative of what it comes from. JAX has NaN for the carry."""
    run = jax.jit if jitted else lambda g: g
    found = run(jax.grad(lambda c, x: f(jax, jax.numpy.sqrt(c), x), (0, 1)))(np.float32(0), np.float32(1))
    assert found[0] == 0
    assert float(found[1]) == float(real_jax.grad(lambda x: f(real_jax, 1.0, x))(np.float32(1)))
