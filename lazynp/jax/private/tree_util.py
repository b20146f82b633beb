"""`jax.tree_util`, and which types are nodes of trees."""

from __future__ import annotations

from .. import tree_util as _public
from ..tree_nodes import node_types


class Registry:
    """The types that are nodes, as far as they can be asked for."""

    def __contains__(self, kind: object) -> bool:
        return kind in node_types


_registry = Registry()
globals().update({k: v for k, v in vars(_public).items() if not k.startswith("_")})
