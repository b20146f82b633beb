"""`jax_debug_key_reuse` finds what JAX's checker finds: keys used twice, in transformations and loops too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax as oracle
import numpy as np
import pytest

import lazynp.jax as jax

oracle.config.update("jax_platforms", "cpu")
Program = Callable[[Any], Any]
PROGRAMS: list[Program] = []


def program(f: Program) -> Program:
    PROGRAMS.append(f)
    return f


@program
def jitted(j: Any) -> Any:
    f = j.jit(lambda k: j.random.normal(k))
    k = j.random.key(0)
    f(k)
    f(k)


@program
def captured(j: Any) -> Any:
    k = j.random.key(0)
    f = j.jit(lambda x: x + j.random.normal(k))
    f(1.0)
    f(1.0)


@program
def captured_once(j: Any) -> Any:
    k = j.random.key(0)
    f = j.jit(lambda x: x + j.random.normal(k))
    return f(1.0)


@program
def captured_fold(j: Any) -> Any:
    k = j.random.key(0)
    f = j.jit(lambda x: x + j.random.normal(j.random.fold_in(k, 1)))
    f(1.0)
    f(2.0)
    f(3)
    j.random.normal(k)


@program
def vmapped(j: Any) -> Any:
    ks = j.random.split(j.random.key(0), 3)
    j.vmap(lambda k: j.random.normal(k))(ks)
    j.vmap(lambda k: j.random.normal(k))(ks)


@program
def vmapped_then_one(j: Any) -> Any:
    ks = j.random.split(j.random.key(0), 3)
    j.vmap(lambda k: j.random.normal(k))(ks)
    j.random.normal(ks[0])


@program
def vmapped_ok(j: Any) -> Any:
    ks = j.random.split(j.random.key(0), 3)
    j.vmap(lambda k: j.random.normal(k))(ks[:2])
    j.random.normal(ks[2])


@program
def vmapped_closed(j: Any) -> Any:
    k = j.random.key(0)
    j.vmap(lambda x: x + j.random.normal(k))(np.arange(3.0))
    j.random.normal(k)


@program
def vmapped_closed_ok(j: Any) -> Any:
    k = j.random.key(0)
    return j.vmap(lambda x: x + j.random.normal(k))(np.arange(3.0))


@program
def vmapped_twice(j: Any) -> Any:
    return j.vmap(lambda k: j.random.normal(k) + j.random.uniform(k))(j.random.split(j.random.key(0)))


@program
def scan_const(j: Any) -> Any:
    k = j.random.key(0)
    return j.lax.scan(lambda c, x: (c + j.random.normal(k), None), 0.0, None, length=3)


@program
def scan_carry(j: Any) -> Any:
    return j.lax.scan(lambda c, x: (c, j.random.normal(c)), j.random.key(0), None, length=3)


@program
def scan_ok(j: Any) -> Any:
    def f(k: Any, x: Any) -> Any:
        k, u = j.random.split(k)
        return k, j.random.normal(u)

    return j.lax.scan(f, j.random.key(0), None, length=3)


@program
def scan_after(j: Any) -> Any:
    k0 = j.random.key(0)

    def f(k: Any, x: Any) -> Any:
        k, u = j.random.split(k)
        return k, j.random.normal(u)

    j.lax.scan(f, k0, None, length=3)
    j.random.normal(k0)


@program
def scan_xs(j: Any) -> Any:
    ks = j.random.split(j.random.key(0), 3)
    j.lax.scan(lambda c, k: (c, j.random.normal(k)), 0.0, ks)
    j.random.normal(ks[1])


@program
def scan_inner(j: Any) -> Any:
    def f(k: Any, x: Any) -> Any:
        return j.random.split(k)[0], j.random.normal(k)

    return j.lax.scan(f, j.random.key(0), None, length=3)


@program
def cond_ok(j: Any) -> Any:
    k = j.random.key(0)
    return j.lax.cond(True, lambda k: j.random.normal(k), lambda k: j.random.uniform(k), k)


@program
def cond_captured_ok(j: Any) -> Any:
    k = j.random.key(0)
    return j.lax.cond(True, lambda: j.random.normal(k), lambda: j.random.uniform(k))


@program
def cond_after(j: Any) -> Any:
    k = j.random.key(0)
    j.lax.cond(True, lambda k: j.random.normal(k), lambda k: 1.0, k)
    j.random.normal(k)


@program
def cond_in(j: Any) -> Any:
    return j.lax.cond(True, lambda k: j.random.normal(k) + j.random.uniform(k), lambda k: 1.0, j.random.key(0))


@program
def while_bad(j: Any) -> Any:
    return j.lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0], c[1] + j.random.uniform(c[0])), (j.random.key(0), 0.0))


@program
def while_ok(j: Any) -> Any:
    def b(c: Any) -> Any:
        k, u = j.random.split(c[0])
        return k, c[1] + j.random.uniform(u)

    return j.lax.while_loop(lambda c: c[1] < 3, b, (j.random.key(0), 0.0))


@program
def while_cond(j: Any) -> Any:
    return j.lax.while_loop(
        lambda c: j.random.uniform(c[0]) < 0.5, lambda c: (j.random.split(c[0])[0], c[1] + 1), (j.random.key(0), 0.0)
    )


@program
def fori(j: Any) -> Any:
    k = j.random.key(0)
    return j.lax.fori_loop(0, 3, lambda i, x: x + j.random.normal(j.random.fold_in(k, i)), 0.0)


@program
def fori_bad(j: Any) -> Any:
    k = j.random.key(0)
    return j.lax.fori_loop(0, 3, lambda i, x: x + j.random.normal(k), 0.0)


@program
def grad_twice(j: Any) -> Any:
    def f(x: Any, k: Any) -> Any:
        return x * j.random.normal(k) * j.random.normal(k)

    return j.grad(f)(1.0, j.random.key(0))


@program
def grad_ok(j: Any) -> Any:
    def f(x: Any, k: Any) -> Any:
        return x * j.random.normal(k)

    return j.grad(f)(1.0, j.random.key(0))


@program
def grad_after(j: Any) -> Any:
    k = j.random.key(0)

    def f(x: Any, k: Any) -> Any:
        return x * j.random.normal(k)

    j.grad(f)(1.0, k)
    j.random.normal(k)


@program
def jit_returns(j: Any) -> Any:
    def f(k: Any) -> Any:
        k2 = j.random.split(k)[0]
        j.random.normal(k2)
        return k2

    j.random.normal(j.jit(f)(j.random.key(0)))


@program
def jit_returns_ok(j: Any) -> Any:
    j.random.normal(j.jit(lambda k: j.random.split(k)[0])(j.random.key(0)))


@program
def jit_forward(j: Any) -> Any:
    k = j.random.key(0)
    q = j.jit(lambda k: (j.random.normal(k), k))(k)[1]
    j.random.normal(q)


@program
def traced_index(j: Any) -> Any:
    return j.jit(lambda ks, i: j.random.normal(ks[i]))(j.random.split(j.random.key(0)), 1)


@program
def traced_index2(j: Any) -> Any:
    return j.jit(lambda ks, i: j.random.normal(ks[i]) + j.random.normal(ks[i]))(j.random.split(j.random.key(0)), 1)


@program
def nested(j: Any) -> Any:
    inner = j.jit(lambda k: j.random.normal(k))
    return j.jit(lambda k: inner(k) + inner(k))(j.random.key(0))


@program
def nested_ok(j: Any) -> Any:
    inner = j.jit(lambda k: j.random.normal(k))

    def f(k: Any) -> Any:
        a, b = j.random.split(k)
        return inner(a) + inner(b)

    return j.jit(f)(j.random.key(0))


@program
def remat(j: Any) -> Any:
    return j.grad(j.checkpoint(lambda x, k: x * j.random.normal(k)))(1.0, j.random.key(0))


@program
def remat_bad(j: Any) -> Any:
    return j.grad(j.checkpoint(lambda x, k: x * j.random.normal(k) * j.random.uniform(k)))(1.0, j.random.key(0))


@program
def remat_after(j: Any) -> Any:
    k = j.random.key(0)
    j.grad(j.checkpoint(lambda x, k: x * j.random.normal(k)))(1.0, k)
    j.random.normal(k)


@program
def unpack(j: Any) -> Any:
    a, b = j.random.split(j.random.key(0))
    j.random.normal(a)
    j.random.normal(b)


@program
def dropped(j: Any) -> Any:
    def f(k: Any) -> Any:
        j.random.normal(k)
        return j.random.normal(k)

    return j.jit(f)(j.random.key(0))


@program
def jitsplit(j: Any) -> Any:
    f = j.jit(lambda k: j.random.split(k))
    k = j.random.key(0)
    a, b = f(k)
    f(a)
    f(b)


@program
def stack_keys(j: Any) -> Any:
    k = j.random.key(0)
    return j.numpy.stack([k, k])


@program
def stack_after(j: Any) -> Any:
    k = j.random.key(0)
    q = j.random.key(1)
    j.numpy.stack([k, q])
    j.random.normal(k)


@program
def choice(j: Any) -> Any:
    return (
        j.random.choice(j.random.key(0), 3),
        j.random.permutation(j.random.key(1), 3),
        j.random.gamma(j.random.key(2), 1.0, (2,)),
    )


@program
def clone_twice(j: Any) -> Any:
    k = j.random.key(0)
    j.random.normal(k)
    j.random.normal(j.random.clone(k))
    j.random.normal(j.random.clone(k))


@program
def mapped(j: Any) -> Any:
    ks = j.random.split(j.random.key(0), 3)
    return j.lax.map(lambda k: j.random.normal(k), ks)


KNOWN = {
    "jit_returns": "JAX misses that a function returns a key that it has used itself",
    "remat": "JAX counts the recomputation of a checkpointed function as a second use",
    "stack_after": "JAX takes a key that was put into an array for used; here it may be used once more",
}
"""Programs on which the two differ, and why."""


def verdict(module: Any, f: Program) -> str:
    with module.debug_key_reuse(True):
        try:
            f(module)
        except module.errors.KeyReuseError:
            return "reused"
    return "fine"


@program
def sliced_twice(j: Any) -> Any:
    ks = j.random.split(j.random.key(0), 3)
    return ks[0], ks[0]


@program
def slices_that_overlap(j: Any) -> Any:
    ks = j.random.split(j.random.key(0), 3)
    return ks[:2], ks[1:]


@program
def slices_apart(j: Any) -> Any:
    ks = j.random.split(j.random.key(0), 4).reshape(2, 2)
    return ks[0], ks[1, 0], ks[1, 1]


@program
def sliced_in_jit(j: Any) -> Any:
    return j.jit(lambda ks: (ks[0], ks[0]))(j.random.split(j.random.key(0)))


@program
def looped_over_twice(j: Any) -> Any:
    ks = j.random.split(j.random.key(0))
    return [j.random.bits(k) for k in (*ks, *ks)]


@program
def picked_twice(j: Any) -> Any:
    ks = j.random.split(j.random.key(0), 3)
    return ks[j.numpy.array([0, 1])], ks[j.numpy.array([0])], ks[None]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_as_jax_says(f: Program) -> None:
    mine, theirs = verdict(jax, f), verdict(oracle, f)
    assert (mine != theirs) == (f.__name__ in KNOWN), (mine, theirs)


def test_the_message_says_where() -> None:
    key = jax.random.key(0)
    with jax.debug_key_reuse(True):
        jax.random.normal(key)
        with pytest.raises(jax.errors.KeyReuseError, match=r"uniform at .*test_key_reuse.py:\d+, .* normal at .*:\d+"):
            jax.random.uniform(key)


def test_nothing_stays_behind() -> None:
    """What was used under the switch is no matter without it; a trace that fails leaves no use."""
    key = jax.random.key(0)

    def fails(k: Any) -> Any:
        jax.random.normal(k)
        jax.random.normal(key)
        raise ZeroDivisionError

    with jax.debug_key_reuse(True):
        with pytest.raises(ZeroDivisionError):
            jax.jit(fails)(jax.random.key(1))
        jax.random.normal(key)
    jax.random.normal(key)
