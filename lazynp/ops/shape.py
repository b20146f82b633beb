"""Views, writes and the sum that undoes a broadcast: slice, transpose, reshape, broadcast_to, set, add.reduce.

A basic index is normalized to a *key*: for each axis of the input an int, or `(start, count, step)`; None makes a new
axis.
Keys, shapes and sizes are moving parameters: a loop whose bounds move keeps its structure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import REDUCE, SET, VIEW, Op, Rule
from .code import ALL, Code
from .promotion import Shape, numpy_error, reduced_dtype

Key = tuple[Any, ...]
Axes = Sequence[Any]  # of each input the mapped axis, or None


def linear_jvp(op: Op) -> Rule:
    """The derivative of an op that is linear in its first input: the op itself."""
    op.linear = True

    def jvp(tangents: Sequence[Node | None], out: Node, x: Node, *rest: Node, **params: Any) -> Node | None:
        return None if tangents[0] is None else op(tangents[0], *rest, **params)

    return jvp


def as_index(key: Key) -> tuple[Any, ...]:
    """The index that NumPy takes."""
    index = []
    for k in key:
        if type(k) is tuple:
            start, count, step = k
            stop = start + count * step
            index.append(slice(start, stop if stop >= 0 else None, step) if count else slice(0, 0))
        else:
            index.append(k)
    return tuple(index)


def whole(shape: Shape) -> Key:
    """The key that selects everything."""
    return tuple([(0, n, 1) for n in shape])


def key_shape(key: Key) -> Shape:
    return tuple([1 if k is None else k[1] for k in key if k is None or type(k) is tuple])


def slice_abstract(x: Aval, *, key: Key) -> Aval:
    return Aval(key_shape(key), x.dtype, x.weak)


def slice_transpose(ct: Node, x: Aval, *, key: Key) -> tuple[Node]:
    if tuple([k for k in key if k is not None]) == whole(x.shape):  # new axes alone
        return (reshape(ct, shape=x.shape),)
    return (set_(zeros_of(x), ct, key=key),)


def slice_batch(inputs: Sequence[Node], axes: Axes, *, key: Key) -> tuple[Node, int]:
    x = to_front(inputs[0], axes[0])
    return slice_(x, key=((0, x.shape[0], 1), *key)), 0


slice_ = Op(
    "slice",
    VIEW,
    slice_abstract,
    lambda xp, x, *, key: x[as_index(key)],
    moving=("key",),
    transpose=slice_transpose,
    batch=slice_batch,
)
slice_.jvp = linear_jvp(slice_)


def slice_call(xp: Any, *, key: Key) -> Rule:
    index = (*as_index(key), ...)
    return lambda x: x[index]


slice_.call = slice_call
slice_.shorter = lambda node, x, *, key: x if key == whole(x.shape) else None


def transpose_abstract(x: Aval, *, axes: Shape) -> Aval:
    return Aval(tuple([x.shape[a] for a in axes]), x.dtype, x.weak)


def transpose_transpose(ct: Node, x: Aval, *, axes: Shape) -> tuple[Node]:
    return (transpose(ct, axes=inverse(axes)),)


def transpose_batch(inputs: Sequence[Node], mapped: Axes, *, axes: Shape) -> tuple[Node, int]:
    (x,), (a,) = inputs, mapped
    return transpose(x, axes=(a, *shifted(axes, a))), 0


transpose = Op(
    "transpose",
    VIEW,
    transpose_abstract,
    lambda xp, x, *, axes: xp.transpose(x, axes),
    static=("axes",),
    transpose=transpose_transpose,
    batch=transpose_batch,
)
transpose.jvp = linear_jvp(transpose)
transpose.call = lambda xp, *, axes: lambda x: x.transpose(axes)


def shorter_transpose(node: Node, x: Node, *, axes: Shape) -> Node | None:
    if axes == tuple(range(len(axes))):
        return x
    if x.op is transpose and x.inputs:
        joined = tuple([x.static[0][a] for a in axes])
        return x.inputs[0] if joined == tuple(range(len(joined))) else transpose(x.inputs[0], axes=joined)
    return None


transpose.shorter = shorter_transpose


def reshape_abstract(x: Aval, *, shape: Shape) -> Aval:
    """`shape` has no -1, and as many elements as x."""
    return Aval(shape, x.dtype, x.weak)


def reshape_batch(inputs: Sequence[Node], axes: Axes, *, shape: Shape) -> tuple[Node, int]:
    x = to_front(inputs[0], axes[0])
    return reshape(x, shape=(x.shape[0], *shape)), 0


reshape = Op(
    "reshape",
    VIEW,
    reshape_abstract,
    lambda xp, x, *, shape: xp.reshape(x, shape),
    moving=("shape",),
    transpose=lambda ct, x, *, shape: (reshape(ct, shape=x.shape),),
    batch=reshape_batch,
)
reshape.call = lambda xp, *, shape: lambda x: x.reshape(shape)
reshape.jvp = linear_jvp(reshape)


def shorter_reshape(node: Node, x: Node, *, shape: Shape) -> Node | None:
    if x.shape == shape:
        return x
    if x.op is reshape and x.inputs:
        source = x.inputs[0]
        return source if source.shape == shape else reshape(source, shape=shape)
    return None


reshape.shorter = shorter_reshape


def broadcast_abstract(x: Aval, *, shape: Shape) -> Aval:
    return Aval(shape, x.dtype, x.weak)


def broadcast_batch(inputs: Sequence[Node], axes: Axes, *, shape: Shape) -> tuple[Node, int]:
    x = to_front(inputs[0], axes[0])
    x = aligned(x, len(shape), 1)
    return broadcast_to(x, shape=(x.shape[0], *shape)), 0


broadcast_to = Op(
    "broadcast_to",
    VIEW,
    broadcast_abstract,
    lambda xp, x, *, shape: xp.broadcast_to(x, shape),
    moving=("shape",),
    transpose=lambda ct, x, *, shape: (sum_to(ct, x.shape),),
    batch=broadcast_batch,
)
broadcast_to.jvp = linear_jvp(broadcast_to)


def shorter_broadcast(node: Node, x: Node, *, shape: Shape) -> Node | None:
    if x.shape == shape:
        return x
    return broadcast_to(x.inputs[0], shape=shape) if x.op is broadcast_to and x.inputs else None


broadcast_to.shorter = shorter_broadcast


def set_abstract(base: Aval, value: Aval, *, key: Key) -> Aval:
    """`value` has base's dtype and broadcasts to the region."""
    return Aval(base.shape, base.dtype)


def set_lower(xp: Any, base: Any, value: Any, *, key: Key) -> Any:
    out = xp.copy(base)
    out[as_index(key)] = value
    return out


def set_jvp(tangents: Sequence[Node | None], out: Node, base: Node, value: Node, *, key: Key) -> Node:
    return set_(instantiate(tangents[0], base), instantiate(tangents[1], value), key=key)


def set_transpose(ct: Node, base: Any, value: Any, *, key: Key) -> tuple[Node | None, Node | None]:
    zero = np.zeros((), ct.dtype)[()]
    return (
        set_(ct, zero, key=key) if type(base) is Aval else None,
        sum_to(slice_(ct, key=key), value.shape) if type(value) is Aval else None,
    )


def set_batch(inputs: Sequence[Node], axes: Axes, *, key: Key) -> tuple[Node, int]:
    base, value = inputs
    n = batch_size(inputs, axes)
    base = to_front(base, axes[0]) if axes[0] is not None else broadcast_to(base, shape=(n, *base.shape))
    if axes[1] is not None:
        value = aligned(to_front(value, axes[1]), len(key_shape(key)), 1)
    return set_(base, value, key=((0, n, 1), *key)), 0


set_ = Op(
    "set",
    SET,
    set_abstract,
    set_lower,
    moving=("key",),
    jvp=set_jvp,
    transpose=set_transpose,
    batch=set_batch,
    linear=True,
)
"""base with the region replaced: functional; a plan writes in place where nobody can tell."""


def set_call(xp: Any, *, key: Key) -> Rule:
    index = (*as_index(key), ...)

    def write(base: Any, value: Any) -> Any:
        out = np.array(base)  # what a ufunc gave may be a scalar
        out[index] = value
        return out

    return write


set_.call = set_call


def reduced_shape(shape: Shape, axes: Shape, keepdims: bool) -> Shape:
    if keepdims:
        return tuple([1 if i in axes else n for i, n in enumerate(shape)])
    return tuple([n for i, n in enumerate(shape) if i not in axes])


def reduce_abstract(name: str) -> Rule:
    """Of `ufunc.reduce`. `axes` is sorted and non-negative."""
    ufunc = getattr(np, name)

    def abstract(x: Aval, *, axes: Shape, keepdims: bool, dtype: np.dtype[Any] | None) -> Aval:
        out = reduced_dtype(ufunc, "reduce", x.dtype, dtype)
        empty = ufunc.identity is None and any(x.shape[a] == 0 for a in axes)
        if empty or (len(axes) > 1 and ufunc.identity is None and name not in REORDERABLE):
            raise numpy_error(ufunc.reduce, x, axis=axes, dtype=dtype)
        return Aval(reduced_shape(x.shape, axes, keepdims), out)

    return abstract


REORDERABLE = frozenset({"minimum", "maximum", "fmin", "fmax"})


def reduce_lower(name: str) -> Rule:
    return lambda xp, x, *, axes, keepdims, dtype: xp.reduce(name, x, axes, keepdims, dtype)


def reduce_batch(op: Op) -> Rule:
    """The mapped axis stays where it is."""

    def batch(inputs: Sequence[Node], mapped: Axes, *, axes: Shape, keepdims: bool, dtype: Any) -> tuple[Node, int]:
        (x,), (b,) = inputs, mapped
        around = shifted(axes, b)
        out = op(x, axes=around, keepdims=keepdims, dtype=dtype)
        return out, b if keepdims else b - sum(a < b for a in around)

    return batch


def expand_reduced(y: Node, shape: Shape, axes: Shape, keepdims: bool) -> Node:
    """A reduction's result with the reduced axes back, of length 1, so that it broadcasts against what was reduced."""
    return y if keepdims or not axes else reshape(y, shape=reduced_shape(shape, axes, True))


def sum_transpose(ct: Node, x: Aval, *, axes: Shape, keepdims: bool, dtype: Any) -> tuple[Node]:
    return (broadcast_to(expand_reduced(ct, x.shape, axes, keepdims), shape=x.shape),)


add_reduce = Op(
    "add.reduce",
    REDUCE,
    reduce_abstract("add"),
    reduce_lower("add"),
    static=("axes", "keepdims", "dtype"),
    transpose=sum_transpose,
    ufunc=np.add,
    associative=True,
    code=Code(ALL),
)
add_reduce.jvp = linear_jvp(add_reduce)
add_reduce.batch = reduce_batch(add_reduce)


def sum_to(x: Node, shape: Shape) -> Node:
    """Summed over what broadcasting from `shape` added: the transpose of broadcasting."""
    if x.shape == shape:
        return x
    extra = x.ndim - len(shape)
    axes = (*range(extra), *[i + extra for i, n in enumerate(shape) if n == 1 and x.shape[i + extra] != 1])
    if axes:
        x = add_reduce(x, axes=axes, keepdims=False, dtype=x.dtype)
    return x if x.shape == shape else reshape(x, shape=shape)


def inverse(axes: Sequence[int]) -> Shape:
    """The inverse permutation."""
    out = [0] * len(axes)
    for i, a in enumerate(axes):
        out[a] = i
    return tuple(out)


def shifted(axes: Sequence[int], at: int) -> Shape:
    """Axis numbers after an axis was put in at `at`."""
    return tuple([a + (a >= at) for a in axes])


def move_axis(x: Node, source: int, to: int) -> Node:
    """One axis moved, the others in order."""
    order = [i for i in range(x.ndim) if i != source]
    order.insert(to, source)
    return x if source == to else transpose(x, axes=tuple(order))


def to_front(x: Node, axis: int) -> Node:
    return move_axis(x, axis, 0)


def swap_last(x: Node) -> Node:
    """The matrix transpose of a stack of matrices."""
    return transpose(x, axes=(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def expand_dims(x: Node, *axes: int) -> Node:
    """New axes of length 1, at these places of the result."""
    shape = list(x.shape)
    for a in sorted(axes):
        shape.insert(a, 1)
    return reshape(x, shape=tuple(shape))


def aligned(x: Node, ndim: int, leading: int) -> Node:
    """Axes of length 1 put in behind the first `leading` ones, until `ndim` follow them."""
    missing = ndim - (x.ndim - leading)
    return reshape(x, shape=(*x.shape[:leading], *(1,) * missing, *x.shape[leading:])) if missing > 0 else x


def batch_size(inputs: Sequence[Node], axes: Axes) -> int:
    """The length of the mapped axis."""
    return next(x.shape[a] for x, a in zip(inputs, axes) if a is not None)


def all_front(inputs: Sequence[Node], axes: Axes) -> list[Node]:
    """Each input with the mapped axis first; those that have none are broadcast along it."""
    n = batch_size(inputs, axes)
    return [broadcast_to(x, shape=(n, *x.shape)) if a is None else to_front(x, a) for x, a in zip(inputs, axes)]


def move_front(inputs: Sequence[Node], axes: Axes) -> list[Node]:
    """Each input with its mapped axis first, and the others' ranks made equal behind it, so that they broadcast."""
    rank = max([x.ndim - (a is not None) for x, a in zip(inputs, axes)])
    return [x if a is None else aligned(to_front(x, a), rank, 1) for x, a in zip(inputs, axes)]


def zeros_of(aval: Any) -> Node:
    """A node of zeros of that abstract value (or node), without a buffer: a broadcast scalar."""
    return broadcast_to(np.zeros((), aval.dtype)[()], shape=aval.shape)


def instantiate(tangent: Node | None, like: Any) -> Node:
    """A tangent, zeros where there is none."""
    return zeros_of(like) if tangent is None else tangent
