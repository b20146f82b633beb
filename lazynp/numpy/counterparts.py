"""What stands in for the objects of NumPy's compiled modules: a table, by name; what is not in it is NumPy's on host
values."""

from __future__ import annotations

import functools
import inspect
import types
from typing import Any

import numpy
import numpy._core._multiarray_umath as compiled  # type: ignore[import-not-found]

from ..speed import BLANK, MAKES, MOST, FunctionBase, Method, tell
from . import (  # noqa: F401
    attributes,
    counting,
    creation,
    dispatch,
    functions,
    indexing,
    iterators,
    methods,
    native,
    operators,
    products,
    recorded,
    strangers,
    ufunc,
)
from .array import Writes, ndarray
from .attributes import reconstruct
from .converter import array_converter
from .host import host_function, of_class, unwrap
from .overrides import is_subclass

WRITES: dict[str, tuple[int | str, ...]] = {
    "copyto": (0, "dst"),
    "putmask": (0, "a"),
    "_place": (0, "arr"),
    "place": (0, "arr"),
}
# The place of the argument that a C function writes to, where it can be given by place.
WRITTEN_AT = {"busday_offset": 6, "busday_count": 5, "is_busday": 4}
LOOKS = frozenset(
    {
        "result_type",
        "can_cast",
        "promote_types",
        "min_scalar_type",
        "normalize_axis_index",
        "shares_memory",
        "may_share_memory",
        "_discover_array_parameters",
        "zeros",
        "empty",
        "arange",
        "fromiter",
        "frombuffer",
        "fromfile",
        "fromstring",
        "scalar",
    }
)


def add_docstring(obj: Any, docstring: str, /) -> None:
    """Document what has no docstring. TypeError where it can have none, RuntimeError where it has another; what
    stands in for NumPy's keeps what it has."""
    if type(docstring) is not str:
        raise TypeError(f"add_docstring() argument 2 must be str, not {type(docstring).__name__}")
    found = getattr(obj, "__doc__", None)
    if found is None:
        try:
            obj.__doc__ = docstring
        except (AttributeError, TypeError):
            raise TypeError("Cannot set a docstring for that object") from None
    elif found != docstring and (getattr(obj, "__module__", None) or "").split(".")[0] != "lazynp":
        raise RuntimeError(f"{getattr(obj, '__name__', obj)} already has a different docstring")


OURS: dict[str, Any] = {
    "ndarray": ndarray,
    "ufunc": ufunc.ufunc,
    "flatiter": iterators.flatiter,
    "nditer": iterators.nditer,
    "flagsobj": iterators.flagsobj,
    "nested_iters": iterators.nested_iters,
    "broadcast": iterators.broadcast,
    "array": creation.array,
    "asarray": creation.asarray,
    "asanyarray": creation.asanyarray,
    "ascontiguousarray": creation.ascontiguousarray,
    "asfortranarray": creation.asfortranarray,
    "zeros": creation.zeros,
    "empty": creation.empty,
    "arange": creation.arange,
    "empty_like": creation.empty_like,
    "_array_converter": array_converter,
    "_ArrayFunctionDispatcher": dispatch.Dispatcher,
    "_reconstruct": reconstruct,
    "add_docstring": add_docstring,
    "_reload_guard": lambda: None,
    "_add_newdoc_ufunc": lambda function, text, /: compiled._add_newdoc_ufunc(
        getattr(function, "host", function), text
    ),
    "set_typeDict": lambda *_: None,
    "_set_madvise_hugepage": lambda *_: None,
    "frompyfunc": native.frompyfunc,
    "_get_implementing_args": dispatch.implementing,
    **native.TABLE,
}


def signed(ours: Any, host: Any) -> Any:
    """Our function with the signature of NumPy's C function."""
    text = getattr(host, "__text_signature__", None)
    if text:
        ours.__wrapped__, ours.__text_signature__ = host, text
    return ours


class CastingImplementation:
    """A casting implementation of NumPy's (`_get_castingimpl`), on our arrays."""

    def __init__(self, host: Any) -> None:
        self._host_ = host

    def _simple_strided_call(self, arrays: Any) -> None:
        if type(arrays) is tuple and len(arrays) == 2:
            source, target = arrays
            with Writes() as to:
                self._host_._simple_strided_call((unwrap(source), to(target)))
        else:
            self._host_._simple_strided_call(arrays)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host_, name)


def casting_implementation(source: Any, target: Any, /) -> CastingImplementation:
    return CastingImplementation(compiled._get_castingimpl(source, target))


class Builtin(FunctionBase):
    """A function that is no method when it stands in a class, as C functions are not."""

    host: Any
    __class__ = property(lambda self: types.BuiltinFunctionType)  # for `isinstance`, and so for `inspect` and `pydoc`

    def __init__(self, function: Any) -> None:
        self.function = function
        self.__name__ = self.__qualname__ = function.__name__
        host = getattr(numpy, function.__name__, function)
        self.__doc__ = getattr(host, "__doc__", None)
        signed(self, host)
        self.__module__ = "lazynp" if hasattr(numpy, function.__name__) else function.__module__

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __reduce__(self) -> str:
        return self.__name__

    def __repr__(self) -> str:
        return f"<built-in function {self.__name__}>"


tell(builtin=Builtin)
OURS["_get_castingimpl"] = casting_implementation
OURS["from_dlpack"] = Builtin(creation.from_dlpack)
OURS["from_dlpack"].whole, OURS["from_dlpack"].most = numpy.from_dlpack, MOST
for _name in ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "zeros", "empty", "arange"):
    OURS[_name] = creation.PUBLIC[_name] = Builtin(OURS[_name])
    OURS[_name].whole, OURS[_name].most = getattr(numpy, _name), MOST
    OURS[_name].flags = MAKES | (BLANK if _name in ("zeros", "empty") else 0)
    dispatch.array_functions.add(OURS[_name])
RECORDED = {**products.TABLE, **counting.TABLE, **recorded.FUNCTIONS}
made: dict[int, tuple[Any, Any]] = {}


def counterpart(name: str, value: Any) -> Any:
    """What stands for a compiled module's attribute; the same object each time."""
    if name in OURS:
        return OURS[name]
    if isinstance(value, numpy.ufunc):
        return ufunc.of(value, keep=True)
    if isinstance(value, (type, types.ModuleType)) or not callable(value):
        return value
    known = made.get(id(value))
    if known is not None and known[0] is value:
        return known[1]
    implementation = value._implementation if type(value) is compiled._ArrayFunctionDispatcher else value
    ours = host_function(implementation, name, WRITES.get(name, ()), name not in LOOKS)
    if name in RECORDED:
        ours = functions.first(RECORDED[name], ours)
    if name in LIKE:
        ours = liked(name, ours)
    if name in KEEPS:
        ours = keeping(ours, *KEEPS[name])
    if type(value) is types.BuiltinFunctionType:
        host = ours
        ours = signed(Builtin(host), value)
        ours.host = implementation
        if name in RECORDED:
            ours.recorded = True
        if name not in WRITES:
            ours.whole, ours.most = implementation, WRITTEN_AT.get(name, MOST)
    if name in LIKE:
        creation.PUBLIC[name] = ours
        dispatch.array_functions.add(ours)
    made[id(value)] = (value, ours)
    return ours


# How many arguments of these have a class that the result gets, and whether its `__array_finalize__` is told of one.
KEEPS = {"packbits": (1, False), "unpackbits": (1, False), "correlate": (2, True), "correlate2": (2, True)}


def keeping(function: Any, count: int, tells: bool) -> Any:
    """A function whose result is of its arguments' class."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        value = function(*args, **kwargs)
        if type(value) is not ndarray or not any(map(is_subclass, args[:count])):
            return value
        leader = native.leader_of(args[:count])
        return of_class(type(leader), value, leader if tells else None) if is_subclass(leader) else value

    return call


LIKE = ("frombuffer", "fromfile", "fromiter", "fromstring")


def liked(name: str, function: Any) -> Any:
    """A creation function of NumPy's with `like=`."""

    def call(*args: Any, like: Any = None, **kwargs: Any) -> Any:
        if like is not None:
            value = creation.overridden_by(like, creation.PUBLIC[name], args, kwargs)
            if value is not NotImplemented:
                return value
        return function(*args, **kwargs)

    call.__name__, call.__module__ = name, function.__module__
    return call


class Signature:
    """`__signature__` of a class, worked out when somebody asks."""

    def __init__(self, cls: type, host: Any) -> None:
        self.cls, self.host = cls, host

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if owner is not self.cls or instance is not None:  # subclasses have their own
            raise AttributeError("__signature__")
        return inspect.signature(self.host)


DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType)


def document(ours: type, host: type) -> None:
    """Methods get NumPy's signatures; methods and attributes get its docstrings. Attributes that our class leaves to
    `__getattr__` are listed on it too."""
    for name, value in list(vars(ours).items()):
        theirs = getattr(host, name, None)
        if isinstance(value, (types.FunctionType, Method)):
            signed(value, theirs)
        text = getattr(theirs, "__doc__", None)
        if name.startswith("__") or not text:
            continue
        if isinstance(value, (types.FunctionType, Method)):
            value.__doc__ = text
        elif isinstance(value, property):
            setattr(ours, name, property(value.fget, value.fset, value.fdel, text))
        elif isinstance(value, types.MemberDescriptorType):
            setattr(ours, name, property(value.__get__, value.__set__, None, text))
    for name, value in vars(host).items():
        if isinstance(value, DESCRIPTORS) and not name.startswith("__") and not hasattr(ours, name):
            setattr(ours, name, property(functools.partial(ours.__getattr__, name=name), doc=value.__doc__ or ""))  # type: ignore[attr-defined]


def sign_all() -> None:
    """Signatures and docstrings of the classes, and of the functions, that are ours."""
    for name in ("frompyfunc", "nested_iters"):
        signed(OURS[name], getattr(numpy, name)).__doc__ = getattr(numpy, name).__doc__
    pairs: list[tuple[Any, Any]] = [
        (iterators.nditer, numpy.nditer),
        (iterators.broadcast, numpy.broadcast),
        (iterators.flatiter, numpy.flatiter),
        (ufunc.ufunc, numpy.ufunc),
        (ndarray, numpy.ndarray),
    ]
    for ours, host in pairs:
        ours.__signature__ = Signature(ours, host)
        if ours is not ufunc.ufunc:  # which has it
            ours.__doc__ = host.__doc__
        document(ours, host)


sign_all()


def is_ours(value: Any) -> bool:
    """Whether an object is a counterpart, and not one that we share with NumPy."""
    return type(value) in (ufunc.ufunc, Builtin) or hasattr(value, "host") or any(value is v for v in OURS.values())
