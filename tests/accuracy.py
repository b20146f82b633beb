"""How accurate sums, and what is made of them, are in each tier: `python -m tests.accuracy --help`.

Each case is computed by NumPy, by us in each tier, and exactly: in extended precision, where a sum of float64 has 11
digits more than they have (`test_sums.py` compares that with `math.fsum`). A fourth value is what the formula gives
where each of its sums is exact and rounded once, and all else is done in the dtype: a formula's result cannot be asked
to be better. Errors are relative to the same formula of absolute values for sums, which may cancel, and to the value
for what does not. Of the errors of all elements of the results, for all seeds, median and maximum count: ours may not
be larger than NumPy's (JAX's, behind its door), or than those of the exact sums where NumPy happens to be better than
they are.

Of a few seeds the larger maximum is often chance: of two computations that are equally good one always has it. So what
is worse with those is computed again with `MORE` seeds, and is worse if one of two holds. On average an element's error
is larger than theirs, by more than twice the standard error of that difference: of 1,600 elements a loss of a tenth is
several of them. Or the largest error is more than `FAR` times theirs, however rare it is. Cases that were chance are
counted in what is printed: half of all cases in which nothing is lost may be, so a share that grows is a loss, too.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy

import lazynp

LONG = {"f": numpy.longdouble, "c": numpy.clongdouble}
SLACK = 2.0**-8  # units in the last place: what extended precision itself may be off by, many times over
DTYPES = ("float16", "float32", "float64", "complex64", "complex128", "int32")
Total = Callable[..., Any]


class Function(NamedTuple):
    """A function of arrays.

    Attributes:
        call: `(np, x, y, axis)`, as a user writes it.
        formula: `(total, x, y, axis)`, the same by NumPy, with its sums by `total(values, axis)`.
        scale: what errors are relative to, as a formula; None: the value.
        dtypes: kinds of dtypes that it is tried with.
    """

    call: Callable[..., Any]
    formula: Callable[..., Any]
    scale: Callable[..., Any] | None = None
    kinds: str = "fci"


def size_of(x: Any, axis: Any) -> int:
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return math.prod(x.shape[a] for a in axes)


def real(x: Any) -> Any:
    return numpy.zeros((), x.dtype).real.dtype


def mean(total: Total, x: Any, axis: Any) -> Any:
    return total(x, axis, keepdims=True) / real(x).type(size_of(x, axis))


def var(total: Total, x: Any, y: Any, axis: Any) -> Any:
    d = x - mean(total, x, axis)
    squares = d.real**2 + d.imag**2 if d.dtype.kind == "c" else d * d
    return total(squares, axis) / squares.dtype.type(size_of(x, axis))


def squared(x: Any) -> Any:
    return x.real**2 + x.imag**2 if x.dtype.kind == "c" else x * x


def absolute(total: Total, x: Any, y: Any, axis: Any) -> Any:
    return total(abs(x), axis)


def products(total: Total, x: Any, y: Any, axis: Any) -> Any:
    return total(abs(x * y), axis)


def trapezoid(total: Total, x: Any, y: Any, axis: Any) -> Any:
    x = numpy.moveaxis(x, axis, -1)
    return total(x.dtype.type(0.5) * (x[..., 1:] + x[..., :-1]) / x.dtype.type(2), -1)


def cumulated(x: Any, axis: Any) -> Any:
    return x.astype(LONG["c" if x.dtype.kind == "c" else "f"]).cumsum(axis).astype(x.dtype)


def product(x: Any, axis: Any) -> Any:
    return x.astype(LONG["c" if x.dtype.kind == "c" else "f"]).prod(axis).astype(x.dtype)


def covariance(total: Total, x: Any, y: Any, axis: Any) -> Any:
    d = x - mean(total, x, -1)
    return total(d[:, None] * d.conj(), -1) / real(x).type(x.shape[-1] - 1)


def spread(total: Total, x: Any, y: Any, axis: Any) -> Any:
    d = abs(x - mean(total, x, -1))
    return total(d[:, None] * d, -1) / real(x).type(x.shape[-1] - 1)


FUNCTIONS = {
    "sum": Function(lambda np, x, y, a: np.sum(x, axis=a), lambda t, x, y, a: t(x, a), absolute),
    "fused": Function(lambda np, x, y, a: ((x + y) * y).sum(axis=a), lambda t, x, y, a: t((x + y) * y, a), products),
    "mean": Function(
        lambda np, x, y, a: x.mean(axis=a),
        lambda t, x, y, a: t(x, a) / real(x).type(size_of(x, a)),
        lambda t, x, y, a: t(abs(x), a) / size_of(x, a),
    ),
    "var": Function(lambda np, x, y, a: np.var(x, axis=a), var),
    "std": Function(lambda np, x, y, a: np.std(x, axis=a), lambda *given: numpy.sqrt(var(*given))),
    "nansum": Function(lambda np, x, y, a: np.nansum(x, axis=a), lambda t, x, y, a: t(x, a), absolute, "fc"),
    "nanmean": Function(
        lambda np, x, y, a: np.nanmean(x, axis=a),
        lambda t, x, y, a: t(x, a) / real(x).type(size_of(x, a)),
        lambda t, x, y, a: t(abs(x), a) / size_of(x, a),
        "f",
    ),
    "average": Function(
        lambda np, x, y, a: np.average(x, axis=a, weights=abs(y)),
        lambda t, x, y, a: t(x * abs(y), a) / t(abs(y), a),
        lambda t, x, y, a: t(abs(x * y), a) / t(abs(y), a),
        "f",
    ),
    "norm": Function(
        lambda np, x, y, a: np.linalg.norm(x, axis=a), lambda t, x, y, a: numpy.sqrt(t(squared(x), a)), None, "fc"
    ),
    "norm1": Function(
        lambda np, x, y, a: np.linalg.norm(x, 1, a) if isinstance(a, int) else np.sum(abs(x), axis=a),
        lambda t, x, y, a: t(abs(x), a),
        None,
        "fc",
    ),
    "norm3": Function(
        lambda np, x, y, a: np.linalg.vector_norm(x, ord=3, axis=a),
        lambda t, x, y, a: t(abs(x) ** 3, a) ** (x.dtype.type(1) / x.dtype.type(3)),
        None,
        "f",
    ),
    "frobenius": Function(
        lambda np, x, y, a: np.linalg.matrix_norm(np.moveaxis(x, a, (-2, -1))),
        lambda t, x, y, a: numpy.sqrt(t(squared(x), a)),
        None,
        "fc",
    ),
    "matrix norm1": Function(
        lambda np, x, y, a: np.linalg.norm(x, 1, axis=a),
        lambda t, x, y, a: t(abs(x), a[0], keepdims=True).max(axis=a),
        None,
        "fc",
    ),
    "cumsum": Function(
        lambda np, x, y, a: np.cumsum(x, axis=a),
        lambda t, x, y, a: cumulated(x, a),
        lambda t, x, y, a: cumulated(abs(x), a),
    ),
    "prod": Function(lambda np, x, y, a: np.prod(x, axis=a), lambda t, x, y, a: product(x, a), None, "fc"),
    "cov": Function(lambda np, x, y, a: np.cov(x), covariance, spread, "fc"),
    "dot": Function(
        lambda np, x, y, a: np.dot(x, y) if x.ndim == 1 else np.einsum("ij,ij->i" if a == 1 else "ij,ij->j", x, y),
        lambda t, x, y, a: t(x * y, a),
        products,
    ),
    "vdot": Function(lambda np, x, y, a: np.vdot(x, y), lambda t, x, y, a: t(x.conj() * y, None), products, "fc"),
    "inner": Function(lambda np, x, y, a: np.inner(x, y), lambda t, x, y, a: t(x * y, None), products, "fc"),
    "tensordot": Function(
        lambda np, x, y, a: np.tensordot(x, y, x.ndim), lambda t, x, y, a: t(x * y, None), products, "fc"
    ),
    "trapezoid": Function(
        lambda np, x, y, a: np.trapezoid(x, dx=0.5, axis=a),
        trapezoid,
        lambda t, x, y, a: trapezoid(t, abs(x), y, a),
        "f",
    ),
}
FLAT = frozenset({"vdot", "inner", "tensordot"})  # of vectors
JITTED = ("sum", "fused", "mean", "var", "std")
LINES = ("vector", "strided", "reversed")


class Layout(NamedTuple):
    """How an operand of about n elements lies in memory: `view(memory, n)`, and the axes that are reduced."""

    view: Callable[[Any, int], Any]
    axis: Any
    length: int = 1  # elements of memory for each


def several(n: int) -> int:
    """So many rows of n elements."""
    return max(2, min(40, 200_000 // n))


LAYOUTS = {
    "vector": Layout(lambda m, n: m[:n], None),
    "strided": Layout(lambda m, n: m[: 3 * n : 3], None),
    "reversed": Layout(lambda m, n: m[:n][::-1], 0),
    "rows": Layout(lambda m, n: m[: several(n) * n].reshape(-1, n), 1),
    "columns": Layout(lambda m, n: m[: several(n) * n].reshape(n, -1), 0),
    "transposed": Layout(lambda m, n: m[: several(n) * n].reshape(-1, n).T, 0),
    "every other": Layout(lambda m, n: m[: several(n) * 2 * n].reshape(-1, 2 * n)[:, ::2], 1),
    "middle": Layout(lambda m, n: m[: 3 * n * 5].reshape(3, n, 5), 1),
    "outer two": Layout(lambda m, n: m[: 3 * n * 5].reshape(3, 5, n), (0, 2)),
    "last two": Layout(lambda m, n: m[: 3 * n * 4].reshape(3, 4, n), (1, 2)),
    "swapped": Layout(lambda m, n: m[: 3 * n * 5].reshape(5, n, 3).transpose(2, 1, 0), (1, 2)),
}


def data(kind: str, dtype: str, size: int, seed: int) -> numpy.ndarray:
    rng = numpy.random.default_rng(seed)

    def some() -> numpy.ndarray:
        if kind == "normal":
            return rng.standard_normal(size)
        if kind == "offset":
            return rng.standard_normal(size) + 1000
        if kind == "alternating":
            x = rng.random(size) + 1
            x[1::2] *= -1
            return x
        x = rng.random(size) + 0.5
        if kind == "one huge":
            x[rng.integers(size)] = 1e4 if dtype == "float16" else 1e7
        return x

    if dtype[0] == "i":
        return rng.integers(-1000, 100_000, size).astype(dtype)
    return (some() + 1j * some()).astype(dtype) if dtype[0] == "c" else some().astype(dtype)


KINDS = ("uniform", "normal", "offset", "alternating", "one huge")
SIZES = (*range(1, 41), *range(127, 131), 1000, 3000, 100_000)


class Case(NamedTuple):
    function: str
    dtype: str
    layout: str
    size: int
    kind: str

    def operands(self, seed: int, made: Callable[[Any], Any] = lambda x: x) -> tuple[Any, Any]:
        """Views of arrays that `made` makes of NumPy's."""
        layout, n = LAYOUTS[self.layout], self.size
        length = n * (3 if self.layout in LINES else max(2 * several(n), 15))
        x, y = (layout.view(made(data(self.kind, self.dtype, length, 2 * seed + k)), n) for k in range(2))
        return x, y

    @property
    def axis(self) -> Any:
        return LAYOUTS[self.layout].axis


def long_total(x: Any, axis: Any, keepdims: bool = False) -> Any:
    return x.astype(LONG[x.dtype.kind]).sum(axis=axis, keepdims=keepdims)


def rounded_total(x: Any, axis: Any, keepdims: bool = False) -> Any:
    return long_total(x, axis, keepdims).astype(x.dtype)


class Truth(NamedTuple):
    """Of one case and seed: the value, what errors are relative to, and the errors of NumPy and of exact sums."""

    value: Any
    scale: Any
    numpys: numpy.ndarray
    ideal: numpy.ndarray

    def errors(self, value: Any) -> numpy.ndarray:
        return numpy.atleast_1d(abs(value - self.value) / self.scale).astype(float).ravel()


def truth(case: Case, x: Any, y: Any) -> Truth:
    function, axis = FUNCTIONS[case.function], case.axis
    wide = LONG["c" if x.dtype.kind == "c" else "f"]
    with numpy.errstate(all="ignore"):
        numpys = function.call(numpy, x, y, axis)
        value = function.formula(long_total, x.astype(wide), y.astype(wide), axis)
        scale = abs(value)
        if function.scale is not None:
            scale = abs(function.scale(long_total, x.astype(wide), y.astype(wide), axis))
        scale = numpy.where(scale == 0, 1, scale)
        # integers as NumPy takes them: in float64; and its sums of half precision in single
        lifted = "float64" if x.dtype.kind == "i" else "float32" if x.dtype == numpy.float16 else x.dtype
        near = function.formula(rounded_total, x.astype(lifted), y.astype(lifted), axis).astype(numpys.dtype)
    out = Truth(value, scale, numpy.zeros(0), numpy.zeros(0))
    return out._replace(numpys=out.errors(numpys), ideal=out.errors(near))


class Tier(NamedTuple):
    """Settings, and how a function is called: `around(f)` is called instead of f."""

    settings: dict[str, Any]
    compiled: bool = False
    around: Callable[[Any], Any] = lambda f: f
    every_size: bool = True


def in_loop(f: Any) -> Any:
    """In a loop that is machine code: the second of two steps."""

    def call(np: Any, x: Any, y: Any, axis: Any) -> Any:
        lax = lazynp.jax.lax

        def step(i: Any, out: Any) -> Any:
            return f(np, x, y, axis) + 0 * out

        return lax.fori_loop(0, 2, step, f(np, x, y, axis) * 0)

    return call


INTERPRETED = {"mode": "graph", "compile": False}  # which takes no kernels from the disk either
COMPILED = {"mode": "graph", "compile_after": 0.0}
TIERS = {
    "at once": Tier({}),
    "interpreted": Tier({**INTERPRETED, "threads": 1}),
    "interpreted, 3 threads": Tier({**INTERPRETED, "threads": 3}),
    "jit": Tier({**INTERPRETED}, around=lambda f: lambda np, x, y, a: lazynp.jit(lambda x, y: f(np, x, y, a))(x, y)),
    "compiled": Tier({**COMPILED, "threads": 1}, compiled=True),
    "compiled, 3 threads": Tier({**COMPILED, "threads": 3}, compiled=True),
    "JAX door": Tier({}),
    "JAX door, compiled": Tier(COMPILED, compiled=True),
    "loop": Tier({}, around=in_loop),
}


MORE, FAR = 40, 1.5


class Found(NamedTuple):
    """Errors of one case: ours, and those that are allowed, each as (median, maximum).

    Attributes:
        loss: of more seeds, by how many standard errors ours are larger on average; None: they were not asked.
    """

    ours: tuple[float, float]
    numpys: tuple[float, float]
    ideal: tuple[float, float]
    eps: float
    loss: float | None = None

    def worse(self) -> bool:
        """Whether ours are larger, and more seeds, if they were asked, do not say that it was chance."""
        if self.loss is None:
            return self.larger()
        slack = SLACK * self.eps
        return self.loss > 2 or self.ours[1] > FAR * max(self.numpys[1], self.ideal[1]) + slack

    def larger(self) -> bool:
        slack = SLACK * self.eps
        return any(o > max(n, i) + slack for o, n, i in zip(self.ours, self.numpys, self.ideal))

    def better(self) -> bool:
        """Whether NumPy's errors are larger than ours, and than those of exact sums, as `worse` says of ours."""
        return self._replace(ours=self.numpys, numpys=self.ours).larger()

    def ratio(self) -> float:
        """Of our largest error to the larger of NumPy's and that of exact sums."""
        slack = SLACK * self.eps
        return max((o + slack) / (max(n, i) + slack) for o, n, i in zip(self.ours, self.numpys, self.ideal))


def middle_and_most(errors: Sequence[numpy.ndarray]) -> tuple[float, float]:
    every = numpy.concatenate(errors)
    return float(numpy.median(every)), float(every.max())


def loss_of(ours: numpy.ndarray, theirs: Sequence[numpy.ndarray], eps: float) -> float:
    """By how many standard errors the mean of our errors is above those that are allowed."""
    differences = ours - max(theirs, key=lambda e: float(e.mean()))
    spread = float(differences.std()) / math.sqrt(max(differences.size - 1, 1))
    return (float(differences.mean()) - SLACK * eps) / spread if spread else 0.0


def measure(cases: Sequence[Case], tier: str, seeds: int, more: int = 0) -> Iterator[tuple[Case, Found]]:
    """The errors of each case in one tier; with `more` seeds where ours are larger."""
    how = TIERS[tier]
    jax = tier.startswith("JAX") or tier == "loop"
    np = lazynp.jax.numpy if jax else lazynp

    def ours(case: Case, seed: int) -> Any:
        call = how.around(FUNCTIONS[case.function].call)
        with numpy.errstate(all="ignore"):
            return numpy.asarray(call(np, *case.operands(seed, np.array), case.axis))

    def found(case: Case, seeds: int, decide: bool) -> Found:
        errors: tuple[list[numpy.ndarray], ...] = ([], [], [])
        dtype = numpy.dtype("float64")
        for seed in range(seeds):
            exact = truth(case, *case.operands(seed))
            if jax:
                oracle = importlib.import_module("jax.numpy")  # heavy, and not for the other tiers
                call = FUNCTIONS[case.function].call
                theirs = numpy.asarray(call(oracle, *case.operands(seed, oracle.asarray), case.axis))
                exact = exact._replace(numpys=exact.errors(theirs))
            value = ours(case, seed)
            dtype = value.dtype
            for kept, new in zip(errors, (exact.errors(value), exact.numpys, exact.ideal)):
                kept.append(new)
        eps = float(numpy.finfo(dtype).eps) if dtype.kind in "fc" else 1.0
        mine, *allowed = [numpy.concatenate(e) for e in errors]
        return Found(*[middle_and_most(e) for e in errors], eps, loss_of(mine, allowed, eps) if decide else None)

    with lazynp.config(**how.settings):
        if how.compiled:
            for case in cases:
                ours(case, 0)
            if not lazynp.compile_wait(1800):
                raise TimeoutError("the compiler is not ready")
        for case in cases:
            first = found(case, seeds, False)
            yield case, found(case, more, True) if more > seeds and first.larger() else first


def fits(case: Case, tier: str) -> bool:
    """Whether the case is one: a function of vectors, a dtype that it has, a size that the tier is for."""
    function = FUNCTIONS[case.function]
    kind = "i" if case.dtype[0] == "i" else case.dtype[0]
    if kind not in function.kinds or case.dtype == "int32" and case.kind != "uniform":
        return False
    if case.function in FLAT and case.layout not in LINES:
        return False
    if case.function == "dot" and case.layout not in (*LINES, "rows", "columns"):
        return False
    if case.function in ("frobenius", "matrix norm1") and not isinstance(case.axis, tuple):
        return False
    if case.function == "cumsum" and isinstance(case.axis, tuple):
        return False
    if case.function == "prod" and (
        case.kind != "uniform" or case.size > 500
    ):  # which neither overflows nor underflows
        return False
    if case.function == "cov" and (case.layout != "rows" or case.size < 2):
        return False
    if case.function == "trapezoid" and (not isinstance(case.axis, int) or case.size < 2):
        return False
    if case.dtype == "float16" and (TIERS[tier].compiled or case.size > 3000):
        return False
    if case.function in ("var", "std") and case.size < 2:
        return False
    if tier == "jit" and (kind == "c" and case.function in ("var", "std") or case.function not in JITTED):
        return False  # parts of the others are NumPy's alone
    if tier == "jit" and case.layout in ("transposed", "swapped"):
        return False  # its arguments come in C's order, and NumPy adds up otherwise there
    if tier in ("JAX door", "JAX door, compiled", "loop"):
        if case.dtype not in ("float32", "complex64") or case.function in ("average", "nanmean", "cov"):
            return False
        if tier == "loop" and case.layout not in ("vector", "rows", "columns", "middle", "last two"):
            return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiers", nargs="*", default=list(TIERS))
    parser.add_argument("--functions", nargs="*", default=list(FUNCTIONS))
    parser.add_argument("--dtypes", nargs="*", default=list(DTYPES))
    parser.add_argument("--layouts", nargs="*", default=list(LAYOUTS))
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--sizes", nargs="*", type=int, default=list(SIZES))
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    failed = 0
    for tier in given.tiers:
        began, count, better, chance = time.perf_counter(), 0, 0, 0
        worst: dict[str, tuple[float, Case | None]] = collections.defaultdict(lambda: (0.0, None))
        cases = [
            case
            for case in map(
                Case._make,
                (
                    (f, d, l, n, k)
                    for f in given.functions
                    for d in given.dtypes
                    for l in given.layouts
                    for n in given.sizes
                    for k in given.kinds
                ),
            )
            if fits(case, tier)
        ]
        for case, found in measure(cases, tier, given.seeds, MORE):
            count += 1
            better += found.better()
            chance += found.loss is not None and not found.worse()
            if found.worse():
                failed += 1
                print(f"{tier}: {tuple(case)}: {found}")
            worst[case.function] = max(worst[case.function], (found.ratio(), case), key=lambda pair: pair[0])
        seconds = time.perf_counter() - began
        print(
            f"{tier}: {count} cases, {seconds:.0f} s, NumPy's worse in {better}, chance in {chance}; worst ratios:",
            flush=True,
        )
        for name, (ratio, case) in worst.items():
            print(f"    {name:10s} {ratio:6.3f}  {'' if case is None else tuple(case)[1:]}", flush=True)
    print(f"{failed} are worse than NumPy's; C modules: {os.environ.get('LAZYNP_SPEED', '1')}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
