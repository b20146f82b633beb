"""`a[key]` and `a[key] = value` with arrays of integers and masks, recorded where the array is pending or large.

Bad indices are an error at the call, as in NumPy, so the indices have to be known; the elements have not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

from ..config import config
from ..graph.node import Node, leaf
from ..ops import indexing
from ..ops.shape import set_, slice_, whole
from ..runtime.views import TRANSPOSE
from .arithmetic import assign
from .array import Handle, is_native, known, ndarray, of_node, root
from .host import TracedArgumentError, at_hand, to_host
from .layout import array_of, at_once
from .record import MOST_AXES, spreads


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
            try:
                given, k = k, numpy.asarray(k._host_() if isinstance(k, Handle) else k)
            except ValueError:  # lists of unequal lengths, or of what makes itself an array of ours
                return None
            if type(given) is list and not k.size:
                k = k.astype(numpy.intp)
            known_axes = not any([i is Ellipsis for i in index])
            if k.dtype == bool and k.ndim and known_axes and x.shape[axis : axis + k.ndim] == k.shape:
                index += [numpy.ascontiguousarray(i) for i in numpy.nonzero(k)]
                axis += k.ndim
                continue
            if k.dtype.kind not in "iu" or straight and not in_order(k):
                return None
            if type(given) is ndarray and is_native(given.dtype) and k.flags.c_contiguous:
                ours[id(k)] = given._node_()
        elif isinstance(k, numpy.integer):
            k = int(k)
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


def in_order(k: numpy.ndarray) -> bool:
    """Whether indices stand in memory in C's order, forwards or backwards, with or without gaps."""
    steps = [abs(s) for n, s in zip(k.shape, k.strides) if n != 1]
    return all([s >= t for s, t in itertools.pairwise(steps)])


def recorded(x: Any) -> bool:
    """Whether the array is such that its elements are found by the engine."""
    return type(x) is ndarray and not at_hand(x) and is_native(x.dtype) and x.size > 0 and x.ndim <= MOST_AXES


def listed(key: Any) -> Any:
    """A key with lists of integers and truth values in it as arrays, and a tuple of whatever class as a tuple."""
    if not isinstance(key, tuple):
        return key
    lists = [type(k) is list and k and {int, bool}.issuperset(map(type, k)) for k in key]
    return tuple([numpy.asarray(k) if is_list else k for k, is_list in zip(key, lists)])


def gathered(x: Any, key: Any) -> Any:
    """`x[key]` of an array in C's order; NotImplemented where NumPy has to do it."""
    key = listed(key)
    if recorded(x) and divisible(key) and None not in map(type_of, key):  # where new axes lie is NumPy's to say
        view, key = split(key)
        x = x[view]
    places = places_of(x, key, True) if recorded(x) else None
    if places is None or not straight(x, places):
        return NotImplemented
    if config.limit >= 0 and known(x) and places.size <= config.limit:  # at hand, and made small
        return NotImplemented
    node, at = x._node_(), places.at
    if places.view != whole(node.shape):
        node = slice_(node, key=places.view)
    node = indexing.gather(node, *places.arrays, axes=places.axes, at=0, bounds="raise")
    if not node.shape and not (type(key) is tuple and Ellipsis in map(type_or_dots, key)):
        return of_node(node)
    out = array_of(node)
    if not at or not places.common:
        return out
    n = len(places.common)  # NumPy puts the indices' axes in front, and gives a view in which they stand in their place
    turned = out._derived_(TRANSPOSE, (*range(n, n + at), *range(n), *range(n + at, out.ndim)))
    turned._base_ = root(out)
    return turned


LINE = 16  # elements: from here on NumPy copies what an index names as a line


def takes_lines(x: Any, key: Any) -> bool:
    """Whether a key takes lines of an array that is at hand by one array of numbers or truth values along its first
    axis, which is a copy for NumPy."""
    if type(x) is not ndarray or type(key) is not ndarray or x.ndim < 2 or key.ndim != 1 or not at_once(x, key):
        return False
    return key.dtype.kind in "biu" and is_native(x.dtype) and x.size >= LINE * x.shape[0] and x._h_.flags.c_contiguous


def takes_few(x: Any, key: Any) -> bool:
    """Whether a key takes single elements, by small arrays of whole numbers, of an array that is at hand: the work is
    less than that of recording it."""
    keys = key if type(key) is tuple else (key,)
    if type(x) is not ndarray or len(keys) != x.ndim or config.limit < 0 or config.strict or not known(x):
        return False
    return all([type(k) is ndarray and at_hand(k) and k.dtype.kind in "iu" for k in keys])


def simple(k: Any) -> bool:
    """Whether a part of a key is no new axis, and no slice with steps."""
    return k is not None and not (type(k) is slice and k.step not in (None, 1))


def type_of(k: Any) -> Any:
    return None if k is None else type(k)


KEYS = frozenset({int, slice, type(None), type(Ellipsis), ndarray, numpy.ndarray})


def divisible(key: Any) -> bool:
    """Whether a key has new axes or slices with steps, and is otherwise such that it can be split."""
    return type(key) is tuple and KEYS.issuperset(map(type, key)) and not all(map(simple, key))


def split(key: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """A key with arrays as two: the view that its new axes and its slices with steps make, and what indexes that."""
    views: list[Any] = []
    for k in key:
        axes = k.ndim if isinstance(k, (Handle, numpy.ndarray)) and k.dtype == bool else 1
        views += [k] if k is Ellipsis or not simple(k) else [slice(None)] * axes
    return tuple(views), tuple([k if simple(k) else slice(None) for k in key])


def type_or_dots(k: Any) -> Any:
    return k if k is Ellipsis else type(k)


def straight(x: Any, places: Places) -> bool:
    """Whether the axes that no array indexes stand in memory in C's order, with or without gaps: the result's will."""
    meta = x._meta_()
    steps = [s for i, (n, s) in enumerate(zip(meta.shape, meta.strides)) if n != 1 and i not in places.axes]
    return min(steps, default=0) >= 0 and all([s >= t for s, t in itertools.pairwise(steps)])


def shape_of_numbers(value: Any) -> tuple[int, ...] | None:
    """The shape of a nested list of numbers; None for a list of anything else."""
    try:
        made = numpy.asarray(to_host(value, []))
    except (TracedArgumentError, ValueError, OverflowError):
        return None
    return made.shape if made.dtype.kind in "biufc" else None


NUMBERS = frozenset({bool, int, float, complex, *[numpy.dtype(c).type for c in "?bBhHiIlLqQefdgFDG"]})


def scattered(x: Any, key: Any, value: Any, fill: Callable[[Any, tuple[int, ...], Any], Node | None]) -> bool:
    """Record `x[key] = value`; whether that was done. `fill(value, shape, dtype)` is the node that fills a region."""
    key = numpy.asarray(key) if type(key) is list and bool in map(type, key) else listed(key)
    mask = isinstance(key, (Handle, numpy.ndarray)) and key.dtype == bool
    if not recorded(x) or mask and key.ndim == x.ndim and numpy.ndim(value) > 1:  # which NumPy takes in a row
        return False
    if config.limit >= 0 and known(x) and not config.strict:  # at hand: NumPy writes without a copy
        return False
    if divisible(key):
        view, key = split(key)
        return scattered(x[view], key, value, fill)
    places = places_of(x, key, False)
    if places is None:
        return False
    base = x._node_()
    region = slice_(base, key=places.view) if places.view != whole(base.shape) else base
    shape = indexing.indexed_shape(region.shape, [i.aval for i in places.arrays], places.axes, places.at)
    if type(value) in (list, tuple):
        given: Any = shape_of_numbers(value)
    else:
        given = () if type(value) in NUMBERS else getattr(value, "shape", None)
    while given is not None and len(given) > len(shape) > 0 and given[0] == 1:
        given = given[1:]
    if given is None or not spreads(given, shape):
        return False
    if isinstance(value, numpy.generic) and any([i.shape for i in places.arrays]):
        value = value.astype(x.dtype)  # which NumPy casts here, and refuses in `x[1:] = value` where it is too large
    new = fill(value, shape, x.dtype)
    if new is None:
        return False
    how = {"axes": places.axes, "at": places.at, "bounds": "raise", "mode": "set"}
    made = indexing.scatter(region, new, *places.arrays, **how)
    assign(x, made if region is base else set_(base, made, key=places.view))
    return True
