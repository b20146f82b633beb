"""A value of which this process has some rows, and how processes give one another the rows that they lack."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..away import Away
from ..config import config
from ..errors import user_line
from ..runtime.device import Flags, contiguous, current
from ..runtime.profile import profile
from .group import Beside, Group, ProcessError
from .layout import Interval, Shape, own
from .localize import replaced
from .memory import DeviceMemory, Memory, main_memory


class GatherError(ProcessError):
    """A value was to be gathered in each process that is larger than `config.gather_bytes`."""


class Spread(Away):
    """Rows of a value, along one of its axes.

    Attributes:
        axis: along which it is split. array: rows of it, from `first` on. memory: where these lie.
        have: for each rank the rows that are right there; at least its own.
        full: the whole value in main memory, where it was gathered, or came from.
    """

    __slots__ = ("shape", "dtype", "array", "axis", "first", "have", "memory", "full")
    flags = Flags

    def __init__(
        self,
        shape: Shape,
        dtype: Any,
        array: Any,
        axis: int,
        first: int,
        have: Sequence[Interval],
        memory: Memory = main_memory,
    ) -> None:
        self.shape, self.dtype, self.array, self.axis, self.first = shape, dtype, array, axis, first
        self.have, self.memory = have, memory
        self.full: np.ndarray | None = None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * int(self.dtype.itemsize)

    @property
    def strides(self) -> tuple[int, ...]:
        return contiguous(self.shape, self.dtype.itemsize)

    @property
    def here(self) -> bool:
        return self.memory is main_memory

    def rows(self, rows: Interval) -> Any:
        """Rows of it, a view."""
        return self.array[at(self.axis, rows[0] - self.first, rows[1] - self.first)]

    def lie_in(self, memory: Memory) -> None:
        """Have the rows there from now on."""
        if self.memory is not memory:
            self.array, self.memory = memory.bring(self.memory.host(self.array, self.dtype)), memory

    def host(self) -> np.ndarray:
        """All of it. Every process has to ask for it."""
        if self.full is None:
            self.full = np.ascontiguousarray(everything(self, spreading()))
        return self.full

    def element(self, index: tuple[int, ...]) -> Any:
        """One element, from the process that has it."""
        state = spreading()
        k = index[self.axis]
        n, group = self.shape[self.axis], state.group
        root = next(q for q in range(group.size) if own(n, q, group.size)[0] <= k < own(n, q, group.size)[1])
        value = np.zeros(1, self.dtype)
        if root == group.rank:
            place = [slice(i, i + 1) for i in (*index[: self.axis], k - self.first, *index[self.axis + 1 :])]
            value[:] = self.memory.host(self.array[tuple(place)], self.dtype).reshape(1)
        return group.broadcast(value, f"element {index}", root, state.history, user_line)[0]


class Spreading:
    """The processes, and what this one has run so far, as a number that is the same in all of them."""

    def __init__(self, group: Group) -> None:
        self.group, self.history = group, 0
        self.counts = {"exchanges": 0, "gathers": 0, "gathered_bytes": 0, "reductions": 0, "segments": 0}
        self.memories: dict[str, DeviceMemory] = {}

    def memory_of(self, x: Any) -> Memory:
        """Where rows of such a value lie now: on the device that `config.device` names, if it has their dtype. All
        processes come here together: the first time they find out how to reach one another's devices."""
        device = current()
        if device is None or not device.can_hold(x):
            return main_memory
        found = self.memories.get(device.name)
        if found is None:
            found = self.memories[device.name] = DeviceMemory(device, self.group.reach(device))
        return found

    def gathers(self, size: int, nbytes: int) -> None:
        """Count that so many elements are brought together in each process. GatherError where they are too many."""
        if size < config.spread_size:
            return
        if nbytes > config.gather_bytes:
            raise GatherError(
                f"{user_line()} needs all {nbytes:,} bytes of an array in each process; config.gather_bytes allows "
                f"{config.gather_bytes:,}"
            )
        self.counts["gathers"] += 1
        self.counts["gathered_bytes"] += nbytes
        profile.host_calls["gather over processes", user_line()] += 1


_spreading: Spreading | None = None


def spreading() -> Spreading:
    assert _spreading is not None
    return _spreading


def begin(group: Group) -> Spreading:
    global _spreading
    _spreading = Spreading(group)
    return _spreading


def at(axis: int, start: int, stop: int) -> Any:
    return (*(slice(None),) * axis, slice(start, stop))


class Moves:
    """What each process gives the others, gathered from many values, and sent in one message to each."""

    def __init__(self, state: Spreading) -> None:
        self.state, self.group = state, state.group
        self.sends: dict[int, list[np.ndarray]] = {}
        self.receives: dict[int, list[np.ndarray]] = {}
        self.beside: Beside | None = None
        self.later: list[tuple[Memory, Any, Any]] = []

    def send(self, q: int, part: Any, memory: Memory) -> None:
        here = self.sends.setdefault(q, [])
        there = here if memory.link is None else self.through(memory.link).sends.setdefault(q, [])
        there.append(memory.sent(part))

    def receive(self, q: int, target: Any, memory: Memory, dtype: Any) -> None:
        buffer = memory.landing(target, dtype)
        if buffer is not target:
            self.later.append((memory, target, buffer))
        here = self.receives.setdefault(q, [])
        there = here if memory.link is None else self.through(memory.link).receives.setdefault(q, [])
        there.append(buffer)

    def through(self, link: Any) -> Beside:
        """What goes through a link; all that is exchanged at a time lies on one device."""
        if self.beside is None:
            self.beside = Beside(link)
        return self.beside

    def extend(self, value: Spread, needs: Sequence[Interval]) -> None:
        """Have needs[q] right on each rank q, beside what it has."""
        group, axis, memory = self.group, value.axis, value.memory
        me, n = group.rank, value.shape[axis]
        need, have = needs[me], value.have[me]
        stop = value.first + value.array.shape[axis]
        if need[0] < need[1] and (need[0] < value.first or need[1] > stop):
            low, high = min(need[0], have[0]), max(need[1], have[1])
            new = memory.empty(replaced(value.shape, axis, high - low), value.dtype)
            memory.write(new[at(axis, have[0] - low, have[1] - low)], value.rows(have))
            value.array, value.first = new, low
        else:
            value.array = memory.writable(value.array)
        mine = own(n, me, group.size)
        for q in range(group.size):
            if q == me:
                continue
            owned = own(n, q, group.size)
            for a, b in lacking(needs[q], value.have[q]):
                a, b = max(a, mine[0]), min(b, mine[1])
                if a < b:
                    self.send(q, value.rows((a, b)), memory)
            for a, b in lacking(need, have):
                a, b = max(a, owned[0]), min(b, owned[1])
                if a < b:
                    self.receive(q, value.rows((a, b)), memory, value.dtype)
        value.have = [joined_rows(h, need) for h, need in zip(value.have, needs)]

    def apart(self, value: Spread, needs: Sequence[Interval]) -> Spread:
        """Rows needs[q] for each rank q, of which some are far from those that it has."""
        group, axis, memory = self.group, value.axis, value.memory
        me, n, need = group.rank, value.shape[value.axis], needs[group.rank]
        mine = own(n, me, group.size)
        rows = memory.empty(replaced(value.shape, axis, need[1] - need[0]), value.dtype)
        out = Spread(value.shape, value.dtype, rows, axis, need[0], needs, memory)
        for q in range(group.size):
            a, b = common(needs[q], mine)
            if a < b and q != me:
                self.send(q, value.rows((a, b)), memory)
            a, b = common(need, own(n, q, group.size))
            if a < b and q != me:
                self.receive(q, out.rows((a, b)), memory, value.dtype)
            elif a < b:
                memory.write(out.rows((a, b)), value.rows((a, b)))
        return out

    def turn(self, value: Spread, axis: int, needs: Sequence[Interval]) -> Spread:
        """The value split along another axis, with needs[q] on each rank."""
        group, size, memory = self.group, self.group.size, value.memory
        me, n = group.rank, value.shape[value.axis]
        rows, need = own(n, me, size), needs[me]
        out = memory.empty(replaced(value.shape, axis, need[1] - need[0]), value.dtype)
        for q in range(size):
            theirs = own(n, q, size)
            if q == me:
                memory.write(out[at(value.axis, *rows)], value.rows(rows)[at(axis, *need)])
                continue
            if needs[q][0] < needs[q][1]:
                self.send(q, value.rows(rows)[at(axis, *needs[q])], memory)
            if need[0] < need[1]:
                self.receive(q, out[at(value.axis, *theirs)], memory, value.dtype)
        return Spread(value.shape, value.dtype, out, axis, need[0], needs, memory)

    def run(self, what: str) -> None:
        """Send and receive it all."""
        if self.sends or self.receives:
            self.state.counts["exchanges"] += 1
            self.group.exchange(self.sends, self.receives, what, self.state.history, user_line, self.beside)
        for memory, target, buffer in self.later:
            memory.write(target, buffer)


def lacking(need: Interval, have: Interval) -> list[Interval]:
    """The rows below and above what is there."""
    a, b = need
    if b <= a:
        return []
    return [(a, min(b, have[0])), (max(a, have[1]), b)]


def common(a: Interval, b: Interval) -> Interval:
    return max(a[0], b[0]), min(a[1], b[1])


def are_apart(need: Interval, have: Interval) -> bool:
    """Whether there are rows between them."""
    return need[0] < need[1] and (need[0] > have[1] or need[1] < have[0])


def joined_rows(have: Interval, need: Interval) -> Interval:
    """What is there afterwards, of rows that adjoin."""
    if need[1] <= need[0]:
        return have
    return min(have[0], need[0]), max(have[1], need[1])


def everything(value: Spread, state: Spreading) -> np.ndarray:
    """The whole value, in main memory of every process."""
    n, have = value.shape[value.axis], value.have[state.group.rank]
    state.gathers(value.size, value.nbytes)
    moves = Moves(state)
    rows = value.memory.host(value.rows(have), value.dtype)
    copy = Spread(value.shape, value.dtype, rows, value.axis, have[0], value.have)
    moves.extend(copy, [(0, n)] * state.group.size)
    moves.run("a gather")
    return copy.rows((0, n))
