"""Errors whose texts tests look for, printed graphs, and what can be pickled: as in JAX."""

from __future__ import annotations

import importlib
import pickle
from functools import partial
from typing import Any

import cloudpickle
import jax
import numpy as np
import pytest
from expressions import Library

import lazynp.jax
import lazynp.jax.numpy as jnp

jax.config.update("jax_platforms", "cpu")
LIBRARIES = Library(jax, False), Library(lazynp.jax, False)
ERRORS = """
key() + 1
1 + key()
key() - 1
key() * 2.0
key() / 2
key() % 2
key() & 1
key() < 1
key() == 1
key() != A((2,))
key() + key()
key() * key()
-key()
abs(key())
~key()
int(key())
float(key())
divmod(key(), 2)
jnp.add(key(), 1)
lax.neg(key())
lax.add(key(), key())
lax.sin(key())
lax.lt(key(), key())
random.uniform('a')
jnp.linalg.lstsq(jnp.ones(2), jnp.ones(2))
jsp.linalg.schur(jnp.eye(2), output='foo')
jnp.insert(jnp.arange(3), jnp.array([[0]]), 1)
jnp.expand_dims(jnp.ones(2), (0, 0))
jnp.ravel_multi_index((1,), (2,), mode='foo')
""".strip()


def said(library: Library, text: str) -> tuple[type, str]:
    """The class and the first line of the error of an expression."""
    with pytest.raises(Exception) as error:
        library.evaluate(text)
    return error.type, str(error.value).splitlines()[0].partition(" Accepted dtypes")[0]


@pytest.mark.parametrize("text", ERRORS.split("\n"))
def test_errors(text: str) -> None:
    wanted, got = (said(library, text) for library in LIBRARIES)
    assert got == wanted


POWERS = """
jax.make_jaxpr(lambda x: x**2)(1.0)
jax.make_jaxpr(lambda x: x**2)(1)
jax.make_jaxpr(lambda x: x**3)(jnp.arange(3))
jax.make_jaxpr(lambda x: jnp.sin(x) ** 3)(1.0)
jax.make_jaxpr(lambda x: x**-1)(1.0)
""".strip()


@pytest.mark.parametrize("text", POWERS.split("\n"))
def test_jaxprs(text: str) -> None:
    wanted, got = (str(library.evaluate(text)) for library in LIBRARIES)
    assert got == wanted


def twice(x: Any) -> Any:
    return x * 2


def test_jitted_functions_can_be_pickled() -> None:
    f = pickle.loads(pickle.dumps(lazynp.jax.jit(twice)))
    assert f(2.0) == 4 and type(f) is type(lazynp.jax.jit(twice))
    g = cloudpickle.loads(cloudpickle.dumps(lazynp.jax.jit(lambda x, n: x * n, static_argnames="n")))
    assert g(2.0, n=3) == 6 and g.lower(2.0, n=3) is not None


class Odd:
    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        raise NotImplementedError("never equal")


@pytest.mark.parametrize("module", [jax, lazynp.jax])
def test_static_arguments_that_cannot_be_compared(module: Any) -> None:
    f = module.jit(lambda x, y: x, static_argnums=1)
    f(1.0, Odd())
    with pytest.raises(ValueError, match="static arguments should be comparable using __eq__"):
        f(1.0, Odd())


@pytest.mark.parametrize("module", [jax, lazynp.jax])
def test_cotangents_of_other_floating_dtypes(module: Any) -> None:
    @module.custom_vjp
    def f(x: Any) -> Any:
        return x * 2

    f.defvjp(lambda x: (f(x), None), lambda _, g: (g.astype("float16"),))
    assert module.grad(f)(jnp.float32(1) if module is lazynp.jax else 1.0).dtype == "float16"
    assert module.jit(module.grad(f))(1.0).dtype == "float16"


SHAPES = """
symbolic_shape('a b')
symbolic_shape('2a')
symbolic_shape('a)')
symbolic_shape('a,,b')
symbolic_shape('a + ')
symbolic_shape('a^b')
symbolic_shape('mod(a)')
symbolic_shape('_')
symbolic_shape('...,a', like=(2, 3))
symbolic_shape('a,_', like=(3,))
symbolic_shape('a,_', like=(3, None))
symbolic_shape('3,a', like=(2, 4))
symbolic_shape('a', constraints=('a>=a+1',))
symbolic_shape('a', constraints=('a >= b c',))
symbolic_shape('a', constraints=(3,))
symbolic_shape('a')[0] + symbolic_shape('a')[0]
symbolic_shape('a')[0] * symbolic_shape('a')[0]
symbolic_shape('a')[0] // symbolic_shape('b')[0]
symbolic_shape('a')[0] >= symbolic_shape('b')[0]
""".strip()


@pytest.mark.parametrize("text", SHAPES.split("\n"))
def test_errors_of_shapes_with_variables(text: str) -> None:
    words = []
    for library in LIBRARIES:
        importlib.import_module(f"{library.root.__name__}.export")
        library.names["symbolic_shape"] = library.root.export.symbolic_shape
        words.append(said(library, text))
    assert words[1] == words[0]


def test_sizes_that_may_be_nothing() -> None:
    (a,) = lazynp.jax.export.symbolic_shape("a")
    spec = lazynp.jax.ShapeDtypeStruct((a - 2,), "float32")
    assert lazynp.jax.export.export(lazynp.jax.jit(lambda x: x + 1))(spec).call(jnp.ones(0)).shape == (0,)
    with pytest.raises(lazynp.jax.errors.InconclusiveDimensionOperation, match="Cannot divide evenly the sizes"):
        lazynp.jax.eval_shape(lambda x: x.reshape(-1, 2), lazynp.jax.ShapeDtypeStruct((a,), "float32"))


RULES: dict[str, Any] = {
    "other structure": lambda x: (x, x),
    "other shape": lambda x: x * np.ones(2, "float32"),
}


@pytest.mark.parametrize("other", RULES.values(), ids=RULES)
@pytest.mark.parametrize("way", ["jvp", "vjp"])
def test_rules_whose_results_are_not_the_functions(way: str, other: Any) -> None:
    words = []
    for module in (jax, lazynp.jax):
        x = module.numpy.float32(1)
        if way == "jvp":
            f = module.custom_jvp(lambda x: x)
            f.defjvp(lambda p, t: (other(p[0]), other(t[0])))
            run = partial(module.jvp, module.jit(f), (x,), (x,))
        else:
            f = module.custom_vjp(lambda x: x)
            f.defvjp(lambda x: (other(x), None), lambda _, g: (g,))
            run = partial(module.grad(module.jit(f)), x)
        with pytest.raises(TypeError) as error:
            run()
        words.append(str(error.value))
    assert words[1].rstrip(".") == words[0].rstrip(".")


def test_errors_of_slices_and_densities() -> None:
    words = []
    for library in LIBRARIES:
        for text in (
            "lax.dynamic_slice(jnp.ones(3), jnp.array([[0]]), (1,))",
            "lax.pad(jnp.ones((2, 2)), 0.0, [(0, 0, 0)])",
            "jsp.stats.multivariate_normal.logpdf(jnp.zeros(2), jnp.zeros(3), jnp.eye(2))",
        ):
            words.append(said(library, text))
    assert words[3:] == words[:3]
