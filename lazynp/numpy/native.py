"""NumPy's C functions that the engine does, or that need more than NumPy on host values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy
import numpy._core._multiarray_umath as compiled  # type: ignore[import-not-found]

from ..config import config
from ..graph.node import Node
from ..ops import contraction, elementwise, joining
from ..runtime.storage import lock
from ..runtime.views import TRANSPOSE, inverse_of
from . import methods, products, recorded_ufuncs, ufunc
from .arithmetic import assign, assign_where, common_order, dummy, in_memory_order
from .array import Handle, Writes, is_moved, is_native, is_traced, ndarray, of_node
from .casts import real_of
from .host import (
    SCALARS,
    as_base,
    at_hand,
    bare,
    blank_like,
    by_engine,
    dtype_of,
    fresh,
    host_function,
    is_wide,
    like,
    note_work,
    of_class,
    of_type,
    on_traced,
    part_of,
    to_host,
    unwrap,
    wrap_result,
)
from .layout import array_of
from .line_warnings import at_line
from .record import (
    as_node,
    cast_node,
    cast_where,
    common_dtype,
    finish,
    moved_node,
    moved_nodes,
    nodes_in_place,
    nodes_of,
    stays,
)

Host = Callable[..., Any]


def host_of(name: str) -> Host:
    value = getattr(compiled, name)
    return value._implementation if type(value) is compiled._ArrayFunctionDispatcher else value


def worth_recording(arrays: Any, has: Callable[[numpy.dtype[Any]], bool] = is_native) -> bool:
    """Whether some array is pending or large, and all are ours or NumPy's, ours of dtypes that the engine has."""
    limit = config.limit
    found = False
    for x in arrays:
        kind = type(x)
        if kind is ndarray:
            if not has(x.dtype):
                return False
            found = found or not at_hand(x)
        elif kind is numpy.ndarray:
            found = found or x.size > limit
        elif kind not in SCALARS:
            return False
    return found


c_where = host_of("where")
host_where = host_function(host_of("where"), "where")


def of_numbers(x: Any) -> Any:
    """A list or tuple of numbers as an array; anything else as it is."""
    return numpy.asarray(x) if type(x) in (list, tuple) and x and SCALARS.issuperset(map(type, x)) else x


def where(condition: Any, *choices: Any) -> Any:
    """See `numpy.where`."""
    value = small_call(c_where, condition, *choices)
    if value is not NotImplemented:
        return fresh(value) if type(value) is numpy.ndarray else wrap_result(value, [])
    condition, *choices = map(of_numbers, (condition, *choices))  # type: ignore[assignment]
    if not choices and type(condition) is ndarray:
        return condition.nonzero()
    if len(choices) == 2 and worth_recording((condition, *choices), is_moved if by_engine() else is_native):
        given = (condition, *choices)
        order = common_order(given)
        if order is not None:
            given = in_memory_order(given, order)
        nodes, memory = nodes_in_place(given)
        if nodes is None:
            parts = nodes_of(given[:1]), moved_nodes(given[1:])
            nodes = None if None in parts else [n for p in parts if p for n in p]
        if nodes is not None:
            c, a, b = nodes
            if c.dtype != bool:
                c = elementwise.not_equal(c, Node.of_scalar(numpy.zeros((), c.dtype)[()]))
            try:
                dtype = common_dtype((a, b)) if is_native(a.dtype) else a.dtype
            except (TypeError, OverflowError):
                return host_where(condition, *choices)
            try:
                numpy.broadcast_shapes(c.shape, a.shape, b.shape)
            except ValueError:
                return c_where(dummy(condition), *map(dummy, choices))
            node = elementwise.where(c, cast_node(a, dtype), cast_node(b, dtype))
            out = array_of(node)
            finish(node, memory)
            return out if order is None else out._derived_(TRANSPOSE, order)
    return host_where(condition, *choices)


c_dot = host_of("dot")
host_dot = host_function(host_of("dot"), "dot")


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """See `numpy.dot`."""
    if out is None:
        value = small_call(c_dot, a, b)
        if value is not NotImplemented:
            return fresh(value) if type(value) is numpy.ndarray else value
    if is_sub(a) or is_sub(b):
        return leader_wrapped(dot, (a, b), out)
    if out is None:
        made = recorded_dot(a, b)
        return host_dot(a, b) if made is NotImplemented else made
    if type(out) is ndarray and worth_recording((out,)):
        made = recorded_dot(a, b)
        if isinstance(made, ndarray | numpy.generic):
            if made.dtype != out.dtype or made.shape != out.shape or not out.flags.c_contiguous:
                c_dot(dummy(a), dummy(b), blank_like(out))  # which complains of `out`
            node = as_node(made)
            if node is not None and recorded_ufuncs.recordable(out):
                assign(out, node)
                return out if out.shape else made
    made = host_dot(a, b, out=out)
    return made if made.shape else made[()]


def recorded_dot(a: Any, b: Any) -> Any:
    """`numpy.dot` of arrays, lists and numbers, of which none is weak here; NotImplemented where NumPy does it."""
    given = [x if isinstance(x, Handle) else numpy.asarray(unwrap(x)) for x in (a, b)]
    if not worth_recording(given):
        return NotImplemented
    x, y = given
    if x.ndim and y.ndim and x.shape[-1] != y.shape[max(y.ndim - 2, 0)]:
        c_dot(dummy(x), dummy(y))  # which complains of the shapes
    if x.ndim in (1, 2) and y.ndim in (1, 2):
        return recorded_ufuncs.native_matmul(c_dot, [for_blas(x), for_blas(y)])
    nodes = nodes_of(given)
    if nodes is None:
        return NotImplemented
    dtype = common_dtype(nodes)
    return of_node(recorded_ufuncs.product_told(contraction.dot(*[cast_node(n, dtype) for n in nodes]), c_dot))


def for_blas(x: Any) -> Any:
    """A vector or matrix that lies as BLAS takes it: `numpy.dot` copies what does not, and `matmul` adds it up in a
    loop of its own, with larger errors."""
    meta = x._meta_() if isinstance(x, Handle) else x
    strides = [s for n, s in zip(meta.shape, meta.strides) if n != 1]
    forwards = min(strides, default=1) > 0 and (len(strides) < 2 or meta.itemsize in strides)
    return x if forwards or meta.dtype.kind not in "fc" else UFUNC_POSITIVE(x)


def leader_wrapped(function: Callable[..., Any], args: Any, out: Any) -> Any:
    """A product of subclasses: of the type with the highest priority."""
    if out is not None and any(map(is_wide, (*args, out))):
        made = function(*map(as_base, args), as_base(out))
        return out if isinstance(made, Handle) else made
    if any(map(is_wide, args)):
        made = function(*map(as_base, args))
        leader = leader_of(args)
        return of_class(type(leader), made, leader) if type(made) is ndarray and is_sub(leader) else made
    ours: list[Any] = []
    with Writes() as to:
        given = [to_host(a, ours) for a in args]
        value = host_of(function.__name__)(*given, **({} if out is None else {"out": to(out)}))
    note_work(function.__name__, ours)
    if out is not None:
        return value if isinstance(value, numpy.generic) else out
    return like(leader_of(args), value, ours)


def leader_of(args: Any) -> Any:
    return max((a for a in args if isinstance(a, Handle)), key=lambda a: a.__array_priority__)


def is_sub(x: Any) -> bool:
    return isinstance(x, Handle) and type(x) is not ndarray


UFUNC_MATMUL = ufunc.of(numpy.matmul, keep=True)
UFUNC_POSITIVE = ufunc.of(numpy.positive, keep=True)
host_concatenate = host_function(host_of("concatenate"), "concatenate")


def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    """See `numpy.concatenate`."""
    if type(arrays) in (tuple, list) and out is None and dtype is None and type(axis) is int:
        value = small_call(joined, axis, *arrays) if casting == "same_kind" else NotImplemented
        if value is not NotImplemented:
            return fresh(value)
    if type(arrays) is ndarray and out is None and dtype is None and casting == "same_kind":
        value = joined_rows(arrays, axis)
        if value is not NotImplemented:
            return value
    if type(arrays) is ndarray and arrays.ndim > 1 and not at_hand(arrays):
        arrays = list(arrays)
    if type(arrays) in (tuple, list) and not {list, tuple}.isdisjoint(map(type, arrays)):
        arrays = list(map(of_numbers, arrays))
    if (
        type(arrays) in (tuple, list)
        and casting in CASTINGS
        and (out is None or dtype is None and type(out) is ndarray)
        and worth_recording(arrays if out is None else (*arrays, out), is_moved if by_engine() else is_native)
        and not any(type(x) in SCALARS for x in arrays)
    ):
        flat = axis is None and all([type(x) in (ndarray, numpy.ndarray) for x in arrays])
        given = [x.ravel() for x in arrays] if flat else arrays
        value = native_concatenate(given, 0 if flat else axis, dtype, out, casting)
        if value is not NotImplemented and (out is None or recorded_ufuncs.written_to(out, value)):
            return value if out is None else out
    subclasses = [x for x in arrays if is_sub(x)] if type(arrays) in (tuple, list) else []
    named = {"axis": axis, "casting": casting, **({} if dtype is None else {"dtype": dtype})}
    wide = any(map(is_wide, (*subclasses, out)))
    if out is not None:
        if not wide:
            return host_concatenate(arrays, out=out, **named)
        concatenate([as_base(x) for x in arrays], out=as_base(out), **named)
        return out
    value = concatenate([as_base(x) for x in arrays], **named) if wide else host_concatenate(arrays, **named)
    if subclasses:
        leader = max(subclasses, key=lambda a: a.__array_priority__)
        if leader.__array_priority__ > 0:  # that of plain arrays, which come first
            return of_class(type(leader), value, None)  # made of all of them: no one's attributes
    return value


c_concatenate = host_of("concatenate")


def joined(axis: int, *arrays: Any) -> numpy.ndarray:
    return c_concatenate(arrays, axis)


def joined_rows(x: ndarray, axis: Any) -> Any:
    """An array's rows, joined along an axis of theirs: the first axis becomes the one before that."""
    if at_hand(x) or not is_native(x.dtype) or not x.size or not x.flags.c_contiguous and not is_traced(x):
        return NotImplemented
    if axis is None:
        return x.flatten()
    n = x.ndim - 1
    if type(axis) is not int or not -n <= axis < n:
        return NotImplemented
    rows, at = x.shape[1:], axis % n
    turned = x.transpose(*range(1, at + 1), 0, *range(at + 1, n + 1))
    return turned.reshape(*rows[:at], len(x) * rows[at], *rows[at + 1 :]).copy()


CASTINGS = frozenset({"no", "equiv", "safe", "same_kind", "unsafe"})


def native_concatenate(arrays: Any, axis: Any, dtype: Any, out: Any = None, casting: Any = "same_kind") -> Any:
    """The joined arrays, in the dtype of `out`, if there is one, in which NumPy copies them."""
    order = joined_order(arrays)
    given = arrays if order is None else in_memory_order(arrays, order)
    nodes = nodes_of(given) or (moved_nodes(given) if out is None and dtype is None else None)
    if nodes is None:
        return NotImplemented
    if out is not None:
        target = out.dtype
    else:
        target = dtype_of(dtype) if dtype is not None else numpy.result_type(*[n.dtype for n in nodes])
    ndim = nodes[0].ndim
    if axis is None or not ndim or any(n.ndim != ndim for n in nodes):
        return NotImplemented
    if not is_native(target) and target != nodes[0].dtype:  # a cast, which is NumPy's
        return NotImplemented
    try:
        at = operator.index(axis)
    except TypeError:
        return NotImplemented
    if not -ndim <= at < ndim or not all(numpy.can_cast(n.dtype, target, casting) for n in nodes):
        return NotImplemented
    at = at % ndim if order is None else order[at]
    first = nodes[0].shape
    if any(n.shape[:at] + n.shape[at + 1 :] != first[:at] + first[at + 1 :] for n in nodes):
        return NotImplemented
    out = of_node(joining.concatenate(*[cast_node(n, target) for n in nodes], axis=at))
    return out if order is None else out._derived_(TRANSPOSE, order)


def joined_order(arrays: Any) -> tuple[int, ...] | None:
    """`common_order` of arrays that are joined: NumPy sorts their axes otherwise than its iterator does
    (`PyArray_CreateMultiSortedStridePerm`), and looks at the strides of axes that are repeated too."""
    metas = [x._meta_() if isinstance(x, Handle) else x for x in arrays]
    if all([x.flags.c_contiguous for x in metas]) or len({x.ndim for x in metas}) > 1:
        return None
    memory = list(range(metas[0].ndim))
    for i in range(1, len(memory)):
        axis, place = memory[i], i
        for j in range(i - 1, -1, -1):
            other, compared, swap = memory[j], False, False
            for x in metas:
                if x.shape[axis] != 1 != x.shape[other]:
                    before = abs(x.strides[axis]) > abs(x.strides[other])
                    swap = before and (swap or not compared)
                    compared = True
            if compared and not swap:
                break
            place = j if compared else place
        memory.insert(place, memory.pop(i))
    return None if memory == sorted(memory) else inverse_of(memory)


def small_call(host: Host, *args: Any) -> Any:
    """NumPy's function on arrays at hand and scalars; NotImplemented where they are anything else."""
    values = []
    for x in args:
        kind = type(x)
        if kind is ndarray:
            if not at_hand(x):
                return NotImplemented
            values.append(x._h_)
        elif kind in SCALARS:
            values.append(x)
        else:
            return NotImplemented
    return host(*values)


host_copyto = host_of("copyto")


def copy_to(target: numpy.ndarray, source: Any, casting: str, where: Any = True) -> None:
    """NumPy's, with its warnings at the line of our caller."""
    at_line(host_copyto, target, real_of(source, target.dtype) if casting == "unsafe" else source, casting, where)


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """See `numpy.copyto`."""
    if type(dst) is ndarray and where is True and (type(src) in SCALARS or type(src) is ndarray and at_hand(src)):
        with lock:
            if dst._s_.free and dst._b_ is dst._s_.buf and at_hand(dst):
                return copy_to(dst._h_, src if type(src) is not ndarray else src._h_, casting)
    if recorded_copy(dst, src, casting, where):
        return None
    if is_traced(dst) or is_traced(src) or is_traced(where):
        return on_traced("copyto", host_copyto, (dst, src, casting, where), {})
    if not isinstance(dst, Handle):
        return host_copyto(dst, unwrap(src), casting, unwrap(where))
    ours: list[Any] = []
    with Writes() as to:
        target = to(dst)  # before the others are looked at: NumPy sees it when something is copied to itself
        given = to_host(src, ours), casting, to_host(where, ours)
        note_work("copyto", [dst, *ours], lambda: copy_to(blank_like(dst), *given))
        copy_to(target, *given)
    return None


def recorded_copy(dst: Any, src: Any, casting: Any, where: Any) -> bool:
    """Record a copy, where the engine does it; whether it does."""
    dst, src, where = map(bare, (dst, src, where))
    if type(where) is list and set(map(type, where)) == {bool}:
        where = numpy.asarray(where)
    masked = type(where) is ndarray or type(where) is numpy.ndarray
    if (masked or where is True) and by_engine() and type(dst) is ndarray and not is_native(dst.dtype):
        return recorded_move(dst, src, casting, where)
    operands = (dst, src, where) if masked else (dst, src)
    if not (masked or where is True) or type(dst) is not ndarray or not worth_recording(operands) or not dst.ndim:
        return False
    with lock:
        if not recorded_ufuncs.recordable(dst):
            return False
        loose = casting not in ("no", "equiv") or type(src) is ndarray
        node = strong(as_node(src), dst.dtype, casting == "unsafe") if loose else None
        if node is None or not numpy.can_cast(node.dtype, dst.dtype, casting):
            return False
        shape = dst.shape
        if node.shape != shape and not fits(node.shape, shape):
            return False
        if masked:
            mask = (
                as_node(where) if where.dtype == bool and (where.shape == shape or fits(where.shape, shape)) else None
            )
            return mask is not None and assign_where(dst, mask, cast_where(mask, node, dst.dtype))
        node = cast_node(node, dst.dtype)
        assign(dst, node)
        return True


def recorded_move(dst: ndarray, src: Any, casting: Any, where: Any) -> bool:
    """The same, where the engine does not compute with the elements of `dst`."""
    with lock:
        if not recorded_ufuncs.recordable(dst, is_moved) or not dst.ndim:
            return False
        node = moved_node(src, dst.dtype, lambda one, x: copy_to(one, x, casting))
        if node is None or casting == "no" or not fits(node.shape, dst.shape):
            return False
        if where is True:
            assign(dst, node)
            return True
        chosen = stays(dst.dtype) and where.dtype == bool and fits(where.shape, dst.shape)
        mask = as_node(where) if chosen else None
        return mask is not None and assign_where(dst, mask, node)


def strong(node: Node | None, dtype: numpy.dtype[Any], unsafe: bool = False) -> Node | None:
    """A Python scalar in the dtype of what it is written to; None where NumPy has to look at it."""
    if node is None or not node.weak:
        return node
    to_bool = unsafe and dtype.kind == "b" and type(node.value) in (int, float)
    if node.value is None or not to_bool and numpy.result_type(dtype, node.value) != dtype:
        return None
    scalar = numpy.empty((), dtype)
    at_line(scalar.__setitem__, (), node.value)
    return Node.of_scalar(scalar[()])


def fits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return numpy.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def as_strided(
    x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True, **kwargs: Any
) -> Any:
    """See `numpy.lib.stride_tricks.as_strided`."""
    ours: list[Any] = []
    if is_traced(x):
        return on_traced("as_strided", numpy.lib.stride_tricks.as_strided, (x, shape, strides), {})
    host = to_host(x, ours)
    if isinstance(x, Handle):
        host = x._pin_()
    value = numpy.lib.stride_tricks.as_strided(host, unwrap(shape), unwrap(strides), writeable=writeable, **kwargs)
    if not isinstance(x, Handle):
        return wrap_result(value, ours)
    return of_type(type(x), value, x, x) if subok and is_sub(x) else part_of(x, value)


as_strided.__doc__ = numpy.lib.stride_tricks.as_strided.__doc__
as_strided.__wrapped__ = numpy.lib.stride_tricks.as_strided  # type: ignore[attr-defined]


as_strided.__module__ = "lazynp.lib.stride_tricks"


def frompyfunc(function: Any, /, nin: Any, nout: Any, **kwargs: Any) -> Any:
    """See `numpy.frompyfunc`."""
    return ufunc.of(numpy.frompyfunc(function, nin, nout, **kwargs))


def inner(a: Any, b: Any, /) -> Any:
    """See `numpy.inner`."""
    if is_sub(a) or is_sub(b):
        return leader_wrapped(inner, (a, b), None)
    value = products.TABLE["inner"](a, b)
    return host_inner(a, b) if value is NotImplemented else value


def sharing(name: str) -> Any:
    """`shares_memory` or `may_share_memory`: arrays of different storages share none, whatever a lazy copy saves."""
    host = host_function(host_of(name), name, counted=False)

    def call(a: Any, b: Any, /, max_work: Any = None) -> Any:
        if (
            isinstance(a, Handle)
            and isinstance(b, Handle)
            and a._s_ is not b._s_
            and not (is_shared(a) and is_shared(b))
        ):
            return False
        return host(a, b, max_work)

    call.__name__ = call.__qualname__ = name
    return call


def is_shared(x: Any) -> bool:
    return x._s_.details is not None and x._s_.details.shared


host_inner = host_function(host_of("inner"), "inner")
methods.UFUNCS.update({"divmod": ufunc.of(numpy.divmod, keep=True), "matmul": UFUNC_MATMUL})
TABLE: dict[str, Any] = {"where": where, "dot": dot, "inner": inner, "concatenate": concatenate, "copyto": copyto}
TABLE |= {name: sharing(name) for name in ("shares_memory", "may_share_memory")}
for _name, _function in TABLE.items():
    _function.__module__ = "lazynp"
    _function.__doc__ = getattr(numpy, _name).__doc__
