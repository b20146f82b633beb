"""NumPy's scalars beside arrays: to their left, what NumPy gives; beside anything else, what they gave before."""

from __future__ import annotations

import decimal
import fractions
import operator
import warnings
from typing import Any

import numpy
import pytest

import lazynp
from lazynp.config import config

SCALARS = [
    numpy.float64(2.5),
    numpy.float32(-1.5),
    numpy.float16(3),
    numpy.complex128(1 + 2j),
    numpy.complex64(2j),
    numpy.bool_(True),
    numpy.int8(-3),
    numpy.int16(7),
    numpy.int32(2),
    numpy.int64(5),
    numpy.longlong(4),
    numpy.uint8(200),
    numpy.uint16(9),
    numpy.uint32(3),
    numpy.uint64(6),
    numpy.ulonglong(2),
    numpy.float64("nan"),
    numpy.int64(0),
]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.lshift, operator.rshift, operator.and_, operator.or_, operator.xor, operator.matmul, divmod,
    *COMPARISONS, operator.iadd, operator.imul, operator.ipow,
]  # fmt: skip
DTYPES = ["float64", "float32", "float16", "complex128", "bool", "int8", "int64", "uint8", "uint64"]


def result(f: Any, *args: Any) -> Any:
    """What a call gives: type, dtype and bytes of each result, or the error's type, and the warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            out = f(*args)
            several = out if isinstance(out, tuple) else (out,)
            found = [
                (type(x).__name__, numpy.asarray(x).dtype, numpy.shape(x), numpy.asarray(x).tobytes()) for x in several
            ]
        except Exception as error:
            found = [type(error)]
    return found, [str(w.message) for w in seen]


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("scalar", SCALARS, ids=lambda s: f"{type(s).__name__} {s}")
def test_to_the_left_of_an_array(scalar: Any, mode: str) -> None:
    with config(mode=mode):
        for dtype in DTYPES:
            host = numpy.array([0, 1, 3, 2], dtype)
            for f in OPERATORS:
                wanted, said = result(f, scalar, host.copy())
                got, told = result(f, scalar, lazynp.array(host))
                assert got == wanted, (dtype, f)
                if f not in COMPARISONS:  # which run the other way round, and say so where they warn
                    assert mode == "graph" or told == said, (dtype, f)
                assert mode == "graph" or len(told) == len(said), (dtype, f)


class Own(numpy.float64):
    """A scalar with an operator of its own."""

    def __mul__(self, other: Any) -> Any:
        return "own"


class Reflected:
    def __rmul__(self, other: Any) -> Any:
        return "reflected"


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_beside_anything_else() -> None:
    two = numpy.float64(2)
    assert type(two * 3) is numpy.float64 and two * 3 == 6 and type(two * two) is numpy.float64
    assert (two * numpy.arange(3)).tolist() == [0, 2, 4] and two * Reflected() == "reflected"
    assert two * fractions.Fraction(1, 2) == 1 and numpy.int64(2) * [1] == [1, 1]
    assert numpy.int64(7) & 3 == 3 and numpy.uint8(1) << 2 == 4 and pow(numpy.int64(3), 2) == 9
    with pytest.raises(TypeError):
        two * decimal.Decimal(1)
    with pytest.raises(ValueError, match="matmul"):
        numpy.int64(2) @ lazynp.arange(3)
    assert Own(2) * lazynp.arange(3) == "own"
    masked = two * lazynp.ma.masked_array([1.0, 2.0], [True, False])
    assert masked.mask.tolist() == [True, False] and masked[1] == 4
    assert (two * lazynp.asmatrix([[1.0]])).tolist() == [[2.0]]
    assert (numpy.float64.__mul__(two, lazynp.arange(3.0))).tolist() == [0, 2, 4]


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: m.cumsum(x), lambda m, x: m.cumprod(x, axis=0), lambda m, x: m.argsort(x, kind="stable"),
        lambda m, x: m.repeat(x, 2), lambda m, x: m.reshape(x, (1, 1)), lambda m, x: m.argpartition(x, 0),
        lambda m, x: m.cumsum(x, out=m.zeros(1)), lambda m, x: m.ravel(x), lambda m, x: m.round(x),
    ],
)  # fmt: skip
def test_arrays_that_functions_make_of_scalars_are_ours(call: Any, mode: str) -> None:
    """The functions call the method of that name, and a scalar's methods give NumPy's arrays."""
    with config(mode=mode):
        for x in (numpy.float64(2.5), numpy.int32(3), lazynp.arange(3.0)[1]):
            wanted, got = call(numpy, x), call(lazynp, x)
            assert type(got) is (lazynp.ndarray if isinstance(wanted, numpy.ndarray) else type(wanted))
            assert got.dtype == wanted.dtype and got.shape == wanted.shape and (got == wanted).all()
