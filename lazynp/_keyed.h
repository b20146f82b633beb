/* Threefry and XLA's elementary functions in C, for the keyed samplers: the same bits as `backends/numpy/threefry.py` and
 * `backends/numpy/xla.py`, which do without this module where it was not built. Loops are plain, for the compiler to
 * vectorize; a fused multiply-add stands wherever XLA's code has one, and nowhere else (-ffp-contract=off). Of the C
 * library only what has one right answer is called (fma, floor, sqrt): the bits are the same on every machine.
 * There is no Python here, so that tests can compile it for other processors.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_clones.h"

/* Threefry-2x32, 20 rounds. */

#define ROUND(r) x0 += x1; x1 = (x1 << r | x1 >> (32 - r)) ^ x0;
#define FOUR(a, b, c, d) ROUND(a) ROUND(b) ROUND(c) ROUND(d)
#define HASH(k0, k1, x0, x1)                                          \
    {                                                                 \
        uint32_t k2 = (k0) ^ (k1) ^ 0x1BD11BDAu;                      \
        x0 += (k0); x1 += (k1);                                       \
        FOUR(13, 15, 26, 6) x0 += (k1); x1 += k2 + 1;                 \
        FOUR(17, 29, 16, 24) x0 += k2; x1 += (k0) + 2;                \
        FOUR(13, 15, 26, 6) x0 += (k0); x1 += (k1) + 3;               \
        FOUR(17, 29, 16, 24) x0 += (k1); x1 += k2 + 4;                \
        FOUR(13, 15, 26, 6) x0 += k2; x1 += (k0) + 5;                 \
    }

/* Words first, first + 1, ... under one key; `low` may not wrap within a call. */
#define FILL(T, WORD)                                                                                        \
    CLONES static void fill_##T(uint32_t k0, uint32_t k1, uint32_t high, uint32_t low, T *out, ptrdiff_t n) \
    {                                                                                                        \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                 \
            uint32_t x0 = high, x1 = low + (uint32_t)i;                                                      \
            HASH(k0, k1, x0, x1)                                                                             \
            out[i] = (T)(WORD);                                                                              \
        }                                                                                                    \
    }
FILL(uint8_t, x0 ^ x1)
FILL(uint16_t, x0 ^ x1)
FILL(uint32_t, x0 ^ x1)
FILL(uint64_t, (uint64_t)x0 << 32 | x1)

static void fill(uint32_t k0, uint32_t k1, uint64_t first, ptrdiff_t n, int width, char *out)
{
    while (n > 0) {
        uint32_t low = (uint32_t)first;
        ptrdiff_t left = (ptrdiff_t)((UINT64_C(1) << 32) - low), part = n < left ? n : left;
        switch (width) {
        case 8: fill_uint8_t(k0, k1, (uint32_t)(first >> 32), low, (uint8_t *)out, part); break;
        case 16: fill_uint16_t(k0, k1, (uint32_t)(first >> 32), low, (uint16_t *)out, part); break;
        case 32: fill_uint32_t(k0, k1, (uint32_t)(first >> 32), low, (uint32_t *)out, part); break;
        default: fill_uint64_t(k0, k1, (uint32_t)(first >> 32), low, (uint64_t *)out, part);
        }
        out += part * (width / 8), first += (uint64_t)part, n -= part;
    }
}

CLONES static void hash_one_key(uint32_t k0, uint32_t k1, uint32_t *a, uint32_t *b, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        uint32_t x0 = a[i], x1 = b[i];
        HASH(k0, k1, x0, x1)
        a[i] = x0, b[i] = x1;
    }
}

CLONES static void hash_keys(const uint32_t *k, const uint32_t *l, uint32_t *a, uint32_t *b, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        uint32_t k0 = k[i], k1 = l[i], x0 = a[i], x1 = b[i];
        HASH(k0, k1, x0, x1)
        a[i] = x0, b[i] = x1;
    }
}

/* Elementary functions in float. See xla.py for the formulas and where they are from. */

INLINE float bits_float(uint32_t i) { float x; memcpy(&x, &i, 4); return x; }
INLINE uint32_t float_bits(float x) { uint32_t i; memcpy(&i, &x, 4); return i; }

INLINE float log_f(float x)
{
    uint32_t i = float_bits(x);
    int32_t e = (int32_t)(i >> 23) - 126;
    float m = bits_float((i & 0x7FFFFF) | 0x3F000000);
    int low = m < 0.707106781186547524f;
    m = (low ? m + m : m) - 1.0f;
    float n = (float)(e - low), m2 = m * m, m3 = m2 * m;
    float y = fmaf(fmaf(7.0376836292e-2f, m, -1.1514610310e-1f), m, 1.1676998740e-1f);
    float y1 = fmaf(fmaf(-1.2420140846e-1f, m, 1.4249322787e-1f), m, -1.6668057665e-1f);
    float y2 = fmaf(fmaf(2.0000714765e-1f, m, -2.4999993993e-1f), m, 3.3333331174e-1f);
    y = fmaf(fmaf(y, m3, y1), m3, y2);
    y = fmaf(y, m3, n * -2.12194440e-4f);
    y = (fmaf(m2, -0.5f, m) + y) + n * 0.693359375f;
    y = x == INFINITY ? INFINITY : y;
    y = x < 1.17549435e-38f ? -INFINITY : y;
    return x >= 0.0f ? y : x <= -0.0f || x != x ? NAN : y;
}

INLINE float log1p_f(float x)
{
    float p = 4.5270000862445199635215e-5f, q = 1.0f, x2 = x * x;
    p = fmaf(p, x, 4.9854102823193375972212e-1f), q = fmaf(q, x, 1.5062909083469192043167e1f);
    p = fmaf(p, x, 6.5787325942061044846969e0f), q = fmaf(q, x, 8.3047565967967209469434e1f);
    p = fmaf(p, x, 2.9911919328553073277375e1f), q = fmaf(q, x, 2.2176239823732856465394e2f);
    p = fmaf(p, x, 6.0949667980987787057556e1f), q = fmaf(q, x, 3.0909872225312059774938e2f);
    p = fmaf(p, x, 5.7112963590585538103336e1f), q = fmaf(q, x, 2.1642788614495947685003e2f);
    p = fmaf(p, x, 2.0039553499201281259648e1f), q = fmaf(q, x, 6.0118660497603843919306e1f);
    float small = x + fmaf(x2, -0.5f, (x * x2) * (p / q)), large = log_f(x + 1.0f);
    return fabsf(x) < 0.41421356237309504880f ? small : large;
}

INLINE float exp_f(float x)
{
    float c = x < -87.8f ? -87.8f : x > 88.8f ? 88.8f : x;
    float n = floorf(fmaf(c, 1.44269504088896341f, 0.5f));
    float r = fmaf(n, 2.12194440e-4f, fmaf(n, -0.693359375f, c));
    float y = fmaf(1.9875691500e-4f, r, 1.3981999507e-3f);
    y = fmaf(y, r, 8.3334519073e-3f), y = fmaf(y, r, 4.1665795894e-2f);
    y = fmaf(y, r, 1.6666665459e-1f), y = fmaf(y, r, 5.0000001201e-1f);
    y = fmaf(y, r * r, r) + 1.0f;
    int32_t whole = (int32_t)n, half = whole >> 1;
    y = y * bits_float((uint32_t)(half + 127) << 23) * bits_float((uint32_t)(whole - half + 127) << 23);
    return x > 88.8f ? INFINITY : x < -87.8f ? 0.0f : y;
}

INLINE float erf_inv_f(float x)
{
    float w = -log1p_f(-x * x);
    int near = w < 5.0f;
    w = near ? w - 2.5f : sqrtf(w) - 3.0f;
    float y = near ? 2.81022636e-08f : -0.000200214257f;
    y = fmaf(y, w, near ? 3.43273939e-07f : 0.000100950558f);
    y = fmaf(y, w, near ? -3.5233877e-06f : 0.00134934322f);
    y = fmaf(y, w, near ? -4.39150654e-06f : -0.00367342844f);
    y = fmaf(y, w, near ? 0.00021858087f : 0.00573950773f);
    y = fmaf(y, w, near ? -0.00125372503f : -0.0076224613f);
    y = fmaf(y, w, near ? -0.00417768164f : 0.00943887047f);
    y = fmaf(y, w, near ? 0.246640727f : 1.00167406f);
    y = fmaf(y, w, near ? 1.50140941f : 2.83297682f);
    y = y * x;
    return fabsf(x) == 1.0f ? x * INFINITY : y;
}

/* Rounded once: see xla.py. */
INLINE float rsqrt_f(float x) { return (float)(1.0 / sqrt((double)x)); }

/* The same in double. */

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
typedef struct { double high, low; } Two; /* the sum of both */

/* Series, highest power first: see xla.py. */
static const double ATANH[] = {2.0 / 29, 2.0 / 27, 2.0 / 25, 2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17,
                               2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5};
static const double EXP_SERIES[] = {
    1 / 20922789888000.0, 1 / 1307674368000.0, 1 / 87178291200.0, 1 / 6227020800.0, 1 / 479001600.0, 1 / 39916800.0,
    1 / 3628800.0, 1 / 362880.0, 1 / 40320.0, 1 / 5040.0, 1 / 720.0, 1 / 120.0, 1 / 24.0, 1 / 6.0, 1 / 2.0};
static const double SIN[] = {-1 / 121645100408832000.0, 1 / 355687428096000.0, -1 / 1307674368000.0, 1 / 6227020800.0,
                             -1 / 39916800.0, 1 / 362880.0, -1 / 5040.0, 1 / 120.0, -1 / 6.0};
static const double COS[] = {-1 / 6402373705728000.0, 1 / 20922789888000.0, -1 / 87178291200.0, 1 / 479001600.0,
                             -1 / 3628800.0, 1 / 40320.0, -1 / 720.0, 1 / 24.0};
static const double LN2 = 0x1.62e42fefa3800p-1, LN2_REST = 0x1.ef35793c76730p-45;

INLINE double polynomial(double x, const double *c, int n)
{
    double y = x * c[0] + c[1];
    for (int i = 2; i < n; i++) y = y * x + c[i];
    return y;
}

INLINE double power_of_2(int32_t n)
{
    uint64_t i = (uint64_t)(n + 1023) << 52;
    double x;
    memcpy(&x, &i, 8);
    return x;
}

/* x 2^n for x from 1/2 to 2, rounded once: for n from -2000 to 2000. */
INLINE double scaled(double x, int32_t n) { return x * power_of_2(n >> 1) * power_of_2(n - (n >> 1)); }

/* Of a positive, finite x. */
INLINE Two log_two(double x)
{
    const double thirds = 2.0 / 3, thirds_low = 0x1.5555555555555p-55;
    int tiny = x < 0x1p-1022;
    double m = tiny ? x * 0x1p54 : x;
    uint64_t i;
    memcpy(&i, &m, 8);
    int32_t e = (int32_t)(i >> 52) - (tiny ? 1022 + 54 : 1022);
    i = (i & UINT64_C(0xFFFFFFFFFFFFF)) | UINT64_C(0x3FE0000000000000);
    memcpy(&m, &i, 8);
    int below = m < 0.707106781186547524;
    m = below ? m + m : m;
    double n = (double)(e - below), f = m - 1.0, d = m + 1.0, s = f / d;
    double s_low = fma(-s, m - (d - 1.0), fma(-s, d, f)) / d;
    double z = s * s, z_low = fma(s, s, -z) + 2.0 * s * s_low;
    double rest = z * polynomial(z, ATANH, COUNT(ATANH)), p = thirds + rest, p_low = (thirds - p) + rest + thirds_low;
    double t = s * z, t_low = fma(s, z, -t) + (s * z_low + s_low * z);
    double u = t * p, u_low = fma(t, p, -u) + (t * p_low + t_low * p);
    double v = 2.0 * s + u, v_low = (2.0 * s - v) + u + (2.0 * s_low + u_low);
    double whole = n * LN2, high = whole + v;
    return (Two){high, (whole - high) + v + (v_low + n * LN2_REST)};
}

INLINE double log_d(double x)
{
    Two y = log_two(x > 0.0 && x < INFINITY ? x : 1.0);
    double found = x == 0.0 ? -INFINITY : x == INFINITY ? INFINITY : y.high + y.low;
    return x >= 0.0 ? found : NAN;
}

/* x to the y for x >= 0. */
INLINE double power_d(double x, double y)
{
    int inside = x > 0.0 && x < INFINITY;
    Two l = log_two(inside ? x : 1.0);
    double high = inside ? l.high : x == 0.0 ? -INFINITY : x == INFINITY ? INFINITY : NAN, t = y * high;
    int small = fabs(t) < 750.0;
    double own = small ? t : 0.0, y_own = small ? y : 0.0;
    high = small ? high : 0.0;
    double own_low = fma(y_own, high, -own) + y_own * (small ? l.low : 0.0);
    double n = floor(own * 0x1.71547652b82fep+0 + 0.5), near = fma(n, -LN2, own), rest = own_low - n * LN2_REST;
    double r = near + rest, r_low = (near - r) + rest;
    double w = 1.0 + r, w_low = (1.0 - w) + r + (r_low * w + r * r * polynomial(r, EXP_SERIES, COUNT(EXP_SERIES)));
    double found = scaled(w + w_low, (int32_t)n);
    found = small ? found : t > 0.0 ? INFINITY : t < 0.0 ? 0.0 : NAN;
    return y == 0.0 || x == 1.0 ? 1.0 : found;
}

INLINE double tan_d(double x)
{
    const double half_pi = 0x1.921fb54442d18p+0, half_pi_rest = 0x1.1a62633145c07p-54;
    double n = floor(x * 0x1.45f306dc9c883p-1 + 0.5), whole = n * half_pi;
    double near = x - whole, below = fma(n, half_pi, -whole) + n * half_pi_rest, r = near - below;
    double r_low = (near - r) - below, z = r * r;
    double rest = r_low + r * z * polynomial(z, SIN, COUNT(SIN)), s = r + rest, s_low = (r - s) + rest;
    double half = z * 0.5, most = 1.0 - half;
    double more = (1.0 - most) - half - (0.5 * fma(r, r, -z) + r * r_low) + z * z * polynomial(z, COS, COUNT(COS));
    double c = most + more, c_low = (most - c) + more;
    int turned = n - 2.0 * floor(n * 0.5) != 0.0;
    double a = turned ? -c : s, a_low = turned ? -c_low : s_low, b = turned ? s : c, b_low = turned ? s_low : c_low;
    double q = a / b;
    return x == 0.0 ? x : q + (fma(-q, b, a) + (a_low - q * b_low)) / b;
}

INLINE float tan_f(float x) { return (float)tan_d(x); }

INLINE double horner_d(double x, const double *c, int n)
{
    double y = c[0];
    for (int i = 1; i < n; i++) y = fma(y, x, c[i]);
    return y;
}

static const double LOG1P_TOP[] = {
    4.5270000862445199635215e-5, 4.9854102823193375972212e-1, 6.5787325942061044846969e0, 2.9911919328553073277375e1,
    6.0949667980987787057556e1, 5.7112963590585538103336e1, 2.0039553499201281259648e1};
static const double LOG1P_BOTTOM[] = {
    1.0, 1.5062909083469192043167e1, 8.3047565967967209469434e1, 2.2176239823732856465394e2,
    3.0909872225312059774938e2, 2.1642788614495947685003e2, 6.0118660497603843919306e1};
static const double EXP_TOP[] = {1.26177193074810590878e-4, 3.02994407707441961300e-2, 9.99999999999999999910e-1};
static const double EXP_BOTTOM[] = {
    3.00198505138664455042e-6, 2.52448340349684104192e-3, 2.27265548208155028766e-1, 2.00000000000000000009e0};
static const double ERF_INV_NEAR[] = {
    -3.6444120640178196996e-21, -1.685059138182016589e-19, 1.2858480715256400167e-18, 1.115787767802518096e-17,
    -1.333171662854620906e-16, 2.0972767875968561637e-17, 6.6376381343583238325e-15, -4.0545662729752068639e-14,
    -8.1519341976054721522e-14, 2.6335093153082322977e-12, -1.2975133253453532498e-11, -5.4154120542946279317e-11,
    1.051212273321532285e-09, -4.1126339803469836976e-09, -2.9070369957882005086e-08, 4.2347877827932403518e-07,
    -1.3654692000834678645e-06, -1.3882523362786468719e-05, 0.0001867342080340571352, -0.00074070253416626697512,
    -0.0060336708714301490533, 0.24015818242558961693, 1.6536545626831027356};
static const double ERF_INV_MIDDLE[] = {
    2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07, 1.8239629214389227755e-08,
    1.5027403968909827627e-06, -4.013867526981545969e-06, 2.9234449089955446044e-06, 1.2475304481671778723e-05,
    -4.7318229009055733981e-05, 6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
    0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066, -0.0037512085075692412107,
    0.005370914553590063617, 1.0052589676941592334, 3.0838856104922207635};
static const double ERF_INV_FAR[] = {
    -2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09, -3.7894654401267369937e-09,
    7.6157012080783393804e-09, -1.4960026627149240478e-08, 2.9147953450901080826e-08, -6.7711997758452339498e-08,
    2.2900482228026654717e-07, -9.9298272942317002539e-07, 4.5260625972231537039e-06, -1.9681778105531670567e-05,
    7.5995277030017761139e-05, -0.00021503011930044477347, -0.00013871931833623122026, 1.0103004648645343977,
    4.8499064014085844221};

INLINE double log1p_d(double x)
{
    if (!(fabs(x) < 0.41421356237309504880)) return log_d(x + 1.0);
    double x2 = x * x, y = horner_d(x, LOG1P_TOP, 7) / horner_d(x, LOG1P_BOTTOM, 7);
    return x + fma(x2, -0.5, y * (x * x2));
}

INLINE double exp_d(double x)
{
    if (x != x) return x;
    x = x < -746.0 ? -746.0 : x > 710.0 ? 710.0 : x;
    double n = floor(fma(x, 1.44269504088896341, 0.5));
    double r = fma(n, -1.42860682030941723212e-6, fma(n, -0.693145751953125, x)), r2 = r * r;
    double top = r * horner_d(r2, EXP_TOP, 3);
    return scaled(fma(top / (horner_d(r2, EXP_BOTTOM, 4) - top), 2.0, 1.0), (int32_t)n);
}

static const double ERF_TOP[] = {
    9.60497373987051638749e0, 9.00260197203842689217e1, 2.23200534594684319226e3, 7.00332514112805075473e3,
    5.55923013010394962768e4};
static const double ERF_BOTTOM[] = {
    1.0, 3.35617141647503099647e1, 5.21357949780152679795e2, 4.59432382970980127987e3, 2.26290000613890934246e4,
    4.92673942608635921086e4};
static const double ERFC_TOP[] = {
    2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687e0, 4.86371970985681366614e1,
    1.96520832956077098242e2, 5.26445194995477358631e2, 9.34528527171957607540e2, 1.02755188689515710272e3,
    5.57535335369399327526e2};
static const double ERFC_BOTTOM[] = {
    1.0, 1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2, 9.75708501743205489753e2,
    1.82390916687909736289e3, 2.24633760818710981792e3, 1.65666309194161350182e3, 5.57535340817727675546e2};

INLINE double erf_d(double x)
{
    double size = fabs(x) < 6.0 ? fabs(x) : x == x ? 6.0 : x, square = size * size;
    if (size <= 1.0) return copysign(size * horner_d(square, ERF_TOP, 5) / horner_d(square, ERF_BOTTOM, 6), x);
    return copysign(1.0 - exp_d(-square) * horner_d(size, ERFC_TOP, 9) / horner_d(size, ERFC_BOTTOM, 9), x);
}

INLINE float erf_f(float x)
{
    const float one = 3.832506856900711f;
    x = x < -one ? -one : x > one ? one : x;
    float x2 = x * x, p = fmaf(2.2905065861350646e-4f, x2, 3.4082910107109506e-3f), q;
    p = fmaf(p, x2, 5.0955695062380861e-2f), p = fmaf(p, x2, 1.8520832239976145e-1f), p = fmaf(p, x2, 1.128379143519084f);
    q = fmaf(-1.1791602954361697e-7f, x2, 2.3547966471313185e-5f), q = fmaf(q, x2, 1.0179625278914885e-3f);
    q = fmaf(q, x2, 1.4070470171167667e-2f), q = fmaf(q, x2, 1.1098505178285362e-1f);
    q = fmaf(q, x2, 4.9746925110067538e-1f), q = fmaf(q, x2, 1.0f);
    return x * p / q;
}

INLINE double erf_inv_d(double x)
{
    if (fabs(x) == 1.0) return x * INFINITY;
    double w = -log1p_d(-x * x);
    if (w < 6.25) return horner_d(w - 3.125, ERF_INV_NEAR, 23) * x;
    if (w < 16.0) return horner_d(sqrt(w) - 3.25, ERF_INV_MIDDLE, 19) * x;
    return horner_d(sqrt(w) - 5.0, ERF_INV_FAR, 17) * x;
}

/* From words to floats in [0, 1): the high bits as mantissa; and to normal numbers over the square root of 2. */

INLINE float unit_f(uint32_t w) { return bits_float(w >> 9 | 0x3F800000) - 1.0f; }

INLINE double unit_d(uint64_t w)
{
    uint64_t i = w >> 12 | UINT64_C(0x3FF0000000000000);
    double x;
    memcpy(&x, &i, 8);
    return x - 1.0;
}

INLINE float normal_f(uint32_t w)
{
    const float low = -0x1.fffffep-1f;
    float u = fmaf(unit_f(w), 2.0f, low);
    return erf_inv_f(u < low ? low : u);
}

INLINE double normal_d(uint64_t w)
{
    const double low = -0x1.fffffffffffffp-1;
    double u = fma(unit_d(w), 2.0, low);
    return erf_inv_d(u < low ? low : u);
}

INLINE float exponential_f(uint32_t w) { return -log1p_f(-unit_f(w)); }
INLINE double exponential_d(uint64_t w) { return -log1p_d(-unit_d(w)); }

INLINE float gumbel_f(uint32_t w)
{
    float u = unit_f(w);
    return -log_f(-log_f(u < 1.17549435e-38f ? 1.17549435e-38f : u));
}

INLINE double gumbel_d(uint64_t w)
{
    double u = unit_d(w);
    return -log_d(-log_d(u < 2.2250738585072014e-308 ? 2.2250738585072014e-308 : u));
}

INLINE double rsqrt_d(double x) { return 1.0 / sqrt(x); }

#define LOOP(NAME, FROM, T, F)                                             \
    CLONES static void NAME(const void *in, void *to, ptrdiff_t n)     \
    {                                                                   \
        const FROM *x = in;                                             \
        T *out = to;                                                    \
        for (ptrdiff_t i = 0; i < n; i++) out[i] = F(x[i]);            \
    }
LOOP(logs_f, float, float, log_f)
LOOP(log1ps_f, float, float, log1p_f)
LOOP(exps_f, float, float, exp_f)
LOOP(erf_invs_f, float, float, erf_inv_f)
LOOP(logs_d, double, double, log_d)
LOOP(log1ps_d, double, double, log1p_d)
LOOP(exps_d, double, double, exp_d)
LOOP(erf_invs_d, double, double, erf_inv_d)
LOOP(tans_f, float, float, tan_f)
LOOP(tans_d, double, double, tan_d)
LOOP(units_f, uint32_t, float, unit_f)
LOOP(units_d, uint64_t, double, unit_d)
LOOP(normals_f, uint32_t, float, normal_f)
LOOP(normals_d, uint64_t, double, normal_d)
LOOP(exponentials_f, uint32_t, float, exponential_f)
LOOP(exponentials_d, uint64_t, double, exponential_d)
LOOP(gumbels_f, uint32_t, float, gumbel_f)
LOOP(gumbels_d, uint64_t, double, gumbel_d)
LOOP(rsqrts_f, float, float, rsqrt_f)
LOOP(rsqrts_d, double, double, rsqrt_d)
LOOP(erfs_f, float, float, erf_f)
LOOP(erfs_d, double, double, erf_d)

#define POWERS(NAME, T)                                                                     \
    CLONES static void NAME(const T *x, const T *y, T *out, ptrdiff_t n)                   \
    {                                                                                       \
        for (ptrdiff_t i = 0; i < n; i++) out[i] = (T)power_d((double)x[i], (double)y[i]); \
    }
POWERS(powers_f, float)
POWERS(powers_d, double)

typedef void (*Loop)(const void *, void *, ptrdiff_t);
static const struct {
    Loop f, d;
} loops[] = { /* in the order of xla.LOOPS */
    {logs_f, logs_d}, {log1ps_f, log1ps_d}, {exps_f, exps_d}, {erf_invs_f, erf_invs_d}, {tans_f, tans_d},
    {units_f, units_d}, {normals_f, normals_d}, {exponentials_f, exponentials_d}, {gumbels_f, gumbels_d},
    {rsqrts_f, rsqrts_d}, {erfs_f, erfs_d}};
#define LOOPS ((int)(sizeof loops / sizeof *loops))
