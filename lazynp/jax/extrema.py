"""The larger and the smaller of two numbers, as XLA compares them."""

from __future__ import annotations

from collections.abc import Callable

from ..graph.node import Node
from ..ops import elementwise as e
from .dtypes import shown

Binary = Callable[[Node, Node], Node]


def extremum(op: Binary, better: Binary) -> Binary:
    """Of complex numbers the first where it is better in the real part, or in the imaginary one where those are equal;
    else the second. No comparison with NaN is true."""

    def of_two(x: Node, y: Node) -> Node:
        out = op(x, y)
        if out.dtype.kind != "c":
            return out
        (a, b), (c, d) = ((e.real(v), e.imag(v)) for v in (x, y))
        first = e.logical_or(better(a, c), e.logical_and(e.equal(a, c), better(b, d)))
        return e.where(e.logical_or(e.isnan(x), e.isnan(y)), e.where(first, x, y), out)

    return of_two


def check_ordered(x: Node) -> None:
    """Raise TypeError for random keys, which have no order."""
    if x.dtype.names:
        raise TypeError(
            f"lt_to does not accept dtype {shown(x.dtype)} at position 0. Accepted dtypes at position 0 are subtypes "
            "of integer, floating, bool."
        )


maximum, minimum = extremum(e.maximum, e.greater), extremum(e.minimum, e.less)
