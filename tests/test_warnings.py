"""Warnings and floating-point errors are NumPy's: which there are, their texts, and the lines that they are of."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp
from lazynp.speed import native

N = 200_000  # more than what is small
MODES = ("auto", "graph")


def said(m: Any, call: Callable[[Any], Any]) -> list[tuple[Any, ...]]:
    """The warnings of a call: category, text, file and line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(m)
    return [(w.category.__name__, str(w.message), w.filename, w.lineno) for w in caught]


# What NumPy's Python code warns of, by a `stacklevel` that names the line of the user.
OF_THE_LINE: dict[str, Callable[[Any], Any]] = {
    "nanmean": lambda m: m.nanmean([m.nan]),
    "nanmax": lambda m: m.nanmax(m.full((2, 3), m.nan), axis=1),
    "nanvar": lambda m: m.nanvar(m.full(2, m.nan)),
    "nanmedian": lambda m: m.nanmedian(m.full(2, m.nan)),
    "nanmin": lambda m: m.nanmin(m.full(2, m.nan)),
    "mean": lambda m: m.mean([]),
    "a.mean": lambda m: m.zeros(0).mean(),
    "var": lambda m: m.var([]),
    "cov": lambda m: m.cov([1.0]),
    "polyfit": lambda m: m.polyfit([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], 2),
    "Polynomial.fit": lambda m: m.polynomial.Polynomial.fit([1.0, 1.0], [1.0, 2.0], 3),
    "loadtxt": lambda m: m.loadtxt([]),
    "genfromtxt": lambda m: m.genfromtxt(["1 2", "3 4 5"], invalid_raise=False),
    "matrix": lambda m: m.matrix([[1]]),
    "asmatrix": lambda m: m.asmatrix([[1]]),
    "histogram": lambda m: m.histogram([True, False], bins=2),
    "ma.polyfit": lambda m: m.ma.polyfit(m.ma.array([1.0, 1, 1]), m.ma.array([1.0, 2, 3]), 2),
    "a function in between": lambda m: [m.nanmean(x) for x in ([m.nan], [m.nan])],
}


@pytest.mark.parametrize("name", OF_THE_LINE)
def test_warnings_are_of_the_line(name: str) -> None:
    assert said(lazynp, OF_THE_LINE[name]) == said(numpy, OF_THE_LINE[name])


def test_most_of_these_warn() -> None:
    assert sum(bool(said(numpy, call)) for call in OF_THE_LINE.values()) > len(OF_THE_LINE) // 2


def test_a_line_is_warned_of_once_and_each_line_is() -> None:
    code = "m.nanmean([m.nan])\n" * 2 + "for _ in range(2): m.nanmean([m.nan])\n"
    lines = []
    for m in (numpy, lazynp):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            exec(compile(code, "program.py", "exec"), {"m": m, "__name__": "program"})
        lines.append([(w.filename, w.lineno) for w in caught])
    assert lines[0] == lines[1] == [("program.py", k) for k in (1, 2, 3)]


def test_state_of_warnings_is_everybody_s(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = lazynp.testing._private.utils.warnings  # what NumPy's code, executed a second time, has for the module
    monkeypatch.setattr(warnings, "showwarning", print)
    assert theirs.showwarning is print
    theirs.showwarning = repr
    assert warnings.showwarning is repr


# Floating-point errors on paths that are Python of ours: NumPy sees that line as the innermost one.
ERRORS_OF_THE_LINE: dict[str, Callable[[Any], Any]] = {
    "a list": lambda m: m.array([1.0]) / [0.0],
    "divmod": lambda m: divmod(m.array([1, 2]), 0),
    "divmod of a masked array": lambda m: m.divmod(m.ma.array([1.0, 0]), 0),
    "a matrix": lambda m: m.matrix([0.0]) / 0,
    "concatenate": lambda m: m.concatenate([m.array([1e300])], dtype="f4", casting="unsafe"),
    "inside percentile": lambda m: m.percentile([m.inf, -m.inf], 50),
    "inside det": lambda m: m.linalg.det(m.full((2, 2), m.inf)),
    "at": lambda m: m.log.at(m.array([0.0, -1.0]), [0, 1]),
    "longdouble": lambda m: m.log(m.array([0.0, -1.0], "g")),
    "a number": lambda m: m.log(0.0),
    "a list alone": lambda m: m.log([0.0, -1.0]),
    "a cast": lambda m: m.array([1e300], "f4"),
    "an element": lambda m: m.zeros(3, "f4").__setitem__(0, 1e300),
    "full": lambda m: m.full(2, 1e300, "f4"),
    "the mean of nothing": lambda m: m.zeros((0, 3)).mean(0),
    "the spread of nothing": lambda m: m.array([]).std(),
    "the spread of one": lambda m: m.array([1.0]).var(ddof=1),
    "a library's callback": lambda m: m.frompyfunc(lambda x: m.float64(x) / 0, 1, 1)(m.array([1.0])),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ERRORS_OF_THE_LINE)
def test_floating_point_errors_are_of_the_line(name: str, mode: str) -> None:
    call = ERRORS_OF_THE_LINE[name]
    with lazynp.config(mode=mode):
        got, wanted = said(lazynp, call), said(numpy, call)
    assert wanted
    if mode == "auto":
        assert got == wanted
    assert set(got) <= set(wanted)  # recorded operations say nothing


def test_the_state_of_errors_is_the_user_s() -> None:
    seen = []
    f = lazynp.frompyfunc(lambda x: seen.append(lazynp.geterr()) or x, 1, 1)
    with lazynp.errstate(divide="call", call=lambda *what: seen.append(what)):
        lazynp.array([1.0]) / [0.0]
    assert seen == [("divide by zero", 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero encountered in divide"):
            lazynp.array([1.0]) / [0.0]
    state = lazynp.geterr()
    f(lazynp.array([1.0]))
    assert lazynp.geterr() == numpy.geterr() == state


@pytest.mark.skipif(native is None, reason="without the C module NumPy's code is called by a line of ours")
def test_both_copies_of_numpy_s_code_warn_once() -> None:
    code = "m.zeros(0).mean()\nm.mean([])\n"
    counts = []
    for m in (numpy, lazynp):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            exec(compile(code, "program.py", "exec"), {"m": m, "__name__": "program"})
        counts.append([(w.filename, w.lineno) for w in caught])
    assert counts[0] == counts[1]


# Casts that take the real part. A warning of a cast in NumPy's own Python code is of that code in NumPy.
CASTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "astype": lambda m, c, f: c.astype(float),
    "astype of less": lambda m, c, f: c[::3].astype("f4", order="F"),
    "astype int": lambda m, c, f: c.astype(int),
    "astype bool": lambda m, c, f: c.astype(bool),
    "astype of a matrix": lambda m, c, f: m.asfortranarray(c.reshape(2, -1)).astype("i8"),
    "astype of what is pending": lambda m, c, f: (c * 2 + 1).astype(float),
    "astype of masked": lambda m, c, f: m.ma.array(c).astype(float),
    "array": lambda m, c, f: m.array(c, dtype=float),
    "asarray": lambda m, c, f: m.asarray(c, dtype="i4"),
    "ascontiguousarray": lambda m, c, f: m.ascontiguousarray(c, dtype=float),
    "set": lambda m, c, f: f.__setitem__(Ellipsis, c),
    "set a part": lambda m, c, f: f.__setitem__(slice(3, None), c[3:]),
    "set a part of every second": lambda m, c, f: f[::2].__setitem__(Ellipsis, c[::2]),
    "set by a mask": lambda m, c, f: f.__setitem__(f > -1, c),
    "set a number by a mask": lambda m, c, f: f.__setitem__(f > -1, c[0]),
    "set by indices": lambda m, c, f: f.__setitem__([0, 1], c[:2]),
    "set an element": lambda m, c, f: f.__setitem__(0, c[0]),
    "copyto": lambda m, c, f: m.copyto(f, c, casting="unsafe"),
    "copyto where": lambda m, c, f: m.copyto(f, c, casting="unsafe", where=f > -1),
    "fill": lambda m, c, f: f.fill(m.complex128(1)),
    "flat": lambda m, c, f: f.flat.__setitem__(slice(None), c),
    "real": lambda m, c, f: setattr(f, "real", c),
    "real, a number": lambda m, c, f: setattr(f, "real", m.complex128(1j)),
    "imag": lambda m, c, f: setattr(c, "imag", c.copy()),
    "put": lambda m, c, f: f.put([0, 1], c[:2]),
    "full": lambda m, c, f: f.__iadd__(m.full(f.shape, m.complex128(1 + 1j), dtype=float)),
    "sum": lambda m, c, f: f.__iadd__(c.sum(dtype=float)),
    "mean of each row": lambda m, c, f: f.__iadd__(m.mean(c.reshape(2, -1), axis=1, dtype=float)[0]),
    "cumsum": lambda m, c, f: f.__iadd__(m.cumsum(c, dtype=float)),
}
OF_NUMPY_S_CODE = ("mean of each row", "cumsum")
OF_LARGE = {  # small arrays are NumPy's, which names the line that calls it
    "add": lambda m, c, f: m.add(c, 1, out=f, casting="unsafe"),
    "in place": lambda m, c, f: m.add(f, c, out=f, casting="unsafe"),
    "einsum": lambda m, c, f: f.__iadd__(m.einsum("i->", c, dtype=float, casting="unsafe")),
}


CORE = os.path.dirname(numpy._core.__file__) + os.sep


def of_cast(m: Any, n: int, call: Callable[[Any, Any, Any], Any]) -> tuple[list[tuple[Any, ...]], Any]:
    """The warnings of a cast, and what was made or written; lines of NumPy's own files as that of the call."""
    c, f = m.arange(n) * (1 + 1j) - 3, m.zeros(n)
    made: list[Any] = []
    warned = said(m, lambda m: made.append(call(m, c, f)))
    line = call.__code__.co_filename, call.__code__.co_firstlineno
    there = [(*w[:2], *(line if CORE in w[2] else w[2:])) for w in warned]
    return there, [f, made[0] if isinstance(made[0], m.ndarray) else None]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [20, N])
@pytest.mark.parametrize("dtype", [float, complex, int])
@pytest.mark.parametrize("part", ["real", "imag"])
def test_complex_numbers_as_parts(part: str, dtype: type, n: int, mode: str) -> None:
    """Refused or not, as the NumPy at hand does it: since 2.5 Python's are refused."""
    results: list[list[Any]] = []
    for m in (numpy, lazynp):
        results.append([])
        for value in (1j, [1 + 1j] * n, m.complex128(2 + 1j), m.ones(n) * (3 + 1j), 4.0, [5] * n):
            x = m.ones(n, dtype)
            try:
                with lazynp.config(mode=mode):
                    setattr(x, part, value)
                results[-1].append(x.tolist()[:2])
            except TypeError as error:
                results[-1].append(str(error))
    assert results[0] == results[1]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [20, N])
@pytest.mark.parametrize("name", [*CASTS, *OF_LARGE])
def test_casts_to_the_real_part_are_warned_of_at_the_line(name: str, n: int, mode: str) -> None:
    if name in OF_LARGE and (n, mode) == (20, "auto"):
        pytest.skip("NumPy does the whole of it, and names the innermost line")
    if native is None and name in OF_NUMPY_S_CODE and (n, mode) == (20, "auto"):
        pytest.skip("without the C module NumPy's code is called by a line of ours, and names that")
    call = (CASTS | OF_LARGE)[name]
    with lazynp.config(mode=mode):
        (wanted, values), (got, ours) = of_cast(numpy, n, call), of_cast(lazynp, n, call)
        assert got == wanted
        for x, y in zip(values, ours):
            assert x is y is None or numpy.allclose(x, numpy.asarray(y), rtol=1e-13, atol=0) and x.dtype == y.dtype
            assert x is None or x.strides == y.strides


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [20, N])
def test_a_warning_that_is_an_error_leaves_what_was_to_be_written(n: int, mode: str) -> None:
    with lazynp.config(mode=mode), warnings.catch_warnings():
        warnings.simplefilter("error")
        f, c = lazynp.zeros(n), lazynp.ones(n, complex)
        for write in (lambda: f.__setitem__(Ellipsis, c), lambda: lazynp.copyto(f, c, "unsafe"), lambda: c.astype(int)):
            with pytest.raises(numpy.exceptions.ComplexWarning):
                write()
        assert not f.any()


# NumPy warns of neither: its own code never asks such an array for the flag that warns.
WITHOUT: dict[str, Callable[[Any, int], Any]] = {
    "select": lambda m, n: m.select([m.arange(n) < 2, m.arange(n) > 3], [m.arange(n), -m.arange(n)], 9),
    "broadcast_arrays": lambda m, n: m.broadcast_arrays(m.arange(n), m.ones((2, 1)))[1],
    "part": lambda m, n: m.broadcast_arrays(m.arange(n), 1)[1][2:].sum(),
    "transposed": lambda m, n: m.broadcast_arrays(m.arange(n), m.ones((2, 1)))[1].T[1:] * 2,
    "resize": lambda m, n: m.resize(m.broadcast_arrays(m.arange(n), m.ones((2, 1)))[1], (2, 2)),
    "copy": lambda m, n: m.broadcast_arrays(m.arange(n), m.ones((2, 1)))[1].copy().__iadd__(3),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [5, N])
@pytest.mark.parametrize("name", WITHOUT)
def test_broadcast_arrays_are_read_without_a_warning(name: str, n: int, mode: str) -> None:
    with lazynp.config(mode=mode):
        assert said(numpy, lambda m: WITHOUT[name](m, n)) == said(lazynp, lambda m: WITHOUT[name](m, n)) == []
        assert numpy.array_equal(WITHOUT[name](lazynp, n), WITHOUT[name](numpy, n))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [5, N])
def test_broadcast_arrays_are_written_with_one_warning(n: int, mode: str) -> None:
    def write(m: Any) -> None:
        m.broadcast_arrays(m.arange(n), 1)[1][0] = 3

    with lazynp.config(mode=mode):
        kinds = [w[0] for w in said(lazynp, write)]
    assert kinds == [w[0] for w in said(numpy, write)] == ["DeprecationWarning"]


@pytest.mark.parametrize("n", [5, N])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_out_by_position_is_told_as_numpy_does(name: str, n: int) -> None:
    """NumPy deprecates it from 2.4 on; a warning that is an error comes before anything is written."""

    def place(m: Any) -> Any:
        out = m.zeros(n)
        assert getattr(m, name)(m.arange(float(n)), 2.0, out) is out
        return out

    assert said(numpy, place) == said(lazynp, place)
    out = lazynp.zeros(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert numpy.array_equal(place(lazynp), place(numpy))
        if said(numpy, place):
            warnings.simplefilter("error")
            with pytest.raises(DeprecationWarning, match="more than 2 positional"):
                getattr(lazynp, name)(lazynp.ones(n), 2.0, out)
            assert not out.any()


class Values:
    """Arrays that errors come of, made where none are asked for."""

    def __init__(self, m: Any) -> None:
        with m.errstate(all="ignore"):
            self.nan, self.inf, self.big = m.full(N, m.nan), m.full(N, m.inf), m.full(N, 1e300)
            self.f4, self.int = m.ones(N, "f4"), m.zeros(N, int)


# That a value does not fit a dtype, and what the engine does without NumPy's loops.
RAISING: dict[str, Callable[[Any, Any], Any]] = {
    "astype int": lambda m, v: v.nan.astype(int),
    "astype float32": lambda m, v: v.big.astype("f4"),
    "astype complex64": lambda m, v: (v.f4 * 1e300j).astype("c8"),
    "astype float16": lambda m, v: m.arange(N).astype("f2"),
    "astype of a kernel": lambda m, v: m.where(v.f4 > 0, v.big, 0.0).astype("f4"),
    "array": lambda m, v: m.array(v.nan, dtype=int),
    "asarray": lambda m, v: m.asarray(v.big, dtype="f4"),
    "set": lambda m, v: v.int.__setitem__(slice(None), v.nan),
    "set a part": lambda m, v: v.f4.__setitem__(slice(3, None), v.big[3:]),
    "set by a mask": lambda m, v: v.int.__setitem__(v.f4 > 0, v.nan),
    "copyto": lambda m, v: m.copyto(v.int, v.nan, casting="unsafe"),
    "in place": lambda m, v: v.f4.__iadd__(v.big),
    "round": lambda m, v: m.round(v.big, 10),
    "fft": lambda m, v: m.fft.fft(v.inf),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", RAISING)
def test_errors_that_are_asked_for_are_raised(name: str, mode: str) -> None:
    texts = []
    for m in (numpy, lazynp):
        with lazynp.config(mode=mode):
            values = Values(m)
            with m.errstate(all="raise"), pytest.raises(FloatingPointError) as raised:
                RAISING[name](m, values)
            texts.append(str(raised.value))
    assert texts[0] == texts[1]


def test_traced_casts_are_recorded_where_errors_are_asked_for() -> None:
    with numpy.errstate(all="raise"):
        got = lazynp.jit(lambda x: x.astype("f4").astype(int))(lazynp.full(N, 1.5))
    assert numpy.array_equal(got, numpy.ones(N, int))


# What NumPy's C code warns of beside floating-point errors, by the innermost line of Python that there is.
OF_C: dict[str, Callable[[Any, int], Any]] = {
    "divide": lambda m, n: m.divide(1, m.arange(float(n)), where=m.arange(n) > 0),
    "log": lambda m, n: m.log(m.arange(float(n)), where=m.arange(n) > 0),
    "modf": lambda m, n: m.modf(m.arange(float(n)), where=m.arange(n) > 0),
    "a matrix": lambda m, n: m.add(m.zeros((1, n)).view(m.matrix), 1, where=m.ones(n, bool)),
    "an explicit None": lambda m, n: m.log(m.ones(n), where=m.ones(n, bool), out=None),
    "everywhere": lambda m, n: m.log(m.ones(n), where=True),
    "with out": lambda m, n: m.log(m.ones(n), where=m.ones(n, bool), out=m.zeros(n)),
    "bincount": lambda m, n: m.bincount(m.zeros(n)),
    "fromstring": lambda m, n: m.fromstring("1 2 x", sep=" "),
    "a line of two": lambda m, n: [m.bincount(m.zeros(n)) for _ in range(2)],
}


@pytest.mark.parametrize("n", [5, N])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OF_C)
def test_warnings_of_c_code_are_of_the_line(name: str, mode: str, n: int) -> None:
    def outcome(m: Any) -> Any:
        try:
            return said(m, lambda m: OF_C[name](m, n))
        except Exception as error:
            return type(error), str(error)

    wanted = outcome(numpy)
    with lazynp.config(mode=mode):
        assert outcome(lazynp) == wanted


@pytest.mark.parametrize("mode", MODES)
def test_errors_below_a_line_have_it_once(mode: str) -> None:
    lines = []
    for m in (numpy, lazynp):
        with lazynp.config(mode=mode), pytest.raises((TypeError, ValueError)) as caught:
            m.bincount(m.array([-1]))
        lines.append([entry.lineno for entry in caught.traceback if str(entry.path) == __file__])
    assert lines[0] == lines[1]


@pytest.mark.parametrize("mode", MODES)
def test_one_kind_of_error_is_logged_and_another_warned_of(mode: str) -> None:
    def divided(m: Any) -> None:
        with m.errstate(divide="call", invalid="warn", call=lambda *_: None):
            (m.arange(3.0) - 1) / m.zeros(3)

    with lazynp.config(mode=mode):
        assert said(lazynp, divided) == said(numpy, divided)


class Warns:
    """A class of a library's that warns of the line of its caller, and of the class from which it is called."""

    def __array_ufunc__(self, function: Any, *args: Any, **kwargs: Any) -> str:
        warnings.warn(f"{function.__name__} of mine", FutureWarning, stacklevel=2)
        return function.__name__

    def __array_function__(self, function: Any, *args: Any, **kwargs: Any) -> str:
        warnings.warn(f"{function.__name__} of mine", FutureWarning, stacklevel=2)
        return function.__name__


@pytest.mark.parametrize("n", [5, N])
@pytest.mark.parametrize("mode", MODES)
def test_classes_that_take_over_warn_of_the_line(mode: str, n: int) -> None:
    calls: list[Callable[[Any], Any]] = [
        lambda m: m.add(m.ones(n), Warns()),
        lambda m: m.ones(n) * Warns(),
        lambda m: m.sin(Warns()),
        lambda m: m.add.reduce(Warns()),
        lambda m: m.add.outer(m.ones(n), Warns()),
        lambda m: m.sin(m.ones(n), out=(Warns(),)),
        lambda m: m.concatenate([m.ones(n), Warns()]),
        lambda m: m.mean(Warns()),
    ]
    for call in calls:
        wanted = said(numpy, call)
        assert len(wanted) == 1
        with lazynp.config(mode=mode):
            assert said(lazynp, call) == wanted


@pytest.mark.parametrize("settings", [{"mode": "graph"}, {"mode": "auto", "small": 0}])
def test_warnings_that_are_kept(settings: dict[str, Any]) -> None:
    """Whoever keeps warnings gets those of floating point too, at the call, where the engine would say nothing."""
    x = numpy.array([0.0, numpy.nan, 1e300])
    calls: list[Callable[[Any, Any], Any]] = [
        lambda m, x: 1 / x,
        lambda m, x: m.log(x - 1),
        lambda m, x: x.astype("i4"),
        lambda m, x: x.astype("f2"),
        lambda m, x: m.copyto(m.zeros(3, "f4"), x, casting="unsafe"),
        lambda m, x: m.zeros(3, int).__setitem__([0, 1], x[1:]),
        lambda m, x: m.multiply.reduce(x[2:] * m.ones(3)),
        lambda m, x: m.array([1, 2], "q") // 0,
        lambda m, x: x * x,
    ]
    with lazynp.config(**settings):
        ours = lazynp.array(x) * 1
        for f in calls:
            with warnings.catch_warnings(record=True) as wanted:
                warnings.simplefilter("always")
                f(numpy, x)
            assert wanted
            for _ in range(2):
                with warnings.catch_warnings(record=True) as found:
                    warnings.simplefilter("always")
                    f(lazynp, ours)
                assert [(w.category, str(w.message)) for w in found] == [(w.category, str(w.message)) for w in wanted]
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                with numpy.errstate(all="ignore"):
                    f(lazynp, ours)
            assert not found


@pytest.mark.parametrize("settings", [{"mode": "graph"}, {"mode": "auto", "small": 0}])
@pytest.mark.parametrize("action", ["default", "module", "once"])
def test_warnings_that_are_kept_once(action: Any, settings: dict[str, Any]) -> None:
    found = []
    for m in (numpy, lazynp):
        with lazynp.config(**settings), warnings.catch_warnings(record=True) as kept:
            warnings.simplefilter(action)
            x = m.zeros(3) * 1
            for _ in range(2):
                1 / x
            found.append([str(w.message) for w in kept])
    assert len(found[0]) == 1 and found[1] == found[0]


@pytest.mark.parametrize("settings", [{"mode": "graph"}, {"mode": "auto", "small": 0}])
def test_warnings_that_a_function_of_the_program_shows(settings: dict[str, Any], monkeypatch: Any) -> None:
    """As `logging.captureWarnings` has them."""
    shown = []
    with lazynp.config(**settings), warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", lambda message, *args, **kwargs: shown.append(str(message)))
        1 / (lazynp.zeros(3) * 1)
    assert shown == ["divide by zero encountered in divide"]
