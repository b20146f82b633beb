"""What an array says of the devices on which it lies."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import concretization_error
from ..graph.node import ABSTRACT, Node, leaf
from ..ops.shape import slice_, whole
from .devices import Device, default_device, own
from .layouts import Format, format_of, orders
from .processes import Spread, spread_of
from .sharding import NamedSharding, Shard, Sharding, SingleDeviceSharding, default_sharding, shards_of
from .spreading import known, unplaced
from .spreading import state as spreading

if TYPE_CHECKING:
    Base = Any  # what `Array` has: `node`, `_graph`, `_value`, `shape`
else:
    Base = object


class OnDevices(Base):
    """The part of `Array` that is about devices."""

    __slots__ = ()

    @property
    def sharding(self) -> Sharding:
        """How it lies on devices. Raises AttributeError for a traced array: see `jax.typeof(x).sharding`."""
        node = self._graph
        if node is not None and node.trace == ABSTRACT:
            raise AttributeError("sharding")  # `__getattr__` says why
        if self.is_deleted():
            found: Sharding | None = self._weak.sharding
            return self._unplaced() if found is None else found
        return self._placed() or self._unplaced()

    def _no_sharding(self) -> AttributeError:
        return AttributeError(
            f"The 'sharding' attribute is not available on traced array with shape {self.aval}. To query sharding "
            "information on tracers, use `jax.typeof(x)`."
        )

    def _unplaced(self) -> Sharding:
        node = self._graph
        if not spreading.on:
            return default_sharding(self.ndim)
        found = unplaced.get(node) if node is not None else None
        return SingleDeviceSharding(own()[0]) if found is None else found

    def _placed(self) -> Sharding | None:
        """Its sharding, where it was placed or is made of what was."""
        node = self._graph
        if node is not None and node.trace == ABSTRACT:
            raise concretization_error(node, "It is asked where it lies.")
        if node is None:
            return None
        found = known.get(node)
        return node.buffer.sharding if found is None and type(node.buffer) is Spread else found

    def _check_summed(self) -> None:
        """Raise NotImplementedError where devices have summands of it, which nobody has added up."""
        lies = self._placed() if spreading.on else None
        if lies is not None and isinstance(lies, NamedSharding) and lies.spec.unreduced:
            lies.devices_indices_map(self.shape)

    def _on_several(self) -> bool:
        """Whether it was placed on several devices."""
        lies = self._placed()
        return lies is not None and lies.num_devices > 1

    @property
    def format(self) -> Format:
        """In which order its axes lie, and how it lies on devices."""
        return format_of(self.ndim, self.sharding, orders.get(self.node))

    def devices(self) -> set[Device]:
        """The devices that have a part of it. Raises RuntimeError for an array that was deleted."""
        if self.is_deleted():
            raise self._no_value()
        return (self._placed() or self._unplaced()).device_set

    @property
    def device(self) -> Any:
        """The device it lies on; its sharding, where it lies on several. Raises AttributeError for a traced array."""
        sharding = self.sharding
        return next(iter(sharding.device_set)) if isinstance(sharding, SingleDeviceSharding) else sharding

    @property
    def addressable_shards(self) -> list[Shard]:
        """Its parts, one for each device of this process."""
        sharding = self._placed() or self._unplaced()
        here = set(own())
        found = [s for s in shards_of(sharding, self.shape) if s[0] in here]
        spread = spread_of(self.node)
        if spread is not None:
            return [Shard(*s, self._on(alike(spread.parts[s[0]]), s[0])) for s in found]
        if len(found) == 1:
            return [Shard(*found[0], self)]
        value = self._value()
        shards = [
            Shard(device, index, replica, self._on(part(value[index], self.weak_type), device))
            for device, index, replica in found
        ]
        if self.node in orders:
            orders.update({s.data.node: orders[self.node] for s in shards})
        return shards

    @property
    def global_shards(self) -> list[Shard]:
        """Its parts, those of other processes too, of which there are no data here."""
        mine = {s.device: s for s in self.addressable_shards}
        everywhere = shards_of(self._placed() or self._unplaced(), self.shape)
        return [mine.get(s[0]) or Shard(*s, None) for s in everywhere]

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all its devices are of this process."""
        return spread_of(self.node) is None

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each of its devices has all of it."""
        return (self._placed() or self._unplaced()).is_fully_replicated

    @property
    def committed(self) -> bool:
        """Whether it was placed on its devices, or is made of what was."""
        return self._placed() is not None

    def addressable_data(self, index: int) -> Any:
        """The part on a device; of an array that each has in full, the first's. Raises IndexError where there are fewer
        devices."""
        return self.addressable_shards[0 if self.is_fully_replicated else index].data

    def _unbound(self, row: np.ndarray) -> Any:
        """An array for a row of its value, on the default device."""
        return self._of(unplaced_part(row, self.weak_type))

    def _on(self, part: Node, device: Device) -> Any:
        """An array for what a device of this process has of this one."""
        memory = (self._placed() or self._unplaced()).memory_kind
        known[part] = SingleDeviceSharding(device, memory_kind=memory)
        out = self._of(part)
        join(self, out)
        return out


joined: weakref.WeakKeyDictionary[Node, list[weakref.ref[Any]]] = weakref.WeakKeyDictionary()
"""The arrays that are deleted with the array of a node: its parts, or what it is a part of."""


def join(whole: Any, part: Any) -> None:
    """Say that an array is a part of another one, whose buffers are its own in JAX."""
    for a, b in ((whole, part), (part, whole)):
        others = joined.setdefault(a.node, [])
        others[:] = [*[r for r in others if r() is not None], weakref.ref(b)]


def delete_with(node: Node | None) -> None:
    """Delete what is deleted with the array of a node, which is deleted."""
    for ref in joined.pop(node, ()) if node is not None else ():
        other = ref()
        if other is not None:
            other.delete()


def unplaced_part(value: np.ndarray, weak: bool) -> Node:
    """A node for a part of a value that was taken to the host, whatever mesh is set."""
    node = part(value, weak)
    known[node], unplaced[node] = None, SingleDeviceSharding(default_device())
    return node


def alike(node: Node) -> Node:
    """Another node of the same value, which may lie elsewhere."""
    return slice_(node, key=whole(node.shape))


def part(value: np.ndarray, weak: bool) -> Node:
    """A node of its own for a part of a value."""
    return leaf(value.shape, value.dtype, np.array(value, order="C"), weak=weak)
