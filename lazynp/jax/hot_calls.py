"""Public functions that are made of several operations, and are called again and again on small arrays.

JAX compiles such functions at their first call (`jnp.median`, `jax.nn.gelu`). Here small arrays are computed at once,
operation by operation, which costs some 5 µs each; there is nothing to wait for, and nothing to win for a function that
is called once. Once its calls with arguments of one kind have taken `ENOUGH` seconds together, the function is jitted
for them: its graph is made once, and the call is found in C (`api.jit`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from time import perf_counter
from typing import Any

from ..api.jit import Jit
from ..bounded import Bounded
from ..config import config
from ..flags import flags
from ..signatures import Static
from ..speed import CallBase
from ..tracebacks import is_own
from .array import Array, door
from .spreading import state as spreading

ENOUGH = 0.003  # seconds; tracing a function takes one thousandth or two
KEPT = 1024  # kinds of arguments of a function whose time is kept
NEVER = -1.0  # for what cannot be traced

NAMES = {
    "numpy": """
        allclose angle append argpartition around average bitwise_left_shift bitwise_right_shift block choose convolve
        corrcoef correlate cov cross cumulative_prod cumulative_sum deg2rad degrees diag diagonal diff digitize divmod
        ediff1d float_power frexp gcd gradient heaviside i0 inner interp isclose kron lcm ldexp left_shift lexsort
        matvec median modf nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin
        nanpercentile nanprod nanquantile nanstd nansum nanvar nextafter packbits pad partition percentile poly polyadd
        polyder polyfit polymul polysub polyval put_along_axis quantile rad2deg radians right_shift roll rollaxis rot90
        round searchsorted select sign signbit sinc sort_complex spacing take_along_axis trace trapezoid tril triu
        unpackbits unravel_index unwrap vander vecmat
    """,
    "numpy.linalg": """
        cholesky cond cross det eigh eigvalsh inv lstsq matrix_norm matrix_power matrix_rank multi_dot pinv qr slogdet
        solve svd tensorsolve vector_norm
    """,
    "lax": """
        top_k
    """,
    "nn": """
        celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu log_sigmoid log_softmax logmeanexp
        logsumexp mish one_hot relu6 selu sigmoid silu soft_sign softmax softplus sparse_plus sparse_sigmoid squareplus
        standardize swish
    """,
    "scipy.special": """
        beta betainc betaln dawsn digamma entr erfcx erfinv exp1 gamma gammainc gammaincc gammaln gammasgn i0 i0e i1 i1e
        kl_div log_ndtr log_softmax loggamma logsumexp multigammaln ndtr ndtri owens_t polygamma rel_entr softmax spence
        wofz xlog1py xlogy zeta
    """,
    "scipy.linalg": """
        cho_solve cholesky expm lu lu_factor lu_solve polar solve solve_triangular toeplitz
    """,
    "scipy.signal": """
        convolve correlate detrend fftconvolve
    """,
}
"""Of these modules, and of those of `scipy.stats` all that are named in `DENSITIES`."""
DENSITIES = "cdf isf logcdf logpdf logpmf logsf pdf pmf ppf sf"
STATIC_NAMES = """
    approximate axes axis axis1 axis2 axisa axisb axisc bias bins bitorder check_finite compute_uv copy d ddof
    decimals deg density descending dtype edge_order equal_nan fill_value full full_matrices hermitian increasing k
    keepdims kind kth lower method mode N n new_shape num_classes offset ord order out_sharding overwrite_a
    overwrite_b overwrite_input p_norm pad_width precision preferred_element_type range rcond return_sign right
    rowvar shape shift side stable start subset_by_index symmetrize_input trans trim_leading_zeros type
    unit_diagonal UPLO upper zero_threshold
"""
"""Arguments by whose values a function is traced, as they are in JAX."""
STATIC = frozenset(STATIC_NAMES.split())
NUMBERS = frozenset({bool, int, float, complex})


class Cold:
    """A call for which nothing is compiled; `took` is to be told how long the function took. No key: nobody asks."""

    __slots__ = ("call", "key", "spent")

    def __init__(self, call: HotCall, key: Any, spent: float) -> None:
        self.call, self.key, self.spent = call, key, spent

    def took(self, seconds: float) -> None:
        if self.key is not None and self.spent != NEVER:
            self.call._spent.keep(self.key, self.spent + seconds)


class HotCall(CallBase):
    """A function that is jitted once its calls have taken long enough. `_signatures` are those of the jitted one."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._fun = function
        self._jit: Jit | None = None
        self._spent: Bounded[Any, float] = Bounded(KEPT)
        self._names: tuple[str, ...] | None = None

    def _slow(self, *args: Any, **kwargs: Any) -> Any:
        found = self._found(args, kwargs)
        if type(found) is not Cold:
            return found
        began = perf_counter()
        out = self._fun(*args, **kwargs)
        found.took(perf_counter() - began)
        return out

    def _found(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a call by the jitted function; Cold where the function is to be called."""
        key = self._key(args, kwargs)
        spent = 0.0 if key is None else self._spent.get(key) or self._spent.recall(key) or 0.0
        return self._jitted(key, args, kwargs) if key is not None and spent > ENOUGH else Cold(self, key, spent)

    def _jitted(self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """By the jitted function; what cannot be traced, which was computed before, goes on as it was."""
        if self._jit is None:
            names = tuple([n for n in self._parameters() if n in STATIC])
            self._jit = Jit(self._fun, door, Static(names=names))
            self._signatures = self._jit._signatures
        try:
            return self._jit(*args, **kwargs)
        except Exception:
            self._spent.keep(key, NEVER)
            return Cold(self, key, NEVER)

    def _parameters(self) -> tuple[str, ...]:
        if self._names is None:
            self._names = tuple(inspect.signature(self._fun).parameters)
        return self._names

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What kind the arguments are of: arrays at hand that are small, and what is no array. None for others."""
        if flags.fast is None or spreading.on:
            return None
        names, key = self._names or self._parameters(), list[Any]([flags.fast])
        try:
            for i, x in enumerate(args):
                key.append(kind_of(x, i < len(names) and names[i] in STATIC))
            for name, x in kwargs.items():
                key.append((name, kind_of(x, name in STATIC)))
            found = tuple(key)
            hash(found)
        except TypeError:
            return None
        return found


class KnownCall(HotCall):
    """The same for a public function, which its boundary calls itself: no frame of ours is beside the function's own
    (`bounded`), by which it would count lines and modules."""

    def _slow(self, *args: Any, **kwargs: Any) -> Any:
        return self._found(args, kwargs)


def kind_of(x: Any, static: bool) -> Any:
    """Raises TypeError for what is not at hand, large, or another library's."""
    kind = type(x)
    if kind is Array and not static:
        h = x._host
        if h is None or h.size > config.limit:
            raise TypeError
        return h.dtype, h.shape, x._weak
    if kind in NUMBERS:
        return (kind, x) if static else kind
    if x is None or kind is str:
        return x
    if kind is tuple or kind is list:
        return kind, tuple([kind_of(v, static) for v in x])
    if static:
        return x
    raise TypeError


def hot_calls(module: str, names: dict[str, Any]) -> list[Callable[..., Any]]:
    """Those functions of a public module of the door, which is named without the door's package."""
    wanted = DENSITIES if module.startswith("scipy.stats.") else NAMES.get(module, "")
    return [names[n] for n in wanted.split() if is_own(names.get(n))]
