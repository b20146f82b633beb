"""A compiled kernel in the main process: a shared object, loaded with `ctypes` in about a millisecond, and called."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable, Sequence
from itertools import starmap
from typing import Any

import numpy as np

from lazynp.backends.kernel import KernelSpec
from lazynp.backends.support import CORES
from lazynp.config import config

SLOT = {
    "bool": "?15x",
    "int8": "b15x",
    "int16": "h14x",
    "int32": "i12x",
    "int64": "q8x",
    "uint8": "B15x",
    "uint16": "H14x",
    "uint32": "I12x",
    "uint64": "Q8x",
    "float32": "f12x",
    "float64": "d8x",
    "complex64": "ff8x",
    "complex128": "dd",
}


class _Threads:
    """How many threads compiled code may use. GNU's OpenMP does not survive a fork: a child uses one."""

    def __init__(self) -> None:
        self.forked = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._in_child)

    def _in_child(self) -> None:
        self.forked = True

    def __call__(self) -> int:
        return 1 if self.forked else config.threads or CORES


threads = _Threads()


class Compiled:
    """A kernel as machine code.

    `compiled(in_arrays, scalars, out_arrays) -> bool` takes NumPy arrays of the iteration space's rank, in the order of
    the spec. An axis may have length 1 in place of a stride of 0. Shapes and strides are checked in C against the
    geometry; False means that this code does not fit them (or a guard failed, or an output shares memory with an input
    where the code cannot do that, or memory is short): nothing was written, use the interpreter. `scalars`: Python or
    NumPy numbers, or the bytes of `pack(scalars)`.

    `compiled.call(pointers, dims, scalars, threads) -> int` is the same without arrays and without a check of a static
    geometry: `pointers` a ctypes array of `c_void_p` (inputs, then outputs; each to the element at index 0), `dims` a
    ctypes array of `c_int64` (the shape, then the strides of each operand in elements; None will do where the geometry
    is not symbolic), `scalars` bytes, `threads` at most so many. 0 is success.

    `done`: a list that gets a 0 when the call has been made. C code puts it there, and no signal handler runs between
    the call and that: so who is interrupted knows whether the operands are still what they were.

    Both release the GIL. An output may be the same memory as an input of the same strides.
    """

    __slots__ = ("key", "meta", "call", "pack", "library", "_arrays")

    def __init__(self, spec: KernelSpec, key: str, path: str, meta: dict[str, Any]) -> None:
        self.key, self.meta = key, meta
        self.library = library = ctypes.CDLL(path)
        count = len(spec.inputs) + len(spec.outputs)
        self.call = library.lazynp_run
        self.call.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64)
        self._arrays = library.lazynp_arrays
        self._arrays.argtypes = (*[ctypes.py_object] * count, ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p)
        self.pack = packer(spec.scalars)

    def __call__(
        self,
        in_arrays: Sequence[np.ndarray],
        scalars: Sequence[Any] | bytes,
        out_arrays: Sequence[np.ndarray],
        chain: int | None = None,
        done: list[int] | None = None,
    ) -> bool:
        packed = scalars if type(scalars) is bytes else self.pack(scalars)
        if done is None:
            return self._arrays(*in_arrays, *out_arrays, packed, threads(), chain) == 0
        done.extend(starmap(self._arrays, ((*in_arrays, *out_arrays, packed, threads(), chain),)))
        return done[-1] == 0


BOOLS_ARE_INDICES = hasattr(np.bool_, "__index__")  # before NumPy 2.3, with a warning


def packer(dtypes: Sequence[str]) -> Callable[[Sequence[Any]], bytes]:
    """The function that lays scalars of these dtypes out, 16 bytes each."""
    if not dtypes:
        return lambda values: b""
    pack = struct.Struct("=" + "".join([SLOT[d] for d in dtypes])).pack
    is_complex = [d.startswith("complex") for d in dtypes]
    any_complex = any(is_complex)

    def flat(values: Sequence[Any]) -> list[Any]:
        parts: list[Any] = []
        for value, pair in zip(values, is_complex, strict=True):
            parts.extend((value.real, value.imag) if pair else (value,))
        return parts

    def packed(values: Sequence[Any]) -> bytes:
        if BOOLS_ARE_INDICES:
            values = [bool(v) if type(v) is np.bool_ else v for v in values]
        try:
            return pack(*flat(values)) if any_complex else pack(*values)
        except (struct.error, OverflowError):  # numpy.bool_ among integers, 1e300 in float32: as NumPy casts them
            with np.errstate(all="ignore"):
                return pack(*flat([np.asarray(v).astype(d).item() for v, d in zip(values, dtypes, strict=True)]))

    return packed
