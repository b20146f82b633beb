"""Where the NumPy door asks for a value in main memory, and less will do for one that is spread: `x[5, 7]` moves one
element, `x[mask]` counts and moves the rows that are selected, and a product that is small is made of rows."""

from __future__ import annotations

import functools
import importlib
import math
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..away import on_host
from ..config import config
from ..errors import user_line
from ..graph.node import Node, leaf
from ..runtime.processes import processes
from ..runtime.recorder import recorder
from ..runtime.views import INDEX, View, address, derive, layout
from ..speed import tell
from .buffer import Moves, Spread, at, spreading
from .joining import shared_out
from .layout import own
from .memory import Memory, main_memory


class Door:
    """See `runtime/processes.py`."""

    def element(self, x: Any, key: Any) -> Any:
        if not is_place(key, x.ndim):
            return None
        place = tuple([k + n if k < 0 else k for k, n in zip(key if type(key) is tuple else (key,), x.shape)])
        inside = all([0 <= k < n for k, n in zip(place, x.shape)])
        return element(x, place) if inside else None  # NumPy's error is raised elsewhere

    def rows(self, x: Any, key: Any) -> Node | None:
        if key.ndim != 1 or not is_large(x):
            return None
        if key.dtype.kind == "b":
            return rows_selected(x, key) if hasattr(key, "_s_") else None
        return rows_taken(x, key) if key.dtype.kind in "iu" else None

    def any_large(self, args: Any) -> bool:
        return any([is_large(a) for a in args])


def install() -> None:
    """Have the NumPy door ask here first."""
    processes.door = Door()
    tell(spreads=True)
    install_writers()


def install_writers() -> None:
    """Have only the first process write files, where all say the same: the others wait until it has."""
    module: Any = importlib.import_module("lazynp")
    for name in ("save", "savez", "savez_compressed", "savetxt"):
        setattr(module, name, by_the_first(getattr(module, name)))


def by_the_first(write: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(write)
    def call(file: Any, *args: Any, **kwargs: Any) -> Any:
        group = spreading().group
        args = tuple([in_memory(x) for x in args])  # every process has a part in gathering them
        kwargs = {name: in_memory(x) for name, x in kwargs.items()}
        try:
            return write(file, *args, **kwargs) if group.rank == 0 else None
        finally:
            group.barrier(f"the end of {write.__name__}")

    return call


def in_memory(x: Any) -> Any:
    return np.asarray(x) if hasattr(x, "_s_") else x


def is_large(x: Any) -> bool:
    """Whether an array is spread, or would be."""
    if math.prod(x.shape) >= config.spread_size:
        return True
    node = x._s_.node
    return x._s_.buf is None and node is not None and (node.buffer is None or type(node.buffer) is Spread)


def is_place(key: Any, ndim: int) -> bool:
    """Whether a key is a whole number for each axis."""
    return (
        type(key) is int and ndim == 1 or type(key) is tuple and len(key) == ndim and all(type(k) is int for k in key)
    )


def element(x: Any, place: Any) -> Any:
    """The element at a place, as a scalar; None where x is not a pending or spread array."""
    s = x._s_
    node = s.node
    if s.buf is not None or node is None or node.trace or s.details is not None:
        return None
    view = derive(x._view_(), s.shape, INDEX, place)
    with recorder.lock:
        if node.buffer is None:
            recorder.demand(node)
        buffer = node.buffer
    if type(buffer) is not Spread or buffer.full is not None:
        return None
    return buffer.element(place_of(view, buffer))


def place_of(view: View | None, buffer: Spread) -> tuple[int, ...]:
    """Where the only element of a view lies in its base."""
    if view is None:
        return (0,) * buffer.ndim
    whole = layout(buffer.shape, None, buffer.dtype)
    offset = address(view.of_buffer(whole)) - address(whole)
    return tuple([int(k) for k in np.unravel_index(offset // buffer.dtype.itemsize, buffer.shape)])


def rows_selected(x: Any, mask: Any) -> Node | None:
    """The rows of x for which a mask holds; None where x and the mask are not as they have to be."""
    if len(x.shape) < 2 or x.shape[0] != mask.shape[0] or x._s_.details is not None or mask._s_.details is not None:
        return None
    nodes = x._node_(), mask._node_()
    state = spreading()
    group, n = state.group, x.shape[0]
    values = []
    for node in nodes:
        if node.trace:
            return None
        if node.buffer is None:
            recorder.demand(node)
        values.append(node.buffer)
        if type(node.buffer) is Spread and node.buffer.axis != 0:
            return None
    mine = own(n, group.rank, group.size)
    (memory, rows), (lies, chosen) = [rows_here(v, mine) for v in values]
    part = memory.take(rows, np.flatnonzero(lies.host(chosen, mask.dtype)))
    counts = np.zeros(group.size, np.int64)
    counts[group.rank] = len(part)
    counts = group.all_reduce(counts, np.add, "a selection", state.history, user_line)
    total = int(counts.sum())
    shape = (total, *part.shape[1:])
    split = math.prod(shape) >= config.spread_size and total >= 8 * group.size
    needs = [own(total, q, group.size) if split else (0, total) for q in range(group.size)]
    dtype = values[0].dtype
    out = shared_out(part, dtype, [0, *np.cumsum(counts).tolist()], needs, state, memory)
    value = Spread(shape, dtype, out, 0, needs[group.rank][0], needs, memory) if split else memory.value(out, dtype)
    return leaf(shape, dtype, value)


def rows_here(value: Any, rows: tuple[int, int]) -> tuple[Memory, Any]:
    """Rows of a value, and where they lie."""
    if type(value) is Spread:
        return value.memory, value.rows(rows)
    return main_memory, on_host(value)[at(0, *rows)]


def rows_taken(x: Any, indices: Any) -> Node | None:
    """`x[indices]`, of rows that are spread; None where they are not, or NumPy has an error to raise."""
    node = x._node_()
    if len(x.shape) < 2 or x._s_.details is not None or node.trace:
        return None
    if node.buffer is None:
        recorder.demand(node)
    value = node.buffer
    if type(value) is not Spread or value.axis != 0:
        return None
    n, state = value.shape[0], spreading()
    size, me = state.group.size, state.group.rank
    places = np.asarray(indices).astype(np.int64)
    if not len(places) or places.min() < -n or places.max() >= n:
        return None
    places[places < 0] += n
    shape, (first, last) = (len(places), *value.shape[1:]), own(n, me, size)
    split = math.prod(shape) >= config.spread_size and len(places) >= 8 * size
    needs = [own(len(places), q, size) if split else (0, len(places)) for q in range(size)]
    mine, memory, dtype = places[slice(*needs[me])], value.memory, value.dtype
    out = memory.empty((len(mine), *shape[1:]), dtype)
    moves, arriving = Moves(state), []
    for q in range(size):
        asked = places[slice(*needs[q])]
        rows = memory.take(value.rows((first, last)), asked[(asked >= first) & (asked < last)] - first)
        low, high = own(n, q, size)
        at_mine = np.flatnonzero((mine >= low) & (mine < high))
        if q == me:
            memory.put(out, at_mine, rows)
            continue
        if len(rows):
            moves.send(q, rows, memory)
        if len(at_mine):
            arriving.append((at_mine, memory.empty((len(at_mine), *shape[1:]), dtype)))
            moves.receive(q, arriving[-1][1], memory, dtype)
    moves.run(f"rows by indices {zlib.crc32(places.tobytes()):x}")  # which all have to be the same
    for at_mine, rows in arriving:
        memory.put(out, at_mine, rows)
    whole = memory.value(out, dtype)
    return leaf(shape, dtype, Spread(shape, dtype, out, 0, needs[me][0], needs, memory) if split else whole)
