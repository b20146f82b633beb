"""NumPy's basic indices, normalized to keys (see `ops/shape.py`)."""

from __future__ import annotations

import operator
from typing import Any

from ..ops.shape import Key

PLAIN_INDEX = frozenset({int, slice, type(None), type(Ellipsis)})


def is_plain(key: Any) -> bool:
    """Whether a key is made of Python ints, slices, None and Ellipsis only, none of which can hold an array."""
    kind = type(key)
    if kind is tuple:
        for k in key:  # noqa: SIM110 (all() of a generator takes over twice as long)
            if type(k) not in PLAIN_INDEX:
                return False
        return True
    return kind in PLAIN_INDEX


def too_many(shape: tuple[int, ...], used: int) -> IndexError:
    return IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but {used} were indexed")


def normalize(index: Any, shape: tuple[int, ...]) -> Key:
    """The key of a plain index. Raises NumPy's IndexError."""
    index = index if type(index) is tuple else (index,)
    used = 0
    dots = 0
    for k in index:
        if k is Ellipsis:
            dots += 1
        elif k is not None:
            used += 1
    if dots > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if used > len(shape):
        raise too_many(shape, used)
    if not dots and used < len(shape):
        index = (*index, Ellipsis)
    key: list[Any] = []
    axis = 0
    for k in index:
        if type(k) is slice:
            start, stop, step = k.indices(shape[axis])
            count = stop - start if step == 1 else (stop - start + step - (1 if step > 0 else -1)) // step
            key.append((start, count, step) if count > 0 else (0, 0, 1))
            axis += 1
        elif k is None:
            key.append(None)
        elif k is Ellipsis:
            for n in shape[axis : axis + len(shape) - used]:
                key.append((0, n, 1))
            axis += len(shape) - used
        else:
            i = operator.index(k)
            n = shape[axis]
            if not -n <= i < n:
                raise IndexError(f"index {i} is out of bounds for axis {axis} with size {n}")
            key.append(i + n if i < 0 else i)
            axis += 1
    return tuple(key)
