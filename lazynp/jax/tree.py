"""`jax.tree`: the functions on pytrees by short names."""

import dataclasses as _dataclasses
from typing import Any as _Any

from ..signatures import renamed as _renamed
from . import tree_util as _tree_util

all = _renamed(_tree_util.tree_all, "all")
broadcast = _renamed(_tree_util.tree_broadcast, "broadcast")
flatten = _renamed(_tree_util.tree_flatten, "flatten")
flatten_with_path = _renamed(_tree_util.tree_flatten_with_path, "flatten_with_path")
leaves = _renamed(_tree_util.tree_leaves, "leaves")
leaves_with_path = _renamed(_tree_util.tree_leaves_with_path, "leaves_with_path")
map = _renamed(_tree_util.tree_map, "map")
map_with_path = _renamed(_tree_util.tree_map_with_path, "map_with_path")
reduce = _renamed(_tree_util.tree_reduce, "reduce")
reduce_associative = _renamed(_tree_util.tree_reduce_associative, "reduce_associative")
structure = _renamed(_tree_util.tree_structure, "structure")
transpose = _renamed(_tree_util.tree_transpose, "transpose")
unflatten = _renamed(_tree_util.tree_unflatten, "unflatten")


def static(**kwargs: _Any) -> _Any:
    """dataclasses.field for a field that belongs to the structure, for `register_dataclass`."""
    metadata = {"static": True, **(kwargs.pop("metadata", {}) or {})}
    return _dataclasses.field(metadata=metadata, **kwargs)


__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]
