"""Complex arithmetic on pairs of real tensors, operation by operation as NumPy's loops do it.

NumPy multiplies with fused multiply-adds where the CPU has them: re = fma(ar, br, -(ai * bi)), im = fma(ar, bi, ai *
br); division is Smith's method.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from lazynp.backends.torch.fused import FMA
from lazynp.backends.torch.namespace import Pair, logical_and, logical_not, logical_or, logical_xor


def _fma(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    return torch.ops.lazynp.fma(x, y, z) if FMA["wanted"] else x * y + z


def add(d: str, a: Pair, b: Pair) -> Pair:
    return Pair(a.re + b.re, a.im + b.im)


def subtract(d: str, a: Pair, b: Pair) -> Pair:
    return Pair(a.re - b.re, a.im - b.im)


def multiply(d: str, a: Pair, b: Pair) -> Pair:
    return Pair(_fma(a.re, b.re, -(a.im * b.im)), _fma(a.re, b.im, a.im * b.re))


def square(d: str, a: Pair) -> Pair:
    return multiply(d, a, a)


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


def reciprocal(d: str, a: Pair) -> Pair:
    wide = torch.abs(a.im) <= torch.abs(a.re)
    big, small = torch.where(wide, a.re, a.im), torch.where(wide, a.im, a.re)
    ratio = small / big
    size = big + small * ratio
    one = torch.ones_like(ratio)
    return Pair(torch.where(wide, one, ratio) / size, torch.where(wide, -ratio, -one) / size)


def negative(d: str, a: Pair) -> Pair:
    return Pair(-a.re, -a.im)


def positive(d: str, a: Pair) -> Pair:
    return a


def conjugate(d: str, a: Pair) -> Pair:
    return Pair(a.re, -a.im)


def absolute(d: str, a: Pair) -> Tensor:
    return torch.hypot(a.re, a.im)


def real(d: str, a: Pair) -> Tensor:
    return a.re


def imag(d: str, a: Pair) -> Tensor:
    return a.im


def equal(d: str, a: Pair, b: Pair) -> Tensor:
    return (a.re == b.re) & (a.im == b.im)


def not_equal(d: str, a: Pair, b: Pair) -> Tensor:
    return (a.re != b.re) | (a.im != b.im)


def isnan(d: str, a: Pair) -> Tensor:
    return (a.re != a.re) | (a.im != a.im)


def isinf(d: str, a: Pair) -> Tensor:
    return (torch.abs(a.re) == math.inf) | (torch.abs(a.im) == math.inf)


def isfinite(d: str, a: Pair) -> Tensor:
    return (torch.abs(a.re) < math.inf) & (torch.abs(a.im) < math.inf)


__all__ = ["logical_and", "logical_not", "logical_or", "logical_xor"]
