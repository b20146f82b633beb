"""Computing at once: what is made of small values is computed node by node, and the recorder sees nothing of it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..away import on_host
from ..backends.numpy.namespace import xp
from ..config import config
from ..graph.node import ABSTRACT, Node
from ..graph.op import current
from ..graph.walk import toposort
from ..ops.bits import count_leading_zeros, population_count, shift_right_logical, width
from ..ops.elementwise import bitwise_and, convert, left_shift, nextafter, right_shift, spacing, weak_cast
from .array import ERRORS, NDARRAY, SILENT, wrap
from .dtypes import EXTENSIONS, FLOAT32, INT32, KIND_OF
from .spreading import note
from .spreading import state as spreading


def apply(f: Callable[..., Any], *nodes: Any, **params: Any) -> Any:
    """The array, or arrays in the structure (tuple, list, dict), that `f(*nodes, **params)` makes.

    Where all nodes have small values it is computed at once, node by node, and the recorder sees nothing of it.
    """
    limit = config.limit if not spreading.on else -1
    for n in nodes:
        if type(n) is Node and (n.trace or n.value is None and (n.buffer is None or size_of(n.buffer) > limit)):
            return wrapped(f(*nodes, **params))
    if limit < 0:
        return wrapped(f(*nodes, **params))
    sink, current.sink = current.sink, None
    try:
        out = f(*nodes, **params)
    finally:
        current.sink = sink
    return finished(out)


def apply_like(f: Callable[..., Any], *nodes: Node, weak: bool | None = None) -> Any:
    """`apply` of a function whose operands are taken as strong ones, and whose results are weak where all operands are,
    or where `weak` says so."""
    if not any([n.weak for n in nodes]):
        return apply(f, *nodes)
    yields = all([n.weak for n in nodes]) if weak is None else weak

    def run(*xs: Node) -> Any:
        out = f(*[convert(x, x.dtype) for x in xs])
        return weakened(out) if yields else out

    return apply(run, *nodes)


def weakened(out: Any) -> Any:
    """A node, or a tuple of them, as weak ones."""
    return tuple([weakened(x) for x in out]) if isinstance(out, tuple) else weak_cast(out, dtype=out.dtype)


def size_of(buffer: Any) -> int:
    """Of a value, for whether it is worth a step of the graph: what is on a device alone is."""
    if type(buffer) is tuple:
        return max(map(size_of, buffer), default=0)
    return buffer.size if type(buffer) is NDARRAY or buffer.here else sys.maxsize


def wrapped(out: Any) -> Any:
    """The arrays for a structure of nodes."""
    if type(out) is Node:
        return wrap(out)
    if isinstance(out, tuple):
        parts = [wrapped(x) for x in out]
        return type(out)(*parts) if hasattr(out, "_fields") else tuple(parts)
    if type(out) is list:
        return [wrapped(x) for x in out]
    if type(out) is dict:
        return {k: wrapped(x) for k, x in out.items()}
    return out


def nodes_of(out: Any) -> list[Node]:
    if type(out) is Node:
        return [out]
    if isinstance(out, (tuple, list)):
        return [n for x in out for n in nodes_of(x)]
    if type(out) is dict:
        return [n for x in out.values() for n in nodes_of(x)]
    return []


def finished(out: Any) -> Any:
    """The arrays for a structure of nodes that nobody recorded: computed now, or recorded, where they are large."""
    if spreading.on:
        for n in nodes_of(out):
            note(n)
    if (
        type(out) is Node
        and out.dtype is not None
        and out.op is not None
        and out.buffer is None
        and not out.trace
        and out.index == -1
        and all([n.value is not None or n.buffer is not None for n in out.inputs])
        and math.prod(out.shape) <= config.limit
    ):
        compute(out, True)
        out.inputs = ()
        return wrap(out)
    wanted = nodes_of(out)
    order = [n for n in toposort(wanted) if n.op is not None and n.buffer is None]
    if order:
        limit = config.limit
        if any([n.trace or n.index != -1 or n.dtype is not None and n.aval.size > limit for n in order]):
            record(order)
        else:
            ends = set(wanted)
            for n in order:
                compute(n, n in ends)
            for n in order:
                n.inputs = ()
    return wrapped(out)


def record(order: Sequence[Node]) -> None:
    """Tell the recorder of nodes that were made without its knowledge."""
    sink = current.sink
    for n in order:
        if n.index == -1 and n.trace < ABSTRACT and sink is not None:
            sink(n)


def compute(n: Node, wanted: bool) -> None:
    """Compute a node whose inputs have values, by its lowering. Where it is wanted, it owns its buffer."""
    op = n.op
    assert op is not None
    args = [on_host(i.buffer) if i.value is None else i.value for i in n.inputs]
    token = ERRORS.set(SILENT)
    try:
        value = op.lower(xp, *args, **dict(zip(op.static, n.static)), **dict(zip(op.moving, n.moving)))
    finally:
        ERRORS.reset(token)
    n.buffer = owned(value, n.dtype, args) if wanted or n.dtype is None else np.asarray(value)


def owned(value: Any, dtype: Any, args: Sequence[Any]) -> Any:
    """A result as a C-contiguous array (a tuple of them) that shares no memory with anything."""
    if dtype is None:
        return tuple([owned(v, v.dtype, args) for v in value])
    if type(value) is not NDARRAY:
        return np.array(value, dtype)
    if value.base is not None or not value.flags.c_contiguous or value.dtype != dtype:
        return np.array(value, dtype, order="C")
    return value.copy() if any([value is a for a in args]) else value


AS_STORED: set[Any] = {nextafter, spacing, count_leading_zeros, population_count, shift_right_logical}
"""Functions whose values depend on how numbers of a type are stored."""


def widened(impl: Callable[..., Any]) -> Callable[..., Any]:
    """The same function of nodes, and of the small types of ml_dtypes: computed in float32 (integers in int32), then
    rounded, unless it is one of `AS_STORED`."""
    if impl in AS_STORED:
        return impl

    def call(*nodes: Node, **params: Any) -> Any:
        if not any([n.dtype in EXTENSIONS for n in nodes]):
            return impl(*nodes, **params)
        dtype = next(n.dtype for n in nodes if n.dtype in EXTENSIONS)
        wide = FLOAT32 if KIND_OF[dtype] == "f" else INT32
        out = impl(*[convert(n, wide) if n.dtype == dtype else n for n in nodes], **params)
        if isinstance(out, tuple):
            return tuple([convert(x, dtype) if x.dtype == wide else x for x in out])
        return convert(out, dtype) if out.dtype == wide else out

    return call


def by_signed_bits(impl: Callable[[Node, Node], Node]) -> Callable[[Node, Node], Node]:
    """The same shift to the right, but that the upper bit of unsigned integers of less than a byte is a sign, as XLA
    has it."""
    usual = widened(impl)

    def shifted(x: Node, y: Node) -> Node:
        if x.dtype not in EXTENSIONS or KIND_OF[x.dtype] != "u":
            return usual(x, y)
        bits = width(x.dtype)
        gap, mask = [Node.of_scalar(np.int32(n)) for n in (32 - bits, (1 << bits) - 1)]
        signed = right_shift(left_shift(convert(x, INT32), gap), gap)
        return convert(bitwise_and(impl(signed, convert(y, INT32)), mask), x.dtype)

    AS_STORED.add(shifted)
    return shifted
