"""What stands in for NumPy's wrappers on small arrays gives what they give: values, dtypes, errors, warnings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest
from seeds import Seeds

import lazynp
from lazynp.numpy.quick import quick

SEEDS = Seeds("LAZYNP_QUICK", 1200, 6)
DTYPES = ("f8", "c16", "f4", "i8", "c8", "?", "f2", "O", ">f8")


def matrix(rng: Any) -> numpy.ndarray:
    """Square mostly, singular now and then, empty, with NaN, in any order, of any dtype."""
    n = int(rng.integers(0 if rng.random() < 0.1 else 1, 6))
    shape = [n, n if rng.random() < 0.85 else n + 1]
    if rng.random() < 0.3:
        shape.insert(0, int(rng.integers(0 if rng.random() < 0.1 else 1, 4)))
    x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if rng.random() < 0.3 else 0)
    kind = rng.integers(8)
    if kind == 1:
        x[...] = 1.0
    elif kind == 2 and x.size:
        x.reshape(-1)[rng.integers(x.size)] = rng.choice([numpy.nan, numpy.inf, 1e300])
    elif kind in (3, 4) and shape[-1] == shape[-2]:
        x = x @ x.swapaxes(-1, -2).conj()
    if rng.random() < 0.3:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = x.astype(rng.choice(DTYPES))
    return numpy.asfortranarray(x) if rng.random() < 0.2 else x[..., ::-1] if rng.random() < 0.1 else x


def fast(name: str, module: Any = numpy) -> Any:
    """What the door calls for a function: what is quick, and NumPy's where that gives nothing."""
    host = getattr(module, name)
    plain = getattr(host, "_implementation", host)

    def call(*args: Any, **kwargs: Any) -> Any:
        value = quick[plain](*args, **kwargs)
        return host(*args, **kwargs) if value is NotImplemented else value

    return call


def outcome(call: Any, *args: Any, **kwargs: Any) -> Any:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            value = call(*args, **kwargs)
        except Exception as error:
            return type(error), str(error)
    parts = value if isinstance(value, tuple) else (value,)
    return type(value).__name__, parts, sorted([str(w.message) for w in said])


def agree(found: Any, wanted: Any, case: Any) -> None:
    assert found[0] == wanted[0], (case, found, wanted)
    if len(wanted) == 2:
        assert found == wanted, case
        return
    assert found[2] == wanted[2], case
    for a, b in zip(found[1], wanted[1], strict=True):
        assert type(a) is type(b) and numpy.asarray(a).dtype == numpy.asarray(b).dtype, case
        assert numpy.shape(a) == numpy.shape(b), case
        numpy.testing.assert_array_equal(numpy.asarray(a), numpy.asarray(b), err_msg=str(case))
        if isinstance(a, numpy.ndarray):
            assert a.strides == b.strides or a.size < 2, case
        assert numpy.array_equal(numpy.signbit(numpy.real(a)), numpy.signbit(numpy.real(b))), case


@pytest.mark.parametrize("block", SEEDS.blocks)
def test_linear_algebra(block: int) -> None:
    names = ("solve", "inv", "det", "slogdet", "cholesky", "eigh", "eigvalsh", "svd")
    for seed in SEEDS.of(block):
        rng = numpy.random.default_rng(seed)
        name, x, kwargs = str(rng.choice(names)), matrix(rng), {}
        if name in ("svd", "eigh", "eigvalsh") and not (abs(x.astype("c16")) < 1e9).all():
            continue  # with infinities LAPACK may not come to an end
        args: tuple[Any, ...] = (x,)
        if name == "solve":
            y = matrix(rng)
            args = (x, y[..., 0].copy() if y.size and rng.random() < 0.5 else y)
        elif name == "svd" and rng.random() < 0.5:
            args, kwargs = ((x, False), {}) if rng.random() < 0.5 else ((x,), {"compute_uv": False})
        elif name in ("eigh", "eigvalsh") and rng.random() < 0.3:
            kwargs = {"UPLO": "U"}
        elif name == "cholesky" and rng.random() < 0.3:
            kwargs = {"upper": True}
        host, ours = getattr(numpy.linalg, name), fast(name, numpy.linalg)
        with numpy.errstate(all=rng.choice(["warn", "ignore", "raise"])):
            agree(outcome(ours, *args, **kwargs), outcome(host, *args, **kwargs), (seed, name))


@pytest.mark.parametrize("block", SEEDS.blocks)
def test_fourier_transforms(block: int) -> None:
    names = ("fft", "ifft", "rfft", "irfft", "fft2", "ifft2", "fftn", "ifftn")
    for seed in SEEDS.of(block):
        rng = numpy.random.default_rng(seed)
        nd = int(rng.integers(0 if rng.random() < 0.1 else 1, 4))
        shape = rng.integers(0 if rng.random() < 0.1 else 1, 9, nd)
        x = numpy.asarray(rng.standard_normal(shape)) + (1j * rng.standard_normal(shape) if rng.random() < 0.5 else 0)
        if x.size and rng.random() < 0.1:
            x.reshape(-1)[0] = rng.choice([numpy.nan, numpy.inf, 1e308])
        if rng.random() < 0.2 and x.dtype.kind == "f":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                x = x.astype(rng.choice(DTYPES))
        x = numpy.asfortranarray(x) if rng.random() < 0.2 else x
        name, kwargs = str(rng.choice(names)), {}
        several = name.endswith(("2", "n"))
        options: dict[str, Any] = {
            "s" if several else "n": rng.choice([1, 3, 4]) if not several else (2,) * min(nd, 2),
            "norm": rng.choice(["ortho", "forward", "backward", "else"]),
            "axes" if several else "axis": [(0,), (-1, 0), (0, 1), None, (5,)][rng.integers(5)]
            if several
            else int(rng.integers(-4, 3)),
        }
        for key, value in options.items():
            if rng.random() < 0.3:
                kwargs[key] = value
        host, ours = getattr(numpy.fft, name), fast(name, numpy.fft)
        agree(outcome(ours, x, **kwargs), outcome(host, x, **kwargs), (seed, name, kwargs))


@pytest.mark.parametrize("block", SEEDS.blocks)
def test_common_functions(block: int) -> None:
    def numbers(rng: Any, nd: Any = None) -> numpy.ndarray:
        shape = rng.integers(0 if rng.random() < 0.05 else 1, 9, rng.integers(0, 4) if nd is None else nd)
        x = numpy.asarray(rng.standard_normal(shape))
        kind = rng.integers(9)
        if kind == 1 and x.size:
            x.reshape(-1)[rng.integers(x.size)] = rng.choice([numpy.nan, numpy.inf, 1e308, 0.0, -0.0, 1e-310])
        elif kind == 2:
            x = x.round() * rng.choice([-1, 1])
        elif kind == 3:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                x = x.astype(rng.choice(("f4", "i8", "c16", "?", "f2", ">f8")))
        return x.T if rng.random() < 0.2 else x[..., ::2] if x.ndim and rng.random() < 0.2 else x

    def number(rng: Any) -> Any:
        return [1, 0, -3, 0.5, 1.0, 2.5, numpy.inf, numpy.nan, 1e-300, 2**60, numpy.float64(0.25), True][
            rng.integers(12)
        ]

    for seed in SEEDS.of(block):
        rng = numpy.random.default_rng(seed)
        x = numbers(rng)
        near = x + rng.choice([0, 1e-9, 1e-5]) if rng.random() < 0.5 else numbers(rng)
        part = [0.3, 0, 1, 0.5, 1.0, 0.99, [0.2, 0.7], numpy.float64(0.5), -0.1, 25, 100, 99.9][rng.integers(12)]
        table = numbers(rng, 2)
        points = numpy.asarray(rng.standard_normal((*rng.integers(1, 4, rng.integers(0, 3)), rng.choice([2, 3, 3, 3]))))
        wanted: dict[str, tuple[Any, dict[str, Any]]] = {
            "isclose": ((x, near if rng.random() < 0.7 else number(rng)), {"rtol": number(rng)} if seed % 3 else {}),
            "allclose": ((x, near if rng.random() < 0.7 else number(rng)), {"atol": 0.1} if seed % 3 else {}),
            "cross": ((points, rng.standard_normal(3) if rng.random() < 0.5 else points[::-1]), {}),
            "linspace": ((number(rng), number(rng), *[(int(rng.integers(-1, 9)),), ()][seed % 2]), {}),
            "median": ((x,), {"axis": 0} if seed % 5 == 0 else {}),
            "quantile": ((x, part), {}),
            "percentile": ((x, part), {"method": "lower"} if seed % 7 == 0 else {}),
            "histogram": (
                (x, int(rng.integers(0, 9))),
                [{}, {"range": (-1, 1.5)}, {"weights": near}, {"range": (0, 1), "weights": near}, {"density": True}][
                    rng.integers(5)
                ],
            ),
            "cov": ((table,), {"rowvar": bool(seed % 2)} if seed % 3 else {}),
            "corrcoef": ((table,), {"rowvar": bool(seed % 2)} if seed % 3 else {}),
        }
        for name, (args, kwargs) in wanted.items():
            host, ours = getattr(numpy, name), fast(name, numpy)
            with numpy.errstate(all=rng.choice(["warn", "ignore", "raise"])):
                agree(outcome(ours, *args, **kwargs), outcome(host, *args, **kwargs), (seed, name, args, kwargs))


def test_the_door_uses_them() -> None:
    assert quick, "NumPy's private names have changed: see lazynp/numpy/quick.py"
    for module, name in (
        (lazynp.linalg, "solve"),
        (lazynp.fft, "fft2"),
        (lazynp.fft, "irfft"),
        (lazynp.linalg, "eigh"),
    ):
        assert getattr(module, name).whole in quick.values()
    a = lazynp.array([[1.0, 2.0], [2.0, 4.0]])
    with pytest.raises(lazynp.linalg.LinAlgError, match="Singular"):
        lazynp.linalg.inv(a)
    assert type(lazynp.linalg.slogdet(a + lazynp.eye(2)).logabsdet) is numpy.float64
