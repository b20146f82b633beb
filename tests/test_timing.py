"""`synchronize`, `block_until_ready`, `benchmark`."""

import functools
import re

import numpy
import pytest

import lazynp as np
from lazynp import timing

HELPED = np.full(1000, 2.0)
PAIR = np.full(2, 2.0)


def helper(x):
    return np.sqrt(x) + HELPED


def work(x, power=2):
    return np.sum(helper(x) ** power)


def fill(x):
    x[1:-1] = 0.5 * (x[2:] + x[:-2])


@pytest.fixture(autouse=True)
def interpreted():
    """Nothing here waits for compilers."""
    with np.config(compile=False):
        yield


def pending(x) -> bool:
    return x._s_.buf is None and x._s_.node.buffer is None


def test_synchronize_runs_all_that_is_pending() -> None:
    with np.config(mode="graph"):
        x, y = np.ones(10) + 1, np.ones((3, 3)) * 2
        assert pending(x) and pending(y)
        assert np.synchronize() is None
        assert not pending(x) and not pending(y)


def test_block_until_ready_of_the_numpy_door() -> None:
    with np.config(mode="graph"):
        x = np.arange(10.0) + 1
        view = (x * 2)[::3]
        assert view.block_until_ready() is view
        assert not pending(view)
        assert x.sum().item() == 55
        assert np.ma.ones(3).block_until_ready().sum() == 3
    assert np.jit(lambda x: x.block_until_ready() + 1)(np.ones(3)).tolist() == [2, 2, 2]  # traced: as it is
    assert np.grad(lambda x: (x.block_until_ready() ** 2).sum())(np.ones(2)).tolist() == [2, 2]


def test_block_until_ready_of_the_jax_door() -> None:
    jax = np.jax
    with np.config(mode="graph"):
        tree = {"a": jax.numpy.ones(3) + 1, "b": np.ones(3) + 1, "c": 1}
        assert jax.block_until_ready(tree) is tree
        assert not pending(tree["b"])
        assert tree["a"].block_until_ready() is tree["a"]


def test_a_call_is_over_when_its_result_is_there() -> None:
    """A clock around a call of the function alone reads too little."""
    with np.config(mode="graph"):
        x = np.ones(200_000)
        seconds = np.benchmark(lambda: np.sin(np.cos(np.sin(x))), seconds=0.05, show=False, beside=False).median
        theirs = timing.clock(lambda: numpy.sin(numpy.cos(numpy.sin(numpy.ones(200_000)))), 1, timing.nothing)
    assert seconds > theirs / 50


def test_benchmark_prints_both_with_their_spread(capsys) -> None:
    measured = np.benchmark(work, np.ones(1000), seconds=0.05, power=3)
    text = capsys.readouterr().out
    assert text.startswith("work: median of ") and text.rstrip() == str(measured)
    for library in ("lazynp", "NumPy "):
        assert re.search(rf"^  {library} +[\d.]+ \S+   half of the rounds: [\d.]+ \S+ to [\d.]+ \S+, all: ", text, re.M)
    assert len(measured.seconds) == len(measured.numpy_seconds) >= 7
    assert measured.ratio == pytest.approx(numpy.median(measured.numpy_seconds) / measured.median)
    assert measured.calls >= 1 and measured.warm_ups >= 2
    assert "× NumPy" in repr(measured)


def test_benchmark_of_functions_that_write() -> None:
    x = np.arange(100.0)
    measured = np.benchmark(fill, x, seconds=0.02, show=False)
    assert measured.ratio is not None
    assert x[0] == 0 and x[-1] == 99


def test_what_runs_on_numpy() -> None:
    """The same code, with NumPy's modules, functions and arrays, in what it calls too."""
    seen = []
    table = {"scale": np.ones(3)}

    def f(x, scale=PAIR):
        seen.append((type(x), type(scale), type(table["scale"]), np.__name__, norm(x)))
        return helper(np.ones(1000)).sum() + (recursive(3) if x[0] else 0)

    def recursive(n):
        return np.ones(1) * n + (recursive(n - 1) if n else 0)

    norm = np.linalg.norm
    twin = timing.Translation()(functools.partial(f))
    assert twin(numpy.ones(3)) == f(np.ones(3))
    (theirs, ours) = seen
    assert theirs == (numpy.ndarray, numpy.ndarray, numpy.ndarray, "numpy", numpy.linalg.norm(numpy.ones(3)))
    assert ours[:4] == (np.ndarray, np.ndarray, np.ndarray, "lazynp")


@pytest.mark.parametrize(
    "make, why",
    [
        (lambda: np.grad(lambda x: (x**2).sum()), "NumPy has nothing like"),
        (lambda: lambda x: np.explain(x), "has no attribute 'explain'"),
        (lambda: lambda x: np.jax.numpy.sin(1.0), "has no attribute 'jax'"),
    ],
)
def test_what_numpy_cannot_do_is_said(make, why) -> None:
    measured = np.benchmark(make(), np.ones(3), seconds=0.01, show=False)
    assert measured.numpy_seconds == [] and measured.ratio is None
    assert why in measured.why
    assert f"not measured: {measured.why}" in str(measured)


def test_jitted_functions_are_compared_with_what_they_jit() -> None:
    assert timing.Translation()(np.jit(work))(numpy.ones(1000)) == work(np.ones(1000))


def test_a_function_of_ones_own_beside() -> None:
    calls = []
    measured = np.benchmark(
        lambda x: x + 1, np.ones(3), beside=lambda x: calls.append(type(x)), seconds=0.01, show=False
    )
    assert set(calls) == {numpy.ndarray}
    assert measured.numpy_seconds


def test_errors_are_those_of_the_function() -> None:
    with pytest.raises(ZeroDivisionError):
        np.benchmark(lambda: 1 / 0)
