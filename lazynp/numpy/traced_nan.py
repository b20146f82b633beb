"""NumPy's functions that leave NaN out, for arrays that have no value, under `jit` and `vmap`.

NumPy's text asks whether a result is NaN everywhere, to warn of it; what is recorded warns of nothing. See
`traced_math.PYTHON`.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy

from .array import is_traced, ndarray
from .recorded import value_of
from .traced import Rule, concrete

MODULE = "lazynp.lib._nanfunctions_impl"


def names() -> Any:
    return sys.modules["lazynp"]


def applies(a: Any, out: Any = None) -> bool:
    """Whether an argument may have NaN, and no value."""
    return type(a) is ndarray and not concrete(a) and a.dtype.kind in "fc" and out is None


def extreme(name: str) -> Rule:
    """The largest or the smallest number: the ufunc passes NaN over by itself."""

    def rule(a: Any, axis: Any = None, out: Any = None, **kwargs: Any) -> Any:
        if not applies(a, out):
            return NotImplemented
        given = {k: v for k, v in kwargs.items() if v is not numpy._NoValue}
        return getattr(names(), name).reduce(a, axis=axis, **given)

    return rule


def counted(a: Any, axis: Any, dtype: Any, options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The array with 0 for NaN, the sum of it, and of how many numbers that is."""
    np = names()
    missing = np.isnan(a)
    filled = np.where(missing, a.dtype.type(0), a)
    count = np.sum(~missing, axis=axis, dtype=np.intp, **options)
    return filled, np.sum(filled, axis=axis, dtype=dtype, **options), count


def divided(total: Any, count: Any) -> Any:
    return (total / count).astype(total.dtype)


def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = numpy._NoValue, **kwargs: Any
) -> Any:
    if not applies(a, out) or dtype is not None and numpy.dtype(dtype).kind not in "fc":
        return NotImplemented
    options = {k: v for k, v in {"keepdims": keepdims, **kwargs}.items() if v is not numpy._NoValue}
    _, total, count = counted(a, axis, dtype, options)
    return divided(total, count)


def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = numpy._NoValue,
    **kwargs: Any,
) -> Any:
    """NaN where there are no more numbers than `ddof`."""
    options = {k: v for k, v in kwargs.items() if v is not numpy._NoValue}
    whole = dtype is not None and numpy.dtype(dtype).kind not in "fc"
    if not applies(a, out) or whole or options.keys() - {"where"}:  # a mean that was given, or two names of `ddof`
        return NotImplemented
    np = names()
    filled, total, count = counted(a, axis, dtype, {"keepdims": True, **options})
    rest = np.where(np.isnan(a), a.dtype.type(0), (filled - divided(total, count)).astype(a.dtype))
    squares = (rest * rest.conj()).real if a.dtype.kind == "c" else rest * rest
    kept = {} if keepdims is numpy._NoValue else {"keepdims": keepdims}
    found = np.sum(squares, axis=axis, dtype=dtype, **kept, **options)
    free = count.reshape(found.shape) - ddof
    return np.where(free > 0, divided(found, free), found.dtype.type(numpy.nan))


def orders(a: Any, out: Any) -> bool:
    """The same for what NumPy's text does line by line in Python, or with masked arrays: of known values, too."""
    return is_traced(a) and orders_of(a, out)


def orders_of(a: Any, out: Any) -> bool:
    return type(a) is ndarray and a.dtype.kind == "f" and a.size > 0 and out is None


def in_order(a: Any, axis: Any) -> tuple[Any, Any]:
    """Lines along the first axis, sorted, with NaN at their ends; and how many numbers each has."""
    np = names()
    lines = a.ravel() if axis is None else np.moveaxis(a, axis, 0)
    return np.sort(lines, axis=0), np.sum(~np.isnan(lines), axis=0, keepdims=True)


def picked(lines: Any, places: Any) -> Any:
    """The element of each line at its place; the first, which is NaN, where it has none."""
    np = names()
    return np.take_along_axis(lines, np.maximum(places, 0), axis=0)[0]


def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False) -> Any:
    if not orders(a, out):
        return NotImplemented
    lines, count = in_order(a, axis)
    last = lines.shape[0] - 1
    return (picked(lines, (count - 1) // 2) + picked(lines, names().minimum(count // 2, last))) / 2


def nanquantile(
    a: Any,
    q: Any,
    weights: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    weak_q: bool = False,
) -> Any:
    """NumPy's own places among the numbers of each line; beside a Python number (`weak_q`) single precision stays."""
    module = sys.modules["lazynp.lib._function_base_impl"]
    props = module._QuantileMethods.get(method)
    if not (orders(a, out) or is_traced(q) and orders_of(a, out)) or weights is not None or props is None:
        return NotImplemented
    np, points = names(), q if is_traced(q) else numpy.asarray(value_of(q))
    lines, count = in_order(a, axis)
    last, found = count - 1, []
    for point in points.reshape(-1):
        place = np.asanyarray(props["get_virtual_index"](count, point))
        if props["fix_gamma"] is None or place.dtype.kind in "iu":
            found.append(picked(lines, np.minimum(place, last)))
            continue
        below = np.floor(place)
        before, after = [np.clip(i, 0, np.maximum(last, 0)).astype(np.intp) for i in (below, below + 1)]
        share = module._get_gamma(place, before, props)[0].astype(a.dtype if weak_q else points.dtype)
        found.append(module._lerp(picked(lines, before), picked(lines, after), share))
    return np.stack(found).reshape(points.shape + found[0].shape) if points.ndim else found[0]


RULES: tuple[tuple[str, str, Rule], ...] = (
    (MODULE, "nanmin", extreme("fmin")),
    (MODULE, "nanmax", extreme("fmax")),
    (MODULE, "nanmean", nanmean),
    (MODULE, "nanvar", nanvar),
    (MODULE, "_nanmedian", nanmedian),
    (MODULE, "_nanquantile_ureduce_func", nanquantile),
)
