"""Elementwise operations on handles: recorded where the engine can do them, by NumPy at once where both are better off.

What operators and ufunc calls have in common, once their operands are arrays of ours and plain ones.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

import numpy
from numpy.lib.stride_tricks import as_strided

from ..away import on_host
from ..backends.order import memory_order
from ..config import config
from ..graph.node import ABSTRACT, Node
from ..ops.elementwise import where
from ..ops.promotion import same
from ..ops.shape import broadcast_to
from ..ops.ufuncs import called, ufuncs
from ..runtime.recorder import recorder
from ..runtime.storage import Storage, lock
from ..runtime.views import INDEX, TRANSPOSE, View, inverse_of
from . import complex_products
from .array import HOST_VIEW, Handle, Writes, is_traced, known, ndarray, new_handle, of_node, writeable
from .host import TracedArgumentError, bare, by_engine, fresh, note_work, on_traced
from .line_warnings import at_line
from .masked import elementwise_selection, selection_of
from .record import (
    INTEGER_LIMITS,
    cast_node,
    errors_kept,
    finish,
    host_value,
    nodes_in_place,
    out_of_range,
    tells_errors,
    told,
)

# The ufunc of each operator.
BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "lshift": "left_shift",
    "rshift": "right_shift",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "pow": "power",
}
COMPARE = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}
FLOAT_POWERS = {2: "square", 1: "positive", -1: "reciprocal", 0.5: "sqrt"}
# Before NumPy 2.3: scalars of any type count, complex bases are as real ones, and a bool is squared, to int8.
OLD_POWERS = (numpy.ones(1, bool) ** 2.0).dtype == numpy.int8
Host = Callable[..., Any]
NDARRAY = numpy.ndarray
COMPARISONS = frozenset(COMPARE.values())
BYTES = 12  # times as many elements are small where they are bytes
OF_BYTES = frozenset(
    {"add", "subtract", "multiply", "maximum", "minimum", "left_shift", "right_shift", "invert", "negative", "absolute"}
    | {f"bitwise_{what}" for what in ("and", "or", "xor")}
    | {f"logical_{what}" for what in ("and", "or", "xor", "not")}
    | COMPARISONS
)
SCALAR_PRIORITY = -1000000.0
MIRRORED = {"eq": "__eq__", "ne": "__ne__", "lt": "__gt__", "gt": "__lt__", "le": "__ge__", "ge": "__le__"}


def defers(self: Any, other: Any, inplace: bool = False) -> bool:
    """Whether an operator of self leaves the operation to other, as NumPy's `binop_should_defer` says."""
    kind = type(other)
    protocol = getattr(kind, "__array_ufunc__", NDARRAY)
    if protocol is not NDARRAY:
        return protocol is None and not inplace
    return priority(self) < priority(other)


def left_to(name: str, self: Any, other: Any, swapped: bool = False) -> Any:
    """What an operation gives that an operator of self leaves to other: NotImplemented, so that Python asks that. Types
    of C modules, which ask for NumPy's type in C (pandas' Timestamp), are given NumPy's array where they refuse ours;
    else Python would say that nothing is equal.

    Args:
        name: that of Python's operator.
        swapped: whether self is the right operand, so that other has refused already.
    """
    method = getattr(type(other), f"__{name}__" if swapped else MIRRORED.get(name, f"__r{name}__"), None)
    if method is None or isinstance(method, types.FunctionType) or type(self) is not ndarray or is_traced(self):
        return NotImplemented
    value = NotImplemented if swapped else method(other, self)
    if value is NotImplemented and not isinstance(other, Handle):
        value = method(other, self._host_())
    return from_operator(value)


def priority(x: Any) -> float:
    """`__array_priority__`; that of a scalar where there is none that is a number."""
    try:
        return float(x.__array_priority__)
    except Exception:
        return SCALAR_PRIORITY


def array_of_list(x: Any) -> Any:
    """A list as an operand: NumPy's array; one of ours where something in it is traced."""
    try:
        return numpy.asarray(host_value(x))
    except TracedArgumentError:
        return on_traced("array", numpy.array, (x,), {})


def dummy(x: Any) -> Any:
    """An operand of the same shape and dtype and no memory, to have NumPy raise its error."""
    if selection_of(x) is not None:
        return numpy.zeros(1, x.dtype)
    if isinstance(x, Handle):
        return as_strided(numpy.zeros(1, x.dtype), x.shape, (0,) * x.ndim)
    return x


def at_once(x: Any) -> bool:
    """Whether an operand is at hand on the host and small."""
    if type(x) is ndarray:
        return known(x) and x._h_.size <= config.limit
    return not isinstance(x, numpy.ndarray) or x.size <= config.limit


def grows(operands: Any) -> bool:
    """Whether small operands, two vectors in an outer product say, make a result that is not: it is better recorded, so
    that what is done with it is one pass with what makes it."""
    arrays = [x for x in operands if isinstance(x, (Handle, numpy.ndarray)) and x.ndim]
    if len(arrays) < 2 or math.prod([x.size for x in arrays]) <= config.limit:
        return False
    try:
        size = math.prod(numpy.broadcast_shapes(*[x.shape for x in arrays]))
        return size > config.limit and size * max([x.itemsize for x in arrays]) > BYTES * config.limit
    except ValueError:  # which NumPy says in its own words
        return False


def all_at_once(name: str, operands: Any) -> bool:
    """Whether an operation is NumPy's to do at once: all operands are at hand and small, or all are of single bytes and
    so is the result. What an operation costs NumPy goes by bytes, and it goes through bytes faster than kernels do."""
    for x in operands:
        if not at_once(x):
            break
    else:
        return not grows(operands)
    if name not in OF_BYTES or config.limit < 0:
        return False
    for x in operands:
        if type(x) is ndarray:
            if not known(x) or x._h_.itemsize != 1 or x._h_.size > BYTES * config.limit:
                return False
        elif type(x) is not int and type(x) is not bool and not (isinstance(x, numpy.generic) and x.itemsize == 1):
            return False
    return True


def is_handle(x: Any) -> bool:
    return isinstance(x, Handle)


def from_operator(value: Any) -> Any:
    return fresh(value) if type(value) is numpy.ndarray else value


def elementwise(name: str, host: Host, *operands: Any) -> Any:
    """An elementwise operation past the shortcut: recorded where the engine can do it, else by NumPy at once."""
    if all_at_once(name, operands):
        return from_operator(at_line(host, *[host_value(x) for x in operands]))
    op = called.get(name)
    for x in operands:
        if selection_of(x) is not None and not errors_kept():  # else in what is not selected others would happen
            with lock:
                out = (
                    elementwise_selection(
                        lambda nodes: checked(ufunc_node(name, host, nodes, operands)), host, operands
                    )
                    if op is not None and not power_of_arrays(name, operands)
                    else None
                )
            if out is not None:
                return out
    given, order = operands, common_order(operands)
    if order is not None:
        operands = in_memory_order(operands, order)
    node = compared_alike(name, host, operands) if name in COMPARISONS else None
    memory: list[numpy.ndarray] = []
    if node is None:
        nodes, memory = nodes_in_place(operands) if op is not None else (None, [])
        if nodes is None:
            try:
                values = [host_value(x) for x in given]
            except TracedArgumentError:
                return on_traced(name, host, given, {})
            value = at_line(host, *values)
            note_work(name, filter(is_handle, given))
            return from_operator(value)
        if out_of_range(nodes):
            with numpy.errstate(all="ignore"):
                host(*[dummy(x) for x in operands])  # which raises, unless it computes with another dtype
        node = told(checked(ufunc_node(name, host, nodes, operands)))
    out = of_node(node)
    finish(node, memory)
    return out if order is None else out._derived_(TRANSPOSE, order)


def compared_alike(name: str, host: Host, operands: Any) -> Node | None:
    """What a comparison gives with a number of Python's that the dtype does not have: it compares alike with all that
    the dtype has. None for any other."""
    numbers = [x for x in operands if type(x) is int]
    arrays = [x for x in operands if isinstance(x, (Handle, numpy.ndarray))]
    limits = INTEGER_LIMITS.get(arrays[0].dtype.char) if len(numbers) == len(arrays) == 1 else None
    if limits is None or limits[0] <= numbers[0] <= limits[1]:
        return None
    truth = host(*[x if type(x) is int else numpy.zeros(1, x.dtype) for x in operands])
    return broadcast_to(Node.of_scalar(truth[0]), shape=arrays[0].shape)


def common_order(operands: Any) -> tuple[int, ...] | None:
    """How the axes of the result are turned against C's order in memory: NumPy keeps the operands' order. None: not at
    all."""
    turned = False
    for x in operands:
        if type(x) is ndarray:
            view = x._v_ if type(x._v_) is not tuple else x._view_()
            if view is HOST_VIEW:
                turned = turned or not x._h_.flags.c_contiguous
            elif view is not None:
                turned = turned or any([kind == TRANSPOSE for kind, _ in view.steps])
        elif type(x) is numpy.ndarray and x.ndim > 1:
            turned = turned or not x.flags.c_contiguous
    if not turned:
        return None
    ndim = max([x.ndim for x in operands if isinstance(x, (Handle, numpy.ndarray))], default=0)
    strides = []
    for x in operands:
        if isinstance(x, (Handle, numpy.ndarray)):
            meta = x._meta_() if isinstance(x, Handle) else x
            own = [0 if n == 1 else abs(s) for n, s in zip(meta.shape, meta.strides)]
            strides.append((*(0,) * (ndim - len(own)), *own))
    memory = memory_order(ndim, strides)
    return None if memory is None else inverse_of(memory)


def in_memory_order(operands: Any, order: tuple[int, ...]) -> tuple[Any, ...]:
    """Operands with their axes in memory order, for `order` from `common_order`: a result gets them back by
    `_derived_(TRANSPOSE, order)`."""
    inverse = inverse_of(order)
    return tuple([straightened(x, inverse) for x in operands])


def straightened(x: Any, inverse: tuple[int, ...]) -> Any:
    """An operand with its axes in memory order."""
    if type(x) is numpy.ndarray and x.ndim:
        return x[(None,) * (len(inverse) - x.ndim)].transpose(inverse)
    if type(x) is not ndarray or x.ndim == 0:
        return x
    if x._v_ is HOST_VIEW:
        out = new_handle(ndarray)
        out._s_, out._b_, out._v_ = x._s_, x._b_, HOST_VIEW
        out._h_ = x._h_[(None,) * (len(inverse) - x.ndim)].transpose(inverse)
        return out
    if x.ndim < len(inverse):
        x = x._derived_(INDEX, (*(None,) * (len(inverse) - x.ndim), *[(0, n, 1) for n in x.shape]))
    return x._derived_(TRANSPOSE, inverse)


def ufunc_node(name: str, host: Host, nodes: list[Node], operands: Any, out: Any = None) -> Node:
    """The node; or NumPy's own error for such operands. `out`: what NumPy would write into."""
    exponent = nodes[1].value if name == "power" else None
    if name == "power" and OLD_POWERS and exponent is None and not nodes[1].shape and not nodes[1].trace:
        exponent = numpy.asarray(operands[1])[()]
    if exponent is not None and not nodes[0].weak:
        name = power_name(nodes[0].dtype, exponent)
        if name != "power":
            nodes = nodes[:1]
    if name in complex_products.NAMES and complex_products.is_one_by_one(name, nodes, operands, out):
        return complex_products.rounded(nodes)
    try:
        node = called[name](*nodes)
    except (TypeError, ValueError, OverflowError):
        host(*[dummy(x) for x in operands])
        raise
    return node


def checked(node: Node) -> Node:
    """A node whose operands NumPy looks at when it is called: see `check_exponent`."""
    if node.op is ufuncs["power"]:
        check_exponent(node)
    return node


def check_exponent(node: Node) -> None:
    """Raise NumPy's error for a power of integers with a negative exponent: at the call, for which an exponent that is
    pending is computed."""
    exponent = node.inputs[1] if node.dtype.kind == "i" else node
    if exponent.dtype.kind != "i" or exponent is node or 0 in node.shape:
        return
    if exponent.value is None:
        if exponent.trace == ABSTRACT:
            return
        if exponent.buffer is None:
            recorder.demand(exponent)
        negative = on_host(exponent.buffer).min() < 0
    else:
        negative = exponent.value < 0
    if negative:
        raise ValueError("Integers to negative integer powers are not allowed.")


def power_of_arrays(name: str, operands: Any) -> bool:
    """Whether it is a power with integers in an array as exponents: those that a mask leaves out may be negative."""
    return name == "power" and getattr(operands[1], "ndim", 0) > 0 and operands[1].dtype.kind == "i"


def power_name(base: numpy.dtype[Any], exponent: Any) -> str:
    """The ufunc that NumPy's `**` uses for an array of this dtype and this exponent."""
    if OLD_POWERS:
        if not isinstance(exponent, (int, float, numpy.integer, numpy.floating)):
            return "power"
        if base.kind in "fc":
            return FLOAT_POWERS.get(float(exponent), "power")
        whole = isinstance(exponent, (int, numpy.integer))
        return "square" if exponent == 2 and (whole or base.kind == "b") else "power"
    if type(exponent) in (int, float):
        if base.kind == "f":
            return FLOAT_POWERS.get(exponent, "power")
        if base.kind == "c":
            whole = type(exponent) is int
            return (
                "square"
                if whole and exponent == 2
                else "reciprocal"
                if whole and exponent == -1
                else ("sqrt" if exponent == 0.5 else "power")
            )
        if base.kind in "iub" and type(exponent) is int and exponent == 2:
            return "square"
    return "power"


def write_result(self: ndarray, name: str, host: Host, inplace_host: Host, other: Any) -> ndarray:
    """`self op= other`, past the shortcut: what is recorded is read and written in one step for other threads."""
    with lock:
        out = recorded_result(bare(self), name, host, inplace_host, bare(other))
    if out is None:
        self._host_()
        note_work(name, (self,))
        with Writes() as to:
            at_line(inplace_host, to(self), host_value(other))
        return self
    return out if type(self) is ndarray else self


def recorded_result(self: ndarray, name: str, host: Host, inplace_host: Host, other: Any) -> ndarray | None:
    """The same, recorded; None where it is NumPy's to do."""
    s = self._s_
    if s.details is not None and s.details.scalar:
        return elementwise(name, host, self, other)
    if selection_of(self) is not None:
        out = (
            elementwise_selection(
                lambda nodes: result_node(self, name, host, inplace_host, nodes, other), inplace_host, (self, other)
            )
            if name in ufuncs and not power_of_arrays(name, (self, other)) and not errors_kept()
            else None
        )
        if out is not None:
            self._s_, self._b_, self._h_, self._v_ = out._s_, False, None, None
            return self
        self._host_()
    pinned = lies_still(self) and not delivers(self)
    small = config.limit >= 0 and all_at_once(name, (self, other))
    if pinned or small or name not in ufuncs or not writeable(self):
        return None
    given, target = complex_products.forwards(name, (other, self))
    order = common_order((target, given))
    if order is not None and len(order) == self.ndim:  # the new value is computed as it lies, with what reads it later
        target, given = in_memory_order((target, given), order)
    nodes, memory = nodes_in_place((target, given))
    if nodes is None:
        return None
    try:
        node = result_node(target, name, host, inplace_host, nodes, given)
    except ValueError:
        if target is self:
            raise
        inplace_host(dummy(self), dummy(other))  # the error names the shapes that the user sees
        raise
    del nodes
    if node is None:
        return None
    assign(target, node)
    finish_writing(target, memory)
    return self


def result_node(self: ndarray, name: str, host: Host, inplace_host: Host, nodes: list[Node], other: Any) -> Node | None:
    """The new value of self, in its dtype; NumPy's error where the operation cannot be done in place. None where NumPy
    is to tell of errors in the operation and in a cast together."""
    if out_of_range(nodes):
        inplace_host(dummy(self), dummy(other))
    node = ufunc_node(name, inplace_host, nodes, (self, other), self)
    shape = self._s_.node.shape if selection_of(self) is not None else self.shape  # type: ignore[union-attr]
    if node.shape != shape or not numpy.can_cast(node.dtype, self.dtype, "same_kind"):
        inplace_host(dummy(self), dummy(other))
    if not same(node.dtype, self.dtype) and tells_errors(self, other):
        return None
    checked(node)
    try:
        told(node)
    except FloatingPointError:  # NumPy has written by then
        assign(self, cast_node(node, self.dtype))
        raise
    return cast_node(node, self.dtype)


def assign(self: ndarray, node: Node) -> None:
    """Make node, a number or what has a shape that broadcasts to self's, of self's dtype what self's view shows."""
    if node.value is not None or node.shape != self.shape:
        node = broadcast_to(node, shape=self.shape)
    with lock:
        if lies_still(self):
            deliver(self, node)
        else:
            store(self._s_, self._view_(), node)
    del node
    recorder.settle()


def finish_writing(self: ndarray, memory: list[numpy.ndarray]) -> None:
    """`finish` for what was written."""
    node = self._s_.node
    if memory and node is not None:
        finish(node, memory)


def lies_still(x: ndarray) -> bool:
    """Whether what is written to an array has to be in its memory at once."""
    return x._v_ is HOST_VIEW or x._s_.details is not None and x._s_.details.pin


def delivers(x: ndarray) -> bool:
    """Whether the engine writes into memory that lies still: where it has to, and each element is there once."""
    if not by_engine() or is_traced(x):
        return False
    h, extent = x._meta_(), 0
    for step, n in sorted([(abs(step), n) for step, n in zip(h.strides, h.shape) if n != 1]):
        if step < extent + h.itemsize:
            return not h.size
        extent += step * (n - 1)
    return True


def deliver(self: ndarray, node: Node) -> None:
    """Compute node, and put it into memory that others have views of. Under the lock."""
    if node.trace:
        raise TracedArgumentError("a write into an array whose memory NumPy has a view of")
    if node.value is None:
        recorder.demand(node)
    value = on_host(node.buffer) if node.value is None else node.value
    numpy.copyto(self._writable_(), value, "unsafe")


def assign_where(self: ndarray, mask: Node, node: Node) -> bool:
    """The same where mask is true; False, and nothing is done, where NumPy has to do it: another thread is writing into
    the rest."""
    with lock:
        if lies_still(self):
            deliver(self, where(mask, node, self._node_()))
            return True
        s, view = self._s_, self._view_()
        base = s.graph()
        if s.node is not base:
            return False
        if view is not None and all([kind == TRANSPOSE for kind, _ in view.steps]):
            # in the order of the memory, in which what reads it later is computed with it
            there = [view.write(base, n) if n.shape == self.shape else n for n in (mask, node)]
            if all([n.shape in (base.shape, ()) for n in there]):
                mask, node, view = *there, None
        node = where(mask, node, base if view is None else view.read(base))
        s.hold(node if view is None else view.write(base, node))
    del base, node, mask
    recorder.settle()
    return True


def settle_objects(s: Storage) -> None:
    """Objects that were written over are let go of at once: what happens then may matter."""
    if s.node is not None and s.node.dtype.hasobject:
        recorder.demand(s.node)


def store(s: Storage, view: View | None, node: Node) -> None:
    """Make node what a view of a storage shows, under the lock. A buffer that has to stay, since another thread has it
    written by NumPy or has just taken a view of it, gets the value at once."""
    pinned = s.details is not None and s.details.pin
    if view is None and not pinned and (s.node is not None or s.close()):
        s.hold(node)
        settle_objects(s)
        return
    base = s.graph()
    if not pinned and s.node is base or node.trace:
        s.hold(node if view is None else view.write(base, node))
        del base
        settle_objects(s)
        return
    if node.value is None:
        recorder.demand(node)
    if pinned:
        recorder.flush()
        s.node, s.reads, s.free = None, None, True
    value = on_host(node.buffer) if node.value is None else node.value
    numpy.copyto(s.buf if view is None else view.of_buffer(s.buf), value, "unsafe")
