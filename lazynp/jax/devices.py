"""The devices of the JAX door: what `config.device` names, else the processor of the host, once, or as often as
`jax_num_cpu_devices` says.

Several of them are there to write and try programs for many devices. They share the host's memory: an array has one
buffer, and says how it would lie on them (`sharding.py`). Where several processes have joined (`distributed.py`), each
has devices of its own, and an array may lie on those of several processes (`processes.py`).
"""

from __future__ import annotations

import dataclasses
import functools
import os
import re
from typing import Any

import numpy as np

from ..config import config
from ..errors import JaxRuntimeError
from ..flags import flags, watchers
from ..runtime.detours import detour
from ..runtime.device import device_of
from ..spread import group

COUNT_IN_FLAGS = re.compile(r"--xla_force_host_platform_device_count=(\d+)")
STRIDE = 2048  # between the numbers of the first devices of two processes, as in JAX


NAMES = {"gpu": "cuda"}
"""What devices of a platform are called, where that is not its name."""
MEMORIES = ("device", "pinned_host", "unpinned_host")
"""The memories that devices say they have. They are all the host's."""


@dataclasses.dataclass(frozen=True, repr=False)
class Memory:
    """A memory of a device. Attributes: kind: its name, among `MEMORIES`."""

    device: Any
    kind: str

    def __repr__(self) -> str:
        return f"{'cpu_' if self.kind == 'device' else ''}{self.kind}_{self.device.id}".upper()


class Client:
    """Of a device: the platform it belongs to."""

    platform_version = "lazynp"

    def __init__(self, platform: str) -> None:
        self.platform = self.runtime_type = platform


class Device:
    """A device of a process.

    Attributes:
        id: its number. process_index: of the process whose it is.
        platform: "cpu", "gpu", or "torch", which is there for tests. device_kind: what it is, by its maker's name.
        local_hardware_id: its number in this process; None for a device of another one.
    """

    platform = device_kind = "cpu"
    client = Client("cpu")
    id: int
    local_hardware_id: int | None
    process_index: int
    host_id: int
    task_id: int

    def __init__(self, process: int, number: int) -> None:
        self.id = process * STRIDE + number
        self.process_index = self.host_id = self.task_id = process
        self.local_hardware_id = number if process == group.rank() else None

    def __repr__(self) -> str:
        return f"{self._name.capitalize()}Device(id={self.id})"

    def __str__(self) -> str:
        return f"{self._name}:{self.id}"

    @property
    def _name(self) -> str:
        return NAMES.get(self.platform, self.platform)

    def memory(self, kind: str) -> Memory:
        """A memory of that kind. Raises JaxRuntimeError where there is none."""
        if kind not in MEMORIES:
            raise JaxRuntimeError(
                f"INVALID_ARGUMENT: Could not find memory addressable by device cpu. Device cpu can address the "
                f"following memory kinds: {', '.join(MEMORIES)}. Got memory kind: {kind}"
            )
        return Memory(self, kind)

    def default_memory(self) -> Memory:
        """The memory in which arrays are made."""
        return self.memory("device")

    def addressable_memories(self) -> list[Memory]:
        """The memories that it has."""
        return [Memory(self, kind) for kind in MEMORIES]

    def memory_stats(self) -> None:
        """Nothing is known."""

    def __reduce__(self) -> Any:
        return device_at, (self.id, self.platform)


def platform_of(name: str) -> str:
    """The platform of what `config.device` names."""
    return "gpu" if name.startswith("cuda") else name


class Accelerator(Device):
    """The device that `config.device` names; of several processes each has one."""

    def __init__(self, name: str, process: int) -> None:
        super().__init__(process, int(name.partition(":")[2] or 0))
        self.id = process if group.size() > 1 else self.id
        self.platform = platform_of(name)
        self.device_kind = device_of(name).kind
        self.client = Client(self.platform)


class State:
    """How arrays lie on devices.

    Attributes:
        on: whether they lie on several or on a mesh, or where they are made was said; set by the first time.
        meshes: whether a mesh of devices is in use: in a sharding, a `with` block, or `shard_map`.
        processes: whether they may lie on devices of other processes (`processes.py`).
        settled: how many functions are running whose caller says how their results lie, so that nothing is unclear.
        sums: the mesh axes along which that caller wants summands.
        jitted: how many functions are being traced by `jit`.
        mapping: how many functions of what single devices have are being mapped; what they make lies nowhere.
        rewriting: how many functions that `vmap` has run are being rewritten for all examples, outside of the meshes
            that they have set.
        spmd: the mesh axes along which each `vmap` that is under way says that constraints lie, the innermost last.
        examples: the explicit mesh axes along which the examples of each of these `vmap`s lie.
    """

    on = meshes = processes = False
    settled = jitted = mapping = rewriting = 0
    sums: frozenset[Any] = frozenset()

    def __init__(self) -> None:
        self.spmd: list[tuple[Any, ...]] = []
        self.examples: list[tuple[Any, ...]] = []


state = State()


def planned() -> int:
    """How many devices this process has, or will have when somebody asks for them."""
    n = flags.num_cpu_devices
    if n < 1:
        found = COUNT_IN_FLAGS.search(os.environ.get("XLA_FLAGS", ""))
        n = int(found[1]) if found else 1
    return n


def accelerator() -> str | None:
    """What `config.device` names, where that is not the host. Programs for several devices are for several of the
    host's."""
    return None if config.device == "cpu" or planned() > 1 else config.device


def own() -> tuple[Device, ...]:
    """The devices of this process on which arrays are made, if nobody says on which."""
    named = accelerator()
    return hosts() if named is None else (accelerated(named, group.rank()),)


@functools.cache
def hosts() -> tuple[Device, ...]:
    """The processors of this process. How many there are is settled when somebody asks for the first time."""
    return tuple([Device(group.rank(), i) for i in range(planned())])


accelerated = functools.cache(Accelerator)


def everything() -> tuple[Device, ...]:
    """The devices of all processes, in order. The first time, processes that have joined wait for one another."""
    mine = own()
    return mine if group.size() == 1 else of_all(mine)


@functools.cache
def of_all(mine: tuple[Device, ...]) -> tuple[Device, ...]:
    """The same, from those of this process."""
    counts = group.group().all_gather(np.array([len(mine)]), f"the number of devices of {mine[0].platform}")
    named, found = accelerator(), list[Device]()
    for process, count in enumerate(counts):
        if process == group.rank():
            found += mine
        elif named is not None:
            found.append(accelerated(named, process))
        else:
            found += [Device(process, i) for i in range(int(count[0]))]
    return tuple(found)


def settled() -> bool:
    """Whether somebody has asked for the devices."""
    return hosts.cache_info().currsize > 0 or accelerated.cache_info().currsize > 0


def several() -> bool:
    """Whether it matters where arrays lie: there is more than one device, or a mesh in use, be it of
    one."""
    return settled() and (state.meshes or len(own()) > 1 or group.size() > 1)


def watch(target: Any) -> None:
    """Where arrays are made is said from now on, if `jax_default_device` names one of several devices; meanwhile all
    are made by the graph."""
    chosen = target.default_device
    target.on_host = "cpu" in (chosen, getattr(chosen, "platform", None))
    named = chosen is not None and several()
    state.on = state.on or named
    detour(watch, named)


watchers.append(watch)


def may_be_several() -> bool:
    """Whether there is more than one device, or will be."""
    return several() if settled() else planned() > 1 or group.size() > 1


def check_count(n: Any) -> None:
    """Raise RuntimeError where the number of devices is settled and another one, ValueError where it is no number."""
    if type(n) is not int or n == 0 or n < -1:
        raise ValueError(f"jax_num_cpu_devices is a number of devices, or -1; got {n!r}")
    if settled() and n != flags.num_cpu_devices:
        raise RuntimeError(
            "jax_num_cpu_devices config should be updated before backends are initialized i.e. before any JAX "
            "operation is executed. You should initialize this config immediately after `import jax`."
        )


def device_at(number: int, platform: str = "cpu") -> Device:
    """The device of that number on a platform. Raises ValueError where there is none."""
    for d in (*everything(), *hosts()):
        if d.id == number and d.platform == platform:
            return d
    raise ValueError(f"there is no device {platform}:{number}")


def check_backend(backend: Any) -> None:
    """Raise RuntimeError for the name of a platform that is not there."""
    here = default_backend()
    if backend in (here, NAMES.get(here, here)):
        return
    if backend == "gpu":  # stands for several platforms
        raise RuntimeError(
            "Unknown backend: 'gpu' requested, but no platforms that are instances of gpu are present. Platforms "
            "present are: cpu"
        )
    if backend not in (None, "cpu"):
        there = list(dict.fromkeys(["cpu", NAMES.get(here, here)]))
        raise RuntimeError(f"Unknown backend {backend}. Available backends are {there}")


def devices(backend: str | None = None) -> list[Device]:
    """The devices of a platform, those of all processes. Raises RuntimeError for a platform that is not there."""
    check_backend(backend)
    return list(hosts() if backend == "cpu" and accelerator() is not None else everything())


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """The devices of a process, by default of this one. Raises ValueError for a process that is not there."""
    check_backend(backend)
    process = group.rank() if process_index is None else process_index
    if process not in range(group.size()):
        raise ValueError(f"Unknown process_index {process_index}")
    return [d for d in devices(backend) if d.process_index == process]


def device_count(backend: str | None = None) -> int:
    """How many devices there are in all processes."""
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """How many devices this process has."""
    return len(local_devices(backend=backend))


def process_index(backend: str | None = None) -> int:
    """The number of this process: 0 where it is alone."""
    return group.rank()


def process_count(backend: str | None = None) -> int:
    """How many processes work together."""
    return group.size()


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of the processes."""
    return list(range(group.size()))


host_id, host_count, host_ids = process_index, process_count, process_indices


def default_backend() -> str:
    """The platform on which arrays are made."""
    named = accelerator()
    return "cpu" if named is None else platform_of(named)


def default_device() -> Device:
    """The device on which arrays are made: what `jax_default_device` says, else the first of this process."""
    found = flags.default_device
    return found if isinstance(found, Device) else hosts()[0] if found == "cpu" else own()[0]


def lowered_for(platform: str) -> str:
    """What JAX calls a platform where it means the code that is made for it."""
    return NAMES.get(platform, "cpu")
