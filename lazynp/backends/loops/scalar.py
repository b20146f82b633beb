"""Arithmetic on scalars in C++, with NumPy's semantics: an expression for each operation and kind of loop."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..support import ITEMSIZE, KIND, code_of
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
// The vector functions of glibc leave small results to the scalar ones, lane by lane: 100 times slower, and masks of
// attention have such. So exp(x + d) exp(-d). Of `exp(a ? b : c)` the compiler makes two calls: so choices by bits.
template <class T> INLINE T either(bool first, T a, T b) {
    using I = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    const I mask = -(I)first;
    return bitcast<T>((I)((bitcast<I>(a) & mask) | (bitcast<I>(b) & ~mask)));
}
template <class T> INLINE T exp_f(T x) {
    constexpr bool f = sizeof(T) == 4;
    constexpr T low = f ? -86 : -700, none = f ? -104 : -746, d = f ? 64 : 512;
    constexpr T factor = f ? T(0x1.969d47321e4ccp-93) : T(0x1.44109edb20931p-739);
    const T y = either(x < low, x + d, x), z = either(y < low, low, y);
    T e;
    if constexpr (f) e = ::expf(z); else e = ::exp(z);
    return e * either(x < low, either(x < none, T(0), factor), T(1));
}
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
// x to a power that is known, one of EXPONENTS: N halves.
template <class T> INLINE T root_of(T x) { return x == -std::numeric_limits<T>::infinity() ? -x : std::sqrt(x) + 0; }
INLINE double corrected(double r, double low) {  // but where r is out of range, or a zero, which has a sign
    return r - r == 0 && r != 0 ? r + low : r;
}
INLINE double cube(double x) {  // the product of the rounded square, and of what the square lost
    const double p = x * x, r = p * x;
    return corrected(r, std::fma(p, x, -r) + std::fma(x, x, -p) * x);
}
INLINE double fourth(double x) {
    const double p = x * x, r = p * p;
    return corrected(r, std::fma(p, p, -r) + 2 * std::fma(x, x, -p) * p);
}
INLINE float cube(float x) { const double y = x; return (float)(y * y * y); }
INLINE float fourth(float x) { const double p = (double)x * x; return (float)(p * p); }
template <int N, class T> INLINE T power_of(T x) {
    constexpr int n = N < 0 ? -N : N;
    if constexpr (n % 2) {
        const T root = N < 0 ? 1 / root_of(x) : root_of(x);
        if constexpr (n == 1) return root;
        else return root * std::abs(N < 0 ? 1 / x : x);
    } else {
        const T y = N < 0 ? 1 / x : x;
        if constexpr (n == 6) return cube(y);
        else if constexpr (n == 8) return fourth(y);
        else return n == 2 ? y : y * y;
    }
}
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
template <class T> INLINE T logaddexp(T a, T b) {
    if (a == b) return a + T(0.693147180559945309417232121458176568);
    T d = a - b;
    return d > 0 ? a + log1p_f(exp_f(-d)) : d <= 0 ? b + log1p_f(exp_f(d)) : d;
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
        if number == -(1 << 63):  # C has no such literal
            return f"{ctype(dtype)}(-9223372036854775807LL - 1)"
        return f"{ctype(dtype)}({number}{'ULL' if number >= 1 << 31 else 'LL' if abs(number) >= 1 << 31 else ''})"
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


def expression(op: str, args: list[str], loop: str, dtype: str, quiet: bool = False) -> str:
    """The C++ of one operation on operands of dtype `loop` with a result of `dtype`: what `Op.code` has.

    `quiet`: with NumPy's floating-point errors, in a program without headers. Raises Unsupported.
    """
    kind, t, code = KIND.get(loop, "?"), ctype(loop), code_of(op)
    text = code.c.get(loop) or quiet and kind == "f" and code.c.get("quiet") or code.c.get(kind)
    end, bits = "f" if loop == "float32" else "", 8 * ITEMSIZE[loop]
    if text:
        return text.format(*args, T=t, D=ctype(dtype), U=f"uint{bits}_t", W=bits - 1, F=end)
    if not code.libm or kind != "f":
        raise Unsupported(f"{op} of {loop}")
    if code.libm == "exp" and not quiet:
        return f"exp_f({args[0]})"
    if code.libm in vectorized():
        return f"::{code.libm}{end}({', '.join(args)})"
    return f"std::{code.libm}({', '.join(args)})"
