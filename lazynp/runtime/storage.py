"""What all arrays that share memory share: one value, known or pending, and who may write to it.

A handle caches a NumPy view of the buffer, and takes it as current while its `_b_` is the storage's `buf`. So a pending
write invalidates every handle by setting one slot.

Threads: `lock` is held by whoever changes what a storage's value is; "Threads" in docs/architecture.md has the rules.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np

from ..graph.node import BORROWED, Node, leaf
from ..speed import StorageBase

SEEN = -3  # the index of a constant whose buffer handles have shown: another thread may be reading it this moment
lock = threading.RLock()  # of the stream of operations and of every storage's value


class StorageDetails:
    """What few storages need.

    Attributes:
        pin: the buffer cannot be exchanged, since views of it exist that only NumPy can express. Writes happen at once.
        shared: somebody outside has the memory; reads take a snapshot.
        lent: how many buffers (PEP 3118) of somebody's are all that the two above are for: with the last one they are
            over. None where there are other reasons, which stay.
        mask: for a deferred boolean selection, how to make it (see `numpy/masked.py`).
        scalar: a number that cannot be a NumPy scalar, since it is traced: an operator in place makes another one.
    """

    __slots__ = ("pin", "shared", "mask", "scalar", "lent")

    def __init__(self, pin: bool = False, shared: bool = False, mask: Any = None, scalar: bool = False) -> None:
        self.pin, self.shared, self.mask, self.scalar = pin, shared, mask, scalar
        self.lent: int | None = None


class Storage(StorageBase):
    """A value and its readers.

    Attributes:
        buf: the NumPy array that holds the value, C-contiguous unless pinned; None while the value is pending.
        free: whether buf may be written this moment: nobody else can see it. Cleared by whoever records a read.
        busy: how many threads NumPy is writing into buf for. Until they are done it is neither read by the graph, which
            gets a copy, nor exchanged: what is written meanwhile goes into it at once.
        node: the value in the graph: pending, or a leaf for buf; None while nothing was recorded from it.
        reads: view -> node that reads it from one node, which stands at None: that of the last read.
        details: see `StorageDetails`; None for most.
    """

    __slots__ = ()
    captured = 0  # bytes of the buffers that pending nodes hold

    def __init__(self, buf: Any = None) -> None:
        self.buf, self.free, self.busy = buf, True, 0
        self.details: StorageDetails | None = None
        self.node: Node | None = None
        self.reads: dict[Any, Node] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.buf.shape if self.buf is not None else self.node.shape  # type: ignore[union-attr]

    @property
    def dtype(self) -> Any:
        return self.buf.dtype if self.buf is not None else self.node.dtype  # type: ignore[union-attr]

    def hold(self, node: Node) -> None:
        """Make node this storage's value; a copy where it is memory that its owner may write into at any time. Under
        the lock, where others may know the storage."""
        if node.index == BORROWED and node.op is None and not node.trace:
            node = leaf(node.shape, node.dtype, np.array(node.buffer, order="C"))
        self.free = False
        self.node, self.buf, self.reads = node, None, None
        ref = weakref.ref(self)
        node.holder = ref if node.holder is None else (node.holder, ref)

    def graph(self) -> Node:
        """The node of the value; from now on the buffer has a reader. Where others write into it: of a copy, which does
        not become this storage's node."""
        node = self.node
        return self.capture() if node is None else node

    def capture(self) -> Node:
        with lock:
            node = self.node
            if node is None:
                buf = self.buf
                if self.details is not None and self.details.shared or not self.close():
                    buf = buf.copy()
                    return leaf(buf.shape, buf.dtype, buf)
                Storage.captured += buf.nbytes
                node = leaf(buf.shape, buf.dtype, buf)
                node.index = BORROWED if self.details is not None and self.details.pin else SEEN
                self.node, node.holder = node, weakref.ref(self)
            return node

    def close(self) -> bool:
        """Have nobody begin to write into the buffer; False where somebody is at it. Under the lock."""
        before, self.free = self.free, False  # first: a thread begins only where it finds it free
        if self.busy:
            self.free = before
            return False
        return True

    def release(self) -> bool:
        """Try to become free: True if nobody but this storage has the value any more. Under the lock."""
        if self.free or self.node is None:
            self.free = True
            return True
        if self.buf is None or self.node.trace or self.node.index == BORROWED:
            return False
        ref, buf = weakref.ref(self.node), self.buf
        self.node = self.reads = None
        node = ref()
        if node is not None:
            self.node = node
            return False
        self.free, self.buf = True, buf
        return True


def held(node: Node) -> bool:
    """Whether a storage still has node as its value."""
    holder = node.holder
    while type(holder) is tuple:
        holder, last = holder
        storage = last()
        if storage is not None and storage.node is node:
            return True
    if holder is None:
        return False
    storage = holder()
    return storage is not None and storage.node is node


def let_go(node: Node, owner: Any) -> None:
    """This owner does not want the node's value any more."""
    holder, node.holder = node.holder, None
    refs = []
    while type(holder) is tuple:
        holder, last = holder
        refs.append(last)
    for ref in reversed([*refs, holder] if holder is not None else refs):
        if ref() is not owner:
            node.holder = ref if node.holder is None else (node.holder, ref)
