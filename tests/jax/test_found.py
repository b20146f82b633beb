"""What long runs of the generated cases have found, and what stands beside it: each call agrees with JAX."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from agreement import disagreement, outcome

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
NAN, INF = np.float32(np.nan), np.inf
LOST = np.array([[3.375, np.inf, np.nan], [0.5, -1.625, -0.0], [1, 2, 3]], "f4")
STACK = np.stack([2 * np.eye(3, dtype="f4"), LOST])
WHOLE = np.array([1, 2], "i4")
ROW = np.array([np.nan, 1, -1], "f4")
Call = Callable[[Any], Any]


def divergences(p: Any, q: Any) -> Call:
    return lambda j: [j.scipy.special.rel_entr(p, q), j.scipy.special.kl_div(p, q)]


def split(name: str, x: Any, where: Any) -> Call:
    return lambda j: getattr(j.numpy, name)(j.numpy.asarray(x), where)


def quantiles(shape: tuple[int, ...], **parameters: Any) -> list[Call]:
    def call(name: str) -> Call:
        return lambda j: getattr(j.numpy, name)(j.numpy.ones(shape), **parameters)

    return [call("median"), call("nanmedian")]


def trapezoid(y: Any, **parameters: Any) -> Call:
    def call(j: Any) -> Any:
        given = {k: j.numpy.asarray(v) if isinstance(v, np.ndarray) else v for k, v in parameters.items()}
        return j.numpy.trapezoid(j.numpy.asarray(y), **given)

    return call


def clamp(*bounds: Any) -> Call:
    low, x, high = bounds
    return lambda j: j.lax.clamp(low, j.numpy.asarray(x), high)


def slopes_of_clamp(*at: float) -> Call:
    return lambda j: j.grad(j.lax.clamp, (0, 1, 2))(*at)


def linalg(name: str, a: np.ndarray = STACK, **parameters: Any) -> Call:
    return lambda j: getattr(j.numpy.linalg, name)(j.numpy.asarray(a), **parameters)


def moment(name: str, dtype: str, axis: Any) -> Call:
    return lambda j: getattr(j.numpy, name)(j.numpy.ones((3,), dtype), axis=axis)


CALLS: dict[str, list[Call]] = {
    "abs of unsigned": [lambda j: j.lax.abs(np.uint8([1])), lambda j: j.lax.abs(np.zeros((0, 2), np.uint32))],
    "abs of others": [lambda j: j.lax.abs(-2), lambda j: j.lax.abs(np.int8([-3])), lambda j: j.lax.abs(True)],
    "weak comparisons": [
        lambda j: j.lax.is_finite(1.5),
        lambda j: j.lax.is_finite(j.numpy.asarray(1.5)),
        lambda j: j.jit(j.lax.lt)(1, 2),
        lambda j: j.lax.eq(1, 2),
        lambda j: j.lax.eq(True, False),
        lambda j: j.lax.eq(np.float32(1), 1.0),
    ],
    "weak divergences": [divergences(*pq) for pq in ((WHOLE, 1.5), (1.5, WHOLE), (1.5, 2.5), (WHOLE, WHOLE), (1, 2))],
    "split": [split("split", WHOLE, i) for i in ([-1], [5], [2, 1], [1, 1], [0, 2])]
    + [split("array_split", np.zeros((2, 0)), [1]), split("hsplit", np.ones((2, 2)), [3])],
    "axes of nanvar": [moment(n, d, a) for n in ("nanvar", "nanstd") for d in ("f4", "i4") for a in (2, (0, 5), -1)],
    "quantiles of nothing": quantiles((0,)) + quantiles((0, 2), axis=0) + quantiles((2, 0), axis=0) + quantiles((0, 0)),
    "quantiles of nothing along one axis": quantiles((0, 0), axis=0) + quantiles((0,), keepdims=True),
    "quantiles of a scalar": quantiles((), keepdims=True) + quantiles((), axis=(), keepdims=True) + quantiles(()),
    "no differences": [lambda j: j.numpy.diff(1.5, n=0), lambda j: j.numpy.diff(np.complex64(1j), n=0, axis=-1)],
    "trapezoid": [
        *[trapezoid(np.array(y, "f4")) for y in ([-INF], [INF, INF, 1], [1, 2, 4], [])],
        *[trapezoid(np.ones((2, 3), "f4"), dx=dx) for dx in (2, np.ones(2, "f4"), np.ones((1, 2), "f4"))],
        *[trapezoid(np.ones((2, 3), "f4"), dx=np.arange(3, dtype="f4"), axis=0)],
        *[trapezoid(np.ones((3, 2), "f4"), x=np.array([1, 3], "f4"))],
    ],
    "clamp": [clamp(np.float32(a), ROW, np.float32(b)) for a in (0, NAN, 2) for b in (0.5, NAN)]
    + [clamp(1, [3, 0], 2)],
    "slopes of clamp": [slopes_of_clamp(*at) for at in ((0.0, -1.0, 1.0), (0.0, 0.0, 1.0), (0.0, 2.0, 1.0))]
    + [slopes_of_clamp(*at) for at in ((np.nan, -1.0, 1.0), (0.0, np.nan, 1.0), (0.0, 0.5, np.nan))],
    "singular values": [linalg(n) for n in ("svd", "svdvals", "pinv", "matrix_rank", "cond")]
    + [linalg("norm", ord=o, axis=(-2, -1)) for o in (2, -2, "nuc")]
    + [linalg("norm", LOST[:2], ord=2), linalg("svd", LOST[:2], full_matrices=False)],
    "condition of zeros": [linalg("cond", np.zeros((2, 2), "f4")), linalg("cond", np.zeros((2, 2), "f4"), p=-2)],
    "eigenvalues": [linalg(n) for n in ("eigh", "eigvalsh", "eig", "eigvals")],
    "factorizations under transformations": [
        lambda j: j.vmap(j.numpy.linalg.svdvals)(STACK),
        lambda j: j.jit(j.numpy.linalg.eigvals)(STACK),
        lambda j: j.grad(lambda x: j.numpy.linalg.svdvals(x)[..., 0].sum())(STACK),
        lambda j: j.grad(lambda x: j.numpy.linalg.norm(x, ord=2))(LOST),
    ],
    "powers of a known whole number": [
        *[lambda j, d=d: j.numpy.power(j.numpy.asarray(3), np.array(4, d)) for d in ("i4", "u1", "f4", "?")],
        *[lambda j, d=d: np.uint8([3]) ** j.numpy.asarray(np.array(4, d)) for d in ("i4", "u1")],
        lambda j: j.numpy.asarray(1.5) ** np.array(4),
        lambda j: j.numpy.power(np.uint8([3]), np.array([4])),
    ],
    "take_along_axis of nothing": [
        lambda j: j.numpy.take_along_axis(j.numpy.zeros(0), np.array([0, 1]), 0, mode="wrap"),
        lambda j: j.numpy.take_along_axis(j.numpy.zeros((0, 2)), np.array([[0, 1]]), 0),
    ],
    "compress to more than there is": [
        lambda j: j.numpy.compress(np.zeros(1, bool), j.numpy.zeros(1), size=2),
        lambda j: j.numpy.compress(np.zeros(3, bool), j.numpy.zeros(3), size=2),
    ],
}


@pytest.mark.parametrize("name", CALLS)
def test_agrees(name: str) -> None:
    wrong = [f"{i}: {w}" for i, call in enumerate(CALLS[name]) if (w := difference(call)) is not None]
    assert not wrong, "\n".join(wrong)


def difference(call: Call, factor: float = 10) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return disagreement("", outcome(lambda: call(jax)), outcome(lambda: call(lazynp.jax)), factor)


PLACES: tuple[Any, ...] = (
    np.array([-1, 7]), -1, 1, slice(None), slice(1, None), slice(None, None, -1), (0, None), np.array([[0], [1]]), ...,
    None, (slice(None), 0), np.zeros(0, int), True, (slice(None), np.array([0, 1])),
)  # fmt: skip
MODES = (None, "clip", "fill", "wrap")


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3), (2, 3)])
@pytest.mark.parametrize("mode", MODES)
def test_modes_of_at(shape: tuple[int, ...], mode: str | None) -> None:
    """Where nothing is looked up, neither the mode nor the value's shape is looked at."""
    wrong = []
    for place in PLACES:
        calls = {
            "get": lambda j, p=place: j.numpy.ones(shape).at[p].get(mode=mode),
            "add": lambda j, p=place: j.numpy.ones(shape).at[p].add(1.0, mode=mode),
            "set": lambda j, p=place: j.numpy.ones(shape).at[p].set(j.numpy.ones(3), mode=mode),
            "divide": lambda j, p=place: j.numpy.ones(shape).at[p].divide(j.numpy.ones(3), mode=mode),
        }
        wrong += [f"{place!r} {what}: {w}" for what, call in calls.items() if (w := difference(call)) is not None]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_nan_stays_with_the_unknowns_that_depend_on_it(lower: bool, unit: bool) -> None:
    a = np.arange(1.0, 17.0, dtype="f4").reshape(4, 4)
    b = np.ones((4, 2), "f4")
    b[2, 0], b[1, 1] = np.nan, np.inf
    found = [
        np.asarray(j.scipy.linalg.solve_triangular(j.numpy.asarray(a), b, lower=lower, unit_diagonal=unit))
        for j in (jax, lazynp.jax)
    ]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)
    assert not np.isnan(found[1][0 if lower else 3]).all()


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "int8", "int32", "float32"])
@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne", "add", "mul", "floordiv"])
def test_python_ints_beyond_a_dtype(name: str, dtype: str) -> None:
    """JAX converts them to the dtype: they wrap, or are an OverflowError. NumPy compares with what they are."""
    f = getattr(operator, name)
    for scalar in (-1, 127, 128, 300, 2**31, 2**40, -(2**40)):
        for call in (lambda x, k: f(x, k), lambda x, k: f(k, x)):
            wanted, got = (
                outcome(lambda j=j, call=call, k=scalar: call(j.numpy.array([0, 1, 5], dtype), k))
                for j in (jax, lazynp.jax)
            )
            assert disagreement(f"operator.{name}", wanted, got) is None, (scalar, disagreement(name, wanted, got))


REFUSED: dict[str, Call] = {
    "zeros": lambda j: j.numpy.zeros(-1),
    "empty": lambda j: j.numpy.empty((2, -1)),
    "full": lambda j: j.numpy.full((-1,), 2.0),
    "zeros_like": lambda j: j.numpy.zeros_like(j.numpy.ones(2), shape=(-1,)),
    "lax.full": lambda j: j.lax.full((-1,), 2.0),
    "fill_diagonal": lambda j: j.numpy.fill_diagonal(j.numpy.ones((2, 2)), 0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_sizes_below_zero_and_writes_in_place(name: str) -> None:
    for j in (jax, lazynp.jax):
        with pytest.raises(NotImplementedError if name == "fill_diagonal" else TypeError):
            REFUSED[name](j)


def test_a_path_of_einsum_is_a_list_of_places() -> None:
    def found(j: Any) -> Any:
        a, b, c = (j.numpy.ones(n, dtype=np.float32) for n in ((2, 3), (3, 2), (2, 4)))
        path = j.numpy.einsum_path("ij,jk,kl->il", a, b, c)[0]
        return path, np.asarray(j.numpy.einsum("ij,jk,kl->il", a, b, c, optimize=path)).tolist()

    assert found(lazynp.jax) == found(jax)
