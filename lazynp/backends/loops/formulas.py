"""The beginning of a period's program: what its operations need to have NumPy's values bit for bit, and its errors.

Unlike the programs of `source`, these are compiled so that floating-point errors are told: an operation that says
nothing in NumPy is to set no flag here. That is the "quiet" C++ of `Op.code`.
"""

from __future__ import annotations

# No header is included: they take the compiler longer than all the rest.
TYPES = "\n".join(
    [f"typedef __{t.upper()}_TYPE__ {t}_t;" for t in (f"{u}int{w}" for u in ("", "u") for w in (8, 16, 32, 64))]
)
TYPES += "\ntypedef uint8_t held_t;"  # truth values: any byte but 0 is true in memory
TYPES += "\ntypedef void (*Loop)(char**, const int64_t*, const int64_t*, void*);"
# Complex numbers are moved here; what is computed of them is for NumPy's loops.
TYPES += "\nstruct cfloat { float real, imag; };\nstruct cdouble { double real, imag; };"
# NumPy's comparisons say nothing of NaN. C's operators do, and so do the vector instructions that compilers make of
# `isless` and its kin, and of choices between two operands: they are to see 0 in its place, which is put
# there by its bits, since a branch would be moved behind the comparison. Nor are choices between floats branches, of
# which loops are not vectorized: two nested ones took ten times as long.
TYPES += """
template<class T> struct Bits;
template<> struct Bits<double> { typedef int64_t type; };
template<> struct Bits<float> { typedef int32_t type; };
template<class T> static inline T zeroed(T x) {
typename Bits<T>::type bits;
__builtin_memcpy(&bits, &x, sizeof x);
bits &= -(typename Bits<T>::type)(x == x);
__builtin_memcpy(&x, &bits, sizeof x);
return x; }
template<class T> static inline T pick(bool first, T a, T b) {
typename Bits<T>::type x, y, mask = -(typename Bits<T>::type)first;
__builtin_memcpy(&x, &a, sizeof a);
__builtin_memcpy(&y, &b, sizeof b);
x = (x & mask) | (y & ~mask);
__builtin_memcpy(&a, &x, sizeof a);
return a; }
template<class T> static inline bool less(T a, T b) { return (zeroed(a) < zeroed(b)) & (a == a) & (b == b); }
template<class T> static inline bool finite(T x) {
const T y = zeroed(T(__builtin_fabs(x)));
return !((x != x) | (y == T(__builtin_inf()))); }
template<class T> static inline T clip(T x, T low, T high) {
const T z = zeroed(x), y = z < low ? low : z, r = y > high ? high : y;
return x == x ? r : x; }
template<class T> static inline T sign(T x) {
const T y = zeroed(x), p = y > 0 ? T(1) : T(0), m = y < 0 ? T(1) : T(0), r = p - m;
return x == x ? r : x; }"""
