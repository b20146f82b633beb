"""Errors whose text JAX's users match: the same words as in JAX, here and there."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import lazynp.jax

Call = Callable[[Any], Any]


def scanned(first: Any, then: Any) -> Call:
    return lambda j: j.lax.scan(lambda carry, x: (then(j), x), first, np.arange(2))


def looped(first: Any, then: Any) -> Call:
    return lambda j: j.lax.while_loop(lambda c: False, lambda c: then(j), first)


def chosen(*branches: Any) -> Call:
    return lambda j: j.lax.switch(0, [lambda b=b: b for b in branches])


def compiled(*args: Any, **kwargs: Any) -> Call:
    return lambda j: j.jit(lambda x, y=1: x + y).lower(1.0, 2).compile()(*args, **kwargs)


CARRIES: dict[str, Call] = {
    "lengths": scanned((1, 2), lambda j: (1, 2, 3)),
    "keys": scanned({"a": 1}, lambda j: {"b": 1}),
    "number of keys": scanned({"a": 1}, lambda j: {"a": 1, "b": 2}),
    "nested": scanned({"a": (1, [2]), "b": {"c": 1}}, lambda j: {"a": [1, [2]], "b": {"d": 1}}),
    "types": scanned((np.float32(1), {"w": 2.0}), lambda j: (np.float16(1), {"w": j.numpy.ones(3)})),
    "one type": scanned(np.float32(1), lambda j: np.float16(1)),
    "while": looped((1, 2), lambda j: (1,)),
    "types of while": looped([np.float32(1)], lambda j: [np.int32(1)]),
    "fori": lambda j: j.lax.fori_loop(0, 2, lambda i, c: (c[0],), (1, 2)),
    "types of fori": lambda j: j.lax.fori_loop(0, 2, lambda i, c: c.astype("f2"), np.float32(1)),
    "no pair": lambda j: j.lax.scan(lambda c, x: (c, x, x), 0.0, np.arange(2.0)),
    "no condition": lambda j: j.lax.while_loop(lambda c: j.numpy.ones(2) > c, lambda c: c, 0),
    "tree for a condition": lambda j: j.lax.while_loop(lambda c: [True], lambda c: c, 0),
    "cond": lambda j: j.lax.cond(True, lambda: (1, 2), lambda: (1, 2, 3)),
    "cond deep": lambda j: j.lax.cond(True, lambda: {"a": (1, 2)}, lambda: {"a": [1, 2]}),
    "types of cond": lambda j: j.lax.cond(True, lambda: (1, {"b": 2}), lambda: (1.0, {"b": 2.0})),
    "switch": chosen(1, 2, (1,)),
    "types of switch": chosen(1, 1.5),
    "too many for a compiled function": compiled(1.0, 2, 3),
    "named for a compiled function": compiled(1.0, y=2),
}


def text_of(call: Call, j: Any) -> str:
    with pytest.raises(TypeError) as error:
        call(j)
    return re.sub(r" at \S+:\d+", "", str(error.value))  # where the user's function stands


@pytest.mark.parametrize("name", CARRIES)
def test_what_differs_between_trees_and_types_is_said_as_jax_says_it(name: str) -> None:
    assert text_of(CARRIES[name], lazynp.jax) == text_of(CARRIES[name], jax)


@pytest.mark.parametrize("transform", ["jit", "grad", "vmap"])
def test_compiled_functions_are_not_transformed(transform: str) -> None:
    def call(j: Any) -> Any:
        f = j.jit(lambda x: x * 2).lower(1.0).compile()
        x = np.ones(2, np.float32) if transform == "vmap" else 1.0
        return getattr(j, transform)(f)(x)

    for j in (jax, lazynp.jax):
        with pytest.raises(TypeError, match="Cannot apply JAX transformations to a function lowered and compiled"):
            call(j)


USES: dict[str, Call] = {
    "bool": lambda j: j.jit(lambda a, b: a if b > 0 else b)(1.0, 2.0),
    "float": lambda j: j.jit(lambda a: float(a["x"][0]))({"x": (1.0, 2)}),
    "numpy": lambda j: j.jit(lambda x: np.sin(x))(1.0),
    "index": lambda j: j.jit(lambda i: [1, 2][i])(0),
    "checkpoint": lambda j: j.checkpoint(lambda x: x if x > 0 else -x)(1.0),
    "grad of checkpoint": lambda j: j.grad(j.checkpoint(lambda x: x if x > 0 else -x))(1.0),
}


@pytest.mark.parametrize("name", USES)
def test_uses_of_traced_values_say_on_which_arguments_they_depend(name: str) -> None:
    said = r"This concrete value was not available in Python because it depends on the value of the argument [\w'\[\]]+"
    found = []
    for j in (jax, lazynp.jax):
        with pytest.raises(Exception, match=said) as error:
            USES[name](j)
        match = re.search(said, str(error.value))
        found.append((type(error.value).__name__, match and match[0]))
    assert found[0] == found[1]


def test_abstract_values_are_leaves_of_trees() -> None:
    for j in (jax, lazynp.jax):
        found = j.jit(lambda x, y: x).trace(1.0, np.ones(3)).in_avals
        assert [str(a) for a in j.tree.leaves(found)] == ["~float32[]", "float32[3]"]
        assert j.typeof(1.0) == j.typeof(2.0) != j.typeof(np.float32(1))
        assert len({j.typeof(1.0), j.typeof(2.0)}) == 1


LOST: dict[str, Call] = {
    "float": lambda j: j.grad(lambda x: float(j.numpy.sin(x)) * 1.0)(2.0),
    "complex": lambda j: j.jvp(lambda x: complex(x), (2.0,), (1.0,)),
    "math": lambda j: j.grad(lambda x: math.sin(x))(2.0),
    "numpy": lambda j: j.grad(lambda x: np.sin(x))(2.0),
    "list": lambda j: j.vjp(lambda x: x.tolist(), np.ones(2, np.float32)),
    "nested": lambda j: j.grad(lambda x: j.grad(lambda y: float(x * y))(x))(2.0),
    "linearize": lambda j: j.linearize(lambda x: np.asarray(x * 2), np.ones(2, np.float32)),
}


@pytest.mark.parametrize("name", LOST)
def test_values_that_a_derivative_goes_through_do_not_become_numbers(name: str) -> None:
    """What is made of a Python number has the derivative zero."""
    found = []
    for j in (jax, lazynp.jax):
        with pytest.raises(j.errors.JAXTypeError if hasattr(j.errors, "JAXTypeError") else TypeError) as error:
            LOST[name](j)
        found.append(type(error.value).__name__)
    assert found[0] == found[1]


def ruled(j: Any) -> Any:
    """A function whose rule computes with NumPy."""
    f = j.custom_vjp(lambda x: np.float32(np.sin(x)))
    f.defvjp(lambda x: (np.float32(np.sin(x)), x), lambda kept, ct: (ct * np.float32(np.cos(kept)),))
    return f


KEPT: dict[str, Call] = {
    "whole numbers": lambda j: j.grad(lambda x: x * int(x) * float(x.astype(int)))(2.0),
    "branches": lambda j: j.grad(lambda x: x if x > 0 and bool(x) else -x)(2.0),
    "stopped": lambda j: j.grad(lambda x: x * float(j.lax.stop_gradient(x)))(2.0),
    "others": lambda j: j.grad(lambda x, y: x * float(y))(2.0, j.numpy.float32(3)),
    "rules": lambda j: j.grad(ruled(j))(j.numpy.float32(2)),
    "rules in loops of Python": lambda j: j.grad(lambda x: sum(ruled(j)(x * k) for k in (1.0, 2.0)))(
        j.numpy.float32(2)
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_values_are_there_where_nothing_is_lost(name: str) -> None:
    np.testing.assert_allclose(np.asarray(KEPT[name](lazynp.jax)), np.asarray(KEPT[name](jax)), rtol=1e-6)
