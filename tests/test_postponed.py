"""Values on the way to one that is asked for: those that are cheap to compute again are not stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazynp
from lazynp.runtime.postponed import POSTPONED
from lazynp.runtime.recorder import MOST_ASIDE, recorder

N = 1 << 18


@pytest.fixture(autouse=True)
def settled() -> Iterator[None]:
    recorder.flush()
    with lazynp.config(mode="graph", deterministic=True):
        yield


def arrays() -> tuple[Any, numpy.ndarray]:
    values = numpy.random.default_rng(0).standard_normal(N)
    return lazynp.array(values), values


def is_stored(x: Any) -> bool:
    return x._s_.buf is not None or x._s_.node.buffer is not None


def test_a_named_value_is_not_stored_on_the_way_to_another() -> None:
    u, values = arrays()
    d = u - 1.0
    e = abs(d)
    assert float(e.max()) == abs(values - 1.0).max()
    assert not is_stored(d) and not is_stored(e)
    assert numpy.asarray(e).tobytes() == abs(values - 1.0).tobytes()
    assert numpy.asarray(d).tobytes() == (values - 1.0).tobytes()


def test_the_second_time_it_is_stored() -> None:
    u, values = arrays()
    d = u * 2.0
    assert float(d.max()) == (values * 2.0).max()
    assert d._s_.node.index == POSTPONED
    assert float((d + 1.0).max()) == (values * 2.0 + 1.0).max()
    assert is_stored(d)


@pytest.mark.parametrize(
    "write",
    (
        lambda np, u: u.__setitem__(slice(3, 9), 7.0),
        lambda np, u: u.__imul__(0.5),
        lambda np, u: np.add(u, 1.0, out=u),
        lambda np, u: u.fill(2.0),
        lambda np, u: u.sort(),
        lambda np, u: numpy.asarray(u).__setitem__(5, 9.0),
        lambda np, u: u.flat.__setitem__(7, 3.0),
        lambda np, u: u.__setitem__(u > 0, 0.0),
    ),
)
def test_what_it_reads_may_be_written_to(write: Any) -> None:
    u, values = arrays()
    d, expected = u + 1.0, values + 1.0
    assert float(d.sum()) == expected.sum()
    assert not is_stored(d)
    write(lazynp, u)
    write(numpy, values)
    assert numpy.asarray(d).tobytes() == expected.tobytes()
    assert numpy.asarray(u).tobytes() == values.tobytes()


def test_memory_that_somebody_has_is_read_before_it_is_written_to() -> None:
    u, values = arrays()
    seen = numpy.asarray(u)
    d = u + 1.0
    assert float(d.max()) == (values + 1.0).max()
    seen[...] = 0.0
    assert numpy.asarray(d).tobytes() == (values + 1.0).tobytes()


def test_what_is_dear_or_made_of_what_nobody_holds_is_stored() -> None:
    u, values = arrays()
    dear = lazynp.exp(u)
    assert float(dear.max()) == numpy.exp(values).max() and is_stored(dear)
    of_nothing = lazynp.array(values) + 1.0
    assert float(of_nothing.max()) == (values + 1.0).max() and is_stored(of_nothing)
    beside = u + 3.0
    assert float((u - 1.0).max()) == (values - 1.0).max() and is_stored(beside)
    small = u[:1000] + 1.0
    assert float(small.max()) == (values[:1000] + 1.0).max() and is_stored(small)


def test_a_flush_computes_it_and_a_loop_forgets_those_before() -> None:
    u, values = arrays()
    for k in range(3 * MOST_ASIDE):
        d = u - float(k)
        assert float(d.max()) == (values - float(k)).max()
    assert len(recorder.aside) <= 2 * MOST_ASIDE
    assert not is_stored(d)
    recorder.flush()
    assert is_stored(d) and not recorder.aside
