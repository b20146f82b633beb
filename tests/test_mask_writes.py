"""`x[..., mask] = number` of an array that is being computed: a select, with NumPy's values and errors."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp

WRITES = [
    "r[:, pairs] = -1.5",
    "r[..., last] = 2",
    "r[1, :, last] = 3",
    "r[1:3, pairs] = numpy.float32(7)",
    "r[:, None, ..., last] = 4",
    "r[None, :, pairs] = 5",
    "r[0, pairs] = numpy.nan",
    "r[::-1][:, ::2, last] = 9",
    "r[:, pairs] = 10**400",
    "r[:, pairs] = 1j",
    "r[9, pairs] = 1",
    "r[:, last[:4]] = 3",
    "r[:, :, :, last] = 3",
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", WRITES)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_values(text: str, dtype: str) -> None:
    rng = numpy.random.default_rng(3)
    x, pairs, last = (10 * rng.random((40, 60, 70))).astype(dtype), rng.random((60, 70)) < 0.5, rng.random(70) < 0.5

    def left(xp: Any) -> Any:
        r = xp.array(x) * 2 + 1
        try:
            exec(text, {"r": r, "numpy": numpy, "pairs": xp.array(pairs), "last": xp.array(last)})
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            return type(error)
        return numpy.asarray(r)

    found, wanted = left(lazynp), left(numpy)
    if isinstance(wanted, type):
        assert found is wanted
    else:
        assert found.dtype == wanted.dtype
        numpy.testing.assert_array_equal(found, wanted)


def test_a_select() -> None:
    """Which fuses with what is done before and after. Of few places it is none: it would pass all of the array."""
    many, few = lazynp.tri(50, 60) > 0, lazynp.array(numpy.arange(60) == 7)
    for mask, selects in ((many, True), (few, False)):
        y = lazynp.ones((100, 50, 60)) * 2
        y[..., mask] = -numpy.inf
        node = y._s_.node
        assert (node is not None and node.op.name == "where") is selects
