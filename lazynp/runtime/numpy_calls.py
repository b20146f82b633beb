"""The body of a loop as NumPy calls: what runs while it is small and cold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy._core import umath

from ..backends.numpy.namespace import xp
from ..graph.function import Function
from ..graph.node import Node
from ..graph.op import MAP, REDUCE
from ..graph.walk import toposort
from ..ops.callback import callback
from ..ops.promotion import loop_dtypes, operand_keys
from ..ops.rewrites import rewrites
from ..tracebacks import name_line

Call = Callable[..., Any]
ERRORS = vars(umath)["_extobj_contextvar"]  # what np.errstate sets, without its cost
with np.errstate(all="ignore"):
    SILENT = ERRORS.get()


class Calls:
    """The function on a list of arrays. Values are numbered: inputs, constants, then results in order.

    What depends on no input is computed once.
    """

    def __init__(self, f: Function) -> None:
        inputs, kept = set(f.inputs), set(f.effects)
        known: dict[Node, Any] = {}
        todo = []
        outputs = f.outputs if kept else rewrites.simplify(f.outputs, f.inputs)
        for n in toposort([*outputs, *f.effects], stop=inputs):
            if n in inputs:
                continue
            if n.value is not None:
                known[n] = n.value
            elif n not in kept and not (kept and n.op is callback) and all([i in known for i in n.inputs]):
                known[n] = call_of(n)(*[known[i] for i in n.inputs])
            else:
                todo.append(n)
        place = {n: k for k, n in enumerate([*f.inputs, *known, *todo])}
        self.constants = list(known.values())
        self.steps = [(call_of(n), tuple([place[i] for i in n.inputs])) for n in todo]
        self.outputs = [place[n] for n in outputs]

    def __call__(self, inputs: list[Any]) -> list[Any]:
        values = inputs + self.constants
        for call, args in self.steps:
            if len(args) == 2:
                values.append(call(values[args[0]], values[args[1]]))
            elif len(args) == 1:
                values.append(call(values[args[0]]))
            else:
                values.append(call(*[values[a] for a in args]))
        return [values[i] for i in self.outputs]


def call_of(n: Node) -> Call:
    """A node's operation as a call on arrays."""
    op = n.op
    assert op is not None
    params = op.params_of(n)
    ufunc = op.ufunc
    if op.kind == MAP and ufunc is not None and ufunc.nout == 1:
        return ufunc_call(n, ufunc)
    if op.call is not None:
        return op.call(xp, **params)
    if op.kind == REDUCE and ufunc is not None:
        (x,) = n.inputs
        if ufunc is np.add and x.dtype == np.bool_ and n.dtype == np.intp and not n.shape and x.shape:
            return np.count_nonzero
        return reduce_call(ufunc, **params)
    lower, dtype = op.lower, n.dtype
    if op.kind == MAP:
        return lambda *xs: np.asarray(lower(xp, *xs, **params)).astype(dtype, copy=False)
    if n.site is not None:
        return named(lower, n.site, params)
    return lambda *xs: lower(xp, *xs, **params)


def named(lower: Call, site: tuple[str, int], params: dict[str, Any]) -> Call:
    """An operation that can fail, whose errors name the line that recorded it."""

    def call(*xs: Any) -> Any:
        try:
            return lower(xp, *xs, **params)
        except Exception as error:
            name_line(error, site)
            raise

    return call


def ufunc_call(n: Node, ufunc: np.ufunc) -> Call:
    """The ufunc itself, where NumPy would choose the right loop for the arrays, which know of no weak types."""
    loop = loop_dtypes(ufunc, operand_keys([i.aval for i in n.inputs]))
    given = [type(i.value) if i.weak and type(i.value) in (int, float, complex) else i.dtype for i in n.inputs]
    if ufunc.resolve_dtypes((*given, None)) == loop:
        return ufunc
    dtypes = loop[: len(given)]
    return lambda *xs: ufunc(*[np.asarray(x).astype(d, copy=False) for x, d in zip(xs, dtypes)])


def reduce_call(ufunc: np.ufunc, *, axes: tuple[int, ...], keepdims: bool, dtype: Any) -> Call:
    axis = axes[0] if len(axes) == 1 else axes
    reduce: Any = ufunc.reduce
    return lambda x: reduce(x, axis, dtype, None, keepdims)
