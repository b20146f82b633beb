"""Memory that somebody outside may write into at any time: what an operation reads there is what stood there then."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy
import pytest

import lazynp
from lazynp.numpy.record import COPIED

N = COPIED // 8
TEXTS = (
    "x + 1",
    "x * x",
    "+x",
    "x > 0.5",
    "x[1:] - x[:-1]",
    "x[::-2] * 2",
    "(x * 2 + y) * x",
    "y * x",
    "y[::-1] + x",
    "np.sin(x)",
    "np.add(x, 1, dtype=np.float32)",
    "np.add(x, y, out=np.zeros(x.shape))",
    "np.add(x, y, out=np.zeros(x.shape), where=x > 0.5)",
    "np.where(x > 0.5, x, y)",
    "np.where(x > 0.5, x, x)",
    "np.clip(x, 0.2, y)",
    "np.dot(x, x)",
    "np.dot(x.reshape(-1, 64), x.reshape(64, -1))",
    "x.reshape(64, -1).T + 1",
    "x.reshape(64, -1).T @ y.reshape(64, -1)",
    "x.reshape(64, -1).sum(axis=0)",
    "x.reshape(64, -1).T.max(axis=0)",
    "x.reshape(-1, 1).sum(axis=1)",
    "x.reshape(-1, 1).mean(axis=1, keepdims=True)",
    "x.astype(np.float32)",
    "x.astype(float)",
    "x.reshape(64, -1).T.copy('F')",
    "x.reshape(64, -1).T.copy()",
    "np.positive(x)",
    "np.abs(x)",
    "np.real(x) * 1",
    "np.broadcast_to(x, (3, *x.shape)) + 1",
    "np.concatenate([x, x])",
    "np.cumsum(x)",
    "np.sort(x)",
    "x[x > 0.5]",
    "x ** 2",
    "x ** 0.5",
    "(x * 4).astype(int) // 2",
    "x + np.arange(x.size)",
    "x - x.mean()",
    "-x",
    "divmod(x, 0.3)[1]",
)
WRITES = ("y += x", "y[::2] *= x[::2]", "y[5:] = x[5:] + y[5:]", "y[:] = x", "y -= x.mean()")


def kinds(a: numpy.ndarray) -> list[Any]:
    """The array itself, one of ours on its memory, and one of ours whose memory NumPy has a view of."""
    return [a, lazynp.asarray(a), lazynp.array(a)]


def both(text: str, run: Any) -> None:
    start = numpy.linspace(0, 1, N)
    want = run(numpy, start.copy(), numpy.linspace(3, 1, N))
    for kind in range(3):
        a = start.copy()
        x = kinds(a)[kind]
        outside = a if kind < 2 else numpy.asarray(x)
        with lazynp.config(mode="graph"):  # in which NumPy does nothing at once
            got = run(lazynp, x, lazynp.array(numpy.linspace(3, 1, N)))
        outside[:] = -7
        got = numpy.array(got)
        assert (got.dtype, got.shape, got.strides) == (want.dtype, want.shape, want.strides)
        numpy.testing.assert_allclose(got, want, rtol=1e-6, err_msg=f"{text}, {kind}")


@pytest.mark.parametrize("text", TEXTS)
def test_a_result_is_that_of_the_call(text: str) -> None:
    both(text, lambda np, x, y: eval(text, {"np": np, "x": x, "y": y}))


@pytest.mark.parametrize("text", WRITES)
def test_what_is_written_is_that_of_the_call(text: str) -> None:
    def run(np: Any, x: Any, y: Any) -> Any:
        exec(text, given := {"np": np, "x": x, "y": y})
        return given["y"]

    both(text, run)


@pytest.mark.parametrize("text", TEXTS)
def test_no_result_lies_in_memory_from_outside(text: str) -> None:
    start = numpy.linspace(0, 1, N)
    want = start.copy()
    for x in kinds(start)[:2]:
        got = eval(text, {"np": lazynp, "x": x, "y": lazynp.array(numpy.linspace(3, 1, N))})
        if type(got) is lazynp.ndarray:
            got[...] = 5
            lazynp.synchronize()
        numpy.testing.assert_array_equal(start, want)


@pytest.mark.parametrize("text", ["x * x", "x.copy()"])
def test_nothing_is_copied(text: str) -> None:
    """One operation of 64 MB needs room for its result, and not for its operands."""
    a = numpy.ones(1 << 23)
    x = lazynp.asarray(a)
    tracemalloc.start()
    try:
        y = eval(text, {"x": x})
        y.block_until_ready()
        assert tracemalloc.get_traced_memory()[1] < 1.5 * a.nbytes
    finally:
        tracemalloc.stop()
    assert float(y[3]) == 1
