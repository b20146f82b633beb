"""Several threads on the same arrays, and forks while they compute.

`LAZYNP_THREAD_RUNS` and `LAZYNP_FORKS` (`make threads`) say how often; a few times by default.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import runs
from programs import Generator

import lazynp
from lazynp.backends.numpy.crew import Crew
from lazynp.numpy.array import Writes
from lazynp.runtime.views import View

RUNS = int(os.environ.get("LAZYNP_THREAD_RUNS", "60"))
FORKS = int(os.environ.get("LAZYNP_FORKS", "12"))
THREADS = 8


@pytest.fixture(autouse=True)
def switching() -> Iterator[None]:
    """Let threads take turns as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], None], n: int = THREADS) -> None:
    """`work(0)`, … `work(n - 1)`, each in its own thread, started together. Raises what one of them raised."""
    barrier, errors = threading.Barrier(n), []

    def run(k: int) -> None:
        try:
            barrier.wait()
            work(k)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


# --- one race after the other, in a fixed order ---


def test_what_was_read_before_a_write_is_not_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A write comes while another thread's read is being recorded: the row's own thread then reads what it wrote."""
    read = View.read

    def overtaken(self: View, node: Any) -> Any:
        monkeypatch.setattr(View, "read", read)
        out = read(self, node)
        a[3] = 5.0
        return out

    with lazynp.config(mode="graph"):
        a = lazynp.ones((4, 8))
        kept = a[3] * 1.0
        monkeypatch.setattr(View, "read", overtaken)
        other = a[1] * 1.0
        assert (a[3] * 1.0).tolist() == [5.0] * 8
        assert kept.tolist() == other.tolist() == [1.0] * 8


def row(a: Any) -> None:
    a[1] = 5.0


def in_place(a: Any) -> None:
    a[1] += 4.0


def mask(a: Any) -> None:
    inside = lazynp.zeros(a.shape, bool)
    inside[1] = True
    a[inside] = 5.0


def where(a: Any) -> None:
    inside = lazynp.zeros(a.shape, bool)
    inside[1] = True
    lazynp.add(a, 4.0, out=a, where=inside)


def copy_where(a: Any) -> None:
    inside = lazynp.zeros(a.shape, bool)
    inside[1] = True
    lazynp.copyto(a, 5.0, where=inside)


def out(a: Any) -> None:
    lazynp.multiply(lazynp.ones(a.shape[1]), 5.0, out=a[1])


def filled(a: Any) -> None:
    a[1].fill(5.0)


def escaped(a: Any) -> None:
    numpy.asarray(a)[1] = 5.0


def read_only(a: Any) -> None:
    copies.append(a * 1.0)
    a[1] = 5.0


copies: list[Any] = []


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("size", [8, 200_000])
@pytest.mark.parametrize(
    "write", [row, in_place, mask, where, copy_where, out, filled, escaped, read_only], ids=lambda f: f.__name__
)
def test_a_buffer_that_numpy_writes_into_stays(mode: str, size: int, write: Callable[[Any], None]) -> None:
    """NumPy is in the middle of a write to row 0 when another thread writes row 1."""
    with lazynp.config(mode=mode):
        a = lazynp.ones((3, size))
        with Writes() as to:
            h = to(a[0])
            write(a)
            float((a + 1).sum())
            h[...] = 7.0
        assert [float(v) for v in a[:, -1]] == [7.0, 5.0, 1.0]
        assert [float(v) for v in (a * 2)[:, 0]] == [14.0, 10.0, 2.0]
        copies.clear()


def test_a_buffer_that_another_thread_may_be_reading_is_not_used_for_something_else() -> None:
    """A lazy copy is written in the original's memory once that has moved on: not while a thread reads it."""
    ended = threading.Event()
    other = threading.Thread(target=ended.wait)
    other.start()
    try:
        with lazynp.config(mode="graph"):
            a = lazynp.ones((4, 1000)) * 3
            seen = a._host_()
            b = a.copy()
            a[1] = 5.0
            b[0] = 9.0
            assert [float(v) for v in b[:, 0]] == [9.0, 3.0, 3.0, 3.0]
            assert [float(v) for v in a[:, 0]] == [3.0, 5.0, 3.0, 3.0]
            assert seen[0].tolist() == [3.0] * 1000
            c = a * 2 + 1
            seen = a._host_()
            a[...] = c
            d = a * 2
            assert float(d[0, 0]) == 14.0 and seen[0, 0] == 3.0
    finally:
        ended.set()
        other.join()


# --- all at once ---


def steps(np: Any, a: Any, k: int) -> None:
    for i in range(3):
        a[k] += k + 1
        a[k, 1:] = a[k, :-1] * 0.5 + i


def many_ways(np: Any, a: Any, k: int) -> None:
    """Writes of row k, in the ways there are."""
    mine = a[k]
    mine[mine > 1.5] -= 0.25
    mine[::3] = np.sqrt(mine[::3] + k)
    np.add(mine, 1.0, out=mine)
    np.add.at(mine, [0, 2, 0], 1.0)
    mine[[1, 3]] = [2.0, k]
    np.copyto(mine, mine * 0.5, where=mine > 2.0)
    mine[4:8].sort()
    mine[-2:].fill(k)
    numpy.asarray(mine)[0] += 1.0
    a[k, 5] = float(a[k, 6]) + 1.0
    a[k] = a[k][::-1].copy()


PROGRAMS = [steps, many_ways]


def expected(program: Callable[..., None], columns: int) -> numpy.ndarray:
    a = numpy.ones((THREADS, columns))
    for k in range(THREADS):
        program(numpy, a, k)
    return a


def check_rows(program: Callable[..., None], columns: int, wanted: numpy.ndarray) -> None:
    """Eight threads, each with a row of one array; others read it meanwhile."""
    a = lazynp.ones((THREADS, columns))
    together(lambda k: program(lazynp, a, k))
    assert numpy.array_equal(numpy.asarray(a), wanted)


@pytest.mark.parametrize("mode", ["auto", "graph", "mixed", "compiled", "chained"])
def test_rows_of_one_array(mode: str) -> None:
    """Nobody's write is lost. `mixed`: the whole is recorded, rows are computed at once."""
    settings: dict[str, Any] = {"mode": "auto" if mode in ("auto", "mixed") else "graph"}
    columns = {"chained": 1 << 16}.get(mode, 64)
    if mode == "mixed":
        settings["small"] = 100
    if mode in ("compiled", "chained"):
        settings |= {"compile": True, "compile_after": 0.0, "compile_nice": 0}
    else:
        settings["compile"] = False
    with lazynp.config(**settings):
        for program in PROGRAMS[: 1 if mode in ("compiled", "chained") else 2]:
            wanted = expected(program, columns)
            for i in range(max(4, RUNS // (20 if mode == "chained" else 1))):
                check_rows(program, columns, wanted)
                if mode in ("compiled", "chained") and i == 1:
                    lazynp.compile_wait(600 if RUNS > 1000 else 20)  # on a busy machine it is interpreted still


@pytest.mark.parametrize("small", [0, 8, 98_304])
@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_random_programs_side_by_side(mode: str, small: int) -> None:
    """Each thread has a program of its own; what they share is the engine."""
    for first in range(0, RUNS, THREADS * 3):
        programs = [Generator(first + k)() for k in range(THREADS)]
        wanted = [runs.run(p, numpy) for p in programs]
        found: list[Any] = [None] * THREADS

        def work(k: int, programs: Any = programs, found: Any = found) -> None:
            found[k] = runs.shown(programs[k], lazynp)

        with lazynp.config(mode=mode, small=small), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            together(work)
        for k in range(THREADS):
            assert [where for where, _ in found[k]] == [where for where, _ in wanted[k]]
            assert all([runs.same(x, y) for (_, x), (_, y) in zip(wanted[k], found[k])]), f"program {first + k}"


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("columns", [64, 20_000])
def test_readers_see_what_was_there(mode: str, columns: int) -> None:
    """While a row goes up, a reader sees whole numbers that never fall, and a row that nobody writes as it is."""
    with lazynp.config(mode=mode):
        for _ in range(max(2, RUNS // 30)):
            a = lazynp.zeros((3, columns))
            a[2] = 4.0
            done = threading.Event()

            def work(k: int, a: Any = a, done: threading.Event = done) -> None:
                if k == 0:
                    for i in range(20):
                        a[0] = a[0] + 1.0
                        a[1] = a[0] * 2.0
                        if i == 10:
                            b = a.copy()
                            b[2] = 11.0
                            assert float(b[2].sum()) == 11.0 * columns
                    done.set()
                    return
                last = 0.0
                while not done.is_set():
                    low = float(a[0].min()) if k == 1 else float(numpy.asarray(a[0] + 0.0).min())
                    assert last <= low == int(low)
                    last = low
                    assert float(a[2].sum()) == 4.0 * columns
                    assert (a[2] * 2.0).tolist()[-1] == 8.0

            together(work, 3)
            assert a.tolist()[1][0] == 40.0


def test_draws_of_one_generator() -> None:
    """Each number is drawn once, whoever asks for it."""
    wanted = numpy.sort(numpy.random.default_rng(3).standard_normal(8 * 3 * 20_000))
    for _ in range(2):
        rng = lazynp.random.default_rng(3)
        parts: list[list[Any]] = [[] for _ in range(THREADS)]

        def work(k: int, rng: Any = rng, parts: list[list[Any]] = parts) -> None:
            for _ in range(3):
                parts[k].append(rng.standard_normal(20_000) * 1.0)

        together(work)
        got = numpy.sort(numpy.concatenate([numpy.asarray(x) for p in parts for x in p]))
        assert numpy.array_equal(got, wanted)


# --- helpers that cannot start, forks ---


LATE = """
from lazynp import threads
class Late:
    def __del__(self, start=threads.start):
        print(start(print, "ran", name="late"), flush=True)
late = Late()
"""


def test_no_helper_is_waited_for_at_the_end_of_the_process() -> None:
    """What dies with the interpreter may tell that memory was freed, which starts a thread."""
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "None\n", "")


def test_a_helper_that_cannot_start_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    crew, done = Crew(), threading.Barrier(3)
    monkeypatch.setattr("lazynp.backends.numpy.crew.crew", crew)
    ran = []
    with monkeypatch.context() as m:
        m.setattr(threading.Thread, "start", fail)
        Crew.run(lambda: ran.append(1), 4)
        assert len(ran) == 1 and crew.helpers == 0
    Crew.run(lambda: done.wait(60), 3)
    assert crew.helpers == 2


def script(text: str, *args: str) -> str:
    head = "import lazynp, numpy\nimport lazynp as np\n"
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", head + textwrap.dedent(text), *args],
        capture_output=True, text=True, timeout=120 + FORKS, env=env, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


FORKING = """
    import os, signal, sys, threading, time
    lazynp.config.mode, compiled, forks = sys.argv[1], sys.argv[2] == "compiled", int(sys.argv[3])
    lazynp.config.compile, lazynp.config.compile_nice, lazynp.config.compile_after = compiled, 0, 0.0
    stop, errors = threading.Event(), []

    def stencil(np):
        a = np.ones((300, 300))
        for i in range(3):
            a[1:-1] = 0.5 * (a[2:] + a[:-2]) + i
        return a

    def work(k):
        rng = np.random.default_rng(k)
        try:
            while not stop.is_set():
                float((stencil(np) + 1).sum()) + float(rng.standard_normal(40_000).sum())
                c = np.arange(50.0) * 2
                c[3] += 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for t in threads:
        t.start()
    wanted = stencil(numpy)
    for _ in range(forks):
        pending = stencil(np)
        pid = os.fork()
        if pid == 0:
            signal.alarm(60)
            ok = numpy.allclose(numpy.asarray(pending), wanted) and numpy.allclose(numpy.asarray(stencil(np)), wanted)
            ok = ok and abs(float(np.random.default_rng(1).standard_normal(50_000).mean())) < 0.1
            os._exit(0 if ok else 3)
        assert os.waitpid(pid, 0)[1] == 0
        assert numpy.allclose(numpy.asarray(pending), wanted)
    stop.set()
    for t in threads:
        t.join()
    assert not errors, errors
    lazynp.compile_wait(20)
    print("done")
"""


@pytest.mark.parametrize("how", ["graph interpreted", "auto interpreted", "graph compiled"])
def test_forks_while_threads_compute(how: str) -> None:
    assert script(FORKING, *how.split(), str(FORKS)).endswith("done\n")


def test_a_pool_of_processes_and_a_handler_that_forks() -> None:
    assert script("""
        import multiprocessing, os, signal, subprocess, sys, threading
        lazynp.config.mode, lazynp.config.compile = "graph", False
        stop = threading.Event()

        def busy():
            while not stop.is_set():
                float((np.ones((200, 200)) * 2).sum())

        def total(n):
            return float((np.ones((200, 200)) * n).sum())

        thread = threading.Thread(target=busy)
        thread.start()
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(total, range(6)) == [40_000.0 * n for n in range(6)]
        out = subprocess.run([sys.executable, "-c", "print(7)"], capture_output=True, preexec_fn=lambda: None)
        assert out.stdout == b"7\\n"
        statuses = []

        def fork(number, frame):
            pid = os.fork()
            if pid == 0:
                signal.alarm(30)
                os._exit(0)
            statuses.append(os.waitpid(pid, 0)[1])

        signal.signal(signal.SIGALRM, fork)
        while len(statuses) < 10:
            signal.setitimer(signal.ITIMER_REAL, 0.002 * (1 + len(statuses) % 3))
            a = np.ones((300, 300))
            for i in range(4):
                a[1:-1] = 0.5 * (a[2:] + a[:-2]) + i
            assert float(a[0, 0]) == 1.0
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert not any(statuses)
        stop.set()
        thread.join()
        print("done")
    """).endswith("done\n")


SLOW_MODULE = """
from _operator import _compare_digest as compare_digest
import builtins
builtins.begun.set()
builtins.go_on.wait(30)
import colorsys
"""
TWO_IMPORTS = """
import builtins, faulthandler, sys, threading
faulthandler.dump_traceback_later(30, exit=True)
sys.path.insert(0, sys.argv[1])
import lazynp as np
builtins.begun, builtins.go_on = threading.Event(), threading.Event()
assert "numpy.random" not in sys.modules and "hmac" not in sys.modules
other = threading.Thread(target=__import__, args=("hmac",))
other.start()
builtins.begun.wait()
threading.Timer(0.5, builtins.go_on.set).start()
np.random.default_rng(0)  # NumPy's module imports secrets, and that the module which the other thread is importing
other.join()
"""


def test_finding_a_module_imports_none(tmp_path: Path) -> None:
    """Python asks for a module's place under its import lock. Had we imported NumPy's package there, and waited for
    what another thread imports, that thread would have waited for the lock."""
    (tmp_path / "hmac.py").write_text(SLOW_MODULE)
    command = [sys.executable, "-c", TWO_IMPORTS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
