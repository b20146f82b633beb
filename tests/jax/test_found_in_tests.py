"""What programs in the manner of JAX's own tests have found: values, types and classes of errors are JAX's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.experimental
import numpy as np
import pytest
from expressions import Library, compared

import lazynp.jax
import lazynp.jax.experimental
from lazynp.jax.lax import folds

jax.config.update("jax_platforms", "cpu")
LIBRARIES = Library(jax, False), Library(lazynp.jax, False)
WIDE = Library(jax, True), Library(lazynp.jax, True)
BOTH = (jax, lazynp.jax)
VALUES = """
jax.grad(lambda x: lax.reduce(x, -np.inf, lax.max, (0,)))(np.array([1.0, 3, 3], 'float32'))
jax.grad(lambda x: lax.reduce(x, np.inf, lax.min, (0,)))(np.array([1.0, 1, 3], 'float32'))
jax.grad(lambda x: lax.reduce(x, 1.0, lax.mul, (0,)))(np.array([2.0, 0, 3], 'float32'))
lax.reduce(np.zeros((0, 2), 'float32'), -np.inf, lax.max, (0,))
jnp.put(jnp.arange(4), np.array([3, 9]), np.array([7, 8]), inplace=False)
jnp.put(jnp.arange(4), np.array([-1, -9]), 7, inplace=False)
jax.jacrev(lambda x: x['a'] * 2.0, allow_int=True)({'a': jnp.arange(2)})
jax.device_get([np.float64(2), np.int8(3)])
jnp.float32()
jnp.rot90(np.ones(2))
jnp.histogram(np.array([1.0, 2]), range=1)
jnp.histogram(np.array([1.0, 2]), range=(1, 2, 3))
jax.jit(lambda x, /, y: x + y, static_argnames='x')(1, 2)
jax.jit(lambda x, /, y: x + y, donate_argnames='x')(1, 2)
jax.jit(lambda *a: 1, static_argnames='a')(1)
setattr(jax.ShapeDtypeStruct((2,), 'float32'), 'shape', (3,))
setattr(jax.ShapeDtypeStruct((2,), 'float32'), 'shape', (2,))
setattr(jax.ShapeDtypeStruct((2,), 'float32'), 'sharding', None)
""".strip().split("\n")
WIDER = """
jnp.array(True) ** 2, jnp.array([True]) ** 0, jnp.power(True, 3), jnp.array(True) ** 2.0
jnp.sum(jnp.array([True]), promote_integers=False), jnp.cumsum(jnp.array([True])), jnp.sum(jnp.array([True]))
jnp.argpartition(jnp.arange(3), 1), jnp.arange(3).argpartition(1)
""".strip().split("\n")
MESSAGES = """
lax.eq(np.float32(1), np.float16(1))
lax.atan2(np.float32(1), np.float16(1))
lax.shift_right_logical(np.int32(1), np.int8(1))
lax.pad(np.ones(3, 'float32'), np.float32(0), ((-1, -3, 0),))
jnp.rot90(np.ones(2))
jnp.cumulative_prod(np.float32(3))
""".strip().split("\n")


@pytest.mark.parametrize("text", VALUES)
def test_beside_jax(text: str) -> None:
    found: Any = compared(*[library.outcome(text) for library in LIBRARIES])
    assert found is None or found.kind == "message", found


@pytest.mark.parametrize("text", WIDER)
def test_of_64_bits(text: str) -> None:
    found: Any = compared(*[library.outcome(text) for library in WIDE])
    assert found is None, found


@pytest.mark.parametrize("text", MESSAGES)
def test_messages(text: str) -> None:
    found = []
    for library in LIBRARIES:
        with pytest.raises((TypeError, ValueError)) as error:
            library.evaluate(text)
        found.append((type(error.value), str(error.value)))
    assert found[0] == found[1]


PROGRAMS: list[Callable[[Any], Any]] = [
    lambda j: copies(j.device_put, j.numpy.ones(2)),
    lambda j: j.make_jaxpr(lambda x: x @ x)(np.ones((2, 2), "float32")).eqns[0].params["dimension_numbers"],
    lambda j: str(j.make_jaxpr(lambda x: x @ x)(np.ones((2, 2), "float32"))),
    lambda j: str(j.make_jaxpr(lambda x: j.lax.reduce(x, -np.inf, j.lax.max, (0,)))(np.ones(3, "float32"))),
]


def copies(put: Any, x: Any) -> list[bool]:
    return [put(x) is x, put(x, may_alias=False) is x, put(x, donate=True) is x, x.is_deleted()]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program: Callable[[Any], Any]) -> None:
    theirs, ours = map(program, BOTH)
    assert theirs == ours


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("j", BOTH, ids=["jax", "lazynp"])
def test_callbacks_without_results_have_no_derivative(j: Any, ordered: bool) -> None:
    """Where the argument is differentiated; within a custom rule, or where nothing flows through, they are called."""
    seen: list[float] = []

    def noting(x: Any) -> Any:
        j.experimental.io_callback(lambda v: seen.append(float(v)), None, x, ordered=ordered)
        return x * 2

    with pytest.raises(ValueError, match="IO callbacks do not support JVP"):
        j.grad(noting)(1.0)
    assert seen == []
    rule = j.custom_jvp(noting)
    rule.defjvp(lambda primals, tangents: (rule(*primals), 3 * tangents[0]))
    assert float(j.grad(rule)(1.0)) == 3
    assert float(j.grad(lambda x: noting(j.lax.stop_gradient(x)) + x)(1.0)) == 1
    j.effects_barrier()
    assert set(seen) == {1.0}


@pytest.mark.parametrize("function", ["lambda a, b: a - 2 * b", "lambda a, b: a + 0 * b + b"])
def test_functions_of_reductions_are_tried_once(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether such a function may be grouped is found out once for each dtype, and forgotten with the function."""
    times = []
    monkeypatch.setattr(folds, "tried", lambda *a, tried=folds.tried: times.append(a[1]) or tried(*a))
    f, x = eval(function), np.arange(5, dtype="float32")
    found = [float(lazynp.jax.lax.reduce(x, np.float32(0), f, (0,))) for _ in range(3)]
    assert len(times) == 1 and found == [float(jax.lax.reduce(x, np.float32(0), f, (0,)))] * 3
    lazynp.jax.lax.reduce(x.astype("int32"), np.int32(0), f, (0,))
    assert len(times) == 2
