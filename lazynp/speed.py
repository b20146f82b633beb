"""The base classes of the door's hot objects: in C where `_speed` was built, else in Python. Imports nothing of lazynp.

The C module is optional, and decides nothing: it does what the Python methods do where operands are at hand and small,
and calls them otherwise. `LAZYNP_SPEED=0` does without it.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any


def built(name: str) -> Any:
    """A C module, None where it was not built, or built for another Python or NumPy, or where none is to be used."""
    try:
        return importlib.import_module(f"lazynp.{name}") if os.environ.get("LAZYNP_SPEED", "1") != "0" else None
    except ImportError:
        return None


native: Any = built("_speed")
calls: Any = built("_calls")

if TYPE_CHECKING or native is None:

    class StorageBase:
        """What `runtime.storage.Storage` holds."""

        __slots__ = ("buf", "busy", "free", "node", "reads", "rare", "__weakref__")
        buf: Any
        busy: int
        free: bool
        node: Any
        reads: Any
        rare: Any

    class HandleBase:
        """What `ndarray` holds."""

        __slots__ = ("_s", "_b", "_h", "_v", "_base", "__weakref__")
        _s: Any
        _b: Any
        _h: Any
        _v: Any
        _base: Any

    class UfuncBase:
        """What `ufunc` holds, and its call."""

        __slots__ = ("host",)
        host: Any

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return self._call(*args, **kwargs)

        def _call(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

else:
    StorageBase, HandleBase, UfuncBase = native.StorageBase, native.HandleBase, native.UfuncBase


if TYPE_CHECKING or calls is None:

    class CallBase:
        """What a compiled function is called by. `_signatures` are those that the C module compares a call with."""

        _signatures: list[Any]

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return self._slow(*args, **kwargs)

        def _slow(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

else:
    CallBase = calls.CallBase


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


def not_simple(host: Any, self: Any, *given: Any) -> Any:
    """What the C module says where a method call is not simple: without it, none is."""
    return NotImplemented


at_once: Any = not_simple if native is None else native.method
reduced: Any = not_simple if native is None else native.reduce
