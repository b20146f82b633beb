"""`profile`: where the time of a block goes, and that nothing of it is there outside of one."""

from __future__ import annotations

import inspect
import itertools
import json
import threading
import time
import types
import xml.etree.ElementTree as ET
from typing import Any

import numpy
import opt_einsum
import pytest

import lazynp as np
import lazynp.jax as jax
import lazynp.jax.numpy as jnp
from lazynp import swap, tracebacks, tracing
from lazynp.jax.source_info import SourceInfo
from lazynp.runtime import kernels, recorder, segment, steps
from lazynp.tracing import TIMED, KernelUse, Trace

N = 700


def line_of(text: str) -> tuple[str, int]:
    """The line of this file with that text."""
    lines, _ = inspect.getsourcelines(inspect.getmodule(line_of))  # type: ignore[arg-type]
    return __file__, 1 + next(i for i, code in enumerate(lines) if text in code and "line_of" not in code)


def work() -> Any:
    u = np.linspace(0.0, 1.0, N * N).reshape(N, N)
    for _ in range(4):
        u[1:-1] = 0.5 * (u[2:] + u[:-2])
        float(np.abs(u).max())  # asked in the loop
    for _ in range(3):
        u = np.linalg.inv(u @ u + np.eye(N))  # most of the time
    return u[0, 0]


@pytest.fixture(scope="module")
def profiled() -> Any:
    with np.config(compile_after=1e9), np.profile() as p:
        work()
    return p


def test_the_categories_add_up(profiled: Any) -> None:
    total = sum(profiled.seconds.values())
    assert 0.95 * profiled.wall <= total <= 1.02 * profiled.wall
    assert {"kernels, interpreted", "library calls"} <= profiled.seconds.keys()
    assert profiled.seconds["library calls"] == pytest.approx(profiled.library_seconds, rel=0.5, abs=0.02)


def test_the_looks_account_for_the_time(profiled: Any) -> None:
    lines = sum(profiled.lines.values())
    assert 0.5 * profiled.wall <= lines <= 1.01 * profiled.wall  # on a busy machine the helper may be late
    assert profiled.lines[line_of("# most of the time")] > 0
    assert {file for file, _ in profiled.lines} == {__file__}


def test_code_without_a_file_is_of_its_module() -> None:
    """Methods that `dataclasses` and `collections` made for classes of ours are no lines of the program's."""
    scope: dict[str, Any] = {"__name__": "lazynp.graph.made"}
    exec("def made(): return frames(ident())\ndef deeper(): return made()", scope)
    scope.update(frames=tracing.frames_of, ident=threading.get_ident)
    frames = scope["deeper"]()  # asked through ours
    assert tracing.where(frames)[0] == line_of("# asked through ours")
    scope["__name__"] = "program"
    assert tracing.where(scope["deeper"]())[0] == ("<string>", 1)
    for method in (SourceInfo.__eq__, KernelUse.__new__):
        assert tracebacks.is_quiet(method.__code__.co_filename, method.__globals__["__name__"])


def test_work_of_libraries_is_the_programs() -> None:
    """Also below `python -m lazynp`, and where an adapter of ours called the library; not what we call ourselves."""

    def place(f: Any) -> Any:
        return f.__code__, f.__code__.co_firstlineno, 0, f.__module__

    def own() -> None: ...

    theirs, starts, records, helps = map(place, (pytest.approx, swap.run_module, tracebacks.leave, opt_einsum.contract))
    line = __file__, own.__code__.co_firstlineno
    assert tracing.where([theirs, starts]) == ((theirs[0].co_filename, theirs[1]), "the program")
    assert tracing.where([theirs, records, place(own)]) == (line, "the program")
    assert tracing.where([place(own), theirs, starts]) == (line, "the program")
    assert tracing.where([records, place(own), starts]) == (line, "recording")
    assert tracing.where([records, theirs, starts]) == (None, "recording")
    assert tracing.where([helps, records, place(own)]) == (line, "recording")
    scope: dict[str, Any] = {"__name__": pytest.approx.__module__}
    exec("def made(): ...", scope)
    assert tracing.where([place(scope["made"]), theirs]) == ((theirs[0].co_filename, theirs[1]), "the program")


def test_what_was_asked_for(profiled: Any) -> None:
    times, seconds = profiled.demands[line_of("# asked in the loop")]
    assert times == 4 and 0 < seconds < profiled.wall


def test_bytes_that_are_needed_are_those_of_memory_that_is_shared_once() -> None:
    u = numpy.zeros((10, 10))
    assert tracing.once([u]) == tracing.once([u, u[1:], u[:-1, 2:]]) == 800
    assert tracing.once([u[0], u[9]]) == 160 and tracing.once([u[:, 0]]) == 80  # apart, and of a column its elements
    assert tracing.once([numpy.broadcast_to(u[0], (50, 10))]) == 80 and tracing.once([]) == tracing.once([u[:0]]) == 0
    with np.profile() as p:
        v = np.random.default_rng(0).random((600, 600))
        v[1:-1, 1:-1] = 0.25 * (v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2])
        np.synchronize()
    use = max(p._times.kernels.values(), key=lambda use: use.bytes)
    assert use.bytes == 5 * 598 * 598 * 8 and 2 * 598 * 598 * 8 <= use.needed <= 2 * 600 * 600 * 8


def test_kernels_have_a_state(profiled: Any) -> None:
    text = str(profiled)
    assert "of the 1e+09 s after which it is compiled" in text and "add, multiply" in text
    with np.profile() as p:
        np.gcd(np.arange(300_000), 6).sum()
    assert "refused: " in str(p)


def test_a_kernel_that_is_never_compiled_says_why(profiled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = "of the 1e+09 s after which it is compiled"
    with np.config(compile=False):
        assert "interpreted: compiling is switched off" in str(profiled) and waits not in str(profiled)
    monkeypatch.setattr("lazynp.backends.compiler._has_torch", lambda: False)
    assert "torch is not installed (pip install 'lazynp[torch]')" in str(profiled) and waits not in str(profiled)


def test_the_text_has_all_parts(profiled: Any) -> None:
    text = str(profiled)
    for heading in ("where ", "by line", "kernels", "values that were asked for", "counts"):
        assert f"\n{heading}" in f"\n{text}"
    assert "np.linalg.inv(u @ u" in text


def test_many_small_kernels_are_looked_at() -> None:
    """They let the helper in at each call and were back before it ran: nothing was seen of them."""
    f = jax.jit(lambda x: jnp.tanh(x @ x.T).sum(axis=0) - 1.0)
    x = jnp.ones((40, 40))
    f(x).block_until_ready()
    seen = []
    for _ in range(12):
        with np.profile() as p:
            end = time.perf_counter() + 0.01
            while time.perf_counter() < end:
                f(x).block_until_ready()
        seen.append({file for file, _ in p.lines})
    assert seen.count({__file__}) >= 6


def test_a_block_that_is_over_at_once_says_so() -> None:
    with np.profile() as p:
        pass
    assert p.lines or "was over before it was looked at" in str(p)


def test_host_calls_are_listed() -> None:
    a = np.arange(200_000.0).astype("m8[s]")
    with np.profile() as p:
        np.sort(a)
    assert p.host_calls and "calls that NumPy did on the host" in str(p)


def test_what_cannot_be_saved_makes_no_file(tmp_path: Any) -> None:
    with pytest.raises(RuntimeError, match="has ended"):
        np.profile().save(tmp_path / "trace.json")
    assert not list(tmp_path.iterdir())


def test_a_call_that_runs_without_a_plan_is_timed() -> None:
    a = np.random.default_rng(0).random((900, 1000))
    a.block_until_ready()
    shares = []
    for _ in range(5):  # on a busy machine a run may wait for a core in the midst of Python's own work
        with np.profile() as p:
            np.sort(a, axis=0).block_until_ready()
        shares.append(p.seconds["library calls"] / p.wall)
    assert max(shares) > 0.5, shares


def test_html_is_well_formed(profiled: Any) -> None:
    root = ET.fromstring(profiled.html)
    assert len(list(root.iter("table"))) >= 4
    assert profiled._repr_html_() == profiled.html
    assert "<pre>" in np.profile()._repr_html_()


def test_a_trace_that_chrome_reads(profiled: Any, tmp_path: Any) -> None:
    profiled.save(tmp_path / "trace.json")
    data = json.loads((tmp_path / "trace.json").read_text())
    events = [e for e in data["traceEvents"] if e["ph"] == "X"]
    assert {e["tid"] for e in events} == {1, 2, 3}
    assert all(-1 <= e["ts"] <= e["ts"] + e["dur"] <= 1e6 * profiled.wall + 1e4 for e in events)
    assert {"inv", "matmul"} <= {e["name"] for e in events}
    assert data["otherData"]["operations"] == profiled.operations
    lines = sorted([(e["ts"], e["dur"]) for e in events if e["tid"] == 1])
    assert all(a + d <= b + 1 for (a, d), (b, _) in itertools.pairwise(lines))


REPLACED = [
    *[(t.owner, t.attribute) for t in TIMED],
    (kernels.Kernel, "run"),
    (kernels.Form, "note"),
    (recorder.Recorder, "demand"),
]


def test_nothing_is_left_after_a_block() -> None:
    before = [vars(owner)[name] for owner, name in REPLACED]
    with pytest.raises(ZeroDivisionError), np.profile():
        assert vars(steps.Library)["run"] is not before[0] and segment.plan_of is not before[5]
        _ = 1 / 0
    assert [vars(owner)[name] for owner, name in REPLACED] == before
    assert Trace.on is None


def test_blocks_in_one_another() -> None:
    with np.profile() as outer, np.profile() as inner:
        np.ones(300_000).sum()
    assert inner.operations == outer.operations > 0 and outer.wall > 0
    with pytest.raises(RuntimeError, match="outermost"):
        _ = inner.wall
    assert "operations" in str(inner)


def test_without_lines() -> None:
    with np.profile(lines=False) as p:
        np.ones(300_000).sum()
    assert p.operations and "by line" not in str(p)
    with pytest.raises(RuntimeError):
        _ = p.wall


def test_errors_and_values_are_as_ever() -> None:
    a = np.linspace(0.0, 1.0, N * N).reshape(N, N)
    with np.profile() as p:
        with pytest.raises(numpy.linalg.LinAlgError):
            np.linalg.inv(np.zeros((N, N)))
        total = np.sin(a).sum()
        f = jax.jit(lambda x: (x @ x).sum())
        y = float(f(jnp.ones((N, N))))
    assert total == pytest.approx(numpy.sin(numpy.asarray(a)).sum()) and y == float(N) ** 3
    assert p.library >= 2


def test_frames_of_a_thread_that_goes_on() -> None:
    """What is looked at stays as it was, and nothing is kept of it."""
    ended = threading.Event()

    def deep(n: int) -> int:
        return sum(x for x in (n, deep(n - 1))) if n else 0

    def work() -> None:
        while not ended.is_set():
            deep(20)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert thread.ident is not None
        seen = [tracing.frames_of(thread.ident) for _ in range(3000)]
    finally:
        ended.set()
        thread.join()
    names = {place[0].co_name for frames in seen for place in frames}
    assert "work" in names and "deep" in names and names.isdisjoint({"test_frames_of_a_thread_that_goes_on"})
    assert all(type(place[2]) is int and (place[1] is None or place[1] > 0) for frames in seen for place in frames)
    assert tracing.frames_of(0) == []


@pytest.mark.parametrize("asked, state", [(True, "queued or compiling"), (False, "interpreted")])
def test_a_kernel_whose_compiler_was_stopped_is_not_said_to_be_cold(
    asked: bool, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As at the end of a program, when the report is printed."""
    form = types.SimpleNamespace(spec=None, geometry=None, asked=asked, compiled=None, seconds=100.0 if asked else 0.0)
    stopped = types.SimpleNamespace(status=lambda *_: "unknown", missing=lambda: "")
    monkeypatch.setattr(kernels, "client", lambda: stopped)
    with np.config(compile=True, compile_after=0.3):
        found, why = tracing.state_of(types.SimpleNamespace(compilable=True, forms={0: form}, exact={}))
    assert found == state and ("the program ended first" in why) == asked
