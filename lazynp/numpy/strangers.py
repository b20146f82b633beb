"""Methods where the array is NumPy's own: `np.ndarray.flatten(x)`, `x.view(kind)` with a class of ours, and
`x.__array_wrap__(a)` with an array of ours.

A program gets NumPy's arrays from libraries, and `isinstance(x, np.ndarray)` says of them that they are arrays. So they
can be given to the methods of the class, be viewed as one of its subclasses, and wrap results, as in `linalg`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from .. import speed
from .array import ndarray
from .creation import asarray
from .host import host_function
from .subclasses import from_numpy, ours, to_numpy


def unbound(host: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """NumPy's method on its own array, with the result as ours. What is no array it refuses, in its words."""
    return (host_function(host) if args and isinstance(args[0], numpy.ndarray) else host)(*args, **kwargs)


def guarded(host: Callable[..., Any], method: Callable[..., Any]) -> Any:
    """A method of ours, with `unbound` in its place for what is no array of ours."""
    return speed.method(host, method, flags=speed.NEVER)


def view(x: Any, *args: Any, **kwargs: Any) -> Any:
    """`x.view(...)` of an array or a scalar of NumPy's, where an argument is one of our classes."""
    if isinstance(x, numpy.ndarray):
        return from_numpy(x).view(*args, **kwargs)
    out = asarray(x).view(*args, **kwargs)
    return out if out.ndim else out.view(ndarray)[()]


def wrap(x: Any, array: Any, context: Any = None, return_scalar: bool = False, /) -> Any:
    """`x.__array_wrap__(array, ...)` of an array of NumPy's, with an array of ours."""
    if type(x) is numpy.ndarray:
        return array[()] if return_scalar and not array.ndim else array.view(ndarray)
    if ours(type(x)) is not None:
        return from_numpy(x).__array_wrap__(array, context, return_scalar)
    return numpy.ndarray.__array_wrap__(x, to_numpy(array), context, return_scalar)


speed.tell(unbound=unbound, view=view, wrap=wrap)
for _name in (
    *("__array__", "__complex__", "__contains__", "__copy__", "__deepcopy__", "__format__", "__iter__", "__reduce__"),
    *("__reduce_ex__", "__repr__", "__setstate__", "__sizeof__", "__str__", "byteswap", "dump", "dumps", "setfield"),
    *("setflags", "to_device", "tofile"),
):
    if hasattr(numpy.ndarray, _name):
        setattr(ndarray, _name, guarded(getattr(numpy.ndarray, _name), vars(ndarray)[_name]))
