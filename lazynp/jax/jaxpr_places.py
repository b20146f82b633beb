"""`shard_map` in jaxprs: an equation with the graph of one device, in which collectives name their axes and types say
along which of them values vary."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from ..api.trace import stack
from ..graph.function import Function
from ..graph.node import Node
from ..graph.op import results
from ..graph.walk import toposort
from ..ops.tags import Called, called
from .array import as_node
from .sharding import PartitionSpec

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


def of_one_device(xs: Sequence[Any], outs: Sequence[Any], indices: Mapping[Any, Node], context: Any) -> Function:
    """The graph of what one device does, from its arguments to its results. `indices`: for each axis the placeholder of
    the index along it; `context`: what is known of the axes along which values vary, where that is checked."""
    axis_of.update({n: a for a, n in indices.items()})
    function = Function([as_node(x) for x in xs], [as_node(x) for x in outs])
    for n in toposort([*function.inputs, *function.outputs]) if context is not None else ():
        axes = context.found.get(n)
        if isinstance(axes, frozenset) and axes:
            varying[n] = tuple([a for a in indices if a in axes])
        elif type(axes) is tuple:
            of_results[n] = [tuple([a for a in indices if a in (found or ())]) for found in axes]
    return function


def as_shard_map(
    function: Function, inputs: Sequence[Node], outs: Sequence[Node], params: dict[str, Any]
) -> list[Node]:
    """The results of a `shard_map`, with a node in between that says so. What its function captures is given to all
    devices."""
    places = [n for n in toposort(function.outputs) if n in axis_of]
    captured = [n for n in Function([*function.inputs, *places], function.outputs).captured() if n.trace]
    whole = Function([*captured, *function.inputs], function.outputs)
    params["in_specs"] = (*[PartitionSpec()] * len(captured), *params["in_specs"])
    call = Called("shard_map", params, whole)
    return list(results(called(*outs, *captured, *inputs, call=call, n=len(outs))))


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
