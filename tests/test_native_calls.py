"""Calls that are operations behind the NumPy door: NumPy's results without NumPy, derivatives, batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from native_cases import CLOSE, EXACT, FFT, LINALG, ROUGH, UFUNCS, Case

import lazynp

CASES: dict[str, Case] = {**EXACT, **CLOSE}
MODES: dict[str, dict[str, Any]] = {"graph": {"mode": "graph"}, "auto": {"mode": "auto", "small": 0}}
SMOOTH = [name for name in CASES if name not in ROUGH]


def given(case: Case, seed: int = 0) -> list[numpy.ndarray]:
    draw = numpy.random.default_rng(seed)
    return [draw.standard_normal(shape) + (1.5 * numpy.eye(4) if shape == (4, 4) else 0) for shape in case[1]]


def weights(x: Any) -> numpy.ndarray:
    """Numbers to add up a result's elements with."""
    return numpy.random.default_rng(7).standard_normal(numpy.shape(x))


def number(case: Case) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The case as a function whose value is one real number: behind our door, and NumPy's."""
    call, _ = case
    w = weights(call(numpy, *given(case)))

    def summed(xp: Any, *xs: Any) -> Any:
        out = call(xp, *xs)
        return (out.real * w).sum() + (out.imag * w[::-1]).sum() if out.dtype.kind == "c" else (out * w).sum()

    return lambda *xs: summed(lazynp, *xs), lambda *xs: summed(numpy, *xs)


def ours(xs: list[numpy.ndarray]) -> list[Any]:
    return [lazynp.array(x) for x in xs]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CASES)
def test_values(name: str, mode: str) -> None:
    """NumPy's, with nothing done by NumPy on computed values."""
    call, xs = CASES[name][0], given(CASES[name])
    wanted = call(numpy, *xs)
    with lazynp.config(**MODES[mode], strict=True):
        got = call(lazynp, *[lazynp.array(x) * 1.0 for x in xs])
    assert type(got) is (lazynp.ndarray if isinstance(wanted, numpy.ndarray) else type(wanted))
    found = numpy.asarray(got)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    assert found.size < 2 or found.strides == wanted.strides
    if name in EXACT:
        assert found.tobytes() == wanted.tobytes()
    else:
        numpy.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", ["f4", "F", "D", "i4", "?"])
@pytest.mark.parametrize("name", [*FFT, *LINALG, *UFUNCS, *CLOSE])
def test_dtypes(name: str, dtype: str) -> None:
    call, xs = CASES[name][0], [(3 * x).astype(dtype) for x in given(CASES[name])]
    found: list[Any] = []
    with numpy.errstate(all="ignore"):
        for xp in (numpy, lazynp):
            try:
                with lazynp.config(mode="graph"):
                    value = numpy.asarray(call(xp, *[xp.array(x) for x in xs]))
            except Exception as error:
                found.append(type(error))
            else:
                found.append((value.dtype, value.shape, value))
    if isinstance(found[0], type) or isinstance(found[1], type):
        assert found[0] is found[1]
        return
    assert found[0][:2] == found[1][:2]
    tolerance = 1e-4 if found[0][0].char in "fF" else 1e-9
    numpy.testing.assert_allclose(found[1][2], found[0][2], rtol=tolerance, atol=tolerance)


def slope(f: Callable[..., Any], xs: list[numpy.ndarray], vs: list[numpy.ndarray], h: float = 1e-5) -> Any:
    """The derivative of f at xs along vs, from four values."""
    at = [numpy.asarray(f(*[x + k * h * v for x, v in zip(xs, vs)])) for k in (-2, -1, 1, 2)]
    return (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives(name: str, mode: str) -> None:
    """To order 2: of the value from NumPy's values, of the gradient from our gradients."""
    f, theirs = number(CASES[name])
    xs = given(CASES[name])
    vs = [weights(x) for x in xs]
    places = tuple(range(len(xs)))

    def along(*ys: Any) -> Any:
        return sum((g * v).sum() for g, v in zip(lazynp.grad(f, argnums=places)(*ys), vs))

    with lazynp.config(**MODES[mode]):
        first = float(along(*ours(xs)))
        second = sum(float((numpy.asarray(g) * v).sum()) for g, v in zip(lazynp.grad(along, places)(*ours(xs)), vs))
        numeric = slope(lambda *ys: float(along(*ours(ys))), xs, vs)
    assert first == pytest.approx(float(slope(theirs, xs, vs)), rel=1e-6, abs=1e-6)
    assert second == pytest.approx(float(numeric), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_batches_and_jit(name: str) -> None:
    call, xs = CASES[name][0], given(CASES[name])
    many = [numpy.stack([x, 0.9 * x, 1.1 * x + 0.01]) for x in xs]

    def f(*ys: Any) -> Any:
        return call(lazynp, *ys)

    wanted = [call(numpy, *[m[i] for m in many]) for i in range(3)]
    numpy.testing.assert_allclose(numpy.asarray(lazynp.vmap(f)(*ours(many))), wanted, rtol=1e-9, atol=1e-9)
    numpy.testing.assert_allclose(numpy.asarray(lazynp.jit(f)(*ours(xs))), wanted[0], rtol=1e-9, atol=1e-9)


ERRORS: dict[str, Callable[[Any, Any], Any]] = {
    "inv": lambda xp, a: xp.linalg.inv(a),
    "solve": lambda xp, a: xp.linalg.solve(a, a[0]),
    "cholesky": lambda xp, a: xp.linalg.cholesky(a - 1),
    "eig of NaN": lambda xp, a: xp.linalg.eig(a * xp.nan),
    "svd of NaN": lambda xp, a: xp.linalg.svd(a * xp.nan),
    "eigh of NaN": lambda xp, a: xp.linalg.eigh(a * xp.nan),
    "not square": lambda xp, a: xp.linalg.inv(a[:2]),
    "no matrix": lambda xp, a: xp.linalg.det(a[0]),
    "shapes": lambda xp, a: xp.linalg.solve(a, a[:2]),
    "qr of a vector": lambda xp, a: xp.linalg.qr(a[0]),
    "qr mode": lambda xp, a: xp.linalg.qr(a, "x"),
    "fft of nothing": lambda xp, a: xp.fft.fft(a, 0),
    "fft norm": lambda xp, a: xp.fft.fft(a, norm="x"),
    "fft axis": lambda xp, a: xp.fft.fft(a, axis=2),
    "rfft of complex": lambda xp, a: xp.fft.rfft(a + 0j),
    "fft into": lambda xp, a: xp.fft.fft(a, out=xp.zeros((2, 2), complex)),
    "fft into real": lambda xp, a: xp.fft.fft(a, out=xp.zeros((3, 3))),
    "einsum labels": lambda xp, a: xp.einsum("ijk,k", a, a[0]),
    "einsum sizes": lambda xp, a: xp.einsum("ij,jk", a, a[:2]),
    "einsum output": lambda xp, a: xp.einsum("ij->ik", a),
    "vecdot": lambda xp, a: xp.vecdot(a, a[0, :2]),
    "inner": lambda xp, a: xp.inner(a, a[:, :2]),
    "vdot": lambda xp, a: xp.vdot(a, a[0]),
    "trace": lambda xp, a: xp.trace(a[0]),
    "trace axes": lambda xp, a: a.trace(0, 1, 1),
    "max where": lambda xp, a: xp.max(a, where=a > 0),
    "where too long": lambda xp, a: xp.sum(a, where=xp.ones((3, 4), bool)),
    "max of nothing": lambda xp, a: xp.max(a[:0], axis=0),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ERRORS)
def test_errors_come_at_the_call(name: str, mode: str) -> None:
    with pytest.raises(Exception) as theirs:
        ERRORS[name](numpy, numpy.zeros((3, 3)))
    with lazynp.config(**MODES[mode]), pytest.raises(theirs.type):
        ERRORS[name](lazynp, lazynp.zeros((3, 3)) * 1.0)


KEYS: dict[str, Any] = {
    "too large": [0, 4],
    "too small": ([0, 1], [-6, 0]),
    "no numbers": [0.5],
    "shapes": ([0, 1], [0, 1, 2]),
    "too many": ([0], [0], [0]),
    "mask": [True, False],
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", KEYS)
def test_bad_indices(name: str, mode: str) -> None:
    for write in (False, True):
        found = []
        for xp in (numpy, lazynp):
            with lazynp.config(**MODES[mode]), pytest.raises(Exception) as error:
                a = xp.ones((4, 5)) * 1.0
                a.__setitem__(KEYS[name], 1.0) if write else a[KEYS[name]]
            found.append(error.type)
        assert found[0] is found[1]


def random_key(draw: numpy.random.Generator, shape: tuple[int, ...]) -> list[Any]:
    common, key = [(3,), (2, 2), (1,), (0,)][draw.integers(4)], []
    for n in shape[: draw.integers(1, len(shape) + 1)]:
        kinds = [draw.integers(-n, n, common), draw.random(n) < 0.5, slice(None), slice(1, None), int(draw.integers(n))]
        key.append(kinds[draw.choice(5, p=[0.5, 0.1, 0.2, 0.1, 0.1])])
    return key


def read_and_write(xp: Any, x: numpy.ndarray, key: list[Any], value: numpy.ndarray) -> list[Any]:
    """What comes of a read and a write with a key: values, layout, whether the result is a view."""
    a, k = xp.array(x) * 1.0, tuple([xp.array(i) if isinstance(i, numpy.ndarray) else i for i in key])
    try:
        part = a[k]
        strides = [s for s, n in zip(part.strides, part.shape) if n > 1] if part.size > 1 else []
        row: list[Any] = [part.shape, strides, getattr(part, "base", None) is None, numpy.asarray(part).tolist()]
        a[k] = value
    except (IndexError, ValueError) as error:
        row = [type(error)]
    return [*row, numpy.asarray(a).tolist()]


def test_random_keys() -> None:
    draw = numpy.random.default_rng(5)
    for _ in range(300):
        x = draw.standard_normal(tuple(draw.integers(1, 5, draw.integers(1, 4))))
        key, value = random_key(draw, x.shape), draw.standard_normal(int(draw.integers(1, 4)))
        wanted = read_and_write(numpy, x, key, value)
        with lazynp.config(mode="graph"):
            assert read_and_write(lazynp, x, key, value) == wanted, (x.shape, key)


@pytest.mark.parametrize("mode", MODES)
def test_out_and_views(mode: str) -> None:
    """What is written, and what is a view of what."""
    found = []
    for xp in (numpy, lazynp):
        with lazynp.config(**MODES[mode]):
            a = xp.array(given(CASES["inv"])[0][0]) * 1.0
            into = xp.zeros((3, 6), complex)
            returned = xp.fft.fft(a, out=into[:, ::2])
            totals = xp.zeros((2, 3))
            assert xp.sum(a, axis=0, initial=1.0, out=totals[0]) is not None
            xp.einsum("ij->i", a, out=totals[1])
            turned = xp.einsum("ij->ji", a)
            assert xp.shares_memory(turned, a) and xp.shares_memory(returned, into)
            turned[0, 1] = 9
            diagonal = xp.einsum("ii->i", a)
            diagonal[...] = 5
            assert xp.conjugate(a) is not a and a.conjugate() is a
            found.append([numpy.asarray(x) for x in (a, into, totals, turned)])
    for theirs, got in zip(*found, strict=True):
        numpy.testing.assert_allclose(got, theirs, rtol=1e-13)


def test_they_wait_and_fuse() -> None:
    """Nothing runs at a call that can find no value wrong, and a failing one takes nothing else with it."""
    with lazynp.config(mode="graph"):
        x = lazynp.array(numpy.arange(16.0)) + 1
        with lazynp.profile() as p:
            y = abs(lazynp.fft.ifft(lazynp.fft.fft(x * 2) * 3))
            assert p.segments == 0
            kept = x - 1
            with pytest.raises(numpy.linalg.LinAlgError):
                lazynp.linalg.inv(kept.reshape(4, 4) * 0)
        numpy.testing.assert_allclose(numpy.asarray(y), 6 * (numpy.arange(16.0) + 1), atol=1e-12)
        assert numpy.asarray(kept).tolist() == list(range(16))
