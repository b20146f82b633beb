"""Shape, strides and dtype of an array, changed in place: deprecated, strides by NumPy 2.4 and the others by 2.5.

`a.shape = 2, 3` warns where NumPy does and with NumPy's words; `a._set_shape((2, 3))`, which NumPy has from 2.5 on for
its own subclasses, does not.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy

from ..notices import outside
from .array import HOST_VIEW, ndarray
from .host import SUBCLASS, bind, set_base


def become(self: Any, view: numpy.ndarray) -> None:
    """Make the handle show this NumPy view of its (pinned) storage."""
    base = self.base
    bind(self, self._s_, SUBCLASS if type(self) is not ndarray else self._s_.buf, view, HOST_VIEW)
    if base is not None and getattr(self, "_base_", None) is None:
        set_base(self, base)  # of memory that was borrowed


def change(view: numpy.ndarray, name: str, value: Any) -> None:
    """Change an attribute of a NumPy array, without a warning if there is a way."""
    quiet = getattr(view, "_set_" + name, None)
    if quiet is not None:
        quiet(value)
    else:
        setattr(view, name, value)


def set_strides(self: Any, strides: Any) -> None:
    view = self._pin_().view()
    with warnings.catch_warnings(action="ignore"):  # it would name this line
        view.strides = strides
    become(self, view)


def set_dtype(self: Any, dtype: Any) -> None:
    view = self._pin_().view()
    change(view, "dtype", dtype)
    become(self, view)


class Subclass(numpy.ndarray):
    """A subclass as NumPy's `view` may dislike it."""

    dtype = property(lambda self: numpy.ndarray.dtype.__get__(self), lambda self, value: None)


def words(action: Callable[[], Any]) -> list[Any]:
    """What NumPy warns of when that is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return [w.message for w in caught]


SAID = {
    "shape": words(lambda: setattr(numpy.ones(1), "shape", (1,))),
    "strides": words(lambda: setattr(numpy.ones(1), "strides", (8,))),
    "dtype": words(lambda: setattr(numpy.ones(1), "dtype", float)),
    "view": words(lambda: numpy.ones(1).view(Subclass).view("i8")),
}


def tell_of(what: str) -> None:
    """Say what NumPy says of it, at the user's line."""
    for message in SAID[what]:
        warnings.warn(message, stacklevel=outside())


def deprecated(name: str, setter: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """An attribute's setter, with NumPy's warning."""

    def assign(self: Any, value: Any) -> None:
        tell_of(name)
        setter(self, value)

    return assign if SAID[name] else setter


def dtype_setter(cls: type) -> str | None:
    """The attribute through which `view` gives an array of a subclass its dtype, the one that is defined nearest to
    `cls`. None where the class says by `_set_dtype = None` that `__array_finalize__` is enough."""
    if not hasattr(numpy.ndarray, "_set_dtype"):
        return "dtype"
    for holder in cls.__mro__:
        for name in ("_set_dtype", "dtype"):
            if name in vars(holder):
                return name if vars(holder)[name] is not None else None
    return None


def give_dtype(out: Any, dtype: numpy.dtype[Any], setter: str) -> None:
    """The last step of `view`."""
    if setter == "dtype":
        out.dtype = dtype
        tell_of("view")
    else:
        out._set_dtype(dtype)


def refused(descriptor: Any, *value: Any) -> Any:
    """NumPy's error for an attribute that cannot be written or deleted."""
    act = descriptor.__set__ if value else descriptor.__delete__
    act(numpy.empty(0), *value)


def with_refusals(name: str, ours: property) -> property:
    """The property of an attribute that NumPy has, where what it does not do raises NumPy's error."""
    descriptor = getattr(numpy.ndarray, name)
    put = ours.fset or (lambda self, value: refused(descriptor, value))
    return property(ours.fget, put, lambda self: refused(descriptor), ours.__doc__)
