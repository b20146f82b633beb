"""`x[index]`, and what `x.at[index]` shares with it: NumPy's grammar of indices, and JAX's rules out of bounds.

Reading clamps an index that is out of bounds, writing drops it; `mode` says otherwise. With the switch
`jax_error_checking_behavior_oob` set to "raise", both raise IndexError.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..api.trace import stack
from ..config import config
from ..errors import boolean_index_error
from ..flags import flags
from ..graph.node import ABSTRACT, Node, leaf
from ..ops import elementwise as e
from ..ops.elementwise import convert, where
from ..ops.indexing import gather, indexed_shape, result_axis
from ..ops.promotion import broadcast
from ..ops.shape import broadcast_to, key_shape, reshape, slice_, whole
from ..tracebacks import leave
from .array import Array, as_node, cast_node, is_arraylike, typed, wrap_value
from .at_once import apply
from .devices import state as spreading
from .dtypes import INT32, KIND_OF, iinfo
from .explicit_indexing import check_read, taken_at_once
from .slices import Block, has_slices
from .symbolic import is_symbolic_dim, max_dim, min_dim
from .transfers import State as guarded
from .transfers import to_device

MODES = {
    None: None,
    "promise_in_bounds": "assumed",
    "clip": "clip",
    "fill": "fill",
    "drop": "fill",
    "fill_or_drop": "fill",
    "one_hot": "clip",
}
BASIC = frozenset({int, slice, type(None), type(Ellipsis)})


def mode_of(mode: Any, default: str) -> str:
    """What to do out of bounds: "clip", "fill" (when writing: drop), "assumed" (in bounds) or "raise".

    Raises: ValueError for another mode.
    """
    name = mode if mode is None or isinstance(mode, str) else getattr(mode, "name", str(mode)).lower()
    if name not in MODES:
        raise ValueError(f'Unknown gather mode "{name}"')
    found = MODES[name]
    if name in (None, "promise_in_bounds") and flags.error_checking_behavior_oob == "raise":
        return "raise"
    return found or default


class Plan(NamedTuple):
    """An index, taken apart.

    Attributes:
        shape: of the array, with an axis of length 1 for each True or False among the indices.
        key: what makes a view: an int, or (start, count, step), for each axis; None for a new one.
        axes: of the view, which index arrays stand for; at: where their common shape stands in the result.
        arrays: NumPy arrays where values are known, else nodes.
        outside: whether an int is out of bounds.
    """

    shape: tuple[int, ...]
    key: tuple[Any, ...]
    axes: tuple[int, ...]
    at: int
    arrays: tuple[Any, ...]
    outside: bool


def entries_of(index: Any, shape: tuple[int, ...]) -> tuple[list[Any], tuple[int, ...]]:
    """The index with the ellipsis and masks written out, for each axis; and the shape with an axis for each bool."""
    if not isinstance(index, tuple):
        if isinstance(index, (list, range)):
            way = "tuple" if any([k is None or k is Ellipsis or isinstance(k, slice) for k in index]) else "array"
            raise TypeError(
                f"Using a non-tuple sequence for multidimensional indexing is not allowed; use `arr[{way}(seq)]` "
                "instead of `arr[seq]`. See https://github.com/jax-ml/jax/issues/4564 for more information."
            )
        index = (index,)
    parts = [part_of(k, index) for k in index]
    if sum(k is Ellipsis for k in parts) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    taken = sum([k.ndim if is_mask(k) else 0 if k is None or k is Ellipsis else 1 for k in parts])
    if taken > len(shape):
        raise IndexError(f"Too many indices: array is {len(shape)}-dimensional, but {taken} were indexed")
    rest = [slice(None)] * (len(shape) - taken)
    if not any([k is Ellipsis for k in parts]):
        parts.append(Ellipsis)
    at = next(i for i, k in enumerate(parts) if k is Ellipsis)
    out: list[Any] = []
    sizes: list[int] = []
    source = 0
    for k in (*parts[:at], *rest, *parts[at + 1 :]):
        if k is None:
            out.append(k)
        elif is_mask(k):
            if k.shape != shape[source : source + k.ndim]:
                raise IndexError(
                    f"boolean index did not match shape of indexed array in index {len(out)}: got {k.shape}, expected "
                    f"{list(shape[source : source + k.ndim])}"
                )
            sizes += shape[source : source + k.ndim] if k.ndim else [1]
            out += np.nonzero(k) if k.ndim else [np.zeros(int(bool(k)), np.int64)]
            source += k.ndim
        else:
            out.append(k)
            sizes.append(shape[source])
            source += 1
    return out, tuple(sizes)


def is_mask(k: Any) -> bool:
    return type(k) is np.ndarray and k.dtype == bool


def part_of(k: Any, index: Any) -> Any:
    """One index as an int, a slice of ints, None, Ellipsis, a NumPy array or a node. Raises TypeError, IndexError."""
    kind = type(k)
    if kind is int or k is None or k is Ellipsis or is_symbolic_dim(k):
        return k
    if kind is slice:
        return static_slice(k)
    if kind is bool or kind is np.bool_:
        return np.array(k)
    if isinstance(k, str):
        raise TypeError(f"JAX does not support string indexing; got idx={index[0] if len(index) == 1 else index!r}")
    if isinstance(k, (list, tuple, range)):
        k = np.asarray([x._value() if isinstance(x, Array) else x for x in k])
        if k.size == 0:
            k = k.astype(np.int64)
    if isinstance(k, (np.ndarray, np.generic)):
        return known_index(np.asarray(k))
    if is_arraylike(k):
        if isinstance(k, Array) and k._host is not None:
            return known_index(k._host)
        node = as_node(k)
        if node.dtype.kind == "b":
            if node.trace == ABSTRACT:
                raise boolean_index_error(node)
            return np.asarray(k._value())
        check_integer(node.dtype)
        return convert(node, INT32) if node.dtype.kind == "V" else node  # int4 and its like
    if hasattr(k, "__index__"):
        return operator.index(k)
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or boolean arrays are valid "
        f"indices. Got {k!r}"
    )


def known_index(k: np.ndarray) -> Any:
    if k.dtype == bool:
        return k
    check_integer(k.dtype)
    return int(k) if k.ndim == 0 else k.astype(np.int64)


def check_integer(dtype: Any) -> None:
    if KIND_OF.get(dtype, "?") not in ("i", "u"):
        raise TypeError(f"Indexer must have integer or boolean type, got indexer with type {dtype}")


def static_slice(k: slice) -> slice:
    """The slice with Python ints. Raises IndexError for traced bounds."""
    bounds = []
    for b in (k.start, k.stop, k.step):
        node = b._graph if isinstance(b, Array) else None
        if node is not None and node.trace == ABSTRACT:
            raise IndexError(
                f"Slice entries must be static integers. Got {k}; "
                "use lax.dynamic_slice or lax.dynamic_slice_in_dim for a start that is traced."
            )
        bounds.append(b if b is None or is_symbolic_dim(b) else operator.index(b))
    return slice(*bounds)


def plan_of(index: Any, shape: tuple[int, ...], arrays_only: bool = False) -> Plan:
    """The index taken apart; ints stand in the key unless there are arrays beside them (or `arrays_only`)."""
    entries, sizes = entries_of(index, shape)
    advanced = any([isinstance(k, (np.ndarray, Node)) for k in entries]) or arrays_only
    key: list[Any] = []
    axes: list[int] = []
    arrays: list[Any] = []
    source, outside = 0, False
    for k in entries:
        if k is None:
            key.append(None)
            continue
        n = sizes[source]
        source += 1
        if type(k) is slice:
            key.append(cut_of(k, n))
        elif (type(k) is int or is_symbolic_dim(k)) and not advanced:
            if n == 0:
                raise IndexError(f"index is out of bounds for axis {source - 1} with size 0")
            if is_symbolic_dim(n) or is_symbolic_dim(k):
                key.append(min_dim(max_dim(k + n if k < 0 else k, 0), n - 1))
                continue
            outside = outside or not -n <= k < n
            key.append(min(max(k + n if k < 0 else k, 0), n - 1))
        else:
            axes.append(sum([i is None or type(i) is tuple for i in key]))
            arrays.append(np.asarray(k, np.int64) if type(k) is int else k)
            key.append((0, n, 1))
    if len(arrays) > 1:
        check_together([k.shape for k in arrays])
    at = result_axis(tuple(entries), axes)
    return Plan(sizes, tuple(key), tuple(axes), at, tuple(arrays), outside)


def cut_of(k: slice, n: Any) -> tuple[Any, Any, Any]:
    """Where a slice of an axis of this length starts, how many elements it has, and its step."""
    if not any([is_symbolic_dim(v) for v in (k.start, k.stop, k.step, n)]):
        span = range(*k.indices(n))
        return span.start, len(span), span.step
    step = 1 if k.step is None else k.step
    first, last = (0, n) if step > 0 else (-1, n - 1)

    def end(v: Any, default: Any) -> Any:
        return default if v is None else min_dim(last, max_dim(v + n if v < 0 else v, first))

    start, stop = end(k.start, 0 if step > 0 else n - 1), end(k.stop, n if step > 0 else -1)
    distance = stop - start if step > 0 else start - stop
    return start, max_dim((distance + abs(step) - 1) // abs(step), 0), step


def check_together(shapes: list[Any]) -> None:
    """Raise ValueError for index arrays of shapes that do not broadcast."""
    if any([s != shapes[0] for s in shapes]):
        try:
            np.broadcast_shapes(*shapes)
        except ValueError:
            raise ValueError(f"Incompatible shapes for broadcasting: shapes={shapes}") from None


def wrapped_index(k: Any, n: Any, wrap: bool) -> Node:
    """An index array as a node, negative indices counted from the end."""
    if is_symbolic_dim(n):
        k, n = k if type(k) is Node else leaf(k.shape, k.dtype, np.array(k, order="C")), n.node
    if type(k) is not Node:
        if wrap:
            k = np.where(k < 0, k + n, k)
        return leaf(k.shape, k.dtype, np.array(k, order="C"))
    if k.dtype.itemsize < 4 or k.dtype.kind == "u":
        k = convert(k, np.dtype(np.int64))
    return where(e.less(k, 0), e.add(k, n), k) if wrap and k.dtype.kind == "i" else k


def in_bounds(arrays: Sequence[Node], sizes: Sequence[int]) -> Node:
    """Which elements of the broadcast index arrays (no longer counted from the end) are inside."""
    inside: Node | None = None
    for k, n in zip(arrays, sizes):
        ok = e.logical_and(e.greater_equal(k, 0), e.less(k, n))
        inside = ok if inside is None else e.logical_and(inside, ok)
    assert inside is not None
    return inside


def viewed(x: Node, plan: Plan) -> Node:
    x = x if x.shape == plan.shape else reshape(x, shape=plan.shape)
    return x if plan.key == whole(x.shape) else slice_(x, key=plan.key)


def read(x: Node, *arrays: Any, plan: Plan, mode: str, fill: Any, wrap: bool) -> Node:
    """The node of x[index]."""
    if not plan.axes:
        return viewed(x, plan)
    weak = x.weak
    x = viewed(x, plan)
    sizes = [x.shape[a] for a in plan.axes]
    if 0 in sizes:
        common = broadcast(*[np.shape(k) if type(k) is not Node else k.shape for k in arrays])
        if math.prod(common):
            raise TypeError(f"index is out of bounds for axis {plan.axes[sizes.index(0)]} with size 0")
    if mode == "assumed" and not any([np.ndim(k) if type(k) is not Node else k.ndim for k in arrays]):
        mode = "clip"  # JAX reads one place as a dynamic slice, whose start moves inside, in the derivative, too
    bounds = "zero" if mode == "fill" else mode
    if mode == "raise":
        wrap = False
    indices = [wrapped_index(k, n, wrap) for k, n in zip(arrays, sizes)]
    if mode == "fill":
        indices = [where(e.less(k, 0), n, k) if k.dtype.kind == "i" else k for k, n in zip(indices, sizes)]
    out = gather(x, *indices, axes=plan.axes, at=plan.at, bounds=bounds)
    if mode == "fill":
        inside = in_bounds(indices, sizes)
        tail = out.ndim - plan.at - inside.ndim
        inside = reshape(inside, shape=(*inside.shape, *(1,) * tail)) if tail else inside
        other = fill_value_for(x.dtype) if fill is None else fill
        if x.dtype.kind in "iu" and isinstance(other, float) and np.isnan(other):
            other = 0  # as such a cast has it
        out = where(inside, out, Node.of_scalar(np.asarray(other, x.dtype)[()]))
    return out if out.weak == weak else cast_node(out, out.dtype, weak)


def fill_value_for(dtype: Any) -> Any:
    """What an index out of bounds reads under "fill"."""
    kind = KIND_OF[dtype]
    if kind in "fc":
        return np.nan
    return True if kind == "b" else iinfo(dtype).min if kind == "i" else iinfo(dtype).max


def region_of(plan: Plan, arrays: Sequence[Any]) -> tuple[int, ...]:
    """The shape of x[index]."""
    view = key_shape(plan.key)
    if not plan.axes:
        return view
    avals = [k.aval if type(k) is Node else leaf(k.shape, k.dtype).aval for k in arrays]
    return indexed_shape(view, avals, plan.axes, plan.at)


def is_checked() -> bool:
    """Whether a function runs for `checkify`, which finds indices that are out of bounds in the graph."""
    return any([t.kind == "checkify" for t in stack.active])


def empty_of(x: Array, shape: tuple[int, ...]) -> Array:
    """An array of x's dtype that has no elements."""
    dtype, weak = typed(x)
    zero = np.zeros((), dtype)[()]
    return apply(lambda a: cast_node(broadcast_to(zero, shape=shape), dtype, weak), x.node)


def take_index(x: Array, index: Any, mode: Any = None, fill_value: Any = None, wrap: bool = True) -> Array:
    """x[index] with the options of `x.at[index].get`."""
    plan = plan_of(index, x.shape, arrays_only=not wrap)
    region = region_of(plan, plan.arrays)
    if fill_value is not None and np.ndim(fill_value) != 0:
        raise ValueError("fill_value argument to indexed get() must be a scalar")
    if 0 in region:
        return empty_of(x, region)
    # Where nothing is looked up, JAX does not ask what the mode is.
    everything = not plan.axes and tuple([k for k in plan.key if k is not None]) == whole(plan.shape)
    how = "clip" if everything else mode_of(mode, "assumed")
    if plan.outside:
        if how == "raise":
            raise IndexError(f"index {index} is out of bounds for an array of shape {x.shape}")
        if how == "fill" or is_checked():
            plan = plan_of(index, x.shape, arrays_only=True)
    fill = fill_value._value() if isinstance(fill_value, Array) else fill_value
    check_read(x.node, plan)
    out: Array = apply(read, x.node, *plan.arrays, plan=plan, mode=how, fill=fill, wrap=wrap)
    if spreading.on:
        taken_at_once(x.node, plan, out.node)
    return out


def getitem(self: Array, index: Any) -> Array:
    """x[index]."""
    try:
        if guarded.on and any([type(k) is int for k in (index if type(index) is tuple else (index,))]):
            to_device(index)
        h = self._host
        if h is not None and h.size <= config.limit:
            kind = type(index)
            if (
                kind in BASIC
                or kind is tuple
                and all([type(k) in BASIC for k in index])
                and not (kind is tuple and index.count(Ellipsis) > 1)
            ):
                try:
                    value = h[index]
                except (IndexError, TypeError):
                    return take_index(self, index)
                return wrap_value(np.array(value, order="C"), self._weak)
        if has_slices(index):
            block = Block(self, index)
            return take_index(block.value(), block.index)
        return take_index(self, index)
    except BaseException as error:
        leave(error)
        raise


def setitem(self: Array, index: Any, value: Any) -> None:
    """There are no writes into an array."""
    raise TypeError(
        "JAX arrays are immutable and do not support in-place item assignment. Instead of x[idx] = y, use "
        "x = x.at[idx].set(y) or another .at[] method: "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html"
    )
