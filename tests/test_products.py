"""Products of stacks of small matrices, which loops of our own compute where they give NumPy's bits."""

from __future__ import annotations

import itertools
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
        np.testing.assert_array_equal(products.matmul(a, b), np.matmul(a, b), strict=True)


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
    monkeypatch.setattr(products, "blocks", object())  # which has no loops
    a, b = np.random.default_rng(0).standard_normal((2, COUNT, 3, 3))
    np.testing.assert_array_equal(products.matmul(a, b), np.matmul(a, b))


def test_recorded() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((5000, 4, 4)), rng.standard_normal((5000, 4, 4))
    x, y = lazynp.array(a), lazynp.array(b)
    found = (x * 2) @ (y.transpose(0, 2, 1) + 1)
    np.testing.assert_array_equal(np.asarray(found), (a * 2) @ (b.transpose(0, 2, 1) + 1))
