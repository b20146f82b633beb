"""`jit` and what belongs to it: signatures, caches, static and donated arguments, threads, effects, stages, jaxprs."""

from __future__ import annotations

import contextlib
import functools
import gc
import io
import logging
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import lazynp as lnp
import lazynp.jax as lj
import lazynp.jax.numpy as ljnp
from lazynp.config import config
from lazynp.jax import errors
from lazynp.runtime.execute import Direct, Planned

jax = pytest.importorskip("jax", reason="JAX is the oracle of these tests")
jnp = jax.numpy


class Pair(NamedTuple):
    a: Any
    b: Any


def same(mine: Any, theirs: Any) -> None:
    """Trees of the same structure, values, dtypes and weak types."""
    assert str(lj.tree.structure(mine)) == str(jax.tree.structure(theirs))
    for x, y in zip(lj.tree.leaves(mine), jax.tree.leaves(theirs)):
        assert (x.shape, x.dtype, x.weak_type) == (y.shape, y.dtype, y.weak_type)
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=2e-6, atol=1e-6)


def printed(f: Callable[..., Any], *args: Any) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        f(*args)
    return out.getvalue()


class Counted:
    """A function that counts how often its Python runs."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f, self.runs = f, 0
        functools.update_wrapper(self, f)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.runs += 1
        return self.f(*args, **kwargs)


X = np.arange(12, dtype=np.float32).reshape(3, 4)
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "arithmetic": lambda j, n: j.jit(lambda a: n.sin(a) * 2 + a)(X),
    "a Python scalar is weak": lambda j, n: j.jit(lambda a, s: (a * s, s, s + 1))(X, 2.5),
    "an int and a bool": lambda j, n: j.jit(lambda i, b: (i + 1, b, i * b))(3, True),
    "an array beside a NumPy array": lambda j, n: j.jit(lambda a, b: a - b)(n.asarray(X), X.astype(np.float64)),
    "trees": lambda j, n: j.jit(lambda p, q: {"s": p[0] + q["k"].a, "t": Pair(p[1], q["k"].b)})(
        (X, 1), {"k": Pair(n.ones(4), 3.0)}
    ),
    "keywords": lambda j, n: j.jit(lambda a, *, b, c=2: a * b + c)(X, b=3),
    "no arguments": lambda j, n: j.jit(lambda: n.arange(3))(),
    "the argument itself, twice": lambda j, n: j.jit(lambda a: (a, a, a.T))(n.asarray(X)),
    "None and empty trees": lambda j, n: j.jit(lambda a, b: (None, a, (), {}))(X, None),
    "a captured array": lambda j, n: (lambda k: j.jit(lambda a: a + k)(X))(n.ones(4)),
    "constants made inside": lambda j, n: j.jit(lambda a: a + n.zeros(4) + n.arange(4) + n.ones((3, 1)))(X),
    "jit in jit": lambda j, n: j.jit(lambda a: j.jit(lambda b: b * 2)(a) + j.jit(n.sin)(a))(X),
    "grad of jit": lambda j, n: j.grad(j.jit(lambda a: n.sum(n.sin(a) * a)))(X),
    "jit of grad": lambda j, n: j.jit(j.grad(lambda a: n.sum(n.sin(a) * a)))(X),
    "value_and_grad with aux": lambda j, n: j.jit(
        j.value_and_grad(lambda p: (n.sum(p["w"] ** 2), p["w"] * 3), has_aux=True)
    )({"w": X}),
    "hessian": lambda j, n: j.jit(j.hessian(lambda a: n.sum(n.sin(a) * a)))(X[0]),
    "vmap of jit of vmap": lambda j, n: j.vmap(j.jit(j.vmap(lambda a: a**2)))(X),
    "static by place": lambda j, n: j.jit(lambda a, k: a * k, static_argnums=1)(X, 3),
    "static by name": lambda j, n: j.jit(lambda a, k: a * k, static_argnames="k")(X, k=3),
    "static from the end": lambda j, n: j.jit(lambda a, k: a * k, static_argnums=-1)(X, 3),
    "static text": lambda j, n: j.jit(lambda a, how: getattr(n, how)(a), static_argnames=("how",))(X, "cos"),
    "large values": lambda j, n: j.jit(lambda a: n.sum(n.exp(-(a**2)) + 1, axis=0))(
        np.linspace(0, 1, 90_000).reshape(300, 300)
    ),
    "a matrix product": lambda j, n: j.jit(lambda a: a @ a.T)(X),
    "integers wrap": lambda j, n: j.jit(lambda a: a * a)(n.asarray([2**20, 3], dtype="int32")),
    "minimum of integers": lambda j, n: j.jit(lambda a, b: n.minimum(a * b, 0) + b)(n.arange(-5, 5), n.arange(10)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_as_jax(name: str) -> None:
    mine = PROGRAMS[name](lj, ljnp)
    same(mine, PROGRAMS[name](jax, jnp))


@pytest.mark.parametrize("name", PROGRAMS)
def test_plans_and_calls_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The way of small arrays and that of large ones."""
    monkeypatch.setattr("lazynp.runtime.execute.SMALL", -1)
    with config(mode="graph"):
        mine = PROGRAMS[name](lj, ljnp)
    same(mine, PROGRAMS[name](jax, jnp))


# --- Signatures -------------------------------------------------------------------------------------------------------


def test_python_runs_once_per_signature() -> None:
    f = Counted(lambda a, b=1.0: a * b)
    g = lj.jit(f)
    for s in (1.0, 2.0, -3.0):
        assert float(g(ljnp.float32(2), s)) == 2 * s
    assert f.runs == 1
    g(ljnp.ones(3)), g(ljnp.ones(3)), g(np.ones(3, np.float32)), g(np.ones(3))
    assert f.runs == 2  # the same aval, whatever it came as
    g(ljnp.ones(4)), g(ljnp.ones(3, dtype="int32")), g(ljnp.ones(3), 1)
    assert f.runs == 5
    assert g._cache_size() == 5
    g.clear_cache()
    g(ljnp.ones(3))
    assert f.runs == 6 and g._cache_size() == 1


def test_weak_types_and_structure_are_part_of_a_signature() -> None:
    f = Counted(lambda t: lj.tree.map(lambda v: v * 1, t))
    g = lj.jit(f)
    assert g(1.0).weak_type and not g(ljnp.float32(1)).weak_type and f.runs == 2
    g(jnp_free := ljnp.asarray(1.0)), g(2.0)
    assert jnp_free.weak_type and f.runs == 2
    g([1.0]), g((1.0,)), g({"a": 1.0}), g({"b": 1.0})
    assert f.runs == 6


def test_the_same_function_jitted_again_is_not_traced_again() -> None:
    f = Counted(lambda a: a + 1)
    for _ in range(3):
        lj.jit(f)(1.0)
    assert f.runs == 1


def test_static_arguments() -> None:
    f = Counted(lambda a, n: a * n)
    g = lj.jit(f, static_argnums=1)
    g(1.0, 2), g(1.0, 2), g(1.0, n=2)
    assert f.runs == 2
    g(1.0, 3), g(1.0, 2.0), g(1.0, True)
    assert f.runs == 5
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        g(1.0, np.ones(2))
    with pytest.raises(ValueError, match="only accepts 2 positional arguments"):
        lj.jit(f.f, static_argnums=5)
    with pytest.raises(ValueError, match="invalid argnames"):
        lj.jit(f.f, static_argnames="z")
    with pytest.raises(TypeError, match="missing"):
        lj.jit(f.f, static_argnums=1)(1.0)


def test_decorators_methods_partials() -> None:
    @functools.partial(lj.jit, static_argnames=("n",))
    def power(x: Any, n: int) -> Any:
        """Its documentation."""
        return x**n

    assert float(power(3.0, n=2)) == 9 and power.__name__ == "power" and power.__doc__ == "Its documentation."

    class Model:
        def __init__(self, k: float) -> None:
            self.k = k

        @functools.partial(lj.jit, static_argnums=0)
        def scaled(self, x: Any) -> Any:
            return x * self.k

    assert float(Model(2.0).scaled(3.0)) == 6 and float(Model(5.0).scaled(3.0)) == 15
    assert float(lj.jit(functools.partial(lambda a, b: a - b, 10.0))(3.0)) == 7
    assert float(lj.jit(lj.tree_util.Partial(lambda a, b: a - b, 10.0))(3.0)) == 7
    with pytest.raises(TypeError, match="Expected a callable"):
        lj.jit(3)


def test_a_captured_array_is_an_input_not_a_copy() -> None:
    k = ljnp.arange(250_000.0)
    f = lj.jit(lambda a: a + k)
    assert float(f(1.0)[-1]) == 250_000
    (entry,) = f._entries.values()
    ((program, _),) = entry.programs.values()
    assert any(c is k._value() for c in program.run.constants)


def test_donated_arguments() -> None:
    f = lj.jit(lambda a, b: a + b, donate_argnums=0)
    x, y = ljnp.arange(50_000.0), ljnp.ones(50_000)
    where = x._value().ctypes.data
    out = f(x, y)
    assert x.is_deleted() and not y.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        x + 1
    assert float(out[-1]) == 50_000 and out._value().ctypes.data == where  # written in place
    kept = ljnp.arange(50_000.0)
    view = np.asarray(kept)
    f(kept, y)
    assert view[-1] == 49_999  # somebody had a view of it
    with pytest.warns(UserWarning, match="donated buffers were not usable"):
        lj.jit(lambda a: a.sum(), donate_argnums=0)(y)
    assert not y.is_deleted()


def test_buffers_are_not_shared_between_results() -> None:
    """Each result is a value of its own, whatever becomes of the others."""
    x = ljnp.arange(250_000.0)
    a, b, c = lj.jit(lambda v: (v, v + 0, v + 0))(x)
    want = np.asarray(x).copy()
    for v in (a, b, c):
        v.at[0].set(-1).block_until_ready()
    del a
    later = b.at[:].set(7.0)
    later.block_until_ready()
    assert np.array_equal(np.asarray(x), want) and np.array_equal(np.asarray(c), want)


def test_nothing_is_kept_alive() -> None:
    f = lj.jit(lambda a: a * 2)
    x = ljnp.ones(10)
    ref = weakref.ref(x)
    f(x).block_until_ready()
    del x
    gc.collect()
    assert ref() is None

    def g(a: Any) -> Any:
        return a + 1

    jitted, refs = lj.jit(g), weakref.ref(g)
    jitted(1.0)
    del jitted, g
    gc.collect()
    assert refs() is None


def test_eight_threads_trace_once() -> None:
    started, results = threading.Barrier(8), {}

    def slow(a: Any) -> Any:
        for _ in range(200):
            a = a + ljnp.sin(a)
        return a

    f = Counted(slow)
    g = lj.jit(f)

    def work(i: int) -> None:
        started.wait()
        results[i] = np.asarray(g(ljnp.ones(5) * i))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert f.runs == 1
    for i in range(8):
        np.testing.assert_allclose(results[i], np.asarray(g(ljnp.ones(5) * i)))


def test_threads_run_one_function_at_once() -> None:
    g = lj.jit(lambda a, b: ljnp.sum(ljnp.sin(a) * b, axis=0))
    a = np.random.default_rng(0).normal(size=(8, 400, 300)).astype(np.float32)
    want = [np.asarray(g(x, x)) for x in a]
    found: dict[int, Any] = {}

    def work(i: int) -> None:
        for _ in range(5):
            found[i] = np.asarray(g(a[i], a[i]))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i in range(8):
        np.testing.assert_array_equal(found[i], want[i])


def test_recursion_and_errors_leave_no_lock() -> None:
    @lj.jit
    def f(x: Any) -> Any:
        raise KeyError("mine")

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            f(1.0)
    for kind in (lj.jit, lj.vmap):
        assert float(kind(lambda a: a + 1)(ljnp.ones(2))[0]) == 2


def test_small_functions_run_as_calls_and_large_ones_as_plans() -> None:
    f = lj.jit(lambda a: ljnp.sin(a) + 1)
    f(ljnp.ones(3)), f(ljnp.ones(5000))
    kinds = [type(program.run.first) for e in f._entries.values() for program, _ in e.programs.values()]
    assert kinds == [Direct, Planned]


# --- Settings ---------------------------------------------------------------------------------------------------------


def test_disable_jit() -> None:
    seen = []
    f = lj.jit(lambda a: seen.append(type(a)) or a * 2)
    with lj.disable_jit():
        assert float(f(3.0)) == 6
    assert seen == [float]
    lj.config.update("jax_disable_jit", True)
    try:
        assert float(f(4.0)) == 8
    finally:
        lj.config.update("jax_disable_jit", False)
    assert seen == [float, float]


def test_explain_cache_misses(caplog: pytest.LogCaptureFixture) -> None:
    def scaled(a: Any, b: Any) -> Any:
        return a * b

    f = lj.jit(scaled)
    with lj.explain_cache_misses(True), caplog.at_level(logging.WARNING):
        f(ljnp.ones(3), 1.0), f(ljnp.ones(3), 2.0), f(ljnp.ones(4), 2.0), f(ljnp.ones(4), (2.0,)[0])
    first, second = [r.getMessage() for r in caplog.records]
    assert "scaled" in first and "for the first time" in first
    assert "a: float32[4] now, float32[3] before" in second
    assert "b:" not in second


def test_x64_is_part_of_a_signature() -> None:
    f = lj.jit(lambda a: a + 1)
    assert f(np.ones(2)).dtype == np.float32
    with lj.enable_x64(True):
        assert f(np.ones(2)).dtype == np.float64
    assert f(np.ones(2)).dtype == np.float32
    lj.config.update("jax_enable_x64", True)
    try:
        assert f(1.0).dtype == np.float64
    finally:
        lj.config.update("jax_enable_x64", False)
    assert f(1.0).dtype == np.float32


def test_config() -> None:
    assert lj.config.jax_enable_x64 is False and lj.config.values["jax_threefry_partitionable"] is True
    other = []
    with lj.enable_x64(True):
        thread = threading.Thread(target=lambda: other.append(lj.config.jax_enable_x64))
        thread.start()
        thread.join()
        assert lj.config.read("jax_enable_x64") is True and other == [False]
    with pytest.raises(AttributeError, match="Unrecognized config option"):
        lj.config.update("jax_nothing", 1)
    with pytest.raises(ValueError, match="numpy_dtype_promotion"):
        lj.config.update("jax_numpy_dtype_promotion", "lenient")
    for value, taken in (("yes", True), (0, False)):  # what JAX takes for truth
        lj.config.update("jax_enable_x64", value)
        assert lj.config.read("jax_enable_x64") is taken
    with pytest.raises(AttributeError, match=r"config\.update"):
        lj.config.jax_enable_x64 = True


@pytest.fixture
def nans() -> Iterator[None]:
    with lj.debug_nans(True):
        yield


@pytest.mark.usefixtures("nans")
def test_debug_nans() -> None:
    zero = ljnp.zeros(2)
    with pytest.raises(FloatingPointError, match="nan"):
        zero / zero
    with pytest.raises(FloatingPointError, match="nan"):
        lj.jit(lambda a: a / a)(zero)
    assert float((ljnp.ones(2) / 2)[0]) == 0.5
    with pytest.raises(FloatingPointError, match="div"):  # names the operation inside
        lj.jit(lambda a: ljnp.sum(a / a) * 2)(zero)


def test_debug_infs() -> None:
    with lj.debug_infs(True), pytest.raises(FloatingPointError, match="inf"):
        ljnp.ones(2) / ljnp.zeros(2)
    assert np.isinf(np.asarray(ljnp.ones(2) / ljnp.zeros(2))).all()
    assert config.mode == "auto"


# --- Errors -----------------------------------------------------------------------------------------------------------


def branch(x: Any) -> Any:
    return 1 if x > 0 else 2


ERRORS: dict[str, Callable[[Any, Any], Any]] = {
    "if": lambda j, n: j.jit(branch)(1.0),
    "while": lambda j, n: j.jit(lambda x: [0 for _ in iter(lambda: bool(x < 3), False)])(1),
    "range": lambda j, n: j.jit(lambda k: [i for i in range(k)])(3),
    "index of a list": lambda j, n: j.jit(lambda k: [1, 2][k])(1),
    "float": lambda j, n: j.jit(lambda x: float(x))(1.0),
    "int": lambda j, n: j.jit(lambda x: int(x))(1),
    "item": lambda j, n: j.jit(lambda x: x.item())(1.0),
    "numpy": lambda j, n: j.jit(lambda x: np.sin(x))(n.ones(2)),
    "asarray": lambda j, n: j.jit(lambda x: np.asarray(x))(n.ones(2)),
    "mask": lambda j, n: j.jit(lambda x: x[x > 0])(n.ones(2)),
    "shape": lambda j, n: j.jit(lambda k: n.zeros(k))(3),
    "result": lambda j, n: j.jit(lambda x: "text")(1.0),
    "argument": lambda j, n: j.jit(lambda x: x)("text"),
    "overflow": lambda j, n: j.jit(lambda x: x)(2**40),
    "write": lambda j, n: j.jit(lambda x: x.__setitem__(0, 1))(n.ones(2)),
    "vmap, if": lambda j, n: j.vmap(branch)(n.ones(2)),
    "reshape to a traced size": lambda j, n: j.jit(lambda x, k: x.reshape(k))(n.ones(4), 2),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_as_jax(name: str) -> None:
    with pytest.raises(Exception) as theirs:
        ERRORS[name](jax, jnp)
    with pytest.raises(Exception) as mine:
        ERRORS[name](lj, ljnp)
    wanted = {c.__name__ for c in theirs.type.__mro__} - {"_JAXErrorMixin"}
    assert wanted <= {c.__name__ for c in mine.type.__mro__}, mine.type


def test_messages_name_line_function_argument_and_a_way_out() -> None:
    with pytest.raises(errors.TracerBoolConversionError) as e:
        lj.jit(branch)(1.0)
    text = str(e.value)
    line = branch.__code__.co_firstlineno
    assert (
        "boolean conversion" in text
        and f"test_jit.py:{line + 1}" in text
        and f"branch at tests/test_jit.py:{line}" in text
    )
    assert "the argument x" in text and "jnp.where" in text and "static" in text
    with pytest.raises(errors.ConcretizationTypeError, match=r"params\['w'\]"):
        lj.jit(lambda params: float(params["w"]))({"w": 1.0})


def test_leaked_values() -> None:
    kept: list[Any] = []
    lj.jit(lambda x: kept.append(x * 2))(1.0)
    for use in (lambda: kept[0] + 1, lambda: lj.jit(lambda y: y + kept[0])(1.0)):
        with pytest.raises(errors.UnexpectedTracerError, match="has returned"):
            use()
    with pytest.raises(errors.ConcretizationTypeError, match="has returned"):
        float(kept[0])
    lj.vmap(lambda x: kept.append(x))(ljnp.ones(2))
    with pytest.raises(errors.UnexpectedTracerError):
        kept[1] * 2


def test_a_traced_value_prints_as_its_type() -> None:
    assert "JitTracer(int32[3])" in printed(lj.jit(lambda x: print(x)), ljnp.arange(3))
    assert "JitTracer(float32[])" in printed(lj.vmap(lambda x: print(x)), ljnp.ones(3))


def test_class_hierarchy() -> None:
    for name in dir(jax.errors):
        theirs = getattr(jax.errors, name)
        if isinstance(theirs, type):
            mine = getattr(errors, name)
            wanted = {c.__name__ for c in theirs.__mro__} - {"_JAXErrorMixin"}
            assert wanted <= {c.__name__ for c in mine.__mro__}, name


# --- Effects ----------------------------------------------------------------------------------------------------------


def test_debug_print() -> None:
    @lj.jit
    def f(x: Any) -> Any:
        lj.debug.print("first {x} {}", 1, x=x)
        y = x * 2
        lj.debug.print("second {y}", y=y)
        return y

    x = ljnp.arange(3)
    assert printed(f, x) == printed(f, x) == "first [0 1 2] 1\nsecond [0 2 4]\n"
    assert printed(lj.jit(lambda v: f(f(v))), x) == (
        "first [0 1 2] 1\nsecond [0 2 4]\nfirst [0 2 4] 1\nsecond [0 4 8]\n"
    )
    twice = lj.jit(lambda v: (f(v), f(v)))
    assert printed(twice, x) == printed(f, x) * 2
    assert printed(lj.vmap(f), x) == "first 0 1\nfirst 1 1\nfirst 2 1\nsecond 0\nsecond 2\nsecond 4\n"
    assert printed(lj.jit(lj.vmap(f)), x) == printed(lj.vmap(f), x)
    assert printed(lambda v: lj.debug.print("now {v:.2f}", v=v), 1.5) == "now 1.50\n"
    g = lj.grad(lambda v: ljnp.sin(f(v)))
    assert printed(g, 1.0) == "first 1.0 1\nsecond 2.0\n"
    assert printed(lj.jit(g), 1.0) == "first 1.0 1\nsecond 2.0\n"
    assert printed(lj.jit(lambda: lj.debug.print("constant"))) == "constant\n"
    with pytest.raises(ValueError, match="Unused keyword arguments"):
        lj.debug.print("no field", x=x)
    with pytest.raises(ValueError, match="Unused positional arguments"):
        lj.debug.print("no field", x)


def test_debug_callback_and_io_callback() -> None:
    seen: list[Any] = []
    f = lj.jit(lambda x: lj.debug.callback(lambda a: seen.append(np.asarray(a).tolist()), x) or x)
    f(ljnp.arange(2)), f(ljnp.arange(2) + 5)
    assert seen == [[0, 1], [5, 6]]
    count = iter(range(100))
    io_callback, whole = lj.experimental.io_callback, lj.ShapeDtypeStruct((), "int32")
    g = lj.jit(lambda x: x + io_callback(lambda: np.int32(next(count)), whole))
    assert [int(g(0)), int(g(0))] == [0, 1]
    with pytest.raises(ValueError, match="do not support JVP"):
        lj.grad(lambda x: io_callback(lambda v: v, lj.ShapeDtypeStruct((), "float32"), x))(1.0)


def test_pure_callback() -> None:
    spec = lj.ShapeDtypeStruct((3,), "float32")

    def host(v: Any, k: Any = 2.0) -> Any:
        return np.asarray(v) * np.asarray(k)

    x, m = ljnp.arange(3.0), ljnp.arange(6.0).reshape(2, 3)
    assert np.array_equal(lj.jit(lambda v: lj.pure_callback(host, spec, v) + 1)(x), [1, 3, 5])
    for method in ("sequential", "expand_dims", "broadcast_all", "legacy_vectorized"):
        f = lj.vmap(functools.partial(lambda v, how: lj.pure_callback(host, spec, v, vmap_method=how), how=method))
        assert np.array_equal(f(m), 2 * np.asarray(m)), method
    with pytest.raises(NotImplementedError, match="vmap_method"):
        lj.vmap(lambda v: lj.pure_callback(host, spec, v))(m)
    with pytest.raises(RuntimeError, match="shape"):
        lj.pure_callback(lambda v: np.ones(2, np.float32), spec, x).block_until_ready()
    with pytest.raises(RuntimeError, match="dtype"):
        lj.pure_callback(lambda v: np.ones(3, np.int32), spec, x).block_until_ready()
    with pytest.raises(ValueError, match="do not support JVP"):
        lj.grad(lambda v: ljnp.sum(lj.pure_callback(host, spec, v)))(x)
    with pytest.raises(lj.errors.JaxRuntimeError, match="ZeroDivisionError"):
        lj.jit(lambda v: lj.pure_callback(lambda a: 1 / 0, spec, v))(x)


def test_effects_in_loops() -> None:
    def body(c: Any, x: Any) -> Any:
        lj.debug.print("{c} {x}", c=c, x=x)
        return c + x, c

    want = "0 0\n0 1\n1 2\n"
    assert printed(lambda: lj.lax.scan(body, 0, ljnp.arange(3))) == want
    assert printed(lj.jit(lambda: lj.lax.scan(body, 0, ljnp.arange(3)))) == want


# --- Stages, jaxprs, types --------------------------------------------------------------------------------------------


def test_stages() -> None:
    f = lj.jit(lambda x, y, k: {"s": x * y + k}, static_argnums=2)
    traced = f.trace(1.0, ljnp.arange(3), 5)
    assert str(traced.out_info) == str(
        jax.jit(lambda x, y, k: {"s": x * y + k}, static_argnums=2).trace(1.0, jnp.arange(3), 5).out_info
    )
    lowered = traced.lower()
    assert "multiply" in lowered.as_text()
    compiled = lowered.compile()
    assert np.array_equal(compiled(2.0, ljnp.arange(3))["s"], [5, 7, 9])
    with pytest.raises(TypeError, match=r"'y' compiled with int32\[3\] and called with int32\[4\]"):
        compiled(2.0, ljnp.arange(4))
    with pytest.raises(TypeError, match="pytree"):
        compiled(2.0)
    abstract = f.lower(lj.ShapeDtypeStruct((2,), "float32"), 1.0, 5).compile()
    assert np.array_equal(abstract(np.ones(2, np.float32), 1.0)["s"], [6, 6])
    assert f.eval_shape(1.0, 2.0, 3)["s"].shape == ()


def test_eval_shape_computes_nothing() -> None:
    out = lj.eval_shape(lambda a: {"p": a @ a.T, "q": 1.0}, lj.ShapeDtypeStruct((100_000, 100_000), ljnp.float32))
    want = jax.eval_shape(lambda a: {"p": a @ a.T, "q": 1.0}, jax.ShapeDtypeStruct((100_000, 100_000), jnp.float32))
    assert str(out) == str(want)
    assert lj.ShapeDtypeStruct((2,), "float32") == lj.ShapeDtypeStruct((2,), np.float32)
    assert lj.ShapeDtypeStruct((2, 3), "float32").size == 6


JAXPRS: dict[str, tuple[Callable[[Any], Any], tuple[Any, ...]]] = {
    "elementwise": (lambda n: lambda x, y: (n.exp(x) * y - x, x), (np.ones(5, np.float32), np.ones(5, np.float32))),
    "a weak scalar": (lambda n: lambda x: n.sin(x) + x, (1.0,)),
    "a literal": (lambda n: lambda x: n.maximum(x, 0.0), (np.ones(5, np.float32),)),
    "a reduction": (lambda n: lambda x: n.exp(x) > x, (np.ones((2, 3), np.float32),)),
    "nothing": (lambda n: lambda x: x, (np.ones(2, np.int32),)),
    "no arguments": (lambda n: lambda: (), ()),
}


@pytest.mark.parametrize("name", JAXPRS)
def test_jaxpr_as_jax(name: str) -> None:
    make, args = JAXPRS[name]
    assert str(lj.make_jaxpr(make(ljnp))(*args)) == str(jax.make_jaxpr(make(jnp))(*args))


def test_jaxpr_parts() -> None:
    k = ljnp.arange(3.0)
    closed = lj.make_jaxpr(lambda x: ljnp.sum(ljnp.where(x > 0, x, 0) * k))(k)
    names = [e.primitive.name for e in closed.eqns]
    assert {"gt", "jit", "mul", "reduce_sum"} <= set(names) and "select_n" in str(closed)  # JAX jits `where`
    assert len(closed.consts) == 1 and str(closed).startswith("{ lambda a:f32[3]; b:f32[3]. let")
    assert [str(v.aval) for v in closed.jaxpr.outvars] == ["float32[]"]
    text = str(lj.make_jaxpr(lambda x: lj.lax.scan(lambda c, v: (c + v, c), 0.0, x))(k))
    assert "scan[" in text and "length=3" in text and "{ lambda ;" in text
    closed, shapes = lj.make_jaxpr(lambda x: (x, 1.0), return_shape=True)(k)
    assert shapes[0].shape == (3,) and shapes[1].weak_type
    assert "mul" in str(lj.make_jaxpr(lambda x, n: x * n, static_argnums=1)(1.0, 2))
    assert "psum" in str(lj.make_jaxpr(lambda x: lj.lax.psum(x, "i"), axis_env=[("i", 3)])(1.0))


# --- The NumPy door ---------------------------------------------------------------------------------------------------


def heat(u: Any, n: int) -> Any:
    u = u.copy()
    for _ in range(n):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def test_numpy_functions_with_writes() -> None:
    u = lnp.linspace(0, 1, 30) ** 2
    runs = Counted(heat)
    f = lnp.jit(runs, static_argnums=1)
    for _ in range(2):
        out = f(u, 5)
    assert runs.runs == 1 and out.dtype == np.float64 and type(out) is type(u)
    np.testing.assert_allclose(np.asarray(out), np.asarray(heat(u, 5)), rtol=1e-12)
    rows = lnp.vmap(lambda r: heat(r, 3))(lnp.stack([u, u * 2]))
    np.testing.assert_allclose(np.asarray(rows[1]), np.asarray(heat(u * 2, 3)), rtol=1e-12)


def test_numpy_functions_that_write_into_their_arguments() -> None:
    def add(a: Any, b: float) -> Any:
        a[0] = 10
        a += b
        return a.sum()

    for make in (lnp.ones, np.ones):
        a, b = make(4), make(4)
        assert float(lnp.jit(add)(a, 2.0)) == float(add(b, 2.0)) == 21
        assert a.tolist() == b.tolist() == [12, 3, 3, 3]
    m = lnp.ones((2, 3))
    assert lnp.vmap(lambda r: add(r, 1.0))(m).tolist() == [15, 15] and m.tolist() == [[11, 2, 2]] * 2


TWICE = {
    "one": lambda y: (y, y),
    "three": lambda y: (y[None], y, y, y[None]),
    "without its derivative": lambda y: (y, lj.lax.stop_gradient(y)),
    "turned back": lambda y: (y, y.T.T),
    "views": lambda y: (y, y[0:], y[1:], y.reshape(-1, 2)),
    "a sum": lambda y: (y.sum(), y.sum(), y.sum()[None]),
    "of a loop": lambda y: (lambda r: (r[0], r[1], r[0], r[1]))(lj.lax.scan(lambda c, a: (c + a, c), 0.0, y)),
    "of a branch": lambda y: lj.lax.cond(y.sum() > 0, lambda v: (v, v, v[0]), lambda v: (v, v + 1, v[0]), y),
}


@pytest.mark.parametrize("size", [6, 200_000], ids=["small", "large"])
@pytest.mark.parametrize("which", TWICE)
def test_results_that_are_one_value_live_each_by_itself(which: str, size: int) -> None:
    """A buffer that two results had was overwritten when the first of them died."""
    f, x = lj.jit(lambda x: TWICE[which](x * 2)), ljnp.arange(float(size))
    wanted = [np.array(r) for r in f(x)]
    for _ in range(3):
        out = list(f(x))
        for k in range(len(out)):
            a, out[k] = out[k], None
            for _ in range(3):  # of the first, things whose memory may be the operand's
                a = a * 0.5 + 1
                a.block_until_ready()
            assert all([b is None or np.array_equal(b, w) for b, w in zip(out, wanted)])
