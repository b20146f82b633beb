"""Products of matrices in blocks with factors, as numbers of few bits are stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import numpy as jnp
from ..array import Array
from ..lax import dot_general


def scaled_matmul(
    lhs: Array, rhs: Array, lhs_scales: Array, rhs_scales: Array, preferred_element_type: Any = np.float32
) -> Array:
    """The products of lhs (b, m, k) and rhs (b, n, k), each in blocks along its last axis that are times a factor:
    lhs_scales (b, m, blocks) and rhs_scales (b, n, blocks).

    Returns: an array (b, m, n), of `preferred_element_type`.

    Raises: ValueError for other shapes.
    """
    a, b, a_scales, b_scales = (jnp.asarray(x) for x in (lhs, rhs, lhs_scales, rhs_scales))
    if not all(x.ndim == 3 for x in (a, b, a_scales, b_scales)):
        raise ValueError("scaled_matmul requires all inputs to be 3-dimensional arrays")
    for what, x, y in (("inputs a and b", a, b), ("scales", a_scales, b_scales)):
        if x.shape[0] != y.shape[0] or x.shape[2] != y.shape[2]:
            raise ValueError(
                f"scaled_matmul requires {what} to have matching batch (B) and contract (K) dimensions, but got shapes "
                f"{x.shape} and {y.shape}"
            )
    if a_scales.shape[1] != a.shape[1] or b_scales.shape[1] != b.shape[1]:
        raise ValueError(
            "scaled_matmul requires scales to match non-contract dimensions of inputs, but got shapes a: "
            f"{a.shape}, b: {b.shape}, a_scales: {a_scales.shape}, b_scales: {b_scales.shape}"
        )
    x, y = (
        v.astype(np.float32) * jnp.repeat(s.astype(np.float32), v.shape[2] // s.shape[2], axis=2)
        for v, s in ((a, a_scales), (b, b_scales))
    )
    found: Array = dot_general(x, y, (((2,), (2,)), ((0,), (0,)))).astype(preferred_element_type)
    return found
