"""`jax.tree_util`, and which types are nodes of trees."""

from __future__ import annotations

import collections

from .. import tree_util as _public

BUILT_IN = (tuple, list, dict, type(None), collections.OrderedDict, collections.defaultdict)


class Registry:
    """The types that are nodes, as far as they can be asked for."""

    def __contains__(self, kind: object) -> bool:
        return kind in BUILT_IN or kind in _public.node_types


_registry = Registry()
globals().update({k: v for k, v in vars(_public).items() if not k.startswith("_")})
