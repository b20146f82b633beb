"""Spare buffers: memory that died is used again, so that a steady loop touches no fresh page.

An array from here owns a block whose finalizer gives the memory back. NumPy keeps the block alive through `base` for
every view that anyone still has, so what is reused is really dead, escaped arrays included.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from typing import Any

import numpy as np

SMALLEST = 1 << 16  # bytes: below, malloc is as good
# Buffers begin at different places of a page: a loop that reads one array and writes the same places of another is half
# as fast again if the addresses agree in their last 12 bits (the processor takes the load to depend on the store).
LINE, COLOUR, COLOURS = 64, 17 * 64, 4
SPARE_BYTES = min(4 << 30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 8)


class Pool:
    """Blocks by their size in bytes."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a finalizer may run, and give, in the middle of `empty`
        self.spare: dict[int, list[Any]] = {}
        self.bytes = self.made = 0

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An uninitialized C-contiguous array."""
        n = dtype.itemsize
        for d in shape:
            n *= d
        if n < SMALLEST:
            return np.empty(shape, dtype)
        with self.lock:
            spare = self.spare.get(n)
            if spare:
                raw = spare.pop()
                self.bytes -= n
            else:
                raw = None
        if raw is None:
            raw = np.empty(n + COLOURS * COLOUR + LINE, np.uint8)
            self.made += 1
            start = -raw.ctypes.data % LINE + self.made % COLOURS * COLOUR
            raw = raw[start : start + n]
        block = block_type(n).from_buffer(raw)
        block.raw_memory = raw
        return np.ndarray(shape, dtype, block)

    def give(self, raw: Any) -> None:
        n = raw.size
        with self.lock:
            if self.bytes + n <= SPARE_BYTES:
                self.spare.setdefault(n, []).append(raw)
                self.bytes += n
            if len(self.spare) > 64:
                self.shrink()

    def shrink(self) -> None:
        """Forget the sizes without spare blocks, and the oldest others."""
        for n in [n for n, blocks in self.spare.items() if not blocks]:
            del self.spare[n]
        while len(self.spare) > 32:
            n = next(iter(self.spare))
            self.bytes -= n * len(self.spare.pop(n))

    def clear(self) -> None:
        with self.lock:
            self.spare.clear()
            self.bytes = 0


@functools.lru_cache(1024)
def block_type(n: int) -> Any:
    def give_back(self: Any) -> None:
        raw = self.__dict__.pop("raw_memory", None)
        if raw is not None and pool is not None:
            pool.give(raw)

    return type("Block", (ctypes.c_char * n,), {"__del__": give_back})


pool = Pool()
