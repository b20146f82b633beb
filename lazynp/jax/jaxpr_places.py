"""`shard_map` in jaxprs: an equation with the graph of one device, in which collectives name their axes and types say
along which of them values vary."""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from ..api.trace import stack
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node, leaf
from ..graph.op import pick, results
from ..graph.walk import toposort
from ..ops.closure import unrecorded
from ..ops.shape import move_axis
from ..ops.tags import Called, called
from ..transforms.batch import batch
from .array import as_node
from .devices import state
from .dtypes import INT32
from .sharding import PartitionSpec
from .varying import Graph

axis_of: weakref.WeakKeyDictionary[Node, Any] = weakref.WeakKeyDictionary()
"""The name of the axis along which a placeholder is the index, of functions that are shown."""
varying: weakref.WeakKeyDictionary[Node, tuple[Any, ...]] = weakref.WeakKeyDictionary()
"""Along which axes values of functions that are shown vary."""
of_results: weakref.WeakKeyDictionary[Node, list[tuple[Any, ...]]] = weakref.WeakKeyDictionary()
"""The same for each result of a node that has several."""


said: weakref.WeakKeyDictionary[Node, tuple[str, dict[str, Any]]] = weakref.WeakKeyDictionary()
"""Of constraints that a user has written in functions that are shown: name and parameters of their equations."""


def shown_as(x: Any, name: str, **params: Any) -> Any:
    """An array that was just constrained, in a function that is shown with an equation for that."""
    node = as_node(x)
    if stack.shown and node.trace:
        said[node] = name, params
    return x


def said_of_batch(node: Node, out: Node) -> None:
    """Of what was constrained for one example, the same is said for all of them."""
    if node in said and out.op is node.op:
        name, params = said[node]
        if "unconstrained_dims" in params:
            to = out.static[0]
            free = [d for d, p in enumerate(to.spec.partitions) if p is PartitionSpec.UNCONSTRAINED]
            params = params | {"sharding": to, "unconstrained_dims": frozenset(free)}
        said[out] = name, params


def of_one_device(xs: Sequence[Any], outs: Sequence[Any], indices: Mapping[Any, Node], context: Any) -> Function:
    """The graph of what one device does, from its arguments to its results. `indices`: for each axis the placeholder of
    the index along it; `context`: what is known of the axes along which values vary, where that is checked."""
    axis_of.update({n: a for a, n in indices.items()})
    function = Function([as_node(x) for x in xs], [as_node(x) for x in outs])
    for n in toposort([*function.inputs, *function.outputs]) if context is not None else ():
        mark(n, context.found.get(n), list(indices))
    return function


def mark(n: Node, axes: Any, order: Sequence[Any]) -> None:
    """Say along which axes a value of a function that is shown varies, or of a node with several results each."""
    varying.pop(n, None)
    of_results.pop(n, None)
    if isinstance(axes, frozenset) and axes:
        varying[n] = tuple([a for a in order if a in axes])
    elif type(axes) is tuple:
        of_results[n] = [tuple([a for a in order if a in (found or ())]) for found in axes]


class Place:
    """In place of an operand: the index along an axis, which a body has for its collectives only. These name the
    axis."""


def enter_bodies(bodies: Sequence[tuple[Function, Sequence[Node]]]) -> dict[Node, Place]:
    """Say of what is in bodies, each with what it is given, along which axes it varies here: a body is that of many
    loops.

    Returns: what is given that is an index along an axis, and that only collectives read.
    """
    if not bodies or not varying and not axis_of:
        return {}
    reads = [x for _, given in bodies for x in given]
    along = sorted(map(axes_along, reads), key=len, reverse=True)
    order = list(dict.fromkeys([a for axes in along for a in axes]))
    index = {a: leaf((), INT32, trace=ABSTRACT) for a in order}
    left = {x for x in reads if x in axis_of}
    for function, given in bodies:
        graph = Graph({own: frozenset(axes_along(x)) for own, x in zip(function.inputs, given)}, index)
        for own, x in zip(function.inputs, given):
            name = axis_of.get(x)
            axis_of.pop(own, None)
            if name is not None:
                axis_of[own] = graph.axis_of[own] = name
                if not only_named(function, own):
                    left.discard(x)
        with unrecorded():
            for inner in toposort([*function.inputs, *function.outputs]):
                graph.of(inner)
                mark(inner, graph.found.get(inner), order)
    return {x: Place() for x in left}


def axes_along(x: Node) -> tuple[Any, ...]:
    """The axes along which what an equation reads varies."""
    if x.op is pick and x.inputs[0] in of_results:
        return of_results[x.inputs[0]][x.static[0]]
    return (axis_of[x],) if x in axis_of else varying.get(x, ())


def bodies_of(n: Node) -> list[tuple[Function, Sequence[Node]]]:
    """The bodies of a loop or a branch, and what each is given."""
    name, inputs = n.op and n.op.name, n.inputs
    if name == "scan":
        return [(n.static[0], inputs)]
    if name == "while":
        test, body, reads, captured = n.static
        return [(test, (*inputs[:reads], *inputs[reads + captured :])), (body, inputs[reads:])]
    return [(f, inputs[1:]) for f in n.static[0]] if name == "cond" else []


def only_named(function: Function, place: Node) -> bool:
    """Whether nothing but collectives reads an index along an axis, which is an argument of a body."""
    if place in function.outputs:
        return False
    for n in toposort(function.outputs):
        inner = [(f, own) for f, given in bodies_of(n) for own, x in zip(f.inputs, given) if x is place]
        names = n.op is not None and n.op.name in (*COLLECTIVES, *MARKS)
        read = n.inputs[:1] if names else () if inner else n.inputs
        if place in read or not all([only_named(f, own) for f, own in inner]):
            return False
    return True


def as_shard_map(
    function: Function, inputs: Sequence[Node], outs: Sequence[Node], params: dict[str, Any], pull: Any
) -> list[Node]:
    """The results of a `shard_map`, with a node in between that says so. What its function captures is given to all
    devices. `pull`: see `Called`."""
    places = [n for n in toposort(function.outputs) if n in axis_of]
    captured = Function([*function.inputs, *places], function.outputs).captured()
    whole = Function([*captured, *function.inputs], function.outputs)
    params["in_specs"] = (*[PartitionSpec()] * len(captured), *params["in_specs"])
    call = Called("shard_map", params, whole, of_batch, pull)
    return list(results(called(*outs, *captured, *inputs, call=call, n=len(outs))))


def of_batch(call: Called, inputs: Sequence[Node], axes: Sequence[int | None]) -> Called:
    """What a `shard_map` of a batch says: specs have an entry more, and each device has all examples, or, where the
    `vmap` names axes of the mesh for them, some."""
    assert call.function is not None
    n = len(call.function.outputs)
    names, mesh = state.spmd[-1] if state.spmd else (), call.params["mesh"]
    given, at, results_at = inputs[n:], axes[n:], axes[:n]
    parts = math.prod([mesh.shape[a] for a in names])
    local, lies = [], {}
    for own, x, a in zip(call.function.inputs, given, at):
        shape = own.shape if a is None else (*own.shape[:a], x.shape[a] // parts, *own.shape[a:])
        one = leaf(shape, own.dtype, trace=ABSTRACT, weak=own.weak)
        lies[one] = frozenset(axes_along(own)) | frozenset(() if a is None else names)
        local.append(one)
    with unrecorded():
        made = batch(call.function.outputs, call.function.inputs, local, at)
        outs = [x if a is None or to is None else move_axis(x, a, to) for (x, a), to in zip(made, results_at)]
        places = [x for x in toposort(outs) if x in axis_of]
        order = list(dict.fromkeys([*mesh.axis_names]))
        index = {axis_of[x]: x for x in places}
        for a in names:
            if a not in index:
                index[a] = leaf((), INT32, trace=ABSTRACT)
                axis_of[index[a]] = a
        graph = Graph(lies, index)
        if call.params["check_vma"]:
            outs = [graph.renewed(x) for x in outs]
            for x in toposort([*local, *outs]):
                mark(x, graph.of(x), order)
    params = dict(call.params)
    for key, where in (("in_specs", at), ("out_specs", results_at)):
        params[key] = tuple([with_entry(s, a, names) for s, a in zip(params[key], where)])
    return Called(call.name, params, Function(local, outs), of_batch, call.pull)


def with_entry(spec: PartitionSpec, axis: int | None, names: Sequence[Any]) -> PartitionSpec:
    """A spec with an entry more, for the examples of a batch."""
    if axis is None:
        return spec
    parts = [*spec.partitions, *[None] * (axis - len(spec.partitions))]
    new = None if not names else names[0] if len(names) == 1 else tuple(names)
    return PartitionSpec(*parts[:axis], new, *parts[axis:])


def names_of(node: Node) -> tuple[Any, ...]:
    """The axes of a collective and of those of its kind that it was made of: `psum` over several is one after the
    other."""
    names = [axis_of.get(node.inputs[1])]
    source = node.inputs[0]
    while source.op is node.op and source.inputs[1] in axis_of and node.op.name in CHAINED:  # type: ignore[union-attr]
        names.append(axis_of[source.inputs[1]])
        source = source.inputs[0]
    return tuple(reversed(names)) if node.op.name != "pvary" else tuple(names[:1])  # type: ignore[union-attr]


def operand_of(node: Node) -> Node:
    """What a collective reads, behind those of its kind that it was made of."""
    source = node.inputs[0]
    for _ in names_of(node)[1:]:
        source = source.inputs[0]
    return source


CHAINED = ("psum", "psum_invariant", "pmax", "pmin")


def collective_params(node: Node) -> tuple[str, dict[str, Any]]:
    """JAX's name for a collective, and its parameters."""
    name, own = node.op.name, node.op.params_of(node)  # type: ignore[union-attr]
    axes = names_of(node)
    if name in ("psum_invariant", "pvary"):
        return name, {"axes": axes}
    if name in CHAINED:
        return name, {"axes": axes, "axis_index_groups": None}
    if name == "ppermute":
        return name, {"axis_name": axes, "perm": own["perm"]}
    if name == "all_gather":
        sizes = {"all_gather_dimension": own["axis"], "axis_size": own["size"], "tiled": own["tiled"]}
        return name, {**sizes, "axis_name": axes, "axis_index_groups": None}
    if name == "psum_scatter":
        sizes = {"scatter_dimension": own["axis"], "axis_size": own["size"], "tiled": own["tiled"]}
        return "reduce_scatter", {**sizes, "axis_name": axes, "axis_index_groups": None}
    given = {k: own[k] for k in ("split_axis", "concat_axis", "tiled")}
    return name, {**given, "axis_name": axes[0], "axis_index_groups": None}


COLLECTIVES = (*CHAINED, "pvary", "ppermute", "all_gather", "psum_scatter", "all_to_all")
MARKS = ("into_rule", "out_of_rule")
"""What says something to derivatives only."""
