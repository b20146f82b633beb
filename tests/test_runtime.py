"""The engine over time: memory, long graphs, threads, forks, Ctrl-C, reuse of plans, donation, errors, settings.

`LAZYNP_LONG=1` runs the loops at their full length (a million small writes, 20,000 large updates); without it they are
a tenth. Figures are printed: `pytest -s`.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from patience import PATIENCE, least

import lazynp
from lazynp.config import config
from lazynp.runtime.profile import profile
from lazynp.runtime.recorder import recorder

LONG = bool(os.environ.get("LAZYNP_LONG"))
PAGE = os.sysconf("SC_PAGE_SIZE")
SLACK = 2 << 20  # bytes that resident memory may differ by: 64 leaked in each of 20,000 steps are more
ROOT = Path(lazynp.__file__).parent.parent


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    """The interpreter only, so that results are NumPy's bits and no compiler runs beside a measurement."""
    with lazynp.config(deterministic=True):
        yield


def resident() -> int:
    """Bytes of memory that this process has in RAM."""
    gc.collect()
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * PAGE


def script(text: str, timeout: float = PATIENCE) -> str:
    """What a program prints, in a process of its own."""
    code = f"import faulthandler\nfaulthandler.dump_traceback_later({timeout - 10}, exit=True)  # where it hangs\n"
    code += "import lazynp as np, lazynp, numpy\nlazynp.config.deterministic = True\n" + textwrap.dedent(text)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def flat(what: str, step: Callable[[int], None], n: int) -> None:
    """Run n steps after a warm-up; resident memory must be what it was, each time without what is free."""
    for i in range(n // 10):
        step(i)

    def kept() -> float:
        lazynp.free_memory()  # else that is done in the middle, now and then
        return resident()

    def grown() -> float:
        before = kept()
        for i in range(n):
            step(i)
        more = kept() - before
        print(f"{what}: {n:,} times, resident memory {before / 2**20:.1f} MiB, {more / 2**20:+.2f} MiB after it")
        return more

    assert least(grown, SLACK, 3) < SLACK  # what other tests have left may come and go once


# --- memory ---


def test_the_gauge_sees_a_leak() -> None:
    """A figure of zero means something: what a step keeps, were it 64 bytes, is found."""
    kept: list[Any] = []
    a = lazynp.zeros(10)

    def step(i: int) -> None:
        a[i % 10] = i
        kept.append(bytearray(64))

    with pytest.raises(AssertionError):
        flat("small writes that leak 64 bytes", step, 200_000)


@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_memory_is_flat_over_small_writes(mode: str) -> None:
    with lazynp.config(mode=mode):
        a = lazynp.zeros(10)

        def step(i: int) -> None:
            a[i % 10] = i

        n = 1_000_000 if LONG else 100_000 if mode == "auto" else 20_000
        flat(f"small writes, mode {mode}", step, n)
        tail = numpy.arange(n - 10, n, dtype=float)
        assert sorted(numpy.asarray(a)) == sorted(tail)


@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_memory_is_flat_over_large_updates(mode: str) -> None:
    n = 20_000 if LONG else 2_000
    with lazynp.config(mode=mode):
        a, b = lazynp.ones(250_000), lazynp.zeros(250_000)

        def step(i: int) -> None:
            nonlocal b
            a[1:-1] += 0.5 * (a[2:] - a[:-2])
            a[::2] *= 0.999
            b = a * 0.5 + b * 0.5

        flat(f"large updates, mode {mode}", step, n)
        assert numpy.isfinite(numpy.asarray(b)).all()


def test_memory_is_flat_while_arrays_come_and_go() -> None:
    sizes = numpy.random.default_rng(0).integers(10_000, 60_000, 50)

    def step(i: int) -> None:
        x = lazynp.full(int(sizes[i % 50]), 1.5)
        y = (x * 2 + i).reshape(-1, 1)
        if i % 7 == 0:
            assert float(y[0, 0]) == 3 + i

    flat("arrays of fifty sizes", step, 5_000)


# --- long graphs ---


def test_graph_of_200_000_chained_operations() -> None:
    n = 200_000
    with lazynp.config(mode="graph"):
        x = lazynp.zeros(4)
        for _ in range(n):
            x = x + 1
        assert numpy.asarray(x).tolist() == [n] * 4


def test_200_000_operations_pending_at_once() -> None:
    """No loop to be found, no budget that cuts: one graph, evaluated, and freed when half of it was never asked for."""
    n = 200_000 if LONG else 50_000
    which = numpy.random.default_rng(0).integers(0, 2, n)
    with lazynp.config(mode="graph", pending_nodes=1 << 30):
        x, wanted = lazynp.ones(4), numpy.ones(4)
        for w in which:
            x = x + 1.5 if w else x * 0.5
            wanted = wanted + 1.5 if w else wanted * 0.5
        assert numpy.asarray(x).tolist() == wanted.tolist()
        y = x
        for w in which:
            y = y - 1.5 if w else y * 0.25
        del y
        assert numpy.asarray(x + 1).tolist() == (wanted + 1).tolist()


# --- threads, forks, Ctrl-C ---


def in_threads(n: int, work: Callable[[int], Any]) -> list[Any]:
    """What `work(0)`, … `work(n - 1)` return, each in its own thread, started together."""
    results: list[Any] = [None] * n
    barrier = threading.Barrier(n)

    def run(i: int) -> None:
        barrier.wait()
        try:
            results[i] = work(i)
        except BaseException as error:
            results[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return results


@pytest.fixture
def switching() -> Iterator[None]:
    """Let threads take turns as often as can be, so that what is not locked breaks."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("size", [40, 20_000])
def test_threads_on_arrays_of_their_own(mode: str, size: int, switching: None) -> None:
    def work(np: Any, i: int) -> Any:
        a = np.arange(float(size)) + i
        for k in range(30):
            a[1:-1] = 0.5 * (a[2:] + a[:-2]) + k
            b = a * 0.5
            a[b > 20.0] -= 1.0
        return a + b

    wanted = [work(numpy, i) for i in range(8)]
    with lazynp.config(mode=mode):
        for got, w in zip(in_threads(8, lambda i: numpy.asarray(work(lazynp, i))), wanted):
            assert not isinstance(got, BaseException), got
            assert numpy.array_equal(got, w)


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("size", [40, 20_000])
def test_threads_on_rows_of_one_array(mode: str, size: int, switching: None) -> None:
    """Each thread writes its own row, and reads a shared one: nobody's write is lost."""

    def work(a: Any, source: Any, i: int) -> Any:
        for k in range(40):
            a[i] += source[1] * (i + 1)
            a[i, k] = 0.0
        return float(a[i, 0])

    a, source = numpy.zeros((8, size)), numpy.arange(2.0 * size).reshape(2, size)
    wanted = [work(a, source, i) for i in range(8)]
    with lazynp.config(mode=mode):
        b, shared = lazynp.zeros((8, size)), lazynp.array(source) * 1
        got = in_threads(8, lambda i: work(b, shared, i))
        assert got == wanted
        assert numpy.array_equal(numpy.asarray(b), a)


@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_threads_read_one_pending_array(mode: str, switching: None) -> None:
    with lazynp.config(mode=mode):
        for _ in range(20):
            x = lazynp.arange(30_000.0) * 2 + 1
            assert in_threads(8, lambda i, x=x: float(x[i]) + float(x.max())) == [
                2.0 * i + 1 + 59_999 for i in range(8)
            ]


def test_fork_while_something_is_pending() -> None:
    """The child and the parent both have the value, and go on working, helper threads included."""
    print(
        script("""
        import os
        lazynp.config.mode = "graph"
        big = np.ones((500, 500)) * 2
        float(big[0, 0])                      # helper threads run
        pending = (big + 1) * 3
        pid = os.fork()
        more = pending + big[::-1] * 2
        ok = numpy.asarray(more).tolist() == [[13.0] * 500] * 500
        ok = ok and numpy.asarray(pending)[0, 0] == 9
        if pid == 0:
            os._exit(0 if ok else 1)
        assert ok and os.waitpid(pid, 0)[1] == 0
        """)
    )


def test_ctrl_c_leaves_arrays_usable() -> None:
    """Interrupts at many places of a loop: an array's value is always one that a whole number of statements gives."""
    told = script("""
        import os, random, signal, threading, time
        signal.signal(signal.SIGINT, signal.default_int_handler)  # who started the tests may have it ignored
        rng, caught = random.Random(0), 0
        for mode, n in (("graph", 50), ("auto", 250_000), ("graph", 200_000)):
            lazynp.config.mode = mode
            for _ in range(12):
                a, b = np.zeros(n), np.zeros(n)
                timer = threading.Timer(rng.uniform(0.001, 0.05), os.kill, (os.getpid(), signal.SIGINT))
                steps = 0

                def run():  # seen with Python 3.13: an interrupt at a loop's end misses the `try` around the loop
                    global a, steps
                    timer.start()
                    end = time.time() + 600
                    while time.time() < end:
                        a += 1.0
                        b[1:] = a[1:] * 2.0
                        b[0] = b[1]
                        steps += 1

                try:
                    run()
                except KeyboardInterrupt:
                    caught += 1
                timer.join()
                va, vb = numpy.array(a), numpy.array(b)
                assert va[0] in (steps, steps + 1) and (va == va[0]).all(), (mode, n, steps, va)
                assert vb[-1] in (2 * steps, 2 * steps + 2) and (vb[1:] == vb[-1]).all(), (mode, n, steps, vb)
                a[:] = 3
                assert float((a + b * 0).sum()) == 3 * n
        print(caught)
        """)
    assert int(told) == 36


# --- plans ---


def changing_scalars(np: Any, a: Any, k: int) -> None:
    dt = 0.01 / (k + 1)
    a[1:-1] += dt * (a[2:] - 2.0 * a[1:-1] + a[:-2])
    a *= 1.0 - 0.001 * k
    a += float(k)


def moving_bounds(np: Any, a: Any, k: int) -> None:
    i = 5 + k % 1000
    a[i : i + 20] = a[i - 3 : i + 17] * 0.5 + 1.0
    a[i - 1] = a[i] * 2.0


def growing_region(np: Any, a: Any, k: int) -> None:
    i = 2 + k
    a[:i] = a[:i] * 0.5 + a[i] * 0.25
    a[i:] -= 0.125


def copies(np: Any, a: Any, k: int) -> None:
    old = a.copy()
    a[1:] = old[:-1] + old[1:] * (0.1 * k)
    a[0] = old[-1]


def inner_loop(np: Any, a: Any, k: int) -> None:
    for j in range(4):
        a[1:-1] = 0.5 * (a[2:] + a[:-2]) + j * 0.1
    a *= 0.9 + 1e-4 * k


@pytest.mark.parametrize(
    "step", [changing_scalars, moving_bounds, growing_region, copies, inner_loop], ids=lambda f: f.__name__
)
def test_plans_are_bounded(step: Callable[[Any, Any, int], None]) -> None:
    """As many plans after 1,000 times round as after 100, and NumPy's values."""
    n = 1500
    wanted = numpy.linspace(0.0, 1.0, n)
    with lazynp.config(mode="graph"), numpy.errstate(all="ignore"):
        recorder.flush()
        a, start, counts = lazynp.array(wanted), profile.plans, []
        for k in range(1000):
            step(numpy, wanted, k)
            step(lazynp, a, k)
            if k + 1 in (100, 1000):
                counts.append(profile.plans - start)
        print(f"{step.__name__}: {counts[0]} plans after 100 times, {counts[1]} after 1000")
        assert numpy.array_equal(numpy.asarray(a), wanted, equal_nan=True)
        assert counts[0] == counts[1]


# --- donation ---

KEEPERS: dict[str, Callable[[Any, Any], Any]] = {
    "outsider": lambda np, x: numpy.asarray(x),
    "outsider of a view": lambda np, x: numpy.asarray(x[1:3]),
    "view": lambda np, x: x[1:],
    "reversed view": lambda np, x: x[::-1],
    "reshaped view": lambda np, x: x.reshape(-1),
    "copy": lambda np, x: x.copy(),
    "result": lambda np, x: x + 1,
    "copy of a view": lambda np, x: x[1:].copy(),
    "another name": lambda np, x: x,
    "memoryview": lambda np, x: memoryview(numpy.asarray(x)),
}


def update(np: Any, x: Any, y: Any, k: int) -> Any:
    x[1:-1] = 0.5 * (x[2:] + x[:-2]) + k
    x *= 0.75
    y = x * 2 + y
    x[0] = y[-1]
    return y


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("size", [40, 20_000])
@pytest.mark.parametrize("name", KEEPERS)
def test_donation_changes_nothing_that_others_see(name: str, size: int, mode: str) -> None:
    keep = KEEPERS[name]

    def work(np: Any) -> list[Any]:
        x, y, kept = np.arange(float(size)), np.zeros(size), []
        for k in range(24):
            y = update(np, x, y, k)
            if k in (5, 6, 15):
                kept += [keep(np, x), keep(np, y)]
            if k == 10 and name.startswith("outsider"):
                kept[0][1] = 77.0
            if k == 11:
                before = [numpy.array(v) for v in kept]
        return [numpy.array(v) for v in (*kept, *before, x, y)]

    wanted = work(numpy)
    with lazynp.config(mode=mode):
        got = work(lazynp)
    for i, (g, w) in enumerate(zip(got, wanted)):
        assert numpy.array_equal(g, w), f"value {i} of {len(wanted)}"


# --- errors and settings ---


@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_an_exception_in_a_loop_leaves_arrays_as_numpy_does(mode: str) -> None:
    def work(np: Any) -> list[Any]:
        a, b = np.arange(12.0), np.zeros(12)
        for k in range(6):
            try:
                b[k:] = a[k:] * 2
                a[1:] += b[:-1]
                if k % 2:
                    raise RuntimeError
                a[:3] = b[:5]  # shapes do not fit
            except (RuntimeError, ValueError):
                a -= 1
        return [numpy.array(a), numpy.array(b)]

    with lazynp.config(mode=mode):
        assert all(map(numpy.array_equal, work(lazynp), work(numpy)))


@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_an_error_of_values_stays_with_its_array(mode: str) -> None:
    """A singular matrix spoils what depends on it, nothing else that is pending; asking again raises again."""
    with lazynp.config(mode=mode):
        good = lazynp.arange(9.0).reshape(3, 3) + lazynp.eye(3)
        bad = None
        with pytest.raises(lazynp.linalg.LinAlgError):
            bad = lazynp.linalg.inv(lazynp.ones((3, 3)))
            after = good * 2
            numpy.asarray(bad + 1)
        after = good * 2
        assert numpy.asarray(after)[2, 2] == 18
        if bad is not None:
            with pytest.raises(lazynp.linalg.LinAlgError):
                numpy.asarray(bad)


def test_settings_nest_and_come_back() -> None:
    before = (config.mode, config.small, config.limit)
    with lazynp.config(mode="graph"):
        assert config.mode == "graph"
        with lazynp.config(mode="auto", small=5):
            assert (config.mode, config.small) == ("auto", 5)
            with pytest.raises(ZeroDivisionError), lazynp.config(small=7):
                raise ZeroDivisionError
            assert config.small == 5
        assert (config.mode, config.small) == ("graph", before[1])
    assert (config.mode, config.small, config.limit) == before


@pytest.mark.parametrize(
    "wrong, error",
    [
        ({"mode": "lazy"}, ValueError),
        ({"nothing": 1}, AttributeError),
        ({"pending_nodes": 0}, ValueError),
        ({"mode": "graph", "nothing": 1}, AttributeError),
    ],
)
def test_wrong_settings_change_nothing(wrong: dict[str, Any], error: type[Exception]) -> None:
    before = (config.mode, config.pending_nodes)
    with pytest.raises(error), lazynp.config(**wrong):
        pass
    assert (config.mode, config.pending_nodes) == before


def test_a_mode_may_change_while_something_is_pending() -> None:
    with lazynp.config(mode="graph"):
        a = lazynp.arange(6.0)
        b = a[::2] * 2
    with lazynp.config(mode="eager"):
        b += 1
        a[:] = 5
    c = b + a[:3]
    assert numpy.asarray(c).tolist() == [6, 10, 14]


def test_profile_counts_the_seconds_of_library_calls() -> None:
    with lazynp.config(mode="graph"), lazynp.profile() as seen:
        lazynp.sort(lazynp.ones((200, 200)) + 1.0, axis=0).sum().item()
    assert seen.library >= 1
    assert 0 < seen.library_seconds < 60


@pytest.mark.parametrize(
    ("name", "value"), [("threads", "two"), ("threads", 1.5), ("small", None), ("mode", 3), ("compile_after", "soon")]
)
def test_a_setting_refuses_what_it_cannot_have(name: str, value: object) -> None:
    before = getattr(config, name)
    with pytest.raises(ValueError, match=name):
        setattr(config, name, value)
    assert getattr(config, name) == before


def test_a_variable_that_cannot_be_read_is_named() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import lazynp"],
        env={**os.environ, "LAZYNP_THREADS": "two"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and "LAZYNP_THREADS='two'" in done.stderr.splitlines()[-1]
