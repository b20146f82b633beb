"""numpy.searchsorted and the counts of numpy.histogram, with loops of our own of many keys in a short table."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from .native import blocks
from .parts import MANY, counted, each, in_parts

KINDS = {np.dtype(np.float64): "d", np.dtype(np.float32): "f", np.dtype(np.int64): "l", np.dtype(np.int32): "i"}
LONGEST = 1 << 16  # elements of a table that stays in cache
FEWEST = 256  # keys for which NumPy is not worth leaving
MANY_KEYS = 1 << 18  # keys for which another thread is worth waking
INTP = np.dtype(np.intp)


def searchsorted(a: Any, v: Any, side: Any) -> Any:
    """numpy.searchsorted of one table, on all cores.

    Tables with NaN, and those that do not ascend, are NumPy's: what it finds there depends on the key before.
    """
    if v.size < FEWEST or a.size > v.size or not (a[1:] >= a[:-1]).all() or not a.size or a[0] != a[0]:
        return np.searchsorted(a, v, side)
    kind = KINDS.get(a.dtype) if a.dtype == v.dtype and blocks is not None and a.size <= LONGEST else None
    if kind is None or not (v.flags.c_contiguous and v.flags.aligned):
        return each(lambda keys: np.searchsorted(a, keys, side=side), v, INTP)
    table = np.ascontiguousarray(a)

    def found(keys: Any) -> Any:
        out = np.empty(keys.shape, INTP)
        blocks.search(table, keys, out, side == "right", kind)
        return out

    return each(found, v, INTP)


def tally(edges: Any, x: Any, even: bool) -> Any:
    """How many elements of x lie in each bin, as numpy.histogram counts them. The edges ascend, in x's dtype.

    Raises nothing: NaN lies in no bin.
    """
    n = len(edges) - 1
    kind = KINDS.get(x.dtype)
    keys, edges = np.ascontiguousarray(x).reshape(-1), np.ascontiguousarray(edges)
    if blocks is None or kind not in ("d", "f"):
        places = searchsorted(edges, keys, "right")
        return counted(np.where(keys == edges[-1], n, places), n + 2)[1:-1]
    out, lock = np.zeros((2, n + 1), np.int64), threading.Lock()

    def do(part: tuple[slice, ...]) -> None:
        found = np.zeros(out.shape, np.int64)
        blocks.tally(edges, keys[part], found, even, kind)
        with lock:
            np.add(out, found, out)

    if keys.size < max(MANY_KEYS, MANY * n):
        do(())
    else:
        in_parts(do, keys.size, 0)
    return out.sum(axis=0)[:-1].astype(INTP, copy=False)
