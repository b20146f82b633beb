"""A user's function, run once on values without a value: its graph."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..doors import Door
from ..errors import leaked, origins, result_error
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node, leaf
from ..graph.op import pick
from ..graph.walk import toposort
from ..leaks import checked
from ..ops.callback import callback
from ..ops.rewrites import rewrites
from ..runtime.recorder import recorder
from ..runtime.reuse import Watch
from ..runtime.tape import Holder, depth
from ..signatures import name_of, place_of
from ..tree import flatten, unflatten


class Trace:
    """One run of a user's function on placeholders.

    Attributes:
        function: the user's function. kind: the transformation that runs it.
        names: of the leaves of its arguments; worked out when an error needs them.
        effects: nodes that must be computed whenever the traced function is run, in order. The first callback among
            them follows `first`, the next one will follow `last`.
        done: whether the function has returned.
        sources: inside of named axes, what its placeholders stand for in the function around, or for a part of that.
    """

    def __init__(self, function: Any, kind: str, names: Callable[[], Sequence[str]] = list, sources: Any = ()) -> None:
        self.function, self.kind, self.names = function, kind, names
        self.sources = [weakref.ref(n) for n in sources if stack.axes]
        self.effects: list[Node] = []
        self.first: Node | None = None
        self.last: Node | None = None
        self.done = False
        self.text: str | None = None

    def __str__(self) -> str:
        return f"{name_of(self.function)}{place_of(self.function)} for {self.kind}" if self.text is None else self.text

    def argument(self, i: int) -> str:
        names = self.names()
        return f"the argument {names[i]}" if i < len(names) else f"argument {i}"

    def __enter__(self) -> Trace:
        stack.active.append(self)
        self.tape, depth.tape = depth.tape, None
        return self

    def __exit__(self, *error: object) -> None:
        stack.active.pop()
        depth.tape = self.tape
        self.done = True
        if self.kind != "vmap":  # its placeholders may stay, and are not to keep the function and its arguments
            names = self.names()
            self.text, self.names, self.function = str(self), lambda: names, None


class Stack(threading.local):
    """The traces that are under way in this thread, the innermost last; and the mapped axes that have names: for each
    its size and the placeholder of the index along it. `shown`: whether graphs are traced to be shown. `acted`: how
    many effects there were; `loose`: those, outside of traces, of values without a value, of a rule that is run;
    `apart`: how many functions with rules of their own are run, one within the other."""

    shown = False
    acted = 0
    apart = 0
    loose: list[Node] | None = None

    def __init__(self) -> None:
        self.active: list[Trace] = []
        self.axes: dict[Any, tuple[int, Node]] = {}


stack = Stack()


def placeholder(like: Any, trace: Trace, i: int) -> Node:
    """A leaf without a value, of that abstract value."""
    node = leaf(like.shape, like.dtype, weak=like.weak, trace=ABSTRACT)
    origins[node] = trace, i
    return node


def as_results(leaves: Sequence[Any], structure: Any, door: Door, trace: Trace) -> list[Node]:
    """The nodes of what a traced function returned. Raises TypeError for what is no array."""
    out = []
    for i, x in enumerate(leaves):
        try:
            out.append(door.as_node(x))
        except TypeError as error:
            raise result_error(str(trace), x, structure.paths()[i], error) from error
    return out


@checked
def run_traced(
    f: Callable[..., Any], inputs: Sequence[Node], structure: Any, door: Door, trace: Trace, given: Any = None
) -> tuple[Function, Any, list[Any]]:
    """f on handles for these nodes (or on what is `given` in their place): its graph, the structure of its result, and
    the handles, which f may have written to.

    Raises: TypeError where a result is no array; UnexpectedTracerError for a value that another trace has left behind.
    """
    with trace, Watch() as watch:
        handles = [door.wrap(n) for n in inputs] if given is None else given
        args, kwargs = unflatten(structure, handles)
        leaves, out = flatten(f(*args, **kwargs))
        function = Function(inputs, as_results(leaves, out, door, trace), trace.effects, trace.first)
        watch.note(function)
    for n in [n for n in function.captured() if n.trace == ABSTRACT]:
        check_leak(n)
    return function, out, handles


def check_leak(node: Node) -> None:
    """Raise UnexpectedTracerError for a value without a value whose function has returned."""
    if (lost := leaked(node)) is not None:
        raise lost


def trace_function(
    f: Callable[..., Any], avals: Sequence[Any], structure: Any, door: Door, kind: str = "jit"
) -> tuple[Function, Any]:
    """The graph of f, and the structure of its result. `structure` is that of `(args, kwargs)`, `avals` are the
    abstract values of its leaves.

    Raises: TypeError where a result is no array; UnexpectedTracerError for a value that another trace has left behind.
    """
    trace = Trace(f, kind)
    function, out, _ = run_traced(f, [placeholder(a, trace, i) for i, a in enumerate(avals)], structure, door, trace)
    return function, out


# --- Effects ----------------------------------------------------------------------------------------------------------


def after() -> Node:
    """What the next callback has to follow, so that they run in order: the last one's token."""
    if not stack.active:
        return Node.of_scalar(False)
    trace = stack.active[-1]
    if trace.last is None:
        trace.first = trace.last = Node.of_scalar(False)
        trace.first.trace = ABSTRACT  # so that what follows it is never taken for a constant
    return trace.last


def effect(node: Node) -> None:
    """Have a node computed at every run of the function that is being traced; or now, if none is."""
    stack.acted += 1
    if stack.active:
        trace = stack.active[-1]
        trace.effects.append(node)
        if node.op is callback:
            trace.last = pick(node, i=len(node.outs) - 1)
        elif node.op is pick:
            trace.last = node
    elif node.trace < ABSTRACT:
        recorder.demand(node)
    elif stack.loose is not None:
        stack.loose.append(node)


def effects(nodes: Sequence[Node]) -> None:
    """The same for several, none of which is computed twice, where one is computed with another."""
    held = [Holder(n) for n in nodes if n.trace < ABSTRACT]
    for n in nodes:
        effect(n)
    del held


class Apart:
    """`with Apart() as apart:` for effects that are not the current trace's: afterwards they are `apart.effects`, and
    what comes next does not follow them. Outside of a trace they are those of values without a value. `token`: what the
    first of them follows."""

    token: Node | None = None

    def __enter__(self) -> Apart:
        self.effects: list[Node] = []
        self.trace = stack.active[-1] if stack.active else None
        stack.apart += 1
        if self.trace is None:
            self.before, stack.loose = stack.loose, self.effects
        else:
            self.start, self.last = len(self.trace.effects), self.trace.last
        return self

    def __exit__(self, *error: object) -> None:
        stack.apart -= 1
        if self.trace is None:
            stack.loose = self.before
            return
        self.effects = self.trace.effects[self.start :]
        del self.trace.effects[self.start :]
        self.trace.last = self.token = self.last or self.trace.first


def token_of(effect: Node) -> Node:
    """A value that is there when an effect has happened."""
    if effect.dtype is not None:
        return effect
    return pick(effect, i=len(effect.outs) - 1 if effect.op is callback else 0)


def collecting() -> Trace:
    """A trace for effects of what is put into a graph that exists."""
    trace = Trace(None, "rule")
    trace.text = "a rule for derivatives"
    return trace


def perform(function: Function, inputs: Sequence[Node]) -> None:
    """Have a function's effects as the current trace's."""
    effects(function.with_effects(*inputs, after=after())[1])


rewrites.collecting, rewrites.effects, rewrites.after, rewrites.perform = collecting, effects, after, perform


def under_way(nodes: Sequence[Node]) -> bool:
    """Whether all values without a value that these depend on are arguments of functions that are being traced."""
    leaves = [n for n in toposort(nodes) if n.op is None and n.trace == ABSTRACT and n.value is None]
    return all([n in origins and origins[n][0] in stack.active for n in leaves])
