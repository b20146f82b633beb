"""Library calls in parts on several cores, and what NumPy does at once where all is at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp
from lazynp.backends.numpy import namespace, parts
from lazynp.backends.numpy.crew import Task
from lazynp.numpy.layout import array_of
from lazynp.ops.joining import wrap_around
from lazynp.runtime.device import devices
from lazynp.runtime.profile import profile
from lazynp.runtime.recorder import recorder

Arrays = tuple[numpy.ndarray, ...]
SIDE = 300


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    """Three threads, on any machine; the interpreter only."""
    with lazynp.config(deterministic=True, small=250, threads=3):
        yield


@pytest.fixture
def divided(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many parts each call had that was divided."""
    counts: list[int] = []

    class Counted(Task):
        __slots__ = ()

        def __init__(self, work: Callable[[], int | None], threads: int, blocks: int = 0) -> None:
            counts.append(blocks)
            super().__init__(work, threads, blocks)

    monkeypatch.setattr(parts, "Task", Counted)
    monkeypatch.setattr(parts, "TAKEN", 0)
    return counts


def lines(dtype: Any = float) -> numpy.ndarray:
    x = numpy.random.default_rng(0).standard_normal((SIDE, SIDE))
    x[3, 5], x[7, ::2], x[SIDE - 1, 0] = numpy.nan, 0.0, numpy.inf
    with numpy.errstate(invalid="ignore"):
        return x + 1j * x.T if dtype is complex else x.astype(dtype)


def matrices(n: int = 12) -> numpy.ndarray:
    return numpy.random.default_rng(1).standard_normal((600, n, n)) + 4 * numpy.eye(n)


ALONG: dict[str, Callable[[Any, Any, int], Any]] = {
    "fft": lambda np, x, axis: np.fft.fft(x, axis=axis),
    "fft_cut": lambda np, x, axis: np.fft.fft(x, 200, axis=axis, norm="ortho"),
    "fft_padded": lambda np, x, axis: np.fft.fft(x, 401, axis=axis),
    "ifft": lambda np, x, axis: np.fft.ifft(x, axis=axis),
    "rfft": lambda np, x, axis: np.fft.rfft(x, axis=axis),
    "irfft": lambda np, x, axis: np.fft.irfft(x, axis=axis),
    "irfft_odd": lambda np, x, axis: np.fft.irfft(x, 399, axis=axis, norm="forward"),
    "sort": lambda np, x, axis: np.sort(x, axis=axis),
    "stable": lambda np, x, axis: np.sort(x, axis=axis, kind="stable"),
    "argsort": lambda np, x, axis: np.argsort(x, axis=axis, kind="stable"),
    "partition": lambda np, x, axis: np.partition(x, (3, 50), axis=axis)[3:4],
    "argpartition": lambda np, x, axis: np.take_along_axis(x, np.argpartition(x, 9, axis=axis), axis).max(axis=axis),
    "argmax": lambda np, x, axis: (x + 0).argmax(axis=axis),  # a pending sum: an array at hand is NumPy's own affair
    "argmin": lambda np, x, axis: np.argmin(x + 0, axis=axis, keepdims=True),
    "median": lambda np, x, axis: np.median(x, axis=axis),
    "percentile": lambda np, x, axis: np.percentile(x, [10, 60], axis=axis),
}


@pytest.mark.parametrize("axis", (0, 1))
@pytest.mark.parametrize("name", ALONG)
def test_lines_in_parts_are_numpy_s_bit_for_bit(name: str, axis: int, divided: list[int]) -> None:
    call = ALONG[name]
    for x in (
        lines(),
        lines(numpy.float32),
        lines(complex),
        lines().T,
        numpy.nan_to_num(lines(), posinf=9.0).astype(int),
    ):
        if x.dtype.kind == "c" and name in ("rfft", "percentile"):
            continue
        if (
            name in ("argpartition", "partition") and x.dtype.kind != "i"
        ):  # of equal elements and NaN NumPy may take any
            x = numpy.random.default_rng(2).standard_normal(x.shape).astype(x.dtype)
        with numpy.errstate(all="ignore"):
            wanted = call(numpy, x, axis)
        divided.clear()
        found = call(lazynp, lazynp.array(x), axis)
        assert found.dtype == wanted.dtype and found.shape == wanted.shape
        assert numpy.asarray(found).tobytes() == wanted.tobytes()
        assert numpy.asarray(found).strides == wanted.strides
        in_vectors = name in ("argmax", "argmin") and x.strides[axis] == x.itemsize
        assert in_vectors or max(divided, default=0) > 1


STACKED: dict[str, Callable[[Any, Any], Any]] = {
    "inv": lambda np, a: np.linalg.inv(a),
    "det": lambda np, a: np.linalg.det(a),
    "slogdet": lambda np, a: np.linalg.slogdet(a),
    "solve": lambda np, a: np.linalg.solve(a, a[:, :, :3]),
    "cholesky": lambda np, a: np.linalg.cholesky(a @ a.transpose(0, 2, 1)),
    "eigh": lambda np, a: np.linalg.eigh(a + a.transpose(0, 2, 1)),
    "svd": lambda np, a: np.linalg.svd(a, compute_uv=False),
    "qr": lambda np, a: np.linalg.qr(a),
}


@pytest.mark.parametrize("name", STACKED)
def test_stacks_of_matrices_in_parts(name: str, divided: list[int]) -> None:
    a = matrices()
    wanted, found = STACKED[name](numpy, a), STACKED[name](lazynp, lazynp.array(a))
    for w, f in zip(*[x if isinstance(x, tuple) else (x,) for x in (wanted, found)], strict=True):
        assert f.dtype == w.dtype
        assert numpy.asarray(f).tobytes() == w.tobytes()
    assert max(divided) > 1


def test_an_error_in_a_part_is_the_call_s() -> None:
    a = matrices()
    a[400] = 0.0
    with pytest.raises(numpy.linalg.LinAlgError, match="Singular matrix"):
        lazynp.linalg.inv(lazynp.array(a))
    a[400] = -numpy.eye(12)
    with pytest.raises(numpy.linalg.LinAlgError, match="not positive definite"):
        lazynp.linalg.cholesky(lazynp.array(a @ a.transpose(0, 2, 1) - 1e9 * numpy.eye(12)))


def test_elements_that_are_looked_up_in_parts(divided: list[int]) -> None:
    draw = numpy.random.default_rng(3)
    x, grid = draw.random((SIDE, SIDE)), numpy.sort(draw.random(70))
    x[0, :3] = numpy.nan, -1.0, 2.0
    for call in (
        lambda np, x, grid: np.searchsorted(grid, x, side="right"),
        lambda np, x, grid: np.interp(x, grid, grid**2),
        lambda np, x, grid: np.digitize(x, grid),
    ):
        divided.clear()
        found = numpy.asarray(call(lazynp, lazynp.array(x), lazynp.array(grid)))
        assert found.tobytes() == call(numpy, x, grid).tobytes()
        assert max(divided) > 1


GATHERED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "two axes": lambda x, i, j: x[i, j],
    "rows by columns": lambda x, i, j: x[i[0, :, None], j[0]],
    "columns": lambda x, i, j: x.take(j[0].repeat(4), 1),
    "many rows": lambda x, i, j: x[i[0].repeat(4)],
    "narrow indices": lambda x, i, j: x[i.astype("i2"), j.astype("u1")],
}


@pytest.mark.parametrize("name", GATHERED)
def test_elements_by_few_indices(name: str) -> None:
    draw, call = numpy.random.default_rng(4), GATHERED[name]
    x, i, j = lines(), draw.integers(-SIDE, SIDE, (SIDE, SIDE)), draw.integers(0, 256, (SIDE, SIDE))
    found = numpy.asarray(call(lazynp.array(x) + 0.0, lazynp.array(i), lazynp.array(j)))
    assert found.tobytes() == call(x + 0.0, i, j).tobytes()
    for wrong in (SIDE, -SIDE - 1):
        i[0, 0] = wrong
        with pytest.raises(IndexError):
            numpy.asarray(lazynp.array(x)[lazynp.array(i), lazynp.array(j)])


@pytest.mark.parametrize("name", GATHERED)
def test_elements_by_indices_in_parts(name: str, divided: list[int]) -> None:
    draw, call = numpy.random.default_rng(3), GATHERED[name]
    x, i, j = lines(), draw.integers(-SIDE, SIDE, (SIDE, SIDE)), draw.integers(0, 256, (SIDE, SIDE))
    found = numpy.asarray(call(lazynp.array(x) + 0.0, lazynp.array(i), lazynp.array(j)))
    assert found.tobytes() == call(x + 0.0, i, j).tobytes()
    assert max(divided) > 1


def test_indices_out_of_bounds_are_numpy_s_error_in_parts(divided: list[int]) -> None:
    i = numpy.zeros(parts.FEWEST, int)
    i[-1] = SIDE
    with pytest.raises(IndexError, match=f"index {SIDE} is out of bounds for axis 1 with size {SIDE}"):
        namespace.gather(lines(), (i * 0, i), (0, 1), 0, "raise")


@pytest.mark.parametrize("dtype", ["u1", "i4", "i8"])
def test_numbers_are_counted_in_parts(dtype: str, divided: list[int]) -> None:
    x = numpy.random.default_rng(3).integers(0, 100, 1 << 18).astype(dtype)
    pending = lazynp.array(x) + numpy.array(1, dtype)
    assert numpy.array_equal(lazynp.bincount(pending, minlength=120), numpy.bincount(x + 1, minlength=120))
    assert max(divided) > 1


STENCILS: dict[str, Callable[[Any, Any], Any]] = {
    "four neighbours": lambda np, x: np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1),
    "diagonals": lambda np, x: np.roll(x, (1, -1), (0, 1)) - np.roll(x, (-1, 1), axis=(0, 1)),
    "further each time": lambda np, x: sum([k * np.roll(x, k, 0) for k in range(-3, 9)]),
    "all the way round": lambda np, x: np.roll(x, x.shape[0] - 1, 0) + np.roll(x, x.shape[1], 1),
    "one row": lambda np, x: np.roll(x.ravel(), 2) - np.roll(x.ravel(), -2),
    "columns first": lambda np, x: np.roll(x.T, 1, 0) + np.roll(x.T, 1, 1),
}


@pytest.mark.parametrize("name", STENCILS)
@pytest.mark.parametrize("shape", [(SIDE, SIDE), (3, 40_000), (40, 41, 42)])
def test_shifts_of_periodic_arrays(name: str, shape: tuple[int, ...]) -> None:
    x, call = numpy.random.default_rng(3).standard_normal(shape), STENCILS[name]
    found, wanted = call(lazynp, lazynp.array(x) * 2.0), call(numpy, x * 2.0)
    assert numpy.asarray(found).tobytes() == numpy.asarray(wanted).tobytes()
    assert found.flags.c_contiguous == wanted.flags.c_contiguous


def test_shifts_of_a_periodic_array_are_views_of_one_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "used", False)  # other tests use one, and there shifts are copies
    u = lazynp.array(numpy.random.default_rng(3).standard_normal((SIDE, SIDE))) * 2.0
    before = profile.library
    lap = STENCILS["four neighbours"](lazynp, u) - 4.0 * u
    lap.block_until_ready()
    assert profile.library == before + 1
    shifted = lazynp.roll(u, 1, 0)
    shifted[0] = 0.0  # which the array itself does not see
    wanted = numpy.roll(numpy.asarray(u), 1, 0)
    assert numpy.array_equal(lazynp.roll(u, 1, 0), wanted) and not shifted[0].any()


def test_derivatives_of_arrays_with_their_ends() -> None:
    x, widths = numpy.arange(12.0).reshape(3, 4), (2, 1)
    weights = numpy.random.default_rng(3).standard_normal((7, 6))

    def total(a: Any) -> Any:
        node = wrap_around(a._node_(), widths=widths)
        return (array_of(node) * weights).sum()

    wanted = numpy.zeros_like(x)
    places = numpy.pad(numpy.arange(12).reshape(3, 4), ((2, 2), (1, 1)), mode="wrap")
    numpy.add.at(wanted.reshape(-1), places, weights)
    numpy.testing.assert_allclose(lazynp.grad(total)(lazynp.array(x)), wanted)
    stack = lazynp.vmap(lambda a: array_of(wrap_around(a._node_(), widths=widths)))(lazynp.array(numpy.stack([x, -x])))
    assert numpy.array_equal(stack, [numpy.pad(y, ((2, 2), (1, 1)), mode="wrap") for y in (x, -x)])


def test_one_thread_makes_one_part(divided: list[int]) -> None:
    with lazynp.config(threads=1):
        lazynp.fft.fft(lazynp.array(lines())).block_until_ready()
    assert set(divided) <= {1}


# --- Work that is done once -------------------------------------------------------------------------------------------


def test_lstsq_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    stack = namespace.lstsq_stack
    monkeypatch.setattr(namespace.xp, "lstsq_stack", lambda *args: (calls.append(args), stack(*args))[1])
    draw = numpy.random.default_rng(4)
    a, b = draw.random((400, 5)), draw.random(400)
    for right in (b, b[:, None], numpy.stack([b, b[::-1]], axis=1)):
        calls.clear()
        found = lazynp.linalg.lstsq(lazynp.array(a), lazynp.array(right), rcond=None)
        recorder.flush()
        wanted = numpy.linalg.lstsq(a, right, rcond=None)
        for f, w in zip(found, wanted, strict=True):
            numpy.testing.assert_allclose(numpy.asarray(f), w, rtol=1e-10)
            assert numpy.shape(f) == numpy.shape(w)
        assert len(calls) == 1


def test_a_copy_in_another_shape_is_one_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not lie in one piece was copied by `reshape`, and then once more."""
    copied: list[bool] = []
    reshape = namespace.xp.reshape
    monkeypatch.setattr(
        namespace.xp, "reshape", lambda x, shape: (copied.append(not x.flags.c_contiguous), reshape(x, shape))[1]
    )
    x = numpy.random.default_rng(5).random((200, 300))
    for call in (
        lambda np, x: np.tile(x, (2, 1)),
        lambda np, x: (x * 2).T.reshape(100, 600),
        lambda np, x: np.repeat(x, 3, axis=0),
    ):
        found = call(lazynp, lazynp.array(x))
        assert numpy.array_equal(numpy.asarray(found), call(numpy, x))
    assert not any(copied)


@pytest.mark.parametrize("count", (1, 2, 3, 4, 5))
@pytest.mark.parametrize("shape", ((30000,), (100, 300), (7, 9, 500), (1, 20000)))
def test_short_rows_are_copied_by_columns(shape: tuple[int, ...], count: int) -> None:
    x = numpy.random.default_rng(6).random(shape)
    for axis in (None, *range(len(shape))):
        found = lazynp.repeat(lazynp.array(x) + 1, count, axis=axis)
        assert numpy.array_equal(numpy.asarray(found), numpy.repeat(x + 1, count, axis=axis))
    few = numpy.resize(x, 9000 * count).reshape(count, -1)
    assert numpy.array_equal(numpy.asarray(lazynp.array(few).T.copy()), few.T)
    assert numpy.array_equal(numpy.asarray((lazynp.array(few) * 2).T.reshape(-1)), (few * 2).T.reshape(-1))


# --- At hand: done at once --------------------------------------------------------------------------------------------

AT_ONCE: dict[str, Callable[[Any, numpy.ndarray, numpy.ndarray], Any]] = {
    "few_elements": lambda np, x, k: np.array(x)[np.array(k[:50])],
    "few_elements_of_rows": lambda np, x, k: np.array(x.reshape(100, -1))[
        np.array(k[:50] % 100), np.array(k[50:100] % 9)
    ],
    "take": lambda np, x, k: np.array(x).take(np.array(k)),
    "take_along_axis": lambda np, x, k: np.array(x.reshape(100, -1)).take(np.array(k[:100] % 100), axis=0),
    "packbits": lambda np, x, k: np.packbits(np.array(x > 0.5)),
    "unpackbits": lambda np, x, k: np.unpackbits(np.array((x * 255).astype(numpy.uint8))),
    "compress": lambda np, x, k: np.compress(np.array(x) > 0.5, np.array(x)),
    "trace": lambda np, x, k: np.trace(np.array(x.reshape(100, -1)), 2),
    "trace_of_several": lambda np, x, k: np.trace(np.array(x.reshape(100, 10, -1))[:, :, :10], axis1=0, axis2=1),
}


@pytest.mark.parametrize("name", AT_ONCE)
def test_what_is_at_hand_is_done_at_once(name: str) -> None:
    draw = numpy.random.default_rng(7)
    x, k = draw.random(20000), draw.integers(-20000, 20000, 3000)
    k[::3] = abs(k[::3]) % 20000
    wanted = AT_ONCE[name](numpy, x, k)
    recorder.flush()
    before = profile.operations
    found = AT_ONCE[name](lazynp, x, k)
    recorder.flush()
    assert profile.operations - before <= (1 if name == "compress" else 0)  # of which the mask is one
    assert numpy.shape(found) == wanted.shape
    assert numpy.asarray(found).dtype == wanted.dtype
    assert numpy.asarray(found).tobytes() == wanted.tobytes()
    with lazynp.config(mode="graph"):
        assert numpy.asarray(AT_ONCE[name](lazynp, x, k)).tobytes() == wanted.tobytes()


def test_a_mask_in_a_tuple_is_a_mask() -> None:
    """`delete` and others of NumPy's functions index with a tuple of one."""
    x = numpy.random.default_rng(8).random(20000)
    ours = lazynp.array(x)
    recorder.flush()
    before = profile.library
    assert numpy.array_equal(numpy.asarray(ours[(ours > 0.5,)]), x[(x > 0.5,)])
    assert numpy.array_equal(numpy.asarray(lazynp.delete(ours, [3, 5, -1])), numpy.delete(x, [3, 5, -1]))
    assert profile.library <= before + 1  # of `delete` the write into its mask; and nothing was gathered by indices
