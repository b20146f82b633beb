"""Settings that forbid something, and arrays that were given away: `jax.checking_leaks`, `jax.transfer_guard`,
donated arguments; beside JAX where it answers in the same words."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
KEPT: list[Any] = []


def keep(x: Any) -> Any:
    KEPT.append(x)
    return x


def error_of(call: Callable[[], Any]) -> str:
    """The class of the error of a call; "" where there is none."""
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


# --- Leaks ------------------------------------------------------------------------------------------------------------


def held(j: Any, x: Any) -> Any:
    f = j.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, x), lambda r, g: (r * g,))
    return j.grad(f)(x)


TRACED: dict[str, Callable[[Any, Callable[[Any], Any]], Any]] = {
    "jit": lambda j, f: j.jit(f)(1.0),
    "vmap": lambda j, f: j.vmap(f)(np.ones(3)),
    "grad": lambda j, f: j.grad(f)(1.0),
    "grad in jit": lambda j, f: j.jit(j.grad(f))(1.0),
    "scan": lambda j, f: j.lax.scan(lambda c, x: (f(c), x), 0.0, np.ones(3)),
    "while_loop": lambda j, f: j.lax.while_loop(lambda x: x < 3, lambda x: f(x) + 1, 0.0),
    "cond": lambda j, f: j.jit(lambda x: j.lax.cond(x > 0, f, lambda y: -y, x))(1.0),
    "jit in jit": lambda j, f: j.jit(lambda x: j.jit(f)(x))(1.0),
    "make_jaxpr": lambda j, f: j.make_jaxpr(f)(1.0),
    "a derivative of the user's": lambda j, f: j.jit(lambda x: held(j, f(x)))(1.0),
    "a callback": lambda j, f: j.jit(lambda x: j.pure_callback(np.sin, j.typeof(np.float32(0)), f(x)))(1.0),
}


@pytest.mark.parametrize("name", TRACED)
def test_a_kept_tracer_is_an_error_where_it_is_in_jax(name: str) -> None:
    def tried(j: Any) -> str:
        KEPT.clear()
        with j.checking_leaks():
            return error_of(lambda: TRACED[name](j, keep))

    assert tried(lazynp.jax) == tried(jax)
    KEPT.clear()


@pytest.mark.parametrize("name", TRACED)
def test_what_nobody_keeps_is_no_leak(name: str) -> None:
    with lazynp.jax.checking_leaks():
        TRACED[name](lazynp.jax, lambda x: x * 2)


def test_leaks_are_looked_for_among_all_objects() -> None:
    """One of which may stand for another one that is dead, or say what it likes of its class."""

    class Odd:
        @property
        def __class__(self) -> Any:
            raise RuntimeError("nobody is to ask")

    odd = Odd()
    dead = weakref.proxy(Odd())
    with lazynp.jax.checking_leaks():
        assert lazynp.jax.jit(lambda x: x * 2)(2.0) == 4
    del odd, dead


def test_the_error_says_who_keeps_it() -> None:
    KEPT.clear()
    with (
        lazynp.jax.check_tracer_leaks(True),
        pytest.raises(Exception, match=r"Leaked trace.*float32\[\], kept by list"),
    ):
        lazynp.jax.jit(keep)(1.0)
    KEPT.clear()


# --- Transfers --------------------------------------------------------------------------------------------------------

LEVELS = ["allow", "disallow", "disallow_explicit", "unknown", None]
TRANSFERS: dict[str, Callable[[Any, Any], Any]] = {
    "numpy": lambda j, x: j.numpy.sin(np.ones(3)),
    "scalar": lambda j, x: x + 1,
    "put": lambda j, x: j.device_put(np.ones(3)),
    "read": lambda j, x: np.asarray(x),
    "get": lambda j, x: j.device_get(x),
    "jit": lambda j, x: j.jit(lambda x: x)(np.ones(3)),
    "jit of arrays": lambda j, x: j.jit(lambda x: x + 1)(x),
    "list": lambda j, x: j.numpy.array([1, 2.0]),
    "ones": lambda j, x: j.numpy.ones(3),
    "index": lambda j, x: x[1],
    "repr": lambda j, x: repr(x),
    "arange": lambda j, x: j.numpy.arange(4),
    "key": lambda j, x: j.random.key(0),
    "arrays": lambda j, x: x * x,
}


@pytest.mark.parametrize("guard", ["transfer_guard", "transfer_guard_host_to_device", "transfer_guard_device_to_host"])
@pytest.mark.parametrize("level", LEVELS)
def test_transfers(guard: str, level: str) -> None:
    def tried(j: Any, call: Callable[[Any, Any], Any]) -> str:
        x = j.numpy.arange(5.0)

        def guarded() -> None:
            with getattr(j, guard)(level):
                call(j, x)

        return error_of(guarded)

    assert {n: tried(lazynp.jax, c) for n, c in TRANSFERS.items()} == {n: tried(jax, c) for n, c in TRANSFERS.items()}


def test_a_guard_ends_with_its_block() -> None:
    with lazynp.jax.transfer_guard("disallow"), pytest.raises(RuntimeError, match="Disallowed host-to-device"):
        lazynp.jax.numpy.array(1.0)
    with lazynp.jax.transfer_guard("log"):
        lazynp.jax.numpy.array(1.0)
    assert lazynp.jax.numpy.array(1.0) + 1 == 2


# --- Donated arrays ---------------------------------------------------------------------------------------------------


def after(j: Any, use: Callable[[Any, Any], Any]) -> Any:
    """What comes of using an array that was given away."""
    x = j.numpy.ones((2, 3))
    j.jit(lambda x: x + 1, donate_argnums=0)(x)
    try:
        return use(j, x)
    except Exception as error:
        return type(error).__name__, str(error)


USES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda j, x: x + 1,
    "read": lambda j, x: np.asarray(x),
    "repr": lambda j, x: repr(x),
    "item": lambda j, x: x[0],
    "list": lambda j, x: x.tolist(),
    "wait": lambda j, x: x.block_until_ready(),
    "again": lambda j, x: j.jit(lambda x: x)(x),
    "twice": lambda j, x: x.delete(),
    "type": lambda j, x: (x.shape, str(x.dtype), x.ndim, x.size, len(x), x.nbytes, x.weak_type, str(x.aval)),
    "deleted": lambda j, x: x.is_deleted(),
    "sharding": lambda j, x: len(x.sharding.device_set),
    "lower": lambda j, x: str(j.jit(lambda x: x, donate_argnums=0).lower(x).args_info),
}


@pytest.mark.parametrize("name", USES)
def test_a_donated_array(name: str) -> None:
    assert after(lazynp.jax, USES[name]) == after(jax, USES[name])


def test_a_donated_array_is_given_to_what_is_compiled() -> None:
    """XLA refuses it there, and JAX an array that was deleted otherwise, or by a function that is not compiled."""
    for j in (lazynp.jax, jax):
        f, g = j.jit(lambda x: x + 1), j.jit(lambda x: x * 2, donate_argnums=0)
        f(j.numpy.ones(3))
        donated, twice, deleted = j.numpy.ones(3), j.numpy.ones(3), j.numpy.ones(3)
        g(donated), g(twice), deleted.delete()
        for call, x, error in ((f, donated, ValueError), (g, twice, ValueError), (f, deleted, RuntimeError)):
            with pytest.raises(error, match="deleted"):
                call(x)


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "same array twice": lambda j, x: j.jit(lambda x, y: x + y, donate_argnums=0)(x, x),
    "static, too": lambda j, x: j.jit(lambda x: x, donate_argnums=0, static_argnums=0),
    "static by name, too": lambda j, x: j.jit(lambda x: x, donate_argnames="x", static_argnums=0),
    "no such place": lambda j, x: j.jit(lambda x: x, donate_argnums=5),
    "no such name": lambda j, x: j.jit(lambda x: x, donate_argnames="y"),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_cannot_be_donated(name: str) -> None:
    found = [error_of(lambda j=j: CALLS[name](j, j.numpy.ones(3))) for j in (lazynp.jax, jax)]
    assert found[0] == found[1] != ""


def test_which_arrays_are_gone() -> None:
    def gone(j: Any) -> list[bool]:
        x = {"a": j.numpy.ones(8), "b": j.numpy.ones((3, 4), int)}
        y, z = j.numpy.ones(3), j.numpy.ones(4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            j.jit(lambda x, y, z: (x["a"] + 1, x["b"] * 2, z.sum()), donate_argnums=(0, 2))(x, y, z)
        return [a.is_deleted() for a in (x["a"], x["b"], y, z)]

    assert gone(lazynp.jax) == gone(jax) == [True, True, False, False]


# --- Values of settings, and types that they change -------------------------------------------------------------------


@pytest.mark.parametrize("value", ["default", "highest", "F32_F32_F32", "foo", 3, None])
def test_precisions_of_products(value: Any) -> None:
    def tried(j: Any) -> str:
        def under() -> None:
            with j.default_matmul_precision(value):
                pass

        return error_of(under)

    assert tried(lazynp.jax) == tried(jax)


@pytest.mark.parametrize("decimals", [0, 2, -1])
def test_a_weak_array_stays_weak_when_it_is_rounded(decimals: int) -> None:
    def found(j: Any) -> Any:
        x = j.numpy.asarray(25.678)
        out = [j.numpy.round(x, decimals), j.jit(lambda y: y.round(decimals))(x), j.numpy.round(x * x, decimals)]
        return [(float(y), y.weak_type) for y in out]

    assert found(lazynp.jax) == found(jax)


RAISING: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda m, f: m.grad(f)(1.0),
    "vjp": lambda m, f: m.vjp(f, 1.0),
    "jvp": lambda m, f: m.jvp(f, (1.0,), (1.0,)),
    "linearize": lambda m, f: m.linearize(f, 1.0),
    "jacfwd": lambda m, f: m.jacfwd(f)(m.numpy.ones(2)),
    "jit": lambda m, f: m.jit(f)(1.0),
    "jit of grad": lambda m, f: m.jit(m.grad(f))(1.0),
}


@pytest.mark.parametrize("name", RAISING)
def test_what_a_function_that_raised_has_left_behind_has_no_value(name: str) -> None:
    for m in (jax, lazynp.jax):
        kept = []

        def f(x: Any, kept: Any = kept) -> Any:
            kept.append(x * 2)
            raise KeyError

        with pytest.raises(KeyError):
            RAISING[name](m, f)
        with pytest.raises(m.errors.UnexpectedTracerError):
            kept[0] + 1


def test_traced_arrays_are_neither_waited_for_nor_fetched() -> None:
    for m in (jax, lazynp.jax):
        assert m.jit(m.device_get)(2.0) == 2 and m.jit(m.block_until_ready)({"a": 2.0}) == {"a": 2}
        assert m.grad(lambda x, m=m: m.device_get(x) ** 2)(2.0) == 4
        with pytest.raises(AttributeError, match="'block_until_ready' method is not available"):
            m.jit(lambda x: x.block_until_ready())(1.0)


# --- Values of switches, and options of the compiler ------------------------------------------------------------------

SET = [
    *[("jax_enable_x64", v) for v in ("", 3, None)],
    *[("jax_persistent_cache_min_compile_time_secs", v) for v in (0, 0.5, "a")],
    *[("jax_compilation_cache_max_size", v) for v in (-1, None, 1.5)],
    *[("jax_compilation_cache_dir", v) for v in (None, "", 3)],
    *[("jax_memory_fitting_level", v) for v in ("O1", "x")],
    *[("jax_cpu_collectives_implementation", v) for v in (None, "mpi", "x")],
    *[("jax_traceback_filtering", v) for v in ("off", "x")],
    *[("jax_dump_ir_to", ""), ("jax_use_shardy_partitioner", True), ("check_vma", False), ("jax_check_vma", False)],
    *[("enable_x64", True), ("jax_nonsense", 1), ("jax_jax2tf_associative_scan_reductions", False)],
]


@pytest.mark.parametrize(("name", "value"), SET)
def test_switches_have_the_values_that_jax_s_may_have(name: str, value: Any) -> None:
    def outcome(j: Any) -> Any:
        before = j.config.values.get(name)
        try:
            j.config.update(name, value)
            return j.config.values[name]
        except Exception as error:
            return type(error).__name__
        finally:
            if name in j.config.values:
                j.config.update(name, before)

    assert outcome(lazynp.jax) == outcome(jax)


def test_there_are_all_of_jax_s_switches() -> None:
    assert set(lazynp.jax.config.values) >= set(jax.config.values)
    assert lazynp.jax.config.x64_enabled == jax.config.x64_enabled


OPTIONS: list[Any] = [
    *[{"xla_nonsense": 1}, {"xla_embed_ir_in_executable": True}, {"xla_embed_ir_in_executable": "True"}],
    *[{"xla_embed_ir_in_executable": 1}, {"xla_backend_optimization_level": "1"}, 3, {3: 1}, {}],
    *[{"xla_backend_optimization_level": 1.5}, {"xla_cpu_scheduler_type": 0}],
    *[{"exec_time_optimization_effort": 0.5}, {"optimization_level": "O1"}, {"xla_backend_extra_options": "x"}],
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options_of_the_compiler_are_refused_where_jax_refuses_them(options: Any) -> None:
    for use in (
        lambda j: j.jit(lambda x: x + 1, compiler_options=options)(1.0),
        lambda j: j.jit(lambda x: x + 1).lower(1.0).compile(options),
        lambda j: j.jit(lambda x: j.jit(lambda y: y + 1, compiler_options=options)(x))(1.0),
    ):
        assert error_of(lambda: use(lazynp.jax)) == error_of(lambda: use(jax))  # noqa: B023
    assert error_of(lambda: lazynp.jax.jit(None)) == error_of(lambda: jax.jit(None)) == "TypeError"
