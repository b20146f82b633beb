"""Run a `KernelSpec` on carried torch values: the body shared by FX tracing and the eager interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lazynp.backends.kernel import Instr, KernelSpec
from lazynp.backends.support import KIND, code_of, split_complex
from lazynp.backends.torch import complex as complex_
from lazynp.backends.torch import namespace as xp
from lazynp.backends.torch.namespace import Value
from lazynp.graph.op import registry
from lazynp.ops.promotion import loop_dtypes
from lazynp.ops.special_values import FORMULAS
from lazynp.ops.transcendental import POWERS, ROOTS


def run(spec: KernelSpec, operands: Sequence[Value]) -> list[Value]:
    """The outputs' values. `operands`: carried values of the inputs, then of the scalars (0-d)."""
    values: list[Value] = list(operands)
    dtypes = [*spec.inputs, *spec.scalars]
    for instr in spec.body:
        args = [values[a] for a in instr.args]
        values.append(apply(instr, args, [dtypes[a] for a in instr.args]))
        dtypes.append(instr.dtype)
    return [values[o] for o in spec.outputs]


def apply(instr: Instr, args: Sequence[Value], sources: Sequence[str]) -> Value:
    """One instruction: casts to the loop's dtypes, the operation, and its result brought to `instr.dtype`."""
    op = instr.op
    if op == "cast":
        return xp.cast(args[0], sources[0], instr.dtype)
    if instr.loop:
        args = [xp.cast(a, s, t) for a, s, t in zip(args, sources, instr.loop, strict=True)]
    loop = instr.loop[0] if instr.loop else sources[0]
    if op == "where":
        return xp.where(xp.truth(args[0]), args[1], args[2])
    if instr.loop in (("int64", "uint64"), ("uint64", "int64")):  # NumPy has such loops for comparisons only
        return xp.cast(xp.compare_signs(op, instr.loop, *args), "bool", instr.dtype)
    natural = _natural(instr, loop)
    out = _call(op, loop, instr.params, args)
    if natural == loop and isinstance(out, Tensor):
        out = xp.reduced(out, loop)
    return xp.cast(out, natural, instr.dtype)


def _call(op: str, loop: str, params: tuple, args: Sequence[Value]) -> Value:
    if op == "reduce":
        return xp.reduce(params[0], loop, args[0], params[1])
    if params and registry.get(op) in POWERS:
        is_root = ROOTS and op == "power" and params[0] == 0.5
        return torch.sqrt(args[0]) if is_root else xp.power_of(args[0], params[0])
    if op in FORMULAS:
        return _formula(op, loop, *args)
    function = vars(complex_ if KIND[loop] == "c" else xp).get(op)
    if function is not None:
        return function(loop, *params, *args)
    if KIND[loop] != "f":  # whole numbers are rounded already
        return args[0]
    return getattr(torch, code_of(op).libm)(*args)


def _formula(op: str, loop: str, x: Any) -> Tensor:
    double, single = FORMULAS[op]
    if single is not None and loop == "float32":
        return single(torch, x)
    return double(torch, x.to(torch.float64)).to(x.dtype)


def _natural(instr: Instr, loop: str) -> str:
    """The dtype that the operation's function gives, before it is cast to the instruction's."""
    if instr.op == "reduce":
        return "bool" if instr.params[0].startswith("logical") else loop
    op = registry.get(instr.op)
    if op is not None and op.ufunc is not None:
        return loop_dtypes(op.ufunc, tuple([np.dtype(d) for d in instr.loop or (loop,)]))[-1].name
    return split_complex(loop) if KIND[loop] == "c" else loop
