"""What the adapters have in common: entry points of a library that get NumPy's arrays for ours, and their undoing."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy

from ..numpy.attributes import array as numpy_array
from ..speed import HandleBase, built
from . import FORTRAN

native: Any = built("_adapters")
MISSING = object()
HEAP, IMMUTABLE = 1 << 9, 1 << 8  # flags of classes: made at run time; not to be changed
LONG = 64  # a list of more elements is taken for one of numbers where it begins with one
LEAVES = frozenset(
    {int, float, complex, bool, str, bytes, type(None), slice, numpy.ndarray, numpy.float64, numpy.int64}
)
# Names of the types of functions, and of a class's methods.
FUNCTIONS = frozenset({"function", "builtin_function_or_method", "cython_function_or_method", "nb_func"})
FUSED = "fused_cython_function"  # one for each of several types, which `f[types]` gives
METHODS = FUNCTIONS | {"method_descriptor", "instancemethod", "nb_method"}  # pybind11's and nanobind's
ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "divmod", "and", "or", "xor")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
OPERATORS = (
    *[f"__{prefix}{name}__" for name in ARITHMETIC for prefix in ("", "r", "i")],
    *[f"__{name}__" for name in COMPARISONS],
)
SPECIAL = ("__init__", "__new__", "__call__", "__getitem__", "__setitem__", "__contains__", *OPERATORS)


Changes = list[tuple[Any, Any, Any]]
"""Lists and dicts of the user's that were copied: each with its copy, and what the copy had in it."""


def numpy_of(x: Any, changes: Changes | None = None) -> Any:
    """An argument as the library takes it: an array of ours as NumPy's, which shares its memory, also in a list, a
    tuple or a dict. All else is the same object.

    Args:
        changes: takes note of the lists and dicts that had to be copied.
    """
    kind = type(x)
    if kind in LEAVES:
        return x
    if issubclass(kind, HandleBase):
        return numpy_array(x)
    if kind not in (list, tuple, dict):
        return x
    noted = [] if changes is None else changes
    return inside_of(x, lambda v: numpy_of(v, noted), noted)


def inside_of(x: Any, convert: Callable[[Any], Any], changes: Changes) -> Any:
    """A container of what `convert` makes of its elements: the same object where these are the same."""
    made: Any
    if type(x) is dict:
        made = {k: convert(v) for k, v in x.items()}
        if all([made[k] is v for k, v in x.items()]):
            return x
    else:
        if len(x) > LONG and type(x[0]) in LEAVES:
            return x
        made = [convert(v) for v in x]
        if all([v is w for v, w in zip(made, x)]):
            return x
        if type(x) is tuple:
            return tuple(made)
    changes.append((x, made, made.copy()))
    return made


def give_back(changes: Changes) -> None:
    """What the library did to the lists and dicts that it got in place of the user's: the user's have it, too, with
    their own objects for those that they became."""
    for given, made, before in reversed(changes):
        theirs, now, old = (dict(x if type(x) is dict else enumerate(x)) for x in (given, made, before))
        if now.keys() == old.keys() and all([now[k] is old[k] for k in old]):
            continue
        own = {id(v): theirs.get(k, v) for k, v in old.items()}
        items = {k: own.get(id(v), v) for k, v in now.items()}
        if type(given) is dict:
            given.clear()
            given.update(items)
        else:
            given[:] = items.values()


Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Converting = Callable[[tuple[Any, ...], dict[str, Any], Changes], Arguments]


def arrays_of(args: tuple[Any, ...], kwargs: dict[str, Any], changes: Changes) -> Arguments:
    """The arguments of a call, with NumPy's arrays for ours."""
    return tuple([numpy_of(x, changes) for x in args]), {k: numpy_of(x, changes) for k, x in kwargs.items()}


def adapted(function: Callable[..., Any], convert: Converting = arrays_of) -> Callable[..., Any]:
    """A function of a library, given what `convert` makes of its arguments: NumPy's arrays for ours.

    Made in C it adds no frame, so that a library's warning with a `stacklevel` is one of the user's line; without the
    C module that is the line below.
    """
    if native is not None:
        made: Any = native.adapted(function, {}, None if convert is arrays_of else convert)
        return functools.update_wrapper(made, function, updated=("__dict__",))

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        changes: Changes = []
        made, named = convert(args, kwargs, changes)
        try:
            out = function(*made, **named)
        finally:
            give_back(changes)
        for given, converted in (*zip(args, made), *[(x, named[k]) for k, x in kwargs.items()]):
            if out is converted:  # what is given back of them is the argument itself
                return given
        return out

    return call


class Called:
    """A user's function that a library calls: what it returns arrives there as NumPy's array."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return numpy_of(self.function(*args, **kwargs))


def called_of(x: Any, inside: tuple[type, ...], changes: Changes) -> Any:
    """An argument with the functions in it made `Called`: itself, or what is in containers of these types."""
    if type(x) in inside:
        within = (dict, list, tuple) if type(x) is dict else inside
        return inside_of(x, lambda v: called_of(v, within, changes), changes)
    theirs = isinstance(x, (type, Called)) or type(x).__module__.split(".")[0] in ("numpy", "scipy")
    return Called(x) if callable(x) and not theirs else x


def functions_of(args: tuple[Any, ...], kwargs: dict[str, Any], changes: Changes) -> Arguments:
    """As `arrays_of`, for a function that calls functions it is given, by themselves or in lists and dicts: these are
    `Called`. What it passes on to them (`args`, `kwargs`) is theirs."""
    args, kwargs = arrays_of(args, kwargs, changes)
    every, passed = (dict, list, tuple), ("args", "kwargs")
    named = {k: v if k in passed else called_of(v, every, changes) for k, v in kwargs.items()}
    return tuple([called_of(x, (dict, list), changes) for x in args]), named


if native is not None:
    native.bind(HandleBase, numpy_of, give_back, LEAVES)


def is_routine(x: Any) -> bool:
    """Whether f2py made it, of a function or a subroutine: its modules of data are of the same type."""
    return type(x).__name__ == FORTRAN and hasattr(x, "_cpointer")


def is_fixed(owner: Any) -> bool:
    """Whether it is a class in C whose attributes Python code cannot set."""
    return isinstance(owner, type) and (not owner.__flags__ & HEAP or bool(owner.__flags__ & IMMUTABLE))


def is_adapted(function: Any) -> bool:
    return "lazynp_adapted" in getattr(function, "__dict__", ())


def takes_arguments(function: Any) -> bool:
    """Whether a method of a class in Python takes anything beside self."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code is None or code.co_argcount + code.co_kwonlyargcount > 1 or bool(code.co_flags & 12)


class Patches:
    """What an adapter changed, so that it can be undone."""

    def __init__(self) -> None:
        self.undoing: list[Callable[[], None]] = []

    def put(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute of a module or a class."""
        before = vars(owner).get(name, MISSING)
        fixed = is_fixed(owner) and native is not None
        put, remove = (native.set_in_class,) * 2 if fixed else (setattr, delattr)
        put(owner, name, value)
        self.undoing.append(lambda: remove(owner, name) if before is MISSING else put(owner, name, before))

    def entry(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        """Set an entry of a library's table."""
        before = table.get(key, MISSING)
        table[key] = value

        def back() -> None:
            if before is MISSING:
                table.pop(key, None)
            else:
                table[key] = before

        self.undoing.append(back)

    def wrap(self, owner: Any, *names: str, called: bool = False) -> None:
        """Make functions of a module, or methods of a class, take our arrays, and, with `called`, functions that give
        them. Raises AttributeError for one that is not there."""
        for name in names:
            found = inspect.getattr_static(owner, name)
            inner = found.__func__ if isinstance(found, (staticmethod, classmethod)) else found
            if not is_adapted(inner):
                made: Any = adapted(inner, functions_of if called else arrays_of)
                made.lazynp_adapted = True
                if isinstance(found, (staticmethod, classmethod)):
                    made = type(found)(made)
                elif name == "__new__" and not isinstance(found, types.FunctionType):
                    made = staticmethod(made)
                self.put(owner, name, made)

    def functions(
        self, module: Any, skip: Iterable[str] = (), called: bool = False, hidden: tuple[str, ...] = ("_",)
    ) -> None:
        """All functions of a module but those whose names begin with `hidden`; with `called`, those that they are given
        may give our arrays."""
        for name, value in list(vars(module).items()):
            kind = type(value).__name__
            plain = kind in FUNCTIONS or is_routine(value) or kind == FUSED and native is not None
            if not name.startswith(hidden) and name not in skip and plain:
                self.wrap(module, name, called=called)

    def methods(self, cls: type, skip: Iterable[str] = ()) -> None:
        """All public methods of a class that take arguments, its operators, and those that it has from other classes of
        its library."""
        library = cls.__module__.split(".")[0]
        for owner in cls.__mro__:
            if owner.__module__.split(".")[0] != library:
                continue
            for name, value in list(vars(owner).items()):
                inner = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
                if (
                    type(inner).__name__ in (METHODS if name != "__new__" else ("function",))
                    and (name in SPECIAL or not name.startswith("_"))
                    and name not in skip
                    and not (is_fixed(owner) and name.startswith("_"))  # which a class in C has in its slots
                    and takes_arguments(inner)
                ):
                    self.wrap(owner, name)

    def slots(self, cls: type) -> None:
        """How objects of a class in C are made and called, which Python code cannot change; in a line of bases, of the
        first such class."""
        if native is not None and is_fixed(cls) and native.adapt_slots(cls):
            self.undoing.append(functools.partial(native.restore_slots, cls))
            self.wrap(cls, *[name for name in ("__init__", "__call__") if name in vars(cls)])

    def undo(self) -> None:
        """Put everything back, the last change first."""
        while self.undoing:
            self.undoing.pop()()
