"""Public functions that JAX jits, as graphs that are shown have them: an equation for the call, with the function's
graph in it (`jit[name=sort jaxpr=...]`), where the function's operations would stand."""

from __future__ import annotations

import functools
import inspect
from types import FunctionType
from typing import Any

import numpy as np

from ..api.trace import stack
from ..signatures import Static
from ..tree import flatten
from .array import Array, door
from .jitted_names import STATIC
from .stages import PjitFunction

OPERANDS = (Array, bool, int, float, complex, np.ndarray, np.generic)


class ShownCall:
    """What is called in place of a function while graphs are traced to be shown.

    Attributes:
        _jitted: by the names of the arguments that are static: the function, jitted.
    """

    def __init__(self, function: FunctionType, name: str) -> None:
        self._function = function
        self._named = FunctionType(function.__code__, function.__globals__, name, closure=function.__closure__)
        functools.update_wrapper(self._named, function, ("__defaults__", "__kwdefaults__", "__module__"))
        self._jitted: dict[tuple[str, ...], PjitFunction] = {}
        self._names = tuple(inspect.signature(function).parameters)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        static = self._static(args, kwargs)
        if static is None:
            return self._function(*args, **kwargs)
        if static not in self._jitted:
            self._jitted[static] = PjitFunction(self._named, door, Static(names=static))
        try:
            return self._jitted[static](*args, **kwargs)
        except Exception:  # raised for arguments that have become abstract, or raised again by the function
            return self._function(*args, **kwargs)

    def _static(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, ...] | None:
        """The names of the arguments that are static; None for a call that is not shown: nothing is traced, or an
        argument is neither an array nor can be static."""
        if not stack.shown or len(args) > len(self._names):
            return None
        static, operands = [], []
        for name, x in [*zip(self._names, args), *kwargs.items()]:
            leaves = flatten(x)[0]
            if name in STATIC and not any([isinstance(leaf, Array) for leaf in leaves]):
                static.append(name)
                if type(x).__hash__ is None:
                    return None
            else:
                operands += leaves
        traced = [x for x in operands if isinstance(x, Array) and x.node.trace]
        return tuple(static) if traced and all([isinstance(x, OPERANDS) for x in operands]) else None
