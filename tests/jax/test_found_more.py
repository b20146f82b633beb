"""Expressions that long runs of generated ones have found to differ, and what stands beside them: value, dtype, shape,
weak type and class of error are JAX's."""

from __future__ import annotations

from typing import Any

import jax
import pytest
from expressions import Library, compared

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
LIBRARIES = Library(jax, False), Library(lazynp.jax, False)
WEAKNESS = """
jax.flatten_util.ravel_pytree(1)[0]
jax.flatten_util.ravel_pytree([1, (2, 3)])[0]
jax.flatten_util.ravel_pytree([1, 2.0])[0]
jax.flatten_util.ravel_pytree([A((2,))])[1](A((2,), 'int32'))
jnp.choose(1, (1, 2))
jnp.choose(np.array([0, 1]), (1, 2.0))
jnp.intersect1d(2.0, 2.0)
jnp.setxor1d(1, 2)
jnp.gradient(A((3,), 'bool'), 2)
jnp.gradient(A((3,), 'int8'), 2)
jnp.gradient(A((3,), 'int8'), 2.0)
jnp.polyder(W(2), m=0)
jnp.polyint(W(2), m=0)
jnp.resize(3, (0,))
jnp.unwrap(A((0,), 'uint16'))
jsp.stats.chi2.cdf(A((3,), 'int8'), 0.3)
jsp.stats.gamma.pdf(A((3,), 'uint16'), 0.3)
jsp.stats.gamma.sf(A((3,), 'uint16'), 0.3)
jsp.stats.norm.logpdf(A((3,), 'int8'), 0.3)
jsp.stats.norm.logpdf(0.5, 0.3)
jsp.stats.pareto.logcdf(A((3,), 'int8', 'p'), 0.3)
jsp.stats.pareto.sf(A((3,), 'int8', 'p'), 0.3)
jsp.stats.poisson.pmf(A((3,), 'int8', 'p'), 0.3)
jsp.stats.poisson.cdf(A((3,), 'int8', 'p'), 0.3)
jsp.stats.uniform.cdf(0.5)
jsp.stats.betabinom.pmf(A((3,), 'int8', 'p'), 3.0, 0.4, 0.5)
""".strip()
DTYPES = """
lax.dot(A((4,), 'int8'), A((4, 3), 'uint8'))
lax.dot(A((4,), 'uint32'), A((4, 3), 'int8'))
lax.dot(A((4,), 'float16'), A((4, 3), 'bfloat16'))
lax.dot(A((3, 4)), A((4, 3)), preferred_element_type='float16')
lax.dot(A((3, 4)), A((4, 3)), preferred_element_type='int32')
lax.dot(A((3, 4), 'complex64'), A((4, 3), 'complex64'), preferred_element_type='float32')
lax.dot(A((3, 4), 'int32'), A((4, 3), 'int32'), preferred_element_type='int8')
lax.conv(A((1, 1, 4, 4), 'bool'), A((1, 1, 2, 2), 'bool'), (1, 1), 'SAME')
lax.conv(A((1, 1, 4, 4)), A((1, 1, 2, 2)), (1, 1), 'SAME', preferred_element_type='float16')
lax.conv(A((1, 1, 4, 4), 'int8'), A((1, 1, 2, 2), 'int8'), (1, 1), 'SAME', preferred_element_type='uint8')
jnp.linalg.vector_norm(A((3,), 'int16'), ord=np.inf)
jnp.linalg.vector_norm(A((3,), 'int16'), ord=1)
lax.shape_as_value((2, 3))
lax.linalg.lu(A((2, 2)))
lax.stop_gradient(1.0)
jax.grad(jnp.float8_e4m3fn)(0.5)
jax.grad(lambda x: x.astype('float8_e4m3b11fnuz').astype(float))(0.5)
jax.jit(lambda x: x, donate_argnums=0)(A((3,)))
jax.jit(lambda x: (x, x + 1), donate_argnums=0)(A((3,)))
jax.jit(lambda x: x.reshape(3, 1) + 1, donate_argnums=0)(A((3,)))
""".strip()
WORKING = """
jnp.roots(0.5)
jnp.roots(A((0,)))
jnp.trim_zeros(0.5)
lax.integer_pow(0.5, 2.0)
lax.integer_pow(0.5, 2.5)
jsp.special.multigammaln(2.0, 2.0)
jnp.kaiser(3.7, 2.0)
jnp.array_equiv(A((1,), 'uint4'), A((2,), 'bfloat16'))
jnp.array_split(A((4,)), 1.5)
jnp.split(A((4,)), 2.0)
jnp.bincount(A((3,), 'int32', 'p'), minlength=-1)
jnp.cumsum(3, axis=0)
jnp.nancumprod(0, axis=-1)
jnp.cumsum(3, axis=1)
jnp.fft.fftfreq(2.0)
jnp.fft.hfft(A((3, 1), 'int8'))
jnp.fft.irfft(A((1,)))
jnp.fft.irfftn(A((2, 1)))
jnp.fromfunction(lambda *i: i[0] + 1.0, 3)
jnp.gradient(A(()), A((3,)))
jnp.linspace(2, 3, 1, axis=5)
jnp.linspace(2, 3, 0, axis=1)
jnp.nanstd(A((3, 1), 'uint16'), axis=0, where=A((3, 4), 'bool') | True)
jnp.nonzero(A((0,), 'uint32'), size=4, fill_value=(1, 2))
jnp.piecewise(A((), 'int32'), [A((3,), 'bool')], [lambda x: x + 1, lambda x: x])
jnp.polyadd(A((2, 2)), A((2, 2)))
jnp.polyadd(A((2, 2)), A((2,)))
jnp.repeat(0, 2, axis=1)
jnp.repeat(A((0,)), 2, total_repeat_length=4)
jnp.roll(3, 1, axis=())
jnp.take(A((3,)), np.array([True]))
lax.concatenate([A((2,))], 2)
lax.scan(lambda c, x: (c, x), W(0.0), A((3,)), length=3.0)
random.permutation(key(), -1)
A((3,), 'int16').at[np.array([0, 1, 5])].get(mode='fill', fill_value=np.nan)
jax.device_get({'a': key(), 'b': A((1,))})['b']
""".strip()
REFUSED = """
jnp.polyder(W(2), m=1)
jnp.polydiv(W(2), A((2, 2)))
jnp.signbit(A((), 'float8_e5m2'))
lax.conj(A((3,), 'float16'))
lax.broadcast(A(()), 2)
lax.scan(lambda c, x: (c, x), 0.0, A(()))
lax.conv_general_dilated(A((1, 1, 4, 4)), A((1, 1, 2, 2)), (1, 1), [(0, 0)])
jax.jacrev(lambda x, y: x * y, argnums=1)(1.0)
jax.jacfwd(lambda x, y=2.0: x * y, argnums=(0, 1))(1.0)
jax.grad(lambda x, y=2.0: x * y, argnums=1)(1.0)
jax.make_jaxpr(1)
jax.tree.flatten({1: 1, 'a': 2})
A((3, 4))[jnp.array([0, 1, 2]), jnp.array([0, 1])]
A((3, 4)).at[jnp.array([0, 1, 2]), jnp.array([0, 1])].set(1)
key().astype(int)
key().item()
key().sum()
""".strip()
TEXTS = "\n".join([WEAKNESS, DTYPES, WORKING, REFUSED]).split("\n")


@pytest.mark.parametrize("text", TEXTS)
def test_beside_jax(text: str) -> None:
    theirs, ours = (library.outcome(text) for library in LIBRARIES)
    found: Any = compared(theirs, ours)
    assert found is None or found.kind == "message", found
