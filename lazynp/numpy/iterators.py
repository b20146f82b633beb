"""Iterators and proxies of NumPy's C objects that hold arrays: flat, nditer, broadcast, flags."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy

from ..graph.node import ABSTRACT
from ..speed import FlatBase, attach, in_messages, native, tell
from .arithmetic import dummy
from .array import HOST_VIEW, Handle, Writes, borrow, flag_of_writes, is_native, is_traced, ndarray
from .casts import real_of
from .host import (
    ForeignArray,
    at_hand,
    bare,
    blank_like,
    by_engine,
    fresh,
    like,
    note_work,
    of_class,
    operands_to_host,
    owner_of,
    to_host,
    unwrap,
    wrap_result,
)
from .layout import array_of
from .recorded import in_one_row as filled
from .recorded import value_of
from .renew import become, with_refusals
from .view_methods import own


class flatiter(FlatBase):
    """`a.flat`. See `numpy.flatiter`. One that is only indexed leaves the array where it is: each index is that of a
    new one of NumPy's. One that is iterated over has one, which keeps the memory in its place."""

    __slots__ = ("__weakref__",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, owner: Any = None) -> None:
        if owner is None:
            raise TypeError("cannot create 'numpy.flatiter' instances")
        self._owner, self._made = owner, None

    @property
    def _iter(self) -> Any:
        if self._made is None:
            self._made = self._owner._pin_().flat
        return self._made

    def _traced(self, value: Any = None) -> Any:
        """The elements in one row, as a view, where a transformation is to follow what is done with them."""
        return self._owner.reshape(-1) if is_traced(self._owner) or is_traced(value) else None

    @property
    def base(self) -> Any:
        return self._owner

    @property
    def coords(self) -> Any:
        return self._iter.coords

    @property
    def index(self) -> int:
        return self._iter.index

    def copy(self, /) -> Any:
        """A copy of the iterator as a 1-D array."""
        return fresh(self._iter.copy())

    def __array__(self, dtype: Any = None, /, *, copy: Any = None) -> numpy.ndarray:
        return self._iter.__array__() if dtype is None else self._iter.__array__().astype(dtype)

    def _to_host(self) -> numpy.flatiter:
        return self._owner._host_().flat

    def __len__(self) -> int:
        return len(self._iter)

    def __delitem__(self, key: Any) -> None:
        raise TypeError("Cannot delete iterator elements")


def in_one_row(self: Any, key: Any) -> Any:
    """The elements as a view that has one axis, for an array that is pending or large and lies in C's order, and the
    key for it; None for others, and for keys that are no slices, masks or integers in an array."""
    x = bare(self._owner)
    if not of_engine(x, self._made is None):
        return None
    if key is Ellipsis:
        key = slice(None)
    elif type(key) is list and all([type(k) in (int, bool) for k in key]) and not (key and {*map(type, key)} == {bool}):
        key = numpy.asarray(key, numpy.intp)
    if type(key) is not slice:
        kind = key.dtype.kind if isinstance(key, (Handle, numpy.ndarray)) else ""
        if not (kind in "iu" and kind or kind == "b" and key.shape == (x.size,)):
            return None
        places = value_of(key) if kind != "b" else _empty
        if places.size and not -x.size <= places.min() <= places.max() < x.size:  # which NumPy says in other words here
            return None
    return (x.reshape(-1), key) if x.flags.c_contiguous else None


def of_engine(x: Any, unseen: bool = True) -> bool:
    """Whether the elements of an array are the engine's to find; `unseen`: NumPy has no iterator over them."""
    lies_still = type(x) is ndarray and x._v_ is HOST_VIEW
    return not at_hand(x) and (by_engine() if lies_still else own(x) and unseen) and is_native(x.dtype)


_empty = numpy.empty(0)
NUMBERS = frozenset({bool, int, float, complex, *[numpy.dtype(c).type for c in "?bBhHiIlLqQefdFD"]})


def as_many(x: ndarray, key: Any, value: Any) -> Any:
    """A number, or as many elements as the key takes, repeated as NumPy does it; None where it sees to that."""
    if type(value) in NUMBERS:  # NumPy casts its own here, where `x[key] = value` refuses what is too large
        return value.astype(x.dtype) if isinstance(value, numpy.generic) else value
    if type(value) not in (list, tuple, range, ndarray, numpy.ndarray):
        return None
    if type(key) is slice:
        shape: tuple[int, ...] = (len(range(*key.indices(x.size))),)
    else:
        shape = key.shape if key.dtype != bool else (int(numpy.count_nonzero(value_of(key))),)
    node = filled(value, x.dtype, lambda n: numpy.arange(math.prod(shape)) % n)
    return None if node is None else array_of(node).reshape(shape)


ITSELF = numpy.zeros((1, 1)).flat[()].ndim == 2  # in NumPy 2.2 an empty key is the array itself, later all elements


def flat_item(self: Any, key: Any) -> Any:
    if type(key) is tuple and not key:
        if ITSELF:
            return self._owner
        key = slice(None)
    row = self._traced()
    if row is not None:
        return row[key]
    found = in_one_row(self, key)
    if found is not None:
        row, key = found
        found = row[key].copy() if type(key) is slice else row[key]
        plainly = type(self._owner) is ndarray or not isinstance(found, Handle)
        return found if plainly else of_class(type(self._owner), found, self._owner)
    value = (self._made or self._to_host())[unwrap(key)]
    if not isinstance(value, numpy.ndarray):
        return value
    note_work("flatiter.__getitem__", (ForeignArray(value),))
    return like(self._owner, value, [])


def set_flat_item(self: Any, key: Any, value: Any) -> None:
    row = self._traced(value)
    if row is not None:
        row[key] = value
        return
    found = in_one_row(self, key)
    given = None if found is None else as_many(found[0], found[1], value)
    if given is not None:
        row, key = found
        row[key] = given
        return
    owner, key = self._owner, unwrap(key)
    new = real_of(to_host(value, [], owner.dtype), owner.dtype)
    if type(key) is not int:
        owner._host_()
        note_work("flatiter.__setitem__", (owner,), lambda: blank_like(owner).flat.__setitem__(key, new))
    with Writes() as to:
        (self._made or to(owner).flat)[key] = new


def next_element(self: Any) -> Any:
    """The first element, which makes NumPy's iterator, and each where the array is traced."""
    if is_traced(self._owner):
        self._made = iter(self._traced()) if self._made is None else self._made
    return next(self._iter)


def compared(name: str) -> Any:
    host = getattr(numpy.flatiter, name)
    return lambda self, other: wrap_result(host(self._iter, unwrap(other)), [])


for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(flatiter, _name, compared(_name))
attach(flatiter, "__getitem__", flat_item, "flat", "getitem")
attach(flatiter, "__setitem__", set_flat_item, "flat", "setitem")
attach(flatiter, "__next__", next_element, "flat", "first")
if native is None:
    flatiter.__iter__ = lambda self: self  # type: ignore[attr-defined]
tell(flatiter=flatiter)
flatiter.__module__ = "lazynp"


def get_flat(self: Any) -> flatiter:
    if self.ndim > MOST_AXES:
        numpy.empty((1,) * self.ndim).flat  # noqa: B018 (NumPy's error)
    return flatiter(self)


MOST_AXES = 32  # of NumPy's flat iterator


def set_flat(self: Any, value: Any) -> None:
    x = bare(self)
    given = as_many(x, slice(None), value) if of_engine(x) else None
    if given is not None:
        x[...] = given.reshape(x.shape) if isinstance(given, Handle) else given
        return
    self._host_()
    note_work("ndarray.flat", (self,))
    with Writes() as to:
        to(self).flat = unwrap(value)


def may_be_written(base: Any) -> bool:
    """Whether a view of `base` may be made writeable: NumPy asks whether any of the arrays that it is a view of is."""
    if type(base) is not ndarray:
        return True  # NumPy's array, which NumPy asks, or none
    while isinstance(base, (Handle, numpy.ndarray)):
        if flag_of_writes(base):
            return True
        base = base.base
    return False


class flagsobj:
    """`a.flags`: read from the layout, without touching data; what is set pins the storage."""

    __slots__ = ("_owner",)
    _owner: Any
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, owner: Any) -> None:
        object.__setattr__(self, "_owner", owner)

    def _flags(self) -> Any:
        owner = self._owner
        if owner._v_ is HOST_VIEW or owner._b_ is owner._s_.buf:
            return owner._h_.flags
        return owner._meta_().flags

    @property
    def owndata(self) -> bool:
        owner = self._owner
        if owner._v_ is HOST_VIEW and owner._h_ is owner._s_.buf:  # borrowed, or a subclass's
            return owner._h_.flags.owndata
        return owner.base is None

    @property
    def writeable(self) -> bool:
        owner = self._owner
        if owner._v_ is not HOST_VIEW and owner._b_ is not owner._s_.buf:
            return owner._s_.buf is None or owner._s_.buf.flags.writeable
        return self._flags().writeable

    def __setattr__(self, name: str, value: Any) -> None:
        owner = self._owner
        h = owner._pin_()
        if type(owner) is ndarray and owner._v_ is not HOST_VIEW:
            h = h.view()  # the flag is the handle's own: the buffer is other views' too
        if name == "writeable" and value and not may_be_written(getattr(owner, "_base_", None)):
            raise ValueError("cannot set WRITEABLE flag to True of this array")
        setattr(h.flags, name, value)
        if h is not owner._h_:
            become(owner, h)

    def __getitem__(self, key: str) -> Any:
        if key in ("OWNDATA", "O"):
            return self.owndata
        if key in ("WRITEABLE", "W"):
            return self.writeable
        return self._flags()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        flags = self._flags()
        flags[key]
        self.__setattr__({"W": "writeable", "A": "aligned", "X": "writebackifcopy"}.get(key, key.lower()), value)

    def __repr__(self) -> str:
        names = ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED", "WRITEBACKIFCOPY")
        return "".join(f"  {name} : {self[name]}\n" for name in names)

    def __eq__(self, other: object) -> bool:
        other = other._flags() if isinstance(other, flagsobj) else other
        return bool(self._flags() == other)


def layout_flag(name: str) -> property:
    return property(lambda self: getattr(self._flags(), name))


for _name in dir(type(numpy.empty(0).flags)):  # the others are NumPy's in any case
    if not (_name.startswith("__") or _name in vars(flagsobj)):
        setattr(flagsobj, _name, layout_flag(_name))
flagsobj.__module__ = "lazynp._core.multiarray"


def inside(value: Any, ours: list[Any]) -> Any:
    """What an iterator shows: an operand's memory, or its own, which it may write back to an operand."""
    if type(value) is tuple:
        return tuple([inside(v, ours) for v in value])
    if native is not None and len(ours) == 1 and type(ours[0]) is ndarray and type(value) is numpy.ndarray:
        part = native.part(ours[0], value)
        if part is not None:
            return part
    if type(value) is numpy.ndarray and owner_of(value, ours) is None:
        return borrow(value)
    return wrap_result(value, ours)


def only_reads(
    op: Any, flags: Any = None, op_flags: Any = None, op_dtypes: Any = None, *rest: Any, **more: Any
) -> bool:
    """Whether an iterator hands out its operands' elements as they are, which the program asks for; one that makes
    operands, writes into them or casts them has NumPy work."""
    several = isinstance(op, (list, tuple))
    if op_dtypes is not None or several and any([x is None for x in op]):
        return False
    given = [op_flags] if op_flags and isinstance(op_flags[0], str) else op_flags or []
    return not any([flag in ("readwrite", "writeonly") for each in given for flag in each])


class nditer:
    """See `numpy.nditer`. Its operands are pinned, since it keeps views of them."""

    __slots__ = ("_iter", "_ours", "_leader", "_made", "__weakref__")

    def __init__(self, op: Any, *args: Any, **kwargs: Any) -> None:
        ours: list[Any] = []
        for x in op if isinstance(op, (list, tuple)) else (op,):
            if isinstance(x, Handle):
                x._pin_()
        host = operands_to_host(op, ours)
        if not only_reads(op, *args, **kwargs):
            note_work("nditer", ours)
        made = numpy.nditer(host, *unwrap(args), **unwrap(kwargs))
        object.__setattr__(self, "_iter", made)
        object.__setattr__(self, "_ours", ours)
        object.__setattr__(self, "_leader", None)
        object.__setattr__(self, "_made", ())
        if isinstance(op, (list, tuple)) and any([x is None for x in op]):
            self._allocates(op, *args, **kwargs)

    def _allocates(self, op: Any, flags: Any = None, op_flags: Any = None, *rest: Any, **more: Any) -> None:
        """Note which operands the iterator makes, and of whose class they are."""
        plain = [op_flags is not None and "no_subtype" in op_flags[i] for i in range(len(op))]
        made = tuple([i for i, x in enumerate(op) if x is None and not plain[i]])
        several = [x for x in op if isinstance(x, Handle)]
        leader = max(several, key=lambda x: x.__array_priority__, default=None)
        if made and leader is not None and type(leader) is not ndarray and leader.__array_priority__ > 0:
            object.__setattr__(self, "_leader", leader)
            object.__setattr__(self, "_made", made)

    @classmethod
    def _of(cls, made: Any, ours: Any) -> nditer:
        self = object.__new__(cls)
        object.__setattr__(self, "_iter", made)
        object.__setattr__(self, "_ours", ours)
        object.__setattr__(self, "_leader", None)
        object.__setattr__(self, "_made", ())
        return self

    def __getattr__(self, name: str) -> Any:
        if name in self.__slots__:
            raise AttributeError(name)
        value = self._shown(getattr(self._iter, name))
        if name != "operands" or self._leader is None:
            return value
        of = self._leader
        return tuple([of_class(type(of), x, of) if i in self._made else x for i, x in enumerate(value)])

    def _shown(self, value: Any) -> Any:
        ours = self._ours
        if type(value) is tuple and len(value) == len(ours):
            return tuple([inside(v, [x]) for v, x in zip(value, ours)])  # each operand's view is of that operand
        return inside(value, ours)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._iter, name, unwrap(value))

    def __delattr__(self, name: str) -> None:
        delattr(self._iter, name)

    def _call(self, name: str, *args: Any) -> Any:
        return wrap_result(getattr(self._iter, name)(*unwrap(args)), self._ours)

    def close(self, /) -> None:
        return self._call("close")

    def debug_print(self, /) -> None:
        return self._call("debug_print")

    def enable_external_loop(self, /) -> None:
        return self._call("enable_external_loop")

    def iternext(self, /) -> bool:
        return self._call("iternext")

    def remove_axis(self, i: Any, /) -> None:
        return self._call("remove_axis", i)

    def remove_multi_index(self, /) -> None:
        return self._call("remove_multi_index")

    def reset(self, /) -> None:
        return self._call("reset")

    def copy(self, /) -> nditer:
        made = nditer._of(self._iter.copy(), self._ours)
        object.__setattr__(made, "_leader", self._leader)
        object.__setattr__(made, "_made", self._made)
        return made

    def __copy__(self) -> nditer:
        return self.copy()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if native is not None:
            return native.next_parts(self._iter, self._ours, self)
        return self._shown(next(self._iter))

    def __len__(self) -> int:
        return len(self._iter)

    def __getitem__(self, key: Any) -> Any:
        return self._shown(self._iter[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._iter[key] = unwrap(value)

    def __delitem__(self, key: Any) -> None:
        raise TypeError("Cannot delete iterator elements")

    def __enter__(self) -> nditer:
        self._iter.__enter__()
        return self

    def __exit__(self, *error: object) -> Any:
        return self._iter.__exit__(*error)


nditer.__module__ = "lazynp"


def nested_iters(op: Any, *args: Any, **kwargs: Any) -> tuple[nditer, ...]:
    """See `numpy.nested_iters`."""
    ours: list[Any] = []
    for x in op if isinstance(op, (list, tuple)) else (op,):
        if isinstance(x, Handle):
            x._pin_()
    host = operands_to_host(op, ours)
    note_work("nested_iters", ours)
    made = numpy.nested_iters(host, *unwrap(args), **unwrap(kwargs))
    return tuple([nditer._of(m, ours) for m in made])


class BroadcastType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is cls or isinstance(instance, numpy.broadcast)


class broadcast(metaclass=BroadcastType):
    """See `numpy.broadcast`."""

    __slots__ = ("_host_", "_args")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._args = sum([x._args if type(x) is broadcast else (x,) for x in args], ())
        self._host_ = numpy.broadcast(*[self._looked_at(x) for x in args], **kwargs)

    def _looked_at(self, x: Any) -> Any:
        """An argument as NumPy takes it: what has no value for its shape alone."""
        if not is_traced(x):
            return unwrap(x)
        return dummy(x) if x._node_().trace == ABSTRACT else x._host_()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host_, name)

    @property
    def iters(self) -> tuple[Any, ...]:
        """Iterators over the arrays, each as the arguments had it."""
        pairs = zip(self._args, self._host_.iters)
        return tuple([flatiter(x) if isinstance(x, Handle) else iterator for x, iterator in pairs])

    def reset(self, /) -> None:
        """Begin again."""
        self._host_.reset()

    def __iter__(self) -> broadcast:
        return self

    def __next__(self) -> tuple[Any, ...]:
        for x in self._args:
            if is_traced(x):
                x._host_()  # an error where it has no value: NumPy's iterator has its shape alone
        return next(self._host_)

    def _to_host(self) -> numpy.broadcast:
        return self._host_


broadcast.__module__ = "lazynp"
for _name, _cls in {"flatiter": flatiter, "nditer": nditer, "broadcast": broadcast}.items():
    in_messages(_cls, f"numpy.{_name}")
if native is not None:
    native.bind({"flat": {"get": get_flat}})
FLAT = property(get_flat if native is None else native.flat, set_flat, doc=numpy.ndarray.flat.__doc__)
ndarray.flat = with_refusals("flat", FLAT)  # type: ignore[attr-defined]
ndarray.flags = with_refusals("flags", property(flagsobj, doc=numpy.ndarray.flags.__doc__))  # type: ignore[attr-defined]
