"""What C does at once: reductions along short axes, operations on short rows, products. NumPy's bits and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from seeds import Seeds

import lazynp

SEEDS = Seeds("SHORT_ROWS", 1600, 8)
Call = Callable[..., Any]
REDUCTIONS: dict[str, Call] = {
    "sum": lambda m, x, axis, keep: m.sum(x, axis=axis, keepdims=keep),
    "mean": lambda m, x, axis, keep: x.mean(axis, keepdims=keep),
    "max": lambda m, x, axis, keep: x.max(axis=axis, keepdims=keep),
    "min": lambda m, x, axis, keep: m.min(x, axis=axis, keepdims=keep),
    "any": lambda m, x, axis, keep: m.any(x, axis),
    "all": lambda m, x, axis, keep: x.all(axis=axis, keepdims=keep),
    "prod": lambda m, x, axis, keep: x.prod(axis),
    "var": lambda m, x, axis, keep: x.var(axis=axis, keepdims=keep),
    "std": lambda m, x, axis, keep: m.std(x, axis, ddof=1),
    "norm": lambda m, x, axis, keep: m.linalg.norm(x, axis=axis, keepdims=keep),
}
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "less", "power", "logical_and", "remainder", "copysign")


def outcome(call: Call) -> Any:
    """The value or the error's class, and the warnings."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            value = numpy.asarray(call())
        except Exception as error:
            return type(error)
    return value, sorted([str(w.message) for w in said])


def agree(found: Any, wanted: Any, seed: int) -> None:
    if not isinstance(wanted, tuple) or not isinstance(found, tuple):
        assert found == wanted, seed
        return
    (a, said), (b, expected) = found, wanted
    assert (a.dtype, a.shape, said) == (b.dtype, b.shape, expected), seed
    numpy.testing.assert_array_equal(a, b)
    if a.dtype.kind == "f":
        assert numpy.array_equal(numpy.signbit(a)[a == 0], numpy.signbit(b)[b == 0]), seed


def array(rng: Any, shape: tuple[int, ...], dtype: str) -> numpy.ndarray:
    """Numbers of many sizes, or with zeros of both signs, NaN, infinities; with gaps and without, in any order."""
    x = rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape)
    kind, lies = rng.integers(6), rng.integers(4)
    if kind == 1:
        x = numpy.where(rng.random(shape) < 0.3, 0.0, x) * numpy.where(rng.random(shape) < 0.5, -1, 1)
    elif kind in (2, 3):
        x[rng.random(shape) < 0.02] = numpy.nan if kind == 2 else numpy.inf
    elif kind == 4:
        x *= 1e300
    with numpy.errstate(all="ignore"):
        x = x.astype(dtype)
    if lies == 1:
        return numpy.asfortranarray(x)
    return numpy.repeat(x, 2, axis=-1)[..., ::2] if lies == 2 else x


@pytest.mark.parametrize("block", SEEDS.blocks)
def test_reductions(block: int) -> None:
    for seed in SEEDS.of(block):
        rng = numpy.random.default_rng(seed)
        nd = int(rng.integers(1, 5))
        shape = tuple(rng.integers(1, [300, 40, 12, 6][nd - 1], nd))
        if rng.random() < 0.3:
            shape = (int(rng.integers(1, 400)), *rng.integers(1, 5, nd - 1))
        x = array(rng, shape, rng.choice(["f8", "f4", "i8", "?", "i4", "u8", "i2", "c16"]))
        axis, keep = rng.choice([-1, 0, *rng.integers(-nd, nd, 2)]), bool(rng.integers(2))
        axes = numpy.sort(rng.permutation(nd)[: rng.integers(0, nd + 1)]) - nd * rng.integers(2)
        several = tuple(axes.tolist())
        for name in rng.choice(list(REDUCTIONS), 3, replace=False):
            call = REDUCTIONS[name]
            for along in (int(axis), None, several[:2] if name == "norm" else several):
                wanted = outcome(lambda x=x, along=along, call=call, keep=keep: call(numpy, x, along, keep))
                ours = lazynp.asarray(x)
                agree(outcome(lambda x=ours, a=along, call=call, k=keep: call(lazynp, x, a, k)), wanted, seed)


@pytest.mark.parametrize("name", ["add", "maximum", "minimum", "multiply", "logical_and"])
def test_reductions_of_large_arrays(name: str, rows: int = 40_000) -> None:
    """On several threads, as one call of NumPy's: bits, and a warning where one row overflows or has no number."""
    rng = numpy.random.default_rng(5)
    for dtype in ("f8", "f4", "i8", "?", "f2"):
        for shape in ((rows, 3), (rows, 17), (rows // 4, 2, 9), (90, 200, 40)):
            for fault in (0, 1, numpy.nan, 1e300):
                x = rng.standard_normal(shape)
                if fault:
                    x.reshape(-1)[[5, -3]] = fault, 0.0
                with numpy.errstate(all="ignore"):
                    x = (x * 9).astype(dtype)
                for axis in (-1, 1, (1, 2)[: x.ndim - 1]):
                    wanted = outcome(lambda x=x, axis=axis: getattr(numpy, name).reduce(x, axis=axis))
                    ours = lazynp.array(x)
                    with lazynp.config(threads=3, small=1000):
                        agree(outcome(lambda x=ours, a=axis: getattr(lazynp, name).reduce(x, axis=a)), wanted, 0)


@pytest.mark.parametrize("block", SEEDS.blocks)
def test_rows_and_columns(block: int) -> None:
    """Operands of which one is a column, a row for all, or has gaps."""
    for seed in SEEDS.of(block):
        rng = numpy.random.default_rng(seed)
        nd = int(rng.integers(2, 5))
        shape = [*rng.integers(1, [0, 0, 90, 20, 7][nd], nd - 1), int(rng.integers(1, 20))]
        dtype = rng.choice(["f8", "f4", "i8", "?", "i4", "u1", "c16", "c8"])
        x, y = [array(rng, tuple([1 if rng.random() < 0.35 else n for n in shape]), dtype) for _ in range(2)]
        f = str(rng.choice(BINARY))
        ours = lazynp.asarray(x.copy("K")), lazynp.asarray(y.copy("K"))
        wanted = outcome(lambda f=f, x=x, y=y: getattr(numpy, f)(x, y))
        agree(outcome(lambda f=f, x=ours[0], y=ours[1]: getattr(lazynp, f)(x, y)), wanted, seed)
        if isinstance(wanted, tuple) and wanted[0].shape == x.shape and wanted[0].dtype == x.dtype:
            column = bool(rng.random() < 0.3)  # of the array that is written itself
            a, b = x.copy("K"), lazynp.asarray(x.copy("K"))
            wanted = outcome(lambda f=f, a=a, y=y, c=column: getattr(numpy, f)(a, a[..., :1] if c else y, out=a))
            found = outcome(lambda f=f, b=b, y=ours[1], c=column: getattr(lazynp, f)(b, b[..., :1] if c else y, out=b))
            agree(found, wanted, seed)


@pytest.mark.parametrize("block", SEEDS.blocks)
def test_products(block: int) -> None:
    """Of vectors and matrices, in all layouts; a matrix with its own transpose, too."""
    for seed in SEEDS.of(block):
        rng = numpy.random.default_rng(seed)
        m, k, n = rng.integers(0 if rng.random() < 0.1 else 1, rng.choice([3, 9, 40]), 3)
        dtype = rng.choice(["f8", "f4", "c16", "i8", "?", "u1", "c8"])
        x = array(rng, (m, k) if rng.random() < 0.6 else (k,), dtype)
        y = array(rng, (k + int(rng.random() < 0.03), n) if rng.random() < 0.6 else (k,), dtype)
        y = x.T if rng.random() < 0.1 else y
        wanted = outcome(lambda x=x, y=y: x @ y)
        ours = lazynp.asarray(x), lazynp.asarray(y)
        agree(outcome(lambda x=ours[0], y=ours[1]: x @ y), wanted, seed)
        agree(outcome(lambda x=x, y=ours[1]: lazynp.asarray(x) @ y), wanted, seed)
