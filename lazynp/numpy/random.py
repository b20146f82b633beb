"""`lazynp.random`: NumPy's own generators, bit-exact, giving arrays of ours."""

from __future__ import annotations

from typing import Any

import numpy

from .array import ndarray
from .host import home, host_function, to_host, writable

INPLACE = frozenset({"shuffle"})


def method_of(name: str, host: Any) -> Any:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        ours: list[Any] = []
        values = [to_host(a, ours) for a in args]
        named = {k: to_host(v, ours) for k, v in kwargs.items()} if kwargs else kwargs
        if name in INPLACE and args and isinstance(args[0], ndarray):
            values[0] = args[0]._writable()
        out = kwargs.get("out")
        if out is not None:
            named["out"] = writable(out)
        value = host(self, *values, **named)
        return out if out is not None else home(value, ours)

    call.__name__, call.__doc__ = name, host.__doc__
    call.__qualname__ = getattr(host, "__qualname__", name)
    return call


def proxied(base: Any) -> Any:
    """A subclass of a generator class whose methods take and give arrays of ours."""
    table: dict[str, Any] = {"__module__": base.__module__.replace("numpy", "lazynp", 1), "__doc__": base.__doc__, "__slots__": ()}
    for name in dir(base):
        if not name.startswith("_") and callable(getattr(base, name)):
            table[name] = method_of(name, getattr(base, name))
    cls = type(base.__name__, (base,), table)
    return cls


class Random:
    """Our classes and functions, made when first asked for."""

    def __init__(self) -> None:
        self.classes: dict[Any, Any] = {}
        self.functions: dict[int, Any] = {}
        self.state: Any = None

    def of_class(self, base: Any) -> Any:
        found = self.classes.get(base)
        if found is None:
            found = self.classes[base] = proxied(base)
            found.__reduce__ = reduced
        return found


def reduced(self: Any) -> Any:
    base = type(self).__mro__[1]
    return rebuilt, (base.__name__, *base.__reduce__(self)[1:])


def rebuilt(name: str, *rest: Any) -> Any:
    raise NotImplementedError(name)


made = Random()
__all__ = ["host_function", "made", "numpy"]


def random_counterpart(key: str, value: Any) -> Any:
    return value
