"""Memory over time: what dead arrays leave, what is kept for arrays to come, what programs that never repeat cost."""

from __future__ import annotations

import gc
import os
import platform
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy
import pytest
from patience import PATIENCE

import lazynp
from lazynp.bounded import Bounded
from lazynp.graph import node as graph_node
from lazynp.graph import op as graph_op
from lazynp.runtime import kernels, segment
from lazynp.runtime.pool import SMALLEST, pool
from lazynp.runtime.recorder import recorder

LONG = bool(os.environ.get("LAZYNP_LONG"))
ROOT = Path(lazynp.__file__).parent.parent
MB = 1 << 20
CACHES: list[Bounded] = [
    graph_node._numbers,
    graph_op._avals,
    segment.plans,
    segment.exact_plans,
    kernels.kernels,
    recorder.codes,
]


def program(text: str) -> int:
    """The last line that a program prints, a number, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])


RESULTS = """
    import gc, time
    import {np} as np
    def resident():
        return int(open("/proc/self/statm").read().split()[1]) * 4096
    warm = np.ones(1000) * 2
    before = resident()
    base = np.ones({n})
    results, kept = [], []
    for i in range({count}):
        results.append(base * i + 1)
        kept.append(b"x" * 40_000)  # so that what dies leaves holes
    assert sum([float(r[7]) for r in results]) == sum(range({count})) + {count}
    most = resident() - before
    assert most > {count} * {n} * 8, "the results are not in memory"
    del results
    gc.collect()
    deadline = time.monotonic() + {wait}   # two seconds, and more where the machine is busy
    while resident() - before > {enough} and time.monotonic() < deadline:
        time.sleep(0.1)
    print(resident() - before)
"""


@pytest.mark.parametrize("n, count", [(1 << 21, 20), (90_000, 400), (200_000, 200)])
def test_what_dead_arrays_leave(n: int, count: int) -> None:
    """Resident memory after `del`, once the program has paused, is within 64 MB of NumPy's."""
    if LONG:
        count *= 8
    theirs = program(RESULTS.format(np="numpy", n=n, count=count, wait=2, enough=0))
    ours = program(RESULTS.format(np="lazynp", n=n, count=count, wait=30, enough=max(theirs, 0) + 64 * MB))
    print(f"{count} arrays of {n:,}: {theirs / MB:.0f} MB with NumPy, {ours / MB:.0f} MB")
    assert ours <= theirs + 64 * MB


def test_buffers_are_used_again_and_go_back() -> None:
    lazynp.free_memory()  # of other tests
    first = pool.empty((SMALLEST,), numpy.dtype("u1"))
    place = first.ctypes.data
    assert place % 64 == 0 and first.flags.c_contiguous and first.flags.writeable
    part = first[10:20]
    del first
    other = pool.empty((SMALLEST,), numpy.dtype("u1"))
    assert other.ctypes.data != place  # a view is still there
    del part
    assert until(lambda: pool.bytes or pool.returned.qsize())  # the keeper may have it in its hands
    again = pool.empty((SMALLEST // 8,), numpy.dtype("f8"))
    assert again.ctypes.data == place
    del again, other
    assert until(lambda: pool.bytes >= 2 * SMALLEST)
    freed = lazynp.free_memory()
    assert freed >= 2 * SMALLEST and pool.bytes == 0


def test_pages_that_others_freed_go_back() -> None:
    """The C library keeps them where something above them lives; nothing is in the pool."""
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("another C library than glibc has no malloc_trim")
    kept = program("""
        import lazynp
        def resident():
            return int(open("/proc/self/statm").read().split()[1]) * 4096
        before = resident()
        pieces = [b"x" * 30_000 for _ in range(4000)]
        assert resident() - before > 100e6
        del pieces[:-1]
        assert lazynp.free_memory() == 0, "something was in the pool"
        print(resident() - before)
    """)
    assert kept < 30 * MB


def test_a_bound_of_the_pool() -> None:
    lazynp.free_memory()
    with lazynp.config(pool_bytes=3 * SMALLEST):
        arrays = [pool.empty((SMALLEST,), numpy.dtype("u1")) for _ in range(5)]
        del arrays
        assert until(lambda: pool.bytes == 3 * SMALLEST)
    lazynp.free_memory()


def test_a_size_that_is_used_stays() -> None:
    """Only the sizes that nobody asks for go back by themselves."""
    lazynp.free_memory()
    sizes = 2 * SMALLEST, 3 * SMALLEST
    for n in sizes:
        pool.empty((n,), numpy.dtype("u1"))
    deadline = time.monotonic() + 60
    while pool.spare.get(sizes[0]) and time.monotonic() < deadline:
        pool.empty((sizes[1],), numpy.dtype("u1"))
        time.sleep(0.01)
    assert not pool.spare.get(sizes[0]) and len(pool.spare[sizes[1]]) == 1


def test_arrays_that_shrink_find_memory() -> None:
    """Each round of a loop over `x[k:]` has arrays a little smaller than the one before."""
    lazynp.free_memory()
    sizes = range(30 * SMALLEST, 29 * SMALLEST, -64)
    made = pool.made
    for n in sizes:
        array = pool.empty((n,), numpy.dtype("u1"))
        assert array.nbytes == n
        del array
    assert pool.made - made <= 3


def test_memory_that_comes_back_under_the_pools_lock() -> None:
    """An array that dies waits for nobody: it may do so where the lock's owner is gone, or waits for it."""
    lazynp.free_memory()
    array = pool.empty((SMALLEST,), numpy.dtype("u1"))
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with pool.lock:
            held.set()
            assert done.wait(PATIENCE)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(PATIENCE)
    del array
    assert pool.bytes == 0
    done.set()
    thread.join()
    assert until(lambda: pool.bytes == SMALLEST)


def until(done: Callable[[], bool]) -> bool:
    """Whether it comes true soon: the pool looks at what came back when it is asked for memory, or its keeper does."""
    deadline = time.monotonic() + PATIENCE
    while not done() and time.monotonic() < deadline:
        with pool.lock:
            pool.sort_in()
        time.sleep(1e-3)
    return done()


def test_bounded_keeps_what_is_used() -> None:
    cache: Bounded[int, str] = Bounded(4)
    for k in range(100):
        if cache.get(0) is None and cache.recall(0) is None:
            assert k == 0
        cache.keep(k, str(k))
        assert len(cache) <= 4 and len(cache.older) <= 4
    assert cache.get(0) == "0" and cache.get(99) == "99" and cache.recall(50) is None
    assert "0" in cache.everything()
    cache.clear()
    assert cache.recall(0) is None and not cache


@pytest.fixture
def small_caches() -> Iterator[None]:
    """Caches that are full after a few hundred graphs; with LAZYNP_LONG as they are."""
    before = [c.size for c in CACHES]
    if not LONG:
        for c in CACHES:  # what other tests have left there, they make again
            c.clear()
            c.size = 64
    with lazynp.config(mode="graph", compile_after=1e9):
        yield
    for c, size in zip(CACHES, before):
        c.size = size


def test_programs_that_never_repeat(small_caches: None) -> None:
    """Graphs that are all different: the caches stay bounded, and so does memory; no graph takes long."""
    np = lazynp
    steps = (np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.hypot, np.copysign, np.fmax)
    b = np.ones(1)
    longest = 0.0

    def graph(i: int) -> None:
        """One of 8 ** 7 graphs, over one of 50 shapes."""
        nonlocal longest
        start = time.perf_counter()
        n = 2 + i % 50
        x = y = np.ones(n)
        for k in range(7):
            i, step = divmod(i, 8)
            y = steps[step](y, x if k % 2 else b)
        assert numpy.asarray(y).shape == (n,)
        longest = max(longest, time.perf_counter() - start)

    def resident() -> int:
        gc.collect()
        lazynp.free_memory()  # what the heap keeps free of other tests may go back between two measurements
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    n = 100_000 if LONG else 1_500
    for i in range(n // 3):
        graph(i * 977)
    before, longest = resident(), 0.0
    for i in range(n // 3, n):
        graph(i * 977)
    grown = resident() - before
    print(f"{n:,} graphs, {grown / MB:+.1f} MB after the first third; the longest took {longest * 1e3:.0f} ms")
    assert all(len(c) <= c.size and len(c.older) <= c.size for c in CACHES)
    assert grown < 8 * MB


def test_a_function_jitted_for_many_shapes() -> None:
    """Signatures that were not used lately are forgotten, and traced again when they come again."""
    traced = []

    @lazynp.jit
    def f(x: object) -> object:
        traced.append(x)
        return x + 1  # type: ignore[operator]

    f._fast.size = f._entries.size = 8
    for n in (*range(1, 40), 20, 39):
        assert f(lazynp.zeros(n)).tolist() == [1.0] * n
        assert f._cache_size() <= 16
    assert len(traced) == 40  # 20 was traced twice, 39 once; the first few the C module knows for good
