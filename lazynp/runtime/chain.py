"""Calls of compiled kernels that wait for one another, to run a few rows of each at a time while those are in a core's
cache (`backends/torch/chain.py` has the code, and how it orders them)."""

from __future__ import annotations

import ctypes
import threading
import time
from itertools import starmap
from typing import Any

import numpy as np

from ..config import config
from .profile import profile


class Chain:
    """What waits in one thread. Whatever else reads or writes arrays calls `settle` before.

    Attributes:
        pointer: the chain in C++, made by the first compiled kernel that there is; None before.
    """

    __slots__ = ("pointer", "kept", "_threads", "_run", "_copy")

    def __init__(self) -> None:
        self.pointer: int | None = None
        self.kept: list[Any] = []  # the arrays of the calls that wait

    def open(self, compiled: Any, threads: Any) -> None:
        """Take the functions out of a kernel's library; those of all libraries are the same."""
        library = compiled.library
        library.lazynp_chain_new.restype = ctypes.c_void_p
        self._run, self._copy, self._threads = library.lazynp_chain_run, library.lazynp_chain_copy, threads
        self._run.argtypes = (ctypes.c_void_p, ctypes.c_int64)
        self._copy.argtypes = (
            ctypes.c_void_p,
            ctypes.py_object,
            ctypes.py_object,
            ctypes.c_int64,
            ctypes.c_int64,
        )
        self.pointer = library.lazynp_chain_new()

    def settle(self) -> None:
        """Run what waits."""
        if self.kept:
            start = time.perf_counter()
            self._run(self.pointer, self._threads())
            self.kept.clear()
            profile.compiled_seconds += time.perf_counter() - start

    def copy(self, to: np.ndarray, value: Any, taken: list[int]) -> bool:
        """Copy a value into a region when its turn comes; `taken` gets a 1 then. False: it has to be done at once."""
        if not self.kept:
            return False
        value = np.asarray(value)
        if value.dtype != to.dtype:
            if value.ndim:
                return self.refuse()
            with np.errstate(all="ignore"):
                value = value.astype(to.dtype)
        if not to.size or not to.dtype.isnative or to.dtype.kind not in "biufc":
            return self.refuse()
        if value.shape != to.shape:
            value = np.broadcast_to(value, to.shape)
        self.kept.append((to, value))
        taken.extend(starmap(self._copy, ((self.pointer, to, value, to.dtype.itemsize, self._threads()),)))
        return bool(taken[-1]) or self.refuse()

    def refuse(self) -> bool:
        self.settle()
        return False


class _Local(threading.local):
    def __init__(self) -> None:
        self.chain = Chain()


_local = _Local()


def current() -> Chain | None:
    """This thread's chain; None where results have to be the same for any number of threads."""
    return _local.chain if config.chain else None
