"""From the nodes of a kernel to its `KernelSpec`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ..backends.kernel import Instr, KernelSpec
from ..graph.aval import Aval
from ..ops.elementwise import cast, weak_cast
from ..ops.promotion import loop_of
from .steps import SCALARS

MOST_INSTRUCTIONS, MOST_OPERANDS = 96, 20  # of a kernel

SCALAR_DTYPES = {
    bool: np.dtype(bool),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}


def spec_of(
    planner: Any, members: list[int], outs: list[int], same: Mapping[int, int] = MappingProxyType({})
) -> tuple[KernelSpec, list[int], list[int]]:
    """The spec of a kernel of these nodes with these results; the slots of its inputs and the numbers of its
    scalars. `same`: nodes that are other nodes' values, with other axes."""
    seg = planner.seg

    def read_by(i: int) -> list[int]:
        return [same.get(r, r) for r in seg.refs[i]]

    inside = set(members)
    ins: list[int] = []
    scalars: list[int] = []
    for i in members:
        for r in read_by(i):
            if r >= SCALARS:
                scalars.append(r - SCALARS)
            elif r not in inside:
                slot = ~r if r < 0 else planner.n_leaves + r
                if slot not in ins:
                    ins.append(slot)
    number = {i: len(ins) + len(scalars) + k for k, i in enumerate(members)}
    scalar_dtypes: list[Any] = [None] * len(scalars)
    body = []
    for i in members:
        avals, args = [], []
        for r in read_by(i):
            if r >= SCALARS:
                value = seg.scalars[r - SCALARS]
                weak = type(value) in (int, float, complex)
                avals.append(Aval((), SCALAR_DTYPES.get(type(value)) or value.dtype, weak))
                args.append(len(ins) + scalars.index(r - SCALARS))
            else:
                slot = ~r if r < 0 else planner.n_leaves + r
                avals.append(Aval((), seg.buffers[slot].dtype if r < 0 else seg.dtypes[r], r >= 0 and seg.weak[r]))
                args.append(number[r] if r in inside else ins.index(slot))
        body.append(instruction(seg, i, avals, args, members))
        for r, dtype in zip(seg.refs[i], body[-1].loop):
            if r >= SCALARS:
                scalar_dtypes[scalars.index(r - SCALARS)] = dtype
    in_dtypes = [(seg.buffers[s].dtype if s < planner.n_leaves else seg.dtypes[s - planner.n_leaves]).name for s in ins]
    ndim = len(seg.shapes[members[0]])
    return (
        KernelSpec(tuple(in_dtypes), tuple(scalar_dtypes), tuple(body), tuple([number[i] for i in outs]), ndim),
        ins,
        scalars,
    )


def instruction(seg: Any, i: int, avals: list[Aval], args: list[int], members: list[int]) -> Instr:
    op, static, dtype = seg.ops[i], seg.static[i], seg.dtypes[i]
    if op.kind == "reduce":
        params = dict(zip(op.static, static))
        axes = params["axes"]
        return Instr("reduce", tuple(args), (dtype.name,), dtype.name, (op.name.removesuffix(".reduce"), axes))
    loop = tuple([d.name for d in loop_of(op, avals, dtype)])
    if op is cast or op is weak_cast:
        return Instr("cast", tuple(args), loop, dtype.name, ())
    exponent = seg.exponents.get(i)
    return Instr(op.name, tuple(args), loop, dtype.name, tuple(static) if exponent is None else (exponent,))
