"""A segment: a run of recorded operations, as structure (the key of a plan) and as values (what the plan runs on).

Whether a leaf's buffer may be overwritten is asked of a weak reference, after the segment has let go of its own.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np

from ..bounded import Bounded
from ..graph.node import BORROWED, Node, leaf, numbers
from ..graph.op import SET, VIEW, pick
from ..ops.shape import key_shape
from ..ops.transcendental import EXPONENTS, POWERS
from ..threads import others
from . import replay
from .chain import current
from .device import devices, placed
from .faults import failures
from .pace import trials
from .planner import Plan, make_plan
from .profile import profile
from .steps import SCALARS, Environment, Failure
from .storage import SEEN

PLANS_KEPT = 2048
SIZES_KEPT = 32  # plans of one structure, which differ in which of their sizes are equal
exact_plans: Bounded[Any, Plan] = Bounded(PLANS_KEPT)
plans: Bounded[Any, list[tuple[Any, Plan]]] = Bounded(PLANS_KEPT)

NUMBERS = (int, float, np.floating)


class Segment:
    """What is about to run.

    Attributes:
        ops, static, dtypes, weak: structure of the nodes, in order.
        refs: for each node its inputs: node n is n, leaf k is ~k, scalar j is SCALARS + j.
        moving, shapes: of the nodes; what may differ from one run of a plan to the next.
        buffers: the leaves' values. borrowed: which of them belong to others, or may be read by another thread this
            moment. scalars: Python and NumPy scalars.
        outputs: nodes that get a buffer; out: their positions.
        outs: of nodes of several results their abstract values, by position.
        leaves: the nodes; `refs_to` are weak references to them, once the segment has let go of them.
        end: index in the stream from which on nodes are not of this segment.
        env: the environment, once the steps have begun; plan: what runs, on a device.
        running: a lock that is held while the segment runs.
    """

    __slots__ = (
        "ops",
        "static",
        "dtypes",
        "weak",
        "refs",
        "buffers",
        "borrowed",
        "scalars",
        "moving",
        "shapes",
        "outputs",
        "out",
        "key",
        "leaves",
        "sites",
        "outs",
        "refs_to",
        "end",
        "env",
        "plan",
        "running",
        "exponents",
    )

    def __init__(self, nodes: list[Node], outputs: list[Node]) -> None:
        first = nodes[0].index
        place: dict[int, int] = {}
        if first < 0 or [n.index for n in nodes] != list(range(first, first + len(nodes))):  # not as they were recorded
            first, place = 1 << 62, {id(n): i for i, n in enumerate(nodes)}
        leaves: list[Node] = []
        scalars: list[Any] = []
        refs: list[tuple[int, ...]] = []
        for node in nodes:
            mine = []
            for a in node.inputs:
                at = a.index - first
                if at < 0:
                    found = place.get(id(a))
                    if found is not None:
                        at = found
                    elif a.value is not None:
                        at = SCALARS + len(scalars)
                        scalars.append(a.value)
                    else:
                        at = place[id(a)] = ~len(leaves)
                        leaves.append(a)
                mine.append(at)
            refs.append(tuple(mine))
        self.ops, self.static = [n.op for n in nodes], [n.static for n in nodes]
        self.dtypes, self.weak = [n.dtype for n in nodes], [n.weak for n in nodes]
        self.refs, self.leaves, self.scalars = refs, leaves, scalars
        self.buffers = [n.buffer for n in leaves]
        lent = (BORROWED, SEEN) if others() else (BORROWED,)
        self.borrowed = tuple([n.index in lent for n in leaves])
        self.moving, self.shapes = [n.moving for n in nodes], [n.shape for n in nodes]
        self.outputs, self.out = (
            outputs,
            tuple([place[id(n)] if first == 1 << 62 else n.index - first for n in outputs]),
        )
        self.sites = [n.site for n in nodes]
        self.outs = {i: n.outs for i, n in enumerate(nodes) if n.dtype is None}
        self.refs_to: list[weakref.ref[Node]] = []
        self.end = -1
        self.env: Environment | None = None
        self.plan: Plan | None = None
        self.running = threading.Lock()
        self.exponents = {i: e for i, n in enumerate(nodes) if n.op in POWERS and (e := exponent_of(n)) is not None}
        signatures = tuple([n.signature for n in nodes])
        self.key = (signatures, tuple(refs), self.out, self.borrowed, tuple(self.exponents.items()))

    def sizes(self) -> list[Any]:
        """What may differ between runs of a plan: every length, and the moving parameters."""
        out: list[Any] = []
        for b in self.buffers:
            out.extend(b.shape if type(b) is not tuple else ())
        for shape in self.shapes:
            out.extend(shape)
        for op, moving in zip(self.ops, self.moving):
            if op is not None and op.kind == SET:  # the region's own lengths stand in its key only
                out.extend(key_shape(moving[0]))
        out.extend(self.moving)
        return out

    def forget(self) -> None:
        """Let go of all values: the error that left the segment may be kept for long, and the segment with it."""
        self.buffers = []
        if self.env is not None:
            self.env.values.clear()

    def kinds(self) -> Any:
        """Dtypes and ranks of what the segment reads."""
        return (
            tuple([(b.dtype, b.ndim, b.flags.c_contiguous) if type(b) is not tuple else len(b) for b in self.buffers]),
            tuple([s.dtype if hasattr(s, "dtype") else type(s) for s in self.scalars]),
        )


def exponent_of(node: Node) -> float | None:
    """The number to which a node raises floats, where a plan may be made for it."""
    value = node.inputs[1].value
    known = isinstance(value, NUMBERS) and value in EXPONENTS and node.inputs[0].dtype.kind == "f"
    return None if not known else float(value) if value % 1 else int(value)


def fits(made_for: list[Any], sizes: list[Any]) -> bool:
    """Whether a plan made for some sizes is right for others: what was equal is equal, and what was 0 or 1 is."""
    now: dict[Any, Any] = {}
    for a, b in zip(made_for, sizes):
        if now.setdefault(a, b) != b or a != b and (a in (0, 1) or b in (0, 1)):
            return False
    return True


def lie(b: Any) -> Any:
    """How a leaf's value lies in memory; of several results, how many there are."""
    return (b.dtype, b.shape, b.strides) if type(b) is not tuple else len(b)


def plan_of(segment: Segment, dead: tuple[bool, ...]) -> Plan:
    """The plan for a segment whose leaves are dead or not: by sizes at once, else by structure, else made anew."""
    exact = (
        segment.key,
        tuple(segment.shapes),
        tuple(segment.moving),
        dead,
        tuple([lie(b) for b in segment.buffers]),
        tuple([s.dtype if hasattr(s, "dtype") else type(s) for s in segment.scalars]),
    )
    plan = exact_plans.get(exact) or exact_plans.recall(exact)
    if plan is None:
        key, sizes = (segment.key, segment.kinds(), dead), segment.sizes()
        family = plans.get(key) or plans.recall(key) or plans.keep(key, [])
        plan = next((p for made_for, p in family if fits(made_for, sizes)), None)
        if plan is None:
            plan = make_plan(segment, dead)
            del family[: len(family) + 1 - SIZES_KEPT]
            family.append((sizes, plan))
            profile.plans += 1
        exact_plans.keep(exact, plan)
    return plan


def run_segment(segment: Segment) -> None:
    """Run it, and give its outputs their buffers. The caller holds none of the nodes but through `segment`.

    An exception leaves in the segment what was there and what has been made: `remains` makes a graph of it again.
    """
    buffers = segment.buffers
    for node in segment.outputs:
        if not node.trace:
            node.inputs = ()
    del node
    segment.refs_to = refs = [weakref.ref(n) for n in segment.leaves]
    segment.leaves = []
    dead = tuple([ref() is None and not b for ref, b in zip(refs, segment.borrowed)])
    plan = plan_of(segment, dead)
    there = placed(plan, segment, refs, buffers) if devices.used else plan
    if replay.watching and there is plan:
        trials.ran(plan, segment)
    segment.plan = plan = there
    segment.env = env = Environment(segment, buffers, plan.n_nodes, current() if plan.chained else None)
    del buffers
    segment.buffers = []
    plan.run(env)
    hand_out(segment, env, plan)


def hand_out(segment: Segment, env: Environment, plan: Plan) -> None:
    """Give the outputs the buffers that are there, or the error that stood in the way."""
    values = env.values
    for node, at in zip(segment.outputs, segment.out):
        value = values[plan.n_leaves + at]
        if type(value) is Failure:
            node.error = value.error
            failures.seen = True
        elif node.buffer is None and value is not None:
            node.buffer = value if type(value) is tuple else labelled(value, node.dtype)
            if at in plan.shared:
                node.index = BORROWED


def labelled(value: Any, dtype: Any) -> Any:
    """A value as what its node says that it is: without gaps, and of that one of two equal dtypes. Plans know one."""
    dense = value if value.flags.c_contiguous else np.ascontiguousarray(value)
    return dense if dense.dtype is dtype or dense.dtype.char == dtype.char else dense.view(dtype)


def remains(segment: Segment) -> list[Node]:
    """After an exception: the nodes that are to be computed still, inputs first, as a graph over what there is.

    A step that was overwriting a value is finished first. What the outputs have got, they keep.
    """
    n_leaves = len(segment.borrowed)
    env = segment.env
    if env is not None:
        plan = segment.plan
        assert plan is not None  # it came before the environment
        if env.chain is not None:
            env.chain.settle()
        if env.effect is not None:
            env.effect.finish(env)
            if env.chain is not None:
                env.chain.settle()
        plan.bring_home(env, [None] * n_leaves + segment.dtypes)
        hand_out(segment, env, plan)
        values = env.values
    else:
        values = [*segment.buffers, *[None] * len(segment.ops)]
    return Remains(segment, values, n_leaves).graph()


class Remains:
    """A segment as a graph over the values that there are."""

    def __init__(self, segment: Segment, values: list[Any], n_leaves: int) -> None:
        self.segment, self.values, self.n_leaves = segment, values, n_leaves
        self.outputs = dict(zip(segment.out, segment.outputs))
        self.made: dict[int, Node] = {}

    def graph(self) -> list[Node]:
        """The nodes that have no value, inputs first."""
        segment = self.segment
        wanted = {i for i, node in self.outputs.items() if node.buffer is None and node.error is None}
        for i in range(len(segment.ops) - 1, -1, -1):
            if i in wanted and not self.is_there(i):
                wanted.update([r for r in segment.refs[i] if 0 <= r < SCALARS])
        pending = []
        for i in sorted(wanted):
            node = self.node(i)
            self.made[i] = node
            if node.op is not None and node.buffer is None and node.error is None:
                pending.append(node)
        return pending

    def is_there(self, r: int) -> bool:
        """Whether node or leaf r is an array that nothing else shows: a view is made again of what it is a view of,
        which may be overwritten where all can see that the view is read later."""
        node = self.outputs.get(r)
        if node is not None and (node.buffer is not None or node.error is not None):
            return True
        value = self.values[~r if r < 0 else self.n_leaves + r]
        if value is None:
            return False
        op = self.segment.ops[r] if r >= 0 else None
        if op is None or not shows(op):
            return True
        source = self.segment.refs[r][0]
        return source < SCALARS and not self.is_there(source)

    def node(self, r: int) -> Node:
        """The node for node, leaf or scalar r."""
        segment = self.segment
        if r >= SCALARS:
            return of_value(segment.scalars[r - SCALARS])
        known = self.made.get(r)
        if known is not None:
            return known
        node = self.outputs.get(r)
        if node is not None and (node.buffer is not None or node.error is not None):
            return node
        if self.is_there(r):
            return self.leaf(r, node)
        op, inputs = segment.ops[r], tuple([self.node(a) for a in segment.refs[r]])
        if node is None:
            aval = segment.shapes[r], segment.dtypes[r], segment.weak[r]
            outs = segment.outs.get(r, ())
            node = Node(op, inputs, segment.static[r], segment.moving[r], *aval, *(numbers(*outs) if outs else ()))
            node.outs, node.site = outs, segment.sites[r]
        elif not node.trace:
            node.inputs = inputs
        return node

    def leaf(self, r: int, output: Node | None) -> Node:
        """A node that has its value."""
        value = self.values[~r if r < 0 else self.n_leaves + r]
        if r < 0 and ~r < len(self.segment.refs_to):
            node = self.segment.refs_to[~r]()
        elif r < 0:
            node = self.segment.leaves[~r]
        else:
            node = output
        if type(value) is Failure:
            node = leaf((), None) if node is None else node
            node.error = value.error
            failures.seen = True
        elif node is None:
            several = type(value) is tuple
            shape, dtype = ((), None) if several else (value.shape, value.dtype)
            node = leaf(shape, dtype, value)
            if r >= 0 and shows(self.segment.ops[r]) or r < 0 and self.segment.borrowed[~r]:
                node.index = BORROWED
        self.made[r] = node
        return node


def of_value(value: Any) -> Node:
    """A scalar constant, or one of a value that only its op knows (what is being drawn)."""
    try:
        return Node.of_scalar(value)
    except TypeError:
        node = Node(None, (), (), (), (), np.dtype(object), False)
        node.value = value
        return node


def shows(op: Any) -> bool:
    """Whether an operation's result is memory of its operand."""
    return op.kind == VIEW or op is pick
