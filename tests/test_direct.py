"""Small operations call the inner loops of ufuncs without NumPy: bit for bit as NumPy does, warnings and errors too.

The module that does so is optional; what is compared here holds without it as well.
"""

from __future__ import annotations

import gc
import math
import operator
import sys
import threading
import timeit
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from runs import same

import lazynp as np
from lazynp import speed
from lazynp.config import config
from lazynp.numpy import ufunc
from lazynp.numpy.arithmetic import OLD_POWERS
from lazynp.ops.ufuncs import ufuncs

CODES = "?bBhHiIlLqQfdFD"
UNCOVERED = "egGmMOSU"  # NumPy's, as they always were
UFUNCS = sorted(
    name
    for name in dir(numpy)
    if isinstance(u := getattr(numpy, name), numpy.ufunc) and u.nout == 1 and u.nin <= 2 and u.signature is None
)
ARITHMETIC = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "maximum",
    "fmin",
    "arctan2",
    "power",
]
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name)
    for name in (
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "lshift",
        "rshift",
        "and_",
        "or_",
        "xor",
        "pow",
        "lt",
        "le",
        "eq",
        "ne",
        "gt",
        "ge",
    )
}
INPLACE: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name)
    for name in (
        "iadd",
        "isub",
        "imul",
        "itruediv",
        "ifloordiv",
        "imod",
        "ilshift",
        "irshift",
        "iand",
        "ior",
        "ixor",
        "ipow",
    )
}
UNARY: dict[str, Callable[[Any], Any]] = {name: getattr(operator, name) for name in ("neg", "pos", "abs", "invert")}


def rows(x: Any) -> Any:
    return x[: len(x) // 4 * 4].reshape(4, -1)


def boxes(x: Any) -> Any:
    return x[: len(x) // 8 * 8].reshape(2, 4, -1)


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda x: x,
    "second": lambda x: x[1:],
    "every other": lambda x: x[::2],
    "backwards": lambda x: x[::-1],
    "every third backwards": lambda x: x[::-3],
    "one": lambda x: x[2:3],
    "none": lambda x: x[:0],
    "number": lambda x: x[3:4].reshape(()),
    "column of all": lambda x: x.reshape(-1, 1),
    "row of all": lambda x: x.reshape(1, -1, 1),
    "rows": rows,
    "transposed": lambda x: rows(x).T,
    "inner": lambda x: rows(x)[1:-1, 1:-1],
    "every other column": lambda x: rows(x)[:, ::2],
    "every other row": lambda x: rows(x)[::2],
    "column": lambda x: rows(x)[:, :1],
    "row": lambda x: rows(x)[1:2],
    "rows from the last": lambda x: rows(x)[::-1],
    "columns from the last": lambda x: rows(x)[:, ::-1],
    "boxes": boxes,
    "slab": lambda x: boxes(x)[:, 1:2],
    "part of boxes": lambda x: boxes(x)[:, 1:3],
    "boxes turned": lambda x: boxes(x).transpose(1, 0, 2),
    "five axes": lambda x: x.reshape(1, 1, 1, 1, -1),
}
PAIRS = [(name, name) for name in LAYOUTS] + [
    ("rows", "row"), ("rows", "column"), ("row", "rows"), ("column", "row"), ("rows", "number"), ("number", "whole"),
    ("boxes", "slab"), ("part of boxes", "slab"), ("whole", "one"), ("one", "whole"), ("boxes", "number"),
    ("whole", "backwards"), ("rows", "inner"), ("column of all", "whole"), ("row of all", "column of all"),
    ("boxes", "rows"), ("transposed", "rows"), ("every other column", "every other column"), ("row", "boxes"),
]  # fmt: skip


def values(code: str, n: int, seed: int = 0) -> numpy.ndarray:
    """Of all magnitudes, with the values at which operations are special."""
    with numpy.errstate(over="ignore"):
        return values_with_overflow(code, n, seed)


def values_with_overflow(code: str, n: int, seed: int) -> numpy.ndarray:
    rng = numpy.random.default_rng([seed, ord(code), n])
    dtype = numpy.dtype(code)
    if code == "?":
        return rng.integers(0, 2, n).astype(bool)
    if dtype.kind in "iu":
        info = numpy.iinfo(dtype)
        whole = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
        special = [0, 1, 2, 3, 5, 7, 31, 63, info.max, info.max - 1, info.min, info.min + 1]
        return numpy.where(rng.random(n) < 0.6, rng.choice(numpy.array(special, dtype), n), whole)
    if dtype.kind == "c":
        out = numpy.empty(n, dtype)
        part = code.lower()
        out.real, out.imag = values(part, n, seed + 100), values(part, n, seed + 200)
        return out
    limits = numpy.finfo(dtype)
    edges: list[Any] = [
        limits.tiny,
        limits.smallest_subnormal,
        limits.max,
        -limits.max,
        numpy.nan,
        numpy.inf,
        -numpy.inf,
    ]
    edges += [0.0, -0.0, 1, -1, 0.5, 2, -2, 1e-3, 88.8, 710, -1e10, 1e22]
    broad = (rng.standard_normal(n) * 10.0 ** rng.integers(-5, 6, n)).astype(dtype)
    return numpy.where(rng.random(n) < 0.3, rng.choice(numpy.array(edges, dtype), n), broad)


def outcome(run: Callable[..., Any], *args: Any, raises: bool = False, **kwargs: Any) -> tuple[Any, list[Any]]:
    """The result or the error, and the warnings: where they point to, too."""
    with warnings.catch_warnings(record=True) as seen, numpy.errstate(all="raise" if raises else None):
        warnings.simplefilter("always")
        try:
            result: Any = run(*args, **kwargs)
        except Exception as error:
            result = (type(error), str(error))
    return result, [(w.category, str(w.message), w.filename, w.lineno) for w in seen]


def assert_same(want: tuple[Any, list[Any]], got: tuple[Any, list[Any]], what: Any) -> None:
    (a, warned), (b, also) = want, got
    assert [w[:2] for w in warned] == [w[:2] for w in also], what
    if type(a) is tuple or type(b) is tuple:
        assert type(a) is type(b) and a[0] is b[0], (what, a, b)
        if not issubclass(a[0], TypeError) or "ufunc" in a[1]:
            assert a[1] == b[1], what
        return
    assert isinstance(a, numpy.ndarray) == isinstance(b, np.ndarray), what
    assert a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == numpy.asarray(b).tobytes(), (what, a, b)
    if isinstance(a, numpy.ndarray):
        assert a.strides == b.strides, what
        assert a.flags.c_contiguous == b.flags.c_contiguous and a.flags.writeable == b.flags.writeable, what


def is_half_done(want: tuple[Any, list[Any]]) -> bool:
    """Whether the inner loop itself gave up, as for negative powers of integers: what it wrote is anything."""
    return isinstance(want[0], tuple) and issubclass(want[0][0], ValueError)


def both(code: str, n: int, seed: int = 0) -> tuple[numpy.ndarray, Any]:
    x = values(code, n, seed)
    return x, np.array(x)


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_in_all_layouts(name: str) -> None:
    host, ours = getattr(numpy, name), getattr(np, name)
    for code in CODES:
        for n in (8, 16, 67 if host.nin == 2 else 131):
            x, lx = both(code, n)
            y, ly = both(code, n, 1)
            for first, second in PAIRS:
                f, g = LAYOUTS[first], LAYOUTS[second]
                if host.nin == 1 and first != second or "reshape" in first:
                    continue
                args = (f(x), g(y))[: host.nin]
                given = (f(lx), g(ly))[: host.nin]
                what = (name, code, n, first, second)
                assert_same(outcome(host, *args), outcome(ours, *given), what)


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_at_sizes_where_vectors_and_threads_begin(name: str) -> None:
    host, ours = getattr(numpy, name), getattr(np, name)
    for code in CODES:
        for n in (1, 2, 3, 5, 33, 500, 501, 1003, 9001):
            (x, lx), (y, ly) = both(code, n), both(code, n, 1)
            args, given = (x, y)[: host.nin], (lx, ly)[: host.nin]
            assert_same(outcome(host, *args), outcome(ours, *given), (name, code, n))


def without_gaps(host: Any, code: str) -> Any:
    """NumPy's ufunc, by way of memory without gaps where its loops are wrong with some: see `ops/code.py: gaps`. What
    is cast first is NumPy's own call here, too."""
    op = ufuncs.get(host.__name__)
    if op is None or op.code is None or not op.code.gaps or op.code.gaps == "out" and code not in "fd":
        return host

    def call(*args: Any, out: Any) -> Any:
        out[...] = host(*args, out=numpy.empty(out.shape, out.dtype))
        return out

    call.nin = host.nin  # type: ignore[attr-defined]
    return call


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_into_an_array(name: str) -> None:
    """Of the type of the result, of another, of another layout, and one of the operands."""
    ours = getattr(np, name)
    for code in CODES:
        host = without_gaps(getattr(numpy, name), code)
        for made in {code, "?", "d"}:
            for layout in ("whole", "every other", "backwards", "rows", "inner", "transposed", "column of all"):
                f = LAYOUTS[layout]
                (x, lx), (y, ly), (out, lout) = both(code, 40), both(code, 40, 1), both(made, 40, 2)
                args, given = (f(x), f(y))[: host.nin], (f(lx), f(ly))[: host.nin]
                want = outcome(host, *args, out=f(out))
                assert_same(want, outcome(ours, *given, out=f(lout)), (name, code, made, layout))
                assert is_half_done(want) or out.tobytes() == numpy.asarray(lout).tobytes()
                want = outcome(host, *args, out=args[0])
                assert_same(want, outcome(ours, *given, out=given[0]), (name, code, layout))
                assert is_half_done(want) or x.tobytes() == numpy.asarray(lx).tobytes()


def test_shapes_of_out() -> None:
    for shape in ((3, 8), (1, 8), (8,), (2, 3, 8), (3, 1), ()):
        (x, lx), (y, ly) = both("d", 24), both("d", 8)
        out, lout = numpy.zeros(shape), np.zeros(shape)
        want = outcome(numpy.add, x.reshape(3, 8), y, out=out)
        assert_same(want, outcome(np.add, lx.reshape(3, 8), ly, out=lout), shape)
        want = outcome(numpy.multiply, y, 2.0, out=out)
        assert_same(want, outcome(np.multiply, ly, 2.0, out=lout), shape)
        assert out.tobytes() == numpy.asarray(lout).tobytes()


SCALARS: list[Any] = [
    0, 1, 2, 3, -1, 7, 127, 128, 255, 256, -128, -129, 2**15, 2**24, 2**24 + 1, 2**31 - 1, 2**31, 2**32, 2**53 + 1,
    2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 10**40, True, False, 0.0, -0.0, 0.1, 2.0, -1.5,
    1e-42, 1e-320, 1e39, 3.4028235677973366e38, -1e308, float("nan"), float("inf"), 1j, 0.5 - 2j, 1e39j,
    complex(float("nan"), 0.0),
]  # fmt: skip


def scalars() -> list[Any]:
    typed = [numpy.dtype(code).type(3 % 2 if code == "?" else 3) for code in CODES + "e"]
    return [*SCALARS, *typed, numpy.float64(0.1), numpy.float32(0.1), numpy.float64("nan")]


@pytest.mark.parametrize("code", CODES)
def test_operators_with_numbers(code: str) -> None:
    for n in (5, 600):
        x, lx = both(code, n)
        for number in scalars():
            for name, op in BINARY.items():
                what = (name, code, n, repr(number))
                assert_same(outcome(op, x, number), outcome(op, lx, number), what)
                if isinstance(number, numpy.generic) and name in ("lt", "le", "gt", "ge", "eq", "ne"):
                    continue  # the other comparison, which is above
                assert_same(outcome(op, number, x), outcome(op, number, lx), what)
            for name in ("maximum", "arctan2", "logical_and", "float_power", "power"):
                host, ours = getattr(numpy, name), getattr(np, name)
                assert_same(outcome(host, number, x), outcome(ours, number, lx), (name, code, number))
                assert_same(outcome(host, x, number), outcome(ours, lx, number), (name, code, number))


@pytest.mark.parametrize("code", CODES)
def test_operators_between_types(code: str) -> None:
    x, lx = both(code, 24)
    for other in CODES + "e":
        y = values(other, 24, 1)
        ly = np.array(y)
        for name, op in BINARY.items():
            assert_same(outcome(op, x, y), outcome(op, lx, ly), (name, code, other))
            number, ours = y[3:4].reshape(()), ly[3:4].reshape(())
            assert_same(outcome(op, x, number), outcome(op, lx, ours), (name, code, other))
    for name, one in UNARY.items():
        for layout, f in LAYOUTS.items():
            assert_same(outcome(one, f(x)), outcome(one, f(lx)), (name, code, layout))


@pytest.mark.parametrize("code", CODES)
def test_operators_in_place(code: str) -> None:
    for name, op in INPLACE.items():
        for first, second in PAIRS:
            if "number" in (first, second):  # such a result is not the array any more
                continue
            for n in (16, 40):
                (x, lx), (y, ly) = both(code, n), both(code, n, 1)
                f, g = LAYOUTS[first], LAYOUTS[second]
                what = (name, code, n, first, second)
                want = outcome(op, f(x), g(y))
                assert_same(want, outcome(op, f(lx), g(ly)), what)
                assert is_half_done(want) or x.tobytes() == numpy.asarray(lx).tobytes(), what
        for number in scalars():
            x, lx = both(code, 9)
            want = outcome(op, x, number)
            assert_same(want, outcome(op, lx, number), (name, code, number))
            assert is_half_done(want) or x.tobytes() == numpy.asarray(lx).tobytes(), (name, code, number)


OVERLAPS: dict[str, Callable[[Any, Any], Any]] = {
    "behind": lambda xp, a: operator.iadd(a[1:], a[:-1]),
    "before": lambda xp, a: operator.iadd(a[:-1], a[1:]),
    "backwards": lambda xp, a: xp.add(a, a[::-1], out=a),
    "itself": lambda xp, a: operator.iadd(a, a),
    "a part of itself": lambda xp, a: operator.imul(a, a[1:2]),
    "a number in it": lambda xp, a: operator.imul(a, a[1:2].reshape(())),
    "two combs": lambda xp, a: operator.isub(a[::2], a[1::2]),
    "combs that meet": lambda xp, a: operator.isub(a[: len(a) // 2 * 2 : 2], a[: len(a) // 2]),
    "halves": lambda xp, a: xp.multiply(a[: len(a) // 2], a[len(a) // 2 :][: len(a) // 2], out=a[: len(a) // 2]),
    "out of two": lambda xp, a: xp.subtract(a[:-2], a[2:], out=a[1:-1]),
    "columns": lambda xp, a: operator.iadd(rows(a)[:, 1:], rows(a)[:, :-1]),
    "a row in it": lambda xp, a: operator.imul(rows(a), rows(a)[1]),
    "a column in it": lambda xp, a: operator.isub(rows(a), rows(a)[:, 1:2]),
    "another row": lambda xp, a: operator.isub(rows(a)[0], rows(a)[1]),
    "square": lambda xp, a: operator.iadd(a[:16].reshape(4, 4), a[:16].reshape(4, 4).T),
    "negative": lambda xp, a: xp.negative(a[1:], out=a[:-1]),
    "sine": lambda xp, a: xp.sqrt(a[:-1], out=a[1:]),
}


@pytest.mark.parametrize("case", OVERLAPS)
@pytest.mark.parametrize("code", "lfd")
def test_operands_that_share_memory(case: str, code: str) -> None:
    for n in (16, 41, 700):
        x, lx = both(code, n)
        assert_same(outcome(OVERLAPS[case], numpy, x), outcome(OVERLAPS[case], np, lx), (case, code, n))
        assert x.tobytes() == numpy.asarray(lx).tobytes()


@pytest.mark.parametrize("code", "blBfdFD")
def test_errors_where_warnings_are_to_be_errors(code: str) -> None:
    """In place, the result is written before the error; and each kind of error is told by itself."""

    def named(name: str, count: int) -> Callable[[Any, Any, Any], Any]:
        return lambda xp, *operands: getattr(xp, name)(*operands[:count])

    def in_place(op: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
        return lambda xp, a, b: op(a, b)

    cases: dict[str, Callable[[Any, Any, Any], Any]] = {
        **{name: named(name, 2) for name in ARITHMETIC},
        **{name: named(name, 1) for name in ("sqrt", "exp", "log", "square", "sin")},
        **{name: in_place(op) for name, op in INPLACE.items()},
        "scaled": lambda xp, a, b: a * 3.0,
        "in place": lambda xp, a, b: operator.imul(a, 2),
        "halved": lambda xp, a, b: a / 0,
    }
    pools: list[list[Any]] = [
        [0],
        [1, 0],
        [100, 120],
        [1e-300, 1e-40],
        [1e300, 1e38],
        [numpy.inf],
        [-1.0, 2.0],
        [numpy.nan],
    ]
    for case, run in cases.items():
        for n in (6, 600):
            for pool in pools:
                for other in pools:
                    if numpy.dtype(code).kind in "iu" and not all(abs(v) < 128 and v >= 0 for v in pool + other):
                        continue
                    with numpy.errstate(all="ignore"):
                        x = numpy.resize(numpy.array(pool), n).astype(code)
                        y = numpy.resize(numpy.array(other), n).astype(code)
                    lx, ly = np.array(x), np.array(y)
                    for raises in (False, True):
                        want = outcome(run, numpy, x, y, raises=raises)
                        assert_same(want, outcome(run, np, lx, ly, raises=raises), (case, code, n, pool, other))
                        assert x.tobytes() == numpy.asarray(lx).tobytes()


@pytest.mark.skipif(speed.native is None, reason="without the C module they name the line inside")
def test_warnings_name_the_line_that_computed() -> None:
    a = np.array([1.0, 0.0])
    b = numpy.array([1.0, 0.0])
    for run in (lambda x: x / 0.0, lambda x: x / x, lambda x: x * 1e308 * 1e308):
        warned, want = outcome(run, a)[1], outcome(run, b)[1]
        assert warned == want and warned


def test_callbacks_and_logs_of_floating_point_errors() -> None:
    def seen(xp: Any) -> list[Any]:
        calls: list[Any] = []
        with numpy.errstate(all="call", call=lambda kind, flags: calls.append((kind, flags))):
            a = xp.array([1.0, -1.0, 0.0, 1e300, 1e-300])
            xp.sqrt(a), a / a, a * a
        return calls

    assert seen(np) == seen(numpy) and seen(np)


def test_flags_of_earlier_operations_are_not_told_again() -> None:
    a = np.array([1.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with numpy.errstate(all="ignore"):
            a / a
        a + a


def test_what_may_not_be_written() -> None:
    for xp in (numpy, np):
        a = xp.arange(4.0)
        a.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            a += 1.0
        with pytest.raises(ValueError, match="read-only"):
            xp.add(a, a, out=a)
        b = xp.broadcast_to(xp.zeros(1), (4,))
        with pytest.raises(ValueError, match="read-only"):
            b += 1.0
        with pytest.raises(ValueError, match="broadcast"):
            xp.zeros(1).__iadd__(xp.zeros(3))


@pytest.mark.parametrize("code", UNCOVERED)
def test_other_types_stay_with_numpy(code: str) -> None:
    x = numpy.arange(6).astype("m8[s]" if code == "m" else "M8[s]" if code == "M" else "S3" if code == "S" else code)
    lx = np.array(x)
    for name in ("add", "sub", "mul", "eq", "lt"):
        want, got = outcome(BINARY[name], x, x), outcome(BINARY[name], lx, lx)
        if isinstance(want[0], tuple):
            assert isinstance(got[0], tuple) and want[0][0] is got[0][0]
        else:
            assert want[0].dtype == got[0].dtype and want[0].tolist() == numpy.asarray(got[0]).tolist()


def test_other_byte_orders_and_alignments() -> None:
    swapped = numpy.arange(6.0).astype(">f8")
    odd = numpy.frombuffer(bytearray(b"\0" + numpy.arange(6.0).tobytes()), numpy.float64, offset=1)
    for x in (swapped, odd):
        lx = np.asarray(x)
        for op in BINARY["add"], BINARY["gt"]:
            want, got = op(x, x), op(lx, lx)
            assert want.dtype == got.dtype and want.tolist() == numpy.asarray(got).tolist()
        numpy.testing.assert_array_equal(numpy.asarray(lx * 2.0), x * 2.0)


def test_threads() -> None:
    """Operations above 500 elements leave the interpreter to others, also to one that exchanges an operand."""
    shared = np.ones(5000)
    failures: list[str] = []

    def work(seed: int) -> None:
        a, b = np.array(values("d", 2000, seed)), np.array(values("d", 2000, seed + 10))
        x, y = numpy.array(a), numpy.array(b)
        for i in range(300):
            with numpy.errstate(all="ignore"):
                if (a * b + 2.0).tobytes() != (x * y + 2.0).tobytes() or (a < b).tobytes() != (x < y).tobytes():
                    failures.append(f"{seed} {i}")
            nonlocal shared
            shared = shared * 1.0
            if (shared + shared).sum() != 10000.0:
                failures.append(f"shared {seed} {i}")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


@pytest.fixture
def without_replay() -> Iterator[None]:
    """A loop that is known keeps its program, and a few arrays."""
    with config(replay=False):
        yield


@pytest.mark.usefixtures("without_replay")
def test_memory_is_flat() -> None:
    a, b, m, row = np.ones(10), np.ones(10), np.ones((4, 5)), np.ones(5)

    def churn(times: int) -> None:
        for _ in range(times):
            c = a + b
            c += a
            c *= 0.5
            np.sqrt(c, out=c)
            d = -c > 0
            e = m * row - m[:, :1]
            with numpy.errstate(all="ignore"):
                c / 0.0
            with pytest.raises(FloatingPointError), numpy.errstate(all="raise"):
                c / 0.0
            assert a.sum() == 10.0 and m.max(axis=1).shape == (4,)
            del d, e

    churn(100)
    gc.collect()
    tracemalloc.start()
    try:
        churn(10)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        churn(5000)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 10_000
    finally:
        tracemalloc.stop()


def test_ufuncs_of_others_are_not_kept() -> None:
    """Nor are their loops called: they may set errors."""
    kept = []
    for of, array in ((lambda u: u, numpy.asarray), (ufunc.of, np.asarray)):
        doubled = numpy.frompyfunc(lambda x: 2 * x, 1, 1)
        for values in ([0, 1, 2], [0.0, 1.0, 2.0]):
            assert numpy.asarray(of(doubled)(array(values))).tolist() == [0, 2, 4]
        kept.append(sys.getrefcount(doubled))
    assert kept[0] == kept[1]
    private = pytest.importorskip(
        "numpy._core._umath_tests", reason="NumPy's own module for its tests, not in all builds"
    )
    wrong = ufunc.of(private.always_error)
    with pytest.raises(RuntimeError, match="unexpected"):
        wrong(np.arange(3.0), np.arange(3.0))


@pytest.mark.usefixtures("without_replay")
def test_references_are_kept() -> None:
    """Results, operands and types have the references that they should: nothing is freed early, or never."""
    a, dtype = np.ones(10), numpy.dtype(float)
    before = sys.getrefcount(dtype), sys.getrefcount(a), sys.getrefcount(a._h_)
    for _ in range(100):
        a + a
        a + 1.0
        a += 1.0
        assert (a > 0).shape == (10,)
        np.sqrt(a, out=a)
        np.maximum(a, 0.0)
    gc.collect()
    after = sys.getrefcount(dtype), sys.getrefcount(a), sys.getrefcount(a._h_)
    assert all(abs(x - y) <= 2 for x, y in zip(before, after))


def same_reduction(x: Any, y: Any, what: Any) -> None:
    assert numpy.shape(x) == numpy.shape(y) and x.dtype == y.dtype, what
    assert isinstance(x, numpy.ndarray) == isinstance(y, np.ndarray), what
    assert getattr(x, "strides", ()) == getattr(y, "strides", ()), what
    assert same(x, y if isinstance(y, numpy.generic) else numpy.asarray(y)), (what, x, y)  # but for the sign of a NaN


SHAPES = [
    (1,), (2,), (7,), (8,), (9,), (17,), (129,), (1003,), (8193,), (20000,), (1, 1), (1, 5), (5, 1), (2, 2), (2, 3),
    (32, 10), (10, 32), (32, 128), (300, 3), (3, 300), (4500, 2), (2, 4500), (9000, 1), (1, 9000), (70, 90), (2, 3, 4),
    (8, 8, 8), (30, 20, 9), (4100, 2, 3), (1, 8, 1), (2, 2, 2, 2, 2),
]  # fmt: skip
REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "mean")


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("code", CODES)
def test_reductions(code: str, name: str) -> None:
    """In NumPy's order: what is rounded is rounded alike. Zeros have the sign that they have there."""
    for shape in SHAPES:
        n = math.prod(shape)
        pools = [values(code, n), values(code, n)[::-1].copy()]
        if code in "fd":
            rng = numpy.random.default_rng(n)
            pools = [
                pools[0],
                rng.standard_normal(n).astype(code),
                numpy.full(n, -0.0, code),
                rng.choice([0.0, -0.0], n).astype(code),
                rng.choice([numpy.nan, -numpy.nan, 1.0], n).astype(code),
            ]
        for i, pool in enumerate(pools):
            x = pool.reshape(shape)
            lx = np.array(x)
            for axis in (None, 0, -1, len(shape) // 2):
                for keepdims in (False, True):
                    what = (name, code, shape, i, axis, keepdims)
                    with numpy.errstate(all="ignore"):
                        want = getattr(x, name)(axis=axis, keepdims=keepdims)
                        same_reduction(want, getattr(lx, name)(axis=axis, keepdims=keepdims), what)
                        same_reduction(want, getattr(lx, name)(axis, keepdims=keepdims), what)
                        same_reduction(want, getattr(np, name)(lx, axis=axis, keepdims=keepdims), what)
                        same_reduction(want, getattr(np, name)(lx, axis, keepdims=keepdims), what)


def test_reductions_of_other_layouts() -> None:
    for layout, f in LAYOUTS.items():
        x, lx = both("d", 40)
        for name in REDUCTIONS:
            for axis in (None, 0, -1):
                if layout in ("none", "number") and (name in ("max", "min", "mean") or axis is not None):
                    continue
                want = outcome(getattr(f(x), name), axis)
                got = outcome(getattr(f(lx), name), axis)
                assert [w[:2] for w in want[1]] == [w[:2] for w in got[1]], (layout, name, axis)
                same_reduction(want[0], got[0], (layout, name, axis))


def test_warnings_and_errors_of_reductions() -> None:
    for code in "fd":
        edge = numpy.finfo(code).max
        pools = [[edge, edge], [numpy.inf, -numpy.inf], [numpy.nan, 1.0], [1e-30, 1e-30], [edge, 2.0], [1.0, 2.0]]
        for pool in pools:
            x = numpy.resize(numpy.array(pool, code), (4, 200))
            lx = np.array(x)
            for name in REDUCTIONS:
                for axis in (None, 0, -1):
                    for raises in (False, True):
                        want = outcome(getattr(x, name), axis, raises=raises)
                        got = outcome(getattr(lx, name), axis, raises=raises)
                        also = outcome(getattr(np, name), lx, axis=axis, raises=raises)
                        for other in (got, also):
                            assert [w[:2] for w in want[1]] == [w[:2] for w in other[1]], (code, pool, name, axis)
                            if isinstance(want[0], tuple):
                                assert want[0] == other[0], (code, pool, name, axis)
                            else:
                                same_reduction(want[0], other[0], (code, pool, name, axis))
    for xp in (numpy, np):
        a = xp.ones((2, 3))
        with pytest.raises(ValueError, match="axis 2 is out of bounds for array of dimension 2"):
            a.sum(2)
        with pytest.raises(ValueError, match="axis -3 is out of bounds for array of dimension 2"):
            xp.max(a, axis=-3)
        with pytest.raises(TypeError):
            a.sum(axis=1.5)
        with pytest.raises(TypeError, match="unexpected keyword argument 'axes'"):
            xp.sum(a, axes=1)
        with pytest.raises(TypeError):
            a.sum(0, axis=0)
        with pytest.raises(ValueError, match="zero-size array to reduction operation"):
            xp.ones(0).max()


def test_squares() -> None:
    for code in CODES:
        for exponent in (2, 2.0, 1, 0, -1, 3, True, numpy.int64(2), 2**70):
            x, lx = both(code, 30)
            assert_same(outcome(operator.pow, x, exponent), outcome(operator.pow, lx, exponent), (code, exponent))


def test_ufuncs_called_in_other_ways() -> None:
    a, b = numpy.array([1.0, 4.0]), np.array([1.0, 4.0])
    for _ in range(3):  # the first call is another one inside
        for call in (
            lambda xp, x: xp.sqrt(x, x),
            lambda xp, x: xp.add(x, x, dtype="f4"),
            lambda xp, x: xp.add(x, x, out=(x,)),
            lambda xp, x: xp.add(x, x, out=None),
            lambda xp, x: xp.add(x, x, where=xp.array([True, True])),
            lambda xp, x: xp.add(*[x, 1.0], **{"out": x}),
            lambda xp, x: xp.add(**{"x": 1}),
            lambda xp, x: xp.sqrt(),
            lambda xp, x: xp.sqrt(x, x, x),
            lambda xp, x: xp.add(x),
            lambda xp, x: xp.modf(x)[0],
            lambda xp, x: xp.sqrt(4.0) + x,
            lambda xp, x: xp.sqrt(x, ouch=x),
        ):
            want, got = outcome(call, numpy, a), outcome(call, np, b)
            if isinstance(want[0], tuple):
                assert isinstance(got[0], tuple) and want[0][0] is got[0][0], (want, got)
            else:
                assert_same(want, got, None)
            assert a.tobytes() == numpy.asarray(b).tobytes()


def test_subclasses_of_the_ufunc_have_their_own_call() -> None:
    class Counting(np.ufunc):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return "called"

    u = object.__new__(Counting)
    u.host = numpy.add
    assert u(1, 2) == u(np.ones(2), 1) == "called"


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "fmin", "logical_or", "bitwise_and", "less"])
def test_numbers_that_are_repeated_in_memory(name: str) -> None:
    """Loops that are fast for arrays only: with a number for the whole array, and with one for each row."""
    for code in "?bBhHiqd":
        if code == "d" and name == "bitwise_and":
            continue
        for rows, columns in ((3, 5), (40, 45), (2, 3000)):
            host = (numpy.random.default_rng(0).random((rows, columns)) * 3).astype(code)
            lazy = np.array(host)
            for pick in (
                lambda x: (x, x[:, 1, None]),
                lambda x: (x[:, 1, None], x[0]),
                lambda x: (x[0], x[:, 1, None].copy()),
                lambda x: (x, x.dtype.type(1)),
                lambda x: (x.dtype.type(1), x[:, ::2]),
            ):
                want, got = getattr(numpy, name)(*pick(host)), getattr(np, name)(*pick(lazy))
                assert_same((want, []), (got, []), (code, rows))


class Deferring(numpy.float64):
    __array_ufunc__ = None

    def __rmul__(self, other: object) -> str:
        return "reflected"


class Overriding(numpy.float64):
    def __array_ufunc__(self, *args: object, **kwargs: object) -> str:
        return "overridden"


@pytest.mark.parametrize("code", "?hqQfdD")
def test_writes_in_place_with_numpys_numbers(code: str) -> None:
    numbers = [t(2) for t in (numpy.float64, numpy.float32, numpy.float16, numpy.int8, numpy.int64, numpy.complex64)]
    numbers += [numpy.uint64(2**63), numpy.int64(-1), numpy.bool_(True), numpy.timedelta64(3, "s"), numpy.str_("a")]
    for number in (*numbers, Deferring(2), Overriding(2)):
        for op in (operator.iadd, operator.imul, operator.itruediv, operator.ipow, operator.iand, operator.imod):
            if op is operator.ipow and OLD_POWERS and isinstance(number, (Deferring, Overriding)):
                continue  # NumPy 2.2 does not ask what they say
            for shape in ((), (2, 3)):
                host, lazy = numpy.ones(shape, code), np.ones(shape, code)
                want, got = outcome(op, host, number), outcome(op, lazy, number)
                what = (code, number, op.__name__, shape)
                if isinstance(want[0], (str, tuple)):
                    assert want[0] == got[0] or want[0][0] is got[0][0], what
                else:
                    assert (got[0] is lazy) == (want[0] is host), what
                    assert_same(want, got, what)
                    assert host.tobytes() == numpy.asarray(lazy).tobytes(), what


def masks(x: Any) -> Callable[[], object]:
    """NumPy's loop for truth values is 20 times slower where an operand has no step: its iterator never has it so."""
    column, row = (x > 0.5)[:, 5, None], (x > 0.5)[5]
    return lambda: column & row


def scaled(x: Any) -> Callable[[], object]:
    row, number = x[5], numpy.float64(1.0)
    return lambda: operator.imul(row, number)


@pytest.mark.alone
@pytest.mark.skipif(speed.native is None, reason="it is the C module that is fast")
@pytest.mark.parametrize("make", [masks, scaled])
def test_takes_about_as_long_as_numpy(make: Callable[[Any], Callable[[], object]]) -> None:
    host = numpy.random.default_rng(0).random((173, 173))
    calls = {"numpy": make(host), "lazynp": make(np.array(host))}
    seconds: dict[str, list[float]] = {library: [] for library in calls}
    for _ in range(15):
        for library, call in calls.items():
            seconds[library].append(timeit.timeit(call, number=30))
    assert min(seconds["lazynp"]) < 4 * min(seconds["numpy"])


@pytest.mark.skipif(speed.native is None, reason="without the C module NumPy's method is what there is")
@pytest.mark.parametrize("under", ["ignore", "warn", "raise"])
def test_a_product_that_becomes_too_small_is_computed_once(under: Any) -> None:
    """The processor's flag had NumPy compute it again, where it hardly ever says anything."""
    host = numpy.full(3000, 0.5)
    lazy, again = np.array(host), []

    def called(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name == "_prod":
            again.append(frame)

    def told(x: Any) -> Any:
        with warnings.catch_warnings(record=True) as seen, numpy.errstate(under=under):
            warnings.simplefilter("always")
            try:
                return x.prod(), [str(w.message) for w in seen]
            except FloatingPointError as error:
                return str(error)

    wanted = told(host)
    sys.setprofile(called)
    try:
        found = told(lazy)
    finally:
        sys.setprofile(None)
    assert found == wanted
    assert not again


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (2,)])
def test_one_complex_number_multiplied_in_place(shape: tuple[int, ...]) -> None:
    """NumPy's loop takes it for a reduction, and rounds each product; elsewhere it has fused multiply-adds."""
    rng = numpy.random.default_rng(0)
    for _ in range(50):
        a, b = rng.standard_normal((2, *shape, 2)).view(complex).reshape(2, *shape)
        ours = np.array(a)
        ours *= np.array(b)
        a = numpy.array(a)
        a *= b
        assert ours.tolist() == a.tolist()


LISTS: list[Any] = [
    (1, 2, 3), [1.5, 2, 3], (True, False, True), [], [1j, 2, 3], [numpy.float32(2)] * 3, [300, 1, 2],
    [numpy.int8(3), 1, 2], ["a", "b", "c"], [None, 1, 2], [[1, 2, 3]], (5,), [2**63, 1, 1], [-1, 1, 1],
]  # fmt: skip


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "mod", "matmul", "and_", "eq"])
def test_lists_beside_arrays(name: str) -> None:
    operation = getattr(operator, name)
    arrays = [numpy.arange(3), numpy.ones(3, "f4"), numpy.ones((2, 3)), numpy.ones(3, "u1"), numpy.ones(3, bool)]
    arrays += [numpy.array([1 + 2j, 2, 3]), numpy.array([None, 1, 2], object), numpy.ones(2), numpy.array(5.0)]
    for array in arrays:
        for given in LISTS:
            for turned in (False, True):
                found = []
                for x in (array, np.array(array)):
                    with numpy.errstate(all="ignore"):
                        try:
                            made = operation(given, x) if turned else operation(x, given)
                            found.append((numpy.asarray(made).dtype, numpy.asarray(made).tolist()))
                        except (TypeError, ValueError, OverflowError, numpy.exceptions.DTypePromotionError) as error:
                            found.append((type(error), ""))
                assert str(found[0]) == str(found[1]), (array, given, turned)
    given = (1, 2, 3)
    assert type(given + np.arange(3)) is np.ndarray
