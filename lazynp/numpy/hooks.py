"""Where the hot paths of `operators` and `indexing` give up: subclasses, operands with `__array_ufunc__`, NumPy's own
views."""

from __future__ import annotations

from typing import Any

import numpy

from . import indexing, operators, ufunc
from .array import HOST_VIEW, Handle, ndarray
from .host import PLAIN, home, like, of_type, owner_of, part_of, to_host

SIMPLE = PLAIN | {ndarray, numpy.ndarray}
lead_elementwise, lead_write, lead_getitem = operators.elementwise, operators.write_result, indexing.pending_getitem


def elementwise(name: str, host: Any, *operands: Any) -> Any:
    for x in operands:
        kind = type(x)
        if kind is ndarray:
            if x._s.buf is not None and x._b is not x._s.buf:
                x._host()  # a view whose storage is there is at hand too
        elif kind not in SIMPLE:
            return with_protocol(name, host, operands)
    return lead_elementwise(name, host, *operands)


def with_protocol(name: str, host: Any, operands: Any) -> Any:
    """Operands that may have a say. The operator is NumPy's, not the ufunc: it compares structured arrays too."""
    u = ufunc.of(getattr(numpy, name))
    foreign = ufunc.overriding(operands)
    if foreign:
        return ufunc.ask(u, "__call__", foreign, operands, {})
    ours: list[Any] = []
    value = host(*[to_host(x, ours) for x in operands])
    leader = ufunc.wrapper_of(operands, None)
    return home(value, ours) if leader is None else ufunc.wrapped(leader, value, None, (u, operands, 0))


def write_result(self: Any, name: str, host: Any, inplace_host: Any, other: Any) -> Any:
    if type(other) not in SIMPLE and not isinstance(other, Handle):
        return ufunc.of(getattr(numpy, name))(self, other, out=(self,))
    if type(self) is not ndarray and type(self).__array_ufunc__ is not ufunc.default:
        return ufunc.of(getattr(numpy, name))(self, other, out=(self,))
    return lead_write(self, name, host, inplace_host, other)


def pending_getitem(self: Any, key: Any) -> Any:
    if self._v is not HOST_VIEW:
        if type(self) is ndarray and self._s.buf is not None and self._b is not self._s.buf:
            self._host()
            return self[key]
        return lead_getitem(self, key)
    ours: list[Any] = []
    h = self._host()
    part = h[to_host(key, ours)]
    if not isinstance(part, numpy.ndarray):
        return part
    if type(self) is ndarray:
        return like(self, part, [self])
    return of_type(type(self), part, self, owner_of(part, [self]) if part is not h else self)


operators.elementwise, operators.write_result, indexing.pending_getitem = elementwise, write_result, pending_getitem
indexing.pinned_part = part_of  # type: ignore[assignment]
