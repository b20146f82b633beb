"""Equations of JAX's own jaxprs, with JAX's parameters, bound with the primitives of the same names: values and dtypes
are those that JAX computes from them."""

from __future__ import annotations

import enum
import importlib
from collections.abc import Callable
from typing import Any

import jax
import jax.extend.core
import numpy as np
import pytest
from jax.extend import core as theirs

import lazynp.jax
from lazynp.jax.extend import core as ours
from lazynp.jax.primitives import primitive_of

jax.config.update("jax_platforms", "cpu")
X = (np.arange(1, 17, dtype=np.float32).reshape(4, 4) % 5) + 0.5
PLACES = np.array([0, 1, 1]), np.array([0, 3, 2])
OPERATIONS = ("set", "add", "multiply", "min", "max", "subtract")
lax, jnp = jax.lax, jax.numpy


def windows(x: Any) -> Any:
    combined = (lax.add, 0.0), (lax.max, -np.inf), (lax.min, np.inf), (lax.mul, 1.0), (lambda a, b: a - -b, 0.0)
    return [lax.reduce_window(x, first, f, (2, 2), (1, 1), "SAME") for f, first in combined]


def two_at_once(x: Any) -> Any:
    zeros = np.float32(0), np.float32(0)
    return lax.reduce((x, x), zeros, lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,))


def loops(x: Any) -> Any:
    doubled = lax.while_loop(lambda c: c.sum() < 100, lambda c: c * 2, x)
    chosen = lax.cond(x.sum() > 0, lambda x: x, lambda x: -x, x)
    return doubled, lax.scan(lambda c, a: (c + a.sum() * X[0], c), x[0], x), chosen


def several(x: Any) -> Any:
    return (
        lax.clamp(1.0, x, 2.0),
        lax.reduce_precision(x, 5, 3),
        lax.iota("int32", 3),
        lax.top_k(x, 2),
        lax.argmax(x, 1, "int32"),
        lax.dynamic_slice(x, (1, 1), (2, 2)),
        lax.pad(x, 0.0, ((1, 0, 1), (0, 0, 0))),
        lax.integer_pow(x, 3),
        lax.cumsum(x),
        lax.cumlogsumexp(x, reverse=True),
    )


def greatest(x: Any) -> Any:
    return lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 1), "SAME")


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "approx_top_k": lambda x: (lax.approx_max_k(x, 2), lax.approx_min_k(x, 2)),
    "barriers": lambda x: (lax.dce_sink(x), lax.optimization_barrier((x, x)))[1],
    "comparisons": lambda x: [p.bind(x, x[::-1]) for p in (lax.eq_to_p, lax.le_to_p, lax.lt_to_p)],
    "comparisons of zeros": lambda x: [lax.lt_to_p.bind(-0 * x, 0 * x), lax.eq_to_p.bind(x - x, x * 0)],
    "convolution": lambda x: lax.conv_general_dilated(x[None, None], x[None, None, :2, :2], (1, 1), "SAME"),
    "device_put": jax.device_put,
    "fft": lambda x: jnp.fft.rfft2(x),
    "gathers": lambda x: (x[PLACES[0]], x.at[np.array([0, 9])].get(mode="fill", fill_value=3.0)),
    "igamma_grad_a": jax.grad(lambda x: lax.igamma(x, x * 0 + 2).sum()),
    "linear solve": lambda x: lax.custom_linear_solve(lambda y: y * 2, x, lambda m, b: b / 2),
    "loops": loops,
    "matrices": lambda x: (jnp.linalg.solve(x + 9 * jnp.eye(4), x), jnp.linalg.cholesky(x @ x.T + 9 * jnp.eye(4))),
    "mulhi": lambda x: lax.mulhi(x.astype("uint32") * 7**9, x.astype("uint32") * 7**10),
    "random": lambda x: (
        jax.random.normal(jax.random.key(0), (3,)),
        jax.random.gamma(jax.random.key(0), x),
        jax.random.split(jax.random.PRNGKey(0)),
        jax.random.fold_in(jax.random.PRNGKey(0), 3),
        jax.random.key_data(jax.random.clone(jax.random.key(3))),
    ),
    "reductions of several": two_at_once,
    "rematerialized": lambda x: jax.checkpoint(lambda y: y * 2)(x),
    "rng_bit_generator": lambda x: lax.rng_bit_generator(x.astype("uint32").reshape(-1)[:4], (3,)),
    "scatters": lambda x: [getattr(x.at[PLACES], name)(2.0) for name in OPERATIONS],
    "several": several,
    "sorting": lambda x: lax.sort((x, -x), num_keys=2),
    "stacks": lambda x: (lax.tile(x, (2, 1)), lax.stack((x, x)), lax.unstack(x), lax.stage(x)),
    "windows": windows,
    "windows' greatest, along": lambda x: jax.jvp(greatest, (x,), (x,)),
    "windows' greatest, back": jax.grad(lambda x: (greatest(x) * x).sum()),
    "windows' least, back": jax.grad(
        lambda x: (lax.reduce_window(x, np.inf, lax.min, (2, 2), (2, 1), "VALID") ** 2).sum()
    ),
}


def named(primitive: Any) -> Any:
    """Ours by the public name that JAX's has."""
    for module in ("lax", "lax.linalg", "extend.core.primitives"):
        found = vars(importlib.import_module(f"jax.{module}"))
        for name in [n for n in found if n.endswith("_p") and found[n] is primitive]:
            own = getattr(importlib.import_module(f"lazynp.jax.{module}"), name)
            assert (own.name, own.multiple_results) == (primitive.name, primitive.multiple_results)
            return own
    return primitive_of(primitive.name)


def translated(value: Any) -> Any:
    """A parameter of JAX's as ours."""
    if isinstance(value, (theirs.ClosedJaxpr, theirs.Jaxpr)):
        return rebuilt(value)
    own = getattr(lazynp.jax.lax, type(value).__name__, None)
    if isinstance(value, enum.Enum) and own is not None:
        return own[value.name]
    if own is not None and type(value).__name__.endswith("DimensionNumbers"):
        return own(*[getattr(value, k) for k in getattr(value, "_fields", getattr(value, "__dataclass_fields__", ()))])
    if type(value).__name__ == "PRNGImpl":
        return value.name
    if isinstance(value, tuple):
        parts = [translated(v) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def rebuilt(given: Any) -> Any:
    """A jaxpr of JAX's as ours."""
    jaxpr = given.jaxpr if isinstance(given, theirs.ClosedJaxpr) else given
    known: dict[Any, Any] = {}

    def atom(v: Any) -> Any:
        key = jax.dtypes.issubdtype(v.aval.dtype, jax.dtypes.prng_key)
        aval = lazynp.jax.core.ShapedArray(v.aval.shape, lazynp.jax.random.key_dtype() if key else v.aval.dtype)
        if isinstance(v, theirs.Literal):
            return ours.Literal(v.val, aval)
        return known.setdefault(v, ours.Var(aval))

    eqns = []
    for e in jaxpr.eqns:
        params = {k: translated(v) for k, v in e.params.items()}
        eqns.append(ours.new_jaxpr_eqn([*map(atom, e.invars)], [*map(atom, e.outvars)], named(e.primitive), params, ()))
    ends = [[atom(v) for v in vs] for vs in (jaxpr.constvars, jaxpr.invars, jaxpr.outvars)]
    found = ours.Jaxpr(*ends, eqns)
    return found if given is jaxpr else ours.ClosedJaxpr(found, [constant(c) for c in given.consts])


def constant(x: Any) -> Any:
    if jax.dtypes.issubdtype(getattr(x, "dtype", np.float32), jax.dtypes.prng_key):
        return lazynp.jax.random.wrap_key_data(np.asarray(jax.random.key_data(x)))
    return lazynp.jax.numpy.asarray(np.asarray(x))


@pytest.mark.parametrize("name", PROGRAMS)
def test_equations_of_jax(name: str) -> None:
    closed = jax.make_jaxpr(PROGRAMS[name])(X)
    wanted = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, X)
    consts = [constant(c) for c in closed.consts]
    found = lazynp.jax.core.eval_jaxpr(rebuilt(closed.jaxpr), consts, lazynp.jax.numpy.array(X))
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def selected(j: Any) -> Any:
    """A scatter into the places that windows select, by functions that are given as jaxprs."""
    scalar = np.float32(0)
    ge, add = (j.make_jaxpr(f)(scalar, scalar) for f in (lambda a, b: a >= b, lambda a, b: a + b))
    return j.lax.select_and_scatter_p.bind(
        j.numpy.asarray(X),
        j.numpy.asarray(X[:2, :2]),
        j.numpy.float32(0),
        select_jaxpr=ge.jaxpr,
        select_consts=(),
        scatter_jaxpr=add.jaxpr,
        scatter_consts=(),
        window_dimensions=(2, 2),
        window_strides=(2, 2),
        padding=((0, 0), (0, 0)),
    )


def test_select_and_scatter() -> None:
    np.testing.assert_allclose(selected(lazynp.jax), selected(jax), rtol=1e-6)


def test_rng_uniform() -> None:
    j = lazynp.jax
    drawn = j.jit(lambda: j.lax.rng_uniform(1.0, 2.0, (100,)))
    a, b = drawn(), drawn()
    assert a.weak_type and a.shape == (100,) and (a != b).any()
    assert ((a >= 1) & (a < 2)).all()
    assert set(j.lax.rng_uniform(1, 4, (200,)).tolist()) == {1, 2, 3}
    for bad in ((1.0, 2, (3,)), (np.ones(1), np.ones(1), (3,)), (1.0, 2.0, 3)):
        for each in (j, jax):
            with pytest.raises((ValueError, TypeError)) as error:
                each.lax.rng_uniform(*bad)
            assert type(error.value) is (TypeError if bad[2] == 3 else ValueError)
    with pytest.raises(NotImplementedError, match="Batching rule for 'rng_uniform' not implemented"):
        j.vmap(lambda a: j.lax.rng_uniform(a, 2.0, (2,)))(np.ones(3, np.float32))


def test_ragged_all_to_all() -> None:
    """The example of JAX's documentation, whose CPU has no such exchange."""
    j, i32 = lazynp.jax, np.int32
    given = (
        np.array([[1, 2, 2], [3, 4, 0]], i32),
        np.zeros((2, 4), i32),
        np.array([[0, 1], [0, 1]], i32),
        np.array([[1, 2], [1, 1]], i32),
        np.array([[0, 0], [1, 2]], i32),
        np.array([[1, 1], [2, 1]], i32),
    )
    exchange = j.vmap(lambda *args: j.lax.ragged_all_to_all(*args, axis_name="i"), axis_name="i")
    assert exchange(*given).tolist() == [[1, 3, 0, 0], [2, 2, 4, 0]]
    with pytest.raises(RuntimeError, match="must be used within a mapped context"):
        j.lax.ragged_all_to_all(*[x[0] for x in given], axis_name="i")
    with pytest.raises(ValueError, match="input_offsets must be integer type"):
        exchange(*given[:2], given[2].astype(np.float32), *given[3:])
