"""DLPack's capsules of dtypes that NumPy does not exchange: bfloat16 and the floats of 8 bits.

NumPy makes and reads the capsule of whole numbers as wide; what dtype they have stands in one place of it, and is
written, or read, there.
"""

from __future__ import annotations

import ctypes
import enum
from typing import Any

import ml_dtypes
import numpy as np

from ..errors import JaxRuntimeError

__all__ = ["CPU", "check_request", "packed", "unpacked"]


class DLDeviceType(enum.IntEnum):
    """DLPack's numbers for devices."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLROCM = 10


CPU = DLDeviceType.kDLCPU
OLDEST = (0, 5)  # the version of DLPack from which on consumers are served

CODES = {
    np.dtype(ml_dtypes.bfloat16): 4,
    np.dtype(ml_dtypes.float8_e3m4): 7,
    np.dtype(ml_dtypes.float8_e4m3): 8,
    np.dtype(ml_dtypes.float8_e4m3b11fnuz): 9,
    np.dtype(ml_dtypes.float8_e4m3fn): 10,
    np.dtype(ml_dtypes.float8_e4m3fnuz): 11,
    np.dtype(ml_dtypes.float8_e5m2): 12,
    np.dtype(ml_dtypes.float8_e5m2fnuz): 13,
    np.dtype(ml_dtypes.float8_e8m0fnu): 14,
}
DTYPES = {code: dtype for dtype, code in CODES.items()}
UNSIGNED = 1
# The names of capsules, and where in them the code stands: behind the pointer to the data, the device and the number of
# axes; in the versioned kind behind a version, two pointers and flags as well.
PLACES = {b"dltensor": 20, b"dltensor_versioned": 52}
pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
name_of = ctypes.pythonapi.PyCapsule_GetName
name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]


def code_in(capsule: Any) -> ctypes.c_uint8:
    """The place in a capsule where the kind of its dtype stands. Raises BufferError for what is none, or is used up."""
    name = name_of(capsule)
    if name not in PLACES:
        raise BufferError("__dlpack__ has not given a capsule that nobody has used yet")
    return ctypes.c_uint8.from_address(pointer_of(capsule, name) + PLACES[name])


def check_request(stream: Any, max_version: Any, dl_device: Any) -> None:
    """Raise the errors of JAX's `__dlpack__` for a consumer too old, for a stream, or for another device than the CPU:
    BufferError, JaxRuntimeError, RuntimeError."""
    if dl_device is not None and dl_device[0] not in tuple(DLDeviceType):
        raise BufferError(
            "The device specification passed to to_dlpack contains an unsupported device type (DLDeviceType: "
            f"{dl_device[0]})"
        )
    if dl_device is not None and dl_device[0] != CPU:
        platform = "rocm" if dl_device[0] == DLDeviceType.kDLROCM else "cuda"
        raise RuntimeError(f"Unknown backend {platform}. Available backends are ['cpu']")
    if max_version is not None and tuple(max_version) < OLDEST:
        raise BufferError(f"JAX does not support any version below {OLDEST} but version ({max_version}) was requested.")
    if stream is not None:
        raise JaxRuntimeError("UNIMPLEMENTED: WaitUntilBufferReadyOnStream is only implemented for GPU.")


def packed(value: np.ndarray) -> Any:
    """A capsule that shares the memory of an array, which may be read-only: JAX's capsules do not say that they are.

    Raises: JaxRuntimeError for a dtype of less than a byte, which DLPack does not have.
    """
    if value.dtype.name.startswith(("int2", "int4", "uint2", "uint4")):
        kind = ("S" if value.dtype.name[0] == "i" else "U") + value.dtype.name[-1]
        raise JaxRuntimeError(f"UNIMPLEMENTED: XLA type {kind} has no DLPack equivalent")
    if not value.flags.writeable:
        value = value.copy()
    code = CODES.get(value.dtype)
    if code is None:
        return value.__dlpack__()
    capsule = value.view(f"u{value.itemsize}").__dlpack__()
    code_in(capsule).value = code
    return capsule


class Given:
    """A capsule, as NumPy asks for one."""

    def __init__(self, capsule: Any, device: Any) -> None:
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> Any:
        return self.device


def unpacked(x: Any) -> np.ndarray:
    """An array that shares the memory of what has `__dlpack__`."""
    capsule = x.__dlpack__()
    code = code_in(capsule)
    dtype = DTYPES.get(code.value)
    if dtype is not None:
        code.value = UNSIGNED
    value = np.from_dlpack(Given(capsule, x.__dlpack_device__()))
    return value if dtype is None else value.view(dtype)
