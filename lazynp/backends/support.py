"""What the compiled tier can do: read by the main process (which has no torch) and by the compiler.

What it knows of an operation is `Op.code.compiled`; `torch/namespace.py` has the functions.
"""

from __future__ import annotations

import os

from lazynp.backends.kernel import Instr, KernelSpec
from lazynp.graph.op import registry
from lazynp.ops import elementwise as elementwise  # which fills the registry
from lazynp.ops.code import Code

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
KIND = {
    "bool": "b",
    "float16": "f",
    "bfloat16": "f",
    "float32": "f",
    "float64": "f",
    "complex64": "c",
    "complex128": "c",
    **{name: name[0] for name in _INTEGERS},
}
WIDTH = {name: int(name.lstrip("uint")) for name in _INTEGERS}
ITEMSIZE = {
    "bool": 1,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
    **{name: bits // 8 for name, bits in WIDTH.items()},
}

NOTHING = Code()
_LOW_PRECISION = ("float16", "bfloat16")


def code_of(name: str) -> Code:
    """What is known of the op of that name; of one that there is not, nothing."""
    op = registry.get(name)
    return NOTHING if op is None or op.code is None else op.code


def is_compiled(name: str, loop: str) -> bool:
    """Whether kernels are compiled of that op on that dtype."""
    compiled = code_of(name).compiled
    return KIND[loop] in compiled and f"-{loop}" not in compiled


def split_complex(dtype: str) -> str:
    """The dtype of the parts."""
    return {"complex64": "float32", "complex128": "float64"}[dtype]


def compilable(spec: KernelSpec, eager: bool = False) -> str | None:
    """None, or the reason why the compiled tier (or, with `eager`, torch's eager interpreter) has no form of `spec`."""
    dtypes = [*spec.inputs, *spec.scalars]
    for dtype in dtypes:
        if reason := _dtype(dtype, eager):
            return reason
    first = len(dtypes)
    for instr in spec.body:
        for dtype in (*instr.loop, instr.dtype):
            if reason := _dtype(dtype, eager):
                return reason
        if reason := _instr(instr, [dtypes[a] for a in instr.args]):
            return reason
        dtypes.append(instr.dtype)
    return None if spec.outputs and first else "no operand"


def _dtype(dtype: str, eager: bool) -> str | None:
    if dtype not in KIND:
        return f"dtype {dtype}"
    if dtype in _LOW_PRECISION and not eager:
        return f"dtype {dtype}: Inductor keeps more precision between operations than NumPy"
    return None


def _instr(instr: Instr, sources: list[str]) -> str | None:
    op, loop = instr.op, instr.loop[0] if instr.loop else instr.dtype
    if op == "cast":
        return _cast(sources[0], instr.dtype)
    for source, target in zip(sources, instr.loop):
        if reason := _cast(source, target):
            return reason
    if op == "reduce" and instr.params[0] == "first":
        return None
    name = f"{instr.params[0]}.reduce" if op == "reduce" else op
    return None if is_compiled(name, loop) else f"{name} of {loop}"


def _cast(source: str, target: str) -> str | None:
    """uint64 from and to floats rounds and saturates in ways that int64 does not."""
    if source != target and "uint64" in (source, target) and {KIND[source], KIND[target]} & {"f", "c"}:
        return f"cast from {source} to {target}"
    return None
