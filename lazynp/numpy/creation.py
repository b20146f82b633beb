"""Array creation: `array` and its kin, `empty_like`, `from_dlpack`.

A NumPy array of somebody else's is copied by `array`, and borrowed by `asarray`: it shares memory, as in NumPy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from ..config import config
from ..graph.node import Node
from ..ops.creation import full
from ..ops.joining import stack
from ..ops.promotion import same
from ..ops.shape import reshape
from . import subclasses
from .array import Handle, borrow, is_native, is_traced, ndarray, of_node
from .casts import discards, real_of
from .host import (
    PLAIN,
    SCALARS,
    TEXTS_AND_DATES,
    ArrayProvider,
    ForeignArray,
    TracedArgumentError,
    as_base,
    at_hand,
    bare,
    castable,
    dtype_of,
    fresh,
    is_wide,
    keep_elements,
    makes_array,
    note_work,
    of_class,
    of_type,
    on_traced,
    owned,
    owner_of,
    to_host,
    unwrap,
    wrap_result,
)
from .layout import array_of, lies
from .line_warnings import as_line
from .record import MOST_AXES, as_node, cast_node

COPY_MODES = numpy._globals._CopyMode


def overridden_by(like: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """`like=`: the creation as the foreign type of `like` does it; NotImplemented if it is an array."""
    kind = type(like)
    found = getattr(kind, "__array_function__", None)
    if found is None:
        raise TypeError("The `like` argument must be an array-like that implements the `__array_function__` protocol.")
    if kind is numpy.ndarray or found is ndarray.__array_function__:  # type: ignore[attr-defined]
        return NotImplemented
    value = found(like, function, (kind,), args, kwargs)
    if value is NotImplemented:
        raise TypeError(
            f"no implementation found for 'numpy.{function.__name__}' on types that implement "
            f"__array_function__: [{kind!r}]"
        )
    return value


def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: Any = None,
    like: Any = None,
) -> Any:
    """See `numpy.array`."""
    kind = type(object)
    if isinstance(dtype, Handle):
        dtype = unwrap(dtype)  # which names none
    if (
        kind is list
        and like is None
        and ndmin == 0
        and copy is True
        and order == "K"
        and ndmax is None
        and (not object or type(object[0]) in SCALARS and SCALARS.issuperset(map(type, object)))
    ):
        return fresh(numpy.array(object) if dtype is None else as_line(numpy.array, object, dtype))
    if like is not None:
        given = {"dtype": dtype, "copy": copy, "order": order, "subok": subok, "ndmin": ndmin}
        value = overridden_by(
            like, PUBLIC["array"], (object,), {k: v for k, v in given.items() if v is not DEFAULTS[k]}
        )
        if value is not NotImplemented:
            return value
    if type(copy) is str:
        raise ValueError("strings are not allowed for 'copy' keyword. Use True/False/None instead.")
    if copy is not True and copy is not None and type(copy) is not COPY_MODES:
        copy = bool(copy)  # np.True_, 1
    if subok and subclasses.is_theirs(object):
        object = subclasses.from_numpy(object)
        kind = type(object)
    wide = is_wide(object)
    if (kind is ndarray or wide) and ndmax is None and (ndmin == 0 or type(ndmin) is int and ndmin <= object.ndim):
        given = as_base(object)
        value = converted(given, dtype, copy, order)
        if value is not NotImplemented:
            if not wide:
                return value
            if value is not given:
                return of_class(kind, value, object) if subok else value
    if kind in (list, tuple) and copy is not False and order in ("K", "C") and ndmax is None and type(ndmin) is int:
        value = stacked(object, dtype, ndmin)
        if value is not NotImplemented:
            return value
    ours: list[Any] = []
    try:
        into = None if dtype is None or kind not in (list, tuple) else dtype_of(dtype)
        plain = kind in PLAIN or not makes_array(object)
        host: Any = to_host(object, ours, into, True) if plain else ArrayProvider(object, ours)
    except RecursionError:  # a list that contains itself
        host = object
    except TracedArgumentError:
        return on_traced("array", numpy.array, (object, dtype), {"copy": copy, "ndmin": ndmin})
    if dtype is not None and isinstance(host, numpy.ndarray):
        host = castable(host, dtype)
    more = {} if ndmax is None else {"ndmax": ndmax}
    if dtype is not None and copy is not False and isinstance(host, numpy.ndarray) and host.dtype.kind == "c":
        whole, host = host, real_of(host, dtype_of(dtype))
        copy = copy or host is not whole  # the real part is no array that the caller has
    try:
        made = as_line(numpy.array, host, dtype, copy=copy, order=order, ndmin=ndmin, **more)
    except TracedArgumentError:  # an object's `__array__` gave an array that a transformation follows (`poly1d`)
        return on_traced("array", numpy.array, (object.__array__(), dtype), {"copy": copy, "ndmin": ndmin})
    except ValueError:  # arrays of ours may stand among the objects of a buffer
        if dtype is None or dtype_of(dtype).kind not in TEXTS_AND_DATES:
            raise
        objects = numpy.array(host, numpy.object_, ndmin=ndmin, **more)
        whole = castable(objects, dtype)
        if whole is objects:
            raise
        made = numpy.array(whole, dtype, order=order)
    if ours and made is not host and made.base is None:
        note_work("array", [x for x in ours if isinstance(x, Handle)])  # a copy; what comes from outside is no work
    if made.dtype.kind == "O" and ours and kind in (list, tuple):
        keep_elements(made, ours)
    if isinstance(object, Handle):
        keep = subok and kind is not ndarray
        if made is host and (keep or kind is ndarray):
            return object
        owner = owner_of(made, ours)
        return (
            of_type(kind, made, object, owner)
            if keep
            else wrap_result(made, ours)
            if made is not host
            else wrap_result(made.view(), ours)
        )
    if type(host) is ArrayProvider and any(
        [x._h_ is made for x in ours]
    ):  # `__array__` gave it, and answers for copies
        return wrap_result(made, ours)
    if copy is True and made.base is None:
        return fresh(made)
    if isinstance(host, numpy.ndarray) and (made is host or made.base is not None) or not owned(made):
        return borrow(made)
    for x in ours:
        if type(x) is ForeignArray or made.base is not None and numpy.may_share_memory(made, x._h_):
            return wrap_result(made, ours)
    return fresh(made) if made.base is None and made is not host else borrow(made) if foreign(object) else fresh(made)


LARGEST = 1 << 47  # bytes: more than a process can address
MOST_JOINED = 256  # arrays and numbers in a list that become operands of one operation
NUMBERS = frozenset({bool, int, float, complex, *[numpy.dtype(c).type for c in "?bBhHiIlLqQefdgFDG"]})


def stacked(given: Any, dtype: Any, ndmin: int) -> Any:
    """The array of a list, nested or not, of arrays and numbers of which some are pending or large, without their
    values; NotImplemented where NumPy makes it, or says what is wrong."""
    leaves: list[Any] = []
    todo = [given]
    for _ in range(2 * MOST_JOINED):  # a list may contain itself
        if not todo:
            break
        x = bare(todo.pop())
        if type(x) in (list, tuple):
            if len(x) + len(todo) + len(leaves) > MOST_JOINED:
                return NotImplemented
            todo += x
        elif type(x) in NUMBERS or type(x) is ndarray and is_native(x.dtype):
            leaves.append(x)
        else:
            return NotImplemented
    arrays = [x for x in leaves if type(x) is ndarray]
    if todo or all(map(at_hand, arrays)) or not all([x.shape or is_traced(x) for x in arrays]):
        return NotImplemented
    node = joined(given)
    if node is not None and math.prod(node.shape) * node.dtype.itemsize > LARGEST:
        return NotImplemented  # which NumPy says at once
    target = None if node is None or dtype is None else dtype_of(dtype)
    if node is None or node.ndim > MOST_AXES or target is not None and not is_native(target):
        return NotImplemented
    if target is not None and len(arrays) < len(leaves) and not numpy.can_cast(node.dtype, target):
        return NotImplemented  # numbers have to fit
    node = node if target is None else cast_node(node, target)
    lacking = max(ndmin - node.ndim, 0)
    return array_of(reshape(node, shape=(*(1,) * lacking, *node.shape)) if lacking else node)


def joined(x: Any) -> Node | None:
    """The node of a nested list; None where the parts are of different shapes."""
    if type(x) not in (list, tuple):
        node = as_node(bare(x))
        return node if node is None or not node.weak else cast_node(node, node.dtype)
    nodes = [joined(v) for v in x]
    found = [n for n in nodes if n is not None]
    if not found or len(found) < len(nodes) or any(n.shape != found[0].shape for n in found):
        return None
    dtype = numpy.result_type(*[n.dtype for n in found])
    return stack(*[cast_node(n, dtype) for n in found], axis=0)


def foreign(x: Any) -> bool:
    """Whether NumPy may have been given memory that belongs to some other object."""
    return not isinstance(x, (list, tuple, int, float, complex, bool, str, bytes, numpy.generic))


DEFAULTS: dict[str, Any] = {"dtype": None, "copy": True, "order": "K", "subok": False, "ndmin": 0}
PUBLIC: dict[str, Any] = {}  # the public function objects that a foreign `like` is given; filled by `counterparts`


def blank_there(array: numpy.ndarray) -> Any:
    """The handle of an array of zeros, or of nothing yet: made on the device, where it would be copied to."""
    if not array.ndim or array.size <= config.limit or not array.flags.c_contiguous or array.dtype.kind not in "biufc":
        return fresh(array)
    return of_node(full(array.shape, 0, array.dtype)) if is_native(array.dtype) else fresh(array)


def follow(name: str, value: Any) -> None:
    """With the setting `device`, choose who makes handles of such arrays."""
    global blank
    if name == "device":
        blank = fresh if value == "cpu" else blank_there


blank = fresh
follow("device", config.device)
config.watch(follow)


def filler(name: str) -> Any:
    """`zeros` or `empty`."""
    host = getattr(numpy, name)

    def create(shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None) -> Any:
        if like is not None:
            given = {"dtype": dtype, "order": order, "device": device}
            value = overridden_by(
                like, PUBLIC[name], (shape,), {k: v for k, v in given.items() if v not in (None, "C")}
            )
            if value is not NotImplemented:
                return value
        if device is not None:
            check_device(device)
        return blank(host(shape if type(shape) is int else unwrap(shape), unwrap(dtype), order))

    create.__name__ = create.__qualname__ = name
    return create


def arange(*args: Any, **kwargs: Any) -> Any:
    """See `numpy.arange`."""
    like = kwargs.pop("like", None)
    if like is not None:
        value = overridden_by(like, PUBLIC["arange"], args, kwargs)
        if value is not NotImplemented:
            return value
    if kwargs or not BOUNDS.issuperset(map(type, args)):
        ours: list[Any] = []
        return fresh(
            numpy.arange(*[to_host(a, ours) for a in args], **{k: to_host(v, ours) for k, v in kwargs.items()})
        )
    return fresh(numpy.arange(*args))


BOUNDS = frozenset({int, float})
zeros, empty = filler("zeros"), filler("empty")


def converted(x: ndarray, dtype: Any, copy: Any, order: Any) -> Any:
    """`array` of an array of ours: as it is, or a copy that costs nothing until one of them is written to."""
    copied = copy is True or copy is COPY_MODES.ALWAYS
    if copied and x._b_ is x._s_.buf and x._h_.size <= config.limit:
        return NotImplemented
    if order not in ("K", "C", "A", "F", None):
        return NotImplemented
    if isinstance(dtype, type) and issubclass(dtype, numpy.dtype):
        return NotImplemented
    target = x.dtype if dtype is None else dtype_of(dtype)
    given, order = (
        order or "K",
        "K" if order == "A" else order or "K",
    )  # for "A" NumPy asks for none, but of a plain copy
    if same(target, x.dtype) and not target.metadata:
        if not copied and lies(x, order) and (target is x.dtype or target.kind != "T"):  # each has texts of its own
            return x
        return NotImplemented if copy is False or copy is COPY_MODES.NEVER else x.copy(given)
    if not copied and target == x.dtype:  # a view as the other one of two equal dtypes
        return NotImplemented
    if copy is False or copy is COPY_MODES.NEVER:
        return NotImplemented
    if at_hand(x) and discards(x.dtype, target):
        return NotImplemented
    return x.astype(target, order) if is_native(x.dtype) and is_native(target) else NotImplemented


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None
) -> Any:
    """See `numpy.asarray`."""
    if type(a) is ndarray and dtype is None and order is None and not copy and like is None and device is None:
        return a
    return as_kind("asarray", a, dtype, order, device, copy, like, False)


def asanyarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None
) -> Any:
    """See `numpy.asanyarray`."""
    if isinstance(a, Handle) and dtype is None and order is None and not copy and like is None and device is None:
        return a
    return as_kind("asanyarray", a, dtype, order, device, copy, like, True)


def as_kind(name: str, a: Any, dtype: Any, order: Any, device: Any, copy: Any, like: Any, subok: bool) -> Any:
    check_device(device)
    if like is not None:
        given = {"dtype": dtype, "order": order, "device": device, "copy": copy}
        value = overridden_by(like, PUBLIC[name], (a,), {k: v for k, v in given.items() if v is not None})
        if value is not NotImplemented:
            return value
    return array(a, dtype, copy=copy, order=order or "K", subok=subok)


def check_device(device: Any) -> None:
    if device not in (None, "cpu"):
        numpy.empty(0, device=device)


def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """See `numpy.ascontiguousarray`."""
    if type(a) is ndarray and dtype is None and like is None and a.ndim and a.flags.c_contiguous:
        return a
    if like is not None:
        value = overridden_by(like, PUBLIC["ascontiguousarray"], (a,), {} if dtype is None else {"dtype": dtype})
        if value is not NotImplemented:
            return value
    return array(a, dtype, copy=None, order="C", ndmin=1)


def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """See `numpy.asfortranarray`."""
    if like is not None:
        value = overridden_by(like, PUBLIC["asfortranarray"], (a,), {} if dtype is None else {"dtype": dtype})
        if value is not NotImplemented:
            return value
    return array(a, dtype, copy=None, order="F", ndmin=1)


def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """See `numpy.from_dlpack`. The method of a subclass is asked in its own way: it may know the old protocol alone."""
    if isinstance(x, Handle) and type(x).__dlpack__ is not ndarray.__dlpack__:  # type: ignore[attr-defined]
        return borrow(numpy.from_dlpack(x, device=device, copy=copy))
    ours: list[Any] = []
    return wrap_result(numpy.from_dlpack(to_host(x, ours), device=device, copy=copy), ours)


def empty_like(
    prototype: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """See `numpy.empty_like`."""
    check_device(device)
    ours: list[Any] = []
    prototype = subclasses.as_ours(prototype) if subok else prototype
    if isinstance(prototype, Handle):
        host: Any = prototype._meta_()
    else:
        host = to_host(prototype, ours)
    more = {} if shape is None else {"shape": to_host(shape, ours)}
    made = numpy.empty_like(host, None if dtype is None else dtype_of(dtype), order, False, **more)
    if subok and isinstance(prototype, Handle) and type(prototype) is not ndarray:
        return of_type(type(prototype), made, prototype)
    return blank(made)
