"""Wrong arguments, and arguments that loops and jit promote: refused in JAX's words, or answered with JAX's types."""

from __future__ import annotations

import importlib

import jax
import numpy as np
import pytest
from expressions import Library, compared

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
for _name in ("experimental.sparse.linalg", "export", "ffi"):
    importlib.import_module(f"jax.{_name}")
    importlib.import_module(f"lazynp.jax.{_name}")
LIBRARIES = Library(jax, False), Library(lazynp.jax, False)
REFUSED = """
lax.top_k(jnp.arange(3.0), 4)
lax.dynamic_slice(jnp.arange(5), (-1,), (2,), allow_negative_indices=False)
lax.dynamic_slice(jnp.arange(5), (0.0,), (2,))
lax.dynamic_slice(jnp.arange(5), (jnp.array([0]),), (2,))
lax.Tolerance()
lax.Tolerance(-1.0)
lax.conv_general_dilated(jnp.ones((1, 1, 4)), jnp.ones((1, 1, 2)), (1,), [(1, 2)], lhs_dilation=(0,))
lax.conv_general_dilated(jnp.ones((1, 1, 4)), jnp.ones((1, 1, 2)), (1,), [(1, 2)], rhs_dilation=(0,))
jnp.ravel_multi_index((1.0, 2), (2, 3))
jnp.delete(jnp.arange(3), 1.5)
jnp.delete(jnp.arange(3), np.array([True, False]))
jnp.arange(6).reshape(2, -2)
jnp.arange(6).reshape(4, -1)
jnp.linalg.det(jnp.ones((2, 3)))
jnp.linalg.slogdet(jnp.ones(3))
jnp.linalg.cond(jnp.ones((2, 3)), p=1)
jnp.linalg.cond(jnp.ones(3))
jnp.linalg.cross(jnp.ones(3), jnp.ones(2))
jnp.percentile(jnp.arange(5.0), 50, method='bad')
jnp.polyint(jnp.ones(2), m=-1)
jax.export.symbolic_shape('a, ...')
jax.numpy_rank_promotion('bad').__enter__()
jax.transfer_guard('bad').__enter__()
jax.jit(lambda x, y: x, in_shardings=(None,))(1, 2)
jax.jit(lambda x: x, out_shardings=(None, None))(1)
jax.jit(lambda x: (x, x), out_shardings=(None,))(1)
jax.ffi.ffi_call('nothing', 1)
jax.experimental.sparse.linalg.lobpcg_standard(jnp.eye(30), jnp.ones((30, 0)))
jax.experimental.sparse.linalg.lobpcg_standard(jnp.eye(10), jnp.ones((10, 2)))
jax.experimental.sparse.linalg.lobpcg_standard(lambda x: x[:3], jnp.ones((30, 2)))
""".strip()
ANSWERED = """
jnp.signbit(jnp.array([1, -2, 3], 'int4'))
jnp.bincount(jnp.array([-1]))
jnp.gcd(jnp.array([True]), 2)
jnp.lcm(jnp.array([True, False]), jnp.array(2))
jnp.gcd(jnp.array(4), 2)
lax.scan(lambda c, x: (c.astype('int8'), x), 0, jnp.arange(3))
lax.conv_general_dilated(jnp.ones((1, 1, 4)), jnp.ones((1, 1, 2)), (1,), [(-2, -2)])
str(jax.jit(lambda x, y: x, static_argnums=1).trace(1.0, 2).args_info)
str(jax.jit(lambda x, y: x, static_argnames='y').trace(1.0, y=2).args_info)
jax.jit(lambda x: (x, x), out_shardings=(None, None))(1)
jax.ShapeDtypeStruct((2,), 'float32').is_ref
""".strip()


def raised(text: str, library: Library) -> Exception:
    """What an expression raises in a library."""
    with pytest.raises(Exception) as found:
        library.evaluate(text)
    return found.value


@pytest.mark.parametrize("text", REFUSED.split("\n"))
def test_refused(text: str) -> None:
    wanted, found = [raised(text, library) for library in LIBRARIES]
    assert any(c.__name__ == type(wanted).__name__ for c in type(found).__mro__)
    assert str(wanted).split("\n")[0].rstrip(".") in str(found)


@pytest.mark.parametrize("text", ANSWERED.split("\n"))
def test_answered(text: str) -> None:
    theirs, ours = (library.outcome(text) for library in LIBRARIES)
    assert not isinstance(theirs, Exception)
    assert compared(theirs, ours) is None


def test_donated_numbers_that_a_result_could_use_are_not_warned_of() -> None:
    for x in (2.0, np.float32(2)):
        assert lazynp.jax.jit(lambda x, n: x * n, donate_argnums=0)(x, 2) == 4
    with pytest.warns(UserWarning, match="not usable"):
        lazynp.jax.jit(lambda x: x.astype("int8"), donate_argnums=0)(2.0)


def test_largest_eigenvalues() -> None:
    matrix = lazynp.jax.numpy.diag(lazynp.jax.numpy.arange(1.0, 31))
    first = lazynp.jax.random.normal(lazynp.jax.random.key(0), (30, 2))
    solver = lazynp.jax.experimental.sparse.linalg.lobpcg_standard
    values, vectors, steps = solver(matrix, first)
    assert np.allclose(values, [30, 29], rtol=1e-4)
    assert np.allclose(np.abs(vectors[-2:]), [[0, 1], [1, 0]], atol=1e-2)
    assert np.allclose(vectors.T @ vectors, np.eye(2), atol=1e-5)
    assert 2 < steps < 60
    assert solver(lambda x: matrix @ x, first, m=3)[2] == 3
