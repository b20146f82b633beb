"""`a[key]` and `a[key] = value`, in NumPy's full grammar.

A plain index (ints, slices, None, Ellipsis) is a view, without work. A boolean mask of the array's own shape is written
as a select. Other advanced indices are gathers and scatters.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy

from .. import speed
from ..config import config
from ..graph.node import Node, leaf
from ..ops.shape import broadcast_to, reshape
from ..runtime.processes import processes
from ..runtime.recorder import recorder
from ..runtime.storage import lock
from ..runtime.views import INDEX, derive
from .arithmetic import BYTES, array_of_list, deliver, delivers, lies_still, store
from .array import (
    HOST_VIEW,
    Handle,
    Writes,
    flag_of_writes,
    is_moved,
    is_native,
    is_traced,
    known,
    method,
    ndarray,
    new_handle,
    of_node,
    of_scalar,
    root,
    writeable,
)
from .casts import real_of
from .gathers import gathered, scattered, takes_few, takes_lines
from .host import (
    ArrayProvider,
    ForeignArray,
    as_base,
    at_hand,
    blank_like,
    by_engine,
    done_once,
    fresh,
    is_wide,
    keep_elements,
    like,
    makes_array,
    note_work,
    of_class,
    of_traced,
    of_type,
    owner_of,
    part_of,
    shows,
    to_host,
    traced,
)
from .index import is_plain, normalize
from .layout import at_once
from .line_warnings import as_line, at_line
from .masked import FEW, select, selection_of, write_last_axes, write_selection
from .record import PYTHON_SCALARS, as_node, cast_node, errors_kept, known_small, moved_node

WIDE = 1 << 20  # elements of a region; more are worth a second core
FULL_INT = (int, numpy.integer)


@method
def __getitem__(self: ndarray, key: Any) -> Any:
    s = self._s_
    if self._b_ is not s.buf:
        return pending_getitem(self, key)
    h, buffer = self._h_, self._b_
    if type(key) is int or is_plain(key):
        part = h[key]
        if type(part) is not numpy.ndarray:
            return part
    else:
        return advanced_getitem(self, key)
    out = new_handle(ndarray)
    out._s_, out._b_, out._h_ = s, buffer, part
    view = self._v_
    out._v_ = HOST_VIEW if view is HOST_VIEW else (self._view_() if type(view) is tuple else view, h, INDEX, key)
    out._base_ = root(self)
    return out


def pending_getitem(self: ndarray, key: Any) -> Any:
    """The same, on an array that is pending or whose cached view is old; or on a view that is NumPy's own."""
    if processes.door is not None and type(self) is ndarray:
        found = processes.door.element(self, key)
        if found is not None:
            return found
    if self._v_ is HOST_VIEW:
        return host_part(self, key)
    if type(self) is ndarray and known(self):
        return self[key]
    if not is_plain(key):
        if not has_array(key):
            key = plain_key(key)
        if not is_plain(key):
            return advanced_getitem(self, key)
    if self._s_.details is not None and self._s_.details.mask is not None:
        self._host_()
    shape = self.shape
    normal = normalize(key, shape)
    if all([type(k) is int for k in normal]) and not has_ellipsis(key):
        node = self._s_.node
        if node is None or not node.trace:
            return self._host_()[key]
        view = derive(self._view_(), self._s_.shape, INDEX, normal)
        return of_scalar(node if view is None else view.read(node))
    out = self._derived_(INDEX, normal)
    out._base_ = root(self)
    if pieces.are_many(self, out):
        self._host_()
    return out


class Pieces:
    """The small pieces that are taken of one pending array: it is computed when there have been many, since each takes
    ten times as long as one of an array that is there.

    Attributes: of: the number of its node. count: how many there were in a row.
    """

    MANY = 32

    def __init__(self) -> None:
        self.of = self.count = 0

    def are_many(self, x: ndarray, piece: ndarray) -> bool:
        """Whether enough pieces have been taken, with this one."""
        node = x._s_.node
        if node is None or node.trace or config.limit < 0 or piece.size * self.MANY > math.prod(node.shape):
            return False
        self.of, self.count = id(node), self.count + 1 if self.of == id(node) else 1
        return self.count >= self.MANY and config.device == "cpu" and processes.run is None


pieces = Pieces()


def host_part(self: ndarray, key: Any) -> Any:
    """`self[key]` of a view that only NumPy can express."""
    plain = type(self) is ndarray and by_engine() and not at_hand(self)
    if (plain or is_wide(self)) and has_array(key) and is_native(self.dtype):
        value = advanced_getitem(as_base(self), key)
        if plain or not isinstance(value, Handle):
            return value
        return of_class(type(self), value, self, self if value._s_ is self._s_ else value)
    ours: list[Any] = []
    h = self._host_()
    part = h[to_host(key, ours)]
    if not isinstance(part, numpy.ndarray):
        return part
    if has_array(key):
        note_work("ndarray.__getitem__", (self,))
    if type(self) is ndarray:
        return like(self, part, [self])
    owner = self if part is h else owner_of(part, [self])
    if owner is None and has_array(key):  # NumPy makes a plain array first, of which the result is a view
        plain = fresh(part)
        return of_class(type(self), plain, self, plain)
    return of_type(type(self), part, self, owner)


def has_ellipsis(key: Any) -> bool:
    return key is Ellipsis or type(key) is tuple and any(k is Ellipsis for k in key)


def has_array(key: Any) -> bool:
    """Whether a key holds anything that makes it advanced."""
    if type(key) is tuple:
        return any(has_array(k) for k in key)
    return isinstance(key, (Handle, numpy.ndarray, list, bool, numpy.bool_))


def plain_key(key: Any) -> Any:
    """NumPy's integers, and what has __index__, as Python ints; slices of them too."""
    if type(key) is tuple:
        return tuple([plain_key(k) for k in key])
    if isinstance(key, slice):
        return slice(
            *[x if x is None else x.__index__() if is_index(x) else x for x in (key.start, key.stop, key.step)]
        )
    if is_index(key):
        try:
            return key.__index__()
        except Exception:  # whatever it is, NumPy goes on: an array of somebody's may have several elements
            if not makes_array(key):
                no_index: Any = object()
                numpy.empty(1)[no_index]  # NumPy's error
    return key


def is_index(x: Any) -> bool:
    return isinstance(x, numpy.integer) or not isinstance(x, (str, bytes, tuple)) and hasattr(type(x), "__index__")


def host_key(key: Any) -> Any:
    """A key for NumPy: our arrays as NumPy's."""
    if isinstance(key, Handle):
        return key._host_() if not is_traced(key) else of_traced(key, [])
    if type(key) is tuple:
        return tuple([host_key(k) for k in key])
    if isinstance(key, slice):
        return slice(host_key(key.start), host_key(key.stop), host_key(key.step))
    if type(key) is list:
        return [host_key(k) for k in key]
    if not makes_array(key):
        return key
    with contextlib.suppress(TypeError):  # which NumPy asks for first
        return operator.index(key)
    return ArrayProvider(key, [])


def advanced_getitem(self: ndarray, key: Any) -> Any:
    if processes.door is not None and type(self) is ndarray and type(key) in (ndarray, numpy.ndarray):
        node = processes.door.rows(self, key)
        if node is not None:
            return of_node(node)
    if not has_array(key):
        key = plain_key(key)
        if is_plain(key):
            return self[key]
    if is_traced(self) or has_traced(key):
        return traced.getitem(self, key)
    if type(key) is tuple and len(key) == 1 and type(key[0]) is ndarray:
        (key,) = key
    if is_own_mask(self, key) and is_native(self._s_.dtype) and (self._s_.details is None or not self._s_.details.pin):
        return select(self, key)
    if takes_lines(self, key):
        done_once()
        return fresh(speed.get_places(self._host_(), host_key(key)))
    found = NotImplemented if takes_few(self, key) else gathered(self, key)
    if found is not NotImplemented:
        return found
    part = speed.get_places(self._host_(), host_key(key))
    if type(part) is not numpy.ndarray:
        return part
    if shows(part, self._h_):
        return part_of(self, part)
    note_work("ndarray.__getitem__", (self,))
    return fresh(part)


def has_traced(key: Any, depth: int = 64) -> bool:
    """Whether there is a traced array in a key or a list, as deep as an array has axes."""
    if type(key) is tuple or type(key) is list:
        return depth > 0 and any([has_traced(k, depth - 1) for k in key])
    return is_traced(key)


def is_own_mask(self: ndarray, key: Any) -> bool:
    """Whether a key is a boolean array of self's shape, and the two not so small that NumPy does it at once; nor in
    memory that NumPy has views of, where what was selected could change."""
    if type(key) is not ndarray or key.dtype != bool or not key.ndim:
        return False
    if key._s_.details is not None and key._s_.details.pin:
        return False
    if known_small(self) and known_small(key):
        return False
    return selection_of(key) is None and selection_of(self) is None and key.shape == self.shape


@method
def __setitem__(self: ndarray, key: Any, value: Any) -> None:
    with lock:  # for other threads, reading the old value and holding the new one are one step
        key = None if small_setitem(self, key, value) else recorded_setitem(self, key, value)
    if key is not None:
        host_setitem(self, key[0], value)


def small_setitem(self: ndarray, key: Any, value: Any) -> bool:
    """The write, where it is simple and all is at hand; whether it was done."""
    s = self._s_
    if not s.free or self._b_ is not s.buf or config.limit < 0:
        return False
    h, limit = self._h_, config.limit
    kind = type(value)
    if kind is float or kind is int:
        if type(key) is int and h.ndim == 1 or is_plain(key) and (h.size <= limit or fewer(h, key, limit)):
            at_line(h.__setitem__, key, value)
            return True
        if type(key) is ndarray and h.size <= limit and key._b_ is key._s_.buf:
            at_line(h.__setitem__, key._h_, value)
            return True
    elif (
        kind is ndarray
        and value._b_ is value._s_.buf
        and is_plain(key)
        and not h.dtype.hasobject
        and (h.size <= limit or fewer(h, key, limit))
    ):
        at_line(h.__setitem__, key, real_of(value._h_, h.dtype))
        return True
    return False


def fewer(h: numpy.ndarray, key: Any, limit: int) -> bool:
    """Whether a plain index takes so few elements of a large array that a write is best done at once."""
    if not flag_of_writes(h):  # NumPy says so, before it looks at the key
        return True
    part = h[key]
    return type(part) is not numpy.ndarray or part.size <= limit


def recorded_setitem(self: ndarray, key: Any, value: Any) -> tuple[Any] | None:
    """Record the write, under the lock; where NumPy has to do it, the key for it."""
    s = self._s_
    if not is_plain(key) and not has_array(key):
        key = plain_key(key)
    if is_wide(value):
        value = as_base(value)
    if type(key) is str and by_engine() and self.dtype.names is not None and key in self.dtype.names:
        set_field(self if type(self) is ndarray else as_base(self), key, value)
        return None
    if lies_still(self):
        return placed(self, key, value)
    native = is_native(s.dtype)
    if s.details is not None and s.details.mask is not None or not writeable(self):
        return (key,)
    if not native and not (by_engine() and is_moved(s.dtype) and is_plain(key)):
        return (key,)
    if is_plain(key):
        normal = normalize(key, self.shape)
        if (s.buf is not None or known(self)) and eager_write(self, normal, value):
            return (key,)
        if one_element(key, normal) and not (native and is_scalar(value)):
            return (key,)
        return record_set(self, normal, value)
    if writes_few(self, key, value):
        with Writes() as to:
            speed.set_places(to(self), key._host_(), value)
        done_once()
        return None
    deferred = selection_of(value) is None or value.dtype == s.dtype or not errors_kept()
    if deferred and is_own_mask(self, key) and write_selection(self, key, value):
        return None
    if any([is_traced(self), has_traced(key), has_traced(value)]):
        return (key,)
    return None if write_last_axes(self, key, value) or scattered(self, key, value, places_value) else (key,)


def writes_few(self: ndarray, key: Any, value: Any) -> bool:
    """Whether a mask's write of a number is of few elements of a large array at hand, so that NumPy's takes less than a
    select, which has to pass all of it. A mask that is pending by itself is computed for that."""
    number = type(value) in PYTHON_SCALARS or isinstance(value, numpy.generic)
    if type(self) is not ndarray or not number or not is_own_mask(self, key):
        return False
    if not at_once(self) or not flag_of_writes(self._h_):
        return False
    if not known(key) and key._s_.node is not None and recorder.is_alone(key._s_.node):
        recorder.demand(key._s_.node)
    if not known(key) or numpy.count_nonzero(key._h_) * FEW > key.size:
        return False
    return self._s_.release()


def set_field(self: ndarray, name: str, value: Any) -> None:
    """Write into a field, which is a view."""
    field = self[name]
    if type(value) is not ndarray or not lies_still(value) or not same_memory(field._h_, value._h_):
        field[...] = value  # else the second half of `a[name] += b`: it is there


def same_memory(x: numpy.ndarray, y: numpy.ndarray) -> bool:
    return x.dtype == y.dtype and x.shape == y.shape and x.strides == y.strides and x.ctypes.data == y.ctypes.data


def placed(self: Any, key: Any, value: Any) -> tuple[Any] | None:
    """Write into memory that lies still what the engine computes; where NumPy has to do it, the key for it."""
    traced = any([is_traced(self), has_traced(key), has_traced(value)])
    whole = self if type(self) is ndarray else as_base(self)
    native = is_native(self.dtype)
    if traced or not writeable(self) or not delivers(whole) or not native and not is_moved(self.dtype):
        return (key,)
    if not is_plain(key):
        if not native:
            return (key,)
        return None if scattered(whole, key, value, region_value) else (key,)
    if one_element(key, normalize(key, self.shape)):
        return (key,)
    region = self if key is Ellipsis else self[key]  # of a subclass, which may give it more axes
    if not isinstance(region, Handle):
        return (key,)
    part = as_base(region)
    node = region_value(value, part.shape, part.dtype)
    if node is None:
        return (key,)
    deliver(part, node)
    return None


def one_element(key: Any, normal: Any) -> bool:
    return all([type(k) is int for k in normal]) and not has_ellipsis(key)


def is_scalar(value: Any) -> bool:
    return not isinstance(value, (list, tuple)) and (not isinstance(value, (Handle, numpy.ndarray)) or value.ndim == 0)


def eager_write(self: ndarray, normal: Any, value: Any) -> bool:
    """Whether a write to a buffer that is there is better done at once: it is small, or of single elements, or a part
    of what is there that no kernel computes, while a second core would not pay. The whole of an array is another value,
    which costs nothing."""
    if config.limit < 0:
        return False
    if type(value) is ndarray and not known(value):
        return False
    size = 1
    for k in normal:
        if type(k) is tuple:
            size *= k[1]
    s = self._s_
    limit = config.limit * (BYTES if s.buf.itemsize == 1 else 1)
    if size <= limit:
        return s.free or s.release() or s.buf.size <= limit
    return size <= WIDE and size < s.buf.size and at_once(self) and (s.free or s.release())


def host_setitem(self: ndarray, key: Any, value: Any) -> None:
    """The write, done at once by NumPy on the buffer."""
    if is_traced(self) or has_traced(key) or has_traced(value):
        return traced.setitem(self, key, value)
    if type(self) is not ndarray and key is not Ellipsis and is_plain(key) and not is_full(key, self.ndim):
        region = self[key]  # of a subclass, which may give it more axes
        if isinstance(region, Handle):
            self, key = region, ...
    key = host_key(key)
    kind = self.dtype.kind
    if kind == "O" and is_full(key, self.ndim):  # the object itself
        with Writes() as to:
            to(self)[key] = value
        return
    if isinstance(value, Handle):
        own = kind in "iuf" and type(value) is not ndarray and not value.shape and is_full(key, self.ndim)
        value = (float if kind == "f" else int)(value) if own else value._host_()
    elif type(value) in (list, tuple):
        value = to_host(value, [], self.dtype, True) if kind != "O" else objects(value, self._host_()[key])
    elif makes_array(value) and kind != "O" and not is_full(key, self.ndim):
        value = ArrayProvider(value, [])
    value = real_of(value, self.dtype)
    note_write(self, key, lambda: blank_like(self).__setitem__(key, value))
    with Writes() as to:
        as_line(speed.set_places, to(self), key, value)


def note_write(self: ndarray, key: Any, trial: Callable[[], Any]) -> None:
    """Count a write that NumPy does, by the size of its region."""
    h = self._host_()
    if h.size > max(config.limit, 1) and flag_of_writes(h):  # else NumPy says so, before it looks at the key
        part = h[key] if is_plain(key) else h
        if isinstance(part, numpy.ndarray):
            note_work("ndarray.__setitem__", (ForeignArray(part),), trial)


def objects(value: Any, region: Any) -> Any:
    """A list that is to fill a region of objects: arrays in it are kept as they are."""
    if not isinstance(region, numpy.ndarray):
        return value
    ours: list[Any] = []
    made = numpy.empty(region.shape, object)
    made[...] = to_host(value, ours, None, True)
    keep_elements(made, ours)
    return made


def is_full(key: Any, ndim: int) -> bool:
    """Whether a key has an integer for each axis, so that it stands for one element."""
    keys = key if type(key) is tuple else (key,)
    return len(keys) == ndim and all([isinstance(k, FULL_INT) and type(k) is not bool for k in keys])


def places_value(value: Any, shape: tuple[int, ...], dtype: numpy.dtype[Any]) -> Node | None:
    """The same for places, where a list may have more axes, of length 1."""
    if isinstance(value, (list, tuple)) and not has_traced(value):
        with contextlib.suppress(ValueError):  # a ragged one, of which NumPy tells below
            value = numpy.array(to_host(list(value), [], dtype), dtype)
    return region_value(value, shape, dtype)


def region_value(value: Any, shape: tuple[int, ...], dtype: numpy.dtype[Any]) -> Node | None:
    """A node of a value that is to fill a region: in its dtype, no more axes than it has. Raises NumPy's errors."""
    native = is_native(dtype)
    node = as_node(value) if native else moved_node(value, dtype)
    if node is None:
        if not native or isinstance(value, Handle):
            return None
        if type(value) is int:  # of more than 64 bits: an error of NumPy's, or a float
            whole = numpy.empty((), dtype)
            whole[()] = value
            return Node.of_scalar(whole[()])
        if isinstance(value, (list, tuple)):
            if has_traced(value):
                return region_value(array_of_list(value), shape, dtype)
            array = numpy.empty(shape, dtype)
            array[...] = to_host(list(value), [], dtype)
        else:
            array = numpy.asarray(ArrayProvider(value, []) if makes_array(value) else value)
        if not is_native(array.dtype) or array.ndim and not shape:  # one element of a sequence: NumPy's error
            return None
        node = leaf(array.shape, array.dtype, numpy.array(array))
    if node.value is not None:  # checked as NumPy does: an int that does not fit, a NaN for an integer
        scalar = numpy.empty((), dtype)
        at_line(scalar.__setitem__, (), real_of(node.value, dtype))
        return Node.of_scalar(scalar[()])
    if node.shape != shape:
        given = node.shape
        while len(given) > len(shape) and given[0] == 1:
            given = given[1:]
        try:
            fits = numpy.broadcast_shapes(given, shape) == shape
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(f"could not broadcast input array from shape {text(node.shape)} into shape {text(shape)}")
        if given != node.shape:
            node = reshape(node, shape=given)
    return cast_node(node, dtype)


def text(shape: tuple[int, ...]) -> str:
    return f"({','.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def record_set(self: ndarray, normal: Any, value: Any) -> tuple[Any] | None:
    """Record a write of a plain region; where NumPy has to do it, the key for it."""
    s = self._s_
    dtype = s.dtype
    view = derive(self._view_(), s.shape, INDEX, normal)
    if type(value) is ndarray and value._s_ is s and value._view_() is view:
        return None  # the second half of `a[key] += b`: what was written through the view is there
    shape = s.shape if view is None else view.shape
    node = region_value(value, shape, dtype)
    if node is None:
        key: list[Any] = [k if k is None or type(k) is int else slice_of(k) for k in normal]
        key += [] if is_scalar(value) else [Ellipsis]  # a region, not an element
        return (tuple(key),)
    if view is None and (node.shape != shape or node.value is not None):
        node = broadcast_to(node, shape=shape)
    store(s, view, node)
    del node
    recorder.settle()
    return None


def slice_of(k: tuple[int, int, int]) -> slice:
    start, count, step = k
    stop = start + count * step
    return slice(start, stop if stop >= 0 else None, step) if count else slice(0, 0)
