"""Printing, callbacks, and the switches of `jax.config`: the same code under JAX and under lazynp, compared."""

from __future__ import annotations

import contextlib
import gzip
import importlib
import json
import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import lazynp.jax
import lazynp.jax.profiler

Check = Callable[[Any, list], Any]
ONES = np.ones(3, np.float32)


def outcome(check: Check, side: Any, capsys: Any) -> Any:
    """What a check returns or raises, what it appended to its list, what it printed."""
    seen: list[Any] = []
    try:
        found = repr(side.tree.map(lambda x: np.asarray(x).tolist(), check(side, seen)))
        side.effects_barrier()
    except Exception as error:
        found = next(c for c in type(error).__mro__ if c.__module__ == "builtins").__name__
        with contextlib.suppress(Exception):
            side.effects_barrier()
    printed = [line for line in capsys.readouterr().out.splitlines() if "de-optimized" not in line]
    return found, [repr(np.asarray(x).tolist()) for x in seen], printed


def io_callback(j: Any, *args: Any, **kwargs: Any) -> Any:
    return importlib.import_module(f"{j.__name__}.experimental").io_callback(*args, **kwargs)


def loud(j: Any, x: Any) -> Any:
    j.debug.print("x = {}", x)
    return x * 2


PRINTS: dict[str, Check] = {
    "at once": lambda j, seen: j.debug.print("{} and {b}", j.numpy.arange(3), b=2.5),
    "representation": lambda j, seen: j.debug.print("{!r} {k}", j.numpy.arange(3), k=j.random.key(3)),
    "weak ones": lambda j, seen: j.debug.print("{} {x}", (1,), x=[2.5, j.numpy.float32(1)]),
    "no places": lambda j, seen: j.debug.print("x", 1, skip_format_check=True),
    "plain values": lambda j, seen: j.debug.print("{} {}", "text", None),
    "format": lambda j, seen: j.debug.print("{:.2f}", j.numpy.float32(1.23456)),
    "jit": lambda j, seen: j.jit(lambda x: loud(j, x))(1.5),
    "jit twice": lambda j, seen: [f(1.0) for f in [j.jit(lambda x: loud(j, x))] * 2],
    "in order": lambda j, seen: j.jit(lambda x: [j.debug.print("{}", x + i, ordered=True) for i in range(3)] and x)(0),
    "vmap": lambda j, seen: j.vmap(lambda x: loud(j, x))(j.numpy.arange(3.0)),
    "grad": lambda j, seen: j.grad(lambda x: loud(j, x))(3.0),
    "value_and_grad of jit": lambda j, seen: j.value_and_grad(j.jit(lambda x: loud(j, x)))(3.0),
    "scan": lambda j, seen: j.lax.scan(lambda c, x: (c + loud(j, x), x), 0.0, j.numpy.arange(3.0)),
    "fori_loop": lambda j, seen: j.lax.fori_loop(0, 3, lambda i, c: loud(j, c), 1.0),
    "while_loop": lambda j, seen: j.lax.while_loop(lambda c: c < 5, lambda c: loud(j, c), 1.0),
    "cond": lambda j, seen: [j.lax.cond(p, lambda x: loud(j, x), lambda x: x, 1.0) for p in (True, False)],
    "jit of cond": lambda j, seen: [
        f(p) for f in [j.jit(lambda p: j.lax.cond(p, lambda x: loud(j, x), lambda x: x, 1.0))] for p in (True, False)
    ],
    "result unused": lambda j, seen: j.jit(lambda x: (loud(j, x), 1)[1])(2.0),
    "f-string": lambda j, seen: j.debug.print("x", j.numpy.ones(1)),
    "unused keyword": lambda j, seen: j.debug.print("{}", 1, k=2),
    "missing": lambda j, seen: j.debug.print("{} {}", 1),
    "branches of examples": lambda j, seen: j.vmap(lambda x: branching(j, x))(ONES - 1),
    "branches of examples of examples": lambda j, seen: j.vmap(j.vmap(lambda x: branching(j, x)))(ONES[None] - 1),
    "loop of examples": lambda j, seen: j.vmap(
        lambda x: j.lax.while_loop(lambda y: y < 3, lambda y: (j.debug.print("{}", y), y + 1)[1], x)
    )(np.array([1, -1], np.float32)),
    "scan of examples": lambda j, seen: j.jit(
        j.vmap(
            lambda x: j.lax.scan(
                lambda y, i: (j.debug.print("{} {}", y, i, ordered=True), (y + x, i))[1], x, np.ones(2)
            )
        )
    )(np.array([1, -1], np.float32)),
}
CALLBACKS: dict[str, Check] = {
    "debug": lambda j, seen: j.debug.callback(lambda x: seen.append(x), j.numpy.arange(3)),
    "debug in jit": lambda j, seen: j.jit(lambda x: (j.debug.callback(lambda v: seen.append(v), x), x)[1])(2.0),
    "debug with keywords": lambda j, seen: j.debug.callback(lambda x, *, y: seen.append(x + y), 1, y=2),
    "debug of a static value": lambda j, seen: j.debug.callback(lambda s, x: seen.append(len(s)), "four", 1.0),
    "debug under vmap": lambda j, seen: j.vmap(lambda x: (j.debug.callback(lambda v: seen.append(v), x), x)[1])(ONES),
    "pure": lambda j, seen: j.pure_callback(lambda x: np.sin(x), ONES, ONES) * 2,
    "pure in jit": lambda j, seen: j.jit(lambda x: j.pure_callback(lambda v: np.cumsum(v), x, x) + 1)(ONES),
    "pure of a tree": lambda j, seen: j.pure_callback(
        lambda d: {"b": d["a"] * 2, "c": np.int32(1)},
        {"b": j.ShapeDtypeStruct((3,), np.float32), "c": j.ShapeDtypeStruct((), np.int32)},
        {"a": ONES},
    ),
    "pure under vmap": lambda j, seen: j.vmap(lambda x: j.pure_callback(np.sin, x, x))(ONES),
    "pure under vmap, sequential": lambda j, seen: j.vmap(
        lambda x: j.pure_callback(lambda v: v * 2, x, x, vmap_method="sequential")
    )(ONES),
    "pure under vmap, broadcast": lambda j, seen: j.vmap(
        lambda x, y: j.pure_callback(lambda a, b: a + b, x, x, y, vmap_method="broadcast_all"), (0, None)
    )(ONES, np.float32(2)),
    "pure under vmap, expanded": lambda j, seen: j.vmap(
        lambda x, y: j.pure_callback(lambda a, b: a + b, x, x, y, vmap_method="expand_dims"), (0, None)
    )(ONES, np.float32(2)),
    "pure with an unknown method": lambda j, seen: j.pure_callback(np.sin, ONES, ONES, vmap_method="magic"),
    "pure under grad": lambda j, seen: j.grad(lambda x: j.pure_callback(np.sin, x, x))(1.0),
    "pure in scan": lambda j, seen: j.lax.scan(
        lambda c, x: (j.pure_callback(lambda a, b: a + b, c, c, x), c), np.float32(0), ONES
    ),
    "io": lambda j, seen: io_callback(j, lambda x: seen.append(x) or np.float32(7), np.float32(0), ONES),
    "io in jit": lambda j, seen: j.jit(lambda x: io_callback(j, lambda v: seen.append(v) or v, x, x, ordered=True) + 1)(
        ONES
    ),
    "io whose result is unused": lambda j, seen: j.jit(
        lambda x: (io_callback(j, lambda v: seen.append(v), None, x, ordered=True), x)[1]
    )(ONES),
    "io in order": lambda j, seen: j.jit(
        lambda x: [io_callback(j, lambda v: seen.append(v), None, x + i, ordered=True) for i in range(3)] and x
    )(0.0),
    "io under grad": lambda j, seen: j.grad(lambda x: io_callback(j, lambda v: v, x, x))(1.0),
    "io, ordered, under vmap": lambda j, seen: j.vmap(lambda x: io_callback(j, lambda v: v, x, x, ordered=True))(ONES),
    "with a custom derivative": lambda j, seen: j.grad(by_callback(j))(0.5),
    "io in branches of examples": lambda j, seen: j.vmap(
        lambda x: j.lax.cond(x > 0, lambda y: io_callback(j, lambda z: z, y, y), lambda y: y, x)
    )(ONES),
}


def by_callback(j: Any) -> Any:
    """A sine by callback whose derivative is one too."""

    one = j.ShapeDtypeStruct((), np.float32)

    @j.custom_jvp
    def sine(x: Any) -> Any:
        return j.pure_callback(lambda v: np.round(np.sin(v), 3), one, x)

    @sine.defjvp
    def _rule(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return sine(x), j.pure_callback(lambda v: np.round(np.cos(v), 3), one, x) * t

    return sine


def under(j: Any, name: str, value: Any, run: Callable[[], Any]) -> Any:
    with getattr(j, name)(value):
        return run()


def set_and_back(j: Any, name: str, value: Any, run: Callable[[], Any]) -> Any:
    before = getattr(j.config, name)
    j.config.update(name, value)
    try:
        return run()
    finally:
        j.config.update(name, before)


def with_and_without(j: Any, switch: str, f: Callable[[Any], Any]) -> list[Any]:
    """Calls of a jitted function, those in the middle in a block that sets a switch."""
    jitted = j.jit(f)
    return [jitted(1.0), *under(j, switch, True, lambda: [jitted(1.0), jitted(2.0)]), jitted(3.0)]


def nan_maker(j: Any) -> Any:
    return lambda x: j.numpy.log(x) * 2


CONFIG: dict[str, Check] = {
    "x64": lambda j, seen: under(j, "enable_x64", True, lambda: seen.append(j.numpy.ones(2).dtype.itemsize)),
    "x64 off again": lambda j, seen: [
        under(j, "enable_x64", True, lambda: j.numpy.ones(2).dtype.itemsize),
        j.numpy.ones(2).dtype.itemsize,
    ],
    "x64 by update": lambda j, seen: set_and_back(
        j, "jax_enable_x64", True, lambda: [j.numpy.arange(2).dtype.itemsize, j.config.jax_enable_x64]
    ),
    "x64 traces anew": lambda j, seen: with_and_without(
        j, "enable_x64", lambda x: seen.append(1) or x * j.numpy.arange(2)
    ),
    "x64 and values": lambda j, seen: under(j, "enable_x64", True, lambda: j.numpy.float64(0.1) + 0.2),
    "unknown": lambda j, seen: j.config.update("jax_no_such_thing", True),
    "wrong value": lambda j, seen: j.config.update("jax_numpy_rank_promotion", "perhaps"),
    "read": lambda j, seen: [j.config.jax_debug_nans, j.config.values["jax_debug_nans"]],
    "nans": lambda j, seen: under(j, "debug_nans", True, lambda: nan_maker(j)(j.numpy.array(-1.0))),
    "nans in jit": lambda j, seen: under(j, "debug_nans", True, lambda: j.jit(nan_maker(j))(-1.0)),
    "made of nan": lambda j, seen: under(j, "debug_nans", True, lambda: j.numpy.array(np.nan)),
    "made of an array": lambda j, seen: under(j, "debug_nans", True, lambda: j.numpy.asarray(np.array([1, np.nan]))),
    "made of infinity": lambda j, seen: under(j, "debug_infs", True, lambda: j.numpy.array([np.inf])),
    "placed": lambda j, seen: under(j, "debug_nans", True, lambda: j.numpy.isnan(j.device_put(np.nan))),
    "no nans": lambda j, seen: under(j, "debug_nans", True, lambda: j.jit(nan_maker(j))(1.0)),
    "nans without the switch": lambda j, seen: bool(np.isnan(nan_maker(j)(j.numpy.array(-1.0)))),
    "nans under grad": lambda j, seen: under(j, "debug_nans", True, lambda: j.grad(j.numpy.sqrt)(-1.0)),
    "infs": lambda j, seen: under(j, "debug_infs", True, lambda: 1.0 / j.numpy.zeros(2)),
    "infs in jit": lambda j, seen: under(j, "debug_infs", True, lambda: j.jit(lambda x: 1.0 / x)(0.0)),
    "disable_jit": lambda j, seen: with_and_without(j, "disable_jit", lambda x: seen.append(0) or x * 2),
    "rank promotion": lambda j, seen: under(
        j, "numpy_rank_promotion", "raise", lambda: j.numpy.ones((2, 3)) + j.numpy.ones(3)
    ),
    "strict dtypes": lambda j, seen: under(
        j, "numpy_dtype_promotion", "strict", lambda: j.numpy.ones(2) + j.numpy.ones(2, int)
    ),
    "rank promotion of scalars": lambda j, seen: under(
        j, "numpy_rank_promotion", "raise", lambda: j.numpy.ones((2, 3)) + 1.0 - j.numpy.ones(())
    ),
    "rank promotion in jit": lambda j, seen: under(
        j, "numpy_rank_promotion", "raise", lambda: j.jit(lambda x: x * j.numpy.ones(3))(j.numpy.ones((2, 3)))
    ),
    "rank promotion by update": lambda j, seen: set_and_back(
        j, "jax_numpy_rank_promotion", "raise", lambda: j.numpy.maximum(j.numpy.ones((2, 3)), j.numpy.ones(3))
    ),
    "strict dtypes and weak ones": lambda j, seen: under(
        j, "numpy_dtype_promotion", "strict", lambda: [j.numpy.ones(2) + 1, 2.0 * j.numpy.ones(2, "float16"), 1 + 2.0]
    ),
    "strict dtypes and a float": lambda j, seen: under(
        j, "numpy_dtype_promotion", "strict", lambda: j.numpy.ones(2, int) * 2.0
    ),
    "strict dtypes and a bool": lambda j, seen: under(
        j, "numpy_dtype_promotion", "strict", lambda: j.numpy.ones(2, bool) + 1
    ),
    "strict dtypes, promote_types": lambda j, seen: under(
        j, "numpy_dtype_promotion", "strict", lambda: j.numpy.promote_types("int32", "float32")
    ),
    "strict dtypes in jit": lambda j, seen: under(
        j, "numpy_dtype_promotion", "strict", lambda: j.jit(lambda x: x + j.numpy.arange(2))(j.numpy.ones(2))
    ),
    "as a decorator": lambda j, seen: j.enable_x64(True)(lambda: j.numpy.ones(2).dtype.itemsize)(),
    "scope": lambda j, seen: under(j, "named_scope", "part", lambda: j.numpy.ones(2) + 1),
    "scope without a name": lambda j, seen: under(j, "named_scope", 3, lambda: None),
    "scope in jit": lambda j, seen: j.jit(lambda x: under(j, "named_scope", "part", lambda: x + 1))(1.0),
    "named call": lambda j, seen: j.named_call(lambda x: x + 1, name="plus")(1.0),
    "compile-time": lambda j, seen: j.jit(lambda x: x * constant_of(j))(2.0),
    "ready": lambda j, seen: j.block_until_ready([j.numpy.ones(2), 1.0]),
    "clear": lambda j, seen: [
        f(1.0) for f in [j.jit(lambda x: seen.append(0) or x)] for _ in (f(1.0), f(2.0), j.clear_caches())
    ][-1],
}


def branching(j: Any, x: Any) -> Any:
    """A branch that prints, of two."""
    below = lambda y: (j.debug.print("below {}", y), y - 1)[1]
    return j.lax.cond(x > 0, lambda y: (j.debug.print("above {}", y), y + 1)[1], below, x)


def constant_of(j: Any) -> float:
    with j.ensure_compile_time_eval():
        return float(j.numpy.sum(j.numpy.ones(3)))


def of_steps(j: Any, x: Any) -> Any:
    """A loop in a loop of branches that print."""
    step = lambda c, _: (branching(j, c) * x, None)
    return j.lax.scan(lambda c, _: (j.lax.scan(step, c, None, length=2)[0], None), x, None, length=2)[0]


PRINTS["under the derivative of loops"] = lambda j, seen: [
    j.grad(lambda x: of_steps(j, x))(2.0),
    j.jit(j.grad(lambda x: of_steps(j, x)))(-0.5),
    j.jvp(lambda x: of_steps(j, x), (2.0,), (1.0,)),
]
TABLES = {"print": PRINTS, "callback": CALLBACKS, "config": CONFIG}
CASES = [pytest.param(check, id=f"{t}-{name}") for t, table in TABLES.items() for name, check in table.items()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("check", CASES)
def test_as_in_jax(check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    theirs = outcome(check, jax, capsys)
    assert outcome(check, lazynp.jax, capsys) == theirs


def test_a_block_s_switch_is_its_thread_s() -> None:
    found = []
    with lazynp.jax.enable_x64(True):
        thread = threading.Thread(target=lambda: found.append(lazynp.jax.numpy.ones(1).dtype.name))
        thread.start()
        thread.join()
        found.append(lazynp.jax.numpy.ones(1).dtype.name)
    assert found == ["float32", "float64"]


@pytest.mark.parametrize("name", ["pure_callback", "io_callback", "debug"])
@pytest.mark.parametrize("jitted", [True, False])
def test_a_callback_s_error_is_a_runtime_error_with_its_text(name: str, jitted: bool) -> None:
    """As in JAX; what `debug.callback` calls at once raises what it raises."""

    def call(j: Any) -> Any:
        def function(x: Any) -> Any:
            if name == "debug":
                return j.debug.callback(lambda v: 1 / 0, x)
            args = (lambda v: 1 / 0, j.ShapeDtypeStruct((), "f4"), x)
            return io_callback(j, *args) if name == "io_callback" else j.pure_callback(*args)

        return (j.jit(function) if jitted else function)(1.0)

    with pytest.raises((lazynp.jax.errors.JaxRuntimeError, ZeroDivisionError), match="division by zero") as error:
        call(lazynp.jax)
    direct = name == "debug" and not jitted
    assert (error.type is ZeroDivisionError) == direct
    assert direct or "ZeroDivisionError" in str(error.value)


def test_debug_nans_names_the_operation() -> None:
    with lazynp.jax.debug_nans(True), pytest.raises(FloatingPointError, match=r"nan.*log"):
        lazynp.jax.jit(lambda x: lazynp.jax.numpy.log(x))(-1.0)


def test_profiler_writes_what_ran(tmp_path: Any) -> None:
    j = lazynp.jax
    with j.profiler.trace(tmp_path / "log"):
        with j.profiler.StepTraceAnnotation("step", step_num=1):
            j.profiler.annotate_function(lambda: j.numpy.ones((500, 500)) @ j.numpy.ones((500, 500)))().sum()
        with pytest.raises(RuntimeError):
            j.profiler.start_trace(tmp_path)
    assert "library calls" in (tmp_path / "log" / j.profiler.FILE).read_text()
    with pytest.raises(RuntimeError):
        j.profiler.stop_trace()


def test_profiler_writes_a_trace_with_annotations(tmp_path: Any) -> None:
    j = lazynp.jax
    with j.profiler.trace(tmp_path, create_perfetto_trace=True):
        with j.profiler.StepTraceAnnotation("step", step_num=7) as named_step:
            assert named_step.is_enabled()
            named_step.set_metadata(loss=0.5)
            found = j.profiler.annotate_function(lambda x: j.numpy.sin(x) @ x, name="work")(j.numpy.ones((500, 500)))
            found.block_until_ready()
        with pytest.raises(ZeroDivisionError), j.profiler.TraceAnnotation("failing"):
            raise ZeroDivisionError
    paths = sorted(p.relative_to(tmp_path).parts for p in tmp_path.rglob("*.json.gz"))
    assert [p[:2] for p in paths] == [("plugins", "profile")] * 2
    assert sorted(p[3].endswith("perfetto_trace.json.gz") for p in paths) == [False, True]
    for path in paths:
        events = json.loads(gzip.decompress(tmp_path.joinpath(*path).read_bytes()))["traceEvents"]
        named = {e["name"]: e for e in events if e.get("cat") == "annotation"}
        assert named.keys() == {"step", "work", "failing"} and named["step"]["args"] == {"step_num": "7", "loss": "0.5"}
        step, work, failing = (named[n] for n in ("step", "work", "failing"))
        assert 0 <= step["ts"] <= work["ts"] and work["ts"] + work["dur"] <= step["ts"] + step["dur"] + 0.01
        assert failing["ts"] >= step["ts"] + step["dur"] - 0.01
        assert any(e["ph"] == "X" and e.get("cat") != "annotation" for e in events)


def test_annotations_outside_of_a_trace_do_nothing() -> None:
    profiler = lazynp.jax.profiler
    with profiler.TraceAnnotation("nothing") as annotation:
        assert not annotation.is_enabled() and not jax.profiler.TraceAnnotation.is_enabled()
        assert profiler.annotate_function(abs)(-3) == 3
    with pytest.raises(NotImplementedError, match="perfetto"):
        profiler.start_trace("nowhere", create_perfetto_link=True)


def test_what_failed_while_a_function_was_traced_says_so_when_the_function_runs() -> None:
    """A jitted function that captures such a value, whatever it is called with, and each time."""

    def fails(x: Any) -> Any:
        raise ValueError("no value today")

    large = lazynp.jax.numpy.ones(200_000)

    @lazynp.jax.jit
    def f(x: Any) -> Any:
        value = lazynp.jax.pure_callback(fails, lazynp.jax.ShapeDtypeStruct(large.shape, large.dtype), large) + 1
        with pytest.raises(lazynp.jax.errors.JaxRuntimeError, match="no value today"):
            np.asarray(value)
        return x + value

    for _ in range(2):
        with pytest.raises(lazynp.jax.errors.JaxRuntimeError, match="no value today"):
            np.asarray(f(large))


def test_ffi_calls_python_functions() -> None:
    j = lazynp.jax
    name = "lazynp_test_scaled"
    j.ffi.register_ffi_target(name, lambda x, *, factor: (x * factor).astype(x.dtype))
    call = j.ffi.ffi_call(name, j.ShapeDtypeStruct((3,), np.float32), vmap_method="sequential")
    assert j.jit(lambda x: call(x, factor=3.0))(ONES).tolist() == [3.0] * 3
    assert j.vmap(lambda x: call(x, factor=2.0))(np.stack([ONES, ONES])).tolist() == [[2.0] * 3] * 2
    with pytest.raises(ValueError, match="registered already"):
        j.ffi.register_ffi_target(name, lambda x: x)
    with pytest.raises(NotImplementedError, match="no XLA"):
        j.ffi.register_ffi_target("lazynp_test_capsule", object())
    with pytest.raises(RuntimeError, match="No FFI handler registered for nobody"):
        j.ffi.ffi_call("nobody", j.ShapeDtypeStruct((3,), np.float32))(ONES)
    with pytest.raises(ValueError, match="vmap_method"):
        j.ffi.ffi_call("nobody", j.ShapeDtypeStruct((3,), np.float32), vmap_method="bad")
    assert j.eval_shape(j.ffi.ffi_call("nobody", j.ShapeDtypeStruct((3,), np.float32)), ONES).shape == (3,)


@pytest.mark.parametrize(
    ("name", "advice"),
    {
        "ffi.pycapsule": "register_ffi_target",
        "profiler.start_server": "with trace",
        "experimental.pallas": "jit",
    }.items(),
)
def test_names_that_are_not_there_say_what_is(name: str, advice: str) -> None:
    module, name = name.split(".")
    with pytest.raises(AttributeError, match=f"has no attribute {name!r}: .*{advice}"):
        getattr(getattr(lazynp.jax, module), name)


def test_debug_log_goes_to_the_log(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    with caplog.at_level("INFO"):
        for j in (jax, lazynp.jax):
            j.jit(lambda x, j=j: j.debug.log("v {}", x))(3)
            j.effects_barrier()
    assert [(r.levelname, r.getMessage()) for r in caplog.records if r.getMessage() == "v 3"] == [("INFO", "v 3")] * 2
    assert capsys.readouterr().out == ""
