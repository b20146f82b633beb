"""The methods of `Array`: a table of functions, and what has no function."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from ...ops.bits import bitcast, width
from ...ops.elementwise import convert
from ...tracebacks import leave
from ..array import Array, is_arraylike, own_form
from ..at_once import apply
from ..creation_places import placing
from ..devices import default_backend
from ..dtypes import requested
from ..placement import device_put
from . import matrices, products, reductions, select, shape, sorting
from .creation import astype
from .elementwise import clip, table
from .namespace_info import __array_api_version__
from .rounding import round_

UINT8 = np.dtype(np.uint8)
METHODS: dict[str, Callable[..., Any]] = {
    "all": reductions.all,
    "any": reductions.any_,
    "argmax": reductions.argmax,
    "argmin": reductions.argmin,
    "argpartition": sorting.argpartition,
    "argsort": sorting.argsort,
    "choose": select.choose,
    "clip": clip,
    "conj": table["conjugate"],
    "conjugate": table["conjugate"],
    "cumprod": reductions.cumprod,
    "cumsum": reductions.cumsum,
    "diagonal": matrices.diagonal,
    "dot": products.dot,
    "flatten": shape.ravel,
    "max": reductions.max,
    "mean": reductions.mean,
    "min": reductions.min,
    "nonzero": select.nonzero,
    "prod": reductions.prod,
    "ptp": reductions.ptp,
    "ravel": shape.ravel,
    "repeat": shape.repeat,
    "round": round_,
    "searchsorted": sorting.searchsorted,
    "sort": sorting.sort,
    "squeeze": shape.squeeze,
    "std": reductions.std,
    "sum": reductions.sum,
    "swapaxes": shape.swapaxes,
    "take": select.take,
    "trace": matrices.trace,
    "var": reductions.var,
}


def method(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function as a method: a plain Python function, so that it binds."""

    def call(self: Array, *args: Any, **kwargs: Any) -> Any:
        return f(self, *args, **kwargs)

    call.__name__ = call.__qualname__ = f.__name__
    call.__doc__ = f.__doc__
    return call


placed_reshape, placed_astype = placing(shape.reshape), placing(astype)


def reshape(self: Array, *args: Any, order: str = "C", out_sharding: Any = None) -> Any:
    """The array with another shape, given as one tuple or as numbers."""
    try:
        return placed_reshape(self, args[0] if len(args) == 1 else args, order, out_sharding=out_sharding)
    except BaseException as error:
        leave(error)
        raise


def transpose(self: Array, *args: Any) -> Any:
    """The array with its axes in another order, given as one tuple or as numbers: reversed where none are."""
    axes = None if not args or args == (None,) else args[0] if len(args) == 1 and not isinstance(args[0], int) else args
    return shape.transpose(self, axes)


def astype_method(self: Array, dtype: Any = None, copy: bool = False, device: Any = None) -> Any:
    """The array with another dtype."""
    return placed_astype(self, dtype, device=device)


def compress(
    self: Array,
    condition: Any,
    axis: int | None = None,
    *,
    out: Any = None,
    size: int | None = None,
    fill_value: Any = 0,
) -> Any:
    """The elements along an axis for which the condition holds."""
    return select.compress(condition, self, axis, size=size, fill_value=fill_value, out=out)


def view(self: Array, dtype: Any = None, type: Any = None) -> Any:
    """The bits as another dtype; the last axis grows or shrinks where the widths differ."""
    if type is not None:
        raise NotImplementedError("`type` argument of array.view() is not supported.")
    if dtype is None:
        return self
    to = requested(dtype, "view")
    a, b = width(self.dtype), width(to)
    if self.dtype == to:
        return self
    if self.ndim == 0 and a != b:
        raise ValueError("view() of a 0d array is only supported if the itemsize is unchanged.")
    if a < b:
        if self.shape[-1] * a % b:
            raise ValueError(
                "When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last "
                "axis of the array."
            )
        grouped = shape.reshape(self, (*self.shape[:-1], self.shape[-1] * a // b, b // a))
        return apply(lambda x: bitcast(convert(x, x.dtype), dtype=to), grouped.node)
    out = apply(lambda x: bitcast(convert(x, x.dtype), dtype=to), self.node)
    return shape.reshape(out, (*out.shape[:-2], out.shape[-2] * out.shape[-1])) if a > b else out


def byteswap(self: Array) -> Any:
    """The bytes of each element in reverse."""
    size = self.dtype.itemsize
    if size == 1:
        return self
    parts = apply(lambda x: bitcast(convert(x, x.dtype), dtype=UINT8), self.node)
    turned = shape.flip(parts, -1)
    return apply(lambda x: bitcast(x, dtype=self.dtype), turned.node)


def to_device(self: Array, device: Any, *, stream: Any = None) -> Any:
    """The array on a device, or as a sharding says."""
    return device_put(self, device)


def flat(self: Array) -> Any:
    raise NotImplementedError("JAX Arrays do not implement the arr.flat property: consider arr.flatten() instead.")


def contains(self: Array, item: Any) -> bool:
    if not is_arraylike(item):
        raise TypeError(f"Array.__contains__: unsupported operand type {type(item)}.")
    if self.ndim != 1:
        raise ValueError(f"Array.__contains__: search array must be one-dimensional, got arr.shape={self.shape}.")
    if np.ndim(item):
        raise ValueError(f"Array.__contains__: query value must be a scalar, got query.shape={np.shape(item)}")
    return bool((self == item).any())


def namespace(self: Array, *, api_version: str | None = None) -> Any:
    """`jax.numpy`, for code written to the array API."""
    if api_version not in (None, __array_api_version__):
        raise ValueError(f"{api_version=} is not available; available versions are: {[__array_api_version__]}")
    return importlib.import_module("lazynp.jax.numpy")


def matmul(self: Array, other: Any) -> Any:
    """self @ other."""
    try:
        return products.matmul(self, own_form(other)) if type(other) is Array or is_arraylike(other) else NotImplemented
    except BaseException as error:
        leave(error)
        raise


def rmatmul(self: Array, other: Any) -> Any:
    """other @ self."""
    try:
        return products.matmul(own_form(other), self) if is_arraylike(other) else NotImplemented
    except BaseException as error:
        leave(error)
        raise


for _f in (compress, view, byteswap, to_device):
    setattr(Array, _f.__name__, _f)
for _name, _f in METHODS.items():
    setattr(Array, _name, placing(_f) if isinstance(_f, FunctionType) else method(_f))
Array.reshape = reshape
Array.transpose = transpose
Array.astype = astype_method
Array.T = property(shape.transpose, doc="The array with its axes reversed.")
Array.mT = property(shape.matrix_transpose, doc="The array with its last two axes exchanged.")
Array.real = property(table["real"], doc="The real part.")
Array.imag = property(table["imag"], doc="The imaginary part.")
Array.__matmul__ = matmul
Array.__rmatmul__ = rmatmul
Array.flat = property(flat)
Array.__contains__ = contains
Array.__array_namespace__ = namespace
Array.platform = lambda self: default_backend()
