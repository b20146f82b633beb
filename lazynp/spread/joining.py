"""What joins the processes' parts of a result along the axis that is split: the sums before each, a common order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import user_line
from ..runtime.profile import profile
from .buffer import Moves, Spreading, at
from .layout import Interval, own
from .memory import Memory, main_memory

SAMPLES = 32  # of each process's values, from which the bounds of a sort are taken


def scan(value: Any, dtype: Any, axis: int, join: str, state: Spreading, memory: Memory) -> Any:
    """A running sum: each process has that of its rows, and adds the totals of those before."""
    ufunc, n = getattr(np, join), value.shape[axis]
    last = memory.host(value[at(axis, n - 1, n)], dtype)
    with np.errstate(all="ignore"):
        before = state.group.before(last, ufunc, "a running sum", state.history, user_line)
    return value if before is None else memory.joined(join, memory.bring(before.astype(dtype, copy=False)), value)


def sort(rows: Any, dtype: Any, axis: int, join: str, state: Spreading, memory: Memory) -> Any:
    """A sort by samples: of its sorted values, each process gives every other those between its bounds. Afterwards
    all get as many as they had. In main memory."""
    group, value = state.group, memory.host(rows, dtype)
    if memory.device is not None:
        profile.device_host["sort over processes"] += 1
    size, me = group.size, group.rank
    chosen = value[np.linspace(0, len(value) - 1, SAMPLES).astype(int)]
    samples = np.sort(np.concatenate(group.all_gather(chosen, "a sort", state.history, user_line)))
    bounds = samples[[len(samples) * q // size for q in range(1, size)]]
    ends = [0, *np.searchsorted(value, bounds).tolist(), len(value)]
    counts = np.zeros((size + 1, size), np.int64)  # how many each gives to each, and how many there are
    counts[me] = np.diff(ends)
    counts[size, me] = len(value)
    counts = group.all_reduce(counts, np.add, "a sort", state.history, user_line)
    found = np.empty(int(counts[:size, me].sum()), value.dtype)
    moves, start = Moves(state), 0
    for q in range(size):
        n = int(counts[q, me])
        part = value[ends[q] : ends[q + 1]]
        if q == me:
            found[start : start + n] = part
        else:
            if len(part):
                moves.send(q, part, main_memory)
            if n:
                moves.receive(q, found[start : start + n], main_memory, dtype)
        start += n
    moves.run("a sort")
    found.sort()
    total = int(counts[size].sum())
    needs = [own(total, q, size) for q in range(size)]
    ends = [0, *np.cumsum(counts[:size].sum(axis=0)).tolist()]
    return memory.bring(shared_out(found, dtype, ends, needs, state, main_memory))


def shared_out(
    part: Any, dtype: Any, ends: Sequence[int], needs: Sequence[Interval], state: Spreading, memory: Memory
) -> Any:
    """Rows needs[rank] of a value of which each process has a part: rank q rows ends[q] to ends[q + 1]."""
    group = state.group
    me = group.rank
    low, high = needs[me]
    out = memory.empty((high - low, *part.shape[1:]), dtype)
    moves = Moves(state)
    for q in range(group.size):
        a, b = max(needs[q][0], ends[me]), min(needs[q][1], ends[me + 1])
        if a < b and q != me:
            moves.send(q, part[a - ends[me] : b - ends[me]], memory)
        a, b = max(low, ends[q]), min(high, ends[q + 1])
        if a < b and q != me:
            moves.receive(q, out[a - low : b - low], memory, dtype)
        elif a < b:
            memory.write(out[a - low : b - low], part[a - ends[me] : b - ends[me]])
    moves.run("rows to be shared out")
    return out


ACROSS = {"scan": scan, "sort": sort}
