"""The order in which NumPy goes through axes."""

from __future__ import annotations


def memory_order(ndim: int, strides: list[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The axes from the slowest to the fastest, as NumPy's iterator orders them: by the strides of all operands, C's
    order where they disagree (`npyiter_find_best_axis_ordering`). None where it is C's."""
    perm = list(range(ndim - 1, -1, -1))  # fastest first
    for i in range(1, ndim):
        axis, place = perm[i], i
        for j in range(i - 1, -1, -1):
            compared = swap = False
            for s in strides:
                if s[axis] and s[perm[j]]:
                    if s[perm[j]] <= s[axis]:
                        swap = False
                    elif not compared:
                        swap = True
                    compared = True
            if compared:
                if not swap:
                    break
                place = j
        perm.insert(place, perm.pop(i))
    memory = tuple(reversed(perm))
    return None if memory == tuple(range(ndim)) else memory
