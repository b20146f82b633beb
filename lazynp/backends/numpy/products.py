"""numpy.matmul: stacks on all cores and by loops of our own, whole numbers by BLAS."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .native import blocks
from .parts import in_parts, memory

LARGEST = 128  # multiplications of the largest product that takes less time here than in BLAS
FEW = 700  # matrices for which NumPy is not worth leaving
THREADS = 1 << 20  # multiplications below which another thread is not worth waking
MATRIX = 1 << 15  # multiplications of a product of which BLAS has no use for two cores
ENOUGH = 1 << 13  # multiplications of whole numbers below which NumPy is not worth leaving
PASSES = 8  # multiplications for each element that is converted for BLAS
TRIED = 8
FARTHEST = 1 << 16  # bytes between neighbours of a matrix that is made to be tried
FLOATS = {np.dtype(np.float32): 1 << 24, np.dtype(np.float64): 1 << 53}  # up to where they hold every whole number


def matmul(a: Any, b: Any) -> Any:
    """numpy.matmul, bit for bit: stacks on all cores, those of small matrices by loops that were seen to give its bits,
    and whole numbers by BLAS where floats hold them all."""
    if type(a) is not np.ndarray or type(b) is not np.ndarray or a.dtype != b.dtype or not (a.ndim and b.ndim):
        return np.matmul(a, b)
    core = a.shape[-2] if a.ndim > 1 else 1, a.shape[-1], b.shape[-1] if b.ndim > 1 else 1
    if b.shape[max(b.ndim - 2, 0)] != core[1] or not math.prod(core):
        return np.matmul(a, b)
    if a.dtype.kind in "iub":
        alike = a.dtype.char == b.dtype.char and a.dtype.isnative  # else NumPy's result is of another dtype
        return whole_product(a, b, core) if alike else np.matmul(a, b)
    if max(a.ndim, b.ndim) < 3 or min(a.ndim, b.ndim) < 2 or math.prod(core) > MATRIX:
        return np.matmul(a, b)
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if math.prod(stack) < FEW:
        return np.matmul(a, b)
    return stacked(a, b, stack, core)


def whole_product(a: Any, b: Any, core: tuple[int, int, int]) -> Any:
    """The product of whole numbers or booleans. Floats are exact where no sum can be larger than they can hold, in
    whatever order and however rounded, and what is too large for the type wraps round in it, as in NumPy's loops."""
    m, k, n = core
    if m * k * n < max(ENOUGH, PASSES * (m * k + k * n + m * n)):
        return np.matmul(a, b)
    largest = k * extent(a) * extent(b)
    real = next((f for f, most in FLOATS.items() if largest <= most), None)
    if real is None:
        return np.matmul(a, b)
    out = np.matmul(a.astype(real), b.astype(real))
    if a.dtype.kind != "b" and largest > np.iinfo(a.dtype).max:
        out = out.astype(np.int64)
    return out.astype(a.dtype)


def extent(x: Any) -> int:
    """The largest magnitude."""
    return 1 if x.dtype.kind == "b" else max(abs(int(x.max())), abs(int(x.min())))


def stacked(a: Any, b: Any, stack: tuple[int, ...], core: tuple[int, int, int]) -> Any:
    """The products of stacks of small matrices."""
    fused = None
    if blocks is not None and a.dtype in FLOATS and math.prod(core) <= LARGEST and max(core) <= blocks.EDGE:
        # BLAS sums a row or a column in another order, and computes half of a matrix and its transpose.
        apart = core[0] > 1 < core[2] and len(stack) <= blocks.AXES and not np.may_share_memory(a, b)
        if apart and a.flags.aligned and b.flags.aligned:
            fused = order(a.dtype, core, a.strides[-2:], b.strides[-2:])
    few = math.prod((*stack, *core)) < THREADS
    if fused is None and (few or a.dtype.kind not in "fc"):
        return np.matmul(a, b)
    a, b = np.broadcast_to(a, (*stack, *core[:2])), np.broadcast_to(b, (*stack, *core[1:]))
    out = memory.empty((*stack, core[0], core[2]), a.dtype)

    def call(part: tuple[slice, ...]) -> None:
        if fused is None:
            np.matmul(a[part], b[part], out[part])
        else:
            blocks.stacked_product(a[part], b[part], out[part], fused)

    if few:
        call(())
    else:
        axis = max(range(len(stack)), key=lambda i: stack[i] if math.prod(stack[:i]) == 1 else 0)
        in_parts(call, stack[axis], axis)
    return out


@functools.lru_cache(1024)
def order(dtype: Any, core: tuple[int, int, int], left: tuple[int, int], right: tuple[int, int]) -> bool | None:
    """Whether sums in the order of the inner axis have NumPy's bits with fused multiply-adds (True) or without (False);
    None where neither has, for matrices that lie in memory with these strides. Tried on random matrices."""
    rng = np.random.default_rng(0)
    m, k, n = core

    def matrix(rows: int, columns: int, strides: tuple[int, int]) -> Any:
        low = sum([min(0, (c - 1) * s) for c, s in zip((rows, columns), strides)])
        high = sum([max(0, (c - 1) * s) for c, s in zip((rows, columns), strides)])
        held = rng.standard_normal((high - low) // dtype.itemsize + 1).astype(dtype)
        return as_strided(held[-low // dtype.itemsize :], (TRIED, rows, columns), (0, *strides))

    if any([s % dtype.itemsize or abs(s) > FARTHEST for s in (*left, *right)]):
        return None
    pairs = [(matrix(m, k, left), matrix(k, n, right)) for _ in range(TRIED)]
    for fused in (True, False):
        outs = [np.empty((TRIED, m, n), dtype) for _ in pairs]
        for (a, b), out in zip(pairs, outs):
            blocks.stacked_product(a, b, out, fused)
        if all([np.array_equal(out, np.matmul(a, b)) for (a, b), out in zip(pairs, outs)]):
            return fused
    return None
