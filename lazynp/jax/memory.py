"""`jax.memory`: the memories of a device. Ours are all the host's, so these say where an array is taken to lie."""

from __future__ import annotations

import enum

__all__ = ["Space"]


class MemorySpace(enum.Enum):
    """A memory of a device: `device_put(x, jax.memory.Space.Host)`."""

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"


Space = MemorySpace
KINDS = {MemorySpace.Device: "device", MemorySpace.Host: "pinned_host"}
"""The name of each memory in a sharding; `Any` is none of its own."""
