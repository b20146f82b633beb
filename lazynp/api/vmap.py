"""`vmap`: a function of one example as a function of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import optree

from ..graph.aval import Aval
from ..graph.node import ABSTRACT, Node, leaf
from ..ops.creation import iota
from ..ops.shape import broadcast_to, expand_dims, move_axis
from ..runtime.reuse import use_as
from ..signatures import leaf_names
from ..transforms.batch import batch
from ..tree import NAMESPACE, flatten, map, unflatten
from .handles import Door, door_of, wrap_all
from .trace import Trace, after, effect, placeholder, run_traced, stack

INT32 = np.dtype(np.int32)
UNMAPPED = object()  # an axis of None, as a leaf


class Axis(NamedTuple):
    """A mapped axis: its length and, where it has one, its name."""

    size: int
    name: Any = None


def spread_axes(axes: Any, tree: Any, what: str) -> list[int | None]:
    """For each leaf of a tree the axis that a prefix of the tree says. Raises ValueError where it is no prefix."""
    marked = map(lambda a: UNMAPPED if a is None else a, axes, is_leaf=lambda a: a is None)
    try:
        found = optree.broadcast_prefix(marked, tree, namespace=NAMESPACE)
    except ValueError as error:
        raise ValueError(f"{what} specification must be a tree prefix of the corresponding value: {error}") from None
    return [None if a is UNMAPPED else a for a in found]


def check_axes(axes: Any, what: str) -> None:
    for a in flatten(axes)[0]:
        if isinstance(a, bool) or not hasattr(a, "__index__"):
            raise TypeError(f"{what} must be an int, None, or a (nested) container of these, but got {a!r}")


def axis_in(axis: Any, shape: tuple[int, ...]) -> int:
    """A mapped axis of an argument, counted from the front. Raises JAX's ValueError where there is none such."""
    axis, n = axis.__index__(), len(shape)
    if -n <= axis < n:
        return axis % n
    least = axis + 1 if axis >= 0 else -axis
    raise ValueError(
        f"vmap was requested to map its argument along axis {axis}, which implies that its rank should be at least "
        f"{least}, but is only {n} (its shape is {shape})"
    )


def mapped_size(nodes: Sequence[Node], axes: Sequence[int | None], given: int | None, names: Callable[[], Any]) -> int:
    """The length of the mapped axes. Raises JAX's ValueError where there is none, or more than one."""
    sizes: dict[int, list[int]] = {}
    for i, (n, a) in enumerate(zip(nodes, axes)):
        if a is not None:
            sizes.setdefault(n.shape[a], []).append(i)
    if given is not None and set(sizes) <= {given}:
        return given
    if len(sizes) == 1 and given is None:
        return next(iter(sizes))
    if not sizes:
        raise ValueError("vmap must have at least one non-None value in in_axes or axis_size must be specified")
    shown = list(names())
    lines = [f"  * the `axis_size` argument was {given}"] if given is not None else []
    for size, which in sizes.items():
        first = which[0]
        more = f" (and {len(which) - 1} more)" if len(which) > 1 else ""
        name = shown[first] if first < len(shown) else first
        lines.append(
            f"  * one axis had size {size}: axis {axes[first]} of argument {name} of type {nodes[first].aval}{more}"
        )
    raise ValueError("vmap got inconsistent sizes for array axes to be mapped:\n" + ";\n".join(lines))


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
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or isinstance(in_axes, tuple) or hasattr(in_axes, "__index__")):
        raise TypeError(
            f"vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments "
            f"passed to the function, but got {in_axes}."
        )
    check_axes(in_axes, "vmap in_axes")
    check_axes(out_axes, "vmap out_axes")

    @functools.wraps(fun)
    def batched(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                f"vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments "
                f"passed to the function, but got len(in_axes)={len(in_axes)}, len(args)={len(args)}"
            )
        leaves, structure = flatten((args, kwargs))
        if not leaves and axis_size is None:
            raise ValueError(
                "vmap wrapped function must be passed at least one argument containing an array or axis_size must be "
                f"specified, got empty *args={args} and **kwargs={kwargs}"
            )
        axes = spread_axes(in_axes, args, "vmap in_axes") if args else []
        axes += [0] * (len(leaves) - len(axes))
        own = door_of(leaves, door)
        nodes = [own.as_node(x) for x in leaves]
        where = [None if a is None else axis_in(a, n.shape) for a, n in zip(axes, nodes)]
        names = functools.partial(leaf_names, fun, args, kwargs)
        axis = Axis(mapped_size(nodes, where, axis_size, names), axis_name)
        return run_batched(fun, own, Trace(fun, "vmap", names), leaves, nodes, where, structure, axis, out_axes)

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
    axes = spread_axes(out_axes, unflatten(out, function.outputs), "vmap out_axes")
    written = [(i, door.as_node(x)) for i, (x, a) in enumerate(zip(given, where)) if a is not None]
    written = [(i, n) for i, n in written if n is not inputs[i]]
    sources = [n for n, a in zip(inputs, where) if a is not None]
    full = [n for n, a in zip(nodes, where) if a is not None]
    at: list[int | None] = [a for a in where if a is not None]
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
    for x, _ in found[last:]:
        effect(x)
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
