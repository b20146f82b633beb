"""Slices whose place is computed, and convolutions, on torch tensors; see `library.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from lazynp.backends.torch.library import TABLE, bits, cast, name_of, need, on_torch, tensors

__all__ = ["TABLE"]

CONVOLUTIONS = (torch.conv1d, torch.conv2d, torch.conv3d)


def window(device: Any, shape: Sequence[int], starts: Sequence[Any], sizes: Sequence[int]) -> tuple[Any, ...]:
    """The index of a slice whose starts are on the device: nobody has to wait for them."""
    index: list[Any] = []
    for axis, (n, start, size) in enumerate(zip(shape, tensors(device, starts), sizes)):
        low = cast(start, "int64").clamp(0, n - size)
        along = low + torch.arange(size, device=device.torch)
        index.append(along.reshape(size, *[1] * (len(sizes) - axis - 1)))
    return tuple(index)


@on_torch("dynamic_slice")
def dynamic_slice(device: Any, _: Any, x: Tensor, *starts: Any, sizes: Sequence[int]) -> Tensor:
    return bits(x)[(*window(device, x.shape, starts, sizes), ...)].view(x.dtype)


@on_torch("dynamic_update_slice")
def dynamic_update_slice(device: Any, dtype: Any, x: Any, value: Any, *starts: Any) -> Tensor:
    x, value = tensors(device, [x, value])
    out = device.copy(x)
    bits(out)[(*window(device, x.shape, starts, value.shape), ...)] = bits(cast(value, dtype.name))
    return out


@on_torch("conv")
def conv(
    device: Any,
    dtype: Any,
    x: Tensor,
    w: Tensor,
    *,
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    groups: int,
    batch_groups: int,
) -> Tensor:
    """In the dtype's own precision: cuDNN would take fewer digits of float32."""
    rank = x.ndim - 2
    need(name_of(x) in ("float16", "bfloat16", "float32", "float64") and 0 < rank <= len(CONVOLUTIONS))
    need(x.numel() > 0 and w.numel() > 0)
    if batch_groups > 1:
        groups = batch_groups
        x = x.reshape(groups, x.shape[0] // groups, *x.shape[1:]).transpose(0, 1)
        x = x.reshape(x.shape[0], groups * x.shape[2], *x.shape[3:])
    if any(d > 1 for d in lhs_dilation):
        sizes = [(n - 1) * d + 1 for n, d in zip(x.shape[2:], lhs_dilation)]
        wide = torch.zeros((*x.shape[:2], *sizes), dtype=x.dtype, device=x.device)
        wide[(..., *[slice(None, None, d) for d in lhs_dilation])] = x
        x = wide
    pads = [p for pair in reversed(padding) for p in pair]
    if any(pads):
        x = torch.nn.functional.pad(x, pads)  # a negative one takes elements away, as XLA's does
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        found: Tensor = CONVOLUTIONS[rank - 1](x, w, None, tuple(strides), 0, tuple(rhs_dilation), groups)
    return found
