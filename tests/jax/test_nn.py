"""`jax.nn` and its initializers against JAX: values, dtypes, weak types, errors, gradients."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from paired import found, same_call, same_gradient

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4)).astype(np.float32) * 3
EDGES = np.array([0.0, -0.0, 6, -1, 1, -3, 3, np.nan, np.inf, -np.inf], np.float32)
KINKS = np.array([0.0, 6, -1, 1, -3, 3, 0.5, -7], np.float32)
ACTIVATIONS = [
    *("identity", "relu", "relu6", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "squareplus", "softplus"),
    *("sparse_plus", "sparse_sigmoid", "soft_sign", "sigmoid", "log_sigmoid", "silu", "swish", "mish", "elu", "celu"),
    *("selu", "leaky_relu", "gelu", "tanh"),
]
ALONG = ("softmax", "log_softmax", "logsumexp", "logmeanexp", "standardize")
INITIALIZERS = [
    *("glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "lecun_normal", "lecun_uniform", "normal"),
    *("uniform", "truncated_normal", "orthogonal", "delta_orthogonal"),
]


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    for x in (X, EDGES, np.arange(-3, 3), 2.0, -1, np.array([True, False]), [1.0], "a"):
        same_call(f"nn.{name}", x)
    same_call(f"nn.{name}", X.astype(np.float16))
    same_gradient(f"nn.{name}", KINKS)


def test_activations_with_parameters() -> None:
    same_call("nn.gelu", X, approximate=False)
    same_gradient("nn.gelu", X, approximate=False)
    same_call("nn.elu", X, 2)
    same_call("nn.celu", X, 2.0)
    same_call("nn.leaky_relu", X, 0.2)
    same_call("nn.squareplus", X, 2)
    same_call("nn.log1mexp", np.abs(X))
    same_gradient("nn.log1mexp", np.abs(X))
    same_gradient("nn.log1mexp", np.array([-100.0, -1, 1e-3, 30, 100, np.inf], np.float32))  # no NaN, no loss
    for axis in (0, 1, -1, 2):
        same_call("nn.glu", X, axis=axis)


@pytest.mark.parametrize("name", ALONG)
def test_along_axes(name: str) -> None:
    for axis in (0, -1, None, (0, 1), 5):
        for where in (None, X > 0):
            same_call(f"nn.{name}", X, axis=axis, where=where, factor=500 if name == "standardize" else 4)
    same_gradient(f"nn.{name}", X, axis=0)


def test_logsumexp_with_factors() -> None:
    same_call("nn.logsumexp", X, axis=1, b=X)
    same_call("nn.logsumexp", X, axis=1, b=X, return_sign=True)
    same_call("nn.logsumexp", X, axis=0, keepdims=True, b=np.abs(X).astype(int))
    same_call("nn.logsumexp", X.astype(np.complex64) * 1j, axis=0)
    same_call("nn.logsumexp", X[:0], axis=0)
    same_gradient("nn.logsumexp", X, axis=1, b=3.0)


def test_standardize() -> None:
    same_call("nn.standardize", X, algorithm="stable")
    same_call("nn.standardize", X, algorithm="another")
    same_call("nn.standardize", X, mean=1.0, variance=2.0)


@pytest.mark.parametrize("axis", [-1, 0, 1, 2, 5, -4])
def test_one_hot(axis: int) -> None:
    same_call("nn.one_hot", np.array([[1, 2, -1], [3, 0, 9]]), 4, axis=axis)
    same_call("nn.one_hot", np.array(3, np.uint8), 4, dtype="int32")


def test_one_hot_over_a_named_axis() -> None:
    def f(x: Any) -> Any:
        return lazynp.jax.nn.one_hot(x, 3, axis="i")

    out = lazynp.jax.vmap(f, axis_name="i")(lazynp.jax.numpy.array([0, 2, 1]))
    assert out.tolist() == [1.0, 0.0, 0.0]


Q, K, V = (RNG.normal(size=s).astype(np.float32) for s in ((2, 5, 4, 8), (2, 7, 2, 8), (2, 7, 2, 8)))
BIAS = RNG.normal(size=(2, 4, 5, 7)).astype(np.float32)
LENGTHS = np.array([3, 5]), np.array([7, 2])


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"bias": BIAS},
        {"bias": BIAS[:, :1]},
        {"mask": BIAS > 0},
        {"is_causal": True},
        {"scale": 0.3},
        {"query_seq_lengths": LENGTHS[0]},
        {"query_seq_lengths": LENGTHS[0], "key_value_seq_lengths": LENGTHS[1]},
        {"local_window_size": 2},
        {"local_window_size": (1, 0)},
        {"return_residual": True},
        {"mask": BIAS},
        {"implementation": "another"},
    ],
    ids=lambda p: "-".join(p),
)
def test_attention(parameters: dict) -> None:
    same_call("nn.dot_product_attention", Q, K, V, factor=20, **parameters)


def test_attention_of_one_sequence() -> None:
    same_call("nn.dot_product_attention", Q[0], K[0], V[0], factor=20)
    same_call("nn.dot_product_attention", Q[:, :, :3], K, V)
    same_gradient("nn.dot_product_attention", Q, K, V, along=(0, 1, 2))


def initialized(lib: str, name: str, factory: dict, shape: tuple, *dtype: Any) -> np.ndarray:
    side = jax if lib == "jax" else lazynp.jax
    init = found(lib, f"nn.initializers.{name}")(**factory)
    return np.asarray(init(side.random.key(3), shape, *dtype))


@pytest.mark.parametrize("name", INITIALIZERS)
def test_initializers(name: str) -> None:
    for shape in ((4, 6), (3, 4, 6)):
        for dtype in ((), ("float16",)):
            if name.endswith("orthogonal") and (dtype or len(shape) == 2 and name.startswith("delta")):
                continue
            wanted, got = (initialized(lib, name, {}, shape, *dtype) for lib in ("jax", "lazynp"))
            assert wanted.dtype == got.dtype
            np.testing.assert_allclose(got.astype(float), wanted.astype(float), rtol=2e-5, atol=2e-6)
    if name not in ("normal", "uniform", "truncated_normal"):
        with pytest.raises(ValueError):
            initialized("lazynp", name, {}, (3,))


@pytest.mark.parametrize("mode", ["fan_in", "fan_out", "fan_avg", "fan_geo_avg", "another"])
@pytest.mark.parametrize("distribution", ["normal", "uniform", "truncated_normal", "another"])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_variance_scaling(mode: str, distribution: str, dtype: str) -> None:
    factory = {"scale": 2.0, "mode": mode, "distribution": distribution}
    if "another" in (mode, distribution):
        with pytest.raises(ValueError, match="invalid"):
            initialized("lazynp", "variance_scaling", factory, (3, 5), dtype)
        return
    wanted, got = (initialized(lib, "variance_scaling", factory, (3, 5), dtype) for lib in ("jax", "lazynp"))
    assert wanted.dtype == got.dtype
    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=1e-6)


def test_constant_initializers() -> None:
    side = lazynp.jax
    assert side.nn.initializers.zeros(None, (2,)).tolist() == [0.0, 0.0]
    assert side.nn.initializers.ones(None, (2,), "int32").tolist() == [1, 1]
    assert side.nn.initializers.constant(3)(None, (2,)).tolist() == [3.0, 3.0]
    assert isinstance(side.nn.initializers.normal(), side.nn.initializers.Initializer)
