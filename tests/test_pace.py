"""Loops over larger arrays are replayed where they go faster so: `runtime/pace.py`."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
import runs

import lazynp
from lazynp.config import config
from lazynp.runtime import pace, replay, segment
from lazynp.runtime.device import devices
from lazynp.runtime.pace import Trials, until
from lazynp.speed import native

pytestmark = pytest.mark.filterwarnings("default", "ignore:.*fork.*:DeprecationWarning")  # not errors: see test_replay
needs_replay = pytest.mark.skipif(
    native is None or replay.state is None, reason="nothing is replayed without C modules"
)


def relaxed(np: Any, n: int, steps: int) -> Any:
    u = np.zeros((n, n))
    u[0] = 1.0
    for _ in range(steps):
        v = u.copy()
        v[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        u = v
    return u


def functional(np: Any, n: int, steps: int) -> Any:
    x, v = np.arange(n * n) * 0.5, np.zeros(n * n)
    for _ in range(steps):
        v = v - 0.01 * x
        x = x + 0.01 * v
    return x


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> Iterator[Trials]:
    monkeypatch.setattr(pace, "SECONDS", 0.02)
    monkeypatch.setattr(pace, "BETTER", math.inf)  # whatever the pace on a busy machine
    for plan in [*segment.exact_plans.everything(), *[p for known in segment.plans.everything() for _, p in known]]:
        plan.paces.clear()  # what other tests found out: one plan stands for loops of several sizes
    replay.switch(True, seconds=0.0)
    yield pace.trials
    assert until(lambda: not pace.trials.busy, 40)
    replay.switch(True)


@needs_replay
def test_what_is_asked_for_one_by_one_is_done_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "DEMANDS", 8)
    monkeypatch.setattr(pace, "BRIEF", 0.5)
    monkeypatch.setattr(pace.trials, "brief", 0.5)
    x = lazynp.arange(300_000) * 0.5
    x.sum()
    limit = config.limit
    end = time.perf_counter() + 20
    while config.limit == limit and time.perf_counter() < end:
        assert not (x > 1e6).any()
    assert config.limit >= x.size
    y = x + 1.0
    assert y._s_.buf is not None and y[7] == x[7] + 1.0
    assert until(lambda: config.limit == limit and not pace.trials.busy, 20)
    z = (x + 1.0) * 2.0
    assert z._s_.buf is None and z[7] == 9.0


def goes_on(program: Any, n: int, until_then: Any) -> None:
    """The program over and over, with NumPy's values each time."""
    expected, end = program(numpy, n, 40), time.perf_counter() + 60
    while not until_then() and time.perf_counter() < end:
        assert numpy.array_equal(numpy.asarray(program(lazynp, n, 40)), expected)


def for_a_while() -> Any:
    end = time.perf_counter() + 0.5
    return lambda: time.perf_counter() > end


@needs_replay
@pytest.mark.compiles
def test_a_loop_that_writes_is_replayed_and_the_limit_falls_again(trials: Trials) -> None:
    with config(mode="auto", small=1000):
        began = native.replay_pace()[0]
        goes_on(relaxed, 40, lambda: native.replay_pace()[0] > began + 2000 and trials.raised)
        assert native.replay_pace()[0] > began + 2000, "nothing was replayed"
        assert config.limit == pace.RANGE * 1000
        assert until(lambda: config.limit == 1000, 10), "nothing runs any more, and the limit is up"
        again = native.replay_pace()[0]
        goes_on(relaxed, 40, lambda: native.replay_pace()[0] > again + 2000)  # its program is there by now
        assert native.replay_pace()[0] > again + 2000


@needs_replay
@pytest.mark.compiles
def test_what_is_not_faster_is_recorded_as_before(trials: Trials, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "BETTER", 0.0)
    monkeypatch.setattr(pace, "WORSE", 0.0)  # nor does what has won once go on
    verdicts: list[Any] = []
    trial = Trials.trial
    monkeypatch.setattr(Trials, "trial", lambda self, p, s: (trial(self, p, s), verdicts.append(p.wins)))
    with config(mode="auto", small=1000):
        goes_on(relaxed, 41, lambda: False in verdicts)
        assert False in verdicts and True not in verdicts  # None: the trial could not say
        assert until(lambda: not trials.busy, 10) and config.limit == 1000
        goes_on(relaxed, 41, for_a_while())
        assert not any(verdicts)  # on a busy machine another plan of the loop has its trial, too
        assert until(lambda: not trials.raised, 10)


@needs_replay
def test_what_is_interpreted_and_what_is_too_large_is_not_tried(
    trials: Trials, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop that writes nowhere is measured when its kernels are compiled, as they never are here."""
    tried: list[Any] = []
    monkeypatch.setattr(Trials, "trial", lambda self, p, s: tried.append(p))
    with config(mode="auto", small=1000):
        for program, n in ((functional, 40), (relaxed, 80)):
            goes_on(program, n, for_a_while())
        assert not tried
        monkeypatch.setattr(pace, "COLD", 0.0)  # so long it was waited for
        goes_on(functional, 40, lambda: tried)
    assert tried
    trials.busy = False  # which the trial itself does


def asking(np: Any, n: int, steps: int) -> Any:
    x = np.arange(n * n) * 0.5
    for _ in range(steps):
        x = np.sort(0.5 * x)[::-1]
        if float(x[3]) < 0:
            break
    return x


@needs_replay
def test_a_loop_that_asks_for_values_goes_on_at_once(trials: Trials, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether replay has a program for it or not; now and then it is recorded for a moment."""
    monkeypatch.setattr(pace, "COLD", 0.0)
    monkeypatch.setattr(pace, "TO_NOTE", 0.1)
    monkeypatch.setattr(pace, "REST", 0.3)
    monkeypatch.setattr(pace, "LONGEST", 0.3)
    monkeypatch.setattr(Trials, "found", lambda self: False)
    watches: list[float] = []
    watch = Trials.watch
    monkeypatch.setattr(Trials, "watch", lambda self, s: (watches.append(config.limit), watch(self, s)))
    with config(mode="auto", small=1000):
        goes_on(asking, 40, lambda: len(watches) > 2)
        assert watches[:3] == [pace.RANGE * 1000] * 3
        assert until(lambda: config.limit == 1000, 10), "nothing runs any more, and the limit is up"


@needs_replay
def test_calls_are_counted_alike_whether_they_are_recorded_or_not() -> None:
    counts = []
    with config(mode="auto"):
        for small in (1000, 100_000):
            with config(small=small):
                before = pace.calls_begun()
                for program in (relaxed, functional, asking):
                    program(lazynp, 40, 3)
                counts.append(pace.calls_begun() - before)
    assert counts[0] == counts[1] > 60


@needs_replay
def test_a_plan_that_stands_for_several_sizes_is_tried_where_it_is_not_too_large(
    trials: Trials, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Any] = []
    monkeypatch.setattr(Trials, "trial", lambda self, p, s: tried.append(p))
    with config(mode="auto", small=1000):
        goes_on(relaxed, 90, for_a_while())
        assert not tried
        goes_on(relaxed, 50, lambda: tried)
    assert tried
    trials.busy = False  # which the trial itself does


@needs_replay
def test_a_device_that_was_used_once_changes_nothing(trials: Trials, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Any] = []
    monkeypatch.setattr(Trials, "trial", lambda self, p, s: tried.append(p))
    monkeypatch.setattr(devices, "used", True)
    with config(mode="auto", small=1000):
        goes_on(relaxed, 50, lambda: tried)
    assert tried
    trials.busy = False  # which the trial itself does


@needs_replay
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_child_has_the_limit_of_its_settings() -> None:
    with config(mode="auto", small=1000):
        pace.trials.lift()
        try:
            pid = os.fork()
            if not pid:
                os._exit(0 if config.limit == 1000 and not pace.trials.busy else 1)
            assert os.waitpid(pid, 0)[1] == 0
            assert config.limit == pace.RANGE * 1000
        finally:
            pace.trials.lower()
        assert config.limit == 1000


def test_settings_end_a_trial() -> None:
    with config(mode="auto", small=1000):
        pace.trials.lift()
        with config(small=10):
            assert config.limit == 10
        assert config.limit == 1000
        pace.trials.lower()
        assert config.limit == 1000


def test_a_trial_lifts_nothing_where_results_are_to_be_the_same_each_time() -> None:
    with lazynp.config(small=1000, deterministic=True):
        before = config.limit
        pace.trials.lift()
        try:
            assert config.limit == before and not pace.trials.raised
        finally:
            pace.trials.lower()


def test_the_limit_may_change_at_any_time() -> None:
    """Random programs, while another thread raises it and lowers it: a part is recorded, and a part is not."""
    ended = threading.Event()

    def change() -> None:
        k = 0
        while not ended.wait(0.0003):
            k += 1
            if config.mode == "auto":
                config.lift((None, 64, 3, 1 << 20)[k % 4])

    changing = threading.Thread(target=change)
    changing.start()
    try:
        differ = [text for seed in range(900_000, 900_150) if (text := runs.check(seed, lazynp))]
    finally:
        ended.set()
        changing.join()
        config.lift(None)
    assert not differ, "\n\n".join(differ[:3])
