"""`vmap`: a function of one example as a function of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..doors import Door, door_of, wrap_all
from ..graph.aval import Aval
from ..graph.node import ABSTRACT, Node, leaf
from ..ops.creation import iota
from ..ops.shape import broadcast_to, expand_dims, move_axis
from ..runtime.reuse import use_as
from ..runtime.tape import differentiating
from ..signatures import argument_axes, axis_in, callable_, checked_axes, leaf_names, mapped_size, spread_axes
from ..transforms.batch import batch
from ..tree import flatten, unflatten
from .ahead import run_rules
from .trace import Trace, after, effects, placeholder, run_traced, stack

INT32 = np.dtype(np.int32)


class Axis(NamedTuple):
    """A mapped axis: its length and, where it has one, its name."""

    size: int
    name: Any = None


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    *,
    door: Door,
) -> Callable[..., Any]:
    """The function over a batch: argument leaves have a mapped axis where `in_axes` (a prefix of the arguments' tree)
    says so, results where `out_axes` does. Keyword arguments are mapped along axis 0.

    Raises: TypeError or ValueError, as JAX, for axes that do not fit.
    """
    callable_(fun)
    in_axes = checked_axes(in_axes, out_axes)

    @functools.wraps(fun)
    def batched(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten((args, kwargs))
        if not leaves and axis_size is None:
            raise ValueError(
                "vmap wrapped function must be passed at least one argument containing an array or axis_size must be "
                f"specified, got empty *args={args} and **kwargs={kwargs}"
            )
        axes = argument_axes(in_axes, args)
        axes += [0] * (len(leaves) - len(axes))
        own = door_of(leaves, door)
        nodes = [own.as_node(x if a is not None or isinstance(x, own.array) else 0) for x, a in zip(leaves, axes)]
        where = [None if a is None else axis_in(a, n.shape) for a, n in zip(axes, nodes)]
        names = functools.partial(leaf_names, fun, args, kwargs)
        axis = Axis(mapped_size([n.aval for n in nodes], where, axis_size, names), axis_name)
        return run_batched(fun, own, Trace(fun, "vmap", names, nodes), leaves, nodes, where, structure, axis, out_axes)

    return batched


def run_batched(
    fun: Callable[..., Any],
    door: Door,
    trace: Trace,
    leaves: list[Any],
    nodes: list[Node],
    where: list[int | None],
    structure: Any,
    axis: Axis,
    out_axes: Any,
) -> Any:
    """Trace fun for one example and rewrite its graph for all."""
    inputs: list[Any] = []
    for i, (n, a) in enumerate(zip(nodes, where)):
        one = None if a is None else Aval((*n.shape[:a], *n.shape[a + 1 :]), n.dtype, n.weak)
        inputs.append(n if one is None else placeholder(one, trace, i))
    given = [x if a is None else door.wrap(n) for x, n, a in zip(leaves, inputs, where)]
    index = leaf((), INT32, trace=ABSTRACT)
    before = stack.axes
    stack.axes = before if axis.name is None else {**before, axis.name: (axis.size, index)}
    try:
        function, out, _ = run_traced(fun, inputs, structure, door, trace, given)
    finally:
        stack.axes = before
    use_as(function, nodes, "vmap")
    for _, moved in differentiating(nodes):
        function = run_rules(function, moved)
    axes = spread_axes(out_axes, unflatten(out, function.outputs), "vmap out_axes")
    written = [(i, door.as_node(x)) for i, (x, a) in enumerate(zip(given, where)) if a is not None]
    written = [(i, n) for i, n in written if n is not inputs[i]]
    rows: list[Any] = [row for row in zip(inputs, nodes, where) if row[2] is not None]
    if list(function.inputs) != inputs:  # rules were run: what was written depends on the former inputs
        rows += [row for row in zip(function.inputs, nodes, where) if row[0] not in inputs]
    sources, full = [row[0] for row in rows], [row[1] for row in rows]
    at: list[int | None] = [row[2] for row in rows]
    outputs = [*function.outputs, *[n for _, n in written], *function.effects]
    old, new = [*sources, index], [*full, iota(axis.size, INT32)]
    if function.token is not None:
        old, new, at = [function.token, *old], [after(), *new], [None, *at]
    found = batch(outputs, old, new, [*at, 0])
    first, last = len(function.outputs), len(function.outputs) + len(written)
    axes += [where[i] for i, _ in written]
    results = wrap_all(door, [placed(x, now, to, axis.size) for (x, now), to in zip(found, axes)])
    for (i, _), x in zip(written, results[first:]):
        leaves[i][...] = x
    effects([x for x, _ in found[last:]])
    return unflatten(out, results[:first])


def placed(x: Node, now: int | None, to: Any, size: int) -> Node:
    """A result with its mapped axis where `out_axes` wants it. Raises JAX's ValueError where it cannot be there."""
    if to is None:
        if now is not None:
            raise ValueError(f"at vmap out_axes, got axis spec None but output was batched on axis {now}")
        return x
    ndim = x.ndim + (now is None)
    to = to.__index__()
    if not -ndim <= to < ndim:
        raise ValueError(f"axis {to} is out of bounds for array of dimension {ndim}")
    to %= ndim
    if now is None:
        return broadcast_to(expand_dims(x, to), shape=(*x.shape[:to], size, *x.shape[to:]))
    return move_axis(x, now, to)
