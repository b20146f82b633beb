"""`a[key]` and `a[key] = value` with arrays of integers and masks, recorded where the array is pending or large.

Bad indices are an error at the call, as in NumPy, so the indices have to be known; the elements have not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

from ..config import config
from ..graph.node import Node, leaf
from ..ops import indexing
from ..ops.shape import set_, slice_, whole
from ..runtime.views import TRANSPOSE
from .arithmetic import assign
from .array import Handle, is_native, known, ndarray, root
from .host import at_hand
from .layout import array_of, c_contiguous
from .record import MOST_AXES


class Places(NamedTuple):
    """What a key says: a view, the axes of it that arrays index, where their shape goes in the result, the arrays,
    their common shape, and how many elements there are."""

    view: Any
    axes: tuple[int, ...]
    at: int
    arrays: list[Node]
    common: tuple[int, ...]
    size: int


def places_of(x: Any, key: Any, straight: bool) -> Places | None:
    """The places; None where NumPy has to find them, or to say what is wrong. With `straight` None too where indices do
    not lie in C's order: a result lies as they do."""
    index: list[Any] = []
    ours: dict[int, Node] = {}  # of indices that are arrays of ours, which need no copy
    axis = 0
    for k in key if type(key) is tuple else (key,):
        if type(k) is list or isinstance(k, (Handle, numpy.ndarray)):
            given, k = k, numpy.asarray(k._host() if isinstance(k, Handle) else k)
            known_axes = not any([i is Ellipsis for i in index])
            if k.dtype == bool and k.ndim and known_axes and x.shape[axis : axis + k.ndim] == k.shape:
                index += [numpy.ascontiguousarray(i) for i in numpy.nonzero(k)]
                axis += k.ndim
                continue
            if k.dtype.kind not in "iu" or not k.ndim or straight and not k.flags.c_contiguous:
                return None
            if type(given) is ndarray and is_native(given.dtype) and k.flags.c_contiguous:
                ours[id(k)] = given._node()
        elif type(k) is not int and k is not Ellipsis and not (type(k) is slice and k.step in (None, 1)):
            return None
        index.append(k if type(k) is not int else numpy.asarray(k))
        axis += 1
    try:
        view, axes, at, arrays = indexing.split_index(x.shape, tuple(index))
        common = numpy.broadcast_shapes(*[i.shape for i in arrays])
    except (IndexError, TypeError, ValueError):
        return None
    for i, along in zip(arrays, axes):
        n = x.shape[along]
        if i.size and not -n <= i.min() <= i.max() < n:
            return None
    size = 1
    for n in (*common, *[count for j, (_, count, _) in enumerate(view) if j not in axes]):
        size *= n
    nodes = [ours[id(i)] if id(i) in ours else leaf(i.shape, i.dtype, i.copy("C")) for i in arrays]
    fits = axes and len(common) + x.ndim <= MOST_AXES
    return Places(view, axes, at, nodes, common, size) if fits else None


def recorded(x: Any) -> bool:
    """Whether the array is such that its elements are found by the engine."""
    return type(x) is ndarray and not at_hand(x) and is_native(x.dtype) and x.size > 0 and x.ndim <= MOST_AXES


def gathered(x: Any, key: Any) -> Any:
    """`x[key]` of an array in C's order; NotImplemented where NumPy has to do it."""
    places = places_of(x, key, True) if recorded(x) and c_contiguous(x) else None
    if places is None or config.limit >= 0 and known(x) and places.size <= config.limit:  # at hand, and made small
        return NotImplemented
    node, at = x._node(), places.at
    if places.view != whole(node.shape):
        node = slice_(node, key=places.view)
    out = array_of(indexing.gather(node, *places.arrays, axes=places.axes, at=0, bounds="raise"))
    if not at:
        return out
    n = len(places.common)  # NumPy puts the indices' axes in front, and gives a view in which they stand in their place
    turned = out._derived(TRANSPOSE, (*range(n, n + at), *range(n), *range(n + at, out.ndim)))
    turned._base = root(out)
    return turned


NUMBERS = frozenset({bool, int, float, complex})


def spreads(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether an array fills a region without more axes than that has."""
    return len(given) <= len(shape) and all([n in (1, m) for n, m in zip(given[::-1], shape[::-1])])


def scattered(x: Any, key: Any, value: Any, fill: Callable[[Any, tuple[int, ...], Any], Node | None]) -> bool:
    """Record `x[key] = value`; whether that was done. `fill(value, shape, dtype)` is the node that fills a region."""
    mask = (
        isinstance(key, (Handle, numpy.ndarray)) and key.dtype == bool or type(key) is list and bool in map(type, key)
    )
    if mask or not recorded(x):  # what is written where a mask is set NumPy takes in a row
        return False
    places = places_of(x, key, False)
    if places is None or config.limit >= 0 and known(x) and not config.strict:  # at hand: NumPy writes without a copy
        return False
    base = x._node()
    region = slice_(base, key=places.view) if places.view != whole(base.shape) else base
    shape = indexing.indexed_shape(region.shape, [i.aval for i in places.arrays], places.axes, places.at)
    if type(value) not in NUMBERS and not (isinstance(value, (ndarray, numpy.ndarray)) and spreads(value.shape, shape)):
        return False
    new = fill(value, shape, x.dtype)
    if new is None:
        return False
    how = {"axes": places.axes, "at": places.at, "bounds": "raise", "mode": "set"}
    made = indexing.scatter(region, new, *places.arrays, **how)
    assign(x, made if region is base else set_(base, made, key=places.view))
    return True
