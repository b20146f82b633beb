"""What errors of `shard_map` say: which argument or result is meant, and which part of the specs."""

from __future__ import annotations

import inspect
import math
from typing import Any

import optree

from ..graph.node import Node
from ..signatures import leaf_names, name_of
from ..tree import NAMESPACE
from .aval import shaped
from .sharding import PartitionSpec, axes_of
from .spreading import known
from .tree_util import keystr, tree_leaves_with_path, tree_map_with_path


def places_of(specs: Any, tree: Any, what: str) -> list[str]:
    """`in_specs[1]['a']`: for each leaf of a tree the place of its spec."""

    def is_spec(x: Any) -> bool:
        return x is None or isinstance(x, PartitionSpec)

    texts = tree_map_with_path(lambda path, _: what + keystr(path), specs, is_leaf=is_spec)
    return list(optree.broadcast_prefix(texts, tree, namespace=NAMESPACE))


def refuse_uneven(x: Node, axis: int, spec: PartitionSpec, mesh: Any, name: str, place: str, fun: str) -> None:
    """Raise ValueError for an axis that mesh axes do not divide."""
    names = axes_of(spec[axis])
    n = math.prod([mesh.shape[a] for a in names])
    first, *more = name.split(", ")
    shaped_name = ", ".join([f"{first} of shape {shaped(x.aval, known.get(x))}", *more])
    over = f"mesh axis {names[0]!r} (of size {n})" if len(names) == 1 else f"mesh axes {names} (of total size {n})"
    raise ValueError(
        f"shard_map applied to the function '{fun}' was given argument arrays with axis sizes that are not evenly "
        f"divisible by the corresponding mesh axis sizes:\n\nThe mesh given has shape {mesh.axis_sizes} with "
        f"corresponding axis names {mesh.axis_names}.\n\nthe passed {shaped_name} corresponds to {place} of value "
        f"{spec}, which maps array axis {axis} (of size {x.shape[axis]}) to {over}, but {n} does not evenly divide "
        f"{x.shape[axis]}\n\nArray arguments' axis sizes must be evenly divisible by the mesh axis or axes indicated "
        "by the corresponding elements of the argument's in_specs entry. Consider checking that in_specs are correct, "
        f"and if so consider changing the mesh axis sizes or else padding the input and adapting '{fun}' appropriately."
    )


def argument_texts(function: Any, args: tuple[Any, ...]) -> list[str]:
    """For each leaf of the arguments what it is called in errors: `args[0]['a'], where args[0] is bound to ...`."""
    out = []
    bound, varargs = leaf_names(function, args, {}), varargs_of(function)
    for (path, _), name in zip(tree_leaves_with_path(args), bound):
        where = f"args{keystr(path)}"
        own, _, rest = name.partition("[")
        own = own.split(".")[0]
        place = f"args[{path[0].idx}]"
        known_name = own.isidentifier() and (own != "args" or own == varargs)
        if not known_name:
            out.append(where)
        elif own == varargs:
            what = f"the index {rest.partition(']')[0]} component of {name_of(function)}'s varargs parameter '{own}'"
            out.append(f"{where}, where {place} is {what},")
        else:
            out.append(f"{where}, where {place} is bound to {name_of(function)}'s parameter '{own}',")
    return out


def varargs_of(function: Any) -> str | None:
    """The name of the parameter that takes all further arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
