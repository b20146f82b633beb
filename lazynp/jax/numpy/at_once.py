"""What small values at hand make at once, by NumPy: the shortcuts of functions that are more than one ufunc.

Each gives None where its arguments are not that simple; the function that asked then does as for any other. So
nothing is decided here: no error is raised, no dtype chosen but those that JAX gives.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy._core import umath

from ...config import config
from ..array import ERRORS, NDARRAY, SILENT, Array, new, silently, wrap_value
from ..devices import state
from ..dtypes import BOOL, INT32, DType, int_dtype

FLOATING = "fd"
ORDERED = "bhilqBHIQfd"
total: Any = np.add.reduce  # its stub does not know that all of its arguments may be positional
clip_ufunc: Any = vars(umath)["clip"]
multiply, sqrt, absolute = np.multiply, np.sqrt, np.abs


def at_hand(x: Any, chars: str = FLOATING) -> Any:
    """The value of a small array, not weak, of one of these dtypes (NumPy's characters), else None."""
    if type(x) is Array:
        h = x._host
        if h is not None and not x._weak and h.dtype.char in chars and h.size <= config.limit:
            return h
    return None


def fresh(value: Any) -> Array:
    """The array of a NumPy result that nobody else has."""
    value = value if type(value) is NDARRAY and value.flags.c_contiguous else np.array(value, order="C")
    if state.on:
        return wrap_value(value)
    out = new(Array)
    out._host, out._weak, out._graph = value, False, None
    return out


def one_axis(axis: Any, h: np.ndarray) -> bool:
    """Whether it is none or an int, which NumPy would take for a scalar's too."""
    return axis is None or type(axis) is int and h.ndim > 0


def choice(x: Any) -> Any:
    """What `where` may choose from: the value of an array at hand, or a Python float or int; else None."""
    if type(x) is Array:
        return None if x._weak or x._host is None or x._host.size > config.limit else x._host
    return x if type(x) is float or type(x) is int else None


def where(condition: Array, x: Any, y: Any) -> Array | None:
    """Of arrays of one dtype, or of one of floats and a Python number."""
    c, a, b = condition._host, choice(x), choice(y)
    if c is None or a is None or b is None or c.dtype is not BOOL or c.size > config.limit:
        return None
    if type(a) is NDARRAY and type(b) is NDARRAY:
        if a.dtype is not b.dtype:
            return None
    elif (a if type(a) is NDARRAY else b if type(b) is NDARRAY else c).dtype.char not in FLOATING:
        return None
    try:
        return fresh(np.where(c, a, b))
    except ValueError:
        return None


def mean(a: Any, axis: Any, keepdims: bool) -> Array | None:
    h = at_hand(a)
    if h is None or not one_axis(axis, h):
        return None
    token = ERRORS.set(SILENT)
    try:
        n = h.size if axis is None else h.shape[axis]
        return fresh(total(h, axis, None, None, keepdims) * (h.dtype.type(1) / h.dtype.type(n)))
    except (ValueError, IndexError, ZeroDivisionError):
        return None
    finally:
        ERRORS.reset(token)


def variance(a: Any, axis: Any, ddof: Any, keepdims: bool, root: bool) -> Array | None:
    """var and std."""
    h = at_hand(a)
    if h is None or not one_axis(axis, h) or type(ddof) is not int:
        return None
    token = ERRORS.set(SILENT)
    try:
        n = h.size if axis is None else h.shape[axis]
        if n <= ddof:
            return None
        part = h.dtype.type(1) / h.dtype.type(n)  # XLA multiplies by the reciprocal of what it knows
        if h.ndim == 1 and not keepdims:
            d = h - total(h) * part
            out = d.dot(d) / (n - ddof)
        else:
            d = h - total(h, axis, None, None, True) * part
            out = total(multiply(d, d), axis, None, None, keepdims) / (n - ddof)
        return fresh(sqrt(out) if root else out)
    except (ValueError, IndexError):
        return None
    finally:
        ERRORS.reset(token)


def arg_extremum(name: str, a: Any, axis: Any) -> Array | None:
    h = at_hand(a, ORDERED + "?")
    if h is None or not one_axis(axis, h):
        return None
    try:
        return fresh(np.array(getattr(h, name)(axis), int_dtype()))
    except ValueError:
        return None


def cumulated(ufunc: np.ufunc, a: Any, axis: Any) -> Array | None:
    """cumsum and cumprod."""
    h = at_hand(a)
    if h is None or not one_axis(axis, h) or axis is None and h.ndim != 1:
        return None
    token = ERRORS.set(SILENT)
    try:
        return fresh(ufunc.accumulate(h, axis or 0))
    except ValueError:
        return None
    finally:
        ERRORS.reset(token)


def sort(a: Any, axis: Any) -> Array | None:
    h = at_hand(a, ORDERED)
    if h is None or type(axis) is not int or not h.ndim:
        return None
    out = h.copy()
    try:
        out.sort(axis, "stable")
    except ValueError:
        return None
    return fresh(out)


def argsort(a: Any, axis: Any) -> Array | None:
    h = at_hand(a, ORDERED)
    if h is None or type(axis) is not int or not h.ndim:
        return None
    try:
        return fresh(h.argsort(axis, "stable").astype(int_dtype()))
    except ValueError:
        return None


def clip(x: Any, low: Any, high: Any) -> Array | None:
    """Between Python numbers that fit the dtype."""
    h = at_hand(x, ORDERED)
    if h is None or not fits(low, h.dtype) or not fits(high, h.dtype):
        return None
    try:
        return fresh(clip_ufunc(h, low, high))
    except OverflowError:
        return None


def fits(x: Any, dtype: DType) -> bool:
    return type(x) is int or type(x) is float and dtype.kind == "f"


def outer(a: Any, b: Any) -> Array | None:
    x, y = at_hand(a), at_hand(b)
    if x is None or y is None or x.dtype is not y.dtype or x.size * y.size > config.limit:
        return None
    token = ERRORS.set(SILENT)
    try:
        return fresh((x if x.ndim == 1 else x.ravel())[:, None] * (y if y.ndim == 1 else y.ravel()))
    finally:
        ERRORS.reset(token)


def norm(x: Any) -> Array | None:
    """The root of the sum of squares."""
    h = at_hand(x)
    if h is None:
        return None
    token = ERRORS.set(SILENT)
    try:
        flat = h.ravel()
        return fresh(sqrt(flat.dot(flat)))
    finally:
        ERRORS.reset(token)


def isclose(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    """As a NumPy array. Of two arrays of one dtype, or of one and a Python float."""
    x = at_hand(a)
    y: Any = b if type(b) is float else at_hand(b)
    if x is None or y is None or type(b) is not float and x.dtype is not y.dtype:
        return None
    if type(rtol) is not float or type(atol) is not float:
        return None
    token = ERRORS.set(SILENT)
    try:
        near = absolute(x - y) <= atol + rtol * absolute(y)
        if not near.all():
            near = near & np.isfinite(y) | (x == y)
            return near | (x != x) & (y != y) if equal_nan else near
        return near & np.isfinite(y) | (x == y)
    except ValueError:
        return None
    finally:
        ERRORS.reset(token)


def diff(a: Any, axis: Any) -> Array | None:
    """The first differences."""
    h = at_hand(a)
    if h is None or h.ndim != 1 or axis not in (-1, 0):
        return None
    token = ERRORS.set(SILENT)
    try:
        return fresh(h[1:] - h[:-1])
    finally:
        ERRORS.reset(token)


def take(a: Any, indices: Any, axis: Any) -> Array | None:
    """By indices that are all inside."""
    h, i = at_hand(a, ORDERED + "?"), at_hand(indices, "bhilqBHILQ")
    if h is None or i is None or not one_axis(axis, h):
        return None
    try:
        return fresh(h.take(i, axis))
    except (ValueError, IndexError, TypeError):
        return None


def product(x: Any, y: Any) -> Array | None:
    """The product of two arrays of one floating dtype and at most two axes."""
    if type(x) is not Array or type(y) is not Array:
        return None
    a, b, limit = x._host, y._host, config.limit
    if a is None or b is None or a.dtype is not b.dtype or a.dtype.char not in "fdFD" or x._weak or y._weak:
        return None
    if not 0 < a.ndim < 3 or not 0 < b.ndim < 3 or a.size > limit or b.size > limit:
        return None
    try:
        return fresh(silently(a.dot, b))
    except ValueError:
        return None


def squeeze(a: Any, axis: Any) -> Array | None:
    h = at_hand(a, ORDERED + "?FD")
    if h is None or not one_axis(axis, h):
        return None
    try:
        return fresh(h.squeeze(axis).copy())
    except ValueError:
        return None


def broadcast_to(a: Any, shape: Any) -> Array | None:
    h = at_hand(a, ORDERED + "?FD")
    if h is None or type(shape) is not tuple or not all([type(n) is int for n in shape]):
        return None
    if math.prod(shape) > config.limit or len(shape) < h.ndim:
        return None
    try:
        out = np.empty(shape, h.dtype)
        out[...] = h
    except ValueError:
        return None
    return fresh(out)


def stack(arrays: Any, axis: Any) -> Array | None:
    """Arrays of one dtype and shape, along the first axis."""
    if axis != 0 or type(arrays) is not list and type(arrays) is not tuple or not arrays:
        return None
    hosts = [at_hand(a, ORDERED + "?FD") for a in arrays]
    first = hosts[0]
    if first is None or len(hosts) * first.size > config.limit:
        return None
    for h in hosts:
        if h is None or h.dtype is not first.dtype or h.shape != first.shape:
            return None
    return fresh(
        np.concatenate(hosts).reshape(len(hosts), *first.shape) if first.ndim else np.array(hosts, first.dtype)
    )


def astype(h: np.ndarray, to: DType) -> np.ndarray | None:
    """Floats that fit into int32, as such."""
    if to is not INT32 or h.dtype.char not in FLOATING or not h.size:
        return None
    if not absolute(h).max() < 2147483000.0:
        return None
    return h.astype(to)


def arange(stop: Any) -> Array | None:
    """Of one Python int."""
    if type(stop) is not int or not 0 <= stop <= config.limit:
        return None
    return fresh(np.arange(stop, dtype=int_dtype()))


def linspace(start: Any, stop: Any, n: int, dtype: DType) -> Array | None:
    """Between two Python numbers, the end included, in a floating dtype."""
    if type(start) not in (int, float) or type(stop) not in (int, float) or not 2 <= n <= config.limit:
        return None
    kind = dtype.type
    t = np.arange(n, dtype=dtype) / kind(n - 1)
    low, high = kind(start), kind(stop)
    token = ERRORS.set(SILENT)
    try:
        out = low * (kind(1) - t) + high * t
    finally:
        ERRORS.reset(token)
    out[-1] = high
    return fresh(out)


def roll(a: Any, shift: Any, axis: Any) -> Array | None:
    """A vector by a Python int."""
    h = at_hand(a, ORDERED + "?FD")
    if h is None or h.ndim != 1 or not h.size or type(shift) is not int or axis not in (None, 0, -1):
        return None
    k = shift % h.size
    return fresh(np.concatenate([h[-k:], h[:-k]]) if k else h.copy())


def tile(a: Any, reps: Any) -> Array | None:
    """A vector, repeated so often."""
    h = at_hand(a, ORDERED + "?FD")
    if h is None or h.ndim != 1 or type(reps) is not int or not reps > 0 or reps * h.size > config.limit:
        return None
    return fresh(np.concatenate([h] * reps))
