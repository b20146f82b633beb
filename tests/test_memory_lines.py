"""Memory of results that begins with a line of the cache: `_memory.h`."""

from __future__ import annotations

import tracemalloc

import numpy
import pytest
from numpy._core.multiarray import get_handler_name  # type: ignore[attr-defined]

import lazynp as np
from lazynp.speed import native

pytestmark = pytest.mark.skipif(native is None, reason="the C modules are not there")


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "float64", "complex128"])
def test_results_begin_with_a_line(dtype: str) -> None:
    for n in (600, 1001, 4096, 30_000):
        a = np.ones(n, dtype)
        result = (a == a if dtype == "bool" else a * a)._host_()
        assert result.ctypes.data % 64 == 0 or result.nbytes < 512
        assert result.flags.owndata and result.flags.c_contiguous and result.flags.aligned and result.flags.writeable


def test_memory_goes_where_it_came_from() -> None:
    """NumPy resizes and frees it by the functions that it was made with, and tells tracemalloc."""
    a = np.arange(1000.0) + 1
    assert get_handler_name(a._host_()) == "lazynp_lines"
    a.resize(5000)
    assert a.sum() == 500_500 and (a[1000:] == 0).all()
    a.resize(10)
    assert a.tolist() == list(range(1, 11))
    ones = np.ones(1000)
    tracemalloc.start()
    try:
        kept = [ones + k for k in range(100)]
        domain = tracemalloc.DomainFilter(True, numpy.lib.tracemalloc_domain)
        traced = sum([s.size for s in tracemalloc.take_snapshot().filter_traces([domain]).traces])
        assert 800_000 <= traced < 1_000_000
        del kept
        traced = sum([s.size for s in tracemalloc.take_snapshot().filter_traces([domain]).traces])
        assert traced < 100_000
    finally:
        tracemalloc.stop()


def test_shapes_without_elements() -> None:
    for shape in ((0, 3), (1000, 0), ()):
        result = np.ones(shape) + 1
        assert result.shape == shape and (np.asarray(result) == 2).all()
