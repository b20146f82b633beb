"""Version 2024.12 of the array API standard: names, signatures, results; the second oracle is array_api_strict."""

from __future__ import annotations

import inspect
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp
from lazynp.config import config

strict = pytest.importorskip("array_api_strict", reason="it comes with lazynp[test]")
VERSION = "2024.12"
MISSING = object()
FLAGS = {"set_array_api_strict_flags", "get_array_api_strict_flags", "reset_array_api_strict_flags"}
NOT_THE_STANDARDS = {*FLAGS, "ArrayAPIStrictFlags", "Device"}
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS, COMPLEXES = ("float32", "float64"), ("complex64", "complex128")
KINDS = {
    "bool": ("bool",),
    "integer": INTEGERS,
    "integer or bool": ("bool", *INTEGERS),
    "real": (*INTEGERS, *FLOATS),
    "float": FLOATS,
    "complex": COMPLEXES,
    "inexact": (*FLOATS, *COMPLEXES),
    "number": (*INTEGERS, *FLOATS, *COMPLEXES),
    "any": ("bool", *INTEGERS, *FLOATS, *COMPLEXES),
}


@pytest.fixture(params=["auto", "graph"], autouse=True)
def _mode(request: pytest.FixtureRequest) -> Iterator[None]:
    strict.set_array_api_strict_flags(api_version=VERSION)
    with config(mode=request.param), warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def public(space: str) -> dict[str, tuple[Any, Any]]:
    """Name -> what the oracle has and what lazynp has."""
    theirs, ours = (getattr(x, space) if space else x for x in (strict, lazynp))
    names = [n for n in theirs.__all__ if n not in NOT_THE_STANDARDS]
    return {n: (getattr(theirs, n), getattr(ours, n, MISSING)) for n in names}


# --- names and signatures ---


@pytest.mark.parametrize("space", ["", "linalg", "fft"])
def test_names(space: str) -> None:
    assert not [n for n, (_, ours) in public(space).items() if ours is MISSING]


@pytest.mark.parametrize("space", ["", "linalg", "fft"])
def test_signatures(space: str) -> None:
    """What the standard lets a caller write, one can write: a positional argument, a keyword."""
    wrong = []
    for name, (theirs, ours) in public(space).items():
        if callable(theirs) and not isinstance(theirs, type) and told(ours):
            wrong += [f"{name}: {why}" for why in refused(inspect.signature(theirs), inspect.signature(ours))]
    assert not wrong


def told(function: Any) -> bool:
    """Whether Python knows the signature: NumPy's functions in C tell it from 2.4 on."""
    try:
        inspect.signature(function)
    except ValueError:
        return False
    return True


def refused(wanted: inspect.Signature, ours: inspect.Signature) -> Iterator[str]:
    mine = list(ours.parameters.values())
    positional = [p for p in mine if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    any_number, any_name = (any(p.kind == k for p in mine) for k in (2, 4))
    for i, p in enumerate(wanted.parameters.values()):
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and i >= len(positional) and not any_number:
            yield f"argument {i}"
        if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name not in ours.parameters and not any_name:
            yield p.name


def test_attributes_of_arrays() -> None:
    theirs = [n for n in dir(strict.ones((1, 1))) if not n.startswith("_") or n.startswith("__")]
    theirs = [n for n in theirs if n not in ("__weakref__", "__buffer__", "__slots__", "__annotations__")]
    assert not [n for n in theirs if not hasattr(lazynp.ones((1, 1)), n)]


def test_namespace() -> None:
    x = lazynp.ones(3)
    assert x.__array_namespace__() is lazynp
    for version in ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12", "1999.12"):
        try:
            numpy.ones(3).__array_namespace__(api_version=version)
        except ValueError:
            with pytest.raises(ValueError, match="not supported"):
                x.__array_namespace__(api_version=version)
        else:
            assert x.__array_namespace__(api_version=version) is lazynp
    assert lazynp.__array_api_version__ == numpy.__array_api_version__
    assert str(x.device) == "cpu"
    assert x.to_device("cpu") is x


def test_namespace_info() -> None:
    info, theirs = lazynp.__array_namespace_info__(), strict.__array_namespace_info__()
    capabilities = info.capabilities()
    assert capabilities["boolean indexing"] is True
    assert capabilities["data-dependent shapes"] is True
    assert capabilities == numpy.__array_namespace_info__().capabilities()  # "max dimensions" came with NumPy 2.3
    assert info.default_device() in info.devices()
    assert {k: str(v) for k, v in info.default_dtypes().items()} == {
        k: spelled(v) for k, v in theirs.default_dtypes().items()
    }
    for kind in (None, "bool", "integral", "numeric", "real floating", "complex floating", ("bool", "integral")):
        assert set(info.dtypes(kind=kind)) == set(theirs.dtypes(kind=kind)), kind
    with pytest.raises(ValueError, match="unsupported kind"):
        info.dtypes(kind="green")


def spelled(dtype: Any) -> str:
    return str(getattr(dtype, "_np_dtype", dtype))


# --- results ---


def host(x: Any) -> Any:
    """A result as NumPy's array, parts of a tuple each for itself."""
    if isinstance(x, (tuple, list)):
        return [host(part) for part in x]
    return numpy.asarray(x._array if hasattr(x, "_array") else x)


def agree(theirs: Any, ours: Any, close: float = 0.0) -> None:
    if isinstance(theirs, list):
        assert len(theirs) == len(ours)
        for a, b in zip(theirs, ours):
            agree(a, b, close)
        return
    assert (theirs.dtype, theirs.shape) == (ours.dtype, ours.shape)
    if theirs.dtype.kind in "fc":
        eps = float(numpy.finfo(theirs.dtype).eps)
        numpy.testing.assert_allclose(ours, theirs, rtol=4 * eps, atol=close * eps)
    else:
        numpy.testing.assert_array_equal(ours, theirs)


def data(dtype: str, shape: tuple[int, ...] = (3, 4), least: float = -4.0, seed: int = 0) -> numpy.ndarray:
    """Random numbers from `least` to `least + 8`, those of unsigned dtypes from 0."""
    rng = numpy.random.default_rng(seed)
    x = rng.uniform(least, least + 8, shape)
    if dtype == "bool":
        return x > least + 4
    if dtype.startswith("complex"):
        x = x + 1j * rng.uniform(least, least + 8, shape)
    return x.astype(dtype) if not dtype.startswith("u") else abs(x).astype(dtype)


def both(f: Callable[..., Any], *arrays: numpy.ndarray, close: float = 0.0) -> None:
    theirs = f(strict, *[strict.asarray(a) for a in arrays])
    ours = f(lazynp, *[lazynp.asarray(a) for a in arrays])
    agree(host(theirs), host(ours), close)


UNARY = {
    "number": "negative positive square abs sign",
    "real": "floor ceil trunc round",
    "inexact": "isfinite isinf isnan exp expm1 sin cos tan sinh cosh tanh asinh atan sqrt log log1p log10 log2",
    "float": "signbit reciprocal",
    "complex": "real imag conj",
    "any": "zeros_like ones_like empty_like",
    "bool": "logical_not",
    "integer or bool": "bitwise_invert",
}
INSIDE = "acos asin atanh"  # of what is between -1 and 1
BINARY = {
    "number": "add subtract multiply",
    "any": "equal not_equal",
    "inexact": "divide",
    "real": "less less_equal greater greater_equal maximum minimum",
    "float": "atan2 copysign hypot logaddexp nextafter",
    "bool": "logical_and logical_or logical_xor",
    "integer or bool": "bitwise_and bitwise_or bitwise_xor",
}


@pytest.mark.parametrize("name", sorted(itertools.chain.from_iterable(v.split() for v in UNARY.values())))
def test_unary(name: str) -> None:
    kind = next(k for k, v in UNARY.items() if name in v.split())
    for dtype in KINDS[kind]:
        least = 0.5 if name.startswith("log") else -4.0
        if name == "empty_like":
            both(lambda xp, x: xp.empty_like(x), data(dtype)[:0])
        elif name != "sqrt" or not dtype.startswith("float"):
            both(lambda xp, x: getattr(xp, name)(x), data(dtype, least=least), close=4)
        else:
            both(lambda xp, x: xp.sqrt(x), abs(data(dtype)))


@pytest.mark.parametrize("name", INSIDE.split())
def test_unary_between_minus_one_and_one(name: str) -> None:
    for dtype in KINDS["inexact"]:
        both(lambda xp, x: getattr(xp, name)(x), data(dtype) / 8, close=4)


@pytest.mark.parametrize("name", sorted(itertools.chain.from_iterable(v.split() for v in BINARY.values())))
def test_binary(name: str) -> None:
    kind = next(k for k, v in BINARY.items() if name in v.split())
    for dtype in KINDS[kind]:
        a, b = data(dtype), data(dtype, (4,), seed=1)
        both(lambda xp, x, y: getattr(xp, name)(x, y), a, b)
        scalar = {"b": True, "i": 2, "u": 2, "f": 1.5, "c": 1.5}[a.dtype.kind]
        both(lambda xp, x, s=scalar: getattr(xp, name)(x, s), a)
        both(lambda xp, x, s=scalar: getattr(xp, name)(s, x), a)


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_division_without_rest(name: str) -> None:
    for dtype in KINDS["real"]:
        both(lambda xp, x, y: getattr(xp, name)(x, y), data(dtype), data(dtype, (4,), least=1, seed=1))


@pytest.mark.parametrize("name", ["bitwise_left_shift", "bitwise_right_shift"])
def test_shifts(name: str) -> None:
    for dtype in KINDS["integer"]:
        both(lambda xp, x, y: getattr(xp, name)(x, y), data(dtype), abs(data(dtype, (4,), seed=1)) % 4)


def test_pow() -> None:
    for dtype in KINDS["number"]:
        both(
            lambda xp, x, y: xp.pow(x, y), data(dtype, least=1), abs(data(dtype, least=0, seed=1)) % 4, close=8
        ) if not dtype.startswith("complex") else both(lambda xp, x: xp.pow(x, 2), data(dtype), close=8)


@pytest.mark.parametrize("dtypes", [INTEGERS[:4], INTEGERS[4:], FLOATS, COMPLEXES], ids=["i", "u", "f", "c"])
def test_promotion(dtypes: tuple[str, ...]) -> None:
    for one, other in itertools.product(dtypes, dtypes):
        both(lambda xp, x, y: xp.add(x, y), data(one), data(other))
        assert str(lazynp.result_type(lazynp.ones(1, dtype=one), lazynp.dtype(other))) == spelled(
            strict.result_type(strict.ones(1, dtype=getattr(strict, one)), getattr(strict, other))
        )


REDUCTIONS: dict[str, str] = {
    "sum": "number", "prod": "number", "mean": "inexact", "max": "real", "min": "real", "std": "float", "var": "float",
    "all": "any", "any": "any", "argmax": "real", "argmin": "real", "count_nonzero": "any",
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str) -> None:
    axes: tuple[Any, ...] = (None, 0, -1) if name.startswith("arg") else (None, 0, -1, (0, 1), (1,))
    for dtype in KINDS[REDUCTIONS[name]]:
        x = data(dtype, (3, 4), least=-1 if name == "prod" else -4)
        for axis, keep in itertools.product(axes, (False, True)):
            given = {"axis": axis, "keepdims": keep}
            both(lambda xp, x, given=given: getattr(xp, name)(x, **given), x, close=64)
    if name in ("std", "var"):
        both(lambda xp, x: getattr(xp, name)(x, correction=1.0), data("float64"))
    if name in ("sum", "prod"):
        both(lambda xp, x: getattr(xp, name)(x, dtype=xp.int16), data("int8"))
        both(lambda xp, x: getattr(xp, name)(x, axis=1), data("float32", (3, 0)))


MORE: dict[str, Callable[..., Any]] = {
    "cumulative_sum": lambda xp, x: (xp.cumulative_sum(x, axis=1), xp.cumulative_sum(x, axis=0, include_initial=True)),
    "cumulative_prod": lambda xp, x: (xp.cumulative_prod(x, axis=1), xp.cumulative_prod(x[0, :], include_initial=True)),
    "diff": lambda xp, x: (xp.diff(x), xp.diff(x, n=2, axis=0), xp.diff(x, prepend=x[:, :1], append=x[:, :2])),
    "concat": lambda xp, x: (xp.concat([x, x], axis=1), xp.concat((x, x[0, :]), axis=None)),
    "stack": lambda xp, x: (xp.stack([x, x], axis=1), xp.stack([x, x], axis=-1)),
    "unstack": lambda xp, x: xp.unstack(x, axis=1),
    "expand_dims": lambda xp, x: (xp.expand_dims(x, axis=1), xp.expand_dims(x, axis=-1)),
    "squeeze": lambda xp, x: xp.squeeze(x[:1, :], axis=0),
    "flip": lambda xp, x: (xp.flip(x), xp.flip(x, axis=1), xp.flip(x, axis=(0, 1))),
    "moveaxis": lambda xp, x: xp.moveaxis(x, 0, 1),
    "permute_dims": lambda xp, x: xp.permute_dims(x, (1, 0)),
    "matrix_transpose": lambda xp, x: (xp.matrix_transpose(x), x.mT, x.T),
    "reshape": lambda xp, x: (xp.reshape(x, (4, 3)), xp.reshape(x, (-1,)), xp.reshape(x, (2, 6), copy=True)),
    "roll": lambda xp, x: (xp.roll(x, 1), xp.roll(x, (1, -2), axis=(0, 1))),
    "repeat": lambda xp, x: (xp.repeat(x, 2), xp.repeat(x, xp.asarray([1, 0, 2]), axis=0)),
    "tile": lambda xp, x: (xp.tile(x, (2, 1)), xp.tile(x, (2,))),
    "broadcast_to": lambda xp, x: xp.broadcast_to(x, (2, 3, 4)),
    "broadcast_arrays": lambda xp, x: xp.broadcast_arrays(x, x[:1, :]),
    "take": lambda xp, x: (xp.take(x, xp.asarray([1, 0]), axis=0), xp.take(x, xp.asarray([2]), axis=-1)),
    "take_along_axis": lambda xp, x: xp.take_along_axis(x, xp.asarray([[0, 1], [1, 0], [3, 3]]), axis=1),
    "tril": lambda xp, x: (xp.tril(x), xp.triu(x, k=1)),
    "meshgrid": lambda xp, x: (*xp.meshgrid(x[0, :], x[:, 0]), *xp.meshgrid(x[0, :], x[1, :], indexing="ij")),
    "where": lambda xp, x: (xp.where(x > 1, x, -x), xp.where(x > 1, x, 0.0)),
    "clip": lambda xp, x: (xp.clip(x, -1, 2), xp.clip(x, min=0), xp.clip(x, max=x[:1, :])),
    "searchsorted": lambda xp, x: (
        xp.searchsorted(xp.sort(x[0, :]), x),
        xp.searchsorted(x[1, :], x, side="right", sorter=xp.argsort(x[1, :])),
    ),
    "nonzero": lambda xp, x: xp.nonzero(x > 0),
    "sort": lambda xp, x: (xp.sort(x), xp.sort(x, axis=0, descending=True, stable=False)),
    "argsort": lambda xp, x: (
        xp.argsort(xp.round(x), stable=True),
        xp.argsort(xp.clip(xp.round(x), 0, 2), axis=0, descending=True),
    ),
    "unique": lambda xp, x: (xp.sort(xp.unique_values(xp.round(x))), xp.sort(xp.unique_counts(xp.round(x))[1])),
    "unique_all": lambda xp, x: (*xp.unique_all(xp.round(x)), *xp.unique_inverse(xp.round(x))),
    "matmul": lambda xp, x: (xp.matmul(x, x.T), x @ x[0, :], xp.matmul(xp.stack([x, x]), x.T)),
    "tensordot": lambda xp, x: (xp.tensordot(x, x.T, axes=1), xp.tensordot(x, x, axes=((0, 1), (0, 1)))),
    "vecdot": lambda xp, x: (xp.vecdot(x, x), xp.vecdot(x, x, axis=-2)),
    "astype": lambda xp, x: (xp.astype(x, xp.int32), xp.astype(x, xp.float64, copy=False), xp.astype(x, xp.bool)),
    "indexing": lambda xp, x: (x[1, ...], x[:, ::-2], x[None, :, 1], x[x > 0], x[..., 0], x[-1, 1:3]),
    "integer_indexing": lambda xp, x: x[xp.asarray([0, 1]), xp.asarray([2, 3])],
    "operators": lambda xp, x: (+x, -x, abs(x), x + x, x - 1, 2 * x, x / 2, x // 2, x % 3, x**2, x < 1, x != x, 1 / x),
}  # fmt: skip


@pytest.mark.parametrize("name", MORE)
def test_functions(name: str) -> None:
    for dtype in FLOATS:
        both(MORE[name], data(dtype), close=64)


@pytest.mark.parametrize(
    "name", ["concat", "flip", "roll", "stack", "where", "sort", "argsort", "clip", "unique", "take"]
)
def test_functions_of_integers(name: str) -> None:
    for dtype in ("int8", "int64"):
        f = MORE[name] if name != "where" else (lambda xp, x: xp.where(x > 1, x, 3))
        both(f, data(dtype))


CREATION: dict[str, Callable[..., Any]] = {
    "arange": lambda xp: (xp.arange(5), xp.arange(1, 9, 3), xp.arange(2.0), xp.arange(3, dtype=xp.float32)),
    "linspace": lambda xp: (xp.linspace(0, 1, 5), xp.linspace(0, 1, num=4, endpoint=False, dtype=xp.float32)),
    "zeros": lambda xp: (xp.zeros(3), xp.zeros((2, 3), dtype=xp.int8), xp.zeros((), dtype=xp.bool, device=None)),
    "ones": lambda xp: (xp.ones(3), xp.ones((2, 0), dtype=xp.complex64)),
    "full": lambda xp: (
        xp.full(3, 2), xp.full((2,), 2.5), xp.full(2, True), xp.full(2, 1j), xp.full(1, 3, dtype=xp.int8),
    ),
    "eye": lambda xp: (xp.eye(3), xp.eye(2, 4, k=1, dtype=xp.int32)),
    "asarray": lambda xp: (
        xp.asarray([1, 2]), xp.asarray(1.5), xp.asarray([[True]]), xp.asarray([1, 2.0], dtype=xp.float32),
    ),
    "full_like": lambda xp: xp.full_like(xp.ones(2, dtype=xp.float32), 7),
    "constants": lambda xp: (xp.asarray([xp.e, xp.pi, xp.inf, xp.nan]), xp.ones(2)[xp.newaxis, :]),
}  # fmt: skip


@pytest.mark.parametrize("name", CREATION)
def test_creation(name: str) -> None:
    both(CREATION[name])


def square(xp: Any, x: Any) -> Any:
    """A symmetric, positive definite matrix of it."""
    return xp.matmul(x, x.T) + 4 * xp.eye(3, dtype=x.dtype)


LINALG: dict[str, Callable[..., Any]] = {
    "cholesky": lambda xp, x: (xp.linalg.cholesky(square(xp, x)), xp.linalg.cholesky(square(xp, x), upper=True)),
    "cross": lambda xp, x: xp.linalg.cross(x[:, :3], x[:, 1:], axis=-2),
    "det": lambda xp, x: xp.linalg.det(square(xp, x)),
    "diagonal": lambda xp, x: xp.linalg.diagonal(x, offset=1),
    "eigh": lambda xp, x: xp.linalg.eigvalsh(square(xp, x)),
    "inv": lambda xp, x: xp.linalg.inv(square(xp, x)),
    "matmul": lambda xp, x: xp.linalg.matmul(x, x.T),
    "matrix_norm": lambda xp, x: [xp.linalg.matrix_norm(x, ord=o) for o in ("fro", "nuc", 1, -1, 2, xp.inf)],
    "matrix_power": lambda xp, x: xp.linalg.matrix_power(square(xp, x), 3),
    "matrix_rank": lambda xp, x: xp.linalg.matrix_rank(x, rtol=1e-3),
    "outer": lambda xp, x: xp.linalg.outer(x[0, :], x[1, :]),
    "pinv": lambda xp, x: xp.linalg.pinv(x),
    "qr": lambda xp, x: (xp.linalg.qr(x).R, xp.linalg.qr(x, mode="complete").Q),
    "slogdet": lambda xp, x: xp.linalg.slogdet(square(xp, x)),
    "solve": lambda xp, x: (xp.linalg.solve(square(xp, x), x), xp.linalg.solve(square(xp, x), x[:, 0])),
    "svdvals": lambda xp, x: (xp.linalg.svdvals(x), xp.linalg.svd(x, full_matrices=False).S),
    "tensordot": lambda xp, x: xp.linalg.tensordot(x, x.T, axes=1),
    "trace": lambda xp, x: (xp.linalg.trace(x), xp.linalg.trace(x, offset=1)),
    "vector_norm": lambda xp, x: [xp.linalg.vector_norm(x, ord=o, axis=1) for o in (1, 2, 3.5, xp.inf, 0)],
}  # fmt: skip


@pytest.mark.parametrize("name", LINALG)
def test_linalg(name: str) -> None:
    for dtype in FLOATS:
        both(LINALG[name], data(dtype), close=4000)


FFT: dict[str, Callable[..., Any]] = {
    "fft": lambda xp, x: (xp.fft.fft(x), xp.fft.ifft(x, n=6, axis=0, norm="ortho"), xp.fft.fftn(x), xp.fft.ifftn(x)),
    "hfft": lambda xp, x: xp.fft.hfft(x),
    "shift": lambda xp, x: (xp.fft.fftshift(x), xp.fft.ifftshift(x, axes=(0,))),
}
FREQUENCIES = lambda xp: (xp.fft.fftfreq(5, d=0.5), xp.fft.rfftfreq(4, dtype=xp.float32))


@pytest.mark.parametrize("name", FFT)
def test_fft(name: str) -> None:
    for dtype in COMPLEXES:
        both(FFT[name], data(dtype), close=64)


def test_fft_of_real_numbers() -> None:
    for dtype in FLOATS:
        both(lambda xp, x: (xp.fft.rfft(x), xp.fft.rfftn(x), xp.fft.ihfft(x)), data(dtype), close=64)
        both(lambda xp, x: (xp.fft.irfft(xp.fft.rfft(x)), xp.fft.irfftn(xp.fft.rfftn(x))), data(dtype), close=64)
    both(FREQUENCIES)


def test_dtype_functions() -> None:
    names = KINDS["any"]
    for one, other in itertools.product(names, names):
        if strict.can_cast(getattr(strict, one), getattr(strict, other)):  # NumPy casts more: a bool to a number
            assert lazynp.can_cast(getattr(lazynp, one), getattr(lazynp, other))
    kinds = ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric")
    for name, kind in itertools.product(names, kinds):
        assert lazynp.isdtype(getattr(lazynp, name), kind) == strict.isdtype(getattr(strict, name), kind)
    for name in (*FLOATS, *COMPLEXES):
        ours, theirs = lazynp.finfo(getattr(lazynp, name)), strict.finfo(getattr(strict, name))
        for attribute in ("bits", "eps", "max", "min", "smallest_normal"):
            assert getattr(ours, attribute) == getattr(theirs, attribute)
        assert str(ours.dtype) == spelled(theirs.dtype)
    for name in INTEGERS:
        ours, theirs = lazynp.iinfo(getattr(lazynp, name)), strict.iinfo(getattr(strict, name))
        assert (ours.bits, ours.max, ours.min) == (theirs.bits, theirs.max, theirs.min)


def test_writes() -> None:
    for dtype in ("float64", "int32"):

        def write(xp: Any, x: Any) -> Any:
            x = xp.asarray(x, copy=True)
            x[0, :] = 7
            x[:, 1:3] = x[:, :2]
            x[x > 2] = 1
            x += 1
            x *= x
            return x

        both(write, data(dtype))


def test_scalars_of_arrays() -> None:
    assert (bool(lazynp.asarray(True)), int(lazynp.asarray(3)), float(lazynp.asarray(1.5))) == (True, 3, 1.5)
    assert complex(lazynp.asarray(1j)) == 1j
    assert [10, 20, 30][lazynp.asarray(1)] == 20
    with pytest.raises(TypeError):
        float(lazynp.ones(3))


def test_results_without_axes_belong_to_the_namespace() -> None:
    for x in (lazynp.sum(lazynp.ones(3)), lazynp.ones(3)[0], lazynp.linalg.vector_norm(lazynp.ones(3))):
        assert x.shape == ()
        assert hasattr(x.__array_namespace__(), "asarray")


# --- DLPack ---


@pytest.mark.parametrize("dtype", KINDS["any"])
def test_dlpack_with_numpy(dtype: str) -> None:
    x = lazynp.asarray(data(dtype))
    assert x.__dlpack_device__() == (1, 0)
    theirs = numpy.from_dlpack(x)
    numpy.testing.assert_array_equal(theirs, data(dtype))
    ours = lazynp.from_dlpack(data(dtype))
    assert type(ours) is lazynp.ndarray
    numpy.testing.assert_array_equal(host(ours), data(dtype))
    again = lazynp.from_dlpack(lazynp.asarray(data(dtype))[::-1, 1:])
    numpy.testing.assert_array_equal(host(again), data(dtype)[::-1, 1:])


def test_dlpack_shares_memory() -> None:
    x = lazynp.zeros(4)
    view = numpy.from_dlpack(x)
    x[1] = 5
    assert view[1] == 5
    copied = numpy.from_dlpack(x, copy=True)
    copied[0] = 9
    assert x[0] == 0
    assert lazynp.from_dlpack(x, copy=True, device="cpu").tolist() == [0, 5, 0, 0]
    pending = lazynp.asarray(data("float64", (500, 500))) * 2
    numpy.testing.assert_array_equal(numpy.from_dlpack(pending), data("float64", (500, 500)) * 2)


class Old(lazynp.ndarray):  # type: ignore[misc]
    """Knows the first version of the protocol alone, whose arrays nobody may write to."""

    def __dlpack__(self, stream: None = None) -> Any:
        return super().__dlpack__(stream=stream)


def test_dlpack_asks_a_subclass_in_its_own_way() -> None:
    x = lazynp.arange(5.0)
    seen = lazynp.from_dlpack(x.view(Old))
    assert not seen.flags.writeable
    x[2] = 9
    assert seen.tolist() == [0, 1, 9, 3, 4]


@pytest.mark.parametrize("version", [None, (0, 0), (1, 0)])
def test_a_capsule_holds_the_array(version: Any) -> None:
    for x in (lazynp.arange(5.0), lazynp.arange(12).reshape(3, 4)[::-1, 1:]):
        for _ in range(2):
            capsule = x.__dlpack__(max_version=version)
            count = sys.getrefcount(x)
            del capsule
            assert sys.getrefcount(x) == count - 1


def test_dlpack_with_others() -> None:
    x = data("float32")
    numpy.testing.assert_array_equal(host(strict.from_dlpack(lazynp.asarray(x))), x)
    numpy.testing.assert_array_equal(host(lazynp.from_dlpack(strict.asarray(x))), x)
    capsule = lazynp.asarray(x).__dlpack__(stream=None, max_version=(1, 0), dl_device=(1, 0), copy=None)
    assert type(capsule).__name__ == "PyCapsule"
    with pytest.raises((BufferError, ValueError)) as theirs:  # the latter in NumPy 2.2
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(theirs.type):
        lazynp.asarray(x).__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError):
        lazynp.asarray(["text"]).__dlpack__()
