"""How each public name of NumPy is done: computed from the objects themselves, for the compatibility report.

native: the engine, or our own Python over it. re-hosted: NumPy's Python code over our arrays. host: NumPy itself, on
values. shared: the very object of NumPy's, which has no arrays in it (dtypes, scalar types, errors, constants,
settings).
"""

from __future__ import annotations

import importlib
import types
import warnings
from typing import Any

import numpy

from . import dispatch, methods, random, recorded, reduce, rehost, ufunc
from .array import ndarray
from .host import home_module

NATIVE, REHOSTED, HOST, SHARED, MISSING = "native", "re-hosted", "host", "shared", "missing"
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
MULTIPLE = frozenset({"divmod", "modf", "frexp"})  # ufuncs of several results: NumPy's, on values


def way_of(value: Any) -> str:
    """How a function, class or constant is done."""
    if isinstance(value, dispatch.Dispatcher):
        return way_of(value._implementation)
    if isinstance(value, dispatch.Function):
        return way_of(value.function)
    if type(value) is ufunc.ufunc:
        return NATIVE if value.operator else HOST
    if isinstance(value, numpy.ufunc) or hasattr(value, "host") or type(value).__module__.startswith("lazynp.random"):
        return HOST
    scope = getattr(value, "__globals__", None)
    if scope is not None:
        return (
            REHOSTED
            if scope.get("__builtins__") is rehost.BUILTINS
            else NATIVE
            if scope["__name__"].startswith("lazynp")
            else SHARED
        )
    if isinstance(value, type):
        return class_way(value)
    if isinstance(value, types.ModuleType):
        return SHARED
    if hasattr(value, "function"):
        return NATIVE
    return REHOSTED if type(value).__module__.startswith("lazynp.") else SHARED


def class_way(value: type) -> str:
    if value.__module__.startswith("lazynp.random") or value in random.TABLE.values():
        return HOST
    if value is ndarray:
        return NATIVE
    if value.__module__.startswith("lazynp"):
        own = [f for f in vars(value).values() if isinstance(f, types.FunctionType)]
        return NATIVE if any(f.__globals__["__name__"].startswith("lazynp.numpy") for f in own) else REHOSTED
    return SHARED


def namespace(name: str) -> dict[str, str]:
    """Public name -> way, for one of NumPy's namespaces."""
    theirs = numpy.emath if name == "numpy.emath" else importlib.import_module(name)
    ours = (
        importlib.import_module(home_module(name)) if name != "numpy.emath" else importlib.import_module("lazynp").emath
    )
    names = [n for n in getattr(theirs, "__all__", None) or dir(theirs) if not n.startswith("_")]
    return {n: way_of(getattr(ours, n)) if hasattr(ours, n) else MISSING for n in sorted(names)}


def ndarray_ways() -> dict[str, str]:
    """Attribute of ndarray -> way."""
    native = {*methods.VIEWS, *methods.MAKERS, *methods.WRITES, *reduce.TABLE, *recorded.TABLE}
    out = {}
    for n in dir(numpy.ndarray):
        if not hasattr(ndarray, n):
            out[n] = MISSING
        elif n in native or n.startswith("__") or n not in methods.HOST and n not in methods.WRITERS:
            out[n] = NATIVE
        else:
            out[n] = HOST
    return out


def table() -> dict[str, dict[str, str]]:
    """Everything: namespace -> name -> way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # names that NumPy itself is about to drop
        return {**{n: namespace(n) for n in NAMESPACES}, "numpy.ndarray": ndarray_ways()}
