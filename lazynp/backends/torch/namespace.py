"""NumPy's ufuncs on torch tensors, with NumPy's exact semantics: for each op that is compiled its function, by name.

What has none here is torch's own function of floats, by the name that C has for it (`Op.code.libm`).

The same bodies serve FX tracing (fake tensors, see `trace`) and the eager interpreter on any device (see `eager`).

How values of a dtype are represented ("carried"):

- bool, int8..int64, uint8, float32, float64 (eager also float16 and bfloat16): a tensor of that dtype;
- uint16 in int32, always reduced to the type's range; uint32 and uint64 in int32 and int64, the same bits;
- complex: a `Pair` of real tensors, since Inductor has no complex code.

Each function takes the name of the loop's dtype, then the carried arguments, and returns the carried result. Only the
results of arithmetic on uint16 have to be reduced, which `apply` does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from lazynp.backends.support import KIND, WIDTH, split_complex
from lazynp.backends.torch.fused import FMA


class Pair(NamedTuple):
    """A complex value: real and imaginary part."""

    re: Tensor
    im: Tensor


Value: TypeAlias = "Tensor | Pair"
Function = Callable[..., Value]

CARRIER = {
    "bool": torch.bool,
    "int8": torch.int8,
    "int16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64,
    "uint8": torch.uint8,
    "uint16": torch.int32,
    "uint32": torch.int32,
    "uint64": torch.int64,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
    "float64": torch.float64,
}
# What an operand in memory is read as: torch has no arithmetic on wide unsigned types.
STORAGE = CARRIER | {
    "uint16": torch.int16,
    "complex64": torch.float32,
    "complex128": torch.float64,
}
TOP = -(1 << 63)  # flips the order of int64 into that of uint64
TOPS = {"uint32": -(1 << 31), "uint64": TOP}


def reduced(x: Tensor, dtype: str) -> Tensor:
    """Bring a uint16 that was computed in a wider signed type back into its range."""
    return x & 0xFFFF if dtype == "uint16" else x


def load(x: Tensor, dtype: str) -> Tensor:
    """The carried value of an operand read with `STORAGE`'s dtype."""
    return reduced(x.to(CARRIER[dtype]), dtype) if dtype == "uint16" else x


def store(x: Tensor, dtype: str) -> Tensor:
    return x.to(STORAGE[dtype]) if dtype == "uint16" else x


def number(x: Tensor, dtype: str) -> Tensor:
    """A value in a type that has the number which it stands for: of uint32 int64."""
    return x.to(torch.int64) & 0xFFFFFFFF if dtype == "uint32" else x


def cast(x: Value, source: str, target: str) -> Value:
    """astype(casting="unsafe"), as C does it on x86-64."""
    if source == target:
        return x
    if KIND[target] == "c":
        part = split_complex(target)
        if isinstance(x, Pair):
            return Pair(cast(x.re, split_complex(source), part), cast(x.im, split_complex(source), part))
        re = cast(x, source, part)
        return Pair(re, torch.zeros_like(re))
    if isinstance(x, Pair):
        if target == "bool":
            return (x.re != 0) | (x.im != 0)
        return cast(x.re, split_complex(source), target)
    if target == "bool":
        return x != 0
    from_, to = KIND[source], KIND[target]
    if to not in "iu" or WIDTH[target] > 32:
        x = number(x, source)
    if from_ == "f" and to in "iu":
        if WIDTH[target] < 32:  # C converts to int, then cuts off
            return cast(truncated(x, torch.int32), "int32", target)
        if target == "uint32":
            return truncated(x, torch.int64).to(torch.int32)
        return truncated(x, CARRIER[target])
    if to in "iu":
        return narrow(x, target)
    return x.to(CARRIER[target])


def truncated(x: Tensor, dtype: torch.dtype) -> Tensor:
    """A float as an integer; x86-64 makes the least one of what is not in its range, and GPUs do not."""
    out = x.to(dtype)
    if x.device.type == "cpu":
        return out
    least = torch.iinfo(dtype).min
    return torch.where((x >= float(least)) & (x < -float(least)), out, least)


def narrow(x: Tensor, target: str) -> Tensor:
    """Integer to integer: the low bits."""
    return reduced(x.to(CARRIER[target]), target)


# Arithmetic --------------------------------------------------------------------------------------------------------


def add(d: str, a: Tensor, b: Tensor) -> Tensor:
    return a | b if d == "bool" else a + b


def subtract(d: str, a: Tensor, b: Tensor) -> Tensor:
    return a - b


def multiply(d: str, a: Tensor, b: Tensor) -> Tensor:
    return a & b if d == "bool" else a * b


def divide(d: str, a: Tensor, b: Tensor) -> Tensor:
    return a / b


def _quotient(d: str, a: Tensor, b: Tensor, mode: str) -> tuple[Tensor, Tensor]:
    """Integer quotient (0 for a zero divisor; wraps for MIN // -1) and the divisor that was used.

    By floating-point division, which is made in vectors, unlike that of integers. Of numbers of at most 32 bits it is
    exact once it is rounded: no quotient is nearer to a whole number than one over the dividend.
    """
    width = WIDTH[d]
    wide_a, wide_b = number(a, d), number(b, d)
    safe = torch.where(wide_b == 0, 1, wide_b)
    if width > 32:
        quotient = _long_quotient(wide_a, safe, mode)
    else:
        real = torch.float32 if width < 32 else torch.float64
        if b.ndim == 0:
            rounded = _by_one(wide_a.to(real), wide_b.to(real), mode)
        else:
            ratio = wide_a.to(real) / safe.to(real)
            rounded = torch.floor(ratio) if mode == "floor" else torch.trunc(ratio)
        quotient = rounded.to(torch.int64 if d == "uint32" else torch.int32).to(CARRIER[d])
        if KIND[d] == "i":
            quotient = torch.where(b == -1, -a, quotient)
        if b.ndim == 0:
            return quotient, safe.to(CARRIER[d])
    return torch.where(wide_b == 0, 0, quotient), safe.to(CARRIER[d])


def _by_one(a: Tensor, b: Tensor, mode: str) -> Tensor:
    """Of whole numbers as floats that have twice as many digits, by one divisor for all, with its reciprocal, since a
    multiplication takes a tenth of a division. A half more, the dividend is half a divisor's part away from where the
    quotient changes, and roundings are far less. By zero: zero."""
    inverse = torch.where(b == 0, 0, 1 / b)
    if mode == "floor":
        return torch.floor((a + torch.where(b < 0, -0.5, 0.5).to(a.dtype)) * inverse)
    return torch.trunc((a + torch.where(a < 0, -0.5, 0.5).to(a.dtype)) * inverse)


def _long_quotient(a: Tensor, b: Tensor, mode: str) -> Tensor:
    """Quotient of int64, in two steps: what the first one leaves is some 2**12 plus the divisor at most, of which the
    second one's quotient is off by one at most. Multiplications wrap around, and so do errors of the first step. One
    divisor for all: see `_by_one`."""
    divisor = b.to(torch.float64)
    ratio = (lambda x: x * (1 / divisor)) if b.ndim == 0 else (lambda x: x / divisor)
    quotient = ratio(a.to(torch.float64)).to(torch.int64)
    rest = a - quotient * b
    step = torch.floor(ratio(rest.to(torch.float64))).to(torch.int64)
    quotient, rest = quotient + step, rest - step * b
    signed = torch.where(b < 0, -rest, rest)  # the rest has the divisor's sign, and is nearer to zero
    quotient, rest = torch.where(signed < 0, quotient - 1, quotient), torch.where(signed < 0, rest + b, rest)
    signed = torch.where(b < 0, -rest, rest)
    quotient = torch.where(signed > torch.abs(b) - 1, quotient + 1, quotient)
    if mode == "floor":
        return quotient
    return torch.where((a != quotient * b) & ((a < 0) != (b < 0)), quotient + 1, quotient)


def _float_divmod(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """npy_divmod."""
    mod = torch.fmod(a, b)
    div = (a - mod) / b
    differ = torch.where(b < 0, -mod, mod) < 0
    div = torch.where(differ, div - 1.0, div)
    whole = torch.floor(div)
    whole = torch.where(div - whole > 0.5, whole + 1.0, whole)
    whole = torch.where(div != 0, whole, torch.copysign(torch.zeros_like(a), a / b))
    rest = torch.where(mod != 0, torch.where(differ, mod + b, mod), torch.copysign(torch.zeros_like(b), b))
    return torch.where(b == 0, a / b, whole), torch.where(b == 0, mod, rest)


def floor_divide(d: str, a: Tensor, b: Tensor) -> Tensor:
    return _float_divmod(a, b)[0] if KIND[d] == "f" else _quotient(d, a, b, "floor")[0]


def remainder(d: str, a: Tensor, b: Tensor) -> Tensor:
    if KIND[d] == "f":
        return _float_divmod(a, b)[1]
    quotient, safe = _quotient(d, a, b, "floor")
    return torch.where(b == 0, 0, a - quotient * safe)


def fmod(d: str, a: Tensor, b: Tensor) -> Tensor:
    if KIND[d] == "f":
        return torch.fmod(a, b)
    quotient, safe = _quotient(d, a, b, "trunc")
    return torch.where(b == 0, 0, a - quotient * safe)


def negative(d: str, a: Tensor) -> Tensor:
    return -a


def positive(d: str, a: Tensor) -> Tensor:
    return a


conjugate = positive


def absolute(d: str, a: Tensor) -> Tensor:
    return a if KIND[d] in "bu" else torch.abs(a)


fabs = absolute


def sign(d: str, a: Tensor) -> Tensor:
    one = torch.ones_like(a)
    if KIND[d] == "u":
        return torch.where(a != 0, one, 0)
    out = torch.where(a > 0, one, torch.where(a < 0, -one, torch.zeros_like(a)))
    return torch.where((a != a), a, out) if KIND[d] == "f" else out


def square(d: str, a: Tensor) -> Tensor:
    return a * a


def reciprocal(d: str, a: Tensor) -> Tensor:
    if KIND[d] == "f":
        return torch.ones_like(a) / a
    out = torch.where(a == 1, torch.ones_like(a), torch.zeros_like(a))
    if KIND[d] == "i":
        out = torch.where(a == -1, -torch.ones_like(a), out)
    if d in ("int32", "int64"):  # C's conversion of 1.0 / 0 on x86-64
        out = torch.where(a == 0, torch.iinfo(a.dtype).min, out)
    return out


def power_of(a: Tensor, exponent: float) -> Tensor:
    """A float to one of `EXPONENTS`, as C's pow has it at zeros and infinities; at most three roundings away."""
    if exponent % 1:
        root = torch.sqrt(torch.where(a == -torch.inf, torch.inf, a) + 0.0)
        whole, a = root if exponent > 0 else 1 / root, torch.abs(a)
        return whole if abs(exponent) < 1 else whole * (a if exponent > 0 else 1 / a)
    if exponent < 0:
        a = torch.ones_like(a) / a
    n = int(abs(exponent))
    return a if n == 1 else a * a if n == 2 else product(a, n)


def product(a: Tensor, n: int) -> Tensor:
    """The third or fourth power. Where NumPy's bits are wanted, it is rounded once: in float64, or with what the
    products lost."""
    if a.dtype == torch.float32 and FMA["wanted"]:
        return product(a.to(torch.float64), n).to(torch.float32)
    square = a * a
    other = square if n == 4 else a
    found = square * other
    if not FMA["wanted"]:
        return found
    fma = torch.ops.lazynp.fma
    lost = fma(a, a, -square) * (2 * square if n == 4 else a) + fma(square, other, -found)
    numbers = (found - found == 0) & (found != 0)  # a zero has a sign
    return torch.where(numbers, found + lost, found)


# Order -------------------------------------------------------------------------------------------------------------


def _ordered(d: str, a: Tensor) -> Tensor:
    return a ^ TOPS[d] if d in TOPS else a


def _comparison(function: Function) -> Function:
    return lambda d, a, b: function(_ordered(d, a), _ordered(d, b))


less, less_equal = _comparison(torch.lt), _comparison(torch.le)
greater, greater_equal = _comparison(torch.gt), _comparison(torch.ge)


def equal(d: str, a: Tensor, b: Tensor) -> Tensor:
    return torch.eq(a, b)


def not_equal(d: str, a: Tensor, b: Tensor) -> Tensor:
    return torch.ne(a, b)


def compare_signs(name: str, loop: tuple[str, ...], a: Tensor, b: Tensor) -> Tensor:
    """int64 with uint64, as numbers: a negative one is less than all of the other's."""
    first = loop[0] == "int64"
    known = {"equal": False, "not_equal": True, "less": first, "less_equal": first}.get(name, not first)
    return torch.where((a if first else b) < 0, known, globals()[name]("uint64", a, b))


def maximum(d: str, a: Tensor, b: Tensor) -> Tensor:
    if d == "bool":
        return a | b
    return torch.where(greater_equal(d, a, b), a, b) if d in TOPS else torch.maximum(a, b)


def minimum(d: str, a: Tensor, b: Tensor) -> Tensor:
    if d == "bool":
        return a & b
    return torch.where(less_equal(d, a, b), a, b) if d in TOPS else torch.minimum(a, b)


def fmax(d: str, a: Tensor, b: Tensor) -> Tensor:
    if KIND[d] != "f":
        return maximum(d, a, b)
    return torch.where((a >= b) | (b != b), a, b)


def fmin(d: str, a: Tensor, b: Tensor) -> Tensor:
    if KIND[d] != "f":
        return minimum(d, a, b)
    return torch.where((a <= b) | (b != b), a, b)


def clip(d: str, a: Tensor, low: Tensor, high: Tensor) -> Tensor:
    return minimum(d, maximum(d, a, low), high)


def where(condition: Tensor, a: Value, b: Value) -> Value:
    if isinstance(a, Pair):
        return Pair(torch.where(condition, a.re, b.re), torch.where(condition, a.im, b.im))
    return torch.where(condition, a, b)


# Bits and logic ----------------------------------------------------------------------------------------------------


def bitwise_and(d: str, a: Tensor, b: Tensor) -> Tensor:
    return a & b


def bitwise_or(d: str, a: Tensor, b: Tensor) -> Tensor:
    return a | b


def bitwise_xor(d: str, a: Tensor, b: Tensor) -> Tensor:
    return a ^ b


def invert(d: str, a: Tensor) -> Tensor:
    return torch.logical_not(a) if d == "bool" else ~a


def left_shift(d: str, a: Tensor, b: Tensor) -> Tensor:
    """Counts outside of the width give zero: by a mask, which for a number as the count the compiler makes once."""
    inside = (b >= 0) & (b < WIDTH[d])
    return (a << torch.where(inside, b, 0)) & torch.where(inside, -1, 0).to(b.dtype)


def right_shift(d: str, a: Tensor, b: Tensor) -> Tensor:
    inside = (b >= 0) & (b < WIDTH[d])
    if KIND[d] == "i":  # a count of width - 1 leaves copies of the sign
        return a >> torch.where(inside, b, WIDTH[d] - 1).to(b.dtype)
    shift = torch.where(inside, b, 0)
    kept: Tensor | int = -1
    if d in TOPS:  # arithmetic shift, then the copies of the sign bit are masked away
        kept = torch.where(shift == 0, -1, (1 << torch.where(shift == 0, 1, WIDTH[d] - shift)) - 1)
    return (a >> shift) & torch.where(inside, kept, 0).to(b.dtype)


def bitwise_count(d: str, a: Tensor) -> Tensor:
    """Bits set in |a|, as uint8."""
    if d == "bool":
        return a.to(torch.uint8)
    x = number(a, d).to(torch.int64)
    if KIND[d] == "i":
        x = torch.abs(x)
    x = x - ((x >> 1) & 0x5555555555555555)
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F
    return ((x * 0x0101010101010101) >> 56).to(torch.uint8)


def truth(a: Value) -> Tensor:
    if isinstance(a, Pair):
        return (a.re != 0) | (a.im != 0)
    return a if a.dtype == torch.bool else a != 0


def logical_and(d: str, a: Value, b: Value) -> Tensor:
    return truth(a) & truth(b)


def logical_or(d: str, a: Value, b: Value) -> Tensor:
    return truth(a) | truth(b)


def logical_xor(d: str, a: Value, b: Value) -> Tensor:
    return truth(a) ^ truth(b)


def logical_not(d: str, a: Value) -> Tensor:
    return torch.logical_not(truth(a))


# Floats ------------------------------------------------------------------------------------------------------------


def _false(a: Tensor) -> Tensor:
    return torch.zeros_like(a, dtype=torch.bool)


def isnan(d: str, a: Tensor) -> Tensor:
    return a != a if KIND[d] == "f" else _false(a)


def isinf(d: str, a: Tensor) -> Tensor:
    return torch.abs(a) == math.inf if KIND[d] == "f" else _false(a)


def isfinite(d: str, a: Tensor) -> Tensor:
    return torch.abs(a) < math.inf if KIND[d] == "f" else torch.logical_not(_false(a))


def signbit(d: str, a: Tensor) -> Tensor:
    return torch.copysign(torch.ones_like(a), a) < 0  # Inductor has no vector code for torch.signbit


def rint(d: str, a: Tensor) -> Tensor:
    return torch.round(a)


def deg2rad(d: str, a: Tensor) -> Tensor:
    return a * _quotient_of(d, math.pi, 180.0)


radians = deg2rad


def rad2deg(d: str, a: Tensor) -> Tensor:
    return a * _quotient_of(d, 180.0, math.pi)


degrees = rad2deg


def _quotient_of(d: str, a: float, b: float) -> float:
    """A constant of NumPy's, rounded as there."""
    return float(np.float32(a) / np.float32(b)) if d == "float32" else a / b


def cbrt(d: str, a: Tensor) -> Tensor:
    """pow, then one step of Newton's method, which also repairs the rounding of 1/3. Subnormals are scaled."""
    wide = a.to(torch.float64)
    x = torch.abs(wide)
    tiny = x < 1e-280
    x = torch.where(tiny, x * 2.0**180, x)
    y = torch.pow(x, 1.0 / 3.0)
    y = y - (y * y * y - x) / (3.0 * y * y)
    y = torch.copysign(torch.where(tiny, y * 2.0**-60, y), wide)
    plain = (x == 0) | (x == math.inf) | (a != a)
    return torch.where(plain, a, y.to(a.dtype))


def _logaddexp(a: Tensor, b: Tensor, log1p: Function, exp: Function, offset: float) -> Tensor:
    """npy_logaddexp; `offset` is log(2) in the base."""
    gap = a - b
    far = torch.maximum(a, b) + log1p(exp(-torch.abs(gap)))
    return torch.where(a == b, a + offset, torch.where(gap != gap, gap, far))


def logaddexp(d: str, a: Tensor, b: Tensor) -> Tensor:
    return _logaddexp(a, b, torch.log1p, torch.exp, math.log(2.0))


def logaddexp2(d: str, a: Tensor, b: Tensor) -> Tensor:
    return _logaddexp(a, b, lambda x: torch.log1p(x) * math.log2(math.e), torch.exp2, 1.0)


def heaviside(d: str, a: Tensor, b: Tensor) -> Tensor:
    step = torch.where(a < 0, torch.zeros_like(a), torch.ones_like(a))
    return torch.where(a != a, a, torch.where(a == 0, b, step))


# Several results: params = (which,) ----------------------------------------------------------------------------------


def divmod(d: str, which: int, a: Tensor, b: Tensor) -> Tensor:
    return remainder(d, a, b) if which else floor_divide(d, a, b)


def modf(d: str, which: int, a: Tensor) -> Tensor:
    """Fractional part, integral part; both with the argument's sign."""
    whole = torch.trunc(a)
    if which:
        return whole
    rest = torch.where(torch.abs(a) == math.inf, torch.zeros_like(a), a - whole)
    return torch.copysign(rest, a)


# Reductions: axes are kept with length 1 -----------------------------------------------------------------------------


def reduce(name: str, d: str, a: Value, axes: Sequence[int]) -> Value:
    dims = list(axes)
    if name == "first":
        return _first(a, dims)
    if not dims:  # for torch no axis is all of them
        return truth(a) if name.startswith("logical") else a
    if isinstance(a, Pair):
        if name != "add":
            raise NotImplementedError(f"{name}.reduce of a complex value")
        return Pair(reduce(name, d, a.re, axes), reduce(name, d, a.im, axes))
    if name == "add":
        return torch.any(a, dims[0], keepdim=True) if d == "bool" and len(dims) == 1 else _sum(d, a, dims)
    if name == "multiply":
        for dim in sorted(dims, reverse=True):
            a = torch.prod(a, dim, keepdim=True, dtype=a.dtype)
        return a
    if name in ("maximum", "minimum"):
        extreme = torch.amax if name == "maximum" else torch.amin
        if d == "bool":
            return _all_any(a, dims, name == "minimum")
        return _ordered(d, extreme(_ordered(d, a), dims, keepdim=True))
    if name in ("logical_and", "logical_or"):
        return _all_any(truth(a), dims, name == "logical_and")
    raise NotImplementedError(f"{name}.reduce")


def _first(a: Value, dims: list[int]) -> Value:
    if isinstance(a, Pair):
        return Pair(_first(a.re, dims), _first(a.im, dims))
    for dim in dims:
        a = a.narrow(dim, 0, 1)
    return a


def _sum(d: str, a: Tensor, dims: list[int]) -> Tensor:
    if d == "bool":
        return _all_any(a, dims, False)
    return torch.sum(a, dims, keepdim=True, dtype=a.dtype)


def _all_any(a: Tensor, dims: list[int], everything: bool) -> Tensor:
    for dim in sorted(dims, reverse=True):
        a = torch.all(a, dim, keepdim=True) if everything else torch.any(a, dim, keepdim=True)
    return a
