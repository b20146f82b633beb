"""`jax.experimental.sparse` beside JAX's."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import jax
import numpy as np
import pytest

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
M = np.array([[1, 0, 2], [0, 0, 3]], np.float32)
STACK = np.array([M, M * 0 + [0, 4, 0]], np.float32)
F4 = np.where(np.arange(24) % 3 == 0, np.arange(24), 0).astype(np.float32).reshape(2, 3, 4)
V = np.arange(3, dtype=np.float32)
V4 = np.arange(12, dtype=np.float32).reshape(3, 4)
BUFFERS = ("data", "indices", "indptr", "row", "col")


def show(x: Any) -> Any:
    """What is compared of a result."""
    if type(x).__name__ in ("BCOO", "BCSR", "COO", "CSR", "CSC"):
        known = [getattr(x, name, None) for name in ("indices_sorted", "unique_indices")]
        return [repr(x), *[np.asarray(getattr(x, b)) for b in BUFFERS if hasattr(x, b)], np.asarray(x.todense()), known]
    if isinstance(x, (tuple, list)):
        return [show(y) for y in x]
    if isinstance(x, dict):
        return {k: show(v) for k, v in x.items()}
    return np.asarray(x) if hasattr(x, "shape") else x


def outcome(case: str, j: Any) -> Any:
    """The result of a case under JAX or here; of an error its class."""
    sparse = importlib.import_module(f"{j.__name__}.experimental.sparse")
    names = {**globals(), "j": j, "s": sparse, "jnp": j.numpy, "lax": j.lax, "B": sparse.BCOO.fromdense}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return show(eval(case, {**names, "R": sparse.BCSR.fromdense}))
        except Exception as error:
            return type(error).__name__


CASES = [
    "B(STACK,n_batch=1)",
    "B(STACK,n_dense=1)",
    "B(STACK,n_batch=1,n_dense=1)",
    "B(STACK,n_batch=3)",
    "B(V4)[jnp.array([0,2])]",
    "B(V4)[:,jnp.array([0,9])]",
    "B(V4,n_batch=1)[jnp.array([[0,-1]])]",
    "B(STACK)[1:,jnp.array([0,1]),None]",
    "B(V4)[jnp.array([0,2]),jnp.array([1,2])]",
    "B(V4)@B(np.zeros((4,2),np.float32))",
    "s.BCOO._empty((3,4))@B(V4.T)",
    "B(STACK,n_dense=3)",
    "B(M,nse=1)",
    "B(np.float32(3))",
    "B(M).update_layout(n_batch=1,on_inefficient=None)",
    "B(M).update_layout(n_dense=1)",
    "B(STACK,n_batch=1).update_layout(n_batch=0)",
    "B(F4,n_batch=1,n_dense=1).update_layout(n_batch=0,n_dense=0)",
    "B(F4,n_batch=1,n_dense=1).update_layout(n_batch=2,n_dense=0,on_inefficient=None)",
    "B(M).update_layout(n_batch=3)",
    "s.bcoo_broadcast_in_dim(B(M),shape=(2,2,3),broadcast_dimensions=(1,2))",
    "s.bcoo_broadcast_in_dim(B(M),shape=(2,3,4),broadcast_dimensions=(0,1))",
    "s.bcoo_broadcast_in_dim(B(M,n_batch=1),shape=(2,4,3),broadcast_dimensions=(0,2))",
    "s.bcoo_broadcast_in_dim(B(M,n_dense=1),shape=(2,4,3),broadcast_dimensions=(0,2))",
    "s.bcoo_concatenate([B(M),B(M)],dimension=0)",
    "s.bcoo_concatenate([B(M,n_batch=1),B(M,n_batch=1,nse=3)],dimension=0)",
    "s.bcoo_concatenate([B(M,n_dense=1),B(M,n_dense=1)],dimension=1)",
    "s.bcoo_concatenate([B(M),B(M,n_dense=1)],dimension=1)",
    "s.bcoo_concatenate([B(M[:1]),B(M,n_batch=1)],dimension=0)",
    "s.bcoo_reshape(B(M),new_sizes=(3,2))",
    "s.bcoo_reshape(B(F4,n_batch=1),new_sizes=(2,12))",
    "s.bcoo_reshape(B(F4,n_batch=1),new_sizes=(1,2,4,3))",
    "s.bcoo_reshape(B(F4,n_dense=1),new_sizes=(3,2,2,2))",
    "s.bcoo_reshape(B(M),new_sizes=(3,2),dimensions=(1,0))",
    "s.bcoo_rev(B(M,nse=5),(0,))",
    "s.bcoo_rev(B(F4,n_batch=1,n_dense=1),(0,1,2))",
    "s.bcoo_squeeze(B(M[:1]),dimensions=(0,))",
    "s.bcoo_squeeze(B(M[None],n_batch=1),dimensions=(0,))",
    "s.bcoo_slice(B(M),start_indices=(0,1),limit_indices=(2,3))",
    "s.bcoo_slice(B(M,nse=6),start_indices=(0,0),limit_indices=(2,3),strides=(1,2))",
    "s.bcoo_slice(B(F4,n_batch=1,n_dense=1),start_indices=(0,1,1),limit_indices=(1,3,4),strides=(1,1,2))",
    "s.bcoo_slice(B(M),start_indices=(0,1),limit_indices=(2,4))",
    "s.bcoo_dynamic_slice(B(M),(0,1),(1,2))",
    "s.bcoo_dynamic_slice(B(M),(0,-1),(1,2))",
    "s.bcoo_dynamic_slice(B(M),(0,1),(3,2))",
    "s.bcoo_reduce_sum(B(M),axes=(0,))",
    "s.bcoo_reduce_sum(B(F4,n_batch=1,n_dense=1),axes=(0,2))",
    "s.bcoo_reduce_sum(B(F4,n_batch=2),axes=(1,))",
    "s.bcoo_reduce_sum(B(M,nse=6),axes=(0,1))",
    "s.bcoo_multiply_sparse(B(M),B(M[:1]))",
    "s.bcoo_multiply_sparse(B(F4,n_batch=1),B(F4,n_batch=1))",
    "s.bcoo_multiply_dense(B(M),jnp.asarray(V))",
    "s.bcoo_multiply_dense(B(F4,n_batch=1,n_dense=1),jnp.asarray(F4))",
    "s.bcoo_gather(B(M),jnp.array([[0],[1]]),lax.GatherDimensionNumbers((1,),(0,),(0,)),(1,3))",
    "s.bcoo_extract(B(M),M*2)",
    "s.bcoo_extract(B(M,nse=5),M+1)",
    "s.bcoo_extract(s.BCOO((jnp.ones(3),jnp.array([[0,1],[0,1],[1,2]])),shape=(2,3)),M+1)",
    "s.bcoo_extract(B(F4,n_batch=1),F4+1)",
    "s.bcoo_extract(M,M)",
    "s.bcoo_sum_duplicates(s.BCOO((jnp.ones(4),jnp.array([[0,1],[0,1],[1,2],[2,3]])),shape=(2,3)))",
    "s.bcoo_sum_duplicates(s.BCOO((jnp.ones(4),jnp.array([[0,1],[0,1],[1,2],[2,3]])),shape=(2,3)),nse=5)",
    "s.BCOO((jnp.array([1.,-1,0,3]),jnp.array([[0,1],[0,1],[1,2],[1,1]])),shape=(2,3)).sum_duplicates()",
    "j.jit(lambda m:m.sum_duplicates(nse=m.nse))(B(M))",
    "B(F4,n_batch=1).sum_duplicates(nse=7)",
    "s.bcoo_dot_general(B(F4,n_batch=1),F4,dimension_numbers=(([2],[2]),([0],[0])))",
    "s.bcoo_dot_general(B(F4,n_batch=1),F4,dimension_numbers=(([0,2],[0,2]),([],[])))",
    "s.bcoo_dot_general(B(F4,n_dense=1),F4,dimension_numbers=(([0],[0]),([],[])))",
    "s.bcoo_dot_general(B(F4,n_dense=1),F4,dimension_numbers=(([2],[2]),([],[])))",
    "s.bcoo_dot_general(F4,B(F4,n_batch=1),dimension_numbers=(([2],[2]),([0],[0])))",
    "s.bcoo_dot_general(B(F4,n_batch=2),F4,dimension_numbers=(([2],[2]),([0],[0])))",
    "s.bcoo_dot_general(B(M),B(M.T),dimension_numbers=(([1],[0]),([],[])))",
    "s.bcoo_dot_general(B(F4,n_batch=1),B(F4,n_batch=1),dimension_numbers=(([2],[2]),([0],[0])))",
    "s.bcoo_dot_general(B(F4),B(F4),dimension_numbers=(([2],[2]),([0],[0])))",
    "s.bcoo_dot_general(B(V),B(V),dimension_numbers=(([0],[0]),([],[])))",
    "s.bcoo_dot_general_sampled(jnp.asarray(V4),jnp.asarray(V4),jnp.array([[0,1],[2,2],[3,3]]),dimension_numbers=(([1],[1]),([],[])))",
    "s.bcoo_dot_general_sampled(jnp.asarray(V),jnp.asarray(V),jnp.array([[0,1],[2,2],[3,3]]),dimension_numbers=(([],[]),([],[])))",
    "s.bcoo_conv_general_dilated(B(V[None,None]),jnp.asarray(V[None,None]),window_strides=(1,),padding='SAME')",
    "s.bcoo_conv_general_dilated(B(V[None,None]),B(V[None,None]),window_strides=(1,),padding='VALID')",
    "s.bcoo_conv_general_dilated(B(V[None,None]),B(V[None,None]),window_strides=(2,),padding='VALID')",
    "B(M)*V",
    "B(M)*B(M)",
    "2/B(M)",
    "B(M)+M",
    "B(M)-B(M)",
    "B(M)-M",
    "+B(M)",
    "B(M)**2",
    "B(M)>0",
    "B(M)==1",
    "B(M)[:,1:]",
    "B(M)[-1,::2]",
    "B(M)[...,0]",
    "B(M)[0,2]",
    "list(B(M))",
    "B(M).sum(1)",
    "B(M).sum(axis=0,dtype=int)",
    "B(M).reshape(3,2)",
    "B(M).astype(int)",
    "B(M).astype('float16')",
    "B(M)@np.arange(3)",
    "B(M)@np.ones(4)",
    "B(F4,n_batch=1)@F4.transpose(0,2,1)",
    "B(F4)@F4.transpose(0,2,1)",
    "B(M).astype(int)+M",
    "B(M)*2.5",
    "(B(M.astype(int))*2.5)",
    "(B(M.astype(int))/2)",
    "(B(M.astype(int))@V)",
    "len(B(M)),B(M).size,B(M).ndim,B(M).n_sparse",
    "-B(M)",
    "B(M,n_batch=1)[0]",
    "B(M,n_dense=1)[:,1]",
    "B(F4,n_batch=1,n_dense=1).update_layout(n_batch=0,n_dense=0)",
    "B(M).update_layout(n_batch=1,on_inefficient=None)",
    "B(M).sum(0,dtype=int)",
    "j.vmap(lambda m: m.sum(0))(B(F4,n_batch=1))",
    "j.vmap(lambda m: m.T,in_axes=1,out_axes=1)(B(F4,n_batch=2))",
    "j.vmap(lambda x: B(x,nse=3))(STACK)",
    "j.vmap(lambda m,v:m@v,in_axes=(0,None))(B(STACK,n_batch=1),V)",
    "j.jit(lambda m: m*2)(B(M))",
    "j.jit(lambda m: m.sum_duplicates(nse=4))(B(M))",
    "j.grad(lambda d,i: s.BCOO((d,i),shape=(2,3)).todense().sum())(B(M).data,B(M).indices)",
    "j.jacrev(lambda v: B(M)@v)(V)",
    "s.grad(lambda m: (m@V).sum())(B(M))",
    "s.value_and_grad(lambda m,v: (m@v).sum(),argnums=1)(B(M),V)",
    "s.jacfwd(lambda m: m@V)(B(M))",
    "s.grad(lambda m: ((m@V).sum(),3),has_aux=True)(B(M))",
    "s.grad(lambda m: (m.sum_duplicates(nse=3).todense()**2).sum())(B(M))",
    "s.sparsify(jnp.sin)(B(M))",
    "s.sparsify(lambda x,y: -(jnp.sin(x)@y))(B(M),V)",
    "s.sparsify(lambda x: x+x)(B(M))",
    "s.sparsify(lambda x: x*x)(B(M))",
    "s.sparsify(lambda x: x[0])(B(M))",
    "s.sparsify(lambda x: jnp.concatenate([x,x]))(B(M))",
    "s.sparsify(j.jit(lambda x: x*2))(B(M))",
    "j.jit(s.sparsify(lambda x: x*2))(B(M))",
    "s.sparsify(lambda x,p: lax.cond(p,lambda x:x*2,lambda x:x*3,x))(B(M),True)",
    "s.sparsify(lambda x: lax.scan(lambda c,_:(c*2,None),x,None,3)[0])(B(M))",
    "s.sparsify(lambda x: (x.sum(),x.T,3.))(B(M))",
    "s.sparsify(lambda x,y: x+y)(B(M),M)",
    "s.sparsify(lambda x: x.mean(0))(B(M))",
    "s.sparsify(lambda d: d['a']*d['b'])(dict(a=B(M),b=V))",
    "s.sparsify(jnp.matmul)(R(M),V)",
    "s.sparsify(jnp.sin)(R(M))",
    "s.sparsify(lambda x: x**3)(R(M))",
    "s.sparsify(lambda x: jnp.broadcast_to(x,(2,2,3)))(B(M))",
    "s.sparsify(lambda x: x[:,None,:])(B(M))",
    "s.sparsify(lambda x: jnp.einsum('ij,kj->ik',x,M))(B(M))",
    "s.sparsify(lambda x: x.astype(jnp.float16))(B(M))",
    "s.sparsify(lambda x: j.nn.relu6(x))(B(M))",
    "s.sparsify(lambda x: x)(M)",
    "s.sparsify(lambda x: jnp.exp(x))(M)",
    "s.sparsify(lambda x, y: x*y, use_tracer=True)(B(M),V)",
    "s.sparsify(lambda x: jnp.sqrt(x))(s.BCOO((jnp.ones(2),jnp.array([[0,1],[0,1]])),shape=(2,2)))",
    "R(M)",
    "R(STACK,n_batch=1)",
    "R(F4,n_dense=1)",
    "R(M,nse=5)",
    "R(M).to_bcoo()",
    "s.BCSR.from_bcoo(B(M))",
    "s.BCSR.from_bcoo(B(STACK,n_batch=1))",
    "s.BCSR.from_bcoo(B(V))",
    "R(M)@V",
    "R(M)@V4",
    "R(M).sum_duplicates()",
    "R(M)[0]",
    "s.bcsr_concatenate([R(M),R(M)],dimension=0)",
    "s.bcsr_extract(R(M).indices,R(M).indptr,M+1)",
    "s.bcsr_dot_general(R(F4,n_batch=1),F4,dimension_numbers=(([2],[2]),([0],[0])))",
    "s.bcsr_broadcast_in_dim(R(M),shape=(2,2,3),broadcast_dimensions=(1,2))",
    "R(V)",
    "repr(R(STACK,n_batch=1))",
    "R(M)*2",
    "j.vmap(lambda m,v:m@v)(R(STACK,n_batch=1),jnp.ones((2,3)))",
    "s.COO.fromdense(M)",
    "s.CSR.fromdense(M)",
    "s.CSC.fromdense(M)",
    "s.COO.fromdense(M,nse=5)",
    "s.CSR.fromdense(M,nse=5)",
    "s.COO.fromdense(M).T",
    "s.CSR.fromdense(M).T",
    "s.CSC.fromdense(M).T",
    "s.COO.fromdense(M)@V.astype(int)",
    "s.CSR.fromdense(M)@V",
    "s.CSR.fromdense(M)@np.ones((3,3,3))",
    "s.CSC.fromdense(M)@V4",
    "s.CSC.fromdense(M)@np.ones(4)",
    "s.coo_matvec(s.COO.fromdense(M),jnp.ones(2),transpose=True)",
    "s.csr_matvec(s.CSR.fromdense(M),jnp.ones(2),transpose=True)",
    "s.csr_matmat(s.CSR.fromdense(M),jnp.asarray(V4))",
    "s.COO.fromdense(M)*2",
    "j.jit(lambda m,v: m@v)(s.CSR.fromdense(M),V)",
    "s.grad(lambda m: (m@V).sum())(s.COO.fromdense(M))",
    "s.grad(lambda m: (m@V).sum())(s.CSR.fromdense(M))",
    "s.COO.fromdense(M.T)._sort_indices()",
    "repr(s.COO.fromdense(M))",
    "repr(s.CSR.fromdense(M))",
    "s.eye(3,4,1,sparse_format='bcoo')",
    "s.eye(3,2,5,sparse_format='bcoo',dtype=int)",
    "s.eye(3,sparse_format='bcsr')",
    "s.empty((2,3),sparse_format='coo')",
    "s.eye(3,2,-1,sparse_format='coo')",
    "s.eye(3,4,1,sparse_format='csr')",
    "s.eye(3,2,5,sparse_format='csr',dtype=int)",
    "s.eye(3,sparse_format='csc')",
    "s.empty((2,3),sparse_format='x')",
    "s.eye(3,2,-1,sparse_format='x')",
    "s.eye(3,k=1,n_batch=1)",
    "s.empty((2,3,4),n_batch=1,sparse_format='bcsr',nse=3)",
    "s.random_bcoo(j.random.key(0),(4,5))",
    "s.random_bcoo(j.random.key(0),(4,5,3),nse=3,n_batch=1,n_dense=1,sorted_indices=True)",
    "s.random_bcoo(j.random.key(0),(4,5),nse=30)",
    "s.random_bcoo(j.random.key(0),(4,5),n_batch=3)",
    "s.random_bcoo(j.random.key(0),(4,5),unique_indices=False,generator=j.random.normal)",
    "s.todense(M)",
    "s.todense(B(M))",
    "j.vmap(s.todense)(B(STACK,n_batch=1))",
    "j.grad(lambda x: s.todense(B(x,nse=3)).sum())(M)",
    "s.BCOO((jnp.ones(3),jnp.zeros((2,2),int)),shape=(2,3))",
    "s.BCOO((jnp.ones(2),jnp.zeros((2,2),int)),shape=(2,))",
    "hash(B(M))",
    "isinstance(B(M),s.JAXSparse)",
    "jnp.sin(B(M))",
    "s.BCOO.from_scipy_sparse(__import__('scipy.sparse').sparse.csr_matrix(M))",
    "s.BCSR.from_scipy_sparse(__import__('scipy.sparse').sparse.csr_matrix(M))",
    "j.lax.fori_loop(0,2,lambda i,m: m*2.,B(M))",
    "j.eval_shape(lambda x:B(x,nse=2),M)",
    "j.eval_shape(s.BCOO.fromdense, M)",
]


@pytest.mark.parametrize("case", CASES)
def test_as_in_jax(case: str) -> None:
    found, wanted = outcome(case, lazynp.jax), outcome(case, jax)
    if type(wanted) is str:  # the class of an error
        assert found == wanted
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, 1e-5) if hasattr(b, "shape") else same(a, b), found, wanted
    )


def same(a: Any, b: Any) -> None:
    assert a == b


def test_errors_of_layouts() -> None:
    sparse = importlib.import_module("lazynp.jax.experimental.sparse")
    mat = sparse.BCOO.fromdense(M)
    with pytest.raises(sparse.SparseEfficiencyError, match="n_dense from 0 to 1"):
        mat.update_layout(n_dense=1)
    with pytest.warns(sparse.SparseEfficiencyWarning, match="n_batch from 0 to 1"):
        mat.update_layout(n_batch=1, on_inefficient="warn")


@pytest.mark.parametrize(
    "given",
    [
        {"window_strides": (2,)},
        {"lhs_dilation": (2,)},
        {"feature_group_count": 2},
        {"batch_group_count": 2},
        {"dimension_numbers": ("NHC", "HIO", "NHC")},
        {"preferred_element_type": "float64"},
        {"out_sharding": 1},
    ],
    ids=str,
)
def test_what_convolutions_do_not_do_is_refused(given: dict[str, Any]) -> None:
    sparse = importlib.import_module("lazynp.jax.experimental.sparse")
    x = sparse.BCOO.fromdense(lazynp.jax.numpy.ones((1, 1, 3)))
    with pytest.raises(NotImplementedError, match="bcoo convolution with"):
        sparse.bcoo_conv_general_dilated(x, x, **{"window_strides": (1,), "padding": "VALID"} | given)
    numbers = ("NCH", "OIH", "NCH")
    out = sparse.bcoo_conv_general_dilated(x, x, window_strides=(1,), padding="VALID", dimension_numbers=numbers)
    assert out.todense().tolist() == [[[3.0]]]


def test_a_loop_forgets_what_its_body_does_not_keep() -> None:
    """Transposed indices are not in order: a loop whose body transposes must not say that they are."""
    sparse = importlib.import_module("lazynp.jax.experimental.sparse")
    flipped = sparse.sparsify(lambda x: lazynp.jax.lax.fori_loop(0, 1, lambda i, x: x.T, x))
    out = flipped(sparse.BCOO.fromdense(M[:, 1:]))
    assert not out.indices_sorted
    np.testing.assert_array_equal(out.todense(), M[:, 1:].T)


def test_a_call_inside_sparsify_says_what_it_cannot_keep() -> None:
    """A derivative of its own, donated arguments and places on several devices are refused, not dropped."""
    jax, sparse = lazynp.jax, importlib.import_module("lazynp.jax.experimental.sparse")
    x = sparse.BCOO.fromdense(M)

    @jax.custom_jvp
    def twice(x: Any) -> Any:
        return x * 2

    twice.defjvp(lambda primals, tangents: (twice(*primals), tangents[0] * 20))
    np.testing.assert_array_equal(sparse.sparsify(twice)(x).todense(), M * 2)
    with pytest.raises(NotImplementedError, match="with a derivative of its own"):
        sparse.grad(sparse.sparsify(lambda x: twice(x).sum()))(x)

    ruled = jax.custom_vjp(lambda x: x * 2)
    ruled.defvjp(lambda x: (x * 2, None), lambda _, g: (g * 20,))
    with pytest.raises(NotImplementedError, match="sparse rule for custom_vjp_call is not implemented"):
        sparse.sparsify(ruled)(x)
    with pytest.raises(NotImplementedError, match="donated_invars"):
        sparse.sparsify(jax.jit(lambda x: x * 2, donate_argnums=0))(x)
