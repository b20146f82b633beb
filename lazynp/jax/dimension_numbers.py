"""Which axis is what in a convolution, for its functions and for jaxprs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class ConvDimensionNumbers(NamedTuple):
    """Which axis is what in a convolution: for each operand and the result the places of batch (or output feature),
    feature (or input feature) and space."""

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]
