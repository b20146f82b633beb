"""`x[index]` and `x.at[index]`: NumPy's grammar of indices, JAX's rules for those that are out of bounds.

Reading clamps an index that is out of bounds, writing drops it; `mode` says otherwise. With the switch
`jax_error_checking_behavior_oob` set to "raise", both raise IndexError.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..config import config
from ..errors import boolean_index_error
from ..flags import flags
from ..graph.node import ABSTRACT, Node, leaf
from ..ops import elementwise as e
from ..ops.elementwise import convert, where
from ..ops.indexing import gather, indexed_shape, result_axis, scatter
from ..ops.promotion import broadcast
from ..ops.shape import broadcast_to, key_shape, reshape, set_, slice_, whole
from .array import Array, apply, as_node, cast_node, is_arraylike, typed, wrap_value
from .dtypes import KIND_OF, iinfo, promotion, x64_enabled

MODES = {
    None: None,
    "promise_in_bounds": "clip",
    "clip": "clip",
    "fill": "fill",
    "drop": "fill",
    "fill_or_drop": "fill",
    "one_hot": "clip",
}
BASIC = frozenset({int, slice, type(None), type(Ellipsis)})


def mode_of(mode: Any, default: str) -> str:
    """What to do out of bounds: "clip", "fill" (when writing: drop) or "raise". Raises ValueError for another mode."""
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
            raise TypeError(
                "Using a non-tuple sequence for multidimensional indexing is not allowed; use `arr[array(seq)]` "
                "instead of `arr[seq]`."
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
    if kind is int or k is None or k is Ellipsis:
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
        return node
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
        bounds.append(None if b is None else operator.index(b))
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
            span = range(*k.indices(n))
            key.append((span.start, len(span), span.step))
        elif type(k) is int and not advanced:
            if n == 0:
                raise IndexError(f"index is out of bounds for axis {source - 1} with size 0")
            outside = outside or not -n <= k < n
            key.append(min(max(k + n if k < 0 else k, 0), n - 1))
        else:
            axes.append(sum([type(i) is not int for i in key]))
            arrays.append(np.asarray(k, np.int64) if type(k) is int else k)
            key.append((0, n, 1))
    at = result_axis(tuple(entries), axes)
    return Plan(sizes, tuple(key), tuple(axes), at, tuple(arrays), outside)


def wrapped_index(k: Any, n: int, wrap: bool) -> Node:
    """An index array as a node, negative indices counted from the end."""
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
    bounds = {"clip": "clip", "fill": "zero", "raise": "raise"}[mode]
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
        out = where(inside, out, Node.of_scalar(np.asarray(other, x.dtype)[()]))
    return out if out.weak == weak else cast_node(out, out.dtype, weak)


def fill_value_for(dtype: Any) -> Any:
    """What an index out of bounds reads under "fill"."""
    kind = KIND_OF[dtype]
    if kind in "fc":
        return np.nan
    return True if kind == "b" else iinfo(dtype).min if kind == "i" else iinfo(dtype).max


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
    how = "clip" if everything else mode_of(mode, "clip")
    if plan.outside:
        if how == "raise":
            raise IndexError(f"index {index} is out of bounds for an array of shape {x.shape}")
        if how == "fill":
            plan = plan_of(index, x.shape, arrays_only=True)
    fill = fill_value._value() if isinstance(fill_value, Array) else fill_value
    return apply(read, x.node, *plan.arrays, plan=plan, mode=how, fill=fill, wrap=wrap)


def getitem(self: Array, index: Any) -> Array:
    """x[index]."""
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
    return take_index(self, index)


def setitem(self: Array, index: Any, value: Any) -> None:
    """There are no writes into an array."""
    raise TypeError(
        "JAX arrays are immutable and do not support in-place item assignment. Instead of x[idx] = y, use "
        "x = x.at[idx].set(y) or another .at[] method."
    )


# --- x.at -------------------------------------------------------------------------------------------------------------

COMBINE: dict[str, Callable[..., Node]] = {
    "set": lambda old, new: new,
    "add": e.add,
    "multiply": e.multiply,
    "min": e.minimum,
    "max": e.maximum,
}
HOST: dict[str, Any] = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}


def written(x: Node, y: Node, plan: Plan, arrays: Sequence[Any], how: str, mode: str, wrap: bool) -> Node:
    """The node of x with y combined into x[index]. Both have one dtype."""
    shape = x.shape
    base = x if shape == plan.shape else reshape(x, shape=plan.shape)
    if not plan.axes:
        old = slice_(base, key=plan.key)
        new = COMBINE[how](old, y)
        out = set_(base, new if new.shape == old.shape else broadcast_to(new, shape=old.shape), key=plan.key)
        return out if shape == out.shape else reshape(out, shape=shape)
    view = viewed(x, plan)
    sizes = [view.shape[a] for a in plan.axes]
    indices = [wrapped_index(k, n, wrap and mode != "raise") for k, n in zip(arrays, sizes)]
    bounds = {"clip": "clip", "fill": "drop", "raise": "raise"}[mode]
    if bounds == "drop":  # what is still negative is outside
        indices = [where(e.less(k, 0), n, k) if k.dtype.kind == "i" else k for k, n in zip(indices, sizes)]
    new = scatter(view, y, *indices, axes=plan.axes, at=plan.at, bounds=bounds, mode=how)
    out = new if plan.key == whole(base.shape) else set_(base, new, key=plan.key)
    return out if shape == out.shape else reshape(out, shape=shape)


def region_of(plan: Plan, arrays: Sequence[Any]) -> tuple[int, ...]:
    """The shape of x[index]."""
    view = key_shape(plan.key)
    if not plan.axes:
        return view
    avals = [k.aval if type(k) is Node else leaf(k.shape, k.dtype).aval for k in arrays]
    return indexed_shape(view, avals, plan.axes, plan.at)


def update(
    x: Array, index: Any, value: Any, how: str, mode: Any = None, wrap: bool = True, stacklevel: int = 4
) -> Array:
    """x with the value combined into x[index].

    Raises: ValueError where the value does not broadcast to x[index]; TypeError for a dtype that `how` does not do.
    """
    mask = traced_mask(index)
    if mask is not None:
        return masked_update(x, mask, value, how)
    plan = plan_of(index, x.shape, arrays_only=not wrap)
    if not is_arraylike(value):
        if value is None:
            raise ValueError("None is not a valid value for jnp.array")
        value = wrap_value(np.asarray(value)) if not isinstance(value, np.ndarray) else value
        value = as_node(value._value())
    dtype, weak = typed(x)
    y, out_dtype = operand(value, dtype, stacklevel)
    region = region_of(plan, plan.arrays)
    if 0 in region:
        return x
    check_region(y, region)
    if how in ("add", "multiply") and out_dtype.kind == "b":
        raise TypeError(f"{how} does not accept dtype bool at position 0.")
    choice = mode_of(mode, "fill")
    if plan.outside:
        if choice == "raise":
            raise IndexError(f"index {index} is out of bounds for an array of shape {x.shape}")
        if choice == "fill":
            return x
    if 0 in x.shape:
        return x

    def impl(a: Node, y: Node, *arrays: Any) -> Node:
        a = convert(a, out_dtype)
        out = written(a, convert(y, out_dtype), plan, arrays, how, choice, wrap)
        return cast_node(out, dtype, weak)

    return apply(impl, x.node, y, *plan.arrays)


def operand(value: Any, dtype: Any, stacklevel: int) -> tuple[Node, Any]:
    """The value as a node, and the dtype in which it is combined. Warns where it cannot be cast safely."""
    if type(value) is int and KIND_OF[dtype] in "iu" and iinfo(dtype).min <= value <= iinfo(dtype).max:
        return Node.of_scalar(np.array(value, dtype)[()]), dtype
    pair = typed(value)
    x64 = x64_enabled()
    common, _ = promotion(x64, pair, (dtype, False))
    if common != dtype:
        warnings.warn(
            f"scatter inputs have incompatible types: cannot safely cast value from dtype={pair[0]} to dtype={dtype} "
            f"with jax_numpy_dtype_promotion={flags.numpy_dtype_promotion}. In future JAX releases this will result "
            "in an error.",
            FutureWarning,
            stacklevel=stacklevel,
        )
    return (value if type(value) is Node else as_node(value)), common


def check_region(y: Node, region: tuple[int, ...]) -> None:
    if y.ndim > len(region):
        raise ValueError(f"Cannot broadcast to shape with fewer dimensions: arr_shape={y.shape} shape={region}")
    if any([n not in (1, m) for n, m in zip(reversed(y.shape), reversed(region))]):
        raise ValueError(f"Incompatible types for broadcasting: input shape={y.shape} and requested shape={region}")


def traced_mask(index: Any) -> Node | None:
    """The mask, where the index is one whose values are not known."""
    if isinstance(index, tuple) and len(index) == 1:
        index = index[0]
    node = index._graph if isinstance(index, Array) else None
    return node if node is not None and node.trace == ABSTRACT and node.dtype.kind == "b" else None


def masked_update(x: Array, mask: Node, value: Any, how: str) -> Array:
    """Where the mask is traced, the shape of x[mask] is not known; a value of one element can be written all the same.

    Raises: NonConcreteBooleanIndexError for any other value.
    """
    dtype, weak = typed(x)
    if mask.shape != x.shape[: mask.ndim] or np.ndim(value) != 0:
        raise boolean_index_error(mask)
    y, common = operand(value, dtype, 5)

    def impl(a: Node, y: Node, mask: Node) -> Node:
        mask = reshape(mask, shape=(*mask.shape, *(1,) * (a.ndim - mask.ndim)))
        a, y = convert(a, common), convert(y, common)
        new = broadcast_to(COMBINE[how](a, y) if how != "set" else y, shape=a.shape)
        return cast_node(where(mask, new, a), dtype, weak)

    return apply(impl, x.node, y, mask)


class IndexUpdateRef:
    """`x.at[index]`: each method gives a new array."""

    __slots__ = ("array", "index")

    def __init__(self, array: Array, index: Any) -> None:
        self.array, self.index = array, index

    def __repr__(self) -> str:
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """x[index]; with mode "fill", `fill_value` (NaN, the least or largest integer) where it is out of bounds."""
        return take_index(self.array, self.index, mode, fill_value, wrap_negative_indices)

    def set(self, values: Any, **options: Any) -> Array:
        """x after `x[index] = values`."""
        return self._update("set", values, **options)

    def add(self, values: Any, **options: Any) -> Array:
        """x after `x[index] += values`; repeated indices add up."""
        return self._update("add", values, **options)

    def subtract(self, values: Any, **options: Any) -> Array:
        """x after `x[index] -= values`."""
        return self._update("add", negated(values), **options)

    def multiply(self, values: Any, **options: Any) -> Array:
        """x after `x[index] *= values`."""
        return self._update("multiply", values, **options)

    mul = multiply

    def divide(self, values: Any, **options: Any) -> Array:
        """x after `x[index] /= values`, in a floating dtype."""
        return self.array / self._ones()._update("multiply", values, **options)

    def power(self, values: Any, **options: Any) -> Array:
        """x after `x[index] **= values`."""
        return self.array ** self._ones()._update("multiply", values, **options)

    def min(self, values: Any, **options: Any) -> Array:
        """x after `x[index] = minimum(x[index], values)`."""
        return self._update("min", values, **options)

    def max(self, values: Any, **options: Any) -> Array:
        """x after `x[index] = maximum(x[index], values)`."""
        return self._update("max", values, **options)

    def apply(self, func: Callable[[Any], Any], **options: Any) -> Array:
        """x with func applied at the index: as often as it is repeated.

        Raises: NotImplementedError for a traced index with more than 64 elements, unless `unique_indices` is given.
        """
        x = self.array
        count = update(full_of(x, 0, np.int32), self.index, 1, "add", options.get("mode"), **wrapping(options))
        times = self._repeats(count, options)
        for k in range(times):
            more: Any = count > k
            x = select(more, func(x), x)
        return x

    def _repeats(self, count: Array, options: dict[str, Any]) -> int:
        if options.get("unique_indices"):
            return 1
        if count.node.trace != ABSTRACT:
            return int(count._value().max(initial=0))
        plan = plan_of(self.index, self.array.shape)
        most = math.prod(broadcast(*[k.shape for k in plan.arrays])) if plan.arrays else 1
        if most > 64:
            raise NotImplementedError(
                "x.at[index].apply with a traced index of many elements needs unique_indices=True"
            )
        return most

    def _ones(self) -> IndexUpdateRef:
        return IndexUpdateRef(full_of(self.array, 1, self.array.dtype), self.index)

    def _update(self, how: str, values: Any, **options: Any) -> Array:
        fast = small_update(self.array, self.index, values, how) if not options else None
        if fast is not None:
            return fast
        return update(self.array, self.index, values, how, options.get("mode"), **wrapping(options))


OPTIONS = frozenset({"indices_are_sorted", "unique_indices", "mode", "out_sharding", "wrap_negative_indices"})


def wrapping(options: dict[str, Any]) -> dict[str, Any]:
    unknown = options.keys() - OPTIONS
    if unknown:
        raise TypeError(f"got an unexpected keyword argument {unknown.pop()!r}")
    return {"wrap": options.get("wrap_negative_indices", True), "stacklevel": 5}


def small_update(x: Array, index: Any, value: Any, how: str) -> Array | None:
    """The update of a small array by a value of its dtype, at once; None where it is not such."""
    h = x._host
    if h is None or h.size > config.limit or h.dtype.kind not in "iuf":
        return None
    kind = type(index)
    if kind is not int and kind is not slice and not (kind is tuple and all([type(k) in BASIC for k in index])):
        return None
    kind = type(value)
    if kind is Array:
        y = value._host
        if y is None or y.dtype != h.dtype or y.size > config.limit:
            return None
    elif kind is int or kind is float and h.dtype.kind == "f":
        y = value
    else:
        return None
    out = h.copy()
    try:
        out[index] = y if how == "set" else HOST[how](out[index], y)
    except (IndexError, ValueError, TypeError, OverflowError):
        return None
    return wrap_value(out, x._weak)


def negated(values: Any) -> Any:
    return -(values if is_arraylike(values) else np.asarray(values))


def empty_of(x: Array, shape: tuple[int, ...]) -> Array:
    """An array of x's dtype that has no elements."""
    dtype, weak = typed(x)
    zero = np.zeros((), dtype)[()]
    return apply(lambda a: cast_node(broadcast_to(zero, shape=shape), dtype, weak), x.node)


def full_of(x: Array, value: Any, dtype: Any) -> Array:
    """An array like x, of one value."""
    return apply(lambda a: broadcast_to(np.asarray(value, dtype)[()], shape=a.shape), x.node)


def select(mask: Array, a: Any, b: Array) -> Array:
    dtype, weak = typed(b)
    return apply(lambda m, x, y: cast_node(where(m, convert(x, dtype), y), dtype, weak), mask.node, as_node(a), b.node)


class IndexUpdateHelper:
    """`x.at`."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> IndexUpdateRef:
        return IndexUpdateRef(self.array, index)

    def __repr__(self) -> str:
        return f"_IndexUpdateHelper({self.array!r})"


Array.__getitem__ = getitem
Array.__setitem__ = setitem
Array.at = property(IndexUpdateHelper, doc="Updates that give a new array: `x.at[index].set(value)`.")
