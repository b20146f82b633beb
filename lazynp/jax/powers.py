"""Powers of floating-point numbers, in which a half is no square root: of -inf and -0 it is another number."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.numpy.namespace import xp
from ..graph.node import Node
from ..ops import transcendental as t


def power_node(x: Node, y: Node) -> Node:
    """x to the power y by NumPy's function, but where the exponent, or a derivative's, may be one half by C's."""
    if x.dtype.kind != "f" or y.dtype.kind != "f":
        return t.power(x, y)
    n = y.value if y.value is not None else y.buffer if y.op is None and isinstance(y.buffer, np.ndarray) else None
    known = n is not None and np.size(n) == 1
    return t.power(x, y) if known and float(2 * np.asarray(n).flat[0]) % 2 != 1 else t.c_power(x, y)


def host_power(x: Any, y: Any) -> Any:
    """The same of NumPy's arrays; the exponent may be Python's number."""
    if type(y) is float:
        return xp.c_power(x, x.dtype.type(y)) if y == 0.5 else x**y
    return x**y if type(y) is int else xp.c_power(x, y) if y.dtype.kind == "f" else np.power(x, y)
