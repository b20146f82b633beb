"""Errors while arrays are computed: nothing is lost by them, and nothing is wrong afterwards."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import time
import types
import weakref
from pathlib import Path
from typing import Any

import numpy
import pytest
from faults import PROGRAMS
from patience import PATIENCE

import lazynp
import lazynp.jax as jax
import lazynp.jax.numpy as jnp
from lazynp.backends import artifacts, folders, gcc
from lazynp.backends.kernel import KernelSpec
from lazynp.backends.numpy.crew import Crew, Task
from lazynp.backends.torch import worker
from lazynp.numpy.draws import Line
from lazynp.runtime import device_steps, loops, steps
from lazynp.runtime import kernels as runtime_kernels
from lazynp.runtime.pool import pool
from lazynp.runtime.recorder import recorder

POINTS = int(os.environ.get("LAZYNP_FAULTS", "0"))
PROGRAM = str(Path(__file__).with_name("faults.py"))
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(lazynp.__file__).parents[1])}
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="a run stands in a forked process")


@needs_fork
@pytest.mark.parametrize("name", [n for n, p in PROGRAMS.items() if POINTS or p.tier == "interpreted"])
def test_a_fault_at_any_line_loses_nothing(name: str) -> None:
    """A few lines of each program; `make faults` takes many more. In a process of its own: what the oracle has loaded
    here has threads, and its locks are not made anew in a child."""
    command = [sys.executable, PROGRAM, "--points", str(POINTS or 4), "--programs", f"^{re.escape(name)}$"]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^[1-9][0-9,]* faults in 1 programs", done.stdout, re.MULTILINE), done.stdout


class AlarmError(Exception):
    """What a signal handler raises here."""


def heat(np: Any, steps: int) -> Any:
    u = np.zeros((300, 300))
    u[150, 150] = 1e4
    for _ in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return u


@pytest.mark.parametrize("raised", [AlarmError, KeyboardInterrupt, ValueError])
def test_signal_handlers_may_raise(raised: type[BaseException]) -> None:
    """At any moment of a computation; what was asked for can be had later."""

    def handler(number: int, frame: Any) -> None:
        rang.append(number)
        raise raised("alarm")

    wanted = heat(numpy, 40)
    before = signal.signal(signal.SIGALRM, handler)
    hits, rang = 0, [0]
    try:
        with lazynp.config(compile=False):
            for k in range(25):
                u = heat(lazynp, 40)
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.0002 + k * 0.0004)
                    numpy.asarray(u)
                    while len(rang) == k + 1:
                        time.sleep(0.01)
                except raised:
                    hits += 1
                assert numpy.array_equal(numpy.asarray(u), wanted), k
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(rang) == 26
    assert hits == 25  # none is dropped, as Python drops what is raised while a finalizer runs


def test_signal_handlers_may_raise_while_a_device_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a device cannot do is done on the host; what a handler raises is the program's."""
    pytest.importorskip("torch", reason="the devices run torch's operations")

    def handler(number: int, frame: Any) -> None:
        raise AlarmError

    def interrupted(step: Any, env: Any) -> None:
        signal.raise_signal(signal.SIGALRM)
        work(step, env)

    work = device_steps.Kernel.work
    before = signal.signal(signal.SIGALRM, handler)
    try:
        with lazynp.config(device="torch", mode="graph"):
            y = lazynp.sqrt(lazynp.arange(1000.0)) + 1
            with monkeypatch.context() as patch:
                patch.setattr(device_steps.Kernel, "work", interrupted)
                with pytest.raises(AlarmError):
                    numpy.asarray(y)
            numpy.testing.assert_allclose(numpy.asarray(y), numpy.sqrt(numpy.arange(1000.0)) + 1)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_no_handler_can_run_while_a_buffer_comes_back() -> None:
    """Python would drop what it raises: nothing of Python's runs when an array dies."""
    ran = []
    array = pool.empty((1 << 17,), numpy.dtype("u1"))
    sys.setprofile(lambda frame, event, arg: ran.append((frame.f_code.co_name, event, arg)))
    del array
    sys.setprofile(None)
    assert [(name, event) for name, event, _ in ran if event != "c_call"] == [], ran
    assert pool.empty((1 << 17,), numpy.dtype("u1")).size == 1 << 17


@pytest.mark.parametrize("python", [False, True])
def test_machine_code_of_loops_can_be_interrupted(python: bool) -> None:
    """Within the loop; with steps that Python computes (there is no C++ for determinants), too."""

    def body(i: Any, v: Any) -> Any:
        v = jnp.cos(v) * 0.5
        return v + 1e-3 * jnp.linalg.det(jnp.outer(v, v) + jnp.eye(9)) if python else v

    def handler(number: int, frame: Any) -> None:
        raise AlarmError

    f = jax.jit(lambda v, n: jax.lax.fori_loop(0, n, body, v))
    before = signal.signal(signal.SIGALRM, handler)
    try:
        with lazynp.config(compile_after=0.0):
            wanted = numpy.asarray(f(jnp.ones(9), 300))
            assert loops.wait(120)
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(AlarmError):
                numpy.asarray(f(jnp.ones(9), (1 << 31) - 1))
            assert numpy.allclose(numpy.asarray(f(jnp.ones(9), 300)), wanted)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_interrupts_are_not_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy drops what the buffer protocol raises, and asks for the array in another way."""

    def handler(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    dropped: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda given: dropped.append(given.exc_type))
    before = signal.signal(signal.SIGALRM, handler)
    try:
        with lazynp.config(mode="graph", compile=False, pending_bytes=1 << 40):
            for _ in range(10):
                x = lazynp.ones((1500, 1500))
                for i in range(30):
                    x = lazynp.sin(x) * 0.5 + lazynp.sqrt(x + i)
                signal.setitimer(signal.ITIMER_REAL, 0.03)
                try:
                    numpy.asarray(x)
                except KeyboardInterrupt:
                    break
                # It came while a weak reference's callback ran, of which Python lets no error out.
                assert dropped.pop() is KeyboardInterrupt
            else:
                raise AssertionError("it never came")
            assert x._s_.node.buffer is None
            assert numpy.ptp(numpy.asarray(x)) == 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_interrupts_before_a_fork_are_not_dropped() -> None:
    """Python shows what is raised before a fork, and goes on; Ctrl-C while the rest was computed came to nothing."""
    code = """
        import os, signal
        import lazynp
        from lazynp import threads

        def interrupt():
            raise KeyboardInterrupt

        signal.signal(signal.SIGINT, signal.default_int_handler)
        threads.at_fork(-1, interrupt)
        try:
            if os.fork() == 0:
                for i in range(1000):
                    pass
                os._exit(7)
            for i in range(1000):
                pass
            print("nothing")
        except KeyboardInterrupt:
            threads.hooks[:] = []
            print("interrupted", os.waitstatus_to_exitcode(os.wait()[1]))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=PATIENCE
    )
    assert (done.stdout, done.stderr) == ("interrupted 7\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("when", ["before", "parent", "child"])
def test_an_error_around_a_fork_leaves_no_lock_held(when: str) -> None:
    """Of what is called before a fork, in the middle of which it comes, or after it; in the parent and in the child."""
    code = f"""
        import os, threading
        import lazynp
        from lazynp import threads
        from lazynp.backends.numpy.crew import crew
        from lazynp.numpy.draws import line
        from lazynp.runtime.recorder import recorder

        def fail():
            raise MemoryError

        def is_free():
            def work():
                for lock in (recorder.lock, line.lock, crew.gate):
                    if not lock.acquire(timeout=5):
                        left.append(lock)
                    else:
                        lock.release()
            left = []
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            return not left

        if {when!r} == "before":
            threads.hooks[:] = [hook._replace(before=fail) if hook.rank == 20 else hook for hook in threads.hooks]
        else:
            threads.at_fork(16, {when}=fail)
        for _ in range(2):
            pid = os.fork()
            if pid == 0:
                os._exit(is_free())
            print(is_free(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=PATIENCE, env=ENVIRONMENT, check=False,
    )  # fmt: skip
    assert done.stdout == "True 1\n" * 2, done.stderr
    assert "MemoryError" in done.stderr


@pytest.mark.parametrize("read", [lambda y: y.all(), lambda y: lazynp.sum(y), lambda y: y[[1, 2]], lambda y: y.T])
def test_an_interrupt_while_a_view_is_brought_up_to_date(read: Any) -> None:
    """The call that NumPy does as a whole asks a handle for the value that its storage got through another one."""
    with lazynp.config(mode="graph", compile=False):
        x = lazynp.arange(10.0) + 1
        y = x[1:]
        x._host_()

    def trace(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code is type(y)._host_.__code__:
            sys.settrace(None)
            raise KeyboardInterrupt
        return None

    before = sys.gettrace()
    with lazynp.config(mode="auto"):
        sys.settrace(trace)
        try:
            with pytest.raises(KeyboardInterrupt):
                read(y)
                y._host_()  # what asked for no value has seen no interrupt
        finally:
            sys.settrace(before)
        assert numpy.array_equal(numpy.asarray(y), numpy.arange(10.0)[1:] + 1)


def test_deep_in_the_stack() -> None:
    wanted = heat(numpy, 12)
    with lazynp.config(mode="graph", compile=False):
        for room in range(5, 60, 3):
            u = heat(lazynp, 12)

            def down(n: int, u: Any = u) -> Any:
                return down(n - 1) if n else numpy.asarray(u).sum()

            depth, frame = 0, sys._getframe()
            while frame is not None:
                depth, frame = depth + 1, frame.f_back  # type: ignore[assignment]
            with contextlib.suppress(RecursionError):
                down(sys.getrecursionlimit() - depth - room)
            assert numpy.array_equal(numpy.asarray(u), wanted)


def test_short_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What there was room for is kept, the rest is pending."""
    with lazynp.config(mode="graph", compile=False):
        a = lazynp.arange(1000.0)
        b = a * 2
        c = b.reshape(10, 100).sum(axis=0)
        d = c @ lazynp.ones((100, 3))
        with monkeypatch.context() as patch:
            patch.setattr(steps, "own", fail)
            with pytest.raises(MemoryError):
                numpy.asarray(d)
            with pytest.raises(MemoryError):
                numpy.asarray(d)
            assert numpy.asarray(b)[3] == 6
        wanted = (numpy.arange(1000.0) * 2).reshape(10, 100).sum(axis=0)
        assert numpy.array_equal(numpy.asarray(c), wanted)
        assert numpy.array_equal(numpy.asarray(d), wanted @ numpy.ones((100, 3)))


def fail(*_: Any) -> None:
    raise MemoryError


def test_threads_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer do the work."""
    monkeypatch.setattr("threading.Thread.start", lambda self: (_ for _ in ()).throw(RuntimeError("no thread")))
    crew, ran = Crew(), []
    monkeypatch.setattr("lazynp.backends.numpy.crew.crew", crew)
    Task(lambda: ran.append(1), 4).run()
    assert ran == [1] and crew.helpers == 0
    monkeypatch.setattr("lazynp.numpy.draws.line", Line())
    draw = lazynp.random.default_rng(5).standard_normal(200_000)
    assert numpy.array_equal(numpy.asarray(draw), numpy.random.default_rng(5).standard_normal(200_000))


ERRORS = """
y ** x
y **= x
y[...] = y ** x
np.power(y, x)
np.power(y, x, out=y)
z[:] = np.power(y, x)
np.power(y, -1)
y ** -2
y **= -1
y ** np.int64(-1)
np.power(y, x, where=x > 0)
2 ** x
y.astype(np.int8) ** x.astype(np.int8)
y[i]
y[i] = 1
y[i] += 1
y.take(i)
np.take(y, i, out=z[:5])
y.put(i, 1)
m[i]
m[:, i] = 3
np.take_along_axis(y, i, 0)
np.put_along_axis(y, i, 1, 0)
np.choose(i, [y[:5]] * 3, out=z[:5])
np.bincount(x)
np.unravel_index(i, (3, 3))
np.ravel_multi_index((i, i), (3, 3))
y.repeat(x)
np.add.at(y, i, 1)
np.add.reduceat(y, i)
np.linalg.cholesky(s)
s[...] = np.linalg.inv(s)
np.linalg.solve(s, s)
np.linalg.eig(s / 0)
np.searchsorted(z, y, sorter=i)
np.digitize(y, x)
np.histogram(f * np.nan)
np.delete(y, i)
np.percentile(f, 200)
y[0] = 2 ** 70
y.astype(np.int8) + 300
f[b[:3]] = 1
np.place(f, b, [])
np.copyto(y, f)
y += f
np.add(y, f, out=y)
w = f.imag; w[2] = 1
w = (f + 1).imag; w += 1
w = (f + 1).imag[2:]; w[...] = f[2:]
w = y.imag; w.shape = (2, -1); w[0] = 1
w = np.diagonal(s + 1); w[0] = 1
""".strip().splitlines()


def effects(np: Any, statement: str, n: int) -> tuple[Any, dict[str, Any]]:
    """What a statement raises, and what its variables are then."""
    f, y = np.linspace(0, 1, n), np.arange(n) + 2
    names = {
        "np": np, "f": f, "y": y, "z": np.arange(n), "x": np.arange(n) % 5 - 1, "i": np.array([0, 1, 10**7, 2, 3]) + 0,
        "m": np.arange(3 * n).reshape(3, n) + 0, "s": np.zeros((4, 4)) + 0, "b": f > 0.5,
    }  # fmt: skip
    raised = None
    with numpy.errstate(all="ignore"):
        try:
            exec(statement, names)
        except Exception as error:
            raised = type(error)
    return raised, {k: numpy.array(names[k]) for k in "fyzxmsbi"}


@pytest.mark.parametrize("mode, n", [("auto", 60), ("auto", 250000), ("graph", 60)])
def test_errors_of_values_come_at_the_call(mode: str, n: int) -> None:
    """Of the statement, as NumPy's do, and leave what it would have written."""
    for statement in ERRORS:
        wanted, before = effects(numpy, statement, n)
        with lazynp.config(mode=mode):
            got, after = effects(lazynp, statement, n)
        assert got is wanted, statement
        for k, value in before.items():
            assert numpy.array_equal(after[k], value, equal_nan=value.dtype.kind == "f"), (statement, k)


def test_exponents_that_a_mask_leaves_out_may_be_negative() -> None:
    def powers(np: Any) -> Any:
        y, e = np.arange(60) + 1, np.arange(60) % 7 - 3
        m = e >= 0
        y[m] = y[m] ** e[m]
        z = y[m]
        z **= e[m]
        return numpy.array(y), numpy.array(z)

    with lazynp.config(mode="graph"):
        for got, wanted in zip(powers(lazynp), powers(numpy)):
            assert numpy.array_equal(got, wanted)


def test_powers_stay_lazy() -> None:
    """The exponent is looked at; the result is pending."""
    with lazynp.config(mode="graph"):
        y, x = lazynp.arange(100) + 1, lazynp.arange(100) % 3
        z = (y * 2) ** x
        assert z._s_.node.buffer is None
        assert numpy.array_equal(numpy.asarray(z), ((numpy.arange(100) + 1) * 2) ** (numpy.arange(100) % 3))


@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_a_value_that_is_too_large_stands_alone(mode: str) -> None:
    """What cannot be computed for want of memory raises where it is asked for, each time, and nowhere else."""
    with lazynp.config(mode=mode):
        a = lazynp.arange(200_000.0)
        before = a + 1
        large = lazynp.broadcast_to(a[:1], (1 << 24, 1 << 24)) * 2  # 2 PB
        after = before * 2
        on_large = large[:2, :2] + 1
        assert numpy.asarray(after)[3] == 8
        for _ in range(2):
            with pytest.raises(MemoryError):
                numpy.asarray(large)
            with pytest.raises(MemoryError):
                numpy.asarray(on_large)
        for i in range(3 * lazynp.config.pending_nodes):  # more than are recorded before they run
            after = after * (1 if i % 7 else -1) + before
        again = numpy.asarray(before) * 2
        for i in range(3 * lazynp.config.pending_nodes):
            again = again * (1 if i % 7 else -1) + numpy.asarray(before)
        assert numpy.array_equal(numpy.asarray(after), again)
        with pytest.raises(MemoryError):
            numpy.asarray(large)
        seen = numpy.asarray(a)  # memory that NumPy has, too: a write there runs what reads it
        sums = large + a[:1]
        a[:2] = 7.0
        seen[2] = 8.0
        assert a[:3].tolist() == [7.0, 7.0, 8.0]
        with pytest.raises(MemoryError):
            numpy.asarray(sums)
        del large, on_large, sums
        assert numpy.asarray(after + 1)[0] == again[0] + 1


def test_what_stands_aside_is_not_kept() -> None:
    """A value that cannot be computed goes when nobody has it any more, and what it reads goes with it."""
    with lazynp.config(mode="graph"):
        a = lazynp.arange(200_000.0) + 1
        large = lazynp.broadcast_to(a[:1], (1 << 24, 1 << 24)) * 2  # 2 PB
        with pytest.raises(MemoryError):
            numpy.asarray(large[:2])
        assert numpy.asarray(a * 3)[0] == 3
        nodes = [weakref.ref(large._s_.node), weakref.ref(large._s_.node.inputs[0])]
        assert recorder.aside and all(ref() is not None for ref in nodes)
        del large, a
        gc.collect()
        assert [ref() for ref in nodes] == [None, None]
        recorder.flush()
        assert not recorder.aside


def test_a_lock_goes_whatever_interrupts_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "x.lock")
    with monkeypatch.context() as patch:
        patch.setattr(folders.os, "unlink", interrupt)
        with pytest.raises(KeyboardInterrupt), folders.lock(path) as mine:
            assert mine
    with folders.lock(path) as mine:
        assert mine


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("raised", [KeyboardInterrupt, MemoryError])
def test_a_kernel_that_could_not_be_handed_over_is_again(
    raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the compiler, after a moment."""

    class Client:
        error: type[BaseException] | None = raised

        def submit(self, spec: Any, geometry: Any, on_done: Any) -> None:
            if self.error is not None:
                raise self.error
            on_done(print)

        def key(self, *_: Any) -> str:
            return "key"

        lookup = reason = status = again = lambda self, *_: None

    client = Client()
    monkeypatch.setattr(runtime_kernels, "client", lambda: client)
    monkeypatch.setattr(runtime_kernels, "RETRY", 0.0)
    form = runtime_kernels.Form(KernelSpec((), (), (), (), 1), None)
    with lazynp.config(compile_after=0.0):
        with pytest.raises(KeyboardInterrupt) if raised is KeyboardInterrupt else contextlib.nullcontext():
            form.charge(1.0, False)
        assert form.compiled is None and not form.asked
        client.error, form.geometry = None, types.SimpleNamespace(symbolic=False)
        form.charge(1.0, False)
        assert form.compiled is print and form.asked


def test_a_compiler_process_that_cannot_answer_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client sees that, and asks another one; it would wait for this one for a quarter of an hour."""
    tools = worker.build.Toolchain("g++", "DEFAULT", ())
    monkeypatch.setattr(worker.build, "toolchain", lambda: tools)
    monkeypatch.setattr(worker.build, "Header", lambda *_: types.SimpleNamespace(thread=None))
    monkeypatch.setattr(worker, "LOOK", 0.01)
    monkeypatch.setattr(worker.Worker, "_translate", lambda *_: ("", {}))
    monkeypatch.setattr(worker.Worker, "_build", fail)
    cache, (reader, writer) = artifacts.Artifacts(str(tmp_path)), os.pipe()
    with os.fdopen(reader, "rb") as stream, os.fdopen(writer, "wb") as to:
        pickle.dump((1, "0" * 64, None, None, str(tmp_path)), to)
        to.flush()
        assert worker.serve(worker.Requests(stream, lambda: None), io.BytesIO(), cache) == gcc.TIRED
        to.close()
    monkeypatch.setattr(worker.Requests, "_read", lambda self: None)
    assert worker.serve(worker.Requests(io.BytesIO(), lambda: None), io.BytesIO(), cache) == 0
