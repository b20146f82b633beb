"""A whole graph as one piece of compiled code: what a device does step by step, traced, and given to Inductor.

The steps are the same ones. They run over tensors without values, on a device that knows no memory: its views are
indices, its writes are made functional, and what needs a value on the host ends the trace, since then the graph cannot
be one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

from lazynp.backends.torch.device import DTYPES, Device, dtype_named
from lazynp.backends.torch.hot import Hot
from lazynp.backends.torch.inductor import for_these
from lazynp.backends.torch.keys import Keys
from lazynp.backends.torch.library import SIGNED, bits


class CannotTraceError(Exception):
    """A step needs values."""


class Tracing(Device):
    """The device as tensors without values see it."""

    traces = True

    def __init__(self, device: Device) -> None:
        self.name, self.torch = device.name, device.torch
        self.hot = Hot(device.name, False)
        self.scalar = self._scalar

    def holds(self, x: Any) -> bool:
        return isinstance(x, (Tensor, Keys))

    def upload(self, array: np.ndarray) -> Tensor:
        raise CannotTraceError

    def download(self, x: Tensor, out: np.ndarray) -> None:
        raise CannotTraceError

    def _scalar(self, data: bytes, dtype: str) -> Tensor:
        kind = DTYPES[dtype]
        if kind in SIGNED:
            signed = np.frombuffer(data, dtype_named(dtype[1:]))[0]
            return torch.full((), signed.item(), dtype=SIGNED[kind], device=self.torch).view(kind)
        value = np.frombuffer(data, dtype_named(dtype))[0]
        number = float(value) if dtype == "bfloat16" else value.item()
        return torch.full((), number, dtype=kind, device=self.torch)

    def region(self, x: Tensor, key: Sequence[Any]) -> tuple[Tensor, list[int]]:
        index: list[Any] = []
        backwards, at = [], 0
        for k in key:
            if type(k) is int:
                index.append(k)
                continue
            if k is not None:
                start, count, step = k
                if step < 0 and count > 1:
                    start, step = start + (count - 1) * step, -step
                    backwards.append(at)
                step = step if count > 1 else 1
                k = slice(start, start + (count - 1) * step + 1, step) if count else slice(0, 0)
            index.append(k)
            at += 1
        return x[tuple(index)], backwards

    def around(self, x: Tensor, parts: Iterable[Sequence[Any]]) -> Tensor:
        return self.copy(x)

    def memory(self, x: Tensor) -> int:
        return int(x.untyped_storage()._cdata)

    def apart(self, x: Any, taken: set[int]) -> Any:
        if type(x) is Keys:
            return Keys(self.apart(x.words, taken), x.dtype)
        return bits(x.resolve_conj().resolve_neg()).clone(memory_format=torch.contiguous_format).view(x.dtype)


def compiled(device: Device, run: Callable[..., Sequence[Tensor]], like: Sequence[FakeTensor]) -> Any:
    """Code for a function of tensors of just these shapes (`like` need have no values), to be called with the list of
    them: results share no memory with them, nor with each other. Raises what the trace, or Inductor, raises."""

    def body(*given: Tensor) -> list[Tensor]:
        return list(run(*[device.copy(x) for x in given]))  # a write goes into a copy, which is none if nobody writes

    code = for_these(body, like)

    def call(tensors: Sequence[Tensor]) -> list[Tensor]:
        found = code(list(tensors))
        taken = {x.untyped_storage().data_ptr() for x in tensors}
        return [device.apart(x, taken) for x in found]

    return call
