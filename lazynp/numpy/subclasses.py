"""NumPy's subclasses of its array and ours of that name: masked arrays, matrices, records, memory maps, characters.

An instance of one becomes an instance of the other that shares its memory and has its state, a mask for one. So NumPy
and the libraries get what they know where we are asked for an array (`__array__`), and theirs arrive as ours.
"""

from __future__ import annotations

import dis
import functools
import importlib
import opcode
import os
import sys
import types
import weakref
from typing import Any

import numpy

from ..speed import asked
from . import array
from .array import Handle, borrow, ndarray

found: dict[str, weakref.WeakKeyDictionary[type, Any]] = {
    "numpy": weakref.WeakKeyDictionary(),
    "lazynp": weakref.WeakKeyDictionary(),
}


def counterpart(kind: type, here: str, there: str) -> Any:
    """The class `there` that has the name of `kind`, or of the nearest of its bases that `here` has itself: None where
    that is the array itself."""
    known = found[there]
    if kind not in known:
        known[kind] = None
        for base in kind.__mro__:
            if base is ndarray or base is numpy.ndarray:
                break
            module = base.__module__
            if module == here or module.startswith(here + "."):
                known[kind] = getattr(importlib.import_module(there + module[len(here) :]), base.__name__, None)
                break
    return known[kind]


def theirs(kind: type) -> Any:
    """NumPy's class for a subclass of ours, or for its nearest base that NumPy has; None if that is `ndarray`."""
    return counterpart(kind, "lazynp", "numpy")


def ours(kind: type) -> Any:
    """Our class for a subclass of NumPy's array; None if that is `ndarray`, or some library's own."""
    return counterpart(kind, "numpy", "lazynp") if kind is not numpy.ndarray else None


def is_theirs(x: Any) -> bool:
    """Whether x is an array of NumPy's of a class that we have too."""
    return isinstance(x, numpy.ndarray) and ours(type(x)) is not None


def to_numpy(x: Any) -> Any:
    """NumPy's array for one of ours, sharing its memory: of the class that stands for x's."""
    kind = theirs(type(x)) if type(x) is not ndarray else None
    host = x._pin_(shared=True)
    if kind is None:
        return host
    if issubclass(kind, numpy.ma.core.MaskedConstant):
        return numpy.ma.masked
    out = host.view(kind)
    vars(out).update({k: state_to_numpy(v) for k, v in vars(x).items()})
    return out


def state_to_numpy(v: Any) -> Any:
    """An attribute of an array, or what is in it, as NumPy's class has it: a view, since a mask's shape is set."""
    if isinstance(v, Handle):
        return to_numpy(v).view()
    if isinstance(v, type) and issubclass(v, ndarray):
        return theirs(v) or numpy.ndarray
    return {k: state_to_numpy(w) for k, w in v.items()} if type(v) is dict else v


def from_numpy(x: numpy.ndarray, kind: Any = None) -> Any:
    """Our array for one of NumPy's subclasses, sharing its memory. The counterpart of `to_numpy`."""
    kind = kind or ours(type(x))
    if kind is None:
        return borrow(x.view(numpy.ndarray))
    if x is numpy.ma.masked:
        return sys.modules["lazynp.ma"].masked
    base = borrow(x.view(numpy.ndarray))
    out = base.view(kind)
    vars(out).update({k: state_from_numpy(v) for k, v in vars(x).items()})
    return out


def state_from_numpy(v: Any) -> Any:
    if isinstance(v, numpy.ndarray):
        return from_numpy(v)
    if isinstance(v, type) and issubclass(v, numpy.ndarray):
        return ours(v) or ndarray
    return {k: state_from_numpy(w) for k, w in v.items()} if type(v) is dict else v


def as_ours(x: Any) -> Any:
    """An argument as the door takes it: what is of a subclass of NumPy's that we have too, as ours."""
    return from_numpy(x) if type(x) is not numpy.ndarray and is_theirs(x) else x


# --- masked arrays in the hands of code that knows only NumPy's ---


@functools.lru_cache(1024)
def is_installed(filename: str) -> bool:
    """Whether code is of an installed library; NumPy's own is, but for its tests."""
    path = os.path.join(os.path.dirname(filename), "")
    if filename.startswith(NUMPY) and f"{os.sep}tests{os.sep}" in path:
        return False
    return filename.startswith(NUMPY) or any(f"{os.sep}{name}{os.sep}" in path for name in PACKAGES)


NUMPY = os.path.join(os.path.dirname(numpy.__file__), "")
PACKAGES = ("site-packages", "dist-packages")


def asking_frame(depth: int) -> Any:
    """The frame that asks for an attribute; records and masked records have a `__getattribute__` in between."""
    frame = sys._getframe(depth)
    while frame.f_back is not None and frame.f_code.co_name == "__getattribute__":
        frame = frame.f_back
    return frame


def asker(frame: Any) -> str:
    """Whose code asks for an attribute: "numpy", "library", "lazynp" with its copy of NumPy's code, or "program"."""
    if frame.f_globals.get("__name__", "").startswith("lazynp"):
        return "lazynp"
    filename = frame.f_code.co_filename
    if not is_installed(filename):
        return "program"
    return "numpy" if filename.startswith(NUMPY) else "library"


def by_name(frame: Any, name: str) -> bool:
    """Whether code asks for an attribute by its name (`x.name`, `getattr(x, "name")`); not so `isinstance`, which is a
    call. The instruction says it; what stands behind it (zeros, its cache) is where a frame may have got to."""
    code, at = frame.f_code.co_code, frame.f_lasti
    while at > 0 and not code[at]:
        at -= 2
    return code[at] in ATTRIBUTE or name in frame.f_code.co_consts


ATTRIBUTE = frozenset({opcode.opmap[n] for n in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR") if n in opcode.opmap})


@functools.lru_cache(1024)
def calls_method(code: types.CodeType, at: int, name: str) -> bool:
    """Whether the instruction at an offset of some code is `x.name(...)`: a call that begins where an attribute of this
    name is loaded, in the same expression."""
    if name not in code.co_names:
        return False
    places = [(line, column) for line, _, column, _ in code.co_positions()]
    if places[at // 2][1] is None:  # Python runs without the columns
        return True
    loads = [i for i in dis.get_instructions(code) if i.argval == name and i.offset < at]
    return any(i.opcode in ATTRIBUTE and places[i.offset // 2] == places[at // 2] for i in loads)


def told_class(self: Any) -> type:
    frame = asking_frame(2)
    who = asker(frame)
    if who == "numpy":
        return numpy.ndarray
    if who == "lazynp" or who == "program" and by_name(frame, "__class__"):
        return type(self)
    return theirs(type(self))


told = asked(None, property(told_class, vars(object)["__class__"].__set__))


def as_asked(name: str) -> Any:
    """An attribute of a masked array: as ours for our code, as NumPy's for libraries and NumPy."""

    def get(self: Any) -> Any:
        try:
            value = vars(self)[name]
        except KeyError:
            raise AttributeError(name) from None
        theirs_too = asker(asking_frame(2)) in ("numpy", "library")
        return state_to_numpy(value) if theirs_too else state_from_numpy(value)

    def put(self: Any, value: Any) -> None:
        vars(self)[name] = value

    return asked(name, property(get, put))


# Attributes of our classes that depend on who asks. Who finds no masked array (`isinstance(x, numpy.ma.MaskedArray)`)
# goes on with its data alone, masked values and all, and nobody notices: libraries are told NumPy's class, and so is
# `isinstance` in the program's own code, which else gets the real one. NumPy's code looks for a mask in any array, and
# makes views of the real type where it is a masked one's: it is told that it is an array. The mask, and the class of
# the data, which NumPy's code takes views by, are NumPy's for that and ours for ours.
array.added["lazynp.matrixlib.defmatrix", "matrix"] = {"__class__": told}
array.added["lazynp._core.records", "recarray"] = {"__class__": told}
array.added["lazynp._core.memmap", "memmap"] = {"__class__": told}
array.added["lazynp._core.defchararray", "chararray"] = {"__class__": told}
array.added["lazynp.ma.core", "MaskedArray"] = {
    "__class__": told,
    "_baseclass": as_asked("_baseclass"),
    "_mask": as_asked("_mask"),
}
array.class_of, array.as_ours = ours, as_ours


def take_theirs(core: Any) -> None:
    """Have the function of `lazynp.ma` that most others begin with take NumPy's masked arrays too."""
    as_masked = core.asanyarray

    @functools.wraps(as_masked)
    def asanyarray(a: Any, dtype: Any = None) -> Any:
        return as_masked(as_ours(a), dtype)

    core.asanyarray = asanyarray
