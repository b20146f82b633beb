"""Reductions in which NaN does not count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph.node import Node
from ...ops import elementwise as e
from ...ops.elementwise import convert, where
from ...tracebacks import leave
from ..array import Array, as_node, check_arraylike
from ..at_once import apply
from ..dtypes import FLOAT32, KIND_OF, inexact, requested
from .axes import no_out
from .call import named
from .elementwise import scalar
from .reductions import all, mask_of, max, mean, min, prod, std, sum, var
from .shape import broadcast_to


def nan_filled(name: str, run: Callable[..., Any], filler: Callable[[np.dtype[Any]], Any]) -> Callable[..., Any]:
    """A reduction in which NaN counts as `filler(dtype)`."""

    def call(a: Any, **kwargs: Any) -> Any:
        try:
            check_arraylike(name, a)
            x = as_node(a)
            mask_of(name, kwargs.get("where"), x.shape)
            if KIND_OF[x.dtype] not in "fc":
                return run(a, **kwargs)
            return run(replaced(x, filler(x.dtype)), **kwargs)
        except BaseException as error:
            leave(error)
            raise

    return named(call, name)


def replaced(x: Node, value: Any) -> Any:
    """The array with that value for NaN."""
    return apply(lambda x: where(e.isnan(x if x.dtype.kind in "fc" else convert(x, FLOAT32)), scalar(value, x), x), x)


def nan_total(name: str, run: Callable[..., Any], neutral: int) -> Callable[..., Any]:
    """nansum and nanprod."""
    filled = nan_filled(name, run, lambda d: neutral)

    def call(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        try:
            return filled(a, axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where)
        except BaseException as error:
            leave(error)
            raise

    return named(call, name)


nansum, nanprod = nan_total("nansum", sum, 0), nan_total("nanprod", prod, 1)


def nan_extremum(name: str, run: Callable[..., Any], worst: float) -> Callable[..., Any]:
    """nanmax and nanmin: NaN where there is nothing else."""
    filled = nan_filled(name, run, lambda d: worst)

    def call(
        a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
    ) -> Any:
        try:
            check_arraylike(name, a)
            no_out(name, out, axis)
            found = filled(a, axis=axis, keepdims=keepdims, initial=initial, where=where)
            x = as_node(a)
            if KIND_OF[x.dtype] not in "fc" or initial is not None:
                return found
            lost = all(isnan(a), axis=axis, keepdims=keepdims)
            return choose_nan(lost, found)
        except BaseException as error:
            leave(error)
            raise

    return named(call, name)


def isnan(a: Any) -> Any:
    return apply(lambda x: e.isnan(x if x.dtype.kind in "fc" else convert(x, FLOAT32)), as_node(a))


def choose_nan(lost: Array, found: Array) -> Any:
    return apply(lambda m, x: where(m, scalar(np.nan, x), x), lost.node, found.node)


nanmax, nanmin = nan_extremum("nanmax", max, -np.inf), nan_extremum("nanmin", min, np.inf)


def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, where: Any = None
) -> Any:
    """The mean of what is not NaN."""
    check_arraylike("nanmean", a)
    no_out("nanmean", out, axis)
    if KIND_OF[as_node(a).dtype] not in "fc":
        return mean(a, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    mask_of("nanmean", where, np.shape(a))
    good = ~isnan(a)
    if where is not None:
        good = good & where
    result = inexact(as_node(a).dtype) if dtype is None else requested(dtype, "mean")
    count = sum(good, axis=axis, dtype=result, keepdims=keepdims)
    total = nansum(a, axis=axis, dtype=result, keepdims=keepdims, where=where)
    return apply(lambda t, n: convert(e.divide(t, n), result), total.node, count.node)


def nan_moment(name: str, root: bool) -> Callable[..., Any]:
    """nanvar and nanstd."""

    def call(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: int = 0,
        keepdims: bool = False,
        where: Any = None,
        mean: Any = None,
    ) -> Any:
        try:
            check_arraylike(name, a)
            no_out(name, out, axis)
            x, run = as_node(a), std if root else var
            if root and dtype is not None and KIND_OF[requested(dtype, name)] not in "fc":
                raise TypeError(
                    f"sqrt does not accept dtype {requested(dtype, name)}. Accepted dtypes are subtypes of floating, "
                    "complexfloating."
                )
            mask = mask_of(name, where, x.shape)
            if mask is not None:
                a = broadcast_to(a, np.broadcast_shapes(x.shape, mask.shape))
                x = as_node(a)
            if KIND_OF[x.dtype] not in "fc":
                return run(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean)
            good = ~isnan(a)
            kept = good if where is None else good & where
            return run(replaced(x, 0), axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, where=kept, mean=mean)
        except BaseException as error:
            leave(error)
            raise

    return named(call, name)


nanvar, nanstd = nan_moment("nanvar", False), nan_moment("nanstd", True)
