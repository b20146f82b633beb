"""Arrays made of nothing: iota, full, eye, triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import LIBRARY, Op
from .elementwise import convert, where
from .promotion import Shape
from .shape import broadcast_to, zeros_of

INT = np.dtype(np.int64)
FLOAT = np.dtype(np.float64)


def iota_abstract(*, dtype: np.dtype[Any], n: int) -> Aval:
    return Aval((n,), dtype)


iota_op = Op(
    "iota", LIBRARY, iota_abstract, lambda xp, *, dtype, n: xp.arange(n, dtype=dtype), static=("dtype",), moving=("n",)
)


def iota(n: int, dtype: np.dtype[Any] = INT) -> Node:
    """0, 1, ..., n - 1."""
    return iota_op(dtype=dtype, n=n)


def arange_abstract(*, dtype: np.dtype[Any], start: Any, step: Any, n: int) -> Aval:
    return Aval((n,), dtype)


def arange_lower(xp: Any, *, dtype: np.dtype[Any], start: Any, step: Any, n: int) -> Any:
    return xp.arange_n(start, step, n, dtype)


arange = Op("arange", LIBRARY, arange_abstract, arange_lower, static=("dtype",), moving=("start", "step", "n"))
"""n elements, start + i * step, as numpy.arange computes them."""


def arrival_abstract(source: Aval, *, dtype: np.dtype[Any], shape: Shape) -> Aval:
    return Aval(shape, dtype)


arrival = Op(
    "arrival",
    LIBRARY,
    arrival_abstract,
    lambda xp, source, *, dtype, shape: source.take(),
    static=("dtype",),
    moving=("shape",),
    doc="An array that is on its way: its input is a constant whose value has a method `take`, which gives it.",
)


def tri_abstract(*, dtype: np.dtype[Any], n: int, m: int, k: int) -> Aval:
    return Aval((n, m), dtype)


tri_op = Op(
    "tri",
    LIBRARY,
    tri_abstract,
    lambda xp, *, dtype, n, m, k: xp.tri(n, m, k, dtype=dtype),
    static=("dtype",),
    moving=("n", "m", "k"),
)
eye_op = Op(
    "eye",
    LIBRARY,
    tri_abstract,
    lambda xp, *, dtype, n, m, k: xp.eye(n, m, k, dtype=dtype),
    static=("dtype",),
    moving=("n", "m", "k"),
)


def tri(n: int, m: int | None = None, k: int = 0, dtype: np.dtype[Any] = FLOAT) -> Node:
    """Ones at and below the k-th diagonal."""
    return tri_op(dtype=dtype, n=n, m=n if m is None else m, k=k)


def eye(n: int, m: int | None = None, k: int = 0, dtype: np.dtype[Any] = FLOAT) -> Node:
    """Ones on the k-th diagonal."""
    return eye_op(dtype=dtype, n=n, m=n if m is None else m, k=k)


def full(shape: Shape, value: Any, dtype: np.dtype[Any] | None = None) -> Node:
    """A broadcast scalar. dtype None is the value's own."""
    x = (
        value
        if isinstance(value, Node)
        else Node.of_scalar(value if dtype is None else np.asarray(value).astype(dtype)[()])
    )
    return broadcast_to(x if dtype is None else convert(x, dtype), shape=shape)


def tril(x: Node, k: int = 0) -> Node:
    """x with zeros above the k-th diagonal of its last two axes."""
    n, m = x.shape[-2:]
    return where(tri(n, m, k, np.dtype(bool)), x, zeros_of(Aval((), x.dtype)))


def triu(x: Node, k: int = 0) -> Node:
    """x with zeros below the k-th diagonal of its last two axes."""
    n, m = x.shape[-2:]
    return where(tri(n, m, k - 1, np.dtype(bool)), zeros_of(Aval((), x.dtype)), x)
