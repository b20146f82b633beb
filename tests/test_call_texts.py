"""Calls that numerical programs make: NumPy's results without NumPy, and through grad, jit and vmap."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy
import pytest
from call_cases import CALLS, CONSTANTS, DATA, HOST, NEEDS_VALUES, NO_SLOPE

import lazynp

MODES: dict[str, dict[str, Any]] = {"graph": {"mode": "graph"}, "auto": {"mode": "auto", "small": 0}}


def run(text: str, xp: Any, data: dict[str, Any]) -> Any:
    """The call's value; constants are arrays of the library."""
    made = xp.array if xp is lazynp else lambda x: x
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)  # of matrices
        return eval(text, {"np": xp, **{k: made(v) for k, v in CONSTANTS.items()}, **data})


def named(text: str, kinds: str = "fc") -> list[str]:
    """The arrays in a call, of the kinds of dtype."""
    found = set(re.findall(r"(?<![\w.'])([a-z])(?![\w'])", text))
    return [name for name in DATA if name in found and DATA[name].dtype.kind in kinds]


def agree(found: Any, wanted: Any, tolerance: float = 1e-9) -> None:
    found, wanted = numpy.asarray(found), numpy.asarray(wanted)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype.kind in "fc":
        numpy.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
    else:
        numpy.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", CALLS)
def test_strict(text: str, mode: str) -> None:
    """Nothing is done by NumPy on computed values, but for what is listed."""
    wanted = run(text, numpy, DATA)
    with lazynp.config(**MODES[mode], strict=True):
        data = {k: lazynp.array(v) * 1.0 for k, v in DATA.items()}
        if text in HOST:
            with pytest.raises(lazynp.HostFallbackError):
                run(text, lazynp, data)
        else:
            agree(run(text, lazynp, data), wanted)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("mode", ["graph", "auto"])
@pytest.mark.parametrize("text", [t for t in CALLS if named(t)])
def test_jit_and_vmap(text: str, mode: str) -> None:
    names = named(text)
    many = {name: numpy.stack([DATA[name], 0.9 * DATA[name], 1.1 * DATA[name]]) for name in names}

    def f(*xs: Any) -> Any:
        return run(text, lazynp, {**ours, **dict(zip(names, xs))})

    with lazynp.config(mode=mode):
        ours = {k: lazynp.array(v) for k, v in DATA.items()}
        if text in NEEDS_VALUES:
            for g, given in ((lazynp.jit(f), DATA), (lazynp.vmap(f), many)):
                with pytest.raises((RuntimeError, TypeError, IndexError), match=r"trac|Trac|concrete|see through"):
                    g(*[lazynp.array(given[name]) for name in names])
            return
        agree(lazynp.jit(f)(*[ours[name] for name in names]), run(text, numpy, DATA))
        found = lazynp.vmap(f)(*[lazynp.array(many[name]) for name in names])
        rows = [run(text, numpy, {**DATA, **{name: many[name][i] for name in names}}) for i in range(3)]
        agree(found, numpy.stack(rows), 1e-8)


def number(text: str) -> Any:
    """The call's result added up with weights, by the library and the arrays' values."""
    shape = numpy.shape(run(text, numpy, DATA))
    w, v = (numpy.random.default_rng(i).standard_normal(shape) for i in (3, 4))

    def summed(xp: Any, data: dict[str, Any]) -> Any:
        out = run(text, xp, data)
        return (out.real * w).sum() + (out.imag * v).sum() if out.dtype.kind == "c" else (out * w).sum()

    return summed


FLOATING = [t for t in CALLS if named(t, "f") and numpy.asarray(run(t, numpy, DATA)).dtype.kind in "fc"]


@pytest.mark.parametrize("mode", ["graph", "auto"])
@pytest.mark.parametrize("text", [t for t in FLOATING if t not in NO_SLOPE])
def test_gradients(text: str, mode: str) -> None:
    names, summed = named(text, "f"), number(text)
    along = {name: numpy.random.default_rng(5).standard_normal(DATA[name].shape) for name in names}
    with lazynp.config(mode=mode):
        ours = {k: lazynp.array(v) for k, v in DATA.items()}

        def f(*xs: Any) -> Any:
            return summed(lazynp, {**ours, **dict(zip(names, xs))})

        found = lazynp.grad(f, argnums=tuple(range(len(names))))(*[ours[name] for name in names])
        slope = sum(float((numpy.asarray(g) * along[name]).sum()) for g, name in zip(found, names))
    h = 1e-6
    ends = [summed(numpy, {**DATA, **{k: DATA[k] + s * h * along[k] for k in names}}) for s in (-1, 1)]
    assert slope == pytest.approx(float(ends[1] - ends[0]) / (2 * h), rel=1e-4, abs=1e-4)


def test_an_axis_for_a_number_under_a_derivative() -> None:
    """Its transpose was a write into a number, which no plan has."""

    def f(x: Any) -> Any:
        return lazynp.exp(-((x + lazynp.sum(x * x)[..., None]) ** 2)).sum()

    x = lazynp.array(numpy.linspace(0.1, 1, 7))
    agree(lazynp.jit(lazynp.grad(f))(x), lazynp.grad(f)(x))


def test_a_mean_where_a_traced_mask_is_set() -> None:
    x = numpy.array([[1.0, -2.0, 3.0], [-1.0, 5.0, 0.5]])

    def f(y: Any) -> Any:
        return lazynp.mean(y, axis=1, where=y > 0)

    agree(lazynp.jit(f)(lazynp.array(x)), numpy.mean(x, axis=1, where=x > 0))


def test_a_sum_that_begins_with_a_negative_zero() -> None:
    with lazynp.config(mode="graph"):
        found = lazynp.sum(lazynp.array([-0.0, -0.0]) * 1.0, initial=numpy.float64(-0.0))
    assert numpy.signbit(found)


@pytest.mark.parametrize("mode", MODES)
def test_what_a_flat_write_repeats(mode: str) -> None:
    with lazynp.config(**MODES[mode]):
        x, y = lazynp.zeros((2, 3), bool), lazynp.zeros((2, 3))
        x.flat[-2::2] = lazynp.array(2)
        y.flat[1:5] = lazynp.array([1.0, 2.0])
        d = lazynp.array(7.5)
        lazynp.clip(d, 0, 4, out=d)
        agree(x, [[False, False, False], [False, True, False]])
        agree(y, [[0.0, 1.0, 2.0], [1.0, 2.0, 0.0]])
        agree(d, numpy.array(4.0))


@pytest.mark.parametrize("mode", MODES)
def test_determinants_of_singular_matrices_have_derivatives(mode: str) -> None:
    x = numpy.array([[0.0, 1.0, 1.0], [2.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    with lazynp.config(**MODES[mode]):
        agree(lazynp.grad(lazynp.linalg.det)(lazynp.array(x)), [[0.0, 0, 0], [0, 0, 0], [2, 2, -2]])
        agree(lazynp.jit(lazynp.grad(lazynp.linalg.det))(lazynp.array(x[:2, :2] * 0)), numpy.zeros((2, 2)))
        rank = numpy.diag([2.0, 3.0, 0.5, 0.0])
        agree(lazynp.grad(lazynp.linalg.det)(lazynp.array(rank)), numpy.diag([0.0, 0, 0, 3]))
        agree(lazynp.grad(lazynp.linalg.det)(lazynp.array(numpy.diag([2.0, 3, 0, 0]))), numpy.zeros((4, 4)))


def test_arrays_of_lists_that_contain_themselves() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match=r"sequence|deep"):
        lazynp.array(endless, float)


REDUCED = {
    "numbers that the loop does not have": [
        lambda np, x, m: np.min(x.astype("B"), axis=0, initial=300, where=m),
        lambda np, x, m: np.maximum.reduce(x.astype("b"), initial=-1, dtype="B"),
        lambda np, x, m: np.bitwise_or.reduce(x.astype("b"), initial=300),
        lambda np, x, m: np.maximum.reduce(x.astype("f"), initial=2**70, where=m),
    ],
    "numbers to begin with": [
        lambda np, x, m: np.subtract.reduce(x.astype("B"), axis=1, initial=5),
        lambda np, x, m: np.divide.reduce(x + 1.0, axis=1, initial=2.0),
        lambda np, x, m: np.subtract.reduce(x, where=m, initial=3),
        lambda np, x, m: np.hypot.reduce(x.astype("f"), where=m & False, initial=-1),
        lambda np, x, m: np.lcm.reduce(x, where=m & False, initial=-1),
    ],
    "none": [
        lambda np, x, m: np.add.reduce(x, where=m, initial=None),
        lambda np, x, m: np.add.reduce(x / 3, initial=None, out=np.zeros(4, int)),
        lambda np, x, m: np.logical_and.reduce(x / 4, initial=None, out=np.zeros(4, int)),
        lambda np, x, m: np.add.reduce(x / 3, initial=2.5, out=np.zeros(4, int)),
    ],
    "what is left out": [lambda np, x, m: np.logaddexp.reduce(x > 3, where=m)],
    "einsum into a wider type": [
        lambda np, x, m: np.einsum("ij->j", x.astype("e") / 3, out=np.zeros(4, "F")),
        lambda np, x, m: np.einsum("ij->j", x.astype("b") * 20, out=np.zeros(4, "l")),
        lambda np, x, m: np.einsum("ij->j", x / 3, out=np.zeros(4, "f")),
    ],
    "casting": [lambda np, x, m: np.multiply(x.astype("F"), 2, dtype="F", casting="equiv")],
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("what", REDUCED)
def test_unusual_arguments_of_reductions(what: str, mode: str) -> None:
    x, m = numpy.arange(12).reshape(3, 4), numpy.arange(12).reshape(3, 4) % 3 > 0

    def made(np: Any, call: Any) -> Any:
        try:
            return call(np, np.array(x), np.array(m))
        except (TypeError, ValueError, OverflowError) as error:
            return type(error)

    with lazynp.config(**MODES[mode]):
        for call in REDUCED[what]:
            ours, theirs = made(lazynp, call), made(numpy, call)
            if isinstance(theirs, type):
                assert ours is theirs
            else:
                agree(ours, theirs)
