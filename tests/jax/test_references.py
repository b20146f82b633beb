"""Mutable references (`jax.new_ref`), against JAX: alone, in traced functions that use them from outside, under
derivatives and `vmap`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from agreement import disagreement, outcome

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
Call = Callable[[Any], Any]
ROW = np.arange(3, dtype="f4")


def zeros(j: Any) -> Any:
    return j.new_ref(j.numpy.zeros(3))


def reads_and_writes(j: Any) -> Any:
    r = j.new_ref(j.numpy.arange(3.0))
    r[1] = 5.0
    r[0] += 1
    before = r[...]
    r[:] = before * 2
    r[np.array([0, 2])] = np.array([7.0, 8.0], "f4")
    return before, r[...], r[1], r[-1], r[::2], j.freeze(r)


def functions(j: Any) -> Any:
    r, ref = j.new_ref(j.numpy.zeros((2, 3))), importlib.import_module(f"{j.__name__}.ref")
    before = ref.swap(r, 0, j.numpy.ones(3))
    ref.addupdate(r, (0, 1), 2.0)
    ref.set(r, 1, ROW)
    return before, ref.get(r, 0), ref.get(r)


def wrong(value: Any, index: Any = ...) -> Call:
    def call(j: Any) -> Any:
        r = zeros(j)
        r[index] = value
        return r[...]

    return call


def jitted_argument(j: Any) -> Any:
    @j.jit
    def add(r: Any, x: Any) -> Any:
        r[0] += x
        return r[...].sum()

    r, other = zeros(j), j.new_ref(j.numpy.ones(3))
    return add(r, 2.0), add(r, 3.0), r[...], add(other, 1.0), other[...]


def jitted_static(j: Any) -> Any:
    f = j.jit(lambda n, r: r[n] + 1 if isinstance(n, int) else r[0], static_argnums=0)
    r = j.new_ref(j.numpy.arange(3.0))
    return f(0, r), f(2, r), f(n=1, r=r)


def captured(j: Any) -> Any:
    r = zeros(j)

    @j.jit
    def add(x: Any) -> Any:
        r[0] += x
        return r[...].sum()

    first = add(2.0), add(3.0)
    j.lax.scan(lambda c, x: (add(x), None), 0.0, ROW)
    return first, r[...]


def scanned(j: Any) -> Any:
    r = zeros(j)

    def body(c: Any, x: Any) -> Any:
        r[0] += x
        r[1] = c
        return c + x, r[0]

    return j.lax.scan(body, 0.0, ROW), r[...]


def looped(j: Any) -> Any:
    r, s = zeros(j), j.new_ref(0.0)

    def write(i: Any, _: Any) -> None:
        r[i] = i * 2.0
        s[...] += r[i]

    def more(c: Any) -> Any:
        s[...] *= c
        return c + 1

    j.lax.fori_loop(0, 3, write, None)
    return j.lax.while_loop(lambda c: c < 4, more, 1.0), r[...], s[...]


def branches(j: Any, p: Any) -> Any:
    r = j.new_ref(np.float32(1))

    def yes(x: Any) -> Any:
        r[...] = x
        return x

    found = j.lax.cond(p, yes, lambda x: x * r[...], np.float32(3))
    j.lax.switch(p * 1, [yes, yes], np.float32(4))
    return found, r[...]


def polynomial(j: Any) -> Call:
    def f(x: Any) -> Any:
        r = zeros(j)
        r[0] = j.numpy.sin(x)
        r[1] = r[0] * x
        r[0] *= 2.0
        return (r[...] ** 2).sum()

    return f


def recurrence(j: Any) -> Call:
    def f(x: Any) -> Any:
        r = j.new_ref(x)

        def body(c: Any, _: Any) -> Any:
            r[...] = j.numpy.sin(r[...]) * x
            return c + r[...], None

        return j.lax.scan(body, 0.0, None, length=3)[0]

    return f


def stashed(j: Any, stop: bool) -> Any:
    r = j.new_ref(0.0)

    def f(x: Any) -> Any:
        y = j.numpy.sin(x)
        r[...] = j.lax.stop_gradient(y) if stop else y
        return y * y

    return j.grad(f)(0.5), r[...]


def mapped(j: Any) -> Any:
    r, s = zeros(j), j.new_ref(2.0)

    def f(r: Any, x: Any) -> Any:
        r[...] += x * s[...]
        return r[...] * 2

    return j.vmap(f)(r, ROW), r[...]


CALLS: dict[str, Call] = {
    "reads and writes": reads_and_writes,
    "functions": functions,
    "whole number": wrong(np.int32(2), 0),
    "other shape": wrong(np.ones(2, "f4")),
    "scalar": wrong(1.0),
    "jitted argument": jitted_argument,
    "jitted static": jitted_static,
    "captured": captured,
    "scanned": scanned,
    "looped": looped,
    "true": lambda j: branches(j, True),
    "false": lambda j: j.jit(lambda p: branches(j, p))(False),
    "grad": lambda j: j.grad(polynomial(j))(0.5),
    "vmap": lambda j: j.vmap(polynomial(j))(ROW),
    "vmap of grad of scan": lambda j: j.vmap(j.grad(recurrence(j)))(ROW),
    "stashed": lambda j: stashed(j, True),
    "mapped": mapped,
    "arithmetic": lambda j: zeros(j) + 1,
    "function of an array": lambda j: j.numpy.sin(zeros(j)),
    "twice": lambda j: j.jit(lambda a, b: a[...])(*[zeros(j)] * 2),
}


def test_as_jax() -> None:
    found = {}
    for name, call in CALLS.items():
        wanted, got = (outcome(lambda j=j, call=call: jax.tree.leaves(call(j))) for j in (jax, lazynp.jax))
        text = disagreement(name, wanted, got, 4)
        if text is not None:
            found[name] = text
    assert not found, found


def test_what_is_refused() -> None:
    """JAX raises a bare Exception for the first two."""
    j = lazynp.jax
    with pytest.raises(Exception, match="differentiated value"):
        stashed(j, False)
    r = j.new_ref(0.0)
    for write in (lambda x: r.__setitem__(..., x), lambda x: r.__setitem__(..., 1.0)):
        with pytest.raises(Exception, match="unbatched array reference"):
            j.vmap(write)(ROW)
    with pytest.raises(Exception, match="unbatched array reference"):
        j.vmap(lambda x, r: r.__setitem__(..., x), (0, None))(ROW, r)
    assert j.vmap(lambda x, r: x + r[...], (0, None))(ROW, r).shape == ROW.shape
    left: list[Any] = []
    j.jit(lambda: left.append(j.new_ref(1.0)))()
    with pytest.raises(j.errors.UnexpectedTracerError):
        left[0][...]
    with pytest.raises(ValueError, match="not a reference"):
        j.new_ref(r)


def test_what_jax_has_not() -> None:
    """References inside of checkpointed functions, and to parts outside of jit."""
    j = lazynp.jax
    np.testing.assert_allclose(j.grad(j.checkpoint(polynomial(j)))(0.5), j.grad(polynomial(j))(0.5))
    r = j.new_ref(j.numpy.zeros((2, 3)))
    r.at[1][0] = 2.0
    r.at[0].at[1][...] = 3.0
    assert np.asarray(r[...]).tolist() == [[0, 3, 0], [2, 0, 0]] and r.at[1].shape == (3,)


def test_what_it_says_of_itself() -> None:
    for j in (jax, lazynp.jax):
        r = j.new_ref(j.numpy.arange(3.0))
        assert (repr(r), str(j.typeof(r)), r.shape, r.ndim, len(r)) == (
            "Ref([0., 1., 2.], dtype=float32)",
            "Ref{float32[3]}",
            (3,),
            1,
            3,
        )
        assert isinstance(r, j.Ref) and not isinstance(r, j.Array) and len(j.tree.leaves([r, r])) == 2


def doubled_into(j: Any) -> Any:
    """A function whose cotangent is written to a reference that it gets."""
    f = j.custom_vjp(lambda x, ref: x)
    f.defvjp(lambda x, ref: (x, ref), lambda ref, ct: (ct, ref.__setitem__(..., ref[...] + ct)))
    return f


def with_rows(j: Any, ref: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        row, value = x
        row[...] = carry * value
        return carry + 1, row[...] * 2

    return j.lax.scan(step, j.numpy.float32(1), (ref, j.numpy.arange(3.0)), reverse=True)


PASSED: dict[str, Any] = {
    "rows of a scan": with_rows,
    "rows of a jitted scan": lambda j, ref: j.jit(lambda r: with_rows(j, r))(ref),
    "map": lambda j, ref: j.lax.map(lambda r: r[...] * 2, ref),
    "branch": lambda j, ref: j.lax.cond(True, lambda d: d["r"].__setitem__(0, 5.0), lambda d: None, {"r": ref}),
    "switch": lambda j, ref: j.lax.switch(1, [lambda r: r[0], lambda r: r[1] * 7], ref),
    "carried": lambda j, ref: j.lax.fori_loop(0, 3, lambda i, c: c, ref),
    "rows twice": lambda j, ref: j.lax.scan(lambda c, x: (c, None), 0, (ref, ref)),
    "bwd": lambda j, ref: j.grad(lambda x: j.numpy.sin(doubled_into(j)(x, ref)).sum())(j.numpy.arange(3.0)),
    "jitted bwd": lambda j, ref: j.jit(j.grad(lambda x, r: (doubled_into(j)(x, r) * x).sum()))(
        j.numpy.arange(3.0), ref
    ),
    "pullback": lambda j, ref: j.vjp(lambda x: doubled_into(j)(x, ref=ref) * 3, j.numpy.arange(3.0))[1](
        j.numpy.ones(3)
    ),
    "mapped bwd": lambda j, ref: j.vmap(j.grad(lambda x, r: j.numpy.sin(doubled_into(j)(x, r))))(
        j.numpy.arange(3.0), ref
    ),
    "no derivative": lambda j, ref: doubled_into(j)(j.numpy.arange(3.0), ref),
    "shared by all": lambda j, ref: j.vmap(lambda x: ref.__setitem__(..., x))(j.numpy.ones((2, 3))),
}


@pytest.mark.parametrize("name", PASSED)
def test_references_are_passed_to_loops_branches_and_rules(name: str) -> None:
    def call(j: Any) -> Any:
        ref = j.new_ref(j.numpy.array([1.0, 2.0, 3.0]))
        return PASSED[name](j, ref), ref[...]

    found, expected = outcome(lambda: call(lazynp.jax)), outcome(lambda: call(jax))
    assert disagreement(name, expected, found) is None


@pytest.mark.parametrize("text", ["[::-1]", "[0, 0]", "[:1, 0]"])
def test_indices_that_references_do_not_take(text: str) -> None:
    for j in (jax, lazynp.jax):
        with pytest.raises(ValueError):
            eval(f"ref{text}", {"ref": j.new_ref(j.numpy.arange(3.0))})


@pytest.mark.parametrize("jitted", [False, True])
def test_a_rule_in_a_differentiated_loop_leaves_no_traced_value(jitted: bool) -> None:
    """JAX refuses what the rule has in its closure too."""
    for j in (jax, lazynp.jax):
        ref = j.new_ref(j.numpy.float32(0))
        same = j.custom_vjp(lambda x: x)
        same.defvjp(lambda x: (x, None), lambda _, g, ref=ref: (ref.__setitem__(..., g), (g,))[1])

        def loop(x: Any, j: Any = j, same: Any = same) -> Any:
            return j.lax.scan(lambda c, _: (j.numpy.sin(same(c)), None), x, None, length=3)[0]

        with pytest.raises(TypeError):
            (j.jit(j.grad(loop)) if jitted else j.grad(loop))(j.numpy.float32(1))
        assert float(ref[...]) == 0


def compiled_ahead(j: Any) -> Any:
    """Functions that were compiled with references, as arguments and from outside, and are called with others."""
    first, second = j.new_ref(j.numpy.zeros(3)), j.new_ref(j.numpy.ones(3))

    def write(r: Any, x: Any) -> Any:
        r[0] = x
        return {"twice": r[...] * 2}

    lowered = j.jit(write).lower(first, 2.0)
    compiled, untouched = lowered.compile(), first[...]
    found = [compiled(first, 3.0)["twice"], compiled(second, 4.0)["twice"]]
    add = j.jit(lambda x: first[0] + x)
    reading = add.lower(1.0).compile()
    found.append(reading(2.0))
    first[0] = 10.0
    for wrong in ((second, ROW), (j.new_ref(j.numpy.ones(2)), 1.0)):
        with pytest.raises(TypeError):
            compiled(*wrong)
    return untouched, found, reading(2.0), add(3.0), first[...], second[...], j.jit(write).trace(first, 1.0).fun_name


def test_references_are_taken_by_what_was_compiled() -> None:
    assert disagreement("ahead", *[outcome(lambda j=j: compiled_ahead(j)) for j in (jax, lazynp.jax)]) is None


def made_and_frozen(j: Any, r: Any) -> Any:
    new = j.new_ref(r[0])
    new[...] = new[...] * 2.0
    new[1] = 3.0
    return j.ref.freeze(new)


def adding(j: Any, r: Any) -> Any:
    j.ref.addupdate(r, (0,), r[1])
    j.ref.addupdate(r, None, r[...])
    return j.ref.swap(r, 0, r[1]), r[0, 1:3]


def overwriting(j: Any, r: Any) -> Any:
    before = r[0]
    r[0] = j.numpy.ones(4)
    between = r[0]
    r[0] *= between
    return before, between, r[...]


def in_loops(j: Any, r: Any) -> Any:
    def step(c: Any, x: Any) -> Any:
        r[0] = r[1] * x
        return c + 1, r[0, 1]

    out = j.lax.scan(step, 0, j.numpy.arange(3.0))
    j.lax.fori_loop(0, 2, lambda i, _: r.__setitem__(2, r[2] * 2.0), None)
    return out, j.lax.while_loop(lambda c: c < 3, lambda c: (r.__setitem__((c, 0), r[c, 1]), c + 1)[1], 0)


def in_branches(j: Any, r: Any) -> Any:
    def double() -> Any:
        r[2] = r[2] * 2.0
        return r[0, 0]

    deep = lambda: j.lax.fori_loop(0, 2, lambda _, c: double(), r[1, 1])
    j.lax.cond(r[0, 0] > 0, lambda: None, lambda: r.__setitem__((0, 0), 5.0))
    return j.lax.cond(r[0, 1] > 0, double, lambda: r[0, 0]), j.lax.cond(r[0, 2] > 0, deep, lambda: r[1, 0])


def in_calls(j: Any, r: Any) -> Any:
    j.jit(lambda a: a.__setitem__(0, a[1]))(r)
    return j.jit(lambda: r[0] + 1.0)()


EQUATIONS: dict[str, Any] = {
    "loops": in_loops,
    "branches": in_branches,
    "calls": in_calls,
    "read": lambda j, r: (r[...], r[1:, 2], r[..., 1], r[-1], r[:2]),
    "write": lambda j, r: r.__setitem__((1, 2), 1.0),
    "read and write": overwriting,
    "add": adding,
    "made": made_and_frozen,
}


def equations(j: Any, name: str, outside: bool) -> Any:
    """The text of a graph, what it does to references when it runs, and which effects it has."""
    ref = j.new_ref(j.numpy.arange(12.0).reshape(3, 4))
    f = EQUATIONS[name]
    graph = j.make_jaxpr(lambda: f(j, ref))() if outside else j.make_jaxpr(lambda r: f(j, r))(ref)
    untouched = ref[...]
    outs = j.core.eval_jaxpr(graph.jaxpr, graph.consts, *[ref][outside:])
    types = [str(a) for a in (*graph.in_avals, *graph.out_avals)]
    effects = {type(e).__name__ for e in graph.effects}.intersection(["ReadEffect", "WriteEffect", "AccumEffect"])
    return str(graph), untouched, outs, ref[...], sorted(effects), types


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("name", EQUATIONS)
def test_references_are_variables_of_jaxprs(name: str, outside: bool) -> None:
    assert disagreement(name, *[outcome(lambda j=j: equations(j, name, outside)) for j in (jax, lazynp.jax)]) is None


def through_a_loop(j: Any) -> Any:
    """A graph with arguments of other kinds, and a loop and a jitted function that write."""
    ref = j.new_ref(j.numpy.zeros(3))

    def f(n: int, tree: Any, x: Any) -> Any:
        j.lax.fori_loop(0, n, lambda i, _: tree["r"].__setitem__(i, x), None)
        j.jit(lambda r: r.__setitem__(0, r[0] * x))(tree["r"])
        return tree["r"][...] + x

    graph, shape = j.make_jaxpr(f, static_argnums=0, return_shape=True)(2, {"r": ref, "s": None}, 2.0)
    return str(graph.in_avals), shape.shape, j.core.eval_jaxpr(graph.jaxpr, graph.consts, ref, 3.0), ref[...]


def test_a_graph_with_references_is_run() -> None:
    assert disagreement("loop", *[outcome(lambda j=j: through_a_loop(j)) for j in (jax, lazynp.jax)]) is None
