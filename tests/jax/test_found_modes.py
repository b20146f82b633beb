"""Programs of the kinds that JAX's own tests have, under the settings with which these run, and what they refuse."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import pytest
from expressions import Library, compared

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
LIBRARIES = Library(jax, False), Library(lazynp.jax, False)
ONE_BY_ONE = """
lax.reduce(jnp.arange(1.0, 7).reshape(2, 3), 0.0, lambda a, b: a - b, (1,))
lax.reduce(jnp.arange(1.0, 7).reshape(2, 3), 0.0, lambda a, b: a * 2 + b, (0, 1))
lax.reduce(jnp.arange(1.0, 8), 3.0, lambda a, b: a / b, (0,))
lax.reduce((jnp.arange(5), jnp.arange(5.0)), (0, 1.0), lambda a, b: (a[0] - b[0], a[1] + b[1]), (0,))
jax.jit(lambda x: lax.reduce(x, 0.0, lambda a, b: a - 2 * b, (0,)))(jnp.arange(1.0, 5))
lax.reduce_window(jnp.arange(1.0, 7), 0.0, lambda a, b: a - b, (3,), (1,), 'VALID')
lax.reduce_window(jnp.arange(1.0, 7), 0.0, lambda a, b: a * 2 + b, (3,), (2,), 'SAME')
lax.reduce_window(jnp.arange(1.0, 7).reshape(2, 3), 1.0, lambda a, b: a / b, (2, 2), (1, 1), 'SAME')
lax.reduce_window(jnp.arange(1, 7, dtype='uint8'), jnp.uint8(0), lambda a, b: a - b, (2,), (1,), ((1, 1),), (2,), (2,))
""".strip()
STRICT = """
jnp.multiply.outer(jnp.arange(4), jnp.arange(3))
jnp.add.outer(jnp.ones((2, 3)), jnp.ones(2))
jnp.subtract.outer(jnp.ones(()), jnp.ones((2, 1)))
jnp.frompyfunc(lambda a, b: a - b, 2, 1).outer(jnp.arange(4), jnp.arange(3))
jnp.mgrid[0:3, 0:2:5j]
jnp.ogrid[0:3, 0:2:0.5]
""".strip()
DRAWN = """
random.binomial(random.key(5, impl='rbg'), 5.0, 0.3, (3,))
random.binomial(random.key(5, impl='rbg'), 100.0, jnp.array([0.3, 0.7, 0.01, jnp.nan, -1, 0.5]))
random.binomial(random.key(5, impl='unsafe_rbg'), jnp.array([1000.0, -1, jnp.inf, 40]), 0.4, (2, 4))
random.multinomial(random.key(5, impl='rbg'), 50.0, jnp.array([0.3, 0.5, 0.2]))
""".strip()
REFUSED = """
jnp.stack([jnp.ones(2), jnp.ones(3)])
lax.sort((jnp.arange(3), jnp.arange(4)))
lax.argmax(jnp.zeros((0,)), 0, 'int32')
jnp.diag_indices(-1)
jnp.diag_indices(1, -1)
jax.jit(lambda x: x.sharding)(jnp.arange(3))
jax.jit(lambda x: x.copy_to_host_async())(jnp.arange(3))
jnp.arange(3).__setitem__(0, 1)
jax.debug.print('{x}', x=1, y=2)
random.poisson(random.key(3), 3.0, (2,), 'float16')
random.poisson(random.key(3), 3.0, (2,), 'complex64')
""".strip()


@pytest.mark.parametrize("text", [*ONE_BY_ONE.split("\n"), *DRAWN.split("\n")])
def test_beside_jax(text: str) -> None:
    """A reduction gives a function that is not associative one element after the other; binomial samples are JAX's."""
    theirs, ours = (library.outcome(text) for library in LIBRARIES)
    found: Any = compared(theirs, ours)
    assert found is None, found


@pytest.mark.parametrize("text", STRICT.split("\n"))
def test_what_strict_settings_allow(text: str) -> None:
    outcomes = []
    for library in LIBRARIES:
        root = library.root
        with root.numpy_rank_promotion("raise"), root.numpy_dtype_promotion("strict"), warnings.catch_warnings():
            warnings.simplefilter("error")
            outcomes.append(library.outcome(text))
    found: Any = compared(*outcomes)
    assert found is None, found


@pytest.mark.parametrize("text", REFUSED.split("\n"))
def test_words_of_errors(text: str) -> None:
    words = []
    for library in LIBRARIES:
        with pytest.raises(Exception, match=r".") as refused:
            library.evaluate(text)
        words.append(f"{type(refused.value).__name__}: {refused.value}".split("\n")[0].rstrip("."))
    assert words[1].startswith(words[0]), words


def test_rules_for_each_argument() -> None:
    """`defjvps` is given as many rules as there are arguments."""
    for root in (jax, lazynp.jax):
        f = root.custom_jvp(lambda x, y: x * y)
        f.defjvps(lambda t, out, x, y: t * y)
        with pytest.raises(ValueError, match="argument 1 has length 1 but argument 0 has length 2"):
            root.grad(f)(3.0, 2.0)


def test_zeros_of_values() -> None:
    for root in (jax, lazynp.jax):
        a, b = root.custom_derivatives.zero_from_primal((root.numpy.ones(2), 3))
        assert isinstance(a, root.Array) and a.shape == (2,)
        assert b.dtype == root.dtypes.float0


@pytest.mark.parametrize("name", ["gamma", "loggamma", "wofz"])
def test_widths_where_there_are_wider_ones(name: str) -> None:
    """With 64 bits on, numbers of 32 give numbers of 32."""
    dtypes = []
    for root in (jax, lazynp.jax):
        with root.enable_x64(True):
            out = getattr(root.scipy.special, name)(root.numpy.array([1 + 1j, 0.3], "complex64"))
            dtypes.append(str(out.dtype))
    assert dtypes == ["complex64", "complex64"]
