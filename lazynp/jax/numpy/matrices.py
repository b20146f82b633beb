"""Diagonals, triangles, grids of indices."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...api.vmap import vmap
from ...graph.node import Node
from ...ops import creation as c
from ...ops import shape as s
from ...ops.elementwise import convert
from ..array import Array, as_node, cast_node, check_arraylike, door, wrap_value
from ..at import update
from ..at_once import apply, apply_like
from ..dtypes import canonical, int_dtype, requested
from ..explicit_indexing import check_looked_up
from ..spreading import keeping
from .axes import axis_of, check_sizes, shape_of, static_int
from .creation import arange, asarray, astype, linspace, ones, zeros
from .joining import concatenate
from .reductions import sum
from .select import nonzero
from .shape import broadcast_to, expand_dims, ravel, reshape, shape, transpose


def diagonal_node(x: Node, offset: int, axis1: int, axis2: int) -> Node:
    """A diagonal of two axes as the last axis: every (n + 1)-th element of both as one."""
    rest = [i for i in range(x.ndim) if i not in (axis1, axis2)]
    x = s.transpose(x, axes=(*rest, axis1, axis2))
    m, n = x.shape[-2:]
    count = max(0, min(m, n - offset) if offset >= 0 else min(m + offset, n))
    lead = x.shape[:-2]
    start = (0, offset) if offset >= 0 else (-offset, 0)
    flat = s.reshape(x, shape=(*lead, m * n))
    at = start[0] * n + start[1]
    return s.slice_(flat, key=(*s.whole(lead), (at if count else 0, count, n + 1)))


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """A diagonal of two axes, as the last axis."""
    check_arraylike("diagonal", a)
    x = as_node(a)
    if x.ndim < 2:
        raise ValueError("diagonal requires an array of at least two dimensions.")
    i, k = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    if i == k:
        raise ValueError(f"axis1 and axis2 cannot be the same: {axis1}, {axis2}")
    at = static_int(offset, "It stands for the offset of a diagonal.")
    m, n = x.shape[i], x.shape[k]
    check_looked_up(x, (i, k), (max(0, min(m, n - at) if at >= 0 else min(m + at, n)),))
    return apply_like(lambda x: diagonal_node(x, at, i, k), x, weak=False)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    """The sum of a diagonal."""
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.trace is not supported.")
    check_arraylike("trace", a)
    return sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def diag(v: Any, k: int = 0) -> Any:
    """Of a matrix its k-th diagonal; of a vector the matrix that has it there."""
    check_arraylike("diag", v)
    x = as_node(v)
    if x.ndim == 2:
        return diagonal(v, k)
    if x.ndim != 1:
        raise ValueError("diag input must be 1d or 2d")
    offset = operator.index(k)
    n = x.shape[0] + abs(offset)

    def impl(x: Node) -> Node:
        count = x.shape[0]
        start = offset if offset >= 0 else -offset * n
        flat = s.set_(
            s.broadcast_to(np.zeros((), x.dtype)[()], shape=(n * n,)), convert(x, x.dtype), key=((start, count, n + 1),)
        )
        return cast_node(s.reshape(flat, shape=(n, n)), x.dtype, x.weak)

    return keeping(x, "diag", lambda: apply(impl, x))


def diagflat(v: Any, k: int = 0) -> Any:
    """The matrix that has the elements on its k-th diagonal."""
    check_arraylike("diagflat", v)
    out = diag(ravel(v), k)
    return astype(out, out.dtype)


def triangle(name: str, op: Callable[..., Node]) -> Callable[..., Any]:
    def call(m: Any, k: int = 0) -> Any:
        check_arraylike(name, m)
        x = as_node(m)
        if x.ndim < 2:
            raise ValueError(f"Argument to jax.numpy.{name} must be at least 2D")
        offset = static_int(k, f"It stands for `k` of {name}.")
        return apply_like(lambda x: op(x, offset), x)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The elements on one side of the k-th diagonal, zeros elsewhere: numpy.{name}."
    return call


tril, triu = triangle("tril", c.tril), triangle("triu", c.triu)


def host_indices(found: Any) -> tuple[Array, ...]:
    dtype = int_dtype()
    return tuple([wrap_value(np.ascontiguousarray(i.astype(dtype))) for i in found])


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """The indices of the lower triangle."""
    check_sizes("broadcast_in_dim", (operator.index(n), operator.index(n if m is None else m)))
    return host_indices(np.tril_indices(operator.index(n), operator.index(k), m))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """The indices of the upper triangle."""
    check_sizes("broadcast_in_dim", (operator.index(n), operator.index(n if m is None else m)))
    return host_indices(np.triu_indices(operator.index(n), operator.index(k), m))


def indices_from(name: str, f: Callable[..., Any]) -> Callable[..., Any]:
    def call(arr: Any, k: int = 0) -> Any:
        check_arraylike(name, arr)
        full = shape(arr)
        if len(full) != 2:
            raise ValueError("Only 2-D inputs are accepted")
        return f(full[-2], k=k, m=full[-1])

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "The indices of a triangle of an array of that shape."
    return call


tril_indices_from = indices_from("tril_indices_from", tril_indices)
triu_indices_from = indices_from("triu_indices_from", triu_indices)


def mask_indices(n: int, mask_func: Callable[..., Any], k: int = 0, *, size: int | None = None) -> tuple[Array, ...]:
    """The indices at which `mask_func(ones((n, n)), k)` is not 0."""
    return nonzero(mask_func(ones((n, n)), k), size=size)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """The indices of the diagonal of an array with sides n."""
    count, rank = static_int(n), static_int(ndim)
    for name, given in (("n", count), ("ndim", rank)):
        if given < 0:
            raise ValueError(f"{name} argument to diag_indices must be nonnegative, got {given}")
    return (arange(count, dtype=int_dtype()),) * rank


def diag_indices_from(arr: Any) -> tuple[Array, ...]:
    """The indices of the diagonal. Raises ValueError unless all sides are equal."""
    check_arraylike("diag_indices_from", arr)
    full = shape(arr)
    if len(full) < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(full)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(full[0], len(full))


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Any:
    """A copy of a with values on its diagonal. Raises NotImplementedError unless `inplace=False`."""
    if inplace:
        raise NotImplementedError("JAX arrays are immutable, must use inplace=False")
    if wrap:
        raise NotImplementedError("wrap=True is not implemented, must use wrap=False")
    check_arraylike("fill_diagonal", a, val)
    x, v = asarray(a), ravel(val)
    if x.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if x.ndim > 2 and len(set(x.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    n = min(x.shape)
    places = (np.arange(n),) * x.ndim
    if v.size != 1:
        times = -(-n // v.size)
        v = concatenate([v] * times)[:n]
    return update(x, places, v.astype(x.dtype), "set")


# Grids.


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Any]:
    """Coordinate arrays of a grid."""
    check_arraylike("meshgrid", *xi)
    if not copy:
        raise ValueError("jax.numpy.meshgrid only supports copy=True")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Valid values for indexing are 'xy' and 'ij', got {indexing}")
    given = [ravel(x) for x in xi]
    if any([np.ndim(x) != 1 for x in xi]):
        raise ValueError(f"Arguments to jax.numpy.meshgrid must be 1D, got shapes {[shape(x) for x in xi]}")
    if indexing == "xy" and len(given) >= 2:
        given[0], given[1] = given[1], given[0]
    sizes = tuple([x.size for x in given])
    out = [
        reshape(x, tuple([n if i == k else 1 for i in range(len(sizes))])) for k, (x, n) in enumerate(zip(given, sizes))
    ]
    if not sparse:
        out = [broadcast_to(x, sizes) for x in out]
    if indexing == "xy" and len(out) >= 2:
        out[0], out[1] = out[1], out[0]
    return out


def ix_(*args: Any) -> tuple[Any, ...]:
    """Index arrays that select a grid of rows and columns."""
    check_arraylike("ix_", *args)
    out = []
    for i, x in enumerate([asarray(a) for a in args]):
        if x.ndim != 1:
            raise ValueError(f"Arguments to jax.numpy.ix_ must be 1-dimensional, got shape {x.shape}")
        if x.dtype.kind == "b":
            raise NotImplementedError("Boolean arguments to jax.numpy.ix_ are not implemented")
        x = x.astype(int_dtype()) if x.size == 0 else x
        out.append(reshape(x, tuple([x.size if k == i else 1 for k in range(len(args))])))
    return tuple(out)


def indices(dimensions: Any, dtype: Any = None, sparse: bool = False) -> Any:
    """The indices of an array of that shape, along a new first axis."""
    sizes = tuple([operator.index(n) for n in dimensions])
    to = int_dtype() if dtype is None else requested(dtype, "indices")
    rank = len(sizes)
    rows = [reshape(arange(n, dtype=to), tuple([n if i == k else 1 for i in range(rank)])) for k, n in enumerate(sizes)]
    if sparse:
        return tuple(rows)
    if not rows:
        return zeros((0,), to)
    return concatenate([expand_dims(broadcast_to(r, sizes), 0) for r in rows], 0)


def span_of(k: slice) -> Any:
    """The numbers that a slice of `mgrid` or `r_` stands for: an imaginary step is how many."""
    start, step = k.start or 0, 1 if k.step is None else k.step
    if isinstance(step, complex):
        return linspace(start, k.stop, int(abs(step)))
    return arange(start, k.stop, step)


class Grid:
    """`mgrid` and `ogrid`."""

    def __init__(self, sparse: bool) -> None:
        self.sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return span_of(key)
        rows = [span_of(k) for k in key]
        common = canonical(np.result_type(*[r.dtype for r in rows]))
        found = meshgrid(*[r.astype(common) for r in rows], indexing="ij", sparse=self.sparse)
        return list(found) if self.sparse else concatenate([expand_dims(x, 0) for x in found], 0)


class Concatenator:
    """`r_` and `c_`: joined slices, arrays and numbers; text first says how, as in NumPy."""

    def __init__(self, axis: int, rank: int, at: int) -> None:
        self.axis, self.rank, self.at = axis, rank, at

    def __getitem__(self, key: Any) -> Any:
        parts = list(key) if isinstance(key, tuple) else [key]
        axis, rank, at = self.axis, self.rank, self.at
        if parts and isinstance(parts[0], str):
            text = parts.pop(0)
            if text in ("r", "c"):
                if self.rank > 1:  # of `c_`, it says nothing
                    return self[tuple(parts)]
                row = Concatenator(-1, 2, -1)[tuple(parts)]
                return row if text == "r" else transpose(row)
            numbers = [int(n) for n in text.split(",")]
            axis = numbers[0]
            rank = numbers[1] if len(numbers) > 1 else rank
            at = numbers[2] if len(numbers) > 2 else at
        return concatenate([self.raised(p, rank, at) for p in parts], axis)

    @staticmethod
    def raised(part: Any, rank: int, at: int) -> Any:
        """With at least that many axes, those that were there from `at` on."""
        scalar = not isinstance(part, slice) and np.ndim(part) == 0
        x = span_of(part) if isinstance(part, slice) else reshape(asarray(part), (1,)) if scalar else asarray(part)
        missing = rank - x.ndim
        if missing <= 0:
            return x
        x = reshape(x, (*(1,) * missing, *x.shape))
        if scalar or at == -1:
            return x
        order = list(range(missing))
        old = list(range(missing, rank))
        place = at if at >= 0 else rank + at
        return transpose(x, (*order[:place], *old, *order[place:]))


mgrid, ogrid = Grid(False), Grid(True)
r_, c_ = Concatenator(0, 1, -1), Concatenator(-1, 2, 0)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The matrix of powers of a vector's elements."""
    check_arraylike("vander", x)
    v = asarray(x)
    if v.ndim != 1:
        raise ValueError("x must be a one-dimensional array")
    count = v.shape[0] if N is None else operator.index(N)
    if count < 0:
        raise ValueError("N must be nonnegative")
    powers = np.arange(count) if increasing else np.arange(count)[::-1]
    return v[:, None] ** asarray(powers.astype(np.int32))[None, :].astype(v.dtype)


def fromfunction(function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """What a function of the indices gives, called for each element by vmap."""
    sizes = shape_of(shape)
    for k in range(len(sizes)):
        axes = [0 if i == len(sizes) - 1 - k else None for i in range(len(sizes))]
        function = vmap(partial(function, **kwargs) if k == 0 else function, tuple(axes), door=door)
    return function(*[arange(n, dtype=requested(dtype, "fromfunction")) for n in sizes])
