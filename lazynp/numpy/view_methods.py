"""The methods of `ndarray` that touch no data: a view, where NumPy's result is one."""

from __future__ import annotations

import operator
from typing import Any

import numpy

from ..runtime.views import RESHAPE, TRANSPOSE, can_reshape
from ..speed import native
from . import reduce, renew, subclasses
from .array import HOST_VIEW, Handle, is_native, is_traced, ndarray, root
from .host import (
    at_hand,
    bind,
    dtype_of,
    fresh,
    note_work,
    of_type,
    on_traced,
    part_of,
    shows,
    unwrap,
)
from .layout import array_of, settled

NoValue = numpy._globals._NoValue


def own(self: Any) -> bool:
    """Whether views of this array are chains of ours: not of a subclass, nor what only NumPy can express."""
    if type(self) is not ndarray or self._v_ is HOST_VIEW:
        return False
    details = self._s_.details
    if details is not None and details.mask is not None:
        self._host_()
    return True


def derived(self: Any, kind: str, param: Any) -> ndarray:
    """The handle of a view. Where the value is there, the view is too, so that small arrays stay on the short path."""
    out = self._derived_(kind, param)
    out._base_ = root(self)
    buffer = self._s_.buf
    if buffer is not None and self._b_ is buffer:
        out._b_, out._h_ = buffer, self._h_.transpose(param) if kind == TRANSPOSE else self._h_.reshape(param)
    return out


# --- views ---


def view_by_host(self: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """A view (or copy) that NumPy makes."""
    if is_traced(self):
        return on_traced(name, getattr(numpy.ndarray, name), (self, *args), kwargs)
    h = self._host_()
    args, kwargs = unwrap(args), unwrap(kwargs)
    value = getattr(h, name)(*args, **kwargs)
    if not isinstance(value, numpy.ndarray):
        return value
    if type(self) is not ndarray:
        return of_type(type(self), value, self, self if value is h or value.base is not None else None)
    if value is h:
        return self
    if shows(value, h):
        return part_of(self, value)
    note_work(f"ndarray.{name}", [self])  # a copy
    return fresh(value)


def full_shape(shape: tuple[int, ...], size: int) -> tuple[int, ...] | None:
    """The shape with -1 worked out; None where it does not fit."""
    known, free = 1, -1
    for i, n in enumerate(shape):
        if n < 0:
            if free >= 0 or n != -1:
                return None
            free = i
        else:
            known *= n
    if free < 0:
        return shape if known == size else None
    if known == 0 or size % known:
        return None
    return (*shape[:free], size // known, *shape[free + 1 :])


def shape_of(given: Any, size: int) -> tuple[Any, ...]:
    """What the one argument of `reshape` says: integers of any kind of sequence, read and refused as NumPy does."""
    if isinstance(given, (int, numpy.integer)) or isinstance(given, Handle) and not given.ndim:
        return (given,)
    wanted = given.tolist() if isinstance(given, Handle) else given
    return numpy.broadcast_to(numpy.int8(), (size,)).reshape(wanted).shape


def reshape(self: Any, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
    if not shape or shape[0] is None and len(shape) == 1:  # a view of the same shape
        return view_by_host(self, "reshape", *shape)
    if len(shape) == 1 and type(shape[0]) is not int:
        shape = tuple(shape[0]) if type(shape[0]) in (tuple, list) else shape_of(shape[0], self.size)
    if native is not None and order == "C" and copy is None:
        out = native.reshape(self, shape)
        if out is not None:
            return out
    if (
        order == "C"
        and copy is None
        and self._b_ is self._s_.buf
        and type(self) is ndarray
        and self._v_ is not HOST_VIEW
        and (self._h_.flags.c_contiguous)
    ):
        part = self._h_.reshape(shape)  # the view is worked out by NumPy, and by `derive` only from a table
        return derived(self, RESHAPE, part.shape)
    if order == "A" and own(self):
        order = "F" if self._meta_().flags.fnc else "C"
    if order == "F" and copy is None and own(self) and not settled(self):
        full = full_shape(shape, self.size) if all([type(n) is int for n in shape]) else None
        if full is not None:
            return transpose(reshape(transpose(self), full[::-1]))
    if not own(self) or order != "C" or copy:
        return view_by_host(self, "reshape", shape, order=order, **({} if copy is None else {"copy": copy}))
    try:
        wanted = tuple([operator.index(n) for n in shape])
    except TypeError:
        wanted = None
    full = full_shape(wanted, self.size) if wanted is not None else None
    if full is None:
        return view_by_host(self, "reshape", shape)
    view = self._view_()
    if self._s_.buf is not None and not self._s_.buf.flags.c_contiguous:
        return view_by_host(self, "reshape", full)
    if can_reshape(self._s_.shape, view, self.dtype, full):
        return derived(self, RESHAPE, full)
    if copy is False or not is_native(self.dtype) or at_hand(self):
        return view_by_host(self, "reshape", full, **({} if copy is None else {"copy": copy}))
    return derived(array_of(self._node_()), RESHAPE, full)


def transpose(self: Any, *axes: Any) -> Any:
    if len(axes) == 1 and (axes[0] is None or type(axes[0]) in (tuple, list)):
        axes = tuple(axes[0]) if axes[0] is not None else ()
        if not axes and self.ndim == 0:
            return derived(self, TRANSPOSE, ()) if own(self) else view_by_host(self, "transpose")
    if not own(self):
        return view_by_host(self, "transpose", *axes)
    ndim = self.ndim
    if not axes:
        return derived(self, TRANSPOSE, tuple(range(ndim - 1, -1, -1)))
    normal = reduce.normal_axes(tuple(axes), ndim)
    if normal is None or len(normal) != ndim:
        return view_by_host(self, "transpose", *axes)
    return derived(self, TRANSPOSE, tuple([operator.index(a) % ndim for a in axes]))


def swapaxes(self: Any, axis1: Any, axis2: Any, /) -> Any:
    ndim = self.ndim
    if (
        not own(self)
        or type(axis1) is not int
        or type(axis2) is not int
        or not (-ndim <= axis1 < ndim and -ndim <= axis2 < ndim)
    ):
        return view_by_host(self, "swapaxes", axis1, axis2)
    axes = list(range(ndim))
    axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    return derived(self, TRANSPOSE, tuple(axes))


def squeeze(self: Any, axis: Any = None) -> Any:
    shape = self.shape
    axes = (
        reduce.normal_axes(axis, len(shape)) if axis is not None else tuple([i for i, n in enumerate(shape) if n == 1])
    )
    if not own(self) or axes is None or any(shape[a] != 1 for a in axes):
        return view_by_host(self, "squeeze", *(() if axis is None else (axis,)))
    left = tuple([n for i, n in enumerate(shape) if i not in axes])
    return derived(self, RESHAPE, left) if left != shape else self


def diagonal(self: Any, *args: Any, **kwargs: Any) -> Any:
    return view_by_host(self, "diagonal", *args, **kwargs)


def getfield(self: Any, *args: Any, **kwargs: Any) -> Any:
    return view_by_host(self, "getfield", *args, **kwargs)


def view(self: Any, dtype: Any = NoValue, type: Any = NoValue) -> Any:
    kind = self.__class__
    dtype, type = own_class(dtype), own_class(type)
    if isinstance(dtype, CLASS) and issubclass(dtype, ndarray):
        if type is not NoValue:
            raise ValueError("Cannot specify output type twice.")
        dtype, type = NoValue, dtype
    if type is not NoValue:
        if not (isinstance(type, CLASS) and issubclass(type, ndarray)):
            raise ValueError("Type must be a sub-type of ndarray type")
        kind = type
    if kind is ndarray and dtype is NoValue:
        if own(self):
            return derived(self, TRANSPOSE, tuple(range(self.ndim)))
        return part_of(self, self._host_().view())
    h = unwrap(self)
    if kind is not ndarray:
        new = None if dtype is NoValue else dtype_of(dtype)
        setter = None if new is None else renew.dtype_setter(kind)
        out = of_type(kind, h.view() if new is None or setter else h.view(new), self, self)
        if new is not None and setter:
            renew.give_dtype(out, new, setter)
        return out
    out = part_of(self, h.view())
    bind(out, out._s_, out._b_, out._h_.view(dtype_of(dtype)), HOST_VIEW)
    return out


CLASS = type


def own_class(given: Any) -> Any:
    """A class of NumPy's arrays, as its own masked arrays ask for, is ours of that name."""
    if isinstance(given, CLASS) and issubclass(given, numpy.ndarray):
        return subclasses.ours(given) or ndarray
    return given
