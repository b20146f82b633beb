"""Kernels of a device that have run often enough to be compiled: one pass by Inductor for many by `eager`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from lazynp.backends.kernel import KernelSpec
from lazynp.backends.support import KIND
from lazynp.backends.torch import eager
from lazynp.backends.torch.library import bits
from lazynp.config import config
from lazynp.notices import notify

COST = 0.02  # seconds that a call counts for: `config.compile_after` of them make a kernel worth compiling


class Hot:
    """The compiled kernels of a device.

    Attributes:
        enabled: whether anything is compiled; not any more, once it failed.
    """

    def __init__(self, name: str, enabled: bool) -> None:
        self.name, self.enabled = name, enabled
        self.calls: dict[KernelSpec, int] = {}
        self.compiled: dict[Any, Callable[..., list[Tensor]]] = {}

    def wanted(self, spec: KernelSpec) -> bool:
        """Whether a kernel is worth compiling, now that it is called once more."""
        if not self.enabled or not config.compile:
            return False
        calls = self.calls[spec] = self.calls.get(spec, 0) + 1
        dtypes = (*spec.inputs, *[i.dtype for i in spec.body])
        return calls * COST >= config.compile_after and not any(KIND[d] == "c" for d in dtypes)

    def run(
        self, spec: KernelSpec, operands: list[Tensor], constants: list[Tensor], regions: Sequence[Tensor | None]
    ) -> list[Tensor | None] | None:
        """The results that have no region to go to, and None for the others; None if there is no compiling it."""
        into = [bits(r) for r in regions if r is not None]
        key = (spec, tuple([r is None for r in regions]))
        try:
            if key not in self.compiled:
                self.compiled[key] = self.compile(spec, operands, constants, regions, into)
            results = iter(self.compiled[key](operands, constants, into))
        except Exception as error:
            self.give_up(error)
            return None
        return [next(results) if r is None else None for r in regions]

    def compile(
        self,
        spec: KernelSpec,
        operands: list[Tensor],
        constants: list[Tensor],
        regions: Sequence[Tensor | None],
        into: list[Tensor],
    ) -> Callable[..., list[Tensor]]:
        """Its graph is traced first: each kernel has code of its own then, so that torch counts them apart."""
        free, device = [r is None for r in regions], (*operands, *constants)[0].device

        def run(operands: list[Tensor], constants: list[Tensor], into: list[Tensor]) -> list[Tensor]:
            found = eager.evaluate(spec, operands, constants, device)
            places = iter(into)
            for x, is_free in zip(found, free):
                if not is_free:
                    next(places).copy_(bits(x))
            return [x for x, is_free in zip(found, free) if is_free]

        with warnings.catch_warnings(action="ignore"):  # torch's own, of what it imports
            compiled: Callable[..., list[Tensor]] = torch.compile(make_fx(run)(operands, constants, into))
            compiled(operands, constants, into)
        return compiled

    def give_up(self, error: Exception) -> None:
        """Compile nothing any more, and say so once."""
        self.enabled = False
        self.compiled.clear()
        reason = str(error).strip().split("\n")[0]
        notify(f"kernels are not compiled on {self.name}: {type(error).__name__}: {reason}", UserWarning)
