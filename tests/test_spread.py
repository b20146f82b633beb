"""Plain NumPy text in several processes: right values, and few messages. gloo, on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from many import ROOT, right, run
from patience import PATIENCE

from lazynp.spread.group import Group

pytest.importorskip("torch.distributed", reason="processes are joined by torch, which is an extra")

JACOBI = """
n, steps = 240, 24
def sweep(np, u):
    for _ in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
def grid(np):
    u = np.zeros((n, n))
    u[0, :] = 100.0
    u[:, -1] = 50.0
    return u
u, v = grid(np), grid(numpy)
sweep(np, u)
total = float(u.sum())
from lazynp.spread.buffer import spreading
counts = dict(spreading().counts)
assert counts["gathers"] == 0, counts
assert 1 <= counts["exchanges"] <= 8, counts  # of 24 steps: several run with the rows that one exchange brought
sweep(numpy, v)
assert numpy.array_equal(numpy.asarray(u), v)
assert abs(total - v.sum()) <= 1e-12 * abs(v.sum())
print("right", total)
"""
SMALL = {"LAZYNP_SMALL": "200", "LAZYNP_SPREAD_SIZE": "200"}


def test_processes_that_run_different_programs_say_so(tmp_path) -> None:
    program = """
    u = np.zeros((100, 100))
    for step in range(50):
        u[1:-1] = 0.5 * (u[2:] + u[:-2])
        if step == 20 and rank == 1:
            u += 1
    print(float(u.sum()))
    """
    done = run(3, program, tmp_path, **SMALL)
    assert all(d.status for d in done)
    assert all("different programs" in d.errors for d in done), [d.errors[-500:] for d in done]
    assert any("rank 1" in d.errors and "program.py:" in d.errors for d in done)


PROGRAMS = int(os.environ.get("LAZYNP_PROGRAMS", "40"))
RANDOM = """
import sys
import time
sys.path.insert(0, TESTS)
import runs, programs
np.config.spread_size = 4
for seed in range(PROGRAMS):
    text = runs.difference(programs.Generator(seed, exact=True)(), np, {"mode": "graph"})
    assert not text, f"seed {seed}: {text}"
print("right", PROGRAMS)
"""

# What is split and stays split: no whole array comes to any process. a, b: 24 x 10; v: 120 elements; t: 9 x 8 x 7.
LOCAL = """\
a + b|a[2:] - a[:-2]|a.T + 1|a.T @ b|a @ c|a @ c[:, 0]|v @ v|np.vecdot(v, v)|a.sum()|a.sum(0)
a.sum(1)|a.mean(0)|a.std(1)|a.max(0)|a.min()|a.prod(1)|(a > 0).all(0)|np.cumsum(a, 1)
np.cumsum(a, 0)|np.sort(a, 1)|np.sort(a, 0)|np.fft.fft(a, axis=1)|np.fft.fft(a, axis=0)
np.fft.fft2(a)|np.fft.rfft2(a)|np.where(a > 0, a, b)|a.reshape(-1)|a.reshape(12, 20)
v.reshape(12, 10)|a.ravel()[5:50]|a[::-1]|a[::2, 1:]|a[3]|a[:, 3]|a[:, None] * b[:, :, None]
np.concatenate([a, b])|np.concatenate([a, b], 1)|np.stack([a, b])|np.roll(a, 2, 0)
np.diff(a, axis=0)|a.argmax(1)|a.argmax(0)|np.clip(a, -1, 1)|np.linalg.norm(a, axis=1)
np.einsum('ij,ij->i', a, b)|t.sum((0, 2))|t.transpose(2, 0, 1) + 1|t @ t.transpose(0, 2, 1)
np.gradient(a)[0]|np.tril(a)|np.pad(a, 1)|np.nansum(a)|np.ptp(a, 0)|np.flip(a, 1)
np.count_nonzero(a > 0)"""
WHOLE = """np.linalg.inv(a[:10])|np.unique(k)|np.median(a)|a[i]|a[a > 0]|np.linalg.solve(a[:10], v[:10])
np.bincount(k.ravel())|np.convolve(v, v[:5])|np.histogram(v)[0]|np.searchsorted(np.sort(v), v)|np.fft.fft(v)"""
FUNCTIONS = """
from lazynp.spread.buffer import spreading
from lazynp.runtime.recorder import recorder
rng = numpy.random.default_rng(3)
draw = rng.standard_normal
given = {"a": draw((24, 10)), "b": draw((24, 10)), "c": draw((10, 9)), "v": draw(120), "t": draw((9, 8, 7)),
         "k": rng.integers(0, 50, (12, 10)), "i": rng.integers(0, 24, 100)}
for text, local in EXPRESSIONS:
    want = numpy.asarray(eval(text, {"np": numpy, **given}))
    space = {"np": np, **{k: np.array(x) * 1 for k, x in given.items()}}
    recorder.flush()
    before = spreading().counts["gathers"]
    got = eval(text, space)
    recorder.flush()
    gathers = spreading().counts["gathers"] - before
    got = numpy.asarray(got)
    assert got.shape == want.shape and got.dtype == want.dtype, (text, got.shape, want.shape, got.dtype)
    assert numpy.allclose(got, want, rtol=1e-10, atol=1e-12), text
    assert not (local and gathers), f"{text} gathers {gathers} times"
print("right")
"""


LESS = """
import random
drawn = [numpy.random.default_rng().random(), numpy.random.random(), random.random(), np.random.default_rng().random()]
all_drawn = group.group().all_gather(numpy.array(drawn), "draws")
assert all((other == drawn).all() for other in all_drawn)  # though no seed was given

x = np.array(numpy.arange(6000.0).reshape(60, 100)) * 2
y = x.T[10:]
before = group.group().bytes_sent
assert x[5, 7] == 1014.0 and x[-1, -1] == 11998.0 and y[3, 59] == 2 * 5913.0
assert type(x[5, 7]) is numpy.float64
assert group.group().bytes_sent - before <= 4 * 2 * 8  # an element moves alone

labels = numpy.arange(60) % 7
for k in range(8):
    some = x[np.array(labels) == k]
    assert numpy.allclose(some.sum(axis=0), 2 * numpy.arange(6000.0).reshape(60, 100)[labels == k].sum(axis=0))
order = numpy.random.default_rng(5).permutation(60)
for taken in (order, order[:7], -1 - order, numpy.repeat(order, 3)):
    wanted = 2 * numpy.arange(6000.0).reshape(60, 100)[taken]
    for indices in (taken, np.array(taken)):
        assert numpy.array_equal(numpy.asarray(x[indices] + 1), wanted + 1)
with np.profile() as p:
    numpy.asarray(x)
assert [n for (what, line), n in p.host_calls.items() if "gather" in what and "program.py" in line] == [1], p
np.save("x.npy", x)
assert numpy.array_equal(numpy.asarray(np.load("x.npy") + 1), numpy.asarray(x) + 1)
y = x + 1
with np.config(gather_bytes=1000):
    try:
        np.linalg.svd(y)
    except RuntimeError as error:
        assert "program.py" in str(error) and "48,000" in str(error), error
    else:
        raise AssertionError("a gather was not refused")
assert abs(float(x.sum()) - 35994000.0) < 1e-3  # the processes go on
print("right")
"""


@pytest.mark.parametrize("size", [2, 3])
def test_values_and_messages(size: int, tmp_path) -> None:
    """A stencil, functions, selections, elements and random programs, in an even and an uneven number of processes."""
    lists = [(text.strip(), local) for text, local in [(LOCAL, True), (WHOLE, False)]]
    each = [(e, local) for text, local in lists for line in text.splitlines() for e in line.split("|")]
    programs = RANDOM.replace("TESTS", repr(str(ROOT / "tests"))).replace("PROGRAMS", str(PROGRAMS))
    functions = "np.config.small, np.config.spread_size = 20, 100\n" + FUNCTIONS.replace("EXPRESSIONS", repr(each))
    parts = [JACOBI, LESS, functions, programs]
    out = right(size, "\n".join(parts), tmp_path, timeout=PATIENCE + PROGRAMS, **SMALL)
    assert out.count("right") == len(parts)


def test_replicated_values_that_differ_are_found(tmp_path) -> None:
    program = """
    x = np.array(numpy.arange(6000.0)) * 2
    shift = np.array(numpy.full(30, float(rank)))  # what a clock or a file of one machine would do
    y = x.reshape(200, 30) + shift
    print(float(y.sum()))
    """
    done = run(2, program, tmp_path, **SMALL, LAZYNP_SPREAD_CHECK="1")
    assert all(d.status for d in done) and "different values" in done[0].errors, done[0].errors[-800:]


FAULTY = """
import os, sys, time
import numpy as np

u = np.zeros((100, 100))
u[0] = 100.0
for step in range(60):
    u[1:-1] = 0.5 * (u[2:] + u[:-2])
    if step == 30 and os.environ["RANK"] == "1":
        print(time.time(), file=sys.stderr, flush=True)
        FAULT
print("the end", u.sum())
"""


def start(size: int, folder, *args: str, **env: str):
    """`python -m lazynp --processes`, with small arrays that count as large."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [sys.executable, "-m", "lazynp", "--processes", str(size), *args],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "LAZYNP_COMPILE": "0", **SMALL, **env},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_the_launcher_and_the_example(tmp_path) -> None:
    done = start(2, tmp_path, str(ROOT / "examples/many/stencil.py"), "--size", "60", "--steps", "16")
    assert done.returncode == 0 and done.stdout.startswith("mean 6.711253") and done.stdout.count("mean") == 1, done


@pytest.mark.parametrize(
    ("fault", "status", "says"),
    [
        ("os.kill(os.getpid(), 9)", 137, "rank 1 of 3 was ended by SIGKILL"),
        ("raise ValueError('a bug')", 1, "ValueError: a bug"),
        ("time.sleep(1000)", 1, "rank 1 has not come to"),
    ],
    ids=["killed", "raises", "stalls"],
)
def test_faults_end_all_processes_with_the_name_of_one(fault: str, status: int, says: str, tmp_path) -> None:
    (tmp_path / "faulty.py").write_text(FAULTY.replace("FAULT", fault))
    done = start(3, tmp_path, "faulty.py", LAZYNP_PEER_TIMEOUT="4")
    assert done.returncode == status and says in done.stderr and "the end" not in done.stdout, done.stderr


def test_nobody_stays_for_the_one_that_stalls(tmp_path) -> None:
    """The first of two processes, at whose end others may ask who was lost, does not wait for that one once more."""
    (tmp_path / "faulty.py").write_text(FAULTY.replace("FAULT", "open('when', 'x').close(), time.sleep(1000)"))
    done = start(2, tmp_path, "faulty.py", LAZYNP_PEER_TIMEOUT="8")
    took = time.time() - (tmp_path / "when").stat().st_mtime
    assert done.returncode == 1 and "rank 1 has not come to" in done.stderr, done.stderr
    assert 8 < took < 15, took


def test_who_begins_to_wait_a_little_later_is_not_to_blame() -> None:
    """Rank 0 does not come; rank 2, which waits for it, says so when its own time is over, after that of rank 1."""
    begin = time.monotonic()

    class Told:
        def tell(self, key: str, text: str) -> None: ...

        def told(self, key: str) -> str | None:
            return "0" if key == "waits/2" and time.monotonic() > begin + 0.6 else None

    error = Group(Told(), 1, 3, timeout=10.0).lost(2, "a sum", RuntimeError("timed out"))
    assert error.rank == 0 and "rank 0 has not come to a sum" in str(error)
