"""Along which manual axes of a mesh values may differ between devices, inside of `shard_map` with `check_vma`.

A value that varies and one that does not meet in an operation only after the latter was cast (`pvary`): the identity,
whose transpose is a sum over the devices, as that of a sum is a cast. So derivatives inside of a `shard_map` are those
of what the devices compute together. Casts are put into the graph where a handle for a new node is made (`varied`).
"""

from __future__ import annotations

import functools
import threading
from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

from ..api.trace import stack
from ..errors import origins
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node, leaf
from ..graph.op import make, pick
from ..ops.closure import interned, unrecorded
from ..ops.collectives import collective, same_shape, total, unchanged
from ..ops.flow import last_check
from ..ops.promotion import is_inexact
from ..ops.tags import alias, custom
from ..tracebacks import leave
from .cotangents import entering, leaving
from .dtypes import INT32
from .manual_sums import Sums
from .manual_sums import found as find_sums
from .varying_checks import Axes, check_branches, check_carries

NOTHING: Axes = frozenset()

pvary = collective(
    "pvary",
    same_shape,
    lambda x, axis, size: (x, axis),
    unchanged,
    lambda ct, x, index: (psum_invariant(ct, index), None),
)
psum_invariant = collective(
    "psum_invariant", same_shape, total, unchanged, lambda ct, x, index: (pvary(ct, index), None)
)
"""The sum over devices, as a value that is the same on all of them."""

into_rule = collective(
    "into_rule", same_shape, entering, unchanged, lambda ct, x, index: (out_of_rule(ct, index), None)
)
out_of_rule = collective(
    "out_of_rule", same_shape, leaving, unchanged, lambda ct, x, index: (into_rule(ct, index), None)
)
"""What is the same on all devices, on its way into a derivative that a user wrote, and out of it."""

COLLECTIVES = frozenset(
    {"psum", "psum_invariant", "pvary", "pmax", "pmin", "all_gather", "psum_scatter", "ppermute", "all_to_all"}
)
SAME = frozenset({"psum", "psum_invariant", "pmax", "pmin", "into_rule", "out_of_rule"})
"""Those whose result is the same on all devices."""


def is_written(node: Node) -> bool:
    """Whether a node is a function with a derivative that a user wrote, as `custom_vjp` has it."""
    return node.op is custom and bool(node.static[0].reverse)


class Graph:
    """A graph into which casts are put.

    Attributes:
        found: for nodes of the new graph along which axes they vary; None where that is not known.
        new: by node of the old graph. index: for each axis the node of the index along it. axis_of: the other way.
    """

    def __init__(self, found: Mapping[Node, Any], index: Mapping[Any, Node]) -> None:
        self.found: MutableMapping[Node, Any] = dict(found)
        self.new: MutableMapping[Node, Node] = {}
        self.index = dict(index)
        self.axis_of = {n: a for a, n in index.items()}
        self.found |= {n: frozenset((a,)) for n, a in self.axis_of.items()}
        self.casts = 0

    def outside(self, n: Node) -> Axes | None:
        """Of a leaf that is not of this graph."""
        return NOTHING if n.trace < ABSTRACT else None

    def renewed(self, node: Node) -> Node:
        """The node, with casts in what it depends on."""
        todo = [node]
        while todo:
            n = todo[-1]
            if n in self.found or n in self.new:
                todo.pop()
            elif n.trace < ABSTRACT or not n.inputs:
                self.found[n] = self.outside(n)
            else:
                missing = [a for a in n.inputs if a not in self.found and a not in self.new]
                if missing:
                    todo += missing
                    continue
                made = self.cast_inputs(n)
                self.found[made] = self.derive(made)
                if made is not n:
                    self.new[n] = made
                todo.pop()
        return self.new.get(node, node)

    def of(self, node: Node) -> Axes | None:
        return self.found.get(self.renewed(node))

    def vary(self, x: Node, axes: Axes) -> Node:
        """x, cast to vary along these axes too."""
        lies = self.found[x]
        for a in sorted(axes - (lies or NOTHING), key=list(self.index).index):
            cast = pvary(x, self.index[a])
            self.found[cast] = (self.found[x] or NOTHING) | {a}
            self.casts += 1
            x = cast
        return x

    def cast_inputs(self, n: Node) -> Node:
        op = n.op
        assert op is not None
        inputs = [self.new.get(a, a) for a in n.inputs]
        lies = [self.found[a] for a in inputs]
        if op is pvary and lies[0] and self.axis_of.get(inputs[1]) in lies[0]:  # put in before that was known
            return inputs[0]
        if op is out_of_rule and inputs[0].op is out_of_rule and inputs[0].inputs[1] is inputs[1]:
            return inputs[0]
        if is_written(n) and None not in lies:
            inputs = self.entered(n, inputs)
        if op is pick and is_written(inputs[0]):
            return self.left(n, inputs[0])
        if None not in lies and not op.tag and op is not pick:
            if op.name in BODIES:
                inputs, static = BODIES[op.name](self, n, inputs)
                return make(op, tuple(inputs), static, n.moving)
            if op.name in COLLECTIVES:
                axis = self.axis_of.get(inputs[1])
                if axis is not None and op is not pvary:
                    inputs[0] = self.vary(inputs[0], (self.found[inputs[0]] or NOTHING) | {axis})
            else:
                union = NOTHING.union(*[x for x in lies if x is not None])
                inputs = [self.vary(x, union) for x in inputs]
        if all([a is b for a, b in zip(inputs, n.inputs)]):
            return n
        made = make(op, tuple(inputs), n.static, n.moving)
        made.site = n.site
        return made

    def entered(self, n: Node, inputs: list[Node]) -> list[Node]:
        """The inputs of a `custom_vjp`: those that are the same on all devices, while others are not, are marked."""
        lies = [self.found[a] or NOTHING for a in inputs]
        union, hidden = self.union_of(inputs), n.static[1]
        for i in range(hidden, len(inputs)):
            for a in sorted(union - lies[i], key=list(self.index).index) if is_inexact(inputs[i].dtype) else ():
                if not self.entered_along(inputs[i], a):
                    inputs[i] = into_rule(inputs[i], self.index[a])
                    self.found[inputs[i]] = lies[i]
        return inputs

    def entered_along(self, x: Node, axis: Any) -> bool:
        """Whether an input of a `custom_vjp` is marked already."""
        while x.op is into_rule:
            if self.axis_of.get(x.inputs[1]) == axis:
                return True
            x = x.inputs[0]
        return False

    def union_of(self, inputs: Sequence[Node]) -> Axes:
        """Along which axes one of these varies, but for the places along axes themselves."""
        return NOTHING.union(*[self.found[a] or NOTHING for a in inputs if a not in self.axis_of])

    def left(self, n: Node, source: Node) -> Node:
        """A result of a `custom_vjp`, marked where it is the same on all devices, while inputs are not."""
        i, types = n.static[0], self.found[source]
        made = n if source is n.inputs[0] else make(pick, (source,), n.static, n.moving)
        if None in [self.found[a] for a in source.inputs] or type(types) is not tuple or not is_inexact(made.dtype):
            return made
        for a in sorted(self.union_of(source.inputs) - types[i], key=list(self.index).index):
            self.found[made] = types[i]
            made = out_of_rule(made, self.index[a])
        return made

    def derive(self, n: Node) -> Any:
        """Along which axes a node varies; of several results a tuple."""
        name, lies = n.op.name, [self.found[a] for a in n.inputs]  # type: ignore[union-attr]
        if n.op is pick:
            return lies[0][n.static[0]] if type(lies[0]) is tuple else lies[0]
        if n.op is alias and n.inputs[0] in self.axis_of:  # as a function that is differentiated twice has it
            self.axis_of[n] = self.axis_of[n.inputs[0]]
        if None in lies:
            return None
        if name in BODIES:
            return results_of(self, n, lies)
        union = NOTHING.union(*[x for x in lies if x is not None])
        if n.op.tag and n.dtype is None:  # type: ignore[union-attr]
            return tuple(lies[: len(n.outs)])
        if name in SAME and n.inputs[1] in self.axis_of:
            return (lies[0] or NOTHING) - {self.axis_of[n.inputs[1]]}
        return union


class Layer(ChainMap[Node, Any]):
    """What is found, on top of what is known below."""

    def __contains__(self, n: object) -> bool:
        return n in self.maps[0] or self.maps[1].get(n) is not None  # type: ignore[call-overload]


class Types(Graph):
    """Along which axes values vary in bodies of loops and branches, and in functions that are mapped, while these are
    being traced: they get their casts later (`BODIES`), and those that are put in here are thrown away."""

    def __init__(self, context: Context) -> None:
        super().__init__({}, context.index)
        self.context = context
        self.found = Layer({}, context.found)
        self.new = Layer({}, context.new)

    def outside(self, n: Node) -> Axes | None:
        trace, i = origins.get(n, (None, 0))
        source = trace.sources[i]() if trace is not None and i < len(trace.sources) else None
        return (self.context.outside(n) if source is None else self.of(source)) or NOTHING


class Context(Graph):
    """What a `shard_map` is traced in.

    Attributes:
        manual: the axes along which it maps. marks: what is known of summands; empty where there are none.
        types: of values that have no place in the graph yet.
    """

    def __init__(self, found: Mapping[Node, Axes], index: Mapping[Any, Node], traces: Sequence[Any]) -> None:
        super().__init__(found, index)
        self.manual = frozenset(index)
        self.traces = list(traces)
        self.depth = len(stack.active)
        self.marks: dict[Node, Sums] = {}
        self.types = Types(self)

    def sums(self, node: Node) -> Sums:
        """Along which axes a value is a summand, and along which its cotangent is."""
        if not self.marks:
            return Sums()
        return find_sums(self.renewed(node), self.marks, self.of, self.axis_of)

    def vary(self, x: Node, axes: Axes) -> Node:
        """In a function that is traced inside, constants are cast when all of it is known: nothing is differentiated
        along them, since what is has a name of its own (`renamed`)."""
        constant = x.op is None and x.trace < ABSTRACT
        return x if constant and len(stack.active) > self.depth else super().vary(x, axes)

    def outside(self, n: Node) -> Axes | None:
        if n.trace < ABSTRACT or any([n in c.found for c in contexts.active if c is not self]):
            return NOTHING
        trace, i = origins.get(n, (None, 0))
        if trace is None or trace in self.traces:
            return None if trace is None else NOTHING
        source = trace.sources[i]() if i < len(trace.sources) else None
        return None if source is None else self.of(source)


class Contexts(threading.local):
    """The `shard_map`s that are being traced with `check_vma`, the innermost last; and how many loops and branches are
    being made that the user wrote, whose carries and results have to have one type."""

    def __init__(self) -> None:
        self.active: list[Context] = []
        self.written = 0


contexts = Contexts()


def one_type(f: Any) -> Any:
    """A function that makes a loop or a branch, whose carries and results have to vary in one way."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        varies = bool(contexts.active)
        contexts.written += varies
        last_check.wanted += varies
        try:
            return f(*args, **kwargs)
        except BaseException as error:
            leave(error)  # the outermost of the functions that are wrapped around loops and branches
            raise
        finally:
            contexts.written -= varies
            last_check.wanted -= varies
            if not last_check.wanted:
                last_check.carry = last_check.branches = None

    return call


def varied(node: Node) -> Node:
    """A node that was just made, with casts where values meet that vary along different axes."""
    if node.trace != ABSTRACT:
        return node
    context = contexts.active[-1]
    if context.marks:
        context.sums(node)  # raises where it must not be made
    return context.renewed(node)


def sums_of_value(node: Node) -> Sums:
    """Along which axes of the innermost `shard_map` a value is a summand, and along which its cotangent is."""
    return contexts.active[-1].sums(node) if contexts.active else Sums()


def axes_of_value(node: Node) -> Axes:
    """Along which axes a value varies, as its type says."""
    if not contexts.active:
        return NOTHING
    context = contexts.active[-1]
    found = context.of(node)
    if found is None:
        with unrecorded():
            found = context.types.of(node)
    return found or NOTHING


def checked(name: Any) -> bool:
    """Whether an axis is one of the innermost `shard_map`, which checks what varies."""
    return bool(contexts.active) and name in contexts.active[-1].manual


# --- Bodies of loops and branches -------------------------------------------------------------------------------------


def of_outputs(graph: Graph, function: Function, given: Sequence[Node], lies: Sequence[Axes | None]) -> list[Any]:
    """Along which axes a body's results vary. `given`: what it is called with, among it indices."""
    inner = Graph(dict(zip(function.inputs, lies)), {})
    for own, x in zip(function.inputs, given):
        if x in graph.axis_of:
            inner.axis_of[own] = graph.axis_of[x]
    inner.index = graph.index  # for casts that are thrown away
    inner.found.update({n: frozenset((a,)) for a, n in graph.index.items()})
    with unrecorded():
        return [inner.of(n) for n in function.outputs]


def fixed(graph: Graph, function: Function, given: Sequence[Node], lies: list[Any], first: int, n: int) -> list[Any]:
    """How a body's inputs vary when a carry, n inputs from `first` on, varies as what becomes of it."""
    while True:
        out = of_outputs(graph, function, given, lies)
        now = [a if b is None else (a or NOTHING) | b for a, b in zip(lies[first : first + n], out)]
        if now == lies[first : first + n]:
            return lies
        lies = [*lies[:first], *now, *lies[first + n :]]


def with_casts(
    graph: Graph, function: Function, given: Sequence[Node], lies: Sequence[Axes | None], wanted: Sequence[Any] = ()
) -> tuple[Function, bool]:
    """A body with casts in it; its first inputs are then the indices along the axes. `wanted`: how results are to vary.

    Returns: the body, and whether anything was changed.
    """
    indices = [leaf((), INT32, trace=ABSTRACT) for _ in graph.index]
    inner = Graph(dict(zip(function.inputs, lies)), dict(zip(graph.index, indices)))
    for own, x in zip(function.inputs, given):
        if x in graph.axis_of:
            inner.axis_of[own] = graph.axis_of[x]
    with unrecorded():
        outputs = [inner.renewed(n) for n in function.outputs]
        for i, w in enumerate(wanted):
            if w is not None and inner.found[outputs[i]] is not None:
                outputs[i] = inner.vary(outputs[i], w)
    if not inner.casts:
        return function, False
    return interned([*indices, *function.inputs], outputs), True


def lies_of(graph: Graph, inputs: Sequence[Node]) -> list[Any]:
    return [graph.found[x] for x in inputs]


def scan_inputs(graph: Graph, n: Node, inputs: list[Node]) -> tuple[list[Node], tuple[Any, ...]]:
    body, consts, carried, reverse = n.static
    first = lies_of(graph, inputs)
    if contexts.written:
        check_carries("scan body", body, first[consts:][:carried], of_outputs(graph, body, inputs, first))
    lies = fixed(graph, body, inputs, lies_of(graph, inputs), consts, carried)
    now = lies[consts : consts + carried]
    for i, w in enumerate(now):
        inputs[consts + i] = graph.vary(inputs[consts + i], w or NOTHING)
    if body.effects:
        return inputs, n.static
    body, changed = with_casts(graph, body, inputs, lies, now)
    if not changed:
        return inputs, n.static
    indices = list(graph.index.values())
    return [*indices, *inputs], (body, consts + len(indices), carried, reverse)


def while_inputs(graph: Graph, n: Node, inputs: list[Node]) -> tuple[list[Node], tuple[Any, ...]]:
    test, body, reads, captured = n.static
    own = inputs[reads:]
    first = lies_of(graph, own)
    if contexts.written:
        check_carries("while_loop body", body, first[captured:], of_outputs(graph, body, own, first))
    lies = fixed(graph, body, own, lies_of(graph, own), captured, len(own) - captured)
    now = lies[captured:]
    for i, w in enumerate(now):
        inputs[reads + captured + i] = graph.vary(inputs[reads + captured + i], w or NOTHING)
    if body.effects:
        return inputs, n.static
    of_test = [*inputs[:reads], *own[captured:]]
    test, tested = with_casts(graph, test, of_test, lies_of(graph, of_test))
    body, changed = with_casts(graph, body, own, lies, now)
    indices = list(graph.index.values())
    for_test, for_body = indices * tested, indices * changed
    static = (test, body, reads + len(for_test), captured + len(for_body))
    return [*for_test, *inputs[:reads], *for_body, *inputs[reads:]], static


def cond_inputs(graph: Graph, n: Node, inputs: list[Node]) -> tuple[list[Node], tuple[Any, ...]]:
    (branches,) = n.static
    own = inputs[1:]
    lies = lies_of(graph, own)
    found = [of_outputs(graph, f, own, lies) for f in branches]
    if contexts.written:
        check_branches(branches, found)
    wanted = [None if None in column else NOTHING.union(*column) for column in zip(*found)]
    if any([f.effects for f in branches]):
        return inputs, n.static
    made = [with_casts(graph, f, own, lies, wanted) for f in branches]
    if not any([changed for _, changed in made]):
        return inputs, n.static
    out = []
    for f, changed in made:
        if not changed:
            f = interned([*[leaf((), INT32, trace=ABSTRACT) for _ in graph.index], *f.inputs], f.outputs)
        out.append(f)
    return [inputs[0], *graph.index.values(), *own], (tuple(out),)


def results_of(graph: Graph, n: Node, lies: list[Any]) -> Any:
    """How the results of a loop or a branch vary, whose bodies have casts."""
    name, inputs = n.op.name, list(n.inputs)  # type: ignore[union-attr]
    if name == "scan":
        return tuple(of_outputs(graph, n.static[0], inputs, lies))
    if name == "while":
        _, _, reads, captured = n.static
        return tuple(lies[reads + captured :])
    found = [of_outputs(graph, f, inputs[1:], lies[1:]) for f in n.static[0]]
    return tuple([None if None in column else NOTHING.union(*column) for column in zip(*found)])


BODIES: dict[str, Any] = {"scan": scan_inputs, "while": while_inputs, "cond": cond_inputs}
