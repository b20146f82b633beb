"""Where the rows of a value lie: in main memory as NumPy's arrays, or on a device as tensors.

What is done with rows is said here for both, so that nobody else has to know which they are. Of both `x.shape` is the
shape and `x[slices]` a view. Nothing here imports torch.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..away import on_host
from ..backends.support import compilable
from ..runtime.device import DeviceBuffer, download, upload
from ..runtime.pool import pool
from ..runtime.profile import profile
from .layout import Shape


class Memory(Protocol):
    """Attributes: device: of `runtime/device.py`; None for main memory. link: what sends rows as they are (see
    `Group.exchange`); None where they have to be in main memory for that."""

    device: Any
    link: Any

    def empty(self, shape: Shape, dtype: Any) -> Any:
        """Rows whose values are not set."""

    def unread(self, shape: Shape, dtype: Any) -> Any:
        """What stands for rows that nobody reads."""

    def bring(self, array: np.ndarray) -> Any:
        """Rows here, of rows in main memory."""

    def host(self, x: Any, dtype: Any) -> np.ndarray:
        """Rows in main memory, of rows here."""

    def copy(self, x: Any) -> Any:
        """Rows with memory of their own."""

    def writable(self, x: Any) -> Any:
        """The rows, or a copy where they may not be written to."""

    def write(self, target: Any, source: Any) -> None:
        """The target's values become those of the source: rows here, or what `landing` gave."""

    def joined(self, name: str, a: Any, b: Any) -> Any:
        """The rows that a ufunc makes of a and b, in b's dtype."""

    def take(self, x: Any, places: np.ndarray) -> Any:
        """The rows at these places along the first axis."""

    def put(self, x: Any, places: np.ndarray, rows: Any) -> None:
        """The rows at these places along the first axis become others."""

    def sent(self, x: Any) -> Any:
        """Rows as `Group.exchange` sends them."""

    def landing(self, target: Any, dtype: Any) -> Any:
        """What `Group.exchange` receives: the target itself, or what is then to be written there."""

    def value(self, x: Any, dtype: Any) -> Any:
        """Rows as a node has them and plans read them."""

    def rows(self, value: Any, key: Any = ...) -> Any:
        """Rows of what a node has, or a plan has made, wherever that is."""


class MainMemory:
    """NumPy's arrays."""

    device = link = None

    def empty(self, shape: Shape, dtype: Any) -> np.ndarray:
        return pool.empty(shape, dtype)

    def unread(self, shape: Shape, dtype: Any) -> np.ndarray:
        return np.empty(shape, dtype)

    def bring(self, array: np.ndarray) -> np.ndarray:
        return array

    def host(self, x: np.ndarray, dtype: Any) -> np.ndarray:
        return x

    def copy(self, x: np.ndarray) -> np.ndarray:
        return x.copy()

    def writable(self, x: np.ndarray) -> np.ndarray:
        return x if x.flags.writeable else x.copy()

    def write(self, target: np.ndarray, source: np.ndarray) -> None:
        target[...] = source

    def joined(self, name: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            out: np.ndarray = getattr(np, name)(a, b)
        return out.astype(b.dtype, copy=False)

    def take(self, x: np.ndarray, places: np.ndarray) -> np.ndarray:
        return x[places]

    def put(self, x: np.ndarray, places: np.ndarray, rows: np.ndarray) -> None:
        x[places] = rows

    def sent(self, x: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(x)

    def landing(self, target: np.ndarray, dtype: Any) -> np.ndarray:
        return target if target.flags.c_contiguous else np.empty(target.shape, dtype)

    def value(self, x: np.ndarray, dtype: Any) -> np.ndarray:
        return x

    def rows(self, value: Any, key: Any = ...) -> Any:
        return on_host(value)[key]


class DeviceMemory:
    """Tensors of a device."""

    def __init__(self, device: Any, link: Any) -> None:
        self.device, self.link = device, link

    def empty(self, shape: Shape, dtype: Any) -> Any:
        return self.device.blank(shape, dtype)

    def unread(self, shape: Shape, dtype: Any) -> Any:
        return self.device.blank((), dtype).expand(shape)

    def bring(self, array: np.ndarray) -> Any:
        return upload(self.device, array)

    def host(self, x: Any, dtype: Any) -> np.ndarray:
        return download(self.device, x, tuple(x.shape), dtype)

    def copy(self, x: Any) -> Any:
        return self.device.copy(x)

    def writable(self, x: Any) -> Any:
        return x

    def write(self, target: Any, source: Any) -> None:
        self.device.paste(target, upload(self.device, source) if type(source) is np.ndarray else source)

    def joined(self, name: str, a: Any, b: Any) -> Any:
        spec = self.device.spec_of(name, b)
        if compilable(spec, eager=True) is None:
            return self.device.evaluate(spec, [a, b], [], tuple(b.shape), [None])[0][0]
        profile.device_host[name] += 1
        dtype = self.device.dtype_of(b)
        return self.bring(main_memory.joined(name, self.host(a, dtype), self.host(b, dtype)))

    def take(self, x: Any, places: np.ndarray) -> Any:
        return self.device.take(x, upload(self.device, places))

    def put(self, x: Any, places: np.ndarray, rows: Any) -> None:
        rows = upload(self.device, rows) if type(rows) is np.ndarray else rows
        self.device.put(x, upload(self.device, places), rows)

    def sent(self, x: Any) -> Any:
        return self.host(x, self.device.dtype_of(x)) if self.link is None else self.device.dense(x)

    def landing(self, target: Any, dtype: Any) -> Any:
        if self.link is None:
            return pool.empty(tuple(target.shape), dtype)
        return target if target.is_contiguous() else self.empty(tuple(target.shape), dtype)

    def value(self, x: Any, dtype: Any) -> DeviceBuffer:
        return DeviceBuffer(tuple(x.shape), dtype, self.device, x, None)

    def rows(self, value: Any, key: Any = ...) -> Any:
        return value.on(self.device)[key] if isinstance(value, DeviceBuffer) else upload(self.device, value[key])


main_memory = MainMemory()
