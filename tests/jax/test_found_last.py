"""Expressions of the kinds that JAX's own tests have, which differed: values, dtypes, errors, and what is printed."""

from __future__ import annotations

from typing import Any

import jax
import pytest
from expressions import Library, compared

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
LIBRARIES = Library(jax, False), Library(lazynp.jax, False)
KEYS = """
lax.full_like(random.split(key()), 0)
lax.full_like(random.split(key()), 3, shape=(2,))
lax.full((2,), 0, key().dtype)
lax.full_like(A((2,)), key())
jnp.argmax(random.split(key()))
jnp.argmin(random.split(key()))
lax.argmax(random.split(key()), 0, 'int32')
jnp.sort(random.split(key()))
jnp.argsort(random.split(key()))
lax.sort(random.split(key()))
lax.sort((random.split(key()), A((2,))), num_keys=2)
jnp.isnan(random.split(key()))
jnp.isinf(key())
jnp.isfinite(key())
""".strip()
NUMBERS = """
jnp.linalg.matrix_rank(jnp.zeros((0, 0)))
jnp.linalg.matrix_rank(jnp.zeros((3, 0)))
jnp.linalg.matrix_rank(jnp.zeros((2, 0, 3)))
jnp.linalg.matrix_rank(jnp.zeros((2, 0, 3)), rtol=0.1)
jnp.linalg.matrix_rank(jnp.zeros((0, 2, 3)))
jnp.linalg.cond(jnp.zeros((0, 2, 2)))
jnp.linalg.cond(jnp.zeros((0, 2, 2)), 1)
jnp.linalg.cond(jnp.zeros((2, 0, 0)))
jnp.var(jnp.array([1j, 2]), dtype='float32')
jnp.std(jnp.array([1j, 2]), dtype='int32')
jnp.nanvar(jnp.array([1j, 2]), dtype='float32')
jnp.var(jnp.array([1j, 2]), dtype='complex64')
lax.shift_right_arithmetic(jnp.arange(16).astype('uint4'), jnp.full(16, 1, 'uint4'))
lax.shift_right_arithmetic(jnp.arange(4).astype('uint2'), jnp.full(4, 1, 'uint2'))
jnp.right_shift(jnp.arange(16).astype('uint4'), jnp.full(16, 2, 'uint4'))
jnp.arange(16).astype('uint4') >> 5
jax.grad(jax.grad(jax.nn.softplus))(jnp.inf)
jax.grad(jax.grad(lambda x: jnp.logaddexp(x, 0.0)))(jnp.inf)
jax.grad(jax.grad(lambda x: jnp.logaddexp(x, x)))(jnp.inf)
jax.grad(jax.grad(lambda x: jnp.logaddexp(x, jnp.inf)))(1.0)
jax.grad(jax.grad(lambda x: jnp.logaddexp2(x, 0.0)))(jnp.inf)
jax.grad(jax.grad(jnp.cbrt))(0.0)
jax.grad(jax.grad(jnp.cbrt))(jnp.inf)
jax.grad(jax.grad(lambda x: x**1.0))(0.0)
jax.grad(jax.grad(lambda x: x**1))(0.0)
[jnp.linalg.matrix_rank(jnp.diag(jnp.array([1.0, 2.0, 8.0])), r) for r in (1.5, jnp.float32(3), None)]
jnp.linalg.matrix_rank(jnp.ones((2, 3, 3)), rtol=jnp.array([0.1, 10.0]))
[jnp.linalg.qr(jnp.ones((3, 2)), m).Q.shape for m in ('full', 'complete', 'reduced')]
[jnp.linalg.pinv(x, hermitian=True) for x in (jnp.array([[1.0, 2], [5, 3]]),)]
[jnp.linalg.svd(x, hermitian=True, compute_uv=False) for x in (jnp.array([[1.0, 2], [5, 3]]),)]
jnp.linalg.vector_norm(jnp.arange(3.0), ord=None)
jnp.fft.fft(jnp.ones((2, 3)), axis=None), jnp.fft.irfft(jnp.ones((2, 3)), n=4, axis=None)
jnp.einsum(jnp.ones((2, 3)), ['a', 'b'], ['b']), jnp.einsum(jnp.ones((2, 3)), [60, 1])
jnp.apply_over_axes(lambda x, a: x.sum(a), jnp.ones((2, 3)), [0, 1])
jnp.polyval(jnp.ones((3, 2)), 2.0), jnp.polyval(jnp.ones(3), jnp.ones((2, 2)))
jnp.polyfit(jnp.arange(4.0), jnp.ones(4), 1.0)
jnp.pad(jnp.ones(3), ((1, 2),)), jnp.pad(jnp.ones((2, 3)), [1, 2], mode='edge'), jnp.pad(jnp.ones(1), jnp.array([1, 2]))
jsp.special.bessel_jn(1.0, v=2), jsp.special.bessel_jn(jnp.ones(2), v=-1)
jax.grad(jsp.special.spence)(jnp.nan)
""".strip()
PULLBACKS = """
jax.vjp(lambda x: jnp.sin(jnp.sin(x)), 1.0)
jax.vjp(lambda x: jnp.sin(jnp.sin(x)), jnp.ones(3))
jax.vjp(lambda x: (jnp.sin(x), {'a': x}), jnp.ones(3))
jax.vjp(lambda x: jnp.sin(x) * 2, jnp.ones(3))
jax.vjp(jax.jit(lambda x, y: x @ y), jnp.ones((2, 3)), jnp.ones((3, 2)))
jax.vjp(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))), 1.0)
jax.vjp(remat(lambda x: jnp.sin(jnp.sin(x @ x)), policy=jax.checkpoint_policies.dots_saveable), jnp.ones((3, 3)))
jax.vjp(remat(lambda x: jnp.sin(jnp.sin(x @ x)), policy=jax.checkpoint_policies.nothing_saveable), jnp.ones((3, 3)))
""".strip()


@pytest.mark.parametrize("text", [*KEYS.split("\n"), *NUMBERS.split("\n")])
def test_beside_jax(text: str) -> None:
    theirs, ours = (library.outcome(text) for library in LIBRARIES)
    found: Any = compared(theirs, ours)
    assert found is None or found.kind == "message", found


@pytest.mark.parametrize("text", PULLBACKS.split("\n"))
def test_jaxpr_of_a_pullback(text: str) -> None:
    """It has the operations that are left to do, and as constants what is kept."""
    found = []
    for library in LIBRARIES:
        library.names["remat"] = library.root.checkpoint
        jaxpr = library.evaluate(text)[1].jaxpr
        names = [f" {name}" for name in ("sin ", "cos ", "mul ", "dot_general[")]
        found.append(
            ([str(jaxpr).count(n) for n in names], [str(v.aval).strip("~") for v in (*jaxpr.invars, *jaxpr.outvars)])
        )
    assert found[0] == found[1]


def test_linear_maps_without_a_jaxpr() -> None:
    for j in (jax, lazynp.jax):
        with pytest.raises(AttributeError):
            j.linearize(j.numpy.sin, 1.0)[1].jaxpr  # noqa: B018


HALVES = {
    "operator": "x**0.5",
    "another number": "x**-0.5 + x**1.5",
    "NumPy's number": "x**np.float32(0.5)",
    "function": "jnp.power(x, 0.5)",
    "array": "x ** jnp.full(x.shape, 0.5, x.dtype)",
    "array of no axes": "x ** jnp.asarray(0.5, x.dtype)",
    "of lax": "lax.pow(x, jnp.full(x.shape, 0.5, x.dtype))",
    "float_power": "jnp.float_power(x, 0.5)",
    "one element": "x[0] ** 0.5, x[1] ** 0.5, x[:1] ** 0.5",
    "derivative": "jax.grad(lambda y: jnp.sum(y**1.5))(x)",
    "of an exponent": "jax.grad(lambda y: jnp.sum(jnp.abs(x) ** y))(jnp.asarray(0.5, x.dtype))",
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("n", [3, 100])
@pytest.mark.parametrize("name", HALVES)
def test_half_powers(name: str, n: int, dtype: str) -> None:
    """Of -inf and -0 they are inf and 0, as of C's pow, and no square roots: also in compiled code."""
    for body in (HALVES[name], f"jax.jit(lambda x: ({HALVES[name]}))(x)"):
        text = (
            f"(lambda x: ({body}))(jnp.resize(jnp.array([-jnp.inf, -0.0, 4.0, 0.0, jnp.inf, 2.5], '{dtype}'), ({n},)))"
        )
        theirs, ours = (library.outcome(text) for library in LIBRARIES)
        assert compared(theirs, ours) is None


def test_half_powers_by_a_traced_exponent() -> None:
    text = "jax.jit(lambda x, y: x**y)(jnp.array([-jnp.inf, -0.0, 4.0]), 0.5)"
    assert compared(*[library.outcome(text) for library in LIBRARIES]) is None
    text = "lax.fori_loop(0, 50, lambda i, c: c**0.5, jnp.array([-jnp.inf, -0.0, 4.0]))"
    assert compared(*[library.outcome(text) for library in LIBRARIES]) is None


JAXPRS = """
jax.make_jaxpr(random.split)(key())
jax.make_jaxpr(lambda k: random.bits(k))(key())
jax.make_jaxpr(random.key_data)(key())
jax.make_jaxpr(random.wrap_key_data)(random.key_data(key()))
jax.make_jaxpr(jax.jit(lambda x: x * 2))(1.0)
jax.make_jaxpr(jax.jit(lambda x: x * 2.5 + 1))(W(1))
jax.make_jaxpr(lambda x: lax.psum(x, 'i'), axis_env=[('i', 2)])(jnp.ones(3))
jax.make_jaxpr(lambda x: lax.pmax(x, 'i'), axis_env=[('i', 2)])(jnp.ones(3))
jax.make_jaxpr(lambda x: lax.axis_index('i') * x, axis_env=[('i', 2)])(jnp.ones(3))
jax.make_jaxpr(lambda x: lax.all_gather(x, 'i'), axis_env=[('i', 2)])(jnp.ones(3))
jax.make_jaxpr(lambda x: lax.ppermute(x, 'i', [(0, 1)]), axis_env=[('i', 2)])(jnp.ones(3))
""".strip()


@pytest.mark.parametrize("text", JAXPRS.split("\n"))
def test_jaxprs(text: str) -> None:
    wanted, got = (str(library.evaluate(text)) for library in LIBRARIES)
    assert got == wanted


def test_batched_branches_have_no_operation_of_ours() -> None:
    text = "jax.make_jaxpr(jax.vmap(lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x)))(W([True, False]), jnp.ones(2))"
    assert "together" not in str(LIBRARIES[1].evaluate(text))


REUSES = """
[random.uniform(k), random.normal(k)]
[random.uniform(k), random.split(k)]
[random.bits(k), random.bits(k)]
[jax.jit(lambda x, k: random.uniform(k) + x)(1.0, k) for _ in range(2)]
jax.jit(lambda k: (random.bits(k), random.bits(k)))(k)
jax.jit(lambda k: random.uniform(k) + random.normal(k))(k)
lax.scan(lambda k, _: (k, random.bits(k)), k, None, length=2)
lax.while_loop(lambda c: random.uniform(c[1]) < c[0], lambda c: (c[0] + 1, c[1]), (0, k))
lax.while_loop(lambda c: c[0] < 3, lambda c: (random.uniform(c[1]), c[1]), (0.0, k))
""".strip()


@pytest.mark.parametrize("text", REUSES.split("\n"))
def test_keys_used_again(text: str) -> None:
    """The message begins with JAX's words."""
    words = []
    for library in LIBRARIES:
        library.names["k"] = library.key(0)
        with library.root.debug_key_reuse(True), pytest.raises(library.root.errors.KeyReuseError) as error:
            library.evaluate(text)
        words.append(str(error.value).splitlines()[0].partition(" repeatedly executed")[0].rstrip("."))
    assert words[1].startswith(words[0])
