"""NumPy itself on materialized values: how arguments go to NumPy, how results come back, and who is told of it.

A result that shows an argument's memory makes that argument's storage pinned; any other is a fresh array of ours.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy
from numpy._core.numerictypes import sctypeDict
from numpy.lib.array_utils import byte_bounds

from ..config import config
from ..graph.errors import NotConcreteError
from ..graph.node import ABSTRACT
from ..notices import INTERNAL
from ..runtime.profile import profile
from ..runtime.storage import lock
from ..runtime.views import TRANSPOSE, axes_in_memory, inverse_of, view_to
from ..speed import HandleBase, native, tell
from . import subclasses
from .array import HOST_VIEW, Handle, Writes, borrow, flag_of_writes, is_traced, known, ndarray, new_handle, root, wrap
from .elements import Element, element
from .line_warnings import as_line

SCALARS = frozenset({bool, int, float, complex, str, bytes, numpy.bool_, *sctypeDict.values()})
PLAIN = SCALARS | {type(None), type(numpy.dtype(float)), type(numpy._globals._NoValue), type(Ellipsis)}
SUBCLASS: Any = (
    object()
)  # the `_b_` of a subclass's handle: never a buffer, so that every fast path is left at its first test


tell(subclass_mark=SUBCLASS)


class ForeignArray:
    """A NumPy array of somebody else's among the arguments: what shows its memory is borrowed."""

    __slots__ = ("_h_",)

    def __init__(self, array: numpy.ndarray) -> None:
        self._h_ = array


class ConvertedObject:
    """An object that made itself an array of ours, which is among the arguments before this: what NumPy gets for it."""

    __slots__ = ("_h_", "given")

    def __init__(self, array: numpy.ndarray, given: Any) -> None:
        self._h_, self.given = array, given


class ArrayProvider:
    """Stands for an object with `__array__`: what that gives goes to NumPy as NumPy's array."""

    def __init__(self, given: Any, ours: list[Any]) -> None:
        self.given, self.ours = given, ours

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return to_host(self.given.__array__(*args, **kwargs), self.ours)


class TracedArgumentError(NotConcreteError):
    """NumPy was to be given an array that a transformation follows, whose result would not be followed."""

    def __init__(self, name: str = "what is called here") -> None:
        super().__init__(
            f"{name} is computed by NumPy on values, at {site()}, so that grad, vmap and jit cannot see through it. "
            "Use functions that the engine has, or give it lazynp.stop_gradient(x) where no derivative is wanted"
        )


class Traced:
    """What is done on arrays that a transformation follows: supplied by `traced`, which is loaded with the
    transformations.

    Attributes:
        call: `(name, function, args, kwargs)` in place of a function of NumPy's.
        getitem, setitem: an advanced index, or a write, that NumPy would do on values.
    """

    call: Any
    getitem: Any
    setitem: Any


traced = Traced()


def on_traced(name: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What NumPy's function does, where arguments are traced."""
    return traced.call(name, function, args, kwargs)


class HostFallbackError(RuntimeError):
    """`config.strict` forbids what only NumPy can do.

    Attributes:
        dtypes: of the arrays that the call works on.
    """

    def __init__(self, name: str, dtypes: Iterable[numpy.dtype[Any]], where: str) -> None:
        self.dtypes = tuple(dict.fromkeys(dtypes))
        of = ", ".join(map(str, self.dtypes))
        super().__init__(f"{name} is done by NumPy on {of}, at {where}, and config.strict forbids it")


SLOTS = tuple([vars(HandleBase)[name].__set__ for name in ("_s_", "_b_", "_h_", "_v_")])
set_base = vars(HandleBase)["_base_"].__set__


def bind(out: Any, s: Any, b: Any, h: Any, v: Any) -> None:
    """Fill a handle, past what a subclass may do in `__setattr__`."""
    for put, value in zip(SLOTS, (s, b, h, v)):
        put(out, value)


def site() -> str:
    """Where the user's code stands: file and line of the nearest frame outside lazynp and NumPy."""
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(INTERNAL):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "?"


# How long their result is depends on values: the graph is computed at these points, and goes on with the result.
POINTS = frozenset({"nonzero", "ndarray.nonzero", "_unique_hash"})


def note_work(name: str, arrays: Iterable[Any], trial: Callable[[], Any] | None = None) -> None:
    """Count a call as host work, or refuse it under `config.strict`: the one place where that is done.

    Host work is what NumPy computes, writes or copies on values because the engine has no operation for it. Not counted
    are single elements; arrays that are small in mode auto, which NumPy computes at once by design; views; and values
    that the program asks for (printing, `tolist`, `tobytes`, `numpy.asarray`); nor calls that NumPy refuses: what makes
    a new array is counted when it is there. Points are counted apart.

    Args:
        name: of the function or method.
        arrays: what it works on, each with its value in `_h_`.
        trial: makes the call into memory that nobody has, for one that would be refused and may be wrong.
    """
    most = max(config.limit, 1)
    for x in arrays:
        if x._h_.size > most:
            if name in POINTS:
                profile.points[name] += 1
                return
            where = site()
            if config.strict:
                if trial is not None:
                    trial()
                raise HostFallbackError(name, [a._h_.dtype for a in [x, *arrays]], where)
            profile.host_calls[(name, where)] += 1
            return


def done_once() -> None:
    """Count a call that was NumPy's as a whole on large arrays at hand: one operation, as the engine would count it."""
    profile.segments += 1
    profile.operations += 1
    profile.library += 1


tell(done_once=done_once)


def blank_like(out: Any) -> Any:
    """Memory like an `out=`, for which a call is tried that strict mode forbids: what NumPy refuses is no work."""
    if type(out) is tuple:
        return tuple(map(blank_like, out))
    if not isinstance(out, (Handle, numpy.ndarray)):
        return out
    meta = out._meta_() if isinstance(out, Handle) else out
    made = numpy.empty_like(meta, subok=False)
    made.flags.writeable = flag_of_writes(meta)
    return made


def at_hand(x: ndarray) -> bool:
    """Whether the value is there, and so small that NumPy does the work at once."""
    return type(x) is ndarray and known(x) and x._h_.size <= config.limit


def dtype_of(given: Any) -> numpy.dtype[Any]:
    """The dtype that an argument names. An array names none, though NumPy would find that ours has one; a class of
    dtypes names the one that NumPy makes arrays of."""
    if isinstance(given, type) and issubclass(given, numpy.dtype):
        return numpy.empty(0, given).dtype
    return numpy.dtype(given if not isinstance(given, Handle) else given._meta_())


def to_host(x: Any, ours: list[Any], into: numpy.dtype[Any] | None = None, kept: bool = False) -> Any:
    """What NumPy gets for an argument, to read at once. Appends the arrays of ours in it to `ours`.

    Args:
        into: the dtype that an array is made with of a list.
        kept: whether an array of objects made of a list has the objects themselves: see `keep_elements`.
    """
    kind = type(x)
    if kind in PLAIN or x is None:
        return x
    if x is ndarray:
        return numpy.ndarray
    if isinstance(x, Handle):
        if x._s_.buf is None and is_traced(x):
            return of_traced(x, ours)
        ours.append(x)
        return x._host_() if into is None else castable(x._host_(), into)
    if kind is list or kind is tuple:
        if not x or type(x[0]) in SCALARS and SCALARS.issuperset(map(type, x)):
            return x
        values = [to_host(v if type(v) is ndarray else element(v, into, kept), ours, into, kept) for v in x]
        return x if all(map(operator.is_, values, x)) else kind(values)
    if kind is dict:
        named = {k: to_host(v, ours) for k, v in x.items()}
        return named if any([v is not x[k] for k, v in named.items()]) else x  # an object of the user's, it may be
    if kind is slice:
        parts = [to_host(v, ours) for v in (x.start, x.stop, x.step)]
        return x if all(map(operator.is_, parts, (x.start, x.stop, x.step))) else slice(*parts)
    if isinstance(x, numpy.ndarray):
        ours.append(ForeignArray(x))
        return x
    host = getattr(kind, "_to_host", None)
    if host is not None:
        return host(x)
    if (
        hasattr(kind, "__array__")
        and not hasattr(kind, "__array_interface__")
        and not isinstance(x, (type, numpy.generic))
    ):
        return through_array(x, ours, into)
    return x


TEXTS_AND_DATES = frozenset("SUTMm")


def castable(host: numpy.ndarray, dtype: Any) -> numpy.ndarray:
    """An array that is to be cast. NumPy makes texts and dates of arrays among objects that have no axes, where they
    are its own: ours are sequences to it."""
    if host.dtype.kind != "O" or dtype_of(dtype).kind not in TEXTS_AND_DATES:
        return host
    places = [i for i, v in enumerate(host.ravel()) if isinstance(v, Handle) and not v.shape]
    if places:
        host = host.copy("C")
        row = host.reshape(-1)
        for i in places:
            row[i] = row[i]._host_()
    return host


def operands_to_host(x: Any, ours: list[Any]) -> Any:
    """What NumPy gets for an operand or a sequence of them, each of which is an array of its own."""
    return type(x)([to_host(v, ours) for v in x]) if type(x) in (list, tuple) else to_host(x, ours)


def of_traced(x: ndarray, ours: list[Any]) -> numpy.ndarray:
    """The value of a traced array of whole numbers, which no derivative is lost with. Raises for any other."""
    if x.dtype.kind not in "biu" or x._node_().trace == ABSTRACT:
        raise TracedArgumentError
    value = x._host_().copy()
    ours.append(ForeignArray(value))
    return value


def through_array(x: Any, ours: list[Any], dtype: numpy.dtype[Any] | None = None) -> Any:
    """An object that makes itself an array: NumPy does not take an array of ours for one."""
    try:
        array = x.__array__() if dtype is None else x.__array__(dtype)
    except Exception:  # NumPy will ask again, and show it
        return x
    if not isinstance(array, Handle):
        return x
    host = to_host(array, ours)
    ours.append(ConvertedObject(host, x))
    return host


def makes_array(x: Any) -> bool:
    """Whether NumPy asks an object's `__array__` for its value."""
    kind = type(x)
    return (
        hasattr(kind, "__array__")
        and not isinstance(x, (Handle, numpy.ndarray, numpy.generic, type))
        and not hasattr(x, "__array_interface__")
        and not hasattr(x, "__array_struct__")
        and not hasattr(kind, "_to_host")
    )


def keep_elements(made: numpy.ndarray, ours: list[Any]) -> None:
    """In an array of objects, the arrays themselves, not NumPy's views of them."""
    row = made.ravel("K")
    for i, v in enumerate(row):
        if type(v) is Element:
            row[i] = v.given
        elif type(v) is numpy.ndarray:
            for x in reversed(ours):
                if x._h_ is v and type(x) is not ForeignArray:
                    row[i] = x.given if type(x) is ConvertedObject else x
                    break


def unwrap(x: Any) -> Any:
    """`to_host`, where nobody asks which arrays were in it."""
    return to_host(x, [])


def laid_out(array: numpy.ndarray, wholes: dict[int, ndarray] | None = None) -> ndarray:
    """A handle on NumPy's result, whose memory nobody else holds: its layout becomes a view of a contiguous buffer.

    What `ravel`, `reshape` and `copy("K")` give, and so what is written through them, depends on the layout: it has to
    be NumPy's. What NumPy gives as a view of memory that nobody sees (`nonzero`) has a base here too.

    Args:
        array: what NumPy gave.
        wholes: of a call with several results, the handles of memory that they share, by its owner's id.
    """
    if type(array) is not numpy.ndarray:
        array = array.view(numpy.ndarray)
    owner: Any = array
    while isinstance(owner.base, numpy.ndarray):
        owner = owner.base
    locked = owner is array and owner.base is None and not owner.flags.writeable
    if locked:  # the handle is, not the storage: copies share the buffer until they are written
        owner.flags.writeable = True
    order, dense = None, owner
    if not owner.flags.c_contiguous:
        order = axes_in_memory(owner)
        dense = numpy.ndarray.transpose(owner, order)
    if owner.base is not None or not dense.flags.c_contiguous:
        return wrap(array if array.flags.c_contiguous else array.copy())
    whole = (wholes or {}).get(id(owner))
    if whole is None:
        whole = wrap(dense if type(dense) is numpy.ndarray else dense.view(numpy.ndarray))
        if order is not None:
            whole = whole._derived_(TRANSPOSE, inverse_of(order))
        if wholes is not None:
            wholes[id(owner)] = whole
    if owner is array:
        return read_only(whole) if locked else whole
    view = view_to(array, whole._s_.buf) if flag_of_writes(array) else None
    if view is None:
        whole._host_()
        return part_of(whole, array)
    out = new_handle(ndarray)
    out._s_, out._b_, out._h_, out._v_, out._base_ = whole._s_, whole._s_.buf, array, view, whole
    return out


def read_only(x: ndarray) -> ndarray:
    """The same handle, through which nothing can be written."""
    h = x._pin_().view()
    h.flags.writeable = False
    bind(x, x._s_, x._s_.buf, h, HOST_VIEW)
    return x


fresh: Callable[[Any], Any] = laid_out if native is None else native.fresh


def part_of(x: Any, part: numpy.ndarray) -> ndarray:
    """A handle on a view that NumPy made of x's memory."""
    if type(x) is ForeignArray:
        return borrow(part)
    s = x._s_
    with lock:
        before, old = x._h_, s.buf
        now = x._pin_()
        if now is not before and not lies_in(part, s.buf):
            if old is None or not lies_in(part, old):  # another thread's write came between
                old = owner_of_memory(part)
            if old is not part:
                part = rebased(part, old, s.buf)
    out = new_handle(ndarray)
    out._s_, out._b_, out._h_, out._v_, out._base_ = s, s.buf, part, HOST_VIEW, root(x)
    return out


def owner_of_memory(array: numpy.ndarray) -> numpy.ndarray:
    """The array whose memory this one is a view of."""
    while type(array.base) is numpy.ndarray:  # what the pool's memory is a view of is no array of the program's
        array = array.base
    return array


def lies_in(part: numpy.ndarray, whole: numpy.ndarray) -> bool:
    """Whether a view shows an array's memory: by its addresses, since the base of a view that came about through an
    interface (`as_strided`, `from_dlpack`) is an object that says nothing of the array."""
    low, high = byte_bounds(whole)
    first, last = byte_bounds(part)
    return low <= first and last <= high


def rebased(part: numpy.ndarray, old: numpy.ndarray, new: numpy.ndarray) -> numpy.ndarray:
    """The same view of an equal buffer elsewhere."""
    offset = part.__array_interface__["data"][0] - old.__array_interface__["data"][0]
    if part.dtype.hasobject or not 0 <= offset <= new.nbytes:
        return part
    moved: numpy.ndarray = numpy.ndarray(part.shape, part.dtype, new, offset, part.strides)
    moved.flags.writeable = flag_of_writes(part)
    return moved


def shows(part: numpy.ndarray, whole: numpy.ndarray) -> bool:
    """Whether a view is one of an array's memory; by its base, too, since without elements they share none. A view of
    a view has that one's base, unless it is no array (`as_strided` has an object of NumPy's there)."""
    base = part.base
    return base is not None and (base is whole or base is whole.base or numpy.may_share_memory(part, whole))


def owned(value: numpy.ndarray) -> bool:
    """Whether the memory is NumPy's own, not some other object's."""
    base = value.base
    while isinstance(base, numpy.ndarray):
        base = base.base
    return base is None


def wrap_result(value: Any, ours: list[Any], wholes: dict[int, ndarray] | None = None) -> Any:
    """What the user gets for NumPy's result, of any structure; for `wholes` see `laid_out`."""
    kind = type(value)
    if kind is numpy.ndarray:
        if value.base is None:
            for x in ours:
                if x._h_ is value:
                    return x if type(x) is not ForeignArray else borrow(value)
            return fresh(value) if value.flags.owndata else borrow(value)
        for x in ours:
            if x._h_ is value:
                return x if type(x) is not ForeignArray else borrow(value)
            if shows(value, x._h_):
                return part_of(x, value)
        return laid_out(value, wholes) if owned(value) else borrow(value)
    if kind in SCALARS:
        return value
    if kind is tuple or kind is list:
        wholes = {} if wholes is None else wholes
        return kind([wrap_result(v, ours, wholes) for v in value])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        wholes = {} if wholes is None else wholes
        return kind(*[wrap_result(v, ours, wholes) for v in value])
    if isinstance(value, numpy.ndarray):
        if subclasses.is_theirs(value):
            return subclasses.from_numpy(value)
        return wrap_result(value.view(numpy.ndarray), ours, wholes)
    return value


def returned(value: Any) -> Any:
    """What the user gets for NumPy's fresh result of a ufunc."""
    if type(value) is numpy.ndarray:
        return laid_out(value)
    return wrap_result(value, [])


def host_function(
    function: Callable[..., Any], name: str = "", writes: tuple[int | str, ...] = (), counted: bool = True
) -> Callable[..., Any]:
    """A function of NumPy as one on our arrays.

    Args:
        function: NumPy's.
        name: what to call it in the profile.
        writes: positions and names of the arguments that it writes into.
        counted: whether a call on large arrays is a host call; not so for what only looks at shapes and dtypes.
    """
    name = name or getattr(function, "__name__", str(function))
    places = tuple([w for w in writes if type(w) is int])

    def call(*args: Any, **kwargs: Any) -> Any:
        ours: list[Any] = []
        try:
            host = [x if type(x) in PLAIN else to_host(x, ours) for x in args]
            named = {k: v if type(v) in PLAIN else to_host(v, ours) for k, v in kwargs.items()} if kwargs else kwargs
        except TracedArgumentError:
            return on_traced(name, function, args, kwargs)
        if not writes and "out" not in kwargs:
            value = as_line(function, *host, **named)
            is_view = isinstance(value, numpy.ndarray) and owner_of(value, ours) is not None
            if counted and not is_view:
                note_work(name, ours)
            return wrap_result(value, ours)
        if counted:
            out = kwargs.get("out")
            tried = None if out is None else lambda: as_line(function, *host, **{**named, "out": blank_like(out)})
            note_work(name, ours, tried)
        with Writes() as to:
            for i in places:
                if i < len(args):
                    host[i] = to(args[i])
            for w in (*writes, "out"):
                if w in kwargs:
                    named[w] = to(kwargs[w])
            value = as_line(function, *host, **named)
        if "out" in kwargs and kwargs["out"] is not None and type(value) is not tuple:
            return kwargs["out"]
        return wrap_result(value, ours)

    functools.update_wrapper(call, function, updated=())
    vars(call).pop("__wrapped__", None)
    call.__module__ = public_module(getattr(function, "__module__", None))
    call.host, call.counted = function, counted  # type: ignore[attr-defined]
    return call


def public_module(name: Any) -> Any:
    """`numpy.linalg` -> `lazynp.linalg`: where pickle finds the function."""
    if isinstance(name, str) and (name == "numpy" or name.startswith("numpy.")):
        return "lazynp" + name[len("numpy") :]
    return name


def of_type(cls: Any, host: numpy.ndarray, parent: Any, owner: Any = None) -> Any:
    """A new array of a subclass of ours, as NumPy makes views and results of subclasses.

    Args:
        host: NumPy's array with the value.
        parent: what `__array_finalize__` is told of.
        owner: the array whose memory `host` shows; None if nobody has it.
    """
    return of_class(cls, fresh(host) if owner is None else part_of(owner, host), parent, owner)


def of_class(cls: Any, base: ndarray, parent: Any, owner: Any = None) -> Any:
    """A new array of a subclass of ours that has the memory of one of the base class, which is computed: the memory of
    a subclass lies still."""
    lies_still = (details := base._s_.details) is not None and details.pin
    h = base._host_() if lies_still else base._pin_()
    out = new_handle(cls)
    bind(out, base._s_, SUBCLASS, h.view() if owner is not None and h.flags.owndata else h, HOST_VIEW)
    if owner is not None and type(owner) is not ForeignArray:
        set_base(out, root(owner, cls))
    finalize = cls.__array_finalize__
    if finalize is not None and finalize is not ndarray.__array_finalize__:  # type: ignore[attr-defined]
        out.__array_finalize__(parent)
    return out


def as_base(x: Any) -> Any:
    """An array of a subclass as one of the base class, with which the engine computes; anything else as it is."""
    return part_of(x, x._host_()) if isinstance(x, Handle) and type(x) is not ndarray else x


def by_engine() -> bool:
    """Whether the engine computes with values that are at hand, too, and lie still: where it has to. Nothing is won by
    waiting, and one pass over memory is NumPy's at once, as it is elsewhere (`layout.settled`)."""
    return config.limit < 0 or config.strict


def is_wide(x: Any) -> bool:
    """Whether x is of a subclass, and what it takes part in is the engine's to compute."""
    return by_engine() and isinstance(x, Handle) and type(x) is not ndarray and x._h_.size > max(config.limit, 1)


def bare(x: Any) -> Any:
    """A large array of a subclass as one of the base class, where the engine is to compute with it; else as it is."""
    return as_base(x) if is_wide(x) else x


def owner_of(value: numpy.ndarray, ours: list[Any]) -> Any:
    """The array of ours whose memory a NumPy array shows, if any."""
    for x in ours:
        if x._h_ is value or shows(value, x._h_):
            return x
    return None


def like(self: Any, value: Any, ours: list[Any]) -> Any:
    """What a method of self returns for NumPy's result: of self's type where it is an array."""
    if type(self) is ndarray or not isinstance(value, numpy.ndarray):
        return wrap_result(value, ours)
    if value is self._h_:
        return self
    return of_type(type(self), value.view(numpy.ndarray), self, owner_of(value, ours))


def returned_of(value: Any, given: list[Any]) -> Any:
    """`wrap_result`, for the C module: `given` are the arrays that NumPy was given, ours and NumPy's own."""
    return wrap_result(value, [x if isinstance(x, Handle) else ForeignArray(x) for x in given])


tell(returned_of=returned_of)
