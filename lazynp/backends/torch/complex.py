"""Complex arithmetic on pairs of real tensors, operation by operation as NumPy's loops do it.

NumPy multiplies with fused multiply-adds where the CPU has them: re = fma(ar, br, -(ai * bi)), im = fma(ar, bi, ai *
br); division is Smith's method. `fma` is an operator of our own: see `trace` for its place in Inductor.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from lazynp.backends.torch.namespace import COMPLEX, TABLE, Pair, Value, power_int, ufunc


@torch.library.custom_op("lazynp::fma", mutates_args=())
def fma(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """x * y + z, rounded once in compiled code (in eager mode: as the device's addcmul rounds)."""
    return torch.addcmul(z, x, y)


@fma.register_fake
def _(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    return torch.empty_like(x * y + z)


FMA = {"wanted": True}  # whether NumPy uses fused multiply-adds on this machine


def _fma(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    return torch.ops.lazynp.fma(x, y, z) if FMA["wanted"] else x * y + z


@ufunc("add", table=COMPLEX)
def add(d: str, a: Pair, b: Pair) -> Pair:
    return Pair(a.re + b.re, a.im + b.im)


@ufunc("subtract", table=COMPLEX)
def subtract(d: str, a: Pair, b: Pair) -> Pair:
    return Pair(a.re - b.re, a.im - b.im)


@ufunc("multiply", table=COMPLEX)
def multiply(d: str, a: Pair, b: Pair) -> Pair:
    return Pair(_fma(a.re, b.re, -(a.im * b.im)), _fma(a.re, b.im, a.im * b.re))


@ufunc("square", table=COMPLEX)
def square(d: str, a: Pair) -> Pair:
    return multiply(d, a, a)


@ufunc("divide", "true_divide", table=COMPLEX)
def divide(d: str, a: Pair, b: Pair) -> Pair:
    """Smith's method; a zero divisor gives a.re / |b.re|, a.im / |b.re|, as in NumPy."""
    wide = torch.abs(b.re) >= torch.abs(b.im)
    zero = (b.re == 0) & (b.im == 0)
    big, small = torch.where(wide, b.re, b.im), torch.where(wide, b.im, b.re)
    ratio = small / big
    scale = torch.ones_like(ratio) / (big + small * ratio)
    re = torch.where(wide, a.re + a.im * ratio, a.re * ratio + a.im) * scale
    im = torch.where(wide, a.im - a.re * ratio, a.im * ratio - a.re) * scale
    size = torch.abs(b.re)
    return Pair(torch.where(zero, a.re / size, re), torch.where(zero, a.im / size, im))


@ufunc("reciprocal", table=COMPLEX)
def reciprocal(d: str, a: Pair) -> Pair:
    wide = torch.abs(a.im) <= torch.abs(a.re)
    big, small = torch.where(wide, a.re, a.im), torch.where(wide, a.im, a.re)
    ratio = small / big
    size = big + small * ratio
    one = torch.ones_like(ratio)
    return Pair(torch.where(wide, one, ratio) / size, torch.where(wide, -ratio, -one) / size)


@ufunc("negative", table=COMPLEX)
def negative(d: str, a: Pair) -> Pair:
    return Pair(-a.re, -a.im)


@ufunc("positive", table=COMPLEX)
def positive(d: str, a: Pair) -> Pair:
    return a


@ufunc("conjugate", table=COMPLEX)
def conjugate(d: str, a: Pair) -> Pair:
    return Pair(a.re, -a.im)


@ufunc("absolute", table=COMPLEX)
def absolute(d: str, a: Pair) -> Tensor:
    return torch.hypot(a.re, a.im)


@ufunc("real", table=COMPLEX)
def real(d: str, a: Pair) -> Tensor:
    return a.re


@ufunc("imag", table=COMPLEX)
def imag(d: str, a: Pair) -> Tensor:
    return a.im


@ufunc("equal", table=COMPLEX)
def equal(d: str, a: Pair, b: Pair) -> Tensor:
    return (a.re == b.re) & (a.im == b.im)


@ufunc("not_equal", table=COMPLEX)
def not_equal(d: str, a: Pair, b: Pair) -> Tensor:
    return (a.re != b.re) | (a.im != b.im)


@ufunc("isnan", table=COMPLEX)
def isnan(d: str, a: Pair) -> Tensor:
    return (a.re != a.re) | (a.im != a.im)


@ufunc("isinf", table=COMPLEX)
def isinf(d: str, a: Pair) -> Tensor:
    return (torch.abs(a.re) == math.inf) | (torch.abs(a.im) == math.inf)


@ufunc("isfinite", table=COMPLEX)
def isfinite(d: str, a: Pair) -> Tensor:
    return (torch.abs(a.re) < math.inf) & (torch.abs(a.im) < math.inf)


for _name in ("logical_and", "logical_or", "logical_xor", "logical_not"):
    COMPLEX[_name] = TABLE[_name]


def power(d: str, a: Value, exponent: int) -> Value:
    if isinstance(a, Pair):
        return multiply(d, a, a) if exponent == 2 else a
    return power_int(d, a, exponent)


__all__ = ["FMA", "fma", "power"]
