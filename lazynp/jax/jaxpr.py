"""`make_jaxpr` and `eval_shape`: a function traced for types alone; and jaxprs that are run."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..api.ahead import inline
from ..api.jit import Entry, Jit
from ..api.trace import Trace, placeholder, stack
from ..flags import flags
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node, leaf
from ..runtime.beginning import Beginning
from ..signatures import Static, name_of, place_of
from ..tree import flatten, unflatten
from .array import Array, door, wrap
from .aval import on_explicit, shaped
from .devices import several
from .dtypes import canonical, shown
from .jaxpr_places import axis_of
from .jaxpr_types import ClosedJaxpr, Jaxpr, Literal, Var
from .jaxpr_writer import closed, jaxpr_of, to_be_shown
from .layouts import order_of, orders
from .references import Ref, Touched, among, filled, passed_on, passing_on, placed, put, read, strong, threaded
from .shape_struct import ShapeDtypeStruct
from .sharding import NamedSharding, Sharding, current
from .spreading import known
from .spreading import state as spreading
from .varying import axes_of_value, contexts, sums_of_value


def node_of(x: Any) -> Node:
    """A leaf without a value for what has a shape and a dtype, and for a deleted array; the node of an array."""
    gone = isinstance(x, Array) and x.is_deleted()
    if (
        gone
        or isinstance(x, ShapeDtypeStruct)
        or (hasattr(x, "shape") and hasattr(x, "dtype") and not hasattr(x, "__array__"))
    ):
        node = leaf(tuple(x.shape), canonical(x.dtype), weak=getattr(x, "weak_type", False), trace=ABSTRACT)
        if isinstance(x, ShapeDtypeStruct) and (order := order_of(x.format, node.shape, "arguments")):
            orders[node] = order
        lies = getattr(x, "sharding", None)
        if several() and isinstance(lies, Sharding):
            spreading.on = True
            known[node] = lies
        return node
    return door.as_node(x)


def structs(structure: Any, nodes: Sequence[Node], shardings: Sequence[Any] = ()) -> Any:
    """The tree of that structure with the types of these nodes, and with shardings: those on explicit or manual axes,
    or others that are given."""
    if current.manual and not shardings:
        return unflatten(structure, [struct_of_part(n) for n in nodes])
    found = shardings or [sharding_of_type(known.get(n), n.ndim) for n in nodes]
    infos = [ShapeDtypeStruct(n.shape, shown(n.dtype), weak_type=n.weak, sharding=s) for n, s in zip(nodes, found)]
    return unflatten(structure, infos)


def struct_of_part(n: Node) -> ShapeDtypeStruct:
    """The type of a value inside of `shard_map`."""
    t = shaped(n.aval, known.get(n), axes_of_value(n), sums_of_value(n))
    varies = t.manual_axis_type if contexts.active else None
    return ShapeDtypeStruct(t.shape, t.dtype, weak_type=t.weak_type, sharding=t.sharding, manual_axis_type=varies)


def sharding_of_type(lies: Any, ndim: int, placed: bool = False) -> NamedSharding | None:
    """What a type says of how its array lies, on explicit axes of a mesh: `placed` on its devices."""
    if not isinstance(lies, NamedSharding) or not lies.mesh.explicit_axes:
        return None
    typed = on_explicit(lies, ndim)
    return typed.update(mesh=lies.mesh) if placed else typed


def lying_as(fun: Callable[..., Any], shardings: Sequence[Any]) -> Callable[..., Any]:
    """The function, whose traced arguments are said to lie so."""

    @functools.wraps(fun)
    def placed_arguments(*args: Any, **kwargs: Any) -> Any:
        traced = [x for x in flatten((args, kwargs))[0] if isinstance(x, Array)]
        for x, sharding in zip(traced, shardings):
            known[x.node] = sharding
        return fun(*args, **kwargs)

    return placed_arguments


jaxprs: weakref.WeakKeyDictionary[Entry, ClosedJaxpr] = weakref.WeakKeyDictionary()
"""Of what `make_jaxpr` has been asked about: the same graph each time, as in JAX."""


def entry_for(fun: Callable[..., Any], static: Static, args: Any, kwargs: Any) -> tuple[Entry, bool]:
    """What is known of a function that was traced for these arguments, arrays or `ShapeDtypeStruct`s, and whether it
    was traced now."""
    jitted = Jit(fun, door, static)
    call = jitted._take_apart(args, kwargs, node_of)
    if several():
        fun = lying_as(fun, [known.get(n) for n in call.nodes])
    runs: list[Any] = []
    jitted._fun = typed(fun, runs)
    if several() or stack.axes or flags.check_tracer_leaks:
        return jitted._trace(call), True
    entry = jitted._entry(call)
    if any(runs):
        jitted._entries.pop(call.key, None)
    return entry, bool(runs)


def typed(fun: Callable[..., Any], found: list[Any]) -> Callable[..., Any]:
    """The function, with an abstract array for each `ShapeDtypeStruct` that it returns: a list of them is added to
    `found`."""

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten(fun(*args, **kwargs))
        found.append([x for x in leaves if isinstance(x, ShapeDtypeStruct)])
        return unflatten(structure, [wrap(node_of(x)) if isinstance(x, ShapeDtypeStruct) else x for x in leaves])

    return call


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """A function of the same arguments (arrays or `ShapeDtypeStruct`s) that returns the graph of `fun`.

    With `return_shape` also the types of the result.
    """
    if not callable(fun):
        raise TypeError(f"the first argument must be callable, got {fun}")
    nums = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)

    def trace(f: Callable[..., Any], static: Static, args: Any, kwargs: Any) -> tuple[Entry, int | Beginning]:
        before = stack.axes
        if axis_env:
            stack.axes = {**before, **{k: (n, leaf((), np.dtype(np.int32), trace=ABSTRACT)) for k, n in axis_env}}
            axis_of.update({stack.axes[k][1]: k for k, _ in axis_env})
        beginning = Beginning()
        try:
            with to_be_shown():
                entry, now = entry_for(f, static, args, kwargs)
        finally:
            stack.axes = before
        return entry, beginning if now else entry.since

    def make(*args: Any, **kwargs: Any) -> Any:
        with_refs = among((args, kwargs))
        if not with_refs:
            try:
                entry, since = trace(fun, Static(nums), args, kwargs)
            except Touched:
                with_refs = True
        if with_refs:
            found, shape = referring(fun, nums, args, kwargs, trace)
        else:
            known_graph = jaxprs.get(entry)
            found = jaxprs[entry] = closed(entry.function, since) if known_graph is None else known_graph
            shape = structs(entry.out, entry.function.outputs)
        return (found, shape) if return_shape else found

    make.__name__ = f"make_jaxpr({getattr(fun, '__name__', fun)})"
    return make


def referring(
    fun: Callable[..., Any], nums: Sequence[int], args: Any, kwargs: Any, trace: Callable[..., Any]
) -> tuple[ClosedJaxpr, Any]:
    """The graph of a function that uses references, and the types of its result. References from outside of it are
    constants."""
    own, (given, named) = placed((args, kwargs))
    n = len(own)
    static = [k % len(args) for k in nums]
    dynamic = flatten(([x for i, x in enumerate(args) if i not in static], kwargs))[0]

    def run(refs: list[Ref], values: list[Any]) -> Any:
        def inner(values: list[Any], *args: Any, **kwargs: Any) -> Any:
            held = [Ref(v, r._kind) for v, r in zip(values, own)]
            given, named = filled((args, kwargs), held)
            out, after = threaded(fun, refs[n:])(values[n:], *given, **named)
            return out, [*map(read, held), *after]

        later = Static(tuple([k + 1 for k in static]))
        entry, since = trace(inner, later, (list(map(strong, values)), *given), named)
        function, count = entry.function, len(values)
        jaxpr, constants = jaxpr_of(function, since, refs=count)
        mine, rest = iter(range(n)), iter(range(count, len(function.inputs)))
        order = [next(mine) if isinstance(x, Ref) else next(rest) for x in dynamic]
        first = len(function.outputs) - count
        outs, after = function.outputs[:first], function.outputs[first:]
        user = Function(
            [function.inputs[k] for k in order], [*outs, *after[n:], *after[:n]], function.effects, function.token
        )
        whole = Jaxpr(
            [*jaxpr.invars[n:count], *jaxpr.constvars], [jaxpr.invars[k] for k in order], jaxpr.outvars, jaxpr.eqns,
            jaxpr.effects, source=(user, [*function.inputs[n:count], *constants]),
        )  # fmt: skip
        shape = structs(entry.out, function.outputs)[0]
        return (ClosedJaxpr(whole, [*refs[n:], *map(wrap, constants)]), shape), [None] * count

    found: tuple[ClosedJaxpr, Any] = passing_on(run, [*own], f"{name_of(fun)}{place_of(fun)} for make_jaxpr")
    return found


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The types of `fun(*args, **kwargs)` as `ShapeDtypeStruct`s. Nothing is computed."""
    if isinstance(fun, Jit):
        return fun.eval_shape(*args, **kwargs)  # type: ignore[attr-defined]

    def types(f: Callable[..., Any], _: Static) -> Callable[..., Any]:
        return lambda values, *args, **kwargs: (types_of(f, values, *args, **kwargs)[0], values)

    return passed_on(functools.partial(types_of, fun), fun, types, Static())(*args, **kwargs)


def types_of(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The types of what a function gives for arguments that are no references."""
    entry, _ = entry_for(fun, Static(), args, kwargs)
    return structs(entry.out, entry.function.outputs)


# --- To run one -------------------------------------------------------------------------------------------------------


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any, propagate_source_info: bool = True) -> list[Any]:
    """The results of a graph for values of its constants and arguments.

    Raises: TypeError where their number is wrong.
    """
    if len(consts) != len(jaxpr.constvars) or len(args) != len(jaxpr.invars):
        raise TypeError(
            f"eval_jaxpr takes {len(jaxpr.constvars)} constants and {len(jaxpr.invars)} arguments, got {len(consts)} "
            f"and {len(args)}"
        )
    if jaxpr.source is None:
        return run_equations(jaxpr, consts, args)
    function, constants = jaxpr.source
    whole = Function((*constants, *function.inputs), function.outputs, function.effects, function.token)
    refs = [x for x in (*consts, *args) if isinstance(x, Ref)]
    values = [strong(read(x)) if isinstance(x, Ref) else x for x in (*consts, *args)]
    outs = [wrap(n) for n in inline(whole, [door.as_node(x) for x in values])]
    for ref, value in zip(refs, outs[len(jaxpr.outvars) :]):
        put(ref, value)
    return outs[: len(jaxpr.outvars)]


def run_equations(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    """The results, one equation after the other."""
    known: dict[Any, Any] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *args)))

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else known[atom]

    for e in jaxpr.eqns:
        out = e.primitive.bind(*[read(v) for v in e.invars], **e.primitive.get_bind_params(e.params))
        known.update(zip(e.outvars, out if e.primitive.multiple_results else [out]))
    return [read(v) for v in jaxpr.outvars]


def jaxpr_as_fun(jaxpr: ClosedJaxpr) -> Callable[..., list[Any]]:
    """The function that a graph with its constants is: from arrays to a list of arrays."""
    return lambda *args: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)


def function_of(jaxpr: ClosedJaxpr | Jaxpr) -> Function:
    """The graph that a jaxpr shows, traced anew where it was put together by hand."""
    given = jaxpr if isinstance(jaxpr, ClosedJaxpr) else ClosedJaxpr(jaxpr, [])
    source = given.jaxpr.source
    if source is not None and all([door.as_node(x) is n for x, n in zip(given.consts, source[1])]):
        return source[0]
    with Trace(given, "jaxpr") as trace:
        inputs = [placeholder(a.plain, trace, i) for i, a in enumerate(given.in_avals)]
        outs = eval_jaxpr(given.jaxpr, given.consts, *[wrap(n) for n in inputs])
        return Function(inputs, [door.as_node(x) for x in outs], trace.effects, trace.first)


def dce_jaxpr(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """The graph with the used outputs only and what they need; and which arguments it still has.

    With `instantiate` arguments stay where nothing reads them.
    """
    keep = [instantiate] * len(jaxpr.invars) if isinstance(instantiate, bool) else list(instantiate)
    outvars = [v for v, used in zip(jaxpr.outvars, used_outputs) if used]
    live = {v for v in outvars if isinstance(v, Var)}
    eqns = []
    for e in reversed(jaxpr.eqns):
        if e.effects or not live.isdisjoint(e.outvars):
            eqns.append(e)
            live.update([v for v in e.invars if isinstance(v, Var)])
    used = [v in live or k for v, k in zip(jaxpr.invars, keep)]
    invars = [v for v, u in zip(jaxpr.invars, used) if u]
    return jaxpr.replace(invars=invars, outvars=outvars, eqns=eqns[::-1]), used
