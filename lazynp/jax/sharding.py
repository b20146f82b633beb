"""`jax.sharding`: devices, meshes of them, and how arrays lie on meshes. There is one device, the host's processor.

A sharding is kept beside its array; it says nothing that changes a computation.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import math
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np


class Device:
    """The one device."""

    id, process_index, local_hardware_id, host_id, task_id = 0, 0, 0, 0, 0
    platform = device_kind = "cpu"
    client = None

    def __repr__(self) -> str:
        return "CpuDevice(id=0)"

    def __str__(self) -> str:
        return "cpu:0"

    def memory_stats(self) -> None:
        """Nothing is known."""

    def __reduce__(self) -> Any:
        return the_device, ()


DEVICE = Device()


def the_device() -> Device:
    return DEVICE


def check_backend(backend: Any) -> None:
    if backend not in (None, "cpu"):
        raise RuntimeError(f"Unknown backend {backend!r}: the only platform present is 'cpu'")


def devices(backend: str | None = None) -> list[Device]:
    """The devices of a platform. Raises RuntimeError for one that is not there."""
    check_backend(backend)
    return [DEVICE]


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """The devices of this process."""
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


class AxisType(enum.Enum):
    """How an axis of a mesh is used. On one device they are all alike."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class PartitionSpec:
    """For each axis of an array the mesh axis (or several, or None) along which it is split."""

    UNCONSTRAINED = type("UNCONSTRAINED", (), {"__repr__": lambda self: "UNCONSTRAINED"})()
    __slots__ = ("partitions", "unreduced", "reduced")

    def __init__(self, *partitions: Any, unreduced: Any = frozenset(), reduced: Any = frozenset()) -> None:
        self.partitions = tuple([tuple(p) if isinstance(p, list) else p for p in partitions])
        self.unreduced, self.reduced = frozenset(unreduced), frozenset(reduced)

    def __repr__(self) -> str:
        parts = ", ".join(map(repr, self.partitions))
        return f"P({parts}{',' if len(self.partitions) == 1 else ''})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, tuple):
            return self.partitions == other
        return isinstance(other, PartitionSpec) and self.partitions == other.partitions

    def __hash__(self) -> int:
        return hash(self.partitions)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __getitem__(self, i: Any) -> Any:
        return self.partitions[i]

    def __add__(self, other: Iterable[Any]) -> PartitionSpec:
        return PartitionSpec(*self, *other)

    def index(self, value: Any) -> int:
        return self.partitions.index(value)

    def count(self, value: Any) -> int:
        return self.partitions.count(value)


P = PartitionSpec


class AbstractMesh:
    """Names and sizes of a mesh's axes.

    Attributes:
        axis_names, axis_sizes, axis_types: of the axes, in order.
    """

    def __init__(
        self, axis_sizes: Sequence[int], axis_names: Any, axis_types: tuple[AxisType, ...] | None = None, **_: Any
    ) -> None:
        self.axis_names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        self.axis_sizes = tuple(axis_sizes)
        if len(self.axis_names) != len(self.axis_sizes):
            raise ValueError(
                f"Mesh requires the ndim of its first argument (`devices`) to equal the length of its second argument "
                f"(`axis_names`), but got {len(self.axis_sizes)} and {self.axis_names}"
            )
        self.axis_types = tuple(axis_types) if axis_types else (AxisType.Auto,) * len(self.axis_names)

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """Sizes by name."""
        return OrderedDict(zip(self.axis_names, self.axis_sizes))

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        return tuple(zip(self.axis_names, self.axis_sizes))

    @property
    def size(self) -> int:
        """How many places it has."""
        return math.prod(self.axis_sizes) if self.axis_names else 0

    @property
    def empty(self) -> bool:
        return not self.axis_names

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    def _key(self) -> Any:
        return type(self), self.axis_names, self.axis_sizes, self.axis_types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"{kind}(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, axis_types={self.axis_types})"


class Mesh(AbstractMesh):
    """An array of devices whose axes have names. As a context manager, the mesh that `shard_map` takes by default."""

    def __init__(self, devices: Any, axis_names: Any, axis_types: tuple[AxisType, ...] | None = None) -> None:
        self.devices = np.asarray(devices, dtype=object)
        super().__init__(self.devices.shape, axis_names, axis_types)

    @property
    def device_ids(self) -> np.ndarray:
        return np.zeros(self.devices.shape, int)

    @property
    def local_mesh(self) -> Mesh:
        return self

    @property
    def local_devices(self) -> list[Device]:
        return list(self.devices.flat)

    @property
    def is_multi_process(self) -> bool:
        return False

    def __enter__(self) -> Mesh:
        current.meshes.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        current.meshes.pop()


class Current(threading.local):
    """The meshes that are set in this thread, the innermost last."""

    def __init__(self) -> None:
        self.meshes: list[Any] = []


current = Current()


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[Any],
    axis_types: tuple[AxisType, ...] | None = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """A mesh of that shape. Raises ValueError where there are too few devices."""
    n = math.prod(axis_shapes)
    there = [DEVICE] if devices is None else list(devices)
    if n > len(there):
        raise ValueError(f"Number of devices {len(there)} must be >= the product of mesh_shape {tuple(axis_shapes)}")
    array = np.empty(tuple(axis_shapes), dtype=object)
    for i, d in zip(np.ndindex(array.shape), there):
        array[i] = d
    return Mesh(array, axis_names, axis_types or (AxisType.Explicit,) * len(array.shape))


class set_mesh(contextlib.AbstractContextManager[Any]):
    """Make a mesh the default: from now on, or in a `with` block."""

    def __init__(self, mesh: Any) -> None:
        self.mesh = mesh
        current.meshes.append(mesh)

    def __enter__(self) -> Any:
        return self.mesh

    def __exit__(self, *error: object) -> None:
        current.meshes.remove(self.mesh)


use_mesh = use_abstract_mesh = set_mesh


def get_mesh() -> Any:
    """The default mesh; an empty one where none is set."""
    return current.meshes[-1] if current.meshes else Mesh(np.empty((), dtype=object), ())


def get_abstract_mesh() -> AbstractMesh:
    """Names and sizes of the default mesh."""
    return get_mesh().abstract_mesh


# --- Shardings --------------------------------------------------------------------------------------------------------


class Sharding:
    """How an array lies on devices."""

    memory_kind: str | None = "device"

    @property
    def device_set(self) -> set[Device]:
        return {DEVICE}

    addressable_devices = device_set
    is_fully_addressable = True
    has_addressable_devices = True
    num_devices = 1
    is_fully_replicated = True

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of one device's part. Raises ValueError where an axis does not divide."""
        return tuple(global_shape)

    def devices_indices_map(self, global_shape: tuple[int, ...]) -> dict[Device, tuple[slice, ...]]:
        """Which part of an array a device has."""
        return {DEVICE: (slice(None),) * len(global_shape)}

    addressable_devices_indices_map = devices_indices_map

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether the other puts the same parts in the same places."""
        return self.device_set == other.device_set

    def with_memory_kind(self, kind: str) -> Sharding:
        return self


class SingleDeviceSharding(Sharding):
    """All of an array on one device."""

    def __init__(self, device: Device, *, memory_kind: str | None = None) -> None:
        self._device = device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SingleDeviceSharding)

    def __hash__(self) -> int:
        return hash(SingleDeviceSharding)

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind=device)"


class DuplicateSpecError(Exception):
    """A mesh axis splits two axes of an array."""


class NamedSharding(Sharding):
    """An array split along the axes of a mesh as a PartitionSpec says."""

    def __init__(self, mesh: Any, spec: Any, *, memory_kind: str | None = None, **_: Any) -> None:
        self.mesh, self.spec = mesh, spec if isinstance(spec, PartitionSpec) else PartitionSpec(*spec)
        check_spec(mesh, self.spec)

    def update(self, **changes: Any) -> NamedSharding:
        """With another mesh or spec."""
        return NamedSharding(**{"mesh": self.mesh, "spec": self.spec, **changes})

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        if len(self.spec) > len(global_shape):
            raise ValueError(
                f"Sharding {self} is only valid for values of rank at least {len(self.spec)}, but was applied to a "
                f"value of rank {len(global_shape)}"
            )
        sizes = self.mesh.shape
        parts = [math.prod([sizes[a] for a in axes_of(p)]) for p in self.spec]
        parts += [1] * (len(global_shape) - len(parts))
        if any(n % p for n, p in zip(global_shape, parts)):
            raise ValueError(f"{self} does not divide an array of shape {global_shape}")
        return tuple([n // p for n, p in zip(global_shape, parts)])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedSharding) and (self.mesh, self.spec) == (other.mesh, other.spec)

    def __hash__(self) -> int:
        return hash((self.mesh, self.spec))

    def __repr__(self) -> str:
        sizes = ", ".join([f"{k!r}: {n}" for k, n in self.mesh.shape.items()])
        mesh = f"Mesh({sizes}, axis_types={self.mesh.axis_types})"
        return f"NamedSharding(mesh={mesh}, spec={self.spec}, memory_kind=device)"


def check_spec(mesh: Any, spec: PartitionSpec) -> None:
    """Raise ValueError for a name that is no axis of the mesh, DuplicateSpecError for one that stands there twice."""
    names = [name for part in spec for name in axes_of(part)]
    for name in names:
        if name not in mesh.axis_names:
            raise ValueError(
                f"Resource axis: {name} of {spec} is not found in mesh: {mesh.axis_names}. Did you mean to call "
                "jax.set_mesh?"
            )
        if names.count(name) > 1:
            raise DuplicateSpecError(
                f"A single NamedSharding spec specification can map every mesh axis to at most one positional "
                f"dimension, but {spec} has duplicate entries for `{name}`"
            )


def axes_of(part: Any) -> tuple[Any, ...]:
    """The mesh axes of one entry of a PartitionSpec."""
    if part is None or part is PartitionSpec.UNCONSTRAINED:
        return ()
    return tuple(part) if isinstance(part, (tuple, list)) else (part,)


make_single_device_sharding = SingleDeviceSharding
SINGLE = SingleDeviceSharding(DEVICE)
placed: dict[int, tuple[Any, Sharding]] = {}
"""By the id of an array: a weak reference to it, and its sharding. Those that are not in here lie on the device."""


def place(array: Any, sharding: Sharding) -> Any:
    """Note an array's sharding; the array."""
    key = id(array)
    placed[key] = weakref.ref(array, lambda _: placed.pop(key, None)), sharding
    return array


def sharding_of(array: Any) -> Sharding:
    """How an array lies."""
    found = placed.get(id(array))
    return found[1] if found is not None and found[0]() is array else SINGLE


@dataclasses.dataclass(frozen=True)
class Shard:
    """A device's part of an array."""

    device: Device
    index: tuple[slice, ...]
    replica_id: int
    data: Any
