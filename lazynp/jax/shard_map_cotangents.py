"""Derivatives of a `shard_map` in graphs that are shown: another `shard_map`, of the cotangents that one device has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..api.trace import stack
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node, leaf
from ..graph.op import results
from ..graph.walk import toposort
from ..ops.closure import unrecorded
from ..ops.rewrites import rewrites
from ..ops.tags import Called, Tangents, called
from ..transforms.transpose import vjp
from .call_cotangents import another
from .dtypes import INT32
from .jaxpr_places import axes_along, axis_of, mark, of_batch
from .sharding import PartitionSpec, axes_of
from .splits import each_device
from .varying import Axes, Graph


def along(spec: PartitionSpec) -> Axes:
    """The axes that a spec names."""
    return frozenset([a for part in spec.partitions for a in axes_of(part)])


def pulled_back(node: Node, cts: Tangents, live: Sequence[bool]) -> list[Node | None]:
    """The cotangents of what a `shard_map` was given. Those of all devices are what its results have; one device's
    graph is differentiated to be shown. Where types do not say what varies, the operations of all are shown."""
    call, n = node.static
    before = [*cts, *[None] * (len(node.inputs) - n)]
    if not stack.shown or call.function is None or not call.params["check_vma"]:
        return before
    operands, chosen = node.inputs[n:], [i for i, moves in enumerate(live[n:]) if moves]
    found = vjp(node.inputs[:n], [operands[i] for i in chosen], cts)
    whole = {i: ct for i, ct in zip(chosen, found) if ct is not None}
    with unrecorded(), each_device(), rewrites.collecting():
        function = another(call.function)
        given = [
            None if c is None else leaf(x.shape, c.dtype, weak=c.weak, trace=ABSTRACT)
            for c, x in zip(cts, function.outputs)
        ]
        local = vjp(function.outputs, [function.inputs[i] for i in chosen], given)
        parts = {i: ct for i, ct in zip(chosen, local) if ct is not None}
        if not whole or whole.keys() != parts.keys():
            return [*[None] * n, *[whole.get(i) for i in range(len(operands))]]
        body, reads, specs = shown_body(call, function, given, parts)
    values = [*operands, *cts]
    params = {**call.params, **specs}
    wide = [whole[i] for i in parts]
    made = called(
        *wide,
        *[values[i] for i in reads],
        call=Called(call.name, params, body, of_batch, pulled_back),
        n=len(wide),
    )
    given_back = dict(zip(parts, results(made)))
    return [*[None] * n, *[given_back.get(i) for i in range(len(operands))]]


def shown_body(
    call: Called, function: Function, given: Sequence[Node | None], parts: dict[int, Node]
) -> tuple[Function, list[int], dict[str, Any]]:
    """What one device does with cotangents; which arguments and cotangents it reads, and the specs of these and of its
    results."""
    assert call.function is not None
    in_specs, out_specs, mesh = [call.params[key] for key in ("in_specs", "out_specs", "mesh")]
    pairs = zip(function.inputs, call.function.inputs)
    lies: dict[Node, Axes] = {x: frozenset(axes_along(own)) for x, own in pairs}
    lies |= {c: along(s) for c, s in zip(given, out_specs) if c is not None}
    index = {axis_of[x]: x for x in toposort([*function.outputs, *parts.values()]) if x in axis_of}
    for a in call.params["newly_manual_axes"]:
        if a not in index:
            index[a] = leaf((), INT32, trace=ABSTRACT)
            axis_of[index[a]] = a
    order = [a for a in mesh.axis_names if a in index]
    graph = Graph(lies, {a: index[a] for a in order})
    outs = []
    for i, ct in parts.items():
        x = graph.renewed(ct)
        outs.append(graph.vary(x, lies[function.inputs[i]]) if graph.of(ct) is not None else x)
    inside = toposort(outs)
    for x in inside:
        mark(x, graph.of(x), order)
    arguments = [*function.inputs, *given]
    said = [*in_specs, *out_specs]
    reads = [i for i, x in enumerate(arguments) if x is not None and (x in inside or i >= len(function.inputs))]
    inputs = [x for x in [arguments[i] for i in reads] if x is not None]
    for x in inputs:
        mark(x, lies[x], order)
    specs = {"in_specs": tuple([said[i] for i in reads]), "out_specs": tuple([in_specs[i] for i in parts])}
    return Function(inputs, outs), reads, specs
