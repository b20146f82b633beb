"""Methods of `ndarray` that are recorded for what is pending or large; small arrays, and what is not here, go to NumPy.

Each function takes the method's arguments and gives NotImplemented where it leaves the call to NumPy.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy

from ..graph.node import Node, leaf
from ..ops import elementwise, indexing, joining, reductions, sorting
from ..ops.shape import reshape, slice_, transpose, whole
from ..runtime.views import TRANSPOSE, inverse_of
from .arithmetic import assign, common_order, in_memory_order
from .array import Handle, ndarray, of_node
from .host import to_host
from .layout import array_of
from .library import shown
from .methods import give, native_first
from .native import dot as native_dot
from .record import cast_node, nodes_of
from .recorded_ufuncs import recordable
from .reduce import native_dtype, normal_axes

_whole = numpy.arange(1)
ROUND_IS_SELF = _whole.round() is _whole  # before NumPy 2.3
KINDS = {"q": "quicksort", "h": "heapsort", "s": "stable", "m": "mergesort"}  # NumPy looks at the first letter


def one_axis(axis: Any, ndim: int) -> int | None:
    """A non-negative axis; None where it is no int, or out of bounds."""
    axes = None if axis is None or type(axis) is tuple else normal_axes(axis, ndim)
    return None if axes is None else axes[0]


def flat(self: ndarray) -> Node:
    node = self._node()
    return node if node.ndim == 1 else reshape(node, shape=(self.size,))


def take(self: ndarray, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    if out is not None or mode not in ("raise", "clip", "wrap"):
        return NotImplemented
    index = indices if type(indices) is ndarray else numpy.asarray(indices) if type(indices) in (list, tuple) else None
    if index is None or index.dtype.kind not in "iu" or not self.ndim:
        return NotImplemented
    at = 0 if axis is None else one_axis(axis, self.ndim)
    if at is None:
        return NotImplemented
    source = flat(self) if axis is None else self._node()
    n = source.shape[at]
    if mode == "raise":
        values: Any = (
            index._host() if type(index) is ndarray else index
        )  # bad indices are an error at the call, as in NumPy
        if values.size and (values.max() >= n or values.min() < -n):
            return NotImplemented
    elif n == 0:
        return NotImplemented
    where = index._node() if type(index) is ndarray else leaf(index.shape, index.dtype, index)
    return of_node(indexing.take(source, where, at, mode))


def repeat(self: ndarray, repeats: Any, axis: Any = None) -> Any:
    if type(repeats) is not int or repeats < 0 or not self.ndim:
        return NotImplemented
    at = 0 if axis is None else one_axis(axis, self.ndim)
    if at is None:
        return NotImplemented
    return array_of(joining.repeat(flat(self) if axis is None else self._node(), repeats, at))


def round_(self: ndarray, decimals: Any = 0, out: Any = None) -> Any:
    """As NumPy does it: scale, rint, scale back."""
    if out is not None or self.dtype.kind not in "fiu":
        return NotImplemented
    try:
        places = operator.index(decimals)
    except TypeError:
        return NotImplemented
    if self.dtype.kind != "f":
        if places < 0 or not self.ndim:
            return NotImplemented
        return self if ROUND_IS_SELF else self.copy("K")
    order = common_order((self,))
    if order is not None and places != 0:  # then NumPy has two orders only
        fortran = self._meta().flags.f_contiguous
        order = tuple(range(self.ndim - 1, -1, -1)) if fortran else None
    node = (self if order is None else in_memory_order((self,), order)[0])._node()
    up, down = elementwise.multiply, elementwise.divide
    if places < 0:
        up, down = down, up
    scale = float(10 ** abs(places)) if abs(places) < 23 else 10.0 ** abs(places)
    node = elementwise.rint(node) if places == 0 else down(elementwise.rint(up(node, scale)), scale)
    return of_node(node) if order is None else of_node(node)._derived(TRANSPOSE, order)


def conjugate(self: ndarray, *args: Any) -> Any:
    if args or self.dtype.kind not in "fciub":
        return NotImplemented
    if self.dtype.kind != "c":
        return self
    order = common_order((self,))
    if order is None:
        return of_node(elementwise.conjugate(self._node()))
    return of_node(elementwise.conjugate(in_memory_order((self,), order)[0]._node()))._derived(TRANSPOSE, order)


def trace(self: ndarray, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None) -> Any:
    axes, target = normal_axes((axis1, axis2), self.ndim), native_dtype(dtype)
    if axes is None or len(axes) != 2 or type(offset) is not int or target is NotImplemented or out is not None:
        return NotImplemented
    i, j = axis1 % self.ndim, axis2 % self.ndim
    turned = common_order((self,)) or tuple(range(self.ndim))  # the result lies as the array does
    rest = [k for k in inverse_of(turned) if k not in axes]
    rows, columns = self.shape[i], self.shape[j]
    n = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    node = transpose(self._node(), axes=(*rest, i, j))
    row = reshape(node, shape=(*[self.shape[k] for k in rest], rows * columns))
    first = max(-offset, 0) * columns + max(offset, 0)
    diagonal = slice_(row, key=(*whole(row.shape[:-1]), (first if n else 0, n, columns + 1)))
    out = of_node(reductions.reductions["add"](diagonal, axes=(len(rest),), keepdims=False, dtype=target))
    back = tuple([rest.index(k) for k in sorted(rest)])
    return out if back == tuple(range(len(rest))) else out._derived(TRANSPOSE, back)


def dot(self: ndarray, b: Any, out: Any = None) -> Any:
    return native_dot(self, b) if out is None and type(b) is ndarray else NotImplemented


def sorting_kind(kind: Any, order: Any, stable: Any) -> Any:
    """How to sort; NotImplemented where NumPy has to say that, or that it cannot be both."""
    if order is not None or stable not in (None, False, True) or None not in (kind, stable):
        return NotImplemented
    if kind is None:
        return "stable" if stable else None
    return KINDS.get(kind[:1].lower(), NotImplemented) if type(kind) is str else NotImplemented


def argsort(self: ndarray, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    at, how = 0 if axis is None else one_axis(axis, self.ndim), sorting_kind(kind, order, stable)
    if at is None or how is NotImplemented or not self.ndim:
        return NotImplemented
    return array_of(sorting.argsort(flat(self) if axis is None else self._node(), axis=at, kind=how))


def sort(self: ndarray, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """In place: the sorted array becomes the value."""
    at, how = one_axis(axis, self.ndim), sorting_kind(kind, order, stable)
    if at is None or how is NotImplemented or not recordable(self):
        return NotImplemented
    assign(self, sorting.sort(self._node(), axis=at, kind=how))
    return None


def places(n: int, kth: Any) -> tuple[int, ...] | None:
    """Non-negative places in a row of n; None where they are no ints, or out of bounds."""
    given = to_host(kth, []) if isinstance(kth, Handle) else kth
    given = given.tolist() if isinstance(given, numpy.ndarray) else given
    given = given if type(given) in (tuple, list) else (given,)
    if not all(type(k) is int or isinstance(k, numpy.integer) for k in given) or not all(-n <= k < n for k in given):
        return None
    return tuple([int(k) % n for k in given])


def partition(self: ndarray, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
    """In place, as `sort`."""
    at = one_axis(axis, self.ndim)
    where = None if at is None else places(self.shape[at], kth)
    if at is None or not where or kind != "introselect" or order is not None or not recordable(self):
        return NotImplemented
    assign(self, sorting.partition(self._node(), axis=at, kth=where))
    return None


def argpartition(self: ndarray, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
    if not self.ndim:
        return NotImplemented
    x = flat(self) if axis is None else self._node()
    at = 0 if axis is None else one_axis(axis, self.ndim)
    where = None if at is None else places(x.shape[at], kth)
    if at is None or not where or kind != "introselect" or order is not None:
        return NotImplemented
    return array_of(sorting.argpartition(x, axis=at, kth=where))


def searchsorted(self: ndarray, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    if sorter is not None or side not in ("left", "right") or self.ndim != 1:
        return NotImplemented
    wanted = v if type(v) in (ndarray, numpy.ndarray) else numpy.asarray(v) if type(v) in (int, float, list) else None
    nodes = nodes_of((self, wanted)) if wanted is not None else None
    if nodes is None or any(n.dtype.kind not in "biuf" for n in nodes):
        return NotImplemented
    dtype = numpy.result_type(*[n.dtype for n in nodes])
    return shown(sorting.searchsorted(*[cast_node(n, dtype) for n in nodes], side=side, stack=0))


TABLE: dict[str, Callable[..., Any]] = {
    "searchsorted": searchsorted,
    "take": take,
    "repeat": repeat,
    "round": round_,
    "conj": conjugate,
    "conjugate": conjugate,
    "dot": dot,
    "trace": trace,
    "argsort": argsort,
    "sort": sort,
    "partition": partition,
    "argpartition": argpartition,
}
for _name, _native in TABLE.items():
    give(_name, native_first(_name, _native))
