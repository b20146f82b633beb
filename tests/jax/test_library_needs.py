"""What libraries that stand on JAX were stopped by, beside JAX."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

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


CASES: dict[str, Callable[[Any], Any]] = {
    **{
        f"{kind} {i}": lambda j, kind=kind, i=i: in_a_branch(j, kind, i)
        for kind in ("cond", "operand", "switch")
        for i in (0, 1)
    },
    "no cotangent for a tree": lambda j: subtree(j, False),
    "no cotangent for a tree, symbolic": lambda j: subtree(j, True),
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
