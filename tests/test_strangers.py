"""NumPy's own arrays and scalars, as libraries give them to a program, in the hands of our class and its subclasses."""

from __future__ import annotations

import pickle
from typing import Any

import numpy
import pytest

import lazynp
from lazynp.config import config
from lazynp.speed import native

pytestmark = pytest.mark.skipif(native is None, reason="only C code sees what a method of NumPy's is given")

ROWS = numpy.arange(6.0).reshape(2, 3)
KINDS = ("ndarray", "recarray", "matrix", "ma.MaskedArray")


def of(m: Any, name: str) -> Any:
    for part in name.split("."):
        m = getattr(m, part)
    return m


def outcome(function: Any, *args: Any, **kwargs: Any) -> tuple[str, str]:
    try:
        value = function(*args, **kwargs)
    except Exception as error:
        return type(error).__name__, str(error)
    return type(value).__name__, repr(value)


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_view_as_one_of_our_classes(kind: str, mode: str) -> None:
    for x in (ROWS, numpy.float64(2), numpy.bool_(True), numpy.str_("a"), numpy.asarray(5), ROWS.view(numpy.matrix)):
        for call in (
            lambda k, x=x: x.view(k),
            lambda k, x=x: x.view(type=k),
            lambda k, x=x: x.view("i1", k),
            lambda k, x=x: x.view(dtype="i1", type=k),
            lambda k, x=x: x.view(k, k),
            lambda k, x=x: x.view("i1", k, 3),
        ):
            wanted = outcome(call, of(numpy, kind))
            with config(mode=mode):
                got = outcome(call, of(lazynp, kind))
            assert got == wanted, (x, kind)


def test_a_view_shares_memory_and_is_ours() -> None:
    class Named(lazynp.ndarray):
        def __array_finalize__(self, other: Any) -> None:
            self.name = getattr(other, "name", "new")

    x = ROWS.copy()
    v = x.view(Named)
    assert type(v) is Named and v.name == "new"
    v[0, 0] = 7
    assert x[0, 0] == 7
    assert type(x.view(lazynp.ndarray)) is lazynp.ndarray
    assert type(x.view(numpy.ndarray)) is type(x.view("i8")) is numpy.ndarray
    assert type(x.view(numpy.matrix)) is numpy.matrix


def test_masked_arrays_without_axes() -> None:
    def cases(m: Any) -> list[Any]:
        a, row = m.ma.array(1.5), m.ma.array([1.0, 2, 3], mask=[0, 1, 0])
        return [
            a.round(), type(a.round()).__name__, m.ma.inner(row, row), a.any(), row.max(), row.take(0), row.take(1),
            row.ptp(), row.var(), m.ma.array(2.0, mask=True).round(), list(row.flat), m.ma.trace(m.ma.identity(2)),
        ]  # fmt: skip

    assert repr(cases(lazynp)) == repr(cases(numpy))


METHODS = {
    "all": (), "argsort": (), "astype": ("i4",), "byteswap": (), "choose": ([1, 2],), "clip": (1, 3), "conj": (),
    "compress": ([1],), "copy": (), "cumsum": (), "diagonal": (), "dot": ([1, 2, 3],), "flatten": (),
    "getfield": ("i4",),
    "item": (1,), "max": (0,), "mean": (1,), "nonzero": (), "ravel": (), "repeat": (2,), "reshape": (3, 2), "round": (),
    "squeeze": (), "std": (), "sum": (0,), "swapaxes": (0, 1), "take": ([0, 1],), "tobytes": (), "tolist": (),
    "trace": (), "transpose": (), "view": ("i4",), "__array__": (), "__copy__": (), "__deepcopy__": ({},),
    "__contains__": (3,), "__repr__": (), "__str__": (), "__format__": ("",),
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_methods_of_the_class_take_numpys_arrays(name: str) -> None:
    args = METHODS[name]
    x = ROWS.astype(int) % 2 if name == "choose" else ROWS
    assert outcome(getattr(lazynp.ndarray, name), x, *args) == outcome(getattr(numpy.ndarray, name), x, *args)
    for other in ((0.0, 1.0), [1, 2], 3, None, "a", numpy.float64(2)):
        wanted = outcome(getattr(numpy.ndarray, name), other, *args)
        assert wanted[0] == "TypeError"
        assert outcome(getattr(lazynp.ndarray, name), other, *args) == wanted
    assert outcome(getattr(lazynp.ndarray, name)) == outcome(getattr(numpy.ndarray, name))


def test_methods_that_write_into_numpys_arrays() -> None:
    x = numpy.array([3.0, 1, 2])
    lazynp.ndarray.sort(x)
    assert x.tolist() == [1, 2, 3]
    lazynp.ndarray.fill(x, 5)
    lazynp.ndarray.put(x, [1], [9])
    assert x.tolist() == [5, 9, 5]
    lazynp.ndarray.setflags(x, write=False)
    assert not x.flags.writeable
    assert [type(v) for v in map(lazynp.ndarray.flatten, [ROWS])] == [lazynp.ndarray]
    ours = lazynp.asarray(ROWS)
    assert pickle.loads(pickle.dumps(ours)).tolist() == ROWS.tolist()


class Theirs(numpy.ndarray):
    """A library's own subclass of NumPy's array."""


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("kind", [numpy.ndarray, numpy.matrix, Theirs])
def test_linear_algebra_of_numpys_arrays(kind: type, mode: str) -> None:
    x = (numpy.eye(2) + 1).view(kind)
    for name in (
        "inv",
        "pinv",
        "cholesky",
        "eig",
        "eigh",
        "svd",
        "qr",
        "det",
        "norm",
        "slogdet",
        "matrix_rank",
        "cond",
    ):
        wanted = outcome(getattr(numpy.linalg, name), x)
        with config(mode=mode):
            assert outcome(getattr(lazynp.linalg, name), x) == wanted, name
    with config(mode=mode):
        assert outcome(lazynp.linalg.solve, x, x) == outcome(numpy.linalg.solve, x, x)


def test_results_wrapped_by_numpys_arrays() -> None:
    a, number = lazynp.arange(3.0), lazynp.array(2.0)
    assert type(ROWS.__array_wrap__(a)) is lazynp.ndarray
    assert type(ROWS.__array_wrap__(number, None, True)) is numpy.float64
    assert type(ROWS.__array_wrap__(ROWS)) is numpy.ndarray
    assert type(ROWS.view(Theirs).__array_wrap__(a)) is Theirs
    assert type(ROWS.view(numpy.matrix).__array_wrap__(a.reshape(1, 3))) is lazynp.matrix


class ByUfunc:
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        known = all([isinstance(x, (numpy.ndarray, ByUfunc)) for x in inputs])
        return (ufunc.__name__, method) if known else NotImplemented


class ByFunction:
    def __array_function__(self, function: Any, kinds: Any, args: Any, kwargs: Any) -> Any:
        known = all([issubclass(k, (numpy.ndarray, ByFunction)) for k in kinds])
        return function.__name__ if known else NotImplemented


@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_types_that_know_numpys_arrays_and_no_others(mode: str) -> None:
    with config(mode=mode):
        x = lazynp.arange(4.0) + 1
        u, f = ByUfunc(), ByFunction()
        assert x + u == u + x == lazynp.add(x, u) == ("add", "__call__")
        assert lazynp.add.outer(u, x) == ("add", "outer")
        assert lazynp.add(u, x, where=x > 2) == ("add", "__call__")
        assert (x == u) == ("equal", "__call__") and x @ u == ("matmul", "__call__")
        assert lazynp.concatenate([x, f]) == "concatenate"
        assert lazynp.where(x > 2, x, f) == "where" and lazynp.dot(f, x) == "dot"
        with pytest.raises(TypeError, match="returned NotImplemented"):
            lazynp.add(x, u, out=x)
        with pytest.raises(TypeError, match="no implementation found"):
            lazynp.dot(x, type("Other", (), {"__array_function__": lambda *args: NotImplemented})())
        numpy.testing.assert_array_equal(x, [1, 2, 3, 4])
