"""Views, joining, taking and writes of traced arrays: see `traced`."""

from __future__ import annotations

from typing import Any

import numpy

from ..graph.node import Node
from ..ops import elementwise, indexing
from ..ops.elementwise import convert, divide
from ..ops.elementwise import where as select
from ..ops.shape import broadcast_to, reshape, transpose, whole
from . import native, recorded, traced_views
from .arithmetic import dummy
from .array import ndarray
from .creation import array as make_array
from .host import TracedArgumentError, to_host
from .layout import array_of
from .record import as_node, cast_node
from .traced import (
    TABLE,
    UFUNC_METHODS,
    Rule,
    array,
    concrete,
    constant,
    fitted,
    handle,
    looked_at,
    mask_of,
    node_of,
    taken_apart,
    valued,
    written,
)

# --- Views and copies -------------------------------------------------------------------------------------------------


def astype(x: Any, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True) -> Any:
    target = numpy.dtype(dtype)
    possible = casting != "same_value" and numpy.can_cast(x.dtype, target, casting)
    if not possible or as_node(numpy.zeros(1, target)) is None:
        dummy(x).astype(target, order, casting)
        raise TracedArgumentError(f"a cast to {target}")
    return handle(convert(x._node_(), target))


def real(x: Any) -> Any:
    return traced_views.real(x) if x.dtype.kind == "c" and x.ndim else part(elementwise.real, x)


def imag(x: Any) -> Any:
    if x.dtype.kind != "c":
        return make_array(numpy.zeros(x.shape, x.dtype))
    return traced_views.imag(x) if x.ndim else part(elementwise.imag, x)


def part(op: Rule, x: Any) -> Any:
    """The part of a number; a real one is its own."""
    return handle(op(x._node_())) if x.dtype.kind == "c" else x


def ordered_reshape(x: Any, *shape: Any, order: str = "C", **kwargs: Any) -> Any:
    full = dummy(x).reshape(*shape, order=order).shape
    node = x._node_()
    if order == "F":
        flipped = reshape(backwards(node), shape=full[::-1])
        return array_of(backwards(flipped))
    return array_of(reshape(node, shape=full))


def backwards(node: Node) -> Node:
    return transpose(node, axes=tuple(range(node.ndim - 1, -1, -1)))


def ravel(x: Any, order: str = "C") -> Any:
    return ordered_reshape(x, (x.size,), order="F" if order == "F" else "C")


def moved_axes(name: str) -> Rule:
    """A view that only moves axes, by what NumPy does to an array of as many axes, all of different lengths."""

    def rule(x: Any, *args: Any) -> Any:
        model = getattr(numpy.empty(tuple(range(2, 2 + x.ndim)), bool), name)(*[to_host(a, []) for a in args])
        return array_of(transpose(x._node_(), axes=tuple([n - 2 for n in model.shape])))

    return rule


def squeeze(x: Any, axis: Any = None) -> Any:
    return array_of(reshape(x._node_(), shape=dummy(x).squeeze(axis).shape))


def diagonal_node(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
    n = numpy.diagonal(dummy(x), offset, axis1, axis2).shape[-1]
    node, i, j = x._node_(), axis1 % x.ndim, axis2 % x.ndim
    rest = [a for a in range(node.ndim) if a not in (i, j)]
    rows, columns = numpy.arange(n) + max(-offset, 0), numpy.arange(n) + max(offset, 0)
    node = transpose(node, axes=(*rest, i, j))
    last = node.ndim - 2
    return indexing.gather(node, constant(rows), constant(columns), axes=(last, last + 1), at=last, bounds="raise")


def as_strided(x: Any, shape: Any = None, strides: Any = None) -> Any:
    """Each element's place in memory, counted in elements: right for what lies in C's order."""
    if not x.flags.c_contiguous:
        raise TracedArgumentError("as_strided")
    shape, strides = tuple(x.shape if shape is None else shape), tuple(x.strides if strides is None else strides)
    places = numpy.zeros((), numpy.intp)
    for n, s in zip(shape, strides):
        places = places[..., None] + numpy.arange(n) * (s // x.dtype.itemsize)
    return traced_views.at_places(x, constant(places))


def broadcast(x: Any, shape: Any) -> Any:
    full = tuple(shape) if numpy.iterable(shape) else (shape,)
    numpy.broadcast_to(dummy(x), full)
    return array_of(broadcast_to(x._node_(), shape=full))


def take(x: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    node = node_of(x)
    if axis is None:
        node, axis = reshape(node, shape=(node.aval.size,)), 0
    at = axis % node.ndim if -node.ndim <= axis < node.ndim else axis
    if concrete(indices):
        indices = valued(make_array(indices), "take")
        numpy.take(numpy.broadcast_to(numpy.zeros((), bool), node.shape), indices, at, mode=mode)
        indices = constant(indices)
    return written(out, indexing.take(node, indices if type(indices) is Node else indices._node_(), at, mode))


def repeat(x: Any, repeats: Any, axis: Any = None) -> Any:
    node = node_of(x)
    if axis is None:
        node, axis = reshape(node, shape=(node.aval.size,)), 0
    places = numpy.repeat(numpy.arange(node.shape[axis]), valued(repeats, "repeat"))
    return array_of(indexing.take(node, constant(places), axis % node.ndim))


def compress(x: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    (places,) = numpy.nonzero(valued(make_array(condition), "compress"))
    return take(x, places, axis, out)


def choose(x: Any, *several: Any, out: Any = None, mode: str = "raise") -> Any:
    """Where the numbers have no value, they are taken to be in range."""
    if mode != "raise" or concrete(x):
        return recorded.choose(x, *several, out=out, mode=mode)
    choices = several[0] if len(several) == 1 else several
    number, nodes = node_of(x), [node_of(c) for c in choices]
    dtype = numpy.result_type(*[n.dtype for n in nodes])
    node = cast_node(nodes[0], dtype)
    for k, n in enumerate(nodes[1:], 1):
        node = select(elementwise.equal(number, k), cast_node(n, dtype), node)
    shape = numpy.broadcast_shapes(number.shape, *[n.shape for n in nodes])
    return written(out, node if node.shape == shape else broadcast_to(node, shape=shape))


def where(condition: Any, *choices: Any) -> Any:
    if len(choices) != 2:
        return NotImplemented
    return native.where(*[x if type(x) is ndarray else make_array(x) for x in (condition, *choices)])


def concatenate(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    given = [x if type(x) is ndarray else make_array(x) for x in arrays]
    if axis is None:
        given, axis = [x.reshape(-1) for x in given], 0
    if not given or any(x.ndim != given[0].ndim for x in given) or not given[0].ndim:
        numpy.concatenate([dummy(x) for x in given], axis)
    made = native.native_concatenate(given, axis, dtype)
    if made is NotImplemented:
        numpy.concatenate([dummy(x) for x in given], axis, dtype=dtype, casting=casting)
    return made if out is None or made is NotImplemented else written(out, made._node_())


def conjugate(x: Any) -> Any:
    return handle(elementwise.conjugate(x._node_())) if x.dtype.kind == "c" else x


# --- Writes -----------------------------------------------------------------------------------------------------------


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    node = node_of(src)
    if not node.weak and not numpy.can_cast(node.dtype, dst.dtype, casting):
        numpy.copyto(numpy.empty((), dst.dtype), numpy.empty((), node.dtype), casting)
    node = cast_node(node, dst.dtype)
    if where is not True:
        node = select(mask_of(where), node, dst._node_())
    written(dst, fitted(node, dst.shape))


def putmask(a: Any, mask: Any, values: Any) -> None:
    """`values` are repeated to a's length."""
    new = node_of(values)
    if not new.weak:
        numpy.putmask(numpy.empty(1, a.dtype), [False], numpy.empty(1, new.dtype))  # its error, where it casts unsafely
    if new.shape not in ((), a.shape):
        places = numpy.arange(a.size).reshape(a.shape) % new.aval.size
        new = indexing.take(reshape(new, shape=(new.aval.size,)), constant(places), 0)
    written(a, select(node_of(mask), cast_node(new, a.dtype), a._node_()))


def place(arr: Any, mask: Any, vals: Any) -> None:
    """What `recorded.place` leaves to NumPy: no values, or an array whose memory NumPy has."""
    raise TracedArgumentError("place")


def put(x: Any, indices: Any, values: Any, mode: Any = "raise") -> None:
    places = make_array(indices)
    if concrete(places):
        known = valued(places, "put").reshape(-1)
        numpy.put(numpy.empty(x.shape, bool), known, True, mode)
        where, count = constant(known), len(known)
    else:
        where, count = node_of(places.reshape(-1)), places.size
    new = node_of(make_array(values).reshape(-1))
    new = indexing.take(new, constant(numpy.arange(count) % max(new.shape[0], 1)), 0)
    written(x, indexing.put(x._node_(), where, cast_node(new, x.dtype), mode))


def refused(name: str) -> Rule:
    """A method that `recorded` has, for the arguments that it leaves to NumPy: most often for the error."""

    def rule(x: Any, *args: Any, **kwargs: Any) -> Any:
        getattr(dummy(x).copy(), name)(*[looked_at(a) for a in args], **{k: looked_at(v) for k, v in kwargs.items()})
        raise TracedArgumentError(name)

    return rule


AT_MODES = {
    "add": "add",
    "subtract": "add",
    "multiply": "multiply",
    "divide": "multiply",
    "minimum": "min",
    "maximum": "max",
}


def ufunc_at(name: str, a: Any, indices: Any, *values: Any) -> None:
    if name not in AT_MODES or not values:
        raise TracedArgumentError(f"{name}.at")
    new = cast_node(node_of(values[0]), a.dtype)
    new = elementwise.negative(new) if name == "subtract" else divide(1.0, new) if name == "divide" else new
    view, axes, at, arrays = taken_apart(a, indices)
    if view != whole(a.shape) or not axes:
        raise TracedArgumentError(f"{name}.at with slices")
    written(a, indexing.scatter(a._node_(), new, *arrays, axes=axes, at=at, bounds="raise", mode=AT_MODES[name]))


TABLE.update(
    {
        "array": array,
        "astype": astype,
        "real": real,
        "imag": imag,
        "reshape": ordered_reshape,
        "ravel": ravel,
        "flatten": ravel,
        "transpose": moved_axes("transpose"),
        "swapaxes": moved_axes("swapaxes"),
        "squeeze": squeeze,
        "diagonal": lambda x, *args, **kwargs: array_of(diagonal_node(x, *args, **kwargs)),
        "as_strided": as_strided,
        "broadcast_to": broadcast,
        "take": take,
        "repeat": repeat,
        "compress": compress,
        "choose": choose,
        "where": where,
        "concatenate": concatenate,
        "copyto": copyto,
        "putmask": putmask,
        "_place": place,
        "put": put,
        "sort": refused("sort"),
        "partition": refused("partition"),
        "conj": conjugate,
        "conjugate": conjugate,
    }
)
UFUNC_METHODS["at"] = ufunc_at
