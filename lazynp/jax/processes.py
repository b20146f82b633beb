"""Arrays that lie on devices of several processes.

The value of such an array is a `Spread`: a sharding, and for each device of this process its part, a node of the
ordinary graph. A node that reads one is not recorded: it is computed at once, device by device, from parts that lie as
it needs them (`partition.py`), and what it needs of other processes comes by `exchange`. All processes run the same
program, so all come to the same exchanges in the same order.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..api.trace import stack
from ..away import Away
from ..flags import flags, watchers
from ..graph.node import BORROWED, Node, leaf
from ..graph.op import current
from ..ops.shape import reshape, slice_
from ..runtime.checks import checked
from ..runtime.execute import value_of
from ..runtime.recorder import recorder
from ..runtime.tape import Holder
from ..spread import group
from .devices import Device
from .sharding import Sharding, spans
from .spreading import known, state

NOT_HERE = (
    "Fetching value for `jax.Array` that spans non-addressable (non process local) devices is not possible. You can "
    "use `jax.experimental.multihost_utils.process_allgather` to print the global array or use `.addressable_shards` "
    "method of jax.Array to inspect the addressable (process local) shards."
)
Box = tuple[tuple[int, int], ...]  # for each axis where it begins and where it ends
Parts = dict[Device, Node]


class Spread(Away):
    """The value of an array on devices of several processes.

    Attributes:
        parts: what each device of this process has.
        source, key: of a slice that nobody has read, instead of its parts: what it is a slice of, and where. It is
            read at once by what takes only some of it, and in full before it gets into a user's hands.
        traced: whether it was made while a function was traced.
    """

    __slots__ = ("shape", "dtype", "sharding", "source", "key", "traced", "_parts", "_holders")

    def __init__(self, shape: tuple[int, ...], dtype: Any, sharding: Sharding, parts: Parts | None) -> None:
        self.shape, self.dtype, self.sharding = shape, dtype, sharding
        self.traced = bool(stack.active)
        self.source: Node | None = None
        self.key: tuple[Any, ...] = ()
        self._parts: Parts | None = None
        if parts is not None:
            self._keep(parts)

    def _keep(self, parts: Parts) -> None:
        self._parts = parts
        self._holders = [Holder(n) for n in dict.fromkeys(parts.values())]  # the recorder computes what is held

    def wait(self) -> None:
        for part in self.parts.values():
            value_of(part)

    @property
    def parts(self) -> Parts:
        if self._parts is None:
            assert self.source is not None
            self._keep(cut(self.source, self.key, boxes_of(self.sharding, self.shape)))
            self.source = None
        found: Parts = self._parts  # type: ignore[assignment]
        return found

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def readable(self) -> bool:
        """Whether this process has all of it."""
        return self.sharding.is_fully_replicated and self.sharding.has_addressable_devices

    def host(self) -> np.ndarray:
        if not self.readable:
            raise RuntimeError(NOT_HERE)
        part = next(iter(self.parts.values()))
        value: np.ndarray = value_of(part)
        part.index = BORROWED  # whoever reads it may keep it longer than this is there
        return value


def spread_of(node: Node) -> Spread | None:
    """The value of a node that lies in several processes; None for one that this process has."""
    return node.buffer if type(node.buffer) is Spread else None


def spanning(sharding: Any) -> bool:
    """Whether a sharding has devices of other processes."""
    return group.size() > 1 and isinstance(sharding, Sharding) and not sharding.is_fully_addressable


@functools.lru_cache(4096)
def boxes_of(sharding: Sharding, shape: tuple[int, ...]) -> dict[Device, Box]:
    """The part that each device has, of all processes."""
    found = sharding.devices_indices_map(shape)
    return {d: tuple([(a, b) for a, b, _ in spans(index, shape)]) for d, index in found.items()}


def overlap(a: Box, b: Box) -> Box | None:
    """What two boxes have in common; None where that is nothing."""
    both = tuple([(max(i, k), min(j, n)) for (i, j), (k, n) in zip(a, b)])
    return both if all([i < j for i, j in both]) else None


def extent(box: Box) -> tuple[int, ...]:
    return tuple([b - a for a, b in box])


def within(box: Box, outer: Box) -> tuple[slice, ...]:
    """The index of a box in an array that begins where another box does."""
    return tuple([slice(a - start, b - start) for (a, b), (start, _) in zip(box, outer)])


def piece(x: Node, box: Box, outer: Box) -> Node:
    """Of a part that is `outer` what is in the box."""
    if box == outer:
        return x
    return slice_(x, key=tuple([(a - start, b - a, 1) for (a, b), (start, _) in zip(box, outer)]))


def plain(x: Node) -> Node:
    """A node of this process's own value, apart from differentiations that are under way."""
    if not x.trace:
        return x
    new = leaf(x.shape, x.dtype, value_of(x), weak=x.weak)
    new.index = BORROWED
    return new


Wanted = Mapping[Device, Box | None]


def regions(x: Node, wanted: Wanted, what: str) -> Parts:
    """For each device of this process what it wants of an array, which may be in other processes: then these send it.

    `wanted` names devices of all processes, in one order. What a device does not want, and what is empty, is left out
    of the messages.
    """
    spread = spread_of(x)
    rank = group.rank()
    if spread is None:
        x, all_of_it = plain(x), tuple([(0, n) for n in x.shape])
        made: dict[Box, Node] = {}
        mine = {d: w for d, w in wanted.items() if w is not None and d.process_index == rank}
        return {d: made.setdefault(w, piece(x, w, all_of_it)) for d, w in mine.items()}
    if spread.source is not None:
        return cut(spread.source, spread.key, wanted)
    return exchange(spread, wanted, what)


Messages = dict[tuple[int, int], list[tuple[Device, Box]]]


def messages(sharding: Sharding, shape: tuple[int, ...], wanted: Wanted) -> Messages:
    """By sender and receiver: which device's part is sent, and what of it."""
    owners: dict[Box, list[Device]] = {}
    for d, box in boxes_of(sharding, shape).items():
        owners.setdefault(box, []).append(d)
    host_only = {(d.process_index, box) for box, there in owners.items() for d in there}
    out: Messages = {}
    for d, want in wanted.items():
        if want is None:
            continue
        to = d.process_index
        for box, there in owners.items():
            both = None if (to, box) in host_only else overlap(want, box)
            if both is not None:
                owner = there[to % len(there)]  # so that not all ask the same one
                sent = out.setdefault((owner.process_index, to), [])
                if (owner, both) not in sent:
                    sent.append((owner, both))
    return out


def exchange(spread: Spread, wanted: Wanted, what: str) -> Parts:
    rank = group.rank()
    boxes = boxes_of(spread.sharding, spread.shape)
    own = {boxes[d]: n for d, n in spread.parts.items()}
    sends: dict[int, list[np.ndarray]] = {}
    receives: dict[int, list[np.ndarray]] = {}
    arrived: dict[Box, np.ndarray] = {}
    for (source, to), sent in messages(spread.sharding, spread.shape, wanted).items():
        if source == rank:
            sends[to] = [value_of(spread.parts[d])[within(box, boxes[d])] for d, box in sent]
        elif to == rank:
            arrived |= {box: np.empty(extent(box), spread.dtype) for _, box in sent}
            receives[source] = [arrived[box] for _, box in sent]
    if sends or receives:
        group.group().exchange(sends, receives, f"{what} of {spread.dtype}{list(spread.shape)}")
    made: dict[Box, Node] = {}
    for d, want in wanted.items():
        if want is not None and d.process_index == rank and want not in made:
            made[want] = joined(spread, want, own, arrived)
    return {d: made[w] for d, w in wanted.items() if w is not None and d.process_index == rank}


def joined(spread: Spread, want: Box, own: Mapping[Box, Node], arrived: Mapping[Box, np.ndarray]) -> Node:
    """One region of an array, of this process's parts and what has arrived."""
    for box, part in own.items():
        if all([a >= start and b <= stop for (a, b), (start, stop) in zip(want, box)]):
            return piece(part, want, box)
    out = np.empty(extent(want), spread.dtype)
    for box, part in own.items():
        both = overlap(want, box)
        if both is not None:
            out[within(both, want)] = value_of(part)[within(both, box)]
    for box, data in arrived.items():
        both = overlap(want, box)
        if both is not None:
            out[within(both, want)] = data[within(both, box)]
    return leaf(out.shape, spread.dtype, out)


def cut(x: Node, key: tuple[Any, ...], wanted: Wanted) -> Parts:
    """For each device of this process what it wants of a slice of an array. See `ops.shape.slice_` for the key."""
    rank = group.rank()
    regions_of: dict[Device, Box | None] = {}
    inner: dict[Device, tuple[Any, ...]] = {}
    for d, want in wanted.items():
        if want is None:
            regions_of[d] = None
            continue
        bounds: list[tuple[int, int]] = []
        picks: list[Any] = []
        axis = 0
        for k in key:
            if k is None:
                picks.append(None)
                axis += 1
            elif isinstance(k, tuple):
                (lo, hi), (start, _, step) = want[axis], k
                n = hi - lo
                first, last = start + lo * step, start + (hi - 1) * step
                bounds.append((0, 0) if n == 0 else (min(first, last), max(first, last) + 1))
                picks.append((0 if step > 0 or n == 0 else first - last, n, step))
                axis += 1
            else:
                bounds.append((k, k + 1))
                picks.append(0)
        regions_of[d], inner[d] = tuple(bounds), tuple(picks)
    there = regions(x, regions_of, "a slice")
    made: dict[Any, Node] = {}
    out = {}
    for d, part in there.items():
        if d.process_index == rank:
            at = part, inner[d]
            if at not in made:
                made[at] = sliced(part, inner[d])
            out[d] = made[at]
    return out


def sliced(x: Node, key: tuple[Any, ...]) -> Node:
    if all([type(k) is not tuple or k[2] == 1 for k in key]):  # of this all is taken
        shape = tuple([1 if k is None else k[1] for k in key if type(k) is not int])
        return x if shape == x.shape else reshape(x, shape=shape)
    return slice_(x, key=key)


def holding(value: Spread, weak: bool = False) -> Node:
    """A node of that value."""
    node = leaf(value.shape, value.dtype, value, weak=weak)
    node.index = BORROWED
    known[node] = value.sharding
    return node


def laid(x: Node, sharding: Sharding, what: str = "a change of sharding") -> Node:
    """A node of the same value, which lies on devices of several processes as the sharding says. What this process has
    is taken to be the same in all of them.

    Raises: ValueError for an array on several processes that is to lie on devices of this one.
    """
    if not spanning(sharding):
        raise ValueError(
            "When the second argument to `device_put` is a Device, the first argument must be a fully addressable "
            f"array or a non-addressable array with a single device sharding. Got value with devices "
            f"{known[x].device_set}"  # type: ignore[union-attr]
        )
    parts = regions(x, boxes_of(sharding, x.shape), what)
    return holding(Spread(x.shape, x.dtype, sharding, parts), x.weak)


def same_everywhere(*what: bytes) -> bool:
    """Whether all processes have the same."""
    mine = hashlib.sha256(b"".join([hashlib.sha256(w).digest() for w in what])).digest()
    digests = group.group().all_gather(np.frombuffer(mine, np.uint8), "a comparison of values")
    return len({d.tobytes() for d in digests}) == 1


def of_all(value: np.ndarray, what: str) -> list[np.ndarray]:
    """What all processes have. Raises ValueError in all of them where shapes or dtypes differ."""
    if not same_everywhere(repr((value.shape, value.dtype)).encode()):
        raise ValueError(
            f"{what}: processes have arrays of different shapes or dtypes; here {value.dtype}{value.shape}"
        )
    return group.group().all_gather(value, what)


def agreed(value: np.ndarray, message: str) -> None:
    """Raise AssertionError in all processes where they have different values."""
    if not same_everywhere(repr((value.shape, value.dtype)).encode(), value.tobytes()):
        everyone = np.concatenate([np.atleast_1d(v) for v in of_all(value, message)])
        raise AssertionError(f"{message}. Expected: {everyone}; got: {value}.")


# --- Nodes that read such arrays --------------------------------------------------------------------------------------


def check_closed_over(node: Node) -> None:
    """Raise RuntimeError for an array that a jitted function reads and did not get as an argument."""
    spread = spread_of(node)
    if spread is not None and not spread.traced:
        raise RuntimeError(
            "Closing over jax.Array that spans non-addressable (non process local) devices is not allowed. Please pass "
            f"such arrays as arguments to the function. Got jax.Array: {node.dtype.name}"
            f"[{','.join(map(str, node.shape))}]"
        )


def reads_spread(node: Node) -> bool:
    for n in node.inputs:
        b = n.buffer
        if type(b) is Spread or type(b) is tuple and b and type(b[0]) is Spread:
            return True
    return node.op is not None and node.op.name == "sharding_constraint" and spanning(node.static[0])


def install(compute: Callable[[Node], None]) -> None:
    """From now on arrays may lie in several processes. `compute` gives a node its value that reads such an array."""
    if state.processes:
        return
    state.on = state.processes = True

    def divert(node: Node) -> None:
        """What is told of new nodes: the recorder, of those that read only what is here."""
        if reads_spread(node):
            compute(node)
        elif flags.debug_nans or flags.debug_infs:
            checked(node)
        else:
            recorder(node)

    def watch(changed: Any = None) -> None:
        vars(current).pop("sink", None)
        type(current).sink = staticmethod(divert)

    watchers.append(watch)
    watch()
