"""What users' functions were traced to by loops, branches and checkpoints, kept for the next call with the same
function and the same types: a function's Python runs once for each kind of arguments, as in JAX. While a mesh is
set it runs at each call.

What a function reads of what changes elsewhere is what it was when it was traced, as under `jit`. Traced values that it
captures are of the traces that were under way then; where one of those is over, it is traced anew.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, TypeVar

from .bounded import Bounded
from .doors import Door
from .flags import flags
from .graph.node import Node
from .runtime.tape import depth
from .signatures import name_of

F = TypeVar("F", bound=Callable[..., Any])
FUNCTIONS_KEPT, KINDS_KEPT = 2048, 64  # for each function, of kinds of arguments
COMPARED = 1 << 20  # bytes of an array that is looked at anew at each call
surroundings: list[Callable[[], Hashable]] = []
"""What else graphs depend on, in the thread: functions that tell it."""


class Reading(threading.local):
    """The arrays that programs may write to, and that the function which is traced in this thread has read, each with a
    number for what it held (None: too large to look at it at each call); None while nothing of this is asked."""

    arrays: list[tuple[Any, int | None]] | None = None

    def note(self, x: Any) -> None:
        """Such an array is read, or one that nobody may write to."""
        if self.arrays is not None and x.flags.writeable:
            self.arrays.append((x, hash(x.tobytes()) if x.nbytes <= COMPARED else None))


reading = Reading()


class Found(NamedTuple):
    """What a function was traced to.

    Attributes:
        value: the graph, and more. tape: of the differentiation that was under way. traces: those that were.
        bound: whether it captures values of these. arrays: those that it read, see `Reading`.
    """

    value: Any
    bound: bool
    tape: Any
    traces: tuple[weakref.ref[Any], ...]
    arrays: list[tuple[Any, int | None]]

    def holds(self) -> bool:
        """Whether what it captures is of traces that are under way, and arrays that it read hold what they did."""
        if self.bound and self.tape is not depth.made:
            return False
        if not all([(t := r()) is not None and not t.done for r in self.traces]):
            return False
        return all([held is not None and hash(x.tobytes()) == held for x, held in self.arrays])


Table = Bounded[Any, Found]
tables: Bounded[int, tuple[weakref.ref[Any], Table]] = Bounded(FUNCTIONS_KEPT)
"""For functions, by their `id`."""


def table_of(f: Any) -> Table | None:
    """What is kept of a function; None for what has no weak references."""
    at = id(f)
    found = tables.get(at) or tables.recall(at)
    if found is not None and found[0]() is f:
        return found[1]
    try:
        return tables.keep(at, (weakref.ref(f, functools.partial(forget, (tables, at))), Bounded(KINDS_KEPT)))[1]
    except TypeError:
        return None


def forget(place: tuple[Any, int], ref: Any) -> None:
    """The function of that `id` is gone. The tables are given, since modules may be gone, too."""
    kept, at = place
    for generation in (kept, kept.older):
        if at in generation and generation[at][0] is ref:
            del generation[at]


def stands_for(f: Any, *how: Hashable) -> Callable[[F], F]:
    """For a function made at each call of one of ours, which depends on nothing but `f` and what is given beside it: it
    is traced where `f` was not yet, and has its name."""

    def mark(made: F) -> F:
        made.__name__ = name_of(f)
        made.how = (made.__code__, *how, *getattr(f, "how", ()))  # type: ignore[attr-defined]
        made.stands_for = getattr(f, "stands_for", f)  # type: ignore[attr-defined]
        return made

    return mark


def found_now(value: Any, arrays: list[tuple[Any, int | None]], stack: Any) -> Found:
    """What was traced just now."""
    function = value[0]
    bound = any([x.trace for x in function.captured() if x is not function.token])
    return Found(value, bound, depth.made, tuple(map(weakref.ref, stack.active)) if bound else (), arrays)


def once(stack: Any) -> Callable[[F], F]:
    """For a function `trace(f, nodes, structure, door, kind, rows=0, **rest)`, whose first result is f's graph for
    arguments of the types of these nodes (for the last ones, as many as `rows` says, of what lies along their first
    axis): it runs where the graph is not kept. `stack`: the traces that are under way."""

    def decorate(trace: F) -> F:
        @functools.wraps(trace)
        def call(f: Any, like: Sequence[Node], tree: Any, door: Door, kind: str, rows: int = 0, **rest: Any) -> Any:
            careful = flags.on_mesh or flags.check_tracer_leaks or flags.debug_key_reuse
            if careful or door.mutable or stack.axes or stack.shown:
                return trace(f, like, tree, door, kind, rows, **rest)
            owner = getattr(f, "stands_for", f)
            table = table_of(owner)
            how = () if owner is f else f.how
            n = len(like) - rows
            rank = [x.number if i < n else x.aval._replace(shape=x.shape[1:]) for i, x in enumerate(like)]
            key = (kind, how, flags.state, tree, rows, *rank, *[tell() for tell in surroundings])
            try:
                found = None if table is None else table.get(key) or table.recall(key)
            except TypeError:  # a key that does not hash
                table = found = None
            around = reading.arrays
            if found is None or not found.holds():
                reading.arrays = []
                try:
                    value = trace(f, like, tree, door, kind, rows, **rest)
                    found = found_now(value, reading.arrays, stack)
                finally:
                    reading.arrays = around
                if table is not None and (not found.bound or not depth.n or found.tape is not None):
                    table.keep(key, found)
            if around is not None:
                around.extend(found.arrays)
            return found.value

        return call  # type: ignore[return-value]

    return decorate


def forget_all() -> None:
    """Forget what all functions were traced to."""
    tables.clear()
