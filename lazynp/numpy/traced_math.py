"""Reductions, products, linear algebra and Fourier transforms of traced arrays: see `traced`."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy

from ..ops import contraction, elementwise, indexing, reductions, scans, sorting
from ..ops.elementwise import add, convert, divide, less, multiply, subtract
from ..ops.elementwise import where as select
from ..ops.shape import add_reduce, reshape, zeros_of
from ..ops.ufuncs import ufuncs
from . import traced_counting, traced_nan, traced_polynomials, traced_questions
from .creation import array as make_array
from .dispatch import Function
from .functions import first
from .host import TracedArgumentError
from .indexing import has_traced
from .layout import array_of
from .record import cast_node
from .recorded_ufuncs import loop_operands
from .reduce import normal_axes
from .traced import (
    TABLE,
    UFUNC_METHODS,
    Rule,
    concrete,
    constant,
    handle,
    mask_of,
    node_of,
    written,
)
from .traced_shapes import broadcast, diagonal_node
from .traced_statistics import RULES
from .ufunc import of as ufunc_of

# --- Reductions, products, interpolation ------------------------------------------------------------------------------


def reduce(name: str) -> Rule:
    """With `where`, `initial` and `out`, which the recorded reduction has not."""

    def rule(
        x: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = numpy._NoValue,
        where: Any = True,
    ) -> Any:
        node = node_of(x)
        axes = normal_axes(axis, node.ndim)
        host = getattr(numpy, name)
        if axes is None:
            host.reduce(numpy.zeros(node.shape, node.dtype), axis=axis)
        if where is not True and where is not numpy._NoValue:
            neutral = host.identity if initial is numpy._NoValue else initial
            if neutral is None:
                raise ValueError(
                    f"reduction operation '{name}' does not have an identity, so to use a where mask one has to "
                    "specify 'initial'"
                )
            node = select(mask_of(where), node, cast_node(node_of(neutral), node.dtype))
        reduced = reductions.reductions[name](
            node,
            axes=axes,
            keepdims=keepdims is not numpy._NoValue and bool(keepdims),
            dtype=None if dtype is None else numpy.dtype(dtype),
        )
        return written(out, reduced if initial is numpy._NoValue else ufuncs[name](reduced, node_of(initial)))

    return rule


def ufunc_reduce(name: str, x: Any, axis: Any = 0, *args: Any, **kwargs: Any) -> Any:
    return reduce(name)(x, axis, *args, **kwargs) if name in reductions.reductions else refuse(f"{name}.reduce")


def extremum(name: str) -> Rule:
    """The methods min and max, whose arguments stand in another order."""
    full = reduce(name)
    return lambda x, axis=None, out=None, keepdims=False, **more: full(x, axis, None, out, keepdims, **more)


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    node = diagonal_node(x, offset, axis1, axis2)
    return written(out, reductions.reductions["add"](node, axes=(node.ndim - 1,), keepdims=False, dtype=dtype))


def refuse(name: str) -> Any:
    raise TracedArgumentError(name)


def accumulate(name: str, x: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    node = node_of(x)
    dtype = None if dtype is None else numpy.dtype(dtype)
    return written(out, scans.scans[name](node, axis=axis % max(node.ndim, 1), dtype=dtype))


def outer(name: str, a: Any, b: Any) -> Any:
    x, y = node_of(a), node_of(b)
    return handle(ufuncs[name](reshape(x, shape=(*x.shape, *(1,) * y.ndim)), y))


def product(rule: Rule) -> Rule:
    """A product of two arrays of one dtype."""

    def made(a: Any, b: Any, out: Any = None, **kwargs: Any) -> Any:
        x, y = node_of(a), node_of(b)
        dtype = numpy.result_type(x.dtype, y.dtype)
        return written(out, rule(cast_node(x, dtype), cast_node(y, dtype)))

    return made


def count_nonzero(x: Any) -> Any:
    """A number of the engine's, where the values are not known: NumPy gives one of Python's."""
    if concrete(x) or x.dtype.kind not in "biufc":
        return NotImplemented
    mask = x._node_() if x.dtype == bool else ufuncs["not_equal"](x._node_(), x.dtype.type(0))
    return handle(add_reduce(mask, axes=tuple(range(mask.ndim)), keepdims=False, dtype=numpy.dtype(numpy.intp)))


def c_einsum(subscripts: Any, *operands: Any, out: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    if type(subscripts) is not str:
        return NotImplemented
    nodes = [node_of(x) for x in operands]
    given = nodes if out is None else (*nodes, out)
    common = numpy.result_type(*[x.dtype for x in given]) if dtype is None else numpy.dtype(dtype)
    einsum = importlib.import_module("lazynp.ops.einsum").einsum  # which loads opt_einsum
    return written(out, einsum(subscripts, *[cast_node(n, common) for n in nodes]))


def correlate(a: Any, v: Any, mode: Any = 0) -> Any:
    """Each place of the shorter one along the longer one, padded with zeros, as a product with a matrix of windows."""
    x, y = node_of(a), node_of(v)
    dtype = numpy.result_type(x.dtype, y.dtype)
    x, y = cast_node(x, dtype), elementwise.conjugate(cast_node(y, dtype)) if dtype.kind == "c" else cast_node(y, dtype)
    n, m = x.shape[0], y.shape[0]
    if n < m:
        swapped = correlate(handle(y), handle(x), mode)
        return swapped[::-1]
    kind = mode[0] if isinstance(mode, str) else "vsf"[int(mode)]
    left, count = {"v": (0, n - m + 1), "s": (m // 2, n), "f": (m - 1, n + m - 1)}[kind]
    places = numpy.arange(count)[:, None] + numpy.arange(m) - left
    windows = indexing.gather(x, constant(numpy.where(places < 0, n, places)), axes=(0,), at=0, bounds="zero")
    return handle(contraction.matmul(windows, y))


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    """Between neighbours along a line, constant outside."""
    at, grid, values = [convert(node_of(v), numpy.dtype(float)) for v in (x, xp, fp)]
    n = grid.shape[0]
    above = elementwise.clip(sorting.searchsorted(grid, at, side="right", stack=0), 1, max(n - 1, 1))
    below = subtract(above, 1)
    (x0, x1), (y0, y1) = [[indexing.take(v, i, 0, "clip") for i in (below, above)] for v in (grid, values)]
    out = add(y0, multiply(divide(subtract(y1, y0), subtract(x1, x0)), subtract(at, x0)))
    low, high = indexing.take(grid, constant(0), 0), indexing.take(grid, constant(n - 1), 0)
    first, last = indexing.take(values, constant(0), 0), indexing.take(values, constant(n - 1), 0)
    out = select(less(at, low), first if left is None else node_of(float(left)), out)
    return handle(select(less(high, at), last if right is None else node_of(float(right)), out))


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    if sorter is not None or concrete(a) and concrete(v):
        return NotImplemented
    x, y = node_of(a), node_of(v)
    dtype = numpy.result_type(x.dtype, y.dtype)
    return handle(sorting.searchsorted(cast_node(x, dtype), cast_node(y, dtype), side=side, stack=0))


def clip(x: Any, low: Any = None, high: Any = None, out: Any = None, **kwargs: Any) -> Any:
    low, high = kwargs.pop("min", low), kwargs.pop("max", high)
    node = node_of(x)
    bounds = [node_of(b) if b is not None else None for b in (low, high)]
    if bounds[0] is not None and bounds[1] is not None:
        return written(out, elementwise.clip(node, *bounds))
    if bounds[0] is not None:
        node = elementwise.maximum(node, bounds[0])
    return written(out, node if bounds[1] is None else elementwise.minimum(node, bounds[1]))


def elementwise_call(
    name: str,
    *args: Any,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: Any = "same_kind",
    **kwargs: Any,
) -> Any:
    """A ufunc with arguments that the recorded call leaves to NumPy."""
    nin = getattr(numpy, name).nin
    if len(args) > nin:
        args, out = args[:nin], args[nin]
    nodes = [node_of(x) for x in args]
    if dtype is not None:
        dtype = dtype() if type(dtype) is type(numpy.dtypes.Float64DType) else dtype
        loop = loop_operands(ufunc_of(getattr(numpy, name)), args, nodes, dtype, casting)
        if loop is None:
            raise TracedArgumentError(f"{name} with dtype={dtype}")
        nodes = loop
    node = ufuncs[name](*nodes)
    target = out[0] if type(out) is tuple else None if out is Ellipsis else out
    if target is not None and not numpy.can_cast(node.dtype, target.dtype, casting):
        raise TypeError(
            f"Cannot cast ufunc '{name}' output from {node.dtype!r} to {target.dtype!r} with casting rule '{casting}'"
        )
    if where is not True and where is not numpy._NoValue:
        kept = cast_node(node_of(target), node.dtype) if target is not None else zeros_of(node)
        node = select(mask_of(where), node, kept)
    return array_of(node) if out is Ellipsis else written(target, node)


TABLE.update(
    {
        "trace": trace,
        "sum": reduce("add"),
        "prod": reduce("multiply"),
        "min": extremum("minimum"),
        "max": extremum("maximum"),
        "dot": product(contraction.dot),
        "inner": product(contraction.inner),
        "vdot": product(contraction.vdot),
        "vecdot": product(contraction.vecdot),
        "matvec": product(contraction.matvec),
        "vecmat": product(contraction.vecmat),
        "matmul": product(contraction.matmul),
        "c_einsum": c_einsum,
        "count_nonzero": count_nonzero,
        "correlate": correlate,
        "correlate2": correlate,
        "interp": interp,
        "searchsorted": searchsorted,
        "clip": clip,
    }
)
UFUNC_METHODS.update({"": elementwise_call, "reduce": ufunc_reduce, "accumulate": accumulate, "outer": outer})


# --- NumPy's Python functions that its own text cannot do on traced arrays --------------------------------------------


PYTHON: tuple[tuple[str, str, Rule], ...] = (
    (
        "lazynp.lib._function_base_impl",
        "vectorize._vectorize_call",
        lambda self, func, args: vectorized(self, func, args),
    ),
    ("lazynp.lib._stride_tricks_impl", "_broadcast_to", lambda x, shape, subok, readonly: broadcast(x, shape)),
    ("lazynp.linalg._linalg", "cond", lambda x, p=None: condition(x, p)),
    *RULES,
    *traced_nan.RULES,
    *traced_counting.RULES,
    *traced_polynomials.RULES,
    *traced_questions.RULES,
)


def vectorized(self: Any, func: Any, args: Any) -> Any:
    """`numpy.vectorize`: one element after another."""
    if self.signature is not None:
        return NotImplemented
    lazynp = sys.modules["lazynp"]
    spread = lazynp.broadcast_arrays(*args)
    rows = [x.reshape(-1) for x in spread]
    found = [func(*[r[i] for r in rows]) for i in range(rows[0].size)]
    if not found:
        return NotImplemented
    if type(found[0]) is not tuple:
        return make_array(found).reshape(spread[0].shape)
    return tuple([make_array(list(column)).reshape(spread[0].shape) for column in zip(*found)])


def condition(x: Any, p: Any) -> Any:
    """`numpy.linalg.cond` without its question whether there is NaN, which only values answer."""
    if concrete(x):
        return NotImplemented
    np, module = sys.modules["lazynp"], sys.modules["lazynp.linalg._linalg"]
    if p is None or p in (2, -2):
        s = module.svd(x, compute_uv=False)
        found = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        module._assert_stacked_square(x)
        inverse = module._umath_linalg.inv(x, signature="D->D" if x.dtype.kind == "c" else "d->d")
        found = module.norm(x, p, axis=(-2, -1)) * module.norm(inverse, p, axis=(-2, -1))
    return np.where(np.isnan(found) & ~np.isnan(x).any(axis=(-2, -1)), numpy.inf, found).astype(found.dtype)


def instead(rule: Rule, theirs: Rule) -> Rule:
    """`rule` for traced arrays, NumPy's own text for others."""

    def either(*args: Any, **kwargs: Any) -> Any:
        value = rule(*args, **kwargs) if has_traced([*args, *kwargs.values()]) else NotImplemented
        return theirs(*args, **kwargs) if value is NotImplemented else value

    return either


def replace(module: str, name: str, change: Callable[[Rule], Rule]) -> None:
    """Change a function of a module, or a method of a class in it; of a dispatcher what it calls."""
    owner: Any = importlib.import_module(module)
    *outer, name = name.split(".")
    for n in outer:
        owner = getattr(owner, n)
    theirs = getattr(owner, name)
    place = "function" if type(theirs) is Function else "_implementation"
    if hasattr(theirs, place):
        owner, name, theirs = theirs, place, getattr(theirs, place)
    setattr(owner, name, change(theirs))


for _module, _names in traced_questions.ANSWERED.items():
    for _name in _names:
        replace(_module, _name, lambda theirs: instead(traced_questions.answered(theirs), theirs))
replace("lazynp.lib._polynomial_impl", "polydiv", functools.partial(first, traced_polynomials.polydiv))  # of `poly1d`
for _module, _name, _rule in PYTHON:
    replace(_module, _name, functools.partial(instead, _rule))
