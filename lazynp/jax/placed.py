"""Jitted functions as they are traced: with their calls in graphs that are shown, for arguments that lie in one way."""

from __future__ import annotations

import math
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ..api.ahead import inline
from ..api.jit import SIGNATURES_KEPT, Call, Entry, Jit, Tables, finish, tables_of
from ..api.trace import stack
from ..bounded import Bounded
from ..doors import Door, wrap_all
from ..errors import JaxRuntimeError
from ..graph.function import Function
from ..graph.node import Node
from ..graph.walk import toposort
from ..ops.tags import as_call
from ..signatures import Static, name_of
from ..tree import flatten, unflatten
from .array import Array, door
from .bind import check_lowered
from .call_cotangents import pulled_back
from .constraints import bodies_of, flow_back, mesh_of, nodes_of
from .jaxpr import lying_as
from .jit_places import (
    positional,
    spread_places,
    where_to,
)
from .processes import check_closed_over, spanning, spread_of
from .sharding import NamedSharding, default_mesh
from .specs import UNSPECIFIED
from .spreading import constrain, derive, known
from .spreading import state as spreading

Table = Bounded[Any, Entry]
graphs_of: weakref.WeakKeyDictionary[Tables, Table] = weakref.WeakKeyDictionary()
"""Of what was traced of a function, graphs that are recorded anew where something else around a call is another."""


def jitted_again(kind: type[Shown], fun: Any, static: Static, said: dict[str, Any]) -> Shown:
    """A jitted function that was pickled."""
    made = kind(fun, door, static)
    vars(made).update(said)
    return made


class Shown(Jit):
    """A jitted function whose calls graphs that are shown have as such.

    Attributes:
        _kind: what such a call is to be called.
        _inline: whether they have the function's operations in place of a call. _keep_unused: whether arguments count
            that it ignores. _options: of XLA's compiler.
        _in, _out: a sharding, a spec or None for each argument and each result; prefixes of their trees.
    """

    _kind = "jit"
    _inline = _keep_unused = False
    _options: Any = None
    _in: Any = None
    _out: Any = None

    def __init__(self, fun: Any, door: Door, static: Static = Static(), known_by: Any = None) -> None:  # noqa: B008
        """`known_by`: another function than `fun`, and how it was wrapped, by which is found what was traced of it."""
        super().__init__(fun, door, static)
        owner, how = known_by or (fun, ())
        tables = tables_of(owner, (self._static, door.name, *how))
        self._fast, self._entries, self._locks = tables.fast, tables.entries, tables.locks
        self._signatures, self._graphs = tables.signatures, graphs_of.setdefault(tables, Bounded(SIGNATURES_KEPT))

    def __reduce__(self) -> Any:
        """Pickled, it is the function and what was said of it, without what was traced."""
        said = ("_in", "_out", "_inline", "_keep_unused", "_options", "_device")
        return jitted_again, (type(self), self._fun, self._static, {k: v for k, v in vars(self).items() if k in said})

    def _run(self, call: Call, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        function = entry.function
        traced = not entry.pure or any([n.trace for n in call.nodes])
        if not traced and not entry.programs:
            check_lowered(function)
        if not (stack.shown and traced and function.outputs) or self._inline or function.effects or entry.written:
            return super()._run(call, entry, args, kwargs)
        made, params = inline(function, call.nodes), self._params(call, entry)
        outs = as_call(function, call.nodes, made, self._kind, params, pulled_back)
        return finish(entry, call, wrap_all(entry.door, outs))

    def _usable(self, call: Call, entry: Entry) -> tuple[bool, ...]:
        """Raises JaxRuntimeError where an array is donated and used by another argument of the same call."""
        self._check_twice(call)
        return super()._usable(call, entry)

    def _check_twice(self, call: Call) -> None:
        for i, (x, donated) in enumerate(zip(call.leaves, call.donated)):
            others = [j for j, y in enumerate(call.leaves) if y is x and j != i]
            if donated and others and isinstance(x, Array):
                raise JaxRuntimeError(
                    "INVALID_ARGUMENT: Attempt to use a buffer that was previously donated in the same call to "
                    f"Execute() (flattened argument {others[0]}, which is argument {i} too)."
                )

    def _params(self, call: Call, entry: Entry) -> dict[str, Any]:
        """What equations of calls say, besides the graph."""
        n = len(call.nodes) + len([x for x in entry.function.captured() if x.trace])
        n_out, donated = len(entry.function.outputs), call.donated or (False,) * len(call.nodes)
        given = self._said(self._in, positional(call, call.nodes), "in_shardings")
        return {
            "in_shardings": (*(UNSPECIFIED,) * (n - len(given)), *given),
            "out_shardings": self._said(self._out, unflatten(entry.out, range(n_out)), "out_shardings"),
            "in_layouts": (None,) * n,
            "out_layouts": (None,) * n_out,
            "donated_invars": (*(False,) * (n - len(donated)), *donated),
            "ctx_mesh": default_mesh(),
            "name": name_of(self._fun),
            "keep_unused": self._keep_unused,
            "inline": False,
            "compiler_options_kvs": (),
        }

    def _said(self, where: Any, tree: Any, parameter: str) -> tuple[Any, ...]:
        """For each leaf of a tree the sharding that `in_shardings` or `out_shardings` says."""
        if where is None:
            return (UNSPECIFIED,) * len(flatten(tree)[0])
        return tuple([where_to(p, parameter) or UNSPECIFIED for p in spread_places(where, tree, parameter)])


def part_shape(n: Node, lies: Any) -> tuple[int, ...]:
    """The shape of what one device has of an array that lies so."""
    return n.shape if lies is None else tuple(lies.shard_shape(n.shape))


def part_bytes(n: Node, lies: Any) -> int:
    """How many bytes of an array that lies so one device has."""
    return math.prod(part_shape(n, lies)) * n.dtype.itemsize


class Placed(Shown):
    """A jitted function for arguments that lie on devices in one way: what it traces knows how they lie.

    Args:
        traced: what was traced of the same function, by the types of arguments that lie in whatever ways. A graph of
            types that are the same in JAX is recorded anew in place of another run of the function's Python.
    """

    def __init__(self, fun: Any, door: Any, static: Any, shardings: tuple[Any, ...], traced: Table) -> None:
        super().__init__(lying_as(fun, shardings), door, static)
        self._lies, self._graphs = shardings, traced

    def _run(self, call: Call, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Over arrays of several processes, operation by operation: each device computes its part."""
        if not spreading.processes:
            return super()._run(call, entry, args, kwargs)
        for n in entry.function.captured():
            check_closed_over(n)
        nodes = (*call.nodes, *entry.function.captured())
        if all([spread_of(n) is None for n in nodes]) and not entry_spans(entry):
            return super()._run(call, entry, args, kwargs)
        return finish(entry, call, wrap_all(entry.door, inline(entry.function, call.nodes)))

    def _usable(self, call: Call, entry: Entry) -> tuple[bool, ...]:
        """Of arrays on several devices those that are used, and whose parts have the size of those of a result. Where
        `out_shardings` says how all results lie, JAX warns of the others."""
        if not any([s is not None and s.num_devices > 1 for s in self._lies]):
            return super()._usable(call, entry)
        self._check_twice(call)
        said, inputs = self._said_of_results(entry), entry.function.inputs
        outs = entry.function.outputs[: entry.out.num_leaves]
        used = set(toposort([*entry.function.outputs, *entry.function.effects]))
        free = Counter([part_bytes(x, to or known.get(x)) for to, x in zip(said, outs)])
        given, unused = [], []
        for x, n, inside, s, donated in zip(call.leaves, call.nodes, inputs, self._lies, call.donated):
            size = part_bytes(n, s)
            fits = donated and inside in used and free[size] > 0
            free[size] -= fits
            given.append(fits and isinstance(x, Array))
            unused.append(donated and inside in used and not fits)
        if None not in said:
            types = [str(n.aval._replace(shape=part_shape(n, s))) for n, s in zip(call.nodes, self._lies)]
            self._tell_unused(entry, tuple(unused), types)
        return tuple(given)

    def _said_of_results(self, entry: Entry) -> list[Any]:
        """For each result the sharding that `out_shardings` says; None where it says nothing."""
        outs = entry.function.outputs[: entry.out.num_leaves]
        if self._out is None:
            return [None] * len(outs)
        said = spread_places(self._out, unflatten(entry.out, outs), "out_shardings")
        return [where_to(p, "out_shardings") for p in said]

    def _trace(self, call: Call, f: Any = None) -> Entry:
        spreading.jitted += 1
        try:
            key = graph_key(self._lies, call)
            alike = self._graphs.get(key) or self._graphs.recall(key)
            entry = super()._trace(call, f if alike is None else lying_as(recorded(alike), self._lies))
            keep_graph(self._graphs, self._lies, call, entry)
            results = zip(entry.function.outputs, self._said_of_results(entry))
            if mesh_of(entry.function) is not None or self._out is not None:
                flow_back(nodes_of(entry.function), derive, results)
            return entry
        finally:
            spreading.jitted -= 1

    def _remember(self, *call: Any) -> None:
        """Nothing: its callers look at how arguments lie."""


def check_donated(args: Any, kwargs: Any) -> None:
    """Raise ValueError for an array that was donated before, as JAX does where the function is compiled already."""
    for i, x in enumerate(flatten((args, kwargs))[0]):
        if isinstance(x, Array) and x._is_given_away():
            raise ValueError(
                f"INVALID_ARGUMENT: Invalid buffer passed to Execute() as argument {i} to replica 0: "
                "INVALID_ARGUMENT: Buffer has been deleted or donated."
            )


def recorded(entry: Entry, more: Sequence[Node] = ()) -> Callable[..., Any]:
    """A function that records a graph which was traced before, for these nodes after its arguments."""

    def record(*args: Any, **kwargs: Any) -> Any:
        nodes = [entry.door.as_node(x) for x in flatten((args, kwargs))[0]]
        return unflatten(entry.out, wrap_all(entry.door, entry.function(*nodes, *more)))

    return record


def traced_along(graphs: Table, call: Call, trace: Callable[..., Entry]) -> Entry:
    """`trace(call)` inside of named axes: a graph that captures nothing but the indices along them is recorded anew, in
    place of another run of the function's Python, where the axes have other ones."""
    indices, key = [i for _, i in stack.axes.values()], call.key
    alike = graphs.get(key) or graphs.recall(key)
    if alike is not None:
        return trace(call, recorded(alike, indices))
    entry = trace(call)
    if not entry.pure and not entry.written and not entry.function.effects:
        whole = Function((*entry.function.inputs, *indices), entry.function.outputs)
        along = Entry(whole, entry.out, (), entry.since, entry.door)
        if along.pure:
            graphs.keep(key, along)
    return entry


def graph_key(lies: Sequence[Any], call: Call) -> Any:
    """By what a graph is kept for calls with arguments of the same types, which may lie in other ways."""
    return *map(sharding_in_type, lies), default_mesh(), call.key


def keep_graph(graphs: Table, lies: Sequence[Any], call: Call, entry: Entry) -> None:
    """Keep what was traced for arguments that lie so, where it can be recorded anew."""
    key = graph_key(lies, call)
    if (graphs.get(key) or graphs.recall(key)) is None and not default_mesh().explicit_axes and is_plain(entry):
        graphs.keep(key, entry)


def sharding_in_type(lies: Any) -> Any:
    """What the type of an array says of how it lies, which a function's Python may ask for: on Auto axes the mesh, and
    the memory."""
    if not isinstance(lies, NamedSharding):
        return "device" if lies is None else lies.memory_kind
    return lies if lies.mesh.explicit_axes else (lies.mesh.abstract_mesh, lies.memory_kind)


def is_plain(entry: Entry) -> bool:
    """Whether a traced function is operations on its arguments alone: without effects, and without bodies of loops,
    of which is noted how what they make lies."""
    if not entry.pure or entry.written or entry.function.effects:
        return False
    return not any([body for n in nodes_of(entry.function) for body in bodies_of(n)])


def entry_spans(entry: Entry) -> bool:
    """Whether a traced function puts something on devices of several processes."""
    results = (*entry.function.outputs, *entry.function.effects)
    return any([n.op is constrain and spanning(n.static[0]) for n in toposort(results)])
