"""`jax.dlpack`: arrays from other libraries. Ours go there by `__dlpack__`, as memory that is shared."""

from __future__ import annotations

from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from ..errors import JaxRuntimeError
from ..graph.node import BORROWED, leaf
from .array import Array, wrap, wrap_value
from .capsules import DLDeviceType, unpacked
from .casts import astype_node
from .devices import own
from .dtypes import canonical, is_extended
from .placement import device_put
from .sharding import Sharding

__all__ = ["from_dlpack", "is_supported_dtype"]

EXCHANGED = frozenset(map(np.dtype, ("?", "b", "h", "i", "q", "B", "H", "I", "Q", bfloat16, "e", "f", "d", "F", "D")))
HOST = (DLDeviceType.kDLCPU, DLDeviceType.kDLCUDAHost)
ALIGNMENT = 64  # memory that is shared has to begin at a multiple of so many bytes, as in JAX


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of that dtype can be exchanged. Raises TypeError for what is no dtype."""
    if dtype is None:
        raise TypeError(f"Expected a string or dtype-like object; got {dtype=}")
    return np.dtype(dtype) in EXCHANGED


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Array:
    """The array that another library's array shows by `__dlpack__`, of the same shape and dtype.

    copy: False has the memory shared, which the other library must not change from then on; else the values are copied
    (those of an array of ours are shared, since nobody changes them). device: where it is to lie.

    Raises: TypeError for what has no `__dlpack__`, as traced arrays and keys have none, or is not in the host's memory;
    ValueError where nothing may be copied and the memory does not begin at a multiple of 64 bytes, or `device` is not
    where it lies; JaxRuntimeError where the elements do not lie one beside the other.
    """
    x = external_array
    if isinstance(device, Sharding):
        if len(device.device_set) > 1:
            raise ValueError(
                "from_dlpack can only unpack a dlpack tensor onto a singular device, but a Sharding with "
                f"{len(device.device_set)} devices was provided."
            )
        (device,) = device.device_set
    without = isinstance(x, Array) and (is_extended(x.dtype) or x.node.trace)
    if without or not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise TypeError("The array passed to from_dlpack must have __dlpack__ and __dlpack_device__ methods.")
    kind, number = x.__dlpack_device__()
    if kind not in HOST:
        raise TypeError(f"Array passed to from_dlpack is on unsupported device type (DLDeviceType: {kind}, array: {x}")
    lies = own()[number]
    if copy is False and device and device != lies:
        raise ValueError(
            f"Specified {device=} which requires a copy since the source device is {lies!r}, however copy=False. Set "
            "copy=True or copy=None to perform the requested operation."
        )
    out = taken(x, copy)
    return device_put(out, device) if device else out


def taken(x: Any, copy: bool | None) -> Array:
    """The array of a capsule, on no device in particular."""
    if isinstance(x, Array) and not copy:
        x.__dlpack__()  # its errors
        return wrap(astype_node(x.node, x.dtype) if x.weak_type else x.node)
    value = unpacked(x)
    order = sorted(range(value.ndim), key=lambda i: -value.strides[i])
    if value.size and not value.transpose(order).flags.c_contiguous:
        strides = [s // value.itemsize for s in value.strides]
        raise JaxRuntimeError(
            "UNIMPLEMENTED: Only DLPack tensors with trivial (compact) striding are supported; i.e., tensors whose "
            "striding represents a transposition of the underlying buffer but not broadcasting. Dimensions were: "
            f"{list(value.shape)}, strides were {strides}."
        )
    if copy is not False or canonical(value.dtype) != value.dtype:
        return wrap_value(np.array(value, canonical(value.dtype), order="C"))
    if value.ctypes.data % ALIGNMENT or not value.flags.c_contiguous:
        raise ValueError(
            f"Specified input which requires a copy since the source data buffer is not aligned to {ALIGNMENT} bytes.  "
            "However copy=False. Set copy=True or copy=None to perform the requested operation."
        )
    node = leaf(value.shape, value.dtype, value)
    node.index = BORROWED
    return wrap(node)
