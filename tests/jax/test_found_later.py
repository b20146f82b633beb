"""More of what generated expressions have found: value, dtype, shape, weak type and class of error are JAX's."""

from __future__ import annotations

import jax
import pytest
from expressions import Library, compared

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
LIBRARIES = Library(jax, False), Library(lazynp.jax, False)
VALUES = """
jnp.setxor1d(np.array([1, 2, 2, 3]), np.array([3, 4]), assume_unique=True)
jnp.setxor1d(np.array([-1, -2, 5]), np.array([2, -2]), size=6)
jnp.setxor1d(np.array([-1, -2, 5]), np.array([2, -2]), size=6, assume_unique=True)
jnp.setxor1d(np.array([5]), np.array([5]), size=3)
jnp.setxor1d(A((3,), 'bool'), A((4,), 'bool'), size=3, fill_value=-1)
jnp.setxor1d(np.zeros(0), np.zeros(0), size=2)
jnp.setxor1d(A((3, 4), 'float32', 'n'), A((3, 4), 'float32', 'n'))
jnp.intersect1d(np.array([1, 2, 2, 3]), np.array([3, 4]), assume_unique=True)
jnp.intersect1d(np.array([1, 2, 2]), np.array([2, 3]), assume_unique=True, return_indices=True)
jnp.intersect1d(np.array([1, 2, 2]), np.array([2, 3]), assume_unique=True, return_indices=True, size=4)
jnp.intersect1d(np.array([1, 2, 2]), np.array([2, 3]), return_indices=True)
jnp.intersect1d(np.zeros(0), np.array([2.0]), return_indices=True)
jnp.intersect1d(np.zeros(0), np.zeros(0), True, True)
jax.vjp(jnp.unique, A((3,)))[1](A((3,)))
jax.jvp(lambda x: jnp.unique(x, size=3), (A((3,)),), (A((3,)),))
jnp.roots(np.array([0.0, 1, 2, 0]))
jnp.roots(np.array([0.0, 1, 0]))
jnp.roots(np.array([0.0, 0, 0]), strip_zeros=False)
jnp.apply_along_axis(lambda v: (v, v.sum()), 0, A((3, 2), 'uint32'))
jnp.apply_along_axis(lambda v: v[:, None] * v, 1, A((2, 3, 2)))
jnp.partition(A((3, 4), 'float32', 'n'), 1)
jnp.partition(A((3, 4), 'uint8'), -1, axis=0)
jnp.argpartition(A((3, 4), 'int32'), 0, axis=1)
lax.reduce_window(A((5, 6)), 0.0, lax.add, (2, 2), (1, 1), 'SAME', base_dilation=(2, 2))
jnp.dot(A((2,), 'float8_e5m2'), A((2,), 'bfloat16'), preferred_element_type='float32')
jnp.vdot(A((3,), 'int8'), A((3,), 'uint4'), preferred_element_type='float32')
""".strip()
REFUSED = """
jnp.partition(A((3,), 'bool'), 0)
lax.reduce(A((3, 4), 'int8'), 0, lambda x, y: x * y, (3,))
lax.reduce(A((3, 4), 'uint8'), 1, lax.min, (-1,))
lax.reduce(A((3, 4), 'int32'), A((1,)), lax.bitwise_or, (-1,))
lax.reduce_or(-1, (0, 1))
lax.reduce_xor(W(3), (-1,))
lax.reduce_sum(A((3,), 'bool'), (0, 0))
lax.argmax(W(1j), axis=0, index_dtype='int64')
lax.reduce_window(A((5, 6), 'int8'), A((), 'uint8'), lax.add, (2,), (1,), 'foo')
lax.reduce_window(A((1, 5, 6, 1)), 0.0, lax.min, (2, 2), (1, 1), 'SAME', window_dilation=(2, 2))
lax.reduce_window(A((6,), 'bool'), 0, lax.add, (9,), (1,), 'VALID')
jnp.tensordot(A((4,), 'bfloat16'), A((2, 3, 4), 'int4'))
jnp.vdot(A((3,), 'float8_e5m2fnuz'), A((), 'uint4'), precision='foo')
jnp.vecdot(A((0, 3)), A((1, 4, 3)))
""".strip()
STRICT = """
dot
inner
matmul
outer
kron
cross
""".strip()
TEXTS = "\n".join([VALUES, REFUSED]).split("\n")
TEXTS += [
    f"with jax.numpy_dtype_promotion('strict'): out = jnp.{name}(A((3,)), A((3,), 'int32'))\n"
    for name in STRICT.split()
]


@pytest.mark.parametrize("text", TEXTS)
def test_beside_jax(text: str) -> None:
    theirs, ours = (library.outcome(text) for library in LIBRARIES)
    found = compared(theirs, ours)
    assert found is None or found.kind == "message", found
