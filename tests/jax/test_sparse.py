"""`jax.experimental.sparse` beside JAX's."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
M = np.array([[1, 0, 2], [0, 0, 3]], np.float32)
STACK = np.array([M, M * 0 + [0, 4, 0]], np.float32)


def show(x: Any) -> Any:
    """What is compared of a result."""
    if type(x).__name__ == "BCOO":
        return repr(x), np.asarray(x.data), np.asarray(x.indices), np.asarray(x.todense())
    return np.asarray(x)


Case = Callable[[Any, Any], Any]
CASES: dict[str, Case] = {
    "from dense": lambda j, s: s.BCOO.fromdense(M),
    "more places": lambda j, s: s.BCOO.fromdense(M, nse=5),
    "batch": lambda j, s: s.BCOO.fromdense(M, n_batch=1),
    "dense axes": lambda j, s: s.BCOO.fromdense(M, n_dense=1),
    "jit": lambda j, s: j.jit(lambda m: s.BCOO.fromdense(m, nse=3))(M),
    "a vector": lambda j, s: s.BCOO.fromdense(M) @ np.ones(3, np.float32),
    "a matrix": lambda j, s: s.BCOO.fromdense(M) @ M.T,
    "two sparse ones": lambda j, s: (s.BCOO.fromdense(M) @ s.BCOO.fromdense(M).T).todense(),
    "product in jit": lambda j, s: j.jit(lambda m, v: m @ v)(s.BCOO.fromdense(M), np.ones(3, np.float32)),
    "dot_general": lambda j, s: s.bcoo_dot_general(
        s.BCOO.fromdense(STACK), np.ones((3, 4), np.float32), dimension_numbers=(((2,), (0,)), ((), ()))
    ),
    "contracted whole": lambda j, s: s.bcoo_dot_general(
        s.BCOO.fromdense(M, nse=5), M, dimension_numbers=(((0, 1), (0, 1)), ((), ()))
    ),
    "transposed": lambda j, s: s.BCOO.fromdense(M).T,
    "sum": lambda j, s: s.BCOO.fromdense(M, nse=5).sum(),
    "sum along an axis": lambda j, s: s.BCOO.fromdense(M).sum(0).todense(),
    "times a number": lambda j, s: s.BCOO.fromdense(M) * 2,
    "times an array": lambda j, s: s.BCOO.fromdense(M) * M,
    "negative": lambda j, s: -s.BCOO.fromdense(M),
    "sum of two": lambda j, s: s.BCOO.fromdense(M) + s.BCOO.fromdense(M),
    "duplicates": lambda j, s: (s.BCOO.fromdense(M) + s.BCOO.fromdense(M, nse=4)).sum_duplicates(),
    "sorted": lambda j, s: s.BCOO.fromdense(M.T).T.sort_indices(),
    "eye": lambda j, s: s.eye(3, 4, 1),
    "empty": lambda j, s: s.empty((2, 3)).todense(),
    "gradient": lambda j, s: j.grad(lambda x: (s.BCOO.fromdense(x, nse=3) @ np.ones(3, np.float32)).sum())(M),
    "mapped": lambda j, s: j.vmap(lambda m, v: m @ v)(s.BCOO.fromdense(STACK, n_batch=1), np.ones((2, 3), np.float32)),
}


@pytest.mark.parametrize("name", CASES)
def test_as_in_jax(name: str) -> None:
    found = [
        show(CASES[name](j, importlib.import_module(f"{j.__name__}.experimental.sparse"))) for j in (lazynp.jax, jax)
    ]
    jax.tree.map(np.testing.assert_array_equal, *found)
