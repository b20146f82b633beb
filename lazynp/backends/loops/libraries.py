"""Libraries that machine code calls: glibc's vector mathematics, and the BLAS that NumPy brings along."""

from __future__ import annotations

import ctypes
import functools
import glob
import os
import platform
from typing import NamedTuple

import numpy as np

from ...graph.op import registry


@functools.cache
def operands() -> dict[str, int]:
    """C's functions of floats that operations are, and how many operands they have."""
    codes = [(op.code, 1 if op.ufunc is None else op.ufunc.nin) for op in registry.values() if op.code is not None]
    return {code.libm: n for code, n in codes if code.libm}


@functools.cache
def vectorized() -> tuple[str, ...]:
    """The functions of libm that this machine has for vectors too."""
    if platform.machine() != "x86_64":
        return ()
    try:
        library = ctypes.CDLL("libmvec.so.1")
    except OSError:
        return ()
    return tuple(
        [name for name, n in operands().items() if hasattr(library, f"_ZGVbN2{'v' * n}_{name}")]
    )  # of the float versions it has the same


def declarations() -> str:
    """Tells the compiler that there are vector versions."""
    lines = []
    for name in vectorized():
        for t, suffix in (("double", ""), ("float", "f")):
            arguments = ", ".join([t] * operands()[name])
            lines.append(f'{t} {name}{suffix}({arguments}) noexcept __attribute__((simd("notinbranch")));')
    return "\n".join(['extern "C" {', *lines, "}\n"])


class Blas(NamedTuple):
    """Addresses of C functions by dtype, and the C type of their integers."""

    gemm: dict[str, int]
    integer: str


@functools.cache
def blas() -> Blas | None:
    """NumPy's own OpenBLAS; None where NumPy is linked with something else."""
    root = os.path.dirname(np.__file__)
    files = [*glob.glob(f"{root}.libs/*openblas*"), *glob.glob(f"{root}/.dylibs/*openblas*")]
    for path in files:
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for pattern, integer in (("scipy_cblas_{}gemm64_", "int64_t"), ("cblas_{}gemm64_", "int64_t")):
            names = {"float32": pattern.format("s"), "float64": pattern.format("d")}
            if all([hasattr(library, n) for n in names.values()]):
                found = {d: ctypes.cast(getattr(library, n), ctypes.c_void_p).value or 0 for d, n in names.items()}
                return Blas(found, integer)
    return None


class Ufunc(ctypes.Structure):
    """The head of NumPy's object, which its C API has as `PyUFuncObject`."""

    _fields_ = (
        ("head", ctypes.c_byte * object.__basicsize__),
        *[(name, ctypes.c_int) for name in ("nin", "nout", "nargs", "identity")],
        *[(name, ctypes.POINTER(ctypes.c_void_p)) for name in ("functions", "data")],
        *[(name, ctypes.c_int) for name in ("ntypes", "reserved")],
        ("name", ctypes.c_void_p),
        ("types", ctypes.POINTER(ctypes.c_byte)),
    )


@functools.cache
def inner_loop(ufunc: np.ufunc, dtypes: tuple[str, ...]) -> tuple[int, int] | None:
    """The addresses of a ufunc's loop for these dtypes, and of what it is given; None where it has none."""
    head, numbers = Ufunc.from_address(id(ufunc)), [np.dtype(d).num for d in dtypes]
    if head.nargs != len(numbers) or not head.functions or not head.types:
        return None
    for k in range(head.ntypes):
        if [head.types[k * head.nargs + i] for i in range(head.nargs)] == numbers:
            function, data = head.functions[k], head.data[k] if head.data else None
            return (function, data or 0) if function else None
    return None
