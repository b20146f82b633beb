"""Shapes: reshaping, transposing, joining, splitting, repeating, padding with views and joins."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...config import config
from ...errors import InconclusiveDimensionOperation, concretization_error
from ...graph.node import ABSTRACT, Node
from ...ops import joining as j
from ...ops import shape as s
from ...ops.creation import iota
from ...ops.elementwise import convert, subtract
from ...ops.indexing import take
from ...ops.promotion import broadcast as common_shape
from ..array import Array, as_node, check_arraylike, is_arraylike, own_form, wrap_value
from ..at_once import apply
from ..devices import state
from ..explicit_indexing import explicit_split
from ..spreading import check_unsplit, keeping
from ..symbolic import is_symbolic_dim
from . import at_once
from .axes import axes_of, axis_of, check_broadcast, check_sizes, shape_of, static_int
from .call import IncompatibleShapesError
from .creation import asarray, zeros_like

INT64 = np.dtype(np.int64)


def small(x: Any) -> Any:
    """The value of a small array at hand, else None."""
    if type(x) is Array:
        h = x._host
        if h is not None and h.size <= config.limit:
            return h
    return None


def own(value: np.ndarray, weak: bool) -> Array:
    """The array of a view of another's value."""
    return wrap_value(np.array(value, order="C"), weak)


def looked_at(name: str, a: Any) -> None:
    """Warn where something is asked for its shape that is no array, as JAX does; not of what has a shape, but for its
    size."""
    if not is_arraylike(a) and (name == "size" or not hasattr(a, "shape")):
        text = f"{name} requires ndarray or scalar arguments, got {type(a)} at position 0. In a future JAX release this"
        warnings.warn(f"{text} will be an error.", DeprecationWarning, stacklevel=3)


def shape(a: Any) -> tuple[int, ...]:
    """The shape of an array."""
    looked_at("shape", a)
    return shape_at(a)


def shape_at(a: Any) -> tuple[int, ...]:
    if isinstance(a, Array):
        return a.shape
    return shape_at(a.__jax_array__()) if hasattr(a, "__jax_array__") and not hasattr(a, "shape") else np.shape(a)


def ndim(a: Any) -> int:
    """How many axes an array has."""
    looked_at("ndim", a)
    return len(shape_at(a))


def size(a: Any, axis: Any = None) -> int:
    """How many elements an array has, or how many along axes."""
    looked_at("size", a)
    full = shape_at(a)
    return math.prod([full[i] for i in axes_of(axis, len(full))])


def new_shape(old: tuple[int, ...], given: Any) -> tuple[int, ...]:
    """The shape that reshape makes, with -1 worked out. Raises TypeError where the sizes differ."""
    wanted = shape_of(given)
    count = math.prod(old)
    unknown = [i for i, n in enumerate(wanted) if n == -1]
    if len(unknown) > 1:
        raise TypeError(f"can only specify one unknown axis size with a `-1` value, got {tuple(wanted)}")
    if any([n < -1 for n in wanted]):
        raise TypeError(
            f"cannot reshape array of shape {old} (size {count}) into shape {wanted} (size {math.prod(wanted)})"
        )
    rest = math.prod([n for n in wanted if n != -1])
    if unknown:
        if rest == 0:
            raise ZeroDivisionError("integer modulo by zero")
        left = count % rest
        if is_symbolic_dim(left):
            raise InconclusiveDimensionOperation(
                f"Cannot divide evenly the sizes of shapes {old} and {wanted}. The remainder {left} should be 0."
            )
        if left:
            raise IncompatibleShapesError(
                f"cannot reshape array of shape {old} (size {count}) into shape {wanted} because the product of "
                f"specified axis sizes ({rest}) does not evenly divide {count}"
            )
        return tuple([count // rest if n == -1 else n for n in wanted])
    if rest != count and not is_symbolic_dim(rest) and not is_symbolic_dim(count):  # else calls will tell
        raise IncompatibleShapesError(
            f"cannot reshape array of shape {old} (size {count}) into shape {wanted} (size {rest})"
        )
    return wanted


def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None, out_sharding: Any = None) -> Any:
    """a with another shape. Raises TypeError where the number of elements differs."""
    h = small(a)
    if h is not None and order == "C":
        return own(h.reshape(new_shape(h.shape, shape)), a._weak)
    check_arraylike("reshape", a)
    x = as_node(a)
    wanted = new_shape(x.shape, shape)
    if order not in ("C", "F"):
        if order == "A":
            raise NotImplementedError("np.reshape order=A is not implemented.")
        raise ValueError(f"Unexpected value for 'order' argument: {order}.")
    if order == "C":
        return apply(lambda x: s.reshape(x, shape=wanted), x)

    def turned(x: Node) -> Node:
        flat = s.reshape(s.transpose(x, axes=tuple(range(x.ndim))[::-1]), shape=wanted[::-1])
        return s.transpose(flat, axes=tuple(range(len(wanted)))[::-1])

    return apply(turned, x)


def ravel(a: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """a as one axis."""
    check_arraylike("ravel", a)
    if order == "K":
        raise NotImplementedError("Ravel not implemented for order='K'.")
    return reshape(a, -1 if size(a) else 0, order)


def transpose(a: Any, axes: Any = None) -> Any:
    """a with its axes in another order: reversed for None."""
    check_arraylike("transpose", a)
    nd = ndim(a)
    order = tuple(range(nd))[::-1] if axes is None else tuple([axis_of(i, nd) for i in axes])
    if sorted(order) != list(range(nd)):
        raise TypeError(
            "transpose permutation isn't a permutation of operand dimensions, "
            f"got permutation {order} for operand shape {shape(a)}."
        )
    h = small(a)
    if h is not None:
        return own(h.transpose(order), a._weak)
    return apply(lambda x: s.transpose(x, axes=order), as_node(a))


def permute_dims(a: Any, /, axes: Any) -> Any:
    """a with its axes in that order."""
    return transpose(a, axes)


def matrix_transpose(x: Any, /) -> Any:
    """The last two axes exchanged. Raises ValueError for fewer than two."""
    check_arraylike("matrix_transpose", x)
    x = own_form(x)
    nd = ndim(x)
    if nd < 2:
        raise ValueError(f"x must be at least two-dimensional for matrix_transpose; got ndim={nd}")
    return transpose(x, (*range(nd - 2), nd - 1, nd - 2))


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Two axes exchanged."""
    check_arraylike("swapaxes", a)
    nd = ndim(a)
    order = list(range(nd))
    i, k = axis_of(axis1, nd), axis_of(axis2, nd)
    order[i], order[k] = k, i
    return transpose(a, order)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Axes moved to other places."""
    check_arraylike("moveaxis", a)
    nd = ndim(a)
    sources = [axis_of(i, nd) for i in (source if isinstance(source, Sequence) else (source,))]
    targets = [axis_of(i, nd) for i in (destination if isinstance(destination, Sequence) else (destination,))]
    if len(sources) != len(targets):
        raise ValueError(f"Inconsistent number of elements: {len(sources)} vs {len(targets)} of source and destination")
    order = [i for i in range(nd) if i not in sources]
    for target, origin in sorted(zip(targets, sources)):
        order.insert(target, origin)
    return transpose(a, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """An axis moved in front of another."""
    check_arraylike("rollaxis", a)
    nd = ndim(a)
    at, to = axis_of(axis, nd), static_int(start)
    if not -nd <= to <= nd:
        raise ValueError(f"start={to} must satisfy {-nd}<=start<={nd}")
    to = to + nd if to < 0 else to
    return moveaxis(a, at, to - 1 if at < to else to)


def expand_dims(a: Any, axis: Any) -> Any:
    """New axes of length 1, at these places of the result."""
    check_arraylike("expand_dims", a)
    given = tuple(axis) if isinstance(axis, Sequence) else (axis,)
    nd = ndim(a) + len(given)
    at = [axis_of(i, nd) for i in given]
    if len(set(at)) != len(at):
        raise ValueError(f"repeated axis in lax.expand_dims: {axis}")
    sizes = iter(shape(a))
    return reshape(a, tuple([1 if i in at else next(sizes) for i in range(nd)]))


def squeeze(a: Any, axis: Any = None) -> Any:
    """Without the axes of length 1, or without these. Raises ValueError for one that is longer."""
    found = at_once.squeeze(a, axis)
    if found is not None:
        return found
    check_arraylike("squeeze", a)
    full = shape(a)
    if axis is None:
        return reshape(a, tuple([n for n in full if n != 1]))
    at = axes_of(tuple(axis) if isinstance(axis, (tuple, list)) else axis, len(full))
    if any([full[i] != 1 for i in at]):
        raise ValueError(
            f"cannot select an axis to squeeze out which has size not equal to one, got shape={full} and "
            f"dimensions={at}"
        )
    return reshape(a, tuple([n for i, n in enumerate(full) if i not in at]))


def broadcast_to(array: Any, shape: Any, *, out_sharding: Any = None) -> Any:
    """An array repeated to a shape. Raises ValueError where it does not broadcast."""
    found = at_once.broadcast_to(array, shape)
    if found is not None:
        return found
    a = array if is_arraylike(array) else asarray(array)
    wanted = shape_of(shape)
    node = as_node(a)
    check_broadcast(node, wanted)
    return apply(lambda x: s.broadcast_to(x, shape=wanted) if x.shape != wanted else x, node)


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The common shape. Raises ValueError where there is none."""
    given = [shape_of(x) for x in shapes]
    try:
        return common_shape((), *given)
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: shapes={given}") from None


def broadcast_arrays(*args: Any) -> list[Any]:
    """Each array, repeated to the common shape."""
    check_arraylike("broadcast_arrays", *args)
    common = broadcast_shapes(*[shape(a) for a in args])
    return [broadcast_to(a, common) for a in args]


def atleast(n: int) -> Callable[..., Any]:
    name = f"atleast_{n}d"

    def call(*arys: Any) -> Any:
        check_arraylike(name, *arys)
        out = [at_least(a, n) for a in arys]
        return out[0] if len(out) == 1 else out

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Arrays with at least {n} axes."
    return call


def at_least(a: Any, n: int) -> Any:
    full = shape(a)
    if len(full) >= n:
        return asarray(a)
    if n == 3 and len(full) == 1:
        return reshape(a, (1, *full, 1))
    if n == 3 and len(full) == 2:
        return reshape(a, (*full, 1))
    return reshape(a, (*(1,) * (n - len(full)), *full))


atleast_1d, atleast_2d, atleast_3d = atleast(1), atleast(2), atleast(3)

# Joining.


def flip(m: Any, axis: Any = None) -> Any:
    """The elements in reverse along axes."""
    check_arraylike("flip", m)
    given = axis if isinstance(axis, (tuple, list)) else ()
    if len({axis_of(i, ndim(m)) for i in given}) < len(given):
        raise TypeError(f"rev dimensions must be unique, got {axis}.")
    axes = axes_of(axis, ndim(m))
    return apply(lambda x: j.flip(x, axes), as_node(m))


def fliplr(m: Any) -> Any:
    """Columns in reverse."""
    return flip(m, 1)


def flipud(m: Any) -> Any:
    """Rows in reverse."""
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """Turned by k quarters in the plane of two axes."""
    check_arraylike("rot90", m)
    if ndim(m) < 2:
        raise ValueError(
            "rot90 requires its first argument to have ndim at least two, but got first argument of shape "
            f"{np.shape(m)}, which has ndim {ndim(m)}"
        )
    if np.shape(axes) != (2,):
        raise ValueError("Axes must have length 2")
    a, b = axis_of(axes[0], ndim(m)), axis_of(axes[1], ndim(m))
    if a == b:
        raise ValueError("Axes must be different")
    turns = static_int(k) % 4
    if turns == 0:
        return asarray(m)
    if turns == 2:
        return flip(flip(m, a), b)
    return swapaxes(flip(m, b), a, b) if turns == 1 else flip(swapaxes(m, a, b), b)


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """The elements moved along axes, those that leave at one end coming in at the other. The shift may be traced."""
    found = at_once.roll(a, shift, axis)
    if found is not None:
        return found
    check_arraylike("roll", a)
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), shape(a))
    full = shape(a)
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    at = [axis_of(i, len(full)) for i in given]
    if isinstance(shift, Array):
        shifts = list(shift) if shift.ndim else [shift]
    else:
        shifts = list(np.asarray(shift).reshape(-1)) if np.ndim(shift) else [shift]
    if len(shifts) == 1:
        shifts = shifts * len(at)
    if len(at) == 1:
        at = at * len(shifts)
    if len(at) != len(shifts):
        raise ValueError("shift and axis must have the same length or be broadcastable")
    if not at:
        return asarray(a)
    fixed = all([not isinstance(n, Array) or n._host is not None for n in shifts])
    if fixed:
        total: dict[int, int] = {}
        for i, n in zip(at, shifts):
            total[i] = total.get(i, 0) + int(n)
        axes = tuple(sorted(total))
        steps = tuple([total[i] for i in axes])
        return apply(lambda x: j.roll(x, axes=axes, shifts=steps), as_node(a))

    def impl(x: Node, *steps: Node) -> Node:
        for i, n in zip(at, steps):
            places = subtract(iota(x.shape[i]), convert(n, INT64))
            x = take(x, places, i, "wrap")
        return x

    return apply(impl, as_node(a), *[as_node(n) for n in shifts])


def tile(A: Any, reps: Any) -> Any:
    """The whole, repeated along each axis."""
    found = at_once.tile(A, reps)
    if found is not None:
        return found
    check_arraylike("tile", A)
    counts = shape_of(reps, "reps")
    full = shape(A)
    nd = max(len(full), len(counts))
    counts = (*(1,) * (nd - len(counts)), *counts)
    wide = (*(1,) * (nd - len(full)), *full)
    check_sizes("broadcast_in_dim", tuple([n for pair in zip(counts, wide) for n in pair]))
    node = as_node(A)

    def run(x: Node) -> Node:
        return j.tile(s.reshape(x, shape=wide), counts)

    split = explicit_split(node)
    if not any(split) or len(counts) > node.ndim:
        return apply(run, node)
    for d, n in enumerate(counts):
        if n != 1:
            text = f"Operand cannot be sharded on dimension {d} when the tiling is non-trivial."
            check_unsplit(node, d, text, f"with reps: {counts}")
    return keeping(node, "tile", lambda: apply(run, node))


def repeat(
    a: Any, repeats: Any, axis: Any = None, *, total_repeat_length: int | None = None, out_sharding: Any = None
) -> Any:
    """Each element, repeated. Where `repeats` is a traced array, `total_repeat_length` says how long the result is.

    Raises: ConcretizationTypeError for traced repeats without it.
    """
    check_arraylike("repeat", a, repeats)
    if axis is None:
        a, axis = ravel(a), 0
    axis = static_int(axis)
    if ndim(a) == 0:
        a, axis = at_least(a, 1), 0
    at = axis_of(axis, ndim(a))
    n = shape(a)[at]
    if state.on and not state.settled and any(explicit_split(as_node(a))[at]):
        raise ValueError("Please pass sharding to `jnp.repeat` via `out_sharding` parameter.")
    if total_repeat_length == 0 or total_repeat_length is not None and n == 0:
        return zeros_like(a, shape=(*shape(a)[:at], 0, *shape(a)[at + 1 :]))
    traced = isinstance(repeats, Array) and repeats._host is None and repeats.node.trace == ABSTRACT
    if not traced:
        counts = np.asarray(repeats._value() if isinstance(repeats, Array) else repeats)
        if counts.dtype.kind not in "biu":
            raise TypeError(f"jnp.repeat: 'repeats' must be integers, got {counts.dtype}")
        if counts.ndim == 0 and counts < 0:
            check_sizes("broadcast_in_dim", (*shape(a)[: at + 1], int(counts)))
        counts = np.maximum(counts, 0)
        if counts.size == 1 and total_repeat_length is None:
            return apply(lambda x: j.repeat(x, int(counts.reshape(())), at), as_node(a))
        counts = np.broadcast_to(counts.reshape(-1), (n,)) if counts.size == 1 else counts.reshape(-1)
        if counts.shape != (n,):
            raise ValueError(f"jnp.repeat: 'repeats' has {counts.size} elements, but axis {at} has length {n}")
        places = np.repeat(np.arange(n), counts)
        if total_repeat_length is not None:
            short = total_repeat_length - len(places)
            places = (
                places[:total_repeat_length]
                if short <= 0
                else np.concatenate([places, np.full(short, places[-1] if len(places) else max(n - 1, 0))])
            )
        index = wrap_value(places.astype(np.int32))
        return apply(lambda x, i: take(x, i, at, "clip"), as_node(a), index.node)
    if total_repeat_length is None:
        text = "When jit-compiling jnp.repeat, the total number of repeats must be static: pass `total_repeat_length`."
        raise concretization_error(repeats.node, text)
    return repeat_traced(a, repeats, at, n, total_repeat_length)


def repeat_traced(a: Any, repeats: Array, axis: int, n: int, total: int) -> Any:
    """Element k stands where the sum of the counts up to it has not been reached."""
    from_counts = broadcast_to(repeats, (n,)) if repeats.size == 1 else repeats
    ends = from_counts.clip(0).cumsum()
    places = (ends[None, :] <= asarray(np.arange(total, dtype=np.int32))[:, None]).sum(axis=1)
    return apply(lambda x, i: take(x, i, axis, "clip"), as_node(a), places.node)


def resize(a: Any, new_shape: Any) -> Any:
    """The elements, repeated or cut off, in another shape."""
    check_arraylike("resize", a)
    wanted = shape_of(new_shape)
    if any([n < 0 for n in wanted]):
        raise ValueError("all elements of `new_shape` must be non-negative")
    flat, count = ravel(a), math.prod(wanted)
    if flat.size == 0 or count == 0:
        return zeros_like(flat, shape=wanted)
    times = -(-count // flat.size)
    return reshape(tile(flat, times)[:count], wanted)
