"""Statements of numerical programs in strict mode: NumPy's results, and nothing done by NumPy."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy
import pytest
from statement_cases import DATA, HOST, STATEMENTS

import lazynp
from lazynp.numpy.host import HostFallbackError

TEXTS = STATEMENTS.strip().splitlines()


def left(text: str, xp: Any) -> Any:
    """What a statement leaves in `r`."""
    names: dict[str, Any] = {"np": xp, "io": io, **{name: xp.array(x) for name, x in DATA.items()}}
    names |= {name: x * 1.0 if x.dtype.kind in "fc" else x | x for name, x in names.items() if name in DATA}
    names["f"] = names["f"].astype("f4")
    exec(text, names)
    return names["r"]


def plain(x: Any) -> Any:
    """With NumPy's arrays, and lists for tuples of any kind."""
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    return numpy.asarray(x) if hasattr(x, "__array__") else x


def agree(found: Any, wanted: Any) -> None:
    if isinstance(wanted, list):
        assert isinstance(found, list) and len(found) == len(wanted)
        for one, other in zip(found, wanted):
            agree(one, other)
    elif not isinstance(wanted, numpy.ndarray):
        assert found == wanted
    else:
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        if wanted.dtype.kind in "fc":
            numpy.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)
        else:
            numpy.testing.assert_array_equal(found, wanted)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", TEXTS)
def test_strict(text: str) -> None:
    wanted = plain(left(text, numpy))
    with lazynp.config(mode="graph", strict=True):
        found = plain(left(text, lazynp))
    agree(found, wanted)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", HOST)
def test_what_only_numpy_does(text: str) -> None:
    """It is counted, and has NumPy's results; one that the engine does leaves the list."""
    with lazynp.config(mode="graph"):
        agree(plain(left(text, lazynp)), plain(left(text, numpy)))
        with lazynp.config(strict=True), pytest.raises(HostFallbackError):
            left(text, lazynp)


REFUSED = """
np.linalg.solve(a, np.array(1.0))
np.add.reduce(a, axis=5)
a.sum(axis=3)
a + v
np.sin(a, bad=3)
np.percentile(a, 300)
np.take(a, [99])
a[[7]]
np.bincount(a)
np.linalg.norm(a, "x")
"""


@pytest.mark.parametrize("text", REFUSED.strip().splitlines())
def test_what_numpy_refuses_is_its_error(text: str) -> None:
    """In strict mode too: nothing has been done."""
    with pytest.raises(Exception) as theirs:
        left(f"r = {text}", numpy)
    with lazynp.config(mode="graph", strict=True), pytest.raises(theirs.type):
        left(f"r = {text}", lazynp)


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("shape", [(5, 7), (700, 3), (4, 1)])
def test_medians_without_nan(shape: tuple[int, ...], axis: int | None) -> None:
    """NumPy's bits, and its warnings of lines that have nothing but NaN."""
    x = numpy.random.default_rng(2).standard_normal(shape)
    x[x > 0.6] = numpy.nan
    x[1] = x[:, 0] = numpy.nan
    found: list[Any] = []
    for xp in (numpy, lazynp):
        with lazynp.config(mode="graph"), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            found.append((numpy.asarray(xp.nanmedian(xp.array(x), axis=axis)).tobytes(), len(warned)))
    assert found[0] == found[1]
