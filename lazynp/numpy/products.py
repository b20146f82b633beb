"""Products of NumPy's C code that are recorded where an array is pending, large or traced: `inner`, `vdot`, `einsum`.

Each gives NotImplemented where it leaves the call to NumPy, with its errors.
"""

from __future__ import annotations

import importlib
import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from ..backends.order import memory_order
from ..graph.node import Node, leaf
from ..ops import contraction
from ..ops.elementwise import not_equal
from ..ops.shape import add_reduce
from ..runtime.views import TRANSPOSE, inverse_of
from .arithmetic import assign
from .array import Handle, is_traced, ndarray
from .layout import array_of
from .library import shown, wanted
from .record import cast_node, nodes_of
from .recorded_ufuncs import recordable
from .traced_views import at_places
from .view_methods import own

Rule = Callable[..., Any]


def of_two(rule: Callable[[Node, Node], Node]) -> Rule:
    """A product of two arrays in their common dtype."""

    def call(a: Any, b: Any, /) -> Any:
        nodes = nodes_of((a, b)) if wanted((a, b)) else None
        if nodes is None or any(n.weak for n in nodes):
            return NotImplemented
        if not (is_traced(a) or is_traced(b) or all([x.flags.c_contiguous for x in (a, b) if hasattr(x, "flags")])):
            return NotImplemented  # NumPy adds such products up by itself, with smaller errors than BLAS
        dtype = numpy.result_type(*[n.dtype for n in nodes])
        try:
            return shown(rule(*[cast_node(n, dtype) for n in nodes]))
        except (TypeError, ValueError):
            return NotImplemented

    return call


LETTERS = string.ascii_letters
CASTINGS = frozenset({"safe", "same_kind", "unsafe"})


def as_text(args: Sequence[Any]) -> tuple[str, list[Any]] | None:
    """Subscripts as text, and the operands; None where they are given otherwise, or wrongly."""
    if type(args[0]) is str:
        return args[0], list(args[1:])
    operands, lists = list(args[0 : len(args) - len(args) % 2 : 2]), list(args[1::2])
    if len(args) % 2:
        lists.append(args[-1])
    if not all([type(s) in (list, tuple) for s in lists]):
        return None
    texts = []
    for s in lists:
        if not all([i is Ellipsis or type(i) is int and 0 <= i < len(LETTERS) for i in s]):
            return None
        texts.append("".join(["..." if i is Ellipsis else LETTERS[i] for i in s]))
    return (",".join(texts[:-1]) + "->" + texts[-1] if len(args) % 2 else ",".join(texts)), operands


def spelled(text: str, operands: Sequence[Any]) -> tuple[list[str], str] | None:
    """Labels of each operand and of the result, without spaces and ellipses; None where they do not fit."""
    left, arrow, output = text.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(operands):
        return None
    free = [c for c in reversed(LETTERS) if c not in text]
    most = 0
    for i, (s, x) in enumerate(zip(inputs, operands)):
        if "..." in s:
            n = x.ndim - len(s) + 3
            if n < 0 or n > len(free):
                return None
            most = max(most, n)
            inputs[i] = s.replace("...", "".join(free[:n][::-1]))
        if len(inputs[i]) != x.ndim or not set(inputs[i]) <= set(LETTERS):
            return None
    spread = "".join(free[:most][::-1])
    if arrow:
        output = output.replace("...", spread)
    else:
        every = "".join(inputs)
        output = spread + "".join(sorted(c for c in set(every) - set(spread) if every.count(c) == 1))
    if len(set(output)) < len(output) or not set(output) <= set("".join(inputs)):
        return None
    return inputs, output


def c_einsum(*args: Any, out: Any = None, dtype: Any = None, order: Any = "K", casting: Any = "safe") -> Any:
    """`numpy.einsum` from left to right."""
    found = as_text(args) if len(args) > 1 else None
    if found is None or order != "K" or casting not in CASTINGS or not wanted(found[1]):
        return NotImplemented
    text, operands = found
    if out is not None and not recordable(out):
        return NotImplemented
    operands = [x if type(x) in (ndarray, numpy.ndarray) else numpy.asarray(x) for x in operands]
    labels = spelled(text, operands)
    nodes = nodes_of(operands) if labels is not None else None
    if labels is None or nodes is None:
        return NotImplemented
    common = numpy.result_type(*[n.dtype for n in nodes])
    target = common if dtype is None else numpy.dtype(dtype)
    if target.char not in "?bBhHiIlLqQfdgFDG" or not all([numpy.can_cast(n.dtype, target, casting) for n in nodes]):
        return NotImplemented
    if len(operands) == 1 and out is None and target == common and sorted(labels[0][0]) == sorted(labels[1]):
        if not labels[1]:
            return NotImplemented  # a number, which is no view
        return operands[0].transpose([labels[0][0].index(c) for c in labels[1]])
    repeated = len(operands) == 1 and set(labels[0][0]) == set(labels[1])
    if repeated and out is None and target == common and is_traced(operands[0]):
        (x,) = operands
        places = numpy.einsum(f"{labels[0][0]}->{labels[1]}", numpy.arange(x.size).reshape(x.shape))
        return at_places(x, leaf(places.shape, places.dtype, places.copy()))
    if repeated and not is_traced(operands[0]):
        return diagonal(operands[0], labels[0][0], labels[1]) if out is None and target == common else NotImplemented
    sums = len(set(map(frozenset, labels[0]))) == 1 < len(operands)
    if sums and target.kind == "c" and not any(map(is_traced, operands)):
        return NotImplemented  # products that are added up, with larger errors by BLAS than by NumPy
    einsum = importlib.import_module("lazynp.ops.einsum").einsum  # which loads opt_einsum
    turned = None if out is not None else turned_like(operands, *labels)
    output = labels[1] if turned is None else "".join([labels[1][i] for i in inverse_of(turned)])
    try:
        node = einsum(f"{','.join(labels[0])}->{output}", *[cast_node(n, target) for n in nodes], optimize=False)
    except (TypeError, ValueError):
        return NotImplemented
    if out is None:
        return shown(node) if turned is None else array_of(node)._derived_(TRANSPOSE, turned)
    if node.shape != out.shape or not numpy.can_cast(node.dtype, out.dtype, casting):
        return NotImplemented
    assign(out, cast_node(node, out.dtype))
    return out


def diagonal(x: Any, labels: str, output: str) -> Any:
    """NumPy's view of the diagonals of the last two axes; NotImplemented where it is one of others."""
    n, rest = x.shape[-1], labels[:-2]
    if labels[-1] != labels[-2] or len(set(rest)) < len(rest) or labels[-1] in rest or x.shape[-2] != n:
        return NotImplemented
    if not own(x) or not x.flags.c_contiguous:
        return NotImplemented
    found = x.reshape((*x.shape[:-2], n * n))[..., :: n + 1]
    return found.transpose([labels[:-1].index(c) for c in output])


def turned_like(operands: Sequence[Any], inputs: Sequence[str], output: str) -> tuple[int, ...] | None:
    """How the result's axes are turned against C's order in memory: NumPy goes through all labels in the operands'
    order. None: not at all."""
    labels = output + "".join(dict.fromkeys(c for s in inputs for c in s if c not in output))
    strides = []
    for s, x in zip(inputs, operands):
        meta = x._meta_() if isinstance(x, Handle) else x
        own = dict.fromkeys(labels, 0)
        for c, n, step in zip(s, meta.shape, meta.strides):
            own[c] += 0 if n == 1 else step
        strides.append(tuple([abs(n) for n in own.values()]))
    memory = memory_order(len(labels), strides)
    if memory is None:
        return None
    kept = [i for i in memory if i < len(output)]
    return None if kept == sorted(kept) else inverse_of(kept)


COUNT = type(numpy.count_nonzero(numpy.ones(1)))  # Python's int in some versions


def count_nonzero(a: Any, /) -> Any:
    """The number of elements that are not zero, of an array."""
    if type(a) is not ndarray or is_traced(a) or not wanted((a,)) or a.dtype.kind not in "biufc":
        return NotImplemented
    nodes = nodes_of((a,))
    if nodes is None:
        return NotImplemented
    (node,) = nodes
    mask = node if node.dtype == bool else not_equal(node, Node.of_scalar(numpy.zeros((), node.dtype)[()]))
    return COUNT(shown(add_reduce(mask, axes=tuple(range(mask.ndim)), keepdims=False, dtype=numpy.dtype(numpy.intp))))


TABLE: dict[str, Rule] = {
    "count_nonzero": count_nonzero,
    "c_einsum": c_einsum,
    "inner": of_two(contraction.inner),
    "vdot": of_two(contraction.vdot),
}
