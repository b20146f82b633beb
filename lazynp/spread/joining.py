"""What joins the processes' parts of a result along the axis that is split: the sums before each, a common order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import user_line
from .buffer import Moves, Spreading, at
from .layout import Interval, own

SAMPLES = 32  # of each process's values, from which the bounds of a sort are taken


def scan(value: np.ndarray, axis: int, join: str, state: Spreading) -> np.ndarray:
    """A running sum: each process has that of its rows, and adds the totals of those before."""
    ufunc, n = getattr(np, join), value.shape[axis]
    with np.errstate(all="ignore"):
        before = state.group.before(value[at(axis, n - 1, n)], ufunc, "a running sum", state.history, user_line)
        return value if before is None else ufunc(before, value).astype(value.dtype, copy=False)


def sort(value: np.ndarray, axis: int, join: str, state: Spreading) -> np.ndarray:
    """A sort by samples: of its sorted values, each process gives every other those between its bounds. Afterwards
    all get as many as they had."""
    group = state.group
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
                moves.send(q, part)
            if n:
                moves.receive(q, found[start : start + n])
        start += n
    moves.run("a sort")
    found.sort()
    total = int(counts[size].sum())
    needs = [own(total, q, size) for q in range(size)]
    return shared_out(found, [0, *np.cumsum(counts[:size].sum(axis=0)).tolist()], needs, state)


def shared_out(part: np.ndarray, ends: Sequence[int], needs: Sequence[Interval], state: Spreading) -> np.ndarray:
    """Rows needs[rank] of a value of which each process has a part: rank q rows ends[q] to ends[q + 1]."""
    group = state.group
    me = group.rank
    low, high = needs[me]
    out = np.empty((high - low, *part.shape[1:]), part.dtype)
    moves = Moves(state)
    for q in range(group.size):
        a, b = max(needs[q][0], ends[me]), min(needs[q][1], ends[me + 1])
        if a < b and q != me:
            moves.send(q, part[a - ends[me] : b - ends[me]])
        a, b = max(low, ends[q]), min(high, ends[q + 1])
        if a < b and q != me:
            moves.receive(q, out[a - low : b - low])
        elif a < b:
            out[a - low : b - low] = part[a - ends[me] : b - ends[me]]
    moves.run("rows to be shared out")
    return out


ACROSS = {"scan": scan, "sort": sort}
