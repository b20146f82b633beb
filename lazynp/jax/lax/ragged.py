"""Products of arrays of which one axis is cut into groups of different lengths, and of blocks with factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ops.tags import renamed
from .. import numpy as jnp
from ..array import Array, as_node, wrap
from .call import public
from .contraction import dot_general


@public
class RaggedDotDimensionNumbers:
    """Axes of a ragged product: `dot_dimension_numbers` as of `dot_general`, the one axis of the left operand that is
    cut into groups, and the axis of the groups of the right one, if there is one."""

    def __init__(self, dot_dimension_numbers: Any, lhs_ragged_dimensions: Any, rhs_group_dimensions: Any) -> None:
        (contract, batch) = dot_dimension_numbers
        self.dot_dimension_numbers = tuple(tuple(tuple(d) for d in pair) for pair in (contract, batch))
        self.lhs_ragged_dimensions = tuple(lhs_ragged_dimensions)
        self.rhs_group_dimensions = tuple(rhs_group_dimensions)

    def _key(self) -> tuple[Any, ...]:
        return self.dot_dimension_numbers, self.lhs_ragged_dimensions, self.rhs_group_dimensions

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RaggedDotDimensionNumbers) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"RaggedDotDimensionNumbers{self._key()}"


def in_groups(x: Any, axis: int, sizes: Any, outer: Sequence[int]) -> Any:
    """x once for each group, a new first axis, zero outside of the group; `sizes` is of shape (*outer axes, groups)."""
    if sizes.ndim == 1:
        sizes = jnp.broadcast_to(sizes, (*[x.shape[i] for i in outer], sizes.shape[0]))
    ends = jnp.cumsum(sizes, axis=-1)
    place = jnp.arange(x.shape[axis], dtype=ends.dtype)
    mine = (place >= (ends - sizes)[..., None]) & (place < ends[..., None])
    axes = [*outer, axis]
    mine = jnp.transpose(jnp.moveaxis(mine, -2, 0), (0, *[1 + int(i) for i in np.argsort(axes)]))
    shape = [x.shape[i] if i in axes else 1 for i in range(x.ndim)]
    return jnp.where(mine.reshape(mine.shape[0], *shape), x[None], jnp.zeros((), x.dtype))


@public
def ragged_dot_general(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Array:
    """`dot_general` of arrays of which an axis is cut into groups of these sizes.

    Of an axis of lhs that is neither contracted nor stacked each group is multiplied by its own part of rhs (along its
    axis of groups); of a contracted one the products of the groups are a new first axis of the result; of a stacked one
    nothing changes.

    Raises: NotImplementedError for a group_offset, TypeError for other than one ragged axis.
    """
    if group_offset is not None:
        raise NotImplementedError("Unimplemented group_offset support.")
    numbers = ragged_dot_dimension_numbers
    (contract, r_contract), (stacked, r_stacked) = numbers.dot_dimension_numbers
    if len(numbers.lhs_ragged_dimensions) != 1:
        raise TypeError("ragged_dot_general expects exactly one lhs ragged dimension.")
    (axis,) = numbers.lhs_ragged_dimensions
    lhs, rhs, sizes = jnp.asarray(lhs), jnp.asarray(rhs), jnp.asarray(group_sizes)
    options = {"precision": precision, "preferred_element_type": preferred_element_type}

    def later(axes: Sequence[int]) -> list[int]:
        return [i + 1 for i in axes]

    if axis in stacked:
        found: Array = dot_general(lhs, rhs, numbers.dot_dimension_numbers, **options)
    elif axis in contract:
        at = contract.index(axis)
        left = in_groups(lhs, axis, sizes, [*stacked, *contract[:at]])
        right = in_groups(rhs, r_contract[at], sizes, [*r_stacked, *r_contract[:at]])
        axes = (later(contract), later(r_contract)), ([0, *later(stacked)], [0, *later(r_stacked)])
        found = dot_general(left, right, axes, **options)
    else:
        if len(numbers.rhs_group_dimensions) != 1:
            raise TypeError("ragged_dot_general expects exactly one rhs group dimension for a ragged axis of lhs.")
        outer = [i for i in range(axis) if i not in stacked and i not in contract]
        left = in_groups(lhs, axis, sizes, [*stacked, *outer])
        axes = ([*later(contract), 0], [*r_contract, *numbers.rhs_group_dimensions]), (later(stacked), list(r_stacked))
        found = dot_general(left, rhs, axes, **options)
    return found


def times_scale(name: str, x: Any, scale: Any, contract: Sequence[int], dtype: Any) -> Any:
    """An operand times its factors, one for each block along the contracted axes."""
    x = x.astype(dtype)
    if scale is None:
        return x
    scale = jnp.asarray(scale)
    if scale.ndim != x.ndim:
        raise TypeError(f"scaled_dot: {name} of rank {x.ndim} has a scale of rank {scale.ndim}")
    for i in range(x.ndim):
        ratio, rest = divmod(x.shape[i], scale.shape[i]) if scale.shape[i] else (0, 1)
        if i in contract and (rest or ratio < 2):
            raise TypeError(
                f"The ratio of {name} contracting dim {x.shape[i]} to its scale's dim size ({scale.shape[i]}) must "
                "be a whole number, at least 2."
            )
        if i not in contract and scale.shape[i] != x.shape[i]:
            raise TypeError(f"scaled_dot: {name} of shape {x.shape} has a scale of shape {scale.shape}")
        if i in contract:
            scale = jnp.repeat(scale, ratio, axis=i)
    return x * scale.astype(dtype)


@public
def scaled_dot(
    lhs: Any,
    rhs: Any,
    *,
    lhs_scale: Any = None,
    rhs_scale: Any = None,
    dimension_numbers: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """`dot_general` of operands in blocks along the contracted axes, each block times its factor.

    The result is of `preferred_element_type`, bfloat16 by default. Raises: TypeError for operands of rank below 2, and
    for factors that do not fit.
    """
    lhs, rhs = jnp.asarray(lhs), jnp.asarray(rhs)
    if dimension_numbers is None:
        if lhs.ndim < 2:
            raise TypeError("scaled_dot does not support 0-rank and 1-rank operands.")
        n, lead = lhs.ndim, tuple(range(lhs.ndim - 2))
        dimension_numbers = (((n - 1,), (n - 2,)), (lead, lead))
    out = jnp.bfloat16 if preferred_element_type is None else preferred_element_type
    (left, right), _ = dimension_numbers
    a = times_scale("LHS", lhs, lhs_scale, left, np.float32)
    b = times_scale("RHS", rhs, rhs_scale, right, np.float32)
    found: Array = dot_general(a, b, dimension_numbers, preferred_element_type=np.float32).astype(out)
    return found


@public
def stage(x: Any, /) -> Array:
    """x as an array: of the function that is being traced."""
    return wrap(renamed(as_node(x)))


__all__ = ["RaggedDotDimensionNumbers", "ragged_dot_general", "scaled_dot", "stage"]
