"""Programs over arrays that are large enough to be recorded: what is recorded of them, and what is computed at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp
from lazynp import speed
from lazynp.backends.numpy.crew import LONGEST, SHORTEST, Balance
from lazynp.config import config
from lazynp.runtime.profile import profile
from lazynp.runtime.recorder import FEW, recorder
from lazynp.runtime.steps import KernelStep

SIDE = 400


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    """The interpreter only; and recorded is what has more than 1,000 elements, so that a test is short."""
    with lazynp.config(deterministic=True, small=500):
        yield


def grid(seed: int = 0) -> numpy.ndarray:
    return numpy.random.default_rng(seed).random((SIDE, SIDE))


def same(step: Callable[..., Any], *arrays: numpy.ndarray) -> int:
    """Compare a function on NumPy's arrays and on ours; how many operations were recorded."""
    wanted = step(numpy, *[a.copy() for a in arrays])
    given = [lazynp.array(a) for a in arrays]
    recorder.flush()
    before = profile.operations
    found = step(lazynp, *given)
    recorder.flush()
    assert numpy.array_equal(numpy.asarray(found), wanted)
    return profile.operations - before


def fresh_rows(np: Any, a: Any) -> Any:
    out = np.zeros_like(a)
    for i in range(1, SIDE):
        out[i] = 0.5 * out[i - 1] + a[i]
    return out


def rows_of_a_copy(np: Any, a: Any) -> Any:
    out = a.copy()
    for i in range(1, SIDE):
        out[i] = (0.5 * out[i - 1] + a[i]) / 1.5
    return out


def columns_of_a_copy(np: Any, a: Any) -> Any:
    out = a.T.copy()
    for i in range(1, SIDE):
        out[:, i] -= 0.5 * out[:, i - 1]
    return out


def rows_only_written(np: Any, a: Any) -> Any:
    out = np.full((SIDE, SIDE), 2.0)
    for i in range(SIDE):
        out[i, 1:] = i
    return out


def rows_after_large_work(np: Any, a: Any) -> Any:
    out = a * a - 1.0
    for i in range(1, SIDE):
        out[i] += out[i - 1]
    return out * 2.0


@pytest.mark.parametrize(
    "step",
    [fresh_rows, rows_of_a_copy, columns_of_a_copy, rows_only_written, rows_after_large_work],
    ids=lambda f: f.__name__,
)
def test_rows_of_a_pending_array_are_soon_computed_at_once(step: Callable[..., Any]) -> None:
    """Each of 400 rows would be recorded otherwise, for ten times what computing it takes."""
    assert same(step, grid()) < 8 * FEW


def test_the_edges_of_a_grid_do_not_break_a_loop() -> None:
    """A few small writes in each round stay in the recorded loop: what runs is whole rounds, not pieces of them."""

    def relax(np: Any, a: Any) -> Any:
        for _ in range(40):
            a[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
            a[0], a[-1], a[:, 0], a[:, -1] = a[1] * 0.5, a[-2] * 0.5, a[:, 1], a[:, -2]
        return a

    before = profile.segments
    assert same(relax, grid()) > 40 * 8
    assert profile.segments - before < 60


def test_a_loop_over_rows_of_large_arrays() -> None:
    """A write to a row of an array that is too large to be noted as a whole is noted as one to a small array is."""
    a, b = lazynp.array(grid()), lazynp.array(grid(1))
    wanted, other = grid(), grid(1)
    for i in range(SIDE):
        a[i] = b[i] * 0.5
        a[i, 3:7] = 2.0
        a[3, 1] = i
        wanted[i] = other[i] * 0.5
        wanted[i, 3:7] = 2.0
        wanted[3, 1] = i
    assert numpy.array_equal(numpy.asarray(a), wanted)


@pytest.mark.parametrize(
    "key",
    [5, -1, (5,), (2, 3), (slice(2, 5), 7), (slice(None), 7), (..., 3), (None, 4), (4, ..., None), (), ...],
    ids=str,
)
def test_writes_of_few_and_of_many_elements(key: Any) -> None:
    """A plain index of a large array takes as many elements as NumPy says, whatever it is made of."""
    a, wanted = lazynp.array(grid()), grid()
    a[key] = 3.0
    wanted[key] = 3.0
    assert numpy.array_equal(numpy.asarray(a), wanted)
    for bad in ((0, 0, 0), (0, slice(None), 0, slice(None)), (..., ...), SIDE, (0, SIDE)):
        with pytest.raises(IndexError):
            a[bad] = 1.0


def test_helpers_that_cost_more_than_they_do_are_left_alone_for_a_while() -> None:
    """On a busy machine a helper may be off its core in the middle of a block, for longer than the work takes."""
    balance = Balance()
    for _ in range(5):
        balance.weigh(share=0.5, work=1.0, whole=1.0)  # half of it was done by others
    assert balance.alone_until == balance.pause == 0.0
    pauses = []
    for _ in range(9):
        balance.weigh(share=0.9, work=1.0, whole=9.0)
        pauses.append(balance.pause)
    assert pauses == sorted(pauses) and pauses[0] == SHORTEST and pauses[-1] == LONGEST
    assert balance.alone_until > time.monotonic()
    for _ in range(20):
        balance.weigh(share=0.5, work=1.0, whole=1.0)
    assert balance.pause == 0.0


def stored(f: Callable[[], Any]) -> int:
    """How many large results kernels store while f runs."""
    sizes: list[int] = []
    commit = KernelStep.commit

    def noted(self: KernelStep, env: Any, made: list[Any]) -> None:
        sizes.extend([x.size for x in made])
        commit(self, env, made)

    KernelStep.commit = noted  # type: ignore[method-assign]
    try:
        f()
    finally:
        KernelStep.commit = commit  # type: ignore[method-assign]
    return sum([size == SIDE * SIDE for size in sizes])


TEMPORARIES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "function": lambda np, u, v: np.sum(u * v),
    "function with axes": lambda np, u, v: np.max(u * v, axis=(0, 1)),
    "method": lambda np, u, v: (u - v).max(),
    "nested": lambda np, u, v: np.sqrt(np.mean((u - v) ** 2)),
    "function of a function": lambda np, u, v: np.abs(u - v).max(),
}


@pytest.mark.skipif(speed.native is None, reason="the C module knows who holds an argument")
@pytest.mark.parametrize("name", TEMPORARIES)
def test_a_temporary_that_is_reduced_is_not_stored(name: str) -> None:
    """A test of convergence needs |new - old| for its largest element only."""
    f = TEMPORARIES[name]
    u, v = lazynp.array(grid()), lazynp.array(grid(1))
    f(lazynp, u, v)  # Python calls it in another way the first time
    assert stored(lambda: f(lazynp, u, v)) == 0
    assert numpy.allclose(f(lazynp, u, v), f(numpy, grid(), grid(1)), rtol=1e-13)

    def held() -> Any:
        difference = lazynp.exp(u - v)  # which would take long to compute again: see test_postponed.py
        return difference.max(), difference

    assert stored(held) == 1


def test_a_temporary_that_outlives_its_reduction_has_its_value() -> None:
    """C code may hand on what a list holds without a reference of its own: it looks like a temporary."""
    u, v = lazynp.array(grid()), lazynp.array(grid(1))
    kept = [u - v, u * v]
    largest = list(map(lazynp.max, kept))
    smallest = [value.min() for value in kept]
    u += 1.0
    v *= 2.0
    for value, most, least, wanted in zip(kept, largest, smallest, (grid() - grid(1), grid() * grid(1)), strict=True):
        assert numpy.array_equal(numpy.asarray(value), wanted)
        assert (most, least) == (wanted.max(), wanted.min())


def bytes_only(np: Any, a: Any, b: Any) -> Any:
    c = a & b
    c |= a[:, 5, None] & b[5]
    c ^= 1
    c += a - b
    c[:, :] = c << 1
    c[1:, 1:] = c[:-1, :-1] | 1
    return np.maximum(c, a) - (c == b).astype(c.dtype)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_arrays_of_bytes_are_small_for_longer(dtype: str) -> None:
    """What an operation costs NumPy goes by bytes; but what makes wider numbers of them is recorded."""
    a, b = (numpy.random.default_rng(k).integers(0, 100, (100, 100)).astype(dtype) for k in range(2))
    assert same(bytes_only, a, b) < 5
    assert same(lambda np, a, b: a * 0.5 + b, a, b) > 1
    large = numpy.ones((200, 200), dtype)
    assert same(lambda np, a: (a & 3) + a, large) > 1
    masks = a > 50, b > 50
    assert same(lambda np, a, b: (a | b) & ~a ^ (a != b), *masks) == 0
    with pytest.raises(OverflowError):
        lazynp.array(a) + 1000
    with lazynp.config(mode="graph"):
        assert same(bytes_only, a, b) > 10


@pytest.mark.parametrize("ndmin", [0, 1, 2, 3])
def test_copies_with_a_least_number_of_axes(ndmin: int) -> None:
    """`np.cov` begins with one. It costs nothing until one of the two is written to, and is NumPy's."""

    def copied(np: Any, a: Any) -> Any:
        c = np.array(a, ndmin=ndmin, dtype=float)
        t = np.array(a.T, ndmin=ndmin)
        c -= 1.0
        t[..., 0] = 7.0
        assert (c.base is None) == (ndmin < 3)
        return np.stack([c.reshape(SIDE, SIDE), t.reshape(SIDE, SIDE), a])

    same(copied, grid())
    same(lambda np, a: copied(np, a * 2.0), grid())


# --- Small operands, large results ------------------------------------------------------------------------------------

OUTER: dict[str, Callable[[Any, Any, Any], Any]] = {
    "operator": lambda np, x, y: x[:, None] - y,
    "reflected": lambda np, x, y: y * x[:, None],
    "comparison": lambda np, x, y: x[:, None] < y[None, :],
    "function": lambda np, x, y: np.maximum(x[:, None], y),
    "power": lambda np, x, y: (x[:, None] + 2) ** y,
    "distances": lambda np, x, y: ((x.reshape(-1, 1, 2) - y.reshape(1, -1, 2)) ** 2).sum(axis=2),
    "columns": lambda np, x, y: x.reshape(-1, 2)[:, :1].T - y.reshape(-1, 2)[:, 1:],
}


@pytest.mark.parametrize("name", OUTER)
def test_small_operands_that_make_a_large_result_are_recorded(name: str) -> None:
    """Of distances between a thousand points each difference would go through memory before it is squared."""
    draw = numpy.random.default_rng(3)
    x, y = draw.random(600), draw.random(500)
    expected = OUTER[name](numpy, x, y)
    assert expected.size > config.limit > x.size
    found = OUTER[name](lazynp, lazynp.array(x), lazynp.array(y))
    assert found._s_.buf is None
    assert found.shape == expected.shape and found.dtype == expected.dtype
    with lazynp.config(deterministic=True):
        assert numpy.asarray(found).tobytes() == expected.tobytes()


def test_small_operands_that_do_not_fit_say_so() -> None:
    with pytest.raises(ValueError, match="could not be broadcast together"):
        lazynp.ones(1000) + lazynp.ones(999)
    with pytest.raises(ValueError, match="could not be broadcast together"):
        lazynp.add(lazynp.ones((1000, 2)), lazynp.ones((999, 1, 3)))


def few_keys(np: Any, r: Any, shape: tuple[int, ...]) -> list[tuple[str, Any]]:
    """Keys that take few elements of a large array, and some that take many."""
    places = [np.array(r.integers(-n, n, 7)) for n in shape]
    mask, rows = numpy.zeros(shape, dtype=bool), numpy.zeros(shape[0], dtype=bool)
    mask.flat[r.permutation(mask.size)[:9]] = True
    rows[r.permutation(len(rows))[: r.integers(0, 4)]] = True
    return [
        ("mask", np.array(mask)),
        ("NumPy's mask", mask),
        ("mask of rows", np.array(rows)),
        ("nothing", np.array(numpy.zeros(shape, dtype=bool))),
        ("one", places[0]),
        ("one of two axes", places[0].reshape(7, 1)),
        ("all", tuple(places)),
        ("a row and places", (3, places[-1])),
        ("places and columns", (places[0], slice(1, 9, 2))),
        ("columns by places", (slice(4, 6), places[-1])),
        ("broadcast", (places[0].reshape(7, 1), places[-1])),
        ("a mask and places", (np.array(rows), places[-1][: int(rows.sum())])),
        ("a list", [1, -2, 5]),
        ("a list in a tuple", (slice(None, 3), [1, -2, 5])),
        ("beyond", (np.array([0, 10**6]),)),
        ("too many", (0,) * (len(shape) + 1)),
        ("many", np.array(mask.sum(axis=1) >= 0)),
        ("ellipsis", (..., places[-1])),
        ("new axis", (None, places[0])),
    ]


def few_uses(np: Any, a: Any, key: Any, number: Any) -> list[Callable[[], Any]]:
    return [
        lambda: a[key],
        lambda: a.__setitem__(key, number),
        lambda: a.__setitem__(key, a[key] if number else np.array(a[key])[::-1]),
        lambda: np.add.at(a, key, 1),
    ]


@pytest.mark.parametrize("dtype", ["f8", "i4", "u1", "?", "c16", "f2"])
@pytest.mark.parametrize("seed", range(3))
def test_few_elements_of_a_large_array(seed: int, dtype: str) -> None:
    """They are read and written at once; what was recorded before of the array has its values from before."""

    def steps(np: Any) -> list[Any]:
        r = numpy.random.default_rng(seed)
        found: list[Any] = []
        for turn in range(2):
            a = np.array((r.random((90, 110)) * 90).astype(dtype))
            a = a if turn == 0 else a.T[::-1]
            for name, key in few_keys(np, r, a.shape):
                doubled = a * 2  # which is pending while the array is written
                number = r.integers(0, 2)
                for use in few_uses(np, a, key, number):
                    try:
                        found += [(name, use())]
                    except (IndexError, TypeError, ValueError) as error:
                        found += [(name, type(error).__name__)]
                found += [doubled, a.copy()]
            line = a.ravel()
            at = np.array(r.integers(-line.size, line.size, 5))
            found += [np.take(line, at), line.take(at), np.take(a, np.array([1, 5]), axis=0), a.take([3, 8], 1)]
            found += [np.searchsorted(np.sort(line.real), line[:4].real), line.put(at, 1), line, np.put(a, at, 0), a]
        return found

    def plain(x: Any) -> Any:
        return tuple(map(plain, x)) if isinstance(x, tuple) else (numpy.asarray(x).tobytes(), numpy.asarray(x).dtype)

    for mode in ("auto", "graph"):
        with config(mode=mode):
            ours = [plain(x) for x in steps(lazynp)]
        assert ours == [plain(x) for x in steps(numpy)]
