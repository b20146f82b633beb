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


def scan_unroll(j: Any, x: Any) -> Any:
    """Three ways of unrolling, one result each."""
    ways = (2, True, 7)
    return [j.lax.scan(lambda c, v: (j.lax.sin(j.lax.add(c, v)), c), 0.1, x, unroll=u, reverse=u == 7) for u in ways]


def int_carry(j: Any, x: Any) -> Any:
    """An index, a key and a truth value go along; no derivative goes through them."""

    def body(c: Any, _: Any) -> Any:
        i, on, total = c
        v = j.lax.dynamic_index_in_dim(x, i, 0, False)
        total = j.lax.select(on, j.lax.add(total, j.lax.mul(v, total)), j.lax.sin(total))
        return (j.lax.rem(j.lax.add(i, 2), 5), j.lax.bitwise_not(on), total), (i, v)

    return j.lax.scan(body, (1, True, 0.3), None, length=6)


def none_carry(j: Any, x: Any) -> Any:
    return j.lax.scan(lambda c, v: (None, (j.lax.sin(v), None)), None, x)


def map_in_scan(j: Any, x: Any) -> Any:
    """vmap and grad inside of a body."""

    def body(c: Any, v: Any) -> Any:
        rows = j.vmap(lambda a: j.lax.sin(j.lax.mul(a, v)))(c)
        slope = j.grad(lambda a: j.lax.mul(j.lax.cos(a), j.lax.reduce_sum(c, (0,))))(v)
        return j.lax.add(rows, j.lax.full((3,), 0.1)), slope

    return j.lax.scan(body, j.lax.full((3,), 0.4), x)


def rules_in_scan(j: Any, x: Any) -> Any:
    """A user's rule and a checkpoint inside of a body."""

    @j.custom_jvp
    def twice(v: Any) -> Any:
        return j.lax.mul(v, 2.0)

    @twice.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return twice(primals[0]), j.lax.mul(tangents[0], j.lax.add(primals[0], 3.0))

    body = j.checkpoint(lambda c, v: (j.lax.mul(j.lax.sin(c), twice(v)), j.lax.cos(c)))
    return j.lax.scan(body, 0.7, x)


def while_in_scan(j: Any, x: Any) -> Any:
    """How often a value is halved depends on it: under vmap on the batch, and the condition is batched."""

    def body(c: Any, v: Any) -> Any:
        n, v = j.lax.while_loop(
            lambda s: j.lax.gt(s[1], 0.2), lambda s: (j.lax.add(s[0], 1), j.lax.mul(s[1], c)), (0, v)
        )
        return j.lax.mul(c, j.lax.add(0.9, j.lax.mul(v, 0.1))), (n, v)

    return j.lax.scan(body, 0.6, x)


def switch_in_fori(j: Any, x: Any) -> Any:
    def body(i: Any, v: Any) -> Any:
        return j.lax.switch(j.lax.rem(i, 3), [j.lax.sin, lambda a: j.lax.mul(a, x), j.lax.cos], v)

    return j.lax.fori_loop(0, 5, body, x)


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
    "scan_unroll": (scan_unroll, (f32(4),), 1),
    "int_carry": (int_carry, (f32(5),), 2),
    "none_carry": (none_carry, (f32(3),), 1),
    "map_in_scan": (map_in_scan, (f32(3),), 2),
    "rules_in_scan": (rules_in_scan, (f32(4),), 1),
    "while_in_scan": (while_in_scan, (f32(3),), -1),
    "switch_in_fori": (switch_in_fori, (f32(2),), 2),
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
        if types and isinstance(b, real_jax.Array):
            assert (a.dtype, a.weak_type) == (b.dtype, b.weak_type)
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


def test_without_jit_fori_loop_is_pythons_loop() -> None:
    seen: list[Any] = []
    with jax.disable_jit():
        out = jax.lax.fori_loop(jax.numpy.int32(1), 3, lambda i, c: seen.append(i) or [c, i], 0)
    assert seen == [1, 2] and [type(i) for i in seen] == [int, int]
    assert out == [[0, 1], 2] and type(out[1]) is int


@names
def test_without_jit(name: str) -> None:
    f, args, _ = PROGRAMS[name]
    if args[0].shape == (0,):
        return
    with jax.disable_jit(), real_jax.disable_jit():
        pair(lambda j: f(j, *args), types=False)


def implicit(j: Any, a: Any) -> Any:
    """The root of x^3 + a x - 1, by Newton's method in a loop."""

    def f(x: Any) -> Any:
        return j.lax.sub(j.lax.add(j.lax.mul(j.lax.mul(x, x), x), j.lax.mul(a, x)), 1.0)

    def solve(f: Any, guess: Any) -> Any:
        def step(s: Any) -> Any:
            value, slope = j.jvp(f, (s[1],), (j.lax.full_like(s[1], 1.0),))
            return j.lax.add(s[0], 1), j.lax.sub(s[1], j.lax.div(value, slope))

        return j.lax.while_loop(lambda s: j.lax.lt(s[0], 20), step, (0, guess))[1]

    return j.lax.custom_root(f, j.lax.full_like(a, 0.5), solve, lambda g, y: j.lax.div(y, g(j.lax.full_like(y, 1.0))))


def linear_system(j: Any, symmetric: bool, has_aux: bool = False) -> Any:
    """a x = b by a fixed number of steps of Richardson's iteration."""

    def solve(matvec: Any, b: Any) -> Any:
        def step(i: Any, x: Any) -> Any:
            return j.lax.add(x, j.lax.mul(0.3, j.lax.sub(b, matvec(x))))

        out = j.lax.fori_loop(0, 60, step, j.lax.full_like(b, 0.0))
        return (out, 7) if has_aux else out

    def run(a: Any, b: Any) -> Any:
        if symmetric:
            a = j.lax.add(a, j.lax.transpose(a, (1, 0)))
        return j.lax.custom_linear_solve(
            lambda v: j.lax.dot(a, v), b, solve, None if symmetric else solve, symmetric, has_aux
        )

    return run


A, RIGHT = np.eye(3, dtype=np.float32) + 0.1 * f32(3, 3), f32(3, seed=5)


def test_custom_root() -> None:
    a = f32(4)
    pair(lambda j: implicit(j, a))
    pair(lambda j: j.jvp(lambda a: implicit(j, a), (a,), (f32(4, seed=2),)), 1e-5, False)
    pair(lambda j: j.grad(total(j, implicit))(a), 1e-5, False)
    pair(lambda j: j.jit(j.grad(total(j, implicit)))(a), 1e-5, False)
    pair(lambda j: j.vmap(j.grad(total(j, implicit)))(a), 1e-5, False)


def test_a_root_that_is_a_number_is_an_array() -> None:
    pair(lambda j: j.lax.custom_root(lambda x: x**2 - 2.0, 1.0, lambda f, x: x + 0.4142, lambda g, y: y / g(1.0)))


def test_custom_root_of_whole_numbers() -> None:
    """f would see the solver's float guesses as whole numbers, and Newton's loop would never end."""
    for j in (real_jax, jax):
        with pytest.raises(ValueError, match="linear"):
            j.lax.custom_root(lambda x: x**2 - 3, 1, lambda f, x: x, lambda g, y: y / g(1.0))


@pytest.mark.parametrize("has_aux", [False, True])
def test_custom_root_whose_solver_reads_what_moves(has_aux: bool) -> None:
    """The equation alone says how a solution moves: derivatives do not look into the solver."""

    def root(j: Any, a: Any) -> Any:
        def solve(f: Any, guess: Any) -> Any:
            out = j.lax.fori_loop(0, 20, lambda i, x: 0.5 * (x + a / x), guess)
            return (out, a) if has_aux else out

        found = j.lax.custom_root(lambda x: x * x - a, 1.0, solve, lambda g, y: y / g(1.0), has_aux)
        return found[0] if has_aux else found

    four = np.float32(4)
    pair(lambda j: j.grad(lambda a: root(j, a))(four), 1e-5)
    pair(lambda j: j.jit(j.grad(lambda a: root(j, a)))(four), 1e-5)
    pair(lambda j: j.grad(j.jit(lambda a: root(j, a)))(four), 1e-5)
    pair(lambda j: j.grad(j.grad(lambda a: root(j, a)))(four), 1e-5)
    pair(lambda j: j.vmap(j.grad(lambda a: root(j, a)))(np.stack([four, 9 * four])), 1e-5)


@pytest.mark.parametrize("symmetric", [False, True])
def test_custom_linear_solve(symmetric: bool) -> None:
    def program(j: Any, a: Any, b: Any) -> Any:
        return linear_system(j, symmetric)(a, b)

    pair(lambda j: program(j, A, RIGHT), 1e-5)
    pair(lambda j: j.jvp(lambda a, b: program(j, a, b), (A, RIGHT), (A, RIGHT)), 1e-4, False)
    pair(lambda j: j.grad(total(j, program), (0, 1))(A, RIGHT), 1e-4, False)
    pair(lambda j: j.jvp(j.grad(total(j, program)), (A, RIGHT), (A, RIGHT)), 1e-3, False)
    many = np.stack([RIGHT, 2 * RIGHT])
    pair(lambda j: j.vmap(lambda b: program(j, A, b))(many), 1e-5, False)
    pair(lambda j: j.vmap(lambda a: program(j, a, RIGHT))(np.stack([A, A + 0.05])), 1e-5, False)
    pair(lambda j: j.vmap(j.grad(total(j, program)), (None, 0))(A, many), 1e-4, False)
    pair(lambda j: linear_system(j, symmetric, True)(A, RIGHT), 1e-5)


# Errors, and what JAX's documentation promises.

X = np.ones((3, 2), np.float32)
ERRORS: dict[str, Callable[[Any], Any]] = {
    "scan f": lambda j: j.lax.scan(3, 0.0, X),
    "scan no pair": lambda j: j.lax.scan(lambda c, x: c, 0.0, X),
    "scan carry dtype": lambda j: j.lax.scan(
        lambda c, x: (j.lax.convert_element_type(c, np.int32), x), np.float32(0), X
    ),
    "scan carry shape": lambda j: j.lax.scan(lambda c, x: (x, x), np.float32(0), X),
    "scan carry tree": lambda j: j.lax.scan(lambda c, x: ((c, c), x), np.float32(0), X),
    "scan lengths": lambda j: j.lax.scan(lambda c, x: (c, x), 0.0, (X, X[:2])),
    "scan length": lambda j: j.lax.scan(lambda c, x: (c, x), 0.0, X, length=4),
    "scan no length": lambda j: j.lax.scan(lambda c, x: (c, x), 0.0),
    "scan scalar": lambda j: j.lax.scan(lambda c, x: (c, x), 0.0, 1.0),
    "scan unroll": lambda j: j.lax.scan(lambda c, x: (c, x), 0.0, X, unroll=-1),
    "scan traced length": lambda j: j.jit(lambda n: j.lax.scan(lambda c, x: (c, x), 0.0, length=n))(3),
    "scan if": lambda j: j.lax.scan(lambda c, x: (x if c else c, x), 0.0, X),
    "while cond": lambda j: j.lax.while_loop(lambda c: c, lambda c: c, np.float32(1)),
    "while cond tree": lambda j: j.lax.while_loop(lambda c: (True, True), lambda c: c, 1),
    "while body": lambda j: j.lax.while_loop(lambda c: True, lambda c: (c, c), 1),
    "while dtype": lambda j: j.lax.while_loop(lambda c: True, lambda c: np.float32(1), np.int32(1)),
    "while f": lambda j: j.lax.while_loop(1, 2, 3),
    "while reverse": lambda j: j.grad(
        lambda x: j.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2), (0, x))[1]
    )(1.0),
    "fori dtypes": lambda j: j.lax.fori_loop(np.int32(0), np.uint8(3), lambda i, x: x, 0),
    "fori reverse": lambda j: j.grad(lambda x: j.jit(lambda n, x: j.lax.fori_loop(0, n, lambda i, v: v * x, x))(3, x))(
        1.0
    ),
    "fori unroll": lambda j: j.jit(lambda n: j.lax.fori_loop(0, n, lambda i, x: x, 0, unroll=2))(3),
    "cond f": lambda j: j.lax.cond(True, 1, 2),
    "cond pred": lambda j: j.lax.cond(X, lambda: 1, lambda: 2),
    "cond list": lambda j: j.lax.cond([True], lambda: 1, lambda: 2),
    "cond none": lambda j: j.lax.cond(None, lambda: 1, lambda: 2),
    "cond complex": lambda j: j.lax.cond(1j, lambda: 1, lambda: 2),
    "cond types": lambda j: j.lax.cond(True, lambda: 1, lambda: 2.0),
    "cond trees": lambda j: j.lax.cond(True, lambda: (1,), lambda: 2),
    "cond operand": lambda j: j.lax.cond(True, lambda x: x, lambda x: x, 1, operand=2),
    "switch index": lambda j: j.lax.switch(1.0, [lambda: 1, lambda: 2]),
    "switch shape": lambda j: j.lax.switch(np.array([1]), [lambda: 1, lambda: 2]),
    "switch nothing": lambda j: j.lax.switch(1, []),
    "switch f": lambda j: j.lax.switch(1, [1, 2]),
    "associative lengths": lambda j: j.lax.associative_scan(lambda a, b: a, (X, X[:2])),
    "associative f": lambda j: j.lax.associative_scan(1, X),
    "leak": lambda j: leaked(j),
}


def leaked(j: Any) -> Any:
    kept: list[Any] = []
    j.lax.scan(lambda c, x: (kept.append(c) or c, x), 0.0, X)
    return j.lax.add(kept[0], 1.0) + 1


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    f = ERRORS[name]
    with pytest.raises(Exception) as theirs:
        f(real_jax)
    with pytest.raises(Exception) as ours:
        f(jax)
    assert theirs.type.__name__ in [c.__name__ for c in ours.type.__mro__]


def test_message_names_the_leaf() -> None:
    with pytest.raises(TypeError, match=r"carry component state\['b'\]\[1\] has type float32\[\]"):
        jax.lax.scan(lambda state, x: ({"a": state["a"], "b": (1.0, state["a"])}, x), {"a": X, "b": (1.0, 2.0)}, X)


def test_carry_takes_a_better_type() -> None:
    """A weak carry yields to what the body makes of it."""
    pair(lambda j: j.lax.scan(lambda c, x: (j.lax.add(x, x), c), 0, X[:, 0]))
    pair(lambda j: j.lax.fori_loop(0, 3, lambda i, c: np.float32(2), 0))
    pair(lambda j: j.lax.while_loop(lambda c: c < 3, lambda c: c + 1.5, 0))
    pair(lambda j: j.lax.fori_loop(0, 3, lambda i, c: i, 0))
    pair(lambda j: j.lax.fori_loop(np.int16(0), 3, lambda i, c: i, np.int32(0)))
    pair(lambda j: j.lax.cond(True, lambda: 1.0, lambda: np.float32(2)))
    pair(lambda j: j.lax.cond(True, lambda x: x, lambda x: x, 1.0))


def test_structures() -> None:
    pair(lambda j: j.lax.scan(lambda c, x: (c, None), {"a": 1.0}, None, length=2))
    pair(lambda j: j.lax.scan(lambda c, x: [c, x], 1.0, {"x": X, "n": None}))
    pair(lambda j: j.lax.map(lambda d: {"out": d["x"]}, {"x": X}))
    pair(lambda j: j.lax.cond(True, lambda a: a, lambda a: a, operand=(1.0, X)))
    pair(lambda j: j.lax.cond(False, 1.0, lambda a: a + 1, 2.0, lambda a: a - 1))
    pair(lambda j: j.lax.switch(-5, [lambda x: x + 1, lambda x: x + 2], 1.0))
    pair(lambda j: j.lax.fori_loop(5, 2, lambda i, x: x + 1, 1.0))


def test_closures() -> None:
    """What a body captures: outer traced values, arrays made inside, other loops' values."""

    def program(j: Any) -> Any:
        def f(x: Any) -> Any:
            y = j.lax.sin(x)

            def body(c: Any, v: Any) -> Any:
                zeros = j.lax.full((2,), 0.0)
                inner = j.lax.fori_loop(0, 2, lambda i, a: j.lax.mul(j.lax.add(a, y), v), j.lax.add(zeros, c))
                return j.lax.cond(True, lambda: j.lax.add(inner, y), lambda: inner), j.lax.add(zeros, y)

            return j.lax.scan(body, j.lax.full((2,), 1.0), X)

        return f

    x = f32(2)
    pair(lambda j: program(j)(x))
    pair(lambda j: j.jit(program(j))(x))
    pair(lambda j: j.grad(total(j, lambda j, x: program(j)(x)))(x), 1e-5, False)
    pair(lambda j: j.vmap(program(j))(f32(4, 2)), 1e-5, False)


def test_bodies_are_made_once() -> None:
    """Equal bodies are one object, whatever the values that they capture."""
    from lazynp.ops.closure import known

    def run(a: float) -> Any:
        w = np.full((2,), a, np.float32)
        return jax.lax.scan(lambda c, x: (jax.lax.add(jax.lax.mul(c, w), x), c), np.zeros(2, np.float32), X)

    run(1.0)
    before = len(known)
    np.testing.assert_array_equal(np.asarray(run(3.0)[0]), [13.0, 13.0])
    assert len(known) <= before


def test_effects_in_loops(capsys: pytest.CaptureFixture[str]) -> None:
    def body(c: Any, x: Any) -> Any:
        jax.debug.print("step {}", c)
        return c + 1, x

    jax.lax.scan(body, 0, X)
    jax.effects_barrier()
    assert capsys.readouterr().out.split("\n")[:3] == ["step 0", "step 1", "step 2"]
    jax.jit(lambda: jax.lax.fori_loop(0, 2, lambda i, c: body(c, c)[0], 5))()
    jax.effects_barrier()
    assert capsys.readouterr().out.split("\n")[:2] == ["step 5", "step 6"]
