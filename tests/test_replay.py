"""Loops that are replayed: what matches, what the program does, and everything that may come in between.

Each loop counts as known after it has come three times, and its program is compiled before it goes on.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pathlib
import signal
import sys
import threading
import time
import tracemalloc
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from replay_cases import (
    PROGRAMS,
    names_bound_anew,
    square,
    two_arrays_in_turns,
)

import lazynp
from lazynp.backends import artifacts
from lazynp.backends.loops import period
from lazynp.config import config
from lazynp.runtime import periods, replay
from lazynp.speed import native

pytestmark = [
    pytest.mark.skipif(native is None, reason="replay is part of the C module"),
    pytest.mark.skipif(artifacts.compiler_path() is None, reason="there is no C++ compiler"),
    pytest.mark.filterwarnings("default"),  # where warnings are errors nothing is replayed
]


@pytest.fixture(autouse=True)
def _replayed() -> Iterator[None]:
    with config(mode="auto"):
        replay.switch(True, 0, 0, replay.DirectPlanner, 0)
        native.replay_counts()
        yield
        replay.switch(config.replay)


def values(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return [values(y) for y in x]
    return (numpy.asarray(x).tobytes(), numpy.asarray(x).dtype, numpy.shape(x)) if hasattr(x, "shape") else x


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    """The values are NumPy's bit for bit, whenever the loop ends, and nearly all rounds are replayed."""
    for rounds in (60, 61, 3, 17, 60):
        assert values(PROGRAMS[name](lazynp, rounds)) == values(PROGRAMS[name](numpy, rounds)), rounds
    counts = native.replay_counts()
    assert counts["periods"] > 60, counts


@pytest.mark.parametrize("name", ["choices", "several_types", "results_of_their_own", "shifts"])
def test_nothing_warns_that_does_not_in_numpy(name: str) -> None:
    for np in (numpy, lazynp):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            PROGRAMS[name](np, 40)
        assert not [str(w.message) for w in seen], np.__name__
    assert native.replay_counts()["periods"] > 20


@pytest.mark.parametrize(
    "text",
    [
        "m = x > 0.5",
        "m = (x <= y) & (y >= x)",
        "m = np.isfinite(x)",
        "m = np.isnan(x) | np.isinf(x)",
        "z = np.maximum(x, y)",
        "z = np.minimum(x, 0.1)",
        "z = np.sign(x)",
        "z = np.clip(x, 0.0, 1.0)",
        "z = np.where(x < y, x, y)",
        "z = np.where(x < 0.5, 1.0, np.where(x > y, x, -x))",
        "m = x.reshape(500, 8).max(axis=1)",
        "m = x.reshape(20, 20, 10).min(axis=(0, 1))",
    ],
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_comparisons_say_nothing_of_nan(text: str, dtype: str) -> None:
    """Beside operations that would, on enough elements for vector instructions."""
    x = lazynp.array(numpy.where(numpy.arange(4000) % 7 == 0, numpy.nan, 0.3).astype(dtype))
    y = lazynp.ones(4000, dtype)
    code = compile(f"for k in range(40):\n    {text}; y = y * 0.5 + 0.1", "loop", "exec")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        exec(code, {"np": lazynp, "x": x, "y": y})
    assert not [str(w.message) for w in seen]
    assert native.replay_counts()["periods"] > 20


def test_memory_that_was_given_back_is_replayed() -> None:
    """An array that NumPy looks at is no operand of a program, and is one again when NumPy has let go of it. What is
    noted meanwhile makes no program that fits nothing."""

    def swaps(np: Any, u: Any, v: Any, rounds: int) -> Any:
        for _ in range(rounds):
            v[1:-1] = 0.5 * (u[2:] + u[:-2])
            u, v = v, u
        return u

    u, v = numpy.linspace(0, 1, 500) ** 2, numpy.ones(500)
    x, y = lazynp.array(u), lazynp.array(v)
    shown = numpy.asarray(x)
    for rounds in (40, 40, 40):
        swaps(lazynp, x, y, rounds)
        swaps(numpy, u, v, rounds)
        assert shown.tobytes() == u.tobytes()
    native.replay_counts()
    del shown
    for rounds in (40, 40, 40):
        assert values(swaps(lazynp, x, y, rounds)) == values(swaps(numpy, u, v, rounds))
    assert native.replay_counts()["periods"] > 60


def test_views_of_values_that_something_else_has_made() -> None:
    """An attribute, which is no operation of a program, gives a view of what the program has made; both are written."""

    def loop(np: Any, rounds: int) -> Any:
        f, g = square(np, 5), square(np, 6)
        for k in range(rounds):
            f = f - k
            f.T[...] -= f * 0.5
            w = g * 0.5
            v = w.T
            w[1:] = f[0, 1]
            g = v + w
        return f, g

    for rounds in (3, 10, 40):
        assert values(loop(lazynp, rounds)) == values(loop(numpy, rounds))


@pytest.mark.parametrize("longer_first", [False, True])
def test_loops_that_share_most_of_their_rounds(longer_first: bool) -> None:
    """Each has a program of its own, whichever came first."""

    def short(np: Any, u: Any, rounds: int) -> Any:
        v = u * 2
        for _ in range(rounds):
            v[1:-1] = 0.5 * (u[2:] + u[:-2])
            u, v = v, u
        return u

    def longer(np: Any, u: Any, rounds: int) -> Any:
        for _ in range(rounds):
            v = np.empty(200)
            v[1:-1] = 0.5 * (u[2:] + u[:-2])
            v[0], v[-1] = 1.0, 2.0
            u = v
        return u

    start = numpy.linspace(0, 1, 200)
    for loop in (longer, short) if longer_first else (short, longer):
        wanted = loop(numpy, start.copy(), 300).tobytes()
        periods, end = 0, time.monotonic() + 60
        while periods < 200 and time.monotonic() < end:  # a longer loop is looked for every 50 ms
            native.replay_counts()
            assert loop(lazynp, lazynp.array(start), 300).tobytes() == wanted
            periods = native.replay_counts()["periods"]
        assert periods >= 200, loop.__name__
    assert short(lazynp, lazynp.array(start), 300).tobytes() == short(numpy, start.copy(), 300).tobytes()
    assert native.replay_counts()["periods"] > 200


def test_a_loop_is_compiled_beside_it() -> None:
    replay.switch(True, seconds=0, trials=0)
    names_bound_anew(lazynp, 40)
    assert lazynp.compile_wait(60)
    native.replay_counts()
    assert values(names_bound_anew(lazynp, 100)) == values(names_bound_anew(numpy, 100))
    assert native.replay_counts()["periods"] > 80


def rows(np: Any, rounds: int) -> Any:
    """A loop that gains much by being replayed."""
    u, v = np.ones(200), np.zeros(200)
    for _ in range(rounds):
        v[1:-1] = 0.2 * (u[2:] + u[:-2] + u[1:-1]) + 0.01 * (u[1:-1] - 1.0)
        u, v = v, u
    return u, v


@pytest.mark.alone
def test_a_program_is_kept_where_a_round_takes_less_time() -> None:
    """Some visits are timed, and by turns what they would have done. Elements that are read back gain nothing."""

    def elements(np: Any, rounds: int) -> Any:
        u, v = np.ones(20), np.ones(100)
        for _ in range(rounds):
            u *= 0.999
            for i in range(8):
                v[i + 1] = 0.5 * v[i]
        return u, v

    for program, kept in ((elements, False), (rows, True)):
        replay.switch(True, 0, 0, replay.DirectPlanner, 7)
        assert values(program(lazynp, 300)) == values(program(numpy, 300))
        assert native.replay_counts()["periods"] > 20
        program(lazynp, 6000)  # by turns what is not noted is timed as well, some 30,000 operations of the first
        native.replay_counts()
        assert values(program(lazynp, 200)) == values(program(numpy, 200))
        periods = native.replay_counts()["periods"]
        assert (periods > 150) == kept and (periods == 0) != kept, (program.__name__, periods)


@pytest.mark.alone
def test_trials_in_several_threads_say_nothing() -> None:
    """Each thread has a clock of its own; what one began another goes on with."""

    replay.switch(True, 0, 0, replay.DirectPlanner, 7)
    for rounds in range(40):
        rows(lazynp, 4)
        thread = threading.Thread(target=rows, args=(lazynp, 3 + rounds % 3))
        thread.start()
        thread.join()
    rows(lazynp, 6000)  # as above
    native.replay_counts()
    assert values(rows(lazynp, 300)) == values(rows(numpy, 300))
    assert native.replay_counts()["periods"] > 150


@pytest.mark.alone
def test_an_inner_loop_gets_no_program_while_its_nest_is_timed() -> None:
    """What is left out for comparison is not noted, and the program goes on after it.

    NumPy's own run between two calls is nothing that is held against the program.
    """

    def generations(np: Any, rounds: int) -> Any:
        cells = (np.arange(512).reshape(8, 8, 8) % 5 == 0).astype("uint8")
        for _ in range(rounds):
            padded = np.zeros((10, 10, 10), dtype=np.uint8)
            padded[1:-1, 1:-1, 1:-1] = cells
            near = np.zeros(cells.shape, dtype=np.uint8)
            for i in range(3):
                for j in range(3):
                    near += padded[i : i + 8, j : j + 8, 1:9]
            cells = ((near == 5) | ((near == 4) & (cells == 1))).astype(np.uint8)
        return cells

    def settled(seconds: float) -> bool:
        """Whether it comes to that in so much time. It may not, where a trial is disturbed by others."""
        replay.switch(True, 8, 0.001, trials=7)
        end, calls = time.monotonic() + seconds, 0
        while calls < 20 and time.monotonic() < end:
            native.replay_counts()
            assert values(generations(lazynp, 40)) == values(generations(numpy, 40))
            calls = calls + 1 if native.replay_counts()["periods"] == 40 else 0
        return calls == 20

    assert any(settled(5) for _ in range(12))


@pytest.mark.alone
def test_what_costs_more_to_note_than_it_gains_is_not_noted() -> None:
    """Products of short rows, in loops of another length each time: noting one takes as long as doing it."""

    def factors(np: Any) -> Any:
        a = np.arange(1024.0).reshape(32, 32) % 7.0 + 40.0 * np.eye(32)
        for i in range(32):
            for j in range(i):
                a[i, j] -= a[i, :j] @ a[:j, j]
                a[i, j] /= a[j, j]
            for j in range(i, 32):
                a[i, j] -= a[i, :i] @ a[:i, j]
        return a

    def pace(trials: int) -> float:
        replay.switch(trials >= 0, trials=trials)
        for _ in range(4):
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                factors(lazynp)
            assert lazynp.compile_wait(60)  # until programs are there, all is noted
        times = []
        for _ in range(50):
            began = time.thread_time()
            factors(lazynp)
            times.append(time.thread_time() - began)
        return sorted(times)[25]

    assert values(factors(lazynp)) == values(factors(numpy))
    ratios = []
    while len(ratios) < 4 and (not ratios or min(ratios) > 1.2):
        ratios.append(pace(7) / pace(-1))
    assert min(ratios) < 1.2, ratios


@pytest.mark.alone
def test_other_work_between_the_visits_of_a_loop_is_none_of_its_own() -> None:
    """The stretch in which a program is entered began where the loop before had ended: what lay between was counted."""

    def relax(np: Any) -> Any:
        u = np.linspace(0.0, 1.0, 900).reshape(30, 30)
        u[0, :], u[-1, :] = 1.0, 0.0
        for _ in range(1000):
            old = u.copy()
            u[1:-1, 1:-1] = 0.25 * (old[2:, 1:-1] + old[:-2, 1:-1] + old[1:-1, 2:] + old[1:-1, :-2])
            if np.abs(u - old).max() < 1e-30:
                break
        return u

    replay.switch(True, 8, 0.001, trials=7)
    wanted, periods = values(relax(numpy)), []
    for _ in range(40):
        native.replay_counts()
        assert values(relax(lazynp)) == wanted
        periods.append(native.replay_counts()["periods"])
        began = time.thread_time()
        while time.thread_time() - began < 0.03:
            pass
    assert sorted(periods[20:])[5] > 500, periods


@pytest.mark.parametrize("asked", ["max", "sum", "dot"])
def test_an_array_that_is_held_when_a_number_is_asked_for(asked: str) -> None:
    """It was let go of before the next operation, so the program did not store it, and every visit ended there."""

    def sweeps(np: Any, a: Any) -> Any:
        for _ in range(2):
            old = a.copy()
            a[1:-1] = 0.5 * (old[2:] + old[:-2])
            change = np.abs(a - old)
            if (np.dot(change, change) if asked == "dot" else getattr(change, asked)()) < 1e-30:
                break

    def program(np: Any) -> Any:
        a = np.linspace(0.0, 1.0, 40) ** 2
        for _ in range(40):
            sweeps(np, a)
            a[0] = a[-1] * 0.5
            a[5:9] = 0.25 * a[4:8]
        return a

    for _ in range(3):
        native.replay_counts()
        assert values(program(lazynp)) == values(program(numpy))
    assert native.replay_counts()["periods"] >= 30


def test_what_is_useless_for_few_elements_may_be_worth_it_for_many() -> None:
    def loop(np: Any, n: int, rounds: int) -> Any:
        u, v = np.ones(n), np.ones(100)
        for _ in range(rounds):
            u = u * 0.5 + 0.25 * u
            for i in range(6):
                v[i + 1] = 0.5 * v[i]
        return u, v

    replay.switch(True, 0, 0, replay.DirectPlanner, 7)
    loop(lazynp, 2, 300)
    native.replay_counts()
    assert values(loop(lazynp, 20_000, 300)) == values(loop(numpy, 20_000, 300))
    assert native.replay_counts()["programs"] > 0


def test_arithmetic_is_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What C++ is written of is not left to NumPy's loops, each of which goes through memory. Loops that were looked up
    while lazynp was imported, `add` of float64 for one, had been kept without what is known of them."""
    texts, original = [], periods.generate

    def generate(*given: Any) -> Any:
        made = original(*given)
        texts.append(made.text)
        return made

    monkeypatch.setattr(periods, "generate", generate)
    u, v = (lazynp.array(numpy.random.default_rng(k).random(317)) for k in range(2))
    for _ in range(60):
        u[1:-1] += 0.25 * (v[2:] - 2.0 * u[1:-1] + v[:-2]) * (v[1:-1] / (1.0 + abs(u[1:-1])))
        v = numpy.sqrt(u * u) + numpy.maximum(u, v)
    assert len(texts) > 0 and not any("((Loop)" in text for text in texts)


def test_without_a_compiler(tmp_path: pathlib.Path) -> None:
    with config(compile=False, cache_dir=str(tmp_path)):
        replay.switch(True, 0, 0, replay.DirectPlanner, 0)
        assert values(names_bound_anew(lazynp, 60)) == values(names_bound_anew(numpy, 60))
        assert native.replay_counts()["periods"] == 0


def halves(np: Any, x: Any, y: Any, rounds: int, bad: int) -> Any:
    for k in range(rounds):
        y[3] = 0.0 if k == bad else 2.0
        z = x / y
        x = z * 0.5 + 1
    return x, z


def test_an_outer_product_has_the_axes_of_both() -> None:
    """Also where a program is expected whose second operand has others: a matrix beside a column."""

    def program(np: Any, rounds: int) -> Any:
        v, w, out = np.arange(4.0), np.ones((4, 4)), []
        for k in range(rounds):
            c = np.add.outer(v, w) if k == 40 else np.add(v[..., None], w)
            out.append(c.shape)
            w = w * 0.5 + c[..., :4, 0]
        return w, out

    for rounds in (60, 60):
        ours, theirs = program(lazynp, rounds), program(numpy, rounds)
        assert ours[1] == theirs[1] and ours[0].tolist() == theirs[0].tolist()
    assert native.replay_counts()["periods"] > 20


def test_warnings_are_told() -> None:
    results = []
    for np in (numpy, lazynp, lazynp):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            results.append(values(halves(np, np.ones(8), np.ones(8), 30, 20)))
            assert results[-1] == results[0]
        assert [str(w.message) for w in told] == ["divide by zero encountered in divide"], np
    assert native.replay_counts()["periods"] > 20


def test_warnings_of_reductions_have_numpys_words() -> None:
    def messages(np: Any) -> list[tuple[str, int]]:
        x = np.full(50, 1e300)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for k in range(40):
                y = x * 0.5
                total = (y * (1e9 if k == 35 else 1.0)).sum()
                y = y - np.mean(y, keepdims=True)
        assert total > 1e300
        return [(str(w.message), w.lineno) for w in seen]

    assert messages(lazynp) == messages(numpy) != []
    assert native.replay_counts()["periods"] > 10


def test_what_is_reduced_may_be_held() -> None:
    """An operand that only the call has is not stored, and is there if somebody else has it after all."""
    kept: list[Any] = []

    def program(np: Any, rounds: int) -> Any:
        kept.clear()
        x, shown = np.linspace(0.0, 1.0, 30), []
        for k in range(rounds):
            shown.append(np.abs(x * 1.5 - k).max())
            t = x * 0.5
            if k % 20 == 19:
                kept.append(t)
            shown.append((t + 1).sum())
            x = x * 0.99 + (t.min() + np.sin(x).mean())
            del t
        return x, shown, [np.array(t) for t in kept]

    for rounds in (60, 61):
        assert values(program(lazynp, rounds)) == values(program(numpy, rounds))
    assert native.replay_counts()["periods"] > 20


@pytest.mark.parametrize("how", ["errstate", "seterr", "filter"])
def test_errors_are_raised_where_they_are(how: str) -> None:
    """Whoever wants errors of floating-point operations gets them at their line, with all names as they were."""
    found = []
    for np in (numpy, lazynp, lazynp):
        x, y, k = np.ones(8), np.ones(8), 0
        with contextlib.ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            stack.enter_context(np.errstate())
            try:
                for k in range(30):
                    if k == 11 and how == "filter":
                        warnings.simplefilter("error")
                    elif k == 11 and how == "seterr":
                        np.seterr(divide="raise")
                    y[3] = 0.0 if k == 20 else 2.0
                    with np.errstate(divide="raise") if how == "errstate" else contextlib.nullcontext():
                        z = x / y
                    x = z * 0.5 + 1
            except (FloatingPointError, RuntimeWarning) as error:
                found.append((type(error), k, x.tolist(), z.tolist()))
    assert len(found) == 3
    assert found[1] == found[2] == found[0]


def test_errors_of_shapes_come_at_once() -> None:
    u, v = lazynp.ones(8), lazynp.ones(8)
    for k in range(30):
        if k == 20:
            v = lazynp.ones(9)
            with pytest.raises(ValueError, match="broadcast"):
                u * 0.5 + v
            break
        u = u * 0.5 + v
    assert u.tolist() == numpy.full(8, 2 - 0.5**20).tolist()


def test_what_has_become_known_outside_is_up_to_date() -> None:
    """NumPy's view of an array that the loop writes to, made in the middle of it."""
    seen: list[list[float]] = []
    for np in (numpy, lazynp):
        u, outside, now = np.zeros(16), None, []
        for k in range(40):
            u[1:] = u[:-1] + 1
            u *= 0.5
            if k == 20:
                outside = numpy.asarray(u)
            if outside is not None:
                now += outside.tolist()
        seen.append(now)
    assert seen[0] == seen[1]


def test_values_are_not_kept() -> None:
    """What nobody holds any more is let go of when the loop has ended and something else has come."""
    u = lazynp.ones(2000)
    for _ in range(40):
        v = u * 0.5
        u = v + 1
    last = weakref.ref(v)
    del v
    float(u[0])
    gc.collect()
    assert last() is None


@pytest.mark.parametrize("kind", ["array", "object", "object that writes", "number"])
def test_bounds_that_are_objects(kind: str) -> None:
    """A bound may be any object with `__index__`, which is Python code: it may look at arrays, and write."""

    def run(np: Any) -> Any:
        a, b = np.zeros(40), np.arange(40.0)
        where = np.zeros((), dtype=int)

        class Bound:
            value = 0

            def __index__(self) -> int:
                if kind == "object that writes":
                    a[39] += 1.0
                return self.value

        bound = Bound()
        for i in range(60):
            at: Any = 0
            if i > 30:
                at = {"array": where, "number": numpy.int64(i % 5)}.get(kind, bound)
            a[at:] += b[at:] * 0.5
            a[:30] = a[:30] * 0.25 + 1
            if i > 40:
                where += i % 3 == 0
                bound.value += i % 3 == 0
        return a

    wanted = numpy.asarray(run(numpy))
    for _ in range(4):
        assert numpy.array_equal(run(lazynp), wanted)


def test_shapes_are_set_in_the_middle() -> None:
    for np in (numpy, lazynp):
        u, out = np.arange(12.0), []
        for k in range(30):
            v = u * 0.5
            w = v[2:]
            if k == 20:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DeprecationWarning)
                    w.shape = (2, 5)
            u = u + 0.25
            out.append((w * 2).shape)
        if np is numpy:
            wanted = out
    assert out == wanted


def test_settings_change_in_the_middle() -> None:
    u = lazynp.ones(50)
    for k in range(40):
        if k == 20:
            with config(mode="graph"):
                u = u * 0.5 + k
            continue
        if k == 30:
            with config(replay=False):
                u = u * 0.5 + k
            continue
        u = u * 0.5 + k
    v = numpy.ones(50)
    for k in range(40):
        v = v * 0.5 + k
    assert u.tolist() == v.tolist()


def test_nothing_is_replayed_in_mode_eager() -> None:
    """There each operation is done at its line, of arrays of any size."""
    with config(mode="eager"):
        u = lazynp.ones(200_000)
        for k in range(80):
            u = u * 0.5 + k
        assert native.replay_counts()["periods"] == 0
        assert u[0] == halved_and_counted(80)
    assert replay.watching


def halved_and_counted(rounds: int) -> float:
    x = 1.0
    for k in range(rounds):
        x = x * 0.5 + k
    return x


def test_transformations_in_the_middle() -> None:
    u = lazynp.ones(10)
    for k in range(30):
        u = u * 0.5 + 1
        if k % 10 == 9:
            g = lazynp.grad(lambda x, u=u: (x * x * u).sum())(u)
            assert g.tolist() == (2 * u * u).tolist()
    assert u.tolist() == (numpy.full(10, 2 - 0.5**30)).tolist()


def step(np: Any, u: Any) -> None:
    old = u.copy()
    u[1:-1] = old[1:-1] + 0.05 * (old[2:] - old[:-2])  # which stays finite, however often it is done
    u *= 0.995


class Stop(Exception):
    pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
def test_a_signal_handler_that_raises() -> None:
    """Between any two operations: no update is lost, none is made twice."""

    def stop(*_: Any) -> None:
        raise Stop

    warm = lazynp.zeros(40)
    for _ in range(60):  # what is compiled here at once may drop what a handler raises
        step(lazynp, warm)
    before = signal.signal(signal.SIGALRM, stop)
    try:
        for number in range(30):
            u, v, rounds = lazynp.array(numpy.linspace(0, 1, 40)), numpy.linspace(0, 1, 40), 0
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.002 + 0.0007 * number, 0.5)
                while True:
                    rounds += 1
                    step(lazynp, u)
            except Stop:
                signal.setitimer(signal.ITIMER_REAL, 0)
            for _ in range(rounds - 1):
                step(numpy, v)
            states = [v.tobytes()]
            old = v.copy()
            v[1:-1] = old[1:-1] + 0.05 * (old[2:] - old[:-2])
            states.append(v.tobytes())
            v *= 0.995
            assert numpy.asarray(u).tobytes() in [*states, v.tobytes()]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def rows_of(np: Any, a: Any, k: int, rounds: int) -> None:
    for i in range(rounds):
        a[k] += k + 1
        a[k, 1:] = a[k, :-1] * 0.5 + i


def test_threads_write_rows_of_one_array() -> None:
    wanted = numpy.zeros((4, 40))
    for k in range(4):
        rows_of(numpy, wanted, k, 50)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(20):
            a = lazynp.zeros((4, 40))
            threads = [threading.Thread(target=rows_of, args=(lazynp, a, k, 50)) for k in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            assert a.tolist() == wanted.tolist()
    finally:
        sys.setswitchinterval(interval)


def test_a_loop_in_another_thread() -> None:
    """A value that one thread has matched, and another one looks at."""
    u, box = lazynp.ones(30), []
    for _ in range(40):
        u = u * 0.5 + 1
    thread = threading.Thread(target=lambda: box.append(u.tolist()))
    thread.start()
    thread.join()
    assert box == [numpy.full(30, 2 - 0.5**40).tolist()]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning", "ignore:.*fork.*:RuntimeWarning")
def test_a_fork_in_the_middle() -> None:
    u = lazynp.ones(30)
    for k in range(40):
        u = u * 0.5 + 1
        if k == 30:
            child = os.fork()
            if not child:
                for _ in range(9):
                    u = u * 0.5 + 1
                os._exit(0 if u.tolist() == numpy.full(30, 2 - 0.5**40).tolist() else 1)
            assert os.waitpid(child, 0)[1] == 0
    assert u.tolist() == numpy.full(30, 2 - 0.5**40).tolist()


def test_many_different_loops() -> None:
    """More than are kept: those that were not used for the longest time give way."""
    for n in range(2, 90):
        u = lazynp.ones(5)
        for _ in range(12):
            u = u * 0.5 + 1
            for bit in range(7):
                u = -u if n >> bit & 1 else abs(u)
            u = abs(u)
        assert u.tolist() == numpy.full(5, 2 - 0.5**12).tolist()
    assert native.replay_counts()["programs"] >= 80


def test_a_loop_after_one_whose_rounds_differ() -> None:
    """What was looked at for a loop that is none is not looked at for the next one."""
    a, b = square(lazynp), square(lazynp, seed=1)
    for odd in numpy.random.default_rng(0).random(300) < 0.5:  # alike in all but where the operands are from
        c = a + (b if odd else a)
        d = c * (a if odd else c)
        e = lazynp.maximum(d, c if odd else b)
        c = e - (a if odd else e)
    native.replay_counts()
    two_arrays_in_turns(lazynp, 100)
    assert native.replay_counts()["periods"] > 90


def test_memory_is_flat() -> None:
    """Of a loop that is replayed, left and entered again."""

    def rounds(times: int) -> None:
        u, v = lazynp.ones(50), lazynp.ones(50)
        for k in range(times):
            r = v - 0.3 * u
            u = u + 0.01 * r
            v[1:] = u[:-1]
            if k % 50 == 49:
                u.sort()

    rounds(300)
    gc.collect()
    tracemalloc.start()
    try:
        rounds(300)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        rounds(5000)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 10_000
    finally:
        tracemalloc.stop()
    assert native.replay_counts()["periods"] > 4000


def test_a_loop_after_one_that_only_looks() -> None:
    """What only reads and writes elements is not noted for long; a loop that computes is found afterwards as ever."""

    def looks(np: Any) -> Any:
        a = np.arange(64.0)
        for k in range(4000):
            a[k % 64] = a[(k + 1) % 64] * 0.5
        return a

    replay.switch(True, seconds=0, trials=0)
    assert values(looks(lazynp)) == values(looks(numpy))
    names_bound_anew(lazynp, 60)
    assert lazynp.compile_wait(60)
    native.replay_counts()
    names_bound_anew(lazynp, 60)
    assert native.replay_counts()["periods"] > 40


def test_numbers_of_the_c_module() -> None:
    """What a program is made from counts axes and reductions as the C module that notes them does."""
    if native is not None:
        assert (period.AXES, period.REDUCTIONS) == (native.AXES, native.REDUCTIONS)


def test_arrays_of_five_axes() -> None:
    """A layer of a network: windows of images with channels, and filters."""
    rng = numpy.random.default_rng(3)
    images, weights = rng.standard_normal((3, 9, 9, 2)), rng.standard_normal((3, 3, 2, 4))

    def layer(np: Any) -> Any:
        x, w, out = np.array(images), np.array(weights), np.zeros((3, 7, 7, 4))
        for k in range(9):
            for i in range(7):
                for j in range(7):
                    window = x[:, i : i + 3, j : j + 3, :, np.newaxis] * w[np.newaxis]
                    out[:, i, j] = window.sum(axis=(1, 2, 3)) + window.max(axis=(2, 3))[:, 0] * k
            x = x * 0.9
        return out

    numpy.testing.assert_array_equal(numpy.asarray(layer(lazynp)), layer(numpy))
