"""Subclasses decide what class results are of; the engine computes them: nothing is left to NumPy in strict mode."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy
import pytest

import lazynp

MODES: dict[str, dict[str, Any]] = {"graph": {"mode": "graph"}, "auto": {"mode": "auto", "small": 0}}


def named(m: Any) -> Any:
    """A class with an attribute that goes from array to array."""

    class Named(m.ndarray):  # type: ignore[misc]
        def __array_finalize__(self, obj: Any) -> None:
            self.name = getattr(obj, "name", "none")

    return Named


def wrapping(m: Any) -> Any:
    """A class that makes ufuncs' results itself, and counts them."""

    class Wrapping(m.ndarray):  # type: ignore[misc]
        wraps: ClassVar[list[Any]] = []

        def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
            self.wraps.append((context[0].__name__, len(context[1]), context[2]) if context else None)
            return super().__array_wrap__(array, context, return_scalar)

    return Wrapping


def made(kind: str, m: Any, host: numpy.ndarray) -> Any:
    x = m.array(host)
    if kind == "matrix":
        return m.asmatrix(x)
    if kind == "masked":
        return m.ma.array(x, mask=host > 6)
    out = x.view(named(m) if kind == "named" else wrapping(m))
    if kind == "named":
        out.name = "x"
    return out


CALLS: dict[str, Callable[..., Any]] = {
    "ufunc": lambda m, x: m.exp(x),
    "operator": lambda m, x: x + 1,
    "other side": lambda m, x: 2.0 - x,
    "two": lambda m, x: m.add(x, x),
    "with an array": lambda m, x: m.array([[1.0, 2, 3, 4]]) + x,
    "power": lambda m, x: m.square(x),
    "comparison": lambda m, x: x > 3,
    "two results": lambda m, x: m.modf(x / 3),
    "where and dtype": lambda m, x: m.add(x, 1, dtype="f4"),
    "no subclass": lambda m, x: m.add(x, 1, subok=False),
    "copy": lambda m, x: x.copy(),
    "copy in order": lambda m, x: x.copy("F"),
    "np.array": lambda m, x: m.array(x, subok=True),
    "np.array of the base": lambda m, x: m.array(x),
    "np.array of a type": lambda m, x: m.array(x, "f4", subok=True),
    "astype": lambda m, x: x.astype("f4"),
    "astype of the base": lambda m, x: x.astype("f4", subok=False),
    "flatten": lambda m, x: x.flatten(),
    "ravel of the base": lambda m, x: m.asarray(x).T.ravel(),
    "rows": lambda m, x: x[[2, 0]],
    "places": lambda m, x: x[[0, 1], [1, 2]],
    "mask": lambda m, x: x[m.asarray(x) > 3],
    "sum": lambda m, x: x.sum(),
    "sum along": lambda m, x: x.sum(0),
    "mean": lambda m, x: x.mean(1),
    "std": lambda m, x: x.std(),
    "max": lambda m, x: x.max(axis=1),
    "all": lambda m, x: x.all(),
    "cumsum": lambda m, x: x.cumsum(1),
    "argmax": lambda m, x: x.argmax(0),
    "reduce": lambda m, x: m.add.reduce(x),
    "accumulate": lambda m, x: m.multiply.accumulate(x, 1),
    "take": lambda m, x: x.take([1, 2], 1),
    "repeat": lambda m, x: x.repeat(2, 0),
    "argsort": lambda m, x: x.argsort(1),
    "round": lambda m, x: (x / 3).round(1),
    "round to whole": lambda m, x: (x / 3).round(),
    "isnan": lambda m, x: m.isnan(x),
    "matmul": lambda m, x: m.matmul(x, m.asarray(x).T),
    "absolute": lambda m, x: abs(x),
    "nanmax": lambda m, x: m.nanmax(m.asarray(x), 0),
}
# NumPy subtracts a mean without axes that is of the class, from 2.3 on with `out=...`.
HOST = {("wrapping", "std")} if numpy.lib.NumpyVersion(numpy.__version__) >= "2.3.0" else set()


def seen(x: Any) -> Any:
    """What there is to see of a result."""
    if isinstance(x, tuple):
        return [seen(v) for v in x]
    kind = type(x).__name__
    h = numpy.asarray(x)
    return kind, getattr(x, "name", None), h.dtype, h.shape, h.tolist(), numpy.ma.getmaskarray(h).tolist()


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["named", "wrapping", "matrix", "masked"])
@pytest.mark.parametrize("name", CALLS)
def test_subclasses(name: str, kind: str, mode: str) -> None:
    if (kind, name) == ("masked", "matmul"):
        pytest.skip("NumPy's class makes a mask of it as of an elementwise function")
    host = numpy.arange(12.0).reshape(3, 4)
    theirs = made(kind, numpy, host)
    wanted = seen(CALLS[name](numpy, theirs))
    with lazynp.config(**MODES[mode]):
        ours = made(kind, lazynp, host)
        if (kind, name) in HOST:
            with lazynp.config(strict=True), pytest.raises(lazynp.HostFallbackError):
                CALLS[name](lazynp, made(kind, lazynp, host))
        with lazynp.config(strict=(kind, name) not in HOST):
            found = CALLS[name](lazynp, ours)
        assert seen(found) == wanted
        if kind == "wrapping":
            assert ours.wraps == theirs.wraps


def overriding(m: Any) -> Any:
    """A class whose methods count their calls, and go by a base's or by a function that could call them again."""

    class Overriding(m.ndarray):  # type: ignore[misc]
        calls: ClassVar[list[str]] = []

        def copy(self, order: Any = "C") -> Any:
            self.calls.append("copy")
            return copy.copy(self)

        def transpose(self, *axes: Any) -> Any:
            self.calls.append("transpose")
            return self.T

        def swapaxes(self, one: int, other: int) -> Any:
            self.calls.append("swapaxes")
            return self.mT

    for name in ("diagonal", "ravel", "reshape", "view"):

        def method(self: Any, *args: Any, name: str = name, **kwargs: Any) -> Any:
            self.calls.append(name)
            return getattr(m.ndarray, name)(self, *args, **kwargs)

        setattr(Overriding, name, method)
    return Overriding


OVERRIDDEN: dict[str, Callable[..., Any]] = {
    "copy": lambda m, x: x.copy(),
    "copy.copy": lambda m, x: copy.copy(x),
    "copy.deepcopy": lambda m, x: copy.deepcopy(x),
    "transpose": lambda m, x: x.transpose(),
    "swapaxes": lambda m, x: x.swapaxes(0, 1),
    "T": lambda m, x: x.T,
    "mT": lambda m, x: x.mT,
    "outer": lambda m, x: m.add.outer(x, x),
    "argmax": lambda m, x: x.argmax(),
    "trace": lambda m, x: x.trace(),
    "insert": lambda m, x: m.insert(x[0], 1, 9),
    "delete": lambda m, x: m.delete(x[0], 1),
    "correlate": lambda m, x: m.correlate(x[0], [1.0, 2]),
    "correlate of the second": lambda m, x: m.correlate([1.0, 2, 3], x[0]),
    "packbits": lambda m, x: m.packbits(x > 3),
    "unpackbits": lambda m, x: m.unpackbits(x.astype("u1")),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OVERRIDDEN)
def test_methods_that_a_class_overrides(name: str, mode: str) -> None:
    """What is NumPy's C code calls none of them, and what it makes is of the class."""
    found = []
    for m in (numpy, lazynp):
        kind = overriding(m)
        with lazynp.config(**MODES[mode]):
            x = m.ndarray.view(m.arange(12.0).reshape(3, 4), kind)
            kind.calls.clear()
            value = OVERRIDDEN[name](m, x)
        found.append((seen(value), kind.calls))
    assert found[1] == found[0]


def test_outer_of_masked_arrays_makes_no_matrix() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = lazynp.ma.array([1.0, 2.0], mask=[0, 1])
        assert lazynp.multiply.outer(x, x).tolist() == [[1.0, None], [None, None]]


ADVANCED: dict[str, Callable[..., Any]] = {
    "list": lambda m, x: x[[0, 2]],
    "mask": lambda m, x: x[m.asarray(x) > 3],
    "mask of the class": lambda m, x: x[x > 3],
    "places": lambda m, x: x[m.array([0]), [1]],
    "rows of columns": lambda m, x: x[..., [0]],
    "unique": lambda m, x: m.unique(x),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ADVANCED)
def test_what_an_advanced_index_chooses_has_a_base(name: str, mode: str) -> None:
    """NumPy makes a plain array of it, of which the result is a view."""
    found = []
    for m in (numpy, lazynp):
        with lazynp.config(**MODES[mode]):
            x = ADVANCED[name](m, made("named", m, numpy.arange(12.0).reshape(3, 4)))
            found.append((seen(x), x.flags.owndata, type(x.base).__name__))
    assert found[1] == found[0]
