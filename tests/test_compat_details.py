"""Details in which a result, or what is told beside it, differed from NumPy's: each a mechanism."""

import gc
import inspect
import io
import sys
import warnings
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.config import config


def signature(function: Any) -> str | None:
    """None where Python knows of none: NumPy's functions in C tell it from 2.4 on."""
    try:
        return str(inspect.signature(function))
    except ValueError:
        return None


def in_list(door: Any, kind: str, other: Any, dtype: Any) -> list[Any]:
    """What becomes of a 0-d subclass in a list, and what is warned of."""
    numbered = type("Numbered", (door.ndarray,), {"__float__": lambda x: 7.0, "__int__": lambda x: 8})
    x = door.ma.masked if kind == "masked" else door.array(3.0).view(numbered)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            made = door.array([x, other], dtype)
        except Exception as error:
            return [type(error).__name__, str(error)]
    kept = [type(v).__name__ for v in made.flat] if made.dtype == object else made.tolist()
    return [str(made.dtype), str(kept), [str(w.message) for w in said]]


@pytest.mark.parametrize("kind", ["masked", "numbered"])
@pytest.mark.parametrize("other", [None, 1, 1.5, "a", 1j, True, numpy.datetime64("2020"), numpy.timedelta64(3, "s")])
def test_0d_subclasses_in_lists(kind: str, other: Any) -> None:
    for dtype in (None, object, float, int, bool, complex, "U5", "M8[D]", "m8[s]", "u1"):
        assert in_list(np, kind, other, dtype) == in_list(numpy, kind, other, dtype), dtype


def test_0d_subclasses_are_written_as_they_are() -> None:
    x = np.array([None, None])
    x[...] = [np.ma.masked, 1]
    assert x[0] is np.ma.masked
    with pytest.raises(ValueError, match="Could not convert object to NumPy datetime"):
        np.zeros(2, "M8[s]")[:] = [np.ma.masked, 1]


@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_einsum_adds_to_zeros(mode: str) -> None:
    with config(mode=mode):
        for text, *operands in (
            ("i,j", [-1.0, 0.0], [0.0, -3.0]),
            ("i,j->ji", [-1.0, 0.0], [0.0, -3.0]),
            ("i,i->i", [-1.0], [0.0]),
            ("ij->j", [[-0.0], [-0.0]]),
            ("i,i", [-0.0], [1.0]),
        ):
            found = np.einsum(text, *map(np.array, operands))
            wanted = numpy.einsum(text, *map(numpy.array, operands))
            assert numpy.asarray(found).tobytes() == numpy.asarray(wanted).tobytes(), text
        large = np.full(100_000, 300, np.float16)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy's einsum tells of no overflow
            assert np.einsum("i,i", large, large) == numpy.inf


@pytest.mark.parametrize("n", [5, 200_000])
def test_owners_of_histograms(n: int) -> None:
    for given in ({}, {"bins": 50}, {"density": True}):
        found = np.histogram(np.linspace(0, 1, n), **given)
        wanted = numpy.histogram(numpy.linspace(0, 1, n), **given)
        assert [x.flags.owndata for x in found] == [x.flags.owndata for x in wanted]


@pytest.mark.parametrize("n", [5, 200_000])
@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_lines_of_warnings_beside_calls(n: int, mode: str) -> None:
    """Some kinds of errors are warned of, and others told to a function: both are of the line that called."""
    with config(mode=mode), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        told: list[Any] = []
        before = np.seterrcall(lambda *given: told.append(given))
        try:
            with np.errstate(divide="call", over="warn"):
                x = np.full(n, 1e308)
                np.add.accumulate(x)[:1].tolist()
                np.multiply(x, x)[:1].tolist()
                (x / np.zeros(n))[:1].tolist()
        finally:
            np.seterrcall(before)
    assert [(str(w.message), w.filename) for w in said] == [
        ("overflow encountered in accumulate", __file__),
        ("overflow encountered in multiply", __file__),
    ]
    assert told == [("divide by zero", 1)]


@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_lines_of_warnings_of_draws(mode: str) -> None:
    with config(mode=mode), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        np.random.default_rng(1).multivariate_normal([0, 1], [[1, 5], [0.5, 1]], 3)
        np.random.RandomState(1).random_integers(5, size=3)
    assert [w.filename for w in said] == [__file__] * 2


def test_methods_of_counterparts_are_introspected_as_numpys() -> None:
    for name in ("ufunc", "nditer", "broadcast", "flatiter", "ndarray"):
        ours, theirs = getattr(np, name), getattr(numpy, name)
        for method, value in vars(theirs).items():
            if not method.startswith("_"):
                assert (inspect.getdoc(getattr(ours, method)) or "") == (inspect.getdoc(value) or ""), (name, method)
                if callable(value) and signature(value) is not None:
                    assert signature(getattr(ours, method)) == signature(value), (name, method)


def read_by(door: Any, data: bytes) -> Any:
    return door.load(io.BytesIO(data), allow_pickle=True)


def test_files_of_objects_are_numpys() -> None:
    """NumPy reads them where lazynp is not installed, and what NumPy has written gives arrays of ours."""
    x = np.array([1, "a", None, np.arange(3)], object)
    file = io.BytesIO()
    np.save(file, x)
    theirs = io.BytesIO()
    numpy.save(theirs, numpy.array([1, "a", None, numpy.arange(3)], object))
    assert b"lazynp" not in file.getvalue()
    for data in (file.getvalue(), theirs.getvalue()):
        found = read_by(numpy, data)
        assert type(found) is type(found[3]) is numpy.ndarray
        ours = read_by(np, data)
        assert type(ours) is type(ours[3]) is np.ndarray
        assert ours.shape == (4,)
        assert ours[3].tolist() == found[3].tolist() == [0, 1, 2]
    packed = io.BytesIO()
    np.savez(packed, x=x)
    assert type(read_by(numpy, packed.getvalue())["x"]) is numpy.ndarray


DATE = "2020-01-01T00Z"  # of which NumPy warns


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: np.array([DATE], "M8[s]"),
        lambda: np.zeros(2, "M8[s]").__setitem__(0, DATE),
        lambda: np.zeros(2, "M8[s]").__setitem__(slice(None), [DATE, "2020"]),
        lambda: np.array([DATE]).astype("M8[s]"),
        lambda: np.array([[np.float64(1e5)]], "f2"),
    ],
)
def test_lines_of_warnings_of_casts(mode: str, make: Any) -> None:
    with config(mode=mode), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        make()
    assert [w.filename for w in said] == [__file__]


@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_texts_for_outs_of_dot(mode: str) -> None:
    with config(mode=mode):
        x = np.ones((3, 4))
        with pytest.raises(ValueError, match="output array has wrong dimensions"):
            np.dot(x, x.T, out=np.empty((2, 2)))
        for out in (np.empty((3, 3), "f4"), np.empty((3, 3), order="F"), np.empty(3)):
            with pytest.raises(ValueError, match="output array is not acceptable"):
                np.dot(x, x.T, out=out)


def test_errors_of_writes_keep_no_array() -> None:
    """An error that was caught holds nothing once it is gone: no frame of ours holds its own traceback."""
    x = np.arange(8.0)
    gc.disable()
    try:
        before = sys.getrefcount(x)
        for _ in range(3):
            try:
                x[[1, 99]] = 0
            except IndexError as error:
                text = str(error)
        assert "out of bounds" in text
        assert sys.getrefcount(x) == before
    finally:
        gc.enable()
