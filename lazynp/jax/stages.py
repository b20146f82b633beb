"""Jitted functions, and the stages on the way from a function to what runs: `f.trace(...).lower().compile()`."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..api.jit import Call, Entry, Jit
from ..api.trace import stack
from ..config import config
from ..graph.node import Node
from ..graph.show import show
from ..graph.walk import toposort
from ..runtime.kernels import compile_wait
from ..signatures import HOLE, leaf_names, name_of
from ..tree import flatten, map, unflatten
from . import xla_options
from .array import Array, door
from .aval import ShapedArray, shaped
from .compiled_calls import check_lies, check_orders, check_types, mismatch
from .config import flags
from .constraints import over_mesh_of
from .costs import CompiledMemoryStats, costs, memory_of
from .device_texts import said_of
from .devices import Device, everything, several
from .jaxpr import node_of, sharding_of_type, structs
from .jaxpr_types import ClosedJaxpr
from .jaxpr_writer import closed, to_be_shown
from .jit_places import (
    argument_texts,
    check_arguments,
    check_constraints,
    check_order,
    check_some_devices,
    given,
    in_place_of,
    in_type,
    in_words_of,
    on_devices,
    pinned_anywhere,
    positional,
    replicated,
    result,
    result_names,
    spread_places,
    where_to,
    with_values,
)
from .layouts import format_of, order_of, orders, place_of
from .mesh import Setting
from .placed import Placed, Shown, check_donated, keep_graph, traced_along
from .placement import in_order, is_where, placed
from .references import Passing, Touched, among
from .sharding import NamedSharding, PartitionSpec, SingleDeviceSharding, default_mesh, default_sharding
from .spreading import assignment, known, refuse_devices, sharding_at
from .spreading import state as spreading
from .stablehlo import Argument, arguments_of, asked_for, module_text
from .tree_util import PyTreeDef
from .varying import axes_of_value, contexts


@dataclasses.dataclass(frozen=True)
class ArgInfo:
    """An argument of a traced function. Attributes: _aval: its type. donated: whether its buffer is given away."""

    _aval: ShapedArray
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the argument."""
        return self._aval.shape

    @property
    def dtype(self) -> Any:
        """Of the argument."""
        return self._aval.dtype


class Stage:
    """What the stages have in common. `owner`: the function that the user jitted, which says how results lie."""

    def __init__(self, jitted: Jit, call: Call, entry: Entry, owner: Any, around: Any = None) -> None:
        self._jitted, self._call, self._entry, self._owner = jitted, call, entry, owner
        self._around = default_mesh() if around is None else around  # what specs are over, later on, too

    @property
    def fun_name(self) -> str:
        return name_of(self._jitted._fun)

    @property
    def in_tree(self) -> PyTreeDef:
        return PyTreeDef(self._call.structure)

    @property
    def out_tree(self) -> PyTreeDef:
        return PyTreeDef(self._entry.out)

    @property
    def in_avals(self) -> Any:
        return unflatten(self._call.structure, self._types(self._entry.function.inputs))

    def _types(self, nodes: Sequence[Node]) -> list[ShapedArray]:
        return [shaped(n.aval, known.get(n)) for n in nodes]

    @property
    def out_info(self) -> Any:
        """Types of the result, with the shardings that are asked for."""
        outputs, tree = self._entry.function.outputs, self._entry.out
        if self._owner._out is None:
            return self._infos(tree, outputs)
        with Setting(self._around):
            return self._out_info(tree, outputs)

    def _infos(self, tree: Any, outputs: Sequence[Any], shardings: Sequence[Any] = ()) -> Any:
        """Types of results, which do not say from here on what yields to other types."""
        found = shardings or [sharding_of_type(known.get(n), n.ndim, True) for n in outputs]
        return map(lambda t: t.update(weak_type=False), structs(tree, outputs, found))

    def _out_info(self, tree: Any, outputs: Sequence[Any]) -> Any:
        places = spread_places(self._owner._out, unflatten(tree, outputs[: tree.num_leaves]), "out_shardings")
        found = [
            where_to(p, "out_shardings") or sharding_of_type(known.get(n), n.ndim) for p, n in zip(places, outputs)
        ]
        return self._infos(tree, outputs, found)

    @property
    def args_info(self) -> Any:
        """Types of the arguments, and which are donated."""
        donated = self._call.donated or (False,) * len(self._call.nodes)
        infos = [ArgInfo(t, d) for t, d in zip(self._types(self._call.nodes), donated)]
        statics = {at for at, _ in self._call.statics}
        kwargs = unflatten(self._call.structure, infos)[1]
        return positional(self._call, infos), {k: v for k, v in kwargs.items() if k not in statics}

    @property
    def input_shardings(self) -> Any:
        """How the arguments lie: for the positional ones, without those that are static, and for those with names."""
        with Setting(self._around):
            args, kwargs = self._input_shardings()
        statics = {at for at, _ in self._call.statics}
        args = tuple([a for i, a in enumerate(args) if i not in statics])
        return args, {k: v for k, v in kwargs.items() if k not in statics}

    def _input_shardings(self) -> Any:
        """How the arguments lie, in their structure."""
        found = self._owner._pinned_inputs(self._call)
        around = replicated(found) or over_mesh_of([self._entry.function]) or default_sharding()
        keeps = self._entry.function.inputs if self._owner._keep_unused else ()
        used = set(toposort([*self._entry.function.outputs, *self._entry.function.effects, *keeps]))
        inputs = self._entry.function.inputs  # which constraints on them have placed, where nothing else has
        lies = [s or known.get(x) or around if x in used else None for s, x in zip(found, inputs)]
        return unflatten(self._call.structure, lies)

    @property
    def output_shardings(self) -> Any:
        """How the results lie."""
        with Setting(self._around):
            return self._output_shardings()

    def _output_shardings(self) -> Any:
        n = self._entry.out.num_leaves
        outputs = self._entry.function.outputs[:n]
        pinned: list[Any] = [None] * n
        if self._owner._out is not None:
            pinned = spread_places(self._owner._out, unflatten(self._entry.out, outputs), "out_shardings")
        placed = [*self._owner._pinned_inputs(self._call), *pinned_anywhere(pinned)]
        around = replicated(placed) or over_mesh_of([self._entry.function])
        found: list[Any] = [sharding_at(x) or around or default_sharding() for x in outputs]
        found = in_place_of(found, pinned, "out_shardings")
        return unflatten(self._entry.out, found)

    @property
    def input_formats(self) -> Any:
        """How the arguments lie in memory, and on devices."""
        found = [format_of(n.ndim, s, o) for n, s, o in zip(self._call.nodes, self._flat_inputs(), self._orders())]
        statics = {at for at, _ in self._call.statics}
        args, kwargs = unflatten(self._call.structure, found)
        return tuple([a for i, a in enumerate(args) if i not in statics]), kwargs

    def _orders(self) -> list[Any]:
        """In which order the axes of each argument lie: as `in_shardings` says, else as those of what it was compiled
        for."""
        said: list[Any] = [None] * len(self._call.nodes)
        if self._owner._in is not None:
            said = spread_places(self._owner._in, positional(self._call, self._call.nodes), "in_shardings")
        return [order_of(s, n.shape, "pjit arguments") or orders.get(n) for s, n in zip(said, self._call.nodes)]

    def _flat_inputs(self) -> list[Any]:
        """How each argument lies; None for one that is not used."""
        with Setting(self._around):
            return flatten(self._input_shardings(), is_leaf=lambda s: s is None)[0]

    @property
    def output_formats(self) -> Any:
        """How the results lie in memory, and on devices."""
        outputs = self._entry.function.outputs[: self._entry.out.num_leaves]
        said: list[Any] = [None] * len(outputs)
        if self._owner._out is not None:
            said = spread_places(self._owner._out, unflatten(self._entry.out, outputs), "out_shardings")
        with Setting(self._around):
            lies = flatten(self._output_shardings())[0]
        found = [format_of(n.ndim, s, order_of(p, n.shape, "pjit outputs")) for n, s, p in zip(outputs, lies, said)]
        return unflatten(self._entry.out, found)

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        return tuple([i for i, d in enumerate(self._call.donated) if d])


class Traced(Stage):
    """A function that was traced for arguments of some types."""

    @property
    def jaxpr(self) -> ClosedJaxpr:
        """Its graph."""
        with to_be_shown():
            entry = self._jitted._entry(self._call)
        return closed(entry.function, entry.since)

    def _infos(self, tree: Any, outputs: Sequence[Any], shardings: Sequence[Any] = ()) -> Any:
        return structs(tree, outputs, shardings)

    @property
    def out_avals(self) -> Any:
        """Types of the results."""
        count = self._entry.out.num_leaves
        return unflatten(self._entry.out, self._types(self._entry.function.outputs[:count]))

    def lower(self, **options: Any) -> Lowered:
        """The next stage."""
        return Lowered(self._jitted, self._call, self._entry, self._owner, self._around)


class Lowered(Stage):
    """A function that is ready to be compiled."""

    def as_text(self, dialect: str | None = None, **options: Any) -> str:
        """A module in StableHLO's form; for "hlo" the graph, a line a node. Raises ValueError for other dialects."""
        if dialect == "hlo":
            return show(self._entry.function.outputs)
        if dialect not in (None, "stablehlo"):
            raise ValueError(f"unknown dialect: {dialect}")
        with to_be_shown():
            entry = self._jitted._entry(self._call)
        inputs, outputs = entry.function.inputs, entry.function.outputs[: entry.out.num_leaves]
        jaxpr, results = closed(entry.function, entry.since), flatten(self.out_info)[0]
        lies = self._owner._pinned_inputs(self._call)
        donated = self._call.donated or (False,) * len(inputs)
        said = arguments_of(self._types(inputs), lies, donated, results)
        named = [f'jax.result_info = "{name}"' for name in result_names(unflatten(entry.out, outputs))]
        asked = [Argument(asked_for(r.sharding, self._owner._out), (words,)) for r, words in zip(results, named)]
        return module_text(self.fun_name, jaxpr, said, asked, self._owner._keep_unused)

    def compiler_ir(self, dialect: str | None = None) -> str:
        return self.as_text(dialect)

    def cost_analysis(self) -> dict[str, float]:
        """Bytes read and written, and elements computed, if every operation went through memory."""
        return costs(self._entry)

    def compile(self, compiler_options: Any = None) -> Compiled:
        """Have all kernels compiled, and wait for them: the function is run once, on zeros, unless it has effects.

        Raises: JaxRuntimeError for an option that XLA has not.
        """
        xla_options.check(self._owner._options)
        xla_options.check(compiler_options)
        function = self._entry.function
        if self._entry.pure and not function.effects:
            with config(compile_after=0.0):
                zeros = [np.zeros(n.shape, n.dtype) for n in function.inputs]
                self._entry.program(zeros)[0].warm(zeros)
            compile_wait()
        return Compiled(self._jitted, self._call, self._entry, self._owner, self._around)


class Compiled(Stage):
    """A function that runs for arguments of the types it was compiled for."""

    def as_text(self) -> str:
        return show(self._entry.function.outputs, said=said_of)

    def cost_analysis(self) -> dict[str, float]:
        return costs(self._entry)

    @property
    def out_info(self) -> Any:
        """Types of the result, and how it lies."""
        return self._infos(self._entry.out, self._entry.function.outputs, flatten(self.output_formats)[0])

    def memory_analysis(self) -> CompiledMemoryStats:
        """The bytes of arguments that are used, and of results, on each device."""
        arguments = list(zip(self._call.nodes, self._flat_inputs()))
        outputs = self._entry.function.outputs[: self._entry.out.num_leaves]
        with Setting(self._around):
            results = zip(outputs, flatten(self._output_shardings())[0])
        donated = [a for a, gone in zip(arguments, self._call.donated) if gone]
        return memory_of(arguments, results, donated)

    def runtime_executable(self) -> Any:
        return self._entry.function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result. Raises TypeError for arguments of other types."""
        filled = list(args)
        for at, _ in self._call.statics:
            if type(at) is int:
                filled.insert(at, HOLE)
        leaves, structure = flatten((tuple(filled), kwargs))
        if structure != self._call.structure:
            raise TypeError(mismatch(self._call.structure, structure))
        nodes = [door.as_node(x) for x in leaves]
        traced = next((x for x, n in zip(leaves, nodes) if n.trace), None)
        if traced is not None:
            raise TypeError(
                "Cannot apply JAX transformations to a function lowered and compiled for a particular signature. "
                f"Detected argument of Tracer type {type(traced)}."
            )
        check_types(nodes, self._entry.function.inputs, lambda: leaf_names(self._jitted._fun, tuple(filled), kwargs))
        if several():
            names = leaf_names(self._jitted._fun, tuple(filled), kwargs)
            check_lies(nodes, names, self._flat_inputs())
            check_orders(nodes, names, self._orders())
            wanted = self._flat_inputs()
            somewhere = replicated(self._owner._pinned_inputs(self._call)) is not None
            free = [
                sharding_at(n) is None and (isinstance(s, NamedSharding) or somewhere and s is not None)
                for n, s in zip(nodes, wanted)
            ]
            leaves = [placed(n, s) if f else x for x, n, s, f in zip(leaves, nodes, wanted, free)]
            for at, (_, value) in self._call.statics:
                if type(at) is int:
                    filled[at] = value
                else:
                    kwargs[at] = value
            with Setting(self._around):
                again = with_values(filled, kwargs, self._call, leaves)
                owner = self._owner
                return owner._call(*again) if owner._passing is not None else owner._call_arrays(*again, compiled=True)
        call = self._call._replace(leaves=leaves, nodes=nodes)
        return self._jitted._run(call, self._entry, args, kwargs)

    call = __call__


class PjitFunction(Shown):
    """A jitted function, with its stages.

    Attributes:
        _placed: by how arguments lie: the function for such ones.
        _passing: what calls go through once one was found to use mutable references.
        _device: where all arguments and results lie, if that is said.
    """

    _device: Device | None = None
    _passing: Passing | None = None

    def _remember(self, args: Any, kwargs: Any, call: Call, found: tuple[Any, ...], deleted: Sequence[bool]) -> None:
        if not several() or self._nowhere(call) and over_mesh_of([found[0].function]) is None:
            super()._remember(args, kwargs, call, found, deleted)

    def _nowhere(self, call: Call) -> bool:
        """Whether nothing says where the results of a call lie, but what the function says inside: there is one device,
        and no mesh is set, nor was one given to `jit`, nor was an argument placed."""
        said = self._in is not None or self._out is not None or self._device is not None
        return not (said or len(everything()) > 1 or default_mesh().device_numbers or any(map(sharding_at, call.nodes)))

    def _plain_entry(self, call: Call) -> Entry | None:
        """What was traced for a call of which nothing says where anything lies; None for another one."""
        if not self._nowhere(call):
            return None
        entry = self._entry(call)
        keep_graph(self._graphs, [None] * len(call.nodes), call, entry)
        return entry if over_mesh_of([entry.function]) is None else None

    def _trace(self, call: Call, f: Any = None) -> Entry:
        along = f is None and bool(stack.axes)
        entry = traced_along(self._graphs, call, super()._trace) if along else super()._trace(call, f)
        self._check_prefixes(call, entry)
        return entry

    def _check_prefixes(self, call: Call, entry: Entry) -> None:
        """Raise ValueError where `in_shardings` or `out_shardings` is no prefix of the arguments or the results."""
        if self._in is not None:
            spread_places(self._in, positional(call, call.nodes), "in_shardings")
        if self._out is not None:
            spread_places(
                self._out, unflatten(entry.out, entry.function.outputs[: entry.out.num_leaves]), "out_shardings"
            )

    def _slow(self, *args: Any, **kwargs: Any) -> Any:
        """Where arrays may have been placed, it has to be looked at how these lie."""
        try:
            return self._call(args, kwargs) if spreading.on else super()._slow(*args, **kwargs)
        except RuntimeError:
            if self._cache_size():
                check_donated(args, kwargs)
            raise

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._in is not None or self._out is not None:
            everything()  # settled from now on
        if flags.disable_jit:
            return super()._call(args, kwargs)
        if self._passing is not None:
            return self._passing(args, kwargs)
        try:
            return self._call_arrays(args, kwargs)
        except (Touched, TypeError) as error:
            return self._pass_references(error, args, kwargs)(args, kwargs)

    def _pass_references(self, error: Exception, args: Any, kwargs: Any) -> Passing:
        """What calls go through after this error. Raises it where it has nothing to do with references."""
        if isinstance(error, TypeError) and not among((args, kwargs)):
            raise error
        make = functools.partial(WithReferences, door=self._door)
        self._passing = Passing(self._fun, lambda fun, static: make(fun, static=static), self._static)
        return self._passing

    def _call_arrays(self, args: tuple[Any, ...], kwargs: dict[str, Any], compiled: bool = False) -> Any:
        """A call without mutable references. `compiled`: how arguments lie in memory was looked at."""
        if self._options:
            xla_options.check_call(self._options, name_of(self._fun))
        if not several():
            return super()._call(args, kwargs)
        call = self._take_apart(args, kwargs)
        if (plain := self._plain_entry(call)) is not None:
            return self._run(call, plain, args, kwargs)
        before = [sharding_at(n) for n in call.nodes]
        leaves, shardings = list(call.leaves), list(before)
        for where, parameter in ((self._in, "in_shardings"), (self._out, "out_shardings")):
            if where is not None:
                said = [where_to(p, parameter) for p in flatten(where, is_leaf=is_where)[0]]
                check_some_devices(said, shardings)
        if self._in is not None:
            if kwargs:
                raise ValueError("pjit does not support kwargs when in_shardings is specified.")
            wanted = spread_places(self._in, positional(call, leaves), "in_shardings")
            names = leaf_names(self._fun, *unflatten(call.structure, leaves))
            for i, where in enumerate(wanted):
                if not compiled:
                    check_order(call.nodes[i], shardings[i], where, leaves[i])
                leaves[i], shardings[i] = given(call.nodes[i], shardings[i], where, leaves[i], names[i])
        if self._device is not None:
            there = SingleDeviceSharding(self._device)
            leaves, shardings = [placed(n, there) for n in call.nodes], [there] * len(leaves)
        if self._in is not None or self._device is not None:
            args, kwargs = with_values(args, kwargs, call, leaves)
        self._check_devices(args, kwargs, call, shardings)
        found = self._variant(tuple(shardings), tuple([axes_of_value(n) for n in call.nodes if contexts.active]))
        originals = call.leaves
        call = found._take_apart(args, kwargs)
        entry = found._entry(call)
        used = set(toposort([*entry.function.outputs, *entry.function.effects]))
        kept = [s for s, x in zip(shardings, entry.function.inputs) if x in used]  # the others are left out, as in JAX
        check_constraints(self._fun, (args, kwargs), call.nodes, shardings, entry.function, used)
        out = found._run(call, entry, args, kwargs)
        for x, moved, was in zip(originals, call.leaves, before):  # what is donated, and was placed before, is gone too
            if x is not moved and was is not None and isinstance(x, Array) and moved.is_deleted():
                x._give_away()
        results, tree = flatten(out)
        spread = [sharding_at(n) for n in entry.function.outputs[: len(results)]]
        pinned = [None] * len(results) if self._out is None else spread_places(self._out, out, "out_shardings")
        names = [""] * len(results) if self._out is None else result_names(out)
        made = [x not in entry.function.inputs for x in entry.function.outputs]  # not an argument itself
        around = replicated([*kept, *pinned_anywhere(pinned)]) or over_mesh_of([entry.function])
        if self._device is not None:
            pinned = [SingleDeviceSharding(self._device)] * len(results)
        elif around is None and isinstance(over := default_sharding(), NamedSharding):
            around = over
        orders_ = [
            order_of(p, x.shape, f"pjit outputs with pytree key path {n}") for p, x, n in zip(pinned, results, names)
        ]
        spread = [around if s is None else s for s in spread]
        gone = [x for x, d in zip(entry.function.inputs, call.donated) if d]
        new = [m or x in gone for m, x in zip(made, entry.function.outputs)]
        spread = [in_type(s, x.ndim) if n else s for s, n, x in zip(spread, new, entry.function.outputs)]
        spread = [in_words_of(s, x.ndim, call.nodes, shardings) for s, x in zip(spread, entry.function.outputs)]
        spread, pinned = [[on_devices(place_of(s), kept) for s in places] for places in (spread, pinned)]
        laid = [result(*x) for x in zip(results, spread, pinned, made, names)]
        return unflatten(tree, [in_order(x, o) if isinstance(x, Array) else x for x, o in zip(laid, orders_)])

    def _check_devices(self, args: Any, kwargs: Any, call: Call, shardings: Sequence[Any]) -> None:
        """Raise ValueError where arguments were placed on other devices than others, than the mesh that is set, or than
        `out_shardings` says."""
        outs = [] if self._out is None else pinned_anywhere(flatten(self._out, is_leaf=is_where)[0])
        around = default_mesh()
        found = [s for s in (*shardings, *outs) if s is not None]
        if len({assignment(s) for s in found} - {()} | {around.device_numbers} - {()}) < 2:
            return
        shardings = self._of_used(call, shardings)
        found = [s for s in (*shardings, *outs) if s is not None]
        if len({assignment(s) for s in found} - {()} | {around.device_numbers} - {()}) < 2:
            return
        where = list(zip(argument_texts(self._fun, (args, kwargs), call.nodes), shardings))
        where += [("explicit output sharding", s) for s in outs]
        if around.device_numbers:
            where.append(("jit's context mesh", NamedSharding(around, PartitionSpec())))
        refuse_devices(where)

    def _of_used(self, call: Call, shardings: Sequence[Any]) -> Sequence[Any]:
        """The shardings of the arguments that the function uses; the others may lie anywhere."""
        if self._keep_unused:
            return shardings
        try:
            function = Jit(self._fun, self._door, self._static)._trace(call).function
        except Exception:  # what is wrong is for the call itself to say
            return shardings
        used = set(toposort([*function.outputs, *function.effects]))
        return [s if x in used else None for s, x in zip(shardings, function.inputs)]

    def _pinned_inputs(self, call: Call) -> list[Any]:
        """How the arguments of a call lie, as `in_shardings` says, else as they were placed; None: they were not."""
        found = [sharding_at(n) for n in call.nodes]
        if self._device is not None:
            return [SingleDeviceSharding(self._device)] * len(found)
        if self._in is None:
            return found
        return in_place_of(found, spread_places(self._in, positional(call, call.nodes), "in_shardings"), "in_shardings")

    def _variant(self, shardings: tuple[Any, ...], varies: tuple[Any, ...] = ()) -> Placed:
        """The function for arguments that lie so, and that vary along these manual axes."""
        variants = vars(self).setdefault("_placed", {})
        key = shardings, default_mesh(), varies
        found = variants.get(key)
        if found is None:
            found = variants[key] = Placed(self._fun, self._door, self._static, shardings, self._graphs)
            found._in, found._out = self._in, self._out
            found._inline, found._keep_unused = self._inline, self._keep_unused
        made: Placed = found
        return made

    def clear_cache(self) -> None:
        """Forget all that was traced."""
        super().clear_cache()
        self._graphs.clear()
        vars(self).pop("_placed", None)

    def _cache_size(self) -> int:
        """For how many signatures, and ways in which arguments lie, the function has been traced."""
        return super()._cache_size() + sum([f._cache_size() for f in vars(self).get("_placed", {}).values()])

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._fun)

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace it for these arguments, arrays, `ShapeDtypeStruct`s or references."""
        if self._passing is not None:
            return self._passing.traced(args, kwargs)
        try:
            return self._trace_arrays(args, kwargs)
        except (Touched, TypeError) as error:
            return self._pass_references(error, args, kwargs).traced(args, kwargs)

    def _trace_arrays(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
        call = self._take_apart(args, kwargs, node_of)
        plain = self._plain_entry(call) if several() else self._entry(call)
        if plain is not None:
            return Traced(self, call, plain, self)
        placed = self._variant(tuple(self._pinned_inputs(call)))
        return Traced(placed, call, placed._entry(call), self)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace it for these arguments, and lower it. Raises ValueError for an argument that cannot lie as it says."""
        traced = self.trace(*args, **kwargs)
        if self._passing is not None:
            return traced.lower()
        if kwargs and self._in is not None:
            raise ValueError("pjit does not support kwargs when in_shardings is specified.")
        names = leaf_names(self._fun, args, kwargs) if self._in is not None else []
        check_arguments(traced._call, self._in if several() else None, names)
        return traced.lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The types of the result."""
        return self.trace(*args, **kwargs).out_info

    def __repr__(self) -> str:
        return f"<PjitFunction of {self._fun!r}>"


class WithReferences(PjitFunction):
    """A jitted function of the values of references: those that it is found to touch are for its caller to pass."""

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._call_arrays(args, kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        return self._trace_arrays(args, kwargs)


Wrapped = PjitFunction
