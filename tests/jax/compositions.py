"""Random compositions of transformations: functions of three numbers to three numbers, written over either library."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[[Any], Any]
POINT = np.array([0.3, -0.7, 1.1])
DIRECTION = np.array([1.0, 0.5, -0.25])
MATRIX = np.array([[0.5, -0.2, 0.1], [0.3, 0.4, -0.6], [-0.1, 0.2, 0.7]])

# What is transformed. Smooth where they are evaluated, and bounded, so that four derivatives stay small.

BASES: dict[str, Callable[[Any], Function]] = {
    "sine": lambda jax: lambda x: jax.numpy.sin(x) * x,
    "layer": lambda jax: lambda x: jax.numpy.tanh(jax.numpy.asarray(MATRIX) @ x + 0.1),
    "softmax": lambda jax: lambda x: jax.nn.softmax(x * 2),
    "product": lambda jax: lambda x: jax.numpy.cos(x[::-1]) * x[0],
    "sum": lambda jax: lambda x: x * jax.numpy.sum(jax.numpy.exp(-(x**2))),
    "scan": lambda jax: lambda x: jax.numpy.cumsum(jax.numpy.tanh(x)) / 3,
    "select": lambda jax: lambda x: jax.numpy.where(x > 0, jax.numpy.sin(x), x**3 / 3),
    "norm": lambda jax: lambda x: x / jax.numpy.sqrt(1 + x @ x),
    "write": lambda jax: lambda x: x.at[1].set(jax.numpy.sin(x[0] * x[2])).at[0].add(x[1] ** 2 / 2),
    "outer": lambda jax: lambda x: jax.numpy.sum(jax.numpy.tanh(x[:, None] * x[None, :] - 0.2), axis=1),
    "divide": lambda jax: lambda x: jax.numpy.log1p(x**2) / (2 + jax.numpy.roll(x, 1) ** 2),
    "join": lambda jax: lambda x: jax.numpy.concatenate([jax.numpy.sin(x[:2]), x[2:] * x[:1]]),
    "gather": lambda jax: lambda x: jax.numpy.tanh(x[jax.numpy.array([2, 0, 0])]) * x,
    "maximum": lambda jax: lambda x: jax.numpy.maximum(jax.numpy.sin(x), 0.3 * x),
    "solve": lambda jax: lambda x: jax.numpy.linalg.solve(
        jax.numpy.eye(3) * 2 + jax.numpy.outer(x, x) / 4, jax.numpy.sin(x)
    ),
}  # fmt: skip


def weighted(jax: Any, f: Function) -> Function:
    return lambda x: jax.numpy.sum(f(x) * DIRECTION)


def pushed(jax: Any, f: Function) -> Function:
    def g(x: Any) -> Any:
        value, tangent = jax.jvp(f, (x,), (jax.numpy.asarray(DIRECTION),))
        return 0.5 * value + tangent

    return g


def pulled(jax: Any, f: Function) -> Function:
    def g(x: Any) -> Any:
        value, pull = jax.vjp(f, x)
        return pull(jax.numpy.cos(value))[0]

    return g


def linearized(jax: Any, f: Function) -> Function:
    def g(x: Any) -> Any:
        value, along = jax.linearize(f, x)
        return value + along(jax.numpy.asarray(DIRECTION)) - along(0.5 * x)

    return g


def mapped(jax: Any, f: Function) -> Function:
    return lambda x: jax.numpy.sum(jax.vmap(f)(jax.numpy.stack([x, 0.5 * x])), axis=0) / 2


def mapped_columns(jax: Any, f: Function) -> Function:
    def g(x: Any) -> Any:
        out = jax.vmap(f, in_axes=1, out_axes=1)(x[:, None] * jax.numpy.asarray([1.0, -0.5]))
        return out[:, 0] + out[:, 1] / 4

    return g


def mapped_pair(jax: Any, f: Function) -> Function:
    """One argument mapped, the other not."""

    def both(x: Any, y: Any) -> Any:
        return f(x) * y

    return lambda x: jax.numpy.mean(jax.vmap(both, in_axes=(None, 0))(x, jax.numpy.stack([x, x + 1])), axis=0)


def scanned(jax: Any, f: Function) -> Function:
    def g(x: Any) -> Any:
        def body(carry: Any, s: Any) -> Any:
            new = 0.5 * f(carry) + s * x
            return new, jax.numpy.sum(new)

        last, sums = jax.lax.scan(body, x, jax.numpy.asarray([0.1, 0.2, -0.1]))
        return last + sums / 4

    return g


def looped(jax: Any, f: Function) -> Function:
    return lambda x: jax.lax.fori_loop(0, 2, lambda i, c: 0.5 * f(c) + i * 0.1, x)


def branched(jax: Any, f: Function) -> Function:
    return lambda x: jax.lax.cond(jax.numpy.sum(x) > 0.2, f, lambda y: 0.3 * y, x)


def custom(jax: Any, f: Function) -> Function:
    """f, with its own derivative as a user's."""
    g = jax.custom_jvp(f)
    g.defjvp(lambda primals, tangents: jax.jvp(f, primals, tangents))
    return g


TRANSFORMATIONS: dict[str, Callable[[Any, Function], Function]] = {
    "grad": lambda jax, f: jax.grad(weighted(jax, f)),
    "value_and_grad": lambda jax, f: lambda x: (lambda v, g: g * v)(*jax.value_and_grad(weighted(jax, f))(x)),
    "jvp": pushed,
    "vjp": pulled,
    "linearize": linearized,
    "jacfwd": lambda jax, f: lambda x: jax.jacfwd(f)(x) @ DIRECTION,
    "jacrev": lambda jax, f: lambda x: DIRECTION @ jax.jacrev(f)(x),
    "vmap": mapped,
    "vmap columns": mapped_columns,
    "vmap pair": mapped_pair,
    "jit": lambda jax, f: jax.jit(f),
    "checkpoint": lambda jax, f: jax.checkpoint(f),
    "scan": scanned,
    "fori_loop": looped,
    "cond": branched,
    "custom_jvp": custom,
}


def composition(number: int, deepest: int = 4) -> tuple[str, list[str]]:
    """The base, and the transformations, innermost first."""
    rng = random.Random(number)
    depth = 1 + number % deepest
    names = list(TRANSFORMATIONS)
    return rng.choice(list(BASES)), [rng.choice(names) for _ in range(depth)]


def build(jax: Any, base: str, chain: list[str]) -> Function:
    f = BASES[base](jax)
    for name in chain:
        f = TRANSFORMATIONS[name](jax, f)
    return f
