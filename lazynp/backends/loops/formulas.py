"""C++ of the operations in a period: NumPy's values bit for bit, and its floating-point errors.

Unlike the programs of `scalar`, these are compiled so that errors are told: an operation that says nothing in NumPy is
to set no flag here.
"""

from __future__ import annotations

import numpy as np

from ..support import KIND
from .scalar import ctype, expression

# No header is included: they take the compiler longer than all the rest.
TYPES = "\n".join(
    [f"typedef __{t.upper()}_TYPE__ {t}_t;" for t in (f"{u}int{w}" for u in ("", "u") for w in (8, 16, 32, 64))]
)
TYPES += "\ntypedef void (*Loop)(char**, const int64_t*, const int64_t*, void*);"
# Complex numbers are moved here; what is computed of them is for NumPy's loops.
TYPES += "\nstruct cfloat { float real, imag; };\nstruct cdouble { double real, imag; };"
# Of floats: functions that the compiler knows, of double and, with an f at the end, of float.
BUILTIN = {
    "absolute": "fabs",
    "fabs": "fabs",
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "rint": "nearbyint",
}
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
QUIET = {
    "less": "less({0}, {1})",
    "less_equal": "(less({0}, {1}) | ({0} == {1}))",
    "greater": "less({1}, {0})",
    "greater_equal": "(less({1}, {0}) | ({0} == {1}))",
    "clip": "clip({0}, {1}, {2})",
    "sign": "sign({0})",
    # As the processor has it: see `is_replayed` in `_direct.h`.
    "maximum": "pick(less({1}, {0}) | ({0} != {0}), {0}, {1})",
    "minimum": "pick(less({0}, {1}) | ({0} != {0}), {0}, {1})",
    "isfinite": "finite({0})",
}
WHOLE = {  # of integers
    "maximum": "({0} > {1} ? {0} : {1})",
    "minimum": "({0} < {1} ? {0} : {1})",
    "sign": "{T}(({0} > 0) - ({0} < 0))",
}
SHIFTS = frozenset({"left_shift", "right_shift"})


def formula(op: str, args: list[str], loop: str, dtype: str) -> str:
    """The C++ of an operation. Raises `Unsupported`."""
    kind = KIND.get(loop)
    if op == "where":
        return f"pick({', '.join(args)})" if kind == "f" else f"({args[0]} ? {args[1]} : {args[2]})"
    if kind in ("i", "u"):
        if op in WHOLE:
            return WHOLE[op].format(*args, T=ctype(loop))
        if op in SHIFTS:
            return shifted(op, args[0], args[1], loop)
        if op == "clip":
            x, low, high = args
            low = f"({x} < {low} ? {low} : {x})"
            return f"({low} > {high} ? {high} : {low})"
    if kind == "f":
        end = "f" if loop == "float32" else ""
        if op in QUIET:
            return QUIET[op].format(*args)
        if op in BUILTIN:
            return f"__builtin_{BUILTIN[op]}{end}({args[0]})"
        if op == "isinf":
            return f"(__builtin_fabs{end}({args[0]}) == __builtin_inf{end}())"
    if op == "absolute" and kind in ("i", "u"):
        return f"{ctype(loop)}({args[0]} < 0 ? -{args[0]} : {args[0]})"
    return expression(op, args, loop, dtype)


def shifted(op: str, x: str, by: str, loop: str) -> str:
    """NumPy's shifts, by any number: bits that come in are zeros, or those of the sign."""
    bits = np.dtype(loop).itemsize * 8
    t, u = ctype(loop), ctype(f"uint{bits}")
    if op == "right_shift":
        most = f"{u}({by}) < {bits - 1} ? {u}({by}) : {u}({bits - 1})"
        if KIND[loop] == "i":
            return f"{t}({x} >> ({most}))"
        return f"{t}({u}({x} >> ({u}({by}) & {bits - 1})) & {u}(-({u}({by}) < {bits})))"
    return f"{t}({u}({u}({x}) << ({u}({by}) & {bits - 1})) & {u}(-({u}({by}) < {bits})))"
