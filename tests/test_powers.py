"""Powers by numbers that are known when a kernel is made."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from patience import PATIENCE

import lazynp
from lazynp.backends.loops.writer import Writer
from lazynp.ops.transcendental import EXPONENTS
from lazynp.runtime import kernels, loops, planner, segment


@pytest.mark.compiles
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_small_whole_ones_are_products(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each number has a plan of its own, and none is another's."""
    rng = numpy.random.default_rng(0)
    special = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e30, 1e-30, 1e38, 1e-38]
    host = numpy.concatenate([rng.standard_normal(9000), special]).astype(dtype)
    made: set[Any] = set()

    def noted(spec: Any) -> Any:
        made.update([i.params for i in spec.body if i.op == "power"])
        return kernels.kernel_of(spec)

    monkeypatch.setattr(planner, "kernel_of", noted)
    segment.plans.clear()
    segment.exact_plans.clear()
    exponents = (2, 3, 4, -1, -2, -3, 1, 0.5, -0.5, 1.5, -1.5, 5, 3.0, 0.75)
    with lazynp.config(mode="graph", compile_after=0.0, compile_nice=0), numpy.errstate(all="ignore"):
        for _ in range(2):
            for n in exponents:
                x = lazynp.array(host)
                found = numpy.asarray(lazynp.power(x * 1, n))
                wanted = numpy.power(host, n)
                assert found.dtype == wanted.dtype
                numpy.testing.assert_array_max_ulp(found, wanted, 4)
            assert lazynp.compile_wait(240)
    assert made - {(2,), (-1,), (0.5,)} == {(), (1,), (3,), (4,), (-2,), (-3,), (-0.5,), (1.5,), (-1.5,)}


@pytest.mark.compiles
def test_compiled_loops_have_those_of_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Powers of large numbers are as small as they are, not zero: they are powers of 1/x."""
    exponents = sorted(EXPONENTS)
    rows = numpy.array([1e160, 1e-160, 1e103, 1e-103, 3.3, 0.0, -0.0, -2.5, 5e-324, numpy.inf, -numpy.inf, numpy.nan])
    host = numpy.stack([rows] * len(exponents))
    written: list[str] = []

    def noted(*args: Any) -> str | None:
        text = known_power(*args)
        written.append(text or "")
        return text

    known_power = Writer.known_power
    monkeypatch.setattr(Writer, "known_power", staticmethod(noted))

    def powers(i: Any, x: Any) -> Any:
        return lazynp.stack([lazynp.power(x[k], float(e)) for k, e in enumerate(exponents)])

    f = lazynp.jit(lambda x: lazynp.fori_loop(0, 1, powers, x))
    with lazynp.config(compile_after=0.0), numpy.errstate(all="ignore"):
        f(lazynp.array(host)), f(lazynp.array(host))
        assert loops.wait(PATIENCE)
        found = numpy.asarray(f(lazynp.array(host)))
        wanted = numpy.stack([numpy.power(rows, float(e)) for e in exponents])
    assert len([text for text in written if text.startswith("power_of")]) >= len(exponents) - 4
    numpy.testing.assert_array_equal(numpy.isnan(found), numpy.isnan(wanted))
    found, wanted = found[~numpy.isnan(wanted)], wanted[~numpy.isnan(wanted)]
    numpy.testing.assert_array_max_ulp(found, wanted, 4)
    numpy.testing.assert_array_equal(numpy.signbit(found), numpy.signbit(wanted))


@pytest.mark.compiles
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", [3, 4])
def test_cubes_and_fourth_powers_are_rounded_once(n: int, dtype: str) -> None:
    edges = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e30, 1e38, 1e77, 1e78, 1e102, -1e103, 1e-30, 1e-110, 5e-324]
    with numpy.errstate(all="ignore"):
        host = numpy.concatenate([numpy.random.default_rng(0).standard_normal(50_000) * 3, edges]).astype(dtype)
        exact = host.astype(numpy.longdouble) ** n
        wanted = exact.astype(dtype)
        numbers = numpy.isfinite(wanted) & (numpy.abs(wanted) > numpy.finfo(dtype).tiny)
    with lazynp.config(mode="graph", compile_after=0.0, compile_nice=0), numpy.errstate(all="ignore"):
        for _ in range(2):
            found = numpy.asarray(lazynp.power(lazynp.array(host) * 1, n))
            assert lazynp.compile_wait(PATIENCE)
    numpy.testing.assert_array_equal(found[~numbers], wanted[~numbers])
    numpy.testing.assert_array_equal(numpy.signbit(found), numpy.signbit(wanted))
    off = numpy.abs(found[numbers].astype(numpy.longdouble) - exact[numbers])
    assert (off / numpy.spacing(numpy.abs(wanted[numbers]))).max() < 0.501
