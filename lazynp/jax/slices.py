"""`jax.ds`: slices of a fixed size whose start may be traced, among other indices.

Such an index is a block of the array, which the other indices are then applied to.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph.node import Node, leaf
from ..ops import elementwise as e
from ..ops.dynamic import dynamic_slice, dynamic_update_slice
from .array import Array, as_node, is_arraylike, wrap
from .at_once import apply
from .dtypes import INT32
from .tree_util import register_pytree_node_class


def is_traced(x: Any) -> bool:
    """Whether it is an array of a function that is being transformed."""
    return isinstance(x, Array) and x.node.trace != 0


@register_pytree_node_class
@dataclasses.dataclass(frozen=True)
class Slice:
    """Of `size` elements from `start` on, each `stride`-th. What is traced of these is a leaf in trees.

    Raises: ValueError for a negative stride.
    """

    start: Any
    size: Any
    stride: int = 1

    def __post_init__(self) -> None:
        if self.stride < 0:
            raise ValueError("`stride` must be >= 0.")

    __hash__ = None  # type: ignore[assignment]

    @property
    def is_dynamic_start(self) -> bool:
        """Whether the start is traced."""
        return is_traced(self.start)

    @property
    def is_dynamic_size(self) -> bool:
        """Whether the size is traced."""
        return is_traced(self.size)

    def tree_flatten(self) -> tuple[Any, Any]:
        """The parts that are arrays, and the others."""
        fields = self.start, self.size, self.stride
        moving = self.is_dynamic_start, self.is_dynamic_size
        found = [x if m else None for x, m in zip(fields, moving)]
        return tuple(found), tuple([None if m else x for x, m in zip(fields, (*moving, False))])

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> Slice:
        """From both."""
        parts = [fixed if x is None else x for fixed, x in zip(aux_data, (*children, None))]
        return cls(*parts)

    @classmethod
    def from_slice(cls, slc: slice, size: int) -> Slice:
        """A Python slice of an axis of that size."""
        first, last, step = slc.indices(size)
        return cls(first, len(range(first, last, step)), step)


def dslice(start: Any, size: Any = None, stride: int | None = None) -> Slice | slice:
    """`x[ds(i, n)]`: n elements from i on, which may be traced; with a stride, each so-manyth. `ds(n)`: the first n;
    `ds(None)`: all."""
    if start is None:
        return slice(None)
    if size is None:
        start, size = 0, start
    return Slice(start, size, 1 if stride is None else stride)


ds = dslice


def has_slices(index: Any) -> bool:
    """Whether one of the indices is such a slice."""
    return type(index) is Slice or type(index) is tuple and any([type(k) is Slice for k in index])


def taken(k: Any) -> int:
    """How many axes an index stands for."""
    if k is None or k is Ellipsis or isinstance(k, (bool, np.bool_)):
        return 0
    return np.ndim(k) if is_arraylike(k) and np.result_type(k).kind == "b" else 1


class Block:
    """The part of an array that the slices of an index are.

    Attributes:
        starts: of the block, for each axis; sizes: its lengths. index: what is left to be applied to it.

    Args:
        wrap: whether a negative start counts from the end.
    """

    def __init__(self, x: Array, index: Any, wrap: bool = True) -> None:
        parts = list(index) if type(index) is tuple else [index]
        ndim = x.ndim
        dots = next((i for i, k in enumerate(parts) if k is Ellipsis), len(parts))
        rest = ndim - sum([taken(k) for k in parts])
        axis = 0
        self.x = x
        self.starts: list[Node] = [leaf((), INT32, np.zeros((), INT32))] * ndim
        self.sizes = list(x.shape)
        for i, k in enumerate(parts):
            if type(k) is Slice:
                if axis >= ndim:
                    raise IndexError(f"Too many indices: array is {ndim}-dimensional, but {axis + 1} were indexed")
                if k.is_dynamic_size:
                    raise TypeError(f"Shapes must be 1D sequences of concrete values of integer type, got [{k.size}].")
                self.starts[axis] = start_of(k.start, x.shape[axis] if wrap else 0)
                self.sizes[axis] = (k.size - 1) * k.stride + 1 if k.size > 0 else 0
                parts[i] = slice(None, None, k.stride) if k.stride > 1 else slice(None)
            axis += rest if i == dots else taken(k)
        self.index = tuple(parts)

    def value(self) -> Array:
        """The block. Raises TypeError where it is larger than the array."""
        if any([n > m for n, m in zip(self.sizes, self.x.shape)]):
            raise TypeError(
                "slice slice_sizes must be less than or equal to operand shape, got slice_sizes "
                f"{tuple(self.sizes)} for operand shape {self.x.shape}."
            )
        out: Array = apply(lambda x, *at: dynamic_slice(x, *at, sizes=tuple(self.sizes)), self.x.node, *self.starts)
        return out

    def written(self, block: Array) -> Array:
        """The array with another block in its place; itself where the block is not inside of it."""
        inside = [e.less_equal(s, m - n) for s, n, m in zip(self.starts, self.sizes, self.x.shape)]
        inside += [e.greater_equal(s, 0) for s in self.starts]

        def impl(x: Node, block: Node, *at: Node) -> Node:
            whole = inside[0]
            for other in inside[1:]:
                whole = e.logical_and(whole, other)
            return e.where(whole, dynamic_update_slice(x, block, *at), x)

        return wrap(impl(self.x.node, block.node, *self.starts))


def start_of(start: Any, n: int) -> Node:
    """A start, to which n is added where it is negative."""
    node = as_node(start)
    return e.convert(e.where(e.less(node, 0), e.add(node, n), node), INT32)


class BlockUpdateRef:
    """`x.at[index]` where the index has such slices: each method gives a new array. Nothing is written where a start is
    negative, or a slice is beyond the end."""

    __slots__ = ("array", "index")

    def __init__(self, array: Array, index: Any) -> None:
        self.array, self.index = array, index

    def __getattr__(self, how: str) -> Callable[..., Array]:
        block = Block(self.array, self.index, wrap=how == "get")
        method: Callable[..., Array] = getattr(block.value().at[block.index], how)
        return method if how == "get" else lambda *args, **options: block.written(method(*args, **options))
