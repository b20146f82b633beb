"""One operation whose value is asked for as soon as it has been recorded: NumPy's call, without a segment and a plan.

Planning and running a segment costs some 50 µs, and waking a second core with it more; NumPy is through with a light
operation on a few hundred thousand elements in less. Nothing is lost by it: a kernel has nothing to fuse here.
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
from ..ops.shape import as_index
from .numpy_calls import call_of
from .profile import profile
from .segment import labelled
from .steps import own

FEW = 4  # nodes: the operation, and the views that it reads
MOST = 12_000_000  # bytes that a light operation reads and makes, or a reduction reads; more are worth a second core
KEPT = 1024
calls: Bounded[Any, Callable[..., Any]] = Bounded(KEPT)


def value_of(nodes: list[Node]) -> Any:
    """The value of the last of the pending nodes, where the others are the views that it reads; None where that is not
    so, or where a plan is worth its cost. Nothing is changed, whatever it raises."""
    node = nodes[-1]
    op = node.op
    if op is None or node.trace or node.dtype is None or config.limit < 0 or config.deterministic:
        return None
    if op.name == "slice" and nodes[:-1] == list(node.inputs) and nodes[0].op is wrap_around:
        return rolled(node)
    if not is_light(node):
        return None
    made: dict[Node, Any] = {}
    for view in nodes[:-1]:
        source = view.inputs[0]
        x = made.get(source, source.buffer)
        if view.op.kind != VIEW or type(x) is not np.ndarray:  # type: ignore[union-attr]
            return None
        made[view] = shown(view, x)
    args = [made.get(a, a.buffer if a.value is None else a.value) for a in node.inputs]
    if not all([a.value is not None or type(x) is np.ndarray for a, x in zip(node.inputs, args)]):
        return None
    with np.errstate(all="ignore"):
        value = called(node, args)
    if value.dtype != node.dtype or value.shape != node.shape:
        return None
    profile.segments += 1
    profile.operations += len(nodes)
    if op.kind == LIBRARY:
        profile.library += 1
    return labelled(value, node.dtype)


def rolled(node: Node) -> Any:
    """The value of a slice of a periodic array with its ends, if it is the whole array, rolled: without a copy for the
    ends, which nobody reads."""
    (wrapped,) = node.inputs
    x, widths, key = wrapped.inputs[0].buffer, wrapped.moving[0], node.moving[0]
    if type(x) is not np.ndarray or any([count != n or step != 1 for n, (_, count, step) in zip(x.shape, key)]):
        return None
    profile.segments += 1
    profile.operations += 2
    profile.library += 1
    shifts = {axis: w - start for axis, (w, (start, _, _)) in enumerate(zip(widths, key)) if w != start}
    return xp.roll(x, tuple(shifts.values()), tuple(shifts))


def called(node: Node, args: list[Any]) -> Any:
    """What NumPy makes of the operands. A profile times it, as it does `of_library`."""
    return own(call_for(node)(*args), args)


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
        light = op.code is not None and op.code.cost <= LIGHT
        return light and size(node) + sum([size(a) for a in node.inputs]) <= MOST
    return op.kind == REDUCE and size(node.inputs[0]) <= MOST


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
