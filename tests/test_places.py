"""Elements and rows that masks and arrays of whole numbers name, in C: NumPy's values, layouts, errors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest
from seeds import Seeds

import lazynp as np
from lazynp import speed
from lazynp.config import config

DTYPES = ("?", "i1", "u2", "i4", "i8", "f2", "f4", "f8", "c8", "c16", ">f8", "g", "M8[s]", "S3")
SEEDS = Seeds("PLACES", 4000, 8)


def laid_out(rng: Any, x: numpy.ndarray) -> numpy.ndarray:
    """The same elements, in memory of some other layout."""
    kind = rng.integers(5)
    if kind == 0:
        return numpy.asfortranarray(x)
    if kind == 1:
        out = numpy.empty([2 * n for n in x.shape], x.dtype)[tuple([slice(None, None, 2)] * x.ndim)]
        out[...] = x
        return out
    if kind == 2 and x.ndim:
        out = numpy.empty((x.shape[0] + 2, *x.shape[1:]), x.dtype)[1:-1]
        out[...] = x
        return out
    return numpy.ascontiguousarray(x[::-1])[::-1] if kind == 3 and x.ndim else x


def numbers(rng: Any, shape: Any, dtype: str) -> numpy.ndarray:
    return rng.integers(0, 100, shape).astype(dtype)


def key_for(rng: Any, shape: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    """A key, and the shape of what it names."""
    axes = int(rng.integers(1, len(shape) + 1))
    if rng.random() < 0.5 or not all(shape[:axes]):
        mask = rng.random(shape[:axes]) < rng.choice([0.02, 0.5, 0.97])
        return laid_out(rng, mask), (int(mask.sum()), *shape[axes:])
    common = tuple(rng.integers(0, 30, rng.integers(1, 3))) if rng.random() < 0.9 else (700,)
    dtype = rng.choice(["i8", "i4", "i8", "u1", "i2", "u4", "i1", "u2", "u8"])
    least = 0 if dtype[0] == "u" else -1
    beyond = int(rng.random() < 0.05)
    keys = [laid_out(rng, rng.integers(least * n, n + beyond, common).astype(dtype)) for n in shape[:axes]]
    return keys[0] if axes == 1 and rng.random() < 0.8 else tuple(keys), (*common, *shape[axes:])


def outcome(call: Any) -> Any:
    """The value, or the error's class and text; and the warnings."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            value = call()
        except Exception as error:
            value = type(error), str(error)
    return value, [(w.category, str(w.message)) for w in said]


def same(a: numpy.ndarray, b: numpy.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides and numpy.array_equal(a, b)


@pytest.mark.parametrize("block", SEEDS.blocks)
def test_random_keys(block: int) -> None:
    for seed in SEEDS.of(block):
        compare(seed)


def compare(seed: int) -> None:
    rng = numpy.random.default_rng(seed)
    nd = int(rng.integers(1, 4))
    most = [40, 8, 5] if rng.random() < 0.9 else [700, 4, 3]
    shape = tuple([int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, most[:nd])])
    dtype = rng.choice(DTYPES)
    x = laid_out(rng, numbers(rng, shape, dtype))
    key, found = key_for(rng, shape)
    wanted, given = outcome(lambda: x[key]), outcome(lambda: speed.get_places(x, key))
    assert wanted[1] == given[1], seed
    assert same(wanted[0], given[0]) if isinstance(wanted[0], numpy.ndarray) else wanted == given, seed
    values: list[Any] = [
        lambda: numbers(rng, found, dtype),
        lambda: 3,
        lambda: 2.5,
        lambda: numbers(rng, found, rng.choice(DTYPES)),
        lambda: laid_out(rng, numbers(rng, found, dtype)),
        lambda: numbers(rng, found[1:], dtype),
        lambda: numpy.float64(1.5),
    ]
    value = values[rng.integers(len(values))]()
    a, b = x.copy("K"), x.copy("K")
    assert outcome(lambda: a.__setitem__(key, value)) == outcome(lambda: speed.set_places(b, key, value)), seed
    assert numpy.array_equal(a, b), seed
    before = tuple([int(n) for n in rng.integers(1, 4, rng.integers(1, 3))])  # whole axes
    whole = (*[slice(None)] * len(before), *(key if isinstance(key, tuple) else (key,)))
    a = laid_out(rng, numbers(rng, (*before, *shape), dtype))
    b = a.copy("K")
    wanted, given = outcome(lambda: a[whole]), outcome(lambda: speed.get_places(a, whole))
    assert same(wanted[0], given[0]) if isinstance(wanted[0], numpy.ndarray) else wanted == given, seed
    value = numbers(rng, (*before, *found), dtype) if rng.random() < 0.6 else value
    assert outcome(lambda: a.__setitem__(whole, value)) == outcome(lambda: speed.set_places(b, whole, value)), seed
    assert numpy.array_equal(a, b), seed


def test_memory_that_is_read_and_written() -> None:
    """Keys and values that are parts of the array that is written."""
    for seed in range(40):
        rng = numpy.random.default_rng(seed)
        x = rng.integers(0, 20, (20, 2))
        a, b = x.copy(), x.copy()
        for write, y in ((numpy.ndarray.__setitem__, a), (speed.set_places, b)):
            write(y, y[:, 0].copy(), y[::-1])
            write(y, y[:, 0], y)
            write(y, (y[:, 0], y[:, 1] % 2), y[:, 1])
            z = y.reshape(-1)
            write(z[:20], z[:20].astype(bool), z[20 : 20 + int(z[:20].astype(bool).sum())])
        assert numpy.array_equal(a, b), seed


def test_an_error_leaves_the_array_as_it_was() -> None:
    x = numpy.arange(12.0).reshape(6, 2)
    before = x.copy()
    for key in (numpy.array([0, 6]), (numpy.array([1, 2]), numpy.array([0, -3]))):
        with pytest.raises(IndexError, match="out of bounds"):
            speed.set_places(x, key, 7.0)
        with pytest.raises(IndexError, match="out of bounds"):
            speed.get_places(x, key)
    with pytest.raises(IndexError, match="boolean index did not match"):
        speed.get_places(x, numpy.ones(5, bool))
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        speed.set_places(x, numpy.ones(6, bool), 7.0)
    assert numpy.array_equal(x, before)


def test_masks_of_other_bytes() -> None:
    """What shows bytes as truth values may have others than 0 and 1."""
    x, bytes_ = numpy.arange(200.0), numpy.random.default_rng(0).integers(0, 4, 200).astype(numpy.uint8)
    mask = bytes_.view(bool)
    for y in (x, x[:50]):
        part = mask[: y.size]
        found = outcome(lambda y=y, part=part: y[part])[0]
        given = outcome(lambda y=y, part=part: speed.get_places(y, part))[0]
        assert type(found) is type(given)
        if isinstance(found, numpy.ndarray):
            assert numpy.array_equal(found, given)


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("size", [12, 30_000, 300_000])
def test_behind_the_door(mode: str, size: int) -> None:
    """Texts of programs, on small and on large arrays."""
    rng = numpy.random.default_rng(1)
    points, near = rng.random((size, 3)), rng.integers(-size, size, (size, 2))
    side = int(size**0.5)
    table, i, j = rng.random((side, side)), rng.integers(0, side, size), rng.integers(0, side, size)

    def program(m: Any) -> list[Any]:
        p, k, t = m.array(points), m.array(near), m.array(table)
        apart = p[k[:, 0]] - p
        outside = p > 0.5
        p[outside] *= -0.9
        p[p < -0.8] = 0.25
        rows = p[:, 0] > 0
        q = p[rows]
        p[rows] = q[::-1]
        p[k[:5, 1]] = apart[:5]
        t[m.array(i[:12]), m.array(j[:12])] = m.arange(12.0)
        return [apart, p, q.sum(axis=0), t[m.array(i), m.array(j)], p[k[:7]], t[t > 0.9].sum()]

    with config(mode=mode):
        found = program(np)
    for a, b in zip(found, program(numpy)):
        assert numpy.array_equal(numpy.asarray(a), b)


@pytest.mark.parametrize("block", SEEDS.blocks)
def test_ufuncs_at(block: int) -> None:
    """In the order of the places, some of which come several times."""
    for seed in list(SEEDS.of(block))[::4]:
        rng = numpy.random.default_rng(seed)
        shape = tuple(rng.integers(1, [30, 8, 5][: rng.integers(1, 4)]))
        dtype = rng.choice(["f8", "f4", "i8", "u8", "i4", "u4", "i2", "c16", ">f8", "?"])
        x = numbers(rng, shape, dtype)
        key, found = key_for(rng, shape)
        scale = 1e38 if dtype == "f4" else 1e308 if dtype == "f8" else 1
        value = [
            numbers(rng, found, dtype),
            numbers(rng, found, dtype) * numpy.array(scale / 100, dtype),
            3,
            2.5,
            numbers(rng, found[1:], dtype),
        ][rng.integers(5)]
        f = [numpy.add, numpy.subtract, numpy.add, numpy.maximum][rng.integers(4)]
        a, b = x.copy(), x.copy()
        repeated = numpy.broadcast_to(value, found) if numpy.ndim(value) else value  # see the next test
        wanted = outcome(lambda f=f, a=a, k=key, v=repeated: f.at(a, k, v))
        given = outcome(lambda f=f, b=b, k=key, v=value: speed.at_places(f, b, k, v))
        if dtype in ("f4", "f8"):
            assert wanted == given, seed
        else:  # NumPy looks at flags that operations before have left
            assert wanted[0] == given[0], seed
        numpy.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("size", [24, 200_000])
@pytest.mark.parametrize("as_list", [False, True])
def test_repeated_values(mode: str, size: int, as_list: bool) -> None:
    """A value of one dimension is repeated along the others of the key; NumPy reads behind it, up to 2.5 at least."""
    rng = numpy.random.default_rng(5)
    for shape in ((29, 28), (3, 5, 7)):
        x, key, value = rng.random(size), rng.integers(-size, size, shape), rng.random(shape[-1])
        for f in (np.add, np.subtract, np.maximum):
            wanted = x.copy()
            for k, v in zip(key.ravel(), numpy.broadcast_to(value, shape).ravel()):
                wanted[k] = f.host(wanted[k], v)
            k, v = (key.tolist(), value.tolist()) if as_list else (key, value)
            with config(mode=mode):
                for places, values in ((k, v), ((k,), v), (np.array(key), np.array(value))):
                    y = np.array(x)
                    f.at(y, places, values)
                    numpy.testing.assert_array_equal(y, wanted)
            y = x.copy()
            getattr(numpy, f.__name__).at(y, np.array(key), np.array(value))  # NumPy asks ours
            numpy.testing.assert_array_equal(y, wanted)
            y = x.copy()
            speed.at_places(f.host, y, k, v)
            numpy.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "f4", "f8", "c8", "c16", "u8"])
def test_one_number_into_parts(dtype: str) -> None:
    """Of arrays of several dimensions, whose lines follow one another or have gaps between them."""
    rng = numpy.random.default_rng(7)
    for _ in range(300):
        shape = tuple(rng.integers(1, [90, 40, 12][: rng.integers(1, 4)]))
        x = numbers(rng, shape, dtype)
        y = np.array(x)
        cut = [slice(*sorted(rng.integers(0, n + 1, 2)), rng.choice([1, 1, 2])) for n in shape]
        keys = (..., tuple(cut), cut[0], (int(rng.integers(shape[0])), ...), (..., slice(None, None, -1)), (..., -1))
        key = keys[rng.integers(len(keys))]
        number = [1, 0, True][rng.integers(3)] if dtype in "?i1u8" else [2, -1.5, 3][rng.integers(3)]
        x[key] = number
        y[key] = number
        numpy.testing.assert_array_equal(numpy.asarray(y), x)
