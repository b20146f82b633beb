"""What is one call for NumPy, with nothing in it to fuse, is NumPy's call on large arrays at hand too: its bits and
strides, counted as one operation of the engine, and not what is pending, strict, in graph mode or traced."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp
from lazynp.runtime.profile import profile
from lazynp.runtime.recorder import recorder

SIDE = 500
CALLS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "trace": lambda np, m, x, k: np.trace(m),
    "method": lambda np, m, x, k: m.trace(1),
    "norm": lambda np, m, x, k: np.linalg.norm(m, axis=1),
    "nansum": lambda np, m, x, k: np.nansum(x),
    "nanmean": lambda np, m, x, k: np.nanmean(m, axis=0),
    "pad": lambda np, m, x, k: np.pad(m, 2, mode="reflect"),
    "delete": lambda np, m, x, k: np.delete(x, 5),
    "insert": lambda np, m, x, k: np.insert(x, 5, 1.0),
    "repeat": lambda np, m, x, k: np.repeat(m, 2, axis=0),
    "vdot": lambda np, m, x, k: np.vdot(x, x),
    "convolve": lambda np, m, x, k: np.convolve(x, m[0, :9], "same"),
    "count": lambda np, m, x, k: np.count_nonzero(m, axis=0),
    "shift": lambda np, m, x, k: np.fft.fftshift(m),
    "frexp": lambda np, m, x, k: np.frexp(x),
    "einsum": lambda np, m, x, k: np.einsum("ij,ij->i", m, m),
    "rows": lambda np, m, x, k: m[k],
    "chosen rows": lambda np, m, x, k: m[k > 250],
}
MAKERS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "linspace": lambda np, m, x, k: np.linspace(0, 1, SIDE * SIDE),
    "indices": lambda np, m, x, k: np.indices((SIDE, SIDE)),
    "ones": lambda np, m, x, k: np.ones((SIDE, SIDE)),
    "full": lambda np, m, x, k: np.full(SIDE * SIDE, 3),
    "full_like": lambda np, m, x, k: np.full_like(m, 2.5),
    "zeros_like": lambda np, m, x, k: np.zeros_like(m, int),
    "zeros": lambda np, m, x, k: np.zeros(SIDE * SIDE),
}
VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "diagonal": lambda np, m: np.diagonal(m, 3),
    "method": lambda np, m: m.diagonal(),
    "einsum": lambda np, m: np.einsum("ii->i", m),
    "turned": lambda np, m: np.einsum("ij->ji", m),
}


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    with lazynp.config(mode="auto", compile=False, small=20_000, strict=False):
        recorder.flush()
        yield


def arrays(m: Any) -> tuple[Any, Any, Any]:
    r = numpy.random.default_rng(1)
    x = r.random(SIDE * SIDE)
    return m.array(x.reshape(SIDE, SIDE)), m.array(x), m.array(r.integers(0, SIDE, SIDE))


def parts(x: Any) -> tuple[Any, ...]:
    return x if type(x) is tuple else (x,)


@pytest.mark.parametrize("name", [*CALLS, *MAKERS])
def test_values_and_layout_are_numpys(name: str) -> None:
    call = {**CALLS, **MAKERS}[name]
    given = arrays(lazynp)
    call(lazynp, *given)  # the first call of a function is Python's
    recorder.flush()
    before = profile.operations, profile.plans
    got = call(lazynp, *given)
    counted = profile.operations - before[0]
    for a, b in zip(parts(call(numpy, *arrays(numpy))), parts(got), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides
        assert numpy.asarray(b).tobytes() == a.tobytes()
    assert profile.plans == before[1]
    assert counted == (name != "zeros")


@pytest.mark.parametrize("name", CALLS)
def test_the_engine_does_it_where_it_has_to(name: str) -> None:
    want = CALLS[name](numpy, *arrays(numpy))
    for how in ({"strict": True}, {"mode": "graph"}):
        with lazynp.config(**how):
            given = arrays(lazynp)
            before = profile.host_calls.copy()
            got = CALLS[name](lazynp, *given)
            for a, b in zip(parts(want), parts(got), strict=True):
                numpy.testing.assert_allclose(numpy.asarray(b), a, 1e-12)
            assert profile.host_calls == before


@pytest.mark.parametrize("name", VIEWS)
def test_views_show_the_memory(name: str) -> None:
    m, h = arrays(lazynp)[0], arrays(numpy)[0]
    v, w = VIEWS[name](lazynp, m), VIEWS[name](numpy, h)
    assert v.strides == w.strides and v.flags.writeable == w.flags.writeable
    m *= 2.0
    h *= 2.0
    assert numpy.array_equal(numpy.asarray(v), w)


def test_pending_arrays_stay_pending() -> None:
    m, _, _ = arrays(lazynp)
    y = lazynp.nansum(m * 2.0, axis=1)
    assert recorder.nodes
    assert numpy.allclose(numpy.asarray(y), numpy.nansum(numpy.asarray(m) * 2.0, axis=1))


def test_gradients_see_through() -> None:
    m, x, _ = arrays(lazynp)
    g = lazynp.grad(lambda x: lazynp.trace(x) + lazynp.vdot(x.ravel(), x.ravel()))(m)
    assert numpy.allclose(numpy.asarray(g), numpy.eye(SIDE) + 2 * numpy.asarray(m))
    g = lazynp.grad(lambda x: lazynp.sum(lazynp.pad(x, 3) ** 2) + lazynp.linalg.norm(x))(x)
    assert numpy.allclose(
        numpy.asarray(g), 2 * numpy.asarray(x) + numpy.asarray(x) / numpy.linalg.norm(numpy.asarray(x))
    )


@pytest.mark.parametrize("bound", [0.5, 0.99])
def test_a_number_is_written_where_a_mask_says(bound: float) -> None:
    m, h = arrays(lazynp)[0], arrays(numpy)[0]
    row, same, other = m[3], h[3], m.copy()
    m[m > bound] = 0.25
    h[h > bound] = 0.25
    assert numpy.array_equal(numpy.asarray(m), h) and numpy.array_equal(numpy.asarray(row), same)
    assert numpy.array_equal(numpy.asarray(other), arrays(numpy)[0])
    y = m * 2.0  # which reads what was there before the write
    m[m < 0.001] = 3.0
    assert numpy.array_equal(numpy.asarray(y), h * 2.0)


def test_few_places_of_a_mask_need_no_select() -> None:
    _, x, _ = arrays(lazynp)
    before = profile.plans
    for number in (0.25, numpy.float32(0.5), numpy.int8(3)):
        x[x > 0.99] = number
        assert x._b_ is x._s_.buf is not None
    z = lazynp.array(x._h_ * 1j)
    z[abs(z) > 0.99] = numpy.complex64(2 + 1j)
    assert z._b_ is z._s_.buf is not None
    assert profile.plans == before


def test_too_large_a_shape_is_numpys_error() -> None:
    for make in (lambda np: np.full((1 << 40, 1 << 40), 1.0), lambda np: np.ones((1 << 31, 1 << 31, 4))):
        errors = []
        for np in (numpy, lazynp):
            with pytest.raises((ValueError, MemoryError)) as raised:
                make(np)
            errors.append(type(raised.value).__name__)
        assert errors[0] == errors[1]


def test_rows_that_are_iterated_over_are_there() -> None:
    x = lazynp.arange(40_000.0).reshape(400, 100) + 1.0
    before = profile.operations
    rows = list(x)
    assert profile.operations <= before + 1 and all(row._s_.buf is not None for row in rows)
    numpy.testing.assert_array_equal(rows[7], numpy.arange(700.0, 800.0) + 1.0)
    rows[7][:] = 0.0
    assert x[7, 3] == 0.0  # they are views


@pytest.mark.parametrize("other", [[1, 2, 3], (1.0, 5, 2), [True, False, True], [2], [1 + 0j, 2, 3]])
@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons_with_lists_are_numpys(name: str, other: Any) -> None:
    compare = getattr(operator, name)
    for x in ([1, 2, 3], [1.5, 2.0, 1.0]):
        for a, b in ((lazynp.array(x), other), (other, lazynp.array(x))):
            got = compare(a, b)
            assert type(got) is lazynp.ndarray
            want = compare(*[numpy.array(x) if isinstance(v, lazynp.ndarray) else v for v in (a, b)])
            assert numpy.asarray(got).tolist() == want.tolist()
    with pytest.raises(ValueError, match="broadcast"):
        compare(lazynp.ones(3), [1, 2])


def test_many_small_pieces_of_a_pending_array_are_taken_of_its_value() -> None:
    x = lazynp.arange(50_000.0) + 1.0
    few = [x[i : i + 100] for i in range(0, 1_000, 100)]
    assert x._s_.buf is None and few[3]._s_ is x._s_
    halves = [x[i:] for i in range(100)]
    assert x._s_.buf is None and len(halves) == 100
    pieces = [x[i : i + 100] for i in range(0, 50_000, 100)]
    assert x._s_.buf is not None
    pieces[7][:] = 0.0
    assert x[705] == 0.0 and halves[1][704] == 0.0 and few[9][1] == 902.0


def test_what_has_been_computed_is_at_hand_to_calls() -> None:
    x = lazynp.arange(50_000.0) + 1.0
    y = x * 2.0
    assert y[3] == 8.0 and x._s_.buf is None
    numpy.asarray(x + y)
    lazynp.hstack([lazynp.ones(2), lazynp.ones(2)])  # the first call finds out how calls are made
    assert lazynp.hstack([x, y])._s_.buf is not None


def test_joins_of_large_arrays_at_hand_are_numpys_call() -> None:
    _, x, _ = arrays(lazynp)
    for join in (lazynp.concatenate, lazynp.stack, lazynp.vstack):
        join([lazynp.ones(2), lazynp.ones(2)])
    for joined in (lazynp.concatenate([x, x]), lazynp.stack([x, x]), lazynp.vstack((x, x))):
        assert joined._s_.buf is not None and joined.size == 2 * x.size


def test_parts_of_large_complex_arrays_are_views() -> None:
    z = lazynp.array(numpy.arange(50_000) + 1j)
    re, im = z.real, z.imag
    re[5], z[6] = 99.0, 7j
    assert z[5] == 99 + 1j and re[6] == 0.0 and im[6] == 7.0
    z *= 2
    assert re[5] == 198.0
    z.real = 3.0
    assert re[9] == 3.0
