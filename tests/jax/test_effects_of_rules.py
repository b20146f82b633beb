"""Effects of functions that have derivatives of their own: the same code under JAX and under lazynp, compared.

Where a call is differentiated its rule is evaluated, and not the function: the rule's effects come, those of the
function do not. Without a derivative it is the other way round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import lazynp.jax
from lazynp.jax.experimental import io_callback as our_io_callback

Fun = Callable[..., Any]


def functions(j: Any, say: Fun) -> dict[str, Fun]:
    """Functions that say what is evaluated: with a rule in reverse, a forward one, rules that call others, and none."""
    jnp = j.numpy

    @j.custom_vjp
    def back(x: Any) -> Any:
        say("back", x)
        return jnp.sin(x) * 2

    def fwd(x: Any) -> Any:
        say("fwd", x)
        return jnp.sin(x) * 2, x

    def bwd(x: Any, ct: Any) -> Any:
        say("bwd", x, ct)
        return (ct * jnp.cos(x) * 2,)

    back.defvjp(fwd, bwd)

    @j.custom_jvp
    def along(x: Any) -> Any:
        say("along", x)
        return jnp.cos(x) * 3

    @along.defjvp
    def _along(primals: Any, tangents: Any) -> Any:
        say("rule", primals[0])
        return jnp.cos(primals[0]) * 3, -jnp.sin(primals[0]) * 3 * tangents[0]

    @j.custom_vjp
    def outer(x: Any) -> Any:
        say("outer", x)
        return back(along(x))

    def outer_fwd(x: Any) -> Any:
        say("outer fwd", x)
        return j.vjp(lambda z: back(along(z)), x)

    outer.defvjp(outer_fwd, lambda pull, ct: (say("outer bwd", ct), pull(ct)[0])[1:])

    @j.custom_jvp
    def using(x: Any) -> Any:
        say("using", x)
        return x * x

    @using.defjvp
    def _using(primals: Any, tangents: Any) -> Any:
        return using(primals[0]), along(primals[0]) * tangents[0]

    def bare(x: Any) -> Any:
        say("bare", x)
        return x * x

    return {"back": back, "along": along, "outer": outer, "using": using, "bare": bare}


def around(j: Any, g: Fun) -> dict[str, Fun]:
    """What a function stands in."""
    lax, jnp = j.lax, j.numpy
    loop = lambda f, x, n=2: lax.scan(lambda c, _: (f(c), None), x, None, length=n)[0]
    return {
        "plain": g,
        "scan": lambda x: loop(g, x),
        "cond": lambda x: lax.cond(x > 0, g, lambda y: y * 1.0, x),
        "fori_loop": lambda x: lax.fori_loop(0, 2, lambda i, c: g(c), x),
        "while_loop": lambda x: lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, g(s[1])), (0, x))[1],
        "checkpoint": lambda x: j.checkpoint(g)(x),
        "jit": lambda x: j.jit(g)(x),
        "vmap": lambda x: j.vmap(g)(jnp.stack([x, x + 1.0])).sum(),
        "scan of checkpoint": lambda x: loop(j.checkpoint(g), x),
        "scan of vmap": lambda x: loop(j.vmap(g), jnp.stack([x, x + 1.0])).sum(),
        "scan of scan": lambda x: loop(lambda y: loop(g, y), x),
        "vmap of cond": lambda x: j.vmap(lambda y: lax.cond(y > 1, g, lambda z: z * 1.0, y))(
            jnp.stack([x, x + 1.0])
        ).sum(),
        "stopped": lambda x: g(lax.stop_gradient(x)) * x,
    }


def transformed(j: Any, f: Fun) -> dict[str, Fun]:
    return {
        "call": lambda: j.jit(f)(0.5),
        "grad": lambda: j.grad(f)(0.5),
        "jit of grad": lambda: j.jit(j.value_and_grad(f))(0.5),
        "jvp": lambda: j.jvp(f, (0.5,), (1.0,)),
        "vjp": lambda: (lambda out, pull: (out, pull(1.0)))(*j.vjp(f, 0.5)),
        "linearize": lambda: (lambda out, linear: (out, linear(1.0)))(*j.linearize(f, 0.5)),
        "jacfwd": lambda: j.jacfwd(f)(0.5),
        "jacrev": lambda: j.jacrev(f)(0.5),
        "hessian": lambda: j.hessian(f)(0.5),
        "vmap of grad": lambda: j.vmap(j.grad(f))(j.numpy.array([0.5, 1.5])),
        "grad of jit": lambda: j.grad(j.jit(f))(0.5),
    }


ALL = {
    "back": {
        "plain": ["grad", "jit of grad", "vjp", "jacrev", "hessian", "vmap of grad", "grad of jit", "call"],
        "scan": ["grad", "jit of grad", "vjp", "vmap of grad", "call"],
        "cond": ["grad", "jit of grad", "grad of jit"],
        "fori_loop": ["grad"],
        "checkpoint": ["grad", "jit of grad"],
        "jit": ["grad"],
        "vmap": ["grad", "jit of grad"],
        "scan of checkpoint": ["grad"],
        "scan of vmap": ["grad"],
        "vmap of cond": ["grad"],
        "stopped": ["grad"],
    },
    "along": {
        "plain": ["grad", "jit of grad", "jvp", "linearize", "jacfwd", "hessian", "vmap of grad", "call"],
        "scan": ["grad", "jit of grad", "jvp", "linearize"],
        "cond": ["grad", "jvp"],
        "while_loop": ["jvp", "call"],
        "checkpoint": ["grad", "jit of grad", "linearize", "grad of jit"],
        "jit": ["grad", "jvp"],
        "vmap": ["grad"],
        "scan of checkpoint": ["grad", "jit of grad"],
        "scan of scan": ["grad"],
        "stopped": ["grad"],
    },
    "outer": {"plain": ["grad", "jit of grad", "call"], "scan": ["grad"], "cond": ["jit of grad"], "jit": ["grad"]},
    "using": {"plain": ["grad", "jvp"], "scan": ["grad"], "vmap": ["grad"]},
    "bare": {"scan": ["grad"], "checkpoint": ["grad"], "scan of checkpoint": ["jit of grad"], "cond": ["vmap of grad"]},
}
CASES = [(name, place, way) for name, table in ALL.items() for place, ways in table.items() for way in ways]


def said(j: Any, name: str, place: str, way: str) -> tuple[list[float], Counter[str]]:
    """The values, rounded, and what has been said, how often."""
    heard: list[str] = []

    def say(what: str, *values: Any) -> None:
        j.debug.callback(lambda *v: heard.append(" ".join([what, *[f"{float(x):.3f}" for x in v]])), *values)

    out = transformed(j, around(j, functions(j, say)[name])[place])[way]()
    leaves = [np.asarray(x) for x in j.tree.leaves(out)]
    j.effects_barrier()
    return [round(float(x), 3) for leaf in leaves for x in leaf.ravel()], Counter(heard)


@pytest.mark.parametrize(("name", "place", "way"), CASES, ids=map("-".join, CASES))
def test_the_effects_are_those_of_what_is_evaluated(name: str, place: str, way: str) -> None:
    theirs, ours = said(jax, name, place, way), said(lazynp.jax, name, place, way)
    assert np.allclose(ours[0], theirs[0], rtol=1e-3, atol=2e-3)
    assert ours[1] == theirs[1]


@pytest.mark.parametrize("way", ["grad", "jvp", "call"])
@pytest.mark.parametrize("name", ["back", "along"])
def test_ordered_effects_come_in_order(name: str, way: str) -> None:
    if (name, way) == ("back", "jvp"):
        pytest.skip("a rule in reverse has no forward derivative")
    found = []
    for j in (jax, lazynp.jax):
        heard: list[str] = []

        def say(what: str, *values: Any, j: Any = j, heard: list[str] = heard) -> None:
            j.debug.callback(lambda *_: heard.append(what), *values, ordered=True)

        f = functions(j, say)[name]
        transformed(j, lambda x, f=f, say=say: (say("before"), f(x), say("after"))[1])[way]()
        j.effects_barrier()
        found.append(heard)
    assert found[0] == found[1]


def test_what_says_the_same_at_each_step_says_it_at_each_step() -> None:
    found = []
    for j in (jax, lazynp.jax):
        heard: list[str] = []

        def step(c: Any, _: Any, j: Any = j, heard: list[str] = heard) -> Any:
            for what in "ab":
                j.debug.callback(lambda what=what: heard.append(what), ordered=True)
            return c + 1, None

        j.lax.scan(step, 0.0, None, length=2)
        j.jit(lambda x, j=j, step=step: j.lax.scan(step, x, None, length=2))(0.0)
        j.lax.cond(True, lambda c, step=step: step(c, None)[0], lambda c: c, 0.0)
        j.effects_barrier()
        found.append(heard)
    assert found[0] == found[1] == [*"abababab", *"ab"]


def test_an_io_callback_in_a_rule_is_called_once_for_each_evaluation() -> None:
    j, called = lazynp.jax, []

    def kept(x: Any) -> Any:
        return our_io_callback(lambda v: called.append(float(v)) or v, j.ShapeDtypeStruct((), np.float32), x)

    @j.custom_vjp
    def f(x: Any) -> Any:
        return x * 2

    f.defvjp(lambda x: (kept(x) * 2, x), lambda x, ct: (ct * 2,))
    assert float(j.jit(j.grad(lambda x: f(f(x))))(1.0)) == 4
    assert float(j.grad(j.jit(f))(3.0)) == 2
    assert sorted(called) == [1, 2, 3]
