"""How primitives are computed whose parameters, as jaxprs show them, are not the arguments of a function of `lax`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph.op import registry
from ...ops.elementwise import weak_cast
from ..array import Array, as_node, wrap
from ..bind import OwnPrimitive
from ..callback import io_callback
from ..derivatives import vjp
from ..dtypes import KIND_OF
from ..exchanges import ragged_all_to_all
from ..jaxpr import jaxpr_as_fun
from ..jaxpr_types import ClosedJaxpr, Jaxpr
from ..placement import device_put
from ..primitives import known
from ..shape_struct import ShapeDtypeStruct
from ..sharding import PartitionSpec
from ..sharding_constraints import with_sharding_constraint
from . import elementwise as e
from . import indexing, others, pieces, reductions, shapes, windows
from .call import arguments, public
from .control import fori_loop
from .solves import custom_linear_solve

Fun = Callable[..., Any]


def function_of(jaxpr: Any, consts: Any = ()) -> Fun:
    """A jaxpr as a function that returns a list."""
    return jaxpr_as_fun(ClosedJaxpr(jaxpr, consts) if isinstance(jaxpr, Jaxpr) else jaxpr)


def combining(jaxpr: Any, consts: Any = ()) -> Fun:
    """A jaxpr of two lists of scalars, as a function of two lists."""
    f = function_of(jaxpr, consts)
    return lambda a, b: list(f(*a, *b))


def halves(args: Any) -> tuple[list[Any], list[Any]]:
    n = len(args) // 2
    return list(args[:n]), list(args[n:])


def reduce(*args: Any, jaxpr: Any, dimensions: Any, computation: Any = None) -> list[Any]:
    operands, inits = halves(args)
    return list(reductions.reduce(operands, inits, combining(jaxpr), dimensions))


def reduce_window(*args: Any, jaxpr: Any, consts: Any = (), window_dimensions: Any, **window: Any) -> list[Any]:
    operands, inits = halves(args)
    return list(windows.reduce_window(operands, inits, combining(jaxpr, consts), window_dimensions, **window))


def window_of(operation: Fun, first: Callable[[np.dtype[Any]], Any]) -> Fun:
    """A reduction over windows by an operation that is known, from what changes nothing."""

    def rule(x: Any, *, window_dimensions: Any, **window: Any) -> Any:
        start = np.asarray(first(as_node(x).dtype), as_node(x).dtype)[()]
        return windows.reduce_window(x, start, operation, window_dimensions, **window)

    return rule


def lowest(dtype: np.dtype[Any]) -> Any:
    return reductions.least("maximum", dtype)


def highest(dtype: np.dtype[Any]) -> Any:
    return reductions.least("minimum", dtype)


def is_chosen(select_prim: Any) -> Fun:
    return e.ge if str(select_prim) == "ge" else e.le


def select_and_gather_add(tangents: Any, operand: Any, *, select_prim: Any, **window: Any) -> Any:
    """The tangents at the places of the windows' extreme elements."""
    better, dtype = is_chosen(select_prim), as_node(operand).dtype
    edge = np.asarray((lowest if better is e.ge else highest)(dtype), dtype)[()]

    def combine(a: Any, b: Any) -> Any:
        first = better(a[0], b[0])
        return shapes.select(first, a[0], b[0]), shapes.select(first, a[1], b[1])

    zero = np.zeros((), as_node(tangents).dtype)[()]
    return windows.reduce_window((operand, tangents), (edge, zero), combine, **window)[1]


def select_and_scatter_add(source: Any, operand: Any, **params: Any) -> Any:
    """The transpose of `select_and_gather_add`: each window's number added at the place of its extreme element."""
    zeros = shapes.full_like(operand, 0, as_node(source).dtype)
    _, back = vjp(lambda t: select_and_gather_add(t, operand, **params), zeros)
    return back(wrap(as_node(source)))[0]


def select_and_scatter(
    operand: Any,
    source: Any,
    init_value: Any,
    *,
    select_jaxpr: Any,
    select_consts: Any = (),
    scatter_jaxpr: Any,
    scatter_consts: Any = (),
    window_dimensions: Any,
    **window: Any,
) -> Any:
    """For each window its number of the source combined into the place that was selected, one after the other."""
    select, scatter = function_of(select_jaxpr, select_consts), function_of(scatter_jaxpr, scatter_consts)
    x, numbers = (wrap(as_node(v)) for v in (operand, source))
    places = shapes.reshape(shapes.iota(np.int32, x.size), x.shape)

    def combine(a: Any, b: Any) -> Any:
        first = e.bitwise_and(a[1] >= 0, e.bitwise_or(b[1] < 0, select(a[0], b[0])[0]))
        return shapes.select(first, a[0], b[0]), shapes.select(first, a[1], b[1])

    inits = np.zeros((), x.dtype)[()], np.int32(-1)
    chosen = windows.reduce_window((x, places), inits, combine, window_dimensions, **window)[1].ravel()
    values, start = numbers.ravel(), shapes.full(x.size, init_value, numbers.dtype)

    def step(i: Any, out: Array) -> Array:
        at = chosen[i]
        return out.at[at].set(scatter(out[at], values[i])[0])

    return fori_loop(0, values.size, step, start).reshape(x.shape)


def linear_solve(*args: Any, const_lengths: Any, jaxprs: Any) -> list[Any]:
    """A solution of a linear system by the functions of four jaxprs, of which some may be None."""
    first, functions = 0, []
    for jaxpr, n in zip(jaxprs, const_lengths):
        consts = args[first : first + n]
        first += n
        functions.append(None if jaxpr is None else functools.partial(function_of(jaxpr), *consts))
    forward, _, solve, back = functions
    assert forward is not None and solve is not None
    transpose_solve = None if back is None else lambda _, b: list(back(*b))
    found = custom_linear_solve(
        lambda xs: list(forward(*xs)), list(args[first:]), lambda _, b: list(solve(*b)), transpose_solve
    )
    return list(found)


def scattering(function: Fun) -> Fun:
    """A scatter with the parameters of XLA's, or with those of our operation, which our jaxprs show."""

    def rule(*args: Any, update_jaxpr: Any = None, update_consts: Any = (), **params: Any) -> Any:
        if "dimension_numbers" not in params:
            return wrap(registry["scatter"](*[as_node(x) for x in args], **params))
        return function(*args, **params)

    return rule


def in_total_order(compare: Fun, name: str) -> Fun:
    """A comparison in which -0.0 is before 0.0, and NaN is after (or, with a sign, before) all other numbers."""

    def rule(x: Any, y: Any) -> Any:
        return compare(as_ordered(name, x, 0), as_ordered(name, y, 1))

    return rule


def as_ordered(name: str, x: Any, position: int) -> Any:
    """Integers of the same order as floating-point numbers."""
    dtype = as_node(x).dtype
    if KIND_OF.get(dtype) == "c":
        raise TypeError(
            f"{name} does not accept dtype {dtype.name} at position {position}. Accepted dtypes at position {position} "
            "are subtypes of integer, floating, bool."
        )
    if KIND_OF.get(dtype) != "f":
        return x
    bits = shapes.bitcast_convert_type(x, np.dtype(f"int{8 * dtype.itemsize}"))
    return shapes.select(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def approx_top_k(x: Any, *, k: int, is_max_k: bool, **params: Any) -> list[Any]:
    return list((reductions.approx_max_k if is_max_k else reductions.approx_min_k)(x, k, **params))


def dce_sink(*xs: Any, prevent_mlir_dce: bool = False) -> list[Any]:
    """What keeps values from being left out: here nothing is left out that has an effect."""
    return []


COPIES = (
    "REUSE_INPUT",
    "ALWAYS_COPY",
    "DONATE_INPUT",
)  # in which order arrays share memory, are copied, are given away


def put(*xs: Any, devices: Any, srcs: Any = None, copy_semantics: Any = None) -> list[Any]:
    """Arrays on devices. Raises: ValueError where there is not one of each for each array, or for other semantics."""
    srcs = (None,) * len(xs) if srcs is None else srcs
    names = ["REUSE_INPUT" if c is None else getattr(c, "name", c) for c in copy_semantics or (None,) * len(xs)]
    if not len(devices) == len(srcs) == len(names) == len(xs) or not set(names) <= set(COPIES):
        raise ValueError(
            f"device_put of {len(xs)} arrays has {len(devices)} devices, {len(srcs)} sources and the semantics {names}"
        )
    how: dict[str, Any] = {"REUSE_INPUT": {}, "ALWAYS_COPY": {"may_alias": False}, "DONATE_INPUT": {"donate": True}}
    return [device_put(x, d, src=s, **how[n]) for x, d, s, n in zip(xs, devices, srcs, names)]


def constrained(
    x: Any, *, sharding: Any, layout: Any = None, context_mesh: Any = None, unconstrained_dims: Any = ()
) -> Any:
    """An array that lies as a sharding says. Raises NotImplementedError for a layout: there is one."""
    if layout is not None:
        raise NotImplementedError(f"arrays have one layout in memory, got {layout}")
    spec = getattr(sharding, "spec", ())
    if {i for i, p in enumerate(spec) if p is PartitionSpec.UNCONSTRAINED} != set(unconstrained_dims):
        raise ValueError(
            f"the axes {sorted(unconstrained_dims)} are said to lie anyhow, and the sharding is {sharding}"
        )
    mesh: Any = getattr(sharding, "mesh", context_mesh)
    if context_mesh is not None and not context_mesh.empty and mesh.axis_names != context_mesh.axis_names:
        raise ValueError(f"the sharding {sharding} is of another mesh than the one around it, {context_mesh}")
    return with_sharding_constraint(x, sharding)


generator = np.random.default_rng()


@public
def rng_uniform(a: Any, b: Any, shape: Any) -> Array:
    """Numbers in [a, b), other ones at each run: a generator with a state of its own, which no seed sets.

    Raises: ValueError for bounds that are no scalars of one dtype, TypeError for a shape that is none.
    """
    low, high = arguments("rng_uniform", a, b)
    if low.dtype != high.dtype:
        raise ValueError(f"Arguments to rng_uniform must have identical dtypes, got {low.dtype} and {high.dtype}.")
    if low.ndim or high.ndim:
        raise ValueError(f"Arguments to rng_uniform must be scalars; got shapes {low.shape} and {high.shape}.")
    out: Array = rng_uniform_p.bind(a, b, shape=tuple(shape))
    return out


def uniform_run(a: Any, b: Any, *, shape: Any) -> Array:
    """Numbers drawn when the graph runs."""
    low, high = as_node(a), as_node(b)
    dtype = low.dtype

    def drawn(low: Any, high: Any) -> Any:
        if KIND_OF.get(dtype) == "f":
            wide = generator.random(shape) * (float(high) - float(low)) + float(low)
            found = wide.astype(dtype)
            return np.where(found < np.asarray(high), found, np.asarray(low)).astype(dtype)
        return generator.integers(int(low), int(high), shape, np.int64).astype(dtype)

    out = io_callback(drawn, ShapeDtypeStruct(shape, dtype), a, b)
    return wrap(weak_cast(out.node, dtype=dtype)) if low.weak and high.weak else out


rng_uniform_p = known["rng_uniform"] = OwnPrimitive("rng_uniform")
rng_uniform_p.def_impl(uniform_run)
RULES: dict[str, Fun] = {
    "add_any": e.add,
    "approx_top_k": approx_top_k,
    "create_token": shapes.create_token,
    "custom_linear_solve": linear_solve,
    "dce_sink": dce_sink,
    "device_put": put,
    "empty": lambda *, shape, dtype: shapes.empty(shape, dtype),
    "eq_to": in_total_order(e.eq, "eq_to"),
    "iota": lambda *, dtype, shape, dimension: shapes.broadcasted_iota(dtype, shape, dimension),
    "le_to": in_total_order(e.le, "le_to"),
    "lt_to": in_total_order(e.lt, "lt_to"),
    "optimization_barrier": lambda *xs: list(shapes.optimization_barrier(xs)),
    "ragged_all_to_all": ragged_all_to_all,
    "reduce": reduce,
    "reduce_window": reduce_window,
    "reduce_window_max": window_of(e.max, lowest),
    "reduce_window_min": window_of(e.min, highest),
    "reduce_window_sum": window_of(e.add, lambda dtype: 0),
    "rng_bit_generator": lambda key, **params: list(others.rng_bit_generator(key, **params)),
    "select_and_gather_add": select_and_gather_add,
    "select_and_scatter": select_and_scatter,
    "select_and_scatter_add": select_and_scatter_add,
    "sharding_constraint": constrained,
    "stack": lambda *xs, axis: pieces.stack(xs, axis),
    "tile": lambda x, *, reps: shapes.tile(x, reps),
    "unstack": lambda x, *, axis: list(pieces.unstack(x, axis)),
    **{
        name.replace("_", "-"): scattering(getattr(indexing, name))
        for name in ("scatter", "scatter_add", "scatter_max", "scatter_min", "scatter_mul", "scatter_sub")
    },
}
