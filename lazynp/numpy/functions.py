"""Functions of NumPy's Python code that are recorded as a whole, where an array is pending, large or traced.

`TABLE` has them by module and name. Each gives NotImplemented where it leaves the call to NumPy's text, which raises
the errors of wrong arguments too.
"""

from __future__ import annotations

import functools
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy

from ..backends.order import memory_order
from ..graph.op import results
from ..ops import fft, linalg
from ..ops.elementwise import convert
from ..ops.promotion import is_inexact
from ..ops.shape import transpose
from ..runtime.recorder import recorder
from ..runtime.views import TRANSPOSE, inverse_of
from .arithmetic import assign, in_memory_order
from .dispatch import Dispatcher
from .layout import array_of, order_of_copies
from .library import shown, wanted
from .record import cast_node, nodes_of
from .recorded_ufuncs import recordable, stack_order

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
    at %= a.ndim
    node = op(nodes[0], axis=at if order is None else order[at], norm=NORMS[norm], n=n)
    made = array_of(node) if order is None else array_of(node)._derived(TRANSPOSE, order)
    if out is None:
        return made
    if made.shape != out.shape or not numpy.can_cast(node.dtype, out.dtype, "same_kind"):
        return NotImplemented
    assign(out, cast_node(made._node(), out.dtype))
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
        upper = array_of(transpose(back, axes=inverse_of(turned)))._derived(TRANSPOSE, turned)
    return upper if mode == "r" else sys.modules["lazynp"].linalg._linalg.QRResult(shown(q, order), upper)


def order_of_factor(a: Any, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """How the axes of a stack of triangles are turned against C's order: NumPy selects them from its copy of the
    matrices with a mask. None: not at all."""
    if a.ndim < 3 or a.flags.c_contiguous:
        return None
    mask = numpy.broadcast_to(numpy.empty(shape[-2:], bool), shape)
    strides = [
        tuple([0 if n == 1 else s for n, s in zip(shape, x.strides)]) for x in (mask, numpy.empty_like(a._meta()))
    ]
    memory = memory_order(a.ndim, strides)
    return None if memory is None else inverse_of(memory)


TABLE: dict[str, dict[str, Function]] = {"fft._pocketfft": {"_raw_fft": raw_fft}, "linalg._linalg": {"qr": qr}}


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
        return theirs(*args, **kwargs) if value is NotImplemented else value

    either.recorded = True  # type: ignore[attr-defined]
    return either
