"""C++ that every artifact starts with: Inductor's header, vector mathematics, and the checks of the entry points.

Vector mathematics. Inductor's vectors call Sleef, whose functions live in libtorch_cpu.so. Loading that library takes
0.6 s and 100 MB, so an artifact must not need it. glibc's libmvec has the same functions and loads in 0.2 ms: each
`Sleef_*` is defined here, inline, as a call of its counterpart. Measured over 4 million values, subnormals and special
values included, they are at most 3.5 ulp (float64) and 3.9 ulp (float32) from the truth; powers, exponentials, sines
and cosines of float64 are our own, at most 0.55 (`elementary.py`). What this machine's libmvec lacks (glibc before 2.35
has only exp, log, pow, sin, cos) is computed lane by lane by libm.
"""

from __future__ import annotations

import ctypes

from lazynp.backends.torch import elementary
from lazynp.backends.torch.chain import CHAIN
from lazynp.backends.torch.masks import MASKS
from lazynp.backends.torch.sums import SUMS
from lazynp.backends.torch.threads import POOL

# Sleef's name (before the lanes) -> libm's name, number of arguments
UNARY = {
    "acos": "acos",
    "acosh": "acosh",
    "asin": "asin",
    "asinh": "asinh",
    "atan": "atan",
    "atanh": "atanh",
    "cos": "cos",
    "cosh": "cosh",
    "erf": "erf",
    "erfc": "erfc",
    "exp": "exp",
    "exp2": "exp2",
    "expm1": "expm1",
    "lgamma": "lgamma",
    "log": "log",
    "log10": "log10",
    "log1p": "log1p",
    "log2": "log2",
    "sin": "sin",
    "sinh": "sinh",
    "tan": "tan",
    "tanh": "tanh",
}
BINARY = {
    "atan2": "atan2",
    "hypot": "hypot",
    "pow": "pow",
    "fmod": "fmod",
    "nextafter": "nextafter",
    "copysign": "copysign",
}
PRECISION = {"erfc": "u15", "hypot": "u05", "fmod": "", "nextafter": "", "copysign": ""}
# Lane by lane although libmvec has them: measured to be over 4 ulp, or wrong at special values.
SCALAR_ONLY: frozenset[str] = frozenset()
# CPU capability -> C vector types and libmvec's letter
VECTORS = {
    "AVX512": (("d", 8, "__m512d", "double", "", "_ZGVeN8"), ("f", 16, "__m512", "float", "f", "_ZGVeN16")),
    "AVX2": (("d", 4, "__m256d", "double", "", "_ZGVdN4"), ("f", 8, "__m256", "float", "f", "_ZGVdN8")),
}

HEADER = r"""
#include <c10/util/Exception.h>
// Divisors are never zero here (see namespace._quotient), and an artifact must not need libc10 to report one. Blocks,
// as those of torch are: some of its headers, where there is no AVX-512, have no semicolon behind them.
#undef TORCH_CHECK
#define TORCH_CHECK(...) {}
#undef TORCH_INTERNAL_ASSERT
#define TORCH_INTERNAL_ASSERT(...) {}
#include <torch/csrc/inductor/cpp_prefix.h>
#include <cstdint>
#include <cstdlib>

#define LAZYNP_EXPORT extern "C" __attribute__((visibility("default")))
static thread_local int lazynp_threads = 1;
"""

HYPOT = r"""
// |a + bi| without overflow, in a form that g++ vectorizes; at most 2 ulp from the truth.
template <class T>
static inline T lazynp_hypot(T a, T b) {
    a = std::fabs(a);
    b = std::fabs(b);
    const T large = a > b ? a : b, small = a > b ? b : a;
    const T ratio = small / large;
    const T length = large * std::sqrt(T(1) + ratio * ratio);
    const T infinity = std::numeric_limits<T>::infinity();
    const T finite = small == T(0) ? large : length;
    return a == infinity || b == infinity ? infinity : finite;
}
"""

FMOD = r"""
// fmod: exact, from the quotient, where that has few enough digits; else libm's, which takes ten times as long. A
// quotient is at most one too large, since division rounds, and what is left is then negative.
template <class T>
static inline T lazynp_fmod(T a, T b) {
#ifdef __FMA__
    const T x = std::fabs(a), y = std::fabs(b), q = std::trunc(x / y);
    if (__builtin_expect(q < T(1) / std::numeric_limits<T>::epsilon() && y < std::numeric_limits<T>::infinity(), 1)) {
        const T r = std::fma(-q, y, x);
        return std::copysign(r < T(0) ? r + y : r, a);
    }
#endif
    return std::fmod(a, b);
}
"""

CHECKS = r"""
// The head of NumPy's PyArrayObject_fields, part of its ABI.
struct LazynpArray {
    void* reference_count;
    void* type;
    char* data;
    int ndim;
    int64_t* shape;
    int64_t* strides;  // bytes
};

static inline int64_t* lazynp_shape(const LazynpArray* const* arrays, int count, int ndim, int64_t* shape) {
    for (int j = 0; j < ndim; ++j) shape[j] = 1;
    for (int i = 0; i < count; ++i) {
        if (arrays[i]->ndim != ndim) return nullptr;
        for (int j = 0; j < ndim; ++j)
            if (arrays[i]->shape[j] != 1) shape[j] = arrays[i]->shape[j];
    }
    return shape;
}

// Strides in elements; false where an array does not fit the iteration space.
static inline bool lazynp_strides(const LazynpArray* a, const int64_t* shape, int ndim, int64_t itemsize,
                                  int64_t* out) {
    for (int j = 0; j < ndim; ++j) {
        if (a->shape[j] == 1) { out[j] = 0; continue; }
        if (a->shape[j] != shape[j] || a->strides[j] % itemsize) return false;
        out[j] = a->strides[j] / itemsize;
    }
    return true;
}
"""


def libmvec() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL("libmvec.so.1")
    except OSError:
        return None


def sleef(capability: str) -> str:
    """Definitions of the `Sleef_*` functions for this capability ("AVX512", "AVX2" or "DEFAULT")."""
    library = libmvec()
    lines: list[str] = []
    for letter, lanes, vector, scalar, suffix, prefix in VECTORS.get(capability, ()):
        for table, arguments in ((UNARY, 1), (BINARY, 2)):
            for name, libm in table.items():
                fast = letter == "f" and name in ("sin", "cos")
                accuracies = ("u10", "u35") if fast else (PRECISION.get(name, "u10"),)
                for accuracy in accuracies:
                    own = f"Sleef_{name}{letter}{lanes}" + (f"_{accuracy}" if accuracy else "")
                    symbol = f"{prefix}{'v' * arguments}_{libm}{suffix}"
                    vectorized = name not in SCALAR_ONLY and library is not None and hasattr(library, symbol)
                    if name == "fmod":
                        lines.append(_fmod(own, vector, scalar, lanes))
                        continue
                    if name == "hypot" and vectorized:
                        lines.append(_hypot(own, symbol, vector, lanes))
                        continue
                    shim = _shim(own, symbol if vectorized else None, vector, scalar, libm, lanes, arguments)
                    ours = letter == "d" and libm in elementary.FORMULAS
                    lines.append(elementary.function(libm, own, vector, lanes, shim) if ours else shim)
    return "".join(lines)


# Of (vector, letter): set all lanes, square root, and whether any lane of s is outside [low, high].
HYPOT_PARTS = {
    "__m512d": (
        "_mm512_set1_pd",
        "_mm512_sqrt_pd",
        "_mm512_cmp_pd_mask(s, low, _CMP_NGE_UQ) | _mm512_cmp_pd_mask(s, high, _CMP_NLE_UQ)",
    ),
    "__m512": (
        "_mm512_set1_ps",
        "_mm512_sqrt_ps",
        "_mm512_cmp_ps_mask(s, low, _CMP_NGE_UQ) | _mm512_cmp_ps_mask(s, high, _CMP_NLE_UQ)",
    ),
    "__m256d": (
        "_mm256_set1_pd",
        "_mm256_sqrt_pd",
        "_mm256_movemask_pd(_mm256_or_pd(_mm256_cmp_pd(s, low, _CMP_NGE_UQ), _mm256_cmp_pd(s, high, _CMP_NLE_UQ)))",
    ),
    "__m256": (
        "_mm256_set1_ps",
        "_mm256_sqrt_ps",
        "_mm256_movemask_ps(_mm256_or_ps(_mm256_cmp_ps(s, low, _CMP_NGE_UQ), _mm256_cmp_ps(s, high, _CMP_NLE_UQ)))",
    ),
}


def _hypot(own: str, symbol: str, vector: str, lanes: int) -> str:
    """sqrt(x * x + y * y) while no lane can overflow or lose digits, which is nearly always; libmvec's else."""
    fill, root, outside = HYPOT_PARTS[vector]
    low, high = ("1e-290", "1e300") if vector.endswith("d") else ("1e-30f", "1e37f")
    return (
        f'extern "C" {vector} {symbol}({vector}, {vector}) noexcept;\n'
        f'extern "C" inline {vector} {own}({vector} x, {vector} y) {{\n'
        f"    const {vector} s = x * x + y * y, low = {fill}({low}), high = {fill}({high});\n"
        f"    return __builtin_expect(({outside}) == 0, 1) ? {root}(s) : {symbol}(x, y);\n}}\n"
    )


# Of (vector, letter): absolute value, the quotient cut off, what is left, with a divisor more where that is negative,
# the sign of a, and which lanes have no such quotient.
FMOD_PARTS = {
    "__m512d": (
        "_mm512_abs_pd({0})",
        "_mm512_roundscale_pd({0}, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)",
        "_mm512_fnmadd_pd(q, y, x)",
        "_mm512_mask_add_pd(r, _mm512_cmp_pd_mask(r, _mm512_setzero_pd(), _CMP_LT_OQ), r, y)",
        "_mm512_or_pd({0}, _mm512_and_pd(a, _mm512_set1_pd(-0.0)))",
        "_mm512_cmp_pd_mask(q, _mm512_set1_pd(0x1p52), _CMP_NLT_UQ) | "
        "_mm512_cmp_pd_mask(y, _mm512_set1_pd(INFINITY), _CMP_NLT_UQ)",
    ),
    "__m512": (
        "_mm512_abs_ps({0})",
        "_mm512_roundscale_ps({0}, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)",
        "_mm512_fnmadd_ps(q, y, x)",
        "_mm512_mask_add_ps(r, _mm512_cmp_ps_mask(r, _mm512_setzero_ps(), _CMP_LT_OQ), r, y)",
        "_mm512_or_ps({0}, _mm512_and_ps(a, _mm512_set1_ps(-0.0f)))",
        "_mm512_cmp_ps_mask(q, _mm512_set1_ps(0x1p23f), _CMP_NLT_UQ) | "
        "_mm512_cmp_ps_mask(y, _mm512_set1_ps(INFINITY), _CMP_NLT_UQ)",
    ),
    "__m256d": (
        "_mm256_andnot_pd(_mm256_set1_pd(-0.0), {0})",
        "_mm256_round_pd({0}, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)",
        "_mm256_fnmadd_pd(q, y, x)",
        "_mm256_add_pd(r, _mm256_and_pd(_mm256_cmp_pd(r, _mm256_setzero_pd(), _CMP_LT_OQ), y))",
        "_mm256_or_pd({0}, _mm256_and_pd(a, _mm256_set1_pd(-0.0)))",
        "_mm256_movemask_pd(_mm256_or_pd(_mm256_cmp_pd(q, _mm256_set1_pd(0x1p52), _CMP_NLT_UQ), "
        "_mm256_cmp_pd(y, _mm256_set1_pd(INFINITY), _CMP_NLT_UQ)))",
    ),
    "__m256": (
        "_mm256_andnot_ps(_mm256_set1_ps(-0.0f), {0})",
        "_mm256_round_ps({0}, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)",
        "_mm256_fnmadd_ps(q, y, x)",
        "_mm256_add_ps(r, _mm256_and_ps(_mm256_cmp_ps(r, _mm256_setzero_ps(), _CMP_LT_OQ), y))",
        "_mm256_or_ps({0}, _mm256_and_ps(a, _mm256_set1_ps(-0.0f)))",
        "_mm256_movemask_ps(_mm256_or_ps(_mm256_cmp_ps(q, _mm256_set1_ps(0x1p23f), _CMP_NLT_UQ), "
        "_mm256_cmp_ps(y, _mm256_set1_ps(INFINITY), _CMP_NLT_UQ)))",
    ),
}


def _fmod(own: str, vector: str, scalar: str, lanes: int) -> str:
    """`lazynp_fmod` of all lanes; lane by lane where one needs libm's."""
    size, cut, rest, mended, signed, outside = FMOD_PARTS[vector]
    return (
        f'extern "C" inline {vector} {own}({vector} a, {vector} b) {{\n'
        "#ifdef __FMA__\n"
        f"    const {vector} x = {size.format('a')}, y = {size.format('b')}, q = {cut.format('x / y')};\n"
        f"    if (__builtin_expect(({outside}) == 0, 1)) {{\n"
        f"        const {vector} r = {rest};\n        return {signed.format(mended)};\n    }}\n"
        "#endif\n"
        f"    {scalar} *x_ = ({scalar}*)&a, *y_ = ({scalar}*)&b;\n"
        f"    for (int i = 0; i < {lanes}; ++i) x_[i] = std::fmod(x_[i], y_[i]);\n    return a;\n}}\n"
    )


def _shim(own: str, symbol: str | None, vector: str, scalar: str, libm: str, lanes: int, arguments: int) -> str:
    names = ("x", "y")[:arguments]
    parameters = ", ".join(f"{vector} {n}" for n in names)
    if symbol is not None:
        return (
            f'extern "C" {vector} {symbol}({", ".join([vector] * arguments)}) noexcept;\n'
            f'extern "C" inline {vector} {own}({parameters}) {{ return {symbol}({", ".join(names)}); }}\n'
        )
    lane = ", ".join(f"(({scalar}*)&{n})[i]" for n in names)
    return (
        f'extern "C" inline {vector} {own}({parameters}) {{ {vector} r; for (int i = 0; i < {lanes}; ++i) '
        f"(({scalar}*)&r)[i] = std::{libm}({lane}); return r; }}\n"
    )


def prelude(capability: str) -> str:
    return (
        "#pragma once\n"
        + HEADER
        + POOL
        + CHECKS
        + CHAIN
        + MASKS
        + SUMS
        + HYPOT
        + FMOD
        + elementary.tables()
        + sleef(capability)
    )
