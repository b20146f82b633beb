"""Activations, softmax and what belongs to it, one-hot vectors. Formulas and derivatives at kinks are JAX's.

Where JAX has a custom derivative, the function is written here such that the plain one is the same: `relu` is a select,
so that its derivative at zero is zero.
"""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ...api.trace import stack
from .. import dtypes, lax
from .. import numpy as jnp
from ..arguments import arraylike, inexact
from ..derivatives import custom_jvp
from ..jitting import jit
from ..numpy.axes import check_sizes, static_int

Fun = Callable[..., Any]
Axis = int | tuple[int, ...] | None
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946

# Activations, elementwise: inputs of any shape; integers become floats where the formula does that.


def identity(x: Any) -> Any:
    """x."""
    return arraylike("identity", x)


def with_rule(value: Fun, slope: Fun) -> Callable[[Fun], Fun]:
    """For an activation: where a graph is traced to be shown it has, as in JAX, a call of a jitted function with a rule
    of its own, which computes `value`, and whose derivative is one where `slope` says so."""

    def decorate(f: Fun) -> Fun:
        equation = custom_jvp(jit(functools.wraps(f)(lambda x: value(x))))
        equation.defjvps(lambda g, out, x: lax.select(slope(x), g, lax.full_like(g, 0)))

        @functools.wraps(f)
        def call(x: Any) -> Any:
            x = arraylike(f.__name__, x)
            return equation(x) if stack.shown and x.node.trace else f(x)

        return call

    return decorate


@with_rule(lambda x: jnp.maximum(x, 0), lambda x: x > 0)
def relu(x: Any) -> Any:
    """max(x, 0), of x's dtype; the derivative at 0 is 0."""
    return jnp.where(x <= 0, 0, x) if x.dtype != bool else jnp.maximum(x, 0)


@with_rule(lambda x: jnp.minimum(jnp.maximum(x, 0), 6.0), lambda x: (x > 0) & (x < 6))
def relu6(x: Any) -> Any:
    """min(max(x, 0), 6); the derivative at 0 and at 6 is 0."""
    return jnp.where(x <= 0, 0.0, jnp.where(x >= 6, 6.0, x))


def hard_sigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6."""
    return relu6(arraylike("hard_sigmoid", x) + 3.0) / 6.0


def hard_silu(x: Any) -> Any:
    """x hard_sigmoid(x)."""
    x = arraylike("hard_silu", x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


def hard_tanh(x: Any) -> Any:
    """x, clipped to -1 and 1."""
    x = arraylike("hard_tanh", x)
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


def squareplus(x: Any, b: Any = 4) -> Any:
    """(x + sqrt(x^2 + b)) / 2 (Barron, arXiv:2112.11687)."""
    x, b = arraylike("squareplus", x, b)
    return (x + jnp.sqrt(jnp.square(x) + b)) / 2


def softplus(x: Any) -> Any:
    """log(1 + e^x)."""
    return jnp.logaddexp(x, 0)


def sparse_plus(x: Any) -> Any:
    """0 below -1, x above 1, (x + 1)^2 / 4 between."""
    x = arraylike("sparse_plus", x)
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, x, (x + 1.0) ** 2 / 4))


def sparse_sigmoid(x: Any) -> Any:
    """0 below -1, 1 above 1, (x + 1) / 2 between: the derivative of `sparse_plus`."""
    return 0.5 * jnp.clip(arraylike("sparse_sigmoid", x) + 1.0, 0.0, 2.0)


def soft_sign(x: Any) -> Any:
    """x / (|x| + 1)."""
    x = arraylike("soft_sign", x)
    return x / (jnp.abs(x) + 1)


def sigmoid(x: Any) -> Any:
    """1 / (1 + e^-x), of floats."""
    return lax.logistic(x)


def log_sigmoid(x: Any) -> Any:
    """log(sigmoid(x)), without loss where that is near 1."""
    return -softplus(-arraylike("log_sigmoid", x))


def silu(x: Any) -> Any:
    """x sigmoid(x)."""
    x = arraylike("silu", x)
    return x * sigmoid(x)


swish = silu


def mish(x: Any) -> Any:
    """x tanh(softplus(x)) (Misra, arXiv:1908.08681)."""
    x = arraylike("mish", x)
    return x * jnp.tanh(softplus(x))


def elu(x: Any, alpha: Any = 1.0) -> Any:
    """x above 0, alpha (e^x - 1) below."""
    x = arraylike("elu", x)
    return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0.0, x)))


def celu(x: Any, alpha: Any = 1.0) -> Any:
    """x above 0, alpha (e^(x / alpha) - 1) below (Barron, arXiv:1704.07483)."""
    return jnp.maximum(x, 0.0) + alpha * jnp.expm1(jnp.minimum(x, 0.0) / alpha)


def selu(x: Any) -> Any:
    """`elu`, scaled such that layers keep mean and variance (Klambauer et al., arXiv:1706.02515)."""
    return SELU_SCALE * elu(x, SELU_ALPHA)


def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Any:
    """x above 0, x negative_slope below."""
    x = arraylike("leaky_relu", x)
    return jnp.where(x >= 0, x, negative_slope * x)


def gelu(x: Any, approximate: bool = True) -> Any:
    """x times the normal distribution function of x (Hendrycks and Gimpel, arXiv:1606.08415).

    Args:
        approximate: whether to take the paper's formula with tanh, rather than erfc.
    """
    (x,) = inexact("gelu", x)
    if approximate:
        root = np.sqrt(2 / np.pi).astype(x.dtype)
        return x * (0.5 * (1.0 + jnp.tanh(root * (x + 0.044715 * (x**3)))))
    return (0.5 * x * lax.erfc(-x * np.sqrt(0.5).astype(x.dtype))).astype(x.dtype)


def glu(x: Any, axis: int = -1) -> Any:
    """The first half along the axis times the sigmoid of the second.

    Raises: AssertionError, as in JAX, where the axis is odd.
    """
    x = arraylike("glu", x)
    assert x.shape[axis] % 2 == 0, "axis size must be divisible by 2"
    first, second = jnp.split(x, 2, axis)
    return first * sigmoid(second)


def log1mexp(x: Any) -> Any:
    """log(1 - e^-x), without loss for small and for large x (Maechler 2012); NaN below 0."""
    return log1mexp_of(arraylike("log1mexp", x))


@custom_jvp
def log1mexp_of(x: Any) -> Any:
    return jnp.where(x < np.log(2.0), jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x)))


log1mexp_of.defjvps(lambda g, out, x: g / jnp.expm1(x))


# Along axes.


def logsumexp(
    a: Any, axis: Axis = None, b: Any = None, keepdims: bool = False, return_sign: bool = False, where: Any = None
) -> Any:
    """log(sum(b exp(a))) over the axes, without overflow.

    Args:
        axis: one or several; None: all.
        b: factors, broadcast to a; where the sum is negative, the result is NaN unless the sign is asked for.
        return_sign: whether to return the logarithm of the sum's absolute value, and its sign.
        where: a mask; what is False is left out.
    """
    if where is not None:
        a = jnp.where(where, a, 0)
    if b is None:
        (a,) = inexact("logsumexp", a)
    else:
        a, b = inexact("logsumexp", a, b)
        a = jnp.where(b != 0, a, -np.inf)
    real = a.dtype.kind != "c"
    shift = jnp.max(a if real else a.real, axis=axis, keepdims=True, where=where, initial=-np.inf)
    shift = lax.stop_gradient(jnp.where(jnp.isfinite(shift), shift, jnp.zeros((), shift.dtype)))
    terms = jnp.exp(a - shift)
    total = jnp.sum(terms if b is None else terms * b, axis=axis, keepdims=keepdims, where=where)
    shift = shift if keepdims else jnp.reshape(shift, total.shape)
    sign: Any = jnp.sign(total) if return_sign or b is not None else None
    if return_sign or (real and b is not None):
        total = jnp.abs(total)
    out = jnp.log(total) + shift.astype(total.dtype)
    if return_sign:
        return out, sign
    return out if b is None or not real else jnp.where(sign < 0, jnp.asarray(np.nan, out.dtype), out)


def logmeanexp(x: Any, axis: Axis = None, where: Any = None, keepdims: bool = False) -> Any:
    """log(mean(exp(x))) over the axes."""
    total = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    shape = jnp.shape(x)
    if where is None:
        axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        return total - jnp.log(jnp.asarray(np.prod([shape[i] for i in axes], dtype=int), total.dtype))
    counted = jnp.broadcast_to(where, shape)
    return total - jnp.log(jnp.sum(counted, axis=axis, keepdims=keepdims, dtype=total.dtype))


def shifted(x: Any, axis: Axis, where: Any) -> Any:
    """x less its maximum, which is no subject of derivatives; -inf where it is masked out."""
    top = lax.stop_gradient(jnp.max(x, axis, where=where, initial=-np.inf, keepdims=True))
    return (x if where is None else jnp.where(where, x, -np.inf)) - top


def softmax(x: Any, axis: Axis = -1, where: Any = None) -> Any:
    """exp(x) / sum(exp(x)) over the axes; 0 where it is masked out. An infinity among the inputs makes NaN."""
    x = arraylike("softmax", x)
    terms = jnp.exp(shifted(x, axis, where))
    out = terms / jnp.sum(terms, axis, where=where, keepdims=True)
    return out if where is None else jnp.where(where, out, 0)


def log_softmax(x: Any, axis: Axis = -1, where: Any = None) -> Any:
    """log(softmax(x)); -inf where it is masked out."""
    x = arraylike("log_softmax", x)
    terms = shifted(x, axis, where)
    out = terms - jnp.log(jnp.sum(jnp.exp(terms), axis, where=where, keepdims=True))
    return out if where is None else jnp.where(where, out, -np.inf)


def standardize(
    x: Any,
    axis: Axis = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Any:
    """(x - mean) / sqrt(variance + epsilon), over the axes.

    Args:
        mean, variance: those of x itself where they are None.
        where: a mask of what counts for mean and variance.
        algorithm: "fast", the mean of squares less the square of the mean; or "stable", in two passes.

    Raises: ValueError for another algorithm.
    """
    x = arraylike("standardize", x)
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        if algorithm == "stable":
            variance = jnp.mean(jnp.square(x - mean), axis, keepdims=True, where=where)
        elif algorithm == "fast":
            squares = jnp.mean(jnp.square(x), axis, keepdims=True, where=where)
            variance = jnp.clip(squares - jnp.square(mean), 0)
        else:
            raise ValueError(f"Unknown algorithm '{algorithm}'. Expected 'fast' or 'stable'.")
    return jnp.subtract(x, mean) * lax.rsqrt(variance + epsilon)


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: Any = -1) -> Any:
    """Each integer as a vector along a new axis: 1 at its place, zeros else; zeros for one that is out of range.

    Args:
        x: integers, of any shape.
        num_classes: the length of the new axis.
        dtype: float32 by default.
        axis: where the new axis stands; or the name of a mapped axis of that size.

    Raises: ValueError where the named axis has another size.
    """
    classes = static_int(num_classes, "It stands for num_classes.")
    x = jnp.asarray(x)
    if x.dtype.kind not in "iu":
        warnings.warn(
            f"jax.nn.one_hot input should be integer-typed; got dtype={x.dtype}", DeprecationWarning, stacklevel=2
        )
    dtype = dtypes.float_dtype() if dtype is None else dtype
    try:
        place = operator.index(axis)
    except TypeError:
        size = lax.axis_size(axis)
        if size != classes:
            raise ValueError(
                f"Expected num_classes to match the size of axis {axis}, but {classes} != {size}"
            ) from None
        return jnp.asarray(x == lax.axis_index(axis), dtype=dtype)
    if not -x.ndim - 1 <= place <= x.ndim:
        raise ValueError(f"axis {place} is out of bounds for array of dimension {x.ndim + 1}")
    place %= x.ndim + 1
    shape = [1] * x.ndim
    shape.insert(place, classes)
    check_sizes("iota", tuple(shape))
    choices = jnp.reshape(jnp.arange(classes, dtype=x.dtype), shape)
    return (jnp.expand_dims(x, place) == choices).astype(dtype)
