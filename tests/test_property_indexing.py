"""Indexing in NumPy's full grammar, reading and writing, against NumPy: values, dtypes, shapes, exceptions.

Each case is one random array, one random key and one random value, in modes auto and graph; the array is a view of
another, which is compared too. `LAZYNP_PROGRAMS=20000` gives the full run, `LAZYNP_PROGRAMS_FROM=20000` the cases after
those, `LAZYNP_SEED=17` the one case of that seed.
"""

from __future__ import annotations

import collections
import random
import warnings
from typing import Any

import numpy
import pytest
from programs import data
from runs import describe, same, snapshot
from seeds import Seeds

import lazynp

SEEDS = Seeds("LAZYNP_PROGRAMS", 3000, blocks=20)
DTYPES = ("float64", "int64", "bool", "complex128", "uint8", "float32", "int16")
SETTINGS = (
    {"mode": "graph"},
    {"mode": "auto", "small": 0},
    {"mode": "auto", "small": 8},
    {"mode": "graph", "pending_nodes": 2},
)
VIEWS = (
    "b",
    "b.T",
    "b[::-1]",
    "b[..., ::2]",
    "b.reshape(-1)",
    "b[None]",
    "b[1:]",
    "b + 1",
    "b.swapaxes(0, -1)",
    "b[...]",
)
OPERATIONS = ("read", "read", "write", "write", "add", "multiply", "at", "chain", "out", "take", "put")


class Case:
    """A base, a view of it, a key, and what is done; all from one seed, and made for NumPy and for lazynp alike."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = random.Random(seed)
        self.seed = seed
        self.shape = tuple([rng.choice((0, 1, 2, 3, 3, 4, 5)) for _ in range(rng.choice((1, 1, 2, 2, 3)))])
        self.dtype = rng.choice(DTYPES)
        self.view = rng.choice(VIEWS) if rng.random() < 0.6 else "b"
        base = data(seed, self.shape, self.dtype)
        try:
            target = eval(self.view, {"b": base})
        except Exception:
            self.view, target = "b", base
        self.key = self.random_key(target.shape)
        self.operation = rng.choice(OPERATIONS)
        if self.operation == "take":
            self.key = nearer(self.key)
        self.value = self.random_value(target)

    def axis_key(self, n: int) -> Any:
        """Something that indexes one axis of that length; now and then out of bounds or of the wrong kind."""
        rng = self.rng
        if rng.random() < 0.02:
            return rng.choice([n, -n - 1, n + 3, 1.5, "x", numpy.float64(1), 2**40, [n], [1.5], numpy.array([0, n])])
        whole = rng.randint(-n, n - 1) if n else 0
        which = rng.random()
        if which < 0.2:
            return rng.choice([whole, whole, numpy.int64(whole), numpy.int8(whole), numpy.array(whole)])
        if which < 0.5:
            return slice(
                *[rng.choice((None, rng.randint(-n - 1, n + 1))) for _ in range(2)],
                rng.choice((None, None, 1, -1, 2, -2)),
            )
        if which < 0.7:
            return [rng.randint(-n, n - 1) for _ in range(rng.choice((0, 1, 2, 2, 3, 5)))] if n else []
        if which < 0.9:
            shape = rng.choice(((2,), (2,), (3,), (1,), (2, 1), (2, 2), (1, 2), (0,), ()))
            kind = rng.choice((int, int, numpy.int8, numpy.uint8))
            low = 0 if kind is numpy.uint8 else -n
            return numpy.array(
                [rng.randint(low, n - 1) if n else 0 for _ in range(int(numpy.prod(shape)))], kind
            ).reshape(shape)
        mask = numpy.array([rng.random() < 0.5 for _ in range(n)], bool)
        return rng.choice([mask, mask.tolist()]) if n else mask

    def random_key(self, shape: tuple[int, ...]) -> Any:
        rng = self.rng
        which = rng.random()
        if which < 0.12:
            return numpy.array([rng.random() < 0.5 for _ in range(int(numpy.prod(shape)))], bool).reshape(shape)
        if which < 0.16:
            return rng.choice(
                [(), Ellipsis, None, True, False, numpy.True_, numpy.array(True), (Ellipsis, Ellipsis), (True, 0)]
            )
        parts: list[Any] = []
        axes = list(shape[: rng.randint(1, len(shape))]) if shape else []
        while axes:
            if len(axes) > 1 and rng.random() < 0.1:
                two = axes[:2]
                parts.append(numpy.array([rng.random() < 0.5 for _ in range(two[0] * two[1])], bool).reshape(two))
                axes = axes[2:]
            else:
                parts.append(self.axis_key(axes.pop(0)))
        for extra, p in ((None, 0.15), (Ellipsis, 0.2), (0, 0.02), (True, 0.02)):
            if rng.random() < p:
                parts.insert(rng.randint(0, len(parts)), extra)
        return parts[0] if len(parts) == 1 and rng.random() < 0.8 else tuple(parts)

    def random_value(self, target: Any) -> Any:
        rng = self.rng
        scalars = [0, 1, 2.5, -3, True, 1 + 2j, numpy.float32(0.5), numpy.int16(7), 300]
        try:
            shape = numpy.shape(target[self.key])
        except Exception:
            shape = (2,)
        which = rng.random()
        if which < 0.35:
            return rng.choice(scalars)
        if which < 0.5 and shape:
            shape = shape[rng.randint(0, len(shape)) :]
        elif which < 0.6:
            shape = tuple([n if rng.random() < 0.6 else 1 for n in shape])
        elif which < 0.7:
            shape = rng.choice(((*shape, 2), (1, *shape), (1, 1, *shape), (*shape, 1)))
        if self.operation == "at" and not (indexes(target, self.key) and numpy.shape(target[self.key]) == shape):
            # NumPy 2.4 itself crashes on a value with more axes than it is added to, and reads beside one with fewer.
            shape = ()
        value = data(self.seed + 1, shape, rng.choice((self.dtype, self.dtype, *DTYPES)))
        as_list = rng.random() < 0.1 and numpy.can_cast(value.dtype, self.dtype)  # NumPy writes those until one fails
        return value.tolist() if as_list else value

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: b = data({self.seed}, {self.shape}, {self.dtype!r}); a = {self.view}; {self.operation}"
            f"; key = {self.key!r}; value = {self.value!r}"
        )


def nearer(key: Any) -> Any:
    """A key without indices so far away that NumPy, which comes round step by step, would take minutes."""
    if isinstance(key, tuple):
        return tuple([nearer(k) for k in key])
    return min(key, 1000) if isinstance(key, int) else key


def indexes(a: Any, key: Any) -> bool:
    """Whether a key is right for an array."""
    try:
        a[key]
    except Exception:
        return False
    return True


def convert(x: Any, make: Any) -> Any:
    """A key or a value with its arrays made by `make`."""
    if isinstance(x, tuple):
        return tuple([convert(v, make) for v in x])
    return make(x) if isinstance(x, numpy.ndarray) else x


def perform(case: Case, np: Any, ours: bool) -> list[Any]:
    """What an operation gives: its result or its exception's type, and the base and the view afterwards."""
    base = np.array(data(case.seed, case.shape, case.dtype))
    a = eval(case.view, {"b": base})
    key, value = convert(case.key, np.array if ours else lambda x: x), convert(case.value, np.array)
    result: Any = None
    try:
        match case.operation:
            case "read":
                result = a[key]
            case "write":
                a[key] = value
            case "add":
                a[key] += value
            case "multiply":
                a[key] *= value
            case "at":
                np.add.at(a, key, value)
            case "chain":
                a[key][...] = value
                result = a[key] * 2
            case "out":
                result = np.multiply(a[key], 2, out=a[key])
            case "take":
                result = np.take(a, key, mode="wrap")
            case "put":
                np.put(a, key, value, mode="clip")
        result = snapshot(result)
    except Exception as error:
        result = type(error)
    return [result, snapshot(base), snapshot(a)]


def difference(case: Case, settings: dict[str, Any]) -> str:
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = perform(case, numpy, ours=False)
        with lazynp.config(deterministic=True, **settings):
            got = perform(case, lazynp, ours=True)
    for what, x, y in zip(("result", "base", "view"), wanted, got):
        if not same(x, y):
            return f"{case}\n  {settings}, {what}\n  NumPy: {describe(x)}\n  lazynp: {describe(y)}"
    return ""


@pytest.mark.parametrize("block", SEEDS.blocks)
def test_indexing(block: int) -> None:
    seeds = SEEDS.of(block)
    differ = []
    for seed in seeds:
        case = Case(seed)
        differ += [text for s in (SETTINGS[0], SETTINGS[1 + seed % 3]) if (text := difference(case, s))][:1]
    print(f"{len(seeds)} cases of indexing, each in two modes; {len(differ)} differ")
    assert not differ, "\n\n" + "\n\n".join(differ[:5]) + f"\n\n{len(differ)} of {len(seeds)} differ"


class Provider:
    """An object that NumPy asks for an array."""

    def __init__(self, m: Any, value: Any) -> None:
        self.m, self.value = m, value

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.m.array(self.value, dtype)


class Place(Provider):
    def __index__(self) -> int:
        return 1


@pytest.mark.parametrize("small", [0, 8])
@pytest.mark.parametrize("value", [[1.0], [], 2.5, [2, 0], [True, False] * 10])
@pytest.mark.parametrize("kind", [Provider, Place])
def test_keys_that_provide_an_array(kind: Any, value: Any, small: int) -> None:
    """Empty ones are places, whatever their dtype, and other floats are told to be no arrays of integers."""
    found = []
    for m in (numpy, lazynp):
        x, key = m.arange(20), kind(m, value)
        with lazynp.config(small=small):
            for of in (key, (..., key), (slice(3), key)):
                try:
                    found.append((m, numpy.asarray(x[of]).tolist()))
                    x[of] = 5
                    found.append((m, x.tolist()))
                except (IndexError, TypeError) as error:
                    found.append((m, str(error)))
    assert [v for m, v in found if m is lazynp] == [v for m, v in found if m is numpy]


@pytest.mark.parametrize("key", [2, slice(2, 3), slice(0, 2)])
@pytest.mark.parametrize(
    "value", [collections.deque([1, 2]), range(2), range(1), memoryview(b"ab"), [[1], [2]], (1, 2)]
)
def test_sequences_as_elements(value: Any, key: Any) -> None:
    found = []
    for m in (numpy, lazynp):
        with lazynp.config(mode="graph"):
            x = m.zeros(4) * 1
            try:
                x[key] = value
                found.append(x.tolist())
            except ValueError as error:
                found.append(str(error))
    assert found[1] == found[0]
