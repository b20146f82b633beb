"""Elementwise ops: NumPy's ufuncs, casts, select, clip, parts of complex numbers.

A line per op. Partials are `(g, out, *inputs)`, linear in g; None is zero. Where mathematics leaves a choice (kinks,
ties, complex numbers), derivatives are JAX's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy._core import umath

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import BACKWARD, DEFINITE, MAP, THROUGH, VIEW, Op, Rule, registry
from .code import ALL, BITS, HEAVY, NUMBER, REAL, Code, arithmetic, comparison, rounding
from .family import (
    bilinear,
    broadcast,
    loop_dtypes,
    map_batch,
    multi_ufunc_op,
    of_array,
    resolution_key,
    ufunc_op,
)
from .promotion import complex_dtype, real_dtype, same
from .shape import broadcast_to, instantiate, zeros_of

DIVISION = "iuf -uint64"  # which is carried in int64: what depends on the sign beyond order is missing

# Casts, select, complex numbers.


def cast_abstract(x: Aval, *, dtype: np.dtype[Any]) -> Aval:
    return Aval(x.shape, dtype)


def cast_transpose(ct: Node, x: Aval, *, dtype: np.dtype[Any]) -> tuple[Node]:
    return (convert(ct, x.dtype),)


def own_dtypes(out: np.dtype[Any], *xs: Aval) -> tuple[np.dtype[Any], ...]:
    return tuple([x.dtype for x in xs])


cast = Op(
    "cast",
    MAP,
    cast_abstract,
    lambda xp, x, *, dtype: xp.astype(x, dtype),
    static=("dtype",),
    partials=(lambda g, out, x, *, dtype: convert(g, dtype),),
    transpose=cast_transpose,
    code=Code(moves=True, biufc="cast<{D}, {T}>({0})"),
)
cast.batch = map_batch(cast)
cast.loop = own_dtypes
cast.shorter = lambda node, x, *, dtype: x
weak_cast = Op(
    "weak_cast",
    MAP,
    lambda x, *, dtype: Aval(x.shape, dtype, True),
    lambda xp, x, *, dtype: xp.astype(x, dtype),
    static=("dtype",),
    partials=(lambda g, out, x, *, dtype: convert(g, dtype),),
    transpose=cast_transpose,
    code=Code(moves=True, biufc="cast<{D}, {T}>({0})"),
    doc="A cast whose result is weak: its dtype yields to that of what it is combined with.",
)
weak_cast.batch = map_batch(weak_cast)
weak_cast.loop = own_dtypes


def cast_call(xp: Any, *, dtype: np.dtype[Any]) -> Rule:
    if dtype.kind in "cb":
        return lambda x: np.asarray(x).astype(dtype, copy=False)
    return lambda x: xp.astype(x, dtype)


cast.call = weak_cast.call = cast_call


def convert(x: Node, dtype: np.dtype[Any]) -> Node:
    """x with that dtype; of a complex number the real part, where the result is real."""
    if same(x.dtype, dtype) and not x.weak:
        return x
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = real(x)
    return x if same(x.dtype, dtype) and not x.weak else cast(x, dtype=dtype)


def of_dtype(x: Node, dtype: np.dtype[Any]) -> Node:
    """`convert` where the dtype is another one: x yields to others as it did."""
    return x if same(x.dtype, dtype) else convert(x, dtype)


def where_abstract(condition: Aval, a: Aval, b: Aval) -> Aval:
    """a and b have the same dtype, or one is weak."""
    return Aval(broadcast(condition.shape, a.shape, b.shape), b.dtype if a.weak else a.dtype, a.weak and b.weak)


def where_jvp(tangents: Sequence[Node | None], out: Node, c: Node, a: Node, b: Node) -> Node:
    ta, tb = [convert(instantiate(t, x), out.dtype) for t, x in zip(tangents[1:], (a, b))]
    return where(c, ta, tb)


def where_transpose(ct: Node, c: Node, a: Any, b: Any) -> tuple[Node | None, ...]:
    zero = zeros_of(Aval((), ct.dtype))
    return (None, where(c, ct, zero) if type(a) is Aval else None, where(c, zero, ct) if type(b) is Aval else None)


where = Op(
    "where",
    MAP,
    where_abstract,
    lambda xp, c, a, b: xp.where(c, a, b),
    jvp=where_jvp,
    transpose=where_transpose,
    linear=True,
    code=Code(ALL, moves=True, biufc="({0} ? {1} : {2})", quiet="pick({0}, {1}, {2})"),
)
where.batch = map_batch(where)
where.loop = lambda out, c, a, b: (np.dtype(bool), out, out)


def shorter_where(node: Node, c: Node, a: Node, b: Node) -> Node | None:
    if a is not b:
        return None
    return a if a.shape == node.shape else broadcast_to(a, shape=node.shape)


where.shorter = shorter_where

CLIP = vars(umath)["clip"]


def clip_abstract(x: Aval, low: Aval, high: Aval) -> Aval:
    dtypes = loop_dtypes(CLIP, (resolution_key(x), resolution_key(low), resolution_key(high)))
    return Aval(broadcast(x.shape, low.shape, high.shape), dtypes[3])


def clip_x(g: Node, out: Node, x: Node, low: Node, high: Node) -> Node:
    m = maximum(x, low)
    return multiply(multiply(g, shares(x, m, low, g)), shares(m, out, high, g))


def clip_low(g: Node, out: Node, x: Node, low: Node, high: Node) -> Node:
    m = maximum(x, low)
    return multiply(multiply(g, shares(low, m, x, g)), shares(m, out, high, g))


def clip_high(g: Node, out: Node, x: Node, low: Node, high: Node) -> Node:
    return multiply(g, shares(high, out, maximum(x, low), g))


clip = Op(
    "clip",
    MAP,
    clip_abstract,
    lambda xp, x, low, high: xp.clip(x, low, high),
    partials=(clip_x, clip_low, clip_high),
    ufunc=CLIP,
    code=Code(
        REAL,
        b="(({0} | {1}) & {2})",
        iu="(({0} < {1} ? {1} : {0}) > {2} ? {2} : ({0} < {1} ? {1} : {0}))",
        f="minimum<{T}>(maximum<{T}>({0}, {1}), {2})",
        quiet="clip({0}, {1}, {2})",
    ),
)
clip.batch = map_batch(clip)

real = Op(
    "real",
    MAP,
    lambda x: Aval(x.shape, real_dtype(x.dtype)),
    lambda xp, x: xp.real(x),
    partials=(lambda g, out, x: real(g) if g.dtype.kind == "c" else g,),
    transpose=lambda ct, x: (make_complex(ct, 0.0) if x.dtype.kind == "c" else ct,),
    code=Code("c", biuf="{0}", c="std::real({0})"),
    weakness=BACKWARD,
)
real.batch = map_batch(real)
real.loop = own_dtypes
imag = Op(
    "imag",
    MAP,
    lambda x: Aval(x.shape, real_dtype(x.dtype)),
    lambda xp, x: xp.imag(x),
    partials=(lambda g, out, x: imag(g),),
    transpose=lambda ct, x: (make_complex(0.0, negative(ct)) if x.dtype.kind == "c" else zeros_of(x),),
    code=Code("c", c="std::imag({0})"),
    weakness=BACKWARD,
)
imag.batch = map_batch(imag)
imag.loop = own_dtypes


def complex_abstract(re: Aval, im: Aval) -> Aval:
    dtype = np.result_type(*[a.dtype for a in (re, im) if not a.weak] or [re.dtype])
    return Aval(broadcast(re.shape, im.shape), complex_dtype(dtype))


def complex_jvp(tangents: Sequence[Node | None], out: Node, re: Node, im: Node) -> Node:
    return make_complex(instantiate(tangents[0], re), instantiate(tangents[1], im))


make_complex = Op(
    "complex",
    MAP,
    complex_abstract,
    lambda xp, re, im: xp.make_complex(re, im),
    jvp=complex_jvp,
    transpose=lambda ct, re, im: (
        real(ct) if type(re) is Aval else None,
        imag(negative(ct)) if type(im) is Aval else None,
    ),
    code=Code(f="std::complex<{T}>({0}, {1})"),
    weakness=BACKWARD,
)
make_complex.batch = map_batch(make_complex)
make_complex.loop = lambda out, re, im: (real_dtype(out),) * 2


def is_complex(x: Node) -> bool:
    return x.dtype.kind == "c"


def const(x: Node) -> Any:
    """The scalar, where the node is a known one, so that arithmetic on it needs no node."""
    return x if x.value is None else x.value


# Arithmetic. The four that transposes are made of come first.


def sum_pair(ct: Node, x: Any, y: Any) -> tuple[Node | None, ...]:
    return (ct if type(x) is Aval else None, ct if type(y) is Aval else None)


def difference_pair(ct: Node, x: Any, y: Any) -> tuple[Node | None, ...]:
    return (ct if type(x) is Aval else None, negative(ct) if type(y) is Aval else None)


def product_pair(ct: Node, x: Any, y: Any) -> tuple[Node | None, ...]:
    return (multiply(ct, y), None) if type(x) is Aval else (None, multiply(x, ct))


add = ufunc_op(
    "add",
    lambda g, out, x, y: g,
    lambda g, out, x, y: g,
    transpose=sum_pair,
    associative=True,
    code=arithmetic(ALL, b="({0} | {1})", iufc="{T}({0} + {1})", errors="oi", tiled="b"),
)
subtract = ufunc_op(
    "subtract",
    lambda g, out, x, y: g,
    lambda g, out, x, y: negative(g),
    transpose=difference_pair,
    code=arithmetic("iufc", iufc="{T}({0} - {1})", errors="oi"),
)


def is_one(x: Node) -> bool:
    """Whether it is known to be one everywhere: a scalar, seen through casts and views."""
    while x.op is not None and x.inputs and (x.op is cast or (x.op.kind == VIEW and x.op.transpose is not None)):
        x = x.inputs[0]
    return x.value is not None and bool(x.value == 1)


def shorter_product(node: Node, x: Node, y: Node) -> Node | None:
    if node.dtype.kind == "c":
        return None
    return x if is_one(y) else y if is_one(x) else None


multiply = ufunc_op(
    "multiply",
    lambda g, out, x, y: multiply(g, y),
    lambda g, out, x, y: multiply(x, g),
    transpose=bilinear(product_pair),
    associative=True,
    code=arithmetic(ALL, b="({0} & {1})", iuf="{T}({0} * {1})", c="times({0}, {1})", errors="oi", tiled="b"),
)
multiply.shorter = shorter_product


def multiply_rounded(x: Node, y: Node) -> Node:
    """The product of complex numbers with each product of their parts rounded: a loop for many numbers may fuse one of
    two products with the sum of both."""
    a, b, c, d = real(x), imag(x), real(y), imag(y)
    return make_complex(subtract(multiply(a, c), multiply(b, d)), add(multiply(a, d), multiply(b, c)))


divide = ufunc_op(
    "divide",
    lambda g, out, x, y: divide(g, y),
    lambda g, out, x, y: multiply(negative(g), divide(out, y)),
    transpose=lambda ct, x, y: (divide(ct, y), None),
    code=Code("fc", fc="({0} / {1})", errors="doi", replayed="f", exact=True),
)
divide.shorter = lambda node, x, y: x if node.dtype.kind != "c" and is_one(y) else None
negative = ufunc_op(
    "negative",
    lambda g, out, x: negative(g),
    transpose=lambda ct, x: (negative(ct),),
    code=arithmetic("iufc", iufc="{T}(-{0})", gaps="in"),
)
negative.shorter = lambda node, x: x.inputs[0] if x.op is negative and x.inputs else None
positive = ufunc_op(
    "positive",
    lambda g, out, x: g,
    transpose=lambda ct, x: (ct,),
    code=arithmetic("iufc", biufc="{0}"),
)
positive.shorter = lambda node, x: x
square = ufunc_op(
    "square",
    lambda g, out, x: multiply(g, multiply(x, 2)),
    weakness=of_array,
    code=arithmetic("iufc", iuf="{T}({0} * {0})", c="times({0}, {0})", errors="oi"),
)
reciprocal = ufunc_op(
    "reciprocal",
    lambda g, out, x: multiply(negative(g), multiply(out, out)),
    weakness=of_array,
    code=Code("iufc", f="({T}(1) / {0})", errors="doi", replayed="f", exact=True),
)
conjugate = ufunc_op(
    "conjugate",
    lambda g, out, x: conjugate(g) if is_complex(g) else g,
    transpose=lambda ct, x: (conjugate(ct) if is_complex(ct) else ct,),
    code=Code(ALL, biuf="{0}", c="std::conj({0})"),
)
conjugate.shorter = lambda node, x: x.inputs[0] if x.op is conjugate and x.inputs else None


def remainder_y(g: Node, out: Node, x: Node, y: Node, **_: Any) -> Node:
    return multiply(negative(g), floor_divide(x, y))


floor_divide = ufunc_op(
    "floor_divide", None, None, code=Code(DIVISION, HEAVY, iuf="floor_divide<{T}>({0}, {1})", exact=True)
)
remainder = ufunc_op(
    "remainder",
    lambda g, out, x, y: g,
    remainder_y,
    code=Code(DIVISION, HEAVY, iuf="remainder_<{T}>({0}, {1})", exact=True),
)
fmod = ufunc_op(
    "fmod",
    lambda g, out, x, y: g,
    lambda g, out, x, y: multiply(negative(g), trunc(divide(x, y))),
    code=Code(DIVISION, HEAVY, iuf="fmod_<{T}>({0}, {1})"),
)
divmod_ = multi_ufunc_op(
    "divmod",
    lambda g, out, x, y, *, i: g if i else None,
    lambda g, out, x, y, *, i: remainder_y(g, out, x, y) if i else None,
    code=Code(DIVISION, HEAVY),
)


def scalar(value: Any, like: Node) -> Node:
    """A constant of a node's dtype."""
    return Node.of_scalar(np.asarray(value).astype(like.dtype)[()])


def ones_like(x: Node) -> Node:
    return Node.of_scalar(np.ones((), x.dtype)[()])


def absolute_x(g: Node, out: Node, x: Node) -> Node:
    if not is_complex(x):
        return fabs_x(g, out, x)
    return real(multiply(g, divide(conjugate(x), where(equal(out, 0), ones_like(out), out))))


def fabs_x(g: Node, out: Node, x: Node) -> Node:
    """1 at zero, as in JAX."""
    return where(greater_equal(x, 0), g, negative(g))


absolute = ufunc_op(
    "absolute",
    absolute_x,
    weakness=lambda n: DEFINITE if is_complex(n.inputs[0]) else THROUGH,
    code=arithmetic(
        ALL,
        b="{0}",
        iu="{T}({0} < 0 ? -{0} : {0})",
        f="std::fabs({0})",
        c="std::abs({0})",
        quiet="__builtin_fabs{F}({0})",
    ),
)
fabs = ufunc_op("fabs", fabs_x, code=rounding("fabs", "f"))


def sign_x(g: Node, out: Node, x: Node) -> Node | None:
    """Zero; of a complex number, whose sign is x/|x|, the part along the circle."""
    if not is_complex(x):
        return None
    size = absolute(x)
    along = multiply(make_complex(0.0, imag(multiply(g, conjugate(out)))), out)
    return divide(along, where(equal(size, 0), ones_like(size), size))


sign = ufunc_op(
    "sign",
    sign_x,
    code=Code(
        NUMBER,
        b="{0}",
        iu="{T}(({0} > 0) - ({0} < 0))",
        f="sign<{T}>({0})",
        quiet="sign({0})",
        replayed=REAL,
        exact=True,
    ),
)
floor = ufunc_op("floor", None, code=rounding("floor", REAL, biu="{0}"))
ceil = ufunc_op("ceil", None, code=rounding("ceil", REAL, biu="{0}"))
trunc = ufunc_op("trunc", None, code=rounding("trunc", REAL, biu="{0}"))
rint = ufunc_op("rint", None, code=rounding("nearbyint", "f"))
heaviside = ufunc_op(
    "heaviside", None, lambda g, out, x, y: where(equal(x, 0), g, zeros_of(Aval((), g.dtype))), code=Code("f")
)


def refused(name: str) -> Callable[..., Node]:
    """Of a derivative that is not to be had, as in JAX."""

    def rule(*args: Any) -> Node:
        raise NotImplementedError(f"Differentiation rule for '{name}' not implemented")

    return rule


nextafter = ufunc_op("nextafter", refused("nextafter"), refused("nextafter"), code=Code("f", libm="nextafter"))
spacing = ufunc_op("spacing", refused("spacing"))
copysign = ufunc_op(
    "copysign",
    lambda g, out, x, y: where(equal(signbit(x), signbit(y)), g, negative(g)),
    None,
    code=Code("f", libm="copysign"),
)
modf = multi_ufunc_op("modf", lambda g, out, x, *, i: None if i else g, code=Code("f"))
frexp = multi_ufunc_op("frexp", lambda g, out, x, *, i: ldexp(g, negative(frexp(x, i=1))))
ldexp = ufunc_op("ldexp", lambda g, out, x, n: ldexp(g, n), None, transpose=lambda ct, x, n: (ldexp(ct, n), None))


def shares(x: Node, out: Node, y: Node, g: Node) -> Node:
    """1 where x alone is the extremum `out`, 1/2 where y is too, else 0."""
    one, zero, half = (scalar(v, g) for v in (1.0, 0.0, 0.5))
    return where(equal(x, out), where(equal(y, out), half, one), zero)


def extremum(name: str, sign: str, logical: str, first: str) -> Op:
    """maximum, minimum: a tie is shared evenly. `first` is C++ for whether the first of two floats is the result."""
    return ufunc_op(
        name,
        lambda g, out, x, y: multiply(g, shares(x, out, y, g)),
        lambda g, out, x, y: multiply(g, shares(y, out, x, g)),
        associative=True,
        code=Code(
            REAL,
            b=f"({{0}} {logical} {{1}})",
            iu=f"({{0}} {sign} {{1}} ? {{0}} : {{1}})",
            f=f"{name}<{{T}}>({{0}}, {{1}})",
            quiet=f"pick({first} | ({{0}} != {{0}}), {{0}}, {{1}})",
            replayed=REAL if os.uname().machine == "x86_64" else "biu",  # of two equal zeros, there, the second one
            exact=True,
            tiled=ALL,
        ),
    )


def nan_extremum(name: str, better: str) -> Op:
    """fmax, fmin: the other operand where one is NaN; a tie goes to the second."""

    def first(x: Node, y: Node) -> Node:
        return logical_or(registry[better](x, y), isnan(y))

    return ufunc_op(
        name,
        lambda g, out, x, y: where(first(x, y), g, zeros_of(Aval((), g.dtype))),
        lambda g, out, x, y: where(first(x, y), zeros_of(Aval((), g.dtype)), g),
        associative=True,
        code=Code(REAL, iuf=f"{name}imum<{{T}}>({{0}}, {{1}})", tiled="biu"),
    )


maximum = extremum("maximum", ">", "|", "less({1}, {0})")
minimum = extremum("minimum", "<", "&", "less({0}, {1})")
fmax, fmin = nan_extremum("fmax", "greater"), nan_extremum("fmin", "less")

# What has whole numbers or truth values for results has no derivative.

less = ufunc_op("less", code=comparison("<", "less({0}, {1})", "less({0}, {1})"))
less_equal = ufunc_op("less_equal", code=comparison("<=", "!less({1}, {0})", "(less({0}, {1}) | ({0} == {1}))"))
greater = ufunc_op("greater", code=comparison(">", "less({1}, {0})", "less({1}, {0})"))
greater_equal = ufunc_op("greater_equal", code=comparison(">=", "!less({0}, {1})", "(less({1}, {0}) | ({0} == {1}))"))
equal = ufunc_op("equal", code=comparison("==", "same({0}, {1})", compiled=ALL, c="({0} == {1})"))
not_equal = ufunc_op("not_equal", code=comparison("!=", "!same({0}, {1})", compiled=ALL, c="({0} != {1})"))

AND, OR, XOR = "(({0} != 0) & ({1} != 0))", "(({0} != 0) | ({1} != 0))", "(({0} != 0) != ({1} != 0))"
logical_and = ufunc_op("logical_and", associative=True, code=arithmetic(ALL, biuf=AND, tiled="b"))
logical_or = ufunc_op("logical_or", associative=True, code=arithmetic(ALL, biuf=OR, tiled="b"))
logical_xor = ufunc_op("logical_xor", associative=True, code=arithmetic(ALL, biuf=XOR))
logical_not = ufunc_op("logical_not", code=arithmetic(ALL, biuf="({0} == 0)"))

INFINITE = "(std::fabs({0}) == std::numeric_limits<{T}>::infinity())"
FINITE = "(std::fabs({0}) < std::numeric_limits<{T}>::infinity())"
QUIETLY = "(__builtin_fabs{F}({0}) == __builtin_inf{F}())"
isnan = ufunc_op("isnan", code=Code(ALL, biu="false", f="({0} != {0})", replayed="f", exact=True, gaps="out"))
isinf = ufunc_op("isinf", code=Code(ALL, biu="false", f=INFINITE, quiet=QUIETLY, replayed="f", exact=True, gaps="out"))
isfinite = ufunc_op(
    "isfinite", code=Code(ALL, biu="true", f=FINITE, quiet="finite({0})", replayed="f", exact=True, gaps="out")
)
signbit = ufunc_op("signbit", code=Code("f", f="std::signbit({0})", exact=True, gaps="out"))

bitwise_and = ufunc_op(
    "bitwise_and", associative=True, code=Code(BITS, b="({0} & {1})", iu="{T}({0} & {1})", replayed=BITS, tiled="b")
)
bitwise_or = ufunc_op(
    "bitwise_or", associative=True, code=Code(BITS, b="({0} | {1})", iu="{T}({0} | {1})", replayed=BITS, tiled="b")
)
bitwise_xor = ufunc_op(
    "bitwise_xor", associative=True, code=Code(BITS, b="({0} != {1})", iu="{T}({0} ^ {1})", replayed=BITS)
)
invert = ufunc_op("invert", code=Code(BITS, b="(!{0})", iu="{T}(~{0})", replayed=BITS))
bitwise_count = ufunc_op("bitwise_count", code=Code(BITS, iu="popcount<{T}>({0})"))
gcd, lcm = ufunc_op("gcd", associative=True), ufunc_op("lcm", associative=True)

# By any number: the bits that come in are zeros, or those of the sign.
LEFT = "{T}({U}({U}({0}) << ({U}({1}) & {W})) & {U}(-({U}({1}) <= {W})))"
RIGHT = "{T}({U}({0} >> ({U}({1}) & {W})) & {U}(-({U}({1}) <= {W})))"
SIGNED = "{T}({0} >> ({U}({1}) < {W} ? {U}({1}) : {U}({W})))"
left_shift = ufunc_op("left_shift", code=Code("iu", iu=LEFT, replayed="iu"))
right_shift = ufunc_op("right_shift", code=Code("iu", i=SIGNED, u=RIGHT, replayed="iu"))
