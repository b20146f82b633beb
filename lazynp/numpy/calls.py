"""The arguments of a ufunc's call and of its methods: put in order, and checked before an override is asked."""

from __future__ import annotations

import warnings
from typing import Any

import numpy

from ..notices import outside
from .supported import VERSION


def check_outs(u: Any, method: str, out: Any, outs: Any) -> None:
    """NumPy's errors for an `out` of the wrong length."""
    if any(o is Ellipsis for o in outs) and VERSION >= (2, 3):
        raise TypeError("must use `...` as `out=...` and not per-operand/in a tuple")
    if method == "__call__":
        if type(out) is tuple and len(outs) != u.nout:
            raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
        if type(out) is not tuple and u.nout > 1:
            raise TypeError("'out' must be a tuple of arrays")
    elif type(out) is tuple and len(outs) != 1:
        raise ValueError("The 'out' tuple must have exactly one entry")


def with_out(args: Any, kwargs: Any, place: int) -> Any:
    """A method's arguments with those by position, from the axis on, as keywords, as an override is given them."""
    first = place - 2
    if len(args) > first:
        if len(args) > place and (args[place] is Ellipsis or type(args[place]) is tuple):
            numpy.add.reduce([0], 0, None, args[place])  # NumPy's error, in its version's words
        by_place = dict(zip(BY_PLACE, args[first:]))
        if len(args) - first > len(BY_PLACE) or by_place.keys() & kwargs.keys():
            return args, kwargs  # NumPy says what is wrong
        kwargs = {**by_place, **kwargs}
        args = args[:first]
    if kwargs.get("initial") is numpy._NoValue:
        kwargs = {k: v for k, v in kwargs.items() if k != "initial"}
    return args, kwargs


BY_PLACE = ("axis", "dtype", "out", "keepdims", "initial", "where")
KEYWORDS = frozenset(
    {"out", "where", "axes", "axis", "keepdims", "casting", "order", "dtype", "subok", "signature", "sig"}
)
PLACES = {"outer": (2, 2), "at": (2, 3), "reduce": (1, 1), "accumulate": (1, 1), "reduceat": (2, 2)}


def check_call(u: Any, method: str, args: Any, kwargs: Any) -> None:
    """NumPy's errors for arguments that no implementation takes, before an override is asked."""
    least, most = (u.nin, u.nargs) if method == "__call__" else PLACES[method]
    name = u.host.__name__ if method == "__call__" else method
    if not least <= len(args) <= most:
        raise TypeError(f"{name}() takes from {least} to {most} positional arguments but {len(args)} were given")
    for one, other in (("sig", "signature"), ("axis", "axes")):
        if one in kwargs and other in kwargs:
            raise TypeError(f"cannot specify both '{one}' and '{other}'")
    for k in kwargs if method in ("__call__", "outer") else ():
        if k not in KEYWORDS:
            raise TypeError(f"{name}() got an unexpected keyword argument '{k}'")


def call_wrap(owner: Any, array: Any, context: Any, scalar: bool) -> Any:
    """`owner.__array_wrap__`, with as many arguments as it takes: fewer than three are deprecated in NumPy."""
    given = (array, context, scalar)
    for count in (3, 2, 1):
        try:
            value = owner.__array_wrap__(*given[:count])
        except TypeError as error:
            if count == 1 or error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # it took the arguments
            continue
        if count < len(given):
            warnings.warn(
                "__array_wrap__ must accept context and return_scalar arguments (positionally) in the future. "
                "(Deprecated NumPy 2.0)",
                DeprecationWarning,
                stacklevel=outside(),
            )
        break
    return value
