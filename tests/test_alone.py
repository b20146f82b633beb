"""One operation whose value is asked for as soon as it is recorded is NumPy's call, with NumPy's bits, and makes no
plan; what there is to fuse, and what a plan is worth its cost for, gets one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp
from lazynp.runtime.faults import failures
from lazynp.runtime.profile import profile
from lazynp.runtime.recorder import recorder

SIZE = 250_000


def written(m: Any, part: Any) -> Any:
    part = part.copy()
    m[1:-1, 1:-1] = part
    m[::2] = 7.0
    return m


CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda m, x, i: x + x,
    "scalar": lambda m, x, i: 2.5 * x,
    "two dtypes": lambda m, x, i: x + i,
    "compare": lambda m, x, i: x > 0.25,
    "clip": lambda m, x, i: m.clip(i, 5, 9000),
    "where": lambda m, x, i: m.where(i, x, -1.0),
    "slice": lambda m, x, i: x[1:] - x[:-1],
    "turned": lambda m, x, i: x.reshape(500, 500).T * 2.0,
    "row": lambda m, x, i: x.reshape(5, 50_000)[1:] + 1.0,
    "sum": lambda m, x, i: x.reshape(500, 500).sum(axis=0),
    "rolled": lambda m, x, i: m.roll(x, 5),
    "rolled back": lambda m, x, i: m.roll(x.reshape(500, 500), (-3, 2), axis=(1, 0)),
    "rolled rows": lambda m, x, i: m.roll(x.reshape(500, 500), 1, axis=0),
    "sort": lambda m, x, i: m.sort(x),
    "where of a view": lambda m, x, i: m.where(x[::2] > 0.5, x[1::2], 0.0),
    "in two": lambda m, x, i: m.abs(x - 0.5),
    "in three": lambda m, x, i: (x > 0.2) & (x < 0.5),
    "counted": lambda m, x, i: m.count_nonzero(x > 0.5) + m.zeros(1),
    "sum of truth": lambda m, x, i: (x > 0.5).sum(keepdims=True),
    "sums of truth": lambda m, x, i: (x > 0.5).reshape(500, 500).sum(axis=1),
    "any": lambda m, x, i: (x > 3).any() | m.zeros(1, bool),
    "largest": lambda m, x, i: m.abs(x).max() + m.zeros(1),
    "spread": lambda m, x, i: x.std() + m.zeros(1),
    "rolled product": lambda m, x, i: m.roll(x * 2.0, 5),
    "rolled view": lambda m, x, i: m.roll(x[::-1], -3),
    "packed truth": lambda m, x, i: m.packbits(x > 0.5),
    "place of the largest": lambda m, x, i: m.argmax(x * 2.0) + m.zeros(1, int),
    "sorted sum": lambda m, x, i: m.sort(x + 0.5),
    "turned product": lambda m, x, i: (x * 2.0).reshape(500, 500).T.copy(),
    "copy of a view": lambda m, x, i: x[::-2].copy(),
    "turned copy": lambda m, x, i: x.reshape(500, 500).T.copy(),
    "copy of a part": lambda m, x, i: m.ascontiguousarray(x.reshape(500, 500)[:, 1:490]),
    "copy of a row for all": lambda m, x, i: m.broadcast_to(i[:500], (500, 500)).copy(),
    "flattened": lambda m, x, i: x.reshape(500, 500).flatten(),
    "turned and flattened": lambda m, x, i: x.reshape(500, 500).T.flatten(),
    "copies of parts": lambda m, x, i: [part.copy() for part in m.split(x, 10)][7],
    "part that is written": lambda m, x, i: written(x.reshape(500, 500), x.reshape(500, 500).T[1:-1, 1:-1] + 0),
    "sums of products": lambda m, x, i: m.einsum("ij,ij->i", x.reshape(500, 500) * 2, i.reshape(500, 500)),
    "grid": lambda m, x, i: m.meshgrid(x[:500].copy(), x[:600].copy())[1],
    "gradient": lambda m, x, i: m.gradient(x),
    "numbers for none": lambda m, x, i: m.nan_to_num(m.log(x - 0.5), nan=2.0),
    "polynomial": lambda m, x, i: m.polyval([1.0, 2.0, 3.0], x),
    "division by zero": lambda m, x, i: x / m.zeros(SIZE),
}


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    with lazynp.config(mode="auto", compile=False, small=20_000):
        recorder.flush()
        yield


def arrays(m: Any) -> tuple[Any, Any]:
    x = numpy.random.default_rng(1).random(SIZE)
    return m.array(x), m.array((x * 10_000).astype(int))


@pytest.mark.parametrize("name", CALLS)
def test_values_are_numpys(name: str) -> None:
    with numpy.errstate(all="ignore"):
        want = CALLS[name](numpy, *arrays(numpy))
    got = CALLS[name](lazynp, *arrays(lazynp))
    assert got.dtype == want.dtype and got.shape == want.shape and got.strides == want.strides
    assert numpy.asarray(got).tobytes() == want.tobytes()


def test_copies_writes_and_passes_make_no_plan() -> None:
    x, _ = arrays(lazynp)
    m, part, row = x.reshape(500, 500), lazynp.array(numpy.ones((498, 498))), lazynp.arange(500.0)
    before = profile.plans, profile.kernels
    for call in (
        m.flatten,
        lambda: [v.copy() for v in lazynp.split(x, 10)],
        lambda: m.__setitem__((slice(1, -1), slice(1, -1)), part),
        lambda: lazynp.meshgrid(row, row),
        lambda: lazynp.einsum("ij,ij->i", m * 2, m),
    ):
        call()
        recorder.flush()
        assert (profile.plans, profile.kernels) == before


def test_a_part_that_is_written_at_once_changes_nobody_elses_array() -> None:
    x, _ = arrays(lazynp)
    y, z = x.copy(), x[1:] * 2.0
    x[100_000:] = 3.0
    want = arrays(numpy)[0]
    assert numpy.array_equal(y, want) and numpy.array_equal(z, want[1:] * 2.0)
    assert x[99_999] == want[99_999] and x[100_000] == 3.0


def test_no_plan_is_made() -> None:
    x, _ = arrays(lazynp)
    before = profile.plans, profile.kernels, profile.operations
    y = x[7:] * 3.25
    assert y._s_.buf is None
    numpy.asarray(y)
    assert (profile.plans, profile.kernels) == before[:2] and profile.operations > before[2]
    assert not recorder.nodes


def test_little_that_ends_in_a_number_makes_no_plan() -> None:
    x, _ = arrays(lazynp)
    before = profile.plans, profile.kernels
    assert (x > 3).any() == 0 and lazynp.count_nonzero(x > 0.5) > 0 and lazynp.abs(x - 0.5).max() <= 0.5
    kept = x - 0.25
    assert (kept * kept).sum() > 0
    assert (profile.plans, profile.kernels) == before
    assert kept._s_.node.buffer is not None
    numpy.testing.assert_array_equal(kept, numpy.asarray(x) - 0.25)


def test_what_was_left_out_is_there_when_it_is_asked_for() -> None:
    x, _ = arrays(lazynp)
    y = x.reshape(500, 500).T.copy()
    z = y + 1.0
    assert z[0, 0] == x[0] + 1.0
    x[:] = 0.0
    numpy.testing.assert_array_equal(y, arrays(numpy)[0].reshape(500, 500).T)


def test_what_has_failed_before_is_no_reason_for_a_plan() -> None:
    with pytest.raises(numpy.linalg.LinAlgError):
        numpy.asarray(lazynp.linalg.inv(lazynp.zeros((500, 500))))
    assert failures.seen
    test_no_plan_is_made()


def test_nothing_is_copied_for_ends_that_nobody_reads() -> None:
    x, _ = arrays(lazynp)
    before = profile.plans, profile.kernels
    numpy.asarray(lazynp.roll(x, 3))
    assert (profile.plans, profile.kernels) == before
    both = lazynp.roll(x, 3) + lazynp.roll(x, -1)  # which read one copy
    numpy.testing.assert_array_equal(both, numpy.roll(x, 3) + numpy.roll(x, -1))


def test_several_operations_are_a_kernel() -> None:
    x, _ = arrays(lazynp)
    before = profile.segments, profile.plans + profile.kernels + profile.interpreted
    y = (x * 3.5 + 1.25) * x - 7.75
    numpy.asarray(y)
    assert profile.segments == before[0] + 1 and profile.plans + profile.kernels + profile.interpreted > before[1]
    assert numpy.array_equal(y, (numpy.asarray(x) * 3.5 + 1.25) * numpy.asarray(x) - 7.75)


def test_a_result_shares_no_memory() -> None:
    x, _ = arrays(lazynp)
    y = +x
    z = x.reshape(500, 500).T.copy()
    for made in (y, z):
        assert not numpy.shares_memory(numpy.asarray(made), numpy.asarray(x))
    x[0] = 99.0
    assert y[0] != 99.0 and z[0, 0] != 99.0


def test_an_error_is_that_of_the_value() -> None:
    a = lazynp.zeros((500, 500))
    with pytest.raises(numpy.linalg.LinAlgError, match="Singular"):
        numpy.asarray(lazynp.linalg.inv(a))
    assert lazynp.ones(3).sum() == 3.0


def test_a_copy_of_a_view_is_made_once() -> None:
    """What the array remembers of views that were read is not the copy's value, which would be copied for a write."""
    x, _ = arrays(lazynp)
    for copy in (lambda: x[::-1].copy(), lambda: x.reshape(500, 500).T.copy(), lambda: lazynp.array(x[5:-7])):
        made = copy()
        there = made._host_().ctypes.data
        made[3] = 2.0
        assert made._host_().ctypes.data == there == made.__array__().ctypes.data
    assert numpy.array_equal(x._host_(), arrays(numpy)[0])
