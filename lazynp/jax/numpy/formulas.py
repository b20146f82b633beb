"""What elementwise functions compute where JAX differs from NumPy's ufunc of that name, or NumPy has none: on nodes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph.node import ABSTRACT, Node
from ...ops import elementwise as e
from ...ops import transcendental as t
from ...ops.elementwise import convert, is_complex, scalar, where
from ...ops.promotion import real_dtype
from ...ops.shape import broadcast_to
from ...ops.tags import stop_gradient
from ..at_once import AS_STORED
from ..dtypes import INT32, KIND_OF, float_dtype
from ..powers import power_node
from ..shown_primitives import one_equation
from ..whole_numbers import is_int, is_known_divisor

BOOL = np.dtype(bool)
LN2 = float(np.log(2.0))


def constant(value: Any) -> Callable[[Node], Node]:
    """What a predicate says of every element of a dtype for which the question is answered."""
    return lambda x: broadcast_to(np.bool_(value), shape=x.shape)


# What differs from NumPy's ufunc of that name.


@one_equation("sign")
def sign(x: Node) -> Node:
    """A zero keeps its sign. There is no derivative but zero, of complex numbers too."""
    if x.dtype.kind == "c":
        return stop_gradient(e.sign(x))
    return where(e.equal(x, scalar(0, x)), stop_gradient(x), e.sign(x)) if x.dtype.kind == "f" else e.sign(x)


def of_inexact(op: Any, otherwise: Any = None) -> Callable[[Node], Node]:
    """op of floats; whole numbers as they are, or what `otherwise` makes of them."""
    return lambda x: op(x) if x.dtype.kind in "fc" else x if otherwise is None else otherwise(x)


def rint(x: Node) -> Node:
    """Half to even; whole numbers become the default float."""
    if KIND_OF[x.dtype] in "biu":
        return convert(x, float_dtype())
    if not is_complex(x):
        return e.rint(x)
    return e.make_complex(e.rint(e.real(x)), e.rint(e.imag(x)))


def trunc(x: Node) -> Node:
    return e.trunc(x) if x.dtype.kind == "f" else x


def floor_divide(x: Node, y: Node) -> Node:
    """Of an integer by 0, what XLA's division (-1) and remainder give: -2, or -1 for 0; the largest one, if
    unsigned."""
    if not is_int(x):
        return float_divmod(x, y)[0]
    if is_known_divisor(y):
        return e.floor_divide(x, y)
    zero = e.equal(y, scalar(0, y))
    quotient = e.floor_divide(x, where(zero, scalar(1, y), y))
    if x.dtype.kind == "u":
        return where(zero, scalar(np.iinfo(x.dtype).max, x), quotient)
    return where(zero, where(e.equal(x, scalar(0, x)), scalar(-1, x), scalar(-2, x)), quotient)


def float_divmod(x: Node, y: Node) -> tuple[Node, Node]:
    """The remainder has y's sign, or x's where it is 0."""
    rest = e.fmod(x, y)
    wrong = e.logical_and(e.not_equal(rest, scalar(0, x)), e.not_equal(e.signbit(rest), e.signbit(y)))
    zero = e.equal(y, scalar(0, y))
    whole = e.rint(e.divide(where(zero, x, e.subtract(x, rest)), y))
    return (
        where(wrong, e.subtract(whole, scalar(1, x)), whole),
        where(wrong, e.add(rest, y), rest),
    )


def host_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    """`divmod` of NumPy arrays of one dtype, or of one beside a Python scalar. Raises ValueError for integers by 0."""
    if (y if type(x) in (int, float) else x).dtype.kind in "iu":
        if not np.all(y):
            raise ValueError("division by 0")
        return np.divmod(x, y)
    rest = np.fmod(x, y)
    whole = np.rint(np.where(y == 0, x, x - rest) / y) if not np.all(y) else np.rint((x - rest) / y)
    wrong = (rest != 0) & (np.signbit(rest) != np.signbit(y))
    return (whole - wrong, np.where(wrong, rest + y, rest)) if np.any(wrong) else (whole, rest)


def host_remainder(x: Any, y: Any) -> Any:
    return host_divmod(x, y)[1]


def host_floor_divide(x: Any, y: Any) -> Any:
    return host_divmod(x, y)[0]


def remainder_of(op: Any) -> Callable[[Node, Node], Node]:
    """Of an integer by 0 it is 0."""

    def remainder(x: Node, y: Node) -> Node:
        if not is_int(x):
            return float_divmod(x, y)[1] if op is e.remainder else op(x, y)
        if is_known_divisor(y):
            return op(x, y)
        zero = e.equal(y, scalar(0, y))
        return where(zero, scalar(0, x), op(x, where(zero, scalar(1, y), y)))

    return remainder


remainder, fmod = remainder_of(e.remainder), remainder_of(e.fmod)


def divmod_(x: Node, y: Node) -> tuple[Node, Node]:
    return floor_divide(x, y), remainder(x, y)


def power(x: Node, y: Node) -> Node:
    """A negative integer exponent in an array counts modulo 64, as JAX's six squarings do."""
    if not is_int(x):
        return power_node(x, y)
    if y.dtype.kind == "u":
        return t.power(x, y)
    return t.power(x, where(e.less(y, scalar(0, y)), e.bitwise_and(y, scalar(63, y)), y))


def shift(op: Any) -> Callable[[Node, Node], Node]:
    """By more than the width of the dtype, all bits leave; so they do by a negative number."""

    def shifted(x: Node, y: Node) -> Node:
        if x.dtype.kind == "u":
            return op(x, y)
        return op(x, where(e.less(y, scalar(0, y)), scalar(8 * y.dtype.itemsize, y), y))

    return shifted


def logical(op: Any) -> Callable[..., Node]:
    return lambda *xs: op(*[truth(x) for x in xs])


def truth(x: Node) -> Node:
    """Whether it is not 0."""
    return x if x.dtype == BOOL else e.not_equal(x, scalar(0, x))


def square(x: Node) -> Node:
    return e.square(x)


def hypot(x: Node, y: Node) -> Node:
    return t.hypot(x, y)


def arctan2(y: Node, x: Node) -> Node:
    """Of complex numbers -i log((x + iy) / sqrt(x² + y²))."""
    if not is_complex(x):
        return t.arctan2(y, x)
    i = scalar(1j, x)
    unit = e.divide(e.add(x, e.multiply(i, y)), t.sqrt(e.add(e.multiply(x, x), e.multiply(y, y))))
    return e.multiply(scalar(-1j, x), t.log(unit))


def logaddexp(x: Node, y: Node) -> Node:
    """Of complex numbers from the larger real part."""
    if not is_complex(x):
        return t.logaddexp(x, y)
    swap = e.less(e.real(x), e.real(y))
    high, low = where(swap, y, x), where(swap, x, y)
    out = e.add(high, t.log1p(t.exp(e.subtract(low, high))))
    turns = e.multiply(scalar_real(2 * np.pi, out), e.rint(e.divide(e.imag(out), scalar_real(2 * np.pi, out))))
    return e.make_complex(e.real(out), e.subtract(e.imag(out), turns))


def scalar_real(value: float, like: Node) -> Node:
    return Node.of_scalar(real_dtype(like.dtype).type(value))


def logaddexp2(x: Node, y: Node) -> Node:
    if not is_complex(x):
        return t.logaddexp2(x, y)
    scale = scalar(LN2, x)
    return e.divide(logaddexp(e.multiply(x, scale), e.multiply(y, scale)), scale)


def scaled_log(x: Node, by: float) -> Node:
    """The logarithm to another base; part by part, since an infinite one would spoil the other."""
    out = t.log(x)
    return e.make_complex(*[e.divide(part, scalar_real(by, x)) for part in (e.real(out), e.imag(out))])


def log2(x: Node) -> Node:
    return scaled_log(x, LN2) if is_complex(x) else t.log2(x)


def log10(x: Node) -> Node:
    return scaled_log(x, float(np.log(10.0))) if is_complex(x) else t.log10(x)


def exp2(x: Node) -> Node:
    return t.exp(e.multiply(x, scalar(LN2, x))) if is_complex(x) else t.exp2(x)


def scaled(factor: float) -> Callable[[Node], Node]:
    return lambda x: e.multiply(x, scalar(factor, x))


def sinc(x: Node) -> Node:
    """sin(πx) / (πx), with the derivatives of its series at 0, up to the ninth."""
    zero = e.equal(x, scalar(0, x))
    px = e.multiply(scalar(np.pi, x), where(zero, scalar(1, x), x))
    small = where(zero, x, scalar(0, x))
    square, series = e.multiply(small, small), scalar(0, x)
    for k in reversed(range(5)):
        series = e.add(scalar((-1) ** k * np.pi ** (2 * k) / math.factorial(2 * k + 1), x), e.multiply(square, series))
    return where(zero, series, e.divide(t.sin(px), px))


CHEBYSHEV_A, CHEBYSHEV_B = (
    [float(c) for c in vars(np.lib._function_base_impl)[name]] for name in ("_i0A", "_i0B")
)  # NumPy's coefficients (Clenshaw, Chebyshev series for mathematical functions, 1962)


def chebyshev(x: Node, coefficients: list[float]) -> Node:
    b0, b1, b2 = scalar(coefficients[0], x), scalar(0, x), scalar(0, x)
    for c in coefficients[1:]:
        b2, b1 = b1, b0
        b0 = e.add(e.subtract(e.multiply(x, b1), b2), scalar(c, x))
    return e.multiply(scalar(0.5, x), e.subtract(b0, b2))


def i0(x: Node) -> Node:
    """The modified Bessel function of order 0."""
    x = e.absolute(x)
    near = e.less_equal(x, scalar(8, x))
    small = e.subtract(e.divide(where(near, x, scalar(8, x)), scalar(2, x)), scalar(2, x))
    large = e.subtract(e.divide(scalar(32, x), where(near, scalar(8, x), x)), scalar(2, x))
    far = e.divide(chebyshev(large, CHEBYSHEV_B), t.sqrt(where(near, scalar(8, x), x)))
    return e.multiply(t.exp(x), where(near, chebyshev(small, CHEBYSHEV_A), far))


def modf(x: Node) -> tuple[Node, Node]:
    """Fraction and whole part."""
    whole = e.trunc(x)
    return e.subtract(x, whole), whole


def frexp(x: Node) -> tuple[Node, Node]:
    mantissa, exponent = e.frexp(x, i=0), e.frexp(x, i=1)
    return mantissa, where(e.isfinite(x), convert(exponent, INT32), Node.of_scalar(np.int32(0)))


def check_width(dtype: np.dtype[Any]) -> None:
    """Raise NotImplementedError for floating-point numbers of fewer than 16 bits, whose sign JAX does not read."""
    if KIND_OF[dtype] == "f" and dtype.itemsize < 2:
        raise NotImplementedError("jax.numpy.signbit only supports 16, 32, and 64-bit types.")


def spacing(x: Node) -> Node:
    check_width(x.dtype)
    return e.copysign(e.spacing(x), x)


def copysign(x: Node, y: Node) -> Node:
    check_width(y.dtype)
    return e.copysign(x, y)


AS_STORED |= {spacing, copysign}


def bitwise_count(x: Node) -> Node:
    return e.bitwise_count(x)


def divide(x: Node, y: Node) -> Node:
    """x / y. What is repeated along an axis is divided by as XLA does it, which multiplies by its reciprocal: this is
    seen in the last digit, and takes less time. Where a graph is traced it stays a division, which jaxprs show."""
    if y.trace == ABSTRACT or x.trace == ABSTRACT or y.dtype.kind != "f" or x.dtype != y.dtype:
        return e.divide(x, y)
    if not x.shape or y.shape == np.broadcast_shapes(x.shape, y.shape):
        return e.divide(x, y)
    return e.multiply(x, e.divide(Node.of_scalar(y.dtype.type(1)), y))


def host_divide(x: Any, y: Any) -> Any:
    """The same of values at hand."""
    if type(x) is not np.ndarray or not x.ndim or x.dtype.kind != "f":
        return np.divide(x, y)
    one = x.dtype.type(1)
    if type(y) is not np.ndarray:
        return np.multiply(x, np.divide(one, x.dtype.type(y)))
    if y.shape == x.shape or y.shape == np.broadcast_shapes(x.shape, y.shape):
        return np.divide(x, y)
    return np.multiply(x, np.divide(one, y))
