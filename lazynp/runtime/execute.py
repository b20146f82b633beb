"""Running a `Function` on buffers. What it does is worked out once; a call only swaps buffers and scalars.

On small arrays a call is a list of NumPy calls (`Direct`), since a plan's kernels would cost more than they compute; on
others it is a plan. On a device (`device.py`) plans run there (`There`), and what is small runs on the host.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..away import Away, on_host
from ..config import config
from ..graph.errors import NotConcreteError
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node
from ..graph.op import MAP
from ..graph.walk import toposort
from ..ops.closure import unrecorded
from ..ops.rewrites import rewrites
from .device import arrived, current, devices, kept, on_device
from .numpy_calls import ERRORS, SILENT, call_of
from .one_step import OneStep, is_one
from .planner import make_plan
from .profile import profile
from .recorder import recorder
from .segment import Segment
from .steps import Environment

SMALL = 2048  # elements of the largest value up to which NumPy's calls cost less than a kernel
SMALL_OPERATIONS = 16  # and operations of one shape
new = object.__new__


class Slot:
    """Where a scalar argument stands in a segment's scalars."""

    def __init__(self, i: int) -> None:
        self.i = i


def value_of(node: Node) -> Any:
    """A node's value as an array (its buffer, which is read only); computes what is pending."""
    if node.buffer is None:
        if node.value is not None:
            return np.asarray(node.value, node.dtype)
        recorder.demand(node)
    return on_host(node.buffer)


def values_of(nodes: Sequence[Node]) -> list[Any]:
    """What a program is given for these nodes: numbers, and buffers, which are read only; computes what is pending."""
    if devices.used:
        return [n.value if n.value is not None else buffer_of(n) for n in nodes]
    return [n.value if n.value is not None else value_of(n) for n in nodes]


def buffer_of(node: Node) -> Any:
    """A node's value where it is: an array, or on the device, to which an array goes when it is needed there."""
    if node.buffer is None:
        if node.value is not None:
            return np.asarray(node.value, node.dtype)
        recorder.demand(node)
    there = current()
    if there is None:
        return on_host(node.buffer)
    return kept(node, node.buffer, there) if type(node.buffer) is np.ndarray else node.buffer


def kind_of(value: Any) -> Any:
    """None for an array, wherever it is, and the type of a number."""
    return None if type(value) is np.ndarray or isinstance(value, Away) else type(value)


def place() -> tuple[Any, bool]:
    """What programs are for besides their arguments: the device where they run, and whether all of it does."""
    there = current() if devices.used else None
    return there, there is not None and config.mode == "graph"


def boundary(function: Function, since: int) -> list[Node]:
    """What a function captures, as constants: behind nodes that were recorded after number `since` (while it was
    traced, and so cheap to make again) what these read."""
    found: dict[Node, None] = {}
    stack = function.captured()
    while stack:
        node = stack.pop()
        pending = node.buffer is None and node.error is None and node.op is not None
        if pending and node.trace == 0 and not 0 <= node.index < since:
            stack.extend([i for i in node.inputs if i.value is None])
        else:
            found[node] = None
    return list(found)


class Program:
    """A function, ready to run.

    Attributes:
        kinds: for each input None, or the type of the scalar that is given for it.
        sources: where each result comes from: (0, place in the environment), (1, input), (2, constant node), (3, an
            earlier result): one buffer has one node, with which it lives.
        n_out: how many results are outputs; effects follow.
        run: from the inputs' values to the environment. Raises what an operation raises.
        told: what `is_news` was asked.
    """

    __slots__ = ("kinds", "sources", "n_out", "run", "told")

    def __init__(
        self, function: Function, values: Sequence[Any], since: int, donated: Sequence[bool] = (), device: Any = None
    ) -> None:
        inputs = function.inputs
        self.kinds = tuple(map(kind_of, values))
        results = [*function.outputs, *function.effects]
        constants = boundary(function, since)
        for n in constants:
            if n.trace == ABSTRACT:
                raise NotConcreteError(f"{n} has no value here")
        keep = {*inputs, *constants}
        with unrecorded():
            results = rewrites.simplify(results, list(keep))
        nodes = [n for n in toposort(results, stop=keep) if n not in keep and n.value is None]
        self.n_out = len(function.outputs)
        self.told: set[Any] = set()
        inside = set(nodes)
        wanted = list(dict.fromkeys([n for n in results if n in inside]))
        make: Any = Direct if is_small(nodes) else Planned
        one = not function.effects and is_one(nodes)
        if device is not None and nodes and (config.mode == "graph" or make is Planned and not one):
            make, one = functools.partial(There, device=device), False
        self.run: Any = make(nodes, wanted, inputs, values, () if one else donated)
        if one:
            there = {*inputs, *nodes}
            captured = list(dict.fromkeys([i for n in nodes for i in n.inputs if i not in there and i.value is None]))
            self.run = OneStep(self.run, inputs, captured, list(map(value_of, captured)), wanted)
        elif make is Planned:
            self.run.hasten()
        if device is not None and type(self.run) is not There:
            self.run = Brought(self.run)
        place, number = dict(zip(wanted, self.run.out)), {n: i for i, n in enumerate(inputs)}
        self.sources: list[tuple[int, Any]] = []
        seen: dict[Node, int] = {}
        for k, n in enumerate(results):
            first = seen.setdefault(n, k)
            if n in place:
                self.sources.append((0, place[n]) if first == k else (3, first))
            else:
                self.sources.append((1, number[n]) if n in number else (2, n))

    def is_news(self, state: Any, leaves: Sequence[Any]) -> bool:
        """Whether the C module is to be told of this for such arguments: the first time that they come."""
        key = (state, *map(type, leaves))
        news = key not in self.told
        self.told.add(key)
        return news

    def warm(self, values: Sequence[Any]) -> None:
        """Run it where an error of its does not matter."""
        with contextlib.suppress(Exception):
            self.run(values)

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The outputs' arrays; one that is an input is that input."""
        there = self.run(values)
        out: list[Any] = []
        for where, at in self.sources[: self.n_out]:
            source = there if where == 0 else values if where == 1 else out
            out.append(value_of(at) if where == 2 else source[at])
        return out


def is_small(nodes: Sequence[Node]) -> bool:
    """Whether a graph is worth no plan: its values are small, and a plan would not join many of its operations."""
    if not config.compile or config.deterministic:
        limit = SMALL
    else:
        shapes = {n.shape for n in nodes if n.dtype is not None and n.op is not None and n.op.kind == MAP}
        limit = SMALL if len(nodes) <= SMALL_OPERATIONS * max(len(shapes), 1) else 0
    return all([a.size <= limit for n in nodes for a in (n.outs if n.dtype is None else (n.aval,))])


def call_with(n: Node, numbers: set[Node]) -> Any:
    """`call_of` where some nodes are numbers: ufuncs take them as they are, all else wants arrays."""
    call = call_of(n)
    if numbers.isdisjoint(n.inputs) or (n.op is not None and n.op.kind == MAP):
        return call
    dtypes = [i.dtype if i in numbers else None for i in n.inputs]
    return lambda *args: call(*[a if d is None else np.asarray(a, d) for a, d in zip(args, dtypes)])


class Direct:
    """Nodes as NumPy calls on the arrays in an environment: inputs, constants, then results in order.

    Attributes:
        inputs, nodes, wanted: of the graph.
        out: places of the wanted results, which share no memory with anything.
    """

    __slots__ = ("inputs", "nodes", "wanted", "constants", "steps", "out", "owned")

    def __init__(
        self, nodes: Sequence[Node], wanted: Sequence[Node], inputs: Sequence[Node], values: Sequence[Any], *_: Any
    ) -> None:
        self.inputs, self.nodes, self.wanted = inputs, nodes, wanted
        inside = {*nodes, *inputs}
        constants = list(dict.fromkeys([i for n in nodes for i in n.inputs if i not in inside]))
        place = {n: k for k, n in enumerate([*inputs, *constants, *nodes])}
        self.constants = [n.value if n.value is not None else value_of(n) for n in constants]
        numbers = {n for n, v in zip(inputs, values) if kind_of(v) is not None}
        self.steps = [(call_with(n, numbers), tuple([place[i] for i in n.inputs])) for n in nodes]
        self.out = tuple([place[n] for n in wanted])
        self.owned = [(place[n], n.dtype) for n in wanted if n.dtype is not None]

    def node_at(self, place: int) -> Node:
        """The wanted node whose result is at a place."""
        return self.wanted[self.out.index(place)]

    def hasten(self) -> None:
        """There is nothing to compile."""

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        there = [*values, *self.constants]
        known = len(there)
        token = ERRORS.set(SILENT)
        try:
            for call, args in self.steps:
                n = len(args)
                if n == 2:
                    there.append(call(there[args[0]], there[args[1]]))
                elif n == 1:
                    there.append(call(there[args[0]]))
                else:
                    there.append(call(*[there[a] for a in args]))
        finally:
            ERRORS.reset(token)
        others = set(map(id, there[:known]))  # what results must not be
        for k, dtype in self.owned:
            x = there[k]
            if type(x) is not np.ndarray:
                there[k] = np.array(x, dtype)
            elif x.base is not None or not x.flags.c_contiguous or id(x) in others:
                there[k] = np.array(x, dtype, order="C")
            else:
                others.add(id(x))
        return there


class Planned:
    """Nodes as a plan over an environment of leaves and nodes.

    Attributes:
        take: the inputs that the plan reads as arrays, in order. constants: the captured arrays that follow them.
        scalars: those of the plan; `slots` are (place, input) of those that are arguments.
        out: places of the wanted results.
    """

    __slots__ = ("take", "constants", "scalars", "slots", "plan", "dtypes", "moving", "shapes", "sites", "blank", "out")

    def __init__(
        self,
        nodes: list[Node],
        wanted: list[Node],
        inputs: Sequence[Node],
        values: Sequence[Any],
        donated: Sequence[bool],
    ) -> None:
        number = {n: i for i, n in enumerate(inputs)}
        marked = [n for n, v in zip(inputs, values) if kind_of(v) is not None]
        for n in marked:
            n.value = Slot(number[n])
        try:
            segment = Segment(nodes, wanted)
        finally:
            for n in marked:
                n.value = None
        leaves = segment.leaves
        order = sorted(range(len(leaves)), key=lambda k: leaves[k] not in number)
        self.take = tuple([number[leaves[k]] for k in order if leaves[k] in number])
        self.constants = self.captured([leaves[k] for k in order if leaves[k] not in number])
        at = {~k: ~i for i, k in enumerate(order)}
        segment.refs = [tuple([at.get(r, r) for r in refs]) for refs in segment.refs]
        self.slots = tuple([(k, s.i) for k, s in enumerate(segment.scalars) if type(s) is Slot])
        for k, i in self.slots:
            segment.scalars[k] = values[i]
        segment.buffers = [*[values[i] for i in self.take], *self.constants]
        dead = tuple([bool(donated) and donated[i] for i in self.take]) + (False,) * len(self.constants)
        self.plan = make_plan(segment, dead)
        self.dtypes = segment.dtypes
        self.scalars, self.moving, self.shapes = segment.scalars, segment.moving, segment.shapes
        self.sites, self.blank, self.out = segment.sites, [None] * len(nodes), self.plan.out

    def captured(self, nodes: Sequence[Node]) -> list[Any]:
        """The arrays that it reads beside its arguments."""
        return list(map(value_of, nodes))

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        env = new(Environment)
        env.values = there = [*[values[i] for i in self.take], *self.constants, *self.blank]
        env.moving, env.shapes, env.sites, env.chain = self.moving, self.shapes, self.sites, None
        env.effect, env.spared = None, False
        scalars = self.scalars
        if self.slots:
            scalars = scalars.copy()
            for k, i in self.slots:
                scalars[k] = values[i]
        env.scalars = scalars
        for whole in self.plan.steps:
            for step in whole.parts(env):
                step.run(env)
        return there

    def hasten(self) -> None:
        """Have its kernels compiled as soon as they have run once."""
        self.plan.hasten()


class There(Planned):
    """The same on a device: results are buffers there. What has run once is compiled as one piece, where it can be.

    Attributes:
        host: the plan of the host. device: where it runs.
        begun: whether it has run. given: the dtypes of what it was given.
        code: the piece, a function of the list of tensors.
    """

    __slots__ = ("host", "device", "begun", "given", "code")

    def __init__(self, *args: Any, device: Any) -> None:
        super().__init__(*args)
        self.host, self.device, self.begun, self.code = self.plan, device, False, None
        self.plan = on_device(self.host, self.dtypes, device)

    def captured(self, nodes: Sequence[Node]) -> list[Any]:
        return values_of(nodes)

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        if self.code is None or not config.compile:
            there = super().__call__(values)
            if not self.begun:
                self.begun = True
                self.compile(values)
            return there
        tensors = list(map(self.device.bare, self.tensors(values)))
        n, there = self.plan.n_leaves, [None] * (self.plan.n_leaves + self.plan.n_nodes)
        for at, x in zip(self.plan.out, self.code(tensors)):
            there[at] = self.plan.kept(self.device.dressed(x, self.dtypes[at - n]), self.dtypes[at - n])
        profile.device_kernels += 1
        profile.device_compiled += 1
        return there

    def tensors(self, values: Sequence[Any]) -> list[Any]:
        """What the piece takes: arrays, then the scalars that are arguments."""
        device = self.device
        there = [arrived(device, x) for x in (*[values[i] for i in self.take], *self.constants)]
        return [*there, *[device.of_scalar(values[i]) for _, i in self.slots]]

    def compile(self, values: Sequence[Any]) -> None:
        """Ask for the piece."""
        like = self.tensors(values)
        outs = [self.dtypes[at - self.plan.n_leaves] for at in self.plan.out]
        if all(map(self.device.holds, like)) and None not in outs:
            self.given = list(map(self.device.dtype_of, like))
            self.device.compile(self.piece, list(map(self.device.bare, like)), self.have)

    def have(self, code: Any) -> None:
        self.code = code

    def piece(self, device: Any) -> Any:
        """The program as a function of tensors, for a device on which it is traced."""
        plan, n_slots = on_device(self.host, self.dtypes, device), len(self.slots)

        def run(*tensors: Any) -> list[Any]:
            env, given = new(Environment), [device.dressed(x, d) for x, d in zip(tensors, self.given)]
            scalars = self.scalars.copy()
            for (k, _), x in zip(self.slots, given[len(given) - n_slots :]):
                scalars[k] = x
            env.values = [*given[: len(given) - n_slots], *self.blank]
            env.moving, env.shapes, env.sites, env.chain = self.moving, self.shapes, self.sites, None
            env.effect, env.spared, env.scalars = None, False, scalars
            for step in plan.steps[1:-1]:  # between arrival and departure
                step.run(env)
            return [device.bare(env.values[at]) for at in plan.out]

        return run


class Brought:
    """What runs on the host, given what may be on a device."""

    __slots__ = ("run", "out")

    def __init__(self, run: Any) -> None:
        self.run, self.out = run, run.out

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        there: list[Any] = self.run(list(map(on_host, values)))
        return there


def runner(function: Function, device: Any = None, donated: Sequence[bool] = ()) -> Program:
    """A program for array inputs of a function's own shapes; what it captures is constant."""
    samples = [np.empty(n.shape, n.dtype) for n in function.inputs]
    return Program(function, samples, recorder.count, donated, device)


Function.runner = staticmethod(runner)
