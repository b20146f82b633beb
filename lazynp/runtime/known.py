"""By what a call of a compiled function is recognized: shapes and dtypes of its arguments, without a node for each.

`doors` says of which door a class of arrays is, and `own` is the function's door. Its arrays keep a known value as
`_host`, and its weakness as `_weak`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..graph.node import SCALAR_DTYPES, Node

SCALARS = frozenset(SCALAR_DTYPES)
INT32 = range(-(1 << 31), 1 << 31)


def key_of(leaves: Sequence[Any], key: list[Any], array: type, doors: Mapping[type, Any], own: Any) -> Any:
    """The values of these leaves, after adding to the key what they are; None for what is traced, or no array."""
    values = []
    for x in leaves:
        kind = type(x)
        if kind is array or doors.get(kind) is own:
            value = x._host
            if value is None:
                if x.node.trace:
                    return None
                value = x._value()
            key.append((value.shape, value.dtype, x._weak))
            values.append(value)
        elif kind is np.ndarray:
            key.append(x.shape)
            key.append(x.dtype)
            values.append(x)
        elif kind in SCALARS and (kind is not int or x in INT32):
            key.append(kind)
            values.append(x)
        elif isinstance(x, np.generic):
            key.append(x.dtype)
            values.append(x)
        else:
            return None
    return values


def key_of_nodes(
    leaves: Sequence[Any],
    nodes: Sequence[Node],
    key: list[Any],
    kinds: Sequence[Any],
    doors: Mapping[type, Any],
    own: Any,
) -> list[tuple[int, Any]] | None:
    """The same key, once the nodes are known: which leaves have to be made arrays of which dtype for a program of these
    kinds; None for what `key_of` knows nothing of."""
    host = []
    for i, (x, node) in enumerate(zip(leaves, nodes)):
        kind = type(x)
        if doors.get(kind) is own:
            key.append((node.shape, node.dtype, node.weak))
        elif kind is np.ndarray:
            key += [x.shape, x.dtype]
            host.append((i, node.dtype))
        elif isinstance(x, np.generic):
            key.append(x.dtype)
            host.append((i, node.dtype))
        elif kind in SCALARS:
            key.append(kind)
            if kinds[i] is None:
                host.append((i, node.dtype))
        else:
            return None
    return host
