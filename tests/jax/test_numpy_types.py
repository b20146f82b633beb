"""Dtypes, weak types, shapes and classes of errors of `jax.numpy`'s functions, for all dtypes that arrays have.

JAX says what it would give by `eval_shape`, which compiles nothing. LAZYNP_CASES over 10,000 tries all pairs of dtypes.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
from agreement import builtin_class, first_line

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
STRIDE = 1 if int(os.environ.get("LAZYNP_CASES", "0")) > 10_000 else 9  # of the pairs of dtypes that are tried
DTYPES = (
    "bool", "int8", "int16", "int32", "uint8", "uint32", "float16", "bfloat16", "float32", "complex64",
)  # fmt: skip
LONG = ("int64", "uint64", "float64", "complex128")
SCALARS: dict[str, Any] = {"bool": True, "int": 1, "float": 1.0, "complex": 1 + 0j}
KINDS = (*DTYPES, *[f"python {s}" for s in SCALARS], "weak int", "weak float", "weak complex", "two float")

UNARY = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "all",
    "amax",
    "amin",
    "angle",
    "any",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "around",
    "array",
    "asarray",
    "asin",
    "asinh",
    "astype_f",
    "atan",
    "atanh",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "average",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_not",
    "cbrt",
    "ceil",
    "conj",
    "conjugate",
    "copy",
    "corrcoef",
    "cos",
    "cosh",
    "count_nonzero",
    "cov",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "deg2rad",
    "degrees",
    "diag",
    "diagflat",
    "diff",
    "ediff1d",
    "empty_like",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "fft_f",
    "fix_f",
    "flatnonzero_f",
    "flip",
    "floor",
    "frexp",
    "gradient",
    "histogram_f",
    "i0",
    "identity_f",
    "imag",
    "invert",
    "iscomplex",
    "iscomplexobj",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "isrealobj",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "max",
    "mean",
    "median",
    "min",
    "modf",
    "nan_to_num",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "ndim",
    "negative",
    "ones_like",
    "packbits_f",
    "partition_f",
    "positive",
    "prod",
    "ptp",
    "rad2deg",
    "radians",
    "ravel",
    "real",
    "reciprocal",
    "rint",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "size",
    "sort",
    "sort_complex",
    "spacing",
    "sqrt",
    "square",
    "squeeze",
    "std",
    "sum",
    "tan",
    "tanh",
    "trace_f",
    "transpose",
    "trapezoid",
    "trunc",
    "unwrap",
    "var",
    "vander",
    "zeros_like",
]
BINARY = [
    "add",
    "allclose",
    "append",
    "arctan2",
    "array_equal",
    "array_equiv",
    "atan2",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "convolve",
    "copysign",
    "correlate",
    "cross_f",
    "divide",
    "divmod",
    "dot",
    "equal",
    "float_power",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "full_f",
    "full_like",
    "gcd",
    "greater",
    "greater_equal",
    "heaviside",
    "hypot",
    "inner",
    "interp_f",
    "isclose",
    "isin",
    "kron",
    "lcm",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "linspace",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_or",
    "logical_xor",
    "matmul",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "nextafter",
    "not_equal",
    "outer",
    "polyadd",
    "polymul",
    "polysub",
    "polyval",
    "pow",
    "power",
    "quantile_f",
    "remainder",
    "result_type",
    "right_shift",
    "searchsorted",
    "setdiff1d_f",
    "subtract",
    "tensordot_f",
    "true_divide",
    "union1d_f",
    "vdot",
    "vecdot",
    "where_f",
    "clip_f",
    "stack_f",
    "concatenate_f",
    "hstack_f",
    "select_f",
    "arange_f",
    "at_add",
    "at_set",
    "at_mul",
    "at_min",
    "insert_f",
    "logspace",
    "geomspace",
]

FORMS: dict[str, Callable[..., Any]] = {
    "astype_f": lambda m, x: m.asarray(x).astype(m.float32),
    "fft_f": lambda m, x: m.fft.fft(x),
    "fix_f": lambda m, x: m.trunc(x),
    "flatnonzero_f": lambda m, x: m.flatnonzero(x, size=2),
    "histogram_f": lambda m, x: m.histogram(x, bins=3),
    "identity_f": lambda m, x: m.identity(2, dtype=m.asarray(x).dtype),
    "packbits_f": lambda m, x: m.packbits(x),
    "partition_f": lambda m, x: m.partition(x, 1),
    "trace_f": lambda m, x: m.trace(m.ones((2, 2)) * x if np.ndim(x) == 0 else m.outer(x, x)),
    "cross_f": lambda m, x, y: m.cross(x, y),
    "full_f": lambda m, x, y: m.full((2,), x),
    "interp_f": lambda m, x, y: m.interp(x, m.arange(2.0), y),
    "quantile_f": lambda m, x, y: m.quantile(x, y),
    "setdiff1d_f": lambda m, x, y: m.setdiff1d(x, y, size=2),
    "union1d_f": lambda m, x, y: m.union1d(x, y, size=2),
    "tensordot_f": lambda m, x, y: m.tensordot(x, y, axes=1),
    "where_f": lambda m, x, y: m.where(m.array([True, False]), x, y),
    "clip_f": lambda m, x, y: m.clip(x, y),
    "stack_f": lambda m, x, y: m.stack([x, y]),
    "concatenate_f": lambda m, x, y: m.concatenate([m.atleast_1d(x), m.atleast_1d(y)]),
    "hstack_f": lambda m, x, y: m.hstack([x, y]),
    "select_f": lambda m, x, y: m.select([m.array([True, False])], [x], y),
    "arange_f": lambda m, x, y: m.arange(2, dtype=m.result_type(x, y)),
    "at_add": lambda m, x, y: m.asarray(x).at[...].add(y),
    "at_set": lambda m, x, y: m.asarray(x).at[...].set(y),
    "at_mul": lambda m, x, y: m.asarray(x).at[...].multiply(y),
    "at_min": lambda m, x, y: m.asarray(x).at[...].min(y),
    "insert_f": lambda m, x, y: m.insert(x, 1, y),
}


def operand(lib: Any, kind: str) -> Any:
    """Two elements of a dtype, or a scalar: Python's, or a weak array; or two elements of a weak dtype."""
    how, _, name = kind.rpartition(" ")
    if how == "two":
        return lib.numpy.asarray([1, 1]) * SCALARS[name]
    if how:
        return SCALARS[name] if how == "python" else lib.numpy.asarray(SCALARS[name])
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    return lib.numpy.asarray(np.array([1, 1], dtype))


def described(out: Any) -> Any:
    if isinstance(out, (tuple, list)):
        return [described(x) for x in out]
    if hasattr(out, "dtype") and hasattr(out, "shape"):
        return tuple(out.shape), np.dtype(out.dtype).name, bool(getattr(out, "weak_type", False))
    return out


def theirs(name: str, kinds: tuple[str, ...]) -> Any:
    f = FORMS.get(name)
    args = [operand(jax, k) for k in kinds]
    static: list[Any] = []

    def run() -> Any:
        out = f(jax.numpy, *args) if f else getattr(jax.numpy, name)(*args)
        if not isinstance(out, (jax.Array, tuple, list)):
            static.append(out)
            return None
        return out

    found = jax.eval_shape(run)
    return static[0] if static else found


def ours(name: str, kinds: tuple[str, ...]) -> Any:
    f = FORMS.get(name)
    args = [operand(lazynp.jax, k) for k in kinds]
    return f(lazynp.jax.numpy, *args) if f else getattr(lazynp.jax.numpy, name)(*args)


def attempt(run: Callable[..., Any], name: str, kinds: tuple[str, ...]) -> tuple[Any, Exception | None]:
    try:
        return described(run(name, kinds)), None
    except Exception as error:
        return None, error


def difference(name: str, kinds: tuple[str, ...]) -> str | None:
    """In words; None where both agree."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (wanted, wrong), (got, ours_wrong) = attempt(theirs, name, kinds), attempt(ours, name, kinds)
    if wrong is None and ours_wrong is None:
        return None if wanted == got else f"{got}, not {wanted}"
    if wrong is None:
        return f"raises {ours_wrong!r}"
    if isinstance(wrong, jax.errors.JAXTypeError):  # tracing alone, which JAX needs to tell
        return None
    if ours_wrong is None:
        return f"does not raise {type(wrong).__name__}: {first_line(wrong)}"
    same = issubclass(builtin_class(ours_wrong), builtin_class(wrong))
    return None if same else f"raises {ours_wrong!r}, not {type(wrong).__name__}: {first_line(wrong)}"


COMPILED = "JAX raises this error, but only when it compiles"
STRICT = "JAX's implementation meets an operation of its own that lacks this dtype; here the result is NumPy's"
WEAK = "int64 and uint64 make a weak float64, which the functions of JAX that are written over convolution keep"
KNOWN: dict[str, tuple[Callable[..., bool], str]] = {
    **dict.fromkeys(("argmax", "argmin", "nanargmax", "nanargmin"), (lambda a: "complex" in a, COMPILED)),
    **dict.fromkeys(("partition_f", "vander"), (lambda a: a == "bool", STRICT)),
    "kron": (lambda a, b: {a, b} == {"bool", "python bool"}, STRICT),
    "dot": (lambda a, b: any(k.endswith(" int") for k in (a, b)) and any(" " not in k for k in (a, b)), STRICT),
    **dict.fromkeys(
        ("convolve", "correlate", "polyadd", "polysub", "polymul"), (lambda a, b: {a, b} == {"int64", "uint64"}, WEAK)
    ),
}
"""Function: (for which kinds it differs, why)."""


def known(name: str, *kinds: str) -> bool:
    return name in KNOWN and KNOWN[name][0](*kinds)


@pytest.mark.parametrize("name", UNARY)
def test_of_one(name: str) -> None:
    wrong = [f"{k}: {d}" for k in KINDS if not known(name, k) and (d := difference(name, (k,)))]
    assert not wrong, "\n".join([name, *wrong])


def differences_of_pairs(name: str, kinds: Sequence[str]) -> list[str]:
    """Of every STRIDE-th pair, others for each name."""
    return [
        f"{a}, {b}: {d}"
        for i, a in enumerate(kinds)
        for j, b in enumerate(kinds)
        if (i + j - len(name)) % STRIDE == 0 and not known(name, a, b) and (d := difference(name, (a, b)))
    ]


@pytest.mark.parametrize("name", BINARY)
def test_of_two(name: str) -> None:
    wrong = differences_of_pairs(name, KINDS)
    assert not wrong, "\n".join([name, *wrong])


@pytest.mark.parametrize("name", UNARY)
def test_of_one_with_64_bits(name: str) -> None:
    with jax.enable_x64(True), lazynp.jax.enable_x64(True):
        wrong = [
            f"{k}: {d}"
            for k in (*LONG, "int8", "float32", "python int")
            if not known(name, k) and (d := difference(name, (k,)))
        ]
    assert not wrong, "\n".join([name, *wrong])


@pytest.mark.parametrize("name", BINARY)
def test_of_two_with_64_bits(name: str) -> None:
    kinds = (*LONG, "uint8", "int32", "float16", "python int", "weak float")
    with jax.enable_x64(True), lazynp.jax.enable_x64(True):
        wrong = differences_of_pairs(name, kinds)
    assert not wrong, "\n".join([name, *wrong])


@pytest.mark.parametrize("toward", [0, 1, np.inf, -np.inf, np.nan])
def test_neighbours_of_bfloat16(toward: float) -> None:
    x = np.array([0, -0.0, 1, -1, 3, np.inf, np.nan, 1e-40, 65504], "float32")
    found = []
    for j in (jax, lazynp.jax):
        given = j.numpy.array(x, "bfloat16")
        for f in (j.numpy.nextafter, j.jit(j.numpy.nextafter)):
            found.append(np.asarray(f(given, j.numpy.array(toward, "bfloat16"))).astype("float32"))
        found.append(np.asarray(j.numpy.spacing(given)).astype("float32"))
    for mine, theirs in zip(found[3:], found):
        np.testing.assert_array_equal(mine, theirs)
