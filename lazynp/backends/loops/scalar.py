"""Arithmetic on scalars in C++, with NumPy's semantics: an expression for each operation and kind of loop."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..support import KIND
from .libraries import vectorized
from .program import Unsupported

CTYPE = {
    "bool": "bool",
    "float32": "float",
    "float64": "double",
    "complex64": "cfloat",
    "complex128": "cdouble",
    **{f"{u}int{w}": f"{u}int{w}_t" for u in ("", "u") for w in (8, 16, 32, 64)},
}
INCLUDES = """\
#include <cmath>
#include <cstdint>
#include <cstring>
#include <algorithm>
#include <limits>
#include <type_traits>
"""
# `<complex>` takes g++ as long as all the rest of a loop, and most loops have no such numbers.
WITH_COMPLEX = """\
#include <complex>
using cfloat = std::complex<float>;
using cdouble = std::complex<double>;
template <class T> inline constexpr bool is_complex = std::is_same_v<T, cfloat> || std::is_same_v<T, cdouble>;
"""
WITHOUT_COMPLEX = """\
template <class T> inline constexpr bool is_complex = false;
"""
PRELUDE = """\
#define INLINE static inline __attribute__((always_inline))
template <class To, class From> INLINE To bitcast(From x) { To y; std::memcpy(&y, &x, sizeof y); return y; }
// Functions of floats by way of doubles: exp(y) - 1 by a Taylor polynomial, with an error below 2^-35 of the result.
INLINE double expm1_of(double y) {
    const double n = std::nearbyint(y * 1.4426950408889634), r = y - n * 0.6931471805599453;
    double p = 1 / 362880.0;
    p = p * r + 1 / 40320.0; p = p * r + 1 / 5040.0; p = p * r + 1 / 720.0; p = p * r + 1 / 120.0;
    p = p * r + 1 / 24.0; p = p * r + 1 / 6.0; p = p * r + 0.5; p = p * r + 1;
    const double s = bitcast<double>((int64_t)((int32_t)n + 1023) << 52);
    return s * (r * p) + (s - 1);
}
INLINE double within(double x, double low, double high) { return x < low ? low : x > high ? high : x; }
INLINE float expm1_f(float x) { return x == 0 ? x : (float)expm1_of(within(x, -104, 104)); }
INLINE float exp2_f(float x) { return (float)(expm1_of(within(x, -151, 151) * 0.6931471805599453) + 1); }
INLINE float tanh_f(float x) {
    const double e = expm1_of(within(2.0 * x, -20, 20));
    return std::copysign((float)(e / (e + 2)), x);
}
INLINE float sinh_f(float x) {
    const double e = expm1_of(within(x, -104, 104));
    return x == 0 ? x : (float)(0.5 * (e + e / (e + 1)));
}
INLINE float cosh_f(float x) {
    const double e = expm1_of(within(x, -104, 104)) + 1;
    return (float)(0.5 * (e + 1 / e));
}
INLINE float log1p_f(float x) {
    const double u = 1.0 + x, y = ::log(u) * x / (u - 1);
    return u == 1 || x == std::numeric_limits<float>::infinity() ? x : (float)y;
}
INLINE double log1p_f(double x) { return ::log1p(x); }
template <class T> INLINE T times(T a, T b) {
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
}
template <class T> INLINE T maximum(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return (a >= b || a != a) ? a : b; else return a >= b ? a : b;
}
template <class T> INLINE T minimum(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return (a <= b || a != a) ? a : b; else return a <= b ? a : b;
}
template <class T> INLINE T fmaximum(T a, T b) { return (a >= b || b != b) ? a : b; }
template <class T> INLINE T fminimum(T a, T b) { return (a <= b || b != b) ? a : b; }
template <class T> INLINE T sign(T a) { return a > 0 ? T(1) : a < 0 ? T(-1) : a == 0 ? T(0) : a; }
template <class T> INLINE T absolute(T a) {
    if constexpr (std::is_floating_point_v<T>) return std::fabs(a);
    else if constexpr (std::is_unsigned_v<T>) return a;
    else return a < 0 ? T(-a) : a;
}
template <class T> INLINE T remainder_(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        T m = std::fmod(a, b);
        if (m != 0) { if ((b < 0) != (m < 0)) m += b; } else m = std::copysign(T(0), b);
        return m;
    } else {
        if (b == 0 || (std::is_signed_v<T> && b == T(-1))) return 0;
        T m = a % b;
        return m != 0 && ((m < 0) != (b < 0)) ? T(m + b) : m;
    }
}
template <class T> INLINE T floor_divide(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (b == 0) return a / b;
        T m = std::fmod(a, b), d = (a - m) / b;
        if (m != 0 && ((b < 0) != (m < 0))) d -= T(1);
        if (d == 0) return std::copysign(T(0), a / b);
        T f = std::floor(d);
        return d - f > T(0.5) ? f + T(1) : f;
    } else {
        if (b == 0) return 0;
        if (std::is_signed_v<T> && b == T(-1)) return T(0) - a;
        T d = a / b;
        return (a % b != 0 && ((a < 0) != (b < 0))) ? T(d - 1) : d;
    }
}
template <class T> INLINE T fmod_(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return std::fmod(a, b);
    else return b == 0 || (std::is_signed_v<T> && b == T(-1)) ? T(0) : T(a % b);
}
template <class T> INLINE T ipow(T a, T b) {
    if (std::is_signed_v<T> && b < 0) return a == 1 ? T(1) : a == T(-1) ? (b % 2 ? T(-1) : T(1)) : T(0);
    T r = 1;
    while (b > 0) { if (b & 1) r *= a; b >>= 1; a *= a; }
    return r;
}
template <class T> INLINE T left_shift(T a, T b) {
    using U = std::make_unsigned_t<T>;
    return U(b) < 8 * sizeof(T) ? T(U(a) << b) : T(0);
}
template <class T> INLINE T right_shift(T a, T b) {
    using U = std::make_unsigned_t<T>;
    return U(b) < 8 * sizeof(T) ? T(a >> b) : (a < 0 ? T(-1) : T(0));
}
template <class T> INLINE T logaddexp(T a, T b) {
    if (a == b) return a + T(0.693147180559945309417232121458176568);
    T d = a - b;
    return d > 0 ? a + log1p_f(std::exp(-d)) : d <= 0 ? b + log1p_f(std::exp(d)) : d;
}
// Of a signed and an unsigned integer, as numbers: C makes both unsigned.
template <class A, class B> INLINE bool less(A a, B b) {
    if constexpr (std::is_signed_v<A>) return a < 0 || (std::make_unsigned_t<A>)a < b;
    else return b >= 0 && a < (std::make_unsigned_t<B>)b;
}
template <class A, class B> INLINE bool same(A a, B b) {
    return !less(a, b) && !less(b, a);
}
template <class T> INLINE int popcount(T a) {
    if constexpr (std::is_signed_v<T>) {
        long long b = a;
        return __builtin_popcountll((unsigned long long)(b < 0 ? -b : b));
    } else return __builtin_popcountll((unsigned long long)a);
}
template <class To, class From> INLINE To cast(From x) {
    if constexpr (is_complex<From> && !is_complex<To>) return (To)x.real();
    else if constexpr (is_complex<From>) return To(x.real(), x.imag());
    else if constexpr (is_complex<To>) return To(x, 0);
    else if constexpr (std::is_same_v<To, bool>) return x != 0;
    else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
        if constexpr (sizeof(To) < 4) return (To)(int32_t)x;
        else if constexpr (std::is_same_v<To, uint32_t>) return (To)(int64_t)x;
        else return (To)x;
    } else return (To)x;
}
"""
COMPARE = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!="}
MATH = {
    "exp": "exp",
    "exp2": "exp2",
    "expm1": "expm1",
    "log": "log",
    "log2": "log2",
    "log10": "log10",
    "log1p": "log1p",
    "sqrt": "sqrt",
    "cbrt": "cbrt",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "arctan2": "atan2",
    "hypot": "hypot",
    "copysign": "copysign",
    "nextafter": "nextafter",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "rint": "nearbyint",
    "fabs": "fabs",
    "power": "pow",
    "float_power": "pow",
    "erf": "erf",
    "erfc": "erfc",
}
PLAIN = {  # of numbers; {0} and {1} are operands, {T} the loop's type
    "add": "{T}({0} + {1})",
    "subtract": "{T}({0} - {1})",
    "multiply": "{T}({0} * {1})",
    "negative": "{T}(-{0})",
    "positive": "{0}",
    "conjugate": "{0}",
    "real": "{0}",
    "absolute": "absolute<{T}>({0})",
    "sign": "sign<{T}>({0})",
    "square": "{T}({0} * {0})",
    "maximum": "maximum<{T}>({0}, {1})",
    "minimum": "minimum<{T}>({0}, {1})",
    "fmax": "fmaximum<{T}>({0}, {1})",
    "fmin": "fminimum<{T}>({0}, {1})",
    "remainder": "remainder_<{T}>({0}, {1})",
    "floor_divide": "floor_divide<{T}>({0}, {1})",
    "fmod": "fmod_<{T}>({0}, {1})",
    "logical_and": "(({0} != 0) & ({1} != 0))",
    "logical_or": "(({0} != 0) | ({1} != 0))",
    "logical_xor": "(({0} != 0) != ({1} != 0))",
    "logical_not": "({0} == 0)",
}
MIXED = {  # of int64 and uint64, for which NumPy has loops
    "less": "less({0}, {1})",
    "less_equal": "!less({1}, {0})",
    "greater": "less({1}, {0})",
    "greater_equal": "!less({0}, {1})",
    "equal": "same({0}, {1})",
    "not_equal": "!same({0}, {1})",
}
FLOAT = {
    "divide": "({0} / {1})",
    "reciprocal": "({T}(1) / {0})",
    "isnan": "({0} != {0})",
    "isinf": "(std::fabs({0}) == std::numeric_limits<{T}>::infinity())",
    "isfinite": "(std::fabs({0}) < std::numeric_limits<{T}>::infinity())",
    "signbit": "std::signbit({0})",
    "logaddexp": "logaddexp<{T}>({0}, {1})",
    "deg2rad": "({0} * {T}(0.017453292519943295))",
    "radians": "({0} * {T}(0.017453292519943295))",
    "rad2deg": "({0} * {T}(57.29577951308232))",
    "degrees": "({0} * {T}(57.29577951308232))",
}
INTEGER = {
    "bitwise_and": "{T}({0} & {1})",
    "bitwise_or": "{T}({0} | {1})",
    "bitwise_xor": "{T}({0} ^ {1})",
    "invert": "{T}(~{0})",
    "left_shift": "left_shift<{T}>({0}, {1})",
    "right_shift": "right_shift<{T}>({0}, {1})",
    "bitwise_count": "popcount<{T}>({0})",
    "power": "ipow<{T}>({0}, {1})",
    "isfinite": "true",
    "isnan": "false",
    "isinf": "false",
    "floor": "{0}",
    "ceil": "{0}",
    "trunc": "{0}",
    "rint": "{0}",
}
BOOL = {
    "add": "({0} | {1})",
    "multiply": "({0} & {1})",
    "maximum": "({0} | {1})",
    "minimum": "({0} & {1})",
    "bitwise_and": "({0} & {1})",
    "bitwise_or": "({0} | {1})",
    "bitwise_xor": "({0} != {1})",
    "invert": "(!{0})",
    "absolute": "{0}",
    "positive": "{0}",
    "sign": "{0}",
}
COMPLEX = {
    "add": "{T}({0} + {1})",
    "subtract": "{T}({0} - {1})",
    "multiply": "times({0}, {1})",
    "divide": "({0} / {1})",
    "negative": "{T}(-{0})",
    "positive": "{0}",
    "square": "times({0}, {0})",
    "conjugate": "std::conj({0})",
    "real": "std::real({0})",
    "imag": "std::imag({0})",
    "absolute": "std::abs({0})",
    "equal": "({0} == {1})",
    "not_equal": "({0} != {1})",
    **{n: f"std::{n}({{0}})" for n in ("exp", "log", "sqrt", "sin", "cos", "sinh", "cosh", "tanh")},
}
FLOAT32 = {n: f"{n}_f({{0}})" for n in ("expm1", "exp2", "tanh", "sinh", "cosh", "log1p")}
ELEMENTWISE = frozenset({"erf", "erfc"})
"""Of no ufunc, and computed element by element all the same."""


def ctype(dtype: str) -> str:
    found = CTYPE.get(dtype)
    if found is None:
        raise Unsupported(f"dtype {dtype}")
    return found


def converted(expression: str, source: str, target: str) -> str:
    """An expression of one dtype as one of another."""
    return expression if source == target else f"cast<{ctype(target)}, {ctype(source)}>({expression})"


def literal(value: Any, dtype: str) -> str:
    """A constant of that dtype."""
    kind = KIND[dtype]
    if kind == "b":
        return "true" if value else "false"
    if kind in "iu":
        number = int(np.asarray(value).astype(dtype))
        text = f"{number}" if number != -(1 << 63) else "(-9223372036854775807LL - 1)"
        return f"{ctype(dtype)}({text}{'ULL' if number >= 1 << 31 else 'LL' if abs(number) >= 1 << 31 else ''})"
    if kind == "c":
        number_c = complex(np.asarray(value).astype(dtype))
        part = "float32" if dtype == "complex64" else "float64"
        return f"{ctype(dtype)}({literal(number_c.real, part)}, {literal(number_c.imag, part)})"
    number_f = float(np.asarray(value).astype(dtype))
    if math.isnan(number_f):
        return f"std::numeric_limits<{ctype(dtype)}>::quiet_NaN()"
    if math.isinf(number_f):
        return f"({'-' if number_f < 0 else ''}std::numeric_limits<{ctype(dtype)}>::infinity())"
    return f"({number_f.hex()}{'f' if dtype == 'float32' else ''})"


def expression(op: str, args: list[str], loop: str, dtype: str) -> str:
    """The C++ of one operation on operands of dtype `loop` with a result of `dtype`. Raises Unsupported."""
    kind = KIND.get(loop, "?")
    t = ctype(loop)
    if op == "complex":
        return f"std::complex<{t}>({', '.join(args)})"
    if kind == "c":
        if op not in COMPLEX:
            raise Unsupported(f"{op} of {loop}")
        return COMPLEX[op].format(*args, T=t)
    if op in COMPARE:
        return f"({args[0]} {COMPARE[op]} {args[1]})"
    if loop == "float32" and op in FLOAT32:
        return FLOAT32[op].format(*args)
    tables = {"b": (BOOL,), "i": (INTEGER,), "u": (INTEGER,), "f": (FLOAT,)}.get(kind, ())
    for table in (*tables, PLAIN):
        if op in table and not (kind == "b" and table is PLAIN and not op.startswith("logical")):
            return table[op].format(*args, T=t)
    if kind == "f" and op in MATH:
        name = MATH[op]
        if name in vectorized():
            return f"::{name}{'f' if loop == 'float32' else ''}({', '.join(args)})"
        return f"std::{name}({', '.join(args)})"
    raise Unsupported(f"{op} of {loop}")
