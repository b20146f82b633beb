"""Elementwise functions: a table of NumPy's ufuncs as JAX has them. A line each: how operands are promoted, which
dtypes are accepted, what is computed, and for which dtypes NumPy's own ufunc does the same on small values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph.node import Node
from ...ops import elementwise as e
from ...ops.elementwise import convert, is_complex, where
from ...ops.promotion import real_dtype
from ...ops.shape import broadcast_to, zeros_of
from ..array import Array, apply, as_node, cast_node, check_arraylike, typed
from ..dtypes import FLOAT32, INT32, KIND_OF
from .call import ANY, COMMON, FLOATS, INEXACT, NUMBERS, NUMERIC, binary, elementwise, named, promoted, unary

BOOL, UINT8 = np.dtype(bool), np.dtype(np.uint8)
INTS = "bhilqBHILQ"
BITS = "?" + INTS
COMPLEX = FLOATS + "FD"
LN2 = float(np.log(2.0))


def scalar(value: Any, like: Node) -> Node:
    """A constant of a node's dtype."""
    return Node.of_scalar(np.asarray(value).astype(like.dtype)[()])


def is_int(x: Node) -> bool:
    return x.dtype.kind in "iu"


def constant(value: Any) -> Callable[[Node], Node]:
    """What a predicate says of every element of a dtype for which the question is answered."""
    return lambda x: broadcast_to(np.bool_(value), shape=x.shape)


# What differs from NumPy's ufunc of that name.


def sign(x: Node) -> Node:
    """A zero keeps its sign."""
    return where(e.equal(x, scalar(0, x)), x, e.sign(x)) if x.dtype.kind == "f" else e.sign(x)


def of_inexact(op: Any, otherwise: Any = None) -> Callable[[Node], Node]:
    """op of floats; whole numbers as they are, or what `otherwise` makes of them."""
    return lambda x: op(x) if x.dtype.kind in "fc" else x if otherwise is None else otherwise(x)


def rint(x: Node) -> Node:
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
    zero = e.equal(y, scalar(0, y))
    quotient = e.floor_divide(x, where(zero, scalar(1, y), y))
    if x.dtype.kind == "u":
        return where(zero, scalar(np.iinfo(x.dtype).max, x), quotient)
    return where(zero, where(e.equal(x, scalar(0, x)), scalar(-1, x), scalar(-2, x)), quotient)


def float_divmod(x: Node, y: Node) -> tuple[Node, Node]:
    """The remainder has y's sign, or x's where it is 0."""
    rest = e.fmod(x, y)
    wrong = e.logical_and(e.not_equal(rest, scalar(0, x)), e.not_equal(e.signbit(rest), e.signbit(y)))
    whole = e.rint(e.divide(e.subtract(x, rest), y))
    return (
        where(wrong, e.subtract(whole, scalar(1, x)), whole),
        where(wrong, e.add(rest, y), rest),
    )


def host_remainder(x: Any, y: Any) -> Any:
    """`float_divmod`'s remainder of NumPy arrays."""
    rest = np.fmod(x, y)
    wrong = (rest != 0) & ((rest < 0) != np.less(y, 0))
    return np.where(wrong, rest + y, rest) if wrong.any() else rest


def host_floor_divide(x: Any, y: Any) -> Any:
    rest = np.fmod(x, y)
    wrong = (rest != 0) & ((rest < 0) != np.less(y, 0))
    return np.rint((x - rest) / y) - wrong


def remainder_of(op: Any) -> Callable[[Node, Node], Node]:
    """Of an integer by 0 it is 0."""

    def remainder(x: Node, y: Node) -> Node:
        if not is_int(x):
            return float_divmod(x, y)[1] if op is e.remainder else op(x, y)
        zero = e.equal(y, scalar(0, y))
        return where(zero, scalar(0, x), op(x, where(zero, scalar(1, y), y)))

    return remainder


remainder, fmod = remainder_of(e.remainder), remainder_of(e.fmod)


def divmod_(x: Node, y: Node) -> tuple[Node, Node]:
    return floor_divide(x, y), remainder(x, y)


def power(x: Node, y: Node) -> Node:
    """A negative integer exponent in an array counts modulo 64, as JAX's six squarings do."""
    if not is_int(x) or y.dtype.kind == "u":
        return e.power(x, y)
    return e.power(x, where(e.less(y, scalar(0, y)), e.bitwise_and(y, scalar(63, y)), y))


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
    return e.hypot(x, y)


def arctan2(y: Node, x: Node) -> Node:
    """Of complex numbers -i log((x + iy) / sqrt(x² + y²))."""
    if not is_complex(x):
        return e.arctan2(y, x)
    i = scalar(1j, x)
    unit = e.divide(e.add(x, e.multiply(i, y)), e.sqrt(e.add(e.multiply(x, x), e.multiply(y, y))))
    return e.multiply(scalar(-1j, x), e.log(unit))


def logaddexp(x: Node, y: Node) -> Node:
    """Of complex numbers from the larger real part."""
    if not is_complex(x):
        return e.logaddexp(x, y)
    swap = e.less(e.real(x), e.real(y))
    high, low = where(swap, y, x), where(swap, x, y)
    out = e.add(high, e.log1p(e.exp(e.subtract(low, high))))
    turns = e.multiply(scalar_real(2 * np.pi, out), e.rint(e.divide(e.imag(out), scalar_real(2 * np.pi, out))))
    return e.make_complex(e.real(out), e.subtract(e.imag(out), turns))


def scalar_real(value: float, like: Node) -> Node:
    return Node.of_scalar(real_dtype(like.dtype).type(value))


def logaddexp2(x: Node, y: Node) -> Node:
    if not is_complex(x):
        return e.logaddexp2(x, y)
    scale = scalar(LN2, x)
    return e.divide(logaddexp(e.multiply(x, scale), e.multiply(y, scale)), scale)


def scaled_log(x: Node, by: float) -> Node:
    """The logarithm to another base; part by part, since an infinite one would spoil the other."""
    out = e.log(x)
    return e.make_complex(*[e.divide(part, scalar_real(by, x)) for part in (e.real(out), e.imag(out))])


def log2(x: Node) -> Node:
    return scaled_log(x, LN2) if is_complex(x) else e.log2(x)


def log10(x: Node) -> Node:
    return scaled_log(x, float(np.log(10.0))) if is_complex(x) else e.log10(x)


def exp2(x: Node) -> Node:
    return e.exp(e.multiply(x, scalar(LN2, x))) if is_complex(x) else e.exp2(x)


def scaled(factor: float) -> Callable[[Node], Node]:
    return lambda x: e.multiply(x, scalar(factor, x))


def sinc(x: Node) -> Node:
    """sin(πx) / (πx), with the derivatives of its series at 0."""
    zero = e.equal(x, scalar(0, x))
    px = e.multiply(scalar(np.pi, x), where(zero, scalar(1, x), x))
    series = e.subtract(scalar(1, x), e.multiply(scalar(np.pi**2 / 6, x), e.multiply(x, x)))
    return where(zero, series, e.divide(e.sin(px), px))


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
    far = e.divide(chebyshev(large, CHEBYSHEV_B), e.sqrt(where(near, scalar(8, x), x)))
    return e.multiply(e.exp(x), where(near, chebyshev(small, CHEBYSHEV_A), far))


def modf(x: Node) -> tuple[Node, Node]:
    """Fraction and whole part."""
    whole = e.trunc(x)
    return e.subtract(x, whole), whole


def frexp(x: Node) -> tuple[Node, Node]:
    mantissa, exponent = e.frexp(x, i=0), e.frexp(x, i=1)
    return mantissa, where(e.isfinite(x), convert(exponent, INT32), Node.of_scalar(np.int32(0)))


def clip_nodes(x: Node, low: Node | None, high: Node | None) -> Node:
    if low is not None:
        x = e.maximum(low, x)
    return x if high is None else e.minimum(high, x)


def spacing(x: Node) -> Node:
    return e.copysign(e.spacing(x), x)


def bitwise_count(x: Node) -> Node:
    return e.bitwise_count(x)


# name: (how operands are promoted, kinds accepted, what is computed, dtypes of the shortcut)
UNARY: dict[str, tuple[str, str, Any, str]] = {
    **{
        n: (INEXACT, "fc", getattr(e, n), COMPLEX)
        for n in [
            "sin",
            "cos",
            "tan",
            "arcsin",
            "arccos",
            "arctan",
            "sinh",
            "cosh",
            "tanh",
            "arcsinh",
            "arccosh",
            "arctanh",
            "exp",
            "expm1",
            "log",
            "log1p",
        ]
    },
    "sqrt": (INEXACT, "fc", e.sqrt, COMPLEX),
    "log2": (INEXACT, "fc", log2, FLOATS),
    "log10": (INEXACT, "fc", log10, FLOATS),
    "exp2": (INEXACT, "fc", exp2, FLOATS),
    "cbrt": (INEXACT, "f", e.cbrt, FLOATS),
    "rint": (INEXACT, "fc", rint, FLOATS),
    "fabs": (INEXACT, "f", e.fabs, FLOATS),
    "reciprocal": (INEXACT, "fc", e.reciprocal, COMPLEX),
    "degrees": (INEXACT, "fc", scaled(180 / np.pi), ""),
    "radians": (INEXACT, "fc", scaled(np.pi / 180), ""),
    "sinc": (INEXACT, "fc", sinc, ""),
    "spacing": (INEXACT, "f", spacing, ""),
    "i0": (INEXACT, "f", i0, ""),
    "floor": (COMMON, "biuf", of_inexact(e.floor), FLOATS),
    "ceil": (COMMON, "biuf", of_inexact(e.ceil), FLOATS),
    "trunc": (COMMON, "biuf", trunc, FLOATS),
    "negative": (COMMON, "iufc", e.negative, NUMBERS),
    "positive": (COMMON, "biufc", lambda x: x, ""),
    "absolute": (COMMON, "biufc", of_inexact(e.absolute, lambda x: x if x.dtype == BOOL else e.absolute(x)), NUMBERS),
    "sign": (COMMON, "iufc", sign, INTS),
    "square": (NUMERIC, "iufc", e.square, NUMBERS),
    "conjugate": (COMMON, "biufc", lambda x: e.conjugate(x) if is_complex(x) else x, "FD"),
    "isnan": (COMMON, "biufc", of_inexact(e.isnan, constant(False)), COMPLEX),
    "isinf": (COMMON, "biufc", of_inexact(e.isinf, constant(False)), COMPLEX),
    "isfinite": (COMMON, "biufc", of_inexact(e.isfinite, constant(True)), COMPLEX),
    "logical_not": (COMMON, "biufc", lambda x: e.logical_not(truth(x)), ANY),
    "invert": (COMMON, "biu", e.invert, BITS),
    "bitwise_count": (COMMON, "biu", lambda x: bitwise_count(x) if is_int(x) else convert(x, UINT8), INTS),
}
BINARY: dict[str, tuple[str, str, Any, str]] = {
    "add": (COMMON, "biufc", e.add, ANY),
    "subtract": (COMMON, "iufc", e.subtract, NUMBERS),
    "multiply": (COMMON, "biufc", e.multiply, ANY),
    "divide": (INEXACT, "fc", e.divide, COMPLEX),
    "floor_divide": (NUMERIC, "iuf", floor_divide, FLOATS),
    "remainder": (NUMERIC, "iuf", remainder, FLOATS),
    "fmod": (NUMERIC, "iuf", fmod, FLOATS),
    "power": (NUMERIC, "iufc", power, FLOATS),
    "float_power": (INEXACT, "fc", e.power, COMPLEX),
    "maximum": (COMMON, "biufc", e.maximum, ANY),
    "minimum": (COMMON, "biufc", e.minimum, ANY),
    "fmax": (COMMON, "biufc", e.fmax, ANY),
    "fmin": (COMMON, "biufc", e.fmin, ANY),
    "arctan2": (INEXACT, "fc", arctan2, FLOATS),
    "hypot": (INEXACT, "f", hypot, FLOATS),
    "logaddexp": (INEXACT, "fc", logaddexp, FLOATS),
    "logaddexp2": (INEXACT, "fc", logaddexp2, FLOATS),
    "copysign": (INEXACT, "f", e.copysign, FLOATS),
    "nextafter": (INEXACT, "f", e.nextafter, FLOATS),
    "heaviside": (INEXACT, "f", e.heaviside, FLOATS),
    "left_shift": (NUMERIC, "iu", shift(e.left_shift), ""),
    "right_shift": (NUMERIC, "iu", shift(e.right_shift), ""),
    "bitwise_and": (COMMON, "biu", e.bitwise_and, BITS),
    "bitwise_or": (COMMON, "biu", e.bitwise_or, BITS),
    "bitwise_xor": (COMMON, "biu", e.bitwise_xor, BITS),
    "logical_and": (COMMON, "biufc", logical(e.logical_and), "?"),
    "logical_or": (COMMON, "biufc", logical(e.logical_or), "?"),
    "logical_xor": (COMMON, "biufc", logical(e.logical_xor), "?"),
    "gcd": (COMMON, "iu", e.gcd, INTS),
    "lcm": (COMMON, "iu", e.lcm, INTS),
    **{
        n: (COMMON, "biufc", getattr(e, n), ANY)
        for n in ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
    },
}
VALUE_ERRORS = frozenset(
    {"hypot", "gcd", "lcm", "i0", "spacing"}
)  # for a dtype that does not do, JAX raises ValueError
ALIASES = {
    "abs": "absolute",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atanh": "arctanh",
    "atan2": "arctan2",
    "bitwise_invert": "invert",
    "bitwise_not": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "conj": "conjugate",
    "deg2rad": "radians",
    "rad2deg": "degrees",
    "mod": "remainder",
    "pow": "power",
    "true_divide": "divide",
}
table: dict[str, Callable[..., Any]] = {}


def checked(name: str, general: Callable[..., Any]) -> Callable[..., Any]:
    """JAX's ValueError for a dtype that is not accepted, where it has that."""
    if name not in VALUE_ERRORS:
        return general

    def call(*args: Any) -> Any:
        check_arraylike(name, *args)
        try:
            return general(*args)
        except TypeError as error:
            raise ValueError(f"Unsupported input type to jax.numpy.{name}: {error}") from None

    return call


for _name, (_mode, _accepts, _impl, _chars) in UNARY.items():
    table[_name] = unary(
        _name, checked(_name, elementwise(_name, _impl, _mode, _accepts)), getattr(np, _name, np.positive), _chars
    )
HOSTS: dict[str, Any] = {"float_power": np.power, "remainder": host_remainder, "floor_divide": host_floor_divide}
for _name, (_mode, _accepts, _impl, _chars) in BINARY.items():
    _scalars = operator.pow if _name == "power" else None
    table[_name] = binary(
        _name,
        checked(_name, elementwise(_name, _impl, _mode, _accepts)),
        HOSTS.get(_name) or getattr(np, _name),
        _chars,
        _scalars,
    )
array_power = table["power"]
"""x ** y past the check of the exponent."""


def power_(x: Any, y: Any, /) -> Any:
    """x ** y. Raises TypeError for an integer and a negative one whose value is known and has no axes."""
    n = y if type(y) is int else y._host if type(y) is Array and y._host is not None and not y._host.shape else None
    if n is not None and n < 0 and KIND_OF[typed(x)[0]] in "iub" and KIND_OF[typed(y)[0]] in "iu":
        raise TypeError(f"Integers cannot be raised to negative powers, got integer_pow({typed(x)[0]}, {y})")
    return array_power(x, y)


table["power"] = named(power_, "power")


def real(val: Any, /) -> Any:
    """The real part."""
    check_arraylike("real", val)
    return apply(lambda x: e.real(x) if is_complex(x) else x, as_node(val))


def imag(val: Any, /) -> Any:
    """The imaginary part; zeros of what is real."""
    check_arraylike("imag", val)
    return apply(lambda x: e.imag(x) if is_complex(x) else cast_node(zeros_of(x), x.dtype, x.weak), as_node(val))


def signbit(x: Any, /) -> Any:
    """Whether the sign bit is set. Raises ValueError for complex numbers."""
    check_arraylike("signbit", x)
    (node,) = promoted(COMMON, x)
    if is_complex(node):
        raise ValueError(f"jax.numpy.signbit is not well defined for {node.dtype}")

    def impl(x: Node) -> Node:
        if KIND_OF[x.dtype] == "f":
            return e.signbit(x if x.dtype.kind == "f" else convert(x, FLOAT32))
        return e.less(x, scalar(0, x)) if x.dtype.kind == "i" else constant(False)(x)

    return apply(impl, node)


def several(name: str, impl: Any, mode: str, accepts: str) -> Callable[..., Any]:
    """A function of several results."""
    return named(elementwise(name, impl, mode, accepts), name)


table.update(
    real=real,
    imag=imag,
    signbit=signbit,
    divmod=several("divmod", divmod_, NUMERIC, "iuf"),
    frexp=several("frexp", frexp, INEXACT, "f"),
)
table.update({alias: table[name] for alias, name in ALIASES.items()})


def modf_(x: Any, /, out: Any = None) -> tuple[Any, Any]:
    """The fraction and the whole part."""
    no_out("modf", out)
    return parts(x)  # type: ignore[no-any-return]


parts = elementwise("modf", modf, INEXACT, "f")
table["modf"] = named(modf_, "modf")


def no_out(name: str, out: Any) -> None:
    """Arrays are immutable: there is nothing to write into."""
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{name} is not supported.")


def ldexp(x1: Any, x2: Any, /) -> Any:
    """x1 · 2^x2. Raises ValueError where x2 is not whole or x1 complex."""
    check_arraylike("ldexp", x1, x2)
    (d1, _), (d2, _) = typed(x1), typed(x2)
    if KIND_OF[d2] not in "iub" or KIND_OF[d1] == "c":
        raise ValueError(f"ldexp not supported for input types {(d1, d2)}")
    (a,) = promoted(INEXACT, x1)
    n = as_node(x2)

    def impl(a: Node, n: Node) -> Node:
        wide = a if a.dtype.kind == "f" else convert(a, FLOAT32)
        return convert(e.ldexp(wide, convert(n, INT32)), a.dtype)

    return apply(impl, cast_node(a, a.dtype), n)


def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Any:
    """arr, but no less than min and no more than max. Raises ValueError for complex numbers."""
    given = [x for x in (arr, min, max) if x is not None]
    if arr is None:
        raise ValueError("At most one of a_min and a_max may be None")
    check_arraylike("clip", *given)
    if any([KIND_OF[typed(x)[0]] == "c" for x in given]):
        raise ValueError(
            "Clip received a complex value either through the input or the min/max keywords. Complex values have no "
            "ordering and cannot be clipped. Please convert to a real value or array by taking the real or imaginary "
            "components via jax.numpy.real/imag respectively."
        )
    out = arr if min is None else table["maximum"](min, arr)
    return table["minimum"](max, out) if max is not None else table["positive"](out)


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether |a - b| <= atol + rtol |b|."""
    check_arraylike("isclose", a, b)
    x, y = promoted(COMMON, a, b)
    if KIND_OF[x.dtype] not in "fc":
        x, y = promoted(INEXACT, a, b)
    tolerances = [as_node(t) for t in (rtol, atol)]

    def impl(x: Node, y: Node, rtol: Node, atol: Node) -> Node:
        if x.dtype.kind == "V":
            x, y = convert(x, FLOAT32), convert(y, FLOAT32)
        dtype = real_dtype(x.dtype)
        bound = e.add(convert(atol, dtype), e.multiply(convert(rtol, dtype), e.absolute(y)))
        finite = e.logical_and(e.isfinite(x), e.isfinite(y))
        near = e.logical_and(finite, e.less_equal(e.absolute(e.subtract(x, y)), bound))
        same = e.logical_and(e.logical_not(finite), e.equal(x, y))
        out = e.logical_or(near, same)
        return e.logical_or(out, e.logical_and(e.isnan(x), e.isnan(y))) if equal_nan else out

    return apply(impl, x, y, *tolerances)


def infinite(name: str, sign_: float) -> Callable[..., Any]:
    """isposinf, isneginf."""

    def call(x: Any, /, out: Any = None) -> Any:
        no_out(name, out)
        check_arraylike(name, x)
        node = as_node(x)
        if node.dtype.kind == "c":
            raise ValueError("isposinf/isneginf are not well defined for complex types")
        if KIND_OF[node.dtype] != "f":
            return apply(constant(False), node)
        return apply(lambda x: e.equal(x, scalar(sign_, x)), node)

    return named(call, name)


table.update(
    ldexp=ldexp,
    clip=clip,
    isclose=isclose,
    isposinf=infinite("isposinf", np.inf),
    isneginf=infinite("isneginf", -np.inf),
)
