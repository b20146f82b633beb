"""`jax.extend.core`: jaxprs and their parts, primitives, the state of tracing."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ....api.trace import stack
from ....errors import InconclusiveDimensionOperation, JaxprTypeError
from ....graph.node import ABSTRACT
from ....runtime.tape import depth
from ...api_util import DebugInfo, shaped_abstractify
from ...array import Array, as_node, is_arraylike
from ...aval import ShapedArray
from ...bind import Primitive
from ...dependence import ask
from ...dtypes import is_extended
from ...effects import Effect
from ...jaxpr import jaxpr_as_fun
from ...jaxpr_types import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, SourceInfo, Var
from . import primitives

__all__ = [
    "ClosedJaxpr",
    "DebugInfo",
    "DropVar",
    "Effect",
    "Effects",
    "InconclusiveDimensionOperation",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "Primitive",
    "TraceTag",
    "Var",
    "array_types",
    "call_impl",
    "check_jaxpr",
    "concrete_or_error",
    "find_top_trace",
    "gensym",
    "get_opaque_trace_state",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "mapped_aval",
    "new_jaxpr_eqn",
    "no_effects",
    "nonempty_axis_env_DO_NOT_USE",
    "primal_dtype_to_tangent_dtype",
    "primitives",
    "set_current_trace",
    "subjaxprs",
    "take_current_trace",
    "unmapped_aval",
    "unsafe_am_i_under_a_jit_DO_NOT_USE",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE",
    "unsafe_get_axis_names_DO_NOT_USE",
    "valid_jaxtype",
]


class TraceTag:
    """A name for one run of an interpreter."""


Effects = set[Effect]
no_effects: frozenset[Effect] = frozenset()
array_types = {Array, np.ndarray, *[np.dtype(c).type for c in "?bhilqBHILQefdFD"]}


class OpaqueTraceState:
    """Which functions are being traced, to be compared."""

    def __init__(self) -> None:
        self.traces, self.depth = tuple(stack.active), depth.n

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OpaqueTraceState) or len(self.traces) != len(other.traces):
            return False
        return self.depth == other.depth and all([a is b for a, b in zip(self.traces, other.traces)])

    def __hash__(self) -> int:
        return hash((len(self.traces), self.depth))


def get_opaque_trace_state(convention: str | None = None) -> OpaqueTraceState:
    """The state of tracing: equal to another where nothing was entered or left between them."""
    return OpaqueTraceState()


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Whether a function is being traced for `jit` or a loop."""
    return any(t.kind != "vmap" for t in stack.active)


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Whether a function is being traced for `vmap`."""
    return any(t.kind == "vmap" for t in stack.active)


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:
    """The names of the mapped axes."""
    return list(stack.axes)


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Whether a mapped axis has a name."""
    return bool(stack.axes)


def no_traces(*_: Any, **__: Any) -> Any:
    """Raises NotImplementedError: operations make graph here, and ask no trace how to."""
    raise NotImplementedError(
        "There are no traces to take or set: operations are recorded in one graph. Interpret the jaxpr of "
        "jax.make_jaxpr instead."
    )


take_current_trace = set_current_trace = no_traces


def find_top_trace(_: Any) -> Any:
    """What stands for the trace of these arrays: results that depend on them have the same, as tracers of `jvp`."""
    return ask([x.node for x in _ if isinstance(x, Array)])


def valid_jaxtype(x: Any) -> bool:
    """Whether it is an array or a scalar."""
    try:
        return is_arraylike(x) and as_node(x) is not None
    except (TypeError, OverflowError):
        return False


def concrete_or_error(force: Any, val: Any, context: str = "") -> Any:
    """The value of an array, as `force` makes it; what is no array itself. Raises where it is traced."""
    if isinstance(val, Array):
        node = val._graph
        value = val._value() if node is None or node.trace < ABSTRACT else val.item()
        return value if force is None else force(value)
    return val if force is None else force(val)


def mapped_aval(size: int, axis: int | None, aval: Any) -> Any:
    """The type of one of so many along an axis."""
    if axis is None:
        return aval
    assert aval.shape[axis] == size
    return aval.update(shape=(*aval.shape[:axis], *aval.shape[axis + 1 :]))


def unmapped_aval(size: int, axis: int | None, aval: Any, explicit_mesh_axis: Any = None) -> Any:
    """The type of so many along a new axis."""
    if axis is None:
        return aval
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> Any:
    """float0 for whole numbers, else the dtype."""
    if is_extended(primal_dtype):
        return np.dtype([("float0", np.void, 0)])
    return ShapedArray((), primal_dtype).to_tangent_aval().dtype


def new_jaxpr_eqn(
    invars: Sequence[Any],
    outvars: Sequence[Any],
    primitive: Primitive,
    params: dict[str, Any],
    effects: Any,
    source_info: Any = None,
    ctx: Any = None,
) -> JaxprEqn:
    """An equation."""
    return JaxprEqn(primitive, list(invars), list(outvars), params, frozenset(effects), source_info or SourceInfo())


def gensym() -> Callable[[Any], Var]:
    """What makes new variables of given types."""
    return lambda aval: Var(shaped_abstractify(aval))


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The graphs among an equation's parameters."""
    for value in params.values():
        for v in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(v, (Jaxpr, ClosedJaxpr)):
                yield v.jaxpr if isinstance(v, ClosedJaxpr) else v


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The graphs among the parameters of a graph's equations."""
    return itertools.chain.from_iterable([jaxprs_in_params(e.params) for e in jaxpr.eqns])


def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Raise JaxprTypeError where a variable is read before it is defined, or defined twice."""
    known: set[Any] = {*jaxpr.constvars, *jaxpr.invars}
    for e in jaxpr.eqns:
        for v in e.invars:
            if isinstance(v, Var) and v not in known:
                raise JaxprTypeError(f"Variable '{v}' not defined, in {e}")
        for v in e.outvars:
            if v in known:
                raise JaxprTypeError(f"Variable '{v}' already bound, in {e}")
            known.add(v)
    for v in jaxpr.outvars:
        if isinstance(v, Var) and v not in known:
            raise JaxprTypeError(f"Variable '{v}' not defined, in the results")
    for sub in subjaxprs(jaxpr):
        check_jaxpr(sub)


def call_impl(f: Any, *args: Any, **params: Any) -> Any:
    """The result of a wrapped function."""
    return f.call_wrapped(*args)
