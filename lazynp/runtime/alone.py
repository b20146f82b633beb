"""Few light operations, the last of whose values is asked for as soon as they have been recorded: NumPy's calls, one by
one, without a segment and a plan.

Planning and running a segment costs some 50 µs, and waking a second core with it more; NumPy is through with a light
operation on a few hundred thousand elements in less. Of a single operation nothing is lost by it, since a kernel has
nothing to fuse; of a few, what they make is still in the cache when the next one reads it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..backends.numpy.namespace import xp
from ..bounded import Bounded
from ..config import config
from ..graph.node import Node
from ..graph.op import LIBRARY, MAP, REDUCE, VIEW
from ..ops.code import LIGHT
from ..ops.joining import wrap_around
from ..ops.shape import as_index, reshape
from .numpy_calls import ERRORS, SILENT, call_of
from .pool import pool
from .profile import profile
from .segment import labelled
from .steps import copy_all, own
from .storage import held

FEW = 8  # nodes: the operation, the views that it reads, and what little it is made of
MANY = 64  # nodes that are views, which a plan would copy one by one, too
MOST = 12_000_000  # bytes that a reduction reads; more are worth a second core
WIDE = 1 << 20  # elements that a light operation makes; more are worth a second core
STEPS, MADE = 3, 1 << 23  # large operations in a row, and bytes that they make; of more a kernel is made
SMALLER = 8  # times: what a search makes of its operand (`argmax`, `packbits`), unlike a transform of it
LITTLE = 1 << 16  # bytes of a result that costs NumPy next to nothing
KEPT = 1024
calls: Bounded[Any, Callable[..., Any]] = Bounded(KEPT)


def values_of(nodes: list[Node], last: Node, passing: Node | None) -> dict[Node, Any] | None:
    """The values of one of the pending nodes and of those others that somebody needs; None where the others are no
    short way to it, or where a plan is worth its cost. Nothing is changed, whatever it raises.

    Args:
        nodes: all that is pending.
        last: whose value is asked for: the last of them, or any of nothing but views.
        passing: one that need not be stored.
    """
    if config.limit < 0 or config.deterministic or any([n.trace or n.dtype is None for n in nodes]):
        return None
    op: Any = last.op
    turns = len(nodes) > 1 and nodes[-2].op is wrap_around and last.inputs == (nodes[-2],) and is_rolled(last)
    way = nodes[:-2] if turns else nodes
    single = all([n.op.kind == VIEW for n in nodes[:-1]])  # type: ignore[union-attr]
    if not (is_light(last) if single else not way or is_short(way)):
        return None
    made: dict[Node, Any] = {}
    copied: list[Node] = []
    read: set[Node] = set()
    for node in way:
        args = [made.get(a, a.buffer if a.value is None else a.value) for a in node.inputs]
        if not all([a.value is not None or type(x) is np.ndarray for a, x in zip(node.inputs, args)]):
            return None
        if node.op.kind == VIEW and node is not last:  # type: ignore[union-attr]
            if not held(node):
                made[node] = shown(node, args[0])
                continue
            read = read or {a for n in nodes for a in n.inputs}
            if node in read or not is_light(node):
                return None
            copied.append(node)
        made[node] = value = on_the_way(node, args) if node.op.kind != VIEW and node is not last else called(node, args)  # type: ignore[union-attr]
        if value.dtype != node.dtype or value.shape != node.shape:
            return None
    if turns:
        (x,) = nodes[-2].inputs
        value = made.get(x, x.buffer)
        if type(value) is not np.ndarray:
            return None
        made[last] = rolled(last, value)
    profile.segments += 1
    profile.operations += len(nodes)
    if op.kind == LIBRARY or turns:
        profile.library += 1
    return {
        n: labelled(x, n.dtype)
        for n, x in made.items()
        if n is last or n in copied or n.op.kind != VIEW and n is not passing and held(n)  # type: ignore[union-attr]
    }


def is_rolled(node: Node) -> bool:
    """Whether a view of a periodic array with its ends is a slice that is the whole array, rolled."""
    (wrapped,) = node.inputs
    if node.op.name != "slice":  # type: ignore[union-attr]
        return False
    return all([n == m and step == 1 for n, (_, m, step) in zip(wrapped.inputs[0].shape, node.moving[0])])


def rolled(node: Node, x: np.ndarray) -> Any:
    """The value of such a slice, of the array x: without a copy for the ends, which nobody reads."""
    (wrapped,) = node.inputs
    widths, key = wrapped.moving[0], node.moving[0]
    shifts = {axis: w - start for axis, (w, (start, _, _)) in enumerate(zip(widths, key)) if w != start}
    return xp.roll(x, tuple(shifts.values()), tuple(shifts))


def called(node: Node, args: list[Any]) -> Any:
    """What NumPy makes of the operands, silently. A profile times it, as it does `of_library`."""
    if node.op.kind == VIEW:  # type: ignore[union-attr]
        copy = pool.empty(node.shape, node.dtype)
        view = args[0] if node.op is reshape and type(args[0]) is np.ndarray else shown(node, args[0])
        copy_all(copy if copy.shape == view.shape else copy.reshape(view.shape), view)
        return copy
    token = ERRORS.set(SILENT)
    try:
        return own(call_for(node)(*args), args)
    finally:
        ERRORS.reset(token)


def on_the_way(node: Node, args: list[Any]) -> Any:
    """The same in memory that has just been used."""
    call = call_for(node)
    if type(call) is not np.ufunc:
        return called(node, args)
    token = ERRORS.set(SILENT)
    try:
        return call(*args, out=pool.empty(node.shape, node.dtype))
    finally:
        ERRORS.reset(token)


def spoken(node: Node, args: list[Any], call: Callable[..., Any]) -> Any:
    """The node's value by `call(function, *args)`, which tells of errors; None where that makes another dtype."""
    value = np.asarray(call(call_for(node), *args))
    if value.dtype != node.dtype or value.shape != node.shape:
        return None
    profile.segments += 1
    profile.operations += 1
    return labelled(own(value, args), node.dtype)


def of_library(op: Any, params: dict[str, Any], *args: Any) -> Any:
    return op.lower(xp, *args, **params)


def is_light(node: Node) -> bool:
    """Whether NumPy is through with it before a plan would have begun; of a library call, whether nothing can come in
    between that a plan takes care of."""
    op: Any = node.op
    if op.kind == LIBRARY:
        return op.n_out == 1 and node.site is None and op.name != "callback"
    if op.kind == MAP:
        return op.code is not None and op.code.cost <= LIGHT and math.prod(node.shape) <= WIDE
    if op.kind == VIEW:  # a copy of it, in parts of which nothing else is asked for
        return op.name != "bitcast" and math.prod(node.shape) <= WIDE
    return op.kind == REDUCE and size(node.inputs[0]) <= MOST


def is_short(nodes: list[Node]) -> bool:
    """Whether few light operations, each of which NumPy is soon through with, end in the last of the nodes."""
    large = []
    for node in nodes:
        op: Any = node.op
        if op.kind == MAP:
            if size(node) > LITTLE:
                large.append(node)
                if op.code is None or op.code.cost > LIGHT:
                    return False
        elif node is not nodes[-1]:
            if op.kind not in (REDUCE, VIEW):
                return False
        elif not is_light(node) or op.kind == LIBRARY and size(node) * SMALLER > max(map(size, node.inputs), default=0):
            return False
    return len(large) <= STEPS and sum(map(size, large)) <= MADE


def size(node: Node) -> int:
    """In bytes."""
    return math.prod(node.shape) * node.dtype.itemsize


def shown(view: Node, x: np.ndarray) -> Any:
    """NumPy's view for a node that is one."""
    op: Any = view.op
    if op.name == "slice":
        return x[(*as_index(view.moving[0]), ...)]
    return op.lower(xp, x, **op.params_of(view))


def call_for(node: Node) -> Callable[..., Any]:
    """The operation as a call on arrays; that of an elementwise one or of a reduction is kept, since choosing NumPy's
    loop takes longer than many a call."""
    op: Any = node.op
    if op.kind == LIBRARY:
        return functools.partial(of_library, op, op.params_of(node))
    what = (op, node.static, node.moving, node.dtype, *[(a.dtype, a.weak and type(a.value)) for a in node.inputs])
    return calls.get(what) or calls.recall(what) or calls.keep(what, call_of(node))
