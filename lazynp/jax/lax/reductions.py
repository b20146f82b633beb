"""Reductions, cumulative operations, windows, order."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api.control import traced
from ...away import on_host
from ...errors import named
from ...graph.node import ABSTRACT, Node, leaf
from ...ops import elementwise as e
from ...ops import reductions, scans, sorting
from ...ops import shape as s
from ...ops.bits import in_total_order
from ...ops.elementwise import convert, scalar, weak_cast, where
from ...ops.indexing import take_along_axis
from ...ops.joining import concatenate, flip, span
from ...ops.promotion import Shape
from ...transforms.batch import batch
from ...tree import flatten, structure, unflatten
from ..array import Array, door, wrap
from ..at_once import apply, apply_like
from ..dtypes import shown
from ..extrema import check_ordered
from ..spreading import check_unsplit, dropping, keeping, state
from ..symbolic import is_symbolic_dim
from .call import argument, arguments, axis_of, check_kinds, dtype_of, kind_of, public, spread, widened
from .folds import ORDERED, Combine, is_groupable, rows_one_by_one


def axes_of(name: str, x: Node, axes: Any) -> Shape:
    """Sorted axes. Raises JAX's errors for those that are not there, or there twice."""
    found = tuple([operator.index(a) for a in axes])
    if len(set(found)) != len(found):
        raise ValueError(f"duplicate value in 'axes' of reduction: {found}")
    if not all(0 <= a < x.ndim for a in found):
        raise ValueError(f"reduction axes {found} contains out-of-bounds indices for {x.aval}.")
    return tuple(sorted(found))


def axes_as_deleted(name: str, x: Node, axes: Any) -> Shape:
    """Sorted axes. What names no axis from either end is an IndexError, as where `numpy.delete` takes axes away."""
    np.delete(x.shape, tuple([operator.index(a) for a in axes]))
    return axes_of(name, x, axes)


def reducer(name: str, ufunc: str, accepts: str) -> Callable[..., Array]:
    """A reduction that keeps the dtype."""

    def run(x: Node, axes: Shape) -> Node:
        if not axes:
            return x
        if ufunc.startswith("logical") and x.dtype.kind != "b":
            return reductions.reductions[ufunc.replace("logical", "bitwise")](
                x, axes=axes, keepdims=False, dtype=x.dtype
            )
        if ufunc in ("maximum", "minimum"):
            return extremum(ufunc, x, axes)
        return reductions.reductions[ufunc](x, axes=axes, keepdims=False, dtype=x.dtype)

    def reduce_(operand: Any, axes: Sequence[int]) -> Array:
        node = argument(name, operand)
        if ufunc.startswith("logical"):
            check_kinds(name, [node], [accepts])
        found = (axes_as_deleted if ufunc.startswith("logical") else axes_of)(name, node, axes)
        check_kinds(name, [node], [accepts])
        weak = node.weak and not ufunc.startswith("logical")
        return apply_like(widened(lambda v: run(v, found)), node, weak=weak)

    reduce_.__name__ = reduce_.__qualname__ = name
    reduce_.__doc__ = f"`{ufunc}` over these axes, in the operand's dtype."
    return public(reduce_)


def least(ufunc: str, dtype: np.dtype[Any]) -> Any:
    """The identity of an extremum."""
    if dtype.kind == "b":
        return ufunc == "minimum"
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return info.min if ufunc == "maximum" else info.max
    return -np.inf if ufunc == "maximum" else np.inf


def extremum(ufunc: str, x: Node, axes: Shape) -> Node:
    if any(x.shape[a] == 0 for a in axes):
        shape = tuple([n for i, n in enumerate(x.shape) if i not in axes])
        return spread(scalar(least(ufunc, x.dtype), x), shape)
    return reductions.reductions[ufunc](x, axes=axes, keepdims=False, dtype=None)


add_up = reducer("reduce_sum", "add", "ifc")


@public
def reduce_sum(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """`add` over these axes, in the operand's dtype."""
    return add_up(operand, axes)


reduce_prod = reducer("reduce_prod", "multiply", "ifc")
reduce_max = reducer("reduce_max", "maximum", "ifcb")
reduce_min = reducer("reduce_min", "minimum", "ifcb")
reduce_and = reducer("reduce_and", "logical_and", "ib")
reduce_or = reducer("reduce_or", "logical_or", "ib")


@public
def reduce_xor(operand: Any, axes: Sequence[int]) -> Array:
    """Exclusive or over these axes, bit by bit."""
    node = argument("reduce_xor", operand)
    check_kinds("reduce_xor", [node], ["ib"])
    found = axes_as_deleted("reduce_xor", node, axes)
    return apply(lambda x: reductions.reductions["bitwise_xor"](x, axes=found, keepdims=False, dtype=None), node)


def arg_reducer(name: str) -> Callable[..., Array]:
    op = getattr(reductions, name)

    def arg(operand: Any, axis: int, index_dtype: Any) -> Array:
        node = argument(name, operand)
        at, dtype = operator.index(axis), dtype_of(index_dtype)
        if not 0 <= at < node.ndim:
            raise ValueError(f"Invalid axis {at} for operand shape {node.shape}")
        if node.shape[at] == 0:
            raise ValueError(
                f"argmin and argmax require non-empty reduced dimension. operand.shape={node.shape} axis={at}"
            )
        if dtype.kind not in "iu":
            raise TypeError(f"index_dtype must be an integer type, but got {dtype}")
        if node.dtype.names:
            raise ValueError(f"Unsupported dtype for {name.removeprefix('arg')}: {shown(node.dtype)}")
        check_kinds(name, [node], ["ifb"])
        return apply(lambda x: convert(op(x, axis=at, keepdims=False), dtype), node)

    arg.__name__ = arg.__qualname__ = name
    arg.__doc__ = "The place of the first extreme element along an axis; of NaN where there is one."
    return public(arg)


argmax, argmin = arg_reducer("argmax"), arg_reducer("argmin")

# Cumulative operations.


def cumulative(name: str, ufunc: str, accepts: str) -> Callable[..., Array]:
    op = scans.scans[ufunc]

    def run(x: Node, axis: int, reverse: bool) -> Node:
        x = flip(x, (axis,)) if reverse else x
        out = op(x, axis=axis, dtype=x.dtype if ufunc in ("add", "multiply") else None)
        return flip(out, (axis,)) if reverse else out

    def cum(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
        node = argument(name, operand)
        at = operator.index(axis)
        if at < 0:
            raise ValueError("XLA operations do not allow negative axes")
        if at >= node.ndim:
            raise ValueError(f"axis {at} is out of bounds for array of shape {node.shape}")
        if node.dtype.kind == "b":
            raise TypeError(f"{name} does not accept dtype bool. Accepted dtypes are subtypes of number.")
        check_kinds(name, [node], [accepts])
        return apply_like(widened(lambda v: run(v, at, reverse)), node)

    cum.__name__ = cum.__qualname__ = name
    cum.__doc__ = f"All prefixes along an axis, combined by `{ufunc}`; `reverse`: from the end."
    return public(cum)


cumsum = cumulative("cumsum", "add", "ifc")
cumprod = cumulative("cumprod", "multiply", "ifc")
cummax = cumulative("cummax", "maximum", "ifc")
cummin = cumulative("cummin", "minimum", "ifc")
cumlogsumexp = cumulative("cumlogsumexp", "logaddexp", "f")

# Reductions by a function of two elements.


def combiner(computation: Callable[..., Any], init: Any) -> tuple[Combine, str | None]:
    """A user's function of two (trees of) scalars, on arrays of equal shape; and which ufunc it is, if one alone."""
    leaves, tree = flatten(init)
    nodes = [door.as_node(x) for x in leaves]
    both = structure((init, init))
    scalars = [leaf((), n.dtype, trace=ABSTRACT) for n in (*nodes, *nodes)]
    function, out = traced(computation, scalars, both, door, "reduce")
    if len(function.outputs) != len(nodes):
        raise ValueError(f"reduce must return as many values as it takes, got {out} for {tree}")

    def combine(a: list[Node], b: list[Node]) -> list[Node]:
        flat = [s.reshape(x, shape=(x.aval.size,)) for x in (*a, *b)]
        found = batch(function.outputs, function.inputs, flat, [0] * len(flat))
        shape = a[0].shape
        return [spread(x, shape) if axis is None else s.reshape(x, shape=shape) for x, axis in found]

    x = function.outputs[0]
    alone = len(nodes) == 1 and x.op is not None and set(x.inputs) == set(function.inputs) and len(x.inputs) == 2
    return combine, x.op.name if alone and x.op is not None else None


def shaped(nodes: Sequence[Node]) -> str:
    """The types of operands, as errors show them."""
    return f"[{', '.join([f'ShapedArray({n.aval})' for n in nodes])}]"


def alike(name: str, operands: Any, init_values: Any) -> tuple[list[Node], list[Node], Any]:
    """The nodes of operands and of their initial values, and the tree that both have. Raises ValueError for two."""
    leaves, tree = flatten(operands)
    inits, init_tree = flatten(init_values)
    if tree != init_tree:
        raise ValueError(
            f"Operands must have the same tree structure as init_values: {named(tree)} vs. {named(init_tree)}"
        )
    return arguments(name, *leaves), arguments(name, *inits), tree


@public
def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[..., Any],
    dimensions: Sequence[int],
    out_sharding: Any = None,
) -> Any:
    """The operands combined over these axes by a function of two elements, from the initial ones on: one after
    the other where the function is not associative and elements are few.

    Raises: TypeError or ValueError where operands and initial values do not match.
    """
    nodes, firsts, tree = alike("reduce", operands, init_values)
    weak = all([n.weak for n in (*nodes, *firsts)])
    name = MONOIDS.get(called(computation))
    if len(nodes) == 1 and name is not None and not firsts[0].ndim and is_identity(firsts[0], name):
        out = NAMED[name](wrap(nodes[0]), dimensions)
        return unflatten(tree, [apply(lambda x: weak_cast(x, dtype=x.dtype), out.node) if weak else out])
    combine, name = combiner(computation, init_values)
    if any(n.ndim for n in firsts):
        raise ValueError(f"reduce found non-scalar initial value: {[n.shape for n in firsts]}")
    if any(n.shape != nodes[0].shape for n in nodes):
        raise ValueError(f"all operands must have the same shape: {[n.shape for n in nodes]}")
    np.delete(nodes[0].shape, tuple(dimensions))
    if any(a.dtype != b.dtype for a, b in zip(nodes, firsts)):
        raise TypeError(
            "reduce operand dtypes should match corresponding initial value dtypes, got operands="
            f"{shaped(nodes)} and initial_values={shaped(firsts)}"
        )
    axes = axes_of("reduce", nodes[0], dimensions)
    count = math.prod(nodes[0].shape[i] for i in axes)
    ordered = count <= ORDERED and not is_groupable(computation, combine, name, [n.dtype for n in nodes])

    def run(*xs: Node) -> tuple[Node, ...]:
        rows, starts = list(xs[: len(nodes)]), list(xs[len(nodes) :])
        kept = [i for i in range(nodes[0].ndim) if i not in axes]
        shape = tuple([nodes[0].shape[i] for i in kept])
        rows = [s.reshape(s.transpose(x, axes=(*axes, *kept)), shape=(count, *shape)) for x in rows]
        rows = [concatenate(spread(v, (1, *shape)), x, axis=0) for v, x in zip(starts, rows)]
        rows = rows_one_by_one(combine, rows) if ordered else halved(combine, rows)
        return tuple([s.reshape(x, shape=shape) for x in rows])

    out = dropping(nodes[0], axes, lambda: apply_like(run, *nodes, *firsts, weak=weak))
    return unflatten(tree, list(out))


def halved(combine: Combine, rows: list[Node]) -> list[Node]:
    """All along axis 0 combined, neighbours first."""
    while (n := rows[0].shape[0]) > 1:
        pairs = combine([span(x, 0, 0, n // 2, 2) for x in rows], [span(x, 0, 1, n // 2, 2) for x in rows])
        rows = [concatenate(p, span(x, 0, n - 1, 1), axis=0) if n % 2 else p for p, x in zip(pairs, rows)]
    return rows


# Known functions of two elements.


def first_of(better: Any) -> Combine:
    """The extremum of two whose derivative is that of the first of equals."""
    return lambda a, b: [where(better(x, y), x, y) for x, y in zip(a, b)]


KNOWN: dict[str, Combine] = {
    "add": lambda a, b: [e.add(a[0], b[0])],
    "multiply": lambda a, b: [e.multiply(a[0], b[0])],
    "maximum": first_of(lambda x, y: e.logical_or(e.greater_equal(x, y), e.not_equal(x, x))),
    "minimum": first_of(lambda x, y: e.logical_or(e.less_equal(x, y), e.not_equal(x, x))),
}

NAMED: dict[str, Callable[..., Array]] = {
    **{"add": reduce_sum, "multiply": reduce_prod, "maximum": reduce_max, "minimum": reduce_min},
    **{"bitwise_and": reduce_and, "bitwise_or": reduce_or, "bitwise_xor": reduce_xor},
}
"""Reductions by a known function from an initial value that changes nothing, which may be of another dtype."""
MONOIDS = {
    **{"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum"},
    **{name: name for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
}


def called(computation: Any) -> str:
    """The name of a function of `lax`; of any other one nothing."""
    own = getattr(computation, "__module__", "") == "jax.lax"
    return str(getattr(computation, "__name__", "")) if own else ""


UNITS = {"add": 0, "multiply": 1, "bitwise_or": 0, "bitwise_xor": 0, "bitwise_and": -1}


def identity(name: str, like: Node) -> Node:
    """What changes nothing, in the dtype of a node."""
    wanted = UNITS.get(name)
    return scalar(least(name, like.dtype) if wanted is None else wanted, like)


def is_identity(fill: Node, name: str | None) -> bool:
    """Whether an initial value is known to change nothing."""
    if name not in NAMED or fill.trace == ABSTRACT or fill.value is None and fill.buffer is None:
        return False
    value = fill.value if fill.value is not None else on_host(fill.buffer)[()]
    wanted = UNITS.get(str(name))
    return bool(value == (least(str(name), fill.dtype) if wanted is None else wanted))


# Order.


@public
def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Sorted along an axis; of several operands all in the order of the first `num_keys`, the first counting most.

    Raises: TypeError or ValueError for operands of different shapes, or too many keys.
    """
    if not isinstance(operand, (list, tuple)) and num_keys != 1:
        raise ValueError(f"num_keys={num_keys} must equal 1 for a single operand.")
    if isinstance(operand, (list, tuple)):
        if not operand:
            raise TypeError("Sort requires at least one operand")
        if not 1 <= num_keys <= len(operand):
            raise ValueError(f"num_keys={num_keys} must be between 1 and len(operand)={len(operand)}")
        nodes = arguments("sort", *operand)
        at = axis_of(dimension, nodes[0].ndim)
        if any(n.shape != nodes[0].shape for n in nodes):
            raise TypeError(f"Arguments to sort must have equal shapes, got: {' '.join([str(n.shape) for n in nodes])}")
        for n in nodes:
            check_ordered(n)
            check_unsplit(n, at, "Arguments to sort must be unsharded over the sorting dimension.")
        one = at if nodes[0].ndim == 1 else None
        run = functools.partial(apply, lambda *xs: tuple(sorted_together(xs, at, num_keys)), *nodes)
        return tuple(keeping(nodes[0], "sort", run, one))
    node = argument("sort", operand)
    check_ordered(node)
    at = axis_of(dimension, node.ndim)
    return apply_like(lambda x: sorting.sort(x, axis=at, kind="stable" if is_stable else None), node)


def sorted_together(xs: Sequence[Node], axis: int, num_keys: int) -> list[Node]:
    order = sorting.lexsort(list(reversed(xs[:num_keys])), axis)
    return [take_along_axis(x, order, axis) for x in xs]


@public
def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> tuple[Array, Array]:
    """Keys sorted along an axis, and the values in the same order."""
    a, b = sort((keys, values), dimension=dimension, is_stable=is_stable)
    return a, b


@public
def top_k(operand: Any, k: int, *, axis: int = -1) -> list[Array]:
    """The k largest elements along an axis, the largest first, and where they stand; of equals the first ones first.
    NaN is larger than all, and 0 than -0.

    Raises: ValueError for a k that is negative or larger than the axis, and for complex numbers.
    """
    return greatest(operand, k, axis, in_total_order)


def greatest(operand: Any, k: Any, axis: int, order: Callable[[Node], Node]) -> list[Array]:
    """`top_k` of numbers in an order: that of the values which `order` gives for them."""
    node = argument("top_k", operand)
    if node.dtype.kind == "c":
        raise ValueError("top_k is not compatible with complex inputs.")
    if k < 0:
        raise ValueError(f"k argument to top_k must be nonnegative, got {k}")
    at = axis_of(axis, node.ndim)
    if node.shape[at] < k:
        raise ValueError(
            "k argument to top_k must be no larger than size along axis; "
            f"got {k=} with shape={list(node.shape)} and axis={at}"
        )
    count = operator.index(k)
    if state.on:
        check_unsplit(node, at, "The input should be unsharded over the axis along which to compute the top_k values.")
    return list(keeping(node, "top_k", lambda: apply_like(lambda x: largest(x, order(x), count, at), node), at))


def largest(x: Node, keys: Node, k: int, axis: int) -> tuple[Node, Node]:
    """The k elements of x whose keys are the largest, and where they stand."""
    order = sorting.arglargest(keys, axis=axis, k=k)
    return take_along_axis(x, order, axis), convert(order, np.dtype(np.int32))


def candidates(size: Any, ndim: int, k: int, recall: float, whole: int) -> int:
    """How many of `size` elements an approximate search leaves of which the k extreme ones are among them with this
    probability: one of each of so many groups, in tiles of a TPU's. `whole`: how many elements the search is of, where
    these are a part.

    Raises: NotImplementedError for a symbolic size.
    """
    if is_symbolic_dim(size):
        raise NotImplementedError(f"{size} elements along the axis: aggregate_to_topk=False takes a known size")
    tile = 1024 if ndim == 1 else 128
    if size <= tile or k == 1:
        return min(int(size), tile)
    groups = max(math.ceil((1 - k) / math.log(recall)), tile) if 0 < recall < 1 else size
    halvings = max((whole if whole > 0 else size) // min(groups, size), 1).bit_length() - 1
    halvings = min(halvings, (size // tile - 1).bit_length())
    return int(size) if not halvings else math.ceil(math.ceil(size / tile) / 2**halvings) * tile


def approximate(name: str, sign: int) -> Callable[..., tuple[Array, Array]]:
    def approx(
        operand: Any,
        k: int,
        reduction_dimension: int = -1,
        recall_target: float = 0.95,
        reduction_input_size_override: int = -1,
        aggregate_to_topk: bool = True,
    ) -> list[Array]:
        if k < 1:
            raise ValueError(f"k must be positive, got {k}")
        node = argument(name, operand)
        if not node.ndim:
            raise TypeError(f"{name} operand must have >= 1 dimension, got {node.shape}")
        size = node.shape[reduction_dimension]
        if size < k:
            raise ValueError(f"k must be smaller than the size of reduction_dim {size}, got {k}")
        if kind_of(node) != "f":
            raise ValueError("operand must be a floating type")
        at = axis_of(reduction_dimension, node.ndim)
        given = wrap(node) if sign > 0 else apply(e.negative, node)
        if not aggregate_to_topk:
            k = candidates(size, node.ndim, k, recall_target, reduction_input_size_override)
        values, places = greatest(given, k, at, lambda x: x)
        return [values if sign > 0 else apply(e.negative, values.node), places]

    approx.__name__ = approx.__qualname__ = name
    approx.__doc__ = "The k extreme elements along an axis, and where they stand: exact, whatever recall is asked for."
    return public(approx)


approx_max_k, approx_min_k = approximate("approx_max_k", 1), approximate("approx_min_k", -1)
__all__ = [
    "approx_max_k",
    "approx_min_k",
    "argmax",
    "argmin",
    "cumlogsumexp",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "reduce",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_prod",
    "reduce_sum",
    "reduce_xor",
    "sort",
    "sort_key_val",
    "top_k",
]
