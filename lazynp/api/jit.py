"""`jit`: a function's Python runs once per signature; after that its graph runs as one plan."""

from __future__ import annotations

import functools
import logging
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..bounded import Bounded
from ..doors import Door, door_of, doors, wrap_all
from ..errors import argument_error
from ..flags import Override, flags
from ..graph.function import Function
from ..graph.node import BORROWED, Node, leaf
from ..runtime import jit_calls, known
from ..runtime.checks import check_values
from ..runtime.execute import Program, buffer_of, kind_of, place, values_of
from ..runtime.recorder import recorder
from ..runtime.reuse import spend, use_as
from ..signatures import (
    Static,
    callable_,
    donated_leaves,
    entry_at,
    leaf_names,
    name_of,
    place_of,
    resolve,
    tuple_of,
    with_statics,
    without_statics,
)
from ..speed import CallBase
from ..threads import at_fork
from ..tree import flatten, unflatten
from .ahead import inline
from .trace import Trace, placeholder, run_traced, stack

log = logging.getLogger("lazynp.jit")
everything: weakref.WeakSet[Jit] = weakref.WeakSet()
at_fork(30, child=lambda: [jitted._locks.clear() for jitted in list(everything)])  # of threads that are not there
"""All jitted functions, for `clear_caches`."""


class Call(NamedTuple):
    """The arguments of a call, taken apart.

    Attributes:
        leaves: of what is not static. nodes: the same in the graph. structure: of `(args, kwargs)`.
        statics: pairs of (place or name, value). donated: for each leaf whether it is donated; empty where none is.
    """

    leaves: list[Any]
    nodes: list[Node]
    structure: Any
    statics: tuple[Any, ...]
    door: Door
    donated: tuple[bool, ...]

    @property
    def key(self) -> Any:
        """The signature: what a function is traced for."""
        settings = (flags.state, *[(name, size) for name, (size, _) in stack.axes.items()])
        return (settings, stack.shown, self.door.name, self.structure, self.statics, *[n.number for n in self.nodes])


class Entry:
    """A function traced for one signature.

    Attributes:
        function: its graph; its last outputs are the new values of the arguments that it wrote to, whose numbers are
            `written`.
        out: structure of the result.
        pure: whether it captures nothing that is traced: then it may be kept, and run by a plan.
        programs: by the kinds of the arguments (arrays, types of scalars) and which are donated.
        unused: for which donated arguments it was said that no result can use their buffers.
    """

    def __init__(self, function: Function, out: Any, written: tuple[int, ...], since: int, door: Door) -> None:
        self.function, self.out, self.written, self.since, self.door = function, out, written, since, door
        self.single = out.is_leaf()
        self.pure = not any(n.trace for n in function.captured())
        self.programs: dict[Any, tuple[Program, list[Any]]] = {}
        self.unused: set[tuple[bool, ...]] = set()

    def program(self, values: Sequence[Any], donated: tuple[bool, ...] = ()) -> tuple[Program, list[Any]]:
        """The program for arguments of these kinds, and for each result (where, at, maker): see `Program.sources`."""
        key = (tuple(map(kind_of, values)), donated, *place())
        found = self.programs.get(key)
        if found is None:
            program = Program(self.function, values, self.since, donated, key[2])
            makers = [self.maker(n) for n in self.function.outputs]
            found = program, [(where, at, make) for (where, at), make in zip(program.sources, makers)]
            self.programs[key] = found
        return found

    def maker(self, like: Node) -> Callable[[Any], Any]:
        """From a buffer to the array for it."""
        weak, wrap, of_value = like.weak, self.door.wrap, self.door.of_value
        if of_value is not None:
            return lambda buffer: of_value(buffer, weak)
        return lambda buffer: wrap(leaf(buffer.shape, buffer.dtype, buffer, weak=weak))


class Tables:
    """What has been traced of a function. `locks` are those of signatures that are being traced."""

    def __init__(self) -> None:
        self.fast: Bounded[Any, tuple[Entry, Program, list[Any], list[Any]]] = Bounded(SIGNATURES_KEPT)
        self.entries: Bounded[Any, Entry] = Bounded(SIGNATURES_KEPT)
        self.locks: dict[Any, Any] = {}
        self.signatures: list[Any] = []


SIGNATURES_KEPT = 2048  # of a function
shared: weakref.WeakKeyDictionary[Any, dict[Any, Tables]] = weakref.WeakKeyDictionary()


def tables_of(fun: Callable[..., Any], how: Any) -> Tables:
    """The tables of a function jitted in this way: the same ones each time that it is jitted."""
    try:
        return shared.setdefault(fun, {}).setdefault(how, Tables())
    except TypeError:  # what has no weak references, or does not hash
        return Tables()


class Jit(CallBase):
    """A jitted function: called, it runs the graph of the wrapped function for arguments of this signature.

    `door` is the one whose arrays the function sees where no argument is an array.
    """

    def __init__(self, fun: Callable[..., Any], door: Door, static: Static = Static()) -> None:  # noqa: B008
        mine = type(self)  # a callable object may have attributes of the names of our methods
        vars(self).update({k: v for k, v in getattr(callable_(fun), "__dict__", {}).items() if not hasattr(mine, k)})
        functools.update_wrapper(self, fun, updated=())
        self._fun, self._door = fun, door
        self._static = resolve(fun, static)
        self._array: Any = door.array if door.of_value is not None else Miss
        self._known: Any = door if door.of_value is not None else Miss
        tables = tables_of(fun, (self._static, door.name))
        self._fast, self._entries, self._locks = tables.fast, tables.entries, tables.locks
        self._signatures = tables.signatures
        everything.add(self)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<jit of {self._fun!r}>"

    def _slow(self, *args: Any, **kwargs: Any) -> Any:
        """The result of a call: what `CallBase` does where the C module does not know the arguments."""
        fast = flags.fast
        if fast is not None:
            if not kwargs:
                out = self._try(args, [fast, None])
                if out is not MISS:
                    return out
            leaves, structure = flatten((args, kwargs))
            out = self._try(leaves, [fast, structure])
            if out is not MISS:
                return out
        return self._call(args, kwargs)

    def _try(self, leaves: Sequence[Any], key: list[Any]) -> Any:
        """The result, where these leaves have been seen before and none is traced; else MISS."""
        values = known.key_of(leaves, key, self._array, doors, self._known)
        found = None if values is None else self._fast.get(tuple(key)) or self._fast.recall(tuple(key))
        if found is None:
            return MISS
        entry, program, results, host = found
        for i, dtype in host:
            values[i] = np.asarray(values[i], dtype, order="C")
        out = results_of(entry.door, program.run(values), results, leaves)
        return out[0] if entry.single else unflatten(entry.out, out)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Any call: one with static or donated arguments, with traced ones, or the first of its signature."""
        if flags.disable_jit:
            return self._fun(*args, **kwargs)
        call = self._take_apart(args, kwargs)
        return self._run(call, self._entry(call), args, kwargs)

    def _run(self, call: Call, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run what was traced, or make it part of what is being traced around."""
        if flags.debug_key_reuse:
            use_as(entry.function, call.nodes, f"jit({name_of(self._fun)})")
        if not entry.pure or any([n.trace for n in call.nodes]):
            return finish(entry, call, wrap_all(entry.door, inline(entry.function, call.nodes)))
        values = values_of(call.nodes)
        deleted = self._usable(call, entry) if any(call.donated) else ()
        program, results = entry.program(values, self._give(call, entry, deleted) if deleted else ())
        if not entry.written and call.door is self._door and not stack.axes:  # their sizes are no part of a signature
            self._remember(args, kwargs, call, (entry, program, results), deleted)
        door = entry.door
        there = program.run(values)
        out = results_of(door, there, results, call.leaves if not any(call.donated) else wrap_all(door, call.nodes))
        if flags.fast is None:
            self._check([there[at] for where, at, _ in results if where == 0], args, kwargs)
        return finish(entry, call, out)

    def _check(self, values: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise FloatingPointError for NaN or infinity where the flags ask for it: from the line that makes it."""
        try:
            check_values(values, f"jit({name_of(self._fun)})")
        except FloatingPointError:
            with Override("disable_jit", True):
                self._fun(*args, **kwargs)
            raise

    def _take_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any], node_of: Any = None) -> Call:
        """Split static arguments off, flatten the others, find their nodes (by `node_of` instead of the door's way)."""
        static = self._static
        statics: tuple[Any, ...] = ()
        if static.nums or static.names:
            args, kwargs, statics = without_statics(static, args, kwargs)
        leaves, structure = flatten((args, kwargs))
        door = door_of(leaves, self._door)
        as_node, nodes = node_of or door.as_node, []
        try:
            for x in leaves:
                nodes.append(as_node(x))
        except (TypeError, OverflowError) as error:
            i = len(nodes)
            path = leaf_names(self._fun, args, kwargs)[i]
            raise argument_error(self._fun, leaves[i], path, isinstance(error, OverflowError)) from error
        donated = donated_leaves(static, args, kwargs) if static.donate_nums or static.donate_names else ()
        return Call(leaves, nodes, structure, statics, door, donated)

    def _entry(self, call: Call) -> Entry:
        """The traced function for a signature: traced by the first thread that comes, others wait."""
        key = call.key
        entry = entry_at(self._entries, key, call.statics)
        if entry is None:
            lock = self._locks.setdefault(key, threading.RLock())
            with lock:
                entry = self._entries.get(key)
                if entry is None:
                    entry = self._trace(call)
                    if entry.pure:
                        self._entries.keep(key, entry)
                        self._locks.pop(key, None)
        return entry

    def _trace(self, call: Call, f: Any = None) -> Entry:
        """Run the function's Python on placeholders, or `f`, of the arguments that are not static, in its place."""
        if flags.explain_cache_misses and f is None:
            log.warning("%s", why(self, call))
        if flags.no_tracing and f is None:
            raise RuntimeError(f"re-tracing function {name_of(self._fun)} for `jit`, but 'no_tracing' is set")
        f = with_statics(self._fun, call.statics) if f is None else f
        args, kwargs = unflatten(call.structure, call.leaves)
        trace = Trace(self._fun, "jit", lambda: leaf_names(self._fun, args, kwargs), call.nodes)
        inputs = [placeholder(n, trace, i) for i, n in enumerate(call.nodes)]
        since = recorder.count
        function, out, handles = run_traced(f, inputs, call.structure, call.door, trace)
        now = [call.door.as_node(h) for h in handles]
        written = tuple([i for i, (a, b) in enumerate(zip(now, inputs)) if a is not b])
        if written:
            outputs = [*function.outputs, *[now[i] for i in written]]
            function = Function(inputs, outputs, function.effects, function.token)
        return Entry(function, out, written, since, call.door)

    def _usable(self, call: Call, entry: Entry) -> tuple[bool, ...]:
        """Which of the arguments are donated, and have buffers that a result can use. Warns once of those whose size
        and dtype no result has."""
        wanted = [(n.aval.size, n.dtype) for n in entry.function.outputs]
        given, fitting = [], []
        for x, n, donated in zip(call.leaves, call.nodes, call.donated):
            kind = (n.aval.size, n.dtype)
            fits = donated and kind in wanted
            if fits:
                wanted.remove(kind)
            fitting.append(fits)
            given.append(fits and doors.get(type(x)) is self._known)
        unused = tuple([d and not f for d, f in zip(call.donated, fitting)])
        self._tell_unused(entry, unused, [str(n.aval) for n in call.nodes])
        return tuple(given)

    def _tell_unused(self, entry: Entry, unused: tuple[bool, ...], types: Sequence[str]) -> None:
        """Warn once of the donated arguments whose buffers are of no use."""
        if any(unused) and unused not in entry.unused:
            entry.unused.add(unused)
            names = ", ".join([t for t, u in zip(types, unused) if u])
            warnings.warn(f"Some donated buffers were not usable: {names}.", stacklevel=5)

    def _give(self, call: Call, entry: Entry, deleted: Sequence[bool]) -> tuple[bool, ...]:
        """Take the buffers of arguments from their owners; which may be overwritten: nobody else has their nodes."""
        out = []
        for k, usable in enumerate(deleted):
            if usable:
                node = call.nodes[k]
                buffer, ref, lent = buffer_of(node), weakref.ref(node), node.index == BORROWED
                call.nodes[k] = leaf(node.shape, node.dtype, buffer, weak=node.weak)
                call.leaves[k]._give_away()
                del node
                usable = ref() is None and not lent and entry.function.inputs[k] not in entry.function.outputs
            out.append(usable)
        return tuple(out)

    def _remember(self, args: Any, kwargs: Any, call: Call, found: tuple[Any, ...], deleted: Sequence[bool]) -> None:
        """Let the C module find the program of a call, and `_try`, which knows of nothing static or donated."""
        entry, program, _ = found
        host = None
        if flags.fast is not None and not (call.statics or call.donated):
            flat = not kwargs and len(args) == len(call.leaves) and all([a is x for a, x in zip(args, call.leaves)])
            key: list[Any] = [flags.fast, None if flat else call.structure]
            host = known.key_of_nodes(call.leaves, call.nodes, key, program.kinds, doors, self._known)
            if host is not None:
                self._fast.keep(tuple(key), (*found, host))
        if host is not None or flags.fast is not None and program.is_news(flags.fast, call.leaves):
            given, out = unflatten(call.structure, call.leaves), unflatten(entry.out, [0.0] * entry.out.num_leaves)
            jit_calls.remember(self._signatures, self._door, flags, call, given, deleted, out, entry.function, program)

    def clear_cache(self) -> None:
        """Forget all that was traced."""
        self._fast.clear()
        self._signatures.clear()
        self._entries.clear()

    def _cache_size(self) -> int:
        """For how many signatures the function has been traced."""
        return len(self._entries.everything())


class Miss:
    """What `_try` returns when it cannot tell."""


MISS = Miss()


def results_of(door: Door, there: Sequence[Any], results: Sequence[Any], leaves: Sequence[Any]) -> list[Any]:
    """The arrays of a program's results (see `Program.sources`). What was there already shares the node."""
    out: list[Any] = []
    for where, at, make in results:
        given = leaves if where == 1 else out
        out.append(make(there[at]) if where == 0 else door.wrap(at if where == 2 else door.as_node(given[at])))
    return out


def finish(entry: Entry, call: Call, out: list[Any]) -> Any:
    """The result of a call, once what it wrote into its arguments has been written there."""
    if flags.debug_key_reuse:
        spend(entry.function, [entry.door.as_node(x) for x in out], "a function that is jitted")
    n = len(out) - len(entry.written)
    for i, new_value in zip(entry.written, out[n:]):
        call.leaves[i][...] = new_value
    return unflatten(entry.out, out[:n])


def why(jitted: Jit, call: Call) -> str:
    """Why a function is traced: what differs from the nearest signature that was traced before."""
    name, key = f"{name_of(jitted._fun)}{place_of(jitted._fun)}", call.key
    if not jitted._entries:
        return f"jit traces {name} for the first time"
    parts = ("settings", "being shown", "kind of arrays", "structure of the arguments", "static arguments")

    def differences(other: Any) -> list[str]:
        found = [p for p, a, b in zip(parts, other, key) if a != b]
        if other[3] == key[3]:
            names = leaf_names(jitted._fun, *unflatten(call.structure, call.leaves))
            before = jitted._entries[other].function.inputs
            found += [
                f"{k}: {b.aval}{'*' * b.weak} now, {a.aval}{'*' * a.weak} before"
                for k, a, b in zip(names, before, call.nodes)
                if a.number != b.number
            ]
        return found

    nearest = min([differences(k) for k in list(jitted._entries)], key=len)
    return f"jit traces {name} again, since these differ from what was traced before: {'; '.join(nearest) or 'nothing'}"


def jit(
    fun: Callable[..., Any] | None = None,
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    keep_unused: bool = False,
    inline: bool = False,
    in_shardings: Any = None,
    out_shardings: Any = None,
    device: Any = None,
    backend: str | None = None,
    compiler_options: Any = None,
    door: Door,
    make: Callable[..., Any] = Jit,
) -> Any:
    """The function, traced once per signature of its arguments (tree structure, shapes, dtypes, weak types) and run as
    one graph. Without a function: a decorator.

    Static arguments are Python values that the graph is made for; they hash. A donated argument's buffer may be
    overwritten by a result; the argument cannot be used afterwards. The other parameters steer XLA, and are accepted.
    """
    static = Static(*map(tuple_of, (static_argnums, static_argnames, donate_argnums, donate_argnames)))
    return (lambda f: make(f, door, static)) if fun is None else make(fun, door, static)


def clear_caches() -> None:
    """Forget what all jitted functions have traced."""
    for jitted in list(everything):
        jitted.clear_cache()
