"""`jax.lax` against JAX: values, dtypes, weak types, derivatives to order 2, batches, errors."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import jax as real_jax
import numpy as np
import pytest

import lazynp.jax as jax

real_jax.config.update("jax_platforms", "cpu")
Maker = Callable[[np.random.Generator], np.ndarray]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> Maker:
    return lambda rng: rng.uniform(low, high, shape).astype(np.float32)


def whole(*shape: int, low: int = -6, high: int = 7, dtype: Any = np.int32) -> Maker:
    return lambda rng: rng.integers(low, high, shape).astype(dtype)


def unsigned(*shape: int) -> Maker:
    return whole(*shape, low=0, high=1 << 31, dtype=np.uint32)


def truth(*shape: int) -> Maker:
    return lambda rng: rng.integers(0, 2, shape).astype(bool)


def complexes(*shape: int) -> Maker:
    return lambda rng: (rng.uniform(0.3, 1.5, shape) + 1j * rng.uniform(-1, 1, shape)).astype(np.complex64)


POSITIVE, UNIT = real(2, 3, low=0.2, high=2.5), real(2, 3, low=-0.9, high=0.9)
R, I, U, B, C = real(2, 3), whole(2, 3), unsigned(2, 3), truth(2, 3), complexes(2, 3)
Case = tuple[Callable[..., Any], Sequence[Maker], int]
CASES: dict[str, Case] = {}


def case(name: str, f: Callable[..., Any], *makers: Maker, order: int = 2) -> None:
    CASES[name] = (f, makers, order)


def plain(name: str, *makers: Maker, order: int = 2) -> None:
    title = name if name not in CASES else f"{name} {len(CASES)}"
    case(title, lambda l, *xs: getattr(l, name)(*xs), *makers, order=order)


for _name in [
    "abs",
    "cos",
    "cosh",
    "exp",
    "exp2",
    "expm1",
    "logistic",
    "neg",
    "sin",
    "sinh",
    "square",
    "tan",
    "tanh",
    "asinh",
    "atan",
    "erf",
    "erfc",
    "cbrt",
]:
    plain(_name, R)
for _name in ["log", "log1p", "sqrt", "rsqrt", "reciprocal", "lgamma", "digamma", "bessel_i0e", "bessel_i1e"]:
    plain(_name, POSITIVE)
for _name in ["acos", "asin", "atanh", "erf_inv"]:
    plain(_name, UNIT)
for _name in ["ceil", "floor", "sign", "is_finite", "round"]:
    plain(_name, R, order=1)
for _name in [
    "exp",
    "cos",
    "sin",
    "tanh",
    "log",
    "sqrt",
    "square",
    "neg",
    "abs",
    "sign",
    "logistic",
    "real",
    "imag",
    "conj",
    "rsqrt",
    "reciprocal",
    "expm1",
    "log1p",
]:
    plain(_name, C, order=0 if _name in ("sign",) else 1)
plain("acosh", real(2, 3, low=1.2, high=3.0))
for _name in ["add", "sub", "mul", "div", "max", "min", "atan2", "rem"]:
    plain(_name, R, real(2, 3, low=0.3, high=2.0))
for _name in ["add", "sub", "mul", "max", "min", "div", "rem"]:
    plain(_name, I, whole(2, 3, low=-3, high=4), order=0)
    plain(_name, whole(4, low=0, high=9, dtype=np.uint8), whole(4, low=0, high=3, dtype=np.uint8), order=0)
for _name in ["add", "sub", "mul", "div"]:
    plain(_name, C, C, order=1)
for _name in ["eq", "ne", "lt", "le", "gt", "ge"]:
    plain(_name, I, whole(2, 3, low=-3, high=4), order=0)
for _name in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
    plain(_name, I, I, order=0)
    plain(_name, B, B, order=0)
for _name in ["population_count", "clz", "bitwise_not"]:
    plain(_name, I, order=0)
    plain(_name, U, order=0)
    plain(_name, whole(9, low=-128, high=127, dtype=np.int8), order=0)
plain("bitwise_not", B, order=0)
for _name in ["shift_left", "shift_right_arithmetic", "shift_right_logical"]:
    plain(_name, I, whole(2, 3, low=0, high=40), order=0)
    plain(_name, U, whole(2, 3, low=0, high=40, dtype=np.uint32), order=0)
plain("mulhi", U, U, order=0)
plain("mulhi", whole(5, low=-(1 << 31), high=1 << 31), whole(5, low=-(1 << 31), high=1 << 31), order=0)
plain("pow", POSITIVE, R)
case("pow int", lambda l, x: l.pow(x, 3), R)
case("integer_pow", lambda l, x: (l.integer_pow(x, 3), l.integer_pow(x, -2), l.integer_pow(x, 0)), POSITIVE)
plain("igamma", POSITIVE, POSITIVE, order=1)
plain("igammac", POSITIVE, POSITIVE, order=1)
plain("betainc", POSITIVE, POSITIVE, real(2, 3, low=0.1, high=0.9), order=0)
case("betainc x", lambda l, x: l.betainc(2.0, 3.0, x), real(2, 3, low=0.1, high=0.9))
plain("zeta", real(2, 3, low=1.5, high=4.0), POSITIVE, order=0)
case("polygamma", lambda l, x: l.polygamma(1.0, x), POSITIVE)
plain("random_gamma_grad", POSITIVE, POSITIVE, order=0)
plain("nextafter", R, R, order=0)
plain("complex", R, R, order=1)
case(
    "round even",
    lambda l, x: l.round(x, l.RoundingMethod.TO_NEAREST_EVEN),
    lambda rng: np.arange(-8, 9).astype("f") / 2,
)
case("round away", lambda l, x: l.round(x), lambda rng: np.arange(-8, 9).astype("f") / 2)
case("clamp", lambda l, x: l.clamp(-1.0, x, 1.0), R)
case("clamp arrays", lambda l, a, x, b: l.clamp(a, x, b), real(2, 3, high=-0.5), R, real(2, 3, low=0.5))
case("reduce_precision", lambda l, x: (l.reduce_precision(x, 5, 3), l.reduce_precision(x, 8, 7)), R, order=0)

# Shapes.

case("convert", lambda l, x: (l.convert_element_type(x, np.int32), l.convert_element_type(x, np.float16)), R, order=1)
case("bitcast", lambda l, x: (l.bitcast_convert_type(x, np.int32), l.bitcast_convert_type(x, np.uint8)), R, order=0)
case(
    "bitcast up",
    lambda l, x: l.bitcast_convert_type(x, np.float32),
    whole(3, 4, low=0, high=99, dtype=np.uint8),
    order=0,
)
case("broadcast", lambda l, x: l.broadcast(x, (2, 1)), R)
case("broadcast_in_dim", lambda l, x: l.broadcast_in_dim(x, (3, 4, 2), (0, 2)), real(3, 1))
case("reshape", lambda l, x: (l.reshape(x, (6,)), l.reshape(x, (3, 2), (1, 0))), R)
case("transpose", lambda l, x: l.transpose(x, (2, 0, 1)), real(2, 3, 4))
case("squeeze", lambda l, x: (l.squeeze(x, (1,)), l.expand_dims(x, (0, -1)), l.collapse(x, 0, 2)), real(2, 1, 3))
case("rev", lambda l, x: l.rev(x, (0, 1)), R)
case("slice", lambda l, x: l.slice(x, (1, 0), (4, 5), (2, 3)), real(5, 6))
case(
    "slice_in_dim",
    lambda l, x: (l.slice_in_dim(x, 1, -1, axis=1), l.index_in_dim(x, -1), l.index_in_dim(x, 1, 1, False)),
    real(3, 4),
)
case("pad", lambda l, x: (l.pad(x, 0.5, ((1, 2, 1), (-1, 0, 2))), l.pad(x, 0.0, ((-1, -1, 0), (0, 1, 0)))), real(4, 3))
case("pad value", lambda l, x, v: l.pad(x, v, ((1, 0, 1),)), real(3), real())
case("concatenate", lambda l, x, y: (l.concatenate([x, y, x], 1), l.stack([x, x], 1)), R, real(2, 2))
case("split", lambda l, x: (*l.split(x, (1, 3), 1), *l.unstack(x)), real(2, 4))
case("tile", lambda l, x: l.tile(x, (2, 3)), R)
case("select", lambda l, b, x, y: (l.select(b, x, y), l.select_n(b, x, y)), B, R, R)
case("select_n", lambda l, i, x, y, z: l.select_n(i, x, y, z), whole(2, 3, low=0, high=3), R, R, R)
case("iota", lambda l, x: (l.add(x, l.iota(np.float32, 3)), l.broadcasted_iota(np.int32, (2, 3), 1)), real(3))
case(
    "full",
    lambda l, x: (l.full((2,), 1), l.full_like(x, 2), l.full_like(x, 2.5, np.int32, (4,)), l.full((2,), x)),
    real(),
)
case("stop_gradient", lambda l, x: l.mul(x, l.stop_gradient(x)), R)

# Reductions, order.

case("reduce_sum", lambda l, x: (l.reduce_sum(x, (1,)), l.reduce_sum(x, (0, 2)), l.reduce_sum(x, ())), real(2, 3, 2))
case("reduce_prod", lambda l, x: (l.reduce_prod(x, (1,)), l.reduce_prod(x, (0, 1))), R)
case("reduce_max", lambda l, x: (l.reduce_max(x, (1,)), l.reduce_min(x, (0, 1))), R)
case(
    "reduce ints",
    lambda l, x: (l.reduce_sum(x, (0,)), l.reduce_and(x, (1,)), l.reduce_or(x, (1,)), l.reduce_xor(x, (0,))),
    whole(3, 4, dtype=np.int8),
    order=0,
)
case(
    "reduce bools",
    lambda l, x: (l.reduce_and(x, (1,)), l.reduce_or(x, (0,)), l.reduce_xor(x, (0,))),
    truth(3, 4),
    order=0,
)
case("argmax", lambda l, x: (l.argmax(x, 1, np.int32), l.argmin(x, 0, np.uint8)), R, order=0)
case("cumsum", lambda l, x: (l.cumsum(x, 0), l.cumsum(x, 1, reverse=True)), real(3, 4))
case("cumprod", lambda l, x: (l.cumprod(x, 0), l.cumprod(x, 1, reverse=True)), real(3, 4))
case("cummax", lambda l, x: (l.cummax(x, 0), l.cummin(x, 1, reverse=True)), real(3, 4))
case("cumlogsumexp", lambda l, x: (l.cumlogsumexp(x, 0), l.cumlogsumexp(x, 1, reverse=True)), real(3, 4))
case("cumsum ints", lambda l, x: l.cumsum(x, 0), whole(9, dtype=np.int8), order=0)
case("sort", lambda l, x: (l.sort(x), l.sort(x, 0)), real(4, 5))
case(
    "sort several",
    lambda l, k, x: l.sort((k, x, x), dimension=0, num_keys=2),
    lambda rng: rng.integers(0, 3, 7).astype("i4"),
    real(7),
)
case("sort_key_val", lambda l, k, x: l.sort_key_val(k, x), real(2, 5), real(2, 5))
case("top_k", lambda l, x: l.top_k(x, 3), real(2, 6))
case("top_k ties", lambda l, x: l.top_k(x, 4), whole(9, low=0, high=3), order=0)
case("approx_max_k", lambda l, x: (l.approx_max_k(x, 2), l.approx_min_k(x, 2)), real(2, 6), order=0)
case("reduce", lambda l, x: l.reduce(x, 0.0, l.add, (1,)), R)
case("reduce function", lambda l, x: l.reduce(x, 0.0, lambda a, b: l.add(l.add(a, b), l.mul(a, b)), (0,)), real(4, 3))
case(
    "reduce pair",
    lambda l, x, i: l.reduce((x, i), (-9.0, 0), lambda a, b: (l.max(a[0], b[0]), l.add(a[1], b[1])), (1,)),
    R,
    I,
    order=0,
)
MAXIMUM = -np.inf
case("reduce_window sum", lambda l, x: l.reduce_window(x, 0.0, l.add, (2, 3), (1, 2), "SAME"), real(5, 7))
case("reduce_window max", lambda l, x: l.reduce_window(x, MAXIMUM, l.max, (2, 2), (2, 2), "VALID"), real(4, 6))
case(
    "reduce_window ties",
    lambda l, x: l.reduce_window(x, MAXIMUM, l.max, (3, 2), (1, 1), "SAME"),
    lambda rng: rng.integers(0, 2, (4, 5)).astype("f"),
    order=1,
)
case("reduce_window dilated", lambda l, x: l.reduce_window(x, 0.0, l.add, (2,), (1,), ((1, 2),), (2,), (3,)), real(6))
case("reduce_window long", lambda l, x: l.reduce_window(x, 0.0, l.add, (21,), (3,), "SAME"), real(50))
case(
    "reduce_window init",
    lambda l, x: l.reduce_window(x, 1.0, l.mul, (2,), (1,), "VALID"),
    real(5, low=0.5, high=1.5),
    order=0,
)

# Products.

case("dot", lambda l, x, y: l.dot(x, y), real(2, 3), real(3, 4))
case("dot vectors", lambda l, x, y, z: (l.dot(x, y), l.dot(z, x)), real(3), real(3), real(2, 3))
case("dot_general", lambda l, x, y: l.dot_general(x, y, (((2,), (1,)), ((0,), (2,)))), real(2, 3, 4), real(5, 4, 2))
case(
    "dot ints",
    lambda l, x, y: (l.dot(x, y), l.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=np.int32)),
    whole(2, 3, dtype=np.int8),
    whole(3, 2, dtype=np.int8),
    order=0,
)
case(
    "dot half",
    lambda l, x, y: l.dot(x, y, preferred_element_type=np.float32),
    lambda rng: rng.uniform(0, 1, (2, 3)).astype("f2"),
    lambda rng: rng.uniform(0, 1, (3, 2)).astype("f2"),
    order=0,
)
case("batch_matmul", lambda l, x, y: l.batch_matmul(x, y), real(2, 3, 4), real(2, 4, 2))
case(
    "ragged_dot", lambda l, x, y: l.ragged_dot(x, y, np.array([1, 3, 0], np.int32)), real(5, 2), real(3, 2, 4), order=1
)


def conv_case(title: str, x: tuple[int, ...], w: tuple[int, ...], order: int = 2, **params: Any) -> None:
    steps = params.pop("strides", (1,) * (len(x) - 2))
    padding = params.pop("padding", "VALID")
    case(
        f"conv {title}",
        lambda l, a, b: l.conv_general_dilated(a, b, steps, padding, **params),
        real(*x),
        real(*w),
        order=order,
    )


conv_case("plain", (2, 3, 5, 6), (4, 3, 2, 3))
conv_case("same strides", (1, 2, 5, 6), (3, 2, 3, 2), strides=(2, 3), padding="SAME")
conv_case("dilations", (1, 2, 6, 5), (2, 2, 2, 2), padding=((1, 2), (0, 1)), lhs_dilation=(1, 2), rhs_dilation=(2, 1))
conv_case("negative padding", (1, 1, 6, 6), (1, 1, 2, 2), padding=((-1, 0), (2, -2)))
conv_case("negative padding, dilated", (1, 1, 6), (1, 1, 2), padding=((-3, -2),), lhs_dilation=(3,))
conv_case("groups", (2, 4, 5), (6, 2, 2), feature_group_count=2, strides=(2,))
conv_case("depthwise", (2, 3, 5), (6, 1, 2), feature_group_count=3, padding="SAME")
conv_case("batch groups", (4, 2, 5), (6, 2, 2), batch_group_count=2)
conv_case("layout", (2, 5, 6, 3), (2, 3, 3, 4), dimension_numbers=("NHWC", "HWIO", "NHWC"))
conv_case("layout 2", (5, 2, 3), (4, 2, 3), dimension_numbers=("HNC", "OHI", "CHN"), order=1)
conv_case("no space", (2, 3), (4, 3))
case("conv ints", lambda l, a, b: l.conv(a, b, (1,), "SAME"), whole(1, 2, 5), whole(1, 2, 2), order=0)
case(
    "conv_transpose",
    lambda l, a, b: (
        l.conv_transpose(a, b, (2,), "SAME"),
        l.conv_transpose(a, b, (3,), "VALID"),
        l.conv_transpose(a, b, (2,), ((1, 0),)),
        l.conv_transpose(a, l.transpose(b, (0, 2, 1)), (1,), "SAME", transpose_kernel=True),
    ),
    real(2, 4, 3),
    real(3, 3, 2),
)
case(
    "conv_with_general_padding",
    lambda l, a, b: l.conv_with_general_padding(a, b, (1,), ((1, 1),), (2,), (1,)),
    real(1, 2, 4),
    real(2, 2, 2),
)
case("patches", lambda l, a: l.conv_general_dilated_patches(a, (2, 3), (1, 2), "VALID"), real(1, 2, 4, 5), order=1)
case(
    "local",
    lambda l, a, b: l.conv_general_dilated_local(a, b, (1,), "VALID", (2,)),
    real(2, 3, 5),
    real(4, 6, 4),
    order=1,
)

case("fft", lambda l, x: (l.fft(x, "fft", (4,)), l.fft(x, l.FftType.IFFT, (3, 4))), complexes(2, 3, 4), order=1)
case("rfft", lambda l, x: l.fft(x, "RFFT", (3, 4)), real(2, 3, 4), order=1)
case("irfft", lambda l, x: l.fft(x, "IRFFT", (3, 5)), complexes(2, 3, 3), order=1)

# Dynamic slices, gather, scatter.

START = (lambda rng: np.array(rng.integers(-1, 4), np.int32)), (lambda rng: np.array(rng.integers(-1, 5), np.int32))
case("dynamic_slice", lambda l, x, i, j: l.dynamic_slice(x, (i, j), (2, 3)), real(4, 5), *START)
case("dynamic_slice vector", lambda l, x, i: l.dynamic_slice(x, i, (2, 3)), real(4, 5), whole(2, low=-2, high=5))
case("dynamic_update_slice", lambda l, x, v, i, j: l.dynamic_update_slice(x, v, (i, j)), real(4, 5), real(2, 3), *START)
case(
    "dynamic_in_dim",
    lambda l, x, i: (l.dynamic_slice_in_dim(x, i, 2, 1), l.dynamic_index_in_dim(x, i, 0, False)),
    real(4, 5),
    START[0],
)
case(
    "dynamic_update_in_dim",
    lambda l, x, v, i: (
        l.dynamic_update_slice_in_dim(x, v, i, 1),
        l.dynamic_update_index_in_dim(x, l.index_in_dim(v, 0, 1, False), i, 1),
    ),
    real(4, 5),
    real(4, 2),
    START[0],
)
case(
    "index_take",
    lambda l, x, i, j: l.index_take(x, (i, j), (0, 2)),
    real(4, 5, 3),
    whole(6, low=0, high=4),
    whole(6, low=0, high=3),
)


def gather_case(
    title: str, shape: tuple[int, ...], starts: Maker, sizes: tuple[int, ...], *dims: Any, **params: Any
) -> None:
    def f(l: Any, x: Any, i: Any) -> Any:
        return l.gather(x, i, l.GatherDimensionNumbers(*dims), sizes, **params)

    case(f"gather {title}", f, real(*shape), starts)


gather_case("rows", (5, 3), whole(4, 1, low=0, high=5), (1, 3), (1,), (0,), (0,))
gather_case("clip", (5, 3), whole(4, 1, low=-1, high=7), (1, 3), (1,), (0,), (0,), mode="clip")
gather_case("fill", (5, 3), whole(4, 1, low=-1, high=7), (1, 3), (1,), (0,), (0,), mode="fill", fill_value=7)
gather_case("windows", (5, 6), whole(3, 2, low=-1, high=6), (2, 3), (1, 2), (), (0, 1), mode="fill")
gather_case("window in front", (5, 6), whole(3, 2, 2, low=0, high=3), (2, 3), (0, 3), (), (1, 0), mode="clip")
gather_case("partly whole", (5, 6, 2), whole(3, 1, low=0, high=4), (2, 6, 1), (0, 2), (2,), (0,))
gather_case("batching", (3, 5, 2), whole(3, 4, 1, low=0, high=5), (1, 1, 2), (2,), (1,), (1,), (0,), (0,))


def scatter_case(
    title: str, how: str, shape: tuple[int, ...], starts: Maker, updates: tuple[int, ...], *dims: Any, order: int = 2
) -> None:
    def f(l: Any, x: Any, i: Any, v: Any) -> Any:
        return getattr(l, how)(x, i, v, l.ScatterDimensionNumbers(*dims))

    case(f"{how} {title}", f, real(*shape), starts, real(*updates), order=order)


def distinct(n: int, *of: int) -> Maker:
    return lambda rng: rng.permutation(n)[: int(np.prod(of))].reshape(*of, 1).astype(np.int32)


for _name in ("scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"):
    scatter_case(
        "rows",
        _name,
        (5, 3),
        distinct(7, 4),
        (4, 3),
        (1,),
        (0,),
        (0,),
        order=0 if _name in ("scatter_mul", "scatter_min", "scatter_max") else 2,
    )
scatter_case("again", "scatter_add", (5,), whole(9, 1, low=-1, high=7), (9,), (), (0,), (0,))
scatter_case("windows", "scatter_add", (5, 6), whole(3, 2, low=-1, high=6), (3, 2, 3), (1, 2), (), (0, 1))
scatter_case(
    "batching", "scatter_add", (3, 5, 2), whole(3, 4, 1, low=0, high=5), (3, 4, 2), (2,), (1,), (1,), (0,), (0,)
)
case(
    "scatter_apply",
    lambda l, x: l.scatter_apply(
        x, np.array([[1], [3]], np.int32), l.sin, l.ScatterDimensionNumbers((), (0,), (0,)), update_shape=(2,)
    ),
    real(5),
    order=0,
)

# Of equal elements JAX takes one in reverse mode and another in forward mode.
BACKWARD_ONLY = {"reduce_window ties"}
NOT_BATCHED = {"iota", "full", "scatter_apply", "random_gamma_grad"}
LOOSE = {
    "lgamma": 2e-5,
    "digamma": 2e-5,
    "polygamma": 3e-5,
    "igamma": 3e-5,
    "igammac": 3e-5,
    "random_gamma_grad": 2e-4,
    "betainc": 3e-5,
}
names = pytest.mark.parametrize("name", CASES)


def leaves(tree: Any) -> list[Any]:
    return real_jax.tree.leaves(tree, is_leaf=lambda x: isinstance(x, jax.Array))


def arrays_of(name: str) -> list[np.ndarray]:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return [np.asarray(m(rng)) for m in CASES[name][1]]


def same(ours: Any, theirs: Any, tolerance: float, types: bool = True) -> None:
    ours, theirs = leaves(ours), leaves(theirs)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert np.shape(a) == np.shape(b)
        if isinstance(b, real_jax.Array):
            assert a.dtype == b.dtype
        if types:
            assert a.weak_type == b.weak_type
        x, y = np.asarray(a), np.asarray(b)
        if x.dtype.kind in "fc":
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(x, y)


def tolerance_of(name: str) -> float:
    return LOOSE.get(name.split()[0], 3e-6)


@names
def test_values(name: str) -> None:
    f, _, _ = CASES[name]
    xs = arrays_of(name)
    ours = f(jax.lax, *xs)
    same(ours, f(real_jax.lax, *xs), tolerance_of(name))
    same(jax.jit(lambda *xs: f(jax.lax, *xs))(*xs), ours, tolerance_of(name))


def scalar(
    j: Any, name: str, weights: Sequence[np.ndarray], live: Sequence[int], xs: Sequence[Any]
) -> Callable[..., Any]:
    """A weighted sum of all float results, as a function of the float arguments."""
    f = CASES[name][0]

    def g(*some: Any) -> Any:
        args = list(xs)
        for i, x in zip(live, some):
            args[i] = x
        out = 0.0
        outs = [y for y in leaves(f(j.lax, *args)) if y.dtype.kind in "fc" and y.dtype != np.float16]
        for y, w in zip(outs, weights):
            flat = j.lax.reshape(y, (y.size,))
            if y.dtype.kind == "c":
                flat = j.lax.add(j.lax.real(flat), j.lax.imag(j.lax.mul(flat, flat)))
            out = j.lax.add(out, j.lax.dot(j.lax.mul(flat, flat), w[: y.size]))
        return out

    return g


@names
def test_derivatives(name: str) -> None:
    _, _, order = CASES[name]
    if order == 0:
        return
    xs = arrays_of(name)
    live = [i for i, x in enumerate(xs) if x.dtype.kind in "fc"]
    rng = np.random.default_rng(1)
    weights = [rng.uniform(0.5, 1, 400).astype(np.float32) for _ in range(6)]
    some = tuple([xs[i] for i in live])
    steps = tuple([(rng.uniform(-1, 1, x.shape) + (1j if x.dtype.kind == "c" else 0)).astype(x.dtype) for x in some])
    scale = 10 * tolerance_of(name)

    def both(make: Callable[[Any], Any], tolerance: float) -> None:
        same(make(jax), make(real_jax), tolerance, False)

    def g(j: Any) -> Callable[..., Any]:
        return scalar(j, name, weights, live, xs)

    every = tuple(range(len(live)))
    both(lambda j: j.grad(g(j), every)(*some), 2 * scale)
    if name not in BACKWARD_ONLY:
        both(lambda j: j.jvp(g(j), some, steps), 2 * scale)
    if order > 1:
        both(lambda j: j.jvp(j.grad(g(j), every), some, steps), 20 * scale)
        both(lambda j: j.grad(lambda *a: j.jvp(g(j), a, steps)[1], every)(*some), 20 * scale)


@names
def test_batches(name: str) -> None:
    """Along every argument, and along one alone."""
    if name in NOT_BATCHED:
        return
    f, makers, _ = CASES[name]
    rng = np.random.default_rng(3)
    many = [np.stack([np.asarray(m(rng)) for _ in range(3)]) for m in makers]
    chosen = [[0] * len(many)]
    if len(many) > 1:
        chosen += [[0 if i == k else None for i in range(len(many))] for k in range(len(many))]
    for axes in chosen:
        xs = [x if a == 0 else x[0] for x, a in zip(many, axes)]
        ours = jax.vmap(lambda *xs: f(jax.lax, *xs), tuple(axes))(*xs)
        rows = [f(jax.lax, *[x[i] if a == 0 else x for x, a in zip(xs, axes)]) for i in range(3)]
        want = [np.stack([np.asarray(leaves(r)[k]) for r in rows]) for k in range(len(leaves(ours)))]
        for a, b in zip(leaves(ours), want):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            np.testing.assert_allclose(np.asarray(a), b, rtol=2e-5, atol=2e-5)


# Scalars, weak types, edges.

SCALARS: dict[str, Callable[[Any], Any]] = {
    "weak": lambda l: (l.add(1.0, 2.0), l.add(1, 2), l.sin(1.0), l.max(1.0, np.float32(2)), l.neg(1), l.abs(-1)),
    "by zero": lambda l: (l.div(1, 0), l.div(-7, 2), l.rem(-7, 2), l.rem(7, 0), l.div(np.uint8(7), np.uint8(0))),
    "least": lambda l: (l.div(np.int32(-(1 << 31)), np.int32(-1)), l.rem(np.int32(-(1 << 31)), np.int32(-1))),
    "shifts": lambda l: (l.shift_left(1, 33), l.shift_right_logical(-8, 1), l.shift_right_arithmetic(-8, 40)),
    "zeros": lambda l: (l.sign(np.float32(-0.0)), l.sign(np.float32(np.nan)), l.round(np.float32(-0.4))),
    "broadcast": lambda l: (l.add(np.ones(3, "f"), 1.0), l.add(np.ones((2, 1), "f"), np.ones((1, 3), "f"))),
    "full": lambda l: (l.full((2,), 1), l.full((), 1.5, np.int32), l.iota(float, 3), l.full_like(1.5, 2)),
    "shape tuples": lambda l: (
        np.array(l.broadcast_shapes((2, 1), (3,))),
        np.array(l.conv_general_shape_tuple((1, 3, 9), (4, 3, 2), (2,), "SAME", ("NCW", "OIW", "NCW"))),
        np.array(l.conv_transpose_shape_tuple((1, 3, 9), (4, 3, 2), (2,), "SAME", ("NCW", "OIW", "NCW"))),
        np.array(l.reduce_window_shape_tuple((5, 6), (2, 2), (1, 2), ((0, 1), (0, 0)))),
        np.array(l.padtype_to_pads((5,), (3,), (2,), "SAME_LOWER")),
    ),
    "nans": lambda l: (
        l.max(np.float32(np.nan), 1.0),
        l.clamp(0.0, np.float32(np.nan), 1.0),
        l.erf_inv(1.0),
        l.logistic(-200.0),
    ),
    "sort nans": lambda l: l.sort(np.array([np.nan, 1, -np.inf, 0.0, -0.0], "f")),
    "top_k nans": lambda l: l.top_k(np.array([np.nan, 1, -np.inf, 0.0, 3], "f"), 3),
    "linear gradients at bounds": lambda l: l.argmax(np.array([1, np.nan, 3], "f"), 0, np.int32),
}


@pytest.mark.parametrize("name", SCALARS)
def test_scalars(name: str) -> None:
    f = SCALARS[name]
    ours, theirs = leaves(f(jax.lax)), leaves(f(real_jax.lax))
    for a, b in zip(ours, theirs, strict=True):
        assert (a.shape, a.dtype, getattr(a, "weak_type", 0)) == (b.shape, b.dtype, getattr(b, "weak_type", 0))
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)
        if np.asarray(a).dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


X = np.ones((2, 3), np.float32)
ERRORS: dict[str, Callable[[Any], Any]] = {
    "dtypes": lambda l: l.add(X, 1),
    "ranks": lambda l: l.add(X, np.ones(3, np.float32)),
    "shapes": lambda l: l.add(X, np.ones((2, 4), np.float32)),
    "sin of int": lambda l: l.sin(1),
    "neg of bool": lambda l: l.neg(True),
    "and of float": lambda l: l.bitwise_and(X, X),
    "lt of complex": lambda l: l.lt(1j, 2j),
    "is_finite of int": lambda l: l.is_finite(1),
    "a list": lambda l: l.add([1.0], 1.0),
    "None": lambda l: l.sin(None),
    "text": lambda l: l.sin("x"),
    "pow of ints": lambda l: l.pow(2, 3),
    "integer_pow": lambda l: l.integer_pow(2, -1),
    "clamp": lambda l: l.clamp(0, X, 1),
    "clamp shapes": lambda l: l.clamp(np.zeros(2, "f"), X, 1.0),
    "select shapes": lambda l: l.select(True, X, X[:1]),
    "select which": lambda l: l.select(np.array([True]), X, X),
    "select three": lambda l: l.select_n(True, X, X, X),
    "transpose": lambda l: l.transpose(X, (0, 0)),
    "squeeze": lambda l: l.squeeze(X, (0,)),
    "slice": lambda l: l.slice(X, (0, 0), (2, 4)),
    "pad": lambda l: l.pad(X, 0, ((0, 0, 0), (0, 0, 0))),
    "pad config": lambda l: l.pad(X, 0.0, ((0, 0, 0),)),
    "pad interior": lambda l: l.pad(X, 0.0, ((0, 0, -1), (0, 0, 0))),
    "concatenate": lambda l: l.concatenate([X, np.ones((3, 3), "f")], 1),
    "concatenate nothing": lambda l: l.concatenate([], 0),
    "concatenate dtypes": lambda l: l.concatenate([X, X.astype("i4")], 0),
    "broadcast_in_dim": lambda l: l.broadcast_in_dim(X, (2, 4), (0, 1)),
    "dot": lambda l: l.dot(X, X),
    "dot_general": lambda l: l.dot_general(X, X, (((1,), (0,)), ((), ()))),
    "conv": lambda l: l.conv_general_dilated(np.ones((1, 2, 3), "f"), np.ones((1, 3, 2), "f"), (1,), "SAME"),
    "conv padding": lambda l: l.conv_general_dilated(np.ones((1, 2, 3), "f"), np.ones((1, 2, 2), "f"), (1,), "SOME"),
    "conv dtypes": lambda l: l.conv_general_dilated(np.ones((1, 2, 3), "f"), np.ones((1, 2, 2), "i4"), (1,), "SAME"),
    "dynamic_slice": lambda l: l.dynamic_slice(X, (0, 0), (3, 3)),
    "dynamic_slice start": lambda l: l.dynamic_slice(X, (0.5, 0), (1, 1)),
    "dynamic_update_slice": lambda l: l.dynamic_update_slice(X, np.ones((3, 3), "f"), (0, 0)),
    "reduce_sum": lambda l: l.reduce_sum(X, (2,)),
    "reduce_sum twice": lambda l: l.reduce_sum(X, (1, 1)),
    "argmax dtype": lambda l: l.argmax(X, 0, np.float32),
    "top_k": lambda l: l.top_k(X, 4),
    "cumsum": lambda l: l.cumsum(X, 2),
    "sort": lambda l: l.sort((X, X[:1])),
    "gather": lambda l: l.gather(X, np.zeros((1, 1), "i4"), l.GatherDimensionNumbers((1,), (0,), (0,)), (1, 9)),
    "full": lambda l: l.full((2,), X),
    "iota": lambda l: l.broadcasted_iota(np.int32, (2,), 3),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    f = ERRORS[name]
    with pytest.raises(Exception) as theirs:
        f(real_jax.lax)
    with pytest.raises(theirs.type):
        f(jax.lax)


def test_names() -> None:
    """Every public function of jax.lax is there."""
    names = [n for n in dir(real_jax.lax) if not n.startswith("_") and not n.endswith("_p")]
    assert set(names) <= set(dir(jax.lax))


def test_the_factor_of_no_positive_matrix_has_zeros_above() -> None:
    a = np.array([[1.0, 2.0], [2.0, 1.0]], np.float32)
    for j in (real_jax, jax):
        found = np.asarray(j.lax.linalg.cholesky(j.numpy.asarray(a)))
        np.testing.assert_array_equal(found, [[np.nan, 0], [np.nan, np.nan]])


def test_types_are_pickled() -> None:
    for j in (real_jax, jax):
        for x in (1.0, j.numpy.ones(2), np.int8(1)):
            t = pickle.loads(pickle.dumps(j.typeof(x)))
            assert t == j.typeof(x) and t.weak_type == j.typeof(x).weak_type
