"""Shapes and dtypes of results, as NumPy has them. NumPy itself is asked for dtypes, once per combination."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.op import Op

Shape = tuple[int, ...]
PYTHON_SCALARS = {"b": bool, "i": int, "f": float, "c": complex}
EXTENSION_FLOATS = frozenset(
    {
        *("bfloat16", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3", "float8_e4m3fn"),
        *("float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    }
)
REAL_OF: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.clongdouble): np.dtype(np.longdouble),  # first: where it is as wide as double, it is equal to that
    np.dtype(np.complex64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.float64),
}
COMPLEX_OF: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.longdouble): np.dtype(np.clongdouble),
    np.dtype(np.float32): np.dtype(np.complex64),
    np.dtype(np.float64): np.dtype(np.complex128),
}


def broadcast(*shapes: Shape) -> Shape:
    """The common shape; NumPy's ValueError where there is none."""
    first = shapes[0]
    for s in shapes:
        if s != first:
            return broadcast_unequal(shapes)
    return first


def broadcast_symbolic(shapes: tuple[Shape, ...]) -> Shape:
    """The common shape of some whose sizes are not all numbers. Raises ValueError where there is none for sure."""
    out = []
    for i in range(max(map(len, shapes))):
        others = [s[-1 - i] for s in shapes if i < len(s) and s[-1 - i] != 1]
        if any([n != others[0] for n in others]):
            raise ValueError("no common shape")
        out.append(others[0] if others else 1)
    return tuple(reversed(out))


@functools.lru_cache(16384)
def broadcast_unequal(shapes: tuple[Shape, ...]) -> Shape:
    try:
        if any([hasattr(n, "symbolic") for s in shapes for n in s]):
            return broadcast_symbolic(shapes)
        return np.broadcast_shapes(*shapes)
    except ValueError:
        text = " ".join(f"({','.join(map(str, s))}{',' if len(s) == 1 else ''})" for s in shapes)
        raise ValueError(f"operands could not be broadcast together with shapes {text} ") from None


def resolution_key(aval: Aval) -> Any:
    """What resolve_dtypes takes for an operand: a Python scalar type where it is weak."""
    return PYTHON_SCALARS.get(aval.dtype.kind, float) if aval.weak else aval.dtype


def operand_keys(avals: Sequence[Aval]) -> tuple[Any, ...]:
    """What resolve_dtypes takes for the operands.

    Where all are weak, the dtypes that they have: of those of the highest kind the narrowest, so that a Python scalar
    (64 bits) yields to a weak array of 32.
    """
    if not all([a.weak for a in avals]):
        return tuple([resolution_key(a) for a in avals])
    ranks = ["biufc".find(a.dtype.kind) for a in avals]
    top = min([a.dtype for a, rank in zip(avals, ranks) if rank == max(ranks)], key=lambda d: d.itemsize)
    return tuple([top if rank == max(ranks) else a.dtype for a, rank in zip(avals, ranks)])


def loop_dtypes(ufunc: np.ufunc, operands: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """The dtypes of NumPy's inner loop for these operands, inputs then outputs. Raises NumPy's TypeError."""
    return resolved_dtypes(ufunc, *operands)


def loop_of(op: Op, avals: Sequence[Aval], out: np.dtype[Any]) -> tuple[np.dtype[Any], ...]:
    """The dtypes in which an elementwise op reads these operands, where its result has dtype `out`."""
    if op.ufunc is not None:
        return loop_dtypes(op.ufunc, operand_keys(avals))[: op.ufunc.nin]
    if op.loop is not None:
        return op.loop(out, *avals)
    return tuple([out if a.weak else a.dtype for a in avals])


@functools.lru_cache(16384, typed=True)  # C's long and long long are equal dtypes, of two types
def resolved_dtypes(ufunc: np.ufunc, *operands: Any) -> tuple[np.dtype[Any], ...]:
    return ufunc.resolve_dtypes((*operands, *(None,) * ufunc.nout))


@functools.lru_cache(4096, typed=True)
def reduced_dtype(ufunc: np.ufunc, method: str, dtype: np.dtype[Any], out: np.dtype[Any] | None) -> np.dtype[Any]:
    """The result dtype of `ufunc.reduce` or `ufunc.accumulate`. Raises NumPy's TypeError."""
    if dtype.kind == "c" and out is not None and out.kind in "fiu":
        dtype = out  # what NumPy casts to, with a warning, before it begins
    result: np.dtype[Any] = getattr(ufunc, method)(np.ones(1, dtype), dtype=out).dtype
    return result


def is_weak(x: Any) -> bool:
    """Whether a node, an array or the description of one says that its type is weak."""
    return bool(getattr(x, "weak_type", getattr(x, "weak", False)))


def is_inexact(dtype: np.dtype[Any]) -> bool:
    """Floating point or complex: what can have a tangent."""
    return dtype.kind in "fc" or dtype.name in EXTENSION_FLOATS


def same(a: np.dtype[Any], b: np.dtype[Any]) -> bool:
    """Whether two dtypes are one. C's long and long long may be equal, and are two; a dtype of keys is its record."""
    chars = getattr(a, "char", None), getattr(b, "char", None)
    return a is b or a == b and (chars[0] == chars[1] or None in chars)


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the parts of a complex one; any other as it is."""
    return REAL_OF.get(dtype) or dtype


def complex_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The complex dtype that holds this one."""
    return dtype if dtype.kind == "c" else COMPLEX_OF.get(dtype) or np.dtype(np.complex128)


def numpy_error(function: Callable[..., Any], *avals: Aval, **params: Any) -> Exception:
    """NumPy's own exception for operands of these shapes and dtypes. They hold no data: every stride is 0."""
    if any([hasattr(n, "symbolic") for a in avals for n in a.shape]):
        return ValueError(f"{function.__name__}: sizes of {', '.join(map(str, avals))} do not fit")
    try:
        function(*[np.broadcast_to(np.zeros((), a.dtype), a.shape) for a in avals], **params)
    except Exception as error:
        return error
    return ValueError(f"{function.__name__}: bad operands {', '.join(map(str, avals))}")
