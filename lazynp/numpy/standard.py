"""What version 2024.12 of the array API standard asks for and NumPy's Python layer does not have.

`sort` and `argsort` with `descending=`, `fft.fftfreq` and `fft.rfftfreq` with `dtype=`. Everything else of the standard
is NumPy's: see tests/test_array_api.py.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy

from .array import ndarray
from .dispatch import Dispatcher

Function = Callable[..., Any]


def turned(a: Any, axis: Any) -> Any:
    """The array the other way round along an axis."""
    return a[(slice(None),) * (axis % a.ndim) + (slice(None, None, -1),)] if a.ndim else a


def sort(plain: Function) -> Function:
    def sort(
        a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: bool = False
    ) -> Any:
        found = plain(a, axis, kind, order, stable=stable)
        return turned(found, -1 if axis is None else axis).copy() if descending else found

    return sort


def argsort(plain: Function) -> Function:
    """Equal elements stay in their order: the array is sorted the other way round, and so are the places found."""

    def argsort(
        a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: bool = False
    ) -> Any:
        if not descending:
            return plain(a, axis, kind, order, stable=stable)
        a = a if isinstance(a, (ndarray, numpy.ndarray)) else plain.__globals__["asanyarray"](a)
        a, along = (a.reshape(-1), -1) if axis is None else (a, axis)
        last = (a.shape[along] if a.ndim else 1) - 1
        if kind is None and stable is None:
            stable = True  # the standard's default
        return last - turned(plain(turned(a, along), along, kind, order, stable=stable), along)

    return argsort


def fftfreq(plain: Function) -> Function:
    def fftfreq(n: Any, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
        found = plain(n, d, device)
        if dtype is None:
            return found
        if numpy.dtype(dtype).kind != "f":
            raise ValueError(f"frequencies are real floating-point numbers: dtype={numpy.dtype(dtype)} is none of them")
        return found.astype(dtype)

    return fftfreq


EXTENDED: dict[str, dict[str, tuple[Callable[[Function], Function], str]]] = {
    "_core.fromnumeric": {
        "sort": (sort, "descending : bool, optional\n    The largest first."),
        "argsort": (argsort, "descending : bool, optional\n    The largest first; equal elements stay in their order."),
    },
    "fft._helper": {
        "fftfreq": (fftfreq, "dtype : dtype, optional\n    A real floating-point dtype for the result."),
        "rfftfreq": (fftfreq, "dtype : dtype, optional\n    A real floating-point dtype for the result."),
    },
}


def extend(name: str, module: types.ModuleType) -> None:
    """Give functions of a module of NumPy's that has been executed again their further arguments."""
    for function, (made, doc) in EXTENDED.get(name, {}).items():
        public = vars(module)[function]
        if isinstance(public, Dispatcher):
            public._implementation = like_original(made(public._implementation), public._implementation)
            vars(public)["_signature_of"] = public._implementation
            public._relevant = accepting(public._relevant)
        else:
            public = vars(module)[function] = like_original(made(public), public)
        public.__doc__ = f"{public.__doc__}\n\nBeyond NumPy, as the array API standard has it:\n\n{doc}\n"


def like_original(function: Function, original: Function) -> Function:
    """With the original's name and documentation, but its own signature."""
    functools.update_wrapper(function, original, updated=())
    del function.__wrapped__  # type: ignore[attr-defined]
    return function


def accepting(relevant: Function | None) -> Function | None:
    """A dispatcher's function, which need not be told of `descending`."""
    if relevant is None:
        return None

    @functools.wraps(relevant)
    def asked(*args: Any, descending: bool = False, **kwargs: Any) -> Any:
        return relevant(*args, **kwargs)

    return asked
