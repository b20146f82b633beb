"""What constraints inside of a function say: how the values that they constrain lie where nothing else says it, and on
which devices all of the function is computed."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..graph.function import Function
from ..graph.node import ABSTRACT, Node
from ..graph.op import MAP
from ..graph.walk import toposort
from .sharding import Mesh, NamedSharding, PartitionSpec, Sharding
from .splits import RefusedError, known, settled

meshes: weakref.WeakKeyDictionary[Function, Mesh | None] = weakref.WeakKeyDictionary()
"""The mesh over which a function is computed, as a constraint in it says; None where there is none."""


def nodes_of(function: Function) -> list[Node]:
    """The nodes of a graph, those before others first."""
    return toposort([*function.outputs, *function.effects])


def bodies_of(node: Node) -> Iterator[Function]:
    """The functions that a node runs: bodies of loops, branches, what is differentiated otherwise."""
    for value in node.static:
        yield from [f for f in (value if isinstance(value, tuple) else (value,)) if isinstance(f, Function)]


def constraint(node: Node) -> NamedSharding | None:
    """The sharding that a node says its value has, over a mesh of devices."""
    name = node.op.name if node.op is not None else ""
    to = node.static[0] if name == "sharding_constraint" else None
    return to if isinstance(to, NamedSharding) and isinstance(to.mesh, Mesh) and not to.mesh.manual_axes else None


def mesh_of(function: Function) -> Mesh | None:
    """The mesh of the first constraint in a function, bodies of loops included."""
    if function not in meshes:
        found: Mesh | None = None
        for node in nodes_of(function):
            said = constraint(node)
            found = said.mesh if said is not None else next((m for f in bodies_of(node) if (m := mesh_of(f))), None)
            if found is not None:
                break
        meshes[function] = found
    return meshes[function]


def over_mesh_of(functions: Iterable[Function]) -> NamedSharding | None:
    """All of an array on each device of the mesh over which one of some functions is computed."""
    mesh = next((m for f in functions if (m := mesh_of(f))), None)
    return None if mesh is None else NamedSharding(mesh, PartitionSpec())


def says_where(to: NamedSharding, node: Node) -> bool:
    """Whether values like that can lie so, on a mesh whose axes are Auto and with nothing left open."""
    parts = to.spec.partitions
    if to.mesh.explicit_axes or PartitionSpec.UNCONSTRAINED in parts or len(parts) > node.ndim:
        return False
    return node.trace == ABSTRACT and not any([n % k for n, k in zip(node.shape, to._factors(node.ndim))])


def flow_back(
    order: Sequence[Node],
    derive: Callable[[Node], Sharding | None],
    results: Iterable[tuple[Node, Sharding | None]] = (),
) -> None:
    """Say of values that nothing places how they lie, where constraints on them say it, or on what is made of them
    element by element; then of what is made of those. On explicit axes types say it all.

    Args:
        results: what is asked of the results, which says the same.
    """
    said: dict[Node, NamedSharding] = {}
    for node, where in results:
        if isinstance(where, NamedSharding) and known.get(node) is None and says_where(where, node):
            said.setdefault(node, where)
    for node in reversed(order):
        to = constraint(node)
        if to is None:
            to = said.get(node)
            if to is None or node.op is None or node.op.kind != MAP:
                continue
        elif to.mesh.explicit_axes or PartitionSpec.UNCONSTRAINED in to.spec.partitions:
            continue
        for a in node.inputs:
            if a.trace and a.shape == node.shape and known.get(a) is None and a.dtype is not None:
                said[a] = to
    if not said:
        return
    known.update(said)
    with settled():
        for node in order:
            if known.get(node) is None and node.op is not None:
                with contextlib.suppress(RefusedError):
                    known[node] = derive(node)
