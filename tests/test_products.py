"""Products of stacks of small matrices, which loops of our own compute where they give NumPy's bits."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import lazynp
from lazynp.backends.numpy import products

SIZES = [
    (2, 2, 2),
    (3, 3, 3),
    (4, 4, 4),
    (4, 2, 4),
    (2, 4, 2),
    (5, 3, 7),
    (3, 8, 2),
    (1, 3, 3),
    (3, 3, 1),
    (6, 6, 6),
    (2, 0, 2),
]
COUNT = 840  # enough for them


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("size", SIZES)
def test_bits(size: tuple[int, int, int], dtype: str) -> None:
    (m, k, n), rng = size, np.random.default_rng(0)
    for left, right in itertools.product((False, True), repeat=2):  # transposed in memory
        a = rng.standard_normal((COUNT, k, m) if left else (COUNT, m, k)).astype(dtype)
        b = rng.standard_normal((COUNT, n, k) if right else (COUNT, k, n)).astype(dtype)
        a, b = a.transpose(0, 2, 1) if left else a, b.transpose(0, 2, 1) if right else b
        pairs = [(a, b), (a, b[0]), (a[0], b), (a[::-1], b[::-1]), (a.reshape(7, 120, m, k), b[:120])]
        pairs += [
            (a[:, ::-1], b[..., ::-1]),
            (a.reshape(7, 120, m, k)[:, ::-1], b.reshape(7, 120, k, n)),
            (a[:3], b[:3]),
        ]
        for x, y in pairs:
            np.testing.assert_array_equal(products.matmul(x, y), np.matmul(x, y), strict=True)


def test_on_all_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "THREADS", 1)
    rng = np.random.default_rng(0)
    for shape in ((COUNT,), (1, COUNT), (20, 42), (2, 1, COUNT)):
        a, b = rng.standard_normal((*shape, 3, 4)), rng.standard_normal((*shape, 4, 2))
        for x, y in ((a, b), (a, b[..., :1]), (a.astype(complex), b.astype(complex)), (a, b[(0,) * len(shape)])):
            np.testing.assert_array_equal(products.matmul(x, y), np.matmul(x, y), strict=True)


def test_others_are_numpys() -> None:
    rng = np.random.default_rng(0)
    a, whole = rng.standard_normal((COUNT, 4, 4)), rng.integers(0, 9, (COUNT, 4, 4))
    swapped = a.astype(">f8")
    pairs: list[tuple[Any, Any]] = [(a, a.transpose(0, 2, 1)), (whole, whole), (a, whole), (a, a[0, 0]), (a[0, 0], a)]
    for x, y in [*pairs, (swapped, a), (a + 1j, a), (a[0], a[1]), (a[:, :, :0], a[:, :0])]:
        np.testing.assert_array_equal(products.matmul(x, y), np.matmul(x, y), strict=True)
    middle = a[: COUNT - 1], a[COUNT - 2 :: -1].transpose(0, 2, 1)  # one matrix stands beside its transpose
    deep = rng.standard_normal((2, 2, 2, *(2,) * 7, 3, 3))
    for x, y in (middle, (deep, deep + 1)):
        np.testing.assert_array_equal(products.matmul(x, y), np.matmul(x, y), strict=True)
    with pytest.raises(ValueError, match="matmul"):
        products.matmul(a, a[:, :3])
    with pytest.raises(ValueError, match="broadcast"):
        products.matmul(a, a[: COUNT // 2])


@pytest.mark.skipif(products.blocks is None, reason="without the C module NumPy multiplies")
def test_a_blas_that_sums_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bits are not those of the loops: it is called."""
    monkeypatch.setattr(products, "order", lambda *_: None)
    monkeypatch.setattr(products, "blocks", SimpleNamespace(EDGE=8, AXES=8))  # which has no loops
    a, b = np.random.default_rng(0).standard_normal((2, COUNT, 3, 3))
    np.testing.assert_array_equal(products.matmul(a, b), np.matmul(a, b))


def test_recorded() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((5000, 4, 4)), rng.standard_normal((5000, 4, 4))
    x, y = lazynp.array(a), lazynp.array(b)
    found = (x * 2) @ (y.transpose(0, 2, 1) + 1)
    np.testing.assert_array_equal(np.asarray(found), (a * 2) @ (b.transpose(0, 2, 1) + 1))


WHOLE = [np.dtype(c) for c in "?bBhHiIlL"]


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
@pytest.mark.parametrize("most", [1, 100, 1 << 20, 1 << 31, 1 << 62])
def test_whole_numbers(dtype: Any, most: int) -> None:
    """Whatever floats hold or do not, and whatever wraps round: of matrices, stacks, turned ones, and with gaps."""
    rng = np.random.default_rng(most)
    limits = (0, 1) if dtype.kind == "b" else (max(np.iinfo(dtype).min, -most), min(np.iinfo(dtype).max, most))

    def numbers(*shape: int) -> Any:
        x = rng.integers(*limits, shape, np.int64 if dtype.kind == "b" else dtype, endpoint=True).astype(dtype)
        x.flat[:2] = limits
        return x

    a, b, stack = numbers(60, 70), numbers(70, 80), numbers(3, 70, 50)
    turned, gaps, back = numbers(80, 70).T, numbers(70, 160)[:, ::2], numbers(70, 80)[::-1, ::-1]
    for x, y in [(a, b), (a, stack), (a, turned), (a, gaps), (a, back), (turned, turned.T), (stack[0].T, stack)]:
        wanted = np.matmul(x, y)
        np.testing.assert_array_equal(products.matmul(x, y), wanted, strict=True)
        ours = lazynp.array(x), lazynp.array(y)
        for found in (ours[0] @ ours[1], lazynp.matmul(*ours), lazynp.dot(*ours) if y.ndim == 2 else ours[0] @ y):
            np.testing.assert_array_equal(np.asarray(found), wanted, strict=True)


@pytest.mark.parametrize(
    "dtypes", [(">i8", ">i8"), (">i2", ">i2"), ("l", "q"), ("q", "l"), ("q", "q"), ("i", "l"), ("?", "b")]
)
def test_dtypes_of_whole_products(dtypes: tuple[str, str]) -> None:
    """NumPy's: in the machine's byte order, and of the two names for one size the one that it takes."""
    x, y = [np.arange(6400).reshape(80, 80).astype(d) for d in dtypes]
    ours = lazynp.array(x), lazynp.array(y)
    pairs = [(products.matmul(x, y), x @ y), (ours[0] @ ours[1], x @ y), (lazynp.dot(*ours), np.dot(x, y))]
    for found, wanted in pairs:
        np.testing.assert_array_equal(np.asarray(found), wanted, strict=True)
        assert (found.dtype.char, found.dtype.isnative) == (wanted.dtype.char, True)


def test_what_floats_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the number that they hold no longer, where NumPy multiplies."""
    n, types = 64, []
    real = np.matmul
    monkeypatch.setattr(products.np, "matmul", lambda a, b: types.append(a.dtype.kind) or real(a, b))
    for largest, kind in (((1 << 53) // n, "f"), ((1 << 53) // n + 1, "i")):
        a, b = np.full((n, n), largest), np.ones((n, n), np.int64)
        b[0] = -1
        assert (products.matmul(a, b) == largest * (n - 2)).all()
        assert types.pop() == kind
    with pytest.raises(ValueError, match="matmul"):
        products.matmul(np.ones((64, 64), int), np.ones((65, 64), int))
    with pytest.raises(ValueError, match="not aligned"):
        lazynp.dot(lazynp.ones((64, 64), int), lazynp.ones((65, 64), int))
