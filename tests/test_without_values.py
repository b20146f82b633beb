"""NumPy's functions whose text or C code looks at values, on arrays that have none: `jit` and `vmap` of them against
NumPy's own results, `grad` under `jit` against `grad`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazynp
from lazynp.graph.errors import NotConcreteError
from lazynp.tree import leaves

rng = np.random.default_rng(0)
A, B, L = rng.standard_normal(4), rng.standard_normal(4), rng.standard_normal(7)
M = rng.standard_normal((3, 3))
S = M @ M.T + 3 * np.eye(3)
P, W, X = abs(A) + 0.5, abs(M[0]) + 0.1, np.linspace(0, 5, 7) ** 1.5
I, K, R = np.array([3, 1, 2, 0]), np.array([1, 2, 3]), A > 0
ONE, NINE, TWO = np.float64(1.5), np.float64(9.25), np.int64(2)
METHODS = ("inverted_cdf", "closest_observation", "hazen", "linear", "median_unbiased", "higher", "midpoint", "nearest")


def put(xp: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    x = x.copy()
    xp.put(x, *args, **kwargs)
    return x


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "polymul": (lambda xp, a, b: xp.polymul(a, b), (A, B)),
    "poly1d": (lambda xp, a, b: ((xp.poly1d(a) * xp.poly1d(b)).deriv() ** 2).c, (A, B)),
    "poly1d divided": (lambda xp, a, b: [x.c for x in xp.poly1d(a) / xp.poly1d(b[:2])], (A, B)),
    "polydiv": (lambda xp, a, b: xp.polydiv(a, b[:2]) + xp.polydiv(a, b[0]) + xp.polydiv(a[:2], b), (A, B)),
    "roots": (lambda xp, a: xp.sort_complex(xp.roots(a) + 0j), (A,)),
    "poly": (lambda xp, a, s: (xp.poly(a), xp.poly(s)), (A, S)),
    "polyfit": (lambda xp, x, y: xp.polyfit(x, y, 2, cov=True) + xp.polyfit(x, y, 1, cov="unscaled"), (X, L)),
    "polyfit full": (lambda xp, x, y: xp.polyfit(x, y, 1, full=True), (X, L)),
    "Polynomial": (lambda xp, a, b: [x.coef for x in divmod(*map(xp.polynomial.Polynomial, (a, b[:2])))], (A, B)),
    "chebdiv": (lambda xp, a, b: xp.polynomial.chebyshev.chebdiv(a, b[:2]), (A, B)),
    "legdiv": (lambda xp, a, b: xp.polynomial.legendre.legdiv(a, b[:2]), (A, B)),
    "poly2herm": (lambda xp, a: xp.polynomial.hermite.poly2herm(a), (A,)),
    "lagroots": (lambda xp, a: xp.sort_complex(xp.polynomial.laguerre.lagroots(a) + 0j), (A,)),
    "geomspace": (lambda xp, a, b: (xp.geomspace(a, b, 5), xp.geomspace(-b, -a, 4, endpoint=False)), (P, P + 2)),
    "linspace": (lambda xp, a, b: (*xp.linspace(a, b, 5, retstep=True), xp.linspace(a, b, 3, dtype=int)), (A, NINE)),
    "linear ramp": (lambda xp, a, e: xp.pad(a, ((1, 2),), "linear_ramp", end_values=e), (A, ONE)),
    "allclose": (lambda xp, a, b: xp.where(xp.allclose(a, b), a, -b), (A, A + 1e-9)),
    "isclose": (lambda xp, a, b, t: xp.isclose(a, b, rtol=t, equal_nan=True), (A, B, ONE)),
    "array_equal": (lambda xp, a, b: (xp.array_equal(a, b), xp.array_equal(a, b, equal_nan=True)), (A, A)),
    "array_equiv": (lambda xp, a, b: (xp.array_equiv(a, b), xp.array_equiv(a, b[0])), (A, A)),
    "isin": (lambda xp, a, b: (xp.isin(a, b), xp.isin(a, [1, 7], invert=True)), (I, I[:2])),
    "gradient": (lambda xp, a, x: xp.gradient(a, x, edge_order=2), (L, X)),
    "cov": (lambda xp, m, f, w: xp.cov(m, fweights=f, aweights=w, ddof=0), (M, K, W)),
    "cov weighted": (lambda xp, m, w: xp.cov(m, rowvar=False, aweights=w), (M, W)),
    "std": (lambda xp, a, m: xp.std(a, where=m, ddof=1), (A, R)),
    **{f"quantile {m}": (lambda xp, a, q, m=m: xp.quantile(a, q, method=m), (L, X / 20)) for m in METHODS},
    "quantile weighted": (
        lambda xp, m, w, q: xp.quantile(m, q, weights=w, axis=0, method="inverted_cdf"),
        (M, W, np.array([0, 0.6, 1])),
    ),
    "percentile": (lambda xp, m, q: xp.percentile(m, q, axis=1, method="inverted_cdf"), (M, NINE)),
    "nanquantile": (lambda xp, a, q: (xp.nanpercentile(a, q), xp.nanquantile(a, 0.4, method="hazen")), (L, NINE)),
    "nanargmax": (lambda xp, m: (xp.nanargmax(m, axis=0, keepdims=True), xp.nanargmin(m)), (M,)),
    "histogram": (lambda xp, a: (*xp.histogram(a, 4), *xp.histogram(a, 3, (-3, 3), density=True)), (L,)),
    "histogram of weights": (lambda xp, a, w, e: xp.histogram(a, e, weights=w), (L, X, X - 1)),
    "histogram2d": (lambda xp, a, b, w: xp.histogram2d(a, b, [2, 3], weights=w), (A, B, P)),
    "digitize": (lambda xp, a, e: (xp.digitize(a, e), xp.digitize(a, e[::-1], right=True)), (L, X)),
    "bincount": (lambda xp, i, w: (xp.bincount(i, w, 4), xp.bincount(i, minlength=4)), (I, A)),
    "ravel_multi_index": (lambda xp, i: xp.ravel_multi_index((i, i - 1), (2, 3), ("clip", "wrap"), "F"), (I,)),
    "put": (lambda xp, a, i, v: put(xp, a, i * 3, v[:2], mode="wrap"), (A, I, B)),
    "roll": (lambda xp, m, k: (xp.roll(m, k), xp.roll(m, (k, 1), axis=(1, 0))), (M, TWO)),
    "roll by a place": (lambda xp, a: xp.roll(a, xp.argmax(a)), (A,)),
    "kaiser": (lambda xp, b: xp.kaiser(5, b), (ONE,)),
    "eigvals": (lambda xp, s: xp.sort(xp.real(xp.linalg.eigvals(s))), (S,)),
    "mask without axes": (lambda xp, a, v: cleared(xp, a, v > 1), (A, ONE)),
}


def cleared(xp: Any, x: Any, mask: Any) -> Any:
    x = x.copy()
    x[xp.asarray(mask)] = 0.0
    return x


def values(x: Any) -> list[np.ndarray]:
    return [np.asarray(v) for v in leaves(x)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_jit_and_vmap(name: str) -> None:
    f, arrays = CASES[name]
    wanted = values(f(np, *arrays))
    got = values(lazynp.jit(lambda *xs: f(lazynp, *xs))(*arrays))
    stacks = [np.stack([x, x if x.dtype.kind in "iub" else x * 0.8]) for x in arrays]
    rows = [values(f(np, *[s[i] for s in stacks])) for i in range(2)]
    batched = values(lazynp.vmap(lambda *xs: f(lazynp, *xs))(*stacks))
    for found, right in ((got, wanted), (batched, [np.stack(r) for r in zip(*rows)])):
        assert [(x.shape, x.dtype) for x in found] == [(x.shape, x.dtype) for x in right]
        for x, y in zip(found, right):
            np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [n for n in CASES if n not in ("roots", "lagroots", "poly", "eigvals", "polyfit full")]
)
def test_gradients(name: str) -> None:
    f, arrays = CASES[name]
    places = tuple([i for i, x in enumerate(arrays) if x.dtype.kind == "f"])
    if not places:
        return

    def loss(*xs: Any) -> Any:
        parts = [v for v in leaves(f(lazynp, *xs)) if getattr(v, "dtype", None) is not None and v.dtype.kind == "f"]
        return sum(
            [(v * lazynp.cos(lazynp.arange(v.size).reshape(v.shape))).sum() for v in parts], 0.0 * xs[places[0]].sum()
        )

    slopes = lazynp.grad(loss, argnums=places)
    for x, y in zip(values(lazynp.jit(slopes)(*arrays)), values(slopes(*arrays))):
        np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: lazynp.unique(a),
        lambda a: lazynp.nonzero(a),
        lambda a: lazynp.trim_zeros(a),
        lambda a: lazynp.histogram(a, "sqrt"),
        lambda a: lazynp.bincount(a.astype(int)),
        lambda a: lazynp.polynomial.Polynomial(a).trim().coef,
        lambda a: lazynp.emath.sqrt(a),
        lambda a: lazynp.linspace(0, 1, a[0]),
        lambda a: [x for x, _ in lazynp.broadcast(a, 1)],
    ],
)
def test_what_only_values_decide(f: Callable[..., Any]) -> None:
    for g, x in ((lazynp.jit(f), A), (lazynp.vmap(f), np.stack([A, B]))):
        with pytest.raises(NotConcreteError):
            g(x)


def test_masks_are_truth_values() -> None:
    with pytest.raises(TypeError, match="according to the rule 'safe'"):
        lazynp.jit(lambda a, m: lazynp.sum(a, where=m))(A, I)


def test_numbers_that_are_not_counted() -> None:
    """Without a value, `minlength` says how long the result is."""
    got = lazynp.jit(lambda i: lazynp.bincount(i, minlength=3))(np.array([0, 2, 2, 7, -1]))
    np.testing.assert_array_equal(np.asarray(got), [1, 0, 2])
