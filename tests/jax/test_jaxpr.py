"""`make_jaxpr`, `eval_shape`, `typeof`, stages, and what is asked of tracers: beside JAX's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import lazynp.jax
import lazynp.jax.test_util
from lazynp.jax.flatten_util import ravel_pytree

Program = Callable[[Any], tuple[Callable[..., Any], tuple[Any, ...]]]
ONES = np.ones((2, 3), np.float32)
VECTOR = np.arange(4, dtype=np.float32)
SAME_TEXT: dict[str, Program] = {
    "scalars": lambda j: (lambda x: x * 2 + 1, (3.0,)),
    "product": lambda j: (lambda x, y: j.numpy.sin(x) @ y, (ONES, ONES.T)),
    "matrix and vector": lambda j: (lambda x, y: x @ y, (ONES, np.ones(3, "f4"))),
    "stacks": lambda j: (lambda x, y: x @ y, (np.ones((5, 2, 3), "f4"), np.ones((5, 3, 4), "f4"))),
    "several operations of ours": lambda j: (
        lambda x: (j.lax.logistic(x), j.lax.rsqrt(x), x.astype(int), j.numpy.sign(x), j.lax.sign(x), j.numpy.isnan(x)),
        (VECTOR,),
    ),
    "the same, mapped": lambda j: (j.vmap(lambda x: j.nn.silu(x) + j.lax.convert_element_type(x, "int8")), (ONES,)),
    "other names": lambda j: (
        lambda x: (j.lax.bitcast_convert_type(x, "int32"), j.lax.round(x, j.lax.RoundingMethod(1)), x.T),
        (VECTOR,),
    ),
    "a barrier": lambda j: (j.lax.optimization_barrier, (VECTOR,)),
    "power and sum": lambda j: (lambda x: j.numpy.sum(x**2), (VECTOR,)),
    "sum along an axis": lambda j: (lambda x: x.sum(axis=1), (ONES,)),
    "maximum": lambda j: (lambda x: j.numpy.concatenate([x, x]).max(), (VECTOR,)),
    "one line": lambda j: (lambda x, y: j.lax.add(x, j.lax.exp(y)), (VECTOR, VECTOR)),
    "views": lambda j: (lambda x: (x.T, x.T.reshape(6), x[0], x[:, ::2], x[1, 2]), (ONES,)),
    "tree": lambda j: (lambda d: {"b": d["a"].T, "c": -d["a"]}, ({"a": ONES},)),
    "identity": lambda j: (lambda x: x, (VECTOR,)),
    "constants": lambda j: (functools.partial(lambda c, x: x * c + c, j.numpy.arange(4.0)), (VECTOR,)),
    "cast": lambda j: (lambda x: x.astype(j.numpy.float16), (VECTOR,)),
    "bits": lambda j: (lambda x: ~x & 5, (np.arange(3, dtype=np.int32),)),
    "loop": lambda j: (lambda x: j.lax.fori_loop(0, 5, lambda i, a: a * x, x), (1.0,)),
    "scan": lambda j: (lambda x: j.lax.scan(lambda c, a: (c + a, c), 0.0, x), (VECTOR,)),
    "cond": lambda j: (lambda x: j.lax.cond(x > 0, lambda y: y, lambda y: -y, x), (1.0,)),
    "struct": lambda j: (lambda x: x + 1, (j.ShapeDtypeStruct((2, 2), np.float32),)),
    "sort": lambda j: (lambda x: j.lax.sort(x), (VECTOR,)),
    "select": lambda j: (lambda x, y: j.lax.select(x > y, x, y), (VECTOR, VECTOR)),
    "reverse": lambda j: (lambda x: j.lax.rev(x, (0,)), (VECTOR,)),
}
SAME_PRIMITIVES: dict[str, Program] = {
    "sigmoid": lambda j: (lambda x: 1 / (1 + j.numpy.exp(-x)), (VECTOR,)),
    "mapped": lambda j: (j.vmap(lambda x: j.numpy.tanh(x) * 2), (ONES,)),
    "while": lambda j: (lambda x: j.lax.while_loop(lambda a: a < 10, lambda a: a * 2, x), (1.0,)),
    "rounding": lambda j: (lambda x: j.lax.floor(x) + j.lax.ceil(x), (VECTOR,)),
    "comparisons": lambda j: (lambda x: (x < 1) == (x >= 2), (VECTOR,)),
}


def ours_and_theirs(program: Program) -> tuple[Any, Any]:
    f, args = program(jax)
    g, own = program(lazynp.jax)
    return lazynp.jax.make_jaxpr(g)(*own), jax.make_jaxpr(f)(*args)


@pytest.mark.parametrize("name", SAME_TEXT)
def test_text_as_in_jax(name: str) -> None:
    ours, theirs = ours_and_theirs(SAME_TEXT[name])
    assert str(ours) == str(theirs)


@pytest.mark.parametrize("name", SAME_PRIMITIVES)
def test_primitives_as_in_jax(name: str) -> None:
    ours, theirs = ours_and_theirs(SAME_PRIMITIVES[name])
    assert sorted(str(e.primitive) for e in ours.eqns) == sorted(str(e.primitive) for e in theirs.eqns)


@pytest.mark.parametrize("name", [*SAME_TEXT, *SAME_PRIMITIVES])
def test_a_jaxpr_can_be_run(name: str) -> None:
    f, args = {**SAME_TEXT, **SAME_PRIMITIVES}[name](lazynp.jax)
    args = tuple([np.ones(a.shape, a.dtype) if hasattr(a, "update") and hasattr(a, "sharding") else a for a in args])
    found = lazynp.jax.make_jaxpr(f)(*args)
    results = lazynp.jax.core.eval_jaxpr(found.jaxpr, found.consts, *lazynp.jax.tree.leaves(args))
    for got, wanted in zip(results, lazynp.jax.tree.leaves(f(*lazynp.jax.tree.map(lazynp.jax.numpy.asarray, args)))):
        assert np.allclose(got, wanted, equal_nan=True)


def test_jaxprs_of_everything() -> None:
    """No program has a graph that cannot be shown."""
    j, jnp = lazynp.jax, lazynp.jax.numpy
    x = jnp.arange(6.0).reshape(2, 3) + 1
    programs: list[Any] = [
        lambda x: jnp.linalg.solve(x @ x.T + jnp.eye(2), x),
        lambda x: j.nn.softmax(x) + jnp.linalg.norm(x),
        lambda x: x.at[0, 1].add(2.0)[jnp.array([1, 0])],
        lambda x: j.random.normal(j.random.key(0), (3,)) + x,
        lambda x: jnp.einsum("ij,kj->ik", x, x),
        lambda x: j.debug.print("{}", x) or x[None, ::-1, ..., 0],
        lambda x: j.pure_callback(np.sin, x, x),
        lambda x: jnp.sort(x, axis=0) + jnp.argsort(x) + jnp.cumsum(x, 1) + jnp.max(x, keepdims=True),
        lambda x: j.checkpoint(jnp.sin)(x) + j.lax.stop_gradient(x),
        lambda x: j.nn.relu(x) + j.scipy.special.logsumexp(x),
        lambda x: j.lax.associative_scan(jnp.add, x),
        lambda x: j.vmap(lambda v: j.lax.psum(v, "i"), axis_name="i")(x),
    ]
    for f in programs:
        for way in (f, j.jit(f)):
            assert str(j.make_jaxpr(way)(x)).startswith("{ lambda ")
        if f not in programs[5:7]:  # one returns what is no array's function, one has no derivative
            assert str(j.make_jaxpr(j.grad(lambda v, f=f: jnp.sum(f(v))))(x)).startswith("{ lambda ")


def test_parts_of_a_jaxpr() -> None:
    f = {j: j.make_jaxpr(lambda x: (x * 2).sum() + 3) for j in (jax, lazynp.jax)}
    found = {j: make(VECTOR) for j, make in f.items()}
    for part in (
        lambda c: [str(e.primitive) for e in c.eqns],
        lambda c: [str(e) for e in c.eqns],
        lambda c: [str(a) for a in c.in_avals],
        lambda c: [repr(a) for a in c.out_avals],
        lambda c: len(c.consts),
        lambda c: [str(v.aval) for v in c.jaxpr.invars],
        lambda c: [len(e.invars) for e in c.jaxpr.eqns],
        lambda c: len(c.effects),
    ):
        assert part(found[lazynp.jax]) == part(found[jax])
    with pytest.raises(TypeError):
        lazynp.jax.core.eval_jaxpr(found[lazynp.jax].jaxpr, [], 1.0, 2.0)


def test_arguments_of_make_jaxpr() -> None:
    for j in (jax, lazynp.jax):
        text, shape = j.make_jaxpr(lambda x, n: x[:n], static_argnums=1, return_shape=True)(VECTOR, 2)
        assert str(text) == str(jax.make_jaxpr(lambda x: x[:2])(VECTOR)) and shape.shape == (2,)
    named = lazynp.jax.make_jaxpr(lambda x: lazynp.jax.lax.psum(x, "i"), axis_env=[("i", 4)])(1.0)
    assert "psum" in str(named)


SHAPES: dict[str, Callable[[Any], Any]] = {
    "plain": lambda j: j.eval_shape(lambda x, y: x @ y, ONES, ONES.T),
    "structs": lambda j: j.eval_shape(lambda x: x.sum(0), j.ShapeDtypeStruct((4, 5), np.int32)),
    "tree": lambda j: j.eval_shape(lambda x: {"a": x, "b": [x > 0, 1.0]}, VECTOR),
    "nothing runs": lambda j: j.eval_shape(lambda x: x @ x.T, j.ShapeDtypeStruct((100_000, 100_000), np.float32)),
    "wrong": lambda j: j.eval_shape(lambda x, y: x @ y, ONES, ONES),
    "concrete": lambda j: j.eval_shape(lambda x: float(x), 1.0),
    "of jit": lambda j: j.eval_shape(j.jit(lambda x: x * 2), 1),
    "of grad": lambda j: j.eval_shape(j.grad(lambda x: (x**2).sum()), VECTOR),
    "keywords": lambda j: j.eval_shape(lambda x, *, k: x + k, 1.0, k=VECTOR),
    "typeof": lambda j: [str(j.typeof(x)) for x in (1.0, 1, True, VECTOR, np.int8(3), j.numpy.ones((2, 2)))],
    "typeof repr": lambda j: [repr(j.typeof(x)) for x in (1.0, VECTOR)],
    "struct": lambda j: j.ShapeDtypeStruct((2, 3), "float32"),
    "struct fields": lambda j: [getattr(j.ShapeDtypeStruct((2, 3), "int8"), k) for k in ("shape", "ndim", "size")],
    "struct equal": lambda j: [
        j.ShapeDtypeStruct((2,), "int8") == j.ShapeDtypeStruct((2,), "int8"),
        j.ShapeDtypeStruct((2,), "int8") == j.ShapeDtypeStruct((3,), "int8"),
        len({j.ShapeDtypeStruct((2,), "int8"), j.ShapeDtypeStruct((2,), "int8")}),
    ],
    "struct length": lambda j: len(j.ShapeDtypeStruct((2, 3), "int8")),
    "struct without a dtype": lambda j: j.ShapeDtypeStruct((2,), None),
    "is a tracer": lambda j: [isinstance(j.numpy.ones(2), j.core.Tracer), isinstance(1.0, j.core.Tracer)],
    "tracer in jit": lambda j: str(j.eval_shape(lambda x: x if isinstance(x, j.core.Tracer) else None, 1.0)),
    "fun name": lambda j: j.jit(abs).lower(1.0).compile()(3.0),
    "stages": lambda j: [
        str(j.jit(lambda x: x + 1).trace(VECTOR).jaxpr),
        j.jit(lambda x: x + 1).trace(VECTOR).out_info,
        j.jit(lambda x: x + 1).lower(VECTOR).out_info,
        type(j.jit(lambda x: x + 1).lower(VECTOR).as_text()).__name__,
        np.asarray(j.jit(lambda x: x + 1).lower(VECTOR).compile()(VECTOR)).tolist(),
    ],
    "compiled for others": lambda j: j.jit(lambda x: x + 1).lower(VECTOR).compile()(ONES),
    "compiled for a tree": lambda j: j.jit(lambda x: x + 1).lower(VECTOR).compile()([VECTOR]),
    "jit eval_shape": lambda j: j.jit(lambda x: x + 1).eval_shape(VECTOR),
}


def outcome(check: Callable[[Any], Any], side: Any) -> Any:
    try:
        return str(check(side))
    except Exception as error:
        return next(c for c in type(error).__mro__ if c.__module__ == "builtins").__name__


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_as_in_jax(name: str) -> None:
    assert outcome(SHAPES[name], lazynp.jax) == outcome(SHAPES[name], jax)


def test_ravel_pytree() -> None:
    from jax.flatten_util import ravel_pytree as theirs

    tree = {"a": ONES, "b": [VECTOR, np.float32(2)]}
    ours, unravel = ravel_pytree(tree)
    other, _ = theirs(tree)
    assert np.array_equal(ours, other) and ours.dtype == other.dtype
    back = unravel(ours * 2)
    assert np.array_equal(back["a"], ONES * 2) and back["b"][1].shape == ()
    mixed, split = ravel_pytree([np.int32(3), np.ones(2, np.float32)])
    assert mixed.dtype == np.float32 and split(mixed)[0].dtype == np.int32
    assert ravel_pytree({})[0].shape == (0,)
    with pytest.raises(ValueError):
        unravel(ours[:-1])
    with pytest.raises(TypeError):
        split(mixed.astype(int))
    assert unravel(ours.astype(int))["a"].dtype == np.int32  # leaves of one dtype go with a vector of any
    j = lazynp.jax
    assert j.grad(lambda v: unravel(v)["a"].sum())(ours).tolist() == [1.0] * 6 + [0.0] * 5
    assert j.jit(lambda t: ravel_pytree(t)[0])(tree).tolist() == ours.tolist()


def test_check_grads() -> None:
    j, jnp = lazynp.jax, lazynp.jax.numpy
    check, close = lazynp.jax.test_util.check_grads, {"eps": 1e-2, "atol": 2e-2, "rtol": 2e-2}
    check(lambda x, y: jnp.sin(x) * y["a"], (1.0, {"a": np.float32(2)}), 2, ("fwd", "rev", "lin"), **close)
    with j.enable_x64(True):
        check(lambda x: jnp.tanh(x @ x.T), (np.random.default_rng(0).normal(size=(3, 2)),), 3, ("fwd", "rev"))

    @j.custom_jvp
    def wrong(x: Any) -> Any:
        return x**2

    wrong.defjvp(lambda primals, tangents: (wrong(primals[0]), 3 * tangents[0]))
    for modes in ("fwd", "rev"):
        with pytest.raises(AssertionError):
            check(wrong, (np.float32(5),), 1, (modes,))


# --- Constants along which derivatives are taken ----------------------------------------------------------------------

POINT, OTHER = np.array([1.5, -0.5], np.float32), np.array([0.7, 0.3], np.float32)


def with_rules(j: Any) -> dict[str, Callable[..., Any]]:
    """Functions with derivatives that are not theirs, so that it shows whether the rule was used; `blind_` ones do not
    read their second argument, and have a derivative along it."""
    jnp = j.numpy
    both = j.custom_vjp(lambda x, s: jnp.sin(x) * s)
    both.defvjp(
        lambda x, s: (jnp.sin(x) * s, (x, s)), lambda r, ct: (ct * jnp.cos(r[0]) * r[1] * 2, ct * jnp.sin(r[0]) * 3)
    )
    blind = j.custom_vjp(lambda x, s: x * 1.0)
    blind.defvjp(lambda x, s: (x * 1.0, s), lambda s, ct: (ct * s, ct * 5))
    forward, blind_forward = j.custom_jvp(lambda x, s: jnp.exp(x) * s), j.custom_jvp(lambda x, s: x * 1.0)
    for f in (forward, blind_forward):
        f.defjvp(lambda p, t, f=f: (f(*p), 2 * t[0] * p[1] + 3 * t[1] * p[0]))
    return {"reverse": both, "blind_reverse": blind, "forward": forward, "blind_forward": blind_forward}


CAPTURING: dict[str, Callable[[Any, Any, Any], Any]] = {
    "product": lambda j, a, r: lambda y: y * 0.1 * a,
    "made inside": lambda j, a, r: lambda y: y * (0.1 * a + a * a),
    "stop_gradient": lambda j, a, r: lambda y: y * j.lax.stop_gradient(a) * a,
    "derivative inside": lambda j, a, r: lambda y: j.grad(lambda c: j.numpy.sin(c * a).sum())(y),
    "made before and a": lambda j, a, r: (lambda z: lambda y: y * z * a)(a * a),
    "all of it made before": lambda j, a, r: (lambda z: lambda y: r["reverse"](y, z) + z)(j.numpy.sin(a)),
    "made before, and in a rule": lambda j, a, r: (lambda z: lambda y: r["reverse"](y, z) * a + z)(j.numpy.sin(a)),
    "reduced": lambda j, a, r: lambda y: y / j.numpy.linalg.norm(a) + j.numpy.cumsum(a),
    "where": lambda j, a, r: lambda y: j.numpy.where(a > 0, y * a, j.numpy.sin(a) * y),
    "relu": lambda j, a, r: lambda y: j.nn.relu(y * a) + j.nn.silu(a),
    "written": lambda j, a, r: lambda y: y.at[0].set(a[0]) * j.numpy.max(a),
    **{k: lambda j, a, r, k=k: lambda y: r[k](y, a) for k in ("reverse", "blind_reverse", "forward", "blind_forward")},
    "first argument of a rule": lambda j, a, r: lambda y: r["reverse"](0.1 * a, y),
    "second argument of a rule": lambda j, a, r: lambda y: r["reverse"](y, 0.1 * a),
    "unread argument of a rule": lambda j, a, r: lambda y: r["blind_reverse"](y, 0.1 * a),
    "scan": lambda j, a, r: lambda y: j.lax.scan(lambda c, _: (r["reverse"](c, 0.1 * a), None), y, None, length=3)[0],
    "loop": lambda j, a, r: lambda y: j.lax.fori_loop(0, 3, lambda i, c: r["reverse"](c, 0.1 * a), y),
    "cond": lambda j, a, r: lambda y: j.lax.cond(y[0] > 0, lambda c: r["reverse"](c, 0.1 * a), lambda c: c, y),
    "jit": lambda j, a, r: lambda y: j.jit(lambda c: r["reverse"](c, 0.1 * a))(y),
    "vmap": lambda j, a, r: lambda y: j.vmap(r["reverse"])(y, 0.1 * a),
    "checkpoint": lambda j, a, r: lambda y: j.checkpoint(lambda c: j.numpy.sin(c) * j.numpy.cos(0.1 * a))(y),
    "argument of a checkpoint": lambda j, a, r: lambda y: j.checkpoint(lambda c, b: j.numpy.sin(c) * b)(y, 0.1 * a),
    "converted": lambda j, a, r: lambda y: converted(j, lambda c: j.numpy.sin(c) * 0.1 * a, y),
    "another jaxpr": lambda j, a, r: lambda y: doubled(j, lambda c: r["reverse"](c, 0.1 * a), y),
}


def doubled(j: Any, fun: Any, y: Any) -> Any:
    """A jaxpr, run with twice the constants that it was made with."""
    made = j.make_jaxpr(fun)(y)
    consts = [2.0 * c if j.numpy.issubdtype(c.dtype, np.floating) else c for c in made.consts]
    return j.core.eval_jaxpr(made.jaxpr, consts, y)[0]


def converted(j: Any, fun: Any, y: Any) -> Any:
    """A function that `closure_convert` took apart, called by one with rules of its own."""
    call, consts = j.closure_convert(fun, y)
    outer = j.custom_vjp(lambda y, *cs: call(y, *cs))
    outer.defvjp(lambda y, *cs: (call(y, *cs), (y, cs)), lambda r, ct: j.vjp(call, r[0], *r[1])[1](ct))
    return outer(y, *consts)


def in_a_rule(j: Any, fun: Any, y: Any) -> Any:
    """A jaxpr whose constants are arguments of a function, with a rule that runs the jaxpr and takes its derivative."""
    made = j.make_jaxpr(fun)(y)
    moving = [j.numpy.issubdtype(c.dtype, np.floating) for c in made.consts]

    def call(some: Any, rest: Any, y: Any) -> Any:
        left, right = iter(some), iter(rest)
        return j.core.eval_jaxpr(made.jaxpr, [next(left) if m else next(right) for m in moving], y)[0]

    outer = j.custom_vjp(call)

    def back(kept: Any, ct: Any) -> Any:
        some, rest, y = kept
        found, along = j.vjp(lambda some, y: call(some, rest, y), some, y)[1](ct)
        return [2.0 * c for c in found], None, along

    outer.defvjp(lambda *args: (call(*args), args), back)
    parts: list[list[Any]] = [[], []]
    for c, m in zip(made.consts, moving):
        parts[not m].append(c)
    return outer(*parts, y)


def jitted(j: Any, fun: Any, y: Any) -> Any:
    return j.jit(lambda y: doubled(j, fun, y))(y)


def repeated(j: Any, fun: Any, y: Any) -> Any:
    return j.lax.scan(lambda c, _: (doubled(j, fun, c), None), y, None, length=2)[0]


def recomputed(j: Any, fun: Any, y: Any) -> Any:
    return j.checkpoint(lambda y: doubled(j, fun, y))(y)


RUNNERS = (doubled, converted, in_a_rule, jitted, repeated, recomputed)


@pytest.mark.parametrize("name", CAPTURING)
@pytest.mark.parametrize("run", RUNNERS)
def test_derivatives_along_constants(run: Callable[..., Any], name: str) -> None:
    """Who takes a graph and its constants apart finds the dependence on what is differentiated in the constants."""

    def found(j: Any) -> Any:
        rules = with_rules(j)
        weights = np.array([1, 2], np.float32)
        return j.value_and_grad(lambda a: (run(j, CAPTURING[name](j, a, rules), OTHER) * weights).sum())(POINT)

    for ours, theirs in zip(found(lazynp.jax), found(jax)):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)


def test_constants_are_what_was_there_before() -> None:
    """A constant that is differentiated is what the function captures, not what it makes of that."""
    for capture in (lambda y, a: y * (0.1 * a + a * a), lambda y, a: y * lazynp.jax.lax.stop_gradient(2 * a) * a):
        for around in (lambda j, f: j.grad(f), lambda j, f: j.jit(f), lambda j, f: j.grad(j.jit(f))):

            def f(a: Any, capture: Any = capture) -> Any:
                made = lazynp.jax.make_jaxpr(lambda y: capture(y, a))(OTHER)
                assert len(made.consts) == len(made.jaxpr.constvars) == 1
                return lazynp.jax.core.eval_jaxpr(made.jaxpr, [a], OTHER)[0].sum()

            around(lazynp.jax, f)(lazynp.jax.numpy.asarray(POINT))


SCALARS_INSIDE: dict[str, Callable[[Any], Any]] = {
    "while": lambda j: lambda x: j.lax.while_loop(lambda c: c < 3, lambda c: c + 1, x),
    "fori": lambda j: lambda x: j.lax.fori_loop(0, 3, lambda i, c: c + 1, x),
    "scan": lambda j: lambda x: j.lax.scan(lambda c, _: (c * 2 + 1, c), x, None, length=3),
    "cond": lambda j: lambda x: j.lax.cond(x > 1, lambda y: y * 2, lambda y: -y + 3, x),
    "constants": lambda j: lambda x: j.lax.cond(x > 1, lambda: 1.0, lambda: 2.0),
    "switch": lambda j: lambda x: j.lax.switch(j.numpy.int32(x), [lambda y: y + 1, lambda y: y * 3], x),
}


@pytest.mark.parametrize("name", SCALARS_INSIDE)
def test_scalars_stand_in_bodies(name: str) -> None:
    """Python scalars that bodies of loops and branches read are literals in these, and can be run there."""
    (ours, theirs) = (j.make_jaxpr(SCALARS_INSIDE[name](j))(1.0) for j in (lazynp.jax, jax))
    if name != "switch":  # whose index is clamped by other operations
        assert str(ours) == str(theirs)
    run = lazynp.jax.core.eval_jaxpr(ours.jaxpr.replace(eqns=list(ours.eqns)), ours.consts, 1.0)
    for a, b in zip(run, jax.core.eval_jaxpr(theirs.jaxpr, theirs.consts, 1.0), strict=True):
        np.testing.assert_array_equal(a, b)


NAMED_AS_JAX: dict[str, tuple[Callable[[Any], Callable[[Any], Any]], tuple[int, ...]]] = {
    "convolution": (lambda j: lambda x: j.lax.conv(x, x, (1, 1), "SAME"), (1, 1, 2, 2)),
    "slice": (lambda j: lambda x: j.lax.dynamic_slice(x, (1,), (2,)), (3,)),
    "slice from behind": (lambda j: lambda x: j.lax.dynamic_slice(x, (-2,), (2,)), (3,)),
}


@pytest.mark.parametrize("name", NAMED_AS_JAX)
def test_parameters_are_named_as_in_jax(name: str) -> None:
    f, shape = NAMED_AS_JAX[name]
    x = np.ones(shape, np.float32)
    ours, theirs = (j.make_jaxpr(f(j))(x) for j in (lazynp.jax, jax))
    assert ours.pretty_print() == theirs.pretty_print()
    found = lazynp.jax.core.eval_jaxpr(ours.jaxpr.replace(eqns=list(ours.eqns)), ours.consts, x)
    np.testing.assert_array_equal(found[0], f(jax)(x))


def test_calls_are_shown_when_devices_have_been_used() -> None:
    jnp = lazynp.jax.numpy
    show = lazynp.jax.make_jaxpr(lambda x: jnp.where(x > 0, x, 0))
    before = str(show(jnp.arange(3.0)))
    lazynp.jax.pmap(lambda x: x * 2)(jnp.ones((1, 3)))
    assert "name=_where" in before
    assert str(show(jnp.arange(3.0))) == before
