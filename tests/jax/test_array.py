"""`Array`: indexing, `.at`, text, methods, conversions and errors, beside NumPy (which JAX agrees with in bounds) and
beside JAX itself."""

from __future__ import annotations

import copy
import operator
import os
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
from agreement import disagreement, outcome
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import lazynp.jax
import lazynp.jax.numpy as jnp
from lazynp.config import config

jax.config.update("jax_platforms", "cpu")
LIBS = {"jax": jax, "lazynp": lazynp.jax}
MODES = ("auto", "graph")
LONG = int(os.environ.get("LAZYNP_CASES", "0")) > 10_000


def difference(path: str, run: Callable[..., Any], *args: Any) -> str | None:
    """How `run(library, *args)` differs between the libraries, in words."""
    return disagreement(path, *[outcome(partial(run, lib, *args)) for lib in LIBS.values()])


RUN = settings(max_examples=25, deadline=None)

# --- Indexing ---------------------------------------------------------------------------------------------------------


@st.composite
def shapes_and_indices(draw: Any) -> tuple[tuple[int, ...], Any]:
    """A shape, and an index of NumPy's grammar that is in bounds."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    basic = hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True)
    how = draw(st.sampled_from(("basic", "arrays", "mask", "mixed")))
    if how == "basic":
        return shape, draw(basic)
    if how == "arrays":
        return shape, draw(hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(max_dims=2, max_side=3)))
    if how == "mask":
        return shape, draw(hnp.arrays(bool, shape[: draw(st.integers(1, len(shape)))]))
    entries: list[Any] = [draw(entry(n)) for n in shape[: draw(st.integers(1, len(shape)))]]
    if draw(st.booleans()):
        entries.insert(draw(st.integers(0, len(entries))), None)
    return shape, tuple(entries)


def entry(n: int) -> Any:
    """An index along an axis of that length."""
    places = st.integers(-n, n - 1)
    return st.one_of(places, st.lists(places, min_size=2, max_size=2).map(np.array), st.slices(n))


def known_index(index: Any) -> Any:
    """Arrays as arrays of the library, every other time."""
    parts = index if isinstance(index, tuple) else (index,)
    out = [jnp.asarray(k) if isinstance(k, np.ndarray) and k.size % 2 else k for k in parts]
    return tuple(out) if isinstance(index, tuple) else out[0]


def is_mask(index: Any) -> bool:
    return isinstance(index, np.ndarray) and index.dtype == bool


@pytest.mark.parametrize("mode", MODES)
@RUN
@given(shapes_and_indices())
def test_reading_is_numpys(mode: str, case: tuple) -> None:
    shape, index = case
    host = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    with config(mode=mode):
        x = jnp.asarray(host)
        found = x[known_index(index)]
        traced = lazynp.jax.jit(lambda x: x[index])(x)
    np.testing.assert_array_equal(np.asarray(found), host[index], strict=True)
    np.testing.assert_array_equal(np.asarray(traced), host[index], strict=True)


@RUN
@given(shapes_and_indices())
def test_reading_by_traced_indices(case: tuple) -> None:
    shape, index = case
    host = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    parts = index if isinstance(index, tuple) else (index,)
    arrays = [k for k in parts if isinstance(k, np.ndarray) and k.dtype != bool]

    def picked(x: Any, *given: Any) -> Any:
        left = iter(given)
        return x[tuple([next(left) if isinstance(k, np.ndarray) and k.dtype != bool else k for k in parts])]

    found = lazynp.jax.jit(picked)(jnp.asarray(host), *[jnp.asarray(k) for k in arrays])
    np.testing.assert_array_equal(np.asarray(found), host[parts], strict=True)


@RUN
@given(shapes_and_indices(), st.sampled_from(("add", "multiply", "minimum", "maximum")))
def test_updating_is_numpys(case: tuple, how: str) -> None:
    shape, index = case
    host = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    value = np.float32(-3) if how != "multiply" else np.float32(2)
    wanted = host.copy()
    getattr(np, how).at(wanted, index, value)
    method = {"minimum": "min", "maximum": "max"}.get(how, how)
    found = getattr(jnp.asarray(host).at[known_index(index)], method)(value)
    np.testing.assert_array_equal(np.asarray(found), wanted, strict=True)
    jitted = lazynp.jax.jit(lambda x, v: getattr(x.at[index], method)(v))(jnp.asarray(host), value)
    np.testing.assert_array_equal(np.asarray(jitted), wanted, strict=True)


@RUN
@given(shapes_and_indices())
def test_setting_is_numpys(case: tuple) -> None:
    shape, index = case
    host = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    wanted = host.copy()
    wanted[index] = -1
    found = jnp.asarray(host).at[known_index(index)].set(-1)
    np.testing.assert_array_equal(np.asarray(found), wanted, strict=True)
    assert np.array_equal(host, np.arange(host.size).reshape(shape))


@RUN
@given(shapes_and_indices())
def test_gradients_of_reading_and_writing(case: tuple) -> None:
    shape, index = case
    host = np.linspace(1, 2, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    weights = np.arange(host[index].size, dtype=np.float32).reshape(host[index].shape)
    wanted = np.zeros_like(host)
    np.add.at(wanted, index, weights)
    found = lazynp.jax.grad(lambda x: (x[index] * weights).sum())(jnp.asarray(host))
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-6)
    kept = np.ones_like(host)
    kept[index] = 0
    found = lazynp.jax.grad(lambda x: x.at[index].set(0).sum())(jnp.asarray(host))
    np.testing.assert_array_equal(np.asarray(found), kept)


@RUN
@given(shapes_and_indices())
def test_vmap_of_reading_is_a_loop(case: tuple) -> None:
    shape, index = case
    host = np.arange(2 * np.prod(shape), dtype=np.float32).reshape(2, *shape)
    if is_mask(index):
        return
    found = lazynp.jax.vmap(lambda x: x[index])(jnp.asarray(host))
    np.testing.assert_array_equal(np.asarray(found), np.stack([h[index] for h in host]), strict=True)


X1, X2 = np.arange(5.0, dtype=np.float32), np.arange(6, dtype=np.int32).reshape(2, 3)
OUTSIDE: tuple[Any, ...] = (7, -7, np.array([0, 9]), np.array([-9, 1]), (0, 7), slice(3, 99), np.array([], np.int32))
WRONG: tuple[Any, ...] = ("a", [0], 1.5, (0, 0, 0), (..., ...), np.array([0.5]), np.zeros(4, bool), (0, "a"), {})


def read(lib: Any, x: Any, index: Any) -> Any:
    return lib.numpy.asarray(x)[index]


def read_with(lib: Any, x: Any, index: Any, mode: Any) -> Any:
    return lib.numpy.asarray(x).at[index].get(mode=mode)


def updated(lib: Any, x: Any, index: Any, how: str, value: Any, mode: Any) -> Any:
    return getattr(lib.numpy.asarray(x).at[index], how)(value, mode=mode)


@pytest.mark.parametrize("x", (X1, X2), ids=("vector", "matrix"))
@pytest.mark.parametrize("index", (*OUTSIDE, *WRONG), ids=str)
def test_what_is_out_of_bounds_or_wrong(x: np.ndarray, index: Any) -> None:
    assert difference("getitem", read, x, index) is None


UPDATES = ("set", "add", "subtract", "multiply", "divide", "power", "min", "max")
AT_MODES = (None, "clip", "drop", "fill", "promise_in_bounds", "wrap", "nonsense")


@pytest.mark.parametrize("mode", AT_MODES, ids=str)
@pytest.mark.parametrize("index", (7, np.array([0, 9, -9, 1])), ids=("int", "array"))
def test_modes_of_get(index: Any, mode: Any) -> None:
    for x in (X1, X2[0].astype(np.uint8)):
        assert difference("at.get", read_with, x, index, mode) is None


@pytest.mark.parametrize("how", UPDATES)
def test_modes_of_updates(how: str) -> None:
    for mode in (None, "clip", "drop", "nonsense"):
        assert difference("at.update", updated, X1, np.array([1, 9, -9]), how, 2.0, mode) is None, mode


def test_fill_value_and_wrapping() -> None:
    x = jnp.arange(3)
    assert x.at[5].get(mode="fill", fill_value=-1) == -1
    assert x.at[-1].get(mode="fill", fill_value=-1, wrap_negative_indices=False) == -1
    assert x.at[jnp.array([-1])].set(9, wrap_negative_indices=False).tolist() == [0, 1, 2]


def test_apply() -> None:
    x = jnp.arange(4.0)
    assert x.at[2].apply(jnp.square).tolist() == [0, 1, 4, 3]
    assert x.at[jnp.array([1, 1])].apply(lambda v: v + 1).tolist() == [0, 3, 2, 3]
    assert x.at[:3].apply(lambda v: 2 * v.sum()).tolist() == [0, 2, 4, 3]
    assert lazynp.jax.jit(lambda i: x.at[i].apply(lambda v: v + 1))(jnp.arange(200) % 2).tolist() == [100, 101, 2, 3]
    with pytest.raises(ValueError, match="gave int32"):
        x.at[:2].apply(lambda v: v.astype(int))
    lax = lazynp.jax.lax
    places = lax.ScatterDimensionNumbers((), (0,), (0,))
    out = lax.scatter_apply(x, jnp.array([[0], [2], [0]]), lambda v: 2 * v + 1, places, update_shape=(3,))
    assert out.tolist() == [3, 1, 5, 3]
    assert lax.select_n(jnp.array([0, 1, 2, 0], np.uint8), x, -x, x + 1).tolist() == [0, -1, 3, 3]
    with pytest.raises(TypeError, match="unexpected keyword"):
        x.at[0].apply(jnp.sin, nonsense=1)


def test_a_setting_raises_out_of_bounds() -> None:
    lazynp.jax.config.update("jax_error_checking_behavior_oob", "raise")
    try:
        x = jnp.arange(3)
        for run in (lambda: x[5], lambda: x[jnp.array([0, 7])].tolist(), lambda: x.at[4].set(1)):
            with pytest.raises(IndexError):
                run()
        assert x[-1] == 2
    finally:
        lazynp.jax.config.update("jax_error_checking_behavior_oob", "ignore")


def test_assignment_names_at() -> None:
    x = jnp.zeros(3)
    with pytest.raises(TypeError, match=r"\.at\[idx\]\.set"):
        x[0] = 1  # type: ignore[index]
    with pytest.raises(TypeError, match=r"\.at"):
        lazynp.jax.jit(lambda x: operator.setitem(x, 0, 1))(x)


def test_unsafe_casts_of_updates_warn() -> None:
    with pytest.warns(FutureWarning, match="scatter inputs have incompatible types"):
        out = jnp.arange(3).at[0].set(1.5)
    assert out.dtype == jnp.int32


# --- Text -------------------------------------------------------------------------------------------------------------

TEXTS: dict[str, Callable[[Any], Any]] = {
    "ints": lambda m: m.array([0, 0, 1]),
    "matrix": lambda m: m.arange(6.0).reshape(2, 3),
    "weak": lambda m: m.asarray(1.5),
    "weak int": lambda m: m.asarray(3),
    "weak bool": lambda m: m.asarray(1.5) < 2,
    "bool": lambda m: m.array(True),
    "empty": lambda m: m.zeros((0, 3)),
    "empty vector": lambda m: m.array([]),
    "bfloat16": lambda m: m.ones(2, m.bfloat16),
    "float16": lambda m: m.linspace(0, 1, 3).astype(m.float16),
    "complex": lambda m: m.array([1 + 2j, 3]),
    "special": lambda m: m.array([m.nan, m.inf, -m.inf, -0.0]),
    "uint8": lambda m: m.arange(3, dtype=m.uint8),
    "long": lambda m: m.arange(2000),
    "wrapped": lambda m: m.arange(40) * 1000,
    "just over": lambda m: m.arange(22),
    "three axes": lambda m: m.zeros((2, 2, 2)),
    "tiny": lambda m: m.array([1e-30, 1e30]),
    "newline": lambda m: m.full((3, 12), 123456.0),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str) -> None:
    theirs, ours = TEXTS[name](jax.numpy), TEXTS[name](jnp)
    assert repr(ours) == repr(theirs)
    assert str(ours) == str(theirs)
    with np.printoptions(precision=2, linewidth=40, threshold=5), jax.numpy.printoptions(precision=2):
        assert repr(ours) == repr(theirs)
    if theirs.ndim == 0:
        for spec in ("", "5", ">8"):
            assert format(ours, spec) == format(theirs, spec)


def test_traced_text() -> None:
    seen: list[str] = []
    lazynp.jax.jit(lambda x: seen.extend([repr(x), str(x), f"{x}"]) or x)(jnp.arange(4))
    assert seen == ["JitTracer(int32[4])"] * 3


# --- Attributes, methods, operators -----------------------------------------------------------------------------------

ARRAYS: dict[str, Any] = {
    "float32": np.array([[3.0, -1.5, np.nan], [0.0, 2.5, 7.0]], np.float32),
    "int32": np.array([[3, -1, 2], [0, 2, 7]], np.int32),
    "bool": np.array([True, False, True]),
    "complex64": np.array([1 + 2j, -3.5, 0], np.complex64),
    "bfloat16": np.array([1.5, 2.5, -1], ml_dtypes.bfloat16),
    "uint8": np.array([250, 3, 0], np.uint8),
    "scalar": np.array(2.5, np.float32),
    "empty": np.zeros((0, 2), np.float32),
}
ATTRIBUTES = (
    "shape", "dtype", "ndim", "size", "itemsize", "nbytes", "weak_type", "T", "mT", "real", "imag", "committed",
    "is_fully_addressable",
)  # fmt: skip
PLAIN = (
    "all", "any", "argmax", "argmin", "argsort", "conj", "conjugate", "copy", "cumprod", "cumsum", "flatten", "max",
    "mean", "min", "nonzero", "prod", "ptp", "ravel", "sort", "squeeze", "std", "sum", "transpose", "var", "item",
    "tolist", "tobytes",
)  # fmt: skip
METHODS: tuple[tuple[str, tuple, dict], ...] = (
    *[(n, (), {}) for n in PLAIN],
    *[(n, (0,), {}) for n in ["sum", "mean", "max", "min", "argmax", "cumsum", "sort", "std", "prod", "any"]],
    *[(n, (), {"axis": -1, "keepdims": True}) for n in ["sum", "mean", "max", "min", "argmin", "var", "all"]],
    *[(n, (), {"axis": 5}) for n in ["sum", "mean", "max", "argmax", "cumsum", "sort"]],
    ("astype", ("float16",), {}), ("astype", (int,), {}), ("astype", (bool,), {}), ("clip", (0, 2), {}),
    ("clip", (), {"max": 1}), ("diagonal", (), {}), ("dot", (2,), {}), ("repeat", (2,), {}), ("repeat", (2, 0), {}),
    ("reshape", (-1,), {}), ("reshape", (3, -1), {}), ("reshape", ((1, -1),), {}), ("reshape", (5,), {}),
    ("round", (), {}), ("round", (1,), {}), ("swapaxes", (0, -1), {}), ("take", (np.array([0, 1]),), {}),
    ("trace", (), {}), ("view", ("int8",), {}), ("view", ("uint16",), {}), ("searchsorted", (1,), {}),
    ("item", (0,), {}), ("item", (1, 1), {}), ("sum", (), {"dtype": "float32"}),
    ("max", (), {"initial": 1, "where": np.array([True, False, True])}), ("sum", (), {"axis": (0, 1)}),
    ("sum", (), {"axis": (0, 0)}), ("transpose", (1, 0), {}), ("byteswap", (), {}), ("choose", ([1, 2],), {}),
    ("compress", (np.array([True, False]),), {}), ("argpartition", (1,), {}), ("nosuch", (), {}),
)  # fmt: skip


def attribute_of(lib: Any, own: str, name: str) -> Any:
    return getattr(lib.numpy.asarray(ARRAYS[own]), name)


def method_of(lib: Any, own: str, name: str, args: tuple, keywords: dict) -> Any:
    return getattr(lib.numpy.asarray(ARRAYS[own]), name)(*args, **keywords)


def operated(lib: Any, own: str, f: Callable[..., Any], other: Any, swapped: bool) -> Any:
    x = lib.numpy.asarray(ARRAYS[own])
    return f(other, x) if swapped else f(x, other)


@pytest.mark.parametrize("own", ARRAYS)
def test_attributes(own: str) -> None:
    wrong = [f"{name}: {d}" for name in ATTRIBUTES if (d := difference("attribute", attribute_of, own, name))]
    assert not wrong, "\n".join(wrong)


BETTER = {("bool", "argpartition")}
"""What JAX has no implementation of for a dtype, and NumPy has."""


@pytest.mark.parametrize("own", ARRAYS if LONG else ("float32", "int32", "bool", "scalar"))
def test_methods(own: str) -> None:
    wrong = [
        f"{c}: {d}"
        for c in METHODS
        if (own, c[0]) not in BETTER and (d := difference(f"numpy.{c[0]}", method_of, own, *c))
    ]
    assert not wrong, "\n".join(wrong)


BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor", "eq", "ne",
    "lt", "le", "gt", "ge", "matmul",
)  # fmt: skip
OPERANDS = ("float32", "int32", "bool", "scalar") if LONG else ("float32", "int32")
OTHERS: tuple[Any, ...] = (2, 0.5, True, None, "a", [1, 2, 3], np.float32(2), np.ones(3, np.float32), 1j)


@pytest.mark.parametrize("name", BINARY)
def test_operators_beside_anything(name: str) -> None:
    path, f = "numpy.power" if name == "pow" else name, getattr(operator, name)
    wrong = [
        f"{own} {other!r} {swapped}: {d}"
        for i, own in enumerate(OPERANDS)
        for j, other in enumerate(OTHERS)
        for swapped in (False, True)
        if (LONG or (i + j + swapped) % 2) and (d := difference(path, operated, own, f, other, swapped))
    ]
    assert not wrong, "\n".join(wrong)


# --- Python's protocols -----------------------------------------------------------------------------------------------

PROTOCOLS: dict[str, Callable[[Any], Any]] = {
    "len": len, "bool": bool, "float": float, "int": int, "complex": complex, "index": operator.index, "hash": hash,
    "iter": lambda x: list(x), "reversed": lambda x: list(reversed(x)), "abs": abs, "round": round,
    "round one": lambda x: round(x, 1), "neg": operator.neg, "invert": operator.invert,
    "divmod": lambda x: divmod(x, 2),
    "contains": lambda x: 2 in x, "hex": hex, "asarray": np.asarray, "list index": lambda x: [1, 2, 3, 4][x],
    "as shape": lambda x: np.zeros(x).shape, "array copy": lambda x: np.array(x, dtype=np.float64),
    "unpack": lambda x: [*x], "sum of": sum, "sorted": lambda x: sorted(x), "max of": max,
    "delitem": lambda x: operator.delitem(x, 0), "matmul": lambda x: x @ x, "flat": lambda x: x.flat,
}  # fmt: skip
VALUES: dict[str, Any] = {
    **{k: ARRAYS[k] for k in ("float32", "int32", "bool", "scalar", "empty")},
    "one": np.array([3], np.int32),
    "int": np.array(2, np.int32),
    "truth": np.array(True),
    "complex": np.array(1 + 2j, np.complex64),
    "none": np.zeros(0, np.float32),
}


def protocol_of(lib: Any, name: str, value: str) -> Any:
    return PROTOCOLS[name](lib.numpy.asarray(VALUES[value]))


@pytest.mark.parametrize("name", PROTOCOLS)
def test_protocols(name: str) -> None:
    values = [v for v in VALUES if (name, v) != ("round", "complex")]  # JAX warns of the integer that it makes
    wrong = [f"{value}: {d}" for value in values if (d := difference(name, protocol_of, name, value))]
    assert not wrong, "\n".join(wrong)


def test_pickle_and_copies() -> None:
    for x in (jnp.arange(3.0), jnp.asarray(1.5), jnp.ones(2, jnp.bfloat16), jnp.zeros((0, 2))):
        for made in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x), x.copy()):
            assert type(made) is type(x) and made.dtype == x.dtype and made.weak_type == x.weak_type
            np.testing.assert_array_equal(np.asarray(made), np.asarray(x), strict=True)


def test_what_is_handed_out_is_read_only() -> None:
    x = jnp.arange(3.0)
    view = np.asarray(x)
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    host = np.arange(3.0, dtype=np.float32)
    y = jnp.asarray(host)
    host[0] = 9
    assert y.tolist() == [0, 1, 2]
    np.array(x)[0] = 5
    assert x.tolist() == [0, 1, 2]


def test_exchange() -> None:
    x = jnp.arange(4.0)
    np.testing.assert_array_equal(np.from_dlpack(x), np.asarray(x))
    assert jnp.from_dlpack(np.arange(3.0, dtype=np.float32)).tolist() == [0, 1, 2]
    assert x.__array_namespace__() is jnp
    with pytest.raises(ValueError):
        x.__array_namespace__(api_version="1999.12")


@pytest.mark.parametrize("wide", [False, True])
def test_namespace_info(wide: bool) -> None:
    found: list[Any] = []
    for j in (lazynp.jax, jax):
        with j.enable_x64(wide):
            info = j.numpy.__array_namespace_info__()
            kinds = (None, "integral", "unsigned integer", "real floating", ("bool", "complex floating"))
            dtypes = [info.dtypes(kind=k) for k in kinds]
            devices = [str(d) for d in info.devices()]
            found.append([info.capabilities(), info.default_device(), info.default_dtypes(), dtypes, devices])
        with pytest.raises(KeyError):
            info.dtypes(kind="whole")
    assert found[0] == found[1]
    assert jnp.__array_api_version__ == jax.numpy.__array_api_version__


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "bool", "complex64"])
def test_exchange_of_dtypes(dtype: str) -> None:
    x = jnp.ones(300, dtype)
    y = jnp.from_dlpack(x, copy=True)
    assert y.dtype == x.dtype and y.tolist() == x.tolist()
    assert y.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    for copied in (None, False):
        assert jnp.from_dlpack(x, copy=copied).unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    assert not jnp.from_dlpack(jnp.asarray(2.5)).weak_type
    tensor = pytest.importorskip("torch", reason="torch, which takes the array, is not installed").from_dlpack(x)
    assert str(tensor.dtype) == f"torch.{dtype}" and tensor.data_ptr() == x.unsafe_buffer_pointer()
    assert lazynp.jax.dlpack.from_dlpack(tensor, lazynp.jax.devices()[0], None).tolist() == x.tolist()


def test_exchange_of_memory() -> None:
    memory = np.empty(1100, np.float32)
    x = memory[-memory.ctypes.data // 4 % 16 :][:1000]  # at a multiple of 64 bytes
    x[:] = 1
    shared = jnp.from_dlpack(x, copy=False)
    assert shared.unsafe_buffer_pointer() == x.ctypes.data
    assert jnp.from_dlpack(x).unsafe_buffer_pointer() != x.ctypes.data
    assert float((shared * 2 + 1).sum()) == 3000 and x[0] == 1
    for call, error in {
        lambda: jnp.from_dlpack(x[1:], copy=False): ValueError,
        lambda: jnp.from_dlpack(x[::2]): lazynp.jax.errors.JaxRuntimeError,
        lambda: jnp.from_dlpack(3): TypeError,
        lambda: lazynp.jax.jit(jnp.from_dlpack)(x): TypeError,
        lambda: jnp.ones(3).__dlpack__(max_version=(0, 1)): BufferError,
        lambda: jnp.ones(3).__dlpack__(dl_device=(13, 0)): BufferError,
        lambda: jnp.ones(3, "int4").__dlpack__(): lazynp.jax.errors.JaxRuntimeError,
        lambda: lazynp.jax.dlpack.is_supported_dtype(None): TypeError,
    }.items():
        with pytest.raises(error):
            call()
    assert lazynp.jax.dlpack.is_supported_dtype("bfloat16") and not lazynp.jax.dlpack.is_supported_dtype("float8_e5m2")


def test_a_deleted_array() -> None:
    x = jnp.arange(3)
    assert x.is_ready() and not x.is_deleted()
    x.delete()
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        x + 1


def test_conversions_of_traced_values() -> None:
    runs: tuple[tuple[Callable[[Any], Any], str], ...] = (
        (bool, "TracerBoolConversionError"), (float, "ConcretizationTypeError"), (int, "ConcretizationTypeError"),
        (np.asarray, "TracerArrayConversionError"), (lambda x: [1, 2][x], "TracerIntegerConversionError"),
        (lambda x: x.tolist(), "ConcretizationTypeError"), (lambda x: x.item(), "ConcretizationTypeError"),
        (lambda x: jnp.arange(3)[x > 0], "NonConcreteBooleanIndexError"), (pickle.dumps, "ConcretizationTypeError"),
        (lambda x: jnp.arange(3).at[x > 0].set(0), "NonConcreteBooleanIndexError"),
        (lambda x: jnp.zeros(x), "TypeError"), (lambda x: jnp.arange(3)[:x], "IndexError"),
    )  # fmt: skip
    for run, name in runs:
        with pytest.raises(Exception) as caught:
            lazynp.jax.jit(run)(jnp.asarray(1))
        names = [c.__name__ for c in type(caught.value).__mro__]
        assert name in names, (name, caught.value)


def test_updates_that_are_refused() -> None:
    """A value with more axes than its place, and arithmetic on truth values."""
    for j in (lazynp.jax, jax):
        x, mask = j.numpy.arange(6.0), j.numpy.ones(3, bool)
        with pytest.raises(ValueError, match="Cannot broadcast to shape with fewer dimensions"):
            x.at[1:3].set(j.numpy.zeros((1, 1, 2)))
        for how, name in (("add", "add"), ("subtract", "sub"), ("multiply", "mul")):
            with pytest.raises(TypeError, match=f"{name} does not accept dtype bool at position 0. Accepted dtypes"):
                getattr(mask.at[1], how)(True)
        assert j.numpy.arange(3, dtype="uint8").at[1:].subtract(2).tolist() == [0, 255, 0]


def test_not_called() -> None:
    with pytest.raises(TypeError):
        lazynp.jax.Array()
    assert isinstance(jnp.ones(2), lazynp.jax.Array) and isinstance(jnp.ones(2), jnp.ndarray)
    assert isinstance(jax.numpy.ones(2), jax.Array)
