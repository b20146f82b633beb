"""Indices along explicit axes of a mesh: what is refused, as it would not be clear where the result lies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.node import Node
from .sharding import NamedSharding
from .split_rules import NO_SLICE
from .splits import Split, entry_text, known, named_sharding, shown, split_of, state, unclear


def explicit_split(x: Any) -> Split:
    """For each axis of an array the explicit axes of a mesh that split it."""
    lies = known.get(x) if type(x) is Node else None
    if not isinstance(lies, NamedSharding):
        return ((),) * len(np.shape(x) if type(x) is not Node else x.shape)
    explicit = lies.mesh.explicit_axes
    return tuple([tuple([a for a in axes if a in explicit]) for axes in split_of(lies, x.ndim)])


class Region:
    """What an index takes of an array.

    Attributes:
        count: of how many axes it does not take all. cut: whether one of these is split.
        indices: the split of the index arrays together, and their shape. split: of `x[index]`.
    """

    def __init__(self, x: Node, plan: Any, split: Split | None = None) -> None:
        of_x = explicit_split(x) if split is None else split
        self.count, self.cut = 0, False
        view: list[Any] = []
        axis = 0
        for k in plan.key:
            if k is None:
                view.append(())
                continue
            looked_up = len(view) in plan.axes and type(k) is not int
            all_of_it = type(k) is not int and k[1] == plan.shape[axis] and not looked_up  # backwards, too
            self.count += not all_of_it
            self.cut |= not all_of_it and bool(of_x[axis])
            if type(k) is not int:
                view.append(of_x[axis] if all_of_it else ())
            axis += 1
        shapes = [k.shape if type(k) is Node else np.shape(k) for k in plan.arrays]
        self.shape = np.broadcast_shapes(*shapes)
        common: list[Any] = [()] * len(self.shape)
        for k in plan.arrays:
            for d, axes in enumerate(reversed(explicit_split(k)), 1):
                common[-d] = common[-d] or axes
        self.indices = tuple(common)
        kept = [s for d, s in enumerate(view) if d not in plan.axes]
        self.split = (*kept[: plan.at], *common, *kept[plan.at :]) if plan.axes else tuple(kept)

    def index_type(self) -> str:
        """The type of the indices, as JAX has them: one array whose last axis is of those that are indexed."""
        sizes = [f"{n}@{entry_text(s)}" if s else str(n) for n, s in zip(self.shape, self.indices)]
        return f"int32[{','.join([*sizes, str(self.count)])}]"


def check_read(x: Node, plan: Any) -> None:
    """Raise ShardingTypeError for a slice, along an axis that is split over several devices, of an array that is at
    hand. A traced one is sliced, and the rule of that knows how the result lies."""
    if not state.on or state.settled or x.trace or plan.axes or len(plan.shape) != x.ndim:
        return
    lies = known.get(x)
    if lies is not None and lies.num_devices == 1:
        return
    region = Region(x, plan)
    if region.cut:
        refuse_read(x, region.index_type())


def refuse_read(x: Node, index_type: str) -> None:
    unclear(f"{NO_SLICE}operand=ShapedArray({shown(x, explicit_split(x))}), indices=ShapedArray({index_type})")


def check_looked_up(x: Node, axes: Sequence[int], indices: Sequence[int]) -> None:
    """Raise ShardingTypeError for an array that is split along axes of which indices, together of this shape, say what
    is taken."""
    if state.on and any([explicit_split(x)[d] for d in axes]):
        refuse_read(x, f"int32[{','.join(map(str, (*indices, len(axes))))}]")


def taken_at_once(x: Node, plan: Any, out: Node) -> None:
    """A part of an array that is at hand: XLA's `gather` and `dynamic_slice` leave axes whole that are cut."""
    lies = known.get(x) if state.on and not x.trace and not plan.axes and len(plan.shape) == x.ndim else None
    if isinstance(lies, NamedSharding) and not lies.mesh.explicit_axes and out.buffer is None:
        known[out] = named_sharding(lies.mesh, Region(x, plan, split_of(lies, x.ndim)).split, out.ndim)


def check_write(x: Node, plan: Any, y: Node, shape: tuple[int, ...]) -> None:
    """Raise ShardingTypeError for a write along an axis that is split, or by indices that are; ValueError for a value
    that lies otherwise than the part of this shape that it is written to."""
    if not state.on or state.settled or len(plan.shape) != x.ndim:
        return
    region, given = Region(x, plan), explicit_split(y)
    to = y.aval._replace(shape=shape)
    split = region.split
    apart = [d for d in range(1, y.ndim + 1) if y.shape[-d] != 1 and given[-d] != split[-d]]
    if apart and not any(region.indices):
        raise ValueError(
            f"Incompatible types for broadcasting: input type={shown(y, given)} and requested type={shown(to, split)}"
        )
    if region.cut or any(region.indices):
        unclear(
            "Use `.at[...].set/add/mul/...(out_sharding=)` to provide output PartitionSpec for the scatter update as "
            "out sharding could not be resolved unambiguously (or would require collectives on inputs). Got "
            f"operand=ShapedArray({shown(x, explicit_split(x))}), indices=ShapedArray({region.index_type()}), "
            f"updates=ShapedArray({shown(to, split)})"
        )
