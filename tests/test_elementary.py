"""Elementary functions of float64 in compiled kernels: `backends/torch/elementary.py`."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from patience import PATIENCE

import lazynp

POINTS = (0.0, 1.0, 2.0, 0.5, 3.0, numpy.inf, numpy.nan, 5e-324, 2.3e-308, 1e308, 2.0**51, 2.0**53)
EDGES = numpy.array([*POINTS, *[-p for p in POINTS]])


def compiled(function: Any, *arrays: Any) -> Any:
    with lazynp.config(mode="graph", compile_after=0.0, compile_nice=0), numpy.errstate(all="ignore"):
        for _ in range(2):
            found = numpy.asarray(function(*[lazynp.array(a) * 1 for a in arrays]))
            assert lazynp.compile_wait(PATIENCE)
    return found


def check(found: Any, exact: Any) -> None:
    """At most 0.56 of a last place from the truth; what underflows is rounded once more."""
    with numpy.errstate(all="ignore"):
        near = exact.astype(float)
    numbers = numpy.isfinite(near) & (numpy.abs(near) > numpy.finfo(float).tiny)
    off = numpy.abs(found[numbers] - exact[numbers]) / numpy.spacing(numpy.abs(near[numbers]))
    assert numbers.sum() > near.size / 2 and off.max() < 0.56
    numpy.testing.assert_array_max_ulp(found[~numbers], near[~numbers], 1)
    assert (numpy.isnan(near) | (numpy.signbit(found) == numpy.signbit(near))).all()


@pytest.mark.compiles
@pytest.mark.parametrize(
    ("name", "spans", "more"),
    [
        ("exp", (1e-3, 20, 708), (708.1, 709.7, 709.8, 710.1, -745, -745.2, -746.1)),
        ("sin", (1e-5, 1, 10, 1e4), (numpy.pi, 1e5, 99999.9, 1e22)),
        ("cos", (1e-5, 1, 10, 1e4), (numpy.pi / 2, 1e5, 99999.9, 1e22)),
    ],
)
def test_they_are_as_accurate_as_numpys(name: str, spans: tuple[float, ...], more: tuple[float, ...]) -> None:
    rng = numpy.random.default_rng(0)
    x = numpy.concatenate([*[rng.uniform(-s, s, 20_000) for s in spans], EDGES, more])
    if name != "exp":  # near its zeros
        x[:100] = numpy.pi / 2 * numpy.arange(100)
    with numpy.errstate(all="ignore"):
        exact = getattr(numpy, name)(x.astype(numpy.longdouble))
    check(compiled(getattr(lazynp, name), x), exact)


@pytest.mark.compiles
def test_powers_are_as_accurate_as_the_c_librarys() -> None:
    rng = numpy.random.default_rng(0)
    n = 60_000
    x = numpy.exp(rng.uniform(-300, 300, n)) * rng.choice([1, 1, -1], n)
    x[::3] = 1 + rng.standard_normal(n // 3) * 1e-4
    y = rng.standard_normal(n) * 10.0 ** rng.integers(-3, 1, n)
    y[::3] *= 1e5
    y[1::3] = rng.integers(-3, 4, n // 3)
    x = numpy.concatenate([x, numpy.repeat(EDGES, EDGES.size)])
    y = numpy.concatenate([y, numpy.tile(EDGES, EDGES.size)])
    with numpy.errstate(all="ignore"):
        exact = numpy.power(x.astype(numpy.longdouble), y.astype(numpy.longdouble))
    check(compiled(lazynp.power, x, y), exact)
