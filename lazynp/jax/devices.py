"""The devices of the JAX door: the processor of the host, once, or as often as `jax_num_cpu_devices` says.

Several of them are there to write and try programs for many devices. They share the host's memory: an array has one
buffer, and says how it would lie on them (`sharding.py`).
"""

from __future__ import annotations

import functools
import os
import re
from typing import Any

from ..flags import flags

COUNT_IN_FLAGS = re.compile(r"--xla_force_host_platform_device_count=(\d+)")


class Client:
    """Of a device: the platform it belongs to."""

    platform, runtime_type, platform_version = "cpu", "cpu", "lazynp"


class Device:
    """A device of this process.

    Attributes:
        id: its number. platform, device_kind: "cpu".
    """

    process_index, host_id, task_id = 0, 0, 0
    platform = device_kind = "cpu"
    client = Client()

    def __init__(self, number: int) -> None:
        self.id = self.local_hardware_id = number

    def __repr__(self) -> str:
        return f"CpuDevice(id={self.id})"

    def __str__(self) -> str:
        return f"cpu:{self.id}"

    def memory_stats(self) -> None:
        """Nothing is known."""

    def __reduce__(self) -> Any:
        return device_at, (self.id,)


DEVICE = Device(0)
"""The one that is always there."""


@functools.cache
def everything() -> tuple[Device, ...]:
    """All devices. How many there are is settled when somebody asks for the first time."""
    n = flags.num_cpu_devices
    if n < 1:
        found = COUNT_IN_FLAGS.search(os.environ.get("XLA_FLAGS", ""))
        n = int(found[1]) if found else 1
    return (DEVICE, *[Device(i) for i in range(1, n)])


def settled() -> bool:
    """Whether somebody has asked for the devices."""
    return everything.cache_info().currsize > 0


def several() -> bool:
    """Whether there is more than one device."""
    return settled() and len(everything()) > 1


def check_count(n: Any) -> None:
    """Raise RuntimeError where the number of devices is settled and another one, ValueError where it is no number."""
    if type(n) is not int or n == 0 or n < -1:
        raise ValueError(f"jax_num_cpu_devices is a number of devices, or -1; got {n!r}")
    if settled() and n != flags.num_cpu_devices:
        raise RuntimeError(
            "jax_num_cpu_devices config should be updated before backends are initialized i.e. before any JAX "
            "operation is executed. You should initialize this config immediately after `import jax`."
        )


def device_at(number: int) -> Device:
    return everything()[number]


def check_backend(backend: Any) -> None:
    if backend not in (None, "cpu"):
        raise RuntimeError(f"Unknown backend {backend!r}: the only platform present is 'cpu'")


def devices(backend: str | None = None) -> list[Device]:
    """The devices of a platform. Raises RuntimeError for one that is not there."""
    check_backend(backend)
    return list(everything())


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """The devices of this process. Raises ValueError for another process."""
    if process_index not in (None, 0):
        raise ValueError(f"Unknown process_index {process_index}")
    return devices(backend)


def device_count(backend: str | None = None) -> int:
    """How many devices there are."""
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """How many devices this process has."""
    return len(devices(backend))


def process_index(backend: str | None = None) -> int:
    """The number of this process: 0."""
    return 0


def process_count(backend: str | None = None) -> int:
    """How many processes work together: 1."""
    return 1


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of the processes."""
    return [0]


host_id, host_count, host_ids = process_index, process_count, process_indices


def default_backend() -> str:
    """The platform on which arrays are made."""
    return "cpu"


def default_device() -> Device:
    """The device on which arrays are made: what `jax_default_device` says, else the first."""
    found = flags.default_device
    return found if isinstance(found, Device) else DEVICE
