"""How each public name of NumPy is done: computed from the objects themselves, for the compatibility report.

native: an operation of the engine, or our own Python over such. composed: NumPy's Python code over our arrays, in which
no function is named that is host. host: NumPy itself, on values, or Python that may come to that. shared: the very
object of NumPy's, which has no arrays in it (dtypes, scalar types, errors, constants, settings).

A function that names one that is host in some branch counts as host, whether or not calls come there: strict mode says
which calls do.
"""

from __future__ import annotations

import importlib
import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy

from . import dispatch, methods, random, recorded, reduce, rehost, ufunc
from .array import ndarray
from .host import public_module

NATIVE, COMPOSED, HOST, SHARED, MISSING = "native", "composed", "host", "shared", "missing"
NAMESPACES = (
    "numpy",
    "numpy.linalg",
    "numpy.fft",
    "numpy.random",
    "numpy.ma",
    "numpy.polynomial",
    "numpy.testing",
    "numpy.lib",
    "numpy.char",
    "numpy.rec",
    "numpy.strings",
    "numpy.lib.stride_tricks",
    "numpy.lib.scimath",
    "numpy.ctypeslib",
    "numpy.dtypes",
    "numpy.exceptions",
    "numpy.emath",
    "numpy.polynomial.polynomial",
)
# Modules whose functions take no part in what a function computes: they print, warn, check arguments.
ASIDE = frozenset({"lazynp._core.arrayprint", "lazynp._core.overrides", "lazynp._utils", "lazynp._core._ufunc_config"})
HOST_METHODS = frozenset({*methods.HOST, *methods.WRITERS} - {*recorded.TABLE} - reduce.HANDED_OUT)


def way_of(value: Any) -> str:
    """How a function, class or constant is done."""
    if isinstance(value, dispatch.Dispatcher):
        if value._implementation.__module__ == "lazynp._core.fromnumeric" and hasattr(ndarray, value.__name__):
            return method_way(value.__name__)  # what it calls
        return way_of(value._implementation)
    if str(getattr(value, "__module__", "")).startswith("lazynp.random"):
        return HOST  # draws
    if hasattr(value, "recorded") or getattr(getattr(value, "function", value), "counted", None) is False:
        return NATIVE
    if isinstance(value, dispatch.Function):
        return way_of(value.function)
    if type(value) is ufunc.ufunc:
        return NATIVE if value.operator else HOST
    if isinstance(value, numpy.ufunc) or hasattr(value, "host") or type(value).__module__.startswith("lazynp.random"):
        return HOST
    scope = getattr(value, "__globals__", None)
    if scope is not None:
        if scope.get("__builtins__") is rehost.BUILTINS:
            return HOST if names_host(value) else COMPOSED
        return NATIVE if scope["__name__"].startswith("lazynp") else SHARED
    if isinstance(value, type):
        return class_way(value)
    if isinstance(value, types.ModuleType):
        return SHARED
    if hasattr(value, "function"):
        return NATIVE
    return COMPOSED if type(value).__module__.startswith("lazynp.") else SHARED


def names_host(function: Any) -> bool:
    """Whether NumPy's Python code names what is host, in itself or in functions that it names. Iterative."""
    seen, todo = set(), [function]
    while todo:
        value = plain(todo.pop())
        if id(value) in seen:
            continue
        seen.add(id(value))
        if type(value) is not types.FunctionType:
            if type(value) is not type and way_of(value) == HOST:
                return True
        elif value.__globals__.get("__builtins__") is rehost.BUILTINS and value.__module__ not in ASIDE:
            named = list(names_of(value.__code__))
            if not HOST_METHODS.isdisjoint(named):
                return True
            todo += resolved(named, value.__globals__)
    return False


def plain(value: Any) -> Any:
    """The Python function behind a public one."""
    while isinstance(value, (dispatch.Dispatcher, dispatch.Function)):
        value = value._implementation if isinstance(value, dispatch.Dispatcher) else value.function
    return getattr(value, "__func__", value)  # of a bound method


def names_of(code: types.CodeType) -> Iterator[str]:
    """All names in a function's code, those of functions inside too; and methods that it names in a string."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_of(constant)
        elif type(constant) is str and constant in HOST_METHODS:
            yield constant


def resolved(names: list[str], scope: dict[str, Any]) -> list[Any]:
    """What the names are, in the function's module and in modules that it names."""
    modules = [scope] + [vars(v) for v in map(scope.get, names) if isinstance(v, types.ModuleType)]
    found = [m[n] for m in modules for n in names if n in m]
    return [v for v in found if callable(v) and not isinstance(v, type)]


def class_way(value: type) -> str:
    if value.__module__.startswith("lazynp.random") or value in random.TABLE.values():
        return HOST
    if value is ndarray:
        return NATIVE
    if value.__module__.startswith("lazynp"):
        own = [f for f in vars(value).values() if isinstance(f, types.FunctionType)]
        return NATIVE if any(f.__globals__["__name__"].startswith("lazynp.numpy") for f in own) else COMPOSED
    return SHARED


def namespace(name: str) -> dict[str, str]:
    """Public name -> way, for one of NumPy's namespaces."""
    theirs = numpy.emath if name == "numpy.emath" else importlib.import_module(name)
    ours = (
        importlib.import_module(public_module(name))
        if name != "numpy.emath"
        else importlib.import_module("lazynp").emath
    )
    names = [n for n in getattr(theirs, "__all__", None) or dir(theirs) if not n.startswith("_")]
    return {n: way_of(getattr(ours, n)) if hasattr(ours, n) else MISSING for n in sorted(names)}


def ndarray_ways() -> dict[str, str]:
    """Attribute of ndarray -> way."""
    return {n: method_way(n) if hasattr(ndarray, n) else MISSING for n in dir(numpy.ndarray)}


def method_way(name: str) -> str:
    return HOST if name in HOST_METHODS else NATIVE


def table() -> dict[str, dict[str, str]]:
    """Everything: namespace -> name -> way."""
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # of names that NumPy is about to drop
        return {**{n: namespace(n) for n in NAMESPACES}, "numpy.ndarray": ndarray_ways()}
