"""Operands of a ufunc that have a say: who overrides the call (`__array_ufunc__`), and who makes the result
(`__array_wrap__`)."""

from __future__ import annotations

import operator
from typing import Any

import numpy

from .array import Handle, is_traced, ndarray
from .calls import call_wrap
from .host import PLAIN, fresh, like, to_host
from .line_warnings import as_line

HOST_TYPES = PLAIN | {ndarray, numpy.ndarray, list, tuple}


def is_subclass(x: Any) -> bool:
    return type(x) is not ndarray and isinstance(x, Handle)


def has_protocol(x: Any) -> bool:
    """Whether an array of ours is of a subclass with an `__array_ufunc__` of its own."""
    kind = type(x)
    return kind is not ndarray and kind.__array_ufunc__ is not ndarray.__array_ufunc__  # type: ignore[attr-defined]


def has_hook(x: Any) -> bool:
    """Whether an array of ours is of a subclass that sees what ufuncs do: by an `__array_ufunc__`, or an
    `__array_wrap__`, of its own. That of a masked array, which NumPy's code has, needs to see only results."""
    kind = type(x)
    if kind is ndarray or has_protocol(x):
        return kind is not ndarray
    space = getattr(kind.__array_wrap__, "__globals__", {})
    return not space.get("__name__", "").startswith("lazynp")


def numpys(x: Any) -> Any:
    """Arguments with NumPy's arrays for ours, where types that override a call have refused: they may know those, and
    no others. The same object where there are none, or where they have no values."""
    kind = type(x)
    if kind is ndarray:
        return x if is_traced(x) else x._host_()
    if kind is dict:
        named = {k: numpys(v) for k, v in x.items()}
        return named if any([v is not x[k] for k, v in named.items()]) else x
    if kind is not list and kind is not tuple:
        return x
    values = [numpys(v) for v in x]
    return x if all(map(operator.is_, values, x)) else kind(values)


class Probe(numpy.ndarray):
    """An array of NumPy's that tells which ufunc an operator calls."""

    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **kwargs: Any) -> Any:
        return ufunc


def overriding(operands: Any) -> list[Any]:
    """The operands, of different types, with an `__array_ufunc__` of their own; subclasses before their bases."""
    found: list[Any] = []
    for x in operands:
        kind = type(x)
        if kind in HOST_TYPES:
            continue
        default: Any = ndarray.__array_ufunc__  # type: ignore[attr-defined]
        implementation = getattr(kind, "__array_ufunc__", default)
        if (
            implementation is default
            or implementation is numpy.ndarray.__array_ufunc__
            or any(type(o) is kind for o in found)
        ):
            continue
        at = next((i for i, o in enumerate(found) if issubclass(kind, type(o))), len(found))
        found.insert(at, x)
    return found


def ask(u: Any, method: str, foreign: list[Any], args: Any, kwargs: Any) -> Any:
    """The overriding operands in turn."""
    for x in foreign:
        if type(x).__array_ufunc__ is None:
            raise TypeError(f"operand '{type(x).__name__}' does not support ufuncs (__array_ufunc__=None)")
    for x in foreign:
        value = as_line(x.__array_ufunc__, u, method, *args, **kwargs)  # which may warn by a `stacklevel`
        if value is not NotImplemented:
            return value
    given, named = numpys(args), numpys(kwargs)
    known = given is not args or named is not kwargs
    if known and not kwargs.get("out") and not any(map(is_subclass, (*args, *foreign))):
        value = getattr(u.host, method)(*given, **named)
        return fresh(value) if type(value) is numpy.ndarray else value
    types = ", ".join(repr(type(x).__name__) for x in (*args, *kwargs.get("out", ())))
    shown = "".join(f", {k}={v!r}" for k, v in kwargs.items())
    raise TypeError(
        f"operand type(s) all returned NotImplemented from __array_ufunc__({u!r}, {method!r}, "
        f"{', '.join(map(repr, args))}{shown}): {types}"
    )


def wrapper_of(args: Any, outs: Any) -> Any:
    """The operand whose `__array_wrap__` makes the result; None where the result is an array of ours."""
    best, priority, found = None, -float("inf"), False
    for x in (*(outs or ()), *args):
        kind = type(x)
        if kind is ndarray:
            p = 0.0
            candidate = None
        elif (
            kind in HOST_TYPES
            or isinstance(x, type)
            or not hasattr(kind, "__array_wrap__")
            or isinstance(x, (numpy.ndarray, numpy.generic))
        ):
            continue
        else:
            p, candidate = getattr(x, "__array_priority__", 0.0), x
        if not found or p > priority or p == priority and best is None:
            best, priority, found = candidate, p, True
    return best


def wrapped(leader: Any, value: Any, outs: Any, context: Any) -> Any:
    """Results through `__array_wrap__`, NumPy's or the engine's."""

    def one(v: Any, i: int) -> Any:
        out = outs[i] if outs is not None else None
        scalar = not isinstance(v, (Handle, numpy.ndarray))
        array = out if out is not None else v if isinstance(v, Handle) else fresh(numpy.asarray(v))
        owner = out if is_subclass(out) else leader
        told = context and (*context[:2], i)
        return call_wrap(owner, array, told, scalar and out is None)

    return tuple([one(v, i) for i, v in enumerate(value)]) if type(value) is tuple else one(value, 0)


def array_wrap(self: Any, array: Any, context: Any = None, return_scalar: bool = False, /) -> Any:
    """`ndarray.__array_wrap__`."""
    if not isinstance(array, (Handle, numpy.ndarray)):
        raise TypeError("can only be called with ndarray object")
    if return_scalar and array.ndim == 0 and type(self) is ndarray:
        return array[()]
    if type(array) is type(self):
        return array
    if type(self) is ndarray and isinstance(array, Handle):
        return array.view(ndarray)
    ours: list[Any] = []
    return like(
        self, to_host(array, ours), ours if type(self) is ndarray else [a for a in ours if type(a) is not type(self)]
    )


array_wrap.__name__ = array_wrap.__qualname__ = "__array_wrap__"
ndarray.__array_wrap__ = array_wrap  # type: ignore[attr-defined]
