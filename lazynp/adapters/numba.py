"""numba: compiled functions are called with NumPy's arrays, `typeof` of ours is that of NumPy's, and the code that it
compiles sees NumPy's modules and functions where the program's names say ours."""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

import numpy

from ..numpy.array import ndarray
from ..numpy.attributes import array as numpy_array
from .patches import Patches, numpy_of

NAME = "lazynp"


def adapt(numba: Any, patches: Patches) -> None:
    typeof = importlib.import_module("numba.core.typing.typeof").typeof_impl
    of_numpy, of_others = typeof.dispatch(numpy.ndarray), typeof.dispatch(object)
    typeof.register(ndarray, lambda x, context: of_numpy(numpy_array(x), context))
    patches.undoing.append(lambda: typeof.register(ndarray, of_others))
    patches.wrap(importlib.import_module("numba.core.dispatcher").Dispatcher, "__call__")
    patches.wrap(importlib.import_module("numba.stencils.stencil").StencilFunc, "__call__")
    patches.wrap(importlib.import_module("numba.np.ufunc.dufunc").DUFunc, "at", "reduce", "accumulate", "outer")
    for cls in (numba.typed.List, numba.typed.Dict):
        patches.methods(cls)
    interpreter = importlib.import_module("numba.core.interpreter").Interpreter
    for name in ("get_global_value", "get_closure_value"):
        patches.put(interpreter, name, in_numpy(getattr(interpreter, name)))


def in_numpy(look_up: Any) -> Any:
    """How numba finds the value of a function's name: NumPy's object for ours."""

    def found(self: Any, name: Any) -> Any:
        return counterpart(look_up(self, name))

    return found


def counterpart(x: Any) -> Any:
    """NumPy's module, function or class of the name that ours has, NumPy's array for ours; else x itself."""
    if isinstance(x, types.ModuleType):
        module, names = x.__name__, []
    else:
        module, names = getattr(x, "__module__", None) or "", str(getattr(x, "__qualname__", "")).split(".")
        if type(module) is not str or not callable(x):
            return numpy_of(x)
    if module.split(".")[0] != NAME:
        return x
    value: Any = sys.modules.get("numpy" + module[len(NAME) :])
    for name in names:
        value = getattr(value, name, None)
    return x if value is None else value
