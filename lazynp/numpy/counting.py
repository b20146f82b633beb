"""What NumPy's C code does along one line, recorded where an array is pending, large or traced: interp, correlate,
bincount, reduceat, `ufunc.at`, lexsort, packbits.

Each gives NotImplemented where it leaves the call to NumPy, with its errors.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy

from ..graph.node import Node, leaf
from ..graph.op import Op
from ..ops import elementwise, indexing, signals, sorting
from ..ops.elementwise import convert
from ..ops.joining import flip
from ..ops.reductions import reductions
from ..ops.shape import broadcast_to, reshape, slice_, transpose, whole
from ..ops.shape import set_ as written_into
from ..ops.ufuncs import called
from . import complex_products, ufunc
from .arithmetic import assign
from .array import Handle, is_native, is_traced, ndarray, of_node
from .gathers import Places, places_of
from .host import at_hand
from .layout import array_of, settled
from .library import shown, wanted
from .record import as_node, as_nodes, by, cast_node, errors_kept, nodes_of, spreads, told
from .recorded import concrete, flat, in_place, one_axis, value_of
from .recorded_ufuncs import to_node_operand

Rule = Callable[..., Any]
FLOAT, COMPLEX, INTP = numpy.dtype(float), numpy.dtype(complex), numpy.dtype(numpy.intp)
REAL = "biuf"
UNSIGNED = {1: numpy.uint8, 2: numpy.uint16, 4: numpy.uint32, 8: numpy.uint64}


def rows_of(*given: Any, kinds: tuple[str, ...] = (REAL,) * 3) -> list[Node] | None:
    """Nodes of arrays and lists of numbers of these kinds of which one is pending, large or traced; None for others."""
    arrays = [to_node_operand(x) for x in given]
    nodes = as_nodes(arrays) if wanted(arrays) else None
    return None if nodes is None or any(n.dtype.kind not in k for n, k in zip(nodes, kinds)) else nodes


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, dtype: numpy.dtype[Any] = FLOAT) -> Any:
    """See `numpy.interp`, of values of that dtype."""
    kinds = REAL if dtype is FLOAT else REAL + "c"
    nodes = rows_of(x, xp, fp, kinds=(REAL, REAL, kinds))
    if nodes is None or nodes[1].ndim != 1 or nodes[1].shape != nodes[2].shape or not nodes[1].shape[0]:
        return NotImplemented
    edges = [None if v is None else as_node(v) for v in (left, right)]
    if any(e is None and v is not None for e, v in zip(edges, (left, right))):
        return NotImplemented
    if any(e is not None and (e.ndim or e.dtype.kind not in kinds) for e in edges):
        return NotImplemented
    if any(isinstance(v, numpy.complexfloating) and not isinstance(v, complex) for v in (left, right)):
        return NotImplemented  # of which NumPy takes the real part, and warns
    at, grid, values = [cast_node(n, to) if n.weak else convert(n, to) for n, to in zip(nodes, (FLOAT, FLOAT, dtype))]
    out = signals.interp(at, grid, values)
    low, high = signals.ends(grid)
    if edges[0] is not None:
        out = elementwise.where(elementwise.less(at, low), cast_node(edges[0], dtype), out)
    if edges[1] is not None:
        out = elementwise.where(elementwise.less(high, at), cast_node(edges[1], dtype), out)
    return array_of(out) if out.shape or is_traced_any(x, xp, fp) else array_of(out)[()]


def interp_complex(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    return interp(x, xp, fp, left, right, COMPLEX)


def is_traced_any(*given: Any) -> bool:
    return any(map(is_traced, given))


MODES = ("valid", "same", "full")


def correlate(a: Any, v: Any, mode: Any = 0, conjugated: bool = False) -> Any:
    arrays = [to_node_operand(x) for x in (a, v)]
    nodes = as_nodes(arrays) if wanted(arrays) else None
    if settled(*arrays):
        return NotImplemented
    if nodes is None or any(n.ndim != 1 or not n.shape[0] or n.dtype.kind == "b" for n in nodes):
        return NotImplemented
    kind = MODES[mode] if type(mode) is int and 0 <= mode < 3 else mode
    dtype = numpy.result_type(*[n.dtype for n in nodes])
    if kind not in MODES or dtype.char not in "bBhHiIlLqQfdgFDG":
        return NotImplemented
    x, y = [cast_node(n, dtype) for n in nodes]
    y = elementwise.conjugate(y) if conjugated and dtype.kind == "c" else y
    if x.shape[0] >= y.shape[0]:
        return array_of(signals.correlate(x, y, mode=kind))
    return array_of(flip(signals.correlate(y, x, mode=kind), (0,)))


def correlate2(a: Any, v: Any, mode: Any = 0) -> Any:
    return correlate(a, v, mode, True)


def is_counted(dtype: numpy.dtype[Any]) -> bool:
    """Whether `numpy.bincount` takes whole numbers of that dtype."""
    return numpy.can_cast(dtype, INTP) or dtype.kind == "u" and COUNTS_UINT64


try:
    COUNTS_UINT64 = numpy.bincount(numpy.zeros(1, numpy.uint64)).size == 1
except TypeError:  # before NumPy 2.3
    COUNTS_UINT64 = False


def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """How long the result is depends on the numbers, which are computed here."""
    given = to_node_operand(x)
    if type(given) not in (ndarray, numpy.ndarray) or not concrete(given) or given.dtype.kind not in "iu":
        return NotImplemented
    arrays = [given] if weights is None else [given, to_node_operand(weights)]
    if settled(*arrays):
        return NotImplemented
    fits = isinstance(minlength, (int, numpy.integer)) and minlength >= 0
    nodes = as_nodes(arrays) if wanted(arrays) and fits else None
    if nodes is None or any(n.ndim != 1 for n in nodes) or not is_counted(given.dtype):
        return NotImplemented
    numbers = value_of(given)
    most = int(numbers.view(UNSIGNED[numbers.itemsize]).max()) if numbers.size else -1  # negative ones are the largest
    if most > min(numpy.iinfo(numbers.dtype).max, numpy.iinfo(INTP).max):
        return NotImplemented
    if weights is not None and nodes[1].shape != nodes[0].shape:
        return NotImplemented
    n = max(most + 1, int(minlength))
    places = cast_node(nodes[0], INTP)
    if weights is None:
        return array_of(signals.counts(places, n=n))
    if nodes[1].dtype.kind not in REAL:
        return NotImplemented
    return array_of(signals.bincount(places, convert(nodes[1], FLOAT), n=n))


def packbits(a: Any, /, axis: Any = None, bitorder: Any = "big") -> Any:
    node, at = bits_of(a, axis, bitorder)
    if node is None or node.dtype.kind not in "biu":
        return NotImplemented
    return array_of(signals.packbits(node, axis=at, order=bitorder))


def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: Any = "big") -> Any:
    node, at = bits_of(a, axis, bitorder)
    if node is None or node.dtype != numpy.uint8 or type(count) not in (int, type(None)):
        return NotImplemented
    full = 8 * node.shape[at]
    n = full if count is None else count if count >= 0 else full + count
    return array_of(signals.unpackbits(node, axis=at, order=bitorder, n=n)) if n >= 0 else NotImplemented


def bits_of(a: Any, axis: Any, order: Any) -> tuple[Node | None, int]:
    """The node and the axis; no node where NumPy does it."""
    if (
        type(a) is not ndarray
        or at_hand(a)
        or not is_native(a.dtype)
        or not lies_straight(a)
        or order not in ("big", "little")
        or settled(a)
    ):
        return None, 0
    at = 0 if axis is None else one_axis(axis, a.ndim)
    return (None, 0) if at is None else (flat(a) if axis is None else a._node_(), at)


def lies_straight(a: Any) -> bool:
    """Whether the result, which NumPy has lie as the array does, lies in C's order."""
    return a.ndim > 0 and (is_traced(a) or a.flags.c_contiguous)


def lexsort(keys: Any, axis: Any = -1) -> Any:
    rows = list(keys) if type(keys) in (list, tuple, ndarray) else []
    nodes = rows_of(*rows) if rows else None
    at = None if nodes is None or not nodes[0].ndim else one_axis(axis, nodes[0].ndim)
    if nodes is None or at is None or any(n.shape != nodes[0].shape for n in nodes):
        return NotImplemented
    return array_of(sorting.lexsort(nodes, at))


def monotonicity(x: Any) -> Any:
    """1, -1 or 0, of a row that ascends, that descends, and of any other."""
    nodes = rows_of(x) if concrete(x) else None
    if nodes is None or nodes[0].ndim != 1:
        return NotImplemented
    (row,) = nodes
    n = row.shape[0]
    before, after = [slice_(row, key=((i, max(n - 1, 0), 1),)) for i in (0, min(1, n))]

    def none(condition: Node) -> bool:
        return not array_of(reductions["logical_or"](condition, axes=(0,), keepdims=False, dtype=None))

    if not none(elementwise.not_equal(row, row)):
        return NotImplemented
    return 1 if none(elementwise.greater(before, after)) else -1 if none(elementwise.less(before, after)) else 0


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: Any = "C") -> Any:
    modes = ("raise", "clip", "wrap")
    if type(multi_index) not in (list, tuple) or mode not in modes or order not in ("C", "F"):
        return NotImplemented
    nodes = rows_of(*multi_index) if all(map(concrete, multi_index)) else None
    dims = dims.tolist() if type(dims) is ndarray and dims.ndim == 1 else dims
    sizes = (dims,) if type(dims) is int else tuple(dims) if type(dims) in (tuple, list) else ()
    sizes = tuple([operator.index(n) if hasattr(n, "__index__") else -1 for n in sizes])
    if nodes is None or len(sizes) != len(nodes) or min(sizes) < 0 or any(n.dtype.kind not in "iu" for n in nodes):
        return NotImplemented
    for x, n in zip(multi_index, sizes) if mode == "raise" else ():
        places = value_of(x)
        if places.size and not 0 <= places.min() <= places.max() < n:
            return NotImplemented
    if mode != "raise" and (0 in sizes or not all([numpy.can_cast(n.dtype, INTP) for n in nodes])):
        return NotImplemented
    if math.prod(sizes) >= 1 << 62:
        return NotImplemented
    pairs = [(within(cast_node(n, INTP), size, mode), size) for n, size in zip(nodes, sizes)]
    out, step = None, 1
    for node, n in pairs[::-1] if order == "C" else pairs:
        part = elementwise.multiply(node, numpy.intp(step)) if step != 1 else node
        out, step = part if out is None else elementwise.add(part, out), step * n
    return array_of(out) if out is not None and out.shape else NotImplemented


def within(node: Node, n: int, mode: str) -> Node:
    """Indices as the mode says that they come between 0 and n."""
    if mode == "raise":
        return node
    if mode == "wrap":
        return elementwise.remainder(node, numpy.intp(n))
    return elementwise.minimum(elementwise.maximum(node, numpy.intp(0)), numpy.intp(n - 1))


def unravel_index(indices: Any, shape: Any, order: Any = "C") -> Any:
    given = to_node_operand(indices)
    sizes = (shape,) if type(shape) is int else tuple(shape) if type(shape) in (tuple, list) else ()
    if type(given) is not ndarray or not wanted((given,)) or given.dtype.kind not in "iu" or order not in ("C", "F"):
        return NotImplemented
    if not sizes or not all([type(n) is int and n > 0 for n in sizes]) or not numpy.can_cast(given.dtype, INTP):
        return NotImplemented
    if concrete(given):
        places = value_of(given)
        if places.size and not 0 <= places.min() <= places.max() < math.prod(sizes):
            return NotImplemented
    rest, found = cast_node(given._node_(), INTP), list[Node]()
    for n in sizes[:0:-1] if order == "C" else sizes[:-1]:
        found.append(elementwise.remainder(rest, numpy.intp(n)))
        rest = elementwise.floor_divide(rest, numpy.intp(n))
    found.append(rest)
    return tuple([shown(node) for node in (found[::-1] if order == "C" else found)])


TABLE: dict[str, Rule] = {
    "interp": interp,
    "interp_complex": interp_complex,
    "correlate": correlate,
    "correlate2": correlate2,
    "bincount": bincount,
    "packbits": packbits,
    "unpackbits": unpackbits,
    "lexsort": lexsort,
    "_monotonicity": monotonicity,
    "ravel_multi_index": ravel_multi_index,
    "unravel_index": unravel_index,
}

# --- Methods of ufuncs ------------------------------------------------------------------------------------------------

PARTS = frozenset({"add", "multiply", "maximum", "minimum", "logical_and", "logical_or", "bitwise_and", "bitwise_or"})
AT = {"add": "add", "subtract": "add", "multiply": "multiply", "minimum": "min", "maximum": "max"}


def reduceat(name: str, x: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """`ufunc.reduceat`. Where the parts are not one after the other they are put into a row first."""
    if name not in PARTS or dtype is not None or out is not None or not concrete(indices) or not wanted((x,)):
        return NotImplemented
    if settled(x):
        return NotImplemented
    nodes, at = nodes_of((x,)), one_axis(axis, x.ndim)
    starts = value_of(indices)
    if nodes is None or at is None or starts.ndim != 1 or starts.dtype.kind not in "iu" or not starts.size:
        return NotImplemented
    if not 0 <= starts.min() <= starts.max() < x.shape[at] or not lies_straight(x):
        return NotImplemented
    starts, (node,) = starts.astype(INTP), nodes
    if (starts[1:] <= starts[:-1]).any():
        ends = numpy.append(starts[1:], x.shape[at])
        lengths = numpy.maximum(ends - starts, 1)
        begin = numpy.cumsum(lengths) - lengths
        places = numpy.arange(lengths.sum()) + numpy.repeat(starts - begin, lengths)
        node, starts = indexing.take(node, leaf(places.shape, INTP, places), at), begin
    return array_of(told(signals.reduceat(node, leaf(starts.shape, INTP, starts), name=name, axis=at)))


def at(name: str, a: Any, indices: Any, *values: Any) -> Any:
    """`ufunc.at`: in place; None where it was recorded. What is at hand NumPy writes into, without a copy."""
    op = called.get(name)
    nin = 0 if op is None or op.ufunc is None else op.ufunc.nin
    if op is None or not 0 < nin <= 2 or len(values) != nin - 1 or any([v is a for v in values]):
        return NotImplemented
    nodes = None if in_place(a, *values) else nodes_of([to_node_operand(v) for v in values])
    if nodes is None:
        return NotImplemented
    strong = [cast_node(n, numpy.asarray(v).dtype) if n.weak else n for n, v in zip(nodes, values)]
    masked = type(indices) is ndarray and indices.dtype == bool and indices.shape == a.shape
    if masked and not any([n.shape for n in nodes]) and not errors_kept():
        return at_mask(op, a, indices._node_(), strong)
    places = None if traced_key(indices) else places_of(a, indices, False)
    if places is None:
        return NotImplemented
    base = a._node_()
    region = slice_(base, key=places.view) if places.view != whole(base.shape) else base
    shape = indexing.indexed_shape(region.shape, [i.aval for i in places.arrays], places.axes, places.at)
    if not all([spreads(n.shape, shape) for n in nodes]):
        return NotImplemented
    if 0 in shape:  # nothing to do, but for dtypes that NumPy refuses
        getattr(numpy, name).at(numpy.zeros(1, a.dtype), [], *[numpy.zeros(1, n.dtype) for n in strong])
        return None
    real = a.dtype.kind in "iuf" or name == "add" and a.dtype.kind == "c"
    if name in AT and real and not errors_kept() and same_loop(a.dtype, values[0], nodes[0]):
        new = cast_node(nodes[0], a.dtype)
        new = elementwise.negative(new) if name == "subtract" else new
        how = {"axes": places.axes, "at": places.at, "bounds": "raise", "mode": AT[name]}
        made: Node | None = indexing.scatter(region, new, *places.arrays, **how)
    else:
        made = in_rounds(op, region, places, [broadcast_to(n, shape=shape) for n in strong])
    if made is None:
        return NotImplemented
    assign(a, made if region is base else written_into(base, made, key=places.view))
    return None


def at_mask(op: Op, a: ndarray, mask: Node, values: list[Node]) -> Any:
    """`at` with a mask and numbers."""
    base = a._node_()
    given = [base, *values]
    try:
        made = complex_products.rounded(given) if complex_products.is_product(op.name, given) else op(*given)
        new = cast_node(made, a.dtype)
    except TypeError:
        return NotImplemented
    assign(a, elementwise.where(mask, new, base))
    return None


MOST_ROUNDS = 32


def in_rounds(op: Op, region: Node, places: Places, values: list[Node]) -> Node | None:
    """A region with an operation done at places, as often as each is met, in the order in which they are met; None
    where one is met very often, or NumPy has no such operation."""
    indices = numpy.broadcast_arrays(*[value_of(of_node(n)) for n in places.arrays])
    rows = [i.ravel() for i in indices]
    sizes = [region.shape[axis] for axis in places.axes]
    numbers = numpy.ravel_multi_index([i % n for i, n in zip(rows, sizes)], sizes)
    if not numbers.size:
        return region
    order = numpy.argsort(numbers, kind="stable")
    steps, begins = numpy.arange(order.size), numpy.diff(numbers[order], prepend=-1) != 0
    times = numpy.empty_like(steps)  # how often each was met before
    times[order] = steps - numpy.maximum.accumulate(numpy.where(begins, steps, 0))
    if times.max() >= MOST_ROUNDS:
        return None
    n, first, made = len(places.common), places.at, region
    for k in range(len(values)):
        v = values[k]
        v = transpose(v, axes=(*range(first, first + n), *range(first), *range(first + n, v.ndim)))
        values[k] = reshape(v, shape=(order.size, *v.shape[n:]))
    for k in range(times.max() + 1):
        now = numpy.flatnonzero(times == k)
        at_now = [leaf(now.shape, i.dtype, i[now]) for i in rows]
        there = [indexing.take(v, leaf(now.shape, now.dtype, now), 0) for v in values] if times.any() else values
        current = indexing.gather(made, *at_now, axes=places.axes, at=0, bounds="raise")
        given = [current, *there]
        try:
            if complex_products.is_product(op.name, given):  # whose numbers `at` takes one by one
                new = cast_node(complex_products.rounded(given), region.dtype)
            else:
                new = cast_node(told(op(*given), by(functools.partial(at_each, op.ufunc))), region.dtype)
        except TypeError:
            return None
        made = indexing.scatter(made, new, *at_now, axes=places.axes, at=0, bounds="raise", mode="set")
    return made


def at_each(host: Any, x: Any, *values: Any) -> Any:
    """What `host.at` makes of each row, in its words."""
    out = numpy.array(x)
    host.at(out, numpy.arange(len(out)), *values)
    return out


def same_loop(dtype: Any, value: Any, node: Node) -> bool:
    """Whether NumPy's `at`, for which Python's numbers are arrays like others, computes the same in another type."""
    if type(value) not in (bool, int, float, complex):
        return bool(numpy.result_type(dtype, node.dtype) == dtype)
    given = numpy.asarray(value)
    wider = numpy.result_type(dtype, given.dtype)
    if wider == dtype:
        return True
    # what is exact in the array's type is rounded once, and whole numbers wrap around in every width
    kinds = wider.kind == dtype.kind or (wider.kind in "iu" and dtype.kind in "iu")
    with numpy.errstate(all="ignore"):
        return kinds and wider.kind in "iuf" and bool(given.astype(dtype) == given)


def traced_key(key: Any) -> bool:
    return any([is_traced(k) for k in (key if type(key) is tuple else (key,)) if isinstance(k, Handle)])


ufunc.METHOD_RULES.update({"reduceat": reduceat, "at": at})
