"""numpy.matmul, with loops of our own for stacks of small matrices."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .native import blocks
from .parts import in_parts, memory

EDGE, AXES = 8, 8  # rows and columns of the largest matrix, axes of the largest stack
LARGEST = 128  # multiplications of the largest product that takes less time here than in BLAS
FEW = 700  # matrices for which NumPy is not worth leaving
THREADS = 1 << 20  # multiplications below which another thread is not worth waking
TRIED = 8
FARTHEST = 1 << 16  # bytes between neighbours of a matrix that is made to be tried
DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


def matmul(a: Any, b: Any) -> Any:
    """numpy.matmul, bit for bit: stacks of small matrices by loops that were seen to give its bits, on all cores."""
    if a.ndim < 3 and b.ndim < 3 or blocks is None or type(a) is not np.ndarray or type(b) is not np.ndarray:
        return np.matmul(a, b)
    if min(a.ndim, b.ndim) < 2 or a.dtype not in DTYPES or b.dtype != a.dtype or b.shape[-2] != a.shape[-1]:
        return np.matmul(a, b)
    core = a.shape[-2], a.shape[-1], b.shape[-1]
    if math.prod(core) > LARGEST or max(core) > EDGE or not core[1] or core[0] < 2 or core[2] < 2:
        return np.matmul(a, b)  # also of a row or a column, which BLAS sums in another order
    if np.may_share_memory(a, b) or not (a.flags.aligned and b.flags.aligned):
        return np.matmul(a, b)  # of a matrix and its transpose BLAS computes half
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if math.prod(stack) < FEW or len(stack) > AXES:
        return np.matmul(a, b)
    fused = order(a.dtype, core, a.strides[-2:], b.strides[-2:])
    if fused is None:
        return np.matmul(a, b)
    a, b = np.broadcast_to(a, (*stack, *core[:2])), np.broadcast_to(b, (*stack, *core[1:]))
    out = memory.empty((*stack, core[0], core[2]), a.dtype)
    if math.prod((*stack, *core)) < THREADS:
        blocks.stacked_product(a, b, out, fused)
    else:
        axis = max(range(len(stack)), key=lambda i: stack[i] if math.prod(stack[:i]) == 1 else 0)
        in_parts(lambda part: blocks.stacked_product(a[part], b[part], out[part], fused), stack[axis], axis)
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
