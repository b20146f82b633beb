"""`ndarray`: a handle on a storage and a view of it.

What is here is the handle itself: its value and its metadata. Indexing is in `indexing`, operators in `operators`, the
method list in `methods`: they attach themselves with `method`. A handle whose cached NumPy view is current (`_b_ is
_s_.buf`) works on it directly where that is cheaper.
"""

from __future__ import annotations

import abc
import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from ..away import on_host
from ..config import config
from ..graph import errors
from ..graph.errors import NotConcreteError
from ..graph.node import ABSTRACT, BORROWED, Node, leaf
from ..runtime.recorder import recorder
from ..runtime.storage import SEEN, Storage, StorageDetails, lock
from ..runtime.views import INDEX, PART, RESHAPE, TRANSPOSE, View, derive, layout, part_of_view
from ..speed import CREATES, FunctionBase, HandleBase, attach, in_messages, native, tell
from .index import normalize

new_handle = object.__new__
HOST_VIEW = View((), (), ())  # the view of a pinned storage that only NumPy can express: the handle's own `_h_`
NATIVE = frozenset("?bBhHiIlLqQefdgFDG")
SLOTTED = frozenset({"__getitem__", "__setitem__", "__len__"})  # what the C module falls back on


def is_native(dtype: numpy.dtype[Any]) -> bool:
    """Whether the engine computes with this dtype; others are NumPy's."""
    if dtype.char in NATIVE:
        return dtype.isnative
    # NumPy puts `name` together in Python: it is not asked of texts, objects, dates and structures
    return dtype.kind not in "OSUTMm" and dtype.names is None and dtype.name == "bfloat16"


OF_NUMPY = 24  # dtypes of NumPy's own have lower numbers, but for texts of any length, whose arrays share memory; new
# dtypes of others have -1


def is_moved(dtype: numpy.dtype[Any]) -> bool:
    """Whether the engine copies, joins and writes elements of this dtype, which it may not compute with: objects,
    texts, dates, structures, numbers in the other byte order."""
    return is_native(dtype) or 0 <= dtype.num < OF_NUMPY and not says_more(dtype)


def says_more(dtype: numpy.dtype[Any]) -> bool:
    """Whether a dtype, or one in it, has what equal ones may not have: metadata, or the flag of aligned structures."""
    if dtype.metadata is not None or dtype.isalignedstruct:
        return True
    inner = [field[0] for field in dtype.fields.values()] if dtype.fields else [dtype.base] * (dtype.base is not dtype)
    return any(map(says_more, inner))


added: dict[tuple[str, str], dict[str, Any]] = {}
"""By module and name of a class that derives from `ndarray`: what it has besides its body; filled by `subclasses`."""


class Creator(FunctionBase):
    """The `__new__` of a class of ours that NumPy has too: what it makes of NumPy's masked array, it makes of ours.

    No method: a class calls its `__new__` with itself as the first argument.
    """

    def __init__(self, make: Callable[..., Any]) -> None:
        functools.update_wrapper(self, make)
        self._implementation, self.flags = make, CREATES

    def _call(self, cls: type, *args: Any, **kwargs: Any) -> Any:
        if any([isinstance(x, numpy.ndarray) for x in args]):
            args = tuple(map(as_ours, args))
        return self._implementation(cls, *args, **kwargs)


tell(creator=Creator)


class ArrayType(abc.ABCMeta):
    """The type of `ndarray`: NumPy's arrays, which installed libraries return, count as instances of it too. What has
    to be a handle is asked of `Handle`. An ABC, so that a class may derive from `ndarray` and from an ABC."""

    package = "lazynp"
    """What its classes print as their package, `numpy` in a program that runs with lazynp for NumPy."""

    def __repr__(cls) -> str:
        module, dot, rest = cls.__module__.partition(".")
        return f"<class '{ArrayType.package if module == 'lazynp' else module}{dot}{rest}.{cls.__qualname__}'>"

    def __new__(meta, name: str, bases: Any, namespace: dict[str, Any], **kwargs: Any) -> Any:
        module, make = namespace.get("__module__"), namespace.get("__new__")
        if module is None:  # Python takes that of the frame that makes the class, which would be this one
            module = sys._getframe(1).f_globals.get("__name__", "")
            namespace = {**namespace, "__module__": module}
        more = added.get((module, name), {})
        if make is not None and module.startswith("lazynp."):
            more = {**more, "__new__": Creator(make)}
        return super().__new__(meta, name, bases, {**namespace, **more}, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        if not isinstance(instance, numpy.ndarray):
            return False
        return cls is ndarray or issubclass(class_of(type(instance)) or ndarray, cls)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return type.__subclasscheck__(cls, subclass)


def resolved(step: tuple[Any, Any, Any, Any], shape: tuple[int, ...]) -> View | None:
    """The view that a step says, (parent, its array, kind, parameter), where the parent may be a step itself."""
    parent, h, kind, param = step
    if type(parent) is tuple:
        parent = resolved(parent, shape)
    if kind == PART:
        return part_of_view(parent, shape, h, param)
    if kind == INDEX:
        param = normalize(param, h.shape)
    elif kind == TRANSPOSE:
        param = tuple(range(h.ndim - 1, -1, -1))
    return derive(parent, shape, kind, param)


if native is not None:  # many a call of NumPy's Python code asks this
    tell(instance=ArrayType.__instancecheck__)
    ArrayType.__instancecheck__ = native.instance_check  # type: ignore[method-assign]
    ArrayType.__subclasscheck__ = native.subclass_check  # type: ignore[method-assign]


class ndarray(HandleBase, metaclass=ArrayType):
    """An array of fixed-size elements; NumPy's `ndarray` in all that can be seen, evaluated when its value is
    needed."""

    # `_v_` is None (the whole storage), a View, or a step not looked at yet: (parent view, its array, kind, parameter).
    # `_base_` is what `base` shows of a view; None, or not there, in an array that owns its memory.
    __slots__ = ()
    _s_: Storage

    if TYPE_CHECKING:  # the methods that other modules attach

        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, key: Any) -> Any: ...
        def __setitem__(self, key: Any, value: Any) -> None: ...

    # --- the value ----------------------------------------------------------------------------------------------------

    def _host_(self) -> numpy.ndarray:
        """A NumPy view of the value, to read at once and not to keep: computes what is pending."""
        s = self._s_
        buf = s.buf
        if self._b_ is buf:
            return self._h_
        if buf is None:
            buf = demand(s)  # of a traced value it is not the storage's: no shortcut takes it for an ordinary one
        view = self._v_
        if type(view) is tuple:
            view = self._view_()
        h = buf if view is None else view.of_buffer(buf)
        with lock:  # which keeps the two together: threads may share the handle
            if self._b_ is not buf:
                self._h_ = h
                self._b_ = buf
        return h

    def _writable_(self) -> numpy.ndarray:
        """A NumPy view of the value, to write into at once: nobody else reads the buffer when this returns. Under the
        lock, which may be let go of only where the storage is noted as busy: see `Writes`."""
        s = self._s_
        h = self._host_()
        if s.free:
            return h
        if s.buf is None:
            raise traced_write(self)
        if s.details is not None and s.details.pin:
            recorder.flush()
            s.node, s.reads, s.free = None, None, True
            return h
        if not s.release():
            s.buf, s.node, s.reads, s.free = s.buf.copy(), None, None, True
            return self._host_()
        return h

    def _pin_(self, shared: bool = False, lent: bool = False) -> numpy.ndarray:
        """Fix the buffer in its place, since NumPy, or (shared) somebody outside, gets a view of it; `lent`: until that
        is given back, which the caller counts."""
        with lock:
            h = self._writable_()
            s = self._s_
            if s.details is None:
                s.details = StorageDetails()
                s.details.lent = 0 if lent else None
            elif not lent:
                s.details.lent = None
            s.details.pin = True
            s.details.shared |= shared
            return h

    def _view_(self) -> View | None:
        view = self._v_
        if type(view) is tuple:
            view = self._v_ = resolved(view, self._s_.shape)
        return view

    def _node_(self) -> Node:
        """The node of the value as it is now."""
        s = self._s_
        view = self._v_
        if s.details is not None and s.details.mask is not None:
            demand(s)
        if view is None:
            return s.graph()
        if view is HOST_VIEW:
            with lock:
                copied = s.details is not None and s.details.shared or not s.close()
                node = leaf(self._h_.shape, self._h_.dtype, self._h_.copy() if copied else self._h_)
            node.index = BORROWED
            return node
        if type(view) is tuple:
            view = self._view_()
            if view is None:
                return s.graph()
        whole = s.graph()
        reads = s.reads
        if reads is not None and reads[None] is whole:
            known = reads.get(view)
            if known is not None and known.index >= recorder.first:
                return known
        node = view.read(whole)
        if s.node is whole:  # others may have written meanwhile: what was read before is not to be found again
            if reads is not None and reads[None] is whole:
                reads[view] = node
            else:
                s.reads = {None: whole, view: node}
        return node

    def _meta_(self) -> numpy.ndarray:
        """A NumPy array with the right shape, dtype, strides and flags; its memory must not be touched."""
        s = self._s_
        if self._b_ is s.buf:
            return self._h_
        if s.details is not None and s.details.mask is not None:
            return self._host_()
        if s.buf is not None and not s.buf.flags.c_contiguous:
            return self._host_()
        return layout(s.shape, self._view_(), s.dtype)

    def _derived_(self, kind: str, param: Any) -> ndarray:
        """The handle of a view of this one."""
        s = self._s_
        out = new_handle(ndarray)
        out._s_, out._b_, out._h_ = s, False, None
        out._v_ = derive(self._view_(), s.shape, kind, param)
        return out

    # --- metadata -----------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        s = self._s_
        if self._b_ is s.buf:
            return self._h_.shape
        if s.details is not None and s.details.mask is not None:
            return self._host_().shape
        view = self._v_ if type(self._v_) is not tuple else self._view_()
        return s.shape if view is None else view.shape

    @property
    def dtype(self) -> numpy.dtype[Any]:
        return self._h_.dtype if self._v_ is HOST_VIEW else self._s_.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        n = 1
        for d in self.shape:
            n *= d
        return n


if TYPE_CHECKING:
    Handle = ndarray
else:
    Handle = HandleBase
settle_selection: Any = None  # supplied by `masked`, which needs handles
class_of: Any = None  # supplied by `subclasses`: our class for a subclass of NumPy's
as_ours: Any = None  # and an array of such a class as ours


class Writes:
    """`with Writes() as to: f(to(x))`: x's memory, for NumPy to write into. It stays where it is until the end of the
    block; other threads may write into it too, as NumPy lets them."""

    __slots__ = ("storages",)

    def __init__(self) -> None:
        self.storages: list[Storage] = []

    def __enter__(self) -> Writes:
        return self

    def __exit__(self, *error: object) -> None:
        if self.storages:
            with lock:
                for s in self.storages:
                    s.busy -= 1

    def __call__(self, x: Any) -> Any:
        """What NumPy gets for an argument that it writes into; anything but our arrays as it is."""
        if isinstance(x, Handle):
            with lock:
                h = x._writable_()
                x._s_.busy += 1
                self.storages.append(x._s_)
            return h
        return tuple([self(v) for v in x]) if type(x) is tuple else x


def root(x: Any, cls: Any = ndarray) -> Any:
    """What a view of x, of class `cls`, has for its `base`: the owner of the memory, past views of that class."""
    while True:
        base = getattr(x, "_base_", None)
        if base is None or type(base) is not cls:
            return x
        x = base


def method(function: Any) -> Any:
    """Make a function a method of `ndarray`, under its name."""
    name = function.__name__
    attach(ndarray, name, function, "other" if name in SLOTTED else "", name.strip("_"))
    return function


@method
def __len__(self: ndarray) -> int:
    shape = self.shape
    if not shape:
        raise TypeError("len() of unsized object")
    return shape[0]


def follow_limits(name: str, value: Any) -> None:
    """With the settings, tell the C module how large the arrays are that NumPy is given at once."""
    chosen = config.strict or config.deterministic or config.device != "cpu" or config.limit < 0
    native.set_limit(config.limit, config.limit if chosen else sys.maxsize)


if native is not None:
    follow_limits("", None)
    config.watch(follow_limits)


def pin(s: Storage) -> None:
    """Fix the buffer of a storage in its place, as `ndarray._pin_` does: one that is free."""
    with lock:
        if s.details is None:
            s.details = StorageDetails()
        s.details.pin, s.details.lent = True, None


KINDS = {"index": INDEX, "transpose": TRANSPOSE, "reshape": RESHAPE, "part": PART}
tell(
    ndarray=ndarray,
    storage=Storage,
    details=StorageDetails,
    host_view=HOST_VIEW,
    pinned=pin,
    no_value=type(numpy._NoValue),
    **KINDS,
)
in_messages(ndarray, "numpy.ndarray")


def demand(storage: Storage) -> Any:
    """Compute a pending storage; its buffer. One step for other threads, which may write to it meanwhile."""
    with recorder.lock:
        if storage.buf is not None:
            return storage.buf
        if storage.details is not None and storage.details.mask is not None:
            settle_selection(storage)
            return storage.buf
        node = storage.node
        assert node is not None
        if node.buffer is None:
            if node.trace == ABSTRACT:
                raise no_value(node)
            recorder.demand(node)
        buf = on_host(node.buffer)
        if not node.trace:
            if node.index != BORROWED:
                node.index = SEEN
            storage.buf = buf
        return buf


def is_traced(x: Any) -> bool:
    """Whether x is an array whose value a transformation follows: NumPy must not compute with it."""
    if type(x) is not ndarray or x._s_.buf is not None:
        return False
    node = x._s_.node
    return node is not None and node.trace > 0 and not outlived(node)


def outlived(node: Node) -> bool:
    """Whether a node was traced, and no transformation needs it any more; supplied where they are loaded."""
    return False


def no_value(node: Node) -> Exception:
    """The error for a traced array whose value is asked for; a better one, where the transformations are loaded."""
    return errors.no_value(node)


def traced_write(x: ndarray) -> Exception:
    """The error for a write that only NumPy can do."""
    return NotConcreteError(f"{x._s_.node} is traced, and NumPy cannot write into it: a[key] = value can")


def flag_of_writes(array: Any) -> bool:
    """`array.flags.writeable` without NumPy's warning of arrays that `broadcast_arrays` gave, which is for users."""
    return bool(array.flags._writeable_no_warn)


def writeable(x: ndarray) -> bool:
    """Whether x may be written to. A value that is pending is nobody's but the storage's; one that is there may be
    memory that NumPy gave read only, which a fresh view of it cannot tell by its own flags."""
    s = x._s_
    if x._b_ is s.buf:
        return flag_of_writes(x._h_)
    return s.buf is None or s.buf.flags.writeable


def known(x: ndarray) -> bool:
    """Whether x's value is there; the handle's own view of it is then current."""
    s = x._s_
    if x._b_ is s.buf:
        return True
    if s.buf is None:
        node = s.node
        if node is None or type(node.buffer) is not numpy.ndarray:  # pending, or on a device, where work on it goes on
            return False
        if node.trace or s.details is not None and s.details.mask is not None:
            return False
    x._host_()
    return True


def wrap(array: numpy.ndarray) -> ndarray:
    """A handle on a fresh NumPy array that nobody else has."""
    s = new_handle(Storage)
    s.buf, s.free, s.busy, s.node, s.reads, s.details = array, True, 0, None, None, None
    out = new_handle(ndarray)
    out._s_ = s
    out._b_ = out._h_ = array
    out._v_ = None
    return out


if native is not None:
    wrap = native.wrap


def borrow(array: numpy.ndarray) -> ndarray:
    """A handle on memory that somebody outside has too: pinned and shared."""
    out = wrap(array)
    out._s_.details = StorageDetails(pin=True, shared=True)
    out._v_ = HOST_VIEW
    return out


def nothing_passes() -> None:
    """Without the C module it is not known whether an argument dies with the call."""


passing = nothing_passes if native is None else native.passing


def of_node(node: Node) -> Any:
    """A handle on a pending node; the NumPy scalar where it has no axes."""
    if node.shape == ():
        if not node.trace:
            x = passing()
            recorder.demand(node, None if x is None else x._s_.node)
            return on_host(node.buffer)[()]
        return of_scalar(node)
    s = new_handle(Storage)
    s.details, s.busy = None, 0
    s.hold(node)
    out = new_handle(ndarray)
    out._s_, out._b_, out._h_, out._v_ = s, False, None, None
    recorder.settle()
    return out


def of_scalar(node: Node) -> ndarray:
    """A handle on a node without axes that stands for a NumPy scalar: it is never written to."""
    s = new_handle(Storage)
    s.details, s.busy = StorageDetails(scalar=True), 0
    s.hold(node)
    out = new_handle(ndarray)
    out._s_, out._b_, out._h_, out._v_ = s, False, None, None
    recorder.settle()
    return out
