"""Rows: what reduces the last axes and goes on with the result as one kernel, which walks over each row while that is
in the cache.

`w = exp(x - x.max(-1, keepdims=True)); w / w.sum(-1, keepdims=True)` is three steps of a plan: a reduction ends a
kernel, since the interpreter goes through memory block by block. Each step reads and writes all of its arrays. Compiled
code has no such bounds: Inductor puts loops over the same rows into one. So steps that can be one kernel are gathered
in one step, and run as they are until that is compiled.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from typing import Any

from ..backends.kernel import Instr, KernelSpec
from ..backends.support import CORES, ITEMSIZE, compilable
from ..graph.op import MAP, REDUCE, VIEW
from ..ops.shape import broadcast_to, reshape, slice_
from . import steps as S
from .kernels import DONE, Form, kernel_of
from .pool import pool
from .spec import MOST_INSTRUCTIONS, MOST_OPERANDS, spec_of

MOST_STEPS = 24
MOST_BYTES = 1 << 18  # of the operands' parts of one row
LEAST_ROWS = 8  # for each core


class Rows(S.Step):
    """Steps, in order, and the kernel in their place.

    Attributes:
        ins: the slots that are read, broadcast to the space of node `space`; scalars: the numbers of the scalars.
        outs: the nodes whose values others read, of these dtypes.
        axes: how many axes at the end make up a row.
        flat_ins, flat_outs: which of the operands lack these axes.
        views: those of the steps whose views others want.
    """

    def __init__(
        self,
        planner: Any,
        space: Space,
        steps: list[Any],
        kernel: tuple[KernelSpec, list[int], list[int]],
        outs: list[int],
        at: int,
        flat: set[int],
        views: set[int],
    ) -> None:
        spec, self.ins, self.scalars = kernel
        self.steps, self.kernel, self.outs = steps, kernel_of(spec), outs
        self.space, self.axes, self.n_leaves = at, len(space.axes), planner.n_leaves
        self.width = sum(map(ITEMSIZE.__getitem__, spec.inputs)) + 8 * len(outs)
        self.dtypes = [planner.seg.dtypes[i] for i in outs]
        self.views = [step for step in steps if type(step) is S.ViewStep and step.i in views]
        self.flat_ins = [k for k, s in enumerate(self.ins) if s in flat]
        self.flat_outs = [k for k, i in enumerate(outs) if planner.seg.shapes[i] == space.flat]

    def parts(self, env: S.Environment) -> Iterable[S.Step]:
        """What is left where the kernel has done it, else the steps."""
        shape, values = env.shapes[self.space], env.values
        ins = [values[s] for s in self.ins]
        if not self.is_worth_it(shape) or any([type(x) is S.Failure for x in ins]):
            return self.steps
        if env.chain is not None:
            env.chain.settle()
        outs = [pool.empty(env.shapes[i], dtype) for i, dtype in zip(self.outs, self.dtypes)]
        targets = list(outs)
        for arrays, which in ((ins, self.flat_ins), (targets, self.flat_outs)):
            for k in which:
                arrays[k] = arrays[k][(..., *(None,) * self.axes)]
        form, _, _ = self.kernel.compiled(ins, [env.scalars[s] for s in self.scalars], targets, shape, None, None)
        if form is not DONE:
            return self.steps if form is None or form.refused else self.charging(form, env)
        for i, value in zip(self.outs, outs):
            values[self.n_leaves + i] = value
        return self.ending(values)

    def ending(self, values: list[Any]) -> Iterator[S.Step]:
        """What is left when the kernel has run."""
        yield from self.views
        for step in self.steps:
            for s in step.drop:
                values[s] = None

    def charging(self, form: Form, env: S.Environment) -> Iterator[S.Step]:
        """The steps, whose time is a reason to compile the kernel."""
        start, env.spared = time.perf_counter(), True
        yield from self.steps
        env.spared = False
        seconds = time.perf_counter() - start
        form.interpreted(seconds, env.shapes[self.space])
        form.charge(seconds, self.kernel.hasten)

    def is_worth_it(self, shape: tuple[int, ...]) -> bool:
        """Whether there are rows enough for all cores, and each fits a core's cache."""
        row = math.prod(shape[-self.axes :])
        return row * self.width <= MOST_BYTES and math.prod(shape[: -self.axes]) >= LEAST_ROWS * CORES

    def reads(self) -> list[int]:
        made = set(self.writes())
        return [s for step in self.steps for s in step.reads() if s not in made]

    def writes(self) -> list[int]:
        return [s for step in self.steps for s in step.writes()]


class Space:
    """The arrays over which a reduction of the last axes goes."""

    def __init__(self, planner: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
        self.planner, self.shape, self.axes = planner, shape, axes
        self.flat = shape[: -len(axes)]
        self.row_shape = (*self.flat, *(1,) * len(axes))

    def holds(self, step: Any) -> bool:
        """Whether a step can be part of a kernel over this space."""
        nodes = nodes_of(step)
        return bool(nodes) and all(map(self.holds_node, nodes)) and not writes_in_place(step)

    def holds_node(self, i: int) -> bool:
        planner = self.planner
        if planner.kinds[i] == MAP:
            return planner.seg.shapes[i] in (self.shape, self.row_shape, self.flat)
        if planner.kinds[i] == VIEW:
            return self.renames(i)
        return space_of(planner, i) == (self.shape, self.axes)

    def is_whole(self, i: int) -> bool:
        """Whether node i is a map over the whole space."""
        return self.planner.kinds[i] == MAP and self.planner.seg.shapes[i] == self.shape

    def renames(self, i: int) -> bool:
        """Whether a view gives the axes to values of rows that lack them, takes them away, or repeats along them."""
        seg, op = self.planner.seg, self.planner.seg.ops[i]
        shapes = {seg.shapes[i], *map(self.planner.shape, self.planner.slots(i))}
        if op is broadcast_to:
            return shapes == {self.row_shape, self.shape}
        if shapes != {self.row_shape, self.flat} or op is not reshape and op is not slice_:
            return False
        return op is reshape or all([k is None or k == 0 or k[0] == 0 and k[2] == 1 for k in seg.moving[i][0]])

    def is_row(self, shape: tuple[int, ...]) -> bool:
        """Whether an array of that shape is one value along the axes."""
        return all([n == 1 for n in shape[-len(self.axes) :]])


def gathered(planner: Any, steps: list[Any]) -> list[Any]:
    """The steps of a plan, with those together that can be one kernel; each still runs after what it reads."""
    out = list(steps)
    k = 0
    while k < len(out):
        space = next((Space(planner, *found) for i in nodes_of(out[k]) if (found := space_of(planner, i))), None)
        together = [] if space is None or not space.holds(out[k]) else Group(planner, space, out, k).places()
        made = None if space is None or not together else joined(planner, space, [out[j] for j in together])
        if made is not None:
            out[together[-1]] = made
            for j in reversed(together[:-1]):
                del out[j]
            k -= sum([j < k for j in together])
        else:
            k += 1
    return out


class Group:
    """What can be one kernel with step k of a plan, a reduction: steps over the same space that go on with what it and
    they have made, and those that make something for them alone. All run where the last of them does."""

    def __init__(self, planner: Any, space: Space, steps: list[Any], k: int) -> None:
        self.planner, self.space, self.steps, self.k = planner, space, steps, k
        self.nodes = set(nodes_of(steps[k]))
        self.read = set(map(planner.root, steps[k].reads()))  # the values whose memory is read
        self.written: set[int] = set()  # and is written to after step k

    def may_read(self, slots: set[int]) -> bool:
        """Whether these values are still what they were; they are read later than before, then."""
        roots = set(map(self.planner.root, slots))
        if roots & self.written:
            return False
        self.read |= roots
        return True

    def places(self) -> list[int]:
        """Of the steps, in order; of none, if none goes on with a reduction's value over the whole space."""
        planner, steps, found, used = self.planner, self.steps, [self.k], 0
        for j in range(self.k + 1, min(len(steps), self.k + 1 + MOST_STEPS)):
            reads = set(steps[j].reads())
            mine = any([planner.n_leaves + i in reads for i in self.nodes])
            if writes_in_place(steps[j]):
                roots = set(map(planner.root, bases(steps[j])))
                if mine or roots & self.read:
                    break
                self.written |= roots
            if not mine:
                continue
            if not self.space.holds(steps[j]) or not self.may_read(reads):
                break
            rows = any([self.space.is_row(planner.shape(s)) for s in reads if s - planner.n_leaves in self.nodes])
            self.nodes.update(nodes_of(steps[j]))
            found += [*self.makers(j), j]
            if used or rows and any(map(self.space.is_whole, nodes_of(steps[j]))):
                used = len(found)
        return sorted(found[:used])

    def makers(self, j: int) -> list[int]:
        """The places of the steps that make something for step j, or for what is here, and nobody else."""
        found: list[int] = []
        todo = [j]
        while todo:
            reads = set(self.steps[todo.pop()].reads())
            for p in range(j - 1, max(0, self.k - MOST_STEPS) - 1, -1):
                step = self.steps[p]
                if p < self.k and writes_in_place(step):
                    break
                nodes = nodes_of(step)
                if type(step) is S.ViewStep and (step.source or 0) - self.planner.n_leaves not in self.nodes:
                    continue
                if reads.isdisjoint(step.writes()) or self.nodes.issuperset(nodes) or not self.space.holds(step):
                    continue
                alone = self.nodes.issuperset(
                    [u for s in step.writes() for u in self.planner.users[s] if u not in nodes]
                )
                if alone and self.may_read(set(step.reads())):
                    self.nodes.update(nodes)
                    found.append(p)
                    todo.append(p)
        return found


def joined(planner: Any, space: Space, steps: list[Any]) -> Rows | None:
    """The steps as one; None where there is no kernel for all of them."""
    members = sorted([i for step in steps for i in nodes_of(step)])
    inside = set(members)
    same: dict[int, int] = {}
    for i in [i for i in members if planner.kinds[i] == VIEW]:
        source = planner.slots(i)[0] - planner.n_leaves
        same[i] = same.get(source, source)
    flat, whole = operands(planner, space, members, inside)
    if not inside.issuperset(same.values()) or flat & whole or reduces_what_repeats(planner, members):
        return None
    members = [i for i in members if i not in same]
    views = set()
    for i in reversed(same):
        if is_wanted(planner, i, inside):
            views.add(i)
            inside.remove(i)
    outs = [i for i in members if is_wanted(planner, i, inside)]
    spec, ins, scalars = spec_of(planner, members, outs, same)
    rows = [k for k, s in enumerate(ins) if s in flat or space.is_row(planner.shape(s))]
    spec = narrowed(spec._replace(ndim=len(space.shape)), rows, space.axes)
    if len(spec.body) > MOST_INSTRUCTIONS or len(ins) > MOST_OPERANDS or compilable(spec) is not None:
        return None
    at = next(i for i in members if space.is_whole(i))
    return Rows(planner, space, steps, (spec, ins, scalars), outs, at, flat, views)


def operands(planner: Any, space: Space, members: list[int], inside: set[int]) -> tuple[set[int], set[int]]:
    """The slots with axes that are read for values of rows which lack the last axes, and for others. What is made here
    is among both, so that they meet, where it is read for what it was not made for: along other axes."""
    flat: set[int] = set()
    whole: set[int] = set()
    for i in members:
        lacks = planner.seg.shapes[i] == space.flat and planner.kinds[i] == MAP
        for s in planner.slots(i) if planner.kinds[i] != VIEW else ():
            if s - planner.n_leaves not in inside:
                (flat if lacks and planner.shape(s) else whole).add(s)
            elif lacks != (planner.shape(s) == space.flat):
                flat.add(s)
                whole.add(s)
    return flat, {s for s in whole if planner.shape(s)}


def reduces_what_repeats(planner: Any, members: list[int]) -> bool:
    """Whether a reduction's operand has a row's value once in the kernel, which it has for each element."""
    repeats: set[int] = set()
    for i in members:
        slots = planner.slots(i)
        mine = {s - planner.n_leaves for s in slots if planner.shape(s) == planner.seg.shapes[i]}
        if planner.kinds[i] == REDUCE:
            if not repeats.isdisjoint([s - planner.n_leaves for s in slots]):
                return True
        elif planner.seg.ops[i] is broadcast_to or mine and mine <= repeats:
            repeats.add(i)
    return False


def narrowed(spec: KernelSpec, rows: list[int], axes: tuple[int, ...]) -> KernelSpec:
    """The spec in which these inputs are one value along the axes, and nothing is computed twice."""
    first = len(spec.inputs) + len(spec.scalars)
    known: dict[Instr, int] = {}

    def number_of(instr: Instr) -> int:
        return known.setdefault(instr, first + len(known))

    number = list(range(first))
    for k in rows:
        number[k] = number_of(Instr("reduce", (k,), (spec.inputs[k],), spec.inputs[k], ("first", axes)))
    for instr in spec.body:
        number.append(number_of(instr._replace(args=tuple([number[a] for a in instr.args]))))
    return spec._replace(body=tuple(known), outputs=tuple([number[o] for o in spec.outputs]))


def is_wanted(planner: Any, i: int, inside: set[int]) -> bool:
    """Whether others than these nodes read node i's value."""
    slot = planner.n_leaves + i
    return slot in planner.outputs or any(u not in inside for u in planner.users[slot])


def nodes_of(step: Any) -> list[int]:
    """The nodes whose values a kernel or a call makes."""
    return (
        list(step.members) if type(step) is S.KernelStep else [step.i] if type(step) in (S.Library, S.ViewStep) else []
    )


def space_of(planner: Any, i: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Of a reduction of the last axes, over more than one element: (shape, axes)."""
    seg = planner.seg
    if planner.kinds[i] != REDUCE or seg.ops[i].code is None or not seg.ops[i].code.compiled:
        return None
    params = dict(zip(seg.ops[i].static, seg.static[i]))
    (source,) = planner.slots(i) or (None,)
    shape = () if source is None else planner.shape(source)
    axes = tuple(sorted(params["axes"]))
    last = tuple(range(len(shape) - len(axes), len(shape)))
    fits = axes and axes == last != tuple(range(len(shape))) and math.prod(shape[: -len(axes)]) > 1
    return (shape, axes) if fits and all(shape[a] > 1 for a in axes) else None


def bases(step: Any) -> list[int]:
    """The values into which a step writes."""
    return [step.base] if type(step) is S.Write else [t.base for t in step.targets if t.base is not None]


def writes_in_place(step: Any) -> bool:
    return type(step) is S.Write or type(step) is S.KernelStep and any(t.write is not None for t in step.targets)
