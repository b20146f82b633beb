"""0-d arrays of subclasses among the elements of a list that NumPy makes an array of."""

from __future__ import annotations

import operator
from typing import Any

import numpy

from .array import Handle, ndarray


class Element(numpy.ndarray):
    """A 0-d array of a subclass among the elements of a list, of which NumPy makes what it needs: a number, for which
    it asks (the masked constant has none), a text, or the object itself."""

    given: Any

    def __float__(self) -> float:
        return float(self.given)

    def __int__(self) -> int:
        return int(self.given)

    def __complex__(self) -> complex:
        return complex(self.given)

    def __index__(self) -> int:
        return operator.index(self.given)

    def __bool__(self) -> bool:
        return bool(self.given)

    def __str__(self) -> str:
        return str(self.given)


def element(x: Any, into: numpy.dtype[Any] | None = None, kept: bool = False) -> Any:
    """An element of a list: a 0-d subclass is asked for its number, of the kind of dtype that it has or goes into; or
    NumPy asks it, for what it needs."""
    if isinstance(x, Handle) and type(x) is not ndarray and not x.shape:
        if kept:
            made = x._host_().view(Element)
            made.given = x
            return made
        own = x.dtype.kind
        ask = {"f": "__float__", "i": "__int__", "u": "__int__"}.get(own if into is None else into.kind)
        if ask is not None and getattr(type(x), ask) is not getattr(ndarray, ask):
            number = getattr(x, ask)()
            return x.dtype.type(number) if into is None or into.kind == own else number
    return x
