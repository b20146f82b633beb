"""Values on a device, and which segments run there: `config.device` says it, and the holders of the results.

Nothing here imports torch. The device itself is loaded when a setting first names one; until then a segment pays for
one look at `devices.used`.
"""

from __future__ import annotations

import functools
import importlib
import math
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..away import Away, on_host
from ..config import config
from ..flags import flags
from ..graph.node import BORROWED, Node
from ..tracebacks import of_a_handler
from .kernels import waits
from .pool import pool
from .profile import profile


class CannotError(Exception):
    """A device has no way to do something; the host has."""


class Devices:
    """What the process has used.

    Attributes:
        used: whether any device but the host was ever set.
    """

    used = False

    def free_memory(self) -> None:
        """Give back what torch keeps of the devices' memory."""
        if self.used:
            device_of(config.device if config.device != "cpu" else "torch").free_memory()


devices = Devices()


@functools.cache
def device_of(name: str) -> Any:
    """The device of that name, which `config.device` can have; see `backends/torch/device.py`. RuntimeError if there
    is none."""
    try:
        made = importlib.import_module("lazynp.backends.torch.device").Device(name)
    except ImportError as error:
        raise RuntimeError(f"device {name!r} needs torch, which cannot be imported: {error}") from error
    devices.used = True
    made.hot.told = profile.compiles.append
    waits.append(made.hot.wait)
    return made


def current() -> Any:
    """The device where what is to be computed now runs; None for the host."""
    if not devices.used or config.device == "cpu" or config.deterministic or flags.on_host:
        return None
    return device_of(config.device)


def allowed(name: str) -> None:
    """Raises RuntimeError for a device that is not there."""
    if name != "cpu":
        device_of(name)


class Flags:
    """What a NumPy array's `flags` say of its memory: a device's values are contiguous, and nobody else's."""

    c_contiguous = writeable = True


@functools.lru_cache(4096)
def contiguous(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Strides in bytes of a C-contiguous array."""
    strides = []
    for n in reversed(shape):
        strides.append(itemsize)
        itemsize *= max(n, 1)
    return tuple(reversed(strides))


class DeviceBuffer(Away):
    """A value on a device, in main memory, or in both, once it was needed in both.

    A node's value never changes. Who writes in place has made sure that the node is gone, and this with it: a storage
    that writes into `array`, a plan that writes into `tensor`.
    """

    __slots__ = ("shape", "dtype", "device", "tensor", "array")
    flags = Flags

    def __init__(self, shape: tuple[int, ...], dtype: Any, device: Any, tensor: Any, array: Any) -> None:
        self.shape, self.dtype, self.device, self.tensor, self.array = shape, dtype, device, tensor, array

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        return self.size * int(self.dtype.itemsize)

    @property
    def strides(self) -> tuple[int, ...]:
        return contiguous(self.shape, self.dtype.itemsize)

    @property
    def here(self) -> bool:
        """Whether it is in main memory, too."""
        return self.array is not None

    def wait(self) -> None:
        """Until it has been computed."""
        if self.tensor is not None:
            self.device.wait()

    def host(self) -> np.ndarray:
        if self.array is None:
            self.array = download(self.device, self.tensor, self.shape, self.dtype)
        return self.array

    def copy(self) -> DeviceBuffer:
        """The same value in memory of its own."""
        return DeviceBuffer(self.shape, self.dtype, self.device, self.device.copy(self.tensor), None)

    def on(self, device: Any) -> Any:
        """The tensor, on that device; elsewhere it is none any more."""
        if self.tensor is None or self.device is not device:
            self.device, self.tensor = device, upload(device, self.host())
        return self.tensor


def upload(device: Any, array: np.ndarray) -> Any:
    """An array as a tensor of its own."""
    profile.uploads += 1
    return device.upload(array)


def arrived(device: Any, value: Any) -> Any:
    """A value as an environment on a device has it: a tensor, or what it is, if no tensor can be made of it."""
    if type(value) is tuple:
        return tuple([arrived(device, v) for v in value])
    if isinstance(value, (DeviceBuffer, np.ndarray)) and device.can_hold(value):
        try:
            return value.on(device) if isinstance(value, DeviceBuffer) else upload(device, value)
        except Exception as error:  # its memory is full: what reads the value runs on the host
            if of_a_handler(error):
                raise
    return on_host(value)


def download(device: Any, tensor: Any, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """A tensor as an array of its own."""
    profile.downloads += 1
    out = pool.empty(shape, dtype)
    device.download(tensor, out)
    return out


def placed(plan: Any, segment: Any, refs: Sequence[weakref.ref[Node]], buffers: list[Any]) -> Any:
    """The plan to run a segment with where its values are to be, and its leaves made ready for that."""
    there = current()
    if there is None or is_small(segment.shapes, buffers):
        buffers[:] = [on_host(b) for b in buffers]
        return plan
    for k, ref in enumerate(refs):
        node = ref()
        if node is not None and type(buffers[k]) is np.ndarray:
            buffers[k] = kept(node, buffers[k], there)
    return elsewhere(plan, segment.dtypes, there)


def is_small(shapes: Sequence[Any], buffers: Sequence[Any]) -> bool:
    """Whether all that a segment reads is in main memory, and nothing is large that it makes, of these shapes: then
    the host has done it before a device has begun."""
    limit = config.limit
    return all([type(b) is np.ndarray or isinstance(b, Away) and b.here for b in buffers]) and all(
        [math.prod(shape) <= limit for shape in shapes if shape is not None]
    )


def elsewhere(plan: Any, dtypes: Sequence[Any], device: Any) -> Any:
    """A plan of the host as one of the device, for nodes of these dtypes."""
    profile.device_segments[device.name] += 1
    found = plan.elsewhere.get(device.name)
    if found is None:
        found = plan.elsewhere[device.name] = on_device(plan, dtypes, device)
    return found


def kept(node: Node, array: np.ndarray, device: Any) -> Any:
    """A node's array as something that keeps its copy on a device, since it will be read again; what others may write
    to as it is."""
    if node.index == BORROWED:
        return array
    node.buffer = DeviceBuffer(array.shape, array.dtype, device, None, array)
    return node.buffer


def on_device(plan: Any, dtypes: Sequence[Any], device: Any) -> Any:
    """A plan over tensors, for nodes of these dtypes. What makes it is loaded when a device is first used."""
    return importlib.import_module(__package__ + ".device_steps").on_device(plan, dtypes, device)
