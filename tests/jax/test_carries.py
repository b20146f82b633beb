"""Carries that are Python numbers, branches of which some are weak, trees inside out: generated cases beside JAX."""

from __future__ import annotations

import itertools
import random
from typing import Any

import jax
import numpy as np
import pytest
from expressions import Library, compared

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
LIBRARIES = Library(jax, False), Library(lazynp.jax, False)
DTYPES = (
    *("bool", "int8", "uint8", "int16", "int32", "uint32", "int4", "uint4", "bfloat16", "float16", "float32"),
    *("complex64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz"),
)
LOOPS = (
    "lax.scan(lambda c, a: (c * a, c), {i}, x)",
    "lax.scan(lambda c, a: (c + a, None), {i}, x)",
    "lax.fori_loop(0, 2, lambda k, c: c * x[0], {i})",
    "jit(lambda x: lax.scan(lambda c, a: (c * a, c), {i}, x))(x)",
    "jax.vmap(lambda x: lax.scan(lambda c, a: (c * a, c), {i}, x)[0])(x[None])",
)
TREES = ("[1, 2]", "(1, 2)", "{'b': 1, 'a': 2}", "[None]", "()", "1", "[1, (2, None)]", "{'a': {'b': 1}}", "(1, 2, 3)")


def beside(text: str) -> None:
    theirs, ours = (library.outcome(text) for library in LIBRARIES)
    found: Any = compared(theirs, ours)
    assert found is None or found.kind == "message", (text, found)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_carry_that_is_a_number_yields_to_what_the_body_returns(dtype: str) -> None:
    for loop, first in itertools.product(LOOPS, ("1", "1.0")):
        beside(f"(lambda x: {loop.format(i=first)})(jnp.ones(3, '{dtype}'))")


@pytest.mark.parametrize("number", [0, 1, 2])
def test_results_of_branches_are_weak_where_those_of_branch_0_are(number: int) -> None:
    values = ("jnp.asarray(1.0)", "jnp.float32(2)", "3.0")
    for chosen in itertools.product(values, repeat=3):
        branches = ", ".join([f"lambda: {v}" for v in chosen])
        beside(f"lax.switch({number}, [{branches}])")
        beside(f"jit(lambda k: lax.switch(k, [{branches}]))({number})")
        beside(f"jax.vmap(lambda k: lax.switch(k, [{branches}]))(jnp.array([{number}]))")
        beside(f"lax.cond({number} > 0, lambda: {chosen[0]}, lambda: {chosen[1]})")


@pytest.mark.parametrize("seed", range(5))
def test_trees_inside_out(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(60):
        outer, inner, tree = (rng.choice(TREES) for _ in range(3))
        if rng.random() < 0.5:
            tree = f"jax.tree.map(lambda _: {inner}, {outer})"
        for second in (f"jax.tree.structure({inner})", "None"):
            beside(f"jax.tree.transpose(jax.tree.structure({outer}), {second}, {tree})")


@pytest.mark.parametrize(
    "text",
    [
        "jax.grad(lambda x: jnp.sign(x).real)(jnp.complex64(1 + 2j))",
        "jax.jvp(jax.grad(lambda x: jnp.sum(jnp.abs(jnp.sign(x)))), (jnp.full(2, 1 + 2j),), (jnp.full(2, 1j),))",
        "jax.vjp(lax.clamp, 2.0, 0.5, 2.0)[1](1.0)",
        "jax.vjp(lax.clamp, 1.0, 0.5, 2.0)[1](1.0)",
        "jax.jvp(lax.clamp, (3.0, 0.5, 2.0), (1.0, 1.0, 1.0))",
        "lax.associative_scan(lambda a, b: a.astype('float32') + b, jnp.ones(3, 'bfloat16'))",
        "lax.associative_scan(lambda a, b: a * 1.0 + b, jnp.arange(4), reverse=True)",
        "lax.associative_scan(lambda a, b: a * 1.0 + b, jnp.arange(1))",
        "repr(jax.tree.structure(collections.OrderedDict(b=1, a=2)).node_data())",
        "repr(jax.tree_util.default_registry.flatten_one_level_with_keys(collections.OrderedDict(b=1, a=2)))",
    ],
)
def test_beside_jax(text: str) -> None:
    beside(text)


def test_where_a_lower_bound_is_none_nothing_depends_on_it() -> None:
    """An array, so that what is compared is not one number."""
    low, x, high = np.float32([0, 2, 3]), np.float32([1, 1, 1]), np.float32([2, 2, 2])
    found = [[np.asarray(g).tolist() for g in jvp_parts(library.root, low, x, high)] for library in LIBRARIES]
    assert found[0] == found[1]


def jvp_parts(root: Any, *bounds: np.ndarray) -> Any:
    out, back = root.vjp(root.lax.clamp, *[root.numpy.asarray(b) for b in bounds])
    return out, *back(root.numpy.ones_like(out))
