"""Ragged products, and products in blocks with factors: against JAX."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from agreement import disagreement, outcome

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
Call = Callable[[Any], Any]
SIZES, STACKS = np.array([2, 1, 3], "i4"), np.array([[2, 1, 3], [1, 1, 2]], "i4")
BLOCKS, FACTORS = np.arange(16, dtype="f4").reshape(2, 8), np.array([[1, 2], [3, 4]], "f4")


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(size=shape).astype("f4")


def ragged(j: Any, a: np.ndarray, b: np.ndarray, sizes: Any, axes: Any, ragged: list[int], groups: list[int]) -> Any:
    dims = j.lax.RaggedDotDimensionNumbers(axes, ragged, groups)
    return j.lax.ragged_dot_general(j.numpy.asarray(a), j.numpy.asarray(b), j.numpy.asarray(sizes), dims)


def utils(j: Any) -> Any:
    return importlib.import_module(f"{j.__name__}.experimental.multihost_utils")


def over_mesh(j: Any) -> Any:
    mesh, spec = j.make_mesh((1,), ("a",)), j.sharding.PartitionSpec("a")
    whole = utils(j).host_local_array_to_global_array({"x": BLOCKS}, mesh, {"x": spec})
    return whole, utils(j).global_array_to_host_local_array(whole, mesh, spec)


PLAIN = ((1,), (1,)), ((), ())
STACKED = ((2,), (2,)), ((0,), (1,))
CALLS: dict[str, Call] = {
    "free axis": lambda j: ragged(j, numbers(6, 4), numbers(3, 4, 5), SIZES, PLAIN, [0], [0]),
    "of a stack": lambda j: ragged(j, numbers(2, 6, 4), numbers(3, 2, 4, 5), STACKS, STACKED, [1], [0]),
    "contracted": lambda j: ragged(j, numbers(6, 4), numbers(6, 5), SIZES, (((0,), (0,)), ((), ())), [0], []),
    "contracted in a stack": lambda j: ragged(
        j, numbers(2, 6, 4), numbers(2, 6, 5), STACKS, (((1,), (1,)), ((0,), (0,))), [1], []
    ),
    "stacked": lambda j: ragged(j, numbers(6, 3, 4), numbers(6, 4, 5), SIZES, (((2,), (1,)), ((0,), (0,))), [0], []),
    "scaled": lambda j: j.lax.scaled_dot(BLOCKS, BLOCKS.T),
    "scaled by blocks": lambda j: j.lax.scaled_dot(
        *map(j.numpy.asarray, (BLOCKS, BLOCKS.T)),
        lhs_scale=j.numpy.asarray(FACTORS),
        rhs_scale=j.numpy.asarray(FACTORS.T),
        preferred_element_type="float32",
    ),
    "scaled by too many": lambda j: j.lax.scaled_dot(
        j.numpy.asarray(BLOCKS), j.numpy.asarray(BLOCKS.T), lhs_scale=j.numpy.ones((2, 8))
    ),
    "stage": lambda j: [j.lax.stage(3.0), j.lax.stage(np.ones(2, "f4"))],
    "matrices": lambda j: j.nn.scaled_matmul(*[j.numpy.ones((2, 2))] * 4),
    "gathered": lambda j: [utils(j).process_allgather({"a": BLOCKS, "b": 1.0}, tiled=t) for t in (False, True)],
    "broadcast": lambda j: utils(j).broadcast_one_to_all({"a": BLOCKS, "b": 1.0}),
    "over a mesh": over_mesh,
    "equal": lambda j: [utils(j).assert_equal(BLOCKS), utils(j).sync_global_devices("here")],
    "joined": lambda j: [j.distributed.is_initialized(), j.distributed.shutdown()],
}


@pytest.mark.parametrize("name", CALLS)
def test_as_jax(name: str) -> None:
    wanted, got = (outcome(lambda j=j: jax.tree.leaves(CALLS[name](j))) for j in (jax, lazynp.jax))
    assert disagreement(name, wanted, got, 8) is None, disagreement(name, wanted, got, 8)


def test_transformations_of_ragged_products() -> None:
    j = lazynp.jax
    f = lambda a: ragged(j, a, numbers(3, 4, 5), SIZES, PLAIN, [0], [0])
    wanted = numbers(3, 4, 5).sum(2).repeat(SIZES, axis=0)
    np.testing.assert_allclose(j.grad(lambda a: f(a).sum())(numbers(6, 4)), wanted, rtol=1e-5)
    np.testing.assert_allclose(j.jit(f)(numbers(6, 4)), f(numbers(6, 4)), rtol=1e-5)


def test_scaled_matmul() -> None:
    """JAX has it on GPUs only."""
    a, s = BLOCKS[None], FACTORS[None]
    whole = a * np.repeat(s, 4, axis=2)
    got = lazynp.jax.nn.scaled_matmul(a, 2 * a, s, s)
    np.testing.assert_allclose(got, whole @ (2 * whole).swapaxes(1, 2), rtol=1e-6)
    with pytest.raises(ValueError, match="matching batch"):
        lazynp.jax.nn.scaled_matmul(a, a[:, :, :4], s, s)
