"""Reductions over windows."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...graph.node import Node
from ...ops.elementwise import where
from ...ops.joining import span
from ...ops.promotion import Shape
from ...tree import unflatten
from ..at_once import apply_like
from ..spreading import keeping
from .call import public, sizes_of, spread
from .folds import ORDERED, Combine, is_groupable
from .pieces import padded
from .reductions import KNOWN, alike, called, combiner, identity, is_identity


@public
def padtype_to_pads(in_shape: Any, window_shape: Any, window_strides: Any, padding: Any) -> list[tuple[int, int]]:
    """What "SAME", "SAME_LOWER" and "VALID" stand for. Raises TypeError or RuntimeError for another word."""
    if not isinstance(padding, str):
        raise TypeError(f"Unknown padding type: {padding}.")
    kind = padding.upper()
    if kind == "VALID":
        return [(0, 0)] * len(in_shape)
    if kind not in ("SAME", "SAME_LOWER"):
        raise RuntimeError(f"Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER', got {padding}.")
    pads = []
    for n, k, step in zip(*np.broadcast_arrays(in_shape, window_shape, window_strides)):
        total = max((-(-n // step) - 1) * step + k - n, 0)
        low = total // 2 if kind == "SAME" else total - total // 2
        pads.append((int(low), int(total - low)))
    return pads


def dilated(sizes: Sequence[int], dilation: Sequence[int]) -> Shape:
    return tuple([0 if n == 0 else (n - 1) * d + 1 for n, d in zip(sizes, dilation)])


class Window:
    """The parameters of a window, checked.

    Raises: ValueError or TypeError for those that do not fit.
    """

    def __init__(
        self, name: str, shape: Shape, sizes: Any, strides: Any, padding: Any, base: Any = None, inner: Any = None
    ) -> None:
        ones = (1,) * len(shape)
        self.sizes = sizes_of(sizes)
        self.strides, self.base, self.inner = (ones if v is None else sizes_of(v) for v in (strides, base, inner))
        for what, v in (("dimensions", self.sizes), ("strides", self.strides)):
            if len(v) != len(shape):
                raise TypeError(
                    f"{name} got the wrong number of window_{what} for operand: got operand shape {shape} with "
                    f"window_{what} {v}."
                )
        names = ("window_dimensions", "window_strides", "base_dilation", "window_dilation")
        for what, v in zip(names, (self.sizes, self.strides, self.base, self.inner)):
            if any(n < 1 for n in v):
                raise TypeError(f"{name} {what} must have every element be strictly positive, got {v}.")
        wide = dilated(self.sizes, self.inner)
        self.padding = tuple([(operator.index(a), operator.index(b)) for a, b in padding])
        if len(self.padding) != len(shape):
            raise ValueError(f"{name} padding must have a pair for each axis of shape {shape}, got {self.padding}")
        full = [n + a + b for n, (a, b) in zip(dilated(shape, self.base), self.padding)]
        self.shape = tuple([max((n - k) // t + 1, 0) if n >= k else 0 for n, k, t in zip(full, wide, self.strides)])


@public
def reduce_window_shape_tuple(
    operand_shape: Any,
    window_dimensions: Any,
    window_strides: Any,
    padding: Any,
    base_dilation: Any = None,
    window_dilation: Any = None,
) -> Shape:
    """The shape of what reduce_window makes."""
    shape = sizes_of(operand_shape, unknown=True)
    return Window(
        "reduce_window", shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    ).shape


def windowed(xs: list[Node], fills: list[Node], w: Window, combine: Combine) -> list[Node]:
    """Combined over windows, an axis at a time, the last one first: the order of elements is kept, so that a function
    which chooses the first of equals chooses as one that reads the window row by row."""
    xs = surrounded(xs, fills, w)
    for axis in reversed(range(len(w.sizes))):
        k, step, gap, n = w.sizes[axis], w.strides[axis], w.inner[axis], w.shape[axis]
        if (k, step) == (1, 1):
            continue
        if k <= 16 or n == 0:
            parts = [[span(x, axis, i * gap, n, step) for x in xs] for i in range(k)]
            xs = functools.reduce(combine, parts)
        else:
            xs = [span(x, axis, 0, n, step) for x in doubled(xs, axis, k, gap, combine)]
    return xs


def surrounded(xs: list[Node], fills: list[Node], w: Window) -> list[Node]:
    """The operands with their padding, and with what lies between elements."""
    config = [(low, high, d - 1) for (low, high), d in zip(w.padding, w.base)]
    return [padded(x, v, config) if any(c != (0, 0, 0) for c in config) else x for x, v in zip(xs, fills)]


def windowed_one_by_one(xs: list[Node], fills: list[Node], w: Window, combine: Combine) -> list[Node]:
    """Each window's elements combined row by row, from the initial values on. Padding is left out."""
    there = spread(Node.of_scalar(np.True_), xs[0].shape)
    xs = surrounded([*xs, there], [*fills, Node.of_scalar(np.False_)], w)

    def further(found: list[Node], place: Shape) -> list[Node]:
        parts = xs
        for axis, i in enumerate(place):
            parts = [span(x, axis, i * w.inner[axis], w.shape[axis], w.strides[axis]) for x in parts]
        *elements, inside = parts
        return [where(inside, new, old) for new, old in zip(combine(found, elements), found)]

    return functools.reduce(further, np.ndindex(*w.sizes), [spread(v, w.shape) for v in fills])


def doubled(xs: list[Node], axis: int, k: int, gap: int, combine: Combine) -> list[Node]:
    """Windows of k elements at every place, from those of 1, 2, 4, ... elements."""
    out: list[Node] | None = None
    start, size = 0, 1
    count = xs[0].shape[axis] - (k - 1) * gap
    while True:
        if k & size:
            part = [span(x, axis, start * gap, count) for x in xs]
            out = part if out is None else combine(out, part)
            start += size
        if start == k:
            assert out is not None
            return out
        n = xs[0].shape[axis] - size * gap
        xs = combine([span(x, axis, 0, n) for x in xs], [span(x, axis, size * gap, n) for x in xs])
        size *= 2


@public
def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[..., Any],
    window_dimensions: Any,
    window_strides: Any = None,
    padding: Any = "VALID",
    base_dilation: Any = None,
    window_dilation: Any = None,
) -> Any:
    """A reduction over windows of the operand, padded with the initial value. Trees of operands have trees of both.

    Raises: TypeError or ValueError for parameters that do not fit.
    """
    nodes, fills, tree = alike("reduce_window", operand, init_value)
    if not nodes:
        raise ValueError("reduce_window must have at least one operand.")
    if isinstance(padding, str):
        sizes = sizes_of(window_dimensions)
        wide = sizes if window_dilation is None else dilated(sizes, sizes_of(window_dilation))
        padding = padtype_to_pads(nodes[0].shape, wide, window_strides or (), padding)
    weak = False
    name = {"add": "add", "max": "maximum", "min": "minimum"}.get(called(computation))
    if len(nodes) == 1 and name is not None and not fills[0].ndim and is_identity(fills[0], name):
        fills, weak = [identity(name, nodes[0])], nodes[0].weak
        if name == "add" and nodes[0].dtype.kind == "b":
            raise TypeError("operand to reduce_window_sum must have a number dtype, got bool")
        combine = KNOWN[name]
    else:
        combine, name = combiner(computation, init_value)
    if any(a.dtype != b.dtype for a, b in zip(nodes, fills)):
        raise TypeError(
            "reduce_window got inconsistent dtypes for operands and init_values: got operand dtypes "
            f"{[n.dtype for n in nodes]} and init_value dtypes {[n.dtype for n in fills]}."
        )
    if any(f.ndim for f in fills):
        raise TypeError(
            f"reduce_window expected init_values to be scalars but init_values have shapes {[f.shape for f in fills]}."
        )
    w = Window(
        "reduce_window", nodes[0].shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    combine = KNOWN.get(name or "", combine)
    ordered = math.prod(w.sizes) <= ORDERED and not is_groupable(computation, combine, name, [n.dtype for n in nodes])

    def run(*xs: Node) -> tuple[Node, ...]:
        rows, starts = list(xs[: len(nodes)]), list(xs[len(nodes) :])
        if ordered:
            return tuple(windowed_one_by_one(rows, starts, w, combine))
        out = windowed(rows, starts, w, combine)
        if all(is_identity(f, name) for f in fills):
            return tuple(out)
        return tuple(combine([spread(v, w.shape) for v in starts], out))

    out = keeping(nodes[0], "reduce_window", lambda: apply_like(run, *nodes, *fills, weak=weak))
    return unflatten(tree, list(out))


__all__ = ["padtype_to_pads", "reduce_window", "reduce_window_shape_tuple"]
