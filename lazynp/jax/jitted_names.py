"""Which of JAX's functions are jitted ones, so that they have stages and can be exported. Ours are plain functions."""

from __future__ import annotations

from typing import Any

from ..tracebacks import is_own

JITTED = {
    "numpy": """
    abs absolute acos acosh allclose angle append arccos arccosh arcsin arcsinh arctan arctan2 arctanh argpartition
    argsort around asin asinh atan atan2 atanh atleast_1d atleast_2d atleast_3d bitwise_count bitwise_invert
    bitwise_left_shift bitwise_not bitwise_right_shift block cbrt ceil clip conjugate convolve copysign corrcoef
    correlate cos cosh count_nonzero cov cross cumprod cumsum deg2rad diagonal diff digitize divmod dot ediff1d
    equal exp exp2 expm1 fabs float_power floor floor_divide fmax fmin fmod frexp gcd gradient greater greater_equal
    heaviside hypot i0 imag inner invert isclose iscomplex isfinite isinf isnan isreal kron lcm ldexp left_shift
    less less_equal lexsort log log10 log1p log2 logical_not matmul matvec median modf nan_to_num nancumprod
    nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar nextafter
    not_equal outer packbits partition percentile poly polyadd polyder polyfit polyint polysub polyval positive
    put_along_axis quantile rad2deg ravel real reciprocal remainder resize right_shift rint rollaxis rot90 round
    searchsorted sign signbit sin sinc sinh sort sort_complex spacing sqrt square swapaxes take_along_axis tan tanh
    trace trapezoid tril triu true_divide trunc unpackbits unstack unwrap vander vdot vecmat
    """,
    "nn": """
    celu elu glu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu log_sigmoid log_softmax logmeanexp
    mish selu sigmoid silu soft_sign softplus sparse_plus sparse_sigmoid squareplus standardize swish tanh
    """,
    "numpy.linalg": """
    cholesky cond det eigh eigvals eigvalsh inv matrix_power matrix_rank norm qr slogdet solve svd
    """,
}
NAMES = {package: frozenset(names.split()) for package, names in JITTED.items()}


def is_jitted_in_jax(fun: Any) -> bool:
    """Whether it is a function of ours whose counterpart is a jitted one."""
    plain, module = getattr(fun, "__wrapped__", fun), str(getattr(fun, "__module__", "")).removeprefix("lazynp.")
    return is_own(plain) and any(
        [plain.__name__ in names and module.startswith(f"jax.{package}") for package, names in NAMES.items()]
    )
