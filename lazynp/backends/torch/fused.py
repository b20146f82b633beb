"""Fused multiply-add as an operator of our own: see `trace` for its place in Inductor."""

from __future__ import annotations

import torch
from torch import Tensor


@torch.library.custom_op("lazynp::fma", mutates_args=())
def fma(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """x * y + z, rounded once in compiled code (in eager mode: as the device's addcmul rounds)."""
    return torch.addcmul(z, x, y)


@fma.register_fake
def _(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    return torch.empty_like(x * y + z)


FMA = {"wanted": True}  # whether NumPy uses fused multiply-adds on this machine, and its last bits are wanted
