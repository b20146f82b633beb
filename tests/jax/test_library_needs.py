"""What libraries that stand on JAX were stopped by, beside JAX."""

from __future__ import annotations

import importlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
ONE = np.ones((), np.float32)


def in_a_branch(j: Any, choose: str, chosen: int) -> Any:
    """A branch that calls back on what it captures is called back from when it is taken only."""
    seen: list[float] = []

    def shout(x: Any) -> Any:
        seen.append(float(x))
        return np.asarray(x)

    def f(x: Any, which: Any) -> Any:
        def call(*_: Any) -> Any:
            return j.pure_callback(shout, j.ShapeDtypeStruct((), np.float32), x)

        if choose == "switch":
            return j.lax.switch(which, [lambda: x * 2, call])
        if choose == "operand":
            return j.lax.cond(which > 0, call, lambda y: y * 3, operand=x)
        return j.lax.cond(which > 0, call, lambda: x * 2)

    plain, jitted = f(ONE, np.int32(chosen)), j.jit(f)(ONE, np.int32(chosen))
    return float(plain), float(jitted), sorted(set(seen))


def subtree(j: Any, symbolic: bool) -> Any:
    """A cotangent of None for an argument that is a tree, with None in it."""
    f = j.custom_vjp(lambda p, x: p["a"] * x)
    f.defvjp(
        (lambda p, x: (p["a"].value * x.value, p["a"].value)) if symbolic else (lambda p, x: (p["a"] * x, p["a"])),
        lambda a, ct: (None, ct * a),
        symbolic_zeros=symbolic,
    )
    p = {"a": ONE * 3, "b": None, "c": (ONE, None)}
    return [float(x) for x in j.tree.leaves(j.grad(lambda p, x: f(p, x), (0, 1))(p, ONE * 2))]


def keys_types(j: Any) -> list[str]:
    """The dtype of keys is the extended one wherever a type is seen, and is taken wherever a type is given."""
    key = j.random.key(0)
    made = j.eval_shape(j.random.split, key)
    again = j.eval_shape(lambda k: {"k": k[0], "x": j.random.normal(k[1], (3,))}, made)
    assert made.dtype == again["k"].dtype == j.typeof(key).dtype == key.dtype
    assert j.core.ShapedArray((2,), key.dtype) == j.typeof(j.random.split(key))
    assert j.numpy.issubdtype(made.dtype, j.dtypes.prng_key)
    given = j.typeof(key)
    return [str(x) for x in (made, again, given, given.update(shape=(2,)), j.jit(lambda k: k).lower(key).out_info)]


def not_mapped(j: Any) -> Any:
    """What is not mapped is given to the function as it is, whatever it is."""
    seen: list[Any] = []

    def f(x: Any, how: Any, *rest: Any) -> Any:
        seen.extend(rest)
        return how(x)

    out = j.vmap(f, (0, None, None, None))(np.ones((2, 3), np.float32), lambda x: x.sum(), "text", object)
    wrong = []
    for axes in (0, (None, 0)):
        with pytest.raises(TypeError, match="not a valid JAX type"):
            wrong.append(j.vmap(lambda x, s: x, axes)(np.ones(2), "text"))
    return out.tolist(), seen, wrong


def rules_of_rules(j: Any) -> dict[str, Any]:
    """A rule may call functions with rules on tangents: reverse mode transposes what these compute."""
    jvp, vjp = j.custom_jvp, j.custom_vjp
    inner, outer, pair, other = (
        jvp(f) for f in (lambda x: 2 * x, lambda x: x * x, lambda x, y: (x * y, x), lambda x: 3 * x)
    )
    inner.defjvp(lambda p, t: (inner(*p), inner(*t)))
    outer.defjvp(lambda p, t: (outer(*p), inner(2 * p[0] * t[0])))
    pair.defjvp(lambda p, t: (pair(*p), (inner(t[0]) * p[1] + t[1] * p[0], inner(t[0]))))
    reverse = vjp(lambda x: 2 * x)
    reverse.defvjp(lambda x: (reverse(x), None), lambda kept, g: (2 * g,))
    other.defjvp(lambda p, t: (other(*p), reverse(t[0])))
    with pytest.raises(NotImplementedError):
        j.grad(other)(3.0)

    def loop(x: Any) -> Any:
        return j.lax.scan(lambda c, _: (outer(c), None), x, None, length=2)[0]

    line = j.linearize(outer, 3.0)[1]
    found = {
        "grad": j.grad(outer)(3.0),
        "jit": j.jit(j.grad(outer))(3.0),
        "twice": j.grad(j.grad(outer))(3.0),
        "vmap": j.vmap(j.grad(lambda x: pair(x, 2 * x)[0] + pair(x, x)[1]))(j.numpy.arange(3.0)),
        "mixed": (j.jacfwd(j.jacrev(outer))(3.0), j.jacrev(j.jacfwd(outer))(3.0)),
        "scan": j.grad(loop)(1.5),
        "cond": j.grad(lambda x: j.lax.cond(x > 0, outer, lambda x: x, x))(1.5),
        "linear": (line(1.0), j.linear_transpose(line, 3.0)(1.0), j.linear_transpose(inner, 3.0)(1.0)),
    }
    return {k: [np.asarray(a).tolist() for a in j.tree.leaves(v)] for k, v in found.items()}


def types_as_results(j: Any) -> list[str]:
    """A function whose types are asked for may return types."""
    given = {"a": j.ShapeDtypeStruct((2,), np.float32), "k": j.ShapeDtypeStruct((), j.random.key(0).dtype)}
    weak = j.ShapeDtypeStruct((2,), np.float32, weak_type=True)
    with pytest.raises(TypeError):
        j.jit(lambda: given)()
    return [
        str(j.eval_shape(lambda: given)),
        str(j.eval_shape(lambda x: (x, 1.0, j.eval_shape(lambda: weak)), given["a"])),
        str(j.make_jaxpr(lambda x: (x, weak))(1.0).out_avals),
    ]


def traces(j: Any) -> list[list[bool]]:
    """Which results of a function `jvp` gives a tangent: libraries ask for the trace of the arguments, and compare."""
    ad = importlib.import_module(f"{j.__name__}.interpreters.ad")
    core = importlib.import_module(f"{j.__name__}.extend.core")
    found: list[list[bool]] = []

    def asking(f: Callable[..., Any], *args: Any) -> None:
        def inner(*xs: Any) -> Any:
            main = core.find_top_trace(xs).main
            out = f(*xs)
            found.append([isinstance(x, ad.JVPTracer) and x._trace.main is main for x in out])
            return [x for x in out if isinstance(x, j.Array)]

        j.jvp(inner, args, args)

    def nested(x: Any) -> Any:
        asking(lambda z: (z * x, x * 2, z, x), x)
        return x * 3, x.shape

    one = j.numpy.arange(3.0)
    asking(lambda x: (x * 2, x.sum(), j.lax.stop_gradient(x), j.numpy.ones(2), "text", x > 0, 3, one), one)
    asking(nested, one)
    j.jit(lambda x: asking(lambda y: (y + x, x * 2), x))(one)
    core.find_top_trace(()).main  # noqa: B018  (there is one without arguments, too)
    return found


def primitive_rules(j: Any) -> list[str]:
    """What rules of primitives are given are tuples."""
    seen: list[str] = []
    p = j.extend.core.Primitive("twice")
    p.def_impl(lambda x: 2 * x)
    p.def_abstract_eval(lambda x: x)

    def rule(primals: Any, tangents: Any) -> Any:
        seen.append(f"{type(primals).__name__} {type(tangents).__name__}")
        return p.bind(*primals), 2 * tangents[0]

    importlib.import_module(f"{j.__name__}.interpreters.ad").primitive_jvps[p] = rule
    seen.append(str(j.jvp(p.bind, (ONE,), (ONE,))[1]))
    return seen


def raw_qr(j: Any, *shape: int) -> Any:
    a = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    found = j.numpy.linalg.qr(a, mode="raw")
    assert [x.shape for x in j.jit(lambda a: j.numpy.linalg.qr(a, mode="raw"))(a)] == [x.shape for x in found]
    assert all(x.dtype == np.float32 for x in found)
    return [[round(float(v), 3) for v in np.ravel(x)] for x in found], [x.shape for x in found], type(found).__name__


def zeros_of_trees(j: Any) -> list[Any]:
    given = {"a": ONE, "b": (np.int32(3), ONE)}
    found = j.tree.leaves(j.custom_derivatives.zero_from_primal(given))
    return [[x.dtype == j.dtypes.float0, x.shape] for x in found]


def constants_of_jaxprs(j: Any) -> list[Any]:
    """A number along which a derivative is taken is a constant of a jaxpr, and no literal of it: it is to be seen."""
    found: list[Any] = []

    def f(a: Any) -> Any:
        made = j.make_jaxpr(lambda x: x * a * 2.0)(1.0)
        found.append((len(made.consts), len(made.jaxpr.constvars)))
        return a * j.core.eval_jaxpr(made.jaxpr, [3 * c for c in made.consts], 5.0)[0]

    found += [float(j.grad(f)(1.5)), float(j.jvp(f, (1.5,), (1.0,))[1])]
    return found


class Point(NamedTuple):
    x: Any
    y: Any


def registry(j: Any) -> list[Any]:
    known = j.tree_util.default_registry
    trees = [(1, 2), [1], {"b": 1, "a": 2}, None, 3, Point(1, 2), OrderedDict(b=1, a=2)]
    levels = [known.flatten_one_level(t) for t in trees]
    keyed = [known.flatten_one_level_with_keys(t) for t in ({"b": 1, "a": 2}, 3)]
    kinds = [known.is_node(t) for t in (list, Point, int, type(None))]
    one_level = [found and ([*found[0]], found[1]) for found in levels]
    return [*one_level, str([found and [*found[0]] for found in keyed]), kinds, str(known.flatten({"a": (1, None)}))]


def weak_types(j: Any) -> dict[str, Any]:
    """Which results of loops and branches over a batch, and of solutions, yield to other dtypes."""
    lax, x = j.lax, j.numpy.arange(3.0)

    def loop(x: Any) -> Any:
        return lax.while_loop(lambda c: c[1] < x, lambda c: (c[0] + 1, c[1] * 2), (0, j.numpy.float32(1)))

    def root(a: Any) -> Any:
        def solve(f: Any, x: Any) -> Any:
            return lax.fori_loop(0, 20, lambda i, x: x - f(x) / j.grad(f)(x), x)

        return lax.custom_root(lambda x: x**2 - a, 1.5, solve, lambda g, y: y / g(1.0))

    found = {
        "while": j.vmap(loop)(x),
        "jit": j.jit(j.vmap(loop))(x),
        "fori": j.vmap(lambda n: lax.fori_loop(0, n, lambda i, c: c + i, 0))(j.numpy.arange(3)),
        "cond": j.vmap(lambda x: lax.cond(x > 1, lambda: 1, lambda: 2))(x),
        "switch": j.vmap(lambda i: lax.switch(i, [lambda: 1.0, lambda: 2.0, lambda: 3.0]))(j.numpy.arange(3)),
        "strong": j.vmap(lambda x: lax.cond(x > 1, lambda: x, lambda: 2.0))(x),
        "root": (root(2.0), j.jit(root)(2.0), j.jvp(root, (2.0,), (1.0,))),
    }
    return {k: [(str(a.dtype), a.weak_type) for a in j.tree.leaves(v)] for k, v in found.items()}


CASES: dict[str, Callable[[Any], Any]] = {
    **{
        f"{kind} {i}": lambda j, kind=kind, i=i: in_a_branch(j, kind, i)
        for kind in ("cond", "operand", "switch")
        for i in (0, 1)
    },
    "no cotangent for a tree": lambda j: subtree(j, False),
    "no cotangent for a tree, symbolic": lambda j: subtree(j, True),
    "types of keys": keys_types,
    "what vmap does not map": not_mapped,
    "the registry of pytrees": registry,
    "rules of rules": rules_of_rules,
    "traces of derivatives": traces,
    "what rules of primitives are given": primitive_rules,
    **{f"raw qr {s}": lambda j, s=s: raw_qr(j, *s) for s in ((4, 4), (5, 3), (3, 5), (2, 4, 3))},
    "zeros of trees": zeros_of_trees,
    "constants of jaxprs": constants_of_jaxprs,
    "types as results": types_as_results,
    "weak types": weak_types,
    "axes in a range": lambda j: j.numpy.expand_dims(np.ones(2), range(1, 3)).shape,
    "abstract value": lambda j: (str(j.numpy.ones(2).aval), j.numpy.ones(2).aval.weak_type),
    "tangent types": lambda j: [str(j.core.ShapedArray((2,), d).to_tangent_aval()) for d in (np.float32, np.int32)],
}


@pytest.mark.parametrize("name", CASES)
def test_as_in_jax(name: str) -> None:
    assert CASES[name](lazynp.jax) == CASES[name](jax)


def test_state_of_tracing() -> None:
    """Two states are equal where no transformation was entered or left between them."""
    for j in (lazynp.jax, jax):
        from_outside = state(j)
        found: list[Any] = []

        def f(x: Any, j: Any = j, found: list[Any] = found) -> Any:
            found.append((state(j), state(j)))
            return x * 2

        f(1.0)
        j.jit(f)(1.0)
        j.grad(f)(1.0)
        j.vmap(f)(np.ones(1, np.float32))
        assert [a == b for a, b in found] == [True] * len(found)
        assert [a == from_outside for a, _ in found] == [True, *[False] * (len(found) - 1)]


def state(j: Any) -> Any:
    return importlib.import_module(f"{j.__name__}.extend.core").get_opaque_trace_state(convention="test")
