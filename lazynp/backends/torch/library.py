"""Operations that are one call, on torch tensors: name of the op -> `function(device, dtype, *args, **params)`.

`dtype` is that of the result, None where there are several. Arguments are tensors, or scalars as the program wrote
them. What torch does otherwise than NumPy raises `NotHereError` (or torch's own error), and the host does it; it also
has NumPy's errors for bad values. A result of the wrong dtype or shape is not taken either.
"""

from __future__ import annotations

import functools
import importlib
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lazynp.backends.support import KIND
from lazynp.backends.torch import eager
from lazynp.backends.torch import namespace as xp

TABLE: dict[str, Callable[..., Any]] = {}
FLOATS = ("float32", "float64", "complex64", "complex128")
SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}


class NotHereError(Exception):
    """torch has no such operation, or another one under that name."""


def on_torch(*names: str) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        for name in names:
            TABLE[name] = function
        return function

    return register


def bfloat16() -> Any:
    return importlib.import_module("ml_dtypes").bfloat16


def name_of(x: Tensor) -> str:
    return str(x.dtype).removeprefix("torch.")


def kind_of(x: Tensor) -> str:
    return KIND[name_of(x)]


def cast(x: Tensor, to: str) -> Tensor:
    """astype(to)."""
    source = name_of(x)
    if source == to:
        return x
    if "uint64" in (source, to) and {KIND[source], KIND[to]} & {"f", "c"}:
        raise NotHereError
    return eager.uncarry(xp.cast(eager.carry(x, source), source, to), to)


def need(condition: bool) -> None:
    if not condition:
        raise NotHereError


def bits(x: Tensor) -> Tensor:
    """The same memory in a dtype that torch can move around: the wide unsigned ones as signed ones."""
    signed = SIGNED.get(x.dtype)
    return x if signed is None else x.view(signed)


def in_order(x: Tensor) -> Any:
    """A tensor in whose order torch sorts as NumPy would have sorted x; and the way back to x's values."""
    name = name_of(x)
    need(kind_of(x) != "c")
    if name == "uint64":
        return x.view(torch.int64) ^ xp.TOP, lambda y: (y ^ xp.TOP).view(torch.uint64)
    if name == "bool":
        return x.to(torch.uint8), lambda y: y.to(torch.bool)
    return eager.carry(x, name), lambda y: eager.uncarry(y, name)


@on_torch("cast", "weak_cast")
def converted(device: Any, to: Any, x: Any, *, dtype: Any) -> Tensor:
    """Where no kernel does it: to and from bfloat16."""
    return cast(tensors(device, [x])[0], to.name)


# --- arrays made of nothing -------------------------------------------------------------------------------------------


@on_torch("iota")
def iota(device: Any, _: Any, *, dtype: Any, n: int) -> Tensor:
    need(dtype.kind in "iu" or dtype.name in ("float32", "float64"))
    return cast_count(torch.arange(n, device=device.torch), dtype)


def cast_count(x: Tensor, dtype: Any) -> Tensor:
    """int64 numbers in any real dtype."""
    if dtype.name in ("uint16", "uint32", "uint64"):
        return x.to(getattr(torch, dtype.name[1:])).view(getattr(torch, dtype.name))
    return x.to(getattr(torch, dtype.name))


@on_torch("arange")
def arange(device: Any, _: Any, *, dtype: Any, start: Any, step: Any, n: int) -> Tensor:
    need(dtype.name in ("int32", "int64", "float32", "float64"))
    with np.errstate(all="ignore"):
        first, second = np.array(start).astype(dtype), np.array(start + step).astype(dtype)
        delta = second - first
    out = cast_count(torch.arange(n, device=device.torch), dtype) * delta.item() + first.item()
    out[1:2] = second.item()
    return out


@on_torch("tri")
def tri(device: Any, _: Any, *, dtype: Any, n: int, m: int, k: int) -> Tensor:
    rows, columns = torch.arange(n, device=device.torch), torch.arange(m, device=device.torch)
    return cast(rows[:, None] + k >= columns, dtype.name)


@on_torch("eye")
def eye(device: Any, _: Any, *, dtype: Any, n: int, m: int, k: int) -> Tensor:
    rows, columns = torch.arange(n, device=device.torch), torch.arange(m, device=device.torch)
    return cast(rows[:, None] + k == columns, dtype.name)


# --- one of several, side by side, rolled -----------------------------------------------------------------------------


@on_torch("pick")
def pick(device: Any, dtype: Any, x: Sequence[Tensor], *, i: int) -> Tensor:
    return x[i]


@on_torch("concatenate")
def concatenate(device: Any, dtype: Any, *xs: Tensor, axis: int) -> Tensor:
    whole = torch.cat([bits(cast(x, dtype.name)) for x in xs], axis)
    return whole.view(getattr(torch, dtype.name))


@on_torch("roll")
def roll(device: Any, dtype: Any, x: Tensor, *, axes: Sequence[int], shifts: Sequence[int]) -> Tensor:
    out = bits(x)
    for axis, shift in zip(axes, shifts):
        out = torch.roll(out, shift, axis)
    return out.view(x.dtype)


# --- products ---------------------------------------------------------------------------------------------------------


def factors(dtype: Any, *xs: Tensor) -> list[Tensor]:
    """Both in the product's dtype. NumPy's product of booleans is another one."""
    need(dtype.name in (*FLOATS, "float16", "int8", "int16", "int32", "int64", "uint8"))
    return [cast(x, dtype.name) for x in xs]


@on_torch("matmul")
def matmul(device: Any, dtype: Any, a: Tensor, b: Tensor) -> Tensor:
    return torch.matmul(*factors(dtype, a, b))


@on_torch("inner1d")
@on_torch("vecdot")
def vecdot(device: Any, dtype: Any, a: Tensor, b: Tensor) -> Tensor:
    a, b = factors(dtype, a, b)
    return torch.matmul(a.conj().unsqueeze(-2), b.unsqueeze(-1)).squeeze(-1).squeeze(-1)


@on_torch("matvec")
def matvec(device: Any, dtype: Any, a: Tensor, b: Tensor) -> Tensor:
    a, b = factors(dtype, a, b)
    return torch.matmul(a, b.unsqueeze(-1)).squeeze(-1)


@on_torch("vecmat")
def vecmat(device: Any, dtype: Any, a: Tensor, b: Tensor) -> Tensor:
    a, b = factors(dtype, a, b)
    return torch.matmul(a.conj().unsqueeze(-2), b).squeeze(-2)


# --- reductions and scans ---------------------------------------------------------------------------------------------


def reduction(name: str) -> None:
    @on_torch(f"{name}.reduce")
    def reduce(device: Any, out: Any, x: Tensor, *, axes: Sequence[int], keepdims: bool, dtype: Any) -> Tensor:
        loop = out.name
        need(name in ("add", "multiply") or KIND[loop] != "c" and loop in ("bool", name_of(x)))
        x = cast(x, loop)
        if not axes:
            return x
        if KIND[loop] != "c":
            x = eager.uncarry(xp.reduced(xp.reduce(name, loop, eager.carry(x, loop), axes), loop), out.name)
        elif name == "add":
            x = torch.sum(x, list(axes), keepdim=True)
        else:
            for axis in axes:
                x = torch.prod(x, axis, keepdim=True)
        return x if keepdims else x.reshape([n for i, n in enumerate(x.shape) if i not in axes])


for _name in ("add", "multiply", "maximum", "minimum", "logical_and", "logical_or"):
    reduction(_name)


def argument(name: str, function: Callable[..., Tensor]) -> None:
    """NumPy and torch both give the first of several, and a NaN before all else."""

    @on_torch(name)
    def arg(device: Any, dtype: Any, x: Tensor, *, axis: int, keepdims: bool) -> Tensor:
        return function(in_order(x)[0], dim=axis, keepdim=keepdims)


argument("argmin", torch.argmin)
argument("argmax", torch.argmax)


def accumulation(name: str, function: Callable[..., Any]) -> None:
    @on_torch(f"{name}.accumulate")
    def accumulate(device: Any, out: Any, x: Tensor, *, axis: int, dtype: Any) -> Tensor:
        x = cast(x, out.name)
        need(out.name != "bool" and x.dtype not in SIGNED and out.name not in ("float16", "bfloat16"))
        return function(x, axis)


accumulation("add", lambda x, axis: torch.cumsum(x, axis, dtype=x.dtype))
accumulation("multiply", lambda x, axis: torch.cumprod(x, axis, dtype=x.dtype))
accumulation("maximum", lambda x, axis: torch.cummax(x, axis).values)
accumulation("minimum", lambda x, axis: torch.cummin(x, axis).values)


# --- order ------------------------------------------------------------------------------------------------------------


@on_torch("sort", "partition")
def sort(device: Any, dtype: Any, x: Tensor, *, axis: int, kind: Any = None, kth: Any = None) -> Tensor:
    x, back = in_order(x)
    return back(torch.sort(x, dim=axis, stable=True).values)


@on_torch("argsort", "argpartition")
def argsort(device: Any, dtype: Any, x: Tensor, *, axis: int, kind: Any = None, kth: Any = None) -> Tensor:
    return torch.sort(in_order(x)[0], dim=axis, stable=True).indices


@on_torch("arglargest")
def arglargest(device: Any, dtype: Any, x: Tensor, *, axis: int, k: int) -> Tensor:
    return torch.sort(in_order(x)[0], dim=axis, descending=True, stable=True).indices.narrow(axis, 0, k)


@on_torch("searchsorted")
def searchsorted(device: Any, dtype: Any, a: Tensor, v: Tensor, *, side: str, stack: int) -> Tensor:
    """torch does not know that NaN stands at the end."""
    need(name_of(a) == name_of(v))
    a, v = in_order(a)[0], in_order(v)[0]
    if a.dtype.is_floating_point and a.shape[-1]:
        need(not bool(torch.isnan(a[..., -1]).any()))
    if stack:
        flat = v.reshape(*v.shape[:stack], -1)
        return torch.searchsorted(a.contiguous(), flat.contiguous(), right=side == "right").reshape(v.shape)
    return torch.searchsorted(a.contiguous(), v.contiguous(), right=side == "right")


# --- indices ----------------------------------------------------------------------------------------------------------


def places(shape: Sequence[int], indices: Sequence[Tensor], axes: Sequence[int], bounds: str) -> Any:
    """The index arrays, non-negative and of one shape, and where they are inside (None: everywhere)."""
    inside: Any = None
    out = []
    for k, axis in zip(indices, axes):
        n = shape[axis]
        need(n > 0)
        k = cast(k, "int64")
        if bounds == "clip":
            k = k.clamp(0, n - 1)
        elif bounds == "wrap":
            k = torch.remainder(k, n)
        else:
            ok = (k >= -n) & (k < n)
            inside = ok if inside is None else inside & ok
            k = torch.where(k < 0, k + n, k)
        out.append(k)
    if bounds == "raise":
        need(bool(inside.all()))  # the host has the error
        inside = None
    elif inside is not None:
        out = [torch.where(inside, k, 0) for k in out]
    return list(torch.broadcast_tensors(*out)), inside


def rolled_axes(x: Tensor, source: int, to: int, count: int) -> Tensor:
    """`count` axes in a row, moved."""
    return x.movedim(tuple(range(source, source + count)), tuple(range(to, to + count))) if count else x


@on_torch("gather")
def gather(device: Any, dtype: Any, x: Tensor, *indices: Any, axes: Sequence[int], at: int, bounds: str) -> Tensor:
    index, inside = places(x.shape, tensors(device, indices), axes, bounds)
    source = bits(x).movedim(tuple(axes), tuple(range(len(axes))))
    scalar = not index[0].ndim  # torch would wait for its value
    out = source[tuple([k.reshape(1) for k in index] if scalar else index)]
    out = out[0] if scalar else out
    if inside is not None:
        mask = inside.expand(index[0].shape)
        mask = mask.reshape(*mask.shape, *[1] * (out.ndim - mask.ndim))
        out = torch.where(mask, out, torch.zeros((), dtype=out.dtype, device=out.device))
    return rolled_axes(out, 0, at, index[0].ndim).contiguous().view(x.dtype)


@on_torch("scatter")
def scatter(
    device: Any,
    dtype: Any,
    base: Tensor,
    value: Any,
    *indices: Any,
    axes: Sequence[int],
    at: int,
    bounds: str,
    mode: str,
) -> Tensor:
    need(mode in ("set", "add", *COMBINED))
    index, inside = places(base.shape, tensors(device, indices), axes, bounds)
    (value,) = tensors(device, [value])
    value = bits(cast(value, dtype.name))
    kept = [n for i, n in enumerate(base.shape) if i not in axes]
    common = index[0].shape
    value = rolled_axes(value.expand((*kept[:at], *common, *kept[at:])), at, 0, len(common))
    lengths = [base.shape[a] for a in axes]
    place, size = torch.zeros_like(index[0]), math.prod(lengths)
    for k, n in zip(index, lengths):
        place = place * n + k
    place = place.reshape(-1)
    value = value.reshape(len(place), *kept)
    if inside is not None:
        inside = inside.expand(common).reshape(-1)
    order = (*axes, *[a for a in range(base.ndim) if a not in axes])
    rows = bits(base).permute(order).reshape(size, *kept)
    if mode == "set":
        last = last_ones(place, size, inside)
        value = value[last]
        value = value if inside is None else torch.where(beside(last >= 0, value), value, rows[place])
        rows = rows.index_put((place,), value)
    else:
        need(kind_of(base) in ("ifc" if mode == "add" else "if"))
        if inside is not None:
            value = torch.where(beside(inside, value), value, neutral(mode, value.dtype))
        if mode != "add":
            have_said_beta(value.device.type)
        rows = rows.index_add(0, place, value) if mode == "add" else rows.index_reduce(0, place, value, COMBINED[mode])
    out = rows.reshape(*lengths, *kept)
    return out.permute([order.index(a) for a in range(base.ndim)]).contiguous().view(base.dtype)


@functools.cache
def have_said_beta(kind: str) -> None:
    """torch warns once on each kind of device that `index_reduce` may change: who wrote x.at[i].max need not know."""
    one = torch.ones(1, device=kind)
    with warnings.catch_warnings(action="ignore"):
        one.index_reduce(0, torch.zeros(1, dtype=torch.int64, device=kind), one, "prod")


COMBINED = {"multiply": "prod", "min": "amin", "max": "amax"}


def neutral(mode: str, dtype: torch.dtype) -> complex:
    """What changes nothing where it is added, multiplied with, or compared."""
    if mode == "multiply":
        return 1
    if mode == "add":
        return complex(-0.0, -0.0) if dtype.is_complex else -0.0 if dtype.is_floating_point else 0
    if dtype.is_floating_point:
        return math.inf if mode == "min" else -math.inf
    info = torch.iinfo(dtype)
    return info.max if mode == "min" else info.min


def beside(mask: Tensor, x: Tensor) -> Tensor:
    """A mask of places, with axes for the rows that stand there."""
    return mask.reshape(-1, *[1] * (x.ndim - 1))


def last_ones(place: Tensor, size: int, inside: Tensor | None) -> Tensor:
    """For each of the places the number of the last that is the same and inside, so that it does not matter which is
    written last; -1 where none is."""
    number = torch.arange(len(place), device=place.device)
    if inside is not None:
        number = torch.where(inside, number, -1)
    if len(place) ** 2 <= size:  # a comparison of each with each is less than a number for each place of the base
        return torch.where(place[:, None] == place, number, -1).amax(1) if len(place) else number
    last = torch.empty(size, dtype=torch.int64, device=place.device)
    return last.scatter_reduce_(0, place, number, "amax", include_self=False)[place]


def tensors(device: Any, xs: Sequence[Any]) -> list[Tensor]:
    return [x if isinstance(x, Tensor) else device.of_scalar(x) for x in xs]


# --- Fourier transforms -----------------------------------------------------------------------------------------------


PARTS = {"64": "float32", "128": "float64"}


def transform(name: str, function: Callable[..., Tensor]) -> None:
    @on_torch(name)
    def fft(device: Any, dtype: Any, x: Tensor, *, axis: int, norm: str, n: int) -> Tensor:
        wide = "64" if dtype.name in ("complex64", "float32") else "128"
        need(dtype.name in FLOATS)
        real = kind_of(x) != "c" and name != "irfft"
        return function(cast(x, PARTS[wide] if real else f"complex{wide}"), n, axis, norm)


for _name in ("fft", "ifft", "rfft", "irfft"):
    transform(_name, getattr(torch.fft, _name))


# --- linear algebra ---------------------------------------------------------------------------------------------------


def matrix(x: Tensor) -> Tensor:
    """In a dtype that LAPACK has: NumPy takes float64 for whole numbers."""
    name = name_of(x)
    need(name != "float16" and name != "bfloat16" and x.numel() > 0)
    return x if name in FLOATS else cast(x, "float64")


@on_torch("solve", "solve_or_nan")
def solve(device: Any, dtype: Any, a: Tensor, b: Tensor) -> Tensor:
    """Both as stacks of the same rank: torch would take some of these stacks of matrices for stacks of vectors."""
    need(a.numel() > 0 and b.numel() > 0)
    a, b = cast(a, dtype.name), cast(b, dtype.name)
    stack = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return torch.linalg.solve(a, b.expand(*stack, *b.shape[-2:]))


@on_torch("triangular_or_nan")
def triangular(device: Any, dtype: Any, a: Tensor, b: Tensor, *, lower: bool, unit: bool) -> Tensor:
    need(a.numel() > 0 and b.numel() > 0)
    a, b = cast(a, dtype.name), cast(b, dtype.name)
    need(unit or bool((a.diagonal(dim1=-2, dim2=-1) != 0).all()))
    stack = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    b = b.expand(*stack, *b.shape[-2:])
    return torch.linalg.solve_triangular(a, b, upper=not lower, unitriangular=unit)


@on_torch("inv")
def inv(device: Any, dtype: Any, a: Tensor) -> Tensor:
    return torch.linalg.inv(matrix(a))


@on_torch("det")
def det(device: Any, dtype: Any, a: Tensor) -> Tensor:
    return torch.linalg.det(matrix(a))


@on_torch("slogdet")
def slogdet(device: Any, dtype: Any, a: Tensor) -> tuple[Tensor, ...]:
    return tuple(torch.linalg.slogdet(matrix(a)))


@on_torch("cholesky", "cholesky_or_nan")
def cholesky(device: Any, dtype: Any, a: Tensor, *, upper: bool) -> Tensor:
    """Of one triangle, as NumPy reads it."""
    a = matrix(a)
    return torch.linalg.cholesky(a.mH).mH if upper else torch.linalg.cholesky(a)


@on_torch("qr", "qr_or_nan")
def qr(device: Any, dtype: Any, a: Tensor, *, mode: str) -> tuple[Tensor, ...]:
    need(mode in ("reduced", "complete"))
    return tuple(torch.linalg.qr(matrix(a), mode))


@on_torch("eigh", "eigh_or_nan", "eigh_of_triangle")
def eigh(device: Any, dtype: Any, a: Tensor, *, UPLO: str) -> tuple[Tensor, ...]:
    return tuple(torch.linalg.eigh(finite(a), UPLO))


@on_torch("eigvalsh")
def eigvalsh(device: Any, dtype: Any, a: Tensor, *, UPLO: str) -> Tensor:
    return torch.linalg.eigvalsh(finite(a), UPLO)


@on_torch("svd", "svd_or_nan")
def svd(device: Any, dtype: Any, a: Tensor, *, full_matrices: bool) -> tuple[Tensor, ...]:
    return tuple(torch.linalg.svd(finite(a), full_matrices))


@on_torch("svdvals", "svdvals_or_nan")
def svdvals(device: Any, dtype: Any, a: Tensor) -> Tensor:
    return torch.linalg.svdvals(finite(a))


def finite(a: Tensor) -> Tensor:
    """A matrix whose values cannot make an iteration fail: what NumPy then says is the host's."""
    a = matrix(a)
    need(bool(torch.isfinite(a).all()))
    return a
