"""The base classes of the door's hot objects: in C where `_speed` was built, else in Python. Imports nothing of lazynp.

The C module is optional, and decides nothing: it does what the Python methods do where operands are at hand and small,
and calls them otherwise. `LAZYNP_SPEED=0` does without it.
"""

from __future__ import annotations

import functools
import importlib
import operator
import os
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np


def built(name: str) -> Any:
    """A C module, None where it was not built, or built for another Python or NumPy, or where none is to be used."""
    try:
        return importlib.import_module(f"lazynp.{name}") if os.environ.get("LAZYNP_SPEED", "1") != "0" else None
    except ImportError:
        return None


native: Any = built("_speed")
calls: Any = built("_calls")

# What a function is like, as `_whole.h` has it: its result may be larger than all arguments; a large result is for the
# Python function to make, which has more named arguments than NumPy's; it writes into its first argument, or does so
# with `copy=False`; it is a method of a generator, one that may have a draw under way, or that asks others of its
# methods; it is `__array_ufunc__`; it makes no arrays but views of any size;
# what it gives is no array, nor has any; it reads a file, which may be any object; its result is smaller than its
# arguments, as that of the functions and methods named below is; it says whether two arrays share memory; it makes an
# array, mostly of what is none; it is the `__new__` of a class; the Python function always does it; of its
# first argument it reads or writes what the second one names.
GROWS, BLANK, BARE, WRITES, NO_COPY, DRAWS, WAITS, BY_TWIN = 1, 2, 4, 8, 16, 32, 1 << 17, 1 << 18
PROTOCOL, LOOKS, VALUES, READS = 64, 128, 512, 1024
REDUCES, SHARES, MAKES, CREATES, NEVER, TOUCHES, ONCE, SEVERAL = 2048, 4096, 8192, 16384, 32768, 65536, 1 << 19, 1 << 20
REDUCING = frozenset(
    {
        *("all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min", "prod", "ptp"),
        *("sum", "nanmax", "nanmin", "nanargmax", "nanargmin", "nanmedian", "nanpercentile", "nanquantile"),
        *("histogram2d", "histogramdd", "argwhere", "flatnonzero", "nonzero", "trim_zeros"),
    }
)
# One call for NumPy, of which no neighbour could be a part: what it gives is small, or is moved, or has taken a search.
# Not what the engine does in parts on all cores, or fuses (`roll`, `diff`, `outer`).
AT_ONCE = frozenset(
    {
        *("array_equal", "array_equiv", "convolve", "correlate", "count_nonzero", "norm", "trace", "trapezoid", "vdot"),
        *("allclose", "choose", "packbits", "unpackbits"),
        *("nansum", "nanprod", "nanmean", "nanstd", "nanvar", "nanmax", "nanmin", "nanargmax", "nanargmin"),
        *("nancumsum", "nancumprod", "delete", "insert", "append", "resize", "trim_zeros", "pad", "repeat", "tile"),
        *("concatenate", "concat", "hstack", "vstack", "dstack", "column_stack", "stack"),
        *("block", "fftshift", "geomspace", "ifftshift", "indices", "linspace", "logspace", "meshgrid", "tri"),
        "vander",
    }
)
# Some passes, each of which takes less than to record it, on arrays that are little more than small.
IN_PASSES = frozenset({"gradient", "nan_to_num", "polyval"})
TOUCHING = frozenset({"put", "searchsorted", "take"})  # beside `ufunc.at`
MOST = 100  # arguments by place, where none is written to


def sized_by(names: Sequence[str]) -> int:
    """The flags that say which of the arguments of these names says how large the result is; 0 where none does."""
    return next((i + 1 << 21 for i, name in enumerate(names) if name in ("size", "num", "shape")), 0)


if TYPE_CHECKING or native is None:

    class StorageBase:
        """What `runtime.storage.Storage` holds."""

        __slots__ = ("buf", "busy", "free", "node", "reads", "details", "__weakref__")
        buf: Any
        busy: int
        free: bool
        node: Any
        reads: Any
        details: Any

    class HandleBase:
        """What `ndarray` holds."""

        __slots__ = ("_s_", "_b_", "_h_", "_v_", "_base_", "__weakref__")
        _s_: Any
        _b_: Any
        _h_: Any
        _v_: Any
        _base_: Any

    class UfuncBase:
        """What `ufunc` holds, and its call."""

        __slots__ = ("host", "warns_of_places")
        host: Any
        warns_of_places: bool

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return self._call(*args, **kwargs)

        def _call(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    class FlatBase:
        """What `flatiter` holds: the array, and NumPy's iterator over it once there is one."""

        __slots__ = ("_owner", "_made")
        _owner: Any
        _made: Any

    class LenderBase:
        """What gives `jax.Array` a buffer, from Python 3.12 on: that of NumPy's array, read-only."""

        __slots__ = ()

        def __buffer__(self, flags: int, /) -> memoryview:
            return memoryview(self._buffer())

        def _buffer(self) -> Any:
            raise NotImplementedError

    class FunctionBase:
        """What a public function is called by. Attributes of the C module's class, which this one has no use for:

        Attributes:
            whole: NumPy's function, which does the whole of a call on small arrays; None for never.
            most: how many arguments it takes by place before one that it writes to.
            flags: of those above.
        """

        whole: Any = None
        most: int = 0
        flags: int = 0

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return self._call(*args, **kwargs)

        def _call(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

else:
    StorageBase, HandleBase, UfuncBase = native.StorageBase, native.HandleBase, native.UfuncBase
    FunctionBase, FlatBase, LenderBase = native.FunctionBase, native.FlatBase, native.LenderBase

Method: type = types.FunctionType if native is None else native.Method


if TYPE_CHECKING or calls is None:

    class CallBase:
        """What a compiled function is called by. `_signatures` are those that the C module compares a call with."""

        _signatures: list[Any]

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return self._slow(*args, **kwargs)

        def _slow(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    class OneStepBase:
        """What a small program is called by once it is compiled."""

        __slots__ = ()

        def enter(self, address: int, inputs: Any, constants: Any, results: Any) -> bool:
            """Have the function at that address called; whether `step` can do so."""
            return False

        def step(self, values: list[Any]) -> list[Any]:
            raise NotImplementedError

else:
    CallBase, OneStepBase = calls.CallBase, calls.OneStepBase


def attach(cls: type, attribute: str, function: Any, kind: str = "", name: str = "") -> None:
    """Make a function a method of `cls`; where the C module has that slot, what the slot falls back on."""
    if native is None or not kind:
        setattr(cls, attribute, function)
    else:
        native.bind({kind: {name: function}})


def tell(**objects: Any) -> None:
    """Give the C module what it makes its results of."""
    if native is not None:
        native.bind({"other": objects})


def in_messages(cls: type, name: str) -> None:
    """Have Python's messages of errors call a class as NumPy's is called: those of a class made in C have its module,
    and programs show and match them ("unhashable type: 'numpy.ndarray'")."""
    if native is not None:
        native.set_type_name(cls, name)


def not_simple(host: Any, self: Any, *given: Any) -> Any:
    """What the C module says where a method call is not simple: without it, none is."""
    return NotImplemented


def method(host: Any, function: Any, most: int = MOST, flags: int = 0) -> Any:
    """A method as the C module calls it: NumPy's on small arrays at hand, with at most so many arguments by place.

    Args:
        host: NumPy's method; its name, where it is a ufunc's.
        function: the Python method, which does everything.
        most: how many arguments by place it takes beside self before one that it writes to.
        flags: of those above.
    """
    if native is None:
        return function
    return functools.update_wrapper(native.Method(host, function, most, flags), function, updated=())


def attribute(name: str, descriptor: Any) -> Any:
    """An attribute as the C module reads it: NumPy's where the value is at hand and small."""
    return descriptor if native is None else native.Attribute(name, descriptor)


def asked(name: str | None, descriptor: property) -> Any:
    """An attribute of a subclass that depends on who asks, as the C module reads it for our code: from the instance's
    dict; no name: the class."""
    return descriptor if native is None else native.CallerDependent(name, descriptor)


def repeating_at(f: Any, x: Any, key: Any, *value: Any) -> None:
    """`f.at(x, key, *value)`. NumPy's loop for vectors reads behind a value of one dimension where the key has more and
    repeats it; one of two dimensions it repeats rightly."""
    places = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    if value and np.ndim(x) == np.ndim(value[0]) == 1 and not isinstance(places, tuple) and np.ndim(places) > 1:
        value = (np.asarray(value[0])[None],)
    f.at(x, key, *value)


# `x[key]`, `x[key] = value` and `f.at(x, key, value)` of NumPy's arrays: masks, rows, elements of several axes.
get_places: Any = operator.getitem if native is None else native.get_places
set_places: Any = operator.setitem if native is None else native.set_places
at_places: Any = repeating_at if native is None else native.at_places
at_once: Any = not_simple if native is None else native.method
reduced: Any = not_simple if native is None else native.reduce
reduce_array: Any = not_simple if native is None else native.reduce_array
scan_array: Any = not_simple if native is None else native.scan_array
whole_call: Any = not_simple if native is None else native.whole_call
