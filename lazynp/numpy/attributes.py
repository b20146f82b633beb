"""The attributes of `ndarray`, what Python asks of it (conversion, iteration, printing, pickling), and how it is
handed out.

What hands out memory (`__array__`, `data`, `ctypes`, DLPack, the buffer protocol) makes the storage escape: it is
pinned and shared from then on.
"""

from __future__ import annotations

import _abc
import contextlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from ..config import config
from ..graph.node import ABSTRACT
from ..runtime.processes import processes
from ..runtime.views import TRANSPOSE, derive
from ..speed import attach as attach_slot
from ..speed import attribute, native, tell
from ..speed import method as whole_method
from ..tracebacks import boundary
from . import renew, subclasses
from .array import HOST_VIEW, Writes, borrow, is_native, is_traced, ndarray, new_handle, root
from .casts import real_of
from .host import SCALARS, SUBCLASS, at_hand, bind, fresh, like, note_work, of_type, on_traced, part_of, unwrap
from .layout import settled
from .recorded_ufuncs import write_part
from .supported import VERSION
from .view_methods import derived, own, reshape


def get_shape(self: Any) -> tuple[int, ...]:
    s = self._s_
    if self._b_ is s.buf:
        return self._h_.shape
    if self._v_ is HOST_VIEW or s.details is not None and s.details.mask is not None:
        return self._host_().shape
    view = self._v_ if type(self._v_) is not tuple else self._view_()
    return s.shape if view is None else view.shape


def set_shape(self: Any, shape: Any) -> None:
    if own(self) and self.size:
        with contextlib.suppress(ValueError):  # NumPy has another error here
            out = reshape(self, unwrap(shape), copy=False)
            if out._v_ is not HOST_VIEW:
                self._v_, self._b_, self._h_ = out._v_, False, None
                return
    view = self._pin_().view()
    renew.change(view, "shape", unwrap(shape))
    renew.become(self, view)


def get_strides(self: Any) -> tuple[int, ...]:
    return self._meta_().strides if self._v_ is not HOST_VIEW else self._h_.strides


def get_dtype(self: Any) -> numpy.dtype[Any]:
    return self._h_.dtype if self._v_ is HOST_VIEW else self._s_.dtype


BACKWARDS = [tuple(range(n - 1, -1, -1)) for n in range(65)]


def get_t(self: Any) -> Any:
    if native is not None:
        out = native.transpose(self)
        if out is not None:
            return out
    s = self._s_
    buffer = s.buf
    if self._b_ is buffer and self._v_ is not HOST_VIEW:  # at hand: the view of NumPy's view
        h = self._h_
        out = new_handle(ndarray)
        out._s_, out._b_, out._h_ = s, buffer, h.T
        out._v_ = derive(self._view_(), buffer.shape, TRANSPOSE, BACKWARDS[h.ndim])
        out._base_ = root(self)
        return out
    if own(self):
        return derived(self, TRANSPOSE, tuple(range(self.ndim - 1, -1, -1)))
    return ndarray.transpose(self)  # type: ignore[attr-defined]


def get_mt(self: Any) -> Any:
    ndim = self.ndim
    if ndim < 2:
        raise ValueError("matrix transpose with ndim < 2 is undefined")
    if own(self):
        return derived(self, TRANSPOSE, (*range(ndim - 2), ndim - 1, ndim - 2))
    return ndarray.swapaxes(self, -1, -2)  # type: ignore[attr-defined]


def get_real(self: Any) -> Any:
    if self.dtype.kind not in "cO":
        return self
    if is_traced(self):
        return on_traced("real", numpy.real, (self,), {})
    value = self._host_().real
    return like(self, value, [self]) if self.dtype.kind == "O" else viewed(self, value)


def viewed(self: Any, value: numpy.ndarray) -> Any:
    return part_of(self, value) if type(self) is ndarray else of_type(type(self), value, self, self)


def as_part(part: numpy.ndarray, value: Any) -> Any:
    """What is written into a real or imaginary part. Since NumPy 2.5 elements are assigned one by one, which Python's
    complex numbers cannot be; before that an array was made of them."""
    given = unwrap(value)
    if VERSION >= (2, 5) and type(given) in (complex, list, tuple):
        made = numpy.empty(numpy.shape(given), part.dtype)
        made[...] = given
        return made
    return real_of(numpy.asarray(given), part.dtype)


def set_real(self: Any, value: Any) -> None:
    if is_traced(self) or is_traced(value):
        (on_traced("real", numpy.real, (self,), {}) if self.dtype.kind == "c" else self)[...] = value
        return
    if write_part(self, "real", value):
        return
    self._host_()
    note_work("ndarray.real", (self,))
    with Writes() as to:
        h = to(self)
        h.real = as_part(h.real, value)


def get_imag(self: Any) -> Any:
    if is_traced(self):
        return on_traced("imag", numpy.imag, (self,), {})
    if self.dtype.kind == "c":
        return viewed(self, self._host_().imag)
    return like(self, self._host_().imag, [])


def set_imag(self: Any, value: Any) -> None:
    if is_traced(self) or is_traced(value):
        on_traced("imag", numpy.imag, (self,), {})[...] = value
        return
    if write_part(self, "imag", value):
        return
    self._host_()
    note_work("ndarray.imag", (self,))
    with Writes() as to:
        h = to(self)
        h.imag = as_part(h.imag, value) if h.dtype.kind == "c" else unwrap(value)


def get_base(self: Any) -> Any:
    """The object the memory is from; None for an array that owns it."""
    base = getattr(self, "_base_", None)
    if base is None and self._v_ is HOST_VIEW and self._h_ is self._s_.buf:
        return self._h_.base  # borrowed
    return base


def get_data(self: Any) -> memoryview:
    return self._pin_(shared=True).data


def set_data(self: Any, value: Any) -> None:
    self._pin_().data = value


def array_interface(self: Any) -> Any:
    """The array interface; absent for NumPy where it does not say all, so that NumPy asks `__array__` instead."""
    refused = asked_for_array(self, "__array_interface__")
    if native is not None:
        native.forget_refused()  # NumPy asks for this one last
    if refused:
        raise AttributeError("__array_interface__")
    return self._pin_(shared=True).__array_interface__


class Swallowed:
    """What computing an array for the buffer protocol has raised last: NumPy drops that, be it Ctrl-C, and goes on to
    `__array_struct__`."""

    error: BaseException | None = None


def array_struct(self: Any) -> Any:
    """The same for C, which knows no units of dates. Without a buffer NumPy would take an item's bytes for its
    characters."""
    unnamed = self.dtype.kind in "mM" or native is None and self.dtype.kind not in "biufc"
    if asked_for_array(self, "__array_struct__") or unnamed:
        raise AttributeError("__array_struct__")
    error, Swallowed.error = Swallowed.error, None
    if error is not None:
        raise error
    return self._pin_(shared=True).__array_struct__


USER_DTYPES = 256


def only_array_tells(self: Any) -> bool:
    """Whether NumPy has to ask `__array__` for an array like this one: of a subclass that NumPy has too, or one of
    which a buffer does not say it all."""
    if type(self) is not ndarray:
        return subclasses.theirs(type(self)) is not None
    return self._b_ is self._s_.buf and not buffer_says_all(self._h_)


def buffer_says_all(h: numpy.ndarray) -> bool:
    """Not of memory that warns when it is written to (`broadcast_arrays`), whose buffer is read-only, nor of an array
    whose strides are made anew, as they are where there are no elements, nor of records and raw bytes, whose names,
    padding and titles get lost, nor of a dtype's metadata, nor of dtypes that no protocol names. `_speed.c` has the
    same."""
    if h.nbytes == 0 or h.flags.num & WARNS_ON_WRITE or h.dtype.kind in "VT" or h.dtype.metadata is not None:
        return False
    if h.dtype.num >= USER_DTYPES:
        return False
    return not h.flags.forc or keeps_strides(h)


def keeps_strides(h: numpy.ndarray) -> bool:
    """Whether a buffer of a contiguous array has its strides: those of axes of one element may be others there."""
    step, order = h.itemsize, -1 if h.flags.c_contiguous else 1
    for n, stride in zip(h.shape[::order], h.strides[::order]):
        if stride != step:
            return False
        step *= n
    return True


WARNS_ON_WRITE = 1 << 31  # among the flags of NumPy's arrays, which has no name for it


def asked_for_array(self: Any, *names: str) -> bool:
    """Whether NumPy asks, for an array of its own, and is to be given one that only `__array__` can give. Without the C
    module it is taken to be NumPy where the code that is running names no such attribute."""
    if not only_array_tells(self):
        return False
    if native is not None:
        return native.refused_to_numpy(self)
    code = subclasses.asking_frame(3).f_code
    return not {*code.co_names, *filter(names.__contains__, code.co_consts)}.intersection(names)


def refuse_device(self: Any, value: Any) -> None:
    raise AttributeError("attribute 'device' of 'ndarray' objects is not writable")


def get_ctypes(self: Any) -> Any:
    """Its pointers keep this handle alive."""
    return numpy._core._internal._ctypes(self, self._pin_(shared=True).ctypes.data)


PROPERTIES: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], None] | None]] = {
    "shape": (get_shape, renew.deprecated("shape", set_shape)),
    "strides": (get_strides, renew.deprecated("strides", renew.set_strides)),
    "dtype": (get_dtype, renew.deprecated("dtype", renew.set_dtype)),
    "T": (get_t, None),
    "mT": (get_mt, None),
    "real": (get_real, set_real),
    "imag": (get_imag, set_imag),
    "base": (get_base, None),
    "data": (get_data, set_data),
    "nbytes": (lambda self: self.size * self.dtype.itemsize, None),
    "itemsize": (lambda self: self.dtype.itemsize, None),
    "device": (lambda self: "cpu", refuse_device),
    "ctypes": (get_ctypes, None),
    "__array_interface__": (array_interface, None),
    "__array_struct__": (array_struct, None),
}


# --- what Python asks ---


def array(self: Any, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
    """`__array__`: a NumPy array that shares memory, where it can; a copy of the value of a traced one. A subclass of
    NumPy's own, a masked array say, gives NumPy's class of that name; but not to code that calls `x.__array__()`, to
    which it gives the plain array, as NumPy does (matrices' `A` is that)."""
    if is_traced(self):
        return numpy.array(value_for("__array__", self), dtype=dtype)
    if type(self) is not ndarray and "__array__" not in sys._getframe(1).f_code.co_names:
        value = subclasses.to_numpy(self)
        same = dtype is None or numpy.dtype(dtype) == value.dtype
        return value if same and not copy else numpy.array(value, dtype=dtype, copy=copy, subok=True)
    if copy or dtype is not None and numpy.dtype(dtype) != self.dtype:
        return numpy.array(self._host_(), dtype=dtype, copy=copy)
    return self._pin_(shared=True)


FEW_ITEMS = 8  # which may be taken apart without the whole being needed


def iterate(self: Any) -> Iterator[Any]:
    shape = self.shape
    if not shape:
        raise TypeError("iteration over a 0-d array")
    here = config.limit >= 0 and config.device == "cpu" and processes.run is None
    if here and shape[0] > FEW_ITEMS and not is_traced(self):
        self._host_()  # else each item would be recorded by itself
    return native.iterator(self) if native is not None else iter(Items(self))


class Items:
    """An array's items by their number, without the C module: Python's own iterator of sequences, which NumPy's arrays
    have too, knows its length and can be copied, and is given to what has no `__iter__`."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, i: int) -> Any:
        return self.array[i]


def contains(self: Any, value: Any) -> bool:
    plain = type(self) is ndarray and (type(value) in SCALARS or type(value) is ndarray)
    if plain and is_native(self.dtype) and not at_hand(self) and not settled(self):
        return bool((self == value).any())
    h = self._host_()
    note_work("ndarray.__contains__", (self,))
    return unwrap(value) in h


def asked(name: str) -> Callable[[Any], Any]:
    """What Python asks of the value: NumPy's own answer."""
    host = getattr(numpy.ndarray, name)
    return lambda self, *args: host(self._host_() if self._s_.buf is not None else value_for(name, self), *args)


def formatted(self: Any, spec: str) -> str:
    """`format(a)`: of what has no axes the number, else `str`."""
    return object.__format__(self, spec) if self.shape else NUMBER_FORMAT(self, spec)


NUMBER_FORMAT: Any = asked("__format__")
WITHOUT_VALUE: dict[str, Callable[[Any], numpy.ndarray]] = {}
"""By method, what answers for the node of a traced array that has no value, or raises an error; filled where the
transformations are loaded."""


def value_for(name: str, self: Any) -> numpy.ndarray:
    """The value, for a method that hands it out."""
    if is_traced(self) and self._node_().trace == ABSTRACT and name in WITHOUT_VALUE:
        return WITHOUT_VALUE[name](self._node_())
    return self._host_()


def represented(name: str) -> Callable[[Any], str]:
    host = getattr(numpy.ndarray, name)
    ours = {"__repr__": "_default_array_repr", "__str__": "_default_array_str"}[name]

    @boundary
    def show(self: Any) -> str:
        if type(self) is ndarray:
            if is_traced(self) and self._node_().trace == ABSTRACT:
                return f"Traced<{self._node_().aval}>"
            return host(self._host_())
        return getattr(sys.modules["lazynp._core.arrayprint"], ours)(self)

    return show


def pickled(self: Any, protocol: int = 4) -> Any:
    cls, state = type(self), self._host_().__reduce__()[2]
    return reconstruct, (cls, (0,), b"b"), state


def pickled_with(self: Any, protocol: Any) -> Any:
    """`__reduce_ex__`: from protocol 5 on, whoever pickles may be handed the memory itself."""
    if type(self) is not ndarray or protocol < 5 or is_traced(self):
        return self.__reduce__()
    return restored, (self._pin_(shared=True),)


def restored(host: numpy.ndarray) -> Any:
    """An array from its pickled value: borrowed where it came by a buffer of somebody's."""
    base: Any = host.base
    while isinstance(base, numpy.ndarray):
        base = base.base
    if isinstance(base, memoryview) and not isinstance(base.obj, (bytes, bytearray)):
        return borrow(host)
    return whole_of(host)


def whole_of(host: numpy.ndarray) -> Any:
    """A handle on memory that came out of a pickle, in its order."""
    return fresh(host.T).T if host.flags.f_contiguous and not host.flags.c_contiguous else fresh(host)


def reconstruct(cls: Any, shape: Any, dtype: Any) -> Any:
    """An empty array of a (sub)class, to be given its state."""
    return ndarray.__new__(cls, shape, dtype)  # type: ignore[call-arg]


reconstruct.__name__ = reconstruct.__qualname__ = "_reconstruct"  # where pickle finds it
reconstruct.__module__ = "lazynp._core.multiarray"


def set_state(self: Any, state: Any) -> None:
    host = numpy.ndarray((0,), "b")
    host.__setstate__(tuple(state))
    whole = whole_of(host)
    if type(self) is ndarray:
        bind(self, whole._s_, whole._b_, whole._h_, whole._v_)
    else:
        h = whole._pin_()
        bind(self, whole._s_, SUBCLASS, h, HOST_VIEW)


def deep_copy(self: Any, memo: Any) -> Any:
    if self.dtype.hasobject:
        return like(self, self._host_().__deepcopy__(memo), [])
    return ndarray.copy(self, "K")  # type: ignore[attr-defined]


class Lent:
    """An array's memory for a capsule, which holds the array."""

    def __init__(self, array: Any, host: numpy.ndarray) -> None:
        self.array, self.__array_interface__ = array, host.__array_interface__


def dlpack(self: Any, **kwargs: Any) -> Any:
    host = self._pin_(shared=True)
    lent = numpy.asarray(Lent(self, host)) if host.dtype.isnative and host.dtype.kind in "biufc" else host
    return lent.__dlpack__(**kwargs)


def dlpack_device(self: Any) -> Any:
    return numpy.empty(1).__dlpack_device__()


def namespace(self: Any, *, api_version: Any = None) -> Any:
    numpy.empty(0).__array_namespace__(api_version=api_version)
    return sys.modules["lazynp"]


def to_device(self: Any, device: Any, /, *, stream: Any = None) -> Any:
    self._meta_().to_device(device, stream=stream)
    return self


def exported(self: Any, to_numpy: bool = False) -> numpy.ndarray:
    """NumPy's array whose buffer the buffer protocol shows; not `to_numpy` where that has to ask for `__array__`. The C
    module is told when a buffer is given back; without it, arrays stay pinned."""
    Swallowed.error = None
    try:
        array: numpy.ndarray = self._pin_(shared=True, lent=native is not None)
    except BaseException as error:  # the C module keeps what is raised before this function has begun
        Swallowed.error = error
        raise
    if to_numpy and only_array_tells(self):
        raise BufferError("the buffer does not say all of the array")
    return array


def buffer(self: Any, flags: int, /) -> memoryview:
    """The buffer protocol, without the C module (Python 3.12 on)."""
    array: Any = exported(self)
    if asked_for_array(self, "memoryview", "bytes", "bytearray", "__buffer__"):
        raise BufferError("the buffer does not say all of the array")
    wanted = CONTIGUOUS.get(flags & ANY_ORDER, "C-contiguous" if flags & STRIDES != STRIDES else "")
    if wanted and not any([array.flags[order] for order in ORDERS[wanted]]):
        raise ValueError(f"ndarray is not {wanted}")
    return memoryview(array)


# Flags of the buffer protocol (PEP 688): what whoever asks cannot do without, in NumPy's words.
STRIDES, ANY_ORDER = 0x18, 0xF8
CONTIGUOUS = {0x38: "C-contiguous", 0x58: "Fortran contiguous", 0x98: "contiguous"}
ORDERS = {"C-contiguous": "C", "Fortran contiguous": "F", "contiguous": "CF"}


def subclass_host(self: Any) -> numpy.ndarray:
    """A subclass's handle always shows NumPy's view of a pinned storage."""
    return self._h_


def init_subclass(cls: Any, **kwargs: Any) -> None:
    super(ndarray, cls).__init_subclass__(**kwargs)
    cls._host_ = cls._meta_ = subclass_host


def delete_item(self: Any, key: Any) -> None:
    del self._host_()[unwrap(key)]


def generic_alias(cls: Any, given: Any, /) -> Any:
    """`ndarray[shape, dtype]`, for annotations."""
    count = len(given) if type(given) is tuple else 1
    if not 0 < count <= 2:
        raise TypeError(f"Too {'many' if count > 2 else 'few'} arguments for {cls.__name__}")
    return types.GenericAlias(cls, given)


SPECIAL: dict[str, Any] = {
    "__array__": array,
    "__iter__": iterate,
    "__contains__": contains,
    "__reduce__": pickled,
    "__reduce_ex__": pickled_with,
    "__setstate__": set_state,
    "__sizeof__": lambda self: self._host_().__sizeof__(),
    "__copy__": lambda self: ndarray.copy(self, "K"),  # type: ignore[attr-defined]  # not a subclass's own `copy`
    "__deepcopy__": deep_copy,
    "__dlpack__": dlpack,
    "__dlpack_device__": dlpack_device,
    "__array_namespace__": namespace,
    "to_device": to_device,
    "_set_shape": set_shape,
    "_set_dtype": renew.set_dtype,
    "__class_getitem__": classmethod(generic_alias),
    "__init_subclass__": classmethod(init_subclass),
    "__complex__": asked("__complex__"),
    "__format__": formatted,
    "__repr__": represented("__repr__"),
    "__str__": represented("__str__"),
}
if native is not None:
    tell(exported=exported, swallowed=Swallowed)
elif sys.version_info >= (3, 12):
    SPECIAL["__buffer__"] = buffer
else:  # no class of Python's has a buffer: at least `bytes(x)` is not to take the elements for bytes
    SPECIAL["__bytes__"] = lambda self: self.tobytes()


SEQUENCE = 1 << 5  # Py_TPFLAGS_SEQUENCE: `match` takes it for a sequence, as NumPy's arrays are from 2.5 on


def removed(name: str) -> Callable[[Any], Any]:
    """An attribute that NumPy still has, for an error that says what to write in its place."""
    return lambda self: getattr(numpy.empty(0), name)


REMOVED = [n for n in ("itemset", "newbyteorder", "ptp") if hasattr(numpy.ndarray, n)]  # before NumPy 2.3


WHOLE = ("T", "dtype", "imag", "itemsize", "mT", "nbytes", "ndim", "real", "shape", "size", "strides")


def attach() -> None:
    for name, (get, put) in {**PROPERTIES, **{n: (removed(n), None) for n in REMOVED}}.items():
        setattr(ndarray, name, property(get, put, doc=getattr(numpy.ndarray, name).__doc__))
    for name, ours in [*vars(ndarray).items()]:
        if isinstance(ours, property) and hasattr(numpy.ndarray, name):
            doc = ours.__doc__ or getattr(numpy.ndarray, name).__doc__
            setattr(ndarray, name, renew.with_refusals(name, property(ours.fget, ours.fset, ours.fdel, doc)))
    for name in WHOLE:
        setattr(ndarray, name, attribute(name, vars(ndarray)[name]))
    for name, function in SPECIAL.items():
        if isinstance(function, types.FunctionType):
            function.__name__, function.__qualname__ = name, f"ndarray.{name}"
        setattr(ndarray, name, function)
    for name in ("__dlpack__", "__dlpack_device__"):
        setattr(ndarray, name, whole_method(getattr(numpy.ndarray, name), SPECIAL[name]))
    for name in ("__bool__", "__int__", "__float__", "__index__"):
        attach_slot(ndarray, name, asked(name), "asked", name.strip("_"))
    attach_slot(ndarray, "__delitem__", delete_item, "other", "delitem")
    ndarray.__module__, ndarray.__doc__ = "lazynp", numpy.ndarray.__doc__
    ndarray.__qualname__ = "ndarray"
    if numpy.ndarray.__flags__ & SEQUENCE and not ndarray.__flags__ & SEQUENCE:
        ndarray.__abc_tpflags__ = SEQUENCE  # type: ignore[attr-defined]
        _abc._abc_init(ndarray)


attach()
