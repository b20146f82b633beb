"""Expressions whose results are weak where JAX's are, and others beside JAX that differed with them."""

from __future__ import annotations

from typing import Any

import jax
import pytest
from expressions import Library, compared

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
LIBRARIES = Library(jax, False), Library(lazynp.jax, False)
VECTOR, MATRIX, NUMBERS = "jnp.full((3,), 2.0)", "jnp.diag(jnp.full((2,), 3.0)) + 1.0", "jnp.full((3,), 3)"
OF_VECTORS = """
lax.reduce_sum(x, (0,)), lax.reduce_max(x, (0,)), lax.reduce_prod(x, ())
lax.cumsum(x), lax.cummax(x), lax.cumprod(x), lax.cumlogsumexp(x)
lax.sort(x), lax.top_k(x, 2), lax.approx_max_k(x, 2)
lax.reduce(x, 0.0, lax.add, (0,)), lax.reduce(x, 0.0, lambda a, b: a + b, (0,))
lax.reduce(x, jnp.float32(0), lambda a, b: a + b, (0,))
lax.reduce_window(x, 0.0, lax.add, (2,), (1,), 'SAME'), lax.reduce_window(x, -jnp.inf, lax.max, (2,), (1,), 'SAME')
lax.reduce_window(x, jnp.float32(0), lax.add, (2,), (1,), 'SAME')
lax.reduce_window(x, 0.0, lambda a, b: a + b, (2,), (1,), 'SAME')
lax.pad(x, 0.0, ((1, 1, 0),)), lax.pad(x, jnp.float32(1), ((1, 1, 0),))
lax.scatter(x, np.array([[1]]), jnp.ones(1), lax.ScatterDimensionNumbers((), (0,), (0,)))
lax.scatter_mul(x, np.array([[1]]), x[:1], lax.ScatterDimensionNumbers((), (0,), (0,)))
lax.gather(x, np.array([[1]]), lax.GatherDimensionNumbers((), (0,), (0,)), (1,), mode='fill', fill_value=1.0)
lax.conv_general_dilated(x[None, None], x[None, None], (1,), 'SAME')
lax.conv_general_dilated(x[None, None], jnp.ones((1, 1, 3)), (1,), 'SAME')
jnp.pad(x, 1), jnp.pad(x, 1, mode='mean'), jnp.pad(x, 1, mode='linear_ramp'), jnp.pad(x, 1, mode='empty')
jnp.pad(x, 1, constant_values=jnp.float32(2)), jnp.cross(x, x), jnp.linalg.cross(x, x)
jnp.put_along_axis(x, np.array([0]), jnp.float32(1), 0, inplace=False)
jsp.linalg.toeplitz(x)
""".strip()
OF_MATRICES = """
lax.linalg.cholesky(x), lax.linalg.eigh(x), lax.linalg.qr(x), lax.linalg.lu(x), lax.linalg.svd(x)
lax.linalg.eig(x), lax.linalg.schur(x), lax.linalg.hessenberg(x), lax.linalg.triangular_solve(x, x)
lax.linalg.triangular_solve(x, jnp.ones((2, 2))), lax.linalg.householder_product(x, x[0])
lax.linalg.symmetric_product(x, x), lax.linalg.cholesky_update(jnp.triu(x), x[0]), lax.linalg.qdwh(x)[:2]
jnp.linalg.cholesky(x), jnp.linalg.eigh(x), jnp.linalg.qr(x), jnp.linalg.eigvals(x), jnp.linalg.svd(x)
jnp.linalg.solve(x, x), jnp.linalg.solve(x, jnp.ones(2)), jnp.linalg.inv(x), jnp.linalg.pinv(x), jnp.linalg.det(x)
jnp.linalg.slogdet(x), jnp.diag(x), jnp.diagonal(x), jnp.tril(x), jnp.triu(x), jsp.linalg.polar(x)
jsp.linalg.cholesky(x), jsp.linalg.lu(x), jsp.linalg.lu_factor(x), jsp.linalg.solve(x, x), jsp.linalg.eigh(x)
""".strip()
OF_NUMBERS = """
lax.reduce_or(x, ()), lax.reduce_and(x, (0,)), lax.reduce_xor(x, (0,)), lax.reduce(x, 0, lax.bitwise_or, (0,))
""".strip()
DERIVATIVES = """
x ** 0.5 | jnp.power(x, 2.0) | jnp.power(2, x) | lax.pow(x, 2) | jnp.sqrt(x) | jnp.sin(x) | x * x | x * jnp.float32(2)
x[0] | x[1:] | x[::-1] | x[np.array([0, 2])] | lax.sort(x) | jnp.roll(x, 1) | jnp.take(x, 0) | lax.top_k(x, 2)[0]
lax.dynamic_slice(x, (1,), (2,)) | x.at[0].add(x.sum()) | lax.pad(x, 0.0, ((1, 1, 0),)) | jnp.diag(x) | jnp.diff(x)
x @ jnp.ones((3, 3)) | lax.dot(x, jnp.ones(3)) | x @ x | jnp.outer(x, x) | lax.complex(x, x).real | jnp.real(x)
lax.reduce_max(x, (0,)) | jnp.cumsum(x) | x**3 | jnp.sum(x) | jnp.where(x > 0, x, 0.0)
""".strip()
OTHERS = """
jax.vjp(lambda x: lax.scan(lambda c, _: (c * x, c), 1.0, None, length=3), 2.0)[1]((np.float32(1), A((3,))))
jax.vjp(lambda x: lax.fori_loop(0, 3, lambda i, c: c * x, 1.0), 2.0)[1](np.float32(1))
jax.grad(lambda x, y: lax.scan(lambda c, z: (c * x + z, c), 1.0, y)[1].sum(), (0, 1))(2.0, A((3,)))
[jax.linearize(lambda x: x * 2.0, 2.0)[1](t) for t in (1.0, np.float32(1))]
[jax.linear_transpose(lambda x: x * 2.0, 2.0)(t) for t in (1.0, np.float32(1))]
jax.linear_transpose(lambda x: x.sum(), A((3,)))(1.0)
jax.linearize(lambda x: lax.scan(lambda c, _: (c * x, c), 1.0, None, length=3), 2.0)[1](np.float32(1))
[f.trace(1.0).out_info.weak_type + 2 * f.lower(1.0).out_info.weak_type for f in [jax.jit(lambda x: x * 2)]]
jax.vjp(lambda x: jnp.linalg.qr(x, mode='complete'), A((4, 2)))[1]((A((4, 4), seed=1), A((4, 2), seed=2)))
jv(lambda x: jnp.linalg.qr(x, mode='complete'), A((2, 5, 2), 'complex64'))
jax.jacfwd(jax.jacrev(lambda x: jnp.linalg.qr(x, mode='complete')[0]))(A((3, 2)))
lax.approx_max_k(A((4, 5)), 2, aggregate_to_topk=False)
lax.approx_max_k(A((300,)), 2, aggregate_to_topk=False)
lax.approx_max_k(A((2, 3000)), 10, aggregate_to_topk=False, recall_target=0.8)[0].shape
lax.approx_max_k(A((2, 3000)), 1, aggregate_to_topk=False)[0].shape
lax.approx_min_k(A((2, 300)), 10, aggregate_to_topk=False, reduction_input_size_override=10000)[0].shape
lax.approx_min_k(A((4, 5)), 7)
lax.approx_min_k(A((4, 5), 'int32'), 2)
lax.approx_min_k(A(()), 1)
jnp.polydiv(A((1,)), A((1,)), trim_leading_zeros=True)
lax.fft(A((3, 4)), 'IRFFT', ())
lax.fft(A((3, 4), 'float16'), 'RFFT', ())
random.geometric(key(), jnp.array([0.1, 1.0, 0.0, 0.5]))
jnp.take_along_axis(random.split(key(), 4), np.array([1, 9]), 0)
random.split(key(), 3).at[0].add(key())
A((3,)) in A((3,))
None in A((3, 3))
A((3,)).reshape(3, copy=True)
A((3,)).__array_namespace__(api_version='2023.12')
A((2, 3, 3)) @ A((3, 3, 2))
jnp.array([A((), 'bfloat16'), 1])
jnp.array([[A((), 'float8_e4m3fn')], [1]])
A((3,)).__reversed__
repr(jsp.stats.gaussian_kde(jnp.arange(4.0)))[:140]
jsp.stats.rankdata(A((2, 3)), axis=(0, 1))
jsp.special.hyp2f1(1.0, 2, 3.0, 0.5)
jsp.linalg.cholesky(A((3,)))
jsp.linalg.cho_factor(2.0)
jnp.shape([1, 2]), jnp.ndim((1, [2])[:1]), jnp.size(None), jnp.size([[1, 2]], 1)
jsp.linalg.sqrtm(A((3,)))
jsp.signal.fftconvolve(A((3, 4)), A((3, 4)), axes=(0, 5))
jsp.signal.fftconvolve(A(()), A(()), axes=0)
jsp.signal.fftconvolve(A((3, 4)), A((2, 4)), axes=(0, -2))
jax.image.scale_and_translate(A((3, 4)), (5, 6), (0, 1), A((1,)), A((2,)), 'linear')
jax.image.scale_and_translate(A((3, 4)), (5, 6), (0, 1), 2.0, A((2,)), 'cubic')
jax.image.scale_and_translate(A((3, 4)), (5, 6), (2,), A((1,)), A((1,)), 'cubic')
jax.grad(lambda y: (lambda f: [f.defjvp(lambda p, t: (p[0], t[0])), f(2.0)][1])(jax.custom_jvp(lambda x: x * y)))(3.0)
A((3,), 'float8_e4m3b11fnuz') + 1.5, jnp.clip(A((3,), 'float8_e4m3b11fnuz'), 0, 1)
random.categorical(key(), jnp.zeros(2), shape=(-1,))
lax.tile(A((2,)), (2, 2))
lax.ragged_dot(A((3, 2)), A((2, 3, 2)), jnp.array([1, 2]))
lax.ragged_dot(A((3, 2)), A((2, 2, 2)), jnp.array([1, 2, 3]))
random.split(5)
random.multinomial(key(), 5, jnp.array([0.2, 0.8]), shape=(2, 3))
with jax.numpy_rank_promotion('raise'): out = jnp.where(True, A((3,)), A((2, 3)))
with jax.numpy_dtype_promotion('strict'): out = jnp.linspace(np.int32(1), np.int32(4), 3)
A((2, 3, 3), 'int8') @ A((3, 3, 2), 'complex64')
""".strip()


def beside(text: str) -> None:
    theirs, ours = (library.outcome(text) for library in LIBRARIES)
    found: Any = compared(theirs, ours)
    assert found is None or found.kind == "message", found


@pytest.mark.parametrize("text", OF_VECTORS.split("\n"))
def test_of_weak_vectors(text: str) -> None:
    beside(f"(lambda x: ({text}))({VECTOR})")


@pytest.mark.parametrize("text", OF_MATRICES.split("\n"))
def test_of_weak_matrices(text: str) -> None:
    for f in ("", "jax.jit"):
        beside(f"{f}(lambda x: ({text}))({MATRIX})")


@pytest.mark.parametrize("text", OF_NUMBERS.split("\n"))
def test_of_weak_whole_numbers(text: str) -> None:
    beside(f"(lambda x: ({text}))({NUMBERS})")


@pytest.mark.parametrize("text", DERIVATIVES.split("\n"))
def test_derivatives_along_weak_vectors(text: str) -> None:
    point = "lax.concatenate([lax.full((1,), v) for v in (1.0, 2.5, 0.5)], 0)"
    for f in text.split(" | "):
        beside(f"(lambda f, x: jax.jvp(f, (x,), (lax.full((3,), 1.0),)))(lambda x: {f}, {point})")
        beside(f"(lambda out, back: back(lax.full(out.shape, 1.0)))(*jax.vjp(lambda x: {f}, {point}))")


@pytest.mark.parametrize("text", OTHERS.split("\n"))
def test_beside_jax(text: str) -> None:
    beside(f"{text}\n" if text.startswith("with ") else text)
