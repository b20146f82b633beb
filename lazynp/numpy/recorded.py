"""Methods of `ndarray` that are recorded for what is pending or large; small arrays, and what is not here, go to NumPy.

Each function takes the method's arguments and gives NotImplemented where it leaves the call to NumPy.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy

from ..config import config
from ..graph.node import ABSTRACT, Node, leaf
from ..ops import elementwise, indexing, joining, reductions, scans, sorting
from ..ops.shape import broadcast_to, reshape, slice_, transpose, whole
from ..runtime.views import TRANSPOSE, inverse_of
from .arithmetic import assign, common_order, in_memory_order
from .array import Handle, is_native, is_traced, known, ndarray, of_node
from .host import bare, like, to_host
from .indexing import has_traced
from .layout import array_of, order_of_copies, settled
from .library import shown
from .methods import give, native_first
from .native import dot as native_dot
from .record import as_node, cast_node, common_dtype, nodes_of, told
from .recorded_ufuncs import recordable
from .reduce import into, native_dtype, normal_axes

_whole = numpy.arange(1)
ROUND_IS_SELF = _whole.round() is _whole  # before NumPy 2.3
KINDS = {"q": "quicksort", "h": "heapsort", "s": "stable", "m": "mergesort"}  # NumPy looks at the first letter


def one_axis(axis: Any, ndim: int) -> int | None:
    """A non-negative axis; None where it is no int, or out of bounds."""
    axes = None if axis is None or type(axis) is tuple else normal_axes(axis, ndim)
    return None if axes is None else axes[0]


def flat(self: ndarray) -> Node:
    node = self._node_()
    return node if node.ndim == 1 else reshape(node, shape=(self.size,))


def take(self: ndarray, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    if mode not in ("raise", "clip", "wrap") or out is not None and type(out) is not ndarray:
        return NotImplemented
    index = indices if type(indices) is ndarray else numpy.asarray(indices) if type(indices) in LISTED else None
    if index is None or index.dtype.kind not in "iu" or not self.ndim or not concrete(index) and mode == "raise":
        return NotImplemented
    at = 0 if axis is None else one_axis(axis, self.ndim)
    if at is None:
        return NotImplemented
    if out is None and settled(self, index):
        value: Any = self._host_()
        return like(self, value.take(value_of(index), axis, None, mode), [self])
    source = flat(self) if axis is None else self._node_()
    n = source.shape[at]
    if mode == "raise":
        values: Any = (
            index._host_() if type(index) is ndarray else index
        )  # bad indices are an error at the call, as in NumPy
        if values.size and (values.max() >= n or values.min() < -n):
            return NotImplemented
    elif n == 0:
        return NotImplemented
    where = index._node_() if type(index) is ndarray else leaf(index.shape, index.dtype, index)
    return into(out, indexing.take(source, where, at, mode))


LISTED = frozenset({list, tuple, int, numpy.ndarray, numpy.intp})


def concrete(x: Any) -> bool:
    """Whether the values can be looked at, perhaps after they have been computed."""
    return type(x) is not ndarray or x._s_.buf is not None or x._node_().trace != ABSTRACT


def value_of(x: Any, dtype: Any = None) -> numpy.ndarray:
    """The value of an array or a list, for what shapes depend on."""
    return numpy.asarray(x._host_() if isinstance(x, Handle) else to_host(x, []), dtype)


def compress(self: ndarray, condition: Any, axis: Any = None, out: Any = None) -> Any:
    """How long the result is depends on the condition, which is computed here."""
    if (
        settled(self, condition)
        or not concrete(condition)
        or type(condition) not in (ndarray, numpy.ndarray, list)
        or not self.ndim
    ):
        return NotImplemented
    chosen, at = value_of(condition), 0 if axis is None else one_axis(axis, self.ndim)
    if settled(self, condition) or at is None or out is not None and type(out) is not ndarray:
        return NotImplemented
    source = flat(self) if axis is None else self._node_()
    places = numpy.flatnonzero(chosen) if chosen.ndim == 1 and chosen.dtype.kind in "biuf" else None
    if places is None or places.size and places[-1] >= source.shape[at]:
        return NotImplemented
    return into(out, indexing.take(source, leaf(places.shape, places.dtype, places), at))


MOST_CHOICES = 32  # each is a select over the whole result


def choose(self: ndarray, *several: Any, out: Any = None, mode: str = "raise") -> Any:
    choices = several[0] if len(several) == 1 else several
    given = list(choices) if type(choices) in (list, tuple) or type(choices) is ndarray and choices.ndim > 1 else []
    if not 0 < len(given) <= MOST_CHOICES or self.dtype.kind not in "biu" or mode not in ("raise", "clip", "wrap"):
        return NotImplemented
    nodes = nodes_of(given)
    if settled(self, *given) or nodes is None or mode == "raise" and not concrete(self):
        return NotImplemented
    if out is not None and type(out) is not ndarray:
        return NotImplemented
    number, count = cast_node(self._node_(), numpy.dtype(numpy.intp)), Node.of_scalar(numpy.intp(len(nodes)))
    if mode == "raise":
        places = value_of(self)
        if places.size and not 0 <= places.min() <= places.max() < len(nodes):
            return NotImplemented
    elif mode == "wrap":
        number = elementwise.remainder(number, count)
    dtype = common_dtype(nodes)
    try:
        shape = numpy.broadcast_shapes(number.shape, *[n.shape for n in nodes])
    except ValueError:
        return NotImplemented
    node = cast_node(nodes[0], dtype)
    for k, n in enumerate(nodes[1:], 1):  # the last for all that is larger, which is what `clip` says
        node = elementwise.where(elementwise.greater_equal(number, numpy.intp(k)), cast_node(n, dtype), node)
    node = node if node.shape == shape and node.value is None else broadcast_to(node, shape=shape)
    return array_of(node) if out is None else into(out, node)


def put(self: ndarray, indices: Any, values: Any, mode: str = "raise") -> Any:
    """In place. What is at hand NumPy writes into, without a copy."""
    index = value_of(indices) if concrete(indices) and type(indices) in (ndarray, *LISTED) else None
    if index is None or index.dtype.kind not in "iu" or mode not in ("raise", "clip", "wrap") or in_place(self, values):
        return NotImplemented
    index = index.reshape(-1)
    if not index.size or mode == "raise" and not -self.size <= index.min() <= index.max() < self.size:
        return NotImplemented
    new = in_one_row(values, self.dtype, lambda n: numpy.arange(index.size) % n)
    if new is None:
        return NotImplemented
    assign(self, indexing.put(self._node_(), leaf(index.shape, index.dtype, index.copy()), new, mode))
    return None


def in_place(x: Any, *others: Any) -> bool:
    """Whether NumPy is to write into x at once: it is at hand, or its memory is not only ours."""
    if type(x) is not ndarray or not is_native(x.dtype) or not x.size or not recordable(x):
        return True
    return config.limit >= 0 and known(x) and not config.strict and not any(map(is_traced, others))


def in_one_row(values: Any, dtype: Any, places: Callable[[int], Any]) -> Node | None:
    """Values in one row, in a dtype, of which `places(count)` says which are taken; None where NumPy sees to it."""
    try:  # a number that does not fit is an error of NumPy's
        made: Any = values if type(values) is ndarray else None
        if made is None and not has_traced(values):
            made = numpy.asarray(to_host(values, [], dtype), dtype)
    except (TypeError, ValueError, OverflowError):
        return None
    node = as_node(made)
    if made is None or node is None or not made.size or node.dtype.kind == "c" and dtype.kind != "c":
        return None
    row, where = cast_node(reshape(node, shape=(made.size,)), dtype), places(made.size)
    if type(where) is Node:
        return indexing.take(row, where, 0)
    taken = numpy.asarray(where)
    same = taken.shape == (made.size,) and (taken == numpy.arange(made.size)).all()
    return row if same else indexing.take(row, leaf(taken.shape, taken.dtype, taken), 0)


def mask_of(mask: Any, x: Any) -> Node | None:
    """A mask as the node of truth values of x's shape; None where it is of another size."""
    made = mask if type(mask) is ndarray else numpy.asarray(mask) if type(mask) in (list, bool, numpy.ndarray) else None
    node = None if made is None else as_node(made)
    if node is None or node.aval.size != x.size:
        return None
    node = node if node.dtype == bool else elementwise.not_equal(node, Node.of_scalar(node.dtype.type(0)))
    return node if node.shape == x.shape else reshape(node, shape=x.shape)


def putmask(a: Any, mask: Any, values: Any) -> Any:
    """`numpy.putmask`: where the mask is set, of the values, repeated, those that stand there."""
    a, mask, values = map(bare, (a, mask, values))
    typed = isinstance(values, (ndarray, numpy.ndarray, numpy.generic))
    if typed and not numpy.can_cast(values.dtype, a.dtype):  # an error of NumPy's
        return NotImplemented
    chosen = None if in_place(a, mask, values) else mask_of(mask, a)
    new = None if chosen is None else in_one_row(values, a.dtype, lambda n: numpy.arange(a.size) % n)
    if chosen is None or new is None:
        return NotImplemented
    assign(a, elementwise.where(chosen, reshape(new, shape=a.shape), a._node_()))
    return None


def place(arr: Any, mask: Any, vals: Any) -> Any:
    """`numpy.place`: where the mask is set, the values in their order, repeated."""
    arr, mask, vals = map(bare, (arr, mask, vals))
    chosen = None if in_place(arr, mask, vals) else mask_of(mask, arr)
    if chosen is None:
        return NotImplemented
    before = scans.scans["add"](reshape(chosen, shape=(arr.size,)), axis=0, dtype=numpy.dtype(numpy.intp))
    # as many as have been taken before; anything where the mask is not set
    new = in_one_row(vals, arr.dtype, lambda n: elementwise.remainder(elementwise.subtract(before, 1), n))
    if new is None:
        return NotImplemented
    assign(arr, elementwise.where(chosen, reshape(new, shape=arr.shape), arr._node_()))
    return None


def repeat(self: ndarray, repeats: Any, axis: Any = None) -> Any:
    if not self.ndim or not concrete(repeats):
        return NotImplemented
    at = 0 if axis is None else one_axis(axis, self.ndim)
    if at is None:
        return NotImplemented
    source = flat(self) if axis is None else self._node_()
    if type(repeats) is int and repeats >= 0:
        return array_of(joining.repeat(source, repeats, at))
    if settled(self, repeats):
        return NotImplemented
    counts = value_of(repeats) if type(repeats) in (ndarray, numpy.ndarray, list, tuple) else None
    if (
        counts is None
        or counts.dtype.kind not in "iu"
        or counts.shape != (source.shape[at],)
        or counts.min(initial=0) < 0
    ):
        return NotImplemented
    places = numpy.repeat(numpy.arange(len(counts)), counts)
    return array_of(indexing.take(source, leaf(places.shape, places.dtype, places), at))


def round_(self: ndarray, decimals: Any = 0, out: Any = None) -> Any:
    """As NumPy does it: scale, rint, scale back."""
    if out is not None:
        whole = self.dtype.kind != "f" and (type(decimals) is not int or decimals < 0)
        made = round_(self, decimals) if type(out) is ndarray and not whole else NotImplemented
        return into(out, made._node_()) if type(made) is ndarray else NotImplemented
    if self.dtype.kind not in "fiu":
        return NotImplemented
    try:
        places = operator.index(decimals)
    except TypeError:
        return NotImplemented
    if self.dtype.kind != "f":
        if not self.ndim:
            return NotImplemented
        if places < 0:  # by way of floats, as NumPy does it
            return round_(self.astype(float), places).astype(self.dtype)
        return self if ROUND_IS_SELF else self.copy("K")
    order = common_order((self,))
    if order is not None and places != 0:  # then NumPy has two orders only
        fortran = self._meta_().flags.f_contiguous
        order = tuple(range(self.ndim - 1, -1, -1)) if fortran else None
    node = (self if order is None else in_memory_order((self,), order)[0])._node_()
    up, down = elementwise.multiply, elementwise.divide
    if places < 0:
        up, down = down, up
    scale = float(10 ** abs(places)) if abs(places) < 23 else 10.0 ** abs(places)
    node = elementwise.rint(node) if places == 0 else told(down(told(elementwise.rint(told(up(node, scale)))), scale))
    return of_node(node) if order is None else of_node(node)._derived_(TRANSPOSE, order)


def conjugate(self: ndarray, *args: Any) -> Any:
    if args or self.dtype.kind not in "fciub":
        return NotImplemented
    if self.dtype.kind != "c":
        return self
    order = common_order((self,))
    if order is None:
        return of_node(elementwise.conjugate(self._node_()))
    return of_node(elementwise.conjugate(in_memory_order((self,), order)[0]._node_()))._derived_(TRANSPOSE, order)


def trace(self: ndarray, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None) -> Any:
    axes, target = normal_axes((axis1, axis2), self.ndim), native_dtype(dtype)
    if axes is None or len(axes) != 2 or type(offset) is not int or target is NotImplemented:
        return NotImplemented
    if out is not None and type(out) is not ndarray:
        return NotImplemented
    i, j = axis1 % self.ndim, axis2 % self.ndim
    turned = common_order((self,)) or tuple(range(self.ndim))  # the result lies as the array does
    rest = [k for k in inverse_of(turned) if k not in axes]
    rows, columns = self.shape[i], self.shape[j]
    n = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    node = transpose(self._node_(), axes=(*rest, i, j))
    row = reshape(node, shape=(*[self.shape[k] for k in rest], rows * columns))
    if out is None and n * math.prod([self.shape[k] for k in rest]) <= config.limit and settled(self):
        return like(self, self._host_().trace(offset, axis1, axis2, dtype), [self])  # few elements are added up
    first = max(-offset, 0) * columns + max(offset, 0)
    diagonal = slice_(row, key=(*whole(row.shape[:-1]), (first if n else 0, n, columns + 1)))
    total = told(reductions.reductions["add"](diagonal, axes=(len(rest),), keepdims=False, dtype=target))
    back = tuple([rest.index(k) for k in sorted(rest)])
    if out is not None:
        return into(out, total if back == tuple(range(len(rest))) else transpose(total, axes=back))
    out = of_node(total)
    return out if back == tuple(range(len(rest))) else out._derived_(TRANSPOSE, back)


def dot(self: ndarray, b: Any, out: Any = None) -> Any:
    if type(b) is not ndarray or out is not None and type(out) is not ndarray:
        return NotImplemented
    made = native_dot(self, b)
    return made if out is None else into(out, made._node_()) if type(made) is ndarray else NotImplemented


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
    return array_of(sorting.argsort(flat(self) if axis is None else self._node_(), axis=at, kind=how))


def by_lines(self: ndarray, axis: int, op: Callable[[Node, int], Node]) -> Node:
    """`op(node, axis)` of an array, with its axes as they lie in memory: lines that lie in one piece are not spread out
    for it (`percentile`, which has its axis in front)."""
    order = order_of_copies(self)
    if order is None:
        return op(self._node_(), axis)
    (turned,) = in_memory_order((self,), order)
    return transpose(op(turned._node_(), order[axis]), axes=order)


def sort(self: ndarray, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """In place: the sorted array becomes the value."""
    at, how = one_axis(axis, self.ndim), sorting_kind(kind, order, stable)
    if at is None or how is NotImplemented or not recordable(self):
        return NotImplemented
    assign(self, by_lines(self, at, lambda node, axis: sorting.sort(node, axis=axis, kind=how)))
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
    assign(self, by_lines(self, at, lambda node, axis: sorting.partition(node, axis=axis, kth=where)))
    return None


def argpartition(self: ndarray, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
    if not self.ndim:
        return NotImplemented
    x = flat(self) if axis is None else self._node_()
    at = 0 if axis is None else one_axis(axis, self.ndim)
    where = None if at is None else places(x.shape[at], kth)
    if at is None or not where or kind != "introselect" or order is not None:
        return NotImplemented
    return array_of(sorting.argpartition(x, axis=at, kth=where))


def searchsorted(self: ndarray, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    if side not in ("left", "right") or self.ndim != 1:
        return NotImplemented
    if sorter is not None:
        order = sorter if type(sorter) is ndarray else numpy.asarray(sorter)
        known = type(order) is not ndarray or order._node_().buffer is not None
        if order.dtype.kind not in "iu" or order.shape != self.shape or known and (numpy.asarray(order) < 0).any():
            return NotImplemented  # NumPy has its errors
        try:
            self = take(self, order)
        except IndexError:  # NumPy says ValueError here
            return NotImplemented
        if self is NotImplemented or self.ndim != 1:
            return NotImplemented
    wanted = v if type(v) in (ndarray, numpy.ndarray) else numpy.asarray(v) if type(v) in (int, float, list) else None
    nodes = nodes_of((self, wanted)) if wanted is not None else None
    if nodes is None or any(n.dtype.kind not in "biuf" for n in nodes):
        return NotImplemented
    dtype = numpy.result_type(*[n.dtype for n in nodes])
    return shown(sorting.searchsorted(*[cast_node(n, dtype) for n in nodes], side=side, stack=0))


FUNCTIONS: dict[str, Callable[..., Any]] = {"putmask": putmask, "_place": place}
TABLE: dict[str, Callable[..., Any]] = {
    "searchsorted": searchsorted,
    "take": take,
    "compress": compress,
    "choose": choose,
    "put": put,
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
