"""`jax.checkpoint` with policies: derivatives are those of the function, and what is kept is what the policy says."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from agreement import disagreement, outcome

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
W = np.linspace(-1, 1, 9, dtype="f4").reshape(3, 3)
X = np.arange(3, dtype="f4")
POLICIES: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda p: p.nothing_saveable,
    "dots": lambda p: p.dots_saveable,
    "dots of no batch": lambda p: p.dots_with_no_batch_dims_saveable,
    "a": lambda p: p.save_only_these_names("a"),
    "a and b": lambda p: p.save_only_these_names("a", "b"),
    "not a": lambda p: p.save_any_names_but_these("a"),
    "all but a": lambda p: p.save_anything_except_these_names("a"),
    "both": lambda p: p.save_from_both_policies(p.save_only_these_names("b"), p.dots_saveable),
    "own": lambda p: lambda prim, *avals, **params: str(prim) == "sin" and avals[0].shape == (3,),
}
"""Those under which JAX keeps the same values: derivatives of ours need others of some operations."""


def module(j: Any) -> Any:
    return importlib.import_module(f"{j.__name__}.ad_checkpoint")


def network(j: Any, policy: Any = None) -> Any:
    jnp, name, w = j.numpy, module(j).checkpoint_name, j.numpy.asarray(W)

    def f(x: Any) -> Any:
        z = w @ name(jnp.sin(x), "a")
        return jnp.sin(w @ name(jnp.cos(z), "b")).sum()

    return f if policy is None else j.checkpoint(f, policy=policy(j.checkpoint_policies))


@pytest.mark.parametrize("policy", POLICIES)
def test_derivatives(policy: str) -> None:
    j = lazynp.jax
    f, g = network(j), network(j, POLICIES[policy])
    rows, x = np.stack([X, X + 1]), j.numpy.asarray(X)
    pairs = [
        (j.grad(f)(x), j.grad(g)(x)),
        (j.grad(f)(x), j.jit(j.grad(g))(x)),
        (j.vmap(j.grad(f))(rows), j.vmap(j.grad(g))(rows)),
        (j.vmap(j.grad(f))(rows), j.jit(j.vmap(j.grad(g)))(rows)),
        (j.hessian(f)(x), j.hessian(g)(x)),
        (j.jvp(f, (x,), (x,))[1], j.jvp(g, (x,), (x,))[1]),
        (f(x), g(x)),
    ]
    for wanted, got in pairs:
        np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=2e-5, atol=1e-6)


def test_what_is_computed_once_more() -> None:
    """The products of a value and its gradient: two, two transposed ones, and those that are done again."""

    def count(policy: str) -> int:
        found = lazynp.jax.make_jaxpr(lazynp.jax.value_and_grad(network(lazynp.jax, POLICIES[policy])))(X)
        return len(re.findall("dot_general", str(found)))

    assert {p: count(p) for p in ("nothing", "dots", "a and b", "both")} == {
        "nothing": 6,
        "dots": 4,
        "a and b": 6,
        "both": 4,
    }


def printed(j: Any, capsys: Any, f: Any, *args: Any) -> list[str]:
    """The lines, without JAX's places in the source, sorted."""
    capsys.readouterr()
    module(j).print_saved_residuals(f, *args)
    return sorted([re.sub(r" from \S+:\d+.*", "", line) for line in capsys.readouterr().out.splitlines()])


@pytest.mark.parametrize("policy", ["nothing", "dots", "a", "a and b", "not a", "both"])
def test_what_is_kept(policy: str, capsys: Any) -> None:
    """The same values as under JAX."""
    kept = [printed(j, capsys, network(j, POLICIES[policy]), X) for j in (jax, lazynp.jax)]
    assert kept[0] == kept[1]


def test_what_is_kept_without_checkpoint(capsys: Any) -> None:
    for make in (lambda j: None, lambda j: j.checkpoint):
        kept = []
        for j in (jax, lazynp.jax):
            f = lambda x, y, j=j: j.numpy.sin(x * y) * j.numpy.exp(y)
            kept.append(printed(j, capsys, f if make(j) is None else make(j)(f), 1.0, 2.0))
        assert kept[0] == kept[1]


def test_in_a_loop() -> None:
    found = []
    for j in (jax, lazynp.jax):
        name, policy = module(j).checkpoint_name, j.checkpoint_policies.save_only_these_names("q")

        def body(c: Any, _: Any, j: Any = j, name: Any = name) -> Any:
            return j.numpy.sin(W @ name(c, "q")), None

        step = j.checkpoint(body, policy=policy)
        loop = lambda c, j=j, step=step: j.lax.scan(step, c, None, length=4)[0].sum()
        found.append([j.grad(loop)(X), j.jit(j.grad(loop))(X)])
    np.testing.assert_allclose(np.asarray(found[1]), np.asarray(found[0]), rtol=2e-5)


def test_answers_of_policies() -> None:
    j = lazynp.jax
    a = j.ad_checkpoint
    for answer in (a.Saveable, a.Recompute, a.Offloadable("device", "pinned_host"), True, False):
        g = j.checkpoint(network(j), policy=lambda *_, answer=answer, **__: answer)
        np.testing.assert_allclose(j.grad(g)(X), j.grad(network(j))(X), rtol=2e-5)
    with pytest.raises(TypeError, match="remat policy"):
        j.grad(j.checkpoint(network(j), policy=lambda *_, **__: "yes"))(X)
    with pytest.raises(ValueError, match="exclusive"):
        j.checkpoint_policies.save_and_offload_only_these_names(
            names_which_can_be_saved=["a"],
            names_which_can_be_offloaded=["a"],
            offload_src="device",
            offload_dst="pinned_host",
        )


def test_policies_that_choose_are_for_the_jax_door() -> None:
    with pytest.raises(NotImplementedError, match=r"lazynp\.jax\.checkpoint"):
        lazynp.checkpoint(lambda x: x, policy=lazynp.jax.checkpoint_policies.dots_saveable)
    for policy in (
        None,
        lazynp.jax.checkpoint_policies.nothing_saveable,
        lazynp.jax.checkpoint_policies.everything_saveable,
    ):
        square = lazynp.checkpoint(lambda x: x * x, policy=policy)
        assert float(lazynp.grad(square)(3.0)) == 6.0


STATIC_BY_NAME: list[Any] = [
    lambda j: j.grad(j.checkpoint(lambda x, n=1: x**n, static_argnames="n"))(j.numpy.float32(2), n=3),
    lambda j: j.grad(j.checkpoint(lambda x, n=1: x**n, static_argnames=("n",)))(j.numpy.float32(2), 3),
    lambda j: j.jit(j.checkpoint(lambda x, *, way: x if way == "up" else -x, static_argnames="way"))(2.0, way="up"),
    lambda j: j.checkpoint(lambda x, y, n: x if n else y, static_argnums=2, static_argnames="y")(2.0, y=[1], n=True),
    lambda j: j.remat(lambda x: x, concrete=False),
]


@pytest.mark.parametrize("call", STATIC_BY_NAME)
def test_static_arguments_by_name(call: Any) -> None:
    theirs, ours = outcome(lambda: call(jax)), outcome(lambda: call(lazynp.jax))
    assert disagreement("call", theirs, ours) is None


def noted(j: Any, run: Callable[[Any, Any], Any]) -> list[float]:
    """What a function calls back, of which the derivative is taken."""
    found: list[float] = []

    def f(x: Any) -> Any:
        j.debug.callback(lambda v: found.append(round(float(v), 3)), x)
        return j.numpy.sin(j.numpy.sin(x))

    run(j, f)
    j.effects_barrier()
    return sorted(found)


RUNS: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda j, f: j.grad(j.checkpoint(f))(2.0),
    "jit": lambda j, f: j.jit(j.grad(lambda x: j.checkpoint(f)(x) * x))(2.0),
    "vmap": lambda j, f: j.vmap(j.grad(j.checkpoint(f)))(X),
    "vjp": lambda j, f: j.vjp(lambda x: j.checkpoint(f)(x * 2), 2.0)[1](1.0),
    "jvp": lambda j, f: j.jvp(j.checkpoint(f), (2.0,), (1.0,)),
    "jvp in jit": lambda j, f: j.jit(lambda x: j.jvp(j.checkpoint(f), (x,), (x,)))(2.0),
    "plain": lambda j, f: j.checkpoint(f)(2.0),
    "around a loop": lambda j, f: j.grad(
        j.checkpoint(lambda x: j.lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0])
    )(2.0),
    "none saved": lambda j, f: j.grad(j.checkpoint(f, policy=j.checkpoint_policies.nothing_saveable))(2.0),
    "dots saved": lambda j, f: j.grad(j.checkpoint(f, policy=j.checkpoint_policies.dots_saveable))(2.0),
}


@pytest.mark.parametrize("run", RUNS)
def test_effects_come_again_where_values_are_computed_again(run: str) -> None:
    assert noted(lazynp.jax, RUNS[run]) == noted(jax, RUNS[run])
