"""Elements in memory: where they lie, and whether two sets of them have some in common."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

Shape = tuple[Any, ...]  # numbers, and lengths that move


class Length(str):
    """A length that moves from round to round: an expression of C++, and how long it may be."""

    most: int

    def __new__(cls, text: str, most: int) -> Length:
        out = super().__new__(cls, text)
        out.most = most
        return out


class Region(NamedTuple):
    """Elements in the memory of a parameter ("p", number) or of a value ("v", slot): strides and start in elements,
    `moves`: the numbers of the offsets (in bytes) that are added."""

    root: tuple[str, int]
    shape: Shape
    strides: Shape
    start: int
    moves: tuple[int, ...]
    dtype: str


def most(n: int | Length) -> int:
    return n.most if isinstance(n, Length) else n


def dense(shape: Shape) -> Shape:
    """Strides of room for the longest."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= most(n)
    return tuple(reversed(strides))


def capacity(shape: Shape) -> int:
    return math.prod([most(n) for n in shape])


def has_gaps(shape: Shape) -> bool:
    """Whether what is so laid out is not one piece whenever it is shorter."""
    return any([isinstance(n, Length) for n in shape[1:]])


def alike(a: Region, b: Region) -> bool:
    """Whether both are the same elements in the same order."""
    return a[1:] == b[1:] and a.root == b.root


@functools.lru_cache(4096)
def apart(a: Region, b: Region) -> bool | str:
    """Whether two regions of one memory share no element: True, False, or a C++ expression for it."""
    move = any([isinstance(n, Length) for n in (*a.shape, *b.shape)])
    if a.moves == b.moves:
        share = shares(longest(a), longest(b))
        if not (share and move):
            return not share
    low_a, high_a = span(a)
    low_b, high_b = span(b)
    item = np.dtype(a.dtype).itemsize
    first, second = offset(a), offset(b)
    before = f"{first} + ({high_a}) * {item} <= {second} + ({low_b}) * {item}"
    beside = f"({before} || {second} + ({high_b}) * {item} <= {first} + ({low_a}) * {item})"
    if a.shape == b.shape and a.strides == b.strides and len(a.shape) == 1 and a.strides[0] > 1:  # columns
        step = a.strides[0] * item
        return f"({beside} || ({first} - ({second})) % {step} != 0)"
    return beside


def offset(r: Region) -> str:
    """The C++ of where it begins in its memory, in bytes."""
    return " + ".join([str(r.start * np.dtype(r.dtype).itemsize), *[f"o[{k}]" for k in r.moves]])


def longest(r: Region) -> Region:
    return r._replace(shape=tuple([most(n) for n in r.shape]), moves=())


def span(r: Region) -> tuple[str, str]:
    """The first element and the one after the last, from its start."""
    steps = [f"({n} - 1) * {s}" for n, s in zip(r.shape, r.strides) if s < 0 and n != 1]
    more = [f"({n} - 1) * {s}" for n, s in zip(r.shape, r.strides) if s > 0 and n != 1]
    return " + ".join(steps) or "0", " + ".join([*more, "1"])


def shares(a: Region, b: Region) -> bool:
    (low_a, high_a), (low_b, high_b) = limits(a), limits(b)
    if high_a <= low_b or high_b <= low_a:
        return False
    low = min(low_a, low_b)
    seen = np.zeros(max(high_a, high_b) - low, bool)
    view(seen, a, low)[...] = True
    return bool(view(seen, b, low).any())


def limits(r: Region) -> tuple[int, int]:
    """Of a region whose lengths are numbers."""
    low = sum([(n - 1) * s for n, s in zip(r.shape, r.strides) if s < 0])
    high = sum([(n - 1) * s for n, s in zip(r.shape, r.strides) if s > 0])
    return r.start + low, r.start + high + 1


def view(memory: np.ndarray, r: Region, low: int) -> np.ndarray:
    return as_strided(memory[r.start - low :], r.shape, r.strides)
