"""Powers by numbers that are known when a kernel is made."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp
from lazynp.runtime import kernels, planner, segment


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
    exponents = (2, 3, 4, -1, -2, 1, 0.5, -0.5, 1.5, -1.5, 5, 3.0, 0.75)
    with lazynp.config(mode="graph", compile_after=0.0, compile_nice=0), numpy.errstate(all="ignore"):
        for _ in range(2):
            for n in exponents:
                x = lazynp.array(host)
                found = numpy.asarray(lazynp.power(x * 1, n))
                wanted = numpy.power(host, n)
                assert found.dtype == wanted.dtype
                numpy.testing.assert_array_max_ulp(found, wanted, 4)
            assert lazynp.compile_wait(240)
    assert made - {(2,), (-1,), (0.5,)} == {(), (1,), (3,), (4,), (-2,), (-0.5,), (1.5,), (-1.5,)}
