"""`__array_function__`: what stands in for NumPy's dispatcher, on the public functions that are re-hosted or ours.

A foreign type that implements the protocol goes first. Such a type compares the function it is given with NumPy's own
or with ours: a `Dispatcher` is equal to the NumPy function of its name.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy

from ..speed import (
    AT_ONCE,
    BARE,
    GROWS,
    IN_PASSES,
    LOOKS,
    MOST,
    NO_COPY,
    ONCE,
    READS,
    REDUCES,
    REDUCING,
    SEVERAL,
    SHARES,
    TOUCHES,
    TOUCHING,
    WRITES,
    FunctionBase,
    reduced,
    sized_by,
    tell,
    whole_call,
)
from . import (
    quick_common,  # noqa: F401  (which fills the table of `quick`)
    subclasses,
)
from .array import Handle, borrow, ndarray
from .host import PLAIN, fresh, public_module, unwrap
from .overrides import numpys
from .quick import quick

KNOWN = PLAIN | {ndarray, numpy.ndarray, list, tuple, dict, slice, range}
array_functions: set[Any] = set()
dispatched = type(numpy.sum)


class Dispatcher(FunctionBase):
    """A public function: calls its implementation, unless an argument's type takes the call.

    Attributes:
        relevant: gives the arguments whose types are asked.
        method: NumPy's method that does the same, for those that reduce: done at once where that is simple.
    """

    __name__: str
    __qualname__: str
    _method: Any = None

    def __init__(self, relevant: Callable[..., Any] | None, implementation: Callable[..., Any]) -> None:
        self._relevant, self._implementation = relevant, implementation

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        if self._method is not None and len(args) == 1:
            value = reduced(self._method, args[0], kwargs)
            if value is not NotImplemented:
                return value
        relevant = self._relevant
        if relevant is not None:
            try:
                asked = relevant(*args, **kwargs)
            except TypeError as error:
                raise renamed(error, relevant, self) from None
            for a in asked:
                if type(a) in KNOWN:
                    continue
                if takes_functions(type(a)):
                    return self.overridden(asked if type(asked) in (tuple, list) else None, args, kwargs)
                if subclasses.is_theirs(a):
                    return self.with_ours(args, kwargs)
            if args and type(args[0]) is numpy.ndarray and isinstance(kwargs.get("out"), Handle):
                args = (borrow(args[0]), *args[1:])  # whose method would give NumPy's array of the memory of `out`
        else:
            if not args:
                raise TypeError(f"`like` is to be the first argument by position in a call of {self.__qualname__}()")
            return self.with_like(args[0], args[1:], kwargs)
        return self._implementation(*args, **kwargs)

    def with_ours(self, args: Any, kwargs: Any) -> Any:
        """The call with NumPy's masked arrays, matrices and the like as ours; what is written to stays what it is."""
        named = {k: v if k == "out" else subclasses.as_ours(v) for k, v in kwargs.items()}
        return self._implementation(*map(subclasses.as_ours, args), **named)

    def overridden(self, asked: Any, args: Any, kwargs: Any) -> Any:
        """Ask the foreign types, subclasses before their bases; `asked` are the arguments that count, if known."""
        assert self._relevant is not None
        others = implementing(self._relevant(*args, **kwargs) if asked is None else asked)
        kinds = [type(o) for o in others]
        for other in others:
            if type(other).__array_function__ is ndarray.__array_function__:  # type: ignore[attr-defined]
                value = ndarray.__array_function__(other, self, kinds, args, kwargs)  # type: ignore[attr-defined]
            else:
                value = other.__array_function__(self, tuple(kinds), args, kwargs)
            if value is not NotImplemented:
                return value
        return self.refused(others, args, kwargs)

    def refused(self, others: list[Any], args: Any, kwargs: Any) -> Any:
        """What foreign types that have all returned NotImplemented make of NumPy's arrays in place of ours. Raises
        NumPy's error where there are none."""
        given, named, host = numpys(args), numpys(kwargs), self._to_host()
        known = given is not args or named is not kwargs
        if known and host is not self and not isinstance(kwargs.get("out"), Handle):
            value = host(*given, **named)
            return fresh(value) if type(value) is numpy.ndarray else value
        raise TypeError(
            f"no implementation found for '{numpy_name(self)}' on types that implement __array_function__: "
            f"{[type(o) for o in others]}"
        )

    def with_like(self, like: Any, args: Any, kwargs: Any) -> Any:
        """A creation function that was given `like=`."""
        if not hasattr(type(like), "__array_function__"):
            raise TypeError(
                "The `like` argument must be an array-like that implements the `__array_function__` protocol."
            )
        if takes_functions(type(like)):
            public = getattr(sys.modules["lazynp"], self.__name__, self)
            value = like.__array_function__(public, (type(like),), args, kwargs)
            if value is NotImplemented:
                raise TypeError(
                    f"no implementation found for '{numpy_name(self)}' on types that implement "
                    f"__array_function__: [{type(like)!r}]"
                )
            return value
        return self._implementation(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(other) is dispatched and other is self._to_host()

    def __hash__(self) -> int:
        known = vars(self).get("_hash")
        if known is None:
            host = self._to_host()
            known = vars(self)["_hash"] = object.__hash__(self) if host is self else hash(host)
        return known

    def _to_host(self) -> Any:
        """NumPy's function of this name; itself where there is none."""
        module = getattr(self, "__module__", "") or ""
        found: Any = sys.modules.get("numpy" + module[len("lazynp") :]) if module.startswith("lazynp") else None
        for part in self.__qualname__.split("."):
            found = getattr(found, part, None)
        return self if found is None else found

    def __reduce__(self) -> str:
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<function {self.__qualname__} at {id(self):#x}>"

    def __str__(self) -> str:
        return str(self._implementation)


tell(dispatcher=Dispatcher)
# What only our function knows: whether memory is shared, what may be in a file; and what prints, which would write into
# a width that is an array.
NOT_WHOLE = frozenset(
    {
        "array2string",
        "array_repr",
        "array_str",
        "may_share_memory",
        "shares_memory",
        "save",
        "savetxt",
        "savez",
        "savez_compressed",
    }
)
# Modules whose functions make arrays of NumPy's subclasses.
NOT_WHOLE_IN = ("lazynp.ma", "lazynp.matrixlib", "lazynp.lib.recfunctions", "lazynp._core.records")
# Functions whose result may be larger than their arguments together: where it is large, it is ours to make.
GROWING = frozenset(
    {
        "arange",
        "diag",
        "diag_indices",
        "diag_indices_from",
        "diagflat",
        "eye",
        "full",
        "full_like",
        "identity",
        "indices",
        "ix_",
        "kron",
        "linspace",
        "geomspace",
        "logspace",
        "meshgrid",
        "ones",
        "ones_like",
        "zeros_like",
        "empty_like",
        "outer",
        "pad",
        "repeat",
        "resize",
        "tensordot",
        "tile",
        "tri",
        "tril_indices",
        "triu_indices",
        "tril_indices_from",
        "triu_indices_from",
        "vander",
    }
)
# What reads no elements, and makes views or nothing.
LOOKING = frozenset(
    {
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "broadcast_arrays",
        "broadcast_to",
        "diagonal",
        "iscomplexobj",
        "isrealobj",
        "ndim",
        "result_type",
        "shape",
        "size",
    }
)
READING = frozenset({"loadtxt"})  # not genfromtxt, which has warnings and errors of its own
WRITING = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})
WRITTEN = ("out", "overwrite_input")
WRITTEN_TOO = {"nan_to_num": ("copy",), "rot90": ("k",)}  # NumPy does `k %= 4`, to an array too


def numpy_function(implementation: Any) -> Any:
    """NumPy's public function of which this one is a second copy; None if there is none."""
    module = str(getattr(implementation, "__module__", ""))
    if not module.startswith("lazynp"):
        return None
    where = (
        "" if module.startswith("lazynp.numpy.") else module[len("lazynp") :]
    )  # a function of ours is NumPy's public one
    with contextlib.suppress(ImportError):  # NumPy may not have needed the module yet of which this is the copy
        return getattr(importlib.import_module("numpy" + where), implementation.__name__, None)
    return None


def undispatched(host: Any) -> Any:
    """NumPy's function without its look for `__array_function__`: nothing that the C module gives it has another."""
    return getattr(host, "_implementation", host) if type(host) is dispatched else host


def make_whole(public: FunctionBase, implementation: Any, signature: Any = None) -> None:
    """Let NumPy's own function do the whole of a call on small arrays; see `_whole.h`."""
    name, module = implementation.__name__, str(implementation.__module__)
    host = numpy_function(implementation)
    if name in ("may_share_memory", "shares_memory"):
        public.whole, public.flags = undispatched(getattr(numpy, name)), SHARES
        return
    if host is None or name in NOT_WHOLE or module.startswith(NOT_WHOLE_IN):
        return
    code = getattr(signature or implementation, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code is not None else ()
    host = undispatched(host)
    public.whole = quick.get(host, host)
    public.flags = (GROWS | sized_by(names) if name in GROWING else 0) | (WRITES if name in WRITING else 0)
    public.flags |= (LOOKS if name in LOOKING else 0) | (READS if name in READING else 0)
    public.flags |= (REDUCES if name in REDUCING else 0) | (TOUCHES if name in TOUCHING else 0)
    public.flags |= (ONCE if name in AT_ONCE else 0) | (SEVERAL if name in IN_PASSES else 0)
    written = (*WRITTEN, *WRITTEN_TOO.get(name, ()))
    if name == "nan_to_num":
        public.flags = NO_COPY | SEVERAL
    public.most = next((i for i, n in enumerate(names) if n in written), MOST)


REDUCERS = {
    **{name: name for name in ("sum", "prod", "max", "min", "any", "all", "mean")},
    "amax": "max",
    "amin": "min",
}
MOST_TYPES = 64


def implementing(relevant: Any) -> list[Any]:
    """The first argument of each type that implements the protocol, subclasses before their bases."""
    others: list[Any] = []
    kinds: list[type] = []
    for a in relevant:
        t = type(a)
        if t in kinds or not hasattr(t, "__array_function__"):
            continue
        if len(kinds) >= MOST_TYPES:
            raise TypeError(
                f"maximum number ({MOST_TYPES}) of distinct argument types implementing __array_function__ exceeded"
            )
        kinds.append(t)
        at = next((i for i, o in enumerate(others) if issubclass(t, type(o))), len(others))
        others.insert(at, a)
    return others


def renamed(error: TypeError, relevant: Any, public: Any) -> TypeError:
    """Python's complaint about bad arguments, with the name that the user knows."""
    text = str(error)
    for name in (relevant.__qualname__, relevant.__name__):
        if text.startswith(f"{name}()"):
            return TypeError(public.__qualname__ + text[len(name) :])
    return error


def numpy_name(f: Any) -> str:
    return f"{getattr(f, '__module__', '').replace('lazynp', 'numpy', 1)}.{f.__name__}"


def takes_functions(t: type) -> bool:
    """Whether a type implements the protocol, and not just as our arrays or NumPy's do."""
    found = getattr(t, "__array_function__", None)
    ours = ndarray.__array_function__  # type: ignore[attr-defined]
    return found is not None and found is not ours and found is not numpy.ndarray.__array_function__


def array_function_dispatch(
    dispatcher: Any = None, module: str | None = None, verify: bool = True, docs_from_dispatcher: bool = False
) -> Callable[[Any], Any]:
    """Stands in for the decorator of that name in `numpy._core.overrides`."""

    def decorator(implementation: Any) -> Any:
        if verify and not str(implementation.__module__).startswith(("lazynp", "numpy")):  # which NumPy has verified
            check_signature(dispatcher, implementation)
        public = Dispatcher(dispatcher, implementation)
        if dispatcher is not None:  # else it is what a function calls for `like=`, with that in front
            make_whole(public, implementation, dispatcher)
        if implementation.__name__ in REDUCERS and implementation.__module__.endswith("._core.fromnumeric"):
            public._method = getattr(numpy.ndarray, REDUCERS[implementation.__name__])
        functools.update_wrapper(public, implementation, updated=())
        if docs_from_dispatcher:  # of a compiled function, to which NumPy gives text and signature of its own making
            host = getattr(numpy._core.multiarray, implementation.__name__, dispatcher)
            public.__doc__, vars(public)["_signature_of"] = host.__doc__ or dispatcher.__doc__, host
        if module is not None:
            public.__module__ = public_module(module)
        array_functions.add(public)
        return public

    return decorator


def check_signature(dispatcher: Any, implementation: Any) -> None:
    """Raise NumPy's RuntimeError for a function whose dispatcher does not fit it, or that takes `like` otherwise."""
    if dispatcher is not None:
        numpy._core.overrides.verify_matching_signatures(implementation, dispatcher)  # type: ignore[attr-defined]
        return
    code = implementation.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    if code.co_kwonlyargcount == 0 or code.co_varnames[count - 1] != "like":
        raise RuntimeError(
            "__array_function__ expects `like=` to be the last argument and a keyword-only argument. "
            f"{implementation} does not seem to comply."
        )


class Function(FunctionBase):
    """A public function that is no dispatcher: NumPy's own on small arguments, else ours."""

    __name__: str
    __qualname__: str

    def __init__(self, function: Callable[..., Any], whole: Any = None, flags: int = 0) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        if whole is None:
            make_whole(self, function)
        else:
            self.whole, self.most, self.flags = whole, MOST, flags
        if function.__name__ in ("fftfreq", "rfftfreq"):  # see `standard`
            self.flags |= BARE

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> str:
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<function {self.__qualname__} at {id(self):#x}>"


tell(function=Function)


class LazySignature:
    """`__signature__`, worked out when somebody asks."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            raise AttributeError("__signature__")
        given = vars(instance)
        return inspect.signature(given.get("_signature_of", given["__wrapped__"]))  # not of what stands in for it


Dispatcher.__signature__ = LazySignature()  # type: ignore[attr-defined]


def array_function_from_dispatcher(
    implementation: Any, module: str | None = None, verify: bool = True, docs_from_dispatcher: bool = True
) -> Callable[[Any], Any]:
    def decorator(dispatcher: Any) -> Any:
        return array_function_dispatch(dispatcher, module, verify=verify, docs_from_dispatcher=docs_from_dispatcher)(
            implementation
        )

    return decorator


def set_module(module: str | None) -> Callable[[Any], Any]:
    """Stands in for `numpy._utils.set_module`: what it marks is found under lazynp."""

    def decorator(f: Any) -> Any:
        if module is not None:
            if isinstance(f, type):
                with contextlib.suppress(AttributeError):
                    f._module_source = f.__module__  # type: ignore[attr-defined]
            f.__module__ = public_module(module)
        return f

    return decorator


def ours_of(function: Any) -> Any:
    """The public function of ours that has the name of a NumPy function; None if there is none."""
    name = getattr(function, "__module__", None)
    if name is None or not name.startswith("numpy"):
        return None
    try:
        found: Any = importlib.import_module(public_module(name))
    except ImportError:
        return None
    for part in getattr(function, "__qualname__", function.__name__).split("."):
        found = getattr(found, part, None)
    return found


known: dict[Any, Any] = {}  # the public function of ours for a function of NumPy's, once it was asked for


def array_function(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:  # NumPy's names of the arguments
    """`ndarray.__array_function__`: NumPy hands the call to this door."""
    if type(args) is not tuple:
        raise TypeError("args must be a tuple.")
    if type(kwargs) is not dict:
        raise TypeError("kwargs must be a dict.")
    function = func
    for t in types:
        if not issubclass(t, (ndarray, numpy.ndarray)) and hasattr(t, "__array_function__"):
            return NotImplemented
    if not isinstance(function, Dispatcher):
        found = known.get(function)
        if found is None:
            found = ours_of(function)
            if type(found) is Dispatcher and type(function) is dispatched:
                known[function] = found
        if found is None or found is function:
            implementation = getattr(function, "_implementation", None)
            if implementation is None or type(function) is not dispatched:
                return function(*args, **kwargs)
            return implementation(*unwrap(args), **unwrap(kwargs))
        function = found
    if type(function) is Dispatcher:
        value = whole_call(function, args, kwargs)
        if value is not NotImplemented:
            return value
    return getattr(function, "_implementation", function)(*args, **kwargs)


ndarray.__array_function__ = array_function  # type: ignore[attr-defined]
array_function.__name__ = "__array_function__"
