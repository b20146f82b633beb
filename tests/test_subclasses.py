"""NumPy's masked arrays, matrices and records, and ours: each is the other where it is given to the other."""

from __future__ import annotations

import collections.abc
import copy
import importlib
import operator
import pathlib
import pickle
import re
import sys
import types
import warnings
from typing import Any

import numpy
import pytest
from subclass_cases import FROM_NUMPY, LIBRARIES, MADE, TO_NUMPY

import lazynp
from lazynp.config import config
from lazynp.speed import native

MODES = ("auto", "graph")


def shown(expression: str, m: Any, folder: pathlib.Path, **names: Any) -> str:
    """What an expression gives with numpy or lazynp as `m`: its representation, or its error's type."""
    folder.mkdir(exist_ok=True)
    scope: dict[str, Any] = {"m": m, "N": numpy, "copy": copy, "pickle": pickle, "importlib": importlib, **names}
    scope["path"] = lambda name: str(folder / name)
    exec(MADE, scope)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what NumPy's functions say of masked values
        try:
            text = repr(eval(expression, scope))
        except Exception as error:
            text = type(error).__name__
    return re.sub("0x[0-9a-f]+", "", text).replace("lazynp", "numpy")


def check(expression: str, mode: str, folder: pathlib.Path, **names: Any) -> None:
    wanted = shown(expression, numpy, folder / "theirs", **names)
    with config(mode=mode):
        assert shown(expression, lazynp, folder / "ours", **names) == wanted


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("expression", [*TO_NUMPY.split("\n")[1:-1], *FROM_NUMPY.split("\n")[1:-1]])
def test_subclasses(expression: str, mode: str, tmp_path: pathlib.Path) -> None:
    if native is None and sys.version_info < (3, 12) and expression.startswith(("memoryview", "bytes", "bytearray")):
        pytest.skip("Python classes have no buffer before Python 3.12: README, without the C modules")
    check(expression, mode, tmp_path)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (0, 3), (3,)])
@pytest.mark.parametrize("name", ["all", "any", "max", "min", "sum", "mean", "ptp"])
def test_reductions_of_masked_arrays(name: str, shape: tuple[int, ...], tmp_path: pathlib.Path) -> None:
    """A scalar that comes of one is viewed as a masked array, in NumPy's code."""
    for mask in ("0", "1"):
        for more in ("", "axis=None", "axis=0", "axis=-1", "axis=0, keepdims=True"):
            check(f"m.ma.array(m.ones({shape}), mask=m.full({shape}, {mask})).{name}({more})", "auto", tmp_path)
        check(f"m.ma.zeros({shape}).{name}()", "auto", tmp_path)


@pytest.mark.parametrize("expression", LIBRARIES.split("\n")[1:-1])
def test_libraries(expression: str, tmp_path: pathlib.Path) -> None:
    root, module = re.findall(r"\b(matplotlib|scipy|pandas)(\.[a-z]+)?", expression)[0]
    library = pytest.importorskip(root, reason="it comes with lazynp[test]")
    importlib.import_module(root + module) if root != "pandas" else None
    if root == "scipy":
        pytest.importorskip("scipy.stats.mstats", reason="it comes with lazynp[test]")
    check(expression, "auto", tmp_path, **{root: library})


CLASSES = ("ma.MaskedArray", "matrix", "recarray", "char.chararray", "memmap")


def made(m: Any, folder: pathlib.Path) -> dict[str, Any]:
    """An array of each of the classes."""
    file = folder / m.__name__
    values = (
        m.ma.array([1, 2], mask=[0, 1]), m.matrix([[1, 2]]), m.rec.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
        m.char.array(["a"]), m.memmap(file, float, "w+", shape=(2,)),
    )  # fmt: skip
    return dict(zip(CLASSES, values))


def of_a_library(function: Any) -> Any:
    """The same code in an installed library."""
    code = function.__code__.replace(co_filename="/usr/lib/site-packages/library/code.py")
    return types.FunctionType(code, {"__name__": "library"})


def is_instance(x: Any, cls: type) -> tuple[bool, bool]:
    match x:
        case cls():
            matched = True
        case _:
            matched = False
    return isinstance(x, cls), matched


def both_ways(x: Any, cls: type) -> tuple[type, bool, type]:
    return x.__class__, isinstance(x, cls), x.__class__


@pytest.mark.filterwarnings("ignore")  # matrices and arrays of characters are deprecated
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CLASSES)
def test_isinstance(name: str, mode: str, tmp_path: pathlib.Path) -> None:
    """An array of ours is an instance of NumPy's class, and the other way round, whoever asks."""
    theirs, own = operator.attrgetter(name)(numpy), operator.attrgetter(name)(lazynp)
    with config(mode=mode):
        x, y = made(lazynp, tmp_path)[name], made(numpy, tmp_path)[name]
        derived = x.view(type("Derived", (own,), {}))
        others = [operator.attrgetter(n)(numpy) for n in CLASSES if n != name]
        for ask in (is_instance, of_a_library(is_instance)):
            assert [ask(v, c) for v in (x, y, derived) for c in (theirs, own)] == [(True, True)] * 6
            assert not any(any(ask(v, c)) for v in (x, derived) for c in others)
        assert type(x) is own and both_ways(x, theirs) == (own, True, own)
        assert getattr(x, "__class__") is own  # noqa: B009
        assert both_ways(derived, theirs)[0] is type(derived)
        assert of_a_library(both_ways)(x, theirs) == (theirs, True, theirs)
        assert not isinstance(derived, collections.abc.Sequence) and isinstance(x, collections.abc.Sized)
        assert type(copy.deepcopy(x)) is type(pickle.loads(pickle.dumps(x[:1]))) is own or name == "memmap"


@pytest.mark.skipif(native is None, reason="without the C module the code that is running decides")
def test_a_subclass_on_memory_that_was_given() -> None:
    data = bytearray(16)
    for module in (numpy, lazynp):
        r = module.recarray((2,), dtype=[("a", "i4"), ("b", "f4")], buf=data)
        assert r.base is data
        r.a[1] = 5
        assert data[8] == 5
        data[8] = 7
        assert r.a[1] == 7


def test_a_buffer_that_is_asked_for_inside_of_numpy() -> None:
    """NumPy's code is on the stack, but it is not NumPy that wants an array."""
    x = lazynp.ma.array([1.0, 2.0], mask=[0, 1])
    held = numpy.empty(1, object)
    held[0] = x
    assert numpy.frompyfunc(memoryview, 1, 1)(held)[0].tolist() == [1.0, 2.0]
    assert numpy.frompyfunc(numpy.asanyarray, 1, 1)(held)[0].mask.tolist() == [False, True]
    assert [m.tolist() for m in map(memoryview, [x])] == [[1.0, 2.0]]


class Plain(lazynp.ndarray):  # type: ignore[misc]
    pass


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize(
    "key", ["[0, 1, 2]", "numpy.array([True, False, True, True, False])", "np.array([4, 0])", "([1], [0])"]
)
def test_what_a_subclass_has_of_places_shows_a_plain_array(key: str, mode: str) -> None:
    with lazynp.config(mode=mode):
        x = lazynp.arange(10).reshape(5, 2).view(Plain)
        found = x[eval(key, {"np": lazynp, "numpy": numpy})]
        assert type(found) is Plain and type(found.base) is lazynp.ndarray
        found[0] = 7
        numpy.testing.assert_array_equal(numpy.asarray(found.base), numpy.asarray(found))
        assert x[0, 0] == 0 and x[1, 0] == 2


@pytest.mark.parametrize("cls", [numpy.ndarray, numpy.matrix, numpy.recarray])
def test_our_new_makes_numpys_arrays_of_numpys_classes(cls: type[Any]) -> None:
    """Pickles that were written with NumPy name its class, and libraries call `np.ndarray.__new__` with it."""
    assert type(lazynp.ndarray.__new__(cls, (2, 3), "i4")) is cls
    over = lazynp.ndarray.__new__(numpy.ndarray, (3,), "f8", lazynp.arange(6.0), 8)
    assert type(over) is numpy.ndarray and over.tolist() == [1, 2, 3]
    for wrong in (int, 3):
        with pytest.raises(TypeError):
            lazynp.ndarray.__new__(wrong, (2,))
