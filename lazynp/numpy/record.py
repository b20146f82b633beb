"""From handles to nodes and back: how the door asks the engine for an operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from ..config import config
from ..graph.node import BORROWED, Node, leaf
from ..graph.op import Op
from ..ops.elementwise import cast, real, where
from ..ops.promotion import same
from ..runtime.processes import processes
from ..runtime.recorder import recorder
from . import array, line_warnings
from .array import Handle, is_moved, is_native, is_traced, known, ndarray, of_node
from .casts import discards, warn_of_it
from .host import of_traced, unwrap

PYTHON_SCALARS = frozenset({bool, int, float, complex})
INTEGER_LIMITS = {c: (int(numpy.iinfo(c).min), int(numpy.iinfo(c).max)) for c in "bBhHiIlLqQ"}
natives: dict[type, bool] = {}  # by the dtype's class: dtypes of two C types may be equal
MOST_AXES = 32  # of an operation's result; NumPy's arrays have up to 64
INT64 = range(-(1 << 63), 1 << 63)


def known_small(x: Any) -> bool:
    """Whether x is there on the host, and small enough to be worked on at once."""
    if type(x) is ndarray:
        return known(x) and x._h_.size <= config.limit
    return True


def as_node(x: Any) -> Node | None:
    """A node for an operand: an array's value, a scalar; None if the engine does not compute with it."""
    kind = type(x)
    if kind is ndarray:
        node = x._node_()
        if node.trace:
            array.outlived(node)
        dtype = node.dtype
        native = natives.get(type(dtype))
        if native is None:
            numbers = dtype.kind in "biufcV"  # strings of variable width have no byte order, and say so by an error
            native = natives[type(dtype)] = numbers and is_native(dtype.newbyteorder("="))
        return node if native and dtype.isnative and len(node.shape) <= MOST_AXES else None
    if kind in PYTHON_SCALARS:
        return Node.of_scalar(x) if kind is not int or x in INT64 else None
    if isinstance(x, numpy.generic):
        return Node.of_scalar(x) if is_native(x.dtype) else None
    if kind is numpy.ndarray:
        return leaf(x.shape, x.dtype, x.copy()) if is_native(x.dtype) else None
    return None


ELEMENTS = (bool, int, float, complex, str, bytes, type(None), numpy.generic)


def put_in(one: numpy.ndarray, x: Any) -> None:
    one[()] = x


def moved_node(x: Any, dtype: numpy.dtype[Any], put: Callable[[numpy.ndarray, Any], None] = put_in) -> Node | None:
    """A node of what is written into an array of a dtype that the engine does not compute with: another array of just
    that dtype, or one element, which `put` converts, in an array without axes; None for others."""
    if type(x) is ndarray or type(x) is numpy.ndarray:
        if x.dtype != dtype or x.ndim > MOST_AXES:
            return None
        return x._node_() if type(x) is ndarray else leaf(x.shape, dtype, x.copy())
    if not isinstance(x, ELEMENTS) and not (type(x) is tuple and dtype.names is not None) or dtype.char == "c":
        return None  # to an array of characters a text is several
    one = numpy.empty((), dtype)
    line_warnings.at_line(put, one, x)
    return leaf((), dtype, one)


def stays(dtype: numpy.dtype[Any]) -> bool:
    """Whether NumPy joins arrays of a dtype in just that one: numbers in the other byte order and structures with gaps
    become others."""
    return numpy.result_type(dtype, dtype) == dtype


def moved_nodes(arrays: Sequence[Any]) -> list[Node] | None:
    """Nodes of arrays of one dtype that the engine does not compute with, to be joined, or chosen from."""
    dtypes = [x.dtype for x in arrays if type(x) is ndarray or type(x) is numpy.ndarray]
    if not dtypes or len(dtypes) != len(arrays) or not is_moved(dtypes[0]):
        return None
    if any(d != dtypes[0] for d in dtypes) or not stays(dtypes[0]):
        return None
    nodes = [moved_node(x, dtypes[0]) for x in arrays]
    return None if None in nodes else nodes  # type: ignore[return-value]


def common_dtype(nodes: Sequence[Node]) -> numpy.dtype[Any]:
    """To which arrays and numbers promote; numbers of Python's that are traced, and so not known, as any of their kind.
    Raises TypeError or OverflowError where there is none."""
    return numpy.result_type(
        *[n.dtype if not n.weak else n.dtype.type(0).item() if n.value is None else n.value for n in nodes]
    )


def nodes_of(arrays: Sequence[Any], beside: Sequence[Any] = ()) -> list[Node] | None:
    """Their nodes; None where the engine does not compute with one of them. `beside`: arrays that they meet."""
    nodes = []
    for x in arrays:
        node = as_node(x)
        if node is None and type(x) is int:
            node = large_number(x, beside or arrays)
        if node is None:
            return None
        nodes.append(node)
    return nodes


COPIED = 1 << 16  # bytes: memory from outside that is smaller is copied, which costs little


def outside(x: Any) -> numpy.ndarray | None:
    """An operand's memory, if it is at hand, large, and somebody outside may write into it at any time."""
    if type(x) is ndarray:
        details = x._s_.details
        memory = x._h_ if details is not None and details.shared and known(x) else None
    else:
        memory = x if type(x) is numpy.ndarray else None
    if memory is None or memory.nbytes < COPIED or memory.ndim > MOST_AXES:
        return None
    return memory if is_native(memory.dtype) else None


def nodes_in_place(arrays: Sequence[Any]) -> tuple[list[Node] | None, list[numpy.ndarray]]:
    """As `nodes_of`, but memory from outside, of which that takes a copy, is read where it lies. It is the second
    result: where there is some, `finish` has to compute what is made of the nodes before the call returns."""
    for x in arrays:
        if type(x) is ndarray and x._s_.details is not None or type(x) is numpy.ndarray:
            break
    else:
        return nodes_of(arrays), []
    memory = [outside(x) for x in arrays]
    there = [m for m in memory if m is not None]
    if not there or config.device != "cpu" or processes.run is not None or any(map(is_traced, arrays)):
        return nodes_of(arrays), []
    nodes = nodes_of([x for x, m in zip(arrays, memory) if m is None], arrays)
    if nodes is None:
        return None, []
    others = iter(nodes)
    leaves: dict[int, Node] = {}
    for m in there:
        if id(m) not in leaves:
            leaves[id(m)] = node = leaf(m.shape, m.dtype, m)
            node.index = BORROWED
    return [next(others) if m is None else leaves[id(m)] for m in memory], there


def finish(node: Node, memory: Sequence[numpy.ndarray]) -> None:
    """Compute what reads memory from outside, and see that it has memory of its own. A leaf is that memory, of which
    `Storage.hold` has taken a copy."""
    if not memory or node.op is None:
        return
    recorder.demand(node)
    if any([numpy.may_share_memory(node.buffer, m) for m in memory]):
        node.buffer = node.buffer.copy()


def large_number(x: int, arrays: Sequence[Any]) -> Node | None:
    """A number of Python's that no int64 has, as the arrays beside it take it: a uint64, or a float; None where they do
    not."""
    dtypes = [a.dtype for a in arrays if isinstance(a, (Handle, numpy.ndarray, numpy.generic)) and is_native(a.dtype)]
    kind = numpy.result_type(*dtypes).kind if dtypes else ""
    try:
        if kind == "u" or kind in "fc" and kind:
            return Node.of_scalar(numpy.uint64(x) if kind == "u" else float(x))
    except OverflowError:  # which NumPy says in its own words
        pass
    return None


def spreads(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether an array fills a region without more axes than that has."""
    return len(given) <= len(shape) and all([n in (1, m) for n, m in zip(given[::-1], shape[::-1])])


def as_nodes(inputs: Sequence[Any]) -> list[Node] | None:
    """Nodes for all operands, or None; None too where NumPy is to tell of floating-point errors as they happen: of what
    takes several operations here, in which others may happen."""
    nodes = nodes_of(inputs)
    if nodes and errors_wanted() and not any([n.trace for n in nodes]):
        return None
    return nodes


errstate: Any = numpy._core.umath._extobj_contextvar
silent = [errstate.get()]
"""The last state of `numpy.errstate` that was looked at, if errors are at most warned of in it."""


def errors_kept() -> bool:
    """Whether floating-point errors are to be raised, or told to somebody, as they happen: `numpy.errstate` says so, or
    warnings of them are kept, or are errors. A device knows of no warnings."""
    state = errstate.get()
    if state is not silent[0] and state is not line_warnings.last[0][1]:
        modes = numpy.geterr()
        if not {"ignore", "warn"}.issuperset(modes.values()):
            return True
        silent[0] = state
    return line_warnings.are_told() and config.device == "cpu" and "warn" in numpy.geterr().values()


def errors_wanted() -> bool:
    """The same, where it is NumPy that would tell of them: strict mode does without warnings."""
    return errors_kept() and not (config.strict and {"ignore", "warn"}.issuperset(numpy.geterr().values()))


def tells_errors(*operands: Any) -> bool:
    """Whether NumPy is to work on these values at once, as `as_nodes` asks it of nodes."""
    return errors_wanted() and not any(map(is_traced, operands))


def told(node: Node, call: Callable[..., Any] = line_warnings.at_line) -> Node:
    """An operation that has just been recorded: computed at once where the floating-point errors in it are to be told
    of as they happen, with the warnings and errors that NumPy has for it: by `call(function, *operands)`."""
    if node.value is None and not node.trace and errors_kept():
        recorder.compute_aloud(node, call)
    return node


def by(host: Callable[..., Any], place: int | None = None) -> Callable[..., Any]:
    """For `told`: another function that does the same, or has the result at a place among its own."""

    def call(_: Any, *args: Any) -> Any:
        value = line_warnings.at_line(host, *args)
        return value if place is None else value[place]

    return call


def apply(op: Op, *inputs: Any, **params: Any) -> Any:
    """The array that an op gives on handles and scalars, which the engine must know how to compute with."""
    nodes = nodes_of(inputs)
    if nodes is None:
        raise TypeError(f"{op.name}: not an operand of the engine")
    return of_node(told(op(*nodes, **params)))


def cast_node(node: Node, dtype: numpy.dtype[Any]) -> Node:
    """The node in that dtype: as C casts, with NumPy's warning where imaginary parts are lost."""
    if same(node.dtype, dtype) and not node.weak:
        return node
    if discards(node.dtype, dtype) and not node.trace:
        warn_of_it()
        node = real(node)
    if node.value is not None:
        return Node.of_scalar(numpy.asarray(node.value).astype(dtype)[()])
    return told(cast(node, dtype=dtype))


def cast_where(mask: Node, node: Node, dtype: numpy.dtype[Any]) -> Node:
    """The same, of what stands where a mask is set: what does not is not looked at."""
    if node.value is None and not same(node.dtype, dtype) and errors_kept():
        node = where(mask, node, Node.of_scalar(numpy.zeros((), node.dtype)[()]))
    return cast_node(node, dtype)


def host_value(x: Any) -> Any:
    """What NumPy is given for an operand, to read at once."""
    if isinstance(x, Handle):
        return x._host_() if x._s_.buf is not None or not is_traced(x) else of_traced(x, [])
    return unwrap(x) if type(x) in (tuple, list) else x


def out_of_range(nodes: list[Node]) -> bool:
    """Whether a Python int does not fit the integer dtype of the arrays beside it: an OverflowError in NumPy, now."""
    ints = [n.value for n in nodes if type(n.value) is int]
    if not ints:
        return False
    for n in nodes:
        limits = INTEGER_LIMITS.get(n.dtype.char) if not n.weak else None
        if limits is not None and any(not limits[0] <= v <= limits[1] for v in ints):
            return True
    return False
