"""Calls in jaxprs: of jitted and checkpointed functions, and of those with derivatives of their own; how jaxprs are
printed; interpreters of them. Beside JAX's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.extend
import numpy as np
import pytest

import lazynp.jax
import lazynp.speed

VECTOR = np.arange(1, 4, dtype=np.float32)
MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3)
BOTH = (lazynp.jax, jax)


def functions(j: Any) -> dict[str, Any]:
    """Functions that jaxprs show as calls."""
    forward = j.custom_jvp(lambda x: j.numpy.sin(x))
    forward.__name__ = "forward"
    forward.defjvp(lambda p, t: (forward(*p), 2.0 * t[0]))
    reverse = j.custom_vjp(lambda x: j.numpy.sin(x))
    reverse.defvjp(lambda x: (reverse(x), x), lambda kept, ct: (ct * 2 * kept,))
    return {
        "jit": j.jit(lambda x: j.numpy.sin(x) * 2),
        "forward": forward,
        "reverse": reverse,
        "remat": j.checkpoint(lambda x: j.numpy.sin(j.numpy.sin(x))),
    }


def with_constant(j: Any) -> Any:
    constant = j.numpy.arange(3.0)
    return j.jit(lambda x: x * constant)


SAME_TEXT: dict[str, tuple[Callable[[Any, Any], Callable[..., Any]], tuple[Any, ...]]] = {
    "one": (lambda j, f: lambda x: f["jit"](x) + 1, (VECTOR,)),
    "nested, twice": (lambda j, f: j.jit(lambda x: f["jit"](f["jit"](x))), (VECTOR,)),
    "names that are taken": (
        lambda j, f: lambda x: [g(g(x)) for g in [j.jit(lambda x: x + 1), j.jit(lambda x: x * 2)]],
        (VECTOR,),
    ),
    "constants": (lambda j, f: with_constant(j), (VECTOR,)),
    "constants, twice": (lambda j, f: (lambda g: lambda x: g(g(x)))(with_constant(j)), (VECTOR,)),
    "closed over": (lambda j, f: lambda x, y: j.jit(lambda z: z * y)(x), (VECTOR, VECTOR)),
    "arguments as results": (lambda j, f: j.jit(lambda x, y: (x, y * 2, 3.0)), (VECTOR, VECTOR)),
    "results that nobody reads": (lambda j, f: lambda x: j.jit(lambda x: (x, x, x * 2))(x)[2], (VECTOR,)),
    "unread": (lambda j, f: j.jit(lambda x, y: x), (VECTOR, VECTOR)),
    "literals": (lambda j, f: lambda x: j.jit(lambda x, y: x + y)(x, 3), (VECTOR,)),
    "static": (lambda j, f: lambda x: j.jit(lambda x, y: x + y, static_argnums=1)(x, 3), (VECTOR,)),
    "by name": (lambda j, f: lambda x: j.jit(lambda x, y: x + y)(y=x, x=3), (VECTOR,)),
    "inline": (lambda j, f: lambda x: j.jit(lambda x: x + 1, inline=True)(x), (VECTOR,)),
    "donated": (lambda j, f: lambda x: j.jit(lambda x: x + 1, donate_argnums=0, keep_unused=True)(x), (VECTOR,)),
    "mapped": (lambda j, f: j.vmap(f["jit"]), (MATRIX,)),
    "mapped, of its own shape": (lambda j, f: j.vmap(j.jit(lambda x: x[0] * 2)), (MATRIX,)),
    "in a scan": (lambda j, f: lambda x: j.lax.scan(lambda c, a: (f["jit"](c), a * 2), x, x), (VECTOR,)),
    "many results": (lambda j, f: lambda *xs: j.jit(lambda *xs: xs)(*xs), (VECTOR,) * 12),
    "many operands": (lambda j, f: lambda *xs: j.lax.concatenate(xs, 0), (VECTOR,) * 30),
    "forward": (lambda j, f: lambda x: f["forward"](x) + 1, (VECTOR,)),
    "forward, mapped": (lambda j, f: j.vmap(f["forward"]), (MATRIX,)),
    "reverse": (lambda j, f: lambda x: f["reverse"](x) + 1, (VECTOR,)),
    "reverse, mapped": (lambda j, f: j.vmap(f["reverse"]), (VECTOR,)),
    "remat": (lambda j, f: f["remat"], (VECTOR,)),
    "remat, mapped": (lambda j, f: j.vmap(f["remat"]), (VECTOR,)),
    "remat of constants": (lambda j, f: (lambda c: j.checkpoint(lambda x: x * c))(j.numpy.arange(3.0)), (VECTOR,)),
    "remat that keeps all": (
        lambda j, f: j.checkpoint(j.numpy.sin, policy=j.checkpoint_policies.everything_saveable),
        (VECTOR,),
    ),
    "new axes": (lambda j, f: lambda x: (x[None], x[:, None] + x[None], x.sum(keepdims=True)), (VECTOR,)),
    "spread": (lambda j, f: lambda x: j.numpy.broadcast_to(x[:, None], (3, 2)), (VECTOR,)),
    "squeezed": (lambda j, f: lambda x: j.numpy.squeeze(x * 2, 0), (MATRIX[:1],)),
}


@pytest.mark.parametrize("name", SAME_TEXT)
def test_text_as_in_jax(name: str) -> None:
    make, args = SAME_TEXT[name]
    ours, theirs = (str(j.make_jaxpr(make(j, functions(j)))(*args)) for j in BOTH)
    assert ours == theirs


STYLES: dict[str, dict[str, Any]] = {
    "plain": {},
    "without types": {"print_shapes": False},
    "scopes": {"name_stack": True},
    "effects": {"print_effects": True},
    "all parameters": {"custom_pp_eqn_rules": False},
    "colour": {"use_color": True},
    "no colour": {"use_color": False},
}


@pytest.mark.parametrize("style", STYLES)
def test_styles_as_in_jax(style: str) -> None:
    def f(j: Any) -> Any:
        return lambda x: j.numpy.sin(x).astype(j.numpy.float16) * 2

    for part in (lambda closed: closed, lambda closed: closed.jaxpr):
        ours, theirs = (part(j.make_jaxpr(f(j))(VECTOR)).pretty_print(**STYLES[style]) for j in BOTH)
        assert ours == theirs


def test_lines_of_source_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="source_info"):
        lazynp.jax.make_jaxpr(lambda x: x + 1)(1.0).pretty_print(source_info=True)
    with pytest.raises(TypeError):
        lazynp.jax.make_jaxpr(lambda x: x + 1)(1.0).pretty_print(no_such_style=True)


def test_effects_of_calls() -> None:
    for j in BOTH:
        printing = j.jit(lambda x, j=j: (j.debug.print("{}", x), x)[1])
        assert [str(e) for e in j.make_jaxpr(printing)(1.0).effects] == ["Debug"]
        assert not j.make_jaxpr(lambda x: x + 1)(1.0).effects


@pytest.mark.parametrize("name", ["jit", "forward", "reverse", "remat"])
def test_calls_can_be_run(name: str) -> None:
    """An equation of a call, bound as interpreters do it, has the values and the derivatives of the function."""
    found = []
    for j in BOTH:
        closed = j.make_jaxpr(functions(j)[name])(VECTOR)
        (eqn,) = closed.eqns

        def bound(x: Any, eqn: Any = eqn) -> Any:
            return eqn.primitive.bind(x, **eqn.primitive.get_bind_params(eqn.params))[0]

        def evaluated(x: Any, j: Any = j, closed: Any = closed) -> Any:
            again = closed.jaxpr.replace(eqns=list(closed.eqns))
            return j.core.eval_jaxpr(again, closed.consts, x)[0]

        for f in (bound, evaluated):
            grad, mapped = j.grad(lambda x, f=f: f(x).sum()), j.vmap(lambda x, f=f: f(x) + f(VECTOR))
            found.append([f(VECTOR), grad(VECTOR), j.grad(lambda x, g=grad: g(x).sum())(VECTOR), mapped(MATRIX)])
            assert eqn.primitive.name in str(j.make_jaxpr(f)(VECTOR))
    for row in found[1:]:
        for a, b in zip(row, found[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_rule_of_a_mapped_function_can_be_run() -> None:
    """The rule of a call that was mapped is that of all examples."""
    for kind in ("forward", "reverse"):
        rows = []
        for j in BOTH:
            f = functions(j)[kind]
            closed = j.make_jaxpr(j.vmap(lambda x, f=f: f(x) * f(2.0)))(VECTOR)
            again = closed.jaxpr.replace(eqns=list(closed.eqns))
            run = lambda x, j=j, c=closed, a=again: j.core.eval_jaxpr(a, c.consts, x)[0].sum()
            rows.append(j.grad(run)(VECTOR))
        np.testing.assert_allclose(*rows, rtol=1e-6)


def test_interpreter_that_looks_inside() -> None:
    """A counter of operations, with those of the graphs inside, and an interpreter that changes them."""

    def counted(j: Any, jaxpr: Any, table: dict[str, int]) -> dict[str, int]:
        for e in jaxpr.eqns:
            table[e.primitive.name] = table.get(e.primitive.name, 0) + 1
            for inner in j.extend.core.jaxprs_in_params(e.params):
                counted(j, inner, table)
        return table

    def with_cosines(j: Any, jaxpr: Any, consts: Any, args: Any) -> list[Any]:
        known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args]))
        read = lambda v: v.val if isinstance(v, j.extend.core.Literal) else known[v]
        for e in jaxpr.eqns:
            values = [read(v) for v in e.invars]
            if e.primitive.name == "jit":
                out = with_cosines(j, e.params["jaxpr"].jaxpr, e.params["jaxpr"].consts, values)
            elif e.primitive.name == "sin":
                out = [j.lax.cos(*values)]
            else:
                out = e.primitive.bind(*values, **e.params)
                out = out if e.primitive.multiple_results else [out]
            known.update(zip(e.outvars, out))
        return [read(v) for v in jaxpr.outvars]

    tables, results = [], []
    for j in BOTH:
        f = functions(j)
        closed = j.make_jaxpr(lambda x, f=f: f["jit"](f["remat"](x)) + f["forward"](x) * f["reverse"](x))(VECTOR)
        tables.append(counted(j, closed.jaxpr, {}))
        plain = j.make_jaxpr(j.jit(lambda x, f=f: f["jit"](x) + f["jit"](f["jit"](x))))(VECTOR)
        results.append(with_cosines(j, plain.jaxpr, plain.consts, [VECTOR])[0])
    assert tables[0] == tables[1]
    np.testing.assert_allclose(*results, rtol=1e-6)


def test_parameters_of_calls() -> None:
    for name in ("jit", "forward", "reverse", "remat"):
        ours, theirs = (j.make_jaxpr(functions(j)[name])(VECTOR).eqns[0].params for j in BOTH)
        assert sorted(ours) == sorted(theirs)
        for key in ours:
            if isinstance(theirs[key], (str, bool, int, type(None))):
                assert ours[key] == theirs[key]
    ours, theirs = (str(j.make_jaxpr(functions(j)["jit"])(VECTOR).eqns[0].params) for j in BOTH)
    assert re.sub(r"'ctx_mesh': .*?\), ", "", ours) == re.sub(r"'ctx_mesh': .*?\), ", "", theirs)


def test_stages_show_calls() -> None:
    texts = []
    for j in BOTH:
        f = functions(j)["jit"]
        g = j.jit(lambda x, f=f: f(x) + 1)
        g(VECTOR)  # traced before, not to be shown
        texts.append(str(g.trace(VECTOR).jaxpr))
    assert texts[0] == texts[1] and "jit[" in texts[0]


JITTED: dict[str, Callable[[Any, Any], Any]] = {
    "sort": lambda m, x: m.numpy.sort(x, descending=True),
    "where": lambda m, x: m.numpy.where(x > 1, x, 0.0),
    "clip": lambda m, x: m.numpy.clip(x, 0.3, 0.6),
    "method": lambda m, x: x.cumsum(axis=0),
    "alias": lambda m, x: m.numpy.mod(x, x + 1),
    "inlined": lambda m, x: m.numpy.sin(x),
    "inner": lambda m, x: m.numpy.interp(x, x, x),
    "several": lambda m, x: m.numpy.divmod(x, 2.0),
    "linalg": lambda m, x: m.numpy.linalg.inv(m.numpy.outer(x, x) + m.numpy.eye(3)),
    "nn": lambda m, x: m.nn.log_softmax(x, axis=-1),
    "scipy": lambda m, x: m.scipy.linalg.solve(m.numpy.outer(x, x) + m.numpy.eye(3), x),
    "key": lambda m, x: m.random.permutation(m.random.wrap_key_data(x.astype("uint32")[:2]), x),
    "list": lambda m, x: m.numpy.block([x, 2 * x]),
}


@pytest.mark.skipif(lazynp.speed.calls is None, reason="without the C module functions have no boundary")
@pytest.mark.parametrize("name", JITTED)
def test_functions_that_jax_jits_are_calls(name: str) -> None:
    def calls(j: Any) -> list[Any]:
        shown = j.make_jaxpr(lambda x: JITTED[name](j, x))(VECTOR)
        eqns = [e for e in shown.eqns if e.primitive.name == "jit"]
        values = j.core.eval_jaxpr(shown.jaxpr, shown.consts, j.numpy.asarray(VECTOR))
        assert all(map(np.allclose, values, j.tree.leaves(JITTED[name](j, j.numpy.asarray(VECTOR)))))
        return [(e.params["name"], *[str(v.aval) for v in (*e.invars, *e.outvars)]) for e in eqns]

    assert calls(lazynp.jax) == calls(jax)


def test_cotangents_are_added_by_an_operation_of_their_own() -> None:
    def in_loop(j: Any) -> Any:
        return lambda x: j.lax.scan(lambda c, _: (c * j.numpy.sin(x) + x, None), x, None, length=3)[0]

    def sums(j: Any, f: Any) -> list[str]:
        return re.findall(r"add_any|add ", str(j.make_jaxpr(f)(2.0)))

    for make in (
        lambda j: j.grad(lambda x: x * x),
        lambda j: j.grad(j.checkpoint(lambda x: x * j.numpy.sin(x))),
        lambda j: lambda x: j.jvp(lambda x: x * j.numpy.sin(x), (x,), (x,)),
    ):
        assert sums(lazynp.jax, make(lazynp.jax)) == sums(jax, make(jax)) != []
    assert sums(lazynp.jax, lazynp.jax.grad(in_loop(lazynp.jax)))[:2] == sums(jax, jax.grad(in_loop(jax)))[:2]
