"""`x.at[index]`: arrays with some elements set, added to, and the like; NumPy's grammar of indices, JAX's modes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..api.control import fori_loop
from ..api.vmap import vmap
from ..config import config
from ..flags import flags
from ..graph.aval import Aval
from ..graph.node import ABSTRACT, Node
from ..ops import elementwise as e
from ..ops.elementwise import convert, where
from ..ops.indexing import scatter
from ..ops.reductions import reduce
from ..ops.shape import broadcast_to, reshape, set_, slice_, whole
from ..ops.tags import refusing
from ..tracebacks import leave
from .array import Array, as_node, cast_node, door, is_arraylike, own_form, typed, wrap_value
from .array import wrap as wrap_node
from .at_once import apply
from .casts import astype_node
from .dtypes import KIND_OF, iinfo, is_extended, promotion, x64_enabled
from .explicit_axes import check_explicit, spread_over
from .explicit_indexing import check_write
from .indexing import (
    BASIC,
    Plan,
    getitem,
    is_checked,
    mode_of,
    plan_of,
    region_of,
    setitem,
    take_index,
    viewed,
    wrapped_index,
)
from .placement import in_full
from .slices import BlockUpdateRef, has_slices
from .splits import settled

COMBINE: dict[str, Callable[..., Node]] = {
    "set": lambda old, new: new,
    "add": e.add,
    "multiply": e.multiply,
    "min": e.minimum,
    "max": e.maximum,
}
NUMBERS_ONLY = {"add": "add", "subtract": "sub", "multiply": "mul"}
"""What is not done with truth values, by the names of JAX's primitives."""
HOST: dict[str, Any] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


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
    bounds = "drop" if mode in ("fill", "assumed") else mode
    if bounds == "drop":  # what is still negative is outside
        indices = [where(e.less(k, 0), n, k) if k.dtype.kind == "i" else k for k, n in zip(indices, sizes)]
    new = scatter(view, y, *indices, axes=plan.axes, at=plan.at, bounds=bounds, mode=how)
    out = new if plan.key == whole(base.shape) else set_(base, new, key=plan.key)
    return out if shape == out.shape else reshape(out, shape=shape)


def update(
    x: Array, index: Any, value: Any, how: str, mode: Any = None, wrap: bool = True, stacklevel: int = 4
) -> Array:
    """x with the value combined into x[index].

    Raises: ValueError where the value does not broadcast to x[index]; TypeError for a dtype that `how` does not do.
    """
    if not is_arraylike(value):
        if value is None:
            raise ValueError("None is not a valid value for jnp.array")
        value = wrap_value(np.asarray(value)) if not isinstance(value, np.ndarray) else value
        value = as_node(value._value())
    value = own_form(value)
    plan = plan_of(index, x.shape, arrays_only=not wrap)
    dtype, weak = typed(x)
    y, out_dtype = operand(value, dtype, stacklevel)
    region = region_of(plan, plan.arrays)
    if 0 in region:
        return x
    check_region(y, region)
    if how != "set" and is_extended(dtype):
        raise TypeError(f"{how} does not accept dtype {dtype} at position 0.")
    if how in NUMBERS_ONLY and out_dtype.kind == "b":
        raise TypeError(
            f"{NUMBERS_ONLY[how]} does not accept dtype bool at position 0. Accepted dtypes at position 0 are subtypes "
            "of integer, floating, complexfloating."
        )
    choice = mode_of(mode, "fill")
    if plan.outside:
        if choice == "raise":
            raise IndexError(f"index {index} is out of bounds for an array of shape {x.shape}")
        if is_checked():
            plan = plan_of(index, x.shape, arrays_only=True)
        elif choice == "fill":
            return x
    if 0 in x.shape:
        return x
    check_write(x.node, plan, y, region)

    def impl(a: Node, y: Node, *arrays: Any) -> Node:
        a = convert(a, out_dtype)
        y = astype_node(y, out_dtype)
        new, combined = (e.negative(y), "add") if how == "subtract" else (y, how)
        out = written(a, new, plan, arrays, combined, choice, wrap)
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
        requested = Aval(region, y.dtype)
        raise ValueError(f"Incompatible types for broadcasting: input type={y.aval} and requested type={requested}")


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
        if out_sharding is None:
            return take_index(self.array, self.index, mode, fill_value, wrap_negative_indices)
        check_explicit(in_full(out_sharding, 0, ".get"), ".get")
        with settled():
            out = take_index(self.array, self.index, mode, fill_value, wrap_negative_indices)
        placed: Array = spread_over(out, out_sharding, "get")
        return placed

    def set(self, values: Any, **options: Any) -> Array:
        """x after `x[index] = values`."""
        return self._update("set", values, **options)

    def add(self, values: Any, **options: Any) -> Array:
        """x after `x[index] += values`; repeated indices add up."""
        return self._update("add", values, **options)

    def subtract(self, values: Any, **options: Any) -> Array:
        """x after `x[index] -= values`."""
        return self._update("subtract", values, **options)

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
        """x with func, a function of one element, applied at the index: as often as it is repeated.

        Raises: ValueError for a func that gives another dtype.
        """
        count = update(full_of(self.array, 0, np.int32), self.index, 1, "add", options.get("mode"), **wrapping(options))
        return applied(func, self.array, count)

    def _ones(self) -> IndexUpdateRef:
        return IndexUpdateRef(full_of(self.array, 1, self.array.dtype), self.index)

    def _update(self, how: str, values: Any, **options: Any) -> Array:
        fast = small_update(self.array, self.index, values, how) if not options else None
        if fast is not None:
            return fast
        where_to = options.pop("out_sharding", None)
        if how == "multiply" and not options.get("unique_indices") and looks_up(self.index):
            values = once_each(values)
        try:
            if where_to is None:
                return update(self.array, self.index, values, how, options.get("mode"), **wrapping(options))
            with settled():
                out = update(self.array, self.index, values, how, options.get("mode"), **wrapping(options))
            placed: Array = spread_over(out, where_to, how)
            return placed
        except BaseException as error:
            leave(error)
            raise


def looks_up(index: Any) -> bool:
    """Whether there are arrays in an index, by which a place may be met more than once."""
    return any([np.ndim(k) > 0 for k in (index if type(index) is tuple else (index,)) if hasattr(k, "ndim")])


def once_each(values: Any) -> Any:
    """Factors that have no derivative: JAX has one for places that are met once."""
    if not isinstance(values, Array) or not values.node.trace:
        return values
    why = "scatter_mul gradients are only implemented if `unique_indices=True`"
    return wrap_node(refusing(values.node, why=why))


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
        if np.ndim(y) > out[index].ndim:
            return None
        out[index] = y if how == "set" else HOST[how](out[index], y)
    except (IndexError, ValueError, TypeError, OverflowError):
        return None
    return wrap_value(out, x._weak)


def full_of(x: Array, value: Any, dtype: Any) -> Array:
    """An array like x, of one value."""
    return apply(lambda a: broadcast_to(np.asarray(value, dtype)[()], shape=a.shape), x.node)


def applied(func: Callable[[Any], Any], x: Array, count: Array) -> Array:
    """x with a function of one element applied to each as often as `count` says. Raises ValueError for one that gives
    another dtype or shape."""
    if x.node.trace:
        x = wrap_node(refusing(x.node, why="scatter_apply JVP not implemented"))
    if not x.size:
        return x
    each: Any = vmap(func, door=door)

    def once(k: Any, x: Array) -> Array:
        found = each(x.reshape(-1))
        if typed(found)[0] != x.dtype or found.shape != (x.size,):
            raise ValueError(
                f"the function that is applied to elements of type {x.dtype.name} has to give one of that type, gave "
                f"{found.dtype.name}{list(found.shape[1:])}"
            )
        more: Any = count > k
        return select(more, found.reshape(x.shape), x)

    if count.node.trace == ABSTRACT:
        out: Array = fori_loop(0, wrap_node(reduce("maximum", count.node)), once, x, door=door)
        return out
    for k in range(int(count._value().max(initial=0))):
        x = once(k, x)
    return x


def select(mask: Array, a: Any, b: Array) -> Array:
    dtype, weak = typed(b)
    return apply(lambda m, x, y: cast_node(where(m, convert(x, dtype), y), dtype, weak), mask.node, as_node(a), b.node)


class IndexUpdateHelper:
    """`x.at`."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> IndexUpdateRef | BlockUpdateRef:
        return BlockUpdateRef(self.array, index) if has_slices(index) else IndexUpdateRef(self.array, index)

    def __repr__(self) -> str:
        return f"_IndexUpdateHelper({self.array!r})"


Array.__getitem__ = getitem
Array.__setitem__ = setitem
Array.at = property(IndexUpdateHelper, doc="Updates that give a new array: `x.at[index].set(value)`.")
