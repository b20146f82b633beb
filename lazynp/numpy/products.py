"""Products of NumPy's C code that are recorded where an array is pending, large or traced: `inner`, `vdot`, `einsum`.

Each gives NotImplemented where it leaves the call to NumPy, with its errors.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from ..backends.order import memory_order
from ..config import config
from ..graph.node import Node, leaf
from ..ops import contraction, indexing
from ..ops.elementwise import add, convert, multiply, not_equal
from ..ops.shape import add_reduce, reshape, transpose
from ..runtime.device import devices
from ..runtime.processes import processes
from ..runtime.recorder import recorder
from ..runtime.views import TRANSPOSE, inverse_of
from .arithmetic import assign
from .array import Handle, is_native, is_traced, known, ndarray
from .host import returned, unwrap
from .layout import array_of, c_contiguous
from .library import shown, wanted
from .methods import SPELLED
from .record import cast_node, nodes_of
from .recorded_ufuncs import product_told, recordable
from .traced_views import at_places
from .view_methods import own

Rule = Callable[..., Any]
MOST = 1 << 20  # elements of a pending array that is computed for a sum of products: more are a kernel's


def of_two(rule: Callable[[Node, Node], Node], host: Callable[..., Any]) -> Rule:
    """A product of two arrays, lists and numbers, of which none is weak here, in their common dtype."""

    def call(a: Any, b: Any, /) -> Any:
        given = [x if isinstance(x, Handle) else numpy.asarray(unwrap(x)) for x in (a, b)]
        if any(map(runs_backwards, given)) and not any(map(is_traced, given)):
            return NotImplemented  # NumPy adds such products up by itself, with smaller errors than BLAS
        nodes = nodes_of([straight(x) for x in given]) if wanted(given) else None
        if nodes is None:
            return NotImplemented
        dtype = numpy.result_type(*[n.dtype for n in nodes])
        try:
            return shown(product_told(rule(*[cast_node(n, dtype) for n in nodes]), host))
        except (TypeError, ValueError):
            return NotImplemented

    return call


def runs_backwards(x: Any) -> bool:
    """Whether it is a vector that BLAS cannot take as it lies."""
    return x.ndim == 1 and x.strides[0] < 0


def straight(x: Any) -> Any:
    """An array in C's order, which NumPy copies for BLAS, too, where it lies otherwise."""
    return x if type(x) is not ndarray or is_traced(x) or c_contiguous(x) else x.copy()


LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
CASTINGS = frozenset({"safe", "same_kind", "unsafe"})
ORDERS = frozenset("KACF")


def as_text(args: Sequence[Any]) -> tuple[str, list[Any]] | None:
    """Subscripts as text, and the operands; None where they are given otherwise, or wrongly."""
    if type(args[0]) is str:
        return args[0], list(args[1:])
    operands, lists = list(args[0 : len(args) - len(args) % 2 : 2]), list(args[1::2])
    if len(args) % 2:
        lists.append(args[-1])
    texts = []
    for given in lists:
        s = given.tolist() if isinstance(given, (Handle, numpy.ndarray)) else given
        if type(s) not in (list, tuple) or not all([i is Ellipsis or is_label(i) for i in s]):
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
    order = SPELLED.get(order, order)
    if found is None or order not in ORDERS or casting not in CASTINGS or not wanted(found[1]):
        return NotImplemented
    text, operands = found
    if out is not None and not recordable(out):
        return NotImplemented
    operands = [x if type(x) in (ndarray, numpy.ndarray) else numpy.asarray(x) for x in operands]
    labels = spelled(text, operands)
    if labels is None:
        return NotImplemented
    (first, *_), output = labels
    view = len(operands) == 1 and out is None and set(first) == set(output)  # whatever the dtype and the order
    plain = out is None and dtype is None and casting == "safe" and order == "K"
    if plain and not view and sums_at_hand(operands, *labels):
        return returned(numpy.einsum(text, *[x._host_() if type(x) is ndarray else x for x in operands]))
    nodes = nodes_of(operands)
    if nodes is None:
        return NotImplemented
    if view:
        return view_of(operands[0], first, output)
    common = numpy.result_type(*[x.dtype for x in (nodes if out is None else (*nodes, out))])
    target = common if dtype is None else numpy.dtype(dtype)
    if target.char not in "?bBhHiIlLqQefdgFDG" or not all([numpy.can_cast(n.dtype, target, casting) for n in nodes]):
        return NotImplemented
    if out is None and order != "K":
        made = c_einsum(*args, dtype=dtype, casting=casting)
        fortran = order == "F" or order == "A" and all([x.flags.f_contiguous for x in operands])
        return made.copy("F" if fortran else "C") if type(made) is ndarray else made
    turned = None if out is not None else turned_like(operands, *labels)
    turned_output = output if turned is None else "".join([output[i] for i in inverse_of(turned)])
    wide = numpy.dtype("f") if target.char == "e" else target  # NumPy adds up halves in single precision
    try:
        node = product([cast_node(n, wide) for n in nodes], labels[0], turned_output)
    except (TypeError, ValueError):
        return NotImplemented
    if wide.kind in "fc" and not contracts(*labels):
        node = add(node, Node.of_scalar(wide.type(0)))  # NumPy adds products to zeros, so that none is -0.
    node = convert(node, target)  # NumPy tells of no overflow here
    if out is None:
        return shown(node) if turned is None else array_of(node)._derived_(TRANSPOSE, turned)
    if node.shape != out.shape or not numpy.can_cast(node.dtype, out.dtype, casting):
        return NotImplemented
    assign(out, cast_node(node, out.dtype))
    return out


def sums_at_hand(operands: Sequence[Any], inputs: Sequence[str], output: str) -> bool:
    """Whether something small is made of arrays that are at hand, in one pass over the largest: NumPy is through with
    it before anything else had begun. Products of matrices are no such sums. One array that is all that is pending is
    computed for that, where it is no larger than what two cores are worth."""
    if processes.run is not None or devices.used or config.limit < 0:
        return False
    if not all([is_native(x.dtype) and (type(x) is numpy.ndarray or not is_traced(x)) for x in operands]):
        return False
    sizes = {c: n for s, x in zip(inputs, operands) for c, n in zip(s, x.shape)}
    every = math.prod(sizes.values())
    if math.prod([sizes[c] for c in output]) > config.limit or every != max([x.size for x in operands]):
        return False
    waiting = {id(x._s_): x for x in operands if type(x) is ndarray and not known(x)}
    if waiting and len(waiting) == 1 and every <= MOST:
        (x,) = waiting.values()
        if x._s_.node is not None and x._s_.buf is None and recorder.is_alone(x._s_.node):
            recorder.demand(x._s_.node)
    return all([known(x) for x in waiting.values()])


def contracts(inputs: Sequence[str], output: str) -> bool:
    """Whether products are added up, to zero."""
    return any([sum([c in s for s in inputs]) > 1 for c in set("".join(inputs)) - set(output)])


def is_label(i: Any) -> bool:
    return isinstance(i, (int, numpy.integer)) and type(i) is not bool and int(i) in range(len(LETTERS))


SHORT_ROW = 64  # elements of a row, of which a vector loop of BLAS leaves a large part


def product(nodes: list[Node], inputs: list[str], output: str) -> Node:
    """The sum of products, of nodes of one dtype."""
    if len(nodes) == 1 and set(inputs[0]) == set(output):
        (x,) = nodes
        places = numbers_of(x.shape, inputs[0], output)
        return indexing.take(reshape(x, shape=(x.aval.size,)), leaf(places.shape, places.dtype, places), 0)
    (first, *rest) = inputs
    alike = len(nodes) > 1 and len(set(first)) == len(first) and all([sorted(s) == sorted(first) for s in rest])
    if alike and nodes[0].dtype.kind == "c" and not any([n.trace for n in nodes]):
        # products that are added up: BLAS's errors would be larger than NumPy's
        order = output + "".join([c for c in first if c not in output])
        turned = [transpose(n, axes=tuple([s.index(c) for c in order])) for n, s in zip(nodes, inputs)]
        axes = tuple(range(len(output), len(order)))
        made = functools.reduce(multiply, turned)
        return add_reduce(made, axes=axes, keepdims=False, dtype=None) if axes else made
    rows = len(nodes) == 2 and first[-1:] == rest[0][-1:]
    if rows and processes.run is None and all([is_short_row(n, s, output) for n, s in zip(nodes, inputs)]):
        return contraction.inner1d(
            *[transpose(n, axes=tuple(map(s.index, output + s[-1]))) for n, s in zip(nodes, inputs)]
        )
    einsum = importlib.import_module("lazynp.ops.einsum").einsum  # which loads opt_einsum
    node: Node = einsum(f"{','.join(inputs)}->{output}", *nodes, optimize=False)
    return node


def is_short_row(x: Node, labels: str, output: str) -> bool:
    """Whether only the last axis of a real array is added up, which is so short that NumPy loses less than BLAS."""
    if x.trace or x.dtype.char not in "fd" or not labels or labels[-1] in output:
        return False
    return sorted(labels) == sorted(output + labels[-1]) and 1 < x.shape[-1] <= SHORT_ROW


def numbers_of(shape: tuple[int, ...], labels: str, output: str) -> numpy.ndarray:
    """Of the elements that stand on diagonals the numbers, in C's order."""
    numbers = numpy.arange(math.prod(shape)).reshape(shape)
    return numpy.einsum(f"{labels}->{output}", numbers).copy()


def view_of(x: Any, labels: str, output: str) -> Any:
    """One operand with its axes in another order, and diagonals of it; NotImplemented where NumPy makes the view."""
    if not output:
        return NotImplemented  # a number, which is no view
    if len(labels) == len(output):
        return x.transpose([labels.index(c) for c in output])
    if not is_traced(x):
        return diagonal(x, labels, output)
    places = numbers_of(x.shape, labels, output)
    return at_places(x, leaf(places.shape, places.dtype, places))


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


def inner(a: Any, b: Any) -> Any:
    """As `numpy.inner`, of the operands of `matmul`."""
    return numpy.inner(a, b.T)


TABLE: dict[str, Rule] = {
    "count_nonzero": count_nonzero,
    "c_einsum": c_einsum,
    "inner": of_two(contraction.inner, inner),
    "vdot": of_two(contraction.vdot, numpy.vdot),
}
