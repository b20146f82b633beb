"""Elementwise functions: a table of NumPy's ufuncs as JAX has them. A line each: how operands are promoted, which
dtypes are accepted, what is computed, and for which dtypes NumPy's own ufunc does the same on small values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph.node import Node
from ...ops import elementwise as e
from ...ops import transcendental as t
from ...ops.elementwise import convert, is_complex
from ...ops.promotion import real_dtype
from ...ops.shape import zeros_of
from ...signatures import renamed
from ..array import Array, as_node, cast_node, check_arraylike, typed
from ..at_once import apply, by_signed_bits, widened
from ..dtypes import FLOAT32, INT32, KIND_OF, is_extended, promotion, x64_enabled
from ..extrema import maximum, minimum
from ..powers import host_power, power_node
from . import at_once
from .call import (
    ANY,
    COMMON,
    FLOATS,
    INEXACT,
    INTS,
    NUMBERS,
    NUMERIC,
    IncompatibleShapesError,
    binary,
    check_broadcast,
    elementwise,
    named,
    never,
    promoted,
    unary,
)
from .formulas import (
    BOOL,
    arctan2,
    bitwise_count,
    check_width,
    constant,
    copysign,
    divide,
    divmod_,
    exp2,
    floor_divide,
    fmod,
    frexp,
    host_divide,
    host_floor_divide,
    host_remainder,
    hypot,
    i0,
    is_int,
    log2,
    log10,
    logaddexp,
    logaddexp2,
    logical,
    modf,
    of_inexact,
    power,
    remainder,
    rint,
    scalar,
    scaled,
    shift,
    sign,
    sinc,
    spacing,
    trunc,
    truth,
)

UINT8 = np.dtype(np.uint8)
REALS = INTS + FLOATS
BITS = "?" + INTS
COMPLEX = FLOATS + "FD"


# name: (how operands are promoted, kinds accepted, what is computed, dtypes of the shortcut)
UNARY: dict[str, tuple[str, str, Any, str]] = {
    **{
        n: (INEXACT, "fc", getattr(t, n), COMPLEX)
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
    "sqrt": (INEXACT, "fc", t.sqrt, COMPLEX),
    "log2": (INEXACT, "fc", log2, FLOATS),
    "log10": (INEXACT, "fc", log10, FLOATS),
    "exp2": (INEXACT, "fc", exp2, FLOATS),
    "cbrt": (INEXACT, "f", t.cbrt, FLOATS),
    "rint": (COMMON, "biufc", rint, FLOATS),
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
    "divide": (INEXACT, "fc", divide, COMPLEX),
    "floor_divide": (NUMERIC, "iuf", floor_divide, REALS),
    "remainder": (NUMERIC, "iuf", remainder, REALS),
    "fmod": (NUMERIC, "iuf", fmod, FLOATS),
    "power": (NUMERIC, "iufc", power, REALS),
    "float_power": (INEXACT, "fc", power_node, COMPLEX),
    "maximum": (COMMON, "biufc", maximum, "?" + INTS + FLOATS),
    "minimum": (COMMON, "biufc", minimum, "?" + INTS + FLOATS),
    "fmax": (COMMON, "biufc", e.fmax, ANY),
    "fmin": (COMMON, "biufc", e.fmin, ANY),
    "arctan2": (INEXACT, "fc", arctan2, FLOATS),
    "hypot": (INEXACT, "f", hypot, FLOATS),
    "logaddexp": (INEXACT, "fc", logaddexp, FLOATS),
    "logaddexp2": (INEXACT, "fc", logaddexp2, FLOATS),
    "copysign": (INEXACT, "f", copysign, FLOATS),
    "nextafter": (INEXACT, "f", e.nextafter, FLOATS),
    "heaviside": (INEXACT, "f", e.heaviside, FLOATS),
    "left_shift": (NUMERIC, "iu", shift(e.left_shift), ""),
    "right_shift": (NUMERIC, "iu", by_signed_bits(shift(e.right_shift)), ""),
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


def keeps_power(x: Any, y: Any) -> bool:
    """With a known whole exponent the base decides; a power of integers is never weak."""
    if exponent(y) is not None:
        dtype, weak = typed(x)
        return weak and dtype != BOOL
    (base, weak), other = typed(x), typed(y)
    if KIND_OF[base] in "fc" and KIND_OF[other[0]] in "iu":
        return weak and other[1]
    return KIND_OF[promotion(x64_enabled(), (base, weak), other)[0]] in "fc"


def scalars(*args: Any) -> bool:
    """JAX's constants are weak beside weak scalars only."""
    return all([np.ndim(x) == 0 for x in args])


KEEPS: dict[str, Callable[..., bool]] = {
    **dict.fromkeys(("log2", "log10", "spacing", "bitwise_count", "isinf"), never),
    **dict.fromkeys(("hypot", "logaddexp2", "logical_and", "logical_or", "logical_xor"), scalars),
    **dict.fromkeys(("logical_not", "degrees", "radians", "sinc"), scalars),
    "heaviside": lambda x, y: np.ndim(x) == 0,
    "rint": lambda x: KIND_OF[typed(x)[0]] in "fc",
    "isfinite": lambda x: KIND_OF[typed(x)[0]] in "fc",
    "logaddexp": lambda *xs: scalars(*xs) or all([KIND_OF[typed(x)[0]] != "c" for x in xs]),
    "power": keeps_power,
    **dict.fromkeys(("gcd", "lcm"), lambda *xs: scalars(*xs) or all([typed(x)[1] for x in xs])),
}
"""Where the result of weak operands is not weak, or not always."""
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


def weak_beside(name: str) -> tuple[bool, bool] | None:
    """Whether integers beside a Python float, and the float beside integers, make a weak result; None: it depends."""
    return (True, name != "power") if name in ("power", "logaddexp") or name not in KEEPS else None


def of_keys(name: str, general: Callable[..., Any]) -> Callable[..., Any]:
    """equal and not_equal, which compare keys of one generator, too: they do that themselves."""
    if name not in ("equal", "not_equal"):
        return general

    def call(x: Any, y: Any) -> Any:
        if not (is_extended(getattr(x, "dtype", None)) or is_extended(getattr(y, "dtype", None))):
            return general(x, y)
        a, b = typed(x)[0], typed(y)[0]
        if a != b:
            raise TypeError(f"{name} does not accept dtypes {a}, {b}.")
        return x == y if name == "equal" else x != y

    return call


def checked(name: str, general: Callable[..., Any]) -> Callable[..., Any]:
    """JAX's ValueError for a dtype that is not accepted, where it has that."""
    if name not in VALUE_ERRORS:
        return general

    def call(*args: Any) -> Any:
        check_arraylike(name, *args)
        try:
            return general(*args)
        except IncompatibleShapesError:
            raise
        except TypeError as error:
            if name in ("gcd", "lcm"):
                raise ValueError(f"Arguments to jax.numpy.{name} must be integers.") from None
            raise ValueError(f"Unsupported input type to jnp.{name}: {error}") from None

    return call


def of_finite_keys(name: str, general: Callable[..., Any]) -> Callable[..., Any]:
    """isnan, isinf and isfinite, which know of keys that they are finite."""
    if name not in ("isnan", "isinf", "isfinite"):
        return general

    def call(x: Any) -> Any:
        if is_extended(getattr(x, "dtype", None)):
            return table["equal" if name == "isfinite" else "not_equal"](x, x)
        return general(x)

    return call


for _name, (_mode, _accepts, _impl, _chars) in UNARY.items():
    _keeps = KEEPS.get(_name)
    table[_name] = unary(
        _name,
        of_finite_keys(_name, checked(_name, elementwise(_name, _impl, _mode, _accepts, _keeps))),
        getattr(np, _name, np.positive),
        _chars,
        _keeps is None,
    )


HOSTS: dict[str, Any] = {
    "divide": host_divide,
    "float_power": host_power,
    "power": host_power,
    "remainder": host_remainder,
    "floor_divide": host_floor_divide,
}
for _name, (_mode, _accepts, _impl, _chars) in BINARY.items():
    _keeps = KEEPS.get(_name)
    table[_name] = binary(
        _name,
        of_keys(_name, checked(_name, elementwise(_name, _impl, _mode, _accepts, _keeps))),
        HOSTS.get(_name) or getattr(np, _name),
        _chars,
        None,
        _mode,
        weak_beside(_name),
    )
array_power = table["power"]
"""x ** y past the check of the exponent."""


def exponent(y: Any) -> int | None:
    """A whole number of no axes whose value is known."""
    if type(y) is int:
        return y
    h = y._host if type(y) is Array else y
    if type(h) is np.ndarray:
        return None if h.shape or h.dtype.kind not in "iu" else int(h)
    return int(y) if isinstance(y, (bool, np.integer)) else None


def power_(x: Any, y: Any, /) -> Any:
    """x ** y, in x's dtype where y is a whole number of no axes whose value is known.

    Raises: TypeError for an integer and a negative one of those.
    """
    n = exponent(y)
    if n is None:
        return array_power(x, y)
    kind = KIND_OF.get(typed(x)[0], "?")
    if kind == "b":
        x = apply(lambda b: convert(b, INT32), as_node(x))
    if n < 0 and kind in "biu":
        raise TypeError(f"Integers cannot be raised to negative powers, got integer_pow({typed(x)[0]}, {y})")
    if type(x) is Array and x._host is None and (kind in "fc" or kind in "iu" and n < 64):
        strong = widened(lambda x: kept(t.power(cast_node(x, x.dtype, False), n), x))
        return apply(strong, x._node())  # whole for derivatives too
    return array_power(x, n)


table["power"] = named(power_, "power")


def kept(out: Node, x: Node) -> Node:
    """The result, weak if x is."""
    return cast_node(out, out.dtype, x.weak)


def real(val: Any, /) -> Any:
    """The real part."""
    check_arraylike("real", val)
    return apply(lambda x: kept(e.real(x), x) if is_complex(x) else x, as_node(val))


def imag(val: Any, /) -> Any:
    """The imaginary part; zeros of what is real."""
    check_arraylike("imag", val)
    return apply(lambda x: kept(e.imag(x) if is_complex(x) else zeros_of(x), x), as_node(val))


def signbit(x: Any, /) -> Any:
    """Whether the sign bit is set. Raises ValueError for complex numbers."""
    check_arraylike("signbit", x)
    (node,) = promoted(COMMON, x)
    if is_complex(node):
        raise ValueError(f"jax.numpy.signbit is not well defined for {node.dtype}")
    check_width(node.dtype)

    def impl(x: Node) -> Node:
        if KIND_OF[x.dtype] == "f":
            return e.signbit(x if x.dtype.kind == "f" else convert(x, FLOAT32))
        return e.less(x, scalar(0, x)) if KIND_OF[x.dtype] == "i" else constant(False)(x)

    return apply(impl, node)


def several(name: str, impl: Any, mode: str, accepts: str, keeps: Any = None) -> Callable[..., Any]:
    """A function of several results."""
    general = elementwise(name, impl, mode, accepts, keeps)
    one: Any = lambda x, /: general(x)
    two: Any = lambda x1, x2, /: general(x1, x2)
    return named(one if name == "frexp" else two, name)


table.update(
    real=real,
    imag=imag,
    signbit=signbit,
    divmod=several("divmod", divmod_, NUMERIC, "iuf"),
    frexp=several("frexp", frexp, INEXACT, "f", never),
)
table.update({alias: renamed(table[name], alias) for alias, name in ALIASES.items()})


def with_keywords(name: str) -> Callable[..., Any]:
    """A function whose operands may be given by name, as JAX has some."""
    f = table[name]
    one: Any = lambda x: f(x)
    two: Any = lambda x1, x2: f(x1, x2)
    return named(one if name in ("i0", "trunc") else two, name)


table.update({name: with_keywords(name) for name in ("fmax", "fmin", "gcd", "i0", "lcm", "trunc")})


def modf_(x: Any, /, out: Any = None) -> tuple[Any, Any]:
    """The fraction and the whole part."""
    no_out("modf", out)
    return parts(x)


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
    check_broadcast("add", [a, n])  # JAX adds to the exponent

    def impl(a: Node, n: Node) -> Node:
        wide = a if a.dtype.kind == "f" else convert(a, FLOAT32)
        return convert(e.ldexp(wide, convert(n, INT32)), a.dtype)

    return apply(impl, cast_node(a, a.dtype), n)


def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Any:
    """arr, but no less than min and no more than max. Raises ValueError for complex numbers."""
    found = at_once.clip(arr, min, max)
    if found is not None:
        return found
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
    found = at_once.isclose(a, b, rtol, atol, equal_nan)
    if found is not None:
        return at_once.fresh(found)
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

    check_broadcast("isclose", [x, y])
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
