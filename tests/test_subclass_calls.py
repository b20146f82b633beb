"""Subclasses decide what class results are of; the engine computes them: nothing is left to NumPy in strict mode."""

from __future__ import annotations

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
