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
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.fake_tensor_prop import FakeTensorProp

WANTED = {
    "compile_threads": 1,
    "size_asserts": False,
    "alignment_asserts": False,
    "emulate_precision_casts": True,  # each operation is rounded by itself, as NumPy's are
    "eager_numerics.disable_ftz": True,  # subnormal numbers stay what they are
    "eager_numerics.division_rounding": True,  # quotients are exact but for the last rounding
}
OPTIONS: dict[str, Any] = {k: v for k, v in WANTED.items() if k in config.get_config_copy()}  # those of this torch


def without_values(tensors: Sequence[Tensor]) -> list[FakeTensor]:
    """Tensors of the same geometry that need no memory."""
    mode = FakeTensorMode()
    return [mode.from_tensor(x) for x in tensors]


def graph_of(body: Callable[..., Sequence[Tensor]], like: Sequence[FakeTensor], decompositions: Any) -> Any:
    """The operations of a body, without those that write in place; writes to arguments come last.

    Copies of arguments are none, then. Inductor leaves them out, too, but some of its versions go on looking at the
    memory that a copy would have had where they ask whether an operation may write to its operand.
    """
    traced = make_fx(functionalize(body), decomposition_table=decompositions, tracing_mode="fake")(*like)
    clones = traced.graph.find_nodes(op="call_function", target=torch.ops.aten.clone.default)
    copies = [n for n in clones if n.args[0].op == "placeholder" and n.args[0].meta["val"].is_contiguous()]
    for node in copies:
        node.replace_all_uses_with(node.args[0])
        traced.graph.erase_node(node)
    if copies:
        FakeTensorProp(traced, like[0].fake_mode).propagate(*like)
    return traced


def for_these(body: Callable[..., Sequence[Tensor]], like: Sequence[FakeTensor]) -> Any:
    """Code for arguments of just this geometry: a function of the list of tensors."""
    graph = graph_of(body, like, select_decomp_table())
    with tracing(TracingContext(like[0].fake_mode)), config.patch(OPTIONS):
        return compile_fx_inner(graph, list(like))


def for_any(body: Callable[..., Sequence[Tensor]], like: Sequence[FakeTensor]) -> Any:
    """Code for arguments of any sizes: torch looks at them at each call.

    It refuses while anything is traced, in whatever thread; then the operations run as they are."""
    plain = graph_of(body, like, None).forward
    compiled = torch.compile(plain, dynamic=True, options=OPTIONS)

    def call(tensors: Sequence[Tensor]) -> Any:
        try:
            return compiled(*tensors)
        except RuntimeError as error:
            if "symbolically trace" not in str(error):
                raise
            return plain(*tensors)

    return call
