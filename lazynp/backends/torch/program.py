"""Run a `KernelSpec` on carried torch values: the body shared by FX tracing and the eager interpreter."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from lazynp.backends.kernel import Instr, KernelSpec
from lazynp.backends.support import KIND, split_complex
from lazynp.backends.torch import complex as complex_
from lazynp.backends.torch import namespace as xp
from lazynp.backends.torch.namespace import Value

NATURAL_BOOL = frozenset(
    (
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "equal",
        "not_equal",
        "logical_and",
        "logical_or",
        "logical_xor",
        "logical_not",
        "isnan",
        "isinf",
        "isfinite",
        "signbit",
    )
)


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
    natural = _natural(op, loop, instr)
    return xp.cast(_call(op, loop, instr.params, args), natural, instr.dtype)


def _call(op: str, loop: str, params: tuple, args: Sequence[Value]) -> Value:
    if op == "reduce":
        out = xp.reduce(params[0], loop, args[0], params[1])
    elif op == "clip":
        out = xp.clip(loop, *args)
    elif op == "power_int":
        out = complex_.power(loop, args[0], params[0])
    elif op == "divmod":
        out = xp.divmod_(loop, params[0], *args)
    elif op == "modf":
        out = xp.modf(loop, params[0], *args)
    else:
        table = xp.COMPLEX if KIND[loop] == "c" else xp.TABLE
        out = table[op](loop, *args)
    return xp.reduced(out, loop) if isinstance(out, Tensor) and op not in NATURAL_BOOL else out


def _natural(op: str, loop: str, instr: Instr) -> str:
    """The dtype that the operation's function gives, before it is cast to the instruction's."""
    if op in NATURAL_BOOL or op == "reduce" and instr.params[0] in ("logical_and", "logical_or"):
        return "bool"
    if op == "bitwise_count":
        return "uint8"
    if KIND[loop] == "c" and op in ("absolute", "real", "imag"):
        return split_complex(loop)
    return loop
