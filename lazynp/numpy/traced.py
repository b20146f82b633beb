"""Arrays that a transformation follows: what of NumPy's C functions the engine does on them, so that nothing is lost.

`TABLE`, which `traced_shapes` and `traced_math` fill, has a function for each name of NumPy's, on arrays of ours and
whatever else NumPy takes. What is not in it is NumPy's, on values, if the result is made of whole numbers or truth
values, which no derivative goes through; otherwise it is an error. Loaded with the transformations.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy

from .. import errors
from ..api.trace import stack as traces
from ..graph.node import ABSTRACT, Node, leaf
from ..ops import indexing
from ..ops.elementwise import cast, convert
from ..ops.elementwise import where as select
from ..ops.joining import stack
from ..ops.promotion import is_inexact
from ..ops.shape import reshape, set_, slice_, whole
from ..ops.ufuncs import ufuncs
from . import draws
from .arithmetic import assign, dummy
from .array import Handle, is_traced, ndarray, of_node, of_scalar
from .creation import array as make_array
from .host import POINTS, TracedArgumentError, to_host, wrap_result
from .host import traced as hooks
from .indexing import has_traced
from .layout import array_of
from .masked import select as deferred
from .masked import spread, write_selection
from .record import as_node, cast_node
from .recorded_ufuncs import recordable

Rule = Callable[..., Any]
LOOKS = frozenset({"result_type", "can_cast", "min_scalar_type", "shares_memory", "may_share_memory"})
TABLE: dict[str, Rule] = {}
UFUNC_METHODS: dict[str, Rule] = {}  # of any ufunc: "" is the call, which gets its name first
ARRAY_KEYS: Any = (Handle, numpy.ndarray, bool, numpy.bool_)
CONVERSIONS = frozenset({"tolist", "tobytes", "tofile", "dump", "dumps"})  # the user asks for the value


def call(name: str, function: Rule, args: Any, kwargs: Any) -> Any:
    """What NumPy's function gives on traced arrays."""
    name = name.removeprefix("ndarray.")
    if name in LOOKS:  # it asks for dtypes and shapes only
        return function(*[looked_at(x) for x in args], **{k: looked_at(x) for k, x in kwargs.items()})
    rule = TABLE.get(name)
    base, _, method = name.partition(".")
    if rule is None and base in ufuncs and (not method or method in UFUNC_METHODS):
        return UFUNC_METHODS[method](base, *args, **kwargs)
    value = NotImplemented if rule is None else rule(*args, **kwargs)
    return by_value(name, function, args, kwargs) if value is NotImplemented else value


def by_value(name: str, function: Rule, args: Any, kwargs: Any) -> Any:
    """NumPy's own, where nothing that could have a derivative comes out of it."""
    value = function(*[valued(x, name) for x in args], **{k: valued(x, name) for k, x in kwargs.items()})
    if name not in CONVERSIONS and any(has_derivative(numpy.asarray(v).dtype) for v in parts(value)):
        raise TracedArgumentError(name)
    return wrap_result(value, [])


def has_derivative(dtype: numpy.dtype[Any]) -> bool:
    """Whether numbers of this dtype may depend on others smoothly; objects may be any numbers."""
    return is_inexact(dtype) or dtype.hasobject


def looked_at(x: Any) -> Any:
    return dummy(x) if is_traced(x) else to_host(x, [])


def parts(value: Any) -> Any:
    return value if type(value) in (tuple, list) else () if value is None or value is NotImplemented else (value,)


def valued(x: Any, name: str) -> Any:
    """An argument as NumPy takes it; the value of what is traced, if it has one."""
    if type(x) in (tuple, list):
        return type(x)([valued(v, name) for v in x])
    if not is_traced(x):
        return to_host(x, [])
    node = x._node_()
    if node.trace == ABSTRACT and name in POINTS:
        raise errors.concretization_error(node, f"How long the result of {name.lstrip('_')} is depends on values.")
    if node.trace == ABSTRACT:
        raise errors.array_error(node, f"{name} is done by NumPy, on values.")
    return x._host_().copy()


# --- Handles and nodes ------------------------------------------------------------------------------------------------


def node_of(x: Any) -> Node:
    """The node of an array, a scalar, a list. Raises TracedArgumentError for what the engine does not compute with."""
    if type(x) in (list, tuple):
        return joined(x)
    found = as_node(x)
    if found is None:
        found = as_node(make_array(x))
    if found is None:
        raise TracedArgumentError(f"an operation on {type(x).__name__}")
    return found


def mask_of(x: Any) -> Node:
    """The node of a mask, `where=`. Raises TypeError for anything but truth values."""
    node = node_of(x)
    if node.dtype != bool:
        numpy.copyto(numpy.empty(()), 0.0, where=numpy.empty((), node.dtype))  # NumPy's error
    return node


def handle(node: Node) -> Any:
    return of_scalar(node) if node.shape == () and node.trace else of_node(node)


def constant(x: Any) -> Node:
    x = numpy.array(x, order="C")
    return leaf(x.shape, x.dtype, x)


def joined(x: Any) -> Node:
    """The array of a nested list."""
    if not has_traced(x):
        return constant(to_host(x, []))
    if type(x) not in (list, tuple):
        node = node_of(x)
        return cast(node, dtype=node.dtype) if node.weak else node
    if not x:
        return constant(numpy.array(x))
    nodes = [joined(v) for v in x]
    if any(n.shape != nodes[0].shape for n in nodes):
        raise ValueError(
            "setting an array element with a sequence. The requested array has an inhomogeneous shape after 1 "
            "dimensions."
        )
    dtype = numpy.result_type(*[n.dtype for n in nodes])
    return stack(*[cast_node(n, dtype) for n in nodes], axis=0)


def array(x: Any, dtype: Any = None, *, copy: Any = True, ndmin: int = 0) -> Any:
    node = x._node_() if type(x) is ndarray else joined(x)
    if dtype is not None:
        node = convert(node, numpy.dtype(dtype))
    return array_of(reshape(node, shape=(1,) * (ndmin - node.ndim) + node.shape) if ndmin > node.ndim else node)


def written(out: Any, node: Node) -> Any:
    """A result, or the `out=` that it was written to."""
    if out is None:
        return handle(node)
    (out,) = out if type(out) is tuple else (out,)
    if not recordable(out):
        raise TracedArgumentError("a write into an array whose memory NumPy has a view of")
    node = cast_node(node, out.dtype)
    assign(out, node)
    return out


def concrete(x: Any) -> bool:
    return not is_traced(x) or x._node_().trace != ABSTRACT


# --- Indexing ---------------------------------------------------------------------------------------------------------


def plain_index(key: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A key with its masks as whole numbers, and its arrays as NumPy's arrays, or nodes where they have no value."""
    out: list[Any] = []
    axis = 0
    entries: Any = key if type(key) is tuple else (key,)
    for k in entries:
        if type(k) is list:
            k = make_array(k)
        if isinstance(k, ARRAY_KEYS):
            boolean = type(k) in (bool, numpy.bool_) or k.dtype == bool
            if not concrete(k):
                if boolean:
                    raise errors.boolean_index_error(k._node_())
                out.append(k._node_())
            else:
                value = valued(k, "an index") if isinstance(k, Handle) else numpy.asarray(k)
                if not boolean:
                    out.append(value.astype(numpy.intp) if value.size == 0 and value.dtype.kind == "f" else value)
                else:
                    out.extend(numpy.nonzero(numpy.atleast_1d(value)) if value.ndim else masked_axis(value))
                    axis += value.ndim - 1
        else:
            out.append(operator.index(k) if hasattr(type(k), "__index__") else k)
        axis += k is not None
    return tuple(out)


def masked_axis(value: numpy.ndarray) -> tuple[Any, ...]:
    """`a[True]` and `a[False]` are a new axis of length 1 or 0: only the first has a meaning here."""
    if not value:
        raise TracedArgumentError("indexing with False")
    return (None,)


def taken_apart(x: Any, key: Any) -> tuple[Any, tuple[int, ...], int, list[Node]]:
    """A view's key, the axes of it that arrays index, where their shape goes, and the arrays. Raises IndexError."""
    index = plain_index(key, x.shape)
    known = tuple([i if type(i) is not Node else numpy.zeros(i.shape, numpy.intp) for i in index])
    if not any(type(i) is Node for i in index) or x.size:
        dummy(x)[known]
    view, axes, at, arrays = indexing.split_index(x.shape, index)
    return view, axes, at, [i if type(i) is Node else constant(i) for i in arrays]


def getitem(x: Any, key: Any) -> Any:
    if not is_traced(x) and all(concrete(k) for k in (key if type(key) is tuple else (key,))):
        return x[tuple([settled(k) for k in key]) if type(key) is tuple else settled(key)]
    if is_mask(x, key) and not concrete(key):
        return deferred(x, key)
    view, axes, at, arrays = taken_apart(x, key)
    node = x._node_()
    if view != whole(node.shape):
        node = slice_(node, key=view)
    return handle(indexing.gather(node, *arrays, axes=axes, at=at, bounds="raise") if axes else node)


def is_mask(x: Any, key: Any) -> bool:
    """Whether a key is a mask of x, or of its first axes."""
    return type(key) is ndarray and key.dtype == bool and key.ndim > 0 and key.shape == x.shape[: key.ndim]


def settled(k: Any) -> Any:
    """An index whose value is known: as an ordinary one."""
    if not is_traced(k):
        return k
    value = k._host_()
    return value[()] if value.ndim == 0 else make_array(value)


def setitem(x: Any, key: Any, value: Any) -> None:
    if not recordable(x):
        raise TracedArgumentError("a write into an array whose memory NumPy has a view of")
    if is_mask(x, key) and not concrete(key) and write_selection(x, key, value):
        return
    base, new = x._node_(), node_of(value)
    new = cast_node(new, x.dtype)
    whole_or_not = isinstance(key, Handle) and key.dtype == bool and not key.ndim
    if (whole_or_not or is_mask(x, key)) and (
        new.aval.size == 1 or not concrete(key) and new.ndim <= x.ndim - key.ndim
    ):
        new = reshape(new, shape=()) if new.aval.size == 1 and new.ndim else new
        assign(x, select(spread(node_of(key), x.ndim), new, base))
        return
    view, axes, at, arrays = taken_apart(x, key)
    region = slice_(base, key=view) if view != whole(base.shape) else base
    if axes:
        new = fitted(new, indexing.indexed_shape(region.shape, [i.aval for i in arrays], axes, at))
        new = indexing.scatter(region, new, *arrays, axes=axes, at=at, bounds="raise", mode="set")
    else:
        new = fitted(new, region.shape)
    if region is base:
        assign(x, new)
    else:
        assign(x, set_(base, new, key=view))


def fitted(node: Node, shape: tuple[int, ...]) -> Node:
    """A value without the leading axes of length 1 that the region has not."""
    given = node.shape
    while len(given) > len(shape) and given[0] == 1:
        given = given[1:]
    return node if given == node.shape else reshape(node, shape=given)


hooks.call, hooks.getitem, hooks.setitem = call, getitem, setitem
draws.tracing = lambda: bool(traces.active)
