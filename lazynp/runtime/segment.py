"""A segment: a run of recorded operations, as structure (the key of a plan) and as values (what the plan runs on).

Whether a leaf's buffer may be overwritten is asked of a weak reference, after the segment has let go of its own.
"""

from __future__ import annotations

import _signal  # `signal` turns each number into an enum, which costs more than the rest
import threading
import weakref
from typing import Any

from ..bounded import Bounded
from ..graph.node import BORROWED, Node
from ..graph.op import SET
from ..ops.shape import key_shape
from .device import devices, placed
from .planner import Plan, make_plan
from .profile import profile
from .steps import SCALARS

PLANS_KEPT = 2048
SIZES_KEPT = 32  # plans of one structure, which differ in which of their sizes are equal
exact_plans: Bounded[Any, Plan] = Bounded(PLANS_KEPT)
plans: Bounded[Any, list[tuple[Any, Plan]]] = Bounded(PLANS_KEPT)
MAIN = threading.main_thread()


class Segment:
    """What is about to run.

    Attributes:
        ops, static, dtypes, weak: structure of the nodes, in order.
        refs: for each node its inputs: node n is n, leaf k is ~k, scalar j is SCALARS + j.
        moving, shapes: of the nodes; what may differ from one run of a plan to the next.
        buffers: the leaves' values. borrowed: which of them belong to others. scalars: Python and NumPy scalars.
        outputs: nodes that get a buffer; out: their positions.
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
        self.borrowed = tuple([n.index == BORROWED for n in leaves])
        self.moving, self.shapes = [n.moving for n in nodes], [n.shape for n in nodes]
        self.outputs, self.out = (
            outputs,
            tuple([place[id(n)] if first == 1 << 62 else n.index - first for n in outputs]),
        )
        self.sites = [n.site for n in nodes]
        self.key = (tuple([n.signature for n in nodes]), tuple(refs), self.out, self.borrowed)

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

    def kinds(self) -> Any:
        """Dtypes and ranks of what the segment reads."""
        return (
            tuple([(b.dtype, b.ndim, b.flags.c_contiguous) if type(b) is not tuple else len(b) for b in self.buffers]),
            tuple([s.dtype if hasattr(s, "dtype") else type(s) for s in self.scalars]),
        )


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

    Ctrl-C is held back until all is done, so that no array is left without a value.
    """
    seen: list[int] = []
    guarded = threading.current_thread() is MAIN and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
    if guarded:
        _signal.signal(_signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        run_guarded(segment)
    finally:
        if guarded:
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)
            if seen:
                raise KeyboardInterrupt


def run_guarded(segment: Segment) -> None:
    outputs, buffers = segment.outputs, segment.buffers
    for node in outputs:
        if not node.trace:
            node.inputs = ()
    if outputs:
        del node
    refs = [weakref.ref(n) for n in segment.leaves]
    segment.leaves = []
    dead = tuple([ref() is None and not b for ref, b in zip(refs, segment.borrowed)])
    plan = plan_of(segment, dead)
    segment.buffers = []
    if devices.used:
        plan = placed(plan, segment, refs, buffers)
    plan.run(segment, buffers, outputs)
