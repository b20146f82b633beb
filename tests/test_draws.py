"""Large draws of a generator go on in a thread of their own: the numbers, their order, and what waits for them."""

from __future__ import annotations

import copy
import gc
import math
import os
import pickle
import subprocess
import sys
import threading
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from numpy.random.bit_generator import ISpawnableSeedSequence

import lazynp as np
from lazynp.backends.numpy.parts import in_parts
from lazynp.backends.support import CORES
from lazynp.numpy import draws

ROOT = Path(__file__).parents[1]
MODES = ("auto", "graph", "eager")
N = 250_000  # more than what is small in any mode
several_cores = pytest.mark.skipif(CORES < 2, reason="on one core everything is drawn at once")


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> Any:
    with np.config(mode=request.param):
        yield request.param


DRAWS = {
    "random": lambda r: r.random(N),
    "random by name": lambda r: r.random(size=N),
    "random of a shape": lambda r: r.random((3, N)),
    "random in single precision": lambda r: r.random(N, dtype="f4"),
    "standard_normal": lambda r: r.standard_normal(N),
    "standard_exponential": lambda r: r.standard_exponential((2, N)),
    "normal": lambda r: r.normal(2.0, 3, N),
    "normal of one argument": lambda r: r.normal(size=(N,), loc=-1),
    "normal with a scale for each": lambda r: r.normal(0.0, [1.0, 2.0], (N, 2)),
    "uniform": lambda r: r.uniform(-1, 5.5, N),
    "exponential": lambda r: r.exponential(0.5, size=N),
    "integers": lambda r: r.integers(10, size=N),
    "integers between": lambda r: r.integers(-5, 1 << 40, N),
    "integers of a dtype": lambda r: r.integers(0, 100, N, dtype="u1"),
    "gamma": lambda r: r.gamma(2.0, 1.0, N),
    "few": lambda r: r.normal(size=7),
    "one": lambda r: r.random(),
    "none": lambda r: r.random(0),
    "permutation": lambda r: r.permutation(20),
    "choice": lambda r: r.choice(9, 4),
}


def test_numbers_that_several_threads_draw_are_numpy_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number of `random` takes one step of the generator: what half of a word has left for later stays."""
    parts: list[Any] = []
    monkeypatch.setattr(draws, "DIVIDED", 1 << 17)
    monkeypatch.setattr(draws, "in_parts", lambda *given: parts.append(given) or in_parts(*given))
    ours, theirs = np.random.default_rng(4), numpy.random.default_rng(4)
    for r in (ours, theirs):
        r.integers(0, 9, dtype="i4")
    for draw in (lambda r: r.random((3, N // 3 + 1)), lambda r: r.uniform(-1.3, 2.6, N), lambda r: r.normal(size=N)):
        assert numpy.array_equal(numpy.asarray(draw(ours)), draw(theirs))
    assert ours.integers(0, 9, 5, dtype="i4").tolist() == theirs.integers(0, 9, 5, dtype="i4").tolist()
    assert ours.bit_generator.state == theirs.bit_generator.state
    assert len(parts) == (2 if CORES > 1 else 0)


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_are_numpy_s(name: str, mode: str) -> None:
    """Twice, with other draws between: the generator is where NumPy's is."""
    ours, theirs = np.random.default_rng(5), numpy.random.default_rng(5)
    draw = DRAWS[name]
    for _ in range(2):
        x, between, y = draw(ours), ours.random(), draw(ours)
        wanted = draw(theirs), theirs.random(), draw(theirs)
        for got, want in zip((x, between, y), wanted):
            assert type(got) is (np.ndarray if type(want) is numpy.ndarray else type(want))
            assert numpy.asarray(got).dtype == numpy.asarray(want).dtype
            assert numpy.array_equal(numpy.asarray(got), want)
    assert ours.bit_generator.state == theirs.bit_generator.state


def test_arrays_are_asked_for_in_another_order(mode: str) -> None:
    ours, theirs = np.random.default_rng(5), numpy.random.default_rng(5)
    xs = [ours.standard_normal(N + i) for i in range(12)]
    wanted = [theirs.standard_normal(N + i) for i in range(12)]
    for x, want in zip(xs[::-1], wanted[::-1]):
        x *= 2
        assert numpy.array_equal(numpy.asarray(x), want * 2)


@several_cores
def test_a_large_draw_is_pending() -> None:
    r = np.random.default_rng(1)
    x = r.random(N)
    assert x._s_.buf is None and type(r._drawn) is draws.Draw
    numpy.asarray(x)
    assert r.random() == numpy.random.default_rng(1).random(N + 1)[-1] and r._drawn is None


@several_cores
def test_not_where_others_have_the_bits() -> None:
    """Who asks for the bit generator, or made it, may draw from it himself."""
    bits = np.random.PCG64(1)
    theirs = numpy.random.PCG64(1)
    r, s = np.random.Generator(bits), numpy.random.Generator(theirs)
    for _ in range(2):
        x, raw = r.random(N), bits.random_raw()
        want, wanted = s.random(N), theirs.random_raw()
        assert raw == wanted and numpy.array_equal(numpy.asarray(x), want)
    r, s = np.random.default_rng(1), numpy.random.default_rng(1)
    x, want = r.random(N), s.random(N)
    assert r.bit_generator.random_raw() == s.bit_generator.random_raw()
    y, wanted = r.random(N), s.random(N)
    assert r.bit_generator.random_raw() == s.bit_generator.random_raw()
    assert numpy.array_equal(numpy.asarray(x), want) and numpy.array_equal(numpy.asarray(y), wanted)


@pytest.mark.parametrize("how", [copy.deepcopy, copy.copy, lambda r: pickle.loads(pickle.dumps(r))])
def test_copies_are_where_the_generator_is(how: Any) -> None:
    r, s = np.random.default_rng(1), numpy.random.default_rng(1)
    r.random(N), s.random(N)
    assert how(r).random() == how(s).random()


def test_children_are_numpy_s() -> None:
    r, s = np.random.default_rng(1), numpy.random.default_rng(1)
    r.random(N), s.random(N)
    for a, b in zip(r.spawn(2), s.spawn(2)):
        assert numpy.array_equal(numpy.asarray(a.random(N)), b.random(N))


class Counted(ISpawnableSeedSequence):
    """A sequence of seeds of a user's own, whose states are arrays of the door that it is used with."""

    def __init__(self, m: Any, first: int = 1) -> None:
        self.m, self.first = m, first

    def generate_state(self, n_words: int, dtype: Any = numpy.uint32) -> Any:
        return self.m.arange(n_words, dtype=dtype) + self.m.asarray(self.first, dtype)

    def spawn(self, n_children: int) -> Any:
        return [Counted(self.m, self.first + 1 + i) for i in range(n_children)]


@pytest.mark.parametrize("kind", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
@pytest.mark.parametrize("seeds", [lambda m: m.random.SeedSequence([5, 6]), Counted], ids=["ours", "a user's"])
def test_bit_generators_take_sequences_of_seeds(kind: str, seeds: Any) -> None:
    ours, theirs = [], []
    for m, out in ((np, ours), (numpy, theirs)):
        given = seeds(m)
        bits = getattr(m.random, kind)(given)
        assert bits.seed_seq is given
        made = [bits, *bits.spawn(2), *[getattr(m.random, kind)(seed=s) for s in given.spawn(2)]]
        out += [m.random.Generator(b).random() for b in made] + [m.random.Generator(bits).spawn(1)[0].random()]
    assert ours == theirs


def test_sequences_of_seeds_are_kept_by_copies() -> None:
    ours, theirs = [], []
    for m, out in ((np, ours), (numpy, theirs)):
        given = m.random.SeedSequence(5)
        r = m.random.default_rng(given)
        assert r.bit_generator.seed_seq is given
        out += [m.random.default_rng(s).random() for s in given.spawn(2)]
        for other in (pickle.loads(pickle.dumps(r)), copy.deepcopy(r)):
            out += [other.random(), other.spawn(1)[0].random(), other.bit_generator.seed_seq.entropy]
        out += given.generate_state(3).tolist()
    assert ours == theirs


WRONG = {
    "a negative scale": lambda r: r.normal(0.0, -1.0, N),
    "a negative mean": lambda r: r.exponential(-1.0, N),
    "bounds that are infinite": lambda r: r.uniform(0, math.inf, N),
    "bounds too far apart": lambda r: r.uniform(-1e308, 1e308, N),
    "bounds the wrong way": lambda r: r.integers(5, 5, N),
    "integers too large": lambda r: r.integers(0, 1 << 70, N),
    "a negative size": lambda r: r.random(-N),
    "a size that is none": lambda r: r.random(1.5 * N),
    "an argument twice": lambda r: r.random(N, size=N),
    "an argument too many": lambda r: r.normal(0, 1, N, 5),
    "an unknown argument": lambda r: r.normal(size=N, mean=1),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_come_at_the_call(name: str, mode: str) -> None:
    with pytest.raises(Exception) as wanted:
        WRONG[name](numpy.random.default_rng(1))
    r = np.random.default_rng(1)
    with pytest.raises(type(wanted.value)) as got:
        WRONG[name](r)
    assert str(got.value) == str(wanted.value)
    assert r.random() == numpy.random.default_rng(1).random()


@several_cores
def test_numbers_can_be_had_again() -> None:
    r = np.random.default_rng(1)
    for draw in (lambda: r.random((2, N)), lambda: r.normal(1.0, 2.0, N)):
        x = draw()
        taken = r._drawn
        first = taken.take()
        assert numpy.array_equal(first, taken.take()) and numpy.array_equal(first, numpy.asarray(x))


SHORT = [True]  # whether there is no memory


def random(generator: Any, *, out: Any) -> Any:
    if SHORT[0]:
        out[: N // 2] = numpy.random.Generator.random(generator, N // 2)
        raise MemoryError("no more")
    return numpy.random.Generator.random(generator, out=out)


@several_cores
def test_a_draw_that_failed_is_done_again() -> None:
    """By who asks for it, or for what was to come behind it: all numbers are NumPy's. Nothing is kept for the sake of
    an error: not what the asking function had."""
    theirs = numpy.random.default_rng(1)
    wanted = [theirs.random(N) for _ in range(3)]
    slow = types.FunctionType(random.__code__, {**globals(), "__name__": "numpy.random"}, "random", None)
    slow.__kwdefaults__ = random.__kwdefaults__
    for first in range(3):
        SHORT[0], r = True, np.random.default_rng(1)
        x = draws.ahead(r, "random", slow, (N,), {})
        y = r.random(N)
        for value in (x, y + 1):
            with pytest.raises(MemoryError, match="no more"):
                numpy.asarray(value)
        with pytest.raises(MemoryError, match="no more"):
            r.random()
        SHORT[0] = False
        z = r.random(N)
        got = [x, y, z]
        for k in (first, 0, 1, 2):
            assert numpy.array_equal(numpy.asarray(got[k]), wanted[k])
        kept = weakref.ref(x)
        del got, value, x
        gc.collect()
        assert kept() is None


@several_cores
def test_what_there_is_no_room_for_is_refused_at_the_call() -> None:
    r, theirs = np.random.default_rng(1), numpy.random.default_rng(1)
    x = r.random(N)
    for draw in (r.random, r.normal, lambda size: r.integers(9, size=size)):
        with pytest.raises(MemoryError):
            draw(size=(1 << 24, 1 << 24))
    assert numpy.array_equal(numpy.asarray(x), theirs.random(N))
    assert numpy.array_equal(numpy.asarray(r.random(N)), theirs.random(N))


def test_no_more_memory_than_what_is_ahead() -> None:
    """The program waits for its numbers where it asks for them faster than they come."""
    r = np.random.default_rng(1)
    seen = 0
    for _ in range(60):
        r.random(1_000_000)
        seen = max(seen, draws.line.bytes)
    assert seen <= draws.AHEAD + 8_000_000


def test_draws_of_many_threads() -> None:
    """Each has a generator of its own."""
    found: dict[int, Any] = {}

    def work(seed: int) -> None:
        r = np.random.default_rng(seed)
        found[seed] = [numpy.asarray(r.standard_normal(N) + r.random(N)) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for seed, arrays in found.items():
        s = numpy.random.default_rng(seed)
        for x in arrays:
            assert numpy.array_equal(x, s.standard_normal(N) + s.random(N))
    assert len(found) == 6


def test_what_a_traced_function_draws_is_constant() -> None:
    def f(x: Any) -> Any:
        return (np.random.default_rng(1).random(N) * x).sum()

    wanted = numpy.random.default_rng(1).random(N).sum()
    assert numpy.isclose(numpy.asarray(np.grad(f)(2.0)), wanted)
    assert numpy.isclose(numpy.asarray(np.jit(f)(2.0)), 2 * wanted)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_while_numbers_are_drawn() -> None:
    code = f"""
import os, numpy, lazynp as np
r, s = np.random.default_rng(1), numpy.random.default_rng(1)
x, want = r.random({N}), s.random({N})
child = os.fork()
y = r.random({N})
ok = numpy.array_equal(numpy.asarray(x), want) and numpy.array_equal(numpy.asarray(y), s.random({N}))
if child == 0:
    os._exit(0 if ok else 1)
assert ok and os.waitpid(child, 0)[1] == 0
for _ in range(20):
    r.random(1_000_000)  # the process ends in the middle of them
print("fine")
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")


def test_the_global_state_by_its_name() -> None:
    """What libraries take for the default is one of ours, and the one that the module's functions draw from."""
    found: Any = np.random.mtrand._rand
    assert isinstance(found, np.random.RandomState)
    np.random.seed(3)
    x, rows = np.arange(5), np.arange(10).reshape(5, 2)
    found.shuffle(x)
    found.shuffle(rows)
    values = [found.normal(), np.random.normal(), *found.normal(size=3)]
    theirs = numpy.random.RandomState(3)
    for ours, wanted in ((x, numpy.arange(5)), (rows, numpy.arange(10).reshape(5, 2))):
        theirs.shuffle(wanted)
        numpy.testing.assert_array_equal(ours, wanted)
    assert values == list(theirs.normal(size=5)) and type(found.permutation(4)) is np.ndarray
    before = found.get_state()
    drawn = np.random.rand(2)
    found.set_state(before)
    numpy.testing.assert_array_equal(numpy.random.rand(2), drawn)
    again = pickle.loads(pickle.dumps(found))
    assert type(again) is np.random.RandomState and again.rand() == copy.deepcopy(found).rand() == np.random.rand()
    assert found._bit_generator is np.random.get_bit_generator()


LEGACY: list[Callable[[Any, Any], Any]] = [
    lambda m, r: r.choice(m.arange(5), 3, False),
    lambda m, r: r.choice(["a", "b", "c"], 4),
    lambda m, r: r.choice(m.arange(4), p=m.ones(4) / 4),
    lambda m, r: r.permutation(m.arange(12.0).reshape(3, 4)),
    lambda m, r: r.permutation(7),
    lambda m, r: r.randint(0, m.array([3, 4])),
    lambda m, r: r.rand(200, 200),
    lambda m, r: r.randn(4),
    lambda m, r: r.multivariate_normal(m.zeros(2), m.eye(2), 3),
    lambda m, r: r.get_state()[1],
    lambda m, r: r.get_state(legacy=False)["state"]["key"],
    lambda m, r: shuffled(r, m.arange(9)),
    lambda m, r: shuffled(r, [m.arange(2), 1, "text"])[1:],
    lambda m, r: pickle.loads(pickle.dumps(r)).randn(2),
    lambda m, r: copy.deepcopy(r).choice(9),
    lambda m, r: (r.choice(100), r.__init__(9), r.choice(100), r.seed(3), r.choice(100)),
]


def shuffled(r: Any, x: Any) -> Any:
    r.shuffle(x)
    return x


def test_legacy_generators_draw_numpy_s_numbers(mode: str) -> None:
    theirs, ours = numpy.random.RandomState(5), np.random.RandomState(5)
    for call in LEGACY:
        want, have = call(numpy, theirs), call(np, ours)
        kind = np.ndarray if type(want) is numpy.ndarray else type(want)
        assert type(have) is kind
        numpy.testing.assert_equal(numpy.asarray(have) if kind is np.ndarray else have, want)


def test_a_class_of_a_legacy_generator_is_asked_for_itself() -> None:
    class Loaded(np.random.RandomState):
        def randint(self, *args: Any, **kwargs: Any) -> Any:
            return 3

    assert Loaded(0).randint(6) == 3 and Loaded(0).rand() == numpy.random.RandomState(0).rand()
