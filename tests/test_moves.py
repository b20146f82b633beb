"""Objects, texts, dates, structures and numbers in the other byte order are moved by the engine: copies, joins, writes
and choices, without NumPy (`config.strict`), with NumPy's values, dtypes and layouts."""

from __future__ import annotations

import gc
import random
import sys
import warnings
from typing import Any

import numpy
import pytest

import lazynp
from lazynp.numpy.host import HostFallbackError
from lazynp.runtime.recorder import recorder

DTYPES: dict[str, Any] = {
    "objects": "O",
    "texts": "U3",
    "bytes": "S2",
    "dates": "M8[s]",
    "other order": ">i4",
    "structures": [("a", "i4"), ("b", "O")],
    "structures of texts": [("a", "f8"), ("c", "U2")],
}
SMALL, LARGE = 6, 30_000  # from 64 KB on, buffers come from the pool


def values(name: str, n: int, rng: random.Random) -> numpy.ndarray:
    dtype = DTYPES[name]
    if name == "objects":
        out = numpy.empty(n, object)
        out[:] = [rng.choice([None, "x", i, 2.5]) for i in range(n)]
        return out
    if type(dtype) is list:
        return numpy.array([(i, str(i)) for i in range(n)], dtype)
    return numpy.array([rng.randrange(99) for _ in range(n)]).astype(dtype)


def program(np: Any, host: numpy.ndarray, seed: int) -> list[Any]:
    """Some copies, views, writes and joins, and all arrays in the end."""
    rng, pool = random.Random(seed), [np.array(host)]
    n = len(host)
    for _ in range(12):
        x = rng.choice(pool)
        y, m, some = x, x.shape[0], np.arange(x.size).reshape(x.shape) % 3 == 0
        match rng.randrange(12):
            case 0:
                y = x.copy(rng.choice("CKAF"))
            case 1:
                y = x.flatten(rng.choice("CFKA"))
            case 2:
                y = x[rng.randrange(m) :: rng.choice([1, 2, -1, 3])]
            case 3:
                y = x.reshape(2, -1) if x.size % 2 == 0 else x.ravel()
            case 4:
                y = x.T
            case 5:
                y = np.concatenate([x, x[::-1]])[: 2 * n]
            case 6:
                x[1 : m // 2 + 1] = x[:1]
            case 7:
                np.copyto(x, x[:1])
            case 8 if x.dtype.isnative:
                np.copyto(x, x[::-1], where=some)
            case 9 if x.dtype.isnative:
                y = np.where(some, x, x[::-1])
            case 10:
                y = x.astype(x.dtype)
            case _ if x.dtype.names:
                x["a"] = 7
                x["a"][:1] += 1
        pool.append(y)
    return pool


def layout(x: Any) -> list[int]:
    return [step for step, n in zip(x.strides, x.shape) if n > 1]


@pytest.mark.parametrize("mode", ["auto", "graph", "strict"])
@pytest.mark.parametrize("name", DTYPES)
def test_programs(name: str, mode: str) -> None:
    for size, count in ((SMALL, 40), (LARGE, 2)):
        for seed in range(count):
            host = values(name, size, random.Random(seed))
            right = program(numpy, host, seed)
            strict = mode == "strict" and name != "other order"  # which NumPy turns into the own one, by a cast
            with lazynp.config(mode="auto" if mode == "auto" else "graph", strict=strict):
                found = program(lazynp, host, seed)
            for x, y in zip(right, map(numpy.asarray, found)):
                assert (x.dtype, x.shape, layout(x)) == (y.dtype, y.shape, layout(y))
                assert x.tolist() == y.tolist()


def test_elements() -> None:
    with lazynp.config(mode="graph", strict=True):
        x = lazynp.array([(1, 2.0, "a"), (3, 4.0, "b")], [("i", "i4"), ("f", "f8"), ("s", "U3")])
        x["i"], x["s"] = [5, 6], "long"
        x["f"] *= 2
        x[1:] = (7, 8, "c")
        assert x.tolist() == [(5, 4.0, "lon"), (7, 8.0, "c")]
        y = lazynp.array(["a", "b", "c"], object)
        lazynp.copyto(y, "q", where=lazynp.array([True, False, True]))
        y[1:] = None
        assert y.tolist() == ["q", None, None]
        assert lazynp.full((2, 2), numpy.array((1, 2), "i4,i4")).tolist() == [[(1, 2)] * 2] * 2
        with pytest.raises(TypeError):
            lazynp.copyto(lazynp.array(numpy.array([1.5, 2.5], ">f4")), "x")
        with pytest.raises(HostFallbackError):  # it computes
            y == y  # noqa: B015


def test_characters() -> None:
    """To an array of characters a text is several elements."""
    with lazynp.config(mode="graph"):
        x = lazynp.zeros((2, 3), "c")
        x[0] = "abc"
        assert x.tolist() == [[b"a", b"b", b"c"], [b""] * 3]


@pytest.mark.parametrize(
    "dtype",
    [
        numpy.dtype("O", metadata={"a": 1}),
        numpy.dtype([("x", numpy.dtype("U3", metadata={"a": 1}))]),
        numpy.dtype([("x", "i4"), ("y", "f4")], align=True),
    ],
)
def test_what_equal_dtypes_have_not(dtype: Any) -> None:
    """The engine may have an equal dtype from before."""
    plain = numpy.dtype([(n, dtype[n].str) for n in dtype.names] if dtype.names else dtype.str)
    with lazynp.config(mode="graph"):
        for d in (plain, dtype):
            x = lazynp.zeros(10, d)
            x[2:] = x[:1]
            y = lazynp.full(10, x[0], d).copy()
            for z in map(numpy.asarray, (x, y, x.flatten())):
                assert z.dtype.isalignedstruct == d.isalignedstruct and z.dtype.metadata == d.metadata
                assert not z.dtype.names or z.dtype["x"].metadata == d["x"].metadata


def test_joins_that_cast() -> None:
    given = [numpy.array([1.5, 2.5]), numpy.array([3.5])]
    with lazynp.config(mode="graph"):
        for dtype in (">f8", "U", "S4", object):
            wanted = numpy.concatenate(given, dtype=dtype, casting="unsafe")
            found = lazynp.concatenate(list(map(lazynp.array, given)), dtype=dtype, casting="unsafe")
            assert found.dtype == wanted.dtype and found.tolist() == wanted.tolist()


def test_objects_are_counted() -> None:
    """No reference is lost, and none too many is kept, whichever buffer an object was in."""

    class Thing:
        pass

    thing = Thing()
    before = sys.getrefcount(thing)
    for mode in ("auto", "graph"):
        with lazynp.config(mode=mode):
            x = lazynp.array([thing] * 20_000, object)
            y = x.copy()
            y[::2] = None
            z = lazynp.concatenate([x, y])
            w = x.reshape(100, 200).T.copy()
            lazynp.copyto(y, x)
            y[5:700] = x[5:700]
            assert (
                all(a is thing for a in numpy.asarray(y)) and numpy.asarray(w).shape == (200, 100) and len(z) == 40_000
            )
            del x, y, z, w
            recorder.flush()
        gc.collect()
        assert sys.getrefcount(thing) == before


def test_texts_of_arrays_among_the_objects_of_a_buffer():
    for np in (numpy, lazynp):
        objects = np.array([None, None])
        objects[0], objects[1] = np.array(1.25), 3
        given = type("Given", (), {"__array_interface__": objects.__array_interface__, "owner": objects})()
        found = np.array([given], dtype="S")
        assert found.tolist() == [[b"1.25", b"3"]] and found.dtype == "S4"
    with pytest.raises(ValueError):
        lazynp.array([given, 1], dtype="S")


def test_a_dtype_equal_to_a_number_s_is_not_it():
    """NumPy's dtype for its own tests: a float64 with a factor, which equals float64 where that is 1."""
    scaled = numpy._core._multiarray_umath._get_sfloat_dtype()(1.0)
    with lazynp.config(mode="graph"):
        x = lazynp.array([1.0, 2.0]).astype(scaled)
        assert x.dtype.get_scaling() == 1.0
        assert x.view(numpy.float64).tolist() == [1.0, 2.0]


def test_a_deprecated_name_of_a_dtype_is_warned_of_once():
    """Or refused, where NumPy knows it no more."""

    def told(np: Any) -> Any:
        x = np.array(["hello", "world"])
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                return x.astype("a10").dtype, [w.category for w in said]
            except TypeError:
                return TypeError

    with lazynp.config(mode="graph"):
        assert told(lazynp) == told(numpy)
