"""Single elements and iteration: every kind of index and value, beside NumPy's type, value and error."""

from __future__ import annotations

import operator
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from seeds import Seeds

import lazynp

SEEDS = Seeds("ELEMENTS", 4000, 8)
DTYPES = ("?", "i1", "u1", "i2", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "O", "S3", "M8[s]", ">f8", "q")
VALUES: tuple[Any, ...] = (
    *(True, False, numpy.True_, numpy.False_, 3, -1, 300, 2**70, 2.5, 1e300, float("nan"), 1 + 2j),
    *("ab", None, [1], (1, 2)),
    *(numpy.float64(1.5), numpy.float32(0.1), numpy.int64(7), numpy.int8(-3), numpy.uint8(200), numpy.complex64(1j)),
    *(numpy.datetime64(5, "s"), numpy.array(4.0), numpy.array(True)),
)
WHOLE: tuple[Callable[[int], Any], ...] = (
    *(int, int, int, numpy.int64, numpy.int32, numpy.int8, numpy.longlong, numpy.intp, float, bool, numpy.bool_),
    *(lambda k: numpy.uint8(abs(k)), lambda k: 2**65, lambda k: slice(k, None, 2), lambda k: numpy.array(k)),
)


def key(rng: random.Random, shape: tuple[int, ...]) -> Any:
    nd = len(shape)
    count = max(0, rng.choice([nd, nd, nd, nd - 1, nd + 1]))
    keys = [rng.choice(WHOLE)(rng.randint(-n - 1, n)) for n in (*shape, 1)[:count]]
    return keys[0] if len(keys) == 1 and rng.random() < 0.8 else tuple(keys)


def as_it_is(x: Any) -> Any:
    return x


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    try:
        value = call(*args)
    except Exception as error:
        return type(error), str(error)
    if isinstance(value, list):
        return [outcome(as_it_is, x) for x in value]
    kind = "array" if isinstance(value, (numpy.ndarray, lazynp.ndarray)) else type(value)
    a = numpy.asarray(value)
    return kind, a.dtype, a.shape, a.tolist() if a.dtype == object else a.tobytes()


@pytest.mark.parametrize("block", SEEDS.blocks)
@pytest.mark.filterwarnings("ignore")
def test_reads_and_writes(block: int) -> None:
    for seed in SEEDS.of(block):
        rng = random.Random(seed)
        shape = tuple([rng.randint(1, 4) for _ in range(rng.randint(0, 3))])
        dtype = rng.choice(DTYPES)
        start = numpy.random.default_rng(seed).random(shape) * 9
        h = numpy.asarray(start).astype("i8" if dtype == "M8[s]" else dtype).astype(dtype)
        if rng.random() < 0.3 and h.ndim:
            h = numpy.repeat(h, 2, axis=-1)[..., ::2]
        ours, h = lazynp.array(h), h.copy()
        for _ in range(4):
            k, value = key(rng, shape), rng.choice(VALUES)
            assert outcome(operator.getitem, ours, k) == outcome(operator.getitem, h, k), (seed, k)
            found, wanted = [outcome(operator.setitem, x, k, value) for x in (ours, h)]
            assert found == wanted, (seed, k, value)
            assert outcome(as_it_is, ours) == outcome(as_it_is, h), (seed, k, value)
        if dtype != "O":
            assert outcome(list, ours) == outcome(list, h), seed


def test_rows_are_unpacked() -> None:
    a = lazynp.array(numpy.arange(6).reshape(3, 2))
    assert [(type(x), x, y) for x, y in a] == [(numpy.int64, x, y) for x, y in numpy.asarray(a)]
    with pytest.raises(ValueError, match="too many values"):
        _x, _y = a
    for row in a:
        row[0] = -1
    assert numpy.asarray(a)[:, 0].tolist() == [-1, -1, -1]
    items = iter(a[0])
    assert items.__length_hint__() == 2 and list(items) == [-1, 1] and list(items) == []


def test_numbers_are_not_iterated_over() -> None:
    """Also once the other door is there, with which the C module takes the class a second time."""
    code = (
        "import lazynp as np, lazynp.jax\n"
        "for x in (np.array(1.0), np.array(1.0)[()] + np.zeros(()), np.ones(3)[1:2].reshape(())):\n"
        "    try: iter(x)\n"
        "    except TypeError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.stdout.splitlines()[0] == "iteration over a 0-d array" and len(done.stdout.splitlines()) == 3, done


@pytest.mark.parametrize(("dtype", "value"), [("f4", 1e300), ("c8", 1 + 1e300j), ("f4", numpy.float64(1e300))])
@pytest.mark.parametrize("key", [1, slice(0, 2)])
def test_what_raises_writes_no_more_than_in_numpy(dtype: str, value: Any, key: Any) -> None:
    found = []
    for np in (numpy, lazynp):
        a = np.zeros(3, dtype)
        with np.errstate(over="raise"), pytest.raises(FloatingPointError):
            a[key] = value
        found.append(numpy.asarray(a).tolist())
    assert found[0] == found[1]
