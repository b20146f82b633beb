"""Dynamic slices, gather and scatter with XLA's dimension numbers."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...graph.node import Node
from ...ops import dynamic, indexing
from ...ops import elementwise as e
from ...ops import shape as s
from ...ops.creation import iota
from ...ops.elementwise import convert, scalar, where
from ...ops.promotion import Shape
from ...ops.tags import refusing
from ..array import Array, wrap
from ..at import applied
from ..at_once import apply, apply_like
from ..aval import ShapedArray
from ..spreading import keeps_split, state
from .call import argument, arguments, axis_of, check_kinds, check_same_dtypes, public, sizes_of, spread, with_axes
from .dimension_checks import check_gather, check_scatter

INT64 = np.dtype(np.int64)


@public
class GatherScatterMode(enum.Enum):
    """What happens to slices that leave the operand."""

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()
    ONE_HOT = enum.auto()

    @staticmethod
    def from_any(mode: Any) -> GatherScatterMode:
        """From a mode, its name in small letters, or None. Raises ValueError for another name."""
        if isinstance(mode, GatherScatterMode):
            return mode
        names = {"clip": "CLIP", None: "FILL_OR_DROP", "fill": "FILL_OR_DROP", "drop": "FILL_OR_DROP"}
        names["promise_in_bounds"] = "PROMISE_IN_BOUNDS"
        if mode not in names:
            raise ValueError(f'Unknown gather mode "{mode}"')
        return GatherScatterMode[names[mode]]


@public
class GatherDimensionNumbers(NamedTuple):
    """Which axis is what in a gather: XLA's."""

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


@public
class ScatterDimensionNumbers(NamedTuple):
    """Which axis is what in a scatter: XLA's."""

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


# Dynamic slices.


def starts_of(name: str, x: Node, start_indices: Any, negative: Any) -> list[Node]:
    """A start for each axis, counted from the front. Raises ValueError where there are too few or too many, TypeError
    for what is no integer and for dtypes that differ."""
    if getattr(start_indices, "ndim", 1) != 1:
        raise ValueError(f"Slice indices must be a 1D sequence, got {start_indices.shape}")
    if hasattr(start_indices, "ndim"):
        node = argument(name, start_indices, 1)
        found = [s.slice_(node, key=(i,)) for i in range(node.shape[0])]
    else:
        found = [argument(name, i, 1 + k) for k, i in enumerate(start_indices)]
    if len(found) != x.ndim:
        raise ValueError(f"Length of slice indices must match number of operand dimensions ({len(found)} vs {x.shape})")
    for i in found:
        if i.ndim:
            avals = tuple([ShapedArray(*i.aval) for i in found])
            raise TypeError(f"start_indices arguments to {name} must be scalars,  got indices {avals}")
    if len({i.dtype for i in found}) > 1 or any([i.dtype.kind not in "iu" for i in found]):
        types = ", ".join([i.dtype.name for i in found])
        raise TypeError(f"index arguments to {name} must be integers of the same type, got: {types}")
    allowed = [negative] * x.ndim if isinstance(negative, bool) else list(negative)
    plain = list(start_indices) if isinstance(start_indices, (list, tuple)) else [None] * x.ndim
    for k, n, a in zip(plain, x.shape, allowed):
        if not a and type(k) is int and k < 0:
            raise ValueError(f"Index {k} is out of bounds for dimension {n} if allow_negative_indices=False")
    return [
        i
        if not a or i.dtype.kind != "i"
        else (i if k >= 0 else scalar(k + n, i))
        if type(k) is int
        else where(e.less(i, scalar(0, i)), e.add(i, scalar(n, i)), i)
        for i, k, n, a in zip(found, plain, x.shape, allowed)
    ]


@public
def dynamic_slice(
    operand: Any, start_indices: Any, slice_sizes: Any, *, allow_negative_indices: bool | Sequence[bool] = True
) -> Array:
    """A slice of that size; the start, one number for each axis, may be traced, and is moved so that it fits.

    Raises: TypeError for sizes that are larger than the operand.
    """
    node = with_axes("dynamic_slice", operand)
    starts = starts_of("dynamic_slice", node, start_indices, allow_negative_indices)
    sizes = sizes_of(slice_sizes)
    if len(sizes) != node.ndim:
        raise ValueError(
            f"dynamic_slice slice_sizes must have one entry for each axis, got {sizes} for operand shape {node.shape}."
        )
    if any(a > n for a, n in zip(sizes, node.shape)):
        raise TypeError(
            "slice slice_sizes must be less than or equal to operand shape, "
            f"got slice_sizes {sizes} for operand shape {node.shape}."
        )
    out = apply(lambda x, *i: dynamic.dynamic_slice(x, *i, sizes=sizes) if i else x, node, *starts)
    if state.on:
        keeps_split(node, out.node, "dynamic_slice", not node.trace)
    return out


@public
def dynamic_update_slice(
    operand: Any, update: Any, start_indices: Any, *, allow_negative_indices: bool | Sequence[bool] = True
) -> Array:
    """The operand with a slice replaced; the start is moved so that the update fits.

    Raises: TypeError for an update of another dtype or rank, or larger than the operand.
    """
    node, value = with_axes("dynamic_update_slice", operand), argument("dynamic_update_slice", update)
    starts = starts_of("dynamic_update_slice", node, start_indices, allow_negative_indices)
    if node.ndim != value.ndim:
        raise TypeError(
            "dynamic_update_slice update must have the same rank as operand, "
            f"got update shape {value.shape} for operand shape {node.shape}."
        )
    if any(a > n for a, n in zip(value.shape, node.shape)):
        raise TypeError(
            "dynamic_update_slice update shape must be smaller than operand shape, "
            f"got update shape {value.shape} for operand shape {node.shape}."
        )
    check_same_dtypes("dynamic_update_slice", [node, value])
    return apply(lambda x, v, *i: dynamic.dynamic_update_slice(x, v, *i) if i else v, node, value, *starts)


def index_of_axis(axis: Any, x: Node) -> int:
    """An axis counted from the front. Raises IndexError for one that is not there."""
    at = operator.index(axis)
    if not -x.ndim <= at < x.ndim:
        raise IndexError("list assignment index out of range")
    return at % x.ndim


def one_axis(x: Node, axis: int, index: Any) -> list[Any]:
    starts: list[Any] = [np.int32(0)] * x.ndim
    starts[axis] = index
    return starts


@public
def dynamic_slice_in_dim(
    operand: Any, start_index: Any, slice_size: int, axis: int = 0, *, allow_negative_indices: bool = True
) -> Array:
    """dynamic_slice along one axis."""
    node = with_axes("dynamic_slice_in_dim", operand)
    axis = index_of_axis(axis, node)
    sizes = list(node.shape)
    sizes[axis] = operator.index(slice_size)
    return dynamic_slice(
        operand, one_axis(node, axis, start_index), sizes, allow_negative_indices=allow_negative_indices
    )


@public
def dynamic_index_in_dim(
    operand: Any, index: Any, axis: int = 0, keepdims: bool = True, *, allow_negative_indices: bool = True
) -> Array:
    """One element of an axis."""
    if isinstance(operand, (bool, int, float, complex)):
        raise IndexError("list assignment index out of range")
    out = dynamic_slice_in_dim(operand, index, 1, axis, allow_negative_indices=allow_negative_indices)
    if keepdims:
        return out
    at = axis_of(axis, out.ndim)
    shape = (*out.shape[:at], *out.shape[at + 1 :])
    return apply(lambda x: s.reshape(x, shape=shape), argument("dynamic_index_in_dim", out))


@public
def dynamic_update_slice_in_dim(
    operand: Any, update: Any, start_index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Array:
    """dynamic_update_slice along one axis."""
    node = argument("dynamic_update_slice_in_dim", operand)
    axis = axis_of(axis, node.ndim)
    return dynamic_update_slice(
        operand, update, one_axis(node, axis, start_index), allow_negative_indices=allow_negative_indices
    )


@public
def dynamic_update_index_in_dim(
    operand: Any, update: Any, index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Array:
    """One element of an axis replaced; the update may lack the axis."""
    node, value = arguments("dynamic_update_index_in_dim", operand, update)
    axis = axis_of(axis, node.ndim)
    if value.ndim != node.ndim:
        update = apply(lambda v: s.expand_dims(v, axis), value)
    return dynamic_update_slice_in_dim(operand, update, index, axis, allow_negative_indices=allow_negative_indices)


@public
def index_take(src: Any, idxs: Any, axes: Sequence[int]) -> Array:
    """src at index arrays (one for each axis in `axes`), a new axis first; indices wrap around."""
    node = argument("index_take", src)
    index = arguments("index_take", *idxs)
    at = tuple([operator.index(a) for a in axes])
    return apply(lambda x, *i: indexing.gather(x, *i, axes=at, at=0, bounds="wrap"), node, *index)


# Gather and scatter. An index array is made for each axis on which a slice is smaller than the operand.


class Places(NamedTuple):
    """Where slices lie.

    Attributes:
        axes: of the operand that are indexed. arrays: the indices, over the batch's axes, then the slices' axes.
        inside: which slices lie inside, over the batch's axes.
        order: the axes of what is read, batch first, then slices' axes, indexed ones before whole ones: for each axis
            of the result its place there.
    """

    axes: Shape
    arrays: list[Node]
    inside: Node | None
    order: Shape


def find_places(
    shape: Shape, starts: Node, sizes: Shape, dims: GatherDimensionNumbers, mode: GatherScatterMode
) -> Places:
    """The places of a gather, or (its sizes being those of the update windows) of a scatter."""
    batch = starts.shape[:-1]
    gone = {*dims.collapsed_slice_dims, *dims.operand_batching_dims}
    windows = [d for d in range(len(shape)) if d not in gone]
    chosen = [d for d in range(len(shape)) if d in dims.start_index_map or d in gone or sizes[d] != shape[d]]
    moving = [d for d in windows if d in chosen]
    still = [d for d in windows if d not in chosen]
    extra = [1] * len(moving)
    index, inside = [], None
    for d in chosen:
        first = Node.of_scalar(np.int64(0))
        if d in dims.start_index_map:
            k = dims.start_index_map.index(d)
            first = s.slice_(starts, key=(*s.whole(batch), k))
            first = convert(first, INT64)
            limit = shape[d] - sizes[d]
            if mode in (GatherScatterMode.FILL_OR_DROP, GatherScatterMode.ONE_HOT):
                ok = e.logical_and(e.greater_equal(first, np.int64(0)), e.less_equal(first, np.int64(limit)))
                inside = ok if inside is None else e.logical_and(inside, ok)
            first = e.minimum(e.maximum(first, np.int64(0)), np.int64(max(limit, 0)))
            first = s.reshape(first, shape=(*batch, *extra))
        elif d in dims.operand_batching_dims:
            b = dims.start_indices_batching_dims[dims.operand_batching_dims.index(d)]
            row = [1] * (len(batch) + len(extra))
            row[b] = shape[d]
            first = s.reshape(iota(shape[d]), shape=tuple(row))
        if d in moving and sizes[d] != 1:
            along = [1] * len(moving)
            along[moving.index(d)] = sizes[d]
            first = e.add(first, s.reshape(iota(sizes[d]), shape=tuple(along)))
        index.append(first)
    full = (*batch, *[sizes[d] for d in moving])
    index[:1] = [spread(i, full) for i in index[:1]]
    places = {d: len(batch) + i for i, d in enumerate((*moving, *still))}
    offsets = dict(zip(dims.offset_dims, [places[d] for d in windows]))
    rest = iter(range(len(batch)))
    order = tuple([offsets[i] if i in offsets else next(rest) for i in range(len(batch) + len(windows))])
    return Places(tuple(chosen), index, inside, order)


def fill_for(dtype: np.dtype[Any], value: Any) -> Any:
    """What stands for a slice outside: NaN, the least signed or the largest unsigned integer, True."""
    if value is not None:
        return value
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return info.min if dtype.kind == "i" else info.max
    return dtype.kind == "b" or np.nan


@public
def gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Any,
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> Array:
    """XLA's gather: slices of one size, whose starts stand in the last axis of `start_indices`.

    Raises: TypeError for sizes or dimension numbers that do not fit.
    """
    x, starts = arguments("gather", operand, start_indices)
    sizes, dims = sizes_of(slice_sizes), GatherDimensionNumbers(*[tuple(d) for d in dimension_numbers])
    check_gather(x, starts, sizes, dims)
    how = GatherScatterMode.CLIP if mode is None else GatherScatterMode.from_any(mode)

    def run(x: Node, starts: Node) -> Node:
        where_ = find_places(x.shape, starts, sizes, dims, how)
        if not where_.axes:
            out = spread(x, (*starts.shape[:-1], *x.shape))
        else:
            out = indexing.gather(x, *where_.arrays, axes=where_.axes, at=0, bounds="clip")
        if where_.inside is not None:
            n = where_.inside.ndim
            test = s.reshape(where_.inside, shape=(*where_.inside.shape, *[1] * (out.ndim - n)))
            out = where(test, out, scalar(fill_for(x.dtype, fill_value), x))
        return out if where_.order == tuple(range(out.ndim)) else s.transpose(out, axes=where_.order)

    return apply_like(run, x, starts, weak=x.weak)


def scatter_of(name: str, mode_: str, sign: Callable[[Node], Node] | None = None) -> Callable[..., Array]:
    def scatter(
        operand: Any,
        scatter_indices: Any,
        updates: Any,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
    ) -> Array:
        x, starts, value = arguments(name, operand, scatter_indices, updates)
        if x.dtype != value.dtype:
            check_same_dtypes(name, [x, value])
        if mode_ in ("add", "multiply"):
            check_kinds({"add": "add", "multiply": "mul"}[mode_], [x, value], ["ifc", "ifc"])
        dims = ScatterDimensionNumbers(*[tuple(d) for d in dimension_numbers])
        check_scatter(x, starts, value, dims)
        if mode_ == "multiply" and not unique_indices and value.trace:
            value = refusing(value, why=f"{name} gradients are only implemented if `unique_indices=True`")

        def run(x: Node, starts: Node, value: Node) -> Node:
            return scattered(x, starts, value if sign is None else sign(value), dims, mode_, mode)

        return apply_like(run, x, starts, value, weak=x.weak)

    scatter.__name__ = scatter.__qualname__ = name
    scatter.__doc__ = f"XLA's {name}: slices of the updates combined into the operand; those that leave it are dropped."
    return public(scatter)


def as_gather(x: Node, value: Node, dims: ScatterDimensionNumbers) -> tuple[GatherDimensionNumbers, Shape]:
    """The gather that reads what a scatter writes, and its slice sizes."""
    gone = {*dims.inserted_window_dims, *dims.operand_batching_dims}
    rest = iter([value.shape[d] for d in dims.update_window_dims])
    sizes = tuple([1 if d in gone else next(rest) for d in range(x.ndim)])
    numbers = GatherDimensionNumbers(
        tuple(dims.update_window_dims),
        tuple(dims.inserted_window_dims),
        tuple(dims.scatter_dims_to_operand_dims),
        tuple(dims.operand_batching_dims),
        tuple(dims.scatter_indices_batching_dims),
    )
    return numbers, sizes


def scattered(x: Node, starts: Node, value: Node, dims: ScatterDimensionNumbers, how: str, mode: Any) -> Node:
    numbers, sizes = as_gather(x, value, dims)
    found = find_places(x.shape, starts, sizes, numbers, GatherScatterMode.from_any(mode))
    if found.order != tuple(range(value.ndim)):
        value = s.transpose(value, axes=s.inverse(found.order))
    if not found.axes:
        found = found._replace(axes=(0,), arrays=[s.reshape(iota(x.shape[0]), shape=(x.shape[0],))])
        value = s.reshape(value, shape=(*value.shape[value.ndim - x.ndim :],)) if value.ndim != x.ndim else value
    index = found.arrays
    if found.inside is not None:
        rank = max(i.ndim for i in index)
        test = s.reshape(found.inside, shape=(*found.inside.shape, *[1] * (rank - found.inside.ndim)))
        index = [where(test, index[0], np.int64(x.shape[found.axes[0]])), *index[1:]]
    return indexing.scatter(x, value, *index, axes=found.axes, at=0, bounds="drop", mode=how)


scatter = scatter_of("scatter", "set")
scatter_add = scatter_of("scatter_add", "add")
scatter_sub = scatter_of("scatter_sub", "add", e.negative)
scatter_mul = scatter_of("scatter_mul", "multiply")
scatter_min = scatter_of("scatter_min", "min")
scatter_max = scatter_of("scatter_max", "max")


@public
def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Array], Array],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Any = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Array:
    """The operand with a function of one element applied to the places that a scatter of that update shape would write:
    as often as they are repeated.

    Raises: ValueError for a function that gives another dtype.
    """
    x, _ = arguments("scatter_apply", operand, scatter_indices)
    ones = apply(lambda: s.broadcast_to(np.int32(1), shape=sizes_of(update_shape)))
    dims = ScatterDimensionNumbers(*[tuple(d) for d in dimension_numbers])
    none = apply(lambda: s.broadcast_to(np.int32(0), shape=x.shape))
    return applied(func, wrap(x), scatter_add(none, scatter_indices, ones, dims, mode=mode))


__all__ = [
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "ScatterDimensionNumbers",
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "gather",
    "index_take",
    "scatter",
    "scatter_add",
    "scatter_apply",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_sub",
]
