"""The eager interpreter: a `KernelSpec` on torch tensors of any device, one torch operation at a time.

Operands are tensors of the spec's dtypes, of the iteration space's rank (size 1 broadcasts); scalars are 0-d tensors or
Python numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lazynp.backends.kernel import KernelSpec
from lazynp.backends.support import KIND, split_complex
from lazynp.backends.torch import namespace as xp
from lazynp.backends.torch.namespace import Pair, Value
from lazynp.backends.torch.program import run


def carry(x: Tensor, dtype: str) -> Value:
    if KIND[dtype] == "c":
        parts = torch.view_as_real(x.resolve_conj())
        return Pair(parts[..., 0], parts[..., 1])
    if dtype in ("uint16", "uint32", "uint64"):
        x = x.view(getattr(torch, dtype[1:]))
    return xp.load(x, dtype)


def uncarry(x: Value, dtype: str) -> Tensor:
    if isinstance(x, Pair):
        return torch.complex(*torch.broadcast_tensors(x.re, x.im))
    if dtype in ("uint16", "uint32", "uint64"):
        return xp.store(x, dtype).contiguous().view(getattr(torch, dtype))
    return x


def evaluate(
    spec: KernelSpec,
    inputs: Sequence[Tensor],
    scalars: Sequence[Tensor | complex | float | int | bool],
    device: torch.device | str,
) -> list[Tensor]:
    """The outputs, each of the iteration space's shape (size 1 on reduced axes)."""
    operands = [carry(x, dtype) for x, dtype in zip(inputs, spec.inputs, strict=True)]
    for value, dtype in zip(scalars, spec.scalars, strict=True):
        operands.append(carry(_scalar(value, dtype, device), dtype))
    dtypes = [*spec.inputs, *spec.scalars, *(i.dtype for i in spec.body)]
    return [uncarry(v, dtypes[o]) for v, o in zip(run(spec, operands), spec.outputs, strict=True)]


def _scalar(value: Tensor | complex | float | int | bool, dtype: str, device: torch.device | str) -> Tensor:
    if isinstance(value, Tensor):
        return value.to(device)
    if KIND[dtype] == "c":
        part = getattr(torch, split_complex(dtype))
        number = complex(value)
        return torch.complex(torch.tensor(number.real, dtype=part), torch.tensor(number.imag, dtype=part)).to(device)
    return torch.tensor(value, dtype=getattr(torch, dtype), device=device)
