"""Elementwise ops: powers, exponentials and logarithms, trigonometric and hyperbolic functions.

As in `elementwise`: partials are `(g, out, *inputs)`, linear in g, and None is zero. Where mathematics leaves a choice
(kinks, branches of complex functions), derivatives are JAX's.
"""

from __future__ import annotations

import math

import numpy as np

from ..graph.node import CONCRETE, Node
from ..graph.op import DEFINITE, MAP, Op, Rule, registry
from .code import HEAVY, Code, mathematics
from .elementwise import (
    add,
    cast,
    const,
    convert,
    divide,
    equal,
    is_complex,
    multiply,
    negative,
    ones_like,
    subtract,
    weak_cast,
    where,
)
from .family import map_batch, of_array, ufunc_abstract, ufunc_op
from .promotion import is_inexact
from .shape import zeros_of

LN2, LN10 = math.log(2.0), math.log(10.0)
DEGREE = math.pi / 180


def power_base(name: str) -> Rule:
    def rule(g: Node, out: Node, x: Node, y: Node) -> Node | None:
        """y x^(y-1); for whole numbers zero where y is zero, whatever x, and NaN at x = 0 for a y of 0.0, as in JAX."""
        op = registry[name]
        n = const(y.inputs[0] if y.op is weak_cast else y)
        if isinstance(n, Node):
            fixed = y.op is None and y.trace == CONCRETE and not y.shape and isinstance(y.buffer, np.ndarray)
            n = y.buffer[()] if fixed else y
        if not isinstance(n, Node):
            whole = isinstance(n, (int, np.integer))
            if whole and n == 0:
                return None
            return multiply(g, 1 if whole and n == 1 else multiply(op(x, n - 1), n))
        if not is_whole(y):
            return multiply(g, convert(multiply(y, op(x, subtract(y, 1))), out.dtype))
        zero = equal(y, 0)
        safe = where(zero, ones_like(y), subtract(y, 1))
        return multiply(g, where(zero, zeros_of(out), convert(multiply(y, op(x, safe)), out.dtype)))

    return rule


def is_whole(y: Node) -> bool:
    """Whether a node holds whole numbers, cast or not, or may do so: once computed, a cast has let go of its input."""
    while (y.op is cast or y.op is weak_cast) and y.inputs:
        y = y.inputs[0]
    return y.dtype.kind in "iub" or y.op is cast or y.op is weak_cast


def power_exponent(g: Node, out: Node, x: Node, y: Node) -> Node:
    """log(x) x^y, and zero where x is zero."""
    return multiply(g, multiply(log(where(equal(x, 0), ones_like(x), x)), out))


def power_weakness(n: Node) -> str:
    return DEFINITE if is_inexact(n.inputs[1].dtype) else of_array(n)


power = ufunc_op(
    "power",
    power_base("power"),
    power_exponent,
    weakness=power_weakness,
    code=mathematics("pow", raises=True, iu="ipow<{T}>({0}, {1})"),
)
float_power = ufunc_op("float_power", power_base("float_power"), power_exponent, code=mathematics("pow", raises=True))
c_power = Op(
    "c_power",
    MAP,
    ufunc_abstract(np.power),
    lambda xp, x, y: xp.c_power(x, y),
    partials=(power_base("c_power"), power_exponent),
    code=mathematics("pow", raises=True),
    doc="As C's pow: a half is no square root, which is another number of -inf and -0.",
    weakness=DEFINITE,
)
c_power.loop = lambda out, x, y: (out, out)
c_power.batch = map_batch(c_power)
POWERS = frozenset({power, c_power})
EXPONENTS = frozenset({-3, -2, -1.5, -1, -0.5, 0.5, 1, 1.5, 2, 3, 4})
"""Those for which compiled code needs no `pow`, of which a call takes ten times as long: products of x and its root, or
of 1/x and the root's reciprocal, which are out of range, or lose digits below it, only where the power is. `power_of`
stands twice and must be the same: in C, for loops, and on tensors, for kernels."""
ROOTS = bool(np.signbit(np.power(np.array([-0.0]), 0.5))[0])
"""Whether NumPy's power takes the root where the exponent is a half, of -inf and -0 too: from 2.3 on."""

exp = ufunc_op("exp", lambda g, out, x: multiply(g, out), code=mathematics("exp", c="std::exp({0})"))
exp2 = ufunc_op(
    "exp2",
    lambda g, out, x: multiply(g, multiply(out, LN2)),
    weakness=of_array,
    code=mathematics("exp2", float32="exp2_f({0})"),
)
expm1 = ufunc_op("expm1", lambda g, out, x: multiply(g, add(out, 1)), code=mathematics("expm1", float32="expm1_f({0})"))
log = ufunc_op("log", lambda g, out, x: divide(g, x), code=mathematics("log", c="std::log({0})"))
log2 = ufunc_op("log2", lambda g, out, x: divide(g, multiply(x, LN2)), code=mathematics("log2"))
log10 = ufunc_op("log10", lambda g, out, x: divide(g, multiply(x, LN10)), code=mathematics("log10"))
log1p = ufunc_op("log1p", lambda g, out, x: divide(g, add(x, 1)), code=mathematics("log1p", float32="log1p_f({0})"))
sqrt = ufunc_op(
    "sqrt",
    lambda g, out, x: divide(g, multiply(out, 2)),
    weakness=of_array,
    code=Code(
        "f", libm="sqrt", quiet="__builtin_sqrt{F}({0})", c="std::sqrt({0})", errors="i", replayed="f", exact=True
    ),
)
cbrt = ufunc_op(
    "cbrt", lambda g, out, x: multiply(g, multiply(power(out, -2), 1 / 3)), weakness=of_array, code=mathematics("cbrt")
)
sin = ufunc_op("sin", lambda g, out, x: multiply(g, cos(x)), code=mathematics("sin", c="std::sin({0})"))
cos = ufunc_op("cos", lambda g, out, x: multiply(g, negative(sin(x))), code=mathematics("cos", c="std::cos({0})"))
tan = ufunc_op(
    "tan", lambda g, out, x: multiply(g, add(multiply(out, out), 1)), weakness=of_array, code=mathematics("tan")
)
arcsin = ufunc_op(
    "arcsin",
    lambda g, out, x: divide(g, sqrt(subtract(1, multiply(x, x)))),
    weakness=of_array,
    code=mathematics("asin"),
)
arccos = ufunc_op(
    "arccos",
    lambda g, out, x: divide(negative(g), sqrt(subtract(1, multiply(x, x)))),
    weakness=of_array,
    code=mathematics("acos"),
)
arctan = ufunc_op(
    "arctan", lambda g, out, x: divide(g, add(multiply(x, x), 1)), weakness=of_array, code=mathematics("atan")
)
sinh = ufunc_op(
    "sinh", lambda g, out, x: multiply(g, cosh(x)), code=mathematics("sinh", c="std::sinh({0})", float32="sinh_f({0})")
)
cosh = ufunc_op(
    "cosh", lambda g, out, x: multiply(g, sinh(x)), code=mathematics("cosh", c="std::cosh({0})", float32="cosh_f({0})")
)
tanh = ufunc_op(
    "tanh",
    lambda g, out, x: multiply(g, subtract(1, multiply(out, out))),
    code=mathematics("tanh", c="std::tanh({0})", float32="tanh_f({0})"),
)
arcsinh = ufunc_op("arcsinh", lambda g, out, x: divide(g, sqrt(add(multiply(x, x), 1))), code=mathematics("asinh"))


def arccosh_x(g: Node, out: Node, x: Node) -> Node:
    """Of complex numbers the root of a product is off by a sign on half of the plane. Of real ones it is JAX's, which
    has a derivative below -1, too."""
    below, above = subtract(x, 1), add(x, 1)
    return divide(g, multiply(sqrt(below), sqrt(above)) if is_complex(x) else sqrt(multiply(below, above)))


arccosh = ufunc_op("arccosh", arccosh_x, code=mathematics("acosh"))
arctanh = ufunc_op("arctanh", lambda g, out, x: divide(g, subtract(1, multiply(x, x))), code=mathematics("atanh"))
TO_RADIANS = Code("f", f="({0} * {T}(0.017453292519943295))")
TO_DEGREES = Code("f", f="({0} * {T}(57.29577951308232))")
deg2rad, radians = (ufunc_op(n, lambda g, out, x: multiply(g, DEGREE), code=TO_RADIANS) for n in ("deg2rad", "radians"))
rad2deg, degrees = (ufunc_op(n, lambda g, out, x: divide(g, DEGREE), code=TO_DEGREES) for n in ("rad2deg", "degrees"))


def norm2(x: Node, y: Node) -> Node:
    return add(multiply(x, x), multiply(y, y))


arctan2 = ufunc_op(
    "arctan2",
    lambda g, out, y, x: multiply(g, divide(x, norm2(x, y))),
    lambda g, out, y, x: multiply(negative(g), divide(y, norm2(x, y))),
    code=mathematics("atan2"),
)


def hypot_share(g: Node, out: Node, x: Node) -> Node:
    """x / out, and zero at the origin."""
    return multiply(g, divide(x, where(equal(out, 0), ones_like(out), out)))


def hypot_part(g: Node, out: Node, x: Node) -> Node:
    """As that, and at the origin a half, with no second derivative: half of what the larger one of two has."""
    return where(equal(out, 0), multiply(g, Node.of_scalar(out.dtype.type(0.5))), hypot_share(g, out, x))


hypot = ufunc_op(
    "hypot",
    lambda g, out, x, y: hypot_part(g, out, x),
    lambda g, out, x, y: hypot_part(g, out, y),
    associative=True,
    code=mathematics("hypot"),
)


def finite_difference(x: Node, out: Node) -> Node:
    """x - out, without the inf - inf that would be NaN."""
    return subtract(*[where(equal(v, math.inf), zeros_of(v), v) for v in (x, out)])


logaddexp = ufunc_op(
    "logaddexp",
    lambda g, out, x, y: multiply(g, exp(finite_difference(x, out))),
    lambda g, out, x, y: multiply(g, exp(finite_difference(y, out))),
    associative=True,
    code=Code("f", HEAVY, f="logaddexp<{T}>({0}, {1})"),
)
logaddexp2 = ufunc_op(
    "logaddexp2",
    lambda g, out, x, y: multiply(g, exp2(finite_difference(x, out))),
    lambda g, out, x, y: multiply(g, exp2(finite_difference(y, out))),
    associative=True,
    code=Code("f", HEAVY),
)
