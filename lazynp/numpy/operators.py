"""The operators of `ndarray`: the hot paths of the door."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy

from ..config import config
from ..runtime.storage import Storage, lock
from ..speed import attach, native
from . import subclasses
from .arithmetic import BINARY, COMPARE, NDARRAY, UNARY, Host, array_of_list, defers, grows, left_to
from .array import ndarray, new_handle
from .host import PLAIN, fresh
from .overrides import has_protocol
from .record import PYTHON_SCALARS
from .ufunc import elementwise, write_result

HOST = (numpy.generic, numpy.ndarray)
SEQUENCES = (list, tuple)
KNOWN = (*HOST, ndarray, *SEQUENCES)


def foreign_operand(x: Any, self: Any, inplace: bool = False) -> Any:
    """How an operator takes an operand that is not ours: NotImplemented where its type wants the operation for
    itself."""
    kind = type(x)
    if kind in PLAIN or kind is numpy.ndarray or isinstance(x, HOST):
        return subclasses.as_ours(x)
    if kind in SEQUENCES:
        return x if has_protocol(self) else array_of_list(x)
    return NotImplemented if defers(self, x, inplace) else x


def binary(name: str, short: str) -> None:
    host: Host = getattr(operator, {"and": "and_", "or": "or_"}.get(short, short))

    def forward(self: ndarray, other: Any) -> Any:
        buffer = self._s_.buf
        if self._b_ is buffer:
            x, limit = self._h_, config.limit
            if x.size <= limit:
                kind = type(other)
                if kind is ndarray:
                    if other._b_ is other._s_.buf:
                        y = other._h_
                        if y.size <= limit and (x.shape == y.shape or not grows((x, y))):
                            value = host(x, y)
                            if type(value) is not NDARRAY:
                                return value
                            if not value.flags.c_contiguous:
                                return fresh(value)
                            s = new_handle(Storage)  # `wrap`, written out: the hottest line of the door
                            s.buf, s.free, s.busy, s.node, s.reads, s.details = value, True, 0, None, None, None
                            out = new_handle(ndarray)
                            out._s_, out._v_, out._b_, out._h_ = s, None, value, value
                            return out
                elif kind in PYTHON_SCALARS:
                    value = host(x, other)
                    return fresh(value) if type(value) is NDARRAY else value
        if type(other) is not ndarray:
            given, other = other, foreign_operand(other, self)
            if other is NotImplemented:
                return left_to(short, self, given)
            if other is not given and type(given) not in SEQUENCES:
                return host(self, other)  # Python asks the subclass first
        return elementwise(name, host, self, other)

    def reflected(self: ndarray, other: Any) -> Any:
        if self._b_ is self._s_.buf and type(other) in PYTHON_SCALARS and self._h_.size <= config.limit:
            value = host(other, self._h_)
            return fresh(value) if type(value) is numpy.ndarray else value
        if type(other) in SEQUENCES:
            other = other if has_protocol(self) else array_of_list(other)
        elif type(other) not in PLAIN and subclasses.is_theirs(other):
            return host(subclasses.from_numpy(other), self)
        elif not isinstance(other, KNOWN) and defers(self, other):
            value = left_to(short, self, other, True)
            if value is not NotImplemented:
                return value
        return elementwise(name, host, other, self)

    forward.__name__ = forward.__qualname__ = f"__{short}__"
    attach(ndarray, f"__{short}__", forward, "forward", short)
    if short in COMPARE:
        return
    attach(ndarray, f"__r{short}__", reflected, "reflected", short)
    inplace_host: Host = getattr(operator, "i" + short)

    def inplace(self: ndarray, other: Any) -> Any:
        s = self._s_
        with lock:
            if s.free and self._b_ is s.buf and self._h_.size <= config.limit:
                if type(other) is ndarray:
                    if other._b_ is other._s_.buf:
                        inplace_host(self._h_, other._h_)
                        return self
                elif type(other) in PYTHON_SCALARS:
                    inplace_host(self._h_, other)
                    return self
        if type(other) is not ndarray:
            other = foreign_operand(other, self, True)
            if other is NotImplemented:
                return other
        return write_result(self, name, host, inplace_host, other)

    attach(ndarray, f"__i{short}__", inplace, "inplace", short)


def unary(name: str, short: str) -> None:
    host: Host = getattr(operator, short)

    def op(self: ndarray) -> Any:
        if self._b_ is self._s_.buf and self._h_.size <= config.limit:
            value = host(self._h_)
            return fresh(value) if type(value) is numpy.ndarray else value
        return elementwise(name, host, self)

    op.__name__ = op.__qualname__ = f"__{short}__"
    attach(ndarray, f"__{short}__", op, "unary", short)


def with_modulus(method: Callable[[Any, Any], Any], refuses: bool) -> Callable[..., Any]:
    """A power with the third argument that the method has in C: refused, or (in place) not looked at, as by NumPy."""

    def power(self: ndarray, other: Any, modulus: Any = None, /) -> Any:
        return NotImplemented if refuses and modulus is not None else method(self, other)

    power.__name__ = power.__qualname__ = method.__name__
    return power


for short, name in {**BINARY, **COMPARE}.items():
    binary(name, short)
for short, name in UNARY.items():
    unary(name, short)
if native is None:
    for name in ("__pow__", "__rpow__", "__ipow__"):
        setattr(ndarray, name, with_modulus(vars(ndarray)[name], name != "__ipow__"))
ndarray.__hash__ = None  # type: ignore[assignment]
