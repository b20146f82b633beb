"""round, nan_to_num, angle: elementwise functions with parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...graph.node import Node
from ...ops import elementwise as e
from ...ops import transcendental as t
from ...ops.elementwise import convert, is_complex, where
from ...ops.shape import zeros_of
from ..array import as_node, check_arraylike
from ..at_once import apply
from ..dtypes import FLOAT32, KIND_OF, finfo, float_dtype
from .axes import no_out, static_int
from .call import named, widened
from .elementwise import kept, rint, scalar

arctan2_node = widened(t.arctan2)


def rounder(name: str) -> Any:
    def call(a: Any, decimals: int = 0, out: Any = None) -> Any:
        no_out(name, out)
        check_arraylike(name, a)
        x, places = as_node(a), static_int(decimals, "It stands for `decimals`.")
        kind = KIND_OF[x.dtype]
        if kind in "iu":
            if places < 0:
                raise NotImplementedError("integer np.round not implemented for decimals < 0")
            return apply(lambda x: x, x)
        if kind == "b":
            raise ValueError("data type <class 'numpy.bool'> not inexact")
        return apply(lambda x: rounded(x, places), x)

    return named(call, name)


def rounded(x: Node, places: int) -> Node:
    """Half to even, at that many decimals; all of them, where a dtype has no such power of ten. float16 is rounded in
    single precision. JAX's compiler divides by the power of ten as it multiplies by its reciprocal, which is seen in
    the last digit that is printed: 0.99 of float32 becomes 0.99000007."""
    dtype = x.dtype
    if places > math.log10(float(finfo(dtype).max)):
        return x
    if is_complex(x):
        return kept(e.make_complex(rounded(e.real(x), places), rounded(e.imag(x), places)), x)
    if dtype == np.float16:
        return convert(rounded(convert(x, FLOAT32), places), dtype)
    if places == 0:
        return rint(x)
    factor = np.asarray(10.0**places, dtype)
    reciprocal = np.asarray(1, dtype) / factor
    whole = rint(e.multiply(x, scalar(factor, x)))
    if dtype.itemsize < 4:
        return kept(e.divide(whole, scalar(factor, x)), x)
    return kept(e.multiply(whole, scalar(reciprocal, x)), x)


round_, around = rounder("round"), rounder("around")


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Numbers for NaN and the infinities: by default 0 and the limits of the dtype."""
    check_arraylike("nan_to_num", x)
    node = as_node(x)
    if KIND_OF[node.dtype] not in "fc":
        return apply(lambda x: x, node)

    def impl(x: Node) -> Node:
        if is_complex(x):
            return e.make_complex(impl(e.real(x)), impl(e.imag(x)))
        wide = convert(x, FLOAT32) if x.dtype.kind == "V" else x
        info = finfo(x.dtype)
        high = info.max if posinf is None else posinf
        low = info.min if neginf is None else neginf
        out = where(e.isnan(wide), scalar(nan, wide), wide)
        out = where(e.equal(wide, scalar(np.inf, wide)), scalar(high, wide), out)
        return convert(where(e.equal(wide, scalar(-np.inf, wide)), scalar(low, wide), out), x.dtype)

    return apply(impl, node)


def angle(z: Any, deg: bool = False) -> Any:
    """The argument of complex numbers, in radians or degrees."""
    check_arraylike("angle", z)
    node = as_node(z)
    kind = KIND_OF[node.dtype]
    plain = kind in "biu" or kind == "f" and node.ndim == 0  # JAX's scalars become the default float

    def impl(z: Node) -> Node:
        re, im = (e.real(z), e.imag(z)) if is_complex(z) else (z, zeros_of(z))
        if plain:
            re, im = convert(re, float_dtype()), convert(im, float_dtype())
        out = arctan2_node(im, re)
        out = e.multiply(out, scalar(180 / np.pi, out)) if deg else out
        return out if plain else kept(out, z)

    return apply(impl, node)
