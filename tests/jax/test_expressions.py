"""Expressions in JAX's names come to the same under JAX and under lazynp: a part of the campaign in `expressions.py`,
and what it has found, each with the result or the error, and its message.

LAZYNP_EXPRESSIONS says how many are drawn; `make fuzz-jax` prints what differs in a long run.
"""

from __future__ import annotations

import functools
import os

import jax
import pytest
from expressions import Library, compared, difference, drawn

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
COUNT = int(os.environ.get("LAZYNP_EXPRESSIONS", "250"))
MOST = 0.08  # of the drawn ones, which are made to fail more often than programs do; those whose messages differ aside
FOUND = {
    "axes with names": [
        "jax.vmap(lambda x: jnp.prod(x,axis='i'),axis_name='i')(A((3,)))",
        "jax.vmap(lambda x: jnp.mean(x,axis='i'),axis_name='i')(jnp.arange(3.))",
        "jax.vmap(lambda x: jnp.mean(x,axis=('i',0)),axis_name='i')(jnp.arange(6.).reshape(3,2))",
        "jax.vmap(lambda x: jnp.var(x,axis='i'),axis_name='i')(jnp.arange(3.))",
        "jax.vmap(lambda x: jnp.std(x,axis=('i',0)),axis_name='i')(jnp.arange(6.).reshape(3,2))",
        "jax.vmap(lambda x: jnp.min(x,axis=('i',0),keepdims=True),axis_name='i')(jnp.arange(6.).reshape(3,2))",
        "jax.vmap(lambda x: jnp.sum(x,axis=(0,'i'),initial=2.),axis_name='i')(jnp.arange(6.).reshape(3,2))",
        "jax.vmap(lambda x: jnp.nansum(x,axis=(0,'i')),axis_name='i')(jnp.arange(6.).reshape(3,2))",
        "jax.vmap(lambda x: jnp.ptp(x,axis=(0,'i')),axis_name='i')(jnp.arange(6.).reshape(3,2))",
        "jax.vmap(lambda x: jnp.any(x,axis=(0,'i')),axis_name='i')(jnp.arange(6.).reshape(3,2))",
        "jax.vmap(lambda x: jnp.count_nonzero(x,axis=(0,'i')),axis_name='i')(jnp.arange(6.).reshape(3,2))",
        "jax.vmap(lambda x: jnp.argmax(x,axis='i'),axis_name='i')(jnp.arange(6.).reshape(3,2))",
        "jax.vmap(lambda x: jnp.sum(x,axis='i',dtype=int),axis_name='i')(jnp.arange(3.))",
        "jax.vmap(lambda x: jnp.sum(x,axis='i'),axis_name='i')(jnp.arange(3)>1)",
        "jax.vmap(lambda x: jax.nn.softmax(x,axis='i'),axis_name='i')(jnp.arange(3.))",
        "jax.vmap(lambda x: jax.nn.logsumexp(x,axis='i'),axis_name='i')(jnp.arange(3.))",
        "jnp.sum(A((3,)),axis='a')",
        "jnp.max(A((3,)),axis='a')",
        "jnp.ptp(A((3,)),axis='a')",
        "jnp.any(A((3,)),axis='a')",
        "jnp.prod(A((3,)),axis='a')",
        "jnp.nansum(A((3,)),axis='a')",
        "jnp.argmax(A((3,)),axis='a')",
        "jnp.cumsum(A((3,)),axis='a')",
        "jnp.sort(A((3,)),axis='a')",
        "jnp.median(A((3,)),axis='a')",
        "jnp.count_nonzero(A((3,)),axis='a')",
        "jax.vmap(lambda x: jnp.mean(x,axis=(0,'i'),where=x>1),axis_name='i')(jnp.arange(6.).reshape(3,2))",
        "jax.vmap(lambda x: jnp.var(x,axis=(0,'i'),ddof=1,keepdims=True),axis_name='i')(jnp.arange(6.).reshape(3,2))",
        "jax.vmap(lambda x: jnp.nanmax(x,axis=(0,)),axis_name='i')(jnp.arange(6.).reshape(3,2))",
    ],
    "keys as elements": [
        "jnp.equal(key(0),key(0))",
        "jnp.not_equal(random.split(key(0)),key(0))",
        "lax.eq(key(0),key(0))",
        "lax.ne(key(0),key(1))",
        "jnp.equal(key(0),1)",
        "jnp.array([key(0),key(1)])",
        "jnp.array([[key(0)],[key(1)]]).shape",
        "jnp.array([random.split(key(0)),random.split(key(1))])",
        "jit(lambda k: jnp.array([k,k]))(key(0))",
        "lax.convert_element_type(key(0),'int32')",
        "lax.convert_element_type(3,key(0).dtype)",
        "jnp.nonzero(random.split(key(1),4))",
        "jnp.sin(key(0))",
    ],
    "bits below a byte": [
        "jnp.arange(-8,8).astype('int4').view('int8')",
        "jnp.arange(-8,8).astype('int4').view('uint4')",
        "jnp.arange(16).astype('uint4').view('int16')",
        "jnp.arange(16).astype('uint4').reshape(2,8).view('float32')",
        "lax.bitcast_convert_type(jnp.arange(-5,5).astype('int8'),'int4')",
        "lax.bitcast_convert_type(jnp.arange(-5,5).astype('int16'),'uint4')",
        "lax.bitcast_convert_type(jnp.arange(16).astype('uint4').reshape(4,4),'int16')",
        "jit(lambda x: lax.bitcast_convert_type(x,'int4'))(jnp.arange(3).astype('uint8'))",
    ],
    "lengths below zero and what is no shape": [
        "jnp.broadcast_to(A((1,)),(-1,))",
        "jnp.nonzero(A((3,)),size=-1)",
        "jnp.argwhere(A((),'uint16'),size=-1)",
        "jnp.tril_indices(-1)",
        "jnp.triu_indices(-1,2,3)",
        "jnp.tri(-1)",
        "nn.one_hot(A((1,),'int32'),-1)",
        "jnp.repeat(A((3,)),-1)",
        "jnp.fft.fftfreq(-1)",
        "jnp.hanning(1.5)",
        "jnp.bartlett(2.5)",
        "lax.squeeze(A((1,)),0)",
        "lax.reshape(A((6,)),(6,),(1,0))",
        "lax.reshape(A((2,3)),(6,),(0,0))",
        "jnp.fft.rfftn(A((4,6)),s=(3,3,3))",
    ],
    "repeats": [
        "jnp.repeat(A((3,)),[1,2,1])",
        "jnp.repeat(A((3,)),np.array([1,2,1]),total_repeat_length=5)",
    ],
    "ragged": [
        "jnp.array([A((3,3)),1.])",
        "jnp.array([A((3,3)),A((2,))])",
        "jnp.array([A((2,)),A((3,))])",
        "jnp.array([A((2,)),[1,2,3]])",
        "jnp.array([[A((2,)),A((2,))],A((2,))])",
        "jnp.array([[1,2],[3]])",
        "jnp.array([np.ones(2),np.ones(3)])",
        "jit(lambda x: jnp.array([x,1.]))(A((3,)))",
    ],
    "texts as numbers": [
        "jnp.float32('3')",
        "jnp.int32('7')",
        "jnp.float32('abc')",
        "jnp.complex64('1+2j')",
        "jnp.float32(b'3')",
        "jnp.asarray('3')",
        "jnp.array('3',dtype='float32')",
        "jnp.full(3,None)",
    ],
    "grids and diagonals": [
        "jnp.meshgrid(A(()),A((2,)))",
        "jnp.meshgrid(A((2,2)),A((2,)))",
        "jnp.fill_diagonal(A((2,3,2)),2.5,inplace=False)",
        "jnp.fill_diagonal(A((2,3)),2.5,inplace=False)",
    ],
    "reductions of lax": [
        "lax.reduce(A((3,4)),A((1,)),lax.add,(0,))",
        "lax.cummax(A((3,),'bool'))",
        "lax.cummin(A((3,),'complex64'))",
        "lax.cumsum(A((3,)),-1)",
        "lax.cumsum(A((3,)),5)",
        "lax.approx_max_k(A((5,)),0)",
        "lax.fft(A((4,),'complex64'),0,(4,))",
        "jnp.histogram(A((0,)))",
        "jnp.histogram_bin_edges(A((2,0,4)),bins=5)",
        "jnp.mean(A((3,)),dtype=bool)",
        "jnp.std(A((3,)),dtype=int)",
        "jnp.bitwise_or(A((3,),'int32'),A((2,3,4)))",
    ],
    "jit of an object that has attributes of jit's names": [
        "jit(jnp.negative)(0)",
        "jit(jnp.add)(1, 2.)",
        "jit(jnp.abs)(A((3,)))",
    ],
    "weak Jacobians": [
        "jax.hessian(lambda x: jnp.nanmax(x))(1.)",
        "jax.hessian(lambda x, y: jnp.sum(x**2), argnums=1)(A((3,)), 2.)",
        "jax.jacrev(jax.jacrev(lambda x: jnp.floor(x)))(1.)",
    ],
    "key arrays": [
        "jnp.full((2,), key())",
        "jnp.full_like(random.split(key(), 4), key())",
        "jnp.full((2,), 0, dtype=key().dtype)",
        "jnp.full((2,), key(), dtype=jnp.int32)",
        "jnp.zeros((2,), dtype=key().dtype)",
        "random.key_data(jnp.ones((2,), dtype=key().dtype))",
        "jnp.zeros_like(random.split(key(), 4))",
        "jnp.take(random.split(key(), 4), jnp.array([0, 1]))",
        "jax.grad(lambda k: 1.)(key())",
    ],
    "conversions": [
        "jnp.array(1e10, dtype='uint16')",
        "jnp.array(-1.5, dtype='uint32')",
        "jnp.asarray([1.5, 300], dtype='uint8')",
        "jnp.array(1j, dtype='int8')",
        "jnp.float16(1j)",
        "jnp.array(range(3))",
        "jnp.array([1], order='C')",
        "jnp.asarray([1], order='F')",
        "lax.convert_element_type(A((3,)), None)",
        "jnp.promote_types('int32', jax.dtypes.float0)",
    ],
    "transforms of nothing": [
        "jnp.fft.fft(jnp.zeros(0))",
        "jnp.fft.irfft(jnp.zeros(0))",
        "jnp.fft.fftn(jnp.zeros((2, 0, 3)))",
        "jnp.fft.hfft(jnp.zeros(0))",
        "jnp.fft.rfft(A((4,), 'float16'))",
        "lax.fft(A((4,), 'complex64'), 'foo', (4,))",
    ],
    "counts": [
        "jnp.bincount(jnp.array([1, 2], 'uint8'), weights=jnp.ones(2))",
        "jnp.bincount(jnp.zeros(0, 'uint8'))",
        "jnp.histogram2d(A((5,)), A((5,), seed=1))",
        "jnp.histogramdd(A((5, 2)), density=True)",
        "jnp.delete(A((3,)), 5)",
        "jnp.delete(A((3,)), jnp.array([0, 5]))",
        "jnp.delete(A((3,)), -1)",
    ],
    "functions of halves": [
        "jsp.special.expi(A((3,), 'bfloat16', 'p'))",
        "jsp.special.exp1(A((3,), 'float16', 'p'))",
        "lax.dot(A((2, 2), 'bool'), A((2, 2), 'bool'), preferred_element_type='int32')",
    ],
    "kinds of results": [
        "type(lax.top_k(A((3,)), 2)).__name__",
        "type(jnp.unique_all(A((3,)))).__name__",
        "type(jnp.polyfit(A((6,)), A((6,), seed=1), 1, full=True)[4]).__name__ != 'float'",
        "jnp.isscalar(np.zeros(()))",
        "jax.vjp(lambda x: x.astype(int), A((3,), 'int32'))[1](jnp.ones(3, int))",
    ],
    "traced values": [
        "jit(lambda x: bool(x))(1.)",
        "jit(lambda x: float(x))(1.)",
        "jit(lambda x: range(x))(1)",
        "jit(lambda x: np.array(x))(A((3,)))",
        "jit(lambda x: x[x > 0])(A((3,)))",
        "jit(lambda x: bool(x))(A((3,)))",
    ],
    "what is no array": [
        "jit(lambda x: x)('a')",
        "jit(lambda x: x)(2**40)",
        "jit(lambda x: 'a')(1)",
        "jit(lambda x: {'b': 1, 'a': 'c'})(1)",
        "jax.grad(lambda x: x)('a')",
        "A((3,)) + [1]",
        "(1, 2) * A((3,))",
        "A((3,))[[0, None]]",
        "A((3,))[[0, 1]]",
    ],
    "what has no derivative": [
        "jax.grad(lambda x: x)(1)",
        "jax.grad(lambda x: x * 1j)(1.)",
        "jax.grad(lambda x: 1)(1.)",
        "jax.jacfwd(lambda x: x)(1j)",
        "jax.jacrev(lambda x: x)(1)",
        "jax.jvp(jnp.sin, (1.,), (1,))",
    ],
    "cotangents": [
        "jax.vjp(lambda x: (x, x), 1.)[1](1.)",
        "jax.vjp(lambda x: x, 1.)[1](jnp.ones(3))",
    ],
    "trees": [
        "jax.tree.map(lambda x, y: x, (1, 2), (1, 2, 3))",
        "jax.tree.map(lambda x, y: x, [1, (2,)], [1, [2]])",
    ],
    "promotion": [
        "A((3,), 'float8_e5m2') + A((3,), 'float8_e4m3fn')",
        "A((3,), 'int4') + A((3,))",
        "jnp.remainder(A((3,), 'complex64'), 2)",
        "jnp.bitwise_and(A((3,)), A((3,)))",
        "jnp.invert(A((3,)))",
        "jnp.gcd(A((3,)), A((3,)))",
        "jnp.isclose(A((2, 3)), A((4,)))",
        "jnp.add(A((3,)), A((4,)))",
    ],
    "lax, shapes before dtypes": [
        "lax.add(A((3, 4), 'bool'), A((4,)))",
        "lax.add(A((3,), 'bool'), A((3,)))",
        "lax.pad(A((3,)), 0, [(1, 1, 0), (0, 0, 0)])",
        "lax.clamp(A((2,)), 1., 2)",
        "lax.dynamic_slice(A((4, 5)), (0,), (2, 2))",
        "lax.dynamic_update_slice(A((4, 5)), A((2, 2), 'int32'), (0,))",
        "lax.conv_general_dilated(A((1, 2, 6, 6)), A((3, 1, 3, 3), 'int8'), (1, 1), 'SAME')",
    ],
    "lax": [
        "lax.dot_general(A((3, 4)), A((3, 4)), (((5,), (0,)), ((), ())))",
        "lax.dot_general(A((3, 4)), A((3, 4)), (((0,), (0,)), ((0,), (0,))))",
        "lax.dot_general(A((3, 4)), A((3, 4)), (((1,), (0,)), ((), ())))",
        "lax.slice(A((5,)), (0,), (6,))",
        "lax.reduce(A((3,)), 0, lax.add, (0,))",
        "lax.reduce(A((3,)), 1, lax.add, (0,))",
        "lax.reduce(A((3,), 'int32'), -jnp.inf, lax.max, (0,))",
        "lax.reduce_window(A((6,)), 0, lax.add, (2,), (1,), 'VALID')",
        "lax.reduce_window(A((6,)), 2, lax.add, (2,), (1,), 'VALID')",
        "lax.rev(A((3,)), (3,))",
        "lax.concatenate([A((3,)), A((3,))], 2)",
        "lax.bitcast_convert_type(A((3,), 'uint8'), 'int32')",
        "lax.reduce_precision(A((3,), 'int32'), 0, 1)",
        "lax.full_like(A((2,)), A((2,)))",
        "lax.split(A((6,)), (2, 2))",
        "lax.top_k(A(()), 2)",
    ],
    "jax.numpy": [
        "jnp.stack([A((2,)), A((2, 2))])",
        "jnp.concatenate([A((2,)), A((2, 2))])",
        "jnp.transpose(A((2, 3)), (0, 0))",
        "jnp.reshape(A((4,)), (-1, -1))",
        "jnp.where(A((3,), 'bool'), 1)",
        "jnp.tensordot(A((3,)), A((3,)), axes='a')",
        "jnp.pad(A((3,)), ((1, 2), (3, 4)))",
        "A((4,)).at[:2].set(A((3,)))",
        "jnp.isin(A((3,)), A((3,)), method='foo')",
        "jnp.unique(A((6,), 'int32'), size=2, return_counts=True)",
        "jnp.unique(A((6,), 'float32', 'n'), size=3, equal_nan=False, return_counts=True)",
        "jit(lambda x: jnp.tri(3, 4, k=x))(-1)",
        "jit(lambda x: jnp.insert(A((3,)), x, [1., 2.]))(-1)",
        "jit(lambda x: jnp.insert(A((5,)), x, [1., 2., 3.]))(jnp.array([3, 0, -1]))",
        "jnp.insert(A((5,)), jnp.array([3, 0, 0]), [1., 2., 3.])",
    ],
    "methods of ufuncs": [
        "jnp.logaddexp.at(A((5, 2)), (jnp.array([0, 0, 1]), jnp.array([1, 1, 1])), A((3,)), inplace=False)",
        "jit(lambda x, i: jnp.logaddexp.at(x, i, 2., inplace=False))(A((5,)), jnp.array([0, 0, 1]))",
        "jnp.add.at(A((5,), 'bool'), jnp.array([0, 0, 1]), True, inplace=False)",
        "jnp.negative.at(A((5,)), jnp.array([0, 0, 1]), inplace=False)",
        "jnp.subtract.reduce(A((3, 4)), axis=(0, 1))",
        "jnp.subtract.reduce(A((3, 4)), where=A((3, 4)), initial=1)",
        "jnp.divide.accumulate(A((3, 4), 'int32'))",
        "jnp.add.accumulate(A((3, 4), 'int8'), axis=None)",
        "jnp.add.accumulate(A((3, 4)), axis=(0,))",
        "jnp.subtract.accumulate(A((3, 4)), axis=None)",
        "jnp.add.reduceat(A((8,)), jnp.array([0, 9]))",
        "jnp.add.reduceat(A((8,)), jnp.array([[0, 4]]))",
        "jnp.add.reduceat(A((3, 8)), jnp.array([0, 4]), axis=None)",
        "jnp.frompyfunc(lambda x, y: x * y, 2, 1, identity=1).reduce(A((3, 0), 'int8'), axis=1)",
        "jnp.frompyfunc(1, 1, 1)",
        "jnp.vectorize(lambda x: x, signature='(3)->(3)')(A((2, 4)))",
        "jnp.vectorize(lambda x: [x, x], signature='(n)->(n),(n)')(A((3,)))",
        "jnp.vectorize(lambda x, y: x, signature='(n),()->(n)')(A((3,)), None)",
        "jnp.vectorize(lambda x, y: x, signature='(n),(m)->(n)')(A((3,)), None)",
    ],
    "precision of products": [
        "lax.Precision('float32').name",
        "lax.Precision('foo')",
        "lax.dot(A((2, 3)), A((3, 4)), precision=(lax.Precision.HIGH, 'default'))",
        "lax.dot(A((2, 3)), A((3, 4)), precision='F32_F32_F32')",
        "lax.dot(A((2, 3)), A((3, 4)), precision=lax.DotAlgorithmPreset.TF32_TF32_F32)",
        "lax.dot(A((2, 3)), A((3, 4)), precision=lax.DotAlgorithmPreset.F16_F16_F16, preferred_element_type='float16')",
        "lax.ragged_dot(A((6, 3)), A((2, 3, 4)), jnp.array([2, 4]), precision='foo')",
        "lax.conv(A((1, 2, 6, 6)), A((3, 2, 3, 3)), (1, 1), 'SAME', precision='foo')",
        *[f"jnp.{f}(A((3,)), A((3,)), precision='foo')" for f in ("dot", "vdot", "inner", "vecdot", "convolve")],
        "jnp.einsum('i,i', A((3,)), A((3,)), precision='foo')",
        "jnp.tensordot(A((2, 3)), A((3, 4)), 1, precision='foo')",
        "jnp.linalg.multi_dot([A((2, 3)), A((3, 4))], precision='foo')",
    ],
    "shapes and dtypes of matrices": [
        *[f"jnp.linalg.{f}(A((3,)))" for f in ("svd", "eig", "qr", "inv", "det", "solve")],
        *[f"jnp.linalg.{f}(A((3, 2)))" for f in ("eig", "eigh", "cholesky", "inv", "slogdet")],
        "jnp.linalg.norm(A((2, 3, 4)), ord=2)",
        "jnp.linalg.solve(A((3, 3)), A((2, 3)))",
        "jnp.linalg.lstsq(A((3, 2)), A((3, 2, 2)))",
        "jnp.linalg.svd(A((4, 3)), subset_by_index=(0, 1))",
        *[f"lax.linalg.{f}(A((3,)))" for f in ("svd", "eig", "lu", "qr")],
        *[f"lax.linalg.{f}(A((3, 3), 'int8'))" for f in ("svd", "qr")],
        "lax.linalg.eigh(A((3, 3), 'int32'))",
        "lax.linalg.cholesky(A((3, 2)))",
        "lax.linalg.triangular_solve(A((3, 2)), A((3, 2)))",
        "lax.linalg.triangular_solve(A((3, 3)), A((2, 2)))",
        "lax.complex(A((3,), 'float16'), A((3,), 'float16'))",
    ],
    "samples in all dtypes": [
        "random.rademacher(key(), (3,), 'bool')",
        "random.truncated_normal(key(), -2, 2, (3,), 'bfloat16')",
        "random.binomial(key(), 5., jnp.array([.2, .5, .9], 'bfloat16'), dtype='bfloat16')",
        "random.multinomial(key(), 5, jnp.array([.2, .3, .5], 'bfloat16'), shape=(3, 3))",
    ],
    "counts that have to be known": [
        "jit(lambda x, s: jax.ops.segment_sum(x, s))(A((5,)), jnp.array([0, 0, 1, 3, 2]))",
        "jit(nn.one_hot)(1, 3)",
    ],
    "associated Legendre functions": [
        "jsp.special.lpmn(3, 3, jnp.array([0.3, -.2]))",
        "jsp.special.lpmn_values(3, 3, jnp.array([0.3, .9]), True)",
        "jsp.special.lpmn_values(3, 2, jnp.array([0.3, .9]), False)",
        "jsp.special.lpmn_values(2, 2, jnp.array([1]), False)",
    ],
}


IN_OTHER_WORDS = [
    "jnp.add.at(A((3, 5)), (0, slice(None)), 1., inplace=False)",
    *[f"jnp.linalg.{f}(A((3,)))" for f in ("eigh", "cholesky")],
    "jnp.linalg.solve(A((2, 3, 3)), A((2, 3)))",
    "lax.linalg.svd(A((3, 3), 'float16'))",
    "nn.dot_product_attention(*[A((2, 5, 2, 4))] * 3, implementation='cudnn')",
]
"""What is refused with JAX's class of error, and a text of its own."""


@functools.cache
def libraries(values: bool) -> tuple[Library, Library]:
    return Library(jax, not values), Library(lazynp.jax, False)


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found(name: str) -> None:
    theirs, ours = libraries(True)
    wrong = [f"{text}: {found}" for text in FOUND[name] if (found := difference(text, theirs, ours)) is not None]
    assert not wrong, "\n".join(wrong)


def test_classes_of_errors() -> None:
    theirs, ours = libraries(True)
    found = {text: difference(text, theirs, ours) for text in IN_OTHER_WORDS}
    assert not {text: d for text, d in found.items() if d is not None and d.kind != "message"}


def test_drawn_expressions_agree() -> None:
    theirs, ours = libraries(False)
    texts = drawn(7, COUNT)
    found = {text: d for text in texts if (d := difference(text, theirs, ours)) is not None and d.kind != "message"}
    assert len(found) <= MOST * len(texts), "\n".join([f"{text}: {d}" for text, d in found.items()])


def test_what_differs_is_told() -> None:
    """The comparison tells dtypes, weak types, shapes, values, and errors apart."""
    theirs, ours = libraries(True)
    one = theirs.outcome("jnp.ones(3)")
    others = ("jnp.ones(3, int)", "jnp.ones(2)", "jnp.zeros(3)", "(jnp.ones(3),)", "jnp.ones(3) + [1]")
    assert all(compared(one, ours.outcome(text)) is not None for text in others)
    assert compared(theirs.outcome("W(1)"), ours.outcome("jnp.int32(1)")) is not None
    assert compared(one, ours.outcome("jnp.ones(3)")) is None
