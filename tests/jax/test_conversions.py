"""Python integers of any size, types of callbacks' results, derivatives at kinks: as in JAX."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from agreement import disagreement, outcome

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
BIG, HUGE = 2**32 + 3, 2**70
CASES: dict[str, Callable[[Any, Any], Any]] = {
    # of (library, its numpy)
    **{
        f"{name} of {what} to {dtype}": lambda j, n, name=name, x=x, dtype=dtype: MAKERS[name](j, x, dtype)
        for name in ("array", "full", "full_like", "lax.full", "lax.full_like", "convert_element_type")
        for what, x in {"2**32": BIG, "2**70": HUGE, "-1": -1}.items()
        for dtype in ("int32", "uint8", "float32", "bfloat16", "complex64")
    },
    "full of 2**32": lambda j, n: n.full(3, BIG),
    "full of 2**70": lambda j, n: n.full(3, HUGE),
    "scalar type of 2**70": lambda j, n: n.float32(HUGE),
    "scalar type of 2**32": lambda j, n: n.int32(BIG),
    "int of 2**32": lambda j, n: j.lax.convert_element_type(BIG, int),
    "product in another dtype": lambda j, n: j.lax.mul(n.int8(100), n.int8(100), out_dtype="int32"),
    "product in a lower dtype": lambda j, n: j.lax.mul(n.float32(100), n.float32(100.5), out_dtype="bfloat16"),
    "callback, abstract value": lambda j, n: j.jit(lambda x: j.pure_callback(lambda y: y, x.aval, x))(n.ones(2)),
    "callback, array": lambda j, n: j.pure_callback(np.asarray, n.ones(3), np.ones(3, "f")),
    "callback, nothing": lambda j, n: j.pure_callback(lambda x: None, None, 3.0),
    "callback, a number": lambda j, n: j.pure_callback(lambda x: x, 1.0, 3.0),
    "callback, a dtype": lambda j, n: j.pure_callback(lambda x: x, np.dtype("float32"), 3.0),
    "callback, 64 bits": lambda j, n: j.pure_callback(lambda x: x, j.ShapeDtypeStruct((), "float64"), 3.0),
    "callback, two": lambda j, n: j.pure_callback(lambda x: [1.0, 2.0], j.ShapeDtypeStruct((2,), "float32"), 1),
    "callback, other shape": lambda j, n: j.pure_callback(lambda x: x, j.ShapeDtypeStruct((2,), "float32"), 1.0),
    **{
        f"buffer of {dtype}": lambda j, n, dtype=dtype: list(bytes(memoryview(n.arange(6).reshape(2, 3).astype(dtype))))
        for dtype in ("bool", "int8", "uint16", "int32", "float16", "bfloat16", "float32", "complex64", "int4")
    },
    "buffer of what is not computed": lambda j, n: np.frombuffer(n.ones((500, 500)) * 2 + 1, np.float32)[:3],
    "buffer of a number": lambda j, n: np.frombuffer(n.float32(2), np.float32),
    "buffer, read-only": lambda j, n: np.asarray(memoryview(n.ones((2, 3))[:, 1])).flags.writeable,
    "buffer, bytes of an array": lambda j, n: list(bytearray(n.arange(3, dtype="uint8"))),
    "buffer of a traced array": lambda j, n: j.jit(memoryview)(n.ones(3)),
    "buffer of a key": lambda j, n: memoryview(j.random.key(0)),
    "sign at zero": lambda j, n: j.grad(n.sign)(0.0),
    "nextafter": lambda j, n: j.grad(lambda x: n.nextafter(x, 1.0))(0.0),
    "spacing": lambda j, n: j.grad(n.spacing)(1.0),
    "zeta": lambda j, n: j.grad(lambda x: j.lax.zeta(x, 1.0))(2.0),
    "maximum at a tie": lambda j, n: j.grad(lambda x: n.maximum(x, 0.0))(0.0),
    "abs at zero": lambda j, n: j.grad(abs)(0.0),
    "square, twice": lambda j, n: j.grad(j.grad(lambda x: x**2.0))(0.0),
    "cube, twice": lambda j, n: j.grad(j.grad(lambda x: n.power(x, 3.0)))(0.0),
    "write to a scalar in a scan": lambda j, n: j.grad(
        lambda v: j.lax.scan(lambda c, x: (c + x, x.at[()].set(c * x)), v[0], v)[1].sum()
    )(n.arange(4.0)),
}
MAKERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "array": lambda j, x, dtype: j.numpy.array(x, dtype),
    "full": lambda j, x, dtype: j.numpy.full(2, x, dtype),
    "full_like": lambda j, x, dtype: j.numpy.full_like(j.numpy.zeros(2, dtype), x),
    "lax.full": lambda j, x, dtype: j.lax.full((2,), x, dtype),
    "lax.full_like": lambda j, x, dtype: j.lax.full_like(j.numpy.zeros(2, dtype), x),
    "convert_element_type": lambda j, x, dtype: j.lax.convert_element_type(x, dtype),
}


@pytest.mark.parametrize("name", CASES)
def test_conversions(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = (outcome(lambda lib=lib: CASES[name](lib, lib.numpy)) for lib in (jax, lazynp.jax))
    assert disagreement(name, theirs, ours) is None


def test_monitoring() -> None:
    for lib in (jax, lazynp.jax):
        seen: list[Any] = []

        def listen(*what: Any, seen: list[Any] = seen, **details: Any) -> None:
            seen.append((what, details))

        lib.monitoring.register_event_listener(listen)
        lib.monitoring.register_event_duration_secs_listener(listen)
        lib.monitoring.record_event("started", host=1)
        lib.monitoring.record_event_duration_secs("took", 2.0)
        lib.monitoring.unregister_event_listener(listen)
        lib.monitoring.record_event("again")
        lib.monitoring.unregister_event_duration_listener(listen)
        assert [s for s in seen if s[0][0] in ("started", "took", "again")] == [
            (("started",), {"host": 1}),
            (("took", 2.0), {}),
        ]
        with pytest.raises(AssertionError):
            lib.monitoring.unregister_event_listener(listen)


def test_what_makes_itself_an_array_is_joined_and_multiplied() -> None:
    for j in (jax, lazynp.jax):

        class Three:
            def __jax_array__(self, j: Any = j) -> Any:
                return j.numpy.arange(3.0)

        jnp = j.numpy
        assert jnp.shape(Three()) == (3,) and jnp.ndim(Three()) == 1
        assert (jnp.eye(3) @ Three()).tolist() == [0, 1, 2]
        assert jnp.concatenate([Three(), Three()]).tolist() == [0, 1, 2, 0, 1, 2]
        assert jnp.stack([Three(), Three()]).shape == (2, 3)
        assert jnp.array([Three(), Three()]).tolist() == [[0, 1, 2]] * 2 and jnp.asarray(Three()).shape == (3,)
        assert (Three() + jnp.ones(3)).tolist() == [1, 2, 3] and jnp.zeros(3).at[:].set(Three()).tolist() == [0, 1, 2]
        for f in (
            j.jit(lambda x: x),
            j.grad(lambda x: x.sum()),
            j.vmap(lambda x: x),
            j.device_put,
            j.typeof,
            j.make_jaxpr(jnp.sin),
            jnp.sin,
            j.lax.sin,
            functools.partial(j.lax.scan, lambda c, v: (c, v), 0.0),
            functools.partial(j.lax.cond, True, lambda v: v, lambda v: v),
            jnp.arange(3).__getitem__,
        ):
            with pytest.raises(ValueError, match=r"Triggering __jax_array__\(\) during abstractification"):
                f(Three())


def test_arrays_of_both_doors_beside_the_real_jax() -> None:
    """There our arrays say to it what they are by `__jax_array__`, which is not for this door."""
    ours, plain = lazynp.jax.numpy.arange(3.0), lazynp.arange(3.0)
    assert jax.numpy.sin(plain).shape == (3,)  # it is adapted
    made = lazynp.jax.numpy.array([plain, ours])
    for found in (ours + plain, plain + ours, lazynp.jax.numpy.add(plain, ours), made[0] * 2):
        assert type(found) is lazynp.jax.Array and found.tolist() == [0, 2, 4]
    assert (plain == ours).all() and float(ours @ plain) == 5.0
