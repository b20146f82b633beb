"""`lax.composite` beside JAX's: values, jaxprs, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import lazynp.jax


def doubled(j: Any, **kwargs: Any) -> Any:
    return j.lax.composite(lambda x, **_: x * 2, "my.op", **kwargs)


def constant_result(j: Any) -> Any:
    return j.jit(lambda: j.numpy.float32(3)).lower()


@pytest.mark.parametrize("f", [constant_result])
def test_text(f: Callable[[Any], Any]) -> None:
    assert f(lazynp.jax).as_text() == f(jax).as_text()


def test_values_and_jaxprs() -> None:
    for j in (jax, lazynp.jax):
        f = j.lax.composite(lambda x, *, n: {"a": x * n}, "my.op")
        assert float(f(2.0, n=3)["a"]) == 6 and float(j.jit(lambda x, f=f: f(x, n=3))(2.0)["a"]) == 6
    a, b = [
        str(j.make_jaxpr(lambda x, j=j: doubled(j)(x, s="hi", r=np.ones(2, "float32")))(1.0)) for j in (jax, lazynp.jax)
    ]
    assert b == a


def refused(j: Any) -> list[tuple[type, str]]:
    f, found = doubled(j), []

    def captures(x: Any) -> Any:
        return j.lax.composite(lambda: x * 2, "c")()

    for call in (
        lambda: j.grad(f)(1.0),
        lambda: j.vmap(f)(j.numpy.ones(2)),
        lambda: j.jit(lambda x: f(x, s=object())).lower(1.0),
        lambda: j.jit(lambda x: f(x, n=x))(1.0),
        lambda: j.jit(captures)(1.0),
    ):
        with pytest.raises(Exception) as error:
            call()
        found.append((error.type.__name__, str(error.value).split(". ")[0].split("\n")[0]))
    return found


def test_refused() -> None:
    assert refused(lazynp.jax) == refused(jax)
