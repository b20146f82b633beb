"""Writes into memory that others have views of, and so has to stay where it is: the engine computes what is written."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp

MODES: dict[str, dict[str, Any]] = {"graph": {"mode": "graph"}, "auto": {"mode": "auto", "small": 0}}
DTYPES = "?bBilefdFD"


def held(np: Any, dtype: str) -> Any:
    """An array of which somebody outside has a view."""
    x = np.arange(12).astype(dtype)
    return x, memoryview(x) if dtype != "e" else None


def apart(np: Any, dtype: str) -> Any:
    """A view that only NumPy can express, not aligned where its elements are longer than a byte."""
    memory = np.zeros(200, "u1")
    x = memory[1 : 1 + 12 * numpy.dtype(dtype).itemsize].view(dtype)
    x[:] = np.arange(12)
    return x, memory


def derived(np: Any, dtype: str) -> Any:
    class Derived(np.ndarray):  # type: ignore[misc]
        pass

    x = np.arange(12).astype(dtype)
    return x.view(Derived), x


KINDS = {"held": held, "apart": apart, "derived": derived}
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "slice": lambda np, x: x.__setitem__(slice(2, 9, 3), 1.5),
    "array": lambda np, x: x.__setitem__(slice(0, 5), np.array([3, 1, 4, 1, 5])),
    "itself": lambda np, x: x.__setitem__(slice(None), x[::-1]),
    "places": lambda np, x: x.__setitem__([7, 1], np.array([1, 0])),
    "mask": lambda np, x: x.__setitem__(np.arange(12) % 5 == 0, 1),
    "own mask": lambda np, x: x.__setitem__(x == 0, 1),
    "in place": lambda np, x: x.__imul__(True),
    "part in place": lambda np, x: x[2:6].__iadd__(x[3:7]),
    "out": lambda np, x: np.add(x, x, out=x),
    "out and where": lambda np, x: np.multiply(x, x, out=x, where=np.arange(12) > 4),
    "product": lambda np, x: np.matmul(x[:4].reshape(2, 2), x[4:8].reshape(2, 2), out=x[8:].reshape(2, 2)),
    "reduction": lambda np, x: x[:6].reshape(3, 2).max(1, out=x[9:]),
    "scan": lambda np, x: np.maximum.accumulate(x, out=x),
    "copyto": lambda np, x: np.copyto(x[1:], x[:-1]),
    "copyto where": lambda np, x: np.copyto(x, 1, where=[True, False] * 6),
    "fill": lambda np, x: x.fill(numpy.int8(1)),
    "flat": lambda np, x: x.flat.__setitem__(slice(2, 5), np.array([1, 0, 1])),
    "all of flat": lambda np, x: setattr(x, "flat", 1),
    "put": lambda np, x: x.put([3, 4], [1, 0]),
    "putmask": lambda np, x: np.putmask(x, np.arange(12) > 3, 1),
    "joined": lambda np, x: np.concatenate([x[:3], x[6:]], out=x[:9]),
}


def outcome(np: Any, kind: str, dtype: str, name: str, strict: bool = False) -> Any:
    """What the memory holds after a write, the result's class, and what was said."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        x, whole = KINDS[kind](np, dtype)
        with np.config(strict=True) if strict else contextlib.nullcontext():
            try:
                found = type(WRITES[name](np, x)).__name__
            except TypeError as error:
                found = type(error).__name__
        shown = [numpy.asarray(v).tobytes() for v in (x, whole) if v is not None]
        return found, shown, [str(w.message) for w in said]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WRITES)
def test_writes(name: str, kind: str, mode: str) -> None:
    for dtype in DTYPES:
        wanted = outcome(numpy, kind, dtype, name)
        with lazynp.config(**MODES[mode]):
            assert outcome(lazynp, kind, dtype, name) == wanted, dtype
            assert outcome(lazynp, kind, dtype, name, strict=True) == wanted, dtype


@pytest.mark.parametrize("mode", MODES)
def test_elements_that_are_there_twice(mode: str) -> None:
    """NumPy writes them in their order."""

    def done(np: Any) -> list[Any]:
        x = np.arange(6.0)
        twice = np.lib.stride_tricks.as_strided(x, (3, 2), (8, 8))
        twice[[2, 0]] = np.array([[7.0, 8.0], [5.0, 6.0]])
        twice += 1
        return x.tolist()

    with lazynp.config(**MODES[mode]):
        assert done(lazynp) == done(numpy)


@pytest.mark.parametrize("mode", MODES)
def test_a_call_with_out_is_made_once(mode: str) -> None:
    """A call that strict mode allows, and one that NumPy refuses."""
    calls: list[Any] = []

    def two(a: Any, b: Any) -> Any:
        calls.append((a, b))
        return a + b

    with lazynp.config(**MODES[mode], strict=True):
        f, one, out = lazynp.frompyfunc(two, 2, 1), lazynp.array([1], object), lazynp.array([0], object)
        three, shorter = lazynp.array([1, 2, 3], object), lazynp.array([1, 2], object)
        f(one, 2, out=out)
        assert calls == [(1, 2)] and out[0] == 3
        with pytest.raises(ValueError, match="broadcast"):
            lazynp.add(three, 1, out=shorter)
        with pytest.raises(lazynp.HostFallbackError):
            lazynp.add(three, 1, out=three)


VALUES = [[0, 1, 2], [-1, 3, 0], [300, 5, 7], [2**53 + 1, 1, 2], [0.5, 1, 2], [-0.0, 4, 2], [1e40, 0, 0]]
VALUES += [[float("nan"), 1, 2], [float("inf"), 1, 2], [float("-inf"), 1, 2], [1 + 0j, 2, 3], [1j, 2, 3], [2**63, 1, 0]]


@pytest.mark.parametrize("values", VALUES, ids=map(str, VALUES))
def test_the_same_values(values: Any) -> None:
    """`casting="same_value"` gives what NumPy gives, by the engine where there is a result."""

    def done(np: Any, given: str, dtype: str, strict: bool = False) -> Any:
        x = np.array(host.astype(given))
        with np.config(strict=strict) if strict else contextlib.nullcontext():
            try:
                out = x.astype(dtype, casting="same_value")
            except ValueError as error:
                return str(error)
        return out.dtype, out.tolist() if out.dtype.kind not in "fc" else repr(out.tolist())

    if numpy.lib.NumpyVersion(numpy.__version__) < "2.4.0":
        pytest.skip("casting='same_value' came with NumPy 2.4")
    host = numpy.array(values)
    with warnings.catch_warnings(), numpy.errstate(all="ignore"), lazynp.config(mode="graph"):
        warnings.simplefilter("ignore")
        for given in DTYPES:
            for dtype in DTYPES.replace("?", ""):
                if given != "?":
                    wanted = done(numpy, given, dtype)
                    assert done(lazynp, given, dtype) == wanted, (given, dtype)
                    assert done(lazynp, given, dtype, strict=True) == wanted, (given, dtype)
