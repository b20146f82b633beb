"""The elementwise operators: a table. Operands have one dtype and one shape, or are scalars."""

from __future__ import annotations

import enum
import operator
from typing import Any

import numpy as np

from ...graph.node import Node
from ...ops import bits, special
from ...ops import elementwise as e
from ...ops import transcendental as t
from ...ops.elementwise import scalar, where
from ...ops.tags import stop_gradient, without_derivative
from ..array import Array
from ..at_once import apply, by_signed_bits
from ..dtypes import KIND_OF
from ..extrema import maximum, minimum
from ..powers import power_node
from ..shown_primitives import one_equation
from ..whole_numbers import is_int, is_known_divisor
from .call import argument, arguments, check_kinds, dtype_of, nary, public, spread, weak_if_all, widened

NUMBER, INEXACT, BITS, ANY, REAL = "ifc", "fc", "ib", "ifcb", "ifb"


class RoundingMethod(enum.IntEnum):
    """Which way a number halfway between two integers is rounded."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def safe_divisor(x: Node, y: Node) -> tuple[Node, Node]:
    """Where y is zero, and y with 1 there; 1 as well where the quotient of signed integers would not fit."""
    zero = e.equal(y, scalar(0, y))
    wrong = zero
    if x.dtype.kind == "i":
        least = e.equal(x, scalar(np.iinfo(x.dtype).min, x))
        wrong = e.logical_or(zero, e.logical_and(least, e.equal(y, scalar(-1, y))))
    return zero, where(wrong, scalar(1, y), y)


def div(x: Node, y: Node) -> Node:
    """Of integers rounded toward zero; x / 0 has all bits set."""
    if not is_int(x):
        return e.divide(x, y)
    if is_known_divisor(y):
        return e.floor_divide(e.subtract(x, e.fmod(x, y)), y)
    zero, safe = safe_divisor(x, y)
    out = e.floor_divide(e.subtract(x, e.fmod(x, safe)), safe)
    return where(zero, scalar(-1 if x.dtype.kind == "i" else np.iinfo(x.dtype).max, x), out)


def rem(x: Node, y: Node) -> Node:
    """With the sign of x; of integers x where y is zero."""
    if not is_int(x):
        return e.fmod(x, y)
    if is_known_divisor(y):
        return e.fmod(x, y)
    zero, safe = safe_divisor(x, y)
    out = e.fmod(x, safe)
    return where(zero, x, where(e.equal(safe, scalar(1, y)), scalar(0, x), out))


def power(x: Node, y: Node) -> Node:
    """y may be an integer."""
    return power_node(x, e.convert(y, x.dtype) if y.dtype != x.dtype else y)


@one_equation("sign")
def sign(x: Node) -> Node:
    """A zero keeps its sign. Of complex numbers, too, it has no derivative but zero, as in JAX."""
    out = stop_gradient(e.sign(x)) if x.dtype.kind == "c" else e.sign(x)
    if x.dtype.kind == "f":
        zero = e.equal(x, scalar(0, x))
        return where(zero, e.copysign(scalar(0, x), x), out)
    return out


def away(x: Node) -> Node:
    """To the nearest integer, halves away from zero."""
    whole = e.trunc(x)
    half = e.greater_equal(e.absolute(e.subtract(x, whole)), scalar(0.5, x))
    return where(half, e.add(whole, e.copysign(scalar(1, x), x)), whole)


@one_equation("logistic", lambda out: {"accuracy": None})
def logistic(x: Node) -> Node:
    """1 / (1 + exp(-x)), from exp(-|x|), which does not overflow."""
    one = scalar(1, x)
    if x.dtype.kind == "c":
        return e.divide(one, e.add(one, t.exp(e.negative(x))))
    small = t.exp(e.negative(e.absolute(x)))
    total = e.add(one, small)
    return where(e.greater_equal(x, scalar(0, x)), e.divide(one, total), e.divide(small, total))


@one_equation("rsqrt", lambda out: {"accuracy": None})
def rsqrt(x: Node) -> Node:
    return e.divide(scalar(1, x), t.sqrt(x))


def atan2(x: Node, y: Node) -> Node:
    """The angle; of complex numbers -i log((y + i x) / sqrt(x² + y²))."""
    if x.dtype.kind != "c":
        return t.arctan2(x, y)
    i = Node.of_scalar(x.dtype.type(1j))
    length = t.sqrt(e.add(e.square(x), e.square(y)))
    return e.multiply(e.negative(i), t.log(e.divide(e.add(y, e.multiply(i, x)), length)))


def bitwise_not(x: Node) -> Node:
    return e.logical_not(x) if x.dtype.kind == "b" else e.invert(x)


def conjugated(x: Node) -> Node:
    """Complex, also of a real number."""
    return e.conjugate(x) if x.dtype.kind == "c" else e.make_complex(x, scalar(0, x))


abs = nary("abs", e.absolute, "fcs")
acos = nary("acos", t.arccos, INEXACT)
acosh = nary("acosh", t.arccosh, INEXACT)
add = nary("add", e.add, NUMBER, NUMBER, hint="add")
asin = nary("asin", t.arcsin, INEXACT)
asinh = nary("asinh", t.arcsinh, INEXACT)
atan = nary("atan", t.arctan, INEXACT)
atan2 = nary("atan2", atan2, INEXACT, INEXACT, hint="arctan2")
atanh = nary("atanh", t.arctanh, INEXACT)
bessel_i0e = nary("bessel_i0e", special.bessel_i0e, "f")
bessel_i1e = nary("bessel_i1e", special.bessel_i1e, "f")
betainc = nary("regularized_incomplete_beta", special.betainc, "f", "f", "f", names="a b x", public_name="betainc")
bitwise_and = nary("and", e.bitwise_and, BITS, BITS, hint="bitwise_and", public_name="bitwise_and")
bitwise_not = nary("not", bitwise_not, BITS, public_name="bitwise_not")
bitwise_or = nary("or", e.bitwise_or, BITS, BITS, hint="bitwise_or", public_name="bitwise_or")
bitwise_xor = nary("xor", e.bitwise_xor, BITS, BITS, hint="bitwise_xor", public_name="bitwise_xor")
cbrt = nary("cbrt", t.cbrt, "f", accuracy=True)
ceil = nary("ceil", e.ceil, "f")
clz = nary("clz", bits.count_leading_zeros, "i")
complex = nary("complex", e.make_complex, "w", "w")
cos = nary("cos", t.cos, INEXACT, accuracy=True)
cosh = nary("cosh", t.cosh, INEXACT)
digamma = nary("digamma", special.digamma, "f")
div = nary("div", div, NUMBER, NUMBER, hint="divide")
eq = nary("eq", e.equal, ANY, ANY, hint="equal")
erf = nary("erf", special.erf, "f")
erf_inv = nary("erf_inv", special.erf_inv, "f")
erfc = nary("erfc", special.erfc, "f")
exp = nary("exp", t.exp, INEXACT, accuracy=True)
exp2 = nary("exp2", t.exp2, INEXACT, accuracy=True)
expm1 = nary("expm1", t.expm1, INEXACT, accuracy=True)
floor = nary("floor", e.floor, "f")
ge = nary("ge", e.greater_equal, REAL, REAL)
gt = nary("gt", e.greater, REAL, REAL)
igamma = nary("igamma", special.igamma, "f", "f", names="a x")
igamma_grad_a = nary("igamma_grad_a", special.igamma_grad_a, "f", "f", names="a x")
igammac = nary("igammac", special.igammac, "f", "f", names="a x")
imag = nary("imag", e.imag, "c")
is_finite = nary("is_finite", e.isfinite, "f")
le = nary("le", e.less_equal, REAL, REAL)
lgamma = nary("lgamma", special.lgamma, "f")
log = nary("log", t.log, INEXACT, accuracy=True)
log1p = nary("log1p", t.log1p, INEXACT, accuracy=True)
logistic = nary("logistic", logistic, INEXACT, accuracy=True)
lt = nary("lt", e.less, REAL, REAL)
max = nary("max", maximum, ANY, ANY, hint="maximum")
min = nary("min", minimum, ANY, ANY, hint="minimum")
product = nary("mul", e.multiply, NUMBER, NUMBER, hint="multiply")
mulhi = nary("mulhi", bits.multiply_high, "i", "i")
ne = nary("ne", e.not_equal, ANY, ANY, hint="not_equal")
neg = nary("neg", e.negative, NUMBER)
nextafter = nary("nextafter", e.nextafter, "f", "f", names="x1 x2", hint="nextafter")
polygamma = nary("polygamma", special.polygamma, "f", "f", names="m x")
population_count = nary("population_count", bits.population_count, "i")
gamma_slope = nary("random_gamma_grad", special.random_gamma_grad, "f", "f", names="a x")
real = nary("real", e.real, "c")
reciprocal = nary("reciprocal", lambda x: e.divide(scalar(1, x), x), INEXACT)
rem = nary("rem", rem, "if", "if", hint="remainder")
rsqrt = nary("rsqrt", rsqrt, INEXACT, accuracy=True)
shift_left = nary("shift_left", e.left_shift, "i", "i", hint="left_shift")
shift_right_arithmetic = nary(
    "shift_right_arithmetic",
    by_signed_bits(lambda x, y: e.right_shift(x, y) if x.dtype.kind == "i" else signed_shift(x, y)),
    "i",
    "i",
    hint="right_shift",
)
shift_right_logical = nary("shift_right_logical", bits.shift_right_logical, "i", "i", hint="right_shift")
sign = nary("sign", sign, NUMBER)
sin = nary("sin", t.sin, INEXACT, accuracy=True)
sinh = nary("sinh", t.sinh, INEXACT)
sqrt = nary("sqrt", t.sqrt, INEXACT, accuracy=True)
square = nary("square", e.square, NUMBER)
sub = nary("sub", e.subtract, NUMBER, NUMBER, hint="subtract")
tan = nary("tan", t.tan, INEXACT, accuracy=True)
tanh = nary("tanh", t.tanh, INEXACT, accuracy=True)
zeta = nary("zeta", lambda x, q: without_derivative("zeta", special.zeta(x, q)), "f", "f", names="x q")
pow_ = nary("pow", power, INEXACT, "ifc", same=False)


def signed_shift(x: Node, y: Node) -> Node:
    """An unsigned integer, shifted as the signed one of its bits."""
    signed = np.dtype(f"i{x.dtype.itemsize}")
    return e.convert(e.right_shift(e.convert(x, signed), e.convert(y, signed)), x.dtype)


@public
def pow(x: Any, y: Any) -> Array:
    """x to the power y, of x's dtype; y has that dtype or is an integer."""
    nodes = [argument("pow", x, 0), argument("pow", y, 1)]
    if nodes[1].dtype.kind in "iu":
        check_kinds("pow", nodes, (INEXACT, "i"))
    elif nodes[0].dtype != nodes[1].dtype and nodes[0].dtype.kind in "fc":
        raise TypeError(f"lax.pow requires arguments to have the same dtypes, got {nodes[0].dtype}, {nodes[1].dtype}.")
    return pow_(x, y)


@public
def mul(x: Any, y: Any, *, out_dtype: Any = None) -> Array:
    """The product; with `out_dtype` that of the operands in that dtype."""
    if out_dtype is None:
        return product(x, y)
    new = dtype_of(out_dtype)
    return product(*[apply(lambda n: e.convert(n, new), n) for n in arguments("mul", x, y)])


@public
def round(x: Any, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """To the nearest integer; halves away from zero, or to the even one."""
    method = RoundingMethod(rounding_method)
    node = argument("round", x)
    check_kinds("round", [node], ["f"])
    return apply(weak_if_all(widened(e.rint if method == RoundingMethod.TO_NEAREST_EVEN else away)), node)


@public
def random_gamma_grad(a: Any, x: Any) -> Array:
    """The derivative of a sample x of the gamma distribution by its parameter a, which is broadcast."""
    shape = np.broadcast_shapes(np.shape(a), np.shape(x))
    return gamma_slope(*[apply(lambda v: spread(v, shape), n) for n in arguments("random_gamma_grad", a, x)])


@public
def conj(x: Any) -> Array:
    """The complex conjugate; of a real number, as a complex one."""
    if x is None:
        raise ValueError("Invalid argument to dtype: None.")
    node = argument("conj", x)
    check_kinds("conj", [node], ["wc"])
    return apply(weak_if_all(conjugated), node)


@public
def integer_pow(x: Any, y: int) -> Array:
    """x to a Python integer's power, by repeated squaring.

    Raises: TypeError for a negative power of integers.
    """
    node = argument("integer_pow", x)
    check_kinds("integer_pow", [node], [NUMBER])
    n = int(y) if type(y) is float and y == int(y) else operator.index(y)
    if n < 0 and KIND_OF.get(node.dtype, "?") in "iu":
        raise TypeError(f"Integers cannot be raised to negative powers, got integer_pow({node.aval}, {n})")
    return apply(weak_if_all(widened(lambda x: squarings(x, n))), node)


def squarings(x: Node, n: int) -> Node:
    if n <= 0:
        one = spread(scalar(1, x), x.shape)
        return one if n == 0 else e.divide(one, squarings(x, -n))
    out = None
    while n:
        if n & 1:
            out = x if out is None else e.multiply(out, x)
        n >>= 1
        if n:
            x = e.multiply(x, x)
    assert out is not None
    return out


@public
def clamp(min: Any, x: Any, max: Any) -> Array:
    """x, but min where it is less and max where it is more; bounds have x's shape or none.

    Raises: TypeError for other shapes, and for different dtypes.
    """
    nodes = [argument("clamp", v, i) for i, v in enumerate((min, x, max))]
    for what, n in (("min", nodes[0]), ("max", nodes[2])):
        if n.shape not in ((), nodes[1].shape):
            raise TypeError(
                f"clamp requires {what}.shape == operand.shape or {what}.shape == (), got {what}.shape={n.shape}, "
                f"operand.shape={nodes[1].shape}."
            )
    if len({n.dtype for n in nodes}) > 1:
        text = ", ".join([n.dtype.name for n in nodes])
        raise TypeError(f"lax.clamp requires arguments to have the same dtypes, got {text}.")
    check_kinds("clamp", nodes, ("ifcb",) * 3)
    return apply(weak_if_all(widened(clamped)), *nodes)


def clamped(low: Node, x: Node, high: Node) -> Node:
    """Without a derivative where x is equal to a bound, or NaN; along a bound there is one where x is beyond it and the
    bounds are in order. A bound that is NaN makes the result NaN."""
    if x.dtype.kind == "f":
        if low.trace:
            low = where(e.less(low, high), low, stop_gradient(low))
        if high.trace:
            high = where(e.less(high, x), high, stop_gradient(high))
        x = where(e.logical_and(e.greater(x, low), e.less(x, high)), x, stop_gradient(x))
    out = where(e.less(x, low), low, x)
    out = where(e.greater(out, high), high, out)
    if x.dtype.kind != "f":
        return out
    return where(e.logical_or(e.isnan(low), e.isnan(high)), scalar(np.nan, x), out)


@public
def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Array:
    """As if stored in a float with that many bits of exponent and mantissa."""
    node = argument("reduce_precision", operand)
    if exponent_bits < 1:
        raise ValueError(f"reduce_precision: exponent_bits must be positive; got {exponent_bits}")
    if mantissa_bits < 0:
        raise ValueError(f"reduce_precision: mantissa_bits must be non-negative; got {mantissa_bits}")
    check_kinds("reduce_precision", [node], ["f"])
    return apply(
        weak_if_all(widened(lambda x: bits.reduce_precision(x, exponent=exponent_bits, mantissa=mantissa_bits))), node
    )


RoundingMethod.__module__ = "jax.lax"
__all__ = [
    "RoundingMethod",
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bessel_i0e",
    "bessel_i1e",
    "betainc",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "clamp",
    "clz",
    "complex",
    "conj",
    "cos",
    "cosh",
    "digamma",
    "div",
    "eq",
    "erf",
    "erf_inv",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "ge",
    "gt",
    "igamma",
    "igamma_grad_a",
    "igammac",
    "imag",
    "integer_pow",
    "is_finite",
    "le",
    "lgamma",
    "log",
    "log1p",
    "logistic",
    "lt",
    "max",
    "min",
    "mul",
    "mulhi",
    "ne",
    "neg",
    "nextafter",
    "polygamma",
    "population_count",
    "pow",
    "random_gamma_grad",
    "real",
    "reciprocal",
    "reduce_precision",
    "rem",
    "round",
    "rsqrt",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "sub",
    "tan",
    "tanh",
    "zeta",
]
