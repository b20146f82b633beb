"""Casts with XLA's rules for what does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.node import Node
from ..ops import elementwise as e
from ..ops.elementwise import convert, where
from .array import cast_node
from .dtypes import FLOAT32, KIND_OF, SMALL_INTS, SMALL_UINTS, iinfo
from .shown_primitives import one_equation

NARROW = {*SMALL_INTS.values(), *SMALL_UINTS.values()}


def cast_params(out: Node) -> dict[str, Any]:
    return {"new_dtype": out.dtype, "weak_type": out.weak, "sharding": None}


@one_equation("convert_element_type", cast_params)
def astype_node(x: Node, dtype: np.dtype[Any]) -> Node:
    """A cast as XLA does it: floats to integers by truncation, to the nearest limit where they do not fit, NaN to 0."""
    kind = KIND_OF.get(x.dtype, "?")
    if KIND_OF.get(dtype) == "b":  # a dtype of keys has no kind
        return x if kind == "b" else e.not_equal(x, Node.of_scalar(np.zeros((), x.dtype)[()]))
    if KIND_OF.get(dtype) not in ("i", "u") or kind not in "fc":
        if x.dtype in NARROW and dtype in NARROW:  # they are not cast to one another at once
            x = convert(x, np.dtype(np.int8))
        return convert(x, dtype)
    x = e.real(x) if kind == "c" else x
    x = convert(x, FLOAT32) if x.dtype.itemsize < 4 else x
    info = iinfo(dtype)
    low, high = x.dtype.type(info.min), x.dtype.type(info.max)
    inside = e.logical_and(e.greater_equal(x, Node.of_scalar(low)), e.less(x, Node.of_scalar(high)))
    whole = cast_node(where(inside, x, Node.of_scalar(x.dtype.type(0))), dtype)
    limit = where(
        e.greater_equal(x, Node.of_scalar(high)),
        Node.of_scalar(dtype.type(info.max)),
        where(e.less(x, Node.of_scalar(low)), Node.of_scalar(dtype.type(info.min)), Node.of_scalar(dtype.type(0))),
    )
    return where(inside, whole, limit)
