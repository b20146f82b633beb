"""How arguments and results of exported functions lie: on so many devices, wherever these will be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.node import Node
from .constraints import mesh_of
from .jit_places import positional, spread_places, where_to
from .placement import placed
from .sharding import NamedSharding, PartitionSpec, Sharding, default_mesh
from .spreading import sharding_at, split_of
from .tree_util import tree_unflatten

Tiles = tuple[tuple[int, ...], ...]
"""For each device, in the order of the mesh, which part of an array it has along each of its axes."""


def tiles_of(lies: Sharding | None, ndim: int) -> Tiles | None:
    """The parts that a sharding gives to devices; None where there is no sharding."""
    if lies is None:
        return None
    if not isinstance(lies, NamedSharding):
        return ((0,) * ndim,)
    names, sizes = lies.mesh.axis_names, lies.mesh.axis_sizes
    out = []
    for place in np.ndindex(*sizes):
        at, tile = dict(zip(names, place)), []
        for axes in split_of(lies, ndim):
            number = 0
            for a in axes:
                number = number * lies.mesh.shape[a] + at[a]
            tile.append(number)
        out.append(tuple(tile))
    return tuple(out)


def spec_over(mesh: Any, tiles: Tiles) -> PartitionSpec:
    """The spec over a mesh that gives its devices these parts. Raises ValueError where there is none."""
    sizes = mesh.axis_sizes
    parts = np.array(tiles).reshape(*sizes, -1)
    found: list[list[tuple[int, Any]]] = [[] for _ in range(parts.shape[-1])]
    for i, name in enumerate(mesh.axis_names):
        if sizes[i] == 1:
            continue
        one = tuple([int(j == i) for j in range(len(sizes))])
        for d, stride in enumerate(parts[one] - parts[(0,) * len(sizes)]):
            if stride:
                found[d].append((int(stride), name))
    named = [tuple([name for _, name in sorted(axes, key=lambda a: -a[0])]) for axes in found]
    while named and not named[-1]:
        named.pop()
    spec = PartitionSpec(*[(axes[0] if len(axes) == 1 else axes) if axes else None for axes in named])
    used = [name for axes in named for name in axes]
    if len(used) > len(set(used)) or tiles_of(NamedSharding(mesh, spec), parts.shape[-1]) != tiles:
        raise ValueError(f"no PartitionSpec over {mesh} gives its devices the parts {tiles}")
    return spec


def over(mesh: Any, tiles: Sequence[Tiles | None]) -> tuple[NamedSharding | None, ...]:
    """How arrays lie on a mesh, which devices are to have these parts of; None: of which nothing is said.

    Raises: ValueError for a mesh of another number of devices, and where no spec over it says so.
    """
    wrong = next((len(t) for t in tiles if t is not None and len(t) != mesh.size), None)
    if wrong is not None:
        raise ValueError(f"the function was exported for {wrong} devices, and the mesh has {mesh.size}")
    return tuple([None if t is None else NamedSharding(mesh, spec_over(mesh, t)) for t in tiles])


def exported_places(traced: Any) -> tuple[int, list[Any], list[Any]]:
    """On how many devices a traced function runs, and how its arguments and results lie where that is said."""
    owner, call, entry = traced._owner, traced._call, traced._entry
    given: list[Any] = [sharding_at(n) for n in call.nodes]
    if owner._in is not None:
        said = spread_places(owner._in, positional(call, call.nodes), "in_shardings")
        given = [where_to(s, "in_shardings") or g for s, g in zip(said, given)]
    outputs = entry.function.outputs[: entry.out.num_leaves]
    results: list[Any] = [typed(sharding_at(n)) for n in outputs]
    if owner._out is not None:
        said = spread_places(owner._out, tree_unflatten(traced.out_tree, outputs), "out_shardings")
        results = [where_to(s, "out_shardings") or r for s, r in zip(said, results)]
    meshes = [s.mesh for s in (*given, *results) if isinstance(s, NamedSharding)]
    count = max([m.size for m in (*meshes, mesh_of(entry.function), default_mesh()) if m is not None], default=1)
    single = count > 1
    given = [s if isinstance(s, NamedSharding) or not single else None for s in given]
    named = [s for s in given if isinstance(s, NamedSharding)]
    return max(count, 1), given if named else [None] * len(given), results


def typed(lies: Any) -> Any:
    """A sharding over explicit axes; None for another one."""
    return lies if isinstance(lies, NamedSharding) and lies.mesh.explicit_axes else None


def context_of(nodes: Sequence[Node]) -> Any:
    """The mesh of devices on which arguments lie, else the one that is set; None where there is none."""
    for lies in [sharding_at(n) for n in nodes]:
        if isinstance(lies, NamedSharding):
            return lies.mesh
    found = default_mesh()
    return None if found.empty else found


def check_count(name: str, count: int, mesh: Any) -> None:
    """Raise ValueError for another number of devices than a function was exported for, which was several."""
    here = 1 if mesh is None else mesh.size
    if count != here and count != 1:
        raise ValueError(
            f"Function {name} was exported for {count} devices and is called in a context with {here} devices, which "
            "is not allowed."
        )


def put(nodes: Sequence[Node], tiles: Sequence[Tiles | None], mesh: Any) -> list[Node]:
    """Arrays on a mesh whose devices are to have these parts of them; those of which nothing is said, as they are."""
    if mesh is None:
        return list(nodes)
    said = over(mesh, [t if t is not None and len(t) == mesh.size else None for t in tiles])
    return [n if to is None else placed(n, to).node for n, to in zip(nodes, said)]
