"""Compiled kernels against NumPy: every operation, dtype, layout; and the client that has them compiled."""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided
from patience import PATIENCE

from lazynp.backends.compiled import packer
from lazynp.backends.compiler import CompilerClient
from lazynp.backends.kernel import Geometry, Instr, KernelSpec
from lazynp.backends.support import KIND, compilable, is_compiled
from lazynp.config import config
from lazynp.graph.op import MAP, REDUCE, registry
from lazynp.runtime import kernels

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
TRANSCENDENTAL = frozenset(
    (
        "power",
        "float_power",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "arcsin",
        "arccos",
        "arctan",
        "arcsinh",
        "arccosh",
        "arctanh",
        "arctan2",
        "hypot",
        "cbrt",
        "logaddexp",
        "logaddexp2",
    )
)
ULP = 4
# In a process without this package's own __init__.
PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lazynp")
BOOT = f"import sys, types; p = types.ModuleType('lazynp'); p.__path__ = [{PACKAGE!r}]; sys.modules['lazynp'] = p\n"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    made = CompilerClient(str(tmp_path_factory.mktemp("artifacts") / "cache"))
    yield made
    made.shutdown()


def geometry_of(shape, arrays, symbolic=False):
    strides = []
    for a in arrays:
        strides.append(
            tuple(0 if n != m or n == 1 else s // a.itemsize for n, m, s in zip(shape, a.shape, a.strides, strict=True))
        )
    return Geometry(tuple(shape), tuple(strides), symbolic)


def compiled_for(client, spec, geometry):
    client.submit(spec, geometry)
    assert client.wait(PATIENCE)
    compiled = client.lookup(spec, geometry)
    assert compiled is not None, [e for e in client.events if e.key == client.key(spec, geometry)]
    return compiled


def ulps(got, want):
    """Distance in units of the last place; 0 for equal values and for two NaN; huge for other special values."""
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    with np.errstate(all="ignore"):
        gap = np.abs(got.astype(np.longdouble) - want.astype(np.longdouble)) / np.spacing(np.abs(want)).astype(
            np.longdouble
        )
    gap = np.where(np.isnan(gap), np.inf, gap)
    return np.where(same, 0, gap).astype(float)


def same_bits(got, want):
    """Equal, signed zeros included; NaN equals NaN."""
    if want.dtype.kind == "c":
        return same_bits(got.real, want.real) & same_bits(got.imag, want.imag)
    if want.dtype.kind != "f":
        return got == want
    zero_signs = (want != 0) | (np.signbit(got) == np.signbit(want))
    return ((got == want) & zero_signs) | (np.isnan(got) & np.isnan(want))


def samples(dtype, count=300, seed=0):
    """Special values first, then random ones."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(count) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        special = [
            v
            for v in (0, 1, 2, 3, 7, 8, 31, 32, 63, 64, -1, -2, -3, info.min, info.min + 1, info.max, info.max - 1)
            if info.min <= v <= info.max
        ]
        values = rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
        values[: count // 2] = values[: count // 2] % np.array(100).astype(dtype)
    else:
        part = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
        info = np.finfo(part)
        special = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            2.0,
            -2.0,
            0.5,
            -0.5,
            1.5,
            2.5,
            -2.5,
            3.0,
            np.inf,
            -np.inf,
            np.nan,
            info.tiny,
            -info.tiny,
            info.smallest_subnormal,
            info.max / 2,
            info.eps,
            100.0,
            -100.0,
            1e10,
            1e-10,
        ]
        values = (rng.normal(size=count) * 10.0 ** rng.integers(-6, 6, count)).astype(part)
        if dtype.kind == "c":
            imag = (rng.normal(size=count) * 10.0 ** rng.integers(-6, 6, count)).astype(part)
            return (values + 1j * imag).astype(dtype)
    values[: len(special)] = special
    return values


def pairs(dtype):
    """Two arrays: all pairs of special values and some random ones."""
    a, b = samples(dtype), samples(dtype, seed=1)
    left, right = np.repeat(a[:40], 40), np.tile(b[:40], 40)
    return np.concatenate([left, a]), np.concatenate([right, b[::-1]])


def loops(dtype):
    """(op, loop dtypes, result dtype) of all ufuncs that are compiled and that NumPy has for operands of this dtype."""
    for name, op in sorted(registry.items()):
        ufunc = op.ufunc
        if op.kind != MAP or ufunc is None or ufunc.nout > 1 or name == "clip" or not is_compiled(name, dtype):
            continue
        try:
            resolved = ufunc.resolve_dtypes((np.dtype(dtype),) * ufunc.nin + (None,))
        except TypeError:
            continue
        yield name, tuple(d.name for d in resolved[:-1]), resolved[-1].name


def all_ops(dtype):
    """One kernel with every operation of a dtype, and the names of its outputs."""
    body, names = [], []
    for name, loop, result in loops(dtype):
        instr = Instr(name, tuple(range(len(loop))), loop, result)
        if compilable(KernelSpec((dtype, dtype), (), (instr,), (2,), 1)) is None:
            body.append(instr)
            names.append(name)
    return KernelSpec((dtype, dtype), (), tuple(body), tuple(range(2, 2 + len(body))), 1), names


def wrong(name, out, operands):
    """Where `out` is not what NumPy's ufunc gives."""
    with np.errstate(all="ignore"):
        want = getattr(np, name)(*operands)
        assert want.dtype == out.dtype, name
        if name in TRANSCENDENTAL and want.dtype.kind == "f":
            # NumPy's own float32 functions are up to 4 ulp off: near it, or near the truth
            truth = getattr(np, name)(*[o.astype(np.longdouble) if o.dtype.kind == "f" else o for o in operands])
            bad = (ulps(out, want) > ULP) & (ulps(out, truth.astype(want.dtype)) > ULP)
            if name.startswith("logaddexp"):  # cancels where the result is near 0, in NumPy too
                bad &= ~(np.abs(out - want) <= ULP * np.spacing(np.maximum(*np.abs(operands))))
            return bad, want
    if name in ("maximum", "minimum", "fmax", "fmin"):  # NumPy's choice between -0 and 0 depends on the loop
        return ~same_bits(out + 0.0, want + 0.0) if want.dtype.kind == "f" else out != want, want
    return ~same_bits(out, want), want


def test_signed_and_unsigned_are_compared_as_numbers(client):
    names = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
    signed = np.repeat(np.array([-(1 << 63), -7, -1, 0, 7, (1 << 63) - 1]), 6)
    unsigned = np.tile(np.array([0, 1, 7, (1 << 63) - 1, 1 << 63, (1 << 64) - 1], np.uint64), 6)
    body = []
    for name in names:
        body += [Instr(name, (0, 1), ("int64", "uint64"), "bool"), Instr(name, (1, 0), ("uint64", "int64"), "bool")]
    spec = KernelSpec(("int64", "uint64"), (), tuple(body), tuple(range(2, 2 + len(body))), 1)
    outs = [np.zeros(signed.shape, bool) for _ in body]
    arrays = [signed, unsigned]
    assert compiled_for(client, spec, geometry_of(signed.shape, [*arrays, *outs]))(arrays, (), outs)
    for name, one, other in zip(names, outs[::2], outs[1::2]):
        np.testing.assert_array_equal(one, getattr(np, name)(signed, unsigned), name)
        np.testing.assert_array_equal(other, getattr(np, name)(unsigned, signed), name)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "int64", "uint8", "uint16", "uint32", "uint64", *FLOATS])
def test_every_ufunc(client, dtype, symbolic):
    spec, names = all_ops(dtype)
    a, b = pairs(dtype)
    if symbolic and dtype not in ("uint16", "float32"):
        pytest.skip("the code differs little: two dtypes stand for all")
    outs = [np.zeros(a.shape, i.dtype) for i in spec.body]
    assert compiled_for(client, spec, geometry_of(a.shape, [a, b, *outs], symbolic))([a, b], (), outs)
    problems = []
    for name, out, instr in zip(names, outs, spec.body):
        bad, want = wrong(name, out, (a, b)[: len(instr.args)])
        if bad.any():
            i = np.flatnonzero(bad)[:4]
            problems.append((name, int(bad.sum()), a[i], b[i] if len(instr.args) > 1 else "", out[i], want[i]))
    assert not problems, "\n".join(map(str, problems))


def near_multiples(dtype, n=200_000):
    """Dividends and divisors of all magnitudes, every other dividend a multiple of its divisor, or next to one."""
    rng, kind = np.random.default_rng(5), np.dtype(dtype).kind
    if kind == "f":
        a, b = np.exp2(rng.uniform(-30.0, 60.0, (2, n))).astype(dtype) * rng.choice([-1.0, 1.0], (2, n)).astype(dtype)
        a[::2] = np.round(rng.uniform(-1e6, 1e6, n // 2)).astype(dtype) * b[::2]
        a[1::4] = np.nextafter(a[1::4], np.array(0, dtype))
        a[5::97] = np.resize(np.array([0.0, -0.0, np.inf, np.nan, np.finfo(dtype).max], dtype), a[5::97].shape)
        b[7::89] = np.resize(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0], dtype), b[7::89].shape)
        return a, b
    bounds = np.iinfo(dtype)
    a, b = rng.integers(bounds.min, bounds.max, (2, n), dtype, endpoint=True)
    a, b = a >> rng.integers(0, bounds.bits, n).astype(dtype), b >> rng.integers(0, bounds.bits, n).astype(dtype)
    with np.errstate(all="ignore"):
        a[::2] = b[::2] * rng.integers(0, 99, n // 2).astype(dtype) + rng.integers(0, 3, n // 2).astype(dtype) - 1
    a[5::97], b[7::89] = bounds.min, rng.choice([0, 1, bounds.max, bounds.min], len(b[7::89]))
    b[5::388] = bounds.max if bounds.min == 0 else -1
    return a, b


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", *FLOATS])
def test_quotients_are_exact(client, dtype):
    names = ("floor_divide", "remainder", "fmod")
    spec = KernelSpec((dtype, dtype), (), tuple([Instr(n, (0, 1), (dtype, dtype), dtype) for n in names]), (2, 3, 4), 1)
    a, b = near_multiples(dtype)
    outs = [np.zeros(a.shape, dtype) for _ in names]
    assert compiled_for(client, spec, geometry_of(a.shape, [a, b, *outs]))([a, b], (), outs)
    for name, out in zip(names, outs):
        bad, want = wrong(name, out, (a, b))
        i = np.flatnonzero(bad)[:4]
        assert not bad.any(), (name, bad.sum(), a[i], b[i], out[i], want[i])


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"])
def test_quotients_by_one_divisor_are_exact(client, dtype):
    names = ("floor_divide", "remainder", "fmod")
    body = tuple([Instr(n, (0, 1), (dtype, dtype), dtype) for n in names])
    spec = KernelSpec((dtype,), (dtype,), body, (2, 3, 4), 1)
    bounds = np.iinfo(dtype)
    rng = np.random.default_rng(3)
    divisors = [1, 2, 3, 7, 10, bounds.max, bounds.max // 2, bounds.max // 2 + 1, 0]
    divisors += rng.integers(1, bounds.max, 20, dtype, endpoint=True).tolist()
    divisors += [-1, -2, -3, -10, bounds.min, bounds.min + 1] if bounds.min else []
    run = None
    for divisor in np.array(divisors, dtype):
        with np.errstate(all="ignore"):
            multiples = divisor * rng.integers(bounds.min, bounds.max, 300, dtype, endpoint=True)
            least = divisor * np.arange(300).astype(dtype)
            near = [m + np.array(k).astype(dtype) for m in (multiples, least) for k in (-1, 0, 1)]
        a = np.concatenate([*near, np.array([bounds.min, bounds.max, bounds.min + 1, bounds.max - 1], dtype)])
        outs = [np.zeros(a.shape, dtype) for _ in names]
        run = run or compiled_for(client, spec, geometry_of(a.shape, [a, *outs]))
        assert run([a], (divisor,), outs)
        for name, out in zip(names, outs):
            with np.errstate(all="ignore"):
                want = getattr(np, name)(a, divisor)
            np.testing.assert_array_equal(out, want, f"{name} by {divisor}")


@pytest.mark.races
def test_machine_code_that_is_slower_than_the_interpreter_rests(client, monkeypatch):
    """Whatever the kernel: here the machine code is made to sleep. It is tried again after a while, and later processes
    find in the cache that it is to be compared."""
    monkeypatch.setattr(kernels, "client", functools.cache(lambda: client))
    spec = KernelSpec(("float64",), (), (Instr("negative", (0,), ("float64",), "float64"),), (1,), 1)
    x = np.linspace(0.0, 1.0, 400_000)
    out = np.empty_like(x)
    slow = 0.0

    def run(times):
        for _ in range(times):
            out[...] = 0
            kernel.run([x], [], [out], x.shape)
            np.testing.assert_array_equal(out, -x)

    def begin(race, interpreted):
        with config(compile_after=1e9):
            run(1)
        (form,) = kernel.forms.values()
        ready = form.compiled or compiled_for(client, spec, form.geometry)
        form.race = race
        form.interpreted(interpreted, x.shape)
        calls = []
        form.done(lambda *args: calls.append(time.sleep(slow)) or ready(*args), time.perf_counter(), "a test")
        return form, calls

    enough = 2 * (kernels.ALONE + kernels.BESIDE)
    kernel = kernels.Kernel(spec)
    form, calls = begin(kernels.Race(False), 1.0)
    run(enough)
    assert form.race is None and len(calls) == enough  # it was faster
    slow = 0.05
    form, calls = begin(kernels.Race(False), 5e-4)
    form.race.rest = 1e9
    run(enough)
    assert len(calls) == kernels.ALONE + kernels.BESIDE and form.race.until > 0 and not form.refused
    slow, form.race.until = 0.0, time.monotonic()  # it was not its fault
    seen = kernels.Race.saw_interpreter
    monkeypatch.setattr(kernels.Race, "saw_interpreter", lambda race, n, seconds: seen(race, n, 1.0))
    run(enough)
    assert form.race is None and len(calls) > enough
    fresh = CompilerClient(client._folder)
    monkeypatch.setattr(kernels, "client", functools.cache(lambda: fresh))
    again = kernels.Form(spec, form.geometry)
    assert again.compiled is not None and again.race.next(x.size) == kernels.INTERPRETED
    fresh.shutdown()


@pytest.mark.races
def test_machine_code_that_nobody_has_compared_comes_after_the_interpreter(client, monkeypatch):
    """As what is compiled when a process ends. Once it has won, later processes use it from the first call on."""
    monkeypatch.setattr(kernels, "client", functools.cache(lambda: client))
    spec = KernelSpec(("float64",), (), (Instr("floor", (0,), ("float64",), "float64"),), (1,), 1)
    x = np.linspace(0.0, 1.0, 400_000)
    kernel = kernels.Kernel(spec)
    (geometry,) = [form.geometry for form, _ in [kernel.find(None, [x], [x], x.shape)]]
    compiled_for(client, spec, geometry)
    form = kernels.Form(spec, geometry)
    assert form.race.next(100) == kernels.COMPILED
    assert [form.race.next(x.size) for _ in range(kernels.FIRST)] == [kernels.INTERPRETED] * kernels.FIRST
    form.interpreted(1.0, x.shape)
    assert form.race.next(x.size) == kernels.TIMED
    form.judge(form.race, 0.5)
    assert form.race is None
    fresh = CompilerClient(client._folder)
    monkeypatch.setattr(kernels, "client", functools.cache(lambda: fresh))
    assert kernels.Form(spec, geometry).race is None
    fresh.shutdown()


@pytest.mark.parametrize(("operations", "n", "is_compiled"), [(1, 1, False), (1, 16, True), (2, 1, True)])
def test_a_power_of_less_than_a_vector_stays_with_numpy(client, monkeypatch, operations, n, is_compiled):
    monkeypatch.setattr(kernels, "client", functools.cache(lambda: client))
    body = [Instr("power", (0, 0), ("float64",) * 2, "float64"), Instr("sqrt", (1,), ("float64",), "float64")]
    kernel = kernels.Kernel(KernelSpec(("float64",), (), tuple(body[:operations]), (operations,), 1))
    x = np.linspace(0.5, 1.5, n)
    out = np.empty_like(x)
    with config(compile_after=0.0):
        for _ in range(2):
            kernel.run([x], [], [out], x.shape)
            assert client.wait(PATIENCE)
    want = x**x if operations == 1 else np.sqrt(x**x)
    np.testing.assert_allclose(out, want, rtol=1e-14)
    assert any([f.compiled is not None for f in kernel.forms.values()]) == is_compiled


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_every_complex_ufunc(client, dtype):
    spec, names = all_ops(dtype)
    a, b = samples(dtype, 1003), samples(dtype, 1003, seed=1)
    b[5] = 0
    outs = [np.zeros(a.shape, i.dtype) for i in spec.body]
    assert compiled_for(client, spec, geometry_of(a.shape, [a, b, *outs]))([a, b], (), outs)
    for name, out, instr in zip(names, outs, spec.body):
        with np.errstate(all="ignore"):
            want = getattr(np, name)(*(a, b)[: len(instr.args)])
        bad = ulps(out, want) > 2 if name == "absolute" else ~same_bits(out, want)
        i = np.flatnonzero(bad)[:4]
        assert not bad.any(), (name, bad.sum(), a[i], b[i], out[i], want[i])


@pytest.mark.parametrize("source", ["bool", *INTEGERS, *FLOATS, "complex64", "complex128"])
def test_casts(client, source):
    a = samples(source)
    targets = [
        t
        for t in ("bool", *INTEGERS, *FLOATS, "complex64", "complex128")
        if compilable(KernelSpec((source,), (), (Instr("cast", (0,), (), t),), (1,), 1)) is None
    ]
    spec = KernelSpec(
        (source,), (), tuple(Instr("cast", (0,), (), t) for t in targets), tuple(range(1, 1 + len(targets))), 1
    )
    outs = [np.zeros(a.shape, t) for t in targets]
    assert compiled_for(client, spec, geometry_of(a.shape, [a, *outs]))([a], (), outs)
    for target, out in zip(targets, outs):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            want = a.astype(target)
        bad = ~same_bits(out, want)
        if target == "uint32" and KIND[source] == "f":  # out of range NumPy's answer depends on the position
            bad &= np.abs(a) < 2.0**31
        assert not bad.any(), (target, a[bad][:5], out[bad][:5], want[bad][:5])


# Layouts -----------------------------------------------------------------------------------------------------------

F = "float64"
SMOOTH = KernelSpec(
    (F, F),
    (F,),
    (Instr("multiply", (0, 2), (F, F), F), Instr("add", (3, 1), (F, F), F), Instr("subtract", (4, 0), (F, F), F)),
    (4, 5),
    2,
)


def smooth(a, b, s):
    return a * s + b, (a * s + b) - a


def layouts(rng, n, m):
    base = rng.random((2 * n + 3, 2 * m + 3))
    yield "contiguous", np.ascontiguousarray(base[:n, :m])
    yield "slice", base[1 : n + 1, 2 : m + 2]
    yield "step", base[: 2 * n : 2, : 2 * m : 2]
    yield "transposed", rng.random((m, n)).T
    yield "row", np.broadcast_to(rng.random((1, m)), (n, m))
    yield "column", np.broadcast_to(rng.random((n, 1)), (n, m))
    yield "reversed", base[:n, :m][::-1, ::-1]
    yield "one", np.broadcast_to(rng.random((1, 1)), (n, m))


@pytest.mark.parametrize("symbolic", [False, True])
def test_layouts(client, symbolic):
    rng = np.random.default_rng(0)
    jobs = []
    for n, m in ((5, 7), (33, 40)) if symbolic else ((19, 21),):
        other = list(layouts(rng, n, m))
        for i, (name, a) in enumerate(layouts(rng, n, m)):
            b = other[(i + 3) % len(other)][1]
            outs = [np.zeros((n, m)), np.zeros((m + 1, n + 1)).T[:n, :m]]
            jobs.append((name, a, b, outs, geometry_of((n, m), [a, b, *outs], symbolic)))
    for job in jobs:
        client.submit(SMOOTH, job[-1])
    assert client.wait(PATIENCE)
    for name, a, b, outs, geometry in jobs:
        # a broadcast array given as it is, and with its broadcast axis at length 1
        a = a[:1] if name in ("row", "one") else a
        assert compiled_for(client, SMOOTH, geometry)([a, b], [0.3], outs), name
        for out, want in zip(outs, smooth(a, b, 0.3)):
            assert np.array_equal(out, want), name


C = "complex128"
COMPLEX = KernelSpec(
    (C, F),
    (C, F),
    (
        Instr("multiply", (0, 2), (C, C), C),
        Instr("conjugate", (4,), (C,), C),
        Instr("remainder", (1, 3), (F, F), F),  # a function, as far as its cost goes
        Instr("imag", (5,), (C,), F),
    ),
    (5, 6, 7),
    2,
)


IN_PLANES = [
    ((9, 200), False, ("slice", "step", "transposed", "column")),
    ((3, 1500), False, ("reversed", "row")),
    ((2500,), True, ("step", "one")),
]


@pytest.mark.parametrize(("shape", "symbolic", "ways"), IN_PLANES, ids=lambda x: str(x).replace(" ", ""))
def test_planes(client, shape, symbolic, ways):
    """Complex numbers and gaps in memory: rows of one block and of several, and of some elements more."""
    rng = np.random.default_rng(0)
    n, m = shape if len(shape) == 2 else (3, *shape)
    reals, jobs = dict(layouts(rng, n, m)), []
    for way in ways:
        a, b = reals[way].astype(C), reals["step" if way == "slice" else way]
        if way in ("slice", "step", "reversed"):
            wide = np.zeros((2 * n + 3, 2 * m + 3), C)
            at = {"slice": np.s_[1 : n + 1, 2 : m + 2], "step": np.s_[: 2 * n : 2, : 2 * m : 2]}
            a = wide[at[way]] if way in at else wide[:n, :m][::-1, ::-1]
            a[...] = reals[way] - 1j * reals[way][::-1]
        elif way != "transposed":
            a = np.broadcast_to(a[:, :1] if way == "column" else a[:1], (n, m))
        outs = [np.zeros((n, m), C), np.zeros((2 * n, 3 * m))[::2, ::3], np.zeros((n, m), C).imag]
        if len(shape) == 1:
            a, b, *outs = (x[1] for x in (a, b, *outs))
        jobs.append((way, a, b, outs, geometry_of(a.shape, [a, b, *outs], symbolic)))
    for job in jobs:
        client.submit(COMPLEX, job[-1])
    assert client.wait(PATIENCE)
    for way, a, b, outs, geometry in jobs:
        assert compiled_for(client, COMPLEX, geometry)([a, b], [0.3 - 2j, 0.3], outs), way
        wanted = np.conj(a * (0.3 - 2j)), b % 0.3, np.conj(a * (0.3 - 2j)).imag
        for out, want in zip(outs, wanted):
            assert np.array_equal(out, want), way
        assert not outs[1].base[1::2].any() and not outs[1].base[:, 1::3].any()
        assert not outs[2].base.real.any()  # nothing is written between


TWICE = KernelSpec((F, F), (), (Instr("add", (0, 1), (F, F), F), Instr("sqrt", (2,), (F,), F)), (2, 3, 2), 2)


@pytest.mark.parametrize("symbolic", [False, True])
def test_outputs_are_written_in_place(client, symbolic):
    """Strided outputs, one of them twice: no memory of the size of a result, and right values, in an input too."""
    rng = np.random.default_rng(1)
    wide = [rng.random((400, 600)) for _ in range(5)]
    views = [w[::2, ::3] for w in wide]
    compiled = compiled_for(client, TWICE, geometry_of(views[0].shape, views, symbolic))
    a, b = (v.copy() for v in views[:2])
    gaps = [w[1::2].copy() for w in wide]
    assert compiled(views[:2], (), views[2:])
    for out, want in zip(views[2:], (a + b, np.sqrt(a + b), a + b)):
        assert np.array_equal(out, want)
    assert all(np.array_equal(w[1::2], gap) for w, gap in zip(wide, gaps))
    simple = KernelSpec((F, F), (), TWICE.body[:1], (2,), 2)
    compiled = compiled_for(client, simple, geometry_of(a.shape, [*views[:2], views[0]], symbolic))
    assert b"aligned_alloc" not in Path(compiled.library._name).read_bytes()
    assert compiled(views[:2], (), views[:1]) and np.array_equal(views[0], a + b)


def test_symbolic_sizes(client):
    """One object for all sizes, one way of splitting work over threads included."""
    spec = SMOOTH
    example = np.zeros((40, 50))
    compiled = compiled_for(client, spec, geometry_of((40, 50), [example] * 4, True))
    assert (
        len({client.key(spec, geometry_of((n, m), [np.zeros((n, m))] * 4, True)) for n, m in ((3, 9), (80, 80))}) == 1
    )
    rng = np.random.default_rng(0)
    for n, m in ((2, 2), (2, 100), (100, 2), (16, 16), (17, 31), (701, 1000), (64, 64)):
        whole = rng.random((2, n, m + 3))
        for a, b in (whole, whole[:, :, 1:-1], whole[:, :, :1].repeat(4, 2)):
            outs = [np.zeros(a.shape), np.zeros(a.shape)]
            assert compiled([a, b], (1.7,), outs)
            for out, want in zip(outs, smooth(a, b, 1.7)):
                assert np.array_equal(out, want), (n, m)


def test_refuses_another_geometry(client):
    a = np.ones((6, 8))
    static = compiled_for(client, SMOOTH, geometry_of((6, 8), [a] * 4))
    symbolic = compiled_for(client, SMOOTH, geometry_of((6, 8), [a] * 4, True))
    outs = [np.zeros((6, 8)), np.zeros((6, 8))]
    assert static([a, a], (1.0,), outs) and symbolic([a, a], (1.0,), outs)
    assert not static([np.ones((6, 9))[:, :8], a], (1.0,), outs)
    assert not static([np.ones((5, 8)), np.ones((5, 8))], (1.0,), [o[:5] for o in outs])
    assert not static([np.ones(8), a], (1.0,), outs)
    assert not symbolic([np.ones((6, 16))[:, ::2], a], (1.0,), outs)
    assert not symbolic([np.ones((8, 6)).T, a], (1.0,), outs)
    assert not symbolic([np.ones((1, 8)), np.ones((1, 8))], (1.0,), [o[:1] for o in outs])


def test_raw_call(client):
    a, b = np.random.default_rng(0).random((2, 30, 20))
    outs = [np.zeros((30, 20)), np.zeros((30, 20))]
    for symbolic in (False, True):
        compiled = compiled_for(client, SMOOTH, geometry_of((30, 20), [a] * 4, symbolic))
        pointers = (ctypes.c_void_p * 4)(*(x.ctypes.data for x in (a, b, *outs)))
        dims = (ctypes.c_int64 * 10)(30, 20, *(20, 1) * 4)
        assert compiled.call(pointers, dims, compiled.pack([2.0]), 2) == 0
        assert np.array_equal(outs[1], smooth(a, b, 2.0)[1])


def test_in_place(client):
    """Outputs that are inputs, crosswise too: either right or refused, and right for a handful of outputs."""
    spec = KernelSpec(
        (F, F),
        (),
        (Instr("add", (0, 1), (F, F), F), Instr("multiply", (0, 1), (F, F), F), Instr("sqrt", (1,), (F,), F)),
        (2, 3, 4),
        1,
    )
    rng = np.random.default_rng(0)
    for symbolic in (False, True):
        a, b = rng.random((2, 1003))
        c = np.zeros(1003)
        want = a + b, a * b, np.sqrt(b)
        compiled = compiled_for(client, spec, geometry_of((1003,), [a, b, b, a, c], symbolic))
        assert compiled([a, b], (), [b, a, c])
        assert np.array_equal(b, want[0]) and np.array_equal(a, want[1]) and np.array_equal(c, want[2])
    stepped = rng.random(2006)[::2]
    expected = np.sqrt(stepped)
    root = KernelSpec((F,), (), (Instr("sqrt", (0,), (F,), F),), (1,), 1)
    assert compiled_for(client, root, geometry_of((1003,), [stepped, stepped]))([stepped], (), [stepped])
    assert np.array_equal(stepped, expected)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("uint8", np.bool_(True)), ("int64", np.bool_(False)), ("float32", 1e300), ("complex64", -1e300 + 1j)],
)
def test_scalars_are_packed_as_numpy_casts_them(dtype, value):
    with np.errstate(over="ignore"):
        wanted = np.asarray(value).astype(dtype)
    assert packer((dtype,))([value]) == wanted.tobytes().ljust(16, b"\0")


def test_zero_dimensions(client):
    spec = KernelSpec((F,), (F,), (Instr("add", (0, 1), (F, F), F),), (2,), 0)
    out = np.zeros(())
    assert compiled_for(client, spec, Geometry((), ((), ())))([np.array(2.0)], (3,), [out])
    assert out == 5.0


def test_scalars_of_all_dtypes(client):
    values = {
        "bool": True,
        "int8": -3,
        "int16": -300,
        "int32": -(1 << 30),
        "int64": -(1 << 60),
        "uint8": 200,
        "uint16": 60_000,
        "uint32": 4_000_000_000,
        "uint64": (1 << 64) - 5,
        "float32": 0.1,
        "float64": 0.1,
        "complex64": 1 + 2j,
        "complex128": 0.1 - 2j,
    }
    body = tuple(Instr("equal", (i, 13 + i), (d, d), "bool") for i, d in enumerate(values))
    spec = KernelSpec(tuple(values), tuple(values), body, tuple(range(26, 39)), 1)
    ins = [np.array([v, 0, v], d) for d, v in values.items()]
    outs = [np.zeros(3, bool) for _ in values]
    assert compiled_for(client, spec, geometry_of((3,), [*ins, *outs]))(ins, list(values.values()), outs)
    assert all(out.tolist() == [True, False, True] for out in outs)


# Reductions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "float32", "float64", "complex128"],
)
def test_reductions(client, dtype):
    shape = (7, 30, 19)
    a = samples(dtype, int(np.prod(shape))).reshape(shape)
    if KIND[dtype] in "fc":
        a = np.where(np.isfinite(a), a, 1.0).astype(dtype)
        a = (a / np.abs(a).max()).astype(dtype) + np.array(1.0, dtype)
    narrow = dtype in ("int8", "uint8", "int16", "uint16")
    if narrow:  # 0, which lies behind a vector in part, is never right
        a = np.minimum(a, -3) if dtype[0] == "i" else np.maximum(a, 3)
    names = [op.ufunc.__name__ for op in registry.values() if op.kind == REDUCE and is_compiled(op.name, dtype)]
    assert names == ["add"] or len(names) == 6
    jobs = []
    for axes in ((0,), (1,), (2,), (0, 2), (0, 1, 2)) if dtype in ("int32", F) else ((1,), (0, 1, 2))[narrow:]:
        body, wants = [], []
        for name in names:
            want = (
                getattr(np, name).reduce(a, axis=axes, keepdims=True)
                if name not in ("add", "multiply")
                else getattr(np, name).reduce(a, axis=axes, keepdims=True, dtype=None)
            )
            logical = name.startswith("logical")
            loop = dtype if logical else want.dtype.name
            body.append(Instr("reduce", (0,), (loop,), want.dtype.name, (name, axes)))
            wants.append(want)
        spec = KernelSpec((dtype,), (), tuple(body), tuple(range(1, 1 + len(body))), 3)
        for symbolic in (False, True) if axes in ((1,), (0, 2)) and dtype in ("float64", "int32") else (False,):
            outs = [np.zeros(w.shape, w.dtype) for w in wants]
            geometry = geometry_of(shape, [a, *outs], symbolic)
            client.submit(spec, geometry)
            jobs.append((spec, geometry, outs, wants))
    assert client.wait(PATIENCE)
    for spec, geometry, outs, wants in jobs:
        assert compiled_for(client, spec, geometry)([a], (), outs)
        for instr, out, want in zip(spec.body, outs, wants):
            if KIND[dtype] in "fc" and instr.params[0] in ("add", "multiply"):
                assert np.allclose(out, want, rtol=1e-4 if dtype == "float32" else 1e-12), instr
            else:
                assert np.array_equal(out, want), instr


def test_any_stays_with_narrow_vectors():
    """Inductor made 64-bit integers of what `any` is taken of: a comparison of float32 took four times as long."""
    code = """
from lazynp.backends.kernel import Geometry, Instr, KernelSpec
from lazynp.backends.torch import trace
trace.install()
body = (Instr("less", (0, 1), ("float32",) * 2, "bool"), Instr("reduce", (2,), ("bool",), "bool", ("logical_or", (1,))))
for n in (10, 100):
    geometry = Geometry((1000, n), ((1, 0), (0, 1), (1, 0)))
    code = trace.trace(KernelSpec(("float32",) * 2, (), body, (3,), 2), geometry).code
    assert "VecMask<float,1>" in code and "to<int64_t" not in code, code
"""
    subprocess.run([sys.executable, "-c", BOOT + code], check=True)


def test_reduction_of_nan_and_map(client):
    """A map and reductions over it in one kernel; NaN is not lost."""
    a = np.random.default_rng(0).random((50, 60))
    a[3, 4] = np.nan
    body = (
        Instr("multiply", (0, 0), (F, F), F),
        Instr("reduce", (1,), (F,), F, ("maximum", (0,))),
        Instr("reduce", (1,), (F,), F, ("add", (0, 1))),
        Instr("reduce", (1,), (F,), F, ("minimum", (1,))),
    )
    spec = KernelSpec((F,), (), body, (1, 2, 3, 4), 2)
    outs = [np.zeros((50, 60)), np.zeros((1, 60)), np.zeros((1, 1)), np.zeros((50, 1))]
    assert compiled_for(client, spec, geometry_of((50, 60), [a, *outs]))([a], (), outs)
    square = a * a
    assert np.array_equal(outs[0], square, equal_nan=True)
    assert np.array_equal(outs[1], square.max(0, keepdims=True), equal_nan=True)
    assert np.isnan(outs[2]).all()
    assert np.array_equal(outs[3], square.min(1, keepdims=True), equal_nan=True)


def test_large_sum_is_accurate(client):
    a = np.random.default_rng(0).random(3_000_001).astype("float32")
    spec = KernelSpec(("float32",), (), (Instr("reduce", (0,), ("float32",), "float32", ("add", (0,))),), (1,), 1)
    out = np.zeros(1, "float32")
    assert compiled_for(client, spec, geometry_of(a.shape, [a, out]))([a], (), [out])
    assert abs(out[0] / a.astype(float).sum() - 1) < 3e-6


# Programs at random ------------------------------------------------------------------------------------------------

EXACT = (
    "add",
    "subtract",
    "multiply",
    "divide",
    "negative",
    "absolute",
    "square",
    "floor",
    "rint",
    "copysign",
    "sign",
    "sqrt",
    "floor_divide",
    "remainder",
)


@st.composite
def programs(draw):
    """A few instructions of bit-equal float64 operations, and which of the values are outputs."""
    body = []
    for i in range(draw(st.integers(1, 12))):
        name = draw(st.sampled_from(EXACT))
        args = tuple(draw(st.integers(0, 2 + i)) for _ in range(getattr(np, name).nin))
        body.append(Instr(name, args, (F,) * len(args), F))
    last = 2 + len(body)
    outputs = sorted(draw(st.sets(st.integers(3, last), min_size=1, max_size=3)))
    return KernelSpec((F, F), (F,), tuple(body), tuple(outputs), 2)


def interpret(spec, values):
    values = list(values)
    with np.errstate(all="ignore"):
        for instr in spec.body:
            values.append(getattr(np, instr.op)(*[values[a] for a in instr.args]))
    return [values[o] for o in spec.outputs]


@settings(max_examples=8, deadline=None, derandomize=True, database=None)
@given(programs(), st.booleans(), st.booleans())
def test_programs(client, spec, symbolic, transposed):
    a, b = samples(F, 33 * 9).reshape(33, 9), samples(F, 33 * 9, seed=1).reshape(9, 33).T
    if transposed:
        a = np.asfortranarray(a)
    outs = [np.zeros((33, 9)) for _ in spec.outputs]
    assert compiled_for(client, spec, geometry_of((33, 9), [a, b, *outs], symbolic))([a, b], (1.25,), outs)
    for out, want in zip(outs, interpret(spec, (a, b, 1.25))):
        assert same_bits(out, np.broadcast_to(want, out.shape)).all()


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("back", [0, 1])
def test_values_used_again_and_again(client, back, symbolic):
    """x = x + x, and the sum of the two before, 40 times: Inductor wrote 2**40 additions, and never came to an end."""
    body = tuple([Instr("add", (i, max(i - back, 0)), (F, F), F) for i in range(40)])
    a = np.arange(500.0)
    out, wanted = np.zeros(500), [a]
    for i in range(40):
        wanted.append(wanted[i] + wanted[max(i - back, 0)])
    geometry = geometry_of(a.shape, [a, out], symbolic)
    assert compiled_for(client, KernelSpec((F,), (), body, (40,), 1), geometry)([a], (), [out])
    assert np.array_equal(out, wanted[-1])


def test_other_operations(client):
    a, b = samples(F), samples(F, seed=1)
    body = (
        Instr("greater", (0, 1), (F, F), "bool"),
        Instr("where", (2, 0, 1), ("bool", F, F), F),
        Instr("clip", (0, 1, 1), (F, F, F), F),
        Instr("power", (0, 1), (F, F), F, (3,)),
        Instr("power", (0, 1), (F, F), F, (-1,)),
        Instr("modf", (0,), (F,), F, (0,)),
        Instr("modf", (0,), (F,), F, (1,)),
        Instr("divmod", (0, 1), (F, F), F, (0,)),
        Instr("divmod", (0, 1), (F, F), F, (1,)),
    )
    spec = KernelSpec((F, F), (), body, tuple(range(2, 11)), 1)
    outs = [np.zeros(a.shape, i.dtype) for i in body]
    assert compiled_for(client, spec, geometry_of(a.shape, [a, b, *outs]))([a, b], (), outs)
    with np.errstate(all="ignore"):
        exact = {
            0: a > b,
            1: np.where(a > b, a, b),
            5: np.modf(a)[0],
            6: np.modf(a)[1],
            7: np.divmod(a, b)[0],
            8: np.divmod(a, b)[1],
        }
        for i, want in exact.items():
            assert same_bits(outs[i], want).all(), body[i]
        assert np.array_equal(outs[2], np.clip(a, b, b), equal_nan=True)
        assert (ulps(outs[3], a**3) <= ULP).all() and (ulps(outs[4], a**-1.0) <= ULP).all()


def test_what_is_compiled_has_a_function():
    """Each kind of loop of which an op says that it is compiled has one: asked in a process that has torch."""
    code = """
import torch
import lazynp.ops
from lazynp.graph.op import MAP, registry
from lazynp.backends.torch import namespace, complex as pairs
from lazynp.ops.special_values import FORMULAS
mapped = [op for op in registry.values() if op.kind == MAP and op.code is not None and op.code.compiled]
known = [op for op in mapped if op.name not in FORMULAS]
kinds = [(op, kind) for op in known for kind in op.code.compiled.split()[0]]
print(len(kinds), *[(op.name, k) for op, k in kinds if not hasattr(pairs if k == "c" else namespace, op.name)
                    and not (op.code.libm and hasattr(torch, op.code.libm) and (k == "f" or op.code.c[k] == "{0}"))
                    and not (op.name == "where" and k == "c")])
"""
    done = subprocess.run([sys.executable, "-c", BOOT + code], capture_output=True, text=True, check=True)
    count, *lacking = done.stdout.split(maxsplit=1)
    assert int(count) > 200 and not lacking


def test_eager_interpreter():
    """The same tables, run by torch at once: in a process of its own, since this one has no torch."""
    code = """
import numpy as np, torch
import lazynp.backends.torch.eager as eager
from lazynp.backends.kernel import Instr, KernelSpec
spec = KernelSpec(("uint32", "complex64", "float64"), ("float64", "complex64"),
    (Instr("add", (0, 0), ("uint32",) * 2, "uint32"), Instr("multiply", (1, 4), ("complex64",) * 2, "complex64"),
     Instr("remainder", (2, 3), ("float64",) * 2, "float64"),
     Instr("reduce", (2,), ("float64",), "float64", ("add", (0,)))),
    (5, 6, 7, 8), 1)
a, b = np.array([1, 4_000_000_000, 7], "uint32"), np.array([1 + 2j, 3 - 1j, 0], "complex64")
c = np.array([-5.5, 3, np.inf])
outs = [o.numpy() for o in eager.evaluate(spec, [torch.from_numpy(x) for x in (a, b, c)], (2.0, 1 - 1j), "cpu")]
with np.errstate(all="ignore"):
    for out, want in zip(outs, (a + a, b * np.complex64(1 - 1j), c % 2.0, c.sum(keepdims=True))):
        assert out.dtype == want.dtype and np.allclose(out, want, equal_nan=True), (out, want)
"""
    subprocess.run([sys.executable, "-c", BOOT + code], check=True)


# The client --------------------------------------------------------------------------------------------------------


def test_not_compilable(client):
    seen = []
    spec = KernelSpec(("float16",), (), (Instr("sqrt", (0,), ("float16",), "float16"),), (1,), 1)
    geometry = Geometry((4,), ((1,), (1,)))
    assert "float16" in compilable(spec)
    client.submit(spec, geometry, seen.append)
    assert seen == [None] and client.status(spec, geometry) == "rejected"


def add_constant(n):
    """A kernel that no other test has: n additions."""
    body = tuple(Instr("add", (i, i), (F, F), F) for i in range(n))
    return KernelSpec((F,), (), body, (n,), 1), Geometry((64,), ((1,), (1,)))


def test_callbacks_and_status(client):
    spec, geometry = add_constant(3)
    seen = []
    assert client.lookup(spec, geometry) is None and client.status(spec, geometry) == "unknown"
    client.submit(spec, geometry, seen.append)
    client.submit(spec, geometry, seen.append)
    assert client.wait(PATIENCE) and client.pending == 0
    assert len(seen) == 2 and seen[0] is seen[1] is client.lookup(spec, geometry)
    assert client.status(spec, geometry) == "ready"
    assert client.events[-1].outcome == "compiled" and client.events[-1].seconds > 0
    again = CompilerClient(client._folder)  # as another process would find it
    assert again.lookup(spec, geometry) is not None


def test_killed_worker_is_replaced(tmp_path):
    client = CompilerClient(str(tmp_path / "cache"))
    spec, geometry = add_constant(4)
    client.submit(spec, geometry)
    time.sleep(1.0)
    os.kill(client._process.pid, signal.SIGKILL)
    assert client.wait(PATIENCE)
    assert client.lookup(spec, geometry) is not None
    client.shutdown()


FAKE = """
import os, pickle, sys, time
state = {state!r}
while (message := pickle.load(sys.stdin.buffer)) is not None:
    did = open(state).read().split()
    act, rest = (did[0], did[1:] or did[:1])
    open(state, "w").write(" ".join(rest))
    if act.isdecimal():
        os._exit(int(act))
    if act == "hang":
        time.sleep(600)
    if act == "close":
        os.close(1), time.sleep(600)
    if act == "nonsense":
        os.write(1, b"nonsense" * 100), time.sleep(600)
    answer = {{"outcome": act, "path": None, "meta": {{"reason": "because " + act}}, "seconds": 0.1}}
    sys.stdout.buffer.write(pickle.dumps((message[0], answer))), sys.stdout.buffer.flush()
"""
NO = "not compilable"


@pytest.fixture
def scripted(tmp_path, monkeypatch):
    """Clients whose compiler process does what it is told, one word a message; the last is repeated."""
    told, made = [], []
    monkeypatch.setattr("lazynp.backends.compiler.notify", told.append)
    monkeypatch.setattr("lazynp.backends.compiler.LOOK", 0.05)
    monkeypatch.setattr("lazynp.backends.compiler.ENDING", 0.3)
    monkeypatch.setattr("lazynp.backends.compiler.AGAIN", (0.0, 0.0))

    def make(*acts):
        state = tmp_path / f"acts-{len(made)}"
        state.write_text(" ".join(acts))
        monkeypatch.setattr("lazynp.backends.compiler.BOOT", FAKE.format(state=str(state)))
        made.append(CompilerClient(str(tmp_path / "cache")))
        return made[-1], told

    yield make
    for client in made:
        client.shutdown()


def tried(client, n, timeout=PATIENCE):
    """Submit kernel n; what came of it. The callback is called once, before `wait` is done."""
    seen = []
    client.submit(*add_constant(n), seen.append)
    assert client.wait(timeout) and client.pending == 0
    assert seen == [None]
    return client.status(*add_constant(n)), client.reason(*add_constant(n))


def test_transient_failures_are_tried_again(scripted):
    client, told = scripted("failed", "failed", "refused")
    assert tried(client, 21) == ("failed", "because failed") and client.again(*add_constant(21)) is not None
    assert tried(client, 21) == ("failed", "because failed")
    assert tried(client, 21) == ("rejected", "because refused") and client.again(*add_constant(21)) is None
    assert client._artifacts().get(client.key(*add_constant(21))) is None, "nothing of it is on disk"
    client, told = scripted("failed")
    for _ in range(3):
        state, reason = tried(client, 22)
    assert state == "rejected" and "3 times" in reason
    assert [e.outcome for e in client.events] == ["failed"] * 3 and told == []


def test_time_between_attempts(scripted, monkeypatch):
    monkeypatch.setattr("lazynp.backends.compiler.AGAIN", (1000.0,))
    client, _ = scripted("failed", "refused")
    assert tried(client, 23)[0] == "failed"
    assert tried(client, 23)[0] == "failed" and len(client.events) == 1, "not yet"


@pytest.mark.parametrize("act", ["3", "0", "hang", "close", "nonsense"])
def test_process_that_fails(scripted, monkeypatch, act):
    """It ends, is silent, closes its answers, talks nonsense: it is replaced, and every job is answered."""
    monkeypatch.setattr("lazynp.backends.compiler.SILENCE", 5.0 if act == "hang" else 60.0)
    client, told = scripted(act, "refused")
    for n in range(24, 28):
        client.submit(*add_constant(n))
    assert client.wait(PATIENCE)
    assert [client.status(*add_constant(n)) for n in range(24, 28)] == ["rejected"] * 4, list(client.events)
    assert told == []


def test_process_of_the_end_leaves_no_file_open(scripted):
    client, _ = scripted("refused")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        client._ending = True
        client.submit(*add_constant(31))
        assert client._process is not None
        client.shutdown()
        gc.collect()
    assert [str(w.message) for w in seen if "unclosed" in str(w.message)] == []


def test_process_that_is_tired(scripted):
    """It could not do a kernel, said so, and leaves the others to its successor."""
    client, told = scripted("failed", "75", "refused")
    for n in (28, 29, 30):
        client.submit(*add_constant(n))
    assert client.wait(PATIENCE) and told == []
    assert [client.status(*add_constant(n)) for n in (28, 29, 30)] == ["failed", "rejected", "rejected"]


def test_worker_that_always_dies(scripted, monkeypatch):
    """After some attempts the machine is left in peace for a while; the user is told once."""
    monkeypatch.setattr("lazynp.backends.compiler.RESTARTS", 1)
    client, told = scripted("3")
    client._restarts = 1
    for n in (31, 32, 33, 34):
        assert tried(client, n)[0] == "failed"
    assert {e.outcome for e in client.events} == {"died"} and len(told) == 1 and "keeps dying" in told[0]
    client._rested = 0.0  # the rest is over
    monkeypatch.setattr("lazynp.backends.compiler.BOOT", FAKE.replace("did = ", "did = ['refused'] or "))
    assert tried(client, 31)[0] in ("failed", "rejected")


@pytest.mark.parametrize("what", ["thread", "process", "disk"])
def test_what_cannot_be_started(scripted, monkeypatch, what):
    """The kernel is tried again later, and the user's expression goes on."""
    client, told = scripted("refused")

    def fails(*args, **options):
        raise RuntimeError("can't start new thread") if what == "thread" else OSError(11, "Resource temporarily")

    target = {
        "thread": "threading.Thread.start",
        "process": "subprocess.Popen",
        "disk": "lazynp.backends.folders.Scratch.path",
    }[what]
    with monkeypatch.context() as patch:
        patch.setattr(target, fails)
        assert tried(client, 35)[0] == "failed" and tried(client, 36)[0] == "failed"
    assert len(told) == 1 and "cannot be started" in told[0]
    client._rested = 0.0
    client._failures.clear()
    assert tried(client, 35)[0] == "rejected"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # that is the test
def test_threads_that_die(scripted, monkeypatch):
    """Whatever happens to the thread that receives answers, the next look finds it."""
    client, _ = scripted("refused")
    finish, raised = CompilerClient._finish, []

    def once(self, number, result):
        if not raised:
            raised.append(number)
            raise SystemExit  # ends a thread without a word
        finish(self, number, result)

    monkeypatch.setattr(CompilerClient, "_finish", once)
    assert tried(client, 37)[0] == "rejected" and raised
    client._outbox.put("no bytes")  # the writing thread fails of it
    assert tried(client, 38)[0] == "rejected"


def test_callbacks_that_raise(scripted):
    client, _ = scripted("refused")
    seen = []

    def bad(compiled):
        seen.append(1)
        raise ValueError

    for n in (39, 40):
        client.submit(*add_constant(n), bad)
        client.submit(*add_constant(n), bad)
    assert client.wait(PATIENCE) and len(seen) == 4


def test_what_is_a_refusal():
    """Of the errors of a translation, those of the kernel; the process that has the others is replaced."""
    worker = pytest.importorskip("lazynp.backends.torch.worker", reason="the worker imports torch")

    def because(error, cause):
        error.__cause__ = cause
        return error

    class LoweringException(RuntimeError):
        pass

    assert worker.is_refusal(NotImplementedError("x")) and worker.is_refusal(LoweringException("AssertionError: y"))
    assert worker.is_refusal(because(RuntimeError("x"), NotImplementedError()))
    for error in (MemoryError(), ImportError("x"), OSError(28, "No space left on device"), RuntimeError("x")):
        assert (
            not worker.is_refusal(error)
            and not worker.is_refusal(because(LoweringException("z"), error))
            or (type(error) is RuntimeError)
        )
    assert not worker.is_refusal(LoweringException("DefaultCPUAllocator: can't allocate memory"))
    assert not worker.is_refusal(because(NotImplementedError(), RuntimeError("can't start new thread")))


def test_no_compiler(tmp_path, monkeypatch):
    client = CompilerClient(str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    seen = []
    with pytest.warns(RuntimeWarning, match="no C\\+\\+ compiler") as caught:
        client.submit(*add_constant(8), seen.append)
        client.submit(*add_constant(9), seen.append)
    assert seen == [None, None] and len(caught) == 1
    assert client.reason(*add_constant(8)).startswith("no C++ compiler") and client.again(*add_constant(8)) is None


def test_unwritable_cache(tmp_path):
    """Without a cache the object is handed over through a folder of temporary files."""
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    client = CompilerClient(str(folder))
    with pytest.warns(RuntimeWarning, match="written to by other users"):
        client.submit(*add_constant(10))
    assert client.wait(PATIENCE)
    compiled = client.lookup(*add_constant(10))
    a, out = np.ones(64), np.zeros(64)
    assert compiled([a], (), [out]) and (out == 1024).all()
    assert list(folder.iterdir()) == []
    client.shutdown()


def test_fork(client):
    """A child has the compiled kernels, uses one thread, and its own compiler process."""
    big = np.random.default_rng(0).random((1500, 1000))
    outs = [np.zeros(big.shape), np.zeros(big.shape)]
    compiled = compiled_for(client, SMOOTH, geometry_of(big.shape, [big] * 4))
    assert compiled([big, big], (2.0,), outs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        ok = compiled([big, big], (3.0,), outs) and client._process is None and client.pending == 0
        os._exit(0 if ok and np.array_equal(outs[0], big * 3.0 + big) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    spec, geometry = add_constant(11)
    assert compiled_for(client, spec, geometry)


def test_no_torch_here():
    code = "import sys, lazynp.backends.compiler; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", BOOT + code]).returncode == 0


def test_looking_a_kernel_up_loads_little():
    """A short program waits for all that is loaded there: importlib.metadata took as long as it runs itself."""
    code = """
import sys
from lazynp.backends import artifacts, compiler, gcc
version = artifacts.torch_version()
loaded = {"importlib.metadata", "email", "threadpoolctl", "torch"} & set(sys.modules)
import importlib.metadata
try:
    wanted = importlib.metadata.version("torch")
except importlib.metadata.PackageNotFoundError:
    wanted = "none"
same = version.partition("+")[0] == wanted.partition("+")[0]  # torch for CUDA says so in one of them only
sys.exit(f"{loaded} {version} {wanted}" if loaded or not same else 0)
"""
    ran = subprocess.run([sys.executable, "-c", BOOT + code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_as_strided_window(client):
    """Inputs that overlap one another: windows of one array."""
    a = np.random.default_rng(0).random(5000)
    windows = [as_strided(a[k:], (48, 100), (800, 8)) for k in range(2)]
    outs = [np.zeros((48, 100)), np.zeros((48, 100))]
    assert compiled_for(client, SMOOTH, geometry_of((48, 100), [*windows, *outs]))(windows, (0.5,), outs)
    assert np.array_equal(outs[0], windows[0] * 0.5 + windows[1])
