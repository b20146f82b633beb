"""Figures of speed beside JAX: in the form of graphs for every run, in seconds for a run that has the machine alone."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from patience import least

import lazynp.jax
from lazynp import speed

BENCH = Path(__file__).resolve().parents[2] / "asv_bench"
j, jnp = lazynp.jax, lazynp.jax.numpy


def products(f: Any, *args: Any) -> list[str]:
    """The matrix products in a function's graph, by the shapes of their operands."""
    eqns = j.make_jaxpr(f)(*args).eqns
    return [" ".join(str(v.aval) for v in e.invars) for e in eqns if str(e.primitive) == "dot_general"]


def test_a_batch_of_products_with_one_matrix_is_one_product() -> None:
    w, x = jnp.ones((5, 3)), jnp.ones((7, 3))
    assert products(j.vmap(lambda x: w @ x), x) == ["float32[7,3] float32[3,5]"]
    assert products(j.vmap(lambda x: x @ w.T), x) == ["float32[7,3] float32[3,5]"]
    assert products(j.vmap(lambda m: m @ w.T), jnp.ones((7, 4, 3))) == ["float32[28,3] float32[3,5]"]
    gradient = j.grad(lambda w: (j.vmap(lambda x: jnp.dot(w, x))(x) ** 2).sum())
    assert products(gradient, w) == ["float32[7,3] float32[3,5]", "float32[3,7] float32[7,5]"]


SHAPES = [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5))]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_batches_of_products(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """Each operand mapped or not, along each axis, is what a loop gives."""
    rng = np.random.default_rng(0)
    ways = [[None, *range(len(s) + 1)] for s in shapes]
    for i in ways[0]:
        for k in ways[1]:
            if i is None and k is None:
                continue
            a, b = (
                rng.normal(size=s if axis is None else (*s[:axis], 6, *s[axis:])).astype(np.float32)
                for s, axis in zip(shapes, (i, k))
            )
            rows = [(a if i is None else a.take(n, i), b if k is None else b.take(n, k)) for n in range(6)]
            wanted = np.stack([x @ y for x, y in rows])
            assert np.allclose(j.vmap(jnp.matmul, (i, k))(a, b), wanted, rtol=1e-4, atol=1e-5), (i, k)


@pytest.mark.alone
@pytest.mark.skipif(speed.calls is None, reason="the figures are those of the C module")
def test_beside_jax() -> None:
    """A jitted call costs at most JAX's, an operation without jit a third, and jit halves three operations."""
    sys.path.insert(0, str(BENCH))
    try:
        import jax_side
        from benchmarks import jax_door
    finally:
        sys.path.remove(str(BENCH))

    def ratio(sides: dict[str, Any], limit: float) -> float:
        return least(lambda: jax_side.ratio_of(jax_side.measure(sides, 7)), limit, 12)

    def both(make: Any) -> dict[str, Any]:
        return {"lazynp": make(j), "JAX": make(jax)}

    for name in ("jit of x + 1", "jit on a pytree"):
        assert ratio(both(jax_door.CALLS[name]), 1) <= 1, name
    calls = jax_door.CALLS
    ways = {"jitted": calls["jit of minimum(x*y, 0)+y"](j), "un-jitted": calls["minimum(x*y, 0)+y"](j)}
    assert ratio(ways, 0.5) <= 0.5
    ratios = {name: ratio(both(lambda side, name=name: jax_door.operation(name, side)), 1 / 3) for name in jax_door.ONE}
    assert statistics.median(ratios.values()) <= 1 / 3, ratios
