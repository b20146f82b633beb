"""Kernels for `lazynp._blocks`, the interpreter's blocks in C.

Without that module, and for what it does not do, `blocked.py` calls NumPy's ufuncs on each block: the same loops, and
the same bits.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ops.ufuncs import LOOPS
from ...speed import built
from ..kernel import KernelSpec
from ..support import code_of

blocks: Any = built("_blocks")
if blocks is not None:
    blocks.bind(LOOPS)
EXTREMES = (0.0, 0.5, 1.0, 127.5, 200.0, 3e4, 6e4, 1e5, 3e9, 9e9, 1e15, 9.2e18, 1e19, 1e25, np.inf, np.nan)


@functools.cache
def casts_alike(a: Any, b: Any) -> bool:
    """Whether the C module casts a float that the other type cannot hold as this NumPy does: C leaves it open."""
    if a.kind != "f" or b.kind not in "iu":
        return True
    cast = blocks.plan((a, b), (-1, -1), 1, 0, ((None, (0,), 1),))
    if cast is None:
        return False
    for step in (1, 2):  # one loop for memory without gaps, one for strides
        with np.errstate(all="ignore"):
            x = np.array([*EXTREMES, *[-v for v in EXTREMES]] * 5 * step).astype(a)[:-1:step]
            y, z = np.empty(x.size, b), x.astype(b)
        job = cast.job((x,), (), {1: y}, x.shape, x.size)
        job.work(bytearray(job.need))
        if y.tobytes() != z.tobytes():
            return False
    return True


def plan_of(spec: KernelSpec, assign: Callable[..., Any], ufunc_of: Callable[[str], Any]) -> Any:
    """The kernel in C, its reductions left out: they are done by NumPy, after it. None where it cannot be."""
    names = [*spec.inputs, *spec.scalars, *[i.dtype for i in spec.body]]
    if blocks is None or any(name == "bfloat16" or np.dtype(name).kind not in "biufc" for name in names):
        return None
    if "float16" in spec.scalars:  # NumPy would warn of a number too large for it
        return None
    dtypes = [np.dtype(name) for name in names]
    first = len(spec.inputs) + len(spec.scalars)
    steps: list[tuple[Any, tuple[int, ...], int]] = []
    cast: dict[Any, int] = {}

    def operand(v: int, dtype: Any) -> int:
        """The value as that dtype: NumPy's loops take operands of their own types only."""
        if dtypes[v] == dtype or first > v >= len(spec.inputs):
            return v
        at = cast.get((v, dtype))
        if at is None:
            at = cast[v, dtype] = len(dtypes)
            dtypes.append(dtype)
            steps.append((None, (v,), at))
        return at

    for k, instr in enumerate(spec.body):
        if instr.op == "reduce":
            continue
        ufunc = ufunc_of(instr.op)
        if ufunc is None and not code_of(instr.op).moves:
            return None
        args = tuple(map(operand, instr.args, map(np.dtype, instr.loop)))
        steps.append((ufunc, args, first + k))
    if not all(casts_alike(dtypes[args[0]], dtypes[v]) for ufunc, args, v in steps if ufunc is None and len(args) == 1):
        return None
    scratch, _ = assign([(v, args) for _, args, v in steps])
    return blocks.plan(
        tuple(dtypes),
        tuple([scratch.get(v, -1) for v in range(len(dtypes))]),
        len(spec.inputs),
        len(spec.scalars),
        tuple(steps),
    )
