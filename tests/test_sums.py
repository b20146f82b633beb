"""Sums are at least as accurate as NumPy's, in compiled kernels and loops too, and do not depend on the threads."""

from __future__ import annotations

import ctypes
import math
import subprocess
import sys
from typing import Any

import accuracy
import numpy as np
import pytest
from patience import PATIENCE

import lazynp
from lazynp.backends.compiler import CompilerClient
from lazynp.backends.kernel import Geometry, Instr, KernelSpec

# dtype, shape, axes, strides in elements; symbolic
SUMS: tuple[tuple[str, tuple[int, ...], tuple[int, ...], tuple[int, ...], bool], ...] = (
    ("float32", (3_000_000,), (0,), (1,), False),
    ("float64", (3_000_000,), (0,), (1,), True),
    ("float64", (40_000, 9), (0,), (9, 1), False),
    ("float32", (5, 20_000, 17), (1,), (340_000, 17, 1), False),
    ("complex128", (500_000,), (0,), (1,), False),
    ("complex64", (1_000_000,), (0,), (1,), False),
    ("float64", (40, 3000), (1,), (3000, 1), True),
    ("float64", (100_003,), (0,), (3,), True),
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made = CompilerClient(str(tmp_path_factory.mktemp("artifacts") / "cache"))
    yield made
    made.shutdown()


def squares_summed(dtype: str, shape: Any, axes: Any, strides: Any, symbolic: bool) -> tuple[KernelSpec, Geometry]:
    ndim = len(shape)
    body = (Instr("square", (0,), (dtype,), dtype), Instr("reduce", (1,), (dtype,), dtype, ("add", axes)))
    left = [1 if a in axes else n for a, n in enumerate(shape)]
    out = tuple([0 if n == 1 else math.prod(left[a + 1 :]) for a, n in enumerate(left)])
    return KernelSpec((dtype,), (), body, (2,), ndim), Geometry(shape, (strides, out), symbolic)


def data(dtype: str, size: int) -> np.ndarray:
    rng = np.random.default_rng(size)
    x = rng.random(size) + 1
    return (x + 1j * rng.random(size) if dtype[0] == "c" else x).astype(dtype)


def error(value: Any, squares: np.ndarray, axes: tuple[int, ...]) -> float:
    """The largest error relative to the true sum, which is added up in more digits."""
    wide = np.clongdouble if squares.dtype.kind == "c" else np.longdouble
    exact = squares.sum(axis=axes, dtype=wide, keepdims=True)  # without a copy of all
    return float((abs(value - exact) / abs(exact)).max())


def test_sums_of_kernels(client: CompilerClient) -> None:
    jobs = [(case, *squares_summed(*case)) for case in SUMS]
    for _, spec, geometry in jobs:
        client.submit(spec, geometry)
    assert client.wait(240)
    for (dtype, shape, axes, strides, _), spec, geometry in jobs:
        compiled = client.lookup(spec, geometry)
        assert compiled is not None
        memory = data(dtype, 1 + sum([(n - 1) * s for n, s in zip(shape, strides)]))
        x = np.lib.stride_tricks.as_strided(memory, shape, [s * memory.itemsize for s in strides])
        out = np.zeros([1 if a in axes else n for a, n in enumerate(shape)], dtype)
        found = []
        for threads in (1, 2, 3, 7):
            dims = [*shape, *strides, *geometry.strides[1]]
            pointers = (ctypes.c_void_p * 2)(x.ctypes.data, out.ctypes.data)
            assert compiled.call(pointers, (ctypes.c_int64 * len(dims))(*dims), None, threads) == 0
            found.append(out.tobytes())
        assert len(set(found)) == 1, f"{shape}: the sum depends on the number of threads"
        # Of real numbers each sum is the true one, rounded; NumPy's products of complex numbers are rounded otherwise.
        squares = x * x
        numpys = error(squares.sum(axis=axes, keepdims=True), squares, axes)
        allowed = 0.5 * np.finfo(dtype).eps * (1 + 2.0**-7)
        assert error(out, squares, axes) <= (max(numpys, allowed) if dtype[0] == "c" else allowed), (dtype, shape, axes)
        if dtype[0] == "f":
            memory[0] = np.inf
            assert compiled.call(pointers, (ctypes.c_int64 * len(dims))(*dims), None, 2) == 0
            assert np.array_equal(np.isinf(out), np.isinf((x * x).sum(axis=axes, keepdims=True))), shape


def test_kernels_add_short_rows_as_numpy_does(client: CompilerClient) -> None:
    cases = [
        (dtype, (700, n), (1,), (n, 1), symbolic)
        for dtype in ("float32", "float64")
        for n, symbolic in ((9, False), (27, False), (128, True), (129, False))
    ]
    jobs = [(case, *squares_summed(*case)) for case in cases]
    for _, spec, geometry in jobs:
        client.submit(spec, geometry)
    assert client.wait(240)
    for (dtype, shape, _, strides, _), spec, geometry in jobs:
        compiled = client.lookup(spec, geometry)
        assert compiled is not None
        x = np.random.default_rng(shape[1]).standard_normal(shape).astype(dtype)
        x[3], x[4, 1], x[5, 2] = 0.0, np.inf, np.nan
        out = np.empty((shape[0], 1), dtype)
        dims = [*shape, *strides, *geometry.strides[1]]
        pointers = (ctypes.c_void_p * 2)(x.ctypes.data, out.ctypes.data)
        assert compiled.call(pointers, (ctypes.c_int64 * len(dims))(*dims), None, 2) == 0
        squares = x * x
        numpys = squares.sum(axis=1, keepdims=True)
        if shape[1] <= 128:
            assert out.tobytes() == numpys.tobytes() or np.array_equal(out, numpys, equal_nan=True), (dtype, shape)
        else:  # NumPy halves longer rows
            exact = squares[6:].sum(axis=1, dtype=np.longdouble, keepdims=True)
            assert abs(out[6:] - exact).max() <= abs(numpys[6:] - exact).max()


@pytest.mark.parametrize("settings", [{"mode": "graph"}, {"mode": "auto", "small": 0}], ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_statistics(settings: dict[str, Any], dtype: str) -> None:
    """The interpreter's, of enough elements for many blocks."""
    host = data("float64", 400_003).astype(dtype)
    wide = host.astype(np.longdouble)
    with lazynp.config(compile_after=math.inf, **settings):
        a = lazynp.array(host)
        found = {
            "sum": a.sum(),
            "mean": a.mean(),
            "var": a.var(),
            "product": (a * a).sum(),
            "norm": (a**2).sum() ** 0.5,
        }
        found |= {"nansum": lazynp.nansum(a), "nanmean": lazynp.nanmean(a), "std": (a + 0).std()}
    square = (host * host).astype(np.longdouble).sum()
    exact = {"sum": wide.sum(), "mean": wide.mean(), "var": wide.var(), "product": square, "norm": square**0.5}
    exact |= {"nansum": wide.sum(), "nanmean": wide.mean(), "std": wide.std()}
    for name, value in found.items():
        assert abs(float(value) - exact[name]) <= 8 * np.finfo(dtype).eps * exact[name], name


def test_sums_of_loops() -> None:
    """A loop in machine code adds up pairwise too: the body's sum of 2 ** 18 numbers that do not end in binary."""
    jnp, lax = lazynp.jax.numpy, lazynp.jax.lax
    x = data("float32", 1 << 18)
    for shape in ((1 << 18,), (1 << 15, 8), (3, 5, 4096)):
        y = jnp.asarray(x[: math.prod(shape)].reshape(shape))
        sums = lax.fori_loop(0, 3, lambda i, s, y=y: s * 0 + jnp.sum(y * (i + 1 - i)), jnp.float32(0))
        total = float(sums)
        exact = x[: math.prod(shape)].astype(np.longdouble).sum()
        assert abs(total - exact) <= 4 * np.finfo("f4").eps * exact, shape


def test_extended_precision_is_exact_enough() -> None:
    """What errors are measured by: its sums differ from those of `math.fsum` by less than 1 % of a unit."""
    for kind in accuracy.KINDS:
        x = accuracy.data(kind, "float64", 3001, 1)
        difference = math.fsum([*x, *[-float(part) for part in parts_of(accuracy.long_total(x, 0))]])
        assert abs(difference) <= 0.01 * np.finfo("f8").eps * abs(x).sum()


def parts_of(x: Any) -> tuple[float, float]:
    high = float(x)
    return high, float(x - np.longdouble(high))


TIERS = ("at once", "interpreted", "interpreted, 3 threads", "jit")


@pytest.mark.parametrize("tier", TIERS)
def test_errors_are_at_most_numpys(tier: str) -> None:
    """A part of `make accuracy`, without machine code and without JAX, which the JAX door is compared with."""
    layouts = ("vector", "reversed", "rows", "columns", "transposed", "swapped")
    cases = [
        case
        for f in accuracy.FUNCTIONS
        for d in ("float32", "complex128")
        for layout in layouts
        for case in [accuracy.Case(f, d, layout, 300, "alternating" if f == "sum" else "uniform")]
        if accuracy.fits(case, tier)
    ]
    worse = [(*case, found) for case, found in accuracy.measure(cases, tier, 2) if found.worse()]
    assert cases and not worse, worse


def errors(value: Any, exact: Any) -> tuple[float, float]:
    off = abs(value - exact) / exact
    return float(np.median(off)), float(off.max())


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("order", [2.5, 3, 4])
def test_higher_norms_of_single_precision(axis: int, order: float) -> None:
    """The exponent 1 / 3 rounded to single precision costs more than all other roundings."""
    x = data("float64", 400 * 300).astype("f4").reshape(400, 300)
    exact = (abs(x.astype(np.longdouble)) ** order).sum(axis) ** (1 / np.longdouble(order))
    with lazynp.config(mode="graph", compile_after=math.inf):
        value = np.asarray(lazynp.linalg.norm(lazynp.array(x), order, axis))
    assert value.dtype == np.float32
    eps = float(np.finfo("f4").eps)
    assert all(a <= b for a, b in zip(errors(value, exact), (0.4 * eps, eps)))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_products_of_short_rows_have_numpys_errors(dtype: str) -> None:
    """BLAS adds the five last elements of 37 one by one to the whole sum."""
    rng = np.random.default_rng(0)
    x, y = [rng.random((400, 37)).astype(dtype) for _ in range(2)]
    with lazynp.config(mode="graph", compile_after=math.inf):
        found = [np.asarray(lazynp.einsum(t, lazynp.array(x), lazynp.array(y))) for t in ("ij,ij->i", "ij,ij")]
        turned = np.asarray(lazynp.einsum("jik,ijk->ji", lazynp.array(x.reshape(20, 20, 37)), y.reshape(20, 20, 37)))
    exact = (x.astype(np.longdouble) * y).sum(1)
    assert errors(found[0], exact) <= errors(np.einsum("ij,ij->i", x, y), exact)
    assert np.allclose(found[1], np.einsum("ij,ij", x, y))
    assert np.array_equal(turned, np.einsum("jik,ijk->ji", x.reshape(20, 20, 37), y.reshape(20, 20, 37)))


@pytest.mark.parametrize(
    "text", ["i,i->", "i,j->", "i,j", "ai,aj->a", "ai,ai->a", "ia,ja->a", "ai,ia->a", ",->", "ii,ii->i", "ii,ii->"]
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_einsum_of_short_rows(text: str, dtype: str) -> None:
    """Whether each operand is added up by itself, or both together."""
    rng = np.random.default_rng(1)
    args = [rng.random((9,) * len(part)).astype(dtype) for part in text.partition("->")[0].split(",")]
    with lazynp.config(mode="graph", compile_after=math.inf):
        found = np.asarray(lazynp.einsum(text, *map(lazynp.array, args)))
    wanted = np.einsum(text, *args)
    assert found.shape == wanted.shape and found.dtype == wanted.dtype and np.allclose(found, wanted, rtol=1e-5)


def test_sums_along_memory() -> None:
    """Where values are computed for a sum alone, they lie as NumPy's would, whose sums along memory are pairwise."""
    host = data("float64", 40 * 3000).astype("f4").reshape(40, 3000).T
    exact = host.astype(np.longdouble).sum(axis=0)
    with lazynp.config(mode="graph", compile_after=math.inf):
        a = lazynp.array(host.T).T
        found = {"nansum": lazynp.nansum(a, axis=0), "product": (a * 2).sum(axis=0) / 2}
        out = lazynp.empty(40, "f4")
        found["out"] = lazynp.sum(a * 1, axis=0, out=out)
        inplace = abs(a)
        inplace *= 4
        found["in place"] = inplace.sum(axis=0) / 4
        inplace /= lazynp.full(40, 4, "f4")
        inplace **= lazynp.ones((3000, 1), "f4")
        found["in place, with others"] = inplace.sum(axis=0)
    for name, value in found.items():
        assert (abs(np.asarray(value) - exact) <= 4 * np.finfo("f4").eps * exact).all(), name


def test_sums_of_infinities() -> None:
    """What infinities round off is no number, and no part of the sum."""
    inf, nan = math.inf, math.nan
    lax, jnp = lazynp.jax.lax, lazynp.jax.numpy
    for values, expected in (([1, inf], inf), ([-inf, 1], -inf), ([inf, -inf], nan), ([nan, inf], nan), ([0.0] * 2, 0)):
        x = jnp.asarray(np.tile(np.asarray(values, "f4"), 40))
        found = lax.fori_loop(0, 2, lambda i, s, x=x: 0 * i + jnp.sum(x), jnp.float32(0))
        assert np.array_equal(np.asarray(found), np.float32(expected), equal_nan=True), values


def test_sums_beside_other_results_use_our_threads() -> None:
    """OpenMP's barrier waits for a thread that is off its core. A sum with what is summed had it once, and a transposed
    operand, for which Inductor has two loops in one."""
    text = """
from lazynp.backends.kernel import Geometry, Instr, KernelSpec
from lazynp.backends.torch import build
from lazynp.backends.torch.translate import translate
f = "float64"
product, added = Instr("multiply", (0, 1), (f, f), f), Instr("add", (0, 2), (f, f), f)
body = (product, added, Instr("reduce", (2,), (f,), f, ("add", (0,))))
spec, capability = KernelSpec((f, f), (), body, (2, 3, 4), 1), build.toolchain().capability
for symbolic in (False, True):
    geometry = Geometry((1_000_000,), ((1,), (1,), (1,), (1,), (0,)), symbolic)
    source, _ = translate(spec, geometry, capability)
    assert "lazynp_for(" in source and "LazynpSum" in source, source
    assert "#pragma omp parallel" not in source and "omp_get" not in source, source
    if capability == "DEFAULT":
        continue  # for scalar code Inductor has another loop for a transposed operand, which stays OpenMP's
    transposed = Geometry((30, 8333), ((1, 30), (1, 0), (8333, 1)), symbolic)
    source, _ = translate(KernelSpec((f, f), (), (product,), (2,), 2), transposed, capability)
    assert "lazynp_for(" in source and "#pragma omp parallel" not in source, source
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
