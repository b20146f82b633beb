"""What a call returns that was given `out=`: that very array, NumPy's or ours. And arguments that name no dtype."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

N = 4
FLOAT, INTEGER, BOOL = numpy.dtype(float), numpy.dtype(numpy.intp), numpy.dtype(bool)
Case = tuple[Callable[..., Any], tuple[int, ...], numpy.dtype[Any]]
ROWS, DAYS = numpy.arange(float(N * N)).reshape(N, N), numpy.array(["2020-01-02"] * N, "M8[D]")
OF_BOOL, OF_INTEGER = ("any", "all"), ("argmin", "argmax")


def dtype_for(name: str) -> numpy.dtype[Any]:
    return BOOL if name in OF_BOOL else INTEGER if name in OF_INTEGER else FLOAT


def cases() -> dict[str, Case]:
    """A call of (module, array, `out`), and what `out` has to be."""
    found: dict[str, Case] = {
        "clip": (lambda m, a, o: a[0].clip(1, 2, out=o), (N,), FLOAT),
        "clip by place": (lambda m, a, o: a[0].clip(1, 2, o), (N,), FLOAT),
        "take": (lambda m, a, o: a[0].take([0] * N, out=o), (N,), FLOAT),
        "take by place": (lambda m, a, o: a[0].take([0] * N, None, o), (N,), FLOAT),
        "round": (lambda m, a, o: a[0].round(1, out=o), (N,), FLOAT),
        "round by place": (lambda m, a, o: a[0].round(1, o), (N,), FLOAT),
        "compress": (lambda m, a, o: a[0].compress([True] * N, out=o), (N,), FLOAT),
        "choose": (lambda m, a, o: m.zeros(N, int).choose([a[0]], out=o), (N,), FLOAT),
        "dot": (lambda m, a, o: a.dot(a[0], out=o), (N,), FLOAT),
        "dot by place": (lambda m, a, o: a.dot(a[0], o), (N,), FLOAT),
        "trace": (lambda m, a, o: m.ones((2, 2, N)).trace(out=o), (N,), FLOAT),
        "np.clip": (lambda m, a, o: m.clip(a[0], 1, 2, out=o), (N,), FLOAT),
        "np.take": (lambda m, a, o: m.take(a[0], [0] * N, out=o), (N,), FLOAT),
        "np.round": (lambda m, a, o: m.round(a[0], 1, out=o), (N,), FLOAT),
        "np.around by place": (lambda m, a, o: m.around(a[0], 1, o), (N,), FLOAT),
        "np.compress": (lambda m, a, o: m.compress([True] * N, a[0], out=o), (N,), FLOAT),
        "np.choose": (lambda m, a, o: m.choose(m.zeros(N, int), [a[0]], out=o), (N,), FLOAT),
        "np.trace": (lambda m, a, o: m.trace(m.ones((2, 2, N)), out=o), (N,), FLOAT),
        "np.dot": (lambda m, a, o: m.dot(a, a[0], out=o), (N,), FLOAT),
        "np.concatenate": (lambda m, a, o: m.concatenate([a[0], a[1]], out=o), (2 * N,), FLOAT),
        "np.stack": (lambda m, a, o: m.stack([a[0], a[1]], out=o), (2, N), FLOAT),
        "np.einsum": (lambda m, a, o: m.einsum("ij,j->i", a, a[0], out=o), (N,), FLOAT),
        "np.add": (lambda m, a, o: m.add(a[0], a[1], o), (N,), FLOAT),
        "np.add, a tuple": (lambda m, a, o: m.add(a[0], a[1], out=(o,)), (N,), FLOAT),
        "np.add.reduce": (lambda m, a, o: m.add.reduce(a, 0, None, o), (N,), FLOAT),
        "np.add.accumulate": (lambda m, a, o: m.add.accumulate(a[0], out=o), (N,), FLOAT),
        "np.sum of NumPy's": (lambda m, a, o: m.sum(ROWS, axis=0, out=o), (N,), FLOAT),
        "np.mean of NumPy's": (lambda m, a, o: m.mean(ROWS, axis=0, out=o), (N,), FLOAT),
        "np.is_busday": (lambda m, a, o: m.is_busday(DAYS, out=o), (N,), BOOL),
        "np.busday_offset": (lambda m, a, o: m.busday_offset(m.array(DAYS), 1, out=o), (N,), DAYS.dtype),
    }
    for name in ("sum", "prod", "min", "max", "mean", "var", "std", *OF_BOOL, *OF_INTEGER):
        found[name] = lambda m, a, o, name=name: getattr(a, name)(axis=0, out=o), (N,), dtype_for(name)
        found[f"{name} of all"] = lambda m, a, o, name=name: getattr(a, name)(out=o), (), dtype_for(name)
        found[f"np.{name}"] = lambda m, a, o, name=name: getattr(m, name)(a, axis=0, out=o), (N,), dtype_for(name)
    for name in ("cumsum", "cumprod"):
        found[name] = lambda m, a, o, name=name: getattr(a[0], name)(out=o), (N,), FLOAT
        found[f"np.{name}"] = lambda m, a, o, name=name: getattr(m, name)(a[0], out=o), (N,), FLOAT
        found[f"np.nan{name}"] = lambda m, a, o, name=name: getattr(m, f"nan{name}")(a[0], out=o), (N,), FLOAT
    return found


CASES = cases()


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("name", CASES)
def test_what_was_given_is_what_comes_back(name: str, mode: str) -> None:
    call, shape, dtype = CASES[name]
    wanted = call(numpy, ROWS, numpy.empty(shape, dtype))
    with np.config(mode=mode):
        for module in (numpy, np):
            out = module.empty(shape, dtype)
            for _ in range(2):  # the first call of a function goes another way
                assert call(np, np.array(ROWS), out) is out
            assert numpy.array_equal(numpy.asarray(out), wanted)


def outcome(f: Callable[[], Any]) -> Any:
    try:
        return numpy.asarray(f()).tolist()
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "mean", "var", "std", "cumsum", "cumprod"])
def test_a_tuple_for_out(name: str, mode: str) -> None:
    """Ufuncs take one by name, reductions not by place: NumPy's functions say which."""

    def results(m: Any) -> list[Any]:
        a, shape = m.array(ROWS), (N, N) if name.startswith("cum") else (N,)
        outs = [(m.empty(shape),), (None,), (m.empty(shape), m.empty(shape)), [m.empty(shape)], 3, numpy.float64(3.0)]
        calls = [lambda o: getattr(a, name)(axis=0, out=o), lambda o: getattr(m, name)(a, axis=0, out=o)]
        calls += [lambda o: m.add.reduce(a, 0, None, o), lambda o: m.add.reduce(a, 0, None, out=o)]
        return [outcome(functools.partial(call, out)) for call in calls for out in outs]

    with np.config(mode=mode):
        assert results(np) == results(numpy)


@pytest.mark.parametrize("n", [3, 200_000])
@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_an_array_names_no_dtype(n: int, mode: str) -> None:
    with np.config(mode=mode):
        x, given = np.ones(n), np.array([1])
        calls: list[Callable[[], Any]] = [
            lambda: x.astype(given), lambda: x.view(given), lambda: x.sum(dtype=given), lambda: np.array(x, given),
            lambda: np.asarray(x, given), lambda: np.zeros(n, given), lambda: np.ones_like(x, given),
            lambda: np.empty_like(x, given), lambda: np.add(x, x, dtype=given), lambda: np.full(n, 1.0, given),
            lambda: np.concatenate([x, x], dtype=given), lambda: np.arange(3, dtype=given),
        ]  # fmt: skip
        for k, call in enumerate(calls):
            for _ in range(2):
                assert outcome(call) is TypeError, k


def test_several_results_are_written_where_they_were_asked_for() -> None:
    overlapping = []
    for m in (numpy, np):
        v, a, b, i = m.arange(7.0) * 1.25, m.zeros(7), m.zeros(7), m.zeros(7, "i4")
        before = a + 1
        found = m.modf(v, out=(a, b))
        assert found[0] is a and found[1] is b and a.tolist() == [x % 1.0 for x in (numpy.arange(7.0) * 1.25).tolist()]
        assert before.tolist() == [1.0] * 7
        assert m.frexp(v, out=(None, i))[1] is i and i.tolist() == [0, 1, 2, 2, 3, 3, 3]
        theirs = numpy.zeros(7)
        assert m.modf(v, out=(theirs, a))[0] is theirs and theirs[1] == 0.25
        assert m.divmod(v, 2, out=(v, v[:]))[0] is v
        overlapping.append(v.tolist())
        for outs, error in (
            ((a,), ValueError),
            ((a, b, b), ValueError),
            ((a, m.zeros(3)), ValueError),
            ((i, a), TypeError),
        ):
            with pytest.raises(error):
                m.modf(v, out=outs)
    assert overlapping[0] == overlapping[1]
