"""Derivatives agree with JAX's, in float64: reverse mode, forward mode, and reverse over reverse, of the functions of
`jax.numpy`, `lax`, `nn` and `scipy.special`. (tests/test_rules.py has the numerical checks of every op.)

JAX compiles the functions of a group together, since compiling is what takes its time.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
REAL = np.array([0.3, -0.7, 1.1, 2.6, -1.9])
POSITIVE = np.array([0.4, 0.9, 1.7, 3.2, 5.6])
UNIT = np.array([0.1, 0.37, 0.62, 0.88])
ABOVE = np.array([1.2, 2.3, 3.1])
TABLE = np.array([[0.3, -0.7, 1.1, 2.6], [-1.9, 0.9, 0.45, -0.2], [1.7, -1.3, 0.6, 3.1]])
SQUARE = np.array([[2.1, 0.4, -0.3], [0.2, 1.7, 0.5], [-0.6, 0.1, 2.6]])
SYMMETRIC = SQUARE @ SQUARE.T
ROW = np.array([0.8, -0.4, 1.3, 0.7])

Draw = tuple[Callable[..., Any], tuple[np.ndarray, ...]]
GROUPS: dict[str, dict[str, Draw]] = {}


def named(path: str) -> Callable[..., Any]:
    """`numpy.sin` of the library that is the first argument."""
    module, _, name = path.rpartition(".")

    def call(lib: Any, *args: Any) -> Any:
        return getattr(importlib.import_module(f"{lib.__name__}.{module}"), name)(*args)

    return call


def add(group: str, module: str, args: tuple[np.ndarray, ...] | np.ndarray, *names: str) -> None:
    args = args if isinstance(args, tuple) else (args,)
    GROUPS.setdefault(group, {}).update({f"{module}.{n}": (named(f"{module}.{n}"), args) for n in names})


def formulas(group: str, args: tuple[np.ndarray, ...] | np.ndarray, **functions: Callable[..., Any]) -> None:
    """Functions of the library's `numpy` and the arguments."""
    args = args if isinstance(args, tuple) else (args,)
    GROUPS.setdefault(group, {}).update(
        {n: ((lambda lib, *xs, f=f: f(lib.numpy, *xs)), args) for n, f in functions.items()}
    )


ANYWHERE = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "square", "abs", "cbrt")
add("numpy of one", "numpy", REAL, *ANYWHERE, "arctan", "arcsinh", "exp2", "negative", "positive", "sinc", "reciprocal")
add("numpy of one", "numpy", REAL, "deg2rad", "rad2deg", "nan_to_num", "i0", "real", "fabs", "absolute", "angle")
add("numpy of one", "numpy", POSITIVE, "log", "log2", "log10", "log1p", "sqrt")
add("numpy of one", "numpy", UNIT, "arcsin", "arccos", "arctanh")
add("numpy of one", "numpy", ABOVE, "arccosh")
PAIR = (POSITIVE, POSITIVE[::-1] + 0.05)
add("numpy of two", "numpy", PAIR, "add", "subtract", "multiply", "divide", "power", "arctan2", "hypot", "maximum")
add("numpy of two", "numpy", PAIR, "minimum", "logaddexp", "logaddexp2", "float_power", "fmod", "remainder", "fmax")
add("numpy of two", "numpy", PAIR, "fmin", "copysign", "dot", "inner", "outer", "vdot", "convolve", "correlate", "kron")
add(
    "reductions",
    "numpy",
    TABLE,
    "sum",
    "mean",
    "prod",
    "max",
    "min",
    "std",
    "var",
    "ptp",
    "nansum",
    "nanmean",
    "nanmax",
)
add("reductions", "numpy", TABLE, "nanprod", "nanstd", "nanvar", "median", "cumsum", "cumprod", "average", "cov")
add("reductions", "numpy", TABLE, "trace", "nanmin", "nancumsum", "nanmedian", "ptp", "diff", "ediff1d", "corrcoef")
formulas(
    "along axes",
    TABLE,
    sum=lambda np, x: np.sum(x, axis=0),
    prod=lambda np, x: np.prod(x, axis=1),
    max=lambda np, x: np.max(x, axis=1, keepdims=True),
    cumprod=lambda np, x: np.cumprod(x, axis=0),
    std=lambda np, x: np.std(x, axis=1, ddof=1),
    where=lambda np, x: np.mean(x, axis=0, where=np.asarray(TABLE) > -1.5),
    sort=lambda np, x: np.sort(x, axis=1),
    quantile=lambda np, x: np.quantile(x, 0.3, axis=1),
    percentile=lambda np, x: np.percentile(x, 60.0),
    gradient=lambda np, x: np.gradient(x, axis=1),
    trapezoid=lambda np, x: np.trapezoid(x, axis=0),
    norm=lambda np, x: np.linalg.norm(x, axis=1),
    norm_inf=lambda np, x: np.linalg.norm(x, ord=np.inf, axis=0),
)
add("shapes", "numpy", TABLE, "ravel", "transpose", "flip", "fliplr", "flipud", "rot90", "tril", "triu", "diagonal")
add("shapes", "numpy", TABLE, "atleast_3d", "squeeze", "copy", "sort", "fft.ifftshift", "fft.fftshift")
formulas(
    "shapes",
    TABLE,
    roll=lambda np, x: np.roll(x, 2, axis=1),
    tile=lambda np, x: np.tile(x, (2, 1)),
    repeat=lambda np, x: np.repeat(x, 2, axis=0),
    pad=lambda np, x: np.pad(x, 1, mode="reflect"),
    pad_mean=lambda np, x: np.pad(x, ((1, 0), (0, 2)), mode="constant", constant_values=1.0),
    take=lambda np, x: np.take(x, np.asarray([2, 0, 2]), axis=0),
    along=lambda np, x: np.take_along_axis(x, np.asarray([[1, 1], [0, 3], [2, 0]]), axis=1),
    index=lambda np, x: x[np.asarray([0, 2, 0]), np.asarray([1, 1, 3])],
    slice=lambda np, x: x[::-1, 1:4:2],
    set=lambda np, x: x.at[1].set(x[0] ** 2).at[:, 0].multiply(3.0).at[2, 1].add(x[0, 0]),
    scatter=lambda np, x: np.zeros(4).at[np.asarray([0, 1, 1])].add(x[:, 0]),
    segment_max=lambda np, x: np.zeros(3).at[np.asarray([0, 1, 1])].max(x[:, 2]),
    where=lambda np, x: np.where(x > 0, x**2, np.sin(x)),
    clip=lambda np, x: np.clip(x, -1.0, 1.5),
    select=lambda np, x: np.select([x > 1, x > 0], [x**2, x**3], -x),
    stack=lambda np, x: np.stack([x[0], x[1] * x[2]], axis=1),
    split=lambda np, x: np.split(x, 2, axis=1)[1] * 2,
    interp=lambda np, x: np.interp(x, np.asarray([-3.0, 0.0, 1.0, 4.0]), np.asarray([1.0, 0.0, 2.0, -1.0])),
    einsum=lambda np, x: np.einsum("ij,kj->ik", x, x),
    tensordot=lambda np, x: np.tensordot(x, x, axes=[[0], [0]]),
    matmul=lambda np, x: x @ x.T,
    cross=lambda np, x: np.cross(x[:, :3], x[::-1, 1:]),
    polyval=lambda np, x: np.polyval(x[0], x[1]),
    unwrap=lambda np, x: np.unwrap(x * 3),
    vander=lambda np, x: np.vander(x[0], 3),
)
add("linalg", "numpy.linalg", SQUARE, "det", "inv", "pinv", "norm", "cond")
add("linalg", "scipy.linalg", SQUARE, "expm", "det", "inv")
formulas(
    "linalg",
    SQUARE,
    slogdet=lambda np, a: np.linalg.slogdet(a)[1],
    solve=lambda np, a: np.linalg.solve(a, np.asarray([1.0, -0.5, 2.0])),
    solve_both=lambda np, a: np.linalg.solve(a, a.T),
    power=lambda np, a: np.linalg.matrix_power(a, 3),
    cholesky=lambda np, a: np.linalg.cholesky(a @ a.T),
    eigvalsh=lambda np, a: np.linalg.eigvalsh(a + a.T),
    eigh=lambda np, a: np.abs(np.linalg.eigh(a @ a.T)[1]),
    svdvals=lambda np, a: np.linalg.svd(a, compute_uv=False),
    qr=lambda np, a: np.linalg.qr(a)[1] ** 2,
    lstsq=lambda np, a: np.linalg.lstsq(a, np.asarray([1.0, -0.5, 2.0]))[0],
    multi_dot=lambda np, a: np.linalg.multi_dot([a, a.T, a]),
    fft=lambda np, a: np.abs(np.fft.fft(a)) ** 2,
    rfft=lambda np, a: np.real(np.fft.rfft(a)) + np.imag(np.fft.rfft(a)) ** 2,
    irfft=lambda np, a: np.fft.irfft(a + 1j * a**2),
    fft2=lambda np, a: np.imag(np.fft.ifft2(a * (1 + 2j))),
)
ACTIVATIONS = ("relu", "relu6", "hard_sigmoid", "hard_silu", "hard_tanh", "squareplus", "softplus", "sparse_plus")
add("nn", "nn", TABLE, *ACTIVATIONS, "soft_sign", "sigmoid", "log_sigmoid", "silu", "mish", "elu", "celu", "selu")
add("nn", "nn", TABLE, "leaky_relu", "gelu", "glu", "softmax", "log_softmax", "logsumexp", "standardize", "identity")
add("nn", "nn", POSITIVE, "log1mexp", "logmeanexp")
add("special", "scipy.special", REAL, "erf", "erfc", "erfcx", "ndtr", "log_ndtr", "expit", "i0", "i0e", "i1", "i1e")
add("special", "scipy.special", POSITIVE, "gammaln", "gamma", "digamma", "entr", "expi", "exp1", "dawsn")
add("special", "scipy.special", UNIT, "logit", "ndtri", "erfinv", "spence")
add("special", "scipy.special", PAIR, "xlogy", "xlog1py", "rel_entr", "kl_div", "betaln", "boxcox", "boxcox1p")
add("lax", "lax", REAL, "sin", "logistic", "erf", "erfc", "square", "neg", "abs", "tanh", "expm1", "atan", "cbrt")
add("lax", "lax", POSITIVE, "rsqrt", "lgamma", "digamma", "bessel_i0e", "bessel_i1e", "log1p", "reciprocal", "sqrt")
add("lax", "lax", PAIR, "add", "sub", "mul", "div", "pow", "atan2", "max", "min", "rem", "dot")
add("lax", "lax", UNIT, "erf_inv", "asin", "atanh")
GROUPS["lax"].update(
    {
        "lax.cumsum": (lambda lib, x: lib.lax.cumsum(x, reverse=True), (POSITIVE,)),
        "lax.cumprod": (lambda lib, x: lib.lax.cumprod(x), (POSITIVE,)),
        "lax.cummax": (lambda lib, x: lib.lax.cummax(x), (REAL,)),
        "lax.cumlogsumexp": (lambda lib, x: lib.lax.cumlogsumexp(x), (REAL,)),
        "lax.integer_pow": (lambda lib, x: lib.lax.integer_pow(x, 5), (REAL,)),
        "lax.clamp": (lambda lib, x: lib.lax.clamp(-1.0, x, 2.0), (REAL,)),
        "lax.top_k": (lambda lib, x: lib.lax.top_k(x, 2)[0], (REAL,)),
        "lax.dynamic_slice": (lambda lib, x: lib.lax.dynamic_slice(x, (1, 1), (2, 2)), (TABLE,)),
        "lax.pad": (lambda lib, x: lib.lax.pad(x, 0.5, ((1, -1, 1), (0, 2, 0))), (TABLE,)),
        "lax.igamma": (lambda lib, x: lib.lax.igamma(1.5, x), (np.array(1.3),)),
        "lax.scan": (lambda lib, x: lib.lax.scan(lambda c, v: (c * v, c + v), 1.0, x)[1], (REAL,)),
    }
)
ORDER_1 = {"numpy.linalg.cond", "numpy.linalg.pinv", "scipy.special.exp1"}
"""Those whose second derivative JAX does not have, or fails to compile."""
LOOSE = {"scipy.special.expi": 1e-6, "scipy.special.exp1": 1e-6, "scipy.special.dawsn": 1e-6, "lax.igamma": 1e-6}
"""Approximations that are not exact to the last digits in either library."""


def derivatives(lib: Any, name: str, group: str, xs: tuple[Any, ...]) -> list[Any]:
    """Of a weighted sum: the gradients, the tangent, and the gradients of a weighted sum of the gradients."""
    f, _ = GROUPS[group][name]

    def weighted(x: Any) -> Any:
        return lib.numpy.sum(x * (1 + np.arange(np.size(x)).reshape(np.shape(x)) % 7 / 8))

    def total(*xs: Any) -> Any:
        return weighted(f(lib, *xs))

    along = tuple(range(len(xs)))
    steps = tuple([np.cos(np.arange(np.size(x))).reshape(np.shape(x)) for x in xs])

    def first(*xs: Any) -> Any:
        return lib.grad(total, along)(*xs)

    def slope(*xs: Any) -> Any:
        return sum(weighted(g) for g in first(*xs))

    tangent = lib.jvp(total, xs, tuple([lib.numpy.asarray(s) for s in steps]))[1]
    second = lib.grad(slope, along)(*xs) if name not in ORDER_1 else ()
    return [*first(*xs), tangent, *second]


def of_group(lib: Any, group: str, xs: dict[str, tuple[Any, ...]]) -> dict[str, list[Any]]:
    return {name: derivatives(lib, name, group, args) for name, args in xs.items()}


@pytest.mark.parametrize("group", GROUPS)
def test_derivatives_agree_with_jax(group: str) -> None:
    arguments = {name: args for name, (_, args) in GROUPS[group].items()}
    with jax.enable_x64(True):
        wanted = jax.jit(lambda xs: of_group(jax, group, xs))(arguments)
    wrong = []
    for name, args in arguments.items():
        with lazynp.jax.enable_x64(True):
            got = derivatives(lazynp.jax, name, group, tuple([lazynp.jax.numpy.asarray(x) for x in args]))
        for i, (a, b) in enumerate(zip(wanted[name], got, strict=True)):
            a, b = np.asarray(a), np.asarray(b)
            tolerance = LOOSE.get(name, 1e-9)
            if b.shape != a.shape or not np.allclose(b, a, rtol=tolerance, atol=tolerance, equal_nan=True):
                wrong.append(f"{name}, result {i}: {b.tolist()}, not {a.tolist()}")
    assert not wrong, "\n".join(wrong)


X4 = np.arange(4.0, dtype="float32")
OUTSIDE = np.array([0, 3, -1, 9, -7])
POSITIVE = np.array([[4, 1, 0.5], [1, 3, 0.25], [0.5, 0.25, 2]], "float32")
ZERO, BASES, POWERS = np.float32(0), np.zeros(2, "float32"), np.array([0, 1], "float32")
AT_EDGES: dict[str, Callable[[Any], Any]] = {
    "places outside": lambda j: j.grad(lambda x: (x[OUTSIDE] * np.float32(2)).sum())(X4),
    "traced places outside": lambda j: j.jit(j.grad(lambda x, i: x[i].sum()))(X4, OUTSIDE),
    "tables": lambda j: j.grad(lambda x: x.reshape(2, 2)[OUTSIDE].sum())(X4),
    "clipped places": lambda j: j.grad(lambda x: x.at[OUTSIDE].get(mode="clip").sum())(X4),
    "promised places": lambda j: j.grad(lambda x: x.at[OUTSIDE].get(mode="promise_in_bounds").sum())(X4),
    "one place": lambda j: j.grad(lambda x: j.jit(lambda x, i: x[i])(x, 9))(X4),
    "mapped places": lambda j: j.grad(lambda x: j.vmap(lambda i: x[i])(OUTSIDE).sum())(X4),
    "places taken": lambda j: j.lax.index_take(X4, (OUTSIDE,), (0,)),
    "promised writes": lambda j: j.numpy.asarray(X4).at[OUTSIDE].add(1.0, mode="promise_in_bounds"),
    "triangle of a factor": lambda j: j.grad(lambda a: j.scipy.linalg.cholesky(a, lower=True).sum())(POSITIVE),
    "upper factor": lambda j: j.grad(lambda a: j.scipy.linalg.cholesky(a)[0].sum())(POSITIVE),
    "solved by a factor": lambda j: j.grad(lambda a: j.scipy.linalg.cho_factor(a)[0].sum())(POSITIVE),
    "powers of nothing": lambda j: j.grad(lambda x, y: x**y, (0, 1))(ZERO, ZERO),
    "jitted powers": lambda j: j.jit(j.grad(lambda x, y: (x**y).sum()))(BASES, POWERS),
    "mapped powers": lambda j: j.vmap(j.grad(lambda x, y: x**y))(BASES, POWERS),
    "whole powers": lambda j: j.grad(lambda x, y: (x**y).sum())(BASES, np.array([0, 1])),
}
"""Derivatives where an index leaves its array, a matrix is not symmetrized, or a base is zero."""


@pytest.mark.parametrize("name", AT_EDGES)
def test_at_edges(name: str) -> None:
    theirs, ours = (j.tree.leaves(AT_EDGES[name](j)) for j in (jax, lazynp.jax))
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(np.asarray(b), np.asarray(a), rtol=1e-5, atol=1e-6)


NOT_UNIQUE = [
    lambda j: j.grad(lambda v: j.numpy.ones(3).at[j.numpy.array([0, 0])].mul(v).sum())(2.0),
    lambda j: j.grad(lambda v: j.numpy.ones(3).at[np.array([0, 1])].divide(v).sum())(2.0),
    lambda j: j.grad(lambda v: j.numpy.ones(3).at[np.array([0, 1])].mul(v, unique_indices=True).sum())(2.0),
    lambda j: j.grad(lambda v: j.numpy.ones(3).at[0:2].mul(v).sum())(2.0),
    lambda j: j.grad(lambda x: x.at[np.array([0, 0])].mul(2.0).sum())(j.numpy.ones(3)),
    lambda j: j.grad(lambda x: x.at[0].apply(j.numpy.sin).sum())(j.numpy.ones(3)),
    lambda j: j.grad(
        lambda v: j.lax.scatter_mul(
            j.numpy.ones(3), np.array([[0], [0]]), v, j.lax.ScatterDimensionNumbers((), (0,), (0,))
        ).sum()
    )(j.numpy.ones(2)),
]


@pytest.mark.parametrize("call", NOT_UNIQUE)
def test_derivatives_of_scatters_that_jax_refuses(call: Any) -> None:
    found = []
    for j in (jax, lazynp.jax):
        try:
            found.append(np.asarray(call(j)).tolist())
        except NotImplementedError as error:
            found.append(str(error))
    assert found[0] == found[1]
