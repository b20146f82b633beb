"""Calls of ufuncs on what is pending or large, which are recorded; some with `out=`, `where=` or `dtype=`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from ..backends.order import memory_order
from ..config import config
from ..graph.node import Node
from ..ops.contraction import matmul
from ..ops.elementwise import frexp, imag, make_complex, modf, real
from ..ops.shape import broadcast_to
from ..ops.ufuncs import called, ufuncs
from ..runtime.processes import processes
from ..runtime.storage import lock
from ..runtime.views import TRANSPOSE, inverse_of
from . import arithmetic, complex_products
from .arithmetic import assign, assign_where, dummy
from .array import Handle, is_native, is_traced, known, ndarray, of_node, writeable
from .host import PLAIN, at_hand, dtype_of, returned, to_host
from .record import (
    MOST_AXES,
    as_node,
    by,
    cast_node,
    cast_where,
    finish,
    nodes_in_place,
    nodes_of,
    out_of_range,
    spreads,
    tells_errors,
    told,
)

ENGINE = frozenset({*called, "matmul"})
NATIVE_KEYWORDS = frozenset({"out", "where", "dtype", "casting", "subok", "order"})


def native_call(u: Any, args: Any, kwargs: Any) -> Any:
    """The call as recorded operations; NotImplemented where the engine does not do it, or NumPy does it better."""
    if not config_allows(args, kwargs) or not NATIVE_KEYWORDS.issuperset(kwargs):
        return NotImplemented
    name = u.operator
    if name not in ENGINE or kwargs.get("order", "K") != "K":
        return NotImplemented
    (out,) = kwargs.get("out") or (None,)
    where, dtype, casting = kwargs.get("where", True), kwargs.get("dtype"), kwargs.get("casting", "same_kind")
    where = True if where is numpy._NoValue else where
    if out is None and where is True and dtype is None and casting == "same_kind":
        if name == "matmul":
            return native_matmul(u.host, args)
        if name != "power":
            return elementwise(name, u.host, [to_node_operand(a) for a in args])
    if name == "matmul" and out is not None and where is True and dtype is None and casting == "same_kind":
        made = native_matmul(u.host, args) if recordable(out) else NotImplemented
        return out if type(made) is ndarray and written_to(out, made) else NotImplemented
    if name == "matmul" or out is None and where is not True or out is not None and not recordable(out):
        return NotImplemented
    operands: Any = [to_node_operand(a) for a in args]
    target = out
    if out is not None and where is True:
        *operands, target = complex_products.forwards(name, (*operands, out))
    order = arithmetic.common_order(operands if out is None else (*operands, target)) if where is True else None
    if order is not None and (out is None or out.ndim == len(order)):
        *operands, target = arithmetic.in_memory_order((*operands, out), order)
    nodes, memory = nodes_in_place(operands)
    if nodes is None or out_of_range(nodes):
        return NotImplemented
    if dtype is not None:
        nodes = loop_operands(u, operands, nodes, dtype, casting)
    elif casting != "same_kind" and (casting != "unsafe" or out is None):
        return NotImplemented
    if nodes is None:
        return NotImplemented
    if where is not True and (name == "power" or tells_errors(*args)):  # where the mask is not set nothing is looked at
        return NotImplemented
    one_by_one = complex_products.is_one_by_one(name, nodes, operands, target, where is not True)
    try:
        node = complex_products.rounded(nodes) if one_by_one else called[name](*nodes)
    except (TypeError, ValueError, OverflowError):
        return NotImplemented
    if out is not None and not fits(node, target, casting):
        return NotImplemented
    if name == "power":
        arithmetic.check_exponent(node)
    if where is True:
        try:
            told(node)
        except FloatingPointError:  # NumPy has written by then
            if out is not None:
                write(target, node, where)
            raise
    if out is not None:
        if write(target, node, where) is not target:
            return NotImplemented
        arithmetic.finish_writing(target, memory)
        return out
    made = of_node(node)
    finish(node, memory)
    return made if order is None else made._derived_(TRANSPOSE, order)


def native_ones(u: Any, args: Any) -> Any:
    """Ones like an array, by the ufunc that NumPy has for it and does not name."""
    if u.host is not ONES_LIKE or not config_allows(args, {}) or type(args[0]) is not ndarray:
        return NotImplemented
    node = as_node(args[0])
    if node is None:
        return NotImplemented
    return of_node(broadcast_to(Node.of_scalar(node.dtype.type(1)), shape=node.shape))


ONES_LIKE = getattr(numpy._core.umath, "_ones_like", None)
PAIRS: dict[str, tuple[Callable[..., Node], Callable[..., Node]]] = {
    "divmod": (ufuncs["floor_divide"], ufuncs["remainder"]),
    "modf": (partial(modf, i=0), partial(modf, i=1)),
    "frexp": (partial(frexp, i=0), partial(frexp, i=1)),
}


def native_pair(u: Any, args: Any, outs: Any = None) -> Any:
    """Both results of a ufunc that gives two, recorded; NotImplemented where NumPy does it."""
    if outs is not None:
        made = native_pair(u, args) if all(map(recordable, outs)) and outs[0] is not outs[1] else NotImplemented
        if made is NotImplemented or not all([type(x) is ndarray for x in made]):  # numbers, of arrays without axes
            return NotImplemented
        if not all([fits(x._node_(), o, "same_kind") for x, o in zip(made, outs)]):
            return NotImplemented
        return outs if all([written_to(o, x) for x, o in zip(made, outs)]) else NotImplemented
    rules = PAIRS.get(u.host.__name__)
    if rules is None or not config_allows(args, {}) or getattr(numpy, u.host.__name__) is not u.host:
        return NotImplemented
    operands: Any = [to_node_operand(a) for a in args]
    order = arithmetic.common_order(operands)
    nodes = nodes_of(operands if order is None else arithmetic.in_memory_order(operands, order))
    if nodes is None or out_of_range(nodes):
        return NotImplemented
    try:
        made = [of_node(told(rules[0](*nodes), by(u.host, 0))), of_node(rules[1](*nodes))]
    except (TypeError, ValueError, OverflowError):
        return NotImplemented
    return tuple(made if order is None else [x._derived_(TRANSPOSE, order) for x in made])


def elementwise(name: str, host: Any, operands: list[Any]) -> Any:
    """An elementwise operation on arrays of ours, NumPy's and numbers."""
    for x in operands:
        if type(x) is ndarray and x._s_.buf is not None and x._b_ is not x._s_.buf:
            x._host_()  # a view whose storage is there is at hand too
    return arithmetic.elementwise(name, host, *operands)


def fits(node: Node, out: Any, casting: Any) -> bool:
    """Whether a result can be written into `out`, which NumPy asks before it looks at any value."""
    return node.shape == out.shape and numpy.can_cast(node.dtype, out.dtype, casting)


def written_to(out: ndarray, value: ndarray) -> bool:
    """Write a recorded result into `out`; False where NumPy has to do it, or to complain of it."""
    if value.shape != out.shape or not numpy.can_cast(value.dtype, out.dtype, "same_kind") or not recordable(out):
        return False
    assign(out, cast_node(value._node_(), out.dtype))
    return True


def write(out: Any, node: Node, where: Any) -> Any:
    """The result of a call with `out=`, and perhaps `where=`."""
    if where is not True:
        mask = as_node(where) if type(where) in (ndarray, numpy.ndarray, bool, numpy.bool_) else None
        if mask is None or mask.dtype != bool or not spreads(mask.shape, out.shape):
            return NotImplemented
        node = cast_where(mask, node, out.dtype)
        mask = mask if mask.shape == out.shape and mask.value is None else broadcast_to(mask, shape=out.shape)
        return out if assign_where(out, mask, node) else NotImplemented
    node = cast_node(node, out.dtype)
    with lock:
        if not recordable(out):
            return NotImplemented
        assign(out, node)
    return out


def native_matmul(host: Callable[..., Any], args: Any) -> Any:
    """A matrix product: a library call in the stream; by `host` at once where it only makes something small of what is
    at hand."""
    if len(args) == 2 and config.limit >= 0 and all(type(a) is ndarray for a in args):
        x, y = args
        if 0 < x.ndim <= 2 and 0 < y.ndim <= 2:
            rows, columns = x.size // max(x.shape[-1], 1), y.size // max(y.shape[0], 1)
            small = 0 < rows * columns <= config.limit and x.shape[-1] == y.shape[0]
            spread = processes.door is not None and processes.door.any_large(args)
            if small and not spread and not is_traced(x) and not is_traced(y):
                return returned(host(x._host_(), y._host_()))
    operands = [to_node_operand(a) for a in args]
    order = stack_order(operands)
    nodes, memory = nodes_in_place(operands if order is None else arithmetic.in_memory_order(operands, order))
    if nodes is None:
        return NotImplemented
    try:
        node = product_told(matmul(*nodes), host)
        out = of_node(node)
        finish(node, memory)
        return out if order is None else out._derived_(TRANSPOSE, order)
    except (TypeError, ValueError):
        host(*[dummy(x) for x in args])
        raise


def product_told(node: Node, host: Callable[..., Any]) -> Node:
    """`told` of a product, which may have been given its shape after it was computed; `host` does the same."""
    product = node
    while len(product.inputs) == 1 and product.value is None:
        (product,) = product.inputs
    told(product, by(host))
    return node


def stack_order(operands: list[Any], core: int = 2) -> tuple[int, ...] | None:
    """`common_order` of stacks of matrices (of vectors, where `core` is 1): of the axes before the matrices' own."""
    if not all([isinstance(x, (Handle, numpy.ndarray)) and x.ndim >= core for x in operands]):
        return None
    most = max([x.ndim for x in operands])
    if most < core + 2 or arithmetic.common_order(operands) is None:
        return None
    strides = []
    for x in operands:
        meta = x._meta_() if isinstance(x, Handle) else x
        own = [0 if n == 1 else abs(s) for n, s in zip(meta.shape[:-core], meta.strides)]
        strides.append((*(0,) * (most - x.ndim), *own))
    memory = memory_order(most - core, strides)
    return None if memory is None else (*inverse_of(memory), *range(most - core, most))


DTYPE_CLASS = type(numpy.dtypes.Float64DType)


def loop_operands(u: Any, given: Any, nodes: list[Node], dtype: Any, casting: Any) -> list[Node] | None:
    """The operands, cast to the loop that `dtype=` chooses. Raises NumPy's errors."""
    if type(dtype) is tuple:
        return None
    dtype = dtype() if type(dtype) is DTYPE_CLASS else dtype
    target = dtype_of(dtype)
    if not is_native(target) or casting == "equiv" and any([n.weak for n in nodes]):
        return None  # beside "equiv" and Python's numbers NumPy's `resolve_dtypes` itself crashes
    operands = tuple([type(n.value) if n.weak and n.value is not None else n.dtype for n in nodes])
    try:
        loop = u.host.resolve_dtypes((*operands, None), signature=(None,) * u.nin + (target,), casting=casting)
    except TypeError:
        try_numbers(u.host, given, operands, dtype=dtype, casting=casting)
        raise
    try_numbers(u.host, given, loop, dtype=dtype, casting=casting)
    if loop[-1] != target or not all(is_native(d) for d in loop):
        return None
    return [cast_node(n, d) for n, d in zip(nodes, loop)]


def try_numbers(host: Any, given: Any, loop: Any, **kwargs: Any) -> None:
    """Have NumPy raise its errors for Python's ints beside arrays. It looks whether the loop has the number before it
    looks whether the arrays may be cast, and both where these have no elements too. An array whose imaginary part is
    discarded stands here as one that was cast already: NumPy's warning of it comes with the cast."""
    if int not in map(type, given):
        return
    arrays = [x.dtype if isinstance(x, (Handle, numpy.ndarray)) else None for x in given]
    dtypes = [d if a is not None and a.kind == "c" and d.kind != "c" else a for a, d in zip(arrays, loop)]
    host(*[x if d is None else numpy.empty(0, d) for x, d in zip(given, dtypes)], **kwargs)


def to_node_operand(x: Any) -> Any:
    """Lists and NumPy's arrays as arrays the engine takes."""
    if type(x) in (list, tuple):
        ours: list[Any] = []
        return numpy.asarray(to_host(x, ours))
    return x


def config_allows(args: Any, kwargs: Any) -> bool:
    """Whether some array is pending or large, or the result will be, and no subclass takes part."""
    limit = config.limit
    found = False
    for x in (*args, *(kwargs.get("out") or ())):
        kind = type(x)
        if kind is ndarray:
            found = found or not at_hand(x)
        elif kind in PLAIN or kind in (list, tuple):
            continue
        elif kind is numpy.ndarray:
            found = found or x.size > limit
        else:
            return False
    return found or arithmetic.grows(args)


def recordable(out: Any, has: Callable[[numpy.dtype[Any]], bool] = is_native) -> bool:
    """Whether a write to the whole of `out` can be recorded; `has`: whether the engine has its dtype."""
    if type(out) is not ndarray or not has(out.dtype) or out.ndim > MOST_AXES:
        return False
    details = out._s_.details
    if details is not None and details.mask is not None:
        return False
    return writeable(out) and (arithmetic.delivers(out) or not arithmetic.lies_still(out))


def write_part(z: Any, name: str, value: Any) -> bool:
    """Record `z.real = value` or `z.imag = value`; whether that was done. What is at hand NumPy writes into."""
    if z.dtype.kind != "c" or not recordable(z) or config.limit >= 0 and known(z) and not config.strict:
        return False
    plain = type(value) in (ndarray, numpy.ndarray, float, int, bool, list, tuple)
    node = as_node(to_node_operand(value)) if plain else None
    if node is None or node.dtype.kind == "c" or not spreads(node.shape, z.shape):
        return False
    whole = z._node_()
    new = cast_node(node, numpy.empty(0, z.dtype).real.dtype)
    assign(z, make_complex(new, imag(whole)) if name == "real" else make_complex(real(whole), new))
    return True
