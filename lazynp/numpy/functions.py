"""Functions of NumPy's Python code that are recorded as a whole, where an array is pending, large or traced.

`TABLE` has them by module and name. Each gives NotImplemented where it leaves the call to NumPy's text, which raises
the errors of wrong arguments too.
"""

from __future__ import annotations

import collections
import functools
import operator
import sys
import types
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy

from ..away import on_host
from ..backends.order import memory_order
from ..config import config
from ..graph.node import ABSTRACT, Node, leaf
from ..graph.op import results
from ..notices import outside
from ..ops import fft, linalg
from ..ops.contraction import matmul
from ..ops.elementwise import absolute, convert, equal, imag, make_complex, multiply, real, subtract, where
from ..ops.joining import wrap_around
from ..ops.promotion import is_inexact
from ..ops.reductions import reductions
from ..ops.shape import broadcast_to, reshape, slice_, transpose, zeros_of
from ..ops.signals import tally
from ..runtime.device import devices
from ..runtime.processes import processes
from ..runtime.recorder import recorder
from ..runtime.views import TRANSPOSE, inverse_of
from .arithmetic import assign, in_memory_order
from .array import borrow, is_traced, ndarray
from .dispatch import Dispatcher
from .host import PLAIN, at_hand, fresh, part_of, to_host, wrap_result
from .layout import array_of, order_of_copies, settled
from .library import shown, wanted
from .record import apply, by, cast_node, nodes_of, spreads, told
from .recorded_ufuncs import recordable, stack_order
from .reduce import RULES

Function = Callable[..., Any]

# --- Fourier transforms: all of numpy.fft comes here ------------------------------------------------------------------

NORMS = {None: "backward", "backward": "backward", "ortho": "ortho", "forward": "forward"}


def raw_fft(a: Any, n: Any, axis: Any, is_real: bool, is_forward: bool, norm: Any, out: Any = None) -> Any:
    """`numpy.fft._pocketfft._raw_fft`: one transform along an axis."""
    if not wanted((a,)) or out is not None and not recordable(out) or type(norm) not in (str, type(None)):
        return NotImplemented
    try:
        n, at = operator.index(n), operator.index(axis)
    except TypeError:
        return NotImplemented
    if n < 1 or norm not in NORMS or not -a.ndim <= at < a.ndim:
        return NotImplemented
    op = (fft.rfft if is_forward else fft.irfft) if is_real else (fft.fft if is_forward else fft.ifft)
    order = order_of_copies(a)  # in which NumPy makes room for the result
    nodes = nodes_of((a,) if order is None else in_memory_order((a,), order))
    if nodes is None or is_real and is_forward and nodes[0].dtype.kind == "c":
        return NotImplemented
    at = at % a.ndim if order is None else order[at % a.ndim]
    host = getattr(numpy.fft, op.name)
    node = told(op(nodes[0], axis=at, norm=NORMS[norm], n=n), by(lambda x: host(x, n, at, norm)))
    made = array_of(node) if order is None else array_of(node)._derived_(TRANSPOSE, order)
    if out is None:
        return made
    if made.shape != out.shape or not numpy.can_cast(node.dtype, out.dtype, "same_kind"):
        return NotImplemented
    assign(out, cast_node(made._node_(), out.dtype))
    return out


# --- Linear algebra ---------------------------------------------------------------------------------------------------


def qr(a: Any, mode: Any = "reduced") -> Any:
    """`numpy.linalg.qr`, which calls a function that writes its factors over the matrix."""
    if mode not in ("reduced", "complete", "r") or not wanted((a,)) or a.ndim < 2:
        return NotImplemented
    order = stack_order([a])
    nodes = nodes_of((a,) if order is None else in_memory_order((a,), order))
    if nodes is None or nodes[0].dtype.char == "e":
        return NotImplemented
    (node,) = nodes
    node = node if is_inexact(node.dtype) else convert(node, numpy.dtype(float))
    out = linalg.qr(node, mode="reduced" if mode == "r" else mode)
    if not out.trace:
        recorder.demand(out)
    q, r = results(out)
    turned = order_of_factor(a, r.shape)
    if turned is None:
        upper = shown(r, order)
    else:
        back = r if order is None else transpose(r, axes=order)
        upper = array_of(transpose(back, axes=inverse_of(turned)))._derived_(TRANSPOSE, turned)
    return upper if mode == "r" else sys.modules["lazynp"].linalg._linalg.QRResult(shown(q, order), upper)


def order_of_factor(a: Any, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """How the axes of a stack of triangles are turned against C's order: NumPy selects them from its copy of the
    matrices with a mask. None: not at all."""
    if a.ndim < 3 or a.flags.c_contiguous:
        return None
    mask = numpy.broadcast_to(numpy.empty(shape[-2:], bool), shape)
    strides = [
        tuple([0 if n == 1 else s for n, s in zip(shape, x.strides)]) for x in (mask, numpy.empty_like(a._meta_()))
    ]
    memory = memory_order(a.ndim, strides)
    return None if memory is None else inverse_of(memory)


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """`numpy.linalg.lstsq`. Whether there are residuals depends on the rank, which is computed here; where the matrix
    is not known, under `jit` and `vmap`, they are NaN for one of a smaller rank, as JAX has them."""
    if not wanted((a, b)) or type(rcond) not in (float, int, type(None), numpy.float64):
        return NotImplemented
    if numpy.ndim(a) != 2 or numpy.ndim(b) not in (1, 2) or a.shape[0] != b.shape[0] or not a.size or not b.size:
        return NotImplemented
    nodes = nodes_of((a, b))
    if nodes is None or any(n.dtype.char not in "?bBhHiIlLqQfdFD" for n in nodes):
        return NotImplemented
    common = numpy.result_type(*[n.dtype if is_inexact(n.dtype) else numpy.dtype(float) for n in nodes])
    x, y = [cast_node(n, common) for n in nodes]
    y = y if y.ndim == 2 else reshape(y, shape=(*y.shape, 1))
    m, n = a.shape
    made = linalg.lstsq(x, y, rcond if rcond is None else float(rcond))
    found, rank, sizes = results(made)
    solution = array_of(found if numpy.ndim(b) == 2 else reshape(found, shape=(n,)))
    values = array_of(sizes)  # both have handles before the rank is asked for: what none has is not kept
    if made.trace == ABSTRACT != x.trace:  # of right-hand sides alone: `polyfit` looks at the rank
        rank = results(linalg.lstsq(x, zeros_of(y.aval), rcond if rcond is None else float(rcond)))[1]
    hidden = rank.trace == ABSTRACT
    count = shown(rank) if hidden else value_of_scalar(rank)
    if m <= n or not hidden and count != n:
        residuals: Any = array_of(leaf((0,), sizes.dtype, numpy.empty(0, sizes.dtype)))
    else:
        fitted = solution._node_() if solution.ndim == 2 else reshape(solution._node_(), shape=found.shape)
        off = absolute(subtract(y, matmul(x, fitted)))
        total = reductions["add"](multiply(off, off), axes=(0,), keepdims=False, dtype=None)
        residuals = array_of(where(equal(rank, n), total, numpy.nan) if hidden else total)
    return solution, residuals, count, values


def value_of_scalar(node: Any) -> Any:
    """The value of a node without axes, as NumPy's scalar: it is not differentiated."""
    recorder.demand(node)
    return on_host(node.buffer)[()]


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """`numpy.linalg.norm` of a higher order than the second, in single precision, added up and its last power taken in
    double: 1 / 3 rounded to single precision is as wrong an exponent as all else that is rounded."""
    if type(x) is not ndarray or x.dtype.char not in "fF" or type(ord) not in (int, float) or not 2 < ord < numpy.inf:
        return NotImplemented
    line = axis is None and x.ndim == 1 or type(axis) is int or type(axis) is tuple and len(axis) == 1
    if not line or not wanted((x,)):
        return NotImplemented
    powers = abs(x) ** ord
    return (powers.sum(axis=axis, dtype=float, keepdims=keepdims) ** (1 / ord)).astype(powers.dtype)


def spread(x: Any, shape: Any, subok: bool, readonly: bool) -> Any:
    """`numpy.broadcast_to`: a view that only NumPy expresses, which is no work."""
    if type(x) is not ndarray or at_hand(x) or is_traced(x):
        return NotImplemented
    value = NUMPY_SPREAD(x._pin_(), tuple(to_host(shape, [])) if numpy.iterable(shape) else shape, False, readonly)
    return part_of(x, value)


NUMPY_SPREAD = vars(numpy.lib._stride_tricks_impl)["_broadcast_to"]


def count_items(arr: Any, axis: Any, keepdims: Any = False, where: Any = True) -> Any:
    """How many elements a mean is of, where a mask says which."""
    if type(arr) is not ndarray or at_hand(arr) or type(where) not in (ndarray, numpy.ndarray) or where.dtype != bool:
        return NotImplemented
    nodes = nodes_of((where,))
    if nodes is None or not spreads(nodes[0].shape, arr.shape):
        return NotImplemented
    (mask,) = nodes
    full = array_of(mask if mask.shape == arr.shape else broadcast_to(mask, shape=arr.shape))
    return full.sum(axis=axis, dtype=numpy.intp, keepdims=bool(keepdims))


def meshgrid(*xi: Any, copy: Any = True, sparse: Any = False, indexing: Any = "xy") -> Any:
    if copy is not True or sparse is not False or indexing not in ("xy", "ij") or not wanted(xi):
        return NotImplemented
    nodes = nodes_of(xi)
    if nodes is None or any(n.ndim > 1 or n.weak for n in nodes):
        return NotImplemented
    places = list(range(len(nodes)))
    if indexing == "xy" and len(nodes) > 1:
        places[:2] = [1, 0]
    full = [0] * len(nodes)
    for i, n in zip(places, nodes):
        full[i] = n.aval.size
    rows = [
        reshape(n, shape=tuple([full[i] if j == i else 1 for j in range(len(nodes))])) for i, n in zip(places, nodes)
    ]
    return tuple([array_of(broadcast_to(r, shape=tuple(full))) for r in rows])


def made_of_numbers(name: str) -> Function:
    """A function that makes arrays of nothing but numbers, which NumPy does as a whole."""
    host = getattr(numpy, name)

    def make(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        return wrap_result(host(*args, **kwargs), []) if PLAIN.issuperset(map(type, given)) else NotImplemented

    return make


def mean(
    arr: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    """With a mask whose value is not known, under `jit` and `vmap`: NumPy's text asks whether it is empty."""
    if not is_traced(where) or where._node_().trace != ABSTRACT or type(arr) is not ndarray or out is not None:
        return NotImplemented
    kept, target = bool(keepdims), numpy.mean(numpy.ones(1, arr.dtype), dtype=dtype).dtype
    total = arr.astype(target).sum(axis=axis, keepdims=kept, where=where)
    return (total / count_items(arr, axis, kept, where)).astype(target)


def variance(
    arr: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = None,
) -> Any:
    """Of complex numbers, whose parts NumPy's own text has as a view."""
    plainly = type(arr) is ndarray and where is True and mean is None and out is None and dtype is None
    if not plainly or arr.dtype.kind != "c":
        return NotImplemented
    if at_hand(arr):
        return arr.var(axis, ddof=ddof, keepdims=keepdims)
    return RULES["var"](arr, axis, ddof=ddof, keepdims=keepdims)  # the method may call this text


def method_of_number(obj: Any, method: str, *args: Any, **kwargs: Any) -> Any:
    """A method of one of NumPy's scalars, as functions call it. Its arrays are NumPy's, and so become ours."""
    bound = getattr(obj, method, None) if isinstance(obj, numpy.generic) else None
    if bound is None:
        return NotImplemented
    try:
        value = bound(*args, **kwargs)
    except TypeError:  # an `out` of ours, say
        return NotImplemented
    return fresh(value) if type(value) is numpy.ndarray else value


def corrcoef(x: Any, y: Any = None, rowvar: Any = True, **kwargs: Any) -> Any:
    """NumPy's text reads the variances as a view of the matrix that it then writes into; here they are copied."""
    np = sys.modules["lazynp"]
    x, y = [np.asarray(v) if type(v) in (list, tuple) else v for v in (x, y)]
    given = [v for v in (x, y) if v is not None]
    if kwargs.keys() - {"dtype"} or not wanted(given) or any(v.dtype.kind not in "biufc" or not v.size for v in given):
        return NotImplemented
    c = np.cov(x, y, rowvar, **kwargs)
    if c.ndim != 2:
        return c / c
    along = numpy.arange(c.shape[0])
    variances = c[along, along]
    whole = c.dtype.kind == "c"
    deviations = np.sqrt(apply(real, variances) if whole else variances)
    c = c / deviations[:, None]
    c /= deviations[None, :]
    return apply(make_complex, *[np.clip(apply(f, c), -1, 1) for f in (real, imag)]) if whole else np.clip(c, -1, 1)


def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False) -> Any:
    """By sorted lines, NaN at their ends, where NumPy's text goes through them in Python or masks them."""
    if type(a) is not ndarray or at_hand(a) or is_traced(a) or a.dtype.char not in "fdg" or out is not None:
        return NotImplemented
    if not a.size or axis is None and settled(a):  # of one line NumPy finds the middle without sorting
        return NotImplemented
    np = sys.modules["lazynp"]
    lines = a.ravel() if axis is None else np.moveaxis(a, axis, 0)
    count = np.sum(~np.isnan(lines), axis=0, keepdims=True)
    lines = np.sort(lines, axis=0)
    low, high = [np.take_along_axis(lines, p, 0)[0] for p in (np.maximum((count - 1) // 2, 0), count // 2)]
    for _ in range(int(np.count_nonzero(count == 0))):
        warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=outside())
    return np.where((count % 2 == 1)[0], low, (low + high) / 2)[()]


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """Numbers in bins, in one pass, where NumPy's text makes several over each block. With weights it is NumPy's, which
    adds the sums of blocks."""
    if type(a) is not ndarray or not wanted((a,)) or is_traced(a) or weights is not None or a.dtype.char not in REALS:
        return NotImplemented
    if type(bins) not in (int, str, ndarray, numpy.ndarray) or not a.size:
        return NotImplemented
    np = sys.modules["lazynp"]
    x = a.ravel()
    edges = np.histogram_bin_edges(x, bins, range)
    one_width, n = type(bins) in (int, str), edges.size - 1
    dtype = edges.dtype if one_width else numpy.result_type(a.dtype, edges.dtype)
    host = to_host(edges, [])
    if n < 1 or dtype.char not in "fd" or one_width and not (host[1:] > host[:-1]).all():
        return NotImplemented
    nodes = nodes_of((edges, x))
    if nodes is None:
        return NotImplemented
    counted = array_of(tally(*[cast_node(node, dtype) for node in nodes], even=one_width))
    if not density:
        return counted, edges
    return counted / np.array(np.diff(edges), float) / counted.sum(), edges


REALS = "bBhHiIlLqQfd"

# --- Periodic arrays --------------------------------------------------------------------------------------------------

WIDEST = 8  # places by which an array is shifted as a view
wrapped_last: collections.deque[weakref.ref[Node]] = collections.deque(maxlen=8)  # periodic arrays with their ends


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """`numpy.roll` by a few places, as a view of a copy that goes on beyond its ends: the shifts of a stencil are read
    by one kernel, of one copy, where each was written and read by itself."""
    if type(a) is not ndarray or not wanted((a,)) or is_traced(a) or not a.ndim or order_of_copies(a) is not None:
        return NotImplemented
    if processes.run is not None or devices.used or a.size <= max(config.limit, 0):
        return NotImplemented
    axes = (0,) if axis is None and a.ndim == 1 else axis if type(axis) is tuple else (axis,)
    shifts = shift if type(shift) is tuple else (shift,) * len(axes)
    if len(shifts) != len(axes) or not all([type(k) is int for k in (*axes, *shifts)]):
        return NotImplemented
    if not all([-a.ndim <= k < a.ndim for k in axes]):
        return NotImplemented
    by = [0] * a.ndim
    for k, s in zip(axes, shifts):
        by[k] += s
    by = [(s + n // 2) % n - n // 2 for s, n in zip(by, a.shape)]
    widest = max(map(abs, by))
    if not 0 < widest <= WIDEST or any([s and n < 4 * WIDEST for s, n in zip(by, a.shape)]):
        return NotImplemented
    nodes = nodes_of((a,))
    if nodes is None or nodes[0].trace:
        return NotImplemented
    node, widths = with_ends(nodes[0], tuple([widest if n >= 4 * WIDEST else 0 for n in a.shape]))
    out = array_of(slice_(node, key=tuple([(w - s, n, 1) for w, s, n in zip(widths, by, a.shape)])))
    return out[:] if axis is None else out  # without an axis NumPy gives a view


def with_ends(x: Node, widths: tuple[int, ...]) -> tuple[Node, tuple[int, ...]]:
    """The node of x as a periodic array with at least so many more elements at the ends of each axis, and how many."""
    for ref in wrapped_last:
        known = ref()
        if known is None or not known.inputs or known.inputs[0] is not x:
            continue
        if all([there >= w for there, w in zip(known.moving[0], widths)]):
            return known, known.moving[0]
    made = wrap_around(x, widths=widths)
    wrapped_last.append(weakref.ref(made))
    return made, widths


TABLE: dict[str, dict[str, Function]] = {
    "_core.fromnumeric": {"_wrapfunc": method_of_number},
    "_core.numeric": {"roll": roll},
    "fft._pocketfft": {"_raw_fft": raw_fft},
    "linalg._linalg": {"qr": qr, "lstsq": lstsq, "norm": norm},
    "lib._stride_tricks_impl": {"_broadcast_to": spread},
    "lib._function_base_impl": {"meshgrid": meshgrid, "corrcoef": corrcoef},
    "lib._histograms_impl": {"histogram": histogram},
    "lib._nanfunctions_impl": {"_nanmedian": nanmedian},
    "lib._twodim_base_impl": {name: made_of_numbers(name) for name in ("triu_indices", "tril_indices")},
    "_core._methods": {"_count_reduce_items": count_items, "_mean": mean, "_var": variance},
}


def extend(name: str, module: types.ModuleType) -> None:
    """Put the functions in front of NumPy's own in a module of NumPy's that has been executed again."""
    for function, rule in TABLE.get(name, {}).items():
        public = vars(module)[function]
        if isinstance(public, Dispatcher):
            public._implementation = first(rule, public._implementation)
        else:
            vars(module)[function] = first(rule, public)


def first(rule: Function, theirs: Function) -> Function:
    """`rule`, or where it gives NotImplemented NumPy's own."""

    @functools.wraps(theirs)
    def either(*args: Any, **kwargs: Any) -> Any:
        value = rule(*args, **kwargs)
        if value is NotImplemented:
            value = theirs(*args, **kwargs)
        if type(value) is not numpy.ndarray or any([value is x for x in (*args, *kwargs.values())]):
            return value
        return borrow(value)  # of a scalar type, called with an array

    either.recorded = True  # type: ignore[attr-defined]
    return either
