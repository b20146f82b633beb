"""Whether the dimension numbers of a gather or a scatter fit its operands, in the order in which XLA asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...graph.node import Node
from ...ops.promotion import Shape


def check_order(op: str, kind: str, dims: Sequence[int]) -> None:
    """Axes ascend, and none stands twice."""
    if list(dims) != sorted(dims):
        raise TypeError(f"{kind} in {op} op must be sorted; got {dims}")
    check_unique(op, kind, dims)


def check_unique(op: str, kind: str, dims: Sequence[int]) -> None:
    if len(set(dims)) != len(dims):
        raise TypeError(f"{kind} in {op} op must not repeat; got: {dims}.")


def check_range(op: str, kind: str, dims: Sequence[int], rank: int) -> None:
    """Axes are those of an operand of this rank, counted from the front."""
    for d in dims:
        if not 0 <= d < rank:
            raise TypeError(f"Invalid {kind} set in {op} op; valid range is [0, {rank}); got: {d}.")


def check_disjoint(op: str, kind: str, dims: Sequence[int], other: str, others: Sequence[int]) -> None:
    if set(dims) & set(others):
        raise TypeError(f"{kind} and {other} in {op} op must be disjoint; got: {dims} and {others}.")


def check_integers(starts: Node) -> None:
    if starts.dtype.kind not in "iu":
        raise ValueError("indices must have an integer type")


def check_coordinates(op: str, starts: Node) -> None:
    """Raises TypeError for indices without an axis of coordinates."""
    if not starts.ndim:
        raise TypeError(
            f"{op.capitalize()} index leaf dimension must be within [0, rank(indices) + 1). rank(indices) is 0 and "
            f"{op} index leaf dimension is -1."
        )


def check_map(op: str, kind: str, dims: Sequence[int], starts: Node, rank: int, what: str) -> None:
    """Each coordinate of an index goes to an axis of its own."""
    if len(dims) != starts.shape[-1]:
        raise TypeError(
            f"{op.capitalize()} op has {len(dims)} elements in {kind} and the bound of dimension "
            f"index_vector_dim={starts.ndim - 1} of indices is {starts.shape[-1]}. These two numbers must be equal."
        )
    for i, d in enumerate(dims):
        if not 0 <= d < rank:
            raise TypeError(f"Invalid {what}; domain is [0, {rank}), got: {i}->{d}.")
    check_unique(op, kind, dims)


def check_batches(op: str, x: Node, starts: Node, of_x: Shape, kind: str, of_starts: Shape) -> None:
    """The axes that operand and indices share are as many, and as long."""
    check_unique(op, kind, of_starts)
    check_range(op, kind, of_starts, starts.ndim)
    if starts.ndim - 1 in of_starts:
        raise TypeError(
            f"{op.capitalize()} op cannot have the index vector dimension as a batching dimension; got {of_starts}."
        )
    if len(of_x) != len(of_starts):
        raise TypeError(
            f"{op.capitalize()} op requires equal numbers of operand_batching_dims and {kind}, got {of_x} and "
            f"{of_starts}."
        )
    theirs, ours = tuple([starts.shape[d] for d in of_starts]), tuple([x.shape[d] for d in of_x])
    if theirs != ours:
        raise TypeError(
            f"{op.capitalize()} op requires operand batching dimensions and indices batching dimensions to have the "
            f"same shape, got {ours} and {theirs}."
        )


def check_gather(x: Node, starts: Node, sizes: Shape, dims: Any) -> None:
    """Raises TypeError where the dimension numbers, sizes and operands of a gather do not fit."""
    check_coordinates("gather", starts)
    gone, batching = dims.collapsed_slice_dims, dims.operand_batching_dims
    check_order("gather", "offset_dims", dims.offset_dims)
    rank = len(dims.offset_dims) + starts.ndim - 1
    for i, d in enumerate(dims.offset_dims):
        if not 0 <= d < rank:
            raise TypeError(
                f"Offset dimension {i} in gather op is out of bounds; got {d}, but should have been in [0, {rank})"
            )
    check_map("gather", "start_index_map", dims.start_index_map, starts, x.ndim, "start_index_map")
    for kind, axes in (("collapsed_slice_dims", gone), ("operand_batching_dims", batching)):
        check_order("gather", kind, axes)
        check_range("gather", kind, axes, x.ndim)
    check_disjoint("gather", "collapsed_slice_dims", gone, "operand_batching_dims", batching)
    check_disjoint("gather", "start_index_map", dims.start_index_map, "operand_batching_dims", batching)
    check_batches("gather", x, starts, batching, "start_indices_batching_dims", dims.start_indices_batching_dims)
    if len(sizes) != x.ndim:
        raise TypeError(
            f"Gather op must have one slice size for every input dimension; got: len(slice_sizes)={len(sizes)}, "
            f"input_shape.rank={x.ndim}"
        )
    if len(sizes) != len(dims.offset_dims) + len(gone) + len(batching):
        raise TypeError(
            "All components of the offset index in a gather op must either be a offset dimension or explicitly "
            f"collapsed/batching; got len(slice_sizes)={len(sizes)}, output_slice_sizes={dims.offset_dims}, "
            f"collapsed_slice_dims={gone}, operand_batching_dims={batching}."
        )
    for i, (size, length) in enumerate(zip(sizes, x.shape)):
        if not 0 <= size <= length:
            raise TypeError(
                f"Slice size at index {i} in gather op is out of range, must be within [0, {length} + 1), got {size}."
            )
    for axes, what in (
        (gone, "collapse slice dims with bound 1"),
        (batching, "have operand batching dims with bound 0/1"),
    ):
        for i, d in enumerate(axes):
            if sizes[d] > 1:
                raise TypeError(f"Gather op can only {what}, but bound is {sizes[d]} for index {d} at position {i}.")
    check_integers(starts)


def check_scatter(x: Node, starts: Node, value: Node, dims: Any) -> None:
    """Raises TypeError where the dimension numbers, updates and operands of a scatter do not fit."""
    check_integers(starts)
    check_coordinates("scatter", starts)
    inserted, batching = dims.inserted_window_dims, dims.operand_batching_dims
    window = dims.update_window_dims
    rank = starts.ndim - 1 + len(window)
    if value.ndim != rank:
        raise TypeError(f"Updates tensor must be of rank {rank}; got {value.ndim}.")
    check_order("scatter", "update_window_dims", window)
    check_range("scatter", "update_window_dims", window, value.ndim)
    for kind, axes in (("inserted_window_dims", inserted), ("operand_batching_dims", batching)):
        check_order("scatter", kind, axes)
        check_range("scatter", kind, axes, x.ndim)
    check_disjoint("scatter", "inserted_window_dims", inserted, "operand_batching_dims", batching)
    places = dims.scatter_dims_to_operand_dims
    check_disjoint("scatter", "scatter_dims_to_operand_dims", places, "operand_batching_dims", batching)
    check_batches("scatter", x, starts, batching, "scatter_indices_batching_dims", dims.scatter_indices_batching_dims)
    size = len(window) + len(inserted) + len(batching)
    if x.ndim != size:
        raise TypeError(f"Scatter op has window of size {size}; doesn't match operand of rank {x.ndim}.")
    what = "scatter_dims_to_operand_dims"
    check_map("scatter", what, places, starts, x.ndim, f"{what} mapping")
    inside = [n for d, n in enumerate(x.shape) if d not in inserted and d not in batching]
    for d, limit in zip(window, inside):
        if value.shape[d] > limit:
            raise TypeError(
                "Bounds of the window dimensions of updates must not exceed the bounds of the corresponding dimensions "
                f"of operand. For dimension {d}, updates bound is {value.shape[d]}, operand bound is {limit}."
            )
    outer = [d for d in range(value.ndim) if d not in window]
    for i, d in enumerate(outer):
        if value.shape[d] != starts.shape[i]:
            raise TypeError(
                "Bounds of the scatter dimensions of updates must be the same as the bounds of the corresponding "
                f"dimensions of scatter indices. For scatter dimension {d}, updates bound is {value.shape[d]}, indices "
                f"bound is {starts.shape[i]}."
            )
