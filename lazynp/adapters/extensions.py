"""Compiled modules that have no adapter of their own.

Of the program's own (Cython, f2py, pybind11, or by hand) every function and the methods of every class: they ask for
`numpy.ndarray` itself, or take a copy of anything else. Of installed libraries the routines that f2py made: what is no
`numpy.ndarray` they take for copied when they have made NumPy's array of it, and write into that where their own
argument is to be left alone, which would be our array's memory. What the program's functions in Python give to its
compiled code that imports them, is NumPy's array, too.
"""

from __future__ import annotations

import contextlib
import functools
import types
from typing import Any

from ..owners import OWN, whose
from .patches import Called, Patches, is_adapted, is_routine


def adapt(module: Any, patches: Patches) -> None:
    if whose(module.__spec__.origin) != OWN:
        routines(module, patches)
        return
    for name, value in list(vars(module).items()):
        if isinstance(value, types.FunctionType) and whose(value.__code__.co_filename) == OWN:
            patches.put(module, name, Called(value))  # of a module in Python: what it gives is for compiled code
    patches.functions(module, hidden=("__",))  # the Python code around it is the program's, too
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__.split(".")[0] == module.__name__.split(".")[0]:
            with contextlib.suppress(TypeError):  # without our C module a class in C cannot be changed
                patches.methods(value)
                patches.slots(value)


def routines(module: Any, patches: Patches) -> None:
    """Those that f2py made, of a compiled module or of one that shows its names, adapted perhaps already."""
    for name, value in list(vars(module).items()):
        if is_routine(value):
            patches.wrap(module, name)
        elif is_adapted(value) and is_routine(value.__wrapped__):
            patches.undoing.append(functools.partial(setattr, module, name, value.__wrapped__))
