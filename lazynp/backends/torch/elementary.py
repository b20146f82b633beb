"""Powers, exponentials, sines and cosines of float64 in vectors, as accurate as NumPy's.

libmvec's err by one to three last places, NumPy's by a little over one half. These err by at most 0.55 of one, and so
have NumPy's bits nearly everywhere, whether a kernel is compiled or not. They are table-driven, after P. T. P. Tang,
"Table-driven implementation of the logarithm function in IEEE floating-point arithmetic", ACM Transactions on
Mathematical Software 16 (1990), and the same author's paper on the exponential, 15 (1989).

- exp(x): x is the nearest multiple of log(2) / 16 and a rest.
- sin(x), cos(x): x is the nearest multiple of pi / 16 and a rest b; sin(a + b) = sin(a) cos(b) + cos(a) sin(b).
- x^y: the exponential of y log(x). x = 2^k m; c of a table is nearly 1/m, so that m c = 1 + r with |r| < 0.033 and
  log(x) = k log(2) - log(c) + log(1 + r), as a sum of two numbers that have some 64 binary digits together.

The tables are as small as they are so that AVX-512 has them in registers: gathering from memory took half of the time.
Lanes that a formula is not for are the C library's, one by one: subnormal numbers, what nearly overflows or underflows,
sines of large numbers. Logarithms stay libmvec's, which err by one last place: one made like these took 1.4 times as
long (2.3 times with AVX2). Measured beside libmvec's, exponentials take 1.05 of their time, sines and cosines 1.8,
powers 0.7 (with AVX2 1.7, 2.9 and 1.3).
"""

from __future__ import annotations

import functools
import re
import struct
from decimal import Context, Decimal, localcontext

BITS = 4
STEPS = 1 << BITS  # entries of each table: two AVX-512 registers
HALVED = 7  # from this entry on m is below 1, so that x just below 1 has k = 0 and a small logarithm, too

INTRINSICS = r"""
#ifdef __FMA__
static inline __m256d lazynp_fma(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }
static inline __m256d lazynp_entries(const double* table, __m256i at) { return _mm256_i64gather_pd(table, at, 8); }
static inline bool lazynp_all(__m256i lanes) { return _mm256_testc_si256(lanes, _mm256_set1_epi64x(-1)); }
#ifdef __AVX512F__
static inline __m512d lazynp_fma(__m512d a, __m512d b, __m512d c) { return _mm512_fmadd_pd(a, b, c); }
static inline __m512d lazynp_entries(const double* table, __m512i at) {
    return _mm512_permutex2var_pd(_mm512_load_pd(table), at, _mm512_load_pd(table + 8));
}
static inline bool lazynp_all(__m512i lanes) {
    return _mm512_cmpneq_epi64_mask(lanes, _mm512_set1_epi64(-1)) == 0;
}
#endif

#endif
"""

# V: the vector of LANES doubles; I: the one of integers, as intrinsics have it; L and U: as C++ calculates with it.
START = r"""
    typedef long long L __attribute__((vector_size(8 * LANES)));
    typedef unsigned long long U __attribute__((vector_size(8 * LANES)));
    const V zero = {}, magic = zero + 0x1.8p52;  // a number below 2^51 and this: the integer in the low bits
    const L bits = (L)x & 0x7fffffffffffffffLL, sign = (L)x ^ bits;
"""
# The logarithm of |x| is v + rest.
LOG = r"""
    // m c = 1 + r + r_low
    const L near = bits + (1LL << ROUND), at = (L)((U)near >> SHIFT) & MASK;
    const L exponent = (L)((U)near >> 52) - 1023 + ((at >= HALVED) & 1);
    const V m = (V)(bits - (exponent << 52)), k = (V)(exponent + (L)magic) - magic;
    const V c = lazynp_entries(lazynp_inverses, (I)at);
    const V product = m * c, over = lazynp_fma(m, c, -product), r1 = product - 1.0;
    const V r = r1 + over, r_low = (r1 - r) + over;
    // k log(2) - log(c)
    const V a = k * LAZYNP_LOG2_HIGH, b = lazynp_entries(lazynp_logs, (I)at), t = a + b;
    const V t_low = ((a - t) + b) + lazynp_fma(k, zero + LAZYNP_LOG2_LOW, lazynp_entries(lazynp_logs_low, (I)at));
    const V h = r * -0.5, q = h * r, q_low = lazynp_fma(h, r, -q);
    const V u = t + r, u_low = (t - u) + r, v = u + q, v_low = (u - v) + q;
    V s = lazynp_fma(r, zero + 1.0 / 13, zero - 1.0 / 12);
    s = lazynp_fma(s, r, zero + 1.0 / 11);
    s = lazynp_fma(s, r, zero - 1.0 / 10);
    s = lazynp_fma(s, r, zero + 1.0 / 9);
    s = lazynp_fma(s, r, zero - 1.0 / 8);
    s = lazynp_fma(s, r, zero + 1.0 / 7);
    s = lazynp_fma(s, r, zero - 1.0 / 6);
    s = lazynp_fma(s, r, zero + 1.0 / 5);
    s = lazynp_fma(s, r, zero - 1.0 / 4);
    s = lazynp_fma(s, r, zero + 1.0 / 3);
    const V rest = t_low + u_low + v_low + q_low + lazynp_fma(-r, r_low, r_low) + (r * r) * (r * s);
"""
# The exponential of e + e_low is scale + scale * more.
EXP = r"""
    const V shifted = lazynp_fma(e, zero + LAZYNP_STEPS_IN_ONE, magic), n = shifted - magic;
    const L whole = (L)shifted;
    const V w = lazynp_fma(-n, zero + LAZYNP_STEP_HIGH, e) + lazynp_fma(-n, zero + LAZYNP_STEP_LOW, e_low);
    const I j = (I)(whole & MASK);
    const V scale = (V)((L)lazynp_entries(lazynp_roots, j) + ((whole >> BITS) << 52));
    V f = lazynp_fma(w, zero + 1.0 / 5040, zero + 1.0 / 720);
    f = lazynp_fma(f, w, zero + 1.0 / 120);
    f = lazynp_fma(f, w, zero + 1.0 / 24);
    f = lazynp_fma(f, w, zero + 1.0 / 6);
    f = lazynp_fma(f, w, zero + 0.5);
    const V more = lazynp_entries(lazynp_roots_low, j) + lazynp_fma(w * w, f, w);
"""
# The sine of |x| and `quarter` steps more, with the sign `signs`.
SINE = r"""
    const V size = (V)bits, shifted = lazynp_fma(size, zero + LAZYNP_ARCS_IN_ONE, magic), n = shifted - magic;
    const V a1 = lazynp_fma(-n, zero + LAZYNP_ARC_HIGH, size), a2 = lazynp_fma(-n, zero + LAZYNP_ARC_MIDDLE, a1);
    const V a2_low = lazynp_fma(-n, zero + LAZYNP_ARC_MIDDLE, a1 - a2);
    const V b = lazynp_fma(-n, zero + LAZYNP_ARC_LOW, a2);
    const V b_low = lazynp_fma(-n, zero + LAZYNP_ARC_LOW, a2 - b) + a2_low;
    // sin(b) = b + odd, cos(b) = 1 + even
    const V z = b * b;
    V odd = lazynp_fma(z, zero - 1.0 / 39916800, zero + 1.0 / 362880);
    odd = lazynp_fma(odd, z, zero - 1.0 / 5040);
    odd = lazynp_fma(odd, z, zero + 1.0 / 120);
    odd = lazynp_fma(odd, z, zero - 1.0 / 6);
    odd = lazynp_fma(odd * z, b, b_low);
    V even = lazynp_fma(z, zero - 1.0 / 3628800, zero + 1.0 / 40320);
    even = lazynp_fma(even, z, zero - 1.0 / 720);
    even = lazynp_fma(even, z, zero + 1.0 / 24);
    even = lazynp_fma(even, z, zero - 0.5);
    even = lazynp_fma(even, z, -b * b_low);
    const L whole = (L)shifted + quarter, other = whole + HALF;
    const I i = (I)(whole & MASK), j = (I)(other & MASK);
    const L turned = (whole << TOP) & (-1LL << 63), turned_too = (other << TOP) & (-1LL << 63);
    const V s = (V)((L)lazynp_entries(lazynp_sines, i) ^ turned);
    const V s_low = (V)((L)lazynp_entries(lazynp_sines_low, i) ^ turned);
    const V c = (V)((L)lazynp_entries(lazynp_sines, j) ^ turned_too);
    const V c_low = (V)((L)lazynp_entries(lazynp_sines_low, j) ^ turned_too);
    const V sum = lazynp_fma(c, b, s), lost = lazynp_fma(c, b, s - sum);
    const V rest = lazynp_fma(c, odd, lazynp_fma(s, even, lazynp_fma(c_low, b, s_low))) + lost;
    V out = (V)((L)(sum + rest) ^ signs);
    const L good = (L)(bits < (L)(zero + 1e5));
"""
# What the texts call by these words follows from the size of the tables.
SIZES = {
    "BITS": BITS,
    "MASK": STEPS - 1,
    "HALF": STEPS // 2,
    "HALVED": HALVED,
    "SHIFT": 52 - BITS,
    "ROUND": 51 - BITS,
    "TOP": 63 - BITS,
}
FORMULAS = {
    "exp": r"""
    const V e = x, e_low = zero;
    EXP
    V out = lazynp_fma(scale, more, scale);
    const L naught = (L)(x < -746.0), endless = (L)(x > 710.0), none = (L)(x != x);
    const L good = naught | endless | none | (L)(bits < (L)(zero + 708.0));
    out = (V)(((L)out & ~(naught | endless | none)) | (endless & (L)(zero + INFINITY)) | (none & (L)x));
""",
    "pow": r"""
    LOG
    const V log = v + rest, log_low = (v - log) + rest;
    const V e = y * log, e_low = lazynp_fma(y, log, -e) + y * log_low;
    EXP
    V out = lazynp_fma(scale, more, scale);
    // signs and zeros
    const V nearest = y + magic;
    const L y_bits = (L)y & 0x7fffffffffffffffLL;
    const L integer = (L)(nearest - magic == y) & (L)(y_bits < (L)(zero + 0x1p51));
    const L naught = (L)(bits == 0) & (L)(y > 0.0);
    const L usual = (L)(bits > 0xfffffffffffffLL) & (L)(bits < 0x7ff0000000000000LL)
        & (L)(((L)e & 0x7fffffffffffffffLL) < (L)(zero + 708.0));
    const L good = naught | (usual & (integer | (L)(sign == 0)));
    out = (V)(((L)out & ~naught) | (sign & integer & ((L)nearest << 63)));
""",
    "sin": r"""
    const L quarter = {}, signs = sign;
    SINE
""",
    "cos": r"""
    const L quarter = (L){} + HALF, signs = {};
    SINE
""",
}


def high(x: Decimal, digits: int) -> float:
    """x cut off after so many binary digits: its product with a number of few digits is exact."""
    (bits,) = struct.unpack("q", struct.pack("d", float(x)))
    (out,) = struct.unpack("d", struct.pack("q", bits >> 53 - digits << 53 - digits))
    return float(out)


def sine(x: Decimal) -> Decimal:
    """By Taylor's series, for x below 4."""
    out = term = x
    for n in range(1, 40):
        term *= -x * x / (2 * n * (2 * n + 1))
        out += term
    return out


def pi() -> Decimal:
    """Where the sine is zero, by Newton's method: each step has three times as many digits."""
    out = Decimal("3.14159265358979")
    for _ in range(3):
        out += sine(out)
    return out


def two_parts(values: list[Decimal]) -> tuple[list[float], list[float]]:
    """The numbers, rounded, and what that left."""
    rounded = [float(v) for v in values]
    return rounded, [float(v - Decimal(r)) for v, r in zip(values, rounded)]


def table(name: str, values: list[float]) -> str:
    return f"alignas(64) static const double lazynp_{name}[{len(values)}] = {{{', '.join(map(float.hex, values))}}};\n"


@functools.cache
def tables() -> str:
    """What `function` stands on: numbers, tables, and intrinsics by one name for both widths."""
    with localcontext(Context(prec=60)):
        inverses = [round((2 if i >= HALVED else 1) / (1 + i / STEPS) * 512) / 512 for i in range(STEPS)]
        logs, logs_low = two_parts([-Decimal(c).ln() for c in inverses])
        powers = [Decimal(2) ** (Decimal(i) / STEPS) for i in range(STEPS)]
        roots, roots_low = two_parts(powers)
        arc = pi() / STEPS
        sines, sines_low = two_parts([sine(i * arc) for i in range(STEPS)])
        one = Decimal(2).ln()
        step = one / STEPS
        first = high(arc, 33)
        second = high(arc - Decimal(first), 33)
        numbers: dict[str, Decimal | float] = {
            "LOG2_HIGH": high(one, 41),
            "LOG2_LOW": one - Decimal(high(one, 41)),
            "STEPS_IN_ONE": 1 / step,
            "STEP_HIGH": high(step, 33),
            "STEP_LOW": step - Decimal(high(step, 33)),
            "ARCS_IN_ONE": 1 / arc,
            "ARC_HIGH": first,
            "ARC_MIDDLE": second,
            "ARC_LOW": arc - Decimal(first) - Decimal(second),
        }
        relative = [float(low / float(power)) for low, power in zip(roots_low, powers)]
    columns = {
        "inverses": inverses,
        "logs": logs,
        "logs_low": logs_low,
        "roots": roots,
        "roots_low": relative,
        "sines": sines,
        "sines_low": sines_low,
    }
    defined = [f"#define LAZYNP_{name} {float(number).hex()}\n" for name, number in numbers.items()]
    return "".join([*defined, *[table(name, values) for name, values in columns.items()]]) + INTRINSICS


def function(libm: str, own: str, vector: str, lanes: int, otherwise: str) -> str:
    """A definition of `own`, which is the C library's `libm`; `otherwise`: the one where there are no fused
    multiply-adds."""
    names = ("x", "y") if libm == "pow" else ("x",)
    copies = "".join([f"        double {n}s[LANES];\n        std::memcpy({n}s, &{n}, sizeof(V));\n" for n in names])
    formula = FORMULAS[libm].replace("    LOG\n", LOG).replace("    EXP\n", EXP).replace("    SINE\n", SINE)
    for word, number in SIZES.items():
        formula = re.sub(rf"\b{word}\b", str(number), formula)
    return (
        f'#ifdef __FMA__\nextern "C" inline {vector} {own}({", ".join([f"{vector} {n}" for n in names])}) {{\n'
        f"    typedef {vector} V;\n    typedef {vector[:-1]}i I;\n    enum {{ LANES = {lanes} }};"
        f"{START}{formula}"
        "    if (__builtin_expect(!lazynp_all((I)good), 0)) {\n"
        f"{copies}        double outs[LANES];\n        long long goods[LANES];\n"
        "        std::memcpy(outs, &out, sizeof(V));\n        std::memcpy(goods, &good, sizeof(V));\n"
        "        for (int i = 0; i < LANES; ++i)\n"
        f"            if (!goods[i]) outs[i] = std::{libm}({', '.join([n + 's[i]' for n in names])});\n"
        "        std::memcpy(&out, outs, sizeof(V));\n    }\n    return out;\n}\n"
        f"#else\n{otherwise}#endif\n"
    )
