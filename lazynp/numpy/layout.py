"""How arrays lie in memory, and copies that lie as they are asked to."""

from __future__ import annotations

from typing import Any

from ..config import config
from ..runtime.processes import processes
from ..runtime.recorder import recorder
from ..runtime.storage import Storage
from ..runtime.views import TRANSPOSE, inverse_of
from .arithmetic import in_memory_order
from .array import is_native, known, ndarray, new_handle
from .host import bind
from .record import cast_node, finish, nodes_in_place


def c_contiguous(self: Any) -> bool:
    return (self._h_ if self._b_ is self._s_.buf else self._meta_()).flags.c_contiguous


def lies(self: Any, order: str) -> bool:
    """Whether an array lies in memory as `order` says."""
    flags = self._meta_().flags
    return order == "K" or flags.c_contiguous and order != "F" or flags.f_contiguous and order != "C"


def order_of_copies(self: Any) -> tuple[int, ...] | None:
    """How the axes of an array that is made like another one are turned against C's order, by the strides of that one,
    as NumPy does it (`PyArray_NewLikeArray`). None: not at all."""
    if self.ndim < 2 or c_contiguous(self):
        return None
    strides = [abs(n) for n in self._meta_().strides]
    memory = sorted(range(self.ndim), key=lambda i: -strides[i])
    return inverse_of(memory) if memory != sorted(memory) else None


def laid(self: Any, order: str, target: Any = None) -> ndarray:
    """A copy of an array whose axes lie in memory as `order` says, cast to a dtype."""
    straight, turned = c_contiguous(self), None
    if order == "F" or order == "A" and not straight and self._meta_().flags.f_contiguous:
        turned = tuple(range(self.ndim - 1, -1, -1)) if self.ndim > 1 else None
    elif order == "K":
        turned = order_of_copies(self)
    straight = self if turned is None else in_memory_order((self,), turned)[0]
    nodes, memory = nodes_in_place((straight,)) if is_native(self.dtype) else (None, [])
    node = straight._node_() if nodes is None else nodes[0]
    reads, view = straight._s_.reads, straight._view_()
    if reads is not None and view is not None and reads.get(view) is node:
        reads.pop(view, None)  # else the value would be the array's, too, and copied before it is written to
    node = node if target is None else cast_node(node, target)
    out = array_of(node)
    finish(node, memory)
    return out if turned is None else out._derived_(TRANSPOSE, turned)


def settled(*arrays: Any) -> bool:
    """Whether all values are there, so that nothing is won by waiting: NumPy does at once what it does in one pass."""
    return config.limit >= 0 and not config.strict and all([known(x) for x in arrays if type(x) is ndarray])


def at_once(*arrays: Any) -> bool:
    """Whether large arrays are `settled`, and NumPy's call on them is all: on the host, in one process, where no other
    order of computing is asked for."""
    plain = config.device == "cpu" and processes.run is None and not config.deterministic
    return plain and settled(*arrays)


def turned_to(self: Any, order: str) -> Any:
    """The array with its axes so that C's order of it is `order` of self; None where NumPy is asked."""
    meta = self._meta_()
    if order == "C" or order in ("K", "A") and meta.flags.c_contiguous:
        return self
    if order == "F" or order == "A":
        return self.transpose() if order == "F" or meta.flags.fnc else self
    if order != "K" or min(meta.strides) < 0:
        return None
    return self.transpose(*sorted(range(meta.ndim), key=lambda i: -meta.strides[i]))


def array_of(node: Any) -> ndarray:
    """A handle on a node: an array also where it has no axes."""
    s = new_handle(Storage)
    s.details, s.busy = None, 0
    s.hold(node)
    out = new_handle(ndarray)
    bind(out, s, False, None, None)
    recorder.settle()
    return out
