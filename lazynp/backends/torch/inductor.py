"""Functions of tensors to Inductor's code for a device. Loaded when something is first compiled: it takes a second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._guards import TracingContext, tracing
from torch._inductor import config
from torch._inductor.compile_fx import compile_fx_inner
from torch._inductor.decomposition import select_decomp_table
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

WANTED = {
    "compile_threads": 1,
    "size_asserts": False,
    "alignment_asserts": False,
    "emulate_precision_casts": True,  # each operation is rounded by itself, as NumPy's are
    "eager_numerics.division_rounding": True,  # quotients are exact but for the last rounding
}
OPTIONS: dict[str, Any] = {k: v for k, v in WANTED.items() if k in config.get_config_copy()}  # those of this torch


def without_values(tensors: Sequence[Tensor]) -> list[FakeTensor]:
    """Tensors of the same geometry that need no memory."""
    mode = FakeTensorMode()
    return [mode.from_tensor(x) for x in tensors]


def for_these(body: Callable[..., Sequence[Tensor]], like: Sequence[FakeTensor]) -> Any:
    """Code for arguments of just this geometry: a function of the list of tensors."""
    graph = make_fx(body, decomposition_table=select_decomp_table(), tracing_mode="fake")(*like)
    with tracing(TracingContext(like[0].fake_mode)), config.patch(OPTIONS):
        return compile_fx_inner(graph, list(like))


def for_any(body: Callable[..., Sequence[Tensor]], like: Sequence[FakeTensor]) -> Any:
    """Code for arguments of any sizes: torch looks at them at each call."""
    compiled = torch.compile(make_fx(body, tracing_mode="fake")(*like), dynamic=True, options=OPTIONS)
    return lambda tensors: compiled(*tensors)
