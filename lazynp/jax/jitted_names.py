"""Public functions that JAX jits, or that are worth being jitted here: one table for who exports them (`export`), who
shows their calls in jaxprs (`shown_calls`), and who has them made into programs (`hot_calls`)."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from types import FunctionType
from typing import Any, NamedTuple

from ..tracebacks import is_own

TABLE = {
    "numpy": """
                 abs/ absolute/ acos/ allclose! angle! append! arccos/ arccosh acosh arcsin/ arcsinh/ arctan/
        arctan2/ arctanh/         argpartition! argsort around! asin/ asinh/ atan/ atan2/ atanh/ atleast_1d
        atleast_2d atleast_3d average-!         bitwise_count bitwise_invert/ bitwise_left_shift/! bitwise_not/
        bitwise_right_shift/! block! cbrt/ ceil/         choose-! clip conjugate/ convolve! copysign corrcoef!
        correlate! cos/ cosh/ count_nonzero cov! cross! cumprod         cumsum cumulative_prod-!
        cumulative_sum=_cumsum_with_promotion! deg2rad/! degrees-!         diag=_diag! diagonal! diff! digitize!
        divmod! dot/ ediff1d! equal/ exp/ exp2/ expm1/ fabs/ flip=_flip         fliplr=_flip flipud=_flip
        float_power/! floor/ floor_divide fmax fmin fmod frexp! gcd! geomspace=_geomspace         gradient!
        greater/ greater_equal/ heaviside! hypot i0! imag/ inner/! interp=_interp! invert/ isclose! iscomplex
        isfinite/ isin=_in1d isinf isnan/ isreal kron! lcm! ldexp! left_shift/! less/ less_equal/ lexsort!
        linspace=_linspace log/ log10/ log1p/ log2/ logical_not/ matmul/ matvec! median! mod=remainder modf!
        nan_to_num!         nanargmax=_nanargmax! nanargmin=_nanargmin! nancumprod! nancumsum! nanmax! nanmean!
        nanmedian! nanmin!         nanpercentile! nanprod! nanquantile! nanstd! nansum! nanvar! nextafter/!
        not_equal/ outer/ packbits! pad=_pad!         partition! percentile! piecewise=_piecewise poly! polyadd!
        polyder! polyfit! polyint polymul=convolve! polysub!         polyval! positive/ ptp=_ptp put_along_axis!
        quantile! rad2deg/! radians-! ravel/ real/ reciprocal/ remainder         resize right_shift/! rint
        roll=_roll_static! rollaxis! rot90! round! searchsorted! select-! sign/! signbit! sin/         sinc!
        sinh/ sort sort_complex! spacing/! sqrt/ square/ std=_std swapaxes/ take=_take take_along_axis! tan/
        tanh/         trace! trapezoid! tril! triu! true_divide/ trunc unpackbits! unravel_index-! unstack/
        unwrap! vander! var=_var         vdot/ vecmat! where=_where
    """,
    "numpy.linalg": """
                 cholesky! cond! cross=cross! det! diagonal=diagonal eigh! eigvals eigvalsh! inv! lstsq=_lstsq!
        matrix_norm=norm! matrix_power!         matrix_rank! multi_dot-! norm pinv-! qr! slogdet! solve! svd!
        svdvals=svd tensorinv=inv tensorsolve-! trace=trace vector_norm-!
    """,
    "numpy.fft": """
                 fft=fft fft2=fft fftn=fft fftshift=_roll_static ifft=fft ifft2=fft ifftn=fft
        ifftshift=_roll_static irfft=fft         irfft2=fft irfftn=fft rfft=fft rfft2=fft rfftn=fft
    """,
    "lax": """
                 dynamic_index_in_dim dynamic_update_index_in_dim top_k-!
    """,
    "nn": """
                 celu! elu! gelu-! glu! hard_sigmoid! hard_silu! hard_swish! hard_tanh! identity leaky_relu!
        log_sigmoid!         log_softmax! logmeanexp! logsumexp-! mish! one_hot=_one_hot! relu6-! selu!
        sigmoid/! silu! soft_sign! softmax-!         softplus! sparse_plus! sparse_sigmoid! squareplus!
        standardize! swish! tanh/
    """,
    "random": """
                 bernoulli=_bernoulli dirichlet=_dirichlet exponential=_exponential gamma=_gamma
        multivariate_normal=_multivariate_normal normal=_normal permutation=_shuffle randint=_randint
        truncated_normal=_truncated_normal uniform=_uniform
    """,
    "scipy.integrate": """
                 trapezoid
    """,
    "scipy.linalg": """
                 block_diag cho_solve-! cholesky=_cholesky! convolution_matrix det=det dft eigh=_eigh
        eigh_tridiagonal         expm! expm_frechet hadamard helmert hessenberg hilbert inv=inv invhilbert
        invpascal lu! lu_factor! lu_solve!         pascal polar! qr=_qr rsf2csf solve=_solve! solve_sylvester
        solve_triangular=_solve_triangular! svd=_svd         toeplitz-!
    """,
    "scipy.signal": """
                 convolve-! correlate-! detrend-! fftconvolve-!
    """,
    "scipy.special": """
                 bessel_jn beta-! betainc-! betaln-! dawsn-! digamma-! entr-! erfcx-! erfinv-! exp1-! gamma-!
        gammainc-!         gammaincc-! gammaln-! gammasgn! i0-! i0e-! i1-! i1e-! kl_div-! log_ndtr-!
        log_softmax-! loggamma-! logsumexp-!         multigammaln-! ndtr-! ndtri-! owens_t-! polygamma-!
        rel_entr-! softmax-! spence-! wofz-! xlog1py-! xlogy-!         zeta-!
    """,
    "scipy.stats": """
                 mode rankdata sem
    """,
}
"""By module. A plain name is of a function that JAX jits, whose calls are equations of jaxprs; `name/` of one that JAX
jits, whose operations stand there in place of the call; `name=inner` of one that JAX does not jit, but that calls a
jitted one of the other name; `name-` of one that is none of these. With `!` its calls are made into programs here."""
DENSITIES = "cdf isf logcdf logpdf logpmf logsf pdf pmf ppf sf"
"""The functions that are made into programs of each module of `scipy.stats`."""
STATIC_NAMES = """
         approximate axes axis axis1 axis2 axisa axisb axisc bias bins bitorder check_finite compute_uv copy d
    ddof     decimals deg density descending dtype edge_order equal_nan fill_value full full_matrices
    hermitian increasing     independent indices_are_sorted inplace invert k keepdims kind kth lower method
    mode N n new_shape num num_classes offset ord     order out_sharding overwrite_a overwrite_b
    overwrite_input p_norm pad_width precision preferred_element_type range     rcond retstep return_sign
    right rowvar shape shift side size stable start subset_by_index symmetrize_input trans
    trim_leading_zeros type unique_indices unit_diagonal UPLO upper zero_threshold
"""
"""Arguments by whose values a function is traced, as they are in JAX."""
STATIC = frozenset(STATIC_NAMES.split())


class Jitted(NamedTuple):
    """What the table says of a function.

    Attributes:
        itself: whether JAX's function of that name is a jitted one. shown: the name of its calls in jaxprs, "" where
            there are none. hot: whether its calls are made into programs.
    """

    itself: bool
    shown: str
    hot: bool


def read(word: str) -> tuple[str, Jitted]:
    """A word of the table: the name, and what it says of the function."""
    plain, hot = word.removesuffix("!"), word.endswith("!")
    name, equals, inner = plain.partition("=")
    mark = name[-1] if name[-1] in "/-" else ""
    name = name.removesuffix(mark)
    shown = inner if equals else "" if mark else name
    return name, Jitted(not equals and mark != "-", shown, hot)


found: weakref.WeakKeyDictionary[Any, Jitted] = weakref.WeakKeyDictionary()
"""What is known of functions of ours, without their boundaries."""


def jitted_of(module: str, names: dict[str, Any]) -> Iterator[tuple[FunctionType, Jitted]]:
    """The functions of a public module of the door, named without the door's package, of which the table says
    something. Of a function with several names the first is the one that counts."""
    words = TABLE.get(module, "").split()
    if module.startswith("scipy.stats."):
        words = [f"{name}-!" for name in DENSITIES.split()]
    for name, said in map(read, words):
        function = names.get(name)
        if is_own(function) and function not in found:
            found[function] = said
            yield function, said


def is_jitted_in_jax(fun: Any) -> bool:
    """Whether it is a function of ours whose counterpart is a jitted one."""
    plain = getattr(fun, "__wrapped__", fun)
    return is_own(plain) and plain in found and found[plain].itself
