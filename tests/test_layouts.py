"""The layout of results is NumPy's: strides, flags, whether there is a base, whether it is the argument itself.

What `ravel`, `reshape`, `copy("K")`, `tobytes("A")` and `order="K"` give depends on it, and what a write changes too.
Strides of axes of one element, and of arrays without elements, say nothing and are not compared.
`LAZYNP_LAYOUTS=f8,f4,i4,u1,c8,?` compares these dtypes, each in both modes.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy
import pytest
from layout_cases import ARRAYS, expressions

import lazynp
from lazynp.config import config

MODES: tuple[dict[str, Any], ...] = ({"mode": "graph"}, {"mode": "auto", "small": 0})
FULL = os.environ.get("LAZYNP_LAYOUTS", "")
DTYPES = (FULL or "f8").split(",")


def layout(x: Any, a: Any) -> Any:
    """What is compared of a result, of the argument a."""
    if isinstance(x, (tuple, list)):
        return tuple([layout(v, a) for v in x])
    if isinstance(x, numpy.generic) or not hasattr(x, "strides"):
        return type(x).__name__
    strides = tuple([s for s, n in zip(x.strides, x.shape) if n > 1]) if x.size > 1 else ()
    flags = x.flags
    known = (flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.owndata)
    return x.shape, strides, known, x.base is None, x is a


def result(np: Any, text: str, name: str, dtype: str) -> Any:
    try:
        a = ARRAYS[name](np, dtype)
        return layout(eval(text, {"np": np, "a": a, "host": numpy.asarray}), a)
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("part", range(4))
def test_layouts(part: int, dtype: str) -> None:
    differ, compared = [], 0
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for text in expressions()[part::4]:
            for name in ARRAYS:
                wanted = result(numpy, text, name, dtype)
                for mode in MODES if FULL else MODES[compared % 2 :][:1]:
                    with config(**mode):
                        got = result(lazynp, text, name, dtype)
                    compared += 1
                    if got != wanted:
                        differ.append(f"{text}, a: {name}, {mode}\n  NumPy: {wanted}\n  lazynp: {got}")
    assert compared > 2000
    assert not differ, "\n".join(differ[:8]) + f"\n{len(differ)} of {compared} differ"


@pytest.mark.parametrize("mode", [*MODES, {"mode": "auto"}], ids=str)
class TestWrites:
    """A copy where NumPy copies, a view where it gives a view: seen by a write."""

    def both(self, mode: dict[str, Any], text: str) -> None:
        found = []
        for np in (numpy, lazynp):
            space: dict[str, Any] = {"np": np}
            with config(**mode):
                exec(text, space)
            found.append({k: numpy.array(v) for k, v in space.items() if len(k) == 1})
        for name, value in found[0].items():
            numpy.testing.assert_array_equal(found[1][name], value, err_msg=f"{text}\n{name}")

    def test_index_behind_a_slice(self, mode: dict[str, Any]) -> None:
        self.both(mode, "a = np.arange(12.).reshape(3, 4); b = a[:, [0, 1, 2]]; c = b.ravel(); c += 1")
        self.both(mode, "a = np.arange(12.).reshape(3, 4); b = a[:, [0, 1, 2]]; c = b.T.ravel(); c += 1")
        self.both(mode, "a = np.arange(24.).reshape(2, 3, 4); b = a[:, [[0], [1]], [1, 2]]; c = b.reshape(-1); c += 1")

    def test_nonzero(self, mode: dict[str, Any]) -> None:
        self.both(mode, "a = np.eye(3); b, d = np.nonzero(a); c = b.ravel(); c += 1; d += 5; e = b * d; b[1:] = 7")
        self.both(mode, "a = np.eye(3); b, d = a.nonzero(); c = b.base; c[...] = 4; e = b + d")

    def test_result_in_the_operands_order(self, mode: dict[str, Any]) -> None:
        for text in ("a.clip(1, 5)", "a.round()", "a.cumsum(0)", "np.concatenate([a, a])", "np.power(a, 2)"):
            self.both(mode, f"a = np.arange(12.).reshape(3, 4).T; b = {text}; c = b.ravel('K'); c += 1")
            self.both(mode, f"a = np.arange(12.).reshape(3, 4).T; b = {text}; c = b.T.ravel(); c += 1")
        for text in ("a.mean(0)", "a.var(1)", "a.std(2)"):
            self.both(mode, f"a = np.arange(24.).reshape(2, 3, 4).T; b = {text}; c = b.T.ravel(); c += 1")


def test_memory_that_results_share_is_one_base() -> None:
    rows, columns = lazynp.nonzero(lazynp.eye(3))
    assert rows.base is columns.base
    assert rows.base.shape == (3, 2)
    assert rows.strides == (16,)


def test_what_has_a_base_cannot_be_resized() -> None:
    for np in (numpy, lazynp):
        b = np.arange(12.0).reshape(3, 4)[:, [0, 1]]
        with pytest.raises(ValueError, match="does not own its data"):
            b.resize((2, 2))
