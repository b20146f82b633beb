"""Comparisons of whole arrays, questions about values, packed bits, text, files; and spellings of the past."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph.node import Node
from ...ops import elementwise as e
from ...ops.shape import zeros_of
from ..array import Array, as_node, check_arraylike, is_arraylike, typed
from ..at_once import apply
from ..dtypes import KIND_OF, canonical, inexact, requested, result_type
from ..explicit_indexing import explicit_split
from ..spreading import keeping
from . import at_once
from .axes import axis_of, static_int
from .call import IncompatibleShapesError
from .creation import asarray, astype, linspace
from .elementwise import isclose, kept, table
from .formulas import scalar
from .joining import concatenate
from .reductions import all as all_
from .select import where
from .shape import broadcast_to, moveaxis, ravel, reshape


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether all elements are close."""
    found = at_once.isclose(a, b, rtol, atol, equal_nan)
    if found is not None:
        return at_once.fresh(found.all())
    check_arraylike("allclose", a, b)
    return all_(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether shapes and all elements are equal."""
    try:
        a, b = asarray(a1), asarray(a2)
    except (TypeError, ValueError):
        return asarray(False)
    if a.shape != b.shape:
        return asarray(False)
    same = a == b
    if equal_nan and KIND_OF.get(result_type(a, b), "?") in "fc":
        same = same | (a != a) & (b != b)
    return all_(same)


def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether all elements are equal. Raises TypeError for shapes that do not broadcast."""
    try:
        a, b = asarray(a1), asarray(a2)
    except (TypeError, ValueError):
        return asarray(False)
    try:
        return all_(a == b)
    except IncompatibleShapesError:
        if a.ndim == b.ndim:
            raise
        return asarray(False)
    except ValueError:  # dtypes that do not promote
        return asarray(False)


def without_imaginary(x: Any, compare: Callable[[Node, Node], Node]) -> Any:
    """Its imaginary part compared with 0; weak if x is a weak scalar."""

    def impl(x: Node) -> Node:
        part = e.imag(x) if x.dtype.kind == "c" else zeros_of(x)
        out = compare(part, scalar(0, part))
        return out if x.ndim else kept(out, x)

    return apply(impl, as_node(x))


def iscomplex(x: Any) -> Any:
    """Which elements have an imaginary part."""
    check_arraylike("iscomplex", x)
    return without_imaginary(x, e.not_equal)


def isreal(x: Any) -> Any:
    """Which elements have no imaginary part."""
    check_arraylike("isreal", x)
    return without_imaginary(x, e.equal)


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex."""
    if x is None:
        return False
    return typed(x)[0].kind == "c" if is_arraylike(x) else np.iscomplexobj(x)


def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Whether it is a scalar: NumPy's, or an array of no axes."""
    return element.ndim == 0 if isinstance(element, (Array, np.ndarray)) else np.isscalar(element)


def iterable(y: Any) -> bool:
    """Whether it can be iterated over."""
    try:
        iter(y)
    except TypeError:
        return False
    return True


def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """num numbers from start to stop, evenly spaced on a log scale."""
    check_arraylike("geomspace", start, stop)
    compute = canonical(inexact(result_type(start, stop)))
    to = compute if dtype is None else requested(dtype, "geomspace")
    a, b = astype(start, compute), astype(stop, compute)
    sign = (
        where((a.real == 0) & (b.real == 0), 1j, 1).astype(compute)
        if compute.kind == "c"
        else where((table["sign"](a) < 0) & (table["sign"](b) < 0), -1, 1).astype(compute)
    )
    a, b = a / sign, b / sign
    log10 = table["log10"]
    exponents = linspace(log10(a), log10(b), num, endpoint=endpoint, dtype=compute)
    out = (10.0**exponents) * sign
    if static_int(num) > 0:
        out = out.at[0].set(broadcast_to(a * sign, out.shape[1:]))
        if endpoint and static_int(num) > 1:
            out = out.at[-1].set(broadcast_to(b * sign, out.shape[1:]))
    return astype(moveaxis(out, 0, axis) if axis else out, to)


# Bits.

BITS = np.arange(8, dtype=np.uint8)


def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Any:
    """Bits, eight to a byte. Raises TypeError for floats."""
    check_arraylike("packbits", a)
    x = asarray(a)
    if KIND_OF[x.dtype] not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    if bitorder not in ("little", "big"):
        raise ValueError("'order' must be either 'little' or 'big'")
    if axis is not None and any(split := explicit_split(x.node)) and not split[axis]:
        return keeping(x.node, "packbits", lambda: packed(x, axis, bitorder))
    return packed(x, axis, bitorder)


def packed(x: Array, axis: int | None, bitorder: str) -> Array:
    bits = astype(x != 0, np.uint8)
    if axis is None:
        bits, axis = ravel(bits), 0
    bits = moveaxis(bits, axis, -1)
    rest = -bits.shape[-1] % 8
    if rest:
        bits = concatenate([bits, broadcast_to(np.uint8(0), (*bits.shape[:-1], rest))], -1)
    bits = reshape(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8))
    order = BITS[::-1] if bitorder == "big" else BITS
    out = (bits << asarray(order)).sum(axis=-1).astype(np.uint8)
    return moveaxis(out, -1, axis)


def unpackbits(a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Any:
    """Each byte as eight bits. Raises TypeError for another dtype than uint8."""
    check_arraylike("unpackbits", a)
    x = asarray(a)
    if x.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    if bitorder not in ("little", "big"):
        raise ValueError("'order' must be either 'little' or 'big'")
    if axis is None:
        x, axis = ravel(x), 0
    at = axis_of(axis, x.ndim)
    x = moveaxis(x, at, -1)
    order = BITS[::-1] if bitorder == "big" else BITS
    bits = (x[..., None] >> asarray(order)) & np.uint8(1)
    bits = reshape(bits, (*x.shape[:-1], x.shape[-1] * 8))
    if count is not None:
        n = static_int(count)
        if n > bits.shape[-1]:
            more = broadcast_to(np.uint8(0), (*bits.shape[:-1], n - bits.shape[-1]))
            bits = concatenate([bits, more], -1)
        bits = bits[..., :n]
    return moveaxis(bits, -1, at)


# Text and files.


def array_repr(
    arr: Any, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """The text of an array: `Array([1, 2], dtype=int32)`."""
    if not isinstance(arr, Array):
        return np.array_repr(arr, max_line_width, precision, suppress_small)
    options: dict[str, Any] = {"linewidth": max_line_width, "precision": precision, "suppress": suppress_small}
    with np.printoptions(**{k: v for k, v in options.items() if v is not None}):
        return repr(arr)


def array_str(
    a: Any, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """The elements of an array as text."""
    return np.array_str(np.asarray(a), max_line_width, precision, suppress_small)


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """An array from a file of `save` or `numpy.save`."""
    out = np.load(file, *args, **kwargs)
    if isinstance(out, np.ndarray):
        if out.dtype.kind == "V" and out.dtype.itemsize == 2 and out.dtype.names is None:
            out = out.view(np.dtype("bfloat16"))
        return asarray(out)
    return out


def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    """Write an array to a file."""
    np.save(file, np.asarray(arr), allow_pickle=allow_pickle)


def savez(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write several arrays to a file."""
    np.savez(
        file, *[np.asarray(a) for a in args], allow_pickle=allow_pickle, **{k: np.asarray(v) for k, v in kwds.items()}
    )
