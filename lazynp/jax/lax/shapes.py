"""Shapes: broadcasting, casts, constants, choices. Slices, padding and joining are in `pieces`."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...api import differentiate
from ...doors import through
from ...graph.node import Node, leaf
from ...ops import creation, joining, tags
from ...ops import elementwise as e
from ...ops import shape as s
from ...ops.bits import bitcast, width
from ...ops.elementwise import convert, equal, scalar, weak_cast, where
from ...ops.promotion import Shape
from ...ops.promotion import broadcast as broadcast_of
from ...tree import map as tree_map
from ..array import Array, as_node, converted, door
from ..at_once import apply
from ..casts import astype_node
from ..devices import default_backend, lowered_for
from ..dtypes import KIND_OF, SCALARS, canonical, check_real, dtype_and_weak, is_extended
from ..numpy.creation import keys
from ..shown_primitives import one_equation
from .call import (
    argument,
    arguments,
    axis_of,
    check_same_dtypes,
    dtype_of,
    lead,
    public,
    shapes_of,
    sizes_of,
    spread,
)

stop_gradient = public(through(differentiate.stop_gradient, door))

# Casts and constants.


@public
def dtype(x: Any) -> np.dtype[Any]:
    """The dtype of an array or a scalar."""
    return dtype_and_weak(x)[0]


def scalar_argument(name: str, x: Any, dtype: Any) -> Node:
    """The node of an operand; a Python int is of that dtype at once, if one was asked for.

    Raises: TypeError for a Python complex where that dtype is real.
    """
    if type(x) is complex and dtype is not None:
        check_real(x, dtype)
    if type(x) is not int or dtype is None:
        return argument(name, x)
    value = converted(x, dtype)
    return leaf((), dtype, value)


@public
def convert_element_type(operand: Any, new_dtype: Any) -> Array:
    """A cast; of a complex number the real part, where the result is real.

    Floats become integers as in XLA: the nearest limit where they do not fit, 0 for NaN.
    """
    if new_dtype is None:
        raise ValueError("dtype must be specified.")
    if operand is None:
        raise ValueError("Invalid argument to dtype: None.")
    own = dtype_and_weak(operand)[0]
    if is_extended(own) != is_extended(new_dtype):
        raise ValueError(f"Cannot convert_element_type from {own} to {dtype_of(new_dtype)}")
    python = isinstance(new_dtype, type) and new_dtype in SCALARS
    new = canonical(SCALARS[new_dtype]) if python else dtype_of(new_dtype)
    return apply(lambda x: astype_node(x, new), scalar_argument("convert_element_type", operand, new))


@public
def bitcast_convert_type(operand: Any, new_dtype: Any) -> Array:
    """The same bytes as another dtype. Of another size: a last axis of the parts comes, or goes."""
    node, new = argument("bitcast_convert_type", operand), dtype_of(new_dtype)
    if is_extended(getattr(operand, "dtype", None)):
        raise ValueError(f"unexpected input: dtype={operand.dtype}")
    a, b = width(node.dtype), width(new)
    if a < b and (node.shape or (1,))[-1] * a != b:
        last = (node.shape or (1,))[-1]
        raise ValueError(
            f"Attempting to convert array of shape {node.shape} from {node.dtype} of size {a} bits to {new} of "
            f"size {b}, bits but {last} * {a} != {b}"
        )
    if (node.dtype.kind == "b") != (new.kind == "b") or (node.dtype.kind == "c") != (new.kind == "c"):
        raise TypeError(
            "lax.bitcast_convert_type does not support bool or complex values unless the operand and destination types "
            f"match. Got operand dtype={node.dtype}, {new_dtype=}"
        )
    return apply(lambda x: bitcast(x, dtype=new), node)


@public
def full(shape: Any, fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Array:
    """An array of one value. Without a dtype it is the value's, weak where that is.

    Raises: TypeError for a value that is no scalar.
    """
    sizes = sizes_of(shape)
    new = None if dtype is None else dtype_of(dtype)
    if is_extended(new) and not is_extended(getattr(fill_value, "dtype", None)):
        return keys(sizes, fill_value, new)
    node = scalar_argument("full", fill_value, new)
    if node.ndim:
        raise TypeError(f"full must be called with scalar fill_value, got fill_value.shape {node.shape}.")
    return apply(lambda x: spread(x if new is None else astype_node(x, new), sizes), node)


@public
def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Any = None, sharding: Any = None) -> Array:
    """An array of one value with the shape and dtype of x, weak where x is, unless a dtype is given."""
    if fill_value is None:
        raise ValueError("Invalid argument to dtype: None.")
    own, weak = dtype_and_weak(x)
    sizes = sizes_of(np.shape(x) if not hasattr(x, "shape") else x.shape) if shape is None else sizes_of(shape)
    new = own if dtype is None else dtype_of(dtype)
    given = getattr(fill_value, "dtype", None)
    if is_extended(new) or is_extended(given):
        if is_extended(given) and given != new:
            raise ValueError(f"Cannot convert_element_type from {given} to {new}")
        return full(sizes, fill_value, new)
    node = scalar_argument("full_like", fill_value, new)
    if node.ndim:
        raise TypeError(f"full must be called with scalar fill_value, got fill_value.shape {node.shape}.")

    def fill(v: Node) -> Node:
        out = spread(astype_node(v, new), sizes)
        return weak_cast(out, dtype=new) if weak and dtype is None else out

    return apply(fill, node)


@public
def empty(shape: Any, dtype: Any, *, out_sharding: Any = None) -> Array:
    """Zeros: no array of this door shows what lay in memory."""
    return full(shape, 0, dtype)


@public
def iota(dtype: Any, size: int) -> Array:
    """0, 1, ..., size - 1."""
    return broadcasted_iota(dtype, (size,), 0)


@public
def broadcasted_iota(dtype: Any, shape: Any, dimension: int, *, out_sharding: Any = None) -> Array:
    """The index along one axis."""
    new, sizes = dtype_of(dtype), sizes_of(shape)
    axis = int(dimension)
    if KIND_OF.get(new) not in ("i", "u", "f", "c"):
        raise TypeError(
            f"iota does not accept dtype {new}. Accepted dtypes are subtypes of integer, floating, complexfloating."
        )
    if not 0 <= axis < len(sizes):
        raise ValueError(f"iota dimension must be between 0 and len(shape), got dimension={axis} for shape={sizes}")

    def make() -> Node:
        row = creation.iota(sizes[axis], new if new.kind in "iuf" else np.dtype(np.int64))
        row = convert(row, new)
        return spread(s.reshape(row, shape=(sizes[axis], *[1] * (len(sizes) - axis - 1))), sizes)

    return apply(make)


@public
def shape_as_value(shape: Any) -> np.ndarray:
    """A shape as an array of integers: NumPy's."""
    return np.asarray(sizes_of(shape), np.int32)


# Broadcasting.


@public
def broadcast(operand: Any, sizes: Any, *, out_sharding: Any = None) -> Array:
    """New axes of these sizes in front."""
    node = argument("broadcast", operand)
    if np.ndim(sizes) == 0:
        raise TypeError(f"lax.broadcast takes a sequence of sizes, got {sizes}")
    return apply(lambda x: spread(x, (*sizes_of(sizes), *x.shape)), node)


def placed_axes(x: Node, shape: Shape, dims: Sequence[int]) -> Node:
    """x broadcast to a shape, its axis i at place dims[i]."""
    sizes = [1] * len(shape)
    for d, n in zip(dims, x.shape):
        sizes[d] = n
    return spread(x if x.shape == tuple(sizes) else s.reshape(x, shape=tuple(sizes)), shape)


@public
def broadcast_in_dim(operand: Any, shape: Any, broadcast_dimensions: Any, *, out_sharding: Any = None) -> Array:
    """Broadcast to a shape, with axis i of the operand at place broadcast_dimensions[i].

    Raises: TypeError or ValueError where they do not fit.
    """
    node, sizes = argument("broadcast_in_dim", operand), sizes_of(shape)
    dims = tuple([operator.index(d) for d in broadcast_dimensions])
    if len(sizes) < node.ndim:
        raise TypeError(
            "broadcast_in_dim target broadcast shape must have equal or higher rank to the operand shape; got operand "
            f"ndim {node.ndim} and target broadcast ndim {len(sizes)}."
        )
    if len(dims) != node.ndim:
        raise TypeError(
            "broadcast_in_dim broadcast_dimensions must have length equal to operand ndim; got broadcast_dimensions "
            f"{dims} for operand ndim {node.ndim}."
        )
    if any(not 0 <= d < len(sizes) for d in dims):
        raise TypeError(
            "broadcast_in_dim broadcast_dimensions must be a subset of output dimensions, "
            f"got {dims} for operand ndim {node.ndim} and shape {sizes}."
        )
    if any(n not in (1, sizes[d]) for n, d in zip(node.shape, dims)):
        raise TypeError(
            "broadcast_in_dim operand dimension sizes must either be 1, or be equal to their corresponding dimensions "
            f"in the target broadcast shape; got operand of shape {node.shape}, target broadcast shape {sizes}, "
            f"broadcast_dimensions {dims} "
        )
    if len(set(dims)) < len(dims):
        raise TypeError(f"broadcast_in_dim broadcast_dimensions must be of different axes; got {dims}")
    order = tuple(sorted(range(len(dims)), key=lambda i: dims[i]))

    def impl(x: Node) -> Node:
        x = x if list(dims) == sorted(dims) else s.transpose(x, axes=order)
        return placed_axes(x, sizes, sorted(dims))

    return apply(impl, node)


@public
def broadcast_to_rank(x: Any, rank: int) -> Array:
    """Axes of length 1 in front, until there are `rank`."""
    node = argument("broadcast_to_rank", x)
    return apply(lambda x: lead(x, max(rank - x.ndim, 0)), node)


@public
def broadcast_like(arr: Any, like_arr: Any) -> Array:
    """arr broadcast to the shape of another."""
    a, b = arguments("broadcast_like", arr, like_arr)
    return apply(lambda a: spread(a, b.shape), a)


@public
def broadcast_shapes(*shapes: Any) -> Shape:
    """The common shape. Raises ValueError where there is none."""
    try:
        return broadcast_of((), *[sizes_of(x) for x in shapes])
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: shapes={list(shapes)}") from None


# Rearranging.


@public
def reshape(operand: Any, new_sizes: Any, dimensions: Any = None, *, out_sharding: Any = None) -> Array:
    """The same elements in another shape; `dimensions`: the order in which the axes are read."""
    node, sizes = argument("reshape", operand), sizes_of(new_sizes)
    if math.prod(sizes) != node.aval.size:
        raise TypeError(
            f"reshape total size must be unchanged, got new_sizes {sizes} (size {math.prod(sizes)}) for shape "
            f"{node.shape} (size {node.aval.size})"
        )
    order = None if dimensions is None else tuple([operator.index(d) for d in dimensions])
    if order is not None and sorted(order) != list(range(node.ndim)):
        raise TypeError(
            f"reshape dimensions must be a permutation of operand dimensions, got dimensions {order} for shape "
            f"{node.shape}."
        )

    def run(x: Node) -> Node:
        if order is not None and order != tuple(range(x.ndim)):
            x = s.transpose(x, axes=order)
        return x if x.shape == sizes else s.reshape(x, shape=sizes)

    return apply(run, node)


@public
def transpose(operand: Any, permutation: Any) -> Array:
    """The axes in another order. Raises TypeError for what is no permutation."""
    node = argument("transpose", operand)
    axes = tuple([operator.index(a) for a in permutation])
    if sorted(axes) != list(range(node.ndim)):
        raise TypeError(
            "transpose permutation isn't a permutation of operand dimensions, "
            f"got permutation {axes} for operand shape {node.shape}."
        )
    return apply(lambda x: s.transpose(x, axes=axes) if axes != tuple(range(x.ndim)) else x, node)


@public
def squeeze(array: Any, dimensions: Any) -> Array:
    """Axes of length 1 left out. Raises ValueError where one is longer, or is named twice."""
    node = argument("squeeze", array)
    places = [axis_of(a, node.ndim) for a in dimensions]
    axes = set(places)
    if len(axes) != len(places):
        raise ValueError(f"dimensions are not unique: {tuple(places)}")
    if any(node.shape[a] != 1 for a in axes):
        raise ValueError(
            f"cannot select an axis to squeeze out which has size not equal to one, got shape={node.shape} and "
            f"dimensions={tuple(sorted(axes))}"
        )
    shape = tuple([n for i, n in enumerate(node.shape) if i not in axes])
    return apply(lambda x: s.reshape(x, shape=shape) if axes else x, node)


@public
def expand_dims(array: Any, dimensions: Any) -> Array:
    """New axes of length 1 at these places of the result."""
    node = argument("expand_dims", array)
    given = list(dimensions)
    if len(set(given)) != len(given):
        raise ValueError(f"repeated axis in lax.expand_dims: {dimensions}")
    axes = [axis_of(a, node.ndim + len(given)) for a in given]
    if len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis in lax.expand_dims: {dimensions}")
    return apply(lambda x: s.expand_dims(x, *axes) if axes else x, node)


@public
def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """The axes from start to stop as one. Raises AttributeError for what has no shape."""
    low, high, _ = builtins.slice(start_dimension, stop_dimension).indices(len(operand.shape))
    node = argument("collapse", operand)
    if low > high:
        raise ValueError(
            f"Invalid dimension range passed to collapse: {node.shape}[{start_dimension}:{stop_dimension}]"
        )
    size = int(np.prod(node.shape[low:high], dtype=int))
    return apply(lambda x: s.reshape(x, shape=(*x.shape[:low], size, *x.shape[high:])), node)


@public
def rev(operand: Any, dimensions: Any) -> Array:
    """These axes from the end. Raises TypeError for one that is not there, or is named twice or from the end."""
    node = argument("rev", operand)
    axes = tuple([operator.index(a) for a in dimensions])
    if len(set(axes)) != len(axes):
        raise TypeError(f"rev dimensions must be unique, got {axes}")
    if any(a < 0 for a in axes):
        raise TypeError(f"rev dimensions must have every element be nonnegative, got {axes}.")
    if any(a >= node.ndim for a in axes):
        raise TypeError(
            f"rev dimensions must all be less than operand ndim, got dimensions {axes} for operand ndim {node.ndim}."
        )
    return apply(lambda x: joining.flip(x, axes) if axes else x, node)


@public
def tile(operand: Any, reps: Any) -> Array:
    """The whole, reps[i] times along axis i. Raises TypeError for another number of them than of axes."""
    node, counts = argument("tile", operand), sizes_of(reps)
    if len(counts) != node.ndim:
        raise TypeError(
            f"reps length must be equal to the ndim of x, got len(reps)={len(counts)} and x.ndim={node.ndim}."
        )
    return apply(lambda x: joining.tile(x, counts), node)


@public
def select(pred: Any, on_true: Any, on_false: Any) -> Array:
    """on_true where pred, else on_false: arrays of one shape; pred has it too, or is a scalar."""
    return select_n(pred, on_false, on_true)


@public
def select_n(which: Any, *cases: Any) -> Array:
    """Case number `which`, elementwise; `which` is a truth value or a whole number, a scalar or of the cases' shape.

    Raises: TypeError or ValueError, as JAX, for what does not fit.
    """
    if not cases:
        raise ValueError("select_n() must have at least one case")
    number, *nodes = arguments("select_n", which, *cases)
    if len({n.shape for n in nodes}) > 1:
        raise TypeError(f"select cases must have the same shapes, got [{shapes_of(nodes)}].")
    check_same_dtypes("select", nodes, "where")
    if number.dtype.kind == "b":
        if len(nodes) > 2:
            raise TypeError(f"select with boolean `which` cannot have > 2 cases, but got {len(nodes)}.")
    elif number.dtype.kind not in "iu":
        raise TypeError(f"select `which` must be boolean or integer type, got {number.dtype.name}.")
    if number.shape not in ((), nodes[0].shape):
        raise TypeError(
            "select `which` must be scalar or have the same shape as cases, got `which` shape "
            f"{number.shape} but case shape {nodes[0].shape}."
        )
    return apply(choose, number, *nodes)


def choose(number: Node, *cases: Node) -> Node:
    weak = all([c.weak for c in cases])
    out = cases[-1]
    if number.dtype.kind == "b":
        out = where(number, cases[-1], cases[0]) if len(cases) > 1 else spread(out, out.shape)
    else:
        for k in reversed(range(len(cases) - 1)):
            test = equal(number, scalar(k, number)) if k else e.less_equal(number, scalar(0, number))
            out = where(test, cases[k], out)
    return weak_cast(out, dtype=out.dtype) if weak and not out.weak and out.dtype.kind != "b" else out


# What says something to a compiler only.


@one_equation("optimization_barrier")
def barrier(n: Node) -> Node:
    return tags.alias(n) if n.trace else n


@public
def optimization_barrier(operand: Any, /) -> Any:
    """The operand: nothing is moved across."""
    return tree_map(lambda x: apply(barrier, as_node(x)), operand)


@public
def platform_dependent(*args: Any, default: Any = None, **per_platform: Any) -> Any:
    """What is given for the platform on which arrays are made, or else the default. Raises NotImplementedError where
    there is neither."""
    platform = lowered_for(default_backend())
    f = per_platform.get(platform, default)
    if f is None:
        raise NotImplementedError(f"platform_dependent has nothing for the platform {platform!r}")
    return f(*args)


@public
def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Nothing: a use of values."""


@public
def create_token(_: Any = None) -> Array:
    """A value to order effects by, which are in order anyway."""
    return full((), False, bool)


@public
def after_all(*operands: Any) -> Array:
    """A token."""
    return create_token()


__all__ = [
    "after_all",
    "bitcast_convert_type",
    "broadcast",
    "broadcast_in_dim",
    "broadcast_like",
    "broadcast_shapes",
    "broadcast_to_rank",
    "broadcasted_iota",
    "collapse",
    "convert_element_type",
    "create_token",
    "dce_sink",
    "dtype",
    "empty",
    "expand_dims",
    "full",
    "full_like",
    "iota",
    "optimization_barrier",
    "platform_dependent",
    "reshape",
    "rev",
    "select",
    "select_n",
    "shape_as_value",
    "squeeze",
    "stop_gradient",
    "tile",
    "transpose",
]
