"""Spare buffers: memory that died is used again, so that a steady loop touches no fresh page.

An array from here is a view of a `Block`, which NumPy keeps alive through `base` for as long as any view of it is. When
the last one is gone, the callback of a weak reference puts the memory into a queue: so what is reused is really dead,
escaped arrays included. The callback is C code (`SimpleQueue.put`), so that no signal's handler runs in it, whose
exception Python would drop. What has not been used for a moment is given back to the system (`Keeper`).
"""

from __future__ import annotations

import ctypes
import functools
import queue
import threading
import time
import weakref
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from ..config import config
from ..speed import native, tell
from ..threads import at_fork, start

SMALLEST = 1 << 16  # bytes: below, malloc is as good
# Buffers begin at different places of a page: a loop that reads one array and writes the same places of another is half
# as fast again if the addresses agree in their last 12 bits (the processor takes the load to depend on the store).
LINE, COLOUR, COLOURS = 64, 17 * 64, 4
IDLE = 0.5  # seconds without a change of the pool after which its memory goes back
SIZES_KEPT = 64  # sizes of which there may be spare blocks
FINE = 4  # bits of a size that tell it from others: a loop whose arrays grow or shrink finds memory that it had before
BYTE = np.dtype(np.uint8)
new_array = np.ndarray.__new__


class Memory(np.ndarray):
    """Bytes of the pool. A class of its own, since NumPy takes an array's `base` to be the first one in the chain of
    views whose own base is of the array's class: so a plain array never looks past its `Block`."""

    __slots__ = ()


class Block(np.ndarray):
    """One use of the memory that is its base."""

    __slots__ = ()


class Use(weakref.ref[Block]):
    """Knows when a block dies, and its memory then."""

    __slots__ = ("memory",)
    memory: Memory
    __eq__ = object.__eq__
    __hash__ = object.__hash__


class Pool:
    """Memory by its size in bytes, of which there are sixteen between a power of two and the next.

    Attributes:
        spare: size -> memory that nobody has. bytes: how much of it there is.
        uses: of memory that somebody has. returned: those that have ended; their memory is not in `spare` yet.
        used: sizes asked for since the keeper last looked. made: how many blocks were new.
        freed: whether much memory has been freed that is not the pool's.
    """

    def __init__(self) -> None:
        self.made = 0
        self.reset()

    def reset(self) -> None:
        """Start without spare blocks: at the beginning, and in a forked child, where the lock may be somebody's who is
        gone."""
        self.lock = threading.RLock()
        self.spare: dict[int, list[Memory]] = {}
        self.uses: set[Use] = set()
        self.returned: queue.SimpleQueue[Use | None] = queue.SimpleQueue()  # None: memory that is not the pool's
        self.used: set[int] = set()
        self.bytes = 0
        self.freed = False
        self.keeper: Keeper | None = None

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An uninitialized C-contiguous array."""
        n = dtype.itemsize
        for d in shape:
            n *= d
        if n < SMALLEST or dtype.hasobject:  # objects are counted: their memory is never just memory
            return np.empty(shape, dtype)
        unit = 1 << max(n.bit_length() - 1 - FINE, 0)
        size = -(-n // unit) * unit
        with self.lock:
            self.used.add(size)
            if self.returned.qsize():
                self.sort_in()
            spare = self.spare.get(size)
            memory = spare.pop() if spare else None
            if memory is not None:
                self.bytes -= size
            if self.keeper is None:
                self.keeper = Keeper.started(self)
        if memory is None:
            memory = self.fresh(size)
        block = new_array(Block, (n,), BYTE, memory)
        use = Use(block, self.returned.put)
        use.memory = memory
        self.uses.add(use)
        return new_array(np.ndarray, shape, dtype, block)

    def fresh(self, n: int) -> Memory:
        """New memory, from the system."""
        owner = np.empty(n + COLOURS * COLOUR + LINE, BYTE)
        self.made += 1
        return new_array(Memory, (n,), BYTE, owner, -owner.ctypes.data % LINE + self.made % COLOURS * COLOUR)

    def sort_in(self) -> None:
        """Put what was returned where it is found, as much as may be kept. Under the lock."""
        while self.returned.qsize():
            try:
                self.keep(self.returned.get_nowait())
            except queue.Empty:  # the keeper was faster
                break

    def much_freed(self) -> None:
        """Arrays of NumPy's have died whose memory the C library keeps."""
        with self.lock:
            if self.keeper is None:
                self.keeper = Keeper.started(self)
        self.returned.put(None)

    def keep(self, use: Use | None) -> None:
        """Take over what a use that has ended had. Under the lock."""
        if use is None:
            self.freed = True
            return
        self.uses.discard(use)
        memory = use.memory
        n = memory.size
        if self.bytes + n <= config.pool_bytes:
            self.spare.setdefault(n, []).append(memory)
            self.bytes += n
        if len(self.spare) > SIZES_KEPT:
            self.shrink()

    def shrink(self) -> None:
        """Forget the sizes without spare blocks, and the oldest others."""
        for n in [n for n, blocks in self.spare.items() if not blocks]:
            del self.spare[n]
        while len(self.spare) > SIZES_KEPT // 2:
            n = next(iter(self.spare))
            self.bytes -= n * len(self.spare.pop(n))

    def clear(self, *, but: Collection[int] = ()) -> int:
        """Let go of the spare blocks, but for those of some sizes; how many bytes they had."""
        with self.lock:
            self.sort_in()
            gone = [self.spare.pop(n) for n in list(self.spare) if n not in but]
            n = sum([memory.size for blocks in gone for memory in blocks])
            self.bytes -= n
        return n


class Keeper:
    """A thread that gives memory back of which nobody has asked for its size for a moment, and sleeps while there is
    none to give."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    @classmethod
    def started(cls, pool: Pool) -> Keeper | None:
        """A running one; None where no thread can be started: then memory stays until it is used or asked for."""
        keeper = cls(pool)
        return keeper if start(keeper.run, name="lazynp-pool") is not None else None

    def run(self) -> None:
        pool = self.pool
        while True:
            use = pool.returned.get()
            with pool.lock:
                pool.keep(use)
            del use
            before: set[int] = set()
            now: set[int] = set()
            last = -1
            while pool.bytes or pool.freed or pool.returned.qsize():
                time.sleep(IDLE)
                with pool.lock:
                    before, now, pool.used = now, pool.used, set()
                freed = freed_bytes()
                paused, last = freed == last, freed
                cleared = pool.clear(but=before | now)
                if cleared or (pool.freed and paused):
                    pool.freed = False
                    trim()


def give_back() -> int:
    """Give spare buffers back, and pages that the C library holds, whoever freed them; how many bytes of the first."""
    n = pool.clear()
    trim()
    return n


def malloc_trim() -> Callable[[], int]:
    """The C library's function that gives pages of freed memory back; one that does nothing where there is none."""
    try:
        return functools.partial(ctypes.CDLL(None).malloc_trim, 0)
    except (OSError, TypeError, AttributeError):
        return int


trim = malloc_trim()
freed_bytes: Callable[[], int] = native.freed_bytes if native is not None else int
pool = Pool()
tell(much_freed=lambda: pool.much_freed())
at_fork(30, child=pool.reset)
at_fork(30, child=freed_bytes)  # what was to be told has been told to the parent
