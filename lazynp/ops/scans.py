"""Cumulative operations along an axis: `add.accumulate` and the other ufuncs'."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import DEFINITE, Op, Rule
from .elementwise import add, divide, multiply, subtract
from .family import linear_jvp, scan_op
from .joining import concatenate, flip, span, stack
from .shape import reshape
from .ufuncs import ufuncs


def sum_scan_transpose(ct: Node, x: Aval, *, axis: int, dtype: Any) -> tuple[Node]:
    """The cumulative sum from the other end."""
    return (flip(add_accumulate(flip(ct, (axis,)), axis=axis, dtype=None), (axis,)),)


add_accumulate = scan_op("add", transpose=sum_scan_transpose)
add_accumulate.jvp = linear_jvp(add_accumulate)


def doubling_jvp(op: Op) -> Rule:
    """Of an associative op, in log2(n) steps, each of which joins values and tangents at twice the distance before.

    Hillis and Steele, Data parallel algorithms, CACM 29 (1986). No division, so that zeros are no special case.
    """
    first, second = cast(Sequence[Rule], op.partials)

    def jvp(tangents: Sequence[Node | None], out: Node, x: Node, *, axis: int, dtype: Any) -> Node | None:
        t = tangents[0]
        if t is None:
            return None
        n, distance = x.shape[axis], 1
        while distance < n:
            rest = n - distance
            a, b, ta, tb = (
                span(x, axis, 0, rest),
                span(x, axis, distance, rest),
                span(t, axis, 0, rest),
                span(t, axis, distance, rest),
            )
            joined = op(a, b)
            along = add(first(ta, joined, a, b), second(tb, joined, a, b))
            x = concatenate(span(x, axis, 0, distance), joined, axis=axis)
            t = concatenate(span(t, axis, 0, distance), along, axis=axis)
            distance *= 2
        return t

    return jvp


def subtract_jvp(tangents: Sequence[Node | None], out: Node, x: Node, *, axis: int, dtype: Any) -> Node | None:
    """The first less the sum of all others."""
    t = tangents[0]
    if t is None:
        return None
    return subtract(multiply(span(t, axis, 0, 1), 2), add_accumulate(t, axis=axis, dtype=None))


def divide_jvp(tangents: Sequence[Node | None], out: Node, x: Node, *, axis: int, dtype: Any) -> Node | None:
    """The first, divided by all others."""
    t = tangents[0]
    return None if t is None else multiply(out, subtract_jvp((divide(t, x),), out, x, axis=axis, dtype=dtype))


FIELDS: dict[str, dict[str, Any]] = {
    "subtract": {"jvp": subtract_jvp},
    "divide": {"jvp": divide_jvp},
    **{name: {"weakness": DEFINITE} for name in ("maximum", "minimum", "logaddexp")},
}
"""What is not as of others."""
scans: dict[str, Op] = {"add": add_accumulate}
for _name, _op in ufuncs.items():
    if getattr(np, _name).nin == 2 and _name not in scans:
        _jvp = doubling_jvp(_op) if _op.associative and _op.partials else None
        scans[_name] = scan_op(_name, **{"jvp": _jvp, **FIELDS.get(_name, {})})
multiply_accumulate = scans["multiply"]
maximum_accumulate, minimum_accumulate = scans["maximum"], scans["minimum"]


def prefixes(combine: Callable[..., list[Node]], elems: list[Node], axis: int) -> list[Node]:
    """All prefixes of elems along an axis, combined by an associative function of batches, in log2(n) rounds.

    The rounds combine the same pairs as JAX's: Blelloch, Prefix sums and their applications (1990).

    Raises: TypeError, JAX's, where the function changes a dtype.
    """
    n = elems[0].shape[axis]
    if n < 2:
        return elems
    even = [span(e, axis, 0, n // 2, 2) for e in elems]
    pairs = combine(even, [span(e, axis, 1, n // 2, 2) for e in elems])
    for e, p in zip(elems, pairs):
        if e.dtype != p.dtype:
            raise TypeError(f"lax.concatenate requires arguments to have the same dtypes, got {e.dtype}, {p.dtype}.")
    odd = prefixes(combine, pairs, axis)
    later = [span(e, axis, 2, (n - 1) // 2, 2) for e in elems]
    even = combine([span(o, axis, 0, (n - 1) // 2) for o in odd], later)
    even = [concatenate(span(e, axis, 0, 1), v, axis=axis) for e, v in zip(elems, even)]
    return [interleaved(a, b, axis) for a, b in zip(even, odd)]


def interleaved(a: Node, b: Node, axis: int) -> Node:
    """a[0], b[0], a[1], ...; a may be longer by one."""
    n = b.shape[axis]
    out = stack(span(a, axis, 0, n), b, axis=axis + 1)
    out = reshape(out, shape=(*b.shape[:axis], 2 * n, *b.shape[axis + 1 :]))
    return out if a.shape[axis] == n else concatenate(out, span(a, axis, n, 1), axis=axis)
