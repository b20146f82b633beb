"""From the structure of a segment to a plan: which operations form kernels, in which order steps run, what is written
in place.

Levels. Every value gets the level at which it exists in memory. An elementwise operation may join the kernel of an
elementwise input over the same index space; for any other input it comes one level later. Operations of a level over
one space form one kernel, related or not: they share the passes over what they read. Steps run by level, then by place.
A value that only a kernel of a later level reads is computed in that kernel, unless what it reads is overwritten
before.

Writes. A write into a region of a base makes a new value. It happens in the base's own buffer when the base dies with
it: nothing that comes later reads the old value, and what read it before has run. Where only the kernel that computes
the region reads the old value, the new value goes to a spare buffer, to which just the rest of the base is copied.
"""

from __future__ import annotations

import collections
from typing import Any

from ..graph.op import LIBRARY, MAP, REDUCE, SET, VIEW, pick
from . import rows
from . import steps as S
from .kernels import kernel_of
from .spec import MOST_INSTRUCTIONS, MOST_OPERANDS, spec_of
from .steps import SCALARS

FETCHED = 2  # arrays that a kernel may read once more, for a value that need not be stored then
DIRECT_SHARE = 4  # a region of a quarter of its base or more is worth a spare buffer


class Plan:
    """Steps over an environment: the leaves' arrays, then one slot per node.

    Attributes:
        elsewhere: the same plan over tensors, by device.
        shared: the nodes, of those that are handed out, whose buffers others may hold.
        paces: how fast it goes, by the size of arrays: see `pace.py`.
        kept: of a plan over tensors, from a tensor and a dtype to the buffer that a node may have.
    """

    __slots__ = ("steps", "out", "n_leaves", "n_nodes", "chained", "elsewhere", "kept", "shared", "paces")

    def __init__(
        self, steps: list[Any], out: tuple[int, ...], n_leaves: int, n_nodes: int, shared: frozenset[int]
    ) -> None:
        self.steps, self.out, self.n_leaves, self.n_nodes, self.shared = steps, out, n_leaves, n_nodes, shared
        self.elsewhere: dict[str, Plan] = {}
        self.kept: Any = None
        self.paces: dict[int, Any] = {}
        self.chained = sum([type(s) is S.KernelStep and s.chained for s in steps]) > 1

    def hasten(self) -> Plan:
        """Have its kernels compiled as soon as they have run once."""
        for step in self.steps:
            if type(step) in (S.KernelStep, rows.Rows):
                step.kernel.hasten = True
        return self

    def bring_home(self, env: S.Environment, dtypes: list[Any]) -> None:
        """After an exception: make buffers of tensors."""
        if self.kept is not None:
            for s, dtype in enumerate(dtypes):
                env.values[s] = self.kept(env.values[s], dtype)

    def run(self, env: S.Environment) -> None:
        """Run all steps."""
        S.run_all(self.steps, env)
        if env.chain is not None:
            env.chain.settle()


class Planner:
    """One pass over a segment's nodes, then the steps in order. Slots: leaf k is k, node n is n_leaves + n.

    Attributes:
        kinds: what each node is. Kernels know nothing but numbers: elementwise work on records (keys are such), objects
            and texts is a call.
    """

    def __init__(self, segment: Any, dead: tuple[bool, ...]) -> None:
        self.seg, self.dead = segment, dead
        self.n_leaves, self.n = len(dead), len(segment.ops)
        self.kinds = [
            LIBRARY if k.kind == MAP and (t.kind in "VOSUMm" or not t.isnative) else k.kind
            for k, t in zip(segment.ops, segment.dtypes)
        ]
        self.needed = self.reachable()
        self.users: list[list[int]] = [[] for _ in range(self.n_leaves + self.n)]
        for i in range(self.n):
            if self.needed[i]:
                for s in self.slots(i):
                    if i not in self.users[s]:
                        self.users[s].append(i)
        self.outputs = {self.n_leaves + o for o in segment.out}
        self.level = [-1] * (self.n_leaves + self.n)
        self.part: dict[int, tuple[int, Any, int]] = {}  # map node -> its kernel
        self.members: dict[tuple[int, Any, int], list[int]] = {}
        self.operands: dict[tuple[int, Any, int], set[int]] = {}
        self.open_part: dict[tuple[int, Any], int] = {}
        self.before: dict[Any, set[Any]] = {}  # kernel -> kernels of its level that read what it overwrites
        self.write: dict[
            int, tuple[str, int | None]
        ] = {}  # set node -> (mode, value node that its kernel writes directly)

    def slots(self, i: int) -> list[int]:
        """The environment slots that node i reads."""
        return [~r if r < 0 else self.n_leaves + r for r in self.seg.refs[i] if r < SCALARS]

    def reachable(self) -> list[bool]:
        needed = [False] * self.n
        for o in self.seg.out:
            needed[o] = True
        for i in range(self.n - 1, -1, -1):
            if needed[i]:
                for r in self.seg.refs[i]:
                    if 0 <= r < SCALARS:
                        needed[r] = True
        return needed

    def kind(self, slot: int) -> str:
        return self.kinds[slot - self.n_leaves] if slot >= self.n_leaves else "leaf"

    def shape(self, slot: int) -> tuple[int, ...]:
        return self.seg.shapes[slot - self.n_leaves] if slot >= self.n_leaves else self.seg.buffers[slot].shape

    # --- levels -------------------------------------------------------------------------------------------------------

    def assign(self) -> None:
        for i in range(self.n):
            if not self.needed[i]:
                continue
            kind, slot = self.kinds[i], self.n_leaves + i
            inputs = self.slots(i)
            if kind == MAP:
                self.join(
                    i,
                    max([0, *[self.level[s] + (not self.same_space(s, i)) for s in inputs]]),
                    self.seg.shapes[i],
                    inputs,
                )
                self.fetch(i)
            elif kind == REDUCE and self.fusable(i):
                key = self.part[inputs[0] - self.n_leaves]
                self.part[i] = key
                self.members[key].append(i)
                self.level[slot] = key[0]
            elif kind == VIEW:
                self.level[slot] = self.level[inputs[0]] if inputs else -1
            elif kind == SET:
                self.level[slot] = self.place_write(i)
            else:
                self.level[slot] = max([0, *[self.level[s] + 1 for s in inputs]])

    def same_space(self, slot: int, i: int) -> bool:
        """Whether a value is made by a map over node i's index space, so that both fit one kernel."""
        return self.kind(slot) == MAP and self.shape(slot) == self.seg.shapes[i]

    def join(self, i: int, level: int, shape: tuple[int, ...], inputs: list[int]) -> None:
        """Put a map into the kernel of its level and space, or open the next part of it."""
        number = max(
            [
                self.open_part.get((level, shape), 0),
                *[
                    self.part[s - self.n_leaves][2]
                    for s in inputs
                    if self.kind(s) == MAP and self.level[s] == level and self.same_space(s, i)
                ],
            ]
        )
        key = (level, shape, number)
        outside = {s for s in inputs if not (self.kind(s) == MAP and self.part.get(s - self.n_leaves) == key)}
        members, operands = self.members.get(key), self.operands.get(key)
        if (
            members is not None
            and operands is not None
            and (len(members) >= MOST_INSTRUCTIONS or len(operands | outside) > MOST_OPERANDS)
        ):
            key = (level, shape, number + 1)
            self.open_part[level, shape] = number + 1
            outside = set(inputs)
        earlier = {
            self.part[s - self.n_leaves]
            for s in inputs
            if self.kind(s) == MAP and self.part[s - self.n_leaves][:2] == key[:2]
        } - {key}
        if earlier:
            self.before.setdefault(key, set()).update(earlier)
        self.part[i] = key
        self.members.setdefault(key, []).append(i)
        self.operands.setdefault(key, set()).update(outside)
        self.level[self.n_leaves + i] = level

    # --- values that wait for the kernel that reads them --------------------------------------------------------------

    def fetch(self, i: int) -> None:
        """Take into node i's kernel the maps of lower levels that nothing but this kernel reads: `b - c` in
        `a[1:] - (b - c)`, where `a` was written to before. Else each has a kernel of its own, whose result goes through
        memory, and ends a chain."""
        key = self.part[i]
        for s in self.slots(i):
            if self.kind(s) != MAP or self.level[s] == key[0] or not self.same_space(s, i):
                continue
            group = self.private(s - self.n_leaves, key)
            if group and self.may_wait(group, i) and self.worth_fetching(group, key):
                self.move(group, key)

    def private(self, node: int, key: tuple[int, Any, int]) -> set[int]:
        """A map and those of its kernel that it reads, if nothing but they and the kernel `key` reads them, and else
        nothing: what is computed anyhow is read where it is."""
        old, target = self.part[node], set(self.members[key])
        group: set[int] = set()
        stack = [node]
        while stack:
            t = stack.pop()
            if t in group:
                continue
            group.add(t)
            stack += [s - self.n_leaves for s in self.slots(t) if self.part.get(s - self.n_leaves) == old]
        inside = group | target
        alone = all(
            self.kinds[t] == MAP
            and self.n_leaves + t not in self.outputs
            and all(u in inside for u in self.users[self.n_leaves + t])
            for t in group
        )
        return group if alone else set()

    def outer(self, group: set[int]) -> set[int]:
        """What a group of nodes reads beside one another's values."""
        return {s for t in group for s in self.slots(t)} - {self.n_leaves + t for t in group}

    def may_wait(self, group: set[int], i: int) -> bool:
        """Whether nothing that the group reads has been written to between the first of its nodes and node i."""
        first = min(group)
        for root in {self.root(s) for s in self.outer(group)}:
            stack = [root]
            while stack:
                for u in self.users[stack.pop()]:
                    if self.kinds[u] == VIEW:
                        stack.append(self.n_leaves + u)
                    elif self.kinds[u] == SET and first < u < i and self.root(self.slots(u)[0]) == root:
                        return False
        return True

    def worth_fetching(self, group: set[int], key: tuple[int, Any, int]) -> bool:
        """Whether a kernel has room for the group, and it costs less to read the group's operands there than to store
        its value and read it: about three passes. Nothing is read twice where the group's kernel goes with it."""
        outer, operands = self.outer(group), self.operands[key]
        if len(self.members[key]) + len(group) > MOST_INSTRUCTIONS or len(operands | outer) > MOST_OPERANDS:
            return False
        if len(self.members[self.part[min(group)]]) == len(group):
            return True
        return len({self.root(s) for s in outer} - {self.root(s) for s in operands}) <= FETCHED

    def move(self, group: set[int], key: tuple[int, Any, int]) -> None:
        outer, old = self.outer(group), self.part[min(group)]
        self.members[old] = [t for t in self.members[old] if t not in group]
        if not self.members[old]:
            del self.members[old], self.operands[old]
        for t in group:
            self.part[t], self.level[self.n_leaves + t] = key, key[0]
        self.members[key] = sorted([*self.members[key], *group])
        self.operands[key] = (self.operands[key] | outer) - {self.n_leaves + t for t in group}

    def fusable(self, i: int) -> bool:
        """Whether a reduction can end the kernel that computes its input."""
        source = self.slots(i)
        return (
            self.kinds[i] == REDUCE
            and self.seg.ops[i].code is not None
            and bool(self.seg.ops[i].code.compiled)
            and len(source) == 1
            and self.kind(source[0]) == MAP
            and len(self.seg.shapes[i]) <= len(self.shape(source[0]))
        )

    # --- writes -------------------------------------------------------------------------------------------------------

    def root(self, slot: int) -> int:
        """The value whose memory a view shows; the view itself where it is one of a number."""
        while self.is_alias(slot) and (inputs := self.slots(slot - self.n_leaves)):
            slot = inputs[0]
        return slot

    def is_alias(self, slot: int) -> bool:
        """Whether a value is a view through which the memory of another can be written."""
        return self.kind(slot) == VIEW and self.seg.ops[slot - self.n_leaves].name != "broadcast_to"

    def is_pick(self, slot: int) -> bool:
        """Whether a value is one of several results, which another pick of the same may show too."""
        return self.seg.ops[slot - self.n_leaves] is pick

    def readers(self, root: int, write: int) -> list[int]:
        """The nodes other than `write` that read a value's memory, through views too."""
        found, stack = [], [root]
        while stack:
            for u in self.users[stack.pop()]:
                if self.kinds[u] == VIEW:
                    stack.append(self.n_leaves + u)
                elif u != write:
                    found.append(u)
        return found

    def escapes(self, root: int) -> bool:
        """Whether a value, or a view of it, is an output of the segment."""
        stack = [root]
        while stack:
            slot = stack.pop()
            if slot in self.outputs:
                return True
            stack.extend([self.n_leaves + u for u in self.users[slot] if self.kinds[u] == VIEW])
        return False

    def place_write(self, i: int) -> int:
        """Decide how set node i is done; its level."""
        refs = self.seg.refs[i]
        base = self.slots(i)[0]
        root = self.root(base)
        value = self.n_leaves + refs[1] if 0 <= refs[1] < SCALARS else None
        value_level = self.level[self.slots(i)[1]] if refs[1] < SCALARS else -1
        region = S.region_shape(self.seg.moving[i][0])
        direct = (
            value is not None
            and self.kind(value) == MAP
            and self.shape(value) == region
            and value not in self.outputs
            and self.users[value] == [i]
        )
        readers = self.readers(root, i)
        mine = self.dead[root] if root < self.n_leaves else self.kind(root) != VIEW and not self.is_pick(root)
        in_place = mine and not self.escapes(root) and all(r < i for r in readers)
        last_read = max([self.level[root], *[self.level[self.n_leaves + r] for r in readers if r < i]])
        inside = direct and in_place and self.level[root] < value_level
        if inside and (last_read < value_level or self.reads_alike(i, root, readers)):
            self.write[i] = ("inside", refs[1])
            return value_level
        if direct and self.level[root] < value_level and (not in_place or self.big(region, self.shape(base))):
            self.write[i] = ("spare", refs[1])
            return value_level
        if in_place:
            self.write[i] = ("copy inside", None)
            return max(value_level, last_read) + 1
        self.write[i] = ("copy", None)
        return max(value_level, self.level[root]) + 1

    def reads_alike(self, i: int, root: int, readers: list[int]) -> bool:
        """Whether the kernel that makes write i's value may store it in place: the old value is read before, by steps
        of lower levels, by kernels of the same level that are put before this one, or by this one, of just the elements
        that it overwrites, and by none of its instructions that come after."""
        value = self.seg.refs[i][1]
        part = self.part[value]
        if any(self.kinds[m] == REDUCE for m in self.members[part]):
            return False
        before = set()
        for u in readers:
            level = self.level[self.n_leaves + u]
            if level < part[0]:
                continue
            if level > part[0] or u not in self.part:
                return False
            if self.part[u] != part:
                before.add(self.part[u])
                continue
            through = [s for s in self.slots(u) if self.root(s) == root]
            if u > value or not all(self.is_region(s, i, root) for s in through):
                return False
        if any(part in self.ancestors(p) for p in before):
            return False
        self.before.setdefault(part, set()).update(before)
        self.open_part[part[0], part[1]] = part[2] + 1  # nothing may join that reads after the write
        return True

    def ancestors(self, part: Any) -> set[Any]:
        """The kernels that must run before this one, among those of its level."""
        found: set[Any] = set()
        stack = [part]
        while stack:
            for p in self.before.get(stack.pop(), ()):
                if p not in found:
                    found.add(p)
                    stack.append(p)
        return found

    def is_region(self, slot: int, i: int, root: int) -> bool:
        """Whether a value is the view that write i replaces."""
        node = slot - self.n_leaves
        return (
            node >= 0
            and self.seg.ops[node].name == "slice"
            and self.seg.moving[node] == self.seg.moving[i]
            and self.slots(node)[0] == self.slots(i)[0]
            and self.slots(i)[0] == root
        )

    @staticmethod
    def big(region: tuple[int, ...], base: tuple[int, ...]) -> bool:
        a = b = 1
        for n in region:
            a *= n
        for n in base:
            b *= n
        return a * DIRECT_SHARE >= b

    # --- steps --------------------------------------------------------------------------------------------------------

    def steps(self) -> list[Any]:
        """All steps in order of level, then place."""
        direct = {v: w for w, (mode, v) in self.write.items() if v is not None}
        order: list[tuple[int, int, Any]] = []
        for key, members in self.members.items():  # a kernel has more ancestors than each of them has
            order.append((key[0], self.n * len(self.ancestors(key)) + min(members), self.kernel(members, direct)))
        for i in range(self.n):
            if not self.needed[i]:
                continue
            kind, level = self.kinds[i], self.level[self.n_leaves + i]
            if kind == SET and self.write[i][1] is None:
                refs = self.seg.refs[i]
                order.append(
                    (level, i, S.Write(i, self.n_leaves, self.slots(i)[0], refs[1], self.write[i][0] == "copy inside"))
                )
            elif kind == VIEW:
                order.append(
                    (
                        level,
                        i,
                        S.ViewStep(
                            i,
                            self.n_leaves,
                            self.seg.ops[i],
                            self.seg.static[i],
                            self.seg.refs[i][0],
                            self.n_leaves + i in self.outputs,
                        ),
                    )
                )
            elif kind == LIBRARY or kind == REDUCE and i not in self.part:
                order.append(
                    (level, i, S.Library(i, self.n_leaves, self.seg.ops[i], self.seg.static[i], self.seg.refs[i]))
                )
        order.sort(key=lambda t: (t[0], isinstance(t[2], S.ViewStep), t[1]))
        steps = rows.gathered(self, [step for _, _, step in order])
        self.forget([s for step in steps for s in (step.steps if type(step) is rows.Rows else (step,))])
        return steps

    def kernel(self, members: list[int], direct: dict[int, int]) -> Any:
        inside = set(members)
        outs: list[tuple[int, int | None, bool, int | None]] = []
        for i in members:
            slot = self.n_leaves + i
            if i in direct:
                w = direct[i]
                outs.append((i, w, self.write[w][0] == "spare", self.slots(w)[0]))
            elif slot in self.outputs or self.kinds[i] == REDUCE or any(u not in inside for u in self.users[slot]):
                outs.append((i, None, False, None))
        spec, ins, scalars = spec_of(self, members, [o[0] for o in outs])
        targets = [
            S.Target(
                self.n_leaves + i,
                self.seg.dtypes[i],
                None if w is None else self.n_leaves + w,
                w,
                spare,
                base,
                self.kinds[i] == REDUCE,
            )
            for i, w, spare, base in outs
        ]
        lone = len(outs) == 1 and not targets[0].reduced and targets[0].write is None
        reusable = [s for s in ins if self.overwritable(s)] if lone else []
        return S.KernelStep(kernel_of(spec), ins, scalars, targets, members, reusable, self.n_leaves)

    def overwritable(self, slot: int) -> bool:
        """Whether a value's memory is the segment's, and nothing but elementwise reads look at it."""
        mine = self.dead[slot] if slot < self.n_leaves else self.kind(slot) in (MAP, LIBRARY) and not self.is_pick(slot)
        return mine and slot not in self.outputs and all(self.kinds[u] == MAP for u in self.users[slot])

    def forget(self, steps: list[Any]) -> None:
        """Let each step drop the values of which it is the last reader; dying whole inputs may be overwritten by it."""
        keep = set()
        for o in self.outputs:
            keep.add(o)
        last: dict[int, Any] = {}
        for step in steps:
            for s in step.reads():
                last[s] = step
        for s, step in last.items():
            if s not in keep:
                step.drop.append(s)


def shared_outputs(segment: Any) -> frozenset[int]:
    """The outputs that are one of several results which are kept together, or which another node picks too."""
    picked = collections.Counter(
        [(refs, static) for refs, op, static in zip(segment.refs, segment.ops, segment.static) if op is pick]
    )
    return frozenset(
        [
            at
            for at in segment.out
            if segment.ops[at] is pick
            and (
                (source := segment.refs[at][0]) < 0
                or source in segment.out
                or picked[segment.refs[at], segment.static[at]] > 1
            )
        ]
    )


def make_plan(segment: Any, dead: tuple[bool, ...]) -> Plan:
    planner = Planner(segment, dead)
    planner.assign()
    out = tuple([planner.n_leaves + o for o in segment.out])
    return Plan(planner.steps(), out, planner.n_leaves, planner.n, shared_outputs(segment))
