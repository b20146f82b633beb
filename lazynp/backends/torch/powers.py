"""Powers of float64 in vectors, more accurate than libmvec's and NumPy's, and as fast.

libmvec's `pow` errs by up to one last place, NumPy's by two thirds, glibc's by a little over one half. This one errs by
at most 0.55 of one: log(x) is known to some 64 binary digits, as a sum of two numbers, and the exponential of
y log(x) is taken of both. It is table-driven, after P. T. P. Tang, "Table-driven implementation of the logarithm
function in IEEE floating-point arithmetic", ACM Transactions on Mathematical Software 16 (1990), and the same author's
paper on the exponential, 15 (1989). x = 2^k m; c of a table is nearly 1/m, so that m c = 1 + r with |r| < 0.033 and
log(x) = k log(2) - log(c) + log(1 + r); the exponential's argument is the nearest multiple of log(2) / 16 and a rest.
The tables are as small as they are so that AVX-512 has them in registers: gathering from memory took half of the time.

Lanes that it is not for are the C library's: subnormal, infinite and undefined operands, results that overflow or come
near to underflowing, negative numbers to a power that is no integer.
"""

from __future__ import annotations

import functools
import struct
from decimal import Context, Decimal, localcontext

STEPS = 16  # entries of each table: two AVX-512 registers
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
BODY = r"""
    typedef long long L __attribute__((vector_size(8 * LANES)));
    typedef unsigned long long U __attribute__((vector_size(8 * LANES)));
    const V zero = {}, magic = zero + 0x1.8p52;  // a number below 2^51 and this: the integer in the low bits
    const L bits = (L)x & 0x7fffffffffffffffLL, sign = (L)x ^ bits;
    // m c = 1 + r + r_low
    const L near = bits + (1LL << 47), at = (L)((U)near >> 48) & 15;
    const L exponent = (L)((U)near >> 52) - 1023 + ((at >= LAZYNP_HALVED) & 1);
    const V m = (V)(bits - (exponent << 52)), k = (V)(exponent + (L)magic) - magic;
    const V c = lazynp_entries(lazynp_inverses, (I)at);
    const V product = m * c, over = lazynp_fma(m, c, -product), r1 = product - 1.0;
    const V r = r1 + over, r_low = (r1 - r) + over;
    // k log(2) - log(c)
    const V a = k * LAZYNP_LOG2_HIGH, b = lazynp_entries(lazynp_logs, (I)at), t = a + b;
    const V t_low = ((a - t) + b) + lazynp_fma(k, zero + LAZYNP_LOG2_LOW, lazynp_entries(lazynp_logs_low, (I)at));
    // + r - r^2 / 2 + r^3 (1/3 - r/4 + ...)
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
    const V log = v + rest, log_low = (v - log) + rest;
    // e^(y log) = 2^(whole / 128) e^w
    const V e = y * log, e_low = lazynp_fma(y, log, -e) + y * log_low;
    const V shifted = lazynp_fma(e, zero + LAZYNP_STEPS_IN_ONE, magic), n = shifted - magic;
    const L whole = (L)shifted;
    const V w = lazynp_fma(-n, zero + LAZYNP_STEP_HIGH, e) + lazynp_fma(-n, zero + LAZYNP_STEP_LOW, e_low);
    const I j = (I)(whole & 15);
    const V scale = (V)((L)lazynp_entries(lazynp_roots, j) + ((whole >> 4) << 52));
    V f = lazynp_fma(w, zero + 1.0 / 5040, zero + 1.0 / 720);
    f = lazynp_fma(f, w, zero + 1.0 / 120);
    f = lazynp_fma(f, w, zero + 1.0 / 24);
    f = lazynp_fma(f, w, zero + 1.0 / 6);
    f = lazynp_fma(f, w, zero + 0.5);
    const V more = lazynp_entries(lazynp_roots_low, j) + lazynp_fma(w * w, f, w);
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
    if (__builtin_expect(!lazynp_all((I)good), 0)) {
        double xs[LANES], ys[LANES], outs[LANES];
        long long goods[LANES];
        std::memcpy(xs, &x, sizeof(V));
        std::memcpy(ys, &y, sizeof(V));
        std::memcpy(outs, &out, sizeof(V));
        std::memcpy(goods, &good, sizeof(V));
        for (int i = 0; i < LANES; ++i)
            if (!goods[i]) outs[i] = std::pow(xs[i], ys[i]);
        std::memcpy(&out, outs, sizeof(V));
    }
    return out;
"""


def high(x: Decimal, digits: int) -> float:
    """x cut off after so many binary digits: its product with a number of few digits is exact."""
    (bits,) = struct.unpack("q", struct.pack("d", float(x)))
    (out,) = struct.unpack("d", struct.pack("q", bits >> 53 - digits << 53 - digits))
    return float(out)


def table(name: str, values: list[float]) -> str:
    return f"alignas(64) static const double {name}[{len(values)}] = {{{', '.join(map(float.hex, values))}}};\n"


@functools.cache
def powers() -> str:
    """What `function` stands on: numbers, tables, and intrinsics by one name for both widths."""
    with localcontext(Context(prec=60)):
        inverses, logs, logs_low, roots, roots_low = [], [], [], [], []
        for i in range(STEPS):
            c = round((2 if i >= HALVED else 1) / (1 + i / STEPS) * 512) / 512
            log = -Decimal(c).ln()
            root = Decimal(2) ** (Decimal(i) / STEPS)
            inverses.append(c)
            logs.append(float(log))
            logs_low.append(float(log - Decimal(float(log))))
            roots.append(float(root))
            roots_low.append(float((root - Decimal(float(root))) / root))
        one = Decimal(2).ln()
        step = one / STEPS
        numbers = {
            "HALVED": str(HALVED),
            "LOG2_HIGH": high(one, 41).hex(),
            "LOG2_LOW": float(one - Decimal(high(one, 41))).hex(),
            "STEPS_IN_ONE": float(1 / step).hex(),
            "STEP_HIGH": high(step, 33).hex(),
            "STEP_LOW": float(step - Decimal(high(step, 33))).hex(),
        }
    defined = "".join([f"#define LAZYNP_{name} {number}\n" for name, number in numbers.items()])
    columns = {
        "inverses": inverses,
        "logs": logs,
        "logs_low": logs_low,
        "roots": roots,
        "roots_low": roots_low,
    }
    return defined + "".join([table(f"lazynp_{name}", values) for name, values in columns.items()]) + INTRINSICS


def function(own: str, vector: str, lanes: int, otherwise: str) -> str:
    """A definition of `own`; `otherwise`: the one where there are no fused multiply-adds."""
    types = f"typedef {vector} V;\n    typedef {vector[:-1]}i I;\n    enum {{ LANES = {lanes} }};"
    return (
        f'#ifdef __FMA__\nextern "C" inline {vector} {own}({vector} x, {vector} y) {{\n'
        f"    {types}{BODY}}}\n#else\n{otherwise}#endif\n"
    )
