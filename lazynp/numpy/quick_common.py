"""Functions that programs call often on small arrays, and that NumPy has in Python: without what it asks first.

As in `quick`, each does what NumPy's does for plain arrays of float64 without options, with the same operations on the
same elements, so that the values are NumPy's; all else, and all that would be warned of, is left to NumPy's function.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy
from numpy import add, isfinite, less_equal, multiply, subtract

from ..backends.numpy.searches import searchsorted, tally
from .quick import DOUBLE, LOOPS, stands_for, state_of, trying

Function = Callable[..., Any]
SILENT = state_of(all="raise", invalid="ignore") if LOOPS else None  # NumPy ignores numbers that are none here, too
HEARD = state_of(all="raise") if LOOPS else None
LARGEST = 1 << 53  # whole numbers below are floats
BLOCK = 1 << 16  # elements that NumPy's histogram takes at a time


def are_plain(*arrays: Any) -> bool:
    """Whether all are arrays of float64 with elements."""
    return all([type(x) is numpy.ndarray and x.dtype is DOUBLE and x.size for x in arrays])


def are_close(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8) -> Any:
    if type(b) in (int, float) and are_plain(a):
        near = abs(b) < math.inf
    elif are_plain(a, b):
        near = isfinite(b)
    else:
        return NotImplemented
    if type(rtol) is not float or type(atol) is not float or not 0 <= rtol < math.inf > atol >= 0:
        return NotImplemented
    return (less_equal(abs(a - b), atol + rtol * abs(b)) & near | (a == b))[()]


def all_close(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8) -> Any:
    found = are_close(a, b, rtol, atol)
    return found if found is NotImplemented else bool(found.all())


def cross(a: Any, b: Any) -> Any:
    """Of vectors of three coordinates along the last axis."""
    if not are_plain(a, b) or not a.ndim or not b.ndim or not a.shape[-1] == b.shape[-1] == 3:
        return NotImplemented
    if a.ndim == 1 and a.shape == b.shape:
        made = numpy.empty(3)
    else:
        made = numpy.empty(numpy.broadcast_shapes(a.shape, b.shape))
    for k in range(3):
        i, j, into = (k + 1) % 3, (k + 2) % 3, made[..., k]
        multiply(a[..., i], b[..., j], out=into)
        subtract(into, a[..., j] * b[..., i], out=into)
    return made


def linspace(start: Any, stop: Any, num: Any = 50) -> Any:
    kinds = (type(start), type(stop))
    if type(num) is not int or num < 2 or kinds not in KINDS or not abs(start) < LARGEST > abs(stop):
        return NotImplemented
    step = (float(stop) - float(start)) / (num - 1)
    if not abs(step) > 1e-290:
        return NotImplemented
    made = numpy.arange(0, num, dtype=float).reshape(num)  # NumPy's is a view, too
    multiply(made, step, out=made)
    add(made, float(start), out=made)
    made[-1] = stop
    return made


KINDS = {(a, b) for a in (int, float) for b in (int, float)}


def in_order(a: Any, *places: int) -> Any:
    """A copy with the elements at these places, and at the last one, that a sorted array would have there."""
    made = a.flatten()
    made.partition((*places, -1))
    return made


def median(a: Any) -> Any:
    if not are_plain(a):
        return NotImplemented
    half = a.size // 2
    low = half if a.size % 2 else half - 1
    found = in_order(a, low, half)
    if found[-1] != found[-1] or found[half] == 0:
        return NotImplemented
    return add.reduce(found[low : half + 1]) / (half + 1 - low)


def quantile(a: Any, q: Any) -> Any:
    """By straight lines between the elements in order."""
    if type(q) is not float or not are_plain(a) or not 0.0 <= q < 1.0:
        return NotImplemented
    at = (a.size - 1) * q
    low = int(at)
    if low >= a.size - 1:
        return NotImplemented
    found = in_order(a, low, low + 1)
    x, y = found[low], found[low + 1]
    difference = y - x
    share = at - low
    made = y - difference * (1 - share) if share >= 0.5 else x + difference * share
    return made if made != 0 and isfinite(found[-1]) and isfinite(difference) else NotImplemented


def percentile(a: Any, q: Any) -> Any:
    return quantile(a, q / 100.0) if type(q) in (int, float) else NotImplemented


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """Of even bins."""
    if not are_plain(a) or type(bins) is not int or bins < 1 or density or a.size > BLOCK:
        return NotImplemented
    if weights is not None and (not are_plain(weights) or weights.shape != a.shape):
        return NotImplemented
    if range is None:
        low, high = float(a.min()), float(a.max())
    else:
        low, high = range
    if type(low) not in (int, float) or type(high) not in (int, float) or not -math.inf < low < high < math.inf:
        return NotImplemented
    if not high - low > 1e-15 * bins * max(abs(low), abs(high)):
        return NotImplemented  # edges may coincide
    edges = linspace(low, high, bins + 1)
    if edges is NotImplemented:
        return edges
    if weights is None:
        return tally(edges, a, True).copy(), edges
    keys, weights = a.ravel(), weights.ravel()
    inside = (keys >= low) & (keys <= high)
    if not inside.all():
        keys, weights = keys[inside], weights[inside]
    if not keys.size:
        return NotImplemented
    places = searchsorted(edges[1:-1], keys, "right")
    return numpy.bincount(places, weights, bins), edges


def cov(m: Any, y: Any = None, rowvar: Any = True) -> Any:
    if y is not None or type(rowvar) is not bool or not are_plain(m) or m.ndim != 2:
        return NotImplemented
    x = m.copy("K") if rowvar else m.copy("K").T
    count = x.shape[1] - 1
    if count < 1:
        return NotImplemented
    x -= x.mean(axis=1)[:, None]
    made = numpy.dot(x, x.T)
    made *= 1 / count
    return made.squeeze()


def corrcoef(x: Any, y: Any = None, rowvar: Any = True) -> Any:
    made = cov(x, y, rowvar)
    if made is NotImplemented or not made.ndim:
        return NotImplemented
    deviation = numpy.sqrt(made.diagonal())
    made /= deviation[:, None]
    made /= deviation[None, :]
    return made.clip(-1, 1, out=made)


if LOOPS:
    for name, compute, given in (
        ("isclose", are_close, SILENT),
        ("allclose", all_close, SILENT),
        ("cross", cross, HEARD),
        ("linspace", linspace, HEARD),
        ("median", median, HEARD),
        ("quantile", quantile, HEARD),
        ("percentile", percentile, HEARD),
        ("histogram", histogram, HEARD),
        ("cov", cov, HEARD),
        ("corrcoef", corrcoef, HEARD),
    ):
        stands_for(getattr(numpy, name))(functools.partial(trying, given, compute))
