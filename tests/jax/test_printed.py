"""What programs print is JAX's to the last digit: rounded numbers, traced values, jaxprs of powers."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import lazynp.jax
import lazynp.jax.numpy as jnp

jax.config.update("jax_platforms", "cpu")
X = np.random.default_rng(0).normal(size=500) * np.tile([1, 100], 250)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "complex64"])
@pytest.mark.parametrize("decimals", [0, 1, 2, 3, 4, 6, 9, 18, 39, 400, -1, -2])
def test_rounded_numbers_have_jax_s_last_digit(dtype: str, decimals: int) -> None:
    if dtype == "bfloat16" and decimals < 0:
        pytest.skip("JAX's compiler keeps more digits between two operations there than the dtype has")
    wanted = np.asarray(jax.numpy.round(jax.numpy.asarray(X, dtype), decimals))
    for got in (
        jnp.round(jnp.asarray(X, dtype), decimals),
        lazynp.jax.jit(lambda x: x.round(decimals))(jnp.asarray(X, dtype)),
    ):
        assert got.dtype == wanted.dtype and np.asarray(got).tobytes() == wanted.tobytes()


def test_rounded_doubles_have_jax_s_last_digit() -> None:
    with jax.enable_x64(True):
        wanted = [np.asarray(jax.numpy.round(jax.numpy.asarray(X), d)) for d in (1, 3, 10, 300, 400, -1)]
    with lazynp.jax.enable_x64(True):
        got = [np.asarray(jnp.round(jnp.asarray(X), d)) for d in (1, 3, 10, 300, 400, -1)]
    assert [g.tobytes() for g in got] == [w.tobytes() for w in wanted]


POWERS = (0, 1, 2, 3, -1, 5, np.int8(2), True, 0.0, 1.0, 2.0, 0.5)


@pytest.mark.parametrize("n", POWERS, ids=repr)
def test_derivatives_of_powers_at_zero(n: Any) -> None:
    results = []
    with lazynp.jax.numpy_dtype_promotion("strict"):  # after which every call asks how its operands promote
        pass
    for j in (jax, lazynp.jax):
        x = j.numpy.array([0.0, 1.0, -2.0])
        once = j.grad(lambda x: x**n)(0.0), j.grad(j.numpy.power)(0.0, n), j.grad(lambda x: (x**n).sum())(x)
        whole = n != 1.0 or type(n) is not float  # of x ** 1.0 JAX's second derivative is NaN at 0
        results.append([np.asarray(v) for v in (*once, j.hessian(lambda x: (x**n).sum())(x) if whole else 0)])
    for got, wanted in zip(results[1], results[0], strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)
        assert got.dtype == wanted.dtype


def printed(call: Callable[[], Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        call()
    return out.getvalue()


PRINTED: dict[str, Callable[[Any], Any]] = {
    "traced": lambda j: j.jit(lambda x: print(x, repr(x)) or x)(j.numpy.ones(3)),
    "traced and weak": lambda j: j.jit(lambda x: print(x, f"{x}", [x]) or x)(1.0),
    "traced keys": lambda j: j.jit(lambda x: print(x) or x)(j.random.key(0)),
    "in a loop": lambda j: j.lax.scan(lambda c, x: (print(c, x) or c, x), 0, j.numpy.ones(2)),
    "ogrid": lambda j: print(j.numpy.ogrid[0:2, 0:2]),
    "a square": lambda j: print(j.make_jaxpr(lambda x: x**2)(j.numpy.float32(1))),
    "powers": lambda j: print(j.make_jaxpr(lambda x: (x**0, x**-1, x**3, x**0.5))(j.numpy.ones(3))),
}


@pytest.mark.parametrize("name", PRINTED)
def test_printed(name: str) -> None:
    assert printed(lambda: PRINTED[name](lazynp.jax)) == printed(lambda: PRINTED[name](jax))


def test_numbers_too_large_are_infinite_without_a_word() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = jnp.array([1e30, 1.0])
        values = jnp.array(1e40), jnp.array([1e300]), jnp.dot(x, x), x.astype("float16")[0], (x @ x)
    assert all(float(v.ravel()[0]) == np.inf for v in values)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "text in an array": lambda j: "a" in j.numpy.ones(3),
    "None in an array": lambda j: None in j.numpy.ones(3),
    "a sine of a key": lambda j: j.numpy.sin(j.random.key(0)),
    "a sum of keys": lambda j: j.numpy.sum(j.random.split(j.random.key(0))),
    "sorted keys": lambda j: j.numpy.sort(j.random.split(j.random.key(0))),
    "keys of two kinds": lambda j: j.numpy.array([j.random.key(0), j.random.key(0, impl="rbg")]),
    "a key and a number": lambda j: j.numpy.array([j.random.key(0), 1]),
    "a name that is no text": lambda j: j.named_scope(3),
    "a device that is a number": lambda j: j.default_device(3).__enter__(),
    "a device that is not there": lambda j: j.config.update("jax_default_device", "nope"),
    "shared and given": lambda j: j.device_put(j.numpy.ones(2), may_alias=True, donate=True),
    "given, not as the tree": lambda j: j.device_put([1, 2], j.devices()[0], donate=[True]),
    "shared, not as the tree": lambda j: j.device_put(j.numpy.ones(2), j.devices()[0], may_alias=[True]),
    "a type with something else": lambda j: j.core.ShapedArray((2,), np.dtype("f4"), vma=frozenset("i")),
    "a type with half an element": lambda j: j.core.ShapedArray((2.5,), np.dtype("f4")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    classes = []
    for j in (jax, lazynp.jax):
        with pytest.raises(Exception) as raised:
            REFUSED[name](j)
        classes.append(raised.type)
    assert classes[0] is classes[1]


def test_lists_of_keys_are_arrays_of_keys() -> None:
    for j in (jax, lazynp.jax):
        k = j.random.key(3)
        made = [
            j.numpy.array([k, j.random.key(1)]),
            j.numpy.array([[k, k], [k, k]]),
            j.jit(lambda k, j=j: j.numpy.array([k, k]))(k),
        ]
        assert [m.shape for m in made] == [(2,), (2, 2), (2,)] and all(m.dtype == k.dtype for m in made)
        assert np.asarray(j.random.key_data(made[0])).tolist() == [[0, 3], [0, 1]]


def test_the_type_of_an_array_keeps_its_sharding() -> None:
    for j in (jax, lazynp.jax):
        mesh = j.make_mesh((1,), ("x",), axis_types=(j.sharding.AxisType.Explicit,))
        aval = j.core.ShapedArray((2,), np.dtype("f4"), sharding=j.NamedSharding(mesh.abstract_mesh, j.P("x")))
        assert aval.sharding.spec == j.P("x") and str(aval) == "float32[2@x]"


def share(divide: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Of a matrix of JAX's and of ours."""
    return lambda j: divide(j.numpy.asarray(X.astype("f4").reshape(50, 10)))


DIVIDED: dict[str, Callable[[Any], Any]] = {
    "a number": share(lambda x: x / 3),
    "a fraction": share(lambda x: x / 0.1),
    "an array of no axes": share(lambda x: x / x[0, 0]),
    "its largest": share(lambda x: x / x.max()),
    "a column": share(lambda x: x / abs(x).max(1, keepdims=True)),
    "a row": share(lambda x: x / x[3]),
    "an array like it": share(lambda x: x / x[::-1]),
    "a number by an array": share(lambda x: 3 / x),
    "whole numbers": lambda j: j.numpy.arange(50) / 7,
    "a number alone": share(lambda x: x[1, 1] / 3),
    "a mean": share(lambda x: x[:, :7].mean(1)),
    "a mean of all": share(lambda x: x[0, :3].mean()),
    "a mean of whole numbers": lambda j: j.numpy.mean(j.numpy.arange(21).reshape(3, 7) % 5, axis=1),
    "the gradient of a mean": share(
        lambda x: (jax if isinstance(x, jax.Array) else lazynp.jax).grad(lambda x: x.mean())(x)
    ),
    "in half precision": share(lambda x: x.astype("float16") / 3),
    "complex normal numbers": lambda j: j.random.normal(j.random.key(5), (200,), "complex64"),
}


@pytest.mark.parametrize("name", DIVIDED)
def test_quotients_have_jax_s_last_digit(name: str) -> None:
    wanted, got = (np.asarray(DIVIDED[name](j)) for j in (jax, lazynp.jax))
    assert got.dtype == wanted.dtype and got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint32", "bool"])
def test_sums_of_whole_numbers_have_64_bits_where_these_are_on(dtype: str) -> None:
    found = []
    for j in (jax, lazynp.jax):
        with j.enable_x64(True):
            x = j.numpy.ones(3, dtype)
            found.append([str(v.dtype) for v in (x.sum(), j.numpy.sum(x, 0), x.prod(), j.numpy.cumsum(x), x.max())])
    assert found[0] == found[1]
