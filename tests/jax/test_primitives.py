"""Primitives that users define, jaxprs that are interpreted, and rules that see zeros: beside JAX's."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
X, Y = np.array([0.5, 2.0], np.float32), np.array([10.0, 20.0], np.float32)


def part(j: Any, name: str) -> Any:
    return importlib.import_module(f"{j.__name__}.{name}")


def multiply_add(j: Any) -> Callable[..., Any]:
    """`x * y + z` as JAX's documentation defines it: computed by NumPy, derivatives by itself."""
    core, ad = part(j, "extend.core"), part(j, "interpreters.ad")
    batching, mlir = part(j, "interpreters.batching"), part(j, "interpreters.mlir")
    p = core.Primitive("multiply_add")

    def bind(x: Any, y: Any, z: Any) -> Any:
        return p.bind(x, y, z)

    @p.def_impl
    def impl(x: Any, y: Any, z: Any) -> Any:
        return np.add(np.multiply(x, y), z)

    @p.def_abstract_eval
    def abstract_eval(x: Any, y: Any, z: Any) -> Any:
        assert x.shape == y.shape == z.shape
        return j.core.ShapedArray(x.shape, x.dtype)

    def jvp(primals: Any, tangents: Any) -> Any:
        (x, y, z), (xt, yt, zt) = primals, [ad.instantiate_zeros(t) for t in tangents]
        return bind(x, y, z), bind(xt, y, bind(x, yt, zt))

    def transpose(ct: Any, x: Any, y: Any, z: Any) -> Any:
        zeros = np.zeros(ct.shape, ct.dtype)
        if not ad.is_undefined_primal(x):
            return None, bind(ct, x, zeros) if ad.is_undefined_primal(y) else None, ct
        return bind(ct, y, zeros), None, ct if ad.is_undefined_primal(z) else None

    ad.primitive_jvps[p] = jvp
    ad.primitive_transposes[p] = transpose
    batching.primitive_batchers[p] = lambda args, axes: (bind(*args), axes[0])
    mlir.register_lowering(p, mlir.lower_fun(lambda x, y, z: x * y + z, multiple_results=False))
    return bind


def square_add(j: Any) -> Callable[..., Any]:
    bind = multiply_add(j)
    return lambda a, b: bind(a, a, b)


def along(j: Any, f: Any, *args: Any) -> Any:
    return j.jvp(f, args, tuple([np.ones_like(a) for a in args]))


TRANSFORMED: dict[str, Callable[[Any, Any], Any]] = {
    "called": lambda j, f: f(X, Y),
    "jit": lambda j, f: j.jit(f)(X, Y),
    "jvp": lambda j, f: along(j, f, X, Y),
    "grad": lambda j, f: j.grad(lambda a, b: f(a, b).sum(), (0, 1))(X, Y),
    "jit of grad": lambda j, f: j.jit(j.grad(lambda a, b: f(a, b).sum()))(X, Y),
    "vmap": lambda j, f: j.vmap(f)(X, Y),
    "grad of vmap": lambda j, f: j.grad(lambda a: j.vmap(f)(a, Y).sum())(X),
    "second derivative": lambda j, f: j.grad(lambda a: j.grad(lambda b: f(b, Y).sum())(a).sum())(X),
    "in a loop": lambda j, f: j.lax.fori_loop(0, 3, lambda i, a: f(a, Y), X),
    "names": lambda j, f: [str(e.primitive) for e in j.make_jaxpr(f)(X, Y).eqns],
    "text": lambda j, f: str(j.make_jaxpr(f)(X, Y)),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_a_primitive_of_a_user(name: str) -> None:
    ours, theirs = (TRANSFORMED[name](j, square_add(j)) for j in (lazynp.jax, jax))
    jax.tree.map(
        lambda a, b: np.testing.assert_array_equal(np.asarray(a), np.asarray(b)), list_of(ours), list_of(theirs)
    )


def list_of(x: Any) -> Any:
    return list(x) if isinstance(x, (tuple, list)) else x


def test_a_primitive_that_needs_values() -> None:
    """NumPy's function is called when the graph runs; without it, and without types, there is advice."""
    core = lazynp.jax.extend.core
    p = core.Primitive("cumulated")
    p.multiple_results = True
    p.def_impl(lambda x: [np.cumsum(x), np.asarray(x).max()])
    p.def_abstract_eval(lambda x: [x, core.mapped_aval(x.shape[0], 0, x)])
    part(lazynp.jax, "interpreters.mlir").register_lowering(p, lambda ctx, x: [])  # one in MLIR, which is not read
    sums, most = lazynp.jax.jit(lambda x: p.bind(x * 2))(X)
    assert sums.tolist() == [1.0, 5.0] and most == 4.0
    with pytest.raises(NotImplementedError, match=r"Batching rule for 'cumulated' not implemented"):
        lazynp.jax.vmap(p.bind)(X[None])
    with pytest.raises(NotImplementedError, match=r"Differentiation rule for 'cumulated' not implemented"):
        lazynp.jax.grad(lambda x: p.bind(x)[0].sum())(X)
    with pytest.raises(NotImplementedError, match="lower_fun"):
        core.Primitive("nothing").bind(1.0)


def test_what_jit_wants_to_know_of_a_primitive() -> None:
    """Its types, then a lowering; derivatives and batches outside of `jit` want neither."""
    for j in (jax, lazynp.jax):
        core, mlir = part(j, "extend.core"), part(j, "interpreters.mlir")
        p = core.Primitive("unknown")
        p.def_impl(lambda x: x)
        with pytest.raises(NotImplementedError, match="Abstract evaluation for 'unknown' not implemented"):
            j.jit(p.bind)(1.0)
        with pytest.raises(NotImplementedError, match="Batching rule for 'unknown' not implemented"):
            j.vmap(p.bind)(X)
        p.def_abstract_eval(lambda x: x)
        assert j.eval_shape(p.bind, X).shape == X.shape
        with pytest.raises(NotImplementedError, match="MLIR translation rule for primitive 'unknown' not found"):
            j.jit(j.jit(p.bind))(1.0)
        mlir.register_lowering(p, mlir.lower_fun(lambda x: x, multiple_results=False))
        assert j.jit(p.bind)(1.0) == 1


def inverse(j: Any, f: Any) -> Any:
    """An interpreter that runs a function backwards, as JAX's documentation writes it."""
    core = part(j, "extend.core")
    registry = {j.lax.exp_p: j.numpy.log, j.lax.tanh_p: j.numpy.arctanh, j.lax.neg_p: j.numpy.negative}

    def call(*outs: Any) -> Any:
        jaxpr = j.make_jaxpr(f)(*outs).jaxpr
        env: dict[Any, Any] = dict(zip(jaxpr.outvars, outs))
        for e in jaxpr.eqns[::-1]:
            env[e.invars[0]] = registry[e.primitive](env[e.outvars[0]])
        assert not any(isinstance(v, core.Literal) for v in jaxpr.invars)
        return env[jaxpr.invars[0]]

    return call


def interpreted(j: Any, f: Any, *args: Any) -> Any:
    """An interpreter that binds each equation's primitive."""
    core, closed = part(j, "extend.core"), j.make_jaxpr(f)(*args)
    env: dict[Any, Any] = dict(zip(closed.jaxpr.invars, args))
    env.update(zip(closed.jaxpr.constvars, closed.consts))

    def read(v: Any) -> Any:
        return v.val if isinstance(v, core.Literal) else env[v]

    for e in closed.jaxpr.eqns:
        outs = e.primitive.bind(*map(read, e.invars), **e.params)
        env.update(zip(e.outvars, outs if e.primitive.multiple_results else [outs]))
    return [read(v) for v in closed.jaxpr.outvars]


M = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
PROGRAMS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "elementwise": lambda j: lambda x: j.numpy.sin(x) * 2 + x**3 - j.numpy.maximum(x, 1.5),
    "products": lambda j: lambda x: (x @ x.T, j.numpy.einsum("ij,kj->ik", x, x)),
    "reductions": lambda j: lambda x: (x.sum(0), x.max(), x.prod(1, keepdims=True), j.numpy.cumsum(x, 1)),
    "views": lambda j: lambda x: (x.T[::-1], x[None, :, 1], x.reshape(3, 2), j.numpy.concatenate([x, x], 1)),
    "types": lambda j: lambda x: (x.astype(np.int32) & 3, x > 2, ~(x > 2), x.astype(np.float16)),
    "selection": lambda j: lambda x: (j.numpy.where(x > 2, x, -x), j.numpy.clip(x, 2, 4)),
    "sorting": lambda j: lambda x: (j.numpy.sort(-x, 0), j.numpy.argsort(x), j.numpy.argmax(x, 1)),
    "reads and writes": lambda j: lambda x: (x[j.numpy.array([1, 0])], x.at[0, 1].add(2.0), x.at[1].set(0.0)),
    "scan": lambda j: lambda x: j.lax.scan(lambda c, a: (c + a.sum(), c * a), 0.0, x),
    "while": lambda j: lambda x: j.lax.while_loop(lambda a: a.sum() < 100, lambda a: a * 2, x),
    "cond": lambda j: lambda x: j.lax.cond(x.sum() > 3, lambda y: y, lambda y: -y, x),
    "derivative": lambda j: j.grad(lambda x: (j.nn.softmax(x) * j.numpy.tanh(x)).sum()),
    "mapped": lambda j: j.vmap(lambda x: j.numpy.linalg.norm(x) * x),
    "solve": lambda j: lambda x: j.numpy.linalg.solve(x @ x.T + j.numpy.eye(2), x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_equations_can_be_bound(name: str) -> None:
    j = lazynp.jax
    f = PROGRAMS[name](j)
    for way in (f, j.jit(f)):
        found = interpreted(j, way, j.numpy.asarray(M))
        for got, wanted in zip(found, j.tree.leaves(f(j.numpy.asarray(M))), strict=True):
            assert got.dtype == wanted.dtype
            np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=2e-7)  # a difference of numbers near 1


def test_interpreters() -> None:
    for j in (lazynp.jax, jax):
        assert np.allclose(inverse(j, lambda x, j=j: j.numpy.exp(j.numpy.tanh(-x)))(2.0), -np.arctanh(np.log(2.0)))
    counts = [
        Counter(e.primitive.name for e in j.make_jaxpr(lambda x, j=j: j.numpy.sin(x) * j.numpy.cos(x) + x)(X).eqns)
        for j in (lazynp.jax, jax)
    ]
    assert counts[0] == counts[1]


def test_jaxprs_are_put_together() -> None:
    j, core = lazynp.jax, lazynp.jax.extend.core
    closed = j.make_jaxpr(lambda x: (j.numpy.sin(x), j.numpy.cos(x) * 2))(X)
    jaxpr = closed.jaxpr.replace(outvars=closed.jaxpr.outvars[::-1])
    twice, sine = j.core.eval_jaxpr(jaxpr, closed.consts, X)
    np.testing.assert_allclose(twice, np.cos(X) * 2, rtol=1e-6)
    np.testing.assert_allclose(sine, np.sin(X), rtol=1e-6)
    less, used = part(j, "interpreters.partial_eval").dce_jaxpr(closed.jaxpr, [True, False])
    assert [str(e.primitive) for e in less.eqns] == ["sin"] and used == [True]
    core.check_jaxpr(closed.jaxpr)
    with pytest.raises(core.JaxprTypeError):
        core.check_jaxpr(closed.jaxpr.replace(eqns=[]))
    assert j.jit(core.jaxpr_as_fun(closed))(X)[0].shape == (2,)


def symbolic_forward(j: Any) -> Any:
    zero = part(j, "custom_derivatives").SymbolicZero
    f = j.custom_jvp(lambda x, y: x * y)

    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (a, b) = primals, tangents
        seen = 100.0 * (type(a) is zero) + 10.0 * (type(b) is zero)
        return x * y, x * 0 + seen + (0 if type(a) is zero else a) * 0

    f.defjvp(rule, symbolic_zeros=True)
    return [float(j.jvp(g, (2.0,), (1.0,))[1]) for g in (lambda x: f(x, 3.0), lambda y: f(2.0, y))]


def symbolic_reverse(j: Any) -> Any:
    derivatives = part(j, "custom_derivatives")
    seen: list[Any] = []
    f = j.custom_vjp(lambda x, y: (x * y, y))

    def fwd(x: Any, y: Any) -> Any:
        seen.append((x.perturbed, y.perturbed))
        return (x.value * y.value, y.value), (x.value, y.value)

    def bwd(kept: Any, cts: Any) -> Any:
        seen.append([type(c) is derivatives.SymbolicZero for c in cts])
        return cts[0] * kept[1], None

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    return [float(j.grad(lambda x: f(x, 3.0)[0])(2.0)), seen]


def test_symbolic_zeros() -> None:
    for case in (symbolic_forward, symbolic_reverse):
        assert case(lazynp.jax) == case(jax)


def test_wrapped_functions() -> None:
    def outcome(j: Any) -> Any:
        lu, util = part(j, "extend.linear_util"), part(j, "api_util")
        info = util.debug_info("test", outcome, (), {})
        args, tree = j.tree.flatten(((1.0, {"a": 2.0}), {"k": 3.0}))
        flat, out_tree = util.flatten_fun(lu.wrap_init(lambda x, d, k: [x + d["a"], k], debug_info=info), tree)
        out = flat.call_wrapped(*args)
        _, dynamic = util.argnums_partial(lu.wrap_init(lambda a, b, c: (a, b, c), debug_info=info), (0, 2), (1, 2, 3))
        return list(out), j.tree.unflatten(out_tree(), out), util.rebase_donate_argnums((2, 3), (0,)), len(dynamic)

    assert outcome(lazynp.jax) == outcome(jax)
    pe, lu = part(lazynp.jax, "interpreters.partial_eval"), part(lazynp.jax, "extend.linear_util")
    given = [pe.PartialVal.unknown(lazynp.jax.core.ShapedArray((), np.float32)), pe.PartialVal.known(3.0)]
    jaxpr, outs, _ = pe.trace_to_jaxpr_nounits(lu.wrap_init(lambda x, y: [x * y, y + 1]), given)
    assert [v.is_known() for v in outs] == [False, True] and outs[1].get_known() == 4.0 and len(jaxpr.eqns) == 1


A = np.array([[4, 1, 2], [1, 3, 0], [2, 0, 5]], np.float32)
B = np.ones((3, 2), np.float32)
SVD = {"full_matrices": True, "subset_by_index": None, "algorithm": None}
SOLVE = {"left_side": True, "lower": True, "transpose_a": False, "conjugate_a": False, "unit_diagonal": False}
EIGH = {"lower": True, "sort_eigenvalues": True, "subset_by_index": None, "algorithm": None}
MATRICES: dict[str, Callable[[Any, Any], Any]] = {
    "cholesky": lambda j, p: j.numpy.tril(p("cholesky")(A)),
    "cholesky under jit": lambda j, p: j.numpy.tril(j.jit(p("cholesky"))(A)),
    "cholesky under vmap": lambda j, p: j.numpy.tril(j.vmap(p("cholesky"))(np.stack([A, 2 * A]))),
    "svd": lambda j, p: [abs(x) for x in p("svd", compute_uv=True, **SVD)(A)],
    "singular values": lambda j, p: p("svd", compute_uv=False, **SVD)(A),
    "eigh": lambda j, p: [abs(x) for x in p("eigh", **EIGH)(A)],
    "lu": lambda j, p: p("lu")(A),
    "lu_pivots_to_permutation": lambda j, p: p("lu_pivots_to_permutation", permutation_size=3)(np.int32([1, 2, 2])),
    "qr": lambda j, p: [abs(x) for x in p("qr", pivoting=False, full_matrices=True, use_magma=None)(A)],
    "triangular_solve": lambda j, p: p("triangular_solve", **SOLVE)(A, B),
    "hessenberg": lambda j, p: p("hessenberg")(A),
    "tridiagonal": lambda j, p: p("tridiagonal", lower=True)(A),
    "householder_product": lambda j, p: p("householder_product")(A, np.float32([0.5, 0.2])),
    "symmetric_product": lambda j, p: p("symmetric_product", alpha=1.0, beta=2.0)(A, A),
    "which have several results": lambda j, p: [
        getattr(j.lax.linalg, f"{n}_p").multiple_results
        for n in ("cholesky", "svd", "eigh", "eig", "lu", "qr", "schur")
    ],
}


@pytest.mark.parametrize("name", MATRICES)
def test_primitives_of_linear_algebra(name: str) -> None:
    def found(j: Any) -> Any:
        def bound(primitive: str, **params: Any) -> Callable[..., Any]:
            p = getattr(j.lax.linalg, f"{primitive}_p")
            return lambda *args: p.bind(*[j.numpy.asarray(x) for x in args], **params)

        out = MATRICES[name](j, bound)
        return [np.asarray(x) for x in out] if isinstance(out, (list, tuple)) else np.asarray(out)

    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, 1e-4, 1e-5), found(lazynp.jax), found(jax))
