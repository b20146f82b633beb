"""Counting, comparing and shifting by arrays that have no value, under `jit` and `vmap`, where NumPy's text or its C
code looks at values. Loaded with the transformations; see `traced_math.PYTHON`.
"""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy

from .. import errors
from ..ops import elementwise, signals
from ..ops.elementwise import convert
from ..ops.shape import slice_
from .array import Handle, ndarray
from .counting import is_counted
from .layout import array_of
from .record import cast_node
from .traced import TABLE, Rule, concrete, handle, node_of
from .traced_polynomials import has_value, known

INTP, FLOAT = numpy.dtype(numpy.intp), numpy.dtype(float)


def names() -> Any:
    return sys.modules["lazynp"]


# --- Whether arrays are the same --------------------------------------------------------------------------------------


def isclose(a: Any, b: Any, rtol: Any = 1.0e-5, atol: Any = 1.0e-8, equal_nan: Any = False) -> Any:
    """With tolerances that are not known: NumPy's text asks whether they are finite, to warn of it."""
    if has_value(rtol) and has_value(atol):
        return NotImplemented
    np = names()
    x, y = np.asanyarray(a), np.asanyarray(b)
    y = y.astype(np.result_type(y, 1.0))
    found = (abs(x - y) <= atol + rtol * abs(y)) & np.isfinite(y) | (x == y)
    return found | np.isnan(x) & np.isnan(y) if equal_nan else found


def allclose(a: Any, b: Any, rtol: Any = 1.0e-5, atol: Any = 1.0e-8, equal_nan: Any = False) -> Any:
    """A truth value of the engine's, where NumPy gives one of Python's. So are the next two."""
    if all(map(has_value, (a, b, rtol, atol))):
        return NotImplemented
    return names().isclose(a, b, rtol, atol, equal_nan).all()


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    if has_value(a1) and has_value(a2):
        return NotImplemented
    np = names()
    x, y = np.asarray(a1), np.asarray(a2)
    if x.shape != y.shape:
        return False
    same = x == y
    return (same | np.isnan(x) & np.isnan(y) if equal_nan else same).all()


def array_equiv(a1: Any, a2: Any) -> Any:
    if has_value(a1) and has_value(a2):
        return NotImplemented
    np = names()
    x, y = np.asarray(a1), np.asarray(a2)
    try:
        numpy.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return (x == y).all()


def isin(element: Any, test_elements: Any, assume_unique: Any = False, invert: Any = False, *, kind: Any = None) -> Any:
    """By the places in the sorted elements."""
    if has_value(element) and has_value(test_elements):
        return NotImplemented
    np = names()
    x, among = np.asarray(element), np.asarray(test_elements).ravel()
    dtype = numpy.result_type(x.dtype, among.dtype)
    if kind not in (None, "sort", "table") or dtype.kind not in "biuf":
        return NotImplemented
    if not among.size:
        return np.full(x.shape, bool(invert))
    among, x = np.sort(among.astype(dtype)), x.astype(dtype)
    found = among[np.minimum(np.searchsorted(among, x), among.size - 1)] == x
    return ~found if invert else found


# --- Counting ---------------------------------------------------------------------------------------------------------


def bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    """Of numbers that are not known, `minlength` places: larger numbers, and negative ones, are left out."""
    places, n = node_of(x), operator.index(minlength)
    if n < 0:
        raise ValueError("'minlength' must not be negative")
    if places.ndim != 1:
        raise ValueError(
            "object of too small depth for desired array" if not places.ndim else "object too deep for desired array"
        )
    if not is_counted(places.dtype):
        raise TypeError(f"Cannot cast array data from {places.dtype!r} to {INTP!r} according to the rule 'safe'")
    fixed = concrete(x) if isinstance(x, Handle) else True
    if fixed:
        values = x._host_() if isinstance(x, Handle) else numpy.asarray(x)
        n = len(numpy.bincount(values, minlength=n))
    elif not n:
        raise errors.array_error(places, "How long bincount's result is depends on its numbers, but for minlength=.")
    places = convert(places, INTP)
    outside = elementwise.logical_or(elementwise.less(places, 0), elementwise.greater_equal(places, n))
    places = elementwise.where(outside, numpy.intp(n), places)
    if weights is None:
        return handle(slice_(signals.counts(places, n=n + 1), key=((0, n, 1),)))
    given = node_of(weights)
    if given.shape != places.shape:
        raise ValueError("The weights and list don't have the same length.")
    return handle(slice_(signals.bincount(places, convert(given, FLOAT), n=n + 1), key=((0, n, 1),)))


def outer_edges(a: Any, range: Any) -> Any:
    """The least and the largest number; half a unit more on both sides, where they are the same."""
    first, last = (a.min(), a.max()) if range is None and a.size else (0, 1) if range is None else range
    if known(first, last):
        return NotImplemented
    np = names()
    first, last = np.asarray(first), np.asarray(last)
    dtype = numpy.result_type(first.dtype, last.dtype)
    more = np.where(first == last, 0.5, 0.0).astype(dtype if dtype.kind == "f" else float)
    return first - more, last + more


def bin_edges(a: Any, bins: Any, range: Any, weights: Any) -> Any:
    """How many bins a rule finds that has a name, only values say."""
    if isinstance(bins, str):
        return NotImplemented
    np, module = names(), sys.modules["lazynp.lib._histograms_impl"]
    if np.ndim(bins) == 1:
        return np.asarray(bins), None
    try:
        n = operator.index(bins)
    except TypeError:
        return NotImplemented
    if n < 1:
        return NotImplemented
    first, last = module._get_outer_edges(a, range)
    dtype = np.result_type(first, last, a)
    return np.linspace(first, last, n + 1, dtype=dtype if dtype.kind in "fc" else np.result_type(dtype, float)), (
        first,
        last,
        n,
    )


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """By the places of the numbers among the edges."""
    if all(map(has_value, (a, bins, range, weights))):
        return NotImplemented
    np, module = names(), sys.modules["lazynp.lib._histograms_impl"]
    a, weights = module._ravel_and_check_weights(a, weights)
    edges, even = module._get_bin_edges(a, bins, range, weights)
    x = np.asarray(a)
    dtype = edges.dtype if even is not None else numpy.result_type(x.dtype, edges.dtype)
    grid, at = [cast_node(node_of(v), dtype) for v in (edges, x)]
    if weights is None:
        counted = array_of(signals.tally(grid, at, even=False))
    else:
        places = np.searchsorted(array_of(grid), array_of(at), side="right")
        places = np.where(array_of(at) == edges[-1], edges.size - 1, places)
        counted = weighted(places, weights, edges.size + 1)[1:-1]
    if not density:
        return counted, edges
    return counted / np.array(np.diff(edges), float) / counted.sum(), edges


def weighted(places: Any, weights: Any, n: int) -> Any:
    np = names()
    if weights.dtype.kind == "c":
        return weighted(places, weights.real, n) + 1j * weighted(places, weights.imag, n)
    return np.bincount(places, weights, n).astype(weights.dtype)


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Whether the edges descend, their ends say."""
    np = names()
    edges = np.asarray(bins)
    if known(edges) or edges.ndim != 1 or not edges.size or edges.dtype.kind == "c":
        return NotImplemented
    side = "left" if right else "right"
    up, down = np.searchsorted(edges, x, side=side), len(edges) - np.searchsorted(edges[::-1], x, side=side)
    return np.where(edges[0] <= edges[-1], up, down)


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: Any = "C") -> Any:
    """Where they are to be in range (`mode="raise"`), numbers that have no value are taken to be."""
    if has_value(multi_index) or order not in ("C", "F"):
        return NotImplemented
    np = names()
    sizes = [operator.index(n) for n in (dims if numpy.iterable(dims) else (dims,))]
    modes = (mode,) * len(sizes) if isinstance(mode, str) else tuple(mode)
    numbers = [np.asarray(x) for x in multi_index]
    if len(numbers) != len(sizes) or len(modes) != len(sizes) or any(x.dtype.kind not in "iu" for x in numbers):
        return NotImplemented
    bounded = [
        np.clip(x, 0, n - 1) if m == "clip" else x % n if m == "wrap" else x for x, n, m in zip(numbers, sizes, modes)
    ]
    total: Any = 0
    axes = list(zip(bounded, sizes))
    for x, n in axes if order == "C" else reversed(axes):
        total = total * n + x.astype(np.intp)
    return total


# --- Places and windows -----------------------------------------------------------------------------------------------


def extreme_place(name: str, instead: float) -> Rule:
    """`nanargmin` and `nanargmax`: -1 where all are NaN, which is an error only where it is known."""

    def rule(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = numpy._NoValue) -> Any:
        if type(a) is not ndarray or concrete(a) or a.dtype.kind != "f" or out is not None:
            return NotImplemented
        np, missing = names(), names().isnan(a)
        kept = keepdims is not numpy._NoValue and bool(keepdims)
        place = getattr(np, name)(np.where(missing, a.dtype.type(instead), a), axis=axis, keepdims=kept)
        return np.where(missing.all(axis=axis, keepdims=kept), -1, place)

    return rule


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """By a number of places that is not known."""
    if has_value(shift):
        return NotImplemented
    np = names()
    x = np.asanyarray(a)
    if axis is None:
        return roll(x.ravel(), shift, 0).reshape(x.shape)
    shifts, axes = np.broadcast_arrays(np.asarray(shift), numpy.asarray(axis))
    if shifts.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    for by, k in zip(shifts.reshape(-1), axes.reshape(-1).tolist()):
        n = x.shape[k]
        x = np.take(x, (np.arange(n) - by) % max(n, 1), axis=k)
    return x


def kaiser(M: Any, beta: Any) -> Any:
    """For a shape that is traced; how long the window is has to be known."""
    np = names()
    if not known(M):
        return NotImplemented
    if M <= 1:
        return np.ones(max(int(M), 0))
    middle = (M - 1) / 2.0
    across = numpy.sqrt(1 - ((numpy.arange(0, M) - middle) / middle) ** 2.0)
    beta = np.asarray(beta) * 1.0
    return np.i0(beta * across) / np.i0(beta)


TABLE["bincount"] = bincount
TABLE["ravel_multi_index"] = ravel_multi_index
RULES: tuple[tuple[str, str, Rule], ...] = (
    ("lazynp._core.numeric", "isclose", isclose),
    ("lazynp._core.numeric", "allclose", allclose),
    ("lazynp._core.numeric", "array_equal", array_equal),
    ("lazynp._core.numeric", "array_equiv", array_equiv),
    ("lazynp._core.numeric", "roll", roll),
    ("lazynp.lib._arraysetops_impl", "isin", isin),
    ("lazynp.lib._function_base_impl", "digitize", digitize),
    ("lazynp.lib._function_base_impl", "kaiser", kaiser),
    ("lazynp.lib._histograms_impl", "_get_bin_edges", bin_edges),
    ("lazynp.lib._histograms_impl", "_get_outer_edges", outer_edges),
    ("lazynp.lib._histograms_impl", "histogram", histogram),
    ("lazynp.lib._nanfunctions_impl", "nanargmin", extreme_place("argmin", numpy.inf)),
    ("lazynp.lib._nanfunctions_impl", "nanargmax", extreme_place("argmax", -numpy.inf)),
)
