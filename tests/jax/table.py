"""The table of generated calls: names, and how their arguments are drawn."""

from __future__ import annotations

import random

import numpy as np
from cases import (
    ALL,
    FLOATS,
    INDICES,
    INTS,
    MODES,
    REALS,
    SHAPES,
    SPECIAL,
    Argument,
    Case,
    Draw,
    Maker,
    an,
    any_of,
    binary,
    call,
    general,
    indexed,
    join,
    join_only,
    keyed,
    matrices,
    nothing,
    one,
    plain,
    reduction,
    sampler,
    spd,
    system,
    tame,
    unary,
    updated,
    with_parameters,
)

TABLE: dict[str, Maker] = {}
FLOAT32 = ("float32",)
BITS = (*INTS, "bool")
AXES = (0, -1, None)


def add(names: str, maker: Maker, prefix: str = "numpy.") -> None:
    TABLE.update({f"{prefix}{n}": maker for n in names.split()})


def given(x: np.ndarray) -> Draw:
    return lambda rng: Argument(x)


# jax.numpy, elementwise
add("sin cos tan sinh cosh tanh arctan arcsinh exp exp2 expm1 square cbrt degrees radians sinc", unary())
add("arcsin arccos arctanh", unary(low=-0.9, high=0.9))
add("log log2 log10 log1p sqrt arccosh reciprocal", unary(low=1, high=5))
add("negative positive abs absolute fabs sign conj conjugate real imag angle isnan isinf isfinite", unary())
add("isposinf isneginf signbit floor ceil trunc rint round logical_not isreal iscomplex", unary())
add("invert bitwise_not bitwise_count", unary(BITS))
add("nan_to_num i0 deg2rad rad2deg", unary(REALS))
add("add subtract multiply maximum minimum fmax fmin equal not_equal less less_equal greater", binary())
add("greater_equal logical_and logical_or logical_xor", binary())
add("divide true_divide", binary(low=0.5))
add("arctan2 hypot copysign heaviside logaddexp logaddexp2 isclose allclose array_equal", binary(REALS))
add("floor_divide remainder mod fmod divmod", binary((*FLOATS, *INTS), low=1))
add("power float_power", binary(ALL, low=1, high=3))
add("bitwise_and bitwise_or bitwise_xor", binary(BITS))
add("left_shift right_shift gcd lcm", binary(INTS, low=0))
add("nextafter", binary(FLOAT32))
add("modf frexp", unary(FLOATS))
add("ldexp", call(an((3,), of=FLOATS), an((3,), of=INTS)))
# reductions
add("sum prod mean any all count_nonzero max min amax amin ptp", reduction())
add("var std", with_parameters(reduction(), ddof=(0, 1)))
add("nansum nanprod nanmax nanmin nanmean nanvar nanstd nanmedian median average", reduction(REALS))
add("argmax argmin nanargmax nanargmin", reduction(REALS, several=False))
add("cumsum cumprod nancumsum nancumprod", reduction(ALL, several=False, keepdims=False))
add("cumulative_sum cumulative_prod", with_parameters(unary(shapes=((3,), (0,))), include_initial=(True, False)))
METHODS_OF_QUANTILE = ("linear", "lower", "higher", "nearest", "midpoint")
SAMPLE = an((3,), (2, 3), of=("float32", "int32"))
add("quantile percentile", call(SAMPLE, one(0.0, 0.25, 0.5, 1.0), axis=AXES, method=METHODS_OF_QUANTILE))
# shapes
add("transpose ravel squeeze fliplr flipud atleast_1d atleast_2d atleast_3d copy diag tril triu", unary())
add("trace diagonal matrix_transpose diagflat ndim shape size", unary())
add("flip", with_parameters(unary(), axis=(0, -1, None, (0, 1))))
add("roll", call(an(), one(1, -2, 5), axis=AXES))
add("rot90", with_parameters(unary(shapes=((2, 3), (2, 3, 4), (3,))), k=(1, 2, -1)))
add("repeat", call(an(), one(0, 1, 3), axis=AXES))
add("tile", call(an(), one(2, (2, 1), (1, 2, 2), 0)))
add("reshape", call(an(), one((-1,), (3, -1), (1, -1, 1), (6,), (3, 2), 0)))
add("broadcast_to", call(an(), one((3,), (2, 3), (4, 2, 3), ())))
add("expand_dims", call(an(), one(0, -1, (0, 2), 4)))
add("swapaxes moveaxis", call(an(), one(0, 1, -1), one(0, -1)))
MODES_OF_PAD = ("constant", "edge", "reflect", "wrap", "symmetric")
add("pad", call(an(), one(1, (1, 2)), mode=MODES_OF_PAD))
add("array_split split", call(an(), one(1, 2, [1]), axis=(0, -1)))
add("concatenate stack", join, "joined.")
add("vstack hstack dstack column_stack", join_only, "joined.")
# order, choice
add("sort argsort", with_parameters(unary(REALS), axis=AXES, descending=(True, False)))
TRIPLE = an((3,), ())
add("where", call(an((3,), (2, 3), (), of=("bool", "int32")), TRIPLE, TRIPLE))
add("clip", call(an(of=REALS), an((), of=REALS), an((), of=REALS)))
PLACES = plain((2,), (), (2, 2), of=("int32",))
add("take", call(an(*SHAPES[1:]), PLACES, axis=AXES, mode=(None, "clip", "wrap", "fill")))
RISING = np.arange(4.0, dtype="f4")
add("searchsorted", call(given(RISING), an((3,), (), (2, 3), of=FLOAT32), side=("left", "right")))
add("digitize", call(an((3,), of=("float32", "int32")), given(RISING)))
add("diff", with_parameters(unary(), n=(0, 1, 2), axis=(0, -1)))
add("ediff1d", unary(REALS))
add("interp", call(an((3,), of=REALS), given(RISING), given(RISING * 2)))
add("bincount", call(plain((3,), of=("int32",), low=0), length=(5,)))
add("trapezoid gradient", unary(FLOATS, shapes=((3,), (2, 3), (1,))))
VECTORS = matrices(((3,), (3,)), ((3,), (1,)), ((2, 3), (3,)), dtypes=REALS)
add("convolve correlate", with_parameters(VECTORS, mode=("full", "same", "valid")))
add("polyval", matrices(((3,), ()), ((3,), (2, 3)), dtypes=REALS))
add("vander", with_parameters(unary(REALS, shapes=((3,), (1,))), N=(2, 3)))
# products
SQUARE, VECTOR, STACKED = ((2, 3), (3, 2)), ((3,), (3,)), ((2, 2, 3), (3, 2))
ALIKE, ROWS, EMPTY = ((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 0), (0, 2))
add("dot matmul inner", matrices(SQUARE, VECTOR, STACKED, ALIKE, ROWS, EMPTY, ((), (3,)), ((0,), (0,))))
add("vdot tensordot outer kron vecdot", matrices(VECTOR, ALIKE, ROWS, ((2, 2), (2, 2))))
add("cross", matrices(VECTOR, ALIKE, ROWS, dtypes=REALS))
TABLE["einsum"] = any_of(
    call(an((2, 3)), an((3, 2)), subscripts=("ij,jk", "ij,jk->ki", "ij,ji", "ij,jk->ijk")),
    call(an((2, 3)), subscripts=("ij->j", "ij->ji", "ij->", "...j->...")),
)
# creation
STEPS = (((1, 7), {"step": 2}), ((0.0, 1.0, 0.25), {}), ((-2, 2), {}))
add("arange", nothing(((5,), {}), *STEPS, ((3,), {"dtype": "float32"}), ((0,), {}), ((2.5,), {})))
ENDS = (((0, 1), {}), ((2, 3, 1), {}), ((2, 3, 0), {}), ((0, 1, 5), {"endpoint": False}))
add("linspace", nothing(*ENDS, ((1, 2, 3), {"retstep": True}), ((0, 9, 4), {"dtype": "int32"})))
add("logspace geomspace", nothing(((1, 2, 4), {}), ((1.0, 3.0, 3), {"endpoint": False})))
TYPED = ((((),), {"dtype": bool}), (((0, 2),), {"dtype": "complex64"}))
add("zeros ones empty", nothing((((2, 3),), {}), ((3,), {"dtype": "int8"}), *TYPED))
add("eye identity", nothing(((3,), {}), ((2,), {"dtype": "int32"}), ((0,), {})))
add("tri", nothing(((3,), {}), ((2, 3), {"k": 1}), ((3, 2), {"dtype": "int32"})))
add("full", nothing((((2,), 3), {}), (((2,), 1.5), {"dtype": "int32"}), (((), True), {}), (((2,), 1j), {})))
add("zeros_like ones_like", with_parameters(unary(), dtype=("int32", None, "float16"), shape=(None, (2,))))
add("full_like", call(an(), one(1, 2.5), dtype=(None, "float32")))
add("indices", nothing((((2, 3),), {}), (((2,),), {"dtype": "float32"})))
DTYPES = ("float32", "int32", "bool", "float16", "bfloat16", "complex64", "uint8")
TABLE["astype"] = call(an(low=0), dtype=DTYPES)
METHODS = ("sum", "mean", "min", "argmax", "ravel", "conj", "cumsum", "std", "all", "transpose", "squeeze", "prod")
TABLE["method"] = call(an(), name=METHODS)
# indexing
TABLE["getitem"] = indexed
TABLE["at.get"] = call(plain(*SHAPES[1:], of=("float32", "int32")), index=tuple(range(len(INDICES) - 3)), mode=MODES)
TABLE["at.update"] = updated
# linear algebra, FFT
NORMED = matrices(((3,),), ((2, 3),), dtypes=FLOATS)
add("norm", with_parameters(NORMED, ord=(None, 1, 2, np.inf), keepdims=(True, False)), "numpy.linalg.")
add("det inv slogdet matrix_rank cond pinv", general, "numpy.linalg.")
TABLE["numpy.linalg.matrix_power"] = lambda rng: (general(rng)[0], {"n": rng.choice((0, 1, 2, 3, -1))})
add("cholesky eigvalsh svdvals", spd, "numpy.linalg.")
add("solve", system, "numpy.linalg.")
add("solve", system, "scipy.linalg.")
add("cholesky", with_parameters(spd, lower=(True, False)), "scipy.linalg.")
add("det inv expm", general, "scipy.linalg.")
add("solve_triangular", with_parameters(system, lower=(True, False), trans=(0, 1, 2)), "scipy.linalg.")
SIGNAL = unary(("float32", "complex64", "int32"), shapes=((3,), (2, 4), (4,)))
NORMS = (None, "ortho", "forward")
add("fft ifft rfft hfft irfft", with_parameters(SIGNAL, n=(None, 3, 6), norm=NORMS), "numpy.fft.")
PICTURE = unary(("float32", "complex64"), shapes=((2, 3), (4, 4)))
add("fft2 ifft2 rfft2 fftn fftshift ifftshift", PICTURE, "numpy.fft.")
add("fftfreq rfftfreq", nothing(((4,), {}), ((5, 0.5), {})), "numpy.fft.")
# lax
INEXACT, SIGNED = (*FLOATS, "complex64"), (*FLOATS, *INTS)
add("sin cos tan sinh cosh tanh exp expm1 sqrt rsqrt cbrt logistic", unary(INEXACT, low=0.5), "lax.")
add("log log1p asin acos atan asinh atanh", unary(INEXACT, low=0.1, high=0.9), "lax.")
SPECIALS = "erf erfc lgamma digamma bessel_i0e bessel_i1e"
add(SPECIALS, unary(("float32", "float16"), low=0.1, high=5), "lax.")
add("erf_inv", unary(FLOAT32, low=-0.9, high=0.9), "lax.")
add("neg abs sign square", unary((*SIGNED, "complex64")), "lax.")
add("floor ceil round is_finite", unary(FLOATS), "lax.")
add("bitwise_not population_count clz", unary(INTS), "lax.")
add("real imag conj", unary(("complex64",)), "lax.")
TABLE["lax.integer_pow"] = call(an(of=(*FLOATS, "int32"), low=1), y=(0, 1, 2, 3))
add("add sub mul max min eq ne lt le gt ge", binary(SIGNED, same=True), "lax.")
add("div rem", binary(SIGNED, same=True, low=1), "lax.")
add("pow atan2 nextafter igamma igammac", binary(FLOAT32, same=True, low=0.5), "lax.")
add("bitwise_and bitwise_or bitwise_xor", binary(BITS, same=True), "lax.")
add("shift_left shift_right_logical shift_right_arithmetic", binary(INTS, same=True, low=0), "lax.")
SERIES = unary(FLOAT32, shapes=((3,), (2, 3)))
CUMULATIVE = "cumsum cumprod cummax cummin cumlogsumexp"
add(CUMULATIVE, with_parameters(SERIES, axis=(0, -1), reverse=(True, False)), "lax.")
add("sort", with_parameters(unary(REALS, shapes=((3,), (2, 3))), dimension=(0, -1)), "lax.")
MATRIX = an((2, 3))
TABLE["lax.top_k"] = call(SAMPLE, one(2))
TABLE["lax.rev"] = call(MATRIX, one((0,), (0, 1), ()))
TABLE["lax.broadcast"] = call(an(), one((2, 1)))
TABLE["lax.reshape"] = call(MATRIX, one((6,), (3, 2), (4,)))
TABLE["lax.transpose"] = call(MATRIX, one((1, 0), (0, 1), (0,)))
BOUNDS = (((0, 1), (2, 3)), ((1, 0), (2, 2)), ((0, 0), (3, 3)))
TABLE["lax.slice"] = any_of(*[call(MATRIX, one(start), one(stop)) for start, stop in BOUNDS])
STARTS = one(*[(i, j) for i in range(-2, 4) for j in range(-2, 4)])
TABLE["lax.dynamic_slice"] = call(MATRIX, STARTS, one((1, 2)))
TABLE["lax.dynamic_update_slice"] = call(plain((2, 3)), plain((1, 2)), STARTS)
WIDTHS = one(*[((i, 1, j), (0, k, 0)) for i in (-1, 0, 2) for j in (0, 1) for k in (-1, 0, 1)])
TABLE["lax.pad"] = call(plain((2, 3)), one(np.float32(1.5)), WIDTHS)
TABLE["lax.clamp"] = call(plain(()), plain(), plain(()))
TABLE["lax.select"] = call(plain((2, 3), of=("bool",)), plain((2, 3)), plain((2, 3)))
TABLE["lax.iota"] = nothing((("int32", 4), {}), (("float32", 0), {}))
TABLE["lax.convert_element_type"] = call(an(low=0), one("float32", "int32", "bool", "float16"))
TABLE["lax.expand_dims"] = call(an(), one((0,), (0, 1), (-1,)))
TABLE["lax.dot_general"] = any_of(
    call(tame((2, 3)), tame((3, 4)), dimension_numbers=((((1,), (0,)), ((), ())),)),
    call(tame((2, 3)), tame((2, 3)), dimension_numbers=((((1,), (1,)), ((0,), (0,))),)),
)
TABLE["lax.conv_general_dilated"] = call(
    plain((1, 2, 5, 5), low=0),
    plain((3, 2, 3, 3), low=0),
    window_strides=((1, 1), (2, 1)),
    padding=("SAME", "VALID"),
    rhs_dilation=((1, 1), (2, 1)),
)
# nn
add("relu relu6 hard_sigmoid hard_silu hard_tanh squareplus softplus sparse_plus", unary(REALS), "nn.")
add("sparse_sigmoid soft_sign sigmoid log_sigmoid silu mish elu celu selu leaky_relu", unary(REALS), "nn.")
add("gelu identity log1mexp", unary(REALS), "nn.")
LAYERS = unary(FLOATS, shapes=((3,), (2, 3), (2, 3, 4)))
add("softmax log_softmax logsumexp logmeanexp", with_parameters(LAYERS, axis=(0, -1)), "nn.")
add("standardize", with_parameters(unary(FLOAT32, shapes=((3,), (2, 3)), low=0), axis=(0, -1)), "nn.")
add("glu", unary(FLOAT32, shapes=((4,), (2, 4), (3,))), "nn.")
TABLE["nn.one_hot"] = call(plain(of=("int32",)), one(3), axis=(-1, 0))
# scipy.special
SMOOTH = "erf erfc expit ndtr gammaln digamma i0 i0e i1 i1e entr exp1 expi"
add(SMOOTH, unary(FLOAT32, low=0.2, high=5), "scipy.special.")
add("logit ndtri erfinv", unary(FLOAT32, low=0.1, high=0.9), "scipy.special.")
OF_TWO = "xlogy xlog1py betaln rel_entr kl_div gammainc gammaincc"
add(OF_TWO, binary(("float32", "int32"), low=1, high=5), "scipy.special.")
add("logsumexp", reduction(("float32", "int32")), "scipy.special.")
# random
SHAPED = ((((2, 3),), {}), (((),), {}), (((0,),), {}), (((4,), "float16"), {}), (((3,), "bfloat16"), {}))
add("uniform normal exponential gumbel laplace logistic cauchy", keyed(*SHAPED), "random.")
SAMPLERS: dict[str, tuple] = {
    "bits": ((((3,),), {}), (((2,), "uint8"), {}), (((2,), "uint16"), {})),
    "randint": ((((5,), 0, 10), {}), (((2, 2), -3, 100), {"dtype": "int8"}), (((3,), 5, 5), {})),
    "bernoulli": (((0.3, (5,)), {}), ((), {})),
    "truncated_normal": (((-1.0, 2.0, (4,)), {}),),
    "rayleigh": (((2.0, (4,)), {}),),
    "permutation": (((5,), {}),),
    "choice": (((5, (3,)), {}), ((5, (3,)), {"replace": False})),
    "gamma": (((2.0, (3,)), {}), ((0.5,), {})),
    "beta": (((2.0, 1.5, (3,)), {}),),
    "dirichlet": (((np.array([1.0, 2.0], "f4"), (2,)), {}),),
    "poisson": (((3.0, (4,)), {}),),
    "categorical": (((np.array([0.1, 2.0, -1.0], "f4"),), {"shape": (4,)}),),
}
TABLE.update({f"random.{name}": keyed(*options) for name, options in SAMPLERS.items()})
SPECIAL.update({n: sampler(n.removeprefix("random.")) for n in TABLE if n.startswith("random.")})
TABLE["key"] = call(one(0, 1, 42, 2**31 - 1, -5, 2**40), how=("new", "fold", "split", "raw"), impl=(None,))

NAMES = tuple(TABLE)


def case(number: int) -> Case:
    """The case of that number: entries take turns, so that any thousand in a row meet every function."""
    rng = random.Random(number * 7919 + 13)
    path = NAMES[number % len(NAMES)]
    arguments, parameters = TABLE[path](rng)
    return Case(path, arguments, parameters)
